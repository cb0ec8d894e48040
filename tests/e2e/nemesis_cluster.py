"""The nemesis' stage with a Redis Cluster: three masters that share the slots, each with a replica, and what is done to
the one that has the slot of holdfast's keys.

Each node is behind two proxies (nemesis_wire.py) whose ports it announces: one for its clients and replicas, one for the
bus of the cluster. So everybody comes that way, and the network can be cut between any of the daemons and nodes.
"""

import os

import clockshim
import harness
import nemesis_wire
import resp
from cluster import Cluster, Node
from history import now_ns
from nemesis_faults import LEASE, MARGIN, fault
from nemesis_stage import DAEMONS, OPTIONS, Failover, Master
from nemesis_wire import BOTH, DOWN, UP
from scene import pause

# Parties: the daemons, the nodes, and everybody else.
FIRST_NODE = DAEMONS
NODES = 6
PARTIES = FIRST_NODE + NODES + 1
# After so long without an answer a node is taken for failed, and a master that is alone refuses.
TIMEOUT_MS = 2000
# A vote that fails is asked for again after twice the time-out, at least two seconds.
FAILOVER_SECONDS = 10


class Server(Master):
    """One of the nodes, of which one has the slot."""

    def __init__(self, place, number):
        self.name = "n%d" % number
        self.party = FIRST_NODE + number
        self.clock = clockshim.Clock(place, self.name)
        ports = (harness.free_port(), harness.free_port())
        folders = {os.path.join(place.path, "n%d" % at): FIRST_NODE + at for at in range(NODES)}
        self.wires = [nemesis_wire.Wire(("127.0.0.1", port), PARTIES, one_port=True, folders=folders) for port in ports]
        for wire in self.wires:
            place.ends.append(wire.close)
        self.wire = self.wires[0]
        self.control = None
        self.harmed = None
        self.node = Node(place, self.name, OPTIONS + ["--cluster-allow-replica-migration", "no"], ports, self.wires,
                         self.clock.environment)
        self.redis = self.node.redis

    def heal(self):
        for wire in self.wires:
            wire.heal(range(PARTIES))

    def well(self):
        """Whether the cluster is whole, as this node sees it, and it is a master or has all that its master has."""
        state, role = self.node.state(), self("ROLE")
        return (state["cluster_state"] == "ok" and state["cluster_slots_fail"] == state["cluster_slots_pfail"] == "0" and
                "fail" not in self("CLUSTER", "NODES") and (role[0] == "master" or role[3] == "connected"))


class Clustered(Failover):
    """Everything that runs."""

    namespace = "{holdfast}"
    databases = False

    def start_servers(self):
        servers = []

        def make(number):
            servers.append(Server(self.place, number))
            return servers[-1].node

        self.cluster = Cluster(self.place, timeout_ms=TIMEOUT_MS, make=make)
        self.servers = servers
        self.now = servers[0]  # has the slot, as last agreed on
        self.await_owner()
        return servers

    def describe(self):
        return "a cluster"

    def masters_config(self, number):
        return [], self.cluster.config(more="    user: hf\n")

    def restore(self):
        super().restore()
        self.await_owner()

    def named(self, ask):
        """The server that has the slot, as this one says; None: it does not know."""
        owner = self.cluster.owner(ask)
        return next((one for one in self.servers if one.node is owner), None)

    def settled(self):
        """The owner, when all name it and its replica has all that it has; else None."""
        owners = {self.named(one) for one in self.servers}
        if len(owners) > 1 or None in owners or not all(one.well() for one in self.servers):
            return None
        owner = owners.pop()
        if owner("ROLE")[0] != "master":
            return None
        # One that was just synchronised does not acknowledge promptly at first.
        owner("SET", "{holdfast}:begun", "1")
        acknowledged = owner("WAIT", 1, 100) == 1
        owner("DEL", "{holdfast}:begun")
        return owner if acknowledged else None

    def await_owner(self):
        """Until all nodes agree who has the slot, and nothing else is under way. Nodes see to it by themselves."""
        try:
            self.now = harness.until("all nodes agree who has the slot", self.settled)
        except AssertionError as error:
            raise AssertionError("%s: %s" % (error, "; ".join(
                "%s: %r %r\n%s" % (one.name, one.node.state(), one("ROLE"), one("CLUSTER", "NODES"))
                for one in self.servers))) from error

    def admitted(self, daemon):
        try:
            info = daemon.info()
        except (OSError, resp.Closed, resp.Late):
            return 0
        return int(info.get("master0_state") == "admitted" and info.get("master0_address") == self.now.node.place)

    def cut(self, side, directions=BOTH, mode="drop"):
        """Between these parties and all others, and nothing else."""
        for end in self.servers:
            across = {party for party in range(PARTIES - 1) if (party in side) != (end.party in side)}
            for wire in end.wires:
                wire.set(across, directions, mode=mode)
                wire.heal(set(range(PARTIES)) - across)

    def replica(self, master):
        """Of this master; None: it has none now."""
        return next((one for one in self.servers if "myself,slave %s" % master.node.id in one("CLUSTER", "NODES")), None)

    def others(self):
        """Masters of other slots."""
        return [one for one in self.servers if one is not self.now and one("ROLE")[0] == "master"]


# --- faults of its own ----------------------------------------------------------------------------------------------
# A failover, and a move of the slot, takes the memory of what only the old owner knew, and is guarded as if it had
# taken all.

def clustered(stage):
    return isinstance(stage, Clustered)


def takes_over(heir, seconds=FAILOVER_SECONDS):
    """Until this replica is a master, if that comes to pass."""
    until = now_ns() + int(seconds * 1e9)
    while now_ns() < until and heir("ROLE")[0] != "master":
        pause(0.05)


def migrates(replica, master, seconds=2):
    """It is this one's replica from now on, as soon as it knows that one as a master; whether that came to pass."""
    until = now_ns() + int(seconds * 1e9)
    while replica("CLUSTER", "REPLICATE", master.node.id) != "OK":
        if now_ns() > until:
            return False
        pause(0.02)
    return True


@fault("master", costs="memory", only=clustered)
def takeover_asked(stage, chance, masters):
    heir = stage.replica(masters[0])
    heir("CLUSTER", "FAILOVER", *chance.choice(((), (), ("FORCE",), ("TAKEOVER",))))
    # A busy node gives it up after five seconds.
    takes_over(heir, 6)
    pause(chance.random())


@fault("master", costs="memory", only=clustered)
def owner_killed(stage, chance, masters):
    """For good, until its replica has taken over."""
    masters[0].forget_dump()
    masters[0].hang_up()
    heir = stage.replica(masters[0])
    masters[0].redis.kill()
    takes_over(heir)
    pause(chance.random() * 2)
    masters[0].redis.restart()
    pause(chance.random() * 2)


@fault("master", costs="memory", only=clustered)
def owner_stopped(stage, chance, masters):
    """It goes on, as if nothing had been, when its replica has taken over."""
    heir = stage.replica(masters[0])
    masters[0].redis.process.stop()
    takes_over(heir)
    pause(chance.choice((0.0, 0.0, 1.5)) * chance.random())
    masters[0].redis.process.cont()
    pause(chance.random() * 2)


@fault("master", costs="memory", only=clustered)
def owner_cut(stage, chance, masters):
    """The owner and some of the daemons are cut off from all others; its replica sometimes is, too, and comes back first."""
    heir = stage.replica(masters[0])
    side = {masters[0].party, *chance.sample(range(DAEMONS), chance.choice((0, 1, 1, 2)))}
    stays = chance.random() < 0.3
    stage.cut(side | ({heir.party} if stays else set()), chance.choice((BOTH, BOTH, BOTH, (UP,), (DOWN,))),
              chance.choice(("drop", "drop", "hold")))
    if stays:
        pause((LEASE + MARGIN) * (0.5 + chance.random()))
        stage.cut(side)
    takes_over(heir)
    pause((LEASE + MARGIN) * chance.choice((0.1, 1.5, 3)) * (0.5 + chance.random()))


@fault("master", costs="memory", only=clustered)
def takeover_forced(stage, chance, masters):
    """
    The owner and some of the daemons are cut off, and its replica takes over before anybody has noticed. A replica of
    another master comes to the one or to the other, or to both in turn, and goes back in the end.
    """
    heir, other = stage.replica(masters[0]), chance.choice(stage.others())
    migrant = stage.replica(other)
    side = {masters[0].party, *chance.sample(range(DAEMONS), chance.choice((1, 1, 2)))}
    if chance.random() < 0.4:
        # It may belong to the group before the cut.
        migrates(migrant, masters[0])
        pause(LEASE * 2 * chance.random())
    to = chance.choice((heir, heir, masters[0]))
    stage.cut(side | ({migrant.party} if to is masters[0] else set()))
    heir("CLUSTER", "FAILOVER", chance.choice(("FORCE", "TAKEOVER", "TAKEOVER")))
    takes_over(heir, 3)
    pause(LEASE * chance.choice((0.0, 0.5)) * chance.random())
    migrates(migrant, to)
    pause((LEASE + MARGIN) * chance.choice((0.5, 1.5, 3)) * (1 + chance.random()))
    if chance.random() < 0.5:
        stage.cut(set())
        pause((LEASE + MARGIN) * chance.choice((0.5, 2)) * (1 + chance.random()))
    stage.cut(set())
    harness.until("%s is a replica of %s again" % (migrant.name, other.name), lambda: migrates(migrant, other))


@fault("master", costs="memory", only=clustered)
def slot_moved(stage, chance, masters):
    """To a master of other slots, key by key."""
    source, target = masters[0].node, chance.choice(stage.others()).node
    # The masters of now, which are told at the end.
    stage.cluster.masters = [one.node for one in [masters[0], *stage.others()]]
    stage.cluster.begin_move(source, target)
    pause(chance.choice((0.0, 0.3)) * chance.random())
    keys = source("CLUSTER", "GETKEYSINSLOT", stage.cluster.slot, chance.randint(1, 100))
    if keys:
        stage.cluster.move_keys(source, target, keys)
        pause(chance.choice((0.0, 0.3, 1.5)) * chance.random())
    stage.cluster.end_move(source, target)


@fault("master", only=clustered)
def replica_lost(stage, chance, masters):
    """Killed, stopped, or without word of the owner."""
    one = stage.replica(masters[0])
    how = chance.choice(("kill", "stop", "cut"))
    if how == "kill":
        one.forget_dump()
        one.hang_up()
        one.redis.kill()
    elif how == "stop":
        one.redis.process.stop()
    else:
        masters[0].wire.set([one.party], chance.choice(((UP,), (DOWN,), BOTH)), mode=chance.choice(("drop", "hold")))
    pause(chance.choice((0.3, 1.0, 3.0)) * (0.5 + chance.random()))


@fault("master", only=clustered)
def others_lost(stage, chance, _masters):
    """A master of other slots is killed or stopped: until its replica has taken over, the cluster refuses."""
    one = chance.choice(stage.others())
    heir = stage.replica(one)
    if chance.random() < 0.5:
        one.forget_dump()
        one.hang_up()
        one.redis.kill()
    else:
        one.redis.process.stop()
    takes_over(heir)
    pause(chance.random())
