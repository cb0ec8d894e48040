#!/usr/bin/env python3
"""holdfast run: how long a command may run, how long its lock is kept, what is told of it, and a run inside a run."""

import json
import os
import signal
import subprocess

import harness
import tool
from harness import expect, expect_not_before
from tool import DEAF, PLAIN


def world(place, **options):
    return place.daemon(master=place.redis(), **options).admitted()


def ended(place, daemon, *options):
    """A run of `a` whose command has just ended, with 3."""
    wrapper = tool.start(place, daemon, "run", *options, "a", "--", "sh", "-c", 'echo "pids $$"; read line; exit 3',
                         stdin=subprocess.PIPE)
    ends = tool.Ends(tool.pids(wrapper))
    wrapper.process.stdin.close()
    ends.wait()
    ends.close()
    return wrapper


def record(place, daemon, line):
    """The exit status of a line of shell, and the JSON object that it wrote to descriptor 3."""
    path = os.path.join(place.path, "record")
    process = tool.script(place, daemon, "%s 3>%s" % (line, path))
    status = process.wait()
    with open(path, encoding="utf-8") as stream:
        text = stream.read()
    expect(text.count("\n"), 1, text)
    return status, json.loads(text)


def test_max_run(place):
    """--max-run ends a command that hears, with 124, and the lock is free"""
    daemon = world(place)
    began = harness.boottime()
    status, output = tool.call(place, daemon, "run", "--max-run", "0.3", "a", "--", "sh", "-c", PLAIN)
    expect_not_before(harness.boottime(), began + 0.3, "the end of the command")
    expect((status, "has run for" in output), (124, True), output)
    expect(isinstance(daemon.client()("LOCK", "a", "WAIT", "0"), int), True)


def test_max_run_deaf(place):
    """--max-run kills one that does not hear after --kill-after, and all of its processes before the lock is free"""
    daemon = world(place)
    wrapper = tool.start(place, daemon, "run", "--max-run", "0.5", "--kill-after", "0.2", "a", "--", "sh", "-c", DEAF)
    ends = tool.Ends(tool.pids(wrapper))
    client = tool.waiting(place, daemon, "a")
    tool.never_early(client, ends)
    expect(wrapper.wait(), 124)
    ends.close()


def test_max_run_not_reached(place):
    """a command that ends before --max-run has its own exit code"""
    daemon = world(place)
    expect(tool.call(place, daemon, "run", "--max-run", "1000", "a", "--", "sh", "-c", "exit 5"), (5, ""))


def test_min_hold(place):
    """--min-hold keeps the lock when the command has ended, and the exit code is the command's"""
    daemon = world(place)
    began = harness.boottime()
    wrapper = tool.start(place, daemon, "run", "--min-hold", "0.5", "a", "--", "sh", "-c", 'echo "pids $$"; exit 3')
    tool.pids(wrapper)
    client = daemon.client()
    expect(isinstance(client("LOCK", "a"), int), True)
    expect_not_before(harness.boottime(), began + 0.5, "the next grant")
    expect(wrapper.wait(), 3)


def test_min_hold_ended_early(place):
    """a signal ends what is left of --min-hold"""
    daemon = world(place)
    wrapper = ended(place, daemon, "--min-hold", "1000")
    wrapper.signal(signal.SIGTERM)
    expect(wrapper.wait(), 3)
    expect(isinstance(daemon.client()("LOCK", "a", "WAIT", "0"), int), True)


def test_min_hold_lost(place):
    """a lock that is broken meanwhile is not kept, and the command had ended well"""
    daemon = world(place, config="lease: 3s\n")
    wrapper = ended(place, daemon, "--min-hold", "1000")
    client = daemon.client(form=3)
    token = client("INSPECT", "a")["holder"]["token"]
    client("BREAK", "a", "TOKEN", token)
    status = wrapper.wait()
    expect(status in (3, 76), True, status)


def test_record(place):
    """--status-fd tells what came of it: ended, killed, lost and why, busy, timed out, failed"""
    daemon = world(place)
    status, told = record(place, daemon, "holdfast run --status-fd 3 a -- sh -c 'exit 75'")
    expect((status, told["outcome"], told["exit"], told["command_exit"], told["command_signal"]),
           (75, "ended", 75, 75, None))
    expect((told["name"], told["token"] > 0, told["waited_ms"] >= 0, told["held_ms"] >= 0), ("a", True, True, True))
    status, told = record(place, daemon, "holdfast run --status-fd 3 a -- sh -c 'kill -9 $$'")
    expect((status, told["outcome"], told["command_exit"], told["command_signal"]), (137, "ended", None, 9))
    status, told = record(place, daemon, "holdfast run --status-fd 3 --max-run 0.2 a -- sleep 1000")
    expect((status, told["outcome"], told["reason"], told["command_signal"]), (124, "timed_out", None, 15))
    status, told = record(place, daemon, "holdfast run --status-fd 3 -t 1 a -- sleep 1000")
    expect((status, told["outcome"], told["reason"]), (76, "lost", "lease"))
    status, told = record(place, daemon, "holdfast run --status-fd 3 a -- sh -c 'holdfast break a --token $HOLDFAST_TOKEN; sleep 1000'")
    expect((status, told["outcome"], told["reason"]), (76, "lost", "broken"))
    holder = daemon.client()
    holder("LOCK", "a")
    status, told = record(place, daemon, "holdfast run --status-fd 3 -n --skip-ok a -- true")
    expect((status, told["outcome"], told["token"], told["command_exit"]), (0, "busy", None, None))
    status, told = record(place, daemon, "holdfast run --status-fd 3 --master-wait 1 -S /nowhere/sock a -- true")
    expect((status, told["outcome"], told["exit"]), (69, "failed", 69))


def test_record_descriptor(place):
    """the command does not inherit the descriptor of --status-fd; one that is not open is refused before anything"""
    daemon = world(place)
    path = os.path.join(place.path, "fds")
    record(place, daemon, "holdfast run --status-fd 3 a -- sh -c 'ls /proc/$$/fd >%s'" % path)
    with open(path, encoding="ascii") as stream:
        expect("3" in stream.read().split()[2:], False)
    status, output = tool.call(place, daemon, "run", "--status-fd", "9", "a", "--", "echo", "ran")
    expect((status, "--status-fd 9" in output, "ran" in output), (64, True, False), output)


def test_nested(place):
    """a run inside a run of the same name joins it, with its token; the lock stays with the outer one"""
    daemon = world(place)
    inner = "holdfast run a -- sh -c 'echo inner $HOLDFAST_TOKEN'; echo outer $HOLDFAST_TOKEN; holdfast check a"
    status, output = tool.call(place, daemon, "run", "a", "--", "sh", "-c", inner,
                               environment={"PATH": "%s:%s" % (harness.BUILD, os.environ["PATH"])})
    words = output.split()
    expect((status, words[0], words[2], words[1] == words[3]), (0, "inner", "outer", True), output)


def test_nested_stopped(place):
    """when the lock is lost the nested command is stopped as well"""
    daemon = world(place, config="lease: 3s\n")
    wrapper = tool.start(place, daemon, "run", "a", "--", harness.HOLDFAST, "run", "a", "--", "sh", "-c", PLAIN)
    ends = tool.Ends(tool.pids(wrapper))
    client = daemon.client(form=3)
    client("BREAK", "a", "TOKEN", client("INSPECT", "a")["holder"]["token"])
    waiter = daemon.client()
    waiter.send("LOCK", "a")
    tool.never_early(waiter, ends)
    expect(wrapper.wait(), 76)
    ends.close()


def test_nested_shared(place):
    """a shared run covers a shared one, an exclusive run both; a shared run covers no exclusive one"""
    daemon = world(place)
    for outer, inner, wanted in (("-s", "-s", 0), ("-x", "-s", 0), ("-x", "-x", 0), ("-s", "-nx", 75)):
        status, output = tool.call(place, daemon, "run", outer, "a", "--", harness.HOLDFAST, "run", inner, "a", "--",
                                   "true")
        expect((outer, inner, status), (outer, inner, wanted), output)


def test_slots(place):
    """-N lets so many run at a time, and show names them all"""
    daemon = world(place)
    runs = [tool.start(place, daemon, "run", "-N", "3", "a", "--", "sh", "-c", PLAIN) for _ in range(3)]
    for run in runs:
        tool.pids(run)
    expect(tool.call(place, daemon, "run", "-nq", "-N", "3", "a", "--", "true"), (75, ""))
    status, output = tool.call(place, daemon, "show", "a")
    expect((status, output.count("holder"), "3 of 3" in output), (0, 3, True), output)
    status, output = tool.call(place, daemon, "run", "-n", "-N", "2", "a", "--", "true")
    expect((status, "LIMIT" in output), (69, True), output)
    expect(tool.call(place, daemon, "run", "-sN3", "a", "--", "true")[0], 64)
    for run in runs:
        run.signal(signal.SIGTERM)
    for run in runs:
        run.wait()
    expect(tool.call(place, daemon, "run", "-N", "3", "a", "--", "true"), (0, ""))


def test_also(place):
    """--also holds all or none, with a token for each, in whatever order others name them"""
    daemon = world(place)
    crowd = [tool.start(place, daemon, "run", "--also", second, first, "--", "sh", "-c",
                        'test "$(echo $HOLDFAST_NAMES)" = "%s %s" && set -- $HOLDFAST_TOKENS && test $# = 2'
                        % (first, second))
             for first, second in (("a", "b"), ("b", "a")) * 4]
    expect([process.wait() for process in crowd], [0] * 8)
    holder = daemon.client()
    holder("LOCK", "b")
    status, output = tool.call(place, daemon, "run", "-n", "--also", "b", "a", "--", "true")
    expect((status, "taken" in output), (75, True), output)
    expect(isinstance(daemon.client()("LOCK", "a", "WAIT", "0"), int), True)


def test_also_lost(place):
    """one of several locks lost stops the command"""
    daemon = world(place, config="lease: 3s\n")
    wrapper = tool.start(place, daemon, "run", "--also", "b", "a", "--", "sh", "-c", PLAIN)
    ends = tool.Ends(tool.pids(wrapper))
    client = daemon.client(form=3)
    client("BREAK", "b", "TOKEN", client("INSPECT", "b")["holder"]["token"])
    waiter = daemon.client()
    waiter.send("LOCK", "b")
    tool.never_early(waiter, ends)
    expect(wrapper.wait(), 76)
    ends.close()


def test_latch(place):
    """latch makes one, does steps and says how many are left; await ends when it is open"""
    daemon = world(place)
    expect(tool.call(place, daemon, "latch", "l")[0], 1)
    expect(tool.call(place, daemon, "latch", "l", "set", "3"), (0, ""))
    expect(tool.call(place, daemon, "latch", "l", "set", "3")[0], 1)
    expect(tool.call(place, daemon, "latch", "l", "down"), (0, "2"))
    expect(tool.call(place, daemon, "await", "-n", "l")[0], 75)
    waiter = tool.start(place, daemon, "await", "l", "--json")
    with daemon.client(form=3) as watcher:
        harness.until("somebody waits", lambda: watcher("INSPECT", "l").get("waiters"))
    expect(waiter.alive(), True)
    expect(tool.call(place, daemon, "latch", "l", "down", "2"), (0, "0"))
    expect(waiter.wait(), 0, waiter.output.text())
    expect(json.loads(waiter.output.text()), {"name": "l", "open": True})
    expect(tool.call(place, daemon, "latch", "l", "--json"), (0, '{"name":"l","left":0}'))
    for words, said in ((("up",), "set N or down"), (("set",), "is missing"), (("set", "0"), "1 to 1000000"),
                        (("down", "-t", "5"), "goes with set")):
        status, output = tool.call(place, daemon, "latch", "l", *words)
        expect((status, said in output), (64, True), output)


def test_shared(place):
    """shared runs run side by side, and nobody else meanwhile"""
    daemon = world(place)
    runs = [tool.start(place, daemon, "run", "-s", "a", "--", "sh", "-c", PLAIN) for _ in range(3)]
    numbers = [number for run in runs for number in tool.pids(run)]
    expect(tool.call(place, daemon, "run", "-nq", "a", "--", "true"), (75, ""))
    ends = tool.Ends(numbers)
    client = tool.waiting(place, daemon, "a")
    for run in runs:
        run.signal(signal.SIGTERM)
    tool.never_early(client, ends)
    ends.close()


if __name__ == "__main__":
    harness.main(globals())
