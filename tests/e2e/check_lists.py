#!/usr/bin/env python3
"""Long lists: complete, page by page, and where they end early it is said how much is missing."""

import itertools
import json
import os
import resource
import time

import harness
import tool
from harness import expect, expect_between
from liar import Liar

LOCKS = 50000
PART = 10000  # locks of a session
CROWD = 1200  # clients that hold or wait


def busy(place, **options):
    """A daemon that says little, for much is said here."""
    return place.daemon(master=place.redis(), config="log: { level: warning }\n", **options).admitted()


def hold(daemon, names):
    """A connection that holds all of them."""
    client = daemon.client(3)
    for start in range(0, len(names), 500):
        part = names[start:start + 500]
        for name in part:
            client.send("LOCK", name, "ASYNC", name[-9:])
        for _ in part:
            expect(client.reply(), "QUEUED")
        for _ in part:
            expect(client.push()[0], "grant")
    return client


def printed(place, daemon, *words):
    """(what it prints on standard output, seconds)"""
    start = time.monotonic()
    status, output = tool.call(place, daemon, *words)
    expect(status, 0, output[-2000:])
    return output, time.monotonic() - start


def pages(client, *words):
    """Each page of a list."""
    cursor = "0"
    while True:
        cursor, page = client(*words, "CURSOR", cursor)
        yield page
        if cursor == "0":
            return


def test_many_locks(place):
    """of 50,000 locks ls shows all, as a table, as names and as JSON"""
    daemon = busy(place)
    names = ["job/%d" % at for at in range(LOCKS)]
    holders = [hold(daemon, names[start:start + PART]) for start in range(0, LOCKS, PART)]
    output, table_s = printed(place, daemon, "ls")
    expect(sorted(line.split()[0] for line in output.splitlines()[1:]), sorted(names))
    output, names_s = printed(place, daemon, "ls", "-q")
    expect(sorted(output.splitlines()), sorted(names))
    output, json_s = printed(place, daemon, "ls", "--json")
    expect(sorted(lock["name"] for lock in json.loads(output)), sorted(names))
    output, _ = printed(place, daemon, "ls", "-q", "job/*7")
    expect(len(output.splitlines()), LOCKS // 10)
    output, _ = printed(place, daemon, "ls", "-q", "nothing*")
    expect(output, "")
    harness.comment("ls of %d locks: %.2f s, -q: %.2f s, --json: %.2f s" % (LOCKS, table_s, names_s, json_s))
    longest = max(len(page) for page in pages(daemon.client(3), "LOCKS"))
    expect_between(longest, 100, 520)
    for holder in holders:
        holder.close()


def test_small_pages(place):
    """where clients may leave little unread, pages are small, and the list is complete all the same"""
    daemon = place.daemon(master=place.redis(), config="limits: { output-bytes: 16k }\n").admitted()
    names = ["n" * 400 + "/%d" % at for at in range(300)]
    client = hold(daemon, names)
    expect(sorted(printed(place, daemon, "ls", "-q")[0].splitlines()), sorted(names))
    waiting = [daemon.client() for _ in range(40)]
    for other in waiting:
        other.send("LOCK", names[0], "WHY", "w" * 256)
    daemon.queued(names[0], 40)
    shown = json.loads(printed(place, daemon, "show", names[0], "--json")[0])
    expect([waiter["position"] for waiter in shown["waiters"]], list(range(1, 41)))
    client.close()


def test_crowd(place):
    """sessions and show are complete, too: 1,200 sessions, which hold a name shared, wait for another, for a latch"""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard) if hard >= 0 else 4096, hard))
    daemon = busy(place)
    first = daemon.client()
    first("LOCK", "queue")
    expect(first("LATCH", "gate", "SET", 1), 1)
    crowd = [daemon.client(3) for _ in range(CROWD)]
    for client in crowd:
        expect(client("LOCK", "read", "SHARED") > 0, True)
        client.send("LOCK", "queue", "ASYNC", "q")
    for client in crowd:
        expect(client.reply(), "QUEUED")
        client.send("LATCH", "gate", "AWAIT")
    daemon.queued("gate", CROWD)
    sessions = json.loads(printed(place, daemon, "sessions", "--json")[0])
    numbers = {session["session"] for session in sessions}
    expect(len(numbers), len(sessions), "none twice")
    expect_between(len(sessions), CROWD + 1, CROWD + 5)
    expect(len(printed(place, daemon, "sessions")[0].splitlines()), len(sessions) + 1)
    shown = json.loads(printed(place, daemon, "show", "read", "--json")[0])
    expect(len({holder["session"] for holder in shown["holders"]}), CROWD)
    expect((shown["holder_count"], "cursor" in shown, "missing" in shown), (CROWD, False, False))
    shown = json.loads(printed(place, daemon, "show", "queue", "--json")[0])
    expect([waiter["position"] for waiter in shown["waiters"]], list(range(1, CROWD + 1)))
    expect([len(shown["holders"]), shown["waiter_count"]], [1, CROWD])
    shown = json.loads(printed(place, daemon, "show", "gate", "--json")[0])
    expect(len({waiter["session"] for waiter in shown["waiters"]}), CROWD)
    lines = printed(place, daemon, "show", "queue")[0].splitlines()
    expect([line.split()[0] for line in lines if " pid " in line or "(pid" in line],
           ["holder", "waiting"] + ["%d." % at for at in range(2, CROWD + 1)])
    expect(sum(line.startswith("master") for line in lines), 1)
    lines = first("CLIENT", "LIST").splitlines()
    expect(lines[-1], "more=%d" % (CROWD + 1 - 1000))
    expect(len(lines), 1001)


class Short(Liar):
    """A daemon whose lists have no end: after some pages it closes the connection, or answers an error."""

    def __init__(self, place, error):
        super().__init__(place, itertools.count(1).__next__)
        self.error = error
        self.asked = 0

    def answer(self, words):
        if "CURSOR" not in words:
            if words[0] == "INFO":
                info = b"# Locks\r\nsessions:40\r\nnames:30\r\nlatches:12\r\n"
                return b"$%d\r\n%s\r\n" % (len(info), info)
            return super().answer(words)
        self.asked += 1
        if words[-1] == "77":
            if self.error:
                return b"-DRAINING it ends\r\n"
            raise OSError
        one = b"%%3\r\n$4\r\nname\r\n$1\r\na\r\n$7\r\nsession\r\n:%d\r\n$5\r\nstate\r\n$4\r\nheld\r\n" % self.asked
        if words[0] == "INSPECT":
            return (b"%6\r\n$4\r\nname\r\n$1\r\na\r\n$5\r\nstate\r\n$4\r\nheld\r\n$7\r\nholders\r\n*1\r\n" + one +
                    b"$12\r\nholder_count\r\n:5\r\n$12\r\nwaiter_count\r\n:3\r\n$6\r\ncursor\r\n$2\r\n77\r\n")
        return b"*2\r\n$2\r\n77\r\n*2\r\n" + one + one


def test_early_ends(place):
    """a list that ends early is printed as far as it came, says how much is missing, in JSON too, and exits 1"""
    for error, why in ((False, "closed the connection"), (True, "DRAINING it ends")):
        daemon = Short(place, error)
        for words, told, missing in ((("ls", "--here"), 2, 40), (("sessions", "--here"), 2, 38), (("ls",), 2, None),
                                     (("ls", "--here", "g*"), 2, None), (("show", "a"), 1, 7)):
            short = "at most %s are missing" % missing if missing is not None else "how many are missing is not known"
            for form in ((), ("-q",), ("--json",)):
                status, output = tool.call(place, daemon, *words, *form)
                said = "the list ends early, after %d: %s; " % (told, short)
                expect((status, said in output, why in output.split(said)[-1]), (1, True, True), output)
                if form == ("--json",):
                    value = json.loads([line for line in output.splitlines() if line[0] in "[{"][0])
                    last = value if words[0] == "show" else value[-1]
                    expect((last["missing"], why in last["error"]), (missing, True), output)
                    expect(len(value["holders"]) if words[0] == "show" else len(value) - 1, told, output)
        daemon.listener.close()
        place.sockets.remove(daemon.listener)
        os.unlink(daemon.socket)


if __name__ == "__main__":
    harness.main(globals())
