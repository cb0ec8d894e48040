#!/usr/bin/env python3
"""Clients that pass descriptors which nobody asked for: their last close would wait, and it holds up nobody.

Each of these sockets has SO_LINGER and data that nobody takes: the last close() of it waits for LINGER seconds.
"""

import array
import os
import socket
import struct
import time

import harness
import resp
from harness import expect, expect_between

LINGER = 300
PROMPT = 60  # what does not wait takes far less


class Bomb:
    """Sockets whose last close waits, for one scene."""

    def __init__(self):
        self.listening = socket.socket()
        self.listening.bind(("127.0.0.1", 0))
        self.listening.listen(128)

    def lingering(self):
        sock = socket.create_connection(self.listening.getsockname())
        sock.setblocking(False)
        try:
            while True:
                sock.send(b"x" * 65536)
        except BlockingIOError:
            pass
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, LINGER))
        return sock

    def throw(self, client, text, before=(), flags=0):
        """Passes one behind some others, and keeps no copy of it. A process that ends waits for no close, even if the
        daemon was faster."""
        child = os.fork()
        if child == 0:
            try:
                rights = array.array("i", [*before, self.lingering().detach()])
                client.sendmsg([text], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)], flags)
            finally:
                os._exit(0)
        os.waitpid(child, 0)

    def done(self):
        self.listening.close()


def local(path):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(PROMPT)
    client.connect(path)
    return client


def holder_of(daemon):
    holder = daemon.client()
    expect(holder("SESSION", "ONLOSS", "NEXT"), "OK")
    expect_between(holder("LOCK", "important", "WAIT", 45000), 1, 2 ** 53)
    return holder


def healthy(daemon, holder, what):
    """Nobody has waited, and nothing is lost."""
    began = time.monotonic()
    expect_between(holder("CHECK", "important"), 1, 2 ** 53, what)
    with resp.Client(daemon.socket) as client:
        expect(client("PING"), "PONG", what)
    expect_between(time.monotonic() - began, 0, PROMPT, what)


def daemon_of(place, config=""):
    return place.daemon(master=place.redis(), config=config).admitted()


def test_served(place):
    """with a request, half a request, one of many, out of band, or behind a request that waits"""
    daemon, bomb = daemon_of(place), Bomb()
    holder = holder_of(daemon)
    clients = []
    for text, before, flags in ((b"PING\r\n", (), 0), (b"SESSION BIND\r\n", (), 0), (b"PI", (), 0),
                                (b"PING\r\n", (0, 1, 2), 0), (b"\n", (), socket.MSG_OOB)):
        client = local(daemon.socket)
        clients.append(client)
        bomb.throw(client, text, before, flags)
        healthy(daemon, holder, "%r, %d before it" % (text, len(before)))
    waiting = local(daemon.socket)
    waiting.sendall(b"LOCK important WAIT 100000\r\n")
    daemon.queued("important")
    for _ in range(3):
        bomb.throw(waiting, b"PING\r\n")
        healthy(daemon, holder, "behind a request that waits")
    for client in (*clients, waiting):
        client.close()
    healthy(daemon, holder, "after their ends")
    expect("daemon.stalled" in daemon.output.text(), False)
    bomb.done()


def test_unread(place):
    """what is unread when a connection ends, and what a client that is refused has sent"""
    daemon, bomb = daemon_of(place, "limits: { clients: 20 }\n"), Bomb()
    holder = holder_of(daemon)
    process = daemon.process
    for _ in range(5):
        # All of it comes while the daemon stands still, so it meets a connection that has ended.
        client = local(daemon.socket)
        client.sendall(b"PING\r\n")
        expect(client.recv(100), b"+PONG\r\n")
        process.stop()
        bomb.throw(client, b"QUIT\r\n")
        bomb.throw(client, b"PING\r\n")
        client.close()
        process.cont()
        healthy(daemon, holder, "unread at the end")
    crowd = [daemon.client() for _ in range(18)]
    for client in crowd:
        expect(client("PING"), "PONG")
    for _ in range(5):
        process.stop()
        client = local(daemon.socket)
        bomb.throw(client, b"PING\r\n")
        client.close()
        process.cont()
        expect_between(holder("CHECK", "important"), 1, 2 ** 53, "a client that is refused")
    for client in crowd:
        client.close()
    healthy(daemon, holder, "refused")
    bomb.done()


def test_http(place):
    """a socket of HTTP"""
    path = os.path.join(place.path, "http")
    daemon, bomb = daemon_of(place, "http:\n  - { unix: %s }\n" % path), Bomb()
    holder = holder_of(daemon)
    for text in (b"GET /healthz HTTP/1.0\r\n\r\n", b"GET ", b"GET /events HTTP/1.0\r\n\r\n"):
        client = local(path)
        bomb.throw(client, text)
        bomb.throw(client, b"\r\n")
        healthy(daemon, holder, repr(text))
        client.close()
        healthy(daemon, holder, repr(text))
    bomb.done()


def test_hand_over(place):
    """a daemon that is handed over, or ends, waits for none"""
    daemon, bomb = daemon_of(place), Bomb()
    holder = holder_of(daemon)
    waiting = local(daemon.socket)
    waiting.sendall(b"LOCK important WAIT 100000\r\n")
    daemon.queued("important")
    bomb.throw(waiting, b"PING\r\n")
    admin = daemon.client()
    bomb.throw(waiting, b"PING\r\n")
    expect(admin("RESTART")[0], "version")
    healthy(daemon, holder, "handed over")
    began = time.monotonic()
    bomb.throw(waiting, b"PING\r\n")
    daemon.terminate()
    expect_between(time.monotonic() - began, 0, PROMPT, "the end of the daemon")
    bomb.done()


def test_restart_at_once(place):
    """a restart that is asked for in the moment in which descriptors came"""
    daemon, bomb = daemon_of(place), Bomb()
    holder = holder_of(daemon)
    clients = [local(daemon.socket) for _ in range(20)]
    admin = daemon.client()
    for client in clients:
        client.sendall(b"PING\r\n")
        expect(client.recv(100), b"+PONG\r\n")
    daemon.process.stop()
    for client in clients:
        bomb.throw(client, b"PING\r\n")
    admin.send("RESTART")
    daemon.process.cont()
    expect(admin.reply()[0], "version")
    healthy(daemon, holder, "handed over")
    bomb.done()


if __name__ == "__main__":
    harness.main(globals())
