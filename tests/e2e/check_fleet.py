#!/usr/bin/env python3
"""One view of all daemons that share the masters: from each of them, also while one of them says nothing."""

import contextlib
import hashlib
import hmac
import json
import os
import random
import re
import signal
import subprocess
import threading
import time

import clockshim
import harness
import proxy
import resp
import tool
from harness import boottime, expect, expect_between, expect_code

QUIET = "log: { level: info }\n"


def apart():
    """Whether daemons can have host names of their own: as on hosts of their own."""
    return os.geteuid() == 0 and subprocess.call(["unshare", "--uts", "true"], stderr=subprocess.DEVNULL) == 0


def named(place, number, master, config=QUIET, **options):
    """A daemon on a host app-NUMBER, if that can be."""
    daemon = place.idle_daemon("d%d" % number, master=master, config=config, **options)
    daemon.host = "app-%d" % number if apart() else os.uname().nodename
    if apart():
        daemon.wrap = ["unshare", "--uts", "sh", "-c", "hostname %s; exec \"$@\"" % daemon.host, "sh"]
    return daemon.start()


def fleet_of(place, count=3, master=None, config=QUIET, **options):
    """So many daemons that know of each other."""
    master = master or place.redis()
    daemons = [named(place, n, master, config, **options) for n in range(1, count + 1)]
    for daemon in daemons:
        daemon.admitted()
    for daemon in daemons:
        everybody(daemon, count)
    return daemons


def everybody(daemon, count):
    """Waits until it knows so many, and all answer."""
    with daemon.client(3) as client:
        harness.until("%d daemons answer" % count, lambda: [
            one["answers"] for one in client("FLEET")] == [1] * count)


def daemon_id(daemon):
    return daemon.info()["run_id"]


def secret_of(master, ident):
    """The secret of a daemon's messages, as a daemon reads it at the master."""
    return master("HGET", "holdfast:node", "h:" + ident).split(" ")[7]


def message(purpose, secret, text):
    """As a daemon sends it to another."""
    code = hmac.new(("%s %s" % (purpose, secret)).encode(), text.encode(), hashlib.sha256).hexdigest()[:32]
    return "%s %s %s" % (purpose, code, text)


def pages(client, *words, silent=0):
    """All elements of a list of all daemons, and the daemons that did not answer: on a busy machine others may be late."""
    return harness.until("%d daemons are silent" % silent, lambda: [
        both for both in [pages_once(client, *words)] if len(both[1]) == silent])[0]


def pages_once(client, *words):
    cursor, elements, silent = "0", [], []
    while True:
        cursor, page, missing = client(*words, "FLEET", "CURSOR", cursor)
        elements += page
        silent += [one["daemon"] for one in missing]
        if cursor == "0":
            return elements, silent


def inspect(client, name, silent=0):
    return harness.until("%d daemons are silent" % silent, lambda: [
        seen for seen in [client("INSPECT", name, "FLEET")] if len(seen["silent"]) == silent])[0]


def call_whole(place, daemon, *words):
    """tool.call() when all daemons answer."""
    def once():
        status, output = tool.call(place, daemon, *words)
        return (status, output) if "no answer from" not in output and "does not answer" not in output else None
    return harness.until("all daemons answer", once)


def test_waiters_elsewhere(place):
    """ls names the host of those who wait through another daemon"""
    first, second = fleet_of(place, 2)
    holder, waiter = first.client(), second.client()
    expect(isinstance(holder("LOCK", "job"), int), True)
    waiter.send("LOCK", "job")
    second.queued("job")
    for daemon in (first, second):
        status, output = call_whole(place, daemon, "ls")
        rows = [re.split(" {2,}", line) for line in output.splitlines() if line.startswith("job ")]
        expect((status, len(rows)), (0, 2), output)
        if apart():
            expect({row[1]: row[4].split()[0] for row in rows}, {"held": first.host, "waiting": second.host}, output)


def test_clocks(place):
    """a host whose clock is ahead: by how much, seen from both sides"""
    clock = clockshim.Clock(place, "d2")
    redis = place.redis()
    first = named(place, 1, redis).admitted()
    second = named(place, 2, redis, environment=clock.environment).admitted()
    everybody(first, 2)
    clock.step(5)
    for daemon, ahead in ((first, 5), (second, -5)):
        everybody(daemon, 2)
        with daemon.client(3) as client:
            other, = [one for one in harness.until("both answer", lambda asks=client: [
                every for every in [asks("FLEET")] if all(one["answers"] for one in every)])[0] if not one["here"]]
        expect_between(other["clock_ms"], ahead * 1000 - other["answer_ms"] - 50, ahead * 1000 + other["answer_ms"] + 50)
    status, output = call_whole(place, first, "fleet")
    expect((status, len(re.findall(r" \+[45](\.\d)?s ", output)), len(re.findall(" same ", output))), (0, 1, 1), output)


def test_registry(place):
    """each daemon says of itself where it is, and which settings it has; one that has ended is gone"""
    redis = place.redis()
    first, second = fleet_of(place, 2, redis)
    rules = "rules: [ { match: 'job/*', wait: 5s } ]\n"
    third = named(place, 3, redis, QUIET + rules, tcp=True).admitted()
    with first.client(3) as client:
        everybody(first, 3)
        listed = {one["daemon"]: one for one in client("FLEET")}
        for daemon in (first, second, third):
            one = listed[daemon_id(daemon)]
            expect((one["host"], one["pid"], one["version"]),
                   (daemon.host, daemon.process.pid, daemon.info()["holdfast_version"]))
            expect(one["address"], "127.0.0.1:%d" % third.port if daemon is third else "unix")
            expect_between(one["uptime_ms"], 0, 60000)
            expect_between(one["seen_ms"], 0, 60000)
            expect(one["differs"], "rules" if daemon is third else "", one["settings"])
        with third.client(3) as other:
            expect(sorted(one["differs"] for one in other("FLEET")), ["", "rules", "rules"])
        # A reload is in the next HELLO.
        third.configure(QUIET)
        expect(isinstance(third.client()("RELOAD"), str), True)
        redis("CLIENT", "KILL", "TYPE", "normal")
        harness.until("the reload is known", lambda: not any(one["differs"] for one in client("FLEET")))
        everybody(first, 3)  # whose connections are there again
        expect([one["daemon"] for one in client("FLEET") if one["here"]], [daemon_id(first)])
        status, output = tool.call(place, first, "fleet")
        expect(status, 0, output)
        expect(sorted(line.split()[0] for line in output.splitlines()), sorted(["HOST"] + [d.host for d in (first, second, third)]))
        second.terminate()
        harness.until("it is gone", lambda: len(client("FLEET")) == 2)
        expect(json.loads(tool.call(place, first, "fleet", "--json")[1])[0]["answers"], 1)


def test_show(place):
    """whatever host is asked says who holds a lock, who waits for it, and on which host"""
    daemons = fleet_of(place)
    idle, holder, waiter = [daemon.client() for daemon in daemons]
    expect(idle("PING"), "PONG")
    holder("CLIENT", "SETNAME", "billing")
    token = holder("LOCK", "a", "WHY", "release 42")
    waiter.send("LOCK", "a")
    daemons[2].queued("a")
    for daemon in daemons:
        with daemon.client(3) as client:
            seen = inspect(client, "a")
            expect((seen["state"], seen["kind"], seen["silent"]), ("held", "exclusive", []))
            expect([(one["host"], one["daemon"]) for one in seen["holders"]], [(daemons[1].host, daemon_id(daemons[1]))])
            expect([one["daemon"] for one in seen["queue"]], [daemon_id(daemons[2])])
            holders = [one for host in seen["hosts"] for one in host["holders"]]
            expect([(one["client"], one["token"], one["why"]) for one in holders], [("billing", token, "release 42")])
            expect(inspect(client, "nothing")["state"], "free")
            locks, silent = pages(client, "LOCKS", "MATCH", "a")
            expect((sorted((one["host"], one["state"]) for one in locks), silent),
                   (sorted([(daemons[1].host, "held"), (daemons[2].host, "waiting")]), []))
            sessions, _ = pages(client, "SESSIONS")
            expect({one["host"] for one in sessions}, {one.host for one in daemons})
        status, output = call_whole(place, daemon, "show", "a")
        expect(status, 0, output)
        expect(re.search(r"^state +held$", output, re.M) is not None, True, output)
        expect("billing (pid" in output and "release 42" in output and str(token) in output, True, output)
        status, output = call_whole(place, daemon, "ls", "-q")
        expect((status, output.splitlines().count("a")), (0, 2), output)
        status, output = call_whole(place, daemon, "show", "nothing")
        expect((status, "free" in output), (1, True), output)
        shown = json.loads(call_whole(place, daemon, "show", "a", "--json")[1])
        expect(shown["fleet"]["state"], "held")
    # RESP2 has the same, flat.
    flat = daemons[0].client()("INSPECT", "a", "FLEET")
    expect(flat[flat.index("state") + 1], "held")


def test_kinds(place):
    """permits are counted over all hosts, readers of all hosts are shown, and so are latches"""
    daemons = fleet_of(place)
    clients = [daemon.client(3) for daemon in daemons]
    for client in clients:
        expect(client("LOCK", "s", "LIMIT", 5, "PERMITS", 1) > 0, True)
        expect(client("LOCK", "r", "SHARED") > 0, True)
    expect(clients[1]("LATCH", "gate", "SET", 3), 1)
    for client in clients:
        seen = inspect(client, "s")
        expect((seen["kind"], seen["limit"], seen["taken"], len(seen["hosts"])), ("permits", 5, 3, 3))
        seen = inspect(client, "r")
        expect((seen["kind"], seen["state"], len(seen["holders"]), len(seen["hosts"])), ("shared", "held", 3, 3))
        seen = inspect(client, "gate")
        expect((seen["kind"], seen["state"]), ("latch", "closed"))


def dictionaries(page):
    """Rows, which come behind their keys, as maps."""
    return [dict(zip(page[0], row)) for row in page[1:]]


def still(element):
    """What stays from one look to the next."""
    return {key: value for key, value in element.items() if not key.endswith(("_ms", "_s"))}


def test_rows(place):
    """lists of rows have the values of those of maps, behind their keys; latches, which have others, come in a page of their own"""
    first, second = fleet_of(place, 2)
    client, other = first.client(3), second.client(3)
    for name in ("a", "b", "c"):
        client("LOCK", name, "WHY", "because")
        other("LOCK", name + name, "SHARED")
    expect(client("LATCH", "gate", "SET", 3), 1)
    for words in (("LOCKS",), ("LOCKS", "MATCH", "a*"), ("SESSIONS",), ("LOCKS", "FLEET"), ("SESSIONS", "FLEET")):
        maps, rows = [], []
        for found, more in ((maps, ()), (rows, ("ROWS",))):
            cursor = "0"
            while True:
                answer = client(*words, *more, "CURSOR", cursor)
                expect(isinstance(answer, list), True, repr(answer))
                cursor, page = answer[:2]
                found += dictionaries(page) if more else page
                if cursor == "0":
                    break
        expect([still(row) for row in rows], [still(one) for one in maps], repr(words))
        expect(len(rows) > 0 and [list(row) for row in rows] == [list(one) for one in maps], True, repr(rows))
    flat = first.client()("LOCKS", "MATCH", "a", "ROWS")[1]
    expect((flat[0][0], flat[1][0], len(flat)), ("name", "a", 2))
    expect(client("LOCKS", "MATCH", "nothing", "ROWS")[1], [])
    expect_code(client("INSPECT", "a", "ROWS"), "ERR")


def test_history(place):
    """HISTORY of the fleet has the holds of all daemons, the latest first, and names the host; also who does not answer"""
    daemons = fleet_of(place)
    clients = [daemon.client(3) for daemon in daemons]
    tokens = []
    for client in clients + clients[::-1]:
        tokens.append(client("LOCK", "a", "WAIT", 20000))
        client("UNLOCK", "a")
        # Holds of one millisecond have no order between daemons.
        ended = client("HISTORY", "a")[0]["ended_at_ms"]
        harness.until("it is later", lambda: time.time() * 1000 > ended + 1)
    hosts = [daemon.host for daemon in daemons + daemons[::-1]]
    for daemon, client in zip(daemons, clients):
        holds, silent = harness.until("all answer", lambda: [
            both for both in [client("HISTORY", "a", "FLEET")] if not both[1]])[0]
        expect(([hold["token"] for hold in holds], silent), (tokens[::-1], []))
        expect([hold["host"] for hold in holds], hosts[::-1])
        expect([hold["token"] for hold in client("HISTORY", "a", "COUNT", 2, "FLEET")[0]], tokens[:-3:-1])
        expect(len(client("HISTORY", "a")), 2)
        status, output = call_whole(place, daemon, "history", "a")
        expect((status, output.count("released")), (0, 6), output)
        for other in daemons if apart() else ():
            expect(output.count(" %s pid " % other.host), 2, output)
        expect(tool.call(place, daemon, "history", "--here", "a")[1].count("released"), 2)
    daemons[1].process.stop()
    harness.until("one is silent", lambda: [one["host"] for one in clients[0]("HISTORY", "a", "FLEET")[1]] == [daemons[1].host])
    status, output = tool.call(place, daemons[0], "history", "a")
    expect((status, output.count("released"), "no answer from the daemon of " + daemons[1].host in output), (1, 4, True), output)
    shown = json.loads(subprocess.run([harness.HOLDFAST, "history", "--json", "a"], stdout=subprocess.PIPE, check=False,
                                      stderr=subprocess.DEVNULL, env=dict(os.environ, HOLDFAST_URL=daemons[0].socket)).stdout)
    expect(([len(shown), shown[-1]["missing"]], daemons[1].host in shown[-1]["error"]), ([5, None], True), repr(shown[-1]))
    daemons[1].process.cont()


def test_long_history(place):
    """however many holds the daemons remember, the merged list has a part of them without a gap: the latest"""
    daemons = fleet_of(place, 2)
    clients = [daemon.client(3) for daemon in daemons]
    why = "w" * 250
    for _ in range(6):
        for client in clients:
            for _ in range(100):
                client.send("LOCK", "a", "WHY", why, "WAIT", 40000)
                client.send("UNLOCK", "a")
            for _ in range(200):
                expect(isinstance(client.reply(), int), True)
    every = sorted((hold for client in clients for hold in client("HISTORY", "a")), key=lambda hold: -hold["ended_at_ms"])
    holds, silent = harness.until("both answer", lambda: [
        both for both in [clients[0]("HISTORY", "a", "FLEET")] if not both[1]])[0]
    expect_between(len(holds), 50, 500)
    times = [hold["ended_at_ms"] for hold in holds]
    expect(times, sorted(times, reverse=True))
    expect(len({hold["token"] for hold in holds}), len(holds), "none twice")
    since = times[-1]
    expect(sorted(hold["token"] for hold in every if hold["ended_at_ms"] > since),
           sorted(hold["token"] for hold in holds if hold["ended_at_ms"] > since), "a gap")


def test_busy(place):
    """who waits for a lock of another host, or does not get it, is told who has it there"""
    daemons = fleet_of(place, 2)
    holder = daemons[0].client()
    holder("CLIENT", "SETNAME", "billing")
    holder("LOCK", "a", "WHY", "release 42")
    status, output = tool.call(place, daemons[1], "run", "-n", "a", "--", "true")
    expect(status, 75, output)
    expect("held" in output and "by billing (pid" in output and "release 42" in output, True, output)
    if apart():
        expect("on app-1" in output, True, output)
    waiter = tool.start(place, daemons[1], "run", "a", "--", "true")
    waiter.output.wait(r"waiting for a: held .*by billing \(pid .*release 42; number 1 in line here")
    holder("UNLOCK", "a")
    expect(waiter.wait(), 0)


def test_break(place):
    """a lock is broken from whatever host, and its holder is told; with another token nothing happens"""
    daemons = fleet_of(place, 3, config=QUIET + harness.BRISK)
    for daemon in daemons:
        holder = daemons[1].client(3)
        holder("SESSION", "ONLOSS", "PUSH")
        token = holder("LOCK", "a", "WAIT", 20000)
        admin = daemon.client()
        expect_code(admin("BREAK", "a", "TOKEN", token + 1, "FLEET"), "NOTHELD")
        expect(holder("CHECK", "a") > 0, True)
        status, output = tool.call(place, daemon, "break", "a", "--token", token)
        expect(status, 0, output)
        expect(holder.push()[:2], ["lost", "a"])
        status, output = tool.call(place, daemon, "break", "b", "--token", token)
        expect(status, 1, output)
    daemons[1].output.wait(r"lock\.break .*asked for through another daemon")


def test_break_is_audited(place):
    """the audit log of the daemon that breaks has the daemon and the client that asked, and the log of that one the client and the end; HISTORY has the client"""
    paths = [os.path.join(place.path, "audit-%d.log" % n) for n in (1, 2)]
    redis = place.redis()
    first, second = [named(place, n, redis, QUIET + harness.BRISK + "audit: %s\n" % paths[n - 1]).admitted() for n in (1, 2)]
    everybody(first, 2)
    everybody(second, 2)
    token = second.client()("LOCK", "a", "WAIT", 20000)
    admin = first.client()
    expect_code(admin("BREAK", "a", "TOKEN", token + 1, "FLEET"), "NOTHELD")
    expect_between(admin("BREAK", "a", "TOKEN", token, "FLEET"), 0, harness.LEASE_MS)
    texts = []
    for path in paths:
        with open(path, encoding="utf-8") as audit:
            texts.append(audit.read())
    found = re.findall(r"lock\.break by=\d+ address=unix uid=%d pid=%d name=a token=(\d+) result=(\w+)$" % (
        os.getuid(), os.getpid()), texts[0], re.M)
    expect(found, [(str(token + 1), "begun"), (str(token + 1), "NOTHELD"), (str(token), "begun"), (str(token), "ok")], texts[0])
    who = "uid %d on %s" % (os.getuid(), first.host)
    found = re.findall(r"lock\.break name=a token=(\d+) from=(\w+) host=(\S+) asked_by=\"(.*?)\" ", texts[1])
    expect(found, [(str(token), daemon_id(first), first.host, who)], texts[1])
    other = second.client()
    mine = other("LOCK", "b")
    expect_between(second.client()("BREAK", "b", "TOKEN", mine, "FLEET"), 0, harness.LEASE_MS)
    reader = first.client(3)
    for name, by in (("a", who), ("b", "uid %d on %s" % (os.getuid(), second.host))):
        holds = harness.until("the daemon of the hold tells", lambda name=name: reader("HISTORY", name, "FLEET")[0])
        expect([(hold["end"], hold["broken_by"]) for hold in holds], [("broken", by)])
        status, output = call_whole(place, first, "history", name)
        expect((status, "broken by " + by in output), (0, True), output)
    expect(isinstance(second.client()("RESTART"), resp.Error), False)
    holds = harness.until("the next process tells", lambda: reader("HISTORY", "a", "FLEET")[0])
    expect([hold["broken_by"] for hold in holds], [who])


def test_silent(place):
    """a daemon that is stopped is reported; what it holds is never free, and a BREAK that it has not answered reaches it later"""
    daemons = fleet_of(place)
    holder, other = daemons[1].client(), daemons[2].client()
    token = holder("LOCK", "a")
    other("LOCK", "b")
    daemons[1].process.stop()
    stopped = daemon_id_of(place, daemons[1])
    for daemon in (daemons[0], daemons[2]):
        with daemon.client(3) as client:
            for _ in range(3):
                seen = inspect(client, "a", 1)
                expect((seen["state"], [one["daemon"] for one in seen["silent"]]), ("held", [stopped]))
                expect([one["host"] for one in seen["holders"]], [daemons[1].host])
                expect(inspect(client, "b", 1)["state"], "held")
                locks, silent = pages(client, "LOCKS", silent=1)
                expect(([one["name"] for one in locks], silent), (["b"], [stopped]))
            answer = client("BREAK", "a", "TOKEN", token, "FLEET")
            expect_code(answer, "NOMASTER")
            expect("the daemon of %s does not answer: it breaks the hold when it goes on" % daemons[1].host in answer, True, answer)
            expect([one["answers"] for one in client("FLEET") if one["daemon"] == stopped], [0])
        status, output = tool.call(place, daemon, "break", "a", "--token", token)
        expect((status, "it breaks the hold when it goes on" in output), (69, True), output)
        status, output = tool.call(place, daemon, "show", "a")
        expect((status, "does not answer" in output, "held" in output), (0, True, True), output)
        status, output = tool.call(place, daemon, "ls")
        expect((status, "no answer from the daemon of " + daemons[1].host in output), (1, True), output)
        expect(tool.call(place, daemon, "fleet")[0], 1)
    daemons[1].process.cont()
    for daemon in daemons:
        everybody(daemon, 3)
        with daemon.client(3) as client:
            # What it was asked for has reached it by now.
            harness.until("it is broken", lambda: inspect(client, "a")["state"] == "withheld")
            expect(inspect(client, "b")["state"], "held")


def daemon_id_of(place, daemon):
    """Of one that does not answer."""
    return re.search(r"daemon\.started .*id=(\w{32})", daemon.output.text()).group(1)


def test_partition(place):
    """a daemon that is cut off from the master says so, and claims of no lock that it is free"""
    redis = place.redis()
    link = proxy.Proxy(redis.socket)
    place.ends.append(link.close)
    near, far = named(place, 1, redis).admitted(), named(place, 2, link).admitted()
    everybody(near, 2)
    everybody(far, 2)
    near.client()("LOCK", "a")
    link.hold(proxy.UP, proxy.DOWN)
    with near.client(3) as client:
        expect([one["daemon"] for one in inspect(client, "a", 1)["silent"]], [daemon_id_of(place, far)])
    with far.client(3) as client:
        seen = inspect(client, "a", 1)
        expect((seen["state"], [one["daemon"] for one in seen["silent"]]), ("unknown", [daemon_id_of(place, near)]))
        expect(inspect(client, "nothing", 1)["state"], "unknown")
    link.go()
    everybody(far, 2)
    with far.client(3) as client:
        expect(inspect(client, "a")["state"], "held")


def test_no_master(place):
    """while no master is connected, no daemon is called silent: it was not asked, and others may be missing"""
    redis = place.redis()
    first, second = fleet_of(place, 2, redis)
    other = daemon_id(second)
    redis.kill()
    harness.until("the master is away", lambda: first.info()["master0_links_up"] == "0")
    with first.client(3) as client:
        expect([(one["daemon"], one["asked"]) for one in inspect(client, "a", 1)["silent"]], [(other, 0)])
        expect({one["daemon"]: (one["asked"], one["answers"]) for one in client("FLEET")},
               {other: (0, 0), daemon_id(first): (0, 1)})
        answer = client("BREAK", "a", "TOKEN", 1, "FLEET")
        expect((answer.code, "no master carries messages to the daemon of " + second.host in answer), ("NOMASTER", True), answer)
    for words, text in ((("show", "a"), "not asked the daemon of %s: no master carries messages (holdfast doctor)" % second.host),
                        (("ls",), "the daemon of %s was not asked: no master carries messages (holdfast doctor)" % second.host),
                        (("fleet",), "holdfast: no master answers: daemons may be missing (holdfast doctor)")):
        status, output = tool.call(place, first, *words)
        expect((text in output, "does not answer" in output or "no answer from" in output), (True, False), output)
        expect(status, 0 if words[0] == "show" else 1, output)


def test_three_masters(place):
    """of three masters two are enough; with one of them nothing is said to be free"""
    redises = [place.redis("redis-%d" % n) for n in range(3)]
    first, second = fleet_of(place, 2, redises)
    second.client()("LOCK", "a")
    client = first.client(3)
    redises[0].kill()
    expect((inspect(client, "a")["state"], inspect(client, "b")["state"], inspect(client, "a")["silent"]), ("held", "free", []))
    expect([one["host"] for one in inspect(client, "a")["holders"]], [second.host])
    redises[1].kill()
    expect((inspect(client, "a")["state"], inspect(client, "b")["state"]), ("held", "unknown"))
    for redis in redises[:2]:
        redis.restart()


def test_forgotten(place):
    """a lock whose holder is on a daemon that is stopped is never shown as free by a master that has forgotten it"""
    redis = place.redis()
    daemons = fleet_of(place, 2, redis, QUIET + "restart-guard: auto\nlease: 10s\n")
    expect(daemons[1].client()("LOCK", "a", "WAIT", 20000) > 0, True)
    stopped = daemon_id(daemons[1])
    daemons[1].process.stop()
    redis.kill()
    redis.restart()
    harness.until("the master has a guard", lambda: daemons[0].info()["master0_state"] == "guarded")
    with daemons[0].client(3) as client:
        seen = inspect(client, "a", 1)
        expect((seen["state"], [one["daemon"] for one in seen["silent"]]), ("unknown", [stopped]))
        expect_between(seen["guard_ms"], 1, 60000)
        expect([one["answers"] for one in client("FLEET") if one["daemon"] == stopped], [0])
    status, output = tool.call(place, daemons[0], "show", "a")
    expect((status, "unknown: the master may have forgotten it; wait" in output), (0, True), output)
    status, output = tool.call(place, daemons[0], "ls")
    expect((status, "no answer from the daemon of " + daemons[1].host in output), (1, True), output)


def test_refused(place):
    """a master that may evict leases makes no name free"""
    redis = place.redis()
    daemon = fleet_of(place, 1, redis)[0]
    with daemon.client(3) as client:
        expect(inspect(client, "a")["state"], "free")
        redis("CONFIG", "SET", "maxmemory", "100mb")
        redis("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        redis("CLIENT", "KILL", "TYPE", "normal")
        harness.until("the master is refused", lambda: daemon.info()["master0_state"] == "refused")
        expect(inspect(client, "a")["state"], "unknown")


def refused_one(client):
    """The daemons that masters refuse, as this one tells of them."""
    return [one for one in client("FLEET") if one["refused"]]


def test_refused_daemons(place):
    """a daemon that the master refuses for its settings is in the fleet of every other one, with what differs"""
    redis = place.redis()
    first, second = fleet_of(place, 2, redis)
    other = named(place, 3, redis, QUIET + "clock-margin: 2s\n")
    with first.client(3) as client:
        harness.until("the fleet has it", lambda: refused_one(client))
        one, = refused_one(client)
        expect((one["daemon"], one["host"], one["pid"], one["answers"], one["asked"], one["here"], one["refused"]),
               (daemon_id(other), other.host, other.process.pid, 0, 0, 0, "clock-margin 2000 ms, the others 1000 ms"))
        expect((one["differs"], "clock-margin=2s" in one["settings"], one["version"]), ("clock-margin", True, first.info()["holdfast_version"]))
        expect_between(one["seen_ms"], 0, 30000)
        expect(len(client("FLEET")), 3)
        # Nobody waits for it, and no list names it.
        expect(client("LOCKS", "FLEET")[2], [])
        expect(inspect(client, "a")["state"], "free")
    with second.client(3) as client:
        harness.until("another one has it", lambda: refused_one(client))
    status, text = tool.call(place, second, "fleet")
    line, = [line for line in text.splitlines() if " refused " in line]
    expect((status, line.split()[0], line.endswith("clock-margin 2000 ms, the others 1000 ms")), (1, other.host, True), text)
    expect("masters refuse 1 of these daemons" in text, True, text)
    status, text = tool.call(place, second, "fleet", "--json")
    expect([one["refused"] for one in json.loads(text.split("\nholdfast:")[0])].count("clock-margin 2000 ms, the others 1000 ms"), 1, text)
    status, text = tool.call(place, first, "doctor")
    expect((status, "is refused by the masters: clock-margin 2000 ms, the others 1000 ms" in text,
            "in holdfast.yml on %s" % other.host in text), (1, True, True), text)
    harness.until("a HELLO tells", lambda: second.info()["master0_refused_daemons"] == "1")
    expect("on %s " % other.host in second.info()["master0_refused"], True)
    # It knows of itself why, and of the others.
    with other.client(3) as client:
        expect([one["here"] for one in refused_one(client)], [1])
        expect(len(client("FLEET")), 3)
    # Its record has no secret, and goes when it is taken.
    expect(re.search("[0-9a-f]{32}", redis("HGET", "holdfast:node", "r:" + daemon_id(other))), None)
    other.configure(QUIET)
    expect(tool.call(place, other, "restart")[0], 0)
    everybody(first, 3)
    with first.client(3) as client:
        expect(refused_one(client), [])
    harness.until("no HELLO tells", lambda: second.info()["master0_refused_daemons"] == "0")


def test_refused_set(place):
    """a daemon with another list of masters is in the fleet of the others, with their list"""
    masters = [place.redis("m%d" % n) for n in range(4)]
    daemon = named(place, 1, masters[:3])
    daemon.admitted()
    other = named(place, 2, [masters[0], masters[1], masters[3]])
    with daemon.client(3) as client:
        harness.until("the fleet has it", lambda: refused_one(client))
        one, = refused_one(client)
        expect((one["daemon"], one["refused"].startswith("masters another list, the others "), one["differs"]),
               (daemon_id(other), True, "masters"), one["refused"])
        expect([master.socket in one["refused"] for master in masters], [True, True, True, False], one["refused"])
    status, text = tool.call(place, daemon, "doctor")
    expect((status, "is refused by the masters: masters " in text), (1, True), text)


def test_refused_hostile(place):
    """records that anybody wrote: of few, short, and without a byte that a terminal would obey"""
    redis = place.redis()
    daemon = fleet_of(place, 1, redis)[0]
    until_us = (int(redis("TIME")[0]) + 25) * 1000000
    for n in range(300):
        redis("HSET", "holdfast:node", "r:%032x" % n, "%d h\x1b[2J %s 1 1 %s %s 1 \x1b]0;x\x07%s" % (
            until_us, "v" * 50, "s" * 5000, "a" * 5000, "w" * 5000))
    redis("HSET", "holdfast:node", "r:" + "f" * 32, "%d" % until_us, "r:" + "e" * 32, "", "r:x", "%d x\ny" % until_us)
    with daemon.client(3) as client:
        def fleet():
            return refused_one(client)
        harness.until("some are there", fleet)
        expect_between(len(fleet()), 1, 64)
        for one in fleet():
            expect(len(one["settings"]) + len(one["address"]) + len(one["refused"]) < 1000, True)
    status, text = tool.call(place, daemon, "fleet")
    expect((status, "\x1b" in text, "\x07" in text), (1, False, False))
    harness.until("a HELLO tells", lambda: int(daemon.info()["master0_refused_daemons"]) > 0)
    expect(len(daemon.info()["master0_refused"]) < 512, True)
    with daemon.client(3) as client:
        expect_between(client("LOCK", "a"), 1, 2 ** 52)


def test_who_may(place):
    """lists of all hosts are for administrators and for who sees all names, by password and by uid; a user that asks too much of the fleet takes nothing from another"""
    users = ("users: [ { name: u, password-env: SECRET, names: [ '*' ] }, { name: w, password-env: SECRET }, "
             "{ name: eyes, password-env: SECRET, unix-user: 65534, may: [ see ] } ]\n")
    redis = place.redis()
    first = named(place, 1, redis, QUIET + users, tcp=True, environment={"SECRET": "x"}).admitted()
    second = named(place, 2, redis).admitted()
    everybody(first, 2)
    second.client()("LOCK", "a")
    client = first.client(tcp=True)
    client("AUTH", "u", "x")
    client("HELLO", 3)
    expect_code(client("LOCKS", "FLEET"), "NOPERM")
    expect_code(client("SESSIONS", "FLEET"), "NOPERM")
    expect_code(client("BREAK", "a", "TOKEN", 1, "FLEET"), "NOPERM")
    expect(inspect(client, "a")["state"], "held")
    url = "redis://u:x@127.0.0.1:%d" % first.port
    client("LOCK", "mine")
    status, output = tool.call(place, url, "ls", "-q")
    expect((status, output.split()), (0, ["mine"]), output)
    for verb, what in (("ls", "locks"), ("sessions", "sessions")):
        status, output = tool.call(place, url, verb)
        expect((status, "holdfast: only the %s of this daemon: NOPERM " % what in output), (0, True), output)
    # An operator who changes nothing: by password, and by uid.
    os.chmod(place.path, 0o711)
    os.chmod(first.folder, 0o711)
    os.chmod(first.socket, 0o777)
    eyes = "redis://eyes:x@127.0.0.1:%d" % first.port
    ways = [(eyes, {})]
    if os.getuid() == 0:
        ways.append((first, {"through": ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")}))
    for way, options in ways:
        harness.until("all hosts are listed", lambda way=way, options=options: sorted(
            tool.call(place, way, "ls", "-q", **options)[1].split()) == ["a", "mine"])
        for words, wanted in ((("sessions",), 0), (("top", "-b", "-n", "1"), 0), (("fleet",), 0), (("show", "a"), 0),
                              (("break", "a", "--token", "1"), 77), (("run", "b", "true"), 77), (("kill", "1"), 77)):
            status, output = tool.call(place, way, *words, **options)
            expect(status, wanted, "%r: %s" % (words, output))
    status, output = tool.call(place, url, "show", "a")
    expect((status, "held" in output), (0, True), output)
    other = first.client(tcp=True)
    other("AUTH", "w", "x")
    other("HELLO", 3)
    # More than the share of a user, over many connections: the other one still has its own.
    flood = [first.client(tcp=True) for _ in range(8)]
    for one in flood:
        one("AUTH", "u", "x")
        for _ in range(500):
            one.send("INSPECT", "a", "FLEET")
    for _ in range(20):
        expect(other("INSPECT", "a", "FLEET")["name"], "a")
    answers = [one.reply() for one in flood for _ in range(500)]
    refused = [one for one in answers if isinstance(one, resp.Error)]
    for one in refused:
        expect_code(one, "LIMIT")
    expect_between(len(refused), 1, len(answers) - 50)


def test_hostile(place):
    """messages that no daemon sends are counted and dropped, forged answers change nothing, and a flood is bounded"""
    redis = place.redis()
    first, second = fleet_of(place, 2, redis)
    one, two = daemon_id(first), daemon_id(second)
    inbox = "holdfast:inbox:" + one
    token = first.client()("LOCK", "a")
    odd = random.Random(7)
    secret = secret_of(redis, one)
    good = "ask %s 0123456789abcdef 3 4096 *1\r\n$4\r\nPING\r\n" % two
    messages = ["ask", "ask ", "told", "told ", "ask x", "told %s zz *0" % two, "ask %s 0 3 1 PING" % two, good[:40],
                "ask %s 0123456789abcdef 4 9 PING\r\n" % two, "ask %s 0123456789abcdef 3 99999999 PING\r\n" % two,
                "ask %s 0123456789abcdef 3 99 LOCKS FLEET\r\n" % two, "ask %s 0123456789abcdef 3 99 DRAIN\r\n" % two,
                "ask %s 0123456789abcdef 3 99 LOCK b\r\n" % two, "ask %s 0123456789abcdef 3 99 CLIENT KILL ID 1\r\n" % two,
                "ask %s 0123456789abcdef 3 99 BREAK a TOKEN %d\r\n" % (two, token + 1),
                "ask %s 0123456789abcdef 3 99 WHOSE\r\n" % two, "ask %s 0123456789abcdef 3 99 WHOSE a\r\n" % two,
                "ask %s 0123456789abcdef 3 99 WHOSE a 123\r\n" % two,
                "ask %s 0123456789abcdef 3 99 WHOSE a 0123456789abcdeg\r\n" % two,
                "ask %s 0123456789abcdef 3 99 WHOSE a 0123456789abcdef0\r\n" % two,
                "ask %s 0123456789abcdef 3 99 UNLOCK a AS %s\r\n" % (two, "6f1c0d8e5b7a4e9f"),
                "told %s 0123456789abcdef :1\r\n" % two, "told %s 0123456789abcdef %s" % (two, "*1\r\n" * 5000),
                "ask %s 0123456789abcdef 3 99 %s" % (two, "x" * 100000)]
    for text in messages:
        redis("PUBLISH", inbox, text)
        if " " in text:  # by somebody who has read the registration
            purpose, rest = text.split(" ", 1)
            sender = two if purpose == "told" else "f" * 32  # the numbers of the second daemon stay its own
            redis("PUBLISH", inbox, message(purpose, secret_of(redis, one if purpose == "ask" else two), rest.replace(two, sender)))
    for _ in range(2000):
        at, text = odd.randrange(len(good)), list(good)
        text[at] = chr(odd.randrange(1, 127))
        text = "".join(text[:odd.randrange(len(text))] if odd.random() < 0.5 else text)
        redis("PUBLISH", inbox, text)
        redis("PUBLISH", inbox, message("ask", secret, text[4:].replace(two, "f" * 32)))
    with first.client(3) as client:
        expect((inspect(client, "a")["state"], inspect(client, "a")["silent"]), ("held", []))
        expect(client("CHECK", "b"), None)
    expect(int(first.info()["inbox_ignored"]) > 10, True)
    expect(int(first.info()["inbox_forged"]) > 1000, True)
    # A flood of good ones: other clients are served meanwhile.
    ask = "%s %016x 3 131072 *3\r\n$5\r\nLOCKS\r\n$6\r\nCURSOR\r\n$1\r\n0\r\n"
    with resp.Client(redis.socket) as flood:
        for number in range(20000):
            flood.send("PUBLISH", inbox, message("ask", secret, ask % ("f" * 32, number + 1)))
        for _ in range(20000):
            flood.reply()
    client = first.client(3)
    expect(client("LOCK", "c", "WAIT", 20000) > 0, True)
    harness.until("the fleet is seen", lambda: inspect(client, "a")["silent"] == [])
    # What the second daemon is told by a forger: one more answer, for a request that is open or not.
    for _ in range(200):
        redis("PUBLISH", "holdfast:inbox:" + two, "told %s %016x *2\r\n$1\r\n0\r\n*0\r\n" % (one, odd.getrandbits(64)))
    expect([lock["name"] for lock in pages(second.client(3), "LOCKS")[0] if lock["name"] == "a"], ["a"])


def test_publisher(place):
    """who may only publish and subscribe can neither ask a daemon nor answer for one, and cannot send again what was asked"""
    redis = place.redis()
    first, second = fleet_of(place, 2, redis)
    one, two = daemon_id(first), daemon_id(second)
    expect(redis("ACL", "SETUSER", "app", "on", ">x", "resetkeys", "~app:*", "allchannels", "-@all", "+publish", "+subscribe",
                 "+psubscribe", "+pubsub"), "OK")
    app, ears = resp.Client(redis.socket), resp.Client(redis.socket)
    for client in (app, ears):
        place.keep(client)
        expect(client("AUTH", "app", "x"), "OK")
    expect_code(app("HGET", "holdfast:node", "h:" + one), "NOPERM")
    ears("PSUBSCRIBE", "holdfast:inbox:*")
    holder = first.client()
    token = holder("LOCK", "pay")
    inbox = "holdfast:inbox:" + one
    lists, breaks = "*1\r\n$5\r\nLOCKS\r\n", "*4\r\n$5\r\nBREAK\r\n$3\r\npay\r\n$5\r\nTOKEN\r\n$%d\r\n%d\r\n" % (
        len(str(token)), token)
    forged = 0
    for n, request in enumerate((lists, breaks)):
        for sender in ("e" * 32, two, one):
            text = "%s %016x 3 4096 %s" % (sender, 2 ** 63 + n, request)
            for secret in ("", "0" * 32, one, two):
                app("PUBLISH", inbox, message("ask", secret, text))
                forged += 1
            app("PUBLISH", inbox, "ask " + text)
            forged += 1
    harness.until("all were refused", lambda: int(first.info()["inbox_forged"]) >= forged)
    expect(holder("CHECK", "pay") > 0, True)
    # A real question that was overheard is not answered a second time, at once or after many others.
    with second.client(3) as client:
        expect(inspect(client, "pay")["silent"], [])
        heard = ears.reply()
        while not (heard[2] == inbox and heard[3].startswith("ask ") and "INSPECT" in heard[3]):
            heard = ears.reply()
        answers = int(second.info()["inbox_answers"])
        asks = int(first.info()["inbox_asks"])
        for _ in range(20):
            app("PUBLISH", inbox, heard[3])
        for _ in range(30):
            inspect(client, "pay")
        for _ in range(20):
            app("PUBLISH", inbox, heard[3])
        harness.until("all were heard", lambda: int(first.info()["inbox_asks"]) >= asks + 70)
        inspect(client, "pay")
    expect_between(int(second.info()["inbox_answers"]) - answers, 30, 32)
    # Nor does an answer of the daemon that is asked, by another hand, say what it likes.
    app("PUBLISH", "holdfast:inbox:" + two, "told %s %s" % (heard[3].split(" ")[1], "%s %s *0\r\n" % (one, heard[3].split(" ")[3])))
    harness.until("it was refused", lambda: int(second.info()["inbox_forged"]) >= 1)
    # After a hand-over the secret is another one.
    before = secret_of(redis, one)
    mark = first.output.mark()
    first.process.signal(signal.SIGUSR2)
    first.output.wait(r"handover\.done", mark)
    harness.until("it has sent HELLO", lambda: secret_of(redis, one) != before)
    everybody(second, 2)


ID, OTHER_ID = "6f1c0d8e5b7a4e9f", "0a9b8c7d6e5f4a3b"


def test_id_of_another_host(place):
    """a request AS id at the wrong host changes nothing, and names the host whose daemon holds the name for the id"""
    redis = place.redis()
    first, second = fleet_of(place, 2, redis)
    right, wrong = second.client(), first.client()
    ears = resp.Client(redis.socket)
    ears("SUBSCRIBE", "holdfast:inbox:" + daemon_id(second))
    token = right("LOCK", "a", "LEASE", 600000, "AS", ID)
    requests = (["UNLOCK", "a"], ["CHECK", "a", "TOKEN", token], ["EXTEND", "a", 1000], ["DOWNGRADE", "a"], ["UNLOCK", "a", "OWNER", "t"])
    for words in requests:
        refusal = harness.until("it is named", lambda w=words: [
            one for one in [wrong(*w, "AS", ID)] if isinstance(one, resp.Error) and "holds it at" in str(one)])[0]
        expect_code(refusal, "NOTHELD")
        expect("daemon of %s (%s)" % (second.host, daemon_id(second)) in str(refusal), True, str(refusal))
        expect(ID in str(refusal), False, str(refusal))
    asked = ears.reply()[2]
    expect("WHOSE" in asked and ID not in asked, True, asked)
    expect(right("CHECK", "a", "AS", ID) > 1000, True)
    # An id that no daemon knows, and a name that no daemon has: as ever.
    for name in ("a", "b"):
        expect(wrong("CHECK", name, "AS", OTHER_ID), None)
        refusal = wrong("UNLOCK", name, "AS", OTHER_ID)
        expect_code(refusal, "NOTHELD")
        expect("this daemon knows no session of this id" in str(refusal), True, str(refusal))
    # A daemon that does not answer holds nobody up, and neither does a master that is away.
    second.process.stop()
    expect(wrong("CHECK", "a", "AS", ID), None)
    second.process.cont()
    redis.kill()
    expect_code(wrong("UNLOCK", "b", "AS", ID), "NOTHELD")


def test_id_that_waits_for_itself(place):
    """a LOCK or MLOCK AS id at the wrong host does not wait for its own id to the end of its WAIT, and names the host that has it"""
    redis = place.redis()
    first, second = fleet_of(place, 2, redis)
    right, wrong, other = second.client(), first.client(), first.client()
    ears = resp.Client(redis.socket)
    token = right("LOCK", "a", "AS", ID)
    begun = time.monotonic()
    for words in (["LOCK", "a"], ["LOCK", "a", "SHARED", "RETRIES", 1000], ["LOCK", "a", "OWNER", "t"], ["MLOCK", 2, "0", "a"]):
        refusal = wrong(*words, "WAIT", 600000, "AS", ID)
        expect_code(refusal, "NOTHELD")
        expect("daemon of %s (%s)" % (second.host, daemon_id(second)) in str(refusal), True, str(refusal))
        expect(ID in str(refusal), False, str(refusal))
        # That the id is at the other host is told again, also by a request that does not wait.
        harness.until("it is named", lambda: daemon_id(second) in str(wrong("UNLOCK", "a", "AS", ID)))
    expect(time.monotonic() - begun < 300, True, "long before WAIT is over")
    expect(first.info()["refused_NOTHELD"], "4")

    # Sent again over other connections, each of which ends before the wait was long enough.
    def retried():
        with first.client() as client, contextlib.suppress(resp.Late):
            client.send("LOCK", "a", "WAIT", 600000, "AS", ID)
            return [client.reply(0.1)]
        return None

    expect_code(harness.until("it is told over one of many connections", retried)[0], "NOTHELD")
    # Another id waits as ever.
    ears("SUBSCRIBE", "holdfast:inbox:" + daemon_id(second))
    other.send("LOCK", "a", "WAIT", 600000, "AS", OTHER_ID)
    asked = harness.until("it is asked about", lambda: [text for text in [ears.reply()[2]] if "WHOSE" in text])[0]
    expect(OTHER_ID in asked, False, asked)
    expect(right("UNLOCK", "a", "TOKEN", token, "AS", ID), 0)
    expect(other.reply() > token, True)


def test_id_of_a_reader(place):
    """readers of several hosts are told apart by their ids, requests that wait for an answer do not mix, and a flood is bounded"""
    first, second, third = fleet_of(place, 3)
    for daemon, ident in ((second, ID), (third, OTHER_ID)):
        expect(daemon.client()("LOCK", "r", "SHARED", "AS", ident, "WAIT", 20000) > 0, True)
    wrong = first.client()
    for daemon, ident in ((second, ID), (third, OTHER_ID)):
        harness.until("it is named", lambda d=daemon, i=ident: daemon_id(d) in str(wrong("UNLOCK", "r", "AS", i)))
    # Beyond what is asked for a user, and with the connection gone meanwhile: as for a name that is not held.
    for number in range(300):
        wrong.send("CHECK", "r", "AS", "%s-%d" % (ID, number))
    flood = [first.client() for _ in range(20)]
    for client in flood:
        client.send("CHECK", "r", "AS", ID)
    for client in flood[:10]:
        client.close()
    expect([wrong.reply() for _ in range(300)], [None] * 300)
    for client in flood[10:]:
        answer = client.reply()
        expect(answer is None or "holds it at" in str(answer), True, str(answer))
    token = wrong("LOCK", "c", "AS", ID)
    expect(wrong("UNLOCK", "c", "TOKEN", token, "AS", ID), 0)


def test_id_forged(place):
    """an answer about an id that is none, or of a daemon that was not asked, names nobody"""
    redis = place.redis()
    first, second = fleet_of(place, 2, redis)
    second.client()("LOCK", "a", "AS", ID)
    ident, client = daemon_id(second), first.client()
    second.process.stop()
    liar = Liar(redis, ident)
    for answer in ("-ERR no\r\n", "$-1\r\n", "*0\r\n", "+OK\r\n", ":0\r\n", ":1\r\n:1\r\n", ""):
        liar.answer, before = answer, liar.asked
        expect(client("CHECK", "a", "AS", ID), None, answer)
        harness.until("it was asked", lambda b=before: liar.asked > b)
    liar.ident, liar.answer = daemon_id(first), ":1\r\n"
    expect(client("CHECK", "a", "AS", ID), None)


class Liar:
    """Answers for a daemon that is stopped, with what it is told to."""

    def __init__(self, redis, ident):
        self.redis, self.ident, self.answer, self.asked = redis, ident, "", 0
        self.secret = secret_of(redis, ident)
        self.ears = resp.Client(redis.socket)
        self.ears("SUBSCRIBE", "holdfast:inbox:" + ident)
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        with contextlib.suppress(resp.Closed, OSError), resp.Client(self.redis.socket) as mouth:
            while True:
                try:
                    text = self.ears.reply()[2]
                except resp.Late:
                    continue
                kind, _, asker, number = (text + "   ").split(" ")[:4]
                if kind == "ask":
                    self.asked += 1
                    mouth("PUBLISH", "holdfast:inbox:" + asker,
                          message("told", self.secret, "%s %s %s" % (self.ident, number, self.answer)))


def test_wrong_answers(place):
    """an answer that does not fit the request is none: its daemon is silent, and no list goes on for ever"""
    redis = place.redis()
    first, second = fleet_of(place, 2, redis)
    token = second.client()("LOCK", "a")
    ident = daemon_id(second)
    second.process.stop()
    liar = Liar(redis, ident)
    client = first.client(3)
    for answer in ("-ERR no\r\n", "-LIMIT no\r\n", "$-1\r\n", "*0\r\n", ":5\r\n", "+OK\r\n", "*2\r\n$1\r\n0\r\n:1\r\n"):
        liar.answer, before = answer, liar.asked
        expect((inspect(client, "a", 1)["state"], inspect(client, "b", 1)["hosts"]), ("held", []), answer)
        expect(pages(client, "LOCKS", silent=1)[1], [ident], answer)
        expect(pages(client, "SESSIONS", silent=1)[1], [ident], answer)
        if answer[0] != "*" or len(answer) > 4:  # no hold is an answer
            expect([one["daemon"] for one in client("HISTORY", "a", "FLEET")[1]], [ident], answer)
        if answer[0] != ":":
            expect_code(client("BREAK", "a", "TOKEN", token, "FLEET"), "NOMASTER")
        if answer[0] != "+":
            expect([one["answers"] for one in client("FLEET") if one["daemon"] == ident], [0], answer)
        expect(liar.asked > before, True, answer)
    # A list whose cursor stays where it is.
    liar.answer = "*2\r\n$1\r\n7\r\n*0\r\n"
    for _ in range(3):
        cursor, seen = "0", 0
        while seen < 20:
            cursor, _, silent = client("LOCKS", "FLEET", "CURSOR", cursor)
            seen += 1
            if cursor == "0" or silent:
                break
        expect(seen < 20, True)
    # The true answer counts.
    liar.answer = "-NOTHELD no\r\n"
    harness.until("it is not held", lambda: client("BREAK", "a", "TOKEN", token, "FLEET").code == "NOTHELD")


def test_hand_over(place):
    """a request for the fleet that is under way at a hand-over is answered, and those that follow see all daemons"""
    daemons = fleet_of(place, 2)
    daemons[1].client()("LOCK", "a")
    client, admin = daemons[0].client(3), daemons[0].client()
    asker = daemons[0].client()
    daemons[1].process.stop()
    client.send("INSPECT", "a", "FLEET")
    asker.send("CHECK", "a", "AS", ID)
    admin.send("RESTART")
    expect(client.reply()["name"], "a")
    expect(asker.reply(), None)
    expect(isinstance(admin.reply(), list), True)
    daemons[1].process.cont()
    everybody(daemons[0], 2)
    expect(inspect(client, "a")["state"], "held")


def test_behind_restart(place):
    """requests for the fleet that the daemon reads in one turn with a RESTART before them are answered"""
    daemons = fleet_of(place, 2)
    daemons[1].client()("LOCK", "a")
    admin, client, asker = daemons[0].client(), daemons[0].client(3), daemons[0].client()
    daemons[1].process.stop()
    daemons[0].process.stop()
    admin.send("RESTART")
    client.send("INSPECT", "a", "FLEET")
    asker.send("CHECK", "a", "AS", ID)
    daemons[0].process.cont()
    expect(client.reply()["name"], "a")
    expect(asker.reply(), None)
    expect(isinstance(admin.reply(), list), True)
    daemons[1].process.cont()


LOCKS = int(os.environ.get("HOLDFAST_FLEET_LOCKS", "50000" if harness.MEASURE else "3000"))


def hold(daemon, names):
    client = daemon.client(3)
    client("SESSION", "ONLOSS", "NEXT")
    for start in range(0, len(names), 500):
        part = names[start:start + 500]
        for name in part:
            client.send("LOCK", name, "ASYNC", name[-9:])
        for _ in part:
            expect(client.reply(), "QUEUED")
        for _ in part:
            expect(client.push()[0], "grant")
    return client


def timed(place, daemon, what, *words, whole=False):
    """What it prints; whole: when all daemons answer."""
    started = boottime()
    status, output = (call_whole if whole else tool.call)(place, daemon, *words)
    harness.took(boottime() - started, 0.3, "%s of %d locks, from %s" % (what, LOCKS, daemon.host))
    return status, output


@harness.alone
def test_turns(place):
    """however many locks there are, no turn is long, of the daemon that is asked for the list of all, and of one that it asks"""
    each = 50000 if harness.MEASURE else 5000
    daemons = fleet_of(place, 2, config="log: { level: warning }\nlease: 10m\n")
    holders = [hold(daemon, ["job/%d/%06d" % (at, number) for number in range(start, min(start + 10000, each))])
               for at, daemon in enumerate(daemons) for start in range(0, each, 10000)]
    reader = tool.start(place, daemons[0], "ls", "-q")
    clients, longest, asked = [daemon.client() for daemon in daemons], [0.0, 0.0], 0
    while reader.alive() or asked < 100:
        for at, daemon in enumerate(daemons):
            before = harness.spent(daemon.process)
            expect(clients[at]("PING"), "PONG")
            longest[at] = max(longest[at], harness.spent(daemon.process) - before)
        asked += 1
    for at, what in enumerate(("that is asked", "that it asks")):
        # The turn that the request came in, and the one before it.
        harness.took(longest[at], 2 * 0.005, "work of the daemon %s, from a request to its answer, with %d locks" % (
            what, 2 * each))
        expect_between(longest[at], 0, 2 * 0.050)
    expect([holder("PING") for holder in holders], ["PONG"] * len(holders))


def forge(redis, count):
    """Registers so many daemons that do not exist, for an hour."""
    expect(redis("EVAL", """
        local now = redis.call('TIME')
        for i = 1, tonumber(ARGV[1]) do
            local id = string.format('%032x', i)
            redis.call('HSET', KEYS[1], 'd:' .. id, string.format('%.0f 10 10 0 0', (now[1] + 3600) * 1e6),
                'h:' .. id, '1 app-' .. i .. ' 0.1.0 4711 1760000000 lease=10s unix 1760000000123')
        end""", 1, "holdfast:node", count), None)


def calls(redis, *commands):
    """How often a master was asked for these."""
    stats = redis("INFO", "commandstats")
    return sum(int(count) for command in commands for count in re.findall(r"^cmdstat_%s:calls=(\d+)" % command, stats, re.M))


def storm(client, count):
    """Asks so often, one request behind the other, and reads what comes until the daemon ends the connection."""
    for _ in range(count):
        client.send("INSPECT", "a", "FLEET")
    client.send("QUIT")
    while client.socket.recv(1 << 20):
        pass


def test_forged(place):
    """however many registrations are forged, and however often the fleet is asked for, other clients are served meanwhile"""
    redis = place.redis()
    daemon = named(place, 1, redis).admitted()
    client = daemon.client()
    expect(client("PING"), "PONG")
    forge(redis, 3000)
    with daemon.client(3) as other:
        harness.until("forged daemons are listed", lambda: len(other("FLEET")) > 100)
    reads = "hscan", "hgetall"
    before = calls(redis, "publish"), calls(redis, *reads)
    began, times = boottime(), []
    readers = [threading.Thread(target=storm, args=(daemon.client(), 20)) for _ in range(24)]
    for reader in readers:
        reader.start()
    while any(reader.is_alive() for reader in readers) or not times:
        started = boottime()
        expect(client("LOCK", "b%d" % len(times), "WAIT", 20000) > 0, True)
        expect(client("UNLOCK", "b%d" % len(times)), 0)
        times.append(boottime() - started)
    harness.took(max(times), 0.02, "the longest pair beside %d readers of a fleet with 3000 forged daemons, the middle one %.1f ms" % (
        len(readers), sorted(times)[len(times) // 2] * 1000))
    # It does not wait for the end of the storm.
    expect_between(len(times), 10, 10 ** 9, "pairs during the storm")
    # At first all readers ask each daemon that is known; a silent one is asked again after a second.
    seconds = boottime() - began
    published, read = calls(redis, "publish") - before[0], calls(redis, *reads) - before[1]
    harness.comment("%d messages and %d reads of the registry in %.1f s" % (published, read, seconds))
    expect_between(read, 0, 8 * (seconds + 2), "reads of the registry")
    expect_between(published, 0, 1000 * (len(readers) + seconds + 2), "messages")


class Hosts:
    """Network namespaces as hosts, joined by a bridge, on which a Redis listens."""

    def __init__(self, place, count):
        self.place = place
        self.mark = "hf%d" % (os.getpid() % 100000)
        place.ends.append(self.end)
        self.spaces = []
        self.add("%s-0" % self.mark)
        self.ip("-n", self.spaces[0], "link", "add", "name", "br0", "type", "bridge")
        self.ip("-n", self.spaces[0], "addr", "add", "10.77.0.254/24", "dev", "br0")
        self.ip("-n", self.spaces[0], "link", "set", "br0", "up")
        for at in range(1, count + 1):
            self.add("%s-%d" % (self.mark, at))
            self.ip("link", "add", "p%d" % at, "netns", self.spaces[0], "type", "veth", "peer", "name", "eth0", "netns",
                    self.spaces[at])
            self.ip("-n", self.spaces[0], "link", "set", "p%d" % at, "master", "br0", "up")
            self.ip("-n", self.spaces[at], "addr", "add", "10.77.0.%d/24" % at, "dev", "eth0")
            self.ip("-n", self.spaces[at], "link", "set", "eth0", "up")

    def ip(self, *words):
        done = subprocess.run(("ip",) + words, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise harness.Skip("no network namespaces here: ip %s: %s" % (" ".join(words), done.stderr.strip()))

    def add(self, name):
        self.ip("netns", "add", name)
        self.spaces.append(name)

    def cut(self, at):
        self.ip("-n", self.spaces[0], "link", "set", "p%d" % at, "down")

    def join(self, at):
        self.ip("-n", self.spaces[0], "link", "set", "p%d" % at, "up")

    def end(self):
        for process in self.place.processes:  # a namespace lasts as long as its processes
            if process.alive() and process.stopped:
                process.cont()
        for name in self.spaces:
            subprocess.call(["ip", "netns", "delete", name], stderr=subprocess.DEVNULL)

    def redis(self):
        process = self.place.run("ip", "netns", "exec", self.spaces[0], "redis-server", "--port", "6379", "--bind", "10.77.0.254",
                                 "--protected-mode", "no", "--save", "", "--dir", self.place.path)
        process.output.wait(r"[Rr]eady to accept connections")
        process.url = "redis://10.77.0.254:6379"
        return process

    def daemon(self, at, master, **options):
        daemon = self.place.idle_daemon("d%d" % at, master=master, **options)
        daemon.host = "app-%d" % at
        daemon.wrap = ["ip", "netns", "exec", self.spaces[at], "unshare", "--uts", "sh", "-c",
                       "hostname %s; exec \"$@\"" % daemon.host, "sh"]
        return daemon.start()


def test_hosts(place):
    """three hosts with networks of their own: show, ls and break are right from each, also while one is stopped or cut off"""
    if not apart():
        raise harness.Skip("only root can make network namespaces")
    hosts = Hosts(place, 3)
    redis = hosts.redis()
    daemons = [hosts.daemon(at, redis, config="log: { level: warning }\nlease: 120s\n") for at in (1, 2, 3)]
    for daemon in daemons:
        daemon.admitted()
    for daemon in daemons:
        everybody(daemon, 3)
    names = ["job/%05d" % at for at in range(LOCKS)]
    holders = []
    for at, daemon in enumerate(daemons):
        part = names[at::3]
        holders += [hold(daemon, part[start:start + 10000]) for start in range(0, len(part), 10000)]
    target = names[1]  # on the second host
    token = daemons[1].client(3)("INSPECT", names[4])["holder"]["token"]

    def looks(daemon, count, silent):
        status, output = timed(place, daemon, "ls", "ls", whole=not silent)
        lines = [line for line in output.splitlines() if line.startswith("job/")]
        expect((status, len(lines)), (1 if silent else 0, count), output[-500:])
        status, output = timed(place, daemon, "show", "show", target, whole=not silent)
        expect((status, re.search(r"^state +held$", output, re.M) is not None), (0, True), output)
        expect(("does not answer" in output) == bool(silent), True, output)
        expect("on app-2" in output or "of app-2" in output or daemon is daemons[1], True, output)

    for daemon in daemons:
        looks(daemon, LOCKS, False)
    daemons[1].process.stop()
    left = LOCKS - len(names[1::3])
    for daemon in (daemons[0], daemons[2]):
        looks(daemon, left, True)
        status, output = timed(place, daemon, "break of what is silent", "break", names[4], "--token", token)
        expect((status != 0, "app-2" in output), (True, True), output)
    daemons[1].process.cont()
    for daemon in daemons:
        everybody(daemon, 3)
    hosts.cut(2)
    for daemon in (daemons[0], daemons[2]):
        looks(daemon, left, True)
    hosts.join(2)
    for daemon in daemons:
        everybody(daemon, 3)
        looks(daemon, LOCKS, False)
    for at, daemon in enumerate(daemons):
        name = names[3 * at + 7]
        number = daemons[1].client(3)("INSPECT", name)["holder"]["token"]
        status, output = timed(place, daemon, "break", "break", name, "--token", number)
        expect((status, "is broken" in output), (0, True), output)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    harness.main(globals())
