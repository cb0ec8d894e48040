package holdfast;

import static holdfast.Tap.check;
import static holdfast.Tap.equal;
import static holdfast.Tap.raises;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;

/** What needs no daemon. */
final class UnitTests {
    private UnitTests() {
    }

    static void testAddress() {
        Map<String, Address> known = Map.of("/a/b", new Address("/a/b", "", 0, "", "", null), "unix:./a",
                new Address("./a", "", 0, "", "", null), "unix:///a", new Address("/a", "", 0, "", "", null), "h:1",
                new Address("", "h", 1, "", "", null), "tcp://h", new Address("", "h", 5625, "", "", null), "redis://u:p%40@[::1]:7/0",
                new Address("", "::1", 7, "u", "p@", null), "redis://:p@h", new Address("", "h", 5625, "", "p", null), "tcp://[::1]",
                new Address("", "::1", 5625, "", "", null));
        known.forEach((where, address) -> {
            equal(Address.parse(where, "x"), address);
            equal(Address.choose(Map.of("HOLDFAST_URL", where)), address);
        });
        equal(Address.choose(Map.of("XDG_RUNTIME_DIR", "/nowhere")).now(), Address.parse(Address.DEFAULT_SOCKET, "x"));
        equal(Address.parse("redis://u:secret@[::1]:7", "x").toString(), "tcp://[::1]:7");
        equal(Address.parse("tls://h:1?name=n&ca=%2fc", "x"), new Address("", "h", 1, "", "", new Secure("/c", "", "", "n")));
        equal(Address.parse("rediss://u:p@h/0?certificate=/a&key=/b", "x"),
                new Address("", "h", 5625, "u", "p", new Secure("", "/a", "/b", "")));
        equal(Address.parse("rediss://u:secret@h:1", "x").toString(), "tls://h:1");
        for (String where : List.of("h", "unix:", "http://h:1", "h:0", "h:65536", "h:", "redis://secret@h",
                "redis://u:secret@h/1", ":1", "redis://u:%4@h", "tls://h?x=1", "tls://h?key=/k", "tcp://h?ca=/c")) {
            String told = raises(IllegalArgumentException.class, () -> Address.parse(where, "x")).getMessage();
            check(!told.contains("secret"), told);
        }
    }

    /** An error says where the address came from, and what to do. */
    static void testOrigin() {
        Address system = Address.choose(Map.of("XDG_RUNTIME_DIR", "/nowhere"));
        equal(system.from(Map.of()) + system.elsewhere(), " If it is elsewhere, set HOLDFAST_URL");
        equal(system.missing(), "neither $XDG_RUNTIME_DIR/holdfast/holdfast.sock nor /run/holdfast/holdfast.sock is there");
        equal(Address.choose(Map.of("XDG_RUNTIME_DIR", "me")).missing(), "/run/holdfast/holdfast.sock is not there");
        Address named = Address.parse(Address.DEFAULT_SOCKET, "x");
        equal(named.from(Map.of()) + named.elsewhere(), "");
        Map<String, String> url = Map.of("HOLDFAST_URL", "redis://u:secret@h:1");
        equal(Address.choose(url).from(url) + Address.choose(url).elsewhere(), " (from HOLDFAST_URL)");
        equal(system.from(url), "");
        equal(system.from(Map.of("HOLDFAST_URL", "wrong")), "");
    }

    /** The socket in $XDG_RUNTIME_DIR is taken only if root or this user put it there. */
    static void testSocketOfAnotherUser() throws Exception {
        Path runtime = Files.createTempDirectory("holdfast");
        Path directory = Files.createDirectory(runtime.resolve("holdfast"));
        Path own = Files.createSymbolicLink(directory.resolve("holdfast.sock"), Path.of("/dev/null"));
        Address standard = new Address("/system", "", 0, "", "", null, own.toString());
        boolean root = Files.getAttribute(Path.of("/proc/self"), "unix:uid").equals(0);
        try {
            equal(standard.now().path(), own.toString());
            for (Path path : List.of(runtime, directory)) {
                Files.setAttribute(path, "unix:mode", 0777);
                equal(standard.now().path(), "/system");
                equal(standard.missing(), "$XDG_RUNTIME_DIR/holdfast/holdfast.sock is not taken, everybody may write to its "
                        + "directory, and /system is not there");
                Files.setAttribute(path, "unix:mode", 01777);
                equal(standard.now().path(), own.toString());
                Files.setAttribute(path, "unix:mode", 0755);
                if (root) {
                    Files.setAttribute(path, "unix:uid", 61999);
                    check(standard.missing().contains("its directory belongs to another user"), standard.missing());
                    Files.setAttribute(path, "unix:uid", 0);
                }
            }
            if (root) {
                Files.setAttribute(own, "unix:uid", 61999, LinkOption.NOFOLLOW_LINKS);
                equal(standard.now().path(), "/system");
                check(standard.missing().contains("taken, it belongs to another user"), standard.missing());
            }
        } finally {
            for (Path path : List.of(own, directory, runtime)) {
                Files.delete(path);
            }
        }
    }

    /** A wrong argument is named, before anything is sent. */
    static void testArguments() {
        try (Holdfast hf = Holdfast.open("/nowhere/s")) {
            Map<Callable<Object>, String> wrong = Map.of(() -> hf.lock("x", null), "the wait is null: a Duration is needed",
                    () -> hf.lock(null), "a name is null", () -> hf.request("x").lease(null), "the time is null",
                    () -> hf.request("x").why(null), "why: a String is needed", () -> hf.request("x").owner(null), "owner: a String is needed");
            wrong.forEach((call, what) -> {
                String told = raises(NullPointerException.class, call).getMessage();
                check(told.startsWith(what), told);
            });
            equal(raises(IllegalArgumentException.class, () -> hf.lock("")).getMessage(), "name: 1 to 512 bytes without spaces and control characters are needed, not \"\"");
        }
    }

    /** The clock goes on while the host sleeps, and a step of the wall clock alone is none. */
    static void testClock() {
        long[] host = {0, 1_000_000_000_000L, 5_000_000_000L}; // nanoTime, wall, uptime
        Clock clock = new Clock(() -> host[0], () -> host[1], () -> host[2]);
        long before = clock.read();
        for (int i = 0; i < 3; i++) {
            host[i] += 1_000_000_000;
        }
        equal(clock.read() - before, 1_000_000_000L);
        host[1] += 3_600_000_000_000L; // the wall clock is set
        equal(clock.read() - before, 1_000_000_000L);
        host[1] += 60_000_000_000L; // the host sleeps for a minute
        host[2] += 60_000_000_000L;
        long slept = clock.read() - before - 61_000_000_000L;
        check(slept >= 0 && slept <= 20_000_000, slept);
        equal(clock.read() - before - 61_000_000_000L, slept);
        Clock other = new Clock(() -> host[0], () -> host[1], () -> -1); // no /proc/uptime
        before = other.read();
        host[1] += 60_000_000_000L;
        check(other.read() - before >= 60_000_000_000L, "a sleep is not seen");
        host[1] -= 60_000_000_000L;
        check(other.read() - before >= 60_000_000_000L, "the clock went back");
    }

    /** A thread that stands still between two clocks, as on a busy host, takes that neither for a sleep nor off a sleep. */
    static void testClockOfStalledThread() {
        long[] host = {0, 1_000_000_000_000L, 5_000_000_000L}; // nanoTime, wall, uptime
        int[] stalls = {2};
        Clock clock = new Clock(() -> host[0], () -> host[1], () -> {
            long read = host[2];
            for (int i = 0; i < 3 && stalls[0] > 0; i++) {
                host[i] += 300_000_000;
            }
            stalls[0]--;
            return read;
        });
        long before = clock.read();
        host[1] += 3_600_000_000_000L; // the wall clock is set
        equal(clock.read() - before, 0L);
        host[1] += 60_000_000_000L; // the host sleeps for a minute
        host[2] += 60_000_000_000L;
        stalls[0] = 1;
        long slept = clock.read() - before - 60_300_000_000L;
        check(slept >= 0 && slept <= 20_000_000, slept);
    }

    /** A program that has no descriptor left cannot read /proc/uptime: the host may have slept even so. */
    static void testClockWithoutDescriptors() {
        long[] host = {0, 1_000_000_000_000L, 5_000_000_000L}; // nanoTime, wall, uptime
        boolean[] full = {false};
        Clock clock = new Clock(() -> host[0], () -> host[1], () -> full[0] ? -1 : host[2]);
        long before = clock.read();
        for (int i = 0; i < 2; i++) {
            full[0] = i == 0;
            host[1] += 60_000_000_000L; // the host sleeps for a minute
            host[2] += 60_000_000_000L;
            check(clock.read() - before >= (i + 1) * 60_000_000_000L, "a sleep is not seen");
        }
    }

    /** A connection has the name of the program, also if the JDK compiles it first. */
    static void testLabel() {
        String pid = ":" + ProcessHandle.current().pid();
        equal(Engine.label("com.example.App one two"), "com.example.App" + pid);
        equal(Engine.label("/opt/app.jar"), "app.jar" + pid);
        equal(Engine.label("jdk.compiler/com.sun.tools.javac.launcher.Main Deploy.java one"), "Deploy.java" + pid);
        equal(Engine.label("jdk.compiler/com.sun.tools.javac.launcher.SourceLauncher"),
                "com.sun.tools.javac.launcher.SourceLauncher" + pid);
        equal(Engine.label("na\u00efve app"), "na_ve" + pid);
    }

    private static List<Object> parsed(String text, int step) throws Wire.ProtocolException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        Wire wire = new Wire();
        List<Object> found = new ArrayList<>();
        Object[] out = new Object[1];
        for (int at = 0; at < bytes.length; at += step) {
            byte[] piece = Arrays.copyOfRange(bytes, at, Math.min(at + step, bytes.length));
            wire.add(piece, piece.length);
            while (wire.next(out)) {
                found.add(out[0] instanceof Wire.Failure failure ? List.of("error", failure.code(), failure.text())
                        : out[0] instanceof Wire.Push push ? List.of("push", push.items()) : out[0]);
            }
        }
        return found;
    }

    static void testWire() throws Exception {
        String text = "+OK\r\n-NOMASTER it is\r\n:42\r\n$5\r\na\r\nbc\r\n$-1\r\n_\r\n*2\r\n:1\r\n*1\r\n+x\r\n%1\r\n+k\r\n:2\r\n"
                + ">3\r\n$4\r\nlost\r\n$1\r\nä\r\n:7\r\n".replace("$1\r\nä", "$2\r\nä");
        List<Object> wanted = Arrays.asList("OK", List.of("error", "NOMASTER", "it is"), 42L, "a\r\nbc", null, null,
                List.of(1L, List.of("x")), List.of("k", 2L), List.of("push", List.of("lost", "ä", 7L)));
        for (int step : new int[] {1, 3, 1000}) {
            equal(parsed(text, step), wanted);
        }
        for (String bad : List.of("?\r\n", "\r\n", ":x\r\n", "*99999\r\n", "$99999999\r\n", "*1\r\n".repeat(20))) {
            raises(Wire.ProtocolException.class, () -> parsed(bad, 1000));
        }
        equal(new String(Wire.encode(List.of("LOCK", "ä")), StandardCharsets.UTF_8), "*2\r\n$4\r\nLOCK\r\n$2\r\nä\r\n");
        String large = "$70000\r\n" + "x".repeat(70000) + "\r\n:1\r\n";
        equal(parsed(large, 999).size(), 2);
    }

    /** A core whose caller writes down what it is told. */
    private static final class Told implements Claim.Caller {
        final List<String> words = new ArrayList<>();
        final Core core = new Core("here", List.of("HELLO", "3"), "", false);
        private boolean again;

        @Override
        public void waits(Claim claim, Waiting waiting) {
        }

        @Override
        public void settled(Claim claim) {
            words.add(claim.error == null ? "held" : claim.error.getClass().getSimpleName());
        }

        @Override
        public void lost(Claim claim) {
            words.add("lost " + ((LockLostException) claim.error).reason());
        }

        @Override
        public void freed(Claim claim) {
            words.add("freed");
        }

        void connected(long now) throws Wire.ProtocolException {
            core.connected(now);
            hear("%1\r\n+server\r\n+holdfast\r\n" + (again ? ":0\r\n" : "") + "$1\r\ns\r\n+OK\r\n", now);
            again = true;
        }

        void hear(String text, long now) throws Wire.ProtocolException {
            core.receive(text.getBytes(StandardCharsets.UTF_8), text.length(), now);
        }

        String told() {
            List<Runnable> calls = List.copyOf(core.calls);
            core.calls.clear();
            calls.forEach(Runnable::run);
            String all = String.join(" ", words);
            words.clear();
            return all;
        }

        /** The verbs that were sent since then. */
        String sent() {
            String text = core.output.toString(StandardCharsets.UTF_8);
            core.output.reset();
            List<String> verbs = new ArrayList<>();
            for (String request : text.split("(?=\\*\\d+\r\n)")) {
                if (!request.isEmpty()) {
                    verbs.add(request.split("\r\n")[2]);
                }
            }
            return String.join(" ", verbs);
        }
    }

    private static final long S = Core.SECOND;

    /** Nothing was ever sent: nothing has to be given back, and the daemon is not looked for any longer. */
    static void testNeverConnected() {
        Told told = new Told();
        Claim claim = new Claim("a", "o", List.of(), 0, 0, told, new Line.Turn(), false);
        told.core.acquire(claim, 0);
        told.core.cut(1, told.core.unreachable("nobody"), true);
        equal(told.told(), "DaemonUnreachableException");
        check(told.core.holds.isEmpty(), "it is looked for on and on");
    }

    /** The wait without a bound ends, too, if no daemon is found. */
    static void testPatience() {
        Told told = new Told();
        told.core.acquire(new Claim("a", "o", List.of(), -1, 0, told, new Line.Turn(), false), 0);
        told.core.cut(1, told.core.unreachable("nobody"), true);
        told.core.tick(4 * S);
        equal(told.told(), "");
        told.core.tick(Core.PATIENCE);
        equal(told.told(), "DaemonUnreachableException");
    }

    /** A holder that cannot ask is told shortly before the deadline, and the lock is given back when the daemon returns. */
    static void testDeadline() throws Exception {
        Told told = new Told();
        told.connected(0);
        Claim claim = new Claim("a", "o", List.of(), -1, 0, told, new Line.Turn(), false);
        told.core.acquire(claim, 0);
        told.sent();
        told.hear("+QUEUED\r\n>3\r\n+grant\r\n+o.1\r\n:5\r\n", 0);
        equal(told.sent(), "CHECK");
        told.hear(":3000\r\n", 0);
        equal(told.told(), "held");
        told.core.tick(S);
        equal(told.sent(), "CHECK");
        told.core.cut(S, told.core.unreachable("cut"), false);
        told.core.tick(3 * S - 21 * Core.MS);
        equal(told.told(), "");
        told.core.tick(3 * S - 20 * Core.MS);
        equal(told.told(), "lost unreachable");
        told.connected(4 * S);
        check(told.sent().endsWith("UNLOCK"), "not given back");
        told.hear("-LOST expired\r\n", 4 * S);
        check(told.core.holds.isEmpty(), "not forgotten");
    }

    /** A process that stood still until the deadline that it was told asks again, before it says that it has the lock. */
    static void testStoodStill() throws Exception {
        Told told = new Told();
        told.connected(0);
        told.core.acquire(new Claim("a", "o", List.of(), -1, 0, told, new Line.Turn(), false), 0);
        told.sent();
        told.hear("+QUEUED\r\n>3\r\n+grant\r\n+o.1\r\n:5\r\n", 0);
        equal(told.sent(), "CHECK");
        told.hear(":3000\r\n", 3 * S);
        equal(told.told(), "");
        equal(told.sent(), "CHECK");
        told.hear(":3000\r\n", 3 * S);
        equal(told.told(), "held");
    }

    /** A grant tells for how long it is good, from the sending of LOCK on: after a wait that took a third of that it is asked. */
    static void testToldByGrant() throws Exception {
        Told told = new Told();
        told.connected(0);
        told.core.acquire(new Claim("a", "o", List.of(), -1, 0, told, new Line.Turn(), false), 0);
        told.sent();
        told.hear("+QUEUED\r\n>4\r\n+grant\r\n+o.1\r\n:5\r\n:3000\r\n", S - 1);
        equal(told.sent(), "");
        equal(told.told(), "held");
        told.core.tick(S);
        equal(told.sent(), "CHECK");
        told.core.acquire(new Claim("b", "p", List.of(), -1, S, told, new Line.Turn(), false), S);
        told.sent();
        told.hear(":3000\r\n+QUEUED\r\n>4\r\n+grant\r\n+p.2\r\n:5\r\n:3000\r\n", 2 * S);
        equal(told.told(), "");
        equal(told.sent(), "CHECK");
    }

    /** An older daemon does not tell that: the LOCK is sent without the question, and so are those after it. */
    static void testOlderDaemon() throws Exception {
        Told told = new Told();
        told.connected(0);
        told.core.acquire(new Claim("a", "o", List.of(), -1, 0, told, new Line.Turn(), false), 0);
        told.sent();
        told.hear("-ERR VALIDITY and ASYNC exclude each other; send CHECK after the grant\r\n", 0);
        equal(told.sent(), "LOCK");
        told.hear("+QUEUED\r\n>3\r\n+grant\r\n+o.1\r\n:5\r\n", 0);
        equal(told.sent(), "CHECK");
        told.hear(":3000\r\n", 0);
        equal(told.told(), "held");
    }

    /** A CHECK that is under way at the end of MAXHOLD does not hide why the lock ends. */
    static void testMaxHold() throws Exception {
        Told told = new Told();
        told.connected(0);
        told.core.acquire(new Claim("a", "o", List.of("MAXHOLD", "1000"), -1, 0, told, new Line.Turn(), false), 0);
        told.hear("+QUEUED\r\n>3\r\n+grant\r\n+o.1\r\n:5\r\n:990\r\n", 0);
        equal(told.told(), "held");
        told.core.tick(900 * Core.MS);
        check(told.sent().endsWith("CHECK"), "not asked");
        told.core.tick(990 * Core.MS);
        equal(told.told(), "lost maxhold");
    }

    /** A LOCK that was answered twice counts twice, and so is given back twice. */
    static void testCountedTwice() throws Exception {
        Told told = new Told();
        told.connected(0);
        Claim claim = new Claim("a", "o", List.of(), -1, 0, told, new Line.Turn(), false);
        told.core.acquire(claim, 0);
        told.hear("+QUEUED\r\n>3\r\n+grant\r\n+o.1\r\n:5\r\n:3000\r\n", 0);
        told.sent();
        told.core.release(claim, 0);
        equal(told.sent(), "UNLOCK");
        told.hear(":1\r\n", 0);
        equal(told.sent(), "UNLOCK");
        told.hear(":0\r\n", 0);
        check(told.core.holds.isEmpty(), "not forgotten");
    }

    /** A broken lock is given up when its user gives it up, or at the deadline that it was told. */
    static void testBroken() throws Exception {
        for (boolean gives : List.of(true, false)) {
            Told told = new Told();
            told.connected(0);
            Claim claim = new Claim("a", "o", List.of(), -1, 0, told, new Line.Turn(), false);
            told.core.acquire(claim, 0);
            told.hear("+QUEUED\r\n>4\r\n+grant\r\n+o.1\r\n:5\r\n:3000\r\n", 0);
            equal(told.told(), "held");
            told.hear(">5\r\n+lost\r\n+a\r\n+o\r\n:5\r\n+broken by hand\r\n", S);
            equal(told.told(), "lost broken");
            told.sent();
            told.core.tick(2 * S);
            equal(told.sent(), "");
            if (gives) {
                told.core.release(claim, 2 * S);
            } else {
                told.core.tick(3 * S);
            }
            equal(told.sent(), "UNLOCK");
            told.hear("-LOST broken\r\n", 3 * S);
            check(told.core.holds.isEmpty(), "not forgotten");
        }
    }

    /** A wait that is given up behind its grant gives the grant back. */
    static void testGrantMeetsCancel() throws Exception {
        Told told = new Told();
        told.connected(0);
        Claim claim = new Claim("a", "o", List.of(), -1, 0, told, new Line.Turn(), false);
        told.core.acquire(claim, 0);
        told.hear("+QUEUED\r\n", 0);
        told.sent();
        told.core.release(claim, 0);
        equal(told.sent(), "CANCEL UNLOCK");
        told.hear(">3\r\n+grant\r\n+o.1\r\n:5\r\n:0\r\n:0\r\n", 0);
        equal(told.sent(), "");
        check(told.core.holds.isEmpty(), "not forgotten");
    }

    static void testRequest() {
        Holdfast hf = Holdfast.open("/nowhere");
        raises(IllegalArgumentException.class, hf::request);
        raises(IllegalArgumentException.class, () -> hf.request("a", "a"));
        for (Duration time : List.of(Duration.ofMillis(-1), Duration.ofDays(365).plusNanos(1), Duration.ofMillis(Long.MAX_VALUE),
                Duration.ofSeconds(Long.MAX_VALUE, 999_999_999), Duration.ofSeconds(Long.MIN_VALUE))) {
            String last = " to 365 days is needed, not " + time;
            if (time.isNegative()) {
                equal(raises(IllegalArgumentException.class, () -> hf.request("a").waiting(time)).getMessage(), "wait: a time from 0" + last);
                equal(raises(IllegalArgumentException.class, () -> hf.lock("a", time)).getMessage(), "wait: a time from 0" + last);
            } else {
                hf.request("a").waiting(time);
            }
            equal(raises(IllegalArgumentException.class, () -> hf.request("a").lease(time)).getMessage(), "lease: a time from 1 ms" + last);
            equal(raises(IllegalArgumentException.class, () -> hf.request("a").maxHold(time)).getMessage(),
                    "maxHold: a time from 1 ms" + last);
            equal(raises(IllegalArgumentException.class, () -> Terms.ms("extend", time)).getMessage(),
                    "extend: a time from 1 ms" + last);
        }
        raises(IllegalArgumentException.class, () -> hf.request("a").lease(Duration.ZERO));
        equal(Terms.ms("lease", Duration.ofDays(365)), "31536000000");
        raises(IllegalArgumentException.class, () -> hf.request("a").owner("x".repeat(97)));
        equal(Core.ms(1), "1");
        equal(Core.ms(2_000_000), "2");
        hf.close();
    }
}
