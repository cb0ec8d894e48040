#!/usr/bin/env python3
"""Whether locks can be had: what the daemon tells its service manager, and holdfast health."""

import json
import os
import re
import signal

import harness
import tool
from harness import expect, expect_between

# A master that is not there is known to be missing within a moment, and a silent one soon.
CONFIG = "lease: 2s\n"


def health(place, daemon, *words, **options):
    return tool.call(place, daemon, "health", *words, **options)


def matches(pattern, text):
    expect(bool(re.search(pattern, text, re.S)), True, "%s in %r" % (pattern, text))


def test_master_comes_later(place):
    """the daemon is ready though its master is away, says that no lock can be had, and then that it serves"""
    master = place.redis()
    master.kill()
    daemon = place.idle_daemon(master=master, config=CONFIG)
    daemon.spawn()
    told = daemon.await_told("^READY=1$")
    matches("STATUS=no new locks: the master .*refused", told)
    master.start()
    daemon.await_told("^STATUS=serving$")
    master.kill()
    daemon.await_told("^STATUS=no new locks: the master ")


def test_ready_is_served(place):
    """a daemon that is ready grants the first lock that it is asked for; with a private redis-server, too"""
    for daemon in (place.idle_daemon("d1", master=place.redis()), place.idle_daemon("d2")):
        daemon.spawn()
        expect(daemon.await_told("^READY=1$"), "READY=1\nSTATUS=serving")
        expect_between(daemon.client()("LOCK", "a", "WAIT", 0), 1, 2 ** 53)


def test_one_of_three(place):
    """one of three masters goes away and comes back: it serves all the time and names the missing one; of two it does not"""
    masters = [place.redis("r%d" % n) for n in range(3)]
    daemon = place.daemon(master=masters, config=CONFIG)
    harness.until("all are usable", lambda: daemon.info()["masters_usable"] == "3/2")
    expect(daemon.info()["masters_missing"], "")
    status, text = health(place, daemon)
    matches(r"^OK - a lock was granted in [0-9.]+ ms \| time=[0-9.]+s masters=3;3:;2:;0;3$", text)
    expect(status, 0)
    masters[1].kill()
    matches(r"STATUS=serving: \S*%s " % re.escape(masters[1].socket), daemon.await_told("^STATUS=serving: "))
    status, text = health(place, daemon)
    matches(r"^WARNING - a lock was granted in [0-9.]+ ms, but not by all masters: the master %s has been away "
            r"for \d+ s: [^|]* \| time=[0-9.]+s masters=2;3:;2:;0;3$" % re.escape(masters[1].socket), text)
    expect(status, 1)
    masters[2].kill()
    daemon.await_told("^STATUS=no new locks: only 1 of 3 masters can be used: ")
    status, text = health(place, daemon)
    matches(r"^CRITICAL - no lock can be had: 1 of 3 masters can be used, and 2 are needed: the master %s has been away for \d+ s: "
            r"[^|]*; the master %s has been away for \d+ s: [^|]* \| time=[0-9.]+s$" % tuple(
                re.escape(master.socket) for master in masters[1:]), text)
    expect(status, 2)
    for master in masters[1:]:
        master.start()
    daemon.await_told("^STATUS=serving$")


def test_guarded(place):
    """a master that came back empty is guarded: that is said, with how long, and is critical for as long"""
    master = place.redis()
    daemon = place.daemon(master=master, config=CONFIG + "restart-guard: auto\n").admitted()
    expect_between(daemon.client()("LOCK", "a", "WAIT", 0), 1, 2 ** 53)
    master.kill()
    master.start()
    daemon.await_told("^STATUS=no new locks: the master restarted or is new: new leases resume in [0-9]+ ms$")
    status, text = health(place, daemon)
    # It may have been over by then.
    expect((status, text.split(" ")[0]) in ((2, "CRITICAL"), (0, "OK")), True, text)
    if status:
        matches(r"^CRITICAL - no lock can be had: the master %s has been \w+ for \d+ s" % re.escape(master.socket), text)
    daemon.await_told("^STATUS=serving$")
    expect(health(place, daemon)[0], 0)


def test_leaves_nothing(place):
    """health gives its lock back, is quiet if asked to be, and has its JSON"""
    daemon = place.daemon(master=place.redis()).admitted()
    status, text = health(place, daemon, "--json")
    said = json.loads(text)
    expect(status, 0)
    expect_between(said.pop("ms"), 0, harness.PATIENCE * 1000)
    expect(said.pop("text").startswith("a lock was granted in "), True)
    expect(said, {"health": "ok", "masters": 1, "usable": 1, "majority": 1})
    expect(health(place, daemon, "-q"), (0, ""))
    expect(tool.call(place, daemon, "ls", "-q"), (0, ""))


def test_bounds(place):
    """-w and -c say from which time on a lock is a warning, and critical; the plugin's figures have both"""
    daemon = place.daemon(master=place.redis()).admitted()
    status, text = health(place, daemon, "-w", "50", "-c", "60")
    matches(r"^OK - a lock was granted in [0-9.]+ ms \| time=[0-9.]+s;50;60 masters=", text)
    expect(status, 0)
    status, text = health(place, daemon, "-w", "0", "-c", "60")
    matches(r"^WARNING - a lock was granted in [0-9.]+ ms; 0 ms or more are a warning \| time=[0-9.]+s;0;60 masters=", text)
    expect(status, 1)
    status, text = health(place, daemon, "-c", "0")
    matches(r"^CRITICAL - a lock was granted in [0-9.]+ ms; 0 ms or more are critical \| time=[0-9.]+s;;0 masters=", text)
    expect(status, 2)
    expect(json.loads(health(place, daemon, "--json", "--critical", "0")[1])["health"], "critical")
    status, text = health(place, daemon, "-w", "2", "-c", "1")
    matches("--critical is less than --warning", text)
    expect(status, 64)
    # A daemon that gives no lock is critical whatever the bounds are.
    daemon.process.signal(signal.SIGSTOP)
    expect(health(place, daemon, "-w", "50", "--timeout", "0.3"), (2, "CRITICAL - the daemon does not answer"))
    daemon.process.signal(signal.SIGCONT)


def test_no_answer(place):
    """no daemon, one that stands still and one that drains are critical"""
    daemon = place.daemon(master=place.redis()).admitted()
    status, text = health(place, place.path + "/nowhere")
    matches("^CRITICAL - cannot reach the daemon at ", text)
    expect(status, 2)
    daemon.process.signal(signal.SIGSTOP)
    status, text = health(place, daemon, "--timeout", "0.3")
    expect((status, text), (2, "CRITICAL - the daemon does not answer"))
    daemon.process.signal(signal.SIGCONT)
    holder = daemon.client()
    expect_between(holder("LOCK", "a", "WAIT", 0), 1, 2 ** 53)
    daemon.process.signal(signal.SIGTERM)
    daemon.await_told("^STOPPING=1$")
    status, text = health(place, daemon)
    matches("^CRITICAL - ", text)
    expect(status, 2)


def test_not_known(place):
    """a Redis instead of the daemon, no right to ask, and a wrong HOLDFAST_URL are unknown, as nothing was learnt"""
    master = place.redis()
    secret = os.path.join(place.path, "secret")
    with open(secret, "w", encoding="ascii") as stream:
        stream.write("hunter2\n")
    daemon = place.daemon(master=master, tcp=True,
                          config="users:\n  - { name: deploy, password-file: %s, admin: no }\n" % secret).admitted()
    status, text = health(place, "unix:" + master.socket)
    matches("^UNKNOWN - a server of Redis' kind", text)
    expect(status, 3)
    status, text = health(place, "127.0.0.1:%d" % daemon.port)
    matches("^UNKNOWN - cannot ask: NOAUTH", text)
    expect(status, 3)
    expect(health(place, "ftp://nowhere")[0], 3)


def test_users(place):
    """a user who may not take the name is told which glob is missing; an address that guessed too often learns nothing"""
    secret = os.path.join(place.path, "secret")
    with open(secret, "w", encoding="ascii") as stream:
        stream.write("hunter2\n")
    daemon = place.daemon(master=place.redis(), tcp=True,
                          config="users:\n  - { name: deploy, password-file: %s, names: [ \"app:*\" ] }\n" % secret).admitted()
    url = "redis://deploy:%%s@127.0.0.1:%d" % daemon.port
    status, text = health(place, url % "hunter2")
    matches(r'^UNKNOWN - cannot ask: NOPERM .*names: has no glob for holdfast:health:[0-9:]+: '
            r'add "holdfast:health:\*" to the names: of this user \| ', text)
    expect(status, 3)

    def limited():
        status, text = health(place, url % "wrong")
        expect(status, 3, text)
        return "LIMIT too many logins" in text
    harness.until("no more logins are looked at", limited)
    status, text = health(place, url % "hunter2")
    matches("^UNKNOWN - cannot ask: LIMIT too many logins", text)
    expect(status, 3)


if __name__ == "__main__":
    harness.main(globals())
