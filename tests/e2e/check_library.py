#!/usr/bin/env python3
"""libholdfast, the library in client/c, against a real daemon: locks of every kind, losses that are told, what is left of
locks after cuts, restarts, kills, forks and cancelled waits. client/c/test/puppet.c has the words."""

import concurrent.futures
import functools
import os
import random
import re
import select
import signal
import socket
import subprocess
import threading
import time

import clients
import harness
import liar
import proxy
import tool
from clients import free, taken, with_login
from harness import BRISK, PATIENCE, boottime, expect, expect_between, expect_not_before

PUPPET = os.path.join(harness.BUILD, "tests", "c", "puppet")
CLOSER = os.path.join(harness.BUILD, "tests", "c", "closer")
QUIET = "log: { level: info }\n"
LOSSES = 200
# Of the program.
ours, nothing_left, cut = (functools.partial(ask, title="puppet") for ask in (clients.seen, clients.nothing_left, clients.cut))
OK, BUSY, TIMEOUT, CANCELLED, LOST, REFUSED, UNREACHABLE, INVALID = range(8)


class Puppet:
    """The program, and what it has said."""

    def __init__(self, place, url, **environment):
        self.process = place.run(PUPPET, environment=dict(environment, HOLDFAST_URL=url), stdin=subprocess.PIPE)
        self.output = self.process.output
        self.pid = self.process.pid
        self.output.wait("^ready - 0")

    def say(self, *words):
        """Where its next line will be."""
        mark = self.output.mark()
        self.process.process.stdin.write((" ".join(map(str, words)) + "\n").encode())
        self.process.process.stdin.flush()
        return mark

    def ask(self, verb, name, *words):
        """Status, code and text."""
        mark = self.say(verb, name, *words)
        match = self.output.wait("^%s %s (.*)" % (verb, name), mark)[1].group(1).split(" ", 2)
        return int(match[0]), match[1], match[2]

    def lock(self, *words, verb="lock"):
        """The tokens, or status, code and text."""
        return self.outcome(words[0], self.say(verb, *words))

    def outcome(self, name, mark):
        match = self.output.wait("^(held|failed) %s (.*)" % name, mark)[1]
        if match.group(1) == "held":
            return list(map(int, match.group(2).split()))
        status, code, text = match.group(2).split(" ", 2)
        return int(status), code, text

    def lost(self, name, mark):
        """When it was told, the reason and the text."""
        when, match, _ = self.output.wait("^lost %s %d (\\S+) (.*)" % (name, LOST), mark)
        return when, match.group(1), match.group(2)

    def valid(self, name):
        mark = self.say("valid", name)
        return int(self.output.wait("^valid %s (.*)" % name, mark)[1].group(1))

    def end(self):
        self.process.process.stdin.close()
        expect(self.process.wait(), 0, self.output.text())


def world(place, config="", **options):
    daemon = place.daemon(master=place.redis(), config=config, **options).admitted()
    return daemon, Puppet(place, daemon.socket)


# --- who has it, and what happens ----------------------------------------------------------------------------------------


def test_holder(place):
    """who waits is told of the holder and of its place, after a second; the error of a wait that is over names the holder, too"""
    daemon, c = world(place)
    with daemon.client() as other:
        token = other("LOCK", "a", "OWNER", "me")
        other("CLIENT", "SETNAME", "deploy:1")
        marks = []
        for number in range(3):
            marks.append(c.say("lock", number, "a", "wait=%d" % (PATIENCE * 1000), "tell=1"))
            if number == 0:
                daemon.queued("a")
        for number, mark in enumerate(marks):
            said = c.output.wait("^waits %d a (\\d+) (\\S+) (\\d+)" % number, mark)[1]
            expect(said.group(2), "deploy:1,%d,%d,%d,me," % (os.getpid(), os.getuid(), token))
            expect_between(int(said.group(3)), 850, PATIENCE * 1000)
        # The order of threads is not ours: but there are three places.
        places = {int(c.output.wait("^waits %d a (\\d+)" % number, marks[number])[1].group(1)) for number in range(3)}
        expect(places, {1, 2, 3})
        status, _, text = c.lock("4", "a", "wait=100")
        expect(status, TIMEOUT)
        expect(bool(re.search(r"; the holder is deploy:1 \(pid %d, uid %d\), for \d+\.\ds$" % (os.getpid(), os.getuid()), text)), True, text)
        other("UNLOCK", "a", "OWNER", "me")
        at = marks[0]
        for _ in range(3):
            said, line = c.output.wait("^held ([0-2])", at)[1:]
            at = line + 1
            expect(c.ask("unlock", said.group(1))[0], OK)
    c.end()


def test_holder_unseen(place):
    """a user without the right to see the holder gets a timeout without one"""
    config = with_login(place).replace("name: app,", "name: app, may: [ lock ],")
    daemon = place.daemon(master=place.redis(), config=config, tcp=True).admitted()
    c = Puppet(place, "redis://app:pass%%20word@%s:%d" % daemon.tcp)
    with daemon.client() as other:
        other("LOCK", "a")
        status, _, text = c.lock("1", "a", "wait=100")
        expect((status, "; `holdfast show a` names it" in text), (TIMEOUT, True), text)
    c.end()


def test_owner(place):
    """a lock is taken again by its owner, is given back by the last, and a loss is told to all; another owner waits"""
    daemon, c = world(place)
    token = c.lock("1", "a", "owner=me", "lease=%d" % (PATIENCE * 1000))
    expect(c.lock("2", "a", "owner=me"), token)
    expect(c.lock("3", "a", "owner=you", "wait=-1")[0], BUSY)
    expect(c.lock("3", "a", "wait=-1")[0], BUSY)
    expect(c.ask("extend", "1", 5 * PATIENCE * 1000)[0], OK)
    expect(c.valid("2") > PATIENCE * 1000, True, "the other knows it, too")
    expect(c.ask("unlock", "1")[0], OK)
    taken(daemon, "a")
    expect(c.ask("check", "2")[0], OK)
    both = c.lock("3", "a,b", "owner=me")
    expect(both[:1], token)
    mark = c.output.mark()
    with daemon.client() as admin:
        admin("BREAK", "a", "TOKEN", token[0])
    for name in "23":
        expect(c.lost(name, mark)[1], "broken")
    for name in "23":
        expect(c.ask("unlock", name)[:2], (LOST, "broken"))
    free(daemon, "b")
    nothing_left(daemon)
    c.end()


def test_downgrade(place):
    """readers join a lock that was downgraded, and it is held on; a semaphore cannot be"""
    daemon, c = world(place)
    token = c.lock("1", "a")
    expect(c.ask("share", "1")[0], OK)
    c.lock("2", "a", "shared=1")
    expect((c.ask("check", "1")[0], c.ask("share", "1")[0]), (OK, OK))
    taken(daemon, "a")
    with daemon.client(form=3) as client:
        expect(sorted(one["kind"] for one in client("INSPECT", "a")["holders"]), ["shared", "shared"], token)
    c.lock("3", "s", "limit=2")
    status, code, text = c.ask("share", "3")
    expect((status, code, text.startswith("cannot share the lock s: WRONGKIND: ")), (REFUSED, "WRONGKIND", True), text)
    for name in "123":
        expect(c.ask("unlock", name)[0], OK)
    c.end()


def test_watch(place):
    """what happens to a handle and its locks is told: the connection, a cut, the return, waits, holds and losses"""
    daemon, c = world(place)
    c.say("watch")
    token = c.lock("1", "a")[0]
    c.output.wait("^seen 1 - 0 ")
    c.output.wait("^seen 5 a %d" % token)
    cut(daemon)
    c.output.wait("^seen 2 - 0 .")
    c.output.wait("^seen 3 - 0 ")
    c.say("lock", "2", "a")
    c.output.wait("^seen 4 a 1 puppet@\\S+,%d,\\d+,%d," % (c.pid, token))
    expect(c.ask("unlock", "1")[0], OK)
    c.output.wait("^seen 6 a %d" % token)
    second = int(c.output.wait("^held 2 (\\d+)")[1].group(1))
    with daemon.client() as admin:
        admin("BREAK", "a", "TOKEN", second)
    c.output.wait("^seen 7 a %d the lock a is lost: broken" % second)
    c.ask("unlock", "2")
    c.say("unwatch")
    c.lock("3", "b")
    expect("seen 5 b" in c.output.text(), False)
    c.end()


def test_silent(place):
    """a daemon that takes the connection and says nothing counts as none, after five seconds"""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        c = Puppet(place, "127.0.0.1:%d" % listener.getsockname()[1])
        started = boottime()
        status, _, text = c.lock("1", "a")
        expect((status, "does not answer" in text), (UNREACHABLE, True), text)
        expect_between(boottime() - started, 4.9, PATIENCE)


# --- one lock -------------------------------------------------------------------------------------------------------


def test_lock(place):
    """a lock has a token and a validity, is busy for others, and is free afterwards"""
    daemon, c = world(place)
    first = c.lock("1", "a", "wait=50000")[0]
    expect_between(c.valid("1"), 1, harness.LEASE_MS)
    expect(c.ask("check", "1")[0], OK)
    taken(daemon, "a")
    expect(c.lock("2", "a", "wait=-1")[0], BUSY)
    started = boottime()
    expect(c.lock("3", "a", "wait=300")[:1], (TIMEOUT,))
    expect_not_before(boottime(), started + 0.3, "the timeout", harness.WHOLE_MS)
    expect(c.ask("unlock", "1")[0], OK)
    free(daemon, "a")
    second = c.lock("4", "a")[0]
    expect(second > first, True)
    expect(c.ask("unlock", "4")[0], OK)
    nothing_left(daemon)
    c.end()


def test_kinds(place):
    """readers, permits, leases, limits of a hold, remarks, and several locks at once"""
    daemon, c = world(place)
    for name in "12":
        c.lock(name, "a", "shared=1")
    expect(c.lock("3", "a", "wait=-1")[0], BUSY)
    c.lock("p", "s", "limit=3", "permits=2", "why=two")
    c.lock("q", "s", "limit=3")
    expect(c.lock("r", "s", "limit=3", "wait=-1")[0], BUSY)
    expect(c.lock("r", "s", "wait=-1")[:2], (REFUSED, "WRONGKIND"))
    with daemon.client(form=3) as client:
        expect([one["why"] for one in client("INSPECT", "s")["holders"] if one["permits"] == 2], ["two"])
    expect(c.ask("extend", "p", 1000)[:2], (REFUSED, "ERR"))
    c.lock("l", "lease", "lease=%d" % (PATIENCE * 1000))
    expect(c.ask("extend", "l", 1000)[0], OK)
    mark = c.output.mark()
    expect_between(c.valid("l"), 0, 1000)
    expect(c.lost("l", mark)[1], "lease")
    expect(c.ask("unlock", "l")[:2], (LOST, "lease"))
    c.lock("m", "most", "hold=1000")
    expect(c.lost("m", 0)[1], "maxhold")
    tokens = c.lock("all", "z,y,x")
    expect(len(set(tokens)), 3)
    with daemon.client() as client:
        for name, token in zip("zyx", tokens):
            holder = str(client("INSPECT", name))
            expect(str(token) in holder, True, "the tokens are in the order of the call")
    expect(c.lock("none", "w,x", "wait=-1")[0], BUSY)
    free(daemon, "w")
    expect(c.ask("unlock", "all")[0], OK)
    for name in "xyz":
        free(daemon, name)
    c.end()
    nothing_left(daemon)


def test_begin(place):
    """holdfast_begin() does not block: the descriptor tells the grant, the failure, and then the loss"""
    daemon, c = world(place)
    blocker = daemon.client()
    blocker("LOCK", "a")
    mark = c.say("begin", "1", "a")
    daemon.queued("a")
    expect(c.ask("check", "1")[0], BUSY)
    expect(c.lock("2", "a", "wait=100", verb="begin")[0], TIMEOUT)
    blocker("UNLOCK", "a")
    token = c.outcome("1", mark)[0]
    mark = c.output.mark()
    blocker("BREAK", "a", "TOKEN", token)
    expect(c.lost("1", mark)[1], "broken")
    expect(c.ask("check", "1")[:2], (LOST, "broken"))
    expect(c.ask("unlock", "1")[:2], (LOST, "broken"))
    with daemon.client() as other:
        other("LOCK", "b")
        c.say("begin", "3", "b")
        daemon.queued("b")
        expect(c.ask("unlock", "3")[0], OK)
        nothing_left(daemon)
    c.end()


def test_invalid(place):
    """arguments that make no sense are refused before anything is sent"""
    daemon, c = world(place)
    for words in (("a", "wait=-2"), ("a", "lease=-1"), ("a", "permits=1"), ("a", "shared=2"),
                  ("a", "limit=2", "shared=1"), ("a,b,a",)):
        status, _, text = c.lock("1", *words)
        expect((status, text.startswith("cannot lock: ")), (INVALID, True), text)
    for ms in (YEAR_MS + 1, 2 ** 53, 2 ** 63 - 1, -2 ** 63):
        for word, name in (("wait", "wait_ms"), ("lease", "lease_ms"), ("hold", "max_hold_ms"))[ms > 0:]:
            status, _, text = c.lock("1", "a", "%s=%d" % (word, ms))
            expect((status, text), (INVALID, "cannot lock: %s: a time from 0 to 365 days is needed, not %d" % (name, ms)))
    expect(ours(daemon)["connections"], 0)
    status, _, text = c.lock("1", "}a")
    expect((status, text), (INVALID, 'cannot lock: name: it must not begin with }, as "}a" does'))
    for number, ms in enumerate((YEAR_MS, YEAR_MS + 1, 2 ** 63 - 1)):
        expect(len(c.lock(str(2 + number), "longest", "wait=%d" % ms)), 1)
        expect(c.ask("unlock", str(2 + number))[0], OK)
    c.end()


YEAR_MS = 365 * 86400 * 1000
STRANGE = (b":-1", b":0", b":9007199254740993", b":9223372036854775807", b":-9223372036854775808", b":99999999999999999999",
           b"$-1", b"$99999999999999\r\n", b"*-1", b"*0", b"*4294967296", b"*1\r\n*1\r\n:1", b"*1000000\r\n:1", b"+OK", b"$0\r\n",
           b"_", b"#t", b",nan", b"(9", b"%1\r\n:1\r\n:2", b"-", b"-ERR", b"-LOST", b"=1\r\nx", b">3\r\n$5\r\ngrant\r\n$1\r\nx\r\n:-1")


class Strange(liar.Server):
    """A daemon that answers one verb with what no daemon does."""

    def __init__(self, place, number, verb, says):
        self.socket = "%s/strange-%d" % (place.path, number)
        self.verb, self.says, self.token = verb, says, 100
        super().__init__(place, socket.AF_UNIX, self.socket)

    def answer(self, words):
        verb = words[0].upper()
        if verb == self.verb:
            return self.says + b"\r\n"
        self.token += 1
        if verb == "HELLO":
            return b"%1\r\n$6\r\nserver\r\n$8\r\nholdfast\r\n"
        if verb == "LOCK" and "ASYNC" in words:
            tag = words[words.index("ASYNC") + 1].encode()
            says = self.says if self.verb == "GRANT" else b":%d" % self.token
            return b"+QUEUED\r\n>3\r\n$5\r\ngrant\r\n$%d\r\n%s\r\n%s\r\n" % (len(tag), tag, says)
        if verb == "LOCK" and "VALIDITY" in words:
            return b"*2\r\n:%d\r\n:9000\r\n" % self.token
        return {"CHECK": b":9000\r\n", "EXTEND": b":9000\r\n", "UNLOCK": b":0\r\n"}.get(verb, b"+OK\r\n")


class Graceless(Strange):
    """A daemon that allows no grace, and cuts the first connection that sends this word."""

    def __init__(self, place, number, cuts_at):
        self.cuts_at = cuts_at
        super().__init__(place, number, "", b"")

    def answer(self, words):
        if self.cuts_at in words[:2]:
            self.cuts_at = None
            raise ConnectionResetError
        return b"-LIMIT none\r\n" if words[:2] == ["SESSION", "GRACE"] else super().answer(words)


def test_no_grace(place):
    """a session whose GRACE was refused, or was not answered before a cut, is bound to the process again on the next connection"""
    for number, cuts_at in enumerate(("GRACE", "LOCK")):
        daemon = Graceless(place, number, cuts_at)
        c = Puppet(place, daemon.socket)
        expect_between(c.lock("1", "a", "wait=50000")[0], 1, 2 ** 53)
        asked = [words[1] for words in daemon.seen if words[0] == "SESSION" and words[1] != "ONLOSS"]
        expect(asked, ["BIND", "GRACE"] * 2, cuts_at)
        c.process.kill()


def strange_to_program(place, number, verb, says):
    c = Puppet(place, Strange(place, number, verb, says).socket)
    got = c.lock("1", "a", "wait=20", "lease=100000")
    what = repr((verb, says, got))
    expect(isinstance(got, list) or got[0] in (BUSY, TIMEOUT, REFUSED, UNREACHABLE, LOST), True, what)
    if isinstance(got, list):
        expect_between(got[0], 1, 2 ** 53, what)
        expect_between(c.valid("1"), 0, YEAR_MS, what)
        c.ask("extend", "1", 1000)
        c.ask("check", "1")
        expect_between(c.valid("1"), 0, YEAR_MS, what)
    c.process.kill()


def strange_to_command(place, number, verb, says):
    run = place.run(harness.HOLDFAST, "run", "-w", "0.02", "z", "--", "true",
                    environment={"HOLDFAST_URL": Strange(place, number, verb, says).socket})
    expect_between(run.wait(), 0, 127, repr((verb, says)) + run.output.tail())
    expect("Assertion" in run.output.text(), False, run.output.tail())


def test_strange(place):
    """whatever number or form a daemon answers with, a program with the library goes on, and `holdfast run` ends with a status"""
    cases = [(strange_to_program, verb, says) for verb in
             ("LOCK", "GRANT", "CHECK", "EXTEND", "UNLOCK", "SESSION", "HELLO", "CANCEL") for says in STRANGE]
    cases += [(strange_to_command, verb, says) for verb in ("CHECK", "UNLOCK", "SESSION") for says in STRANGE[:6]]
    cases += [(strange_to_command, "LOCK", before + says) for before in (b"", b"*2\r\n:5\r\n") for says in STRANGE]
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        for done in [pool.submit(play, place, n, verb, says) for n, (play, verb, says) in enumerate(cases)]:
            done.result()


def test_closed(place):
    """a program that closes all descriptors goes on locking, and its files that got their numbers stay its own; and the library
    takes no number of a standard descriptor"""
    daemon = place.daemon(master=place.redis(), config=QUIET, tcp=True).admitted()
    for url in (daemon.socket, "tcp://127.0.0.1:%d" % daemon.port):
        for n, how in enumerate(("all", "silent", "standard")):
            report = os.path.join(place.path, "report-%d-%s" % (n, "tcp" if url.startswith("tcp") else "unix"))
            program = place.run(CLOSER, how, report, environment={"HOLDFAST_URL": url})
            status = program.wait()
            text = open(report, encoding="utf-8").read() if os.path.exists(report) else ""
            expect((status, text), (0, ""), how)
    nothing_left(daemon)


def test_no_daemon(place):
    """no daemon, another server, a closed directory and a login that fails are told as what they are"""
    redis = place.redis()
    path = os.path.join(place.path, "nowhere")
    status, _, text = Puppet(place, path).lock("1", "a", "wait=-1")
    expect((status, path in text, "is holdfastd running" in text), (UNREACHABLE, True, True), text)
    status, _, text = Puppet(place, "unix:%s" % redis.socket).lock("1", "a")
    expect((status, "no holdfastd" in text), (UNREACHABLE, True), text)
    process = place.run(PUPPET, environment={"HOLDFAST_URL": "http://x"}, stdin=subprocess.PIPE)
    process.output.wait("^ready - %d - the address of holdfastd: HOLDFAST_URL: " % INVALID)
    process.process.stdin.close()
    process.wait()


def test_default_place(place):
    """without an address the daemon is looked for anew until one has served; then the handle stays with it"""
    if os.path.exists("/run/holdfast/holdfast.sock"):
        raise harness.Skip("this host has a daemon of its own at /run/holdfast/holdfast.sock")
    where = os.path.join(place.path, "runtime", "holdfast", "holdfast.sock")
    c = Puppet(place, "", XDG_RUNTIME_DIR=os.path.join(place.path, "runtime"))
    status, _, text = c.lock("1", "a", "wait=-1")
    expect((status, "/run/holdfast/holdfast.sock: " in text, "no socket at %s either" % where in text),
           (UNREACHABLE, True, True), text)
    daemon = place.daemon(master=place.redis()).admitted()
    os.makedirs(os.path.dirname(where))
    os.symlink(daemon.socket, where)
    os.chmod(os.path.dirname(where), 0o777)
    status, _, text = c.lock("5", "a", "wait=100")
    expect((status, "%s is not taken: everybody may write to its directory" % where in text), (UNREACHABLE, True), text)
    os.chmod(os.path.dirname(where), 0o755)
    expect(len(c.lock("2", "a", "wait=50000")), 1)
    expect(c.ask("unlock", "2")[0], OK)
    os.unlink(where)
    daemon.kill()
    status, _, text = c.lock("3", "a", "wait=100")
    expect((status, where in text, "is holdfastd running" in text), (UNREACHABLE, True, True), text)
    c.end()


def test_texts(place):
    """an error is one line whatever the name is, and says who has the lock"""
    daemon, c = world(place)
    with daemon.client() as other:
        text = c.lock("2", "a\\nb")[2]
        expect(text.startswith("cannot lock: name: 1 to 512 bytes "), True, text)
        expect(text.endswith(' not "a\\nb"'), True, text)
        other("LOCK", "$(a)")
        text = c.lock("2", "$(a)", "wait=-1")[2]
        expect(text.endswith("; `holdfast show NAME` names it"), True, text)
        text = c.lock("2", "$(a)", "wait=100")[2]
        expect("until the end of the wait; the holder is a client (pid %d, " % os.getpid() in text, True, text)
        other("LOCK", "theirs")
        text = c.lock("2", "theirs", "wait=-1")[2]
        expect(text, "cannot lock theirs: another locker has it; `holdfast show theirs` names it")
    c.lock("3", "ours")
    c.lock("4", "read", "shared=1")
    for name in ("ours", "read"):
        text = c.lock("5", name, "wait=-1")[2]
        expect(text, "cannot lock %s: another lock of this process has it: holdfast_unlock() gives it back" % name)
    c.lock("6", "permits", "limit=1")
    text = c.lock("7", "permits", "limit=1", "wait=-1")[2]
    expect("`holdfast show permits`" in text, True, text)
    c.end()


# --- losses ---------------------------------------------------------------------------------------------------------


def test_told(place):
    """a holder is told of BREAK while it works, and within milliseconds"""
    daemon, c = world(place, QUIET)
    times = []
    with daemon.client() as admin:
        for number in range(LOSSES):
            name = "b%d" % number
            token = c.lock(name, name)[0]
            mark = c.output.mark()
            at = boottime()
            admin("BREAK", name, "TOKEN", token)
            when, reason, _ = c.lost(name, mark)
            times.append(when - at)
            expect(reason, "broken")
            expect((c.valid(name), c.ask("unlock", name)[0]), (0, LOST))
    times.sort()
    harness.took(times[LOSSES * 99 // 100], 0.02, "p99 of %d losses" % LOSSES)
    nothing_left(daemon)
    c.end()


def test_two_handles(place):
    """of two handles in one process the older one is told of a loss before the name passes on, and neither disturbs the other"""
    daemon, c = world(place, BRISK)
    token = c.lock("1", "a")[0]
    expect(c.ask("handle", "-")[0], OK)
    c.lock("2", "b")
    for _ in range(3):
        expect(cut(daemon), 2)
        harness.until("both connected again", lambda: ours(daemon).get("connections") == 2)
    mark = c.output.mark()
    with daemon.client() as other:
        other("BREAK", "a", "TOKEN", token)
        expect(isinstance(other("LOCK", "a"), int), True)
        expect((c.ask("check", "1")[0], c.valid("1")), (LOST, 0), "when the name has passed on")
    c.lost("1", mark)
    expect((c.ask("unlock", "1")[0], c.ask("check", "2")[0], c.ask("unlock", "2")[0]), (LOST, OK, OK))
    nothing_left(daemon)


def test_master_gone(place):
    """if the master is gone for longer than a lease, the holder is told before the lease is over"""
    redis = place.redis()
    daemon = place.daemon(master=redis, config=BRISK).admitted()
    c = Puppet(place, daemon.socket)
    c.lock("1", "a")
    mark = c.output.mark()
    redis.kill()
    at = boottime()
    when, reason, text = c.lost("1", mark)
    # At the end of what was promised the library does not wait for the word of a daemon that is late.
    expect(reason in ("expired", "unreachable"), True, text)
    harness.comment("told %.0f ms after the master was killed" % ((when - at) * 1000))
    expect(c.ask("unlock", "1")[:2], (LOST, reason))
    c.end()


def test_daemon_gone(place):
    """if the daemon is killed and stays away, the holder is told at the end of what it was promised"""
    daemon, c = world(place, BRISK)
    c.lock("1", "a")
    mark = c.output.mark()
    promised = c.valid("1")
    at = boottime()
    daemon.kill()
    when, reason, text = c.lost("1", mark)
    expect(reason, "unreachable", text)
    expect(c.ask("check", "1")[0], LOST)
    harness.comment("told after %.0f ms, promised were %d ms" % ((when - at) * 1000, promised))
    expect(c.ask("unlock", "1")[:2], (LOST, "unreachable"))
    status, _, text = c.lock("2", "a", "wait=100")
    expect((status, daemon.socket in text, "is holdfastd running" in text), (UNREACHABLE, True, True), text)
    c.end()


def test_stopped_process(place):
    """a process that stood still for longer than a lease knows it before its first check answers; a shorter stop is no loss"""
    daemon, c = world(place, BRISK)
    c.lock("1", "a")
    for _ in range(3):
        c.process.stop()
        c.process.cont()
    expect(c.ask("check", "1")[0], OK)
    token = c.lock("2", "b")[0]
    c.process.stop()
    with daemon.client() as admin:
        admin("BREAK", "b", "TOKEN", token)
        expect(isinstance(admin("LOCK", "b"), int), True)  # when what the holder was promised is over
        mark = c.say("check", "2")
        c.process.cont()
        expect(int(c.output.wait("^check 2 (\\d)", mark)[1].group(1)), LOST)
    # While the answer of the daemon is missing, nothing is known, and holdfast_check() says nothing.
    c.lock("3", "c")
    over = boottime() + c.valid("3") / 1000
    c.process.stop()
    daemon.process.stop()
    harness.until("the announced deadline has passed", lambda: boottime() > over)
    mark = c.say("check", "3")
    c.process.cont()
    expect(c.output.wait("^check 3 (\\d) (\\S+)", mark)[1].groups(), (str(LOST), "unreachable"))
    daemon.process.cont()
    c.end()


def test_stopped_at_the_grant(place):
    """a process that stood still for longer than a lease, before it read how long its lock is valid, has it"""
    daemon = place.daemon(master=place.redis(), config=BRISK, tcp=True).admitted()
    net = proxy.Proxy(daemon.tcp)
    place.ends.append(net.close)
    c = Puppet(place, "127.0.0.1:%d" % net.address[1])
    net.stall(b"VALIDITY", 2.1)  # longer than a lease: the grant
    net.stall(b"CHECK", 2.1)  # and the answer to the question that follows
    c.lock("1", "a")
    expect((c.valid("1") > 0, "lost" in c.output.text()), (True, False))
    expect(c.ask("unlock", "1")[0], OK)
    free(daemon, "a")
    c.end()


# --- connections and restarts ---------------------------------------------------------------------------------------


def test_restart(place):
    """holdfast restart: holds keep their tokens, waits their places, and nobody is told anything"""
    daemon, c = world(place)
    c.lock("1", "a")
    other = daemon.client()
    other("LOCK", "b")
    waits = c.say("lock", "2", "b", "wait=%d" % (PATIENCE * 1000))
    daemon.queued("b")
    for _ in range(5):
        status, output = tool.call(place, daemon, "restart")
        expect(status, 0, output)
        expect(c.ask("check", "1")[0], OK)
        taken(daemon, "a")
    other("UNLOCK", "b")
    expect(len(c.outcome("2", waits)), 1)
    expect("lost" in c.output.text(), False)
    expect((c.ask("unlock", "1")[0], c.ask("unlock", "2")[0]), (OK, OK))
    c.end()


def test_cut(place):
    """a connection that is cut loses neither hold nor place"""
    daemon, c = world(place)
    c.lock("1", "a")
    other, behind = daemon.client(), daemon.client()
    other("LOCK", "b")
    waits = c.say("lock", "2", "b", "wait=%d" % (PATIENCE * 1000))
    daemon.queued("b")
    behind.send("LOCK", "b")
    daemon.queued("b", 2)
    for _ in range(20):
        expect(cut(daemon), 1)
        harness.until("connected again", lambda: ours(daemon).get("connections") == 1)
        taken(daemon, "a")
    other("UNLOCK", "b")
    expect(len(c.outcome("2", waits)), 1, "before the one behind it")
    expect((c.ask("check", "1")[0], "lost" in c.output.text()), (OK, False))
    expect((c.ask("unlock", "2")[0], c.ask("unlock", "1")[0]), (OK, OK))
    free(daemon, "a")
    c.end()


def test_crash(place):
    """after a crash of the daemon a holder has its lock with the same token, and a wait goes on"""
    daemon, c = world(place)
    token = c.lock("1", "a")[0]
    c.lock("x", "b")
    waits = c.say("lock", "2", "b", "wait=%d" % (PATIENCE * 1000))
    daemon.queued("b")
    daemon.kill()
    daemon.start()
    daemon.queued("b")
    with daemon.client() as client:
        expect(str(token) in str(client("INSPECT", "a")), True)
    expect((c.ask("check", "1")[0], c.ask("unlock", "x")[0]), (OK, OK))
    expect(len(c.outcome("2", waits)), 1)
    expect((c.ask("unlock", "2")[0], c.ask("unlock", "1")[0]), (OK, OK))
    free(daemon, "a")
    free(daemon, "b")
    c.end()


def test_plain_stop(place):
    """a daemon that is stopped and started again has lost the lock, and says so when it answers; a wait goes on"""
    daemon, c = world(place, "lease: 12s\n")  # longer than a refused request is repeated
    c.lock("1", "a")
    c.lock("x", "b")
    waits = c.say("lock", "2", "b", "wait=%d" % (PATIENCE * 1000))
    daemon.queued("b")
    mark = c.output.mark()
    over = boottime() + c.valid("x") / 1000
    daemon.terminate()
    daemon.start()
    when, reason, text = c.lost("1", mark)
    expect(reason, "unknown" if when < over - 1 else reason, text)
    token = c.outcome("2", waits)
    expect(len(token), 1, str(token))
    expect_not_before(boottime(), over, "the next holder", harness.WHOLE_MS)
    expect((c.ask("unlock", "x")[0], c.ask("unlock", "1")[0], c.ask("unlock", "2")[0]), (LOST, LOST, OK))
    c.end()


def test_unlock_while_away(place):
    """what was given back while the daemon was away, or could not answer, is free when it is there again"""
    daemon, c = world(place)
    c.lock("1", "a")
    c.lock("2", "b")
    daemon.process.stop()
    expect(c.ask("unlock", "2")[0], UNREACHABLE)
    daemon.kill()
    expect(c.ask("unlock", "1")[0], UNREACHABLE)
    daemon.start()
    free(daemon, "a")
    free(daemon, "b")
    nothing_left(daemon)
    c.end()


def test_tcp(place):
    """over TCP with a login: a cut and a silent network are no loss, a wrong password is told"""
    daemon = place.daemon(master=place.redis(), config=with_login(place), tcp=True).admitted()
    net = proxy.Proxy(daemon.tcp)
    place.ends.append(net.close)
    c = Puppet(place, "redis://app:pass%%20word@127.0.0.1:%d" % net.address[1])
    c.lock("1", "a")
    for number in range(3):
        net.reset()
        c.lock("n%d" % number, "b", "wait=50000")
        taken(daemon, "a")
        expect(c.ask("unlock", "n%d" % number)[0], OK)
    net.hold(proxy.UP, proxy.DOWN)
    waits = c.say("lock", "2", "c", "wait=50000")
    harness.until("the silence is noticed", lambda: len(net.pairs) > 1)
    net.go()
    expect(len(c.outcome("2", waits)), 1)
    expect((c.ask("check", "1")[0], c.ask("unlock", "1")[0], "lost" in c.output.text()), (OK, OK, False))
    free(daemon, "a")
    c.end()
    for url, code in (("redis://app:wrong@127.0.0.1:%d", "WRONGPASS"), ("127.0.0.1:%d", "NOAUTH")):
        wrong = Puppet(place, url % daemon.port)
        expect(wrong.lock("1", "a")[:2], (REFUSED, code))
        wrong.end()


@harness.busy
def test_nothing_left_after_cuts(place):
    """8 threads lock one name while connections are cut at random: no error, and nothing is left locked"""
    daemon, c = world(place, QUIET)
    marks = [c.say("spin", 100) for _ in range(8)]
    cuts = 0
    while cuts < 100:
        cuts += cut(daemon)
        time.sleep(random.random() * 0.02)  # no event: a cut may come at any time
        if len(re.findall("^spin - ", c.output.text(), re.M)) == 8:
            break
    harness.until("all threads are done", lambda: len(re.findall("^spin - ", c.output.text(), re.M)) == 8)
    for match in re.findall("^spin - (.*)", c.output.text(marks[0]), re.M):
        expect(match[:1], "0", match)
    nothing_left(daemon)
    free(daemon, "spin")
    harness.comment("800 locks, %d cuts" % cuts)
    c.end()


# --- cancelled waits ------------------------------------------------------------------------------------------------


def test_cancelled(place):
    """a descriptor that becomes readable ends the wait at any moment, and leaves neither a hold nor a place"""
    daemon, c = world(place)
    with daemon.client() as other:
        other("LOCK", "a")
        mark = c.say("lock", "1", "a")
        daemon.queued("a")
        c.say("cancel", "1")
        expect(c.outcome("1", mark)[0], CANCELLED)
        nothing_left(daemon)
    for number in range(60):  # in every phase of a wait that would be granted
        mark = c.say("lock", "c%d" % number, "a")
        time.sleep(number * 0.00002)
        c.say("cancel", "c%d" % number)
        outcome = c.outcome("c%d" % number, mark)
        if isinstance(outcome, list):
            expect(c.ask("unlock", "c%d" % number)[0], OK)
        else:
            expect(outcome[0], CANCELLED)
    nothing_left(daemon)
    free(daemon, "a")
    daemon.kill()
    mark = c.say("lock", "away", "a")
    c.say("cancel", "away")
    expect(c.outcome("away", mark)[0], CANCELLED)
    c.end()


# --- processes ------------------------------------------------------------------------------------------------------


def test_killed_holder(place):
    """the lock of a killed process is free at once, and so is the place of one that waited"""
    daemon = place.daemon(master=place.redis()).admitted()
    with daemon.client() as blocker:
        c = Puppet(place, daemon.socket)
        c.lock("1", "a")
        blocker("LOCK", "b")
        c.say("lock", "2", "b")
        daemon.queued("b")
        c.process.kill()
        blocker("UNLOCK", "b")
        free(daemon, "a")
        free(daemon, "b")


def test_fork(place):
    """a forked child has no lock, locks by itself, and gives back nothing of its parent; it does not keep it either"""
    daemon = place.daemon(master=place.redis(), config=with_login(place, "lease: 5s\n"), tcp=True).admitted()
    for url in (daemon.socket, "redis://app:pass%%20word@127.0.0.1:%d" % daemon.port):
        c = Puppet(place, url)
        c.lock("1", "a")
        expect(c.ask("fork", "1")[0], 0)
        expect(c.ask("check", "1")[0], OK)
        taken(daemon, "a")
        free(daemon, "child")
        child = int(c.output.wait(r"^child (\d+)", c.say("linger"))[1].group(1))
        try:
            c.process.kill()
            free(daemon, "a")
        finally:
            with os.fdopen(os.pidfd_open(child)) as ended:
                os.kill(child, signal.SIGKILL)
                select.select([ended], [], [])


def test_close(place):
    """holdfast_close() gives back all locks, ends all waits, and its thread; a program may lock again with a new handle"""
    daemon, c = world(place)
    threads = len(os.listdir("/proc/%d/task" % c.pid))
    c.lock("1", "a")
    expect(len(os.listdir("/proc/%d/task" % c.pid)) > threads, True)
    with daemon.client() as other:
        other("LOCK", "b")
        c.say("begin", "2", "b")
        daemon.queued("b")
        expect(c.ask("close", "-")[0], OK)
        nothing_left(daemon)
        free(daemon, "a")
    harness.until("its thread has ended", lambda: len(os.listdir("/proc/%d/task" % c.pid)) == threads)
    expect(len(c.lock("3", "a")), 1)
    expect(c.ask("unlock", "3")[0], OK)
    c.end()


def test_signals(place):
    """the thread of the library takes no signal, and none is handled, ignored or sent by it"""
    daemon, c = world(place)
    c.lock("1", "a")
    daemon.kill()
    daemon.start()
    expect(c.ask("check", "1")[0], OK)
    deadly = sum(1 << number - 1 for number in (signal.SIGTERM, signal.SIGINT, signal.SIGPIPE, signal.SIGUSR1))
    blocked = {}
    for task in os.listdir("/proc/%d/task" % c.pid):
        with open("/proc/%d/task/%s/status" % (c.pid, task), encoding="ascii") as stream:
            status = dict(line.split(":\t", 1) for line in stream if ":\t" in line)
        blocked[int(task)] = int(status["SigBlk"], 16) & deadly
        expect(int(status["SigCgt"], 16) & deadly, 0)
        expect(int(status["SigIgn"], 16) & (1 << signal.SIGUSR1 - 1), 0)
    expect((blocked.pop(c.pid), deadly in blocked.values()), (0, True), "the thread of the library blocks them")
    c.end()


# --- documents and the installed library ----------------------------------------------------------------------------

# What the functions of the document use.
PRELUDE = """
#define _GNU_SOURCE
#include <holdfast.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>
static inline void report(void) {}
static inline int serve_one(int jobs) { return jobs < 0; }
int serve(struct holdfast *hf, int jobs);
struct holdfast *open_and_log(void);
int report_once(struct holdfast *hf); void kinds(struct holdfast *hf); struct holdfast_lock *lock_until_interrupted(struct holdfast *hf, struct holdfast_error *error);
"""
EPILOGUE = """
int main(void)
{
    struct holdfast *hf = open_and_log();
    struct holdfast_lock *lock = lock_until_interrupted(hf, NULL);
    int bad = lock == NULL || serve(hf, 0) != 0 || report_once(hf) != 0;
    kinds(hf);
    holdfast_unlock(lock, NULL);
    holdfast_close(hf);
    return bad;
}
"""

PLUS = """
#include <holdfast.h>
#include <memory>
%s
int main()
{
    holdfast *hf = holdfast_open(nullptr, nullptr);
    int bad = deploy(hf) != 0 || deploy(hf) != 0;
    holdfast_close(hf);
    return bad;
}
"""


def installed(place):
    """Where `make install-library` has put it."""
    root = os.path.join(place.path, "root")
    environment = {word: value for word, value in os.environ.items() if not word.startswith("MAKE")}
    done = subprocess.run(["make", "-s", "-C", harness.ROOT, "O=" + harness.BUILD, "LTO=", "prefix=" + root, "install-library"],
                          env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    expect(done.returncode, 0, done.stdout.decode())
    return root


def flags(root, *words):
    environment = dict(os.environ, PKG_CONFIG_PATH=os.path.join(root, "lib", "pkgconfig"))
    return subprocess.run(["pkg-config", *words, "holdfast"], env=environment, stdout=subprocess.PIPE,
                          check=True).stdout.decode().split()


def compiled(place, name, text, *options, compiler="cc"):
    source, program = os.path.join(place.path, name), os.path.join(place.path, name + ".program")
    with open(source, "w", encoding="utf-8") as stream:
        stream.write(text)
    done = subprocess.run([compiler, "-Wall", "-Wextra", "-Werror", "-O2", source, "-o", program, *options],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    expect(done.returncode, 0, done.stdout.decode())
    return program


def document(*words):
    with open(os.path.join(harness.ROOT, *words), encoding="utf-8") as stream:
        return stream.read()


def built_manual():
    with open(os.path.join(harness.BUILD, "man", "holdfast.3"), encoding="utf-8") as stream:
        return stream.read()


def without_sanitizers():
    with open(PUPPET, "rb") as stream:
        if b"__asan_init" in stream.read():
            raise harness.Skip("programs of others cannot be linked with a library that has sanitizers in it")


def test_readme(place):
    """the programs of the README work with the installed library: shared, static, and from C++"""
    without_sanitizers()
    daemon = place.daemon(master=place.redis()).admitted()
    root = installed(place)
    first, *others = re.findall(r"```c\n(.*?)```", document("client", "c", "README.md"), re.S)
    expect(len(others) >= 5, True)
    shared = flags(root, "--cflags", "--libs") + ["-Wl,-rpath," + os.path.join(root, "lib")]
    static = flags(root, "--cflags", "--libs-only-L") + ["-l:libholdfast.a", "-lssl", "-lcrypto", "-pthread"]
    programs = [compiled(place, "first.c", first, *shared), compiled(place, "static.c", first, *static),
                compiled(place, "others.c", PRELUDE + "".join(others) + EPILOGUE, *shared)]
    if subprocess.run(["c++", "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0:
        plus = re.search(r"```c\+\+\n(.*?)```", document("client", "c", "README.md"), re.S).group(1)
        programs.append(compiled(place, "others.cc", PLUS % plus, "-std=c++11", *shared, compiler="c++"))
        programs.append(compiled(place, "plus.cc", first.replace("{.wait_ms = 5000}", "{}"), *shared, compiler="c++"))
    for program in programs:
        process = place.run(program, environment={"HOLDFAST_URL": daemon.socket})
        expect((process.wait(), "others" in program or "one at a time" in process.output.text()), (0, True),
               process.output.text())
        expect("others.c." not in program or "deploy waited " in process.output.text(), True, process.output.text())
    manual = re.search(r"\.Bd -literal\n(#include.*?)\.Ed", built_manual(), re.S).group(1)
    plain = re.sub(r"/\*.*?\*/", "", first)
    expect(manual.replace("\\en", "\\n").split(), plain.split(), "the example of holdfast(3)")


def test_symbols(place):
    """header, export list, symbols of the package, manual and library name the same functions, and nothing else is seen"""
    root = installed(place)
    functions = sorted(set(re.findall(r"\b(holdfast_\w+)\(", re.sub(r"/\*.*?\*/", "", document("client", "c", "holdfast.h"),
                                                                     flags=re.S))))
    expect(sorted(re.findall(r"^\t(holdfast_\w+);", document("client", "c", "holdfast.map"), re.M)), functions)
    expect(sorted(re.findall(r"^ (holdfast_\w+)@", document("packaging", "debian", "libholdfast0.symbols"), re.M)), functions)
    expect(sorted(set(re.findall(r"^\.F[no] (holdfast_\w+)", built_manual(), re.M))), functions)
    for words in (["nm", "-D", os.path.join(root, "lib", "libholdfast.so")], ["nm", "-g", os.path.join(root, "lib", "libholdfast.a")]):
        text = subprocess.run(words + ["--defined-only"], stdout=subprocess.PIPE, check=True).stdout.decode()
        seen = sorted(set(re.findall(r" [A-Z] (?!LIBHOLDFAST_0)([^@\s]+)", text)))
        expect([one for one in seen if not one.startswith("__") and "asan" not in one], functions, words[1])
    text = subprocess.run(["objdump", "-p", os.path.join(root, "lib", "libholdfast.so")], stdout=subprocess.PIPE,
                          check=True).stdout.decode()
    expect(re.search(r"SONAME +(\S+)", text).group(1), "libholdfast.so.0")
    expect([one for one in re.findall(r"NEEDED +(\S+)", text) if "san" not in one and "gcc" not in one
            and not one.startswith(("libm.", "ld-linux", "libssl.", "libcrypto."))], ["libc.so.6"])


if __name__ == "__main__":
    harness.main(globals())
