#!/usr/bin/env python3
"""HOUR: grants, waits and losses of the latest hour, minute by minute, of one daemon and of all, also in top and on the page."""

import json
import re

import clockshim
import harness
import tool
from check_fleet import Liar, daemon_id, fleet_of, named
from check_handover import exec_in_place
from check_page import Browser, served
from harness import expect, expect_between

COLUMNS = ["granted", "timed_out", "lost", "wait_p50_us", "wait_p99_us", "waits"]


def minutes(answer):
    """Of an answer, as maps; the oldest first."""
    expect(answer["minutes"][0], COLUMNS)
    return [dict(zip(COLUMNS, row)) for row in answer["minutes"][1:]]


def total(answer, key):
    return sum(minute[key] for minute in minutes(answer))


def counts(answer):
    return [total(answer, key) for key in ("granted", "timed_out", "lost")]


def busy(daemon, grants, name="a"):
    """So many grants, a wait that times out after 60 ms, and a loss."""
    holder, waiter = daemon.client(3), daemon.client()
    holder("SESSION", "ONLOSS", "NEXT")
    for at in range(grants - 1):
        expect(holder("LOCK", "%s%d" % (name, at)) > 0, True)
    expect(waiter("LOCK", name + "0", "WAIT", 60), None)
    expect(holder("LOCK", name + "short", "LEASE", 50) > 0, True)
    harness.until("it is lost", lambda: int(daemon.info()["locks_lost"]) >= 1)
    return holder


def test_one(place):
    """what was counted stands in the minute in which it was, and goes on over a hand-over; a minute later there is another"""
    clock = clockshim.Clock(place, "d1")
    daemon = place.daemon(master=place.redis(), environment=clock.environment).admitted()
    before = counts(daemon.client(3)("HOUR"))
    busy(daemon, 5)("QUIT")
    answer = daemon.client(3)("HOUR")
    expect((answer["daemons"], answer["silent"], [now - old for now, old in zip(counts(answer), before)]), (1, [], [5, 1, 1]))
    expect_between(answer["running_ms"], 0, 60000)
    last = minutes(answer)[-1]
    expect((last["wait_p50_us"] <= 50000, last["wait_p99_us"]), (True, 100000), "the wait of 60 ms is in the bucket up to 100 ms")
    exec_in_place(daemon)
    after = daemon.client(3)("HOUR")
    expect(counts(after), counts(answer))
    known = len(minutes(after))
    clock.stun(-120)
    later = harness.until("two minutes later", lambda: [
        seen for seen in [daemon.client(3)("HOUR")] if len(minutes(seen)) == known + 2])[0]
    expect((counts(later), minutes(later)[-1]), (counts(after), dict(zip(COLUMNS, (0, 0, 0, 0, 0, "")))))
    clock.stun(-3 * 86400)
    empty = harness.until("days later", lambda: [
        seen for seen in [daemon.client(3)("HOUR")] if len(minutes(seen)) == 60])[0]
    expect(counts(empty), [0, 0, 0])


def test_all(place):
    """the sums of all daemons, and percentiles of all their waits; a silent one is named; an answer that does not fit is none"""
    redis = place.redis()
    daemons = fleet_of(place, 2, redis)
    client = daemons[0].client(3)
    before = counts(client("HOUR", "FLEET"))
    busy(daemons[0], 3)
    other = daemons[1].client()
    for at in range(200):
        expect((other("LOCK", "b%d" % at, "WAIT", 0) or 0) > 0, True)
    answer = client("HOUR", "FLEET")
    expect((answer["daemons"], [now - old for now, old in zip(counts(answer), before)]), (2, [203, 1, 1]))
    one = minutes(client("HOUR"))[-1]
    expect((one["wait_p99_us"], minutes(answer)[-1]["wait_p99_us"] < 100000), (100000, True), "one wait of 200 is not the longest but for 1 %")
    ident = daemon_id(daemons[1])
    daemons[1].process.stop()
    silent = harness.until("it is silent", lambda: [seen for seen in [client("HOUR", "FLEET")] if seen["silent"]])[0]
    expect((silent["daemons"], silent["silent"][0]["host"]), (1, daemons[1].host))
    liar = Liar(redis, ident)
    heads = "*6\r\n" + "".join("$%d\r\n%s\r\n" % (len(key), key) for key in COLUMNS)
    for row, good in (("*6\r\n:7\r\n:0\r\n:0\r\n:1\r\n:1\r\n$3\r\n0:7\r\n", True), ("*6\r\n:7\r\n:0\r\n:0\r\n:1\r\n:1\r\n$4\r\n99:7\r\n", False),
                      ("*6\r\n:-7\r\n:0\r\n:0\r\n:1\r\n:1\r\n$0\r\n\r\n", False), ("*6\r\n:7\r\n:0\r\n:0\r\n:1\r\n:1\r\n$1\r\n7\r\n", False),
                      (":1\r\n", False), ("*5\r\n:7\r\n:0\r\n:0\r\n:1\r\n:1\r\n", False)):
        liar.answer, asked = "%1\r\n$7\r\nminutes\r\n*2\r\n" + heads + row, liar.asked
        seen = harness.until("it is asked", lambda: [
            found for found in [client("HOUR", "FLEET")] if liar.asked > asked])[0]  # pylint: disable=cell-var-from-loop
        expect(seen["daemons"], 2 if good else 1, row)


def test_top(place):
    """top has a line of it, of all hosts and of one, and in a locale without block characters, too"""
    redis = place.redis()
    daemons = fleet_of(place, 2, redis)
    for daemon, name in zip(daemons, "ab"):
        busy(daemon, 3, name)

    def line(*words, locale="C.UTF-8"):
        text = tool.call(place, daemons[0], "top", "-b", "-n", "1", *words, environment={"LC_ALL": locale})[1]
        return re.search("^hour: .*$", text, re.M).group()
    granted = [total(daemons[0].client(3)("HOUR", *words), "granted") for words in ((), ("FLEET",))]
    expect_between(granted[1] - granted[0], 3, 100)
    for words, lost in ((("--here",), 1), ((), 2)):
        seen = line(*words)
        expect(bool(re.fullmatch("hour: grants [\u00b7\u2581-\u2588]{1,2} \\d+/min  p99 [\u00b7\u2581-\u2588]{1,2} 0\\.1s  lost [\u00b7\u2581-\u2588]{1,2} %d" % lost,
                                 seen)), True, seen)
    seen = line("--here", locale="C")
    expect(bool(re.fullmatch("hour: grants [.#_~=+*,-]{1,2} .*", seen)), True, seen)


def test_page(place):
    """the page draws it; /hour.json has the numbers"""
    browser = Browser(place)
    daemon, _, url = served(place)
    busy(daemon, 4)
    browser.open(url)
    browser.until("it is drawn", "document.querySelectorAll('#hour-here svg').length === 3")
    text = browser.value("document.getElementById('hour-here').textContent")
    expect(("grants" in text, "p99 at most 100 ms" in text, "losses1, at most 1 a minute" in text), (True, True, True), text)
    heights = json.loads(browser.value("JSON.stringify([...document.querySelectorAll('#hour-here rect:not(.minute)')].map(r => [r.getAttribute('class').split(' ')[0], "
                                       "+r.getAttribute('height')]))"))
    expect({name for name, height in heights if height > 0}, {"grants", "longest", "median", "losses"})
    browser.keep("hour")


def test_who_may(place):
    """of all hosts: as the lists; of this daemon: with the right to see"""
    daemon = named(place, 1, place.redis(), "users: [ { name: ops, password-env: SECRET, may: [see] }, { name: app, password-env: SECRET, may: [lock] },"
                                            " { name: part, password-env: SECRET, may: [see], names: ['a*'] } ]\n", tcp=True, environment={"SECRET": "p"}).admitted()
    for name, words, code in (("ops", (), None), ("ops", ("FLEET",), None), ("app", (), "NOPERM"), ("part", (), None),
                              ("part", ("FLEET",), "NOPERM")):
        client = daemon.client(tcp=True)
        expect(client("AUTH", name, "p"), "OK")
        answer = client("HOUR", *words)
        expect(str(answer).split(" ", 1)[0] if code else isinstance(answer, list), code or True, "%s %r" % (name, words))


if __name__ == "__main__":
    harness.main(globals())
