"""The near end of a puppet: a small program around one client library, told what to do line by line.

Each library has its puppet, in the library's own language and with the library's default settings; what is
proven with it stands in scenes.py, once. The lines, words separated by one blank:

    NUMBER open CLIENT one|shared    a connection of its own | what the library shares between threads
    NUMBER open CLIENT one patient   the same, set up as LIBRARIES.md has it for a LOCK that waits (see libraries.py)
    NUMBER call CLIENT WORD...       sent on a thread or task of its own, so calls overlap
    NUMBER close CLIENT              at once, whatever it is doing

and the answers, in whatever order they come; line ends in a text come as blanks:

    NUMBER ok | int N | null | text T | list T...
    NUMBER refused CODE T            an error reply
    NUMBER broken T                  the library says so: timed out, connection lost, ...
    0 ready LIBRARY                  after the start
    0 event CLIENT T                 what the library tells unasked: a connection was lost
"""

import contextlib
import subprocess
import threading
import time

import harness


class Outcome:
    """How a call ended: kind is a word of the list above, value a number, a text, a list or None."""

    def __init__(self, kind, text, took):
        self.kind = kind
        self.value = int(text) if kind == "int" else text.split(" ") if kind == "list" else text
        self.took = took  # seconds

    @property
    def code(self):
        return self.value.split(" ", 1)[0] if self.kind == "refused" else None

    def __repr__(self):
        return "%s %s (after %.2f s)" % (self.kind, self.value, self.took)


class Call:
    """A request that was sent and has one outcome."""

    def __init__(self, what):
        self.what = what
        self.began = time.monotonic()
        self.outcome = None
        self.done = threading.Event()

    def end(self, outcome):
        self.outcome = outcome
        self.done.set()

    def pending(self):
        return not self.done.is_set()

    def result(self, timeout=harness.PATIENCE):
        if not self.done.wait(timeout):
            raise AssertionError("no outcome of: " + self.what)
        return self.outcome


class Puppet:
    def __init__(self, place, command, hasty=False):
        self.hasty = hasty
        self.process = place.run(*command, stdin=subprocess.PIPE)
        place.ends.append(self.end)
        self.calls = {}
        self.events = []  # (client, text)
        self.changed = threading.Condition()
        self.number = 0
        self.version = self.process.output.wait(r"^0 ready (.*)$")[1].group(1)
        self.seen = 0
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        output = self.process.output
        while True:
            with output.changed:
                while len(output.lines) == self.seen and not output.ended:
                    output.changed.wait()
                lines = [text for _, text in output.lines[self.seen:]]
                self.seen = len(output.lines)
                ended = output.ended
            for line in lines:
                self.hear(line)
            if ended and not lines:
                return

    def hear(self, line):
        number, _, rest = line.partition(" ")
        kind, _, text = rest.partition(" ")
        if number == "0" and kind == "event":
            with self.changed:
                self.events.append(tuple(text.split(" ", 1)))
                self.changed.notify_all()
        elif number.isdigit() and int(number) in self.calls:
            call = self.calls.pop(int(number))
            call.end(Outcome(kind, text, time.monotonic() - call.began))

    def end(self):
        """Lets it end itself, and what it may have started."""
        with contextlib.suppress(OSError, AssertionError):
            self.process.process.stdin.close()
            self.process.wait(5)

    def send(self, *words):
        """Begins something; the answer is a Call."""
        with self.changed:
            self.number += 1
            line = "%d %s" % (self.number, " ".join(str(word) for word in words))
            call = self.calls[self.number] = Call(line)
            self.process.process.stdin.write(line.encode() + b"\n")
            self.process.process.stdin.flush()
        return call

    def begin(self, client, *words):
        return self.send("call", client, *words)

    def call(self, client, *words):
        return self.begin(client, *words).result()

    def open(self, client, kind="one", patient=None):
        """patient: None where the scene is about something else"""
        patient = self.hasty if patient is None else patient
        outcome = self.send("open", client, kind, *["patient"] * patient).result()
        harness.expect(outcome.kind, "ok", "open: %r" % outcome)
        return client

    def close(self, client):
        return self.send("close", client).result()

    def event(self, client, timeout=harness.PATIENCE):
        """Waits until the library tells of this client unasked."""
        with self.changed:
            if not self.changed.wait_for(lambda: any(name == client for name, _ in self.events), timeout):
                raise AssertionError("the library did not tell that %s lost its connection" % client)
