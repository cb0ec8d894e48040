#!/usr/bin/env python3
"""The Python package in client/python: what is left of its locks after cuts, restarts, kills, forks, cancelled tasks and
closed event loops: all of it, or nothing."""

import asyncio
import concurrent.futures
import os
import random
import signal
import subprocess
import sys
import threading
import time
import warnings

import harness
import proxy
import tool
from clients import free, taken, with_login
from harness import BRISK, PATIENCE, boottime, expect
from package import cut, holdfast, nothing_left, ours, PACKAGE, program, QUIET, raises, world


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
    with holdfast.Client("redis://app:pass%%20word@localhost:%d" % daemon.port).lock("a", wait=PATIENCE):
        taken(daemon, "a")  # at the second address of the host, if ::1 is its first
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
def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())  # a line at once: parent and child share the pipe

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
        say("child", child)
        os.waitpid(child, 0) if %r else time.sleep(600)
        lock.raise_if_lost()
        assert lock.held
        say("held", lock.token)
        sys.stdin.readline()
say("left", os.getpid())
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
        parent = program(place, FORKED % ("say('child works'); time.sleep(600)", False),
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


def test_fault_of_the_package(place):
    """if the package's thread fails, holders and waiters are told, the daemon gives the names on, and later locks work"""
    daemon = world(place)
    event = threading.Event()
    held = holdfast.lock("a", on_lost=lambda loss: event.set())
    held.acquire()
    other = daemon.client()
    other("LOCK", "b")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        waiter = pool.submit(holdfast.lock("b").acquire)
        daemon.queued("b")
        held._engine._do(lambda: {}["fault"])
        expect(event.wait(PATIENCE), True, "told")
        expect("KeyError" in str(waiter.exception(PATIENCE)), True)
        expect(isinstance(waiter.exception(), holdfast.HoldfastError), True)
    expect(raises(holdfast.LockLost, held.release).reason, "failed")
    free(daemon, "a")
    other("UNLOCK", "b")
    with holdfast.lock("b", wait=PATIENCE), holdfast.lock("a", wait=PATIENCE):
        taken(daemon, "a")
    nothing_left(daemon)


def test_callback_ends_its_thread(place):
    """sys.exit() in on_lost does not end the thread that renews the other locks"""
    daemon = world(place, BRISK)
    admin = daemon.client()
    called = threading.Event()

    def leave(_loss):
        called.set()
        sys.exit(1)
    with holdfast.lock("a") as kept:
        lock = holdfast.lock("b", on_lost=leave)
        admin("BREAK", "b", "TOKEN", lock.acquire())
        expect(called.wait(PATIENCE), True)
        told = kept._claim.hold.deadline
        harness.until("a later deadline is known", lambda: kept._claim.hold.deadline > told)
        kept.raise_if_lost()
        raises(holdfast.LockLost, lock.release)


def test_callback_blocks(place):
    """while on_lost of another lock blocks the package's thread, release() of an overdue lock raises LockLost"""
    daemon = world(place, BRISK)
    admin = daemon.client()
    ends, called = threading.Event(), threading.Event()
    lock = holdfast.Client(connect_timeout=0.1).lock("a")
    lock.acquire()

    async def overdue():
        task = holdfast.aio.Client(connect_timeout=0.1).lock("c")
        await task.acquire()
        broken = holdfast.lock("b", on_lost=lambda loss: (called.set(), ends.wait(PATIENCE)))
        admin("BREAK", "b", "TOKEN", broken.acquire())
        expect(called.wait(PATIENCE), True)
        harness.until("overdue", lambda: lock.lost and task.lost)
        try:
            await task.release()
        except holdfast.LockLost as loss:
            return loss.reason, broken
        raise AssertionError("released")
    try:
        reason, broken = asyncio.run(overdue())
        expect(reason, "unreachable")
        expect(raises(holdfast.LockLost, lock.release).reason, "unreachable")
    finally:
        ends.set()
    raises(holdfast.LockLost, broken.release)


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


if __name__ == "__main__":
    harness.main(globals())
