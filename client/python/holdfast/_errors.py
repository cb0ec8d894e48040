"""errors: what a lock can raise. Nothing else leaves this package but TypeError, ValueError and RuntimeError for
wrong use."""

from typing import Any, Dict, Optional, Tuple, Type

from ._look import Holder

# Refusals that pass: the same request may be granted later. The others want the program or the configuration to be changed.
PASSING = frozenset(("NOMASTER", "GUARD", "MASTERERR", "DRAINING", "LIMIT", "DEADLOCK", "LOST"))


class HoldfastError(Exception):
    """The base of all errors of this package. `transient`: the same call may succeed later, so a program may try again."""

    transient = False

    def __reduce__(self) -> Tuple[Any, ...]:
        return _rebuilt, (type(self), self.args, self.__dict__)  # pools of processes send errors pickled


def _rebuilt(kind: Type[HoldfastError], arguments: Tuple[Any, ...], state: Dict[str, Any]) -> HoldfastError:
    error = kind.__new__(kind)
    error.args = arguments
    error.__dict__.update(state)
    return error


class LockBusy(HoldfastError):
    """Another locker has the name. Nothing is held, and nothing waits any more.

    `name` is that of the lock. `holder` is who has it, if the lock was waited for and the daemon says so, else None.
    """

    transient = True

    def __init__(self, name: str, text: str) -> None:
        super().__init__(text)
        self.name = name
        self.holder: Optional[Holder] = None

    def found(self, holder: Optional[Holder], ours: Optional[float]) -> None:
        """Adds who has the lock. ours: this process, for so many seconds."""
        self.holder = holder
        if ours is not None:
            self.args = ("%s; this process holds it itself, for %.1fs: is a release missing?" % (self.args[0], ours),)
        elif holder is not None:
            self.args = ("%s: %s" % (self.args[0], holder.sentence()),)


class LockTimeout(LockBusy, TimeoutError):
    """Another locker had the name for the whole of `wait`."""


class LockLost(HoldfastError):
    """The lock was held and is not any more: stop using what it protects.

    `reason` is one word: `expired`, `taken`, `refused`, `lease`, `maxhold`, `broken` or `cloned`, as the daemon says;
    `unreachable`: the daemon could not be asked before the announced deadline; `session`: the daemon no longer knows
    this process; `forked`: the lock belongs to the parent process; `failed`: a fault of this package. `token` is the
    fencing token of the lost hold.
    """

    transient = True

    def __init__(self, name: str, token: Optional[int], reason: str, text: str) -> None:
        super().__init__("the lock %r is lost: %s" % (name, text))
        self.name, self.token, self.reason = name, token, reason


class DaemonUnreachable(HoldfastError, ConnectionError):
    """No daemon answers at the address. The lock is not held. It is not transient if this user may not use the socket, or
    something else than holdfastd answers."""

    transient = True


class LockRefused(HoldfastError):
    """The daemon cannot grant the lock, or the request is wrong.

    `code` is the daemon's word for it, such as `NOMASTER`, `GUARD`, `LIMIT` or `WRONGPASS`; `text` its explanation. It is
    transient if the code is NOMASTER, GUARD, MASTERERR, DRAINING, LIMIT or DEADLOCK, but for a name that is too long.
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__("%s: %s" % (code, text))
        self.code, self.text = code, text
        self.transient = code in PASSING and not text.startswith("bad name")


def lasting(error: DaemonUnreachable) -> DaemonUnreachable:
    """The error of a daemon for which it does not help to try again."""
    error.transient = False
    return error
