package holdfast;

import static holdfast.Stage.BRISK;
import static holdfast.Stage.CALM;
import static holdfast.Stage.HANG;
import static holdfast.Tap.check;
import static holdfast.Tap.equal;
import static holdfast.Tap.raises;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;

/** What is left of locks after kills, restarts, cuts and interruptions: all of it, or nothing. */
final class FaultTests {
    private static final Duration LONG = Duration.ofSeconds(HANG);

    private FaultTests() {
    }

    private static String line(Process process) throws IOException {
        return new BufferedReader(new InputStreamReader(process.getInputStream())).readLine();
    }

    /**
     * A killed holder's lock passes on at once, long before the lease and the grace (10 s) are over, although a process that it
     * has started lives on.
     */
    static void testHolderKilled() throws Exception {
        try (Stage stage = new Stage("lease: 300s\nclock-margin: 1s\n"); Stage.Admin admin = stage.admin()) {
            Holdfast hf = stage.open(stage.socket);
            List<Long> took = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                Process holder = stage.child("hold", "a");
                ProcessHandle heir = ProcessHandle.of(Long.parseLong(line(holder))).orElseThrow();
                stage.keep(heir::destroyForcibly);
                try (Stream<Path> files = Files.list(Path.of("/proc/" + heir.pid() + "/fd"))) {
                    for (Path file : files.toList()) {
                        String target = Files.readSymbolicLink(file).toString();
                        check(!target.startsWith("socket:"), "a child inherits " + target);
                    }
                }
                CompletableFuture<Long> granted = new CompletableFuture<>();
                CompletableFuture<Lock> waits = hf.request("a").lockAsync();
                waits.thenAccept(lock -> granted.complete(System.nanoTime()));
                admin.waiters("a", 1);
                long begun = System.nanoTime();
                Stage.kill(holder);
                took.add(granted.get(HANG, TimeUnit.SECONDS) - begun);
                waits.get().close();
            }
            Stage.tell("kill of the holder to the next grant", took, 5000);
        }
    }

    /** A program that ends without close gives its lock back. */
    static void testExit() throws Exception {
        try (Stage stage = new Stage(CALM); Stage.Admin admin = stage.admin()) {
            Process child = stage.child("exit", "a");
            equal(line(child), "held");
            check(child.waitFor(HANG, TimeUnit.SECONDS), "the thread of the package keeps the program");
            admin.nothingLeft();
        }
    }

    /** `holdfast restart` is no loss, for holders nor for waiters. */
    static void testRestart() throws Exception {
        try (Stage stage = new Stage(CALM); Stage.Admin admin = stage.admin()) {
            stage.both((hf, where) -> {
                Lock held = hf.lock("held");
                CompletableFuture<Lock> waits = hf.request("held").lockAsync();
                admin.waiters("held", 1);
                AtomicBoolean stop = new AtomicBoolean();
                AtomicLong grants = new AtomicLong();
                CompletableFuture<Throwable> work = CompletableFuture.supplyAsync(() -> {
                    try {
                        Stage.crowd(10, number -> {
                            while (!stop.get()) {
                                hf.lock("work", LONG).close();
                                grants.incrementAndGet();
                            }
                        });
                        return new Throwable("none");
                    } catch (Throwable failed) {
                        return failed;
                    }
                });
                for (int i = 0; i < 5; i++) {
                    long before = grants.get();
                    ProcessBuilder restart = new ProcessBuilder(Stage.program("HOLDFAST"), "restart").inheritIO();
                    restart.environment().put("HOLDFAST_URL", stage.socket);
                    equal(restart.start().waitFor(), 0);
                    Stage.until("the work goes on", () -> work.isDone() || grants.get() > before + 20);
                }
                stop.set(true);
                Throwable failed = work.get(HANG, TimeUnit.SECONDS);
                check("none".equals(failed.getMessage()), failed);
                held.checkHeld();
                held.close();
                waits.get(HANG, TimeUnit.SECONDS).close();
                admin.nothingLeft();
            });
        }
    }

    /** A daemon that is killed and comes back knows the session: the lock is kept, with its token, and a wait goes on. */
    static void testDaemonComesBack() throws Exception {
        try (Stage stage = new Stage(CALM)) {
            stage.both((hf, where) -> {
                Lock lock = hf.lock("a");
                CompletableFuture<Lock> waits = hf.request("a").lockAsync();
                for (int i = 0; i < 3; i++) {
                    Stage.kill(stage.daemon);
                    stage.startDaemon();
                    try (Stage.Admin admin = new Stage.Admin(stage.socket)) {
                        admin.ask("HELLO", "3");
                        admin.waiters("a", 1);
                        equal(admin.field("holder/token", "INSPECT", "a"), lock.token());
                    }
                }
                lock.checkHeld();
                lock.close();
                waits.get(HANG, TimeUnit.SECONDS).close();
            });
        }
    }

    /** A daemon that forgot everything: the loss is told before another holder has the lock. */
    static void testDaemonForgets() throws Exception {
        try (Stage stage = new Stage(BRISK + "ledger: off\n")) {
            Holdfast hf = stage.open(stage.socket);
            Lock lock = hf.lock("a");
            Stage.kill(stage.daemon);
            stage.startDaemon();
            try (Lock next = hf.lock("a", LONG)) {
                check(!lock.isHeld() && next.token() > lock.token(), "two holders");
            }
            LockTests.lost(lock, "");
        }
    }

    /** A cut connection is no loss: locks are kept, and waiters keep their places. */
    static void testConnectionCut() throws Exception {
        try (Stage stage = new Stage(CALM); Stage.Admin admin = stage.admin()) {
            stage.both((hf, where) -> {
                Lock held = hf.lock("a");
                List<Integer> order = Collections.synchronizedList(new ArrayList<>());
                List<CompletableFuture<Void>> waits = new ArrayList<>();
                for (int i = 0; i < 3; i++) {
                    int turn = i;
                    waits.add(hf.request("a").owner("o" + i).lockAsync().thenAccept(lock -> { // each waits at the daemon
                        order.add(turn);
                        lock.close();
                    }));
                    admin.waiters("a", i + 1);
                }
                for (int i = 0; i < 30; i++) {
                    Stage.until("it is connected", () -> admin.cut() == 1);
                }
                equal(admin.field("holder/token", "INSPECT", "a"), held.token());
                admin.waiters("a", 3);
                held.checkHeld();
                held.close();
                CompletableFuture.allOf(waits.toArray(new CompletableFuture<?>[0])).get(HANG, TimeUnit.SECONDS);
                equal(order, List.of(0, 1, 2));
                admin.nothingLeft();
            });
        }
    }

    /**
     * Calls are interrupted and futures cancelled in every phase: before the request, behind it, in the queue, at the grant,
     * while connections are cut. Nothing is left, and no two have the lock.
     */
    static void testInterrupted() throws Exception {
        try (Stage stage = new Stage(CALM); Stage.Admin admin = stage.admin()) {
            stage.both((hf, where) -> {
                AtomicBoolean stop = new AtomicBoolean();
                Thread cutter = new Thread(() -> {
                    try {
                        while (!stop.get()) {
                            Thread.sleep(ThreadLocalRandom.current().nextInt(40));
                            admin.cut();
                        }
                    } catch (IOException | InterruptedException failed) {
                        throw new IllegalStateException(failed);
                    }
                });
                cutter.start();
                Map<String, AtomicInteger> inside = Map.of("0", new AtomicInteger(), "1", new AtomicInteger(), "2",
                        new AtomicInteger());
                AtomicInteger granted = new AtomicInteger();
                AtomicInteger given = new AtomicInteger();
                Stage.crowd(20, number -> {
                    for (int n = 0; n < 50; n++) {
                        String name = Integer.toString((number + n) % 3);
                        LockRequest request = n % 5 == 0 ? hf.request("z", name) : hf.request(name);
                        int later = n % 10 == 3 ? 0 : n % 10 == 7 ? HANG * 1_000_000
                                : ThreadLocalRandom.current().nextInt(8000);
                        if (n % 2 == 0) {
                            interruptedCall(request, later, inside.get(name), granted, given);
                        } else {
                            cancelledFuture(request, later, inside.get(name), granted, given);
                        }
                    }
                });
                stop.set(true);
                cutter.join();
                Tap.comment(granted + " granted, " + given + " given up");
                check(granted.get() > 0 && given.get() > 0, "not every phase was met");
                admin.nothingLeft();
            });
        }
    }

    private static void work(Lock lock, AtomicInteger inside, AtomicInteger granted) throws InterruptedException {
        check(inside.incrementAndGet() == 1, "two holders");
        granted.incrementAndGet();
        lock.checkHeld();
        inside.decrementAndGet();
    }

    private static void interruptedCall(LockRequest request, int us, AtomicInteger inside, AtomicInteger granted,
            AtomicInteger given) throws InterruptedException {
        Thread caller = Thread.currentThread();
        AtomicBoolean over = new AtomicBoolean();
        CompletableFuture<Void> interrupter = new CompletableFuture<Void>();
        interrupter.completeOnTimeout(null, us, TimeUnit.MICROSECONDS);
        CompletableFuture<Void> done = interrupter.thenRun(() -> {
            synchronized (over) {
                if (!over.get()) {
                    caller.interrupt();
                }
            }
        });
        try (Lock lock = request.lock()) {
            work(lock, inside, granted);
        } catch (InterruptedException expected) {
            given.incrementAndGet();
        } finally {
            synchronized (over) {
                over.set(true);
            }
            done.cancel(false);
            Thread.interrupted();
        }
    }

    private static void cancelledFuture(LockRequest request, int us, AtomicInteger inside, AtomicInteger granted,
            AtomicInteger given) throws Exception {
        CompletableFuture<Lock> future = request.lockAsync();
        CompletableFuture<Void> canceller = new CompletableFuture<Void>().completeOnTimeout(null, us, TimeUnit.MICROSECONDS)
                .thenRun(() -> future.cancel(true));
        try (Lock lock = future.get()) {
            work(lock, inside, granted);
        } catch (CancellationException expected) {
            given.incrementAndGet();
        }
        canceller.cancel(false);
    }

    static void testEarlyTimeouts() throws Exception {
        try (Stage stage = new Stage(CALM); Stage.Admin admin = stage.admin()) {
            stage.both((hf, where) -> {
                Stage.crowd(20, number -> {
                    for (int n = 0; n < 20; n++) {
                        try (Lock lock = hf.tryLock("a", Duration.ofMillis(ThreadLocalRandom.current().nextInt(5)))) {
                            Thread.sleep(lock == null ? 0 : ThreadLocalRandom.current().nextInt(3));
                        } catch (LockRefusedException refused) {
                            equal(refused.code(), "NOMASTER"); // it has not answered yet
                        }
                    }
                });
                admin.nothingLeft();
            });
        }
    }

    static void testCounter() throws Exception {
        try (Stage stage = new Stage(CALM); Stage.Admin admin = stage.admin()) {
            stage.both((hf, where) -> {
                final int clients = 1000;
                final int rounds = 5;
                AtomicInteger inside = new AtomicInteger();
                AtomicLong last = new AtomicLong();
                long[] counter = {0};
                long begun = System.nanoTime();
                Stage.crowd(clients, number -> {
                    for (int n = 0; n < rounds; n++) {
                        try (Lock lock = hf.lock("counter")) {
                            check(inside.incrementAndGet() == 1, "two holders");
                            check(last.getAndSet(lock.token()) < lock.token(), "the token does not grow");
                            counter[0]++;
                            inside.decrementAndGet();
                        }
                    }
                });
                equal(counter[0], (long) clients * rounds);
                Tap.comment(String.format("%.0f locks in a second", clients * rounds / ((System.nanoTime() - begun) / 1e9)));
                admin.nothingLeft();
            });
        }
    }

    /** With one carrier thread, a virtual thread that is pinned while it waits would stop the holder, too. */
    static void testVirtualThreads() throws Exception {
        if (Runtime.version().feature() < 21) {
            throw new Tap.Skip("Java " + Runtime.version().feature() + " has no virtual threads");
        }
        try (Stage stage = new Stage(CALM)) {
            List<String> command = Stage.java("-Djdk.virtualThreadScheduler.parallelism=1",
                    "-Djdk.virtualThreadScheduler.maxPoolSize=1");
            command.addAll(List.of("--child", "crowd", "200"));
            ProcessBuilder builder = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT);
            builder.environment().put("HOLDFAST_URL", stage.socket);
            Process child = builder.start();
            check(child.waitFor(HANG, TimeUnit.SECONDS) || child.destroyForcibly() == null, "it hangs");
            equal(line(child), "200");
        }
    }

    static void testMasterGone() throws Exception {
        try (Stage stage = new Stage(BRISK)) {
            Holdfast hf = stage.open(stage.socket);
            Lock lock = hf.lock("a");
            Stage.kill(stage.redis);
            LockTests.lost(lock, "");
            equal(raises(LockRefusedException.class, () -> hf.tryLock("b")).code(), "NOMASTER");
        }
    }

    /**
     * The daemon is gone, or does not answer, and does not come back: the lock is lost when the announced deadline is over, and not
     * earlier.
     */
    static void testDaemonGone() throws Exception {
        for (String signal : List.of("KILL", "STOP")) {
            for (int kind = 0; kind < 2; kind++) {
                try (Stage stage = new Stage(BRISK)) {
                    Holdfast hf = Holdfast.open(kind == 0 ? stage.socket : stage.tcp);
                    Lock lock = hf.lock("a");
                    CompletableFuture<Lock> waits = hf.lockAsync("a", Duration.ofSeconds(1));
                    CompletableFuture<Long> told = new CompletableFuture<>();
                    Stage.signal(stage.daemon, signal);
                    long deadline = System.nanoTime() + lock.validFor().toNanos();
                    lock.onLost(loss -> told.complete(System.nanoTime()));
                    double early = (deadline - told.get(HANG, TimeUnit.SECONDS)) / 1e6;
                    Tap.comment(String.format("%s: told %.1f ms before the deadline", signal, early));
                    check(early < 100, "told " + early + " ms before the deadline");
                    LockTests.lost(lock, "unreachable");
                    check(raises(ExecutionException.class, () -> waits.get(HANG, TimeUnit.SECONDS)).getCause()
                            instanceof DaemonUnreachableException, "it waits on");
                    hf.close();
                }
            }
        }
    }

    static void testUnreachable() throws Exception {
        try (Stage stage = new Stage(CALM)) {
            Map<String, String> hints = Map.of(stage.folder + "/none", "is it running?", stage.folder + "/redis",
                    "perhaps Redis: a Redis belongs under masters:",
                    "127.0.0.1:1", "is it running?", "no-such-host.invalid:1", "no-such-host.invalid:1: ");
            for (Map.Entry<String, String> entry : hints.entrySet()) {
                try (Holdfast hf = Holdfast.open(entry.getKey())) {
                    String message = raises(DaemonUnreachableException.class, () -> hf.tryLock("a")).getMessage();
                    check(message.contains(entry.getValue()), "no hint in " + message);
                }
            }
            // A listener that never answers.
            try (ServerSocket silent = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
                    Holdfast hf = Holdfast.open("127.0.0.1:" + silent.getLocalPort())) {
                raises(DaemonUnreachableException.class, () -> hf.tryLock("a"));
                raises(DaemonUnreachableException.class, () -> hf.lock("a"));
            }
        }
    }

    /** The standard address is chosen anew at each connect until a daemon has answered, and stays from then on. */
    static void testStandardAddress() throws Exception {
        try (Stage stage = new Stage(CALM); Stage.Admin admin = stage.admin()) {
            Path own = stage.folder.resolve("holdfast/holdfast.sock");
            Path system = stage.folder.resolve("system"); // in place of /run/holdfast/holdfast.sock
            Files.createDirectory(own.getParent());
            for (Path place : List.of(own, system)) {
                Stage.until("the connection of the test before is gone", () -> admin.cut() == 0);
                Address standard = new Address(system.toString(), "", 0, "", "", null, own.toString());
                try (Holdfast hf = new Holdfast(standard)) {
                    equal(raises(DaemonUnreachableException.class, () -> hf.tryLock("a")).getMessage(),
                            "cannot reach holdfastd: neither $XDG_RUNTIME_DIR/holdfast/holdfast.sock nor " + system
                                    + " is there: is it running? If it is elsewhere, set HOLDFAST_URL");
                    Files.createSymbolicLink(place, Path.of(stage.socket));
                    hf.lock("a").close();
                    Files.createSymbolicLink(place == own ? system : own, stage.folder.resolve("redis"));
                    equal(admin.cut(), 1);
                    hf.lock("a").close();
                    try (Holdfast same = Holdfast.open(place.toString())) {
                        same.lock("a").close();
                        equal(admin.cut(), 1); // one connection for both
                    }
                }
                Files.delete(own);
                Files.delete(system);
            }
        }
    }

    /** A password is needed, and a wrong one is told at once. */
    static void testLogin() throws Exception {
        Path password = Files.createTempFile("hf", "password");
        Files.writeString(password, "pass word\n");
        try (Stage stage = new Stage(CALM + "users:\n  - { name: app, password-file: " + password + " }\n")) {
            try (Holdfast hf = Holdfast.open("redis://app:pass%20word@" + stage.tcp)) {
                hf.lock("a").close();
            }
            for (String[] wrong : new String[][] {{"redis://app:wrong@", "WRONGPASS"}, {"tcp://", "NOAUTH"}}) {
                try (Holdfast hf = Holdfast.open(wrong[0] + stage.tcp)) {
                    equal(raises(LockRefusedException.class, () -> hf.lock("a")).code(), wrong[1]);
                }
            }
        } finally {
            Files.delete(password);
        }
    }
}
