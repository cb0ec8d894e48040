"""What all figures stand on: servers over TCP on loopback, loads in turns, and what each process used.

Times differ from machine to machine and from minute to minute, ratios much less: whatever is compared is measured in
turns, five short runs each after one that does not count, and every ratio is one of neighbours.
"""

import contextlib
import json
import os
import re
import resource
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

import harness  # noqa: E402

ROUNDS = 5
WARM_SECONDS = 0.05  # of a first turn, which is not kept
SETTLE_SECONDS = 0.03  # at the beginning of each slice, while all connect and begin at once
RIVAL_SETTLE_SECONDS = 0.3  # where each that is refused sleeps for up to 0.25 s
CONFIG = """\
lease: 10s
clock-margin: 1s
restart-guard: off
log: { level: warning }
limits: { clients: 11000, sessions-per-user: 11000, grants-per-session: 1000000, locks-per-user: 10000000,
  waiters-per-session: 100000 }
"""
RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"
RENEW = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0"
# What a Redisson-style lock does: a hash of the owner and how often it entered, and a message at the end.
TRY = """\
if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
    redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
    return false
end
return redis.call('PTTL', KEYS[1])"""
TELL = """\
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
if redis.call('HINCRBY', KEYS[1], ARGV[1], -1) > 0 then return 1 end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', KEYS[2], 'free')
return 1"""

TRANSPORTS = ("Unix", "TCP")


def where(server, transport):
    """The place of a daemon or a Redis for a client that uses this transport."""
    return server.socket if transport == "Unix" else "127.0.0.1:%d" % server.port


def program(name):
    return os.path.join(harness.BUILD, "bench", name)


def cpu(process):
    """Seconds of CPU that a process has used, all its threads."""
    used = 0
    folder = "/proc/%d/task" % process.pid
    for thread in os.listdir(folder):
        with open(os.path.join(folder, thread, "schedstat"), encoding="ascii") as stream:
            used += int(stream.read().split()[0])
    return used / 1e9


def memory(process):
    """The resident bytes that are its own. Pages of files are not among them: a ledger has its own figure."""
    with open("/proc/%d/status" % process.pid, encoding="ascii") as stream:
        return int(re.search(r"RssAnon:\s+(\d+)", stream.read()).group(1)) * 1024


def descriptors(process):
    """How many files it has open."""
    return len(os.listdir("/proc/%d/fd" % process.pid))


def column(results, key):
    return [result[key] for result in results]


def ratios(results, others, key):
    return [one[key] / max(other[key], 1e-9) for one, other in zip(results, others)]


class Holder:
    """Connections of the hold program."""

    def __init__(self, place, connections, where):
        self.process = place.run(program("hold"), str(connections), where, stdin=-1)
        self.process.output.wait("ready", timeout=120)
        self.lines = self.process.output.mark()

    def __call__(self, *words):
        """Tells it to do something; the seconds it took, and what else it says."""
        self.process.process.stdin.write((" ".join(map(str, words)) + "\n").encode())
        self.process.process.stdin.flush()
        _, _, self.lines = self.process.output.wait(".", self.lines, timeout=300)
        self.lines += 1
        line = self.process.output.lines[self.lines - 1][1]
        if not re.match(r"[\d.]+ [\d.]+$", line):
            raise AssertionError("hold, told to %s: %s" % (words[0], line))
        return [float(word) for word in line.split()]

    def done(self):
        self.process.process.stdin.close()
        self.process.wait()


class Stage:
    def __init__(self, place, slice_seconds, table, quick):
        self.place = place
        self.slice = slice_seconds
        self.table = table
        self.quick = quick
        self.bares = 0
        self.redis = self.master("redis")
        self.sha1 = {name: self.redis("SCRIPT", "LOAD", text) for name, text in
                     (("release", RELEASE), ("renew", RENEW), ("try", TRY), ("tell", TELL))}
        self.descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (self.descriptors,) * 2)  # inherited by all that is started

    def has_room(self, connections):
        """Whether a process may have so many, and a few more for itself; says so when it may not."""
        if self.descriptors >= connections + 200:
            return True
        self.table.note("skipped: {:,} connections; a process may have {:,} descriptors here (ulimit -n)".format(
            connections, self.descriptors))
        return False

    def master(self, name):
        """A Redis over TCP on loopback, since a master is seldom on the host of its clients; it listens on its Unix socket,
        too."""
        port = harness.free_port()
        redis = self.place.redis(name, options=["--port", str(port), "--maxclients", "30000"])
        redis.port = port
        redis.at = where(redis, "TCP")
        redis.url = "redis://" + redis.at
        return redis

    def daemon(self, name, config="", master=None, own=True):
        """Ready to grant, and listens on both transports. own: it shares no name with the other daemons at its master."""
        keys = dict(line.split(":", 1) for line in (CONFIG + config).splitlines())
        if own:
            keys["namespace"] = " " + name
        text = "".join("%s:%s\n" % item for item in keys.items())
        return self.place.daemon(name, master=master or self.redis, config=text, tcp=True).admitted()

    def run(self, name, seconds, *words):
        process = self.place.run(program(name), *[str(word) for word in words])
        status = process.wait(seconds + harness.PATIENCE)
        if status != 0:
            raise AssertionError("%s %s ends with %d:\n%s" % (name, " ".join(map(str, words)), status,
                                                              process.output.tail()))
        return json.loads(process.output.text())

    def load(self, kind, clients, seconds, *places, pause=0, sha1="", watched=(), warm=SETTLE_SECONDS,
             names=1, redis=None):
        words = ["-c", clients, "-n", names, "-w", warm, "-t", seconds, "-p", pause, "-s", sha1 or "-"]
        for process in watched:
            words += ["-m", process.pid]
        if redis:
            words += ["-r", redis.at]
        return self.run("load", warm + seconds, *words, kind, *places)

    def rival(self, kind, clients, seconds, place, warm=RIVAL_SETTLE_SECONDS):
        release = self.sha1["tell" if kind == "redisson" else "release"]
        return self.run("rival", warm + seconds, "-c", clients, "-w", warm, "-t", seconds, "-r", self.sha1["try"], "-u",
                        release, kind, place)

    def bare(self, clients, seconds, transport, apart=None):
        """Hand-offs of a bare loop, what it used of the processors in server_us. It ends with its clients, so each run has
        its own."""
        self.bares += 1
        at = os.path.join(self.place.path, "bare%d" % self.bares) if transport == "Unix" \
            else "127.0.0.1:%d" % harness.free_port()
        server = self.place.run(program("bare"), at)
        server.output.wait("ready")
        with placed(server, apart):
            result = self.load("handoff", clients, seconds, at, watched=[server])
        result["server_us"] = result["used_us"][0]
        server.wait()
        return result

    def measured(self, kind, clients, seconds, places, daemons=(), masters=(), **more):
        """A load, with what a cycle cost: us of CPU at the daemons and at a master, on average, and commands at the first
        master."""
        masters = masters or [self.redis]
        watched = [server.process for server in (*masters, *daemons)]
        before = [descriptors(daemon.process) for daemon in daemons]
        result = self.load(kind, clients, seconds, *places, watched=watched, redis=masters[0], **more)
        # Limits count them until then, and the next slice does not measure their end.
        for daemon, most in zip(daemons, before):
            harness.until("the clients of a slice are gone", lambda of=daemon.process, n=most: descriptors(of) <= n)
        result["redis_us"] = statistics.fmean(result["used_us"][:len(masters)])
        result["daemon_us"] = sum(result["used_us"][len(masters):])
        return result

    def in_turns(self, seconds=None, cold=(), **works):
        """Each work's results, of ROUNDS rounds; a work takes the seconds it may measure. cold: those that a first turn
        would not warm."""
        for name, work in works.items():
            if name not in cold:
                work(min(WARM_SECONDS, seconds or self.slice))
        results = {name: [] for name in works}
        names = list(works)
        for number in range(ROUNDS):
            for at in range(len(names)):
                name = names[(number + at) % len(names)]
                results[name].append(works[name](seconds or self.slice))
        return results


def threads(process):
    """Their numbers; none of a process that has ended."""
    with contextlib.suppress(FileNotFoundError):
        return [int(thread) for thread in os.listdir("/proc/%d/task" % process.pid)]
    return []


@contextlib.contextmanager
def placed(server, apart, *others):
    """Puts a server on one processor, others and the clients that are started meanwhile on another, or on the same."""
    processors = sorted(os.sched_getaffinity(0))
    if apart is None or len(processors) < 2:
        yield
        return
    for thread in threads(server):
        os.sched_setaffinity(thread, processors[:1])
    beside = [0] + [other.pid for other in others]
    for pid in beside:
        os.sched_setaffinity(pid, processors[1:2] if apart else processors[:1])
    try:
        yield
    finally:
        for pid in beside + threads(server):
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(pid, processors)


def commands_of(redis):
    """How many commands it has run, those inside scripts counted."""
    return int(re.search(r"total_commands_processed:(\d+)", redis("INFO", "stats")).group(1))
