"""What clients did and were told, written down as it happens, and its judge.

Each client appends to a file of its own, one line an event: the CLOCK_BOOTTIME in ns, a word, its arguments. A
question is written before it is sent and an answer after it was read, each with one write(2), so that a client
that is killed leaves all it knew. The judge reads nothing else. It knows nothing of the daemon: it compares the
intervals in which holders were surely entitled, [grant read, min(UNLOCK sent, told deadline, loss told)), what these
hold, tokens, and what was told. Latches are judged in history_latch.py.

FORM is what a hold is of its name: `x` exclusive, `s` shared, `p2/5` two of five permits. 0 ms: not given.

  open unix|tcp        a connection is there
  ask NAME WAIT_MS [FORM [LEASE_MS [MAXHOLD_MS]]]     LOCK ... VALIDITY is sent
  again NAME WAIT_MS FORM                             the same as before the connection was cut, after RESUME
  enter NAME           the same of a name that its tag holds
  grant NAME TOKEN MS  its answer                     null NAME            its answer
  queue ID NAME WAIT_MS FORM                          LOCK ... ASYNC is sent
  queued ID            its answer                     cancel ID            CANCEL is sent
  pushed ID TOKEN      the push: granted              cancelled ID 0|1     its answer
  failed ID CODE       the push: not granted; CODE is null or an error's
  mlock WAIT_MS FORM NAME...   MLOCK is sent          tokens TOKEN...      its answer
  mnull                its answer
  check NAME           CHECK is sent                  valid NAME MS        its answer
  extend NAME MS       EXTEND is sent                 extended NAME MS     its answer
  downgrade NAME       DOWNGRADE is sent              shared NAME TOKEN    its answer
  unlock NAME          UNLOCK is sent                 unlocked NAME LEFT   its answer
  munlock NAME...      MUNLOCK is sent                munlocked COUNT      its answer
  grace MS             SESSION GRACE is sent          graced               its answer
  resume               SESSION RESUME is sent         resumed HOLDS        its answer
  bind                 SESSION BIND is sent, of a process that ends with the client
  bound HOLDS          its answer                     none NAME            an answer: the session holds no such name
  gone                 the session was not to be resumed, or nobody tries any more
  quit                 QUIT is sent
  lost NAME REASON     the hold is lost: told by an answer or by the end of the connection
  told NAME TOKEN REASON                              the same, told by a push
  error VERB CODE ...  an answer with an error        odd VERB ...         an answer that no document knows
  end WHO              the connection ended: by `peer`, or by `self`
  killed               the client was killed, at this time or later
  harm, heal           of who makes the faults: from here to there a master may have lost its memory
"""

import collections
import math
import os
import re
import time

import history_latch
from scene import documented

MS = 1000000
AWAY = {"NOMASTER", "NOQUORUM", "GUARD", "MASTERERR", "DRAINING"}
# Errors that these questions can have. WRONGKIND where somebody wrote to the keys, or wants another kind; LIMIT where
# another LIMIT is asked for; LOST where the session lost the name while it was cut off, and has not been told.
EXPECTED = {"LOCK": AWAY | {"WRONGKIND", "LIMIT", "LOST"}, "MLOCK": AWAY | {"WRONGKIND", "LOST"}, "ASYNC": {"DRAINING", "LOST"},
            "UNLOCK": {"LOST"}, "SESSION": {"DRAINING"}, "RESUME": {"DRAINING", "ERR"},
            "LATCH": AWAY | {"LOST", "ERR"}}
# And where it is sent again after RESUME: the answer before was lost on its way.
EXPECTED_AGAIN = {"AGAIN": {"HELD"}, "UNLOCK": {"NOTHELD"}}
LOCKS = ("LOCK", "AGAIN", "ENTER")
# What an answer may be late beyond what was asked for. A daemon may be stopped for two leases meanwhile, and restart.
STUCK_NS = 15 * 1000 * MS
EXCLUSIVE, SHARED, PERMITS = "xsp"


def now_ns():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class Writer:
    def __init__(self, path):
        self.fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def __call__(self, word, *details, at=None):
        """Writes it down; the time it was, or shall have been."""
        at = at or now_ns()
        os.write(self.fd, (" ".join([str(at), word, *map(str, details)]) + "\n").encode())
        return at

    def close(self):
        os.close(self.fd)


def after_ms(at, ms):
    """Nothing ends 0 ms after something."""
    return at + int(ms) * MS if int(ms) > 0 else math.inf


class Hold:
    """One grant. end is None while it lasts."""

    def __init__(self, name, client, form, token, wanted, start):
        self.name = name
        self.client = client
        self.form = form
        self.kind = form[0]
        self.permits, self.limit = map(int, form[1:].split("/")) if self.kind == PERMITS else (0, 0)
        self.token = token
        self.wanted = wanted  # when LOCK was sent, for the first time
        self.start = start  # when the grant was read
        self.deadline = start  # told
        self.lease_end = math.inf  # its LEASE is over by then
        self.ceiling = math.inf  # and its MAXHOLD
        self.count = 1  # times entered
        self.shared_by = None  # the exclusive hold of which DOWNGRADE made it
        self.end = None
        self.why = ""

    def sure_end(self):
        """Up to here its holder may rely on it; at or before start: it never could."""
        return self.deadline if self.end is None else min(self.end, self.deadline)

    def goes_with(self, other):
        """Whether both may be held at once, if there are permits enough."""
        return self.kind == other.kind != EXCLUSIVE and self.limit == other.limit

    def share(self, at):
        """It is a shared one from now on; the hold that it is then."""
        shared = Hold(self.name, self.client, SHARED, self.token, self.wanted, at)
        shared.deadline, shared.lease_end, shared.ceiling = self.deadline, self.lease_end, self.ceiling
        shared.count, shared.shared_by = self.count, self
        self.end, self.why = at, "downgrade"
        return shared

    def __repr__(self):
        return "%s %s of %s token %d wanted %d start %d deadline %d end %s (%s)" % (
            self.name, self.form, self.client, self.token, self.wanted, self.start, self.deadline, self.end, self.why)


# What the daemons are configured with: nobody can be told of more than lease_ms; max_hold_ms: by name.
Rules = collections.namedtuple("Rules", "lease_ms max_hold_ms")

# A question without an answer; of a LOCK also what for, and when it was wanted first; of an UNLOCK the holds left.
Question = collections.namedtuple("Question", "at verb wait_ms names form wanted lease_ms maxhold_ms left",
                                  defaults=((), EXCLUSIVE, 0, 0, 0, 0))


class Reader:
    """One client's file, read as far as it is written."""

    def __init__(self, path, rules):
        self.client = os.path.basename(path)
        self.rules = rules
        self.stream = open(path, encoding="utf-8", newline="\n")
        self.rest = ""
        self.held = {}  # by name
        self.pending = None
        self.queued = {}  # ASYNC questions, by their ids
        self.wanted = {}  # by name: when the LOCK was sent that may be sent again
        self.unix = True
        self.grace = False  # its session outlives its connections
        self.bound = False  # and ends with its process
        self.holds = []
        self.odd = []  # lines
        self.late = []  # lines
        self.told = []  # lines
        self.latch = history_latch.Asked()
        self.harms = []  # [from, to]
        self.counts = collections.Counter()

    def close(self):
        self.stream.close()

    def read(self):
        """Takes what is new."""
        data = self.rest + self.stream.read()
        lines = data.split("\n")
        self.rest = lines.pop()
        for line in lines:
            at, word, *details = line.split(" ")
            self.counts[word] += 1
            getattr(self, "on_" + word)(int(at), details, line)

    # --- questions and answers ----------------------------------------------------------------------------------

    def asked(self, at, verb, wait_ms=0, **details):
        self.pending = Question(at, verb, int(wait_ms), **details)

    def in_time(self, at, question, line):
        if at - question.at > question.wait_ms * MS + STUCK_NS:
            self.late.append("%s answered after %d ms: %s" % (question.verb, (at - question.at) // MS, line))

    def answered(self, at, line, *verbs):
        """Every answer comes here: exactly one for each question, and not for ever later. The question."""
        question, self.pending = self.pending, None
        if question is None or verbs and question.verb not in verbs:
            self.odd.append("an answer to no such request: " + line)
            return Question(at, "nothing", 0)
        self.in_time(at, question, line)
        return question

    def begin(self, question, name, token, at):
        hold = Hold(name, self.client, question.form, token, question.wanted or question.at, at)
        hold.lease_end = after_ms(at, question.lease_ms)
        hold.ceiling = min(after_ms(at, question.maxhold_ms), after_ms(at, self.rules.max_hold_ms.get(name, 0)))
        self.held[name] = hold
        self.holds.append(hold)
        return hold

    def tell(self, hold, asked, ms, line):
        """It may rely on it for so long from when it asked."""
        deadline = asked + ms * MS
        if deadline > min(hold.lease_end, hold.ceiling) or ms > self.rules.lease_ms:
            self.told.append(line)
        hold.deadline = max(hold.deadline, deadline)

    def finish(self, name, end, why):
        """The hold is over, as far as its client has to do with it."""
        hold = self.held.pop(name, None)
        if hold is not None:
            hold.end, hold.why = end, why

    def finish_all(self, end, why):
        for name in list(self.held):
            self.finish(name, end, why)

    # --- LOCK, MLOCK --------------------------------------------------------------------------------------------

    def on_ask(self, at, details, _line):
        name, wait_ms, form, lease_ms, maxhold_ms = details + [EXCLUSIVE, 0, 0][len(details) - 2:]
        self.wanted[name] = at
        self.asked(at, "LOCK", wait_ms, names=(name,), form=form, wanted=at, lease_ms=lease_ms, maxhold_ms=maxhold_ms)

    def on_again(self, at, details, _line):
        name, wait_ms, form = details
        self.asked(at, "AGAIN", wait_ms, names=(name,), form=form, wanted=self.wanted.get(name, at))

    def on_enter(self, at, details, _line):
        self.asked(at, "ENTER", names=details, wanted=at)

    def on_grant(self, at, details, line):
        name, token, ms = details[0], int(details[1]), int(details[2])
        question = self.answered(at, line, *LOCKS)
        hold = self.held.get(name)
        if hold is not None and hold.token != token and question.verb == "ENTER":
            self.finish(name, at, "lost, as LOCK says")
            hold = None
        if hold is None:
            hold = self.begin(question, name, token, at)
        elif hold.token == token:
            hold.count += 1
        else:
            self.odd.append("granted while held: " + line)
            return
        self.tell(hold, question.at, ms, line)

    def on_null(self, at, details, line):
        if self.answered(at, line, *LOCKS).verb == "ENTER":
            self.finish(details[0], at, "lost, as LOCK says")

    def on_mlock(self, at, details, _line):
        self.asked(at, "MLOCK", details[0], names=details[2:], form=details[1])

    def on_tokens(self, at, details, line):
        question = self.answered(at, line, "MLOCK")
        if len(details) != len(question.names) or any(name in self.held for name in question.names):
            self.odd.append(line)
            return
        for name, token in zip(question.names, details):
            self.begin(question, name, int(token), at)

    def on_mnull(self, at, _details, line):
        self.answered(at, line, "MLOCK")

    # --- ASYNC --------------------------------------------------------------------------------------------------

    def on_queue(self, at, details, _line):
        tag, name, wait_ms, form = details
        wanted = self.queued[tag].wanted if tag in self.queued else at
        self.asked(at, "ASYNC", names=(tag,))
        self.queued[tag] = Question(at, "ASYNC", int(wait_ms), (name,), form, wanted)

    def on_queued(self, at, _details, line):
        self.answered(at, line, "ASYNC")

    def outcome(self, at, details, line):
        """The push that each of these has once; the question."""
        question = self.queued.pop(details[0], None)
        if question is None:
            self.odd.append("a push for nothing: " + line)
            return None
        self.in_time(at, question, line)
        return question

    def on_pushed(self, at, details, line):
        question = self.outcome(at, details, line)
        if question is None:
            return
        if question.names[0] in self.held:
            self.odd.append("granted while held: " + line)
            return
        self.begin(question, question.names[0], int(details[1]), at)

    def on_failed(self, at, details, line):
        self.outcome(at, details, line)
        if details[1] != "null":
            self.counts["error " + details[1]] += 1
            if details[1] not in EXPECTED["LOCK"]:
                self.odd.append(line)

    def on_cancel(self, at, details, _line):
        self.asked(at, "CANCEL", names=(details[0],))

    def on_cancelled(self, at, details, line):
        self.answered(at, line, "CANCEL")
        waited = self.queued.pop(details[0], None) is not None
        if waited != (details[1] == "1"):
            self.odd.append(line)

    # --- while it holds -----------------------------------------------------------------------------------------

    def on_check(self, at, details, _line):
        self.asked(at, "CHECK", names=details)

    def on_valid(self, at, details, line):
        question = self.answered(at, line, "CHECK")
        if details[0] in self.held:
            self.tell(self.held[details[0]], question.at, int(details[1]), line)

    def on_extend(self, at, details, _line):
        self.asked(at, "EXTEND", names=(details[0],), lease_ms=int(details[1]))
        hold = self.held.get(details[0])
        if hold is not None:
            # It may end sooner than it was told, as its holder wants, and as clocks differ; and later, until the
            # answer says when.
            ms = int(details[1])
            hold.deadline = min(hold.deadline, at + max(0, ms - ms // 100 - 2) * MS)
            hold.lease_end = math.inf

    def on_extended(self, at, details, line):
        question = self.answered(at, line, "EXTEND")
        hold = self.held.get(details[0])
        if hold is not None:
            hold.lease_end = after_ms(at, question.lease_ms)
            self.tell(hold, question.at, int(details[1]), line)

    def on_downgrade(self, at, details, _line):
        self.asked(at, "DOWNGRADE", names=details)
        hold = self.held.get(details[0])
        if hold is not None:
            self.held[hold.name] = hold.share(at)
            self.holds.append(self.held[hold.name])

    def on_shared(self, at, details, line):
        self.answered(at, line, "DOWNGRADE")
        hold = self.held.get(details[0])
        if hold is not None and hold.token != int(details[1]):
            self.odd.append(line)

    def on_unlock(self, at, details, _line):
        hold = self.held.get(details[0])
        self.asked(at, "UNLOCK", names=details, left=hold.count - 1 if hold is not None else 0)
        if hold is not None and hold.count > 1:
            hold.count -= 1
        else:
            self.finish(details[0], at, "unlock")

    def on_unlocked(self, at, details, line):
        if int(details[1]) != self.answered(at, line, "UNLOCK").left:
            self.odd.append(line)

    def on_munlock(self, at, details, _line):
        self.asked(at, "MUNLOCK", names=details)
        for name in details:
            self.finish(name, at, "unlock")

    def on_munlocked(self, at, details, line):
        if int(details[0]) > len(self.answered(at, line, "MUNLOCK").names):
            self.odd.append(line)

    def on_lost(self, at, details, line):
        if self.pending is not None:
            self.answered(at, line)
        self.finish(details[0], at, "lost " + " ".join(details[1:]))

    def on_told(self, at, details, _line):
        hold = self.held.get(details[0])
        if hold is not None and hold.token == int(details[1]):
            self.finish(details[0], at, "told " + " ".join(details[2:]))

    # --- sessions and connections -------------------------------------------------------------------------------

    def on_open(self, _at, details, _line):
        self.unix = details[0] == "unix"
        self.pending = None

    def on_grace(self, at, _details, _line):
        self.asked(at, "SESSION")

    def on_graced(self, at, _details, line):
        self.answered(at, line, "SESSION")
        self.grace = True

    def on_resume(self, at, _details, _line):
        self.asked(at, "RESUME")

    def on_resumed(self, at, _details, line):
        self.answered(at, line, "RESUME")

    def on_none(self, at, _details, line):
        self.answered(at, line)

    def on_bind(self, at, _details, _line):
        self.asked(at, "SESSION")

    def on_bound(self, at, _details, line):
        self.answered(at, line, "SESSION")
        self.grace = self.bound = True

    def on_gone(self, _at, _details, _line):
        # Its client may have gone on working meanwhile: what it was told stands.
        self.grace = self.bound = False
        self.queued.clear()
        self.finish_all(None, "gone")

    def on_quit(self, at, _details, _line):
        self.grace = self.bound = False
        self.finish_all(at, "quit")

    def on_error(self, at, details, line):
        question = self.answered(at, line)
        expected = EXPECTED[details[0]] | (EXPECTED_AGAIN.get(question.verb, set()) if self.grace else set())
        self.counts["error " + details[1]] += 1
        if details[1] not in expected:
            self.odd.append(line)
        if question.verb in ("ENTER", "UNLOCK"):
            self.finish(question.names[0], at, "lost, as %s says" % details[0])
        elif question.verb == "ASYNC":
            self.queued.pop(question.names[0], None)

    def on_odd(self, _at, _details, line):
        self.pending = None
        self.odd.append(line)

    def on_end(self, at, details, _line):
        self.pending = None
        if self.grace:
            return
        self.queued.clear()
        # A peer that closes says by it that holds are lost. Of our own ends, that of a Unix socket ends the hold
        # at once; a TCP client may still be working, and so its told deadline stands.
        if details[0] == "peer" or self.unix:
            self.finish_all(at, "end " + details[0])
        else:
            self.finish_all(None, "gone")

    def on_killed(self, at, _details, line):
        if self.bound:
            self.on_quit(at, (), line)
        elif self.grace:
            self.on_gone(at, (), line)
        else:
            self.on_end(at, ["self"], line)

    def on_harm(self, at, _details, _line):
        self.harms.append([at, math.inf])

    def on_heal(self, at, _details, _line):
        self.harms[-1][1] = at

    # --- LATCH --------------------------------------------------------------------------------------------------

    def on_latch(self, at, details, _line):
        self.asked(at, "LATCH", details[2] if details[1] == "await" else 0)
        self.latch.ask(at, self.client, details)

    def on_left(self, at, details, line):
        self.answered(at, line, "LATCH")
        self.latch.answer(at, details[0])


def overlaps(holds):
    """Pairs that were surely entitled at the same time, and must not: of the permits that are too many, the last."""
    found, standing = [], {}
    for hold in sorted(holds, key=lambda one: one.start):
        if hold.sure_end() <= hold.start:
            continue
        beside = [one for one in standing.get(hold.name, ()) if one.sure_end() > hold.start]
        against = [(one, hold) for one in beside if not one.goes_with(hold)]
        if not against and hold.permits + sum(one.permits for one in beside) > hold.limit:
            against = [(beside[-1], hold)]
        found += against
        standing[hold.name] = beside + [hold]
    return found


# The tokens of these are in the order of the grants. Readers of one time are in none, nor are permits.
ORDERED = ((EXCLUSIVE + SHARED + PERMITS, EXCLUSIVE), (EXCLUSIVE, SHARED + PERMITS), (SHARED, PERMITS))


def inversions(holds):
    """
    Pairs whose tokens do not grow: used twice; smaller although asked for after the other was granted; or smaller
    although surely held after the other.
    """
    found = []
    names = collections.defaultdict(list)
    for hold in holds:
        if hold.shared_by is None:
            names[hold.name].append(hold)
    for ours in names.values():
        found += repeated(ours)
        sure = [hold for hold in ours if hold.sure_end() > hold.start]
        for early, late in ORDERED:
            found += disorder(ours, early, late, lambda hold: hold.start, lambda hold: hold.wanted)
            found += disorder(sure, early, late, last_sure_end, lambda hold: hold.start)
    return found


def last_sure_end(hold):
    return hold.sure_end()


def repeated(holds):
    found, seen = [], {}
    for hold in holds:
        if hold.token in seen:
            found.append((seen[hold.token], hold))
        seen[hold.token] = hold
    return found


def disorder(holds, early, late, since, until):
    """Pairs (a, b) of these kinds with since(a) <= until(b) and without a.token < b.token; for each b the worst a."""
    found, highest = [], None
    before = collections.deque(sorted((hold for hold in holds if hold.kind in early), key=since))
    for hold in sorted((hold for hold in holds if hold.kind in late), key=until):
        while before and since(before[0]) <= until(hold):
            one = before.popleft()
            if highest is None or one.token > highest.token:
                highest = one
        if highest is not None and highest is not hold and highest.token >= hold.token:
            found.append((highest, hold))
    return found


class Verdict:
    """What is wrong; empty: nothing."""

    PAIRS = {"overlaps": "overlap", "inversions": "token inversion"}
    LINES = {"told": "told too much", "latches": "latch", "odd": "odd", "late": "late", "codes": "undocumented code"}

    def __init__(self, **found):
        self.found = found  # by the words above

    def counts(self):
        """How many of each there are, if any."""
        return {word: len(ones) for word, ones in self.found.items() if ones}

    def lines(self):
        for word, what in self.PAIRS.items():
            for before, after in self.found[word]:
                yield "%s:\n    %r\n    %r" % (what, before, after)
        for word, what in self.LINES.items():
            for one in self.found[word]:
                yield "%s: %s" % (what, one)


class History:
    """The files of all clients in a folder. rules: what can be told at most."""

    def __init__(self, folder, rules=Rules(math.inf, {})):
        self.folder = folder
        self.rules = rules
        self.readers = {}
        self.read_at = 0  # what was written down by then is known

    def close(self):
        for reader in self.readers.values():
            reader.close()

    def read(self):
        self.read_at = now_ns()
        for name in sorted(os.listdir(self.folder)):
            if name not in self.readers:
                self.readers[name] = Reader(os.path.join(self.folder, name), self.rules)
            self.readers[name].read()

    def holds(self, since=0):
        """All that were granted since then."""
        return [hold for reader in self.readers.values() for hold in newest(reader.holds, since)]

    def counts(self):
        return sum((reader.counts for reader in self.readers.values()), collections.Counter())

    def lines(self, what):
        return [line for reader in self.readers.values() for line in getattr(reader, what)]

    def judge(self, since=0):
        """Of the holds granted since then. A hold that has not ended is taken as good to its told deadline."""
        # What a running client did after the last reading can only end its hold sooner: judge up to what is closed.
        holds = [hold for hold in self.holds(since) if hold.why]
        codes = {word.split()[1] for word in self.counts() if re.match("error ", word)}
        asked = [one for reader in self.readers.values() for one in reader.latch.all]
        return Verdict(overlaps=overlaps(holds), inversions=inversions(holds), told=self.lines("told"),
                       latches=list(history_latch.judge(asked, self.lines("harms"), since, self.read_at)),
                       odd=self.lines("odd"), late=self.lines("late"), codes=sorted(codes - documented()))


def newest(holds, since):
    """The end of a list that is in the order of the grants."""
    at = len(holds)
    while at > 0 and holds[at - 1].start >= since:
        at -= 1
    return holds[at:]


def first_grants(holds, names, daemons, since):
    """ns from since to the first grant after it of each name, and of any of them by each daemon; None: there is none."""
    first = dict.fromkeys([*names, *daemons])
    for hold in holds:
        if hold.name in names and hold.start >= since:
            for what in (hold.name, hold.client.split(".")[2]):
                if first[what] is None or hold.start - since < first[what]:
                    first[what] = hold.start - since
    return first
