"""Other servers that hand out locks, where they are installed, and the ceiling: an echo on the same event loop."""

import glob
import os
import pwd
import re
import shutil

import harness
from stage import column, program, ratios, where

CLIENTS = 64
ADVISORY = "SELECT pg_advisory_lock(%s);\nSELECT pg_advisory_unlock(%s);\n"


def find(name, *folders):
    """A program in PATH, or in folders that seldom are there."""
    return shutil.which(name) or next((path for folder in folders for path in glob.glob(os.path.join(folder, name))),
                                      None)


def compare(stage, daemon, transport, name, shared, own):
    """shared, own: work of that server on one lock for all, and on a lock for each client, over this transport."""
    def ours(kind):
        return lambda seconds: stage.measured(kind, CLIENTS, seconds, [where(daemon, transport)], [daemon])

    for what, kind, work in (("one lock", "handoff", shared), ("a lock each", "lock", own)):
        runs = stage.in_turns(ours=ours(kind), other=work)
        add = stage.table.add
        stage.table.title("%s, %d clients, %s, %s" % (name, CLIENTS, what, transport))
        add("pairs, holdfast", "/s", column(runs["ours"], "per_second"))
        add("pairs, " + name, "/s", column(runs["other"], "per_second"))
        add("holdfast : %s" % name, "x", ratios(runs["ours"], runs["other"], "per_second"))


def echo(stage, daemon):
    path = os.path.join(stage.place.path, "echo")
    server = stage.place.run(program("bare"), path, "echo")
    server.output.wait("ready")
    stage.table.title("PING, beside an echo on the same event loop")
    for clients in (1, CLIENTS):
        runs = stage.in_turns(ours=lambda s, n=clients: stage.measured("ping", n, s, [daemon.socket], [daemon]),
                              echo=lambda s, n=clients: stage.load("ping", n, s, path, watched=[server]))
        add = stage.table.add
        add("requests, holdfast, %d client%s" % (clients, "s"[:clients > 1]), "/s", column(runs["ours"], "per_second"))
        add("requests, echo, %d client%s" % (clients, "s"[:clients > 1]), "/s", column(runs["echo"], "per_second"))
        add("holdfast : echo", "x", ratios(runs["ours"], runs["echo"], "per_second"))
        add("CPU of a request, holdfast", "us", column(runs["ours"], "daemon_us"))
        add("CPU of a request, echo", "us", [run["used_us"][0] for run in runs["echo"]])
    server.kill()


class Postgres:
    """A private server; as root it runs as the user postgres, since it refuses to run as root."""

    def __init__(self, stage, programs):
        self.stage = stage
        self.programs = programs
        self.prefix = []
        self.folder = os.path.join(stage.place.path, "postgres")
        os.mkdir(self.folder)
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            os.chmod(stage.place.path, 0o711)
            self.prefix = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        data = os.path.join(self.folder, "data")
        self.run(programs["initdb"], "-A", "trust", "-U", "bench", "-D", data)
        self.server = stage.place.run(*self.prefix, programs["postgres"], "-D", data, "-k", self.folder, "-c",
                                      "listen_addresses=", "-c", "max_connections=200", "-c", "fsync=off")
        self.server.output.wait("ready to accept connections")

    def run(self, *words):
        process = self.stage.place.run(*self.prefix, *words)
        if process.wait() != 0:
            raise AssertionError("%s:\n%s" % (words[0], process.output.tail()))
        return process.output.text()

    def pairs(self, key):
        """key: an expression of pgbench."""
        script = os.path.join(self.folder, "lock.sql")
        with open(script, "w", encoding="ascii") as stream:
            stream.write(ADVISORY % (key, key))
        text = self.run(self.programs["pgbench"], "-n", "-h", self.folder, "-U", "bench", "-M", "prepared", "-c",
                        str(CLIENTS), "-j", "1", "-T", "1", "-f", script, "postgres")
        return {"per_second": float(re.search(r"tps = ([\d.]+)", text).group(1))}

    def stop(self):
        self.server.signal(2)
        self.server.wait()


def postgres(stage, daemon):
    programs = {name: find(name, "/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin")
                for name in ("initdb", "postgres", "pgbench")}
    missing = [name for name, path in programs.items() if path is None]
    if missing:
        stage.table.title("PostgreSQL")
        stage.table.note("skipped: %s is not installed" % " and ".join(missing))
        return
    server = Postgres(stage, programs)
    compare(stage, daemon, "Unix", "PostgreSQL advisory locks", lambda _: server.pairs("1"),
            lambda _: server.pairs(":client_id"))
    server.stop()


def slock(stage, daemon):
    path = find("slock", os.path.expanduser("~/go/bin"))
    if path is None:
        stage.table.title("slock")
        stage.table.note("skipped: it is not installed")
        return
    folder = os.path.join(stage.place.path, "slock")
    os.mkdir(folder)
    port = harness.free_port()
    server = stage.place.run(path, "--port", str(port), "--data_dir", folder, "--log_level", "ERROR")
    at = "127.0.0.1:%d" % port
    harness.until("slock listens", lambda: listens(port))
    compare(stage, daemon, "TCP", "slock", lambda seconds: stage.load("slock", CLIENTS, seconds, at),
            lambda seconds: stage.load("slock", CLIENTS, seconds, at, names=CLIENTS))
    server.kill()


def listens(port):
    with harness.socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def measure(stage):
    daemon = stage.daemon("others")
    echo(stage, daemon)
    postgres(stage, daemon)
    slock(stage, daemon)
    daemon.done()
