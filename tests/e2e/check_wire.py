#!/usr/bin/env python3
"""Clients that are hostile, broken or merely odd: they are answered or cut off, and hurt nobody else."""

import os
import re
import select
import socket
import time

import harness
import resp
from harness import LEASE_MS, expect, expect_between, expect_code


def daemon_of(place, **options):
    return place.daemon(master=place.redis(), **options).admitted()


def healthy(daemon):
    """Somebody else is served, while whatever was going on goes on."""
    with resp.Client(daemon.socket) as client:
        expect_between(client("LOCK", "healthy", "WAIT", 45000), 1, 2 ** 53)
        expect(client("UNLOCK", "healthy"), 0)


def test_split(place):
    """requests split at any byte are understood"""
    daemon = daemon_of(place)
    client = daemon.client()
    text = resp.encode("LOCK", "a", "WAIT", 0) + b"CHECK a\r\n" + resp.encode("UNLOCK", "a")
    for at in range(1, len(text)):
        client.send_raw(text[:at])
        client.send_raw(text[at:])
        expect_between(client.reply(), 1, 2 ** 53)
        expect_between(client.reply(), 1, LEASE_MS)
        expect(client.reply(), 0)
    for byte in text:
        client.send_raw(bytes([byte]))
    expect_between(client.reply(), 1, 2 ** 53)
    expect_between(client.reply(), 1, LEASE_MS)
    expect(client.reply(), 0)


def test_malformed(place):
    """what can never become a request gets -ERR Protocol error and the end of the connection"""
    daemon = daemon_of(place)
    for text in (b"*1\r\n$-1\r\n", b"*99999999999\r\n", b"*1\r\n$99999999999\r\n", b"*1\r\nxx\r\n",
                 b"*2\r\n$4\r\nLOCKxx$1\r\na\r\n", b"*1x\r\n", b"*1\r\n$1x\r\n", b"*\r\n", b"LOCK \"a\r\n",
                 b"*1\r\n$4294967300\r\n", b"*1\r\n$0000000000000000000000000000004\r\n", b"x" * 70000):
        client = daemon.client()
        try:
            client.send_raw(text)
        except ConnectionError:
            pass  # cut off while sending: seen below
        answer = client.reply()
        expect_code(answer, "ERR")
        expect(answer.startswith("ERR Protocol error"), True, "%r: %r" % (text[:40], answer))
        expect(client.closed(), True, repr(text[:40]))
    healthy(daemon)


def test_bad_requests(place):
    """a request that is understood and wrong gets one error, and the connection goes on"""
    daemon = daemon_of(place)
    client = daemon.client()
    for words in (("NONSENSE",), ("LOCK",), ("LOCK", ""), ("LOCK", "a b"), ("LOCK", "a\r\nb"), ("LOCK", "a\x00b"),
                  ("LOCK", "a\x1b[31m"), ("LOCK", b"\xff\xfe"), ("LOCK", "x" * 513), ("LOCK", "a", "WAIT"),
                  ("LOCK", "a", "WAIT", -1), ("LOCK", "a", "WAIT", "1s"), ("LOCK", "a", "WAIT", 2 ** 63),
                  ("LOCK", "a", "LEASE", 0), ("LOCK", "a", "WAIT", 1, "WAIT", 2), ("LOCK", "a", "SIDEWAYS"),
                  ("LOCK", "a", "OWNER", "x" * 1000), ("UNLOCK",), ("EXTEND", "a"), ("EXTEND", "a", "x"),
                  ("SESSION",), ("SESSION", "WHAT"), ("SESSION", "ONLOSS", "EXPLODE"), ("SELECT", 1),
                  ("HELLO", 9), ("CHECK", "a", "TOKEN", "x"), ("LOCK", "a", "SHARED", "LIMIT", 3),
                  ("LOCK", "a", "SHARED", "SHARED"), ("LOCK", "a", "PERMITS", 1), ("LOCK", "a", "LIMIT", 0),
                  ("LOCK", "a", "LIMIT", 10001), ("LOCK", "a", "LIMIT", 2, "PERMITS", 3), ("LOCK", "a", "LIMIT", -1),
                  ("LOCK", "a", "RETRIES", "x"), ("LOCK", "a", "RETRIES", 2 ** 63), ("DOWNGRADE",),
                  ("DOWNGRADE", "a", "SHARED"), ("MLOCK",), ("MLOCK", 1), ("MLOCK", 0, "a"), ("MLOCK", -1, "a"),
                  ("MLOCK", 65, "a"), ("MLOCK", 2 ** 64 + 1, "a"), ("MLOCK", 2, "a"), ("MLOCK", 2, "a", "a"),
                  ("MLOCK", 2, "a", "b\r\nc"), ("MLOCK", 1, "a", "b"), ("MLOCK", 1, "a", "VALIDITY"), ("MUNLOCK", 1),
                  ("MUNLOCK", "a"), ("MUNLOCK", 1, "a", "WAIT", 5), ("LATCH",), ("LATCH", "a"), ("LATCH", "a", "UP"),
                  ("LATCH", "a", "SET"), ("LATCH", "a", "SET", 0), ("LATCH", "a", "SET", 10 ** 7),
                  ("LATCH", "a\x00", "COUNT"), ("LATCH", "x" * 513, "SET", 1), ("LATCH", "a", "DOWN", "x"),
                  ("LATCH", "a", "AWAIT", "WAIT"), ("LATCH", "a", "COUNT", 1), ("SESSION", "GRACE"),
                  ("SESSION", "GRACE", -1), ("SESSION", "GRACE", 2 ** 63), ("SESSION", "RESUME"),
                  ("SESSION", "RESUME", "x" * 65), ("SESSION", "RESUME", "0" * 48), ("SESSION", "HEARTBEAT", "soon")):
        answer = client(*words)
        if not isinstance(answer, resp.Error):
            raise AssertionError("%r was taken: %r" % (words, answer))
        for byte in answer:
            expect(byte >= " " and byte != "\x7f", True, "control byte in %r" % answer)
    expect(client("PING"), "PONG")
    expect_between(client("LOCK", "\u00fcml\u00e4ut/\u65e5\u672c", "WAIT", 0), 1, 2 ** 53)


def test_many_names(place):
    """64 names of 512 bytes are locked by one request, as a line and as an array, whole and in pieces"""
    daemon = daemon_of(place)
    names = ["%02d" % i + "n" * 510 for i in range(64)]
    holder = daemon.client()
    for encode in (resp.encode, resp.encode_line):
        client = daemon.client()
        text = encode("MLOCK", 64, *names, "WAIT", 45000)
        for pieces in (1, 7):
            size = len(text) // pieces + 1
            for at in range(0, len(text), size):
                client.send_raw(text[at:at + size])
            tokens = client.reply()
            expect(len(tokens), 64)
            expect(holder("LOCK", names[63], "WAIT", 0), None)
            expect_between(client("CHECK", names[63], "TOKEN", tokens[63]), 1, LEASE_MS)
            client.send_raw(encode("MUNLOCK", 64, *names))
            expect(client.reply(), 64)
        expect_code(client("MLOCK", 64, *names[:63], names[0]), "ERR")


def test_names_in_logs(place):
    """control bytes from a client reach neither the log nor another client"""
    daemon = daemon_of(place)
    client = daemon.client()
    client("CLIENT", "SETNAME", "a\x1b[31m")
    client("LOCK", "a", "WHY", "\x1b[31m\r\nred")
    client("AUTH", "x\x1b[0m\r\n", "y")
    client("LOCK", "a\x1b[31m")
    text = resp.Client(daemon.socket)
    for words in (("CLIENT", "LIST"), ("INSPECT", "a"), ("SESSIONS",), ("LOCKS",)):
        expect("\x1b" in repr(text(*words)).replace("\\x1b", ""), False, repr(words))
        expect("\x1b" in str(text(*words)), False, repr(words))
    text.close()
    client.close()
    daemon.done()
    expect("\x1b" in daemon.output.text(), False, "ESC in the log")


def test_http(place):
    """a browser that was made to speak to us is cut off"""
    daemon = daemon_of(place, tcp=True)
    client = daemon.client(tcp=True)
    client.send_raw(b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\nLOCK a\r\n")
    expect(client.closed(), True)
    healthy(daemon)


def test_huge_pipeline(place):
    """100,000 pipelined requests are answered in order, one by one, while others are served"""
    daemon = daemon_of(place)
    client = daemon.client()
    client.socket.setblocking(False)
    # Waiting, not trying once: on a busy machine the master may be slow to answer, and would be said to be.
    request = resp.encode("LOCK", "a", "WAIT", 60000, "OWNER", "t") + resp.encode("UNLOCK", "a", "OWNER", "t")
    data = memoryview(request * 50000)
    sent, got, replies = 0, bytearray(), 0
    other = daemon.client()
    pings, worst = 0, 0.0
    while replies < 100000:
        readable, writable, _ = select.select([client.socket], [client.socket] if sent < len(data) else [], [],
                                              harness.PATIENCE)
        expect(bool(readable or writable), True, "something happens after %d replies" % replies)
        if writable:
            sent += client.socket.send(data[sent:sent + 65536])
        if readable:
            got += client.socket.recv(1 << 16)
            lines = got.split(b"\r\n")
            got = lines.pop()
            for line in lines:
                if replies % 2:
                    expect(bytes(line), b":0")
                else:
                    expect(line[:1], b":", "reply %d, %r" % (replies, bytes(line)))
                replies += 1
            if replies % 5000 < len(lines) and replies < 100000:
                # Nobody reads the pipeline's replies or sends more of it until this is answered.
                started = time.monotonic()
                expect(other("PING"), "PONG")
                worst = max(worst, time.monotonic() - started)
                pings += 1
    expect_between(pings, 10, 20, "requests of another client in between")
    harness.took(worst, 1.0, "for another client's PING at worst")


CROWD = 400  # connections of one user
REQUESTS = 150  # that each of them sends at once
TURN = 64  # requests that one connection has at a time


def served(text):
    return int(re.search(r"^commands_processed:(\d+)", text, re.M).group(1))


def wait_for_crowd(daemon, words):
    """Requests of the crowd that are served before one of another user; they all come while the daemon is stopped."""
    crowd, other = [daemon.client(tcp=True) for _ in range(CROWD)], daemon.client()
    for client in crowd:
        client.send("AUTH", "crowd", "secret")
    for client in crowd:
        expect(client.reply(), "OK")
        client.socket.setblocking(False)
    harness.until("it has nothing to do", lambda: state_of(daemon) == "S")
    before = served(other("INFO"))
    harness.until("it has nothing to do", lambda: state_of(daemon) == "S")
    daemon.process.stop()
    harness.until("it stands still", lambda: state_of(daemon) == "T")
    began = cpu_of(daemon)
    for client in crowd:
        client.socket.send(resp.encode(*words) * REQUESTS)
    other.send("INFO")
    daemon.process.cont()
    between = served(other.reply()) - before - 1
    harness.comment("%s: %d requests, and %.1f ms of the daemon's CPU" % (
        " ".join(words), between, (cpu_of(daemon) - began) * 1000))
    for client in crowd:
        client.close()
    return between


def state_of(daemon):
    with open("/proc/%d/stat" % daemon.process.pid, encoding="ascii") as stream:
        return stream.read().rpartition(") ")[2][0]


def cpu_of(daemon):
    """Seconds of CPU that the daemon has used (CPUCLOCK_SCHED of its process)."""
    return time.clock_gettime(~daemon.process.pid << 3 | 2)


def test_crowd(place):
    """however many connections of one user pipeline however much, another user's request is served among the first"""
    secret = os.path.join(place.path, "secret")
    with open(secret, "w", encoding="ascii") as stream:
        stream.write("secret\n")
    os.chmod(secret, 0o600)
    daemon = daemon_of(place, tcp=True, config="users:\n  - { name: crowd, password-file: %s }\n"
                                               "log: { level: warning }\n" % secret)
    for words in (("COMMAND",), ("LOCK", "x", "WAIT", "0"), ("MLOCK", "3", "a", "b", "c", "WAIT", "0")):
        expect_between(wait_for_crowd(daemon, words), 0, 2 * TURN, "requests of the crowd, %s" % words[0])
    healthy(daemon)


def test_never_reads(place):
    """a client that never reads is cut off, and others do not notice"""
    daemon = daemon_of(place, config="limits: { output-bytes: 16k }\n")
    client = daemon.client()
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.socket.setblocking(False)
    request = resp.encode("ECHO", "x" * 1000) * 64
    poller = select.poll()
    poller.register(client.socket, select.POLLOUT)
    ended = False
    healthy(daemon)
    while not ended:
        # Who reads nothing is given 20 s.
        expect(bool(poller.poll((20 + harness.PATIENCE) * 1000)), True, "it is read from, or cut off")
        healthy(daemon)
        try:
            client.socket.send(request)
        except BlockingIOError:
            pass
        except (BrokenPipeError, ConnectionResetError):
            ended = True
    healthy(daemon)


def test_slow_loris(place):
    """200 clients that never finish a request keep nobody from theirs"""
    daemon = daemon_of(place)
    loris = [daemon.client() for _ in range(200)]
    text = resp.encode("LOCK", "slow", "WAIT", 0)[:-1]
    times = []
    for at in range(len(text)):
        for client in loris:
            client.send_raw(text[at:at + 1])
        started = time.monotonic()
        healthy(daemon)
        times.append(time.monotonic() - started)
    harness.took(sorted(times)[len(times) // 2], 0.1, "for another client's lock")


def test_too_many(place):
    """past the limit of clients a connection is told -LIMIT and closed, and room is made when one goes"""
    daemon = daemon_of(place, tcp=True, config="limits: { clients: 10 }\n")
    clients = []
    for _ in range(10):
        clients.append(daemon.client(tcp=True))
        expect(clients[-1]("PING"), "PONG")
    late = daemon.client(tcp=True)
    answer = late.reply()
    expect_code(answer, "LIMIT")
    expect(late.closed(), True)
    clients.pop().close()

    def room():
        with resp.Client(daemon.tcp) as client:
            try:
                return client("PING") == "PONG"
            except (resp.Closed, BrokenPipeError):
                return False

    harness.until("there is room", room)


def test_session_limits(place):
    """past the limits of a session its request is told -LIMIT, and what it has stays"""
    daemon = daemon_of(place, config="limits: { grants-per-session: 3, waiters-per-session: 2, name-bytes: 8 }\n")
    client, holder = daemon.client(3), daemon.client()
    for name in "abc":
        expect_between(client("LOCK", name, "WAIT", 0), 1, 2 ** 53)
    expect_code(client("LOCK", "d", "WAIT", 0), "LIMIT")
    expect(client("UNLOCK", "a"), 0)
    expect_between(client("LOCK", "d", "WAIT", 0), 1, 2 ** 53)
    waiter = daemon.client(3)
    for name in "xyz":
        holder("LOCK", name)
    expect(waiter("LOCK", "x", "WAIT", 45000, "ASYNC", "1"), "QUEUED")
    expect(waiter("LOCK", "y", "WAIT", 45000, "ASYNC", "2"), "QUEUED")
    expect_code(waiter("LOCK", "z", "WAIT", 45000, "ASYNC", "3"), "LIMIT")
    expect_code(client("LOCK", "123456789"), "LIMIT")


def test_user_limits(place):
    """what one user may hold, wait for and leave behind is bounded, and takes nothing from others"""
    rules = "rules: [ { match: 'fragile/*', crash-delay: 1h } ]\n"
    daemon = daemon_of(place, tcp=True, config=rules + "limits: { locks-per-user: 20 }\n")
    left = 0
    while True:
        client = daemon.client(tcp=True)
        answer = client("LOCK", "fragile/%d" % left, "WAIT", 0)
        if isinstance(answer, resp.Error):
            break
        client.reset()
        left += 1
    expect(left, 20)
    expect_code(answer, "LIMIT")
    expect("locks-per-user" in answer and "20 of them withheld" in answer, True, answer)
    expect_code(client("LOCK", "s", "LIMIT", 2), "LIMIT")
    expect_code(client("MLOCK", 1, "a"), "LIMIT")
    local = daemon.client()
    expect_code(local("LOCK", "s", "LIMIT", 30, "PERMITS", 21), "LIMIT")
    expect_between(local("LOCK", "s", "LIMIT", 30, "PERMITS", 20), 1, 2 ** 53)
    daemon.configure(rules + "limits: { locks-per-user: 21 }\n")
    expect("locks-per-user" in local("RELOAD"), True)
    expect_between(client("LOCK", "a", "WAIT", 0), 1, 2 ** 53)


def test_never_read_together(place):
    """clients that each keep within their own limit and together do not are cut off; who reads is served"""
    daemon = daemon_of(place, tcp=True, config="limits: { buffer-bytes: 1m }\n")
    holder = daemon.client(3)
    for at in range(1000):
        holder.send("LOCK", "n" * 400 + str(at), "ASYNC", str(at))
    expect([holder.reply() for _ in range(1000)], ["QUEUED"] * 1000)
    for _ in range(1000):
        holder.push()
    closed = int(daemon.info()["client_output_closed"])
    deaf = []

    def cut_off():
        if len(deaf) < 800:
            deaf.append(daemon.client(tcp=True))
            for _ in range(100):
                deaf[-1].send("LOCKS")
        return int(daemon.info()["client_output_closed"]) >= closed + 5

    harness.until("some are cut off", cut_off)
    harness.comment("%d clients that read nothing" % len(deaf))
    healthy(daemon)
    expect(daemon.client(3)("CHECK", "n" * 400 + "7"), None)
    with resp.Client(daemon.tcp, 3) as client:
        expect_between(len(client("LOCKS", "COUNT", 10)[1]), 10, 30)


def test_log_flood(place):
    """of clients that are silenced again and again so many have a line in the log, and the others are counted there"""
    daemon = daemon_of(place, config="log: { level: info }\n")

    def thinned():
        clients = [daemon.client() for _ in range(150)]
        for client in clients:
            client.send("SESSION", "HEARTBEAT", 1)
        for client in clients:
            expect(client.closed(), True)
            client.close()
        return "log.thinned event=session.silent lines=" in daemon.output.text()

    harness.until("some were left out, and that was told", thinned)


def test_mass_cancel(place):
    """1,000 waiters that vanish at once leave nothing behind"""
    daemon = daemon_of(place)
    holder = daemon.client()
    holder("LOCK", "a", "WAIT", 0)
    waiters = [daemon.client() for _ in range(1000)]
    for waiter in waiters:
        waiter.send("LOCK", "a", "WAIT", 60000)
    for waiter in waiters:
        waiter.close()
    expect(holder("UNLOCK", "a"), 0)
    other, watcher = daemon.client(), daemon.client(form=3)
    expect_between(other("LOCK", "a", "WAIT", 45000), 1, 2 ** 53)
    harness.until("nobody waits", lambda: not watcher("INSPECT", "a")["waiters"])
    harness.until("their connections are closed", lambda: int(daemon.info()["connected_clients"]) <= 4)


def test_libraries(place):
    """what client libraries send by themselves is answered"""
    daemon = daemon_of(place)
    client = daemon.client(2)
    expect(client("PING"), "PONG")
    expect(client("PING", "hello"), "hello")
    expect(client("ECHO", "hello"), "hello")
    expect(client("SELECT", 0), "OK")
    expect(client("CLIENT", "SETNAME", "test"), "OK")
    expect(client("CLIENT", "GETNAME"), "test")
    expect(client("CLIENT", "SETINFO", "LIB-NAME", "x"), "OK")
    expect(client("CLIENT", "TRACKING", "ON", "OPTIN"), "OK")
    expect_between(client("CLIENT", "ID"), 1, 2 ** 53)
    expect("name=test" in client("CLIENT", "INFO"), True)
    expect("name=test" in client("CLIENT", "LIST"), True)
    text = client("INFO")
    expect("redis_version:" in text and "loading:0" in text, True, text[:200])
    text = client("INFO", "replication")
    expect("role:master\r\n" in text and "connected_slaves:0\r\n" in text, True, text)
    expect_between(client("COMMAND", "COUNT"), 20, 1000)
    expect(client("CONFIG", "GET", "maxmemory"), [])
    hello = client("HELLO", 3, "SETNAME", "three")
    expect(isinstance(hello, dict) and hello["proto"] == 3, True, repr(hello))
    expect(client("CONFIG", "GET", "maxmemory"), {})
    expect(client("CLIENT", "GETNAME"), "three")
    expect(client("RESET"), "RESET")
    expect(client("QUIT"), "OK")
    expect(client.closed(), True)


if __name__ == "__main__":
    harness.main(globals())
