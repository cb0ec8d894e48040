#!/usr/bin/env python3
"""The judge of the nemesis, its network and its clocks: what they must find, planted; what they must do, looked at."""

import argparse
import os
import socket
import sys
import time

import clockshim
import harness
import history
import nemesis_crash
import nemesis_stage
import nemesis_wire
from harness import boottime, expect, expect_between
from history import MS


def written(place, clients, **known):
    """The history of clients with these lines, times in ms."""
    folder = os.path.join(place.path, "history")
    os.makedirs(folder, exist_ok=True)
    for name in os.listdir(folder):
        os.unlink(os.path.join(folder, name))
    for client, lines in clients.items():
        write = history.Writer(os.path.join(folder, client))
        for line in lines:
            at, *words = line.split()
            write(*words, at=int(at) * MS)
        write.close()
    told = history.History(folder, **known)
    told.read()
    told.close()
    return told


def tell(place, **clients):
    """How much of each the judge finds in them."""
    return written(place, clients).judge().counts()


def hold(asked, start, valid_ms, end, token, name="a", form="x"):
    """One hold from LOCK to UNLOCK."""
    return ["%d ask %s 1000 %s" % (asked, name, form), "%d grant %s %d %d" % (start, name, token, valid_ms),
            "%d unlock %s" % (end, name), "%d unlocked %s 0" % (end + 1, name)]


def test_good(place):
    """turns one after the other, a renewed hold and a lost one are no violation"""
    expect(tell(place, one=hold(1, 2, 100, 10, 1) + hold(11, 30, 100, 40, 3), two=hold(5, 11, 100, 20, 2)), {})
    expect(tell(place, one=["1 ask a 0", "2 grant a 1 100", "50 check a", "51 valid a 100", "140 check a",
                            "150 lost a LOST expired", "160 end self"], two=hold(120, 151, 100, 160, 2)), {})
    # Told until 101, silent since: from then on another may have it.
    expect(tell(place, one=["1 ask a 0", "2 grant a 1 100", "300 unlock a", "301 error UNLOCK LOST expired"],
                two=hold(50, 101, 100, 160, 2)), {})
    # Granted after a wait longer than the validity: nothing was promised yet.
    expect(tell(place, one=["1 ask a 900", "800 grant a 1 100", "900 end peer"], two=hold(50, 801, 100, 860, 2)),
           {})


def test_overlap(place):
    """two who were surely entitled at once are found, in one file after the other's end or not"""
    expect(tell(place, one=hold(1, 2, 100, 50, 1), two=hold(5, 49, 100, 60, 2)), {"overlaps": 1})
    renewed = ["1 ask a 0", "2 grant a 1 100", "50 check a", "51 valid a 100", "160 end peer"]
    expect(tell(place, one=renewed, two=hold(120, 149, 100, 170, 2)), {"overlaps": 1})
    expect(tell(place, one=renewed, two=hold(120, 150, 100, 170, 2)), {})
    # A longer hold than the one between them.
    expect(tell(place, one=hold(1, 2, 1000, 900, 1), two=hold(699, 700, 10, 705, 2), three=hold(849, 850, 10, 855, 3)),
           {"overlaps": 2})
    expect(tell(place, one=hold(1, 2, 100, 50, 1), two=hold(5, 49, 100, 60, 2, "b")), {})


def test_abandoned(place):
    """what a TCP client leaves behind is its own until the told deadline, what a Unix client leaves is free at once"""
    for kind, found in (("tcp", 1), ("unix", 0)):
        for last in ("10 end self", "10 killed"):
            one = ["0 open " + kind, "1 ask a 0", "2 grant a 1 100", last]
            expect(tell(place, one=one, two=hold(1, 20, 100, 30, 2)), {"overlaps": 1} if found else {}, kind + last)
    expect(tell(place, one=["0 open tcp", "1 ask a 0", "2 grant a 1 100", "10 end peer"],
                two=hold(1, 20, 100, 30, 2)), {})


def test_tokens(place):
    """a token that is used again, or is smaller than one granted before it was asked for, is found"""
    expect(tell(place, one=hold(1, 2, 100, 3, 7), two=hold(4, 5, 100, 6, 7)), {"inversions": 3})
    expect(tell(place, one=hold(1, 2, 100, 3, 7), two=hold(4, 5, 100, 6, 6)), {"inversions": 2})
    # Asked for before the other was granted, but surely held after it.
    expect(tell(place, one=hold(1, 20, 100, 30, 7), two=hold(4, 35, 100, 40, 6)), {"inversions": 1})
    # Asked for before, and surely held never: nothing is known of the order.
    expect(tell(place, one=hold(10, 20, 100, 30, 7), two=hold(4, 35, 10, 40, 6)), {})
    # The holds overlap, and still the order of the tokens is that of the grants.
    expect(tell(place, one=hold(1, 2, 100, 50, 7), two=hold(5, 10, 100, 60, 6)), {"overlaps": 1, "inversions": 1})
    expect(tell(place, one=hold(1, 2, 100, 3, 7), two=hold(4, 5, 100, 6, 6, "b")), {})


def test_replies(place):
    """answers to no request, answers of no documented kind, and answers that come far too late are found"""
    expect(tell(place, one=["1 null a"]), {"odd": 1})
    expect(tell(place, one=["1 ask a 0", "2 error LOCK GUARD text", "3 ask a 0", "4 error LOCK BOGUS text"]),
           {"odd": 1, "codes": 1})
    expect(tell(place, one=["1 ask a 0", "2 error LOCK NOTHELD text"]), {"odd": 1})
    expect(tell(place, one=["1 ask a 0", "2 odd LOCK 'OK'"]), {"odd": 1})
    expect(tell(place, one=["1 ask a 3000", "17000 null a"]), {})
    expect(tell(place, one=["1 ask a 3000", "18002 null a"]), {"late": 1})
    expect(tell(place, one=hold(1, 2, 100, 3, 7)[:2] + ["5 ask a 0", "6 grant a 8 100"]), {"odd": 1})


def test_readers(place):
    """readers share a name, and a writer among them is found, whichever came first"""
    one, two = hold(1, 2, 100, 50, 1, form="s"), hold(5, 10, 100, 60, 2, form="s")
    expect(tell(place, one=one, two=two), {})
    expect(tell(place, one=one, two=two, three=hold(5, 40, 100, 70, 3)), {"overlaps": 2})
    expect(tell(place, one=one, two=two, three=hold(5, 60, 100, 70, 3)), {})
    expect(tell(place, one=hold(1, 2, 100, 50, 1), two=two), {"overlaps": 1})
    # A reader that ended long ago hides none that is still there.
    expect(tell(place, one=one, two=hold(3, 4, 100, 5, 2, form="s"), three=hold(6, 45, 100, 70, 3)), {"overlaps": 1})


def test_permits(place):
    """one permit too many is found, and permits of another LIMIT, or beside another kind of hold"""
    one, two = hold(1, 2, 100, 50, 1, form="p2/4"), hold(5, 10, 100, 60, 2, form="p1/4")
    expect(tell(place, one=one, two=two, three=hold(5, 20, 100, 30, 3, form="p1/4")), {})
    expect(tell(place, one=one, two=two, three=hold(5, 20, 100, 30, 3, form="p2/4")), {"overlaps": 1})
    expect(tell(place, one=one, two=two, three=hold(5, 51, 100, 70, 3, form="p3/4")), {})
    expect(tell(place, one=one, two=hold(5, 10, 100, 60, 2, form="p1/5")), {"overlaps": 1})
    for form in ("s", "x"):
        expect(tell(place, one=one, two=hold(5, 10, 100, 60, 2, form=form)), {"overlaps": 1}, form)


def test_tokens_of_kinds(place):
    """readers and permits of one time are in no order, but each is in one with what excludes it"""
    for form in ("s", "p1/4"):
        one, two = hold(1, 2, 100, 10, 7, form=form), hold(4, 5, 100, 12, 6, form=form)
        expect(tell(place, one=one, two=two), {}, form)
        expect(tell(place, one=one, two=hold(4, 5, 100, 12, 7, form=form)), {"inversions": 1}, form)
        expect(tell(place, one=one, two=hold(11, 12, 100, 13, 6)), {"inversions": 2}, form)
        expect(tell(place, one=hold(1, 2, 100, 10, 7), two=hold(11, 12, 100, 13, 6, form=form)), {"inversions": 2}, form)
    expect(tell(place, one=hold(1, 2, 100, 10, 7, form="s"), two=hold(11, 12, 100, 13, 6, form="p1/4")),
           {"inversions": 2})


def test_downgrade(place):
    """who shares what was held alone lets readers in from then on, and nobody else"""
    one = ["1 ask a 0", "2 grant a 1 100", "20 downgrade a", "21 shared a 1"]
    over = ["60 unlock a", "61 unlocked a 0"]
    expect(tell(place, one=one + over, two=hold(5, 20, 100, 50, 2, form="s")), {})
    expect(tell(place, one=one + over, two=hold(5, 19, 100, 50, 2, form="s")), {"overlaps": 1})
    expect(tell(place, one=one + over, two=hold(5, 30, 100, 50, 2)), {"overlaps": 1})
    expect(tell(place, one=one[:-1] + ["21 shared a 3"] + over), {"odd": 1})


def test_reentry(place):
    """a hold that was entered twice ends with the second UNLOCK"""
    one = ["1 ask a 0", "2 grant a 1 100", "3 enter a", "4 grant a 1 100", "10 unlock a", "11 unlocked a 1"]
    over = ["60 unlock a", "61 unlocked a 0"]
    expect(tell(place, one=one + over, two=hold(5, 60, 100, 70, 2)), {})
    expect(tell(place, one=one + over, two=hold(5, 59, 100, 70, 2)), {"overlaps": 1})
    expect(tell(place, one=one[:-1] + ["11 unlocked a 0"] + over), {"odd": 1})
    # It was lost before it was entered again.
    for answer in ("30 null a", "30 error LOCK GUARD text", "30 grant a 5 100"):
        lost = ["1 ask a 0", "2 grant a 1 100", "29 enter a", answer]
        expect(tell(place, one=lost, two=hold(5, 29, 100, 70, 2)), {"overlaps": 1}, answer)
    expect(tell(place, one=lost[:2] + ["29 ask a 0", "30 grant a 5 100"]), {"odd": 1})
    expect(tell(place, one=one[:5] + ["11 error UNLOCK LOST text"], two=hold(5, 11, 100, 70, 2)), {})
    expect(tell(place, one=one[:5] + ["11 error UNLOCK LOST text"], two=hold(5, 10, 100, 70, 2)), {"overlaps": 1})


def test_told(place):
    """more than LEASE, MAXHOLD, an EXTEND or the daemons' own lease allow is found where it is told"""
    over = ["90 unlock a", "91 unlocked a 0"]
    for terms, good in (("50", True), ("49", False), ("0 50", True), ("0 49", False), ("80 49", False)):
        expect(tell(place, one=["1 ask a 0 x " + terms, "2 grant a 1 10", "5 check a", "6 valid a 47"] + over),
               {} if good else {"told": 1}, terms)
    extended = ["1 ask a 0 x 20 90", "2 grant a 1 10", "5 extend a 50", "6 extended a %d"]
    for ms, good in ((51, True), (52, False)):
        expect(tell(place, one=extended[:-1] + [extended[-1] % ms] + over), {} if good else {"told": 1})
    expect(tell(place, one=["1 ask a 0 x 20 40", *extended[1:-1], "6 extended a 38"] + over), {"told": 1})
    # What it asked to have shorter may be another's then.
    one = ["1 ask a 0 x 90", "2 grant a 1 85", "5 extend a 10", "6 end peer"]
    expect(tell(place, one=["0 open tcp", *one[:-1], "6 end self"], two=hold(5, 13, 100, 60, 2)), {})
    expect(tell(place, one=["0 open tcp", *one[:-1], "6 end self"], two=hold(5, 12, 100, 60, 2)), {"overlaps": 1})
    expect(tell(place, one=["0 open tcp", *one[:-2], "6 end self"], two=hold(5, 15, 100, 60, 2)), {"overlaps": 1})
    for name, ms, good in (("a", 1000, True), ("a", 1001, False), ("b", 51, True), ("b", 52, False)):
        told = written(place, {"one": hold(1, 2, ms, 3, 1, name)}, rules=history.Rules(1000, {"b": 50})).judge()
        expect(told.counts(), {} if good else {"told": 1}, name)


def test_several(place):
    """all of an MLOCK are held from its answer on, for what each CHECK tells"""
    one = ["0 open tcp", "1 mlock 100 x a b", "2 tokens 1 1", "3 check a", "4 valid a 50", "5 check b", "6 valid b 50"]
    over = ["30 munlock a b", "31 munlocked 2"]
    for name in ("a", "b"):
        expect(tell(place, one=one + over, two=hold(5, 29, 100, 70, 2, name)), {"overlaps": 1})
        expect(tell(place, one=one + over, two=hold(5, 30, 100, 70, 2, name)), {})
    expect(tell(place, one=one + ["30 end self"], two=hold(5, 54, 100, 70, 2, "b")), {"overlaps": 1})
    expect(tell(place, one=one + ["30 end self"], two=hold(5, 55, 100, 70, 2, "b")), {})
    expect(tell(place, one=one[:2] + ["2 tokens 1"]), {"odd": 1})
    expect(tell(place, one=one + ["30 munlock a b", "31 munlocked 3"]), {"odd": 1})


def test_async(place):
    """what waits under an id has one push, in time, unless it was cancelled"""
    one = ["0 open unix", "1 queue q a 1000 x", "2 queued q", "9 pushed q 1", "10 check a", "11 valid a 50"]
    expect(tell(place, one=one + ["30 unlock a", "31 unlocked a 0"], two=hold(5, 29, 100, 70, 2)), {"overlaps": 1})
    expect(tell(place, one=one + ["30 unlock a", "31 unlocked a 0"], two=hold(5, 30, 100, 70, 2)), {})
    expect(tell(place, one=one + ["12 failed q null"]), {"odd": 1})
    expect(tell(place, one=one[:3] + ["9 failed q null"]), {})
    expect(tell(place, one=one[:3] + ["9 failed q BOGUS"]), {"odd": 1, "codes": 1})
    expect(tell(place, one=one[:3] + ["16002 failed q null"]), {"late": 1})
    expect(tell(place, one=one[:3] + ["9 cancel q", "10 cancelled q 1"]), {})
    expect(tell(place, one=one[:3] + ["9 cancel q", "10 cancelled q 1", "11 pushed q 1"]), {"odd": 1})
    expect(tell(place, one=one[:3] + ["9 cancel q", "10 cancelled q 0"]), {"odd": 1})
    expect(tell(place, one=one[:4] + ["10 cancel q", "11 cancelled q 0"]), {})
    # A loss that was pushed ends the hold, one of another token does not.
    for token, found in ((1, {}), (3, {"overlaps": 1})):
        told = one + ["20 told a %d expired" % token, "80 end self"]
        expect(tell(place, one=told, two=hold(5, 21, 100, 70, 4)), found)


def test_grace(place):
    """a session with a grace keeps what it holds when it is cut off, until it says goodbye or is gone"""
    one = ["0 open unix", "1 grace 5000", "2 graced", "3 ask a 0", "4 grant a 1 100", "10 end self"]
    back = ["20 open unix", "21 resume", "22 resumed 1", "23 check a", "24 valid a 100"]
    other = hold(5, 60, 100, 65, 2)
    expect(tell(place, one=one + back + ["70 unlock a", "71 unlocked a 0"], two=other), {"overlaps": 1})
    expect(tell(place, one=one + back + ["50 unlock a", "51 unlocked a 0"], two=other), {})
    for end in ("20 gone", "20 killed"):
        expect(tell(place, one=one + [end], two=other), {"overlaps": 1}, end)
    expect(tell(place, one=one[:-1] + ["10 end peer", "20 gone"], two=other), {"overlaps": 1})
    expect(tell(place, one=one[:-1] + ["10 quit", "11 end self"], two=other), {})
    expect(tell(place, one=one + ["20 gone"], two=hold(5, 103, 100, 120, 2)), {})
    # What is bound to a process that is killed ends with it.
    bound = ["0 open unix", "1 bind", "2 bound 0", "3 ask a 0", "4 grant a 1 100"]
    expect(tell(place, one=bound + ["10 end peer", "70 killed"], two=other), {"overlaps": 1})
    expect(tell(place, one=bound + ["10 end peer", "20 killed"], two=other), {})
    # A LOCK that is sent again is as old as when it was sent first, and can have been granted already.
    waits = ["0 open unix", "1 grace 5000", "2 graced", "3 ask a 1000", "10 end self", *back[:3]]
    expect(tell(place, one=waits + ["23 again a 100 x", "24 grant a 1 100", "25 unlock a", "26 unlocked a 0"],
                two=hold(4, 10, 100, 12, 2)), {"inversions": 1})
    expect(tell(place, one=waits + ["23 again a 100 x", "24 grant a 1 100", "25 unlock a", "26 unlocked a 0"],
                two=hold(4, 10, 1, 12, 2)), {})
    expect(tell(place, one=waits + ["23 again a 100 x", "24 error LOCK HELD text"]), {})
    expect(tell(place, one=waits + ["23 ask a 100", "24 error LOCK HELD text"]), {"odd": 1})


def test_latches(place):
    """a latch that is made twice, counts what nobody said, forgets what was said, closes or comes back is found"""
    def latch(*more, **clients):
        return tell(place, one=["1 latch l set 3000", "2 left made", *more], **clients)

    down = ["3 latch l down 2 one", "4 left 2998", "5 latch l down 2 one", "6 left 2998",
            "7 latch l count", "8 left 2998"]
    expect(latch(*down), {})
    expect(latch(*down, two=["5 latch l down 3000 two", "9 left 0", "10 latch l await 100", "11 left 0"]), {})
    expect(latch(*down[:3], "6 left 2996"), {"latches": 1})  # said again, and counted again
    expect(latch(*down[:4], two=["9 latch l count", "10 left 2999"]), {"latches": 2})
    expect(latch(*down[:2], two=["3 latch l count", "5 left 3000"]), {})  # at the same time
    expect(latch(two=["3 latch l count", "4 left 2999"]), {"latches": 1})
    expect(latch(two=["3 latch l count", "4 left 5000"]), {"latches": 1})
    expect(latch(two=["3 latch l await 100", "4 left 0"]), {"latches": 1})
    expect(latch(two=["3 latch l await 100", "4 left null"]), {})
    expect(latch(two=["3 latch l set 4000", "4 left there"]), {})
    again = ["3 latch l set 4000", "5 left made"]
    expect(latch(two=again), {"latches": 1})
    expect(latch(two=again, nemesis=["2 harm", "4 heal"]), {})
    expect(latch(two=again, nemesis=["6 harm", "7 heal"]), {"latches": 1})
    back = ["6 latch l count", "7 left 4000", "8 latch l count", "9 left 3000"]
    expect(latch(two=again + back[:2], nemesis=["2 harm", "4 heal"]), {})
    expect(latch(two=again + back, nemesis=["2 harm", "4 heal"]), {"latches": 1})
    opened = ["3 latch l down 3000 one", "4 left 0", "5 latch l count", "6 left 3000"]
    expect(latch(*opened[:2]), {})
    expect("closed again" in str(list(written(place, {"one": ["1 latch l set 3000", "2 left made", *opened]})
                                      .judge().lines())), True)


def test_progress(place):
    """the first grant after a moment is found for each name and each daemon, or that there is none"""
    told = written(place, {"client.1.d1.tcp": hold(1, 5, 100, 6, 1) + hold(7, 20, 100, 21, 2, "b"),
                           "client.2.d2.unix": hold(1, 10, 100, 11, 3)})
    expect(history.first_grants(told.holds(), ["a", "b"], ["d1", "d2", "d3"], 6 * MS),
           {"a": 4 * MS, "b": 14 * MS, "d1": 14 * MS, "d2": 4 * MS, "d3": None})


def test_clock(place):
    """a stepped clock moves a master's time of day, expires its keys, and leaves its monotonic clock alone"""
    clock = clockshim.Clock(place, "m1")
    redis = place.redis(environment=clock.environment)
    before = int(redis("TIME")[0])
    expect(redis("SET", "a", "b", "PX", 60000), "OK")
    expect(redis("SET", "c", "d", "PX", 7200000), "OK")
    clock.step(3600)
    expect_between(int(redis("TIME")[0]) - before, 3600, 3600 + harness.PATIENCE)
    expect_between(int(redis("EVAL", "return redis.call('TIME')[1]", 0)) - before, 3600, 3600 + harness.PATIENCE)
    expect(redis("GET", "a"), None)
    expect(redis("GET", "c"), "d")
    clock.step(-7200)
    expect_between(int(redis("TIME")[0]) - before, -3600, -3600 + harness.PATIENCE)
    # Loaded into this process's child as well, which shows both clocks beside each other.
    clock.step(7200)
    told = place.run(sys.executable, "-c", "import time; print('%.3f %.3f %.3f' % (time.time(), "
                     "time.clock_gettime(time.CLOCK_MONOTONIC), time.clock_gettime(time.CLOCK_BOOTTIME)))",
                     environment=clock.environment)
    expect(told.wait(), 0)
    wall, monotonic, boot = map(float, told.output.text().split())
    expect_between(wall - time.time(), 3600 - harness.PATIENCE, 3600)
    expect_between(time.monotonic() - monotonic, 0, harness.PATIENCE)
    expect_between(boottime() - boot, 0, harness.PATIENCE)


@harness.busy
def test_roles(place):
    """without any fault the clients of the nemesis hold all kinds of locks, come back and count, and nothing is found"""
    stage = nemesis_stage.Stage(place, argparse.Namespace(masters=1, guard="off", log="warning", seed="roles"))
    words = ["tokens", "pushed", "cancelled", "resumed", "extended", "shared", "munlocked", "enter", "quit", "left", "bound"]

    def seen():
        stage.history.read()
        return {hold.kind for hold in stage.history.holds()} | {word for word in words if stage.history.counts()[word]}

    harness.until("all are seen", lambda: seen() == {*history.EXCLUSIVE, *history.SHARED, *history.PERMITS, *words})
    expect(stage.crowd.stop(harness.PATIENCE), [], "clients that do not end")
    stage.history.read()
    found = stage.history.judge().found
    found.pop("late")  # a busy machine
    expect({what: ones for what, ones in found.items() if ones}, {})


def test_crash_watch(_place):
    """what a session with a grace or a bound one must not be told after a crash of its daemon is found, and nothing else"""
    def unfaithful(*lines):
        told = [(int(line.split()[0]) * history.MS, line.split()[1], line.split()[2:], line) for line in lines]
        return [line.split(": ")[0] for line in nemesis_crash.unfaithful(told)]

    come = ("10 end peer", "20 open unix", "30 resume")
    expect(unfaithful(*come, "31 resumed 1", "32 check a", "33 lost a LOST lease it is over"), [])
    expect(unfaithful(*come, "31 error RESUME ERR no session"), ["not to be resumed in time"])
    expect(unfaithful("10 end self", "1600 open unix", "1601 resume", "1602 error RESUME ERR no session"), [])
    # The second end cuts nothing off.
    expect(unfaithful("10 end self", "1600 resume", "1610 end peer", "1620 resume", "1630 error RESUME ERR no session"), [])
    expect(unfaithful(*come, "31 error RESUME DRAINING it ends"), [])
    expect(unfaithful(*come, "31 resumed 1", "33 lost a LOST expired"), ["a hold was lost"])
    expect(unfaithful("10 end peer", "20 bind", "30 bound 0", "40 check a", "50 none a"), ["not bound any more"])


def party_behind(port):
    """A process that says who it is, and connects."""
    return [sys.executable, "-c", "import socket; one = socket.create_connection(('127.0.0.1', %d)); print(one.recv(9), "
            "flush=True)" % port], {"NEMESIS_PARTY": "1"}


def test_wire_knows(place):
    """where all come to one port, a process is known by its environment, and cut off alone"""
    path = os.path.join(place.path, "echo")
    master = socket.socket(socket.AF_UNIX)
    master.bind(path)
    master.listen()
    place.sockets.append(master)
    wire = nemesis_wire.Wire(path, 3, one_port=True)
    place.ends.append(wire.close)
    wire.refuse([0, 2])
    command, environment = party_behind(wire.ports[0])
    known = place.run(*command, environment=environment)
    served = master.accept()[0]
    place.sockets.append(served)
    served.sendall(b"who")
    known.output.wait("who")
    unknown = place.run(*command)
    unknown.output.wait("ConnectionResetError|b''")


def wire_of(place):
    """A wire with two doors to an echoing master, and a connection through each."""
    path = os.path.join(place.path, "echo")
    master = socket.socket(socket.AF_UNIX)
    master.bind(path)
    master.listen()
    place.sockets.append(master)
    wire = nemesis_wire.Wire(path, 2)
    place.ends.append(wire.close)
    return wire, master


def pair_through(place, wire, admission, master):
    client = socket.create_connection(("127.0.0.1", wire.ports[admission]), harness.PATIENCE)
    served = master.accept()[0]
    client.settimeout(harness.PATIENCE)
    served.settimeout(harness.PATIENCE)
    place.sockets += [client, served]
    return client, served


def receive(endpoint, size):
    data = b""
    while len(data) < size:
        part = endpoint.recv(size - len(data))
        expect(part != b"", True, "more bytes")
        data += part
    return data


def test_wire_passes(place):
    """bytes pass both ways, dribbled and delayed ones too, and an end passes behind them"""
    wire, master = wire_of(place)
    client, served = pair_through(place, wire, 0, master)
    wire.set([0], [nemesis_wire.UP], pause=0.0001)
    wire.set([0], [nemesis_wire.DOWN], delay=0.01)
    text = bytes(range(256)) * 4
    client.sendall(text)
    expect(receive(served, len(text)), text)
    served.sendall(text)
    expect(receive(client, len(text)), text)
    served.sendall(b"last")
    served.close()
    expect(receive(client, 4), b"last")
    try:
        expect(client.recv(1), b"")
    except ConnectionResetError:
        pass


def test_wire_holds(place):
    """what is held in one direction arrives when the line heals; the other direction and other doors go on"""
    wire, master = wire_of(place)
    client, served = pair_through(place, wire, 0, master)
    other, other_served = pair_through(place, wire, 1, master)
    wire.set([0], [nemesis_wire.UP], mode="hold")
    client.sendall(b"held")
    served.sendall(b"passes")
    expect(receive(client, 6), b"passes")
    other.sendall(b"passes")
    expect(receive(other_served, 6), b"passes")
    served.settimeout(0.1)
    try:
        served.recv(1)
        raise AssertionError("it was not held")
    except TimeoutError:
        served.settimeout(harness.PATIENCE)
    wire.heal([0])
    expect(receive(served, 4), b"held")


def test_wire_drops(place):
    """what is dropped never arrives, healing resets the connection that lost bytes, and a reset one is reset"""
    wire, master = wire_of(place)
    client, served = pair_through(place, wire, 0, master)
    kept = pair_through(place, wire, 0, master)
    wire.set([0], [nemesis_wire.UP], mode="drop")
    client.sendall(b"dropped")
    served.sendall(b"passes")
    expect(receive(client, 6), b"passes")
    wire.heal([0])
    expect(served.recv(100), b"")
    wire.reset([0])
    expect(kept[1].recv(1), b"")
    wire.refuse([0])
    try:
        refused = socket.create_connection(("127.0.0.1", wire.ports[0]), harness.PATIENCE)
        place.sockets.append(refused)
        expect(refused.recv(1), b"")
    except ConnectionResetError:
        pass  # already while it connects, or after


def test_vanish(place):
    """a client that vanishes over TCP tells nobody"""
    listener = socket.create_server(("127.0.0.1", 0))
    place.sockets.append(listener)
    client = socket.create_connection(listener.getsockname())
    served = listener.accept()[0]
    place.sockets.append(served)
    try:
        client.setsockopt(socket.IPPROTO_TCP, 19, 1)
    except PermissionError as error:
        client.close()
        raise harness.Skip("a socket cannot be put into repair without CAP_NET_ADMIN") from error
    client.close()
    served.settimeout(0.1)
    try:
        served.recv(1)
        raise AssertionError("it was told")
    except TimeoutError:
        pass


if __name__ == "__main__":
    harness.main(globals())
