#!/usr/bin/env python3
"""Sessions that outlive a connection, sessions that have to be heard of, and locks that are withheld for longer.

Clients whose connection is cut reach the daemon through a proxy, which resets it, or lets nothing pass any more. That
the daemon knows is told by its log.
"""

import os
import re
import subprocess
import sys

import harness
import proxy
import resp
from harness import BRISK, boottime, expect, expect_between, expect_code, expect_not_before

# Longer than any test; for graces and heartbeats that must not end.
LONG_MS = 300000
TOKEN_MAX = 2 ** 53


class World:
    """A daemon on a real master, and a way to it over TCP that can be cut."""

    def __init__(self, place, config=""):
        self.place = place
        self.redis = place.redis()
        self.daemon = place.daemon(master=self.redis, config=config, tcp=True).admitted()
        self.link = proxy.Proxy(self.daemon.tcp)
        place.ends.append(self.link.close)

    def client(self, form=2):
        return self.daemon.client(form)

    def remote(self, form=2):
        """A client behind the proxy."""
        return self.place.keep(resp.Client(self.link.address, form))

    def cut(self):
        """All remote clients lose their connections, and the daemon knows."""
        mark = self.daemon.output.mark()
        self.link.reset()
        self.daemon.output.wait(r"session\.detached", mark)

    def session(self, number):
        """What SESSIONS says of this one; None: nothing."""
        with resp.Client(self.daemon.socket, 3) as client:
            for session in client("SESSIONS")[1]:
                if session["session"] == number:
                    return session
        return None

    def locks(self):
        """How many LOCKs the daemon has been sent."""
        with resp.Client(self.daemon.socket) as client:
            return int(re.search(r"cmdstat_lock:calls=(\d+)", client("INFO", "commandstats")).group(1))

    def holder(self, name):
        with resp.Client(self.daemon.socket, 3) as client:
            return client("INSPECT", name)["holder"]


def with_grace(client, ms=LONG_MS):
    """Asks for a grace; the secret."""
    secret = client("SESSION", "GRACE", ms)
    expect(len(secret), 48, "characters of a secret")
    return secret


def test_resume(place):
    """a client whose connection is reset resumes its session, and holds what it held, with the same token"""
    world = World(place)
    holder, waiter = world.remote(), world.client()
    secret = with_grace(holder)
    token = holder("LOCK", "a", "WAIT", 0)
    number = holder("SESSION", "ID")
    holder("CLIENT", "SETNAME", "worker")
    waiter.send("LOCK", "a")
    world.daemon.queued("a")
    world.cut()
    expect(world.client()("LOCK", "a", "WAIT", 0), None)
    seen = world.session(number)
    expect((seen["connections"], seen["grants"], seen["grace_ms"], seen["client"]), (0, 1, LONG_MS, "worker"))
    expect_between(seen["left_ms"], 1, LONG_MS)
    again = world.remote()
    expect(again("SESSION", "RESUME", secret), 1)
    expect(again("SESSION", "ID"), number)
    expect(world.session(number)["left_ms"], -1)
    expect_between(again("CHECK", "a", "TOKEN", token), 1, harness.LEASE_MS)
    expect(again("UNLOCK", "a", "TOKEN", token), 0)
    expect_between(waiter.reply(), token + 1, TOKEN_MAX)


def test_unlimited_cuts(place):
    """a session survives one lost connection after the other"""
    world = World(place)
    client = world.remote()
    secret = with_grace(client)
    token = client("LOCK", "a", "WAIT", 0)
    for _ in range(10):
        world.cut()
        client = world.remote()
        expect(client("SESSION", "RESUME", secret), 1)
    expect(client("UNLOCK", "a", "TOKEN", token), 0)


def test_end_of_grace(place):
    """without anybody who resumes it, a session ends with its grace, and its lock passes on"""
    world = World(place, BRISK)
    holder, waiter = world.remote(), world.client()
    # Longer than the lease, so that it has to be renewed without anybody there.
    secret = with_grace(holder, 3000)
    token = holder("LOCK", "a", "WAIT", 0)
    waiter.send("LOCK", "a", "WAIT", 45000)
    world.daemon.queued("a")
    cut = boottime()
    world.cut()
    expect_between(waiter.reply(), token + 1, TOKEN_MAX)
    expect_not_before(boottime(), cut + 3, "the next holder")
    world.daemon.output.wait(r"session\.expired")
    expect_code(world.client()("SESSION", "RESUME", secret), "ERR")


def test_told_before_the_cut(place):
    """a grace that is shorter than what the holder was told does not shorten that"""
    world = World(place, BRISK)
    holder, waiter = world.remote(), world.client()
    with_grace(holder, 1)
    asked = boottime()
    token, told = holder("LOCK", "a", "WAIT", 0, "VALIDITY")
    waiter.send("LOCK", "a", "WAIT", 45000)
    world.daemon.queued("a")
    world.cut()
    expect_between(waiter.reply(), token + 1, TOKEN_MAX)
    expect_not_before(boottime(), asked + told / 1000, "the next holder")


def test_place_in_the_queue(place):
    """a client that waited when its connection was lost repeats its LOCK, and has its old place"""
    world = World(place)
    holder, first, second = world.client(), world.remote(), world.client()
    token = holder("LOCK", "a", "WAIT", 0)
    secret = with_grace(first)
    first.send("LOCK", "a")
    world.daemon.queued("a")
    second.send("LOCK", "a")
    world.daemon.queued("a", 2)
    world.cut()
    again = world.remote()
    expect(again("SESSION", "RESUME", secret), 0)
    locks = world.locks()
    again.send("LOCK", "a")
    harness.until("the LOCK has been repeated", lambda: world.locks() == locks + 1)
    holder("UNLOCK", "a")
    expect_between(again.reply(), token + 1, TOKEN_MAX)
    expect(second.silent(0.05), True)
    again("UNLOCK", "a")
    expect_between(second.reply(), token + 2, TOKEN_MAX)


def test_granted_meanwhile(place):
    """a lock whose turn comes while nobody is there is kept, and its token answers the repeated LOCK"""
    world = World(place)
    holder, lost, late = world.client(), world.remote(), world.client()
    token = holder("LOCK", "a", "WAIT", 0)
    secret = with_grace(lost)
    number = lost("SESSION", "ID")
    lost.send("LOCK", "a")
    world.daemon.queued("a")
    world.cut()
    mark = world.daemon.output.mark()
    holder("UNLOCK", "a")
    world.daemon.output.wait(r"lock\.granted name=a session=%d" % number, mark)
    expect(late("LOCK", "a", "WAIT", 0), None)
    again = world.remote()
    expect(again("SESSION", "RESUME", secret), 1)
    granted = again("LOCK", "a")
    expect_between(granted, token + 1, TOKEN_MAX)
    expect_code(again("LOCK", "a"), "HELD")
    expect(world.holder("a")["token"], granted)
    expect(again("UNLOCK", "a"), 0)


def test_unasked_for(place):
    """what a session that came back does not ask for again is given up when the grace is over"""
    world = World(place)
    holder, lost, second = world.client(), world.remote(), world.client()
    holder("LOCK", "a", "WAIT", 0)
    secret = with_grace(lost, 500)
    lost.send("LOCK", "a")
    world.daemon.queued("a")
    second.send("LOCK", "a")
    world.daemon.queued("a", 2)
    world.cut()
    again = world.remote()
    answer = again("SESSION", "RESUME", secret)
    if isinstance(answer, resp.Error):
        # On a machine that stood still meanwhile the session has ended: then its place has ended with it.
        world.daemon.output.wait(r"session\.expired")
    holder("UNLOCK", "a")
    # It is passed on to the next one, at once or after a hold nobody knew of.
    expect_between(second.reply(), 1, TOKEN_MAX)


def test_local(place):
    """on a Unix socket an end of file is survived with a grace, and a goodbye is not"""
    world = World(place)
    holder, other = world.client(), world.client()
    secret = with_grace(holder)
    token = holder("LOCK", "a", "WAIT", 0)
    mark = world.daemon.output.mark()
    holder.close()
    world.daemon.output.wait(r"session\.detached", mark)
    again = world.client()
    expect(again("SESSION", "RESUME", secret), 1)
    expect_between(again("CHECK", "a", "TOKEN", token), 1, harness.LEASE_MS)
    expect(again("QUIT"), "OK")
    expect(again.closed(), True)
    expect_between(other("LOCK", "a", "WAIT", 45000), token + 1, TOKEN_MAX)
    expect_code(other("SESSION", "RESUME", secret), "ERR")
    # And so is a RESET.
    with_grace(other)
    expect(other("RESET"), "RESET")
    expect_between(world.client()("LOCK", "a", "WAIT", 0), token + 2, TOKEN_MAX)


def test_killed_client(place):
    """CLIENT KILL of a session with a grace detaches it"""
    world = World(place)
    holder = world.client()
    secret = with_grace(holder)
    token = holder("LOCK", "a", "WAIT", 0)
    number = holder("CLIENT", "ID")
    mark = world.daemon.output.mark()
    expect(world.client()("CLIENT", "KILL", "ID", number), 1)
    world.daemon.output.wait(r"session\.detached", mark)
    again = world.client()
    expect(again("SESSION", "RESUME", secret), 1)
    expect(again("UNLOCK", "a", "TOKEN", token), 0)


def test_killed_session(place):
    """SESSION KILL ends a session with a grace for good, closes all its connections, and leaves its holds to the announced deadline"""
    world = World(place, BRISK)
    holder, joined, other, admin = (world.client() for _ in range(4))
    secret = with_grace(holder)
    expect(joined("SESSION", "JOIN", secret) >= 0, True)
    token = holder("LOCK", "a", "WAIT", 0)
    number = holder("SESSION", "ID")
    mark = world.daemon.output.mark()
    expect(admin("SESSION", "KILL", number), 1)
    for client in (holder, joined):
        expect(client.closed(), True)
    world.daemon.output.wait(r"session\.killed session=%d" % number, mark)
    world.daemon.output.wait(r"session\.kill by=.* session=%d result=ok" % number, mark)
    expect_code(admin("SESSION", "KILL", number), "ERR")
    expect_code(world.client()("SESSION", "RESUME", secret), "ERR")
    expect(world.session(number), None)
    # Its client may be working for what was left of a lease.
    expect(other("LOCK", "a", "WAIT", 0), None)
    expect_between(other("LOCK", "a", "WAIT", LONG_MS), token + 1, TOKEN_MAX)


def test_forked_child(place):
    """a child that inherits a client's socket keeps the lock when the client ends, as long as it lives"""
    world = World(place)
    holder, other = world.client(), world.client()
    token = holder("LOCK", "a", "WAIT", 0)
    child = place.run("cat", stdin=subprocess.PIPE, pass_fds=[holder.socket.fileno()])
    holder.socket.close()
    expect(other("LOCK", "a", "WAIT", 300), None)
    child.process.stdin.close()
    expect_between(other("LOCK", "a", "WAIT", 45000), token + 1, TOKEN_MAX)


def test_half_open(place):
    """who resumes does not wait until the dead connection is noticed: it is closed, and its wait is taken over"""
    world = World(place)
    holder, client, second = world.client(), world.remote(), world.client()
    token = holder("LOCK", "a", "WAIT", 0)
    secret = with_grace(client)
    client("LOCK", "b", "WAIT", 0)
    client.send("LOCK", "a")
    world.daemon.queued("a")
    second.send("LOCK", "a")
    world.daemon.queued("a", 2)
    # Nothing passes any more, and nobody is told.
    world.link.hold(proxy.UP, proxy.DOWN)
    again = world.client()
    mark = world.daemon.output.mark()
    expect(again("SESSION", "RESUME", secret), 1)
    again.send("LOCK", "a")
    world.daemon.output.wait(r"client\.closed .*why=\"session ended\"", mark)
    holder("UNLOCK", "a")
    expect_between(again.reply(), token + 1, TOKEN_MAX)
    expect(again("UNLOCK", "b"), 0)
    world.link.go()
    expect(client.closed(), True)
    expect(client.data, b"", "what the old connection was answered")


def test_secrets(place):
    """only the secret of a session that lives resumes it, and only a connection that has nothing to lose"""
    world = World(place)
    holder, other, busy = world.remote(), world.client(), world.client()
    secret = with_grace(holder)
    holder("LOCK", "a", "WAIT", 0)
    expect(holder("SESSION", "SECRET"), secret)
    busy("LOCK", "b", "WAIT", 0)
    world.cut()
    wrong = secret[:-1] + ("0" if secret[-1] != "0" else "1")
    for bad in (wrong, "f" * 48, "0" * 48, "x", secret[:16]):
        expect_code(other("SESSION", "RESUME", bad), "ERR")
    expect_code(busy("SESSION", "RESUME", secret), "ERR")
    expect(other("SESSION", "JOIN", secret), 1)
    expect(other("UNLOCK", "a"), 0)
    expect(secret in world.daemon.output.text(), False, "the secret in the log")


def test_loss_meanwhile(place):
    """a lock that is broken while nobody is there is told when its name is used next"""
    world = World(place)
    holder = world.remote(3)
    secret = with_grace(holder)
    expect(holder("SESSION", "ONLOSS", "PUSH"), "OK")
    token = holder("LOCK", "a", "WAIT", 0)
    world.cut()
    expect_between(world.client()("BREAK", "a", "TOKEN", token), 0, harness.LEASE_MS)
    again = world.remote(3)
    expect(again("SESSION", "RESUME", secret), 0)
    expect_code(again("CHECK", "a"), "LOST")
    expect_code(again("UNLOCK", "a"), "LOST")
    expect_code(again("UNLOCK", "a"), "NOTHELD")
    expect(again.pushes, [])


def test_async(place):
    """an ASYNC wait goes on without its connection, and its push comes to the one that repeats it"""
    world = World(place)
    holder, lost = world.client(), world.remote(3)
    token = holder("LOCK", "a", "WAIT", 0)
    secret = with_grace(lost)
    for job in ("j1", "j2"):
        expect(lost("LOCK", "a", "ASYNC", job, "OWNER", job), "QUEUED")
    world.cut()
    again = world.remote(3)
    expect(again("SESSION", "RESUME", secret), 0)
    expect(again("LOCK", "a", "ASYNC", "j1", "OWNER", "j1"), "QUEUED")
    expect(again("CANCEL", "j2"), 1)
    holder("UNLOCK", "a")
    expect(again.push(), ["grant", "j1", token + 1])


def test_bound(place):
    """a process that keeps a session keeps it beyond its grace, and ends it within"""
    world = World(place)
    holder, waiter = world.client(), world.client()
    secret = with_grace(holder, 1)
    process = subprocess.Popen(["sleep", "1000"])
    try:
        pidfd = os.pidfd_open(process.pid)
        resp.socket.send_fds(holder.socket, [b"SESSION BIND\r\n"], [pidfd])
        os.close(pidfd)
        expect(holder.reply(), 0)
        token = holder("LOCK", "a", "WAIT", 0)
        number = holder("SESSION", "ID")
        mark = world.daemon.output.mark()
        holder.close()
        world.daemon.output.wait(r"session\.detached", mark)
        # Its grace is over.
        harness.until("the end of the grace", lambda: world.session(number)["left_ms"] == -1)
        again = world.client()
        expect(again("SESSION", "RESUME", secret), 1)
        expect(again("SESSION", "GRACE", LONG_MS), secret)
        again.close()
        waiter.send("LOCK", "a", "WAIT", 45000)
        world.daemon.queued("a")
    finally:
        process.kill()
        process.wait()
    expect_between(waiter.reply(), token + 1, TOKEN_MAX)
    expect_code(world.client()("SESSION", "RESUME", secret), "ERR")


SELF_BOUND = """
import socket, sys
with open("/proc/self/stat", encoding="ascii", errors="replace") as stat:
    started = stat.read().rpartition(")")[2].split()[19]
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
answers = connection.makefile("rb")
for request in "SESSION BIND " + started, "SESSION GRACE 60000", "LOCK a":
    connection.sendall(request.encode() + b"\\r\\n")
    answer = answers.readline()
    if answer.startswith(b"$"):
        answer = answers.readline()
print(answer.decode().strip(), flush=True)
if sys.argv[2] == "close":
    connection.shutdown(socket.SHUT_RDWR)
sys.stdin.read()
"""


def test_bound_by_start_time(place):
    """a process that binds itself, without a descriptor, keeps its locks without a connection and ends them by its exit"""
    world = World(place)
    waiter = world.client()
    for end in "close", "stay":
        mark = world.daemon.output.mark()
        process = subprocess.Popen([sys.executable, "-c", SELF_BOUND, world.daemon.socket, end],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            token = int(process.stdout.readline().decode().lstrip(":"))
            if end == "close":
                world.daemon.output.wait(r"session\.detached", mark)
            waiter.send("LOCK", "a", "WAIT", 45000)
            world.daemon.queued("a")
        finally:
            process.kill()
            process.communicate()
        # Long before the grace and the lease are over.
        expect_between(waiter.reply(), token + 1, TOKEN_MAX)
        expect(waiter("UNLOCK", "a"), 0)


def test_bound_drained(place):
    """a daemon that ends says of what bound sessions hold, with a connection and without, that it is withheld"""
    world = World(place)
    processes = {name: subprocess.Popen(["sleep", "1000"]) for name in ("a", "b")}
    try:
        for name, process in processes.items():
            holder = world.client()
            pidfd = os.pidfd_open(process.pid)
            resp.socket.send_fds(holder.socket, [b"SESSION BIND\r\n"], [pidfd])
            os.close(pidfd)
            expect(holder.reply(), 0)
            expect_between(holder("LOCK", name, "WAIT", 0), 1, TOKEN_MAX)
            if name == "a":
                number = holder("SESSION", "ID")
                holder.close()
                harness.until("the session without a connection", lambda: not world.session(number)["connections"])
        expect(world.daemon.terminate(), 0)
    finally:
        for process in processes.values():
            process.kill()
            process.wait()
    for name in processes:
        expect_between(len(re.findall(r"lock\.withheld .*name=%s " % name, world.daemon.output.text())), 1, 1)


def test_limits(place):
    """graces are limited in number and in time, and one that is given back makes room"""
    world = World(place, "limits: { grace-sessions: 2, grace-time: 20s }\n")
    clients = [world.client() for _ in range(3)]
    answer = clients[0]("SESSION", "GRACE", 20001)
    expect_code(answer, "LIMIT")
    expect("grace-time" in answer, True, answer)
    with_grace(clients[0], 20000)
    with_grace(clients[0], 19000)
    with_grace(clients[1], 1000)
    answer = clients[2]("SESSION", "GRACE", 1000)
    expect_code(answer, "LIMIT")
    expect("grace-sessions" in answer, True, answer)
    # One that is detached counts on.
    mark = world.daemon.output.mark()
    clients[0].close()
    world.daemon.output.wait(r"session\.detached", mark)
    expect_code(clients[2]("SESSION", "GRACE", 1000), "LIMIT")
    expect(len(clients[1]("SESSION", "GRACE", 0)), 48)
    with_grace(clients[2], 1000)
    # A limit that is raised is in use at once.
    world.daemon.configure("limits: { grace-sessions: 3, grace-time: 1h }\n")
    expect("grace-sessions" in world.client()("RELOAD"), True)
    with_grace(clients[1], 3600000)


def test_limit_of_a_user(place):
    """one user cannot take all the graces there are"""
    redis = place.redis()
    password = os.path.join(place.path, "password")
    with open(password, "w", encoding="utf-8") as stream:
        stream.write("secret\n")
    users = "".join("  - { name: %s, password-file: %s }\n" % (name, password) for name in ("ann", "bob"))
    daemon = place.daemon(master=redis, tcp=True,
                          config="limits: { sessions-per-user: 2 }\nusers:\n" + users).admitted()
    ends = []
    for _ in range(2):
        client = daemon.client(tcp=True)
        expect(client("AUTH", "ann", "secret"), "OK")
        with_grace(client)
        ends.append(client)
    for client in ends:
        mark = daemon.output.mark()
        client.reset()
        daemon.output.wait(r"session\.detached", mark)
    client = daemon.client(tcp=True)
    expect(client("AUTH", "ann", "secret"), "OK")
    answer = client("SESSION", "GRACE", 1000)
    expect_code(answer, "LIMIT")
    expect("sessions-per-user" in answer, True, answer)
    expect(client("AUTH", "bob", "secret"), "OK")
    with_grace(client)


def test_all_come_back(place):
    """a program that is started anew with all connections that its user may have is not turned away for the old ones"""
    most = 300
    daemon = place.daemon(master=place.redis(), config="limits: { sessions-per-user: %d }\n" % most).admitted()
    control = daemon.client()
    # The owner of the socket has eight more, and their ends come first.
    before = [daemon.client() for _ in range(most - 1 + 8)]
    for number, client in enumerate(before):  # the end of each takes a while
        client.send("MLOCK", 50, *("%d.%d" % (number, name) for name in range(50)))
    for client in before:
        expect(len(client.reply()), 50)
    for client in reversed(before):
        client.close()
    harness.until("the daemon has seen that they are gone", lambda: "\nconnected_clients:1\r" in control("INFO", "clients"))
    after = [daemon.client() for _ in before]
    for client in after:
        client.send("PING")
    expect({str(client.reply()) for client in after}, {"PONG"})


def test_drain(place):
    """a daemon that ends gives back what the client of a detached session can rely on no more"""
    world = World(place, BRISK)
    holder = world.remote()
    with_grace(holder)
    asked = boottime()
    holder("LOCK", "old", "WAIT", 0)
    world.cut()
    # What it was told is over when a hold taken after it has run out; the grace is not.
    other = world.client()
    other("LOCK", "clock", "LEASE", 2200, "WAIT", 0)
    harness.until("2.2 s have passed", lambda: isinstance(other("CHECK", "clock"), resp.Error))
    expect_not_before(boottime(), asked + 2.2, "the end of a LEASE", harness.WHOLE_MS)
    expect(world.redis("EXISTS", "holdfast:{old}"), 1)
    expect(world.daemon.terminate(), 0)
    expect(world.redis("EXISTS", "holdfast:{old}"), 0)


def test_silence(place):
    """a session with a heartbeat that asks nothing is closed, and its lock withheld until what it was told is over"""
    world = World(place, BRISK)
    holder, waiter = world.client(), world.client()
    expect(holder("SESSION", "HEARTBEAT", 700), "OK")
    token = holder("LOCK", "a", "WAIT", 0)
    number = holder("SESSION", "ID")
    asked = boottime()
    told = holder("CHECK", "a")
    waiter.send("LOCK", "a", "WAIT", 45000)
    expect(world.session(number)["heartbeat_ms"], 700)
    expect(holder.closed(), True)
    expect_not_before(boottime(), asked + 0.7, "the end of a silent session", harness.WHOLE_MS)
    world.daemon.output.wait(r"session\.silent")
    expect_between(waiter.reply(), token + 1, TOKEN_MAX)
    expect_not_before(boottime(), asked + told / 1000, "the next holder")


def test_heartbeat(place):
    """any request is a heartbeat: who asks often enough stays, while one who does not is closed"""
    world = World(place)
    ms = 1500
    for _ in range(5):
        silent, lively = world.client(), world.client()
        expect(silent("SESSION", "HEARTBEAT", ms), "OK")
        expect(lively("SESSION", "HEARTBEAT", ms), "OK")
        last, gap, number = boottime(), 0.0, 0
        try:
            while not silent.closed(0.001):
                number += 1
                # Verbs that the core answers, that others answer, and what is no verb at all.
                lively(*(("PING",), ("CLIENT", "ID"), ("NONSENSE",), ("SESSION", "ID"), ("BREAK", "a"))[number % 5])
                gap, last = max(gap, boottime() - last), boottime()
            expect(lively("PING"), "PONG")
            return
        except resp.Closed:
            # Only a test that stood still itself for so long may have been closed.
            expect_not_before(max(gap, boottime() - last), ms / 1000, "the end of a lively session")
            harness.comment("the machine stood still for longer than a heartbeat: once more")
    raise harness.Skip("the machine is too busy to send a heartbeat in time")


def test_blocked(place):
    """time blocked in LOCK is not silence"""
    world = World(place)
    holder, silent, blocked = world.client(), world.client(), world.client()
    token = holder("LOCK", "a", "WAIT", 0)
    expect(blocked("SESSION", "HEARTBEAT", 400), "OK")
    blocked.send("LOCK", "a")
    world.daemon.queued("a")
    # As often as another is closed for its silence.
    for _ in range(3):
        silent = world.client()
        expect(silent("SESSION", "HEARTBEAT", 400), "OK")
        expect(silent.closed(), True)
    holder("UNLOCK", "a")
    expect_between(blocked.reply(), token + 1, TOKEN_MAX)
    expect(blocked.closed(), True)


def test_silence_with_grace(place):
    """a session with a grace that is silent for too long can still be resumed"""
    world = World(place)
    holder = world.client()
    secret = with_grace(holder)
    expect(holder("SESSION", "HEARTBEAT", 300), "OK")
    token = holder("LOCK", "a", "WAIT", 0)
    expect(holder.closed(), True)
    world.daemon.output.wait(r"session\.detached")
    again = world.client()
    expect(again("SESSION", "RESUME", secret), 1)
    expect(again("SESSION", "HEARTBEAT", 0), "OK")
    expect(again("UNLOCK", "a", "TOKEN", token), 0)


def test_stopped_daemon(place):
    """a daemon that was stopped itself counts the requests that came meanwhile"""
    world = World(place)
    client = world.client()
    expect(client("SESSION", "HEARTBEAT", 1000), "OK")
    token = client("LOCK", "a", "WAIT", 0)
    world.daemon.process.stop()
    client.send("PING")
    pause = world.place.run("sleep", "2")
    expect(pause.wait(), 0)
    world.daemon.process.cont()
    expect(client.reply(), "PONG")
    expect(client("UNLOCK", "a", "TOKEN", token), 0)


def test_crash_delay(place):
    """an abandoned lock of a rule with crash-delay is withheld longer than one without; one that ends well is not"""
    world = World(place, BRISK + "rules: [ { match: 'fragile/*', crash-delay: 3s } ]\n")
    holder = world.remote()
    plain, fragile = world.client(), world.client()
    holder("LOCK", "plain", "WAIT", 0)
    asked = boottime()
    token, told = holder("LOCK", "fragile/a", "WAIT", 0, "VALIDITY")
    plain.send("LOCK", "plain", "WAIT", 45000)
    fragile.send("LOCK", "fragile/a", "WAIT", 45000)
    world.daemon.queued("plain")
    world.daemon.queued("fragile/a")
    mark = world.daemon.output.mark()
    world.link.reset()
    expect_between(fragile.reply(), token + 1, TOKEN_MAX)
    # The lease was renewed for it: longer than one lasts.
    expect_not_before(boottime(), asked + told / 1000 + 3, "the next holder", harness.WHOLE_MS)
    expect_between(plain.reply(), 1, TOKEN_MAX)
    earlier = world.daemon.output.wait(r"lock\.granted name=plain", mark)[2]
    later = world.daemon.output.wait(r"lock\.granted name=fragile/a", mark)[2]
    expect(earlier < later, True, "the plain lock comes first")
    # In good order it passes on at once.
    plain.send("LOCK", "fragile/a", "WAIT", 45000)
    world.daemon.queued("fragile/a")
    mark = world.daemon.output.mark()
    expect(fragile("QUIT"), "OK")
    expect_between(plain.reply(), token + 2, TOKEN_MAX)
    released = world.daemon.output.wait(r"lock\.(released|withheld) name=fragile/a", mark)[1]
    expect(released.group(1), "released")


def test_crash_delay_reloaded(place):
    """a reload changes the crash-delay of what is abandoned from then on"""
    world = World(place)
    holder = world.remote()
    token = holder("LOCK", "a", "WAIT", 0)
    world.daemon.configure("rules: [ { match: 'a', crash-delay: 1h } ]\n")
    answer = world.client()("RELOAD")
    expect("rules" in answer, True, answer)
    withheld = world.client()("BREAK", "a", "TOKEN", token)
    expect_between(withheld, 3600000, 3600000 + harness.LEASE_MS)


def test_two_waits(place):
    """two connections of a session that wait for a name without tag are granted it one after the other"""
    daemon = place.daemon(master=place.redis()).admitted()
    holder, first, second = daemon.client(), daemon.client(), daemon.client()
    holder("LOCK", "a")
    second("SESSION", "JOIN", first("SESSION", "SECRET"))
    first.send("LOCK", "a")
    daemon.queued("a")
    second.send("LOCK", "a")
    daemon.queued("a", 2)
    expect(holder("UNLOCK", "a"), 0)
    token = first.reply()
    expect(first("UNLOCK", "a"), 0)
    expect(second.reply() > token, True)
    expect_code(first("LOCK", "a"), "HELD")


def test_back_to_resp2(place):
    """a connection that left RESP3 is closed when a push is due"""
    daemon = place.daemon(master=place.redis()).admitted()
    holder, client = daemon.client(), daemon.client(3)
    holder("LOCK", "a")
    expect(client("LOCK", "a", "ASYNC", "j1"), "QUEUED")
    client("HELLO", 2)
    expect(holder("UNLOCK", "a"), 0)
    expect(client.closed(), True)


def test_back_to_resp2_withholds_nothing(place):
    """what is due to such a connection, which was told of nothing, is withheld from nobody; what it had is"""
    world = World(place)
    holder, watcher = world.client(), world.client(3)
    holder("LOCK", "fragile/a")
    client = world.remote(3)
    client("LOCK", "fragile/mine", "WAIT", 0)
    expect(client("LOCK", "fragile/a", "ASYNC", "j1"), "QUEUED")
    client("HELLO", 2)
    expect(holder("UNLOCK", "fragile/a"), 0)
    expect(client.closed(), True)
    expect_between(holder("LOCK", "fragile/a", "WAIT", 0), 1, 2 ** 53)
    harness.until("what it had is withheld", lambda: watcher("INSPECT", "fragile/mine")["state"] == "withheld")


def test_back_to_resp3(place):
    """a connection that comes back to RESP3 in time has its push"""
    daemon = place.daemon(master=place.redis()).admitted()
    holder, client = daemon.client(), daemon.client(3)
    holder("LOCK", "a")
    expect(client("LOCK", "a", "ASYNC", "j1"), "QUEUED")
    client("HELLO", 2)
    client("HELLO", 3)
    expect(holder("UNLOCK", "a"), 0)
    expect(client.push()[:2], ["grant", "j1"])


if __name__ == "__main__":
    harness.main(globals())
