#!/usr/bin/env python3
"""Locks through a default connection pool of a Redis library, with AS id: time-outs shorter than waits, repeated requests,
connections killed at random, the daemon handed over and killed.

  OPERATIONS=10000 tests/e2e/check_pools.py [TEST...]     so many locks taken and given back; without it fewer
"""

import os
import random
import threading
import time
import uuid

import errands
import harness
from harness import expect, expect_between, expect_code, until

try:
    import redis
    from redis.backoff import ConstantBackoff
    from redis.exceptions import ConnectionError as Lost
    from redis.exceptions import TimeoutError as Late
    from redis.retry import Retry
except ImportError:
    redis = None

OPERATIONS = int(os.environ.get("OPERATIONS", "1000"))
TASKS, NAMES = 10, ["deploy", "report", "import", "orders"]
READ_TIMEOUT = 0.01  # many a wait is longer
WAIT_MS = 120000     # each LOCK of the test is granted within
CLAIM = 5.0          # for so long the place of a lost wait is kept
FAULT_PAUSE = 0.02
# Operations from one to the next. A lease without a durable hold is over only 10 s after a crash.
HANDED_OVER_EACH, KILLED_EACH = 100, 400


def pooled(daemon):
    """As a program has it: the default pool, which takes any connection for each command, and repeats what failed."""
    return redis.Redis(unix_socket_path=daemon.socket, socket_timeout=READ_TIMEOUT, socket_connect_timeout=5,
                       retry=Retry(ConstantBackoff(0.005), 20000), retry_on_error=[Lost, Late])


class Judge:
    """Who holds what, as the tasks themselves say: no two at once, and each token larger than those before."""

    def __init__(self):
        self.lock = threading.Lock()
        self.holders, self.tokens, self.wrong = {}, {}, []
        self.done = 0

    def enter(self, name, task, token):
        with self.lock:
            if name in self.holders:
                self.wrong.append("%s: task %d holds it while task %d does" % (name, task, self.holders[name]))
            if token <= self.tokens.get(name, 0):
                self.wrong.append("%s: token %d after %d" % (name, token, self.tokens[name]))
            self.holders[name], self.tokens[name] = task, token

    def leave(self, name, task):
        with self.lock:
            if self.holders.pop(name, None) != task:
                self.wrong.append("%s: task %d does not hold it any more" % (name, task))
            self.done += 1


def operate(client, judge, task, dice):
    """What a user writes: one line to lock, one to unlock."""
    name, me = dice.choice(NAMES), uuid.uuid4().hex
    token = client.execute_command("LOCK", name, "WAIT", WAIT_MS, "AS", me)
    if not isinstance(token, int):
        judge.wrong.append("%s: LOCK answers %r" % (name, token))
        return
    judge.enter(name, task, token)
    time.sleep(dice.random() * 0.01)
    judge.leave(name, task)
    left = client.execute_command("UNLOCK", name, "TOKEN", token, "AS", me)
    if left != 0:
        judge.wrong.append("%s: UNLOCK answers %r" % (name, left))


def work(client, judge, task, operations):
    dice = random.Random(task)
    try:
        for _ in range(operations):
            operate(client, judge, task, dice)
    except Exception as error:  # pylint: disable=broad-except
        judge.wrong.append("task %d: %r" % (task, error))


def kill_one(daemon, dice):
    """Closes a connection of the pool, whatever it is doing."""
    with daemon.client() as admin:
        mine = admin("CLIENT", "ID")
        lines = [dict(word.split("=", 1) for word in line.split() if "=" in word)
                 for line in admin("CLIENT", "LIST").splitlines()]
        others = [line["id"] for line in lines if line.get("id") not in (None, str(mine))]
        if others:
            admin("CLIENT", "KILL", "ID", dice.choice(others))


def run(daemon, faults):
    """All operations, while faults(operations done) happens again and again."""
    client, judge = pooled(daemon), Judge()
    tasks = [threading.Thread(target=work, args=(client, judge, task, OPERATIONS // TASKS)) for task in range(TASKS)]
    for task in tasks:
        task.start()
    number, started = 0, time.monotonic()
    while any(task.is_alive() for task in tasks):
        faults(judge.done)
        number += 1
        time.sleep(FAULT_PAUSE)
    expect(judge.wrong, [])
    expect(judge.done, OPERATIONS // TASKS * TASKS)
    free = time.monotonic()
    with daemon.client() as other:
        until("nothing is left locked", lambda: other("LOCKS")[1] == [])
    harness.comment("%d operations in %.1f s, %d faults, %s requests since the start of the last process" % (
        judge.done, free - started, number, daemon.info()["commands_processed"]))
    harness.comment("nothing is left locked %.1f s after the last operation" % (time.monotonic() - free))
    client.connection_pool.disconnect()
    return judge


def crash(daemon):
    daemon.kill()
    daemon.start()


def ready(place):
    if redis is None:
        raise harness.Skip("redis-py is not installed (python3-redis)")
    return place.daemon(master=place.redis(), config="lease: 10s\nclock-margin: 1s\n").admitted()


def test_kills(place):
    """10 tasks, 4 names, one default pool, time-outs shorter than waits, connections killed: no failure, no overlap, nothing left"""
    daemon, dice = ready(place), random.Random(1)
    run(daemon, lambda done: kill_one(daemon, dice))


def test_restarts(place):
    """the same while the daemon is handed over, and killed and started again"""
    daemon, dice = ready(place), random.Random(2)
    due = {errands.hand_over: 50, crash: 150}

    def faults(done):
        for fault in due:
            if done >= due[fault]:
                due[fault] += HANDED_OVER_EACH if fault is errands.hand_over else KILLED_EACH
                fault(daemon)
        kill_one(daemon, dice)

    run(daemon, faults)


def test_program_that_ends(place):
    """a task that ends while it waits is passed over after a moment; one that ends while it holds, after its TTL"""
    daemon = place.daemon(master=place.redis(), config="lease: 3s\nclock-margin: 100ms\n").admitted()
    holder, waiter, other, late = (daemon.client() for _ in range(4))
    names = [uuid.uuid4().hex for _ in range(2)]
    token = holder("LOCK", "deploy", "AS", names[0])
    waiter.send("LOCK", "deploy", "AS", names[1])
    daemon.queued("deploy")
    other.send("LOCK", "deploy")
    daemon.queued("deploy", 2)
    waiter.close()
    until("the connection is gone", lambda: late("SESSIONS")[1] and len(late("CLIENT", "LIST").splitlines()) == 3)
    began = harness.boottime()
    expect(holder("UNLOCK", "deploy", "AS", names[0]), 0)
    expect_between(other.reply(), token + 2, 2 ** 53)
    harness.expect_not_before(harness.boottime(), began + CLAIM, "the place is kept", grain=0.5)
    expect(other("UNLOCK", "deploy"), 0)
    # Now a holder that falls silent.
    expect(holder("SESSION", "TTL", 300, "AS", names[0]), "OK")
    token = holder("LOCK", "deploy", "AS", names[0])
    holder.close()
    expect_between(other("LOCK", "deploy", "WAIT", 60000), token + 1, 2 ** 53)
    expect_code(late("UNLOCK", "deploy", "AS", names[0]), "NOTHELD")


def test_secret(place):
    """an id is neither logged nor shown, but for a hash that tells sessions apart"""
    daemon = place.daemon(master=place.redis(), config="log: { level: debug }\n").admitted()
    client, me = daemon.client(3), uuid.uuid4().hex
    events = daemon.client()
    expect(events("EVENTS"), "OK")
    token = client("LOCK", "deploy", "AS", me)
    expect_code(client("LOCK", "deploy", "AS", me[:15]), "ERR")
    expect_code(client("SESSION", "BIND", "AS", me), "ERR")
    expect_code(client("EVENTS", "AS", me), "ERR")
    shown = client("LOCKS")[1][0]
    expect((shown["token"], len(shown["as"])), (token, 8))
    expect([one["as"] for one in client("SESSIONS")[1] if one["session"] == shown["session"]], [shown["as"]])
    expect([one["as"] for one in client("SESSIONS")[1] if one["session"] == client("SESSION", "ID")], [""])
    told = repr((client("LOCKS"), client("SESSIONS"), client("INSPECT", "deploy"), client("INFO"), client("CLIENT", "LIST")))
    daemon.kill()
    expect(me in told or me in daemon.output.text(), False, "the id is seen")


if __name__ == "__main__":
    harness.main(globals())
