"""What clients may be told while their daemon is handed over: nothing. Read from their histories (history.py).

If the hand-over is the only fault, no connection ends, no hold is lost, and no master is missed. If another fault is on
as well, or the next process comes up late, holds may be lost by that; but a client that asked for no closed connection at
a loss keeps its connection.
"""

import os

from history import AWAY, now_ns
from nemesis_faults import LEASE, MARGIN, daemon_hand_over, daemon_late_hand_over
from nemesis_roles import Binder, Comer, Queuer, role
from scene import pause

# Of a client's LEASE or MAXHOLD, which end whatever the daemon does.
OWN_ENDS = ("lease", "maxhold")
# Asked for while one is under way.
BUSY = "why=\"this daemon is being handed over\""
# For so long at most no process has links to enough masters: a wait that ends in it is told so, and not that the lock is held.
MEANWHILE_MS = 1000
# A daemon that does not run for so long may lose a hold of LEASE seconds; nothing is concluded from that.
HELD_UP = LEASE / 4


class Wait:
    def __init__(self, asked_ns, wait_ms):
        self.asked_ns = asked_ns
        self.wait_ms = wait_ms

    def ended_meanwhile(self, answered_ns):
        """True if it was short, and over when its answer came: a request that has time left waits until it is served."""
        return self.wait_ms < MEANWHILE_MS and answered_ns - self.asked_ns >= self.wait_ms * 1000000


class Watch:
    """The histories of the clients of all daemons that are handed over in a round, from its begin."""

    def __init__(self, stage, chosen):
        self.stage = stage
        self.daemons = [target for fault, _, target in chosen if fault in (daemon_hand_over, daemon_late_hand_over)]
        self.alone = [fault for fault, _, _ in chosen] == [daemon_hand_over]
        if self.daemons and self.alone:
            pause(LEASE + MARGIN)  # what the round before has cost is told by then
        self.since = now_ns()
        self.sizes = {path: os.path.getsize(path) for path in self.paths()}
        self.marks = {daemon: daemon.output.mark() for daemon in self.daemons}

    def paths(self):
        doors = {"d%d" % (self.stage.daemons.index(daemon) + 1) for daemon in self.daemons}
        return sorted(os.path.join(self.stage.folder, name) for name in os.listdir(self.stage.folder)
                      if name.startswith("client.") and name.split(".")[2] in doors)

    def found(self, held_up):
        """What is wrong, in lines. held_up: seconds in which the machine was too busy to run anything."""
        if not self.daemons:
            return []
        found = ["%s: %s" % (daemon.name, line) for daemon in self.daemons
                 for _, line in list(daemon.output.lines)[self.marks[daemon]:]
                 if "handover.refused" in line or "handover.failed" in line and BUSY not in line]
        if held_up > HELD_UP:
            return found
        for path in self.paths():
            name, seen, before, wait = os.path.basename(path), 0, "", None
            with open(path, "rb") as stream:
                for line in stream:
                    words = line.decode().split()
                    if words[1] == "ask":
                        wait = Wait(int(words[0]), int(words[3]))
                    if seen >= self.sizes.get(path, 0) and self.wrong(int(name.split(".")[1]), words, before, wait):
                        found.append("%s after a hand-over: %s" % (name, " ".join(words)))
                    seen, before = seen + len(line), words[1]
        return found

    def wrong(self, number, words, before, wait):
        """before: the word of the line before. wait: of the request that was written last."""
        word, details = words[1], words[2:]
        kind = role(self.stage.plan, number)
        if word == "end" and details == ["peer"]:
            if before == "quit":
                return False
            # A Binder that did not ask for it is told by that that its LEASE is over.
            return number % 3 == 1 or kind in (Comer, Queuer) or self.alone and kind is not Binder
        if not self.alone:
            return False
        if word in ("lost", "told"):
            return not any(reason in details for reason in OWN_ENDS)
        if word == "error" and wait is not None and wait.ended_meanwhile(int(words[0])):
            return False
        return word in ("error", "failed") and details[1] in AWAY
