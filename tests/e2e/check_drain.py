#!/usr/bin/env python3
"""A daemon is taken out of service: DRAIN WAIT, and holdfast drain."""

import json
import re
import signal
import socket

import harness
import resp
import tool
from harness import expect, expect_between, expect_code
from terminal import Terminal

LONG_MS = 3600000
# Short enough for what is abandoned to run out.
BRISK = "lease: 2s\n"


def draining(daemon):
    """Waits until it has begun."""
    harness.until("it drains", lambda: daemon.info()["draining"] == "1")


def begun(daemon, wait_ms=LONG_MS):
    """A client that has asked for the drain."""
    expect(daemon.info()["draining"], "0")
    admin = daemon.client()
    admin.send("DRAIN", "WAIT", wait_ms)
    draining(daemon)
    return admin


def test_holders_finish(place):
    """what is held is kept for longer than a lease, nothing new is granted, and the last UNLOCK ends the daemon"""
    master = place.redis()
    daemon = place.daemon(master=master, config=BRISK).admitted()
    holder, waiter = daemon.client(), daemon.client()
    token = holder("LOCK", "a")
    waiter.send("LOCK", "a", "WAIT", 45000)
    daemon.queued("a")
    asked = harness.boottime()
    admin = begun(daemon)
    expect_code(waiter.reply(), "DRAINING")
    late = daemon.client()
    expect_code(late("LOCK", "b", "WAIT", 0), "DRAINING")
    expect_code(late("MLOCK", 1, "b", "WAIT", 0), "DRAINING")
    harness.until("a lease has passed", lambda: harness.boottime() > asked + 2.5 and late("PING") == "PONG")
    expect_between(holder("CHECK", "a"), 1, 2000)
    expect(holder("UNLOCK", "a", "TOKEN", token), 0)
    expect(admin.reply(), 0)
    expect(daemon.process.wait(), 0)
    expect(master("EXISTS", "holdfast:{a}"), 0)


def test_time_is_over(place):
    """the earlier of two ends counts: both are told how many holds are left, and these are withheld"""
    master = place.redis()
    daemon = place.daemon(master=master).admitted()
    holder = daemon.client()
    holder("LOCK", "a")
    admin, second = begun(daemon), daemon.client()
    expect(second("DRAIN", "WAIT", 100), 1)
    expect(admin.reply(), 1)
    expect(holder.closed(), True)
    expect(daemon.process.wait(), 0)
    expect(master("EXISTS", "holdfast:{a}"), 1)


def test_shortened(place):
    """DRAIN and SIGTERM end the wait at once"""
    for number, end in enumerate((lambda d: expect(d.client()("DRAIN"), "OK"),
                                  lambda d: d.process.signal(signal.SIGTERM))):
        daemon = place.daemon("d%d" % number, master=place.redis("r%d" % number)).admitted()
        holder = daemon.client()
        holder("LOCK", "a")
        admin = begun(daemon)
        end(daemon)
        expect(admin.reply(), 1)
        expect(holder.closed(), True)
        expect(daemon.process.wait(), 0)


def test_break_and_reload(place):
    """a reload is carried out meanwhile, and BREAK frees what nobody gives back, when its time is over"""
    daemon = place.daemon(master=place.redis(), config=BRISK).admitted()
    holder, other = daemon.client(), daemon.client()
    token = holder("LOCK", "a")
    admin = begun(daemon)
    daemon.configure(BRISK + "limits: { clients: 77 }\n")
    expect(other("RELOAD"), "reloaded: limits.clients")
    daemon.process.signal(signal.SIGHUP)
    expect(daemon.info()["draining"], "1")
    expect_between(other("BREAK", "a", "TOKEN", token), 1, 2000)
    expect(admin.reply(), 0)
    expect(daemon.process.wait(), 0)


def test_grace(place):
    """a session whose connection was lost comes back, gets nothing new, and gives back what it has"""
    daemon = place.daemon(master=place.redis(), tcp=True).admitted()
    holder = daemon.client(tcp=True)
    secret = holder("SESSION", "GRACE", 60000)
    holder("LOCK", "a")
    admin = begun(daemon)
    holder.close()
    back = daemon.client(tcp=True)
    expect(back("SESSION", "RESUME", secret), 1)
    expect_code(back("LOCK", "b", "WAIT", 0), "DRAINING")
    expect(back("UNLOCK", "a"), 0)
    expect(admin.reply(), 0)
    expect(daemon.process.wait(), 0)


def test_asker_leaves(place):
    """the drain goes on without the connection that asked for it"""
    daemon = place.daemon(master=place.redis()).admitted()
    holder = daemon.client()
    holder("LOCK", "a")
    begun(daemon).close()
    expect(holder("UNLOCK", "a"), 0)
    expect(daemon.process.wait(), 0)


def test_inherited_socket(place):
    """clients on the service manager's socket are told, none wakes another daemon, and the manager is told to have patience"""
    daemon = place.idle_daemon(master=place.redis())
    path = daemon.folder + "/inherited"
    daemon.listen = "listen:\n  - unix: %s\n" % path
    daemon.configure("")
    manager = socket.socket(socket.AF_UNIX)
    manager.bind(path)
    manager.listen(16)
    place.sockets.append(manager)
    daemon.wrap = ["sh", "-c", "exec 3<&%d; LISTEN_PID=$$ LISTEN_FDS=1 exec \"$@\"" % manager.fileno(), "sh"]
    daemon.inherit = (manager.fileno(),)
    daemon.start()
    holder = place.keep(resp.Client(path))
    expect_between(holder("LOCK", "a", "WAIT", 45000), 1, 2 ** 53)
    admin = place.keep(resp.Client(path))
    admin.send("DRAIN", "WAIT", LONG_MS)
    told = daemon.await_told("^STOPPING=1$")
    most_us = int(re.search(r"^EXTEND_TIMEOUT_USEC=(\d+)$", told, re.M).group(1))
    expect_between(most_us, LONG_MS * 1000, LONG_MS * 1000 + 60 * 10 ** 6)
    daemon.await_told("^STATUS=no new locks: draining, 1 hold is left$")
    for _ in range(3):
        with resp.Client(path) as late:
            expect_code(late("LOCK", "b", "WAIT", 60000), "DRAINING")
    expect(holder("UNLOCK", "a"), 0)
    expect(admin.reply(), 0)
    expect(daemon.process.wait(), 0)


def test_client(place):
    """holdfast drain waits and ends with 0 when all have finished, with 1 when some have not"""
    daemon = place.daemon(master=place.redis()).admitted()
    holder = daemon.client()
    holder("LOCK", "a")
    tool_run = tool.start(place, daemon, "drain", "-w", "1h", "-v")
    tool_run.output.wait("1 hold is left, waiting for (1h|59m)")
    expect(tool.call(place, daemon, "run", "-n", "--master-wait", "0.1", "b", "--", "true")[0], 69)
    expect(tool.call(place, daemon, "health")[0], 2)
    expect(holder("UNLOCK", "a"), 0)
    expect(tool_run.wait(), 0)
    expect(tool_run.output.text().splitlines()[-1], "the daemon has ended, and nothing was held")
    expect(daemon.process.wait(), 0)
    second = place.daemon("d2", master=place.redis("r2")).admitted()
    holder = second.client()
    holder("LOCK", "a")
    status, text = tool.call(place, second, "drain", "--json")
    expect((status, json.loads(text)), (1, {"left": 1}))
    expect(second.process.wait(), 0)
    status, text = tool.call(place, second, "drain")
    expect(status, 69)


def test_begin(place):
    """holdfast drain --begin returns while a lock is held, and the drain goes on"""
    daemon = place.daemon(master=place.redis()).admitted()
    holder = daemon.client()
    holder("LOCK", "a")
    expect(tool.call(place, daemon, "drain", "-w", "1h", "--begin"), (0, ""))
    expect(daemon.info()["draining"], "1")
    expect(holder("UNLOCK", "a"), 0)
    expect(daemon.process.wait(), 0)


def test_terminal(place):
    """on a terminal holdfast drain shows how many holds are left, as often as that changes"""
    daemon = place.daemon(master=place.redis()).admitted()
    holders = [daemon.client(), daemon.client()]
    for number, holder in enumerate(holders):
        holder("LOCK", "a%d" % number)
    with Terminal(place, daemon, "holdfast", "drain", "-w", "1h") as screen:
        screen.wait("2 holds are left, waiting for (1h|59m)")
        expect(holders[0]("UNLOCK", "a0"), 0)
        screen.wait("1 hold is left")
        expect(holders[1]("UNLOCK", "a1"), 0)
        screen.wait("the daemon has ended, and nothing was held")
        expect(screen.process.wait(harness.PATIENCE), 0)
    expect(daemon.process.wait(), 0)


def test_not_for_everybody(place):
    """who is no administrator may not"""
    daemon = place.daemon(master=place.redis(), tcp=True).admitted()
    client = daemon.client(tcp=True)
    expect_code(client("DRAIN", "WAIT", 1), "NOPERM")
    expect(daemon.info()["draining"], "0")


if __name__ == "__main__":
    harness.main(globals())
