"""The network between some daemons and one master: a TCP proxy in a process of its own.

Each daemon has a door of its own here, so that faults can hit one daemon or all, and each direction by itself:
  hold      bytes wait and arrive later, as behind a partition that heals
  drop      bytes vanish, and with them all that follow on that connection; healing resets such connections
  delay     every chunk takes so long
  dribble   one byte at a time, with a pause before each
Besides, connections can be reset, and new ones refused.
"""

import collections
import multiprocessing
import os
import selectors
import socket
import threading
import time

UP, DOWN = "up", "down"  # towards the master, and back
BOTH = (UP, DOWN)
CHUNK = 1 << 16
# More than that waits in the kernel.
QUEUE = 1 << 22
PASS = {"mode": "pass", "delay": 0.0, "pause": 0.0}


class Flow:
    """One direction of one connection."""

    def __init__(self, pair, direction, source, sink):
        self.pair = pair
        self.direction = direction
        self.source = source
        self.sink = sink
        self.queue = collections.deque()  # (when it may go, bytes; b"": the end)
        self.size = 0
        self.over = False  # nothing more comes
        self.dropped = False
        self.blocked = False  # the sink is full
        self.next = 0.0  # when a dribbling line sends its next byte

    def setting(self):
        return self.pair.door.settings[self.direction]

    def readable(self):
        return not self.over and self.size <= QUEUE

    def read(self):
        try:
            data = self.source.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self.over = not data
        setting = self.setting()
        if setting["mode"] == "drop" or self.dropped:
            self.dropped = True
            return
        self.queue.append((time.monotonic() + setting["delay"], data))
        self.size += len(data)

    def due(self):
        """When there is something to do, or None."""
        if not self.queue or self.blocked or self.setting()["mode"] == "hold":
            return None
        return max(self.queue[0][0], self.next)

    def write(self, moment):
        """Sends what may go; False: the connection is over."""
        while self.due() is not None and self.due() <= moment:
            when, data = self.queue.popleft()
            if not data:
                return False
            pause = self.setting()["pause"]
            part = data[:1] if pause else data
            try:
                sent = self.sink.send(part)
            except BlockingIOError:
                sent = 0
                self.blocked = True
            except OSError:
                return False
            self.size -= sent
            if sent < len(data):
                self.queue.appendleft((when, data[sent:]))
            if pause:
                # Late bytes of the last ms, which is how long the loop sleeps at least, are made up for.
                self.next = max(self.next, moment - 0.001) + pause
        return True


class Pair:
    def __init__(self, door, client, master):
        self.door = door
        self.client = client
        self.master = master
        self.flows = {UP: Flow(self, UP, client, master), DOWN: Flow(self, DOWN, master, client)}
        self.events = {client: 0, master: 0}

    def flow_from(self, end):
        return self.flows[UP] if end is self.client else self.flows[DOWN]

    def flow_to(self, end):
        return self.flows[DOWN] if end is self.client else self.flows[UP]


class Door:
    """One daemon's way to the master."""

    def __init__(self, listener):
        self.listener = listener
        self.settings = {UP: dict(PASS), DOWN: dict(PASS)}
        self.refusing = False


class Parties:
    """
    Which process is at the other end of a connection of this host: the number in its environment, NEMESIS_PARTY, or that of
    the folder it runs in. A redis-server writes its title over its environment.
    """

    def __init__(self, folders):
        self.folders = folders  # {path: party}
        self.known = {}  # by pid

    def of(self, endpoint, other):
        """other: it has none, or is gone."""
        inode = socket_inode(endpoint.getpeername()[1], endpoint.getsockname()[1])
        pids = [name for name in os.listdir("/proc") if name.isdigit()]
        known = {pid: self.known[pid] if pid in self.known else party_of(pid, self.folders) for pid in pids}
        self.known = {pid: party for pid, party in known.items() if party is not None}
        return next((party for pid, party in self.known.items() if owns(pid, "socket:[%s]" % inode)), other)


def socket_inode(port, towards):
    """Of the socket that is bound to this port and connected to that one."""
    with open("/proc/net/tcp", encoding="ascii") as stream:
        for line in stream:
            local, remote, *_, inode = line.split()[1:10]
            if local.endswith(":%04X" % port) and remote.endswith(":%04X" % towards):
                return inode
    return ""


def party_of(pid, folders):
    try:
        with open("/proc/%s/environ" % pid, "rb") as stream:
            for one in stream.read().split(b"\0"):
                if one.startswith(b"NEMESIS_PARTY="):
                    return int(one.split(b"=")[1])
        return folders.get(os.readlink("/proc/%s/cwd" % pid))
    except OSError:
        return None


def owns(pid, link):
    folder = "/proc/%s/fd" % pid
    try:
        return any(os.readlink(os.path.join(folder, name)) == link for name in os.listdir(folder))
    except OSError:
        return False  # it, or one of its files, is gone


class Engine:
    """The loop of the proxy's process."""

    def __init__(self, target, listeners, doors, folders, pipe):
        self.target = target
        self.pipe = pipe
        self.listeners = len(listeners)
        self.doors = [Door(listener) for listener in listeners]
        self.doors += [Door(listeners[0]) for _ in range(doors - len(listeners))]
        self.parties = Parties(folders)
        self.pairs = set()
        self.selector = selectors.DefaultSelector()
        self.selector.register(pipe, selectors.EVENT_READ, None)
        for door in self.doors[:self.listeners]:
            self.selector.register(door.listener, selectors.EVENT_READ, door)

    def accept(self, door):
        try:
            client = door.listener.accept()[0]
        except OSError:
            return
        if len(self.doors) > self.listeners:
            door = self.doors[self.parties.of(client, len(self.doors) - 1)]
        master = socket.socket(socket.AF_INET if isinstance(self.target, tuple) else socket.AF_UNIX)
        try:
            if door.refusing:
                raise ConnectionRefusedError
            master.settimeout(1)
            master.connect(self.target)
        except OSError:
            reset(client)
            master.close()
            return
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        pair = Pair(door, client, master)
        client.setblocking(False)
        master.setblocking(False)
        self.pairs.add(pair)

    def end(self, pair):
        if pair in self.pairs:
            self.pairs.remove(pair)
            for end in pair.events:
                self.watch(pair, end, 0)
            reset(pair.client)
            pair.master.close()

    def watch(self, pair, end, events):
        before = pair.events[end]
        pair.events[end] = events
        if before and events and before != events:
            self.selector.modify(end, events, pair)
        elif events and not before:
            self.selector.register(end, events, pair)
        elif before and not events:
            self.selector.unregister(end)

    def watch_both(self, pair):
        """Reads where there is room, and looks for room where a sink is full."""
        for end in pair.events:
            self.watch(pair, end, (selectors.EVENT_READ if pair.flow_from(end).readable() else 0) |
                       (selectors.EVENT_WRITE if pair.flow_to(end).blocked else 0))

    def obey(self, order):
        what, numbers, details = order
        for number in numbers:
            door = self.doors[number]
            if what == "set":
                for direction in details[0]:
                    door.settings[direction].update(details[1])
            elif what == "refuse":
                door.refusing = details[0]
            elif what == "reset":
                self.reset_door(door)
            elif what == "heal":
                door.settings = {UP: dict(PASS), DOWN: dict(PASS)}
                door.refusing = False
                self.heal_door(door)

    def reset_door(self, door):
        for pair in [pair for pair in self.pairs if pair.door is door]:
            self.end(pair)

    def heal_door(self, door):
        for pair in [pair for pair in self.pairs if pair.door is door]:
            if any(flow.dropped for flow in pair.flows.values()):
                self.end(pair)
            for flow in pair.flows.values():
                flow.next = 0.0

    def move(self):
        """Sends all that may go now; seconds until there is more, or None."""
        moment = time.monotonic()
        soonest = None
        for pair in list(self.pairs):
            for flow in pair.flows.values():
                if pair in self.pairs and not flow.write(moment):
                    self.end(pair)
            if pair not in self.pairs:
                continue
            self.watch_both(pair)
            for flow in pair.flows.values():
                when = flow.due()
                if when is not None and (soonest is None or when < soonest):
                    soonest = when
        return None if soonest is None else max(0.0, soonest - time.monotonic())

    def take(self, key, events):
        pair = key.data
        if pair not in self.pairs:
            return
        if events & selectors.EVENT_WRITE:
            pair.flow_to(key.fileobj).blocked = False
        if events & selectors.EVENT_READ:
            pair.flow_from(key.fileobj).read()

    def run(self):
        while True:
            for key, events in self.selector.select(self.move()):
                if key.data is None:
                    try:
                        order = self.pipe.recv()
                    except EOFError:
                        return
                    self.obey(order)
                    self.pipe.send(True)
                elif isinstance(key.data, Door):
                    self.accept(key.data)
                else:
                    self.take(key, events)


def reset(endpoint):
    try:
        endpoint.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    except OSError:
        pass
    endpoint.close()


def keep_only(*kept):
    """In a child: what else the parent had open must not live on here."""
    numbers = {one.fileno() for one in kept} | {0, 1, 2}
    for fd in [int(name) for name in os.listdir("/proc/self/fd")]:
        if fd not in numbers:
            try:
                os.close(fd)
            except OSError:
                pass  # the directory itself


def serve(target, listeners, doors, folders, pipe):
    keep_only(pipe, *listeners)
    Engine(target, listeners, doors, folders, pipe).run()
    os._exit(0)


class Wire:
    """Proxies to who listens at `target`, a Unix socket or an address: `doors` of them, each with a port of its own; or
    with one for all, and then the door is that of the process that connects (Parties), the last one for all others.
    folders: the parties of the processes that run there."""

    def __init__(self, target, doors, one_port=False, folders=None):
        self.lock = threading.Lock()
        self.listeners = []
        for _ in range(1 if one_port else doors):
            listener = socket.socket()
            listener.bind(("127.0.0.1", 0))
            listener.listen(64)
            listener.setblocking(False)
            self.listeners.append(listener)
        self.ports = [listener.getsockname()[1] for listener in self.listeners]
        context = multiprocessing.get_context("fork")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(
            target, self.listeners, doors, {os.path.realpath(path): party for path, party in (folders or {}).items()}, theirs))
        self.process.start()
        theirs.close()
        for listener in self.listeners:
            listener.close()

    def order(self, what, doors, *details):
        """Returns when it is done. Any thread may give orders."""
        with self.lock:
            self.pipe.send((what, list(doors), details))
            self.pipe.recv()

    def set(self, doors, directions, **setting):
        self.order("set", doors, list(directions), setting)

    def refuse(self, doors, refusing=True):
        self.order("refuse", doors, refusing)

    def reset(self, doors):
        self.order("reset", doors)

    def heal(self, doors):
        self.order("heal", doors)

    def close(self):
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        self.pipe.close()
