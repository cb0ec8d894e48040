package holdfast;

import static holdfast.Stage.BRISK;
import static holdfast.Stage.CALM;
import static holdfast.Stage.HANG;
import static holdfast.Stage.until;
import static holdfast.Tap.check;
import static holdfast.Tap.equal;
import static holdfast.Tap.raises;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** Who has a lock that is waited for, what happens to a client, and locks of java.util.concurrent. */
final class SeenTests {
    private static final Duration LONG = Duration.ofSeconds(HANG);

    private SeenTests() {
    }

    private static Waiting next(BlockingQueue<Waiting> told) throws InterruptedException {
        Waiting waiting = told.poll(HANG, TimeUnit.SECONDS);
        check(waiting != null, "nobody is told of the wait");
        return waiting;
    }

    static void testHolder() throws Exception {
        try (Stage stage = new Stage(CALM); Stage.Admin admin = stage.admin()) {
            stage.both((hf, where) -> {
                long token = (Long) admin.ask("LOCK", "a", "OWNER", "me", "WHY", "a reason");
                List<BlockingQueue<Waiting>> told = new ArrayList<>();
                List<CompletableFuture<Lock>> waits = new ArrayList<>();
                for (int i = 0; i < 3; i++) {
                    told.add(new LinkedBlockingQueue<>());
                    waits.add(hf.request("a").waiting(LONG).onWait(told.get(i)::add).lockAsync());
                }
                for (int i = 0; i < 3; i++) {
                    Waiting waiting = next(told.get(i));
                    Holder holder = waiting.holder();
                    equal(List.of(waiting.name(), waiting.position(), holder.pid(), holder.owner(), holder.why(), holder.token(),
                            holder.address(), holder.host(), holder.isWithheld()),
                            List.of("a", i + 1L, ProcessHandle.current().pid(), "me", "a reason", token, "", "", false));
                    check(waiting.waited().toMillis() >= 1000, waiting);
                    check(!holder.since().isAfter(Instant.now()), holder.since());
                }
                waits.forEach(wait -> wait.cancel(true));
                LockTimeoutException late = raises(LockTimeoutException.class, () -> hf.lock("a", Duration.ofMillis(100)));
                equal(List.of(late.name(), late.holder().token()), List.of("a", token));
                check(late.getMessage().contains("; the holder is a client (pid " + ProcessHandle.current().pid()), late.getMessage());
                check(raises(LockTimeoutException.class, () -> hf.lock("a", Duration.ZERO)).holder() == null, "a try asks nobody");
                admin.ask("UNLOCK", "a", "OWNER", "me");
                try (Lock mine = hf.lock("a")) {
                    String text = raises(LockTimeoutException.class, () -> hf.lock("a", Duration.ofMillis(50))).getMessage();
                    check(text.contains("this process holds it itself") && mine.isHeld(), text);
                }
                admin.nothingLeft();
            });
        }
    }

    /** Two waits of one owner stand at one place: the longer one goes on when the shorter one is over. */
    static void testWaitsOfAnOwner() throws Exception {
        try (Stage stage = new Stage(CALM); Stage.Admin admin = stage.admin()) {
            Holdfast hf = stage.open(stage.socket);
            admin.ask("LOCK", "a");
            CompletableFuture<Lock> first = hf.request("a").owner("x").waiting(Duration.ofMillis(300)).lockAsync();
            CompletableFuture<Lock> second = hf.request("a").owner("x").waiting(LONG).lockAsync();
            raises(Exception.class, () -> first.get(HANG, TimeUnit.SECONDS));
            check(!second.isDone(), "the other waits");
            admin.ask("UNLOCK", "a");
            second.get(HANG, TimeUnit.SECONDS).close();
            admin.nothingLeft();
        }
    }

    static void testObserver() throws Exception {
        Logger log = Logger.getLogger("holdfast");
        ConcurrentLinkedQueue<String> lines = new ConcurrentLinkedQueue<>();
        Handler handler = new Handler() {
            @Override
            public void publish(LogRecord line) {
                lines.add(line.getLevel() + " " + line.getMessage());
            }

            @Override
            public void flush() {
            }

            @Override
            public void close() {
            }
        };
        log.addHandler(handler);
        log.setUseParentHandlers(false);
        log.setLevel(Level.ALL);
        try (Stage stage = new Stage(CALM); Stage.Admin admin = stage.admin()) {
            observed(stage, admin, lines);
        } finally {
            log.removeHandler(handler);
            log.setUseParentHandlers(true);
            log.setLevel(null);
        }
    }

    private static void observed(Stage stage, Stage.Admin admin, ConcurrentLinkedQueue<String> lines) throws Exception {
        Holdfast hf = stage.open(stage.socket);
        BlockingQueue<String> told = new LinkedBlockingQueue<>();
        Runnable stop = hf.observe(new LockObserver() {
            @Override
            public void waits(Waiting waiting) {
                told.add("waits " + waiting.name() + " " + waiting.position() + " " + (waiting.holder() != null));
            }

            @Override
            public void held(String name, long token, Duration waited) {
                told.add("held " + name + " " + token);
            }

            @Override
            public void released(String name, long token, Duration held) {
                told.add("released " + name + " " + token);
            }

            @Override
            public void lost(LockLostException loss, Duration held) {
                told.add("lost " + loss.name() + " " + loss.reason());
            }
        });
        Lock lock = hf.lock("a");
        equal(told.poll(HANG, TimeUnit.SECONDS), "held a " + lock.token());
        until("the connection is told", () -> lines.stream().anyMatch(line -> line.startsWith("FINE connected to holdfastd at ")));
        equal(admin.cut(), 1);
        until("the cut is told", () -> lines.stream().anyMatch(line -> line.matches("WARNING the connection to holdfastd at .* is lost: .*")));
        until("the return is told", () -> lines.stream().anyMatch(line -> line.matches("INFO connected to holdfastd at .* again")));
        CompletableFuture<Lock> wait = hf.lockAsync("a", LONG);
        equal(told.poll(HANG, TimeUnit.SECONDS), "waits a 1 true");
        until("the wait is told", () -> lines.stream().anyMatch(line -> line.startsWith("FINE waiting for a for ")));
        lock.close();
        equal(told.poll(HANG, TimeUnit.SECONDS), "released a " + lock.token());
        Lock second = wait.get(HANG, TimeUnit.SECONDS);
        equal(told.poll(HANG, TimeUnit.SECONDS), "held a " + second.token());
        admin.ask("BREAK", "a", "TOKEN", Long.toString(second.token()));
        equal(told.poll(HANG, TimeUnit.SECONDS), "lost a broken");
        until("the loss is told", () -> lines.stream().anyMatch(line -> line.startsWith("WARNING the lock a is lost")));
        raises(LockLostException.class, () -> LockTests.close(second));
        stop.run();
        hf.lock("b").close();
        check(told.isEmpty(), told);
    }

    static void testJavaLock() throws Exception {
        try (Stage stage = new Stage(BRISK); Stage.Admin admin = stage.admin()) {
            stage.both((hf, where) -> {
                java.util.concurrent.locks.Lock lock = hf.request("a").asJavaLock();
                lock.lock();
                check(lock.tryLock() && lock.tryLock(1, TimeUnit.SECONDS), "the thread has it, and may take it again");
                equal(CompletableFuture.supplyAsync(lock::tryLock).get(HANG, TimeUnit.SECONDS), false);
                lock.unlock();
                lock.unlock();
                equal(CompletableFuture.supplyAsync(lock::tryLock).get(HANG, TimeUnit.SECONDS), false);
                lock.unlock();
                raises(IllegalMonitorStateException.class, () -> {
                    lock.unlock();
                    return null;
                });
                raises(UnsupportedOperationException.class, lock::newCondition);
                int[] counted = {0};
                Stage.crowd(20, number -> {
                    lock.lock();
                    try {
                        counted[0]++;
                    } finally {
                        lock.unlock();
                    }
                });
                equal(counted[0], 20);
                interrupted(lock, admin);
                lock.lock();
                Object token = admin.field("holder/token", "INSPECT", "a");
                admin.ask("BREAK", "a", "TOKEN", token.toString());
                equal(raises(LockLostException.class, () -> {
                    lock.unlock();
                    return null;
                }).reason(), "broken");
            });
        }
    }

    private static void interrupted(java.util.concurrent.locks.Lock lock, Stage.Admin admin) throws Exception {
        admin.ask("LOCK", "a");
        CompletableFuture<Boolean> ended = new CompletableFuture<>();
        Thread waits = new Thread(() -> {
            lock.lock();
            lock.unlock();
            ended.complete(Thread.interrupted());
        });
        Thread gives = new Thread(() -> {
            try {
                lock.lockInterruptibly();
            } catch (InterruptedException wanted) {
                return;
            }
            ended.complete(false);
        });
        waits.start();
        admin.waiters("a", 1);
        waits.interrupt();
        gives.start();
        gives.interrupt();
        gives.join();
        admin.waiters("a", 1);
        admin.ask("UNLOCK", "a");
        equal(ended.get(HANG, TimeUnit.SECONDS), true);
    }
}
