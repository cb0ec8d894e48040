"""The packages of client/ beside the Redis lock library of the same language: one caller that takes one lock after the other, over TCP
on loopback, at a daemon and at its Redis.

Both programs of a language are warm, and measured in turns. CPU is that of the program alone: what the machine does besides changes
how many locks it gets in a second, and this much less.
"""

import os

import harness
from conformance import PACKAGES, Player
from genuine import Library, interop
from stage import column, ratios
from table import Goal

PEERS = {"python": "redis-py", "go": "redsync", "node": "node-redlock", "java": "redisson"}
NAMES = {"new": "new names", "same": "one name"}
WARM_MS = 3000  # a JVM gets warm


class Ours:
    def __init__(self, stage, who, daemon):
        command = PACKAGES[who]()
        if not command:
            raise harness.Skip("the language is not here")
        flags = [word for word in command if not word.startswith("-XX:")]  # those let a JVM begin sooner and then be slower
        self.player = Player(stage.place, who, flags, "127.0.0.1:%d" % daemon.tcp[1])
        self.player.output.wait("^- ready")
        self.process = self.player.process

    def spin(self, ms, names):
        self.player.tell("1", "spin", ms, names)
        return int(self.player.said("1", "spin", ms / 1000 + harness.PATIENCE))


class Peer(Library):
    def __init__(self, stage, who):
        super().__init__(stage, interop().RIVALS[PEERS[who]][0](), stage.redis.port)

    def spin(self, ms, names):
        self.process.process.stdin.write(b"spin %d %s\n" % (ms, names.encode()))
        self.process.process.stdin.flush()
        match, self.seen = self.told(r"spun (\d+)", self.seen)
        return int(match.group(1))


def used(process):
    """Seconds of CPU of all its threads, also of those that have ended, which other figures of a process leave out."""
    with open("/proc/%d/stat" % process.pid, encoding="utf-8") as stream:
        user, system = stream.read().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def spin(program, seconds, names):
    before = used(program.process)
    done = program.spin(int(1000 * seconds), names)
    return {"per_second": done / seconds, "used_us": (used(program.process) - before) * 1e6 / done}


def compare(stage, who, ours, peer):
    for names, words in NAMES.items():
        for program in (ours, peer):
            program.spin(WARM_MS, names)
        runs = stage.in_turns(ours=lambda seconds, n=names: spin(ours, seconds, n), peer=lambda seconds, n=names: spin(peer, seconds, n))
        add, one, other = stage.table.add, runs["ours"], runs["peer"]
        stage.table.title("the package for %s beside %s, one caller, %s" % (who, PEERS[who], words))
        add("locks, holdfast", "/s", column(one, "per_second"))
        add("locks, " + PEERS[who], "/s", column(other, "per_second"))
        add("holdfast : %s" % PEERS[who], "x", ratios(one, other, "per_second"),
            Goal("the package for %s: locks of %s, beside %s" % (who, words, PEERS[who]), least=1.0))
        add("CPU of a lock, holdfast", "us", column(one, "used_us"))
        add("CPU of a lock, " + PEERS[who], "us", column(other, "used_us"))


def measure(stage):
    daemon = stage.daemon("packages")
    for who in PACKAGES:
        if who not in PEERS:
            stage.table.title("the package for " + who)
            stage.table.note("skipped: no library is measured beside it")
            continue
        try:
            ours, peer = Ours(stage, who, daemon), Peer(stage, who)
        except harness.Skip as why:
            stage.table.title("the package for " + who)
            stage.table.note("skipped: %s" % why)
            continue
        compare(stage, who, ours, peer)
        ours.process.kill()
        peer.process.kill()
