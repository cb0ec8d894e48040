"""Redisson and redsync themselves, where they can be installed, beside what rival.c does in their place."""

import importlib.machinery
import importlib.util
import os

import harness
from stage import ROUNDS

CLIENTS = 64
CONTEND_MS = 3000  # and as long before: a JVM gets warm, and those that all began at once fall out of step
FORMS = {"own": "each with its own client", "shared": "all with one client"}


def interop():
    """The program that proves exclusion against them, as a module: it installs them and knows how they are started."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "interop", "rivals", "run")
    loader = importlib.machinery.SourceFileLoader("rivals", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("rivals", loader))
    loader.exec_module(module)
    return module


class Library:
    """A program with 64 threads that contend as the library does, each library at its server. command: that starts it."""

    def __init__(self, stage, command, port):
        self.process = stage.place.run(*command, str(port), "genuine", os.path.join(stage.place.path, "none"), stdin=-1)
        self.seen = self.told("ready", 0)[1]

    def told(self, pattern, seen):
        _, match, number = self.process.output.wait("^%s$" % pattern, seen, timeout=120)
        return match, number + 1

    def contend(self, form, ms=CONTEND_MS):
        """(changes of holder, acquisitions) in a second"""
        self.process.process.stdin.write(b"contend %d %d %s\n" % (CLIENTS, ms, form.encode()))
        self.process.process.stdin.flush()
        match, self.seen = self.told(r"contended (\d+) of (\d+)", self.seen)
        return [int(number) * 1000 / ms for number in match.groups()]


def measure(stage):
    rivals = interop()
    for name in ("redisson", "redsync"):
        try:
            library = Library(stage, rivals.RIVALS[name][0](), stage.redis.port)
        except harness.Skip as why:
            stage.table.title(name)
            stage.table.note("skipped: %s" % why)
            continue
        stage.table.title("%s itself, %d threads of one program, one lock" % (name, CLIENTS))
        for form, words in FORMS.items():
            runs = [library.contend(form) for _ in range(ROUNDS)]
            stage.table.add("changes of holder, " + words, "/s", [run[0] for run in runs])
            stage.table.add("acquisitions, " + words, "/s", [run[1] for run in runs])
        library.process.kill()
