#!/usr/bin/env python3
"""Locks through a default connection pool of redis-py, with AS id (see pools.py; tests/interop has the other libraries), and
what becomes of an id whose program ends.

  OPERATIONS=10000 tests/e2e/check_pools.py [TEST...]     so many locks taken and given back; without it fewer
"""

import contextlib
import os
import uuid

import errands
import harness
import pools
import resp
from harness import expect, expect_between, expect_code, until

OPERATIONS = int(os.environ.get("OPERATIONS", "1000"))
CLAIM = 5.0  # for so long the place of a lost wait is kept
WAIT_MS = 60000
SHORT = "lease: 3s\nclock-margin: 100ms\n"


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
    daemon = place.daemon(master=place.redis(), config=SHORT).admitted()
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
    expect(holder("UNLOCK", "deploy", "TOKEN", token, "AS", names[0]), 0)
    expect_between(other.reply(), token + 2, 2 ** 53)
    harness.expect_not_before(harness.boottime(), began + CLAIM, "the place is kept", grain=0.5)
    expect(other("UNLOCK", "deploy"), 0)
    # Now a holder that falls silent.
    token = holder("LOCK", "deploy", "AS", names[0])
    expect_between(holder("CHECK", "deploy", "TOKEN", token, "AS", names[0]), 1, 3000)
    expect(holder("SESSION", "TTL", 300, "AS", names[0]), "OK")
    holder.close()
    expect_between(other("LOCK", "deploy", "WAIT", 60000), token + 1, 2 ** 53)
    expect_code(late("UNLOCK", "deploy", "TOKEN", token, "AS", names[0]), "NOTHELD")


def come_again(daemon, tcp, meanwhile=lambda: None):
    """A client closes its connection while it waits, and asks again; it is granted the lock before one that came later. False:
    that took longer than a place is kept."""
    holder, other, waiter = daemon.client(), daemon.client(), daemon.client(tcp=tcp)
    name, mine, its = (uuid.uuid4().hex for _ in range(3))
    request = ("LOCK", name, "WAIT", WAIT_MS, "AS", its)
    token = holder("LOCK", name, "AS", mine)
    expect_between(token, 1, 2 ** 53)
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
    expect(holder("UNLOCK", name, "TOKEN", token, "AS", mine), 0)
    if quick:
        token = waiter.reply()
        expect_between(token, 1, 2 ** 53)
        expect(waiter("UNLOCK", name, "TOKEN", token, "AS", its), 0)
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
        expect(holder("UNLOCK", name, "TOKEN", token, "AS", mine), 0)
        second = waiter.reply()
        expect_between(second, token + 1, 2 ** 53)
        expect(waiter("UNLOCK", name, "TOKEN", second, "AS", its), 0)


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
            expect(holder("UNLOCK", "deploy", "TOKEN", token, "AS", names[0]), 0)
            answer = newer.reply()
            expect(verb[0] == "MLOCK", isinstance(answer, list), answer)
            second = answer[0] if isinstance(answer, list) else answer
            expect_between(second, token + 1, 2 ** 53)
            expect(newer("UNLOCK", "deploy", "TOKEN", second, "AS", names[1]), 0)
            token = holder("LOCK", "deploy", "AS", names[0])
            older = daemon.client(tcp=tcp)
            expect(older("PING"), "PONG")
        expect(holder("UNLOCK", "deploy", "TOKEN", token, "AS", names[0]), 0)
        for client in (holder, older, newer):
            client.close()


def test_late_copies(place):
    """what changes or ends a hold has to name its token: a copy that comes late, over another connection, does nothing to a
    later hold, and to this one nothing that its client was not told"""
    daemon = place.daemon(master=place.redis(), config=SHORT).admitted()
    late, client, other, me = daemon.client(), daemon.client(), daemon.client(), uuid.uuid4().hex
    first = client("LOCK", "a", "LEASE", 600000, "AS", me)
    expect(client("UNLOCK", "a", "TOKEN", first, "AS", me), 0)
    token = client("LOCK", "a", "LEASE", 600000, "AS", me)
    for words in (("UNLOCK", "a"), ("EXTEND", "a", 1), ("DOWNGRADE", "a")):
        answer = late(*words, "AS", me)
        expect_code(answer, "ERR")
        expect("TOKEN" in str(answer), True, str(answer))
        expect_code(late(*words, "TOKEN", first, "AS", me), "NOTHELD")
    expect_code(late("MUNLOCK", 1, "a", "AS", me), "ERR")
    expect(late("MUNLOCK", 1, "a", "TOKENS", first, "AS", me), 0)
    expect_code(late("SESSION", "END", "AS", me), "ERR")
    expect(late("SESSION", "END", "NUMBER", 1, "AS", me), 0)
    expect(other("LOCK", "a", "SHARED", "WAIT", 0), None)
    # A copy of an EXTEND of this hold, which its client had not answered when it sent a longer one.
    asked = harness.boottime()
    told = asked + client("CHECK", "a", "TOKEN", token, "AS", me) / 1000
    expect_between(late("EXTEND", "a", 1, "TOKEN", token, "AS", me), 1, 60000)
    expect_between(other("LOCK", "a", "WAIT", WAIT_MS), token + 1, 2 ** 53)
    harness.expect_not_before(harness.boottime(), told, "the announced deadline", grain=0.01)
    answer = client("LOCK", "a", "WAIT", 0, "AS", me)
    expect_code(answer, "LOST")
    expect("shortened" in str(answer), True, str(answer))
    expect(daemon.info()["lost_shortened"], "1")
    # Each with its token.
    expect(other("UNLOCK", "a"), 0)
    expect_code(client("UNLOCK", "a", "TOKEN", token, "AS", me), "LOST")
    tokens = client("MLOCK", 2, "a", "b", "AS", me)
    expect(client("DOWNGRADE", "a", "TOKEN", tokens[0], "AS", me), tokens[0])
    expect(client("MUNLOCK", 2, "a", "b", "TOKENS", *tokens, "AS", me), 2)
    expect(late("MUNLOCK", 2, "a", "b", "TOKENS", *tokens, "AS", me), 2)


def late_lock(daemon, tcp, closes, claim):
    """A copy of a LOCK comes when its hold was given back, and its id is in use for others."""
    client, late, other = daemon.client(tcp=tcp), daemon.client(tcp=tcp), daemon.client()
    me = uuid.uuid4().hex
    name, used = (uuid.uuid4().hex for _ in range(2))
    expect(client("SESSION", "TTL", 60000 if claim else 500, "AS", me), "OK")
    lock = ("LOCK", name, *claim, "AS", me)
    token = client(*lock)
    expect_between(client("CHECK", name, "TOKEN", token, "AS", me), 1, 60000)
    expect(client("UNLOCK", name, "TOKEN", token, "AS", me), 0)
    late.send(*lock)
    if closes:
        late.close()
    else:
        expect_between(late.reply(), token + 1, 2 ** 53)
    other.send("LOCK", name, "WAIT", WAIT_MS)
    answers = []

    def others():
        # Whatever the id does meanwhile, it does not name that hold by its token.
        for request in (("LOCK", used, "WAIT", 0), ("CHECK", used)):
            client(*request, "AS", me)
        with contextlib.suppress(resp.Late):
            answers.append(other.reply(0.05))
        return answers

    until("the name passes on", others)
    expect_between(answers[0], token + 1, 2 ** 53)
    for one in (client, late, other):
        one.close()


def test_late_lock(place):
    """a copy of a LOCK that comes late is given back after its CLAIM, else after the TTL, while its id is used for other names,
    whether or not its connection stays open"""
    daemon = place.daemon(master=place.redis(), config=SHORT, tcp=True).admitted()
    for tcp in (False, True):
        for closes in (False, True):
            for claim in ((), ("CLAIM", 500)):
                late_lock(daemon, tcp, closes, claim)


def test_loss_is_told_again(place):
    """a loss is told with each LOCK or MLOCK, over whatever connection, until its holder gives up what it had; and once more
    after a RESUME"""
    daemon = place.daemon(master=place.redis(), config=SHORT).admitted()
    admin, me = daemon.client(), uuid.uuid4().hex
    token = admin("LOCK", "a", "AS", me)
    expect_between(admin("BREAK", "a", "TOKEN", token), 0, 60000)
    for words in (("LOCK", "a"), ("LOCK", "a"), ("MLOCK", 1, "a"), ("CHECK", "a"), ("LOCK", "a", "VALIDITY")):
        with daemon.client() as client:
            expect_code(client(*words, "AS", me), "LOST")
    # Neither a hand-over nor a crash makes it known.
    errands.hand_over(daemon)
    pools.crash(daemon)
    with daemon.client() as client:
        expect_code(client("LOCK", "a", "AS", me), "LOST")
        expect_code(client("UNLOCK", "a", "TOKEN", token, "AS", me), "LOST")
        expect_code(client("UNLOCK", "a", "TOKEN", token, "AS", me), "LOST")
        expect_between(client("LOCK", "a", "WAIT", WAIT_MS, "AS", me), token + 1, 2 ** 53)
    # A session of connections, whose answer is lost with the connection.
    first = daemon.client()
    secret = first("SESSION", "GRACE", 60000)
    expect(first("SESSION", "ONLOSS", "NEXT"), "OK")
    token = first("LOCK", "b")
    expect_between(daemon.client()("BREAK", "b", "TOKEN", token), 0, 60000)
    expect_code(first("LOCK", "b"), "LOST")
    first.close()
    second = daemon.client()
    expect(second("SESSION", "RESUME", secret), 0)
    expect_code(second("LOCK", "b"), "LOST")
    expect_between(second("LOCK", "b", "WAIT", WAIT_MS), token + 1, 2 ** 53)


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
