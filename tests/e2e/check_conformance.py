#!/usr/bin/env python3
"""One behaviour for all packages in client/, the command line, and programs without a package. A scene is a row of the table: what the
program does, what happens around it, and what it has to see. All play it side by side, each with names of its own. tests/conformance has
the programs; LACKS in conformance.py says what one of them cannot have."""

import os
import re
import time

import harness
import proxy
from clients import taken
from conformance import PACKAGES, Team
from harness import BRISK, PATIENCE, boottime, expect, expect_between

LEASE = 2.0  # seconds, of BRISK
OK = "ok"
HELD = r"held \d+"


def world(place, config=BRISK, needs=(), **options):
    daemon = place.daemon(master=place.redis(), config=config, **options).admitted()
    return daemon, Team(place, daemon.socket, *needs)


def stand(daemon, teams, seconds):
    """The programs stand still for so long, while the daemon keeps what they have."""
    for team in teams:
        team.stop()
    until = boottime() + seconds
    while boottime() < until:
        for team in teams:
            taken(daemon, team.players[0].who)
        time.sleep(0.2)


class Older(proxy.Proxy):
    """Before a daemon of today, one of before: it takes no VALIDITY with ASYNC."""

    WORD = b"VALIDITX"  # as long as VALIDITY, and unknown
    asked = 0

    def passing(self, direction, data):
        if direction == proxy.UP:
            self.asked += len(re.findall(rb"\r\nVALIDITY\r\n", data))
            return data.replace(b"\r\nVALIDITY\r\n", b"\r\n%s\r\n" % self.WORD)
        return re.sub(rb"-ERR unknown option '%s'[^\r]*" % self.WORD,
                      b"-ERR VALIDITY and ASYNC exclude each other; send CHECK after the grant", data)


def test_older_daemon(place):
    """a daemon that does not tell with a grant for how long it is good, as one of before: each asks it, once for each connection"""
    daemon = place.daemon(master=place.redis(), config=BRISK, tcp=True).admitted()
    older = Older(daemon.tcp)
    place.ends.append(older.close)
    team = Team(place, "%s:%d" % older.address, "an older daemon")
    other = daemon.client()
    for player in team.players:
        other("LOCK", "%s-b" % player.who)
    team.ask("1", "lock", "{who}-a", "wait=%d" % PATIENCE, wanted=HELD)
    team.tell("2", "lock", "{who}-b", "wait=%d" % PATIENCE)
    for player in team.players:
        daemon.queued("%s-b" % player.who)
        other("UNLOCK", "%s-b" % player.who)
    team.hear("2", "lock", HELD)
    expect_between(min(map(int, team.ask("1", "valid", wanted=r"\d+").values())), 1, 1000 * LEASE)
    for name in ("1", "2"):
        team.ask(name, "unlock", wanted=OK)
    expect(older.asked, len(team.players))


# --- a break -----------------------------------------------------------------------------------------------------------------


def test_broken(place):
    """an administrator breaks its lock: it hears of the loss, and nobody has the name until it gives the lock up, and then at once"""
    daemon, team = world(place, "lease: 120s\n")
    held = team.ask("1", "lock", "{who}", wanted=HELD)
    with daemon.client() as admin:
        for who, said in held.items():
            admin("BREAK", who, "TOKEN", said.split()[1])
        team.having("told").hear("1", "told", "broken")
        for player in team.having("work after a loss").players:
            expect(admin("LOCK", player.who, "WAIT", 0), None, "%s may work still" % player.who)
        team.ask("1", "unlock", wanted="lost:broken 1")
        for who in held:
            expect(isinstance(admin("LOCK", who, "WAIT", int(1000 * PATIENCE)), int), True, who)


# --- a process that stood still ----------------------------------------------------------------------------------------------


@harness.alone
def test_stood_still(place):
    """stands still for longer than a lease, while the daemon renews its lock, over a socket and over TCP: it has the lock"""
    daemon, team = world(place, tcp=True)
    remote = Team(place, "%s:%d" % daemon.tcp, "tcp")
    for one, suffix in ((team, ""), (remote, "-tcp")):
        one.ask("1", "lock", "{who}" + suffix, "wait=%d" % PATIENCE, wanted=HELD)
    stand(daemon, [team, remote], 6)  # longer than a daemon may be silent over TCP
    for one in (team, remote):
        one.tell("1", "check")  # each reads it when it goes on
        one.cont()
    for one in (team, remote):
        one.hear("1", "check", OK)
        expect_between(min(map(int, one.ask("1", "valid", wanted=r"\d+").values())), 1, 1000 * LEASE)
        one.ask("1", "unlock", wanted=OK)
        one.silent("1", "told")


@harness.alone
def test_stood_still_and_lost(place):
    """stands still, and its lock is broken and taken by another: it hears of the loss, and check does not say before that it is held"""
    daemon, team = world(place)
    held = team.ask("1", "lock", "{who}", wanted=HELD)
    team.stop()
    with daemon.client() as admin:
        for who, said in held.items():
            admin("BREAK", who, "TOKEN", said.split()[1])
        for who in held:
            expect(isinstance(admin("LOCK", who), int), True, "when what the holder was told is over")
    team.tell("1", "check")
    team.cont()
    team.hear("1", "check", "lost:broken 1")
    team.having("told").hear("1", "told", "broken")
    team.ask("1", "unlock", wanted="lost:broken 1")


@harness.alone
def test_stood_still_with_a_question(place):
    """stands still while its question about the lock is under way: the answer of before is old, and it asks again"""
    daemon, team = world(place, "lease: 5s\nclock-margin: 200ms\n")
    team.ask("1", "lock", "{who}", wanted=HELD)
    daemon.process.stop()
    time.sleep(2)  # more than the third of a lease after which it asks, and less than a lease
    team.stop()
    daemon.process.cont()
    stand(daemon, [], 5.5)
    for player in team.players:
        taken(daemon, player.who)
    team.tell("1", "check")
    team.cont()
    team.hear("1", "check", OK)
    team.silent("1", "told")


@harness.alone
def test_stood_still_and_cut(place):
    """stands still for longer than a lease, and its connection is cut meanwhile: it comes back, asks, and has the lock"""
    daemon, team = world(place, needs=["a way back"])
    team.ask("1", "lock", "{who}", wanted=HELD)
    team.stop()
    with daemon.client() as admin:
        lines = [line for line in admin("CLIENT", "LIST").splitlines() if re.search(r"name=(go|Player|player)", line)]
        kept = team.having("a kept connection").players
        expect(len(lines), len(kept) + ("run" in [player.who for player in kept]))  # it has a second one, the tether
        for line in lines:
            admin("CLIENT", "KILL", "ID", re.search(r"\bid=(\d+)", line).group(1))
    stand(daemon, [], 1.5 * LEASE)
    for player in team.players:
        taken(daemon, player.who)
    team.tell("1", "check")
    team.cont()
    team.hear("1", "check", OK)
    team.silent("1", "told")


@harness.alone
def test_stood_still_without_daemon(place):
    """stands still, and the daemon is gone: after a second without an answer the lock counts as lost"""
    daemon, team = world(place)
    team.ask("1", "lock", "{who}", wanted=HELD)
    team.stop()
    daemon.kill()
    time.sleep(1.5 * LEASE)
    team.tell("1", "check")
    team.cont()
    team.having("a deadline of its own").hear("1", "check", "lost:unreachable 1")
    team.having("a deadline of its own").hear("1", "told", "unreachable")
    team.lacking("a deadline of its own").hear("1", "check", "unreachable 1 ")


@harness.alone
def test_stood_still_beyond_a_lease(place):
    """stands still beyond the lease that it asked for: that is a loss"""
    _, team = world(place)
    team.ask("1", "lock", "{who}", "lease=1", wanted=HELD)
    team.stop()
    time.sleep(1.5)
    team.tell("1", "check")
    team.cont()
    team.hear("1", "check", "lost:lease 1")


@harness.alone
def test_stood_still_in_the_queue(place):
    """stands still while it waits: a grant of that time counts, and so does the end of the wait"""
    daemon, team = world(place)
    with daemon.client() as other:
        for player in team.players:
            other("LOCK", player.who)
            other("LOCK", player.who + "-busy")
        team.tell("1", "lock", "{who}", "wait=%d" % PATIENCE)
        team.tell("2", "lock", "{who}-busy", "wait=1")
        for player in team.players:
            daemon.queued(player.who)
            daemon.queued(player.who + "-busy")
        team.stop()
        for player in team.players:
            other("UNLOCK", player.who)
        time.sleep(4)
        for player in team.players:
            taken(daemon, player.who)
        team.cont()
        team.hear("1", "lock", HELD)
        team.hear("2", "lock", "timeout 1 ")
        team.ask("1", "check", wanted=OK)


# --- arguments ---------------------------------------------------------------------------------------------------------------

NAME = "name: 1 to 512 bytes without spaces and control characters are needed, not "
TIME = ": a time from 1 ms to 365 days is needed, not "
WRONG = (  # what the program says of the lock, and what it is told; without the spelling that its language has for an option
    (("%20",), NAME),
    (("a%20b",), NAME),
    (("a%0Ab",), NAME),
    (("a%C2%85b",), NAME),
    (("x" * 513,), NAME),
    (("%7Da",), "name: it must not begin with }"),
    (("a", "wait=-5"), "wait: a time from 0 to 365 days is needed, not "),
    (("a", "lease=-5"), "lease" + TIME),
    (("a", "lease=long"), "lease" + TIME),
    (("a", "lease=forever"), "lease" + TIME),
    (("a", "max_hold=-5"), "max_?hold" + TIME),
    (("a", "max_hold=long"), "max_?hold" + TIME),
    (("a", "max_hold=forever"), "max_?hold" + TIME),
    (("a", "limit=-1"), "limit: a whole number from 1 to 10000 is needed, not -1"),
    (("a", "limit=10001"), "limit: a whole number from 1 to 10000 is needed, not 10001"),
    (("a", "permits=2"), "permits needs a limit"),
    (("a", "limit=3", "permits=4"), "permits: a whole number from 1 to 3 is needed, not 4"),
    (("a", "limit=3", "permits=-1"), "permits: a whole number from 1 to (3|10000) is needed, not -1"),
    (("a", "shared=1", "limit=3"), "a lock is shared, or has a limit, not both"),
    (("a", "why=" + "x" * 257), "why: at most 256 bytes without control characters are needed, not "),
    (("a", "why=a%0Ab"), "why: at most 256 bytes without control characters are needed, not "),
)


def test_wrong_arguments(place):
    """a wrong argument is refused in the same words, is no error to try again, and nothing is sent"""
    _, everybody = world(place)
    checking = everybody.having("checks", "options of packages")
    for number, (words, text) in enumerate(WRONG):
        team = checking.having("signs") if any("=-" in word for word in words) else checking
        # The library for C names its fields, which are in ms, and 0 is what is not set.
        unset = text.replace("a time from 1 ms", "a time from (1 ms|0)")
        team.ask(str(number), "lock", *words, wanted="(?i)invalid 0 (cannot lock: )?" + unset.replace(": ", "(_ms)?: ", 1)
                 if TIME in text or text.startswith("wait") else "invalid 0 (cannot lock: )?" + text)
    for player in everybody.having("zero").players:
        player.tell("n", "lock", "a", "lease=0")
        expect(player.said("n", "lock").startswith("invalid 0 lease" + TIME), True, player.said("n", "lock"))
        player.tell("n", "lock", "a", "limit=0")
        expect(player.said("n", "lock").startswith("invalid 0 limit: a whole number from 1 to 10000"), True, player.said("n", "lock"))
        player.tell("n", "lock", "a", "owner=a%20b")
        expect(player.said("n", "lock").startswith("invalid 0 owner: 1 to 96 bytes without spaces and control characters are needed"),
               True, player.said("n", "lock"))
    for player in everybody.having("nan").players:
        for option, least in (("wait", "0"), ("lease", "1 ms")):
            player.tell("n", "lock", "a", option + "=nan")
            expect(player.said("n", "lock").startswith("invalid 0 %s: a time from %s to 365 days is needed, not " % (option, least)),
                   True, player.said("n", "lock"))


BY_COMMAND = (  # the same for the command line, whose words are those of its options
    (("%20",), "bad name ' ': it contains a space"),
    (("x" * 513,), "bad name 'x+': it is too long"),
    (("%7Da",), "bad name '}a': it begins with '}'"),
    (("a", "wait=-5"), "--timeout -5: a time from 0 to 31536000 seconds "),
    (("a", "wait=nan"), "--timeout nan: a time from 0 to 31536000 seconds "),
    (("a", "lease=0"), "--lease 0: a time from 0.001 to 31536000 seconds "),
    (("a", "lease=long"), "--lease 366d: a time from 0.001 to 31536000 seconds "),
    (("a", "limit=0"), "--slots 0: a number from 1 to 10000 is allowed"),
    (("a", "limit=10001"), "--slots 10001: a number from 1 to 10000 is allowed"),
    (("a", "shared=1", "limit=3"), "--exclusive, --shared and --slots exclude each other"),
    (("a", "why=" + "x" * 257), "bad --why 'x+': it is too long"),
    (("a", "why=a%0Ab"), r"bad --why 'a\\nb': it contains a control character"),
)


def test_wrong_options(place):
    """a wrong option is refused before a daemon is looked for; who sends the protocol hears it from the daemon"""
    team = Team(place, place.path + "/nothing.sock").lacking("options of packages")
    for number, (words, text) in enumerate(BY_COMMAND):
        team.ask(str(number), "lock", *words, wanted="invalid 0 " + text)
    _, everybody = world(place)
    for number, (words, _) in enumerate(WRONG):
        if "=forever" not in words[-1]:  # for which no number stands in the protocol
            everybody.lacking("checks").ask(str(number), "lock", *words, wanted="refused:(ERR|LIMIT) 0 ")


def test_forever(place):
    """a wait of more than a year, as the longest time that a language has for `for ever`, is a wait of a year; odd names are names"""
    _, team = world(place)
    for number, (name, wait) in enumerate((("{who}", "forever"), ("{who}", "long"), ("%C3%A4%E2%82%AC/{who}:*?[", "forever"),
                                           ("{who}" + "x" * 400, "31536000"))):
        part = team.having("a longer wait") if wait == "long" else team
        part.ask(str(number), "lock", name, "wait=" + wait, "why=LEASE", wanted=HELD)
        part.ask(str(number), "unlock", wanted=OK)


# --- crowds ------------------------------------------------------------------------------------------------------------------


def test_crowd(place):
    """more tasks of one program want one lock, or two at once, than the daemon lets a session wait: all get it, one at a time, and
    the program has one place in the daemon's queue"""
    daemon, team = world(place, "limits: { waiters-per-session: 5 }\n")
    with daemon.client(form=3) as other:
        for player in team.players:
            other("LOCK", player.who)
        team.tell("1", "crowd", 60, "{who}", 2 * PATIENCE)
        for player in team.players:
            daemon.queued(player.who)
        time.sleep(0.2)
        waiting = {player.who: len(other("INSPECT", player.who)["waiters"]) for player in team.players}
        one = [player.who for player in team.having("one place").players]
        expect({who: waiting[who] for who in one}, dict.fromkeys(one, 1))
        for player in team.players:
            other("UNLOCK", player.who)
    team.hear("1", "crowd", "60 1 ")
    team.having("several names").ask("2", "crowd", 40, "{who}-a,{who}-b", 2 * PATIENCE, wanted="40 1 ")


# --- errors ------------------------------------------------------------------------------------------------------------------


def test_busy(place):
    """another has the name: busy at once, or a timeout, which is busy, too; both are worth another try"""
    daemon, team = world(place)
    with daemon.client() as other:
        other("LOCK", "a")
        team.tell("1", "lock", "a", "wait=0")
        team.tell("2", "lock", "a", "wait=0.2")
        team.hear("1", "lock", "(busy|timeout) 1 ")
        team.hear("2", "lock", "timeout 1 ")


def test_holder(place):
    """a wait ends, and its error names who has the lock; a try does not ask. A wait that lasts is told so, with the holder and the
    place in the queue"""
    daemon, team = world(place)
    with daemon.client() as other:
        tokens = {player.who: other("LOCK", player.who, "WHY", "import") for player in team.players}
        team.ask("1", "lock", "{who}", "wait=0.2", wanted="timeout 1 ")
        team.ask("2", "lock", "{who}", "wait=0", wanted="(busy|timeout) 1 ")
        told = team.having("a token of others").ask("1", "holder", wanted="pid ")
        expect(told, {who: "pid %d %d import" % (os.getpid(), tokens[who]) for who in told})
        team.lacking("a token of others").ask("1", "holder", wanted="pid %d import$" % os.getpid())
        team.having("a quiet try").ask("2", "holder", wanted="nobody")
        team.tell("3", "lock", "{who}", "wait=%d" % PATIENCE, "watch=3")
        team.having("news of a wait").hear("3", "waits", r"%d 1 (99\d|\d{4,}) ?$" % os.getpid())
        for who in tokens:
            other("UNLOCK", who)
        team.hear("3", "lock", HELD)


def test_itself(place):
    """waits for a lock that the program itself has: the error says so"""
    _, team = world(place, needs=["one program"])
    team.ask("1", "lock", "{who}", wanted=HELD)
    team.ask("2", "lock", "{who}", "wait=0.2", wanted="timeout 1 .*(this process holds it itself, for|another lock of this process had it)")
    team.ask("1", "unlock", wanted=OK)


def test_refused(place):
    """the daemon refuses: what passes is worth another try, what only the program or an administrator can change is not"""
    daemon, team = world(place, BRISK + "limits: { name-bytes: 100, grants-per-session: 2 }\n")
    with daemon.client() as other:
        other("LOCK", "permits", "LIMIT", 3)
        team.ask("1", "lock", "permits", "wait=0", wanted="refused:WRONGKIND 0 ")
        team.ask("1", "lock", "x" * 101, wanted="refused:LIMIT 0 ")
        for name in "ab":
            team.ask(name, "lock", "{who}-" + name, wanted=HELD)
        team.having("one session").ask("1", "lock", "{who}-c", wanted="refused:LIMIT 1 ")
        team.having("extend").ask("a", "extend", 5, wanted="refused:ERR 0 ")
        other("DRAIN")
        team.ask("1", "lock", "{who}-d", "wait=0.5", wanted="(refused:DRAINING|timeout|unreachable) 1 ")


def test_no_master(place):
    """the master is gone: refused, and worth another try"""
    redis = place.redis()
    daemon = place.daemon(master=redis, config=BRISK).admitted()
    team = Team(place, daemon.socket)
    redis.kill()
    team.ask("1", "lock", "{who}", "wait=0.5", wanted="refused:(NOMASTER|MASTERERR) 1 ")


def test_silent_daemon(place):
    """the daemon stands still: who waits, and who asks then, hears that it is unreachable, also without a bound of the wait"""
    daemon, team = world(place, "", tcp=True)
    remote = Team(place, "%s:%d" % daemon.tcp, "tcp")
    with daemon.client() as other:
        for one, name in ((team, "{who}"), (remote, "{who}-tcp")):
            for player in one.players:
                other("LOCK", name.replace("{who}", player.who))
            one.tell("1", "lock", name)
        for player in team.players + remote.players:
            daemon.queued(player.who + ("" if player in team.players else "-tcp"))
        daemon.process.stop()
        for one in (team, remote):
            one.tell("2", "lock", "{who}-new")
        for one in (team, remote):
            one.having("an endless wait that ends").hear("1", "lock", "unreachable 1 ")
            one.hear("2", "lock", "unreachable 1 ")
        daemon.process.cont()
        for one, name in ((team, "{who}"), (remote, "{who}-tcp")):
            for player in one.players:
                other("UNLOCK", name.replace("{who}", player.who))
            one.lacking("an endless wait that ends").hear("1", "lock", HELD)
            one.lacking("an endless wait that ends").ask("1", "unlock", wanted=OK)
            one.ask("3", "lock", name, "wait=%d" % PATIENCE, wanted=HELD)  # what was given up is no waiter any more
            one.ask("3", "unlock", wanted=OK)


def test_no_daemon(place):
    """no daemon: unreachable, and worth another try, and a wait that lasts is told so; something else answers there: unreachable, and
    not worth one"""
    team = Team(place, place.path + "/nothing.sock")
    team.ask("1", "lock", "a", "wait=0.5", wanted="unreachable 1 ")
    told = team.only(PACKAGES)
    told.tell("2", "lock", "a", "wait=1.5", "watch=3")
    told.hear("3", "waits", r"[-0]1? [-0] (99\d|\d{4,}) ?$")
    told.hear("2", "lock", "unreachable 1 ")
    foreign = Team(place, place.redis().socket)
    foreign.ask("1", "lock", "a", "wait=0.5", wanted="unreachable 0 ")


if __name__ == "__main__":
    harness.main(globals())
