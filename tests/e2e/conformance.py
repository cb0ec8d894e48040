"""The programs of tests/conformance, one for each package of client/: what they are told, and what they say."""

import contextlib
import copy
import fcntl
import os
import re
import shutil
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


def go():
    if not shutil.which("go"):
        return None
    target, folder = os.path.join(OUT, "go"), os.path.join(HERE, "go")
    cache = os.path.join(harness.BUILD, "interop", "go-build")
    inputs = [path for path in sources(folder, ".go") + sources(os.path.join(CLIENT, "go"), ".go") if not path.endswith("_test.go")]
    build(target, inputs, ["go", "build", "-C", folder, "-o", target, "."], GOCACHE=cache, GOTOOLCHAIN="local",
          GOFLAGS="-buildvcs=false", GOPATH=os.path.join(harness.BUILD, "interop", "gopath"))
    return [target]


def java():
    if not shutil.which("javac"):
        return None
    classes = os.path.join(OUT, "java")
    inputs = sources(os.path.join(CLIENT, "java", "src", "main"), ".java") + [os.path.join(HERE, "Player.java")]
    package = [path for path in inputs if not path.endswith("module-info.java")]
    build(os.path.join(classes, "Player.class"), inputs, ["javac", "--release", "17", "-d", classes, *package])
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


PACKAGES = {"c": c, "go": go, "java": java, "node": node, "python": python, "rust": rust}


class Player:
    """A program, and what it has said."""

    def __init__(self, place, who, command, url):
        self.who = who
        environment = {"HOLDFAST_URL": url, "PYTHONPATH": os.path.join(CLIENT, "python"), "PYTHONDONTWRITEBYTECODE": "1"}
        self.process = place.run(*command, environment=environment, stdin=subprocess.PIPE)
        self.output = self.process.output
        self.marks = {}

    def tell(self, name, verb, *words):
        self.marks[name, verb] = self.output.mark()
        text = " ".join(map(str, (name, verb) + words)).replace("{who}", self.who)
        self.process.process.stdin.write((text + "\n").encode())
        self.process.process.stdin.flush()

    def said(self, name, verb, timeout=PATIENCE):
        """What it said behind the last request of this kind."""
        return self.output.wait("^%s %s (.*)" % (name, verb), self.marks.get((name, verb), 0), timeout)[1].group(1)


class Team:
    """A program for each package whose language is here. `{who}` in a request is its name."""

    def __init__(self, place, url, but=()):
        commands = {who: command() for who, command in PACKAGES.items() if who not in but}
        self.players = [Player(place, who, command, url) for who, command in commands.items() if command]
        missing = [who for who, command in commands.items() if not command]
        if missing:
            harness.comment("not here: " + ", ".join(missing))
        for player in self.players:
            player.output.wait("^- ready")

    def without(self, *names):
        """The others of the team."""
        others = copy.copy(self)
        others.players = [player for player in self.players if player.who not in names]
        return others

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
            player.process.stop()

    def cont(self):
        for player in self.players:
            player.process.cont()

    def silent(self, name, verb):
        """None of them has said this."""
        said = {}
        for player in self.players:
            with contextlib.suppress(AttributeError):
                said[player.who] = re.search("^%s %s .*" % (name, verb), player.output.text(), re.M).group(0)
        harness.expect(said, {}, "%s %s" % (name, verb))
