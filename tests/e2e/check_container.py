#!/usr/bin/env python3
"""A daemon that is the first process of a container: signals, its redis-server, and processes that nobody waits for."""

import os
import signal
import subprocess

import harness
import tool
from harness import expect, expect_between

# The daemon is process 1 of a namespace of its own, which ends with it.
CONTAINER = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")


def contained(place, **options):
    """The daemon, and its process as it is seen here."""
    tried = subprocess.run(CONTAINER + ("true",), capture_output=True, check=False)
    if tried.returncode != 0:
        raise harness.Skip("no process namespace: %s" % tried.stderr.decode().strip())
    daemon = place.idle_daemon(**options)
    daemon.wrap = list(CONTAINER)
    daemon.start().admitted()
    child, = tool.children(daemon.process.pid)
    return daemon, child


def ends(daemon, child, number):
    """A signal to process 1 counts only if it is handled."""
    os.kill(child, number)
    expect(daemon.process.wait(), 0)


def test_signals(place):
    """as process 1 it reads its file again at HUP, and ends at TERM and at INT"""
    for count, number in enumerate((signal.SIGTERM, signal.SIGINT)):
        daemon, child = contained(place, name="d%d" % count, master=place.redis("r%d" % count))
        mark = daemon.output.mark()
        os.kill(child, signal.SIGHUP)
        daemon.output.wait("daemon.reloaded", mark)
        ends(daemon, child, number)


def test_orphans(place):
    """as process 1 it takes leave of processes whose parents have ended, and of nobody else"""
    daemon, child = contained(place)
    server, = tool.children(child)
    for status in ("exit 3", "kill -9 $$"):
        # The shell ends, and what it has started is left to process 1.
        reader, writer = os.pipe()
        made = subprocess.run(("nsenter", "--target", str(child), "--pid", "--", "sh", "-c",
                               "sh -c 'read line; %s' <&%d & exit" % (status, reader)), pass_fds=(reader,), check=False)
        os.close(reader)
        expect(made.returncode, 0)
        harness.until("an orphan is there", lambda: len(tool.children(child)) == 2)
        os.close(writer)
        harness.until("it is gone", lambda: tool.children(child) == [server])
    client = daemon.client()
    expect_between(client("LOCK", "a", "WAIT", 45000), 1, 2 ** 53)
    ends(daemon, child, signal.SIGTERM)


def test_its_own_server(place):
    """as process 1 it says how its redis-server ended, and starts it again"""
    daemon, child = contained(place)
    server, = tool.children(child)
    mark = daemon.output.mark()
    os.kill(server, signal.SIGKILL)
    daemon.output.wait('embedded.died why="killed by signal 9"', mark)
    daemon.output.wait("embedded.restarted", mark)
    harness.until("the other one alone is there", lambda: len(tool.children(child)) == 1 and tool.children(child) != [server])
    ends(daemon, child, signal.SIGTERM)


def test_restart(place):
    """as process 1 it is restarted by SIGUSR2 and by a client, with its redis-server; orphans are taken leave of as before"""
    daemon, child = contained(place)
    server, = tool.children(child)
    holder = daemon.client()
    token = holder("LOCK", "a", "WAIT", 45000)
    # Its parent ends before, and it ends after.
    reader, writer = os.pipe()
    made = subprocess.run(("nsenter", "--target", str(child), "--pid", "--", "sh", "-c",
                           "sh -c 'read line' <&%d & exit" % reader), pass_fds=(reader,), check=False)
    os.close(reader)
    expect(made.returncode, 0)
    harness.until("an orphan is there", lambda: len(tool.children(child)) == 2)
    os.kill(child, signal.SIGUSR2)
    harness.until("a new process serves", lambda: daemon.info()["handovers"] == "1")
    expect(tool.call(place, daemon, "restart", "-q"), (0, ""))
    os.close(writer)
    harness.until("the orphan is gone", lambda: tool.children(child) == [server])
    expect(daemon.info()["process_id"], "1")
    expect_between(holder("CHECK", "a", "TOKEN", token), 1, harness.LEASE_MS)
    ends(daemon, child, signal.SIGTERM)
    harness.until("its redis-server has ended, too", lambda: not os.path.exists("/proc/%d" % server))


if __name__ == "__main__":
    harness.main(globals())
