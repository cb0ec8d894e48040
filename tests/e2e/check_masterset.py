#!/usr/bin/env python3
"""Daemons that are told of different masters: which set they agree on, and who is refused.

Two majorities share a master only when both are of one set. Each test lets daemons with different lists meet at some
of the servers, in an order in which both would hold if each believed its own list.
"""

import os
import re
import shutil

import harness
import proxy
import resp
from harness import expect, expect_between, expect_code

# The guard of a new master is over soon, and no lease runs out on a machine that stands still for a second.
CONFIG = "lease: 3s\nclock-margin: 300ms\nrestart-guard: auto\n"
SHORT = "lease: 1s\nclock-margin: 100ms\nretain: 0\nrestart-guard: auto\n"


def servers(place, count, first=0):
    return [place.redis("r%d" % n) for n in range(first, first + count)]


def agreed(daemon):
    harness.until("%s agrees on its masters" % daemon.name,
                  lambda: daemon.info()["masters_agreement"] == "agreed")


def refused(daemon):
    """Until it is; the line that says so."""
    line = daemon.output.wait(r"master\.refused.*another set.*")[1].group(0)
    harness.until("%s is refused" % daemon.name, lambda: daemon.info()["masters_agreement"] == "refused")
    return line


def grants(daemon, name="a"):
    """Whether it grants the name, given the time for it."""
    return isinstance(daemon.client()("LOCK", name, "WAIT", 0), int)


def test_one_set_is_made(place):
    """three masters and two daemons that list them in another order, by other names: one set, and each excludes the other"""
    masters = servers(place, 3)
    one = place.daemon("d1", master=masters, config=CONFIG)
    two = place.daemon("d2", master=masters[::-1], config=CONFIG)
    for daemon in (one, two):
        daemon.admitted()
        agreed(daemon)
    expect(one.info()["masters_set"], two.info()["masters_set"])
    ids = {master("HGET", "holdfast:node", "id") for master in masters}
    expect(len(ids), 3, "ids")
    for master in masters:
        expect(master("HGET", "holdfast:node", "agreement"), "3")
        expect(master("HGET", "holdfast:node", "set"), one.info()["masters_set"])
    expect_between(one.client()("LOCK", "a", "WAIT", 0), 1, 2 ** 53)
    expect(two.client()("LOCK", "a", "WAIT", 0), None)


def test_two_lists_that_share_two(place):
    """one daemon has A, B, C, one already A, B, D: the second takes no lease anywhere, and is told in what the lists differ"""
    masters = servers(place, 4)
    one = place.daemon("d1", master=masters[:3], config=CONFIG).admitted()
    two = place.daemon("d2", master=masters[:2] + masters[3:], config=CONFIG)
    line = refused(two)
    expect("theirs: %s; here: %s: make" % (masters[2].socket, masters[3].socket) in line, True, line)
    token = one.client()("LOCK", "a", "WAIT", 0)
    expect_between(token, 1, 2 ** 53)
    answer = two.client()("LOCK", "a", "WAIT", 0)
    expect_code(answer, "NOMASTER")
    expect("another set" in str(answer), True, str(answer))
    # Also of names that nobody has, and at the master that only it knows.
    for name in range(20):
        expect(grants(two, "free%d" % name), False)
    expect(masters[3]("EXISTS", "holdfast:{a}"), 0)
    expect_between(one.client()("LOCK", "b", "WAIT", 0), 1, 2 ** 53, "the first one goes on")


def test_two_lists_at_once(place):
    """both start at the same time with masters nobody has used: at most one of the two sets is made"""
    masters = servers(place, 4)
    one = place.idle_daemon("d1", master=masters[:3], config=CONFIG)
    two = place.idle_daemon("d2", master=masters[:2] + masters[3:], config=CONFIG)
    for daemon in (one, two):
        daemon.spawn()
    for daemon in (one, two):
        daemon.await_state("READY=1")
    states = harness.until("one of them is refused", lambda: next(
        (s for s in [[d.info()["masters_agreement"] for d in (one, two)]] if "refused" in s), None))
    expect(states.count("agreed") <= 1, True, str(states))
    held = [grants(daemon, "n%d" % name) for name in range(20) for daemon in (one, two)]
    expect(any(held[::2]) and any(held[1::2]), False, "both grant")


def three_set(master):
    return master("HGET", "holdfast:node", "set")


def test_one_and_three(place):
    """one daemon has one master, one has three with that one among them: the second is refused; the other way round it takes up the set of three, if it may"""
    masters = servers(place, 3)
    place.daemon("d1", master=masters[0], config=CONFIG).admitted()
    three = place.daemon("d2", master=masters, config=CONFIG)
    refused(three)
    expect(grants(three), False)
    others = servers(place, 3, 3)
    place.daemon("d3", master=others, config=CONFIG).admitted()
    alone = place.daemon("d4", master=others[2], config=CONFIG + "masters-follow: no\n")
    refused(alone)
    expect_code(alone.client()("LOCK", "a", "WAIT", 0), "NOMASTER")
    # One master may have become three while it was down.
    follower = place.daemon("d5", master=others[2], config=CONFIG).admitted()
    expect(follower.info()["masters_set"], three_set(others[0]))


def test_holders_keep(place):
    """what a daemon holds is renewed while it is refused; it goes to no other session of that daemon, and nothing new is granted"""
    masters = servers(place, 3)
    daemon = place.daemon("d1", master=masters, config=SHORT).admitted()
    holder = daemon.client()
    token = holder("LOCK", "a", "WAIT", 0)
    # What a change of the set by hand, past the daemons, looks like to it.
    strangers = "7 00000000000000fe:url 00000000000000ff:url"
    masters[2]("HSET", "holdfast:node", "set", strangers, "agreement", "3", "places", "elsewhere-1 elsewhere-2")
    line = refused(daemon)
    expect("elsewhere-1" in line, True, line)
    expect(grants(daemon, "b"), False)
    mark = harness.boottime()
    harness.until("two leases have passed", lambda: harness.boottime() > mark + 2.0)
    expect_between(holder("CHECK", "a", "TOKEN", token), 1, 1000, "still held")
    waiter = daemon.client()
    waiter.send("LOCK", "a", "WAIT", 2000)
    expect(holder("UNLOCK", "a"), 0)
    for master in masters[:2]:
        harness.until("it is given back", lambda one=master: one("EXISTS", "holdfast:{a}") == 0)
    answer = waiter.reply()
    expect_code(answer, "NOMASTER")
    expect("elsewhere-1" in str(answer) and masters[0].socket in str(answer), True, str(answer))


def test_restarted_with_another_list(place):
    """restarted with another list it is refused while a daemon of the old one lives; without, the list is taken up"""
    masters = servers(place, 4)
    stays = place.daemon("d1", master=masters[:3], config=SHORT).admitted()
    goes = place.daemon("d2", master=masters[:3], config=SHORT).admitted()
    expect(goes.terminate(), 0)
    again = place.daemon("d3", master=masters[:2] + masters[3:], config=SHORT)
    refused(again)
    expect(grants(again), False)
    token = stays.client()("LOCK", "a", "WAIT", 0)
    expect_between(token, 1, 2 ** 53)
    stays.kill()
    # Its lease may be held until its end, and its registration is longer.
    killed = harness.boottime()
    client = again.client()
    while not isinstance(client("LOCK", "a", "WAIT", 1000), int):
        expect(harness.boottime() < killed + harness.PATIENCE, True, "the new list is taken up")
    agreed(again)
    expect(again.info()["masters_set"].split(" ")[0], "2", "the generation")
    expect(masters[3]("HGET", "holdfast:node", "agreement"), "3")
    late = place.daemon("d4", master=masters[:3], config=SHORT)
    refused(late)


def test_left_behind_server_brings_no_set_back(place):
    """a daemon that stood still while others founded a later set is told of the earlier one by a server left behind, and does not take it up again"""
    masters = servers(place, 4)
    one = place.daemon("d1", master=masters[:3], config=SHORT).admitted()
    one.output.wait("masters.agreed")
    one.process.stop()
    two = place.daemon("d2", master=masters[:2] + masters[3:], config=SHORT).admitted()
    agreed(two)
    expect(two.info()["masters_set"].split(" ")[0], "2", "the generation")
    expect(masters[2]("HGET", "holdfast:node", "set").split(" ")[0], "1", "the generation at the server left behind")
    one.process.cont()
    refused(one)
    # Each HELLO of the server left behind tells of the earlier set: the master counts them.
    mark = masters[2].script_calls()
    harness.until("it was told again", lambda: masters[2].script_calls() >= mark + 3)
    expect(one.output.text().count("masters.agreed"), 1, "how often a set was taken up")
    for master in masters[:2]:
        expect(master("HGET", "holdfast:node", "set"), two.info()["masters_set"])


def test_list_is_changed_back_after_a_server_forgot(place):
    """two of three servers are in a later set, one of them with a new id: a daemon that the third one tells the earlier set goes on with all three"""
    masters = servers(place, 4)
    expect(place.daemon("d1", master=masters[:3], config=SHORT).admitted().terminate(), 0)
    masters[0]("FLUSHALL")
    expect(place.daemon("d2", master=masters[:2] + masters[3:], config=SHORT).admitted().terminate(), 0)
    generations = [master("HGET", "holdfast:node", "set").split(" ")[0] for master in masters]
    expect(generations, ["2", "2", "1", "2"])
    for master in masters[:2]:
        master.process.stop()
    daemon = place.daemon("d3", master=masters[:3], config=SHORT)
    agreed(daemon)
    for master in masters[:2]:
        master.process.cont()
    refused_line = daemon.output.wait(r"master\.refused.*another set.*")[1].group(0)
    expect(masters[3].socket in refused_line, True, refused_line)
    expect_between(daemon.client()("LOCK", "a", "WAIT", 45000), 1, 2 ** 53)
    expect(daemon.info()["masters_set"].split(" ")[0], "3", "the generation")


def test_grown_from_one_with_a_stop(place):
    """all daemons of one master are stopped, and start with three"""
    masters = servers(place, 3)
    alone = place.daemon("d1", master=masters[0], config=SHORT).admitted()
    before = alone.client()("LOCK", "a", "WAIT", 0)
    expect(alone.terminate(), 0)
    ones = [place.daemon("d%d" % n, master=masters, config=SHORT) for n in (2, 3)]
    after = ones[0].client()("LOCK", "a", "WAIT", 45000)
    expect_between(after, before + 1, 2 ** 53, "its token is greater")
    agreed(ones[1])
    harness.until("the other one knows it", lambda: ones[1].client()("LOCK", "a", "WAIT", 0) is None)


def test_grown_to_five_with_a_stop(place):
    """three become five, and one of the old three is down at first: the set is made when it is there"""
    masters = servers(place, 5)
    three = place.daemon("d1", master=masters[:3], config=SHORT).admitted()
    before = three.client()("LOCK", "a", "WAIT", 0)
    expect(three.terminate(), 0)
    masters[2].process.stop()
    five = place.daemon("d2", master=masters, config=SHORT)
    expect_code(five.client()("LOCK", "a", "WAIT", 0), "NOMASTER")
    masters[2].process.cont()
    expect_between(five.client()("LOCK", "a", "WAIT", 45000), before + 1, 2 ** 53, "its token is greater")
    expect(len(five.info()["masters_set"].split(" ")), 6)
    for master in masters:
        harness.until("agreed", lambda one=master: one("HGET", "holdfast:node", "agreement") == "3")


def test_memory_lost(place):
    """a member that lost its memory gets its id and the set back from a daemon, before anybody else can have it"""
    masters = servers(place, 3)
    daemon = place.daemon("d1", master=masters, config=SHORT).admitted()
    number = [master("HGET", "holdfast:node", "id") for master in masters]
    text = daemon.info()["masters_set"]
    masters[1].kill()
    masters[1].restart()
    harness.until("its id is back", lambda: masters[1]("HGET", "holdfast:node", "agreement") == "3")
    expect(masters[1]("HGET", "holdfast:node", "id"), number[1])
    expect(masters[1]("HGET", "holdfast:node", "set"), text)
    stranger = place.daemon("d2", master=masters[1], config=SHORT + "masters-follow: no\n")
    refused(stranger)
    # A daemon that starts now knows it by its place.
    daemon.kill()
    masters[1].kill()
    masters[1].restart()
    other = place.daemon("d3", master=masters, config=SHORT).admitted()
    harness.until("its id is back", lambda: masters[1]("HGET", "holdfast:node", "id") == number[1])
    expect(other.info()["masters_set"], text)


def test_back_to_an_accepted_set(place):
    """a member goes back to where it had accepted a set that was given up: once its daemons must be gone, it has the agreed one again"""
    masters = servers(place, 3)
    daemons = [place.daemon(name, master=masters, config=SHORT).admitted() for name in ("d1", "d2")]
    for daemon in daemons:
        agreed(daemon)
    ours = masters[2]("HGET", "holdfast:node", "set")
    given_up = ours.replace(masters[0]("HGET", "holdfast:node", "id"), "00000000000000aa")
    masters[2]("HSET", "holdfast:node", "set", given_up, "agreement", "2")
    # To the master each of them is a daemon that may live under the other set.
    refused(daemons[0])
    harness.until("it has the agreed set again", lambda: masters[2]("HGET", "holdfast:node", "set") == ours)
    for daemon in daemons:
        agreed(daemon)
        harness.until("%s grants" % daemon.name, lambda one=daemon: grants(one, one.name))


def test_only_master_lost_its_memory(place):
    """the only master lost its memory: who lives brings the set back within the guard, a newcomer with another list does not get it"""
    masters = servers(place, 3)
    daemon = place.daemon("d1", master=masters[0], config=SHORT).admitted()
    holder = daemon.client()
    token = holder("LOCK", "a", "WAIT", 0)
    newcomer = place.daemon("d2", master=masters, config=SHORT)
    refused(newcomer)
    masters[0].kill()
    masters[0].restart()
    harness.until("the set is back", lambda: masters[0]("HGET", "holdfast:node", "agreement") == "3")
    expect_between(holder("CHECK", "a", "TOKEN", token), 1, 1000)
    expect(grants(newcomer), False)


def test_empty_server_at_another_place(place):
    """an empty server in the place of a member is no member that lost its memory"""
    masters = servers(place, 4)
    one = place.daemon("d1", master=masters[:3], config=CONFIG).admitted()
    token = one.client()("LOCK", "a", "WAIT", 0)
    expect_between(token, 1, 2 ** 53)
    # C is away for this one, which finds D empty.
    two = place.daemon("d2", master=masters[:2] + masters[3:], config=CONFIG)
    two.output.wait(r"master\.refused.*(is new|another set).*")
    expect(grants(two), False)
    expect(grants(two, "b"), False)
    expect(masters[3]("HGET", "holdfast:node", "set") in (None, ""), True, "it is given no set")


# --- the data of one master at another ----------------------------------------------------------------------------

def replicated(place, count):
    """Servers that can be replicas of each other."""
    ports = [harness.free_port() for _ in range(count)]
    masters = [place.redis("r%d" % n, options=["--port", str(port), "--repl-diskless-sync-delay", "0"])
               for n, port in enumerate(ports)]
    return masters, ports


def was_replica(copy, port):
    """It is a replica until it has all data, and then none."""
    copy("REPLICAOF", "127.0.0.1", port)
    harness.until("it has the data", lambda: "master_link_status:up" in copy("INFO", "replication"))
    copy("REPLICAOF", "NO", "ONE")


def master_of(daemon, server, field):
    info = daemon.info()
    at = next(n for n in range(int(info["masters"])) if info["master%d_address" % n] == server.socket)
    return info.get("master%d_%s" % (at, field), "")


def refused_as_copy(daemon, server, of=None):
    """Until it is; then what the reason says is done."""
    def reason():
        told = master_of(daemon, server, "reason")
        return told if "copy of its data" in told and (of is None or of.socket in told) else None

    told = harness.until("%s is refused as a copy" % server.socket, reason)
    key, place = re.search(r"DEL (\S+) at (\S+),", told).groups()
    expect(place, server.socket)
    return key


def in_use(daemon, masters):
    for server in masters:
        harness.until("%s is in use" % server.socket, lambda one=server: master_of(daemon, one, "state") == "admitted")


def mended(daemon, masters, ids, copies):
    for server, key in copies:
        expect(server("DEL", key), 1)
    in_use(daemon, masters)
    expect([server("HGET", "holdfast:node", "id") for server in masters], ids)
    agreed_lines = [line for line in daemon.output.text().splitlines() if "masters.agreed" in line]
    expect_between(len(agreed_lines), 1, 3, "lines about the agreement")


def test_copied_master(place):
    """one of three is a replica of another for a moment: it alone is refused, two of three go on, and DEL, which the reason names, mends it under two daemons"""
    masters, ports = replicated(place, 3)
    daemons = [place.daemon(name, master=masters, config=SHORT).admitted() for name in ("d1", "d2")]
    ids = [server("HGET", "holdfast:node", "id") for server in masters]
    in_use(daemons[0], masters)
    holder = daemons[0].client()
    token = holder("LOCK", "kept", "WAIT", 0)
    was_replica(masters[2], ports[1])
    keys = [refused_as_copy(daemon, masters[2], masters[1]) for daemon in daemons]
    expect(keys, ["holdfast:node"] * 2)
    for daemon in daemons:
        in_use(daemon, masters[:2])
        expect_between(daemon.client()("LOCK", daemon.name, "WAIT", 0), 1, 2 ** 53, "two of three go on")
    mended(daemons[0], masters, ids, [(masters[2], keys[0])])
    in_use(daemons[1], masters)
    expect_between(holder("CHECK", "kept", "TOKEN", token), 1, 1000)


def test_two_copied_masters(place):
    """two of three are replicas of the third for a moment: nothing is granted until both are mended, and then all are in use"""
    masters, ports = replicated(place, 3)
    daemon = place.daemon("d1", master=masters, config=SHORT).admitted()
    ids = [server("HGET", "holdfast:node", "id") for server in masters]
    in_use(daemon, masters)
    for copy in masters[1:]:
        was_replica(copy, ports[0])
    keys = [refused_as_copy(daemon, copy, masters[0]) for copy in masters[1:]]
    in_use(daemon, masters[:1])
    answer = daemon.client()("LOCK", "a", "WAIT", 0)
    expect_code(answer, "NOMASTER")
    expect("DEL holdfast:node at" in str(answer), True, str(answer))
    mended(daemon, masters, ids, list(zip(masters[1:], keys)))
    expect(grants(daemon), True)


def test_dump_of_another_master(place):
    """a master starts with the dump of another, under a daemon that starts then, whichever of them it hears first"""
    masters, _ = replicated(place, 3)
    daemon = place.daemon("d1", master=masters, config=SHORT).admitted()
    ids = [server("HGET", "holdfast:node", "id") for server in masters]
    for turn, (whole, copy) in enumerate(((0, 2), (2, 0), (1, 0))):
        daemon.terminate()
        masters[whole]("SAVE")
        masters[copy].kill()
        shutil.copy(os.path.join(masters[whole].folder, "dump.rdb"), masters[copy].folder)
        masters[copy].restart()
        daemon = place.daemon("next%d" % turn, master=masters, config=SHORT).admitted()
        key = refused_as_copy(daemon, masters[copy], masters[whole])
        mended(daemon, masters, ids, [(masters[copy], key)])


def test_flushed_copy(place):
    """FLUSHALL at a copy mends it as well, and so does a dump of its own from before"""
    masters, ports = replicated(place, 3)
    daemon = place.daemon("d1", master=masters, config=SHORT).admitted()
    ids = [server("HGET", "holdfast:node", "id") for server in masters]
    in_use(daemon, masters)
    masters[2]("SAVE")
    was = open(os.path.join(masters[2].folder, "dump.rdb"), "rb").read()
    was_replica(masters[2], ports[0])
    refused_as_copy(daemon, masters[2], masters[0])
    masters[2]("FLUSHALL")
    in_use(daemon, masters)
    was_replica(masters[2], ports[0])
    refused_as_copy(daemon, masters[2], masters[0])
    masters[2].kill()
    with open(os.path.join(masters[2].folder, "dump.rdb"), "wb") as stream:
        stream.write(was)
    masters[2].restart()
    mended(daemon, masters, ids, [])


def test_data_of_another_set(place):
    """a master gets the data of a master of other daemons: nothing is granted, and DEL, which the reason names, gives it its id and set back"""
    masters, ports = replicated(place, 4)
    daemon = place.daemon("d1", master=masters[:3], config=SHORT).admitted()
    ids = [server("HGET", "holdfast:node", "id") for server in masters[:3]]
    place.daemon("d2", master=masters[3], config=SHORT).admitted()
    in_use(daemon, masters[:3])
    was_replica(masters[1], ports[3])
    refused(daemon)
    expect_code(daemon.client()("LOCK", "a", "WAIT", 0), "NOMASTER")
    key = re.search(r"DEL (\S+) there", master_of(daemon, masters[1], "reason")).group(1)
    mended(daemon, masters[:3], ids, [(masters[1], key)])
    expect(grants(daemon), True)


def test_first_start_needs_all(place):
    """the first start waits for all masters, and says which is missing; later a majority is enough"""
    masters = servers(place, 3)
    masters[2].kill()
    daemon = place.daemon("d1", master=masters, config=SHORT)

    client = daemon.client()

    def waits():
        answer = client("LOCK", "a", "WAIT", 0)
        expect(isinstance(answer, resp.Error), True, repr(answer))
        return answer.code == "NOMASTER" and "not agreed" in str(answer) and masters[2].socket in str(answer)
    harness.until("it says what it waits for", waits)
    masters[2].restart()
    daemon.admitted()
    expect(daemon.terminate(), 0)
    masters[2].kill()
    place.daemon("d2", master=masters, config=SHORT).admitted()


class Turns(proxy.Proxy):
    """A name that leads to several servers in turn; to the last of them alone once `alone` is set."""

    def __init__(self, targets):
        self.targets, self.turn, self.alone = targets, 0, False
        super().__init__(targets[0])

    def towards(self):
        self.turn += not self.alone
        return self.targets[-1 if self.alone else self.turn % len(self.targets)]


def test_name_of_several_servers(place):
    """a name that leads to two servers in turn is refused and says so; it is taken when it leads to one"""
    masters = servers(place, 2)
    name = Turns([master.socket for master in masters])
    place.ends.append(name.close)
    daemon = place.daemon("d1", master=name, config=SHORT + "pool: 2\n")
    daemon.output.wait(r"master\.refused.*several servers in turn")
    answer = daemon.client()("LOCK", "a", "WAIT", 0)
    expect_code(answer, "NOMASTER")
    expect("several servers in turn" in str(answer), True, str(answer))
    name.alone = True
    name.reset()
    daemon.admitted()
    expect_between(daemon.client()("LOCK", "a", "WAIT", 0), 1, 2 ** 53)


if __name__ == "__main__":
    harness.main(globals())
