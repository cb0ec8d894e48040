"""handle: what a sync and an asyncio lock have in common."""

import inspect
import itertools
import logging
import os
import warnings
from typing import Callable, Iterable, List, Optional, Tuple, TypeVar

from ._address import choose, parse
from ._core import Claim
from ._engine import Engine, engine_for, now
from ._errors import LockLost
from ._events import Event, tell, waits_are_seen
from ._look import Waiting

YEAR = 365 * 86400.0  # the longest time that the daemon takes
log = logging.getLogger("holdfast")
PERMITS = 10000  # of a semaphore, at most

_Same = TypeVar("_Same", bound="Handle")
_SameMulti = TypeVar("_SameMulti", bound="MultiHandle")

# Part of each owner: another copy of the package in this process has the same session, and counts its own holds.
_COPY = os.urandom(4).hex()
# Of holds without an owner of the caller's own, which has a # in any case.
_unnamed = itertools.count(1)


def check_text(value: object, what: str) -> None:
    """The daemon gets text as UTF-8. TypeError, ValueError: the value cannot be sent."""
    if not isinstance(value, str):
        raise TypeError("%s is a str, not %r" % (what, value))
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("%s %r is not UTF-8: encode it first" % (what, value)) from None


def check_bytes(value: str, what: str, least: int, most: int) -> None:
    """ValueError: the daemon does not take it for its length, or because of a space (where there must be something) or a control
    character."""
    fits = least <= len(value.encode()) <= most
    if not fits or any(c < " " or "\x7f" <= c <= "\x9f" or (least and c == " ") for c in value):
        raise ValueError("%s: %s %d bytes without %scontrol characters are needed, not %r" % (
            what, "%d to" % least if least else "at most", most, "spaces and " if least else "", value))


def check_permits(value: Optional[int], what: str, most: int) -> None:
    """TypeError, ValueError: it is no number of permits."""
    if value is None:
        return
    if not isinstance(value, int):
        raise TypeError("%s is a whole number of permits, not %r" % (what, value))
    if not 1 <= value <= most:
        raise ValueError("%s: a whole number from 1 to %d is needed, not %r" % (what, most, value))


def check_seconds(value: object, what: str, least: float = 0) -> None:
    """TypeError, ValueError: the daemon does not take the value."""
    if not isinstance(value, (int, float)):
        raise TypeError("%s is a number of seconds, not %r" % (what, value))
    if not least <= value <= YEAR:
        raise ValueError("%s: a time from %s to 365 days is needed, not %r" % (what, "1 ms" if least else "0", value))


def bounded(wait: Optional[float]) -> Optional[float]:
    """The wait, as the daemon takes it: more than 365 days, also math.inf, count as 365 days. TypeError, ValueError: it is
    none."""
    if wait is None:
        return None
    if isinstance(wait, (int, float)) and wait > YEAR:
        return YEAR
    check_seconds(wait, "wait")
    return wait


def given(blocking: bool, timeout: float, wait: Optional[float]) -> Tuple[Optional[float], bool]:
    """How long acquire() waits, and whether it returns False if another locker has the name: not if the caller has said neither that
    it does not block nor for how long, since such a caller does not look at what is returned. TypeError, ValueError: as of threading.Lock."""
    if not blocking:
        if timeout != -1:
            raise ValueError("can't specify a timeout for a non-blocking call")
        return 0, True
    return (wait, False) if timeout == -1 else (bounded(timeout), True)


def decorated(function: Callable[..., object], tasks: bool) -> None:
    """TypeError: a lock cannot be held while the function works."""
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError("%r is a generator, and works after its call: lock inside of it" % function)
    if inspect.iscoroutinefunction(function) != tasks:
        raise TypeError("%r is %sa coroutine function: use holdfast%s.lock" % ((function, "not ", "") if tasks else (function, "", ".aio")))


class Place:
    """A daemon's address and how patient its clients are."""

    def __init__(self, url: Optional[str] = None, *, connect_timeout: float = 5.0, grace: float = 10.0) -> None:
        """url: a path, `unix:PATH`, `host:port` or `redis://user:password@host:port`. Without it, as for the program
        `holdfast`: $HOLDFAST_URL, else the user's own daemon, else /run/holdfast/holdfast.sock; of the last two the
        package chooses anew whenever it connects, until a daemon has answered. connect_timeout:
        seconds for which the daemon may be away while a lock is acquired. grace: seconds for which the daemon keeps
        locks and places in the queue when the connection is cut. TypeError, ValueError: an argument is wrong."""
        self._address = parse(url) if url is not None else None
        check_seconds(connect_timeout, "connect_timeout")
        check_seconds(grace, "grace")
        self.connect_timeout, self.grace = connect_timeout, grace

    def engine(self) -> Engine:
        """The engine of this process for this address."""
        return engine_for(self._address or choose(), self.grace)


class Handle:
    """A lock and what it is worth. Made by a client; one hold at a time."""

    def __init__(self, place: Place, name: str, *, wait: Optional[float] = None, shared: bool = False,
                 limit: Optional[int] = None, permits: Optional[int] = None, lease: Optional[float] = None,
                 max_hold: Optional[float] = None, owner: Optional[str] = None, why: Optional[str] = None,
                 on_lost: Optional[Callable[[LockLost], object]] = None,
                 on_wait: Optional[Callable[[Waiting], object]] = None) -> None:
        if shared and limit is not None:
            raise ValueError("a lock is shared, or has a limit, not both")
        for text, what in ((name, "the name of a lock"), (owner, "owner"), (why, "why")):
            if text is not None or text is name:
                check_text(text, what)
        check_bytes(name, "name", 1, 512)
        if name.startswith("}"):
            raise ValueError("name: it must not begin with }, as %r does" % name)
        if owner is not None:
            check_bytes(owner, "owner", 1, 96)
        if why is not None:
            check_bytes(why, "why", 0, 256)
        check_permits(limit, "limit", PERMITS)
        check_permits(permits, "permits", limit or PERMITS)
        if permits is not None and limit is None:
            raise ValueError("permits needs a limit")
        for seconds, what, least in ((lease, "lease", 0.001), (max_hold, "max_hold", 0.001)):
            if seconds is not None:
                check_seconds(seconds, what, least)
        for call, what in ((on_lost, "on_lost"), (on_wait, "on_wait")):
            if call is not None and not callable(call):
                raise TypeError("%s is a function, not %r" % (what, call))
        self.name = name
        self.place, self.wait, self.owner, self.on_lost, self.on_wait = place, bounded(wait), owner, on_lost, on_wait
        self.words: List[str] = ["SHARED"] if shared else []
        if limit is not None:
            self.words += ["LIMIT", str(limit), "PERMITS", str(permits or 1)]
        for word, time in (("LEASE", lease), ("MAXHOLD", max_hold)):
            if time is not None:
                self.words += [word, str(int(time * 1000))]
        if why is not None:
            self.words += ["WHY", why]
        self._engine: Optional[Engine] = None
        self._claim: Optional[Claim] = None
        self._held_since, self._loss_reported = 0.0, False

    @property
    def token(self) -> int:
        """The fencing token: each grant of the name has a greater one. RuntimeError before the lock was acquired."""
        if self._claim is None or self._claim.token is None:
            raise RuntimeError("the lock %r was not acquired" % self.name)
        return self._claim.token

    def valid_for(self) -> float:
        """Seconds for which the lock is surely held, counted from now, without asking the daemon; 0: it is not. The
        daemon renews it, so the value is refreshed all the time. If this process stood still beyond the time that it was told, this
        waits until the daemon has answered, a second at most."""
        left = self._left()
        if left == 0.0 and self._engine is not None and self._claim is not None and not self._foreign():
            self._engine.decide(self._claim)
            left = self._left()
        return left

    def _left(self) -> float:
        claim = self._claim
        if claim is None or claim.state != "held" or claim.hold is None or self._foreign():
            return 0.0
        return max(0.0, claim.hold.deadline - now())

    @property
    def held(self) -> bool:
        """Whether the lock is surely held now."""
        return self.valid_for() > 0

    @property
    def lost(self) -> bool:
        """Whether the lock was acquired, not released, and is not surely held now."""
        return self._claim is not None and self._claim.token is not None and not self.held

    def raise_if_lost(self) -> None:
        """Raises LockLost if `lost` is true. It sends nothing, so a loop may call it at each step. RuntimeError: the lock
        was not acquired, or was released."""
        if self.held:
            return
        if self._claim is None or self._claim.token is None:
            raise RuntimeError("the lock %r is not held" % self.name)
        raise self._loss()

    def _overdue(self) -> Optional[LockLost]:
        """The loss, as far as it is known without the daemon. It was acquired, and is not surely held."""
        known = self._claim is not None and self._claim.token is not None
        return self._loss() if known and self._left() == 0.0 else None

    def _loss(self) -> LockLost:
        claim = self._claim
        if claim is not None and isinstance(claim.error, LockLost):
            return claim.error
        token = claim.token if claim else None
        if self._foreign():
            return LockLost(self.name, token, "forked", "it belongs to the parent process")
        return LockLost(self.name, token, "unreachable", "the daemon did not answer before the announced deadline")

    def _foreign(self) -> bool:
        return self._engine is not None and self._engine.foreign

    def _fresh(self: _Same) -> _Same:
        """Another one with the same options, which has nothing."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__, _engine=None, _claim=None)
        return other

    def _begin(self, settled: Callable[[], None], lost: Callable[[], None], wait: Optional[float],
               lasts: Optional[Callable[[Waiting], None]], alive: Optional[Callable[[], bool]] = None) -> "tuple[Engine, Claim]":
        """Sends the request."""
        self._engine = self.place.engine()
        self._held_since, self._loss_reported = now(), False
        owner = "%s#%s" % (self.owner, _COPY) if self.owner is not None else "%s-%d" % (_COPY, next(_unnamed))
        self._claim = Claim(self.name, owner, self.words, wait, self.place.connect_timeout, now(), settled, lost, alive,
                            self.owner is not None, lasts)
        self._engine.acquire(self._claim)
        return self._engine, self._claim

    def _hears(self) -> Optional[Callable[[Waiting], None]]:
        """What is told that the wait lasts; None: nobody wants to know. It must not keep this object alive."""
        name, on_wait = self.name, self.on_wait
        if on_wait is None and not waits_are_seen():
            return None

        def lasts(info: Waiting) -> None:
            if on_wait is not None:
                try:
                    on_wait(info)
                except (Exception, SystemExit):  # the thread serves all other locks
                    log.exception("on_wait of the lock %r", name)
            tell(Event("wait", name, waited=info.waited, holder=info.holder, position=info.position), logging.INFO)

        return lasts

    def _tell_hold(self, asked: float) -> None:
        """It is held. asked: when acquire() was called."""
        self._held_since = now()
        tell(Event("hold", self.name, self.token, waited=self._held_since - asked))

    def _tell_failure(self, asked: float, error: BaseException) -> None:
        tell(Event("fail", self.name, waited=now() - asked, holder=getattr(error, "holder", None), error=error))

    def _tell_end(self, claim: Claim, loss: Optional[LockLost]) -> None:
        """It was given back, or turned out to be lost. Raises the loss."""
        if loss is None:
            tell(Event("release", self.name, claim.token, held=now() - self._held_since))
            return
        told, self._loss_reported = self._loss_reported, True
        if not told:
            self._tell_loss(loss)
        raise loss

    def _tell_loss(self, loss: LockLost) -> None:
        tell(Event("loss", self.name, loss.token, held=now() - self._held_since, error=loss), logging.WARNING)

    def _give_up(self) -> None:
        """The wait has ended otherwise than with the lock: nothing is held, and nothing waits."""
        claim, self._claim = self._claim, None
        if claim is not None and self._engine is not None:
            self._engine.release(claim)

    def _check_unused(self) -> None:
        if self._claim is not None and not self._foreign():
            raise RuntimeError("this object has the lock %r, or waits for it: make one for each hold" % self.name)

    def _finish(self) -> Optional[Claim]:
        """Takes the claim away: it is over, or will be released by the caller. RuntimeError: there is none."""
        claim, self._claim = self._claim, None
        if claim is None:
            raise RuntimeError("the lock %r is not held" % self.name)
        return None if self._foreign() else claim

    def __del__(self) -> None:
        claim = getattr(self, "_claim", None)
        if claim is not None and claim.state != "over" and self._engine is not None and not self._foreign():
            self._engine.release(claim)
            warnings.warn("the lock %r was not released" % self.name, ResourceWarning, stacklevel=2)


def check_names(names: Iterable[str]) -> Iterable[str]:
    """TypeError: a str, which is an iterable of its letters."""
    if isinstance(names, str):
        raise TypeError("lock_all takes a list of names, not the str %r" % names)
    return names


class MultiHandle:
    """Several locks, all or none."""

    def __init__(self, handles: Iterable[Handle], wait: Optional[float]) -> None:
        self.wait = bounded(wait)
        # In the order of MLOCK: so two of these, or of a program in another language, never wait for each other.
        self.handles = sorted(handles, key=lambda handle: handle.name.encode())
        names = [handle.name for handle in self.handles]
        if not names or len(set(names)) < len(names):
            raise ValueError("one or more different names are needed")

    def _fresh(self: _SameMulti) -> _SameMulti:
        """Another one with the same options, which has nothing."""
        other = type(self).__new__(type(self))
        other.wait, other.handles = self.wait, [handle._fresh() for handle in self.handles]
        return other

    @property
    def tokens(self) -> "dict[str, int]":
        """The fencing token of each name."""
        return {handle.name: handle.token for handle in self.handles}

    def valid_for(self) -> float:
        """Seconds for which all of them are surely held."""
        return min(handle.valid_for() for handle in self.handles)

    @property
    def held(self) -> bool:
        """Whether all of them are surely held now."""
        return self.valid_for() > 0

    @property
    def lost(self) -> bool:
        """Whether any of them is lost."""
        return any(handle.lost for handle in self.handles)

    def raise_if_lost(self) -> None:
        """Raises LockLost for the first that is lost. RuntimeError as of Lock.raise_if_lost()."""
        for handle in self.handles:
            handle.raise_if_lost()


def ms(seconds: float) -> str:
    """Whole milliseconds, for EXTEND. TypeError, ValueError: the daemon does not take them."""
    check_seconds(seconds, "extend", 0.001)
    return str(int(seconds * 1000))


def left(until: Optional[float]) -> Optional[float]:
    """Seconds until then."""
    return None if until is None else max(0.0, until - now())
