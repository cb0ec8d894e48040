#!/usr/bin/env python3
"""What happens to the master while the counter test runs: never two holders, and work goes on afterwards.

Lease 1 s, J 100 ms, two daemons. Beside the clients that take turns, a keeper holds one lock through the whole fault,
which must not be lost as long as the master is back within its validity.
"""

import os
import re
import select
import signal
import time

import harness
import resp
import swarm
from harness import boottime, expect, expect_between, expect_code

LEASE = 1.0
MARGIN = 0.1


def documented():
    with open(os.path.join(harness.ROOT, "proto", "code.def"), encoding="utf-8") as stream:
        return set(re.findall(r"^CODE\((\w+),", stream.read(), re.M))


def pause(seconds):
    """A fault lasts so long; nothing tells when a stopped process has been stopped for long enough."""
    select.select([], [], [], seconds)


class Scene:
    """Two daemons, a master, clients that take turns, and a keeper."""

    def __init__(self, place, guard="auto", hold=0.004):
        self.place = place
        self.redis = place.redis()
        config = "lease: 1s\nclock-margin: 100ms\nrestart-guard: %s\n" % guard
        self.daemons = [place.daemon("d%d" % n, master=self.redis, config=config) for n in (1, 2)]
        for daemon in self.daemons:
            daemon.admitted()
        self.keeper = self.daemons[0].client()
        self.keeper("SESSION", "ONLOSS", "NEXT")
        self.token = self.keeper("LOCK", "kept", "WAIT", 5000)
        expect_between(self.token, 1, 2 ** 53)
        self.plan = swarm.Plan(place.path, [daemon.socket for daemon in self.daemons], ["counter"], 6, hold=hold,
                               wait_ms=1000)
        self.swarm = swarm.Swarm(self.plan)
        self.progress(100)

    def counter(self):
        return swarm.counter_read(self.place.path, "counter")

    def progress(self, count, timeout=harness.PATIENCE):
        """Waits until so many more increments are made; the time it took."""
        goal = self.counter() + count
        started = boottime()
        while self.counter() < goal:
            expect(boottime() - started < timeout, True, "%d increments within %.1f s" % (count, timeout))
            pause(0.005)
        return boottime() - started

    def finish(self, kept=True):
        """Nobody held together, every answer was a documented one, and the keeper has what it had."""
        counts, holds = self.swarm.stop()
        swarm.judge(self.plan, counts, holds)
        expect(counts.get("odd"), None, "answers that look like none")
        codes = {what for what in counts if what.isupper()}
        expect(codes - documented(), set(), "undocumented errors")
        if kept:
            expect_between(self.keeper("CHECK", "kept"), 1, 1000, "the keeper's validity")
            expect(counts.get("lost"), None, "locks lost by the clients")
            with resp.Client(self.daemons[1].socket) as other:
                expect(other("LOCK", "kept", "WAIT", 0), None, "the kept lock for somebody else")
            expect(self.keeper("UNLOCK", "kept", "TOKEN", self.token), 0)
        return counts, holds

    def marks(self):
        return [daemon.output.mark() for daemon in self.daemons]

    def admitted(self, marks, timeout=harness.PATIENCE):
        """Waits until both daemons use the master again: when the later one did."""
        return max(daemon.output.wait(r"master\.admitted", start, timeout)[0]
                   for daemon, start in zip(self.daemons, marks))


def forgotten(place, fault):
    """A fault after which the master has to be guarded, and work goes on within a second of the guard's end."""
    scene = Scene(place)
    marks = scene.marks()
    down = boottime()
    fault(scene.redis)
    back = boottime()
    admitted = scene.admitted(marks)
    # The guard begins when a daemon sees the change, so it may have begun at once, and ends L + J later at least.
    expect_between(admitted - down, LEASE + MARGIN - 0.02, LEASE + MARGIN + (back - down) + 2.0, "seconds of guard")
    scene.progress(1, timeout=1.0 + max(0.0, admitted - boottime()))
    scene.progress(100, timeout=5.0)
    # A master that was away for longer than a renewal can wait loses locks, and rightly so.
    scene.finish(kept=back - down < 0.4)


def passing(place, fault, quick=True):
    """A fault that takes no memory from the master: work goes on within a second."""
    scene = Scene(place)
    fault(scene.redis)
    scene.progress(1, timeout=1.0 if quick else 4.0)
    scene.progress(100, timeout=5.0)
    return scene


def test_killed_empty(place):
    """the master is killed and comes back empty"""
    def fault(redis):
        redis.kill()
        redis.restart()
    forgotten(place, fault)


def test_killed_stale(place):
    """the master is killed and comes back with an old dump, which remembers leases that ended long ago"""
    scene = Scene(place)
    marks = scene.marks()
    expect(scene.redis("SAVE"), "OK")
    # What is in the dump has changed hands many times when the dump comes back.
    scene.progress(100)
    down = boottime()
    scene.redis.kill()
    scene.redis.restart()
    back = boottime()
    scene.admitted(marks)
    scene.progress(100, timeout=5.0)
    scene.finish(kept=back - down < 0.4)


def test_flushed(place):
    """the master is flushed, which breaks no connection"""
    forgotten(place, lambda redis: expect(redis("FLUSHALL"), "OK"))


def test_made_replica(place):
    """the master is made a replica and a master again"""
    def fault(redis):
        expect(redis("REPLICAOF", "127.0.0.1", harness.free_port()), "OK")
        pause(0.2)
        expect(redis("REPLICAOF", "NO", "ONE"), "OK")
    forgotten(place, fault)


def test_stopped_briefly(place):
    """the master is stopped for 300 ms and continues"""
    def fault(redis):
        redis.process.stop()
        pause(0.3)
        redis.process.cont()
    passing(place, fault).finish()


def test_stopped_long(place):
    """the master is stopped for longer than the lease: holders are told before anybody else gets the lock"""
    def fault(redis):
        redis.process.stop()
        pause(1.6)
        redis.process.cont()
    scene = passing(place, fault, quick=False)
    expect_code(scene.keeper("CHECK", "kept"), "LOST")
    scene.finish(kept=False)


def test_clients_killed(place):
    """CLIENT KILL of every connection to the master, of commands and of messages"""
    def fault(redis):
        redis("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        redis("CLIENT", "KILL", "TYPE", "pubsub")
    passing(place, fault).finish()


def test_messages_killed(place):
    """the connection for messages alone is killed, again and again"""
    def fault(redis):
        for _ in range(10):
            redis("CLIENT", "KILL", "TYPE", "pubsub")
            pause(0.03)
    passing(place, fault).finish()


def test_scripts_flushed(place):
    """SCRIPT FLUSH: the scripts are loaded again without anybody noticing"""
    passing(place, lambda redis: expect(redis("SCRIPT", "FLUSH"), "OK")).finish()


def test_full(place):
    """the master is full for a while: renewals and releases still work, new leases do not"""
    def fault(redis):
        expect(redis("CONFIG", "SET", "maxmemory", "1"), "OK")
        pause(0.8)
        expect(redis("CONFIG", "SET", "maxmemory", "0"), "OK")
    passing(place, fault).finish()


def test_slow(place):
    """the master answers nobody for 400 ms"""
    def fault(redis):
        expect(redis("CLIENT", "PAUSE", 400, "ALL"), "OK")
        pause(0.4)
    passing(place, fault).finish()


def test_keys_deleted(place):
    """a lease's key is deleted by hand: its holder is told, and never are there two"""
    def fault(redis):
        for _ in range(20):
            redis("DEL", "holdfast:{counter}")
            pause(0.01)
    scene = passing(place, fault)
    counts, holds = scene.swarm.stop()
    expect_between(len(holds), 200, 10 ** 9)
    expect({what for what in counts if what.isupper()} - documented(), set())


def test_daemon_stopped(place):
    """a daemon that is stopped for two leases tells its clients, and another daemon has had the lock meanwhile"""
    redis = place.redis()
    first, second = [place.daemon(name, master=redis) for name in ("d1", "d2")]
    one, two = first.admitted().client(), second.admitted().client()
    one("SESSION", "ONLOSS", "NEXT")
    one("LOCK", "a")
    valid_ms = one("CHECK", "a")
    asked = boottime()
    first.process.stop()
    expect_between(two("LOCK", "a", "WAIT", 10000), 1, 2 ** 53)
    expect_between(boottime() - asked, valid_ms / 1000 - 0.01, LEASE + MARGIN + 1.0, "seconds until the other has it")
    pause(1.0)
    first.process.cont()
    expect_code(one("CHECK", "a"), "LOST")
    expect_code(one("UNLOCK", "a"), "LOST")
    expect_between(two("CHECK", "a"), 1, 1000)


def test_daemon_killed(place):
    """a daemon is killed and started again while clients of both take turns"""
    scene = Scene(place)
    first = scene.daemons[0]
    first.kill()
    first.start()
    scene.progress(100, timeout=5.0)
    scene.finish(kept=False)


def restart_with_blind_holder(place, guard):
    """
    A holder's daemon sees nothing while the master restarts empty. Whether the other daemon grants the lock while the
    first holder may still rely on it: seconds from the grant to the holder's deadline, > 0: two holders.
    """
    redis = place.redis()
    config = "lease: 2s\nclock-margin: 100ms\nrestart-guard: %s\n" % guard
    first, second = [place.daemon(name, master=redis, config=config) for name in ("d1", "d2")]
    one, two = first.admitted().client(), second.admitted().client()
    one("LOCK", "a")
    asked = boottime()
    deadline = asked + one("CHECK", "a") / 1000
    first.process.stop()
    redis.kill()
    redis.restart()
    expect_between(two("LOCK", "a", "WAIT", 20000), 1, 2 ** 53)
    granted = boottime()
    first.process.cont()
    return deadline - granted


def test_guard(place):
    """with the guard a lock forgotten by the master is not granted before its holder's deadline"""
    expect_between(restart_with_blind_holder(place, "auto"), -10, 0, "seconds of two holders")


def test_guard_off(place):
    """without the guard the same run shows two holders"""
    expect_between(restart_with_blind_holder(place, "off"), 0.001, 2, "seconds of two holders")


def test_refused(place):
    """without a master LOCK waits, WAIT 0 is told at once, and the first master that comes is used"""
    redis = place.redis()
    redis.kill()
    daemon = place.daemon(master=redis)
    client, waiter = daemon.client(), daemon.client()
    expect_code(client("LOCK", "a", "WAIT", 0), "NOMASTER")
    started = boottime()
    expect_code(client("LOCK", "a", "WAIT", 300), "NOMASTER")
    expect_between(boottime() - started, 0.29, 2.0, "seconds of WAIT 300")
    waiter.send("LOCK", "a", "WAIT", 20000)
    redis.restart()
    expect_between(waiter.reply(), 1, 2 ** 53)


def test_guard_is_told(place):
    """while a new master is guarded WAIT 0 says GUARD, and a LOCK that waits is granted at its end"""
    daemon = place.daemon(master=place.redis(), config="lease: 2s\n")
    client = daemon.client()
    answer = client("LOCK", "a", "WAIT", 0)
    until = time.monotonic() + 5
    while isinstance(answer, resp.Error) and answer.code == "NOMASTER" and time.monotonic() < until:
        answer = client("LOCK", "a", "WAIT", 0)
    expect_code(answer, "GUARD")
    expect_between(client("LOCK", "a", "WAIT", 20000), 1, 2 ** 53)
    expect_between(boottime() - daemon.ready, 1.5, 5.0, "seconds")


def test_password(place):
    """a master with a password is used with it, and a wrong one is told"""
    redis = place.redis(options=["--requirepass", "right"])
    daemon = place.daemon("d1", master=redis, environment={"HOLDFAST_MASTER_PASSWORD": "right"})
    daemon.admitted()
    wrong = place.daemon("d2", master=redis, environment={"HOLDFAST_MASTER_PASSWORD": "wrong"})
    wrong.output.wait(r"WRONGPASS|NOAUTH|invalid username-password|invalid password")
    client = wrong.client()
    answer = client("LOCK", "a", "WAIT", 0)
    expect(isinstance(answer, resp.Error) and answer.code in ("NOMASTER", "MASTERERR"), True, repr(answer))
    expect("wrong" in wrong.output.text().replace("WRONGPASS", "").replace("wrong password", ""), False,
           "the password in the log")


def test_evicting(place):
    """a master that may evict keys is refused, with what to change"""
    redis = place.redis(options=["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"])
    daemon = place.daemon(master=redis)
    daemon.output.wait(r"master\.refused.*noeviction")
    client = daemon.client()
    answer = client("LOCK", "a", "WAIT", 0)
    expect(isinstance(answer, resp.Error), True, repr(answer))
    expect(redis("CONFIG", "SET", "maxmemory-policy", "noeviction"), "OK")
    expect_between(client("LOCK", "a", "WAIT", 60000), 1, 2 ** 53)


def test_disagreement(place):
    """a daemon with another longest lease than its fellows is refused and told both values"""
    redis = place.redis()
    place.daemon("d1", master=redis).admitted()
    other = place.daemon("d2", master=redis, config="lease: 3s\n")
    line = other.output.wait(r"master\.refused.*")[1].group(0)
    expect("3000" in line and "1000" in line or "3s" in line and "1s" in line, True, line)
    expect(isinstance(other.client()("LOCK", "a", "WAIT", 0), resp.Error), True)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    harness.main(globals())
