package holdfast;

import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/** A lock that is held, or several that were taken together. */
public final class Lock implements AutoCloseable {
    /** ns for which close waits for the daemon. */
    static final long ANSWER = 2 * Core.SECOND;

    // Sessions are those of processes, and several copies of this package may be in one: so tags differ at random.
    private static final String PREFIX = String.format("%012x-", new SecureRandom().nextLong() >>> 16);
    private static final AtomicLong SERIAL = new AtomicLong();

    private final Holdfast client;
    private final List<String> names;
    private final List<String> words;
    private final String owner;
    private final boolean owned; // by the caller's own tag
    private final long wait;
    private final long until;
    private final long since = Clock.now();
    private final Consumer<Waiting> told; // null: nobody
    private final List<Integer> order; // in which the names are taken
    private final CompletableFuture<Lock> granted = new CompletableFuture<>();
    private final CountDownLatch freed;
    private final Line.Turn turn = new Line.Turn(); // the engine's thread alone uses it

    private final ReentrantLock mutex = new ReentrantLock(); // of all below
    private final Claim[] claims; // in the order of the names; null: not asked for yet
    private final List<Consumer<LockLostException>> listeners = new ArrayList<>(1);
    private boolean held;
    private long grantedAt;
    private volatile boolean over; // given back
    private volatile LockLostException loss;
    private Thread worker; // to be interrupted by a loss
    private boolean interrupted; // and it was

    private final Claim.Caller caller = new Claim.Caller() {
        @Override
        public void settled(Claim claim) {
            claimSettled(claim);
        }

        @Override
        public void waits(Claim claim, Waiting waiting) {
            if (told != null) {
                Engine.WORKERS.execute(() -> told.accept(waiting));
            }
            client.seen().waits(waiting);
        }

        @Override
        public void lost(Claim claim) {
            claimLost((LockLostException) claim.error);
        }

        @Override
        public void freed(Claim claim) {
            freed.countDown();
        }
    };

    Lock(Holdfast client, List<String> names, List<String> words, String owner, long wait, Consumer<Waiting> told) {
        this.told = told;
        this.client = client;
        this.names = names;
        this.words = words;
        this.owner = owner.isEmpty() ? "java#" + PREFIX + Long.toString(SERIAL.incrementAndGet(), 36) : owner + "#" + PREFIX;
        this.owned = !owner.isEmpty();
        this.wait = wait;
        this.until = Clock.now() + Math.max(wait, 0);
        this.claims = new Claim[names.size()];
        this.freed = new CountDownLatch(claims.length);
        Integer[] order = new Integer[claims.length];
        Arrays.setAll(order, i -> i);
        // In the order of MLOCK, of the bytes: then no two requests, of whatever program, wait for each other in a circle.
        Arrays.sort(order, Comparator.comparing(i -> names.get(i).getBytes(StandardCharsets.UTF_8),
                Arrays::compareUnsigned));
        this.order = List.of(order);
    }

    // --- what the holder may ask -------------------------------------------------------------------------------------

    /**
     * The fencing token: a number that is greater for each later holder. A store that gets it with each write can refuse a
     * token smaller than the greatest it has seen. It is below 2^53. Of several locks it is that of the first name.
     */
    public long token() {
        return claims[0].token;
    }

    /** The tokens of all names, in the order in which the names were given. */
    public List<Long> tokens() {
        return Arrays.stream(claims).map(claim -> claim.token).collect(Collectors.toUnmodifiableList());
    }

    /** The names that were locked. */
    public List<String> names() {
        return names;
    }

    /**
     * For how long the lock is surely held, counted from now, without asking the daemon; zero: it is lost or closed. The
     * daemon is asked all the time, so that this is never far below its lease, or the end of lease(). If this process stood
     * still beyond the time that it was told, this waits until the daemon has answered, a second at most.
     */
    public Duration validFor() {
        long left = over || loss != null ? 0 : Long.MAX_VALUE;
        for (Claim claim : claims) {
            if (left > 0 && claim.isOverdue()) {
                client.engine().decide(claim);
            }
            left = Math.min(left, left == 0 ? 0 : claim.left());
        }
        return Duration.ofNanos(left);
    }

    /** Whether the lock is surely held now. */
    public boolean isHeld() {
        return !validFor().isZero();
    }

    /**
     * Asks nobody, so a loop may call it at each step; see validFor.
     *
     * @throws LockLostException     the lock is lost
     * @throws IllegalStateException the lock was closed
     */
    public void checkHeld() {
        LockLostException lost = loss;
        if (lost != null) {
            throw lost.here();
        }
        if (over) {
            throw new IllegalStateException("the lock " + names.get(0) + " was closed");
        }
        if (!isHeld()) {
            for (Claim claim : claims) { // the news of a loss may be on their way to `loss`
                if (claim.error instanceof LockLostException) {
                    throw ((LockLostException) claim.error).here();
                }
            }
            throw new LockLostException(names.get(0), token(), "unreachable",
                    "the daemon did not answer until the announced deadline");
        }
    }

    /**
     * Tells of the loss of the lock, within milliseconds, in a thread of this package. If the daemon cannot be asked, that
     * is when the time is nearly over for which the lock was surely held. If it is lost already, told is called at once.
     *
     * @return this
     */
    public Lock onLost(Consumer<LockLostException> told) {
        mutex.lock();
        try {
            if (loss != null) {
                tell(told, loss);
            } else if (!over) {
                listeners.add(told);
            }
        } finally {
            mutex.unlock();
        }
        return this;
    }

    /**
     * Has the loss of the lock interrupt this thread. Close takes an interruption back that the work has not seen.
     *
     * @return this
     */
    public Lock interruptOnLost() {
        mutex.lock();
        try {
            worker = over ? null : Thread.currentThread();
            if (loss != null) {
                interrupt();
            }
        } finally {
            mutex.unlock();
        }
        return this;
    }

    /**
     * Lets a lock that was taken with lease() end so long from now, sooner or later than before.
     *
     * @throws LockLostException          the lock is lost
     * @throws LockRefusedException       it has no lease
     * @throws DaemonUnreachableException the connection was lost before the answer; the call may be repeated
     */
    public void extend(Duration time) {
        command("EXTEND", List.of(Terms.ms("extend", time)));
    }

    /** Makes an exclusive lock a shared one, without a moment in between. Exceptions as of extend. */
    public void downgrade() {
        command("DOWNGRADE", List.of());
    }

    /**
     * Gives the lock back. Closing it again does nothing. If the daemon is away, the lock is given back when it returns, and
     * this does not wait for that.
     *
     * @throws LockLostException the lock had been lost before: work that it should have protected may have met other work
     */
    @Override
    public void close() {
        if (!giveBack()) {
            return;
        }
        awaitFreed(Clock.now() + ANSWER);
        LockLostException lost = loss;
        for (Claim claim : claims) {
            lost = lost == null && claim.error instanceof LockLostException ? (LockLostException) claim.error : lost;
        }
        if (lost != null) {
            throw lost.here();
        }
    }

    /** For people: the names, the tokens, and whether they are surely held now. */
    @Override
    public String toString() {
        boolean one = names.size() == 1;
        return "Lock[" + (one ? "name=" + names.get(0) + ", token=" + token() : "names=" + names + ", tokens=" + tokens())
                + ", held=" + isHeld() + "]";
    }

    // --- how it is taken and given back ------------------------------------------------------------------------------

    CompletableFuture<Lock> granted() {
        return granted;
    }

    /** Asks for the first name that is not asked for yet. */
    void begin() {
        mutex.lock();
        try {
            for (int i : order) {
                if (!over && claims[i] == null) {
                    long now = Clock.now();
                    claims[i] = new Claim(names.get(i), owner, words, rest(now), now, caller, turn,
                            i != order.get(order.size() - 1));
                    claims[i].shared = owned;
                    claims[i].tells = told != null || client.seen().watches();
                    client.engine().acquire(claims[i]);
                    return;
                }
            }
        } finally {
            mutex.unlock();
        }
    }

    /** Of the wait, which is not a try because it is over. */
    private long rest(long now) {
        return wait <= 0 ? wait : Math.max(1, until - now);
    }

    private void claimSettled(Claim claim) {
        if (claim.error == Core.YIELD) {
            startOver();
        } else if (claim.error != null) {
            giveBack();
            granted.completeExceptionally(claim.error);
        } else if (claim != claims[order.get(order.size() - 1)]) {
            begin();
        } else if (hold()) {
            granted.complete(this);
        }
    }

    /**
     * Gives back the names that it has, and begins again, in the line: those that wait may wait for what it has, and it must not
     * stand in the line with that.
     */
    private void startOver() {
        mutex.lock();
        try {
            if (over) {
                return;
            }
            for (int i = 0; i < claims.length; i++) {
                if (claims[i] != null) {
                    client.engine().abandon(claims[i]);
                    claims[i] = null;
                }
            }
            turn.yields = true;
        } finally {
            mutex.unlock();
        }
        begin();
    }

    private boolean hold() {
        mutex.lock();
        try {
            held = !over && loss == null;
            grantedAt = Clock.now();
            for (int i = 0; held && i < claims.length; i++) {
                client.seen().held(names.get(i), claims[i].token, Duration.ofNanos(grantedAt - since));
            }
            return held;
        } finally {
            mutex.unlock();
        }
    }

    private void claimLost(LockLostException why) {
        if (!lose(why)) {
            giveBack();
            granted.completeExceptionally(why);
        }
    }

    void clientClosed() {
        if (lose(new LockLostException(names.get(0), claims[0] == null ? 0 : token(), "closed", "the client was closed"))) {
            giveBackClaims();
        } else {
            giveBack();
            granted.completeExceptionally(new IllegalStateException("this client of holdfastd was closed"));
        }
    }

    /** False: it is not held yet. */
    private boolean lose(LockLostException why) {
        mutex.lock();
        try {
            if (held && !over && loss == null) {
                loss = why;
                client.seen().lost(why, Duration.ofNanos(Clock.now() - grantedAt));
                interrupt();
                listeners.forEach(told -> tell(told, why));
                listeners.clear();
            }
            return held;
        } finally {
            mutex.unlock();
        }
    }

    private void interrupt() {
        if (worker != null) {
            interrupted = true;
            worker.interrupt();
        }
    }

    private static void tell(Consumer<LockLostException> told, LockLostException why) {
        Engine.WORKERS.execute(() -> told.accept(why));
    }

    /** Gives back what there is of it, and does not wait. False: that was done before. */
    boolean giveBack() {
        mutex.lock();
        try {
            if (over) {
                return false;
            }
            over = true;
            for (int i = 0; held && loss == null && i < claims.length; i++) {
                client.seen().released(names.get(i), claims[i].token, Duration.ofNanos(Clock.now() - grantedAt));
            }
            if (interrupted && worker == Thread.currentThread()) {
                Thread.interrupted();
            }
            worker = null;
            listeners.clear();
        } finally {
            mutex.unlock();
        }
        giveBackClaims();
        client.remove(this);
        return true;
    }

    private void giveBackClaims() {
        for (Claim claim : claims) {
            if (claim == null) {
                freed.countDown();
            } else {
                client.engine().release(claim);
            }
        }
    }

    /** Returns when the daemon has answered, or at until; an interruption is kept for later. */
    void awaitFreed(long until) {
        boolean interrupted = false;
        try {
            for (long left = until - Clock.now(); left > 0; left = until - Clock.now()) {
                try {
                    freed.await(left, TimeUnit.NANOSECONDS);
                    return;
                } catch (InterruptedException again) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void command(String verb, List<String> more) {
        for (Claim claim : claims) {
            checkHeld();
            CompletableFuture<HoldfastException> answer = new CompletableFuture<>();
            client.engine().command(claim, verb, more, answer::complete);
            HoldfastException error = answerOf(answer);
            if (error != null) {
                throw error.here();
            }
        }
    }

    private HoldfastException answerOf(CompletableFuture<HoldfastException> answer) {
        boolean interrupted = false;
        try {
            for (;;) {
                try {
                    return answer.get(1, TimeUnit.SECONDS);
                } catch (TimeoutException late) {
                    checkHeld(); // a daemon that is silent for too long has cost the lock
                } catch (InterruptedException again) {
                    interrupted = true;
                } catch (ExecutionException never) {
                    throw new IllegalStateException(never);
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
