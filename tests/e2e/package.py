"""The Python package in client/python, for the end-to-end tests: a daemon that is its default one, programs that use
it, and what the daemon says of this process."""

import functools
import os
import sys

import clients
import harness

PACKAGE = os.path.join(harness.ROOT, "client", "python")
sys.path.insert(0, PACKAGE)

import holdfast  # noqa: E402

__all__ = ["holdfast"]
QUIET = "log: { level: info }\n"
US = "check_python"  # the title of this process
ours, nothing_left = (functools.partial(ask, title=US) for ask in (clients.seen, clients.nothing_left))


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


def cut(daemon, title=US):
    """The daemon closes all connections of a program, by default those of this process; how many."""
    return clients.cut(daemon, title)


def raises(kind, call):
    try:
        result = call()
    except kind as error:
        return error
    raise AssertionError("expected %s, got %r" % (kind.__name__, result))
