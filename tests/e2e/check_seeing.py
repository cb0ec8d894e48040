#!/usr/bin/env python3
"""What people are shown: INFO's sections, who a session was, and a master that says nothing."""

import json
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
    expect(status, 64, output)
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
    daemon.output.wait(r"client\.closed client=2 ")
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


if __name__ == "__main__":
    harness.main(globals())
