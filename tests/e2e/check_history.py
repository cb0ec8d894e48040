#!/usr/bin/env python3
"""The judge of the nemesis, its network and its clocks: what they must find, planted; what they must do, looked at."""

import os
import socket
import sys
import time

import clockshim
import harness
import history
import nemesis_wire
from harness import boottime, expect, expect_between
from history import MS


def written(place, clients):
    """The history of clients with these lines, times in ms."""
    folder = os.path.join(place.path, "history")
    os.makedirs(folder, exist_ok=True)
    for name in os.listdir(folder):
        os.unlink(os.path.join(folder, name))
    for client, lines in clients.items():
        write = history.Writer(os.path.join(folder, client))
        for line in lines:
            at, *words = line.split()
            write(*words, at=int(at) * MS)
        write.close()
    told = history.History(folder)
    told.read()
    told.close()
    return told


def tell(place, **clients):
    """What the judge finds in them."""
    verdict = written(place, clients).judge()
    return [len(found) for found in (verdict.overlaps, verdict.inversions, verdict.odd, verdict.late, verdict.codes)]


def hold(asked, start, valid_ms, end, token, name="a"):
    """One hold from LOCK to UNLOCK."""
    return ["%d ask %s 1000" % (asked, name), "%d grant %s %d %d" % (start, name, token, valid_ms),
            "%d unlock %s" % (end, name), "%d unlocked %s 0" % (end + 1, name)]


def test_good(place):
    """turns one after the other, a renewed hold and a lost one are no violation"""
    expect(tell(place, one=hold(1, 2, 100, 10, 1) + hold(11, 30, 100, 40, 3), two=hold(5, 11, 100, 20, 2)), [0] * 5)
    expect(tell(place, one=["1 ask a 0", "2 grant a 1 100", "50 check a", "51 valid a 100", "140 check a",
                            "150 lost a LOST expired", "160 end self"], two=hold(120, 151, 100, 160, 2)), [0] * 5)
    # Told until 101, silent since: from then on another may have it.
    expect(tell(place, one=["1 ask a 0", "2 grant a 1 100", "300 unlock a", "301 error UNLOCK LOST expired"],
                two=hold(50, 101, 100, 160, 2)), [0] * 5)
    # Granted after a wait longer than the validity: nothing was promised yet.
    expect(tell(place, one=["1 ask a 900", "800 grant a 1 100", "900 end peer"], two=hold(50, 801, 100, 860, 2)),
           [0] * 5)


def test_overlap(place):
    """two who were surely entitled at once are found, in one file after the other's end or not"""
    expect(tell(place, one=hold(1, 2, 100, 50, 1), two=hold(5, 49, 100, 60, 2)), [1, 0, 0, 0, 0])
    renewed = ["1 ask a 0", "2 grant a 1 100", "50 check a", "51 valid a 100", "160 end peer"]
    expect(tell(place, one=renewed, two=hold(120, 149, 100, 170, 2)), [1, 0, 0, 0, 0])
    expect(tell(place, one=renewed, two=hold(120, 150, 100, 170, 2)), [0] * 5)
    # A longer hold than the one between them.
    expect(tell(place, one=hold(1, 2, 1000, 900, 1), two=hold(699, 700, 10, 705, 2), three=hold(849, 850, 10, 855, 3)),
           [2, 0, 0, 0, 0])
    expect(tell(place, one=hold(1, 2, 100, 50, 1), two=hold(5, 49, 100, 60, 2, "b")), [0] * 5)


def test_abandoned(place):
    """what a TCP client leaves behind is its own until the told deadline, what a Unix client leaves is free at once"""
    for kind, found in (("tcp", 1), ("unix", 0)):
        for last in ("10 end self", "10 killed"):
            one = ["0 open " + kind, "1 ask a 0", "2 grant a 1 100", last]
            expect(tell(place, one=one, two=hold(1, 20, 100, 30, 2)), [found, 0, 0, 0, 0], kind + last)
    expect(tell(place, one=["0 open tcp", "1 ask a 0", "2 grant a 1 100", "10 end peer"],
                two=hold(1, 20, 100, 30, 2)), [0] * 5)


def test_tokens(place):
    """a token that is used again, or is smaller than one granted before it was asked for, is found"""
    expect(tell(place, one=hold(1, 2, 100, 3, 7), two=hold(4, 5, 100, 6, 7)), [0, 3, 0, 0, 0])
    expect(tell(place, one=hold(1, 2, 100, 3, 7), two=hold(4, 5, 100, 6, 6)), [0, 2, 0, 0, 0])
    # Asked for before the other was granted, but surely held after it.
    expect(tell(place, one=hold(1, 20, 100, 30, 7), two=hold(4, 35, 100, 40, 6)), [0, 1, 0, 0, 0])
    # Asked for before, and surely held never: nothing is known of the order.
    expect(tell(place, one=hold(10, 20, 100, 30, 7), two=hold(4, 35, 10, 40, 6)), [0] * 5)
    # The holds overlap, and still the order of the tokens is that of the grants.
    expect(tell(place, one=hold(1, 2, 100, 50, 7), two=hold(5, 10, 100, 60, 6)), [1, 1, 0, 0, 0])
    expect(tell(place, one=hold(1, 2, 100, 3, 7), two=hold(4, 5, 100, 6, 6, "b")), [0] * 5)


def test_replies(place):
    """answers to no request, answers of no documented kind, and answers that come far too late are found"""
    expect(tell(place, one=["1 null a"]), [0, 0, 1, 0, 0])
    expect(tell(place, one=["1 ask a 0", "2 error LOCK GUARD text", "3 ask a 0", "4 error LOCK BOGUS text"]),
           [0, 0, 1, 0, 1])
    expect(tell(place, one=["1 ask a 0", "2 error LOCK NOTHELD text"]), [0, 0, 1, 0, 0])
    expect(tell(place, one=["1 ask a 0", "2 odd LOCK 'OK'"]), [0, 0, 1, 0, 0])
    expect(tell(place, one=["1 ask a 3000", "17000 null a"]), [0] * 5)
    expect(tell(place, one=["1 ask a 3000", "18002 null a"]), [0, 0, 0, 1, 0])
    expect(tell(place, one=hold(1, 2, 100, 3, 7)[:2] + ["5 ask a 0", "6 grant a 8 100"]), [0, 0, 1, 0, 0])


def test_progress(place):
    """the first grant after a moment is found for each name and each daemon, or that there is none"""
    told = written(place, {"client.1.d1.tcp": hold(1, 5, 100, 6, 1) + hold(7, 20, 100, 21, 2, "b"),
                           "client.2.d2.unix": hold(1, 10, 100, 11, 3)})
    expect(history.first_grants(told.holds(), ["a", "b"], ["d1", "d2", "d3"], 6 * MS),
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


def pair_through(place, wire, door, master):
    client = socket.create_connection(("127.0.0.1", wire.ports[door]), harness.PATIENCE)
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
