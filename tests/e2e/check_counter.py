#!/usr/bin/env python3
"""The counter test: many clients read, increment and write a number in a file under a lock, and none gets lost.

HOLDFAST_SOAK=100000 makes so many increments with three daemons instead of a quick round; `make soak` does.
"""

import os

import harness
import swarm
from harness import expect


# Leases that run out within the test if nobody renews them, and a guard that has nothing to do.
CONFIG = "lease: 10s\nclock-margin: 1s\nlog: { level: info }\n"


def run(place, plan):
    started = swarm.Swarm(plan)
    place.ends.append(started.end)
    return started


@harness.busy
def test_thousand(place):
    """1,000 concurrent clients increment a counter once each, and it says 1,000"""
    daemon = place.daemon(master=place.redis()).admitted()
    plan = swarm.Plan(place.path, [daemon.socket], ["counter"], 1000, rounds=1, wait_ms=100000)
    counts, holds = run(place, plan).wait()
    swarm.judge(plan, counts, holds)
    expect(swarm.counter_read(place.path, "counter"), 1000)
    expect({what: number for what, number in counts.items() if what != "unlocked"}, {})
    expect(counts["unlocked"], 1000)


@harness.busy
def test_three_daemons(place):
    """three daemons with 64 clients each share one Redis: no overlap, growing tokens, no count lost"""
    total = int(os.environ.get("HOLDFAST_SOAK", "5000"))
    redis = place.redis()
    daemons = [place.daemon("d%d" % n, master=redis, config=CONFIG) for n in (1, 2, 3)]
    for daemon in daemons:
        daemon.admitted()
    plan = swarm.Plan(place.path, [daemon.socket for daemon in daemons], ["counter"], 64, total=total, wait_ms=100000)
    counts, holds = run(place, plan).wait(timeout=120 + total / 50)
    harness.comment("%d holds of %d clients, %d findings, the counter says %d" % (
        len(holds), len({hold["client"] for hold in holds}), len(swarm.findings(plan)),
        swarm.counter_read(place.path, "counter")))
    harness.comment("%.0f increments a second; %s" % (
        total / (holds[-1]["end"] - holds[0]["start"]), ", ".join(
            "%d at %s" % (sum(hold["client"].startswith(daemon.socket + "#") for hold in holds), daemon.name)
            for daemon in daemons)))
    swarm.judge(plan, counts, holds)
    expect(swarm.counter_read(place.path, "counter"), total)
    expect(len(holds), total)
    expect(counts, {"unlocked": total})


@harness.busy
def test_many_names(place):
    """the same with 16 locks at once and two connections to the master"""
    redis = place.redis()
    daemons = [place.daemon("d%d" % n, master=redis, config="pool: 2\nlog: { level: info }\n") for n in (1, 2)]
    for daemon in daemons:
        daemon.admitted()
    names = ["counter-%d" % n for n in range(16)]
    plan = swarm.Plan(place.path, [daemon.socket for daemon in daemons], names, 64, rounds=20, wait_ms=100000)
    counts, holds = run(place, plan).wait()
    swarm.judge(plan, counts, holds)
    expect(counts, {"unlocked": 2 * 64 * 20})


@harness.busy
def test_streak(place):
    """a host passes a lock among its clients at most so often while another host waits"""
    redis = place.redis()
    config = "handoff: { streak: 4, time: 10s }\nlog: { level: info }\n"
    daemons = [place.daemon("d%d" % n, master=redis, config=config) for n in (1, 2)]
    for daemon in daemons:
        daemon.admitted()
    plan = swarm.Plan(place.path, [daemon.socket for daemon in daemons], ["counter"], 16, rounds=50, hold=0.001,
                      wait_ms=100000)
    counts, holds = run(place, plan).wait()
    swarm.judge(plan, counts, holds)
    hosts = [hold["client"].split("#")[0] for hold in holds]
    # In the end one host is alone, and in the beginning too.
    last = min(len(hosts) - 1 - hosts[::-1].index(daemon.socket) for daemon in daemons)
    first = max(hosts.index(daemon.socket) for daemon in daemons)
    runs, length = [], 1
    for before, after in zip(hosts[first:last], hosts[first + 1:last + 1]):
        if before == after:
            length += 1
        else:
            runs.append(length)
            length = 1
    expect(len(runs) > 100, True, "%d changes of the host" % len(runs))
    # The other host's request has to arrive first, so some runs at the start of a streak are longer.
    expect(sorted(runs)[len(runs) * 9 // 10] <= 4 + 1, True, "runs of one host: %r" % sorted(runs)[-20:])
    expect(max(runs) <= 4 * 4, True, "longest runs: %r" % sorted(runs)[-20:])


if __name__ == "__main__":
    harness.main(globals())
