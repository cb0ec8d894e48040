#!/usr/bin/env python3
"""The figures of a bench as tables: prints them, or puts them where they stand in SCALE.md.

  tests/bench/tables.py FILE [DOCUMENT]     FILE: what bench.py wrote

In a document a table stands between <!-- its curve --> and <!-- end -->. So do <!-- machine -->, which says on what machine
the curves were measured, <!-- ratios -->, all ratios of a whole run, and <!-- compared -->, the medians of how many times as many
hand-offs and pairs holdfast has as others, and where a goal is missed. What FILE does not have stays as it is in the document.
"""

import json
import re
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


def last(bench, curve, key):
    """What the longest of a curve says."""
    return bench["curves"][curve][-1][key]


def between(bench, curve, key):
    """The least and the most along a curve, but for a single one of what grows: nothing is shared by one."""
    values = [point[key] for point in bench["curves"][curve] if point["x"] > 1]
    return "%.1f to %.1f" % (min(values), max(values))


def costs(bench):
    """What one more of each costs."""
    connection, lock, waiter = [last(bench, curve, "bytes_each")
                                for curve in ("idle connections", "locks held", "waiters on one name")]
    redis = last(bench, "locks held", "redis_bytes_each")
    return """\
| one more | costs the daemon | and Redis | no more than |
|---|---|---|---|
| idle connection | %d bytes | nothing | `limits.clients`, for one user `limits.sessions-per-user` |
| held lock | %d bytes, three renewals in a lease | %d bytes, as many | `limits.locks-per-user`, for a session `limits.grants-per-session` |
| waiter | %d bytes above its connection | nothing, but for a host's first | `limits.waiters-per-session` for a session |
| pair on a name that the host keeps using | %s µs | nothing | |
| hand-off to the next in line on the host | %s µs | a command for 50 and more | |

So a daemon takes about %.0f MB, and %.1f MB more for each thousand connections, %.1f MB for each thousand held locks,
%.1f MB for each thousand waiters.""" % (
        connection, lock, redis, waiter, between(bench, "clients: a lock each, retained", "daemon_us"),
        between(bench, "clients: one lock for all", "daemon_us"), bench["curves"]["idle connections"][0]["rss"] / 1e6,
        connection / 1e3, lock / 1e3, waiter / 1e3)


def renewals(bench):
    values = {row["figure"]: row["median"] for row in bench["rows"] if row["under"].startswith("100,000 leases")}
    return ("Keeping 100,000 leases of 10 s takes {:,.0f} renewals a second: {:.1f} % of a processor for the daemon, {:.1f} % "
            "for Redis,\n{:.2f} of what as many single renewals would cost it.").format(
                values["renewals"], values["CPU of the daemon"], values["CPU of Redis"],
                values["CPU of Redis : that of single renewals"])


def machine(bench):
    return ("Measured on %(processors)d processors (%(model)s), Linux %(kernel)s, Redis %(redis)s; other\n"
            "processes had %(others_percent).0f %% of the processors meanwhile, load average "
            "%(load_average).1f to %(load_average_end).1f." % dict(bench["machine"], others_percent=max(
                0, bench["machine"]["others_percent"])))


def goal(row):
    if "goal" not in row:
        return ""
    text = "at least {at_least:g}" if row["at_least"] is not None else "at most {at_most:g}"
    return (text if row["holds"] else "**" + text + "**").format(**row)


def ratios(bench):
    """Since a ratio is what another machine can be asked for, too: all of them."""
    lines = ["| measured | median | min..max | goal |", "|---|---:|---:|---|"]
    under = None
    for row in bench["rows"]:
        if row["unit"] != "x":
            continue
        if row["under"] != under:
            under = row["under"]
            lines.append("| *%s* | | | |" % under)
        lines.append("| %s | %.3g | %.3g..%.3g | %s |" % (row["figure"], row["median"], row["min"], row["max"], goal(row)))
    return machine(bench) + "\n\n" + "\n".join(lines)


def median(row):
    """The median, beside the goal where that is missed."""
    return "%.3g" % row["median"] + (", %s" % goal(row) if not row.get("holds", True) else "")


def grid(head, cells):
    """A table of cells by (row, column), each in the order in which it comes."""
    rows, columns = list(dict.fromkeys(row for row, _ in cells)), list(dict.fromkeys(column for _, column in cells))
    lines = ["| %s | %s |" % (head, " | ".join(columns)), "|---" + "|---:" * len(columns) + "|"]
    for row in rows:
        lines.append("| %s | %s |" % (row, " | ".join(cells.get((row, column), "") for column in columns)))
    return "\n".join(lines)


def compared(bench):
    """The ratios that a reader asks for: to clients of Redis itself, to other lock servers, and of hand-offs."""
    direct, others, passed = {}, {}, {}
    for row in bench["rows"]:
        if row["unit"] != "x":
            continue
        own = re.match(r"(.*): (\d+ clients?), (Unix|TCP)$", row["under"])
        other = re.match(r"(.*), 64 clients, (one lock|a lock each), (?:Unix|TCP)$", row["under"])
        if own and row["figure"] == "pairs, holdfast : direct":
            direct["%s, %s" % own.group(1, 3), own.group(2)] = median(row)
        elif other and row["figure"].startswith("holdfast : "):
            others[other.groups()] = median(row)
        elif row["figure"] in ("holdfast : bare loop", "holdfast : redisson", "holdfast : redsync"):
            passed[row["under"], row["figure"][len("holdfast : "):]] = median(row)
    return "\n\n".join([grid("pairs, beside `SET NX PX` and a script", direct), grid("64 clients, beside", others),
                        grid("hand-offs, beside", passed)])


def blocks(bench):
    """What there is to be put where, by its name."""
    found = {}
    if bench["curves"]:
        found["machine"] = machine(bench)
        found["costs"] = costs(bench)
    if bench["whole"]:
        found["ratios"] = ratios(bench)
        found["compared"] = compared(bench)
    if any("renewals" == row["figure"] for row in bench["rows"]):
        found["renewals"] = renewals(bench)
    for curve, (what, columns) in TABLES.items():
        if curve in bench["curves"]:
            found[curve] = table(what, columns, bench["curves"][curve])
    return found


def put(text, found):
    def replaced(match):
        name = match.group(1)
        return "<!-- %s -->\n%s\n<!-- end -->" % (name, found[name]) if name in found else match.group(0)
    return re.sub(r"<!-- (.+) -->\n(?:(?!<!--).*\n)*<!-- end -->", replaced, text)


def main():
    with open(sys.argv[1], encoding="utf-8") as stream:
        found = blocks(json.load(stream))
    if len(sys.argv) < 3:
        found.pop("compared", None)
        print("\n\n".join(found.values()))
        return
    with open(sys.argv[2], encoding="utf-8") as stream:
        text = put(stream.read(), found)
    with open(sys.argv[2], "w", encoding="utf-8") as stream:
        stream.write(text)


if __name__ == "__main__":
    main()
