#!/usr/bin/env python3
"""holdfast run: the process rules. Whatever is killed, the next holder starts after the last process, and soon."""

import fcntl
import os
import re
import signal
import socket
import subprocess
import sys
import termios

import harness
import tool
from harness import BRISK, expect, expect_between, expect_not_before
from scene import pause
from tool import DEAF, PLAIN

SOON = 0.020
TRIES = 5


def world(place, **options):
    return place.daemon(master=place.redis(), **options).admitted()


def soon(place, daemon, act, text=PLAIN, options=(), kill_after=0.0):
    """
    Starts a command under the lock `x` and a waiter, lets act(wrapper, pids) end it, and checks that the grant comes
    after the last end, and by it: the lease is longer than anybody waits here. How long all of that takes is told, the
    best of TRIES, less what the command had for ending by itself.
    """
    delays = []
    for number in range(TRIES):
        wrapper = tool.start(place, daemon, "run", *options, "x", "--", "sh", "-c", text)
        numbers = tool.pids(wrapper)
        ends = tool.Ends(numbers)
        client = tool.waiting(place, daemon, "x")
        began = harness.boottime()
        act(wrapper, numbers)
        # Who watches the ends first cannot see a grant that came before them.
        if number % 2:
            ends.wait()
        tool.never_early(client, ends)
        delays.append(harness.boottime() - began - kill_after)
        ends.close()
        client("UNLOCK", "x")
        client.close()
        wrapper.wait()
    harness.took(min(delays), SOON, "from the kill to the grant")


def test_environment(place):
    """the command sees name, token, session and address, and its exit code is the wrapper's"""
    daemon = world(place)
    text = 'echo "$HOLDFAST_NAME,$HOLDFAST_TOKEN,$HOLDFAST_SESSION,$HOLDFAST_URL"; exit 3'
    status, output = tool.call(place, daemon, "run", "a", "--", "sh", "-c", text)
    expect(status, 3, output)
    name, token, session, url = output.split(",")
    expect((name, url), ("a", daemon.socket))
    expect(int(token) > 0 and len(session) >= 32, True, output)


def test_secret_speaks_for_the_holder(place):
    """with HOLDFAST_SESSION another connection speaks for the holder"""
    daemon = world(place)
    wrapper = tool.start(place, daemon, "run", "a", "--", "sh", "-c", 'echo "key $HOLDFAST_SESSION"; exec sleep 1000')
    secret = wrapper.output.wait(r"^key (\w+)")[1].group(1)
    client = daemon.client()
    expect(client("SESSION", "JOIN", secret), 1)
    expect_between(client("CHECK", "a"), 1, harness.LEASE_MS)
    wrapper.signal(signal.SIGTERM)
    expect(wrapper.wait(), 128 + signal.SIGTERM)


def test_statuses(place):
    """a command that is killed, missing or no program has the exit code the manual says"""
    daemon = world(place)
    expect(tool.call(place, daemon, "run", "a", "--", "sh", "-c", "kill -KILL $$")[0], 128 + 9)
    expect(tool.call(place, daemon, "run", "a", "--", "no-such-command")[0], 127)
    expect(tool.call(place, daemon, "run", "a", "--", "/")[0], 126)
    expect(tool.call(place, daemon, "run", "a", "true"), (0, ""))


def test_busy(place):
    """busy is 75, or what -E says, or fine with --skip-ok; the command does not run"""
    daemon = world(place)
    holder = daemon.client()
    expect(isinstance(holder("LOCK", "a"), int), True)
    for options, wanted in ((["-n"], 75), (["-w", "0.1"], 75), (["-n", "-E", "3"], 3), (["-n", "--skip-ok"], 0)):
        status, output = tool.call(place, daemon, "run", *options, "a", "--", "echo", "ran")
        expect(status, wanted, output)
        expect("ran" in output, False, output)
        expect("a is taken" in output, wanted != 0, output)
    expect(tool.call(place, daemon, "run", "-qn", "a", "--", "echo", "ran"), (75, ""))


def test_turns(place):
    """runs of one name take turns: nobody starts before another has ended, and tokens grow"""
    daemon = world(place)
    path = os.path.join(place.path, "order")
    text = 'echo "in $HOLDFAST_TOKEN" >>"$0"; sleep 0.01; echo "out $HOLDFAST_TOKEN" >>"$0"'
    crowd = [tool.start(place, daemon, "run", "-w", 30, "a", "--", "sh", "-c", text, path) for _ in range(8)]
    expect([process.wait() for process in crowd], [0] * 8)
    with open(path, encoding="ascii") as stream:
        lines = [line.split() for line in stream]
    expect([word for word, _ in lines], ["in", "out"] * 8)
    expect([token for _, token in lines[::2]], [token for _, token in lines[1::2]])
    tokens = [int(token) for _, token in lines[::2]]
    expect(tokens, sorted(set(tokens)))


def test_descriptors(place):
    """the command inherits the tether, a pipe and a connection out of the way of scripts, and nothing else of the wrapper"""
    daemon = world(place)
    status, output = tool.call(place, daemon, "run", "a", "--", "sh", "-c", "ls -l /proc/$$/fd")
    expect(status, 0)
    kinds = {int(number): kind for number, kind in re.findall(r" (\d+) -> /?(\w+)", output)}
    expect((sorted(kinds)[:3], min(sorted(kinds)[3:]) > 63), ([0, 1, 2], True), output)
    expect(sorted(kind for number, kind in kinds.items() if number > 2), ["pipe", "socket"], output)


def test_signals_left_as_they_were(place):
    """the command has the signal mask and dispositions the wrapper was started with"""
    daemon = world(place)
    text = "grep -E 'Sig(Blk|Ign)' /proc/self/status"
    plain = place.run("sh", "-c", text, start_new_session=True)
    plain.wait()
    plain.output.thread.join(harness.PATIENCE)
    expect(tool.call(place, daemon, "run", "a", "--", "sh", "-c", text), (0, plain.output.text()))


def test_child_killed(place):
    """the command is killed: the next holder starts after the last of its processes, at once"""
    daemon = world(place)

    def act(_, numbers):
        os.kill(numbers[0], signal.SIGKILL)
        os.kill(numbers[1], signal.SIGTERM)

    soon(place, daemon, act)


def test_child_killed_leaves_a_grandchild(place):
    """while a grandchild of a killed command lives, the lock is kept, and so is the wrapper"""
    daemon = world(place)
    wrapper = tool.start(place, daemon, "run", "x", "--", "sh", "-c", PLAIN)
    numbers = tool.pids(wrapper)
    os.kill(numbers[0], signal.SIGKILL)
    wrapper.output.wait("processes of its group run on")
    expect(daemon.client()("LOCK", "x", "WAIT", 0), None)
    os.kill(numbers[1], signal.SIGTERM)
    expect(wrapper.wait(), 128 + 9)


def test_wrapper_killed(place):
    """the wrapper is killed: its processes get TERM, and the next holder starts at once after the last"""
    daemon = world(place)
    soon(place, daemon, lambda wrapper, _: wrapper.signal(signal.SIGKILL))


def test_wrapper_killed_deaf(place):
    """the wrapper of processes that ignore TERM is killed: they get KILL, and the next holder starts at once"""
    daemon = world(place)
    soon(place, daemon, lambda wrapper, _: wrapper.signal(signal.SIGKILL), DEAF, ("--kill-after", "0.2"), 0.2)


def test_wrapper_group_killed(place):
    """the whole process group of the wrapper is killed: the same"""
    daemon = world(place)
    soon(place, daemon, lambda wrapper, _: os.killpg(wrapper.pid, signal.SIGKILL))


def test_wrapper_stopped_child_stopped(place):
    """processes that are stopped when the wrapper is killed end all the same"""
    daemon = world(place)

    def act(wrapper, numbers):
        for number in numbers:
            os.kill(number, signal.SIGSTOP)
        wrapper.signal(signal.SIGKILL)

    soon(place, daemon, act)


def test_supervisor_killed(place):
    """the supervisor is killed: nothing of the command goes on, and the exit code is 76"""
    daemon = world(place)
    wrapper = tool.start(place, daemon, "run", "x", "--", "sh", "-c", DEAF)
    numbers = tool.pids(wrapper)
    ends = tool.Ends(numbers)
    supervisor = tool.children(wrapper.pid)[0]
    expect(supervisor in numbers, False)
    os.kill(supervisor, signal.SIGKILL)
    expect(wrapper.wait(), 76, wrapper.output.text())
    expect(ends.left(), 0)
    ends.close()


def test_setsid_is_on_its_own(place):
    """with -o a process that leaves the group with setsid does not keep the lock"""
    daemon = world(place)
    path = os.path.join(place.path, "pid")
    os.mkfifo(path)
    text = 'setsid sh -c \'echo "pids $$" >"$0"; exec sleep 1000 >/dev/null 2>&1\' "$0" & cat "$0"'
    wrapper = tool.start(place, daemon, "run", "-o", "x", "--", "sh", "-c", text, path)
    number = tool.pids(wrapper)[0]
    expect(wrapper.wait(), 0)
    os.kill(number, signal.SIGKILL)


def test_signals_once(place):
    """without a terminal the command has its own group, and hears a signal once"""
    daemon = world(place)
    wrapper = tool.start(place, daemon, "run", "x", "--", *tool.ears("USR1=heard", "TERM=9"))
    number = tool.pids(wrapper)[0]
    expect(os.getpgid(number), number)
    wrapper.signal(signal.SIGUSR1)
    wrapper.output.wait("heard")
    wrapper.signal(signal.SIGTERM)
    expect(wrapper.wait(), 9)
    expect(wrapper.output.text().count("heard"), 1)


def test_signal_while_waiting(place):
    """a signal during the wait ends it, and leaves the queue"""
    daemon = world(place)
    holder = daemon.client(form=3)
    holder("LOCK", "x")
    wrapper = tool.start(place, daemon, "run", "x", "--", "echo", "ran")
    daemon.queued("x")
    wrapper.signal(signal.SIGTERM)
    expect(wrapper.wait(), -signal.SIGTERM)
    watcher = daemon.client(form=3)
    harness.until("it waits no longer", lambda: not watcher("INSPECT", "x")["waiters"])
    expect("ran" in wrapper.output.text(), False)


def test_broken(place):
    """a lock that is broken stops the command, with 76, before the next holder starts"""
    daemon = world(place, config="lease: 3s\n")
    wrapper = tool.start(place, daemon, "run", "x", "--", "sh", "-c", PLAIN)
    ends = tool.Ends(tool.pids(wrapper))
    client = tool.waiting(place, daemon, "x")
    token = daemon.client(form=3)("INSPECT", "x")["holder"]["token"]
    status, output = tool.call(place, daemon, "break", "x", "--token", token)
    expect(status, 0, output)
    tool.never_early(client, ends)
    expect(wrapper.wait(), 76)
    expect("broken" in wrapper.output.text(), True, wrapper.output.text())
    ends.close()


def test_broken_passes_on(place):
    """a lock that is broken passes on when its command has ended, not when the time is over for which that was told to rely on it"""
    daemon = world(place, config="lease: 10m\n")
    wrapper = tool.start(place, daemon, "run", "x", "--", "sh", "-c", PLAIN)
    tool.pids(wrapper)
    client = tool.waiting(place, daemon, "x")
    token = daemon.client(form=3)("INSPECT", "x")["holder"]["token"]
    withheld_ms = daemon.client()("BREAK", "x", "TOKEN", token)
    expect_between(withheld_ms, 300000, 600000)
    expect_between(client.reply(), token + 1, 2 ** 53)
    expect(wrapper.wait(), 76)


def stopped_in_time(place, act):
    """
    Runs a command that ignores TERM, lets act(daemon) silence the daemon, and expects the command's end before the
    lock of the silent daemon passes on to a waiter of another. What a command is told to rely on is L, the lock
    passes on after L + J, and J leaves a busy machine the time to do what is due at L.
    """
    redis = place.redis()
    config = "lease: 1s\nclock-margin: 4s\n"
    daemon, other = [place.daemon(name, master=redis, config=config) for name in ("d1", "d2")]
    wrapper = tool.start(place, daemon.admitted(), "run", "x", "--", "sh", "-c", DEAF)
    ends = tool.Ends(tool.pids(wrapper))
    client = tool.waiting(place, other.admitted(), "x")
    began = harness.boottime()
    act(daemon)
    tool.never_early(client, ends)
    # The waiter saw no lock that was free anyway.
    expect_not_before(harness.boottime() - began, 1.0, "the lock of the silent daemon passed on")
    ends.close()
    expect(wrapper.wait(), 76, wrapper.output.text())


def test_daemon_hangs(place):
    """the daemon hangs: the command is stopped at the deadline it was told, before anybody else gets the lock"""
    stopped_in_time(place, lambda daemon: daemon.process.stop())


def test_daemon_killed(place):
    """the daemon is killed: the command is stopped at the deadline it was told, before anybody else gets the lock"""
    stopped_in_time(place, lambda daemon: daemon.kill())


def test_on_lost_kill(place):
    """--on-lost kill does not ask first"""
    daemon = world(place, config=BRISK)
    wrapper = tool.start(place, daemon, "run", "--on-lost", "kill", "x", "--", *tool.ears("TERM=heard"))
    tool.pids(wrapper)
    daemon.kill()
    expect(wrapper.wait(), 76, wrapper.output.text())
    expect("heard" in wrapper.output.text(), False)


def test_on_lost_signal(place):
    """--on-lost signal:X sends X, and leaves the rest to the command"""
    daemon = world(place, config=BRISK)
    wrapper = tool.start(place, daemon, "run", "--on-lost", "signal:USR1", "x", "--",
                         *tool.ears("USR1=heard", "TERM=5"))
    number = tool.pids(wrapper)[0]
    daemon.kill()
    wrapper.output.wait("^heard")
    os.kill(number, signal.SIGTERM)
    expect(wrapper.wait(), 76, wrapper.output.text())


def test_on_lost_warn(place):
    """--on-lost warn only says so, and the exit code is the command's"""
    daemon = world(place, config=BRISK)
    wrapper = tool.start(place, daemon, "run", "--on-lost", "warn", "x", "--", *tool.ears("TERM=5"))
    number = tool.pids(wrapper)[0]
    daemon.kill()
    wrapper.output.wait("the lock x is lost")
    os.kill(number, signal.SIGTERM)
    expect(wrapper.wait(), 5)


def test_work_that_ends_in_time(place):
    """a command that ends before its deadline is not lost, though the daemon is gone"""
    daemon = world(place)
    wrapper = tool.start(place, daemon, "run", "x", "--", "sh", "-c", 'echo "pids $$"; read line; exit 4', stdin=-1)
    tool.pids(wrapper)
    daemon.kill()
    wrapper.output.wait("is good for")
    wrapper.process.stdin.close()
    expect(wrapper.wait(), 4, wrapper.output.text())


def test_lease(place):
    """-t ends the hold by itself: the command is stopped just before, with 76 and its own reason"""
    daemon = world(place)
    began = harness.boottime()
    wrapper = tool.start(place, daemon, "run", "-t", "3", "x", "--", "sh", "-c", PLAIN)
    ends = tool.Ends(tool.pids(wrapper))
    client = tool.waiting(place, daemon, "x")
    tool.never_early(client, ends)
    expect(wrapper.wait(), 76)
    expect("the lock x is lost: the 3.0s of --lease are over" in wrapper.output.text(), True, wrapper.output.text())
    # A twentieth is from TERM to the end of the hold. How long the last CHECK took counts against it, too.
    expect_not_before(harness.boottime() - began, 3 * 0.8, "the end of the command")
    ends.close()


def test_master_hangs(place):
    """the master hangs: the command is stopped before the lease ends, and the daemon is not blamed"""
    redis = place.redis()
    daemon = place.daemon(master=redis, config=BRISK).admitted()
    wrapper = tool.start(place, daemon, "run", "x", "--", "sh", "-c", PLAIN)
    tool.pids(wrapper)
    redis.process.stop()
    expect(wrapper.wait(), 76, wrapper.output.text())
    expect("its time is nearly over" in wrapper.output.text(), True, wrapper.output.text())
    redis.process.cont()


def test_master_stands_still(place):
    """a master that stands still for half a lease, whenever that begins between two renewals, stops no command"""
    redis = place.redis()
    daemon = place.daemon(master=redis, config="lease: 10s\n").admitted()
    crowd = []
    for number in range(4):
        crowd.append(tool.start(place, daemon, "run", "x%d" % number, "--", "sh", "-c", PLAIN))
        tool.pids(crowd[-1])
        pause(0.83)  # a quarter of the time between two renewals
    redis.process.stop()
    pause(5)
    redis.process.cont()
    for wrapper in crowd:
        wrapper.signal(signal.SIGTERM)
        expect(wrapper.wait(), 128 + signal.SIGTERM, wrapper.output.text())


def test_pipeline(place):
    """the wrapper keeps no pipe open that its command has closed"""
    daemon = world(place)
    # The command goes on until it is told; told it is only when its closed pipe has ended its reader.
    gate = os.path.join(place.path, "gate")
    os.mkfifo(gate)
    process = tool.script(place, daemon, "yes | holdfast run x -- head -n 1; "
                          "holdfast run x -- sh -c 'echo a; exec >&- 2>&-; read go <%s' | "
                          "{ cat; echo end; echo go >%s; }" % (gate, gate))
    process.output.wait("^end")
    process.wait()


def test_no_daemon(place):
    """without a daemon it is 69, and the message says where it looked"""
    status, output = tool.call(place, os.path.join(place.path, "none"), "run", "x", "true")
    expect(status, 69, output)
    expect("none" in output and "is holdfastd running?" in output, True, output)
    status, output = tool.call(place, "gopher://x", "run", "x", "true")
    expect(status, 78, output)


def test_no_master(place):
    """without a master it is given up with 69 after --master-wait"""
    redis = place.redis()
    daemon = place.daemon(master=redis).admitted()
    redis.kill()
    began = harness.boottime()
    status, output = tool.call(place, daemon, "run", "--master-wait", "1", "x", "true")
    expect((status, "no master" in output), (69, True), output)
    expect_not_before(harness.boottime() - began, 1.0, "given up", harness.WHOLE_MS)


def test_tcp(place):
    """over TCP a killed wrapper's command is gone before the lock passes on, at the deadline it was told"""
    daemon = world(place, tcp=True, config="lease: 3s\n")
    wrapper = tool.start(place, "127.0.0.1:%d" % daemon.port, "run", "x", "--", "sh", "-c", PLAIN)
    ends = tool.Ends(tool.pids(wrapper))
    client = tool.waiting(place, daemon, "x")
    wrapper.signal(signal.SIGKILL)
    tool.never_early(client, ends)
    ends.close()


def test_tcp_deaf(place):
    """over TCP a killed wrapper's command that ignores TERM is killed at the deadline, however long it has to end"""
    daemon = world(place, tcp=True, config=BRISK)
    wrapper = tool.start(place, "127.0.0.1:%d" % daemon.port, "run", "--kill-after", "1000", "x", "--",
                         "sh", "-c", DEAF)
    ends = tool.Ends(tool.pids(wrapper))
    wrapper.signal(signal.SIGKILL)
    ends.wait()
    ends.close()


def test_tcp_asks_first(place):
    """over TCP, too, a command gets TERM before it is killed, however long it ran"""
    daemon = world(place, tcp=True, config="lease: 3s\n")
    wrapper = tool.start(place, "127.0.0.1:%d" % daemon.port, "run", "x", "--", *tool.ears("TERM=heard"))
    tool.pids(wrapper)
    # Longer than what was told at the grant.
    expect(daemon.client()("LOCK", "x", "WAIT", 3500), None)
    wrapper.signal(signal.SIGKILL)
    wrapper.output.wait("^heard")


ENDING = ("HUP", "INT", "QUIT", "TERM", "USR1", "ALRM", "ABRT", "IO", "RTMIN")


def namespaces():
    """Skips where none can be made."""
    if os.getuid() != 0 or subprocess.run(["unshare", "-fp", "--mount-proc", "true"], check=False).returncode != 0:
        raise harness.Skip("needs root, and a PID namespace")


def process_one(place, daemon, *words):
    """holdfast as process 1 of a PID namespace, and its pid here; it handles signals by then."""
    unshare = tool.start(place, daemon, *words, through=("unshare", "-fp", "--mount-proc"))
    harness.until("process 1 is there", lambda: tool.children(unshare.pid))
    one = tool.children(unshare.pid)[0]
    harness.until("it is holdfast", lambda: os.readlink("/proc/%d/exe" % one).startswith(harness.HOLDFAST))
    harness.until("it heeds signals", lambda: tool.signal_counts(one, "SigCgt") & 1 << signal.SIGIO - 1)
    return unshare, one


def ends_as_one(place, daemon, words, ready, well=()):
    """Process 1 does that; when ready(all of them), a signal for each: it ends as by that signal, or well."""
    crowd = [(name, *process_one(place, daemon, *[word.replace("%", name) for word in words])) for name in ENDING]
    ready(crowd)
    for name, _, one in crowd:
        os.kill(one, getattr(signal, "SIG" + name))
    for name, unshare, _ in crowd:
        expect(unshare.wait(), 0 if name in well else 128 + getattr(signal, "SIG" + name), "%s by %s" % (words[0], name))


def test_one_connecting(place):
    """as process 1, whose default actions the kernel ignores, each verb ends by a signal while no daemon answers"""
    namespaces()
    path = os.path.join(place.path, "deaf")
    deaf = socket.socket(socket.AF_UNIX)
    place.sockets.append(deaf)
    deaf.bind(path)
    deaf.listen(64)
    deaf.settimeout(harness.PATIENCE)
    for words in (("run", "a", "--", "true"), ("hold", "a"), ("await", "a"), ("watch",), ("top", "-b"), ("drain",),
                  ("restart",), ("bench",), ("health",), ("doctor",), ("info",), ("fleet",), ("ls",)):
        peers = []
        ends_as_one(place, path, words, lambda crowd, peers=peers: peers.extend(deaf.accept()[0] for _ in crowd))
        for peer in peers:
            peer.close()


def test_one_at_work(place):
    """as process 1, each verb that waits, holds or watches ends by a signal, and what it held is free"""
    namespaces()
    daemon = world(place)
    client = daemon.client()
    expect(isinstance(client("LOCK", "busy"), int), True)
    expect(tool.call(place, daemon, "latch", "l", "set", "1")[0], 0)
    base = int(daemon.info()["connected_clients"])
    asleep = ("sh", "-c", "echo runs; exec sleep 1000")

    def queued(crowd):
        daemon.queued("busy", len(crowd))

    def connected(crowd):
        harness.until("all are there", lambda: int(daemon.info()["connected_clients"]) >= base + len(crowd))

    def said(pattern):
        return lambda crowd: [unshare.output.wait(pattern) for _, unshare, _ in crowd]

    ends_as_one(place, daemon, ("run", "busy", "--", "true"), queued)
    ends_as_one(place, daemon, ("hold", "busy"), queued)
    ends_as_one(place, daemon, ("lock", "--pid", "1", "busy"), queued)
    ends_as_one(place, daemon, ("hold", "--token-file", "-", "h-%"), said(r"^\d+$"), well=("HUP", "INT", "TERM"))
    ends_as_one(place, daemon, ("await", "l"), connected)
    ends_as_one(place, daemon, ("watch",), connected)
    ends_as_one(place, daemon, ("bench", "-c", "1", "--seconds", "1000"), connected)
    ends_as_one(place, daemon, ("top", "-b", "-n", "1000"), said("."))
    harness.until("all are gone", lambda: int(daemon.info()["connected_clients"]) == base)
    # These are handed on; the command ends by them, and its status is told.
    crowd = [(name, *process_one(place, daemon, "run", "r-" + name, "--", *asleep)) for name in ENDING[:6]]
    said("^runs$")(crowd)
    for name, unshare, one in crowd:
        os.kill(one, getattr(signal, "SIG" + name))
        expect(unshare.wait(), 128 + getattr(signal, "SIG" + name), name)
    for name in ["r-" + name for name in ENDING[:6]] + ["h-" + name for name in ENDING]:
        expect(isinstance(client("LOCK", name), int), True, name)


def test_one_printing(place):
    """as process 1, what cannot print because nobody reads ends by a signal"""
    namespaces()
    daemon = world(place)
    client = daemon.client()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
        path = os.path.join(place.path, "full-%d" % number)
        os.mkfifo(path)
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        place.ends.append(lambda reader=reader: os.close(reader))
        room = fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)
        shell = tool.start(place, daemon, "watch", through=("sh", "-c", 'exec "$@" >"$0"', path, "unshare", "-fp",
                                                            "--mount-proc"))

        def full(reader=reader, room=room):
            client("LOCK", "a")
            client("UNLOCK", "a")
            filled = fcntl.ioctl(reader, termios.FIONREAD, b"\0" * 4)
            return int.from_bytes(filled, sys.byteorder) > room - 512

        harness.until("the pipe is full", full)
        os.kill(tool.children(shell.pid)[0], number)
        expect(shell.wait(), 128 + number)


def test_one_reaps(place):
    """as process 1, it reaps the orphans of a shell that somebody starts beside it, and tells its command's own status"""
    namespaces()
    daemon = world(place)
    expect(isinstance(daemon.client()("LOCK", "busy"), int), True)
    go = os.path.join(place.path, "go")
    os.mkfifo(go)
    for words, own in ((("hold", "free"), 0), (("run", "busy", "--", "true"), 0), (("watch",), 0),
                       (("run", "a", "--", "sh", "-c", "echo runs; read line <%s; exit 7" % go), 1)):
        unshare, one = process_one(place, daemon, *words)
        if own:
            unshare.output.wait("^runs$")
        before = tool.children(one)
        expect(len(before), own)
        beside = place.run("nsenter", "-t", str(one), "-p", "sh", "-c",
                           "for i in 1 2 3; do (sleep 1000 >/dev/null 2>&1 &); done")
        expect(beside.wait(), 0)
        orphans = set(tool.children(one)) - set(before)
        expect(len(orphans), 3)
        for orphan in orphans:
            os.kill(orphan, signal.SIGKILL)
        harness.until("they are reaped", lambda one=one, before=before: tool.children(one) == before)
        if own:
            with open(go, "w", encoding="ascii") as stream:
                stream.write("\n")
            expect(unshare.wait(), 7)
        else:
            os.kill(one, signal.SIGKILL)
            unshare.wait()


if __name__ == "__main__":
    harness.main(globals())
