#!/usr/bin/env python3
"""A master with two replicas that three sentinels fail over: never two holders, and work goes on at the new one."""

import os
import re
import shutil
import signal

import harness
import liar
import proxy
import resp
from harness import BRISK, boottime, comment, expect, expect_between, expect_code, until
from scene import Scene

TOKEN_MAX = 2 ** 53
CONFIG = BRISK + "restart-guard: auto\n"


class Sentinel:
    """One sentinel process, watching one master."""

    def __init__(self, place, name, port, master="mymaster", quorum=2, down_ms=8000, more=""):
        self.port = harness.free_port()
        folder = os.path.join(place.path, name)
        os.mkdir(folder)
        self.file = os.path.join(folder, "sentinel.conf")
        with open(self.file, "w", encoding="ascii") as stream:
            stream.write("port %d\nbind 127.0.0.1\nprotected-mode no\ndir %s\n" % (self.port, folder))
            stream.write("sentinel monitor %s 127.0.0.1 %d %d\n" % (master, port, quorum))
            stream.write("sentinel down-after-milliseconds %s %d\n" % (master, down_ms))
            stream.write("sentinel failover-timeout %s 20000\n" % master)
            stream.write(more)
        self.place = place
        self.start()

    def start(self):
        program = os.environ.get("HOLDFAST_REDIS") or shutil.which("redis-server") or shutil.which("valkey-server")
        if program is None:
            raise harness.Skip("neither redis-server nor valkey-server is here")
        self.process = self.place.run(program, self.file, "--sentinel")
        self.process.output.wait(r"\+monitor")

    def __call__(self, *words):
        with resp.Client(("127.0.0.1", self.port)) as client:
            return client(*words)

    def master(self, name="mymaster"):
        answer = self("SENTINEL", "MASTER", name)
        return dict(zip(answer[::2], answer[1::2]))


class Group:
    """A master, two replicas and three sentinels. direct: where the master is for those who go around the way.
    heir: the only replica that may become the master."""

    def __init__(self, place, replicas=2, way=False, heir=None):
        self.place = place
        self.ports = {}
        self.servers = []
        self.add("r0")
        self.direct = self.port = self.ports["r0"]
        self.way = None
        if way:
            self.way = proxy.Proxy(self.servers[0].socket)
            place.ends.append(self.way.close)
            self.port = int(self.way.url.rsplit(":", 1)[1])
        for n in range(1, replicas + 1):
            self.add("r%d" % n, "--replicaof", "127.0.0.1 %d" % self.port,
                     "--replica-priority", "100" if heir in (None, n) else "0")
        self.synced(replicas)
        # The first one notices first, and alone: sentinels that begin at the same time compete for a while.
        self.sentinels = [Sentinel(place, "s0", self.port, quorum=1, down_ms=1500),
                          Sentinel(place, "s1", self.port), Sentinel(place, "s2", self.port)]
        for sentinel in self.sentinels:
            until("the sentinels know of each other", lambda one=sentinel: (
                int(one.master()["num-slaves"]) >= replicas and int(one.master()["num-other-sentinels"]) >= 2))

    def add(self, name, *options):
        port = harness.free_port()
        self.ports[name] = port
        self.servers.append(self.place.redis(name, options=[
            "--port", str(port), "--bind", "127.0.0.1", "--repl-diskless-sync-delay", "0",
            "--replica-announce-ip", "127.0.0.1", "--replica-announce-port", str(port), *options]))

    def synced(self, count):
        """Waits until so many replicas acknowledge promptly: one that was just synchronised does not at first."""
        with resp.Client(self.servers[0].socket) as client:
            for _ in range(3):
                expect(client("SET", "begun", "1"), "OK")
                while client("WAIT", count, 10000) < count:
                    pass

    def config(self, ack="yes", sentinels=None, master="mymaster"):
        return "masters:\n  - sentinel: { name: %s, sentinels: [%s], replicas-ack: %s }\n" % (
            master, ", ".join("127.0.0.1:%d" % one.port for one in sentinels or self.sentinels), ack)

    def daemon(self, name="d1", config=CONFIG, ack="yes", **options):
        return self.place.daemon(name, config=self.config(ack, **options) + config)

    def failed_over(self, timeout=harness.PATIENCE):
        """Waits until the sentinels agree on another master; the server that it is."""
        def agreed():
            ports = {sentinel.master()["port"] for sentinel in self.sentinels}
            return ports.pop() if len(ports) == 1 and ports != {str(self.port)} else None

        port = int(until("the sentinels agree on another master", agreed, timeout))
        return next(server for server in self.servers if self.ports[os.path.basename(server.folder)] == port)


class Placed:
    """The place of a Scene whose daemons find their master through Sentinel."""

    def __init__(self, group, more=""):
        self.group = group
        self.more = more

    def __getattr__(self, name):
        return getattr(self.group.place, name)

    def daemon(self, name, master, config):
        return self.group.daemon(name, config=config + self.more)


def test_found(place):
    """the master is found, shown, and a lease counts when a replica has it"""
    group = Group(place)
    daemon = group.daemon().admitted()
    info = daemon.info()
    expect(info["master0_address"], "127.0.0.1:%d" % group.port)
    expect(info["master0_sentinel"], "mymaster")
    expect(info["master0_replicas"], "2")
    expect(info["master0_replicas_needed"], "1")
    expect(info["master0_replicated"], "1")
    client = daemon.client()
    for n in range(20):
        name = "a%d" % n
        expect_between(client("LOCK", name, "WAIT", 0), 1, TOKEN_MAX)
        kept = [server("EXISTS", "holdfast:{%s}" % name) for server in group.servers]
        expect_between(sum(kept), 2, 3, "servers that have the lease")
    daemon.output.wait(r"sentinel\.found.* replicas=2 ")


def test_url_and_name(place):
    """one daemon finds the master through Sentinel, one by its URL: the second is refused, and takes over when the first has gone"""
    group = Group(place)
    one = group.daemon("d1").admitted()
    held = one.client()
    token = held("LOCK", "a", "WAIT", 0)
    expect_between(token, 1, TOKEN_MAX)
    two = place.daemon("d2", master=group.servers[0], config=CONFIG + "masters-follow: no\n")
    two.output.wait(r"master\.refused.*another set")
    expect_code(two.client()("LOCK", "b", "WAIT", 0), "NOMASTER")
    expect_between(held("CHECK", "a", "TOKEN", token), 1, 2000)
    one.kill()
    expect_between(two.client()("LOCK", "a", "WAIT", 45000), token + 1, TOKEN_MAX, "its token")
    expect(two.info()["masters_set"].split(" ")[0], "2", "the generation")


@harness.busy
def test_failover(place):
    """the master is killed under load: nobody holds together, and work goes on at the new one after its guard"""
    group = Group(place)
    scene = Scene(Placed(group), redis=group.servers[0])
    marks = scene.marks()
    killed = boottime()
    group.servers[0].kill()
    new = group.failed_over()
    comment("failed over after %.1f s" % (boottime() - killed))
    scene.admitted(marks)
    comment("admitted after %.1f s" % (boottime() - killed))
    scene.progress(100)
    for daemon in scene.daemons:
        expect(daemon.info()["master0_address"], "127.0.0.1:%d" % group.ports[os.path.basename(new.folder)])
    scene.finish(kept=False)


@harness.busy
def test_asked_failover(place):
    """an operator's SENTINEL FAILOVER under load"""
    group = Group(place)
    scene = Scene(Placed(group), redis=group.servers[0])
    marks = scene.marks()
    expect(group.sentinels[0]("SENTINEL", "FAILOVER", "mymaster"), "OK")
    group.failed_over()
    scene.admitted(marks)
    scene.progress(100)
    scene.finish(kept=False)


@harness.busy
def test_lagging(place):
    """the master is killed under load and a replica that lags becomes it: what it never heard of is not given twice"""
    group = Group(place, way=True, heir=1)
    scene = Scene(Placed(group, "rules:\n  - { match: long, lease: 12s }\n"), redis=group.servers[0])
    master, heir = group.servers[:2]
    marks = scene.marks()
    link = re.search(r"laddr=127\.0\.0\.1:(\d+)", heir("CLIENT", "LIST", "TYPE", "master")).group(1)
    expect(group.way.hold_one(int(link)), 1, "the heir's connection to the master")
    holder, waiter = [daemon.client() for daemon in scene.daemons]
    holder("SESSION", "ONLOSS", "NEXT")
    token = holder("LOCK", "long", "WAIT", 20000)
    expect_between(token, 1, TOKEN_MAX)
    scene.progress(100)
    expect((master("EXISTS", "holdfast:{long}"), heir("EXISTS", "holdfast:{long}")), (1, 0), "it lags")
    waiter.send("LOCK", "long", "WAIT", 60000)
    scene.daemons[1].queued("long")
    master.kill()
    group.way.reset()
    expect(group.failed_over() is heir, True, "the heir is the master")
    scene.admitted(marks)
    expect_between(holder("CHECK", "long"), 1, 12000, "the validity of what the heir never heard of")
    expect(waiter.silent(0), True, "the waiter waits")
    scene.progress(100)
    expect(holder("UNLOCK", "long", "TOKEN", token), 0)
    expect_between(waiter.reply(60), token + 1, TOKEN_MAX)
    scene.finish(kept=False)


def test_kept(place):
    """a holder with a longer lease keeps its lock through the failover, and nobody else gets it meanwhile"""
    group = Group(place)
    config = "lease: 9s\nclock-margin: 200ms\nrestart-guard: auto\n"
    daemon, other = group.daemon("d1", config=config), group.daemon("d2", config=config)
    daemon.admitted()
    other.admitted()
    client = daemon.client()
    client("SESSION", "ONLOSS", "NEXT")
    token = client("LOCK", "a", "WAIT", 0)
    expect_between(token, 1, TOKEN_MAX)
    mark = daemon.output.mark()
    group.servers[0].kill()
    daemon.output.wait(r"lease\.reclaimed name=a ", mark)
    expect_between(client("CHECK", "a"), 1, 9000)
    answer = other.client()("LOCK", "a", "WAIT", 0)
    expect(isinstance(answer, resp.Error) and answer.code in ("GUARD", "NOMASTER"), True, repr(answer))
    waiter = other.client()
    waiter.send("LOCK", "a", "WAIT", 60000)
    expect_code(daemon.client()("LOCK", "b", "WAIT", 0), "GUARD")
    daemon.output.wait(r"master\.admitted", mark)
    expect_between(client("CHECK", "a"), 1, 9000)
    expect(client("UNLOCK", "a", "TOKEN", token), 0)
    expect_between(waiter.reply(), token + 1, TOKEN_MAX)


def expect_unreplicated(answer):
    """The master's own error at first; once no HELLO has been acknowledged for too long, it is asked no more."""
    expect(isinstance(answer, resp.Error) and answer.split()[0] in ("MASTERERR", "NOMASTER"), True, repr(answer))
    expect("NOREPLICAS" in answer, True, answer)


def test_replicas_away(place):
    """with both replicas stopped nothing new is granted and the refusal says why; with one of them back it is"""
    group = Group(place)
    daemon = group.daemon().admitted()
    client = daemon.client()
    for sentinel in group.sentinels:
        sentinel.process.stop()  # what they would do about it is not the matter here
    for server in group.servers[1:]:
        server.process.stop()
    answer = client("LOCK", "a", "WAIT", 1500)
    expect(isinstance(answer, resp.Error), True, repr(answer))
    answer = client("LOCK", "b", "WAIT", 0)
    expect_unreplicated(answer)
    expect("NOREPLICAS 0 of 2 replicas acknowledge, at least 1 must" in answer, True, answer)
    daemon.output.wait(r"master\.unreplicated.*NOREPLICAS 0 of 2")
    expect(daemon.info()["master0_replicated"], "0")
    waiter = daemon.client()
    waiter.send("LOCK", "c", "WAIT", 20000)
    mark = daemon.output.mark()
    group.servers[1].process.cont()
    daemon.output.wait(r"master\.replicated", mark)
    expect_between(waiter.reply(), 1, TOKEN_MAX)
    expect(daemon.info()["master0_replicated"], "1")


def cut_off(place, ack):
    """
    A daemon stays with the old master, both cut off from replicas, sentinels and the other daemon. When the other
    one has the lock, the ms that the first one still believes to have it.
    """
    group = Group(place, way=True)
    # It believes a sentinel of its own, which sees the master and nothing else.
    lonely = Sentinel(place, "lonely", group.direct, master="mine")
    until("it knows the replicas", lambda: int(lonely.master("mine")["num-slaves"]) >= 2)
    config = CONFIG
    first = group.daemon("d1", config=config, ack=ack, sentinels=[lonely], master="mine")
    second = group.daemon("d2", config=config, ack=ack)
    one, two = first.admitted().client(), second.admitted().client()
    one("SESSION", "ONLOSS", "NEXT")
    expect_between(one("LOCK", "a", "WAIT", 20000), 1, TOKEN_MAX)
    group.way.refusing = True
    group.way.reset()
    group.failed_over()
    expect_between(two("LOCK", "a", "WAIT", 60000), 1, TOKEN_MAX)
    left = one("CHECK", "a")
    expect_between(two("CHECK", "a"), 1, 2000)
    return left, first


def test_cut_off(place):
    """a daemon that is cut off together with the old master loses its lock before another one has it"""
    left, first = cut_off(place, "yes")
    expect_code(left, "LOST")
    first.output.wait(r"lock\.lost name=a ")
    answer = first.client()("LOCK", "new", "WAIT", 0)
    expect_unreplicated(answer)


def test_cut_off_without_ack(place):
    """without replicas-ack the same run shows two holders"""
    left, _ = cut_off(place, "no")
    expect_between(left, 1, 2000, "ms that the first holder may still rely on")


def test_login(place):
    """the sentinels and the master ask for a login each, and the rights that the manual names are enough"""
    redis = place.redis("r0", options=["--port", str(harness.free_port()), "--bind", "127.0.0.1"])
    port = int(redis("CONFIG", "GET", "port")[1])
    expect(redis("ACL", "SETUSER", "holdfast", "on", ">mine", "~*", "&*", "+@all"), "OK")
    sentinel = Sentinel(place, "s0", port, quorum=1, more=(
        "user watcher on >theirs resetchannels &+switch-master -@all "
        "+sentinel|master +sentinel|replicas +subscribe +unsubscribe +ping\n"))
    daemon = place.daemon(environment={"THEIRS": "theirs", "HOLDFAST_MASTER_PASSWORD": "mine"}, config=(
        "masters:\n  - sentinel: { name: mymaster, sentinels: [127.0.0.1:%d], user: watcher, password-env: THEIRS }\n"
        "    user: holdfast\n    database: 2\n" % sentinel.port) + CONFIG).admitted()
    expect("sentinel.no_push" in daemon.output.text(), False, "it may subscribe")
    expect("user=watcher" in sentinel("CLIENT", "LIST"), True)
    expect("db=2 " in redis("CLIENT", "LIST") and "user=holdfast" in redis("CLIENT", "LIST"), True)
    wrong = place.daemon("d2", environment={"THEIRS": "wrong"}, config=(
        "masters:\n  - sentinel: { name: mymaster, sentinels: [127.0.0.1:%d], user: watcher, password-env: THEIRS }\n"
        % sentinel.port) + CONFIG)
    wrong.output.wait(r"sentinel\.lost .*WRONGPASS")


def test_password_of_the_sentinels(place):
    """the first line of the file is the password of the sentinels, and a reload takes another one, whichever side is first"""
    secret = os.path.join(place.path, "secret")

    def write(text):
        with open(secret, "w", encoding="ascii") as stream:
            stream.write(text)

    redis = place.redis("r0", options=["--port", str(harness.free_port()), "--bind", "127.0.0.1"])
    sentinel = Sentinel(place, "s0", int(redis("CONFIG", "GET", "port")[1]), quorum=1, more=(
        "user watcher on >first resetchannels &+switch-master -@all "
        "+sentinel|master +sentinel|replicas +subscribe +unsubscribe +ping\n"))
    # Users have two passwords in two lines; of the sentinels' the second one is none.
    write("first\nnever\n")
    daemon = place.daemon(config=(
        "masters:\n  - sentinel: { name: mymaster, sentinels: [127.0.0.1:%d], user: watcher, password-file: %s }\n"
        % (sentinel.port, secret)) + CONFIG).admitted()
    holder = daemon.client()
    token = holder("LOCK", "a")
    expect_between(token, 1, TOKEN_MAX)

    def ids():
        return set(re.findall(r"^id=(\d+) .* user=watcher", sentinel("CLIENT", "LIST"), re.M))

    def come_back():
        """The sentinel ends all connections of the user; another one stays."""
        was = harness.until("it is connected", ids)
        for client in was:
            sentinel("CLIENT", "KILL", "ID", client)
        harness.until("it is connected again", lambda: ids() and not ids() & was)

    come_back()
    # The file comes first, the sentinel later.
    write("second\nnever\n")
    expect("password" in daemon.client()("RELOAD"), True)
    come_back()
    expect(sentinel("ACL", "SETUSER", "watcher", ">second", "<first"), "OK")
    come_back()
    # The other way round.
    expect(sentinel("ACL", "SETUSER", "watcher", ">third", "<second"), "OK")
    write("third")
    expect("needs a restart" in daemon.client()("RELOAD"), False)
    come_back()
    expect_between(holder("CHECK", "a"), 1, harness.LEASE_MS)
    expect(holder("UNLOCK", "a", "TOKEN", token), 0)
    for word in ("first", "second", "third", "never"):
        expect(word in daemon.output.text(), False, "a password in the log")
    # A file without a password is no way to lose it.
    write("\nthird\n")
    answer = str(daemon.client()("RELOAD"))
    expect("password-file" in answer, True, answer)
    come_back()


def test_no_sentinel(place):
    """without any sentinel LOCK says which were asked and why it failed; one is not enough, and the second that comes is"""
    group = Group(place, replicas=1)
    for sentinel in group.sentinels:
        sentinel.process.kill()
    daemon = group.daemon()
    client, waiter = daemon.client(), daemon.client()
    daemon.output.wait(r"sentinel\.lost master_name=mymaster .*connection refused")
    answer = client("LOCK", "a", "WAIT", 0)
    expect_code(answer, "NOMASTER")
    expect("no sentinel knows where mymaster is: 127.0.0.1:%d" % group.sentinels[0].port in answer, True, answer)
    group.sentinels[2].start()
    daemon.output.wait(r"too few sentinels agree where mymaster is \(2 of 3 have to\).* names 127\.0\.0\.1:%d" % group.port)
    expect_code(client("LOCK", "a", "WAIT", 0), "NOMASTER")
    waiter.send("LOCK", "a", "WAIT", 60000)
    group.sentinels[1].start()
    expect_between(waiter.reply(), 1, TOKEN_MAX)


def test_liar(place):
    """one of three sentinels that lies is not followed: no password, no lease; a failover that the two others tell is"""
    group = Group(place, replicas=1)
    for server in group.servers:
        expect(server("ACL", "SETUSER", "hf", "on", ">mine", "~*", "&*", "+@all"), "OK")
    evil = liar.TcpServer(place)
    liars = [*group.sentinels[1:], liar.LyingSentinel(place, evil.port)]
    lines = group.config(sentinels=liars) + "    user: hf\n"
    daemon = place.daemon("d1", config=lines + CONFIG, environment={"HOLDFAST_MASTER_PASSWORD": "mine"}).admitted()
    expect(daemon.info()["master0_address"], "127.0.0.1:%d" % group.port)
    client = daemon.client()
    expect_between(client("LOCK", "a", "WAIT", 0), 1, TOKEN_MAX)
    # A server without memory would grant the name to a second holder.
    empty = place.redis("empty", options=["--port", str(harness.free_port()), "--bind", "127.0.0.1"])
    expect(empty("ACL", "SETUSER", "hf", "on", ">mine", "~*", "&*", "+@all"), "OK")
    with liars[2].turn:
        liars[2].names = int(empty("CONFIG", "GET", "port")[1])
        asked = len(liars[2].seen)
    with resp.Client(("127.0.0.1", liars[1].port)) as sentinel:
        expect(sentinel("SENTINEL", "FAILOVER", "mymaster"), "OK")
    server = group.failed_over()
    port = group.ports[os.path.basename(server.folder)]
    until("the daemon follows", lambda: daemon.info()["master0_address"] == "127.0.0.1:%d" % port)
    until("the liar was asked again", lambda: len(liars[2].seen) > asked + 2)
    expect(daemon.info()["master0_address"], "127.0.0.1:%d" % port)
    expect(evil.passwords(), [])
    expect(empty("KEYS", "*"), [])
    expect([entry for entry in empty("CLIENT", "LIST").splitlines() if "user=hf" in entry], [])


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    harness.main(globals())
