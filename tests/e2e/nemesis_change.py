"""The nemesis' stage on which the set of masters changes: an administrator replaces masters and adds some, at any
daemon, while the faults go on. What has been offered goes on by itself; when all is healed, it is looked at what came
of it.

Each server has one address for all daemons, and its proxy knows who connects. Configurations follow later, one host
after the other: until then a daemon that restarts does so with a list that the set has left behind. A server that left
is switched off when no configuration names it any more.
"""

import harness
import resp
from harness import boottime
from nemesis_faults import LEASE, MARGIN
from nemesis_stage import DAEMONS, Master, Stage, Url

MOST = 5
# A change that waits for nobody takes moments; what it waits for may be healed only after this fault.
ANSWER = 3.0


class Member(Master):
    """One that all daemons reach at the same address."""

    def __init__(self, place, number):
        super().__init__(place, number, one_port=True)
        self.port = self.wire.ports[0]
        self.address = "127.0.0.1:%d" % self.port

    def url(self, daemon):
        return Url("redis://hf@%s" % self.address)

    def heal(self):
        self.wire.heal(range(DAEMONS + 1))

    def retire(self):
        self.hang_up()
        self.redis.kill()
        self.wire.close()


class Changing(Stage):
    def start_servers(self):
        self.made = self.options.masters
        self.left = []  # servers that run, and are no members
        return [Member(self.place, number) for number in range(self.options.masters)]

    def describe(self):
        return "%d masters of a set that changes" % self.votes

    def has_latches(self):
        return False  # where there are some, a single master stays alone

    def beside(self, chance, chosen, budget):
        """A new master has no memory, as one that has lost it: within the same budget."""
        if any(fault.costs for fault in chosen):
            return None
        well, allowed = budget.spare(change)
        if allowed < 1 or chance.random() < 0.3:
            return None
        return change, chance, [chance.choice(well)]

    def newcomer(self):
        self.made += 1
        one = Member(self.place, self.made - 1)
        self.left.append(one)
        return one

    def restore(self):
        super().restore()
        for server in self.left:
            server.restore()
        self.settle()

    def settle(self):
        """Until no change is under way; the servers that are members then are the masters."""
        def addresses():
            told = [status(daemon) for daemon in self.daemons]
            sets = {(one["generation"], members(one)) for one in told}
            if len(sets) > 1 or any((one["change"], one["agreement"]) != ("none", "agreed") for one in told):
                return None
            return sets.pop()[1]

        try:
            places = harness.until("no change of the masters is under way", addresses)
        except AssertionError as error:
            raise AssertionError("%s: %r" % (error, [status(daemon) for daemon in self.daemons])) from error
        known = self.servers + self.left
        before = self.servers
        self.servers = [server for server in known if server.address in places]
        harness.expect(len(self.servers), len(places), "servers of the set %r" % (places,))
        self.left = [server for server in known if server not in self.servers]
        self.votes = len(self.servers)
        for server in self.servers:
            if server not in before:
                server.harmed = boottime()

    def tell(self, chance):
        """Some hosts get the list as it is now; what none of them names any more, is switched off."""
        for number, daemon in enumerate(self.daemons):
            if chance.random() < 0.5:
                daemon.listed = list(self.servers)
                daemon.master = "masters: [ %s ]\n" % ", ".join(
                    "\"%s\"" % server.url(number).url for server in self.servers)
                daemon.configure(self.config())
        for server in list(self.left):
            if not any(server in daemon.listed for daemon in self.daemons):
                self.left.remove(server)
                server.retire()

    def daemon(self, number):
        daemon = super().daemon(number)
        daemon.listed = list(self.servers)
        return daemon


def status(daemon):
    with resp.Client(daemon.socket, 3) as client:
        return client("MASTERS")


def members(told):
    return tuple(sorted(master["place"] for master in told["masters"] if master["role"] == "member"))


def change(stage, chance, masters):
    """Asks a daemon, sometimes two at once, and waits for a while."""
    stage.tell(chance)
    asked = []
    for daemon in chance.sample(stage.daemons, chance.choice((1, 1, 1, 2))):
        if len(stage.servers) == 1 or len(stage.servers) < MOST and chance.random() < 0.3:
            words = ["ADD", stage.newcomer().address, stage.newcomer().address]
        else:
            words = ["REPLACE", masters[0].address, stage.newcomer().address]
        try:
            client = stage.place.keep(resp.Client(daemon.socket))
            client.send("MASTERS", *words)
            asked.append(client)
        except OSError:
            pass  # it is being killed, or stands still
    until = boottime() + ANSWER
    for client in asked:
        try:
            answer = client.reply(max(0.01, until - boottime()))
            harness.comment("MASTERS: %r" % (answer,))
            if not isinstance(answer, int) and answer.code not in ("ERR", "NOMASTER", "DRAINING"):
                raise AssertionError("MASTERS: %r" % answer)
        except (OSError, resp.Closed, resp.Late):
            pass


change.domain = "set"
change.costs = "memory"
change.aftermath = LEASE + MARGIN
change.only = lambda stage: isinstance(stage, Changing)

__all__ = ["Changing", "change"]
