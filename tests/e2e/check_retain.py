#!/usr/bin/env python3
"""A lease that is kept after its last use: who comes next on this host, and who on another one."""

import harness
from check_quorum import Masters, all_admitted
from harness import BRISK, boottime, expect, expect_between, expect_code, expect_not_before, until

KEPT = "retain: 10s\n"
KEY = "holdfast:{a}"
PAIRS = 1000
FEW = 20  # script calls: greetings and renewals go on meanwhile
TOKEN_MAX = 2 ** 53


def used(daemon, name="a"):
    """Locks it and gives it back; the token."""
    client = daemon.client()
    token = client("LOCK", name, "WAIT", 20000)
    expect_between(token, 1, TOKEN_MAX)
    expect(client("UNLOCK", name), 0)
    return token


def test_again(place):
    """a thousand locks of one name cost the master nothing, and each has a token above the one before"""
    redis = place.redis()
    daemon = place.daemon(master=redis, config=KEPT).admitted()
    client = daemon.client()
    last = used(daemon)
    owner = redis("GET", KEY)
    calls = redis.script_calls()
    for _ in range(PAIRS):
        token = client("LOCK", "a", "WAIT", 0)
        expect_between(token, last + 1, TOKEN_MAX)
        last = token
        expect(client("UNLOCK", "a"), 0)
    expect_between(redis.script_calls() - calls, 0, FEW)
    expect(redis("GET", KEY), owner, "the lease is the same one")
    expect(daemon.client(3)("INSPECT", "a")["state"], "leased")


def test_off(place):
    """with retain: 0ms the lease goes with the UNLOCK, and with 100ms soon after"""
    redis = place.redis()
    first = place.daemon("d1", master=redis, config="retain: 0ms\n").admitted()
    used(first)
    until("the lease is gone", lambda: redis("GET", KEY) is None)
    second = place.daemon("d2", master=redis, config="retain: 100ms\n").admitted()
    used(second)
    until("the lease is gone", lambda: redis("GET", KEY) is None)


def wanted(place, masters):
    servers = Masters(place, masters) if masters > 1 else place.redis()
    first, second = [place.daemon(name, master=servers, config=KEPT) for name in ("d1", "d2")]
    for daemon in (first, second):
        all_admitted(daemon, masters) if masters > 1 else daemon.admitted()
    tokens = [used(first)]
    for daemon in (second, first, second):
        began = boottime()
        tokens.append(used(daemon))
        expect_between(boottime() - began, 0, 9, "s, which is less than it is kept")
    expect(tokens, sorted(set(tokens)), "tokens grow")


def test_wanted(place):
    """another host that wants it has it long before its time is over"""
    wanted(place, 1)


def test_wanted_quorum(place):
    """the same among three masters"""
    wanted(place, 3)


def test_tried(place):
    """who only tries elsewhere is refused once, and has ended it by that"""
    redis = place.redis()
    first, second = [place.daemon(name, master=redis, config=KEPT).admitted() for name in ("d1", "d2")]
    used(first)
    client = second.client()
    expect(client("LOCK", "a", "WAIT", 0), None)
    until("the lease is gone", lambda: redis("GET", KEY) is None)
    expect_between(client("LOCK", "a", "WAIT", 0), 1, TOKEN_MAX)


def test_killed(place):
    """a daemon that is killed meanwhile leaves it to run out, and not longer"""
    redis = place.redis()
    first, second = [place.daemon(name, master=redis, config=BRISK + KEPT).admitted() for name in ("d1", "d2")]
    waiter = second.client()
    token = used(first)
    first.process.stop()
    left = redis("PTTL", KEY) / 1000
    asked = boottime()
    first.kill()
    waiter.send("LOCK", "a", "WAIT", 30000)
    expect_between(waiter.reply(), token + 1, TOKEN_MAX)
    expect_not_before(boottime() - asked, left, "granted while the lease was there", grain=0.005)


def test_flushed(place):
    """a master that forgets it is not told again: the next one gets a lease of its own, with a higher token"""
    redis = place.redis()
    config = BRISK + KEPT + "restart-guard: auto\n"
    first = place.daemon("d1", master=redis, config=config).admitted()
    token = used(first)
    expect(redis("FLUSHALL"), "OK")
    expect_code(first.client()("LOCK", "b", "WAIT", 0), "GUARD")
    expect_between(used(first), token + 1, TOKEN_MAX)
    expect("reclaimed" in first.output.text(), False, "nobody relied on it")


def test_shutdown(place):
    """a daemon that shuts down gives it back"""
    redis = place.redis()
    daemon = place.daemon(master=redis, config=KEPT).admitted()
    used(daemon)
    expect(daemon.terminate(), 0)
    expect(redis("GET", KEY), None)


if __name__ == "__main__":
    harness.main(globals())
