"""The Python package in client/python, for the end-to-end tests: a daemon that is its default one, programs that use
it, and what the daemon says of this process."""

import os
import re
import sys

import harness
from harness import PATIENCE, expect

PACKAGE = os.path.join(harness.ROOT, "client", "python")
sys.path.insert(0, PACKAGE)

import holdfast  # noqa: E402

__all__ = ["holdfast"]
QUIET = "log: { level: info }\n"


def world(place, config="", redis=None, **options):
    """A daemon that is the default one of the package, in this process and in its children."""
    daemon = place.daemon(master=redis or place.redis(), config=config, **options).admitted()
    os.environ["HOLDFAST_URL"] = daemon.socket
    return daemon


def program(place, text, **options):
    """A program that uses the package, as a process of its own."""
    environment = {"PYTHONPATH": PACKAGE, "PYTHONDONTWRITEBYTECODE": "1"}
    environment.update(options.pop("environment", {}))
    return place.run(sys.executable, "-c", "import holdfast, os, sys, time\n" + text, environment=environment, **options)


def ours(daemon):
    """What the daemon says of this process."""
    with daemon.client(form=3) as client:
        found = [one for one in client("SESSIONS")[1] if "check_python" in one["client"]]
    return found[0] if found else {"grants": 0, "waiters": 0}


def nothing_left(daemon):
    """Waits until this process holds nothing and waits for nothing."""
    harness.until("nothing is left", lambda: (ours(daemon)["grants"], ours(daemon)["waiters"]) == (0, 0))


def free(daemon, name):
    """Another client gets the name at once: the lease would end after the patience."""
    with daemon.client() as client:
        expect(isinstance(client("LOCK", name, "WAIT", int(PATIENCE * 800)), int), True, "%s is free" % name)
        client("UNLOCK", name)


def taken(daemon, name):
    """No other client gets the name."""
    with daemon.client() as client:
        expect(client("LOCK", name, "WAIT", 0), None, "%s is held" % name)


def raises(kind, call):
    try:
        result = call()
    except kind as error:
        return error
    raise AssertionError("expected %s, got %r" % (kind.__name__, result))


def cut(daemon, title="check_python"):
    """The daemon closes all connections whose name begins so, by default those of the package in this process; how many."""
    with daemon.client() as admin:
        lines = admin("CLIENT", "LIST").splitlines()
        found = [re.search(r"\bid=(\d+)", line).group(1) for line in lines if "name=" + title in line]
        for number in found:
            admin("CLIENT", "KILL", "ID", number)
    return len(found)
