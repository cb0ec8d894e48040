package holdfast;

import static holdfast.Stage.CALM;
import static holdfast.Stage.HANG;
import static holdfast.Tap.check;
import static holdfast.Tap.equal;
import static holdfast.Tap.raises;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/** More waits than the daemon lets a session have. */
final class LineTests {
    private static final String NARROW = CALM + "limits: { waiters-per-session: 3 }\n";
    private static final Duration LONG = Duration.ofSeconds(HANG);

    private LineTests() {
    }

    /** Waits that were begun one after the other; each notes when it has the lock, and gives it back. */
    private static final class Queue {
        final List<Integer> order = Collections.synchronizedList(new ArrayList<>());
        final List<CompletableFuture<Void>> done = new ArrayList<>();

        Queue(int n, LockRequest request) {
            for (int i = 0; i < n; i++) {
                int number = i;
                // With an owner it does not stand in the queue of its name.
                done.add(request.owner("o" + i).lockAsync().thenAccept(lock -> {
                    order.add(number);
                    lock.close();
                }));
            }
        }

        void inOrder() throws Exception {
            for (CompletableFuture<Void> one : done) {
                one.get(HANG, TimeUnit.SECONDS);
            }
            equal(order, IntStream.range(0, done.size()).boxed().toList());
        }
    }

    /** They are granted all the same, in their order. A request that does not wait is not held up by the line. */
    static void testLine() throws Exception {
        try (Stage stage = new Stage(NARROW); Stage.Admin admin = stage.admin()) {
            stage.both((hf, where) -> {
                Lock held = hf.lock("a");
                Queue queue = new Queue(12, hf.request("a").waiting(LONG));
                admin.waiters("a", 3);
                equal(raises(LockRefusedException.class, () -> hf.tryLock("b")).code(), "LIMIT");
                held.close();
                queue.inOrder();
                admin.nothingLeft();
            });
        }
    }

    /** A wait in the line ends when its time is over, when it is interrupted or cancelled, and with the client. */
    static void testLineEnds() throws Exception {
        try (Stage stage = new Stage(NARROW); Stage.Admin admin = stage.admin()) {
            stage.both((hf, where) -> {
                Lock held = hf.lock("a");
                Queue queue = new Queue(5, hf.request("a"));
                String late = raises(LockTimeoutException.class, () -> hf.lock("a", Duration.ofMillis(50))).getMessage();
                check(late.startsWith("another locker has the lock a, and kept it for "), late);
                CompletableFuture<Lock> cancelled = hf.lockAsync("a", LONG);
                CompletableFuture<Throwable> ended = new CompletableFuture<>();
                Thread waits = new Thread(() -> {
                    try {
                        hf.lock("a");
                        ended.complete(null);
                    } catch (InterruptedException | RuntimeException told) {
                        ended.complete(told);
                    }
                });
                waits.start();
                Stage.until("it waits", () -> waits.getState() == Thread.State.WAITING);
                waits.interrupt();
                check(ended.get(HANG, TimeUnit.SECONDS) instanceof InterruptedException, "not interrupted");
                cancelled.cancel(true);
                held.close();
                queue.inOrder();
                admin.nothingLeft();
            });
            Holdfast hf = Holdfast.open(stage.socket);
            Lock held = hf.lock("a");
            Queue queue = new Queue(5, hf.request("a"));
            admin.waiters("a", 3);
            hf.close();
            for (CompletableFuture<Void> one : queue.done) {
                raises(ExecutionException.class, () -> one.get(HANG, TimeUnit.SECONDS));
            }
            raises(LockLostException.class, () -> LockTests.close(held));
            admin.nothingLeft();
        }
    }

    /** A wait at the daemon that is cancelled makes room for the first of the line. */
    static void testLineMovesUp() throws Exception {
        try (Stage stage = new Stage(NARROW); Stage.Admin admin = stage.admin()) {
            Holdfast hf = stage.open(stage.socket);
            Lock held = hf.lock("a");
            Lock other = hf.lock("b");
            CompletableFuture<Lock> one = hf.request("a").owner("one").waiting(LONG).lockAsync();
            CompletableFuture<Lock> two = hf.request("a").owner("two").waiting(LONG).lockAsync();
            Queue queue = new Queue(2, hf.request("b"));
            admin.waiters("b", 1);
            one.cancel(true);
            admin.waiters("b", 2);
            two.cancel(true);
            other.close();
            queue.inOrder();
            held.close();
            admin.nothingLeft();
        }
    }

    /** A lost connection keeps the line and its order. */
    static void testLineCut() throws Exception {
        try (Stage stage = new Stage(NARROW); Stage.Admin admin = stage.admin()) {
            stage.both((hf, where) -> {
                Lock held = hf.lock("a");
                Queue queue = new Queue(8, hf.request("a").waiting(LONG));
                admin.waiters("a", 3);
                for (int i = 0; i < 3; i++) {
                    Stage.until("a connection is cut", () -> admin.cut() > 0);
                }
                held.close();
                queue.inOrder();
                admin.nothingLeft();
            });
        }
    }

    /** A request of several names does not keep one while it stands in the line for another, which those may wait for that wait. */
    static void testLineOfSeveral() throws Exception {
        try (Stage stage = new Stage(NARROW); Stage.Admin admin = stage.admin()) {
            stage.both((hf, where) -> {
                Lock held = hf.lock("a");
                Queue queue = new Queue(9, hf.request("a", "b", "c").waiting(LONG));
                admin.waiters("a", 3);
                held.close();
                queue.inOrder();
                Stage.crowd(60, i -> hf.request("b", "a", "n" + i % 4).waiting(LONG).lock().close());
                admin.nothingLeft();
            });
        }
    }

    /** Those that wait for a name stand in a queue: one of them waits at the daemon, and what becomes of it reaches those behind it. */
    static void testQueueOfName() throws Exception {
        String ruled = CALM + "rules: [ { match: ruled, wait: 500ms } ]\nlimits: { waiters-per-session: 3 }\n";
        try (Stage stage = new Stage(ruled); Stage.Admin admin = stage.admin()) {
            stage.both((hf, where) -> {
                Lock held = hf.lock("a");
                List<Integer> order = new CopyOnWriteArrayList<>();
                List<CompletableFuture<Lock>> all = new ArrayList<>();
                for (int i = 0; i < 9; i++) {
                    int number = i;
                    LockRequest request = hf.request("a").waiting(i == 3 ? Duration.ofMillis(200) : LONG);
                    CompletableFuture<Lock> one = (i == 8 ? request.shared() : request).lockAsync();
                    one.thenAccept(lock -> {
                        order.add(number);
                        lock.close();
                    });
                    all.add(one);
                }
                admin.waiters("a", 1);
                all.get(5).cancel(true);
                all.get(0).cancel(true);
                Throwable late = raises(ExecutionException.class, () -> all.get(3).get(HANG, TimeUnit.SECONDS)).getCause();
                check(late instanceof LockTimeoutException && late instanceof LockBusyException, String.valueOf(late));
                admin.waiters("a", 1);
                held.close();
                Stage.until("all had it", () -> order.size() == 6);
                equal(order, List.of(1, 2, 4, 6, 7, 8));
                // Without a wait of its own each waits as long as the rule says, and not one after the other.
                long begun = System.nanoTime();
                try (Lock other = hf.lock("ruled")) {
                    Stage.crowd(20, i -> raises(LockTimeoutException.class, () -> hf.lock("ruled")));
                }
                long took = (System.nanoTime() - begun) / 1_000_000;
                check(took >= 499 && took < 9500, took + " ms");
                Stage.crowd(30, i -> hf.request("x", "y").waiting(LONG).lock().close());
                admin.nothingLeft();
            });
        }
    }

    /** A refusal that no end of a wait could change is told; the line of one place moves on all the same. */
    static void testLineOfNobody() throws Exception {
        Line line = new Line();
        Claim claim = new Claim("a", "o", List.of(), -1, 0, null, new Line.Turn(), false);
        Hold hold = new Hold(new Hold.Key("a", "o"));
        line.join(claim, hold, true);
        check(line.mayAsk(hold, claim) && !line.refused(hold), "it would stand in the line for ever");
        try (Stage stage = new Stage(CALM + "limits: { waiters-per-session: 1 }\n"); Stage.Admin admin = stage.admin()) {
            Holdfast hf = stage.open(stage.socket);
            Stage.crowd(200, i -> hf.lock("crowd", LONG).close());
            admin.nothingLeft();
        }
    }
}
