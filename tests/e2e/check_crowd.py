#!/usr/bin/env python3
"""Many who read and one who writes, and permits whose holders are killed: who gets in, in which order, and how soon."""

import os
import re
import select
import signal
import time

import harness
import tool
from harness import boottime, expect, expect_between, took

READERS = 100
HOLD = 0.1  # seconds that a reader holds
SOON = 0.020
TRIES = 5
LONG = 45000  # ms; a wait that something else has to end
TOKEN_MAX = 2 ** 53


class Reader:
    """A connection that reads, gives back, and asks again at once."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.client = daemon.client()
        self.holds = 0
        self.token = None  # of the hold that it has, or had last
        self.began = 0.0
        self.ends = None  # when it means to end its hold; None: it holds nothing
        self.late = False  # it asked for the next one after the writer was known

    def ask(self, late):
        self.late = late
        self.client.send("LOCK", "a", "SHARED", "WAIT", LONG)


def wants_of(watcher):
    """How often the master has told the daemon that somebody elsewhere wants what it has."""
    return int(re.search(r"inbox_wants:(\d+)", watcher("INFO")).group(1))


class Crowd:
    """Readers whose holds overlap at each daemon for as long as no writer is known, and the writer."""

    def __init__(self, *daemons):
        self.daemons = daemons
        self.readers = [Reader(daemons[n % len(daemons)]) for n in range(READERS)]
        self.by_socket = {reader.client.socket.fileno(): reader for reader in self.readers}
        self.poller = select.poll()
        for number in self.by_socket:
            self.poller.register(number, select.POLLIN)
        self.known = set()  # the daemons that know of the writer
        self.early, self.later = [], []  # tokens of those that asked before it was known, and of those after
        self.longest = 0.0  # hold, in seconds: on a busy machine readers are late, too
        self.ended = 0.0  # when a reader gave back last
        for reader in self.readers:
            reader.ask(False)

    def holding(self, daemon=None):
        return sum(reader.ends is not None for reader in self.readers if daemon in (None, reader.daemon))

    def granted(self, reader, token):
        expect_between(token, 1, TOKEN_MAX)
        # The first holds end one after the other, and so do all others.
        share = (self.readers.index(reader) + 1) / READERS if reader.holds == 0 else 1
        reader.holds += 1
        reader.token = token
        reader.began = time.monotonic()
        reader.ends = reader.began + HOLD * share
        (self.later if reader.late else self.early).append(token)

    def give_back(self, reader):
        reader.ends = None
        self.longest = max(self.longest, time.monotonic() - reader.began)
        self.ended = boottime()
        reader.client.send("UNLOCK", "a")
        expect(reader.client.reply(), 0)
        reader.ask(reader.daemon in self.known)

    def turn(self, writer=None):
        """What is due, and what has come; true: the writer has its answer."""
        for reader in self.readers:
            if reader.ends is None or reader.ends > time.monotonic():
                continue
            # Until the writer is known somebody reads at any time: nobody gets in by a gap.
            if reader.daemon in self.known or self.holding(reader.daemon) > 1:
                self.give_back(reader)
        for number, _ in self.poller.poll(1):
            if writer is not None and number == writer.socket.fileno():
                return True
            reader = self.by_socket[number]
            self.granted(reader, reader.client.reply())
        return False

    def write(self, writer):
        """The writer asks, and the readers go on: its token, and the seconds from its LOCK, from the last UNLOCK, and
        of the longest read."""
        expect(min(self.holding(daemon) for daemon in self.daemons) > 0, True, "there are readers")
        number = writer("SESSION", "ID")
        watchers = {daemon: daemon.client(form=3) for daemon in self.daemons}
        wants = {daemon: wants_of(watcher) for daemon, watcher in watchers.items()}
        asked = boottime()
        writer.send("LOCK", "a", "WAIT", LONG)
        first, *others = self.daemons
        harness.until("the writer is in line", lambda: any(
            waiter["session"] == number for waiter in watchers[first]("INSPECT", "a")["waiters"]))
        self.known.add(first)
        self.longest = 0.0
        for daemon in others:
            harness.until("%s knows of the writer" % daemon.name,
                          lambda d=daemon: self.turn() or wants_of(watchers[d]) > wants[d])
            # A reader that asks in the same ms is still let in.
            at = int(boottime() * 1000)
            harness.until("the next ms has begun", lambda ms=at: int(boottime() * 1000) > ms)
            self.known.add(daemon)
        self.poller.register(writer.socket.fileno(), select.POLLIN)
        while not self.turn(writer):
            expect(self.later, [], "readers that came later and were granted before the writer")
            expect_between(boottime() - asked, 0, harness.PATIENCE, "seconds without the writer")
        granted = boottime()
        longest = self.longest
        self.poller.unregister(writer.socket.fileno())
        return writer.reply(), granted - asked, granted - self.ended, longest


def overlap(crowd, writer):
    """The readers read, the writer comes, and gets in between those who were there and those who came later."""
    harness.until("each reads for the third time", lambda: crowd.turn() or min(r.holds for r in crowd.readers) > 2)
    token, whole, last, longest = crowd.write(writer)
    expect_between(token, 1, TOKEN_MAX)
    expect(crowd.holding(), 0, "readers that hold when the writer is granted")
    expect(max(crowd.early) < token, True, "the writer's token is the newest")
    # All wait now, and for nobody else.
    before = [reader.holds for reader in crowd.readers]
    expect(writer("CHECK", "a") > 0, True)
    expect(writer("UNLOCK", "a"), 0)
    harness.until("all read again", lambda: crowd.turn() or all(
        reader.holds > holds for reader, holds in zip(crowd.readers, before)))
    expect(min(crowd.later) > token, True, "later readers have later tokens")
    harness.comment("from the last reader's UNLOCK to the writer: %.1f ms; they held %.1f ms at most" % (
        last * 1000, longest * 1000))
    took(whole, HOLD + SOON, "the writer, among %d readers of %g ms each" % (READERS, HOLD * 1000))


# --- a writer among readers ---------------------------------------------------------------------------------------

@harness.busy
def test_writer(place):
    """a writer gets in when those of 100 overlapping readers end that were there, and before any that came later"""
    daemon = place.daemon(master=place.redis()).admitted()
    overlap(Crowd(daemon), daemon.client())


@harness.busy
def test_writer_of_two_daemons(place):
    """the same with the readers at two daemons, and the writer at one of them"""
    redis = place.redis()
    daemons = [place.daemon(name, master=redis).admitted() for name in ("d1", "d2")]
    overlap(Crowd(*daemons), daemons[0].client())


# --- permits of the dead ------------------------------------------------------------------------------------------

HOLDER = (
    "import socket, sys, signal\n"
    "s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.sendall(b'LOCK s LIMIT 3 WAIT 0\\r\\n')\n"
    "print(s.recv(100).decode().strip(), flush=True)\n"
    "signal.pause()\n")


def permits_back(daemon, processes, kill, answered):
    """Three permits are out, and all come back after kill(process) of each; how long that took."""
    client, other = daemon.client(), daemon.client()
    expect(other("LOCK", "s", "LIMIT", 3, "WAIT", 0), None)
    client.send("LOCK", "s", "LIMIT", 3, "PERMITS", 3, "WAIT", LONG)
    daemon.queued("s")
    killed = boottime()
    for process in processes:
        kill(process)
    answered(client)
    seconds = boottime() - killed
    expect(other("LOCK", "s", "LIMIT", 3, "WAIT", 0), None)
    expect(client("UNLOCK", "s"), 0)
    # Each is there again by itself.
    for number in range(3):
        expect_between(client("LOCK", "s", "LIMIT", 3, "OWNER", "o%d" % number, "WAIT", 0), 1, TOKEN_MAX)
    expect(other("LOCK", "s", "LIMIT", 3, "WAIT", 0), None)
    client.close()
    other.close()
    for process in processes:
        process.wait()
    return seconds


def test_permits_of_killed_clients(place):
    """three holders of a semaphore of 3 are killed with KILL: 3 permits are back"""
    daemon = place.daemon(master=place.redis()).admitted()
    delays = []
    for _ in range(TRIES):
        holders = [place.run("python3", "-c", HOLDER, daemon.socket) for _ in range(3)]
        for process in holders:
            process.output.wait(r"^:\d+")
        delays.append(permits_back(daemon, holders, lambda process: process.signal(signal.SIGKILL),
                                   lambda client: expect_between(client.reply(), 1, TOKEN_MAX)))
    took(min(delays), SOON, "from three kills to 3 permits")


def test_permits_of_killed_commands(place):
    """the process groups of three `holdfast run -N 3` are killed: 3 permits are back after their last process"""
    daemon = place.daemon(master=place.redis()).admitted()
    delays = []
    for _ in range(TRIES):
        wrappers = [tool.start(place, daemon, "run", "-N", "3", "s", "--", "sh", "-c", tool.PLAIN) for _ in range(3)]
        ends = tool.Ends([number for wrapper in wrappers for number in tool.pids(wrapper)])
        delays.append(permits_back(daemon, wrappers, lambda wrapper: os.killpg(wrapper.pid, signal.SIGKILL),
                                   lambda client, ends=ends: tool.never_early(client, ends)))
        ends.close()
    took(min(delays), SOON, "from three kills to 3 permits")


if __name__ == "__main__":
    harness.main(globals())
