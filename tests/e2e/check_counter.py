#!/usr/bin/env python3
"""The counter test: many clients read, increment and write a number in a file under a lock, and none gets lost.

HOLDFAST_SOAK=100000 makes that many increments with three daemons instead of a quick round.
"""

import os

import harness
import swarm
from harness import expect


def test_thousand(place):
    """1,000 concurrent clients increment a counter once each, and it says 1,000"""
    daemon = place.daemon(master=place.redis()).admitted()
    plan = swarm.Plan(place.path, [daemon.socket], ["counter"], 1000, rounds=1, wait_ms=100000)
    counts, holds = swarm.Swarm(plan).wait()
    swarm.judge(plan, counts, holds)
    expect(swarm.counter_read(place.path, "counter"), 1000)
    expect({what: number for what, number in counts.items() if what != "unlocked"}, {})
    expect(counts["unlocked"], 1000)


def test_three_daemons(place):
    """three daemons with 64 clients each share one Redis: no overlap, growing tokens, no count lost"""
    total = int(os.environ.get("HOLDFAST_SOAK", "5760"))
    redis = place.redis()
    daemons = [place.daemon("d%d" % n, master=redis, config="log: { level: info }\n") for n in (1, 2, 3)]
    for daemon in daemons:
        daemon.admitted()
    rounds = max(1, total // (3 * 64))
    plan = swarm.Plan(place.path, [daemon.socket for daemon in daemons], ["counter"], 64, rounds=rounds,
                      wait_ms=100000)
    counts, holds = swarm.Swarm(plan).wait(timeout=120 + total / 200)
    swarm.judge(plan, counts, holds)
    expect(swarm.counter_read(place.path, "counter"), 3 * 64 * rounds)
    expect(counts, {"unlocked": 3 * 64 * rounds})


def test_many_names(place):
    """the same with 16 locks at once and two connections to the master"""
    redis = place.redis()
    daemons = [place.daemon("d%d" % n, master=redis, config="pool: 2\nlog: { level: info }\n") for n in (1, 2)]
    for daemon in daemons:
        daemon.admitted()
    names = ["counter-%d" % n for n in range(16)]
    plan = swarm.Plan(place.path, [daemon.socket for daemon in daemons], names, 64, rounds=20, wait_ms=100000)
    counts, holds = swarm.Swarm(plan).wait()
    swarm.judge(plan, counts, holds)
    expect(counts, {"unlocked": 2 * 64 * 20})


if __name__ == "__main__":
    harness.main(globals())
