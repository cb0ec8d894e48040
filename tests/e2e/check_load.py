#!/usr/bin/env python3
"""The programs behind `make bench` measure what they say, and find what is wrong while they do."""

import itertools
import json
import os
import time

import harness
import resp
from harness import expect, expect_between
from liar import Liar

SHORT = ("-t", "0.05")
RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"
TRY = "if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return false end return redis.call('PTTL', KEYS[1])"
TELL = "redis.call('PUBLISH', KEYS[2], 'free') return redis.call('DEL', KEYS[1])"


def program(name):
    path = os.path.join(harness.BUILD, "bench", name)
    if not os.access(path, os.X_OK):
        raise harness.Skip("%s is not built" % path)
    return path


def call(place, name, *words):
    """(exit status, everything it printed)"""
    process = place.run(program(name), *[str(word) for word in words])
    status = process.wait()
    process.output.thread.join(harness.PATIENCE)
    return status, process.output.text()


def figures(place, name, *words):
    status, output = call(place, name, *words)
    expect(status, 0, output)
    return json.loads(output)


def tcp(place, name="redis"):
    port = harness.free_port()
    redis = place.redis(name, options=["--port", str(port)])
    return redis, "127.0.0.1:%d" % port


def test_count(place):
    """a load counts the grants that the daemon counts, and leaves none"""
    daemon = place.daemon(master=place.redis(), config="log: { level: warning }\n").admitted()
    for kind, clients in (("lock", 5), ("handoff", 5), ("first", 5)):
        before = int(daemon.info()["locks_granted"])
        result = figures(place, "load", "-c", clients, *SHORT, "-m", daemon.process.pid, kind, daemon.socket)
        after = daemon.info()
        # What it did before the time began to count is little, and there.
        expect_between(result["cycles"], 1, int(after["locks_granted"]) - before, kind)
        expect((after["grants"], after["waiters"]), ("0", "0"), kind)
        expect_between(result["used_us"][0], 0.01, 1e6, kind)
        expect_between(result["least_share"], 0, result["most_share"], kind)


def test_places(place):
    """a load deals its clients out to several daemons, and judges them as one"""
    redis = place.redis()
    daemons = [place.daemon("d%d" % number, master=redis, config="log: { level: warning }\n").admitted()
               for number in range(2)]
    result = figures(place, "load", "-c", 4, "-t", 0.3, "handoff", *[daemon.socket for daemon in daemons])
    expect_between(result["cycles"], 4, 2 ** 53)
    expect_between(result["least_place"], 0, 1)
    expect_between(result["most_place"], 1, 2)


def test_judge(place):
    """a load ends with 1 when two hold one lock at once"""
    tokens = itertools.count(1)
    status, output = call(place, "load", "-c", 2, "-t", 30, "handoff", Liar(place, lambda: next(tokens)).socket)
    expect((status, "granted while another holds it" in output), (1, True), output)


def test_hello(place):
    """a load asks for nothing before each of its clients was answered once"""
    seen, tokens = [], itertools.count(1)

    class Witness(Liar):
        def answer(self, words):
            seen.append(words[0])
            return super().answer(words)

    figures(place, "load", "-c", 1, *SHORT, "handoff", Witness(place, lambda: next(tokens)).socket)
    expect(seen[:3], ["PING", "LOCK", "UNLOCK"])
    seen.clear()
    call(place, "load", "-c", 40, "-n", 40, "-t", 0.05, "handoff", place.path + "/liar")
    expect(seen[:41], ["PING"] * 40 + ["LOCK"])


def test_tokens(place):
    """a load ends with 1 when a token does not grow"""
    status, output = call(place, "load", "-c", 1, "-t", 30, "lock", Liar(place, lambda: 7).socket)
    expect((status, "token that does not grow" in output), (1, True), output)


def test_direct(place):
    """a load of direct clients leaves no key"""
    redis, at = tcp(place)
    sha1 = redis("SCRIPT", "LOAD", RELEASE)
    for kind in ("direct", "direct-first"):
        expect_between(figures(place, "load", "-c", 3, *SHORT, "-s", sha1, kind, at)["cycles"], 3, 2 ** 53)
        expect(redis("DBSIZE"), 0, kind)


def test_rivals(place):
    """rivals exclude each other, all of them, and leave no key"""
    redis, at = tcp(place)
    scripts = [redis("SCRIPT", "LOAD", text) for text in (RELEASE, TRY, TELL)]
    for kind, release in (("redsync", scripts[0]), ("redisson", scripts[2])):
        result = figures(place, "rival", "-c", 3, "-w", 0.1, "-t", 0.3, "-r", scripts[1], "-u", release, kind, at)
        expect_between(result["cycles"], 1, 2 ** 53, kind)
        expect_between(result["changes_per_second"], 0, result["per_second"], kind)
        expect(redis("DBSIZE"), 0, kind)


def test_processes(place):
    """clients that are processes hand a lock of the daemon on, and leave none"""
    daemon = place.daemon(master=place.redis(), config="log: { level: warning }\n").admitted()
    result = figures(place, "rival", "-c", 3, "-t", 0.3, "holdfast", daemon.socket)
    info = daemon.info()
    expect_between(result["cycles"], 3, int(info["locks_granted"]))
    expect((info["grants"], info["waiters"], result["starved"]), ("0", "0", 0))


def test_rival_judge(place):
    """a rival ends with 1 when the lock is given to two, or a token does not grow"""
    redis, at = tcp(place)
    free, done = [redis("SCRIPT", "LOAD", text) for text in ("return false", "return 1")]
    # Two would meet by chance alone: a lock is held for some microseconds.
    status, output = call(place, "rival", "-c", 8, "-t", 30, "-r", free, "-u", done, "redisson", at)
    expect((status, "granted while another holds it" in output), (1, True), output)
    status, output = call(place, "rival", "-c", 1, "-t", 30, "holdfast", Liar(place, lambda: 7).socket)
    expect((status, "token that does not grow" in output), (1, True), output)


def test_hold(place):
    """hold keeps as many locks and waiters as it is told, and each waiter gets its turn"""
    daemon = place.daemon(master=place.redis(), config="log: { level: warning }\n").admitted()
    process = place.run(program("hold"), "20", daemon.socket, stdin=-1)
    process.output.wait("ready")

    def tell(line, count):
        process.process.stdin.write(line + b"\n")
        process.process.stdin.flush()
        harness.until(line.decode(), lambda: process.output.mark() > count)

    tell(b"lock 60", 1)
    expect(daemon.info()["grants"], "1200")
    tell(b"wait", 2)
    harness.until("19 wait", lambda: daemon.info()["waiters"] == "19")
    tell(b"drain", 3)
    info = daemon.info()
    expect((info["grants"], info["waiters"]), ("1200", "0"))
    process.process.stdin.close()
    expect(process.wait(), 0, process.output.tail())


def test_delay(place):
    """delay keeps bytes for as long as it is told, each way"""
    _, at = tcp(place)
    line = place.run(program("delay"), "20000", at)
    port = int(line.output.wait(r"^\d+$")[1].group(0))
    with resp.Client(("127.0.0.1", port)) as client:
        for _ in range(3):
            began = time.monotonic()
            expect(client("ECHO", "x" * 1000), "x" * 1000)
            harness.expect_not_before(time.monotonic(), began + 0.04, "an answer from afar")


if __name__ == "__main__":
    harness.main(globals())
