"""What the nemesis does to masters, network, daemons and clients; the list is that of the promises' fault table.

A fault is a function of the stage, a source of chance of its own, and what it hits; when it returns, it is over. What
it may cost is declared beside it, so that a run stays within what is promised: only a minority of the masters may
lose its memory, or its sense of time, in one guard period.
"""

import os
import resource
import shutil
import signal

import harness
import nemesis_wire
import resp
from errands import handovers
from nemesis_wire import BOTH, DOWN, UP
from scene import pause

# Of all daemons, in seconds: as short as the promises are measured with.
LEASE = 1.0
MARGIN = 0.1
HOUR = 3600.0
UNDER_WAY = "ERR this daemon is being handed over"
FAULTS = []


def fault(domain, costs=None, aftermath=0.0, only=lambda stage: True):
    """
    domain: what is hit. costs: "memory" or "time" of the masters hit, else None. aftermath: seconds for which names
    may rightly stay taken when it is over, because somebody may still rely on them.
    """
    def register(function):
        function.domain = domain
        function.costs = costs
        function.aftermath = aftermath
        function.only = only
        FAULTS.append(function)
        return function
    return register


def many(stage):
    return stage.votes > 1


def unwatched(stage):
    """Sentinels, or the other nodes of a cluster, would undo it."""
    return stage.votes == len(stage.servers)


def has_databases(stage):
    return stage.databases


# --- masters --------------------------------------------------------------------------------------------------

@fault("master", costs="memory")
def kill_empty(_stage, chance, masters):
    for master in masters:
        master.forget_dump()
        master.redis.kill()
    pause(chance.random() * 0.6)
    for master in masters:
        master.redis.restart()


@fault("master", costs="memory")
def kill_stale(_stage, chance, masters):
    """What the dump says has changed hands many times when it comes back."""
    for master in masters:
        master("SAVE")
    pause(0.3 + chance.random() * 1.5)
    for master in masters:
        master.redis.kill()
    for master in masters:
        master.redis.restart()
        master.forget_dump()


@fault("master", costs="memory")
def kill_whole(_stage, chance, masters):
    """Nothing is written between the dump and the kill."""
    for master in masters:
        master("CLIENT", "PAUSE", 3000, "WRITE")
        master("SAVE")
        master.redis.kill()
    pause(chance.random() * 0.3)
    for master in masters:
        master.redis.restart()
        master.forget_dump()


@fault("master", costs="memory")
def flush(_stage, _chance, masters):
    for master in masters:
        master("FLUSHALL")


@fault("master", costs="memory", only=has_databases)
def swapped(_stage, chance, masters):
    """Another database comes to the place of its own, and goes again: empty, or with what was there the last time."""
    for master in masters:
        if chance.random() < 0.5:
            with resp.Client(master.redis.socket) as client:
                client("SELECT", 1)
                client("FLUSHDB")
        master("SWAPDB", 0, 1)
    pause(chance.choice((0.1, 0.4, 2.0)) * (0.5 + chance.random()))
    for master in masters:
        master("SWAPDB", 0, 1)


@fault("master", costs="memory")
def reverted(_stage, chance, masters):
    """The same process reads what it wrote to its disk some time ago."""
    for master in masters:
        master("SAVE")
    pause(0.1 + chance.random() * 1.5)
    for master in masters:
        master("DEBUG", "RELOAD", "NOSAVE")
        master.forget_dump()


@fault("master", costs="memory", only=unwatched)
def replica(_stage, chance, masters):
    """READONLY or MASTERDOWN meanwhile, and another replication id afterwards."""
    stale = chance.choice(("yes", "no"))
    for master in masters:
        master("CONFIG", "SET", "replica-serve-stale-data", stale)
        master("REPLICAOF", "127.0.0.1", harness.free_port())
    pause(chance.random())
    for master in masters:
        master("REPLICAOF", "NO", "ONE")


@fault("master")
def stop(_stage, chance, masters):
    for master in masters:
        master.redis.process.stop()
    pause(chance.choice((0.1, 0.4, 1.2, 2.5)) * (0.5 + chance.random()))
    for master in masters:
        master.redis.process.cont()


@fault("master")
def scripts_flush(_stage, _chance, masters):
    for master in masters:
        master("SCRIPT", "FLUSH")


@fault("master")
def links_kill(_stage, chance, masters):
    for _ in range(chance.choice((1, 1, 5))):
        for master in masters:
            master("CLIENT", "KILL", "TYPE", chance.choice(("normal", "pubsub")), "SKIPME", "yes")
        pause(0.05)


@fault("master")
def clients_pause(_stage, chance, masters):
    duration = chance.randrange(50, 1800)
    what = chance.choice(("ALL", "WRITE"))
    for master in masters:
        master("CLIENT", "PAUSE", duration, what)
    pause(duration / 1000)


@fault("master")
def sleep(_stage, chance, masters):
    seconds = 0.1 + chance.random() * 1.7
    for master in masters:
        with resp.Client(master.redis.socket) as client:
            client.send("DEBUG", "SLEEP", "%.3f" % seconds)
    pause(seconds)


@fault("master")
def busy(_stage, chance, masters):
    clients = [resp.Client(master.redis.socket) for master in masters]
    for client in clients:
        client.send("EVAL", "while true do end", 0)
    pause(0.2 + chance.random() * 1.4)
    for master, client in zip(masters, clients):
        master("SCRIPT", "KILL")
        client.reply()
        client.close()


@fault("master")
def full(_stage, chance, masters):
    for master in masters:
        master("CONFIG", "SET", "maxmemory", "1")
    pause(chance.random() * 1.8)
    for master in masters:
        master("CONFIG", "SET", "maxmemory", "0")


@fault("master")
def misconfigured(_stage, chance, masters):
    """It is meant to save, and cannot: everything but reading is refused with MISCONF, PING too."""
    for master in masters:
        master("CONFIG", "SET", "save", "3600 1")
        lost = os.path.join(master.redis.folder, "lost")
        os.mkdir(lost)
        master("CONFIG", "SET", "dir", lost)
        shutil.rmtree(lost)  # a save may have begun there
        master("BGSAVE")
    pause(0.2 + chance.random() * 1.5)
    for master in masters:
        master.restore()


@fault("master")
def lonely(_stage, chance, masters):
    """It is meant to have replicas, and has none: NOREPLICAS."""
    for master in masters:
        master("CONFIG", "SET", "min-replicas-to-write", "1")
    pause(0.2 + chance.random() * 1.5)
    for master in masters:
        master("CONFIG", "SET", "min-replicas-to-write", "0")


@fault("master")
def loading(_stage, chance, masters):
    """It reads all it has from its disk, the same as before, and answers LOADING meanwhile."""
    for master in masters:
        master("CONFIG", "SET", "loading-process-events-interval-bytes", "1024")
        master("CONFIG", "SET", "key-load-delay", chance.choice((2000, 20000)))
    clients = [resp.Client(master.redis.socket) for master in masters]
    for client in clients:
        client.send("DEBUG", "RELOAD")
    for client in clients:
        client.reply()
        client.close()
    for master in masters:
        master("CONFIG", "SET", "key-load-delay", 0)


@fault("master")
def crowded(_stage, chance, masters):
    """maxclients: connections that end cannot come back for a while."""
    for master in masters:
        master("CONFIG", "SET", "maxclients", "1")
        master("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        master("CLIENT", "KILL", "TYPE", "pubsub")
    pause(chance.random() * 1.5)
    for master in masters:
        master("CONFIG", "SET", "maxclients", "1000")


@fault("master")
def forbidden(_stage, chance, masters):
    """NOPERM"""
    rule = chance.choice(("-evalsha", "-publish", "-subscribe", "-@all", "resetchannels", "resetkeys"))
    for master in masters:
        master("ACL", "SETUSER", "hf", rule)
    pause(0.1 + chance.random() * 1.5)
    for master in masters:
        master.restore()


@fault("master")
def locked_out(_stage, chance, masters):
    """WRONGPASS"""
    for master in masters:
        master("ACL", "SETUSER", "hf", "resetpass", ">other")
        master("CLIENT", "KILL", "USER", "hf")
    pause(0.1 + chance.random() * 1.5)
    for master in masters:
        master.restore()


@fault("master")
def clock_half_margin(_stage, chance, masters):
    for master in masters:
        master.clock.step(chance.choice((1, -1)) * MARGIN / 2)


@fault("master", costs="time", only=many)
def clock_hour_on(_stage, _chance, masters):
    for master in masters:
        master.clock.step(HOUR)


@fault("master", costs="memory", only=unwatched)
def clock_hour_back(_stage, _chance, masters):
    """With sentinels tokens may go back: a server whose clock is behind may be promoted, and no promise covers that."""
    for master in masters:
        master.clock.step(-HOUR)


@fault("master")
def hints_lost(stage, _chance, masters):
    """Queues and counters of tokens are deleted: the first are advice, the second go on above the highest of all."""
    for master in masters:
        for name in stage.names():
            master("DEL", *("%s:%s" % (stage.key(name), part) for part in "qwf"))


@fault("master")
def leases_taken(stage, chance, masters):
    """
    Somebody who should not writes to the keys of leases, and stays until every holder has run out of time. (Who deletes
    them at a bare majority opens the lock: nothing remembers it. No promise covers that.)
    """
    lasts_ms = int((LEASE + MARGIN) * 1000) + 200
    write = chance.choice(("redis.call('SET', KEYS[1], 'stranger', 'PX', ARGV[1])",
                           "redis.call('DEL', KEYS[1]) redis.call('RPUSH', KEYS[1], 'stranger') "
                           "redis.call('PEXPIRE', KEYS[1], ARGV[1])"))
    for master in masters:
        for name in stage.names():
            master("EVAL", write, 1, stage.key(name), lasts_ms)
    pause(lasts_ms / 1000)


# --- network --------------------------------------------------------------------------------------------------

def directions(chance):
    return chance.choice(((UP,), (DOWN,), BOTH))


@fault("network")
def hold(_stage, chance, lines):
    """A partition that heals before its connections are given up: everything arrives late."""
    what = directions(chance)
    for wire, doors in lines:
        wire.set(doors, what, mode="hold")
    pause(chance.choice((0.2, 0.8, 2.5)) * (0.5 + chance.random()))


@fault("network")
def blackhole(_stage, chance, lines):
    what = directions(chance)
    for wire, doors in lines:
        wire.set(doors, what, mode="drop")
    pause(chance.choice((0.3, 1.0, 2.5)) * (0.5 + chance.random()))


@fault("network")
def delay(_stage, chance, lines):
    what = directions(chance)
    seconds = chance.choice((0.005, 0.03, 0.1, 0.3))
    for wire, doors in lines:
        wire.set(doors, what, delay=seconds)
    pause(0.5 + chance.random() * 2)


@fault("network")
def dribble(_stage, chance, lines):
    what = directions(chance)
    seconds = chance.choice((0.0001, 0.0005, 0.002))
    for wire, doors in lines:
        wire.set(doors, what, pause=seconds)
    pause(0.5 + chance.random() * 2)


@fault("network")
def resets(_stage, chance, lines):
    for _ in range(chance.choice((1, 1, 6))):
        for wire, doors in lines:
            wire.reset(doors)
        pause(0.05)


@fault("network")
def refused(_stage, chance, lines):
    for wire, doors in lines:
        wire.refuse(doors)
        wire.reset(doors)
    pause(chance.random() * 2)


# --- daemons --------------------------------------------------------------------------------------------------

@fault("daemon")
def daemon_stop(_stage, chance, daemon):
    daemon.process.stop()
    pause(chance.choice((0.2, 0.7, 2 * LEASE)) * (1 + chance.random() * 0.2))
    daemon.process.cont()


@fault("daemon", aftermath=LEASE + MARGIN)
def daemon_kill(_stage, chance, daemon):
    daemon.kill()
    pause(chance.choice((0.0, 0.5, 1.5)) * chance.random())
    daemon.start()


@fault("daemon", aftermath=LEASE + MARGIN)
def daemon_crash(_stage, chance, daemon):
    """
    Killed and started again at once, once or more; nemesis_crash.py sees to it that sessions with a grace and bound ones
    go on.
    """
    for number in range(chance.choice((1, 1, 2, 4))):
        pause(number and 2 + 3 * chance.random())
        daemon.kill()
        daemon.start()


@fault("daemon", aftermath=LEASE + MARGIN)
def daemon_restart(_stage, _chance, daemon):
    harness.expect(daemon.terminate(), 0, "%s after SIGTERM" % daemon.name)
    daemon.start()


@fault("daemon")
def daemon_hand_over(_stage, chance, daemon):
    """Once or more, by a signal, by RESTART, or by both at once; nemesis_hand_over.py sees to it that no client notices."""
    for _ in range(chance.choice((1, 1, 2, 6))):
        done = handovers(daemon)
        ways = chance.choice((("signal",), ("RESTART",), ("RESTART", "signal"), ("RESTART", "RESTART")))
        clients = []
        for way in ways:
            if way == "signal":
                daemon.process.signal(signal.SIGUSR2)
            else:
                clients.append(daemon.client())
                clients[-1].send("RESTART")
        for client in clients:
            answer = client.reply()
            harness.expect(isinstance(answer, list) or len(ways) > 1 and answer.startswith(UNDER_WAY), True, answer)
            client.close()
        harness.until("%s serves in a new process" % daemon.name, lambda: handovers(daemon) > done)
        pause(chance.choice((0.0, 0.0, 0.3)) * chance.random())


@fault("daemon", aftermath=LEASE + MARGIN)
def daemon_late_hand_over(_stage, chance, daemon):
    """The next process comes up late: what was due soon is over by then, and other daemons have what it had."""
    done = handovers(daemon)
    daemon.program.after("sleep %.3f" % (chance.choice((0.1, 1.2, 2.5)) * LEASE * (0.5 + chance.random())))
    daemon.process.signal(signal.SIGUSR2)
    harness.until("%s serves in a new process" % daemon.name, lambda: handovers(daemon) > done)
    daemon.program.at_once()


@fault("daemon")
def daemon_clock(_stage, chance, daemon):
    daemon.clock.step(chance.choice((HOUR, -HOUR)))


@fault("daemon")
def daemon_reload(_stage, _chance, daemon):
    daemon.process.signal(signal.SIGHUP)


@fault("daemon")
def daemon_files(stage, chance, daemon):
    """It can open no descriptor any more: what was connected stays, what is reset cannot come back."""
    soft, hard = resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, (3, hard))
    for master in chance.sample(stage.masters, chance.randint(0, len(stage.masters))):
        master.wire.reset([stage.daemons.index(daemon)])
    pause(0.5 + chance.random() * 1.5)
    resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, (soft, hard))


# --- clients --------------------------------------------------------------------------------------------------
# A TCP client that breaks off leaves its lock withheld until the deadline it was told.

@fault("client", aftermath=LEASE)
def clients_kill(stage, _chance, worker):
    stage.crowd.kill(worker)


@fault("client")
def clients_stop(stage, chance, worker):
    stage.crowd.signal(worker, signal.SIGSTOP)
    pause(0.2 + chance.random() * 1.3)
    stage.crowd.signal(worker, signal.SIGCONT)


@fault("client", aftermath=LEASE)
def clients_reset(stage, _chance, worker):
    stage.crowd.order(worker, "reset")


@fault("client", aftermath=LEASE)
def clients_vanish(stage, _chance, worker):
    stage.crowd.order(worker, "vanish")


# --- beyond the budget ----------------------------------------------------------------------------------------

def total_loss(_stage, chance, masters):
    """All masters lose their memory at once: the guard has to carry everything."""
    if chance.random() < 0.5:
        for master in masters:
            master("FLUSHALL")
        return
    for master in masters:
        master.forget_dump()
        master.redis.kill()
    for master in masters:
        master.redis.restart()


total_loss.domain = "total"
total_loss.costs = "all"
total_loss.aftermath = 0.0
total_loss.only = lambda stage: True

__all__ = ["FAULTS", "nemesis_wire", "total_loss"]
