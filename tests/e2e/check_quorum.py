#!/usr/bin/env python3
"""Three masters: locks go on while a majority of them is there, and refusals say which are missing and why."""

import os
import re

import harness
import resp
import tool
from harness import expect, expect_between, expect_code, until
from scene import Scene, pause

CONFIG = "lease: 3s\nclock-margin: 300ms\nrestart-guard: auto\n"
LEASE = 3.0
GUARD_MS = 3000 + 32 + 300  # the lease, 1 % and 2 ms of it for clocks that differ, and the margin
TOKEN_MAX = 2 ** 53


class Masters:
    """Several redis-servers as the masters of a daemon."""

    def __init__(self, place, count=3, prefix="r"):
        self.servers = [place.redis("%s%d" % (prefix, n)) for n in range(count)]
        self.url = '", "'.join(server.url for server in self.servers)  # between the quotes of a list

    def __getitem__(self, n):
        return self.servers[n]

    def owners(self, name):
        """What each master that runs has at the lease's key."""
        return [server("GET", "holdfast:{%s}" % name) for server in self.servers if server.process.alive()]


def start(place, count=3, **options):
    masters = Masters(place, count)
    return masters, place.daemon(master=masters, config=CONFIG, **options).admitted()


def all_admitted(daemon, count=3):
    """Waits until no master is guarded any more: each new one is for a little more than L + J."""
    until("all masters are usable", lambda: daemon.info()["masters_usable"] == "%d/%d" % (count, count // 2 + 1))
    return daemon


def votes(daemon, name):
    with resp.Client(daemon.socket, 3) as client:
        return client("INSPECT", name)["votes"]


def test_lock(place):
    """a lease is taken at all masters, shown as such, kept by renewals, and given back at all of them"""
    masters, daemon = start(place)
    all_admitted(daemon)
    client = daemon.client()
    tokens = []
    for _ in range(3):
        token = client("LOCK", "a", "WAIT", 0)
        expect_between(token, 1, TOKEN_MAX)
        tokens.append(token)
        expect_between(client("CHECK", "a"), 1, 3000)
        expect(client("UNLOCK", "a"), 0)
    expect(tokens, sorted(set(tokens)), "tokens grow")
    expect_between(client("LOCK", "a", "WAIT", 0), tokens[-1] + 1, TOKEN_MAX)
    until("three masters have the lease", lambda: votes(daemon, "a") == 3)
    owners = masters.owners("a")
    expect(len(set(owners)) == 1 and owners[0] is not None, True, "one owner at all masters: %r" % owners)
    pause(2 * LEASE)
    expect_between(client("CHECK", "a"), 1, 3000)
    expect(masters.owners("a"), owners)
    expect(client("UNLOCK", "a"), 0)
    until("the lease is given back everywhere", lambda: masters.owners("a") == [None] * 3)


def test_five(place):
    """five masters, two of which are killed"""
    masters, daemon = start(place, 5)
    all_admitted(daemon, 5)
    client = daemon.client()
    expect_between(client("LOCK", "a", "WAIT", 0), 1, TOKEN_MAX)
    masters[0].kill()
    masters[4].kill()
    expect_between(client("LOCK", "b", "WAIT", 20000), 1, TOKEN_MAX)
    pause(2 * LEASE)
    expect_between(client("CHECK", "a"), 1, 3000)
    expect(daemon.info()["masters_usable"], "3/3")


def test_views(place):
    """INFO tells each master, INSPECT the masters of a lease, logs and events name them"""
    masters, daemon = start(place)
    all_admitted(daemon)
    events = daemon.client()
    expect(events("EVENTS"), "OK")
    info = daemon.info()
    expect(info["masters"], "3")
    expect(info["masters_usable"], "3/2")
    expect(info["masters_state"], "admitted")
    for n in range(3):
        expect(info["master%d_address" % n], masters[n].socket)
        expect(info["master%d_state" % n], "admitted")
    masters[1].kill()
    line = events.reply()
    while not line.startswith("master.away"):
        line = events.reply()
    expect("master=%s " % masters[1].socket in line, True, line)
    daemon.output.wait(r"master\.away.* master=%s " % re.escape(masters[1].socket))
    info = daemon.info()
    expect(info["masters_usable"], "2/2")
    expect(info["masters_state"], "admitted")
    expect(info["master1_state"], "away")
    expect(info["master1_links_up"], "0")
    expect(info["master1_reason"] != "", True)
    with resp.Client(daemon.socket, 3) as client:
        expect_between(client("LOCK", "a", "WAIT", 0), 1, TOKEN_MAX)
        until("both have the lease", lambda: client("INSPECT", "a")["votes"] == 2)
        expect([(row["name"], row["votes"]) for row in client("LOCKS")[1]], [("a", 2)])
        expect(client("INSPECT", "nobody")["master"], "admitted")
        expect(client("INSPECT", "nobody")["votes"], 0)


def test_other_host(place):
    """a lock passes from one daemon to another at once, in both directions"""
    masters, first = start(place)
    second = place.daemon("d2", master=masters, config=CONFIG).admitted()
    all_admitted(first)
    all_admitted(second)
    one, two = first.client(), second.client()
    last = 0
    for holder, waiter in ((one, two), (two, one)) * 5:
        token = holder("LOCK", "a", "WAIT", 20000)
        expect_between(token, last + 1, TOKEN_MAX)
        waiter.send("LOCK", "a", "WAIT", 20000)
        expect(waiter.silent(0.02), True, "nobody else has it")
        expect(holder("UNLOCK", "a"), 0)
        last = waiter.reply()
        expect_between(last, token + 1, TOKEN_MAX)
        expect(waiter("UNLOCK", "a"), 0)


def test_killed(place):
    """one of three is killed and comes back empty: no holder loses its lock, nobody else is granted"""
    masters, daemon = start(place)
    other = place.daemon("d2", master=masters, config=CONFIG).admitted()
    all_admitted(daemon)
    all_admitted(other)
    client = daemon.client()
    token = client("LOCK", "a", "WAIT", 0)
    for n in range(3):
        mark = daemon.output.mark()
        masters[n].kill()
        expect_between(client("LOCK", "new%d" % n, "WAIT", 20000), 1, TOKEN_MAX)
        masters[n].restart()
        daemon.output.wait(r"master\.guarded.* master=%s" % re.escape(masters[n].socket), mark)
        expect(other.client()("LOCK", "a", "WAIT", 0), None, "the held lock for somebody else")
        expect_between(client("LOCK", "guard%d" % n, "WAIT", 20000), 1, TOKEN_MAX)
        daemon.output.wait(r"master\.admitted.* master=%s" % re.escape(masters[n].socket), mark)
        all_admitted(other)
        expect_between(client("CHECK", "a"), 1, 3000)
    expect(client("UNLOCK", "a", "TOKEN", token), 0)
    expect_between(other.client()("LOCK", "a", "WAIT", 20000), token + 1, TOKEN_MAX)


def test_stopped(place):
    """one of three is stopped: once it is marked down, locks do not wait for it"""
    masters, daemon = start(place)
    all_admitted(daemon)
    client = daemon.client()
    expect_between(client("LOCK", "a", "WAIT", 0), 1, TOKEN_MAX)
    masters[2].process.stop()
    for n in range(20):
        expect_between(client("LOCK", "b%d" % n, "WAIT", 20000), 1, TOKEN_MAX)
    until("the stopped one is known to be", lambda: daemon.info()["masters_usable"] == "2/2")
    pause(2 * LEASE)
    expect_between(client("CHECK", "a"), 1, 3000)
    masters[2].process.cont()
    all_admitted(daemon)
    expect_between(client("CHECK", "a"), 1, 3000)


def test_two_down(place):
    """without a majority LOCK says which masters are missing and why, and goes on when one is back"""
    masters, daemon = start(place)
    all_admitted(daemon)
    masters[0].kill()
    masters[1].kill()
    client, waiter = daemon.client(), daemon.client()
    answer = client("LOCK", "a", "WAIT", 0)
    expect_code(answer, "NOMASTER")
    expect("only 1 of 3 masters can be used" in answer, True, answer)
    for n in (0, 1):
        expect(masters[n].socket in answer, True, answer)
    expect(masters[2].socket in answer, False, answer)
    expect("not reachable" in answer, True, answer)
    expect(daemon.info()["masters_state"], "away")
    waiter.send("LOCK", "a", "WAIT", 20000)
    masters[0].restart()
    expect_between(waiter.reply(), 1, TOKEN_MAX)


def test_client_gives_up(place):
    """holdfast run --master-wait waits on while a majority is there, and gives up when it is not"""
    masters, daemon = start(place)
    all_admitted(daemon)
    holder = daemon.client()
    expect_between(holder("LOCK", "x", "WAIT", 0), 1, TOKEN_MAX)
    masters[0].kill()
    process = tool.start(place, daemon, "run", "--master-wait", "1", "x", "true")
    daemon.queued("x")
    pause(2.0)
    expect(process.alive(), True, process.output.text())
    masters[1].kill()
    expect(process.wait(), 69, process.output.text())
    expect("no master" in process.output.text(), True, process.output.text())


def test_guard(place):
    """new masters are guarded: WAIT 0 says for how long and which, and a wait is granted at the end"""
    masters = Masters(place)
    daemon = place.daemon(master=masters, config=CONFIG)
    for server in masters:
        daemon.output.wait(r"master\.guarded.* master=%s" % re.escape(server.socket))
    client = daemon.client()
    answer = client("LOCK", "a", "WAIT", 0)
    expect_code(answer, "GUARD")
    match = re.match(r"GUARD new leases resume in (\d+) ms: ", answer)
    expect(match is not None, True, answer)
    expect_between(int(match.group(1)), 1, GUARD_MS)
    expect(masters[0].socket in answer, True, answer)
    expect_between(client("LOCK", "a", "WAIT", 20000), 1, TOKEN_MAX)


def test_same_server(place):
    """one server under two names is refused where it is seen"""
    port = harness.free_port()
    server = place.redis("r0", options=["--port", str(port), "--bind", "127.0.0.1"])
    other = place.redis("r1")

    class Both:
        url = '", "'.join((server.url, "redis://127.0.0.1:%d" % port, other.url))
    daemon = place.daemon(master=Both, config=CONFIG)
    daemon.output.wait(r"master\.refused.*same")
    expect(isinstance(daemon.client()("LOCK", "a", "WAIT", 0), resp.Error), True)


def test_other_number(place):
    """a daemon with another number of masters than its fellows is refused at the ones they share"""
    masters, _ = start(place)
    other = place.daemon("d2", master=masters[1], config=CONFIG + "masters-follow: no\n")
    line = other.output.wait(r"master\.refused.*")[1].group(0)
    expect("another set of masters" in line, True, line)
    expect_code(other.client()("LOCK", "a", "WAIT", 0), "NOMASTER")


@harness.busy
def test_work(place):
    """two daemons, clients that take turns, and each master in turn killed, stopped and flushed"""
    masters = Masters(place)
    scene = Scene(place, redis=masters)
    for daemon in scene.daemons:
        all_admitted(daemon)

    def killed(server):
        server.kill()
        scene.progress(50)
        server.restart()

    def stopped(server):
        server.process.stop()
        scene.progress(50)
        server.process.cont()

    for server, fault in zip(masters, (killed, stopped, lambda server: server("FLUSHALL"))):
        fault(server)
        scene.progress(50)
        for daemon in scene.daemons:
            all_admitted(daemon)
    scene.progress(100)
    scene.finish()


if __name__ == "__main__":
    harness.main(globals())
