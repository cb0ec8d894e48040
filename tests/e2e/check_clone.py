#!/usr/bin/env python3
"""A daemon that exists twice: a copy of it, made while it runs, has its daemon-id and counts on from the same attempts.

No process can be copied here as a machine's image is; two that draw the same random numbers (tests/shim/random.c) are as
alike: they have one daemon-id, and number their attempts alike.
"""

import os
import re

import harness
from harness import LEASE_MS, expect, expect_between

LIBRARY = os.path.join(harness.BUILD, "tests", "shim", "random.so")
UNAVAILABLE = 69


def alike():
    if not os.path.exists(LIBRARY):
        raise AssertionError("%s is not built" % LIBRARY)
    return {"LD_PRELOAD": LIBRARY, "HOLDFAST_RANDOM": "5",
            "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}


def identity(daemon):
    return daemon.output.wait(r"daemon\.started .*\bid=([0-9a-f]{32})")[1].group(1)


def test_second_is_told(place):
    """of two copies of a daemon the second to say HELLO to the master ends, and the first keeps its locks"""
    redis = place.redis()
    first = place.daemon("d1", master=redis, environment=alike()).admitted()
    holder = first.client()
    token = holder("LOCK", "deploy")
    second = place.idle_daemon("d2", master=redis, environment=alike())
    second.spawn()
    expect(second.process.wait(), UNAVAILABLE, second.output.tail())
    expect(identity(second), identity(first))
    second.output.wait(r"daemon\.cloned .*another process with this daemon-id")
    expect_between(holder("CHECK", "deploy"), 1, LEASE_MS)
    expect_between(token, 1, 2 ** 53)
    expect(redis("GET", "holdfast:{deploy}").startswith(identity(first) + ":"), True)


def test_of_three_masters(place):
    """one of three masters that has seen the first copy is enough"""
    masters = [place.redis("r%d" % i) for i in range(3)]
    first = place.daemon("d1", master=masters, environment=alike()).admitted()
    client = first.client()
    client("LOCK", "deploy")
    second = place.idle_daemon("d2", master=masters, environment=alike())
    second.spawn()
    expect(second.process.wait(), UNAVAILABLE, second.output.tail())
    expect_between(client("CHECK", "deploy"), 1, LEASE_MS)


def test_holders_are_told(place):
    """a daemon whose place a copy has taken tells its holders, and leaves their leases alone"""
    redis = place.redis()
    first = place.daemon("d1", master=redis, config="lease: 3s\n", environment=alike()).admitted()
    holder, listener = first.client(), first.client(form=3)
    holder("LOCK", "deploy")
    expect(listener("SESSION", "ONLOSS", "PUSH"), "OK")
    listener("LOCK", "report")
    before = redis("GET", "holdfast:{deploy}")
    # The copy has sent the master HELLO since: its nonce is there in the place of ours.
    field = "d:" + identity(first)
    until, longest, guards, memory, _ = redis("HGET", "holdfast:node", field).split()
    redis("HSET", "holdfast:node", field, " ".join((until, longest, guards, memory, "0123456789abcdef")))
    expect(first.process.wait(), UNAVAILABLE, first.output.tail())
    expect(holder.closed(), True)
    push = listener.push()
    expect(push[0] == "lost" and push[1] == "report" and "cloned" in push[-1], True, repr(push))
    expect(redis("GET", "holdfast:{deploy}"), before, "the lease, which may be the copy's")


def test_attempts_are_not_foreseen(place):
    """two copies that number their attempts alike do not take each other's leases for their own"""
    values = []
    for name in ("d1", "d2"):
        redis = place.redis("of-" + name)
        daemon = place.daemon(name, master=redis, environment=alike()).admitted()
        daemon.client()("LOCK", "deploy")
        values.append(redis("GET", "holdfast:{deploy}"))
    first, second = [re.fullmatch(r"([0-9a-f]{32}):([0-9a-v]+)", value) for value in values]
    expect(first.group(1), second.group(1))
    expect(first.group(2) != second.group(2), True, repr(values))
    # What they are alike in is the count above 22 bits of chance.
    expect(int(first.group(2), 32) >> 22, int(second.group(2), 32) >> 22)


if __name__ == "__main__":
    harness.main(globals())
