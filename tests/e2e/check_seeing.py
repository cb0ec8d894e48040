#!/usr/bin/env python3
"""What people are shown: INFO's sections, who a session was, and a master that says nothing."""

import json
import os
import re
import time

import harness
import tool
from harness import expect


def test_info_sections(place):
    """holdfast info shows the section that was asked for, and fails for one that there is not"""
    daemon = place.daemon(master=place.redis())
    status, output = tool.call(place, daemon, "info", "LOCKS")
    expect(status, 0, output)
    expect(output.startswith("# Locks\n") and "# Server" not in output, True, output)
    status, output = tool.call(place, daemon, "info", "nosuch")
    expect(status, 1, output)
    expect("there is no section 'nosuch': Server, Clients," in output, True, output)
    status, output = tool.call(place, daemon, "info", "keyspace")
    expect(status, 1, output)
    expect("keyspace" in output, True, output)


def test_label_of_a_script(place):
    """a lock that a script holds between its commands shows which program took it"""
    daemon = place.daemon(master=place.redis()).admitted()
    script = tool.script(place, daemon, "holdfast lock --pid $$ a && echo locked; exec sleep 1000")
    script.output.wait("^locked")
    # The second client: the first one waited for the master.
    daemon.output.wait(r"client\.closed connection=2 ")
    lock = json.loads(tool.call(place, daemon, "show", "a", "--json")[1])
    expect(lock["holder"]["pid"], script.pid)
    expect("@" in lock["holder"]["client"], True, repr(lock["holder"]))


def test_silent_master(place):
    """when a short lease runs out because the master says nothing, the log names the master"""
    redis = place.redis()
    daemon = place.daemon(master=redis, config="lease: 1s\nclock-margin: 100ms\n").admitted()
    client = daemon.client()
    client("SESSION", "ONLOSS", "NEXT")
    for name in ("a", "b"):
        expect(client("LOCK", name) > 0, True)
    redis.process.stop()
    daemon.output.wait(r"lock\.lost name=a .*expired")
    daemon.output.wait(r"lock\.lost name=b .*expired")
    silent = re.findall(r"master\.silent .*", daemon.output.text())
    expect(len(silent), 1, repr(silent))
    expect("master=%s " % redis.socket in silent[0], True, silent[0])
    redis.process.cont()


def test_stalled_daemon(place):
    """when leases run out because the daemon itself was stopped, no master is blamed"""
    redis = place.redis()
    daemon = place.daemon(master=redis, config="lease: 1s\nclock-margin: 100ms\n").admitted()
    client = daemon.client()
    client("SESSION", "ONLOSS", "NEXT")
    asked_ms = int(time.time() * 1000) - 1
    expect(client("LOCK", "a") > 0, True)
    daemon.process.stop()
    harness.until("the lease has ended at the master", lambda: redis("EXISTS", "holdfast:{a}") == 0)
    gone_ms = int(time.time() * 1000)
    daemon.process.cont()
    daemon.output.wait(r"lock\.lost name=a .*expired")
    daemon.output.wait(r"daemon\.stalled")
    expect("master.silent" in daemon.output.text(), False, daemon.output.text())
    # It ended at the deadline that its holder was told: another daemon may have had the lock since the lease ended.
    hold, = daemon.client(form=3)("HISTORY", "a")
    expect(hold["end"], "expired")
    expect(asked_ms <= hold["ended_at_ms"] - hold["held_ms"] <= hold["ended_at_ms"] < gone_ms, True, repr((asked_ms, hold, gone_ms)))


def test_streams(place):
    """so many connections have a stream of events, and each that ends makes room for another"""
    daemon = place.daemon(master=place.redis())
    clients = [daemon.client() for _ in range(64)]
    for client in clients:
        expect(client("EVENTS", "MATCH", "a*"), "OK")
    late = daemon.client()
    harness.expect_code(late("EVENTS"), "LIMIT")
    expect(clients[0]("RESET"), "RESET")
    expect(late("EVENTS"), "OK")


def test_streams_of_a_user(place):
    """one user has so many of them, and leaves room for others and, at last, for administrators"""
    users = "users: [ %s ]\n" % ", ".join("{ name: u%d, password-env: SECRET }" % at for at in range(5))
    daemon = place.daemon(master=place.redis(), tcp=True, config=users, environment={"SECRET": "x"}).admitted()

    def stream(user):
        client = daemon.client(tcp=True)
        client("AUTH", "u%d" % user, "x")
        return client, client("EVENTS", "MATCH", "job*")

    first = [stream(0) for _ in range(17)]
    expect([answer for _, answer in first[:16]], ["OK"] * 16)
    harness.expect_code(first[16][1], "LIMIT")
    expect("of one user" in first[16][1], True, first[16][1])
    expect([stream(user)[1] for user in (1, 2, 3) for _ in range(13)], ["OK"] * 39)
    expect(stream(4)[1], "OK")
    late, answer = stream(4)
    harness.expect_code(answer, "LIMIT")
    expect("administrators" in answer, True, answer)
    expect([daemon.client()("EVENTS") for _ in range(8)], ["OK"] * 8)
    harness.expect_code(daemon.client()("EVENTS"), "LIMIT")
    for client, _ in first[:9]:
        expect(client("RESET"), "RESET")
    expect(late("EVENTS"), "OK")


def test_who(place):
    """events of holds and waits have the owner tag, and the log says whose session it was that is gone"""
    daemon = place.daemon(master=place.redis(), config="log: { level: info }\n").admitted()
    stream, holder, waiter = daemon.client(), daemon.client(), daemon.client()
    expect(stream("EVENTS", "MATCH", "a"), "OK")
    holder("CLIENT", "SETNAME", "billing")
    session = holder("SESSION", "ID")
    token = holder("LOCK", "a", "OWNER", "t1")
    expect(waiter("LOCK", "a", "OWNER", "t2", "WAIT", 1), None)
    holder("SESSION", "HEARTBEAT", 1)
    expect(holder.closed(), True)
    lines = []
    while not lines or "lock.withheld" not in lines[-1]:
        lines.append(stream.reply())
    for event, tag in (("granted", "t1"), ("timeout", "t2"), ("withheld", "t1")):
        line = [line for line in lines if "lock." + event in line]
        expect(len(line) == 1 and " owner=%s " % tag in line[0], True, "%s: %r" % (event, lines))
    for event in ("session.silent", "lock.withheld name=a owner=t1"):
        daemon.output.wait(r"%s session=%d pid=%d client=billing address=unix " % (event, session, os.getpid()))
    daemon.output.wait(r"lock\.withheld .* token=%d " % token)


def test_slow(place):
    """a wait and a hold that reach the thresholds of their rule are logged while they go on, and counted"""
    config = "rules: [ { match: 'job/*', slow-wait: 50ms, long-hold: 60ms } ]\n"
    daemon = place.daemon(master=place.redis(), config=config).admitted()
    stream, holder, waiter = daemon.client(), daemon.client(), daemon.client()
    expect(stream("EVENTS", "MATCH", "job/*"), "OK")
    holder("CLIENT", "SETNAME", "deploy")
    session = holder("SESSION", "ID")
    token = holder("LOCK", "job/a", "WHY", "release 42")
    waiter.send("LOCK", "job/a", "WAIT", 600000)
    daemon.output.wait(r"warning lock\.slow_wait name=job/a .* waited_ms=\d+ "
                       r"text=\"held by session %d \(deploy\) for \d+ ms: release 42\"" % session)
    daemon.output.wait(r"warning lock\.long_hold name=job/a session=%d pid=%d client=deploy address=unix token=%d "
                       r"held_ms=\d+ why=\"release 42\" text=\"\d wait here\"" % (session, os.getpid(), token))
    lines = []
    while len([line for line in lines if "lock.slow_wait" in line or "lock.long_hold" in line]) < 2:
        lines.append(stream.reply())
    harness.until("both are counted", lambda: re.search("slow_waits:1\r\nlong_holds:1\r\n", holder("INFO", "stats")))
    expect(holder("UNLOCK", "job/a"), 0)
    expect(waiter.reply() > token, True)


def test_blocked_by(place):
    """INSPECT and holdfast show say why the first waiter has not been granted the lock yet"""
    redis = place.redis()
    one, two = (place.daemon("d%d" % i, master=redis).admitted() for i in (1, 2))
    holder, waiter, looking = one.client(), one.client(), one.client(form=3)

    def blocked_by(said):
        harness.until(said, lambda: re.fullmatch(said, looking("INSPECT", "a")["blocked_by"] or "none"))

    holder("CLIENT", "SETNAME", "deploy")
    expect(holder("SESSION", "ONLOSS", "NEXT"), "OK")
    session = holder("SESSION", "ID")
    token = holder("LOCK", "a", "WHY", "release 42")
    expect(looking("INSPECT", "a")["blocked_by"], None)
    waiter.send("LOCK", "a", "WAIT", 600000)
    blocked_by(r"held by session %d \(deploy\) for \d+ ms: release 42" % session)
    status, output = tool.call(place, one, "show", "a", "--here")
    expect((status, re.search(r"(?m)^blocked +held by session %d \(deploy\) for \d+ ms: release 42$" % session, output) is None),
           (0, False), output)
    expect(looking("BREAK", "a", "TOKEN", token) > 0, True)
    blocked_by(r"withheld after its holder has gone: free in \d+ ms at the latest")
    harness.expect_code(holder("UNLOCK", "a", "TOKEN", token), "LOST")
    expect(waiter.reply() > token, True)
    expect(waiter("UNLOCK", "a"), 0)
    far = two.client()
    expect(far("LOCK", "a") > 0, True)
    waiter.send("LOCK", "a", "WAIT", 600000)
    blocked_by(r"held through another daemon: [0-9a-f]{32}:[0-9a-z]+")
    redis.kill()
    blocked_by(r"NOMASTER: .*")


def test_history(place):
    """HISTORY has the holds that ended, the latest first, also after a hand-over, and as many as fit"""
    daemon = place.daemon(master=place.redis(), config="limits: { history: 4k }\n").admitted()
    client, other = daemon.client(form=3), daemon.client()
    expect(client("HISTORY", "a"), [])
    client("CLIENT", "SETNAME", "first")
    token = client("LOCK", "a", "WHY", "release 42", "OWNER", "t1")
    expect(client("HISTORY", "a"), [])
    client("UNLOCK", "a", "OWNER", "t1")
    second = other("LOCK", "a", "LEASE", 1)
    harness.until("it is lost", lambda: len(client("HISTORY", "a")) == 2)
    lost, first = client("HISTORY", "a")
    expect((lost["end"], lost["token"], lost["why"]), ("lease", second, ""))
    expect([first[key] for key in ("end", "token", "client", "pid", "uid", "address", "owner", "why", "kind")],
           ["released", token, "first", os.getpid(), os.getuid(), "unix", "t1", "release 42", "exclusive"])
    expect(first["ended_at_ms"] <= lost["ended_at_ms"] and first["held_ms"] >= 0, True)
    broken = client("LOCK", "a")
    client("SESSION", "ONLOSS", "NEXT")
    other("BREAK", "a", "TOKEN", broken)
    expect([hold["end"] for hold in client("HISTORY", "a", "COUNT", 1)], ["broken"])
    before = client("HISTORY", "a")
    expect(daemon.client()("RESTART") is not None, True)
    expect(daemon.client(form=3)("HISTORY", "a"), before)
    for _ in range(100):
        client("LOCK", "b")
        client("UNLOCK", "b")
    expect(client("HISTORY", "a"), [])
    expect(10 < len(client("HISTORY", "b")) < 40, True)


def test_history_command(place):
    """holdfast history prints them for people and as JSON, and says by its status that there are none"""
    daemon = place.daemon(master=place.redis()).admitted()
    client = daemon.client()
    status, output = tool.call(place, daemon, "history", "a")
    expect((status, "no hold of a that has ended is known" in output), (1, True), output)
    expect(tool.call(place, daemon, "history", "a", "--json"), (1, "[]"))
    client("CLIENT", "SETNAME", "deploy")
    token = client("LOCK", "a", "WHY", "release 42")
    client("UNLOCK", "a")
    status, output = tool.call(place, daemon, "history", "a")
    expect(status, 0, output)
    expect(re.search(r"^SINCE +UNTIL +FOR +END +HOLDER +WHERE +WHY\n.* released +deploy +pid %d +release 42$" % os.getpid(),
                     output, re.M) is not None, True, output)
    status, output = tool.call(place, daemon, "history", "a", "--json")
    hold, = json.loads(output)
    expect((status, hold["token"], hold["end"]), (0, token, "released"))
    expect(hold["since"] <= hold["until"] and hold["until"].endswith("Z"), True, output)


def test_watch(place):
    """watch prints time, level and event for people, and only those of a level or of some names"""
    daemon = place.daemon(master=place.redis()).admitted()
    every, warnings = tool.start(place, daemon, "watch", "a*"), tool.start(place, daemon, "watch", "--level", "info")
    ends = tool.start(place, daemon, "watch", "--event", "lock.rel*", "--json")
    client, other = daemon.client(), daemon.client()
    harness.until("all three watch", lambda: daemon.info()["event_streams"] == "3")
    other("BREAK", "a-b", "TOKEN", client("LOCK", "a-b"))
    other("LOCK", "c")
    other("UNLOCK", "c")
    moment = r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} "
    every.output.wait(moment + r"debug   lock\.granted name=a-b session=\d+ token=\d+ valid_ms=\d+$")
    every.output.wait(moment + r"warning lock\.lost name=a-b session=\d+ token=\d+ text=broken$")
    warnings.output.wait(moment + r"warning lock\.lost name=a-b ")
    ends.output.wait("lock.released")
    expect("lock.granted" in warnings.output.text(), False, warnings.output.text())
    expect({json.loads(line)["event"] for line in ends.output.text().splitlines()}, {"lock.released"})
    for process in (every, warnings, ends):
        process.kill()
    expect(tool.call(place, daemon, "watch", "--level", "loud")[0], 64)


if __name__ == "__main__":
    harness.main(globals())
