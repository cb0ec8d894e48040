#!/usr/bin/env python3
"""Users: what each may do and see, over TCP after a login and on a Unix socket by uid and group; and what changes with a reload."""

import contextlib
import http.client
import json
import os
import re
import socket
import subprocess

import harness
import resp
from harness import expect, expect_between, expect_code

# What each may do. The names are those of the columns below.
USERS = """users:
  - { name: ann, password-env: ANN, admin: yes }
  - { name: ops, password-env: OPS, names: [ "deploy/*" ], may: [ see, break ] }
  - { name: app, password-env: APP, names: [ "deploy/*", "cron/*" ] }
  - { name: reader, password-env: READER, names: [ "data/*" ], may: [ shared ] }
  - { name: guest, password-env: GUEST, may: [] }
"""
NAMES = ("ann", "ops", "app", "reader", "guest")
SECRETS = {name.upper(): name + "-secret" for name in NAMES + ("blind",)}

# A request, then for each user: a: it is carried out; m: refused by its may; n: refused by its names.
TABLE = (
    ("PING", "aaaaa"),
    ("CLIENT ID", "aaaaa"),
    ("CLIENT INFO", "aaaaa"),
    ("CLIENT SETNAME x", "aaaaa"),
    ("CLIENT GETNAME", "aaaaa"),
    ("CLIENT SETINFO LIB-NAME x", "aaaaa"),
    ("CLIENT TRACKING ON", "aaaaa"),
    ("CLIENT HELP", "aaaaa"),
    ("ECHO x", "aaaaa"),
    ("SELECT 0", "aaaaa"),
    ("INFO", "aaaaa"),
    ("COMMAND", "aaaaa"),
    ("COMMAND COUNT", "aaaaa"),
    ("COMMAND DOCS LOCK", "aaaaa"),
    ("COMMAND INFO LOCK", "aaaaa"),
    ("COMMAND LIST", "aaaaa"),
    ("COMMAND HELP", "aaaaa"),
    ("CONFIG GET x", "aaaaa"),
    ("CONFIG HELP", "aaaaa"),
    ("SESSION ID", "aaaaa"),
    ("SESSION SECRET", "aaaaa"),
    ("SESSION JOIN 0123", "aaaaa"),
    ("SESSION BIND", "aaaaa"),
    ("SESSION ANCHOR", "aaaaa"),
    ("SESSION ONLOSS NEXT", "aaaaa"),
    ("SESSION GRACE 1000", "aaaaa"),
    ("SESSION RESUME 0123", "aaaaa"),
    ("SESSION HEARTBEAT 0", "aaaaa"),
    ("SESSION TTL 60000 AS {id}", "aaaaa"),
    ("SESSION END AS {id}", "aaaaa"),
    ("SESSION HELP", "aaaaa"),
    ("LOCK deploy/a WAIT 0", "amamm"),
    ("LOCK cron/a WAIT 0", "amamm"),
    ("LOCK data/a WAIT 0", "amnmm"),
    ("LOCK other WAIT 0", "amnmm"),
    ("LOCK deploy/b SHARED WAIT 0", "amanm"),
    ("LOCK data/b SHARED WAIT 0", "amnam"),
    ("LOCK deploy/c LIMIT 3 WAIT 0", "amamm"),
    ("LOCK deploy/d WAIT 0 AS {id}", "amamm"),
    ("LOCK deploy/e WAIT 0 ASYNC j1", "amamm"),
    ("MLOCK 2 deploy/f cron/f WAIT 0", "amamm"),
    ("MLOCK 2 deploy/f data/f WAIT 0", "amnmm"),
    ("MLOCK 2 data/g data/h SHARED WAIT 0", "amnam"),
    ("MUNLOCK 2 other other2", "aaaaa"),
    ("UNLOCK other", "aaaaa"),
    ("CHECK other", "aaaaa"),
    ("DOWNGRADE other", "aaaaa"),
    ("CANCEL j9", "aaaaa"),
    ("EXTEND deploy/a 1000", "amanm"),
    ("LATCH deploy/l SET 2", "amamm"),
    ("LATCH deploy/l DOWN", "amamm"),
    ("LATCH deploy/l COUNT", "amanm"),
    ("LATCH data/l AWAIT WAIT 0", "amnam"),
    ("LATCH HELP", "aaaaa"),
    ("INSPECT deploy/a", "aaamm"),
    ("INSPECT cron/a", "anamm"),
    ("HISTORY deploy/a", "aaamm"),
    ("HISTORY cron/a", "anamm"),
    ("TOP", "aaamm"),
    ("HOUR", "aaamm"),
    ("LOCKS", "aaamm"),
    ("SESSIONS", "aaamm"),
    ("EVENTS", "aaamm"),
    ("CLIENT LIST", "aaamm"),
    ("FLEET", "aaamm"),
    ("BREAK deploy/a TOKEN 1", "aammm"),
    ("BREAK cron/a TOKEN 1", "anmmm"),
    ("CLIENT KILL ID 999999", "ammmm"),
    ("SESSION KILL 999999", "ammmm"),
    ("MASTERS", "ammmm"),
    ("MASTERS REPLACE old new", "ammmm"),
    ("MASTERS ADD new newer", "ammmm"),
    ("MASTERS ABORT", "ammmm"),
    ("MASTERS FORGET gone", "ammmm"),
    ("MASTERS HELP", "aaaaa"),
    ("LOG LEVEL", "ammmm"),
    ("LOG HELP", "aaaaa"),
    ("RELOAD", "ammmm"),
    ("RESTART", "ammmm"),
    ("DRAIN", "ammmm"),
)


def daemon_of(place, config=USERS, **options):
    return place.daemon(master=place.redis(), tcp=True, config=config, environment=SECRETS, **options).admitted()


def login(daemon, name):
    client = daemon.client(form=2, tcp=True)
    hello = client("HELLO", 3, "AUTH", name, SECRETS[name.upper()])
    expect(isinstance(hello, dict), True, repr(hello))
    return client


def judged(answer):
    """The mark of an answer in the table."""
    if getattr(answer, "code", None) != "NOPERM":
        expect(getattr(answer, "code", "ERR") in ("ERR", "NOTHELD", "LOST"), True, repr(answer))
        return "a"
    found = re.match(r"NOPERM users: (\w+): (may|names): ", answer)
    expect(bool(found), True, answer)
    return found.group(2)[0]


def test_table(place):
    """what each of five users may do, request by request: carried out, refused by may, refused by names"""
    daemon = daemon_of(place)
    for line, marks in TABLE:
        # The administrator comes last: what it is allowed to may end the daemon.
        for name, mark in reversed(list(zip(NAMES, marks))):
            client = login(daemon, name)
            words = line.format(id="%032d" % NAMES.index(name)).split()
            expect(judged(client(*words)), mark, "%s: %s" % (name, line))
            if line != "DRAIN":
                client("RESET")
    expect(daemon.process.wait(), 0)


def verbs():
    """Of each verb of proto/command.def that takes a login: its word, its subcommand or "", and its flags."""
    with open(os.path.join(harness.ROOT, "proto", "command.def"), encoding="utf-8") as stream:
        rows = re.findall(r'^COMMAND\(\w+, "([^"]+)", "([^"]*)", [^,]+, [^,]+, ([^,]+),', stream.read(), re.M)
    found = [(word, sub, set(flags.split(" | "))) for word, sub, flags in rows]
    return [verb for verb in found if "COMMAND_OPEN" not in verb[2]]


def is_of(line, verb):
    word, sub, flags = verb
    words = line.split() + ["", ""]
    at = 2 if "COMMAND_NAMED" in flags else 1
    known = {other[1] for other in verbs() if other[0] == word and other[1]}
    return words[0] == word and (words[at] == sub if sub else words[1] not in known)


def marks_of(line, flags):
    """What the flags of its verb say of a request, if names are left aside."""
    if "COMMAND_BREAKS" in flags:
        return "aammm"
    if "COMMAND_ADMIN" in flags:
        return "ammmm"
    if "COMMAND_SEES" in flags:
        return "aaamm"
    if "COMMAND_SHARES" in flags or ("COMMAND_TAKES" in flags and " SHARED" in line):
        return "amaam"
    return "amamm" if "COMMAND_TAKES" in flags else "aaaaa"


def test_table_is_whole(place):
    """each verb that takes a login is in the table of rights, with the right that its row of command.def gives it"""
    del place
    lines = {line: marks for line, marks in TABLE}
    for verb in verbs():
        own = [line for line in lines if is_of(line, verb)]
        expect(bool(own), True, "%s %s has no row: what may each user do with it?" % verb[:2])
        for line in own:
            expect(lines[line].replace("n", "a"), marks_of(line, verb[2]), line)
            del lines[line]
    expect(lines, {}, "rows of no verb")


def test_rights_are_documented(place):
    """the table of rights in PROTOCOL.md 6.8 has each verb in the row of its right"""
    del place
    with open(os.path.join(harness.ROOT, "proto", "PROTOCOL.md"), encoding="utf-8") as stream:
        rows = dict(re.findall(r"^\| `(lock|shared|see|break|admin)` \| (.*) \|$", stream.read(), re.M))
    rights = {"amamm": "lock", "amaam": "shared", "aaamm": "see", "aammm": "break", "ammmm": "admin"}
    for word, sub, flags in verbs():
        right = rights.get(marks_of("", flags))
        if right:
            # MASTERS stands for its subcommands as well.
            missing = set((word + " " + sub).split()) - set(re.findall(r"\w+", rows[right]))
            expect(missing - {sub if word == "MASTERS" else ""}, set(), "%s %s takes %s" % (word, sub, right))


def seen_by(client):
    return {lock["name"] for lock in client("LOCKS")[1]}


def test_masters_are_not_for_everybody(place):
    """INFO names the masters to every user with a right, and nothing of them to one without any"""
    daemon = daemon_of(place)
    for name in NAMES:
        client = login(daemon, name)
        text = client("INFO", "masters") + client("INFO")
        expect("# Masters" in text, name != "guest", name)
        expect("master0_address" in text, name != "guest", name)
        expect("# Locks" in text, True, name)


def test_only_own_names_are_seen(place):
    """lists and events have the names that a user may see, and sessions and connections of other users only for those who see all"""
    daemon = daemon_of(place)
    boss, app = login(daemon, "ann"), login(daemon, "app")
    watcher, everything = login(daemon, "app"), login(daemon, "ann")
    expect(watcher("EVENTS"), "OK")
    expect(everything("EVENTS"), "OK")
    for name in ("deploy/a", "secret", "cron/b", "data/c"):
        expect_between(boss("LOCK", name, "WAIT", 0), 1, 2 ** 53)
    expect(boss("LATCH", "hidden", "SET", 2), 1)
    expect(boss("LATCH", "cron/open", "SET", 2), 1)
    expect(seen_by(boss), {"deploy/a", "secret", "cron/b", "data/c", "hidden", "cron/open"})
    expect(seen_by(app), {"deploy/a", "cron/b", "cron/open"})
    expect({lock["name"] for lock in app("LOCKS", "MATCH", "*e*")[1]}, {"deploy/a", "cron/open"})
    # Each session of a connection is listed: those of ann, and of app for app.
    expect(len(boss("SESSIONS")[1]), 4)
    expect(len(app("SESSIONS")[1]), 2)
    expect(app("CLIENT", "LIST").count("user="), 2)
    expect(boss("CLIENT", "LIST").count("user="), 4)
    expect_between(boss("LOCK", "deploy/end", "WAIT", 0), 1, 2 ** 53)
    seen, all_seen = [], []
    for client, lines in ((watcher, seen), (everything, all_seen)):
        while not any("name=deploy/end" in line for line in lines):
            lines.append(client.push()[1])
    names = {re.search(r" name=(\S+)", line).group(1) for line in seen}
    expect(names, {"deploy/a", "cron/b", "cron/open", "deploy/end"})
    expect(any("name=secret" in line for line in all_seen), True, repr(all_seen))


def circle(daemon, first, second, one, other):
    """first holds one and waits for other, which second holds; the answer to second, which would wait for one."""
    first, second = login(daemon, first), login(daemon, second)
    expect(first("CLIENT", "SETNAME", "label-of-first"), "OK")
    expect_between(first("LOCK", one, "WAIT", 0), 1, 2 ** 53)
    expect_between(second("LOCK", other, "WAIT", 0), 1, 2 ** 53)
    first.send("LOCK", other)
    daemon.queued(other)
    answer = second("LOCK", one)
    expect_code(answer, "DEADLOCK")
    expect(second("UNLOCK", other), 0)
    expect_between(first.reply(), 1, 2 ** 53)
    expect([first("UNLOCK", name) for name in (one, other)], [0, 0])
    return answer


def test_circle_of_others(place):
    """DEADLOCK names sessions and locks of other users only to who may see them, and always those of the same user"""
    config = USERS + "  - { name: blind, password-env: BLIND, may: [lock] }\n"
    daemon = daemon_of(place, config)
    hidden = ("DEADLOCK this wait would wait for itself, through sessions that this user may not see: unlock, and start again; "
              "the daemon's log has the circle")
    for first, second, seen in (("ann", "app", False), ("ann", "blind", False), ("app", "ann", True), ("app", "app", True),
                                ("blind", "blind", True)):
        answer = circle(daemon, first, second, "deploy/a", "deploy/b")
        if seen:
            expect(("label-of-first" in answer, "waits for deploy/a, held by session" in answer), (True, True), answer)
        else:
            expect(answer, hidden)
    # Waiting for oneself has nobody else's session.
    client = login(daemon, "app")
    expect_between(client("LOCK", "deploy/a", "OWNER", "t1"), 1, 2 ** 53)
    expect("no connection is left to unlock it" in client("LOCK", "deploy/a", "OWNER", "t2"), True)
    # The log has all of them, each once.
    def told():
        return len(re.findall(r"lock\.deadlock .*text=\"session \d+ waits for", daemon.output.text()))
    harness.until("the log has all", lambda: told() >= 6)
    expect(told(), 6)


def test_reload_changes_rights(place):
    """a reload changes what users may while they are connected: who still may stays, what is held stays and can be given back"""
    daemon = daemon_of(place)
    app, reader = login(daemon, "app"), login(daemon, "reader")
    expect_between(app("LOCK", "deploy/a", "WAIT", 0), 1, 2 ** 53)
    changed = USERS.replace('names: [ "deploy/*", "cron/*" ] }', 'names: [ "cron/*" ], may: [ lock, shared, see ] }')
    daemon.configure(changed.replace("may: [ shared ]", "may: [ admin ]").replace('names: [ "data/*" ], ', ""))
    boss = login(daemon, "ann")
    answer = boss("RELOAD")
    expect("users[2].names" in answer and "users[2].may" in answer, True, answer)
    # It is still connected, and holds what it held.
    expect_between(app("CHECK", "deploy/a"), 1, harness.LEASE_MS)
    expect(judged(app("LOCK", "deploy/b", "WAIT", 0)), "n")
    expect(seen_by(app), set())
    expect(app("UNLOCK", "deploy/a"), 0)
    expect_between(app("LOCK", "cron/a", "WAIT", 0), 1, 2 ** 53)
    # The reader has become an administrator, and sees everything.
    expect(seen_by(reader), {"cron/a"})
    expect(isinstance(reader("MASTERS"), dict), True)
    # Who is no user any more, or has another password, is cut off; nobody else is.
    daemon.configure(changed.replace("name: guest", "name: visitor").replace("password-env: READER", "password-env: GUEST"))
    guest = login(daemon, "guest")
    boss("RELOAD")
    expect(guest.closed(), True)
    expect(reader.closed(), True)
    expect_between(app("CHECK", "cron/a"), 1, harness.LEASE_MS)


@contextlib.contextmanager
def being(uid, gid, groups=()):
    """The process connects as another user meanwhile."""
    before = os.getgroups()
    os.setgroups(groups)
    os.setegid(gid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(before)


LOCAL = """users:
  - { name: app, unix-user: 61001, names: [ "deploy/*" ] }
  - { name: ops, unix-group: 61100, may: [ see, break ] }
  - { name: door, password-env: APP, names: [ "door/*" ] }
  - { name: rest, unix-user: "*", may: [] }
"""


def local_daemon(place, config=LOCAL):
    if os.geteuid() != 0:
        raise harness.Skip("connecting as other users needs root")
    os.chmod(place.path, 0o755)
    path = os.path.join(place.path, "open.sock")
    web = os.path.join(place.path, "web")
    daemon = place.daemon(master=place.redis(), environment=SECRETS,
                          listen="  - { unix: %s, mode: '0666' }\n" % path,
                          config="http: [ { unix: %s, mode: '0666' } ]\n%s" % (web, config)).admitted()
    return daemon, path, web


def came_as(place, path, uid, gid=61999, groups=()):
    with being(uid, gid, groups):
        client = resp.Client(path)
    expect(isinstance(client("HELLO", 3), dict), True)
    return place.keep(client)


def test_local_users(place):
    """on a Unix socket the uid and all groups say which user a client is; root is an administrator"""
    daemon, path, _ = local_daemon(place)
    app, main_group = came_as(place, path, 61001), came_as(place, path, 61002, gid=61100)
    other_group, rest = came_as(place, path, 61003, groups=[61050, 61100]), came_as(place, path, 61004)
    boss = place.keep(resp.Client(path, 3))
    token = app("LOCK", "deploy/a", "WAIT", 0)
    expect_between(token, 1, 2 ** 53)
    expect(judged(app("LOCK", "x", "WAIT", 0)), "n")
    for ops in (main_group, other_group):
        expect(seen_by(ops), {"deploy/a"})
        expect(judged(ops("LOCK", "x", "WAIT", 0)), "m")
        expect("user=ops" in ops("CLIENT", "INFO"), True)
    expect_between(other_group("BREAK", "deploy/a", "TOKEN", token), 0, harness.LEASE_MS)
    expect(judged(rest("LOCKS")), "m")
    expect(rest("PING"), "PONG")
    expect(isinstance(boss("MASTERS"), dict), True)
    # A login takes the place of that, and RESET takes the login back.
    expect(rest("AUTH", "door", SECRETS["APP"]), "OK")
    expect_between(rest("LOCK", "door/a", "WAIT", 0), 1, 2 ** 53)
    expect(judged(rest("LOCK", "deploy/a", "WAIT", 0)), "n")
    expect(rest("RESET"), "RESET")
    expect(judged(rest("LOCK", "door/a", "WAIT", 0)), "m")
    # Who has no password cannot log in, whatever it sends.
    for password in ("", "no such user"):
        expect_code(rest("AUTH", "app", password), "WRONGPASS")


def test_local_users_reloaded(place):
    """a reload and a hand-over find the users of a Unix socket anew, and end no connection"""
    daemon, path, _ = local_daemon(place)
    app, login_of_rest = came_as(place, path, 61001), came_as(place, path, 61004)
    expect(login_of_rest("AUTH", "door", SECRETS["APP"]), "OK")
    boss = place.keep(resp.Client(path, 3))
    expect_between(app("LOCK", "deploy/a", "WAIT", 0), 1, 2 ** 53)
    expect("version" in boss("RESTART"), True)
    expect(judged(app("LOCK", "x", "WAIT", 0)), "n")
    expect_between(login_of_rest("LOCK", "door/a", "WAIT", 0), 1, 2 ** 53)
    web = "http: [ { unix: %s, mode: '0666' } ]\n" % os.path.join(place.path, "web")
    daemon.configure(web + LOCAL.replace("61001", "61007").replace("name: rest", "name: others"))
    boss("RELOAD")
    # It is no user of its own any more, but one of the rest.
    expect(judged(app("LOCK", "deploy/b", "WAIT", 0)), "m")
    expect("user=others" in app("CLIENT", "INFO"), True)
    expect_between(app("CHECK", "deploy/a"), 1, harness.LEASE_MS)
    expect_between(login_of_rest("CHECK", "door/a"), 1, harness.LEASE_MS)


class Web(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=harness.PATIENCE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(harness.PATIENCE)
        self.sock.connect(self.path)


def fetched(web, target, uid, gid=61999):
    connection = Web(web)
    with being(uid, gid):
        connection.connect()
    with contextlib.closing(connection):
        connection.request("GET", target)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def test_pages_of_local_users(place):
    """pages over a Unix socket show what the user of the client may see"""
    _, path, web = local_daemon(place)
    boss = place.keep(resp.Client(path, 3))
    for name in ("deploy/a", "secret"):
        expect_between(boss("LOCK", name, "WAIT", 0), 1, 2 ** 53)
        boss("LOCK", name, "OWNER", "x", "WAIT", 0)
    for uid, gid, names in ((0, 0, {"deploy/a", "secret"}), (61002, 61100, {"deploy/a", "secret"}), (61001, 61999, {"deploy/a"})):
        status, text = fetched(web, "/locks.json", uid, gid)
        expect((status, {lock["name"] for lock in json.loads(text)}), (200, names))
        status, text = fetched(web, "/", uid, gid)
        expect((status, "secret" in text), (200, "secret" in names))
    expect(fetched(web, "/lock.json?name=deploy/a", 61001)[0], 200)
    expect(fetched(web, "/lock.json?name=secret", 61001)[0], 403)
    expect(json.loads(fetched(web, "/sessions.json", 61001)[1]), [])
    status, text = fetched(web, "/locks.json", 61004)
    expect((status, "may:" in text), (403, True))
    expect(fetched(web, "/metrics", 61004)[0], 200)


def hash_of(password):
    """What holdfastd --hash-password prints for it."""
    done = subprocess.run([harness.HOLDFASTD, "--hash-password"], input=password + "\n", text=True, capture_output=True,
                          timeout=harness.PATIENCE)
    expect(done.returncode, 0, done.stderr)
    return done.stdout.strip()


def test_hashed_passwords(place):
    """a user logs in with a password of which the configuration has only the hash, in itself or in a file"""
    inline, filed = hash_of("first secret"), hash_of("second")
    expect(inline.startswith("$") and inline != hash_of("first secret"), True, inline)
    path = os.path.join(place.path, "hash")
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(filed + "\n")
    daemon = place.daemon(master=place.redis(), tcp=True, config="users:\n"
                          "  - { name: one, password-hash: '%s', may: [ admin ] }\n"
                          "  - { name: two, password-file: %s }\n" % (inline, path)).admitted()
    one, two = daemon.client(tcp=True), daemon.client(tcp=True)
    expect_code(one("AUTH", "one", "second"), "WRONGPASS")
    expect_code(one("AUTH", "one", inline), "WRONGPASS")
    expect(one("AUTH", "one", "first secret"), "OK")
    expect(two("AUTH", "two", "second"), "OK")
    expect_between(two("LOCK", "a", "WAIT", 0), 1, 2 ** 53)
    # A reload with another hash of the same password is another password, as far as the daemon knows.
    daemon.configure("users:\n  - { name: one, password-hash: '%s', may: [ admin ] }\n"
                     "  - { name: two, password-file: %s }\n" % (hash_of("third"), path))
    answer = daemon.client()("RELOAD")
    expect("users[0] password" in answer, True, answer)
    expect(one.closed(), True)
    expect_between(two("CHECK", "a"), 1, harness.LEASE_MS)
    expect(daemon.client(tcp=True)("AUTH", "one", "third"), "OK")
    for secret in ("first secret", "second", "third", inline, filed):
        expect(secret in daemon.output.text(), False, "a password or its hash in the log")


def test_two_passwords(place):
    """a password, or its hash, is replaced while clients hold locks: only who stays with the old one is cut, and nobody before it is gone"""
    path = os.path.join(place.path, "app")
    hashed = hash_of("newest")

    def write(*lines):
        with open(path, "w", encoding="utf-8") as stream:
            stream.writelines(line + "\n" for line in lines)
        os.chmod(path, 0o600)

    write("old")
    daemon = place.daemon(master=place.redis(), tcp=True, config="users:\n  - { name: ann, password-hash: '*', admin: yes }\n"
                          "  - { name: app, password-file: %s }\n" % path).admitted()

    def app(password):
        client = daemon.client(tcp=True)
        expect(client("AUTH", "app", password), "OK")
        return client

    def reload():
        answer = daemon.client()("RELOAD")
        expect("users[1] password" in answer, True, answer)

    def lives(client, name):
        expect_between(client("CHECK", name), 1, harness.LEASE_MS)

    first = app("old")
    first("LOCK", "a")
    write("new", "old")
    reload()
    lives(first, "a")
    stays, second = app("old"), app("new")
    second("LOCK", "b")
    # In either order: which line a password is in means nothing.
    write("old", "new")
    reload()
    daemon.client()("RESTART")
    for client, name in ((first, "a"), (second, "b")):
        lives(client, name)
    expect(stays("PING"), "PONG")
    write("new", hashed)
    reload()
    expect((first.closed(), stays.closed()), (True, True))
    lives(second, "b")
    third = app("newest")
    third("LOCK", "c")
    expect_code(daemon.client(tcp=True)("AUTH", "app", "old"), "WRONGPASS")
    write(hashed)
    reload()
    expect(second.closed(), True)
    lives(third, "c")
    # A file that is wrong changes nothing.
    for lines, word in ((("x", "y", "z"), "more than two lines"), (("x", ""), "empty line"), (("x", "x"), "same password")):
        write(*lines)
        expect_code(daemon.client()("RELOAD"), "ERR")
        harness.until("the log says why", lambda word=word: word in daemon.output.text())
        lives(third, "c")
    for secret in ("newest", hashed):
        expect(secret in daemon.output.text(), False, "a password or its hash in the log")


def test_hand_over_with_logins(place):
    """a login that waits for its hash during a hand-over is answered by the next process"""
    # On a slow machine ten hashes take longer than login-time.
    config = "limits: { login-time: 1h }\nusers:\n  - { name: one, password-hash: '%s' }\n" % hash_of("right")
    daemon = place.daemon(master=place.redis(), tcp=True, config=config).admitted()
    boss = daemon.client(form=3)
    guessers = [daemon.client(tcp=True) for _ in range(9)]
    for number, guesser in enumerate(guessers):
        guesser.send("AUTH", "one", "guess%d" % number)
    users = [place.keep(resp.Client(daemon.tcp, source="127.0.0.2")) for _ in range(5)]
    for user in users:
        user.send("AUTH", "one", "right")
        user.send("PING", "behind it")
    expect("version" in boss("RESTART"), True)
    for user in users:
        expect(user.reply(), "OK")
        expect(user.reply(), "behind it")
    for guesser in guessers:
        expect_code(guesser.reply(), "WRONGPASS")


GUIDE = os.path.join(harness.ROOT, "doc", "OPERATING.md")


def fail2ban_line():
    """The failregex that OPERATING.md shows, as fail2ban reads it."""
    with open(GUIDE, encoding="utf-8") as stream:
        line = re.search(r"^failregex = (.*)$", stream.read(), re.M).group(1)
    return re.compile(line.replace("<HOST>", r"(?P<host>\S+?)"))


def lines_of(path):
    with open(path, encoding="utf-8") as stream:
        return stream.read().splitlines()


def test_audit(place):
    """the audit log has who asked for what and with which result: logins, administrators, changed keys; and nothing else has it"""
    path = os.path.join(place.path, "audit.log")
    config = "audit: %s\n" % path + USERS
    daemon = daemon_of(place, config)
    ann, ops, app = login(daemon, "ann"), login(daemon, "ops"), login(daemon, "app")
    token = login(daemon, "app")("LOCK", "deploy/a", "WAIT", 0)
    expect_between(ops("BREAK", "deploy/a", "TOKEN", token), 0, harness.LEASE_MS)
    expect_code(app("BREAK", "deploy/a", "TOKEN", 1), "NOPERM")
    expect_code(ops("BREAK", "deploy/b", "TOKEN", 1), "NOTHELD")
    victim = daemon.client(tcp=True)
    expect_code(victim("AUTH", "app", "guess"), "WRONGPASS")
    expect_code(victim("HELLO", 3, "AUTH", "nobody \n", "guess"), "WRONGPASS")
    expect(victim("HELLO", 3, "AUTH", "app", SECRETS["APP"])["proto"], 3)
    number = victim("CLIENT", "ID")
    expect(ann("CLIENT", "KILL", "ID", number), 1)
    expect_code(ann("MASTERS", "REPLACE", "127.0.0.9:1", "127.0.0.9:2"), "ERR")
    daemon.configure(config.replace('names: [ "deploy/*", "cron/*" ]', 'names: [ "x" ]'))
    # The file is opened anew, so that it can be rotated.
    os.rename(path, path + ".1")
    ann("RELOAD")
    expect("version" in ann("RESTART"), True)
    expect(daemon.client()("DRAIN"), "OK")
    expect(daemon.process.wait(), 0)
    lines = lines_of(path + ".1") + lines_of(path)
    who = r"by=\d+ address=127\.0\.0\.1:\d+ uid=-1 pid=0 user="
    for wanted in (
            r" info client\.login connection=\d+ address=127\.0\.0\.1:\d+ uid=-1 pid=0 user=ann result=ok$",
            r" warning lock\.break " + who + r"ops name=deploy/a token=%d result=ok$" % token,
            r" warning lock\.break " + who + r"app name=deploy/a token=1 result=NOPERM$",
            r" warning lock\.break " + who + r"ops name=deploy/b token=1 result=NOTHELD$",
            r" warning client\.wrongpass connection=%d address=127\.0\.0\.1:\d+ uid=-1 pid=0 user=app result=WRONGPASS$" % number,
            r" warning client\.wrongpass connection=%d .* user=\"nobody \\n\" result=WRONGPASS$" % number,
            r" info client\.login connection=%d .* user=app result=ok$" % number,
            r" warning client\.killed " + who + r"ann connection=%d result=ok$" % number,
            r" warning masters\.asked " + who + r"ann what=REPLACE first=127\.0\.0\.9:1 second=127\.0\.0\.9:2 result=ERR$",
            r" info config\.changed key=users\[2\]\.names ",
            r" warning daemon\.reload " + who + r"ann result=ok$",
            r" warning daemon\.restart " + who + r"ann result=begun$",
            r" warning daemon\.drain by=\d+ address=unix uid=%d pid=%d result=ok$" % (os.getuid(), os.getpid())):
        expect(len([line for line in lines if re.search(wanted, line)]), 1, "%s in\n%s" % (wanted, "\n".join(lines)))
    for line in lines:
        expect(re.search(r" %s " % re.escape(line.split()[2]), daemon.output.text()), None, line)
        for secret in list(SECRETS.values()) + ["guess"]:
            expect(secret in line, False, line)
    found = [fail2ban_line().search(line) for line in lines if "client.wrongpass" in line]
    expect([match and match.group("host") for match in found], ["127.0.0.1"] * 2)


def test_audit_of_many(place):
    """requests that are refused, and logins, are thinned out in the audit log: nobody fills the disk with them"""
    path = os.path.join(place.path, "audit.log")
    daemon = daemon_of(place, "audit: %s\nlog: { level: info }\n" % path + USERS)
    app = login(daemon, "app")
    count = 2000
    app.send_raw(b"BREAK deploy/a TOKEN 1\r\n" * count)
    for _ in range(count):
        expect_code(app.reply(), "NOPERM")
    app.send_raw(b"AUTH app app-secret\r\n" * count)
    for _ in range(count):
        expect(app.reply(), "OK")
    written = [line for line in lines_of(path) if "lock.break" in line and "log.thinned" not in line]
    expect_between(len(written), 1, count - 1)


def test_limits_of_a_user(place):
    """a user has its own bounds of connections, of sessions with a grace, and of locks; a refusal names the key, and a reload changes them"""
    config = USERS.replace("env: APP,", "env: APP, connections: 3, sessions: 2, locks: 4,")
    daemon = daemon_of(place, config)
    first, second = login(daemon, "app"), login(daemon, "app")
    for number in range(3):
        expect_between(first("LOCK", "deploy/%d" % number, "WAIT", 0), 1, 2 ** 53)
    expect_between(second("LOCK", "deploy/3", "WAIT", 0), 1, 2 ** 53)
    answer = second("LOCK", "deploy/4", "WAIT", 0)
    expect_code(answer, "LIMIT")
    expect(answer.startswith("LIMIT users: locks: "), True, answer)
    # The others have the limits for all.
    ann = login(daemon, "ann")
    for number in range(8):
        expect_between(ann("LOCK", "x%d" % number, "WAIT", 0), 1, 2 ** 53)
    expect(second("UNLOCK", "deploy/3"), 0)
    third = login(daemon, "app")
    for client in (first, second):
        expect(isinstance(client("SESSION", "GRACE", 1000), resp.Error), False)
    answer = third("SESSION", "GRACE", 1000)
    expect_code(answer, "LIMIT")
    expect(answer.startswith("LIMIT users: sessions: "), True, answer)
    expect(isinstance(ann("SESSION", "GRACE", 1000), resp.Error), False)
    fourth = daemon.client(tcp=True)
    answer = fourth("AUTH", "app", SECRETS["APP"])
    expect_code(answer, "LIMIT")
    expect("connections: of users" in answer, True, answer)
    daemon.configure(config.replace("locks: 4", "locks: 40").replace("connections: 3", "connections: 4"))
    ann("RELOAD")
    for number in (8, 9):
        expect_between(third("LOCK", "deploy/%d" % number, "WAIT", 0), 1, 2 ** 53)
    expect(daemon.client(tcp=True)("AUTH", "app", SECRETS["APP"]), "OK")
    # They outlive a hand-over.
    daemon.configure(config)
    expect("version" in ann("RESTART"), True)
    expect_code(third("LOCK", "deploy/10", "WAIT", 0), "LIMIT")


if __name__ == "__main__":
    harness.main(globals())
