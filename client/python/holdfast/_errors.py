"""errors: what a lock can raise. Nothing else leaves this package but TypeError, ValueError and RuntimeError for
wrong use."""

from typing import Optional


class HoldfastError(Exception):
    """The base of all errors of this package."""


class LockBusy(HoldfastError):
    """Another locker has the name. Nothing is held, and nothing waits any more."""


class LockTimeout(LockBusy, TimeoutError):
    """Another locker had the name for the whole of `wait`."""


class LockLost(HoldfastError):
    """The lock was held and is not any more: stop using what it protects.

    `reason` is one word: `expired`, `taken`, `refused`, `lease`, `maxhold`, `broken` or `cloned`, as the daemon says;
    `unreachable`: the daemon could not be asked before the told deadline; `session`: the daemon no longer knows
    this process; `forked`: the lock belongs to the parent process; `failed`: a fault of this package. `token` is the
    fencing token of the lost hold.
    """

    def __init__(self, name: str, token: Optional[int], reason: str, text: str) -> None:
        super().__init__("the lock %r is lost: %s" % (name, text))
        self.name, self.token, self.reason = name, token, reason


class DaemonUnreachable(HoldfastError, ConnectionError):
    """No daemon answers at the address. The lock is not held."""


class LockRefused(HoldfastError):
    """The daemon cannot grant the lock, or the request is wrong.

    `code` is the daemon's word for it, such as `NOMASTER`, `GUARD`, `LIMIT` or `WRONGPASS`; `text` its explanation.
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__("%s: %s" % (code, text))
        self.code, self.text = code, text
