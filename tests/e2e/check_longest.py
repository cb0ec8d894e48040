#!/usr/bin/env python3
"""TOP: the locks that are waited for longest, of one daemon and of all, and what each daemon says of itself."""

import harness
import resp
from check_fleet import Liar, QUIET, daemon_id, fleet_of, hold, message, named, secret_of
from harness import boottime, expect, expect_between, expect_code


def rows(answer):
    """The locks of an answer, as maps."""
    locks = answer[1]
    return [dict(zip(locks[0], row)) for row in locks[1:]]


def top(client, *words, silent=0):
    """TOP FLEET when so many daemons are silent and the others have looked at all names."""
    return harness.until("%d daemons are silent" % silent, lambda: [
        answer for answer in [client("TOP", *words, "FLEET")]
        if isinstance(answer, list) and len(answer[2]) == silent and all(one["complete"] for one in answer[0])])[0]


def later():
    """Waits until what begins now is younger than what began before."""
    began = boottime()
    harness.until("it is later", lambda: boottime() > began + 0.02)


def wait_for(daemon, name, count=1):
    waiter = daemon.client()
    waiter.send("LOCK", name, "WAIT", 600000)
    daemon.queued(name, count)
    later()
    return waiter


def test_one(place):
    """the locks of a daemon, those first that have been waited for longest, then those that are held longest; no latches"""
    daemon = place.daemon(master=place.redis()).admitted()
    client, plain = daemon.client(3), daemon.client()
    expect(client("TOP")[1:], [[], []])
    for name in ("a", "b", "c", "d"):
        expect(client("LOCK", name, "WHY", "because") > 0, True)
        later()
    expect(client("LATCH", "gate", "SET", 2), 1)
    waiters = [wait_for(daemon, name) for name in ("c", "b")]
    later()
    host, = client("TOP")[0]
    expect([host[key] for key in ("held", "waiters", "available", "masters", "masters_usable", "health", "complete", "cut")],
           [4, 2, 1, 1, 1, "", 1, 0])
    expect_between(host["longest_wait_ms"], 40, 60000)

    def names(*words):
        return [one["name"] for one in rows(client("TOP", *words))]
    # What was found a moment ago is looked at again: a lock that was given back is not there, and a waiter that has it
    # waits no more.
    harness.until("they are found", lambda: names() == ["c", "b", "a", "d"])
    expect((names("COUNT", 3), names("MATCH", "[bd]"), names("MATCH", "x*")), (["c", "b", "a"], ["b", "d"], []))
    first = rows(client("TOP"))[0]
    expect([first[key] for key in ("state", "why", "waiters", "daemon")], ["held", "because", 1, daemon_id(daemon)])
    expect(client("UNLOCK", "c"), 0)
    expect(waiters[0].reply() > 0, True)
    expect((names()[0], [one["waiters"] for one in rows(client("TOP")) if one["name"] == "c"]), ("b", [0]))
    expect(client("UNLOCK", "a"), 0)
    expect("a" in names(), False)
    # RESP2 has the same, flat.
    flat = plain("TOP", "MATCH", "b")
    expect((flat[0][0][0], flat[1][0][0:3], flat[1][1][2], flat[2]), ("host", ["host", "daemon", "name"], "b", []))


def test_all(place):
    """from whatever host: the locks of all hosts, the longest wait first, with the host; a name that is held at one and waited
    for at another is there for each"""
    daemons = fleet_of(place)
    holders = [daemon.client(3) for daemon in daemons]
    for at, holder in enumerate(holders):
        expect(holder("LOCK", "a%d" % at) > 0, True)
        later()
    waiters = [wait_for(daemons[at], "a%d" % at) for at in (2, 0, 1)] + [wait_for(daemons[1], "a0")]
    hosts = [daemons[at].host for at in (2, 0, 1)]
    for daemon in daemons:
        client = daemon.client(3)
        answer = top(client)
        expect(sorted(one["daemon"] for one in answer[0]), sorted(map(daemon_id, daemons)))
        expect([(one["name"], one["host"], one["state"]) for one in rows(answer)],
               list(zip(("a2", "a0", "a1"), hosts, ("held",) * 3)) + [("a0", daemons[1].host, "waiting")])
        expect(sorted((one["held"], one["waiters"]) for one in answer[0]), [(1, 1), (1, 1), (1, 2)])
        expect([one["name"] for one in rows(top(client, "COUNT", 2))], ["a2", "a0"])
        expect([one["name"] for one in rows(top(client, "MATCH", "*1"))], ["a1"])
        expect([one["name"] for one in rows(client("TOP"))][0], "a%d" % daemons.index(daemon))
    expect(len(waiters), 4)


def test_silent(place):
    """a daemon that stands still is named, and the others are shown; one that does not know the question says so, and is asked other things
    all the same; an answer that does not fit is none"""
    redis = place.redis()
    daemons = fleet_of(place, 2, redis)
    ident = daemon_id(daemons[1])
    client = daemons[0].client(3)
    expect(client("LOCK", "a") > 0, True)
    daemons[1].process.stop()
    silent = top(client, silent=1)[2]
    expect([(one["daemon"], one["host"], one["error"]) for one in silent], [(ident, daemons[1].host, "")])
    expect([one["name"] for one in rows(top(client, silent=1))], ["a"])
    liar = Liar(redis, ident)

    def told(answer):
        liar.answer, before = answer, liar.asked
        return harness.until("it is asked", lambda: [
            seen for seen in [client("TOP", "FLEET")] if liar.asked > before])[0]
    good = "%1\r\n$4\r\nhost\r\n$1\r\nx\r\n"
    for wrong in ("$-1\r\n", "*0\r\n", ":5\r\n", "*2\r\n:1\r\n*0\r\n", "*2\r\n%0\r\n*0\r\n", "*2\r\n" + good + ":1\r\n",
                  "*2\r\n" + good + "*1\r\n:1\r\n", "*2\r\n" + good + "*1\r\n*1\r\n$1\r\na\r\n",
                  "*2\r\n" + good + "*2\r\n*1\r\n$4\r\nname\r\n*0\r\n", "*2\r\n" + good + "*2\r\n*1\r\n$4\r\nname\r\n*1\r\n*0\r\n",
                  "*3\r\n" + good + "*0\r\n:1\r\n", "*2\r\n" + good + "*0\r\n*0\r\n"):
        answer = told(wrong)
        expect(([one["daemon"] for one in answer[2]], [one["name"] for one in rows(answer)]), ([ident], ["a"]), wrong)
    expect([one["error"] for one in told("-ERR this daemon is of another version\r\n")[2]], ["ERR this daemon is of another version"])
    expect([one["host"] for one in told("*2\r\n" + good + "*0\r\n")[0]], ["x", daemons[0].host] if ident < daemon_id(
        daemons[0]) else [daemons[0].host, "x"])
    # A neighbouring version: other keys, in another order. Its rows are put into the order of the first list.
    answer = told("*2\r\n" + good + "*2\r\n*6\r\n$4\r\nmore\r\n$15\r\nlongest_wait_ms\r\n$7\r\nwaiters\r\n$4\r\nname\r\n$5\r\ntoken\r\n"
                  "$7\r\nheld_ms\r\n*6\r\n:9\r\n:70000\r\n:1\r\n$1\r\nz\r\n:7\r\n:80000\r\n")
    found = {one["name"]: one for one in rows(answer)}
    expect([one["name"] for one in rows(answer)], ["z", "a"])
    expect((found["z"]["longest_wait_ms"], found["z"]["token"], set(map(len, answer[1]))), (70000, 7, {len(answer[1][0])}))
    # What was cut for want of room: the list ends there.
    answer = told("*2\r\n%2\r\n$4\r\nhost\r\n$1\r\nx\r\n$3\r\ncut\r\n:1\r\n*0\r\n")
    expect((answer[1], [one["host"] for one in answer[0] if one.get("cut")]), ([], ["x"]))


def test_older(place):
    """a request that this daemon does not know, as one of a later version may send, is answered with an error, which says so"""
    redis = place.redis()
    first, second = fleet_of(place, 2, redis)
    client = first.client(3)
    # A question of a later daemon, which whoever knows the secret can send.
    ears, me = resp.Client(redis.socket), "f" * 32
    ears("SUBSCRIBE", "holdfast:inbox:" + me)
    text = message("ask", secret_of(redis, daemon_id(second)), "%s %016x 3 4096 *1\r\n$6\r\nFUTURE\r\n" % (me, 7))
    redis("PUBLISH", "holdfast:inbox:" + daemon_id(second), text)
    expect("-ERR this daemon is of another version" in ears.reply()[2], True)
    expect(client("PING"), "PONG")


def test_who_may(place):
    """a user with some names sees the locks of these; all hosts are for administrators; without see there is nothing"""
    users = ("users: [ { name: some, password-env: SECRET, names: [ 'job/*' ] }, { name: blind, password-env: SECRET, may: [ lock ] },\n"
             "  { name: boss, password-env: SECRET, may: [ admin ] } ]\n")
    daemon = named(place, 1, place.redis(), QUIET + users, tcp=True, environment={"SECRET": "x"}).admitted()
    holder = daemon.client()
    for name in ("job/1", "mine", "job/2"):
        expect(holder("LOCK", name) > 0, True)
        later()
    clients = {}
    for user in ("some", "blind", "boss"):
        clients[user] = daemon.client(tcp=True)
        clients[user]("AUTH", user, "x")
        clients[user]("HELLO", 3)
    expect([one["name"] for one in rows(clients["some"]("TOP"))], ["job/1", "job/2"])
    expect([one["name"] for one in rows(clients["boss"]("TOP", "FLEET"))], ["job/1", "mine", "job/2"])
    expect([one["name"] for one in rows(clients["some"]("TOP", "MATCH", "*i*"))], [])
    for user, words in (("some", ("TOP", "FLEET")), ("blind", ("TOP",))):
        expect_code(clients[user](*words), "NOPERM")
    # Searches are bounded: who asks for ever other names is refused, and the others are not.
    answers = [clients["some"]("TOP", "MATCH", "x%d*" % number) for number in range(40)]
    refused = [answer for answer in answers if not isinstance(answer, list)]
    expect_between(len(refused), 1, 39)
    for answer in refused:
        expect_code(answer, "LIMIT")
    expect([one["name"] for one in rows(clients["some"]("TOP"))], ["job/1", "job/2"])


def test_many(place):
    """of many thousand locks the one that is waited for is the first, and all are looked at within a second or two"""
    daemon, other = fleet_of(place, 2, config="log: { level: warning }\nlease: 10m\n")
    holders = [hold(daemon, ["job/%06d" % number for number in range(start, start + 5000)]) for start in (0, 5000, 10000, 15000)]
    waiter = wait_for(daemon, "job/019999")
    client = other.client(3)
    found = rows(top(client, "COUNT", 200))
    expect((found[0]["name"], found[0]["waiters"], len(found)), ("job/019999", 1, 200))
    held = [one["held_ms"] for one in found[1:]]
    expect(held, sorted(held, reverse=True))
    # What has no room in the answer of a daemon is left out, and the list says so.
    answer = top(client, "COUNT", 500)
    expect(([one["cut"] for one in answer[0] if one["daemon"] == daemon_id(daemon)], len(rows(answer)) < 500), ([1], True))
    expect([client("PING") for client in holders + [client]], ["PONG"] * 5)
    waiter.close()


@harness.alone
def test_turns(place):
    """however many locks there are and however often it is asked, no turn of a daemon is long"""
    each = 50000 if harness.MEASURE else 10000
    daemons = fleet_of(place, 2, config="log: { level: warning }\nlease: 10m\n")
    holders = [hold(daemon, ["job/%d/%06d" % (at, number) for number in range(start, min(start + 10000, each))])
               for at, daemon in enumerate(daemons) for start in range(0, each, 10000)]
    reader = daemons[0].client(3)
    clients, longest = [daemon.client() for daemon in daemons], [0.0, 0.0]
    for _ in range(300):
        reader.send("TOP", "COUNT", 500, "FLEET")
        for at, daemon in enumerate(daemons):
            before = harness.spent(daemon.process)
            expect(clients[at]("PING"), "PONG")
            longest[at] = max(longest[at], harness.spent(daemon.process) - before)
        reader.reply()
    for at, what in enumerate(("that is asked", "that it asks")):
        # The turn that the request came in, and the one before it.
        harness.took(longest[at], 2 * 0.005, "work of the daemon %s, from a request to its answer, with %d locks" % (what, 2 * each))
        expect_between(longest[at], 0, 2 * 0.050)
    expect([holder("PING") for holder in holders], ["PONG"] * len(holders))


if __name__ == "__main__":
    harness.main(globals())
