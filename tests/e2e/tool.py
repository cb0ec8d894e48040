"""The bundled client in end-to-end tests: starts it, and watches the ends of processes beside the next grant."""

import os
import re
import select
import sys

import harness
from harness import boottime

# Nobody here hears TERM; the shell prints the pids of both, then waits.
DEAF = 'trap "" TERM INT HUP; sleep 1000 & echo "pids $$ $!"; wait'
# The same, but they do.
PLAIN = 'sleep 1000 & echo "pids $$ $!"; wait'


# Waits for signals, and does one thing for each: exits with a number, or says a word. A shell's trap may run between
# two commands, and then the next one is started and left behind.
EARS = """
import os, signal, sys
acts = dict(word.split("=") for word in sys.argv[1:])
acts = {getattr(signal, "SIG" + name): act for name, act in acts.items()}
signal.pthread_sigmask(signal.SIG_BLOCK, acts)
print("pids", os.getpid(), flush=True)
while True:
    act = acts[signal.sigwait(acts)]
    if act.isdigit():
        sys.exit(int(act))
    print(act, flush=True)
    if act == "asked":
        sys.stdin.readline()
"""


def ears(*acts):
    """The command for that; acts: "USR1=heard", "TERM=9", "INT=asked" (waits for a line of input, too)."""
    return (sys.executable, "-c", EARS) + acts


def start(place, daemon, *words, **options):
    """holdfast as a process of a session of its own, so without a terminal, whoever runs the tests; through: the
    words of a command that becomes it."""
    if not os.access(harness.HOLDFAST, os.X_OK):
        raise harness.Skip("%s is not built" % harness.HOLDFAST)
    environment = {"HOLDFAST_URL": daemon if isinstance(daemon, str) else daemon.socket}
    environment.update(options.pop("environment", {}))
    return place.run(*options.pop("through", ()), harness.HOLDFAST, *[str(word) for word in words], environment=environment,
                     start_new_session=True, **options)


def call(place, daemon, *words, **options):
    """(exit status, everything it printed)"""
    process = start(place, daemon, *words, **options)
    status = process.wait()
    process.output.thread.join(harness.PATIENCE)
    return status, process.output.text()


def script(place, daemon, text, **options):
    """A shell script that finds holdfast in its PATH."""
    environment = {"HOLDFAST_URL": daemon.socket, "PATH": "%s:%s" % (harness.BUILD, os.environ["PATH"])}
    return place.run("sh", "-c", text, environment=environment, start_new_session=True, **options)


def pids(process):
    """The numbers of the first line `pids N...` that it prints."""
    return [int(word) for word in process.output.wait(r"^pids ([\d ]+)")[1].group(1).split()]


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as stream:
        return [int(word) for word in stream.read().split()]


def state(pid):
    """Its letter in /proc/PID/stat: T is a process that stands still."""
    with open("/proc/%d/stat" % pid, encoding="utf-8") as stream:
        return stream.read().rpartition(") ")[2][0]


def signal_counts(pid, word):
    """A mask of /proc/PID/status: SigIgn, SigBlk, ..."""
    with open("/proc/%d/status" % pid, encoding="utf-8") as stream:
        return int(re.search(r"^%s:\s*(\w+)" % word, stream.read(), re.M).group(1), 16)


class Ends:
    """Watches processes by pidfd, so that a number used twice cannot deceive."""

    def __init__(self, numbers):
        self.fds = [os.pidfd_open(number) for number in numbers]

    def left(self):
        return len(self.fds) - len(select.select(self.fds, [], [], 0)[0])

    def wait(self, timeout=harness.PATIENCE):
        """The time when the last of them ended."""
        for fd in self.fds:
            if not select.select([fd], [], [], timeout)[0]:
                raise AssertionError("a process does not end")
        return boottime()

    def close(self):
        for fd in self.fds:
            os.close(fd)


def never_early(client, ends):
    """Waits for the grant alone; when it is there, none of the processes may be."""
    token = client.reply()
    left = ends.left()
    if not isinstance(token, int) or left:
        raise AssertionError("granted %r while %d processes ran" % (token, left))


def waiting(place, daemon, name):
    """A connection that waits for the name; returns when the daemon has it in line."""
    client = daemon.client()
    with daemon.client(form=3) as watcher:
        before = watcher("INSPECT", name)["waiter_count"]
    client.send("LOCK", name)
    daemon.queued(name, before + 1)
    return client
