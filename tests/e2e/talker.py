"""Many clients in one process: a loop over their sockets and timers, and what all clients on it have in common."""

import heapq
import selectors
import socket
import time

import resp

RETRY = 0.02  # s between a connection that ended or was refused and the next


class Loop:
    """Watches sockets and the pipe of the process that gives orders; calls what is due."""

    def __init__(self, pipe):
        self.pipe = pipe
        self.selector = selectors.DefaultSelector()
        self.selector.register(pipe, selectors.EVENT_READ, None)
        self.timers = []
        self.serial = 0

    def later(self, seconds, call):
        self.serial += 1
        heapq.heappush(self.timers, (time.monotonic() + seconds, self.serial, call))

    def turn(self):
        left = max(0.0, self.timers[0][0] - time.monotonic()) if self.timers else 1.0
        for key, _ in self.selector.select(left):
            if key.data is None:
                self.obey()
            elif key.data.socket is key.fileobj:  # not closed, or another one, since
                key.data.readable()
        due = []
        moment = time.monotonic()
        while self.timers and self.timers[0][0] <= moment:
            due.append(heapq.heappop(self.timers)[2])
        for call in due:
            call()

    def obey(self):
        """There is an order in the pipe, or its end."""
        raise NotImplementedError


class Talker:
    """One client as a state machine over a non-blocking socket: the answer to what was sent in a state S comes to
    told_S(), the end of the connection to ended()."""

    encode = staticmethod(resp.encode_line)

    def __init__(self, loop, family, address):
        self.loop = loop
        self.family = family
        self.address = address
        self.state = None  # "done": it has ended
        self.socket = None
        self.data = b""
        self.connections = 0

    def later(self, seconds, call):
        """Unless the connection has ended by then."""
        connection = self.connections
        self.loop.later(seconds, lambda: call() if connection == self.connections else None)

    def open(self):
        """False: nobody is there."""
        self.socket = socket.socket(self.family, socket.SOCK_STREAM)
        self.socket.settimeout(5)
        try:
            self.socket.connect(self.address)
        except OSError:
            self.socket.close()
            self.socket = None
            return False
        self.socket.setblocking(False)
        self.data = b""
        self.loop.selector.register(self.socket, selectors.EVENT_READ, self)
        return True

    def connect(self):
        if self.state == "done":
            return
        if self.open():
            self.begin()
        else:
            self.refused()
            self.later(RETRY, self.connect)

    def begin(self):
        """A connection is there."""
        raise NotImplementedError

    def refused(self):
        """A connection was not to be had; another is tried soon."""

    def send(self, state, *words):
        self.state = state
        try:
            self.socket.sendall(self.encode(*words))
        except OSError:
            pass  # the end of the connection is read next

    def readable(self):
        try:
            data = self.socket.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.ended()
            return
        self.data += data
        connection = self.connections
        while connection == self.connections:
            try:
                found = resp.parse(self.data)
            except (resp.Broken, ValueError) as error:
                self.odd(self.state, error)
                return
            if found is None:
                return
            self.data = self.data[found[1]:]
            if isinstance(found[0], resp.Push):
                self.pushed(found[0])
            else:
                getattr(self, "told_" + (self.state or "nothing"))(found[0])

    def ended(self):
        """By the other end."""
        raise NotImplementedError

    def odd(self, asked, answer):
        """No document knows such an answer."""
        raise resp.Broken("an answer to %s: %r" % (asked, answer))

    def pushed(self, push):
        """It came unasked."""
        self.odd("nothing", push)

    def told_nothing(self, answer):
        self.odd("nothing", answer)

    told_holding = told_nothing

    def drop(self, close=socket.socket.close):
        self.connections += 1
        if self.socket is not None:
            self.loop.selector.unregister(self.socket)
            close(self.socket)
            self.socket = None
