#!/usr/bin/env python3
"""Hand-overs in a row, beside crowds and hostile clients; not part of `make check`.

  HANDOVERS=1000 tests/e2e/handovers.py [TEST...]

No hold may be lost, and no client may be refused or cut off. That nothing grows with their number, replace.py sees to.
"""

import os
import threading

import harness
import resp
from errands import granted, hand_over, held
from harness import expect, expect_between
from replace import bind

HANDOVERS = int(os.environ.get("HANDOVERS", "200"))


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
            hand_over(daemon)
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
            hand_over(daemon)
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
            hand_over(daemon)
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
