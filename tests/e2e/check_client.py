#!/usr/bin/env python3
"""holdfast in scripts and by hand: lock, unlock, check, hold, and the verbs that look."""

import contextlib
import datetime
import grp
import json
import os
import re
import signal
import socket
import subprocess
import threading

import harness
import proxy
import resp
import tool
from harness import BRISK, WHOLE_MS, boottime, expect, expect_between, expect_not_before
from liar import Actor, Liar
from terminal import Terminal


def world(place, **options):
    return place.daemon(master=place.redis(), **options).admitted()


def said(place, daemon, *words):
    """The JSON that a verb prints."""
    status, output = tool.call(place, daemon, *words, "--json")
    expect(status, 0, output)
    return json.loads(output)


def test_lock_and_unlock(place):
    """lock --pid $$ holds for the script until unlock --pid $$"""
    daemon = world(place)
    text = ("holdfast lock a --pid $$ || exit; holdfast check a --pid $$; echo checked $?; echo held; read x; "
            "holdfast unlock a --pid $$; echo unlocked $?; holdfast check a --pid $$; echo gone $?; exec sleep 1000")
    fifo = os.path.join(place.path, "fifo")
    os.mkfifo(fifo)
    script = tool.script(place, daemon, "exec <>%s; %s" % (fifo, text))
    script.output.wait("^held")
    client = daemon.client()
    expect(client("LOCK", "a", "WAIT", 0), None)
    with open(fifo, "w", encoding="ascii") as stream:
        stream.write("\n")
    script.output.wait("^gone 1")
    expect(isinstance(client("LOCK", "a", "WAIT", 0), int), True)
    expect(script.output.text().splitlines(), ["checked 0", "held", "unlocked 0", "gone 1"])


def test_script_killed(place):
    """a script that is killed half way gives the lock back, at once"""
    daemon = world(place)
    delays = []
    for _ in range(5):
        script = tool.script(place, daemon, 'holdfast lock a --pid $$ || exit; echo "pids $$"; exec sleep 1000')
        ends = tool.Ends(tool.pids(script))
        client = tool.waiting(place, daemon, "a")
        began = harness.boottime()
        script.signal(signal.SIGKILL)
        tool.never_early(client, ends)
        delays.append(harness.boottime() - began)
        ends.close()
        client("UNLOCK", "a")
        client.close()
    harness.took(min(delays), 0.020, "from the kill of the script to the grant")


def test_parent(place):
    """without --pid the lock belongs to the parent, and stderr says which process that is"""
    daemon = world(place)
    script = tool.script(place, daemon, "holdfast lock a; echo locked $?; exec sleep 1000")
    script.output.wait("^locked 0")
    expect("a belongs to process %d (sh)" % script.pid in script.output.text(), True, script.output.text())
    expect(said(place, daemon, "show", "a")["holder"]["pid"], script.pid)
    status, text = tool.call(place, daemon, "show", "a")
    # By the name it had when it locked.
    expect((status, "sh@" in text, "(pid %d" % script.pid in text), (0, True, True), text)
    script.kill()
    expect(isinstance(daemon.client()("LOCK", "a", "WAIT", 45000), int), True)


def test_lock_twice(place):
    """locking again what the script holds is an error, and changes nothing"""
    daemon = world(place)
    script = tool.script(place, daemon, "holdfast lock a --pid $$; holdfast lock a --pid $$; echo again $?; "
                         "holdfast check a --pid $$; echo held $?")
    script.wait()
    expect("again 64" in script.output.text() and "HELD" in script.output.text(), True, script.output.text())
    expect("held 0" in script.output.text(), True, script.output.text())


def test_lock_busy(place):
    """lock has the exit codes of run when somebody else has it"""
    daemon = world(place)
    holder = daemon.client()
    holder("LOCK", "a")
    pid = str(os.getpid())
    expect(tool.call(place, daemon, "lock", "-n", "a", "--pid", pid)[0], 75)
    expect(tool.call(place, daemon, "lock", "-w", "0.1", "-E", "9", "a", "--pid", pid)[0], 9)
    expect(tool.call(place, daemon, "lock", "-n", "--skip-ok", "a", "--pid", pid), (0, ""))


def test_token_file(place):
    """--token-file has the token, - is standard output, and a lock whose token cannot be written is not kept"""
    daemon = world(place)
    path = os.path.join(place.path, "token")
    script = tool.script(place, daemon, "holdfast lock a --pid $$ --token-file %s; t=$(holdfast lock b --pid $$ "
                         "--token-file -); echo \"b $t\"; holdfast lock c --pid $$ --token-file /none/x; echo c $?; "
                         "echo \"pids $$\"; exec sleep 1000" % path)
    tool.pids(script)
    with open(path, encoding="ascii") as stream:
        token = int(stream.read())
    expect(said(place, daemon, "show", "a")["holder"]["token"], token)
    expect("b %d" % said(place, daemon, "show", "b")["holder"]["token"] in script.output.text(), True)
    expect("c 70" in script.output.text(), True, script.output.text())
    expect(said(place, daemon, "ls", "c"), [])


def test_json_of_locks(place):
    """lock, check and unlock print what the manual says with --json"""
    daemon = world(place)
    script = tool.script(place, daemon, "for v in lock check unlock check; do holdfast $v a --json --pid $$; done")
    script.wait()
    lock, check, unlock, gone = [json.loads(line) for line in script.output.text().splitlines()]
    expect((lock["name"], lock["token"] > 0), ("a", True))
    expect_between(lock["valid_ms"], 1, harness.LEASE_MS)
    expect((check["name"], check["held"], check["valid_ms"] > 0), ("a", True, True))
    expect(unlock, {"name": "a", "holds_left": 0})
    expect(gone, {"name": "a", "held": False, "valid_ms": 0})


def test_unlock_not_held(place):
    """unlocking what is not held is 1, and so is another token"""
    daemon = world(place)
    script = tool.script(place, daemon, "holdfast unlock a --pid $$; echo not $?; holdfast lock a --pid $$; "
                         "holdfast unlock a --pid $$ --token 1; echo other $?; holdfast check a --pid $$; echo held $?")
    script.wait()
    text = script.output.text()
    expect("not 1" in text and "other 1" in text and "held 0" in text, True, text)


def test_lost(place):
    """after a loss check and unlock are 76"""
    daemon = world(place)
    fifo = os.path.join(place.path, "fifo")
    os.mkfifo(fifo)
    script = tool.script(place, daemon, "exec <>%s; holdfast lock a --pid $$; echo locked; read x; "
                         "holdfast check a --pid $$; echo check $?; holdfast unlock a --pid $$; echo unlock $?; "
                         "holdfast unlock a --pid $$; echo again $?" % fifo)
    script.output.wait("^locked")
    token = said(place, daemon, "show", "a")["holder"]["token"]
    expect(said(place, daemon, "break", "a", "--token", token)["token"], token)
    with open(fifo, "w", encoding="ascii") as stream:
        stream.write("\n")
    script.wait()
    text = script.output.text()
    expect("check 76" in text and "unlock 76" in text and "again 1" in text, True, text)
    expect("cannot be sure of a: LOST: broken: an administrator broke it" in text, True, text)


def test_check_in_a_run(place):
    """inside run, check asks for the command's lock"""
    daemon = world(place)
    text = "%s check a && echo good; %s check b || echo none" % (harness.HOLDFAST, harness.HOLDFAST)
    expect(tool.call(place, daemon, "run", "a", "--", "sh", "-c", text), (0, "good\nnone"))


def test_check_after_restart(place):
    """after a restart of the daemon check says 76 of what a token, or the run around it, shows to have been held"""
    daemon = world(place)
    fifo = os.path.join(place.path, "fifo")
    os.mkfifo(fifo)
    script = tool.script(place, daemon, "exec <>%s; t=$(holdfast lock a --pid $$ --token-file -); echo locked; read x; "
                         "holdfast check a --pid $$; echo untold $?; "
                         "holdfast check a --pid $$ --token $t; echo token $?; "
                         "HOLDFAST_NAME=a HOLDFAST_SESSION=%048d holdfast check a; echo run $?" % (fifo, 7))
    script.output.wait("^locked")
    expect(daemon.terminate(), 0)
    daemon.start()
    with open(fifo, "w", encoding="ascii") as stream:
        stream.write("\n")
    script.wait()
    text = script.output.text()
    expect("untold 1" in text and "token 76" in text and "run 76" in text, True, text)


def test_waits_survive_a_restart(place):
    """run, lock, hold and await that wait when the daemon ends go on waiting at the next one"""
    daemon = world(place, config="lease: 3s\n")
    client = daemon.client()
    expect(client("LATCH", "steps", "SET", 1), 1)
    expect_between(client("LOCK", "a"), 1, 2 ** 53)
    waits = [tool.start(place, daemon, *words) for words in (
        ("run", "-w", "60", "a", "--", "echo", "ran"), ("hold", "-t", "1", "a"), ("await", "-w", "60", "steps"))]
    waits.append(tool.script(place, daemon, "holdfast lock -w 60 a --pid $$ && echo locked"))
    daemon.queued("a", 3)
    expect(daemon.terminate(), 0)
    for process in waits:
        process.output.wait("waiting for it")
    daemon.start()
    expect(daemon.client()("LATCH", "steps", "DOWN"), 0)
    expect([process.wait() for process in waits if process is not waits[1]], [0, 0, 0])
    expect("ran" in waits[0].output.text() and "locked" in waits[3].output.text(), True)
    waits[1].output.wait("^[0-9]+$")


def test_held_since_the_restart(place):
    """lock asks again after a restart, and is told HELD: it says what is true of the hold, and what to do, or asks the next daemon"""
    held = b"-HELD this session holds it already, token 17: use OWNER tags to re-enter\r\n"
    granted = b"*2\r\n:18\r\n:60000\r\n"
    others = b"%2\r\n$6\r\ncursor\r\n$1\r\n0\r\n$7\r\nholders\r\n*200\r\n" + b"%1\r\n$7\r\nsession\r\n:9\r\n" * 200
    denied = b"-NOPERM this user may not see\r\n"
    draining = b"-DRAINING the daemon ends\r\n"
    away = None
    for number, (identity, inspect, check, status, words) in enumerate((
            (b":7\r\n", denied, b":60000\r\n", 64, ("HELD: this session holds it already, token 17", "NOPERM this user may not",
                                                   "holdfast unlock x --pid ")),
            (b":7\r\n", others, b"-LOST broken an administrator broke it\r\n", 76, ("it was granted, and lost at once",)),
            (b":7\r\n", others, b"$-1\r\n", 64, ("HELD: this session holds it already, token 17", "try again")),
            (b":7\r\n", others, away, 0, ()),
            (b":7\r\n", away, away, 0, ()),
            (b":7\r\n", draining, away, 0, ()),
            (away, away, away, 0, ()))):
        locks = [away, held, granted]
        said_to = {"SESSION ID": [identity], "INSPECT x": [inspect], "CHECK x": [check], "LOCK x": locks}

        def play(words, said_to=said_to):
            answers = said_to.get(" ".join(words[:2]))
            if not answers:
                return None
            if answers[0] is None:
                answers.pop(0)
                raise ConnectionResetError
            return answers.pop(0)

        got = tool.call(place, Actor(place, "actor%d" % number, play), "lock", "x", "--pid", os.getpid())
        expect((got[0], [word for word in words if word not in got[1]]), (status, []), "%d: %s" % (number, got[1]))
        expect(len(locks), 0 if status == 0 else 1)


def test_daemon_hangs(place):
    """a wait with -w ends when the daemon does not answer after it"""
    daemon = world(place)
    client = daemon.client()
    expect(client("LATCH", "steps", "SET", 1), 1)
    expect_between(client("LOCK", "a"), 1, 2 ** 53)
    waits = [tool.start(place, daemon, *words, "-q") for words in (("run", "-w", "3", "a", "true"), ("await", "-w", "3", "steps"))]
    daemon.queued("a", 1)
    daemon.queued("steps", 1)
    daemon.process.stop()
    expect([process.wait() for process in waits], [69, 69])
    expect(["the daemon does not answer" in process.output.text() for process in waits], [True, True])
    daemon.process.cont()


def test_no_daemon(place):
    """who finds no daemon waits for one as long as --master-wait and -w allow, and says so at once"""
    url = "unix://%s/none" % place.path
    for words in (("--master-wait", "1"), ("-w", "1"), ("-n",)):
        started = boottime()
        status, output = tool.call(place, url, "run", *words, "a", "true")
        expect((status, "is holdfastd running?" in output, "waiting for it" in output), (69, True, words != ("-n",)), output)
        if words != ("-n",):
            expect_not_before(boottime() - started, 1, "the end of the wait", WHOLE_MS)


def test_waits_for_itself(place):
    """lock inside of run, run inside of lock, also without the environment, do not wait for themselves for ever"""
    daemon = world(place)
    bare = "env -i PATH=\"$PATH\" HOLDFAST_URL=\"$HOLDFAST_URL\" "
    for text in ("holdfast run a -- sh -c 'holdfast lock a --pid $$; echo status $?'",
                 "holdfast run a -- sh -c '%sholdfast lock a --pid $$; echo status $?'" % bare,
                 "holdfast run a -- sh -c '%sholdfast run a -- echo ran; echo status $?'" % bare,
                 "holdfast lock a --pid $$; holdfast run a -- echo ran; echo status $?",
                 "holdfast lock a --pid $$; holdfast run b --also a -- echo ran; echo status $?",
                 "holdfast lock a --pid $$; sh -c '%sholdfast lock a --pid $$; echo status $?'" % bare):
        script = tool.script(place, daemon, text)
        script.output.wait("^status 75")
        script.wait()
        text = script.output.text()
        expect(("descends from it: the wait would never end" in text, "ran" in text), (True, False), text)


def test_waits_for_itself_as_another_user(place):
    """a wait for an ancestor's lock is told also to a process of another user, as behind sudo"""
    if os.getuid() != 0:
        raise harness.Skip("needs root, to become somebody else")
    daemon = world(place)
    for path in (place.path, daemon.folder):
        os.chmod(path, 0o755)
    os.chmod(daemon.socket, 0o666)
    other = "setpriv --reuid=65534 --regid=65534 --clear-groups env -i PATH=\"$PATH\" HOLDFAST_URL=\"$HOLDFAST_URL\""
    if tool.script(place, daemon, other + " holdfast ping -q").wait() != 0:
        raise harness.Skip("the programs here are closed to others")
    for text in ("holdfast run a -- sh -c '%s holdfast run a -- echo ran; echo status $?'" % other,
                 "holdfast run a -- sh -c '%s sh -c \"holdfast lock a --pid \\$\\$\"; echo status $?'" % other,
                 "holdfast lock a --pid $$; %s holdfast run a -- echo ran; echo status $?" % other):
        script = tool.script(place, daemon, text)
        script.output.wait("^status 75")
        script.wait()
        text = script.output.text()
        expect(("descends from it: the wait would never end" in text, "ran" in text), (True, False), text)


def test_waits_perhaps_for_itself(place):
    """with -w a lock that an ancestor holds is waited for, and that is said; what it gives back is granted"""
    daemon = world(place)
    script = tool.script(place, daemon, "holdfast lock a --pid $$; holdfast run -w 60 a -- echo ran & "
                         "read go; holdfast unlock a --pid $$; wait", stdin=-1)
    script.output.wait("the wait may be in vain")
    script.process.stdin.write(b"\n")
    script.process.stdin.flush()
    script.output.wait("^ran")
    expect(script.wait(), 0)


def test_waits_for_others(place):
    """who waits for a lock of another process of the same script is not told so"""
    daemon = world(place)
    holder = tool.start(place, daemon, "hold", "a")
    holder.output.wait(r"^\d+$")
    script = tool.script(place, daemon, "holdfast lock b --pid $$; holdfast run a -- echo ran")
    daemon.queued("a")
    expect(daemon.client()("LOCK", "a", "WAIT", 500), None)
    holder.signal(signal.SIGTERM)
    script.output.wait("^ran")
    expect("descends" in script.output.text(), False, script.output.text())


def test_waits_say_so_once(place):
    """who waits without a terminal says once who has the lock; -q says nothing"""
    daemon = world(place)
    holder = tool.start(place, daemon, "hold", "a", "--why", "release 4.2")
    holder.output.wait(r"^\d+$")
    waits = [tool.start(place, daemon, "run", *words, "a", "--", "echo", "ran") for words in ((), ("-q",))]
    waits[0].output.wait(r"waiting for a: held for [\d.]+s by hold@\S+ \(pid %d, uid %d\): release 4.2"
                         % (holder.pid, os.getuid()))
    # Long enough to be said again, were it said whenever it is looked at.
    expect(daemon.client()("LOCK", "a", "WAIT", 6000), None)
    holder.signal(signal.SIGTERM)
    expect([process.wait() for process in waits], [0, 0])
    expect([process.output.text().count("waiting for") for process in waits], [1, 0])


def test_waits_for_steps_say_so_once(place):
    """who waits for a latch without a terminal says once how many steps are left, or that it is not made yet"""
    daemon = world(place)
    expect(daemon.client()("LATCH", "steps", "SET", 3), 1)
    waits = [tool.start(place, daemon, "await", *words) for words in (("steps",), ("-q", "steps"), ("later",))]
    waits[0].output.wait("waiting for the latch steps: 3 of 3 steps are left")
    waits[2].output.wait("waiting for the latch later: nobody has made it yet")
    expect(daemon.client()("LATCH", "later", "SET", 1), 1)
    expect(daemon.client()("LATCH", "later", "DOWN"), 0)
    expect(daemon.client()("LATCH", "steps", "DOWN", 3), 0)
    expect([process.wait() for process in waits], [0, 0, 0])
    expect([process.output.text().count("waiting for") for process in waits], [1, 0, 1])


def test_waits_for_what_is_withheld(place):
    """who waits for a name that is withheld is told who had it last"""
    daemon = world(place)
    client = daemon.client(3)
    client("SESSION", "ONLOSS", "PUSH")
    client("CLIENT", "SETNAME", "billing")
    expect(daemon.client()("BREAK", "a", "TOKEN", client("LOCK", "a")) > 0, True)
    waiter = tool.start(place, daemon, "run", "-w", "30", "a", "true")
    waiter.output.wait(r"waiting for a: withheld for [\dms.]+ more, as its last holder may still be working: "
                       r"billing \(pid %d, uid %d\)" % (os.getpid(), os.getuid()))
    waiter.signal(signal.SIGTERM)
    waiter.wait()


def test_redis_is_no_daemon(place):
    """a HOLDFAST_URL that is a Redis is told apart from a daemon, by every verb, with 78"""
    redis = place.redis()
    for words in (("ping",), ("ls",), ("run", "a", "true"), ("lock", "a"), ("hold", "a"), ("await", "a"), ("info",)):
        status, output = tool.call(place, redis.socket, *words)
        expect((status, "no holdfastd" in output, "masters: in holdfast.yml" in output), (78, True, True), output)


def test_redis_with_a_login_is_no_daemon(place):
    """a Redis that wants a password, gets a wrong one, or is older than HELLO is told apart, too"""
    for name, options, login in (("r1", ("--requirepass", "right"), ""), ("r2", ("--requirepass", "right"), "u:wrong@"),
                                 ("r3", ("--rename-command", "HELLO", ""), "")):
        port = harness.free_port()
        place.redis(name, options=["--port", str(port), *options])
        url = "redis://%s127.0.0.1:%d" % (login, port)
        for words in (("ping",), ("ls",), ("run", "a", "true"), ("await", "a")):
            status, output = tool.call(place, url, *words)
            expect((status, "no holdfastd" in output), (78, True), output)
        expect(tool.call(place, url, "health")[0], 3)


def test_other_server_is_no_daemon(place):
    """a HOLDFAST_URL that is a server of another kind is wrong, with 78"""
    listener = socket.create_server(("127.0.0.1", 0))
    place.sockets.append(listener)

    def serve():
        with contextlib.suppress(OSError):
            while True:
                client = listener.accept()[0]
                client.recv(1 << 16)
                client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                client.close()

    threading.Thread(target=serve, daemon=True).start()
    url = "127.0.0.1:%d" % listener.getsockname()[1]
    for words in (("ping",), ("run", "a", "true"), ("await", "a")):
        status, output = tool.call(place, url, *words)
        expect((status, "not holdfastd" in output), (78, True), output)
    expect(tool.call(place, url, "health")[0], 3)


def test_may_not_connect(place):
    """who may not connect is told the group that may, and the command, with 77"""
    if os.getuid() != 0:
        raise harness.Skip("needs root, to become somebody else")
    daemon = world(place)
    other = next(group for group in grp.getgrall() if group.gr_gid not in (0, 65534))
    # The socket is another user's, and the client is root without its capabilities: it is refused there, and every
    # directory on the way, as well as the client's own file, stays open to it.
    os.chown(daemon.socket, 65534, other.gr_gid)
    os.chmod(daemon.socket, 0o660)
    weak = ("setpriv", "--bounding-set=-all", "--inh-caps=-all", "--regid=65534", "--clear-groups")
    for words in (("ping",), ("run", "a", "true"), ("hold", "a"), ("await", "a")):
        status, output = tool.call(place, daemon, *words, through=weak)
        expect((status, "usermod -aG %s $USER" % other.gr_name in output), (77, True), output)
    os.chown(daemon.socket, 65534, 0)
    status, output = tool.call(place, daemon, "ping", through=weak)
    expect((status, "only the owner of the socket (uid 65534) and root may" in output), (77, True), output)
    # The directory is as closed.
    for group, mode, said_it in ((other.gr_gid, 0o750, "usermod -aG %s $USER" % other.gr_name),
                                 (other.gr_gid, 0o700, "only the owner of %s (uid 65534) and root may" % daemon.folder)):
        os.chown(daemon.folder, 65534, group)
        os.chmod(daemon.folder, mode)
        status, output = tool.call(place, daemon, "ping", through=weak)
        expect((status, said_it in output), (77, True), output)


def test_no_section(place):
    """info of a section that is not there is 1, as the manual says"""
    daemon = world(place)
    status, output = tool.call(place, daemon, "info", "foo")
    expect((status, "there is no section 'foo'" in output), (1, True), output)


def test_command_line(place):
    """-c runs a line with the shell, as flock does; options may stand before the verb"""
    daemon = world(place)
    expect(tool.call(place, daemon, "run", "a", "-c", "echo $HOLDFAST_NAME; exit 3"), (3, "a"))
    expect(tool.call(place, daemon, "-n", "--timeout", "2d", "run", "a", "-c", "echo ran"), (0, "ran"))


def test_flock_letters(place):
    """flock's letters: -e excludes, -F runs the command with its own status, -u gives back what lock took"""
    daemon = world(place)
    other = daemon.client()
    expect(isinstance(other("LOCK", "busy", "SHARED"), int), True)
    expect(tool.call(place, daemon, "run", "-e", "-n", "-E", "9", "-q", "busy", "true"), (9, ""))
    expect(tool.call(place, daemon, "run", "-F", "-e", "a", "sh", "-c", "exit 3"), (3, ""))
    script = tool.script(place, daemon, "holdfast lock -e a && holdfast run -u a && echo back; read line",
                         stdin=subprocess.PIPE)
    script.output.wait("^back$")
    expect(isinstance(other("LOCK", "a", "WAIT", 0), int), True)
    script.process.stdin.close()
    script.wait()
    expect(tool.call(place, daemon, "run", "-u", "a")[0], 1)


def test_pid_of_nobody(place):
    """a process that is not there is refused"""
    daemon = world(place)
    dead = place.run("true")
    dead.wait()
    status, output = tool.call(place, daemon, "lock", "a", "--pid", dead.pid)
    expect((status, "No such process" in output), (64, True), output)


def test_tcp(place):
    """over TCP lock, unlock and check refuse and point to run; run works"""
    daemon = world(place, tcp=True)
    url = "tcp://127.0.0.1:%d" % daemon.port
    for verb in ("lock", "unlock", "check"):
        status, output = tool.call(place, url, verb, "a")
        expect((status, "holdfast run a" in output), (64, True), output)
    expect(tool.call(place, url, "run", "a", "--", "sh", "-c", "echo $HOLDFAST_URL"), (0, url))


def test_login(place):
    """a login comes from HOLDFAST_URL, a wrong one is 77, and the message has no password"""
    secret = os.path.join(place.path, "secret")
    with open(secret, "w", encoding="ascii") as stream:
        stream.write("hunter2\n")
    os.chmod(secret, 0o600)
    daemon = world(place, tcp=True, config="users:\n  - { name: deploy, password-file: %s, admin: no }\n" % secret)
    url = "redis://%%s@127.0.0.1:%d" % daemon.port
    expect(tool.call(place, url % "deploy:hunter2", "run", "a", "true"), (0, ""))
    status, output = tool.call(place, url % "deploy:hunter3", "run", "a", "true")
    expect((status, "WRONGPASS" in output, "hunter3" in output), (77, True, False), output)
    status, output = tool.call(place, "127.0.0.1:%d" % daemon.port, "ping")
    expect(status, 77, output)
    status, output = tool.call(place, daemon, "-S", url % "deploy:hunter2", "ping")
    expect(status, 64, output)


def test_hold(place):
    """hold prints the token, holds, and gives back when told to stop"""
    daemon = world(place)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        process = tool.start(place, daemon, "hold", "a")
        token = int(process.output.wait(r"^(\d+)$")[1].group(1))
        expect(said(place, daemon, "show", "a")["holder"]["token"], token)
        process.signal(number)
        expect(process.wait(), 0)
        expect(said(place, daemon, "ls", "a"), [])


def test_hold_token_file(place):
    """hold --json --token-file writes the token to both"""
    daemon = world(place)
    path = os.path.join(place.path, "token")
    process = tool.start(place, daemon, "hold", "a", "--json", "--token-file", path)
    process.output.wait("^{")
    with open(path, encoding="ascii") as stream:
        expect(int(stream.read()), json.loads(process.output.text())["token"])
    process.signal(signal.SIGTERM)
    expect(process.wait(), 0)


def test_hold_lost(place):
    """hold ends with 76 when the lock is lost, or no daemon comes back before its deadline"""
    daemon = world(place, config=BRISK)
    process = tool.start(place, daemon, "hold", "a", "--json")
    process.output.wait("^{")
    hold = json.loads(process.output.text())
    expect(hold["name"], "a")
    tool.call(place, daemon, "break", "a", "--token", hold["token"])
    expect(process.wait(), 76)
    expect("the lock a is lost: broken: an administrator broke it" in process.output.text(), True, process.output.text())
    process = tool.start(place, daemon, "hold", "b")
    process.output.wait(r"^\d+$")
    daemon.kill()
    expect(process.wait(), 76)


def test_hold_gives_up_nothing(place):
    """a hold that is broken ends, and what has started it may still be at work: the name stays withheld"""
    daemon = world(place)
    client = daemon.client()
    process = tool.start(place, daemon, "hold", "a", "--json")
    process.output.wait("^{")
    token = json.loads(process.output.text())["token"]
    expect(client("BREAK", "a", "TOKEN", token) > 0, True)
    expect(process.wait(), 76)
    expect(client("BREAK", "a", "TOKEN", token) > 0, True)


def test_looking(place):
    """ls, show and sessions say who holds what, for people and as JSON"""
    daemon = world(place)
    holder = tool.start(place, daemon, "hold", "deploy/web", "--why", "release 4.2")
    holder.output.wait(r"^\d+$")
    waiter = tool.start(place, daemon, "hold", "deploy/web")
    client = tool.waiting(place, daemon, "deploy/web")
    harness.until("two wait", lambda: said(place, daemon, "ls", "deploy/*")[0]["waiters"] == 2)
    shown = said(place, daemon, "show", "deploy/web")
    expect((shown["holder"]["pid"], shown["holder"]["why"]), (holder.pid, "release 4.2"))
    expect(waiter.pid in [waiting["pid"] for waiting in shown["waiters"]], True, str(shown))
    expect(holder.pid in [session["pid"] for session in said(place, daemon, "sessions")], True)
    status, text = tool.call(place, daemon, "ls")
    expect(status, 0)
    row = [line for line in text.splitlines() if line.startswith("deploy/web")][0]
    expect("hold@" in row and "pid %d" % holder.pid in row and "release 4.2" in row, True, text)
    expect(tool.call(place, daemon, "ls", "-q"), (0, "deploy/web"))
    expect(tool.call(place, daemon, "ls", "-q", "other*"), (0, ""))
    status, text = tool.call(place, daemon, "show", "deploy/web")
    expect((status, "pid %d" % holder.pid in text, "pid %d" % waiter.pid in text), (0, True, True), text)
    status, text = tool.call(place, daemon, "sessions")
    expect((status, "pid %d" % waiter.pid in text), (0, True), text)
    expect(tool.call(place, daemon, "show", "nothing")[0], 1)
    client.close()


def test_two_daemons(place):
    """when the user's own daemon and the system's both answer, ping, -v and a terminal say which one is used"""
    if place.run("unshare", "-m", "mount", "-t", "tmpfs", "none", "/run").wait() != 0:
        raise harness.Skip("no mount namespace, to have a /run of its own")
    redis = place.redis()
    own, system = [place.daemon(name, master=redis).admitted() for name in ("d1", "d2")]
    os.makedirs(os.path.join(place.path, "runtime/holdfast"))
    os.symlink(own.socket, os.path.join(place.path, "runtime/holdfast/holdfast.sock"))
    text = ("mount -t tmpfs none /run && mkdir /run/holdfast && ln -s %s /run/holdfast/holdfast.sock && "
            "HOLDFAST_URL= %s $WORDS; echo status $?" % (system.socket, harness.HOLDFAST))
    environment = {"XDG_RUNTIME_DIR": os.path.join(place.path, "runtime")}
    message = "two daemons answer: this is yours at unix:%s/runtime/" % place.path

    def says_which(words):
        process = place.run("unshare", "-m", "sh", "-c", text, environment=dict(environment, WORDS=words))
        process.output.wait("^status 0")
        return message in process.output.text()

    expect([says_which(words) for words in ("ping", "ping -q", "ls", "-v ls", "run a true")],
           [True, False, False, True, False])
    with Terminal(place, own, "unshare", "-m", "sh", "-c", text,
                  environment=dict(environment, WORDS="run a true")) as terminal:
        terminal.wait("^status 0")
        expect(message in terminal.text, True, terminal.text)
    expect(system.terminate(), 0)
    expect(says_which("ping"), False)


def test_daemon_of_another_user(place):
    """the socket in $XDG_RUNTIME_DIR is taken only if root or this user put it there; else the system's, and a script is told"""
    if os.geteuid() != 0 or place.run("unshare", "-m", "mount", "-t", "tmpfs", "none", "/run").wait() != 0:
        raise harness.Skip("not root, who can be other users, with a /run of its own")
    daemon = world(place)
    os.chmod(place.path, 0o755)
    runtime = os.path.join(place.path, "runtime")
    directory = os.path.join(runtime, "holdfast")
    link = os.path.join(directory, "holdfast.sock")
    os.makedirs(directory)
    os.symlink(daemon.socket, link)
    daemon_mode = os.stat(daemon.socket).st_mode
    os.chmod(daemon.socket, 0o777)

    def ping(uid, *before):
        text = ("mount -t tmpfs none /run && %s HOLDFAST_URL= exec setpriv --reuid %d --clear-groups %s ping"
                % (" ".join(before), uid, harness.HOLDFAST))
        process = place.run("unshare", "-m", "sh", "-c", text, environment={"XDG_RUNTIME_DIR": runtime})
        return process.wait(), process.output.text()

    me, other = 61999, 61998
    theirs, open_to_all = "its directory belongs to another user", "everybody may write to its directory"
    for caller, owners, modes, fault in (
            (0, (0, 0, 0), (0o755, 0o755), None),
            (me, (0, 0, 0), (0o755, 0o755), None),
            (me, (me, me, me), (0o700, 0o700), None),
            (me, (0, me, me), (0o1777, 0o755), None),
            (0, (me, me, me), (0o700, 0o700), theirs),  # su, and sudo -E
            (0, (0, me, 0), (0o755, 0o755), theirs),
            (0, (me, 0, 0), (0o755, 0o755), theirs),
            (0, (0, 0, me), (0o755, 0o1777), "it belongs to another user"),
            (me, (other, other, other), (0o755, 0o755), theirs),
            (me, (0, other, other), (0o1777, 0o755), theirs),  # whoever was first in /tmp
            (0, (0, 0, 0), (0o777, 0o755), open_to_all),
            (me, (me, me, me), (0o755, 0o777), open_to_all)):
        for path, owner in zip((runtime, directory, link), owners):
            os.lchown(path, owner, owner)
        for path, mode in zip((runtime, directory), modes):
            os.chmod(path, mode)
        status, text = ping(caller)
        expect((status == 0, "holdfast.sock is not taken" in text), (fault is None, fault is not None), text)
        if fault:
            expect(fault in text, True, text)
    # The system's daemon is used in its place, whoever runs it.
    system = ("mkdir /run/holdfast && ln -s %s /run/holdfast/holdfast.sock && chown -hR %d /run/holdfast &&" % (daemon.socket, other))
    status, text = ping(0, system)
    expect((status, theirs in text), (0, True), text)
    os.chmod(daemon.socket, daemon_mode)


def test_list_fits(place):
    """ls shows the oldest hold first, on a terminal in 80 columns, and cuts nothing elsewhere; -v shows the token"""
    daemon = world(place)
    names = ["z/" + "long" * 30 + "/end", "m", "a"]
    for name in names:
        client = daemon.client()
        client("LOCK", name, "WHY", "release 4.2 of the shop, with all that it needs for that, and more besides that")
        harness.until("it is older", lambda: said(place, daemon, "ls", name)[0]["held_ms"] > 1)
    waiting = tool.waiting(place, daemon, "m")
    with Terminal(place, daemon, "holdfast", "ls") as terminal:
        expect(terminal.end(), 0)
    lines = re.sub("\033\\[\\d*m", "", terminal.text).splitlines()
    expect([line.split()[0][0] for line in lines], ["N", "z", "m", "a"], terminal.text)
    expect(max(len(line) for line in lines), 80, terminal.text)
    expect(bool(re.match("z/lo.*….*/end  held  .*  release.*….*that$", lines[1])), True, lines[1])
    expect(lines[2].startswith("m   "), True, lines[2])
    status, text = tool.call(place, daemon, "ls")
    expect((status, text.count("and more besides that"), names[0] in text, "TOKEN" in text), (0, 3, True, False), text)
    status, text = tool.call(place, daemon, "ls", "-v")
    expect((status, str(said(place, daemon, "ls", "a")[0]["token"]) in text), (0, True), text)
    expect([lock["name"] for lock in said(place, daemon, "ls")], names)
    expect(tool.call(place, daemon, "ls", "-q"), (0, "\n".join(names)))
    waiting.close()


def test_list_of_run(place):
    """ls and show say what holdfast run runs, with its arguments"""
    daemon = world(place)
    tool.start(place, daemon, "run", "-w", 5, "a", "--", "/bin/sleep", "1000")
    tool.start(place, daemon, "run", "b", "-c", "sleep 1001; true")
    harness.until("both are held", lambda: len(said(place, daemon, "ls")) == 2)
    for words in (("ls",), ("show", "a")):
        status, text = tool.call(place, daemon, *words)
        expect((status, "/bin/sleep 1000" in text), (0, True), text)
    status, text = tool.call(place, daemon, "ls", "b")
    expect((status, "sleep 1001; true" in text), (0, True), text)
    # Another program with these words is none of ours.
    other = place.run("bash", "-c", "exec -a /usr/bin/holdfasts sleep 1000")
    expect("sleep@" in said(place, daemon, "ls", "a")[0]["client"], True)
    other.kill()


def test_since(place):
    """in JSON there is since when, as a time, beside how long; for people it is a span"""
    daemon = world(place)
    client = daemon.client()
    client("LOCK", "a")
    waiting = tool.waiting(place, daemon, "a")
    harness.until("it is older", lambda: said(place, daemon, "ls", "a")[0]["held_ms"] > 1100)

    def check(value, key):
        since = datetime.datetime.strptime(value["since"], "%Y-%m-%dT%H:%M:%S.%fZ")
        ago = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None) - since
        expect_between(ago.total_seconds() * 1000, value[key] - 1, value[key] + 60000, repr(value))

    check(said(place, daemon, "ls", "a")[0], "held_ms")
    shown = said(place, daemon, "show", "a")
    check(shown["holder"], "held_ms")
    check(shown["holders"][0], "held_ms")
    check(shown["waiters"][0], "age_ms")
    check(said(place, daemon, "sessions")[0], "age_ms")
    client.close()
    waiting.close()


def test_escapes(place):
    """what others wrote is printed without its control characters, and JSON stays JSON"""
    daemon = world(place)
    client = daemon.client()
    expect(isinstance(client("LOCK", "a\u00e9\"\\", "WHY", "say \"hi\" \u2603"), int), True)
    expect(said(place, daemon, "ls", "a*")[0]["name"], "a\u00e9\"\\")
    status, text = tool.call(place, daemon, "ls")
    expect((status, "say \"hi\" \u2603" in text), (0, True), text)
    # What turns the direction of writing, and a separator of lines.
    why = "a\u202eb\u2069c\u2028d"
    expect(isinstance(client("LOCK", "b", "WHY", why), int), True)
    for words in (("ls",), ("ls", "--json"), ("show", "b"), ("show", "b", "--json")):
        status, text = tool.call(place, daemon, *words)
        expect((status, [c for c in text if c in why and not c.isalnum()]), (0, []), repr(text))
    expect(said(place, daemon, "ls", "b")[0]["why"], why)


class Scribe(Liar):
    """A daemon, as another program could be one at its socket, whose lists say what no daemon of ours lets in."""

    TEXT = "a\u009fb\u0085\x1b[1m\x7f\0\u202e\u200f\u061c"

    def answer(self, words):
        if words[0] == "HELLO":
            return super().answer(words)
        text, broken = [b"$%d\r\n%s\r\n" % (len(one), one)
                        for one in (self.TEXT.encode(), self.TEXT.encode() + b"\xff\xed\xa0\x80")]
        one = (b"%%7\r\n+name\r\n%s+why\r\n%s+client\r\n%s+state\r\n+held\r\n+token\r\n:7\r\n+session\r\n:7\r\n"
               b"+cursor\r\n$1\r\n0\r\n" % (text, broken, text))
        return one if words[0] == "INSPECT" else b"*2\r\n$1\r\n0\r\n*1\r\n" + one


def test_escapes_of_anybody(place):
    """whatever an answer holds, controls of both sets, broken UTF-8, marks of direction: text and JSON escape it"""
    liar = Scribe(place, None)
    for words in (("ls",), ("ls", "-q"), ("ls", "--json"), ("show", "b"), ("show", "b", "--json"), ("sessions",),
                  ("sessions", "--json")):
        status, text = tool.call(place, liar.socket, *words)
        expect((status, [c for c in text if not " " <= c <= "~" and c != "\n"]), (0, []), "%s: %r" % (words, text))
        if words[-1] == "--json":
            said_of = json.loads(text)
            one = said_of if words[0] == "show" else said_of[0]
            expect((one["name"], one["why"][:10], one["why"][-16:]),
                   (Scribe.TEXT, "a\\xc2\\x9fb", "\\xff\\xed\\xa0\\x80"), text)


def test_watch(place):
    """watch prints one JSON object for each event, of the names asked for"""
    daemon = world(place)
    process = tool.start(place, daemon, "watch", "--json", "w*")
    client = daemon.client()

    def happen():
        client("LOCK", "w1", "WHY", "a b")
        client("UNLOCK", "w1")
        client("LOCK", "v1")
        client("UNLOCK", "v1")
        return "lock.granted" in process.output.text()

    harness.until("an event comes", happen)
    process.output.wait("lock.released")
    process.signal(signal.SIGINT)
    expect(process.wait(), -signal.SIGINT)
    events = [json.loads(line) for line in process.output.text().splitlines()]
    expect({event["name"] for event in events}, {"w1"})
    granted = [event for event in events if event["event"] == "lock.granted"][0]
    expect((granted["token"] > 0, granted["session"] > 0, granted["at_ms"] > 1e12), (True, True, True), str(granted))
    process = tool.start(place, daemon, "watch", "--", "[")
    expect(process.wait(), 64)


def test_watch_ends_with_the_daemon(place):
    """watch ends with 69 when the daemon is gone"""
    daemon = world(place)
    process = tool.start(place, daemon, "watch")
    client = daemon.client()

    def happen():
        client("LOCK", "w1")
        client("UNLOCK", "w1")
        return "lock." in process.output.text()

    harness.until("an event comes", happen)
    daemon.kill()
    expect(process.wait(), 69)


def test_ping_and_info(place):
    """ping answers, info is text or JSON"""
    daemon = world(place)
    status, text = tool.call(place, daemon, "ping")
    expect((status, "answers in" in text), (0, True), text)
    expect_between(said(place, daemon, "ping")["ms"], 0, harness.PATIENCE * 1000)
    status, text = tool.call(place, daemon, "info", "server")
    expect((status, "# Server" in text, "# Clients" in text), (0, True, False), text)
    info = said(place, daemon, "info")
    expect(isinstance(info["clients"]["connected_clients"], int), True, str(info["clients"]))
    expect(tool.call(place, "/nowhere", "-S", daemon.socket, "ping")[0], 0)
    expect(tool.call(place, "/nowhere", "ping", "-S", daemon.socket)[0], 0)
    expect(tool.call(place, "/nowhere", "ping", "-q")[0], 69)


def test_daemon_ends_before_it_answers(place):
    """whoever has asked nothing yet when the daemon closes the connection asks the next one, but not for ever"""
    path = os.path.join(place.path, "ending")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        listener.settimeout(harness.PATIENCE)
        for endings, wanted in ((2, 0), (3, 69)):
            client = tool.start(place, path, "ping")
            for _ in range(endings):
                listener.accept()[0].close()
            if wanted == 0:
                with listener.accept()[0] as connection:
                    connection.sendall(b"%1\r\n$6\r\nserver\r\n$8\r\nholdfast\r\n+PONG\r\n")
                    expect(client.wait(), 0)
            expect(client.wait(), wanted)


def test_break(place):
    """break needs the holder's token, and takes nothing from a later one"""
    daemon = world(place)
    client = daemon.client()
    token = client("LOCK", "a")
    status, text = tool.call(place, daemon, "break", "a")
    expect((status, "--token" in text), (64, True), text)
    status, text = tool.call(place, daemon, "break", "--help")
    expect((status, "usage: holdfast break [OPTION...] --token N NAME\n" in text), (0, True), text)
    expect(tool.call(place, daemon, "break", "a", "--token", token + 1)[0], 1)
    status, text = tool.call(place, daemon, "break", "a", "--token", token)
    expect((status, "passes on when its holder has ended, in " in text), (0, True), text)


def test_kill(place):
    """kill ends the session that sessions lists, with all its connections, and no other"""
    daemon = world(place)
    client, other = daemon.client(), daemon.client()
    client("LOCK", "a")
    client("SESSION", "GRACE", 300000)
    other("LOCK", "b")
    number = client("SESSION", "ID")
    for word in ("x", "0", "-1", "1.5"):
        expect(tool.call(place, daemon, "kill", "--", word)[0], 64)
    status, text = tool.call(place, daemon, "kill", "999999")
    expect((status, "no session 999999" in text), (1, True), text)
    status, text = tool.call(place, daemon, "kill", number)
    expect((status, "session %d is ended; it held 1 lock: " % number in text), (0, True), text)
    expect(client.closed(), True)
    expect(other("CHECK", "b") > 0, True)
    status, text = tool.call(place, daemon, "sessions")
    expect((status, re.search(r"^%d " % number, text, re.M)), (0, None), text)
    status, text = tool.call(place, daemon, "kill", number, "--json")
    expect((status, "no session %d" % number in text), (1, True), text)
    expect(json.loads(tool.call(place, daemon, "kill", "--json", other("SESSION", "ID"))[1])["holds"], 1)


def test_grouped(place):
    """ls --by client and --by user sum up what the sessions of a client, or of a user, hold and wait for"""
    daemon = world(place)
    clients = [daemon.client() for _ in range(4)]
    for at, name in enumerate(("nightly", "nightly", "web", "idle")):
        expect(clients[at]("CLIENT", "SETNAME", name), "OK")
    for name in ("a", "b", "c"):
        expect(clients[0]("LOCK", name) > 0, True)
    expect(clients[1]("LOCK", "d") > 0, True)
    clients[2].send("LOCK", "a", "WAIT", 600000)
    daemon.queued("a")

    def listed(*words):
        status, text = tool.call(place, daemon, "ls", "--by", *words, "--json")
        expect(status, 0, text)
        return json.loads(text)
    found = {one["client"]: one for one in listed("client", "--here")}
    expect([found["nightly"][key] for key in ("sessions", "holds", "waits", "user")], [2, 4, 0, "uid %d" % os.getuid()])
    expect([found["web"][key] for key in ("sessions", "holds", "waits", "oldest_ms")], [1, 0, 1, 0])
    expect(found["nightly"]["oldest_ms"] > 0, True)
    sums = listed("user")[0]
    expect(("client" in sums, sums["holds"], sums["waits"], sums["oldest_ms"] >= found["nightly"]["oldest_ms"]), (False, 4, 1, True))
    status, text = tool.call(place, daemon, "ls", "--by", "client")
    expect((status, text.splitlines()[0].split(), "nightly" in text.splitlines()[1]), (
        0, ["USER", "CLIENT", "HOST", "SESSIONS", "HOLDS", "WAITS", "OLDEST", "REQ/S", "BUSY"], True), text)
    for words, said in ((("host",), "client or user is allowed"), (("client", "a*"), "takes no glob")):
        status, text = tool.call(place, daemon, "ls", "--by", *words)
        expect((status, said in text), (64, True), text)


def test_busy_client(place):
    """a client that keeps the daemon busy is the first of sessions --sort rate, and kill ends it"""
    daemon = world(place)
    held, quiet = daemon.client(), daemon.client()
    for name in ("a", "b", "c"):
        held("LOCK", name)
    waiting = daemon.client(3)
    for name in ("a", "b"):
        waiting("LOCK", name, "ASYNC", "w" + name)
    number = held("SESSION", "ID"), waiting("SESSION", "ID"), quiet("SESSION", "ID")

    def first(sort):
        status, text = tool.call(place, daemon, "sessions", "--sort", sort)
        expect(status, 0, text)
        return text.splitlines()[1].split()

    expect(int(first("holds")[0]), number[0])
    expect(int(first("waits")[0]), number[1])
    status, text = tool.call(place, daemon, "sessions", "--sort", "name")
    expect((status, "holds, rate or waits is allowed" in text), (64, True), text)
    busy = daemon.client()
    flood = busy("SESSION", "ID")
    stop = []

    def send():
        request = b"PING\r\n" * 1000
        try:
            while not stop:
                busy.socket.sendall(request)
                taken = 0
                while taken < 7000:
                    piece = busy.socket.recv(65536)
                    if not piece:
                        return
                    taken += len(piece)
        except OSError:
            pass

    sender = threading.Thread(target=send)
    sender.start()
    try:
        row = harness.until("it is the first, and takes a part of the daemon's time", lambda: [
            row for row in [first("rate")] if int(row[0]) == flood and int(row[-4]) > 500 and float(row[-3].rstrip("%")) > 0])[0]
        with resp.Client(daemon.socket, 3) as client:
            rows = {row["session"]: row for row in client("SESSIONS")[1]}
        expect(rows[flood]["bytes_s"] > 10 * 500 and rows[flood]["busy_us_s"] > 0, True, repr(rows[flood]))
        harness.until("the other one is quiet", lambda: quietly(daemon, number[2]))
        expect(tool.call(place, daemon, "kill", row[0])[0], 0)
        sender.join(harness.PATIENCE)
        expect(sender.is_alive(), False)
    finally:
        stop.append(True)
        sender.join(harness.PATIENCE)
    expect(quiet("PING"), "PONG")


def quietly(daemon, number):
    """Whether the session has sent nothing for a second."""
    with resp.Client(daemon.socket, 3) as client:
        return [row for row in client("SESSIONS")[1] if row["session"] == number][0]["requests_s"] == 0


def test_names(place):
    """a bad name is 64, and the message says what is wrong with it"""
    daemon = world(place)
    status, text = tool.call(place, daemon, "run", "a b", "true")
    expect((status, "bad name" in text), (64, True), text)
    for words in (("run", "a b", "true"), ("run", "--also", "}b", "a", "true"), ("lock", "a\nb"), ("hold", ""), ("check", "a b"),
                  ("await", "a b"), ("hold", "--why", "a\nb", "a")):
        status, text = tool.call(place, "unix://%s/none" % place.path, *words)
        expect((status, "bad " in text), (64, True), "no daemon is looked for: " + text)


def test_names_too_long(place):
    """a name that this daemon finds too long is 64, too: no later call can succeed"""
    daemon = place.daemon(master=place.redis(), config="limits: { name-bytes: 10 }\n").admitted()
    status, text = tool.call(place, daemon, "run", "x" * 11, "true")
    expect((status, "LIMIT: bad name" in text), (64, True), text)


def test_silent_daemon(place):
    """a daemon that accepts and does not answer HELLO counts as away: --master-wait ends the wait, and who is patient gets the lock"""
    daemon = world(place)
    daemon.process.stop()
    impatient = tool.start(place, daemon, "run", "--master-wait", "1", "a", "true")
    patient = tool.start(place, daemon, "run", "a", "--", "echo", "ran")
    latch = tool.start(place, daemon, "await", "-w", "1", "steps")
    expect((impatient.wait(), latch.wait()), (69, 69))
    patient.output.wait("the daemon does not answer; waiting for it")
    daemon.process.cont()
    expect(patient.wait(), 0)
    expect("ran" in patient.output.text(), True)


def all_of(data):
    """The requests, or the replies, that these bytes have whole."""
    found, at = [], resp.parse(data)
    while at is not None:
        found.append(at[0])
        data = data[at[1]:]
        at = resp.parse(data)
    return found


def test_granted_meanwhile(place):
    """who asks for its place in line just when it is granted the lock prints none: it does not wait any more"""
    daemon = world(place, tcp=True)
    holder = daemon.client()
    holder("LOCK", "x")
    net = proxy.Proxy(daemon.tcp, records=True)
    place.ends.append(net.close)
    waiter = tool.start(place, "%s:%d" % net.address, "run", "x", "--", "echo", "ran")
    daemon.queued("x")
    pair = next(pair for (pair, way), taken in net.taken.items() if way == proxy.UP and b"LOCK" in taken)
    harness.until("the LOCK alone has no answer yet", lambda: len(all_of(net.taken.get((pair, proxy.DOWN), b""))) == len(
        all_of(net.taken[pair, proxy.UP])) - 1)
    with net.changed:
        net.slow.add(pair)
    holder("UNLOCK", "x")
    held = b"holder_count\r\n:1"
    harness.until("it has asked", lambda: any(
        re.search(b"waiters\r\n.0\r\n", taken) and held in taken for taken in list(net.taken.values())))
    net.go()
    expect(waiter.wait(), 0)
    expect("number 0" in waiter.output.text(), False, waiter.output.text())


def test_holder_over_tcp(place):
    """a holder over TCP is named by its address, and by no uid"""
    daemon = world(place, tcp=True)
    with resp.Client(daemon.tcp) as holder:
        holder("LOCK", "x", "WHY", "release 42")
        _, output = tool.call(place, daemon, "run", "-n", "x", "true")
        expect(bool(re.search(r"held for [\d.]+s by \S+ \(127\.0\.0\.1:\d+\): release 42", output)), True, output)
        _, output = tool.call(place, daemon, "show", "x")
        expect(bool(re.search(r"holder .*\(127\.0\.0\.1:\d+, session \d+\)", output)), True, output)


def test_sessions_grace(place):
    """sessions says how long one outlives its connection, and how much of that is left"""
    daemon = world(place)
    client = daemon.client()
    number = str(client("SESSION", "ID"))
    client("SESSION", "GRACE", 300000)

    def grace():
        status, text = tool.call(place, daemon, "sessions")
        expect(status, 0, text)
        rows = [re.split("  +", line.strip()) for line in text.splitlines()]
        return {row[0]: row[-1] for row in rows}

    expect(sorted(grace().values()), ["-", "5m 0s", "GRACE"])
    client.close()
    harness.until("it has no connection", lambda: re.fullmatch("[0-9]m [0-9]+s left", grace()[number]))


def test_upgrade(place):
    """asking alone for what one holds shared is a wrong command line, and no failure"""
    daemon = world(place)
    script = tool.script(place, daemon, "holdfast lock -s a --pid $$ && holdfast lock a --pid $$; echo rc $?; "
                         "holdfast check a --pid $$; echo check $?")
    script.wait()
    text = script.output.text()
    expect(("UPGRADE" in text, "rc 64" in text, "check 0" in text), (True, True, True), text)


if __name__ == "__main__":
    harness.main(globals())
