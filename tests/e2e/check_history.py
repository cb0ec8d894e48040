#!/usr/bin/env python3
"""The history of the nemesis, its network and its clocks: what they must find, planted; what they must do, looked at."""

import argparse
import os
import random
import socket
import sys
import threading
import time
import uuid

import clockshim
import harness
import history
import nemesis_crash
import nemesis_stage
import nemesis_wire
import resp
import tool
from harness import boottime, expect, expect_between
from history import MS


def written(place, clients):
    """The history of clients with these lines, times in ms."""
    folder = os.path.join(place.path, "history")
    os.makedirs(folder)
    for client, lines in clients.items():
        write = history.Writer(os.path.join(folder, client))
        for line in lines:
            at, *words = line.split()
            write(*words, at=int(at) * MS)
        write.close()
    told = history.History(folder, history.Rules(1000, {"b": 50}))
    place.ends.append(told.close)
    told.read()
    return told


def hold(asked, start, valid_ms, end, token, name="a"):
    """One hold from LOCK to UNLOCK."""
    return ["%d ask %s 1000" % (asked, name), "%d grant %s %d %d" % (start, name, token, valid_ms),
            "%d unlock %s" % (end, name), "%d unlocked %s 0" % (end + 1, name)]


def test_judge(place):
    """what is written is judged: two holders, more than the rules allow, what is not over yet, and lines that are none"""
    told = written(place, {"one": hold(1, 2, 100, 50, 1) + hold(60, 61, 60, 62, 1, "b"), "two": hold(5, 49, 100, 60, 2),
                           "three": ["70 ask a 0", "71 grant a 3 100"], "four": ["72 ask a 0", "73 grant a 4 100", "74 ask b 0"]})
    rules = [line.split(":")[0] for line in told.judge(running=True)]
    expect(sorted(rules), ["deadlines", "exclusion"])
    found = told.judge()
    expect(sorted(line.split(":")[0] for line in found), ["answers", "deadlines", "exclusion", "exclusion"])
    expect(len(told.judge(waived=["no answer came"])), 3)
    history.Writer(os.path.join(told.folder, "five"))("nonsense")
    expect(any("five:1: no such word" in line for line in told.judge()), True)


def test_progress(place):
    """the first grant after a moment is found for each name and each daemon, or that there is none"""
    told = written(place, {"client.1.d1.tcp": hold(1, 5, 100, 6, 1) + hold(7, 20, 100, 21, 2, "b"),
                           "client.2.d2.unix": hold(1, 10, 100, 11, 3)})
    expect(history.first_grants(told.grants(), ["a", "b"], ["d1", "d2", "d3"], 6 * MS),
           {"a": 4 * MS, "b": 14 * MS, "d1": 14 * MS, "d2": 4 * MS, "d3": None})


def test_clock(place):
    """a stepped clock moves a master's time of day, expires its keys, and leaves its monotonic clock alone"""
    clock = clockshim.Clock(place, "m1")
    redis = place.redis(environment=clock.environment)
    before = int(redis("TIME")[0])
    expect(redis("SET", "a", "b", "PX", 60000), "OK")
    expect(redis("SET", "c", "d", "PX", 7200000), "OK")
    clock.step(3600)
    expect_between(int(redis("TIME")[0]) - before, 3600, 3600 + harness.PATIENCE)
    expect_between(int(redis("EVAL", "return redis.call('TIME')[1]", 0)) - before, 3600, 3600 + harness.PATIENCE)
    expect(redis("GET", "a"), None)
    expect(redis("GET", "c"), "d")
    clock.step(-7200)
    expect_between(int(redis("TIME")[0]) - before, -3600, -3600 + harness.PATIENCE)
    # Loaded into this process's child as well, which shows both clocks beside each other.
    clock.step(7200)
    told = place.run(sys.executable, "-c", "import time; print('%.3f %.3f %.3f' % (time.time(), "
                     "time.clock_gettime(time.CLOCK_MONOTONIC), time.clock_gettime(time.CLOCK_BOOTTIME)))",
                     environment=clock.environment)
    expect(told.wait(), 0)
    wall, monotonic, boot = map(float, told.output.text().split())
    expect_between(wall - time.time(), 3600 - harness.PATIENCE, 3600)
    expect_between(time.monotonic() - monotonic, 0, harness.PATIENCE)
    expect_between(boottime() - boot, 0, harness.PATIENCE)


class Repeater(threading.Thread):
    """A client with ids of its own: it loses answers, and sends again what had none over another connection."""

    def __init__(self, told, daemon, number):
        super().__init__()
        self.daemon = daemon
        self.chance = random.Random(number)
        self.write = history.Writer(os.path.join(told.folder, "client.%d.%s.unix" % (number, daemon.name)))
        self.over = threading.Event()
        self.client = None

    def connect(self):
        while self.client is None:
            try:
                self.client = resp.Client(self.daemon.socket)
                self.write("open", "unix", self.daemon.name)
            except OSError:
                time.sleep(0.01)  # its daemon is being started

    def cut(self, who):
        self.write("end", who)
        self.client.close()
        self.client = None

    def say(self, line, *words):
        """Until it has the answer."""
        while True:
            self.connect()
            self.write(*line)
            try:
                self.client.send(*words)
                if self.chance.random() < 0.7:
                    return self.client.reply()
                time.sleep(self.chance.choice((0, 0.002, 0.01)))
                self.cut("self")
            except (OSError, resp.Closed):
                self.cut("peer")

    def lock(self, name, whose):
        answer = self.say(("ask", name, 2000, "x", 1000, 0, "as", whose),
                          "LOCK", name, "WAIT", 2000, "LEASE", 1000, "VALIDITY", "AS", whose)
        if isinstance(answer, list):
            self.write("grant", name, *answer)
            return answer[0]
        if answer is None:
            self.write("null", name)
        else:
            self.write("error", "LOCK", answer)
        return None

    def turn(self):
        name, whose = self.chance.choice("ab"), uuid.uuid4().hex
        token = self.lock(name, whose)
        if token is not None and self.chance.random() < 0.3:
            token = self.lock(name, whose)
        if token is not None:
            answer = self.say(("unlock", name, token, "as", whose), "UNLOCK", name, "TOKEN", token, "AS", whose)
            self.write(*(("error", "UNLOCK", answer) if isinstance(answer, resp.Error) else ("unlocked", name, answer)))

    def run(self):
        while not self.over.is_set():
            self.turn()
        self.write.close()


@harness.busy
def test_repeats(place):
    """who sends again with its id what had no answer is granted once, over cuts, hand-overs and crashes of its daemon"""
    redis = place.redis()
    daemons = [place.daemon("d%d" % number, master=redis, config=harness.BRISK).admitted() for number in (1, 2)]
    folder = os.path.join(place.path, "history")
    os.mkdir(folder)
    told = history.History(folder)
    place.ends.append(told.close)
    clients = [Repeater(told, daemons[number % 2], number) for number in range(6)]
    place.ends += [client.over.set for client in clients]
    for client in clients:
        client.start()

    def more():
        """Until each of them has something else to tell."""
        told.read()
        before = [told.readers[os.path.basename(name)].counts["grant"] for name in names]
        harness.until("all go on", lambda: told.read() or all(
            told.readers[name].counts["grant"] > one for name, one in zip(names, before)))

    names = [name for name in told.names() if name.startswith("client")]
    for daemon in daemons:
        more()
        expect(tool.call(place, daemon, "restart")[0], 0)
        more()
        daemon.kill()
        daemon.start()
    more()
    for client in clients:
        client.over.set()
    for client in clients:
        client.join(harness.PATIENCE)
        expect(client.is_alive(), False, "it does not end")
    told.read()
    counts = told.counts()
    harness.comment("%d asked, %d granted, %d answers lost" % (counts["ask"], counts["grant"], counts["end"]))
    history.nothing_found(told.judge(waived=[history.LATE]))
    expect(counts["end"] > 20, True, "answers that are lost")


@harness.busy
def test_roles(place):
    """without any fault the clients of the nemesis hold all kinds of locks, come back and count, and nothing is found"""
    stage = nemesis_stage.Stage(place, argparse.Namespace(masters=1, guard="off", log="warning", seed="roles"))
    words = ["tokens", "pushed", "cancelled", "resumed", "extended", "shared", "munlocked", "enter", "quit", "left", "bound"]

    def seen():
        stage.history.read()
        return {grant.kind for grant in stage.history.grants()} | {word for word in words if stage.history.counts()[word]}

    harness.until("all are seen", lambda: seen() == {*history.EXCLUSIVE, *history.SHARED, *history.PERMITS, *words})
    expect(stage.crowd.stop(harness.PATIENCE), [], "clients that do not end")
    history.nothing_found(stage.history.judge(waived=[history.LATE]))


def test_crash_watch(_place):
    """what a session with a grace or a bound one must not be told after a crash of its daemon is found, and nothing else"""
    def unfaithful(*lines):
        told = [(int(line.split()[0]) * history.MS, line.split()[1], line.split()[2:], line) for line in lines]
        return [line.split(": ")[0] for line in nemesis_crash.unfaithful(told)]

    come = ("10 end peer", "20 open unix", "30 resume")
    expect(unfaithful(*come, "31 resumed 1", "32 check a", "33 lost a LOST lease it is over"), [])
    expect(unfaithful(*come, "31 error RESUME ERR no session"), ["not to be resumed in time"])
    expect(unfaithful("10 end self", "1600 open unix", "1601 resume", "1602 error RESUME ERR no session"), [])
    # The second end cuts nothing off.
    expect(unfaithful("10 end self", "1600 resume", "1610 end peer", "1620 resume", "1630 error RESUME ERR no session"), [])
    expect(unfaithful(*come, "31 error RESUME DRAINING it ends"), [])
    expect(unfaithful(*come, "31 resumed 1", "33 lost a LOST expired"), ["a hold was lost"])
    expect(unfaithful("10 end peer", "20 bind", "30 bound 0", "40 check a", "50 none a"), ["not bound any more"])


def party_behind(port):
    """A process that says who it is, and connects."""
    return [sys.executable, "-c", "import socket; one = socket.create_connection(('127.0.0.1', %d)); print(one.recv(9), "
            "flush=True)" % port], {"NEMESIS_PARTY": "1"}


def test_wire_knows(place):
    """where all come to one port, a process is known by its environment, and cut off alone"""
    path = os.path.join(place.path, "echo")
    master = socket.socket(socket.AF_UNIX)
    master.bind(path)
    master.listen()
    place.sockets.append(master)
    wire = nemesis_wire.Wire(path, 3, one_port=True)
    place.ends.append(wire.close)
    wire.refuse([0, 2])
    command, environment = party_behind(wire.ports[0])
    known = place.run(*command, environment=environment)
    served = master.accept()[0]
    place.sockets.append(served)
    served.sendall(b"who")
    known.output.wait("who")
    unknown = place.run(*command)
    unknown.output.wait("ConnectionResetError|b''")


def wire_of(place):
    """A wire with two doors to an echoing master, and a connection through each."""
    path = os.path.join(place.path, "echo")
    master = socket.socket(socket.AF_UNIX)
    master.bind(path)
    master.listen()
    place.sockets.append(master)
    wire = nemesis_wire.Wire(path, 2)
    place.ends.append(wire.close)
    return wire, master


def pair_through(place, wire, admission, master):
    client = socket.create_connection(("127.0.0.1", wire.ports[admission]), harness.PATIENCE)
    served = master.accept()[0]
    client.settimeout(harness.PATIENCE)
    served.settimeout(harness.PATIENCE)
    place.sockets += [client, served]
    return client, served


def receive(endpoint, size):
    data = b""
    while len(data) < size:
        part = endpoint.recv(size - len(data))
        expect(part != b"", True, "more bytes")
        data += part
    return data


def test_wire_passes(place):
    """bytes pass both ways, dribbled and delayed ones too, and an end passes behind them"""
    wire, master = wire_of(place)
    client, served = pair_through(place, wire, 0, master)
    wire.set([0], [nemesis_wire.UP], pause=0.0001)
    wire.set([0], [nemesis_wire.DOWN], delay=0.01)
    text = bytes(range(256)) * 4
    client.sendall(text)
    expect(receive(served, len(text)), text)
    served.sendall(text)
    expect(receive(client, len(text)), text)
    served.sendall(b"last")
    served.close()
    expect(receive(client, 4), b"last")
    try:
        expect(client.recv(1), b"")
    except ConnectionResetError:
        pass


def test_wire_holds(place):
    """what is held in one direction arrives when the line heals; the other direction and other doors go on"""
    wire, master = wire_of(place)
    client, served = pair_through(place, wire, 0, master)
    other, other_served = pair_through(place, wire, 1, master)
    wire.set([0], [nemesis_wire.UP], mode="hold")
    client.sendall(b"held")
    served.sendall(b"passes")
    expect(receive(client, 6), b"passes")
    other.sendall(b"passes")
    expect(receive(other_served, 6), b"passes")
    served.settimeout(0.1)
    try:
        served.recv(1)
        raise AssertionError("it was not held")
    except TimeoutError:
        served.settimeout(harness.PATIENCE)
    wire.heal([0])
    expect(receive(served, 4), b"held")


def test_wire_drops(place):
    """what is dropped never arrives, healing resets the connection that lost bytes, and a reset one is reset"""
    wire, master = wire_of(place)
    client, served = pair_through(place, wire, 0, master)
    kept = pair_through(place, wire, 0, master)
    wire.set([0], [nemesis_wire.UP], mode="drop")
    client.sendall(b"dropped")
    served.sendall(b"passes")
    expect(receive(client, 6), b"passes")
    wire.heal([0])
    expect(served.recv(100), b"")
    wire.reset([0])
    expect(kept[1].recv(1), b"")
    wire.refuse([0])
    try:
        refused = socket.create_connection(("127.0.0.1", wire.ports[0]), harness.PATIENCE)
        place.sockets.append(refused)
        expect(refused.recv(1), b"")
    except ConnectionResetError:
        pass  # already while it connects, or after


def test_vanish(place):
    """a client that vanishes over TCP tells nobody"""
    listener = socket.create_server(("127.0.0.1", 0))
    place.sockets.append(listener)
    client = socket.create_connection(listener.getsockname())
    served = listener.accept()[0]
    place.sockets.append(served)
    try:
        client.setsockopt(socket.IPPROTO_TCP, 19, 1)
    except PermissionError as error:
        client.close()
        raise harness.Skip("a socket cannot be put into repair without CAP_NET_ADMIN") from error
    client.close()
    served.settimeout(0.1)
    try:
        served.recv(1)
        raise AssertionError("it was told")
    except TimeoutError:
        pass


if __name__ == "__main__":
    harness.main(globals())
