#!/usr/bin/env python3
"""What other lock libraries and databases call their primitives, each done with holdfast's verbs: one test for each row
of the table in doc/MIGRATING.md, written as conversations (conversation.py)."""

import os
import re

import harness
from conversation import Conversation
from harness import expect, expect_between


def daemon_of(place, **options):
    return place.daemon(master=place.redis(), **options).admitted()


def talk(daemon, text):
    conversation = Conversation(daemon)
    conversation.play([line.strip() for line in text.strip().split("\n")])
    conversation.done()


def holder(place, daemon, *requests):
    """A process of its own that has sent these, and waits to be killed."""
    process = place.run("python3", "-c", (
        "import socket, sys, signal\n"
        "s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n"
        "for line in sys.argv[2:]:\n"
        "    s.sendall(line.encode() + b'\\r\\n'); print(s.recv(100).decode().strip(), flush=True)\n"
        "signal.pause()\n"), daemon.socket, *requests)
    for number in range(len(requests)):
        process.output.wait(r"^:\d+", start=number)
    return process


# --- Redisson ---------------------------------------------------------------------------------------------

def test_rlock(place):
    """Redisson RLock: a thread enters again and leaves as often, others wait, only the owner unlocks"""
    talk(daemon_of(place), """
        1> LOCK a OWNER thread-1
        1< :1760000000000001
        1> LOCK a OWNER thread-1
        1< :1760000000000001
        2> LOCK a OWNER thread-1 WAIT 0
        2< $-1
        2> UNLOCK a OWNER thread-1
        2< -NOTHELD ...
        1> UNLOCK a OWNER thread-1
        1< :1
        2> LOCK a OWNER thread-1 WAIT 30000 LEASE 60000
        1> UNLOCK a OWNER thread-1
        1< :0
        2< :1760000000000002
        1> UNLOCK a OWNER thread-1
        1< -NOTHELD ...
        """)


def test_fair_lock(place):
    """Redisson FairLock: threads get it in the order in which they asked, without asking for that"""
    talk(daemon_of(place), """
        1> LOCK a
        1< :1760000000000001
        2> LOCK a
        3> LOCK a
        4> LOCK a
        1> UNLOCK a
        1< :0
        2< :1760000000000002
        2> UNLOCK a
        2< :0
        3< :1760000000000003
        3> UNLOCK a
        3< :0
        4< :1760000000000004
        """)


def test_read_write_lock(place):
    """Redisson ReadWriteLock: readers together, a writer alone, and readers that come later wait behind the writer"""
    talk(daemon_of(place), """
        1> LOCK a SHARED
        1< :1760000000000001
        2> LOCK a SHARED
        2< :1760000000000002
        3> LOCK a
        4> LOCK a SHARED
        5> LOCK a SHARED WAIT 0
        5< $-1
        1> UNLOCK a
        1< :0
        2> UNLOCK a
        2< :0
        3< :1760000000000003
        3> DOWNGRADE a
        3< :1760000000000003
        4< :1760000000000004
        """)


def test_multi_lock(place):
    """Redisson MultiLock: all of its locks, or none of them"""
    talk(daemon_of(place), """
        1> LOCK b
        1< :1760000000000001
        2> MLOCK 3 a b c WAIT 0
        2< $-1
        1> LOCK a WAIT 0
        1< :1760000000000002
        2> MLOCK 3 c b a
        1> MUNLOCK 2 a b
        1< :2
        2< *3\\r\\n:1760000000000003\\r\\n:1760000000000004\\r\\n:1760000000000005
        1> LOCK c WAIT 0
        1< $-1
        2> MUNLOCK 3 a b c
        2< :3
        """)


def test_red_lock(place):
    """Redisson RedLock: a majority of independent masters grants it, a minority may be gone"""
    masters = [place.redis("m%d" % i) for i in range(3)]
    daemon = place.daemon(master=masters).admitted()
    masters[0].kill()
    client, other = daemon.client(), daemon.client()
    expect_between(client("LOCK", "a", "WAIT", 45000), 1, 2 ** 53)
    expect(other("LOCK", "a", "WAIT", 0), None)
    expect(client("UNLOCK", "a"), 0)
    masters[1].kill()
    harness.until("it is refused", lambda: getattr(other("LOCK", "b", "WAIT", 0), "code", "") == "NOMASTER")


def test_fenced_lock(place):
    """Redisson FencedLock: each LOCK answers a token, with which storage refuses who comes late"""
    redis = place.redis()
    first = place.daemon("d1", master=redis).admitted()
    second = place.daemon("d2", master=redis).admitted()
    written = []

    def write(token):
        if written and token < written[-1]:
            return False
        written.append(token)
        return True

    one, two = first.client(), second.client()
    old = one("LOCK", "a")
    expect(one("UNLOCK", "a"), 0)
    new = two("LOCK", "a", "WAIT", 45000)
    expect(write(new), True)
    expect(write(old), False, "who slept through its deadline")
    expect(two("UNLOCK", "a", "TOKEN", new), 0)
    expect_between(one("LOCK", "a", "WAIT", 45000), new + 1, 2 ** 53)


def test_semaphore(place):
    """Redisson Semaphore: n permits, some at a time, and those of a client that was killed come back"""
    daemon = daemon_of(place)
    killed = holder(place, daemon, "LOCK s LIMIT 3 PERMITS 2")
    one, two = daemon.client(), daemon.client()
    expect_between(one("LOCK", "s", "LIMIT", 3, "WAIT", 0), 1, 2 ** 53)
    expect(two("LOCK", "s", "LIMIT", 3, "PERMITS", 2, "WAIT", 0), None)
    two.send("LOCK", "s", "LIMIT", 3, "PERMITS", 2, "WAIT", 45000)
    daemon.queued("s")
    killed.kill()
    expect_between(two.reply(), 1, 2 ** 53)
    expect(one("UNLOCK", "s"), 0)


def test_permit_expirable_semaphore(place):
    """Redisson PermitExpirableSemaphore: each permit has an id and a time of its own"""
    talk(daemon_of(place), """
        1> SESSION ONLOSS NEXT
        1< +OK
        1> LOCK s LIMIT 2 OWNER permit-1 LEASE 20
        1< :1760000000000001
        1> LOCK s LIMIT 2 OWNER permit-2
        1< :1760000000000002
        2> LOCK s LIMIT 2
        2< :1760000000000003
        1> CHECK s OWNER permit-1
        1< -LOST lease ...
        1> UNLOCK s OWNER permit-2
        1< :0
        """)


def test_count_down_latch(place):
    """Redisson CountDownLatch: set once, counted down by many, and whoever awaits it goes on"""
    talk(daemon_of(place), """
        1> LATCH l SET 2
        1< :1
        1> LATCH l SET 3
        1< :0
        2> LATCH l AWAIT
        3> LATCH l DOWN
        3< :1
        3> LATCH l DOWN
        3< :1
        4> LATCH l DOWN
        4< :0
        2< :0
        1> LATCH l COUNT
        1< :0
        """)


# --- ZooKeeper and Curator --------------------------------------------------------------------------------

def test_inter_process_mutex(place):
    """Curator InterProcessMutex: re-entrant, in the order of the queue, and freed when its process dies"""
    daemon = daemon_of(place)
    killed = holder(place, daemon, "LOCK a OWNER t", "LOCK a OWNER t")
    one, two = daemon.client(), daemon.client()
    one.send("LOCK", "a")
    daemon.queued("a")
    two.send("LOCK", "a")
    daemon.queued("a", 2)
    killed.kill()
    expect_between(one.reply(), 1, 2 ** 53)
    expect(one("UNLOCK", "a"), 0)
    expect_between(two.reply(), 1, 2 ** 53)


def test_inter_process_semaphore_mutex(place):
    """Curator InterProcessSemaphoreMutex: without OWNER nobody enters twice, the holder neither"""
    talk(daemon_of(place), """
        1> LOCK a
        1< :1760000000000001
        1> LOCK a
        1< -HELD ...
        2> LOCK a WAIT 0
        2< $-1
        """)


def test_inter_process_read_write_lock(place):
    """Curator InterProcessReadWriteLock: a writer may read, and go on as a reader; a reader may not write"""
    talk(daemon_of(place), """
        1> LOCK a OWNER t
        1< :1760000000000001
        1> LOCK a SHARED OWNER t
        1< :1760000000000001
        1> DOWNGRADE a OWNER t
        1< :1760000000000001
        2> LOCK a SHARED WAIT 0
        2< :1760000000000002
        1> UNLOCK a OWNER t
        1< :1
        1> LOCK a OWNER t
        1< -UPGRADE ...
        1> UNLOCK a OWNER t
        1< :0
        """)


def test_inter_process_semaphore_v2(place):
    """Curator InterProcessSemaphoreV2: leases of a counted number, in order, and a large request is not passed over"""
    talk(daemon_of(place), """
        1> LOCK s LIMIT 3
        1< :1760000000000001
        2> LOCK s LIMIT 3 PERMITS 3
        3> LOCK s LIMIT 3
        4> LOCK s LIMIT 3 WAIT 0
        4< $-1
        5> LOCK s LIMIT 4 WAIT 0
        5< -LIMIT ...
        1> UNLOCK s
        1< :0
        2< :1760000000000002
        2> UNLOCK s
        2< :0
        3< :1760000000000003
        """)


def test_inter_process_multi_lock(place):
    """Curator InterProcessMultiLock: two that want the same names in different orders both get them"""
    talk(daemon_of(place), """
        1> MLOCK 2 a b
        1< *2\\r\\n:1760000000000001\\r\\n:1760000000000002
        2> MLOCK 2 b a
        3> MLOCK 2 a b
        1> UNLOCK b
        1< :0
        1> MUNLOCK 2 a b
        1< :1
        2< *2\\r\\n:1760000000000003\\r\\n:1760000000000004
        2> MUNLOCK 2 a b
        2< :2
        3< *2\\r\\n:1760000000000005\\r\\n:1760000000000006
        """)


def test_distributed_barrier(place):
    """Curator DistributedBarrier: set, waited on by many, and removed for all of them at once"""
    talk(daemon_of(place), """
        1> LATCH barrier SET 1
        1< :1
        2> LATCH barrier AWAIT
        3> LATCH barrier AWAIT
        1> LATCH barrier DOWN
        1< :0
        2< :0
        3< :0
        """)


def test_distributed_double_barrier(place):
    """Curator DistributedDoubleBarrier: all enter together, and leave together"""
    talk(daemon_of(place), """
        1> LATCH enter SET 2
        1< :1
        1> LATCH leave SET 2
        1< :1
        1> LATCH enter DOWN
        1< :1
        1> LATCH enter AWAIT
        2> LATCH enter SET 2
        2< :0
        2> LATCH enter DOWN
        2< :0
        1< :0
        2> LATCH leave DOWN
        2< :1
        2> LATCH leave AWAIT
        1> LATCH leave DOWN
        1< :0
        2< :0
        """)


def test_leader_latch(place):
    """Curator LeaderLatch: one of many leads, and when it goes away the next in line does"""
    daemon = daemon_of(place)
    leader = holder(place, daemon, "LOCK leader WHY first")
    next_one = daemon.client(3)
    next_one("CLIENT", "SETNAME", "second")
    next_one.send("LOCK", "leader")
    daemon.queued("leader")
    leader.kill()
    expect_between(next_one.reply(), 1, 2 ** 53)
    expect(daemon.client(3)("LOCKS")[1][0]["client"], "second")


def test_session(place):
    """ZooKeeper sessions: taken up again after a broken connection with all that was held, and ended by silence"""
    daemon = daemon_of(place)
    silent = daemon.client()
    expect(silent("SESSION", "HEARTBEAT", 20), "OK")
    expect(silent.closed(), True)
    talk(daemon, """
        1> SESSION GRACE 60000
        1< $48\\r\\n{secret}
        1> LOCK a
        1< :1760000000000001
        1x
        2> LOCK a WAIT 0
        2< $-1
        3> SESSION RESUME secret
        3< :1
        3> UNLOCK a TOKEN 1760000000000001
        3< :0
        2> LOCK a
        2< :1760000000000002
        """)


# --- MySQL ------------------------------------------------------------------------------------------------

def test_get_lock(place):
    """MySQL GET_LOCK, RELEASE_LOCK, RELEASE_ALL_LOCKS: by session, and free when it ends"""
    talk(daemon_of(place), """
        1> LOCK a WAIT 1000 OWNER me
        1< :1760000000000001
        1> LOCK a WAIT 1000 OWNER me
        1< :1760000000000001
        2> LOCK a WAIT 10
        2< $-1
        2> UNLOCK a
        2< -NOTHELD ...
        1> LOCK b OWNER me
        1< :1760000000000002
        1> RESET
        1< +RESET
        2> LOCK a
        2< :1760000000000003
        2> LOCK b
        2< :1760000000000004
        """)


def test_select_for_update(place):
    """MySQL SELECT ... FOR UPDATE, FOR SHARE, NOWAIT: one writer or many readers, and a deadlock is refused"""
    talk(daemon_of(place), """
        1> LOCK row-1
        1< :1760000000000001
        2> LOCK row-2 SHARED
        2< :1760000000000002
        3> LOCK row-2 SHARED WAIT 0
        3< :1760000000000003
        3> LOCK row-1 WAIT 0
        3< $-1
        1> LOCK row-2
        2> LOCK row-1
        2< -DEADLOCK session 7 waits for row-1, held by session 8, which waits for row-2, held by session 7
        2> UNLOCK row-2
        2< :0
        3> UNLOCK row-2
        3< :0
        1< :1760000000000004
        """)


def test_version_column(place):
    """MySQL optimistic locks: the token is the version; who has an old one is told so"""
    talk(daemon_of(place), """
        1> LOCK a LEASE 1
        1< :1760000000000001
        2> LOCK a
        2< :1760000000000002
        1> CHECK a TOKEN 1760000000000001
        1< -LOST lease ...
        2> CHECK a TOKEN 1760000000000002
        2< :58000
        2> CHECK a TOKEN 1760000000000001
        2< $-1
        """)


# --- flock ------------------------------------------------------------------------------------------------

def test_flock(place):
    """flock -x, -n, -w, -u: exclusive, once, for some time, and given back"""
    talk(daemon_of(place), """
        1> LOCK a
        1< :1760000000000001
        2> LOCK a WAIT 0
        2< $-1
        2> LOCK a WAIT 10
        2< $-1
        2> LOCK a WAIT 30000
        1> UNLOCK a
        1< :0
        2< :1760000000000002
        """)


def test_flock_shared(place):
    """flock -s: shared locks exclude exclusive ones, and an exclusive one becomes shared without a gap"""
    talk(daemon_of(place), """
        1> LOCK a
        1< :1760000000000001
        2> LOCK a SHARED
        3> LOCK a
        1> DOWNGRADE a
        1< :1760000000000001
        2< :1760000000000002
        1> UNLOCK a
        1< :0
        2> UNLOCK a
        2< :0
        3< :1760000000000003
        """)


def test_flock_exit(place):
    """flock: the lock is free when the process that has it is gone, however it went"""
    daemon = daemon_of(place)
    killed = holder(place, daemon, "LOCK a")
    client = daemon.client()
    expect(client("LOCK", "a", "WAIT", 0), None)
    client.send("LOCK", "a")
    daemon.queued("a")
    killed.kill()
    expect_between(client.reply(), 1, 2 ** 53)


def test_table(place):
    """the table of primitives in doc/MIGRATING.md names the tests of this file, and each of them"""
    del place
    with open(os.path.join(harness.ROOT, "doc", "MIGRATING.md"), encoding="utf-8") as stream:
        named = set(re.findall(r"`(test_\w+)`", stream.read()))
    tests = {name for name in globals() if name.startswith("test_") and name != "test_table"}
    expect(sorted(named ^ tests), [], "in one place only")


if __name__ == "__main__":
    harness.main(globals())
