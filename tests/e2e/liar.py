"""Those that break their promises, to see whether holdfast notices: a daemon, a sentinel, a node of a cluster."""

import contextlib
import os
import socket
import threading

import resp


class Server:
    """Answers each request by answer(words). seen: all requests."""

    def __init__(self, place, family, address):
        self.turn = threading.Lock()
        self.seen = []
        self.listener = socket.socket(family)
        self.listener.bind(address)
        self.listener.listen()
        place.sockets.append(self.listener)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        data = b""
        with client, contextlib.suppress(OSError):
            while True:
                more = client.recv(65536)
                if not more:
                    return
                data += more
                request = self.parse(data)
                while request:
                    words, at = request
                    data = data[at:]
                    with self.turn:
                        self.seen.append(words)
                        client.sendall(self.answer(words))
                    request = self.parse(data)

    @staticmethod
    def parse(data):
        """Also a line, as SESSION BIND with its descriptor."""
        if data[:1].isalpha():
            line, end, _ = data.partition(b"\r\n")
            return (line.decode().split(), len(line) + 2) if end else None
        return resp.parse(data)

    def answer(self, words):
        raise NotImplementedError


class Liar(Server):
    """A daemon that grants everything to everybody: the tokens grow, or do not."""

    def __init__(self, place, token):
        self.socket = place.path + "/liar"
        self.token = token  # they leave in the order in which they were drawn
        super().__init__(place, socket.AF_UNIX, self.socket)

    def answer(self, words):
        if words[0] == "HELLO":
            return b"%1\r\n$6\r\nserver\r\n$8\r\nholdfast\r\n"
        return b":0\r\n" if words[0] == "UNLOCK" else b":%d\r\n" % self.token()


class Actor(Server):
    """A daemon that answers what play(words) says, and closes the connection where that raises an OSError: for a turn
    of events that takes a real one too much luck. Without play's answer it agrees."""

    def __init__(self, place, name, play):
        self.socket = os.path.join(place.path, name)
        self.play = play
        super().__init__(place, socket.AF_UNIX, self.socket)

    def answer(self, words):
        if words[0] == "HELLO":
            return b"%1\r\n$6\r\nserver\r\n$8\r\nholdfast\r\n"
        return self.play(words) or b"+OK\r\n"


class TcpServer(Server):
    """One of Redis's kind, that agrees to everything."""

    def __init__(self, place):
        super().__init__(place, socket.AF_INET, ("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.place = "127.0.0.1:%d" % self.port

    def answer(self, words):
        return b"+PONG\r\n" if words[0].upper() == "PING" else b"+OK\r\n"

    def passwords(self):
        with self.turn:
            return [words for words in self.seen if words[0].upper() == "AUTH"]


class LyingSentinel(TcpServer):
    """Names a server of its own as the master, in the last of all epochs."""

    def __init__(self, place, names):
        self.names = names  # a port
        super().__init__(place)

    def answer(self, words):
        if words[0].upper() == "SENTINEL":
            return resp.encode("name", words[2], "ip", "127.0.0.1", "port", str(self.names), "num-slaves", "0",
                               "config-epoch", str(2 ** 63 - 1))
        if words[0].upper() in ("SUBSCRIBE", "UNSUBSCRIBE"):
            return resp.encode(words[0].lower(), words[1]).replace(b"*2", b"*3") + b":1\r\n"
        return super().answer(words)


class LyingNode(TcpServer):
    """A node of a cluster that names a server of its own as the owner of this slot, by this id of a node."""

    def __init__(self, place, slot, names, owner):
        self.slot, self.names, self.owner = slot, names, owner
        super().__init__(place)

    def answer(self, words):
        if words[0].upper() == "CLUSTER":
            table = ("%s 127.0.0.1:%d@1 master - 0 0 %d connected 0-16383\n" % (self.owner, self.names, 2 ** 63 - 1)).encode()
            return b"$%d\r\n%s\r\n" % (len(table), table)
        if words[0].upper() in ("EXISTS", "EVAL", "EVALSHA"):
            return b"-MOVED %d 127.0.0.1:%d\r\n" % (self.slot, self.names)
        return super().answer(words)
