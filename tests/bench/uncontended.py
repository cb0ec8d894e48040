"""Locks that nobody else wants, beside what the same costs without a daemon: SET NX PX and EVALSHA at Redis."""

import statistics
import types

from stage import column, placed, program, ratios
from table import Goal

AWAY_US = 250  # each way: a round trip takes 0.5 ms and a little


class Pair:
    """LOCK and UNLOCK of one kind of load through a daemon, beside direct connections of another."""

    def __init__(self, stage, daemon, ours, direct, redis_at=None):
        self.stage = stage
        self.daemon = daemon
        self.kinds = {"ours": (ours, daemon.socket, [daemon]),
                      "direct": (direct, redis_at or stage.redis.at, [])}

    def work(self, which, clients, apart):
        kind, where, daemons = self.kinds[which]

        def run(seconds):
            with placed(self.stage.redis.process, apart, self.daemon.process):
                return self.stage.measured(kind, clients, seconds, [where], daemons, sha1=self.stage.sha1["release"])
        return run

    def compare(self, title, clients, goals, apart=None):
        """goals: of the ratio of a key, or of our commands. apart: Redis has a processor, all else another; None: the
        kernel puts them where it likes."""
        runs = self.stage.in_turns(ours=self.work("ours", clients, apart), direct=self.work("direct", clients, apart))
        ours, direct, add = runs["ours"], runs["direct"], self.stage.table.add
        self.stage.table.title("%s: %d client%s" % (title, clients, "s"[:clients > 1]))
        add("pairs, holdfast", "/s", column(ours, "per_second"))
        add("pairs, direct", "/s", column(direct, "per_second"))
        add("pairs, holdfast : direct", "x", ratios(ours, direct, "per_second"), goals.get("per_second"))
        add("p50, holdfast", "us", column(ours, "p50_us"))
        add("p50, holdfast : direct", "x", ratios(ours, direct, "p50_us"), goals.get("p50_us"))
        add("p99, holdfast : direct", "x", ratios(ours, direct, "p99_us"))
        add("CPU of the daemon per pair", "us", column(ours, "daemon_us"))
        if "redis_us" in goals:
            add("CPU of Redis per pair, holdfast", "us", column(ours, "redis_us"))
            add("CPU of Redis per pair, holdfast : direct", "x", ratios(ours, direct, "redis_us"), goals["redis_us"])
        if "commands" in goals:
            # They come in lots, when the tokens of a lease are used up: a mean.
            add("Redis commands per pair", "", column(ours, "commands"), goals["commands"], statistics.fmean)


def retained(stage):
    daemon = stage.daemon("retained")
    pair = Pair(stage, daemon, "lock", "direct")
    title = "the same name again, lease retained"
    pair.compare(title, 64, {"per_second": Goal("retained pairs at 64 clients", least=2.5),
                             "commands": Goal("Redis commands per retained pair at 64 clients", most=0.01)})
    pair.compare(title, 1, {"per_second": Goal("retained pairs at 1 client", least=1.3),
                            "commands": Goal("Redis commands per retained pair at 1 client", most=0.01)})
    daemon.done()


def away(stage):
    line = stage.place.run(program("delay"), str(AWAY_US), stage.redis.at)
    at = "127.0.0.1:" + line.output.wait(r"^\d+$")[1].group(0)
    daemon = stage.daemon("away", master=types.SimpleNamespace(url="redis://" + at))
    pair = Pair(stage, daemon, "lock", "direct", at)
    title = "the same, the master 0.5 ms away"
    pair.compare(title, 1, {"per_second": Goal("retained pairs with the master 0.5 ms away", least=15)})
    if not stage.quick:
        pair.compare(title, 64, {})
    daemon.done()
    line.kill()


def first(stage):
    daemon = stage.daemon("first", "retain: 0ms\n")
    pair = Pair(stage, daemon, "first", "direct-first")
    title = "a new name each time, nothing retained"
    pair.compare(title, 64, {"per_second": Goal("first acquires at 64 clients", least=1),
                             "redis_us": Goal("CPU of Redis per first acquire at 64 clients", most=1)})
    pair.compare(title, 1000, {"per_second": Goal("first acquires at 1000 clients", least=1.3),
                               "redis_us": Goal("CPU of Redis per first acquire at 1000 clients", most=1)})
    # Where Redis shares a processor with its only client nobody has to be woken up on another one, and a direct pair
    # takes two thirds of the time. The kernel changes its mind about that from slice to slice, for each side by itself.
    pair.compare(title + ", Redis on a processor of its own", 1,
                 {"p50_us": Goal("p50 of a first acquire at 1 client", most=1.5)}, apart=True)
    pair.compare(title + ", where the kernel puts them", 1, {})
    daemon.done()
    stage.redis("FLUSHALL")


def measure(stage):
    retained(stage)
    away(stage)
    first(stage)
