#!/usr/bin/env python3
"""Readers and permits of two hosts: who has what together with whom, on one master and on three."""

import random
import threading

import harness
import resp
from check_quorum import Masters, all_admitted
from harness import boottime, expect, expect_between, expect_code, took, until
from scene import pause

TOKEN_MAX = 2 ** 53
CONFIG = "lease: 3s\nclock-margin: 300ms\nrestart-guard: auto\n"
BRIEFLY = 0.1  # s in which an answer would come
READ = 0.1  # s that a reader holds it
ROUNDS = 60


def hosts(place, masters):
    """Two daemons."""
    if masters == 1:
        redis = place.redis()
        return redis, [place.daemon(name, master=redis, config=CONFIG).admitted() for name in ("d1", "d2")]
    servers = Masters(place, masters)
    daemons = [place.daemon(name, master=servers, config=CONFIG) for name in ("d1", "d2")]
    return servers, [all_admitted(daemon, masters) for daemon in daemons]


def granted(token):
    expect_between(token, 1, TOKEN_MAX)
    return token


def refused(daemon):
    """A reader that tries once; one that comes in leaves again."""
    with resp.Client(daemon.socket) as client:
        return client("LOCK", "a", "SHARED", "WAIT", 0) is None


def inspect(daemon, name, key):
    return daemon.client(form=3)("INSPECT", name)[key]


class Shape:
    """Counts who is in; whoever comes in counts itself after its grant, and out before it gives it back."""

    def __init__(self, allowed):
        self.allowed = allowed  # of (readers, writers, permits): whether they may be in together
        self.lock = threading.Lock()
        self.inside = [0, 0, 0]
        self.broken = None
        self.entries = 0

    def enter(self, which, count=1):
        with self.lock:
            self.entries += 1
            self.inside[which] += count
            if not self.allowed(*self.inside):
                self.broken = self.broken or "%r are in together" % self.inside

    def leave(self, which, count=1):
        with self.lock:
            self.inside[which] -= count


READER, WRITER, PERMITS = range(3)


def run_all(bodies):
    """In threads of their own, of which none may fail."""
    failed = []

    def guarded(body):
        try:
            body()
        except Exception as error:  # told by the test, with its place
            failed.append(error)

    threads = [threading.Thread(target=guarded, args=(body,)) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(harness.PATIENCE * 4)
        expect(thread.is_alive(), False, "a client hangs")
    if failed:
        raise failed[0]


# --- readers ----------------------------------------------------------------------------------------------

def readers(place, masters):
    _, (first, second) = hosts(place, masters)
    one, two, writer, late, other = (first.client(), second.client(), first.client(), second.client(), first.client())
    granted(one("LOCK", "a", "SHARED", "WAIT", 0))
    granted(two("LOCK", "a", "SHARED", "WAIT", 20000))
    expect(inspect(first, "a", "kind"), "shared")
    expect(two("LOCK", "a", "WAIT", 0).code, "UPGRADE")
    expect(second.client()("LOCK", "a", "WAIT", 0), None)
    writer.send("LOCK", "a", "WAIT", 60000)
    first.queued("a")
    # It waits at the first host, and keeps readers away at both.
    expect(other("LOCK", "a", "SHARED", "WAIT", 0), None)
    until("the second host hears of it", lambda: refused(second))
    late.send("LOCK", "a", "SHARED", "WAIT", 60000)
    second.queued("a")
    expect(one("UNLOCK", "a"), 0)
    expect(late.silent(BRIEFLY), True)
    expect(two("UNLOCK", "a"), 0)
    token = granted(writer.reply())
    expect(late.silent(BRIEFLY), True)
    expect(writer("UNLOCK", "a"), 0)
    expect(granted(late.reply()) > token, True, "a reader's token is above the writer's before")


def test_readers(place):
    """readers of two hosts together; a writer waits for all of them, and nobody who comes later reads before it"""
    readers(place, 1)


def test_readers_quorum(place):
    """the same with three masters"""
    readers(place, 3)


def downgrade(place, masters):
    _, (first, second) = hosts(place, masters)
    holder, reader, writer = first.client(), second.client(), second.client()
    token = granted(holder("LOCK", "a", "WAIT", 0))
    reader.send("LOCK", "a", "SHARED", "WAIT", 60000)
    second.queued("a")
    expect(reader.silent(BRIEFLY), True)
    expect(holder("DOWNGRADE", "a"), token)
    granted(reader.reply())
    expect(writer("LOCK", "a", "WAIT", 0), None)
    expect(holder("UNLOCK", "a"), 0)
    expect(writer("LOCK", "a", "WAIT", 0), None)
    expect(reader("UNLOCK", "a"), 0)
    granted(writer("LOCK", "a", "WAIT", 20000))


def test_downgrade(place):
    """a writer that goes on as a reader lets readers of another host in, and no writer in between"""
    downgrade(place, 1)


def test_downgrade_quorum(place):
    """the same with three masters"""
    downgrade(place, 3)


def test_overlapping_readers(place):
    """100 readers of two hosts that always overlap, and a writer at each: it gets in after one read"""
    _, daemons = hosts(place, 1)
    shape = Shape(lambda readers, writers, _: writers == 0 or (writers == 1 and readers == 0))
    stop = threading.Event()
    waits = []

    def reader(daemon):
        client = daemon.client()
        while not stop.is_set():
            granted(client("LOCK", "a", "SHARED"))
            shape.enter(READER)
            pause(READ * random.uniform(0.5, 1))
            shape.leave(READER)
            client("UNLOCK", "a")

    def writer(daemon):
        client = daemon.client()
        for _ in range(5):
            pause(2 * READ)
            asked = boottime()
            granted(client("LOCK", "a"))
            waits.append(boottime() - asked)
            shape.enter(WRITER)
            shape.leave(WRITER)
            client("UNLOCK", "a")
        if len(waits) == 10:
            stop.set()

    run_all([lambda d=d: reader(d) for d in daemons for _ in range(50)] + [lambda d=d: writer(d) for d in daemons])
    expect(shape.broken, None)
    expect(len(waits), 10)
    harness.comment("%d entries; a writer waited %.0f ms in the middle" % (
        shape.entries, sorted(waits)[5] * 1000))
    took(sorted(waits)[5], 2 * READ, "a writer's wait, of 10 the sixth")


# --- permits ----------------------------------------------------------------------------------------------

def permits(place, masters):
    _, (first, second) = hosts(place, masters)
    one, two, three, many, few = (first.client(), second.client(), first.client(), second.client(), first.client())
    for client in (one, two, three):
        granted(client("LOCK", "s", "LIMIT", 3, "WAIT", 20000))
    expect(few("LOCK", "s", "LIMIT", 3, "WAIT", 0), None)
    expect_code(second.client()("LOCK", "s", "LIMIT", 4, "WAIT", 0), "LIMIT")
    expect_code(second.client()("LOCK", "s", "WAIT", 0), "WRONGKIND")
    expect_code(second.client()("LOCK", "s", "SHARED", "WAIT", 0), "WRONGKIND")
    many.send("LOCK", "s", "LIMIT", 3, "PERMITS", 2, "WAIT", 60000)
    second.queued("s")
    until("it stands in the queue", lambda: inspect(second, "s", "position") > 0)
    few.send("LOCK", "s", "LIMIT", 3, "WAIT", 60000)
    first.queued("s")
    expect(one("UNLOCK", "s"), 0)
    # One is free, and kept for who wants two.
    expect(many.silent(BRIEFLY), True)
    expect(few.silent(BRIEFLY), True)
    expect(three("UNLOCK", "s"), 0)
    granted(many.reply())
    expect(few.silent(BRIEFLY), True)
    expect(two("UNLOCK", "s"), 0)
    granted(few.reply())


def test_permits(place):
    """three permits for two hosts; a host that wants two is not passed by one that wants fewer"""
    permits(place, 1)


def test_permits_quorum(place):
    """the same with three masters"""
    permits(place, 3)


def thousands(place, masters):
    """Many holds of all permits that there can be, at once: none is in the way of the others, nor of the master."""
    config = "lease: 1m\nrestart-guard: off\n"
    if masters == 1:
        daemon = place.daemon(master=place.redis(), config=config).admitted()
    else:
        daemon = all_admitted(place.daemon(master=Masters(place, masters), config=config), masters)
    clients = [daemon.client() for _ in range(7)]
    for at, client in enumerate(clients):
        client.send("LOCK", "s%d" % at, "LIMIT", 10000, "PERMITS", 10000)
    for client in clients:
        granted(client.reply())
    for at, client in enumerate(clients):
        expect(client("UNLOCK", "s%d" % at), 0)
    expect("larger than any" in daemon.output.text(), False, daemon.output.text())


def test_thousands(place):
    """seven holds of ten thousand permits each, taken at once"""
    thousands(place, 1)


def test_thousands_quorum(place):
    """the same on three masters"""
    thousands(place, 3)


def test_other_host(place):
    """what a name is in use as at one host is told at the other"""
    _, (first, second) = hosts(place, 1)
    holder, other = first.client(), second.client()
    granted(holder("LOCK", "a", "WAIT", 0))
    expect_code(other("LOCK", "a", "LIMIT", 2, "WAIT", 0), "WRONGKIND")
    expect(holder("UNLOCK", "a"), 0)
    granted(other("LOCK", "a", "LIMIT", 2, "WAIT", 20000))
    expect_code(holder("LOCK", "a", "LIMIT", 3, "WAIT", 0), "LIMIT")
    expect_code(holder("LOCK", "a", "WAIT", 0), "WRONGKIND")
    expect(other("UNLOCK", "a"), 0)
    # Nobody uses it any more: the next one decides.
    # The release leaves behind the answer to UNLOCK.
    harness.until("it has another LIMIT",
                  lambda: isinstance(holder("LOCK", "a", "LIMIT", 3, "PERMITS", 3, "WAIT", 20000), int))


def storm(place, masters):
    _, daemons = hosts(place, masters)
    shape = Shape(lambda _, __, taken: taken <= 3)

    def body(daemon, seed):
        chance = random.Random(seed)
        client = daemon.client()
        for _ in range(ROUNDS):
            count = chance.choice((1, 1, 1, 2, 3))
            granted(client("LOCK", "s", "LIMIT", 3, "PERMITS", count))
            shape.enter(PERMITS, count)
            shape.leave(PERMITS, count)
            expect(client("UNLOCK", "s"), 0)

    run_all([lambda d=d, n=n: body(d, n) for d in daemons for n in range(6)])
    expect(shape.broken, None)
    expect(shape.entries, 12 * ROUNDS)


def test_storm(place):
    """twelve clients of two hosts and three permits, never more"""
    storm(place, 1)


def test_storm_quorum(place):
    """the same with three masters, of which a majority has to give the same permits"""
    storm(place, 3)


# --- a master that forgets --------------------------------------------------------------------------------

def test_restart(place):
    """a master that comes back empty: readers and permits are asserted there again, and nobody else gets in"""
    redis, (first, second) = hosts(place, 1)
    reader, other, permit = first.client(), second.client(), second.client()
    shared = granted(reader("LOCK", "a", "SHARED", "WAIT", 0))
    granted(other("LOCK", "a", "SHARED", "WAIT", 20000))
    granted(permit("LOCK", "s", "LIMIT", 3, "PERMITS", 2, "WAIT", 20000))
    redis.kill()
    redis.start()
    until("all are there again", lambda: len(redis("HKEYS", "holdfast:{a}")) == 3)
    until("the permits too", lambda: len(redis("HKEYS", "holdfast:{s}")) == 3)
    for daemon in (first, second):
        until("the guard is over", lambda d=daemon: d.info()["masters_state"] == "admitted")
    expect_between(reader("CHECK", "a"), 1, 3000)
    expect(first.client()("LOCK", "a", "WAIT", 0), None)
    expect(first.client()("LOCK", "s", "LIMIT", 3, "PERMITS", 2, "WAIT", 0), None)
    granted(first.client()("LOCK", "s", "LIMIT", 3, "WAIT", 20000))
    expect(reader("UNLOCK", "a"), 0)
    expect(other("UNLOCK", "a"), 0)
    expect(granted(reader("LOCK", "a", "WAIT", 20000)) > shared, True, "tokens grow over the restart")


if __name__ == "__main__":
    harness.main(globals())
