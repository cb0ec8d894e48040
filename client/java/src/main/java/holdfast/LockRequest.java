package holdfast;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.Consumer;

/**
 * What is to be locked, and how. It never changes: each method returns another request, so one may be kept and used by many
 * threads. Durations are rounded up to whole milliseconds.
 */
public final class LockRequest {
    private final Holdfast client;
    private final List<String> names;
    private final List<String> words; // of LOCK, without OWNER, ASYNC and WAIT
    private final String owner; // "": each call is a locker of its own
    private final long wait; // ns; -1: as the daemon's rule says
    private final Consumer<Waiting> told; // null: nobody

    LockRequest(Holdfast client, List<String> names) {
        this(client, names, List.of(), "", -1, null);
        names.forEach(Terms::checkName);
        if (names.isEmpty() || new HashSet<>(names).size() < names.size()) {
            throw new IllegalArgumentException("one or more different names are needed, not " + names);
        }
    }

    private LockRequest(Holdfast client, List<String> names, List<String> words, String owner, long wait, Consumer<Waiting> told) {
        this.client = client;
        this.names = names;
        this.words = words;
        this.owner = owner;
        this.wait = wait;
        this.told = told;
    }

    private LockRequest with(String... more) {
        List<String> all = new ArrayList<>(words);
        all.addAll(Arrays.asList(more));
        return new LockRequest(client, names, List.copyOf(all), owner, wait, told);
    }

    /**
     * Bounds the wait, of several names together; zero tries once. If the time is over before the master has said who has the
     * lock, as one of a few milliseconds may be, the daemon refuses with the code NOMASTER. More than 365 days count as 365 days.
     *
     * @throws IllegalArgumentException less than zero
     */
    public LockRequest waiting(Duration time) {
        Objects.requireNonNull(time, "the wait is null: a Duration is needed, or a call without one");
        if (time.isNegative()) {
            throw new IllegalArgumentException("wait: a time from 0 to 365 days is needed, not " + time);
        }
        return new LockRequest(client, names, words, owner,
                time.compareTo(Terms.LONGEST) > 0 ? Terms.LONGEST.toNanos() : time.toNanos(), told);
    }

    /**
     * Has told called while the lock waits: after a second, and then every five seconds, in a thread of this package. The daemon is asked
     * for the holder each time.
     */
    public LockRequest onWait(Consumer<Waiting> told) {
        return new LockRequest(client, names, words, owner, wait, Objects.requireNonNull(told, "onWait: a function is needed, not null"));
    }

    /** For reading: any number of holders that are all shared. */
    public LockRequest shared() {
        return with("SHARED");
    }

    /** The lock is a semaphore of n permits, 1 to 10000, of which this request takes one, or as many as permits says. */
    public LockRequest limit(int n) {
        Terms.checkPermits("limit", n, Terms.PERMITS);
        return with("LIMIT", Integer.toString(n));
    }

    /** Takes k of the permits of a semaphore at once. It needs limit, before or after it. */
    public LockRequest permits(int k) {
        Terms.checkPermits("permits", k, Terms.PERMITS);
        return with("PERMITS", Integer.toString(k));
    }

    /** The lock ends this long after its grant, as lost with the reason lease, unless extend moves the end. */
    public LockRequest lease(Duration time) {
        return with("LEASE", Terms.ms("lease", time));
    }

    /** The lock ends this long after its grant, as lost with the reason maxhold. Extend does not move this end. */
    public LockRequest maxHold(Duration time) {
        return with("MAXHOLD", Terms.ms("maxHold", time));
    }

    /** A remark of at most 256 bytes that `holdfast show` prints for this lock. */
    public LockRequest why(String text) {
        Terms.checkBytes("why", text, 0, 256);
        return with("WHY", text);
    }

    /**
     * Lets a lock be taken again: a request with the name and the owner of a lock that this process holds is granted at once,
     * with the same token, and its other options do not count. The lock is given back by the last close. An owner has 1 to 96
     * bytes without spaces; `holdfast show` prints it.
     */
    public LockRequest owner(String tag) {
        Terms.checkBytes("owner", tag, 1, 96);
        return new LockRequest(client, names, words, tag, wait, told);
    }

    /**
     * Takes the lock, or waits for it. After an exception nothing is held and nothing waits, and the call may be repeated.
     * Several names are taken one after the other in the order of their bytes, so that requests never wait for each other in a
     * circle.
     *
     * <p>Those that wait for the same name stand in a queue of the package, and its front alone waits at the daemon; a wait of zero never
     * stands there, nor one with an owner. If the daemon lets a session wait for no more names (waiters-per-session), this one stands in
     * a line of the package until its turn comes; one of zero never does. Several names are given back, and taken anew, where a further one would have to stand
     * in the line.
     *
     * @throws LockTimeoutException       another locker kept the lock
     * @throws LockRefusedException       the daemon cannot grant it, and says why
     * @throws DaemonUnreachableException no daemon has answered for five seconds, or until the end of the wait
     * @throws LockLostException          of several locks one was lost before all were taken
     * @throws InterruptedException       the thread was interrupted while it waited
     * @throws IllegalStateException      the client was closed
     * @throws IllegalArgumentException   what the request says does not fit together, as permits without limit; nothing is sent
     */
    public Lock lock() throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        Lock lock = begin();
        try {
            return lock.granted().get();
        } catch (InterruptedException interrupted) {
            lock.giveBack();
            throw interrupted;
        } catch (ExecutionException failed) {
            Throwable why = failed.getCause();
            if (why instanceof HoldfastException) {
                throw ((HoldfastException) why).here();
            }
            throw new IllegalStateException(why.getMessage(), why);
        }
    }

    /** The same, but null if another locker kept the lock. Without waiting() it tries once. */
    public Lock tryLock() throws InterruptedException {
        try {
            return (wait < 0 ? waiting(Duration.ZERO) : this).lock();
        } catch (LockTimeoutException busy) {
            return null;
        }
    }

    /**
     * The same as lock, without a thread that waits: the future fails with its exceptions. If it is cancelled, or completed
     * in another way, nothing is left behind. Stages without an executor of their own run in a thread of this package.
     */
    public CompletableFuture<Lock> lockAsync() {
        Lock lock = begin();
        CompletableFuture<Lock> result = new CompletableFuture<>();
        lock.granted().whenCompleteAsync((held, why) -> {
            if (!(why == null ? result.complete(held) : result.completeExceptionally(why))) {
                lock.giveBack();
            }
        }, Engine.WORKERS);
        result.whenComplete((held, why) -> {
            if (why != null) {
                lock.giveBack();
            }
        });
        return result;
    }

    /**
     * The same as a lock of java.util.concurrent, for code that takes one. Each thread is a locker of its own; the thread that has the
     * lock may take it again, and gives it back by as many calls of unlock, which throws LockLostException if the lock was lost before.
     * Lock waits as long as waiting() says, and throws the exceptions of lock() here. There are no conditions.
     */
    public java.util.concurrent.locks.Lock asJavaLock() {
        Terms.checkTogether(words);
        return new ThreadLock(this);
    }

    /** For people: the names. */
    @Override
    public String toString() {
        return String.join(", ", names);
    }

    private Lock begin() {
        Terms.checkTogether(words);
        Lock lock = new Lock(client, names, words, owner, wait, told);
        client.add(lock);
        lock.begin();
        return lock;
    }
}
