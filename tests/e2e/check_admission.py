#!/usr/bin/env python3
"""Who finds room when many come: clients that do not log in, users, administrators of this host, bound sessions."""

import os
import subprocess

import harness
import resp
import tool
from harness import expect, expect_between, expect_code

USERS = "users: [ { name: app, password-env: APP } ]\n"


def guarded(place, limits):
    """A daemon with a TCP listener where clients have to log in."""
    return place.daemon(master=place.redis(), tcp=True, config=USERS + "limits: { %s }\n" % limits,
                        environment={"APP": "secret"}).admitted()


def expect_few_lines(daemon):
    """One line at once, and one more for each ten seconds that the daemon has run."""
    lines = daemon.output.text().count("clients.turned_away")
    expect_between(lines, 1, 1 + int((harness.boottime() - daemon.ready) / 10), "lines")


def test_flood_of_unauthenticated_clients(place):
    """clients that do not log in keep nobody out by the hundred, and cost one line of the log"""
    daemon = guarded(place, "clients: 40, login-time: 1h")
    user = daemon.client(tcp=True)
    expect(user("AUTH", "app", "secret"), "OK")
    expect_between(user("LOCK", "a"), 1, 2 ** 53)
    unknown = [daemon.client(tcp=True) for _ in range(200)]
    # Whoever has a password gets in, and works, whatever the others do.
    for number in range(10):
        late = daemon.client(tcp=True)
        expect(late("AUTH", "app", "secret"), "OK")
        expect(late("LOCK", "b%d" % number, "WAIT", 0) > 0, True)
        unknown += [daemon.client(tcp=True) for _ in range(20)]
    expect(daemon.client()("PING"), "PONG")
    expect_between(user("CHECK", "a"), 1, 60000)
    with daemon.client() as viewer:
        expect("unauthenticated_clients:10\r\n" in viewer("INFO", "clients"), True, viewer("INFO", "clients"))
    for client in unknown[:-10]:
        expect(client.closed(), True)
    for client in unknown[-10:]:
        expect_code(client("PING"), "NOAUTH")
    expect_few_lines(daemon)
    expect_code(resp.parse(unknown[100].data)[0], "LIMIT")


def test_all_log_in_again(place):
    """a program that is started anew logs in with all connections that its user may have, while the old ones end"""
    most = 300
    daemon = guarded(place, "clients: 8000, sessions-per-user: %d, locks-per-user: 100000" % most)
    control = daemon.client()
    before = [daemon.client(tcp=True) for _ in range(most)]
    for number, client in enumerate(before):  # the end of each takes a while
        client.send("AUTH", "app", "secret")
        client.send("MLOCK", 60, *("%d.%d" % (number, name) for name in range(60)))
    for client in before:
        expect(client.reply(), "OK")
        expect(len(client.reply()), 60)
    expect_code(daemon.client(tcp=True)("AUTH", "app", "secret"), "LIMIT")
    after = [daemon.client(tcp=True) for _ in before]
    for client in before:
        client.close()
    harness.until("the daemon has seen that they are gone",
                  lambda: "\nconnected_clients:%d\r" % (1 + most) in control("INFO", "clients"))
    for client in after:
        client.send("AUTH", "app", "secret")
    expect({str(client.reply()) for client in after}, {"OK"})
    for client in after:
        client.send("PING")
    expect({str(client.reply()) for client in after}, {"PONG"})


def test_late_login(place):
    """who does not log in within login-time is told so and closed, and the others are not"""
    daemon = guarded(place, "login-time: 100ms")
    unknown = daemon.client(tcp=True)
    local = daemon.client()
    expect(unknown.closed(), True)
    expect_code(resp.parse(unknown.data)[0], "NOAUTH")
    expect(local("PING"), "PONG")
    expect_few_lines(daemon)


def test_administrator_finds_room(place):
    """root or the socket's owner finds room when all connections are taken"""
    daemon = guarded(place, "clients: 5, sessions-per-user: 5, login-time: 1h")
    for _ in range(5):
        expect(daemon.client(tcp=True)("AUTH", "app", "secret"), "OK")
    late = daemon.client(tcp=True)
    expect(late.closed(), True)
    expect_code(resp.parse(late.data)[0], "LIMIT")
    status, output = tool.call(place, daemon, "info", "clients")
    expect(status, 0, output)
    expect("connected_clients:6" in output, True, output)


def bind(client, process):
    """SESSION BIND to this process."""
    pidfd = os.pidfd_open(process.pid)
    try:
        resp.socket.send_fds(client.socket, [b"SESSION BIND\r\n"], [pidfd])
    finally:
        os.close(pidfd)
    return client.reply()


def test_bound_sessions(place):
    """sessions that are bound to processes are counted, and do not take the descriptors from clients"""
    daemon = place.idle_daemon(master=place.redis(), config="limits: { clients: 20 }\n")
    # A quarter of these is for bound sessions, and three quarters of that for one user.
    daemon.wrap = ["sh", "-c", "ulimit -n 200; exec \"$@\"", "sh"]
    daemon.start().admitted()
    processes = [subprocess.Popen(["sleep", "1000"]) for _ in range(39)]
    try:
        for process in processes[:38]:
            with daemon.client() as client:
                expect(bind(client, process), 0)
        with daemon.client() as client:
            answer = bind(client, processes[38])
            expect_code(answer, "LIMIT")
            expect("limits.bound-sessions" in answer, True, answer)
        clients = [daemon.client() for _ in range(20)]
        for client in clients:
            expect(client("PING"), "PONG")
    finally:
        for process in processes:
            process.kill()
            process.wait()


if __name__ == "__main__":
    harness.main(globals())
