#!/usr/bin/env python3
"""A next process that comes up late: what was due soon when the state was saved is over by then.

Its clock goes ahead while it is held up, and that of the master with it; so no test depends on how long anything takes
here. An alarm of the daemon may come as much too late afterwards: what a client asks meanwhile does its work as well.
"""

import clockshim
import harness
import resp
from check_restart import users
from errands import Late, Program, granted, held
from harness import expect, expect_between, expect_code

LONG = 2 * harness.LEASE_MS // 1000  # seconds: each lease is over
UNREAD = 40  # seconds: more than the process before can ask that nothing ends unread for


def program_of(place, master, config=""):
    """A daemon whose clock the test sets, and which is replaced when the test says so."""
    clock = clockshim.Clock(place, "d1")
    daemon = place.idle_daemon(master=master, tcp=True, environment=clock.environment, config=config)
    daemon.clock, daemon.program = clock, Program(daemon)
    return daemon.start().admitted()


def answer(daemon, client, take=resp.Client.reply):
    """The next one, as soon as it is due."""
    with daemon.client() as beside:
        harness.until("an answer", lambda: beside("CHECK", "nothing") or not client.silent(0.0))
    return take(client)


def test_leases(place):
    """all leases are over: each hold is told lost once, each wait goes on, and no connection ends"""
    time = clockshim.Clock(place, "redis")
    daemon = program_of(place, place.redis(environment=time.environment), "retain: 10s\n")
    keen, other, bundle, away = (daemon.client() for _ in range(4))
    pushed, later = daemon.client(form=3), daemon.client(form=3)
    expect(keen("SESSION", "ONLOSS", "NEXT"), "OK")
    expect(pushed("SESSION", "ONLOSS", "PUSH"), "OK")
    secret = away("SESSION", "GRACE", 20000)
    granted(away("LOCK", "away"))
    names = {"alone": (), "shared": ("SHARED",), "taken": ("LIMIT", 3, "PERMITS", 2), "leased": ("LEASE", 30000),
             "claimed": ("CLAIM", 30000)}
    tokens = {name: granted(keen("LOCK", name, *words)) for name, words in names.items()}
    granted(pushed("LOCK", "pushed"))
    other.send("LOCK", "alone")
    daemon.queued("alone")
    bundle.send("MLOCK", 3, "a", "shared", "z")
    daemon.queued("shared")
    expect(later("LOCK", "taken", "LIMIT", 3, "PERMITS", 3, "ASYNC", "all"), "QUEUED")
    done = daemon.client()
    granted(done("LOCK", "idle", "LIMIT", 3, "PERMITS", 2))
    expect(done("UNLOCK", "idle"), 0)
    late = Late(daemon)
    daemon.clock.stun(-LONG)
    time.step(LONG)
    away.close()
    back = daemon.client()
    back.send("SESSION", "RESUME", secret)
    late.come_up()
    expect_between(answer(daemon, other), tokens["alone"] + 1, 2 ** 53)
    for name in names:
        why = {"leased": "lease", "claimed": "claim"}.get(name, "expired")
        expect(keen("CHECK", name).startswith("LOST %s" % why), True, name)
    expect(pushed.push()[:2], ["lost", "pushed"])
    expect([type(one) for one in answer(daemon, bundle)], [int] * 3)
    expect(answer(daemon, later, resp.Client.push)[:2], ["grant", "all"])
    expect(answer(daemon, back), 0)
    expect(back("CHECK", "away").startswith("LOST expired"), True)
    for client in (keen, other, bundle, back, pushed, later, done):
        expect(client("PING"), "PONG")


def test_unread(place):
    """what clients have sent meanwhile is read before a login, a heartbeat or a grace is over, and a wait before it is refused"""
    master = place.redis()
    daemon = program_of(place, master, users(place))
    elsewhere = place.daemon("d2", master=master).admitted()
    far = elsewhere.client()
    granted(far("LOCK", "far"))
    waiter, beating, away, stranger = daemon.client(), daemon.client(), daemon.client(), daemon.client(tcp=True)
    expect(beating("SESSION", "HEARTBEAT", 20000), "OK")
    secret = away("SESSION", "GRACE", 20000)
    expect_code(stranger("PING"), "NOAUTH")
    waiter.send("LOCK", "far", "WAIT", 20000)
    daemon.queued("far")
    beats, kept = granted(beating("LOCK", "beats")), granted(away("LOCK", "away"))
    late = Late(daemon)
    daemon.clock.stun(-UNREAD)
    beating.send("PING")
    away.close()
    back = daemon.client()
    back.send("SESSION", "RESUME", secret)
    stranger.send("AUTH", "user", "password")
    late.come_up()
    expect(answer(daemon, waiter), None)
    expect(answer(daemon, beating), "PONG")
    held(beating, "beats", beats)
    expect(answer(daemon, back), 1)
    held(back, "away", kept)
    expect(answer(daemon, stranger), "OK")


if __name__ == "__main__":
    harness.main(globals())
