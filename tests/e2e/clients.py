"""What the tests of the clients in client/ ask a daemon: what a program holds and waits for, and that it is cut off. The
title of a program is how the names of its connections begin."""

import os
import re

import harness
from harness import PATIENCE, expect

NOTHING = {"grants": 0, "waiters": 0, "connections": 0}


def seen(daemon, title):
    """What the daemon says of the program's first session."""
    with daemon.client(form=3) as client:
        found = [one for one in client("SESSIONS")[1] if one["client"].startswith(title)]
    return found[0] if found else NOTHING


def nothing_left(daemon, title):
    """Waits until the program holds nothing and waits for nothing."""
    def left():
        session = seen(daemon, title)
        return session["grants"] + session["waiters"]
    harness.until("nothing is left", lambda: left() == 0)


def cut(daemon, title):
    """The daemon closes all connections of the program; how many."""
    with daemon.client() as admin:
        lines = admin("CLIENT", "LIST").splitlines()
        found = [re.search(r"\bid=(\d+)", line).group(1) for line in lines if "name=" + title in line]
        for number in found:
            admin("CLIENT", "KILL", "ID", number)
    return len(found)


def free(daemon, name):
    """Another client gets the name at once: the lease would end after the patience."""
    with daemon.client() as client:
        expect(isinstance(client("LOCK", name, "WAIT", int(PATIENCE * 800)), int), True, "%s is free" % name)
        client("UNLOCK", name)


def taken(daemon, name):
    """No other client gets the name."""
    with daemon.client() as client:
        expect(client("LOCK", name, "WAIT", 0), None, "%s is held" % name)


def with_login(place, text=""):
    """A configuration with the user `app`, whose password is `pass word`."""
    path = os.path.join(place.path, "password")
    with open(path, "w", encoding="ascii") as stream:
        stream.write("pass word\n")
    os.chmod(path, 0o600)
    return "users:\n  - { name: app, password-file: %s }\n%s" % (path, text)
