"""What clients did and were told, written down as it happens, and its judge.

Each client appends to a file of its own. tests/history/HISTORY.md says what the lines are and which rules they have to
keep; the program of that folder judges them. What is read here is only how much has happened.
"""

import collections
import os
import subprocess
import time

import harness

MS = 1000000
AWAY = {"NOMASTER", "NOQUORUM", "GUARD", "MASTERERR", "DRAINING"}
EXCLUSIVE, SHARED, PERMITS = "xsp"
JUDGE = os.path.join(harness.BUILD, "tests", "history", "holdfast-history")


def now_ns():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class Writer:
    def __init__(self, path):
        self.fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def __call__(self, word, *details, at=None):
        """Writes it down; the time it was, or shall have been."""
        at = at or now_ns()
        os.write(self.fd, (" ".join([str(at), word, *map(str, details)]) + "\n").encode())
        return at

    def close(self):
        if self.fd is not None:
            os.close(self.fd)
        self.fd = None


# What the daemons are configured with: nobody can be told of more than lease_ms; max_hold_ms: by name.
Rules = collections.namedtuple("Rules", "lease_ms max_hold_ms", defaults=(0, {}))

LATE = "the answer came too late"  # on a busy machine

Grant = collections.namedtuple("Grant", "name client kind start")


def judge(paths, *options):
    """What is wrong with the history in these files, a text for each thing."""
    done = subprocess.run([JUDGE, "--lines", "100", *options, *paths], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    if done.returncode not in (0, 1):
        return ["the judge says: " + done.stdout]
    found = []
    for line in done.stdout.split("\n")[:-2]:
        if line.startswith(" "):
            found[-1] += "\n" + line
        else:
            found.append(line)
    return found


def nothing_found(found):
    """Of judge(): fails with the first of what was found, line by line."""
    if found:
        raise AssertionError("%d findings, the first:\n%s" % (len(found), "\n".join(found[:3])))


class Reader:
    """One client's file, read as far as it is written."""

    def __init__(self, path):
        self.client = os.path.basename(path)
        self.stream = open(path, encoding="utf-8", newline="\n")
        self.rest = ""
        self.asked = []  # the latest question of a lock: its word, form and names
        self.queued = {}  # (name, form) of ASYNC questions, by their ids
        self.grants = []
        self.counts = collections.Counter()

    def close(self):
        self.stream.close()

    def read(self):
        """Takes what is new."""
        lines = (self.rest + self.stream.read()).split("\n")
        self.rest = lines.pop()
        for line in lines:
            at, word, *details = line.split(" ")
            self.counts[word] += 1
            self.take(int(at), word, details)

    def take(self, at, word, details):
        if word == "error":
            self.counts["error " + details[1]] += 1
        elif word in ("ask", "again"):
            self.asked = [word, (details[2:] or [EXCLUSIVE])[0], details[0]]
        elif word == "mlock":
            self.asked = [word, *details[1:]]
        elif word == "enter":
            self.asked = []
        elif word == "queue":
            self.queued[details[0]] = details[1], details[3]
        elif word == "grant" and self.asked or word == "tokens":
            self.grants += [Grant(name, self.client, self.asked[1][0], at) for name in self.asked[2:]]
        elif word == "pushed" and details[0] in self.queued:
            name, form = self.queued.pop(details[0])
            self.grants.append(Grant(name, self.client, form[0], at))


class History:
    """The files of all clients in a folder. rules: what can be told at most."""

    def __init__(self, folder, rules=Rules()):
        self.folder = folder
        self.readers = {}
        self.watch = Writer(os.path.join(folder, "watcher"))
        if rules.lease_ms:
            self.watch("lease", int(rules.lease_ms))
        for rule in rules.max_hold_ms.items():
            self.watch("maxhold", *rule)

    def close(self):
        self.watch.close()
        for reader in self.readers.values():
            reader.close()

    def names(self):
        return sorted(os.listdir(self.folder))

    def read(self):
        for name in self.names():
            if name not in self.readers:
                self.readers[name] = Reader(os.path.join(self.folder, name))
            self.readers[name].read()

    def grants(self, since=0):
        """All since then, as far as they were read."""
        return [grant for reader in self.readers.values() for grant in newest(reader.grants, since)]

    def counts(self):
        return sum((reader.counts for reader in self.readers.values()), collections.Counter())

    def judge(self, running=False, waived=()):
        """
        What is wrong, in lines; empty: nothing. running: clients still write, and may hold. waived: what is overlooked.
        """
        at = now_ns()
        if not running:
            self.watch("until", at=at)
        found = judge([os.path.join(self.folder, name) for name in self.names()], *(["--running", str(at)] if running else []))
        return [one for one in found if not any(what in one.split("\n", maxsplit=1)[0] for what in waived)]


def newest(grants, since):
    """The end of a list that is in the order of the grants."""
    at = len(grants)
    while at > 0 and grants[at - 1].start >= since:
        at -= 1
    return grants[at:]


def first_grants(grants, names, daemons, since):
    """ns from since to the first grant after it of each name, and of any of them by each daemon; None: there is none."""
    first = dict.fromkeys([*names, *daemons])
    for grant in grants:
        if grant.name in names and grant.start >= since:
            for what in (grant.name, grant.client.split(".")[2]):
                if first[what] is None or grant.start - since < first[what]:
                    first[what] = grant.start - since
    return first
