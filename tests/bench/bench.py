#!/usr/bin/env python3
"""What holdfast costs, beside what the same costs without it, in one run on one machine; `make bench`.

  tests/bench/bench.py [--quick] [-s SECONDS] [-o FILE] [PART...]     SECONDS: of a slice, of which each figure has five

Without --quick there is more to see, and everything is measured for longer. PARTs are those below; all without any.
A PART that is given twice is measured twice, by other processes, and its figures are of all of its slices. A run of all
parts measures those three times whose figures differ from minute to minute: at its beginning, in the middle, at its end.
Nothing here passes or fails, but the load programs judge each answer they get: a token that does not grow, or two
holders at once, ends everything. The last line says which goals hold.
"""

import argparse
import json
import os
import platform
import re
import resource
import signal
import sys
import time

import stage as stages
import harness
import contended
import curves
import genuine
import missing
import neighbours
import others
import packages
import plots
import quorum
import scale
import semaphores
import table as tables
import uncontended

PARTS = {"contended": contended, "uncontended": uncontended, "quorum": quorum, "scale": scale, "semaphores": semaphores,
         "neighbours": neighbours, "missing": missing, "others": others, "genuine": genuine, "packages": packages, "curves": curves}
QUICK = ("contended", "uncontended", "scale")
AGAIN = ("contended", "uncontended", "quorum")
ALL = (*AGAIN, "scale", "semaphores", "neighbours", "missing", *AGAIN, "others", "genuine", "packages", "curves", *AGAIN)
QUIET_PERCENT = 5  # more than this, and what is next to each other was not measured alike


def processors_used():
    """Seconds that all processes together have had of the processors since the start of the machine."""
    with open("/proc/stat", encoding="ascii") as stream:
        user, nice, system, _, _, interrupt, soft = [int(word) for word in stream.readline().split()[1:8]]
    return (user + nice + system + interrupt + soft) / os.sysconf("SC_CLK_TCK")


def own_used():
    """The same of this process and all that it has waited for."""
    return sum(getattr(resource.getrusage(who), field) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
               for field in ("ru_utime", "ru_stime"))


def machine(redis):
    version = re.search(r"redis_version:(\S+)", redis("INFO", "server")).group(1)
    with open("/proc/cpuinfo", encoding="utf-8") as stream:
        model = re.search(r"model name\s*:\s*(.*)", stream.read())
    return {"kernel": platform.release(), "processors": os.cpu_count(), "redis": version,
            "model": model.group(1) if model else platform.machine(), "load_average": os.getloadavg()[0]}


def measure_part(part, options, table, about):
    """Its figures, with a Redis and daemons of its own."""
    began = time.monotonic()
    place = harness.Place()
    try:
        stage = stages.Stage(place, options.seconds or (0.15 if options.quick else 0.5), table, options.quick)
        if not about:
            about.update(machine(stage.redis))
            print("%(processors)d processors (%(model)s), load average %(load_average).2f, Linux %(kernel)s, "
                  "Redis %(redis)s" % about)
        table.part()
        PARTS[part].measure(stage)
    except (AssertionError, harness.Skip) as error:
        sys.exit("bench: %s\n%s" % (error, "\n".join(place.logs())))
    finally:
        place.done()
    print("\n%s: %.1f s" % (part, time.monotonic() - began))


def main():
    parser = argparse.ArgumentParser(description="holdfast beside what the same costs without it")
    parser.add_argument("-q", "--quick", action="store_true", help="short slices, and the goals alone")
    parser.add_argument("-s", "--seconds", type=float, help="of a slice; each figure has five (0.5; --quick: 0.15)")
    parser.add_argument("-o", "--output", help="the figures as JSON")
    parser.add_argument("parts", nargs="*", metavar="PART", help="of " + ", ".join(PARTS))
    options = parser.parse_args()
    for part in options.parts:
        if part not in PARTS:
            parser.error("%s is no part; parts are %s" % (part, ", ".join(PARTS)))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench: ended by SIGTERM"))  # servers and folders are cleared up
    began, others = time.monotonic(), processors_used() - own_used()
    table = tables.Table()
    about = {}  # the machine
    for part in options.parts or (QUICK if options.quick else ALL):
        measure_part(part, options, table, about)
    about["load_average_end"] = os.getloadavg()[0]
    about["seconds"] = time.monotonic() - began
    about["others_percent"] = 100 * (processors_used() - own_used() - others) / about["seconds"] / os.cpu_count()
    if options.output:
        with open(options.output, "w", encoding="utf-8") as stream:
            json.dump({"machine": about, "whole": not (options.quick or options.parts), "rows": table.rows,
                       "notes": table.notes, "curves": table.curves}, stream, indent=1)
        if table.curves:
            print("\n" + plots.draw(table.curves, os.path.splitext(options.output)[0] + "-plots"))
    print("\n%.0f s, load average in the end %.2f; nobody held twice, every token grew" % (
        about["seconds"], about["load_average_end"]))
    print("other processes had %.0f %% of the processors%s" % (
        about["others_percent"], ": expect noise" if about["others_percent"] > QUIET_PERCENT else ""))
    print(table.verdict())


if __name__ == "__main__":
    main()
