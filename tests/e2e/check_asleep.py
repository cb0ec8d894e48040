#!/usr/bin/env python3
"""holdfast run and hold that were stopped, as a suspended host stops everything: what they do when they wake."""

import re
import signal

import harness
import resp
import tool
from harness import expect

# A lease that ends within the test, and one that does not.
SHORT = "lease: 2s\nclock-margin: 200ms\n"
LONG = "lease: 60s\n"
# Two short leases.
ASLEEP_MS = 4000


def world(place, config):
    return place.daemon(master=place.redis(), config=config).admitted()


def checks(daemon):
    """How many CHECKs the daemon has served."""
    with resp.Client(daemon.socket) as client:
        found = re.search(r"cmdstat_check:calls=(\d+)", client("INFO", "commandstats"))
    return int(found.group(1)) if found else 0


def broken(daemon):
    """Takes the lock from its holder, and returns when another has it."""
    with daemon.client(form=3) as client:
        client("BREAK", "x", "TOKEN", client("INSPECT", "x")["holder"]["token"])
        expect(isinstance(client("LOCK", "x"), int), True)
        client("UNLOCK", "x")


def test_past_the_deadline(place):
    """a wrapper that wakes past its deadline asks, and goes on when the daemon has kept the lock"""
    daemon = world(place, SHORT)
    wrapper = tool.start(place, daemon, "run", "x", "--", *tool.ears("USR1=heard", "TERM=5"))
    tool.pids(wrapper)
    wrapper.stop()
    expect(daemon.client()("LOCK", "x", "WAIT", ASLEEP_MS), None)
    asked = checks(daemon)
    wrapper.cont()
    harness.until("it asks", lambda: checks(daemon) > asked)
    wrapper.signal(signal.SIGUSR1)
    wrapper.output.wait("^heard")
    expect(daemon.client()("LOCK", "x", "WAIT", 0), None)
    wrapper.signal(signal.SIGTERM)
    expect(wrapper.wait(), 5, wrapper.output.text())


def test_past_the_deadline_over_a_crash(place):
    """run and hold that wake past their deadlines come back to a daemon that crashed meanwhile and kept their locks"""
    daemon = world(place, SHORT)
    wrapper = tool.start(place, daemon, "run", "x", "--", *tool.ears("USR1=heard", "TERM=5"))
    tool.pids(wrapper)
    holder = tool.start(place, daemon, "hold", "y")
    holder.output.wait(r"^\d+$")
    wrapper.stop()
    holder.stop()
    daemon.kill()
    daemon.start()
    expect(daemon.client()("LOCK", "x", "WAIT", ASLEEP_MS), None)
    wrapper.cont()
    holder.cont()
    for process in (wrapper, holder):
        process.output.wait("the daemon is back")
    wrapper.signal(signal.SIGUSR1)
    wrapper.output.wait("^heard")
    expect([daemon.client()("LOCK", name, "WAIT", 0) for name in "xy"], [None, None])
    wrapper.signal(signal.SIGTERM)
    holder.signal(signal.SIGTERM)
    expect((wrapper.wait(), holder.wait()), (5, 0), wrapper.output.text() + holder.output.text())


def test_lost_past_the_deadline(place):
    """a wrapper that wakes past its deadline kills the command when the lock was lost meanwhile"""
    daemon = world(place, SHORT)
    wrapper = tool.start(place, daemon, "run", "x", "--", "sh", "-c", tool.DEAF)
    ends = tool.Ends(tool.pids(wrapper))
    wrapper.stop()
    broken(daemon)
    wrapper.cont()
    ends.wait()
    expect(wrapper.wait(), 76, wrapper.output.text())


def test_before_the_deadline(place):
    """a wrapper that wakes while its deadline lies ahead goes on"""
    daemon = world(place, LONG)
    wrapper = tool.start(place, daemon, "run", "x", "--", "sh", "-c",
                         'trap "exit 5" TERM; echo "pids $$"; while :; do sleep 0.01; done')
    ends = tool.Ends(tool.pids(wrapper))
    wrapper.stop()
    expect(daemon.client()("LOCK", "x", "WAIT", 0), None)
    wrapper.cont()
    expect(ends.left(), 1)
    wrapper.signal(signal.SIGTERM)
    expect(wrapper.wait(), 5, wrapper.output.text())


def test_hold_past_the_deadline(place):
    """hold that wakes past its deadline goes on when the daemon has kept the lock, and reports the loss when not"""
    daemon = world(place, SHORT)
    holder = tool.start(place, daemon, "hold", "x")
    holder.output.wait(r"^\d+$")
    holder.stop()
    expect(daemon.client()("LOCK", "x", "WAIT", ASLEEP_MS), None)
    asked = checks(daemon)
    holder.cont()
    harness.until("it asks", lambda: checks(daemon) > asked)
    expect(daemon.client()("LOCK", "x", "WAIT", 0), None)
    holder.stop()
    broken(daemon)
    holder.cont()
    expect(holder.wait(), 76, holder.output.text())


if __name__ == "__main__":
    harness.main(globals())
