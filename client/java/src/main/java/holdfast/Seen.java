package holdfast;

import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** Who is told what happens to the locks of a client: its observers, and the System.Logger holdfast. */
final class Seen {
    static final System.Logger LOG = System.getLogger("holdfast");

    /** One thread for all observers, in the order of what has happened; it ends when there is nothing to tell. */
    private static final Executor NEWS = teller();

    private final List<LockObserver> observers = new CopyOnWriteArrayList<>();

    private static Executor teller() {
        ThreadPoolExecutor one = new ThreadPoolExecutor(1, 1, 10, TimeUnit.SECONDS, new LinkedBlockingQueue<>(),
                task -> Engine.daemon(task, "holdfast-observer"));
        one.allowCoreThreadTimeOut(true);
        return one;
    }

    Runnable add(LockObserver observer) {
        observers.add(observer);
        return () -> observers.remove(observer);
    }

    private void tell(Consumer<LockObserver> news) {
        for (LockObserver observer : observers) {
            NEWS.execute(() -> {
                try {
                    news.accept(observer);
                } catch (RuntimeException wrong) {
                    LOG.log(Level.WARNING, "an observer of locks has failed", wrong);
                }
            });
        }
    }

    /** Somebody is told of waits. */
    boolean watches() {
        return !observers.isEmpty() || LOG.isLoggable(Level.DEBUG);
    }

    void waits(Waiting waiting) {
        LOG.log(Level.DEBUG, waiting::toString);
        tell(one -> one.waits(waiting));
    }

    void held(String name, long token, Duration waited) {
        tell(one -> one.held(name, token, waited));
    }

    void released(String name, long token, Duration held) {
        tell(one -> one.released(name, token, held));
    }

    void lost(LockLostException loss, Duration held) {
        LOG.log(Level.WARNING, loss::getMessage);
        tell(one -> one.lost(loss, held));
    }
}
