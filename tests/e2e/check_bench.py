#!/usr/bin/env python3
"""holdfast bench: what it prints is true, it leaves nothing behind, and it finds a daemon that breaks its promises."""

import json

import harness
import tool
from harness import expect, expect_between
from liar import Liar

SHORT = ("--seconds", "50ms")
KEYS = {"kind", "clients", "names", "seconds", "pairs", "changes", "pairs_per_second", "wait_p50_us", "wait_p99_us",
        "wait_max_us", "pair_p50_us", "pair_p99_us", "least_share", "interruptions", "lost"}


def bench(place, daemon, *words):
    status, output = tool.call(place, daemon, "bench", *SHORT, "--json", *words)
    expect(status, 0, output)
    return json.loads(output)


def test_table(place):
    """bench prints a row for each kind, and what was verified"""
    daemon = place.daemon(master=place.redis()).admitted()
    status, output = tool.call(place, daemon, "bench", *SHORT, "-c", 8)
    expect(status, 0, output)
    head, *rows, last = output.splitlines()
    expect(head.split()[:4], ["KIND", "CLIENTS", "NAMES", "PAIRS/S"])
    expect([row.split()[:3] for row in rows],
           [["contended", "8", "1"], ["mixed", "8", "2"], ["uncontended", "8", "8"]])
    expect(last.endswith(" grants: nobody held a lock beside an exclusive holder, and every token grew"), True, last)
    status, output = tool.call(place, daemon, "bench", *SHORT, "-q", "mixed")
    expect((status, output), (0, ""))


def test_count(place):
    """bench counts the grants that the daemon counts, and leaves none"""
    daemon = place.daemon(master=place.redis()).admitted()
    before = int(daemon.info()["locks_granted"])
    runs = bench(place, daemon, "-c", 10, "--names", 3)
    expect([run["kind"] for run in runs], ["uncontended", "contended", "mixed"])
    expect([run["names"] for run in runs], [10, 3, 3])
    after = daemon.info()
    expect(sum(run["pairs"] for run in runs), int(after["locks_granted"]) - before)
    expect((after["grants"], after["waiters"]), ("0", "0"))
    for run in runs:
        expect(set(run), KEYS)
        expect_between(run["pairs"], 10, 2 ** 53)
        expect_between(run["wait_p50_us"], 0, run["wait_p99_us"])
        expect_between(run["wait_p99_us"], 0, run["wait_max_us"])
        expect_between(run["seconds"], 0.05, harness.PATIENCE)


def test_changes(place):
    """bench tells holders that change from one that takes the lock again"""
    daemon = place.daemon(master=place.redis()).admitted()
    alone, = bench(place, daemon, "-c", 1, "contended")
    expect((alone["changes"], alone["least_share"]), (1, 1.0))
    two, = bench(place, daemon, "-c", 2, "contended")
    expect_between(two["changes"], 2, two["pairs"])


def test_own_names(place):
    """bench touches no name that anybody else has"""
    daemon = place.daemon(master=place.redis()).admitted()
    client = daemon.client()
    names = ["a", "bench", "holdfast-bench/0"]
    for name in names:
        expect_between(client("LOCK", name), 1, 2 ** 53)
    bench(place, daemon, "-c", 4)
    for name in names:
        expect(client("UNLOCK", name), 0)


def test_two_holders(place):
    """bench ends with 70 when two clients are granted one lock at once"""
    tokens = iter(range(1, 2 ** 53))
    status, output = tool.call(place, Liar(place, lambda: next(tokens)), "bench", "contended", "-c", 2, "--seconds", 30)
    expect(status, 70, output)
    expect("a promise was broken: holdfast-bench/" in output and "was granted while another has it" in output, True,
           output)


def test_token(place):
    """bench ends with 70 when a token does not grow"""
    status, output = tool.call(place, Liar(place, lambda: 7), "bench", "uncontended", "-c", 1, "--seconds", 30)
    expect(status, 70, output)
    expect("granted with a token that is not greater" in output, True, output)


def test_refusals(place):
    """bench says what is wrong with its arguments, and when there is no daemon"""
    daemon = place.daemon(master=place.redis(), config="limits: { clients: 12 }\n").admitted()
    status, output = tool.call(place, daemon, "bench", "fast")
    expect((status, "uncontended, contended or mixed is allowed" in output), (64, True), output)
    status, output = tool.call(place, daemon, "bench", "-c", "0")
    expect((status, "a number from 1 to 10000 is allowed" in output), (64, True), output)
    status, output = tool.call(place, daemon, "bench", *SHORT, "-c", 100)
    expect((status, "LIMIT" in output), (69, True), output)
    status, output = tool.call(place, place.path + "/nobody", "bench")
    expect((status, "is holdfastd running?" in output), (69, True), output)


if __name__ == "__main__":
    harness.main(globals())
