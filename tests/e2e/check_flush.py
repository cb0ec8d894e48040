#!/usr/bin/env python3
"""A master that is flushed while locks are held says so itself: no connection breaks, and nobody waits for a renewal."""

import harness
import resp
from harness import boottime, comment, expect, expect_between, expect_code

# Renewals and greetings come every 2 s: what is done much sooner is not due to them.
CONFIG = "lease: 6s\nclock-margin: 100ms\n"
AT_ONCE = 1.0


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
    """FLUSHALL: the daemon greets at once, the holder keeps its lock, nobody else gets one"""
    took = forgotten(place, lambda redis: expect(redis("FLUSHALL"), "OK"))
    comment("reclaimed %.1f ms after the flush" % (took * 1000))
    expect_between(took, 0, AT_ONCE, "seconds until the reclaim")


def test_flushdb(place):
    """FLUSHDB ASYNC out of a script likewise"""
    took = forgotten(place, lambda redis: expect(redis("EVAL", "return redis.call('FLUSHDB', 'ASYNC')", 0), "OK"))
    expect_between(took, 0, AT_ONCE, "seconds until the reclaim")


def test_other_database(place):
    """a flush of another database is looked into and changes nothing"""
    redis = place.redis()
    daemon = place.daemon(master=redis).admitted()
    holder = daemon.client()
    expect_between(holder("LOCK", "a", "WAIT", 0), 1, 2 ** 53)
    mark = daemon.output.mark()
    with resp.Client(redis.socket) as client:
        expect(client("SELECT", 5), "OK")
        expect(client("FLUSHDB"), "OK")
    daemon.output.wait(r"master\.flushed", mark)
    daemon.output.wait(r"master\.admitted", mark)
    expect("master.guarded" in "\n".join(line for _, line in daemon.output.lines[mark:]), False)
    expect_between(holder("CHECK", "a"), 1, 1000)


if __name__ == "__main__":
    harness.main(globals())
