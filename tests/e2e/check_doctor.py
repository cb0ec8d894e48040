#!/usr/bin/env python3
"""holdfast doctor finds what is wrong, on purpose broken here, and the command that it names mends it."""

import glob
import json
import os
import re
import shlex
import signal
import socket
import subprocess

import clockshim
import harness
import proxy
import resp
import tool
from certificates import Authority
from check_tls_masters import SecureRedis, masters
from harness import expect
from liar import Actor
from scene import pause

def look(place, daemon, **options):
    """(exit status, what is wrong)"""
    status, output = tool.call(place, daemon, "doctor", "--json", **options)
    return status, [finding for finding in json.loads(output) if finding["grade"] != "ok"]


def slow(finding):
    """A busy machine may take long for a command without being broken."""
    return " for a command" in finding["what"]


def finds(place, daemon, what, status, lock=False, **options):
    """Waits until it finds this; returns the finding. lock: look at the line of the lock, which repeats what others say."""
    found = []

    def seen():
        got, every = look(place, daemon, **options)
        found[:] = [finding for finding in every if (finding["part"] == "lock") == lock]
        return got == status and any(re.search(what, finding["what"]) for finding in found)
    try:
        harness.until("it finds %s" % what, seen)
    except AssertionError as error:
        raise AssertionError("%s: %r" % (error, found)) from error
    finding, = [finding for finding in found if re.search(what, finding["what"])]
    expect(finding["why"] != "" and finding["do"] != "", True, repr(finding))
    return finding


def mended(place, daemon):
    harness.until("nothing is wrong any more", lambda: not [one for one in look(place, daemon)[1] if not slow(one)])


def run(command):
    done = subprocess.run(shlex.split(command), capture_output=True, text=True, check=False)
    expect((done.returncode, done.stdout.strip()), (0, "OK"), command + done.stderr)


def test_well(place):
    """a daemon that is well has a line for each part, and exit 0"""
    daemon = place.daemon(master=place.redis()).admitted()
    mended(place, daemon)
    status, output = tool.call(place, daemon, "doctor")
    lines = [line.split()[:2] for line in output.splitlines()]
    if not re.search("for a command", output):
        expect((status, lines), (0, [["ok", "daemon"], ["ok", "master"], ["ok", "lock"], ["ok", "limits"], ["ok", "files"], ["ok", "process"],
                                           ["ok", "fleet"], ["ok", "clients"]]), output)


def test_eviction(place):
    """a master that may evict keys"""
    redis = place.redis(options=("--maxmemory-policy", "allkeys-lru"))
    daemon = place.daemon(master=redis)
    finding = finds(place, daemon, "%s is refused: .*maxmemory-policy" % re.escape(redis.socket), 2)
    run(finding["run"])
    mended(place, daemon)


def test_replica(place):
    """a replica that is given as master"""
    master = place.redis("master", options=("--port", str(harness.free_port())))
    port = master("CONFIG", "GET", "port")[1]
    replica = place.redis("replica", options=("--replicaof", "127.0.0.1 " + port))
    daemon = place.daemon(master=replica)
    finding = finds(place, daemon, "%s is refused: .*replica" % re.escape(replica.socket), 2)
    run(finding["run"])
    mended(place, daemon)


def test_lock(place):
    """a master that stands still and is not yet known to be silent: the lock that is tried is not granted"""
    redis = place.redis()
    daemon = place.daemon(master=redis, config="lease: 60s\n").admitted()
    expect(len(re.findall(r"^ok +lock +a lock was granted in ", tool.call(place, daemon, "doctor")[1], re.M)), 1)
    redis.process.stop()
    finding = finds(place, daemon, "^no lock can be had: ", 2, lock=True)
    expect("see whether the process runs" in finding["do"], True, finding["do"])
    redis.process.cont()
    mended(place, daemon)


def test_password(place):
    """a wrong password at the master"""
    redis = place.redis(options=("--requirepass", "right"))
    path = os.path.join(place.path, "password")
    with open(path, "w", encoding="utf-8") as stream:
        stream.write("wrong\n")
    daemon = place.idle_daemon(config="masters: [ { url: \"%s\", password-file: %s } ]\n" % (redis.url, path))
    daemon.start()
    finding = finds(place, daemon, "WRONGPASS|invalid password", 2)
    expect("password-file" in finding["do"], True, finding["do"])
    with open(path, "w", encoding="utf-8") as stream:
        stream.write("right\n")
    daemon.client()("RELOAD")
    mended(place, daemon)


def test_login(place):
    """a wrong password in HOLDFAST_URL"""
    path = os.path.join(place.path, "password")
    with open(path, "w", encoding="utf-8") as stream:
        stream.write("right\n")
    daemon = place.daemon(master=place.redis(), tcp=True, config="users: [ { name: u, password-file: %s } ]\n" % path).admitted()
    url = "redis://u:%%s@127.0.0.1:%d" % daemon.port
    finding = finds(place, url % "wrong", "^the daemon refuses this user: WRONGPASS ", 2)
    expect((finding["part"], "password-file" in finding["do"]), ("login", True), repr(finding))
    mended(place, url % "right")


def test_secrets(place):
    """secrets that every user of the host may read or write: -t, the log and doctor name the file, its mode and the command"""
    authority, redis = Authority(place), place.redis(options=("--requirepass", "right"))
    folder = os.path.join(place.path, "etc")
    os.mkdir(folder, 0o711)
    paths = {word: os.path.join(folder, word) for word in ("master", "user", "key")}
    certificate, key = authority.issue("server")
    for word, text in (("master", "right\n"), ("user", "secret\n")):
        with open(paths[word], "w", encoding="ascii") as stream:
            stream.write(text)
    os.replace(key, paths["key"])
    for path in paths.values():
        os.chmod(path, 0o640)
    daemon = place.idle_daemon(config="masters: [ { url: '%s', password-file: %s } ]\nusers: [ { name: u, password-file: %s } ]\n"
                               "http: [ { tcp: '127.0.0.1:%d', tls: { certificate: %s, key: %s } } ]\n" % (
                                   redis.url, paths["master"], paths["user"], harness.free_port(), certificate, paths["key"]))
    daemon.start()
    mended(place, daemon)

    def said(file=daemon.file):
        done = subprocess.run((harness.HOLDFASTD, "-t", "-c", file), capture_output=True, text=True, check=False)
        expect(done.returncode, 0, done.stderr)
        return [line for line in done.stderr.splitlines() if "warning" in line]

    expect(said(), [], "the group may read")
    for word, mode in (("master", 0o644), ("user", 0o604), ("key", 0o602)):
        path = paths[word]
        os.chmod(path, mode)
        expect(said(), [], "others cannot enter the directory")
        os.chmod(place.path, 0o711)
        line, = said()
        expect(("%s has a secret, and its mode %04o " % (path, mode) in line, line.endswith("chmod o= " + path)), (True, True), line)
        mark = daemon.output.mark()
        daemon.client()("RELOAD")
        daemon.output.wait(r"secret\.open .*%s" % re.escape(path), mark)
        finding = finds(place, daemon, "%s has a secret, and its mode is %04o" % (re.escape(path), mode), 1)
        expect((finding["part"], finding["run"]), ("secrets", "chmod o= " + path))
        subprocess.run(shlex.split(finding["run"]), check=True)
        mended(place, daemon)
        expect(said(), [], "it is mended")
        os.chmod(place.path, 0o700)
    # The URL with a password is in the configuration itself.
    file = os.path.join(folder, "url.yml")
    with open(file, "w", encoding="ascii") as stream:
        stream.write("masters: [ { url: 'redis://:right@127.0.0.1:1' } ]\n")
    os.chmod(place.path, 0o711)
    os.chmod(file, 0o644)
    line, = said(file)
    expect("%s has a secret, and its mode 0644 " % file in line, True, line)
    os.chmod(file, 0o600)
    expect(said(file), [])


def test_full_user_over_tcp(place):
    """a user that holds all that it may is named by its login; clients without a login are one user over TCP, and have no uid"""
    secret = os.path.join(place.path, "secret")
    with open(secret, "w", encoding="ascii") as stream:
        stream.write("pass\n")
    os.chmod(secret, 0o600)
    limits = "limits: { locks-per-user: 20 }\n"
    login = "users: [ { name: billing, password-file: %s } ]\n" % secret
    for name, who, config in (("open", "of all TCP clients without a login", ""), ("closed", "billing", login)):
        daemon = place.daemon(name, master=place.redis("redis-" + name), tcp=True, config=limits + config).admitted()
        for one in range(2):
            client = daemon.client(tcp=True)
            if config:
                expect(client("AUTH", "billing", "pass"), "OK")
            for lock in range(10):
                expect(isinstance(client("LOCK", "job/%d/%d" % (one, lock)), int), True)
        origin = r"127\.0\.0\.1:\d+" + (", user billing" if config else "")
        finds(place, daemon, r"the user %s holds 20 of the 20 .*: most in session \d+ of \S+ \(%s\), 10$" % (who, origin), 1)


def test_many_secrets(place):
    """of more than 16 files with secrets that all may read 16 are kept, the others after a reload when those are mended"""
    os.chmod(place.path, 0o711)
    redis = place.redis()
    names = ["sentinels"] + ["u%02d" % n for n in range(20)]
    paths = {name: os.path.join(place.path, name) for name in names}
    for name, path in paths.items():
        with open(path, "w", encoding="ascii") as stream:
            # While a password is replaced a user has two.
            stream.write("secret\n" if name == "u00" else "%s-new\n%s-old\n" % (name, name))
        os.chmod(path, 0o644)
    users = "users:\n" + "".join("  - { name: %s, password-file: %s }\n" % (name, paths[name]) for name in names[1:])
    daemon = place.idle_daemon(master=redis, tcp=True, config=users)

    def warned(file):
        done = subprocess.run((harness.HOLDFASTD, "-t", "-c", file), capture_output=True, text=True, check=False)
        expect(done.returncode, 0, done.stderr)
        return re.findall(r"warning.* (\S+) has a secret", done.stderr)

    # The secret of the sentinels is one of them.
    file = os.path.join(place.path, "sentinel.yml")
    with open(file, "w", encoding="ascii") as stream:
        stream.write("masters: [ { sentinel: { name: m, sentinels: [ '127.0.0.1:1' ], user: s, password-file: %s } } ]\n%s" % (
            paths["sentinels"], users))
    expect(warned(file), [paths[name] for name in names[:16]])
    daemon.start()
    expect(warned(daemon.file), [paths[name] for name in names[1:17]])
    info = daemon.info()
    expect((info["open_secrets"], info["open_secret"], info["open_secret_mode"]), ("16", paths["u00"], "0644"))
    finding = finds(place, daemon, "%s has a secret, and its mode is 0644; 15 more are open" % re.escape(paths["u00"]), 1)
    expect(finding["run"], "chmod o= " + paths["u00"])
    for name in names[1:17]:
        os.chmod(paths[name], 0o640)
    expect(daemon.info()["open_secrets"], "0", "further ones are not kept")
    daemon.client()("RELOAD")
    info = daemon.info()
    expect((info["open_secrets"], info["open_secret"]), ("4", paths["u16"]))
    for name in names[17:]:
        os.chmod(paths[name], 0o640)
    mended(place, daemon)
    # Both passwords of a file are right, however many files there are.
    for password in ("u19-new", "u19-old"):
        with daemon.client(tcp=True) as client:
            expect(client("AUTH", "u19", password), "OK")


def test_guard(place):
    """a master that is new: for how long it grants nothing, in seconds"""
    redis = place.redis()
    daemon = place.daemon(master=redis, config="lease: 60s\nrestart-guard: auto\n")
    finding = finds(place, daemon, r"%s grants nothing new for [\d.]+(s|m \d+s): it may have forgotten leases" % redis.socket, 2)
    expect(finding["do"].startswith("wait"), True, finding["do"])
    finding = finds(place, daemon, "no lock can be had: .* grants nothing new for", 2, lock=True)
    expect(finding["do"].startswith("wait"), True, finding["do"])


def test_memory(place):
    """a master that is in use and has no memory left: the lock that is tried shows it"""
    redis = place.redis()
    daemon = place.daemon(master=redis).admitted()
    expect(redis("CONFIG", "SET", "maxmemory", "100000"), "OK")
    finding = finds(place, daemon, "^no lock can be had: .*OOM", 2, lock=True)
    run(finding["run"])
    mended(place, daemon)


def test_certificate(place):
    """a master whose certificate has expired, and one to which the daemon's has"""
    authority = Authority(place)
    good, old = authority.issue("good"), authority.issue("old", expired=True)
    for name, files, more, what, mend in (
            ("server", old, "", "certificate of the peer is refused: certificate has expired", "give the server a certificate"),
            ("client", good, ", certificate: %s, key: %s" % old, "alert certificate expired", "renew the files")):
        redis = SecureRedis(place, name, files, authority.ca, "yes" if more else "no")
        daemon = place.idle_daemon("d-" + name, config=masters((redis.url, "ca: %s%s" % (authority.ca, more))))
        daemon.start()
        finding = finds(place, daemon, "^127.0.0.1:%d is away: .*%s" % (redis.port, what), 2)
        expect(finding["do"].startswith(mend), True, finding["do"])


def test_name(place):
    """a master whose name no resolver knows"""
    daemon = place.idle_daemon(config="masters: [ 'redis://no-such-host.invalid:6379' ]\n")
    daemon.start()
    finding = finds(place, daemon, "^no-such-host.invalid:6379 is away: cannot resolve", 2)
    expect("getent hosts" in finding["do"], True, finding["do"])


def test_acl(place):
    """a login at the master that may do too little"""
    redis = place.redis()
    expect(redis("ACL", "SETUSER", "narrow", "on", ">secret", "~holdfast:*", "&*", "+ping", "+auth", "+select"), "OK")
    url = "unix://%s?user=narrow" % redis.socket
    daemon = place.idle_daemon(config="masters: [ { url: \"%s\", password-env: SECRET } ]\n" % url,
                               environment={"SECRET": "secret"})
    daemon.start()
    run(finds(place, daemon, "NOPERM|may not run", 2)["run"])
    mended(place, daemon)


def test_channels(place):
    """a login at the master that may do all but hear the messages of other daemons"""
    redis = place.redis()
    daemon = place.daemon(master=redis).admitted()
    harness.until("it hears them", lambda: daemon.info()["master0_inbox"] == "1")
    expect(redis("ACL", "SETUSER", "default", "resetchannels"), "OK")
    finding = finds(place, daemon, "^wake-ups of other hosts do not arrive through %s: .*NOPERM" % re.escape(redis.socket), 1)
    expect(daemon.info()["master0_inbox"], "0")
    run(finding["run"])
    mended(place, daemon)
    harness.until("it hears them", lambda: daemon.info()["master0_inbox"] == "1")
    expect(daemon.info()["master0_inbox_reason"], "")


def test_clock(place):
    """a master whose clock is five seconds off"""
    clock = clockshim.Clock(place, "redis")
    clock.step(-5)
    redis = place.redis(environment=clock.environment)
    daemon = place.daemon(master=redis).admitted()
    finding = finds(place, daemon, r"the clock of %s is (4[5-9]|5[0-4])\d\d ms behind that of this host" % redis.socket, 1)
    expect((finding["run"], "chronyc tracking" in finding["do"]), ("timedatectl set-ntp true", True), repr(finding))


def test_slow(place):
    """a master that takes long for each command"""
    redis = place.redis()
    between = proxy.Proxy(redis.socket)
    place.ends.append(between.close)
    daemon = place.daemon(master=between).admitted()
    between.delay = 0.1
    client = daemon.client()
    for number in range(10):
        client("LOCK", "a%d" % number, "WAIT", 45000)
    finding = finds(place, daemon, r"127.0.0.1:%d takes \d+ ms for a command" % between.address[1], 1)
    client_of = "redis-cli -h 127.0.0.1 -p %d " % between.address[1]
    expect((client_of + "--latency" in finding["do"], finding["run"]), (True, client_of + "SLOWLOG GET 10"), repr(finding))


def test_disk(place):
    """a full disk under the ledger, and a log that takes no line"""
    memory = os.path.join(place.path, "memory")
    os.mkdir(memory)
    if subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", memory], check=False, capture_output=True).returncode:
        raise harness.Skip("no tmpfs can be mounted here")
    path = os.path.join(memory, "ledger")
    daemon = place.idle_daemon(master=place.redis(), config="ledger: %s\nlog: { level: debug, to: /dev/full }\n" % path)
    daemon.wrap = ["unshare", "-m", "sh", "-c", "mount -t tmpfs -o size=256k none \"$0\" && head -c 262144 /dev/zero > \"$0/x\"; "
                   "exec \"$@\"", memory]
    daemon.start()
    inside = ("nsenter", "-t", str(daemon.process.pid), "-m")
    finding = finds(place, daemon, "the ledger %s cannot be written: the disk is full" % path, 2, through=inside)
    expect("df -h %s" % path in finding["do"], True, finding["do"])
    finds(place, daemon, r"\d+ lines of the log were dropped", 2, through=inside)
    subprocess.run(inside + ("rm", os.path.join(memory, "x")), check=True)
    harness.until("the ledger is written", lambda: not [one for one in look(place, daemon)[1] if one["part"] == "ledger"])


def test_rights(place):
    """a socket that this user may not use, and a daemon that is not there"""
    if os.getuid() != 0:
        raise harness.Skip("only root can become another user")
    os.chmod(place.path, 0o755)
    daemon = place.daemon(master=place.redis())
    os.chown(daemon.socket, 0, 12)
    other = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    if subprocess.run(other + ("test", "-e", daemon.socket), check=False).returncode != 0:
        raise harness.Skip("the folder of the tests is closed to others")
    finding = finds(place, daemon, "you may not connect", 2, through=other)
    expect(re.match(r"sudo usermod -aG [a-z]+ \$USER, and log in again$", finding["do"]) is not None, True, finding["do"])
    os.chown(daemon.socket, 0, 65534)
    harness.until("a member of the group may", lambda: look(place, daemon, through=other)[0] < 2)
    finding = finds(place, daemon.socket + ".not", "", 2)
    expect((finding["part"], finding["do"].startswith("systemctl start holdfastd,")), ("daemon", True), repr(finding))


def test_stopped(place):
    """a daemon that stands still: the unit that is named is the one that is installed"""
    daemon = place.daemon(master=place.redis()).admitted()
    daemon.process.signal(signal.SIGSTOP)
    finding = finds(place, daemon, "^the daemon does not answer$", 2)
    daemon.process.signal(signal.SIGCONT)
    expect(re.match("systemctl status holdfastd; .*: systemctl restart holdfastd; .*journalctl -u holdfastd ",
                    finding["do"]) is not None, True, finding["do"])


def test_unit(place):
    """each command of the source for systemctl and journalctl names the unit that is installed"""
    del place
    text = ""
    for path in glob.glob(os.path.join(harness.ROOT, "client", "doctor", "*.[ch]")):
        with open(path, encoding="utf-8") as stream:
            text += re.sub(r'"\s+"', "", stream.read())
    units = re.findall(r"(?:systemctl [a-z]+|journalctl -u) (\w+)", text)
    expect(set(units), {"holdfastd"})


def test_fleet(place):
    """another daemon of the fleet that stands still"""
    redis = place.redis()
    daemon, other = [place.daemon(name, master=redis).admitted() for name in ("d1", "d2")]
    harness.until("both answer", lambda: re.search("^ok +fleet +all 2 daemons answer, with the same settings$", tool.call(place, daemon, "doctor")[1], re.M))
    other.process.stop()
    finding = finds(place, daemon, r"^the daemon of \S+ \(unix, pid %d\) does not answer$" % other.process.pid, 1)
    expect(finding["part"], "fleet")
    other.process.cont()
    mended(place, daemon)


def test_settings(place):
    """another daemon of the fleet with other settings: which ones, and on which host"""
    redis = place.redis()
    daemon = place.daemon("d1", master=redis).admitted()
    other = place.daemon("d2", master=redis, config="lease: 20s\nretain: 50ms\n").admitted()
    for one, far, values in ((daemon, other, r"lease 20s \(here 1m\), retain 50ms \(here 100ms\)"),
                             (other, daemon, r"lease 1m \(here 20s\), retain 100ms \(here 50ms\)")):
        finding = finds(place, one, r"^the daemon of \S+ \(unix, pid %d\) has other settings than this host's: %s$"
                        % (far.process.pid, values), 1)
        expect(re.search(r" make lease, retain in holdfast\.yml the same on %s, then there: holdfast restart$"
                         % re.escape(os.uname().nodename), finding["do"]) is not None, True, finding["do"])
    other.configure("")
    expect(tool.call(place, other, "restart")[0], 0)
    mended(place, daemon)
    mended(place, other)


def test_version(place):
    """another daemon of the fleet with another version: the older one is to be renewed"""
    redis = place.redis()
    daemon, other = [place.daemon(name, master=redis).admitted() for name in ("d1", "d2")]
    ours = daemon.info()["holdfast_version"]
    field = "h:" + other.info()["run_id"]
    words = redis("HGET", "holdfast:node", field).split(" ")
    here = re.escape(os.uname().nodename)
    for version, host in (("0.0.9", here), ("9.0", "this host")):
        words[words.index(ours) if ours in words else words.index("0.0.9")] = version
        redis("HSET", "holdfast:node", field, " ".join(words))
        finding = finds(place, daemon, r"^the daemon of %s \(unix, pid %d\) is holdfastd %s, the one of this host is %s$" % (
            here, other.process.pid, re.escape(version), re.escape(ours)), 1)
        expect(re.match("on %s: install the newer package, then: holdfast restart$" % host, finding["do"]) is not None, True,
               finding["do"])
    expect(tool.call(place, other, "restart")[0], 0)
    mended(place, daemon)


def test_descriptors(place):
    """a limit of descriptors below what the configuration needs"""
    daemon = place.idle_daemon(master=place.redis(), config="limits: { clients: 1000, bound-sessions: 100 }\n")
    daemon.wrap = ["sh", "-c", "ulimit -n 600; exec \"$@\"", "sh"]
    daemon.start().admitted()
    finding = finds(place, daemon, r"the process may have 600 descriptors, its limits need 1\d\d\d", 1)
    wanted = int(re.search(r"LimitNOFILE=(\d+)", finding["do"]).group(1))
    expect(daemon.terminate(), 0)
    daemon.wrap = ["sh", "-c", "ulimit -n %d; exec \"$@\"" % wanted, "sh"]
    daemon.start().admitted()
    mended(place, daemon)


def cures(place, daemon, status):
    """What each part says to do, when doctor exits with this."""
    got, found = look(place, daemon)
    expect(got, status, repr(found))
    return {one["part"]: one for one in found}


def test_away(place):
    """a master whose process is gone, alone: the lock leads to it, and no other daemon can be known"""
    redis = place.redis()
    daemon = place.daemon(master=redis).admitted()
    redis.kill()
    finding = finds(place, daemon, "^%s is away: connection refused$" % re.escape(redis.socket), 2)
    expect(finding["do"].startswith("start the server, "), True, finding["do"])
    found = cures(place, daemon, 2)
    expect((found["lock"]["do"], found["fleet"]["what"]),
           ("do what is said of the master above", "which other daemons share the masters is not known: no master has answered"))
    redis.start()
    mended(place, daemon)


def test_minority_away(place):
    """of three masters one is away: locks are granted, so it is a warning, as health says; two are away: an error"""
    masters_ = [place.redis("r%d" % number) for number in range(3)]
    daemon = place.daemon(master=masters_).admitted()
    harness.until("all are there", lambda: tool.call(place, daemon, "health")[0] == 0)
    masters_[0].kill()
    finding = finds(place, daemon, "^%s is away: " % re.escape(masters_[0].socket), 1)
    expect((finding["grade"], finding["why"]), ("warning", "the other masters grant locks now, and another loss may end that"))
    expect(tool.call(place, daemon, "health")[0], 1)
    masters_[1].kill()
    finding = finds(place, daemon, "^%s is away: " % re.escape(masters_[1].socket), 2)
    expect(finding["grade"], "error")
    expect(cures(place, daemon, 2)["lock"]["do"], "do what is said of the master above")


def test_empty_beside_one_away(place):
    """of three masters one is away and another comes back empty: why it is refused, and an empty server for the one away mends it"""
    masters_ = [place.redis("r%d" % number) for number in range(3)]
    daemon = place.daemon(master=masters_, config="lease: 1s\n").admitted()
    for master in masters_[1:]:
        master.kill()
    harness.until("both are away", lambda: [daemon.info()["master%d_state" % n] for n in (1, 2)] == ["away"] * 2)
    pause(1.5)  # what a master told last counts for a lease
    masters_[1].restart()
    finding = finds(place, daemon, "^%s is refused: lost its memory" % re.escape(masters_[1].socket), 2)
    expect("start an empty server at its address" in finding["do"], True, finding["do"])
    masters_[2].restart()
    mended(place, daemon)


def test_stands_still(place):
    """a master that stands still: no line says that it is in use, and nobody is sent to start a server that runs"""
    redis = place.redis()
    daemon = place.daemon(master=redis).admitted()
    redis.process.stop()
    status, text = tool.call(place, daemon, "doctor")
    expect((status, re.findall("^ok +master ", text, re.M)), (2, []), text)
    finding = finds(place, daemon, "^%s is (silent|away): .*answer" % re.escape(redis.socket), 2)
    expect("see whether the process runs" in finding["do"], True, finding["do"])
    redis.process.cont()
    mended(place, daemon)


def test_drain(place):
    """a daemon that is drained waits for holders: how many, who, and nothing is said against its masters"""
    daemon = place.daemon(master=place.redis()).admitted()
    holder = daemon.client()
    for name in ("a", "b"):
        expect(isinstance(holder("LOCK", name), int), True)
    expect(tool.call(place, daemon, "drain", "--timeout", "60s", "--begin")[0], 0)
    found = cures(place, daemon, 2)
    expect(sorted(found), ["daemon", "lock"], repr(found))
    expect(found["daemon"]["what"], "the daemon is being drained, and waits for 2 holds: it takes no new locks, and ends")
    expect(("holdfast ls --here" in found["daemon"]["do"], found["lock"]["do"]), (True, "do what is said of the daemon above"))
    expect(found["lock"]["what"].startswith("no lock can be had: DRAINING "), True, found["lock"]["what"])
    status, text = tool.call(place, daemon, "ls", "--here")
    expect((status, sorted(line.split()[0] for line in text.splitlines()[1:])), (0, ["a", "b"]), text)


def test_refused(place):
    """a daemon that its master refuses for a setting that contradicts the fleet: the setting, with both values"""
    redis = place.redis()
    daemon = place.daemon("d1", master=redis).admitted()
    other = place.daemon("d2", master=redis, config="clock-margin: 2s\n")
    finding = finds(place, other, "^%s is refused: .*clock-margin 2000 ms, the others 1000 ms" % re.escape(redis.socket), 2)
    expect("make clock-margin," in finding["do"], True, finding["do"])
    found = cures(place, other, 2)
    expect("make clock-margin," in found["lock"]["do"], True, repr(found["lock"]))
    expect(re.search(r" has other settings than this host's: clock-margin 1s \(here 2s\)$", found["fleet"]["what"]) is not None,
           True, found["fleet"]["what"])
    expect(found["fleet"]["do"].endswith(" make clock-margin in holdfast.yml the same on this host, then there: holdfast restart"),
           True, found["fleet"]["do"])
    other.configure("")
    expect(tool.call(place, other, "restart")[0], 0)
    mended(place, other)
    mended(place, daemon)


def test_refused_in_a_large_fleet(place):
    """that masters refuse this daemon is known as long as the answer to FLEET, which may be longer than INFO"""
    info = ("run_id:us\r\nmasters_missing:m is used by daemons of another format or with other limits: upgrade the older\r\n"
            "\r\n").encode()
    others = [resp.encode("daemon", "d%d" % number, "host", "h%d" % number, "differs", "lease") for number in range(1000)]

    def play(words):
        return {"INFO": b"$%d\r\n%s\r\n" % (len(info), info),
                "FLEET": b"*%d\r\n%s" % (len(others), b"".join(others))}.get(words[0])

    _, found = look(place, Actor(place, "actor", play).socket)
    told = [finding["do"] for finding in found if "has other settings" in finding["what"]]
    expect((len(told), [do for do in told if " lease in holdfast.yml the same on this host," not in do]), (len(others), []))


def test_jump(place):
    """a master whose clock jumped: not that it forgot, and what to look for"""
    clock = clockshim.Clock(place, "redis")
    redis = place.redis(environment=clock.environment)
    daemon = place.daemon(master=redis).admitted()
    expect(isinstance(daemon.client()("LOCK", "a", "WAIT", 0), int), True)
    clock.step(30)
    finding = finds(place, daemon, "^%s grants nothing new for .*: its clock jumped, or that of this host stood still$"
                    % re.escape(redis.socket), 2)
    expect("NTP slew" in finding["do"] and "master.clock_jump" in finding["do"], True, finding["do"])
    finding = finds(place, daemon, "^no lock can be had: .*its clock jumped", 2, lock=True)
    expect("NTP slew" in finding["do"], True, finding["do"])


def test_out_of_descriptors(place):
    """a daemon that has no descriptor left for a client: the limit, not the login"""
    daemon = place.idle_daemon(master=place.redis())
    daemon.wrap = ["sh", "-c", "ulimit -n 100; exec \"$@\"", "sh"]
    daemon.start().admitted()
    crowd = []
    mark = daemon.output.mark()
    for _ in range(110):
        one = socket.socket(socket.AF_UNIX)
        crowd.append(one)
        one.connect(daemon.socket)
    daemon.output.wait("listener.paused .*Too many open files", mark)
    finding = finds(place, daemon, "^the daemon takes no further client: LIMIT this daemon is out of file descriptors", 2)
    expect((finding["part"], "LimitNOFILE" in finding["do"]), ("limits", True), repr(finding))
    for one in crowd:
        one.close()
    harness.until("it serves again", lambda: look(place, daemon)[0] == 1)
    expect([one["part"] for one in look(place, daemon)[1] if not slow(one)], ["limits"])


if __name__ == "__main__":
    harness.main(globals())
