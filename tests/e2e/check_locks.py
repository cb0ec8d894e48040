#!/usr/bin/env python3
"""The lock verbs, end to end: one daemon, one real master, every form of the protocol."""

import os
import select
import subprocess
import threading

import harness
from harness import BRISK, LEASE_MS, WHOLE_MS, boottime, expect, expect_between, expect_code, expect_not_before


def pair(place, **options):
    """A daemon that grants locks already."""
    redis = place.redis()
    return redis, place.daemon(master=redis, **options).admitted()


def test_forms(place):
    """LOCK, CHECK and UNLOCK work in the inline form, in RESP2 and in RESP3"""
    _, daemon = pair(place)
    tokens = []
    for form in ("inline", 2, 3):
        client = daemon.client(form)
        token = client("LOCK", "a", "WAIT", 0)
        expect_between(token, 1, 2 ** 53)
        tokens.append(token)
        expect_between(client("CHECK", "a"), LEASE_MS / 2, LEASE_MS)
        expect(client("UNLOCK", "a"), 0)
        expect(client("CHECK", "a"), None)
        expect_code(client("UNLOCK", "a"), "NOTHELD")
    expect(tokens, sorted(set(tokens)), "tokens grow")


def test_case(place):
    """verbs and options may be written in any case, and quoted"""
    _, daemon = pair(place)
    client = daemon.client("inline")
    client.send_raw(b'lock "a" wait 0\nCheck \'a\'\r\nuNLOCK a\r\n')
    expect_between(client.reply(), 1, 2 ** 53)
    expect_between(client.reply(), 1, LEASE_MS)
    expect(client.reply(), 0)


def test_netcat(place):
    """three lines through nc -q1 get three one-line answers"""
    _, daemon = pair(place)
    try:
        done = subprocess.run(["nc", "-U", "-q1", daemon.socket], input=b"LOCK a WAIT 0\r\nCHECK a\r\nUNLOCK a\r\n",
                              stdout=subprocess.PIPE, timeout=harness.PATIENCE, check=True)
    except FileNotFoundError:
        raise harness.Skip("nc is not here")
    lines = done.stdout.split(b"\r\n")
    expect(len(lines), 4)
    expect([line[:1] for line in lines], [b":", b":", b":", b""])
    expect(lines[2], b":0")


def test_end_of_file(place):
    """requests received before the end of file run, a wait among them as WAIT 0, and then the locks pass on"""
    _, daemon = pair(place)
    holder = daemon.client()
    holder("LOCK", "a", "WAIT", 0)
    client = daemon.client("inline")
    client.send_raw(b"LOCK b\r\nLOCK a WAIT 60000\r\nCHECK b\r\n")
    client.socket.shutdown(1)
    expect_between(client.reply(), 1, 2 ** 53)
    expect(client.reply(), None)
    expect_between(client.reply(), 1, LEASE_MS)
    expect(client.closed(), True)
    expect_between(holder("LOCK", "b", "WAIT", 0), 1, 2 ** 53)


def test_exclusive(place):
    """a lock that somebody has is null with WAIT 0, and after WAIT ms"""
    _, daemon = pair(place)
    holder, other = daemon.client(), daemon.client()
    holder("LOCK", "a", "WAIT", 0)
    expect(other("LOCK", "a", "WAIT", 0), None)
    started = boottime()
    expect(other("LOCK", "a", "WAIT", 300), None)
    expect_not_before(boottime() - started, 0.3, "the end of WAIT 300", WHOLE_MS)
    expect_code(other("UNLOCK", "a"), "NOTHELD")
    expect(holder("UNLOCK", "a"), 0)


def test_wake(place):
    """a waiter gets the lock when its holder unlocks, with a higher token"""
    _, daemon = pair(place)
    holder, waiter = daemon.client(), daemon.client()
    token = holder("LOCK", "a", "WAIT", 0)
    waiter.send("LOCK", "a", "WAIT", 45000)
    daemon.queued("a")
    released = boottime()
    expect(holder("UNLOCK", "a"), 0)
    expect_between(waiter.reply(), token + 1, 2 ** 53)
    harness.took(boottime() - released, 0.5, "from UNLOCK to the next holder")
    expect(daemon.info()["locks_handed_off"], "1")


def test_pipeline(place):
    """while a LOCK waits, later requests of its connection wait too, and answers keep their order"""
    _, daemon = pair(place)
    holder, waiter = daemon.client(), daemon.client()
    holder("LOCK", "a", "WAIT", 0)
    waiter.send("LOCK", "a", "WAIT", 45000)
    waiter.send("PING")
    waiter.send("CHECK", "a")
    daemon.queued("a")
    expect(waiter.silent(0.1), True)
    holder("UNLOCK", "a")
    expect_between(waiter.reply(), 1, 2 ** 53)
    expect(waiter.reply(), "PONG")
    expect_between(waiter.reply(), 1, LEASE_MS)


def test_order(place):
    """64 waiters are served in the order they came, each with a higher token"""
    _, daemon = pair(place)
    holder = daemon.client()
    holder("LOCK", "a", "WAIT", 0)
    waiters = []
    for _ in range(64):
        waiter = daemon.client()
        waiter("PING")
        waiter.send("LOCK", "a", "WAIT", 60000)
        waiters.append(waiter)
        # It stands in line as soon as the daemon says so; asking another way keeps the arrival order ours.
        daemon.queued("a", len(waiters))
    holder("UNLOCK", "a")
    tokens, order = [], []
    while len(order) < 64:
        for ready in select.select([w.socket for w in waiters if w not in order], [], [], harness.PATIENCE)[0]:
            waiter = next(w for w in waiters if w.socket is ready)
            tokens.append(waiter.reply())
            order.append(waiter)
            expect(waiter("UNLOCK", "a"), 0)
    expect([waiters.index(w) for w in order], list(range(64)))
    expect(tokens, sorted(set(tokens)))


def test_reentrancy(place):
    """the same OWNER enters again, counts, and answers the same token; without OWNER it is -HELD"""
    _, daemon = pair(place)
    client, other = daemon.client(), daemon.client()
    token = client("LOCK", "a", "WAIT", 0, "OWNER", "t1")
    expect(client("LOCK", "a", "WAIT", 0, "OWNER", "t1"), token)
    expect(client("LOCK", "a", "OWNER", "t1"), token)
    expect(other("LOCK", "a", "WAIT", 0, "OWNER", "t1"), None, "another session's t1")
    expect(client("UNLOCK", "a", "OWNER", "t1"), 2)
    expect(client("UNLOCK", "a", "OWNER", "t1"), 1)
    expect(other("LOCK", "a", "WAIT", 0), None)
    expect(client("UNLOCK", "a", "OWNER", "t1"), 0)
    expect_code(client("UNLOCK", "a", "OWNER", "t1"), "NOTHELD")
    client("LOCK", "b", "WAIT", 0)
    expect_code(client("LOCK", "b", "WAIT", 0), "HELD")
    expect_code(client("LOCK", "b"), "HELD")
    expect(client("UNLOCK", "b"), 0)


def test_owners(place):
    """another OWNER of the same session is another locker, and waiting for oneself is -DEADLOCK"""
    _, daemon = pair(place)
    client = daemon.client()
    client("LOCK", "a", "OWNER", "t1")
    expect(client("LOCK", "a", "WAIT", 0, "OWNER", "t2"), None)
    expect_code(client("LOCK", "a", "WAIT", 45000, "OWNER", "t2"), "DEADLOCK")
    expect(client("CHECK", "a", "OWNER", "t2"), None)
    expect_code(client("UNLOCK", "a", "OWNER", "t2"), "NOTHELD")
    expect(client("UNLOCK", "a", "OWNER", "t1"), 0)


def test_token_guards(place):
    """UNLOCK and CHECK with another TOKEN touch nothing"""
    _, daemon = pair(place)
    client = daemon.client()
    token = client("LOCK", "a")
    expect(client("CHECK", "a", "TOKEN", token + 1), None)
    expect_code(client("UNLOCK", "a", "TOKEN", token + 1), "NOTHELD")
    expect_between(client("CHECK", "a", "TOKEN", token), 1, LEASE_MS)
    expect(client("UNLOCK", "a", "TOKEN", token), 0)


def test_validity(place):
    """VALIDITY answers the token and at least half a lease"""
    _, daemon = pair(place)
    client = daemon.client()
    token, valid_ms = client("LOCK", "a", "VALIDITY")
    expect_between(token, 1, 2 ** 53)
    expect_between(valid_ms, LEASE_MS / 2, LEASE_MS)


def test_watchdog(place):
    """a hold outlives leases while its session lives, with nobody asking for it"""
    redis, daemon = pair(place, config=BRISK)
    client, other = daemon.client(), daemon.client()
    client("LOCK", "a")
    expect(other("LOCK", "a", "WAIT", 5000), None)
    expect_between(client("CHECK", "a"), 1, 2000)
    expect_between(redis("PTTL", "holdfast:{a}"), 1, 2200)


def test_lease(place):
    """a hold with LEASE ends by itself, EXTEND moves its end, and afterwards it is -LOST"""
    _, daemon = pair(place)
    client, other = daemon.client(), daemon.client()
    client("SESSION", "ONLOSS", "NEXT")
    for first, then in ((2000, 4000), (40000, 500)):
        client("LOCK", "a", "LEASE", first)
        expect_between(client("CHECK", "a"), 1, first)
        asked = boottime()
        expect_between(client("EXTEND", "a", then), 1, then)
        expect_between(other("LOCK", "a", "WAIT", 45000), 1, 2 ** 53)
        expect_not_before(boottime() - asked, then / 1000, "the next holder", WHOLE_MS)
        expect_code(client("CHECK", "a"), "LOST")
        expect_code(client("UNLOCK", "a"), "LOST")
        expect_code(client("UNLOCK", "a"), "NOTHELD")
        expect(other("UNLOCK", "a"), 0)


def test_max_hold(place):
    """MAXHOLD ends a hold that is renewed, and a rule's max-hold ends every hold it matches"""
    _, daemon = pair(place, config="rules: [ { match: 'short/*', max-hold: 500ms } ]\n")
    client, other = daemon.client(), daemon.client()
    client("SESSION", "ONLOSS", "NEXT")
    for name, options in (("a", ("MAXHOLD", 500)), ("short/a", ())):
        started = boottime()
        client("LOCK", name, *options)
        expect_between(other("LOCK", name, "WAIT", 45000), 1, 2 ** 53)
        expect_not_before(boottime() - started, 0.5, "the next holder of " + name, WHOLE_MS)
        expect_code(client("UNLOCK", name), "LOST")


def test_claim(place):
    """a grant whose answer nobody reads is given back after its CLAIM; a CHECK in time keeps it"""
    _, daemon = pair(place)
    holder, client, other = daemon.client(), daemon.client(), daemon.client()
    holder("LOCK", "a")
    # Its library has timed out, and keeps the connection.
    client.send("LOCK", "a", "WAIT", 45000, "CLAIM", 300)
    daemon.queued("a")
    released = boottime()
    holder("UNLOCK", "a")
    expect_between(other("LOCK", "a", "WAIT", 45000), 1, 2 ** 53)
    expect_not_before(boottime() - released, 0.3, "the next holder", WHOLE_MS)
    expect_between(client.reply(), 1, 2 ** 53)
    expect_code(client("CHECK", "a"), "LOST")
    expect_code(client("UNLOCK", "a"), "LOST")
    expect(daemon.info()["lost_claim"], "1")
    client.send("LOCK", "a", "WAIT", 45000, "CLAIM", 20000)
    daemon.queued("a")
    other("UNLOCK", "a")
    token = client.reply()
    expect_code(client("LOCK", "a", "CLAIM", 300), "HELD")
    expect_between(client("CHECK", "a", "TOKEN", token), 1, LEASE_MS)
    expect(other("LOCK", "a", "WAIT", 0), None)
    expect(client("UNLOCK", "a"), 0)


def test_claim_by_lock(place):
    """a LOCK with the tag of an offered hold claims it and answers its token, AS its id too, without a claim; VALIDITY ends with
    CLAIM"""
    _, daemon = pair(place)
    client, other = daemon.client(), daemon.client()
    for again in (("OWNER", "t"), ("AS", "6f1c0d8e5b7a4e9f")):
        token, valid_ms = client("LOCK", "a", "CLAIM", LEASE_MS, "VALIDITY", *again)
        expect_between(valid_ms, 1, LEASE_MS)
        expect(client("LOCK", "a", "CLAIM", LEASE_MS, *again), token)
        expect(client("UNLOCK", "a", "TOKEN", token, *again), 0)
    expect(len(client("MLOCK", 2, "a", "b", "CLAIM", 5000)), 2)
    expect_between(client("CHECK", "a"), 1, LEASE_MS)
    expect_between(other("LOCK", "b", "WAIT", 45000), 1, 2 ** 53)
    expect_code(client("CHECK", "b"), "LOST")
    expect(client("MUNLOCK", 2, "a", "b"), 1)


def test_loss_before_lock(place):
    """LOCK and MLOCK of a name whose loss the session has not been told of answer -LOST once, and name it"""
    _, daemon = pair(place)
    client, other = daemon.client(), daemon.client()
    client("SESSION", "ONLOSS", "NEXT")
    for request in (("LOCK", "a", "WAIT", 45000), ("MLOCK", 2, "a", "b", "WAIT", 45000)):
        token = client("LOCK", "a", "MAXHOLD", 200)
        expect_between(other("LOCK", "a", "WAIT", 45000), token + 1, 2 ** 53)
        expect(other("UNLOCK", "a"), 0)
        answer = client(*request)
        expect_code(answer, "LOST")
        expect("token %d" % token in str(answer), True)
        expect_code(client("CHECK", "a"), "LOST")
        expect(isinstance(client(*request), (int, list)), True)
        client("MUNLOCK", 2, "a", "b")


def test_rules(place):
    """a rule gives names their wait, lease and key"""
    redis, daemon = pair(place, config="rules:\n  - { match: 'q/*', wait: 200ms, lease: 90s, key: 'mine:{%}' }\n"
                                       "lease: 20s\n")
    client, other = daemon.client(), daemon.client()
    client("LOCK", "q/a")
    expect_between(client("CHECK", "q/a"), 45000, 90000)
    expect_between(redis("PTTL", "mine:{q/a}"), 45000, 91000)
    client("LOCK", "a")
    expect_between(redis("PTTL", "holdfast:{a}"), 1, 21000)
    started = boottime()
    expect(other("LOCK", "q/a"), None)
    expect_not_before(boottime() - started, 0.2, "the end of the rule's wait", WHOLE_MS)


def test_loss_closes(place):
    """the loss of a hold closes the connection, unless the session asked otherwise"""
    _, daemon = pair(place, config=BRISK)
    admin, client = daemon.client(), daemon.client()
    token = client("LOCK", "a")
    expect_code(admin("BREAK", "a", "TOKEN", token + 1), "NOTHELD")
    asked = boottime()
    withheld_ms = admin("BREAK", "a", "TOKEN", token)
    expect_between(withheld_ms, 0, 2000)
    expect(client.closed(), True)
    expect_between(admin("LOCK", "a", "WAIT", 45000), token + 1, 2 ** 53)
    expect_not_before(boottime() - asked, withheld_ms / 1000, "the next holder", WHOLE_MS)


def test_loss_is_pushed(place):
    """ONLOSS PUSH tells a RESP3 client by a push and keeps the connection"""
    _, daemon = pair(place)
    admin, client = daemon.client(), daemon.client(3)
    expect(client("SESSION", "ONLOSS", "PUSH"), "OK")
    token = client("LOCK", "a")
    admin("BREAK", "a", "TOKEN", token)
    push = client.push()
    expect(push[:4], ["lost", "a", "", token])
    expect(push[4].split()[0], "broken")
    expect_code(client("CHECK", "a"), "LOST")


def test_async(place):
    """LOCK ASYNC answers at once, pushes grant or failed, and CANCEL ends the wait"""
    _, daemon = pair(place)
    holder, client = daemon.client(), daemon.client(3)
    holder("LOCK", "a")
    expect(client("LOCK", "a", "WAIT", 45000, "ASYNC", "one"), "QUEUED")
    expect(client("LOCK", "a", "WAIT", 100, "ASYNC", "two", "OWNER", "t2"), "QUEUED")
    expect(client("PING"), "PONG")
    expect(client.push()[:2], ["failed", "two"])
    holder("UNLOCK", "a")
    expect(client.push()[:2], ["grant", "one"])
    expect_code(holder("LOCK", "a", "ASYNC", "x"), "ERR")
    expect(client("LOCK", "a", "WAIT", 45000, "ASYNC", "three", "OWNER", "t3"), "QUEUED")
    expect(client("CANCEL", "three"), 1)
    expect(client("UNLOCK", "a"), 0)
    expect_between(holder("LOCK", "a", "WAIT", 0), 1, 2 ** 53)


def test_async_validity(place):
    """LOCK ASYNC VALIDITY pushes the ms with the token, after a wait too, and a re-entry answers both; an ASYNC without it none"""
    _, daemon = pair(place)
    holder, client = daemon.client(), daemon.client(3)
    expect(client("LOCK", "a", "ASYNC", "one", "VALIDITY", "OWNER", "t"), "QUEUED")
    kind, tag, token, valid_ms = client.push()
    expect((kind, tag), ("grant", "one"))
    expect_between(valid_ms, LEASE_MS // 2, LEASE_MS)
    again, valid_ms = client("LOCK", "a", "ASYNC", "two", "VALIDITY", "OWNER", "t")
    expect(again, token)
    expect_between(valid_ms, LEASE_MS // 2, LEASE_MS)
    holder("LOCK", "b")
    expect(client("LOCK", "b", "ASYNC", "three", "VALIDITY"), "QUEUED")
    expect(client("LOCK", "b", "ASYNC", "four", "OWNER", "t"), "QUEUED")
    holder("UNLOCK", "b")
    push = client.push()
    expect(push[:2], ["grant", "three"])
    expect_between(push[3], 1, LEASE_MS)
    client("UNLOCK", "b")
    expect(len(client.push()), 3)


def test_joined(place):
    """a connection that joins a session speaks for it, and the session ends with the last one"""
    _, daemon = pair(place)
    first, second, other = daemon.client(), daemon.client(), daemon.client()
    secret = first("SESSION", "SECRET")
    first("LOCK", "a")
    expect_code(second("SESSION", "JOIN", "0" * len(secret)), "ERR")
    expect(second("SESSION", "JOIN", secret), 1)
    expect(second("SESSION", "ID"), first("SESSION", "ID"))
    first.close()
    expect_between(second("CHECK", "a"), 1, LEASE_MS)
    expect(other("LOCK", "a", "WAIT", 0), None)
    second.close()
    expect_between(other("LOCK", "a", "WAIT", 10000), 1, 2 ** 53)


def test_killed_holder(place):
    """kill -9 of a holder passes its lock on, long before its lease ends"""
    _, daemon = pair(place)
    waiter = daemon.client()
    holder = place.run("python3", "-c", (
        "import socket, sys, signal\n"
        "s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.sendall(b'LOCK a WAIT 0\\r\\n')\n"
        "print(s.recv(100).decode().strip(), flush=True)\n"
        "signal.pause()\n"), daemon.socket)
    holder.output.wait(r"^:\d+")
    waiter.send("LOCK", "a", "WAIT", 45000)
    daemon.queued("a")
    killed = boottime()
    holder.process.kill()
    expect_between(waiter.reply(), 1, 2 ** 53)
    harness.took(boottime() - killed, 0.25, "from the kill to the next holder")


def test_reset_withholds(place):
    """a lock held over TCP is withheld to its deadline after a reset and after a close"""
    _, daemon = pair(place, tcp=True, config=BRISK)
    for end in ("reset", "close"):
        holder, waiter = daemon.client(tcp=True), daemon.client()
        holder("LOCK", "a")
        asked = boottime()
        valid_ms = holder("CHECK", "a")
        getattr(holder, end)()
        expect_between(waiter("LOCK", "a", "WAIT", 45000), 1, 2 ** 53)
        expect_not_before(boottime() - asked, valid_ms / 1000, "the next holder after a " + end)
        waiter.close()


def test_withheld_from(place):
    """a name that is withheld says who had it last: after a reset, a close, and BREAK while its session lives on"""
    _, daemon = pair(place, tcp=True)
    viewer = daemon.client(3)

    def holder(name):
        shown = viewer("INSPECT", name)
        return [shown["state"]] + [shown["holder"][key] for key in ("session", "client", "pid", "uid", "address", "why")]

    for end in ("reset", "close"):
        client = daemon.client(tcp=True)
        client("CLIENT", "SETNAME", "billing")
        client("LOCK", end, "WHY", "end of month")
        address = "%s:%d" % client.socket.getsockname()[:2]
        expect(holder(end)[2:], ["billing", 0, -1, address, "end of month"])
        getattr(client, end)()
        harness.until("it is withheld", lambda name=end: viewer("INSPECT", name)["state"] == "withheld")
        expect(holder(end), ["withheld", 0, "billing", 0, -1, address, "end of month"])
    client = daemon.client(3)
    client("SESSION", "ONLOSS", "PUSH")
    client("CLIENT", "SETNAME", "worker")
    token = client("LOCK", "broken")
    expect_between(viewer("BREAK", "broken", "TOKEN", token), 1, 90000)
    expect(holder("broken"), ["withheld", 0, "worker", os.getpid(), os.getuid(), "unix", ""])
    rows = {row["name"]: row["client"] for row in viewer("LOCKS")[1]}
    expect(rows, {"reset": "billing", "close": "billing", "broken": "worker"})


def test_close_releases(place):
    """on-close: release passes a lock on at a clean close, and withholds it after a reset all the same"""
    port = harness.free_port()
    _, daemon = pair(place, listen="  - { tcp: '127.0.0.1:%d', on-close: release }\n" % port,
                     config="rules: [ { match: 'short', lease: 2s } ]\n")
    for end, name in (("close", "long"), ("reset", "short")):
        holder, waiter = place.keep(harness.resp.Client(("127.0.0.1", port))), daemon.client()
        holder("LOCK", name)
        asked = boottime()
        valid_ms = holder("CHECK", name)
        getattr(holder, end)()
        expect_between(waiter("LOCK", name, "WAIT", 45000), 1, 2 ** 53)
        if end == "reset":
            expect_not_before(boottime() - asked, valid_ms / 1000, "the next holder after a reset")
        waiter.close()


def test_unix_close_withholds(place):
    """on-close: withhold takes no close of a Unix connection for an end: a proxy may be in between; QUIT still is one"""
    daemon = place.idle_daemon(master=place.redis(), config="lease: 2s\n")
    path = os.path.join(daemon.folder, "proxied")
    daemon.listen += "  - { unix: %s, on-close: withhold }\n" % path
    daemon.configure("lease: 2s\n")
    daemon.start().admitted()
    for end in ("close", "QUIT"):
        holder, waiter = place.keep(harness.resp.Client(path)), daemon.client()
        holder("LOCK", "a")
        asked = boottime()
        valid_ms = holder("CHECK", "a")
        if end == "QUIT":
            expect(holder("QUIT"), "OK")
        else:
            getattr(holder, end)()
        expect_between(waiter("LOCK", "a", "WAIT", 45000), 1, 2 ** 53)
        if end != "QUIT":
            expect_not_before(boottime() - asked, valid_ms / 1000, "the next holder after a " + end)
        waiter.close()


def test_two_daemons(place):
    """two daemons on one master exclude each other, wake each other, and tokens grow across them"""
    redis = place.redis()
    first = place.daemon("d1", master=redis)
    second = place.daemon("d2", master=redis)
    one, two = first.admitted().client(), second.admitted().client()
    tokens, delays = [], []
    for _ in range(5):
        tokens.append(one("LOCK", "a", "WAIT", 45000))
        expect(two("LOCK", "a", "WAIT", 0), None)
        two.send("LOCK", "a", "WAIT", 45000)
        # In line at its own daemon, and then at the master, whom the first daemon tells when it lets go.
        second.queued("a")
        harness.until("it stands in line at the master", lambda: redis("EXISTS", "holdfast:{a}:q"))
        wakes = int(second.info()["inbox_wakes"])
        released = boottime()
        expect(one("UNLOCK", "a"), 0)
        tokens.append(two.reply())
        delays.append(boottime() - released)
        harness.until("it was woken", lambda: int(second.info()["inbox_wakes"]) > wakes)
        expect(two("UNLOCK", "a"), 0)
    expect(tokens, sorted(set(tokens)))
    harness.took(min(delays), 0.05, "from UNLOCK to the other daemon's client")


def test_dead_daemon(place):
    """the locks of a daemon that was killed are free after L + J, and not before their deadline"""
    redis = place.redis()
    first = place.daemon("d1", master=redis, config=BRISK)
    second = place.daemon("d2", master=redis, config=BRISK)
    one, two = first.admitted().client(), second.admitted().client()
    one("LOCK", "a")
    asked = boottime()
    valid_ms = one("CHECK", "a")
    first.kill()
    expect_between(two("LOCK", "a", "WAIT", 45000), 1, 2 ** 53)
    expect_not_before(boottime() - asked, valid_ms / 1000, "the next holder")


def test_hand_off(place):
    """64 clients on one lock cost less than 0.1 script calls for each change of the holder"""
    redis, daemon = pair(place)
    rounds = 40
    before = redis.script_calls()
    clients = [daemon.client() for _ in range(64)]
    for client in clients:
        client.send("LOCK", "a", "WAIT", 60000)
    waiting = {client.socket: client for client in clients}
    left = {client: rounds for client in clients}
    done = 0
    while waiting:
        for ready in select.select(list(waiting), [], [], harness.PATIENCE)[0]:
            client = waiting[ready]
            expect_between(client.reply(), 1, 2 ** 53)
            done += 1
            left[client] -= 1
            client.send("UNLOCK", "a")
            if left[client]:
                client.send("LOCK", "a", "WAIT", 60000)
            expect(client.reply(), 0)
            if not left[client]:
                del waiting[ready]
    expect(done, 64 * rounds)
    expect_between((redis.script_calls() - before) / done, 0, 0.1, "script calls for each hand-off")


def test_threads(place):
    """two threads that share one connection never both hold a lock"""
    _, daemon = pair(place)
    client = daemon.client()
    turn = threading.Lock()
    inside, both, granted = [], [], []

    def work():
        for _ in range(200):
            with turn:
                answer = client("LOCK", "a", "WAIT", 0)
            if isinstance(answer, int):
                granted.append(answer)
                inside.append(1)
                both.append(len(inside) > 1)
                inside.pop()
                with turn:
                    expect(client("UNLOCK", "a"), 0)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect(any(both), False)
    expect(len(set(granted)), len(granted))
    expect_between(len(granted), 1, 400, "grants")


if __name__ == "__main__":
    harness.main(globals())
