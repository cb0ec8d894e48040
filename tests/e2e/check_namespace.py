#!/usr/bin/env python3
"""A daemon that comes back in another PID namespace, or behind another /proc: a bound process that it cannot see there may be working."""

import os
import signal
import subprocess

import harness
import resp
import tool
from errands import granted, held
from harness import BRISK, boottime, expect, expect_between, expect_code, expect_not_before, until
from manager import Manager
from scene import pause

APART = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
# Its numbers are those of a namespace of its own, and those in /proc are not.
BLIND = ["unshare", "--pid", "--fork", "--kill-child"]
WITHOUT_PROC = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /proc && exec \"$@\"", "sh"]
WAYS = {"apart": APART, "blind": BLIND, "no-proc": WITHOUT_PROC}


def end(daemon):
    """unshare passes no signal on to the first process of the namespace, and ends with it."""
    for child in tool.children(daemon.process.pid):
        os.kill(child, signal.SIGTERM)
    expect(daemon.process.wait(), 0, daemon.output.tail())


def kill(daemon):
    """unshare, killed as soon as it has begun, leaves the first process of the namespace to itself."""
    process = daemon.process
    process.stop()
    until("it stands still", lambda: tool.state(process.pid) == "T")
    firsts = tool.children(process.pid)
    ends = tool.Ends(firsts)
    for first in firsts:
        os.kill(first, signal.SIGKILL)
    daemon.kill()
    ends.wait()
    ends.close()


def needs_namespaces():
    tried = subprocess.run(APART + ["true"], capture_output=True, check=False)
    if tried.returncode != 0:
        raise harness.Skip("no process namespace: %s" % tried.stderr.decode().strip())


class Worker:
    """A process that is bound to a session which holds `job`, and has no connection; told: until when it may rely on that."""

    def __init__(self, place, daemon):
        self.process = place.run("sleep", "100000")
        with daemon.client() as client:
            self.bind(client)
            expect_between(client.reply(), 0, 1)
            self.token = granted(client("LOCK", "job", "WAIT", 45000))
            self.asked = boottime()
            self.told = self.asked + client("CHECK", "job") / 1000

    def bind(self, client):
        resp.socket.send_fds(client.socket, [b"SESSION BIND\r\n"], [self.process.pidfd])

    def passes_on_as_told(self, daemon):
        """It lives, and the next holder comes at the announced deadline: not before, and not when it ends."""
        token = granted(daemon.client()("LOCK", "job", "WAIT", 45000))
        expect_not_before(boottime(), self.told, "the next holder")
        expect_between(token, self.token + 1, 2 ** 53)
        expect(self.process.alive(), True)


def test_crash(place):
    """what it holds is left to its announced deadline after a crash: in a namespace of its own, with the /proc of another one, and without /proc"""
    needs_namespaces()
    redis = place.redis()
    for name, way in WAYS.items():
        daemon = place.daemon(name, master=redis, config=BRISK + "namespace: %s\n" % name).admitted()
        worker = Worker(place, daemon)
        daemon.kill()
        daemon.wrap = way
        daemon.start()
        worker.passes_on_as_told(daemon)
        # Without /proc it does not even know the boot.
        daemon.output.wait(r"process\.unseen pid=%d|ledger\.refused .* boot" % worker.process.pid)
        if way != WITHOUT_PROC:
            end(daemon)


def test_there_and_back(place):
    """a daemon that is killed in one namespace as soon as it starts, and started in another one, again and again, takes no number for that of the other"""
    needs_namespaces()
    daemon = place.daemon(master=place.redis(), config=BRISK).admitted()
    worker = Worker(place, daemon)
    for number in range(6):
        kill(daemon)
        daemon.wrap = [] if number % 2 else APART
        daemon.spawn()
        pause(number * 0.01)
    kill(daemon)
    daemon.wrap = APART
    daemon.start()
    worker.passes_on_as_told(daemon)
    end(daemon)


def test_handed_over(place):
    """handed over into another namespace by a service manager, a session has its connection and no process more"""
    needs_namespaces()
    daemon = place.idle_daemon(master=place.redis(), config=BRISK)
    manager = Manager(daemon)
    manager.start()
    daemon.admitted()
    worker = Worker(place, daemon)
    client = daemon.client()
    worker.bind(client)
    expect(client.reply(), 1)
    daemon.wrap = APART
    manager.restart()
    daemon.output.wait(r"process\.unseen pid=%d" % worker.process.pid)
    held(client, "job", worker.token)
    worker.told = boottime() + client("CHECK", "job") / 1000 - harness.WHOLE_MS
    client.close()
    worker.passes_on_as_told(daemon)
    end(daemon)


def test_numbers_of_another_proc(place):
    """with the /proc of another namespace nobody is bound: a number there is that of another process"""
    needs_namespaces()
    daemon = place.idle_daemon(master=place.redis(), config=BRISK)
    daemon.wrap = BLIND
    daemon.start()
    worker = place.run("sleep", "100000")
    client = daemon.client()
    resp.socket.send_fds(client.socket, [b"SESSION BIND\r\n"], [worker.pidfd])
    expect_code(client.reply(), "ERR")
    with open("/proc/self/stat", encoding="ascii") as stat:
        expect_code(client("SESSION", "BIND", stat.read().rsplit(")", 1)[1].split()[19]), "ERR")
    end(daemon)


if __name__ == "__main__":
    harness.main(globals())
