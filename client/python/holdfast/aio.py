"""Locks for asyncio.

    async with holdfast.aio.lock("deploy", wait=5) as lock:
        ...

If the lock is lost, the task inside `async with` is cancelled, and `async with` raises LockLost. A task that is
cancelled, and an event loop that is closed, leave neither a lock nor a place in a queue behind.
"""

import asyncio
import functools
import logging
import weakref
from types import TracebackType
from typing import Any, Callable, Iterable, List, Optional, Type, TypeVar, cast

from ._engine import now
from ._errors import HoldfastError, LockBusy, LockLost
from ._handle import Handle, MultiHandle, Place, check_names, decorated, given, left, ms
from ._look import Waiting

__all__ = ["Client", "Lock", "MultiLock", "lock", "lock_all"]

log = logging.getLogger("holdfast")
_Function = TypeVar("_Function", bound=Callable[..., Any])


def _post(loop: asyncio.AbstractEventLoop, call: Callable[[], object]) -> None:
    """From the engine's thread. If the loop is closed, the engine gives up its claims by itself."""
    try:
        loop.call_soon_threadsafe(call)
    except RuntimeError:
        pass


def _in_loop(loop: asyncio.AbstractEventLoop, hears: Callable[[Waiting], None]) -> Callable[[Waiting], None]:
    return lambda info: _post(loop, lambda: hears(info))


def _resolve(future: "asyncio.Future[Any]", value: Any) -> None:
    if not future.done():
        future.set_result(value)


class Lock(Handle):
    """A lock for a task; made by `holdfast.aio.lock()` or `Client.lock()`. `async with` acquires and releases it."""

    _task: "Optional[asyncio.Task[Any]]" = None
    _cancels = 0
    _cancelled = False

    async def acquire(self, blocking: bool = True, timeout: float = -1) -> int:
        """Waits for the lock and returns its fencing token. Arguments and errors as of `holdfast.Lock.acquire`; after an error, or if the
        task is cancelled, nothing is held and nothing waits."""
        wait, tells = given(blocking, timeout, self.wait)
        try:
            return await self._acquire(wait)
        except LockBusy:
            if tells:
                return False
            raise

    def _fresh(self) -> "Lock":
        other = super()._fresh()
        other._task, other._cancelled = None, False
        return other

    def __call__(self, function: _Function) -> _Function:
        """Decorates a coroutine function: each call has the lock while it works. TypeError: it is none."""
        return _decorate(self, function)

    async def _acquire(self, wait: Optional[float]) -> int:
        self._check_unused()
        loop = asyncio.get_running_loop()
        settled: "asyncio.Future[None]" = loop.create_future()
        itself: "weakref.ref[Lock]" = weakref.ref(self)
        hears = self._hears()
        lasts = hears and _in_loop(loop, hears)
        asked = now()
        try:
            _, claim = self._begin(lambda: _post(loop, lambda: _resolve(settled, None)),
                                   lambda: _post(loop, lambda: _tell(itself)), wait, lasts, lambda: not loop.is_closed())
            await settled
            if claim.error is not None:
                raise claim.error
            self._tell_hold(asked)
            return self.token
        except BaseException as error:
            self._give_up()
            self._tell_failure(asked, error)
            raise

    async def release(self) -> None:
        """Gives the lock back; the request is under way before the first await. LockLost: it was lost before."""
        loss = self._overdue()
        claim = self._finish()
        if claim is None or self._engine is None:
            return
        if claim.state == "held":
            loop = asyncio.get_running_loop()
            freed: "asyncio.Future[None]" = loop.create_future()
            self._engine.release(claim, lambda: _post(loop, lambda: _resolve(freed, None)))
            await asyncio.wait([freed], timeout=self.place.connect_timeout)
            if freed.done() or claim.error is not None:
                loss = None  # see holdfast.Lock.release
        else:
            self._engine.release(claim)  # who had a lost lock works under it no more
            loss = None
        self._tell_end(claim, claim.error if isinstance(claim.error, LockLost) else loss)

    async def extend(self, seconds: float) -> float:
        """See `holdfast.Lock.extend`."""
        return await self._command(["EXTEND", ms(seconds)]) / 1000

    async def downgrade(self) -> None:
        """See `holdfast.Lock.downgrade`."""
        await self._command(["DOWNGRADE"])

    async def _command(self, words: List[str]) -> int:
        if self._claim is None or self._engine is None:
            raise RuntimeError("the lock %r is not held" % self.name)
        loop = asyncio.get_running_loop()
        answer: "asyncio.Future[Any]" = loop.create_future()
        self._engine.command(self._claim, words, lambda value: _post(loop, lambda: _resolve(answer, value)))
        while not (await asyncio.wait([answer], timeout=1.0))[0]:
            self.raise_if_lost()
        if isinstance(answer.result(), Exception):
            raise answer.result()
        return int(answer.result())

    def _told(self) -> None:
        """In the event loop: the lock was lost."""
        loss = self._claim.error if self._claim is not None else None
        if not isinstance(loss, LockLost):
            return  # released meanwhile
        if self._task is not None and not self._task.done():
            self._cancelled = True
            self._task.cancel()
        if self.on_lost is not None:
            try:
                self.on_lost(loss)
            except Exception:
                log.exception("on_lost of the lock %r", self.name)
        told, self._loss_reported = self._loss_reported, True
        if not told:
            self._tell_loss(loss)

    def _watch(self) -> None:
        """From now on this task is cancelled if the lock is lost."""
        self._task = asyncio.current_task()
        self._cancelled = False
        self._cancels = self._task.cancelling() if self._task and hasattr(self._task, "cancelling") else 0

    def _unwatch(self) -> bool:
        """Takes back the cancellation of _told(); whether there was one, and no other."""
        task, self._task = self._task, None
        if not self._cancelled or task is None:
            return False
        return not hasattr(task, "uncancel") or task.uncancel() <= self._cancels

    async def __aenter__(self) -> "Lock":
        await self.acquire()
        self._watch()
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        if kind is GeneratorExit:  # the loop is gone, nothing can be awaited
            _drop([self])
            return
        told = self._unwatch()
        try:
            await self.release()
        except LockLost as loss:
            if kind is None or (told and issubclass(kind, asyncio.CancelledError)):
                raise loss from error


def _decorate(lock: Any, function: _Function) -> _Function:
    decorated(function, tasks=True)

    @functools.wraps(function)
    async def locked(*arguments: Any, **options: Any) -> Any:
        async with lock._fresh():
            return await function(*arguments, **options)

    return cast(_Function, locked)


def _tell(itself: "weakref.ref[Lock]") -> None:
    lock = itself()
    if lock is not None:
        lock._told()


def _drop(locks: Iterable[Lock]) -> None:
    for lock in locks:
        claim = lock._claim
        lock._claim = None
        if claim is not None and lock._engine is not None and not lock._foreign():
            lock._engine.release(claim)


class MultiLock(MultiHandle):
    """Several locks, all or none; made by `holdfast.aio.lock_all()`. `async with` acquires and releases them."""

    handles: List[Lock]  # type: ignore[assignment]

    def __init__(self, locks: Iterable[Lock], wait: Optional[float]) -> None:
        super().__init__(locks, wait)

    async def acquire(self, blocking: bool = True, timeout: float = -1) -> "dict[str, int]":
        """Waits for all and returns their tokens. Arguments and errors as of Lock.acquire(); after one nothing is held. In place of False
        it returns an empty dict."""
        wait, tells = given(blocking, timeout, self.wait)
        try:
            return await self._acquire(wait)
        except LockBusy:
            if tells:
                return {}
            raise

    def __call__(self, function: _Function) -> _Function:
        """Decorates a coroutine function, as Lock does."""
        return _decorate(self, function)

    async def _acquire(self, wait: Optional[float]) -> "dict[str, int]":
        until = None if wait is None else now() + wait
        try:
            for lock in self.handles:
                await lock._acquire(left(until))
            return self.tokens
        except BaseException:
            _drop(self.handles)
            raise

    async def release(self) -> None:
        """Gives all back. LockLost: one of them was lost."""
        loss = await _release(self.handles)
        if loss is not None:
            raise loss

    async def __aenter__(self) -> "MultiLock":
        await self.acquire()
        for lock in self.handles:
            lock._watch()
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        if kind is GeneratorExit:
            _drop(self.handles)
            return
        told = [lock._unwatch() for lock in reversed(self.handles)]
        loss = await _release(self.handles)
        if loss is not None and (kind is None or (any(told) and issubclass(kind, asyncio.CancelledError))):
            raise loss from error


async def _release(locks: List[Lock]) -> Optional[HoldfastError]:
    results = await asyncio.gather(*[lock.release() for lock in locks], return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException) and not isinstance(result, LockLost):
            raise result
    return next((result for result in results if isinstance(result, LockLost)), None)


class Client(Place):
    """Locks of one daemon for tasks; see `holdfast.Client`."""

    def lock(self, name: str, *, wait: Optional[float] = None, shared: bool = False, limit: Optional[int] = None,
             permits: Optional[int] = None, lease: Optional[float] = None, max_hold: Optional[float] = None,
             owner: Optional[str] = None, why: Optional[str] = None,
             on_lost: Optional[Callable[[LockLost], object]] = None,
             on_wait: Optional[Callable[[Waiting], object]] = None) -> Lock:
        """A lock, not acquired yet. Options as of `holdfast.Client.lock`; on_lost and on_wait are called in the event loop."""
        return Lock(self, name, wait=wait, shared=shared, limit=limit, permits=permits, lease=lease, max_hold=max_hold,
                    owner=owner, why=why, on_lost=on_lost, on_wait=on_wait)

    def lock_all(self, names: Iterable[str], *, wait: Optional[float] = None, shared: bool = False,
                 max_hold: Optional[float] = None, why: Optional[str] = None,
                 on_lost: Optional[Callable[[LockLost], object]] = None,
                 on_wait: Optional[Callable[[Waiting], object]] = None) -> MultiLock:
        """Several locks, all or none. See `holdfast.Client.lock_all`."""
        return MultiLock([Lock(self, name, shared=shared, max_hold=max_hold, why=why, on_lost=on_lost, on_wait=on_wait)
                          for name in check_names(names)], wait)


_default = Client()
lock, lock_all = _default.lock, _default.lock_all
