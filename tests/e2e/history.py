"""What clients did and were told, written down as it happens, and its judge.

Each client appends to a file of its own, one line an event: the CLOCK_BOOTTIME in ns, a word, its arguments. A
question is written before it is sent and an answer after it was read, each with one write(2), so that a client
that is killed leaves all it knew. The judge reads nothing else. It knows nothing of the daemon: it compares the
intervals in which holders were surely entitled, [grant read, min(UNLOCK sent, told deadline, loss told)), and tokens.

  open unix|tcp        a connection is there         ask NAME WAIT_MS     LOCK ... VALIDITY is sent
  grant NAME TOKEN MS  its answer                    null NAME            its answer
  check NAME           CHECK is sent                 valid NAME MS        its answer
  unlock NAME          UNLOCK is sent                unlocked NAME LEFT   its answer
  lost NAME REASON     the hold is lost: told by an answer or by the end of the connection
  error VERB CODE ...  an answer with an error       odd VERB ...         an answer that no document knows
  end WHO              the connection ended: by `peer`, or by `self`
  killed               the client was killed, at this time or later
"""

import collections
import os
import time

from scene import documented

MS = 1000000
# Errors that these questions can have; WRONGKIND where somebody wrote to the keys.
EXPECTED = {"LOCK": {"NOMASTER", "NOQUORUM", "GUARD", "MASTERERR", "DRAINING", "WRONGKIND"},
            "UNLOCK": {"LOST"}}
# What an answer may be late beyond what was asked for. A daemon may be stopped for two leases meanwhile, and restart.
STUCK_NS = 15 * 1000 * MS


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


class Hold:
    """One grant. end is None while it lasts."""

    __slots__ = ("name", "client", "token", "asked", "start", "deadline", "end", "why")

    def __init__(self, name, client, token, asked, start, deadline, end=None, why=""):
        self.name = name
        self.client = client
        self.token = token
        self.asked = asked  # when LOCK was sent
        self.start = start  # when the grant was read
        self.deadline = deadline  # told
        self.end = end
        self.why = why

    def sure_end(self):
        """Up to here its holder may rely on it; at or before start: it never could."""
        return self.deadline if self.end is None else min(self.end, self.deadline)

    def __repr__(self):
        return "%s of %s token %d asked %d start %d deadline %d end %s (%s)" % (
            self.name, self.client, self.token, self.asked, self.start, self.deadline, self.end, self.why)


class Reader:
    """One client's file, read as far as it is written."""

    def __init__(self, path):
        self.client = os.path.basename(path)
        self.stream = open(path, encoding="utf-8", newline="\n")
        self.rest = ""
        self.hold = None
        self.last = None  # the last hold that ended
        self.pending = None  # (ns, verb, wait in ms) of the question without an answer
        self.unix = True
        self.holds = []
        self.odd = []  # lines
        self.late = []  # lines
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

    def answered(self, at, line):
        """Every answer comes here: exactly one for each question, and not for ever later."""
        if self.pending is None:
            self.odd.append("an answer to no request: " + line)
            return
        asked, verb, wait_ms = self.pending
        self.pending = None
        if at - asked > wait_ms * MS + STUCK_NS:
            self.late.append("%s answered after %d ms: %s" % (verb, (at - asked) // MS, line))

    def asked(self, at, verb, wait_ms=0):
        self.pending = (at, verb, wait_ms)

    def finish(self, end, why):
        """The hold is over, as far as its client has to do with it."""
        if self.hold is not None:
            self.hold.end, self.hold.why = end, why
            self.last, self.hold = self.hold, None

    def on_open(self, _at, details, _line):
        self.unix = details[0] == "unix"
        self.pending = None

    def on_ask(self, at, details, _line):
        self.asked(at, "LOCK", int(details[1]))

    def on_grant(self, at, details, line):
        asked = self.pending[0] if self.pending else at
        self.answered(at, line)
        if self.hold is not None:
            self.odd.append("granted while held: " + line)
        self.hold = Hold(details[0], self.client, int(details[1]), asked, at, asked + int(details[2]) * MS)
        self.holds.append(self.hold)

    def on_null(self, at, _details, line):
        self.answered(at, line)

    def on_check(self, at, _details, _line):
        self.asked(at, "CHECK")

    def on_valid(self, at, details, line):
        asked = self.pending[0] if self.pending else at
        self.answered(at, line)
        if self.hold is not None:
            self.hold.deadline = max(self.hold.deadline, asked + int(details[1]) * MS)

    def on_unlock(self, at, _details, _line):
        self.asked(at, "UNLOCK")
        self.finish(at, "unlock")

    def on_unlocked(self, at, details, line):
        self.answered(at, line)
        if details[1] != "0":
            self.odd.append(line)

    def on_lost(self, at, details, line):
        if self.pending is not None:
            self.answered(at, line)
        self.finish(at, "lost " + " ".join(details[1:]))

    def on_error(self, at, details, line):
        self.answered(at, line)
        self.counts["error " + details[1]] += 1
        if details[1] not in EXPECTED[details[0]]:
            self.odd.append(line)

    def on_odd(self, at, _details, line):
        self.pending = None
        self.odd.append(line)

    def on_end(self, at, details, _line):
        self.pending = None
        # A peer that closes says by it that holds are lost. Of our own ends, that of a Unix socket ends the hold
        # at once; a TCP client may still be working, and so its told deadline stands.
        if details[0] == "peer" or self.unix:
            self.finish(at, "end " + details[0])
        else:
            self.finish(None, "gone")

    def on_killed(self, at, _details, line):
        self.on_end(at, ["self"], line)


def overlaps(holds):
    """Pairs that were surely entitled at the same time."""
    found, latest = [], {}
    for hold in sorted(holds, key=lambda one: one.start):
        if hold.sure_end() <= hold.start:
            continue
        before = latest.get(hold.name)
        if before is not None and hold.start < before.sure_end():
            found.append((before, hold))
        if before is None or hold.sure_end() > before.sure_end():
            latest[hold.name] = hold
    return found


def inversions(holds):
    """
    Pairs whose tokens do not grow: used twice; smaller although asked for after the other was granted; or smaller
    although surely held after the other.
    """
    found = []
    for name in {hold.name for hold in holds}:
        ours = [hold for hold in holds if hold.name == name]
        found += repeated(ours)
        found += disorder(ours, lambda hold: hold.start, lambda hold: hold.asked)
        sure = [hold for hold in ours if hold.sure_end() > hold.start]
        found += disorder(sure, lambda hold: hold.sure_end(), lambda hold: hold.start)
    return found


def repeated(holds):
    found, seen = [], {}
    for hold in holds:
        if hold.token in seen:
            found.append((seen[hold.token], hold))
        seen[hold.token] = hold
    return found


def disorder(holds, since, until):
    """Pairs (a, b) with since(a) <= until(b) and without a.token < b.token; for each b the worst a alone."""
    found, highest = [], None
    early = collections.deque(sorted(holds, key=since))
    for hold in sorted(holds, key=until):
        while early and since(early[0]) <= until(hold):
            one = early.popleft()
            if highest is None or one.token > highest.token:
                highest = one
        if highest is not None and highest is not hold and highest.token >= hold.token:
            found.append((highest, hold))
    return found


class Verdict:
    """What is wrong; empty: nothing."""

    def __init__(self, pairs_overlap, pairs_token, odd, late, codes):
        self.overlaps = pairs_overlap
        self.inversions = pairs_token
        self.odd = odd
        self.late = late
        self.codes = codes

    def lines(self):
        for what, found in (("overlap", self.overlaps), ("token inversion", self.inversions)):
            for before, after in found:
                yield "%s:\n    %r\n    %r" % (what, before, after)
        for what, found in (("odd", self.odd), ("late", self.late), ("undocumented code", self.codes)):
            for one in found:
                yield "%s: %s" % (what, one)


class History:
    """The files of all clients in a folder."""

    def __init__(self, folder):
        self.folder = folder
        self.readers = {}

    def close(self):
        for reader in self.readers.values():
            reader.close()

    def read(self):
        for name in sorted(os.listdir(self.folder)):
            if name not in self.readers:
                self.readers[name] = Reader(os.path.join(self.folder, name))
            self.readers[name].read()

    def holds(self, since=0):
        """All that were granted since then."""
        return [hold for reader in self.readers.values() for hold in newest(reader.holds, since)]

    def counts(self):
        return sum((reader.counts for reader in self.readers.values()), collections.Counter())

    def judge(self, since=0):
        """Of the holds granted since then. A hold that has not ended is taken as good to its told deadline."""
        # What a running client did after the last reading can only end its hold sooner: judge up to what is closed.
        holds = [hold for hold in self.holds(since) if hold.why]
        codes = {word.split()[1] for word in self.counts() if word.startswith("error ")}
        return Verdict(overlaps(holds), inversions(holds),
                       [line for reader in self.readers.values() for line in reader.odd],
                       [line for reader in self.readers.values() for line in reader.late],
                       sorted(codes - documented()))


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
