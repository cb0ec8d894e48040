"""Other servers that hand out locks, where they are installed, and the ceiling: an echo on the same event loop.

etcd and ZooKeeper are asked through their own libraries, PostgreSQL and MariaDB by the load programs that come with them,
slock as holdfast is: all from one process with 64 connections. The programs of the others have threads, and ours has one
event loop, so that orders of size compare. None waits for a disk. PostgreSQL syncs nothing, a lock of MariaDB is in memory, and
slock, etcd and ZooKeeper have their files there.

Debian's packages: postgresql, mariadb-server, etcd-server; for etcd also golang, for ZooKeeper default-jdk-headless and maven,
which fetch the libraries (tests/interop/rivals).
"""

import contextlib
import glob
import os
import pwd
import re
import shutil
import tempfile
from functools import partial

import harness
from genuine import Library, interop
from stage import column, placed, program, ratios, where
from table import Goal

CLIENTS = 64
ADVISORY = "SELECT pg_advisory_lock(%s);\nSELECT pg_advisory_unlock(%s);\n"
GET_LOCK = "SELECT GET_LOCK(%s, 60);SELECT RELEASE_LOCK(%s)"
WARM_MS = 2000  # all connect, and a JVM gets warm


def find(name, *folders):
    """A program in PATH, or in folders that seldom are there."""
    path = shutil.which(name) or next((path for folder in folders for path in glob.glob(os.path.join(folder, name))), None)
    if path is None:
        raise harness.Skip("%s is not installed" % name)
    return path


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


class Database:
    """A private server in a folder of its own; as root it runs as this user, since databases refuse to run as root."""

    def __init__(self, stage, user):
        self.stage = stage
        self.prefix = []
        self.folder = os.path.join(stage.place.path, user)
        self.data = os.path.join(self.folder, "data")
        os.mkdir(self.folder)
        if os.geteuid() == 0:
            try:
                entry = pwd.getpwnam(user)
            except KeyError:
                raise harness.Skip("there is no user %s" % user) from None
            os.chown(self.folder, entry.pw_uid, entry.pw_gid)
            os.chmod(stage.place.path, 0o711)
            self.prefix = ["setpriv", "--reuid=" + user, "--regid=" + user, "--clear-groups"]

    def start(self, ready, *words):
        """ready: what it says when it can be asked."""
        self.server = self.stage.place.run(*self.prefix, *words)
        self.server.output.wait(ready)

    def run(self, *words):
        process = self.stage.place.run(*self.prefix, *words)
        if process.wait() != 0:
            raise AssertionError("%s:\n%s" % (words[0], process.output.tail()))
        return process.output.text()

    def stop(self, number):
        self.server.signal(number)
        self.server.wait()


class Postgres(Database):
    def __init__(self, stage, initdb, server, pgbench):
        super().__init__(stage, "postgres")
        self.pgbench = pgbench
        self.run(initdb, "-A", "trust", "-U", "bench", "-D", self.data)
        self.start("ready to accept connections", server, "-D", self.data, "-k", self.folder, "-c", "listen_addresses=",
                   "-c", "max_connections=200", "-c", "fsync=off")

    def pairs(self, key):
        """key: an expression of pgbench."""
        script = os.path.join(self.folder, "lock.sql")
        with open(script, "w", encoding="ascii") as stream:
            stream.write(ADVISORY % (key, key))
        text = self.run(self.pgbench, "-n", "-h", self.folder, "-U", "bench", "-M", "prepared", "-c",
                        str(CLIENTS), "-j", "1", "-T", "1", "-f", script, "postgres")
        return {"per_second": float(re.search(r"tps = ([\d.]+)", text).group(1))}


def postgres(stage, daemon):
    server = Postgres(stage, *(find(name, "/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin")
                               for name in ("initdb", "postgres", "pgbench")))
    compare(stage, daemon, "Unix", "PostgreSQL advisory locks", lambda _: server.pairs("1"),
            lambda _: server.pairs(":client_id"))
    server.stop(2)


class MariaDB(Database):
    def __init__(self, stage, install, server, slap):
        super().__init__(stage, "mysql")
        self.slap = slap
        self.socket = os.path.join(self.folder, "socket")
        self.each = 1  # pairs of a client in a run, so that it takes as long as it should
        self.run(install, "--no-defaults", "--datadir=" + self.data, "--auth-root-authentication-method=normal",
                 "--skip-test-db")
        self.start("ready for connections", server, "--no-defaults", "--datadir=" + self.data, "--socket=" + self.socket,
                   "--pid-file=" + os.path.join(self.folder, "pid"), "--skip-networking", "--max-connections=200")

    def pairs(self, key, seconds):
        """key: an expression of SQL. The program counts queries, not seconds, and ends well even if none could be asked."""
        while True:
            text = self.run(self.slap, "--no-defaults", "--socket=" + self.socket, "--user=root", "--no-drop",
                            "--create-schema=information_schema", "--delimiter=;", "--query=" + GET_LOCK % (key, key),
                            "--concurrency=%d" % CLIENTS, "--number-of-queries=%d" % (2 * CLIENTS * self.each))
            if re.search(r"error|cannot", text, re.IGNORECASE):
                raise AssertionError("%s:\n%s" % (self.slap, text))
            took = float(re.search(r"Average number of seconds to run all queries: ([\d.]+)", text).group(1))
            pairs = CLIENTS * self.each
            self.each = max(1, round(self.each * seconds / max(took, 0.001)))
            if took >= seconds / 2:
                return {"per_second": pairs / took}


def mariadb(stage, daemon):
    server = MariaDB(stage, *(find(name, "/usr/sbin") for name in ("mariadb-install-db", "mariadbd", "mariadb-slap")))
    compare(stage, daemon, "Unix", "MariaDB GET_LOCK", lambda seconds: server.pairs("'one'", seconds),
            lambda seconds: server.pairs("CONCAT(CONNECTION_ID())", seconds))
    server.stop(15)


@contextlib.contextmanager
def serve(stage, name, command):
    """A server on loopback: it, and its port. command: what starts it, of the port and a folder in memory for its data."""
    port = harness.free_port()
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-", dir="/dev/shm") as folder:
        server = stage.place.run(*command(port, folder))
        try:
            harness.until("%s listens" % name, lambda: listens(port))
            yield server, port
        finally:
            server.kill()


def listens(port):
    with harness.socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def ceiling(stage, daemon, apart, other, least):
    """slock beside a bare loop. Two wake-ups are in each hand-off of any server, and take most of its time if they go from one
    processor to another; which way they go is the kernel's choice, so it is made for it, for all three. How many times
    as much as slock can be had is what the loop does, 0.9 to 2.3 on two processors of a virtual machine. least: the share of
    it that holdfast should have."""
    def ours(seconds):
        with placed(daemon.process, apart):
            return stage.measured("handoff", CLIENTS, seconds, [where(daemon, "TCP")], [daemon])

    runs = stage.in_turns(ours=ours, bare=lambda seconds: stage.bare(CLIENTS, seconds, "TCP", apart), other=other)
    add = stage.table.add
    add("pairs, holdfast", "/s", column(runs["ours"], "per_second"))
    add("pairs, slock", "/s", column(runs["other"], "per_second"))
    add("pairs, bare loop", "/s", column(runs["bare"], "per_second"))
    add("holdfast : slock", "x", ratios(runs["ours"], runs["other"], "per_second"))
    add("bare loop : slock", "x", ratios(runs["bare"], runs["other"], "per_second"))
    add("holdfast : slock, of what the bare loop has", "x", ratios(runs["ours"], runs["bare"], "per_second"),
        Goal("hand-off over TCP against a bare loop" + ("" if apart else " on one processor"), least=least))


def slock(stage, daemon):
    path = find("slock", os.path.expanduser("~/go/bin"))
    with serve(stage, "slock", lambda port, folder: (path, "--port", str(port), "--data_dir", folder, "--log_level",
                                                     "ERROR")) as (server, port):
        at = "127.0.0.1:%d" % port

        def shared(seconds, apart=None):
            with placed(server, apart):
                return stage.load("slock", CLIENTS, seconds, at)
        compare(stage, daemon, "TCP", "slock", shared,
                lambda seconds: stage.load("slock", CLIENTS, seconds, at, names=CLIENTS))
        for apart, words, least in ((True, "server and clients each on a processor", 0.9),
                                    (False, "server and clients sharing a processor", 0.85)):
            stage.table.title("the same, one lock; " + words)
            ceiling(stage, daemon, apart, partial(shared, apart=apart), least)


def contend(stage, daemon, name, command, port):
    """The server is at this port. command: starts a program with its library (tests/interop/rivals/run)."""
    library = Library(stage, command, port)

    def pairs(form):
        library.contend(form, WARM_MS)
        return lambda seconds: {"per_second": library.contend(form, int(seconds * 1000))[1]}
    compare(stage, daemon, "TCP", name, pairs("own"), pairs("each"))
    library.process.kill()


def etcd(stage, daemon):
    path = find("etcd")
    program_of_it = interop().ELSEWHERE["etcd"]()
    peers = "http://127.0.0.1:%d" % harness.free_port()

    def command(port, folder):
        clients = "http://127.0.0.1:%d" % port
        return (path, "--data-dir", folder, "--listen-client-urls", clients, "--advertise-client-urls", clients,
                "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", "default=" + peers,
                "--log-level", "error")
    with serve(stage, "etcd", command) as (_, port):
        contend(stage, daemon, "etcd", program_of_it, port)


def zookeeper(stage, daemon):
    """Its server comes with Curator, which is the library."""
    java = interop().ELSEWHERE["curator"]()

    def command(port, folder):
        return (*java[:-1], "-Dzookeeper.admin.enableServer=false",
                "org.apache.zookeeper.server.ZooKeeperServerMain", str(port), folder, "2000", "0")  # 0: all connections
    with serve(stage, "ZooKeeper", command) as (_, port):
        contend(stage, daemon, "ZooKeeper by Curator", java, port)


def measure(stage):
    daemon = stage.daemon("others")
    echo(stage, daemon)
    for name, other in (("PostgreSQL", postgres), ("MariaDB", mariadb), ("slock", slock), ("etcd", etcd),
                        ("ZooKeeper", zookeeper)):
        try:
            other(stage, daemon)
        except harness.Skip as why:
            stage.table.title(name)
            stage.table.note("skipped: %s" % why)
    daemon.done()
