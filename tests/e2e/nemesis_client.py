"""The clients of the nemesis: worker processes with some clients each, which lock, hold, check, release, and hang up.

All that a client asks and is told goes to its history (history.py). A worker may be killed at any moment; what it
wrote is there, and its successor appends to the same files. On order its TCP clients reset their connections, or
vanish without a word as a host does that lost its power.
"""

import multiprocessing
import os
import random
import socket

import history
import resp
from history import MS, now_ns
from nemesis_wire import keep_only, reset
from talker import RETRY, Loop, Talker

TCP_REPAIR = 19
# Of the told deadline that is left when a careful holder asks again.
SPARE_NS = 100 * MS


class Plan:
    """What all clients do. doors: for each daemon (path of its socket, TCP address)."""

    def __init__(self, folder, doors, clients, seed):
        self.folder = folder
        self.doors = doors
        self.clients = clients
        self.seed = seed
        self.hot = ["hot%d" % n for n in range(4)]  # held for moments, by most
        self.cool = ["cool%d" % n for n in range(6)]  # held for seconds
        self.gone = ["gone%d" % n for n in range(len(doors))]  # held by those that vanish

    def door(self, number):
        """(number of the daemon, family, address)"""
        unix, tcp = self.doors[number % len(self.doors)]
        if number // len(self.doors) % 3 == 2:
            return number % len(self.doors), socket.AF_INET, tcp
        return number % len(self.doors), socket.AF_UNIX, unix


class Client(Talker):
    """One client, which writes down whatever happens to it."""

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
        self.hot = number % 8 < 5
        self.patient = number % 3 == 1  # asks for no closed connection at a loss
        self.encode = resp.encode if number % 2 else resp.encode_line
        self.name = None
        self.asked = 0
        self.deadline = 0
        self.until = 0

    def kind(self):
        return "tcp" if self.family == socket.AF_INET else "unix"

    def begin(self):
        self.write("open", self.kind())
        if self.patient:
            self.send("onloss", "SESSION", "ONLOSS", "NEXT")
        else:
            self.lock()

    def lock(self):
        if self.worker.stopping:
            self.finish()
            return
        self.name = self.chance.choice(self.plan.hot if self.hot else self.plan.cool)
        self.ask(self.chance.choice((0, 200, 800, 1500, 3000)))

    def ask(self, wait_ms):
        self.asked = self.write("ask", self.name, wait_ms)
        self.send("lock", "LOCK", self.name, "WAIT", wait_ms, "VALIDITY")

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

    def told_onloss(self, answer):
        if answer == "OK" and isinstance(answer, resp.Simple):
            self.lock()
        else:
            self.odd("SESSION", answer)

    def told_lock(self, answer):
        if isinstance(answer, list) and len(answer) == 2 and all(type(one) is int for one in answer):
            self.granted(*answer)
        elif isinstance(answer, resp.Error):
            self.write("error", "LOCK", answer)
            self.state = None
            # An answer at once, while a master is away, is no reason to hammer.
            self.later(0.02 + self.chance.random() * 0.05, self.lock)
        elif answer is None:
            self.write("null", self.name)
            self.state = None
            self.later(0.005 + self.chance.random() * 0.02, self.lock)
        else:
            self.odd("LOCK", answer)

    def granted(self, token, valid_ms):
        at = self.write("grant", self.name, token, valid_ms)
        self.deadline = self.asked + valid_ms * MS
        self.state = "holding"
        if self.hot:
            hold_ms = self.chance.random() * self.chance.choice((2, 10, 30))
        else:
            hold_ms = self.chance.choice((50, 500, 1200, 2500)) * (0.5 + self.chance.random())
        self.until = at + int(hold_ms * MS)
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
            self.check()
        elif self.chance.random() < self.careless():
            self.hang_up(reset if self.chance.random() < 0.5 else socket.socket.close)
            self.again(0.1)
        else:
            self.write("unlock", self.name)
            self.send("unlock", "UNLOCK", self.name)

    def careless(self):
        """How often it hangs up instead. Over TCP that blocks a name for a second: none of those that all want."""
        return 0.0 if self.hot and self.family == socket.AF_INET else 0.03

    def check(self):
        self.asked = self.write("check", self.name)
        self.send("check", "CHECK", self.name)

    def told_check(self, answer):
        if type(answer) is int:
            self.write("valid", self.name, answer)
            self.deadline = max(self.deadline, self.asked + answer * MS)
            # With little left it is renewed soon, or lost.
            self.later(0.02, self.held) if answer * MS < SPARE_NS else self.rest()
            self.state = "holding"
        elif isinstance(answer, resp.Error) and answer.code == "LOST":
            self.write("lost", self.name, answer)
            self.lock()
        else:
            self.odd("CHECK", answer)

    def told_unlock(self, answer):
        if type(answer) is int:
            self.write("unlocked", self.name, answer)
            self.lock()
        elif isinstance(answer, resp.Error) and answer.code == "LOST":
            self.write("error", "UNLOCK", answer)
            self.lock()
        else:
            self.odd("UNLOCK", answer)

    def told_vanish(self, answer):
        """The name for those that vanish is held, or is not to be had now: vanish either way."""
        if isinstance(answer, list):
            self.write("grant", self.name, *answer)
        elif answer is None:
            self.write("null", self.name)
        else:
            self.write("error", "LOCK", answer)
        self.vanish()

    # --- orders -------------------------------------------------------------------------------------------

    def reset(self):
        """Like a program that crashed on another host."""
        if self.socket is not None and self.family == socket.AF_INET:
            self.hang_up(reset)
            self.again(0.05)

    def vanish_holding(self):
        """Takes a lock that nobody needs, and vanishes with it."""
        if self.socket is None or self.family != socket.AF_INET or self.state not in ("lock", None):
            return
        self.hang_up(reset)
        self.name = self.plan.gone[self.daemon]
        if not self.open():
            self.again()
            return
        self.write("open", self.kind())
        self.asked = self.write("ask", self.name, 300)
        self.send("vanish", "LOCK", self.name, "WAIT", 300, "VALIDITY")

    def vanish(self):
        def close(one):
            # In repair a socket is closed without a word to the other end.
            one.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
            one.close()
        self.hang_up(close)
        self.again(0.2)


class Worker(Loop):
    """One process's clients."""

    def __init__(self, plan, numbers, pipe):
        super().__init__(pipe)
        self.plan = plan
        self.stopping = False
        self.clients = [Client(self, number) for number in numbers]
        self.running = len(self.clients)

    def obey(self):
        try:
            order = self.pipe.recv()
        except EOFError:
            order = "stop"
        if order == "reset":
            for client in self.clients:
                client.reset()
        elif order == "vanish":
            for client in self.clients:
                client.vanish_holding()
        else:
            self.stopping = True
            self.selector.unregister(self.pipe)

    def run(self):
        for client in self.clients:
            self.later(0, client.connect)
        while self.running > 0:
            self.turn()
            if self.stopping:
                self.let_go()

    def let_go(self):
        """Told to stop: whoever waits or has no connection ends; whoever holds releases first."""
        for client in self.clients:
            if client.state in ("lock", "onloss", None):
                client.finish()


def work(plan, numbers, pipe):
    keep_only(pipe)
    Worker(plan, numbers, pipe).run()
    os._exit(0)


class Crowd:
    """All workers, from outside."""

    def __init__(self, plan, workers):
        self.plan = plan
        self.context = multiprocessing.get_context("fork")
        self.numbers = [list(range(plan.clients))[n::workers] for n in range(workers)]
        self.workers = [self.start(numbers) for numbers in self.numbers]

    def start(self, numbers):
        mine, theirs = self.context.Pipe()
        process = self.context.Process(target=work, args=(self.plan, numbers, theirs))
        process.start()
        theirs.close()
        return process, mine

    def order(self, number, what):
        self.workers[number][1].send(what)

    def signal(self, number, what):
        os.kill(self.workers[number][0].pid, what)

    def kill(self, number):
        """Kills a worker, writes that down for its clients, and starts another in its place."""
        process, pipe = self.workers[number]
        at = now_ns()
        process.kill()
        process.join()
        pipe.close()
        self.mark_killed(self.numbers[number], at)
        self.workers[number] = self.start(self.numbers[number])

    def mark_killed(self, numbers, at):
        for name in os.listdir(self.plan.folder):
            if int(name.split(".")[1]) in numbers:
                write = history.Writer(os.path.join(self.plan.folder, name))
                write("killed", at=at)
                write.close()

    def stop(self, timeout):
        """Numbers of the clients of workers that did not end."""
        for _, pipe in self.workers:
            pipe.send("stop")
        stuck = []
        until = now_ns() + int(timeout * 1e9)
        for number, (process, _) in enumerate(self.workers):
            process.join(max(0.0, (until - now_ns()) / 1e9))
            if process.is_alive():
                stuck += self.numbers[number]
        self.end()
        return stuck

    def end(self):
        for process, pipe in self.workers:
            if process.is_alive():
                process.kill()
            process.join()
            pipe.close()
