"""What every end-to-end test stands on: a private directory, real servers in it, and an end without leftovers.

A test file defines functions `test_...(place)`, whose docstring is the test's name, and ends with
`harness.main(globals())`, which runs them one by one and prints TAP. Everything that is started hangs from the
place: it is ended by its process id when the test is over, and whatever does not end well, or stays behind,
fails the test.

Waiting is waiting for an event: a line of output, a datagram of sd_notify, a process that ends. No test sleeps
in the hope that something is ready, and none fails because the machine is busy: what passes or fails is the order of
events. A bound of time is either one that must not be undercut (a lock granted too early), or PATIENCE, after which
something hangs. How long things take is told in comments, and judged only with HOLDFAST_MEASURE=1, which `make soak`
sets: it wants a machine of its own.
"""

import contextlib
import os
import random
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback

sys.dont_write_bytecode = True

import resp  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("HOLDFAST_BUILD", os.path.join(ROOT, "build"))
HOLDFASTD = os.path.join(BUILD, "holdfastd")
HOLDFAST = os.path.join(BUILD, "holdfast")

# How long something may take that takes milliseconds on an idle machine: busy ones stand still for many seconds.
PATIENCE = 50.0
MEASURE = bool(os.environ.get("HOLDFAST_MEASURE"))

# The times of a daemon whose test does not say otherwise. No lease runs out while a busy machine is slow, and none
# helps: what passes on within PATIENCE has been passed on.
CALM = {"lease": "60s", "clock-margin": "1s", "restart-guard": "off", "log": "{ level: debug }"}
LEASE_MS = 60000
# For tests that wait for the end of a lease.
BRISK = "lease: 2s\nclock-margin: 200ms\n"
# Deadlines that are told have their rounding in them; waits and the ends of holds are counted in whole ms.
WHOLE_MS = 0.001


class Skip(Exception):
    """The test cannot run here; the text says why."""


def boottime():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def expect(got, wanted, what=""):
    if got != wanted:
        raise AssertionError("%sexpected %r, got %r" % (what + ": " if what else "", wanted, got))


def expect_code(got, code):
    if not isinstance(got, resp.Error) or got.code != code:
        raise AssertionError("expected -%s, got %r" % (code, got))


def expect_between(got, low, high, what=""):
    if not isinstance(got, (int, float)) or not low <= got <= high:
        raise AssertionError("%sexpected %s to %s, got %r" % (what + ": " if what else "", low, high, got))


def expect_not_before(got, earliest, what, grain=0.0):
    """All in seconds; the earliest counted from before the request that fixed it."""
    if got < earliest - grain:
        raise AssertionError("%s: %.1f ms too early" % (what, (earliest - got) * 1000))


def took(seconds, most, what):
    """Tells how long something took; more than this is a failure where times are judged."""
    comment("%s: %.1f ms (at most %g on a quiet machine)" % (what, seconds * 1000, most * 1000))
    if MEASURE:
        expect_between(seconds, 0, most, "seconds " + what)


def spent(process):
    """Seconds for which the process was on a processor: what others do on this machine does not count."""
    path = "/proc/%d/schedstat" % process.pid
    if not os.path.exists(path):
        raise Skip("this kernel does not count the time on a processor")
    with open(path, encoding="utf-8") as stream:
        return int(stream.read().split()[0]) / 1e9


def until(what, true, timeout=PATIENCE):
    """
    Asks again and again, where there is no event to wait for, until true() is; what it answered. The longer it has waited the
    longer it waits: what takes seconds need not be known to the millisecond, and others lack the processor.
    """
    began = time.monotonic()
    while True:
        answer = true()
        if answer:
            return answer
        waited = time.monotonic() - began
        if waited > timeout:
            raise AssertionError("not within %d s: %s" % (timeout, what))
        time.sleep(min(max(0.002, waited / 50), 0.02))


RESERVED = []


def free_port():
    """A port that nobody takes while this process lives. A program that is down for a moment must find its port again, so
    it is none that the system gives to connections; and a name in the same network namespace tells other scenes."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as stream:
        low, high = map(int, stream.read().split())
    ports = [*range(10000, low), *range(high + 1, 65536)]
    for port in random.sample(ports if len(ports) > 1000 else range(10000, 65536), 1000):
        reserved = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            reserved.bind("\0holdfast-test-port-%d" % port)
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            reserved.close()
            continue
        RESERVED.append(reserved)
        return port
    raise AssertionError("no port is free")


class Output:
    """A process's output: a thread keeps it as it comes, and wakes whoever waits for a line.

    Whoever asks sees all that the process has written until then, even if the thread has not had its turn: what a
    daemon logs before it answers is there when the answer is.
    """

    def __init__(self, stream):
        os.set_blocking(stream.fileno(), False)
        self.lines = []  # (CLOCK_BOOTTIME when it was read, text)
        self.rest = b""  # of a line that has not ended
        self.ended = False
        self.changed = threading.Condition()
        self.stream = stream
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        poller = select.poll()
        poller.register(self.stream, select.POLLIN)
        with self.stream:
            while not self.ended:
                poller.poll()
                with self.changed:
                    self.take()

    def take(self):
        """Takes what the pipe has; with self.changed."""
        while not self.ended:
            try:
                data = os.read(self.stream.fileno(), 1 << 16)
            except BlockingIOError:
                return
            lines = (self.rest + data).split(b"\n")
            self.rest = lines.pop()
            if not data:
                lines += [self.rest] if self.rest else []
                self.ended = True
            now = boottime()
            self.lines += [(now, line.decode("utf-8", "replace")) for line in lines]
            self.changed.notify_all()

    def wait(self, pattern, start=0, timeout=PATIENCE):
        """The first line from number `start` on that matches: (time, match, its number)."""
        until = time.monotonic() + timeout
        with self.changed:
            self.take()
            while True:
                for number in range(start, len(self.lines)):
                    match = re.search(pattern, self.lines[number][1])
                    if match:
                        return self.lines[number][0], match, number
                start = len(self.lines)
                left = until - time.monotonic()
                if self.ended or left <= 0:
                    raise AssertionError("no line %r in:\n%s" % (pattern, self.tail()))
                self.changed.wait(left)

    def mark(self):
        with self.changed:
            self.take()
            return len(self.lines)

    def since(self, mark=0):
        """The lines from number `mark` on: (CLOCK_BOOTTIME when it was read, text)."""
        with self.changed:
            self.take()
            return self.lines[mark:]

    def text(self, mark=0):
        return "\n".join(line for _, line in self.since(mark))

    def tail(self, count=int(os.environ.get("HOLDFAST_TAIL", "60"))):
        return "\n".join("    " + line for _, line in self.since()[-count:])


class Process:
    """A child of the test, known by its pid."""

    def __init__(self, place, command, **options):
        environment = dict(os.environ)
        for name in ("JOURNAL_STREAM", "INVOCATION_ID", "XDG_RUNTIME_DIR", "STATE_DIRECTORY", "RUNTIME_DIRECTORY", "LISTEN_FDS"):
            environment.pop(name, None)
        environment.update(options.pop("environment", {}))
        self.place = place
        self.process = subprocess.Popen(command, stdin=options.pop("stdin", subprocess.DEVNULL),
                                        stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, cwd=place.path, env=environment, **options)
        self.pid = self.process.pid
        self.pidfd = os.pidfd_open(self.pid)
        self.output = Output(self.process.stdout)
        self.stopped = False
        place.processes.append(self)

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self):
        self.signal(signal.SIGSTOP)
        self.stopped = True

    def cont(self):
        self.signal(signal.SIGCONT)
        self.stopped = False

    def alive(self):
        return self.process.poll() is None

    def wait(self, timeout=PATIENCE):
        """The exit status; negative: the signal."""
        poller = select.poll()  # select() knows 1024 descriptors only
        poller.register(self.pidfd, select.POLLIN)
        if not poller.poll(timeout * 1000):
            raise AssertionError("pid %d does not end:\n%s" % (self.pid, self.output.tail()))
        # All it said is there now, unless a child of its own keeps the pipe.
        self.output.thread.join(1)
        return self.process.wait()

    def kill(self):
        self.signal(signal.SIGKILL)
        self.wait()

    def done(self):
        """Ends it whatever it does; says whether it had to be killed."""
        if self.alive():
            if self.stopped:
                self.cont()
            self.signal(signal.SIGKILL)
            self.process.wait()
        self.output.thread.join(PATIENCE)
        os.close(self.pidfd)


class Redis:
    """A redis-server (or valkey-server) on a Unix socket, without persistence unless a test saves."""

    def __init__(self, place, name="redis", options=(), environment=None):
        self.place = place
        self.environment = environment or {}
        self.folder = os.path.join(place.path, name)
        os.mkdir(self.folder)
        self.socket = os.path.join(self.folder, "socket")
        self.url = "unix://" + self.socket
        self.options = list(options)
        self.process = None
        self.start()

    def start(self):
        program = os.environ.get("HOLDFAST_REDIS") or shutil.which("redis-server") or shutil.which("valkey-server")
        if program is None:
            raise Skip("neither redis-server nor valkey-server is here")
        command = self.command(program) + ["--port", "0", "--unixsocket", self.socket, "--unixsocketperm", "700", "--save", "",
                   "--appendonly", "no", "--dir", self.folder, "--logfile", "", "--daemonize", "no"]
        self.process = Process(self.place, command + self.options, environment=self.environment)
        return self.process.output.wait(r"[Rr]eady to accept connections")[0]

    def command(self, program):
        """The words that run it."""
        return [program]

    def __call__(self, *words):
        with resp.Client(self.socket) as client:
            return client(*words)

    def kill(self):
        self.process.kill()

    def restart(self):
        """After kill(): empty, unless a dump is there. The time it was ready."""
        return self.start()

    def script_calls(self):
        """How many script calls it has run."""
        calls = 0
        for line in self("INFO", "commandstats").splitlines():
            match = re.match(r"cmdstat_eval(?:sha)?:calls=(\d+)", line)
            if match:
                calls += int(match.group(1))
        return calls


def mark_of(directory):
    """Where the daemon that has a private master in this directory keeps the mark of its record (daemon/redis/embedded_inner.h)."""
    number = 14695981039346656037
    for byte in directory.encode():
        number = (number ^ byte) * 1099511628211 % 2 ** 64
    return "/dev/shm/holdfast-%d-%016x" % (os.geteuid(), number)


class Daemon:
    """A holdfastd with a configuration file of its own, ready when the constructor returns."""

    def __init__(self, place, name="d1", master=None, config="", start=True, tcp=False, listen="", arguments=(),
                 environment=None):
        self.place = place
        self.name = name
        self.folder = os.path.join(place.path, name)
        os.mkdir(self.folder)
        self.socket = os.path.join(self.folder, "s")
        self.file = os.path.join(self.folder, "holdfast.yml")
        self.port = free_port() if tcp else None
        self.arguments = list(arguments)
        self.environment = environment or {}
        self.wrap = []  # a command that runs the daemon's command
        self.inherit = ()  # descriptors
        self.process = None
        self.ready = None
        self.listen = "listen:\n  - unix: %s\n" % self.socket
        if tcp:
            self.listen += "  - tcp: 127.0.0.1:%d\n" % self.port
        self.listen += listen
        masters = master if isinstance(master, (list, tuple)) else [master] if master else []
        self.master = "masters: [ %s ]\n" % ", ".join("\"%s\"" % one.url for one in masters) if masters else ""
        self.embedded = "embedded: { directory: %s }\n" % os.path.join(self.folder, "redis")
        self.configure(config)
        if start:
            self.start()

    def configure(self, config):
        """Keys of config replace the defaults of the tests."""
        text = self.listen + self.master
        for key, value in CALM.items():
            if not re.search(r"^%s:" % key, config, re.M):
                text += "%s: %s\n" % (key, value)
        if not re.search(r"^embedded:", config, re.M):
            text += self.embedded
        # In one step: a test may start the daemon, or have it read the file again, at the same time.
        with open(self.file + ".new", "w", encoding="utf-8") as stream:
            stream.write(text + config)
        os.replace(self.file + ".new", self.file)

    @property
    def tcp(self):
        return ("127.0.0.1", self.port)

    def spawn(self):
        """Starts it without waiting."""
        if not os.access(HOLDFASTD, os.X_OK):
            raise AssertionError("%s is not built" % HOLDFASTD)
        path = os.path.join(self.folder, "notify")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify.bind(path)
        self.process = Process(self.place, self.wrap + [HOLDFASTD, "-c", self.file] + self.arguments,
                               pass_fds=self.inherit,
                               environment=dict(self.environment, NOTIFY_SOCKET=path))
        self.place.sockets.append(self.notify)

    def start(self):
        self.spawn()
        self.await_state("READY=1")
        self.ready = boottime()
        return self

    def await_state(self, state, timeout=PATIENCE):
        """Waits until the daemon tells its service manager so."""
        self.await_told("^%s$" % re.escape(state), timeout)

    def await_told(self, pattern, timeout=PATIENCE):
        """The same for a line that the pattern matches; returns the whole message."""
        until = time.monotonic() + timeout
        poller = select.poll()  # select() knows 1024 descriptors only
        poller.register(self.notify, select.POLLIN)
        poller.register(self.process.pidfd, select.POLLIN)
        while True:
            readable = [fd for fd, _ in poller.poll(max(0, until - time.monotonic()) * 1000)]
            if self.notify.fileno() in readable:
                message = self.notify.recv(4096).decode()
                if re.search(pattern, message, re.M):
                    return message
            elif readable:
                raise AssertionError("%s ended with %d:\n%s" % (
                    self.name, self.process.wait(), self.process.output.tail()))
            else:
                raise AssertionError("%s did not say %s:\n%s" % (self.name, pattern, self.process.output.tail()))

    @property
    def output(self):
        return self.process.output

    def client(self, form=2, timeout=PATIENCE, tcp=False):
        return self.place.keep(resp.Client(self.tcp if tcp else self.socket, form, timeout))

    def admitted(self):
        """Waits until locks are granted: a master seen for the first time is guarded for L + J and a little."""
        with resp.Client(self.socket) as client:
            answer = client("LOCK", "admitted", "WAIT", 45000)
            if not isinstance(answer, int):
                raise AssertionError("no lock after 45 s: %r\n%s" % (answer, self.output.tail()))
            expect(client("UNLOCK", "admitted"), 0)
        return self

    def queued(self, name, count=1):
        """Waits until so many wait for the name."""
        with resp.Client(self.socket, 3) as client:
            until("%d in line for %s" % (count, name), lambda: client("INSPECT", name)["waiter_count"] >= count)

    def kill(self):
        self.process.kill()

    def terminate(self):
        self.process.signal(signal.SIGTERM)
        return self.process.wait()

    def info(self):
        with resp.Client(self.socket) as client:
            text = client("INFO")
        return dict(line.split(":", 1) for line in text.splitlines() if ":" in line and not line.startswith("#"))

    def done(self):
        """A daemon that still runs must end well when asked, and take its sockets along."""
        if self.process is None or not self.process.alive():
            return
        if self.process.stopped:
            self.process.cont()
        status = self.terminate()
        expect(status, 0, "%s after SIGTERM\n%s" % (self.name, self.output.tail()))
        expect(os.path.exists(self.socket), False, "the socket is left behind")


class Place:
    """The directory of one test, and all that was started in it."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="e2e-")
        self.processes = []
        self.daemons = []
        self.clients = []
        self.sockets = []
        self.ends = []  # to be called in the end, whatever happened

    def redis(self, name="redis", **options):
        return Redis(self, name, **options)

    def daemon(self, name="d1", **options):
        daemon = Daemon(self, name, start=False, **options)
        self.daemons.append(daemon)
        return daemon.start()

    def idle_daemon(self, name="d1", **options):
        """Configured, not started."""
        daemon = Daemon(self, name, start=False, **options)
        self.daemons.append(daemon)
        return daemon

    def run(self, *command, **options):
        return Process(self, list(command), **options)

    def keep(self, client):
        self.clients.append(client)
        return client

    def logs(self):
        for daemon in self.daemons:
            if daemon.process is not None:
                yield "%s:\n%s" % (daemon.name, daemon.output.tail())

    def done(self):
        problems = []
        for end in self.ends:
            end()
        for client in self.clients:
            client.close()
        for daemon in self.daemons:
            try:
                daemon.done()
            except AssertionError as error:
                problems.append(str(error))
        for process in self.processes:
            process.done()
        for daemon in self.daemons:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(mark_of(re.search("directory: ([^ ,}]+)", daemon.embedded).group(1)))
        for endpoint in self.sockets:
            endpoint.close()
        shutil.rmtree(self.path)
        if problems:
            raise AssertionError("; ".join(problems))


def python_with(module, package):
    """A Python that has this module: the one that runs the tests, or the distribution's, for which it is a package."""
    for python in (sys.executable, "/usr/bin/python3"):
        if os.path.exists(python) and subprocess.run([python, "-c", "import " + module], stderr=subprocess.DEVNULL,
                                                     check=False).returncode == 0:
            return python
    raise Skip("no Python has the module %s (package %s)" % (module, package))


def comment(text):
    for line in str(text).splitlines():
        print("# " + line)


def run_one(number, test):
    name = " ".join((test.__doc__ or test.__name__).split())
    started = time.monotonic()
    place = Place()
    try:
        try:
            test(place)
        except BaseException:
            for log in place.logs():
                comment(log)
            with contextlib.suppress(AssertionError):
                place.done()
            raise
        place.done()
    except Skip as reason:
        print("ok %d - %s # SKIP %s" % (number, name, reason))
        return True
    except Exception:
        comment(traceback.format_exc())
        print("not ok %d - %s" % (number, name))
        return False
    print("ok %d - %s (%.1f s)" % (number, name, time.monotonic() - started))
    return True


def heed_signals():
    """A shell's background job ignores SIGINT, what nohup starts SIGHUP, and so would everything started here."""
    for one in signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ}:  # which Python ignores by itself
        if signal.getsignal(one) == signal.SIG_IGN:
            signal.signal(one, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def alone(test):
    """A decorator: this test judges how long something takes, and tests/run runs no other beside it."""
    return test


def busy(test):
    """A decorator: clients of this test load the machine, and tests/run runs one such for each processor."""
    return test


def main(names):
    """Runs the tests of a file, or those whose names have a word that is given as argument; =NAME is the whole name."""
    sys.stdout.reconfigure(line_buffering=True)
    tests = [(name, test) for name, test in names.items() if name.startswith("test_")]
    heed_signals()
    for name, test in tests if "__file__" in names else []:
        # tests/run reads the names of scenes from the file, and must not miss one.
        expect((test.__module__, test.__qualname__), ("__main__", name), "a scene is a function at the top of its file")
    wanted = sys.argv[1:]
    missing = [word for word in wanted if not any("=" + name == word or word in name for name, _ in tests)]
    expect(missing, [], "no scene of this file is called so")
    if wanted:
        tests = [(name, test) for name, test in tests if any("=" + name == word or word in name for word in wanted)]
    good = [run_one(number, test) for number, (_, test) in enumerate(tests, 1)]
    print("1..%d" % len(good))
    sys.exit(0 if all(good) else 1)
