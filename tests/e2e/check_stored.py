#!/usr/bin/env python3
"""Connections that outlive a crash: a service manager keeps their sockets, and the next process goes on with those at rest.

  CRASHES=100 tests/e2e/check_stored.py [TEST...]     so many kills in a row; without it a few
"""

import os
import random
import socket

import errands
import harness
import resp
from errands import LONG_MS, granted, held
from harness import expect, expect_between, expect_code, until
from manager import Manager

CRASHES = int(os.environ.get("CRASHES", "5"))
BRISK = harness.BRISK


class Stage:
    """A daemon under a service manager."""

    def __init__(self, place, most=1024, config="", **options):
        self.place = place
        self.redis = place.redis()
        self.daemon = place.idle_daemon(master=self.redis, config=config, **options)
        self.manager = Manager(self.daemon, most)
        self.starts = 0
        self.start()

    def durable(self, kept=True, **options):
        """A client of a session with a grace; kept: its connection can outlive a crash."""
        client = self.place.keep(self.daemon.client(**options))
        before = self.count("clients_kept")
        client.secret = client("SESSION", "GRACE", LONG_MS)
        if kept:
            # The service manager may be busy for a moment.
            until("it is kept", lambda: self.count("clients_kept") > before)
        return client

    def kept(self):
        """How many connections the service manager keeps."""
        self.manager.settle()
        with self.manager.lock:
            return len([name for name, _ in self.manager.kept if name.startswith("hf")])

    def kill(self, rest=True):
        """rest: the turn in which the latest answer was written is over."""
        if rest:
            self.daemon.info()
        self.manager.kill()

    def start(self):
        """Returns when locks can be had. What a crash leaves of plain sessions is withheld: so it is a new name."""
        self.manager.start()
        self.starts += 1
        with self.daemon.client() as client:
            granted(client("LOCK", "started%d" % self.starts, "WAIT", LONG_MS))

    def crash(self, rest=True):
        self.kill(rest)
        self.start()

    def count(self, field):
        return int(self.daemon.info()[field])


def idle(client):
    """The connection is there, and nothing has come by it."""
    return client.silent(0.0)


def test_idle(place):
    """a client at rest notices nothing of kill -9, of several in a row: its connection, session, hold and name stay"""
    stage = Stage(place)
    client = stage.durable()
    expect(client("CLIENT", "SETNAME", "worker"), "OK")
    token = granted(client("LOCK", "a"))
    number, session = client("CLIENT", "ID"), client("SESSION", "ID")
    for crash in range(3):
        stage.crash()
        expect(stage.count("recovered_connections"), 1)
        expect((client("CLIENT", "ID"), client("SESSION", "ID"), client("CLIENT", "GETNAME")), (number, session, "worker"))
        held(client, "a", token)
        name = "new%d" % crash
        granted(client("LOCK", name, "WAIT", LONG_MS))
        expect(stage.daemon.client()("LOCK", "a", "WAIT", 0), None)
    stage.daemon.output.wait("ledger.connections .*returned=1 .*closed=0")
    expect(client("UNLOCK", "a"), 0)
    expect((stage.kept(), stage.count("clients_kept")), (1, 1))


def test_kinds_of_connections(place):
    """TCP and Unix, RESP2 and RESP3, several of one session, bound to a process: each goes on"""
    stage = Stage(place, tcp=True)
    clients = [stage.durable(form=form, tcp=tcp) for form in (2, 3) for tcp in (False, True)]
    joined = stage.place.keep(stage.daemon.client())
    expect(joined("SESSION", "JOIN", clients[0].secret), 0)
    bound = stage.place.keep(stage.daemon.client())
    resp.socket.send_fds(bound.socket, [b"SESSION BIND\r\n"], [place.run("sleep", "100000").pidfd])
    expect(bound.reply(), 0)
    tokens = [granted(client("LOCK", "n%d" % number)) for number, client in enumerate(clients + [bound])]
    until("all are kept", lambda: stage.count("clients_kept") == 6)
    stage.crash()
    for number, client in enumerate(clients + [bound]):
        held(client, "n%d" % number, tokens[number])
    held(joined, "n0", tokens[0])
    expect(isinstance(clients[2]("HELLO", 3), dict), True)
    expect(stage.count("recovered_connections"), 6)


def test_requests_in_the_socket(place):
    """what a client sends while the daemon is away is served by the next one, once"""
    stage = Stage(place)
    client = stage.durable()
    token = granted(client("LOCK", "a", "OWNER", "tag"))
    stage.kill()
    client.send("LOCK", "a", "OWNER", "tag")
    client.send("ECHO", "hello")
    client.send("UNLOCK", "a", "OWNER", "tag")
    stage.start()
    expect([client.reply() for _ in range(3)], [token, "hello", 1])
    expect(client("UNLOCK", "a", "OWNER", "tag"), 0)


def test_under_way(place):
    """a connection with a request under way ends: one that waits, one that is promised a push, one with half a request"""
    stage = Stage(place)
    holder = stage.durable()
    token = granted(holder("LOCK", "a"))
    waiting, promised, half, events = (stage.durable(form=3) for _ in range(4))
    waiting.send("LOCK", "a")
    expect(promised("LOCK", "a", "ASYNC", "x"), "QUEUED")
    stage.daemon.queued("a", 2)
    half.send_raw(b"LOCK ha")
    read = stage.count("net_input_bytes")
    half.send_raw(b"l")
    until("the half is read", lambda: stage.count("net_input_bytes") > read)
    expect(events("EVENTS"), "OK")
    stage.crash()
    for client in (waiting, promised, half):
        expect(client.closed(), True)
        expect(client.data, b"")
    expect(events.closed(), True)
    held(holder, "a", token)
    expect((stage.count("recovered_connections"), stage.kept()), (1, 1))
    # Each comes back as ever.
    back = stage.daemon.client()
    expect(back("SESSION", "RESUME", waiting.secret), 0)


def test_no_longer_under_way(place):
    """a connection that waited goes on if its answer has come before; so does one whose promise was kept or cancelled elsewhere"""
    stage = Stage(place)
    holder = stage.durable()
    token = granted(holder("LOCK", "a"))
    waiting, promised, half, cancelled = (stage.durable(form=3) for _ in range(4))
    waiting.send("LOCK", "a")
    stage.daemon.queued("a", 1)
    expect(promised("LOCK", "b", "ASYNC", "x"), "QUEUED")
    expect(promised.push()[:2], ["grant", "x"])
    half.send_raw(b"LOCK ha")
    half.send_raw(b"lf\r\n")
    granted(half.reply())
    expect(cancelled("LOCK", "a", "ASYNC", "y"), "QUEUED")
    expect(cancelled("CANCEL", "y"), 1)
    expect(holder("UNLOCK", "a"), 0)
    expect_between(waiting.reply(), token + 1, 2 ** 53)
    stage.crash()
    for client in (holder, waiting, promised, half, cancelled):
        expect(client("PING"), "PONG")
    expect(stage.count("recovered_connections"), 5)


def lost_meanwhile(stage, *clients):
    """Their leases run out while the daemon is away."""
    for number, client in enumerate(clients):
        granted(client("LOCK", "lost%d" % number))
    stage.kill()
    for number in range(len(clients)):
        until("the lease is over", lambda: stage.redis("EXISTS", "holdfast:{lost%d}" % number) == 0)
    stage.start()


def test_losses(place):
    """a loss while the daemon was away is told as ONLOSS says, though the client has not asked"""
    stage = Stage(place, config=BRISK)
    pushed, closed, later = (stage.durable(form=3) for _ in range(3))
    expect(pushed("SESSION", "ONLOSS", "PUSH"), "OK")
    expect(later("SESSION", "ONLOSS", "NEXT"), "OK")
    lost_meanwhile(stage, pushed, closed, later)
    push = pushed.push()
    expect((push[:2], push[4].split()[0]), (["lost", "lost0"], "expired"))
    expect(closed.closed(), True)
    expect(closed.data, b"")
    expect_code(later("CHECK", "lost2"), "LOST")
    # The next loss is pushed again.
    token = granted(pushed("LOCK", "again"))
    with stage.daemon.client() as admin:
        expect_between(admin("BREAK", "again", "TOKEN", token), 0, harness.LEASE_MS)
    expect(pushed.push()[:2], ["lost", "again"])
    stage.crash()
    expect(idle(pushed), True)
    expect(pushed("PING"), "PONG")


def test_not_kept(place):
    """a connection of a session that is not durable is not kept; nor one that has ended, or whose session is not any more"""
    stage = Stage(place)
    plain = stage.durable()
    expect(stage.kept(), 1)
    plain("SESSION", "GRACE", 0)
    expect(stage.kept(), 0)
    quitter, gone, reset = (stage.durable() for _ in range(3))
    expect(stage.kept(), 3)
    expect(quitter("QUIT"), "OK")
    expect(quitter.closed(), True)
    expect(reset("RESET"), "RESET")
    gone.close()
    until("all have left", lambda: stage.count("clients_kept") == 0)
    expect(stage.kept(), 0)
    other = stage.durable()
    expect((stage.kept(), other("PING")), (1, "PONG"))
    stage.kill()
    expect(plain.closed(), True)
    expect(reset.closed(), True)
    stage.start()
    expect(idle(other), True)
    expect(stage.count("recovered_connections"), 1)


def test_ends_are_seen(place):
    """a connection that the daemon ends is over at once, though the service manager has it open as well"""
    stage = Stage(place)
    client, killed = stage.durable(), stage.durable()
    with stage.manager.lock:  # it neither takes nor drops anything meanwhile
        admin = stage.daemon.client()
        expect(admin("CLIENT", "KILL", "ID", killed("CLIENT", "ID")), 1)
        expect(killed.closed(), True)
        back = stage.place.keep(stage.daemon.client())
        expect(back("SESSION", "RESUME", client.secret), 0)
        expect(client.closed(), True)
    until("one is kept", lambda: stage.kept() == 1)


def test_taken_over(place):
    """after RESUME by another connection it is that one which goes on"""
    stage = Stage(place)
    first = stage.durable()
    token = granted(first("LOCK", "a"))
    second = stage.place.keep(stage.daemon.client())
    expect(second("SESSION", "RESUME", first.secret), 1)
    expect(first.closed(), True)
    stage.crash()
    held(second, "a", token)
    expect(stage.count("recovered_connections"), 1)


def test_client_ends_meanwhile(place):
    """a client that goes while the daemon is away is gone: its grace begins"""
    stage = Stage(place, config=BRISK)
    client = stage.place.keep(stage.daemon.client())
    client("SESSION", "GRACE", 1000)
    token = granted(client("LOCK", "a"))
    stage.kill()
    client.close()
    stage.start()
    expect_between(stage.daemon.client()("LOCK", "a", "WAIT", 45000), token + 1, 2 ** 53)
    until("nothing is kept", lambda: stage.kept() == 0)


def test_hand_overs(place):
    """hand-overs by either way and crashes in turn: the connection goes on over all of them, also one that waits over the first"""
    stage = Stage(place)
    client, waiting = stage.durable(), stage.durable()
    token = granted(client("LOCK", "a"))
    waiting.send("LOCK", "a")
    stage.daemon.queued("a", 1)
    for way in (stage.manager.restart, lambda: errands.hand_over(stage.daemon)) * 2:
        way()
        held(client, "a", token)
        expect(idle(waiting), True)
        until("both are kept", lambda: stage.kept() == 2)
    expect(client("UNLOCK", "a"), 0)
    token = granted(waiting.reply())
    for way in (stage.crash, stage.manager.restart, stage.crash, lambda: errands.hand_over(stage.daemon), stage.crash):
        way()
        held(waiting, "a", token)
        expect(client("LOCK", "a", "WAIT", 0), None)
        until("both are kept", lambda: stage.kept() == 2)
    client.close()
    waiting.close()
    until("nothing is kept", lambda: stage.kept() == 0)


def test_state_is_refused(place):
    """connections of a state that cannot be used end, or go on from the ledger"""
    stage = Stage(place)
    client = stage.durable()
    token = granted(client("LOCK", "a"))
    expect(stage.daemon.terminate(), 0)
    stage.manager.settle()
    with stage.manager.lock:
        for name, fd in stage.manager.kept:
            if name == "holdfast-state":
                os.pwrite(fd, b"spoilt", 100)
    stage.start()
    stage.daemon.output.wait("handover.refused")
    held(client, "a", token)


def test_stop(place):
    """a stop ends the connections before the service manager closes what it keeps, and leaves nothing with it"""
    stage = Stage(place)
    client = stage.durable()
    with socket.socket(socket.AF_UNIX) as signal:
        signal.connect(stage.daemon.socket)
        signal.sendall(b"DRAIN\r\n")
        expect(client.closed(), True)
        stage.daemon.process.wait()
    expect(stage.kept(), 0)
    stage.start()
    expect(stage.count("recovered_connections"), 0)


def refused(stage, clients):
    """The next process ends what it finds."""
    stage.start()
    for client in clients:
        expect(client.closed(), True)
        expect(client.data, b"")
        expect_code(stage.daemon.client()("SESSION", "RESUME", client.secret), "ERR")
    until("nothing is kept", lambda: stage.kept() == 0)
    fresh = stage.durable()
    stage.crash()
    expect(fresh("PING"), "PONG")


def test_ledger_refused(place):
    """without a ledger that can be used no connection goes on"""
    stage = Stage(place, config=BRISK)
    clients = [stage.durable() for _ in range(5)]
    stage.kill()
    with open(stage.daemon.socket + ".ledger", "r+b") as stream:
        stream.write(b"holdfast ledger 2\n")
    refused(stage, clients)


def test_ledger_is_gone(place):
    """the same if there is none"""
    stage = Stage(place, config=BRISK)
    clients = [stage.durable() for _ in range(5)]
    stage.kill()
    os.unlink(stage.daemon.socket + ".ledger")
    refused(stage, clients)


def test_ledger_fails(place):
    """a daemon without room for a ledger keeps no connection; when it has one again, it keeps those that are there"""
    folder = os.path.join(place.path, "missing")
    stage = Stage(place, config=BRISK + "ledger: %s/below/ledger\n" % folder)
    client = stage.durable(kept=False)
    expect((stage.kept(), stage.count("ledger_kept")), (0, 0))
    os.mkdir(folder)
    until("there is a ledger", lambda: stage.count("ledger_kept") == 1)
    token = granted(client("LOCK", "a"))
    expect(stage.kept(), 1)
    stage.crash()
    held(client, "a", token)


def test_off(place):
    """with `ledger: off` nothing is kept"""
    stage = Stage(place, config=BRISK + "ledger: off\n")
    client = stage.durable(kept=False)
    expect(stage.kept(), 0)
    stage.kill()
    expect(client.closed(), True)
    stage.start()


def test_too_many(place):
    """connections beyond what the service manager keeps are not kept, and those that it keeps go on"""
    stage = Stage(place, most=8)
    clients = [stage.durable(kept=number < 8) for number in range(12)]
    expect((stage.kept(), stage.count("clients_kept")), (8, 8))
    stage.kill()
    for client in clients[8:]:
        expect(client.closed(), True)
    stage.start()
    for client in clients[:8]:
        expect(client("PING"), "PONG")
    clients[0].close()
    until("there is room", lambda: stage.count("clients_kept") == 7)
    late = stage.durable()
    stage.crash()
    expect(late("PING"), "PONG")


def test_strangers(place):
    """descriptors that the ledger knows nothing of are closed and given back; so is one at the place of another"""
    stage = Stage(place)
    client, other = stage.durable(), stage.durable()
    ours, theirs = socket.socketpair()
    stage.kill()
    with stage.manager.lock:
        kept = stage.manager.kept
        expect(len(kept), 2)
        stage.manager.kept = [(kept[0][0], kept[1][1]), (kept[1][0], kept[0][1]), ("hf2a", os.dup(theirs.fileno()))]
    theirs.close()
    stage.start()
    ours.settimeout(harness.PATIENCE)
    expect(ours.recv(1), b"")
    for one in (client, other):
        expect(one("PING"), "PONG")
    until("they are given back", lambda: stage.kept() == 2)


def test_login(place):
    """a login goes on with its connection, unless its user has another password now"""
    path = os.path.join(place.path, "password")

    def set_password(password):
        with open(path, "w", encoding="ascii") as stream:
            stream.write(password + "\n")
        os.chmod(path, 0o600)

    set_password("one-secret")
    stage = Stage(place, config="users: [ { name: alice, password-file: %s } ]\n" % path, tcp=True)

    def login(password):
        client = place.keep(resp.Client(stage.daemon.tcp))
        expect(client("AUTH", "alice", password), "OK")
        client.secret = client("SESSION", "GRACE", LONG_MS)
        return client

    client = login("one-secret")
    token = granted(client("LOCK", "a"))
    stage.crash()
    held(client, "a", token)
    stage.kill()
    set_password("two-secret")
    stage.start()
    expect(client.closed(), True)
    with open(stage.daemon.socket + ".ledger", "rb") as stream:
        text = stream.read()
    expect(b"secret" in text, False)
    back = login("two-secret")
    expect(back("SESSION", "RESUME", client.secret), 1)
    held(back, "a", token)


def test_renamed(place):
    """the ledger is written anew while connections are kept: they go on after it"""
    stage = Stage(place)
    clients = [stage.durable() for _ in range(20)]
    begun = stage.count("ledger_begun")
    worker = stage.durable()
    number = 0
    while stage.count("ledger_begun") == begun:
        for _ in range(500):
            number += 1
            worker.send("CLIENT", "SETNAME", "worker%d" % number)
        for _ in range(500):
            expect(worker.reply(), "OK")
    stage.crash()
    for client in clients:
        expect(client("PING"), "PONG")
    expect(worker("CLIENT", "GETNAME"), "worker%d" % number)


def test_again_and_again(place):
    """crashes while clients lock and unlock: each request is answered once, or its connection ends"""
    stage = Stage(place)
    dice = random.Random(1)
    workers = [stage.durable() for _ in range(8)]
    sitters = [stage.durable() for _ in range(8)]
    tokens = [granted(client("LOCK", "sit%d" % number)) for number, client in enumerate(sitters)]
    ended = went_on = 0

    def back(client):
        client.connect()
        expect_between(client("SESSION", "RESUME", client.secret), 0, 1)

    for crash in range(CRASHES):
        # A name that was given back is held by the dead daemon until its lease is over.
        names = ["work%d.%d" % (crash, number) for number in range(len(workers))]
        pending = []
        stage.daemon.info()  # the turn in which the latest answer was written is over
        for number, client in enumerate(workers):
            client.send("LOCK", names[number])
            pending.append(client)
        if dice.random() < 0.5:
            for client in pending:
                granted(client.reply())
            pending = []
            for number, client in enumerate(workers):
                client.send("UNLOCK", names[number])
                pending.append(client)
        stage.crash(rest=False)
        for number, client in enumerate(workers):
            try:
                answer = client.reply()
                expect(isinstance(answer, int), True, answer)
                went_on += 1
            except resp.Closed:
                expect(client.data, b"")
                ended += 1
                back(client)
            # An answer may have come from the dead daemon, and the end of the connection after it.
            try:
                client("UNLOCK", names[number])
            except (resp.Closed, BrokenPipeError):
                back(client)
                client("UNLOCK", names[number])
            expect(client("CHECK", names[number]), None)
        for number, client in enumerate(sitters):
            held(client, "sit%d" % number, tokens[number])
    harness.comment("%d requests were answered over a crash, %d connections ended" % (went_on, ended))


if __name__ == "__main__":
    harness.main(globals())
