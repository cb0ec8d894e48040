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
    a master that is down                check_doctor.py: test_away, test_minority_away; check_health.py: test_one_of_three
    a master that stands still           check_doctor.py: test_stands_still
    a guard, a clock that leapt          check_doctor.py: test_guard, test_leap
    settings that differ                 check_doctor.py: test_settings, test_refused
    a certificate, a secret              check_doctor.py: test_certificate, test_secrets
"""

import os
import resource

import harness
import resp
from check_http import path_of
from harness import expect, expect_between, expect_code
from oncall import OnCall

CONFIG = "lease: 3s\nclock-margin: 300ms\nrestart-guard: off\n"


def http(place):
    return "http:\n  - unix: %s\n" % path_of(place)


def served(place, config="", **options):
    return place.daemon(config=http(place) + CONFIG + config, **options)


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
    expect(on_call.quiet(), True)


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
    expect(on_call.quiet(), True)


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


if __name__ == "__main__":
    harness.main(globals())
