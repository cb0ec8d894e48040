#!/usr/bin/env python3
"""Real masters, daemons and clients under every fault that must be survived, and a judge; not part of `make check`.

  tests/e2e/nemesis.py [--seed N] [--seconds S] [--masters 1|3|5 [--change] | --sentinel | --cluster] [--guard off] [--total]
                       [--faults NAME,...] [--without NAME,...] [--keep DIR]

Each master is a redis-server with a clock of its own (clockshim.py) behind a proxy (nemesis_wire.py); three daemons use
them, and 64 clients those, which do what their roles say (nemesis_roles.py). With --sentinel the master has two replicas
and three sentinels (nemesis_sentinel.py). With --cluster it is a Redis Cluster of three masters, each with a replica
(nemesis_cluster.py). With --change masters are replaced and added meanwhile, by commands to the
daemons (nemesis_change.py). Every 2 to 10 seconds a fault, or two, of nemesis_faults.py begin, drawn
from the seed. When they are over, everything is healed, and it is measured how long it takes until locks are granted.
What the clients were told is judged all the time and in the end (history.py); then everything stops, and nothing may be
left at the masters. What a failing or a slow run leaves in DIR: logs of daemons and masters,
histories, the course of faults.

`--guard off` must fail: it shows that the judge sees two holders where there are two. `--total` lets all masters lose
their memory at once as well, which is beyond the assumptions of several masters, and not beyond the guard.
"""

import argparse
import collections
import os
import random
import re
import shutil
import sys
import threading
import time
import traceback

import harness
import history
import nemesis_change
import nemesis_cluster
import nemesis_crash
import nemesis_faults
import nemesis_hand_over
import nemesis_sentinel
import nemesis_stage
from harness import boottime
from history import now_ns
from nemesis_faults import LEASE, MARGIN
from nemesis_stage import CLIENTS, DAEMONS, WORKERS
from scene import pause

# Work has to go on within a second; what takes so long is no matter of a busy machine any more.
PROGRESS_WANTED = 1.0
PROGRESS_BOUND = 10.0
# A vanished client is noticed after 20 s, and then its lock is withheld for a lease.
VANISHED = 25.0


class Idler:
    """Knows when the machine was too busy: a thread that wants to run every 10 ms, and when it could not."""

    STEP = 0.01

    def __init__(self, place):
        self.gaps = []  # (ns at its end, seconds more than a step)
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()
        place.ends.append(self.end)

    def run(self):
        before = now_ns()
        while not self.ended.wait(self.STEP):
            moment = now_ns()
            if moment - before > 3 * self.STEP * 1e9:
                self.gaps.append((moment, (moment - before) / 1e9 - self.STEP))
            before = moment

    def end(self):
        self.ended.set()
        self.thread.join()

    def held_up(self, since, until):
        """Seconds in which nothing here ran."""
        return sum(gap for at, gap in self.gaps if since <= at <= until)


class Budget:
    """Which masters may be harmed now: those that have lost memory or time in this guard period are a minority."""

    def __init__(self, stage):
        self.stage = stage

    def spare(self, fault):
        """How many further ones, and which."""
        masters = self.stage.masters
        period = LEASE + MARGIN + 1.0
        well = [master for master in masters if master.harmed is None or boottime() - master.harmed > period]
        allowed = 1 if self.stage.votes == 1 and fault.costs == "memory" else (self.stage.votes - 1) // 2
        return well, allowed - (len(masters) - len(well))


class Course:
    """The faults of one run, one round after the other."""

    def __init__(self, stage, options):
        self.stage = stage
        self.options = options
        self.budget = Budget(stage)
        self.number = 0
        self.lines = []
        self.samples = []  # (fault, seconds from the heal until masters are used, until all names went on, held up)
        self.idler = Idler(stage.place)
        self.problems = []
        self.over = False  # all clients have ended
        self.judge_at = 0.0
        self.errors = []
        known = [one.__name__ for one in nemesis_faults.FAULTS]
        wanted, unwanted = options.faults.split(","), options.without.split(",")
        for name in filter(None, wanted + unwanted):
            harness.expect(name in known, True, "a fault called %s among %s" % (name, ", ".join(known)))
        self.faults = [one for one in nemesis_faults.FAULTS if one.only(stage) and one.__name__ not in unwanted and (
            wanted == [""] or one.__name__ in wanted)]
        if options.total:
            self.faults.append(nemesis_faults.total_loss)

    def note(self, text):
        self.lines.append("%.3f %s" % (boottime(), text))
        print("# " + self.lines[-1])

    def draw(self):
        """The faults of the next round, as (function, chance, target), from the seed and its number alone."""
        self.number += 1
        chance = random.Random("%s/%d" % (self.options.seed, self.number))
        count = 2 if chance.random() < 0.3 else 1
        # Each comes once before any comes again, like cards; the second of a round may be any.
        deck, card = divmod(self.number - 1, len(self.faults))
        cards = random.Random("%s/deck %d" % (self.options.seed, deck)).sample(self.faults, len(self.faults))
        chosen, domains = [], set()
        for fault in [cards[card]] + chance.sample(self.faults, len(self.faults)):
            if len(chosen) == count:
                break
            part = random.Random("%s/%d/%s" % (self.options.seed, self.number, fault.__name__))
            target = None if fault.domain in domains else self.target(fault, part)
            if target is not None:
                chosen.append((fault, part, target))
                domains |= {"master", "total"} if fault.domain in ("master", "total") else {fault.domain}
        beside = self.stage.beside(chance, [fault for fault, _, _ in chosen], self.budget)
        return chance, chosen + ([beside] if beside else [])

    def target(self, fault, chance):
        """What it hits, or None: it must not be now."""
        masters = self.stage.masters
        if fault.domain == "daemon":
            return chance.choice(self.stage.daemons)
        if fault.domain == "client":
            return chance.randrange(WORKERS)
        if fault.domain == "sentinel":
            return self.stage.sentinels
        if fault.domain == "total":
            return masters
        if fault.domain == "network":
            doors = chance.choice(([chance.randrange(DAEMONS)], [chance.randrange(DAEMONS)], list(range(DAEMONS))))
            return [(server.wire, doors) for server in self.some(self.stage.servers, chance)]
        if fault.costs is None:
            return self.some(masters, chance)
        well, allowed = self.budget.spare(fault)
        return chance.sample(well, chance.randint(1, allowed)) if allowed > 0 else None

    def some(self, masters, chance):
        """Mostly a minority, sometimes more."""
        minority = max(1, (len(masters) - 1) // 2)
        return chance.sample(masters, chance.choice((minority, minority, 1, len(masters))))

    def describe(self, fault, target):
        if fault.domain in ("master", "total", "set"):
            return "%s of %s" % (fault.__name__, " ".join(master.name for master in target))
        if fault.domain == "network":
            servers = self.stage.servers
            wires = [server.wire for server in servers]
            return "%s between %s and %s" % (
                fault.__name__, " ".join("d%d" % (door + 1) for door in target[0][1]),
                " ".join(servers[wires.index(wire)].name for wire, _ in target))
        if fault.domain == "sentinel":
            return fault.__name__
        return "%s of %s" % (fault.__name__, target.name if fault.domain == "daemon" else "worker %d" % target)

    def play(self, fault, chance, target):
        try:
            fault(self.stage, chance, target)
        except Exception:
            self.errors.append("%s: %s" % (fault.__name__, traceback.format_exc()))

    def round(self):
        began = boottime()
        chance, chosen = self.draw()
        for fault, _, target in chosen:
            self.note("round %d: %s" % (self.number, self.describe(fault, target)))
            for master in target if fault.costs else []:
                for one in self.stage.kin(master):
                    one.harmed = boottime() + 1000
        harmful = any(self.stage.harmed_by(fault) for fault, _, _ in chosen)
        if harmful:
            self.stage.harms("harm")
        watches = [kind.Watch(self.stage, chosen) for kind in (nemesis_hand_over, nemesis_crash)]
        threads = [threading.Thread(target=self.play, args=one) for one in chosen]
        for thread in threads:
            thread.start()
            pause(chance.random() * 0.5 if len(threads) > 1 else 0)
        for thread in threads:
            thread.join()
        self.stage.check_alive()
        if self.errors:
            raise AssertionError("the nemesis itself failed:\n%s" % "\n".join(self.errors))
        for watch in watches:
            for line in watch.found(self.idler.held_up(watch.since, now_ns())):
                self.problem(line)
        for master in self.stage.servers:
            if master.harmed is not None and master.harmed > boottime():
                master.harmed = boottime()
        self.stage.restore()
        self.recover(chosen, now_ns())
        if harmful:
            self.stage.harms("heal")
        pause(max(0.0, began + 2 + chance.random() ** 2 * 8 - boottime()))

    def recover(self, chosen, healed):
        names = "+".join(fault.__name__ for fault, _, _ in chosen) or "nothing"
        masters = self.stage.votes
        usable, missing = self.stage.await_masters(masters // 2 + 1, 2 * PROGRESS_BOUND)
        if missing:
            self.problem("after %s no majority: %s" % (names, missing))
            return
        aftermath = max([int(fault.aftermath * 1e9) for fault, _, _ in chosen] or [0])
        since = max(usable, healed + aftermath)
        first = self.await_grants(since)
        guarded = self.guard_end(chosen, healed)
        if guarded > since:
            usable, since = guarded, guarded
            first = self.await_grants(since)
        late = [name for name, took in first.items() if took is None]
        if late:
            self.problem("after %s no grant by or of %s within %.0f s; the machine itself was too busy for %.3f s" % (
                names, " ".join(late), (now_ns() - since) / 1e9, self.idler.held_up(since, now_ns())))
            return
        slowest = max(first, key=first.get)
        sample = ("%s, of %s" % (names, slowest), (usable - healed) / 1e9, first[slowest] / 1e9,
                  self.idler.held_up(healed, since + first[slowest]))
        self.samples.append(sample)
        self.note("healed; majorities used after %.3f s, every name granted, and by every daemon, %.3f s later (%s)" %
                  (sample[1], sample[2], slowest))
        _, missing = self.stage.await_masters(masters, 2 * PROGRESS_BOUND)
        if missing:
            self.problem("after %s not all masters: %s" % (names, missing))

    def guard_end(self, chosen, healed):
        """When the last daemon took up a majority that had forgotten, in ns, which may be seen late. 0: none had."""
        if not any(fault.costs == "memory" and self.stage.votes == 1 or fault.costs == "all"
                   for fault, _, _ in chosen):
            return 0
        admitted = [at for daemon in self.stage.daemons for at, line in daemon.output.since()
                    if "master.admitted" in line and at * 1e9 > healed]
        return int(max(admitted, default=0) * 1e9)

    def await_grants(self, since):
        while True:
            self.stage.history.read()
            first = history.first_grants(
                self.stage.history.grants(since), self.stage.plan.busy(),
                [daemon.name for daemon in self.stage.daemons], since)
            # Time in which nothing here could run is not the daemons'.
            waited = (now_ns() - since) / 1e9 - self.idler.held_up(since, now_ns())
            if all(took is not None for took in first.values()) or waited > PROGRESS_BOUND:
                return first
            pause(0.02)

    def problem(self, text):
        self.note("PROBLEM " + text)
        self.problems.append(text)

    def judge(self):
        """What is wrong so far. It takes a twentieth of the time at most, for it reads all that was written."""
        began = time.monotonic()
        if began < self.judge_at and not self.over:
            return []
        found = self.stage.history.judge(running=not self.over)
        self.judge_at = time.monotonic() + 20 * (time.monotonic() - began)
        return found

    def run(self, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.round()
            found = self.judge()
            if found:
                self.note("the judge found:\n" + "\n".join(found[:5]))
                return


class Drain:
    """When everybody has stopped, nothing may be left."""

    def __init__(self, stage, course):
        self.stage = stage
        self.course = course

    def left(self):
        """Keys that are not counters of tokens, latches or the master's memory of itself."""
        found = []
        for master in self.stage.masters:
            found += ["%s %s" % (master.name, key) for key in master("KEYS", "*")
                      if not re.search(r":(f|l|lw)$", key) and key != self.stage.namespace + ":node"]
        for daemon in self.stage.daemons:
            info = daemon.info()
            found += ["%s %s:%s" % (daemon.name, key, info[key])
                      for key in ("leases", "grants", "withheld", "waiters") if info[key] != "0"]
        return found

    def run(self):
        stuck = self.stage.crowd.stop(20)
        self.course.over = True
        if stuck:
            self.course.problem("clients that do not end: %r" % stuck)
        started = boottime()
        vanished = any("clients_vanish" in line for line in self.course.lines[-40:])
        bound = LEASE + MARGIN + 4.0 + (VANISHED if vanished else 0.0)
        while True:
            left = self.left()
            if not left:
                break
            if boottime() - started > bound:
                self.course.problem("left after %.1f s: %s" % (bound, ", ".join(left)))
                break
            pause(0.05)
        self.course.note("drained in %.3f s" % (boottime() - started))


def percentile(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))] if values else 0.0


def report(course, stage):
    counts = stage.history.counts()
    samples = course.samples
    slow = [sample for sample in samples if sample[2] > PROGRESS_WANTED]
    harness.comment("%d rounds, %d grants, %d losses told, answers: %s" % (
        course.number, counts["grant"], counts["lost"],
        " ".join("%s=%d" % (word.replace("error ", ""), count) for word, count in sorted(counts.items())
                 if word == "null" or word.startswith("error "))))
    kinds = collections.Counter(grant.kind for grant in stage.history.grants())
    harness.comment("held: %d exclusive, %d shared, %d permits; %d MLOCKs, %d ASYNC, %d resumed, %d latch answers" % (
        kinds[history.EXCLUSIVE], kinds[history.SHARED], kinds[history.PERMITS], counts["tokens"], counts["pushed"],
        counts["resumed"], counts["left"]))
    for number, what in ((1, "from a heal until every daemon used a majority"),
                         (2, "from then until every hot name, and every daemon, had a grant")):
        values = [sample[number] for sample in samples]
        harness.comment("%s: median %.3f s, p90 %.3f s, worst %.3f s" % (
            what, percentile(values, 0.5), percentile(values, 0.9), percentile(values, 1.0)))
    harness.comment("%d of %d rounds went on within %.0f s%s" % (
        len(samples) - len(slow), len(samples), PROGRESS_WANTED,
        "".join("\n    %s: %.3f s; the machine itself was too busy for %.3f s" % (
            sample[0], sample[2], sample[3]) for sample in slow)))


def keep(stage, course, verdict, folder):
    """All that is needed to understand a failing run."""
    folder = os.path.abspath(os.path.join(folder, "seed-%s-%s" % (
        course.options.seed, course.stage.describe().replace(" ", "-"))))
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(stage.folder, os.path.join(folder, "history"))
    for process in stage.place.processes:
        name = "%s.%d.log" % (os.path.basename(process.process.args[0]), process.pid)
        for daemon in stage.daemons:
            if daemon.process is process:
                name = daemon.name + ".log"
        with open(os.path.join(folder, name), "w", encoding="utf-8") as stream:
            stream.writelines("%.6f %s\n" % line for line in process.output.since())
    with open(os.path.join(folder, "course"), "w", encoding="utf-8") as stream:
        stream.write("\n".join([" ".join(sys.orig_argv), *course.lines, *verdict]) + "\n")
    harness.comment("kept in " + folder)


def kind_of(options):
    if options.sentinel:
        return nemesis_sentinel.Watched
    if options.cluster:
        return nemesis_cluster.Clustered
    return nemesis_change.Changing if options.change else nemesis_stage.Stage


def play(place, options):
    stage = kind_of(options)(place, options)
    course = Course(stage, options)
    course.note("seed %s: %s, %d daemons, %d clients, %.0f s" % (
        options.seed, stage.describe(), DAEMONS, CLIENTS, options.seconds))
    _, missing = stage.await_masters(stage.votes, 30)
    harness.expect(missing, None)
    try:
        course.run(options.seconds)
        Drain(stage, course).run()
    except AssertionError as error:
        course.problem(str(error))
    stage.history.read()
    course.judge_at = 0.0
    verdict = course.judge() + ["progress: " + text for text in course.problems]
    report(course, stage)
    slow = any(sample[2] > PROGRESS_WANTED for sample in course.samples)
    if (verdict or slow) and options.keep:
        keep(stage, course, verdict, options.keep)
    history.nothing_found(verdict)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seed", default=str(random.randrange(10 ** 9)))
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--masters", type=int, choices=(1, 3, 5), default=3)
    parser.add_argument("--sentinel", action="store_true", help="one master with two replicas, which sentinels fail over")
    parser.add_argument("--cluster", action="store_true", help="one master in a Redis Cluster of six nodes")
    parser.add_argument("--change", action="store_true", help="the set of masters changes in every other round")
    parser.add_argument("--faults", default="", help="only these, by the names of their functions")
    parser.add_argument("--without", default="", help="all but these")
    parser.add_argument("--guard", choices=("auto", "off"), default="auto")
    parser.add_argument("--total", action="store_true")
    parser.add_argument("--log", default="info", help="level of the daemons' logs")
    parser.add_argument("--keep", default="", help="where a failing run leaves what happened")
    options = parser.parse_args()
    sys.argv[1:] = []

    def test_nemesis(place):
        play(place, options)
    test_nemesis.__doc__ = "%.0f seconds of faults with %s and seed %s" % (
        options.seconds, "Sentinel" if options.sentinel else "a cluster" if options.cluster else
        "%d masters" % options.masters, options.seed)
    harness.main({"test_nemesis": test_nemesis})


if __name__ == "__main__":
    main()
