"""engine: the connection of this process to one daemon, and the thread that serves it.

One engine serves every lock of the process at its address, from all threads and event loops. Its thread owns the core;
callers put what they want into an inbox, so a KeyboardInterrupt in a caller leaves nothing half done. It connects when
it is needed, and ends IDLE seconds after the last hold. It never outlives a fork: in a child the parent's socket is
closed without a word, and the child's first lock makes an engine of its own.
"""

import array
import atexit
import logging
import math
import os
import queue
import select
import socket
import sys
import threading
import time
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from ._address import Address, Tls
from ._core import LATE, Claim, Core, encode
from ._errors import DaemonUnreachable, HoldfastError, LockRefused, lasting
from ._events import Event, after_fork, tell

log = logging.getLogger("holdfast")

IDLE = 30.0
BACKOFF = (0.01, 0.25)  # seconds between attempts to connect: the first, the longest
REFUSED = 1.0  # and after the daemon refused: it counts wrong passwords for all clients of this host
CONNECT = 1.0  # seconds for one attempt, less if something is due before
LONG = 86400.0  # seconds that a call of the system waits at most: poll() knows 24 days
_CLOCK = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))

_making = threading.Lock()  # descriptors are being made: no fork meanwhile
_registry_mutex = threading.Lock()
_registry: Dict[Address, "Engine"] = {}


def _waits() -> Tuple[Any, ...]:
    """What a socket with TLS raises in place of BlockingIOError; there is none while the module is not loaded."""
    ssl = sys.modules.get("ssl")
    return (ssl.SSLWantReadError, ssl.SSLWantWriteError) if ssl else ()


def now() -> float:
    """Seconds of the clock that goes on while the host sleeps."""
    return time.clock_gettime(_CLOCK) if _CLOCK is not None else time.monotonic()


def _ready(reads: List[socket.socket], writes: List[socket.socket], seconds: float) -> List[socket.socket]:
    """Those that can be read or written, after so many seconds at most, or a day. poll() is looked up each time, because eventlet
    takes it away from a program that runs, and has a select() of its own."""
    seconds = min(seconds, LONG)
    if not hasattr(select, "poll"):  # Windows has none
        return [one for ready in select.select(reads, writes, [], seconds) for one in ready]
    return _polled(_poller(reads, writes), reads, seconds)


def _poller(reads: List[socket.socket], writes: List[socket.socket]) -> Any:
    poll = select.poll()  # select() knows 1024 descriptors only
    for one in reads:
        poll.register(one, select.POLLIN | (select.POLLOUT if one in writes else 0))
    return poll


def _polled(poll: Any, reads: List[socket.socket], seconds: float) -> List[socket.socket]:
    events = dict(poll.poll(math.ceil(min(seconds, LONG) * 1000)))
    return [one for one in reads if one.fileno() in events]


def engine_for(address: Address, grace: float) -> "Engine":
    """The engine of this process for this address. The longest grace that was asked for counts from the next
    connection on."""
    with _registry_mutex:
        key = address._replace(variable=False)
        engine = _registry.get(key) or next((engine for engine in _registry.values() if engine.serves(address)), None)
        if engine is None:
            engine = _registry[key] = Engine(address, grace)
        engine.core.grace = max(engine.core.grace, grace)
        return engine


class Engine:
    """Drives a core: connects, sends, receives, and calls what the core wants to be called."""

    def __init__(self, address: Address, grace: float) -> None:
        self.given, self.pid = address, os.getpid()
        self.address = address.now()  # it stays as soon as a daemon has answered there
        program = "".join(c if 32 < ord(c) < 127 else "_" for c in os.path.basename(sys.argv[0] or "python"))
        self.core = Core(address.user, address.password, "%s@%s" % (program[:64], socket.gethostname()[:60]),
                         grace, not address.path, os.urandom(6).hex())
        self._inbox: "queue.SimpleQueue[Callable[[], None]]" = queue.SimpleQueue()
        self._socket: Optional[socket.socket] = None
        self._told_up = False  # a connection was told of
        self._told_cut = False  # its loss was
        self._thread: Optional[threading.Thread] = None
        self._thread_mutex = threading.Lock()
        with _making:
            self._wake_read, self._wake_write = socket.socketpair()  # Windows can wait for no pipe
        self._wake_read.setblocking(False)
        self._wake_write.setblocking(False)
        self._poll: Any = None  # made anew when what it waits for is something else
        self._polls: Tuple[Any, ...] = ()
        self.foreign = False  # this process is a forked child of the one that the engine belongs to

    def serves(self, address: Address) -> bool:
        """Whether a daemon has answered there, where `address` leads, too."""
        return self.core.served and self.address == address.now()

    # --- for callers, from any thread -------------------------------------------------------------------------------

    def acquire(self, claim: Claim) -> None:
        """Begins a claim. Its callbacks come from the engine's thread."""
        self._do(lambda: self.core.acquire(claim, now()))

    def release(self, claim: Claim, freed: Optional[Callable[[], None]] = None) -> None:
        """Ends a claim in any state. Finalizers call it at any moment, so it takes no mutex. The thread runs, because it
        has the claim."""
        self._post(lambda: self.core.release(claim, now(), freed))

    def command(self, claim: Claim, words: Sequence[str], answered: Callable[[Any], None]) -> None:
        """See Core.command."""
        self._do(lambda: self.core.command(claim, words, now(), answered))

    def decide(self, claim: Claim) -> None:
        """Waits until it is known whether a held claim whose announced deadline has passed is lost: if this process stood still, the
        thread asks the daemon first."""
        until = now() + LATE + 0.05
        while claim.state == "held" and claim.hold is not None and claim.hold.deadline <= now() < until:
            if threading.current_thread() is self._thread:
                return  # it is in a callback, and cannot ask now
            time.sleep(0.005)

    def _do(self, action: Callable[[], None]) -> None:
        if self.foreign:
            raise RuntimeError("this lock belongs to the parent process: make a new one in the child")
        self._post(action)
        with self._thread_mutex:
            if self._thread is None or not self._thread.is_alive():  # a KeyboardInterrupt may have come before start()
                self._thread = threading.Thread(target=self._run, name="holdfast", daemon=True)
                self._thread.start()

    def _post(self, action: Callable[[], None]) -> None:
        self._inbox.put(action)
        try:
            self._wake_write.send(b"w")
        except BlockingIOError:
            pass

    # --- the thread -------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            try:
                self._serve()
                return
            except Exception as error:
                log.exception("the thread of the locks failed: all of them are lost")
                went_on = self.core.abandon("the package failed: %r" % error)
                self._drop(HoldfastError("the package failed: %r" % error))
                if not went_on and self._end():
                    return

    def _serve(self) -> None:
        """Until nothing is held and wanted for IDLE seconds."""
        idle_at, retry_at = math.inf, 0.0
        while True:
            self._take()
            moment = now()
            if moment >= self.core.wake:
                self.core.tick(moment)
            self._flush()
            if self.core.stalled:
                self._drop(self.core.cut_why)
            if self.core.answered != self._told_up:
                self._tell_connection()
            until = self.core.wake
            if self.core.calls:
                # Who is told wants the interpreter next: nothing but the wait is left to be done here.
                self._tell()
                moment = now()
            if self.core.holds:
                idle_at = math.inf
                if self._socket is None and moment >= retry_at:
                    self._connect()
                    retry_at = now() + self._pause()
                    continue
                until = min(until, retry_at) if self._socket is None else until
            else:
                idle_at = min(idle_at, moment + IDLE)
                until = min(until, idle_at)
                if moment >= idle_at and self._end():
                    return
            self._wait(until - moment)

    def _take(self) -> None:
        while not self._inbox.empty():  # this thread alone takes from it
            self._inbox.get_nowait()()

    def _tell(self) -> None:
        while self.core.calls:
            self.core.calls.pop(0)()

    def _tell_connection(self) -> None:
        self._told_up, address = self.core.answered, str(self.address)
        if self._told_up:
            tell(Event("resume" if self._told_cut else "connect", address=address), logging.INFO)
        else:
            used = any(hold.users or hold.waiting for hold in self.core.holds.values())
            tell(Event("cut", address=address, error=self.core.cut_why), logging.WARNING if used else logging.INFO)
        self._told_cut = not self._told_up

    def _wait(self, seconds: float) -> None:
        """Until the daemon says something, a caller wants something, or the time is over."""
        connection = self._socket
        reads = [self._wake_read] + ([connection] if connection is not None else [])
        writes = [connection] if connection is not None and self.core.output else []
        ready = self._ready(reads, writes, max(0.0, seconds))
        if self._wake_read in ready:
            try:
                self._wake_read.recv(4096)
            except BlockingIOError:
                pass
        if connection is not None and connection in ready:
            self._receive(connection)

    def _ready(self, reads: List[socket.socket], writes: List[socket.socket], seconds: float) -> List[socket.socket]:
        """As _ready() of the module, but the object of poll() is kept, which costs as much to make as to use."""
        if not hasattr(select, "poll"):
            return _ready(reads, writes, seconds)
        polls = (select.poll, reads, writes)
        if polls != self._polls:
            self._poll, self._polls = _poller(reads, writes), polls
        return _polled(self._poll, reads, seconds)

    def _receive(self, connection: socket.socket) -> None:
        try:
            data = connection.recv(1 << 16)
            if not data:
                raise ConnectionError("the daemon closed the connection")
            self.core.receive(data, now())
        except (BlockingIOError, *_waits()):
            pass
        except (OSError, ValueError, HoldfastError) as error:
            self._drop(self._unreachable(error))

    def _flush(self) -> None:
        if self._socket is not None and self.core.output:
            try:
                del self.core.output[:self._socket.send(self.core.output)]
            except (BlockingIOError, *_waits()):
                pass
            except OSError:
                self.core.output.clear()  # the end of the connection is read next

    def _pause(self) -> float:
        if isinstance(self.core.cut_why, LockRefused):
            return REFUSED
        return min(BACKOFF[0] * 2.0 ** min(self.core.failures, 10), BACKOFF[1])

    def _connect(self) -> None:
        why: Exception = OSError("the host has no address")
        if not self.core.served:
            self.address = self.given.now()
        try:
            places = self._places()
        except (OSError, ValueError) as error:  # ValueError: the host or the path cannot be encoded
            places, why = [], error
        for family, place in places:
            try:
                with _making:
                    self._socket = socket.socket(family, socket.SOCK_STREAM)
                self._socket.settimeout(min(CONNECT, max(0.02, self.core.wake - now())))
                self._socket.connect(place)
                if self.address.tls:
                    self._secure(self._socket, self.address.tls)
            except (OSError, ValueError) as error:
                self._close()
                why = error
                continue
            try:
                self._say_hello(self._socket)
            except (OSError, ValueError) as error:
                self._drop(self._unreachable(error))
            return
        self._drop(self._unreachable(why), failed=True)

    def _secure(self, connection: socket.socket, tls: Tls) -> None:
        import ssl  # it takes long, and few need it

        context = ssl.create_default_context(cafile=None if tls.ca in ("", "system") else tls.ca)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if tls.certificate:
            context.load_cert_chain(tls.certificate, tls.key, password=lambda: "")
        with _making:
            secured = context.wrap_socket(connection, server_hostname=tls.name or self.address.host,
                                          do_handshake_on_connect=False)
            self._socket = secured
        secured.do_handshake()

    def _places(self) -> List[Tuple[int, Any]]:
        if self.address.path:
            if not hasattr(socket, "AF_UNIX"):
                raise OSError("Python has no Unix sockets on this system: use the host:port of a daemon, as in $HOLDFAST_URL")
            return [(socket.AF_UNIX, self.address.path)]
        found = socket.getaddrinfo(self.address.host, self.address.port, type=socket.SOCK_STREAM)
        return [(family, place) for family, _, _, _, place in found]

    def _say_hello(self, connection: socket.socket) -> None:
        connection.settimeout(CONNECT)
        if not self.address.path:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        pidfd = self._pidfd() if self.address.path else -1
        try:
            first, second = self.core.connected(now(), pidfd >= 0)
            connection.sendall(first)
            if pidfd >= 0:
                rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [pidfd]))]
                second = second[connection.sendmsg([second], rights):]
            connection.sendall(second)
            connection.setblocking(False)
        finally:
            if pidfd >= 0:
                os.close(pidfd)

    def _pidfd(self) -> int:
        try:
            return os.pidfd_open(self.pid)
        except (AttributeError, OSError):  # not Linux, an old kernel, or not permitted here
            return -1

    def _unreachable(self, error: Exception) -> DaemonUnreachable:
        given = self.given
        if given.standard and isinstance(error, FileNotFoundError) and not self.core.served:
            return DaemonUnreachable("cannot reach holdfastd: %s: start holdfastd, or set HOLDFAST_URL" % given.missing)
        hint = ""
        if isinstance(error, (FileNotFoundError, ConnectionRefusedError)):
            hint = ": no holdfastd runs there"
            if given.standard:
                hint += "; start it, or set HOLDFAST_URL to where it is"
        told = DaemonUnreachable("cannot reach holdfastd at %s%s: %s%s" % (
            self.address, " (from HOLDFAST_URL)" if given.variable else "", error, hint))
        lasts = isinstance(error, PermissionError) or not getattr(error, "transient", True)
        return lasting(told) if lasts else told

    def _close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _drop(self, why: HoldfastError, failed: bool = False) -> None:
        self._close()
        self.core.cut(now(), why, failed)

    # --- the end ----------------------------------------------------------------------------------------------------

    def _end(self) -> bool:
        """Ends the thread, unless a caller wants something."""
        with self._thread_mutex:
            if self.core.calls or not self._inbox.empty():
                return False
            self._goodbye()
            self._thread = None
            return True

    def _goodbye(self) -> None:
        if self._socket is not None and not self.core.holds:
            try:
                self._socket.send(encode(["QUIT"]))
            except OSError:
                pass
            self._close()
            self.core.ended()
            self._told_up = self._told_cut = False

    def exit(self) -> None:
        """At the end of the process: ends the session if nothing is held. What is held ends with the process, and not
        before."""
        if self._thread is not None:
            done = threading.Event()
            self._post(self._goodbye)
            self._post(done.set)
            done.wait(1)

    def forked(self) -> None:
        """In the child: lets go of the parent's descriptors, without a word to the daemon."""
        self.foreign = True
        if self._socket is not None:
            self._socket.close()
        self._wake_read.close()
        self._wake_write.close()


def _before_fork() -> None:
    _making.acquire()


def _after_fork_in_parent() -> None:
    _making.release()


def _after_fork_in_child() -> None:
    global _making, _registry_mutex
    _making, _registry_mutex = threading.Lock(), threading.Lock()
    after_fork()
    for engine in list(_registry.values()):
        engine.forked()
    _registry.clear()


def _at_exit() -> None:
    for engine in list(_registry.values()):
        engine.exit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
atexit.register(_at_exit)
