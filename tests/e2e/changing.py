"""What tests of a change of the set of masters have in common: daemons under the nemesis' load, and what is kept."""

import os
import threading

import history
import nemesis_client
import nemesis_crowd
import resp
from harness import expect, expect_between, until
from history import now_ns
from scene import LEASE, MARGIN

CLIENTS = 32  # two of each role
WORKERS = 4
PAUSE = 0.2  # s: the load of a scene leaves time to the others
CONFIG = "lease: %dms\nclock-margin: %dms\nrestart-guard: auto\nrules: [ %s ]\n" % (
    LEASE * 1000, MARGIN * 1000, ", ".join("{ match: %s, max-hold: %dms }" % rule for rule in nemesis_client.MAX_HOLD_MS.items()))
TOKEN_MAX = 2 ** 53


class Kept:
    """Locks of one daemon that are held from before the change until after it."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.client = daemon.client()
        self.client("SESSION", "ONLOSS", "NEXT")
        self.tokens = {}
        for kind, more in (("alone", ()), ("read", ("SHARED",)), ("some", ("LIMIT", 2))):
            name = "kept-%s-%s" % (kind, daemon.name)
            self.tokens[name] = self.client("LOCK", name, *more, "WAIT", 45000)
            expect_between(self.tokens[name], 1, TOKEN_MAX, name)

    def check(self, others=()):
        """It has them still, and nobody else gets one."""
        for name, token in self.tokens.items():
            expect_between(self.client("CHECK", name, "TOKEN", token), 1, LEASE * 1000, "validity of " + name)
        for other in others:
            with resp.Client(other.socket) as client:
                answer = client("LOCK", "kept-alone-" + self.daemon.name, "WAIT", 0)
                expect(isinstance(answer, int), False, "the kept lock for somebody else")


class Load:
    """Clients of all kinds at these daemons, what they were told, and locks that are kept."""

    def __init__(self, place, daemons, keepers=None):
        self.place = place
        self.daemons = daemons
        self.kept = [Kept(daemon) for daemon in (daemons if keepers is None else keepers)]
        self.folder = os.path.join(place.path, "history")
        os.mkdir(self.folder)
        self.plan = nemesis_client.Plan(self.folder, [(daemon.socket, daemon.tcp) for daemon in daemons], CLIENTS,
                                        "change", latches=False, pause=PAUSE)
        self.crowd = nemesis_crowd.Crowd(self.plan, WORKERS)
        place.ends.append(self.crowd.end)
        self.history = history.History(self.folder, history.Rules(LEASE * 1000, nemesis_client.MAX_HOLD_MS))
        place.ends.append(self.history.close)
        self.progress()

    def progress(self):
        """Until every name that is held for moments, and every daemon, had another grant."""
        since = now_ns()

        def all_granted():
            self.history.read()
            first = history.first_grants(self.history.grants(since), self.plan.busy(),
                                         [daemon.name for daemon in self.daemons], since)
            return all(took is not None for took in first.values())
        until("another grant of every name and by every daemon", all_granted)

    def finish(self):
        """What was kept is there; nobody held beside another, and every answer was a documented one."""
        for kept in self.kept:
            kept.check([daemon for daemon in self.daemons if daemon is not kept.daemon])
        expect(self.crowd.stop(45), [], "clients that do not end")
        history.nothing_found(self.history.judge())


class Url:
    """An address, as the harness wants it."""

    def __init__(self, url):
        self.url = url


def daemons_of(place, masters, count=3, config=CONFIG, **options):
    """Daemons that use all these masters."""
    daemons = [place.daemon("d%d" % n, master=masters, tcp=True, config=config, **options) for n in range(1, count + 1)]
    for daemon in daemons:
        until("%s uses all masters" % daemon.name, lambda one=daemon: all(
            master["state"] == "admitted" for master in status(one)["masters"]))
    return daemons


def command(daemon, *words):
    """MASTERS and these words: the answer."""
    with resp.Client(daemon.socket) as client:
        return client("MASTERS", *words)


def is_late(answer):
    """Nothing has changed, because no member answered a HELLO for a while: this machine stood still."""
    return isinstance(answer, resp.Error) and answer.code == "NOMASTER" and answer.endswith(
        "has answered no HELLO well for too long; nothing has changed")


def made(number, daemon, *words):
    """MASTERS and these words, which make the set of this generation."""
    answer = until("an answer in time", lambda: [one for one in (command(daemon, *words),) if not is_late(one)])
    expect(answer, [number], " ".join(words))


def begin(daemon, *words):
    """MASTERS and these words: a client that waits for the answer."""
    client = daemon.client()
    client.send("MASTERS", *words)
    return client


def status(daemon):
    with resp.Client(daemon.socket, 3) as client:
        return client("MASTERS")


def members(told):
    """Of a status, those that are not joining or leaving."""
    return [master for master in told["masters"] if master["role"] == "member"]


def generation(daemon):
    return status(daemon)["generation"]


def changed(daemons, number, places):
    """Until all these daemons have the set of this generation, with these masters, all of them in full use."""
    def there(daemon):
        told = status(daemon)
        return (told["generation"], told["change"]) == (number, "none") and all(
            master["state"] == "admitted" for master in members(told))
    for daemon in daemons:
        until("%s has generation %d: %r" % (daemon.name, number, status(daemon)), lambda one=daemon: there(one))
        expect(sorted(master["place"] for master in members(status(daemon))), sorted(places), daemon.name)
    expect(len({daemon.info()["masters_set"] for daemon in daemons}), 1, "sets")


def in_step(daemon, asked, *words):
    """Until its change has come to one of these, while who asked for it waits."""
    def there():
        expect(asked.is_alive(), True, "it waits: %r" % (asked.answer,))
        return status(daemon)["change"] in words
    until("%s is at %s" % (daemon.name, " or ".join(words)), there)


class Asking(threading.Thread):
    """One MASTERS command, waited for beside others."""

    def __init__(self, daemon, *words):
        super().__init__()
        self.daemon = daemon
        self.words = words
        self.answer = None
        self.start()

    def run(self):
        try:
            self.answer = command(self.daemon, *self.words)
        except (OSError, resp.Closed) as error:
            self.answer = error
