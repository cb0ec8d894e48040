#!/usr/bin/env python3
"""The set of masters changes under load: nobody holds beside another, and who holds a lock keeps it.

Three daemons serve clients of all kinds (the nemesis'), and each keeps locks from before the change until after it.
Meanwhile an administrator replaces masters and adds some, daemons and masters die or stand still, and daemons start
with lists that the set has left behind.
"""

import random
import resource

import changing
import check_sentinel
import harness
import resp
import tool
from changing import (
    CONFIG, Asking, Load, Url, begin, changed, command, daemons_of, generation, in_step, is_late, made, members, status)
from harness import expect, expect_between, expect_code, until
from scene import pause


def servers(place, count, first=0):
    return [place.redis("r%d" % n) for n in range(first, first + count)]


def places(masters):
    return [master.socket for master in masters]


def expect_error(answer, code, *parts):
    expect_code(answer, code)
    for part in parts:
        expect(part in answer, True, "%r in %r" % (part, answer))


def unchanged(daemons, number, masters):
    for daemon in daemons:
        told = status(daemon)
        expect((told["generation"], told["change"]), (number, "none"), daemon.name)
        expect(sorted(master["place"] for master in members(told)), sorted(places(masters)), daemon.name)


# --- changes that go well -----------------------------------------------------------------------------------------

@harness.busy
def test_each_replaced(place):
    """each of three masters is replaced in turn, one of them dead; those that left are switched off"""
    masters = servers(place, 3)
    daemons = daemons_of(place, masters)
    load = Load(place, daemons)
    number = generation(daemons[0])
    for turn, daemon in enumerate(daemons):
        new = place.redis("n%d" % turn)
        old = masters[turn]
        if turn == 1:
            old.kill()
        made(number + 1, daemon, "REPLACE", old.socket, new.socket)
        number += 1
        masters[turn] = new
        changed(daemons, number, places(masters))
        if turn != 1:
            expect(old("HGET", "holdfast:node", "set"), daemon.info()["masters_set"], "who left tells the new set")
            old.kill()
        load.progress()
    load.finish()


@harness.busy
def test_one_to_three(place):
    """one master becomes three: holders keep their locks while new leases wait for the guard"""
    masters = servers(place, 3)
    daemons = daemons_of(place, masters[0])
    load = Load(place, daemons)
    number = generation(daemons[0])
    made(number + 1, daemons[1], "ADD", *places(masters[1:]))
    for kept in load.kept:
        kept.check()
    changed(daemons, number + 1, places(masters))
    load.progress()
    # The first one alone is no majority any more, nor is any of the others.
    masters[0].kill()
    load.progress()
    load.finish()


@harness.busy
def test_three_to_five(place):
    """three masters become five: then any two of them may be away"""
    masters = servers(place, 5)
    daemons = daemons_of(place, masters[:3])
    load = Load(place, daemons)
    number = generation(daemons[0])
    made(number + 1, daemons[2], "ADD", *places(masters[3:]))
    changed(daemons, number + 1, places(masters))
    for master in masters[:2]:
        master.kill()
    load.progress()
    load.finish()


@harness.busy
def test_url_to_sentinel(place):
    """a master is named by its Sentinel name instead of its URL: each host is told first"""
    group = check_sentinel.Group(place)
    daemons = daemons_of(place, Url("redis://127.0.0.1:%d" % group.port))
    load = Load(place, daemons)
    number = generation(daemons[0])
    address = "127.0.0.1:%d" % group.port
    expect_error(command(daemons[0], "REPLACE", address, "mymaster"), "ERR", "name of a Sentinel master or cluster", "RELOAD")
    for daemon in daemons:
        daemon.master = group.config()
        daemon.configure(CONFIG)
        with resp.Client(daemon.socket) as client:
            answer = client("RELOAD")
            expect("MASTERS" in answer and not isinstance(answer, resp.Error), True, answer)
    made(number + 1, daemons[0], "REPLACE", address, "mymaster")
    changed(daemons, number + 1, ["mymaster"])
    for daemon in daemons:
        expect(daemon.info()["master0_sentinel"], "mymaster")
    load.progress()
    load.finish()


@harness.busy
def test_same_server_comes_back(place):
    """a server that left comes back as a newcomer: what it remembers counts for nothing"""
    masters = servers(place, 4)
    daemons = daemons_of(place, masters[:3])
    load = Load(place, daemons)
    number = generation(daemons[0])
    out, other = masters[2], masters[3]
    for _ in range(2):
        made(number + 1, daemons[0], "REPLACE", out.socket, other.socket)
        number += 1
        out, other = other, out
        changed(daemons, number, places(masters[:2] + [out]))
        load.progress()
    load.finish()


@harness.busy
def test_host_that_was_not_told(place):
    """a newcomer with a password of its own: a host that was not told goes on without it until it is"""
    masters = servers(place, 3)
    new = place.redis("new", options=["--requirepass", "own"])
    daemons = daemons_of(place, masters, environment={"OWN": "own"})
    load = Load(place, daemons)
    number = generation(daemons[0])

    def tell(daemon):
        daemon.master = "masters: [ \"%s\", \"%s\", { url: \"%s\", password-env: OWN } ]\n" % (
            masters[0].url, masters[1].url, new.url)
        daemon.configure(CONFIG)
        with resp.Client(daemon.socket) as client:
            expect("masters" in client("RELOAD"), True, "the list needs a restart")
    for daemon in daemons[:2]:
        tell(daemon)
    made(number + 1, daemons[1], "REPLACE", masters[2].socket, new.socket)
    changed(daemons[:2], number + 1, [masters[0].socket, masters[1].socket, new.socket])
    until("the third follows", lambda: generation(daemons[2]) == number + 1)
    told = next(master for master in status(daemons[2])["masters"] if master["place"] == new.socket)
    expect(told["state"] != "admitted" and told["reason"] != "", True, repr(told))
    load.progress()
    tell(daemons[2])
    changed(daemons, number + 1, [masters[0].socket, masters[1].socket, new.socket])
    load.progress()
    load.finish()


# --- crashes ------------------------------------------------------------------------------------------------------

def settled(daemons):
    """The generation of all, once none of them knows of a change."""
    until("no change is under way", lambda: all(
        status(daemon)["change"] == "none" and status(daemon)["agreement"] == "agreed" for daemon in daemons))
    return until("all have one generation", lambda: next(
        (one[0] for one in [[generation(daemon) for daemon in daemons]] if len(set(one)) == 1), None))


@harness.busy
def test_commanded_daemon_killed(place):
    """kill -9 of the daemon that was asked, at any step: the set is the old one or the new one, and the same for all"""
    masters = servers(place, 3)
    daemons = daemons_of(place, masters)
    load = Load(place, daemons, keepers=daemons[1:])
    number = generation(daemons[0])
    chance = random.Random("kill")
    for turn in range(6):
        new = place.redis("n%d" % turn)
        out = turn % 3
        begin(daemons[0], "REPLACE", masters[out].socket, new.socket)
        if turn == 0:
            daemons[0].output.wait(r"masters\.asked")
        elif turn == 1:
            daemons[1].output.wait(r"masters\.change_begun", daemons[1].output.mark() - 1)
        else:
            pause(chance.random() * 0.05)
        daemons[0].kill()
        daemons[0].start()
        # It may have been offered or not; who was asked tells nobody any more. One master may have heard of it, and no daemon yet.
        told = settled(daemons)
        while told == number:
            answer = command(daemons[1], "REPLACE", masters[out].socket, new.socket)
            expect(answer == number + 1 or is_late(answer) or "is under way" in answer or "went before it" in answer, True, answer)
            told = settled(daemons)
        expect(told, number + 1, "generation")
        number = told
        masters[out].kill()
        masters[out] = new
        changed(daemons, number, places(masters))
        load.progress()
    load.finish()


@harness.busy
def test_daemon_stands_still(place):
    """a daemon stands still: the change waits for it while it may hold something, and it follows when it wakes"""
    masters = servers(place, 4)
    daemons = daemons_of(place, masters[:3])
    load = Load(place, daemons, keepers=daemons[:2])
    number = generation(daemons[0])
    daemons[2].process.stop()
    asked = Asking(daemons[0], "REPLACE", masters[2].socket, masters[3].socket)
    in_step(daemons[0], asked, "offered", "accepted")
    until("it says for whom it waits", lambda: any(
        master["unacknowledged"] for master in status(daemons[0])["masters"]) or not asked.is_alive())
    asked.join()
    expect(asked.answer, number + 1)
    daemons[2].process.cont()
    masters[2].kill()
    changed(daemons, number + 1, places([masters[0], masters[1], masters[3]]))
    load.progress()
    load.finish()


@harness.busy
def test_kept_master_stands_still(place):
    """a master that stays stands still in the middle of a change, which waits for it; locks go on"""
    masters = servers(place, 4)
    daemons = daemons_of(place, masters[:3])
    load = Load(place, daemons, keepers=daemons[:2])
    number = generation(daemons[0])
    # Held up by a daemon that stands still.
    daemons[2].process.stop()
    asked = Asking(daemons[0], "REPLACE", masters[2].socket, masters[3].socket)
    in_step(daemons[0], asked, "offered", "accepted")
    masters[1].process.stop()
    daemons[2].process.cont()
    until("it is seen", lambda: any(
        master["place"] == masters[1].socket and master["state"] != "admitted"
        for master in status(daemons[0])["masters"]))
    load.progress()
    expect((asked.is_alive(), generation(daemons[0])), (True, number), "it waits")
    masters[1].process.cont()
    asked.join()
    expect(asked.answer, number + 1)
    changed(daemons, number + 1, places([masters[0], masters[1], masters[3]]))
    load.progress()
    load.finish()


def logged(daemons, marks, pattern):
    """When the first of the daemons had this in its log, as text, which sorts; each has it."""
    found = [daemon.output.wait(pattern, mark)[2] for daemon, mark in zip(daemons, marks)]
    return min(daemon.output.since(number)[0][1].split()[0] for daemon, number in zip(daemons, found))


@harness.busy
def test_kept_master_starts_empty(place):
    """a master that stays dies in the middle of a change: an empty server at its address lets it go on"""
    masters = servers(place, 4)
    daemons = daemons_of(place, masters[:3])
    load = Load(place, daemons, keepers=daemons[:2])
    number = generation(daemons[0])
    daemons[2].process.stop()
    asked = Asking(daemons[0], "REPLACE", masters[2].socket, masters[3].socket)
    in_step(daemons[0], asked, "offered", "accepted")
    masters[1].kill()
    daemons[2].process.cont()
    load.progress()
    expect((asked.is_alive(), generation(daemons[0])), (True, number), "it waits")
    marks = [daemon.output.mark() for daemon in daemons]
    masters[1].restart()
    asked.join()
    expect(asked.answer, number + 1)
    # Were two of three without a memory, no lease would be renewed.
    admitted = logged(daemons, marks, "master.admitted master=" + masters[1].socket)
    expect(admitted < logged(daemons, marks, "masters.agreed .*" + masters[3].socket), True, "its guard is waited for")
    changed(daemons, number + 1, places([masters[0], masters[1], masters[3]]))
    load.progress()
    load.finish()


@harness.busy
def test_daemon_without_descriptors(place):
    """a daemon has no descriptor left when the set changes: it uses the newcomer as soon as it has some"""
    masters = servers(place, 4)
    daemons = daemons_of(place, masters[:3])
    load = Load(place, daemons)
    number = generation(daemons[0])
    pid = daemons[2].process.pid
    soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, hard))
    mark = daemons[2].output.mark()
    made(number + 1, daemons[0], "REPLACE", masters[2].socket, masters[3].socket)
    daemons[2].output.wait("link.down master=%s why=\"Too many open files\"" % masters[3].socket, mark)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
    changed(daemons, number + 1, places([masters[0], masters[1], masters[3]]))
    load.progress()
    load.finish()


# --- two at once, and back ----------------------------------------------------------------------------------------

@harness.busy
def test_two_commands(place):
    """two daemons are asked for different changes at the same time: the set is what the answers say"""
    masters = servers(place, 3)
    daemons = daemons_of(place, masters)
    load = Load(place, daemons)
    number = generation(daemons[0])
    for turn in range(3):
        new = [place.redis("n%d-%d" % (turn, n)) for n in range(2)]
        good, late = [], True
        while late and not good:
            asked = [Asking(daemons[n], "REPLACE", masters[n].socket, new[n].socket) for n in range(2)]
            for one in asked:
                one.join()
            good = [n for n in range(2) if isinstance(asked[n].answer, int)]
            late = any(is_late(one.answer) for one in asked)
        for n in set(range(2)) - set(good):
            if not is_late(asked[n].answer):
                expect_code(asked[n].answer, "ERR")
                expect("under way" in asked[n].answer or "went before it" in asked[n].answer, True, asked[n].answer)
        expect(len(good) >= 1, True, "one of them is made: %r" % [one.answer for one in asked])
        for n in good:
            masters[n] = new[n]
        number = max(asked[n].answer for n in good)
        changed(daemons, number, places(masters))
    load.progress()
    load.finish()


def test_abort(place):
    """ABORT while a change is only offered: one of the two is made, who asked for the other is told, and the next is made"""
    masters = servers(place, 5)
    daemons = daemons_of(place, masters[:3])
    number = generation(daemons[0])
    expect_error(command(daemons[0], "ABORT"), "ERR", "no change of the masters is under way")
    # Nobody knows yet that this one has stopped, and so the change is begun.
    masters[1].process.stop()
    asked = Asking(daemons[0], "REPLACE", masters[2].socket, masters[3].socket)
    in_step(daemons[1], asked, "offered")
    offered = masters[0]("HGET", "holdfast:node", "next")
    aborted = Asking(daemons[1], "ABORT")
    until("a later one is offered, or ABORT refused", lambda: masters[0](
        "HGET", "holdfast:node", "next") != offered or not aborted.is_alive())
    masters[1].process.cont()
    for one in (asked, aborted):
        one.join()
    # What was offered may be accepted before the later set is known to all: one is made, and the other is told.
    made, other, members_now = ((aborted, asked, masters[:3]) if isinstance(aborted.answer, int) else
                                (asked, aborted, masters[:2] + masters[3:4]))
    expect(isinstance(made.answer, int) and made.answer > number, True, repr(made.answer))
    expect_error(other.answer, "ERR", "another change of the masters went before it", members_now[2].socket)
    changed(daemons, made.answer, places(members_now))
    # A generation that was offered once is not used again.
    after = command(daemons[0], "REPLACE", members_now[2].socket, masters[4].socket)
    expect_between(after, made.answer + 1, made.answer + 2)
    changed(daemons, after, places(masters[:2] + masters[4:]))


# --- daemons that start with an old list --------------------------------------------------------------------------

@harness.busy
def test_restarted_with_the_old_list(place):
    """a daemon that starts with an old list takes up the set; with masters-follow: no it is refused with what differs"""
    masters = servers(place, 5)
    daemons = daemons_of(place, masters[:3])
    load = Load(place, daemons, keepers=daemons[:2])
    number = generation(daemons[0])
    # While it waits for a daemon: that one is killed, and its successor reads the old list.
    daemons[2].process.stop()
    asked = Asking(daemons[0], "REPLACE", masters[2].socket, masters[3].socket)
    in_step(daemons[0], asked, "offered", "accepted")
    daemons[2].kill()
    daemons[2].start()
    asked.join()
    expect(asked.answer, number + 1)
    changed(daemons, number + 1, places(masters[:2] + masters[3:4]))
    # Two changes later, and one of those that left is off.
    made(number + 2, daemons[1], "REPLACE", masters[1].socket, masters[4].socket)
    masters[2].kill()
    late = place.daemon("late", master=masters[:3], config=CONFIG).admitted()
    changed(daemons + [late], number + 2, places([masters[0], masters[3], masters[4]]))
    stubborn = place.daemon("stubborn", master=masters[:3], config=CONFIG + "masters-follow: no\n")
    line = stubborn.output.wait(r"master\.refused.*another set.*")[1].group(0)
    for master in masters[1:5]:
        expect(master.socket in line, True, "%s in %s" % (master.socket, line))
    with resp.Client(stubborn.socket) as client:
        expect_code(client("LOCK", "a", "WAIT", 0), "NOMASTER")
    load.progress()
    load.finish()


def test_list_with_a_stranger(place):
    """a list with a server that never belonged to the set is refused, also after a change"""
    masters = servers(place, 5)
    daemons = daemons_of(place, masters[:3], count=1)
    number = generation(daemons[0])
    made(number + 1, daemons[0], "REPLACE", masters[2].socket, masters[3].socket)
    stranger = place.daemon("stranger", master=[masters[0], masters[1], masters[4]], config=CONFIG)
    stranger.output.wait(r"master\.refused")
    with resp.Client(stranger.socket) as client:
        expect_code(client("LOCK", "a", "WAIT", 0), "NOMASTER")
    expect(masters[4]("HGET", "holdfast:node", "set") in (None, ""), True, "it is given no set")


# --- what is refused ----------------------------------------------------------------------------------------------

def test_refused(place):
    """whatever cannot be made is refused with the reason, and the set is as it was"""
    masters = servers(place, 4)
    daemons = daemons_of(place, masters[:3], count=2)
    number = generation(daemons[0])
    spare = masters[3]
    nobody = "127.0.0.1:%d" % harness.free_port()
    asked = [
        (("REPLACE", masters[2].socket, nobody), "NOMASTER", (nobody, "cannot be used", "refused", "nothing has changed")),
        (("REPLACE", "r9:6379", spare.socket), "ERR", ("r9:6379 is no member", *places(masters[:3]))),
        (("REPLACE", masters[0].socket, masters[1].socket), "ERR", (masters[1].socket, "is a member of the set already")),
        (("REPLACE", masters[0].socket, "somewhere"), "ERR", ("host:port",)),
        (("ADD", spare.socket, spare.socket), "ERR", ("is named twice",)),
        (("ADD", spare.socket, nobody), "NOMASTER", (nobody, "nothing has changed")),
        (("REMOVE", masters[0].socket), "ERR", ("MASTERS HELP",)),
    ]
    for words, code, parts in asked:
        expect_error(command(daemons[0], *words), code, *parts)
        unchanged(daemons, number, masters[:3])
    masters[1].process.stop()
    client = daemons[0].client()

    def silent():
        client("LOCK", "a", "WAIT", 0)
        client("UNLOCK", "a")
        return any(master["state"] == "silent" for master in status(daemons[0])["masters"])
    until("it is known to be silent", silent)
    expect_error(command(daemons[0], "REPLACE", masters[2].socket, spare.socket), "NOMASTER", masters[1].socket,
                 "which stays", "nothing has changed")
    masters[1].process.cont()
    until("it is known to answer again", lambda: not silent())
    # The one to be replaced may be dead.
    masters[2].kill()
    made(number + 1, daemons[0], "REPLACE", masters[2].socket, spare.socket)


def test_newcomer_of_others(place):
    """a master that daemons of another set use is not taken away from them"""
    masters = servers(place, 6)
    mine = daemons_of(place, masters[:3], count=1)[0]
    theirs = place.daemon("theirs", master=masters[3:], config=CONFIG).admitted()
    before = theirs.info()["masters_set"]
    number = generation(mine)
    expect_error(command(mine, "REPLACE", masters[2].socket, masters[5].socket), "ERR", "another set of masters")
    unchanged([mine], number, masters[:3])
    expect(theirs.info()["masters_set"], before)
    expect(isinstance(theirs.client()("LOCK", "a", "WAIT", 0), int), True, "they go on")


def test_only_master(place):
    """a single master is not replaced by another server: nobody else could tell that it has left"""
    masters = servers(place, 2)
    daemon = daemons_of(place, masters[0], count=1)[0]
    number = generation(daemon)
    expect_error(command(daemon, "REPLACE", masters[0].socket, masters[1].socket), "ERR", "the only master", "add two")
    unchanged([daemon], number, masters[:1])


def test_private_master(place):
    """the private server of a daemon cannot be changed"""
    daemon = place.daemon("d1", config=CONFIG).admitted()
    other = place.redis("r0")
    expect_error(command(daemon, "REPLACE", status(daemon)["masters"][0]["place"], other.socket), "ERR", "private")


# --- the client ---------------------------------------------------------------------------------------------------

def test_client(place):
    """holdfast masters shows the set, changes it, and says by its exit code what came of it"""
    masters = servers(place, 4)
    daemon = daemons_of(place, masters[:3], count=1)[0]
    number = generation(daemon)
    code, text = tool.call(place, daemon, "masters")
    expect(code, 0, text)
    expect("generation %d, agreed; no change is under way" % number in text, True, text)
    for master in masters[:3]:
        expect(master.socket in text, True, text)
    code, text = tool.call(place, daemon, "masters", "replace", "nowhere:1", masters[3].socket)
    expect((code, "nowhere:1 is no member" in text), (64, True), text)
    code, text = tool.call(place, daemon, "masters", "abort")
    expect((code, "no change" in text), (64, True), text)
    code, text = tool.call(place, daemon, "masters", "replace", masters[2].socket, masters[3].socket)
    expect((code, "generation %d is in force" % (number + 1) in text, masters[3].socket in text), (0, True, True), text)
    code, text = tool.call(place, daemon, "masters", "status", "--json")
    expect((code, '"generation": %d' % (number + 1) in text or '"generation":%d' % (number + 1) in text), (0, True), text)
    daemon.process.stop()
    waits = tool.start(place, daemon, "masters")
    daemon.kill()
    expect(waits.wait(), 69, waits.output.text())


def test_administrators_only(place):
    """users that are no administrators are refused, and nothing happens"""
    masters = servers(place, 4)
    users = "users:\n  - { name: clerk, password-env: CLERK }\n"
    daemon = place.daemon("d1", master=masters[:3], tcp=True, config=CONFIG + users, environment={"CLERK": "pw"})
    daemon.admitted()
    number = generation(daemon)
    clerk = daemon.client(tcp=True)
    expect(clerk("AUTH", "clerk", "pw"), "OK")
    for words in ((), ("REPLACE", masters[2].socket, masters[3].socket), ("ADD", "a:1", "b:1"), ("ABORT",)):
        expect_code(clerk("MASTERS", *words), "NOPERM")
    unchanged([daemon], number, masters[:3])


if __name__ == "__main__":
    harness.main(globals())
