#!/usr/bin/env python3
"""Hand-overs in a row, beside crowds and hostile clients; not part of `make check`.

  HANDOVERS=1000 tests/e2e/handovers.py [TEST...]

Nothing may grow with their number, no hold may be lost, and no client may be refused or cut off.
"""

import array
import os
import signal
import socket
import threading

import harness
import resp
from errands import granted, handovers, held
from harness import expect, expect_between

HANDOVERS = int(os.environ.get("HANDOVERS", "200"))
CROWD = 300
GROWTH_KIB = 4096  # of the resident memory, between the tenth hand-over and the last


def again(daemon):
    """One hand-over, by the signal; returns when the new process serves."""
    done = handovers(daemon)
    daemon.process.signal(signal.SIGUSR2)
    harness.until("a new process serves", lambda: handovers(daemon) > done)


def resident_kib(pid):
    with open("/proc/%d/status" % pid, encoding="ascii") as stream:
        return next(int(line.split()[1]) for line in stream if line.startswith("VmRSS"))


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as stream:
        return len(stream.read().split())


class Beside:
    """Threads that do something again and again while the daemon is handed over; count: how often."""

    def __init__(self, *works):
        self.ended = threading.Event()
        self.faults = []
        self.count = 0
        self.threads = [threading.Thread(target=self.run, args=(work,), daemon=True) for work in works]

    def run(self, work):
        try:
            while not self.ended.is_set():
                work()
                self.count += 1
        except BaseException as error:  # the test has to tell, whatever it is
            self.faults.append("%r in %r" % (error, work))

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *failed):
        self.ended.set()
        for thread in self.threads:
            thread.join(2 * harness.PATIENCE)
        if failed == (None, None, None):
            expect(self.faults[:3], [], "%d of them" % len(self.faults))


def bind(client, pidfd):
    client.socket.sendmsg([b"SESSION BIND\r\n"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [pidfd]))])


class Crowd:
    """Clients of all kinds, who hold, wait and listen from before the first hand-over until after the last one."""

    def __init__(self, place, daemon):
        self.daemon = daemon
        self.holds = [(client, "hold%d" % n, granted(client("LOCK", "hold%d" % n)))
                      for n, client in enumerate(daemon.client(tcp=n % 3 == 0) for n in range(CROWD))]
        for kind in (("SHARED",), ("LIMIT", 5, "PERMITS", 2), ("OWNER", "tag")):
            name = "kind-" + kind[0]
            client = daemon.client()
            self.holds.append((client, name, granted(client("LOCK", name, *kind)), *(kind if kind[0] == "OWNER" else ())))
        self.waiters = [daemon.client() for _ in range(50)]
        for n, client in enumerate(self.waiters):
            client.send("LOCK", "hold%d" % (n % 10))
        self.pushed = daemon.client(form=3)
        expect(self.pushed("LOCK", "hold11", "ASYNC", "x"), "QUEUED")
        self.streams = [daemon.client(form=3) for _ in range(4)]
        expect([stream("EVENTS", "MATCH", "marked") for stream in self.streams], ["OK"] * 4)
        self.child = place.run("sleep", "100000")
        bound = daemon.client()
        bind(bound, self.child.pidfd)
        expect(bound.reply(), 0)
        self.holds.append((bound, "bound", granted(bound("LOCK", "bound"))))
        away = daemon.client()
        self.secret = away("SESSION", "GRACE", 600000)
        self.away = granted(away("LOCK", "away"))
        away.close()
        harness.until("all wait", lambda: daemon.info()["waiters"] == "51")

    def look(self):
        for client, name, token, *owner in self.holds:
            held(client, name, token, *owner)

    def finish(self):
        self.look()
        back = self.daemon.client()
        expect(back("SESSION", "RESUME", self.secret), 1)
        held(back, "away", self.away)
        marker = self.daemon.client()
        granted(marker("LOCK", "marked"))
        for stream in self.streams:
            expect([stream.push()[1].split(" ")[0] for _ in range(2)], ["lease.acquired", "lock.granted"])
        for client, name, token, *_ in self.holds[:10]:
            expect(client("UNLOCK", name), 0)
        for n, client in enumerate(self.waiters):
            if n < 10:
                expect_between(client.reply(), self.holds[n][2] + 1, 2 ** 53)
        expect(self.holds[11][0]("UNLOCK", "hold11"), 0)
        expect(self.pushed.push()[:2], ["grant", "x"])


def measure(daemon):
    info = daemon.info()
    pid = daemon.process.pid
    files = sum(len(names) for folder, _, names in os.walk(daemon.folder))
    return dict({"children": children(pid), "files": files},
                **{key: info[key] for key in ("connected_clients", "sessions", "grants", "waiters", "leases")})


def descriptors(daemon):
    return len(os.listdir("/proc/%d/fd" % daemon.process.pid))


def soak(place, master):
    daemon = place.daemon(master=master, tcp=True, config="log: { level: warning }\nlimits: { clients: 1000 }\n").admitted()
    crowd = Crowd(place, daemon)
    for _ in range(10):
        again(daemon)
    before, resident, files = measure(daemon), resident_kib(daemon.process.pid), descriptors(daemon)
    longest = 0
    for n in range(HANDOVERS):
        again(daemon)
        longest = max(longest, int(daemon.info()["handover_silent_ms"]))
        if n % 100 == 99:
            crowd.look()
            harness.comment("%d hand-overs, %d KiB" % (n + 1, resident_kib(daemon.process.pid)))
    expect(measure(daemon), before)
    # Links to the masters come and go.
    expect_between(descriptors(daemon), files - 5, files + 5)
    grown = resident_kib(daemon.process.pid) - resident
    expect_between(grown, -1000000, GROWTH_KIB)
    harness.comment("%d hand-overs of %s: %d KiB more, %d ms of silence at most" % (HANDOVERS, before, grown, longest))
    crowd.finish()


def test_soak(place):
    """hand-overs in a row with some hundred connections of all kinds: nothing grows, and all is kept"""
    soak(place, place.redis())


def test_soak_private(place):
    """the same with a private redis-server"""
    soak(place, None)


def test_connects(place):
    """clients that connect and disconnect all the time, over TCP and Unix sockets: none is refused, reset or cut off"""
    daemon = place.daemon(master=place.redis(), tcp=True, config="log: { level: warning }\n").admitted()
    slow = threading.Event()

    def visit(tcp):
        client = daemon.client(tcp=tcp)
        expect(client("PING"), "PONG")
        client.close()
        slow.wait(0.02)

    with Beside(*(lambda tcp=n % 2 == 0: visit(tcp) for n in range(4))) as beside:
        for _ in range(HANDOVERS):
            again(daemon)
    harness.comment("%d connections during %d hand-overs" % (beside.count, HANDOVERS))
    expect(daemon.info()["connections_rejected"], "0")


def test_storm(place, masters=1):
    """LOCK with WAIT 0 of new names from 50 connections all the time: each is granted"""
    daemon = place.daemon(master=[place.redis("r%d" % n) for n in range(masters)], config="log: { level: warning }\n").admitted()
    lock, number = threading.Lock(), [0]

    def storm(clients):
        with lock:
            number[0] += len(clients)
            first = number[0]
        for n, client in enumerate(clients):
            client.send("LOCK", "new%d" % (first + n), "WAIT", 0)
        for n, client in enumerate(clients):
            granted(client.reply())
            client.send("UNLOCK", "new%d" % (first + n))
        for client in clients:
            expect(client.reply(), 0)

    groups = [[daemon.client() for _ in range(10)] for _ in range(5)]
    with Beside(*(lambda group=group: storm(group) for group in groups)) as beside:
        for _ in range(HANDOVERS):
            again(daemon)
    harness.comment("%d locks during %d hand-overs" % (10 * beside.count, HANDOVERS))


def test_storm_three_masters(place):
    """the same with three masters"""
    test_storm(place, 3)


def test_hostile(place):
    """clients that do not read, that ask by halves, that wait in thousands, and that pass descriptors meanwhile"""
    daemon = place.daemon(master=place.redis(), config="log: { level: warning }\nlimits: { clients: 2000 }\n").admitted()
    holder = daemon.client()
    token = granted(holder("LOCK", "a"))
    full = [daemon.client() for _ in range(4)]
    asked = 16
    for client in full:
        for n in range(asked):
            client.send("ECHO", "%d %s" % (n, "x" * 20000))
    halves = [daemon.client() for _ in range(500)]
    question = resp.encode("CHECK", "a")
    for n, client in enumerate(halves):
        client.send_raw(question[:1 + n % (len(question) - 1)])
    for client in [daemon.client(form=3) for _ in range(30)]:
        for n in range(100):
            expect(client("LOCK", "a", "ASYNC", "w%d" % n), "QUEUED")
    child = place.run("sleep", "100000")

    def pass_descriptors():
        client = daemon.client()
        bind(client, child.pidfd)
        expect_between(client.reply(), 0, 1)
        client.close()

    slow = threading.Event()

    def close_early():
        client = daemon.client()
        client.send("LOCK", "a")
        client.close()
        slow.wait(0.002)  # SOMAXCONN (4096) of them can wait to be accepted

    with Beside(pass_descriptors, close_early, pass_descriptors, close_early) as beside:
        for _ in range(max(1, HANDOVERS // 10)):
            again(daemon)
    harness.comment("%d times beside %d hand-overs" % (beside.count, max(1, HANDOVERS // 10)))
    for client in full:
        for n in range(asked):
            expect(client.reply().split(" ")[0], str(n))
    for n, client in enumerate(halves):
        client.send_raw(question[1 + n % (len(question) - 1):])
        expect(client.reply(), None)
    held(holder, "a", token)
    harness.until("only those that stay wait", lambda: daemon.info()["waiters"] == "3000")


if __name__ == "__main__":
    harness.main(globals())
