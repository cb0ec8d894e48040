"""Threads, and tasks of asyncio, that lock at random with client/python, and write down what they asked and were told, in
the words of tests/history/HISTORY.md; tests/interop/soak has them judged. The program ends when its standard input does.

    lockers.py PATH LOCKERS unix|tcp     each locker writes to PATH.NUMBER; every second one is a task
"""

import asyncio
import contextlib
import os
import random
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "e2e"))

import history  # noqa: E402
from package import holdfast  # noqa: E402

NAMES = 16
PATH, LOCKERS, WAY = sys.argv[1], int(sys.argv[2]), sys.argv[3]
# As `open unix` has it, a session ends with its process; over TCP it outlives it by its grace.
OPENING = ["open " + WAY, "grace 10000", "graced"] + (["bind", "bound 0"] if WAY == "unix" else [])
stop = threading.Event()


class Locker:
    def __init__(self, number):
        self.chance = random.Random()
        self.tell = history.Writer("%s.%d" % (PATH, number))
        for line in OPENING:
            self.tell(line)

    def choose(self, package):
        """A lock of a name and a kind at random, not acquired yet."""
        form = self.chance.choice(["x", "x", "x", "s", "p1/3", "p2/3"])
        name = "%s%d" % ("permits" if form[0] == "p" else "name", self.chance.randrange(NAMES))
        wait = 0 if self.chance.randrange(10) == 0 else 5 if self.chance.randrange(10) == 0 else 5000
        kind = {"shared": True} if form == "s" else {"limit": 3, "permits": int(form[1])} if form[0] == "p" else {}
        self.tell("ask", name, wait, form)
        return package.lock(name, wait=wait / 1000, on_lost=self.lost, **kind)

    def lost(self, loss):
        self.tell("told", loss.name, loss.token, loss.reason)

    def granted(self, lock):
        """Writes it down; for how many seconds the lock is to be held."""
        self.tell("grant", lock.name, lock.token, int(lock.valid_for() * 1000))
        return self.chance.choice([0.05] + 24 * [0.001] + 75 * [0])

    def worked(self, lock):
        if lock.held:
            self.tell("check", lock.name)
            self.tell("valid", lock.name, int(lock.valid_for() * 1000))
        self.tell("unlock", lock.name)

    @contextlib.contextmanager
    def ends(self, verb, name):
        """What the request may end with, other than what was asked for."""
        try:
            yield
        except (holdfast.LockBusy, asyncio.TimeoutError):
            self.tell("null", name)
        except holdfast.LockRefused as refused:
            self.tell("error", verb, refused.code)
        except holdfast.LockLost as lost:
            self.tell("error", verb, "LOST", lost.reason)
        except holdfast.DaemonUnreachable:
            self.tell("end", "peer")

    def thread(self):
        while not stop.is_set():
            lock = self.choose(holdfast)
            with self.ends("LOCK", lock.name):
                lock.acquire()
                time.sleep(self.granted(lock))
                self.worked(lock)
                with self.ends("UNLOCK", lock.name):
                    lock.release()
                    self.tell("unlocked", lock.name, 0)

    async def task(self):
        while not stop.is_set():
            lock = self.choose(holdfast.aio)
            with self.ends("LOCK", lock.name):
                # One of 20 is cancelled, if it waits for so long.
                await asyncio.wait_for(lock.acquire(), 0.05 if self.chance.randrange(20) == 0 else None)
                await asyncio.sleep(self.granted(lock))
                self.worked(lock)
                with self.ends("UNLOCK", lock.name):
                    await lock.release()
                    self.tell("unlocked", lock.name, 0)


async def tasks(lockers):
    await asyncio.gather(*[locker.task() for locker in lockers])


def end():
    sys.stdin.read()
    stop.set()


all_lockers = [Locker(number) for number in range(LOCKERS)]
threads = [threading.Thread(target=locker.thread) for locker in all_lockers[::2]]
for one in [threading.Thread(target=end, daemon=True), *threads]:
    one.start()
asyncio.run(tasks(all_lockers[1::2]))
for one in threads:
    one.join()
