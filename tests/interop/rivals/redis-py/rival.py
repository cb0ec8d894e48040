"""A rival (tests/interop/rivals/run) by redis-py's Lock."""

import os
import sys
import time

import redis

PORT, NAME, COUNTER = int(sys.argv[1]), sys.argv[2], sys.argv[3]
INSIDE = COUNTER + ".inside"
client = redis.Redis(host="127.0.0.1", port=PORT)


def say(*words):
    print(*words, flush=True)


def count(rounds):
    overlaps = 0
    for _ in range(rounds):
        with client.lock(NAME, timeout=10, sleep=0.005):
            try:
                os.close(os.open(INSIDE, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                overlaps += 1
            with open(COUNTER, "r+", encoding="ascii") as stream:
                number = int(stream.read())
                stream.seek(0)
                stream.write(str(number + 1))
            if os.path.exists(INSIDE):
                os.unlink(INSIDE)
    say("counted", rounds, "overlaps", overlaps)


lock = None
say("ready")
for line in sys.stdin:
    words = line.split()
    if words[0] == "lock":
        say("locking")
        lock = client.lock(NAME, timeout=3, sleep=0.005)
        lock.acquire()
        say("locked", time.monotonic_ns())
    elif words[0] == "unlock":
        before = time.monotonic_ns()
        lock.release()
        say("unlocked", before)
    else:
        count(int(words[1]))
