#!/usr/bin/env python3
"""Faults of the network between daemon and master, through a proxy, while the counter test runs."""

import harness
import proxy
from harness import boottime, expect_between, expect_code, expect_not_before
from scene import LEASE, Scene, pause


def scene_of(place):
    """The first daemon reaches the master through a proxy, the second directly."""
    redis = place.redis()
    link = proxy.Proxy(redis.socket)
    place.ends.append(link.close)
    return Scene(place, redis=redis, masters=(link, redis)), link


@harness.busy
def test_replies_late(place):
    """the master's replies are held up for 400 ms: what they granted meanwhile is known late, and never twice"""
    scene, link = scene_of(place)
    link.hold(proxy.DOWN)
    pause(0.4)
    link.go()
    scene.progress(100)
    scene.finish()


@harness.busy
def test_requests_late(place):
    """requests to the master are held up for 400 ms, and then run late"""
    scene, link = scene_of(place)
    link.hold(proxy.UP)
    pause(0.4)
    link.go()
    scene.progress(100)
    scene.finish()


@harness.busy
def test_partition(place):
    """a daemon that is cut off from the master tells its holders in time; the other goes on alone; both go on after"""
    scene, link = scene_of(place)
    mark = scene.daemons[0].output.mark()
    with scene.daemons[1].client() as waiter:
        waiter.send("LOCK", "kept", "WAIT", 45000)
        scene.daemons[1].queued("kept")
        link.hold(proxy.UP, proxy.DOWN)
        expect_between(waiter.reply(), 1, 2 ** 53)
        # The other daemon could not have it as long as this one might still say yes.
        expect_code(scene.keeper("CHECK", "kept"), "LOST")
    scene.daemons[0].output.wait(r"lock\.lost name=kept", mark)
    scene.progress(100)
    link.go()
    with scene.daemons[0].client() as client:
        expect_between(client("LOCK", "after", "WAIT", 45000), 1, 2 ** 53)
    scene.progress(100)
    scene.finish(kept=False)


@harness.busy
def test_one_way(place):
    """requests arrive and replies do not, for longer than the lease: what ran unseen is undone or runs out"""
    scene, link = scene_of(place)
    link.hold(proxy.DOWN)
    pause(1.8 * LEASE)
    link.reset()
    link.go()
    scene.progress(100)
    with scene.daemons[0].client() as client:
        expect_between(client("LOCK", "after", "WAIT", 45000), 1, 2 ** 53)
    scene.finish(kept=False)


@harness.busy
def test_resets(place):
    """every connection to the master is reset, eight times in a row"""
    scene, link = scene_of(place)
    for _ in range(8):
        link.reset()
        pause(0.05)
    scene.progress(100)
    scene.finish()


@harness.busy
def test_refused(place):
    """the connections are reset, and new ones refused for 300 ms"""
    scene, link = scene_of(place)
    link.refusing = True
    link.reset()
    pause(0.3)
    link.refusing = False
    scene.progress(100)
    scene.finish()


@harness.busy
def test_slow_line(place):
    """a line that takes 40 ms each way costs time, not safety: validity counts from before the request"""
    scene, link = scene_of(place)
    link.delay = 0.04
    scene.progress(200)
    with scene.daemons[0].client() as client:
        started = boottime()
        token, valid_ms = client("LOCK", "slow", "VALIDITY")
        took = boottime() - started
        expect_between(token, 1, 2 ** 53)
        expect_not_before(took, 2 * link.delay, "a lock over the slow line")
        expect_between(valid_ms, LEASE * 500, (LEASE - 2 * link.delay) * 1000, "validity")
    scene.finish()


if __name__ == "__main__":
    harness.main(globals())
