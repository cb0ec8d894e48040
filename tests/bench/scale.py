"""Many: locks held and renewed, connections, waiters; what each costs, and whether a lock costs more beside them."""

import os
import statistics
import time

import harness
from stage import ROUNDS, Holder, column, cpu, memory, program, ratios
from table import Goal

RENEWED = 100000
CONNECTIONS = 10000
HOLDERS = 1000  # connections that hold many locks between them
RENEW_PERIOD_S = 10 / 3  # of a lease of 10 s


def holding(stage, daemon, locks, holders=HOLDERS):
    """Connections of the daemon that hold so many locks, and what one costs in bytes: of the daemon, of its ledger, of Redis."""
    holder = Holder(stage.place, holders, daemon.socket)
    holder("lock", 1)

    def used():
        return memory(daemon.process), int(daemon.info()["ledger_bytes"]), redis_bytes(stage.redis)
    before = used()
    holder("lock", locks // holders - 1)
    more = (locks // holders - 1) * holders
    return holder, [(now - then) / more for now, then in zip(used(), before)]


def costs(stage, each, what, goal=None):
    for name, number in zip(("memory of the daemon", "ledger of the daemon", "memory of Redis"), each):
        stage.table.add("%s for %s" % (name, what), "bytes", [number], goal if name == "memory of the daemon" else None)


def redis_bytes(redis):
    for line in redis("INFO", "memory").splitlines():
        if line.startswith("used_memory:"):
            return int(line.split(":")[1])
    raise AssertionError("a Redis that does not say how much memory it uses")


def single_renewals(stage):
    """What it costs when each lock is renewed by its own client, as with a watchdog in each application."""
    for number in range(64):
        stage.redis("SET", "bench:%d" % number, "bench:%d" % number)

    def single(seconds):
        return stage.measured("renew", 64, seconds, [stage.redis.at], sha1=stage.sha1["renew"])
    return stage.in_turns(single=single)["single"]


def renewals(stage):
    """What keeping 100,000 leases costs; and a bound of memory, since they are held at the moment."""
    daemon = stage.daemon("keeper")
    alone = single_renewals(stage)
    _, each = holding(stage, daemon, RENEWED)

    def renewed(seconds):
        calls, at_redis, began = int(daemon.info()["master_calls"]), cpu(stage.redis.process), time.monotonic()
        at_daemon = cpu(daemon.process)
        time.sleep(seconds)
        took = time.monotonic() - began
        return {"daemon": 100 * (cpu(daemon.process) - at_daemon) / took,
                "redis": 100 * (cpu(stage.redis.process) - at_redis) / took,
                "renewals": (int(daemon.info()["master_calls"]) - calls) / took}

    kept = [renewed(RENEW_PERIOD_S / ROUNDS) for _ in range(ROUNDS)]
    # 30,000 of them each second, in percent of a processor; the lease machinery's own work is not in it.
    mean, add = statistics.fmean, stage.table.add
    singly = [run["redis_us"] * RENEWED / RENEW_PERIOD_S / 1e4 for run in alone]
    stage.table.title("100,000 leases of 10 s kept renewed (means of one period)")
    add("renewals", "/s", column(kept, "renewals"), middle=mean)
    add("CPU of the daemon", "% of a core", column(kept, "daemon"), middle=mean)
    add("CPU of Redis", "% of a core", column(kept, "redis"), middle=mean)
    add("CPU of Redis for as many single renewals", "% of a core", singly)
    cost = mean(column(kept, "redis"))
    # Both wait for memory most of the time, so a slow or a busy machine makes both slower.
    add("CPU of the daemon : CPU of Redis", "x", [mean(column(kept, "daemon")) / cost],
        Goal("the daemon's CPU for renewals", most=0.6))
    add("CPU of Redis : that of single renewals", "x", [cost / one for one in singly],
        Goal("Redis' CPU for renewals", most=0.5))
    costs(stage, each, "a held lock", Goal("memory of a held lock", most=300))
    daemon.kill()
    stage.redis("FLUSHALL")


def waiting(daemon, count):
    harness.until("%d wait" % count, lambda: int(daemon.info()["waiters"]) >= count)


def connections(stage):
    """Bytes of an idle connection and of a waiter; how 10,000 get a lock one after the other."""
    daemon = stage.daemon("crowd", "lease: 10m\n")
    warm = Holder(stage.place, 100, daemon.socket)
    warm("ping")
    warm.done()
    bare = memory(daemon.process)
    crowd = Holder(stage.place, CONNECTIONS, daemon.socket)
    crowd("ping")
    idle = memory(daemon.process)
    crowd("wait")
    waiting(daemon, CONNECTIONS - 1)
    full = memory(daemon.process)
    drained, longest = crowd("drain")
    add = stage.table.add
    stage.table.title("10,000 connections, 10,000 waiters on one name")
    add("memory of the daemon for an idle connection", "bytes", [(idle - bare) / CONNECTIONS],
        Goal("memory of an idle connection", most=1536))
    add("memory of the daemon for a waiter, above that", "bytes", [(full - idle) / CONNECTIONS],
        Goal("memory of a waiter", most=200))
    add("all have had it after", "s", [drained])
    add("longest time between two of them", "ms", [longest * 1000])
    return daemon, crowd


def flat_pair(stage, title, few, many, goal):
    """few, many: work that returns what a pair cost."""
    runs = stage.in_turns(few=few, many=many)
    add = stage.table.add
    stage.table.title(title)
    for name in ("few", "many"):
        add("pairs, " + name, "/s", column(runs[name], "per_second"))
        add("CPU of the daemon per pair, " + name, "us", column(runs[name], "daemon_us"))
    add("CPU of the daemon per pair, many : few", "x", ratios(runs["many"], runs["few"], "daemon_us"),
        Goal(goal, most=1.2))


def pairs(stage, daemon, clients, **more):
    return lambda seconds: stage.measured("lock", clients, seconds, [daemon.socket], [daemon], **more)


def flat_connections(stage, crowded):
    few = stage.daemon("few", "lease: 10m\n")
    flat_pair(stage, "10 clients alone, and beside 10,000 idle connections", pairs(stage, few, 10),
              pairs(stage, crowded, 10), "cost beside 10000 connections")
    few.done()


def flat_active(stage):
    """All leases are taken in the time that does not count, and retained: a turn of 10,000 is longer than 100 ms."""
    config = "lease: 10m\nretain: 10s\n"
    few, many = stage.daemon("some", config), stage.daemon("all", config)
    flat_pair(stage, "10 clients, and 10,000 that all lock", pairs(stage, few, 10), pairs(stage, many, CONNECTIONS, warm=1),
              "cost with 10000 active connections")
    few.done()
    many.done()
    echo_growth(stage)


def echo_growth(stage):
    """The control: what the sockets of so many clients cost a server that does nothing else."""
    path = os.path.join(stage.place.path, "growth")
    server = stage.place.run(program("bare"), path, "echo")
    server.output.wait("ready")

    def work(clients):
        return lambda seconds: stage.load("ping", clients, seconds, path, watched=[server], warm=0.5)
    runs = stage.in_turns(few=work(10), many=work(CONNECTIONS))
    few, many = [[run["used_us"][0] for run in runs[name]] for name in ("few", "many")]
    stage.table.add("the control, an echo: CPU per request, many : few", "x", [b / a for a, b in zip(few, many)])
    server.kill()


def flat_locks(stage, locks):
    few, many = stage.daemon("less", "lease: 1h\n"), stage.daemon("more", "lease: 1h\n")
    holding(stage, few, 100, 50)
    began = time.monotonic()
    _, each = holding(stage, many, locks)
    took = time.monotonic() - began
    flat_pair(stage, "64 clients beside 100 held locks, and beside {:,}".format(locks), pairs(stage, few, 64),
              pairs(stage, many, 64), "cost beside %d held locks" % locks)
    stage.table.add("taking them", "s", [took])
    costs(stage, each, "one")
    for daemon in (few, many):
        daemon.kill()
    stage.redis("FLUSHALL")


def measure(stage):
    if stage.has_room(CONNECTIONS):
        daemon, crowd = connections(stage)
        flat_connections(stage, daemon)
        crowd.done()
        daemon.kill()
        if not stage.quick:
            flat_active(stage)
    renewals(stage)
    flat_locks(stage, 100000 if stage.quick else 1000000)
