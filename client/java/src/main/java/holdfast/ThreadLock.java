package holdfast;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;

/** A request as a lock of java.util.concurrent: each thread is a locker of its own, and may take it again. */
final class ThreadLock implements java.util.concurrent.locks.Lock {
    private static final class Held {
        Lock lock;
        int count;
    }

    private final LockRequest request;
    private final ThreadLocal<Held> held = new ThreadLocal<>();

    ThreadLock(LockRequest request) {
        this.request = request;
    }

    private boolean again() {
        Held mine = held.get();
        if (mine == null) {
            return false;
        }
        mine.lock.checkHeld(); // a lock that was lost cannot be relied on once more
        mine.count++;
        return true;
    }

    private boolean took(Lock lock) {
        if (lock == null) {
            return false;
        }
        Held mine = new Held();
        mine.lock = lock;
        mine.count = 1;
        held.set(mine);
        return true;
    }

    @Override
    public void lock() {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    lockInterruptibly();
                    return;
                } catch (InterruptedException later) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    @Override
    public void lockInterruptibly() throws InterruptedException {
        if (!again()) {
            took(request.lock());
        }
    }

    @Override
    public boolean tryLock() {
        boolean interrupted = Thread.interrupted();
        try {
            return again() || took(request.waiting(Duration.ZERO).tryLock());
        } catch (InterruptedException late) {
            interrupted = true;
            return false;
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        return again() || took(request.waiting(Duration.ofNanos(Math.max(0, unit.toNanos(time)))).tryLock());
    }

    /** Throws LockLostException if the lock was lost before. */
    @Override
    public void unlock() {
        Held mine = held.get();
        if (mine == null) {
            throw new IllegalMonitorStateException("this thread does not hold " + request);
        }
        if (--mine.count == 0) {
            held.remove();
            mine.lock.close();
        }
    }

    @Override
    public Condition newCondition() {
        throw new UnsupportedOperationException("a lock of several hosts has no conditions");
    }

    @Override
    public String toString() {
        return "a lock of java.util.concurrent for " + request;
    }
}
