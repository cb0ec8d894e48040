"""One lock that many want: how often it changes hands, at what cost, and how fairly."""

import os

from stage import column, commands_of, program, ratios
from table import Goal

CLIENTS = 64


class Contended:
    def __init__(self, stage):
        self.stage = stage
        self.daemon = stage.daemon("one")
        self.bares = 0

    def ours(self, seconds):
        return self.stage.measured("handoff", CLIENTS, seconds, [self.daemon.socket], [self.daemon])

    def bare(self, seconds):
        self.bares += 1
        path = os.path.join(self.stage.place.path, "bare%d" % self.bares)
        server = self.stage.place.run(program("bare"), path)
        server.output.wait("ready")
        result = self.stage.load("handoff", CLIENTS, seconds, path, watched=[server])
        result["server_us"] = result["used_us"][0]
        server.wait()
        return result

    def rival(self, kind, clients=CLIENTS):
        def work(seconds):
            commands = commands_of(self.stage.redis)
            result = self.stage.rival(kind, clients, seconds, self.stage.redis)
            result["commands"] = (commands_of(self.stage.redis) - commands - 1) / max(result["cycles"], 1)
            return result
        return work

    def hand_off(self):
        runs = self.stage.in_turns(daemon=self.ours, bare=self.bare)
        add, ours = self.stage.table.add, runs["daemon"]
        self.stage.table.title("hand-off: %d clients, one lock" % CLIENTS)
        add("changes of holder, holdfast", "/s", column(ours, "changes_per_second"))
        add("changes of holder, bare loop", "/s", column(runs["bare"], "changes_per_second"))
        add("holdfast : bare loop", "x", ratios(ours, runs["bare"], "changes_per_second"),
            Goal("hand-off against a bare loop", least=0.85))
        add("Redis commands per hand-off", "", column(ours, "commands"), Goal("Redis commands per hand-off", most=0.02))
        add("least client's share of a fair one", "x", column(ours, "least_share"), Goal("fair share", least=0.9))
        # In a fair queue each waits while all others have their turn.
        ideal = [run["wait_p99_us"] / (1e6 * CLIENTS / run["changes_per_second"]) for run in ours]
        add("p99 of a wait : the fair ideal", "x", ideal, Goal("p99 of a wait", most=2))
        add("p99 of a wait, bare loop : its fair ideal", "x",
            [run["wait_p99_us"] / (1e6 * CLIENTS / run["changes_per_second"]) for run in runs["bare"]])
        add("granted out of order of arrival", "%", [100 * run["overtaken"] / run["cycles"] for run in ours])
        add("CPU of the daemon per hand-off", "us", column(ours, "daemon_us"))
        add("CPU of the bare loop per hand-off", "us", column(runs["bare"], "server_us"))
        return ours

    def rivals(self, ours):
        runs = self.stage.in_turns(self.stage.slice * 1.5, redisson=self.rival("redisson"),
                                   redsync=self.rival("redsync"))
        self.stage.table.title("the same, each client on its own with Redis")
        for kind, name in (("redisson", "subscribe and retry (as Redisson)"), ("redsync", "sleep and retry (as redsync)")):
            self.stage.table.add("changes of holder, " + name, "/s", column(runs[kind], "changes_per_second"))
            self.stage.table.add("acquisitions", "/s", column(runs[kind], "per_second"))
            self.stage.table.add("commands per acquisition", "", column(runs[kind], "commands"))
            self.stage.table.add("clients that got nothing", "", column(runs[kind], "starved"))
            self.stage.table.add("holdfast : " + kind, "x", ratios(ours, runs[kind], "changes_per_second"),
                                 Goal("hand-off against %s" % kind, least=200))

    def three(self):
        stage = self.stage
        daemons = [stage.daemon("three%d" % number, "namespace: three\n", own=False) for number in range(3)]

        def ours(seconds):
            return stage.measured("handoff", 3 * CLIENTS, seconds, [daemon.socket for daemon in daemons], daemons)

        runs = stage.in_turns(stage.slice * 2, ours=ours, redisson=self.rival("redisson", 3 * CLIENTS))
        add = stage.table.add
        stage.table.title("three daemons with %d clients each, one lock" % CLIENTS)
        add("changes of holder, holdfast", "/s", column(runs["ours"], "changes_per_second"))
        add("least daemon's share of a fair one", "x", column(runs["ours"], "least_place"),
            Goal("share of each of three daemons", least=0.8))
        add("least client's share of a fair one", "x", column(runs["ours"], "least_share"))
        add("Redis commands per hand-off", "", column(runs["ours"], "commands"))
        add("changes of holder, Redisson-style, %d clients" % (3 * CLIENTS), "/s",
            column(runs["redisson"], "changes_per_second"))
        add("holdfast : redisson", "x", ratios(runs["ours"], runs["redisson"], "changes_per_second"),
            Goal("three daemons against redisson", least=50))
        for daemon in daemons:
            daemon.done()


def measure(stage):
    contended = Contended(stage)
    contended.rivals(contended.hand_off())
    contended.three()
    contended.daemon.done()
