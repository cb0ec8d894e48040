#!/usr/bin/env python3
"""holdfast run in the foreground of a terminal: pipelines, ^C and ^Z work as without it."""

import os
import re
import signal
import sys

import harness
import tool
from harness import expect, until
from terminal import Terminal


def world(place, **options):
    return place.daemon(master=place.redis(), **options).admitted()


def shell(place, daemon):
    """An interactive shell with job control."""
    terminal = Terminal(place, daemon, "bash", "--norc", "--noprofile", "-i")
    terminal.wait(r"^\$ $")
    return terminal


def test_group(place):
    """in the foreground the command is in the wrapper's process group, and keeps the terminal"""
    daemon = world(place)
    text = 'echo "pids $$ $PPID"; read x; echo "read $x"'
    with Terminal(place, daemon, "holdfast", "run", "x", "--", "sh", "-c", text) as terminal:
        child, supervisor = [int(word) for word in terminal.wait(r"^pids (\d+) (\d+)").groups()]
        expect(os.getpgid(child), os.getpgid(terminal.pid))
        expect(os.tcgetpgrp(terminal.master), os.getpgid(child))
        expect(os.getpgid(supervisor) == os.getpgid(child), False)
        terminal.type("hello\n")
        terminal.wait("^read hello")
        expect(terminal.end(), 0)


def test_interrupt(place):
    """^C reaches the command once, and the wrapper waits for what it makes of it"""
    daemon = world(place)
    command = tool.ears("INT=asked", "TERM=7")
    with Terminal(place, daemon, "holdfast", "run", "x", "--", *command) as terminal:
        number = int(terminal.wait(r"^pids (\d+)").group(1))
        terminal.type("\x03")
        terminal.wait("asked$")
        expect(daemon.client()("LOCK", "x", "WAIT", 0), None)
        terminal.type("\n")
        os.kill(number, signal.SIGTERM)
        expect(terminal.end(), 7)
        expect(terminal.text.count("asked"), 1, terminal.text)


def test_interrupt_kills(place):
    """a command that dies of ^C is seen to have died of it, so that loops in shells end"""
    daemon = world(place)
    with Terminal(place, daemon, "holdfast", "run", "x", "--", "sh", "-c", 'echo "pids $$"; exec sleep 1000') as terminal:
        terminal.wait("^pids")
        terminal.type("\x03")
        expect(terminal.end(), -signal.SIGINT)
        expect(isinstance(daemon.client()("LOCK", "x", "WAIT", 0), int), True)


def test_interrupt_while_waiting(place):
    """^C during the wait ends it"""
    daemon = world(place)
    holder = daemon.client()
    holder("LOCK", "x")
    with Terminal(place, daemon, "holdfast", "run", "x", "--", "echo", "ran") as terminal:
        terminal.wait("waiting for x")
        terminal.type("\x03")
        expect(terminal.end(), -signal.SIGINT)
        expect("ran" in terminal.text, False)


def test_pipeline(place):
    """in a | holdfast run x -- b | c both b and c can read the terminal"""
    daemon = world(place)
    with shell(place, daemon) as terminal:
        terminal.type("echo in | holdfast run x -- sh -c 'read a; read b </dev/tty; echo b $a $b' | "
                      "sh -c 'read l; echo c $l; read t </dev/tty; echo tty $t'\n")
        terminal.type("one\n")
        terminal.wait("^c b in one")
        terminal.type("two\n")
        terminal.wait("^tty two")
        terminal.wait(r"^\$ ")
        terminal.type("exit 5\n")
        expect(terminal.end(), 5)


def test_stop(place):
    """^Z stops the job, and fg goes on with the lock held as long as its lease lasts"""
    daemon = world(place, config="lease: 60s\n")
    with shell(place, daemon) as terminal:
        terminal.type("holdfast run x -- sh -c 'echo started; exec nice -n 19 cat'\n")
        terminal.wait("^started")
        terminal.type("one\n")
        terminal.wait("^one\none")
        terminal.type("\x1a")
        terminal.wait("Stopped")
        terminal.wait(r"\$ ")
        expect(daemon.client()("LOCK", "x", "WAIT", 0), None)
        terminal.type("fg\n")
        terminal.wait("holdfast run x")
        terminal.type("two\n")
        terminal.wait("^two\ntwo")
        expect(daemon.client()("LOCK", "x", "WAIT", 0), None)
        terminal.type("\x04")
        terminal.wait(r"\$ ")
        terminal.type("exit 6\n")
        expect(terminal.end(), 6)


def test_stop_ignored(place):
    """a command that ignores ^Z keeps the terminal, and one that stops by itself gives it back"""
    daemon = world(place)
    text = ('import os, signal; signal.signal(signal.SIGTSTP, signal.SIG_IGN); print("deaf", flush=True); '
            'print("read", input(), flush=True); signal.signal(signal.SIGTSTP, signal.SIG_DFL); '
            'os.kill(os.getpid(), signal.SIGTSTP); print("goes on", flush=True)')
    with shell(place, daemon) as terminal:
        terminal.type("holdfast run x -- %s -c '%s'\n" % (sys.executable, text))
        terminal.wait("^deaf")
        terminal.type("\x1a")
        terminal.wait(r"\^Z")
        expect(daemon.client()("LOCK", "x", "WAIT", 200), None)
        terminal.type("hello\n")
        terminal.wait("^read hello")
        terminal.wait("Stopped")
        terminal.wait(r"\$ ")
        expect(daemon.client()("LOCK", "x", "WAIT", 0), None)
        terminal.type("fg\n")
        terminal.wait("^goes on")
        terminal.wait(r"\$ ")
        terminal.type("exit 6\n")
        expect(terminal.end(), 6)


def test_stop_shell_killed(place):
    """a job that was stopped with ^Z ends with its shell, however that dies, and the next holder starts"""
    daemon = world(place)
    with shell(place, daemon) as terminal:
        terminal.type("holdfast run x -- sh -c 'echo \"pid $$\"; exec cat'\n")
        ends = tool.Ends([int(terminal.wait(r"^pid (\d+)").group(1))])
        terminal.type("\x1a")
        terminal.wait("Stopped")
        terminal.wait(r"\$ ")
        client = tool.waiting(place, daemon, "x")
        os.kill(terminal.pid, signal.SIGKILL)
        tool.never_early(client, ends)
        ends.close()


def test_stop_too_long(place):
    """a job that was stopped with ^Z for longer than its lease goes on when the daemon has kept the lock"""
    daemon = world(place, config="lease: 2s\nclock-margin: 200ms\n")
    with shell(place, daemon) as terminal:
        terminal.type("holdfast run x -- sh -c 'echo started; exec nice -n 19 cat'\n")
        terminal.wait("^started")
        terminal.type("\x1a")
        terminal.wait("Stopped")
        terminal.wait(r"\$ ")
        # Two leases, told by the daemon that keeps them.
        expect(daemon.client()("LOCK", "x", "WAIT", 4000), None)
        terminal.type("fg\n")
        terminal.wait("holdfast run x")
        terminal.type("two\n")
        terminal.wait("^two\ntwo")
        expect(daemon.client()("LOCK", "x", "WAIT", 0), None)
        terminal.type("\x04")
        terminal.wait(r"\$ ")
        terminal.type("echo \"status $?\"\n")
        terminal.wait("^status 0")
        terminal.type("exit 7\n")
        expect(terminal.end(), 7)


def foreground(terminal):
    terminal.type("fg\n")
    terminal.wait(r"^holdfast run x")


def foreground_for_keys(terminal):
    """For a job that shows nothing: the shell prints it before it hands over the terminal, and takes ^Z until then."""
    foreground(terminal)
    until("the job to have the terminal", lambda: os.tcgetpgrp(terminal.master) != terminal.pid)


def background(terminal, text):
    """Starts a job that stops in the background; the pids of wrapper and command."""
    terminal.type("set -b; holdfast run x -- sh -c 'echo \"pid $$\"; %s' & echo \"wrapper $!\"\n" % text)
    said = {}
    for _ in range(3):  # in any order: the shell may tell of the stop first
        word, pid = terminal.wait(r"\b(wrapper|pid) (\d+)|\bStopped\b").groups()
        said[word] = pid
    return [int(said["wrapper"]), int(said["pid"])]


def test_stop_lost(place):
    """a job whose lock was lost while it was stopped does nothing more when it is continued"""
    daemon = world(place, config="lease: 2s\nclock-margin: 200ms\n")
    with shell(place, daemon) as terminal:
        ends = tool.Ends([background(terminal, 'kill -TSTP $$; echo "goes on"')[1]])
        next_one = daemon.client()
        with daemon.client(form=3) as watcher:
            token = watcher("INSPECT", "x")["holder"]["token"]
        daemon.client()("BREAK", "x", "TOKEN", token)
        next_one("LOCK", "x")
        foreground(terminal)
        terminal.wait("the lock x is lost")
        ends.wait()
        terminal.type("echo \"status $?\"\n")
        terminal.wait("^status 76")
        expect("\ngoes on" in terminal.text, False)
        terminal.type("exit 7\n")
        expect(terminal.end(), 7)


def test_stop_unknown(place):
    """a job that was stopped for longer than its lease does nothing more when the daemon does not answer"""
    daemon = world(place, config="lease: 2s\nclock-margin: 200ms\n")
    with shell(place, daemon) as terminal:
        ends = tool.Ends([background(terminal, 'kill -TSTP $$; echo "goes on"')[1]])
        expect(daemon.client()("LOCK", "x", "WAIT", 4000), None)
        daemon.process.stop()
        try:
            foreground(terminal)
            terminal.wait("the lock x is lost: the daemon does not answer")
            ends.wait()
        finally:
            daemon.process.cont()
        terminal.type("echo \"status $?\"\n")
        terminal.wait("^status 76")
        expect("\ngoes on" in terminal.text, False)
        terminal.type("exit 7\n")
        expect(terminal.end(), 7)


def test_background(place):
    """a job that was started in the background gets the terminal with fg, and gives it back with ^Z and at its end"""
    daemon = world(place)
    with shell(place, daemon) as terminal:
        _, command = background(terminal, "cat; echo end; sleep 0")
        cat, = tool.children(command)
        foreground(terminal)
        terminal.type("one\n")
        terminal.wait("^one\none")
        terminal.type("\x1a")
        terminal.wait("Stopped")
        terminal.wait(r"\$ ")
        # The shell knows of its job's stop before cat stops, and until then cat takes what is typed.
        until("cat stands", lambda: tool.state(cat) == "T")
        expect(daemon.client()("LOCK", "x", "WAIT", 0), None)
        foreground(terminal)
        terminal.type("two\n")
        terminal.wait("^two\ntwo")
        terminal.type("\x04")
        terminal.wait("^end")
        terminal.wait(r"\$ ")
        terminal.type("echo \"status $?\"\n")
        terminal.wait("^status 0")
        terminal.type("exit 6\n")
        expect(terminal.end(), 6)


def ends_by(place, how, status):
    """A job that was started in the background, read the terminal and is in the foreground ends."""
    daemon = world(place)
    with shell(place, daemon) as terminal:
        wrapper, command = background(terminal, "exec cat")
        ends = tool.Ends([command])
        foreground(terminal)
        terminal.type("one\n")
        terminal.wait("^one\none")
        how(terminal, wrapper)
        ends.wait()
        terminal.wait(r"\$ ")
        terminal.type("echo \"status $?\"\n")
        terminal.wait("^status %d" % status)
        expect(isinstance(daemon.client()("LOCK", "x", "WAIT", 0), int), True)
        terminal.type("exit 6\n")
        expect(terminal.end(), 6)


def test_background_interrupt(place):
    """^C ends a job that was started in the background"""
    ends_by(place, lambda terminal, _: terminal.type("\x03"), 130)


def test_background_quit(place):
    """^\\ ends a job that was started in the background"""
    ends_by(place, lambda terminal, _: terminal.type("\x1c"), 131)


def test_background_term(place):
    """TERM ends a job that was started in the background and has the terminal"""
    ends_by(place, lambda _, wrapper: os.kill(wrapper, signal.SIGTERM), 143)


def test_background_kill(place):
    """kill %1 ends a job that stopped in the background"""
    daemon = world(place)
    with shell(place, daemon) as terminal:
        ends = tool.Ends([background(terminal, "exec cat")[1]])
        terminal.type("kill %1\n")
        ends.wait()
        terminal.wait("Exit 143|Terminated")
        terminal.type("exit 6\n")
        expect(terminal.end(), 6)


def test_background_deaf(place):
    """a job that does not read the terminal is stopped with ^Z and ended with ^C, too"""
    daemon = world(place)
    with shell(place, daemon) as terminal:
        terminal.type("holdfast run x -- sh -c 'echo \"pid $$\"; exec sleep 1000' &\n")
        ends = tool.Ends([int(terminal.wait(r"pid (\d+)").group(1))])
        foreground_for_keys(terminal)
        terminal.type("\x1a")
        terminal.wait("Stopped")
        terminal.wait(r"\$ ")
        foreground_for_keys(terminal)
        terminal.type("\x03")
        ends.wait()
        terminal.wait(r"\$ ")
        terminal.type("echo \"status $?\"\n")
        terminal.wait("^status 130")
        terminal.type("exit 6\n")
        expect(terminal.end(), 6)


def test_stopped_hears(place):
    """a command that is stopped hears of TERM, sent to the wrapper alone"""
    daemon = world(place)
    run = tool.start(place, daemon, "run", "x", "--", "sh", "-c", 'echo "pids $$"; kill -STOP $$; echo "goes on"')
    command = tool.pids(run)
    ends = tool.Ends(command)
    until("the command to be stopped", lambda: tool.state(command[0]) == "T")
    run.signal(signal.SIGTERM)
    ends.wait()
    expect(run.wait(), 143)


def test_suspend(place):
    """a shell under the lock that suspends itself gives the terminal back to the one around it, and fg goes on"""
    daemon = world(place)
    with shell(place, daemon) as terminal:
        terminal.type("holdfast run x -- bash --norc --noprofile -i\n")
        terminal.wait(r"^\$ $")
        terminal.type("PS1='in> '\n")
        terminal.wait("^in> $")
        for _ in range(3):
            terminal.type("suspend -f\n")
            terminal.wait("Stopped")
            terminal.wait(r"^\$ $")
            expect(daemon.client()("LOCK", "x", "WAIT", 0), None)
            terminal.type("fg\n")
            terminal.wait("^holdfast run x")
            terminal.type("echo \"go\"es on\n")
            terminal.wait("^goes on")
        terminal.type("exit 4\n")
        terminal.wait(r"^\$ $")
        terminal.type("echo \"status $?\"\n")
        terminal.wait("^status 4")
        terminal.type("exit 6\n")
        expect(terminal.end(), 6)


def test_shell_loses(place):
    """a shell for people, which makes a process group for itself, is stopped as well when the lock is lost"""
    daemon = world(place)
    with shell(place, daemon) as terminal:
        terminal.type("holdfast run --kill-after 0.3 x -- bash --norc --noprofile -i\n")
        terminal.wait(r"^\$ $")
        terminal.type("PS1='in> '; trap 'echo heard' TERM; echo \"pid $$\"\n")
        ends = tool.Ends([int(terminal.wait(r"^pid (\d+)").group(1))])
        terminal.wait("^in> $")
        with daemon.client(form=3) as client:
            client("BREAK", "x", "TOKEN", client("INSPECT", "x")["holder"]["token"])
        terminal.wait("the lock x is lost")
        ends.wait()
        terminal.wait(r"^\$ $")
        terminal.type("echo \"status $?\"\n")
        terminal.wait("^status 76")
        terminal.type("exit 6\n")
        expect(terminal.end(), 6)


def test_stop_from_outside(place):
    """a command in the foreground that is stopped from outside gives the shell its terminal, and the lock is watched again
    once it is continued"""
    daemon = world(place)
    with shell(place, daemon) as terminal:
        terminal.type("holdfast run x -- sh -c 'echo \"pid $$ $PPID\"; exec sleep 1000'\n")
        command, supervisor = [int(word) for word in terminal.wait(r"^pid (\d+) (\d+)").groups()]
        with open("/proc/%d/stat" % supervisor, encoding="ascii") as stream:
            wrapper = int(stream.read().rsplit(")", 1)[1].split()[1])
        ends = tool.Ends([command])
        for _ in range(20):
            os.kill(command, signal.SIGSTOP)
            until("both stand", lambda: tool.state(command) == "T" and tool.state(wrapper) == "T")
            os.kill(command, signal.SIGCONT)
            until("both go on", lambda: not tool.state(command) == "T" and not tool.state(wrapper) == "T")
        os.kill(command, signal.SIGSTOP)
        terminal.wait("Stopped")
        terminal.wait(r"\$ ")
        os.kill(command, signal.SIGCONT)
        until("it goes on", lambda: not tool.state(wrapper) == "T")
        with daemon.client(form=3) as client:
            client("BREAK", "x", "TOKEN", client("INSPECT", "x")["holder"]["token"])
        ends.wait()
        terminal.wait("the lock x is lost")
        terminal.type("exit 6\n")
        expect(terminal.end(), 6)


def test_wrapper_killed(place):
    """the wrapper is killed: its command and what descends from it end, others in the pipeline do not"""
    daemon = world(place)
    text = 'trap "" TERM; sleep 1000 & echo "pids $$ $! $PPID"; wait'
    with shell(place, daemon) as terminal:
        terminal.type("sh -c 'echo \"other $$\" >&2; exec sleep 1000' | holdfast run --kill-after 0.2 x -- sh -c '%s'\n"
                      % text)
        other = int(terminal.wait(r"^other (\d+)").group(1))
        terminal.seen = 0  # the two come in any order
        child, grandchild, supervisor = [int(word) for word in terminal.wait(r"^pids (\d+) (\d+) (\d+)").groups()]
        with open("/proc/%d/stat" % supervisor, encoding="ascii") as stream:
            wrapper = int(stream.read().rsplit(")", 1)[1].split()[1])
        expect(os.getpgid(other), os.getpgid(child))
        ends = tool.Ends([child, grandchild])
        client = tool.waiting(place, daemon, "x")
        os.kill(wrapper, signal.SIGKILL)
        tool.never_early(client, ends)
        ends.close()
        others = tool.Ends([other])
        expect(others.left(), 1)
        os.kill(other, signal.SIGTERM)
        others.wait()
        others.close()


def test_term(place):
    """a signal sent to the wrapper in the foreground reaches the command"""
    daemon = world(place)
    with Terminal(place, daemon, "holdfast", "run", "x", "--", *tool.ears("TERM=8")) as terminal:
        terminal.wait("^pids")
        os.kill(terminal.pid, signal.SIGTERM)
        expect(terminal.end(), 8)


def test_who(place):
    """after a second of waiting people are told who holds it, since when, why, and their place in line"""
    daemon = world(place)
    holder = tool.start(place, daemon, "hold", "x", "--why", "release 4.2")
    holder.output.wait(r"^\d+$")
    first = tool.waiting(place, daemon, "x")
    with Terminal(place, daemon, "holdfast", "run", "-w", "20", "x", "--", "echo", "ran") as terminal:
        terminal.wait(r"waiting for x: held for [\d.]+s by hold@\S+ \(pid %d, uid %d\): release 4.2; number 2 in line"
                      % (holder.pid, os.getuid()))
        first.close()
        holder.signal(signal.SIGTERM)
        terminal.wait("^ran")
        expect(terminal.end(), 0)


if __name__ == "__main__":
    harness.main(globals())
