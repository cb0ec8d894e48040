"""Locks that nobody else wants, beside what the same costs without a daemon: SET NX PX and EVALSHA at Redis.

Both sides use one transport on every hop: Unix sockets, or TCP on loopback. `retain` has its default.
"""

import statistics
import types

from stage import SETTLE_SECONDS, TRANSPORTS, column, placed, program, ratios, where
from table import Goal

AWAY_US = 250  # each way: a round trip takes 0.5 ms and a little
CLIENTS = (1, 8, 64, 1000)
QUICK_CLIENTS = {"names in use": (64,), "new names": (1, 64)}
LOADS = {"names in use": ("lock", "direct"), "new names": ("first", "direct-first")}
# Least pairs per second, as a multiple of the direct ones, on two processors. A new name costs two wake-ups more than a
# direct one, and nine system calls of the daemon, which are the least for three messages in and three out (PROFILES.md,
# *The limit of the design*). So one client that shares its processor with Redis has about half of the direct
# pairs, and 1.1 to 1.4 times as many where Redis has a processor of its own; the kernel chooses. With 8 and 64 clients the
# direct way has two processes on two processors, and holdfast three: 0.64 and 0.96 were seen over Unix sockets, 0.57 and
# 0.93 over TCP, where each hop costs more; on a virtual machine whose idle processors sleep 0.83 and 0.77 with 64. With
# 1,000 clients Redis limits the direct way, and the daemon and the load limit holdfast: 1.21 and 1.13, there 1.02 and 1.03.
LEAST = {
    "names in use": {"Unix": {1: 1.0, 8: 1.2, 64: 1.2, 1000: 1.2}, "TCP": {1: 1.0, 8: 1.2, 64: 1.2, 1000: 1.15}},
    "new names": {"Unix": {1: 0.5, 8: 0.6, 64: 0.75, 1000: 0.95}, "TCP": {1: 0.5, 8: 0.5, 64: 0.7, 1000: 0.95}},
}
# With the master 0.5 ms away one client has no way but to wait for it twice in a direct pair, and here for the daemon twice:
# 40 times as many pairs where a wake-up takes 5 us, 9 times where it takes 40.
LEAST_AWAY = 8


class Pair:
    """LOCK and UNLOCK through a daemon, beside direct connections."""

    def __init__(self, stage, daemon, use, transport, direct=None):
        """direct: the place of Redis, if it is not that of the stage."""
        ours, theirs = LOADS[use]
        self.stage = stage
        self.daemon = daemon
        self.use = use
        self.transport = transport
        self.loads = {"ours": (ours, where(daemon, transport), [daemon]),
                      "direct": (theirs, direct or where(stage.redis, transport), [])}

    def work(self, which, clients, apart):
        kind, place, daemons = self.loads[which]

        def run(seconds):
            with placed(self.stage.redis.process, apart, self.daemon.process):
                return self.stage.measured(kind, clients, seconds, [place], daemons, sha1=self.stage.sha1["release"],
                                           warm=SETTLE_SECONDS + clients / 10000)
        return run

    def goal(self, what, clients, **bound):
        return Goal("%s, %d client%s, %s" % (what, clients, "s"[:clients > 1], self.transport), **bound)

    def compare(self, clients, least=None, apart=None, title=""):
        """least: pairs, as a multiple of direct ones. apart: Redis has a processor, all else another; None: the kernel
        puts them where it likes."""
        runs = self.stage.in_turns(ours=self.work("ours", clients, apart), direct=self.work("direct", clients, apart))
        ours, direct, add = runs["ours"], runs["direct"], self.stage.table.add
        self.stage.table.title("%s%s: %d client%s, %s" % (self.use, title, clients, "s"[:clients > 1], self.transport))
        add("pairs, holdfast", "/s", column(ours, "per_second"))
        add("pairs, direct", "/s", column(direct, "per_second"))
        add("pairs, holdfast : direct", "x", ratios(ours, direct, "per_second"),
            self.goal(self.use + title, clients, least=least) if least else None)
        add("p50, holdfast", "us", column(ours, "p50_us"))
        add("p50, holdfast : direct", "x", ratios(ours, direct, "p50_us"))
        add("p99, holdfast : direct", "x", ratios(ours, direct, "p99_us"))
        add("CPU of the daemon per pair", "us", column(ours, "daemon_us"))
        if self.use == "new names":
            add("CPU of Redis per pair, holdfast", "us", column(ours, "redis_us"))
            add("CPU of Redis per pair, holdfast : direct", "x", ratios(ours, direct, "redis_us"),
                self.goal("CPU of Redis", clients, most=1) if clients >= 64 else None)
        else:
            # They come in lots, when the tokens of a lease are used up: a mean.
            add("Redis commands per pair", "", column(ours, "commands"), self.goal("Redis commands", clients, most=0.01),
                statistics.fmean)


def beside(stage, transport):
    master = types.SimpleNamespace(url="unix://" + stage.redis.socket if transport == "Unix" else stage.redis.url)
    daemon = stage.daemon("beside-" + transport, master=master)
    for use, goals in LEAST.items():
        pair = Pair(stage, daemon, use, transport)
        for clients in QUICK_CLIENTS[use] if stage.quick else CLIENTS:
            pair.compare(clients, goals[transport][clients])
    if not stage.quick:
        # Where Redis shares a processor with its only client, nobody has to be woken up on another one, and a direct
        # pair takes two thirds of the time. The kernel changes its mind about that from slice to slice, for each side
        # by itself.
        Pair(stage, daemon, "new names", transport).compare(1, apart=True, title=", Redis on a processor of its own")
    daemon.done()
    stage.redis("FLUSHALL")


def away(stage):
    line = stage.place.run(program("delay"), str(AWAY_US), stage.redis.at)
    at = "127.0.0.1:" + line.output.wait(r"^\d+$")[1].group(0)
    daemon = stage.daemon("away", master=types.SimpleNamespace(url="redis://" + at))
    pair = Pair(stage, daemon, "names in use", "TCP", at)
    pair.compare(1, LEAST_AWAY, title=", the master 0.5 ms away")
    if not stage.quick:
        pair.compare(64, title=", the master 0.5 ms away")
    daemon.done()
    line.kill()


def measure(stage):
    for transport in TRANSPORTS:
        beside(stage, transport)
    away(stage)
