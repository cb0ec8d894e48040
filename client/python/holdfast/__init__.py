"""Locks across processes and hosts, kept by the daemon holdfastd.

    with holdfast.lock("deploy", wait=5) as lock:
        ...

The daemon renews the lock while the process lives, and gives it to the next when it dies. `holdfast.aio` has
the same for asyncio.
"""

from . import aio
from ._errors import DaemonUnreachable, HoldfastError, LockBusy, LockLost, LockRefused, LockTimeout
from ._events import Event, observe
from ._look import Holder, Waiting
from ._sync import Client, Lock, MultiLock

__all__ = ["Client", "DaemonUnreachable", "Event", "Holder", "HoldfastError", "Lock", "LockBusy", "LockLost", "LockRefused",
           "LockTimeout", "MultiLock", "Waiting", "aio", "lock", "lock_all", "observe"]
__version__ = "0.1.0"

_default = Client()
lock, lock_all = _default.lock, _default.lock_all  # of the default daemon
