package holdfast;

import java.io.Closeable;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardSocketOptions;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;

/**
 * The connection of this process to one daemon, and the thread that serves it, for all clients of the address.
 *
 * The thread owns the core; callers put what they want into an inbox, and wait without a mutex, so that virtual threads are
 * not pinned. It connects when there is something to ask, and again when the connection is lost. Names are looked up and
 * callbacks are run in other threads: what takes its time there never delays the news of a loss.
 */
final class Engine implements Runnable {
    private static final long CONNECT = 2 * Core.SECOND; // for one attempt
    private static final long RETRY_MIN = 5 * Core.MS;
    private static final long RETRY_MAX = 250 * Core.MS;
    private static final long REFUSED = Core.SECOND; // the daemon counts wrong passwords for all clients of this host
    private static final long LOOK = Core.SECOND; // between looks at the clock, which may have slept

    /** For callbacks of the callers. Its threads are not bounded: a callback that takes its time delays no other. */
    static final Executor WORKERS = new ThreadPoolExecutor(0, Integer.MAX_VALUE, 10, TimeUnit.SECONDS, new SynchronousQueue<>(),
            task -> daemon(task, "holdfast-callback"));

    private static final ReentrantLock JOINING = new ReentrantLock();
    private static final List<Engine> ENGINES = new ArrayList<>(); // under JOINING

    private final Address given;
    private volatile Address address; // where it connects; of a standard address chosen anew until a daemon has served
    private final Core core;
    private final Selector selector;
    private final Thread thread;
    private final Queue<Runnable> inbox = new ConcurrentLinkedQueue<>();
    private final ByteBuffer in = ByteBuffer.allocate(1 << 16);
    private int clients; // under JOINING
    private boolean ends;
    private Pipe pipe; // null: not connected
    private SelectionKey key;
    private ByteBuffer out = ByteBuffer.allocate(0);
    private Attempt attempt; // null: not connecting
    private long retryAt;

    /** One try to connect, in a thread of its own; the engine's thread may give it up. */
    private final class Attempt implements Runnable {
        final long until = Clock.now() + limit();
        private final Address at = address;
        private SocketChannel current; // under this
        private boolean over;

        @Override
        public void run() {
            IOException why = new IOException("the host has no address");
            try {
                for (SocketAddress place : places()) {
                    try {
                        Pipe made = connect(place);
                        post(() -> connected(this, made));
                        return;
                    } catch (IOException failed) {
                        why = failed;
                    }
                }
            } catch (IOException failed) {
                why = failed;
            }
            IOException told = why;
            post(() -> failed(this, told));
        }

        private List<SocketAddress> places() throws IOException {
            List<SocketAddress> places = new ArrayList<>();
            if (at.unix()) {
                places.add(UnixSocket.address(at.path()));
            } else {
                for (InetAddress host : InetAddress.getAllByName(at.host())) {
                    places.add(new InetSocketAddress(host, at.port()));
                }
            }
            return places;
        }

        private Pipe connect(SocketAddress place) throws IOException {
            SocketChannel made = at.unix() ? UnixSocket.open() : SocketChannel.open();
            try {
                begin(made);
                made.connect(place);
                if (!at.unix()) {
                    made.setOption(StandardSocketOptions.TCP_NODELAY, true);
                }
                Secure tls = at.tls();
                Pipe opened = new Pipe(made, tls == null ? null : tls.engine(at.host(), at.port()));
                if (tls != null) {
                    opened.handshake();
                }
                made.configureBlocking(false);
                return opened;
            } catch (IOException | RuntimeException failed) {
                made.close();
                throw failed instanceof IOException ? (IOException) failed : new IOException(failed);
            }
        }

        private synchronized void begin(SocketChannel made) throws IOException {
            if (over) {
                throw new IOException("given up");
            }
            current = made;
        }

        /** A blocking connect of a closed channel ends. */
        synchronized void giveUp() {
            over = true;
            quietly(current);
        }
    }

    /** For one attempt: Java takes seconds to load what it needs for the first handshake on a busy host. */
    private long limit() {
        return address.tls() == null ? CONNECT : 5 * CONNECT;
    }

    // --- for clients, from any thread --------------------------------------------------------------------------------

    /** The engine of this process for the address, with one more client. */
    static Engine join(Address address) {
        JOINING.lock();
        try {
            Engine engine = ENGINES.stream().filter(one -> one.isFor(address)).findFirst().orElse(null);
            if (engine == null) {
                engine = new Engine(address);
                ENGINES.add(engine);
            }
            engine.clients++;
            return engine;
        } finally {
            JOINING.unlock();
        }
    }

    private boolean isFor(Address other) {
        return given.equals(other) || core.served && address.equals(other.now());
    }

    /** The last client that leaves ends the engine, when all that it had is given back. */
    void leave() {
        JOINING.lock();
        try {
            if (--clients == 0) {
                ENGINES.remove(this);
                post(() -> ends = true);
            }
        } finally {
            JOINING.unlock();
        }
    }

    void acquire(Claim claim) {
        post(() -> core.acquire(claim, Clock.now()));
    }

    void release(Claim claim) {
        post(() -> core.release(claim, Clock.now()));
    }

    /** Gives back one of several names; freed() is not called. */
    void abandon(Claim claim) {
        post(() -> core.abandon(claim, Clock.now()));
    }

    /** See Core.command. */
    void command(Claim claim, String verb, List<String> words, Consumer<HoldfastException> answered) {
        post(() -> core.command(claim, verb, words, Clock.now(), answered));
    }

    /**
     * Waits until it is known whether a held claim whose announced deadline has passed is lost: if this process stood still, the thread
     * asks the daemon first.
     */
    void decide(Claim claim) {
        long until = Clock.now() + Core.LATE + 50 * Core.MS;
        while (claim.isOverdue() && Clock.now() < until && Thread.currentThread() != thread) {
            LockSupport.parkNanos(2 * Core.MS);
        }
    }

    private void post(Runnable action) {
        inbox.add(action);
        selector.wakeup();
    }

    // --- the thread --------------------------------------------------------------------------------------------------

    private Engine(Address given) {
        this.given = given;
        address = given.now();
        List<String> hello = new ArrayList<>(List.of("HELLO", "3"));
        if (!address.password().isEmpty()) {
            hello.addAll(List.of("AUTH", address.user().isEmpty() ? "default" : address.user(), address.password()));
        }
        hello.addAll(List.of("SETNAME", label(System.getProperty("sun.java.command", "java"))));
        core = new Core(place(), hello, address.unix() ? started() : "", !address.unix());
        try {
            selector = Selector.open();
        } catch (IOException none) {
            throw new DaemonUnreachableException("holdfast cannot watch a connection: " + none.getMessage());
        }
        thread = daemon(this, "holdfast");
        thread.start();
    }

    private String place() {
        return address + address.from(System.getenv());
    }

    static Thread daemon(Runnable task, String name) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        thread.setContextClassLoader(null); // that of the first caller has to be free to go
        return thread;
    }

    /** The name of the connection: printable ASCII without spaces, at most 128 bytes. The command is that of the program. */
    static String label(String command) {
        String[] words = command.split(" ", 3);
        boolean launched = words.length > 1 && words[0].contains(".javac.launcher."); // java Deploy.java
        String name = words[launched ? 1 : 0];
        name = name.substring(name.lastIndexOf('/') + 1).replaceAll("[^!-~]", "_");
        return name.substring(Math.max(0, name.length() - 100)) + ":" + ProcessHandle.current().pid();
    }

    /** When this process began, ticks after boot, the 22nd field; the second may have spaces. "": unknown. */
    private static String started() {
        try {
            String stat = Files.readString(Path.of("/proc/self/stat"), StandardCharsets.ISO_8859_1);
            return stat.substring(stat.lastIndexOf(')') + 2).split(" ")[19];
        } catch (IOException | RuntimeException none) {
            return "";
        }
    }

    @Override
    public void run() {
        while (!(ends && finished())) {
            try {
                turn();
            } catch (IOException | RuntimeException broken) { // of the selector, or a fault of ours: the connection is in doubt
                drop(core.unreachable(broken.toString()), false);
                retryAt = Clock.now() + REFUSED;
            }
        }
        quietly(selector);
    }

    private void turn() throws IOException {
        for (Runnable action = inbox.poll(); action != null; action = inbox.poll()) {
            action.run();
        }
        long now = Clock.now();
        if (now >= core.wake()) {
            if (pipe != null) {
                receive(); // this process may have stood still: what the daemon has said meanwhile comes first
            }
            core.tick(now);
        }
        if (attempt != null && now >= attempt.until) {
            attempt.giveUp();
            failed(attempt, new IOException("no connection within " + limit() / Core.SECOND + " s"));
        }
        flush();
        if (core.stalled) {
            drop(core.cutWhy, false);
        }
        if (!core.calls.isEmpty()) {
            List<Runnable> calls = core.calls;
            core.calls = new ArrayList<>();
            calls.forEach(Runnable::run);
            return;
        }
        long until = Math.min(core.wake(), core.holds.isEmpty() ? Long.MAX_VALUE : now + LOOK);
        if (pipe == null && attempt == null && !core.holds.isEmpty()) {
            if (now >= retryAt) {
                if (!core.served) {
                    address = given.now();
                    core.place = place();
                }
                attempt = new Attempt();
                daemon(attempt, "holdfast-connect").start();
            } else {
                until = Math.min(until, retryAt);
            }
        }
        until = attempt == null ? until : Math.min(until, attempt.until);
        if (!ends && inbox.isEmpty()) {
            await(until, now);
        } else if (ends && !core.holds.isEmpty()) {
            await(Math.min(until, now + RETRY_MAX), now);
        }
    }

    private void await(long until, long now) throws IOException {
        if (until == Long.MAX_VALUE) {
            selector.select();
        } else if (until > now) {
            selector.select((until - now + Core.MS - 1) / Core.MS);
        } else {
            selector.selectNow();
        }
        selector.selectedKeys().clear();
        if (key != null && key.isValid() && key.isReadable()) {
            receive();
        }
    }

    private void receive() {
        try {
            do {
                in.clear();
                int got = pipe.read(in);
                if (got < 0) {
                    throw new IOException("the daemon closed the connection");
                }
                if (got > 0) { // a key may say that it is readable, and is not: that is no news of the daemon
                    core.receive(in.array(), got, Clock.now());
                }
            } while (pipe.hasMore());
        } catch (IOException | Wire.ProtocolException failed) {
            DaemonUnreachableException why = core.unreachable(failed.getMessage());
            drop(failed instanceof Wire.ProtocolException ? why.lasting() : why, false);
        }
    }

    private void flush() {
        if (pipe == null) {
            return;
        }
        try {
            while (out.hasRemaining() || core.output.size() > 0 || pipe.hasUnsent()) {
                if (!out.hasRemaining() && core.output.size() > 0) {
                    out = ByteBuffer.wrap(core.output.toByteArray());
                    core.output.reset();
                }
                if (!pipe.write(out)) {
                    break;
                }
            }
            key.interestOps(SelectionKey.OP_READ | (out.hasRemaining() || pipe.hasUnsent() ? SelectionKey.OP_WRITE : 0));
        } catch (IOException broken) {
            out = ByteBuffer.allocate(0); // the end of the connection is read next
            core.output.reset();
            key.interestOps(SelectionKey.OP_READ);
        }
    }

    private void connected(Attempt by, Pipe made) {
        if (by != attempt) {
            quietly(made);
            return;
        }
        attempt = null;
        try {
            key = made.channel.register(selector, SelectionKey.OP_READ);
            pipe = made;
            core.connected(Clock.now());
        } catch (IOException | RuntimeException closed) {
            quietly(made);
            drop(core.unreachable(closed.toString()), true);
        }
    }

    private void failed(Attempt by, IOException why) {
        if (by == attempt) {
            attempt = null;
            drop(unreachable(why instanceof UnknownHostException ? "the host is unknown" : String.valueOf(why.getMessage())), true);
        }
    }

    private DaemonUnreachableException unreachable(String why) {
        boolean missing = why.contains("No such file");
        String hint = ": is it running?" + given.elsewhere();
        if (missing && given.standard() && !core.served) {
            return new DaemonUnreachableException("cannot reach holdfastd: " + given.missing() + hint);
        }
        boolean denied = why.contains("Permission denied");
        DaemonUnreachableException told = core.unreachable(why + (missing || why.contains("refused") ? hint
                : denied ? ": members of the group that owns the socket may use it" : ""));
        return denied || why.equals(UnixSocket.MISSING) ? told.lasting() : told;
    }

    private void drop(HoldfastException why, boolean failed) {
        if (core.answered && !ends) {
            Seen.LOG.log(Level.WARNING, "the connection to holdfastd at " + core.place + " is lost: " + why.getMessage());
        }
        quietly(pipe);
        pipe = null;
        key = null;
        out = ByteBuffer.allocate(0);
        core.cut(Clock.now(), why, failed);
        retryAt = Clock.now() + (why instanceof LockRefusedException ? REFUSED
                : Math.min(RETRY_MIN << Math.min(core.failures, 10), RETRY_MAX));
    }

    /** Nothing is left to give back, or no daemon is there to be told. */
    private boolean finished() {
        if (!core.holds.isEmpty() && core.failures == 0 || !inbox.isEmpty() || !core.calls.isEmpty()) {
            return false;
        }
        if (attempt != null) {
            attempt.giveUp();
        }
        if (pipe != null) {
            core.quit(Clock.now());
            flush();
            quietly(pipe);
        }
        return true;
    }

    private static void quietly(Closeable thing) {
        try {
            if (thing != null) {
                thing.close();
            }
        } catch (IOException ignored) {
            // nothing is left to do
        }
    }
}
