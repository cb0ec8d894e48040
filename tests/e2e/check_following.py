#!/usr/bin/env python3
"""Who follows whom: a promoted master counts from when a majority follows it, and one that was left says nothing."""

import contextlib
import signal
import socket
import threading

import harness
import proxy
import resp
from harness import boottime, comment, expect, expect_between, expect_code, expect_not_before, until

TOKEN_MAX = 2 ** 53
# An old guard would be over long before the lease that is told is.
CONFIG = "lease: 6s\nclock-margin: 200ms\nrestart-guard: auto\n"
GUARD_S = 6 * 1.01 + 0.002 + 0.2


class Oracle:
    """A sentinel that says what the test wants, to one daemon: where the master is, with two replicas."""

    def __init__(self, place, port):
        self.place = place
        self.master = port
        self.epoch = 0
        self.streams = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        place.ends.append(self.close)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                stream = self.listener.accept()[0]
            except OSError:
                return
            self.streams.append(stream)
            threading.Thread(target=self.serve, args=(stream,), daemon=True).start()

    def serve(self, stream):
        data = b""
        with stream, contextlib.suppress(OSError):
            while True:
                more = stream.recv(65536)
                if not more:
                    return
                data += more
                request = resp.parse(data)
                while request:
                    words, at = request
                    data = data[at:]
                    stream.sendall(self.answer(words))
                    request = resp.parse(data)

    def answer(self, words):
        if words[0] == "SENTINEL":
            fields = ["ip", "127.0.0.1", "port", str(self.master), "num-slaves", "2", "config-epoch", str(self.epoch)]
            return b"*%d\r\n" % len(fields) + b"".join(b"$%d\r\n%s\r\n" % (len(one), one.encode()) for one in fields)
        if words[0] in ("SUBSCRIBE", "UNSUBSCRIBE"):
            return b"*3\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n:1\r\n" % (
                len(words[0]), words[0].lower().encode(), len(words[1]), words[1].encode())
        return b"+PONG\r\n" if words[0] == "PING" else b"+OK\r\n"

    def point(self, port):
        """There was a failover."""
        self.master = port
        self.epoch += 1
        text = b"mymaster 127.0.0.1 1 127.0.0.1 %d" % port
        for stream in self.streams:
            with contextlib.suppress(OSError):
                stream.sendall(b"*3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n$%d\r\n%s\r\n" % (len(text), text))

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for stream in self.streams:
            with contextlib.suppress(OSError):
                stream.shutdown(socket.SHUT_RDWR)

    def daemon(self, name, config=CONFIG):
        return self.place.daemon(name, config=(
            "masters:\n  - sentinel: { name: mymaster, sentinels: [127.0.0.1:%d] }\n" % self.port) + config)


class Trio:
    """Three servers, the first of which the others follow, and two daemons with an oracle each."""

    def __init__(self, place):
        self.place = place
        self.ports = [harness.free_port() for _ in range(3)]
        self.servers = [place.redis("r%d" % n, options=[
            "--port", str(port), "--bind", "127.0.0.1", "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period",
            "1"]) for n, port in enumerate(self.ports)]
        self.follow(1, 0)
        self.follow(2, 0)
        self.synced(0, 2)
        self.oracles = [Oracle(place, self.ports[0]) for _ in range(2)]
        self.daemons = [oracle.daemon("d%d" % n) for n, oracle in enumerate(self.oracles, 1)]
        self.clients = [daemon.admitted().client() for daemon in self.daemons]

    def follow(self, server, master):
        expect(self.servers[server]("REPLICAOF", "127.0.0.1", self.ports[master]), "OK")

    def synced(self, master, count):
        """So many acknowledge promptly: one that was just synchronised does not at first."""
        with resp.Client(self.servers[master].socket) as client:
            for _ in range(3):
                expect(client("SET", "begun", "1"), "OK")
                while client("WAIT", count, 10000) < count:
                    pass

    def add_two(self, master):
        """New servers, which follow this one."""
        for number in (3, 4):
            port = harness.free_port()
            self.ports.append(port)
            self.servers.append(self.place.redis("r%d" % number, options=[
                "--port", str(port), "--bind", "127.0.0.1", "--replicaof", "127.0.0.1 %d" % self.ports[master]]))
        until("they follow", lambda: all(
            "master_link_status:up" in server("INFO", "replication") for server in self.servers[-2:]))

    def promote(self, server):
        """It is the master now, for the second daemon; nobody follows it yet. Where its log goes on."""
        expect(self.servers[server]("REPLICAOF", "NO", "ONE"), "OK")
        mark = self.daemons[1].output.mark()
        self.oracles[1].point(self.ports[server])
        return mark


def test_nobody_follows(place):
    """a promoted master that nobody follows is not believed, and its guard begins when a majority follows it"""
    trio = Trio(place)
    one, two = trio.clients
    first, second = trio.daemons
    one("SESSION", "ONLOSS", "NEXT")
    token = one("LOCK", "a", "WAIT", 0)
    expect_between(token, 1, TOKEN_MAX)
    two.send("LOCK", "a", "WAIT", 90000)
    second.queued("a")
    mark = trio.promote(1)
    promoted = second.output.wait(r"master\.(refused|guarded) ", mark)[0]
    # The old master and the other replica are a majority for as long as they are left to it.
    until("a guard from when it was seen is over", lambda: (
        expect_between(one("CHECK", "a"), 1, 6000), boottime() > promoted + GUARD_S + 1)[1])
    refusal = second.client()("LOCK", "b", "WAIT", 0)
    asked = boottime()
    told = asked + one("CHECK", "a") / 1000
    trio.follow(2, 1)
    followed = boottime()
    expect_between(two.reply(), token + 1, TOKEN_MAX)
    granted = boottime()
    comment("told until %.1f s after the replica was pointed to it, granted after %.1f s" % (
        told - followed, granted - followed))
    expect_not_before(granted, told, "the next holder", harness.WHOLE_MS)
    expect_not_before(granted, followed + GUARD_S - 0.002, "the end of the guard")
    expect_code(one("CHECK", "a"), "LOST")
    expect_code(refusal, "NOMASTER")
    expect("NOREPLICAS 0 of 2 replicas acknowledge, at least 1 must" in refusal, True, refusal)


def test_new_replicas(place):
    """new replicas of a promoted master stand for none that the old one has kept: nothing is granted until one of these follows"""
    trio = Trio(place)
    one, two = trio.clients
    second = trio.daemons[1]
    one("SESSION", "ONLOSS", "NEXT")
    token = one("LOCK", "a", "WAIT", 0)
    expect_between(token, 1, TOKEN_MAX)
    two.send("LOCK", "a", "WAIT", 90000)
    second.queued("a")
    mark = trio.promote(1)
    second.output.wait(r"master\.refused .*NOREPLICAS 0 of 2", mark)
    # Three of five servers of today, and two of the three before.
    trio.add_two(1)
    second.output.wait(r"NOREPLICAS 0 of 2 .*2 more count when 127\.0\.0\.1:\d+ follows, or after MASTERS FORGET", mark)
    followed = boottime()
    until("a guard from when these followed is over", lambda: (
        expect_between(one("CHECK", "a"), 1, 6000), boottime() > followed + GUARD_S + 1)[1])
    expect_code(second.client()("LOCK", "b", "WAIT", 0), "NOMASTER")
    asked = boottime()
    told = asked + one("CHECK", "a") / 1000
    trio.follow(2, 1)
    expect_between(two.reply(), token + 1, TOKEN_MAX)
    expect_not_before(boottime(), told, "the next holder", harness.WHOLE_MS)
    expect_code(one("CHECK", "a"), "LOST")
    # The old master and the new replicas: all others follow, so that they are members now.
    trio.follow(0, 1)
    until("the new ones are members", lambda: len(second.info()["master0_group"].split()) == 5)


def test_new_replicas_of_the_old(place):
    """new replicas of the old master stand for none that have left it: its holder is told that the lock is lost before another has it"""
    trio = Trio(place)
    one, two = trio.clients
    one("SESSION", "ONLOSS", "NEXT")
    token = one("LOCK", "a", "WAIT", 0)
    expect_between(token, 1, TOKEN_MAX)
    two.send("LOCK", "a", "WAIT", 90000)
    trio.daemons[1].queued("a")
    trio.promote(1)
    trio.follow(2, 1)
    trio.add_two(0)
    expect_between(two.reply(), token + 1, TOKEN_MAX)
    expect_code(one("CHECK", "a"), "LOST")
    answer = trio.daemons[0].client()("LOCK", "b", "WAIT", 0)
    expect(isinstance(answer, resp.Error) and "NOREPLICAS" in answer, True, repr(answer))


def test_admission_alone(place):
    """an admission that no replica has is not believed by another daemon, which comes later"""
    trio = Trio(place)
    second = trio.daemons[1]
    mark = trio.promote(1)
    second.output.wait(r"master\.refused .*NOREPLICAS", mark)
    # As a daemon would have written it that did not wait for anybody.
    expect(trio.servers[1]("HSET", "holdfast:node", "admitted", "1"), 0)
    late = trio.oracles[1].daemon("d3")
    late.output.wait(r"master\.refused .*NOREPLICAS")
    expect_code(late.client()("LOCK", "a", "WAIT", 0), "NOMASTER")
    expect("master.admitted" in late.output.text(), False)
    trio.follow(2, 1)
    late.output.wait(r"master\.admitted")
    late.admitted()


def test_latch_set_twice(place):
    """a master that its replicas have left makes no latch that is made elsewhere, and says of none that it is open"""
    trio = Trio(place)
    one, two = trio.clients
    other = trio.daemons[0].client()
    expect(one("LATCH", "old", "SET", 1), 1)
    expect(two("LATCH", "old", "COUNT"), 1)
    mark = trio.promote(1)
    trio.follow(2, 1)
    answer = one("LATCH", "new", "SET", 1)
    expect(isinstance(answer, resp.Error) and answer.code in ("NOMASTER", "MASTERERR"), True, repr(answer))
    trio.daemons[1].output.wait(r"master\.admitted", mark)
    expect(two("LATCH", "new", "SET", 1), 1)
    # Its own word is worth nothing, whatever stands there.
    expect(trio.servers[0]("HSET", "holdfast:{old}:l", "done", "1"), 0)
    for words in (("COUNT",), ("DOWN",), ("AWAIT", "WAIT", 0)):
        answer = other("LATCH", "old", *words)
        expect(isinstance(answer, resp.Error) and answer.code in ("NOMASTER", "MASTERERR"), True, repr(answer))
    expect("NOREPLICAS" in answer, True, answer)
    expect_code(two("LATCH", "old", "COUNT"), "LOST")


def replid(server):
    return next(line.split(":")[1] for line in server("INFO", "replication").splitlines()
                if line.startswith("master_replid:"))


def stored(server):
    until("the id is stored", lambda: server("HGET", "holdfast:node", "replid") == replid(server))
    return server("HGET", "holdfast:node", "incarnation")


def test_first_replica(place):
    """the first replica of a master, and the end of its backlog, are no loss of memory: no guard; a master that was a replica is guarded"""
    options = ["--port", str(harness.free_port()), "--repl-diskless-sync-delay", "0"]
    master = place.redis("m", options=options)
    daemon = place.daemon("d1", master=master, config="lease: 2s\nclock-margin: 200ms\nrestart-guard: auto\n").admitted()
    client = daemon.client()
    token = client("LOCK", "a", "WAIT", 0)
    memory = stored(master)
    seen = [replid(master)]
    replica = place.redis("r", options=["--replicaof", "127.0.0.1 " + options[1]])
    until("it follows", lambda: "master_link_status:up" in replica("INFO", "replication"))
    expect(stored(master), memory, "the memory after the first replica")
    seen.append(replid(master))
    master("CONFIG", "SET", "repl-backlog-ttl", 1)
    replica.kill()
    until("the backlog is gone", lambda: "repl_backlog_active:0" in master("INFO", "replication"))
    expect(stored(master), memory, "the memory after the end of the backlog")
    seen.append(replid(master))
    expect(len(set(seen)), 3, "replication ids")
    expect_between(client("LOCK", "b", "WAIT", 0), token + 1, TOKEN_MAX)
    expect(daemon.output.text().count("master.guarded"), 1, "guards")
    mark = daemon.output.mark()
    # Its own replica, which has all data and nothing newer, is its master for a moment.
    replica.restart()
    until("it follows", lambda: "master_link_status:up" in replica("INFO", "replication"))
    replica("REPLICAOF", "NO", "ONE")
    replica("CONFIG", "SET", "port", harness.free_port())
    master("REPLICAOF", "127.0.0.1", replica("CONFIG", "GET", "port")[1])
    until("it has the data", lambda: "master_link_status:up" in master("INFO", "replication"))
    master("REPLICAOF", "NO", "ONE")
    daemon.output.wait("master.guarded", mark)
    expect(stored(master) == memory, False, "another memory")


def failed_over(place, count):
    """Masters behind names, the last of which leads to its replica from now on; the old one is a replica of that."""
    ports = [harness.free_port() for _ in range(count + 1)]
    servers = [place.redis("s%d" % n, options=["--port", str(port), "--repl-diskless-sync-delay", "0"])
               for n, port in enumerate(ports)]
    old, new = servers[-2:]
    new("REPLICAOF", "127.0.0.1", ports[-2])
    until("it follows", lambda: "master_link_status:up" in new("INFO", "replication"))
    names = [proxy.Proxy(server.socket) for server in servers[:count]]
    place.ends += [name.close for name in names]
    daemon = place.daemon("d1", master=names, config="lease: 2s\nclock-margin: 200ms\nrestart-guard: auto\n").admitted()
    until("all are in use", lambda: all(daemon.info()["master%d_state" % n] == "admitted" for n in range(count)))
    names[-1].target = new.socket
    new("REPLICAOF", "NO", "ONE")
    old("REPLICAOF", "127.0.0.1", ports[-1])
    return daemon, new


def in_use_again(daemon, new):
    until("its inbox is there", lambda: new("PUBSUB", "CHANNELS", "holdfast:inbox:*"))
    last = int(daemon.info()["masters"]) - 1
    until("it is in use", lambda: daemon.info()["master%d_state" % last] == "admitted")


def test_name_leads_elsewhere(place):
    """the only master fails over behind its name, and no connection ends: calls and the inbox go to the new master, which is guarded"""
    daemon, new = failed_over(place, 1)
    daemon.output.wait("master.refused.*is a replica")
    expect_between(daemon.client()("LOCK", "a", "WAIT", 45000), 1, TOKEN_MAX)
    in_use_again(daemon, new)
    expect(daemon.output.text().count("master.guarded"), 2, "guards")


def test_one_of_three_names_leads_elsewhere(place):
    """one of three masters fails over behind its name: locks go on, and it is in use again"""
    daemon, new = failed_over(place, 3)
    daemon.output.wait("master.refused.*is a replica")
    expect_between(daemon.client()("LOCK", "a", "WAIT", 0), 1, TOKEN_MAX)
    in_use_again(daemon, new)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    harness.main(globals())
