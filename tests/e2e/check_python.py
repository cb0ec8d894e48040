#!/usr/bin/env python3
"""The Python package in client/python against a real daemon: what it does with losses, restarts, kills, forks, threads,
tasks and event loops, and the programs of its document."""

import asyncio
import concurrent.futures
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
import warnings

import harness
import proxy
import tool
from harness import BRISK, PATIENCE, boottime, expect, expect_between, expect_not_before

PACKAGE = os.path.join(harness.ROOT, "client", "python")
sys.path.insert(0, PACKAGE)

import holdfast  # noqa: E402
from holdfast import _core  # noqa: E402

QUIET = "log: { level: info }\n"
LOSSES = 200


def world(place, config="", redis=None, **options):
    """A daemon that is the default one of the package, in this process and in its children."""
    daemon = place.daemon(master=redis or place.redis(), config=config, **options).admitted()
    os.environ["HOLDFAST_URL"] = daemon.socket
    return daemon


def client_of(daemon, **options):
    return holdfast.Client(daemon.socket, **options)


def program(place, text, **options):
    """A program that uses the package, as a process of its own."""
    environment = {"PYTHONPATH": PACKAGE, "PYTHONDONTWRITEBYTECODE": "1"}
    environment.update(options.pop("environment", {}))
    return place.run(sys.executable, "-c", "import holdfast, os, sys, time\n" + text, environment=environment, **options)


def ours(daemon):
    """What the daemon says of this process."""
    with daemon.client(form=3) as client:
        found = [one for one in client("SESSIONS")[1] if "check_python" in one["client"]]
    return found[0] if found else {"grants": 0, "waiters": 0}


def nothing_left(daemon):
    """Waits until this process holds nothing and waits for nothing."""
    harness.until("nothing is left", lambda: (ours(daemon)["grants"], ours(daemon)["waiters"]) == (0, 0))


def free(daemon, name):
    """Another client gets the name at once: the lease would end after the patience."""
    with daemon.client() as client:
        expect(isinstance(client("LOCK", name, "WAIT", int(PATIENCE * 800)), int), True, "%s is free" % name)
        client("UNLOCK", name)


def taken(daemon, name):
    """No other client gets the name."""
    with daemon.client() as client:
        expect(client("LOCK", name, "WAIT", 0), None, "%s is held" % name)


def raises(kind, call):
    try:
        result = call()
    except kind as error:
        return error
    raise AssertionError("expected %s, got %r" % (kind.__name__, result))


def cut(daemon):
    """The daemon closes all connections of the package in this process; how many."""
    with daemon.client() as admin:
        lines = admin("CLIENT", "LIST").splitlines()
        found = [re.search(r"\bid=(\d+)", line).group(1) for line in lines if "name=check_python" in line]
        for number in found:
            admin("CLIENT", "KILL", "ID", number)
    return len(found)


# --- one lock -------------------------------------------------------------------------------------------------------


def test_parser(_place):
    """answers are read the same however they are cut into pieces"""
    answers = b"+QUEUED\r\n:17\r\n_\r\n$-1\r\n-LOST broken by hand\r\n>3\r\n$5\r\ngrant\r\n$1\r\n1\r\n:5\r\n%1\r\n+a\r\n$2\r\n\r\n\r\n"
    wanted = ["QUEUED", 17, None, None, ("LOST", "broken by hand"), ["grant", "1", 5], ["a", "\r\n"]]
    for size in range(1, len(answers) + 1):
        data, found = b"", []
        for start in range(0, len(answers), size):
            data += answers[start:start + size]
            while True:
                one = _core.parse(data)
                if one is None:
                    break
                found.append(one[0])
                data = data[one[1]:]
        expect((found, data), (wanted, b""))
    raises(holdfast.DaemonUnreachable, lambda: _core.parse(b"HTTP/1.1 400\r\n"))


def test_lock(place):
    """a lock has a token and a validity, is busy for others, and is free afterwards"""
    daemon = world(place)
    with holdfast.lock("a", wait=PATIENCE) as lock:
        expect((lock.held, lock.lost), (True, False))
        expect_between(lock.valid_for(), 1, harness.LEASE_MS / 1000)
        lock.raise_if_lost()
        taken(daemon, "a")
        busy = raises(holdfast.LockBusy, holdfast.lock("a", wait=0).acquire)
        expect(isinstance(busy, holdfast.LockTimeout), False)
        first = lock.token
    free(daemon, "a")
    expect((lock.held, lock.lost, lock.valid_for()), (False, False, 0.0))
    raises(RuntimeError, lock.release)
    raises(RuntimeError, lambda: lock.token)
    expect(lock.acquire() > first, True, "the object serves for another hold")
    raises(RuntimeError, lock.acquire)
    lock.release()
    with daemon.client() as other:
        token = other("LOCK", "b")
        started = boottime()
        late = raises(holdfast.LockTimeout, holdfast.lock("b", wait=0.3).acquire)
        expect_not_before(boottime(), started + 0.3, "the timeout")
        expect(isinstance(late, TimeoutError), True)
        expect(other("CHECK", "b", "TOKEN", token) > 0, True)
    nothing_left(daemon)


def test_kinds(place):
    """readers, permits, leases, limits of a hold, owners, and several locks at once"""
    daemon = world(place)
    lock = holdfast.lock
    with lock("a", shared=True), lock("a", shared=True):
        raises(holdfast.LockBusy, lock("a", wait=0).acquire)
    with lock("s", limit=3, permits=2, why="two of three"), lock("s", limit=3):
        raises(holdfast.LockBusy, lock("s", limit=3, wait=0).acquire)
        expect(raises(holdfast.LockRefused, lock("s", wait=0).acquire).code, "WRONGKIND")
    with lock("l", lease=30) as leased:
        expect_between(leased.valid_for(), 0.1, 30)
        expect_between(leased.extend(50), 30, 50)
        expect_between(leased.valid_for(), 30, 50)
    with lock("d") as writer:
        expect(raises(holdfast.LockRefused, lambda: writer.extend(5)).code, "ERR")
        writer.downgrade()
        with lock("d", shared=True, wait=0):
            pass
    with lock("o", owner="me") as outer:
        with lock("o", owner="me", wait=0) as inner:
            expect(inner.token, outer.token)
        taken(daemon, "o")
        raises(holdfast.LockBusy, lock("o", owner="other", wait=0).acquire)
    free(daemon, "o")
    with holdfast.lock_all(["z", "y"], wait=0) as both:
        expect(sorted(both.tokens), ["y", "z"])
        raises(holdfast.LockBusy, holdfast.lock_all(["x", "y"], wait=0).acquire)
        free(daemon, "x")
    free(daemon, "z")
    raises(ValueError, lambda: lock("a", wait=-1))
    raises(ValueError, lambda: lock("a", shared=True, limit=2))
    nothing_left(daemon)


def test_errors(place):
    """each cause has an exception of its own, with the daemon's words"""
    redis = place.redis()
    daemon = world(place, redis=redis)
    expect(raises(holdfast.LockRefused, holdfast.lock("a b").acquire).code, "ERR")
    nowhere = holdfast.Client(os.path.join(place.path, "none"), connect_timeout=0.2)
    started = boottime()
    error = raises(holdfast.DaemonUnreachable, nowhere.lock("a").acquire)
    expect_not_before(boottime(), started + 0.2, "it gives up")
    expect((isinstance(error, ConnectionError), "none" in str(error)), (True, True), str(error))
    raises(holdfast.DaemonUnreachable, nowhere.lock("a", wait=0).acquire)
    for url in ("ftp://a:1", "name", "", "unix:", "redis://user@host:1", "host:0", "redis://h:1/2"):
        raises(ValueError, lambda url=url: holdfast.Client(url))
    redis.kill()
    refused = raises(holdfast.LockRefused, holdfast.lock("b", wait=0.2).acquire)
    expect(refused.code in ("NOMASTER", "GUARD"), True, refused.code)
    nothing_left(daemon)


# --- losses ---------------------------------------------------------------------------------------------------------


def told_sync(daemon, admin, number):
    """Seconds from BREAK to the callback, and what the holder gets."""
    told = []
    event = threading.Event()
    lock = holdfast.lock("sync-%d" % number, on_lost=lambda loss: (told.append(boottime()), event.set()))
    lock.acquire()
    sent = boottime()
    admin("BREAK", lock.name, "TOKEN", lock.token)
    expect(event.wait(PATIENCE), True, "told")
    expect(lock.lost, True)
    expect(raises(holdfast.LockLost, lock.raise_if_lost).reason, "broken")
    expect(raises(holdfast.LockLost, lock.release).reason, "broken")
    return told[0] - sent


async def told_task(daemon, admin, number):
    """The same for a task: it is cancelled while it works, and async with raises LockLost."""
    sent = told = 0.0
    try:
        async with holdfast.aio.lock("aio-%d" % number) as lock:
            sent = boottime()
            admin.send("BREAK", lock.name, "TOKEN", lock.token)
            try:
                await asyncio.sleep(PATIENCE)
            except asyncio.CancelledError:
                told = boottime()
                raise
    except holdfast.LockLost as loss:
        expect((loss.reason, loss.name), ("broken", lock.name))
        admin.reply()
        return told - sent
    raise AssertionError("the task was not told")


def test_told_while_working(place):
    """a holder is told of its loss while it works: a callback, or the cancellation of its task"""
    daemon = world(place, QUIET)
    admin = daemon.client()

    async def tasks():
        return [await told_task(daemon, admin, number) for number in range(LOSSES // 2)]

    times = sorted([told_sync(daemon, admin, number) for number in range(LOSSES // 2)] + asyncio.run(tasks()))
    p99 = times[len(times) * 99 // 100]
    harness.comment("of %d losses told: median %.1f ms, p99 %.1f ms, longest %.1f ms" % (
        len(times), times[len(times) // 2] * 1000, p99 * 1000, times[-1] * 1000))
    harness.took(p99, 0.020, "from BREAK to the holder, p99")
    nothing_left(daemon)


def test_loss_is_never_swallowed(place):
    """a body that ends well after its lock was lost ends with LockLost; its own exception goes first"""
    daemon = world(place)
    admin = daemon.client()

    def body(error=None):
        with holdfast.lock("a-%s" % bool(error)) as lock:
            admin("BREAK", lock.name, "TOKEN", lock.token)
            if error:
                raise error
    raises(holdfast.LockLost, body)
    raises(KeyError, lambda: body(KeyError("own")))

    async def swallow():
        async with holdfast.aio.lock("b") as lock:
            admin("BREAK", lock.name, "TOKEN", lock.token)
            while not lock.lost:
                time.sleep(0.001)  # no await: the cancellation comes too late for the body
    task = raises(holdfast.LockLost, lambda: asyncio.run(swallow()))
    expect(task.reason, "broken")

    async def goes_on():
        raises_here = None
        try:
            async with holdfast.aio.lock("c") as lock:
                admin("BREAK", lock.name, "TOKEN", lock.token)
                await asyncio.sleep(PATIENCE)
        except holdfast.LockLost as loss:
            raises_here = loss
        await asyncio.sleep(0)
        expect(getattr(asyncio.current_task(), "cancelling", lambda: 0)(), 0, "no cancellation is left")
        return raises_here.reason
    expect(asyncio.run(goes_on()), "broken")

    async def many():
        async with holdfast.aio.lock_all(["d", "e"]) as both:
            admin("BREAK", "d", "TOKEN", both.tokens["d"])
            await asyncio.sleep(PATIENCE)
    expect(raises(holdfast.LockLost, lambda: asyncio.run(many())).name, "d")
    free(daemon, "e")


def test_interrupt(place):
    """interrupt=True ends a blocking call of the main thread, and with raises LockLost"""
    daemon = world(place)
    admin = daemon.client()

    def work(seconds):
        with holdfast.lock("a-%g" % seconds, interrupt=True) as lock:
            threading.Timer(0.05, admin, ("BREAK", lock.name, "TOKEN", lock.token)).start()
            harness.until("lost", lambda: lock.lost) if not seconds else time.sleep(seconds)
    started = boottime()
    expect(raises(holdfast.LockLost, lambda: work(PATIENCE)).reason, "broken")
    expect_between(boottime() - started, 0, PATIENCE * 0.9)
    raises(holdfast.LockLost, lambda: work(0))
    caught = 0
    for number in range(200):  # the loss comes at any moment of the end of the with statement
        try:
            with holdfast.lock("w-%d" % number, interrupt=True) as lock:
                admin.send("BREAK", lock.name, "TOKEN", lock.token)
                end = boottime() + number % 20 * 0.0001
                while boottime() < end:
                    pass
        except holdfast.LockLost:
            caught += 1
        for _ in range(1000):
            pass
        admin.reply()
    harness.comment("%d of 200 were lost before their end" % caught)
    wrong = []
    thread = threading.Thread(target=lambda: wrong.append(raises(RuntimeError, holdfast.lock("b", interrupt=True).acquire)))
    thread.start()
    thread.join()
    expect(len(wrong), 1)


def test_daemon_gone(place):
    """if the daemon is killed and does not come back, holders are told when the told deadline has passed, and not before"""
    daemon = world(place, BRISK)
    told = []
    event = threading.Event()

    async def task():
        async with holdfast.aio.lock("b") as lock:
            lasted = lock.valid_for()
            daemon.kill()
            expect(lasted > 0, True)
            await asyncio.sleep(PATIENCE)
    with holdfast.lock("c") as short:
        expect_between(short.valid_for(), 0.01, 2)
    lock = holdfast.lock("a", on_lost=lambda loss: (told.append((boottime(), loss)), event.set()))
    lock.acquire()
    expect(raises(holdfast.LockLost, lambda: asyncio.run(task())).reason, "unreachable")
    expect(event.wait(PATIENCE), True)
    expect(told[0][1].reason, "unreachable")
    deadline = lock._claim.hold.deadline
    expect_not_before(told[0][0], deadline, "told of the loss")
    harness.took(told[0][0] - deadline, 0.020, "from the told deadline to the holder")
    raises(holdfast.LockLost, lock.release)


def test_lease_ends(place):
    """a lease that is over is a loss, though the daemon tells nobody"""
    daemon = world(place)
    event = threading.Event()
    lock = holdfast.lock("a", lease=0.3, on_lost=lambda loss: event.set())
    lock.acquire()
    expect(event.wait(PATIENCE), True)
    expect(raises(holdfast.LockLost, lock.release).reason, "lease")
    free(daemon, "a")


# --- connections and restarts ---------------------------------------------------------------------------------------


def test_restart(place):
    """holdfast restart: holds keep their tokens, waits their places, and nobody is told anything"""
    daemon = world(place)
    losses = []
    held = holdfast.lock("a", on_lost=losses.append)
    token = held.acquire()
    other = daemon.client()
    other("LOCK", "b")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        waiter = pool.submit(holdfast.lock("b", wait=PATIENCE).acquire)
        daemon.queued("b")
        for _ in range(5):
            status, output = tool.call(place, daemon, "restart")
            expect(status, 0, output)
            expect(held.held, True)
            taken(daemon, "a")
        other("UNLOCK", "b")
        expect(isinstance(waiter.result(PATIENCE), int), True)
    expect((held.token, losses), (token, []))
    held.release()
    free(daemon, "a")


def test_cut(place):
    """a connection that is cut loses neither hold nor place; a daemon that was told to close it 20 times keeps both"""
    daemon = world(place)
    losses = []
    held = holdfast.lock("a", on_lost=losses.append)
    held.acquire()
    other, behind = daemon.client(), daemon.client()
    other("LOCK", "b")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        waiter = pool.submit(holdfast.lock("b", wait=PATIENCE).acquire)
        daemon.queued("b")
        behind.send("LOCK", "b")
        daemon.queued("b", 2)
        for _ in range(20):
            expect(cut(daemon), 1)
            harness.until("connected again", lambda: ours(daemon).get("connections") == 1)
            taken(daemon, "a")
        other("UNLOCK", "b")
        expect(isinstance(waiter.result(PATIENCE), int), True, "before the one behind it")
    expect((held.held, losses), (True, []))
    held.release()
    free(daemon, "a")


def test_killed_daemon_returns(place):
    """after a crash of the daemon a holder has its lock with the same token, or is told; never neither"""
    daemon = world(place, BRISK)
    event = threading.Event()
    lock = holdfast.lock("a", on_lost=lambda loss: event.set())
    token = lock.acquire()
    daemon.kill()
    daemon.start()
    with daemon.client() as client:
        def known():
            if event.is_set():
                return True
            holder = client("INSPECT", "a")
            return str(token) in str(holder) and ours(daemon)["grants"] > 0
        harness.until("held or told", known)
    if event.is_set():
        raises(holdfast.LockLost, lock.release)
    else:
        lock.release()
    daemon.admitted()
    with holdfast.lock("a", wait=PATIENCE) as again:
        expect(again.token > token, True)


def with_login(place, text=""):
    path = os.path.join(place.path, "password")
    with open(path, "w", encoding="ascii") as stream:
        stream.write("pass word\n")
    os.chmod(path, 0o600)
    return "users:\n  - { name: app, password-file: %s }\n%s" % (path, text)


def test_tcp(place):
    """over TCP with a login: a cut and a silent network are no loss, a wrong password is told"""
    daemon = world(place, with_login(place), tcp=True)
    net = proxy.Proxy(daemon.tcp)
    place.ends.append(net.close)
    client = holdfast.Client("redis://app:pass%%20word@127.0.0.1:%d" % net.address[1])
    losses = []
    with client.lock("a", on_lost=losses.append) as lock:
        taken(daemon, "a")
        for _ in range(3):
            net.reset()
            with client.lock("b", wait=PATIENCE):
                taken(daemon, "a")
        net.hold(proxy.UP, proxy.DOWN)
        waiting = threading.Thread(target=lambda: client.lock("c", wait=PATIENCE).acquire())
        waiting.start()
        harness.until("the silence is noticed", lambda: len(net.pairs) > 1)
        net.go()
        waiting.join(PATIENCE)
        expect((waiting.is_alive(), losses, lock.held), (False, [], True))
    free(daemon, "a")
    wrong = holdfast.Client("redis://app:wrong@127.0.0.1:%d" % daemon.port)
    expect(raises(holdfast.LockRefused, wrong.lock("a").acquire).code, "WRONGPASS")
    expect(raises(holdfast.LockRefused, holdfast.Client("127.0.0.1:%d" % daemon.port).lock("a").acquire).code, "NOAUTH")


def test_nothing_left_after_cuts(place):
    """8 threads lock 4 names while connections are cut at random: no overlap, no lost count, nothing is left locked"""
    daemon = world(place, QUIET)
    counts, inside, ends = [0] * 4, [0] * 4, threading.Event()
    overlaps, errors, done = [], [], [0]

    def work(number):
        chance = random.Random(number)
        while not ends.is_set():
            name = chance.randrange(4)
            try:
                with holdfast.lock("n%d" % name, wait=chance.choice((0, 0.001, 0.01, PATIENCE))):
                    inside[name] += 1
                    if inside[name] != 1:
                        overlaps.append(name)
                    counts[name] += 1
                    inside[name] -= 1
                    done[0] += 1
            except holdfast.LockBusy:
                pass
            except holdfast.LockRefused as error:
                if error.code != "NOMASTER":  # a wait that is shorter than the master's answer
                    errors.append(error)
            except BaseException as error:
                errors.append(error)
    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    cuts = 0
    while cuts < 60 and not errors:
        cuts += cut(daemon)
        time.sleep(random.random() * 0.02)  # no event: a cut may come at any time
    ends.set()
    for thread in threads:
        thread.join(PATIENCE)
    expect((overlaps, errors, any(thread.is_alive() for thread in threads)), ([], [], False))
    nothing_left(daemon)
    for name in range(4):
        free(daemon, "n%d" % name)
    harness.comment("%d locks, %d cuts" % (done[0], cuts))


# --- processes ------------------------------------------------------------------------------------------------------


def test_killed_holder(place):
    """the lock of a killed process is free at once, however long its grace is; so is the place of one that waited"""
    daemon = world(place)
    for text in ("lock.acquire(); print('held', flush=True); time.sleep(600)",
                 "print('held', flush=True); lock.acquire()"):
        blocker = daemon.client()
        if text.startswith("print"):
            blocker("LOCK", "a")
        process = program(place, "lock = holdfast.Client(grace=600).lock('a')\n" + text)
        process.output.wait("^held")
        if text.startswith("print"):
            daemon.queued("a")
        process.kill()
        blocker("UNLOCK", "a")
        free(daemon, "a")


FORKED = """
lock = holdfast.lock("a", wait=60)
with lock:
    child = os.fork()
    if child == 0:
        assert (lock.held, lock.valid_for(), lock.lost) == (False, 0.0, True)
        try:
            lock.raise_if_lost()
            os._exit(3)
        except holdfast.LockLost as loss:
            assert loss.reason == "forked", loss.reason
        with holdfast.lock("b", wait=60) as own:
            assert own.held
            %s
    else:
        print("child", child, flush=True)
        os.waitpid(child, 0) if %r else time.sleep(600)
        lock.raise_if_lost()
        assert lock.held
        print("held", lock.token, flush=True)
        sys.stdin.readline()
print("left", os.getpid(), flush=True)
"""


def test_fork(place):
    """a forked child has no lock, locks by itself, leaves the with statement, and gives back nothing of its parent"""
    daemon = world(place)
    parent = program(place, FORKED % ("pass", True), stdin=subprocess.PIPE)
    parent.output.wait("^held")
    expect("left" in parent.output.text(), True, "the child left its with")
    taken(daemon, "a")
    free(daemon, "b")
    parent.process.stdin.close()
    expect(parent.wait(), 0, parent.output.text())
    free(daemon, "a")


def test_fork_outlives_parent(place):
    """a child that lives on does not keep the lock of its parent, on a Unix socket and over TCP"""
    daemon = world(place, with_login(place, "lease: 5s\n"), tcp=True)
    for url in (daemon.socket, "redis://app:pass%%20word@127.0.0.1:%d" % daemon.port):
        parent = program(place, FORKED % ("print('child works', flush=True); time.sleep(600)", False),
                         environment={"HOLDFAST_URL": url})
        child = int(parent.output.wait(r"^child (\d+)")[1].group(1))
        parent.output.wait("^child works")
        os.kill(parent.pid, signal.SIGKILL)
        try:
            free(daemon, "a")
            taken(daemon, "b")
        finally:
            os.kill(child, signal.SIGKILL)
        parent.wait()


def test_exit(place):
    """a program that ends without releasing leaves nothing, and one that waits is ended by Control-C"""
    daemon = world(place)
    process = program(place, "lock = holdfast.lock('a'); lock.acquire()")
    expect(process.wait(), 0, process.output.text())
    free(daemon, "a")
    blocker = daemon.client()
    blocker("LOCK", "a")
    process = program(place, "try:\n    holdfast.lock('a').acquire()\nexcept KeyboardInterrupt:\n"
                      "    print('interrupted', flush=True)\n    sys.stdin.readline()", stdin=subprocess.PIPE)
    daemon.queued("a")
    process.signal(signal.SIGINT)
    process.output.wait("^interrupted")
    blocker("UNLOCK", "a")
    free(daemon, "a")
    process.process.stdin.close()
    expect(process.wait(), 0, process.output.text())


# --- threads, tasks and event loops ---------------------------------------------------------------------------------


def test_pool(place):
    """a pool of 16 threads increments a number under a lock, and no increment is lost"""
    daemon = world(place, QUIET)
    number = [0]

    def increment(_):
        with holdfast.lock("counter", wait=PATIENCE):
            seen = number[0]
            time.sleep(0)
            number[0] = seen + 1
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        list(pool.map(increment, range(400)))
    expect(number[0], 400)
    nothing_left(daemon)


def test_cancelled(place):
    """a cancelled task leaves neither a hold nor a wait, whenever the cancellation comes"""
    daemon = world(place)

    async def hold(name, ready=None):
        async with holdfast.aio.lock(name):
            if ready:
                ready.set()
            await asyncio.sleep(PATIENCE)

    async def all_ways():
        ready = asyncio.Event()
        holder = asyncio.ensure_future(hold("a", ready))
        await ready.wait()
        waiter = asyncio.ensure_future(hold("a"))
        while ours(daemon)["waiters"] < 1:
            await asyncio.sleep(0.01)
        for task in (waiter, holder):
            task.cancel()
        for result in await asyncio.gather(waiter, holder, return_exceptions=True):
            expect(isinstance(result, asyncio.CancelledError), True, repr(result))
        for steps in range(60):  # in every phase of an acquisition
            task = asyncio.ensure_future(hold("a"))
            for _ in range(steps % 20):
                await asyncio.sleep(0.0001 * (steps // 20))
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        raised = None
        async with holdfast.aio.lock("b"):
            try:
                await asyncio.wait_for(hold("b"), 0.05)
            except (TimeoutError, asyncio.TimeoutError) as error:
                raised = error
        expect(raised is not None, True)
    asyncio.run(all_ways())
    nothing_left(daemon)
    free(daemon, "a")


def test_closed_loop(place):
    """an event loop that is closed under its tasks leaves neither a hold nor a wait, though nothing is collected"""
    daemon = world(place)
    for fetched in (True, False):
        close_loop(daemon, fetched)


def close_loop(daemon, fetched):
    """Two tasks hold, and know it if fetched; one waits."""
    kept = []

    async def hold(name):
        async with holdfast.aio.lock(name) as lock:
            kept.append(lock)
            await asyncio.sleep(PATIENCE)
    loop = asyncio.new_event_loop()
    tasks = [loop.create_task(hold(name)) for name in ("a", "b", "a")]

    async def settled():
        await asyncio.sleep(0)
        while (ours(daemon)["grants"], ours(daemon)["waiters"]) != (2, 1) or fetched and len(kept) < 2:
            await asyncio.sleep(0.01 if fetched else 0)
    loop.run_until_complete(settled())
    loop.close()
    nothing_left(daemon)
    expect([lock.held for lock in kept], [False] * len(kept))
    for task in tasks:
        task._log_destroy_pending = False
    del tasks
    free(daemon, "a")


def test_forgotten(place):
    """a lock object that is thrown away while it holds is given back, with a ResourceWarning"""
    daemon = world(place)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        holdfast.lock("a").acquire()
        free(daemon, "a")
    expect([one.category for one in seen if "not released" in str(one.message)], [ResourceWarning])


COUNT = """
import asyncio, threading
path, tasks, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
def step(token):
    with open(path) as stream:
        number, last = map(int, stream.read().split())
    assert token > last, (token, last)
    with open(path, "w") as stream:
        stream.write("%d %d" % (number + 1, token))
def thread():
    with holdfast.lock("counter", wait=600) as lock:
        step(lock.token)
async def task():
    async with holdfast.aio.lock("counter", wait=600) as lock:
        await asyncio.sleep(0)
        step(lock.token)
async def main():
    await asyncio.gather(*[task() for _ in range(tasks)])
all = [threading.Thread(target=thread) for _ in range(threads)]
for one in all: one.start()
asyncio.run(main())
for one in all: one.join()
"""


def test_counter(place):
    """1,000 clients, threads and tasks of four processes at two daemons, increment a number once each; tokens grow"""
    redis = place.redis()
    daemons = [place.daemon(name, master=redis, config=QUIET).admitted() for name in ("d1", "d2")]
    path = os.path.join(place.path, "counter")
    with open(path, "w", encoding="ascii") as stream:
        stream.write("0 0")
    started = boottime()
    processes = [place.run(sys.executable, "-c", "import holdfast, os, sys, time\n" + COUNT, path, "200", "50",
                           environment={"PYTHONPATH": PACKAGE, "PYTHONDONTWRITEBYTECODE": "1",
                                        "HOLDFAST_URL": daemons[number % 2].socket}) for number in range(4)]
    for process in processes:
        expect(process.wait(timeout=600), 0, process.output.text())
    with open(path, encoding="ascii") as stream:
        expect(stream.read().split()[0], "1000")
    harness.comment("%.0f increments a second" % (1000 / (boottime() - started)))


# --- documents ------------------------------------------------------------------------------------------------------


def test_document(place):
    """every program of the package's document runs"""
    daemon = world(place)
    with open(os.path.join(PACKAGE, "README.md"), encoding="utf-8") as stream:
        programs = re.findall(r"```python\n(.*?)```", stream.read(), re.S)
    expect(len(programs) >= 6, True)
    for text in programs:
        process = program(place, text.replace("/run/holdfast/holdfast.sock", daemon.socket))
        expect(process.wait(), 0, text + process.output.text())
    harness.comment("%d programs" % len(programs))


def test_types(_place):
    """mypy --strict finds no fault"""
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.devnull, os.path.join(PACKAGE, "holdfast")]
    if subprocess.run([sys.executable, "-c", "import mypy"], stderr=subprocess.DEVNULL, check=False).returncode:
        raise harness.Skip("mypy is not here: python3 -m pip install mypy")
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    expect(done.returncode, 0, done.stdout.decode())


if __name__ == "__main__":
    harness.main(globals())
