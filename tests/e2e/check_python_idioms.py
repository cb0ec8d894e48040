#!/usr/bin/env python3
"""The Python package in client/python as people use locks of Python: as a decorator, and with the arguments of threading.Lock."""

import asyncio
import threading
import time

import harness
from harness import PATIENCE, boottime, expect, expect_not_before
from package import holdfast, nothing_left, raises, world

GRAIN = 0.002  # two waits, and each counts whole ms


def test_decorator(place):
    """a decorated function has the lock while it works, in each of its calls, also side by side; what it returns and raises passes"""
    daemon = world(place)
    inside, most = [], []

    @holdfast.lock("a", wait=PATIENCE)
    def work(number, *, fail=False):
        """of the function"""
        inside.append(number)
        most.append(len(inside))
        time.sleep(0)
        inside.remove(number)
        if fail:
            raise KeyError(number)
        return 2 * number
    threads = [threading.Thread(target=work, args=(number,)) for number in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect((most, work.__name__, work.__doc__, work(21)), ([1] * 31, "work", "of the function", 42))
    expect(raises(KeyError, lambda: work(7, fail=True)).args, (7,))

    class Account:
        @holdfast.lock_all(["a", "b"], wait=PATIENCE)
        def transfer(self, amount):
            return self, amount, raises(holdfast.LockBusy, holdfast.lock("b", wait=0).acquire).name
    account = Account()
    expect(account.transfer(5), (account, 5, "b"))
    lock = holdfast.lock("a", wait=0)
    with lock:
        raises(holdfast.LockBusy, lambda: lock(lambda: None)())  # the call has a lock of its own
        expect(lock.held, True)
    nothing_left(daemon)


def test_decorator_loses(place):
    """the call of a decorated function whose lock is lost raises LockLost"""
    daemon = world(place)

    @holdfast.lock("a")
    def work():
        with daemon.client(form=3) as admin:
            admin("BREAK", "a", "TOKEN", admin("INSPECT", "a")["holder"]["token"])
    expect(raises(holdfast.LockLost, work).reason, "broken")


def test_decorator_of_tasks(place):
    """the same for coroutine functions; a function that works after its call, or of the other kind, is refused"""
    daemon = world(place)
    inside, most = [], []

    @holdfast.aio.lock("a", wait=PATIENCE)
    async def work(number):
        inside.append(number)
        most.append(len(inside))
        await asyncio.sleep(0)
        inside.remove(number)
        return 2 * number

    @holdfast.aio.lock_all(["a", "b"], wait=PATIENCE)
    async def both():
        return await work.__wrapped__(4)

    async def main():
        expect(await asyncio.gather(*map(work, range(30)), both()), [2 * number for number in range(30)] + [8])
    asyncio.run(main())
    expect((most, work.__name__), ([1] * 31, "work"))

    def generator():
        yield 1

    async def agenerator():
        yield 1
    for lock in (holdfast.lock("a"), holdfast.lock_all(["a"]), holdfast.aio.lock("a"), holdfast.aio.lock_all(["a"])):
        for function in (generator, agenerator):
            expect("lock inside of it" in str(raises(TypeError, lambda one=lock, other=function: one(other))), True)
    expect("use holdfast.aio.lock" in str(raises(TypeError, lambda: holdfast.lock("a")(main))), True)
    expect("use holdfast.lock" in str(raises(TypeError, lambda: holdfast.aio.lock("a")(test_decorator))), True)
    nothing_left(daemon)


def test_acquire(place):
    """acquire() takes the arguments of threading.Lock.acquire(): it returns False only to who has said that it may"""
    daemon = world(place)
    thread_lock = threading.Lock()
    with daemon.client() as other:
        other("LOCK", "a")
        lock, both = holdfast.lock("a", wait=0.3), holdfast.lock_all(["a", "b"], wait=0.3)
        for words, options in (((False,), {}), ((), {"blocking": False}), ((True, 0.2), {}), ((), {"timeout": 0.2}), ((), {"timeout": 0})):
            started = boottime()
            expect(lock.acquire(*words, **options), False)
            expect(both.acquire(*words, **options), {})
            expect_not_before(boottime(), started + (0.4 if 0.2 in words or options.get("timeout") else 0), "it waits", GRAIN)
        for words in ((), (True,), (True, -1)):
            started = boottime()
            raises(holdfast.LockTimeout, lambda given=words: lock.acquire(*given))
            raises(holdfast.LockTimeout, lambda given=words: both.acquire(*given))
            expect_not_before(boottime(), started + 0.6, "it waits", GRAIN)
        for words in ((False, 1), (False, 0), (True, -2), (True, "1")):
            expect(type(raises((ValueError, TypeError), lambda given=words: lock.acquire(*given))),
                   type(raises((ValueError, TypeError), lambda given=words: thread_lock.acquire(*given))), words)

        async def main():
            lock = holdfast.aio.lock("a", wait=0.3)
            expect((await lock.acquire(False), await lock.acquire(timeout=0.1)), (False, False))
            expect(await holdfast.aio.lock_all(["a", "b"]).acquire(blocking=False), {})
            try:
                await lock.acquire()
            except holdfast.LockTimeout as error:
                expect(error.name, "a")
            other("UNLOCK", "a")
            expect(await lock.acquire(timeout=PATIENCE) == lock.token, True)
            await lock.release()
        asyncio.run(main())
    expect(lock.acquire(timeout=PATIENCE) == lock.token, True)
    expect("this object has the lock" in str(raises(RuntimeError, lambda: lock.acquire(False))), True)
    lock.release()
    expect(both.acquire(False) == both.tokens, True)
    both.release()
    daemon.kill()
    raises(holdfast.DaemonUnreachable, lambda: holdfast.Client(connect_timeout=0.1).lock("a").acquire(timeout=1))
    raises(holdfast.DaemonUnreachable, lambda: holdfast.Client(connect_timeout=0.1).lock("a").acquire(False))


if __name__ == "__main__":
    harness.main(globals())
