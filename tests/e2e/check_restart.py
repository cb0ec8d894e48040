#!/usr/bin/env python3
"""A restart that no client notices: clients of every kind are at work while their daemon is handed over."""

import os
import re
import shutil
import signal
import sys

import errands
import harness
import resp
import tool
from errands import Stage, granted, handovers, held
from harness import expect, expect_between, expect_code
from manager import Manager

TIMES = 50
# Gives the record after that of the daemon a number that no version knows.
UNKNOWN_RECORD = ("all = os.pread(state, 1 << 24, 0); at = all.index(b'holdfast state 1') + 17; "
                  "os.pwrite(state, b'\\x7d', at + 6 + int.from_bytes(all[at + 2:at + 6], 'little'))")
USERS = "users:\n  - { name: user, password-file: %s }\n  - { name: boss, password-file: %s, admin: yes }\n"
# The program that the daemon is replaced by: it does something to the state first, and then becomes the daemon.
STEP_BETWEEN = """#!%s
import os, sys
if sys.argv[1] != "-t":
    state = int(os.environ["HOLDFAST_HANDOVER"])
    %s
os.execv(%r, sys.argv)
"""


def users(place):
    """The configuration of a user and of an administrator, both with the password `password`."""
    path = os.path.join(place.path, "password")
    with open(path, "w", encoding="ascii") as stream:
        stream.write("password\n")
    os.chmod(path, 0o600)
    return USERS % (path, path)


def stage_of(place, master, config=""):
    daemon = place.daemon(master=master, tcp=True, config=config + users(place)).admitted()
    stage = Stage(place, daemon)
    stage.login = ("user", "password")
    return stage


def by_signal(stage):
    errands.hand_over(stage.daemon)


def by_verb(stage):
    with stage.daemon.client(form=3) as admin:
        answer = admin("RESTART")
        expect(isinstance(answer, dict), True, answer)
        expect_between(answer["connections"], 1, 10000)
        expect(answer["silent_ms"], errands.silent_ms(stage.daemon))


def by_tool(stage):
    status, output = tool.call(stage.place, stage.daemon, "restart")
    expect(status, 0, output)
    expect(" serves; it has taken over " in output, True, output)


def in_turn(*ways):
    """Each restart by the next of these ways."""
    times = []

    def restart(stage):
        ways[len(times) % len(ways)](stage)
        times.append(errands.silent_ms(stage.daemon) / 1000)
        restart.times = sorted(times)

    return restart


def at_work(stage, restart, times=TIMES, kinds=errands.KINDS):
    before = handovers(stage.daemon)
    pid = stage.daemon.info()["process_id"]
    errands.work(stage, restart, times, kinds)
    after = stage.daemon.info()
    expect(int(after["handovers"]), before + times)
    expect((after["client_protocol_errors"], after["connections_rejected"]), ("0", "0"))
    harness.took(restart.times[len(restart.times) // 2], 0.1, "of silence, the median")
    harness.took(restart.times[-1], 0.5, "of silence, the longest")
    harness.took(stage.longest, 0.5, "for the longest answer")
    return pid == after["process_id"]


@harness.busy
def test_one_master(place):
    """50 restarts by SIGUSR2, RESTART and holdfast restart: clients of every kind find all as it was, and none is told anything"""
    stage = stage_of(place, place.redis())
    expect(at_work(stage, in_turn(by_signal, by_verb, by_tool)), True, "the pid stays")


@harness.busy
def test_private_master(place):
    """the same with a private redis-server, which goes on: it forgets nothing"""
    stage = stage_of(place, None)
    masters = stage.daemon.info()["master0_incarnation"]
    expect(at_work(stage, in_turn(by_signal, by_verb)), True)
    info = stage.daemon.info()
    expect((info["master0_incarnation"], info["embedded_starts"]), (masters, "1"))


def test_no_warning(place):
    """a restart logs nothing above info about masters that were there all the time, be they Redis or a private one"""
    for name, master in (("d1", place.redis()), ("d2", None)):
        daemon = place.daemon(name, master=master).admitted()
        with daemon.client() as admin:
            admin("RESTART")
        daemon.output.wait(" info link.down .*this daemon is being handed over")
        daemon.output.wait(" info master.away .*this daemon is being handed over")
        daemon.output.wait(" handover.done ")
        warnings = [line for line in daemon.output.text().splitlines() if re.search("(warning|error) (?!daemon.restart )", line)]
        expect(warnings, [])
        expect("the set of masters has changed" in daemon.output.text(), False, daemon.output.text())


@harness.busy
def test_three_masters(place):
    """the same with three masters"""
    stage = stage_of(place, [place.redis("r%d" % n) for n in range(3)])
    kinds = [kind for kind in errands.KINDS if kind not in errands.NEEDS_ONE_MASTER]
    expect(at_work(stage, in_turn(by_signal, by_verb), kinds=kinds), True)


def kept_stage(place, master, config=""):
    daemon = place.idle_daemon(master=master, tcp=True, config=config + users(place))
    manager = Manager(daemon)
    manager.start()
    daemon.admitted()
    stage = Stage(place, daemon)
    stage.login = ("user", "password")
    return stage, manager


@harness.busy
def test_service_manager(place):
    """the same by SIGTERM and a new process, with a service manager that keeps descriptors"""
    stage, manager = kept_stage(place, place.redis())
    expect(at_work(stage, in_turn(lambda _stage: manager.restart())), False, "another pid")
    expect(manager.apart(), [], "it keeps nothing when the new process has all")


@harness.busy
def test_service_manager_three_masters(place):
    """the same by SIGTERM, with three masters"""
    stage, manager = kept_stage(place, [place.redis("r%d" % n) for n in range(3)])
    kinds = [kind for kind in errands.KINDS if kind not in errands.NEEDS_ONE_MASTER]
    at_work(stage, in_turn(lambda _stage: manager.restart()), times=20, kinds=kinds)


# --- what it answers, and who may ask -------------------------------------------------------------------------------


def test_answer(place):
    """RESTART tells what was taken over, EVENTS that it was, and INFO goes on counting"""
    daemon = place.daemon(master=place.redis()).admitted()
    stream, holder, old = daemon.client(), daemon.client(), daemon.client()
    expect(stream("EVENTS"), "OK")
    token = granted(holder("LOCK", "a"))
    before = daemon.info()
    answer = old("RESTART")
    answer = dict(zip(answer[::2], answer[1::2]))
    expect((answer["version"], answer["connections"], answer["holds"]), (before["holdfast_version"], 3, 1))
    expect_between(answer["sessions"], 3, 3)
    event = stream.reply()
    while not event.startswith("handover.done"):
        event = stream.reply()
    expect(event.split()[1], "silent_ms=%d" % answer["silent_ms"])
    after = daemon.info()
    expect([after[key] for key in ("run_id", "process_id", "handovers", "locks_granted")],
           [before["run_id"], before["process_id"], "1", before["locks_granted"]])
    expect_between(int(after["commands_processed"]), int(before["commands_processed"]) + 1, 2 ** 53)
    held(holder, "a", token)


def test_json(place):
    """holdfast restart --json"""
    import json
    daemon = place.daemon(master=place.redis()).admitted()
    status, output = tool.call(place, daemon, "restart", "--json")
    expect(status, 0, output)
    expect(set(json.loads(output)), {"version", "connections", "sessions", "holds", "silent_ms"})
    expect(tool.call(place, daemon, "restart", "-q"), (0, ""))
    expect(handovers(daemon), 2)


def test_hostile(place):
    """no user but an administrator can ask for a restart"""
    daemon = place.daemon(master=place.redis(), tcp=True, config=users(place)).admitted()
    user, boss, nobody = (daemon.client(tcp=True) for _ in range(3))
    expect_code(nobody("RESTART"), "NOAUTH")
    expect(user("AUTH", "user", "password"), "OK")
    expect_code(user("RESTART"), "NOPERM")
    expect_code(user("RESTART", "now"), "ERR")
    expect(handovers(daemon), 0)
    expect(boss("AUTH", "boss", "password"), "OK")
    expect(len(boss("RESTART")), 10)
    expect(handovers(daemon), 1)
    expect_code(user("RESTART"), "NOPERM")


# --- what can go wrong ----------------------------------------------------------------------------------------------


BRISK = "lease: 2s\n"


def copied_daemon(place, config=BRISK):
    """A daemon whose program may be replaced, a client that holds a lock, and one that waits."""
    daemon = place.idle_daemon(master=place.redis(), config=config)
    path = errands.copy_of_daemon(place)
    daemon.wrap = ["sh", "-c", "shift; exec %s \"$@\"" % path, "sh"]
    daemon.start().admitted()
    holder, waiter = daemon.client(), daemon.client()
    token = granted(holder("LOCK", "a"))
    waiter.send("LOCK", "a")
    daemon.queued("a")
    return daemon, path, holder, waiter, token


def goes_on(holder, waiter, token):
    held(holder, "a", token)
    expect(holder("UNLOCK", "a"), 0)
    expect_between(waiter.reply(), token + 1, 2 ** 53)


def test_program_is_missing(place):
    """without a program the old process goes on and says why; as soon as it is there again it is handed over"""
    daemon, path, holder, waiter, token = copied_daemon(place)
    os.rename(path, path + ".away")
    admin = daemon.client()
    answer = admin("RESTART")
    expect_code(answer, "ERR")
    expect(answer.endswith("; this process goes on"), True, answer)
    daemon.output.wait("handover.failed")
    held(holder, "a", token)
    granted(admin("LOCK", "fresh", "WAIT", 45000))
    with open(path, "w", encoding="ascii") as stream:
        stream.write("no program")
    os.chmod(path, 0o755)
    expect_code(admin("RESTART"), "ERR")
    daemon.process.signal(signal.SIGUSR2)
    harness.until("both were refused", lambda: daemon.output.text().count("handover.failed") >= 3)
    granted(admin("LOCK", "another", "WAIT", 45000))
    expect(handovers(daemon), 0)
    os.rename(path + ".away", path)
    expect(len(admin("RESTART")), 10)
    goes_on(holder, waiter, token)


def test_versions(place):
    """up to a newer version and down again: all is kept, and RESTART and INFO name the version that serves"""
    daemon, path, holder, waiter, token = copied_daemon(place)
    mine = now = daemon.info()["holdfast_version"]
    other = mine[:-1] + ("7" if mine[-1] != "7" else "8")
    for version in (other, mine, other, mine):
        errands.copy_of_version(path, now, version)
        now = version
        with daemon.client(form=3) as admin:
            expect(admin("RESTART")["version"], version)
        expect(daemon.info()["holdfast_version"], version)
        held(holder, "a", token)
    goes_on(holder, waiter, token)


def replace(path, text):
    with open(path + ".new", "w", encoding="utf-8") as stream:
        stream.write(text)
    os.chmod(path + ".new", 0o755)
    os.rename(path + ".new", path)


def test_state_is_damaged(place):
    """a state that is cut off or damaged is refused: once in the log, all connections are closed, and the daemon serves anew"""
    for number, damage in enumerate(("os.ftruncate(state, os.fstat(state).st_size // 2)",
                                     "os.ftruncate(state, os.fstat(state).st_size - 1)",
                                     "os.ftruncate(state, 0)",
                                     "os.pwrite(state, b'\\0' * 8, 0)",
                                     "os.pwrite(state, b'\\xff' * 64, 64)",
                                     "os.pwrite(state, b'\\xff' * 64, 320)")):
        inner = harness.Place()
        try:
            daemon, path, holder, waiter, _token = copied_daemon(inner)
            os.rename(path, path + ".real")
            replace(path, STEP_BETWEEN % (sys.executable, damage, path + ".real"))
            mark = daemon.output.mark()
            daemon.process.signal(signal.SIGUSR2)
            for client in (holder, waiter):
                expect(client.closed(), True, damage)
            _, _, refused = daemon.output.wait("handover.refused why=", mark)
            daemon.output.wait("daemon.started", refused)
            daemon.admitted()
            expect(daemon.output.text().count("handover.refused"), 1, damage)
            expect(handovers(daemon), 0, damage)
        finally:
            inner.done()
        harness.comment("%d: %s" % (number, damage))


def test_state_is_damaged_with_a_private_master(place):
    """if the state is refused, the redis-server of the process before ends, and the new one guards for what was told"""
    daemon = place.idle_daemon(config=BRISK + "restart-guard: auto\n")
    path = errands.copy_of_daemon(place)
    daemon.wrap = ["sh", "-c", "shift; exec %s \"$@\"" % path, "sh"]
    daemon.start().admitted()
    holder = daemon.client()
    token = granted(holder("LOCK", "a", "WAIT", 45000))
    before, = tool.children(daemon.process.pid)
    told = harness.boottime() + holder("CHECK", "a") / 1000
    os.rename(path, path + ".real")
    replace(path, STEP_BETWEEN % (sys.executable, "os.ftruncate(state, os.fstat(state).st_size - 1)", path + ".real"))
    daemon.process.signal(signal.SIGUSR2)
    _, _, refused = daemon.output.wait("handover.refused why=")
    daemon.output.wait("daemon.started", refused)
    expect(holder.closed(), True)
    expect_between(daemon.client()("LOCK", "a", "WAIT", 45000), token + 1, 2 ** 53)
    harness.expect_not_before(harness.boottime(), told, "the next holder", 0.01)
    after, = tool.children(daemon.process.pid)
    expect(after != before, True)


def test_state_is_damaged_with_an_inherited_socket(place):
    """if the state is refused, the new daemon listens at the socket that the service manager passed to the one before"""
    daemon = place.idle_daemon(master=place.redis(), config=BRISK)
    path = errands.copy_of_daemon(place)
    manager = place.keep(resp.socket.socket(resp.socket.AF_UNIX))
    manager.bind(daemon.socket)
    manager.listen(16)
    daemon.wrap = ["sh", "-c", "shift; exec 3<&%d; LISTEN_PID=$$ LISTEN_FDS=1 exec %s \"$@\"" % (manager.fileno(), path), "sh"]
    daemon.inherit = (manager.fileno(),)
    daemon.start().admitted()
    pid = daemon.info()["process_id"]
    os.rename(path, path + ".real")
    for damage in ("os.ftruncate(state, os.fstat(state).st_size - 1)", UNKNOWN_RECORD):
        replace(path, STEP_BETWEEN % (sys.executable, damage, path + ".real"))
        mark = daemon.output.mark()
        client = daemon.client()
        daemon.process.signal(signal.SIGUSR2)
        expect(client.closed(), True, damage)
        _, _, refused = daemon.output.wait("handover.refused why=", mark)
        daemon.output.wait("daemon.started", refused)
        daemon.admitted()
        expect(daemon.info()["process_id"], pid, damage)
    expect(daemon.terminate(), 0)
    expect(os.path.exists(daemon.socket), True, "the manager's socket")
    os.unlink(daemon.socket)


def test_wrong_configuration(place):
    """with a configuration that has an error, or with which the state would be useless, the old process goes on and says why"""
    daemon, _path, holder, waiter, token = copied_daemon(place)
    master = daemon.master
    for wrong, word in (("leese: 2s\n", "leese"), ("log: { to: /nowhere/log }\n", "/nowhere/log"), ("rules: [ { match: a, key: 'mine:%' } ]\n", "key or interop"), (None, "masters")):
        daemon.master = master if wrong else ""
        daemon.configure(BRISK + (wrong or ""))
        told = daemon.client()("RESTART")
        expect_code(told, "ERR")
        expect(word in told, True, told)
        held(holder, "a", token)
    daemon.process.signal(signal.SIGUSR2)
    harness.until("that was refused, too", lambda: daemon.output.text().count("handover.failed") >= 5)
    daemon.master = master
    daemon.configure(BRISK + "rules: [ { match: 'q*', wait: 0ms } ]\n")
    expect(len(daemon.client()("RESTART")), 10)
    first = daemon.client()
    granted(first("LOCK", "q1"))
    expect(daemon.client()("LOCK", "q1"), None, "the new configuration counts")
    goes_on(holder, waiter, token)


def test_private_program_is_missing(place):
    """without the program of the private redis-server, or with another one that is missing, the old process goes on and says why"""
    program = os.path.join(place.path, "redis-server")
    shutil.copy(shutil.which("redis-server") or shutil.which("valkey-server"), program)
    daemon = place.daemon()
    config = "embedded: { directory: %s, redis-server: %s }\n" % (os.path.join(daemon.folder, "redis"), "%s")
    daemon.terminate()
    daemon.configure(config % program)
    daemon.start().admitted()
    holder, admin = daemon.client(), daemon.client()
    token = granted(holder("LOCK", "a"))
    os.rename(program, program + ".away")
    for path in (program, "/nowhere/redis-server"):
        daemon.configure(config % path)
        told = admin("RESTART")
        expect_code(told, "ERR")
        expect("cannot run %s" % path in told, True, told)
        held(holder, "a", token)
    os.rename(program + ".away", program)
    daemon.configure(config % program)
    expect(len(admin("RESTART")), 10)
    held(holder, "a", token)


def test_other_namespace(place):
    """with another namespace in the configuration the old process goes on, and says so"""
    daemon, _path, holder, waiter, token = copied_daemon(place)
    daemon.configure(BRISK + "namespace: other\n")
    answer = daemon.client()
    answer.send("RESTART")
    told = answer.reply()
    expect_code(told, "ERR")
    expect("namespace" in told, True, told)
    goes_on(holder, waiter, token)


def test_twice_at_once(place):
    """a restart that is asked for while one is under way is another one, or is told so; nothing is lost"""
    daemon, _path, holder, waiter, token = copied_daemon(place)
    admins = [daemon.client(form=3) for _ in range(8)]
    for admin in admins:
        admin.send("RESTART")
    for _ in range(5):
        daemon.process.signal(signal.SIGUSR2)
    answers = [admin.reply() for admin in admins]
    good = sum(isinstance(one, dict) for one in answers)
    expect_between(good, 1, len(admins))
    for one in answers:
        expect(isinstance(one, dict) or one.startswith("ERR this daemon is being handed over"), True, one)
    expect_between(handovers(daemon), good, good + 5)
    goes_on(holder, waiter, token)


def test_end_meanwhile(place):
    """SIGTERM or DRAIN during a restart ends the daemon as always"""
    for number in range(6):
        daemon = place.daemon("d%d" % number, master=place.redis("r%d" % number)).admitted()
        holder, admin = daemon.client(), daemon.client()
        granted(holder("LOCK", "a"))
        if number % 2:
            daemon.process.signal(signal.SIGUSR2)
            daemon.process.signal(signal.SIGTERM)
        else:
            admin.send_raw(resp.encode("RESTART") + resp.encode("DRAIN"))
        expect(daemon.process.wait(), 0)
        expect(holder.closed(), True)


def test_restart_after_drain(place):
    """a daemon that waits for its holders is not handed over"""
    daemon = place.daemon(master=place.redis()).admitted()
    holder, admin = daemon.client(), daemon.client()
    granted(holder("LOCK", "a"))
    admin.send("DRAIN", "WAIT", 3600000)
    harness.until("it drains", lambda: daemon.info()["draining"] == "1")
    expect_code(daemon.client()("RESTART"), "DRAINING")
    daemon.process.signal(signal.SIGUSR2)
    daemon.output.wait("handover.failed")
    expect(holder("UNLOCK", "a"), 0)
    expect(admin.reply(), 0)
    expect(daemon.process.wait(), 0)


def test_killed_half_way(place):
    """a process that is killed while it hands over leaves all or nothing, and never two holders"""
    stage, manager = kept_stage(place, place.redis(), "lease: 2s\n")
    daemon = stage.daemon
    kept = 0
    for number in range(12):
        holder = daemon.client()
        name = "k%d" % number
        token = granted(holder("LOCK", name, "WAIT", 45000))
        daemon.process.signal(signal.SIGTERM)
        # From before it has begun to after it has ended.
        daemon.process.output.thread.join(number * 0.001)
        manager.kill()
        manager.start()
        try:
            held(holder, name, token)
            kept += 1
        except (resp.Closed, BrokenPipeError):
            expect_between(daemon.client()("LOCK", name, "WAIT", 45000), token + 1, 2 ** 53)
        daemon.admitted()
    harness.comment("%d of 12 were handed over" % kept)


def test_store_is_too_small(place):
    """if the service manager keeps too few descriptors, SIGTERM is what it was: holders are told, and the log says why"""
    daemon = place.idle_daemon(master=place.redis(), config=BRISK)
    manager = Manager(daemon, most=2)
    manager.start()
    daemon.admitted()
    holder = daemon.client()
    granted(holder("LOCK", "a"))
    crowd = [daemon.client() for _ in range(4)]
    expect([client("PING") for client in crowd], ["PONG"] * 4)
    expect(daemon.terminate(), 0)
    daemon.output.wait("handover.failed why=.*FileDescriptorStoreMax=")
    expect(holder.closed(), True)
    expect(manager.apart(), [])
    manager.start()
    daemon.admitted()


def test_out_of_descriptors(place):
    """with no descriptor left the old process goes on, or is handed over: no client is lost"""
    daemon = place.idle_daemon(master=place.redis(), config="limits: { clients: 100 }\n")
    daemon.wrap = ["prlimit", "--nofile=70:70"]
    daemon.start().admitted()
    admin, holder = daemon.client(), daemon.client()
    token = granted(holder("LOCK", "a"))
    crowd = [daemon.client() for _ in range(80)]
    answer = admin("RESTART")
    harness.comment(answer)
    held(holder, "a", token)
    for client in crowd:
        client.close()
    # It has to notice that they are closed first.
    harness.until("it is handed over", lambda: isinstance(admin("RESTART"), list))
    held(holder, "a", token)


if __name__ == "__main__":
    harness.main(globals())
