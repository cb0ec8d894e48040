package holdfast;

import static holdfast.Stage.BRISK;
import static holdfast.Stage.CALM;
import static holdfast.Stage.HANG;
import static holdfast.Tap.check;
import static holdfast.Tap.equal;
import static holdfast.Tap.raises;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;

/** Locks as they are used, against a real daemon and a real Redis. */
final class LockTests {
    private static final Duration LONG = Duration.ofSeconds(HANG);

    private LockTests() {
    }

    /** Waits for the loss, and checks its reason. */
    static void lost(Lock lock, String reason) throws Exception {
        CompletableFuture<LockLostException> told = new CompletableFuture<>();
        lock.onLost(told::complete);
        LockLostException loss = told.get(HANG, TimeUnit.SECONDS);
        check(reason.isEmpty() || loss.reason().equals(reason), "expected the reason " + reason + ", got " + loss);
        equal(lock.validFor(), Duration.ZERO);
        raises(LockLostException.class, () -> {
            lock.checkHeld();
            return null;
        });
        equal(raises(LockLostException.class, () -> close(lock)).reason(), loss.reason());
        lock.close(); // a second time: nothing
    }

    static Object close(Lock lock) {
        lock.close();
        return "closed";
    }

    static void testLock() throws Exception {
        try (Stage stage = new Stage(CALM); Stage.Admin admin = stage.admin()) {
            stage.both((hf, where) -> {
                Lock lock = hf.request("a").why("a test").lock();
                check(lock.isHeld() && lock.validFor().compareTo(LONG) <= 0, lock.validFor());
                equal(lock.toString(), "Lock[name=a, token=" + lock.token() + ", held=true]");
                equal(admin.field("holder/why", "INSPECT", "a"), "a test");
                equal(admin.field("holder/token", "INSPECT", "a"), lock.token());
                check(hf.tryLock("a") == null, "two holders");
                check(hf.tryLock("a", Duration.ofMillis(5)) == null, "two holders");
                String busy = raises(LockTimeoutException.class, () -> hf.lock("a", Duration.ZERO)).getMessage();
                check(busy.contains(" a"), busy);
                lock.close();
                lock.close();
                check(!lock.isHeld(), "given back, and still held");
                raises(IllegalStateException.class, () -> {
                    lock.checkHeld();
                    return null;
                });
                try (Lock next = hf.tryLock("a")) {
                    check(next.token() > lock.token(), "the token does not grow");
                    next.checkHeld();
                }
                admin.nothingLeft();
            });
        }
    }

    static void testKinds() throws Exception {
        try (Stage stage = new Stage(CALM); Stage.Admin admin = stage.admin()) {
            stage.both((hf, where) -> {
                LockRequest reading = hf.request("a").shared();
                try (Lock one = reading.lock(); Lock two = reading.lock()) {
                    check(hf.tryLock("a") == null, "a writer beside readers");
                }
                try (Lock writer = hf.lock("a")) {
                    check(reading.tryLock() == null, "a reader beside a writer");
                    writer.downgrade();
                    try (Lock reader = reading.tryLock()) {
                        check(reader != null && writer.isHeld(), "not downgraded");
                    }
                }
                LockRequest permit = hf.request("s").limit(3);
                try (Lock two = permit.permits(2).lock(); Lock one = permit.lock()) {
                    check(permit.tryLock() == null, "a fourth permit");
                    equal(raises(LockRefusedException.class, () -> hf.tryLock("s")).code(), "WRONGKIND");
                }
                raises(IllegalArgumentException.class, () -> hf.lock("a b"));
                admin.nothingLeft();
            });
        }
    }

    static void testLease() throws Exception {
        try (Stage stage = new Stage(CALM)) {
            stage.both((hf, where) -> {
                Lock lock = hf.request("a").lease(LONG).lock();
                lock.extend(Duration.ofMillis(300));
                check(lock.validFor().toMillis() <= 300, lock.validFor());
                lost(lock, "lease");
                lost(hf.request("a").maxHold(Duration.ofSeconds(1)).lock(), "maxhold");
                try (Lock plain = hf.lock("a")) {
                    equal(raises(LockRefusedException.class, () -> {
                        plain.extend(LONG);
                        return null;
                    }).code(), "ERR");
                }
            });
        }
    }

    static void testOwner() throws Exception {
        try (Stage stage = new Stage(CALM); Stage.Admin admin = stage.admin()) {
            Holdfast hf = stage.open(stage.socket);
            Lock first = hf.request("a").owner("me").lock();
            Lock second = hf.request("a").owner("me").tryLock();
            equal(second.token(), first.token());
            check(((String) admin.field("holder/owner", "INSPECT", "a")).startsWith("me#"), "the owner is not shown");
            check(hf.request("a").owner("you").tryLock() == null && hf.tryLock("a") == null, "another owner has it, too");
            first.close();
            first.close();
            check(!first.isHeld() && second.isHeld(), "the first close ends the second hold");
            check(hf.tryLock("a") == null, "given back too early");
            admin.ask("BREAK", "a", "TOKEN", Long.toString(second.token()));
            lost(second, "broken");
        }
    }

    static void testSeveral() throws Exception {
        try (Stage stage = new Stage(BRISK); Stage.Admin admin = stage.admin()) {
            stage.both((hf, where) -> {
                Lock lock = hf.request("b", "a", "c").waiting(LONG).lock();
                equal(lock.names(), List.of("b", "a", "c"));
                for (int i = 0; i < 3; i++) {
                    equal(admin.field("holder/token", "INSPECT", lock.names().get(i)), lock.tokens().get(i));
                }
                check(hf.request("0", "b").tryLock() == null, "two holders");
                hf.lock("0").close();
                admin.ask("BREAK", "a", "TOKEN", Long.toString(lock.tokens().get(1)));
                lost(lock, "broken");
                Stage.crowd(20, number -> {
                    List<String> names = new ArrayList<>(List.of("a", "b", "c", "d"));
                    Collections.shuffle(names);
                    hf.request(names.get(0), names.get(1)).waiting(LONG).lock().close();
                });
                admin.nothingLeft();
            });
        }
    }

    /** The loss is told while the holder works: by the callback, and by an interruption. */
    static void testBroken() throws Exception {
        try (Stage stage = new Stage(BRISK); Stage.Admin admin = stage.admin()) {
            stage.both((hf, where) -> {
                List<Long> took = new ArrayList<>();
                for (int i = 0; i < 100; i++) {
                    Lock lock = hf.lock("a" + i);
                    CompletableFuture<Long> told = new CompletableFuture<>();
                    lock.onLost(loss -> told.complete(System.nanoTime()));
                    long begun = System.nanoTime();
                    check(admin.ask("BREAK", "a" + i, "TOKEN", Long.toString(lock.token())) instanceof Long, "BREAK");
                    took.add(told.get(HANG, TimeUnit.SECONDS) - begun);
                    equal(raises(LockLostException.class, () -> {
                        lock.checkHeld();
                        return null;
                    }).getMessage(), "the lock a" + i + " is lost: an administrator broke it");
                    lost(lock, "broken");
                }
                Stage.tell("BREAK to the callback", took, 1500);
                took.clear();
                for (int i = 0; i < 100; i++) {
                    Lock lock = hf.lock("b" + i).interruptOnLost();
                    CompletableFuture<Long> begun = broken(admin, lock);
                    raises(InterruptedException.class, () -> {
                        Thread.sleep(HANG * 1000);
                        return null;
                    });
                    took.add(System.nanoTime() - begun.get());
                    equal(raises(LockLostException.class, () -> close(lock)).reason(), "broken");
                }
                Stage.tell("BREAK to the interruption", took, 1500);
            });
        }
    }

    /** Another thread breaks the lock; when it began. */
    private static CompletableFuture<Long> broken(Stage.Admin admin, Lock lock) {
        return CompletableFuture.supplyAsync(() -> {
            long begun = System.nanoTime();
            try {
                admin.ask("BREAK", lock.names().get(0), "TOKEN", Long.toString(lock.token()));
            } catch (IOException failed) {
                throw new UncheckedIOException(failed);
            }
            return begun;
        });
    }

    /** An interruption by a loss never reaches what follows the close. */
    static void testInterruptionEnds() throws Exception {
        try (Stage stage = new Stage(CALM); Stage.Admin admin = stage.admin()) {
            Holdfast hf = stage.open(stage.socket);
            for (int i = 0; i < 50; i++) {
                Lock lock = hf.lock("a" + i).interruptOnLost();
                CompletableFuture<Long> broken = broken(admin, lock);
                while (i % 2 == 0 && lock.isHeld()) {
                    Thread.onSpinWait(); // else the close meets the loss
                }
                try {
                    lock.close();
                } catch (LockLostException told) {
                    equal(told.reason(), "broken");
                } finally {
                    while (!broken.isDone()) {
                        Thread.onSpinWait();
                    }
                    check(!Thread.interrupted(), "interrupted after the close");
                }
            }
        }
    }

    static void testAsync() throws Exception {
        try (Stage stage = new Stage(CALM); Stage.Admin admin = stage.admin()) {
            stage.both((hf, where) -> {
                Lock held = hf.lockAsync("a", LONG).get(HANG, TimeUnit.SECONDS);
                CompletableFuture<Lock> next = hf.request("a").lockAsync();
                admin.waiters("a", 1);
                CompletableFuture<Lock> late = hf.lockAsync("a", Duration.ofMillis(5));
                check(raises(ExecutionException.class, late::get).getCause() instanceof LockTimeoutException, "no timeout");
                CompletableFuture<Lock> third = hf.request("a").owner("third").lockAsync();
                admin.waiters("a", 2);
                check(third.cancel(true), "not cancelled");
                admin.waiters("a", 1);
                raises(ExecutionException.class, () -> hf.request("a").lockAsync().orTimeout(5, TimeUnit.MILLISECONDS).get());
                admin.waiters("a", 1);
                held.close();
                next.thenAccept(Lock::close).get(HANG, TimeUnit.SECONDS);
                // A stage that takes its time delays nobody. The locks wait until it is there: else it would run in this thread.
                CompletableFuture<Void> slow = new CompletableFuture<>();
                List<CompletableFuture<Void>> all = new ArrayList<>();
                List<Lock> first = new ArrayList<>();
                for (int i = 0; i < 20; i++) {
                    first.add(hf.lock("slow" + i));
                    all.add(hf.request("slow" + i).lockAsync().thenAccept(lock -> {
                        slow.join();
                        lock.close();
                    }));
                }
                first.forEach(Lock::close);
                Lock other = hf.lock(where);
                admin.ask("BREAK", where, "TOKEN", Long.toString(other.token()));
                lost(other, "broken");
                slow.complete(null);
                CompletableFuture.allOf(all.toArray(new CompletableFuture<?>[0])).get(HANG, TimeUnit.SECONDS);
            });
        }
    }

    static void testClose() throws Exception {
        try (Stage stage = new Stage(CALM); Stage.Admin admin = stage.admin()) {
            Holdfast hf = Holdfast.open(stage.socket);
            Holdfast other = Holdfast.open(stage.socket);
            Lock lock = hf.lock("a");
            Lock kept = other.lock("b");
            CompletableFuture<Lock> waits = hf.request("b").lockAsync();
            admin.waiters("b", 1);
            hf.close();
            hf.close();
            lost(lock, "closed");
            check(raises(ExecutionException.class, waits::get).getCause() instanceof IllegalStateException, "it waits on");
            raises(IllegalStateException.class, () -> hf.lock("a"));
            kept.checkHeld(); // clients of one process share a session, and not their ends
            other.close();
            lost(kept, "closed");
            admin.nothingLeft();
            Stage.until("the connection ends", () -> !((String) admin.ask("CLIENT", "LIST")).contains("name=holdfast.Tap:"));
        }
    }
}
