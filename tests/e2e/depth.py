#!/usr/bin/env python3
"""What ten thousand connections cost, and what bad clients cost the others; not part of `make check`.

It measures, so it wants a quiet machine.
"""

import multiprocessing
import re
import resource
import select
import socket
import time

import harness
import resp
from harness import expect_between


def memory(daemon):
    """Resident and page-table bytes of the daemon."""
    with open("/proc/%d/status" % daemon.process.pid, encoding="ascii") as stream:
        return int(re.search(r"VmRSS:\s+(\d+)", stream.read()).group(1)) * 1024


def test_idle(place):
    """10,000 idle connections cost less than 3 KB of the daemon's memory each"""
    count = 10000
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard < count + 200:
        raise harness.Skip("at most %d descriptors" % hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (count + 200, hard))
    daemon = place.daemon(master=place.redis(), config="limits: { clients: 11000, sessions-per-user: 11000 }\n"
                                                       "log: { level: warning }\n").admitted()
    for warm in [daemon.client() for _ in range(100)]:
        warm("PING")
        warm.close()
    before = memory(daemon)
    clients = []
    for _ in range(count):
        client = daemon.client()
        expect_between(client("LOCK", "warm", "WAIT", 10000), 1, 2 ** 53)
        client("UNLOCK", "warm")
        clients.append(client)
    each = (memory(daemon) - before) / count
    harness.comment("%d bytes each" % each)
    expect_between(each, 0, 3 * 1024, "bytes for each connection")
    started = time.monotonic()
    expect_between(clients[0]("LOCK", "a", "WAIT", 0), 1, 2 ** 53)
    harness.comment("a lock beside them takes %.3f ms" % ((time.monotonic() - started) * 1000))


def latency(daemon, rounds=4000):
    """p99 of LOCK and UNLOCK, in seconds."""
    times = []
    with resp.Client(daemon.socket) as client:
        for _ in range(rounds):
            started = time.monotonic()
            client("LOCK", "probe", "WAIT", 0)
            client("UNLOCK", "probe")
            times.append(time.monotonic() - started)
    return sorted(times)[rounds * 99 // 100]


def never_read(daemon):
    """Asks and does not read, is cut off, and comes again."""
    while True:
        with resp.Client(daemon.socket) as client:
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.socket.setblocking(False)
            try:
                while True:
                    select.select([], [client.socket], [])
                    client.socket.send(resp.encode("ECHO", "x" * 1000) * 16)
            except OSError:
                pass


def slow_loris(daemon):
    """A hundred clients send a byte each, ten times a second, of a request that does not end."""
    clients = [resp.Client(daemon.socket) for _ in range(100)]
    while True:
        for client in clients:
            client.send_raw(b"x")
            select.select([], [], [], 0.001)


def test_bad_neighbours(place):
    """a client that never reads and a hundred that never finish do not move the others' p99 by more than twice"""
    daemon = place.daemon(master=place.redis(), config="log: { level: warning }\n").admitted()
    latency(daemon)
    before = min(latency(daemon) for _ in range(3))
    # Processes of their own: threads would share the interpreter with the probe.
    neighbours = [multiprocessing.get_context("fork").Process(target=work, args=(daemon,))
                  for work in (never_read, slow_loris)]
    for neighbour in neighbours:
        neighbour.start()
        place.ends.append(neighbour.kill)
    after = min(latency(daemon) for _ in range(3))
    for neighbour in neighbours:
        neighbour.kill()
        neighbour.join()
    harness.comment("p99 %.3f ms, with bad neighbours %.3f ms" % (before * 1000, after * 1000))
    expect_between(after / before, 0, 2, "times the p99")


if __name__ == "__main__":
    harness.main(globals())
