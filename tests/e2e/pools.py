"""The pool test: ten tasks of one program lock with AS id through the connection pool of a Redis library, set up so that
reads time out before waits end and requests are sent again, while connections are killed and the daemon is replaced.

The program is one of tests/interop/LIBRARY/pool.*, written as a user of that library would. Its arguments:

    PORT OPERATIONS TIMEOUT    of the daemon on 127.0.0.1; how many locks it takes and gives back in all; ms of a read

Each of its TASKS takes a lock of a name of NAMES, waiting up to two minutes, holds it for up to 10 ms, and gives it back. The
program says so:

    enter NAME TASK TOKEN      the LOCK was answered with the token
    leave NAME TASK            the UNLOCK is about to be sent
    again                      the library gave up on a request, and the program sends it once more
    failed NAME TASK TEXT      an answer that no user expects, or an error of the library

These lines are in the order in which they happened, since an UNLOCK is sent only after its `leave` was written. So the
judge needs no clock. The program ends with status 0 when all tasks are done.
"""

import random
import re
import time

import errands
import harness
from harness import expect, until

TASKS, NAMES = 10, ("deploy", "report", "import", "orders")
# Shorter than many a wait, and long enough for a library on a busy machine to hear the answers to all else.
TIMEOUT_MS = 100
# How many operations pass from one fault of a kind to the next, so that a busy machine gets anywhere between them. A lease
# without a durable hold is over only 10 s after a crash.
CUT_EACH, HANDED_OVER_EACH, KILLED_EACH = 5, 100, 400
PAUSE = 0.01
LINE = re.compile(r"(?P<verb>enter|leave|failed) (?P<name>\S+) (?P<task>\d+)(?: (?P<token>\d+)| .*)?")


class Judge:
    """Who holds what, as the tasks themselves say: no two at once, and each token larger than those before."""

    def __init__(self):
        self.holders, self.tokens, self.wrong = {}, {}, []
        self.done, self.repeated = 0, 0

    def enter(self, name, task, token):
        if name in self.holders:
            self.wrong.append("%s: task %s holds it while task %s does" % (name, task, self.holders[name]))
        if token <= self.tokens.get(name, 0):
            self.wrong.append("%s: token %d after %d" % (name, token, self.tokens[name]))
        self.holders[name], self.tokens[name] = task, token

    def leave(self, name, task):
        if self.holders.pop(name, None) != task:
            self.wrong.append("%s: task %s does not hold it any more" % (name, task))
        self.done += 1

    def hear(self, line):
        """One line of the program; others are what its library or its language says to people."""
        if line == "again":
            self.repeated += 1
            return
        match = LINE.fullmatch(line)
        if match is None:
            harness.comment(line)
            return
        verb, name, task, token = match["verb"], match["name"], match["task"], match["token"]
        if verb == "enter":
            self.enter(name, task, int(token))
        elif verb == "leave":
            self.leave(name, task)
        else:
            self.wrong.append(line)


class Program:
    """The program at work, and what the judge has heard of it."""

    def __init__(self, place, daemon, command, operations):
        self.daemon, self.operations = daemon, operations
        self.judge, self.heard = Judge(), 0
        self.process = place.run(*command, str(daemon.port), str(operations), str(TIMEOUT_MS))

    def listen(self):
        """Takes the lines to the judge; false: the program has ended, and all it said was heard."""
        output = self.process.output
        with output.changed:
            ended = output.ended
            lines = [text for _, text in output.lines[self.heard:]]
        for line in lines:
            self.judge.hear(line)
        self.heard += len(lines)
        return not ended

    def has_repeated(self):
        """Whether far more LOCKs were sent than one by each task, by the library or by the program."""
        expect(self.listen(), True, "it runs")
        with self.daemon.client() as client:
            asked = re.search(r"cmdstat_lock:calls=(\d+)", client("INFO", "commandstats"))
        return int(asked.group(1) if asked else 0) > 3 * TASKS or self.judge.repeated > 3 * TASKS

    def verdict(self):
        expect(self.judge.wrong, [])
        expect((self.process.wait(), self.judge.done), (0, self.operations))
        with self.daemon.client() as other:
            until("nothing is left locked", lambda: other("LOCKS")[1] == [])


def cut_one(daemon):
    """Closes a connection of the pool, whatever it is doing."""
    with daemon.client() as admin:
        mine = admin("CLIENT", "ID")
        lines = [dict(word.split("=", 1) for word in line.split() if "=" in word)
                 for line in admin("CLIENT", "LIST").splitlines()]
        others = [line["id"] for line in lines if line.get("id") not in (None, str(mine))]
        if others:
            admin("CLIENT", "KILL", "ID", random.choice(others))


def crash(daemon):
    daemon.kill()
    daemon.start()


def play(place, command, operations, faults):
    """All operations of the program. faults: {fault: operations from one to the next}; the first comes after half as many."""
    daemon = place.daemon(master=place.redis(), tcp=True, config="lease: 10s\nclock-margin: 1s\n").admitted()
    holder = daemon.client()
    tokens = holder("MLOCK", len(NAMES), *NAMES)
    program = Program(place, daemon, command, operations)
    until("reads time out, and LOCKs are sent again", program.has_repeated, 6 * harness.PATIENCE)
    program.judge.tokens = dict(zip(NAMES, tokens))
    expect(holder("MUNLOCK", len(NAMES), *NAMES), len(NAMES))
    due = {fault: each // 2 for fault, each in faults.items()}
    count, began = 0, time.monotonic()
    while program.listen():
        for fault, each in faults.items():
            if program.judge.done >= due[fault]:
                due[fault] += each
                count += 1
                fault(daemon)
        time.sleep(PAUSE)
    program.verdict()
    harness.comment("%d operations in %.1f s, %d faults" % (operations, time.monotonic() - began, count))


def kills(place, command, operations):
    """10 tasks, 4 names, one default pool, time-outs shorter than waits, connections killed: no failure, no overlap, nothing left"""
    play(place, command, operations, {cut_one: CUT_EACH})


def restarts(place, command, operations):
    """the same while the daemon is handed over, and killed and started again"""
    play(place, command, operations, {errands.hand_over: HANDED_OVER_EACH, crash: KILLED_EACH, cut_one: CUT_EACH})
