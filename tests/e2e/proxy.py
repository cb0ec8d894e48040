"""A TCP proxy in front of a master or a daemon, for faults of the network between them and who uses them.

Each direction can be held (bytes wait, as behind a partition or a lost packet that is sent again), delayed, or reset;
what the master sends can be held for one connection alone.
"""

import socket
import threading

UP, DOWN = "up", "down"  # towards the master, and back


class Proxy:
    def __init__(self, target, records=False):
        """records: all bytes of each connection and direction are kept in `taken`."""
        self.target = target  # path of a Unix socket, or host and port
        self.changed = threading.Condition()
        self.records = records
        self.taken = {}
        self.held = set()
        self.delay = 0.0
        self.pairs = set()
        self.slow = set()
        self.stalls = []  # (bytes of a request, seconds), the next one first
        self.stalled = 0.0
        self.closed = False
        self.refusing = False
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(64)
        self.address = self.listener.getsockname()
        self.url = "redis://127.0.0.1:%d" % self.address[1]
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def towards(self):
        """Where the next connection leads to."""
        return self.target

    def accept(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            target = self.towards()
            master = socket.socket(socket.AF_INET if isinstance(target, tuple) else socket.AF_UNIX)
            try:
                if self.refusing:
                    raise ConnectionRefusedError
                master.connect(target)
            except OSError:
                reset(client)
                master.close()
                continue
            pair = (client, master)
            with self.changed:
                self.pairs.add(pair)
            for direction, source, sink in ((UP, client, master), (DOWN, master, client)):
                threading.Thread(target=self.pump, args=(pair, direction, source, sink), daemon=True).start()

    def pump(self, pair, direction, source, sink):
        try:
            while True:
                data = source.recv(1 << 16)
                with self.changed:
                    if direction == UP and self.stalls and self.stalls[0][0] in data:
                        self.stalled = self.stalls.pop(0)[1]
                    if direction == DOWN and self.stalled:
                        seconds, self.stalled = self.stalled, 0.0
                        self.changed.wait_for(lambda: pair not in self.pairs, seconds)
                    self.changed.wait_for(lambda: pair not in self.pairs or not (
                        direction in self.held or direction == DOWN and pair in self.slow))
                    if pair not in self.pairs:
                        return
                    if self.delay:
                        self.changed.wait_for(lambda: pair not in self.pairs, self.delay)
                if not data:
                    return
                data = self.passing(direction, data)
                if self.records:
                    with self.changed:
                        self.taken[pair, direction] = self.taken.get((pair, direction), b"") + data
                sink.sendall(data)
        except OSError:
            pass
        finally:
            self.end(pair)

    def end(self, pair):
        with self.changed:
            if pair not in self.pairs:
                return
            self.pairs.remove(pair)
            self.slow.discard(pair)
            self.changed.notify_all()
        reset(pair[0])
        if isinstance(self.target, tuple):
            reset(pair[1])
        else:
            pair[1].close()

    def hold(self, *directions):
        with self.changed:
            self.held.update(directions)

    def hold_one(self, port):
        """Nothing more arrives at the client that came from this port."""
        with self.changed:
            self.slow.update(pair for pair in self.pairs if pair[0].getpeername()[1] == port)
            return len(self.slow)

    def stall(self, request, seconds):
        """What comes back behind the next request that has these bytes comes so much later: as to a client that stood still. Behind
        an earlier stall it counts when that is over."""
        self.stalls.append((request, seconds))

    def passing(self, direction, data):  # pylint: disable=unused-argument
        """What is passed on in place of these bytes."""
        return data

    def go(self):
        with self.changed:
            self.held.clear()
            self.slow.clear()
            self.changed.notify_all()

    def reset(self):
        """Every connection ends with a reset."""
        for pair in list(self.pairs):
            self.end(pair)

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.reset()
        self.go()


def reset(endpoint):
    try:
        endpoint.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        endpoint.shutdown(socket.SHUT_RD)
    except OSError:
        pass
    endpoint.close()
