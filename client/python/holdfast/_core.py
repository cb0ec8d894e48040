"""core: the conversation with the daemon, without I/O. Bytes and times go in, bytes and calls come out.

    engine                                   core                                     engine
      receive(bytes, now)  ────────▶  ┌───────────────────────┐  ────▶  output    bytes to send
      acquire, release     ────────▶  │ hold  (name, owner)   │  ────▶  calls     what to tell the callers
      tick(now)            ────────▶  │  ├ users    claims    │  ────▶  wake      when tick() is due
      connected, cut       ────────▶  │  └ waiting  claims    │
                                      └───────────────────────┘

A *claim* is what one caller has: it waits, then is held, then is over. A *hold* is what the daemon knows: one name
and owner, whose claims share it. All times are in seconds of CLOCK_BOOTTIME. It must not read a clock, do I/O
or call a caller: what callers are told is put into `calls`.

Holds of one name stand in a *queue*: its front alone waits at the daemon, and the next one is sent when that has the lock, or
waits no more. A try is never in the queue, nor a hold with an owner of the caller's own: for such the daemon finds deadlocks. If
the daemon refuses the front, all of the queue are sent, as each has to hear that.

A session waits for a limited number of names. A LOCK that is refused for that stands in the *line*, and so does each later
one that may wait; when a wait of the session ends, the first in the line is sent, with what is left of its time.
"""

import bisect
import itertools
import math
from collections import deque
from typing import Any, Callable, Deque, Dict, List, Optional, Sequence, Tuple

from ._errors import DaemonUnreachable, HoldfastError, LockBusy, LockLost, LockRefused, LockTimeout, lasting
from ._look import Looks, Seen, Waiting

RETRY = 0.2  # seconds until a LOCK is sent again to a daemon that ends
SLACK = 2.0  # seconds by which the daemon may answer a WAIT late: a hand-over, a busy host
SILENCE = 5.0  # seconds without an answer after which the connection counts as lost
STOOD = 0.1  # seconds after a deadline from which a look at it shows that this process stood still
LATE = 1.0  # seconds for the daemon's answer if this process stood still until the deadline that it was told
UNTOLD = "VALIDITY and ASYNC exclude each other"  # what an older daemon says, which pushes no time
LOOK = 1.0  # seconds between looks at the event loops of claims
NOTICE = 1.0  # seconds after which a wait lasts, and who waits is told
NOTICES = 5.0  # seconds between later times at which it is told


class Failure(Tuple[str, str]):
    """An error answer: code and text."""


class Push(List[Any]):
    """A push of RESP3."""


class Cut:
    """Stands for the answers that did not come because the connection was lost."""


CUT = Cut()
Handler = Callable[[Any, float], None]


def encode(words: Sequence[str]) -> bytes:
    """A request as a RESP array."""
    parts = [word.encode() for word in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)


def parse(data: bytes, at: int = 0) -> Optional[Tuple[Any, int]]:
    """The answer at `at` and the position behind it; None if more bytes are needed."""
    end = data.find(b"\r\n", at)
    if end < 0:
        return None
    kind, line, at = data[at:at + 1], data[at + 1:end].decode("utf-8", "replace"), end + 2
    if kind == b"+":
        return line, at
    if kind == b"-":
        code, _, text = line.partition(" ")
        return Failure((code, text)), at
    if kind == b":":
        return int(line), at
    if kind == b"_" or line == "-1":
        return None, at
    if kind == b"$":
        length = int(line)
        if len(data) < at + length + 2:
            return None
        return data[at:at + length].decode("utf-8", "replace"), at + length + 2
    if kind not in (b"*", b">", b"%", b"~"):
        raise lasting(DaemonUnreachable("what answers is no holdfastd: it says %r" % data[:40]))
    items: List[Any] = Push() if kind == b">" else []
    for _ in range(int(line) * (2 if kind == b"%" else 1)):
        found = parse(data, at)
        if found is None:
            return None
        items.append(found[0])
        at = found[1]
    return items, at


class Claim:
    """What one caller wants or has. The engine's callers read it, core alone changes it.

    `settled` is called when the wait is over (held, or `error` says why not), `lost` when a held claim is lost, `freed`
    when a release is answered. `alive` tells whether the caller can still be told; None: always.
    """

    def __init__(self, name: str, owner: str, words: Sequence[str], wait: Optional[float], patience: float,
                 now: float, settled: Callable[[], None], lost: Callable[[], None],
                 alive: Optional[Callable[[], bool]] = None, shares: bool = True,
                 lasts: Optional[Callable[[Waiting], None]] = None) -> None:
        """shares: others may have the same name and owner. lasts: is told of a wait that lasts."""
        self.shares, self.lasts = shares, lasts
        self.notice = now + NOTICE  # when it is told next
        self.name, self.owner, self.words = name, owner, list(words)
        self.since, self.patience = now, patience  # seconds for which the daemon may be away
        self.wait = wait
        self.until = None if wait is None else now + wait
        self.settled, self.lost, self.alive = settled, lost, alive
        self.freed: Optional[Callable[[], None]] = None  # of release()
        self.state = "waiting"  # "held", "over"
        self.token: Optional[int] = None
        self.error: Optional[HoldfastError] = None
        self.hold: Optional["Hold"] = None


class Hold:
    """A name and owner at the daemon."""

    def __init__(self, name: str, owner: str) -> None:
        self.name, self.owner = name, owner
        self.users: List[Claim] = []
        self.waiting: List[Claim] = []
        self.asked = ""  # the id of the LOCK that is under way
        self.turn = 0  # its place in the line
        self.lined = False  # it stands in the line
        self.place: Tuple[str, str] = (name, "")  # the key of its queue
        self.front = False  # of the queue: it waits at the daemon, or will
        self.behind = False  # it stands in the queue
        self.refused = False  # by the daemon, for a reason that holds for all of the queue
        self.asked_at = 0.0
        self.sent_at = 0.0  # its LOCK over this connection: the push of the grant tells a time from then on
        self.past = 0  # Core._past when its LOCK was sent
        self.token: Optional[int] = None
        self.granted_at = 0.0
        self.deadline = 0.0  # told: until then it is surely held
        self.check_at = 0.0
        self.checking = False
        self.late = 0.0  # the deadline has passed, and until then the daemon may answer even so; 0: it has not
        self.ending = 0  # UNLOCKs that are not answered yet
        self.cancelled: List[str] = []  # ids of LOCKs that were given up, until the UNLOCK behind them is answered
        # Since when the daemon refuses for a moment, and how.
        self.trouble: Optional[Tuple[float, HoldfastError]] = None
        self.freed: List[Claim] = []
        # Claims that had it when it was lost, and may work under it still, with its token and the deadline that they were told.
        self.lost: List[Claim] = []
        self.lost_token: Optional[int] = None
        self.lost_until = 0.0


class Queue:
    """The holds that wait for one name, as a lock or as a semaphore of n permits."""

    def __init__(self) -> None:
        self.fronts = 0
        self.behind: Dict[Hold, None] = {}  # in the order in which they came


class Core:
    """All holds of one process at one daemon, and the connection that speaks for them."""

    def __init__(self, user: str, password: str, title: str, grace: float, tcp: bool, prefix: str) -> None:
        """prefix: of the ids of requests, at random: other copies of the package in this process share its session."""
        self.login = (user or "default", password) if password else None
        self.title, self.grace, self.tcp = title, grace, tcp
        self.holds: Dict[Tuple[str, str], Hold] = {}
        self.output = bytearray()
        self.calls: List[Callable[[], None]] = []
        self.wake = math.inf
        self.online = False  # there is a connection
        self.answered = False  # and a daemon has answered there
        self.served = False  # a daemon has answered, over this connection or an earlier one
        self.failures = 0  # connections in a row at which no daemon answered, or it refused
        self.cut_since = 0.0
        self.cut_why: HoldfastError = DaemonUnreachable("not connected yet")
        self.stalled = False  # the connection has to be closed: no answer comes
        self._tells = True  # the daemon tells with a grant for how long it is good
        self._input = b""
        self._handlers: Deque[Tuple[Handler, float]] = deque()
        self._heard = 0.0
        self._mute = 0.0  # until then an answer that is overdue may still be read; 0: none is overdue
        self._secret: Optional[str] = None
        self._bound = False
        self._prefix, self._ids = prefix, itertools.count(1)
        self._line: List[Tuple[int, Hold]] = []  # sorted by the turn, which no two have
        self._past = 0  # waits of the session that have ended
        self._turns = itertools.count(1)
        self._queues: Dict[Tuple[str, str], Queue] = {}
        self._looks = Looks(self._send)

    # --- the connection ---------------------------------------------------------------------------------------------

    def connected(self, now: float, bind: bool) -> Tuple[bytes, bytes]:
        """The first bytes of a new connection, in two parts. If bind, the second begins with SESSION BIND, and is sent
        with a pidfd."""
        self.online, self.stalled, self._input, self._heard, self._mute = True, False, b"", now, 0.0
        self._tells = True
        hello = ["HELLO", "3"] + (["AUTH", *self.login] if self.login else []) + ["SETNAME", self.title]
        self._send(now, hello, self._hello)
        if self._secret is not None:
            # Other connections of the process may be in a bound session: RESUME would close them.
            self._send(now, ["SESSION", "JOIN" if self._bound else "RESUME", self._secret], self._resumed)
        first, self.output = bytes(self.output), bytearray()
        if bind:
            self._send(now, ["SESSION", "BIND"], self._bind_answered)
        self._send(now, ["SESSION", "GRACE", _ms(self.grace)], self._graced)
        self._send(now, ["SESSION", "ONLOSS", "PUSH"], _ignore)
        for hold in list(self.holds.values()):
            hold.checking = False
            for asked in hold.cancelled:
                self._send(now, ["CANCEL", asked], _ignore)
            if hold.token is not None:
                self._check(hold, now)
            elif hold.asked:
                self._lock(hold, now)
            elif hold.waiting and not hold.lined and not hold.behind:
                self._ask(hold, now)
            elif not hold.waiting and not hold.lost:
                self._end(hold, now)
        second, self.output = bytes(self.output), bytearray()
        return first, second

    def cut(self, now: float, why: HoldfastError, failed: bool = False) -> None:
        """The connection is lost, or failed: it could not be made."""
        if self.answered:
            self.cut_since = now
        self.failures = 0 if self.answered else self.failures + 1
        self.online, self.answered, self.stalled, self.cut_why = False, False, False, why
        self.output.clear()
        handlers, self._handlers = self._handlers, deque()
        for handler, _ in handlers:
            handler(CUT, now)
        for claim in [claim for hold in self.holds.values() for claim in hold.waiting]:
            if failed and claim.until is not None and claim.until <= now:
                self._fail(claim, why, now)
        self.wake = now

    def ended(self) -> None:
        """The session was ended by a QUIT: the next connection begins another one."""
        self.online, self.answered, self._secret, self._bound = False, False, None, False
        self.output.clear()
        self._handlers.clear()

    def abandon(self, text: str) -> bool:
        """Ends all claims after a fault, whatever was half done; the next connection gives their holds back. False: there
        was no claim, so the fault is in giving back, which is given up."""
        claims = sum(len(hold.users) + len(hold.waiting) for hold in self.holds.values())
        for hold in self.holds.values():
            for claim in hold.users:
                claim.error = LockLost(claim.name, claim.token, "failed", text)
                self.calls.append(claim.lost)
            for claim in hold.waiting:
                claim.error = claim.error or HoldfastError(text)
                self.calls.append(claim.settled)
            for claim in hold.users + hold.waiting:
                claim.state = "over"
            for claim in hold.freed:
                self._freed(claim)
            hold.users, hold.waiting, hold.freed, hold.lost, hold.lost_token = [], [], [], [], None
            hold.cancelled += [hold.asked] if hold.asked else []
            hold.asked, hold.token, hold.checking, hold.ending, hold.lined = "", None, False, 0, False
            hold.front = hold.behind = False
        self._line.clear()
        self._queues.clear()
        self._looks.abandon()
        if not claims:
            self.holds.clear()
        self._handlers.clear()
        return claims > 0

    def receive(self, data: bytes, now: float) -> None:
        """Takes what the daemon sent."""
        self._input += data
        self._heard = now
        at = 0
        while True:
            found = parse(self._input, at)
            if found is None:
                break
            value, at = found
            if isinstance(value, Push):
                self._pushed(value, now)
            elif self._handlers:
                self._handlers.popleft()[0](value, now)
        self._input = self._input[at:]

    def _send(self, now: float, words: Sequence[str], handler: Handler) -> None:
        if self.online:
            self.output += encode(words)
            self._handlers.append((handler, now))
        else:
            handler(CUT, now)

    def _hello(self, value: Any, now: float) -> None:
        if isinstance(value, list) and "holdfast" not in value:
            raise lasting(DaemonUnreachable("what answers is a Redis, not holdfastd: give the daemon's socket"))
        self.answered = not isinstance(value, (Failure, Cut))
        self.served = self.served or self.answered
        if isinstance(value, Failure):
            self.stalled = True
            self.cut_why = LockRefused(*value)
            for claim in [claim for hold in self.holds.values() for claim in hold.waiting]:
                self._fail(claim, self.cut_why, now)

    def _resumed(self, value: Any, now: float) -> None:
        if isinstance(value, Failure):
            self._secret = None

    def _bind_answered(self, value: Any, now: float) -> None:
        if value is not CUT:
            self._bound = isinstance(value, int)

    def _graced(self, value: Any, now: float) -> None:
        if value is not CUT:
            self._secret = value if isinstance(value, str) else None

    # --- what callers ask for ---------------------------------------------------------------------------------------

    def acquire(self, claim: Claim, now: float) -> None:
        """Begins a claim. Claims of one name and owner share the hold."""
        hold = self.holds.setdefault((claim.name, claim.owner), Hold(claim.name, claim.owner))
        claim.hold = hold
        hold.waiting.append(claim)
        hold.lost, hold.lost_token = [], None
        if hold.users:
            self._give(hold)
        elif hold.token is None and not hold.asked and not hold.lined:
            hold.turn, hold.place = next(self._turns), (claim.name, _option(claim.words, "LIMIT") or "")
            queue = self._queues.setdefault(hold.place, Queue())
            if queue.fronts and claim.wait != 0 and not claim.shares:
                hold.behind = True
                queue.behind[hold] = None
            else:
                self._step_out(hold, now)
        self._rouse(now + (LOOK if claim.alive or not self.answered else SILENCE))
        if claim.until is not None:
            self._rouse(claim.until)
        if claim.lasts is not None:
            self._rouse(claim.notice)

    def _step_out(self, hold: Hold, now: float) -> None:
        """From the queue, to the daemon."""
        queue = self._queues[hold.place]
        queue.behind.pop(hold, None)
        queue.fronts += 1
        hold.front, hold.behind, hold.refused = True, False, False
        if self._line and hold.waiting[0].wait != 0:
            self._line_up(hold)
        else:
            self._ask(hold, now)

    def _step_aside(self, hold: Hold, now: float) -> None:
        """The hold has the lock, or waits no more: the next one is sent."""
        queue = self._queues.get(hold.place)
        if queue is None or not (hold.front or hold.behind):
            return
        queue.fronts -= hold.front
        queue.behind.pop(hold, None)
        hold.front = hold.behind = False
        while queue.behind and (hold.refused or not queue.fronts):
            self._step_out(next(iter(queue.behind)), now)
        if not queue.fronts:
            del self._queues[hold.place]

    def release(self, claim: Claim, now: float, freed: Optional[Callable[[], None]] = None) -> None:
        """Ends a claim, whatever its state is. `freed` is called when the daemon has answered, or cannot."""
        claim.freed = freed
        hold, was = claim.hold, claim.state
        claim.state = "over"
        if hold is None or was == "over":
            if hold is not None and claim in hold.lost:
                hold.lost.remove(claim)
                self._settle(hold, now)
            self._freed(claim)
            return
        if was == "held":
            hold.users.remove(claim)
        else:
            first = hold.waiting[0] is claim
            hold.waiting.remove(claim)
            if first and hold.asked:
                self._send(now, ["CANCEL", hold.asked], _ignore)
                hold.cancelled.append(hold.asked)
                hold.asked = ""
                if hold.waiting:
                    self._ask(hold, now)
                else:
                    self._advance(now)
        if hold.users or hold.waiting:
            self._freed(claim)
        else:
            hold.freed.append(claim)
            self._settle(hold, now)
        if self._line and not self._under_way():
            self._advance(now)

    def command(self, claim: Claim, words: Sequence[str], now: float, answered: Callable[[Any], None]) -> None:
        """Sends EXTEND or DOWNGRADE for a held claim. `answered` gets the number, or the error to raise."""
        hold = claim.hold
        token = claim.token

        def handler(value: Any, then: float) -> None:
            if value is CUT:
                value = DaemonUnreachable("the connection was lost before the answer")
            elif isinstance(value, Failure):
                lost = value[0] in ("LOST", "NOTHELD")
                value = self._loss(claim, value) if lost else LockRefused(*value)
                if lost and hold is not None and hold.token == token:
                    self._lose(hold, value, then)
            elif hold is not None and hold.token == token and words[0] == "EXTEND":
                self._told(hold, now, value, then)
            self.calls.append(lambda: answered(value))

        if claim.state != "held":
            self.calls.append(lambda: answered(claim.error or RuntimeError("the lock is not held")))
            return
        self._send(now, [words[0], claim.name, *words[1:], "OWNER", claim.owner, "TOKEN", str(token)], handler)

    def tick(self, now: float) -> None:
        """Does what is due. `wake` says when it has to be called again."""
        self.wake = math.inf
        for hold in list(self.holds.values()):
            for claim in hold.users + hold.waiting:
                if claim.alive is not None and not claim.alive():
                    self.release(claim, now)
                elif claim.alive is not None:
                    self._rouse(now + LOOK)
            for claim in list(hold.waiting):
                self._tick_waiting(hold, claim, now)
            if hold.users:
                self._tick_held(hold, now)
            elif hold.lost:
                hold.lost = hold.lost if now < hold.lost_until else []
                self._settle(hold, now)
        waits = any(hold.waiting for hold in self.holds.values())
        if self.online and (waits or (self.tcp and (self.holds or self._handlers))):
            self._tick_silence(now)
        self._rouse(self._looks.tick(now))

    def _tick_waiting(self, hold: Hold, claim: Claim, now: float) -> None:
        end = math.inf if claim.until is None else claim.until + SLACK
        why: HoldfastError = DaemonUnreachable("the daemon does not answer") if self.online else self.cut_why
        if not self.answered:
            end = min(end, max(self.cut_since, claim.since) + claim.patience)
        elif hold.trouble is not None:
            why = hold.trouble[1]
            end = min(end, hold.trouble[0] + claim.patience)
            if now < end and not hold.asked:
                self._ask(hold, now)
            self._rouse(now + RETRY)
        elif hold.lined and claim.until is not None:
            why, end = self._timeout(claim), claim.until
        elif hold.behind and claim.until is not None and now >= claim.until:
            self._step_out(hold, now)  # it tries once: the daemon knows why it was not its turn
        elif hold.behind and claim.until is not None:
            end = claim.until
        if now >= end:
            self._fail(claim, why, now)
            return
        self._rouse(end)
        if claim.lasts is not None:
            self._tick_notice(claim, now)

    def _tick_notice(self, claim: Claim, now: float) -> None:
        """Tells who waits that the wait lasts, and for whom."""
        if now >= claim.notice:
            claim.notice = now + NOTICES
            self._look(claim.name, now, lambda seen: self._notice(claim, seen, now))
        self._rouse(claim.notice)

    def _notice(self, claim: Claim, seen: Seen, now: float) -> None:
        if claim.state == "waiting" and claim.lasts is not None:
            info, lasts = Waiting(claim.name, seen.holder, self._position(claim, seen), now - claim.since), claim.lasts
            self.calls.append(lambda: lasts(info))

    def _position(self, claim: Claim, seen: Seen) -> Optional[int]:
        """In the queue of the daemon, with those that stand before it in the queue here."""
        hold = claim.hold
        if hold is None or not hold.behind:
            return seen.places.get(claim.owner)
        before = [other for other in self.holds.values() if other.front and other.place == hold.place]
        first = max((seen.places.get(other.owner, 0) for other in before), default=0)
        return first + 1 + list(self._queues[hold.place].behind).index(hold) if first else None

    def _look(self, name: str, now: float, told: Callable[[Seen], None]) -> None:
        self._looks.begin(name, now, told)
        self._rouse(self._looks.tick(now))

    def _tick_held(self, hold: Hold, now: float) -> None:
        if now >= hold.deadline:
            self._tick_overdue(hold, now)
            return
        if self.online and not hold.checking and now >= hold.check_at:
            self._check(hold, now)
        self._rouse(hold.deadline if hold.checking or not self.online else min(hold.check_at, hold.deadline))

    def _tick_overdue(self, hold: Hold, now: float) -> None:
        """The announced deadline has passed. That is a loss if the daemon was asked for a later one, or could not be, all the time. A
        process that stood still has not asked, and the daemon may have renewed the lock: it is asked now."""
        asks = self.online and not hold.checking
        renewed = _option(hold.users[0].words, "LEASE") is None  # by the daemon, which may know a later deadline
        if not hold.late and (asks and renewed or now >= hold.deadline + STOOD):
            hold.late = now + LATE
        if now >= hold.late:
            self._lose(hold, LockLost(hold.name, hold.token, *self._overdue(hold, now)), now)
            return
        if asks and now >= hold.check_at:
            self._check(hold, now)
            asks = False
        self._rouse(min(hold.late, hold.check_at) if asks else hold.late)

    def _overdue(self, hold: Hold, now: float) -> Tuple[str, str]:
        """Why the announced deadline has passed, as far as it is known here: it is a little earlier than the daemon's own."""
        words = hold.users[0].words
        if _option(words, "LEASE"):
            return "lease", "its lease is over"
        longest = _option(words, "MAXHOLD")
        if longest and now - hold.granted_at > 0.9 * int(longest) / 1000:
            return "maxhold", "its max_hold is over"
        if not self.answered:
            return "unreachable", "the daemon was away until the announced deadline (%s)" % self.cut_why
        if hold.checking:
            return "unreachable", "the daemon did not answer until the announced deadline"
        return "expired", "the daemon could not renew it in time"

    def _tick_silence(self, now: float) -> None:
        """Notices a daemon that does not answer, which who waits would not. Over a Unix socket a holder need not: what it was told runs
        out."""
        due = max(self._handlers[0][1], self._heard) + SILENCE if self._handlers else self._heard + SILENCE
        if now < due:
            self._mute = 0.0
        elif not self._handlers:
            self._send(now, ["PING"], _ignore)
            due = now + SILENCE
        elif not self._mute:
            self._mute = due = now + STOOD  # if this process stood still, the answer is there, and is read before
        elif now >= self._mute:
            self.stalled = True
            self.cut_why = DaemonUnreachable("no answer for %g s" % SILENCE)
        else:
            due = self._mute
        self._rouse(due)

    # --- a hold -----------------------------------------------------------------------------------------------------

    def _ask(self, hold: Hold, now: float) -> None:
        hold.asked = "%s-%d" % (self._prefix, next(self._ids))
        hold.past, hold.asked_at = self._past, now
        self._lock(hold, now)

    def _lock(self, hold: Hold, now: float) -> None:
        """Sends LOCK for the first claim that waits; after a cut again with the same id, which keeps its place."""
        claim, asked = hold.waiting[0], hold.asked
        words = ["LOCK", hold.name, *claim.words, "OWNER", hold.owner, "ASYNC", asked]
        if self._tells:
            words.append("VALIDITY")
        if claim.until is not None:
            words += ["WAIT", _ms(max(0.0, claim.until - now))]
        hold.sent_at = now
        self._send(now, words, lambda value, then: self._locked(hold, asked, value, then))

    def _locked(self, hold: Hold, asked: str, value: Any, now: float) -> None:
        if value is CUT or value == "QUEUED" or hold.asked != asked:
            return
        if isinstance(value, int):
            self._granted(hold, value, None, now)
            return
        if isinstance(value, list):
            self._granted(hold, value[0], value[1], now)
            return
        if isinstance(value, Failure) and value[1].startswith(UNTOLD):
            self._tells = False
            self._lock(hold, now)
            return
        hold.asked = ""
        claim = hold.waiting[0]
        if value is None:
            if claim.until is None:
                self._rule(hold, now - hold.asked_at, now)
            self._fail(claim, self._timeout(claim), now)
            self._advance(now)
        elif _crowded(value) and claim.wait != 0 and self._under_way():
            self._line_up(hold)
        elif _crowded(value) and claim.wait != 0 and hold.past != self._past:
            self._ask(hold, now)  # a wait has ended while the refusal was under way
        elif value[0] == "LOST":
            self._ask(hold, now)  # an earlier loss, which the session had not been told
        elif value[0] == "DRAINING" or (value[0] == "ERR" and hold.trouble is None and claim.since < self.cut_since):
            # The daemon ends, and another begins; or it has not noticed yet that the old connection is gone, whose
            # LOCK has this id.
            hold.trouble = hold.trouble or (now, LockRefused(*value))
            self._rouse(now + RETRY)
        else:
            self._fail(claim, LockRefused(*value), now)
            self._advance(now)

    def _rule(self, hold: Hold, wait: float, now: float) -> None:
        """The daemon's rule for the name bounds a wait without a bound of its own: that is so for all of the queue."""
        for other in self._queues[hold.place].behind:
            claim = other.waiting[0]
            if claim.until is None:
                claim.until = claim.since + wait
                self._rouse(max(claim.until, now))

    def _timeout(self, claim: Claim) -> HoldfastError:
        if claim.wait:
            return LockTimeout(claim.name, "%r is held by another locker, also after %g s" % (claim.name, claim.wait))
        return LockBusy(claim.name, "%r is held by another locker" % claim.name)

    def _under_way(self) -> bool:
        """Whether a LOCK is at the daemon, whose end lets the line advance, or will be sent again."""
        return any(hold.asked or hold.trouble for hold in self.holds.values() if hold.token is None and hold.waiting)

    def _line_up(self, hold: Hold) -> None:
        hold.lined, hold.trouble = True, None
        bisect.insort(self._line, (hold.turn, hold))
        if hold.waiting[0].until is not None:
            self._rouse(hold.waiting[0].until)

    def _advance(self, now: float) -> None:
        """A wait of the session has ended: sends the first in the line."""
        self._past += 1
        if self._line:
            _, hold = self._line.pop(0)
            hold.lined = False
            self._ask(hold, now)

    def _granted(self, hold: Hold, token: int, ms: Optional[int], now: float) -> None:
        """ms: for which it is good from the sending of LOCK on. After a wait that took too much of them, the daemon is asked."""
        hold.asked, hold.token, hold.trouble, hold.granted_at, hold.late = "", token, None, now, 0.0
        if ms is not None and now < hold.sent_at + ms / 3000:
            self._told(hold, hold.sent_at, ms, now)
            self._give(hold)
        else:
            self._check(hold, now)
        self._advance(now)
        self._step_aside(hold, now)

    def _check(self, hold: Hold, now: float) -> None:
        token = hold.token
        hold.checking = True
        self._send(now, ["CHECK", hold.name, "OWNER", hold.owner, "TOKEN", str(token)],
                   lambda value, _then: self._checked(hold, token, now, value, _then))

    def _checked(self, hold: Hold, token: Optional[int], sent: float, value: Any, now: float) -> None:
        if hold.token != token or value is CUT:
            return
        hold.checking = False
        if isinstance(value, int):
            self._told(hold, sent, value, now)
            if hold.waiting and now >= hold.deadline:
                self._check(hold, now)  # this process stood still until the deadline that it was told
            else:
                self._give(hold)
        elif hold.users or hold.waiting:
            self._lose(hold, self._loss((hold.users or hold.waiting)[0], value), now)

    def _told(self, hold: Hold, sent: float, ms: int, now: float) -> None:
        hold.deadline = sent + ms / 1000
        hold.check_at = sent + max(0.02, ms / 3000)
        if hold.deadline > now:
            hold.late = 0.0
        self._rouse(hold.check_at)

    def _give(self, hold: Hold) -> None:
        for claim in hold.waiting:
            claim.state, claim.token = "held", hold.token
            self.calls.append(claim.settled)
        hold.users += hold.waiting
        hold.waiting = []

    def _fail(self, claim: Claim, error: HoldfastError, now: float) -> None:
        claim.error = error
        if claim.hold is not None:
            claim.hold.refused = isinstance(error, LockRefused)
        if isinstance(error, LockBusy) and claim.wait != 0:
            busy = error
            ours = self._ours(claim, now)
            self._look(claim.name, now, lambda seen: self._busy(claim, busy, seen, ours))
        else:
            if isinstance(error, LockBusy):
                error.found(None, self._ours(claim, now))
            self.calls.append(claim.settled)
        self.release(claim, now)

    def _busy(self, claim: Claim, error: LockBusy, seen: Seen, ours: Optional[float]) -> None:
        error.found(seen.holder, ours)
        self.calls.append(claim.settled)

    def _ours(self, claim: Claim, now: float) -> Optional[float]:
        """For how long this process itself has the name, so that the program may wait for itself; None: it has not."""
        return next((now - hold.granted_at for hold in self.holds.values() if hold.users and hold.name == claim.name), None)

    def _loss(self, claim: Claim, value: Any) -> LockLost:
        hold = claim.hold
        token = hold.token if hold else None
        if isinstance(value, Failure) and value[0] == "LOST":
            reason, _, text = value[1].partition(" ")
            return LockLost(claim.name, token, reason, text or reason)
        return LockLost(claim.name, token, "session", "the daemon does not know this hold any more")

    def _lose(self, hold: Hold, error: LockLost, now: float) -> None:
        claims = hold.users + hold.waiting
        if now < hold.deadline:
            hold.lost, hold.lost_token, hold.lost_until = hold.users, hold.token, hold.deadline
        for claim in claims:
            self.calls.append(claim.lost if claim.state == "held" else claim.settled)
            claim.state, claim.error = "over", error
        hold.users, hold.waiting = [], []
        self._settle(hold, now)

    def _settle(self, hold: Hold, now: float) -> None:
        if not hold.users and not hold.waiting:
            hold.token, hold.asked, hold.trouble = None, "", None
            if hold.lined:
                hold.lined = False
                self._line.remove((hold.turn, hold))
            if hold.lost:
                self._rouse(hold.lost_until)
            else:
                self._end(hold, now)
            self._step_aside(hold, now)

    def _end(self, hold: Hold, now: float) -> None:
        """Makes the daemon forget the hold. It may have counted a LOCK twice whose answer was cut off: so this is repeated
        until none is left. What was lost is given up with its token: then another locker may have a broken lock at once."""
        hold.ending += 1
        which = [] if hold.lost_token is None else ["TOKEN", str(hold.lost_token)]
        self._send(now, ["UNLOCK", hold.name, "OWNER", hold.owner, *which], lambda value, then: self._ended(hold, value, then))

    def _ended(self, hold: Hold, value: Any, now: float) -> None:
        for claim in hold.freed:
            if isinstance(value, Failure) and value[0] == "LOST" and claim.error is None and claim.token is not None:
                claim.error = self._loss(claim, value)
            self._freed(claim)
        hold.freed = []
        hold.ending -= 1
        if value is CUT or hold.users or hold.waiting or hold.lost or hold.ending:
            return  # after a cut it is sent again over the next connection
        if isinstance(value, int) and value > 0:
            self._end(hold, now)
        else:
            self.holds.pop((hold.name, hold.owner), None)

    def _freed(self, claim: Claim) -> None:
        if claim.freed is not None:
            self.calls.append(claim.freed)
            claim.freed = None

    def _pushed(self, push: Push, now: float) -> None:
        if push[0] == "lost":
            hold = self.holds.get((push[1], push[2]))
            if hold is not None and hold.token == push[3]:
                self._lose(hold, self._loss(hold.users[0] if hold.users else hold.waiting[0],
                                            Failure(("LOST", push[4]))), now)
            return
        for hold in [hold for hold in self.holds.values() if hold.asked == push[1]]:
            if push[0] == "grant":
                self._granted(hold, push[2], push[3] if len(push) > 3 else None, now)
            elif push[0] == "failed":
                self._locked(hold, push[1], Failure((push[2], push[3])) if push[2] else None, now)

    def _rouse(self, at: Optional[float]) -> None:
        if at is not None:
            self.wake = min(self.wake, at)


def _ignore(_value: Any, _now: float) -> None:
    return None


def _option(words: Sequence[str], option: str) -> Optional[str]:
    """The value of an option of LOCK; None: it is not there. A value may read as an option does."""
    pairs = iter(words[1:] if words[:1] == ["SHARED"] else words)
    return next((value for word, value in zip(pairs, pairs) if word == option), None)


def _crowded(refusal: Any) -> bool:
    """Whether the session waits as often as it may."""
    return bool(refusal[0] == "LIMIT" and refusal[1].startswith("waiters-per-session"))


def _ms(seconds: float) -> str:
    return str(math.ceil(seconds * 1000))
