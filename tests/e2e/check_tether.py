#!/usr/bin/env python3
"""holdfast run: what keeps its lock. Every process that has inherited the tether does, whatever else is killed."""

import os
import signal
import sys

import harness
import tool
from harness import expect, until
from manager import Manager

# A process that has left its group with setsid, and whose parents have ended; it says its number.
FAR = "setsid sh -c 'sleep 1000 >/dev/null 2>&1 & echo \"pids $!\"'"
# It has a nested run of the same lock, in a session of its own, and has passed no descriptor on.
BARE = """
import subprocess, sys, time
subprocess.Popen(["holdfast", "run", "x", "--", "sh", "-c", sys.argv[1]], start_new_session=True)
sys.stdin.readline()
"""
WORKS = 'echo "pids $$"; exec sleep 1000'


def world(place, **options):
    return place.daemon(master=place.redis(), **options).admitted()


def kept(daemon, name="x"):
    """It is held: a request for it that does not wait gets nothing."""
    expect(daemon.client()("LOCK", name, "WAIT", 0), None)


def end(numbers, how=signal.SIGKILL):
    for number in numbers:
        os.kill(number, how)


def run(place, daemon, text, *options, **more):
    """A wrapper whose command prints the numbers of the processes that have to end before the lock passes on."""
    wrapper = tool.start(place, daemon, "run", *options, "x", "--", "sh", "-c", text, **more)
    return wrapper, tool.pids(wrapper)


def both(wrapper):
    """Kills wrapper and supervisor, as the OOM killer does, or `killall -9 holdfast`."""
    # Neither sees the end of the other. The kernel continues a group that is stopped when its parent ends, so the
    # supervisor is first.
    pair = (tool.children(wrapper.pid)[0], wrapper.pid)
    end(pair, signal.SIGSTOP)
    until("both have stopped", lambda: [tool.state(number) for number in pair] == ["T", "T"])
    end(pair)
    wrapper.wait()


def granted_after(client, ends):
    """A process that is killed has closed its descriptors a moment before it counts as ended."""
    expect(isinstance(client.reply(), int), True)
    ends.wait(1)
    ends.close()


def passes_on(place, daemon, numbers, act):
    """The lock is kept while these processes live, also after act(), and passes on when the last has ended."""
    ends = tool.Ends(numbers)
    act()
    kept(daemon)
    client = tool.waiting(place, daemon, "x")
    kept(daemon)
    end(numbers)
    granted_after(client, ends)
    client("UNLOCK", "x")


def test_both_killed(place):
    """wrapper and supervisor are killed: the lock is kept until the last process that their command started has ended"""
    daemon = world(place)
    wrapper, numbers = run(place, daemon, 'sleep 1000 & echo "pids $!"; wait')
    passes_on(place, daemon, numbers, lambda: both(wrapper))


def test_both_killed_far(place):
    """the same for one that is a daemon by now: its parents have ended, and it has a session of its own"""
    daemon = world(place)
    wrapper, numbers = run(place, daemon, FAR + "; exec sleep 1000")
    passes_on(place, daemon, numbers, lambda: both(wrapper))


def test_both_killed_one_after_the_other(place):
    """the wrapper first, and its supervisor before it has stopped the command, which ignores TERM"""
    daemon = world(place)
    wrapper, numbers = run(place, daemon, "trap '' TERM; sh -c 'trap \"\" TERM; echo \"pids $$\"; while :; do sleep 1; done' & wait")
    supervisor = tool.children(wrapper.pid)[0]

    def act():
        end((wrapper.pid,))
        wrapper.wait()
        end((supervisor,))
        until("the supervisor has ended", lambda: not os.path.exists("/proc/%d" % supervisor))

    passes_on(place, daemon, numbers, act)


def test_both_killed_before_a_restart(place):
    """the daemon is restarted between the kill and the end of what the command started, and before the kill"""
    daemon = world(place)
    wrapper, numbers = run(place, daemon, 'sleep 1000 & echo "pids $!"; wait')
    expect(tool.call(place, daemon, "restart")[0], 0)

    def act():
        both(wrapper)
        expect(tool.call(place, daemon, "restart")[0], 0)

    passes_on(place, daemon, numbers, act)


def test_both_killed_and_a_crash(place):
    """a service manager keeps the connections of the daemon over a crash: the tether, too"""
    daemon = place.idle_daemon(master=place.redis())
    manager = Manager(daemon, 1024)
    manager.start()
    daemon.admitted()
    wrapper, numbers = run(place, daemon, 'sleep 1000 & echo "pids $!"; wait')
    until("both connections are kept", lambda: int(daemon.info()["clients_kept"]) == 2)

    def act():
        both(wrapper)
        until("the wrapper's connection is gone", lambda: int(daemon.info()["clients_kept"]) == 1)
        manager.kill()
        manager.start()

    passes_on(place, daemon, numbers, act)


def test_both_killed_over_tcp(place):
    """over TCP, too, though the daemon sees no processes there"""
    daemon = world(place, tcp=True, config=harness.BRISK)
    wrapper, numbers = run(place, "127.0.0.1:%d" % daemon.port, 'sleep 1000 & echo "pids $!"; wait')
    client = tool.waiting(place, daemon, "x")
    both(wrapper)
    # The lease is two seconds: what it would be withheld for is over long before.
    expect(daemon.client()("LOCK", "x", "WAIT", 3000), None)
    ends = tool.Ends(numbers)
    end(numbers)
    expect(isinstance(client.reply(), int), True)
    ends.close()


def test_supervisor_killed_far(place):
    """the supervisor is killed: the wrapper kills what has left the group as well, before the lock passes on"""
    daemon = world(place)
    wrapper, numbers = run(place, daemon, FAR + "; exec sleep 1000")
    ends = tool.Ends(numbers)
    client = tool.waiting(place, daemon, "x")
    end(tool.children(wrapper.pid)[:1])
    granted_after(client, ends)
    expect(wrapper.wait(), 76)


def test_wrapper_killed_far(place):
    """the wrapper is killed: its supervisor stops what has left the group as well, before the lock passes on"""
    daemon = world(place)
    wrapper, numbers = run(place, daemon, FAR + "; exec sleep 1000")
    ends = tool.Ends(numbers)
    client = tool.waiting(place, daemon, "x")
    wrapper.signal(signal.SIGKILL)
    granted_after(client, ends)


def test_broken_far(place):
    """a lock that is broken stops what has left the group as well"""
    daemon = world(place, config="lease: 3s\n")
    wrapper, numbers = run(place, daemon, FAR)
    ends = tool.Ends(numbers)
    wrapper.output.wait("run on: x is kept")
    token = daemon.client(form=3)("INSPECT", "x")["holder"]["token"]
    expect(tool.call(place, daemon, "break", "x", "--token", token)[0], 0)
    ends.wait()
    expect(wrapper.wait(), 76)
    ends.close()


def test_close(place):
    """-o: what leaves the group does not keep the lock, and inherits nothing"""
    daemon = world(place)
    wrapper, numbers = run(place, daemon, FAR, "-o")
    expect(wrapper.wait(), 0)
    expect(isinstance(daemon.client()("LOCK", "x", "WAIT", 0), int), True)
    end(numbers)
    expect(tool.call(place, daemon, "run", "--close", "y", "--", "sh", "-c", "ls /proc/$$/fd"), (0, "0\n1\n2"))


def test_closed_by_hand(place):
    """one that has left the group and closed the tether does not keep the lock"""
    daemon = world(place)
    text = "import os; os.closerange(3, 1024); os.setsid(); print('pids', os.getpid(), flush=True); os.execlp('sleep', 'sleep', '1000')"
    wrapper = tool.start(place, daemon, "run", "x", "--", "sh", "-c", '"$0" -c "$1" & echo done; wait', sys.executable, text)
    numbers = tool.pids(wrapper)
    # It is a child of the command, which waits for it.
    end((tool.children(tool.children(wrapper.pid)[0])[0],))
    expect(wrapper.wait(), 128 + signal.SIGKILL)
    expect(isinstance(daemon.client()("LOCK", "x", "WAIT", 0), int), True)
    end(numbers)


def nested(place, daemon, text, *words, **options):
    environment = {"PATH": "%s:%s" % (harness.BUILD, os.environ["PATH"])}
    wrapper = tool.start(place, daemon, "run", "x", "--", *words or ("sh", "-c", text), environment=environment, **options)
    return wrapper, tool.pids(wrapper)


def test_nested_outlives(place):
    """a nested run that outlives its outer one keeps the lock: in the background, in a session of its own, two deep"""
    daemon = world(place)
    for before in ("", "setsid ", "setsid holdfast run x -- "):
        wrapper, numbers = nested(place, daemon, "%sholdfast run x -- sh -c '%s' & exit 0" % (before, WORKS))
        passes_on(place, daemon, numbers, lambda wrapper=wrapper: wrapper.output.wait("run on: x is kept"))
        wrapper.wait()


def test_nested_without_the_tether(place):
    """so does one whose parent has closed what it inherited, as Python's subprocess does"""
    daemon = world(place)
    wrapper, numbers = nested(place, daemon, "", sys.executable, "-c", BARE, WORKS, stdin=-1)

    def act():
        wrapper.process.stdin.close()
        wrapper.output.wait("run on: x is kept")

    passes_on(place, daemon, numbers, act)
    wrapper.wait()


def test_nested_outer_killed(place):
    """wrapper and supervisor of the outer run are killed: the nested one keeps the lock"""
    daemon = world(place)
    for words in (("sh", "-c", "setsid holdfast run x -- sh -c '%s' & wait" % WORKS), (sys.executable, "-c", BARE, WORKS)):
        wrapper, numbers = nested(place, daemon, "", *words, stdin=-1)
        passes_on(place, daemon, numbers, lambda wrapper=wrapper: both(wrapper))


def test_nested_of_another_name(place):
    """a nested run of another name keeps both locks when it outlives its outer one"""
    daemon = world(place)
    wrapper, numbers = nested(place, daemon, "setsid holdfast run y -- sh -c '%s' & exit 0" % WORKS)
    wrapper.output.wait("run on: x is kept")
    kept(daemon, "y")
    passes_on(place, daemon, numbers, lambda: None)
    expect(wrapper.wait(), 0)


if __name__ == "__main__":
    harness.main(globals())
