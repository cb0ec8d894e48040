"""What the clients of the nemesis do: for each kind of lock, and for each way to wait for it and to keep it, a role."""

import os
import socket
import subprocess

import resp
from history import EXCLUSIVE, MS, SHARED, now_ns
from nemesis_client import Client, form_words
from nemesis_wire import reset

GRACE_MS = 1500
MADE, THERE, NONE = "made", "there", "null"
# Each SET of a latch has a number of steps of its own, a multiple of this (tests/history/HISTORY.md).
UNIT = 1000
# A latch is used for so long, by all, and then another one. It lives for longer.
LATCH_NS = 3000 * MS
SLOTS = 10
SLOT_NS = LATCH_NS // SLOTS
LATCH_LEASE_MS = 20000
# New sessions and tags of a client that count a latch down, by a step or two: together fewer than UNIT.
DOWNS_MOST = 10


class Alone(Client):
    """Exclusive, for moments or for seconds."""

    def __init__(self, worker, number):
        super().__init__(worker, number)
        self.hot = number % 8 < 5

    def turn(self):
        self.lock(self.chance.choice(self.plan.hot if self.hot else self.plan.cool), EXCLUSIVE, self.wait_ms())

    def vanish_holding(self):
        if self.socket is None or self.kind() != "tcp" or self.state not in ("lock", None):
            return
        self.hang_up(reset)
        self.name = self.plan.gone[self.daemon]
        if not self.open():
            self.again()
            return
        self.write("open", self.kind(), "d%d" % (self.daemon + 1))
        self.asked = self.write("ask", self.name, 300)
        self.send("vanish", "LOCK", self.name, "WAIT", 300, "VALIDITY")

    def told_vanish(self, answer):
        """The name for those that vanish is held, or is not to be had now: vanish either way."""
        if isinstance(answer, list):
            self.write("grant", self.name, *answer)
        elif answer is None:
            self.write("null", self.name)
        else:
            self.write("error", "LOCK", answer)
        self.vanish()


class Sharer(Client):
    """Readers and writers; a writer may go on as a reader."""

    hot = True

    def turn(self):
        form = SHARED if self.chance.random() < 0.7 else EXCLUSIVE
        self.lock(self.chance.choice(self.plan.read if self.chance.random() < 0.9 else self.plan.mixed), form,
                  self.wait_ms())

    def work(self):
        if self.form == EXCLUSIVE and self.chance.random() < 0.5:
            self.downgrade()
        else:
            self.check()

    def unlock(self):
        if self.form == EXCLUSIVE and self.chance.random() < 0.3 and not self.worker.stopping:
            self.until = now_ns() + int(self.hold_ms() * MS)
            self.downgrade()
        else:
            super().unlock()

    def downgrade(self):
        self.write("downgrade", self.name)
        self.form = SHARED
        self.send("downgrade", "DOWNGRADE", self.name)

    def told_downgrade(self, answer):
        if type(answer) is int:
            self.write("shared", self.name, answer)
            self.rest()
        else:
            self.maybe_lost("DOWNGRADE", answer)


class Taker(Client):
    """Permits; sometimes with another LIMIT, which is refused, or decides where nobody has any."""

    hot = True

    def turn(self):
        if self.chance.random() < 0.1:
            name, limit = self.chance.choice(self.plan.mixed), 4
        else:
            name, limit = self.chance.choice(list(self.plan.permits.items()))
        if self.chance.random() < 0.02:
            limit += 1
        self.lock(name, "p%d/%d" % (self.chance.choice((1, 1, 2, 3)), limit), self.wait_ms())


class Bundler(Client):
    """Several names at once."""

    def __init__(self, worker, number):
        super().__init__(worker, number)
        self.names = []
        self.unseen = []  # of these, not yet asked about

    def turn(self):
        self.names = self.chance.sample(self.plan.several, self.chance.choice((2, 2, 3, 5)))
        form = SHARED if self.chance.random() < 0.2 else EXCLUSIVE
        wait_ms = self.wait_ms()
        self.write("mlock", wait_ms, form, *self.names)
        self.send("mlock", "MLOCK", len(self.names), *self.names, *(["SHARED"] if form == SHARED else []),
                  "WAIT", wait_ms)

    def idle(self):
        return super().idle() or self.state == "mlock"

    def told_mlock(self, answer):
        if isinstance(answer, list) and all(type(one) is int for one in answer):
            self.until = self.write("tokens", *answer) + self.chance.choice((1, 20, 300, 1500)) * MS
            self.look()
        elif isinstance(answer, resp.Error):
            self.write("error", "MLOCK", answer)
            self.rather_later()
        elif answer is None:
            self.write("mnull")
            self.soon()
        else:
            self.odd("MLOCK", answer)

    def look(self):
        """At all that it has, one by one, then it rests."""
        self.unseen = list(self.names)
        self.look_on()

    def look_on(self):
        if self.unseen:
            self.name = self.unseen.pop()
            self.check()
            return
        self.state = "holding"
        self.later(max(0.0, min(0.2, (self.until - now_ns()) / 1e9)), self.held)

    def checked(self, valid_ms):
        self.look_on()

    def over(self):
        self.names.remove(self.name)
        if self.names:
            self.look_on()
        else:
            super().over()

    def work(self):
        self.look()

    def unlock(self):
        if self.chance.random() < 0.3:
            self.name = self.chance.choice(self.names)
            super().unlock()
        else:
            self.write("munlock", *self.names)
            self.send("munlock", "MUNLOCK", len(self.names), *self.names)

    def told_munlock(self, answer):
        if type(answer) is not int:
            self.odd("MUNLOCK", answer)
            return
        self.write("munlocked", answer)
        self.names = []
        super().over()


class Binder(Client):
    """A tag of its own, entered more than once, with LEASE and MAXHOLD."""

    def __init__(self, worker, number):
        super().__init__(worker, number)
        self.tag = ["OWNER", "tag%d" % number]
        self.count = 0  # times entered
        self.token = 0
        self.leased = False

    def turn(self):
        lease_ms = self.chance.choice((0, 100, 400, 1500, 4000))
        self.leased = lease_ms > 0
        self.lock(self.chance.choice(self.plan.bound), EXCLUSIVE, self.wait_ms(), lease_ms,
                  self.chance.choice((0, 0, 300, 2000)))

    def granted(self, token, valid_ms):
        self.count, self.token = 1, token
        super().granted(token, valid_ms)

    def idle(self):
        return self.count == 0 and super().idle()

    def work(self):
        what = self.chance.random()
        if what < 0.2 and self.count < 3:
            self.enter()
        elif what < 0.6 and self.leased:
            self.extend(self.chance.choice((50, 300, 1500)))
        else:
            self.check()

    def enter(self):
        self.asked = self.write("enter", self.name)
        self.send("enter", "LOCK", self.name, "WAIT", 0, *self.tag, "VALIDITY")

    def told_enter(self, answer):
        """Once more, or, where it was lost meanwhile, as anybody."""
        if not isinstance(answer, list):
            self.count = 0
            self.told_lock(answer)
        elif answer[0] == self.token:
            self.count += 1
            self.write("grant", self.name, *answer)
            self.rest()
        else:
            self.leased = False
            self.told_lock(answer)

    def extend(self, ms):
        self.asked = self.write("extend", self.name, ms)
        self.send("extend", "EXTEND", self.name, ms, *self.tag)

    def told_extend(self, answer):
        if type(answer) is int:
            self.write("extended", self.name, answer)
            self.deadline = self.asked + answer * MS
            self.checked(answer)
        else:
            self.maybe_lost("EXTEND", answer)

    def over(self):
        self.count = 0
        super().over()

    def again(self, *seconds):
        self.count = 0
        super().again(*seconds)

    def told_unlock(self, answer):
        if type(answer) is int and answer > 0:
            self.write("unlocked", self.name, answer)
            self.count -= 1
            self.unlock()
        else:
            super().told_unlock(answer)


class Comer(Client):
    """A session with a grace: its connection breaks while it holds and while it waits, and it comes back, or not."""

    coming = ("resume",)  # states in which it comes back

    def __init__(self, worker, number):
        super().__init__(worker, number)
        self.patient = True
        self.secret = None
        self.doing = None  # what the cut interrupted: a state, or nothing

    def first_steps(self):
        if self.secret is not None:
            return [("resume", "SESSION", "RESUME", self.secret)]
        return super().first_steps() + [("grace", "SESSION", "GRACE", GRACE_MS)]

    def send(self, state, *words):
        if state in ("grace", "resume"):
            self.write(state, *(words[2:] if state == "grace" else ()))
        super().send(state, *words)

    def told_grace(self, answer):
        if isinstance(answer, resp.Error):
            self.write("error", "SESSION", answer)
            self.hang_up()
            self.again(0.1)
        elif isinstance(answer, str) and len(answer) == 48:
            self.write("graced")
            self.secret = answer
            self.step()
        else:
            self.odd("SESSION", answer)

    def told_resume(self, answer):
        if type(answer) is int:
            self.write("resumed", answer)
            self.step()
        elif isinstance(answer, resp.Error):
            self.write("error", "RESUME", answer)
            if answer.code == "ERR":
                self.forget()
            self.hang_up()
            self.again(0.1)
        else:
            self.odd("RESUME", answer)

    def forget(self):
        self.write("gone")
        self.secret = self.doing = None

    def give_up(self):
        """It never comes back."""
        self.forget()

    def ready(self):
        doing, self.doing = self.doing, None
        if doing == "holding":
            self.check()
        elif doing == "unlock":
            Client.unlock(self)
        elif doing == "lock":
            self.asked = self.write("again", self.name, 500, self.form)
            self.send("lock", "LOCK", self.name, *form_words(self.form), "WAIT", 500, "VALIDITY")
        else:
            self.go_on()

    def turn(self):
        form = self.chance.choice((EXCLUSIVE, EXCLUSIVE, SHARED, "p2/3"))
        # Not the same kinds everywhere: they would refuse each other most of the time.
        name = self.plan.graced[0 if form[0] == "p" else self.chance.randrange(1, len(self.plan.graced))]
        self.lock(name, form, self.wait_ms())
        if self.chance.random() < 0.2:
            self.later(self.chance.random() * 0.3, self.cut)

    def refused_lock(self, answer):
        if answer.code == "HELD":  # the grant was on its way when the connection broke
            self.unlock()
        else:
            super().refused_lock(answer)

    def note(self):
        """What has to be taken up again."""
        if self.state == "check":
            self.doing = "holding"
        elif self.state in ("lock", "holding", "unlock"):
            self.doing = self.state
        elif self.state not in (None, *self.coming):
            self.doing = None

    def cut(self):
        if self.socket is None or self.state not in ("lock", "holding", "check"):
            return
        self.note()
        self.hang_up(reset)
        if self.chance.random() < 0.1:
            self.give_up()
        # Most come in time.
        self.again(self.chance.random() * self.chance.choice((0.1, 0.5, 1.2, 2.2)))

    def ended(self):
        self.note()
        super().ended()

    def reset(self):
        self.note()
        super().reset()

    def odd(self, verb, answer):
        super().odd(verb, answer)
        if self.secret is not None:
            self.forget()

    def work(self):
        if self.chance.random() < 0.3:
            self.cut()
        else:
            self.check()

    def careless(self):
        return 0.0

    def unlock(self):
        if self.chance.random() < 0.1:
            self.goodbye()
        else:
            super().unlock()

    def told_unlock(self, answer):
        if isinstance(answer, resp.Error) and answer.code == "NOTHELD":  # said before, and done, but not answered
            self.write("error", "UNLOCK", answer)
            self.over()
        else:
            super().told_unlock(answer)

    def goodbye(self):
        """Ends the session and what it holds."""
        self.write("quit")
        self.secret = self.doing = None
        self.send("quit", "QUIT")

    def told_quit(self, answer):
        if answer != "OK":
            self.odd("QUIT", answer)

    def finish(self):
        if self.state == "done":
            return
        if self.secret is not None and self.socket is not None:
            self.goodbye()
        if self.secret is not None:
            self.give_up()
        super().finish()


class Bound(Comer):
    """The same with a session that is bound to a process, which ends with the worker. Over TCP it has a grace."""

    coming = ("resume", "bind")

    def __init__(self, worker, number):
        super().__init__(worker, number)
        self.process = None

    def first_steps(self):
        if self.family == socket.AF_INET:
            return super().first_steps()
        return ([] if self.secret else Client.first_steps(self)) + [("bind", "SESSION", "BIND")]

    def send(self, state, *words):
        if state != "bind":
            super().send(state, *words)
            return
        if self.process is None:
            self.process = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
        self.write("bind")
        self.state = state
        pidfd = os.pidfd_open(self.process.pid)
        try:
            socket.send_fds(self.socket, [self.encode(*words)], [pidfd])
        except OSError:
            pass  # the end of the connection is read next
        os.close(pidfd)

    def told_bind(self, answer):
        if type(answer) is int:
            self.write("bound", answer)
            self.secret = "bound"
            self.step()
        elif isinstance(answer, resp.Error):
            self.write("error", "SESSION", answer)
            self.hang_up()
            self.again(0.1)
        else:
            self.odd("SESSION", answer)

    def give_up(self):
        """The process ends, and with it the session and what it holds."""
        if self.process is None:
            super().give_up()
            return
        self.write("quit")
        self.secret = self.doing = None
        self.end_process()

    def goodbye(self):
        """QUIT would end the connection only."""
        if self.process is None:
            super().goodbye()
            return
        self.give_up()
        self.hang_up()
        self.again(0.05)

    def end_process(self):
        if self.process is not None:
            self.process.kill()
            self.process.stdin.close()
            self.process.wait()
            self.process = None

    def maybe_lost(self, verb, answer):
        """BIND begins another session if there is none any more, and does not say so."""
        if self.process is not None and (answer is None or isinstance(answer, resp.Error) and answer.code == "NOTHELD"):
            self.write("none", self.name)
            self.forget()
            self.over()
        else:
            super().maybe_lost(verb, answer)

    def finish(self):
        if self.state != "done":
            super().finish()
            self.end_process()


class Queuer(Client):
    """ASYNC waits, whose outcome is pushed, as are losses."""

    onloss = "push"

    def __init__(self, worker, number):
        super().__init__(worker, number)
        self.serial = 0
        self.id = None  # of the wait that is under way
        self.mine = False  # it has been granted, and not been lost

    def first_steps(self):
        self.id, self.mine = None, False
        return [("hello", "HELLO", 3), ("onloss", "SESSION", "ONLOSS", "PUSH")]

    def told_hello(self, answer):
        if isinstance(answer, dict):
            self.step()
        else:
            self.odd("HELLO", answer)

    def idle(self):
        return not self.mine and self.state in ("queue", "hello", "onloss", None)

    def turn(self):
        self.serial += 1
        self.id, self.mine = "id%d" % self.serial, False
        self.name, self.form = self.chance.choice(self.plan.queued), self.chance.choice((EXCLUSIVE, SHARED))
        wait_ms = self.wait_ms()
        self.write("queue", self.id, self.name, wait_ms, self.form)
        self.send("queue", "LOCK", self.name, *form_words(self.form), "WAIT", wait_ms, "ASYNC", self.id)

    def told_queue(self, answer):
        if answer == "QUEUED":
            self.write("queued", self.id)
            self.state = None
            if self.chance.random() < 0.2:
                self.later(self.chance.random() * 0.1, lambda one=self.id: self.cancel(one))
        elif isinstance(answer, resp.Error):
            self.write("error", "ASYNC", answer)
            self.id = None
            self.rather_later()
        else:
            self.odd("ASYNC", answer)

    def cancel(self, one):
        if self.id == one and self.state is None:
            self.write("cancel", one)
            self.send("cancel", "CANCEL", one)

    def told_cancel(self, answer):
        if answer not in (0, 1):
            self.odd("CANCEL", answer)
            return
        self.write("cancelled", "id%d" % self.serial, answer)
        self.id = self.state = None
        if answer == 1 or not self.mine:
            self.go_on()
        else:
            self.take()

    def pushed(self, push):
        what, *details = push
        if what == "grant" and details[0] == self.id:
            self.write("pushed", *details)
            self.id, self.mine = None, True
            if self.state is None:
                self.take()
        elif what == "failed" and details[0] == self.id:
            self.write("failed", self.id, details[1] or NONE)
            self.id = None
            if self.state is None:
                self.soon()
        elif what == "lost" and details[0] == self.name:
            self.write("told", self.name, details[2], details[3])
            self.mine = False
        else:
            self.odd("nothing", push)

    def take(self):
        self.until = now_ns() + self.chance.choice((1, 20, 300, 1200)) * MS
        self.check()

    def held(self):
        if self.mine:
            super().held()
        else:
            self.over()

    def over(self):
        self.mine = False
        super().over()


class Counter(Client):
    """Latches, of which there is another one every few seconds."""

    def __init__(self, worker, number):
        super().__init__(worker, number)
        self.session = 0
        self.latch = None
        self.slot = now_ns() // SLOT_NS  # in which it set one last, or may have before it was killed
        self.downs = 0

    def first_steps(self):
        self.session = now_ns()
        return []

    def idle(self):
        return True

    def turn(self):
        latch = "latch%d" % (now_ns() // LATCH_NS)
        if latch != self.latch:
            self.latch, self.downs = latch, 0
        what = self.chance.random()
        if what < 0.2 and now_ns() // SLOT_NS != self.slot:
            self.set()
        elif what < 0.5 and self.downs < DOWNS_MOST:
            self.down(self.chance.randint(1, 2), self.chance.randrange(3))
        elif what < 0.505:
            self.down(1000000, 9)  # it opens
        elif what < 0.75:
            self.ask("count", "COUNT")
        else:
            wait_ms = self.chance.choice((0, 100, 1000))
            self.ask("await", "AWAIT", wait_ms, "WAIT", wait_ms)

    def ask(self, what, verb, *more):
        self.write("latch", self.latch, what, *more[:1])
        self.send("latch", "LATCH", self.latch, verb, *more[1:])

    def set(self):
        """Of each SET of a name another number of steps."""
        self.slot = now_ns() // SLOT_NS
        steps = UNIT * (1 + self.number + self.slot % SLOTS * self.plan.clients)
        self.write("latch", self.latch, "set", steps)
        self.send("set", "LATCH", self.latch, "SET", steps, "LEASE", LATCH_LEASE_MS)

    def down(self, steps, tag):
        self.downs += 1
        self.write("latch", self.latch, "down", steps, "%d:%d" % (self.session, tag))
        self.send("latch", "LATCH", self.latch, "DOWN", steps, "OWNER", "tag%d" % tag)

    def told_set(self, answer):
        self.told_latch({0: THERE, 1: MADE}.get(answer, answer) if type(answer) is int else answer)

    def told_latch(self, answer):
        if isinstance(answer, resp.Error):
            self.write("error", "LATCH", answer)
            self.rather_later()
        elif answer is None or type(answer) is int or answer in (MADE, THERE):
            self.write("left", NONE if answer is None else answer)
            self.rather_later()
        else:
            self.odd("LATCH", answer)


ROLES = (Alone, Sharer, Alone, Taker, Comer, Alone, Bundler, Alone, Counter, Alone, Binder, Sharer, Comer, Alone, Queuer,
         Bound)


def role(plan, number):
    """The class of a client. Each role has clients of every daemon, over Unix and TCP."""
    one = ROLES[number % len(ROLES)]
    return Alone if one is Counter and not plan.latches else one
