#!/usr/bin/env python3
"""A reload takes up what can change, beside what cannot, which it names."""

import os
import re
import subprocess

import harness
import resp
import tool
from harness import expect, expect_between, expect_code

GRANTED = (1, 2 ** 53)


def left_of_waiter(daemon, name):
    """How long a LOCK without WAIT waits for a name that is held: -1 is for ever."""
    holder, waiter = daemon.client(), daemon.client()
    holder("LOCK", name, "WAIT", 20000)
    waiter.send("LOCK", name)
    with daemon.client(form=3) as viewer:
        while True:
            waiters = viewer("INSPECT", name)["waiters"]
            if waiters:
                break
    holder.close()
    expect_between(waiter.reply(), *GRANTED)
    waiter.close()
    return waiters[0]["left_ms"]


def test_rules_come_and_go(place):
    """rules that are added, removed and moved count at once, for names that are held too"""
    daemon = place.daemon(master=place.redis(), config="lease: 2s\n").admitted()
    expect(left_of_waiter(daemon, "q/1"), -1)
    daemon.configure("lease: 2s\nrules: [ { match: 'a', wait: 5s }, { match: 'q/*', wait: 60s } ]\n")
    answer = daemon.client()("RELOAD")
    expect(answer, "reloaded: rules")
    expect_between(left_of_waiter(daemon, "q/1"), 1, 60000)
    expect_between(left_of_waiter(daemon, "a"), 1, 5000)
    daemon.configure("lease: 2s\nrules: [ { match: 'q/*', wait: 30s } ]\n")
    answer = daemon.client()("RELOAD")
    expect(answer, "reloaded: rules, rules[0].match, rules[0].wait")
    expect_between(left_of_waiter(daemon, "q/1"), 1, 30000)
    expect(left_of_waiter(daemon, "a"), -1)


def test_password_of_a_master(place):
    """a master's password changes at both ends, in any order, while a lock is held: nothing is lost, and the log says which one works"""
    secret = os.path.join(place.path, "secret")

    def write(password):
        with open(secret, "w", encoding="ascii") as stream:
            stream.write(password + "\n")

    write("first")
    redis = place.redis(options=["--requirepass", "first"])
    admin = place.keep(resp.Client(redis.socket))
    expect(admin("AUTH", "first"), "OK")
    daemon = place.daemon(config="masters:\n  - { url: '%s', password-file: %s }\n" % (redis.url, secret)).admitted()
    holder = daemon.client()
    token = holder("LOCK", "a")
    expect_between(token, *GRANTED)

    def cut_off(password):
        """Both connections, of the calls and of the subscriptions, and that they come back with this one."""
        was = daemon.output.text().count(password)
        admin("CLIENT", "KILL", "SKIPME", "yes", "TYPE", "normal")
        admin("CLIENT", "KILL", "SKIPME", "yes", "TYPE", "pubsub")
        harness.until("both are back", lambda: daemon.output.text().count(password) >= was + 2)

    # The configuration comes first, the server later.
    write("second")
    expect("masters[0] password" in daemon.client()("RELOAD"), True)
    cut_off('password="the one before"')
    expect(admin("CONFIG", "SET", "requirepass", "second"), "OK")
    cut_off('password="the new one"')
    # The other way round.
    expect(admin("CONFIG", "SET", "requirepass", "third"), "OK")
    write("third")
    expect("needs a restart" in daemon.client()("RELOAD"), False)
    cut_off('password="the new one"')
    harness.until("its lease is good", lambda: expect_between(holder("CHECK", "a"), 1, harness.LEASE_MS) is None)
    expect(holder("UNLOCK", "a", "TOKEN", token), 0)
    for word in ("first", "second", "third"):
        expect(word in daemon.output.text(), False, "a password in the log")


def longest(daemon):
    """The longest lease by the rules, the longest that its masters take, and the longest that its guards wait for."""
    info = daemon.info()
    return tuple(int(info[field]) for field in ("lease_max_ms", "lease_limit_ms", "lease_guarded_ms"))


def test_longer_lease(place):
    """a lease that is longer than the longest counts after a reload, also for what is held"""
    redis = place.redis()
    daemon = place.daemon(master=redis, config="lease: 2s\n").admitted()
    holder = daemon.client()
    expect_between(holder("LOCK", "held"), *GRANTED)
    daemon.configure("lease: 60s\nrules: [ { match: 'q', lease: 30s, wait: 60s } ]\n")
    expect(daemon.client()("RELOAD"), "reloaded: lease, rules")
    harness.until("the longer lease", lambda: longest(daemon) == (60000, 60000, 60000))
    for name in ("q", "other"):
        expect_between(holder("LOCK", name), *GRANTED)
    expect_between(redis("PTTL", "holdfast:{q}"), 3001, 31000)
    expect_between(redis("PTTL", "holdfast:{other}"), 31001, 61000)
    harness.until("its renewal", lambda: redis("PTTL", "holdfast:{held}") > 31000)
    # Its guards wait for what was asked for before.
    daemon.configure("lease: 2s\n")
    expect(daemon.client()("RELOAD"), "reloaded: lease, rules")
    expect(longest(daemon), (60000, 60000, 60000))


def test_lease_rolled(place):
    """a longer lease is rolled over the daemons of a namespace: none is refused, and what others hold stays held"""
    redis = place.redis()
    daemons = [place.daemon("d%d" % i, master=redis, config="lease: 2s\n").admitted() for i in range(3)]
    holder = daemons[2].client()
    token = holder("LOCK", "held")
    for daemon in daemons[:2]:
        expect(daemon.terminate(), 0)
        daemon.configure("lease: 4s\n")
        daemon.start().admitted()
    # The last daemon guards the longer leases by now, and so they are taken before it is restarted.
    harness.until("the longer lease", lambda: [longest(daemon) for daemon in daemons] ==
                  [(4000, 4000, 4000), (4000, 4000, 4000), (2000, 2000, 4000)])
    expect_between(daemons[0].client()("LOCK", "a"), *GRANTED)
    client = daemons[1].client()
    expect_between(client("LOCK", "b"), *GRANTED)
    expect_between(redis("PTTL", "holdfast:{b}"), 3001, 5000)
    expect_between(holder("CHECK", "held", "TOKEN", token), 1, 2000)
    expect(holder("UNLOCK", "held"), 0)
    # And back, one after the other: the longer leases have ended with the last of the daemons that want them.
    for daemon in daemons[:2]:
        expect(daemon.terminate(), 0)
        daemon.configure("lease: 2s\n")
        daemon.start().admitted()
    harness.until("the shorter lease", lambda: redis("HGET", "holdfast:node", "lease_max") == "2000")
    for daemon in daemons:
        expect("master.refused" in daemon.output.text(), False, daemon.output.text())


def test_keys_stay(place):
    """names keep their keys at the master through a reload that adds, moves and removes rules with keys"""
    redis = place.redis()
    daemon = place.daemon(master=redis, config="lease: 2s\nrules: [ { match: 'a/*', key: 'mine:{%}' } ]\n").admitted()
    daemon.configure("lease: 2s\nrules: [ { match: 'a/b*', wait: 5s }, { match: 'c/*', key: 'new:{%}', wait: 7s }, "
                     "{ match: 'd/*', wait: 9s }, { match: 'a/*', wait: 60s } ]\n")
    answer = daemon.client()("RELOAD")
    for path in ("rules[0].match", "rules[0].key", "rules[1].match", "rules[1].key"):
        expect(path in answer.split("needs a restart: ")[1], True, answer)
    for name, key, wait_ms in (("a/b", "mine:{a/b}", 60000), ("c/1", "holdfast:{c/1}", 7000),
                               ("d/1", "holdfast:{d/1}", 9000)):
        expect_between(left_of_waiter(daemon, name), 1, wait_ms)
        holder = daemon.client()
        expect_between(holder("LOCK", name), *GRANTED)
        expect_between(redis("PTTL", key), 1, 3000)
    daemon.configure("lease: 2s\n")
    answer = daemon.client()("RELOAD")
    expect("rules[0].key" in answer, True, answer)
    expect_between(daemon.client()("LOCK", "a/2"), *GRANTED)
    expect_between(redis("EXISTS", "mine:{a/2}"), 1, 1)


def test_asleep_through_other_rules(place):
    """a daemon that stood still while all others were started anew with other keys grants nothing by its old ones"""
    redis = place.redis()
    brisk = "lease: 1s\nclock-margin: 100ms\n"
    first = place.daemon("d1", master=redis, config=brisk).admitted()
    client = first.client()
    first.process.stop()
    second = place.daemon("d2", master=redis, config=brisk + "rules: [ { match: a, key: 'lock:%' } ]\n").admitted()
    holder = second.client()
    token = holder("LOCK", "a")
    client.send("LOCK", "a", "WAIT", "0")
    first.process.cont()
    expect_code(client.reply(), "NOMASTER")
    expect_between(holder("CHECK", "a", "TOKEN", token), 1, 1000)
    expect(redis("EXISTS", "holdfast:{a}"), 0)


def test_another_format(place):
    """a master that a daemon of another format uses is refused, with the host to upgrade, until that daemon is gone"""
    redis = place.redis()
    brisk = "lease: 1s\nclock-margin: 100ms\n"
    place.daemon("d1", master=redis, config=brisk).admitted().process.kill()
    seconds = int(redis("TIME")[0])
    redis("HSET", "holdfast:node", "format", "2", "d:" + "f" * 32, "%d000000 1000 1000 0 0" % (seconds + 3600),
          "h:" + "f" * 32, "2 app-07 0.2.0")
    daemon = place.daemon("d2", master=redis, config=brisk)
    client = daemon.client()
    daemon.output.wait(r"master\.refused ")
    refused = daemon.output.text()
    for words in ("format 1, the others 2; alive there: ", "ffffffff on app-07 0.2.0: ", "upgrade the older hosts"):
        expect(words in refused, True, refused)
    expect_code(client("LOCK", "a", "WAIT", 0), "NOMASTER")
    expect(redis("HGET", "holdfast:node", "format"), "2")
    redis("HSET", "holdfast:node", "d:" + "f" * 32, "1 1000 1000 0 0")
    expect_between(client("LOCK", "a", "WAIT", 20000), *GRANTED)
    expect(redis("HGET", "holdfast:node", "format"), "1")
    expect(redis("HEXISTS", "holdfast:node", "h:" + "f" * 32), 0)
    mine = [text for text in redis("HVALS", "holdfast:node") if text.startswith("1 %s " % os.uname().nodename)]
    expect(len(mine), 1, mine)


def test_other_limits_after_a_clean_end(place):
    """a daemon that ends and holds nothing is registered no longer: one with other limits is not refused"""
    redis = place.redis()
    first = place.daemon("d1", master=redis, config="lease: 2s\nclock-margin: 200ms\n").admitted()
    client = first.client()
    expect_between(client("LOCK", "a"), *GRANTED)
    expect(client("UNLOCK", "a"), 0)
    expect(first.terminate(), 0)
    expect([field for field in redis("HKEYS", "holdfast:node") if field[1] == ":"], [])
    second = place.daemon("d2", master=redis, config="lease: 2s\nclock-margin: 300ms\n").admitted()
    expect("master.refused" in second.output.text(), False, second.output.text())
    expect_between(second.client()("LOCK", "a"), *GRANTED)


def test_limits_stay_while_something_is_held(place):
    """what a daemon that ends leaves held keeps its limits in force: others are refused until then"""
    redis = place.redis()
    first = place.daemon("d1", master=redis, config="lease: 2s\nclock-margin: 200ms\n").admitted()
    client = first.client()
    expect_between(client("LOCK", "a"), *GRANTED)
    expect(first.terminate(), 0)
    expect(len([field for field in redis("HKEYS", "holdfast:node") if field.startswith("d:")]), 1)
    second = place.daemon("d2", master=redis, config="lease: 2s\nclock-margin: 300ms\n")
    second.output.wait(r"master\.refused .*clock-margin 300 ms, the others 200 ms")
    second.admitted()
    expect_between(second.client()("LOCK", "a"), *GRANTED)


def test_refused_by_the_system(place):
    """a reload that the system refuses changes nothing, and says of nothing that it has changed"""
    daemon = place.daemon(master=place.redis()).admitted()
    before = daemon.listen
    daemon.listen += "  - unix: %s\n" % os.path.join(daemon.folder, "nowhere", "deeper", "s")
    daemon.configure("rules: [ { match: 'a', wait: 5s } ]\n")
    expect_code(daemon.client()("RELOAD"), "ERR")
    expect(left_of_waiter(daemon, "a"), -1)
    daemon.output.wait(r"daemon\.reload_failed")
    expect("config.changed" in daemon.output.text(), False, daemon.output.text())
    daemon.listen = before
    daemon.configure("rules: [ { match: 'a', wait: 5s } ]\n")
    expect(daemon.client()("RELOAD"), "reloaded: rules")
    expect_between(left_of_waiter(daemon, "a"), 1, 5000)


def test_pipes(place):
    """a pipe in the place of the configuration, of a file of its directory, or of the log is refused, and never waited for"""
    daemon = place.daemon(master=place.redis()).admitted()
    path = os.path.join(daemon.folder, "holdfast.yml")
    client = daemon.client()

    def refused(what, said):
        answer = client("RELOAD")
        expect_code(answer, "ERR")
        expect(said in answer, True, "%s: %s" % (what, answer))
        expect_between(client("LOCK", what), *GRANTED)
        done = subprocess.run([harness.HOLDFASTD, "-t", "-c", path], capture_output=True, text=True, timeout=harness.PATIENCE,
                              check=False)
        expect((done.returncode, said in done.stderr), (78, True), done.stderr)

    drop_ins = os.path.join(daemon.folder, "holdfast.d")
    os.mkdir(drop_ins)
    os.mkfifo(os.path.join(drop_ins, "10-pipe.yml"))
    refused("drop-in", "it is a pipe")
    os.unlink(os.path.join(drop_ins, "10-pipe.yml"))
    os.rename(path, path + ".kept")
    os.mkfifo(path)
    refused("whole", "it is a pipe")
    os.unlink(path)
    os.rename(path + ".kept", path)
    os.mkfifo(os.path.join(daemon.folder, "log"))
    daemon.configure("log: { to: '%s' }\n" % os.path.join(daemon.folder, "log"))
    answer = client("RELOAD")
    expect_code(answer, "ERR")
    expect_between(client("LOCK", "log"), *GRANTED)


def aside(place, daemon, used, configured):
    """restart and doctor say that the configuration names another only master than the one that is used, and what helps."""
    status, text = tool.call(place, daemon, "restart", "-q")
    harness.expect(status, 1, text)
    for words in ("goes on with %s, and the configuration names %s" % (used, configured),
                  "holdfast masters replace %s %s" % (used, configured), "stop all daemons"):
        harness.expect(words in text, True, text)
    harness.until("it is admitted", lambda: daemon.info()["master0_state"] == "admitted")
    status, text = tool.call(place, daemon, "doctor", "-q")
    harness.expect((status, "the configuration names %s, the daemon uses %s" % (configured, used) in text), (1, True), text)
    harness.expect(len(re.findall(r"daemon\.started .*masters=%s " % re.escape(used), daemon.output.text())), 2)


def test_only_master_at_another_address(place):
    """the only master gets another address: a reload says that it stays where it is, and how to follow; MASTERS REPLACE does, and the holder keeps its lock"""
    port = harness.free_port()
    redis = place.redis("only", options=["--port", str(port)])
    config = "lease: 2s\nclock-margin: 200ms\nrestart-guard: auto\n"
    daemon = place.daemon("d1", master=redis, config=config).admitted()
    holder = daemon.client()
    token = holder("LOCK", "a", "WAIT", 0)
    daemon.master = "masters: [ \"redis://127.0.0.1:%d\" ]\n" % port
    daemon.configure(config)
    answer = str(holder("RELOAD"))
    harness.expect("masters is not in effect: the only master stays the server before" in answer, True, answer)
    harness.expect("new addresses of masters" in answer, False, answer)
    harness.expect(daemon.info()["master0_address"], redis.socket)
    harness.expect(daemon.info()["masters_aside"], "127.0.0.1:%d" % port)
    aside(place, daemon, redis.socket, "127.0.0.1:%d" % port)
    # The next process knows the new address only, and still says so.
    harness.expect("masters is not in effect" in daemon.client()("RELOAD"), True)
    holder = daemon.client()
    token = holder("LOCK", "b", "WAIT", 0)
    harness.expect(holder("MASTERS", "REPLACE", redis.socket, "127.0.0.1:%d" % port), 2)
    told = holder("MASTERS")
    fields = dict(zip(told[::2], told[1::2]))
    harness.expect("127.0.0.1:%d" % port in str(fields["masters"]), True, str(told))
    harness.until("it is reached there", lambda: daemon.info()["master0_address"] == "127.0.0.1:%d" % port)
    # The old address may be closed: no connection of the daemon is left there.
    harness.until("it has left the old address", lambda: not [
        line for line in redis("CLIENT", "LIST").splitlines()
        if "name=holdfast" in line and "addr=127.0.0.1" not in line])
    harness.until("it is admitted there", lambda: daemon.info()["master0_state"] == "admitted")
    harness.expect_between(holder("CHECK", "b", "TOKEN", token), 1, 2000)
    harness.expect(daemon.info()["masters_aside"], "")
    harness.expect(tool.call(place, daemon, "restart", "-q"), (0, ""))
    harness.until("it is admitted again", lambda: daemon.info()["master0_state"] == "admitted")
    harness.expect(tool.call(place, daemon, "doctor", "-q")[0], 0)


def test_only_master_is_another_server(place):
    """the configuration names another server as the only master: reload, restart, doctor and the log say which is used and what helps; a stop and a start do it"""
    redis, other = place.redis("old"), place.redis("new")
    config = "lease: 2s\nclock-margin: 200ms\nrestart-guard: off\n"
    daemon = place.daemon("d1", master=redis, config=config).admitted()
    daemon.master = "masters: [ \"%s\" ]\n" % other.url
    daemon.configure(config)
    harness.expect("masters is not in effect" in daemon.client()("RELOAD"), True)
    daemon.output.wait(r"warning config\.not_in_effect key=masters used=%s configured=%s" % (redis.socket, other.socket))
    aside(place, daemon, redis.socket, other.socket)
    # What is put back into the configuration is in effect.
    daemon.master = "masters: [ \"%s\" ]\n" % redis.url
    daemon.configure(config)
    harness.expect("not in effect" in daemon.client()("RELOAD"), False)
    harness.expect(daemon.info()["masters_aside"], "")
    daemon.master = "masters: [ \"%s\" ]\n" % other.url
    daemon.configure(config)
    harness.expect(daemon.terminate(), 0)
    daemon.start()
    daemon.admitted()
    harness.expect((daemon.info()["master0_address"], daemon.info()["masters_aside"]), (other.socket, ""))
    harness.expect(tool.call(place, daemon, "restart", "-q"), (0, ""))


def test_not_in_effect(place):
    """a rule that needs a restart is told by reload, INFO, doctor and the fleet until it is in effect, and show has what is"""
    redis = place.redis()
    daemon, other = (place.daemon(name, master=redis, config="lease: 2s\n").admitted() for name in ("d1", "d2"))
    daemon.configure("lease: 2s\n" + "rules:\n  - { match: 'x*', key: 'lock:%', interop: string }\n")
    expect("needs a restart: rules[0].match, rules[0].key, rules[0].interop" in daemon.client()("RELOAD"), True)
    expect("rules[0].key" in daemon.info()["config_pending"], True)
    # Again, with nothing changed since: it is still not in effect.
    expect("needs a restart" in daemon.client()("RELOAD"), True)
    status, text = tool.call(place, daemon, "doctor", "-q")
    expect((status, "rules[0].key" in text), (1, True), text)
    harness.until("the other daemon sees it", lambda: re.search(r"restart", tool.call(place, other, "fleet")[1]))
    name = daemon.client(form=3)("INSPECT", "x", "FLEET")
    expect((name["key"], name["interop"]), ("", "off"))
    for one in (daemon, other):
        one.terminate()
    daemon.start()
    daemon.admitted()
    expect(daemon.info()["config_pending"], "")
    name = daemon.client(form=3)("INSPECT", "x", "FLEET")
    expect((name["key"], name["interop"]), ("lock:%", "string"))


if __name__ == "__main__":
    harness.main(globals())
