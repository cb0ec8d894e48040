#!/usr/bin/env python3
"""The ledger: what outlives a kill -9 of the daemon, what must not be taken for it, and that nobody holds twice.

A daemon is killed with SIGKILL and started again with the same configuration. What the next process makes of the ledger is
told by its log.
"""

import os
import shutil
import signal
import struct
import subprocess
import time

import harness
import resp
import tool
from check_clone import UNAVAILABLE, alike
from check_sessions import LONG_MS, TOKEN_MAX, with_grace
from manager import Manager
from harness import BRISK, boottime, expect, expect_between, expect_code, expect_not_before

PAGE = 4096
# Fields of the header: where, and their form.
CLOCK, UID, INODE, COMMITTED, VOID = (24, "36s"), (120, "Q"), (128, "QQ"), (152, "Q"), (160, "I")


def ledger_of(daemon):
    return os.path.join(daemon.folder, "s.ledger")


def header(daemon, field):
    with open(ledger_of(daemon), "rb") as stream:
        stream.seek(field[0])
        return struct.unpack(field[1], stream.read(struct.calcsize(field[1])))


def patch(path, field, *values):
    with open(path, "r+b") as stream:
        stream.seek(field[0])
        stream.write(struct.pack(field[1], *values))


class Holder:
    """A session with a grace that holds some names."""

    def __init__(self, daemon, *names, words=()):
        self.client = daemon.client()
        self.secret = with_grace(self.client)
        self.tokens = {}
        for name in names:
            self.lock(name, *words)

    def lock(self, name, *words):
        self.tokens[name] = self.client("LOCK", name, "WAIT", 45000, *words)
        expect_between(self.tokens[name], 1, TOKEN_MAX)

    def resume(self, daemon, timeout=harness.PATIENCE):
        self.client = daemon.client(timeout=timeout)
        expect(self.client("SESSION", "RESUME", self.secret), len(self.tokens), "names held")

    def check(self):
        for name, token in self.tokens.items():
            expect_between(self.client("CHECK", name, "TOKEN", token), 1, harness.LEASE_MS, name)

    def unlock(self):
        for name, token in self.tokens.items():
            expect(self.client("UNLOCK", name, "TOKEN", token), 0, name)


def crash(daemon):
    daemon.kill()
    daemon.start()


def recovered(daemon, mark=0):
    """(sessions, locks) of the latest process."""
    match = daemon.output.wait(r"ledger\.recovered .*\bsessions=(\d+) locks=(\d+)", mark)[1]
    return int(match.group(1)), int(match.group(2))


def adopted(redis, daemon, name):
    """The key of the name at the master is of this process."""
    identity = daemon.info()["run_id"]
    harness.until("%s is adopted" % name, lambda: (redis("GET", "holdfast:{%s}" % name) or "").startswith(identity))


def test_grace(place):
    """sessions with a grace resume after kill -9 with all holds and tokens, and nobody else has had any"""
    redis = place.redis()
    daemon, other = (place.daemon(name, master=redis).admitted() for name in ("d1", "d2"))
    one, shared, permits = Holder(daemon, "a", "b"), Holder(daemon, "s", words=("SHARED",)), Holder(daemon)
    permits.lock("p", "PERMITS", 2, "LIMIT", 3)
    rival = other.client()
    daemon.kill()
    for name in ("a", "b", "s"):
        expect(rival("LOCK", name, "WAIT", 0), None, name)
    daemon.start()
    expect(recovered(daemon), (3, 4))
    for name in ("a", "b", "s"):
        expect(rival("LOCK", name, "WAIT", 0), None, name)
    for holder in (one, shared, permits):
        holder.resume(daemon)
        holder.check()
    adopted(redis, daemon, "a")
    one.check()
    expect(rival("LOCK", "p", "PERMITS", 2, "LIMIT", 3, "WAIT", 0), None)
    for holder in (one, shared, permits):
        holder.unlock()
    expect_between(rival("LOCK", "a", "WAIT", 45000), one.tokens["a"] + 1, TOKEN_MAX)
    expect_between(rival("LOCK", "p", "PERMITS", 2, "LIMIT", 3, "WAIT", 45000), 1, TOKEN_MAX)


def test_again_and_again(place):
    """a session survives one crash after the other, and renewals of its lease between them"""
    redis = place.redis()
    daemon = place.daemon(master=redis, config="lease: 10s\n").admitted()
    holder = Holder(daemon, "a")
    for _ in range(5):
        crash(daemon)
        adopted(redis, daemon, "a")
        holder.resume(daemon)
        holder.check()
    holder.unlock()
    expect_between(daemon.client()("LOCK", "a"), holder.tokens["a"] + 1, TOKEN_MAX)


def test_losses_and_ends(place):
    """what a session has given up, lost or ended before the crash does not come back"""
    redis = place.redis()
    daemon = place.daemon(master=redis, config="lease: 10s\n").admitted()
    holder, gone, changed = Holder(daemon, "a", "b", "c"), Holder(daemon, "d"), Holder(daemon, "e")
    expect(holder.client("UNLOCK", "b"), 0)
    expect_between(daemon.client()("BREAK", "c", "TOKEN", holder.tokens["c"]), 0, 10000)
    expect(gone.client("QUIT"), "OK")
    expect(changed.client("SESSION", "GRACE", 0), changed.secret)
    expect(changed.client("CHECK", "e", "TOKEN", changed.tokens["e"]) > 0, True)
    crash(daemon)
    expect(recovered(daemon), (1, 1))
    again = daemon.client()
    expect(again("SESSION", "RESUME", holder.secret), 1)
    expect_between(again("CHECK", "a", "TOKEN", holder.tokens["a"]), 1, harness.LEASE_MS)
    expect(again("CHECK", "b"), None)
    expect_code(again("UNLOCK", "c"), "LOST")
    expect_code(daemon.client()("SESSION", "RESUME", gone.secret), "ERR")
    expect_code(daemon.client()("SESSION", "RESUME", changed.secret), "ERR")


def test_bound(place):
    """a script with `holdfast lock --pid` never notices, and its locks end with it"""
    redis = place.redis()
    daemon = place.daemon(master=redis).admitted()
    script = tool.script(place, daemon, "holdfast lock a --pid $$ || exit; echo held; read x; holdfast check a --pid $$ && "
                         "echo checked; echo pids $$; exec sleep 1000", stdin=subprocess.PIPE)
    script.output.wait("^held$")
    for _ in range(3):
        crash(daemon)
    expect(recovered(daemon), (1, 1))
    expect(daemon.client()("LOCK", "a", "WAIT", 0), None)
    script.process.stdin.write(b"go on\n")
    script.process.stdin.flush()
    script.output.wait("^checked$")
    waiter = daemon.client()
    waiter.send("LOCK", "a", "WAIT", 45000)
    daemon.queued("a")
    script.kill()
    expect_between(waiter.reply(), 1, TOKEN_MAX)


def test_bound_ends_meanwhile(place):
    """a process that ends while there is no daemon ends its session"""
    redis = place.redis()
    daemon = place.daemon(master=redis).admitted()
    script = tool.script(place, daemon, "holdfast lock a --pid $$ || exit; echo held; exec sleep 1000")
    script.output.wait("^held$")
    daemon.kill()
    script.kill()
    daemon.start()
    expect_between(daemon.client()("LOCK", "a", "WAIT", 45000), 1, TOKEN_MAX)


def test_plain(place):
    """the lock of a plain session is free when its deadline is over, and not before"""
    redis = place.redis()
    daemon = place.daemon(master=redis, config=BRISK).admitted()
    plain = daemon.client()
    durable = Holder(daemon, "s", words=("SHARED",))
    expect_between(plain("LOCK", "a"), 1, TOKEN_MAX)
    expect_between(plain("LOCK", "s", "SHARED"), 1, TOKEN_MAX)
    asked = boottime()
    deadlines = {name: asked + plain("CHECK", name) / 1000 for name in ("a", "s")}
    crash(daemon)
    expect(recovered(daemon), (1, 1))
    durable.resume(daemon)
    durable.unlock()
    # A shared lease that a durable session kept is known to have others, whose deadline counts.
    for name in ("s", "a"):
        expect_between(daemon.client()("LOCK", name, "WAIT", 45000), 1, TOKEN_MAX, name)
        expect_not_before(boottime(), deadlines[name], "the lock of a plain session", harness.WHOLE_MS)
        harness.took(max(0, boottime() - deadlines[name]), 0.6, "%s was free after its deadline" % name)


TOGGLES = 200  # of the grace of a session


def cpu_of_toggles(daemon, client):
    """Seconds of the daemon's CPU for a grace that is asked for and given back, again and again."""
    clock = ~daemon.process.pid << 3 | 2  # CPUCLOCK_SCHED of its process
    began = time.clock_gettime(clock)
    for _ in range(TOGGLES):
        with_grace(client)
        with_grace(client, 0)
    return time.clock_gettime(clock) - began


@harness.alone
def test_many(place):
    """a session with thousands of locks becomes durable, and ceases to be, as cheaply as one with a single lock"""
    daemon = place.daemon(master=place.redis(), config="lease: 60s\n").admitted()
    few, many = daemon.client(), daemon.client()
    expect_between(few("LOCK", "few"), 1, TOKEN_MAX)
    for first in range(0, 5000, 50):
        tokens = many("MLOCK", 50, *("many-%d" % i for i in range(first, first + 50)))
        expect(len(tokens), 50, "locks")
    one, all_of_them = (cpu_of_toggles(daemon, client) for client in (few, many))
    harness.comment("%.1f us with one lock, %.1f us with 5000" % (
        one / 2 / TOGGLES * 1e6, all_of_them / 2 / TOGGLES * 1e6))
    expect_between(all_of_them / one, 0, 10, "times the CPU")
    # What it was told counts: of a crash it notices nothing.
    secret = with_grace(many)
    crash(daemon)
    expect(recovered(daemon), (1, 5000))
    again = daemon.client()
    expect(again("SESSION", "RESUME", secret), 5000, "names held")
    # Nor is anything left of it once it has given its grace back.
    with_grace(again, 0)
    crash(daemon)
    expect_code(daemon.client()("SESSION", "RESUME", secret), "ERR")


def refused(place, why, spoil, kept=True, config=""):
    """A daemon whose ledger is spoilt begins with nothing, says why, and keeps a ledger of its own afterwards."""
    daemon = place.daemon(master=place.redis(), config=config).admitted()
    holder = Holder(daemon, "a")
    daemon.kill()
    spoil(daemon, ledger_of(daemon))
    daemon.start()
    daemon.output.wait("ledger.refused file=%s why=\"%s" % (ledger_of(daemon), why))
    expect("ledger.recovered" in daemon.output.text(), False)
    expect_code(daemon.client()("SESSION", "RESUME", holder.secret), "ERR")
    expect(daemon.client()("LOCK", "a", "WAIT", 0), None)
    expect(daemon.info()["ledger_kept"], "1" if kept else "0")
    if kept:
        again = Holder(daemon, "b")
        crash(daemon)
        expect(recovered(daemon), (1, 1))
        again.resume(daemon)
        again.check()
    return daemon


def test_other_boot(place):
    """the ledger of another boot is refused"""
    refused(place, "it is of another boot", lambda d, path: patch(path, CLOCK, b"0" * 36))


def test_other_user(place):
    """so is one of another user"""
    refused(place, "it is of another user", lambda d, path: patch(path, UID, os.geteuid() + 1))


def test_copy_in_place(place):
    """so is a copy that was put in the place of the ledger"""
    def spoil(_daemon, path):
        shutil.copy2(path, path + ".copy")
        os.rename(path + ".copy", path)
    refused(place, "it is a copy", spoil)


def test_void(place):
    """so is one that another process has gone on from"""
    refused(place, "it is void", lambda d, path: patch(path, VOID, 1))


def test_cut(place):
    """so is one that was cut, wherever"""
    refused(place, "a part of it is missing", lambda d, path: os.truncate(path, PAGE + header(d, COMMITTED)[0] - 1))


def test_cut_in_header(place):
    """also if nothing is left of it"""
    refused(place, "it ends within its header", lambda d, path: os.truncate(path, 0))


def test_damaged(place):
    """so is one whose entries make no sense"""
    def spoil(daemon, path):
        patch(path, (PAGE, "Q"), 0)
        expect(header(daemon, COMMITTED)[0] > 100, True)
    refused(place, "", spoil)


def test_other_file(place):
    """a file that is no ledger is refused and left as it is"""
    def spoil(_daemon, path):
        os.unlink(path)
        with open(path, "w", encoding="utf-8") as stream:
            stream.write("a thesis")
    daemon = refused(place, "it is not a ledger", spoil, kept=False)
    daemon.output.wait("ledger.failed .*it is not a ledger")
    expect(daemon.terminate(), 0)
    with open(ledger_of(daemon), encoding="utf-8") as stream:
        expect(stream.read(), "a thesis")


def test_cut_everywhere(place):
    """a ledger that was cut at any byte gives all or nothing, and no daemon fails to start"""
    redis = place.redis()
    daemon = place.daemon(master=redis).admitted()
    holder = Holder(daemon, "a")
    daemon.kill()
    path = ledger_of(daemon)
    size = PAGE + header(daemon, COMMITTED)[0]
    for cut in list(range(0, size, 701)) + [size - 1]:
        # Written to the same inode again, so that nothing but its length is wrong.
        shutil.copyfile(path, path + ".whole")
        os.truncate(path, cut)
        inode = os.stat(path).st_ino
        os.link(path, path + ".kept")
        daemon.start()
        daemon.output.wait("ledger.refused")
        expect_code(daemon.client()("SESSION", "RESUME", holder.secret), "ERR")
        daemon.kill()
        os.rename(path + ".kept", path)
        expect(os.stat(path).st_ino, inode)
        shutil.copyfile(path + ".whole", path)
    daemon.start()
    expect(recovered(daemon), (1, 1))
    holder.resume(daemon)
    holder.check()


def test_locked(place):
    """a daemon that is given the ledger of another one leaves it alone, and serves without"""
    redis = place.redis()
    first = place.daemon("d1", master=redis).admitted()
    holder = Holder(first, "a")
    second = place.daemon("d2", master=redis, config="ledger: %s\n" % ledger_of(first)).admitted()
    second.output.wait("ledger.refused .*another process keeps it")
    second.output.wait("ledger.failed .*another process keeps it")
    expect(second.info()["ledger_kept"], "0")
    Holder(second, "b")
    crash(first)
    holder.resume(first)
    holder.check()
    expect(second.terminate(), 0)
    expect(os.path.exists(ledger_of(first)), True)
    crash(first)
    holder.resume(first)
    holder.check()


def test_copied_for_a_second_daemon(place):
    """a second daemon with a copy of the ledger takes nothing, and the first one keeps everything"""
    redis = place.redis()
    first = place.daemon("d1", master=redis, config="lease: 10s\n").admitted()
    holder = Holder(first, "a", "b")
    second = place.idle_daemon("d2", master=redis, config="lease: 10s\n")
    shutil.copy2(ledger_of(first), ledger_of(second))
    second.start()
    second.output.wait("ledger.refused .*it is a copy")
    expect_code(second.client()("SESSION", "RESUME", holder.secret), "ERR")
    expect(second.client()("LOCK", "a", "WAIT", 0), None)
    holder.check()
    expect(redis("GET", "holdfast:{a}").startswith(first.info()["run_id"]), True)
    holder.unlock()


def forge(first, second):
    """A copy that says of itself that it is none."""
    shutil.copy2(ledger_of(first), ledger_of(second))
    seen = os.stat(ledger_of(second))
    patch(ledger_of(second), INODE, seen.st_ino, seen.st_dev)


def test_forged_copy(place):
    """of two daemons with the same ledger the one that adopts a lease has it, and the other tells its client LOST"""
    redis = place.redis()
    config = "lease: 6s\nclock-margin: 200ms\n"
    first = place.daemon("d1", master=redis, config=config).admitted()
    second = place.idle_daemon("d2", master=redis, config=config)
    holder = Holder(first, "a", "b")
    listener = first.client(form=3)
    expect(listener("SESSION", "JOIN", holder.secret) in (2, "OK"), True)
    expect(listener("SESSION", "ONLOSS", "PUSH"), "OK")
    forge(first, second)
    second.start()
    expect(recovered(second), (1, 2))
    lost = {}
    for _ in holder.tokens:
        push = listener.push()
        expect(push[0], "lost")
        lost[push[1]] = push[3]
    expect(lost, holder.tokens)
    adopted(redis, second, "a")
    adopted(redis, second, "b")
    expect_code(holder.client("UNLOCK", "a"), "LOST")
    holder.resume(second)
    for name, token in holder.tokens.items():
        expect_between(holder.client("CHECK", name, "TOKEN", token), 1, 6000, name)


def test_forged_copy_is_late(place):
    """the same if the daemon of the ledger has adopted them first after a crash: the forged one gets nothing"""
    redis = place.redis()
    config = "lease: 6s\nclock-margin: 200ms\n"
    first = place.daemon("d1", master=redis, config=config).admitted()
    second = place.idle_daemon("d2", master=redis, config=config)
    holder = Holder(first, "a", "b")
    first.kill()
    forge(first, second)
    first.start()
    for name in holder.tokens:
        adopted(redis, first, name)
    second.start()
    for _ in holder.tokens:
        second.output.wait(r"lock\.lost .*\bname=[ab]")
    client = second.client()
    expect_between(client("SESSION", "RESUME", holder.secret), 0, 2)
    for name in holder.tokens:
        expect_code(client("UNLOCK", name), "LOST")
    holder.resume(first)
    for name, token in holder.tokens.items():
        expect_between(holder.client("CHECK", name, "TOKEN", token), 1, 6000, name)


def test_killed_while_it_adopts(place):
    """a daemon that is killed before and while it adopts its leases loses none of them"""
    redis = place.redis()
    daemon = place.daemon(master=redis).admitted()
    holder = Holder(daemon, *["n%d" % i for i in range(300)])
    daemon.kill()
    redis.process.stop()
    daemon.start()
    expect(recovered(daemon), (1, 300))
    holder.resume(daemon)
    holder.check()
    daemon.kill()
    redis.process.cont()
    for event in ("link.up", "master.admitted"):
        daemon.spawn()
        daemon.output.wait(event)
        expect(recovered(daemon), (1, 300))
        daemon.kill()
    for _ in range(3):
        daemon.start()
        expect(recovered(daemon), (1, 300))
        adopted(redis, daemon, "n0")
        daemon.kill()
    daemon.start()
    for name in holder.tokens:
        adopted(redis, daemon, name)
    holder.resume(daemon)
    holder.check()
    holder.unlock()


def test_private_master(place):
    """with a private master, which dies with the daemon, its leases are claimed again in the next one"""
    daemon = place.daemon(config=BRISK + "restart-guard: auto\n").admitted()
    holder = Holder(daemon, "a", "b")
    plain = daemon.client()
    expect_between(plain("LOCK", "c"), 1, TOKEN_MAX)
    asked = boottime()
    deadline = asked + plain("CHECK", "c") / 1000
    for _ in range(3):
        server = int(daemon.output.wait(r"embedded\.started .*\bpid=(\d+)")[1].group(1))
        daemon.kill()
        harness.until("the redis-server has ended", lambda pid=server: not alive(pid))
        daemon.start()
        expect(recovered(daemon), (1, 2))
        holder.resume(daemon)
        for name, token in holder.tokens.items():
            expect_between(holder.client("CHECK", name, "TOKEN", token), 1, 2000, name)
        daemon.output.wait(r"lease\.reclaimed .*\bname=[ab]")
    # The lease outlasts the guard.
    daemon.output.wait(r"master\.admitted")
    renewed(holder)
    other = daemon.client()
    expect_between(other("LOCK", "c", "WAIT", 45000), 1, TOKEN_MAX)
    expect_not_before(boottime(), deadline, "the lock of a plain session", harness.WHOLE_MS)
    renewed(holder)
    expect(other("LOCK", "a", "WAIT", 0), None)
    holder.unlock()
    expect_between(other("LOCK", "a", "WAIT", 45000), holder.tokens["a"] + 1, TOKEN_MAX)


def alive(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as stream:
            return stream.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def renewed(holder):
    """Its holds have been renewed: they are valid for longer than the rest of what they were."""
    for name, token in holder.tokens.items():
        before = boottime() + holder.client("CHECK", name, "TOKEN", token) / 1000
        harness.until("%s is renewed" % name,
                      lambda n=name, t=token, b=before: boottime() + holder.client("CHECK", n, "TOKEN", t) / 1000 > b + 0.1)


def test_hand_over(place):
    """a daemon that is handed over goes on with the same file, and a crash after that ends nothing"""
    redis = place.redis()
    daemon = place.daemon(master=redis).admitted()
    holder = Holder(daemon, "a")
    inode = os.stat(ledger_of(daemon)).st_ino
    for count in (1, 2):
        expect(daemon.client()("RESTART") is not None, True)
        harness.until("the next process serves", lambda n=count: daemon.info()["handovers"] == str(n))
        expect(os.stat(ledger_of(daemon)).st_ino, inode)
        expect(daemon.info()["ledger_kept"], "1")
        holder.lock("b%d" % count)
    crash(daemon)
    expect(recovered(daemon), (1, 3))
    holder.resume(daemon)
    holder.check()
    expect("ledger.failed" in daemon.output.text(), False)


def test_service_manager(place):
    """the same if a service manager keeps the descriptors; after a stop and a start sessions go on from the file"""
    daemon = place.idle_daemon(master=place.redis())
    manager = Manager(daemon)
    manager.start()
    daemon.admitted()
    holder = Holder(daemon, "a")
    inode = os.stat(ledger_of(daemon)).st_ino
    for _ in range(2):
        manager.restart()
        expect(os.stat(ledger_of(daemon)).st_ino, inode)
        expect(daemon.info()["ledger_kept"], "1")
    holder.lock("b")
    manager.kill()
    expect(manager.apart(), [])
    manager.start()
    expect(recovered(daemon), (1, 2))
    holder.resume(daemon)
    holder.check()
    # A stop: the daemon hands itself over, and the manager lets go of what it was given.
    expect(daemon.terminate(), 0)
    with manager.lock:
        for _, fd in manager.kept:
            os.close(fd)
        manager.kept = []
    manager.start()
    expect(recovered(daemon), (1, 2))
    holder.resume(daemon)
    holder.check()


def test_hand_over_elsewhere(place):
    """with another path, or none, in the configuration the next process leaves nothing at the old one"""
    redis = place.redis()
    daemon = place.daemon(master=redis).admitted()
    holder = Holder(daemon, "a")
    elsewhere = os.path.join(daemon.folder, "elsewhere")
    daemon.configure("ledger: %s\n" % elsewhere)
    expect(daemon.client()("RESTART") is not None, True)
    harness.until("the ledger has moved", lambda: os.path.exists(elsewhere) and not os.path.exists(ledger_of(daemon)))
    crash(daemon)
    expect(recovered(daemon), (1, 1))
    holder.resume(daemon)
    daemon.configure("ledger: off\n")
    expect(daemon.client()("RESTART") is not None, True)
    harness.until("the ledger is gone", lambda: not os.path.exists(elsewhere))
    expect(daemon.info()["ledger_kept"], "0")
    holder.check()
    mark = daemon.output.mark()
    crash(daemon)
    expect(mark > 0 and "ledger.recovered" in daemon.output.text(), False)
    expect_code(daemon.client()("SESSION", "RESUME", holder.secret), "ERR")


def test_state_is_refused(place):
    """a daemon that cannot read the state of the one before goes on from the ledger"""
    redis = place.redis()
    daemon = place.daemon(master=redis).admitted()
    holder = Holder(daemon, "a")
    daemon.kill()
    reader, writer = os.pipe()
    os.write(writer, b"no state at all")
    daemon.inherit = (reader,)
    daemon.environment = {"HOLDFAST_HANDOVER": str(reader)}
    daemon.start()
    daemon.output.wait("handover.refused .*this daemon begins as after a crash")
    expect(recovered(daemon), (1, 1))
    holder.resume(daemon)
    holder.check()
    os.close(reader)
    os.close(writer)
    daemon.inherit, daemon.environment = (), {}


def test_failed_start(place):
    """a daemon that fails to start leaves the ledger as it was"""
    redis = place.redis()
    daemon = place.daemon(master=redis).admitted()
    holder = Holder(daemon, "a")
    daemon.kill()
    before = open(ledger_of(daemon), "rb").read()
    os.unlink(daemon.socket)
    with resp.socket.socket(resp.socket.AF_UNIX) as stranger:
        stranger.bind(daemon.socket)
        stranger.listen()
        daemon.spawn()
        expect(daemon.process.wait() != 0, True)
    expect(open(ledger_of(daemon), "rb").read() == before, True)
    daemon.start()
    expect(recovered(daemon), (1, 1))
    holder.resume(daemon)
    holder.check()


def test_clean_end(place):
    """a daemon that ends in order leaves no ledger"""
    daemon = place.daemon(master=place.redis()).admitted()
    Holder(daemon, "a")
    expect(daemon.terminate(), 0)
    expect([name for name in os.listdir(daemon.folder) if "ledger" in name], [])
    daemon.start()
    expect("ledger.recovered" in daemon.output.text() or "ledger.refused" in daemon.output.text(), False)


def test_clone(place):
    """a daemon whose place a copy has taken leaves no ledger: what it says may belong to the copy"""
    redis = place.redis()
    first = place.daemon("d1", master=redis, config="lease: 3s\n", environment=alike()).admitted()
    Holder(first, "deploy")
    os.link(ledger_of(first), ledger_of(first) + ".kept")
    field = "d:" + first.info()["run_id"]
    until, longest, guards, memory, _ = redis("HGET", "holdfast:node", field).split()
    redis("HSET", "holdfast:node", field, " ".join((until, longest, guards, memory, "0123456789abcdef")))
    expect(first.process.wait(), UNAVAILABLE, first.output.tail())
    expect(os.path.exists(ledger_of(first)), False)
    os.rename(ledger_of(first) + ".kept", ledger_of(first))
    expect(header(first, VOID)[0], 1)


def test_written_anew(place):
    """a ledger does not grow without end: it is written anew while clients are served, and says the same"""
    redis = place.redis()
    daemon = place.daemon(master=redis).admitted()
    holder = Holder(daemon, *["n%d" % i for i in range(500)])
    worker = daemon.client()
    with_grace(worker)
    begun = int(daemon.info()["ledger_begun"])

    def work():
        worker.send_raw(b"LOCK x\r\nUNLOCK x\r\n" * 200)
        for _ in range(200):
            expect_between(worker.reply(), 1, TOKEN_MAX)
            expect(worker.reply(), 0)
        return int(daemon.info()["ledger_begun"]) >= begun + 3
    harness.until("it was written anew", work)
    expect_between(os.stat(ledger_of(daemon)).st_size, 1, 4 << 20)
    crash(daemon)
    expect(recovered(daemon), (2, 500))
    holder.resume(daemon)
    holder.check()


def test_killed_while_it_is_written_anew(place):
    """a daemon that is killed at any moment of that leaves a ledger that is whole"""
    redis = place.redis()
    daemon = place.daemon(master=redis).admitted()
    holder = Holder(daemon)
    names = ["n%d" % i for i in range(6000)]
    for part in (names[i:i + 500] for i in range(0, len(names), 500)):
        holder.client.send_raw("".join("LOCK %s\r\n" % name for name in part).encode())
        for name in part:
            holder.tokens[name] = holder.client.reply()
    for number in range(12):
        worker = daemon.client()
        with_grace(worker)
        pairs = b"LOCK x%d\r\nUNLOCK x%d\r\n" % (number, number) * 100
        begun = int(daemon.info()["ledger_begun"])
        # It is due after two thousand pairs or so; killed then, a moment later, and so on.
        while int(daemon.info()["ledger_begun"]) == begun:
            worker.send_raw(pairs)
            for _ in range(200):
                worker.reply()
            if os.path.exists(ledger_of(daemon) + ".new") and int(daemon.info()["ledger_bytes"]) > (1 << 20) + number * 5000:
                break
        worker.send_raw(pairs)
        daemon.kill()
        daemon.start()
        expect("ledger.refused" in daemon.output.text(), False)
        holder.resume(daemon)
        holder.client.send_raw("".join("CHECK %s TOKEN %d\r\n" % one for one in list(holder.tokens.items())[::20]).encode())
        for name in list(holder.tokens)[::20]:
            expect_between(holder.client.reply(), 1, harness.LEASE_MS, name)


def test_full_file_system(place):
    """if the file system of the ledger is full, that is told once, and it is begun anew when there is room"""
    redis = place.redis()
    daemon = place.idle_daemon(master=redis)
    memory = os.path.join(daemon.folder, "memory")
    os.mkdir(memory)
    if subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", memory], check=False, capture_output=True).returncode:
        raise harness.Skip("no tmpfs can be mounted here")
    daemon.configure("ledger: %s\n" % os.path.join(memory, "ledger"))
    daemon.wrap = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=256k none "$0" && exec "$@"', memory]
    daemon.start().admitted()
    expect(daemon.info()["ledger_kept"], "1")
    inside = "/proc/%d/root%s" % (daemon.process.pid, memory)
    filler = os.open(os.path.join(inside, "filler"), os.O_CREAT | os.O_WRONLY, 0o600)
    os.posix_fallocate(filler, 0, 180 << 10)
    holder = Holder(daemon)
    count = 0
    while daemon.info()["ledger_kept"] == "1":
        expect(count < 10000, True)
        holder.lock("n%d" % count)
        count += 1
    daemon.output.wait("ledger.failed .*No space left on device")
    holder.lock("more")
    holder.check()
    os.ftruncate(filler, 0)
    os.close(filler)
    for name in list(holder.tokens)[100:]:
        expect(holder.client("UNLOCK", name, "TOKEN", holder.tokens.pop(name)), 0)
    harness.until("there is a ledger again", lambda: daemon.info()["ledger_kept"] == "1")
    expect(daemon.output.text().count("ledger.failed"), 1)
    # Its file system would be gone with its process: so it is the same process that has to read it.
    expect(os.path.exists(os.path.join(inside, "ledger")), True)


if __name__ == "__main__":
    harness.main(globals())
