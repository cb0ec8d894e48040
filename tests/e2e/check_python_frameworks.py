#!/usr/bin/env python3
"""The programs of client/python/FRAMEWORKS.md, each with the real framework where that is installed."""

import os
import re
import subprocess
import sys

import harness
from harness import expect
from package import PACKAGE, nothing_left, program, world


def run(place, title, *modules):
    """Runs the program under this title."""
    if subprocess.run([sys.executable, "-c", "import " + ", ".join(modules)], stderr=subprocess.DEVNULL, check=False).returncode:
        raise harness.Skip("%s is not here: python3 -m pip install %s" % (title, " ".join(modules).lower()))
    with open(os.path.join(PACKAGE, "FRAMEWORKS.md"), encoding="utf-8") as stream:
        section = re.search(r"^## %s\n(.*?)(?=^## |\Z)" % title, stream.read(), re.M | re.S).group(1)
    daemon = world(place)
    (text,) = re.findall(r"```python\n(.*?)```", section, re.S)
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


if __name__ == "__main__":
    harness.main(globals())
