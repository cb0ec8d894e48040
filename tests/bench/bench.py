#!/usr/bin/env python3
"""What holdfast costs, beside the least it could cost, in one run on one machine; `make bench`.

  tests/bench/bench.py [-s SECONDS] [-o FILE]     SECONDS: for each figure, default 5

Times differ from machine to machine and from minute to minute, ratios much less: whatever is compared is measured in
turns, five short runs each after one that does not count, and every ratio is one of neighbours. Shown is the median,
with the least and the most of the five. What bad neighbours do to a p99 is less than what a machine does to it by
itself from one second to the next: there it is many turns of a quarter of a second, the middle half of them is shown,
and beside it two controls, an idle process in the place of the bad one, and one that only burns a processor.
Nothing here passes or fails, but the load programs judge each answer they get: a token that does not grow, or two
holders at once, ends everything.
"""

import argparse
import json
import os
import platform
import re
import resource
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

import depth  # noqa: E402
import harness  # noqa: E402
import quorum  # noqa: E402

LOAD = os.path.join(harness.BUILD, "bench", "load")
BARE = os.path.join(harness.BUILD, "bench", "bare")
ROUNDS = 5
WARM_SECONDS = 0.2
TURN_SECONDS = 0.25
CONFIG = "lease: 10s\nclock-margin: 1s\nrestart-guard: off\nlog: { level: warning }\n"
IDLE_CONFIG = CONFIG + "limits: { clients: 11000, sessions-per-user: 11000 }\n"
RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"


def load(place, kind, socket, clients, seconds, *more):
    """Runs the load program to its end; what it printed."""
    process = place.run(LOAD, kind, socket, str(clients), str(seconds), *[str(word) for word in more])
    status = process.wait(seconds + harness.PATIENCE)
    if status != 0:
        raise AssertionError("load %s ends with %d:\n%s" % (kind, status, process.output.tail()))
    return json.loads(process.output.text())


def redis_cpu(redis):
    """Seconds of CPU it has used."""
    return sum(float(used) for used in re.findall(r"used_cpu_(?:user|sys):([\d.]+)", redis("INFO", "cpu")))


def in_turns(seconds, **works):
    """Each work's results, of ROUNDS rounds; a work takes the seconds it may measure."""
    for work in works.values():
        work(min(WARM_SECONDS, seconds))
    results = {name: [] for name in works}
    for _ in range(ROUNDS):
        for name, work in works.items():
            results[name].append(work(seconds / ROUNDS))
    return results


def column(results, key):
    return [result[key] for result in results]


def ratios(results, others, key):
    return [one[key] / other[key] for one, other in zip(results, others)]


class Table:
    """Prints figures as they come, keeps them, and knows which goals hold."""

    def __init__(self):
        self.rows = []
        self.halves = False  # of many values the middle half is shown

    def title(self, text, halves=False):
        self.halves = halves
        print("\n%-58s %10s   %s" % (text, "median", "middle half" if halves else "min..max"), flush=True)

    def add(self, what, unit, values, goal=None, most=None):
        """values: of each round. A goal is met when the median is at most this."""
        middle = statistics.median(values)
        row = {"figure": what, "unit": unit, "median": middle, "min": min(values), "max": max(values)}
        low, high = row["min"], row["max"]
        if self.halves:
            low, _, high = statistics.quantiles(values, n=4)
            row.update(low_quarter=low, high_quarter=high)
        note = ""
        if goal:
            row.update(goal=goal, at_most=most, holds=middle <= most)
            note = "   %s: %s" % (goal, "holds" if row["holds"] else "MISSED")
        self.rows.append(row)
        print("  %-56s %10s   %s..%s %s%s" % (what, short(middle), short(low), short(high), unit, note),
              flush=True)

    def verdict(self):
        goals = [row for row in self.rows if "goal" in row]
        held = [row["goal"] for row in goals if row["holds"]]
        missed = [row["goal"] for row in goals if not row["holds"]]
        return "%d of %d goals hold: %s%s" % (len(held), len(goals), ", ".join(held) or "none",
                                              "; missed: " + ", ".join(missed) if missed else "")


def short(value):
    return "%.0f" % value if value >= 1000 else "%.3g" % value


class Bench:
    def __init__(self, place, seconds, table):
        self.place = place
        self.seconds = seconds
        self.table = table
        # Over TCP on loopback, to the daemon as to direct clients: a master is seldom on the host of its clients.
        port = harness.free_port()
        self.redis = place.redis(options=["--port", str(port)])
        self.redis.url = "redis://127.0.0.1:%d" % port
        self.daemon = place.daemon(master=self.redis, config=CONFIG).admitted()
        self.sha1 = self.redis("SCRIPT", "LOAD", RELEASE)
        self.bares = 0

    def load(self, kind, clients, seconds, *more):
        return load(self.place, kind, self.daemon.socket, clients, seconds, *more)

    # --- one lock passes between 64 clients ---

    def hand_off(self, seconds):
        calls = self.redis.script_calls()
        result = self.load("handoff", 64, seconds)
        result["calls_per_handoff"] = (self.redis.script_calls() - calls) / result["cycles"]
        result["overtaken_percent"] = 100 * result["overtaken"] / result["cycles"]
        return result

    def hand_off_bare(self, seconds):
        self.bares += 1
        socket = os.path.join(self.place.path, "bare%d" % self.bares)
        server = self.place.run(BARE, socket)
        server.output.wait("ready")
        result = load(self.place, "handoff", socket, 64, seconds)
        server.wait()
        return result

    def contended(self):
        runs = in_turns(self.seconds, daemon=self.hand_off, bare=self.hand_off_bare)
        add, ours = self.table.add, runs["daemon"]
        self.table.title("hand-off: 64 clients, one lock")
        add("changes of holder, holdfast", "/s", column(ours, "changes_per_second"))
        add("changes of holder, bare loop", "/s", column(runs["bare"], "changes_per_second"))
        add("holdfast : bare loop", "x", ratios(ours, runs["bare"], "changes_per_second"))
        add("p99 of a turn, holdfast : bare loop", "x", ratios(ours, runs["bare"], "p99_us"))
        add("script calls at Redis per hand-off", "", column(ours, "calls_per_handoff"),
            "script calls per hand-off below 0.1", 0.1)
        add("least client's share of a fair one", "x", column(ours, "least_share"))
        add("most client's share of a fair one", "x", column(ours, "most_share"))
        add("granted out of order of arrival", "%", column(ours, "overtaken_percent"), "order of arrival", 0)

    # --- nobody else wants the lock ---

    def pairs(self, kind, socket, clients):
        def work(seconds):
            before = redis_cpu(self.redis)
            result = load(self.place, kind, socket, clients, seconds, 0, self.sha1)
            result["redis_us"] = (redis_cpu(self.redis) - before) * 1e6 / result["cycles"]
            return result
        return work

    def uncontended(self):
        for clients in (1, 64, 1000):
            runs = in_turns(self.seconds, daemon=self.pairs("lock", self.daemon.socket, clients),
                            direct=self.pairs("direct", self.redis.url[len("redis://"):], clients))
            add, ours, direct = self.table.add, runs["daemon"], runs["direct"]
            self.table.title("LOCK + UNLOCK beside SET NX PX + EVALSHA: %d client%s" % (clients, "s"[:clients > 1]))
            for name, results in (("holdfast", ours), ("direct", direct)):
                add("pairs, " + name, "/s", column(results, "per_second"))
                add("p50, " + name, "us", column(results, "p50_us"))
                add("p99, " + name, "us", column(results, "p99_us"))
                add("CPU of Redis per pair, " + name, "us", column(results, "redis_us"))
            for what, key in (("pairs/s", "per_second"), ("p50", "p50_us"), ("p99", "p99_us"),
                              ("CPU of Redis", "redis_us")):
                add("%s, holdfast : direct" % what, "x", ratios(ours, direct, key))

    # --- bad neighbours ---

    def beside(self, kind, *neighbours):
        def work():
            with depth.company(self.daemon, *neighbours):
                return self.load(kind, 8, TURN_SECONDS, 1)
        return work

    def neighbours(self):
        turns = max(ROUNDS, round(self.seconds * 6))
        self.table.title("8 clients, a request each ms, beside others: %d turns" % turns, halves=True)
        beside = {"an idle process, the control": depth.idle, "one that burns a processor": depth.burn,
                  "one that never reads": depth.never_read, "a hundred that never finish": depth.slow_loris}
        for kind, what in (("ping", "PING"), ("lock", "LOCK + UNLOCK")):
            works = {words: self.beside(kind, neighbour) for words, neighbour in beside.items()}
            runs = depth.in_short_turns(turns, dict(works, alone=self.beside(kind)))
            alone = runs.pop("alone")
            self.table.add("p50 of %s alone" % what, "us", column(alone, "p50_us"))
            self.table.add("p99 of %s alone" % what, "us", column(alone, "p99_us"))
            for words, results in runs.items():
                bad = beside[words] in (depth.never_read, depth.slow_loris)
                goal = "p99 of %s beside %s at most 2x" % (what, words) if bad else None
                self.table.add("p50 beside %s : alone" % words, "x", ratios(results, alone, "p50_us"))
                self.table.add("p99 beside %s : alone" % words, "x", ratios(results, alone, "p99_us"), goal, 2)

    # --- masters that are missing ---

    def locks(self, daemon, seconds):
        return load(self.place, "lock", daemon.socket, 8, seconds, 1)

    # --- connections that do nothing ---

    def idle(self, count, number):
        """Bytes of a fresh daemon, and of the clients' process, for each of so many connections."""
        daemon = self.place.daemon("idle%d" % number, master=self.redis, config=IDLE_CONFIG).admitted()
        before = depth.memory(daemon)
        clients = self.place.run(LOAD, "idle", daemon.socket, str(count), "0", stdin=-1)
        clients.output.wait("ready", timeout=60)
        result = {"daemon": (depth.memory(daemon) - before) / count}
        clients.process.stdin.close()
        clients.wait()
        daemon.done()
        return result

    def idle_connections(self):
        count = 10000
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        if hard < count + 200:
            print("\nno 10,000 connections: at most %d descriptors" % hard)
            return
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        runs = [self.idle(count, number) for number in range(ROUNDS)]
        self.table.title("10,000 idle connections that had a lock each")
        self.table.add("memory of the daemon for each", "bytes", column(runs, "daemon"),
                       "under 3 KB for a connection", 3 * 1024)


def machine(redis):
    version = re.search(r"redis_version:(\S+)", redis("INFO", "server")).group(1)
    return {"kernel": platform.release(), "processors": os.cpu_count(), "redis": version,
            "load_average": os.getloadavg()[0]}


def measure(place, seconds, table):
    """All figures; what is to be known about the machine."""
    bench = Bench(place, seconds, table)
    about = machine(bench.redis)
    print("%(processors)d processors, load average %(load_average).2f, Linux %(kernel)s, Redis %(redis)s" % about)
    bench.contended()
    bench.uncontended()
    bench.neighbours()
    quorum.measure(bench, in_turns, ratios, column)
    bench.idle_connections()
    about["load_average_end"] = os.getloadavg()[0]
    return about


def main():
    parser = argparse.ArgumentParser(description="holdfast beside the least it could cost")
    parser.add_argument("-s", "--seconds", type=float, default=5, help="for each figure")
    parser.add_argument("-o", "--output", help="the figures as JSON")
    options = parser.parse_args()
    place = harness.Place()
    table = Table()
    try:
        about = measure(place, options.seconds, table)
    except (AssertionError, harness.Skip) as error:
        sys.exit("bench: %s\n%s" % (error, "\n".join(place.logs())))
    finally:
        place.done()
    if options.output:
        with open(options.output, "w", encoding="utf-8") as stream:
            json.dump({"seconds": options.seconds, "rounds": ROUNDS, "machine": about, "rows": table.rows}, stream,
                      indent=1)
    print("\nload average in the end %.2f; nobody held twice, every token grew" % about["load_average_end"])
    print(table.verdict())


if __name__ == "__main__":
    main()
