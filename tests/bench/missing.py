"""Three masters, one of which is gone, beside three that are well: what a LOCK costs once the loss is known."""

import harness
import proxy
from stage import column, ratios
from table import Goal

CONFIG = "lease: 10s\nclock-margin: 1s\nrestart-guard: off\nretain: 0ms\nlog: { level: warning }\n"


class Masters:
    """Three servers over TCP on loopback, as the masters of one daemon; to the second there may be a line to cut."""

    def __init__(self, place, prefix, line=False):
        self.servers = []
        self.line = None
        for number in range(3):
            port = harness.free_port()
            server = place.redis("%s%d" % (prefix, number), options=["--port", str(port)])
            server.url = "redis://127.0.0.1:%d" % port
            self.servers.append(server)
        self.missing = self.servers[1]
        if line:
            self.line = proxy.Proxy(self.missing.socket)
            place.ends.append(self.line.close)
            self.missing.url = self.line.url
        self.url = '", "'.join(server.url for server in self.servers)  # between the quotes of a list

    def lose(self, how):
        if how == "killed":
            self.missing.kill()
        elif how == "stopped":
            self.missing.process.stop()
        else:
            self.line.hold(proxy.UP, proxy.DOWN)

    def find(self):
        """So that it can end."""
        if self.missing.process.stopped:
            self.missing.process.cont()


def ready(place, prefix, line=False):
    masters = Masters(place, prefix, line)
    daemon = place.daemon(prefix, master=masters, config=CONFIG).admitted()
    harness.until("all masters are in use", lambda: daemon.info()["masters_usable"] == "3/2")
    return masters, daemon


def marked_down(daemon):
    """A LOCK that needs an answer of the missing one finds it out."""
    with daemon.client() as client:
        while daemon.info()["masters_usable"] != "2/2":
            client("LOCK", "probe", "WAIT", 1000)
            client("UNLOCK", "probe")


def locks(stage, daemon):
    return lambda seconds: stage.load("lock", 8, seconds, daemon.socket, pause=1)


def measure(stage):
    _, healthy = ready(stage.place, "healthy")
    for how in ("killed", "stopped", "blackholed"):
        masters, daemon = ready(stage.place, how, how == "blackholed")
        masters.lose(how)
        marked_down(daemon)
        runs = stage.in_turns(well=locks(stage, healthy), less=locks(stage, daemon))
        stage.table.title("one of three masters %s, beside three that are well" % how)
        stage.table.add("p99 of LOCK, three", "us", column(runs["well"], "p99_us"))
        stage.table.add("p99 of LOCK, one %s" % how, "us", column(runs["less"], "p99_us"))
        stage.table.add("p99, one %s : three" % how, "x", ratios(runs["less"], runs["well"], "p99_us"),
                        Goal("p99 with a master %s" % how, most=1.5))
        masters.find()
        daemon.done()
    healthy.done()
