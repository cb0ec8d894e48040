package holdfast;

import static holdfast.Tap.check;

import java.io.DataInputStream;
import java.io.IOException;
import java.net.ServerSocket;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A directory with a redis-server and a holdfastd of its own. Timing never decides a test: HANG is for what takes
 * milliseconds on an idle machine.
 */
final class Stage implements AutoCloseable {
    static final int HANG = 60; // seconds
    static final String CALM = "lease: 60s\nclock-margin: 1s\n";
    static final String BRISK = "lease: 2s\nclock-margin: 200ms\n";

    final Path folder;
    final String socket;
    final String tcp;
    Process redis;
    Process daemon;
    private int starts;
    private final List<AutoCloseable> ends = new ArrayList<>();

    Stage(String config) throws Exception {
        folder = Files.createTempDirectory("hf");
        socket = folder.resolve("s").toString();
        try (ServerSocket probe = new ServerSocket(0)) {
            tcp = "127.0.0.1:" + probe.getLocalPort();
        }
        Files.writeString(folder.resolve("yml"), "listen:\n  - unix: " + socket + "\n  - tcp: " + tcp
                + "\nmasters: [ \"unix://" + folder + "/redis\" ]\nrestart-guard: off\n" + config);
        redis = start(program("REDIS_SERVER"), "--port", "0", "--unixsocket", folder + "/redis", "--save", "", "--dir",
                folder.toString());
        startDaemon();
    }

    static String program(String name) {
        String path = System.getenv(name);
        check(path != null, name + " has to be the path of the program: use `make check-java`");
        return path;
    }

    Process start(String... command) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().keySet().removeAll(List.of("XDG_RUNTIME_DIR", "NOTIFY_SOCKET", "HOLDFAST_URL"));
        builder.redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.appendTo(folder.resolve("log").toFile()));
        return builder.start();
    }

    /** Returns when locks are granted. */
    void startDaemon() throws Exception {
        // The lease of an earlier daemon that was killed is at the master still.
        String name = "admitted" + starts++;
        daemon = start(program("HOLDFASTD"), "-c", folder.resolve("yml").toString());
        until("holdfastd grants a lock", () -> {
            try (Admin admin = new Admin(socket)) {
                return admin.ask("LOCK", name, "WAIT", "0") instanceof Long;
            } catch (IOException notYet) {
                return false;
            }
        });
    }

    /** A client that another process would have: clients of one process share a session. */
    Holdfast open(String where) {
        Holdfast client = Holdfast.open(where);
        ends.add(client);
        return client;
    }

    /** Ends it with the stage. */
    void keep(AutoCloseable end) {
        ends.add(end);
    }

    Admin admin() throws IOException {
        Admin admin = new Admin(socket);
        ends.add(admin);
        admin.ask("HELLO", "3");
        return admin;
    }

    /** Java again: see Child. */
    Process child(String... arguments) throws IOException {
        List<String> command = new ArrayList<>(java());
        command.add("--child");
        command.addAll(Arrays.asList(arguments));
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().put("HOLDFAST_URL", socket);
        Process child = builder.redirectError(ProcessBuilder.Redirect.INHERIT).start();
        ends.add(child::destroyForcibly);
        return child;
    }

    static List<String> java(String... options) {
        List<String> command = new ArrayList<>(List.of(System.getProperty("java.home") + "/bin/java", "-Xshare:auto",
                "-XX:TieredStopAtLevel=1"));
        command.addAll(Arrays.asList(options));
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), "holdfast.Tap"));
        return command;
    }

    interface Scene {
        void play(Holdfast client, String where) throws Exception;
    }

    /** Plays it over the Unix socket and over TCP. */
    void both(Scene scene) throws Exception {
        for (String where : new String[] {socket, tcp}) {
            try (Holdfast client = Holdfast.open(where)) {
                scene.play(client, where);
            }
        }
    }

    static void signal(Process process, String name) throws Exception {
        Process kill = new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).inheritIO().start();
        check(kill.waitFor() == 0, "kill -" + name);
    }

    static void kill(Process process) throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    @Override
    public void close() throws Exception {
        for (AutoCloseable end : ends) {
            end.close();
        }
        for (Process process : new Process[] {daemon, redis}) {
            if (process != null && process.isAlive()) {
                signal(process, "CONT");
                kill(process);
            }
        }
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }

    static void until(String what, Callable<Boolean> done) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(HANG);
        while (!done.call()) {
            check(System.nanoTime() < end, "not within a minute: " + what);
            Thread.sleep(1);
        }
    }

    interface Work {
        void run(int number) throws Exception;
    }

    /** Runs work in n threads; the first failure fails the test. */
    static void crowd(int n, Work work) throws Exception {
        ConcurrentLinkedQueue<Throwable> failures = new ConcurrentLinkedQueue<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            int number = i;
            threads.add(thread(() -> work.run(number), failures));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        if (!failures.isEmpty()) {
            throw new AssertionError(failures.size() + " failures, the first: ", failures.peek());
        }
    }

    interface Body {
        void run() throws Exception;
    }

    /** A virtual thread if this Java has them. */
    static Thread thread(Body body, ConcurrentLinkedQueue<Throwable> failures) {
        Runnable task = () -> {
            try {
                body.run();
            } catch (Throwable thrown) {
                failures.add(thrown);
            }
        };
        try {
            return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, task);
        } catch (ReflectiveOperationException older) {
            Thread thread = new Thread(null, task, "crowd", 1 << 18);
            thread.start();
            return thread;
        }
    }

    /** A connection of the tests' own. */
    static final class Admin implements AutoCloseable {
        private final SocketChannel channel;
        private final DataInputStream in;
        private final Wire wire = new Wire();

        Admin(String socket) throws IOException {
            channel = SocketChannel.open(StandardProtocolFamily.UNIX);
            try {
                channel.connect(UnixDomainSocketAddress.of(socket));
            } catch (IOException refused) {
                channel.close();
                throw refused;
            }
            in = new DataInputStream(Channels.newInputStream(channel));
        }

        synchronized Object ask(String... words) throws IOException {
            ByteBuffer request = ByteBuffer.wrap(Wire.encode(List.of(words)));
            while (request.hasRemaining()) {
                channel.write(request);
            }
            Object[] out = new Object[1];
            byte[] bytes = new byte[4096];
            try {
                while (!wire.next(out) || out[0] instanceof Wire.Push) {
                    int got = in.read(bytes);
                    if (got < 0) {
                        throw new IOException("the daemon closed the connection");
                    }
                    wire.add(bytes, got);
                }
            } catch (Wire.ProtocolException bad) {
                throw new IOException(bad);
            }
            return out[0];
        }

        /** A field of a map; nested with a slash. */
        Object field(String path, String... words) throws IOException {
            Object value = ask(words);
            for (String step : path.split("/")) {
                List<?> items = (List<?>) value;
                value = null;
                for (int i = 0; items != null && i + 1 < items.size(); i += 2) {
                    value = step.equals(items.get(i)) ? items.get(i + 1) : value;
                }
            }
            return value;
        }

        void waiters(String name, long count) throws Exception {
            until(count + " wait for " + name, () -> Long.valueOf(count).equals(field("waiter_count", "INSPECT", name)));
        }

        /** No name is held, withheld or waited for. What a thread does not wait for may take a moment. */
        void nothingLeft() throws Exception {
            until("nothing is left", () -> ((List<?>) ((List<?>) ask("LOCKS")).get(1)).isEmpty());
        }

        /** The daemon closes all connections of this process but those of the tests. Over TCP or the Unix socket. */
        int cut() throws IOException {
            int closed = 0;
            for (String line : ((String) ask("CLIENT", "LIST")).split("\n")) {
                if (line.contains("name=holdfast.Tap:")) {
                    ask("CLIENT", "KILL", "ID", line.substring(line.indexOf("id=") + 3, line.indexOf(' ')));
                    closed++;
                }
            }
            return closed;
        }

        @Override
        public void close() throws IOException {
            channel.close();
        }
    }

    /** Prints the median and the 99th percentile, and fails if that is above bound. */
    static void tell(String what, List<Long> took, long boundMs) {
        took.sort(null);
        long p50 = took.get(took.size() / 2);
        long p99 = took.get(took.size() * 99 / 100);
        Tap.comment(String.format("%s: %d times, p50 %.3f ms, p99 %.3f ms", what, took.size(), p50 / 1e6, p99 / 1e6));
        check(p99 < boundMs * 1_000_000, what + ": p99 is above " + boundMs + " ms");
    }
}
