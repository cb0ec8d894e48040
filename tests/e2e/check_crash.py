#!/usr/bin/env python3
"""A crash that clients with a grace and bound ones survive: the daemon is killed while they are at work, and started again.

  CRASHES=100 tests/e2e/check_crash.py [TEST...]     so many kills in a row; without it a few
"""

import ctypes
import glob
import errno
import os
import resource
import signal

import errands
import harness
import history
import nemesis_client
import nemesis_crash
import nemesis_crowd
import resp
import tool
from errands import LONG_MS, granted, held
from harness import boottime, expect, expect_between, expect_code, expect_not_before, until
from manager import Manager
from nemesis_roles import Bound, Comer, role
from returning import CrashStage
from scene import pause

CRASHES = int(os.environ.get("CRASHES", "3"))
LEASE, MARGIN = 8.0, 0.2
CONFIG = """lease: %ds
clock-margin: %dms
restart-guard: auto
rules:
  - { match: 'redisson/*', interop: redisson }
  - { match: 'string/*', interop: string, key: 'keys:%%' }
""" % (LEASE, MARGIN * 1000)
BRISK = harness.BRISK


# --- what else there is than in errands.py ------------------------------------------------------------------------------


def bundled(stage):
    """Several names held by an MLOCK."""
    client, names = stage.client(), [stage.name("bundle") for _ in range(3)]
    tokens = client("MLOCK", 3, *names)
    more = True
    while more:
        more = yield
        for name, token in zip(names, tokens):
            held(client, name, token)
    expect(client("MUNLOCK", 3, *names), 3)


def downgraded(stage):
    """Exclusive before, shared now: readers come in beside it, a writer does not."""
    client, other, name = stage.client(), stage.client(), stage.name("down")
    token = granted(client("LOCK", name))
    expect(client("DOWNGRADE", name), token)
    while (yield):
        held(client, name, token)
        granted(other("LOCK", name, "SHARED"))
        expect(other("UNLOCK", name), 0)
        expect(other("LOCK", name, "WAIT", 0), None)
    expect(client("UNLOCK", name), 0)


def interop(stage, what):
    client, name = stage.client(), stage.name(what)
    token = granted(client("LOCK", name))
    while (yield):
        held(client, name, token)
    expect(client("UNLOCK", name), 0)
    expect_between(client("LOCK", name, "WAIT", LONG_MS), token + 1, 2 ** 53)


def redisson(stage):
    """At a key that Redisson would lock, too."""
    return interop(stage, "redisson")


def string(stage):
    """At a key that redsync, node-redlock or redis-py would lock, too."""
    return interop(stage, "string")


def freed(stage):
    """What was given back before the crash is free after it, and tokens grow: at the latest when the lease is over."""
    client, name, last = stage.client(), stage.name("freed"), 0
    more = True
    while more:
        for _ in range(3):
            token = client("LOCK", name)
            expect_between(token, last + 1, 2 ** 53)
            expect(client("UNLOCK", name), 0)
            last = token
        more = yield


def plain(stage, tcp=False):
    """Without a grace: the end of the connection tells the loss; the name is free at the announced deadline, and not before."""
    more = True
    while more:
        client, name = stage.plain(tcp=tcp), stage.name("plain")
        token = granted(client("LOCK", name, "WAIT", LONG_MS))
        asked = boottime()
        told = asked + client("CHECK", name) / 1000
        more = yield
        expect(client.closed(), True)
        after = stage.client()
        expect_between(after("LOCK", name), token + 1, 2 ** 53)
        expect_not_before(boottime(), told, "the next holder")
        harness.took(boottime() - stage.killed, LEASE + MARGIN + 1, "from the crash until a plain client's name is free")
        expect(after("UNLOCK", name), 0)


def plain_tcp(stage):
    return plain(stage, tcp=True)


# Of errands.py those whose connection need not live. Cursors are of one process.
KINDS = tuple(kind for kind in errands.KINDS if kind not in errands.NEEDS_CONNECTIONS) + (
    bundled, downgraded, redisson, string, freed, plain, plain_tcp)
# A private master forgets latches; the others know only one master.
NEEDS_ONE_MASTER = errands.NEEDS_ONE_MASTER + (redisson, string)


def crash(stage):
    """As a service manager does it that starts a service again at once."""
    stage.daemon.kill()
    stage.killed = boottime()
    stage.daemon.start()
    serve_again(stage)


def serve_again(stage):
    # While a private master is guarded, a WAIT that ends is answered GUARD.
    stage.come_back(lambda: None if stage.daemon.master else stage.daemon.admitted())
    harness.comment("all back %.0f ms after the crash" % ((boottime() - stage.killed) * 1000))
    stage.daemon.admitted()


def stage_of(place, master, config=CONFIG, **options):
    daemon = place.daemon(master=master, tcp=True, config=config, **options).admitted()
    return CrashStage(place, daemon)


def at_work(stage, kinds=KINDS, restart=crash, times=CRASHES):
    errands.work(stage, restart, times, kinds, load=())
    after = stage.daemon.info()
    expect((after["client_protocol_errors"], after["connections_rejected"]), ("0", "0"))


def test_one_master(place):
    """kill -9 and a start, with one master: sessions with a grace and bound ones have all they had, with the same tokens"""
    at_work(stage_of(place, place.redis()))


def test_private_master(place):
    """the same with a private redis-server, which ends with the daemon: leases are reclaimed"""
    at_work(stage_of(place, None), kinds=[kind for kind in KINDS if kind not in NEEDS_ONE_MASTER])


def test_three_masters(place):
    """the same with three masters"""
    config = CONFIG[:CONFIG.index("rules:")]
    stage = stage_of(place, [place.redis("r%d" % n) for n in range(3)], config)
    at_work(stage, kinds=[kind for kind in KINDS if kind not in NEEDS_ONE_MASTER])


def test_service_manager(place):
    """the same under a service manager that keeps descriptors, with hand-overs between the crashes: those at rest go on"""
    daemon = place.idle_daemon(master=place.redis(), tcp=True, config=CONFIG)
    manager = Manager(daemon)
    manager.start()
    stage = CrashStage(place, daemon.admitted())
    stage.lives_on = False
    stage.keeps = True

    def restart(stage):
        errands.hand_over(daemon)
        manager.kill()
        stage.killed = boottime()
        manager.start()
        serve_again(stage)

    at_work(stage, restart=restart, times=CRASHES)
    expect_between(stage.lived_on, 1, 2 ** 31, "connections that lived on")
    harness.comment("%d connections lived on" % stage.lived_on)


# --- crashes where they hurt ----------------------------------------------------------------------------------------


class Survivors:
    """One session with a grace, one bound to a process: each holds a lock. They come back after all that happens."""

    def __init__(self, place, daemon):
        self.daemon = daemon
        self.child = place.run("sleep", "100000")
        self.client = daemon.client()
        self.secret = self.client("SESSION", "GRACE", LONG_MS)
        expect(self.client("SESSION", "ONLOSS", "NEXT"), "OK")
        self.token = granted(self.client("LOCK", "graced", "WAIT", 45000))
        bound = self.bind()
        self.bound = granted(bound("LOCK", "bound", "WAIT", 45000))
        bound.close()

    def bind(self):
        client = self.daemon.client()
        resp.socket.send_fds(client.socket, [b"SESSION BIND\r\n"], [self.child.pidfd])
        expect_between(client.reply(), 0, 1)
        return client

    def resume(self):
        self.client = self.daemon.client()
        expect(self.client("SESSION", "RESUME", self.secret), 1)

    def all_held(self, code=None):
        """Both are held, and the LOCK of another client is answered with this code; without one, that the lock is held."""
        self.resume()
        held(self.client, "graced", self.token)
        held(self.bind(), "bound", self.bound)
        with self.daemon.client() as other:
            for name in ("graced", "bound"):
                answer = other("LOCK", name, "WAIT", 0)
                if code is None:
                    expect(answer, None)
                else:
                    expect_code(answer, code)


def test_again_and_again(place):
    """a daemon that is killed before it has taken over the leases, or while it starts, leaves all to the next one"""
    daemon = place.daemon(master=place.redis(), config="lease: 30s\nclock-margin: 1s\n").admitted()
    survivors = Survivors(place, daemon)
    for number in range(12):
        daemon.kill()
        daemon.spawn()
        # From before it has opened its sockets to after it has taken over the leases.
        pause(number * 0.005)
    daemon.kill()
    daemon.start()
    survivors.all_held()


class Remains:
    """Copies of all descriptors of the daemon: what a child of it has, for as long as it has not begun its program."""

    GETFD = 438  # pidfd_getfd(2)

    def __init__(self, process):
        call = ctypes.CDLL(None, use_errno=True).syscall
        names = os.listdir("/proc/%d/fd" % process.pid)
        self.copies = []
        for name in names:
            copy = call(self.GETFD, process.pidfd, int(name), 0)
            # The daemon has closed some since they were listed.
            if copy >= 0 or ctypes.get_errno() != errno.EBADF:
                expect_between(copy, 0, 2 ** 31, os.strerror(ctypes.get_errno()))
                self.copies.append(copy)

    def close(self):
        for fd in self.copies:
            os.close(fd)


def test_child_that_has_not_begun(place):
    """a child of the killed daemon that has its sockets and locks for a moment more is waited for, and nothing is lost"""
    calm = "lease: 30s\nclock-margin: 1s\n"
    for name, master in (("shared", place.redis()), ("private", None)):
        daemon = place.daemon(name, master=master, tcp=True, config=calm).admitted()
        survivors = Survivors(place, daemon)
        remains = Remains(daemon.process)
        if master is None:
            # A private server ends with its daemon, and the memory of the next one is new: the holds are reclaimed while it is guarded.
            daemon.configure(calm + "restart-guard: auto\n")
        daemon.kill()
        daemon.spawn()
        pause(0.3)
        expect(daemon.process.alive(), True, daemon.output.tail())
        remains.close()
        daemon.await_state("READY=1")
        survivors.all_held(code="GUARD" if master is None else None)
        expect("an earlier daemon of this directory still runs" in daemon.output.text(), False)
        daemon.done()


def test_second_daemon(place):
    """a daemon that is started beside another one, with the same socket, gives up with status 69 and a reason; the first one does not notice"""
    daemon = place.daemon(master=place.redis(), config=BRISK).admitted()
    survivors = Survivors(place, daemon)
    second = place.run(harness.HOLDFASTD, "-c", daemon.file)
    expect(second.wait(), 69)
    second.output.wait("another instance has .*: stop it, or listen elsewhere")
    survivors.all_held()


def test_ledger_is_cut(place):
    """a ledger that an operator empties while it is used ends no daemon and no lock: it is told, and another one is begun"""
    daemon = place.daemon(master=place.redis(), config=BRISK).admitted()
    survivors = Survivors(place, daemon)
    path = daemon.socket[:-len(".sock")] + ".ledger" if daemon.socket.endswith(".sock") else daemon.socket + ".ledger"
    for left in (0, 4096):
        mark = daemon.output.mark()
        os.truncate(path, left)
        daemon.output.wait("ledger.failed .*another program has cut the file", mark)
        survivors.all_held()
        daemon.output.wait("ledger.begun", mark)
    daemon.kill()
    daemon.start()
    survivors.all_held()


def test_bus_error(place):
    """a daemon that ends with SIGBUS says what that is"""
    daemon = place.daemon(master=place.redis(), config=BRISK)
    os.kill(daemon.process.pid, signal.SIGBUS)
    daemon.output.wait("SIGBUS: a file in memory, as the ledger, was cut")
    os.kill(daemon.process.pid, signal.SIGBUS)
    expect(daemon.process.wait(), -signal.SIGBUS)


def test_renewed(place):
    """what was taken over is renewed: it lives longer than the lease that was told before the crash"""
    redis = place.redis()
    daemon = place.daemon(master=redis, config=BRISK).admitted()
    survivors = Survivors(place, daemon)
    owner = redis("GET", "holdfast:{graced}")
    daemon.kill()
    daemon.start()
    survivors.resume()
    until("it has another owner", lambda: redis("GET", "holdfast:{graced}") != owner)
    end = boottime() + 3
    while boottime() < end:
        held(survivors.client, "graced", survivors.token)
        pause(0.1)
    survivors.all_held()


def test_away_too_long(place):
    """a daemon that comes back after its leases are over tells the loss; the name went to another daemon meanwhile, not earlier than told"""
    redis = place.redis()
    first, second = [place.daemon(name, master=redis, config=BRISK).admitted() for name in ("d1", "d2")]
    survivors = Survivors(place, first)
    other = second.client()
    other.send("LOCK", "graced")
    second.queued("graced")
    asked = boottime()
    told = asked + survivors.client("CHECK", "graced") / 1000
    first.kill()
    token = granted(other.reply())
    expect_not_before(boottime(), told, "the next holder")
    expect_between(token, survivors.token + 1, 2 ** 53)
    first.start()
    client = first.client()
    expect(client("SESSION", "RESUME", survivors.secret), 0)
    expect(client("LOCK", "graced", "WAIT", 0).startswith("LOST expired"), True)
    expect_code(client("CHECK", "graced"), "LOST")
    expect(client("LOCK", "graced", "WAIT", 0), None)
    held(other, "graced", token)


def test_taken_meanwhile(place):
    """a lease that another daemon got while this one was dead is not taken back: the loss is told"""
    redis = place.redis()
    first, second = [place.daemon(name, master=redis).admitted() for name in ("d1", "d2")]
    survivors = Survivors(place, first)
    first.kill()
    redis("DEL", "holdfast:{graced}")
    other = second.client()
    token = granted(other("LOCK", "graced", "WAIT", 45000))
    expect_between(token, survivors.token + 1, 2 ** 53)
    first.start()
    client = first.client()
    expect_between(client("SESSION", "RESUME", survivors.secret), 0, 1)
    until("the loss is known", lambda: isinstance(client("CHECK", "graced"), resp.Error))
    expect(client("CHECK", "graced").startswith("LOST taken"), True, client("CHECK", "graced"))
    held(other, "graced", token)
    held(survivors.bind(), "bound", survivors.bound)


def test_bound_process_ends_meanwhile(place):
    """a process that ends while the daemon is dead ends its session: the name passes on as soon as the daemon is back"""
    daemon = place.daemon(master=place.redis()).admitted()
    survivors = Survivors(place, daemon)
    daemon.kill()
    survivors.child.kill()
    daemon.start()
    expect_between(daemon.client()("LOCK", "bound", "WAIT", 45000), survivors.bound + 1, 2 ** 53)


def test_grace_ends(place):
    """who does not come back after a crash loses what he had when the grace is over, counted from the new start"""
    daemon = place.daemon(master=place.redis(), config=BRISK).admitted()
    away = daemon.client()
    away("SESSION", "GRACE", 1000)
    token = granted(away("LOCK", "a"))
    daemon.kill()
    before = boottime()
    daemon.start()
    expect_between(daemon.client()("LOCK", "a", "WAIT", 45000), token + 1, 2 ** 53)
    expect_not_before(boottime(), before + 1, "the end of the grace", harness.WHOLE_MS)


def test_goodbye_is_kept(place):
    """a session that said goodbye, gave its grace back or unlocked is not brought back by a crash"""
    daemon = place.daemon(master=place.redis(), config=BRISK).admitted()
    quitter, ungraced, unlocker = (daemon.client() for _ in range(3))
    secrets = [client("SESSION", "GRACE", LONG_MS) for client in (quitter, ungraced, unlocker)]
    for client, name in ((quitter, "q"), (ungraced, "g"), (unlocker, "u")):
        granted(client("LOCK", name))
    expect(quitter("QUIT"), "OK")
    ungraced("SESSION", "GRACE", 0)
    expect(unlocker("UNLOCK", "u"), 0)
    daemon.kill()
    daemon.start()
    client = daemon.client()
    expect_code(client("SESSION", "RESUME", secrets[0]), "ERR")
    expect_code(client("SESSION", "RESUME", secrets[1]), "ERR")
    expect(client("SESSION", "RESUME", secrets[2]), 0)
    for name in ("q", "g", "u"):
        granted(client("LOCK", name, "WAIT", 45000))


def test_script(place):
    """a shell script that locks with --pid never notices, and unlocks in the end"""
    daemon = place.daemon(master=place.redis()).admitted()
    script = place.run("sleep", "100000")
    words = ("--pid", script.pid)
    expect(tool.call(place, daemon, "lock", "a", *words)[0], 0)
    for _ in range(3):
        daemon.kill()
        daemon.start()
        expect(tool.call(place, daemon, "check", "a", *words)[0], 0)
    expect(tool.call(place, daemon, "unlock", "a", *words)[0], 0)
    granted(daemon.client()("LOCK", "a", "WAIT", 45000))


def test_versions(place):
    """a newer version that starts after the crash of an older one, and the other way round: all is kept"""
    daemon = place.idle_daemon(master=place.redis())
    path = errands.copy_of_daemon(place)
    daemon.wrap = ["sh", "-c", "shift; exec %s \"$@\"" % path, "sh"]
    daemon.start().admitted()
    survivors = Survivors(place, daemon)
    mine = now = daemon.info()["holdfast_version"]
    other = mine[:-1] + ("7" if mine[-1] != "7" else "8")
    for version in (other, mine):
        errands.copy_of_version(path, now, version)
        now = version
        daemon.kill()
        daemon.start()
        expect(daemon.info()["holdfast_version"], version)
        survivors.all_held()


# --- the ledger cannot be kept, or cannot be read ---------------------------------------------------------------------


def ledger_of(daemon):
    """Beside its socket, unless the configuration says otherwise."""
    return daemon.socket + ".ledger"


def test_version_that_cannot_be_read(place):
    """a ledger that is of a version which this program cannot read: it says so, once, and begins with nothing"""
    daemon = place.daemon(master=place.redis(), config=BRISK).admitted()
    survivors = Survivors(place, daemon)
    asked = boottime()
    told = asked + survivors.client("CHECK", "graced") / 1000
    daemon.kill()
    with open(ledger_of(daemon), "r+b") as stream:
        expect(stream.readline(), b"holdfast ledger 1\n")
        stream.seek(0)
        stream.write(b"holdfast ledger 2\n")
    daemon.start()
    daemon.output.wait("ledger.refused .*why=\"it is of another version")
    expect(daemon.output.text().count("ledger.refused"), 1)
    client = daemon.client()
    expect_code(client("SESSION", "RESUME", survivors.secret), "ERR")
    expect_between(client("LOCK", "graced", "WAIT", 45000), survivors.token + 1, 2 ** 53)
    expect_not_before(boottime(), told, "the next holder")
    expect(client("UNLOCK", "graced"), 0)
    # The one after it finds a good one.
    survivors = Survivors(place, daemon)
    daemon.kill()
    daemon.start()
    survivors.all_held()
    expect(daemon.output.text().count("ledger.refused"), 0)


def test_full_directory(place):
    """without room for a ledger the daemon serves, and says that a crash ends all; when there is room, it keeps one again"""
    daemon = place.idle_daemon(master=place.redis(), config=BRISK)
    # The same as a full file system: no file can have any byte more.
    daemon.wrap = ["prlimit", "--fsize=0:unlimited"]
    daemon.start().admitted()
    daemon.output.wait("ledger.failed .*why=")
    expect(daemon.info()["ledger_kept"], "0")
    survivors = Survivors(place, daemon)
    for number in range(50):
        name = "other%d" % number
        granted(survivors.client("LOCK", name))
        expect(survivors.client("UNLOCK", name), 0)
    expect(daemon.output.text().count("ledger.failed"), 1)
    daemon.kill()
    daemon.start().admitted()
    expect_code(daemon.client()("SESSION", "RESUME", survivors.secret), "ERR")
    survivors = Survivors(place, daemon)
    resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    until("there is a ledger", lambda: daemon.info()["ledger_kept"] == "1")
    daemon.kill()
    daemon.wrap = []
    daemon.start()
    survivors.all_held()


def test_off(place):
    """with `ledger: off` there is none, and a crash ends all"""
    daemon = place.daemon(master=place.redis(), config=BRISK + "ledger: off\n").admitted()
    survivors = Survivors(place, daemon)
    expect(os.path.exists(ledger_of(daemon)), False)
    daemon.kill()
    daemon.start().admitted()
    expect_code(daemon.client()("SESSION", "RESUME", survivors.secret), "ERR")


def test_stop(place):
    """a stop leaves no ledger, and what is started then begins with nothing"""
    daemon = place.daemon(master=place.redis(), config=BRISK).admitted()
    survivors = Survivors(place, daemon)
    expect(os.path.exists(ledger_of(daemon)), True)
    expect(daemon.terminate(), 0)
    expect([name for name in os.listdir(daemon.folder) if "ledger" in name], [])
    daemon.start().admitted()
    expect_code(daemon.client()("SESSION", "RESUME", survivors.secret), "ERR")
    for event in ("ledger.recovered", "ledger.refused", "ledger.failed"):
        expect(event in daemon.output.text(), False, event)


# --- nothing is granted twice ----------------------------------------------------------------------------------------


def history_over_crashes(place, masters, managed=False):
    """Clients of all roles of the nemesis, whose history is judged; managed: under a service manager that keeps connections."""
    servers = [place.redis("r%d" % n) for n in range(masters)]
    rules = ", ".join("{ match: %s, max-hold: %dms }" % rule for rule in nemesis_client.MAX_HOLD_MS.items())
    config = CONFIG[:CONFIG.index("rules:")] + "rules: [ %s ]\n" % rules
    daemon = place.idle_daemon(master=servers or None, tcp=True, config=config)
    manager = Manager(daemon) if managed else daemon
    manager.start()
    daemon.admitted()
    folder = os.path.join(place.path, "history")
    os.mkdir(folder)
    plan = nemesis_client.Plan(folder, [(daemon.socket, daemon.tcp)], 32, "crash", latches=False)
    crowd = nemesis_crowd.Crowd(plan, 4)
    place.ends.append(crowd.end)
    told = history.History(folder, history.Rules(LEASE * 1000, nemesis_client.MAX_HOLD_MS))
    place.ends.append(told.close)

    def count(word):
        told.read()
        return told.counts()[word]

    lived_on = 0
    for _ in range(CRASHES):
        resumed, grants = count("resumed"), count("grant")
        until("clients work", lambda: count("grant") > grants + 200)
        manager.kill()
        manager.start()
        lived_on += int(daemon.info()["recovered_connections"])
        until("sessions are resumed", lambda: count("resumed") > resumed + 2)
    expect(crowd.stop(harness.PATIENCE), [], "clients that do not end")
    history.nothing_found(told.judge(waived=[history.LATE]))
    for number in range(plan.clients):
        if role(plan, number) in (Comer, Bound):
            for path in glob.glob(os.path.join(folder, "client.%02d.*" % number)):
                expect(list(nemesis_crash.unfaithful(nemesis_crash.events(path))), [])
    harness.comment("%d grants, %d resumed, %d bound" % tuple(map(count, ("grant", "resumed", "bound"))))
    harness.comment("%d connections lived on" % lived_on)


@harness.busy
def test_history(place):
    """what 32 clients were told over crashes: no name is granted twice, tokens grow, no deadline is broken"""
    history_over_crashes(place, 1)


@harness.busy
def test_history_three_masters(place):
    """the same with three masters"""
    history_over_crashes(place, 3)


@harness.busy
def test_history_managed(place):
    """the same under a service manager that keeps connections"""
    history_over_crashes(place, 1, managed=True)


@harness.busy
def test_history_private(place):
    """the same with a private redis-server"""
    history_over_crashes(place, 0)


if __name__ == "__main__":
    harness.main(globals())
