"""What the nemesis plays on: real masters with clocks and networks of their own, three daemons, the clients' history."""

import os
import re
import time

import clockshim
import history
import nemesis_client
import nemesis_crowd
import nemesis_wire
import resp
from errands import Program
from history import now_ns
from nemesis_faults import LEASE, MARGIN
from scene import pause

DAEMONS = 3
CLIENTS = 64
WORKERS = 8
OPTIONS = ["--enable-protected-configs", "yes", "--enable-debug-command", "yes", "--busy-reply-threshold", "50",
           "--save", "", "--user", "hf", "on", ">pw", "~*", "&*", "+@all"]


class Master:
    def __init__(self, place, number, one_port=False):
        name = "m%d" % (number + 1)
        self.name = name
        self.clock = clockshim.Clock(place, name)
        self.redis = place.redis(name, environment=self.clock.environment, options=OPTIONS)
        self.wire = nemesis_wire.Wire(self.redis.socket, DAEMONS + one_port, one_port)
        place.ends.append(self.wire.close)
        self.control = None
        self.harmed = None  # when it last lost memory or time

    def __call__(self, *words):
        """A command on a connection that stays, so that it goes on while new ones are refused."""
        for _ in range(2):
            try:
                if self.control is None:
                    self.control = resp.Client(self.redis.socket)
                return self.control(*words)
            except (OSError, resp.Closed):
                self.hang_up()
        raise AssertionError("%s does not answer %r" % (self.name, words))

    def hang_up(self):
        if self.control is not None:
            self.control.close()
            self.control = None

    def url(self, daemon):
        """An address object, as the harness wants it."""
        return Url("redis://hf@127.0.0.1:%d" % self.wire.ports[daemon])

    def forget_dump(self):
        path = os.path.join(self.redis.folder, "dump.rdb")
        if os.path.exists(path):
            os.unlink(path)

    def restore(self):
        """Whatever was done to it: it serves as in the beginning."""
        if not self.redis.process.alive():
            self.hang_up()
            self.redis.restart()
        if self.redis.process.stopped:
            self.redis.process.cont()
        self.configure()
        self("CLIENT", "UNPAUSE")
        self("ACL", "SETUSER", "hf", "on", "resetpass", ">pw", "~*", "&*", "+@all")
        self.heal()

    def configure(self):
        for key, value in (("maxclients", "1000"), ("maxmemory", "0"), ("save", ""), ("dir", self.redis.folder),
                           ("min-replicas-to-write", "0"), ("replica-serve-stale-data", "yes"),
                           ("stop-writes-on-bgsave-error", "no")):
            self("CONFIG", "SET", key, value)
        self("CONFIG", "SET", "stop-writes-on-bgsave-error", "yes")
        self.forget_dump()

    def heal(self):
        if self("ROLE")[0] != "master":
            self("REPLICAOF", "NO", "ONE")
        self.wire.heal(range(DAEMONS))


class Url:
    def __init__(self, url):
        self.url = url


class Stage:
    """Everything that runs. servers: all that may be harmed; votes: independent masters among them."""

    namespace = "holdfast"
    databases = True  # the masters have more than one

    def __init__(self, place, options):
        self.place = place
        self.options = options
        self.servers = self.start_servers()
        self.votes = self.count_votes()
        self.daemons = [self.daemon(number) for number in range(DAEMONS)]
        self.folder = os.path.join(place.path, "history")
        os.mkdir(self.folder)
        self.plan = nemesis_client.Plan(self.folder, [(daemon.socket, daemon.tcp) for daemon in self.daemons],
                                        CLIENTS, options.seed, latches=self.has_latches())
        self.harms = history.Writer(os.path.join(self.folder, "nemesis"))
        place.ends.append(self.harms.close)
        self.crowd = nemesis_crowd.Crowd(self.plan, WORKERS)
        place.ends.append(self.crowd.end)
        self.history = history.History(self.folder, history.Rules(LEASE * 1000, nemesis_client.MAX_HOLD_MS))
        place.ends.append(self.history.close)

    def start_servers(self):
        return [Master(self.place, number) for number in range(self.options.masters)]

    def count_votes(self):
        return len(self.servers)

    def has_latches(self):
        """They need a single master."""
        return self.votes == 1

    def describe(self):
        return "%d masters" % self.votes

    @property
    def masters(self):
        """Those that serve the daemons now."""
        return self.servers

    def harmed_by(self, fault):
        """Whether a master may have lost its memory by it."""
        return fault.costs is not None

    def kin(self, master):
        """All that lose their memory when this one does."""
        return [master]

    def masters_config(self, number):
        """Where the daemon finds them: (addresses, lines of its configuration)."""
        return [master.url(number) for master in self.masters], ""

    def daemon(self, number):
        clock = clockshim.Clock(self.place, "d%d" % (number + 1))
        masters, more = self.masters_config(number)
        daemon = self.place.idle_daemon(
            "d%d" % (number + 1), master=masters, tcp=True, config=self.config(more),
            environment=dict(clock.environment, HOLDFAST_MASTER_PASSWORD="pw", NEMESIS_PARTY=str(number)))
        daemon.clock = clock
        daemon.program = Program(daemon)
        return daemon.start()

    def config(self, more=""):
        return ("lease: %dms\nclock-margin: %dms\npool: 2\nlog: { level: %s }\nrestart-guard: %s\n"
                "limits: { latches-per-user: 10000000 }\nrules: [ %s ]\n%s" % (
                    LEASE * 1000, MARGIN * 1000, self.options.log, self.options.guard,
                    ", ".join("{ match: %s, max-hold: %dms }" % rule for rule in nemesis_client.MAX_HOLD_MS.items()),
                    more))

    def beside(self, chance, chosen, budget):
        """What else happens in a round with these faults, likewise as (function, chance, target); None: nothing."""

    def names(self):
        return self.plan.names()

    def key(self, name):
        """Of its lease at the masters."""
        return "%s:{%s}" % (self.namespace, name)

    def restore(self):
        for server in self.servers:
            server.restore()
        for daemon in self.daemons:
            if daemon.process.stopped:
                daemon.process.cont()

    def check_alive(self):
        for daemon in self.daemons:
            if not daemon.process.alive():
                raise AssertionError("%s ended by itself:\n%s" % (daemon.name, daemon.output.tail()))

    def admitted(self, daemon):
        """How many masters this daemon uses."""
        try:
            info = daemon.info()
        except (OSError, resp.Closed, resp.Late):
            return 0
        return sum(1 for key, value in info.items() if re.match(r"master\d+_state$", key) and value == "admitted")

    def await_masters(self, count, timeout):
        """Until every daemon uses so many: (when that was seen in ns, None), or (None, what is missing)."""
        until = time.monotonic() + timeout
        waiting = list(self.daemons)
        while True:
            waiting = [daemon for daemon in waiting if self.admitted(daemon) < count]
            if not waiting:
                return now_ns(), None
            if time.monotonic() > until:
                self.check_alive()
                return None, ", ".join("%s uses %d of %d" % (daemon.name, self.admitted(daemon), count)
                                       for daemon in waiting)
            pause(0.01)


class Failover(Stage):
    """One master of several servers, `now`, whose place another of them takes."""

    def count_votes(self):
        return 1

    @property
    def masters(self):
        return [self.now]

    def harmed_by(self, fault):
        # Whatever silences the master for a while has it failed over.
        return fault.domain not in ("daemon", "client")

    def kin(self, master):
        return self.servers
