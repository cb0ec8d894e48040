"""sync: locks for threads."""

import logging
import queue
import signal
import threading
import time
import weakref
from contextlib import ContextDecorator
from types import FrameType, TracebackType
from typing import Any, Callable, Iterable, List, Optional, Type, TypeVar

from ._engine import now
from ._errors import HoldfastError, LockBusy, LockLost
from ._handle import Handle, MultiHandle, Place, check_names, decorated, given, left, ms
from ._look import Waiting

log = logging.getLogger("holdfast")
_Function = TypeVar("_Function", bound=Callable[..., Any])


class Interrupts:
    """SIGINT of the main thread, while it holds locks with interrupt=True: a loss sends it, and so does Control-C."""

    def __init__(self) -> None:
        self._locks: "weakref.WeakSet[Lock]" = weakref.WeakSet()
        self._before: Any = None  # what handles SIGINT otherwise

    def begin(self, lock: "Lock") -> None:
        before = signal.getsignal(signal.SIGINT)
        if not self._locks and before != self._hear and (callable(before) or before is signal.SIG_IGN):
            self._before = before
            signal.signal(signal.SIGINT, self._hear)
        self._locks.add(lock)

    def end(self, lock: "Lock") -> None:
        self._locks.discard(lock)
        if not self._locks and threading.current_thread() is threading.main_thread() \
                and signal.getsignal(signal.SIGINT) == self._hear:
            signal.signal(signal.SIGINT, self._before)

    def _hear(self, number: int, frame: Optional[FrameType]) -> None:
        lost = [lock for lock in self._locks if lock.due]
        for lock in lost:
            lock.due = False
            if lock.is_in(frame, Lock.__enter__):
                raise lock.lost_early()
        if lost and all(lock.is_in(frame, Lock.__exit__) for lock in lost):
            return  # it raises LockLost itself
        if callable(self._before):
            self._before(number, frame)
        elif lost:
            signal.default_int_handler(number, frame)


_interrupts = Interrupts()


class _Gate:
    """Is opened once, by any thread, and one thread waits for it once. A threading.Event costs ten times as much, and each lock needs
    two."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()

    def open(self) -> None:
        try:
            self._lock.release()
        except RuntimeError:
            pass  # it was open

    def wait(self, timeout: float = -1) -> bool:
        """False: the time was over."""
        return self._lock.acquire(timeout=timeout)


class Lock(Handle, ContextDecorator):
    """A lock for a thread; made by `holdfast.lock()` or `Client.lock()`. `with` acquires and releases it."""

    def __init__(self, place: Place, name: str, *, interrupt: bool = False, **options: Any) -> None:
        super().__init__(place, name, **options)
        self._interrupt = interrupt
        self._interrupted = False  # a signal was sent to the main thread
        self.due = False  # and has not arrived there
        self._guard = threading.Lock()  # no signal is sent after the lock was released

    def acquire(self, blocking: bool = True, timeout: float = -1) -> int:
        """Waits for the lock and returns its fencing token. With blocking=False or a timeout, as of threading.Lock.acquire(), it tries
        once, or waits so many seconds, whatever `wait` is, and returns False if another locker has the lock.

        LockBusy or its subclass LockTimeout: another locker has it. DaemonUnreachable: no daemon for
        `connect_timeout` seconds. LockRefused: the daemon says why. RuntimeError: this object has it already. After
        any exception, KeyboardInterrupt too, nothing is held and nothing waits.
        """
        wait, tells = given(blocking, timeout, self.wait)
        try:
            return self._acquire(wait)
        except LockBusy:
            if tells:
                return False
            raise

    def _fresh(self) -> "Lock":
        other = super()._fresh()
        other._interrupted, other.due, other._guard = False, False, threading.Lock()
        return other

    def _recreate_cm(self) -> "Lock":
        return self._fresh()  # each call of a decorated function has a lock of its own

    def __call__(self, function: _Function) -> _Function:
        """Decorates a function: each call has the lock while it works. TypeError: it works after its call."""
        decorated(function, tasks=False)
        return super().__call__(function)

    def _acquire(self, wait: Optional[float]) -> int:
        self._check_unused()
        if self._interrupt and threading.current_thread() is not threading.main_thread():
            raise RuntimeError("interrupt=True is for the main thread")
        settled = _Gate()
        self._interrupted = False
        itself: "weakref.ref[Lock]" = weakref.ref(self)
        if self._interrupt:
            _interrupts.begin(self)
        asked = now()
        try:
            _, claim = self._begin(settled.open, lambda: _tell(itself), wait, self._hears())
            settled.wait()
            if claim.error is not None:
                raise claim.error
            self._tell_hold(asked)
            return self.token
        except BaseException as error:
            self._give_up()
            self._deafen()
            self._tell_failure(asked, error)
            raise

    def release(self) -> None:
        """Gives the lock back. LockLost: it was lost before, and what was done under it may have collided. If the
        daemon is away, the lock is given back when it returns, and this does not wait for that."""
        with self._guard:
            loss = self._overdue()
            claim = self._finish()
        self._deafen()
        if claim is None or self._engine is None:
            return
        freed = _Gate()
        if claim.state == "held":
            self._engine.release(claim, freed.open)
            if freed.wait(self.place.connect_timeout) or claim.error is not None:
                loss = None  # the deadline had passed before, and the answer says whether the lock was held even so
        else:
            self._engine.release(claim)  # who had a lost lock works under it no more
            loss = None
        self._tell_end(claim, claim.error if isinstance(claim.error, LockLost) else loss)

    def extend(self, seconds: float) -> float:
        """Lets a lock with a `lease` end so many seconds from now. Returns the seconds for which it is surely held.
        LockLost, LockRefused (it has no lease), DaemonUnreachable (the answer was lost: it may be called again). ValueError:
        less than 1 ms, or more than 365 days."""
        return self._command(["EXTEND", ms(seconds)]) / 1000

    def downgrade(self) -> None:
        """Makes an exclusive lock a shared one, without a moment in between. Errors as of extend()."""
        self._command(["DOWNGRADE"])

    def _command(self, words: List[str]) -> int:
        if self._claim is None or self._engine is None:
            raise RuntimeError("the lock %r is not held" % self.name)
        answers: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
        self._engine.command(self._claim, words, answers.put)
        while True:
            try:
                answer = answers.get(timeout=1.0)
                break
            except queue.Empty:
                self.raise_if_lost()
        if isinstance(answer, Exception):
            raise answer
        return int(answer)

    def _told(self) -> None:
        """In the engine's thread: the lock was lost."""
        with self._guard:
            loss = self._claim.error if self._claim is not None else None
            if not isinstance(loss, LockLost):
                return  # released meanwhile
            main = threading.main_thread().ident
            if self._interrupt and main is not None:
                self._interrupted = self.due = True
                signal.pthread_kill(main, signal.SIGINT)
            told, self._loss_reported = self._loss_reported, True
        if self.on_lost is not None:
            try:
                self.on_lost(loss)
            except (Exception, SystemExit):  # the thread serves all other locks
                log.exception("on_lost of the lock %r", self.name)
        if not told:
            self._tell_loss(loss)

    def __enter__(self) -> "Lock":
        self.acquire()
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        try:
            self.release()
        except LockLost as lost:
            if kind is None or (kind is KeyboardInterrupt and self._interrupted):
                raise lost from error

    def is_in(self, frame: Optional[FrameType], method: Callable[..., object]) -> bool:
        """Whether the frame is in this method of this lock, or was called there."""
        while frame is not None:
            if frame.f_code is getattr(method, "__code__", None) and frame.f_locals.get("self") is self:
                return True
            frame = frame.f_back
        return False

    def lost_early(self) -> LockLost:
        """Ends the lock, which is lost before its with statement has begun."""
        loss = self._loss()
        self._give_up()
        _interrupts.end(self)
        return loss

    def _deafen(self) -> None:
        """No loss interrupts from now on."""
        if self._interrupt:
            if self.due:
                time.sleep(0.001)  # a signal arrives at the latest when the kernel goes on with this thread
            _interrupts.end(self)


def _tell(itself: "weakref.ref[Lock]") -> None:
    lock = itself()
    if lock is not None:
        lock._told()


class MultiLock(MultiHandle, ContextDecorator):
    """Several locks, all or none; made by `holdfast.lock_all()`. `with` acquires and releases them."""

    handles: List[Lock]  # type: ignore[assignment]

    def __init__(self, locks: Iterable[Lock], wait: Optional[float]) -> None:
        super().__init__(locks, wait)

    def acquire(self, blocking: bool = True, timeout: float = -1) -> "dict[str, int]":
        """Waits for all and returns their tokens. Arguments and errors as of Lock.acquire(); after one nothing is held. In place of False
        it returns an empty dict."""
        wait, tells = given(blocking, timeout, self.wait)
        try:
            return self._acquire(wait)
        except LockBusy:
            if tells:
                return {}
            raise

    def _recreate_cm(self) -> "MultiLock":
        return self._fresh()

    def __call__(self, function: _Function) -> _Function:
        """Decorates a function, as Lock does."""
        decorated(function, tasks=False)
        return super().__call__(function)

    def _acquire(self, wait: Optional[float]) -> "dict[str, int]":
        until = None if wait is None else now() + wait
        taken: List[Lock] = []
        try:
            for lock in self.handles:
                lock._acquire(left(until))
                taken.append(lock)
            return self.tokens
        except BaseException:
            _release(taken)
            raise

    def release(self) -> None:
        """Gives all back. LockLost: one of them was lost."""
        loss = _release(self.handles)
        if loss is not None:
            raise loss

    def __enter__(self) -> "MultiLock":
        self.acquire()
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        loss = _release(self.handles)
        if loss is not None and kind is None:
            raise loss


def _release(locks: List[Lock]) -> Optional[HoldfastError]:
    loss: Optional[HoldfastError] = None
    for lock in reversed(locks):
        try:
            lock.release()
        except LockLost as error:
            loss = error
    return loss


class Client(Place):
    """Locks of one daemon. It has nothing to close: a process has one connection to each daemon, which is made when it is
    needed, and closed half a minute after the last lock."""

    def lock(self, name: str, *, wait: Optional[float] = None, shared: bool = False, limit: Optional[int] = None,
             permits: Optional[int] = None, lease: Optional[float] = None, max_hold: Optional[float] = None,
             owner: Optional[str] = None, why: Optional[str] = None,
             on_lost: Optional[Callable[[LockLost], object]] = None,
             on_wait: Optional[Callable[[Waiting], object]] = None, interrupt: bool = False) -> Lock:
        """A lock, not acquired yet: use it in `with`, or call acquire() and release(), which have the daemon's errors.

        name: 1 to 512 bytes without spaces. wait: seconds to wait at most; 0 tries once, None waits as long as the
        daemon's rule for the name says, for ever if there is none, and math.inf, as more than 365 days, for 365 days. shared: for reading, beside other readers. limit: the
        name is a semaphore of so many permits, 1 to 10000, of which this takes `permits`, or one. lease: seconds after which it ends by
        itself; without it the daemon renews it. max_hold: seconds it may be held in all. owner: locks of this process
        with the same name and owner are one hold (re-entry). why: a remark for `holdfast ls`. on_lost: is called with
        the LockLost in a thread of this package, as soon as the lock is lost; keep it short. on_wait: likewise with a
        Waiting (who has the lock, and the place in the queue) when the wait has lasted for a second, and then every
        five seconds. interrupt: a loss interrupts the main thread, also out of a blocking call, and `with` raises LockLost. TypeError, ValueError: an
        argument or $HOLDFAST_URL is wrong.
        """
        return Lock(self, name, wait=wait, shared=shared, limit=limit, permits=permits, lease=lease, max_hold=max_hold,
                    owner=owner, why=why, on_lost=on_lost, on_wait=on_wait, interrupt=interrupt)

    def lock_all(self, names: Iterable[str], *, wait: Optional[float] = None, shared: bool = False,
                 max_hold: Optional[float] = None, why: Optional[str] = None,
                 on_lost: Optional[Callable[[LockLost], object]] = None,
                 on_wait: Optional[Callable[[Waiting], object]] = None) -> MultiLock:
        """Exclusive or shared locks of several names, all or none; they cannot wait for each other in a circle. wait:
        seconds for all together. Other options as of lock()."""
        return MultiLock([Lock(self, name, shared=shared, max_hold=max_hold, why=why, on_lost=on_lost, on_wait=on_wait)
                          for name in check_names(names)], wait)
