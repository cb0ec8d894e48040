#!/usr/bin/env python3
"""What PROTOCOL.md, BYTES.md and REPORTS.md show is what the daemon says: conversations, exact bytes, and fields."""

import array
import itertools
import os
import re
import socket
import subprocess

import harness
import resp
from conversation import Conversation
from harness import expect

DOCUMENT = os.path.join(harness.ROOT, "proto", "PROTOCOL.md")
BYTES = os.path.join(harness.ROOT, "proto", "BYTES.md")
REPORTS = os.path.join(harness.BUILD, "doc", "REPORTS.md")

# What has to happen before a row of BYTES.md, by the words of its first column; where two connections do not do, a
# function below. `1` is the one that sends the request of the row.
BEFORE = {
    "LOCK, somebody else has it": ["2> LOCK a", "2< ..."],
    "LOCK RETRIES, refused so often": ["2> LOCK a", "2< ..."],
    "LOCK, held shared already": ["1> LOCK a SHARED", "1< ..."],
    "DOWNGRADE": ["1> LOCK a", "1< ..."],
    "MLOCK, somebody else has one": ["2> LOCK b", "2< ..."],
    "MUNLOCK": ["1> MLOCK 2 a b", "1< ..."],
    "MUNLOCK TOKENS, one of another hold": ["1> LOCK a", "1< :1760000000000001", "1> LOCK b", "1< ..."],
    "LOCK, a circle of waits": ["1> LOCK a", "1< ...", "2> LOCK b", "2< ...", "2> LOCK a"],
    "UNLOCK, holds left": ["1> LOCK a", "1< ..."],
    "UNLOCK, lost": ["1> SESSION ONLOSS NEXT", "1< +OK", "1> LOCK a LEASE 1", "1< ...", "2> LOCK a", "2< ..."],
    "UNLOCK, not claimed in time": ["1> LOCK a CLAIM 1", "1< ...", "2> LOCK a", "2< ..."],
    "CHECK, held": ["1> LOCK a", "1< ..."],
    "EXTEND": ["1> LOCK a LEASE 60000", "1< ..."],
    "EXTEND, another token": ["1> LOCK a LEASE 60000", "1< ..."],
    "LATCH SET, there already": ["2> LATCH l SET 2", "2< :1"],
    "LATCH DOWN": ["2> LATCH l SET 2", "2< :1"],
    "LATCH AWAIT, open": ["2> LATCH l SET 1", "2< :1", "2> LATCH l DOWN", "2< :0"],
    "LATCH AWAIT, still closed": ["2> LATCH l SET 2", "2< :1"],
    "LATCH COUNT": ["2> LATCH l SET 1", "2< :1"],
    "MASTERS ADD, a latch is set": ["2> LATCH l SET 2", "2< :1"],
    "CANCEL, it waited": ["3> LOCK a", "3< ...", "2> HELLO 3", "2< ...", "2> SESSION SECRET",
                          "2< $48\\r\\n{s}", "1> SESSION JOIN s", "1< :0", "2> LOCK a ASYNC j1", "2< +QUEUED"],
    "BREAK": ["2> LOCK a", "2< :1760000000000001"],
    "SESSION JOIN": ["2> LOCK a", "2< ...", "2> SESSION SECRET", "2< $48\\r\\n{00...}"],
    "SESSION RESUME": ["2> SESSION GRACE 60000", "2< $48\\r\\n{00...}", "2> LOCK a", "2< ...", "2x"],
    "UNLOCK AS, without its token": ["2> LOCK a AS 6f1c0d8e5b7a4e9f", "2< ..."],
    "UNLOCK AS, the first time and again": ["2> LOCK a AS 6f1c0d8e5b7a4e9f", "2< :1760000000000001"],
    "SESSION END, without its number": ["2> LOCK a AS 6f1c0d8e5b7a4e9f", "2< ..."],
    "SESSION END": ["2> LOCK a AS 6f1c0d8e5b7a4e9f", "2< ...", "2> SESSION ID AS 6f1c0d8e5b7a4e9f", "2< :{7}"],
    "INSPECT": ["2> LOCK a", "2< ..."],
    "HISTORY": ["2> LOCK a", "2< ...", "2> UNLOCK a", "2< :0"],
    "LOCKS": ["2> LOCK a", "2< ..."],
    "LOCKS ... FLEET": ["2> LOCK a", "2< ..."],
    "an event": ["1> EVENTS MATCH a", "1< +OK", "2> LOCK a", "2< ...", "1< ...", "1< ...", "2> UNLOCK a", "2< :0"],
    "CLIENT GETNAME, named": ["1> CLIENT SETNAME x", "1< +OK"],
    "SESSION KILL": ["2> SESSION ID", "2< :{7}", "2> LOCK a", "2< ..."],
    "CLIENT KILL": ["2> CLIENT ID", "2< :{12}"],
    "push: granted": ["2> LOCK a", "2< ...", "1> LOCK a ASYNC j1", "1< +QUEUED", "2> UNLOCK a", "2< :0"],
    "push: granted, with VALIDITY": ["2> LOCK a", "2< ...", "1> LOCK a ASYNC j1 VALIDITY", "1< +QUEUED", "2> UNLOCK a", "2< :0"],
    "push: not granted within WAIT": ["2> LOCK a", "2< ...", "1> LOCK a ASYNC j1 WAIT 1", "1< +QUEUED"],
    "push: failed": ["1> LOCK a ASYNC j1 WAIT 1", "1< +QUEUED"],
    "push: lost": ["1> SESSION ONLOSS PUSH", "1< +OK", "1> LOCK a MAXHOLD 1", "1< ..."],
}
# Their numbers and lengths differ from daemon to daemon.
LOOSE = {"SESSION ID", "SESSIONS", "CLIENT ID", "CLIENT INFO, CLIENT LIST", "an event", "COMMAND LIST", "COMMAND COUNT",
         "MASTERS", "RESTART",
         "SESSION HELP, LATCH HELP, CLIENT HELP, COMMAND HELP, CONFIG HELP, MASTERS HELP, LOG HELP"}
AWAY = {"LOCK, error", "push: failed"}  # played to a daemon without its master
ALONE = {"BREAK", "SESSION KILL", "DRAIN", "DRAIN WAIT"}  # each to a daemon of its own, which is no good for others afterwards


def document(path=DOCUMENT):
    with open(path, encoding="utf-8") as stream:
        return stream.read()


def rows():
    """(title, request, RESP2, RESP3); request and RESP2 are None where the cell is empty, RESP3 is as RESP2."""
    table = document(BYTES).split("| request, outcome | inline", 1)[1].split("\n")[2:]
    for line in table:
        if not line.startswith("|"):
            return
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        expect(len(cells), 4, line)
        yield tuple(cells[:1] + [cell or None for cell in cells[1:3]] + [cells[3] or cells[2]])


def cell_bytes(cell):
    """What the cell says comes: (text of an answer, whether the connection is closed after it)."""
    code = re.findall(r"`([^`]*)`", cell)
    words = re.sub(r"`[^`]*`", "", cell).strip()
    closes = words.endswith("close")
    if not code:
        return None, closes
    text = code[0]
    if words and not closes:
        text += "..."  # the rest is told in words
    return text, closes


def bind(one):
    """SESSION BIND is sent with a pidfd."""
    child = subprocess.Popen(["sleep", "600"])
    pidfd = os.pidfd_open(child.pid)
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [pidfd]))]
    one.client.socket.sendmsg([b"SESSION BIND\r\n"], rights)
    os.close(pidfd)
    return child


def play_row(daemon, row, version, as_array, latches=itertools.count()):
    title, request, *answers = row
    text, closes = cell_bytes(answers[version - 2])
    talk = Conversation(daemon, version)
    # Latches outlive the session that made them.
    talk.bound.update((name, "%s%d" % (name, next(latches))) for name in "lm")
    child = None
    try:
        one = talk.connection("1")
        talk.play(BEFORE.get(title, []))
        if request == "`SESSION BIND`":
            child = bind(one)
        elif request:
            one.send(talk.request(request.strip("`")), as_array)
        if text is not None:
            if title in LOOSE or text.endswith("..."):
                text = re.sub(r"\$\d+", "${length}", text)
            if title in LOOSE:
                text = re.sub(r"\b\d+\b", "100", text)
            talk.expect(text, one.raw())
        if closes:
            expect(one.client.closed(), True, "it is closed")
    except (AssertionError, resp.Late, resp.Closed) as error:
        before = "" if title in BEFORE else " (nothing was sent before it: BEFORE in check_examples.py says what is)"
        return ["%s, RESP%d%s: %s%s" % (title, version, " array" if as_array else "", error, before)]
    finally:
        talk.done()
        if child is not None:
            child.kill()
            child.wait()
    return []


def test_table(place):
    """every row of exact bytes is what the daemon answers, in RESP2 and RESP3, to a line and to an array"""
    password = os.path.join(place.path, "password")
    with open(password, "w", encoding="utf-8") as stream:
        stream.write("password\n")
    os.chmod(password, 0o600)
    # A lease that is kept from one row to the next would leave out an event.
    users = "retain: 0ms\nusers:\n  - { name: user, password-file: %s }\n" % password
    redis, gone = place.redis(), place.redis("gone")
    gone.kill()
    daemon = place.daemon(master=redis, config=users).admitted()
    away = place.daemon("away", master=gone)
    titles, wrong = [], []
    for row in rows():
        titles.append(row[0])
        for version in (2, 3):
            if row[version] is None:
                continue
            for as_array in (False, True):
                if row[0] in ALONE:
                    name = "%s%d%d" % (row[0].lower().replace(" ", "-"), version, as_array)
                    alone = place.daemon(name, master=redis, config="namespace: %s\n" % name).admitted()
                    wrong += play_row(alone, row, version, as_array)
                else:
                    wrong += play_row(away if row[0] in AWAY else daemon, row, version, as_array)
    if wrong:
        raise AssertionError("\n".join(wrong))
    harness.comment("%d rows" % len(titles))
    expect(len(titles), len(set(titles)), "no title twice")
    expect(sorted((set(BEFORE) | LOOSE | AWAY | ALONE) - set(titles)), [], "prepared, and not in the document")


def conversations():
    """Each block of the document that is one, with the number of its first line."""
    block, begin = [], 0
    for number, line in enumerate(document().split("\n") + [""], 1):
        if re.match(r"    \d+[<>x]( |$)", line):
            begin = begin if block else number
            block.append(line[4:])
        elif block:
            yield begin, block
            block = []


def test_conversations(place):
    """the conversations of the specification go as they stand there"""
    daemon = place.daemon(master=place.redis()).admitted()
    played = 0
    for number, block in conversations():
        talk = Conversation(daemon)
        try:
            talk.play(block)
        except AssertionError as error:
            raise AssertionError("PROTOCOL.md:%d: %s" % (number, error)) from None
        finally:
            talk.done()
        played += 1
    harness.comment("%d conversations" % played)
    expect(played > 0, True)


def test_first_page(place):
    """the two examples of the specification with nc answer what it says"""
    daemon = place.daemon(master=place.redis()).admitted()
    text = document()
    block = text.split("    $ nc -U /run/holdfast/holdfast.sock\n", 1)[1].split("\n\n", 1)[0]
    lines = [line.strip() for line in block.split("\n")]
    talk = Conversation(daemon)
    talk.play([("1< " if line[0] in ":+-$" else "1> ") + line for line in lines])
    talk.done()
    command = re.search(r"^    (printf .* \| nc .*)$", text, re.M).group(1)
    command = command.replace("/run/holdfast/holdfast.sock", daemon.socket)
    try:
        done = subprocess.run(["bash", "-c", command], stdout=subprocess.PIPE, timeout=harness.PATIENCE, check=False)
    except FileNotFoundError:
        raise harness.Skip("bash is not here")
    if done.returncode == 127:
        raise harness.Skip("nc is not here")
    expect(len(done.stdout.split(b"\r\n")), 4, repr(done.stdout))


def tables(title):
    """The rows of each table of this section of REPORTS.md, each row its cells."""
    section = re.split(r"^## %s$" % title, document(REPORTS), flags=re.M)[1].split("\n## ")[0]
    for table in re.findall(r"^\|.*?\n\|-.*?\n((?:\|.*\n)+)", section, re.M):
        yield [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in table.splitlines()]


def words(cell):
    return re.findall(r"`(\w+)`", cell)


def keys(table):
    """What the first column names."""
    return [word for row in table for word in words(row[0])]


def test_reports(place):
    """each map has the fields that REPORTS.md lists, and INFO the lines that it explains"""
    daemon = place.daemon(master=place.redis()).admitted()
    one, two, ask = daemon.client(3), daemon.client(3), daemon.client(3)
    one("LATCH", "latch", "SET", 2)
    one("LOCK", "a")
    one("UNLOCK", "a")
    one("LOCK", "a")
    two.send("LOCK", "a")
    daemon.queued("a")
    of_lock, of_fleet = tables("INSPECT")
    lock = ask("INSPECT", "a")
    expect(list(lock), keys(of_lock))
    rows = {row[0].strip("`"): row[1] for row in of_lock}
    for key, row in ((lock["holder"], "holder"), (lock["waiters"][0], "waiters")):
        expect([word for word in words(rows[row]) if word in key], list(key), row)
    expect(list(lock["holders"][0]), list(lock["holder"]))
    expect(list(ask("INSPECT", "a", "FLEET")), keys(of_fleet))
    expect(sorted(ask("HISTORY", "a")[0]), sorted(keys(next(tables("HISTORY")))))
    of_name, of_session = tables("LOCKS and SESSIONS")
    names = {entry["name"]: entry for entry in ask("LOCKS")[1]}
    expect(list(names["a"]), keys(of_name))
    expect(list(names["latch"]), words(re.search(r"^A latch has (.*?)\.", document(REPORTS).split("## LOCKS")[1], re.M).group(1)))
    expect(list(ask("SESSIONS")[1][0]), keys(of_session))
    expect(list(ask("TOP")[0][0]), keys(next(tables("TOP"))))
    expect(ask("HOUR")["minutes"][0], keys(next(tables("HOUR"))))
    of_set, of_master = tables("MASTERS")
    masters = ask("MASTERS")
    expect(list(masters), keys(of_set))
    expect(list(masters["masters"][0]), keys(of_master))
    expect(list(ask("FLEET")[0]), keys(next(tables("FLEET"))))
    *of_info, of_one = tables("INFO")
    lines = [line.split(":")[0] for line in ask("INFO").splitlines() if ":" in line]
    expect([word for table in of_info for word in keys(table) if word not in lines], [], "explained, and not in INFO")
    found = ("sentinel", "cluster", "slot", "node", "found_ms", "found_why", "replicas", "replicas_needed", "replicated",
             "group", "joining")
    expect(sorted(line[8:] for line in lines if line.startswith("master0_")),
           sorted(word[8:] for word in keys(of_one) if word[8:] not in found))


if __name__ == "__main__":
    harness.main(globals())
