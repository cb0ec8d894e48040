#!/usr/bin/env python3
"""Prints the curves of a bench as tables for SCALE.md.

  tests/bench/tables.py FILE     FILE: what bench.py wrote
"""

import json
import sys

# curve: (what grows, [(key, factor, decimals, column)])
TABLES = {
    "idle connections": ("connections", [
        ("bytes_each", 1, 0, "bytes for each"), ("rss", 1e-6, 1, "daemon, MB"),
        ("per_second", 1, 0, "pairs/s of 10 others"), ("daemon_us", 1, 2, "CPU of a pair, µs"),
        ("p50_us", 1, 0, "p50, µs"), ("p99_us", 1, 0, "p99, µs")]),
    "clients: a lock each, retained": ("clients, all of them busy", [
        ("per_second", 1, 0, "pairs/s"), ("daemon_us", 1, 2, "CPU of a pair, µs"), ("p50_us", 1e-3, 2, "p50, ms"),
        ("p99_us", 1e-3, 2, "p99, ms"), ("commands", 1, 4, "Redis commands for a pair")]),
    "clients: an echo, twice": ("clients of an echo", [
        ("per_second", 1, 0, "pairs of requests/s"), ("daemon_us", 1, 2, "CPU of a pair, µs"),
        ("p50_us", 1e-3, 2, "p50, ms"), ("p99_us", 1e-3, 2, "p99, ms")]),
    "clients: a new name each time": ("clients, a new name each time", [
        ("per_second", 1, 0, "pairs/s"), ("daemon_us", 1, 2, "CPU of a pair, µs"),
        ("redis_us", 1, 2, "CPU of Redis, µs"), ("p50_us", 1e-3, 2, "p50, ms"), ("p99_us", 1e-3, 2, "p99, ms")]),
    "clients: direct to Redis": ("clients of Redis itself, a new name each time", [
        ("per_second", 1, 0, "pairs/s"), ("redis_us", 1, 2, "CPU of Redis, µs"), ("p50_us", 1e-3, 2, "p50, ms"),
        ("p99_us", 1e-3, 2, "p99, ms")]),
    "clients: one lock for all": ("clients of one lock", [
        ("per_second", 1, 0, "hand-offs/s"), ("daemon_us", 1, 2, "CPU of one, µs"),
        ("wait_p50_us", 1e-3, 2, "p50 of a wait, ms"), ("wait_p99_us", 1e-3, 2, "p99 of a wait, ms"),
        ("overtaken", 1, 0, "out of order")]),
    "locks held": ("locks held", [
        ("bytes_each", 1, 0, "bytes for each"), ("redis_bytes_each", 1, 0, "and at Redis"),
        ("rss", 1e-6, 0, "daemon, MB"), ("took_s", 1, 2, "taken in, s"),
        ("per_second", 1, 0, "pairs/s of 64 others"), ("daemon_us", 1, 2, "CPU of a pair, µs"),
        ("p50_us", 1, 0, "p50, µs"), ("p99_us", 1, 0, "p99, µs"), ("idle_percent", 1, 2, "CPU when idle, %")]),
    "locks held, new names": ("locks held", [
        ("per_second", 1, 0, "pairs/s of 64 others, new names"), ("daemon_us", 1, 2, "CPU of a pair, µs"),
        ("redis_us", 1, 2, "CPU of Redis, µs"), ("p50_us", 1, 0, "p50, µs"), ("p99_us", 1, 0, "p99, µs")]),
    "waiters on one name": ("waiters on one name", [
        ("bytes_each", 1, 0, "bytes above the connection"), ("drain_s", 1e3, 1, "all had it after, ms"),
        ("longest_ms", 1, 2, "longest gap, ms"), ("handoff_us", 1, 2, "CPU of a hand-off, µs"),
        ("per_second", 1, 0, "pairs/s of 10 others"), ("daemon_us", 1, 2, "CPU of their pair, µs")]),
    "names contended": ("names with four clients on each", [
        ("per_second", 1, 0, "hand-offs/s"), ("daemon_us", 1, 2, "CPU of one, µs"),
        ("wait_p50_us", 1e-3, 2, "p50 of a wait, ms"), ("wait_p99_us", 1e-3, 2, "p99 of a wait, ms"),
        ("commands", 1, 4, "Redis commands for one"), ("overtaken", 1, 0, "out of order"),
        ("rss", 1e-6, 1, "daemon, MB")]),
}


def cell(point, key, factor, decimals):
    return "{:,.{}f}".format(point[key] * factor, decimals) if key in point else ""


def table(what, columns, points):
    lines = ["| %s | %s |" % (what, " | ".join(column[3] for column in columns)), "|---:" * (len(columns) + 1) + "|"]
    for point in points:
        cells = [cell(point, *column[:3]) for column in columns]
        lines.append("| {:,} | {} |".format(point["x"], " | ".join(cells)))
    return "\n".join(lines)


def main():
    with open(sys.argv[1], encoding="utf-8") as stream:
        bench = json.load(stream)
    print("%(processors)d processors (%(model)s), Linux %(kernel)s, Redis %(redis)s, load average %(load_average).2f "
          "to %(load_average_end).2f" % bench["machine"])
    for curve, (what, columns) in TABLES.items():
        if curve in bench["curves"]:
            print("\n" + table(what, columns, bench["curves"][curve]))


if __name__ == "__main__":
    main()
