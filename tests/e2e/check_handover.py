#!/usr/bin/env python3
"""What a process leaves to the next one: bytes on their way, processes that end meanwhile, and a state that is used once."""

import contextlib
import fcntl
import os
import signal
import socket
import subprocess
import threading

import errands
import harness
import resp
from harness import expect, expect_between, expect_code
from manager import HIGH, Manager

MANY = 3000


def handed_over(daemon, count=1):
    daemon.output.wait("handover.(done|failed|refused)")
    harness.until("a new process serves", lambda: int(daemon.info()["handovers"]) >= count)


def exec_in_place(daemon):
    done = int(daemon.info()["handovers"])
    daemon.process.signal(signal.SIGUSR2)
    handed_over(daemon, done + 1)


def in_order(daemon, hand_over):
    """Half a request, requests behind one that waits, and an answer that nobody reads yet."""
    half, piped, slow, holder = (daemon.client() for _ in range(4))
    push = daemon.client(form=3, tcp=True)
    token = holder("LOCK", "held")
    expect_between(token, 1, 2 ** 53)
    half.send_raw(b"*2\r\n$4\r\nLOCK\r\n$5\r\nha")
    piped.send_raw(b"LOCK held\r\nPING behind\r\n*1\r\n$4\r\nPI")
    daemon.queued("held", 1)
    expect(push("LOCK", "held", "ASYNC", "later"), "QUEUED")
    daemon.queued("held", 2)
    sender = threading.Thread(target=slow.send_raw, args=(b"ECHO %s\r\n" % (b"x" * 1000) * MANY,), daemon=True)
    sender.start()
    harness.until("answers stand in line", lambda: int(daemon.info()["net_output_bytes"]) > 1 << 16)
    hand_over(daemon)
    half.send_raw(b"lf1\r\n")
    expect_between(half.reply(), 1, 2 ** 53)
    expect(push.silent(0.0), True)
    expect(holder("UNLOCK", "held"), 0)
    expect_between(piped.reply(), token + 1, 2 ** 53)
    expect(piped.reply(), "behind")
    piped.send_raw(b"NG\r\n")
    expect(piped.reply(), "PONG")
    expect(piped("UNLOCK", "held"), 0)
    expect(push.push()[:2], ["grant", "later"])
    for _ in range(MANY):
        expect(slow.reply(), "x" * 1000)
    sender.join(harness.PATIENCE)


def test_bytes_by_exec(place):
    """by exec no byte is lost, doubled or out of order, whether it was read, served or answered"""
    in_order(place.daemon(master=place.redis(), tcp=True).admitted(), exec_in_place)


def managed(place, **options):
    daemon = place.idle_daemon(master=place.redis(), **options)
    manager = Manager(daemon)
    manager.start()
    daemon.admitted()
    return daemon, manager


def test_bytes_by_service_manager(place):
    """the same by a service manager"""
    daemon, manager = managed(place, tcp=True)
    in_order(daemon, lambda _daemon: manager.restart())


class Mute:
    """A port that accepts connections and never answers."""

    def __init__(self, place):
        self.socket = socket.create_server(("127.0.0.1", 0))
        place.sockets.append(self.socket)
        self.port = self.socket.getsockname()[1]


def unfound(place):
    """Ways to name masters none of which is found: by its url, by sentinels and as nodes of a cluster, that refuse a connection or never answer."""
    for what, port in (("refused", harness.free_port()), ("mute", Mute(place).port)):
        yield what + "-url", "  - redis://127.0.0.1:%d\n" % port
        yield what + "-sentinel", "  - sentinel: { name: m, sentinels: [ '127.0.0.1:%d' ] }\n" % port
        yield what + "-cluster", "  - cluster: { name: c, nodes: [ '127.0.0.1:%d' ] }\n" % port


def accepted(daemon):
    """A connection; None: it does not listen yet."""
    with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
        return daemon.client()


def test_masters_that_were_never_found(place):
    """a daemon that has found no master yet is handed over, at once and again, and its clients' connections go on"""
    for name, masters in unfound(place):
        daemon = place.idle_daemon(name, config="masters:\n" + masters)
        daemon.spawn()  # it is READY when it has looked for its masters, which is too late here
        client = harness.until("it listens", lambda: accepted(daemon))
        pid = daemon.info()["process_id"]
        client.send_raw(b"LOCK a WAIT 60000\r\n")
        for _ in range(3):
            exec_in_place(daemon)
        expect(client.silent(0.0), True, name)
        expect_code(daemon.client()("LOCK", "b", "WAIT", 0), "NOMASTER")
        client.close()
        expect(daemon.info()["process_id"], pid, name)
        daemon.done()


def test_master_that_is_slow_meanwhile(place):
    """a LOCK with WAIT 0 is granted after a hand-over although the master has answered nobody for 0.6 s of it"""
    redis = place.redis()
    daemon = place.daemon(master=redis).admitted()
    admin, client = daemon.client(), daemon.client()
    mark = daemon.output.mark()
    redis.process.stop()
    admin.send("RESTART")
    daemon.output.wait("daemon.started", mark)
    client.send("LOCK", "a", "WAIT", 0)
    expect(client.silent(0.6), True)
    redis.process.cont()
    expect_between(client.reply(), 1, 2 ** 53)
    expect(len(admin.reply()), 10)


def test_masters_that_refuse_meanwhile(place):
    """if each master refuses its daemon, that serves clients at once after a hand-over: it waits for none that has answered"""
    redis = place.redis()
    daemon = place.daemon(master=redis).admitted()
    with daemon.client() as client:
        redis.kill()
        expect(len(client("RESTART")), 10)
        expect_code(client("LOCK", "a", "WAIT", 0), "NOMASTER")
    silent_ms = errands.silent_ms(daemon)
    expect_between(silent_ms, 0, 1999)
    harness.took(silent_ms / 1000, 0.4, "of silence")


def test_status(place):
    """after a hand-over the service manager is told READY when clients are served, and never that locks cannot be had"""
    daemon, manager = managed(place)
    for restart in (manager.restart, lambda: daemon.client()("RESTART")):
        mark = len(manager.told)
        restart()
        manager.await_told("STATUS=serving", mark)
        told = [line for line in manager.told[mark:] if line.startswith("STATUS=") and "handing over" not in line]
        expect(told, ["STATUS=serving"])


def test_bound_process_ends_meanwhile(place):
    """a process that ends while the daemon is handed over ends its session, whichever daemon learns of it"""
    daemon = place.daemon(master=place.redis()).admitted()
    for number in range(10):
        name = "bound%d" % number
        process = subprocess.Popen(["sleep", "1000"])
        pidfd = os.pidfd_open(process.pid)
        with resp.Client(daemon.socket) as holder:
            resp.socket.send_fds(holder.socket, [b"SESSION BIND\r\n"], [pidfd])
            expect(holder.reply(), 0)
            expect_between(holder("LOCK", name), 1, 2 ** 53)
        os.close(pidfd)
        done = int(daemon.info()["handovers"])
        if number % 2:
            process.kill()
            daemon.process.signal(signal.SIGUSR2)
        else:
            daemon.process.signal(signal.SIGUSR2)
            process.kill()
        process.wait()
        handed_over(daemon, done + 1)
        expect_between(daemon.client()("LOCK", name, "WAIT", 45000), 1, 2 ** 53)


def test_state_is_used_once(place):
    """a state that a process has taken is refused when the service manager passes it again"""
    daemon, manager = managed(place)
    holder = daemon.client()
    expect_between(holder("LOCK", "a"), 1, 2 ** 53)
    expect(daemon.terminate(), 0)
    with manager.lock:
        again = [(name, fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, HIGH)) for name, fd in manager.kept]
    expect("holdfast-state" in [name for name, _ in again], True)
    manager.start()
    expect_between(holder("CHECK", "a"), 1, harness.LEASE_MS)
    manager.kill()
    with manager.lock:
        expect(manager.kept, [])
        manager.kept = again
    manager.start()
    daemon.output.wait("handover.refused why=\"it was taken before\"")
    expect(holder.closed(), True)
    expect(daemon.info()["handovers"], "0")
    expect(manager.kept, [])


def test_private_master_dies_meanwhile(place):
    """a private redis-server that dies during the hand-over is started again, and its memory is not trusted"""
    daemon = place.daemon(config=harness.BRISK + "restart-guard: auto\n").admitted()
    holder = daemon.client()
    token = holder("LOCK", "a")
    server = int(daemon.output.wait(r"embedded\.started .*\bpid=(\d+)")[1].group(1))
    os.kill(server, signal.SIGKILL)
    daemon.process.signal(signal.SIGUSR2)
    handed_over(daemon)
    daemon.output.wait(r"embedded\.restarted")
    daemon.output.wait(r"master\.guarded")
    daemon.admitted()
    try:
        expect_between(holder("CHECK", "a"), 1, 2000)
    except resp.Closed:  # the lease has run out before the new server was there
        expect_between(daemon.client()("LOCK", "a", "WAIT", 45000), token + 1, 2 ** 53)


if __name__ == "__main__":
    harness.main(globals())
