#!/usr/bin/env python3
"""Names that other libraries lock, too: what these write, done by hand at the Redis (see tests/interop/rivals)."""

import json
import re

import harness
import tool
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


def test_redisson_shared_channel(place):
    """names with one channel, as x and {x}: the end of either wakes who waits, also when nobody waits for the other"""
    redis = place.redis()
    config = "lease: 10s\nrules:\n  - { match: '*', interop: redisson }\n"
    daemon = place.daemon(master=redis, config=config).admitted()
    for name in ("x", "{x}"):
        redis("HSET", name, "other:1", "1")
    one, two = daemon.client(), daemon.client()
    one.send("LOCK", "x")
    until("the daemon listens", lambda: redis("PUBSUB", "NUMSUB", CHANNEL)[1] == 1)
    two.send("LOCK", "{x}")
    daemon.queued("{x}")
    redis("DEL", "x")
    redis("PUBLISH", CHANNEL, "0")
    # Its timer alone would look again after a third of the lease.
    expect(isinstance(one.reply(), int), True)
    one("UNLOCK", "x")
    one("LOCK", "x")
    expect(redis("PUBSUB", "NUMSUB", CHANNEL)[1], 1)
    redis("DEL", "{x}")
    redis("PUBLISH", CHANNEL, "0")
    expect(isinstance(two.reply(), int), True)


def test_redisson_that_died(place):
    """an RLock whose holder died ends with its time to live"""
    redis, daemon = redisson(place)
    redis("HSET", "x", "other:1", "1")
    redis("PEXPIRE", "x", "300")
    expect(isinstance(daemon.client()("LOCK", "x"), int), True)


def test_redisson_clock_back(place):
    """the RLock of a daemon that died ends within a lease and the margin, though the clock stepped back by a minute"""
    redis, daemon = redisson(place)
    dead = "0123456789abcdef" * 2 + ":7"
    redis("HSET", "x", dead, "1")
    redis("PEXPIRE", "x", "61100")
    redis("HSET", "x1", "b4a1f6fc-0d2b-4f0e-9d4c-1f0e5a3c2b1d:7", "1")
    redis("PEXPIRE", "x1", "61100")
    client = daemon.client()
    expect(client("LOCK", "x1", "WAIT", "0"), None)
    expect(client("LOCK", "x", "WAIT", "0"), None)
    harness.expect_between(redis("PTTL", "x"), 1, 1100)
    # A time to live of Redisson's own is what it says.
    harness.expect_between(redis("PTTL", "x1"), 1101, 61100)


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
    """another kind of key is told, and shared locks, permits and DOWNGRADE are refused, with the reason"""
    redis, daemon = redisson(place)
    redis("SET", "x", "a string")
    client = daemon.client()
    expect_code(client("LOCK", "x"), "WRONGKIND")
    expect(redis("GET", "x"), "a string")
    expect_code(client("LOCK", "x1", "SHARED"), "WRONGKIND")
    expect_code(client("LOCK", "x1", "LIMIT", "2"), "WRONGKIND")
    token = client("LOCK", "x1")
    expect_code(client("DOWNGRADE", "x1"), "WRONGKIND")
    harness.expect_between(client("CHECK", "x1", "TOKEN", token), 1, 1000)


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


def signalled(place):
    return world(place, "python-redis-lock")


def test_key_of_an_application(place):
    """a key of an application's data, which never expires, is told as that, with its name, and not as a holder on another host"""
    redis, daemon = string(place)
    redis("SET", "lock:x", "data")
    foreign = daemon.client(form=3)("INSPECT", "x", "FLEET")["foreign"]
    expect(foreign, {"key": "lock:x", "type": "string", "left_ms": -1})
    wait = tool.start(place, daemon, "run", "x", "--", "true")
    wait.output.wait(r"waiting for x: held by another program: its key lock:x \(string\) at the master never expires")
    expect("lock:x (string) at the master never expires" in tool.call(place, daemon, "show", "x")[1], True)
    redis("PEXPIRE", "lock:x", "60000")
    expect(bool(re.search(r"held by +another program: its key lock:x \(string\) at the master expires in (59|1m|60)",
                          tool.call(place, daemon, "show", "x")[1])), True)
    expect(json.loads(tool.call(place, daemon, "show", "--json", "x")[1])["state"], "held")
    redis("DEL", "lock:x")
    expect(wait.wait(), 0)
    expect(daemon.client(form=3)("INSPECT", "x", "FLEET")["foreign"], None)


def test_signal_wakes(place):
    """the end of a hold of ours wakes one waiter of python-redis-lock; if there is none, the element ends after a second"""
    redis, daemon = signalled(place)
    client = daemon.client()
    client("LOCK", "x")
    expect(redis("SET", "lock:x", "theirs", "NX", "EX", "60"), None)
    waiters = [place.keep(harness.resp.Client(redis.socket)) for _ in range(2)]
    for number, waiter in enumerate(waiters, 1):
        waiter.send("BLPOP", "lock-signal:x", "0")
        until("it waits", lambda number=number: "blocked_clients:%d" % number in redis("INFO", "clients"))
    client("UNLOCK", "x")
    expect(waiters[0].reply(), ["lock-signal:x", "1"])
    expect((waiters[1].silent(0.2), redis("EXISTS", "lock:x")), (True, 0))
    client("LOCK", "x")
    client("UNLOCK", "x")
    expect(waiters[1].reply(), ["lock-signal:x", "1"])
    client("LOCK", "x")
    client("UNLOCK", "x")
    until("it is released", lambda: redis("EXISTS", "lock:x") == 0)
    harness.expect_between(redis("PTTL", "lock-signal:x"), -2, 1000)
    until("nothing is left", lambda: redis("EXISTS", "lock-signal:x") == 0)


def test_signal_excludes_us(place):
    """a lock of python-redis-lock is respected, and two daemons that wait for it have it one after the other"""
    redis, daemon = signalled(place)
    other = place.daemon("d2", master=redis, config="lease: 1s\nclock-margin: 100ms\nrules:\n"
                         "  - { match: 'x*', interop: python-redis-lock }\n").admitted()
    expect(redis("SET", "lock:x", "theirs", "NX", "EX", "60"), "OK")
    clients = [daemon.client(), other.client()]
    expect(clients[0]("LOCK", "x", "WAIT", "0"), None)
    for client in clients:
        client.send("LOCK", "x")
    for one in (daemon, other):
        one.queued("x")
    redis("DEL", "lock:x")
    with daemon.client(form=3) as one, other.client(form=3) as two:
        held = [lambda viewer=viewer: any(lock["state"] == "held" for lock in viewer("LOCKS")[1]) for viewer in (one, two)]
        until("one of them has it", lambda: held[0]() or held[1]())
        first, second = clients if held[0]() else clients[::-1]
    token = first.reply()
    expect(isinstance(token, int), True)
    expect(first("UNLOCK", "x"), 0)
    harness.expect_between(second.reply(), token + 1, 2 ** 53)


def test_signal_kinds(place):
    """a list in the way of the lock is told, and so are kinds that the other library does not know"""
    redis, daemon = signalled(place)
    redis("LPUSH", "lock:x", "a list")
    client = daemon.client()
    expect_code(client("LOCK", "x"), "WRONGKIND")
    expect_code(client("LOCK", "x1", "SHARED"), "WRONGKIND")


SHARED_KEYS = """lease: 2s
clock-margin: 100ms
rules:
  - { match: 'bill*', key: 'lock:%' }
  - { match: 'x*', interop: redisson }
  - { match: 'native', wait: forever }
  - { match: '*', key: '%' }
"""


def refused(client, *request):
    answer = client(*request)
    expect_code(answer, "ERR")
    return str(answer)


def test_one_key_two_names(place):
    """of two names that have one key at the master one is locked, and the other refused, through every daemon"""
    redis = place.redis()
    daemons = [place.daemon(name, master=redis, config=SHARED_KEYS).admitted() for name in ("d1", "d2")]
    holder, others = daemons[0].client(), [daemon.client() for daemon in daemons]
    token = holder("LOCK", "billing")
    for other in others:
        said = refused(other, "LOCK", "lock:billing", "WAIT", "0")
        for part in ("lock:billing", "billing", "bill*"):
            expect(part in said, True, said)
        refused(other, "MLOCK", "2", "more", "lock:billing")
        expect(other("CHECK", "lock:billing"), None)
        expect_code(other("UNLOCK", "lock:billing"), "NOTHELD")
    harness.expect_between(holder("CHECK", "billing", "TOKEN", token), 1, 2000)
    # Whoever waits under the one name is called when it is free: no timer of another name has to run out.
    others[1].send("LOCK", "billing")
    daemons[1].queued("billing")
    expect(holder("UNLOCK", "billing"), 0)
    harness.expect_between(others[1].reply(), token + 1, 2 ** 53)
    # Whether anybody has the first name or not.
    others[1]("UNLOCK", "billing")
    refused(others[0], "LOCK", "lock:billing")


def test_keys_of_holdfast(place):
    """no name locks a key that holdfast keeps for itself, and what is there stays whole"""
    redis = place.redis()
    daemon = place.daemon(master=redis, config=SHARED_KEYS).admitted()
    client, other = daemon.client(), daemon.client()
    expect(isinstance(client("LOCK", "native"), int), True)
    for name in ("holdfast:{native}", "holdfast:{native}:q", "holdfast:{native}:w", "holdfast:{native}:f",
                 "holdfast:{native}:l", "holdfast:node", "holdfast:reclaimed", "redisson_lock_token:{x}",
                 "lock-signal:x"):
        expect("holdfast's own" in refused(other, "LOCK", name), True, name)
    harness.expect_between(client("CHECK", "native"), 1, 2000)
    # A name may look like one of them where nothing of holdfast's lies.
    expect(isinstance(other("LOCK", "holdfast:nodes"), int), True)
    expect(isinstance(other("LOCK", "holdfast:inbox:" + 32 * "0"), int), True)
    expect(redis("KEYS", "redisson_lock_token:*"), [])


if __name__ == "__main__":
    harness.main(globals())
