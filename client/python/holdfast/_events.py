"""events: what happens to locks and connections, for the log and for who observes them."""

import logging
import threading
from typing import Callable, List, NamedTuple, Optional, Tuple

from ._look import Holder

log = logging.getLogger("holdfast")


class Event(NamedTuple):
    """Something that has happened. Times are in seconds. `kind` is one of

    | kind    | what                                        | fields                                  | where it is told      |
    |---------|---------------------------------------------|-----------------------------------------|-----------------------|
    | wait    | a wait lasts: after 1 s, and then every 5 s | name, waited, holder, position          | thread of the package |
    | hold    | a lock is held                              | name, token, waited                     | caller of acquire()   |
    | fail    | a wait has ended without the lock           | name, waited, error, holder             | caller of acquire()   |
    | release | a lock was given back                       | name, token, held                       | caller of release()   |
    | loss    | a lock was lost                             | name, token, held, error                | thread of the package |
    | connect | there is a connection to the daemon         | address                                 | thread of the package |
    | cut     | it is lost                                  | address, error                          | thread of the package |
    | resume  | there is one again                          | address                                 | thread of the package |

    With asyncio the event loop takes the place of the thread of the package for wait and loss.
    """

    kind: str
    name: str = ""
    token: Optional[int] = None
    waited: Optional[float] = None
    held: Optional[float] = None
    holder: Optional[Holder] = None
    position: Optional[int] = None
    error: Optional[BaseException] = None
    address: str = ""


Observer = Callable[[Event], object]
_observers: Tuple[Observer, ...] = ()
_changing = threading.Lock()


def observe(observer: Observer) -> Callable[[], None]:
    """Has the function called with each Event of this process from now on; keep it short. What it raises is logged. Returns a function
    that ends that. TypeError: it is no function."""
    global _observers
    if not callable(observer):
        raise TypeError("observe() takes a function, not %r" % (observer,))
    mine: List[Observer] = [observer]  # the same function may observe twice
    with _changing:
        _observers += (observer,)

    def stop() -> None:
        global _observers
        with _changing:
            if mine:
                others = list(_observers)
                others.remove(mine.pop())
                _observers = tuple(others)

    return stop


def waits_are_seen() -> bool:
    """Whether anybody wants to know of a wait that lasts."""
    return bool(_observers) or log.isEnabledFor(logging.INFO)


def tell(event: Event, level: Optional[int] = None) -> None:
    """Logs what has happened, if a level is given, and calls the observers."""
    if level is not None and log.isEnabledFor(level):
        log.log(level, "%s", _text(event))
    for observer in _observers:
        try:
            observer(event)
        except Exception:
            log.exception("an observer failed at the event %s", event.kind)


def _text(event: Event) -> str:
    if event.kind == "wait":
        who = event.holder.sentence() if event.holder else "nobody is known to have it"
        place = "number %d in the queue; " % event.position if event.position else ""
        return "the lock %r is waited for since %.0f s: %s%s" % (event.name, event.waited or 0, place, who)
    if event.kind == "connect":
        return "connected to holdfastd at " + event.address
    if event.kind == "resume":
        return "connected to holdfastd at %s again" % event.address
    return ("the connection is lost: %s" if event.kind == "cut" else "%s") % event.error


def after_fork() -> None:
    """In the child: another thread may have had the mutex."""
    global _changing
    _changing = threading.Lock()
