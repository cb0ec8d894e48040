"""The pool test (tests/e2e/pools.py) of redis-py: its default pool, which takes any connection for each command, with retries.
If a connection of the pool was lost, and the new one is lost as well, the error is the program's, which sends again."""

import random
import sys
import threading
import time
import uuid

import redis
from redis.backoff import ConstantBackoff
from redis.exceptions import ConnectionError as Lost
from redis.exceptions import TimeoutError as Late
from redis.retry import Retry

PORT, OPERATIONS, TIMEOUT = map(int, sys.argv[1:])
TASKS, NAMES = 10, ["deploy", "report", "import", "orders"]

client = redis.Redis(port=PORT, socket_timeout=TIMEOUT / 1000, socket_connect_timeout=5,
                     retry=Retry(ConstantBackoff(0.005), 10), retry_on_error=[Lost, Late])


def say(*words):
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def send(*words):
    """The answer. The daemon knows the id, and does nothing twice."""
    while True:
        try:
            return client.execute_command(*words)
        except (Lost, Late):
            say("again")
            time.sleep(0.005)


def operate(name, task):
    me = uuid.uuid4().hex
    token = send("LOCK", name, "WAIT", 120000, "AS", me)
    say("enter", name, task, token)
    time.sleep(random.random() * 0.01)
    say("leave", name, task)
    left = send("UNLOCK", name, "TOKEN", token, "AS", me)
    if left != 0:
        say("failed", name, task, "UNLOCK answers", left)


def work(task):
    for _ in range(OPERATIONS // TASKS):
        name = random.choice(NAMES)
        try:
            operate(name, task)
        except redis.RedisError as error:
            say("failed", name, task, repr(error))


tasks = [threading.Thread(target=work, args=(task,)) for task in range(TASKS)]
for one in tasks:
    one.start()
for one in tasks:
    one.join()
