#!/usr/bin/env python3
"""Names that other libraries lock, too: what these write, done by hand at the Redis (see tests/interop/rivals)."""

import harness
from harness import expect, expect_code, until

CHANNEL = "redisson_lock__channel:{x}"
COUNTER = "redisson_lock_token:{x}"


def world(place, interop, more="", first=""):
    redis = place.redis()
    config = first + "lease: 1s\nclock-margin: 100ms\nrules:\n  - { match: 'x*', interop: %s%s }\n" % (interop, more)
    return redis, place.daemon(master=redis, config=config).admitted()


def redisson(place):
    return world(place, "redisson")


def string(place):
    return world(place, "string", ", key: 'lock:%'")


def test_redisson_sees_ours(place):
    """a hold of ours is an RLock at the bare name: one field that counts 1, with the lease's time to live"""
    redis, daemon = redisson(place)
    client = daemon.client()
    token = client("LOCK", "x")
    fields = redis("HGETALL", "x")
    expect((len(fields), fields[1], ":" in fields[0]), (2, "1", True), fields)
    harness.expect_between(redis("PTTL", "x"), 1, 1100)
    # What an RFencedLock gets next is above our token.
    expect(int(redis("GET", COUNTER)) >= token, True)
    expect(client("UNLOCK", "x"), 0)
    until("it is released", lambda: redis("EXISTS", "x") == 0)


def test_redisson_is_told(place):
    """the end of a hold of ours is published on Redisson's channel"""
    redis, daemon = redisson(place)
    client = daemon.client()
    client("LOCK", "x")
    with harness.resp.Client(redis.socket) as listener:
        listener("SUBSCRIBE", CHANNEL)
        client("UNLOCK", "x")
        expect(listener.reply(), ["message", CHANNEL, "0"])


def test_redisson_excludes_us(place):
    """an RLock is respected, seen in INSPECT, never taken, and its published end wakes who waits"""
    redis, daemon = redisson(place)
    redis("HSET", "x", "other:1", "1")
    redis("PEXPIRE", "x", "60000")
    client = daemon.client()
    expect(client("LOCK", "x", "WAIT", "0"), None)
    client.send("LOCK", "x")
    until("the daemon listens", lambda: redis("PUBSUB", "NUMSUB", CHANNEL)[1] == 1)
    # Its timer alone would look again after a third of the lease.
    redis("DEL", "x")
    redis("PUBLISH", CHANNEL, "0")
    expect(isinstance(client.reply(), int), True)
    client("UNLOCK", "x")
    until("it listens no longer", lambda: redis("PUBSUB", "NUMSUB", CHANNEL)[1] == 0)


def test_redisson_that_died(place):
    """an RLock whose holder died ends with its time to live"""
    redis, daemon = redisson(place)
    redis("HSET", "x", "other:1", "1")
    redis("PEXPIRE", "x", "300")
    expect(isinstance(daemon.client()("LOCK", "x"), int), True)


def test_redisson_counter(place):
    """tokens are above what the counter of an RFencedLock says"""
    redis, daemon = redisson(place)
    redis("SET", COUNTER, str(3 * 10 ** 15))
    expect(daemon.client()("LOCK", "x") > 3 * 10 ** 15, True)


def test_redisson_restart(place):
    """a hold of ours lives through a Redis that forgot"""
    redis, daemon = world(place, "redisson", first="restart-guard: auto\n")
    client = daemon.client()
    token = client("LOCK", "x")
    redis.kill()
    redis.restart()
    until("the lease is asserted again", lambda: redis("EXISTS", "x") == 1)
    harness.expect_between(client("CHECK", "x", "TOKEN", token), 1, 1000)
    expect(client("UNLOCK", "x"), 0)


def test_redisson_kinds(place):
    """another kind of key is told, and shared locks and permits are refused, with the reason"""
    redis, daemon = redisson(place)
    redis("SET", "x", "a string")
    client = daemon.client()
    expect_code(client("LOCK", "x"), "WRONGKIND")
    expect(redis("GET", "x"), "a string")
    expect_code(client("LOCK", "x1", "SHARED"), "WRONGKIND")


def test_string_both_ways(place):
    """a string lock is ours as theirs: at their key, with a time to live, and whoever has it excludes the other"""
    redis, daemon = string(place)
    client = daemon.client()
    expect(redis("SET", "lock:x", "theirs", "NX", "PX", "60000"), "OK")
    expect(client("LOCK", "x", "WAIT", "0"), None)
    client.send("LOCK", "x")
    daemon.queued("x")
    redis("DEL", "lock:x")
    expect(isinstance(client.reply(), int), True)
    expect(redis("SET", "lock:x", "theirs", "NX", "PX", "60000"), None)
    harness.expect_between(redis("PTTL", "lock:x"), 1, 1100)
    client("UNLOCK", "x")
    until("it is released", lambda: redis("EXISTS", "lock:x") == 0)


def test_string_for_ever(place):
    """a string lock without an end is respected for ever"""
    redis, daemon = string(place)
    redis("SET", "lock:x", "theirs")
    expect(daemon.client()("LOCK", "x", "WAIT", "1500"), None)
    expect(redis("GET", "lock:x"), "theirs")


if __name__ == "__main__":
    harness.main(globals())
