#!/usr/bin/env python3
"""The programs of client/python/frameworks, each with the real framework where that is installed, and gevent and eventlet."""

import os
import subprocess
import sys

import harness
from harness import expect
from package import PACKAGE, nothing_left, program, world


def run(place, title, *modules):
    """Runs the program of this framework."""
    if subprocess.run([sys.executable, "-c", "import " + ", ".join(modules)], stderr=subprocess.DEVNULL, check=False).returncode:
        raise harness.Skip("%s is not here: python3 -m pip install %s" % (title, " ".join(modules).lower()))
    with open(os.path.join(PACKAGE, "frameworks", "with_%s.py" % title.lower()), encoding="utf-8") as stream:
        text = stream.read()
    daemon = world(place)
    process = program(place, text)
    expect(process.wait(), 0, process.output.text())
    nothing_left(daemon)


def test_celery(place):
    """a task of Celery has the lock while it works"""
    run(place, "Celery", "celery")


def test_django(place):
    """a transaction of Django is committed before the lock ends, and a block that could not be so is refused"""
    run(place, "Django", "django")


def test_apscheduler(place):
    """a job of APScheduler runs once, whoever schedules it"""
    run(place, "APScheduler", "apscheduler")


def test_fastapi(place):
    """a request of FastAPI has the lock, and one that does not get it is answered 503"""
    run(place, "FastAPI", "fastapi", "httpx")


# The standard library is replaced before anything else is imported. Ten want one lock, and another one goes on meanwhile.
GREEN = """
%s
import time
import holdfast
inside, done, ticks = [], [], []

def locks(number):
    with holdfast.lock("green", wait=60) as lock:
        inside.append(number)
        time.sleep(0.02)
        assert inside == [number] and lock.held
        inside.clear()
        done.append(number)

def goes_on():
    while len(done) < 10:
        ticks.append(len(done))
        time.sleep(0.001)

for thread in [spawn(locks, number) for number in range(10)] + [spawn(goes_on)]:
    thread.%s()
assert len(set(ticks)) > 1, ticks
with holdfast.lock("green"):
    try:
        holdfast.lock("green", wait=0.1).acquire()
    except holdfast.LockTimeout as error:
        assert error.holder.pid
    else:
        raise SystemExit("two holders")
"""


def green(place, module, setup, join):
    if subprocess.run([sys.executable, "-W", "ignore", "-c", "import " + module], stderr=subprocess.DEVNULL, check=False).returncode:
        raise harness.Skip("%s is not here: python3 -m pip install %s" % (module, module))
    daemon = world(place)
    process = place.run(sys.executable, "-W", "ignore", "-c", GREEN % (setup, join), environment={"PYTHONPATH": PACKAGE})
    expect(process.wait(), 0, process.output.text())
    nothing_left(daemon)


def test_gevent(place):
    """greenlets of gevent lock in turn, and block no other"""
    green(place, "gevent", "from gevent import monkey; monkey.patch_all(); from gevent import spawn", "get")


def test_eventlet(place):
    """green threads of eventlet lock in turn, and block no other"""
    green(place, "eventlet", "import eventlet; eventlet.monkey_patch(); from eventlet import spawn", "wait")


if __name__ == "__main__":
    harness.main(globals())
