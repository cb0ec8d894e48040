"""Clients at work while their daemon is restarted: each kind, and what it has to find unchanged afterwards.

A kind is a generator that takes the stage. It begins something, and yields just before each restart; it is sent True
after a restart, when it has to find all as it was and begins anew, and False after the last one, when it finishes.
"""

import array
import os
import re
import shutil
import signal
import socket
import threading
import time

import harness
import resp
import tool
from harness import boottime, expect, expect_between, expect_code, expect_not_before

GRANTED = (1, 2 ** 53)
LONG_MS = 600000
PAUSE = 0.005  # s, of those beside: a restart takes longer, and the scene leaves time to the others


class Stage:
    """A daemon, and what clients that are about to work need of it."""

    lives_on = True  # a restart ends no connection, and the daemon-id stays
    identity = ("CLIENT", "ID")  # a request whose answer no restart changes

    def __init__(self, place, daemon):
        self.place = place
        self.daemon = daemon
        self.names = 0
        self.login = ()  # AUTH of TCP clients
        self.stop = threading.Event()
        self.faults = []
        self.threads = []
        self.longest = 0.0  # that a client at work waited for an answer that needs no other client

    def client(self, form=2, tcp=False):
        client = self.daemon.client(form, tcp=tcp)
        if tcp and self.login:
            expect(client("AUTH", *self.login), "OK")
        return client

    def plain(self, form=2, tcp=False):
        """A client without a grace."""
        return Stage.client(self, form, tcp)

    def name(self, what):
        self.names += 1
        return "%s/%d" % (what, self.names)

    def waits(self, client, name, *words):
        """Sends a LOCK that has to wait, and sees that it does."""
        with self.daemon.client(form=3) as viewer:
            before = viewer("INSPECT", name)["waiter_count"]
            client.send("LOCK", name, *words)
            harness.until("it waits for %s" % name, lambda: viewer("INSPECT", name)["waiter_count"] == before + 1)

    def thread(self, work):
        """Runs work(self) again and again beside the restarts, with pauses of PAUSE."""
        def run():
            try:
                while not self.rests():
                    work(self)
            except BaseException as error:  # whatever it is, the test has to tell
                self.faults.append("%s: %r" % (work.__name__, error))

        self.threads.append(threading.Thread(target=run, daemon=True))
        self.threads[-1].start()

    def rests(self):
        """For PAUSE; True: it has to stop."""
        return self.stop.wait(PAUSE)

    def timed(self, ask):
        began = time.monotonic()
        answer = ask()
        self.longest = max(self.longest, time.monotonic() - began)
        return answer

    def done(self):
        self.stop.set()
        for thread in self.threads:
            thread.join(2 * harness.PATIENCE)
        expect(self.faults, [])


def granted(answer):
    expect_between(answer, *GRANTED)
    return answer


def held(client, name, token, *words):
    expect_between(client("CHECK", name, "TOKEN", token, *words), 1, LONG_MS)


# --- holders ----------------------------------------------------------------------------------------------------


def holder(stage, form=2, tcp=False):
    client, name = stage.client(form, tcp), stage.name("hold")
    number = client(*stage.identity)
    token = granted(client("LOCK", name))
    while (yield):
        held(client, name, token)
        expect(client(*stage.identity), number)
    expect(client("UNLOCK", name, "TOKEN", token), 0)


def inline_holder(stage):
    return holder(stage, "inline")


def resp3_holder(stage):
    return holder(stage, 3)


def tcp_holder(stage):
    return holder(stage, tcp=True)


def named_user(stage):
    """Logged in, with a name, over TCP."""
    client, name = stage.client(tcp=True), stage.name("user")
    expect(client("CLIENT", "SETNAME", "me"), "OK")
    token = granted(client("LOCK", name, "WHY", "a reason"))
    while (yield):
        info = client("CLIENT", "INFO")
        expect(" name=me " in info and (not stage.login or " user=%s " % stage.login[0] in info), True, info)
        with stage.daemon.client(form=3) as viewer:
            expect([viewer("INSPECT", name)["holder"][key] for key in ("token", "client", "why")], [token, "me", "a reason"])
    expect(client("UNLOCK", name), 0)


def reentrant(stage):
    """A tag that holds a name twice, and another tag that waits."""
    client, other, name = stage.client(), stage.client(), stage.name("tag")
    expect(other("SESSION", "JOIN", client("SESSION", "SECRET")), 0)
    more = True
    while more:
        token = granted(client("LOCK", name, "OWNER", "x"))
        expect(client("LOCK", name, "OWNER", "x"), token)
        stage.waits(other, name, "OWNER", "y")
        more = yield
        held(client, name, token, "OWNER", "x")
        expect(client("UNLOCK", name, "OWNER", "x"), 1)
        expect(client("UNLOCK", name, "OWNER", "x"), 0)
        expect_between(other.reply(), token + 1, 2 ** 53)
        expect(other("UNLOCK", name, "OWNER", "y"), 0)


def leased(stage):
    """A LEASE that is over ends the hold, no sooner and no later; one that is extended does not."""
    client, long, short = stage.client(), stage.name("long"), stage.name("short")
    expect(client("SESSION", "ONLOSS", "NEXT"), "OK")
    token = granted(client("LOCK", long, "LEASE", LONG_MS))
    more = True
    while more:
        asked = boottime()
        granted(client("LOCK", short, "LEASE", 300))
        more = yield
        expect_between(client("EXTEND", long, LONG_MS), 1, LONG_MS)
        held(client, long, token)
        answer = harness.until("its lease is over", lambda: over(client, short))
        expect(answer.startswith("LOST lease"), True, answer)
        expect_not_before(boottime(), asked + 0.3, "the end of a lease", harness.WHOLE_MS)
        expect_code(client("UNLOCK", short), "LOST")


def over(client, name):
    answer = client("CHECK", name)
    return answer if isinstance(answer, resp.Error) else None


def graced(stage):
    """Cut off before each restart, and back after it."""
    client, name = stage.client(), stage.name("grace")
    secret = client("SESSION", "GRACE", LONG_MS)
    token = granted(client("LOCK", name))
    more = True
    while more:
        client.close()
        more = yield
        client = stage.client()
        expect(client("SESSION", "RESUME", secret), 1)
        held(client, name, token)
    expect(client("UNLOCK", name), 0)


def bound(stage):
    """A session that has no connection, but a process; its end frees the lock."""
    child = stage.place.run("sleep", "100000")

    def bind():
        client = stage.plain()
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [child.pidfd]))]
        client.socket.sendmsg([b"SESSION BIND\r\n"], rights)
        return client, client.reply()

    client, answer = bind()
    expect(answer, 0)
    name = stage.name("bound")
    token = granted(client("LOCK", name))
    client.close()
    while (yield):
        client, answer = bind()
        expect(answer, 1)
        held(client, name, token)
        client.close()
    waiter = stage.client()
    stage.waits(waiter, name)
    child.kill()
    expect_between(waiter.reply(), token + 1, 2 ** 53)
    expect(waiter("UNLOCK", name), 0)


def beating(stage):
    """A heartbeat that is kept."""
    client, name = stage.client(form=3), stage.name("beat")
    expect(client("SESSION", "HEARTBEAT", 10 * LONG_MS), "OK")
    token, number = granted(client("LOCK", name)), client("SESSION", "ID")
    while (yield):
        held(client, name, token)
        with stage.daemon.client(form=3) as viewer:
            mine = [one for one in sessions(viewer) if one["session"] == number]
        expect([one["heartbeat_ms"] for one in mine], [10 * LONG_MS])
    expect(client("UNLOCK", name), 0)


def sessions(viewer):
    cursor, found = "0", []
    while True:
        cursor, page = viewer("SESSIONS", "CURSOR", cursor)
        found += page
        if cursor == "0":
            return found


# --- those that wait ----------------------------------------------------------------------------------------------


def line(stage):
    """Six in a line, whose first is served after each restart and goes to its end: the order stays, tokens grow."""
    name, clients = stage.name("line"), [stage.client(tcp=n % 2 == 1) for n in range(6)]
    token = granted(clients[0]("LOCK", name))
    for client in clients[1:]:
        stage.waits(client, name)
    while (yield):
        first = clients.pop(0)
        expect(first("UNLOCK", name, "TOKEN", token), 0)
        after = clients[0].reply()
        expect_between(after, token + 1, 2 ** 53)
        token = after
        stage.waits(first, name)
        clients.append(first)
    for client in clients:
        expect(client("UNLOCK", name), 0)
        if client is not clients[-1]:
            granted(clients[clients.index(client) + 1].reply())


def timed_out(stage):
    """A WAIT goes on: it ends neither sooner nor never."""
    holding, client, name = stage.client(), stage.client(), stage.name("wait")
    granted(holding("LOCK", name))
    more = True
    while more:
        asked = boottime()
        stage.waits(client, name, "WAIT", 500)
        more = yield
        expect(client.reply(), None)
        expect_not_before(boottime(), asked + 0.5, "the end of a WAIT", harness.WHOLE_MS)


def asynchronous(stage):
    """Two pushes that are due, and one that is cancelled."""
    holding, client = stage.client(), stage.client(form=3)
    names = [stage.name("async") for _ in range(3)]
    more = True
    while more:
        for name in names:
            granted(holding("LOCK", name))
            expect(client("LOCK", name, "ASYNC", name), "QUEUED")
        more = yield
        expect(client("CANCEL", names[2]), 1)
        for name in names[:2]:
            expect(holding("UNLOCK", name), 0)
            push = client.push()
            expect(push[:2], ["grant", name])
            held(client, name, push[2])
            expect(client("UNLOCK", name), 0)
        expect(holding("UNLOCK", names[2]), 0)
    expect(client.pushes, [])


def many_at_once(stage):
    """An MLOCK that waits for one of its names."""
    holding, client = stage.client(), stage.client()
    names = [stage.name("mlock") for _ in range(3)]
    more = True
    while more:
        granted(holding("LOCK", names[1]))
        client.send("MLOCK", 3, *names)
        with stage.daemon.client(form=3) as viewer:
            harness.until("it waits", lambda: viewer("INSPECT", names[1])["waiter_count"] == 1)
        more = yield
        expect(holding("UNLOCK", names[1]), 0)
        tokens = client.reply()
        expect([isinstance(one, int) for one in tokens], [True] * 3)
        for name, token in zip(names, tokens):
            held(client, name, token)
        expect(client("MUNLOCK", 3, *names), 3)


def permits(stage):
    """Two of three are taken, and two more are waited for."""
    first, second, third = (stage.client() for _ in range(3))
    name = stage.name("permits")
    limit = ("LIMIT", 3, "PERMITS")
    more = True
    while more:
        token = granted(first("LOCK", name, *limit, 2))
        stage.waits(second, name, *limit, 2)
        more = yield
        held(first, name, token)
        expect(third("LOCK", name, *limit, 2, "WAIT", 0), None)
        expect(first("UNLOCK", name), 0)
        granted(second.reply())
        expect(second("UNLOCK", name), 0)


def shared(stage):
    """Two readers, and a writer that waits for both."""
    readers, writer, name = [stage.client(), stage.client()], stage.client(), stage.name("shared")
    more = True
    while more:
        tokens = [granted(reader("LOCK", name, "SHARED")) for reader in readers]
        stage.waits(writer, name)
        more = yield
        for reader, token in zip(readers, tokens):
            held(reader, name, token)
        for reader in readers:
            expect(writer.data, b"")
            expect(reader("UNLOCK", name), 0)
        expect_between(writer.reply(), max(tokens) + 1, 2 ** 53)
        expect(writer("UNLOCK", name), 0)


def latched(stage):
    """A latch with one step done and one to do, and a client that awaits it."""
    client, waiting = stage.client(), stage.client()
    more = True
    while more:
        name = stage.name("latch")
        expect(client("LATCH", name, "SET", 2), 1)
        expect(client("LATCH", name, "DOWN", "OWNER", "x"), 1)
        waiting.send("LATCH", name, "AWAIT")
        with stage.daemon.client(form=3) as viewer:
            harness.until("it waits", lambda: viewer("INSPECT", name)["waiter_count"] == 1)
        more = yield
        if stage.lives_on:
            expect(client("LATCH", name, "DOWN", "OWNER", "x"), 1)  # that step was done before
        expect(client("LATCH", name, "DOWN"), 0)
        expect(waiting.reply(), 0)


# --- bytes --------------------------------------------------------------------------------------------------------


def streaming(stage):
    """EVENTS of one name: each once, in their order."""
    stream, client, name = stage.client(form=3), stage.client(), stage.name("event")
    expect(stream("EVENTS", "MATCH", name), "OK")
    told = []

    def see(*kinds):
        while len(told) < len(kinds):
            event = stream.push()
            expect(event[0], "event")
            kind = event[1].split(" ", 1)[0]
            if kind.startswith("lock."):
                told.append(kind)
        expect(tuple(told), kinds)
        told.clear()

    more = True
    while more:
        granted(client("LOCK", name))
        more = yield
        expect(client("UNLOCK", name), 0)
        see("lock.granted", "lock.released")
        expect(stream("PING"), "PONG")


def half_asked(stage):
    """Requests that are cut anywhere by the restart, as an array and as a line."""
    client, name = stage.client(), stage.name("half")
    token = granted(client("LOCK", name))
    requests = (resp.encode("CHECK", name, "TOKEN", token), resp.encode_line("CHECK", name))
    n = 0
    more = True
    while more:
        data = requests[n % 2]
        at = 1 + n % (len(data) - 1)
        n += 5
        client.send_raw(data[:at])
        more = yield
        client.send_raw(data[at:])
        expect_between(client.reply(), 1, LONG_MS)


def unread(stage):
    """Answers that are longer than what the kernel keeps, and are read after the restart."""
    client = stage.client()
    texts = ["%d:%s" % (n, "x" * 20000) for n in range(16)]
    more = True
    while more:
        for text in texts:
            client.send("ECHO", text)
        more = yield
        for text in texts:
            expect(client.reply() == text, True, "the answer is whole")


def pipelined(stage):
    """A hundred requests without reading, of which the restart meets some."""
    client, name = stage.client(), stage.name("pipe")
    more = True
    while more:
        client.send_raw(b"".join(resp.encode("LOCK", name, "WAIT", 0) + resp.encode("CHECK", name) + resp.encode("UNLOCK", name)
                                 for _ in range(100)))
        more = yield
        last = 0
        for _ in range(100):
            token = client.reply()
            expect_between(token, last + 1, 2 ** 53)
            last = token
            expect_between(client.reply(), 1, LONG_MS)
            expect(client.reply(), 0)


def half_closed(stage):
    """Sends its last requests, shuts down its direction, and gets its answers and the end."""
    more = True
    while more:
        client, name = stage.client("inline"), stage.name("last")
        client.send_raw(b"LOCK %s WAIT 0\r\nCHECK %s\r\nUNLOCK %s\r\n" % ((name.encode(),) * 3))
        client.socket.shutdown(socket.SHUT_WR)
        more = yield
        granted(client.reply())
        expect_between(client.reply(), 1, LONG_MS)
        expect(client.reply(), 0)
        expect(client.closed(), True)


def untold(stage):
    """A loss that the session has not been told."""
    client, name = stage.client(), stage.name("lost")
    expect(client("SESSION", "ONLOSS", "NEXT"), "OK")
    more = True
    while more:
        granted(client("LOCK", name, "MAXHOLD", 1))
        with stage.daemon.client(form=3) as viewer:
            harness.until("it is lost", lambda: viewer("INSPECT", name)["holder_count"] == 0)
        more = yield
        expect(client("UNLOCK", name).startswith("LOST maxhold"), True)


def offered(stage):
    """A grant that is not claimed yet: the LOCK sent again claims it and counts nothing."""
    client, tag = stage.client(), ("OWNER", "t")
    more = True
    while more:
        name = stage.name("offered")
        token = granted(client("LOCK", name, "CLAIM", LONG_MS, *tag))
        more = yield
        expect(client("LOCK", name, "CLAIM", LONG_MS, *tag), token)
        expect(client("LOCK", name, *tag), token)
        expect(client("UNLOCK", name, *tag), 1)
        expect(client("UNLOCK", name, *tag), 0)


def paging(stage):
    """A list that goes on from its cursor: what is there from the first page to the last is in one page."""
    client, viewer = stage.client(), stage.client(form=3)
    names = {stage.name("page") for _ in range(40)}
    for name in names:
        granted(client("LOCK", name))
    more = True
    while more:
        cursor, first = viewer("LOCKS", "MATCH", "page/*", "COUNT", 20)
        more = yield
        found = [one["name"] for one in first]
        while cursor != "0":
            cursor, page = viewer("LOCKS", "MATCH", "page/*", "CURSOR", cursor)
            found += [one["name"] for one in page]
        expect(sorted(found), sorted(names))


KINDS = (holder, inline_holder, resp3_holder, tcp_holder, named_user, reentrant, leased, graced, bound, beating, line,
         timed_out, asynchronous, many_at_once, permits, shared, latched, streaming, half_asked, unread, pipelined,
         half_closed, untold, offered, paging)
NEEDS_ONE_MASTER = (latched,)
# Theirs has to be the same one afterwards, and so has the daemon-id.
NEEDS_CONNECTIONS = (streaming, half_asked, unread, pipelined, half_closed, paging)


# --- beside the restarts -------------------------------------------------------------------------------------------


def comes_and_goes(stage):
    """A client that connects at any time is accepted and answered."""
    with resp.Client(stage.daemon.socket) as client:
        expect(stage.timed(lambda: client("PING")), "PONG")


def takes_turns(stage):
    """Locks, checks and unlocks; tokens grow."""
    with resp.Client(stage.daemon.socket) as client:
        name, last = "turns/%d" % id(client), 0
        while not stage.rests():
            token = stage.timed(lambda: client("LOCK", name))
            expect_between(token, last + 1, 2 ** 53)
            last = token
            held(client, name, token)
            expect(stage.timed(lambda: client("UNLOCK", name, "TOKEN", token)), 0)


def never_waits(stage):
    """LOCK WAIT 0 of a free name is granted, of one that is held null: no error, and nothing else."""
    with resp.Client(stage.daemon.socket) as holding, resp.Client(stage.daemon.socket) as client:
        granted(holding("LOCK", "taken"))
        while not stage.rests():
            expect(stage.timed(lambda: client("LOCK", "taken", "WAIT", 0)), None)
            granted(stage.timed(lambda: client("LOCK", "free", "WAIT", 0)))
            expect(client("UNLOCK", "free"), 0)


def contends(stage):
    """holdfast bench, which verifies each grant, without a pause of its own: a third of the time."""
    status, output = tool.call(stage.place, stage.daemon, "bench", "-c", 8, "--seconds", "50ms")
    expect(status, 0, output)
    stage.stop.wait(0.3)


LOAD = (comes_and_goes, takes_turns, never_waits, contends)


def work(stage, restart, times, kinds=KINDS, load=LOAD):
    """Has all kinds at work while restart(stage) is called so often."""
    for one in load:
        stage.thread(one)
    tasks = [kind(stage) for kind in kinds]
    for task in tasks:
        next(task)
    for n in range(times):
        restart(stage)
        expect(stage.faults, [])
        for task in tasks:
            try:
                task.send(n + 1 < times)
            except StopIteration:
                pass
            except BaseException as error:
                raise AssertionError("%s, after restart %d: %r" % (task.gi_code.co_name, n + 1, error)) from error
    stage.done()


def copy_of_daemon(place):
    """A program that a test may replace or remove."""
    path = os.path.join(place.path, "holdfastd")
    shutil.copy(harness.HOLDFASTD, path)
    return path


def copy_of_version(path, mine, version):
    """Replaces that program by itself, as if it were of another version of the same length."""
    with open(path, "rb") as stream:
        program = stream.read()
    with open(path + ".new", "wb") as stream:
        stream.write(program.replace(mine.encode() + b"\0", version.encode() + b"\0"))
    os.chmod(path + ".new", 0o755)
    os.rename(path + ".new", path)


class Program:
    """A path by which this daemon, which has not been started yet, is started and replaced: as a rule at once."""

    SCRIPT = "#!/bin/bash\nif [ \"$1\" != -t ]; then\n%s\nfi\nexec -a \"$0\" %s \"$@\"\n"

    def __init__(self, daemon):
        self.path = os.path.join(daemon.folder, "program")
        self.at_once()
        daemon.wrap = ["sh", "-c", "shift; exec %s \"$@\"" % self.path, "sh"]

    def at_once(self):
        os.symlink(harness.HOLDFASTD, self.path + ".new")
        os.replace(self.path + ".new", self.path)

    def after(self, command):
        """The next process becomes the daemon when this command of bash is over."""
        with open(self.path + ".new", "w", encoding="utf-8") as stream:
            stream.write(self.SCRIPT % (command, harness.HOLDFASTD))
        os.chmod(self.path + ".new", 0o700)
        os.replace(self.path + ".new", self.path)


class Late:
    """A hand-over of a daemon with a Program, whose next process is there, and comes up when the test says so."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.path = daemon.program.path + ".pipe"
        os.mkfifo(self.path)
        daemon.program.after("read -r _ < %s" % self.path)
        self.done = handovers(daemon)
        daemon.process.signal(signal.SIGUSR2)
        self.pipe = harness.until("the next process is there", self.open)

    def open(self):
        try:
            return os.open(self.path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return None  # nobody reads yet

    def come_up(self):
        os.write(self.pipe, b"\n")
        os.close(self.pipe)
        os.unlink(self.path)
        self.daemon.program.at_once()
        harness.until("a new process serves", lambda: handovers(self.daemon) > self.done)


def handovers(daemon):
    return int(daemon.info()["handovers"])


def hand_over(daemon):
    """By the signal; returns when the new process serves."""
    done = handovers(daemon)
    daemon.process.signal(signal.SIGUSR2)
    harness.until("a new process serves", lambda: handovers(daemon) > done)


def silent_ms(daemon):
    return int(re.search(r"\d+", daemon.info()["handover_silent_ms"]).group())
