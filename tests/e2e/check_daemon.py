#!/usr/bin/env python3
"""The daemon as a program: options, configuration, reload, signals, access, its private master."""

import os
import re
import select
import signal
import socket
import stat

import harness
import memoryshim
import resp
from harness import BRISK, LEASE_MS, boottime, expect, expect_between, expect_code, expect_not_before


def run(place, *arguments):
    """(exit status, output) of the daemon with these arguments."""
    process = place.run(harness.HOLDFASTD, *arguments)
    status = process.wait()
    process.output.thread.join(harness.PATIENCE)
    return status, process.output.text()


def write(place, name, text):
    path = os.path.join(place.path, name)
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(text)
    return path


def test_check(place):
    """-t says whether a file is good, and every error with its line and column"""
    good = write(place, "good.yml", "lease: 3s\n")
    bad = write(place, "bad.yml", "leese: 3s\nlease: 10\npool: 99\n")
    status, text = run(place, "-t", "-c", good)
    expect(status, 0, text)
    status, text = run(place, "-t", "-c", bad)
    expect(status != 0, True)
    for line in ("%s:1:1: unknown key \"leese\"; did you mean \"lease\"?", "%s:2:8: lease: \"10\" has no unit",
                 "%s:3:7: pool: \"99\" is out of range"):
        expect(line % bad in text, True, text)
    status, text = run(place, "-t", "-c", os.path.join(place.path, "none.yml"))
    expect(status != 0 and "No such file" in text, True, text)


def test_shipped_file(place):
    """the shipped configuration is good, and --print-config of it too"""
    shipped = os.path.join(harness.ROOT, "conf", "holdfast.yml")
    status, text = run(place, "-t", "-c", shipped)
    expect(status, 0, text)
    status, printed = run(place, "--print-config", "-c", shipped)
    expect(status, 0, printed)
    expect("lease: 10s" in printed, True, printed)
    again = write(place, "again.yml", printed)
    expect(run(place, "--print-config", "-c", again), (0, printed))


def test_print_fails(place):
    """--print-config that cannot write, or has no memory, says so, and prints nothing by halves"""
    config = write(place, "good.yml", "masters: [ 'redis://h' ]\nusers: [ { name: a, unix-user: '*' } ]\n")
    command = (harness.HOLDFASTD, "--print-config", "-c", config)
    for where, why in (("/dev/full", "No space left on device"), ("&-", "Bad file descriptor")):
        process = place.run("sh", "-c", 'exec "$@" >%s' % where, "sh", *command)
        expect(process.wait(), os.EX_IOERR)
        process.output.thread.join(harness.PATIENCE)
        expect(process.output.text(), "holdfastd: --print-config: %s" % why)
    memory = memoryshim.Memory(place, "print")

    def printed():
        process = place.run(*command, environment=memory.environment)
        status = process.wait()
        process.output.thread.join(harness.PATIENCE)
        return status, process.output.text()

    whole, asked = printed(), memory.asked
    expect(whole[0], 0, whole[1])
    seen = set()
    for last in range(1, asked, 2):
        memory.again(last)
        status, text = printed()
        wanted = {0: whole[1], os.EX_SOFTWARE: "holdfastd: --print-config: Cannot allocate memory"}.get(status)
        if wanted is None:  # while it reads the file
            expect(status == os.EX_CONFIG and re.search("out of memory|fit into memory", text) is not None, True, "request %d: %s" % (last, text))
        else:
            expect(text, wanted)
        seen.add(status)
    expect(os.EX_SOFTWARE in seen, True, str(seen))


def test_options(place):
    """--version and --help answer, and an unknown option is an error that names it"""
    status, text = run(place, "--version")
    expect(status, 0)
    expect(bool(re.search(r"\d+\.\d+\.\d+", text)), True, text)
    status, text = run(place, "--help")
    expect(status == 0 and "--print-config" in text, True, text)
    status, text = run(place, "--frobnicate")
    expect(status != 0 and "frobnicate" in text, True, text)


def test_bad_start(place):
    """a configuration that is wrong keeps the daemon from starting and says why"""
    daemon = place.idle_daemon(master=place.redis(), config="poool: 3\n")
    daemon.spawn()
    expect(daemon.process.wait() != 0, True)
    daemon.output.wait(r"holdfast\.yml:\d+:1: unknown key \"poool\"; did you mean \"pool\"\?")


def test_terminated(place):
    """SIGTERM frees what nobody holds, withholds what is held, tells holders, and ends with 0"""
    redis = place.redis()
    first, second = [place.daemon(name, master=redis, config=BRISK) for name in ("d1", "d2")]
    holder, waiter = first.admitted().client(), second.admitted().client()
    holder("LOCK", "held")
    asked = boottime()
    valid_ms = holder("CHECK", "held")
    first.process.signal(signal.SIGTERM)
    expect(first.process.wait(), 0)
    expect(holder.closed(), True)
    expect(os.path.exists(first.socket), False)
    expect_between(waiter("LOCK", "held", "WAIT", 45000), 1, 2 ** 53)
    expect_not_before(boottime() - asked, valid_ms / 1000, "the next holder")


def test_terminated_idle(place):
    """after SIGTERM the locks that were released are free at once for others"""
    redis = place.redis()
    first, second = [place.daemon(name, master=redis) for name in ("d1", "d2")]
    client, waiter = first.admitted().client(), second.admitted().client()
    client("LOCK", "a")
    client("UNLOCK", "a")
    expect(first.terminate(), 0)
    # The lease would have lasted longer.
    expect_between(waiter("LOCK", "a", "WAIT", 45000), 1, 2 ** 53)


def test_interrupted_while_guarded(place):
    """SIGTERM ends a daemon that has no master, with clients waiting"""
    redis = place.redis()
    redis.kill()
    daemon = place.daemon(master=redis)
    waiter = daemon.client()
    waiter.send("LOCK", "a", "WAIT", 60000)
    daemon.queued("a")
    expect(daemon.terminate(), 0)
    try:
        expect_code(waiter.reply(), "DRAINING")
    except resp.Closed:
        pass


def test_second_instance(place):
    """a second daemon on the same socket ends with an error and leaves the first alone"""
    redis = place.redis()
    first = place.daemon("d1", master=redis).admitted()
    second = place.idle_daemon("d2", master=redis)
    with open(first.file, encoding="utf-8") as stream:
        text = stream.read()
    with open(second.file, "w", encoding="utf-8") as stream:
        stream.write(text)
    second.spawn()
    expect(second.process.wait() != 0, True)
    expect(first.socket in second.output.text(), True, second.output.text())
    expect(first.client()("PING"), "PONG")


def test_dead_socket(place):
    """the socket a killed daemon left behind is taken over"""
    daemon = place.daemon(master=place.redis()).admitted()
    daemon.kill()
    expect(os.path.exists(daemon.socket), True)
    daemon.start()
    expect(daemon.client()("PING"), "PONG")


def test_foreign_file(place):
    """a file that is no socket is not removed"""
    daemon = place.idle_daemon(master=place.redis())
    with open(daemon.socket, "w", encoding="ascii") as stream:
        stream.write("precious")
    daemon.spawn()
    expect(daemon.process.wait() != 0, True)
    with open(daemon.socket, encoding="ascii") as stream:
        expect(stream.read(), "precious")
    os.unlink(daemon.socket)


def test_socket_mode(place):
    """the socket has the permissions the configuration says"""
    daemon = place.idle_daemon(master=place.redis())
    path = os.path.join(daemon.folder, "other")
    daemon.listen += "  - { unix: %s, mode: \"0600\" }\n" % path
    daemon.configure("")
    daemon.start()
    expect(stat.S_IMODE(os.stat(path).st_mode), 0o600)
    expect(stat.S_IMODE(os.stat(daemon.socket).st_mode), 0o660)


def test_reload(place):
    """SIGHUP takes up what can change, names what cannot, and a bad file changes nothing"""
    daemon = place.daemon(master=place.redis(), config="rules: [ { match: 'q', wait: 60s } ]\n").admitted()
    client, other = daemon.client(), daemon.client()
    client("LOCK", "q")
    daemon.configure("rules: [ { match: 'q', wait: 100ms } ]\nnamespace: elsewhere\n")
    mark = daemon.output.mark()
    daemon.process.signal(signal.SIGHUP)
    daemon.await_state("RELOADING=1")
    daemon.await_state("READY=1")
    daemon.output.wait(r"namespace", mark)
    expect(other("LOCK", "q"), None)
    expect_between(client("CHECK", "q"), 1, LEASE_MS)
    daemon.configure("nonsense: 1\npool: 99\n")
    daemon.process.signal(signal.SIGHUP)
    for error in (r"config\.wrong text=.*unknown key .*nonsense", r"config\.wrong text=.*pool: .*out of range",
                  r"daemon\.reload_failed text=.*nonsense.*; and 1 more in the log"):
        daemon.output.wait(error, mark)
    expect(other("LOCK", "q"), None)
    expect(client("UNLOCK", "q"), 0)
    expect_between(other("LOCK", "q"), 1, 2 ** 53)


def test_directory(place):
    """files in the directory beside the configuration are read after it, by -t, at the start and by a reload"""
    daemon = place.idle_daemon(master=place.redis(), config="rules: [ { match: 'q', wait: 60s } ]\nlimits: { arguments: 20 }\n")
    directory = os.path.join(daemon.folder, "holdfast.d")
    os.mkdir(directory)
    more = write(place, os.path.join(directory, "10-more.yml"), "rules: [ { match: 'r', wait: 0ms } ]\n")
    daemon.start()
    client, other = daemon.admitted().client(), daemon.client()
    for name in ("r", "s"):
        client("LOCK", name)
    expect(other("LOCK", "r"), None)
    expect("\nconfig_file:%s, %s\r\n" % (daemon.file, more) in client("INFO", "server"), True)
    last = write(place, os.path.join(directory, "20-last.yml"), "rules:\n  - { match: 's', wait: 0ms }\nlimits: { arguments: 21 }\n")
    answer = client("RELOAD")
    expect("reloaded: rules, limits.arguments" in answer, True, answer)
    expect(other("LOCK", "s"), None)
    status, text = run(place, "-t", "-c", daemon.file)
    expect((status, "%s, %s, %s" % (daemon.file, more, last) in text), (0, True), text)
    write(place, last, "rules: [ { match: 't', wait: 1 } ]\n")
    status, text = run(place, "-t", "-c", daemon.file)
    expect((status != 0, "%s:1:30: rules[2].wait: " % last in text), (True, True), text)
    expect_code(client("RELOAD"), "ERR")
    expect(other("LOCK", "s"), None)
    os.unlink(last)
    answer = client("RELOAD")
    expect("reloaded: rules, limits.arguments" in answer, True, answer)


def test_reload_layout(place):
    """a reload does not move names to other keys at the master, where other daemons would not look"""
    redis = place.redis()
    before = "rules:\n  - { match: 'x/*' }\n  - { match: 'a/*', key: 'mine:{%}' }\n  - { match: 'b/*', wait: 60s }\n"
    daemon = place.daemon(master=redis, config=before).admitted()
    daemon.configure(before.replace("x/", "a/").replace("'a/*', key", "'c/*', key").replace("60s", "200ms"))
    client, other = daemon.client(), daemon.client()
    answer = client("RELOAD")
    expect("reloaded" in answer and "needs a restart" in answer and "rules[0].match" in answer, True, answer)
    answer = client("RELOAD")
    expect("rules[0].match" in answer and "rules[2].wait" not in answer, True, "the second time: " + answer)
    for name, key in (("a/1", "mine:{a/1}"), ("c/1", "holdfast:{c/1}")):
        expect_between(client("LOCK", name), 1, 2 ** 53)
        expect_between(redis("PTTL", key), 1, LEASE_MS + 1000)
    client("LOCK", "b/1")
    expect(other("LOCK", "b/1"), None)


def test_drain(place):
    """DRAIN by an administrator ends the daemon as SIGTERM does"""
    daemon = place.daemon(master=place.redis()).admitted()
    client, other = daemon.client(), daemon.client()
    client("LOCK", "a")
    expect(other("DRAIN"), "OK")
    expect(daemon.process.wait(), 0)
    expect(client.closed(), True)


def test_client_kill(place):
    """CLIENT KILL closes a connection, and withholds what it held"""
    daemon = place.daemon(master=place.redis(), config=BRISK).admitted()
    holder, admin = daemon.client(), daemon.client()
    holder("LOCK", "a")
    number = holder("CLIENT", "ID")
    asked = boottime()
    valid_ms = holder("CHECK", "a")
    expect(admin("CLIENT", "KILL", "ID", number), 1)
    expect(holder.closed(), True)
    expect_between(admin("LOCK", "a", "WAIT", 45000), 1, 2 ** 53)
    expect_not_before(boottime() - asked, valid_ms / 1000, "the next holder")
    expect_code(admin("CLIENT", "KILL", "ID", number), "ERR")


def test_reload_listeners(place):
    """a reload opens and closes listeners, and keeps connections"""
    daemon = place.daemon(master=place.redis()).admitted()
    client = daemon.client()
    client("LOCK", "a")
    port = harness.free_port()
    before = daemon.listen
    daemon.listen += "  - tcp: 127.0.0.1:%d\n" % port
    daemon.configure("")
    daemon.process.signal(signal.SIGHUP)
    daemon.await_state("RELOADING=1")
    daemon.await_state("READY=1")
    with resp.Client(("127.0.0.1", port)) as tcp:
        expect(tcp("PING"), "PONG")
    daemon.listen = before
    daemon.configure("")
    daemon.process.signal(signal.SIGHUP)
    daemon.await_state("RELOADING=1")
    daemon.await_state("READY=1")
    try:
        with resp.Client(("127.0.0.1", port)):
            raise AssertionError("the listener is still there")
    except ConnectionRefusedError:
        pass
    expect_between(client("CHECK", "a"), 1, LEASE_MS)


def test_inherited_socket(place):
    """a socket that the service manager listens on is used, and stays when the daemon ends"""
    daemon = place.idle_daemon(master=place.redis())
    path = os.path.join(daemon.folder, "inherited")
    daemon.listen = "listen:\n  - unix: %s\n" % path
    daemon.configure("")
    manager = socket.socket(socket.AF_UNIX)
    manager.bind(path)
    manager.listen(16)
    place.sockets.append(manager)
    # The descriptor has to be 3, and LISTEN_PID the daemon's own: a shell in between sees to both.
    daemon.wrap = ["sh", "-c", "exec 3<&%d; LISTEN_PID=$$ LISTEN_FDS=1 exec \"$@\"" % manager.fileno(), "sh"]
    daemon.inherit = (manager.fileno(),)
    daemon.start()
    client = place.keep(resp.Client(path))
    expect(client("PING"), "PONG")
    expect_between(client("LOCK", "a", "WAIT", 45000), 1, 2 ** 53)
    expect(daemon.terminate(), 0)
    expect(os.path.exists(path), True, "the manager's socket")


def test_descriptors(place):
    """when descriptors run out, those who are connected are served, and others as soon as there is room"""
    daemon = place.idle_daemon(master=place.redis())
    daemon.wrap = ["sh", "-c", "ulimit -n 40; exec \"$@\"", "sh"]
    daemon.start().admitted()
    first = daemon.client()
    expect_between(first("LOCK", "a"), 1, 2 ** 53)
    crowd = [daemon.client() for _ in range(60)]
    for _ in range(20):
        expect_between(first("CHECK", "a"), 1, LEASE_MS)
    refused = 0
    for client in crowd:
        try:
            client.send("PING")
            answer = client.reply(0.3)
            refused += isinstance(answer, resp.Error)
            expect(answer == "PONG" or answer.code == "LIMIT", True, repr(answer))
        except (resp.Closed, resp.Late, BrokenPipeError):
            refused += 1
    expect_between(refused, 1, 60, "clients that found no room")
    for client in crowd:
        client.close()
    late = daemon.client()
    expect(late("PING"), "PONG")
    expect(first("UNLOCK", "a"), 0)


def test_full_disk(place):
    """a log that cannot be written keeps nobody from locking"""
    daemon = place.idle_daemon(master=place.redis(), config="log: { level: debug, to: /dev/full }\n")
    daemon.start().admitted()
    client = daemon.client()
    expect_between(client("LOCK", "a"), 1, 2 ** 53)
    expect(client("UNLOCK", "a"), 0)


def test_log_file(place):
    """the log goes to the file the configuration names, and a reload opens it again after it was moved away"""
    daemon = place.idle_daemon(master=place.redis())
    path = os.path.join(daemon.folder, "log")
    daemon.configure("log: { level: debug, to: %s }\n" % path)
    daemon.start().admitted()
    os.rename(path, path + ".1")
    with open(path + ".1", encoding="utf-8") as stream:
        expect("daemon.started" in stream.read(), True)
    daemon.process.signal(signal.SIGHUP)
    daemon.await_state("RELOADING=1")
    daemon.await_state("READY=1")
    daemon.client()("LOCK", "after", "WAIT", 0)
    with open(path, encoding="utf-8") as stream:
        expect("after" in stream.read(), True)


def test_tcp_master(place):
    """a master over TCP, with user, password and database in its URL, which no log shows"""
    port = harness.free_port()
    redis = place.redis(options=["--port", str(port)])
    expect(redis("ACL", "SETUSER", "hf", "on", ">p@ss", "~*", "&*", "+@all"), "OK")

    class Master:
        url = "redis://hf:p%%40ss@127.0.0.1:%d/3" % port
    daemon = place.daemon(master=Master).admitted()
    client = daemon.client()
    client("LOCK", "a")
    with resp.Client(redis.socket) as direct:
        expect(direct("SELECT", 3), "OK")
        expect_between(direct("PTTL", "holdfast:{a}"), 1, LEASE_MS + 1000)
    expect("p@ss" in daemon.output.text() or "p%40ss" in daemon.output.text(), False, "the password in the log")
    expect("p@ss" in client("INFO"), False, "the password in INFO")


def test_master_is_a_daemon(place):
    """a master that is a holdfastd is told apart, and what to do about it"""
    master = place.daemon("d1", master=place.redis()).admitted()
    daemon = place.daemon("d2", config="masters: [ 'unix://%s' ]\n" % master.socket)
    answer = daemon.client()("LOCK", "a", "WAIT", 0)
    expect_code(answer, "NOMASTER")
    expect("it is a holdfastd or another program" in str(answer), True, str(answer))


def test_master_is_a_daemon_with_users(place):
    """a master that is a holdfastd is told apart also where it wants a login, or wants none and gets one"""
    with_users = place.daemon("d1", master=place.redis(), tcp=True, environment={"ONE": "secret1"},
                              config="users:\n  - { name: op, password-env: ONE }\n").admitted()
    without = place.daemon("d2", master=place.redis("r2"), tcp=True).admitted()
    for number, (login, port) in enumerate((("", with_users.port), ("op:wrong@", with_users.port), ("op:secret@", without.port))):
        daemon = place.daemon("e%d" % number, config="masters: [ 'redis://%s127.0.0.1:%d' ]\n" % (login, port))
        harness.until("it says so", lambda daemon=daemon: "it is a holdfastd, which cannot be a master" in str(
            daemon.client()("LOCK", "a", "WAIT", 0)))


def test_break_is_logged(place):
    """the log says who broke a lock, and whose it was, also from another host"""
    daemon = place.daemon(master=place.redis(), tcp=True, environment={"ONE": "secret1"},
                          config="users:\n  - { name: op, password-env: ONE, admin: yes }\n").admitted()
    token = daemon.client()("LOCK", "deploy", "WAIT", 0)
    expect_between(daemon.client()("BREAK", "deploy", "TOKEN", token), 0, LEASE_MS)
    daemon.output.wait(r"warning lock\.break by=\d+ address=unix uid=%d pid=%d name=deploy token=%d" % (
        os.getuid(), os.getpid(), token))
    admin = daemon.client(tcp=True)
    expect(admin("AUTH", "op", "secret1"), "OK")
    expect_code(admin("BREAK", "deploy", "TOKEN", token + 1), "NOTHELD")
    daemon.output.wait(r"warning lock\.break by=\d+ address=127\.0\.0\.1:\d+ uid=-1 pid=0 user=op name=deploy token=%d" %
                       (token + 1))


def test_reload_is_logged(place):
    """the log says who had the configuration read again, or that a signal did"""
    daemon = place.daemon(master=place.redis()).admitted()
    expect(daemon.client()("RELOAD"), "reloaded")
    daemon.output.wait(r"warning daemon\.reload by=\d+ address=unix uid=%d pid=%d" % (os.getuid(), os.getpid()))
    daemon.process.signal(signal.SIGHUP)
    daemon.output.wait(r"info daemon\.reload why=SIGHUP")


def test_guesses(place):
    """whoever guesses passwords loses the connection after ten, and the user waits at that address; others log in"""
    daemon = place.daemon(master=place.redis(), tcp=True, environment={"ONE": "secret1", "TWO": "secret2"},
                          config="users:\n  - { name: op, password-env: ONE, admin: yes }\n"
                                 "  - { name: app, password-env: TWO }\n").admitted()
    guesser = daemon.client(tcp=True)
    for n in range(9):
        expect_code(guesser("AUTH", "op", "guess%d" % n), "WRONGPASS")
    expect_code(guesser("HELLO", 3, "AUTH", "op", "x"), "WRONGPASS")
    expect(guesser.closed(), True)
    # Also the right one is not looked at before it is due, or guessing would go on.
    answer = daemon.client(tcp=True)("AUTH", "op", "secret1")
    expect_code(answer, "LIMIT")
    expect("have failed from this address: try again in" in str(answer), True, str(answer))
    expect(daemon.info()["auth_failures"], "10")
    expect(daemon.client(tcp=True)("AUTH", "app", "secret2"), "OK")
    with resp.Client(daemon.tcp, source="127.0.0.2") as other:
        expect(other("AUTH", "op", "secret1"), "OK")
    harness.until("its time has come", lambda: daemon.client(tcp=True)("AUTH", "op", "secret1") == "OK")


def test_users(place):
    """with users a TCP client must log in, and admin decides who may break locks"""
    daemon = place.daemon(master=place.redis(), tcp=True, environment={"ONE": "secret1", "TWO": "secret2"},
                          config="users:\n  - { name: op, password-env: ONE, admin: yes }\n"
                                 "  - { name: app, password-env: TWO }\n").admitted()
    client = daemon.client(tcp=True)
    expect_code(client("LOCK", "a", "WAIT", 0), "NOAUTH")
    expect_code(client("AUTH", "app", "secret1"), "WRONGPASS")
    expect(client("AUTH", "app", "secret2"), "OK")
    token = client("LOCK", "a", "WAIT", 0)
    expect_between(token, 1, 2 ** 53)
    other = daemon.client(tcp=True)
    answer = other("HELLO", 3, "AUTH", "app", "secret2")
    expect(isinstance(answer, dict), True, repr(answer))
    expect_code(other("BREAK", "a", "TOKEN", token), "NOPERM")
    expect(other("AUTH", "op", "secret1"), "OK")
    expect_between(other("BREAK", "a", "TOKEN", token), 0, LEASE_MS)
    for secret in ("secret1", "secret2"):
        expect(secret in daemon.output.text(), False, "a password in the log")


def test_open_tcp(place):
    """TCP beyond loopback without users is refused, with what to write"""
    path = write(place, "open.yml", "listen:\n  - tcp: 0.0.0.0:5625\n")
    status, text = run(place, "-t", "-c", path)
    expect(status != 0, True)
    expect("add users: or tls: with client-ca, or say insecure: yes" in text, True, text)


def test_embedded(place):
    """without a master the daemon starts one of its own, which ends with it, also when the daemon is killed"""
    daemon = place.daemon()
    daemon.admitted()
    client = daemon.client()
    expect_between(client("LOCK", "a"), 1, 2 ** 53)
    expect(client("UNLOCK", "a"), 0)
    server = find_server(daemon)
    expect(daemon.terminate(), 0)
    ended(server)
    daemon.start().admitted()
    server = find_server(daemon)
    daemon.kill()
    ended(server)


def find_server(daemon):
    """The pid and pidfd of the daemon's redis-server."""
    with open("/proc/%d/task/%d/children" % (daemon.process.pid, daemon.process.pid), encoding="ascii") as stream:
        pids = [int(pid) for pid in stream.read().split()]
    expect(len(pids), 1, "children")
    return pids[0], os.pidfd_open(pids[0])


def ended(server):
    pid, pidfd = server
    ready = select.select([pidfd], [], [], harness.PATIENCE)[0]
    os.close(pidfd)
    if not ready:
        os.kill(pid, signal.SIGKILL)
    expect(bool(ready), True, "its redis-server is gone")


def test_embedded_restarts(place):
    """a private master that dies is started again, and held locks survive it"""
    daemon = place.daemon(config="lease: 5s\nrestart-guard: auto\n").admitted()
    client = daemon.client()
    client("LOCK", "a")
    pid, pidfd = find_server(daemon)
    os.kill(pid, signal.SIGKILL)
    os.close(pidfd)
    other = daemon.client()
    expect_between(other("LOCK", "b", "WAIT", 45000), 1, 2 ** 53)
    expect_between(client("CHECK", "a"), 1, 5000)


def test_views(place):
    """INSPECT, LOCKS, SESSIONS, EVENTS and INFO show who holds and who waits"""
    daemon = place.daemon(master=place.redis()).admitted()
    watcher, holder, waiter = daemon.client(3), daemon.client(), daemon.client()
    watcher.send("EVENTS", "MATCH", "a*")
    watcher.reply()
    holder("CLIENT", "SETNAME", "the-holder")
    token = holder("LOCK", "a", "WHY", "because")
    waiter.send("LOCK", "a", "WAIT", 60000)
    viewer = daemon.client(3)
    view = viewer("INSPECT", "a")
    text = repr(view)
    for word in (str(token), "because"):
        expect(word in text, True, text)
    expect("a" in repr(viewer("LOCKS", "MATCH", "a")), True)
    expect("the-holder" in repr(viewer("SESSIONS")), True)
    while "lock.granted" not in repr(watcher.push()):
        pass
    info = daemon.info()
    expect(info.get("loading"), "0")


if __name__ == "__main__":
    harness.main(globals())
