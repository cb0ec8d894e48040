#!/usr/bin/env python3
"""Ready is what was seen to work: while a master answers with errors, readiness, metrics, health, doctor and LOCK say the
same cause, and the daemon is ready again when the cause is gone."""

import json
import os
import re
import shutil

import harness
import resp
import tool
from check_http import ask, path_of, Connection
from harness import expect

CONFIG = "lease: 3s\nclock-margin: 300ms\nrestart-guard: off\n"
BUSY = "local t = redis.call('TIME')[1] while redis.call('TIME')[1] - t < 600 do end"


def served(place, **options):
    return place.daemon(config="http:\n  - unix: %s\n%s" % (path_of(place), CONFIG), **options)


def get(place, target):
    return ask(Connection(path_of(place)), target)


def findings(place, daemon):
    return [one for one in json.loads(tool.call(place, daemon, "doctor", "--json")[1]) if one["grade"] != "ok"]


def told_everywhere(place, daemon, cause, cure, code="MASTERERR"):
    """Waits until the daemon is not ready for this cause, and looks at everything that names it."""
    harness.until("not ready: %s" % cause, lambda: get(place, "/readyz")[0] == 503 and
                  re.search(cause, daemon.info()["masters_missing"] + daemon.info()["master0_reason"]))
    metrics = get(place, "/metrics")[2]
    expect(re.search(r"^holdfast_available (\d)", metrics, re.M).group(1), "0")
    expect(re.findall(r"^holdfast_master_silent\{.*\} (\d)", metrics, re.M), ["0"], "an error that was answered is no silence")
    expect(bool(re.search(cause, get(place, "/")[2])), True, "the status page")
    status, text = tool.call(place, daemon, "health")
    expect((status, bool(re.search(cause, text))), (2, True), text)
    found = findings(place, daemon)
    expect([bool(re.search(cause, one["what"]) and re.search(cure, one["do"] + one["run"])) for one in found if one["part"] == "master"],
           [True], repr(found))
    expect([one for one in found if one["part"] == "lock" and not re.search(cure, one["do"] + one["run"])], [], repr(found))
    answer = daemon.client()("LOCK", "other", "WAIT", 0)
    expect((isinstance(answer, resp.Error), bool(re.search("^(%s) " % code, str(answer))), bool(re.search(cause, str(answer)))),
           (True, True, True), str(answer))


def ready_again(place):
    harness.until("ready again", lambda: get(place, "/readyz")[0] == 200)


def started(place, **options):
    redis = place.redis(**options)
    daemon = served(place, master=redis).admitted()
    expect(get(place, "/readyz")[0], 200)
    return redis, daemon


def test_full(place):
    """a master that is full: no LOCK has to fail before the daemon says so"""
    redis, daemon = started(place)
    redis("CONFIG", "SET", "maxmemory", "100000")
    told_everywhere(place, daemon, "OOM", "maxmemory")
    redis("CONFIG", "SET", "maxmemory", "0")
    ready_again(place)


def test_too_few_replicas(place):
    """a master that takes no writes for want of replicas, longer than a registration lives"""
    redis, daemon = started(place)
    redis("CONFIG", "SET", "min-replicas-to-write", "1")
    harness.until("the registration is over", lambda: "no HELLO well" in str(daemon.client()("LOCK", "a", "WAIT", 0)))
    told_everywhere(place, daemon, "NOREPLICAS", "min-replicas-to-write", code="NOMASTER")
    redis("CONFIG", "SET", "min-replicas-to-write", "0")
    ready_again(place)


def test_busy(place):
    """a master that is busy in a script of another program"""
    redis, daemon = started(place)
    redis("CONFIG", "SET", "busy-reply-threshold" if redis("CONFIG", "GET", "busy-reply-threshold") else "lua-time-limit", "50")
    other = place.keep(resp.Client(redis.socket))
    other.send("EVAL", BUSY, 0)
    harness.until("the cause is known", lambda: "BUSY" in daemon.info()["master0_reason"])
    told_everywhere(place, daemon, "BUSY", "SCRIPT KILL", code="MASTERERR|NOMASTER")
    expect(redis("SCRIPT", "KILL"), "OK")
    ready_again(place)


def logged_in(place, *rights):
    """A daemon whose login at the master is not that of the test."""
    redis = place.redis()
    expect(redis("ACL", "SETUSER", "app", "on", ">secret", "~*", "&*", *rights), "OK")
    daemon = place.idle_daemon(config="http:\n  - unix: %s\n%smasters: [ { url: \"unix://%s?user=app\", password-env: SECRET } ]\n"
                               % (path_of(place), CONFIG, redis.socket), environment={"SECRET": "secret"})
    daemon.start()
    return redis, daemon


def test_right_taken(place):
    """a login that loses a right which only leases need, while the daemon runs"""
    redis, daemon = logged_in(place, "+@all")
    ready_again(place)
    redis("ACL", "SETUSER", "app", "-set")
    told_everywhere(place, daemon, r"SET\b|The user executing the script", "ACL SETUSER")
    redis("ACL", "SETUSER", "app", "+set")
    ready_again(place)


def test_dangerous(place):
    """a login without the dangerous commands: the text names the one that is missing"""
    redis, daemon = logged_in(place, "+@all", "-@dangerous")
    told_everywhere(place, daemon, "may not run INFO", "ACL SETUSER", code="NOMASTER")
    redis("ACL", "SETUSER", "app", "+info")
    ready_again(place)


def test_dangerous_taken(place):
    """the same, taken while the daemon runs"""
    redis, daemon = logged_in(place, "+@all")
    ready_again(place)
    redis("ACL", "SETUSER", "app", "-@dangerous")
    harness.until("the registration is over", lambda: "no HELLO well" in str(daemon.client()("LOCK", "a", "WAIT", 0)))
    told_everywhere(place, daemon, "may not run INFO", "ACL SETUSER", code="NOMASTER")
    redis("ACL", "SETUSER", "app", "+@all")
    ready_again(place)


def test_disk(place):
    """a master that cannot save its data"""
    directory = os.path.join(place.path, "data")
    os.mkdir(directory)
    redis, daemon = started(place, options=("--dir", directory))
    expect(redis("CONFIG", "SET", "save", "3600 1"), "OK")
    shutil.rmtree(directory)
    redis("SET", "x", "1")
    redis("BGSAVE")
    harness.until("saving has failed", lambda: "rdb_last_bgsave_status:err" in redis("INFO", "persistence"))
    told_everywhere(place, daemon, "MISCONF", "INFO persistence")
    redis("CONFIG", "SET", "stop-writes-on-bgsave-error", "no")
    ready_again(place)


def test_replica(place):
    """a master that becomes a replica"""
    redis, daemon = started(place, options=("--port", str(harness.free_port())))
    redis("REPLICAOF", "127.0.0.1", str(harness.free_port()))
    told_everywhere(place, daemon, "replica|READONLY|MASTERDOWN", "REPLICAOF NO ONE", code="NOMASTER")
    redis("REPLICAOF", "NO", "ONE")
    ready_again(place)


def test_one_of_three(place):
    """one of three masters that is full: locks can be had, and health warns of it by name; of two they cannot"""
    masters = [place.redis("r%d" % n) for n in range(3)]
    daemon = served(place, master=masters).admitted()
    masters[1]("CONFIG", "SET", "maxmemory", "100000")
    harness.until("the full one is known", lambda: "OOM" in daemon.info()["master1_reason"])
    expect(get(place, "/readyz")[0], 200)
    status, text = tool.call(place, daemon, "health")
    expect((status, "OOM" in text, masters[1].socket in text), (1, True, True), text)
    masters[2]("CONFIG", "SET", "maxmemory", "100000")
    harness.until("not ready", lambda: get(place, "/readyz")[0] == 503)
    for master in masters:
        master("CONFIG", "SET", "maxmemory", "0")
    ready_again(place)


if __name__ == "__main__":
    harness.main(globals())
