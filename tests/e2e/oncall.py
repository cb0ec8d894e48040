"""Somebody on call, who knows an alert, and types what it and the product say: for the scenes of incidents.

An alert is judged as Prometheus would: promtool plays two looks at /metrics into the rules that are shipped, ten minutes
as it was before the incident, and then on as it went while the incident lasted. Its `command` is what is typed first, and
what is typed next is a line `run` of the answer, as it is printed. `holdfast` and `redis-cli` are the real ones. The
commands of the system for the unit and the clock of a host do for the daemon and the master of the scene what they do
there, and no other thing.
"""

import os
import re
import shutil
import subprocess
import time

import harness
from check_http import Connection, ask, path_of, samples
from harness import expect

RULES = os.path.join(harness.ROOT, "packaging", "monitoring", "alerts.yml")
COUNTERS = ("_total", "_bucket", "_count", "_sum")

# What systemd does for a unit, of which the scene is the daemon.
SYSTEMCTL = """#!/bin/sh
case "$*" in
"reload holdfastd") kill -HUP "$(cat %(pid)s)" ;;
"show -p MainPID --value holdfastd") cat %(pid)s ;;
*) echo "the scene has no systemctl $*" >&2; exit 1 ;;
esac
"""
# What time synchronisation does for a clock that is off, which a clock of the tests takes.
TIMEDATECTL = """#!/bin/sh
[ "$*" = "set-ntp true" ] && head -c 16 /dev/zero | dd of=%(clock)s conv=notrunc 2>/dev/null
"""


def rule_of(alert):
    """(its expression, its first command)"""
    with open(RULES, encoding="utf-8") as stream:
        block, = re.findall(r"- alert: %s\n(.*?)\n(?=      #|      - alert|\Z)" % alert, stream.read() + "\n", re.S)
    command, = re.findall(r"^ +command: (.*)$", block, re.M)
    if command[0] == '"':
        command = command[1:-1].replace("\\\\", "\\")
    return re.search(r"expr: (.*?)\n +(?:for|labels):", block, re.S).group(1), command


def values_of(name, before, during, seconds, halves):
    """Of a sample in the notation of promtool, for each half minute."""
    first = "%sx20" % before if before is not None else "_x20"
    if during is None:
        return first + " stale"
    step = 0.0
    if name.endswith(COUNTERS):
        step = (float(during) - float(before or 0)) / seconds * 30
    elif name == "holdfast_longest_wait_seconds" and float(during) > 0:
        step = 30.0
    return "%s %s%+.6fx%d" % (first, during, step, halves)


def findings_of(text, cause):
    """The lines below each finding of doctor that names the cause: {"why": , "do": , "run": }."""
    for block in re.split(r"^(?=ok |warning |error )", text, flags=re.M):
        if re.match(r"(warning|error) +\S+ +.*(%s)" % cause, block):
            yield dict(re.findall(r"^ +(why|do|run) +(.*)$", block, re.M))


class OnCall:
    def __init__(self, place, daemon, clock=None, watched=True):
        """On the host of this daemon. clock: of clockshim.py, whose name it has. watched: Prometheus looks at it."""
        self.place, self.daemon = place, daemon
        self.bin = os.path.join(place.path, "bin-" + daemon.name)
        self.pid = os.path.join(self.bin, "pid")
        self.typed = []
        self.since = time.monotonic()
        os.mkdir(self.bin)
        facts = {"pid": self.pid, "clock": clock and os.path.join(place.path, "%s.clock" % clock)}
        for word, text in (("systemctl", SYSTEMCTL), ("timedatectl", TIMEDATECTL)):
            path = os.path.join(self.bin, word)
            with open(path, "w", encoding="ascii") as stream:
                stream.write(text % facts)
            os.chmod(path, 0o755)
        self.before = self.scrape() if watched else None

    # ---- what is typed ----

    def type(self, command):
        """(exit status, all that it prints)"""
        with open(self.pid, "w", encoding="ascii") as stream:
            stream.write(str(self.daemon.process.pid))
        environment = dict(os.environ, PATH="%s:%s:%s" % (self.bin, harness.BUILD, os.environ["PATH"]),
                           HOLDFAST_URL=self.daemon.socket, COLUMNS="400")
        started = time.monotonic()
        done = subprocess.run(["sh", "-c", command], cwd=self.place.path, env=environment, text=True, check=False,
                              timeout=harness.PATIENCE, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.typed.append((command, time.monotonic() - started))
        return done.returncode, done.stdout

    def finds(self, command, cause):
        """Types the command until its answer names the cause; returns the lines below: {"why": , "do": , "run": }."""
        said = []

        def seen():
            said[:] = [self.type(command)[1]]
            return next(findings_of(said[0], cause), None)
        try:
            finding = harness.until("%s names %s" % (command, cause), seen)
        except AssertionError as error:
            raise AssertionError("%s:\n%s" % (error, said[0])) from error
        expect("do" in finding and "why" in finding, True, repr(finding))
        return finding

    def runs(self, finding):
        """Types the command of a finding as it is printed."""
        expect("run" in finding, True, repr(finding))
        status, text = self.type(finding["run"])
        expect((status, bool(re.search("ERR|NOPERM|WRONG", text))), (0, False), "%s: %s" % (finding["run"], text))
        return text

    def ends(self, command, cause, over):
        """Runs what the command prints, and what it prints then, until it is over; returns the last finding."""
        finding, run = None, set()
        while not over():
            text = self.type(command)[1]
            for found in findings_of(text, cause):
                # What is known of a master is half a second old.
                if found.get("run") not in run | {None}:
                    finding = found
                    run.add(found["run"])
                    self.runs(found)
                    break
            expect(len(run) < 9, True, text)
            expect(time.monotonic() - self.since < 2 * harness.PATIENCE, True, text)
        return finding

    def mends(self, alert, cause, over=None):
        """From the alert to the end of the incident, which is health unless said otherwise, by what is printed alone."""
        command = rule_of(alert)[1]
        del self.typed[:]
        self.since = time.monotonic()
        self.finds(command, cause)
        finding = self.ends(command, cause, over or self.healthy)
        expect(finding is not None, True, "nothing is printed that mends it")
        typed = [one for one, _ in self.typed if one not in (command, "holdfast health")]
        harness.comment("%s: %s (%.2f s), then: %s" % (alert, command, self.typed[0][1], "; then: ".join(typed)))
        return finding

    def quiet(self):
        """Doctor finds nothing."""
        return self.type("holdfast doctor")[0] == 0

    def healthy(self):
        return self.type("holdfast health")[0] == 0

    def well(self):
        harness.until("health is well", self.healthy)

    # ---- what names the cause ----

    def names(self, cause, *commands):
        """Each of these names it, too: holdfast VERB; log; /page."""
        for command in commands:
            harness.until("%s names %s" % (command, cause), lambda command=command: re.search(cause, self.told(command), re.M))

    def told(self, command):
        if command == "log":
            return self.daemon.output.text()
        if command[0] == "/":
            return ask(Connection(path_of(self.place)), command)[2]
        return self.type("holdfast " + command)[1]

    # ---- alerts ----

    def scrape(self):
        return time.monotonic(), samples(ask(Connection(path_of(self.place)), "/metrics")[2])

    def fires(self, alert, minutes=40):
        """The alert fires if this goes on for so long, as since the start of the scene; without an incident it does not."""
        if not shutil.which("promtool"):
            harness.comment("promtool is not installed: %s is not judged" % alert)
            return
        started, before = self.before
        now, during = self.scrape()
        expression = rule_of(alert)[0]
        names = set(re.findall(r"\b(?:holdfast|process)_[a-z_]+", expression))
        text = "rule_files: [%s]\nevaluation_interval: 30s\ntests:\n  - interval: 30s\n    input_series:\n" % RULES
        for key in sorted(set(before) | set(during)):
            name, labels = re.match(r"([a-z_]+)(?:\{(.*)\})?$", key).groups()
            if name in names:
                labels = ",".join(filter(None, (labels, 'job="holdfast",instance="drill"')))
                text += "      - { series: '%s{%s}', values: '%s' }\n" % (
                    name, labels, values_of(name, before.get(key), during.get(key), max(now - started, 0.001), 2 * minutes))
        expect("series:" in text, True, "no metric of %s" % alert)
        asked = 'group by (alertname) (max_over_time(ALERTS{alertname="%s",alertstate="firing"}[%dm]))' % (alert, minutes + 10)
        fired = "[{ labels: '{alertname=\"%s\"}', value: 1 }]" % alert
        text += "    promql_expr_test:\n"
        for when, wanted in (("10m", "[]"), ("%dm" % (minutes + 10), fired)):
            text += "      - { expr: '%s', eval_time: %s, exp_samples: %s }\n" % (asked, when, wanted)
        path = os.path.join(self.place.path, "drill.test.yml")
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(text)
        done = subprocess.run(["promtool", "test", "rules", path], text=True, check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        expect(done.returncode, 0, done.stdout + text)
