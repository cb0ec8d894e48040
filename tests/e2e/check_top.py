#!/usr/bin/env python3
"""holdfast top under a terminal of 80x24 and of 200x60, resized, driven by keys, and printed to a pipe."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import check_fleet
import check_longest
import harness
import tool
from harness import expect, expect_between


class Screen:
    """A program on a terminal that understands what ncurses sends to a `vt100`-like terminal without colours."""

    def __init__(self, place, words, rows, columns, environment):
        self.rows, self.columns = rows, columns
        self.cells = [[" "] * columns for _ in range(rows)]
        self.y = self.x = 0
        self.rest = ""
        self.master, slave = pty.openpty()
        self.size(rows, columns, slave)
        environment = dict(os.environ, TERM="ansi", LC_ALL="C.UTF-8", **environment)
        for key in ("LINES", "COLUMNS"):
            environment.pop(key, None)
        self.process = subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                                        env=environment)
        os.close(slave)
        place.ends.append(self.done)

    def size(self, rows, columns, descriptor):
        fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.cells = [[" "] * columns for _ in range(rows)]
        self.size(rows, columns, self.master)
        self.process.send_signal(signal.SIGWINCH)

    def feed(self, text):
        text = self.rest + text
        at = 0
        while at < len(text):
            found = re.match(r"\x1b\[([0-9;?]*)([A-Za-z@])|\x1b[()][A-Z0-9]|\x1b[=>78]|\x1b\[[0-9;?]*$|\x1b$", text[at:])
            if found and found.group(2) is None and at + found.end() == len(text) and re.search(r"\x1b(\[[0-9;?]*)?$", found.group(0)):
                break  # the rest has not come yet
            if found:
                if found.group(2):
                    self.control(found.group(2), [int(n) if n.isdigit() else 0 for n in found.group(1).split(";")])
                at += found.end()
            else:
                self.put(text[at])
                at += 1
        self.rest = text[at:]

    def put(self, char):
        if char == "\r":
            self.x = 0
        elif char == "\n":
            self.y = min(self.y + 1, self.rows - 1)
        elif char == "\b":
            self.x = max(self.x - 1, 0)
        elif char >= " ":
            if self.y < self.rows and self.x < self.columns:
                self.cells[self.y][self.x] = char
            self.x += 1

    def control(self, letter, numbers):
        first = numbers[0] or 1
        row = self.cells[min(self.y, self.rows - 1)]
        if letter == "H":
            self.y, self.x = first - 1, (numbers[1] if len(numbers) > 1 and numbers[1] else 1) - 1
        elif letter in "ABCD":
            self.y += {"A": -first, "B": first}.get(letter, 0)
            self.x += {"C": first, "D": -first}.get(letter, 0)
        elif letter == "G":
            self.x = first - 1
        elif letter == "d":
            self.y = first - 1
        elif letter == "J":
            for y in range(self.y, self.rows):
                self.cells[y] = [" "] * self.columns
        elif letter == "K" and numbers[0] == 1:
            row[:self.x + 1] = [" "] * min(self.x + 1, self.columns)
        elif letter == "K":
            row[self.x:] = [" "] * (self.columns - self.x)
        elif letter == "X":
            row[self.x:self.x + first] = [" "] * min(first, self.columns - self.x)
        elif letter == "b":
            for _ in range(first):
                self.put(row[self.x - 1])
        elif letter == "P":
            row[self.x:] = (row[self.x + first:] + [" "] * first)[:self.columns - self.x]
        elif letter == "@":
            row[self.x:] = ([" "] * first + row[self.x:])[:self.columns - self.x]
        elif letter in "LM":
            for _ in range(first):
                if letter == "L":
                    self.cells.insert(self.y, [" "] * self.columns)
                    self.cells.pop()
                else:
                    self.cells.pop(self.y)
                    self.cells.append([" "] * self.columns)

    def text(self):
        return "\n".join("".join(row).rstrip() for row in self.cells)

    def read(self, seconds):
        if select.select([self.master], [], [], seconds)[0]:
            try:
                self.feed(os.read(self.master, 65536).decode(errors="replace"))
            except OSError:
                pass

    def wait(self, pattern):
        until = time.monotonic() + harness.PATIENCE
        while not re.search(pattern, self.text(), re.M):
            if time.monotonic() > until:
                raise AssertionError("not on the screen: %s\n%s" % (pattern, self.text()))
            self.read(0.2)
        for _ in range(20):  # the rest of a page that is being drawn
            if not select.select([self.master], [], [], 0.02)[0]:
                break
            self.read(0)
        return self.text()

    def press(self, keys):
        os.write(self.master, keys.encode())

    def done(self):
        self.process.kill()
        self.process.wait()
        os.close(self.master)


def world(place):
    """A daemon with three names held: one has two waiters."""
    daemon = place.daemon(master=place.redis()).admitted()
    holder = daemon.client()
    holder("CLIENT", "SETNAME", "deploy")
    for name in ("idle", "busy", "böse\\name"):
        expect(holder("LOCK", name, "WHY", "release 42") > 0, True)
    for _ in range(2):
        daemon.client().send("LOCK", "busy", "WAIT", 600000)
    daemon.queued("busy", 2)
    return daemon, holder


def screen(place, daemon, rows, columns, *words):
    if not os.access(harness.HOLDFAST, os.X_OK):
        raise harness.Skip("%s is not built" % harness.HOLDFAST)
    return Screen(place, (harness.HOLDFAST, "top", "-d", "0.2") + words, rows, columns, {"HOLDFAST_URL": daemon.socket})


def test_small(place):
    """on 80x24 each line fits; the name with waiters comes first, and the head has rates and masters"""
    daemon, _ = world(place)
    shown = screen(place, daemon, 24, 80)
    shown.wait(r"^NAME +STATE +FOR +WAITING +LONGEST +HOLDER$\n^busy +held +\S+ +2 +\S+ +deploy *\n(.*\n)*idle ")
    text = shown.wait(r"^böse\\name +held ")
    expect("busiest" in text, False, text)
    expect(re.search(r"^masters 1/1 of 1 needed: \S+ adm", text, re.M) is not None, True, text)
    shown.wait(r"^per second: [\d.]+ requests")
    shown.press("q")
    expect(shown.process.wait(harness.PATIENCE), 0)


def test_large_and_resized(place):
    """on 200x60 there is room for WHY; when the terminal becomes small, the screen follows"""
    daemon, _ = world(place)
    shown = screen(place, daemon, 60, 200)
    shown.wait(r"^NAME .* HOLDER +WHY$")
    shown.wait(r"^idle +held .* deploy +release 42$")
    shown.resize(24, 80)
    shown.wait(r"^NAME +STATE +FOR +WAITING +LONGEST +HOLDER$\n^busy +held +\S+ +2")


def test_keys(place):
    """keys sort, filter, and show one lock with its queue"""
    daemon, _ = world(place)
    shown = screen(place, daemon, 24, 80)
    shown.wait("^busy ")
    shown.press("n")
    shown.wait(r"HOLDER$\n^busy .*\n^böse|HOLDER$\n^böse")
    shown.press("/id*\n")
    shown.wait(r"HOLDER$\n^idle .*\n\n")
    shown.press("/\n")
    shown.wait(r"^busy ")
    shown.press("w\n")
    text = shown.wait(r"^name +busy *$\n(.*\n)* +2\. ")
    expect(len(re.findall(r"^ +\d\. ", text, re.M)), 2, text)
    expect(re.search(r"^holder +deploy ", text, re.M) is not None, True, text)
    shown.press("\x7f")
    shown.wait(r"^idle ")
    shown.press("?")
    shown.wait("break the selected lock")


def test_break(place):
    """b breaks the selected lock, only after yes"""
    daemon, holder = world(place)
    shown = screen(place, daemon, 24, 80, "idle")
    shown.wait(r"^idle +held")
    shown.press("bno\n")
    shown.wait("^not broken$")
    expect(holder("CHECK", "idle") > 0, True)
    shown.press("byes\n")
    shown.wait("^broken; the next client has it in")
    expect(holder.closed(), True)


def test_daemon_away(place):
    """the screen says that the daemon is gone, and goes on with the next one"""
    daemon, _ = world(place)
    shown = screen(place, daemon, 24, 80)
    shown.wait("^busy ")
    daemon.kill()
    shown.wait("(?i)no daemon|refused|ended|closed|cannot")
    daemon.start()
    # Not admitted(): the lease of that name may be one of the daemon that was killed.
    expect_between(daemon.client()("LOCK", "afterwards", "WAIT", 45000), 1, 2 ** 53)
    shown.wait("^afterwards ")


def test_all_hosts(place):
    """from one host the locks of all, the longest wait first; a lock of another host is shown with its queue, and broken there; a host
    that says nothing is named; a leads to this daemon alone and back"""
    daemons = check_fleet.fleet_of(place)
    holders = [daemon.client() for daemon in daemons]
    for at, holder in enumerate(holders):
        holder("CLIENT", "SETNAME", "deploy-%d" % at)
        expect(holder("LOCK", "job/%d" % at, "WHY", "release 42") > 0, True)
    waiters = [check_longest.wait_for(daemons[2], "job/2"), check_longest.wait_for(daemons[1], "job/1")]
    there = r"^job/2 +%s +held +\S+ +1 +\S+ +deploy-2\n^job/1 +%s +held .*\n^job/0 +%s +held " % tuple(
        daemons[at].host for at in (2, 1, 0))
    shown = screen(place, daemons[0], 24, 80)
    text = shown.wait(r"^NAME +HOST +STATE +FOR +WAITING +LONGEST +HOLDER$\n" + there)
    expect(re.search(r"^3 hosts: %s 1 waiting for \S+; %s 1 waiting" % (daemons[2].host, daemons[1].host), text, re.M) is not None, True, text)
    expect(re.search(r"held 3 .* waiting 2$", text, re.M) is not None, True, text)
    shown.press("\n")
    text = shown.wait(r"^on +%s *\n(.*\n)*^holder +deploy-2 (.*\n)*^ +1\. " % daemons[2].host)
    shown.press("\x7fa")
    text = shown.wait(r"^NAME +STATE +FOR +WAITING +LONGEST +HOLDER$\n^job/0 ")
    expect(("job/2" in text, "hosts" in text), (False, False), text)
    shown.press("a")
    shown.wait(there)
    shown.press("byes\n")
    shown.wait("^broken; the next client has it in")
    expect(holders[2].closed(), True)
    shown.wait(r"^job/2 +%s +withheld " % daemons[2].host)
    daemons[1].process.stop()
    text = shown.wait(r"^3 hosts, no answer from %s: (.*\n)*^job/0 " % daemons[1].host)
    shown.wait(r"^NAME +HOST +STATE.*$\n^job/2 ")
    daemons[1].process.cont()
    shown.wait(r"^3 hosts: ")
    expect(len(waiters), 2)
    for words, wanted in (((), {"job/0", "job/1", "job/2"}), (("--here",), {"job/0"}), (("job/1",), {"job/1"})):
        status, output = tool.call(place, daemons[0], "top", "-b", "-n", 1, *words)
        expect((status, set(re.findall("^job/.", output, re.M))), (0, wanted), output)


def test_one_user(place):
    """who may not see all hosts is shown this one, and told so"""
    users = "users: [ { name: u, password-env: SECRET, names: [ '*' ] } ]\n"
    daemon = place.daemon(master=place.redis(), tcp=True, config=users, environment={"SECRET": "x"}).admitted()
    daemon.client()("LOCK", "a")
    status, output = tool.call(place, "redis://u:x@127.0.0.1:%d" % daemon.port, "top", "-b", "-n", 1)
    expect((status, "holdfast: only the locks of this daemon: NOPERM " in output, re.findall(r"^(\w+) +held", output, re.M)),
           (0, True, ["a"]), output)
    expect(re.search(r"^holdfastd [0-9.]+ at .*\nclients 2 +sessions 2 +held 1 ", output, re.M) is not None, True, output)
    expect(re.search(r"^masters 1/1 of 1 needed: ", output, re.M) is not None, True, output)


def test_batch(place):
    """to a pipe it prints pages without control sequences"""
    daemon, _ = world(place)
    status, output = tool.call(place, daemon, "top", "-b", "-n", 2, "-d", "0.1", "--sort", "name")
    expect(status, 0, output)
    expect(len(re.findall(r"^NAME +STATE", output, re.M)), 2, output)
    expect("\x1b" in output, False, repr(output))
    status, output = tool.call(place, daemon, "top", "idle")
    expect((status, re.findall(r"^(\w+) +held", output, re.M)), (0, ["idle"]), output)
    expect(tool.call(place, daemon, "top", "-b", "--sort", "colour")[0], 64)


def test_refused(place):
    """a user that may not see locks is told so instead of an empty page, and a wrong password has the exit code of every verb"""
    users = "users: [ { name: u, password-env: SECRET, may: [ lock ] } ]\n"
    daemon = place.daemon(master=place.redis(), tcp=True, config=users, environment={"SECRET": "x"}).admitted()
    daemon.client()("LOCK", "a")
    status, output = tool.call(place, "redis://u:x@127.0.0.1:%d" % daemon.port, "top", "-b", "-n", 1)
    expect((status, "NOPERM" in output and "does not have see" in output), (77, True), output)
    for words in (("top", "-b", "-n", 1), ("ls",)):
        status, output = tool.call(place, "redis://u:y@127.0.0.1:%d" % daemon.port, *words)
        expect((status, "WRONGPASS" in output), (77, True), output)


if __name__ == "__main__":
    harness.main(globals())
