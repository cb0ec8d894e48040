"""The counter test as a backdrop for faults: two daemons, one master, clients that take turns, and a keeper.

The keeper holds one lock through the whole fault, which must not be lost as long as the master is back within its
validity. The lease is short so that it matters, and three times longer where a busy machine has its part in what
is lost.
"""

import os
import re
import select

import harness
import resp
import swarm
from harness import MEASURE, boottime, expect, expect_between

LEASE = 1.0 if MEASURE else 3.0
MARGIN = LEASE / 10
# A master that is away for so long is back before anything runs out.
BRIEF = 0.4 * LEASE


def documented():
    with open(os.path.join(harness.ROOT, "proto", "code.def"), encoding="utf-8") as stream:
        return set(re.findall(r"^CODE\((\w+),", stream.read(), re.M))


def pause(seconds):
    """A fault lasts so long; nothing tells when a stopped process has been stopped for long enough."""
    select.select([], [], [], seconds)


class Scene:
    def __init__(self, place, guard="auto", hold=0.004, redis=None, masters=None, options=()):
        self.place = place
        self.redis = redis or place.redis(options=options)
        config = "lease: %dms\nclock-margin: %dms\nrestart-guard: %s\n" % (LEASE * 1000, MARGIN * 1000, guard)
        self.daemons = [place.daemon("d%d" % n, master=master, config=config)
                        for n, master in enumerate(masters or (self.redis, self.redis), 1)]
        for daemon in self.daemons:
            daemon.admitted()
        self.keeper = self.daemons[0].client()
        self.keeper("SESSION", "ONLOSS", "NEXT")
        self.token = self.keeper("LOCK", "kept", "WAIT", 20000)
        expect_between(self.token, 1, 2 ** 53)
        self.plan = swarm.Plan(place.path, [daemon.socket for daemon in self.daemons], ["counter"], 6, hold=hold,
                               wait_ms=1000)
        self.swarm = swarm.Swarm(self.plan)
        place.ends.append(self.swarm.end)
        self.progress(100)

    def counter(self):
        return swarm.counter_read(self.place.path, "counter")

    def progress(self, count, timeout=harness.PATIENCE):
        """Waits until so many more increments are made; the time it took."""
        goal = self.counter() + count
        started = boottime()
        while self.counter() < goal:
            expect(boottime() - started < timeout, True, "%d increments within %.0f s" % (count, timeout))
            pause(0.005)
        return boottime() - started

    def finish(self, kept=True):
        """Nobody held together, every answer was a documented one, and the keeper has what it had."""
        counts, holds = self.swarm.stop()
        swarm.judge(self.plan, counts, holds)
        expect(counts.get("odd"), None, "answers that look like none")
        codes = {what for what in counts if what.isupper()}
        expect(codes - documented(), set(), "undocumented errors")
        if kept:
            expect_between(self.keeper("CHECK", "kept"), 1, LEASE * 1000, "the keeper's validity")
            expect(counts.get("lost"), None, "locks lost by the clients")
            with resp.Client(self.daemons[1].socket) as other:
                expect(other("LOCK", "kept", "WAIT", 0), None, "the kept lock for somebody else")
            expect(self.keeper("UNLOCK", "kept", "TOKEN", self.token), 0)
        return counts, holds

    def marks(self):
        return [daemon.output.mark() for daemon in self.daemons]

    def admitted(self, marks, timeout=harness.PATIENCE):
        """Waits until both daemons use the master again: when the later one did."""
        return max(daemon.output.wait(r"master\.admitted", start, timeout)[0]
                   for daemon, start in zip(self.daemons, marks))
