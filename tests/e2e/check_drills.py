#!/usr/bin/env python3
"""Drills: an incident is brought about, and somebody on call ends it with what the alert and the product print alone.

In each scene the alert fires on the metrics of the incident, its `command` names the cause and the command that mends it,
that command is run as it is printed, and health is well again. What else names the cause is looked at as well: health,
top, fleet, the log, pages. Where a cause is mended by a change of a file, or of a server, the scene makes the change that
is named. The other incidents, and where they are shown:

    incident                             scene
    a stuck lock                         here: test_stuck_lock, test_stuck_elsewhere
    a wrong password at a master         here: test_wrong_password
    a hardened ACL                       here: test_hardened_acl, of commands, keys and channels; check_causes.py: test_dangerous
    a master that is full                here: test_full; check_causes.py: test_one_of_three, of three
    a master that takes no writes        here: test_read_only; check_causes.py: test_too_few_replicas, test_disk, test_busy
    descriptors run out                  here: test_descriptors; check_doctor.py: test_out_of_descriptors
    a master that is down                here: test_down; check_doctor.py: test_minority_away; check_health.py: test_one_of_three
    a master that is slow, or loads      here: test_slow, test_loading
    a client that keeps the daemon busy  here: test_busy_client
    50,000 locks of one client           here: test_many_locks
    locks of one user, in many sessions  here: test_leaking_user
    a clock that is off                  here: test_clock
    a fleet that is upgraded by half     here: test_half_upgraded
    a master that stands still           check_doctor.py: test_stands_still
    a guard, a clock that jumped          check_doctor.py: test_guard, test_jump
    settings that differ                 check_doctor.py: test_settings, test_refused
    a certificate, a secret              check_doctor.py: test_certificate, test_secrets
"""

import contextlib
import os
import re
import resource
import socket
import threading

import clockshim
import harness
import resp
from check_http import path_of
from harness import expect, expect_between, expect_code
from oncall import OnCall

CONFIG = "lease: 3s\nclock-margin: 300ms\nrestart-guard: off\n"
# For scenes whose masters or daemons are slow on purpose.
CALM = CONFIG.replace("3s", "60s")


def http(place):
    return "http:\n  - unix: %s\n" % path_of(place)


def served(place, config="", times=CONFIG, **options):
    return place.daemon(config=http(place) + times + config, **options)


def stuck(place, daemon, far, name):
    """A holder at the daemon `far` that never gives back, and two clients of this one that wait; returns all three."""
    holder, waiters = far.client(), [daemon.client() for _ in range(2)]
    holder("CLIENT", "SETNAME", "nightly")
    holder("SESSION", "ONLOSS", "NEXT")
    expect_between(holder("LOCK", name, "WHY", "import of May"), 1, 2 ** 53)
    for count, waiter in enumerate(waiters, 1):
        waiter.send("LOCK", name, "WAIT", 600000)
        daemon.queued(name, count)
    return holder, waiters


def passes_on(on_call, waiters):
    """The lock is taken away by what is printed, and the first one who waits has it."""
    harness.until("it has lasted", lambda: float(on_call.scrape()[1]["holdfast_longest_wait_seconds"]) > 0.2)
    on_call.fires("HoldfastLockStuck")
    # The alert comes after a minute, which the scene does not wait for.
    finding = on_call.finds("holdfast doctor --long-wait 0.1", "wait for .*nightly.*import of May")
    expect(on_call.type("holdfast doctor")[0], 0, "a short wait is none")
    on_call.runs(finding)
    expect_between(waiters[0].reply(), 1, 2 ** 53)
    return finding


def test_stuck_lock(place):
    """a client keeps a lock for which others wait: who, why and since when; the command that is printed passes it on"""
    daemon = served(place, master=place.redis(), config="rules: [ { match: '*', slow-wait: 100ms } ]\n").admitted()
    on_call = OnCall(place, daemon)
    # The name is no word of a shell.
    name = "-it's$(touch${IFS}oops)5%"
    _holder, waiters = stuck(place, daemon, daemon, name)
    on_call.names("nightly", "top -b -n 1 --sort longest", "log", "/locks.json?order=age", "ls")
    passes_on(on_call, waiters)
    expect(os.path.exists(os.path.join(place.path, "oops")), False, "the shell has run the name")


def test_stuck_elsewhere(place):
    """the same if the holder is on another host: the host of those who wait names it, and breaks its lock"""
    redis = place.redis()
    far = place.daemon("d2", master=redis, config=CONFIG).admitted()
    daemon = served(place, master=redis).admitted()
    harness.until("they know each other", lambda: len(daemon.client(3)("FLEET")) == 2)
    on_call = OnCall(place, daemon)
    holder, waiters = stuck(place, daemon, far, "nightly/import")
    on_call.names("nightly", "show nightly/import")
    passes_on(on_call, waiters)
    expect_code(holder("UNLOCK", "nightly/import"), "LOST")


def test_wrong_password(place):
    """the password of a master was changed: each place names it, and after the change of the file the command that is printed has it read"""
    redis = place.redis(options=("--requirepass", "old"))
    path = os.path.join(place.path, "password")

    def write(word):
        with open(path, "w", encoding="ascii") as stream:
            stream.write(word + "\n")
    write("old")
    daemon = place.idle_daemon(config=http(place) + CONFIG + "masters: [ { url: '%s', password-file: %s } ]\n" % (redis.url, path))
    daemon.start().admitted()
    on_call = OnCall(place, daemon)
    with resp.Client(redis.socket) as admin:
        expect(admin("AUTH", "old"), "OK")
        expect(admin("CONFIG", "SET", "requirepass", "new"), "OK")
        admin("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    cause = "WRONGPASS|invalid password"
    on_call.names(cause, "health", "top -b -n 1", "log", "/readyz", "/")
    for alert in ("HoldfastNoNewLocks", "HoldfastMasterAway"):
        on_call.fires(alert)
    finding = on_call.finds("holdfast doctor", cause)
    expect("password-file" in finding["do"], True, repr(finding))
    write("new")
    on_call.mends("HoldfastNoNewLocks", cause)


# What a login is given by those who know nothing of holdfast.
LOGINS = (("~*", "&*", "+@all", "-@dangerous"), ("~*", "&*", "+@all", "-evalsha", "-set"), ("~cache:*", "&*", "+@all"),
          ("~*", "&*", "+@read", "+@connection", "+info"), ("~cache:*", "+@all", "-@dangerous"))


def test_hardened_acl(place):
    """a login at the master that may do too little, in five ways: what is printed gives it that, with its login and namespace"""
    redis = place.redis()
    expect(redis("ACL", "SETUSER", "app", "on", ">secret", "allkeys", "allchannels", "+@all"), "OK")
    daemon = place.idle_daemon(config=http(place) + CONFIG + "namespace: locks\nmasters: [ { url: 'unix://%s?user=app', "
                               "password-env: SECRET } ]\n" % redis.socket, environment={"SECRET": "secret"})
    daemon.start().admitted()
    on_call = OnCall(place, daemon)
    cause = "NOPERM|may not run|permissions|The user executing the script"
    for rules in LOGINS:
        expect(redis("ACL", "SETUSER", "app", "reset", "on", ">secret", *rules), "OK")
        redis("CLIENT", "KILL", "USER", "app")
        harness.until("health is critical", lambda: not on_call.healthy())
        on_call.names(cause, "health", "top -b -n 1", "log", "/readyz")
        on_call.fires("HoldfastNoNewLocks")
        finding = on_call.mends("HoldfastNoNewLocks", cause)
        expect(" ACL SETUSER app " in finding["run"], True, repr(finding))
        # Other daemons are heard, too.
        on_call.ends("holdfast doctor", cause, on_call.quiet)


def mended_at_master(place, fault, cause, more=()):
    """The master stops granting, and answers; a command at the master mends that."""
    redis = place.redis(options=("--port", str(harness.free_port())))
    daemon = served(place, master=redis).admitted()
    on_call = OnCall(place, daemon)
    fault(redis)
    harness.until("health is critical", lambda: not on_call.healthy())
    on_call.names(cause, "health", "top -b -n 1", "log", "/readyz", "/", *more)
    on_call.fires("HoldfastNoNewLocks")
    on_call.mends("HoldfastNoNewLocks", cause)
    harness.until("doctor finds nothing", on_call.quiet)


def test_full(place):
    """a master without memory for leases: programs are refused, and the alert on refusals fires as well"""
    redis = place.redis()
    daemon = served(place, master=redis).admitted()
    on_call = OnCall(place, daemon)
    expect(redis("CONFIG", "SET", "maxmemory", "100000"), "OK")
    harness.until("a LOCK is refused", lambda: "OOM" in str(daemon.client()("LOCK", "a", "WAIT", 0)))
    on_call.names("OOM", "health", "top -b -n 1", "log", "/readyz", "/")
    for alert in ("HoldfastNoNewLocks", "HoldfastRefusals"):
        on_call.fires(alert)
    on_call.mends("HoldfastRefusals", "OOM")
    harness.until("doctor finds nothing", on_call.quiet)


def test_read_only(place):
    """a master that has become a replica"""
    def fault(redis):
        expect(redis("REPLICAOF", "127.0.0.1", str(harness.free_port())), "OK")
    mended_at_master(place, fault, "replica|READONLY|MASTERDOWN")


def test_script(place):
    """a script of another program that does not end"""
    def fault(redis):
        redis("CONFIG", "SET", "busy-reply-threshold" if redis("CONFIG", "GET", "busy-reply-threshold") else "lua-time-limit", "50")
        place.keep(resp.Client(redis.socket)).send("EVAL", "while true do end", 0)
    mended_at_master(place, fault, "BUSY|busy running")


def test_evicting(place):
    """a master that may evict leases, since somebody has changed its policy"""
    def fault(redis):
        expect(redis("CONFIG", "SET", "maxmemory-policy", "allkeys-lru"), "OK")
    mended_at_master(place, fault, "maxmemory-policy")


def test_descriptors(place):
    """clients use up the descriptors of the daemon: the alert before that, and a command that gives it more while it runs"""
    daemon = place.idle_daemon(master=place.redis(), config=http(place) + CONFIG + "limits: { clients: 360, sessions-per-user: 360, bound-sessions: 10 }\n")
    daemon.start().admitted()
    # The daemon itself takes as many as it may have at its start. To raise the hard limit takes a right that containers lack.
    resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, (400, resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE)[1]))
    on_call = OnCall(place, daemon)
    crowd = []

    def connect():
        crowd.append(daemon.client())
        return crowd[-1]("PING")
    while int(daemon.info()["descriptors_used"]) < 0.93 * 400:
        expect(connect(), "PONG")
    on_call.fires("HoldfastDescriptorsNearLimit")
    on_call.names("descriptors_used:3[789]", "info server")
    on_call.mends("HoldfastDescriptorsNearLimit", "descriptors", lambda: all(
        name not in on_call.told("doctor") for name in ("descriptors are", "descriptors,")))
    expect([connect() for _ in range(20)], ["PONG"] * 20)


def test_down(place):
    """a master that has ended: the server is to be started, and the command that is printed says that it answers"""
    redis = place.redis()
    daemon = served(place, master=redis).admitted()
    on_call = OnCall(place, daemon)
    redis.kill()
    cause = "connection refused"
    harness.until("health is critical", lambda: not on_call.healthy())
    on_call.names(cause, "health", "top -b -n 1", "log", "/readyz", "/")
    for alert in ("HoldfastNoNewLocks", "HoldfastMasterAway"):
        on_call.fires(alert)
    finding = on_call.finds("holdfast doctor", cause)
    start, command = re.match("(start the server), and see whether it answers from this host: (redis-cli .*)$", finding["do"]).groups()
    expect((start, on_call.type(command)[0] != 0), ("start the server", True))
    redis.start()
    expect(on_call.type(command), (0, "PONG\n"))
    on_call.well()


SLOW = "local n = 0 local t = redis.call('TIME') local function us() local now = redis.call('TIME') " \
       "return (now[1] - t[1]) * 1e6 + now[2] - t[2] end while us() < 150000 do n = n + 1 end return n"


def pester(port, ended):
    """Sends one slow command after the other, until it is ended."""
    with contextlib.suppress(OSError, resp.Closed), resp.Client(("127.0.0.1", port)) as client:
        client("CLIENT", "SETNAME", "reports")
        while True:
            client("EVAL", SLOW, 0)
    ended.set()


@harness.busy
def test_slow(place):
    """a master that another client keeps busy with slow commands: what is printed shows the client, and ends it"""
    port, ended = harness.free_port(), threading.Event()
    redis = place.redis(options=("--port", str(port)))
    daemon = served(place, master=redis, times=CALM).admitted()
    on_call = OnCall(place, daemon)
    threading.Thread(target=pester, args=(port, ended), daemon=True).start()
    client = daemon.client()

    def ask():
        expect_between(client("LOCK", "a%d" % len(asked), "WAIT", 45000), 1, 2 ** 53)
        asked.append(True)
    asked = []
    harness.until("it is slow", lambda: ask() or int(daemon.info()["master0_round_trip_us"]) > 60000)
    cause = "takes \\d+ ms for a command"
    on_call.names("[0-9]{2,}.[0-9] ms", "top -b -n 1")
    on_call.fires("HoldfastMasterSlow")
    finding = on_call.finds("holdfast doctor", cause)
    slow = on_call.runs(finding)
    address = re.search(r"^(127\.0\.0\.1:\d+)$\n^reports$", slow, re.M).group(1)
    command = re.search("(redis-cli \\S+ \\S+ CLIENT KILL ADDR) HOST:PORT$", finding["do"]).group(1)
    expect(on_call.type("%s %s" % (command, address)), (0, "1\n"))
    expect(ended.wait(harness.PATIENCE), True)
    harness.until("it is quick again", lambda: ask() or on_call.quiet())


def test_loading(place):
    """a master that was started again and still reads its data: that there is nothing to do but wait, and for how long"""
    redis = place.redis(options=("--key-load-delay", "0", "--loading-process-events-interval-bytes", "1024", "--rdbcompression", "no"))
    daemon = served(place, master=redis).admitted()
    on_call = OnCall(place, daemon)
    for number in range(300):
        redis("SET", "cache:%d" % number, "x" * 2000)
    expect(redis("SAVE"), "OK")
    redis.kill()
    redis.options[redis.options.index("--key-load-delay") + 1] = "100000"
    starts = threading.Thread(target=redis.start)
    starts.start()
    on_call.names("LOADING", "health", "top -b -n 1", "log", "/readyz")
    on_call.fires("HoldfastNoNewLocks")
    finding = on_call.finds("holdfast doctor", "LOADING")
    command = re.match("wait; (redis-cli .*) shows how long$", finding["do"]).group(1)
    expect(int(re.search("loading_eta_seconds:(\\d+)", on_call.type(command)[1]).group(1)) > 0, True)
    # Now it reads as fast as it can.
    expect(redis("CONFIG", "SET", "key-load-delay", "0"), "OK")
    starts.join()
    on_call.well()


def flood(client):
    """Sends as fast as the daemon takes it, until the connection is closed."""
    requests = b"CHECK nothing\r\n" * 5000
    with contextlib.suppress(OSError):
        while True:
            client.socket.sendall(requests)
            taken = 0
            while taken < 5000:
                piece = client.socket.recv(1 << 20)
                if not piece:
                    return
                taken += piece.count(b"\n")


@harness.alone
def test_busy_client(place):
    """a client that sends without a pause: which one, how much, and the command that ends it"""
    daemon = served(place, master=place.redis(), times=CALM).admitted()
    on_call = OnCall(place, daemon)
    client = daemon.client()
    client("CLIENT", "SETNAME", "crawler")
    number = client("SESSION", "ID")
    sender = threading.Thread(target=flood, args=(client,))
    sender.start()
    try:
        finding = on_call.finds("holdfast doctor", "session %d of crawler .* requests a second" % number)
        on_call.names("^ *%d .*crawler" % number, "sessions --here --sort rate")
        on_call.names("busiest here: session %d, [0-9]{4,} requests/s" % number, "top -b -n 1")
        on_call.names("busiest client: session %d, [0-9]{4,} requests a second" % number, "/")
        on_call.names("busiest_session:%d" % number, "info clients")
        now, during = on_call.scrape()
        began, before = on_call.before
        share = (float(during["process_cpu_seconds_total"]) - float(before["process_cpu_seconds_total"])) / (now - began)
        harness.comment("the daemon takes %.0f %% of a processor" % (share * 100))
        if share > 0.9:
            on_call.fires("HoldfastBusy")
        expect(finding["run"], "holdfast kill %d" % number)
        on_call.mends("HoldfastBusy", "crawler", on_call.quiet)
    finally:
        client.socket.shutdown(socket.SHUT_RDWR)
        sender.join(harness.PATIENCE)
    expect(sender.is_alive(), False)


MANY = 50000


def test_leaking_user(place):
    """a user that leaks locks over many sessions, of which none stands out: it is named, and the list that is printed names its client"""
    daemon = served(place, master=place.redis(), times=CONFIG.replace("3s", "20s"), config="limits: { locks-per-user: 100 }\n").admitted()
    on_call = OnCall(place, daemon)
    clients = [daemon.client() for _ in range(20)]
    for number, client in enumerate(clients):
        client("CLIENT", "SETNAME", "importer")
        for name in range(5):
            expect_between(client("LOCK", "job/%d/%d" % (number, name)), 1, 2 ** 53)
    expect_code(clients[0]("LOCK", "more", "WAIT", 0), "LIMIT")
    # Health asks as the same user.
    expect(on_call.finds("holdfast doctor", "LIMIT locks-per-user")["run"], "holdfast ls --here --by client")
    finding = on_call.finds("holdfast doctor", "the user .* holds 100 of the 100 locks that limits.locks-per-user allows, over 2[0-9] sessions")
    expect(finding["run"], "holdfast ls --here --by client")
    status, text = on_call.type(finding["run"])
    expect((status, re.search(" importer +.* 20 +100 ", text) is not None), (0, True), text)


@harness.busy
def test_many_locks(place):
    """a client that leaks locks until no more are granted: it is named among 50,000 locks, with the limit, and its end frees them"""
    daemon = served(place, master=place.redis(), times=CONFIG.replace("3s", "20s"),
                    config="limits: { grants-per-session: %d }\nlog: { level: info }\n" % MANY).admitted()
    on_call = OnCall(place, daemon)
    client = daemon.client()
    client("CLIENT", "SETNAME", "importer")
    number = client("SESSION", "ID")
    for start in range(0, MANY, 1000):
        for name in range(start, start + 1000):
            client.send("LOCK", "job/%05d" % name)
        expect([answer for answer in [client.reply() for _ in range(1000)] if not isinstance(answer, int)], [])
    expect_code(client("LOCK", "more", "WAIT", 0), "LIMIT")
    on_call.names("importer", "sessions --sort holds", "top -b -n 1", "ls 'job/4999*'")
    on_call.fires("HoldfastRefusals")
    cause = "session %d of importer .* holds %d of the %d locks that limits.grants-per-session allows" % (number, MANY, MANY)
    finding = on_call.mends("HoldfastRefusals", cause, on_call.quiet)
    expect(finding["run"], "holdfast kill %d" % number)
    harness.until("all is free", lambda: daemon.info()["grants"] == "0" and daemon.info()["withheld"] == "0")


def test_clock(place):
    """a master whose clock is ahead, or behind: the host is named, and setting its clock ends it"""
    for number, seconds in enumerate((5, -5)):
        name = "clock%d" % number
        clock = clockshim.Clock(place, name)
        redis = place.redis("redis%d" % number, environment=clock.environment)
        daemon = place.daemon("d%d" % number, master=redis, config=http(place) + CONFIG).admitted()
        on_call = OnCall(place, daemon, clock=name)
        clock.step(seconds)
        cause = "clock of %s is \\d+ ms %s" % (redis.socket, "ahead" if seconds > 0 else "behind")
        # Two clocks of one host may be a millisecond apart before.
        harness.until("it is known", lambda daemon=daemon, seconds=seconds: int(daemon.info()["master0_clock_ms"]) * seconds > 1000)
        on_call.fires("HoldfastClockApart")
        on_call.mends("HoldfastClockApart", cause, on_call.quiet)
        on_call.well()
        expect(daemon.terminate(), 0)


def test_half_upgraded(place):
    """a fleet of two versions and two settings: each host names the other one, and what is printed makes them alike"""
    redis = place.redis()
    old = os.path.join(place.path, "holdfastd")
    with open(harness.HOLDFASTD, "rb") as stream:
        program = stream.read()
    with open(old, "wb") as stream:
        stream.write(program.replace(b"0.1.0", b"0.0.9"))
    os.chmod(old, 0o755)
    daemon = served(place, master=redis).admitted()
    on_call = OnCall(place, daemon)
    far = place.idle_daemon("d2", master=redis, config=CONFIG.replace("3s", "5s"))
    far.wrap = ["sh", "-c", "shift; exec %s \"$@\"" % old, "sh"]
    far.start().admitted()
    there = OnCall(place, far, watched=False)
    harness.until("they know each other", lambda: len(daemon.client(3)("FLEET")) == 2)
    on_call.names("0.0.9", "fleet", "/metrics")
    on_call.names("lease 5s .here 3s.", "fleet")
    on_call.fires("HoldfastFleetMixed", minutes=480)
    version = on_call.finds("holdfast doctor", "is holdfastd 0.0.9, the one of this host is 0.1.0")
    setting = on_call.finds("holdfast doctor", "other settings than this host's: lease 5s .here 3s.")
    host = re.escape(os.uname().nodename)
    first = re.match("on %s: install the newer package, then: (holdfast .*)$" % host, version["do"]).group(1)
    second = re.search("make lease in holdfast.yml the same on %s, then there: (holdfast .*)$" % host, setting["do"]).group(1)
    expect(first, second)
    # The older one is to be renewed, whichever is asked.
    finding = there.finds("holdfast doctor", "is holdfastd 0.1.0, the one of this host is 0.0.9")
    expect(finding["do"].startswith("on this host: install the newer package, then: " + first), True, repr(finding))
    far.configure(CONFIG)
    with open(old + ".new", "wb") as stream:
        stream.write(program)
    os.chmod(old + ".new", 0o755)
    os.replace(old + ".new", old)
    expect(there.type(first)[0], 0)
    harness.until("they are alike", on_call.quiet)
    on_call.well()
    there.well()


if __name__ == "__main__":
    harness.main(globals())
