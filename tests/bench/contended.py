"""One lock that many want: how often it changes hands, at what cost, and how fairly."""

import statistics

from stage import column, commands_of, placed, ratios
from table import Goal

CLIENTS = 64
# Redisson's way is to wake all and to let all try again, which is as fast as Redis is; the rival here does that in C with
# nothing else to do. It keeps both processors awake; holdfast wakes up one process after the other, as a bare loop does. So
# it has 80 times as many hand-offs where a wake-up is cheap, and 14 times where idle processors sleep. Redsync's way sleeps
# itself: 150 times as many, and 45. The bare loop is the measure, and these are bounds.
RIVAL_GOALS = {"redisson": 10, "redsync": 40}
RIVAL_SLICES = 2.5  # who waits for a sleep to end needs longer to show what it does


class Contended:
    def __init__(self, stage):
        self.stage = stage
        self.daemon = stage.daemon("one")

    def ours(self, apart=None):
        def work(seconds):
            with placed(self.daemon.process, apart):
                return self.stage.measured("handoff", CLIENTS, seconds, [self.daemon.socket], [self.daemon])
        return work

    def bare(self, apart):
        return lambda seconds: self.stage.bare(CLIENTS, seconds, "Unix", apart)

    def rival(self, kind, clients=CLIENTS):
        def work(seconds):
            commands = commands_of(self.stage.redis)
            result = self.stage.rival(kind, clients, seconds, self.stage.redis.socket)
            result["commands"] = (commands_of(self.stage.redis) - commands - 1) / max(result["cycles"], 1)
            return result
        return work

    def hand_off(self):
        """Whether a wake-up crosses from one processor to another doubles what a hand-off costs, and is the kernel's choice:
        it is made for it, both ways, the same for both contenders."""
        runs = self.stage.in_turns(ours=self.ours(True), bare=self.bare(True), ours_together=self.ours(False),
                                   bare_together=self.bare(False))
        self.stage.table.title("hand-off: %d clients, one lock; server and clients each on a processor" % CLIENTS)
        self.hand_off_rows(runs["ours"], runs["bare"], "hand-off against a bare loop")
        self.stage.table.title("the same, server and clients sharing a processor")
        self.hand_off_rows(runs["ours_together"], runs["bare_together"], "hand-off against a bare loop on one processor")

    def hand_off_rows(self, ours, bare, goal):
        add = self.stage.table.add
        add("changes of holder, holdfast", "/s", column(ours, "changes_per_second"))
        add("changes of holder, bare loop", "/s", column(bare, "changes_per_second"))
        add("holdfast : bare loop", "x", ratios(ours, bare, "changes_per_second"), Goal(goal, least=0.85))
        add("CPU of the daemon per hand-off", "us", column(ours, "daemon_us"))
        add("CPU of the bare loop per hand-off", "us", column(bare, "server_us"))

    def fairness(self):
        ours = self.stage.in_turns(ours=self.ours())["ours"]
        add = self.stage.table.add
        self.stage.table.title("the same, where the kernel puts them")
        add("changes of holder", "/s", column(ours, "changes_per_second"))
        add("Redis commands per hand-off", "", column(ours, "commands"), Goal("Redis commands per hand-off", most=0.02),
            statistics.fmean)
        add("least client's share of a fair one", "x", column(ours, "least_share"), Goal("fair share", least=0.9))
        # In a fair queue each waits while all others have their turn.
        ideal = [run["wait_p99_us"] / (1e6 * CLIENTS / run["changes_per_second"]) for run in ours]
        add("p99 of a wait : the fair ideal", "x", ideal, Goal("p99 of a wait", most=2))
        add("granted out of order of arrival", "%", [100 * run["overtaken"] / run["cycles"] for run in ours])
        return ours

    def rivals(self, ours):
        """Each of their clients is a process with its own connections, as if it were a host of its own (rival.c says why),
        over Unix sockets as ours.
        Ours are those that were held against the bare loop; what ours do as processes is beside it."""
        works = {"redisson": self.rival("redisson"), "redsync": self.rival("redsync")}
        if not self.stage.quick:
            works["ours"] = self.ours()
            works["processes"] = lambda seconds: self.stage.rival("holdfast", CLIENTS, seconds, self.daemon.socket)
        runs = self.stage.in_turns(self.stage.slice * RIVAL_SLICES, cold=("redisson", "redsync", "processes"), **works)
        runs.setdefault("ours", ours)
        add = self.stage.table.add
        self.stage.table.title("the same, each client on its own with Redis")
        add("changes of holder, holdfast", "/s", column(runs["ours"], "changes_per_second"))
        if "processes" in runs:
            add("changes of holder, holdfast, each client a process", "/s", column(runs["processes"], "changes_per_second"))
        for kind, name in (("redisson", "subscribe and retry (as Redisson)"), ("redsync", "sleep and retry (as redsync)")):
            self.rival_rows(name, runs[kind])
            add("holdfast : " + kind, "x", ratios(runs["ours"], runs[kind], "changes_per_second"),
                Goal("hand-off against %s" % kind, least=RIVAL_GOALS[kind]))
            if "processes" in runs:
                add("holdfast, each client a process : " + kind, "x",
                    ratios(runs["processes"], runs[kind], "changes_per_second"))

    def rival_rows(self, name, runs):
        add = self.stage.table.add
        add("changes of holder, " + name, "/s", column(runs, "changes_per_second"))
        add("acquisitions", "/s", column(runs, "per_second"))
        add("commands per acquisition", "", column(runs, "commands"))
        add("clients that got nothing", "", column(runs, "starved"))

    def three(self):
        stage = self.stage
        daemons = [stage.daemon("three%d" % number, "namespace: three\n", own=False) for number in range(3)]

        def ours(seconds):
            return stage.measured("handoff", 3 * CLIENTS, seconds, [daemon.socket for daemon in daemons], daemons)

        runs = stage.in_turns(stage.slice * RIVAL_SLICES, cold=("redisson",), ours=ours,
                              redisson=self.rival("redisson", 3 * CLIENTS))
        add = stage.table.add
        stage.table.title("three daemons with %d clients each, one lock" % CLIENTS)
        add("changes of holder, holdfast", "/s", column(runs["ours"], "changes_per_second"))
        add("least daemon's share of a fair one", "x", column(runs["ours"], "least_place"),
            Goal("share of each of three daemons", least=0.8))
        add("least client's share of a fair one", "x", column(runs["ours"], "least_share"))
        add("Redis commands per hand-off", "", column(runs["ours"], "commands"))
        self.rival_rows("as Redisson, %d clients" % (3 * CLIENTS), runs["redisson"])
        add("holdfast : redisson", "x", ratios(runs["ours"], runs["redisson"], "changes_per_second"),
            Goal("three daemons against redisson", least=50))
        for daemon in daemons:
            daemon.done()


def measure(stage):
    contended = Contended(stage)
    contended.hand_off()
    contended.rivals(contended.fairness())
    contended.three()
    contended.daemon.done()
