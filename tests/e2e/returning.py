"""Clients that outlive a crash of their daemon: each has a session with a grace, comes back to it, and asks again.

`kill -9` of a daemon ends all connections. What its clients have to do then is in PROTOCOL.md 5.9, and Returning does it: it
reads what the dead daemon still sent, connects, sends SESSION RESUME, and then once more each request without an answer.
"""

import select

import harness
import resp
from errands import LONG_MS, Stage
from harness import expect, expect_between

WAITING = ("LOCK", "MLOCK", "LATCH")


class Returning(resp.Client):
    """As resp.Client; comes back when the stage says so. login: words of AUTH."""

    def __init__(self, stage, address, form=2, login=()):
        self.stage = stage
        self.setup = []  # requests that each connection needs
        self.pending = []  # [number of the request, its words] in the order in which answers come
        self.answers = []  # that the dead daemon had sent
        self.promised = {}  # ASYNC id: [number, words] of a request whose push is due
        self.back = ()
        super().__init__(address, form, harness.PATIENCE)
        if login:
            self.set_up("AUTH", *login)
        self.back = ("SESSION", "RESUME", self("SESSION", "GRACE", LONG_MS))

    def set_up(self, *words):
        self.setup.append(words)
        expect(self(*words), "OK")

    def __call__(self, *words):
        answer = super().__call__(*words)
        if words[:2] == ("CLIENT", "SETNAME"):
            self.setup.append(words)
        elif words[:2] in (("SESSION", "JOIN"), ("SESSION", "RESUME")):
            self.back = words
        return answer

    def send(self, *words):
        self.pending.append([self.stage.number(), words])
        super().send(*words)

    def reply(self, timeout=None):
        answer = self.answers.pop(0) if self.answers else super().reply(timeout)
        if self.pending:
            number, words = self.pending.pop(0)
            if answer == "QUEUED":
                self.promised[words[words.index("ASYNC") + 1]] = [number, words]
            elif words[0] == "CANCEL" and answer == 1:
                self.promised.pop(words[1])
        return answer

    def push(self, timeout=None):
        push = super().push(timeout)
        self.promised.pop(push[1], None)
        return push

    def close(self):
        self.stage.returning.pop(self, None)
        super().close()

    # --- after a crash ----------------------------------------------------------------------------------------

    def hear_out(self):
        """The daemon is dead: takes what it has sent, up to the end of the connection."""
        expect(self.closed(), True, "the end of a connection")
        while True:
            found = self.take()
            if found is None:
                break
            (self.pushes if isinstance(found[0], resp.Push) else self.answers).append(found[0])
        expect(self.data, b"", "an answer in part")
        self.socket.close()

    def lives_on(self):
        """Whether the connection has outlived the crash: the service manager keeps it, and nothing was under way."""
        if not self.stage.keeps:
            return False
        mark = "mark%d" % self.stage.number()
        try:
            resp.Client.send(self, "ECHO", mark)
            answer = resp.Client.reply(self)
            while answer != mark:
                self.answers.append(answer)
                answer = resp.Client.reply(self)
        except (resp.Closed, ConnectionError):
            return False
        self.stage.lived_on += 1
        return True

    def come_back(self):
        """To the session; returns the requests that have to be repeated, as (number, client, words)."""
        if self.lives_on():
            return []
        self.hear_out()
        pending, self.pending = self.pending, []
        answers, self.answers = self.answers, []
        promised = [one for tag, one in self.promised.items() if tag not in [push[1] for push in self.pushes]]
        self.connect()
        for words in self.setup:
            expect(super().__call__(*words), "OK")
        expect_between(super().__call__(*self.back), 0, 1000)
        self.pending, self.answers = pending[:len(answers)], answers
        return [(number, self, words, "ASYNC" in words) for number, words in promised + pending[len(answers):]]

    def repeat(self, number, words, promised):
        """Sends a request once more; returns when the daemon has it, answered or in line."""
        expect(words[0] in WAITING, True, words)
        if promised:
            resp.Client.send(self, *words)
            expect(resp.Client.reply(self), "QUEUED", words)
            return
        names = words[2:2 + int(words[1])] if words[0] == "MLOCK" else words[1:2]
        with self.stage.daemon.client(form=3) as viewer:
            def waiters():
                return sum(viewer("INSPECT", name)["waiter_count"] for name in names)

            before = waiters()
            self.pending.append([number, words])
            resp.Client.send(self, *words)
            harness.until("%r waits again" % (words,), lambda: waiters() > before or self.readable())

    def readable(self):
        poller = select.poll()
        poller.register(self.socket, select.POLLIN)
        return bool(self.data or poller.poll(0))


class CrashStage(Stage):
    """Where kinds of errands.py work whose connections end with the daemon."""

    lives_on = False
    keeps = False  # a service manager keeps connections
    identity = ("SESSION", "ID")

    def __init__(self, place, daemon):
        super().__init__(place, daemon)
        self.returning = {}  # in their order: RESUME closes the connections that came by JOIN
        self.numbers = 0
        self.lived_on = 0  # connections, over a crash each

    def number(self):
        self.numbers += 1
        return self.numbers

    def client(self, form=2, tcp=False):
        client = Returning(self, self.daemon.tcp if tcp else self.daemon.socket, form, self.login if tcp else ())
        self.returning[client] = True
        return self.place.keep(client)

    def come_back(self, before=lambda: None):
        """All of them, and then their requests in the order in which they were made: so waiters keep their order."""
        again = [one for client in list(self.returning) for one in client.come_back()]
        before()
        for number, client, words, promised in sorted(again, key=lambda one: one[0]):
            client.repeat(number, words, promised)
