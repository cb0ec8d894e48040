#!/usr/bin/env python3
"""The clients come back by themselves when their connection is cut or the daemon crashed, and say so."""

import json
import os
import re
import signal

import clients
import harness
import tool
from harness import BRISK, expect, expect_between, until
from proxy import DOWN, Proxy

BACK = "the daemon is back"
WORK = 'echo "pids $$"; read line; exit 4'


def world(place, **options):
    return place.daemon(master=place.redis(), **options).admitted()


def look(daemon, name):
    with daemon.client(form=3) as client:
        return client("INSPECT", name)


def connections(daemon, pid):
    """Of this process; over TCP, pid is the start of a client's name."""
    with daemon.client(form=3) as client:
        lines = [dict(word.split("=", 1) for word in line.split()) for line in client("CLIENT", "LIST").splitlines()]
    if isinstance(pid, str):
        return [line["id"] for line in lines if line.get("name", "").startswith(pid)]
    with daemon.client(form=3) as client:
        sessions = client("SESSIONS")[1]
    names = {session["client"] for session in sessions if session["pid"] == pid}
    return [line["id"] for line in lines if line.get("name", "") in names]


def cut(daemon, *names):
    """Ends all connections of clients whose names begin so, without a word."""
    for name in names:
        expect(clients.cut(daemon, name) > 0, True, "a connection of " + name)


def finish(process, status):
    process.process.stdin.write(b"\n")
    process.process.stdin.close()
    expect(process.wait(), status, process.output.text())


def worker(place, daemon, *options, **more):
    """holdfast run whose command ends with 4 when it is told to."""
    process = tool.start(place, daemon, "run", *options, "x", "--", "sh", "-c", WORK, stdin=-1, **more)
    tool.pids(process)
    return process


def test_run_is_cut(place):
    """run: the connection is cut again and again: the command goes on, and the lock and its token stay"""
    daemon = world(place)
    process = worker(place, daemon)
    token = look(daemon, "x")["holder"]["token"]
    for _ in range(3):
        mark = process.output.mark()
        cut(daemon, "sh@")
        process.output.wait("the lock x is good for", mark)
        process.output.wait("%s: the lock x is still held" % BACK, mark)
        expect(look(daemon, "x")["holder"]["token"], token)
    finish(process, 4)
    expect(look(daemon, "x")["state"] in ("free", "leased"), True)


def test_run_is_cut_over_tcp(place):
    """the same over TCP, where no process keeps the session; the end of the command gives the lock back at once"""
    daemon = world(place, tcp=True)
    proxy = Proxy(daemon.tcp)
    process = worker(place, "127.0.0.1:%d" % proxy.address[1])
    token = look(daemon, "x")["holder"]["token"]
    mark = process.output.mark()
    proxy.refusing = True
    proxy.reset()
    process.output.wait("the lock x is good for", mark)
    proxy.refusing = False
    process.output.wait(BACK, mark)
    expect(look(daemon, "x")["holder"]["token"], token)
    finish(process, 4)
    expect(look(daemon, "x")["state"] in ("free", "leased"), True)
    # By the end of its process. The connection may end a moment before that is seen; the grace is not waited for.
    expect("session.expired" in daemon.output.text(), False)
    proxy.close()


def test_command_ends_while_it_is_cut(place):
    """over TCP, a command that ends while the connection is cut still gives the lock back"""
    daemon = world(place, tcp=True)
    proxy = Proxy(daemon.tcp)
    process = worker(place, "127.0.0.1:%d" % proxy.address[1])
    proxy.refusing = True
    proxy.reset()
    process.output.wait("the lock x is good for")
    process.process.stdin.write(b"\n")
    process.process.stdin.flush()
    until("the command's end", lambda: not tool.children(tool.children(process.process.pid)[0]))
    proxy.refusing = False
    expect(process.wait(), 4)
    expect(look(daemon, "x")["state"] in ("free", "leased"), True)
    proxy.close()


def test_hold_is_cut(place):
    """hold: the connection is cut: it goes on, and gives back when told to; killed, it gives back at once"""
    daemon = world(place)
    process = tool.start(place, daemon, "hold", "x")
    token = int(process.output.wait(r"^(\d+)$")[1].group(1))
    cut(daemon, "hold@")
    process.output.wait(BACK)
    expect(look(daemon, "x")["holder"]["token"], token)
    process.signal(signal.SIGTERM)
    expect(process.wait(), 0)
    expect(look(daemon, "x")["state"] in ("free", "leased"), True)
    process = tool.start(place, daemon, "hold", "x")
    process.output.wait(r"^(\d+)$")
    process.kill()
    until("the end of the hold", lambda: look(daemon, "x")["state"] in ("free", "leased"))
    # By the end of its process. The connection may end a moment before that is seen; the grace is not waited for.
    expect("session.expired" in daemon.output.text(), False)


def test_quiet(place):
    """-q: nothing is said about a connection that is cut"""
    daemon = world(place)
    process = worker(place, daemon, "-q")
    cut(daemon, "sh@")
    until("its return", lambda: len(connections(daemon, "sh@")) == 1)
    finish(process, 4)
    expect("holdfast:" in process.output.text(), False, process.output.text())


def test_places_are_kept(place):
    """run, hold and lock that wait and are cut keep their places, and their -w runs on"""
    daemon = world(place)
    client = daemon.client()
    expect_between(client("LOCK", "x"), 1, 2 ** 53)
    waits = []
    for number, words in enumerate((("run", "-w", "600", "x", "--", "sh", "-c", "echo got; read line"), ("hold", "-w", "600", "x"))):
        waits.append(tool.start(place, daemon, *words, stdin=-1))
        daemon.queued("x", number + 1)
    waits.append(tool.script(place, daemon, "holdfast lock -w 600 x --pid $$ && echo got; read line", stdin=-1))
    daemon.queued("x", 3)
    last = tool.waiting(place, daemon, "x")
    before = look(daemon, "x")["waiters"]
    cut(daemon, "sh@", "hold@")
    for process in waits:
        process.output.wait("waiting for it")
    until("all are back", lambda: len(connections(daemon, "sh@") + connections(daemon, "hold@")) == 3)
    until("all wait", lambda: look(daemon, "x")["waiter_count"] == 4)
    after = look(daemon, "x")["waiters"]
    expect([waiter["session"] for waiter in after], [waiter["session"] for waiter in before])
    expect([now["left_ms"] <= then["left_ms"] for now, then in zip(after, before)], [True] * 4, (before, after))
    client("UNLOCK", "x")
    for process, pattern in zip(waits, ("^got", r"^\d+$", "^got")):
        process.output.wait(pattern)
        if process is waits[1]:
            process.signal(signal.SIGTERM)
        else:
            process.process.stdin.close()
        process.wait()
    expect_between(last.reply(), 1, 2 ** 53)


def test_grant_without_an_answer(place):
    """a lock that was granted when the connection was cut, before the answer arrived, is found again: LOCK and MLOCK"""
    daemon = world(place, tcp=True)
    proxy = Proxy(daemon.tcp)
    url = "127.0.0.1:%d" % proxy.address[1]
    for options, names in (((), "x"), (("--also", "y"), "xy")):
        client = daemon.client()
        expect_between(client("LOCK", "x"), 1, 2 ** 53)
        process = tool.start(place, url, "run", *options, "x", "--", "sh", "-c", 'echo "tokens $HOLDFAST_TOKENS"')
        process.output.wait("waiting for x: held")  # so it has its secret
        proxy.hold(DOWN)
        client("UNLOCK", "x")
        until("the grant", lambda: all(look(daemon, name)["state"] == "held" for name in names))
        proxy.reset()
        tokens = " ".join(str(look(daemon, name)["holder"]["token"]) for name in names)
        proxy.go()
        process.output.wait("^tokens %s$" % tokens)
        expect(process.wait(), 0)
        expect([look(daemon, name)["state"] in ("free", "leased") for name in names], [True] * len(names))
    proxy.close()


def test_signals_end_a_wait(place):
    """a signal that ends a waiting client ends the wait at once, though its session has a grace"""
    daemon = world(place, tcp=True)
    client = daemon.client()
    expect_between(client("LOCK", "x"), 1, 2 ** 53)
    for url in (daemon.socket, "127.0.0.1:%d" % daemon.port):
        for words in (("run", "x", "true"), ("hold", "x"), ("lock", "x", "--pid", str(os.getpid()))):
            if words[0] == "lock" and url != daemon.socket:
                continue
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                process = tool.start(place, url, *words)
                daemon.queued("x")
                process.signal(number)
                expect(process.wait(), -number)
                expect(look(daemon, "x")["waiter_count"], 0)
    expect("session.detached" in daemon.output.text(), False)


def test_daemon_that_forgot(place):
    """the daemon crashed and knows nothing: hold is over, run's command goes on until its deadline, with 76"""
    daemon = world(place, config=BRISK + "ledger: off\n")
    process = tool.start(place, daemon, "run", "x", "--", "sh", "-c", tool.PLAIN)
    hold = tool.start(place, daemon, "hold", "y")
    tool.pids(process)
    hold.output.wait(r"^\d+$")
    daemon.kill()
    for waiting, name in ((process, "x"), (hold, "y")):
        waiting.output.wait("the lock %s is good for" % name)
    daemon.start()
    expect(hold.wait(), 76)
    expect("the lock y is lost: the daemon was started anew" in hold.output.text(), True, hold.output.text())
    expect(process.wait(), 76)
    expect("the lock x is lost: the daemon was started anew" in process.output.text(), True, process.output.text())


def test_daemon_that_stays_away(place):
    """no daemon comes back: hold and run's command end at their deadlines, with 76"""
    daemon = world(place, config=BRISK)
    process = tool.start(place, daemon, "run", "x", "--", "sh", "-c", tool.PLAIN)
    hold = tool.start(place, daemon, "hold", "y")
    tool.pids(process)
    hold.output.wait(r"^\d+$")
    daemon.kill()
    expect([process.wait(), hold.wait()], [76, 76], process.output.text() + hold.output.text())


def test_crash(place):
    """kill -9 of the daemon: run, over TCP too, a run inside of it, hold and lock keep their locks and tokens"""
    daemon = world(place, tcp=True)
    url = "127.0.0.1:%d" % daemon.port
    inside = "holdfast run x -- sh -c 'echo \"pids $$\"; read line; exit 4'"
    runs = [tool.start(place, daemon, "run", "x", "--", "sh", "-c", inside, stdin=-1,
                       environment={"PATH": "%s:%s" % (harness.BUILD, os.environ["PATH"])}),
            tool.start(place, url, "run", "y", "--", "sh", "-c", WORK, stdin=-1)]
    for process in runs:
        tool.pids(process)
    hold = tool.start(place, daemon, "hold", "z")
    hold.output.wait(r"^\d+$")
    script = tool.script(place, daemon, "holdfast lock w --pid $$ && echo locked; read line; holdfast check w --pid $$ && "
                         "holdfast unlock w --pid $$ && echo given", stdin=-1)
    script.output.wait("^locked")
    before = [look(daemon, name)["holder"]["token"] for name in "xyzw"]
    says = ((runs[0], 2), (runs[1], 1), (hold, 1))  # the run inside speaks, too
    for number in range(3):
        daemon.kill()
        daemon.start()
        for process, times in says:
            until("all are back", lambda: process.output.text().count(BACK) == times * (number + 1))
        expect([look(daemon, name)["holder"]["token"] for name in "xyzw"], before)
    for process in runs:
        finish(process, 4)
    hold.signal(signal.SIGTERM)
    expect(hold.wait(), 0)
    finish(script, 0)
    expect("given" in script.output.text(), True, script.output.text())
    expect([look(daemon, name)["state"] in ("free", "leased") for name in "xyzw"], [True] * 4)


def test_crash_of_waits(place):
    """kill -9 of the daemon: who waits waits on, in any order, for a lock that its holder has kept"""
    # What the MLOCK had so far was told to no client: the next daemon cannot give it back before its lease is over.
    daemon = world(place, config="lease: 5s\nclock-margin: 200ms\n")
    client = daemon.client()
    expect(client("LATCH", "steps", "SET", 1), 1)
    holder = worker(place, daemon)
    waits = [tool.start(place, daemon, *words) for words in (("run", "x", "--", "echo", "ran"), ("run", "-q", "--also", "b", "x", "true"),
                                                             ("await", "steps"))]
    waits.append(tool.script(place, daemon, "holdfast lock x --pid $$ && echo locked"))
    daemon.queued("x", 3)
    daemon.queued("steps")
    daemon.kill()
    for process in (waits[0], waits[2], waits[3]):
        process.output.wait("waiting for it")
    daemon.start()
    holder.output.wait(BACK)
    daemon.queued("x", 2)
    daemon.queued("steps")
    expect(daemon.client()("LATCH", "steps", "DOWN"), 0)
    finish(holder, 4)
    expect([process.wait() for process in waits], [0] * 4)
    expect([process.output.text().count(BACK) for process in waits], [1, 0, 1, 1])


def bench(place, daemon, *words):
    return tool.start(place, daemon, "bench", "--seconds", "3", "-c", "16", "--json", *words)


def result(process):
    expect(process.wait(), 0, process.output.text())
    return json.loads(re.search(r"^\[.*$", process.output.text(), re.M).group(0))[0]


def test_bench_is_cut(place):
    """bench: connections that are cut come back; it counts them, and still verifies each grant"""
    daemon = world(place, config=BRISK)
    for words in ((), ("--durable",)):
        for kind in ("mixed", "contended"):
            process = bench(place, daemon, kind, *words)
            for _ in range(3):
                until("all connections", lambda: len(connections(daemon, "holdfast-bench")) == 16)
                cut(daemon, "holdfast-bench")
            row = result(process)
            expect(row["interruptions"] >= 48, True, row)
            expect(row["lost"], 0, row)
            expect(row["pairs"] > 48, True, row)


def test_bench_crash(place):
    """bench --durable over kill -9 of the daemon: it goes on, and no hold is lost"""
    # A lease that was granted and not told is not known after the crash: it has to end within the WAIT of bench.
    daemon = world(place, config="lease: 10s\n")
    process = bench(place, daemon, "mixed", "--durable")
    for _ in range(2):
        until("all connections", lambda: len(connections(daemon, "holdfast-bench")) == 16)
        daemon.kill()
        daemon.start()
    row = result(process)
    expect((row["interruptions"] >= 32, row["lost"]), (True, 0), row)


if __name__ == "__main__":
    harness.main(globals())
