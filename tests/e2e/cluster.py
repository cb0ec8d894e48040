"""A real Redis Cluster for tests: its nodes, who has the slot of holdfast's keys, and how that slot moves."""

import harness
import resp
from harness import BRISK, expect, until

SLOTS = 16384
# Nodes that meet each other on a busy machine forget each other after this time.
PATIENT_MS = 30000
CONFIG = BRISK + "restart-guard: auto\n"


class Node:
    """wires: the proxies before its port and before that of the bus, which others come by; None: others come directly."""

    def __init__(self, place, name, options=(), ports=None, wires=None, environment=None):
        own = ports or (harness.free_port(), harness.free_port())
        self.port, self.bus = [wire.ports[0] for wire in wires] if wires else own
        self.place = "127.0.0.1:%d" % self.port
        announced = ["--cluster-announce-ip", "127.0.0.1", "--cluster-announce-port", str(self.port),
                     "--cluster-announce-bus-port", str(self.bus)] if wires else []
        self.redis = place.redis(name, environment=environment, options=[
            "--port", str(own[0]), "--bind", "127.0.0.1", "--cluster-enabled", "yes", "--cluster-port", str(own[1]),
            "--cluster-node-timeout", str(PATIENT_MS), "--repl-diskless-sync-delay", "0", *announced, *options])
        self.id = self("CLUSTER", "MYID")

    def fail_after(self, timeout_ms):
        """Also after a restart."""
        expect(self("CONFIG", "SET", "cluster-node-timeout", timeout_ms), "OK")
        at = self.redis.options.index("--cluster-node-timeout")
        self.redis.options[at + 1] = str(timeout_ms)

    def __call__(self, *words):
        return self.redis(*words)

    def state(self):
        return dict(line.split(":", 1) for line in self("CLUSTER", "INFO").splitlines() if ":" in line)

    def keys(self):
        """All keys, also of a replica."""
        with resp.Client(self.redis.socket) as client:
            client("READONLY")
            return client("KEYS", "*")


class Cluster:
    """Masters that share the slots, each with its replicas: nodes[0] has the slot of holdfast's keys."""

    def __init__(self, place, masters=3, replicas=1, timeout_ms=PATIENT_MS, options=(), make=None):
        """make: makes the node of a number."""
        self.place = place
        make = make or (lambda n: Node(place, "n%d" % n, options))
        self.nodes = [make(n) for n in range(masters * (1 + replicas))]
        self.slot = self.nodes[0]("CLUSTER", "KEYSLOT", "{holdfast}:node")
        self.masters = self.nodes[:masters]
        each = SLOTS // masters + 1
        first = self.slot - self.slot % each
        for n, node in enumerate(self.nodes):
            expect(node("CLUSTER", "SET-CONFIG-EPOCH", n + 1), "OK")
            if n > 0:
                expect(self.nodes[0]("CLUSTER", "MEET", "127.0.0.1", node.port, node.bus), "OK")
        for n, node in enumerate(self.masters):
            low = (first + n * each) % (masters * each)
            expect(node("CLUSTER", "ADDSLOTSRANGE", low, min(low + each, SLOTS) - 1), "OK")
        self.settled()
        for n, node in enumerate(self.nodes[masters:]):
            expect(node("CLUSTER", "REPLICATE", self.masters[n % masters].id), "OK")
        for node in self.masters:
            until("the replicas are synchronised", lambda one=node: (
                one("INFO", "replication").count("state=online") == replicas))
        self.settled()
        if replicas > 0:
            self.acknowledged(self.nodes[0], replicas)
        for node in self.nodes:
            node.fail_after(timeout_ms)

    def settled(self):
        for node in self.nodes:
            until("all nodes know of each other", lambda one=node: (
                one.state()["cluster_state"] == "ok" and int(one.state()["cluster_known_nodes"]) == len(self.nodes)))

    def acknowledged(self, node, count):
        """One that was just synchronised does not acknowledge promptly at first."""
        with resp.Client(node.redis.socket) as client:
            expect(client("SET", "{holdfast}:begun", "1"), "OK")
            while client("WAIT", count, 10000) < count:
                pass
            client("DEL", "{holdfast}:begun")

    def config(self, nodes=None, more=""):
        return "masters:\n  - cluster: { nodes: [%s] }\n%s" % (
            ", ".join(node.place for node in nodes or self.nodes), more)

    def daemon(self, name="d1", config=CONFIG, nodes=None, more="", **options):
        return self.place.daemon(name, config=self.config(nodes, more) + config, **options)

    def replica_of(self, master):
        return next(node for node in self.nodes if "myself,slave %s" % master.id in node("CLUSTER", "NODES"))

    def owner(self, ask):
        """The node that has the slot, as this one says."""
        for line in ask("CLUSTER", "NODES").splitlines():
            words = line.split()
            for slots in words[8:]:
                low, _, high = slots.partition("-")
                if not slots.startswith("[") and int(low) <= self.slot <= int(high or low):
                    return next(node for node in self.nodes if node.id == words[0])
        return None

    def begin_move(self, source, target):
        expect(target("CLUSTER", "SETSLOT", self.slot, "IMPORTING", source.id), "OK")
        expect(source("CLUSTER", "SETSLOT", self.slot, "MIGRATING", target.id), "OK")

    def move_keys(self, source, target, keys):
        answer = source("MIGRATE", "127.0.0.1", target.port, "", 0, 10000, "KEYS", *keys)
        expect(answer in ("OK", "NOKEY"), True, repr(answer))

    def end_move(self, source, target):
        while True:
            keys = source("CLUSTER", "GETKEYSINSLOT", self.slot, 10)
            if not keys:
                break
            self.move_keys(source, target, keys)
        for node in (target, source, *(one for one in self.masters if one not in (target, source))):
            expect(node("CLUSTER", "SETSLOT", self.slot, "NODE", target.id), "OK")
