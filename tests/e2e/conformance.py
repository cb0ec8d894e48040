"""The programs of tests/conformance: one for each package of client/, two that use the command line, and two that send the protocol
over plain connections. What they are told, what they say, and what one of them cannot have."""

import contextlib
import copy
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys

import harness
from harness import PATIENCE

HERE = os.path.join(harness.ROOT, "tests", "conformance")
OUT = os.path.join(harness.BUILD, "tests", "conformance")
CLIENT = os.path.join(harness.ROOT, "client")


def sources(folder, suffix):
    return [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names if name.endswith(suffix)]


def build(target, inputs, *commands, **environment):
    """Makes a target that is older than its inputs, in one process at a time."""
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(target + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        newest = max(map(os.path.getmtime, inputs))
        if os.path.exists(target) and os.path.getmtime(target) > newest:
            return
        for command in commands:
            made = subprocess.run(command, cwd=HERE, env=dict(os.environ, **environment), capture_output=True, text=True, check=False)
            if made.returncode:
                raise AssertionError("%s: %s%s" % (" ".join(command)[:200], made.stdout, made.stderr))


def python():
    return [sys.executable, os.path.join(HERE, "player.py")]


def node():
    return [shutil.which("node"), os.path.join(HERE, "player.js")] if shutil.which("node") else None


# Of every program in Go. The first one compiles Go's own library as well: without cgo, inlining and DWARF in two thirds of the time.
GO = {"GOCACHE": os.path.join(harness.BUILD, "interop", "go-build"), "GOPATH": os.path.join(harness.BUILD, "interop", "gopath"),
      "GOTOOLCHAIN": "local", "CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false -modcacherw -gcflags=all=-l -ldflags=-w"}


def go():
    if not shutil.which("go"):
        return None
    target, folder = os.path.join(OUT, "go"), os.path.join(HERE, "go")
    inputs = [path for path in sources(folder, ".go") + sources(os.path.join(CLIENT, "go"), ".go") if not path.endswith("_test.go")]
    build(target, inputs, ["go", "build", "-C", folder, "-o", target, "."], **GO)
    return [target]


def java_classes():
    """The folder of client/java's classes, and of the player's."""
    classes = os.path.join(OUT, "java")
    inputs = sources(os.path.join(CLIENT, "java", "src", "main"), ".java") + [os.path.join(HERE, "Player.java")]
    package = [path for path in inputs if not path.endswith("module-info.java")]
    build(os.path.join(classes, "Player.class"), inputs, ["javac", "--release", "17", "-d", classes, *package])
    return classes


def java():
    if not shutil.which("javac"):
        return None
    classes = java_classes()
    return ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", classes, "Player"]


def rust():
    if not shutil.which("rustc"):
        return None
    folder = os.path.join(OUT, "rust")
    source, player = os.path.join(CLIENT, "rust", "src"), os.path.join(HERE, "player.rs")
    compiler = ["rustc", "--edition", "2021", "--out-dir", folder]
    library = compiler + ["--crate-name", "holdfast", "--crate-type", "rlib", os.path.join(source, "lib.rs")]
    build(os.path.join(folder, "player"), sources(source, ".rs") + [player], library,
          compiler + ["-L", folder, "--extern", "holdfast", player])
    return [os.path.join(folder, "player")]


def c():
    return [os.path.join(harness.BUILD, "tests", "c", "player")]


def shell(way):
    return lambda: [os.path.join(HERE, "player.sh"), way] if shutil.which("bash") else None


def plain(way):
    return lambda: [sys.executable, os.path.join(HERE, "plain.py"), way]


PACKAGES = {"c": c, "go": go, "java": java, "node": node, "python": python, "rust": rust}
COMMANDS = {"run": shell("run"), "lock": shell("lock")}  # of the command line
PLAIN = {"id": plain("id"), "connection": plain("connection")}  # the two ways of LIBRARIES.md
PLAYERS = {**PACKAGES, **COMMANDS, **PLAIN}


def all_of(players, reason):
    return dict.fromkeys(players, reason)


# What a player cannot have, and why. The others play it.
LACKS = {
    "an older daemon": {**all_of(COMMANDS, "sends no ASYNC, so a daemon of before answers the same"),
                        **all_of(PLAIN, "sends neither VALIDITY nor ASYNC")},
    "tcp": {"lock": "refuses: over TCP the daemon does not see when the script ends"},
    "told": {"lock": "a script is not told; it asks with `check`", "id": "a loss is told with the next request about the lock"},
    "a way back": {"connection": "without SESSION GRACE a session ends with its connection"},
    "a kept connection": {"lock": "keeps no connection: the lock is the process's", "id": "keeps no connection"},
    "work after a loss": {"run": "stops the command, and gives the lock up"},
    "a deadline of its own": {"lock": "no process keeps the time: `check` says 69 while there is no daemon",
                              **all_of(PLAIN, "the program keeps the time; CHECK fails while there is no daemon")},
    "checks": all_of(PLAIN, "the daemon checks the arguments, in its own words"),
    "options of packages": all_of(COMMANDS, "the table of its options has its own words"),
    "signs": {"rust": "a time and a number of permits have no sign"},
    "zero": {"c": "0 is what is not set", **all_of(PLAIN, "the daemon checks the arguments, in its own words"),
             **all_of(COMMANDS, "the table of its options has its own words")},
    "nan": {"c": "no NaN is a whole number", "go": "no NaN is a Duration", "java": "no NaN is a Duration", "rust": "no NaN is a Duration",
            **all_of(PLAIN, "no NaN is a whole number"), **all_of(COMMANDS, "the table of its options has its own words")},
    "max_hold": all_of(COMMANDS, "has no such option; `run --max-run` stops the command"),
    "permits": all_of(COMMANDS, "has no such option; --slots takes one permit"),
    "owner": all_of(COMMANDS, "has no such option; a `run` inside of a `run` has its lock"),
    "one place": {**all_of(COMMANDS, "each is a process of its own, with its place"),
                  **all_of(PLAIN, "each lock has a session of its own, with its place")},
    "several names": {"lock": "takes one name; `run --also` takes more"},
    "a quiet try": all_of(COMMANDS, "says to people who has the lock, but with -q or --skip-ok"),
    "a token of others": all_of(COMMANDS, "the line for people has no token; `show --json` has it"),
    "news of a wait": all_of(PLAIN, "asks INSPECT when it wants to know"),
    "one session": {"run": "each is a session of its own", **all_of(PLAIN, "each lock has a session of its own")},
    "one program": all_of((*COMMANDS, *PLAIN), "each lock is that of another process, or of a session of its own"),
    "extend": all_of(COMMANDS, "has no such verb; without -t the daemon renews the lock"),
    "a longer wait": all_of(PLAIN, "WAIT takes a year at most"),
    "an endless wait that ends": all_of(PLAIN, "waits as long as the read of its library does"),
}


def lacking(names, needs):
    """Those of the names that lack one of the needs; says why."""
    out = [(who, need) for need in needs for who in LACKS[need] if who in names]
    for who, need in out:
        harness.comment("%s has not %s: %s" % (who, need, LACKS[need][who]))
    return {who for who, _ in out}


class Player:
    """A program, and what it has said."""

    def __init__(self, place, who, command, url):
        self.who = who
        environment = {"HOLDFAST_URL": url, "PYTHONPATH": os.path.join(CLIENT, "python"), "PYTHONDONTWRITEBYTECODE": "1",
                       "HOLDFAST": harness.HOLDFAST, "TMPDIR": place.path}
        # A script ends what it has started: its process group.
        self.process = place.run(*command, environment=environment, stdin=subprocess.PIPE, start_new_session=who in COMMANDS)
        if who in COMMANDS:
            place.ends.append(self.end)
        self.output = self.process.output
        self.marks = {}
        self.stopped = []  # its processes that stand still, each behind the one that has started it

    def tell(self, name, verb, *words):
        self.marks[name, verb] = self.output.mark()
        text = " ".join(map(str, (name, verb) + words)).replace("{who}", self.who)
        self.process.process.stdin.write((text + "\n").encode())
        self.process.process.stdin.flush()

    def end(self):
        self.cont()
        self.process.process.stdin.close()
        self.process.wait()

    def tree(self):
        """Its processes, each behind the one that has started it."""
        pids = [self.process.pid]
        for pid in pids:
            with contextlib.suppress(FileNotFoundError), open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as stream:
                pids += map(int, stream.read().split())
        return pids

    def stop(self):
        """All its processes stand still. None starts another: each is stopped before those that it has started are looked for."""
        self.process.stop()
        more = True
        while more:
            more = [pid for pid in self.tree() if pid not in self.stopped]
            for pid in more:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSTOP)
            self.stopped += more

    def cont(self):
        """What was stopped goes on, and what has started others behind them, so that it sees none that stands still."""
        while self.stopped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.stopped.pop(), signal.SIGCONT)
        self.process.stopped = False

    def said(self, name, verb, timeout=PATIENCE):
        """What it said behind the last request of this kind."""
        try:
            return self.output.wait("^%s %s (.*)" % (name, verb), self.marks.get((name, verb), 0), timeout)[1].group(1)
        except AssertionError as error:
            raise AssertionError("%s: %s\nits processes: %s" % (self.who, error, ", ".join(self.states()))) from error

    def states(self):
        """Of each of its processes the number, the program and the state, as ps(1) has it."""
        for pid in self.tree():
            with contextlib.suppress(FileNotFoundError), open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as stream:
                yield " ".join(stream.read().split()[:3])


class Team:
    """All players whose language is here, and that have what the scene needs. `{who}` in a request is its name."""

    def __init__(self, place, url, *needs):
        commands = {who: command() for who, command in PLAYERS.items() if who not in lacking(PLAYERS, needs)}
        self.players = [Player(place, who, command, url) for who, command in commands.items() if command]
        missing = [who for who, command in commands.items() if not command]
        if missing:
            harness.comment("not here: " + ", ".join(missing))
        for player in self.players:
            player.output.wait("^- ready")

    def having(self, *needs):
        """Those of the team that have all of this."""
        out = lacking([player.who for player in self.players], needs)
        return self.only(player.who for player in self.players if player.who not in out)

    def lacking(self, need):
        """The others."""
        return self.only(LACKS[need])

    def only(self, names):
        names, part = set(names), copy.copy(self)
        part.players = [player for player in self.players if player.who in names]
        return part

    def tell(self, *words):
        for player in self.players:
            player.tell(*words)

    def hear(self, name, verb, wanted, timeout=PATIENCE):
        """Each of them says what the pattern wants; all that it said, by the name of the package."""
        heard = {player.who: player.said(name, verb, timeout) for player in self.players}
        wrong = {who: said for who, said in heard.items() if not re.match(wanted, said)}
        harness.expect(wrong, {}, "%s %s: wanted %s" % (name, verb, wanted))
        return heard

    def ask(self, name, verb, *words, wanted):
        self.tell(name, verb, *words)
        return self.hear(name, verb, wanted)

    def stop(self):
        for player in self.players:
            player.stop()

    def cont(self):
        for player in self.players:
            player.cont()

    def silent(self, name, verb):
        """None of them has said this."""
        said = {}
        for player in self.players:
            with contextlib.suppress(AttributeError):
                said[player.who] = re.search("^%s %s .*" % (name, verb), player.output.text(), re.M).group(0)
        harness.expect(said, {}, "%s %s" % (name, verb))
