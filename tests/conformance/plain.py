"""A program that has no package, and sends the protocol over plain connections, as LIBRARIES.md says: it does what it is told line by
line. `plain.py id` gives each lock an id, and sends each request over a new connection, again if that is lost. `plain.py connection`
gives each lock a connection, which ends with it."""

import os
import queue
import sys
import threading
import time
import urllib.parse
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))

import resp  # noqa: E402

URL = os.environ["HOLDFAST_URL"]
ADDRESS = URL if URL.startswith("/") else (URL.rpartition(":")[0], int(URL.rpartition(":")[2]))
PASSING = ("NOMASTER", "GUARD", "MASTERERR", "DRAINING", "LIMIT", "DEADLOCK", "LOST")  # 7.3
PATIENCE = 5  # seconds without an answer that is due
LONG = 1000000  # seconds: what is longer no library waits for
CUT = (OSError, resp.Closed, resp.Late, resp.Broken)

say_mutex = threading.Lock()
locks = {}
holders = {}  # of who was late, by name


def say(*words):
    with say_mutex:
        print(*words, flush=True)


class Unreachable(Exception):
    """No daemon answers."""

    transient = 1


def connect():
    """A connection whose other end says that it is holdfastd."""
    client = resp.Client(ADDRESS, 2, PATIENCE)
    hello = client("HELLO", 3, "SETNAME", "player")
    if not isinstance(hello, dict) or not hello["server"].startswith("holdfast"):
        error = Unreachable("%s is no holdfastd" % URL)
        error.transient = 0
        raise error
    return client


class ById:
    """A lock with an id. What is sent again has the same effect as before (PROTOCOL.md 5.11)."""

    def __init__(self, _teller):
        self.id = uuid.uuid4().hex

    def ask(self, *words, wait=0):
        until = time.monotonic() + wait + PATIENCE
        away = None  # no daemon has answered since then
        while True:
            away = away or time.monotonic()
            try:
                with connect() as client:
                    away = None
                    client.send(*words, "AS", self.id)
                    return client.reply(max(until - time.monotonic(), 0.01))
            except CUT as error:
                now = time.monotonic()
                if now > until or (away and now > min(away + PATIENCE, until - PATIENCE)):
                    raise Unreachable(error) from error
                time.sleep(0.02)


class ByConnection:
    """A lock with a connection."""

    def __init__(self, teller):
        self.teller = teller
        self.answers = queue.SimpleQueue()
        try:
            self.client = connect()
            self.client("SESSION", "ONLOSS", "PUSH")
        except CUT as error:
            raise Unreachable(error) from error
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        while True:
            found = self.client.take()
            if found is None:
                try:
                    self.client.receive(time.monotonic() + LONG)
                except CUT as error:
                    self.answers.put(error)
                    return
            elif isinstance(found[0], resp.Push):
                if found[0][0] == "lost":
                    say(self.teller, "told", found[0][4].split()[0])
            else:
                self.answers.put(found[0])

    def ask(self, *words, wait=0):
        try:
            self.client.send(*words)
            answer = self.answers.get(timeout=max(wait, 0) + PATIENCE)
        except (OSError, queue.Empty) as error:
            raise Unreachable(error) from error
        if isinstance(answer, Exception):
            raise Unreachable(answer)
        return answer


WAY = {"id": ById, "connection": ByConnection}[sys.argv[1]]


def ms(text):
    return {"forever": 365 * 86_400_000, "long": 366 * 86_400_000}.get(text) or int(float(text) * 1000)


def outcome(answer, late):
    """The words for an answer of the daemon."""
    if answer is None:
        return ("timeout", 1, "-") if late else ("busy", 1, "-")
    if not isinstance(answer, resp.Error):
        return ("ok",)
    transient = int(answer.code in PASSING and "bad name" not in answer)
    if answer.code == "LOST":
        return "lost:" + answer.split()[1], transient, answer
    return "refused:" + answer.code, transient, answer


def take(name, words):
    options = dict(word.split("=", 1) for word in words[1:])
    wait = ms(options["wait"]) if "wait" in options else None
    request = ["LOCK", urllib.parse.unquote(words[0])]
    for key, value in options.items():
        if key == "shared":
            request.append("SHARED")
        elif key in ("limit", "permits"):
            request += [key.upper(), value]
        elif key in ("wait", "lease", "max_hold"):
            request += [key.upper().replace("_", ""), ms(value)]
        elif key != "watch":
            request += [key.upper(), urllib.parse.unquote(value)]
    try:
        lock = WAY(name)
        answer = lock.ask(*request, wait=min(wait / 1000, LONG) if wait is not None else LONG)
        if isinstance(answer, int):
            lock.name, lock.token = request[1], answer
            locks[name] = lock
            say(name, "lock", "held", answer)
            return
        if answer is None and wait:
            holders[name] = holder_of(request[1])
        say(name, "lock", *outcome(answer, wait))
    except Unreachable as error:
        say(name, "lock", "unreachable", error.transient, error)


def holder_of(name):
    """LOCK answers null, and INSPECT who has it."""
    with connect() as client:
        holder = client("INSPECT", name)["holder"]
    return ("pid", holder["pid"], holder["token"], holder["why"])


def crowd(name, count, names, wait):
    inside, most, granted, mutex = 0, 0, 0, threading.Lock()
    names = names.split(",")

    def one():
        nonlocal inside, most, granted
        lock = WAY(name)
        words = ["MLOCK", len(names), *names] if names[1:] else ["LOCK", *names]
        answer = lock.ask(*words, "WAIT", ms(wait), wait=float(wait))
        tokens = answer if isinstance(answer, list) else [answer]
        with mutex:
            inside += 1
            most = max(most, inside)
        with mutex:
            inside -= 1
        for part, token in zip(names, tokens):
            if lock.ask("UNLOCK", part, "TOKEN", token) != 0:
                return
        with mutex:
            granted += 1

    threads = [threading.Thread(target=one) for _ in range(int(count))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    say(name, "crowd", granted, most, "-")


def about(name, verb, words):
    lock = locks[name]
    request = {"check": ["CHECK"], "valid": ["CHECK"], "unlock": ["UNLOCK"], "extend": ["EXTEND"]}[verb]
    request += [lock.name] + [ms(word) for word in words] + ["TOKEN", lock.token]
    try:
        answer = lock.ask(*request)
    except Unreachable as error:
        say(name, verb, "unreachable", error.transient, error)
        return
    say(name, verb, *((answer,) if verb == "valid" else outcome(answer, False)))


def do(line):
    name, verb, *words = line.split()
    if verb == "holder":
        say(name, verb, *holders.get(name, ("nobody",)))
        return
    work = {"lock": (take, name, words), "crowd": (crowd, name, *words)}.get(verb, (about, name, verb, words))
    threading.Thread(target=work[0], args=work[1:], daemon=True).start()


say("-", "ready")
for command in sys.stdin:
    do(command)
