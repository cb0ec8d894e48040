"""How cost grows: over clients, locks held, idle connections, waiters, and names that are contended.

These are points of curves, medians of five turns each; plots.py draws them.
"""

import os
import statistics
import time

from scale import holding, redis_bytes, waiting
from stage import ROUNDS, Holder, cpu, memory, program

CLIENTS = (1, 10, 100, 1000, 10000)
LOCKS = (100, 1000, 10000, 100000, 1000000)
CROWD = (10, 100, 1000, 10000)
NAMES = (1, 10, 100, 1000)
CLIENTS_PER_NAME = 4
SLICE_SECONDS = 0.2
KEYS = ("per_second", "p50_us", "p99_us", "wait_p50_us", "wait_p99_us", "daemon_us", "redis_us", "commands",
        "least_share", "overtaken")


def middle(works):
    """Turns of all works; for each the medians of what is known."""
    runs = {name: [] for name in works}
    for number in range(ROUNDS):
        for at in range(len(works)):
            name = list(works)[(number + at) % len(works)]
            runs[name].append(works[name](SLICE_SECONDS))
    return {name: {key: statistics.median(run[key] for run in results) for key in KEYS if key in results[0]}
            for name, results in runs.items()}


def show(stage, curve, x, point):
    stage.table.point(curve, dict(x=x, **point))


def echoed(stage, echo, clients, seconds, warm):
    """Two requests to an echo on the same event loop, in the place of LOCK and UNLOCK: the ceiling."""
    result = stage.load("ping", clients, seconds, echo.at, watched=[echo], warm=warm)
    return {"per_second": result["per_second"] / 2, "p50_us": result["p50_us"] * 2,
            "p99_us": result["p99_us"] * 2, "daemon_us": result["used_us"][0] * 2}


def over_clients(stage):
    """Each kind of use with more and more clients, who all work."""
    retained = stage.daemon("curve", "retain: 10s\nlease: 10m\n")
    given_back = stage.daemon("back")
    path = os.path.join(stage.place.path, "curve-echo")
    echo = stage.place.run(program("bare"), path, "echo")
    echo.output.wait("ready")
    echo.at = path
    stage.table.title("more and more clients")
    for clients in filter(stage.has_room, CLIENTS):
        warm = 0.1 + clients / 10000
        works = {
            "a lock each, retained": lambda s, n=clients, w=warm: stage.measured(
                "lock", n, s, [retained.socket], [retained], warm=w),
            "a new name each time": lambda s, n=clients, w=warm: stage.measured(
                "first", n, s, [given_back.socket], [given_back], warm=w),
            "one lock for all": lambda s, n=clients, w=warm: stage.measured(
                "handoff", n, s, [retained.socket], [retained], warm=w),
            "direct to Redis": lambda s, n=clients, w=warm: stage.measured(
                "direct-first", n, s, [stage.redis.at], sha1=stage.sha1["release"], warm=w),
            "an echo, twice": lambda s, n=clients, w=warm: echoed(stage, echo, n, s, w),
        }
        for name, point in middle(works).items():
            show(stage, "clients: " + name, clients, point)
    for server in (retained, given_back, echo):
        server.kill()
    stage.redis("FLUSHALL")


def over_locks(stage):
    """64 clients, while more and more locks are held by others."""
    stage.table.title("more and more locks held")
    for locks in LOCKS:
        daemon = stage.daemon("held%d" % locks, "lease: 1h\n")
        holders = min(1000, locks // 10)
        began = time.monotonic()
        holder, (each, ledger_each, redis_each) = holding(stage, daemon, locks, holders)
        took = time.monotonic() - began
        runs = middle({
            "again": lambda s, d=daemon: stage.measured("lock", 64, s, [d.socket], [d]),
            "new": lambda s, d=daemon: stage.measured("first", 64, s, [d.socket], [d])})
        point = runs["again"]
        show(stage, "locks held, new names", locks, runs["new"])
        idle = cpu(daemon.process)
        time.sleep(1)
        point.update(bytes_each=each, ledger_bytes_each=ledger_each, redis_bytes_each=redis_each, rss=memory(daemon.process),
                     took_s=took, idle_percent=100 * (cpu(daemon.process) - idle), redis_rss=redis_bytes(stage.redis))
        show(stage, "locks held", locks, point)
        daemon.kill()
        holder.done()
        stage.redis("FLUSHALL")


def over_connections(stage):
    """10 clients, beside more and more connections that do nothing; then these all wait for one name."""
    stage.table.title("more and more connections, and waiters on one name")
    for count in filter(stage.has_room, CROWD):
        daemon = stage.daemon("crowd%d" % count, "lease: 10m\n")
        bare = memory(daemon.process)
        crowd = Holder(stage.place, count, daemon.socket)
        crowd("ping")
        idle = memory(daemon.process)
        point = middle({"pair": lambda s, d=daemon: stage.measured("lock", 10, s, [d.socket], [d])})["pair"]
        before = memory(daemon.process)
        crowd("wait")
        waiting(daemon, count - 1)
        full = memory(daemon.process)
        beside = middle({"pair": lambda s, d=daemon: stage.measured("lock", 10, s, [d.socket], [d])})["pair"]
        used = cpu(daemon.process)
        drained, longest = crowd("drain")
        point.update(bytes_each=(idle - bare) / count, rss=idle)
        beside.update(bytes_each=(full - before) / count, drain_s=drained, longest_ms=longest * 1000,
                      handoff_us=(cpu(daemon.process) - used) * 1e6 / count)
        show(stage, "idle connections", count, point)
        show(stage, "waiters on one name", count, beside)
        crowd.done()
        daemon.kill()
    stage.redis("FLUSHALL")


def over_names(stage):
    """Names with four clients each, who all want theirs."""
    daemon = stage.daemon("names", "lease: 10m\n")
    stage.table.title("more and more names, %d clients on each" % CLIENTS_PER_NAME)
    for names in filter(lambda names: stage.has_room(names * CLIENTS_PER_NAME), NAMES):
        clients = names * CLIENTS_PER_NAME
        point = middle({"names": lambda s, n=names, c=clients: stage.measured(
            "handoff", c, s, [daemon.socket], [daemon], names=n, warm=0.1 + c / 10000)})["names"]
        point["rss"] = memory(daemon.process)
        show(stage, "names contended", names, point)
    daemon.done()


def measure(stage):
    over_clients(stage)
    over_connections(stage)
    over_names(stage)
    over_locks(stage)
