#!/usr/bin/env python3
"""The daemon replaced again and again, by hand-overs, by crashes, or by both; not part of `make check`.

  [WAYS=handover,crash] [COUNT=200 | DURATION=600] [PAUSE=2-5] [SEED=N] tests/e2e/replace.py [TEST...]

A few hundred clients hold, wait and listen meanwhile. After a crash they come back to their sessions (returning.py), and
ask again. Nothing may grow with the number of processes that there were: memory, descriptors, files, children. No hold may
be lost, every token stays, and waiters keep their order. Between two of them are
PAUSE seconds, drawn from the seed.
"""

import array
import os
import random
import socket
import time

import harness
from errands import Stage, granted, hand_over, held
from harness import expect, expect_between
from returning import CrashStage
from scene import pause

WAYS = os.environ.get("WAYS", "handover,crash").split(",")
COUNT = int(os.environ.get("COUNT", "200"))
DURATION = float(os.environ.get("DURATION", "0"))  # in seconds
PAUSE = tuple(map(float, os.environ.get("PAUSE", "2-5" if DURATION else "0-0").split("-")))
SEED = os.environ.get("SEED", str(random.randrange(10 ** 9)))
CROWD = 300
GROWTH_KIB = 4096  # of the resident memory, and of the files, between the tenth process and the last


def resident_kib(pid):
    with open("/proc/%d/status" % pid, encoding="ascii") as stream:
        return next(int(line.split()[1]) for line in stream if line.startswith("VmRSS"))


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as stream:
        return len(stream.read().split())


def files(folder):
    """How many there are, but for a ledger that is being written anew, and how large they are together."""
    paths = [os.path.join(where, name) for where, _, names in os.walk(folder) for name in names]
    return sum(not path.endswith(".ledger.new") for path in paths), sum(os.lstat(path).st_blocks for path in paths) // 2


def bind(client, pidfd):
    client.socket.sendmsg([b"SESSION BIND\r\n"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [pidfd]))])


class Crowd:
    """Clients of all kinds, who hold, wait and listen from before the first restart until after the last one."""

    def __init__(self, stage):
        self.stage = stage
        daemon = stage.daemon
        self.holds = [(client, "hold%d" % n, granted(client("LOCK", "hold%d" % n)))
                      for n, client in enumerate(stage.client(tcp=n % 3 == 0) for n in range(CROWD))]
        for kind in (("SHARED",), ("LIMIT", 5, "PERMITS", 2), ("OWNER", "tag")):
            name = "kind-" + kind[0]
            client = stage.client()
            self.holds.append((client, name, granted(client("LOCK", name, *kind)), *(kind if kind[0] == "OWNER" else ())))
        self.waiters = [stage.client() for _ in range(50)]
        for n, client in enumerate(self.waiters):
            client.send("LOCK", "hold%d" % (n % 10))
        self.pushed = stage.client(form=3)
        expect(self.pushed("LOCK", "hold11", "ASYNC", "x"), "QUEUED")
        # No client has to say that it still listens after a hand-over.
        self.streams = [daemon.client(form=3) for _ in range(4)] if stage.lives_on else []
        expect([stream("EVENTS", "MATCH", "marked") for stream in self.streams], ["OK"] * len(self.streams))
        self.child = stage.place.run("sleep", "100000")
        bound = self.bound()
        self.bound_token = granted(bound("LOCK", "bound"))
        bound.close()
        away = stage.plain()
        self.secret = away("SESSION", "GRACE", 600000)
        self.away = granted(away("LOCK", "away"))
        away.close()
        harness.until("all wait", lambda: daemon.info()["waiters"] == "51")

    def bound(self):
        client = self.stage.plain()
        bind(client, self.child.pidfd)
        expect_between(client.reply(), 0, 1)
        return client

    def look(self):
        for client, name, token, *owner in self.holds:
            held(client, name, token, *owner)
        bound = self.bound()
        held(bound, "bound", self.bound_token)
        bound.close()

    def finish(self):
        self.look()
        back = self.stage.plain()
        expect(back("SESSION", "RESUME", self.secret), 1)
        held(back, "away", self.away)
        marker = self.stage.plain()
        granted(marker("LOCK", "marked"))
        for stream in self.streams:
            expect([stream.push()[1].split(" ")[0] for _ in range(2)], ["lease.acquired", "lock.granted"])
        for client, name, token, *_ in self.holds[:10]:
            expect(client("UNLOCK", name), 0)
        for n, client in enumerate(self.waiters):
            if n < 10:
                expect_between(client.reply(), self.holds[n][2] + 1, 2 ** 53)
        expect(self.holds[11][0]("UNLOCK", "hold11"), 0)
        expect(self.pushed.push()[:2], ["grant", "x"])


def by_crash(stage):
    stage.daemon.kill()
    stage.daemon.start()
    stage.come_back()


def measure(daemon):
    info = daemon.info()
    return dict({"children": children(daemon.process.pid), "files": files(daemon.folder)[0]},
                **{key: info[key] for key in ("sessions", "grants", "waiters", "leases")})


def weigh(daemon):
    """KiB of memory and of files, and descriptors."""
    pid = daemon.process.pid
    return resident_kib(pid), files(daemon.folder)[1], len(os.listdir("/proc/%d/fd" % pid))


def replace(place, master):
    chance = random.Random(SEED)
    harness.comment("seed %s" % SEED)
    daemon = place.daemon(master=master, tcp=True, config="log: { level: warning }\nlimits: { clients: 1000 }\n"
                          "restart-guard: auto\nlease: 10s\n").admitted()
    ways = {"handover": lambda stage: hand_over(stage.daemon), "crash": by_crash}
    stage = (CrashStage if "crash" in WAYS else Stage)(place, daemon)
    crowd = Crowd(stage)

    def again():
        ways[chance.choice(WAYS)](stage)
        pause(chance.uniform(*PAUSE))

    for _ in range(10):
        again()
    crowd.look()
    before, weight = measure(daemon), weigh(daemon)
    count, ends = 0, time.monotonic() + DURATION
    while time.monotonic() < ends if DURATION else count < COUNT:
        again()
        count += 1
        if count % (10 if DURATION else 50) == 0:
            crowd.look()
            harness.comment("%d: %d KiB of memory, %d KiB of files, %d descriptors" % (count, *weigh(daemon)))
    crowd.look()
    after = weigh(daemon)
    expect(measure(daemon), before)
    expect_between(after[0] - weight[0], -1000000, GROWTH_KIB, "KiB of memory more")
    expect_between(after[1] - weight[1], -1000000, GROWTH_KIB, "KiB of files more")
    # Links to the masters come and go.
    expect_between(after[2], weight[2] - 5, weight[2] + 5, "descriptors")
    harness.comment("%d by %s, of %s" % (count, " and ".join(WAYS), before))
    crowd.finish()


def test_replaced(place):
    """replaced in a row beside some hundred clients of all kinds: nothing grows, and all is kept"""
    replace(place, place.redis())


def test_replaced_three_masters(place):
    """the same with three masters"""
    replace(place, [place.redis("r%d" % n) for n in range(3)])


def test_replaced_private(place):
    """the same with a private redis-server"""
    replace(place, None)


if __name__ == "__main__":
    harness.main(globals())
