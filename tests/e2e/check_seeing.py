#!/usr/bin/env python3
"""What people are shown: INFO's sections, who a session was, and a master that says nothing."""

import json
import os
import re

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
    expect(client("LOCK", "a") > 0, True)
    daemon.process.stop()
    harness.until("the lease has ended at the master", lambda: redis("EXISTS", "holdfast:{a}") == 0)
    daemon.process.cont()
    daemon.output.wait(r"lock\.lost name=a .*expired")
    daemon.output.wait(r"daemon\.stalled")
    expect("master.silent" in daemon.output.text(), False, daemon.output.text())


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


if __name__ == "__main__":
    harness.main(globals())
