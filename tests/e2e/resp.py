"""RESP and the inline form, as a client sees them; for the end-to-end tests.

parse() takes bytes apart, Client is one blocking connection. Written from the protocol's specification, with
nothing of the daemon's own code, so that both can be wrong only by agreement.
"""

import select
import socket
import time


class Broken(Exception):
    """The other end sent what no reply looks like."""


class Closed(Exception):
    """The connection ended where a reply was due."""


class Late(Exception):
    """No reply in time."""


class Error(str):
    """An error reply: `-CODE text`. It is a value, so that a test compares it like any other."""

    @property
    def code(self):
        return self.split(" ", 1)[0]


class Simple(str):
    """`+text`"""


class Push(list):
    """A RESP3 push."""


def parse(data, at=0):
    """(value, position behind it), or None when more bytes are needed."""
    end = data.find(b"\r\n", at)
    if end < 0:
        if len(data) - at > 1 << 20:
            raise Broken("a line without an end")
        return None
    kind, line, after = data[at:at + 1], data[at + 1:end], end + 2
    if kind == b"+":
        return Simple(line.decode()), after
    if kind == b"-":
        return Error(line.decode()), after
    if kind == b":":
        return int(line), after
    if kind == b",":
        return float(line), after
    if kind == b"_":
        return None, after
    if kind == b"#":
        return line == b"t", after
    if kind in b"$=" and kind:
        return parse_bulk(data, int(line), after)
    if kind in b"*~>%" and kind:
        return parse_items(data, kind, int(line), after)
    raise Broken("no reply begins with %r" % data[at:at + 40])


def parse_bulk(data, length, at):
    if length < 0:
        return None, at
    if len(data) < at + length + 2:
        return None
    if data[at + length:at + length + 2] != b"\r\n":
        raise Broken("a bulk string of another length than it says")
    return data[at:at + length].decode("utf-8", "replace"), at + length + 2


def parse_items(data, kind, count, at):
    if count < 0:
        return None, at
    items = Push() if kind == b">" else []
    for _ in range(count * (2 if kind == b"%" else 1)):
        item = parse(data, at)
        if item is None:
            return None
        items.append(item[0])
        at = item[1]
    if kind == b"%":
        return dict(zip(items[::2], items[1::2])), at
    return items, at


def encode(*words):
    """A request as a RESP array."""
    out = b"*%d\r\n" % len(words)
    for word in words:
        word = word if isinstance(word, bytes) else str(word).encode()
        out += b"$%d\r\n%s\r\n" % (len(word), word)
    return out


def encode_line(*words):
    """The same as an inline line."""
    return b" ".join(word if isinstance(word, bytes) else str(word).encode() for word in words) + b"\r\n"


class Client:
    """One connection. form is "inline", 2 or 3: how requests are written, and what HELLO asks for."""

    def __init__(self, address, form=2, timeout=50.0, source=None):
        self.address = address
        self.timeout = timeout
        self.form = form
        self.pushes = []
        self.connect(source)

    def connect(self, source=None):
        self.data = b""
        family = socket.AF_INET if isinstance(self.address, tuple) else socket.AF_UNIX
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        self.socket.settimeout(self.timeout)
        if source:
            self.socket.bind((source, 0))
        self.socket.connect(self.address)
        if self.form == 3:
            answer = self("HELLO", 3)
            assert isinstance(answer, dict), answer

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __call__(self, *words):
        """Sends a request and waits for its reply."""
        self.send(*words)
        return self.reply()

    def send(self, *words):
        self.send_raw((encode_line if self.form == "inline" else encode)(*words))

    def send_raw(self, data):
        self.socket.sendall(data)

    def take(self):
        """The next thing that has arrived already: (value,), or None."""
        found = parse(self.data)
        if found is None:
            return None
        self.data = self.data[found[1]:]
        return (found[0],)

    def receive(self, until):
        left = until - time.monotonic()
        poller = select.poll()  # select() knows 1024 descriptors only
        poller.register(self.socket, select.POLLIN)
        if not poller.poll(max(0, left) * 1000):
            raise Late("nothing within the time; got %r" % self.data[:80])
        try:
            data = self.socket.recv(1 << 16)
        except ConnectionError as error:
            raise Closed("reset") from error
        if not data:
            raise Closed("end of file; before it %r" % self.data[:80])
        self.data += data

    def reply(self, timeout=None):
        """The next reply; pushes on the way go to self.pushes."""
        until = time.monotonic() + (timeout or self.timeout)
        while True:
            found = self.take()
            if found is None:
                self.receive(until)
            elif isinstance(found[0], Push):
                self.pushes.append(found[0])
            else:
                return found[0]

    def push(self, timeout=None):
        """The next push."""
        until = time.monotonic() + (timeout or self.timeout)
        while not self.pushes:
            found = self.take()
            if found is None:
                self.receive(until)
            else:
                assert isinstance(found[0], Push), "a reply to no request: %r" % (found[0],)
                self.pushes.append(found[0])
        return self.pushes.pop(0)

    def silent(self, seconds):
        """Nothing arrives for so long."""
        try:
            self.receive(time.monotonic() + seconds)
        except Late:
            return self.data == b""
        return False

    def closed(self, timeout=None):
        """Waits for the end; everything before it is in self.data."""
        until = time.monotonic() + (timeout or self.timeout)
        try:
            while True:
                self.receive(until)
        except Closed:
            return True
        except Late:
            return False

    def reset(self):
        """Closes with a reset instead of an end of file (TCP)."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.socket.close()

    def close(self):
        self.socket.close()
