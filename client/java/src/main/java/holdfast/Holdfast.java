package holdfast;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;

/**
 * Takes locks of holdfastd, the lock coordinator of this host.
 *
 * <pre>{@code
 * Holdfast hf = Holdfast.open();
 * try (Lock lock = hf.lock("deploy", Duration.ofSeconds(5))) {
 *     work();
 * }
 * }</pre>
 *
 * A lock is held until it is closed, or until the process ends. The daemon renews it. If the connection to the daemon is
 * lost, the package connects again and goes on with the same session: locks and places in queues are kept.
 *
 * All methods may be called by several threads at once, virtual ones too. Each call of lock is a locker of its own: two
 * threads exclude each other as two processes do. All clients of a process for the same daemon share one connection and one
 * thread; both begin with the first client and end with the last. A program that ends need not close anything.
 */
public final class Holdfast implements AutoCloseable {
    private final Engine engine;
    private final Set<Lock> live = ConcurrentHashMap.newKeySet();
    private final AtomicBoolean left = new AtomicBoolean();
    private final Seen seen = new Seen();
    private volatile boolean closed;

    Holdfast(Address address) {
        engine = Engine.join(address);
    }

    /**
     * A client for the daemon that $HOLDFAST_URL names, else for $XDG_RUNTIME_DIR/holdfast/holdfast.sock if root or this
     * user put it there, else for /run/holdfast/holdfast.sock. Which of the two is chosen anew for each attempt to connect,
     * until a daemon has answered. It does not connect yet.
     */
    public static Holdfast open() {
        return new Holdfast(Address.choose(System.getenv()));
    }

    /**
     * A client for the daemon at where: the path of a Unix socket, unix:PATH, host:port, tcp://host:port or
     * redis://user:password@host:port. It does not connect yet.
     *
     * @throws IllegalArgumentException where is none of these
     */
    public static Holdfast open(String where) {
        return new Holdfast(Address.parse(where, "the address of holdfastd"));
    }

    /**
     * Takes the lock, or waits for it: as long as the daemon's rule for the name says, for ever if there is none.
     *
     * @see LockRequest#lock()
     */
    public Lock lock(String name) throws InterruptedException {
        return request(name).lock();
    }

    /**
     * Takes the lock, or waits for it for this time at most.
     *
     * @see LockRequest#lock()
     */
    public Lock lock(String name, Duration wait) throws InterruptedException {
        return request(name).waiting(wait).lock();
    }

    /** Takes the lock if no other locker has it; null otherwise. A try statement takes a null. */
    public Lock tryLock(String name) throws InterruptedException {
        return request(name).tryLock();
    }

    /** Takes the lock, or waits for it for this time at most; null: another locker kept it. */
    public Lock tryLock(String name, Duration wait) throws InterruptedException {
        return request(name).waiting(wait).tryLock();
    }

    /**
     * The same as lock, without a thread that waits.
     *
     * @see LockRequest#lockAsync()
     */
    public CompletableFuture<Lock> lockAsync(String name, Duration wait) {
        return request(name).waiting(wait).lockAsync();
    }

    /**
     * A request for the lock of this name, or for those of several names, all or none. Its methods say the rest:
     * {@code hf.request("transcode").limit(3).waiting(ofMinutes(1)).lock()}.
     *
     * @throws IllegalArgumentException no name, or a name twice
     */
    public LockRequest request(String... names) {
        for (String name : names) {
            Objects.requireNonNull(name, "a name is null: a String is needed");
        }
        return new LockRequest(this, List.of(names));
    }

    /**
     * Gives all locks of this client back. They count as lost, with the reason closed; calls that wait throw an
     * IllegalStateException. It returns when the daemon has answered, after two seconds at most.
     */
    @Override
    public void close() {
        closed = true;
        // The waits first: one of them would be granted what a held lock gives back.
        Map<Boolean, List<Lock>> answered = live.stream().collect(Collectors.partitioningBy(lock -> lock.granted().isDone()));
        List<Lock> locks = new ArrayList<>(answered.get(false));
        locks.addAll(answered.get(true));
        locks.forEach(Lock::clientClosed);
        long until = Clock.now() + Lock.ANSWER;
        locks.forEach(lock -> lock.awaitFreed(until));
        if (!left.getAndSet(true)) {
            engine.leave();
        }
    }

    /**
     * Has the observer told what happens to the locks of this client from now on.
     *
     * @return ends that
     */
    public Runnable observe(LockObserver observer) {
        return seen.add(observer);
    }

    Seen seen() {
        return seen;
    }

    Engine engine() {
        return engine;
    }

    /** IllegalStateException: the client was closed. */
    void add(Lock lock) {
        live.add(lock);
        if (closed) {
            live.remove(lock);
            throw new IllegalStateException("this client of holdfastd is closed");
        }
    }

    void remove(Lock lock) {
        live.remove(lock);
    }
}
