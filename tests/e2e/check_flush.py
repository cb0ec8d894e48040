#!/usr/bin/env python3
"""A master that is flushed while locks are held says so itself: no connection breaks, and nobody waits for a renewal."""

import os
import re

import harness
import resp
from harness import BRISK, boottime, expect, expect_between, expect_code, took

# Renewals and HELLOs come every 2 s: what is done much sooner is not due to them.
CONFIG = "lease: 6s\nclock-margin: 100ms\nrestart-guard: auto\n"
AT_ONCE = 0.1


def stream(daemon):
    events = daemon.client()
    expect(events("EVENTS"), "OK")
    return events


def await_event(events, name):
    """The fields of the next event of this name, and when it came."""
    while True:
        line = events.reply()
        if line.split(" ", 1)[0] == name:
            return line, boottime()


def forgotten(place, flush):
    """A holder keeps what a flush took from the master; the time from the flush to the reclaim."""
    redis = place.redis()
    daemon, other = [place.daemon(name, master=redis, config=CONFIG) for name in ("d1", "d2")]
    daemon.admitted()
    holder = daemon.client()
    expect_between(holder("LOCK", "a", "WAIT", 0), 1, 2 ** 53)
    events = stream(daemon)
    mark = daemon.output.mark()
    flushed = boottime()
    flush(redis)
    daemon.output.wait(r"master\.flushed", mark)
    line, _ = await_event(events, "master.guarded")
    expect("master=" + redis.socket in line, True, line)
    line, reclaimed = await_event(events, "lease.reclaimed")
    expect("name=a " in line + " ", True, line)
    expect_between(holder("CHECK", "a"), 1, 6000)
    expect_code(other.client()("LOCK", "a", "WAIT", 0), "GUARD")
    expect_code(daemon.client()("LOCK", "b", "WAIT", 0), "GUARD")
    expect(redis("GET", "holdfast:{a}") is not None, True, "the lease is there again")
    return reclaimed - flushed


def test_flushall(place):
    """FLUSHALL: the daemon sends HELLO at once, the holder keeps its lock, nobody else gets one"""
    took(forgotten(place, lambda redis: expect(redis("FLUSHALL"), "OK")), AT_ONCE, "until the reclaim")


def test_flushdb(place):
    """FLUSHDB ASYNC out of a script likewise"""
    took(forgotten(place, lambda redis: expect(redis("EVAL", "return redis.call('FLUSHDB', 'ASYNC')", 0), "OK")),
         AT_ONCE, "until the reclaim")


def test_other_database(place):
    """a flush of another database is looked into and changes nothing"""
    redis = place.redis()
    daemon = place.daemon(master=redis, config=BRISK + "restart-guard: auto\n").admitted()
    holder = daemon.client()
    expect_between(holder("LOCK", "a", "WAIT", 0), 1, 2 ** 53)
    mark = daemon.output.mark()
    with resp.Client(redis.socket) as client:
        expect(client("SELECT", 5), "OK")
        expect(client("FLUSHDB"), "OK")
    daemon.output.wait(r"master\.flushed", mark)
    daemon.output.wait(r"master\.admitted", mark)
    expect("master.guarded" in daemon.output.text(mark), False)
    expect_between(holder("CHECK", "a"), 1, 2000)


def test_rights(place):
    """the rights that the manual names are enough for a user, and a flush is heard with them"""
    with open(os.path.join(harness.ROOT, "packaging", "man", "holdfastd.8"), encoding="utf-8") as stream:
        recipe = re.search(r"^ACL SETUSER .*?(?=^\.Ed)", stream.read(), re.M | re.S).group(0)
    redis = place.redis()
    expect(redis(*recipe.split()), "OK")

    class Master:
        url = redis.url + "?user=holdfast"
    daemon, other = [
        place.daemon(name, master=Master, config=BRISK + "restart-guard: auto\n",
                     environment={"HOLDFAST_MASTER_PASSWORD": "password"}).admitted() for name in ("d1", "d2")]
    holder, waiter = daemon.client(), other.client()
    token = holder("LOCK", "a", "WAIT", 0)
    waiter.send("LOCK", "a", "WAIT", 20000)
    expect(waiter.silent(0.5), True, "nobody else has it")
    expect(holder("UNLOCK", "a"), 0)
    expect_between(waiter.reply(), token + 1, 2 ** 53)
    expect(redis("FLUSHALL"), "OK")
    for one in (daemon, other):
        one.output.wait(r"master\.flushed")
    expect_between(waiter("CHECK", "a"), 1, 2000)
    expect([line for line in redis("ACL", "LOG")], [], "what the user was not allowed")


if __name__ == "__main__":
    harness.main(globals())
