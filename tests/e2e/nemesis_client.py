"""One client of the nemesis: it locks, holds, checks, releases and hangs up; what it locks, its role says (nemesis_roles.py).

All that a client asks and is told goes to its history (history.py). On order its TCP clients reset their connections,
or vanish without a word as a host does that lost its power.
"""

import os
import random
import socket

import history
import resp
from history import EXCLUSIVE, MS, PERMITS, SHARED, now_ns
from nemesis_wire import reset
from talker import RETRY, Talker

TCP_REPAIR = 19
# By the daemons' rules.
MAX_HOLD_MS = {"bound0": 700}
# Of the announced deadline that is left when a careful holder asks again.
SPARE_NS = 100 * MS


class Plan:
    """
    What all clients do. doors: for each daemon (path of its socket, TCP address). latches: there is one master. pause:
    seconds between what a client gave back and what it asks for next, at most.
    """

    def __init__(self, folder, doors, clients, seed, latches, pause=0.0):
        self.folder = folder
        self.doors = doors
        self.clients = clients
        self.seed = seed
        self.latches = latches
        self.pause = pause
        self.hot = ["hot%d" % n for n in range(4)]  # held for moments, by most
        self.cool = ["cool%d" % n for n in range(6)]  # held for seconds
        self.gone = ["gone%d" % n for n in range(len(doors))]  # held by those that vanish
        self.read = ["read%d" % n for n in range(2)]  # by readers and writers, for moments
        self.permits = {"some%d" % n: n for n in (3, 5)}  # semaphores of so many
        self.mixed = ["mixed%d" % n for n in range(2)]  # in any kind
        self.several = ["several%d" % n for n in range(6)]  # by MLOCK
        self.bound = ["bound%d" % n for n in range(4)]  # by tags, with LEASE and MAXHOLD
        self.graced = ["graced%d" % n for n in range(4)]  # by sessions that come back
        self.queued = ["queued%d" % n for n in range(2)]  # ASYNC

    def busy(self):
        """What is held for moments, and so soon granted again."""
        return self.hot + self.read + list(self.permits)

    def names(self):
        return self.busy() + self.cool + self.gone + self.mixed + self.several + self.bound + self.graced + self.queued

    def door(self, number):
        """(number of the daemon, family, address)"""
        unix, tcp = self.doors[number % len(self.doors)]
        if number // len(self.doors) % 3 == 2:
            return number % len(self.doors), socket.AF_INET, tcp
        return number % len(self.doors), socket.AF_UNIX, unix


def form_words(form):
    """A FORM of a history as options of LOCK."""
    if form[0] == PERMITS:
        permits, limit = form[1:].split("/")
        return ["LIMIT", limit, "PERMITS", permits]
    return ["SHARED"] if form == SHARED else []


class Client(Talker):
    """One client, which writes down whatever happens to it. Of a role: turn() begins what it does next."""

    hot = False  # holds for moments
    onloss = "next"

    def __init__(self, worker, number):
        daemon, family, address = worker.plan.door(number)
        super().__init__(worker, family, address)
        self.worker = worker
        self.plan = worker.plan
        self.number = number
        self.daemon = daemon
        self.chance = random.Random("%s/%d/%d" % (self.plan.seed, number, now_ns()))
        self.write = history.Writer(os.path.join(self.plan.folder, "client.%02d.d%d.%s" % (
            number, self.daemon + 1, self.kind())))
        self.patient = number % 3 == 1  # asks for no closed connection at a loss
        self.encode = resp.encode if number % 2 else resp.encode_line
        self.steps = []  # what has to be said before its turn
        self.name = None
        self.form = EXCLUSIVE
        self.tag = []  # options that say whose the hold is
        self.asked = 0
        self.deadline = 0
        self.until = 0

    def kind(self):
        return "tcp" if self.family == socket.AF_INET else "unix"

    # --- connections ------------------------------------------------------------------------------------------

    def begin(self):
        self.write("open", self.kind(), "d%d" % (self.daemon + 1))
        self.steps = self.first_steps()
        self.step()

    def first_steps(self):
        """Of a new connection: (state, words of the request)."""
        return [("onloss", "SESSION", "ONLOSS", "NEXT")] if self.patient else []

    def step(self):
        if self.steps:
            self.send(*self.steps.pop(0))
        else:
            self.state = None
            self.ready()

    def told_onloss(self, answer):
        if answer == "OK" and isinstance(answer, resp.Simple):
            self.write("onloss", self.onloss)
            self.step()
        else:
            self.odd("SESSION", answer)

    def ready(self):
        """The connection is."""
        self.go_on()

    def idle(self):
        """It may end now: it holds nothing."""
        return self.state in ("lock", "onloss", None)

    def finish(self):
        if self.state != "done":
            self.hang_up()
            self.state = "done"
            self.worker.running -= 1

    def hang_up(self, close=socket.socket.close):
        """Our own end of the connection; what is held is left behind."""
        if self.socket is not None:
            self.write("end", "self")
        self.drop(close)

    def again(self, seconds=RETRY):
        self.state = None
        self.later(seconds, self.connect)

    def ended(self):
        self.write("end", "peer")
        self.drop()
        self.again()

    def odd(self, verb, answer):
        """No document knows such an answer; a new connection is the way on."""
        self.write("odd", verb, repr(answer))
        self.drop()
        self.again()

    # --- LOCK -------------------------------------------------------------------------------------------------

    def go_on(self):
        if self.worker.stopping:
            self.finish()
        else:
            self.turn()

    def turn(self):
        raise NotImplementedError

    def lock(self, name, form, wait_ms, lease_ms=0, maxhold_ms=0):
        self.name, self.form = name, form
        terms = (["LEASE", lease_ms] if lease_ms else []) + (["MAXHOLD", maxhold_ms] if maxhold_ms else [])
        self.asked = self.write("ask", name, wait_ms, form, lease_ms, maxhold_ms)
        self.send("lock", "LOCK", name, *form_words(form), "WAIT", wait_ms, *terms, *self.tag, "VALIDITY")

    def wait_ms(self):
        return self.chance.choice((0, 200, 800, 1500, 3000))

    def told_lock(self, answer):
        if isinstance(answer, list) and len(answer) == 2 and all(type(one) is int for one in answer):
            self.granted(*answer)
        elif isinstance(answer, resp.Error):
            self.write("error", "LOCK", answer)
            self.refused_lock(answer)
        elif answer is None:
            self.write("null", self.name)
            self.soon()
        else:
            self.odd("LOCK", answer)

    def refused_lock(self, _answer):
        self.rather_later()

    def soon(self):
        self.state = None
        self.later(0.005 + self.chance.random() * 0.02, self.go_on)

    def rather_later(self):
        """An answer at once, while a master is away, is no reason to hammer."""
        self.state = None
        self.later(0.02 + self.chance.random() * 0.05, self.go_on)

    def granted(self, token, valid_ms):
        at = self.write("grant", self.name, token, valid_ms)
        self.deadline = self.asked + valid_ms * MS
        self.hold(at)

    # --- while it holds ---------------------------------------------------------------------------------------

    def hold_ms(self):
        if self.hot:
            return self.chance.random() * self.chance.choice((2, 10, 30))
        return self.chance.choice((50, 500, 1200, 2500)) * (0.5 + self.chance.random())

    def hold(self, at):
        self.until = at + int(self.hold_ms() * MS)
        if not self.hot or self.deadline < self.until or self.chance.random() < 0.1:
            self.check()  # what was told counts from the asking, which may be long ago
        else:
            self.rest()

    def rest(self):
        """Holds on, until it has to ask again or to release."""
        next_ns = min(self.until, self.deadline - SPARE_NS, now_ns() + self.chance.randrange(50, 300) * MS)
        self.state = "holding"
        self.later(max(0.0, (next_ns - now_ns()) / 1e9), self.held)

    def held(self):
        if now_ns() < self.until and not self.worker.stopping:
            self.work()
        elif self.chance.random() < self.careless():
            self.hang_up(reset if self.chance.random() < 0.5 else socket.socket.close)
            self.again(0.1)
        else:
            self.unlock()

    def work(self):
        """It holds, and has time."""
        self.check()

    def careless(self):
        """How often it hangs up instead. Over TCP that blocks a name for a second: none of those that all want."""
        return 0.0 if self.hot and self.family == socket.AF_INET else 0.03

    def unlock(self):
        self.write("unlock", self.name)
        self.send("unlock", "UNLOCK", self.name, *self.tag)

    def check(self):
        self.asked = self.write("check", self.name)
        self.send("check", "CHECK", self.name, *self.tag)

    def told_check(self, answer):
        if type(answer) is int:
            self.write("valid", self.name, answer)
            self.deadline = max(self.deadline, self.asked + answer * MS)
            self.checked(answer)
        else:
            self.maybe_lost("CHECK", answer)

    def checked(self, valid_ms):
        # With little left it is renewed soon, or lost.
        self.later(0.02, self.held) if valid_ms * MS < SPARE_NS else self.rest()
        self.state = "holding"

    def maybe_lost(self, verb, answer):
        """What is neither a good answer nor the loss of the hold is odd."""
        if isinstance(answer, resp.Error) and answer.code == "LOST":
            self.write("lost", self.name, answer)
            self.over()
        else:
            self.odd(verb, answer)

    def over(self):
        """It holds nothing any more."""
        self.state = None
        if self.plan.pause > 0:
            self.later(self.chance.random() * self.plan.pause, self.go_on)
        else:
            self.go_on()

    def told_unlock(self, answer):
        if type(answer) is int:
            self.write("unlocked", self.name, answer)
            self.over()
        elif isinstance(answer, resp.Error) and answer.code == "LOST":
            self.write("error", "UNLOCK", answer)
            self.over()
        else:
            self.odd("UNLOCK", answer)

    # --- orders -----------------------------------------------------------------------------------------------

    def reset(self):
        """Like a program that crashed on another host."""
        if self.socket is not None and self.family == socket.AF_INET:
            self.hang_up(reset)
            self.again(0.05)

    def vanish_holding(self):
        """Takes a lock that nobody needs, and vanishes with it. Not every role does."""

    def vanish(self):
        def close(one):
            # In repair a socket is closed without a word to the other end.
            one.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
            one.close()
        self.hang_up(close)
        self.again(0.2)
