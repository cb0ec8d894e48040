"""Many clients that take turns at locks, and a judge of what they were told.

A swarm is some processes with some clients each. Every client, again and again: LOCK, read the counter in a file, hold
for a while, write the counter plus one, UNLOCK. Other clients of the same process run between the reading and
the writing, so two holders at once would lose a count. All that a client asks and is told goes to the history of its
process (tests/history/HISTORY.md), which is judged; and each hold is told to the test.
"""

import glob
import json
import multiprocessing
import os
import random
import socket
import time

import history
import resp
from talker import RETRY, Loop, Talker

COUNTER = "%020d"


def now():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def counter_path(folder, name):
    return os.path.join(folder, "counter." + name)


def counter_new(folder, name):
    with open(counter_path(folder, name), "w", encoding="ascii") as stream:
        stream.write(COUNTER % 0)


def counter_read(folder, name):
    with open(counter_path(folder, name), encoding="ascii") as stream:
        return int(stream.read())


class Plan:
    """What a swarm does. rounds: increments per client; total: of all clients; neither: until told to stop."""

    def __init__(self, folder, sockets, names, clients, rounds=0, hold=0.0, wait_ms=2000, processes=2, total=None):
        self.folder = folder
        self.history = os.path.join(folder, "swarm")
        self.sockets = sockets  # each client belongs to one of them
        self.names = names
        self.clients = clients  # per socket
        self.rounds = rounds
        self.hold = hold  # seconds, drawn up to this
        self.wait_ms = wait_ms
        self.processes = processes
        # What is left of the total. All processes share it, by other means than the locks that are tested.
        self.left = None if total is None else multiprocessing.get_context("fork").Value("q", total)

    def draw(self):
        """Takes one increment off the total; False when none is left."""
        with self.left.get_lock():
            if self.left.value == 0:
                return False
            self.left.value -= 1
            return True


class Walker(Talker):
    """One client, which draws its rounds one by one where they are a total."""

    def __init__(self, worker, number, address):
        super().__init__(worker, socket.AF_UNIX, address)
        self.worker = worker
        self.number = number
        self.name = worker.plan.names[number % len(worker.plan.names)]
        self.left = worker.plan.rounds or -1  # increments; -1: no end
        if worker.plan.left is not None:
            self.left = 0
        self.hold = None
        self.sent = 0.0

    def refused(self):
        self.worker.count("refused")

    def write(self, *words):
        self.worker.write(self, *words)

    def begin(self):
        self.write("open", "unix", self.address)
        self.lock()

    def send(self, state, *words):
        self.sent = now()
        super().send(state, *words)

    def lock(self):
        if self.state == "done":
            return
        if self.left == 0 and self.worker.plan.left is not None and self.worker.plan.draw():
            self.left = 1
        if self.left == 0 or self.worker.stopping:
            self.finish()
            return
        self.write("ask", self.name, self.worker.plan.wait_ms)
        self.send("lock", "LOCK", self.name, "WAIT", self.worker.plan.wait_ms, "VALIDITY")

    def finish(self):
        self.state = "done"
        if self.socket is not None:
            self.write("end", "self")
        self.drop()
        self.worker.running -= 1

    def ended(self):
        """The connection is closed: with it the daemon says that a hold is lost."""
        if self.hold is not None:
            self.worker.count("lost")
            self.record(now(), False)
        self.write("end", "peer")
        self.worker.count("closed")
        self.drop()
        self.later(RETRY, self.connect)

    def told_lock(self, answer):
        if isinstance(answer, list):
            token, valid_ms = answer
            start = now()
            self.write("grant", self.name, token, valid_ms)
            self.hold = {"name": self.name, "token": token, "start": start, "deadline": self.sent + valid_ms / 1000,
                         "client": "%s#%d" % (self.address, self.number), "asked": self.sent}
            # A wait is longer than a lease: then the validity counts from the grant, and CHECK tells.
            if self.hold["deadline"] < start:
                self.hold["deadline"] = start
            self.read = counter_read(self.worker.plan.folder, self.name)
            self.state = "holding"
            self.later(random.random() * self.worker.plan.hold, self.held)
            return
        self.worker.count(answer.code if isinstance(answer, resp.Error) else "null" if answer is None else "odd")
        if isinstance(answer, resp.Error):
            self.write("error", "LOCK", answer)
        elif answer is None:
            self.write("null", self.name)
        else:
            self.write("odd", "LOCK", repr(answer))
        # An error is answered at once when WAIT is over; the pause keeps a dead master from being hammered.
        self.later(0.01, self.lock)

    def held(self):
        if now() > self.hold["deadline"] - 0.05:
            self.check()
            return
        self.add()

    def check(self):
        self.write("check", self.name)
        self.send("check", "CHECK", self.name)

    def told_check(self, answer):
        if isinstance(answer, int):
            self.write("valid", self.name, answer)
            self.hold["deadline"] = max(self.hold["deadline"], self.sent + answer / 1000)
            if answer > 50:
                self.add()
            else:
                self.check()  # nearly over: it is renewed, or it is lost
            return
        self.write("lost", self.name, answer)
        self.worker.count("null" if answer is None else answer.code)
        self.worker.count("lost")
        self.record(now(), False)
        self.lock()

    def add(self):
        fd = os.open(counter_path(self.worker.plan.folder, self.name), os.O_WRONLY | os.O_CLOEXEC)
        os.pwrite(fd, (COUNTER % (self.read + 1)).encode(), 0)
        os.close(fd)
        if now() > self.hold["deadline"]:
            # This process was not scheduled between the look at the clock and the write: no lock can help.
            self.worker.count("stalled")
        self.record(now(), True)
        self.left -= 1
        self.write("unlock", self.name)
        self.send("unlock", "UNLOCK", self.name)

    def told_unlock(self, answer):
        if isinstance(answer, resp.Error):
            self.write("error", "UNLOCK", answer)
        else:
            self.write("unlocked", self.name, answer)
        self.worker.count("unlocked" if answer == 0 else answer.code if isinstance(answer, resp.Error) else "odd")
        self.lock()

    def record(self, end, wrote):
        self.hold.update(end=min(end, self.hold["deadline"]), wrote=wrote)
        self.worker.holds.append(self.hold)
        self.hold = None


class Worker(Loop):
    """One process's clients."""

    def __init__(self, plan, numbers, pipe):
        super().__init__(pipe)
        self.plan = plan
        self.counts = {}
        self.holds = []
        self.stopping = False
        self.walkers = [Walker(self, number, address) for number, address in numbers]
        self.running = len(self.walkers)
        self.history = os.open(os.path.join(plan.history, "%d" % os.getpid()), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def write(self, walker, *words):
        line = "client %s#%d\n%d %s\n" % (walker.address, walker.number, history.now_ns(), " ".join(map(str, words)))
        os.write(self.history, line.encode())

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    def obey(self):
        self.stopping = True
        self.selector.unregister(self.pipe)

    def run(self):
        for walker in self.walkers:
            self.later(0, walker.connect)
        while self.running > 0:
            self.turn()
            if self.stopping:
                self.let_go()
        self.pipe.send_bytes(json.dumps({"counts": self.counts, "holds": self.holds}).encode())

    def let_go(self):
        """Told to stop: whoever waits or cannot connect ends; whoever holds finishes its round."""
        for walker in self.walkers:
            if walker.state == "lock" or (walker.socket is None and walker.state != "done"):
                walker.finish()


def work(plan, numbers, pipe):
    # Connections of the test must not stay open here after the test has closed them.
    for fd in [int(name) for name in os.listdir("/proc/self/fd")]:
        if fd > 2 and fd != pipe.fileno():
            try:
                os.close(fd)
            except OSError:
                pass  # the directory itself
    Worker(plan, numbers, pipe).run()
    os._exit(0)


class Swarm:
    """Started by the constructor; stop() or wait() returns (counts, holds)."""

    def __init__(self, plan):
        os.makedirs(plan.history, exist_ok=True)
        for name in plan.names:
            if not os.path.exists(counter_path(plan.folder, name)):
                counter_new(plan.folder, name)
        everybody = [(number, address) for address in plan.sockets for number in range(plan.clients)]
        context = multiprocessing.get_context("fork")
        self.workers = []
        for number in range(plan.processes):
            mine, theirs = context.Pipe()
            process = context.Process(target=work, args=(plan, everybody[number::plan.processes], theirs))
            process.start()
            theirs.close()
            self.workers.append((process, mine))

    def stop(self, timeout=60):
        for _, pipe in self.workers:
            pipe.send_bytes(b"stop")
        return self.wait(timeout)

    def end(self):
        """Whatever happened: no process stays behind."""
        for process, _ in self.workers:
            if process.is_alive():
                process.kill()
            process.join()

    def wait(self, timeout=120):
        counts, holds = {}, []
        until = time.monotonic() + timeout
        problem = None
        for process, pipe in self.workers:
            if pipe.poll(max(0, until - time.monotonic())):
                try:
                    result = json.loads(pipe.recv_bytes())
                except EOFError:
                    problem = "a worker of the swarm ended without a result"
                    continue
                for what, number in result["counts"].items():
                    counts[what] = counts.get(what, 0) + number
                holds += result["holds"]
            else:
                problem = "a worker of the swarm is stuck"
                process.kill()
        for process, pipe in self.workers:
            process.join(10)
            pipe.close()
        if problem:
            raise AssertionError(problem)
        return counts, sorted(holds, key=lambda hold: hold["start"])


def findings(plan):
    """What is wrong with what the clients were told."""
    paths = glob.glob(os.path.join(glob.escape(plan.history), "*"))
    return history.judge(paths) if paths else []


def judge(plan, counts, holds):
    """The rules of a history, and that no write got lost."""
    history.nothing_found(findings(plan))
    if counts.get("stalled"):
        return
    for name in plan.names:
        wrote = sum(1 for hold in holds if hold["name"] == name and hold["wrote"])
        found = counter_read(plan.folder, name)
        assert found == wrote, "%s: %d writes, the counter says %d" % (name, wrote, found)
