#!/usr/bin/env python3
"""What happens to the master while the counter test runs: never two holders, and work goes on afterwards.
"""

import os
import signal

import harness
import resp
import tool
from harness import BRISK, WHOLE_MS, boottime, expect, expect_between, expect_code, expect_not_before, took
from scene import BRIEF, LEASE, MARGIN, Scene, documented, pause


def forgotten(place, fault):
    """A fault after which the master has to be guarded, and work goes on within a second of the guard's end."""
    scene = Scene(place)
    usual = scene.progress(300)
    marks = scene.marks()
    down = boottime()
    fault(scene.redis)
    back = boottime()
    admitted = scene.admitted(marks)
    # The guard begins when a daemon sees the change, so it may have begun at once, and ends L + J later at least.
    expect_not_before(admitted - down, LEASE + MARGIN, "the end of the guard", WHOLE_MS)
    took(admitted - back, LEASE + MARGIN + 2.0, "until the master is used again")
    scene.progress(1)
    took(boottime() - admitted, 1.0, "from then to the first increment")
    # Full speed: the usual, with room for a machine that others use too.
    took(scene.progress(300), 3 * usual + 0.5, "for 300 increments, %.0f ms before the fault" % (usual * 1000))
    # A master that was away for longer than a renewal can wait loses locks, and rightly so.
    scene.finish(kept=back - down < BRIEF)


def passing(place, fault, quick=True, options=()):
    """A fault that takes no memory from the master: work goes on."""
    scene = Scene(place, options=options)
    fault(scene.redis)
    took(scene.progress(1), 1.0 if quick else 4.0, "from the end of the fault to the first increment")
    scene.progress(100)
    return scene


@harness.busy
def test_killed_empty(place):
    """the master is killed and comes back empty"""
    def fault(redis):
        redis.kill()
        redis.restart()
    forgotten(place, fault)


@harness.busy
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
    scene.progress(100)
    scene.finish(kept=back - down < BRIEF)


def test_killed_unseen(place):
    """the master is killed while a daemon is stopped, which asks after it before it hears of that, and lives on"""
    redis = place.redis()
    daemon = place.daemon(master=redis).admitted()
    client = daemon.client()
    daemon.process.stop()
    pause(2.5)  # so long a silence that the first thing to do is a PING, to a connection that is closed
    redis.kill()
    daemon.process.cont()
    expect_code(client("LOCK", "a", "WAIT", 0), "NOMASTER")
    redis.restart()
    expect_between(client("LOCK", "a", "WAIT", 45000), 1, 2 ** 53)


@harness.busy
def test_flushed(place):
    """the master is flushed, which breaks no connection"""
    forgotten(place, lambda redis: expect(redis("FLUSHALL"), "OK"))


@harness.busy
def test_made_replica(place):
    """the master is made a replica and a master again"""
    def fault(redis):
        expect(redis("REPLICAOF", "127.0.0.1", harness.free_port()), "OK")
        pause(0.2)
        expect(redis("REPLICAOF", "NO", "ONE"), "OK")
    forgotten(place, fault)


@harness.busy
def test_stopped_briefly(place):
    """the master is stopped for 300 ms and continues"""
    def fault(redis):
        redis.process.stop()
        pause(0.3)
        redis.process.cont()
    passing(place, fault).finish()


@harness.busy
def test_stopped_long(place):
    """the master is stopped for longer than the lease: holders are told before anybody else gets the lock"""
    def fault(redis):
        redis.process.stop()
        pause(1.6 * LEASE)
        redis.process.cont()
    scene = passing(place, fault, quick=False)
    expect_code(scene.keeper("CHECK", "kept"), "LOST")
    scene.finish(kept=False)


@harness.busy
def test_clients_killed(place):
    """CLIENT KILL of every connection to the master, of commands and of messages"""
    def fault(redis):
        redis("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        redis("CLIENT", "KILL", "TYPE", "pubsub")
    passing(place, fault).finish()


@harness.busy
def test_messages_killed(place):
    """the connection for messages alone is killed, again and again"""
    def fault(redis):
        for _ in range(10):
            redis("CLIENT", "KILL", "TYPE", "pubsub")
            pause(0.03)
    passing(place, fault).finish()


@harness.busy
def test_scripts_flushed(place):
    """SCRIPT FLUSH: the scripts are loaded again without anybody noticing"""
    passing(place, lambda redis: expect(redis("SCRIPT", "FLUSH"), "OK")).finish()


@harness.busy
def test_full(place):
    """the master is full for a while: renewals and releases still work, new leases do not"""
    def fault(redis):
        expect(redis("CONFIG", "SET", "maxmemory", "1"), "OK")
        pause(0.8)
        expect(redis("CONFIG", "SET", "maxmemory", "0"), "OK")
    passing(place, fault).finish()


@harness.busy
def test_slow(place):
    """the master answers nobody for 400 ms"""
    def fault(redis):
        expect(redis("CLIENT", "PAUSE", 400, "ALL"), "OK")
        pause(0.4)
    passing(place, fault).finish()


@harness.busy
def test_busy(place):
    """somebody's script keeps the master busy for 400 ms, which refuses everybody with BUSY meanwhile"""
    def fault(redis):
        redis("CONFIG", "SET", "busy-reply-threshold", "50")
        with resp.Client(redis.socket) as client:
            client.send("EVAL", "while true do end", 0)
            pause(0.4)
            expect(redis("SCRIPT", "KILL"), "OK")
            client.reply()
    passing(place, fault).finish()


@harness.busy
def test_misconfigured(place):
    """the master cannot save and refuses to write for a while, renewals and releases included"""
    def fault(redis):
        # MISCONF is for a master that is meant to save.
        expect(redis("CONFIG", "SET", "save", "3600 1"), "OK")
        lost = os.path.join(redis.folder, "lost")
        os.mkdir(lost)
        expect(redis("CONFIG", "SET", "dir", lost), "OK")
        os.rmdir(lost)
        redis("BGSAVE")
        while "rdb_last_bgsave_status:err" not in redis("INFO", "persistence"):
            pause(0.01)
        expect_code(redis("SET", "a", "b"), "MISCONF")
        pause(0.3)
        expect(redis("CONFIG", "SET", "stop-writes-on-bgsave-error", "no"), "OK")
    passing(place, fault, options=["--enable-protected-configs", "yes"]).finish()


def test_forbidden(place):
    """the user of the daemon may not do everything it has to: it is told, and work goes on when it may"""
    redis = place.redis()
    expect(redis("ACL", "SETUSER", "hf", "on", ">pw", "~holdfast:*", "&holdfast:*", "+@all", "-evalsha"), "OK")

    class Master:
        url = redis.url + "?user=hf"
    daemon = place.daemon(master=Master, environment={"HOLDFAST_MASTER_PASSWORD": "pw"})
    daemon.output.wait(r"NOPERM")
    client = daemon.client()
    answer = client("LOCK", "a", "WAIT", 0)
    expect(isinstance(answer, resp.Error) and answer.code in ("MASTERERR", "NOMASTER"), True, repr(answer))
    expect(redis("ACL", "SETUSER", "hf", "+evalsha"), "OK")
    expect_between(client("LOCK", "a", "WAIT", 60000), 1, 2 ** 53)


@harness.busy
def test_rolling_restart(place):
    """daemons are restarted one after the other while clients of both take turns"""
    scene = Scene(place)
    for daemon in reversed(scene.daemons):
        expect(daemon.terminate(), 0)
        daemon.start()
        scene.progress(100)
    counts, _ = scene.finish(kept=False)
    expect(counts.get("odd"), None)


@harness.busy
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
    first, second = [place.daemon(name, master=redis, config=BRISK) for name in ("d1", "d2")]
    one, two = first.admitted().client(), second.admitted().client()
    one("SESSION", "ONLOSS", "NEXT")
    one("LOCK", "a")
    asked = boottime()
    valid_ms = one("CHECK", "a")
    first.process.stop()
    expect_between(two("LOCK", "a", "WAIT", 45000), 1, 2 ** 53)
    expect_not_before(boottime() - asked, valid_ms / 1000, "the other has it")
    pause(2.0)
    first.process.cont()
    expect_code(one("CHECK", "a"), "LOST")
    expect_code(one("UNLOCK", "a"), "LOST")
    expect_between(two("CHECK", "a"), 1, 2000)


@harness.busy
def test_daemon_killed(place):
    """a daemon is killed and started again while clients of both take turns"""
    scene = Scene(place)
    first = scene.daemons[0]
    first.kill()
    first.start()
    scene.progress(100)
    scene.finish(kept=False)


def restart_with_blind_holder(place, lease_s, guard):
    """
    A holder's daemon sees nothing while the master restarts empty. Whether the other daemon grants the lock while the
    first holder may still rely on it: seconds from the grant to the holder's deadline, > 0: two holders.
    """
    redis = place.redis()
    config = "lease: %ds\nclock-margin: 100ms\nrestart-guard: %s\n" % (lease_s, guard)
    first, second = [place.daemon(name, master=redis, config=config) for name in ("d1", "d2")]
    one, two = first.admitted().client(), second.admitted().client()
    one("LOCK", "a")
    asked = boottime()
    deadline = asked + one("CHECK", "a") / 1000
    first.process.stop()
    redis.kill()
    redis.restart()
    expect_between(two("LOCK", "a", "WAIT", 45000), 1, 2 ** 53)
    granted = boottime()
    first.process.cont()
    return deadline - granted


def test_guard(place):
    """with the guard a lock forgotten by the master is not granted before its holder's deadline"""
    expect_between(restart_with_blind_holder(place, 2, "auto"), -20, 0, "seconds of two holders")


def test_guard_off(place):
    """without the guard the same run shows two holders"""
    expect_between(restart_with_blind_holder(place, 60, "off"), 0.001, 60, "seconds of two holders")


def test_refused(place):
    """without a master LOCK waits, WAIT 0 is told at once, and the first master that comes is used"""
    redis = place.redis()
    redis.kill()
    daemon = place.daemon(master=redis)
    client, waiter = daemon.client(), daemon.client()
    expect_code(client("LOCK", "a", "WAIT", 0), "NOMASTER")
    started = boottime()
    expect_code(client("LOCK", "a", "WAIT", 300), "NOMASTER")
    expect_not_before(boottime() - started, 0.3, "the end of WAIT 300", WHOLE_MS)
    waiter.send("LOCK", "a", "WAIT", 45000)
    redis.restart()
    expect_between(waiter.reply(), 1, 2 ** 53)


def test_guard_is_told(place):
    """while a new master is guarded WAIT 0 says GUARD, and a LOCK that waits is granted at its end"""
    daemon = place.idle_daemon(master=place.redis(), config="lease: 4s\nclock-margin: 1s\nrestart-guard: auto\n")
    started = boottime()
    client = daemon.start().client()

    def refused():
        answer = client("LOCK", "a", "WAIT", 0)
        return None if isinstance(answer, resp.Error) and answer.code == "NOMASTER" else answer

    expect_code(harness.until("the master is there", refused), "GUARD")
    expect_between(client("LOCK", "a", "WAIT", 45000), 1, 2 ** 53)
    expect_not_before(boottime() - started, 5.0, "the end of the guard", WHOLE_MS)


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


def test_evicted(place):
    """a master that evicted leases under a policy that was set for a moment is guarded, and grants nothing new meanwhile"""
    redis = place.redis()
    daemon, second = [place.daemon(name, master=redis, config="lease: 6s\nrestart-guard: auto\n").admitted()
                      for name in ("d1", "d2")]
    client, other = daemon.client(), second.client()
    names = ["evicted-%d" % i for i in range(30)]
    for name in names:
        client("LOCK", name)
    mark = second.output.mark()
    expect(redis("CONFIG", "SET", "maxmemory-policy", "volatile-ttl"), "OK")
    expect(redis("CONFIG", "SET", "maxmemory", "1"), "OK")
    try:
        redis("SET", "foreign", "x")
    except resp.Error:
        pass
    expect(redis("CONFIG", "SET", "maxmemory", "0"), "OK")
    expect(redis("CONFIG", "SET", "maxmemory-policy", "noeviction"), "OK")
    gone = [name for name in names if redis("EXISTS", "holdfast:{%s}" % name) == 0]
    expect(len(gone) > 0, True, "evicted")
    second.output.wait(r"master\.guarded", mark)
    for name in gone:
        expect_code(other("LOCK", name, "WAIT", 0), "GUARD")


def test_disagreement(place):
    """a daemon with another clock margin than its fellows is refused and told both values"""
    redis = place.redis()
    place.daemon("d1", master=redis, config="lease: 1s\nclock-margin: 100ms\nrestart-guard: auto\n").admitted()
    other = place.daemon("d2", master=redis, config="lease: 1s\nclock-margin: 300ms\nrestart-guard: auto\n")
    line = other.output.wait(r"master\.refused.*")[1].group(0)
    expect("clock-margin 300 ms, the others 100 ms; alive there: " in line, True, line)
    expect(isinstance(other.client()("LOCK", "a", "WAIT", 0), resp.Error), True)


def test_values_of_a_refusal(place):
    """LOCK, health and readyz have the values for which masters refuse a daemon, however much is said beside them"""
    values = "clock-margin 300 ms, the others 100 ms"
    for n in (1, 3):
        masters = [place.redis("m%d%d" % (n, i)) for i in range(n)]
        place.daemon("d%d" % n, master=masters, config="lease: 1s\nclock-margin: 100ms\n").admitted()
        other = place.daemon("e%d" % n, master=masters, config="lease: 1s\nclock-margin: 300ms\n")
        harness.until("all refuse it", lambda: [
            other.info()["master%d_state" % i] for i in range(n)] == ["refused"] * n)
        error = other.client()("LOCK", "a", "WAIT", 0)
        expect(values in str(error), True, str(error))
        missing = other.info()["masters_missing"]
        expect(missing.count(values), n, missing)
        expect("make clock-margin, restart-guard and the rules with keys agree" in missing, True, missing)
        status, text = tool.call(place, other, "health")
        expect((status, values in text), (2, True), text)
    # A list of masters that is wrong on one host.
    masters = [place.redis("s%d" % i) for i in range(4)]
    place.daemon("f", master=masters[:3]).admitted()
    other = place.daemon("g", master=[masters[0], masters[1], masters[3]])
    text = harness.until("it is refused", lambda: [found for found in [other.info()["masters_missing"]] if "another set" in found])[0]
    for words in ("; here: ", "alive there: ", "make `masters:` the same everywhere", masters[2].socket, masters[3].socket):
        expect(words in text, True, text)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    harness.main(globals())
