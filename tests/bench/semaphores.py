"""Semaphores: a pair on a permit beside a pair on a name in use, with one daemon and with three."""

import statistics

from stage import column, ratios
from table import Goal

CLIENTS = 64  # of 100 permits: nobody waits at one daemon
DAEMONS = 3


def measure(stage):
    daemon = stage.daemon("permits")
    crowd = [stage.daemon("permits%d" % number, "namespace: permits\n", own=False) for number in range(DAEMONS)]

    def work(kind, daemons):
        return lambda seconds: stage.measured(kind, CLIENTS * len(daemons), seconds, [one.socket for one in daemons],
                                              daemons)

    runs = stage.in_turns(plain=work("lock", [daemon]), permits=work("permits", [daemon]), crowd=work("permits", crowd))
    plain, permits, three, add = runs["plain"], runs["permits"], runs["crowd"], stage.table.add
    stage.table.title("a semaphore of 100 permits: %d clients" % CLIENTS)
    add("pairs, a name each", "/s", column(plain, "per_second"))
    add("pairs, permits", "/s", column(permits, "per_second"))
    add("time of a pair, permits : a name each", "x", ratios(plain, permits, "per_second"),
        Goal("time of a semaphore pair", most=1.2))
    add("CPU of Redis per pair, permits", "us", column(permits, "redis_us"))
    add("Redis commands per pair, permits", "", column(permits, "commands"),
        Goal("Redis commands of a semaphore pair", most=0.01), statistics.fmean)
    stage.table.title("the same semaphore, three daemons with %d clients each" % CLIENTS)
    add("pairs", "/s", column(three, "per_second"))
    add("CPU of Redis per pair", "us", column(three, "redis_us"))
    add("Redis commands per pair", "", column(three, "commands"), middle=statistics.fmean)
    add("least daemon's share of a fair one", "x", column(three, "least_place"),
        Goal("share of each of three daemons of a semaphore", least=0.8))
    for one in (daemon, *crowd):
        one.done()
