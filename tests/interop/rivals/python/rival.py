"""A rival (tests/interop/rivals/run) by a lock of Python: of redis-py, python-redis-lock, pottery or redlock-py."""

import os
import sys
import time

import redis

LIBRARY, PORT, NAME, COUNTER = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
INSIDE = COUNTER + ".inside"
client = redis.Redis(host="127.0.0.1", port=PORT)


def redis_py(timeout):
    return client.lock(NAME, timeout=timeout, sleep=0.005)


def python_redis_lock(timeout):
    import redis_lock  # pylint: disable=import-outside-toplevel
    return redis_lock.Lock(client, NAME, expire=timeout)


def pottery(timeout):
    import pottery as module  # pylint: disable=import-outside-toplevel
    return module.Redlock(key=NAME, masters={client}, auto_release_time=timeout)


class RedlockPy:
    """redlock-py tries a few times, and has no object for a lock that is not held."""

    def __init__(self, timeout):
        import redlock  # pylint: disable=import-outside-toplevel
        self.manager = redlock.Redlock([{"host": "127.0.0.1", "port": PORT}], retry_count=1000000, retry_delay=0.005)
        self.timeout, self.held = timeout, None

    def acquire(self):
        self.held = self.manager.lock(NAME, self.timeout * 1000)
        if not self.held:
            raise TimeoutError(NAME)

    def release(self):
        self.manager.unlock(self.held)


lock_of = {"redis-py": redis_py, "python-redis-lock": python_redis_lock, "pottery": pottery,
           "redlock-py": RedlockPy}[LIBRARY]


def say(*words):
    print(*words, flush=True)


def count(rounds):
    overlaps = 0
    mine = lock_of(10)
    for _ in range(rounds):
        mine.acquire()
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
        mine.release()
    say("counted", rounds, "overlaps", overlaps)


def spin(milliseconds, names):
    """Of redis-py, as its manual has it."""
    begun, done = time.monotonic(), 0
    while time.monotonic() < begun + milliseconds / 1000:
        with client.lock("spin-%f-%d" % (begun, done) if names == "new" else "spin", timeout=10):
            done += 1
    say("spun", done)


lock = None
say("ready")
for line in sys.stdin:
    words = line.split()
    if words[0] == "lock":
        say("locking")
        lock = lock_of(3)
        lock.acquire()
        say("locked", time.monotonic_ns())
    elif words[0] == "unlock":
        before = time.monotonic_ns()
        lock.release()
        say("unlocked", before)
    elif words[0] == "spin":
        spin(int(words[1]), words[2])
    else:
        count(int(words[1]))
