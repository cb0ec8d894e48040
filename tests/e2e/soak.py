#!/usr/bin/env python3
"""The counter test for as long as you like, under faults drawn at random; not part of `make check`.

  tests/e2e/soak.py [SECONDS [SEED]]     default: 60 seconds, a seed of the moment, which is printed

Three daemons, two of them behind proxies, four locks. Faults hit the master, the network and the daemons. In the end
the judge compares what all clients were told, and nothing may be left at the master but counters.
"""

import random
import sys
import time

import harness
import proxy
import swarm
from harness import BRISK, boottime, expect
from scene import documented, pause


class Soak:
    def __init__(self, place, chance):
        self.place = place
        self.chance = chance
        self.redis = place.redis()
        self.proxies = [proxy.Proxy(self.redis.socket) for _ in range(2)]
        for link in self.proxies:
            place.ends.append(link.close)
        masters = self.proxies + [self.redis]
        # A master that forgets is one of the faults, and no lease outlives the run for long.
        config = BRISK + "restart-guard: auto\npool: 2\nlog: { level: info }\n"
        self.daemons = [place.daemon("d%d" % n, master=master, config=config) for n, master in enumerate(masters, 1)]
        for daemon in self.daemons:
            daemon.admitted()
        self.plan = swarm.Plan(place.path, [daemon.socket for daemon in self.daemons], ["n%d" % n for n in range(4)],
                               8, hold=0.01, wait_ms=1500)
        self.swarm = swarm.Swarm(self.plan)
        place.ends.append(self.swarm.end)

    def total(self):
        return sum(swarm.counter_read(self.place.path, name) for name in self.plan.names)

    def flush(self):
        self.redis("FLUSHALL")

    def kill_master(self):
        self.redis.kill()
        pause(self.chance.random() * 0.5)
        self.redis.restart()

    def save(self):
        self.redis("SAVE")

    def stop_master(self):
        self.redis.process.stop()
        pause(self.chance.random() * 1.5)
        self.redis.process.cont()

    def kill_clients(self):
        self.redis("CLIENT", "KILL", "TYPE", self.chance.choice(("normal", "pubsub")))

    def flush_scripts(self):
        self.redis("SCRIPT", "FLUSH")

    def demote(self):
        self.redis("REPLICAOF", "127.0.0.1", harness.free_port())
        pause(self.chance.random() * 0.5)
        self.redis("REPLICAOF", "NO", "ONE")

    def fill(self):
        self.redis("CONFIG", "SET", "maxmemory", "1")
        pause(self.chance.random())
        self.redis("CONFIG", "SET", "maxmemory", "0")

    def slow(self):
        duration = self.chance.randrange(50, 1500)
        self.redis("CLIENT", "PAUSE", duration, self.chance.choice(("ALL", "WRITE")))
        pause(duration / 1000)

    def delete(self):
        # What deletes keys breaks exclusion by hand; only tokens and queues are fair game.
        for name in self.plan.names:
            self.redis("DEL", "holdfast:{%s}:q" % name)

    def hold_line(self):
        link = self.chance.choice(self.proxies)
        link.hold(*self.chance.choice(((proxy.UP,), (proxy.DOWN,), (proxy.UP, proxy.DOWN))))
        pause(self.chance.random() * 2)
        if self.chance.random() < 0.5:
            link.reset()
        link.go()

    def reset_line(self):
        self.chance.choice(self.proxies).reset()

    def delay_line(self):
        link = self.chance.choice(self.proxies)
        link.delay = self.chance.random() * 0.2
        pause(1)
        link.delay = 0

    def stop_daemon(self):
        daemon = self.chance.choice(self.daemons)
        daemon.process.stop()
        pause(self.chance.random() * 2)
        daemon.process.cont()

    def kill_daemon(self):
        daemon = self.chance.choice(self.daemons)
        daemon.kill()
        daemon.start()

    def restart_daemon(self):
        daemon = self.chance.choice(self.daemons)
        expect(daemon.terminate(), 0)
        daemon.start()

    FAULTS = (flush, kill_master, save, stop_master, kill_clients, flush_scripts, demote, fill, slow, delete, hold_line,
              reset_line, delay_line, stop_daemon, kill_daemon, restart_daemon)

    def run(self, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            fault = self.chance.choice(self.FAULTS)
            print("# %.3f %s, %d increments" % (boottime(), fault.__name__, self.total()))
            fault(self)
            pause(self.chance.random() * 1.5)
        before = self.total()
        started = boottime()
        while self.total() < before + 100:
            expect(boottime() - started < 10, True, "work goes on within 10 s after the last fault")
            pause(0.05)

    def judge(self):
        counts, holds = self.swarm.stop()
        print("# %d holds, %r" % (len(holds), counts))
        swarm.judge(self.plan, counts, holds)
        codes = {what for what in counts if what.isupper()}
        expect(codes - documented(), set(), "undocumented errors")
        expect(counts.get("odd"), None, "answers that look like none")

    def drained(self):
        """Within L + J and a little nothing is left but counters and the master's memory."""
        until = time.monotonic() + 5
        while True:
            left = [key for key in self.redis("KEYS", "*") if not key.endswith(":f") and key != "holdfast:node"]
            if not left:
                return
            expect(time.monotonic() < until, True, "left at the master: %r" % left)
            pause(0.05)


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(10 ** 9)
    sys.argv[1:] = []

    def test_soak(place):
        print("# seed %d" % seed)
        soak = Soak(place, random.Random(seed))
        soak.run(seconds)
        soak.judge()
        soak.drained()
    test_soak.__doc__ = "%d seconds of faults with seed %d" % (seconds, seed)
    harness.main({"test_soak": test_soak})


if __name__ == "__main__":
    main()
