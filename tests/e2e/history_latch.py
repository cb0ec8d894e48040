"""The judge of latches: they are made once, only count down, once for each session and tag, and open for good.

Lines of a client's file (history.py):

  latch NAME set N         left made | left there      LATCH NAME SET N, and whether it made one
  latch NAME down STEPS WHO   left N                   LATCH NAME DOWN STEPS; WHO is a session and its tag
  latch NAME count         left N | left null          LATCH NAME COUNT
  latch NAME await WAIT_MS left 0 | left null          LATCH NAME AWAIT

Of a master that forgets, the latch is made again, and answers have to be told apart. So every SET of a name has an N
of its own, a multiple of UNIT, and all steps of a name but those that open it are fewer than UNIT: an answer above 0
says to which SET it belongs. Answers are compared in real time: what was answered before another question was sent
came first.
"""

import collections
import math

UNIT = 1000
MADE, THERE, NONE = "made", "there", "null"


class Op:
    """One question; end is infinite and left None without an answer."""

    def __init__(self, name, what, start, client, steps=0, who=""):
        self.name = name
        self.what = what
        self.start = start
        self.client = client
        self.steps = steps
        self.who = who
        self.end = math.inf
        self.left = None

    def asked_only(self):
        return Op(self.name, self.what, self.start, self.client, self.steps, self.who)

    @property
    def count(self):
        """The steps it was told are left; None: it was told something else, or nothing."""
        return int(self.left) if self.left is not None and self.left.isdigit() else None

    @property
    def life(self):
        """The N of the SET that it is about; 0: the answer does not say."""
        return self.steps if self.left == MADE else -(-(self.count or 0) // UNIT) * UNIT

    def __repr__(self):
        return "%s %s %s %s of %s at %d: %s at %s" % (
            self.name, self.what, self.steps, self.who, self.client, self.start, self.left, self.end)


class Asked:
    """What one client asked."""

    def __init__(self):
        self.all = []

    def ask(self, at, client, details):
        name, what, *more = details
        steps = int(more[0]) if what in ("set", "down") else 0
        self.all.append(Op(name, what, at, client, steps, more[1] if what == "down" else ""))

    def answer(self, at, left):
        self.all[-1].end, self.all[-1].left = at, left


def judge(asked, harms, since, until):
    """Lines about what is wrong with the latches that somebody asked about since then, as far as answered until then."""
    names = collections.defaultdict(list)
    for op in asked:
        names[op.name].append(op if op.end <= until else op.asked_only())
    for ops in names.values():
        if max(op.start for op in ops) >= since:
            yield from judge_one(sorted(ops, key=lambda op: op.start), harms)


def judge_one(ops, harms):
    yield from made_twice(ops, harms)
    yield from opened_again(ops, harms)
    lives = {op.steps: op for op in reversed(ops) if op.what == "set"}
    told = [op for op in ops if op.count]
    for op in told:
        if op.life not in lives or lives[op.life].start > op.end:
            yield "was never set so: %r" % op
    for life in lives:
        ours = [op for op in told if op.life == life]
        yield from grown(ours)
        yield from counted(ours, ops, life)
        yield from come_back([op for op in ops if op.life == life], [op for op in ops if op.life not in (0, life)])
    yield from opened_early(ops, lives)


def harmed(harms, since, until):
    return any(begun <= until and ended >= since for begun, ended in harms)


def made_twice(ops, harms):
    made = [op for op in ops if op.left == MADE]
    for one, other in zip(made, made[1:]):
        if not harmed(harms, one.start, other.end):
            yield "made twice: %r, %r" % (one, other)


def opened_again(ops, harms):
    """What is open stays open, unless it was forgotten and made again."""
    opened = min((op.end for op in ops if op.count == 0), default=math.inf)
    for op in ops:
        if op.start >= opened and op.count and not harmed(harms, ops[0].start, op.end):
            yield "closed again: %r" % op


def grown(ours):
    """Of one SET: fewer were left in an earlier answer."""
    least, before = math.inf, None
    answered = collections.deque(sorted(ours, key=lambda op: op.end))
    for op in ours:
        while answered and answered[0].end <= op.start:
            one = answered.popleft()
            if one.count < least:
                least, before = one.count, one
        if op.count > least:
            yield "more are left than before: %r, %r" % (before, op)


def most_of_each(downs):
    """All steps, of each session and tag the most that it said."""
    most = collections.Counter()
    for op in downs:
        most[op.who] = max(most[op.who], op.steps)
    return sum(most.values())


def counted(ours, ops, life):
    """Between what was done for sure and what was asked for."""
    downs = [op for op in ops if op.what == "down"]
    done = [op for op in downs if op.life == life]
    for op in ours:
        asked_for = most_of_each(one for one in downs if one.start <= op.end)
        surely = most_of_each(one for one in done if one.end <= op.start)
        if not life - asked_for <= op.count <= life - surely:
            yield "%d to %d steps of %d are done: %r" % (surely, asked_for, life, op)


def come_back(ours, others):
    """One that another had taken the place of is there again."""
    first = min((op.end for op in ours), default=math.inf)
    other = min((op for op in others if op.start >= first), key=lambda op: op.end, default=None)
    for op in ours:
        if other is not None and op.start >= other.end:
            yield "come back: %r, %r" % (other, op)
            return


def opened_early(ops, lives):
    for op in ops:
        if op.count != 0:
            continue
        asked_for = most_of_each(one for one in ops if one.what == "down" and one.start <= op.end)
        if not any(one.start <= op.end and life <= asked_for for life, one in lives.items()):
            yield "open too early: %r" % op
