#!/usr/bin/env python3
"""Latches over two daemons and one master: who waits is told, each counts once, and what is lost is said to be."""

import os

import harness
import resp
import tool
from harness import BRISK, boottime, expect, expect_between, expect_code, expect_not_before, took, until

DAY_MS = 86400000
# Renewals and HELLOs come seldom: what is done sooner is not due to them.
GUARDED = "lease: 2s\nclock-margin: 100ms\nrestart-guard: auto\n"


def pair(place, config=""):
    redis = place.redis()
    return [redis] + [place.daemon(name, master=redis, config=config) for name in ("d1", "d2")]


def awaited(daemon, name, count=1):
    """Waits until so many wait for the latch there, and the master has said that it is not open."""
    with resp.Client(daemon.socket, 3) as client:
        until("%d in line for %s" % (count, name), lambda: len(client("INSPECT", name).get("waiters", ())) >= count)


def lost(answer, why):
    expect_code(answer, "LOST")
    expect(answer.split(" ")[1], why)


def test_opens(place):
    """workers of two daemons count down, and whoever waits at either is told when it opens, not before"""
    _, d1, d2 = pair(place)
    setter = d1.client()
    expect(setter("LATCH", "ready", "SET", 4), 1)
    expect(d2.client()("LATCH", "ready", "SET", 9), 0)
    waiters = [daemon.client() for daemon in (d1, d2) for _ in range(20)]
    for waiter in waiters:
        waiter.send("LATCH", "ready", "AWAIT")
    for daemon in (d1, d2):
        awaited(daemon, "ready", 20)
    workers = [daemon.client() for daemon in (d1, d2, d1, d2)]
    for left, worker in zip((3, 2, 1), workers):
        expect(worker("LATCH", "ready", "DOWN"), left)
    expect(setter("LATCH", "ready", "COUNT"), 1)
    for waiter in waiters:
        expect(waiter.take(), None, "told too early")
    opened = boottime()
    expect(workers[3]("LATCH", "ready", "DOWN"), 0)
    for waiter in waiters:
        expect(waiter.reply(), 0)
    took(boottime() - opened, 0.05, "until 40 clients of two daemons knew that it is open")
    expect(workers[0]("LATCH", "ready", "AWAIT", "WAIT", 0), 0, "it stays open")
    expect(setter("LATCH", "ready", "DOWN", 5), 0)


def test_counts_once(place):
    """a session counts once, a tag for itself, a larger number for what it is larger by, also after its end"""
    _, d1, d2 = pair(place)
    one, other = d1.client(), d2.client()
    expect(one("LATCH", "l", "SET", 10), 1)
    for _ in range(3):
        expect(one("LATCH", "l", "DOWN"), 9)
    expect(one("LATCH", "l", "DOWN", 3), 7)
    expect(one("LATCH", "l", "DOWN", 2), 7)
    expect(one("LATCH", "l", "DOWN", "OWNER", "t1"), 6)
    expect(one("LATCH", "l", "DOWN", "OWNER", "t1"), 6)
    expect(one("LATCH", "l", "DOWN", 2, "OWNER", "t2"), 4)
    joined = d1.client()
    expect(joined("SESSION", "JOIN", one("SESSION", "SECRET")), 0)
    expect(joined("LATCH", "l", "DOWN", 3), 4, "the same session")
    one.close()
    joined.close()
    expect(other("LATCH", "l", "COUNT"), 4, "what was done stays done")
    expect(other("LATCH", "l", "DOWN", 100), 0)


def test_not_there(place):
    """a latch that is not there is waited for, and nothing else"""
    _, d1, d2 = pair(place)
    waiter, other = d1.client(), d2.client()
    expect(other("LATCH", "l", "COUNT"), None)
    expect_code(other("LATCH", "l", "DOWN"), "ERR")
    expect(other("LATCH", "l", "AWAIT", "WAIT", 0), None)
    started = boottime()
    expect(other("LATCH", "l", "AWAIT", "WAIT", 100), None)
    expect_not_before(boottime(), started + 0.1, "the end of WAIT", harness.WHOLE_MS)
    waiter.send("LATCH", "l", "AWAIT")
    awaited(d1, "l")
    expect(other("LATCH", "l", "SET", 1), 1)
    expect(other("LATCH", "l", "DOWN"), 0)
    expect(waiter.reply(), 0)
    # A lock of the same name is another thing.
    expect_between(waiter("LOCK", "l", "WAIT", 0), 1, 2 ** 53)


def test_daemon_killed(place):
    """a daemon is killed: what its clients counted stays, and whoever waits elsewhere is told by the others"""
    _, d1, d2 = pair(place)
    waiter = d1.client()
    expect(d2.client()("LATCH", "l", "SET", 2), 1)
    waiter.send("LATCH", "l", "AWAIT")
    awaited(d1, "l")
    expect(d2.client()("LATCH", "l", "DOWN"), 1)
    d2.kill()
    d2.start()
    expect(d2.client()("LATCH", "l", "DOWN"), 0)
    expect(waiter.reply(), 0)


def test_lease(place):
    """a LEASE ends the latch at its time, open or not, and says so to whoever waits"""
    redis, d1, d2 = pair(place)
    waiter, other = d1.client(), d2.client()
    expect(other("LATCH", "l", "SET", 2, "LEASE", 100000), 1)
    waiter.send("LATCH", "l", "AWAIT")
    awaited(d1, "l")
    expect(other("LATCH", "l", "DOWN"), 1)
    expect_between(redis("PTTL", "holdfast:{l}:l"), 1, 100000, "used or not")
    # Soon, but not before all this has been done, however slow the machine is.
    expect(redis("PEXPIRE", "holdfast:{l}:l", 50), 1)
    lost(waiter.reply(), "lease")
    expect(waiter("LATCH", "l", "COUNT"), None)
    expect_code(other("LATCH", "l", "DOWN"), "ERR")
    expect(other("LATCH", "l", "SET", 1), 1)
    expect_between(redis("PTTL", "holdfast:{l}:l"), DAY_MS - 60000, DAY_MS, "without LEASE")
    expect(other("LATCH", "l", "DOWN"), 0, "what was counted in the other one does not count here")


def forgotten(place, forget):
    """A latch known at d1 alone; the answers of both daemons when the master is back without it, or with too much."""
    redis, d1, d2 = pair(place)
    waiter, worker, stranger = d1.client(), d1.client(), d2.client()
    expect(worker("LATCH", "l", "SET", 2), 1)
    expect(worker("LATCH", "l", "DOWN"), 1)
    waiter.send("LATCH", "l", "AWAIT")
    awaited(d1, "l")
    mark = d2.output.mark()
    forget(redis)
    lost(waiter.reply(), "forgotten")
    lost(worker("LATCH", "l", "DOWN"), "forgotten")
    lost(worker("LATCH", "l", "COUNT"), "forgotten")
    lost(worker("LATCH", "l", "AWAIT", "WAIT", 0), "forgotten")
    d2.output.wait(r"master\.(admitted|flushed)", mark)
    until("d2 uses the master", lambda: not isinstance(stranger("LATCH", "other", "COUNT"), resp.Error))
    answer = stranger("LATCH", "l", "DOWN")
    # It is made again, and is another one.
    expect(stranger("LATCH", "l", "SET", 1), 1)
    waiter.send("LATCH", "l", "AWAIT")
    awaited(d1, "l")
    expect(worker("LATCH", "l", "DOWN"), 0)
    expect(waiter.reply(), 0)
    return answer


def killed(redis):
    redis.kill()
    redis.restart()


def test_forgotten(place):
    """the master comes back empty: lost to those who know the latch, to others there is none"""
    expect_code(forgotten(place, killed), "ERR")


def test_flushed(place):
    """a flush is heard at once, and the latch is lost"""
    expect_code(forgotten(place, lambda redis: expect(redis("FLUSHALL"), "OK")), "ERR")


def test_stale(place):
    """the master comes back with what it knew some time ago: lost to everybody, for it may have been more"""
    def stale(redis):
        expect(redis("SAVE"), "OK")
        killed(redis)
    lost(forgotten(place, stale), "forgotten")


def test_guarded(place):
    """while the master is guarded nothing is set nor counted, and who waits goes on"""
    redis, d1, _ = pair(place, GUARDED)
    d1.admitted()
    client, waiter = d1.client(), d1.client()
    waiter.send("LATCH", "l", "AWAIT")
    awaited(d1, "l")
    mark = d1.output.mark()
    killed(redis)
    d1.output.wait(r"master\.guarded", mark)
    expect_code(client("LATCH", "l", "SET", 1), "GUARD")
    expect_code(client("LATCH", "l", "DOWN"), "GUARD")
    expect_code(client("LATCH", "l", "AWAIT", "WAIT", 0), "GUARD")
    d1.output.wait(r"master\.admitted", mark)
    expect(client("LATCH", "l", "SET", 1), 1)
    expect(client("LATCH", "l", "DOWN"), 0)
    expect(waiter.reply(), 0)


def test_away(place):
    """a master that stands still counts, when it goes on, what was sent to it; said again it counts once"""
    redis, d1, d2 = pair(place, BRISK)
    worker, waiter = d1.client(), d2.client()
    expect(worker("LATCH", "l", "SET", 3), 1)
    waiter.send("LATCH", "l", "AWAIT")
    awaited(d2, "l")
    redis.process.stop()
    expect_code(worker("LATCH", "l", "DOWN"), "NOMASTER")
    expect_code(worker("LATCH", "l", "DOWN"), "NOMASTER")
    redis.process.cont()

    def again():
        left = worker("LATCH", "l", "DOWN")
        return left if isinstance(left, int) else expect_code(left, "NOMASTER")
    expect(until("the master goes on", again), 2)
    expect(worker("LATCH", "l", "DOWN"), 2)
    expect(d2.client()("LATCH", "l", "DOWN", 2), 0)
    expect(waiter.reply(), 0)


def test_messages_lost(place):
    """where every message is lost, who waits looks for himself"""
    redis, d1, d2 = pair(place)
    waiter, worker = d1.client(), d2.client()
    expect(worker("LATCH", "l", "SET", 1), 1)
    waiter.send("LATCH", "l", "AWAIT")
    awaited(d1, "l")
    redis("DEL", "holdfast:{l}:lw")  # who wants to be told
    opened = boottime()
    expect(worker("LATCH", "l", "DOWN"), 0)
    expect(waiter.reply(), 0)
    took(boottime() - opened, 1.2, "without a message")


def test_end_of_input(place):
    """when no more requests come, AWAIT becomes WAIT 0 and everything is answered"""
    _, d1, _ = pair(place)
    client = d1.client(form="inline")
    client.send_raw(b"LATCH l SET 2\r\nLATCH l DOWN\r\nLATCH l AWAIT\r\nLATCH l COUNT\r\n")
    client.socket.shutdown(1)
    expect([client.reply() for _ in range(4)], [1, 1, None, 1])
    expect(client.closed(), True)


def test_several_masters(place):
    """several masters have no latches, and say so"""
    servers = [place.redis("r%d" % n) for n in range(3)]
    daemon = place.daemon(master=servers)
    answer = daemon.client()("LATCH", "l", "SET", 1)
    expect_code(answer, "ERR")
    expect("single master" in answer, True, answer)


def test_seen(place):
    """INSPECT, LOCKS, EVENTS and the command line show latches"""
    _, d1, d2 = pair(place)
    events, viewer, waiter = d1.client(), d1.client(form=3), d1.client()
    expect(events("EVENTS", "MATCH", "build/*"), "OK")
    expect(viewer("LATCH", "build/7", "SET", 3, "LEASE", 60000), 1)
    expect(events.reply().split(" ")[:2], ["latch.set", "name=build/7"])
    waiter("CLIENT", "SETNAME", "deployer")
    waiter.send("LATCH", "build/7", "AWAIT", "WAIT", 50000)
    awaited(d1, "build/7")
    expect(viewer("LATCH", "build/7", "DOWN"), 2)
    view = viewer("INSPECT", "build/7")
    expect([view[key] for key in ("name", "kind", "state", "set", "left", "master")],
           ["build/7", "latch", "closed", 3, 2, "admitted"])
    expect_between(view["live_ms"], 1, 63000)
    (one,) = view["waiters"]
    expect((one["client"], one["pid"]), ("deployer", os.getpid()))
    expect_between(one["left_ms"], 1, 50000)
    cursor, (row,) = viewer("LOCKS", "MATCH", "build/*")
    expect(cursor, "0")
    expect([row[key] for key in ("name", "kind", "state", "left", "waiters")], ["build/7", "latch", "closed", 2, 1])
    status, output = tool.call(place, d1, "show", "build/7")
    expect((status, "2 of 3 steps" in output), (0, True), output)
    status, output = tool.call(place, d1, "ls")
    expect((status, "build/7" in output), (0, True), output)
    expect(d2.client()("LATCH", "build/7", "DOWN", 2), 0)
    expect(waiter.reply(), 0)
    expect(events.reply().split(" ")[:2], ["latch.opened", "name=build/7"])
    expect(viewer("INSPECT", "build/7")["state"], "open")
    expect(d1.info()["latches"], "1")


def test_bounded(place):
    """one user makes so many latches, whoever waits for the answers; those there are serve on, and room comes back"""
    redis = place.redis()
    daemon = place.daemon(master=redis, config="limits: { latches-per-user: 4 }\n").admitted()
    hasty = daemon.client()
    hasty.send("LATCH", "l1", "SET", 3)
    hasty.close()
    client = daemon.client()
    until("it has been made", lambda: client("LATCH", "l1", "COUNT") == 3)
    expect(client("LATCH", "l2", "SET", 1), 1)
    expect(client("LATCH", "l3", "SET", 101, "LEASE", 4000), 1)
    answer = daemon.client()("LATCH", "l4", "SET", 1)
    expect_code(answer, "LIMIT")
    expect("latches-per-user" in answer, True, answer)
    expect(client("LATCH", "l2", "SET", 1), 0)
    expect(client("LATCH", "l2", "DOWN"), 0)
    until("the time of one is over", lambda: client("LATCH", "l4", "SET", 1) == 1)
    expect_between(len(redis("KEYS", "*:l")), 3, 4)


if __name__ == "__main__":
    harness.main(globals())
