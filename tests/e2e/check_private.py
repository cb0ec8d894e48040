#!/usr/bin/env python3
"""The private master of a daemon that was given none: when it may be trusted empty, and when its daemon has to give up.

Clients of an earlier daemon at the same address may rely on their locks still, whatever became of its directory.
"""

import os
import re
import shutil
import socket
import subprocess
import sys

import harness
import resp
from harness import boottime, expect, expect_between, expect_not_before

TIMES = "lease: 2s\nclock-margin: 200ms\nrestart-guard: auto\n"
UNAVAILABLE = 69


def listening(place, daemon, text):
    """Its listeners, and a state directory that is new."""
    daemon.listen = "listen:\n" + text
    daemon.configure(TIMES)
    return daemon


def begin(daemon):
    """How it takes the memory of its master, and why."""
    daemon.start()
    match = daemon.output.wait(r"embedded\.started .*\bmemory=(\w+)(?: why=(\"[^\"]*\"|\S+))?")[1]
    return match.group(1), (match.group(2) or "").strip('"')


def lose_state(daemon):
    """It is killed, and its host's disk is another one afterwards, as that of a container that is started again."""
    daemon.kill()
    shutil.rmtree(os.path.join(daemon.folder, "redis"))


def announced_deadline(client, name):
    asked = boottime()
    return asked + client("CHECK", name) / 1000


def waits_out(place, daemon, address, name, deadline):
    with resp.Client(address) as client:
        expect_between(client("LOCK", name, "WAIT", 45000), 1, 2 ** 53)
        expect_not_before(boottime(), deadline, "the lock of a client of the daemon before", harness.WHOLE_MS)


def test_new_host_is_trusted(place):
    """where nobody can have known an earlier daemon the first lock is there at once"""
    daemon = place.idle_daemon()
    daemon.socket = os.path.join(daemon.folder, "new", "s")
    listening(place, daemon, "  - unix: %s\n" % daemon.socket)
    expect(begin(daemon), ("trusted", ""))
    with resp.Client(daemon.socket) as client:
        expect_between(client("LOCK", "a", "WAIT", 0), 1, 2 ** 53)


def test_tcp_is_guarded(place):
    """a client that came by TCP keeps its lock until its announced deadline when the daemon has a new disk"""
    daemon = place.idle_daemon(tcp=True)
    daemon.socket = os.path.join(daemon.folder, "new", "s")
    listening(place, daemon, "  - unix: %s\n  - tcp: 127.0.0.1:%d\n" % (daemon.socket, daemon.port))
    expect(begin(daemon), ("guarded", "clients may have come by TCP"))
    daemon.admitted()
    client = daemon.client(tcp=True)
    client("LOCK", "deploy")
    deadline = announced_deadline(client, "deploy")
    lose_state(daemon)
    shutil.rmtree(os.path.dirname(daemon.socket))
    expect(begin(daemon)[0], "guarded")
    waits_out(place, daemon, daemon.tcp, "deploy", deadline)


def test_shared_mount_is_guarded(place):
    """so does one whose socket lies in a directory that was there before"""
    daemon = listening(place, place.idle_daemon(), "  - unix: %s\n" % os.path.join(place.path, "d1", "s"))
    expect(begin(daemon), ("guarded", "the directory of the socket was there before"))
    client = daemon.admitted().client()
    client("LOCK", "deploy")
    deadline = announced_deadline(client, "deploy")
    lose_state(daemon)
    expect(begin(daemon)[0], "guarded")
    waits_out(place, daemon, daemon.socket, "deploy", deadline)


def test_inherited_is_guarded(place):
    """so does one whose socket was made by the service manager"""
    daemon = place.idle_daemon()
    path = os.path.join(daemon.folder, "inherited")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    listener.listen(16)
    place.ends.append(listener.close)
    place.ends.append(lambda: os.unlink(path))
    os.set_inheritable(listener.fileno(), True)
    daemon.socket = os.path.join(daemon.folder, "new", "s")
    listening(place, daemon, "  - unix: %s\n" % daemon.socket)
    daemon.inherit = (listener.fileno(),)
    daemon.wrap = ["sh", "-c", "exec %d<&%d; LISTEN_FDS=1 LISTEN_PID=$$ exec \"$@\"" % (3, listener.fileno()), "sh"]
    expect(begin(daemon), ("guarded", "the socket is older than this process"))


def test_clean_end_is_trusted(place):
    """a recorded clean end without locks needs no guard, also with TCP"""
    daemon = place.idle_daemon(tcp=True)
    listening(place, daemon, "  - unix: %s\n  - tcp: 127.0.0.1:%d\n" % (daemon.socket, daemon.port))
    expect(begin(daemon)[0], "guarded")
    daemon.admitted()
    expect(daemon.terminate(), 0)
    expect(begin(daemon), ("trusted", ""))


def test_image(place):
    """the directory of an image, in which a daemon ended cleanly, says nothing of the daemon that was killed in its place"""
    daemon = place.idle_daemon(tcp=True)
    listening(place, daemon, "  - unix: %s\n  - tcp: 127.0.0.1:%d\n" % (daemon.socket, daemon.port))
    folder = os.path.join(daemon.folder, "redis")
    begin(daemon)
    expect(daemon.terminate(), 0)
    shutil.copytree(folder, folder + ".image")
    for renew in (lambda: (shutil.rmtree(folder), shutil.copytree(folder + ".image", folder)),
                  lambda: shutil.copyfile(os.path.join(folder + ".image", "ending"), record(daemon))):
        daemon.start().admitted()
        client = place.keep(resp.Client(daemon.tcp))
        expect_between(client("LOCK", "a"), 1, 2 ** 53)
        deadline = announced_deadline(client, "a")
        daemon.kill()
        renew()
        expect(begin(daemon)[0], "guarded")
        waits_out(place, daemon, daemon.tcp, "a", deadline)
        expect(daemon.terminate(), 0)


def record(daemon):
    """The file in which a daemon leaves to the next one how it ended."""
    return os.path.join(daemon.folder, "redis", "ending")


def guard_ms(daemon):
    return int(daemon.output.wait(r"master\.guarded .*\bguard_ms=(\d+)")[1].group(1))


def test_restart_with_a_short_lock(place):
    """a restart while a short lock is held is guarded until the deadline that its holder was told, not for a lease"""
    daemon = place.idle_daemon(tcp=True)
    listening(place, daemon, "  - unix: %s\n  - tcp: 127.0.0.1:%d\n" % (daemon.socket, daemon.port))
    begin(daemon)
    expect(daemon.admitted().terminate(), 0)
    daemon.configure("lease: 60s\nclock-margin: 1s\nrestart-guard: auto\n")
    expect(begin(daemon), ("trusted", ""))
    client = daemon.client(tcp=True)
    expect_between(client("LOCK", "deploy", "LEASE", 5000), 1, 2 ** 53)
    deadline = announced_deadline(client, "deploy")
    expect(daemon.terminate(), 0)
    expect(begin(daemon), ("guarded", "clients may rely on locks of the last daemon here"))
    expect_between(guard_ms(daemon), 0, 5000)
    waits_out(place, daemon, daemon.tcp, "deploy", deadline)


def test_killed(place):
    """one that was killed with a lock held is guarded until the end of its lease; killed without locks for a lease it is trusted, also with TCP"""
    daemon = place.idle_daemon(tcp=True)
    listening(place, daemon, "  - unix: %s\n  - tcp: 127.0.0.1:%d\n" % (daemon.socket, daemon.port))
    begin(daemon)
    client = daemon.admitted().client(tcp=True)
    client("LOCK", "deploy")
    deadline = announced_deadline(client, "deploy")
    daemon.kill()
    expect(begin(daemon), ("guarded", "clients may rely on locks of the last daemon here"))
    # Killed within the guard, it has told nobody of anything; but the one before has.
    daemon.kill()
    expect(begin(daemon), ("guarded", "clients may rely on locks of the last daemon here"))
    waits_out(place, daemon, daemon.tcp, "deploy", deadline)
    harness.until("nobody holds anything", lambda: (daemon.info()["grants"], daemon.info()["withheld"]) == ("0", "0"))
    until = int(re.search(r"until_ms=(\d+)", open(record(daemon), encoding="ascii").read()).group(1)) / 1000
    daemon.kill()
    harness.until("nobody relies on it any more", lambda: boottime() >= until)
    expect(begin(daemon), ("trusted", ""))


def test_other_boot(place):
    """locks of another boot count only where clients can have outlived it; a record that cannot be read counts as locks"""
    for port, memory in ((False, ("trusted", "")), (True, ("guarded", "clients may have come by TCP"))):
        daemon = place.idle_daemon("d%d" % port, tcp=port)
        daemon.socket = os.path.join(daemon.folder, "new", "s")
        listening(place, daemon, "  - unix: %s\n" % daemon.socket +
                  ("  - tcp: 127.0.0.1:%d\n" % daemon.port if port else ""))
        begin(daemon)
        daemon.admitted().client()("LOCK", "deploy")
        daemon.kill()
        shutil.rmtree(os.path.dirname(daemon.socket))
        with open(record(daemon), "r+", encoding="ascii") as stream:
            text = stream.read()
            stream.seek(0)
            stream.write(re.sub(r"clock=.", "clock=x", text))
        expect(begin(daemon), memory)
        daemon.kill()
        os.truncate(record(daemon), 40)
        expect(begin(daemon), ("guarded", "it is not known how the last daemon here ended"))
        daemon.kill()


def own_daemon(place, name, home):
    """A user's own daemon: all of it is in his runtime directory."""
    daemon = place.idle_daemon(name)
    runtime = os.path.join(home, "holdfast")
    daemon.socket = os.path.join(runtime, "holdfast.sock")
    daemon.embedded = "embedded: { directory: %s }\n" % os.path.join(runtime, "redis")
    return listening(place, daemon, "  - unix: %s\n" % daemon.socket)


def test_removed_directory(place):
    """a daemon whose runtime directory is removed tells its holders and ends, and its successor waits for them"""
    first, second = [own_daemon(place, name, place.path) for name in ("d1", "d2")]
    expect(begin(first)[0], "trusted")
    holder, listener = first.client(), first.client(form=3)
    holder("LOCK", "deploy")
    deadline = announced_deadline(holder, "deploy")
    shutil.rmtree(os.path.dirname(first.socket))
    first.output.wait(r"daemon\.displaced .*holdfast\.sock .*was removed")
    expect(holder.closed(), True)
    # It is there until nobody can rely on what it said: its successor sees it.
    expect(begin(second), ("guarded", "an earlier daemon of this directory still runs"))
    waits_out(place, second, second.socket, "deploy", deadline)
    expect(first.process.wait(), UNAVAILABLE, first.output.tail())
    expect(listener.closed(), True)
    master = int(first.output.wait(r"embedded\.started .*\bpid=(\d+)")[1].group(1))
    harness.until("its private master has ended", lambda: not os.path.exists("/proc/%d" % master))
    # What is there now is the successor's.
    with resp.Client(second.socket) as client:
        expect(client("PING"), "PONG")


HELD_BY_ANOTHER = """
import os, socket, sys
directory, uid, ours = sys.argv[1:]
os.setuid(int(uid)) if ours == "no" else os.seteuid(int(uid))
mark = os.memfd_create("holdfastd:" + directory)
if ours == "yes":
    os.seteuid(0)
names = [socket.socket(socket.AF_UNIX) for _ in range(8)]
for number, name in enumerate(names):
    name.bind("\\0hf0/%d%s" % (number, directory))
print("held", flush=True)
sys.stdin.read()
"""


def test_name_of_another_user(place):
    """no other user can show that an earlier daemon runs, and force a guard, whatever he holds or gives to a process of ours"""
    if os.geteuid() != 0:
        raise harness.Skip("not root, who can be another user")
    for number, ours in enumerate(("no", "yes")):
        daemon = own_daemon(place, "d%d" % number, os.path.join(place.path, "home%d" % number))
        directory = os.path.join(os.path.dirname(daemon.socket), "redis")
        os.makedirs(os.path.dirname(os.path.dirname(daemon.socket)))
        other = place.run(sys.executable, "-c", HELD_BY_ANOTHER, directory, "61999", ours, stdin=subprocess.PIPE)
        other.output.wait("^held")
        expect(begin(daemon)[0], "trusted")
        other.process.stdin.close()
        expect(other.wait(), 0)
        daemon.done()


def test_replaced_socket(place):
    """so does one in whose place another listens, and it takes nothing of the other's away"""
    first = place.daemon("d1", master=place.redis())
    client = first.admitted().client()
    client("LOCK", "deploy")
    os.rename(first.socket, first.socket + ".old")
    other = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    other.bind(first.socket + ".new")
    other.listen(1)
    place.ends.append(other.close)
    os.rename(first.socket + ".new", first.socket)
    first.output.wait(r"daemon\.displaced ")
    expect(client.closed(), True)
    expect(first.process.wait(), UNAVAILABLE, first.output.tail())
    expect(os.path.exists(first.socket), True)
    os.unlink(first.socket)
    os.unlink(first.socket + ".old")


def test_own_socket_renamed_over(place):
    """one whose second socket is renamed over its first, or whose sockets a reload moves, goes on"""
    daemon = place.idle_daemon(master=place.redis())
    spare = os.path.join(daemon.folder, "spare")
    daemon.listen += "  - unix: %s\n" % spare
    daemon.configure("")
    daemon.start()
    client = daemon.admitted().client()
    client("LOCK", "deploy")
    daemon.listen += "  - unix: %s\n" % os.path.join(daemon.folder, "third")
    daemon.configure("")
    expect("reloaded" in client("RELOAD"), True)
    os.rename(spare, daemon.socket)
    with resp.Client(daemon.socket) as other:
        expect(other("PING"), "PONG")
    with resp.Client(os.path.join(daemon.folder, "third")) as other:
        expect(other("PING"), "PONG")
    expect_between(client("CHECK", "deploy"), 1, harness.LEASE_MS)
    expect("daemon.displaced" in daemon.output.text(), False)
    client("UNLOCK", "deploy")
    expect(daemon.terminate(), 0)
    os.unlink(daemon.socket)


if __name__ == "__main__":
    harness.main(globals())
