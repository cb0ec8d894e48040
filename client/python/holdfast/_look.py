"""look: who has a name that is waited for, as the daemon's INSPECT says, without I/O.

A look is one question for all who want to know of a name at a time. It is about the daemon that was asked; if that knows no holder, a
second question goes to the fleet, about a name once in FRESH seconds. A daemon that does not answer in time, or does not let this user
see, leaves it open.
"""

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

PATIENCE = 0.5  # seconds for the answers of a look
FRESH = 1.0  # seconds for which an answer of the fleet counts
WAITERS = 64  # places in the queue that a look sees


class Holder(NamedTuple):
    """Who has a lock, as `holdfast show` prints it: the oldest hold, if several have it. What is not known is empty, 0, or -1 for uid."""

    client: str  # the name of its connection: program and host for this package
    host: str  # of the daemon through which it is held; empty: it is the daemon of this program
    address: str  # `unix`, or where it connects from
    pid: int
    uid: int
    token: int
    why: str
    held_for: float  # seconds, when the daemon was asked
    withheld: bool  # its holder is gone, and the name is kept until that one surely knows

    def __str__(self) -> str:
        facts = ["pid %d" % self.pid] if self.client and self.pid else []
        facts += [self.address] if self.address not in ("", "unix") else []
        facts += ["through the daemon of " + self.host] if self.host else []
        facts += ['"%s"' % self.why] if self.why else []
        who = self.client or ("pid %d" % self.pid if self.pid else "somebody")
        return who + (" (%s)" % ", ".join(facts) if facts else "")

    def sentence(self) -> str:
        """What it has to do with the lock, for people."""
        if self.withheld:
            return str(self) + " had it, and is gone"
        return str(self) + (" has had it for %.1fs" % self.held_for if self.token else " has it")


class Waiting(NamedTuple):
    """A wait that lasts."""

    name: str
    holder: Optional[Holder]  # None: nobody has it, or it is not known
    position: Optional[int]  # in the queue of the daemon, from 1; None: it is not known, or beyond what a look sees
    waited: float  # seconds


class Seen(NamedTuple):
    """What a look has seen."""

    holder: Optional[Holder] = None
    places: Dict[str, int] = {}  # in the queue, by owner


NOTHING = Seen()
Told = Callable[[Seen], None]


class Look:
    """One that is under way."""

    def __init__(self, until: float) -> None:
        self.until = until
        self.told: List[Told] = []
        self.places: Dict[str, int] = {}
        self.fleet = False  # the fleet was asked
        self.over = False


class Looks:
    """All that are under way, by name."""

    def __init__(self, send: Callable[[float, Sequence[str], Callable[[Any, float], None]], None]) -> None:
        self._send = send
        self._looks: Dict[str, Look] = {}
        self._fleet: Dict[str, Tuple[float, Optional[Holder]]] = {}  # what it said, and when, by name

    def begin(self, name: str, now: float, told: Told) -> None:
        """Calls `told` with what is seen, after PATIENCE at the latest, if tick() is called then."""
        look = self._looks.get(name)
        if look is not None:
            look.told.append(told)
            return
        look = self._looks[name] = Look(now + PATIENCE)
        look.told.append(told)
        self._ask(name, look, ["COUNT", str(WAITERS)], now)

    def tick(self, now: float) -> Optional[float]:
        """Ends those whose time is over. When the next one is due."""
        for name, look in list(self._looks.items()):
            if now >= look.until:
                self._end(name, look, Seen(None, look.places))
        return min((look.until for look in self._looks.values()), default=None)

    def abandon(self) -> None:
        """Ends all of them."""
        for name, look in list(self._looks.items()):
            self._end(name, look, NOTHING)

    def _ask(self, name: str, look: Look, words: List[str], now: float) -> None:
        self._send(now, ["INSPECT", name, *words], lambda value, then: self._answered(name, look, value, then))

    def _answered(self, name: str, look: Look, value: Any, now: float) -> None:
        if look.over:
            return
        fields = _map(value)
        if look.fleet:
            holder = _of_fleet(fields)
            self._fleet[name] = (now, holder)
            self._end(name, look, Seen(holder, look.places))
            return
        look.places = {waiter["owner"]: waiter["position"] for waiter in map(_map, fields.get("waiters") or [])}
        holder = _holder(fields.get("holder"), "")
        self._fleet = {one: said for one, said in self._fleet.items() if now - said[0] < FRESH}
        if holder is None and name in self._fleet:
            holder = self._fleet[name][1]
        elif holder is None and fields:
            look.fleet = True
            self._ask(name, look, ["FLEET"], now)
            return
        self._end(name, look, Seen(holder, look.places))

    def _end(self, name: str, look: Look, seen: Seen) -> None:
        look.over = True
        del self._looks[name]
        for told in look.told:
            told(seen)


def _map(value: Any) -> Dict[Any, Any]:
    """A map of RESP3. What is none, as an error or what stands for a cut, is an empty one."""
    if not isinstance(value, list):
        return {}
    pairs = iter(value)
    return dict(zip(pairs, pairs))


def _holder(value: Any, host: str) -> Optional[Holder]:
    fields = _map(value)
    if not fields.get("token"):
        return None
    return Holder(fields.get("client", ""), host, fields.get("address", ""), fields.get("pid", 0), fields.get("uid", -1),
                  fields["token"], fields.get("why", ""), fields.get("held_ms", 0) / 1000,
                  bool(fields.get("withheld")))


def _of_fleet(fields: Dict[Any, Any]) -> Optional[Holder]:
    """The oldest hold of all daemons; of one that is silent its host alone is known."""
    daemons = [_map(value) for value in fields.get("hosts") or []]
    found = [_holder(daemon.get("holder"), daemon.get("host", "")) for daemon in daemons]
    holders = sorted((holder for holder in found if holder), key=lambda holder: (holder.withheld, -holder.held_for))
    if holders:
        return holders[0]
    silent = [_map(value) for value in fields.get("holders") or []]
    return Holder("", silent[0].get("host", ""), "", 0, -1, 0, "", 0.0, False) if silent else None
