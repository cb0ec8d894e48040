#!/usr/bin/env python3
"""Locks through a default connection pool of redis-py, with AS id (see pools.py; tests/interop has the other libraries), and
what becomes of an id whose program ends.

  OPERATIONS=10000 tests/e2e/check_pools.py [TEST...]     so many locks taken and given back; without it fewer
"""

import os
import uuid

import errands
import harness
import pools
from harness import expect, expect_between, expect_code, until

OPERATIONS = int(os.environ.get("OPERATIONS", "1000"))
CLAIM = 5.0  # for so long the place of a lost wait is kept
WAIT_MS = 60000


def redis_py():
    """The command of its program, with the distribution's redis-py."""
    return [harness.python_with("redis", "python3-redis"), os.path.join(harness.ROOT, "tests", "interop", "redis-py", "pool.py")]


def test_kills(place):
    pools.kills(place, redis_py(), OPERATIONS)


def test_restarts(place):
    pools.restarts(place, redis_py(), OPERATIONS)


test_kills.__doc__, test_restarts.__doc__ = pools.kills.__doc__, pools.restarts.__doc__


def test_program_that_ends(place):
    """a task that ends while it waits is passed over after a moment; one that ends while it holds, after its TTL"""
    daemon = place.daemon(master=place.redis(), config="lease: 3s\nclock-margin: 100ms\n").admitted()
    holder, waiter, other, late = (daemon.client() for _ in range(4))
    names = [uuid.uuid4().hex for _ in range(2)]
    token = holder("LOCK", "deploy", "AS", names[0])
    waiter.send("LOCK", "deploy", "AS", names[1])
    daemon.queued("deploy")
    other.send("LOCK", "deploy")
    daemon.queued("deploy", 2)
    waiter.close()
    until("the connection is gone", lambda: late("SESSIONS")[1] and len(late("CLIENT", "LIST").splitlines()) == 3)
    began = harness.boottime()
    expect(holder("UNLOCK", "deploy", "AS", names[0]), 0)
    expect_between(other.reply(), token + 2, 2 ** 53)
    harness.expect_not_before(harness.boottime(), began + CLAIM, "the place is kept", grain=0.5)
    expect(other("UNLOCK", "deploy"), 0)
    # Now a holder that falls silent.
    expect(holder("SESSION", "TTL", 300, "AS", names[0]), "OK")
    token = holder("LOCK", "deploy", "AS", names[0])
    holder.close()
    expect_between(other("LOCK", "deploy", "WAIT", 60000), token + 1, 2 ** 53)
    expect_code(late("UNLOCK", "deploy", "AS", names[0]), "NOTHELD")


def come_again(daemon, tcp, meanwhile=lambda: None):
    """A client closes its connection while it waits, and asks again; it is granted the lock before one that came later. False:
    that took longer than a place is kept."""
    holder, other, waiter = daemon.client(), daemon.client(), daemon.client(tcp=tcp)
    name, mine, its = (uuid.uuid4().hex for _ in range(3))
    request = ("LOCK", name, "WAIT", WAIT_MS, "AS", its)
    expect_between(holder("LOCK", name, "AS", mine), 1, 2 ** 53)
    waiter.send(*request)
    daemon.queued(name)
    other.send("LOCK", name, "WAIT", WAIT_MS)
    daemon.queued(name, 2)
    began = harness.boottime()
    waiter.close()
    until("the connection is gone", lambda: len(holder("CLIENT", "LIST").splitlines()) == 2)
    meanwhile()
    waiter = daemon.client(tcp=tcp)
    waiter.send(*request)
    daemon.queued(name, 2)
    quick = harness.boottime() - began < CLAIM / 2
    expect(holder("UNLOCK", name, "AS", mine), 0)
    if quick:
        expect_between(waiter.reply(), 1, 2 ** 53)
        expect(waiter("UNLOCK", name, "AS", its), 0)
        expect_between(other.reply(), 1, 2 ** 53)
    for client in (holder, other, waiter):
        client.close()
    return quick


def test_place_is_kept(place):
    """a client that closes while it waits has its old place when it asks again: over TCP, too, where that looks like a half-close"""
    daemon = place.daemon(master=place.redis(), tcp=True).admitted()
    for tcp in (False, True):
        until("it is quick enough", lambda t=tcp: come_again(daemon, t))


def test_place_outlasts_a_restart(place):
    """it has its old place also at the process that its daemon was handed over to meanwhile"""
    daemon = place.daemon(master=place.redis(), tcp=True).admitted()
    for tcp in (False, True):
        until("it is quick enough", lambda t=tcp: come_again(daemon, t, lambda: errands.hand_over(daemon)))


def test_wait_after_a_crash(place):
    """a crash keeps no place: the LOCK comes again, and is granted when the holder, which has what it had, gives it back"""
    daemon = place.daemon(master=place.redis(), tcp=True).admitted()
    for tcp in (False, True):
        name, mine, its = (uuid.uuid4().hex for _ in range(3))
        request = ("LOCK", name, "WAIT", WAIT_MS, "AS", its)
        token = daemon.client()("LOCK", name, "AS", mine)
        waiter = daemon.client(tcp=tcp)
        waiter.send(*request)
        daemon.queued(name)
        waiter.close()
        pools.crash(daemon)
        waiter, holder = daemon.client(tcp=tcp), daemon.client()
        waiter.send(*request)
        daemon.queued(name)
        expect(holder("LOCK", name, "AS", mine), token)
        expect(holder("UNLOCK", name, "AS", mine), 0)
        expect_between(waiter.reply(), token + 1, 2 ** 53)
        expect(waiter("UNLOCK", name, "AS", its), 0)


def test_older_copy(place):
    """an older copy of a request, of a connection that was closed, is read last: the newer one waits on"""
    daemon = place.daemon(master=place.redis(), tcp=True).admitted()
    for tcp in (True, False):
        holder, older, newer = daemon.client(), daemon.client(tcp=tcp), daemon.client(tcp=tcp)
        names = [uuid.uuid4().hex for _ in range(2)]
        expect((older("PING"), newer("PING")), ("PONG", "PONG"))
        token = holder("LOCK", "deploy", "AS", names[0])
        for verb in (("LOCK", "deploy"), ("MLOCK", 1, "deploy")):
            request = (*verb, "WAIT", WAIT_MS, "AS", names[1])
            # The daemon sees the first request before that of the connection that is closed.
            daemon.process.stop()
            newer.send(*request)
            older.send(*request)
            older.close()
            daemon.process.cont()
            until("the older copy is answered", lambda: len(holder("CLIENT", "LIST").splitlines()) == 2)
            expect(holder("UNLOCK", "deploy", "AS", names[0]), 0)
            answer = newer.reply()
            expect(verb[0] == "MLOCK", isinstance(answer, list), answer)
            expect_between(answer[0] if isinstance(answer, list) else answer, token + 1, 2 ** 53)
            expect(newer("UNLOCK", "deploy", "AS", names[1]), 0)
            token = holder("LOCK", "deploy", "AS", names[0])
            older = daemon.client(tcp=tcp)
            expect(older("PING"), "PONG")
        expect(holder("UNLOCK", "deploy", "AS", names[0]), 0)
        for client in (holder, older, newer):
            client.close()


def test_two_daemons(place):
    """an id is another session at another host's daemon: it is refused there, waits there, and is told where to ask"""
    master = place.redis()
    first, second = (place.daemon(name, master=master).admitted() for name in ("d1", "d2"))
    here, there, viewer, me = first.client(), second.client(), second.client(3), uuid.uuid4().hex
    token = here("LOCK", "deploy", "AS", me)
    for request in (("CHECK", "deploy"), ("UNLOCK", "deploy", "TOKEN", token)):
        answer = until("the daemon that has it is named", lambda r=request: [
            one for one in [there(*r, "AS", me)] if first.info()["run_id"] in str(one)])[0]
        expect_code(answer, "NOTHELD")
    expect(there("LOCK", "deploy", "WAIT", 0, "AS", me), None)
    other = second.client()
    other.send("LOCK", "deploy", "WAIT", WAIT_MS)
    until("the other daemon is known", lambda: viewer("INSPECT", "deploy")["elsewhere"])
    expect("ask the daemon that INSPECT names" in there("UNLOCK", "deploy", "AS", uuid.uuid4().hex), True)
    expect_between(here("CHECK", "deploy", "TOKEN", token, "AS", me), 1, WAIT_MS)
    expect(here("UNLOCK", "deploy", "TOKEN", token, "AS", me), 0)
    expect_between(other.reply(), token + 1, 2 ** 53)


def test_secret(place):
    """an id is neither logged nor shown, but for a hash that tells sessions apart"""
    daemon = place.daemon(master=place.redis(), config="log: { level: debug }\n").admitted()
    client, me = daemon.client(3), uuid.uuid4().hex
    events = daemon.client()
    expect(events("EVENTS"), "OK")
    token = client("LOCK", "deploy", "AS", me)
    expect_code(client("LOCK", "deploy", "AS", me[:15]), "ERR")
    expect_code(client("SESSION", "BIND", "AS", me), "ERR")
    expect_code(client("EVENTS", "AS", me), "ERR")
    shown = client("LOCKS")[1][0]
    expect((shown["token"], len(shown["as"])), (token, 8))
    expect([one["as"] for one in client("SESSIONS")[1] if one["session"] == shown["session"]], [shown["as"]])
    expect([one["as"] for one in client("SESSIONS")[1] if one["session"] == client("SESSION", "ID")], [""])
    told = repr((client("LOCKS"), client("SESSIONS"), client("INSPECT", "deploy"), client("INFO"), client("CLIENT", "LIST")))
    daemon.kill()
    expect(me in told or me in daemon.output.text(), False, "the id is seen")


if __name__ == "__main__":
    harness.main(globals())
