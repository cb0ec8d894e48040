#!/usr/bin/env python3
"""Draws the curves of a bench with gnuplot, as SVG.

  tests/bench/plots.py FILE FOLDER     FILE: what bench.py wrote
"""

import json
import os
import shutil
import subprocess
import sys

CLIENTS = ("clients: a lock each, retained", "clients: one lock for all", "clients: a new name each time",
           "clients: direct to Redis")
ECHO = "clients: an echo, twice"
MICROSECONDS, PER_SECOND = "microseconds", "per second"


def each(key, names=CLIENTS):
    return [(name, key, 1, name.split(": ")[1]) for name in names]


# file: (title, x axis, y axis, whether y is logarithmic, [(curve, key, factor, what it is)])
PLOTS = {
    "clients-throughput": ("LOCK + UNLOCK by more and more clients", "clients", "pairs " + PER_SECOND, False,
                           each("per_second", CLIENTS + (ECHO,))),
    "clients-p50": ("p50 of LOCK + UNLOCK", "clients", MICROSECONDS, True, each("p50_us")),
    "clients-p99": ("p99 of LOCK + UNLOCK", "clients", MICROSECONDS, True, each("p99_us")),
    "clients-cost": ("CPU of the server for LOCK + UNLOCK, without Redis", "clients", MICROSECONDS, False,
                     each("daemon_us", CLIENTS[:3] + (ECHO,))),
    "locks-throughput": ("64 clients beside locks that are held", "locks held", "pairs " + PER_SECOND, False,
                         [("locks held", "per_second", 1, "the same names, retained"),
                          ("locks held, new names", "per_second", 1, "a new name each time")]),
    "locks-latency": ("64 clients beside locks that are held", "locks held", MICROSECONDS, False,
                      [("locks held", "p50_us", 1, "p50 of a pair"), ("locks held", "p99_us", 1, "p99 of a pair")]),
    "cost": ("CPU of the daemon for LOCK + UNLOCK", "locks held, or connections", MICROSECONDS, False,
             [("locks held", "daemon_us", 1, "64 clients beside so many locks"),
              ("idle connections", "daemon_us", 1, "10 clients beside so many connections"),
              ("waiters on one name", "daemon_us", 1, "10 clients beside so many waiters")]),
    "memory": ("memory of the daemon", "how many", "bytes for each", False,
               [("locks held", "bytes_each", 1, "a held lock"),
                ("idle connections", "bytes_each", 1, "an idle connection"),
                ("waiters on one name", "bytes_each", 1, "a waiter, its connection not counted")]),
    "waiters": ("one name, given back by one after the other", "waiters", MICROSECONDS, False,
                [("waiters on one name", "handoff_us", 1, "CPU of the daemon for a hand-off"),
                 ("waiters on one name", "drain_us", 1, "time for a hand-off")]),
    "names": ("four clients on each of more and more names", "names", "hand-offs " + PER_SECOND, False,
              [("names contended", "per_second", 1, "hand-offs, all names together")]),
}
HEAD = """\
set terminal svg size 680,420 noenhanced font "sans-serif,12" background rgb "white"
set rmargin 6
set grid
set key outside below
set logscale x
set format "%%.0f"
set title "%s"
set xlabel "%s"
set ylabel "%s"
set output "%s"
set yrange [%s:*]
%s
plot %s
"""


def script(name, curves, folder):
    """What gnuplot is told; None when there is no point."""
    title, x_axis, y_axis, logarithmic, lines = PLOTS[name]
    blocks, drawn = [], []
    for number, (curve, key, factor, what) in enumerate(lines):
        points = [(point["x"], point[key] * factor) for point in curves.get(curve, ()) if key in point]
        if points:
            blocks.append("$d%d << END\n%s\nEND\n" % (number, "\n".join("%g %g" % point for point in points)))
            drawn.append('$d%d using 1:2 with linespoints linewidth 2 title "%s"' % (number, what))
    if not drawn:
        return None
    scale = ("1", "set logscale y") if logarithmic else ("0", "")
    return "".join(blocks) + HEAD % (title, x_axis, y_axis, os.path.join(folder, name + ".svg"), *scale,
                                     ", \\\n     ".join(drawn))


def draw(curves, folder):
    """What came of it, for people."""
    if not shutil.which("gnuplot"):
        return "no plots: gnuplot is not installed"
    os.makedirs(folder, exist_ok=True)
    for point in curves.get("waiters on one name", ()):
        point["drain_us"] = point["drain_s"] * 1e6 / point["x"]
    count = 0
    for name in PLOTS:
        text = script(name, curves, folder)
        if text:
            subprocess.run(["gnuplot"], input=text, text=True, check=True)
            count += 1
    return "%d plots in %s" % (count, folder)


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as stream:
        print(draw(json.load(stream)["curves"], sys.argv[2]))
