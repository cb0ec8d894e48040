"""The nemesis' stage with Redis Sentinel: a master with two replicas, which three sentinels fail over, and what is done
to them. Two more servers are given to a master for a while.

Each server and each sentinel is behind a proxy (nemesis_wire.py) whose port it announces, so that everybody comes that
way, and which knows who does: the network can be cut between any of the daemons, servers and sentinels.
"""

import contextlib
import math
import os
import shutil
import signal

import clockshim
import harness
import nemesis_wire
import resp
from history import now_ns
from nemesis_faults import LEASE, MARGIN, fault
from nemesis_stage import DAEMONS, OPTIONS, Failover, Master
from nemesis_wire import BOTH, DOWN, UP
from scene import pause

SERVERS = 3
SENTINELS = 3
SPARES = 2
# Parties: the daemons, the servers, the sentinels, and everybody else.
FIRST_SERVER = DAEMONS
FIRST_SENTINEL = FIRST_SERVER + SERVERS
PARTIES = FIRST_SENTINEL + SENTINELS + 1
NAME = "mymaster"
# The first sentinel notices first, and alone: those that begin at the same time compete for a while.
DOWN_MS = (1000, 3000, 5000)
# What else sentinels do, such as telling a replica of the new master, takes as long; so does the end of a failover.
FAILOVER_TIMEOUT = 3.0


def replica_of(port):
    return ["--replicaof", "127.0.0.1 %d" % port] if port else []


def folders(place):
    """Where servers and sentinels run."""
    return {os.path.join(place.path, "%s%d" % (name, number)): first + number for name, first, count in (
        ("r", FIRST_SERVER, SERVERS), ("s", FIRST_SENTINEL, SENTINELS)) for number in range(count)}


class Server(Master):
    """One of the servers, of which one is the master."""

    def __init__(self, place, number, master_port):
        self.name = "r%d" % number
        self.party = FIRST_SERVER + number
        self.clock = clockshim.Clock(place, self.name)
        self.wire = nemesis_wire.Wire(os.path.join(place.path, self.name, "socket"), PARTIES, one_port=True, folders=folders(place))
        place.ends.append(self.wire.close)
        self.port = self.wire.ports[0]
        self.options = OPTIONS + [
            "--repl-diskless-sync-delay", "0", "--repl-timeout", "5", "--repl-ping-replica-period", "1",
            "--replica-announce-ip", "127.0.0.1", "--replica-announce-port", str(self.port)]
        self.redis = place.redis(self.name, environment=self.clock.environment, options=self.options + replica_of(master_port))
        self.control = None
        self.harmed = None

    def heal(self):
        self.wire.heal(range(PARTIES))

    def remember(self, master_port):
        """What it is when it starts again, as its configuration would say, which Sentinel rewrites."""
        self.redis.options = self.options + replica_of(None if master_port == self.port else master_port)

    def follows(self, port):
        """Whether it is a replica of the server there, and has all that it had."""
        role = self("ROLE")
        return role[0] == "slave" and role[2] == port and role[3] == "connected"


class Spare:
    """A replica that is given to a master for a while. It never becomes one, and no cut is between it and anybody."""

    def __init__(self, place, number):
        self.port = harness.free_port()
        self.name = "127.0.0.1:%d" % self.port
        self.options = OPTIONS + [
            "--port", str(self.port), "--bind", "127.0.0.1", "--replica-priority", "0", "--repl-diskless-sync-delay", "0",
            "--repl-timeout", "5", "--replica-announce-ip", "127.0.0.1", "--replica-announce-port", str(self.port)]
        self.redis = place.redis("p%d" % number, options=self.options)
        self.redis.kill()

    def give(self, server):
        self.redis.options = self.options + replica_of(server.port)
        self.redis.restart()

    def take(self):
        if self.redis.process.alive():
            self.redis.kill()


class Sentinel:
    def __init__(self, place, number, master_port):
        self.name = "s%d" % number
        self.party = FIRST_SENTINEL + number
        self.target = ("127.0.0.1", harness.free_port())
        self.wire = nemesis_wire.Wire(self.target, PARTIES, one_port=True, folders=folders(place))
        place.ends.append(self.wire.close)
        self.port = self.wire.ports[0]
        self.place = place
        folder = os.path.join(place.path, self.name)
        os.mkdir(folder)
        self.file = os.path.join(folder, "sentinel.conf")
        with open(self.file, "w", encoding="ascii") as stream:
            stream.write("port %d\nbind 127.0.0.1\nprotected-mode no\ndir %s\n" % (self.target[1], folder))
            stream.write("sentinel announce-ip 127.0.0.1\nsentinel announce-port %d\n" % self.port)
            stream.write("sentinel monitor %s 127.0.0.1 %d %d\n" % (NAME, master_port, 1 if number == 0 else 2))
            stream.write("sentinel down-after-milliseconds %s %d\n" % (NAME, DOWN_MS[number]))
            stream.write("sentinel failover-timeout %s %d\n" % (NAME, FAILOVER_TIMEOUT * 1000))
        self.start()

    def start(self):
        program = os.environ.get("HOLDFAST_REDIS") or shutil.which("redis-server") or shutil.which("valkey-server")
        self.process = self.place.run(program, self.file, "--sentinel")
        self.process.output.wait(r"\+monitor")

    def __call__(self, *words):
        with resp.Client(self.target) as client:
            return client(*words)

    def master(self):
        answer = self("SENTINEL", "MASTER", NAME)
        return dict(zip(answer[::2], answer[1::2])) if isinstance(answer, list) else {}

    def restore(self):
        if not self.process.alive():
            self.start()
        elif self.process.stopped:
            self.process.cont()
        self.wire.heal(range(PARTIES))


class Watched(Failover):
    """Everything that runs."""

    def start_servers(self):
        servers = [Server(self.place, 0, None)]
        servers += [Server(self.place, number, servers[0].port) for number in range(1, SERVERS)]
        self.now = servers[0]  # the master, as last agreed on
        self.restored = -math.inf  # when everything was last made well
        self.spares = [Spare(self.place, number) for number in range(SPARES)]
        self.sentinels = [Sentinel(self.place, number, servers[0].port) for number in range(SENTINELS)]
        self.servers = servers
        harness.until("the sentinels know of each other", lambda: all(
            one.master().get("num-slaves") == str(SERVERS - 1) and
            one.master().get("num-other-sentinels") == str(SENTINELS - 1) for one in self.sentinels))
        self.await_group()
        return servers

    def describe(self):
        return "Sentinel"

    def masters_config(self, number):
        return [], "masters:\n  - sentinel: { name: %s, sentinels: [%s], replicas-ack: yes }\n    user: hf\n" % (
            NAME, ", ".join("127.0.0.1:%d" % one.port for one in self.sentinels))

    def restore(self):
        for sentinel in self.sentinels:
            sentinel.restore()
        for spare in self.spares:
            spare.take()
        super().restore()
        self.restored = harness.boottime()
        self.await_group()
        harness.until("the spares are no members of the group", self.forget_spares)

    def members(self, daemon):
        """Of the group, as this daemon knows it, the spares."""
        try:
            info = daemon.info()
        except (OSError, resp.Closed, resp.Late):
            return []
        group = info.get("master0_group", "") + " " + info.get("master0_joining", "")
        return [spare.name for spare in self.spares if spare.name in group]

    def forget_spares(self):
        """As an operator does who has switched them off; whether every daemon knows."""
        found = [(daemon, name) for daemon in self.daemons for name in self.members(daemon)]
        for daemon, name in found:
            with contextlib.suppress(OSError, resp.Closed, resp.Late), daemon.client() as client:
                client("MASTERS", "FORGET", name)
        return not found

    def agreed(self):
        """
        The server that all sentinels name, when it is the master, and none does anything about that; else None. One that
        has not been answered since everything was made well may call the master down in a moment, and fail it over.
        """
        well_ms = (harness.boottime() - self.restored) * 1000
        told = [one.master() for one in self.sentinels]
        ports = {one.get("port") for one in told}
        if len(ports) > 1 or any(one.get("flags") != "master" for one in told):
            return None
        if any(int(one["last-ok-ping-reply"]) >= well_ms for one in told):
            return None
        server = next((one for one in self.servers if str(one.port) in ports), None)
        return server if server is not None and server("ROLE")[0] == "master" else None

    def settled(self):
        master = self.agreed()
        if master is None:
            return None
        if not all(one is master or one.follows(master.port) for one in self.servers):
            return None
        # One that was just synchronised does not acknowledge promptly at first.
        master("SET", "begun", "1")
        acknowledged = master("WAIT", SERVERS - 1, 100) == SERVERS - 1
        master("DEL", "begun")
        return master if acknowledged else None

    def await_group(self):
        """Until there is one master again, which all sentinels name and the other servers follow. Sentinels see to it, if
        only after a while; who did it for them could meet a failover of theirs."""
        try:
            self.now = harness.until("one master again, which the others follow", self.settled)
        except AssertionError as error:
            raise AssertionError("%s: %s; %s" % (
                error, "; ".join("%s at %d: %r" % (one.name, one.port, one("ROLE")) for one in self.servers),
                "; ".join("%s: %s %s" % (one.name, one.master().get("port"), one.master().get("flags"))
                          for one in self.sentinels))) from error
        for server in self.servers:
            server.remember(self.now.port)

    def admitted(self, daemon):
        try:
            info = daemon.info()
        except (OSError, resp.Closed, resp.Late):
            return 0
        return int(info.get("master0_state") == "admitted" and
                   info.get("master0_address") == "127.0.0.1:%d" % self.now.port)

    def cut(self, side, directions=BOTH, mode="drop"):
        """Between these parties and all others, and nothing else."""
        for end in self.servers + self.sentinels:
            across = {party for party in range(PARTIES - 1) if (party in side) != (end.party in side)}
            end.wire.set(across, directions, mode=mode)
            end.wire.heal(set(range(PARTIES)) - across)

    def replicas(self):
        return [server for server in self.servers if server is not self.now]

    def await_failover(self, seconds):
        """Until a sentinel names another master, if that comes to pass."""
        until = now_ns() + int(seconds * 1e9)
        while now_ns() < until:
            ports = {one.master().get("port") for one in self.sentinels if not one.process.stopped and one.process.alive()}
            if ports - {str(self.now.port), None}:
                return
            pause(0.05)

    def heir(self):
        """The server that a sentinel names in place of the master; None: none does."""
        ports = {one.master().get("port") for one in self.sentinels if not one.process.stopped and one.process.alive()}
        return next((one for one in self.replicas() if str(one.port) in ports), None)

    def await_joined(self, seconds):
        """Until the spares are members of the group, if that comes to pass."""
        until = now_ns() + int(seconds * 1e9)
        while now_ns() < until and not any(len(self.members(daemon)) == SPARES for daemon in self.daemons):
            pause(0.05)

    def await_following(self, replica, seconds):
        """Until it follows another master than before, if that comes to pass."""
        until = now_ns() + int(seconds * 1e9)
        while now_ns() < until and replica("ROLE")[2] == self.now.port:
            pause(0.01)


# --- faults of its own ----------------------------------------------------------------------------------------------
# A failover takes the memory of what only the old master knew, and is guarded as if it had taken all.

def watched(stage):
    return isinstance(stage, Watched)


@fault("master", costs="memory", only=watched)
def failover_asked(stage, chance, _masters):
    chance.choice(stage.sentinels)("SENTINEL", "FAILOVER", NAME)
    stage.await_failover(5)
    pause(chance.random())


@fault("master", costs="memory", only=watched)
def master_killed(stage, chance, masters):
    """For good, until another one is the master."""
    masters[0].forget_dump()
    if chance.random() < 0.5:
        masters[0]("SAVE")
        pause(chance.random())
    masters[0].hang_up()
    masters[0].redis.kill()
    stage.await_failover(8)
    pause(chance.random() * 2)
    masters[0].redis.restart()
    # As it was: a master for itself, or the replica of one that is none any more, until the sentinels come to it.
    pause(chance.random() * 2)


@fault("master", costs="memory", only=watched)
def master_stopped(stage, chance, masters):
    """It goes on, as if nothing had been, when another one is the master."""
    masters[0].redis.process.stop()
    stage.await_failover(8)
    pause(chance.choice((0.0, 0.0, 1.5)) * chance.random())
    masters[0].redis.process.cont()
    pause(chance.random() * 2)


@fault("master", costs="memory", only=watched)
def master_cut(stage, chance, masters):
    """
    The master, some of the daemons and perhaps a replica are cut off from the sentinels and all others. Sometimes that
    replica comes back first: the new master may have been without any until then, and the old one goes on without it.
    """
    daemons = chance.sample(range(DAEMONS), chance.choice((0, 1, 1, 2)))
    side = {masters[0].party, *daemons}
    stays = chance.sample(stage.replicas(), chance.choice((0, 1, 1)))
    stage.cut(side | {one.party for one in stays}, chance.choice((BOTH, BOTH, BOTH, (UP,), (DOWN,))),
              chance.choice(("drop", "drop", "hold")))
    stage.await_failover(8)
    pause((LEASE + MARGIN) * chance.choice((0.1, 1.5, 3)) * (0.5 + chance.random()))
    if stays and chance.random() < 0.7:
        stage.cut(side)
        stage.await_following(stays[0], 4 * FAILOVER_TIMEOUT)
        pause(LEASE * chance.random() * 2)


@fault("master", costs="memory", only=watched)
def replicas_added(stage, chance, masters):
    """
    As above, and one of the two masters is given new replicas: no majority of the group before, however many they are. In
    the end they are lost, in some runs after the cut, when they belong to the group.
    """
    side = {masters[0].party, *chance.sample(range(DAEMONS), chance.choice((1, 1, 2)))}
    side |= {one.party for one in chance.sample(stage.replicas(), chance.choice((0, 1, 1, 1)))}
    stage.cut(side)
    stage.await_failover(8)
    heir = stage.heir()
    given = masters[0] if heir is None else chance.choice((heir, heir, masters[0]))
    for spare in stage.spares:
        spare.give(given)
    pause((LEASE + MARGIN) * chance.choice((1.5, 3)) * (1 + chance.random()))
    if chance.random() < 0.5:
        stage.cut(set())
        stage.await_joined(2 * FAILOVER_TIMEOUT)
        pause(LEASE * chance.random())
    for spare in stage.spares:
        spare.take()
    pause(chance.random())


@fault("master", costs="memory", only=watched)
def heir_lags(stage, chance, masters):
    """A replica hears nothing for a while; then the master is killed, and that one may become the next."""
    heir = chance.choice(stage.replicas())
    masters[0].wire.set([heir.party], [DOWN], mode="hold")
    pause(0.2 + chance.random() * 0.6)
    masters[0].forget_dump()
    masters[0].hang_up()
    masters[0].redis.kill()
    stage.await_failover(8)
    pause(chance.random() * 2)


@fault("master", only=watched)
def replicas_cut(stage, chance, masters):
    """One replica, or both, hear nothing of the master."""
    for one in chance.sample(stage.replicas(), chance.choice((1, 2))):
        masters[0].wire.set([one.party], chance.choice(((UP,), (DOWN,), BOTH)), mode=chance.choice(("drop", "hold")))
    pause(chance.choice((0.3, 1.0, 3.0)) * (0.5 + chance.random()))


@fault("master", only=watched)
def replicas_stopped(stage, chance, _masters):
    stopped = chance.sample(stage.replicas(), chance.choice((1, 2)))
    for one in stopped:
        one.redis.process.stop()
    pause(chance.choice((0.3, 1.0, 3.0)) * (0.5 + chance.random()))
    for one in stopped:
        one.redis.process.cont()


@fault("master", only=watched)
def replica_killed(stage, chance, _masters):
    one = chance.choice(stage.replicas())
    one.forget_dump()
    one.hang_up()
    one.redis.kill()
    pause(chance.random())
    one.redis.restart()


@fault("sentinel", only=watched)
def sentinels_lost(stage, chance, _):
    """Killed or stopped, a minority or all."""
    lost = chance.sample(stage.sentinels, chance.choice((1, 1, 2, 3)))
    for one in lost:
        if chance.random() < 0.5:
            one.process.stop()
        else:
            one.process.signal(signal.SIGKILL)
            one.process.wait()
    pause(0.5 + chance.random() * 2)


@fault("sentinel", only=watched)
def sentinels_cut(stage, chance, _):
    """Daemons hear nothing of them."""
    for one in stage.sentinels:
        one.wire.set(chance.sample(range(DAEMONS), chance.randint(1, DAEMONS)), BOTH, mode=chance.choice(("drop", "hold")))
    pause(0.5 + chance.random() * 3)
