#!/usr/bin/env python3
"""A lease that is kept after its last use: who comes next on this host, and who on another one."""

import harness
from check_quorum import Masters, all_admitted
from harness import BRISK, boottime, expect, expect_between, expect_code, expect_not_before, until

KEPT = "retain: 10s\n"
KEY = "holdfast:{a}"
PAIRS = 1000
FEW = 20  # script calls: HELLOs and renewals go on meanwhile
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


def permits_used(daemon, count=3, limit=3):
    """As many clients hold a permit each at the same time, and give it back."""
    clients = [daemon.client() for _ in range(count)]
    for client in clients:
        expect_between(client("LOCK", "s", "LIMIT", limit, "WAIT", 20000), 1, TOKEN_MAX)
    for client in clients:
        expect(client("UNLOCK", "s"), 0)


def test_permits_again(place):
    """a thousand locks of permits cost the master nothing, each has another token, and none counts as held afterwards"""
    redis = place.redis()
    daemon = place.daemon(master=redis, config=KEPT).admitted()
    permits_used(daemon)
    client, tokens = daemon.client(), set()
    calls = redis.script_calls()
    for _ in range(PAIRS):
        tokens.add(client("LOCK", "s", "LIMIT", 3, "WAIT", 0))
        expect(client("UNLOCK", "s"), 0)
    expect_between(redis.script_calls() - calls, 0, FEW)
    expect((len(tokens), None in tokens), (PAIRS, False))
    seen = daemon.client(3)("INSPECT", "s")
    expect((seen["state"], seen["taken"], seen["limit"]), ("leased", 0, 3))
    expect(redis("HLEN", "holdfast:{s}"), 4, "all three are kept")


def permits_wanted(place, masters):
    servers = Masters(place, masters) if masters > 1 else place.redis()
    first, second = [place.daemon(name, master=servers, config=KEPT) for name in ("d1", "d2")]
    for daemon in (first, second):
        all_admitted(daemon, masters) if masters > 1 else daemon.admitted()
    for daemon, other in ((first, second), (second, first)):
        permits_used(daemon)
        began = boottime()
        holders = [other.client() for _ in range(3)]
        for client in holders:
            expect_between(client("LOCK", "s", "LIMIT", 3, "WAIT", 20000), 1, TOKEN_MAX)
        expect_between(boottime() - began, 0, 9, "s, which is less than they are kept")
        # What is held is not given back.
        expect(daemon.client()("LOCK", "s", "LIMIT", 3, "WAIT", 0), None)
        for client in holders:
            expect(client("UNLOCK", "s"), 0)


@harness.alone
def test_permits_wanted(place):
    """another host that wants permits gets all that nobody holds, long before their time is over"""
    permits_wanted(place, 1)


@harness.alone
def test_permits_wanted_quorum(place):
    """the same among three masters"""
    permits_wanted(place, 3)


def test_permits_otherwise(place):
    """permits that are only kept stand in the way of no other LIMIT and no other kind of lock, here or elsewhere"""
    redis = place.redis()
    first, second = [place.daemon(name, master=redis, config=KEPT).admitted() for name in ("d1", "d2")]
    ways = [("LIMIT", 4), (), ("LIMIT", 5), ("SHARED",)]
    for daemon in (first, second):
        for words in ways:
            permits_used(first)
            client = daemon.client()
            expect_between(client("LOCK", "s", *words, "WAIT", 0), 1, TOKEN_MAX)
            expect(client("UNLOCK", "s"), 0)


def test_permits_of_the_fleet(place):
    """the picture of all hosts tells permits that are held from those that are only kept"""
    redis = place.redis()
    first, second = [place.daemon(name, master=redis, config=KEPT).admitted() for name in ("d1", "d2")]
    permits_used(first)
    seen = until("all answer", lambda: [one for one in [second.client(3)("INSPECT", "s", "FLEET")] if not one["silent"]])[0]
    expect((seen["state"], seen["taken"], seen["limit"], len(seen["holders"])), ("leased", 0, 3, 3))
    client = first.client()
    expect_between(client("LOCK", "s", "LIMIT", 3, "WAIT", 0), 1, TOKEN_MAX)
    seen = second.client(3)("INSPECT", "s", "FLEET")
    expect((seen["state"], seen["taken"], len(seen["holders"])), ("held", 1, 3))


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


@harness.alone
def test_wanted(place):
    """another host that wants it has it long before its time is over"""
    wanted(place, 1)


@harness.alone
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
