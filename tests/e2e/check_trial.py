#!/usr/bin/env python3
"""Before a daemon becomes the next program, it tries it: a program that would not start costs nothing."""

import os
import signal
import struct
import sys

import errands
import harness
import resp
import tool
from check_container import contained, ends
from errands import granted, handovers, held
from harness import expect, expect_between, expect_code

MOST = 10  # seconds that a trial may take: HANDOVER_TRY_MS


def write_program(path, contents, mode=0o755):
    with open(path + ".new", "wb") as stream:
        stream.write(contents)
    os.chmod(path + ".new", mode)
    os.replace(path + ".new", path)


def script(path, trial, otherwise="exit 9"):
    """A program that does this when it is tried, and that when it is executed."""
    write_program(path, ('#!/bin/bash\nif [ "$1" = -t ]; then\n%s\nfi\n%s\n' % (trial, otherwise)).encode())


def loaded_bytes(program):
    """How much of this program is loaded, without what is for debuggers only."""
    first, size, count = struct.unpack_from("<Q", program, 32)[0], *struct.unpack_from("<HH", program, 54)
    parts = [struct.unpack_from("<IIQQQQ", program, first + n * size) for n in range(count)]
    return max(offset + bytes_ for kind, _flags, offset, _at, _to, bytes_ in parts if kind == 1)


class Stage:
    """A daemon whose program the test replaces, a client that holds a lock, and one that waits."""

    def __init__(self, place, name="d1", master=None, **options):
        self.place = place
        self.daemon = place.idle_daemon(name, master=place.redis(name + ".redis") if master is None else master, **options)
        self.path = os.path.join(self.daemon.folder, "holdfastd")
        with open(harness.HOLDFASTD, "rb") as stream:
            self.good = stream.read()
        self.restore()
        self.daemon.wrap = ["sh", "-c", "shift; exec %s \"$@\"" % self.path, "sh"]
        self.daemon.start().admitted()
        self.holder, self.waiter = self.daemon.client(), self.daemon.client()
        self.token = granted(self.holder("LOCK", "a", "WAIT", 45000))
        self.waiter.send("LOCK", "a")
        self.daemon.queued("a")

    def restore(self):
        write_program(self.path, self.good)

    def changed(self, before, after):
        """The program with these bytes in place of those."""
        expect(before in self.good, True, before)
        expect(len(before), len(after))
        return self.good.replace(before, after)

    def children(self):
        return tool.children(self.daemon.process.pid)

    def refused(self, *words):
        """Whoever asks is told why, and nothing is lost."""
        mark = self.daemon.output.mark()
        with self.daemon.client() as admin:
            told = admin("RESTART")
        expect_code(told, "ERR")
        expect(told.endswith("; this process goes on"), True, told)
        line = self.daemon.output.wait("handover.failed why=.*", mark)[1].group()
        for word in words:
            expect(word in told, True, told)
            expect(word in line, True, line)
        held(self.holder, "a", self.token)
        expect(handovers(self.daemon), 0)

    def goes_on(self):
        done = handovers(self.daemon)
        held(self.holder, "a", self.token)
        expect(len(self.daemon.client()("RESTART")), 10)
        expect(handovers(self.daemon), done + 1)
        held(self.holder, "a", self.token)
        expect(self.holder("UNLOCK", "a"), 0)
        expect_between(self.waiter.reply(), self.token + 1, 2 ** 53)


def hangs(stage):
    """A program whose trial ends when the test says so; returns how to say it."""
    pipe = stage.path + ".pipe"
    if not os.path.exists(pipe):
        os.mkfifo(pipe)
    stage.restore()
    os.replace(stage.path, stage.path + ".real")
    script(stage.path, "read -r status < %s; exit $status" % pipe, 'exec -a "$0" %s "$@"' % (stage.path + ".real"))

    def come_up():
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return None  # nobody reads yet

    def end(status, restored=False):
        writer = harness.until("the program is tried", come_up)
        if restored:
            stage.restore()  # the shell has read it
        os.write(writer, b"%d\n" % status)
        os.close(writer)

    return end


def test_does_not_start(place):
    """a program that is cut off, of another machine, without a library or a right, or that ends or crashes: nothing is lost"""
    stage = Stage(place)
    other = bytearray(stage.good)
    struct.pack_into("<H", other, 18, 0xf3 if other[18] != 0xf3 else 0x3e)  # e_machine
    library = b"libevent_core-2"
    for contents, words in (
            (b"", ("Exec format error",)),
            (b"no program", ("Exec format error",)),
            (stage.good[:64], ()),
            (stage.good[:loaded_bytes(stage.good) // 2], ()),
            (bytes(other), ("Exec format error",)),
            (stage.changed(library, b"libevent_gone-2"), ("-t: exit status 127: ", "libevent_gone-2",)),
            (b"#!/nowhere/interpreter\n", ("No such file or directory",)),
            (b"#!/bin/sh\necho; echo 'not today'; echo 'nor tomorrow' >&2; exit 3\n", ("%s -t: exit status 3: not today" % stage.path,)),
            (b"#!/bin/sh\nprintf 'a\\r\\033[1m%01000d' 7; exit 3\n", ("exit status 3: a",)),
            (b"#!/bin/sh\nkill -SEGV $$\n", ("-t: killed by signal 11",))):
        write_program(stage.path, contents)
        stage.refused(*words)
    write_program(stage.path, stage.good, 0o644)
    if os.geteuid() != 0:
        stage.refused("Permission denied")
    os.unlink(stage.path)
    os.mkdir(stage.path)
    stage.refused("Permission denied")
    os.rmdir(stage.path)
    stage.refused("No such file or directory")
    stage.restore()
    stage.goes_on()


def test_refuses_the_state(place):
    """a program that cannot read the state is refused, and says why: of another form, another boot, or cut off"""
    stage = Stage(place)
    os.rename(stage.path, stage.path + ".real")
    for number, (change, words) in enumerate((
            ("os.pwrite(3, b'holdfast hand-over 9 ', 0)", "it does not begin as a state of holdfast"),
            ("os.pwrite(3, b'holdfast state 9', 64)", 'it does not begin with "holdfast state 1"'),
            ("os.pwrite(3, b'0' * 8, 64 + 17 + 6 + 4)", "it is of another boot"),
            ("os.ftruncate(3, 100)", "cannot read the state"),
            ("os.ftruncate(3, 0)", "it does not begin as a state of holdfast"))):
        write_program(stage.path, ("#!%s\nimport os, sys\n%s\nos.execv(%r, sys.argv)\n" % (
            sys.executable, change, stage.path + ".real")).encode())
        stage.refused(" -t: exit status 65: holdfastd: version")
        expect(words in stage.daemon.output.text().split("handover.failed")[number + 1].replace("\\", ""), True, words)
    stage.restore()
    stage.goes_on()


def test_refuses_the_configuration(place):
    """a configuration that only the next program refuses is not taken up, and its text is passed on"""
    stage = Stage(place, config="lease: 2s\nclock-margin: 200ms\n")
    write_program(stage.path, stage.changed(b"clock-margin\0", b"clock-morgin\0"))
    with stage.daemon.client() as admin:
        expect(admin("RELOAD"), "reloaded")
    stage.daemon.configure("lease: 2s\nclock-margin: 200ms\nrules: [ { match: 'q*', wait: 0ms } ]\n")
    stage.refused("-t: exit status 78: holdfastd: ", "clock-margin")
    first = stage.daemon.client()
    granted(first("LOCK", "q1"))
    waiting = stage.daemon.client()
    waiting.send("LOCK", "q1")
    stage.daemon.queued("q1")
    stage.restore()
    stage.goes_on()


def test_private_master(place):
    """with a private redis-server, too, a program that does not start costs nothing"""
    stage = Stage(place, master="")
    server = stage.children()
    script(stage.path, "echo not today; exit 3")
    stage.refused("not today")
    expect(stage.children(), server)
    stage.restore()
    stage.goes_on()
    expect(stage.children(), server)


def test_as_the_first_process(place):
    """as process 1, which takes leave of every child, it learns how the trial ended"""
    daemon, child = contained(place, master=place.redis())
    for number in range(10):
        os.kill(child, signal.SIGUSR2)
        harness.until("it is handed over", lambda: handovers(daemon) > number)
    ends(daemon, child, signal.SIGTERM)


def test_children_are_ignored(place):
    """also if it was started where nobody waits for children (SIGCHLD ignored) it learns how the trial ended"""
    daemon = place.idle_daemon(master=place.redis())
    daemon.wrap = ["sh", "-c", "trap '' CHLD; exec \"$@\"", "sh"]
    daemon.start().admitted()
    expect(len(daemon.client()("RESTART")), 10)


def test_what_it_is_given(place):
    """the program that is tried has no descriptor of the daemon, no signal blocked or ignored, and no tie to the service manager"""
    stage = Stage(place)
    seen = stage.path + ".seen"
    script(stage.path, 'ls -l /proc/self/fd | sed -n "s/.* \\([0-9]*\\) -> /\\1 /p" >%s\n'
           'grep -E "Sig(Blk|Ign)" /proc/self/status >>%s; env >>%s; echo "$@" >>%s; exit 3' % (seen, seen, seen, seen))
    stage.refused()
    with open(seen, encoding="utf-8") as stream:
        text = stream.read()
    lines = text.splitlines()
    open_files = {int(line.split()[0]): line.split()[1] for line in lines if line[:1].isdigit()}
    expect(open_files.pop(0), "/dev/null")
    expect([number for number in sorted(open_files) if number > 3], [4] if 4 in open_files else [], text)
    expect("/proc/" in open_files.get(4, "/proc/"), True, "that of ls")
    expect("memfd:holdfast-state" in open_files[3], True, text)
    blocked, ignored = (int(line.split()[1], 16) for line in lines if line.startswith("Sig"))
    expect(blocked, 0)
    expect(ignored & (1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1), 0)
    expect("HOLDFAST_HANDOVER=3" in lines, True, text)
    expect("NOTIFY_SOCKET" in text, False)
    stage.restore()
    stage.goes_on()


def test_served_meanwhile(place):
    """while the program is tried clients are served, and all who ask for a restart wait for the same trial"""
    stage = Stage(place)
    end = hangs(stage)
    for status in (3, 0):
        admins = [stage.daemon.client() for _ in range(3)]
        admins[0].send("RESTART")
        harness.until("it is tried", stage.children)
        client = stage.daemon.client()
        for number in range(20):
            name = "b%d.%d" % (status, number)
            held(client, name, granted(client("LOCK", name, "WAIT", 45000)))
        for admin in admins[1:]:
            admin.send("RESTART")
        stage.daemon.process.signal(signal.SIGUSR2)
        stage.daemon.process.signal(signal.SIGHUP)
        expect(client("RELOAD"), "reloaded")
        harness.until("all wait", lambda: stage.daemon.output.text().count("daemon.restart by=") >= (3 if status else 6))
        expect(len(stage.children()), 1)
        expect([admin.silent(0.0) for admin in admins], [True] * 3)
        expect(handovers(stage.daemon), 0)
        end(status, restored=status == 0)  # for the restarts of the others
        answers = [admin.reply() for admin in admins]
        if status:
            expect(["-t: exit status 3" in answer for answer in answers], [True] * 3, answers)
            stage.daemon.output.wait("handover.failed")
        else:
            expect([len(answer) for answer in answers], [10] * 3, answers)
    expect(handovers(stage.daemon), 3)
    expect(stage.daemon.output.text().count("handover.failed"), 1)
    expect(client("UNLOCK", name), 0)
    stage.goes_on()


def test_who_asked_is_gone(place):
    """a restart goes on if the client that asked for it has gone, and a trial that fails then tells nobody but the log"""
    stage = Stage(place)
    end = hangs(stage)
    for status in (3, 0):
        admin = stage.daemon.client()
        admin.send("RESTART")
        harness.until("it is tried", stage.children)
        admin.close()
        mark = stage.daemon.output.mark()
        clients = int(stage.daemon.info()["connected_clients"])
        harness.until("it is gone", lambda: int(stage.daemon.info()["connected_clients"]) <= clients)
        end(status)
        stage.daemon.output.wait("handover.done" if status == 0 else "handover.failed why=.*exit status 3", mark)
        held(stage.holder, "a", stage.token)
    stage.restore()
    stage.goes_on()


def test_changes_meanwhile(place):
    """a configuration that is changed while the program is tried is looked at again before the hand-over"""
    stage = Stage(place)
    end = hangs(stage)
    admin = stage.daemon.client()
    admin.send("RESTART")
    harness.until("it is tried", stage.children)
    stage.daemon.configure("lease: 2s\nnamespace: other\n")
    end(0)
    told = admin.reply()
    expect_code(told, "ERR")
    expect("namespace" in told, True, told)
    held(stage.holder, "a", stage.token)
    stage.daemon.configure("lease: 2s\n")
    stage.restore()
    stage.goes_on()


def test_ends_meanwhile(place):
    """a daemon that ends while the program is tried ends as always, says so to who asked, and leaves no process"""
    for number, way in enumerate(("SIGTERM", "DRAIN", "DRAIN WAIT")):
        stage = Stage(place, "d%d" % number)
        hangs(stage)
        admin = stage.daemon.client()
        admin.send("RESTART")
        trial, = harness.until("it is tried", stage.children)
        if way == "SIGTERM":
            stage.daemon.process.signal(signal.SIGTERM)
        else:
            other = stage.daemon.client()
            other.send(*way.split(), *(["1"] if way.endswith("WAIT") else []))
        told = admin.reply()
        expect(told, resp.Error("DRAINING this daemon is ending"))
        expect(stage.daemon.process.wait(), 0)
        expect(stage.holder.closed(), True)
        harness.until("the program that was tried is gone", lambda: not os.path.exists("/proc/%d" % trial))


def test_replaced_after_the_trial(place):
    """a program that goes between its trial and its execution: the old process goes on"""
    stage = Stage(place)
    script(stage.path, "rm -- \"$0\"; exit 0")
    stage.refused("No such file or directory")
    stage.restore()
    stage.goes_on()


def test_takes_too_long(place):
    """a trial that does not end in time, be it silent or never silent, is ended with all that it has started; nothing is lost"""
    silent, never = Stage(place, "d1"), Stage(place, "d2")
    script(silent.path, "echo wait; sleep 1000000; exit 0")
    script(never.path, "yes 'and yes'; exit 0")
    admins = [stage.daemon.client() for stage in (silent, never)]
    begun = harness.boottime()
    for admin in admins:
        admin.send("RESTART")
    started = [harness.until("it is tried", stage.children) for stage in (silent, never)]
    inner = harness.until("it sleeps", lambda: tool.children(started[0][0]))
    for admin, word in zip(admins, ("wait", "and yes")):
        told = admin.reply()
        expect("-t: it had not ended after %d ms: %s; this process goes on" % (1000 * MOST, word) in told, True, told)
    harness.expect_not_before(harness.boottime(), begun + MOST, "the end of the trial", 0.01)
    harness.until("what it had started is gone", lambda: not os.path.exists("/proc/%d" % inner[0]))
    for stage in (silent, never):
        expect(stage.children(), [])
        held(stage.holder, "a", stage.token)
        stage.restore()
        stage.goes_on()


if __name__ == "__main__":
    harness.main(globals())
