#!/usr/bin/env python3
"""Memory: what is refused before it runs out and when it has, what goes on, and what goes back to the system."""

import resource

import harness
import resp
from harness import LEASE_MS, boottime, expect, expect_between, expect_code
from memoryshim import Memory, own_allocator

TOKEN_MAX = 2 ** 53
# So that one session can take as much as there is.
WIDE = "grants-per-session: 1000000, waiters-per-session: 100000, locks-per-user: 10000000"
QUIET = "log: { level: info }\n"


def fill(daemon, client, stem, most=200000):
    """Locks other names until a LOCK is refused for want of memory; the names that it got, and the refusal."""
    names = []
    while len(names) < most:
        batch = ["%s-%d-%s" % (stem, len(names) + at, "x" * 400) for at in range(500)]
        for name in batch:
            client.send("LOCK", name, "WAIT", 45000)
        answers = [client.reply() for _ in batch]
        names += [name for name, answer in zip(batch, answers) if isinstance(answer, int)]
        refusals = [answer for answer in answers if not isinstance(answer, int)]
        if refusals:
            for refusal in refusals:
                expect_code(refusal, "LIMIT")
            return names, refusals[-1]
    raise AssertionError("%d locks, and no end\n%s" % (len(names), daemon.output.tail()))


def memory(daemon):
    return int(daemon.info()["used_memory_rss"])


def refused(what, ask):
    """Renewals take memory for a moment: something new may still be had before it is refused."""
    answers = []

    def asked():
        answers.append(ask(len(answers)))
        return isinstance(answers[-1], resp.Error)

    harness.until("%s is refused" % what, asked)
    expect_code(answers[-1], "LIMIT")
    expect("limits.memory" in answers[-1], True, answers[-1])


def knock(daemon):
    with resp.Client(daemon.tcp) as late:
        try:
            return late("PING")
        except BrokenPipeError:
            return late.reply()


def goes_on(client, names):
    """Those who hold locks have them still, and give them back."""
    for name in names[:5] + names[-5:]:
        expect_between(client("CHECK", name), 1, LEASE_MS)
    for name in names[:100]:
        expect(client("UNLOCK", name), 0)


def test_limit(place):
    """past limits.memory nothing new is begun, what is there goes on, and an administrator finds the way in"""
    own_allocator()
    daemon = place.daemon(master=place.redis(), tcp=True,
                          config="limits: { memory: 16m, %s }\n" % WIDE + QUIET).admitted()
    holder, stranger = daemon.client(), daemon.client(tcp=True)
    names, refusal = fill(daemon, holder, "a")
    expect("limits.memory" in refusal, True, refusal)
    expect_between(len(names), 3000, 60000, "locks in 16 MB")
    used = memory(daemon)
    expect((used > 15 << 20, used < 32 << 20), (True, True), "%d bytes" % used)
    daemon.output.wait(r"memory\.full why=limits\.memory bytes=\d+ limit=16777216")
    refused("a MLOCK", lambda at: stranger("MLOCK", 1, "m%d" % at))
    refused("a latch", lambda at: stranger("LATCH", "l%d" % at, "SET", 3))
    refused("a client", lambda at: knock(daemon))
    with daemon.client() as administrator:
        expect(administrator("PING"), "PONG")
    goes_on(holder, names)
    # More of it by a reload.
    daemon.configure("limits: { memory: 64m, %s }\n" % WIDE + QUIET)
    with daemon.client() as administrator:
        expect("limits.memory" in administrator("RELOAD"), True)
    harness.until("there is room", lambda: isinstance(stranger("LOCK", "new", "WAIT", 45000), int))
    # What was freed is room, whether the system has it back or not.
    daemon.configure("limits: { memory: 16m, %s }\n" % WIDE + QUIET)
    with daemon.client() as administrator:
        administrator("RELOAD")
    fill(daemon, holder, "b")
    expect(holder("RESET"), "RESET")
    harness.until("there is room again", lambda: isinstance(stranger("LOCK", "newer", "WAIT", 45000), int))


def crowded(place):
    """A daemon, what it took before, and clients whose requests take much."""
    own_allocator()
    daemon = place.daemon(master=place.redis(), tcp=True, config="limits: { %s }\n" % WIDE + QUIET).admitted()
    holder = daemon.client()
    before = memory(daemon)
    crowd = []
    for at in range(800):
        client = daemon.client(tcp=True)
        client.socket.sendall(b"*2\r\n$4\r\nECHO\r\n$60000\r\n" + b"x" * 59000)
        crowd.append(client)
        # Something small that stays lies between what goes.
        expect_between(holder("LOCK", "stay-%d" % at, "WAIT", 45000), 1, TOKEN_MAX)
    harness.until("all is read", lambda: int(daemon.info()["net_input_bytes"]) > 800 * 59000)
    expect(memory(daemon) > before + (40 << 20), True, "they take much")
    return daemon, before, crowd


def leave(crowd, count):
    for _ in range(count):
        crowd.pop().close()


def test_given_back(place):
    """what requests and answers of many clients took goes back to the system when they are gone"""
    daemon, before, crowd = crowded(place)
    leave(crowd, len(crowd))
    harness.until("it is given back", lambda: memory(daemon) < before + (12 << 20))


def test_given_back_in_parts(place):
    """the same when they go little by little, the last of them too few to count as a large fall"""
    daemon, before, crowd = crowded(place)
    for count in (400, 250):
        most = memory(daemon)
        leave(crowd, count)
        harness.until("a part is given back", lambda: memory(daemon) < most - (8 << 20))
    leave(crowd, len(crowd))
    harness.until("the rest is given back", lambda: memory(daemon) < before + (6 << 20))


def test_address_space(place):
    """a daemon that the system gives no more refuses what is new, and goes on"""
    own_allocator()
    daemon = place.idle_daemon(master=place.redis(), config="limits: { %s }\n" % WIDE + QUIET)
    daemon.wrap = ["sh", "-c", "ulimit -v 65000; exec \"$@\"", "sh"]
    daemon.start().admitted()
    holder, other = daemon.client(), daemon.client()
    names, _ = fill(daemon, holder, "a")
    daemon.output.wait(r"memory\.full why=\"the system gives no more\"")
    goes_on(holder, names)
    expect(holder("RESET"), "RESET")
    harness.until("there is room again", lambda: isinstance(other("LOCK", "new", "WAIT", 45000), int))


def test_nothing_left(place):
    """when not one byte is left locks are renewed, handed over and given back, and everything new is refused"""
    shim = Memory(place, "d1")
    redis = place.redis()
    daemon = place.daemon(master=redis, config="lease: 6s\nlimits: { %s }\n" % WIDE + QUIET,
                          environment=shim.environment).admitted()
    holder, waiter, other = [daemon.client() for _ in range(3)]
    names = ["n%d" % at for at in range(300)]
    for name in names:
        expect_between(holder("LOCK", name, "WAIT", 45000), 1, TOKEN_MAX)
    waiter.send("LOCK", names[200], "WAIT", 45000)
    daemon.queued(names[200])
    shim.leave(0)
    # Some are had from what the daemon has freed before.
    answers = [other("LOCK", "more-%d" % at, "WAIT", 45000) for at in range(1000)]
    expect_code(answers[-1], "LIMIT")
    began, calls = boottime(), redis.script_calls()
    harness.until("a lease and a third have passed", lambda: boottime() - began > 8)
    expect(redis.script_calls() > calls, True, "renewals")
    goes_on(holder, names)
    expect(holder("UNLOCK", names[200]), 0)
    expect_between(waiter.reply(), 1, TOKEN_MAX)
    expect(shim.failed > 0, True, shim.failed)
    shim.leave(None)
    harness.until("there is room again", lambda: isinstance(other("LOCK", "new", "WAIT", 45000), int))
    expect_between(holder("CHECK", names[-1]), 1, LEASE_MS)


def test_no_core_dump(place):
    """the daemon has no core dump, whatever limit it was started with: its passwords would be in it"""
    daemon = place.idle_daemon(master=place.redis())
    daemon.wrap = ["sh", "-c", "ulimit -S -c unlimited || exit; exec \"$@\"", "sh"]
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    if hard != resource.RLIM_INFINITY:
        raise harness.Skip("core dumps are off here")
    daemon.start()
    expect(resource.prlimit(daemon.process.pid, resource.RLIMIT_CORE), (1, resource.RLIM_INFINITY))


def test_nothing_left_and_no_master(place):
    """a daemon that has no memory to connect to its master with tries until it has, and lives"""
    shim = Memory(place, "d1")
    redis = place.redis()
    daemon = place.daemon(master=redis, config="limits: { %s }\n" % WIDE + QUIET, environment=shim.environment).admitted()
    holder, waiter, other = [daemon.client() for _ in range(3)]
    for at in range(100):
        expect_between(holder("LOCK", "n%d" % at, "WAIT", 45000), 1, TOKEN_MAX)
    waiter.send("LOCK", "n7", "WAIT", 45000)
    daemon.queued("n7")
    shim.leave(0)
    mark = daemon.output.mark()
    redis("CLIENT", "KILL", "TYPE", "normal")
    daemon.output.wait(r"link\.down", mark)
    failed = shim.failed
    harness.until("it has tried in vain", lambda: shim.failed > failed + 20)
    expect_between(holder("CHECK", "n8"), 1, LEASE_MS)
    expect(holder("UNLOCK", "n7"), 0)
    expect_between(waiter.reply(), 1, TOKEN_MAX)
    shim.leave(None)
    harness.until("locks can be had", lambda: isinstance(other("LOCK", "new", "WAIT", 45000), int))
    expect_between(holder("CHECK", "n8"), 1, LEASE_MS)


if __name__ == "__main__":
    harness.main(globals())
