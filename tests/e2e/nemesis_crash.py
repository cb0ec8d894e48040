"""What clients may be told when their daemon crashes and starts again: read from their histories (history.py).

If the crash is the only fault, a session with a grace that comes back in time is resumed, and one that is bound to a process
goes on; what they hold is theirs until they end it. All else that clients are told is for the judge.
"""

import os

from history import MS, now_ns
from nemesis_faults import LEASE, MARGIN, daemon_crash
from nemesis_roles import GRACE_MS, Bound, Comer, role
from scene import pause

# Of a client's LEASE or MAXHOLD, which end whatever the daemon does.
OWN_ENDS = ("lease", "maxhold")
# A daemon that does not run for so long may lose a hold of LEASE seconds; nothing is concluded from that.
HELD_UP = LEASE / 4
# Who asks so long before the grace is over asks in time.
IN_TIME = 0.8


def events(path, start=0):
    with open(path, encoding="utf-8") as stream:
        stream.seek(start)
        for line in stream:
            if line.endswith("\n"):
                at, word, *details = line.split()
                yield int(at), word, details, line.strip()


def unfaithful(lines):
    """
    Of the events of a client with a grace, or of one that is bound: what must not have been told. The first ones may be
    from before the crash.
    """
    cut = asked = None  # when it lost its session's connection, and asked for the session
    attached = True
    for at, word, details, line in lines:
        if word == "end" and attached:
            cut, attached = at, False
        elif word == "resume":
            asked = at
        elif word in ("graced", "resumed", "bound"):
            attached = True
        elif word == "error" and details[:2] == ["RESUME", "ERR"]:
            if cut is not None and asked - cut < IN_TIME * GRACE_MS * MS:
                yield "not to be resumed in time: " + line
        elif word == "none":
            yield "not bound any more: " + line
        elif word == "lost" and not any(reason in details for reason in OWN_ENDS):
            yield "a hold was lost: " + line


class Watch:
    """The clients of all daemons that crash in a round, from its begin."""

    def __init__(self, stage, chosen):
        self.stage = stage
        self.daemons = [target for fault, _, target in chosen if fault is daemon_crash]
        self.alone = len(chosen) == len(self.daemons)
        if self.daemons and self.alone:
            pause(LEASE + MARGIN)  # what the round before has cost is told by then
        self.since = now_ns()
        self.sizes = {path: os.path.getsize(path) for path in self.paths()}

    def paths(self):
        doors = {"d%d" % (self.stage.daemons.index(daemon) + 1) for daemon in self.daemons}
        return sorted(os.path.join(self.stage.folder, name) for name in os.listdir(self.stage.folder)
                      if name.startswith("client.") and name.split(".")[2] in doors)

    def found(self, held_up):
        """What is wrong, in lines. held_up: seconds in which the machine was too busy to run anything."""
        if not self.daemons or not self.alone or held_up > HELD_UP:
            return []
        found = []
        for path in self.paths():
            name = os.path.basename(path)
            if role(self.stage.plan, int(name.split(".")[1])) in (Comer, Bound):
                found += ["%s after a crash: %s" % (name, one) for one in unfaithful(events(path, self.sizes.get(path, 0)))]
        return found
