#!/usr/bin/env python3
"""Masters that forget, vanish or lie about the time while a lock is held here and waited for there.

Each test is an order of events: a holder at the first daemon, a waiter at the second, a fault, and who had the lock
when. Each daemon reaches each master by a line of its own, each master has a clock of its own. What a test proves it
also shows to fail where the protection is off or the fault is larger than promised.
"""

import clockshim
import harness
import proxy
import resp
from harness import WHOLE_MS, boottime, expect, expect_between, expect_not_before
from scene import pause

# Long enough for a restart of a master and a reconnection on a busy machine, well before anything runs out.
LEASE = 3.0
MARGIN = 0.6
HOUR = 3600.0


class Field:
    """Some masters, two daemons, and lines between them."""

    def __init__(self, place, masters, guard="auto", lease=LEASE, margin=MARGIN):
        self.clocks = [clockshim.Clock(place, "m%d" % n) for n in range(1, masters + 1)]
        # DEBUG RELOAD, so that a process goes back to a dump.
        self.masters = [place.redis("m%d" % n, environment=clock.environment,
                                    options=("--enable-debug-command", "local"))
                        for n, clock in enumerate(self.clocks, 1)]
        self.lines = [[proxy.Proxy(master.socket) for master in self.masters] for _ in range(2)]
        place.ends += [line.close for lines in self.lines for line in lines]
        config = "lease: %dms\nclock-margin: %dms\nrestart-guard: %s\n" % (lease * 1000, margin * 1000, guard)
        self.walls = [clockshim.Clock(place, "d%d" % n) for n in (1, 2)]
        self.daemons = [place.daemon("d%d" % n, master=lines, config=config, environment=wall.environment)
                        for n, (lines, wall) in enumerate(zip(self.lines, self.walls), 1)]
        for daemon in self.daemons:
            self.await_admitted(daemon)
        self.holder, self.waiter = [daemon.client() for daemon in self.daemons]

    def state(self, daemon, number):
        return daemon.info()["master%d_state" % number]

    def await_state(self, daemon, number, *wanted):
        """Until the daemon says so of this master."""
        until = boottime() + harness.PATIENCE
        while self.state(daemon, number) not in wanted:
            expect(boottime() < until, True, "%s: master %d is %s" % (daemon.name, number, self.state(daemon, number)))
            pause(0.005)

    def await_admitted(self, daemon):
        for number in range(len(self.masters)):
            self.await_state(daemon, number, "admitted")

    def lock(self):
        """The first daemon's client holds `a`, the second's waits for it. The token."""
        token = self.holder("LOCK", "a", "WAIT", 10000)
        expect_between(token, 1, 2 ** 53)
        self.waiter.send("LOCK", "a", "WAIT", 60000)
        # Then it has asked, and been told.
        until = boottime() + harness.PATIENCE
        with resp.Client(self.daemons[1].socket, 3) as client:
            while client("INSPECT", "a")["elsewhere"] is None:
                expect(boottime() < until, True, "the waiter's daemon knows who has the lock")
                pause(0.002)
        return token

    def announced_deadline(self):
        asked = boottime()
        valid_ms = self.holder("CHECK", "a")
        expect_between(valid_ms, 1, LEASE * 1000)
        return asked + valid_ms / 1000

    def pass_on(self, token):
        """The holder has the lock still, nobody else has had it, and the waiter gets it with a greater token."""
        expect_between(self.holder("CHECK", "a", "TOKEN", token), 1, LEASE * 1000, "the holder's validity")
        expect(self.waiter.silent(0), True, "the waiter waits")
        expect(self.holder("UNLOCK", "a", "TOKEN", token), 0)
        expect_between(self.waiter.reply(60), token + 1, 2 ** 53, "the next token")

    def outlive(self, deadline):
        """Waits until what the holder was told is over, and been renewed."""
        pause(max(0.0, deadline - boottime()))

    def await_owner(self, number):
        """Until this master knows whose the lease is, as the others do."""
        until = boottime() + harness.PATIENCE
        while self.masters[number]("GET", "holdfast:{a}") is None:
            expect(boottime() < until, True, "the lease is back at master %d" % number)
            pause(0.005)

    def cut(self, number, master):
        """The daemon and the master cannot reach each other."""
        self.lines[number][master].refusing = True
        self.lines[number][master].reset()

    def mend(self, number, master):
        self.lines[number][master].refusing = False


# --- one of three is away ---------------------------------------------------------------------------------------

def one_away(place, fault, heal):
    field = Field(place, 3, lease=3.0, margin=0.3)
    token = field.lock()
    deadline = field.announced_deadline()
    fault(field)
    field.outlive(deadline)
    here, there = [daemon.client() for daemon in field.daemons]
    expect_between(here("LOCK", "b", "WAIT", 30000), 1, 2 ** 53, "another lock meanwhile")
    expect(there("LOCK", "b", "WAIT", 0), None, "the same lock at the other daemon")
    expect(field.waiter.silent(0), True, "the waiter waits")
    for daemon in field.daemons:
        field.await_state(daemon, 1, "away")
    heal(field)
    for daemon in field.daemons:
        field.await_admitted(daemon)
    field.await_owner(1)
    field.pass_on(token)


def test_one_killed(place):
    """one of three masters is killed and comes back empty: locks are kept, given, refused and passed on without it"""
    one_away(place, lambda field: field.masters[1].kill(), lambda field: field.masters[1].restart())


def test_one_stopped(place):
    """one of three masters is stopped and goes on"""
    one_away(place, lambda field: field.masters[1].process.stop(), lambda field: field.masters[1].process.cont())


def test_one_blackholed(place):
    """one of three masters is blackholed: nothing from it arrives, and the lines are reset in the end"""
    def fault(field):
        for lines in field.lines:
            lines[1].hold(proxy.DOWN)

    def heal(field):
        for lines in field.lines:
            lines[1].reset()
            lines[1].go()
    one_away(place, fault, heal)


# --- masters that forget ----------------------------------------------------------------------------------------

def forget(field, number, how):
    """The master forgets while the holder's daemon cannot reach it, and the other can."""
    field.cut(0, number)
    if how == "kill":
        field.masters[number].kill()
        field.masters[number].restart()
    else:
        expect(field.masters[number]("FLUSHALL"), "OK")


def forgotten_while_cut_off(place, masters, guard, how="kill"):
    """
    Of one master: it forgets what the holder has. Of three: the holder has two, of which one forgets; the third never
    knew. So to the waiter's daemon a majority is free, and what keeps it from the lock is the guard alone.
    """
    field = Field(place, masters, guard)
    if masters > 1:
        field.cut(0, 2)
        field.await_state(field.daemons[0], 2, "away")
    token = field.lock()
    forget(field, 0, how)
    return field, token


def with_guard(place, masters, how="kill"):
    field, token = forgotten_while_cut_off(place, masters, "auto", how)
    field.await_state(field.daemons[1], 0, "guarded")
    expect(field.waiter.silent(0), True, "the waiter waits")
    expect_between(field.holder("CHECK", "a", "TOKEN", token), 1, LEASE * 1000, "the holder's validity")
    for number in range(masters):
        field.mend(0, number)
    for daemon in field.daemons:
        field.await_admitted(daemon)
    field.await_owner(0)
    field.pass_on(token)


def without_guard(place, masters, how="kill"):
    field, token = forgotten_while_cut_off(place, masters, "off", how)
    expect_between(field.waiter.reply(60), 1, 2 ** 53, "the waiter's token")
    expect_between(field.holder("CHECK", "a", "TOKEN", token), 1, LEASE * 1000, "the holder's validity: two holders")


def test_restarted_empty(place):
    """the only master is killed and comes back empty: the holder keeps the lock, the waiter waits, tokens grow"""
    with_guard(place, 1)


def test_restarted_empty_unguarded(place):
    """without the guard, the only master coming back empty makes two holders"""
    without_guard(place, 1)


def test_one_restarted_empty(place):
    """one of the two masters out of three that know of a lock is killed and comes back empty: the holder keeps it"""
    with_guard(place, 3)


def test_one_restarted_empty_unguarded(place):
    """without the guard, one of three masters coming back empty makes two holders"""
    without_guard(place, 3)


def test_flushed(place):
    """the only master is flushed while the holder's daemon cannot see it: the holder keeps the lock"""
    with_guard(place, 1, "flush")


def test_one_flushed(place):
    """one of the two masters out of three that know of a lock is flushed: the holder keeps it"""
    with_guard(place, 3, "flush")


def test_one_flushed_unguarded(place):
    """without the guard, one of three masters that is flushed makes two holders"""
    without_guard(place, 3, "flush")


def test_all_flushed(place):
    """three masters are flushed at once, more than a minority: the holder is told, and then the waiter has the lock"""
    field = Field(place, 3)
    token = field.lock()
    deadline = field.announced_deadline()
    for master in field.masters:
        expect(master("FLUSHALL"), "OK")
    expect(field.holder.closed(), True, "the holder is told")
    expect(field.waiter.silent(0), True, "the waiter waits")
    expect_between(field.waiter.reply(60), token + 1, 2 ** 53)
    expect_between(boottime(), deadline, deadline + 60, "the time of the next grant")


def test_restarted_stale(place):
    """the only master comes back with a dump in which a lock is taken that is free, and one free that is taken"""
    field = Field(place, 1)
    old = field.daemons[1].client()
    expect_between(old("LOCK", "old", "WAIT", 10000), 1, 2 ** 53)
    expect(field.masters[0]("SAVE"), "OK")
    expect(old("UNLOCK", "old"), 0)
    while field.masters[0]("EXISTS", "holdfast:{old}"):
        pause(0.005)
    token = field.lock()
    forget(field, 0, "kill")
    expect(field.masters[0]("EXISTS", "holdfast:{a}"), 0)
    expect(field.masters[0]("EXISTS", "holdfast:{old}"), 1)
    field.await_state(field.daemons[1], 0, "guarded")
    field.mend(0, 0)
    for daemon in field.daemons:
        field.await_admitted(daemon)
    field.pass_on(token)
    with field.daemons[0].client() as other:
        expect_between(other("LOCK", "old", "WAIT", 60000), 1, 2 ** 53, "the lock that only the dump knew as taken")


# --- masters whose memory goes back while they run ----------------------------------------------------------------

def went_back(place, masters, go_back):
    """
    A master has the memory of before the lock, in the same process and with the same connections: nothing but the
    tokens tells. Of three, the holder has two, as above. The waiter has been refused, and waits.
    """
    field = Field(place, masters)
    if masters > 1:
        field.cut(0, 2)
        field.await_state(field.daemons[0], 2, "away")
    expect(field.masters[0]("SAVE"), "OK")
    token = field.lock()
    field.cut(0, 0)
    go_back(field)
    expect(field.masters[0]("EXISTS", "holdfast:{a}"), 0)
    field.await_state(field.daemons[1], 0, "guarded")
    expect(field.waiter.silent(0), True, "the waiter waits")
    expect_between(field.holder("CHECK", "a", "TOKEN", token), 1, LEASE * 1000, "the holder's validity")
    for number in range(masters):
        field.mend(0, number)
    for daemon in field.daemons:
        field.await_admitted(daemon)
    field.await_owner(0)
    field.pass_on(token)


def reload(field):
    expect(field.masters[0]("DEBUG", "RELOAD", "NOSAVE"), "OK")


def test_reverted(place):
    """the only master goes back to an older dump and is the same process: the holder keeps the lock"""
    went_back(place, 1, reload)


def test_one_reverted(place):
    """one of the two masters out of three that know of a lock goes back to an older dump: the holder keeps it"""
    went_back(place, 3, reload)


def test_node_restored(place):
    """somebody restores the older node of the only master, and the lock is gone: the holder keeps it"""
    field = Field(place, 1)
    node = {}
    flat = field.masters[0]("HGETALL", "holdfast:node")
    node = flat if isinstance(flat, dict) else dict(zip(flat[::2], flat[1::2]))
    token = field.lock()
    field.cut(0, 0)
    words = [word for pair in node.items() for word in pair]
    expect(field.masters[0]("EVAL", "redis.call('FLUSHALL') return redis.call('HSET', KEYS[1], unpack(ARGV))", 1,
                            "holdfast:node", *words), len(node))
    field.await_state(field.daemons[1], 0, "guarded")
    expect(field.waiter.silent(0), True, "the waiter waits")
    field.mend(0, 0)
    for daemon in field.daemons:
        field.await_admitted(daemon)
    field.pass_on(token)


def test_swapped(place):
    """the only master's database is swapped for an empty one, a lock is taken there, and it is swapped back"""
    field = Field(place, 1)
    expect(field.masters[0]("SWAPDB", 0, 1), "OK")
    for daemon in field.daemons:
        field.await_state(daemon, 0, "guarded")
    for daemon in field.daemons:
        field.await_admitted(daemon)
    token = field.lock()
    field.cut(0, 0)
    expect(field.masters[0]("SWAPDB", 0, 1), "OK")
    expect(field.masters[0]("EXISTS", "holdfast:{a}"), 0)
    field.await_state(field.daemons[1], 0, "guarded")
    expect(field.waiter.silent(0), True, "the waiter waits")
    expect_between(field.holder("CHECK", "a", "TOKEN", token), 1, LEASE * 1000, "the holder's validity")
    field.mend(0, 0)
    for daemon in field.daemons:
        field.await_admitted(daemon)
    field.pass_on(token)


def test_overwritten(place):
    """somebody writes over a lease at one of the two masters that know of it: nobody else has the lock before its time"""
    field = Field(place, 3)
    field.cut(0, 2)
    field.await_state(field.daemons[0], 2, "away")
    expect(field.holder("SESSION", "ONLOSS", "NEXT"), "OK")
    token = field.lock()
    deadline = field.announced_deadline()
    expect(field.masters[1]("SET", "holdfast:{a}", "stranger", "PX", 60000), "OK")
    expect_between(field.waiter.reply(60), token + 1, 2 ** 53)
    expect_between(boottime(), deadline, deadline + 60, "the time of the next grant")


# --- clocks -----------------------------------------------------------------------------------------------------

def step_while_cut_off(place, masters, seconds, guard="auto"):
    """
    A holder that cannot renew relies on what it was told; the clocks of all masters jump meanwhile. Seconds from the
    announced deadline until the waiter has the lock; less than none: two holders.
    """
    field = Field(place, masters, guard)
    field.lock()
    for number in range(masters):
        field.cut(0, number)
    deadline = field.announced_deadline()
    for clock in field.clocks:
        clock.step(seconds)
    expect_between(field.waiter.reply(60), 1, 2 ** 53)
    return boottime() - deadline


def test_half_margin(place):
    """the only master's clock jumps by half the margin: the holder relies on what it was told, and rightly"""
    expect_between(step_while_cut_off(place, 1, MARGIN / 2), 0, harness.PATIENCE)


def test_half_margin_of_three(place):
    """the clocks of three masters jump by half the margin: the holder relies on what it was told, and rightly"""
    expect_between(step_while_cut_off(place, 3, MARGIN / 2), 0, harness.PATIENCE)


def test_hour_on_alone(place):
    """the only master's clock jumps by an hour, more than was promised to do no harm: it is seen, and guarded"""
    expect_between(step_while_cut_off(place, 1, HOUR), 0, harness.PATIENCE)


def test_hour_on_alone_unguarded(place):
    """restart-guard: off is about restarts: the daemon that sees the only master's clock jump grants nothing all the same"""
    expect_between(step_while_cut_off(place, 1, HOUR, "off"), 0, harness.PATIENCE)


def test_half_margin_unnoticed(place):
    """the only master's clock jumps by half the margin while everybody is there: nothing happens"""
    field = Field(place, 1)
    token = field.lock()
    marks = [daemon.output.mark() for daemon in field.daemons]
    deadline = field.announced_deadline()
    field.clocks[0].step(MARGIN / 2)
    field.outlive(deadline)
    for daemon, mark in zip(field.daemons, marks):
        expect([line for _, line in daemon.output.since(mark) if " warning " in line or " error " in line], [])
    field.pass_on(token)


def test_fast_for_a_lease(place):
    """the only master's clock runs 28 % fast, less than the margin in each third of a lease: it is seen, and guarded"""
    field = Field(place, 1, margin=0.3)
    # The clocks have been measured over a lease.
    pause(LEASE + 1)
    field.lock()
    field.cut(0, 0)
    deadline = field.announced_deadline()
    last = boottime()
    while last < deadline + 1:
        expect(field.waiter.silent(0.02) or last > deadline, True, "the waiter waits until the announced deadline")
        now = boottime()
        field.clocks[0].step(0.28 * (now - last))
        last = now
    expect_between(field.waiter.reply(60), 1, 2 ** 53)


def stunned(place, masters):
    """
    The clock of one host stands still for a while, so that all masters seem to have jumped. It takes off what its
    leases have and asks for nothing new; the other one does not notice.
    """
    field = Field(place, masters, lease=6.0)
    token = field.holder("LOCK", "a", "WAIT", 10000)
    mark = field.daemons[1].output.mark()
    field.daemons[0].process.stop()
    began = boottime()
    pause(2)
    # It never goes back.
    field.walls[0].stun(boottime() - began)
    field.daemons[0].process.cont()
    for number in range(masters):
        until = boottime() + harness.PATIENCE
        while int(field.daemons[0].info()["master%d_guard_ms" % number]) == 0:
            expect(boottime() < until, True, "the daemon knows that its clock or that of master %d is wrong" % number)
            pause(0.005)
    # What it was good for when it was asked for last, less two seconds.
    expect_between(field.holder("CHECK", "a", "TOKEN", token), 1, 6000, "the holder's validity")
    with field.daemons[0].client() as here, field.daemons[1].client() as there:
        expect(str(here("LOCK", "b", "WAIT", 0)).startswith("GUARD "), True, "the host that stood still gets no lock")
        expect_between(there("LOCK", "b", "WAIT", 0), 1, 2 ** 53, "the other host's lock")
    expect([line for _, line in field.daemons[1].output.since(mark) if "master.guarded" in line], [])
    expect(field.holder("UNLOCK", "a", "TOKEN", token), 0)


def test_stunned(place):
    """the clock of one of two hosts stands still for two seconds: the other host and the only master go on"""
    stunned(place, 1)


def test_stunned_of_three(place):
    """the clock of one of two hosts stands still for two seconds: the other host and three masters go on"""
    stunned(place, 3)


def hour_on_minority(place, seconds):
    """One of three masters jumps, in which it may lose what it had; twice the length of what was told passes."""
    field = Field(place, 3, lease=2.0)
    token = field.lock()
    deadline = field.announced_deadline()
    field.clocks[1].step(seconds)
    field.outlive(deadline)
    field.outlive(field.announced_deadline())
    field.await_owner(1)
    with field.daemons[1].client() as other:
        expect_between(other("LOCK", "b", "WAIT", 30000), 1, 2 ** 53, "another lock")
    field.pass_on(token)


def test_hour_on(place):
    """the clock of one of three masters jumps by an hour: the holder keeps the lock, and it is repaired there"""
    hour_on_minority(place, HOUR)


def test_hour_back(place):
    """the clock of one of three masters falls back by an hour: the holder keeps the lock, and it passes on"""
    hour_on_minority(place, -HOUR)


def test_hour_on_cut_off(place):
    """the clock of one of three masters jumps by an hour while the holder's daemon is cut off: the majority holds"""
    field = Field(place, 3, lease=2.0)
    field.lock()
    for number in range(3):
        field.cut(0, number)
    deadline = field.announced_deadline()
    field.clocks[0].step(HOUR)
    expect_between(field.waiter.reply(60), 1, 2 ** 53)
    expect_between(boottime() - deadline, 0, harness.PATIENCE)


def test_hour_on_one_by_one(place):
    """two of three masters jump by an hour, one long before the other: who is cut off relies on what it was told"""
    field = Field(place, 3)
    expect_between(len(field.holder("SESSION", "GRACE", 60000)), 1, 100)
    field.cut(0, 1)
    field.clocks[1].step(HOUR)
    # To the first daemon it jumps much later than it did.
    field.await_state(field.daemons[1], 1, "guarded")
    field.await_state(field.daemons[1], 1, "admitted")
    field.lock()
    mark = field.daemons[0].output.mark()
    field.mend(0, 1)
    field.daemons[0].output.wait("master.clock_jump", mark)
    deadline = field.announced_deadline()
    field.holder.close()
    mark = field.daemons[0].output.mark()
    field.clocks[2].step(HOUR)
    field.daemons[0].output.wait("master.clock_jump", mark)
    expect_between(field.waiter.reply(60), 1, 2 ** 53)
    expect_not_before(boottime(), deadline, "the waiter's grant", WHOLE_MS)


def dead_owner_hour_back(place, masters, stepped):
    """A daemon dies with a lock, and clocks fall back by an hour: the lock must not last for the size of the step."""
    field = Field(place, masters, lease=1.0)
    token = field.lock()
    field.daemons[0].kill()
    for clock in field.clocks[:stepped]:
        clock.step(-HOUR)
    expect_between(field.waiter.reply(60), token + 1, 2 ** 53)


def test_dead_owner_hour_back(place):
    """a daemon dies with a lock and the only master's clock falls back by an hour: the lock is free"""
    dead_owner_hour_back(place, 1, 1)


def test_dead_owner_hour_back_of_three(place):
    """a daemon dies with a lock and the clocks of two of three masters fall back by an hour: the lock is free"""
    dead_owner_hour_back(place, 3, 2)


def wall_of_daemons(place, masters):
    """One daemon's wall clock is ahead by an hour, the other's behind: nothing is noticed, and tokens grow."""
    field = Field(place, masters)
    token = field.lock()
    marks = [daemon.output.mark() for daemon in field.daemons]
    deadline = field.announced_deadline()
    field.walls[0].step(HOUR)
    field.walls[1].step(-HOUR)
    field.outlive(deadline)
    field.pass_on(token)
    expect(field.waiter("UNLOCK", "a"), 0)
    clients = [daemon.client() for daemon in field.daemons]
    for number in range(6):
        if number == 3:
            field.walls[0].step(-2 * HOUR)
            field.walls[1].step(2 * HOUR)
        client = clients[number % 2]
        last, token = token, client("LOCK", "a", "WAIT", 60000)
        expect_between(token, last + 1, 2 ** 53, "the next token")
        expect(client("UNLOCK", "a"), 0)
    for daemon, mark in zip(field.daemons, marks):
        expect([line for _, line in daemon.output.since(mark) if " warning " in line or " error " in line], [])


def test_wall_of_daemons(place):
    """the daemons' wall clocks go apart by two hours, and change places: no effect, tokens grow"""
    wall_of_daemons(place, 1)


def test_wall_that_is_gone(place):
    """a daemon whose clock is a minute ahead and the only master go down together: tokens grow all the same"""
    wall = clockshim.Clock(place, "d1")
    wall.step(60)
    redis = place.redis()
    config = "lease: 1s\nclock-margin: 100ms\nrestart-guard: auto\n"
    ahead = place.daemon("d1", master=redis, config=config, environment=wall.environment)
    token = ahead.client()("LOCK", "a", "WAIT", 60000)
    expect_between(token, 1, 2 ** 53)
    ahead.kill()
    redis.kill()
    redis.restart()
    client = place.daemon("d2", master=redis, config=config).client()
    expect_between(client("LOCK", "a", "WAIT", 60000), token + 1, 2 ** 53, "the next token")


def test_wall_of_daemons_of_three(place):
    """the daemons' wall clocks go apart by two hours with three masters: no effect, tokens grow"""
    wall_of_daemons(place, 3)


def test_clock_of_another_century(place):
    """the only master's clock goes on by a hundred years, and by three hundred: it is refused by that reason; set again it is guarded, and tokens go on from before"""
    clock = clockshim.Clock(place, "m1")
    redis = place.redis("m1", environment=clock.environment)
    daemon = place.daemon("d1", master=redis, config="lease: 1s\nclock-margin: 100ms\nrestart-guard: auto\n").admitted()
    client = daemon.client()
    token = client("LOCK", "a", "WAIT", 0)
    expect(client("UNLOCK", "a"), 0)
    for years in (100, 300):
        clock.step(years * 365.25 * 86400)
        harness.until("it is refused", lambda: "has a clock" in daemon.info()["master0_reason"])
        answer = str(client("LOCK", "b", "WAIT", 0))
        expect("NOMASTER" in answer and "has a clock" in answer, True, answer)
        mark = daemon.output.mark()
        clock.step(-years * 365.25 * 86400)
        daemon.output.wait("master.guarded", mark)
        following = client("LOCK", "a", "WAIT", 60000)
        expect_between(following, token + 1, 2 ** 52)
        token = following
        expect(client("UNLOCK", "a"), 0)


if __name__ == "__main__":
    harness.main(globals())
