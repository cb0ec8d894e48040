#!/usr/bin/env python3
"""A Redis Cluster of six nodes as the master: never two holders through failovers and while the slot moves."""

import os
import re
import shlex
import signal

import harness
import liar
import nemesis_wire
import resp
from check_doctor import look
from check_sentinel import Placed, expect_unreplicated
from cluster import CONFIG, Cluster, Node
from harness import PATIENCE, boottime, comment, expect, expect_between, expect_code, until
from scene import Scene

TOKEN_MAX = 2 ** 53
LONG = "lease: 9s\nclock-margin: 200ms\nrestart-guard: auto\n"
# The rights of holdfastd(8), for a cluster.
RIGHTS = ["resetkeys", "~{holdfast}:*", "resetchannels", "&{holdfast}:*", "&__redis__:invalidate", "-@all", "+@read",
          "+@write", "+@connection", "+@pubsub", "+@scripting", "-@dangerous", "+info", "+time", "+wait", "+cluster|nodes"]


def found(daemon, node):
    """Waits until the daemon has gone to this node."""
    return until("the daemon is at %s" % node.place,
                 lambda: (lambda info: info["master0_address"] == node.place and info)(daemon.info()))


def advised(place, daemon, what, how="do"):
    """What holdfast doctor advises about this, once it finds it; how: "run" for the command that mends it."""
    return until("doctor finds %s" % what, lambda: next(
        (finding[how] for finding in look(place, daemon)[1] if finding["part"] == "master" and what in finding["what"]), None))


def test_found(place):
    """the owner of the slot is found and shown, a lease counts when its replica has it, and all keys have the tag"""
    cluster = Cluster(place)
    daemon = cluster.daemon().admitted()
    info = daemon.info()
    expect(info["master0_address"], cluster.nodes[0].place)
    expect(info["master0_cluster"], "cluster")
    expect(info["master0_slot"], str(cluster.slot))
    expect(info["master0_node"], cluster.nodes[0].id)
    expect_between(int(info["master0_found_ms"]), 0, 600000)
    expect(info["master0_found_why"], "it was found at the start")
    expect((info["master0_replicas"], info["master0_replicas_needed"], info["master0_replicated"]), ("1", "1", "1"))
    client = daemon.client()
    expect_between(client("LOCK", "a{b}", "WAIT", 0), 1, TOKEN_MAX)
    expect_between(client("LOCK", "p", "LIMIT", 2, "WAIT", 0), 1, TOKEN_MAX)
    replica = cluster.replica_of(cluster.nodes[0])
    for node in (cluster.nodes[0], replica):
        expect("{holdfast}:{a{b%7D}" in node.keys(), True, repr(node.keys()))
    for node in cluster.nodes:
        expect([key for key in node.keys() if not key.startswith("{holdfast}:")], [], node.place)
        expect(node in (cluster.nodes[0], replica) or node.keys() == [], True, node.place)
    daemon.output.wait(r"cluster\.found master_name=cluster slot=%d node=%s " % (cluster.slot, cluster.nodes[0].id))


def test_wake(place):
    """two daemons: a waiter on one host is woken by a release on the other"""
    cluster = Cluster(place, masters=1, replicas=0)
    one, two = (cluster.daemon(name, config=CONFIG + "retain: 0ms\n").admitted() for name in ("d1", "d2"))
    holder, waiter = one.client(), two.client()
    token = holder("LOCK", "a", "WAIT", 0)
    waiter.send("LOCK", "a", "WAIT", 45000)
    two.queued("a")
    mark = two.output.mark()
    expect(holder("UNLOCK", "a", "TOKEN", token), 0)
    expect_between(waiter.reply(), token + 1, TOKEN_MAX)
    two.output.wait(r"lock\.granted name=a ", mark)
    expect(int(two.info()["inbox_wakes"]) > 0, True, "it was woken by a message")


def judged(cluster, change, why):
    """What this does to the owner, under load: nobody holds together, and work goes on at the new one after its guard."""
    scene = Scene(Placed(cluster), redis=cluster.nodes[0].redis)
    marks = scene.marks()
    began = boottime()
    target = change()
    for daemon, mark in zip(scene.daemons, marks):
        daemon.output.wait(r"cluster\.found .*node=%s .*why=\"(%s)\"" % (target.id, why), mark)
        daemon.output.wait(r"master\.guarded", mark)
    scene.admitted(marks)
    comment("admitted after %.1f s" % (boottime() - began))
    scene.progress(100)
    for daemon in scene.daemons:
        said = found(daemon, target)["master0_found_why"]
        expect(re.fullmatch(why, said) is not None, True, said)
    scene.finish(kept=False)


@harness.busy
def test_asked_failover(place):
    """an operator's CLUSTER FAILOVER under load"""
    timeout = 5
    cluster = Cluster(place, timeout_ms=timeout * 1000)

    def change():
        replica = cluster.replica_of(cluster.nodes[0])
        asked, answers = -PATIENCE, []

        def taken_over():
            # If a vote is late the replica gives it up after five seconds, and nobody votes again before twice the timeout.
            nonlocal asked
            if boottime() - asked > 2 * timeout + 1:
                answers.append(replica("CLUSTER", "FAILOVER"))
                asked = boottime()
            return cluster.owner(replica) is replica

        try:
            until("the replica is the master", taken_over, 2 * PATIENCE)
        except AssertionError as error:
            raise AssertionError("%s: %s\n%s" % (error, answers, replica.redis.process.output.tail())) from error
        return replica

    judged(cluster, change, "failover: the node before is a replica now|the node before has lost all its slots")


@harness.busy
def test_killed(place):
    """the owner is killed under load, and its replica takes over"""
    cluster = Cluster(place, timeout_ms=3000)

    def change():
        replica = cluster.replica_of(cluster.nodes[0])
        cluster.nodes[0].redis.kill()
        until("the replica is the master", lambda: cluster.owner(replica) is replica)
        return replica

    judged(cluster, change, "failover: the node before has failed")


@harness.busy
def test_stopped(place):
    """the owner stands still until its replica has taken over, and then goes on as if nothing had been"""
    cluster = Cluster(place, timeout_ms=3000)

    def change():
        replica = cluster.replica_of(cluster.nodes[0])
        cluster.nodes[0].redis.process.stop()
        until("the replica is the master", lambda: cluster.owner(replica) is replica)
        cluster.nodes[0].redis.process.cont()
        return replica

    judged(cluster, change, "failover: the node before (?:has failed|is a replica now)|the node before has lost all its slots")


class Sides:
    """A cluster whose first node and first daemon can be cut off from all others, the bus of the cluster included."""

    def __init__(self, place):
        self.place = place
        self.wires = []
        self.cluster = Cluster(place, timeout_ms=3000, make=self.node)

    def node(self, number):
        ports = harness.free_port(), harness.free_port()
        first = {os.path.join(self.place.path, "n0"): 0}
        wires = [nemesis_wire.Wire(("127.0.0.1", port), 2, one_port=True, folders=first) for port in ports]
        for wire in wires:
            self.place.ends.append(wire.close)
        self.wires.append(wires)
        return Node(self.place, "n%d" % number, ports=ports, wires=wires)

    def __getattr__(self, name):
        return getattr(self.place, name)

    def daemon(self, name, master, config):
        return self.cluster.daemon(name, config=config, environment={"NEMESIS_PARTY": str(int(name != "d1"))})

    def cut(self):
        for number, wires in enumerate(self.wires):
            for wire in wires:
                wire.set([1 if number == 0 else 0], nemesis_wire.BOTH, mode="drop")

    def heal(self):
        for wires in self.wires:
            for wire in wires:
                wire.heal(range(2))


@harness.busy
def test_cut(place):
    """the owner and one host are cut off from all others, which elect another: the old owner still answers this host meanwhile"""
    sides = Sides(place)
    cluster = sides.cluster
    old, heir = cluster.nodes[0], cluster.replica_of(cluster.nodes[0])
    scene = Scene(sides, redis=old.redis)
    here, there = scene.daemons
    marks = scene.marks()
    sides.cut()
    until("the replica is the master", lambda: cluster.owner(heir) is heir)
    expect((cluster.owner(old) is old, old("ROLE")[0]), (True, "master"))
    info = here.info()
    expect((info["master0_address"], info["master0_links_up"] != "0"), (old.place, True))
    there.output.wait(r"cluster\.found .*node=%s " % heir.id, marks[1])
    there.output.wait(r"master\.admitted", marks[1])
    scene.progress(100)
    expect(here.info()["master0_address"], old.place)
    sides.heal()
    here.output.wait(r"cluster\.found .*node=%s " % heir.id, marks[0])
    here.output.wait(r"master\.admitted", marks[0])
    scene.progress(100)
    scene.finish(kept=False)


@harness.busy
def test_moved(place):
    """the slot is moved to another master under load, key by key"""
    cluster = Cluster(place)

    def change():
        cluster.begin_move(cluster.nodes[0], cluster.nodes[1])
        cluster.end_move(cluster.nodes[0], cluster.nodes[1])
        return cluster.nodes[1]

    judged(cluster, change, "the slot was moved from another node")


def test_kept(place):
    """a holder keeps its lock while the slot moves, and another daemon grants it to nobody meanwhile"""
    cluster = Cluster(place)
    source, target = cluster.nodes[:2]
    daemon, other = cluster.daemon("d1", config=LONG).admitted(), cluster.daemon("d2", config=LONG).admitted()
    client = daemon.client()
    client("SESSION", "ONLOSS", "NEXT")
    token = client("LOCK", "a", "WAIT", 0)
    expect_between(token, 1, TOKEN_MAX)
    mark = daemon.output.mark()
    cluster.begin_move(source, target)
    cluster.end_move(source, target)
    daemon.output.wait(r"lease\.reclaimed name=a ", mark)
    expect_between(client("CHECK", "a"), 1, 9000)
    answer = other.client()("LOCK", "a", "WAIT", 0)
    expect(isinstance(answer, resp.Error) and answer.code in ("GUARD", "NOMASTER"), True, repr(answer))
    waiter = other.client()
    waiter.send("LOCK", "a", "WAIT", 60000)
    daemon.output.wait(r"master\.admitted", mark)
    expect_between(client("CHECK", "a"), 1, 9000)
    expect(client("UNLOCK", "a", "TOKEN", token), 0)
    expect_between(waiter.reply(), token + 1, TOKEN_MAX)


def test_half_moved(place):
    """while some of the keys have moved nothing is granted and the reason is named; waiters wait for the end of the move"""
    cluster = Cluster(place, masters=2, replicas=0)
    source, target = cluster.nodes
    daemon = cluster.daemon(config=LONG).admitted()
    client, waiter = daemon.client(), daemon.client()
    client("SESSION", "ONLOSS", "NEXT")
    token = client("LOCK", "a", "WAIT", 0)
    expect_between(token, 1, TOKEN_MAX)
    mark = daemon.output.mark()
    cluster.begin_move(source, target)
    for key, word in (("{holdfast}:{a}", "TRYAGAIN"), ("{holdfast}:node", "ASK")):
        cluster.move_keys(source, target, [key])
        answer = client("LOCK", "b", "WAIT", 1)
        expect(answer is None or isinstance(answer, resp.Error) and answer.code in ("NOMASTER", "MASTERERR"), True, answer)
        until("the reason is told", lambda said=word: said in daemon.info()["master0_reason"])
        expect("redis-cli --cluster fix" in advised(place, daemon, word), True, word)
    waiter.send("LOCK", "c", "WAIT", 60000)
    daemon.queued("c")
    cluster.end_move(source, target)
    daemon.output.wait(r"cluster\.found .*node=%s " % target.id, mark)
    expect_between(waiter.reply(60), token + 1, TOKEN_MAX)


@harness.busy
def test_other_shard(place):
    """a master of other slots is killed under load: nothing is guarded, and what is held is held on"""
    cluster = Cluster(place, timeout_ms=3000, options=["--cluster-require-full-coverage", "no"])
    scene = Scene(Placed(cluster), redis=cluster.nodes[0].redis)
    marks = scene.marks()
    other = cluster.masters[1]
    heir = cluster.replica_of(other)
    other.redis.kill()
    until("its replica has taken over", lambda: "myself,master" in heir("CLUSTER", "NODES"))
    scene.progress(100)
    for daemon, mark in zip(scene.daemons, marks):
        expect("master.guarded" in daemon.output.text(mark), False, "a guard")
    scene.finish()


def test_nodes_away(place):
    """one node that answers is enough; without any, LOCK says which were asked and why it failed"""
    cluster = Cluster(place, masters=1, replicas=1)
    master, replica = cluster.nodes
    daemon = cluster.daemon("d1", nodes=[replica]).admitted()
    expect(daemon.info()["master0_address"], master.place)
    expect_between(daemon.client()("LOCK", "a", "WAIT", 0), 1, TOKEN_MAX)
    replica.redis.kill()
    other = cluster.daemon("d2", nodes=[replica])
    other.output.wait(r"cluster\.lost master_name=cluster .*connection refused")
    answer = other.client()("LOCK", "b", "WAIT", 0)
    expect_code(answer, "NOMASTER")
    expect("no node knows where cluster is: %s connection refused" % replica.place in answer, True, answer)
    expect(isinstance(daemon.client()("LOCK", "c", "WAIT", 1500), int), False, "a lock that no replica has")
    daemon.output.wait(r"master\.unreplicated.*NOREPLICAS 0 of 1")
    expect_unreplicated(daemon.client()("LOCK", "d", "WAIT", 0))


def test_liar(place):
    """one of three nodes that lies is not followed, whether it names another node or another place of the right one"""
    cluster = Cluster(place, masters=3, replicas=0)
    mine = {"HOLDFAST_MASTER_PASSWORD": "mine"}
    for node in cluster.nodes:
        expect(node("ACL", "SETUSER", "hf", "on", ">mine", "~*", "&*", "+@all"), "OK")
    for n, owner in enumerate(("e" * 40, cluster.nodes[0].id)):
        evil = liar.TcpServer(place)
        lying = liar.LyingNode(place, cluster.slot, evil.port, owner)
        for honest in ((cluster.nodes[0], cluster.nodes[1]), (cluster.nodes[1], cluster.nodes[2])):
            name = "d%d-%s" % (n, honest[0].id[:4])
            daemon = cluster.daemon(name, nodes=[lying, *honest], more="    user: hf\n", environment=mine).admitted()
            expect(daemon.info()["master0_address"], cluster.nodes[0].place)
            expect_between(daemon.client()("LOCK", name, "WAIT", 0), 1, TOKEN_MAX)
            expect(evil.passwords(), [])
            daemon.kill()
        # With one honest node there is no majority, and nobody gets the password.
        daemon = cluster.daemon("e%d" % n, nodes=[lying, cluster.nodes[1]], more="    user: hf\n", environment=mine)
        daemon.output.wait(r"cluster\.lost .*too few nodes agree where cluster is \(2 of 2 have to\)")
        expect_code(daemon.client()("LOCK", "a", "WAIT", 0), "NOMASTER")
        expect(evil.passwords(), [])


def test_announced(place):
    """nodes that announce a name are reached by it, and those that announce nothing at the host that was asked"""
    for kind, host in (("hostname", "localhost"), ("unknown-endpoint", "127.0.0.1")):
        cluster = Cluster(place_of(place, kind), masters=2, replicas=0, options=[
            "--cluster-announce-hostname", "localhost", "--cluster-preferred-endpoint-type", kind])
        daemon = cluster.daemon("d-%s" % kind, nodes=cluster.nodes[1:]).admitted()
        expect(daemon.info()["master0_address"], "%s:%d" % (host, cluster.nodes[0].port))
        expect_between(daemon.client()("LOCK", "a", "WAIT", 0), 1, TOKEN_MAX)


def place_of(place, name):
    """The same place, with this in front of the names of servers."""
    class Named:
        def __getattr__(self, what):
            return getattr(place, what)

        def redis(self, server, **options):
            return place.redis("%s-%s" % (name, server), **options)

    return Named()


def test_login(place):
    """the rights that the manual names are enough, and a login without cluster|nodes is told with the mend"""
    cluster = Cluster(place, masters=1, replicas=0)
    node = cluster.nodes[0]
    expect(node("ACL", "SETUSER", "holdfast", "on", ">mine", *RIGHTS), "OK")
    expect(node("ACL", "SETUSER", "narrow", "on", ">mine", *RIGHTS[:-1]), "OK")
    mine = {"HOLDFAST_MASTER_PASSWORD": "mine"}
    daemon = cluster.daemon("d1", more="    user: holdfast\n", environment=mine).admitted()
    client = daemon.client()
    expect_between(client("LOCK", "a", "WAIT", 0), 1, TOKEN_MAX)
    expect_between(client("LOCK", "s", "SHARED", "WAIT", 0), 1, TOKEN_MAX)
    expect(client("LATCH", "l", "SET", 1), 1)
    expect(daemon.info()["master0_inbox"], "1")
    expect("NOPERM" in daemon.output.text(), False, "a right that is missing")
    narrow = cluster.daemon("d2", more="    user: narrow\n", environment=mine)
    narrow.output.wait(r"cluster\.lost .*NOPERM.*cluster\|nodes")
    words = shlex.split(advised(place, narrow, "cluster|nodes", "run"))
    expect(node(*words[words.index("ACL"):]), "OK")
    narrow.admitted()


def test_url_of_a_node(place):
    """a node that is named by its URL is refused with what to write instead, and a server without a cluster as a node"""
    cluster = Cluster(place, masters=1, replicas=0)
    by_url = place.daemon("d1", master=cluster.nodes[0].redis, config=CONFIG)
    by_url.output.wait(r"master\.refused .*runs in cluster mode: name its nodes under `cluster:`")
    expect_code(by_url.client()("LOCK", "a", "WAIT", 0), "NOMASTER")
    plain = place.redis("plain", options=["--port", str(harness.free_port()), "--bind", "127.0.0.1"])
    config = "masters: [ cluster: { nodes: [127.0.0.1:%s] } ]\n" % plain("CONFIG", "GET", "port")[1]
    place.daemon("d2", config=config + CONFIG).output.wait(
        r"cluster\.lost .*says ERR This instance has cluster support disabled")


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    harness.main(globals())
