#!/usr/bin/env python3
"""What the Python package in client/python tells of a wait that lasts: who has the lock, and the place in the queue; and what it
tells those who observe locks, and the log."""

import asyncio
import contextlib
import logging
import os
import pickle
import queue
import re
import subprocess
import sys
import threading
import time

import harness
from harness import BRISK, PATIENCE, boottime, expect, expect_between, expect_not_before
from package import PACKAGE, cut, holdfast, nothing_left, program, raises, world
from holdfast import _look  # which package.py makes known

HOLDER = "with holdfast.lock('a', why='the nightly import'):\n print(os.getpid(), flush=True)\n sys.stdin.read()"


def holding(place, **options):
    """A program that has the lock a, and its pid."""
    process = program(place, HOLDER, stdin=subprocess.PIPE, **options)
    return process, int(process.output.wait(r"^(\d+)$")[1].group(1))


def end(process):
    """Lets the program end."""
    process.process.stdin.close()
    expect(process.wait(), 0)


def test_holder(place):
    """the error of a wait that is over names who has the lock: its program, pid, why, and since when; a try names nobody"""
    daemon = world(place)
    process, pid = holding(place)
    error = raises(holdfast.LockTimeout, holdfast.lock("a", wait=0.3).acquire)
    expect((error.name, error.holder.pid, error.holder.uid, error.holder.why, error.holder.host, error.holder.withheld),
           ("a", pid, os.getuid(), "the nightly import", "", False))
    expect_between(error.holder.held_for, 0.3, PATIENCE)
    expect(bool(re.search(r'\(pid %d, "the nightly import"\) has had it for \d+\.\ds$' % pid, str(error))), True, str(error))
    error = raises(holdfast.LockTimeout, lambda: asyncio.run(holdfast.aio.lock("a", wait=0.1).acquire()))
    expect(error.holder.pid, pid)
    expect(raises(holdfast.LockBusy, holdfast.lock("a", wait=0).acquire).holder, None)
    error = raises(holdfast.LockTimeout, holdfast.lock_all(["a", "b"], wait=0.1).acquire)
    expect((error.name, error.holder.pid), ("a", pid))
    end(process)
    nothing_left(daemon)


def test_holder_elsewhere(place):
    """a holder at another daemon is named, with the host of that daemon"""
    redis = place.redis()
    world(place, redis=redis)
    other = place.daemon("other", master=redis).admitted()
    process, pid = holding(place, environment={"HOLDFAST_URL": other.socket})
    error = raises(holdfast.LockTimeout, holdfast.lock("a", wait=0.3).acquire)
    expect((error.holder.pid, error.holder.host != "", error.holder.why), (pid, True, "the nightly import"), str(error))
    end(process)


def test_holder_unknown(place):
    """who may not see is told of the timeout without a holder, and no later"""
    daemon = world(place, "users: [ { name: app, password-env: APP, may: [ lock ] } ]\n", tcp=True, environment={"APP": "secret-of-app"})
    client = holdfast.Client("redis://app:secret-of-app@127.0.0.1:%d" % daemon.tcp[1])
    told = queue.SimpleQueue()
    with daemon.client() as other:
        other("LOCK", "a")
        started = boottime()
        error = raises(holdfast.LockTimeout, client.lock("a", wait=1.3, on_wait=told.put).acquire)
        expect((error.holder, str(error)), (None, "'a' is held by another locker, also after 1.3 s"))
        expect_not_before(boottime(), started + 1.3, "it waits")
    expect(told.get(timeout=PATIENCE)[:3], ("a", None, None))


def test_holder_of_a_silent_daemon(place):
    """a daemon that stands still after it has said that the wait is over delays the error by half a second at most"""
    daemon = world(place)
    with daemon.client() as other:
        other("LOCK", "a")
        raises(holdfast.LockTimeout, holdfast.lock("a", wait=0.1).acquire)
        errors = queue.SimpleQueue()
        waiting = threading.Thread(target=lambda: errors.put(raises(holdfast.HoldfastError, holdfast.lock("a", wait=0.5).acquire)))
        waiting.start()
        daemon.queued("a")
        daemon.process.stop()
        expect(type(errors.get(timeout=PATIENCE)), holdfast.DaemonUnreachable)
        daemon.process.cont()
        waiting.join()
    nothing_left(daemon)


def test_on_wait(place):
    """a wait that lasts for a second is told who has the lock and its place, those in the package's own queue counted; again later"""
    daemon = world(place)
    process, pid = holding(place)
    told = queue.SimpleQueue()

    def wait(number):
        with holdfast.lock("a", wait=PATIENCE, on_wait=lambda info: told.put((number, info))):
            pass
    threads = [threading.Thread(target=wait, args=(number,)) for number in range(3)]
    for number, thread in enumerate(threads):
        thread.start()
        daemon.queued("a")
        while sum(len(hold.waiting) for hold in holdfast.lock("x").place.engine().core.holds.values()) <= number:
            pass
    first = {number: info for number, info in (told.get(timeout=PATIENCE) for _ in threads)}
    expect({number: info.position for number, info in first.items()}, {0: 1, 1: 2, 2: 3})
    for info in first.values():
        expect((info.name, info.holder.pid, info.holder.why), ("a", pid, "the nightly import"))
        expect_between(info.waited, 1, PATIENCE)
    expect_between(told.get(timeout=PATIENCE)[1].waited, 6, PATIENCE)
    end(process)
    for thread in threads:
        thread.join()
    nothing_left(daemon)


def test_on_wait_of_a_task(place):
    """the same in an event loop; what the function raises is logged, and the wait goes on"""
    daemon = world(place)
    process, pid = holding(place)

    async def main():
        told = []

        def on_wait(info):
            told.append((info, asyncio.get_running_loop()))
            process.process.stdin.close()
            raise ValueError("of the program")
        async with holdfast.aio.lock("a", wait=PATIENCE, on_wait=on_wait):
            expect([(info.holder.pid, info.position, loop) for info, loop in told], [(pid, 1, asyncio.get_running_loop())])
    asyncio.run(main())
    nothing_left(daemon)


def test_crowd_looks_once(place):
    """who has the lock is asked once for all that wait for it at a time"""
    daemon = world(place, BRISK)
    process, pid = holding(place)

    asked, ask = [], _look.Looks._ask
    _look.Looks._ask = lambda looks, name, *words: (asked.append(name), ask(looks, name, *words))

    async def main():
        told = []
        tasks = [asyncio.ensure_future(holdfast.aio.lock("a", wait=1.5, on_wait=told.append).acquire()) for _ in range(300)]
        done = await asyncio.gather(*tasks, return_exceptions=True)
        expect({(type(error), error.holder.pid) for error in done}, {(holdfast.LockTimeout, pid)})
        expect((len(told), sorted(info.position for info in told)), (300, list(range(1, 301))))
    try:
        asyncio.run(main())
    finally:
        _look.Looks._ask = ask
    expect_between(len(asked), 1, 40)  # for 600 answers
    end(process)
    nothing_left(daemon)


def test_withheld(place):
    """a holder that is gone, whose name is kept until it surely knows, is named as such; and what is told of a daemon that is silent"""
    daemon = world(place, BRISK, tcp=True)
    holder = program(place, "lock = holdfast.Client(grace=0).lock('a'); lock.acquire(); print('held', flush=True); sys.stdin.read()", stdin=subprocess.PIPE,
                     environment={"HOLDFAST_URL": "127.0.0.1:%d" % daemon.tcp[1]})
    holder.output.wait("^held")
    holder.kill()
    error = raises(holdfast.LockTimeout, holdfast.lock("a", wait=0.1).acquire)
    expect((error.holder.withheld, str(error).endswith(" had it, and is gone")), (True, True), str(error))
    unknown = _look._of_fleet({"hosts": [], "holders": [["host", "app-2", "daemon", "1"]]})
    expect(unknown.sentence(), "somebody (through the daemon of app-2) has it")


def test_errors_travel(place):
    """each error is the same behind a pipe to another process, with what it knows"""
    world(place)
    process, _ = holding(place)
    errors = [raises(holdfast.LockTimeout, holdfast.lock("a", wait=0.1).acquire),
              raises(holdfast.LockRefused, holdfast.lock("a", limit=3, wait=0).acquire),
              holdfast.LockLost("a", 7, "broken", "by hand"), holdfast.DaemonUnreachable("not there")]
    for error in errors:
        copy = pickle.loads(pickle.dumps(error))
        expect((type(copy), str(copy), vars(copy), copy.transient), (type(error), str(error), vars(error), error.transient))
    end(process)


# --- events ------------------------------------------------------------------------------------------------------------------


class Log(logging.Handler):
    """What the package logs."""

    def __init__(self):
        super().__init__()
        self.lines = queue.SimpleQueue()

    def emit(self, record):
        self.lines.put((record.levelname, record.getMessage()))

    def wait(self, pattern):
        while True:
            level, text = self.lines.get(timeout=PATIENCE)
            if re.search(pattern, text):
                return level


@contextlib.contextmanager
def watching():
    """What is logged, and the events that are told, until the scene ends."""
    log, events, logger = Log(), queue.SimpleQueue(), logging.getLogger("holdfast")
    stop = holdfast.observe(events.put)
    logger.addHandler(log)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield log, events
    finally:
        stop()
        logger.removeHandler(log)
        logger.propagate = True


def next_event(events, kind):
    while True:
        event = events.get(timeout=PATIENCE)
        if event.kind == kind:
            return event


def test_events(place):
    """who observes is told of connections, waits, holds, releases, failures and losses, with names, tokens and times, in the thread that
    locks where there is one; the log has the connections, long waits and losses"""
    daemon = world(place)
    threads = []
    with watching() as (log, events):
        also = holdfast.observe(lambda event: threads.append((event.kind, threading.current_thread() is threading.main_thread())))
        broken = holdfast.observe(lambda event: 1 / 0)
        with holdfast.lock("b") as lock:
            expect(next_event(events, "connect").address, "unix:" + daemon.socket)
            held = next_event(events, "hold")
            expect((held.name, held.token), ("b", lock.token))
            time.sleep(0.01)
        released = next_event(events, "release")
        expect((released.name, released.token), ("b", held.token))
        expect_between(released.held, 0.01, PATIENCE)
        broken()
        also()
        also()
        expect(set(threads), {("connect", False), ("hold", True), ("release", True)})
        expect(log.wait("^connected to holdfastd at unix:"), "INFO")
        expect(log.wait("an observer failed at the event hold"), "ERROR")
        process, pid = holding(place)
        failure = raises(holdfast.LockTimeout, holdfast.lock("a", wait=1.2).acquire)
        waits = next_event(events, "wait")
        expect((waits.name, waits.holder.pid, waits.position), ("a", pid, 1))
        expect(log.wait("^the lock 'a' is waited for since 1 s: number 1 in the queue; .*pid %d" % pid), "INFO")
        failed = next_event(events, "fail")
        expect((failed.name, failed.holder.pid, failed.error), ("a", pid, failure))
        expect_between(failed.waited, 1.2 - 0.001, PATIENCE)  # the daemon counts whole milliseconds of its own clock
        end(process)
        with daemon.client() as admin:
            lost = holdfast.lock("a", wait=PATIENCE)
            lost.acquire()
            cut(daemon)
            expect(next_event(events, "cut").address, "unix:" + daemon.socket)
            expect(next_event(events, "resume").address, "unix:" + daemon.socket)
            expect((log.wait("closed the connection"), log.wait("^connected to holdfastd at .* again$")), ("WARNING", "INFO"))
            admin("BREAK", "a", "TOKEN", lost.token)
            loss = next_event(events, "loss")
            expect((loss.name, loss.token, loss.error.reason), ("a", lost.token, "broken"))
            expect(log.wait("^the lock 'a' is lost: "), "WARNING")
            raises(holdfast.LockLost, lost.release)
        nothing_left(daemon)
        while not events.empty():
            expect(events.get().kind in ("hold",), True, "a loss is told once")
    raises(TypeError, lambda: holdfast.observe(5))


def test_events_of_tasks(place):
    """the same in an event loop; a cancelled wait is a failure; a loss is told once also if the release finds it"""
    daemon = world(place)
    kinds = []
    stop = holdfast.observe(lambda event: kinds.append(event.kind))

    async def main():
        async with holdfast.aio.lock("a"):
            waiting = asyncio.ensure_future(holdfast.aio.lock("a").acquire())
            while not [hold for hold in holdfast.lock("x").place.engine().core.holds.values() if hold.waiting]:
                await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        lock = holdfast.aio.lock("a", max_hold=0.2)
        await lock.acquire()
        while lock.held:
            await asyncio.sleep(0.01)
        try:
            await lock.release()
        except holdfast.LockLost as loss:
            expect(loss.reason, "maxhold")
    asyncio.run(main())
    stop()
    expect([kind for kind in kinds if kind != "connect"], ["hold", "fail", "release", "hold", "loss"])
    nothing_left(daemon)


def test_nobody_watches(place):
    """a wait of which nobody wants to know asks nothing, and a lock that nobody watches makes no event"""
    world(place)
    process, _ = holding(place)
    logging.getLogger("holdfast").setLevel(logging.WARNING)
    asked, ask = [], _look.Looks._ask
    _look.Looks._ask = lambda looks, name, *words: (asked.append(name), ask(looks, name, *words))
    try:
        raises(holdfast.LockTimeout, holdfast.lock("a", wait=1.3).acquire)
    finally:
        _look.Looks._ask = ask
    expect(asked, ["a"])  # who had it, for the error
    end(process)


SPANS = """
import asyncio
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
trace.set_tracer_provider(TracerProvider())
trace.get_tracer_provider().add_span_processor(SimpleSpanProcessor(exporter))
metrics.set_meter_provider(MeterProvider([reader]))
"""
SPANS_OF_A_CALLER = """
async def main():
    async with holdfast.aio.lock("task"):
        pass

with trace.get_tracer("caller").start_as_current_span("caller"):
    with holdfast.lock("a"):
        try:
            holdfast.lock("a", wait=0.05).acquire()
        except holdfast.LockTimeout:
            pass
    asyncio.run(main())
spans = exporter.get_finished_spans()
caller = [span for span in spans if span.name == "caller"][0]
for span in spans:
    of_caller = span.parent is not None and span.parent.span_id == caller.context.span_id
    print(span.name, of_caller, span.end_time >= span.start_time, [event.name for event in span.events])
for scope in reader.get_metrics_data().resource_metrics[0].scope_metrics:
    for metric in scope.metrics:
        print(metric.name, metric.unit, {point.attributes["outcome"]: point.count for point in metric.data.data_points})
"""


def test_opentelemetry(place):
    """the few lines of the package's document make spans below that of the caller, and metrics"""
    if subprocess.run([sys.executable, "-c", "import opentelemetry.sdk"], stderr=subprocess.DEVNULL, check=False).returncode:
        raise harness.Skip("OpenTelemetry is not here: python3 -m pip install opentelemetry-sdk")
    world(place)
    with open(os.path.join(PACKAGE, "README.md"), encoding="utf-8") as stream:
        recipe = [text for text in re.findall(r"```python\n(.*?)```", stream.read(), re.S) if "opentelemetry" in text][0]
    process = program(place, SPANS + recipe + SPANS_OF_A_CALLER)
    expect(process.wait(), 0, process.output.text())
    expect([line for line in process.output.text().splitlines() if line != "held"],
           ["wait deploy False True []", "hold deploy False True []", "wait a True True []", "wait a True True ['exception']",
            "hold a True True []", "wait task True True []", "hold task True True []", "caller False True []",
            "holdfast.lock.wait s {'hold': 3, 'fail': 1}", "holdfast.lock.hold s {'release': 3}"])


if __name__ == "__main__":
    harness.main(globals())
