"""Conversations as PROTOCOL.md shows them, played to a real daemon.

Lines of a conversation:

    1> LOCK a WAIT 0                connection 1 sends this (each opens with its first line)
    1< :1760000000000001            and this is its next answer or push, whole
    1x                              the connection is cut, and the daemon knows it

What an answer shows is what has to come, byte for byte, but for what differs from one day to the next: `...` is
anything. A fencing token, a secret, `session 7` and what stands in {braces} is anything the first time, and from then on
the same, also in requests. Any other number of three to six digits is some number, a time.

A request that gets no answer in the next line of its connection waits: the conversation goes on when the daemon has
it, so that the order of the lines is the order of events.
"""

import re
import shlex
import socket
import time

import harness
import resp

LINE = re.compile(r"(\d+)([<>x])(?: (.*))?$")
VARIABLE = re.compile(r"\.\.\.|\{[^}]+\}|\\r\\n|\bsession \d+|(?<![0-9a-f])[0-9a-f]{48}(?![0-9a-f])|\d+")


class Connection:
    def __init__(self, address, version):
        self.client = resp.Client(address)
        self.id = self.client("CLIENT", "ID")
        if version == 3:
            self.client("HELLO", 3)
        self.sent = 2 if version == 3 else 1
        self.answered = self.sent

    def send(self, text, array=False):
        self.client.send_raw(resp.encode(*shlex.split(text)) if array else text.encode() + b"\r\n")
        self.sent += 1

    def raw(self):
        """The bytes of the next answer or push."""
        until = time.monotonic() + harness.PATIENCE
        while True:
            found = resp.parse(self.client.data)
            if found is not None:
                text = self.client.data[:found[1]]
                self.client.data = self.client.data[found[1]:]
                return text
            self.client.receive(until)

    def leave(self):
        """The session has ended when this returns; what waited has been answered as with WAIT 0."""
        try:
            self.client.send("RESET")
            self.client.socket.shutdown(socket.SHUT_WR)
            self.client.closed()
        except OSError:
            pass
        self.client.close()


class Conversation:
    def __init__(self, daemon, version=2):
        self.daemon = daemon
        self.version = version  # of connection 1; the others begin with RESP2
        self.connections = {}
        self.bound = {}

    def connection(self, number):
        if number not in self.connections:
            version = self.version if number == "1" else 2
            self.connections[number] = Connection(self.daemon.socket, version)
        return self.connections[number]

    def request(self, text):
        """With what is known by now in place of what the document says."""
        return " ".join(self.bound.get(word, word) for word in text.split(" "))

    def pattern(self, text):
        """A regular expression for an answer, and what its groups are."""
        groups, out, at = [], "", 0
        for found in VARIABLE.finditer(text):
            out += re.escape(text[at:found.start()])
            at, word = found.end(), found.group()
            name = word.strip("{}")
            if word == "...":
                out += ".*"
            elif word == "\\r\\n":
                out += "\r\n"
            elif word.isdigit() and len(word) < 13:
                out += r"\d+" if 3 <= len(word) <= 6 else word
            elif name in self.bound:
                out += re.escape(self.bound[name])
            else:
                out += "(%s)" % (r"session \d+" if name.startswith("session ") else r"\d+" if word.isdigit()
                                 else r"[^\r\n ]+")
                groups.append(name)
        out += re.escape(text[at:])
        return re.compile((out + ("" if text.endswith("...") else "\r\n")).encode(), re.S), groups

    def expect(self, text, got):
        pattern, groups = self.pattern(text)
        match = pattern.match(got) if text.endswith("...") else pattern.fullmatch(got)
        if match is None:
            raise AssertionError("expected %r, the daemon said %r" % (text, got))
        for name, value in zip(groups, match.groups()):
            self.bound.setdefault(name, value.decode())

    def requests_of(self, number):
        with resp.Client(self.daemon.socket) as client:
            match = re.search(r"^id=%d .*\brequests=(\d+)" % number, client("CLIENT", "LIST"), re.M)
        return int(match.group(1)) if match else None

    def play(self, lines):
        for at, line in enumerate(lines):
            number, what, text = LINE.match(line).groups()
            one = self.connection(number)
            try:
                if what == "x":
                    one.client.close()
                    harness.until("it is noticed: " + line, lambda one=one: self.requests_of(one.id) is None)
                    del self.connections[number]
                elif what == "<":
                    self.expect(text, one.raw())
                else:
                    one.send(self.request(text))
                    if at + 1 < len(lines) and not lines[at + 1].startswith(number + "<"):
                        harness.until("it is served: " + line,
                                      lambda one=one: (self.requests_of(one.id) or 0) >= one.sent)
            except (AssertionError, resp.Late, resp.Closed) as error:
                raise AssertionError("%s\n%s" % (error, "\n".join(
                    ("--> " if i == at else "    ") + text for i, text in enumerate(lines)))) from None

    def done(self):
        for one in self.connections.values():
            one.leave()
