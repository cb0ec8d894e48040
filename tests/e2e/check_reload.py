#!/usr/bin/env python3
"""A reload takes up what can change, beside what cannot, which it names."""

import os

import harness
from harness import expect, expect_between, expect_code

GRANTED = (1, 2 ** 53)


def left_of_waiter(daemon, name):
    """How long a LOCK without WAIT waits for a name that is held: -1 is for ever."""
    holder, waiter = daemon.client(), daemon.client()
    holder("LOCK", name, "WAIT", 20000)
    waiter.send("LOCK", name)
    with daemon.client(form=3) as viewer:
        while True:
            waiters = viewer("INSPECT", name)["waiters"]
            if waiters:
                break
    holder.close()
    expect_between(waiter.reply(), *GRANTED)
    waiter.close()
    return waiters[0]["left_ms"]


def test_rules_come_and_go(place):
    """rules that are added, removed and moved count at once, for names that are held too"""
    daemon = place.daemon(master=place.redis(), config="lease: 2s\n").admitted()
    expect(left_of_waiter(daemon, "q/1"), -1)
    daemon.configure("lease: 2s\nrules: [ { match: 'a', wait: 5s }, { match: 'q/*', wait: 60s } ]\n")
    answer = daemon.client()("RELOAD")
    expect(answer, "reloaded: rules")
    expect_between(left_of_waiter(daemon, "q/1"), 1, 60000)
    expect_between(left_of_waiter(daemon, "a"), 1, 5000)
    daemon.configure("lease: 2s\nrules: [ { match: 'q/*', wait: 30s } ]\n")
    answer = daemon.client()("RELOAD")
    expect(answer, "reloaded: rules, rules[0].match, rules[0].wait")
    expect_between(left_of_waiter(daemon, "q/1"), 1, 30000)
    expect(left_of_waiter(daemon, "a"), -1)


def test_longer_lease(place):
    """a lease beyond the longest waits for a restart, and what stands beside it does not"""
    redis = place.redis()
    daemon = place.daemon(master=redis, config="lease: 2s\n").admitted()
    daemon.configure("lease: 60s\nrules: [ { match: 'q', lease: 30s, wait: 60s } ]\n")
    for _ in range(2):
        answer = daemon.client()("RELOAD")
        expect(answer.startswith("reloaded"), True, answer)
        expect(answer.endswith("needs a restart: lease, rules[0].lease"), True, answer)
    expect_between(left_of_waiter(daemon, "q"), 1, 60000)
    holder = daemon.client()
    for name in ("q", "other"):
        expect_between(holder("LOCK", name), *GRANTED)
        expect_between(redis("PTTL", "holdfast:{%s}" % name), 1, 3000)
    expect(daemon.terminate(), 0)
    daemon.start().admitted()
    expect_between(daemon.client()("LOCK", "other", "WAIT", 20000), *GRANTED)
    expect_between(redis("PTTL", "holdfast:{other}"), 3001, 61000)


def test_keys_stay(place):
    """names keep their keys at the master through a reload that adds, moves and removes rules with keys"""
    redis = place.redis()
    daemon = place.daemon(master=redis, config="lease: 2s\nrules: [ { match: 'a/*', key: 'mine:{%}' } ]\n").admitted()
    daemon.configure("lease: 2s\nrules: [ { match: 'a/b*', wait: 5s }, { match: 'c/*', key: 'new:{%}', wait: 7s }, "
                     "{ match: 'd/*', wait: 9s }, { match: 'a/*', wait: 60s } ]\n")
    answer = daemon.client()("RELOAD")
    for path in ("rules[0].match", "rules[0].key", "rules[1].match", "rules[1].key"):
        expect(path in answer.split("needs a restart: ")[1], True, answer)
    for name, key, wait_ms in (("a/b", "mine:{a/b}", 60000), ("c/1", "holdfast:{c/1}", 7000),
                               ("d/1", "holdfast:{d/1}", 9000)):
        expect_between(left_of_waiter(daemon, name), 1, wait_ms)
        holder = daemon.client()
        expect_between(holder("LOCK", name), *GRANTED)
        expect_between(redis("PTTL", key), 1, 3000)
    daemon.configure("lease: 2s\n")
    answer = daemon.client()("RELOAD")
    expect("rules[0].key" in answer, True, answer)
    expect_between(daemon.client()("LOCK", "a/2"), *GRANTED)
    expect_between(redis("EXISTS", "mine:{a/2}"), 1, 1)


def test_asleep_through_other_rules(place):
    """a daemon that stood still while all others were started anew with other keys grants nothing by its old ones"""
    redis = place.redis()
    brisk = "lease: 1s\nclock-margin: 100ms\n"
    first = place.daemon("d1", master=redis, config=brisk).admitted()
    client = first.client()
    first.process.stop()
    second = place.daemon("d2", master=redis, config=brisk + "rules: [ { match: a, key: 'lock:%' } ]\n").admitted()
    holder = second.client()
    token = holder("LOCK", "a")
    client.send("LOCK", "a", "WAIT", "0")
    first.process.cont()
    expect_code(client.reply(), "NOMASTER")
    expect_between(holder("CHECK", "a", "TOKEN", token), 1, 1000)
    expect(redis("EXISTS", "holdfast:{a}"), 0)


def test_refused_by_the_system(place):
    """a reload that the system refuses changes nothing, and says of nothing that it has changed"""
    daemon = place.daemon(master=place.redis()).admitted()
    before = daemon.listen
    daemon.listen += "  - unix: %s\n" % os.path.join(daemon.folder, "nowhere", "deeper", "s")
    daemon.configure("rules: [ { match: 'a', wait: 5s } ]\n")
    expect_code(daemon.client()("RELOAD"), "ERR")
    expect(left_of_waiter(daemon, "a"), -1)
    daemon.output.wait(r"daemon\.reload_failed")
    expect("config.changed" in daemon.output.text(), False, daemon.output.text())
    daemon.listen = before
    daemon.configure("rules: [ { match: 'a', wait: 5s } ]\n")
    expect(daemon.client()("RELOAD"), "reloaded: rules")
    expect_between(left_of_waiter(daemon, "a"), 1, 5000)


if __name__ == "__main__":
    harness.main(globals())
