package holdfast;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;

/** The functions of README.md as they are there, and more. ReadmeTests compares and calls them. */
final class Examples {
    private Examples() {
    }

    static void goOn(Holdfast hf) throws InterruptedException {
        while (true) {
            try (Lock lock = hf.lock("report", Duration.ofSeconds(5))) {
                // After a loss read your saved state again here: another holder may have written.
                lock.checkHeld();
                report();
                return;
            } catch (HoldfastException failure) {
                if (!failure.isTransient()) {
                    throw failure;
                }
                log("again, because " + failure.getMessage());
                Thread.sleep(1000);
            }
        }
    }

    static void nightly(Holdfast hf) throws InterruptedException {
        try (Lock lock = hf.tryLock("nightly")) {
            if (lock != null) { // else another host does it
                report();
            }
        }
    }

    static CompletableFuture<Void> later(Holdfast hf) {
        return hf.lockAsync("deploy", Duration.ofMinutes(1)).thenAccept(lock -> {
            try (lock) {
                report();
            }
        });
    }

    static void lead(Holdfast hf) throws InterruptedException {
        try (Lock lock = hf.lock("leader").interruptOnLost()) {
            while (true) {
                jobs.take().run(); // a loss interrupts it
            }
        }
    }

    static String run(Holdfast hf) {
        try {
            lead(hf);
            return "done";
        } catch (InterruptedException stopped) {
            for (Throwable also : stopped.getSuppressed()) {
                if (also instanceof LockLostException loss) {
                    return "another leads now: " + loss.reason();
                }
            }
            Thread.currentThread().interrupt();
            return "shut down";
        }
    }

    static void copy(Holdfast hf, List<Runnable> parts) throws InterruptedException {
        try (Lock lock = hf.lock("copy").onLost(loss -> log("stop: " + loss.reason()))) {
            for (Runnable part : parts) {
                lock.checkHeld(); // throws LockLostException
                part.run();
            }
        }
    }

    static void save(Holdfast hf, String order) throws InterruptedException {
        try (Lock lock = hf.lock("orders", Duration.ofSeconds(5))) {
            store.write(order, lock.token());
        }
    }

    static class Store {
        private long newest;
        String last;

        synchronized void write(String order, long token) {
            if (token < newest) {
                throw new IllegalStateException("a newer holder has written already");
            }
            newest = token;
            last = order;
        }
    }

    static void kinds(Holdfast hf) throws InterruptedException {
        try (Lock two = hf.request("transcode").limit(3).permits(2).lock()) { // two of three permits
            report();
        }
        try (Lock reader = hf.request("data").shared().lock()) { // beside other readers
            report();
        }
        try (Lock writer = hf.lock("data")) { // alone
            writer.downgrade(); // a reader from now on, without a moment in between
            report();
        }
        try (Lock both = hf.request("account/2", "account/1").waiting(Duration.ofMinutes(1)).lock()) { // all or none
            report();
        }
    }

    static void anyLock(Holdfast hf) {
        java.util.concurrent.locks.Lock lock = hf.request("nightly").asJavaLock();
        lock.lock();
        try {
            report();
        } finally {
            lock.unlock();
        }
    }

    static Lock patient(Holdfast hf) throws InterruptedException {
        return hf.request("deploy").waiting(Duration.ofMinutes(1)).onWait(waiting -> log(waiting.toString())).lock();
    }

    static void observe(Holdfast hf) {
        hf.observe(new LockObserver() {
            @Override
            public void held(String name, long token, Duration waited) {
                log(name + " waited " + waited.toMillis() + " ms");
            }

            @Override
            public void released(String name, long token, Duration held) {
                log(name + " held " + held.toMillis() + " ms");
            }
        });
    }

    static String explain(HoldfastException failure) {
        if (failure instanceof LockTimeoutException) {
            return "another locker has it";
        } else if (failure instanceof LockLostException) {
            return "it was held, and is not any more";
        } else if (failure instanceof DaemonUnreachableException) {
            return "there is no daemon";
        } else if (failure instanceof LockRefusedException refused && refused.code().equals("NOMASTER")) {
            return "the daemon has no Redis";
        }
        return failure.getMessage(); // of another LockRefusedException
    }

    static final BlockingQueue<Runnable> jobs = new LinkedBlockingQueue<>();
    static final Store store = new Store();
    static volatile int reports;
    static final CompletableFuture<String> logged = new CompletableFuture<>();

    private static synchronized void report() {
        reports++;
    }

    private static void log(String text) {
        logged.complete(text);
    }
}
