#!/usr/bin/env python3
"""Clients that speak TLS: who is let in, what a reload changes, hostile handshakes, and what ends a connection."""

import os
import re
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading

import conformance
import harness
import proxy
import resp
from certificates import Authority
from check_doctor import look
from check_library import UNREACHABLE, Puppet
from harness import HOLDFASTD, expect, expect_between, expect_code, until

TOKEN_MAX = 2 ** 53


class Client(resp.Client):
    """A connection by TLS that checks who the daemon is."""

    def __init__(self, daemon, authority, files=None, **options):
        self.context = ssl.create_default_context(cafile=authority.ca)
        if files:
            self.context.load_cert_chain(*files)
        daemon.place.keep(self)
        super().__init__(("127.0.0.1", daemon.tls_port), **options)

    def connect(self, source=None):
        form, self.form = self.form, 2
        super().connect(source)
        self.form = form
        self.socket = self.context.wrap_socket(self.socket, server_hostname="127.0.0.1")
        if form == 3:
            expect(isinstance(self("HELLO", 3), dict), True)

    def receive(self, until):
        try:
            super().receive(until)
        except ssl.SSLError as error:
            raise resp.Closed(str(error)) from error

    def close(self):
        self.socket.close()


class Daemons:
    """A daemon that listens by TLS, with the authority that has signed its certificate. plain: a port without TLS."""

    def __init__(self, place, tls="", config="", more="", plain=None, **options):
        self.place = place
        self.authority = Authority(place)
        self.files = self.authority.issue("daemon")
        self.port = harness.free_port()
        self.tls = tls
        self.more = more
        self.plain = plain
        self.daemon = place.idle_daemon("d1", master=place.redis(), **options)
        self.daemon.tls_port = self.port
        self.configure(config, tls)
        self.daemon.start()

    def configure(self, config="", tls="", files=None):
        unix = "listen:\n  - unix: %s\n" % self.daemon.socket
        unix += "  - tcp: 127.0.0.1:%d\n" % self.plain if self.plain else ""
        if "limits:" not in config:
            config += "limits: { login-time: 5m }\n"  # also for a handshake on a busy host
        self.daemon.listen = unix + "  - tcp: 127.0.0.1:%d\n%s    tls: { certificate: %s, key: %s%s }\n" % (
            (self.port, self.more) + tuple(files or self.files) + (tls.format(a=self.authority),))
        self.daemon.configure(config)

    def reload(self):
        mark = self.daemon.output.mark()
        self.daemon.process.signal(signal.SIGHUP)
        return self.daemon.output.wait(r"daemon\.reload(ed|_failed).*", mark)[1].group(0)

    def client(self, *arguments, **options):
        return Client(self.daemon, self.authority, *arguments, **options)

    def refused(self, files=None, authority=None):
        """Whether a client does not come in; a client learns of TLS 1.3 only when it reads."""
        try:
            Client(self.daemon, authority or self.authority, files)("PING")
        except (OSError, resp.Closed):
            return True
        return False

    def logged(self, why):
        self.daemon.output.wait(r"client\.no_tls .*%s" % why)


def test_lock(place):
    """a client locks, waits and is pushed to by TLS, and TLS 1.1 is refused"""
    d = Daemons(place)
    holder, waiter = d.client(form=3), d.client(form=3)
    expect_between(holder("LOCK", "a"), 1, TOKEN_MAX)
    waiter.send("LOCK", "a", "WAIT", 45000)
    d.daemon.queued("a")
    expect(holder("UNLOCK", "a"), 0)
    token = waiter.reply()
    expect_between(token, 1, TOKEN_MAX)
    expect(waiter("SESSION", "ONLOSS", "PUSH"), "OK")
    with d.daemon.client() as admin:
        expect_between(admin("BREAK", "a", "TOKEN", token), 1, TOKEN_MAX)
    expect(waiter.push()[1], "a")
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.set_ciphers("ALL:@SECLEVEL=0")
    old.load_verify_locations(d.authority.ca)
    old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1_1, ssl.TLSVersion.TLSv1_1
    with socket.create_connection(("127.0.0.1", d.port)) as raw:
        try:
            old.wrap_socket(raw, server_hostname="127.0.0.1")
            raise AssertionError("TLS 1.1 was spoken")
        except (ssl.SSLError, ConnectionError):
            pass


def test_volume(place):
    """requests and answers larger than a record, many at a time and in pieces of one byte, arrive as they were sent"""
    d = Daemons(place, config="limits: { output-bytes: 16m }\n")
    client = d.client()
    words = [chr(ord("a") + n % 26) * (60000 - 7 * n) for n in range(40)]
    data = b"".join(resp.encode("ECHO", word) for word in words)
    sent = 0
    client.socket.settimeout(harness.PATIENCE)
    for word in words:
        piece = resp.encode("ECHO", word)
        client.send_raw(piece)
        sent += len(piece)
    expect(sent, len(data))
    for word in words:
        expect(client.reply() == word, True, "an answer of %d bytes" % len(word))
    for byte in resp.encode("ECHO", "in pieces"):
        client.send_raw(bytes([byte]))
    expect(client.reply(), "in pieces")


def test_unread(place):
    """a client that reads nothing stalls only itself, and gets all answers when it reads"""
    d = Daemons(place, config="limits: { output-bytes: 4m }\n")
    slow, quick = d.client(), d.client()
    slow.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    word = "x" * 50000
    sender = threading.Thread(target=slow.send_raw, args=(b"".join(resp.encode("ECHO", word) for _ in range(200)),))
    sender.start()
    for n in range(50):
        expect(quick("ECHO", str(n)), str(n))
    for _ in range(200):
        expect(slow.reply() == word, True)
    sender.join()


def test_client_certificate(place):
    """with client-ca a client needs a certificate of that authority: none, another's, an expired one are refused"""
    d = Daemons(place, tls=", client-ca: {a.ca}")
    other = Authority(place, "other")
    good = d.authority.issue("app07")
    expect_between(d.client(good)("LOCK", "a"), 1, TOKEN_MAX)
    expect(d.refused(), True, "without a certificate")
    d.logged("a certificate of the client is wanted")
    expect(d.refused(other.issue("stranger")), True, "of another authority")
    d.logged("is refused: .*its authority is not one of ca")
    expect(d.refused(d.authority.issue("old", expired=True)), True, "expired")
    d.logged("is refused: certificate has expired")
    with socket.create_connection(("127.0.0.1", d.port)) as plain:
        plain.sendall(b"PING\r\n" * 3)
        expect(plain.recv(100).startswith(b"+PONG"), False, "without TLS")
    d.logged("does not speak TLS")
    expect_between(int(d.daemon.info()["tls_failures"]), 4, 8)


def test_revoked(place):
    """a revoked certificate is refused from a reload on; a client that is connected stays"""
    d = Daemons(place, tls=", client-ca: {a.ca}, client-crl: {a.crl}")
    files = d.authority.issue("app07")
    before = d.client(files)
    expect_between(before("LOCK", "a"), 1, TOKEN_MAX)
    d.authority.revoke(files[0])
    expect("reloaded" in d.reload(), True)
    expect(d.refused(files), True)
    d.logged("is refused: certificate revoked")
    expect_between(before("CHECK", "a"), 1, TOKEN_MAX)
    expect_between(d.client(d.authority.issue("app08"))("LOCK", "b"), 1, TOKEN_MAX)


def test_end_behind_half_a_record(place):
    """the end of a client is noticed if it comes at once with its last bytes, and these are a part of a record"""
    d = Daemons(place)
    viewer = d.daemon.client()
    for reset in (0, 1):
        client = d.client()
        expect(client("PING"), "PONG")
        with socket.socket(fileno=client.socket.detach()) as plain:
            d.daemon.process.stop()  # so that both arrive together
            plain.sendall(b"\x17\x03\x03")
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", reset, 0))
        d.daemon.process.cont()
        until("it is gone", lambda: "\nconnected_clients:1\r" in viewer("INFO", "clients"))


def test_login(place):
    """with client-login the certificate's name is the user: no AUTH, its rights, after RESET too; other names log in"""
    d = Daemons(place, tls=", client-ca: {a.ca}, client-login: yes", environment={"ONE": "secret1"},
                config="users:\n  - { name: op, password-env: ONE, admin: yes }\n  - { name: app07, password-env: ONE }\n")
    app_files = d.authority.issue("app07")
    app = d.client(app_files)
    token = app("LOCK", "a")
    expect_between(token, 1, TOKEN_MAX)
    expect_code(app("BREAK", "a", "TOKEN", token), "NOPERM")
    expect_between(d.client(d.authority.issue("op"))("BREAK", "a", "TOKEN", token), 1, TOKEN_MAX)
    expect(app.closed(), True)
    app = d.client(app_files)
    expect(app("RESET"), "RESET")
    expect_between(app("LOCK", "c"), 1, TOKEN_MAX)
    unknown = d.client(d.authority.issue("unknown"))
    expect_code(unknown("LOCK", "b"), "NOAUTH")
    expect(unknown("AUTH", "op", "secret1"), "OK")
    expect_between(unknown("LOCK", "b"), 1, TOKEN_MAX)
    logins = re.findall(r"client\.login connection=\d+ address=127\.0\.0\.1:\d+ uid=-1 pid=0 (user=.*)", d.daemon.output.text())
    by_certificate = "user=%s with=certificate result=ok"
    expect(logins, [by_certificate % name for name in ("app07", "op", "app07", "app07")] + ["user=op result=ok"])


def test_login_and_passwords(place):
    """who has logged in by a certificate stays when the user's password changes, and goes with the user"""
    users = "users:\n  - { name: op, password-env: ONE, admin: yes }\n  - { name: app07, password-env: %s }\n"
    d = Daemons(place, tls=", client-ca: {a.ca}, client-login: yes", environment={"ONE": "secret1", "TWO": "secret2"},
                config=users % "ONE")
    app_files = d.authority.issue("app07")
    by_certificate, by_password, both = d.client(app_files), d.client(d.authority.issue("unknown")), d.client(app_files)
    expect_between(by_certificate("LOCK", "a"), 1, TOKEN_MAX)
    for client in (by_password, both):
        expect(client("AUTH", "app07", "secret1"), "OK")
    with open(d.daemon.file, encoding="utf-8") as stream:
        text = stream.read()
    with open(d.daemon.file, "w", encoding="utf-8") as stream:
        stream.write(text.replace("name: app07, password-env: ONE", "name: app07, password-env: TWO"))
    answer = d.reload()
    expect("reloaded" in answer, True, answer)
    expect((by_password.closed(), both.closed()), (True, True))
    expect_between(by_certificate("CHECK", "a"), 1, TOKEN_MAX)
    with open(d.daemon.file, "w", encoding="utf-8") as stream:
        stream.write(text.replace("name: app07", "name: app08"))
    d.reload()
    expect(by_certificate.closed(), True)


def test_reload(place):
    """a reload takes a new certificate for new clients and drops nobody; files that cannot be used leave all as it was"""
    d = Daemons(place)
    client = d.client()
    expect_between(client("LOCK", "a"), 1, TOKEN_MAX)
    fresh = d.authority.issue("fresh")
    for old, new in zip(d.files, fresh):
        os.replace(new, old)
    expect("reloaded" in d.reload(), True)
    second = d.client()
    expect(dict(pair[0] for pair in second.socket.getpeercert()["subject"])["commonName"], "fresh")
    expect_between(client("CHECK", "a"), 1, TOKEN_MAX)
    with open(d.files[1], "w", encoding="ascii") as stream:
        stream.write("no key\n")
    answer = d.reload()
    expect("reload_failed" in answer and "is no key in PEM" in answer, True, answer)
    expect(d.client()("PING"), "PONG")
    expect_between(client("CHECK", "a"), 1, TOKEN_MAX)
    said = checked(d)
    expect((said.returncode, "listen: tls: %s: is no key in PEM" % d.files[1] in said.stderr), (78, True), said.stderr)


def checked(d):
    return subprocess.run((HOLDFASTD, "-t", "-c", d.daemon.file), capture_output=True, text=True, check=False)


def test_dates(place):
    """holdfastd -t, the log and doctor warn of a certificate that is not valid now, with its file and the date"""
    d = Daemons(place)
    expect("warning" in checked(d).stderr, False)
    expect((d.daemon.info()["certificates"], d.daemon.info()["certificate_faults"]), ("1", "0"))
    expect([one for one in look(place, d.daemon)[1] if one["part"] == "tls"], [])
    for files, text in ((d.authority.issue("old", expired=True), "expired at 2020-01-02 00:00:00 UTC"),
                        (d.authority.issue("early", early=True), "is not valid before 2060-01-01 00:00:00 UTC")):
        d.configure(files=files)
        said = checked(d)
        expect((said.returncode, "warning: %s: the certificate of " % files[0] in said.stderr, text in said.stderr,
                "systemctl reload holdfastd" in said.stderr), (0, True, True, True), said.stderr)
        mark = d.daemon.output.mark()
        expect("reloaded" in d.reload(), True)
        d.daemon.output.wait(r"tls\.certificate .*%s: .*%s.*systemctl reload" % (re.escape(files[0]), text), mark)
        found, = [one for one in look(place, d.daemon)[1] if one["part"] == "tls"]
        expect((found["grade"], files[0] in found["what"], text in found["what"], "systemctl reload holdfastd" in found["do"]),
               ("warning", True, True, True), repr(found))
    # Clients get the old one until a reload.
    for new, old in zip(d.authority.issue("fresh"), files):
        os.replace(new, old)
    expect(d.daemon.info()["certificate_faults"], "1")
    expect("reloaded" in d.reload(), True)
    expect(d.daemon.info()["certificate_faults"], "0")
    # The authority issues for ten years.
    expect_between(int(d.daemon.info()["certificates_end_in_s"]), 3649 * 86400, 3650 * 86400)
    d.configure(files=d.authority.issue("late", expired=True))
    d.daemon.terminate()
    d.daemon.start()
    d.daemon.output.wait(r"tls\.certificate .*expired at 2020-01-02")


def test_key_of_another(place):
    """the key of another certificate, a missing file and a key with a passphrase are named when the daemon starts"""
    d = Daemons(place)
    expect(d.daemon.terminate(), 0)
    other = d.authority.issue("other")
    secret = d.authority.path("secret.key")
    d.authority.openssl("ec", "-in", d.files[1], "-aes128", "-passout", "pass:hunter2", "-out", secret)
    for files, why in (((d.files[0], other[1]), "is the key of another certificate"),
                       ((d.files[0] + ".none", d.files[1]), "cannot be read: No such file"),
                       ((d.files[0], secret), "is no key in PEM without a passphrase"),
                       ((d.files[1], d.files[1]), "is no certificate in PEM")):
        d.configure(files=files)
        checked = subprocess.run((HOLDFASTD, "-c", d.daemon.file), capture_output=True, text=True, check=False,
                                 stdin=subprocess.DEVNULL)
        expect((checked.returncode, why in checked.stderr), (78, True), checked.stderr)


def test_hostile(place):
    """clients that stop within the handshake, or send rubbish, take a quarter of the connections, and no longer than a login"""
    d = Daemons(place, config="limits: { clients: 40, login-time: 10s }\n")
    hello = bytes.fromhex("16030100c8010000c40303")
    stalled = []
    for n in range(80):
        one = socket.create_connection(("127.0.0.1", d.port))
        place.ends.append(one.close)
        stalled.append(one)
        try:
            one.sendall((b"", hello, b"GET / HTTP/1.0\r\n\r\n", b"\x16\x03\x01\xff\xff" + b"\0" * 3000)[n % 4])
        except ConnectionError:
            pass
    expect_between(d.client()("LOCK", "a"), 1, TOKEN_MAX)
    expect_between(int(d.daemon.info()["unauthenticated_clients"]), 0, 10)
    d.daemon.output.wait(r"client\.no_tls .*made way")
    d.daemon.output.wait(r"client\.no_tls .*no TLS handshake")
    until("all are gone", lambda: d.daemon.info()["unauthenticated_clients"] == "0")
    for one in stalled:
        one.settimeout(harness.PATIENCE)
        try:
            while one.recv(1000):
                pass
        except ConnectionError:
            pass


def test_ends(place):
    """with on-close: release TLS' good-bye ends holds at once; the end of the socket alone, which can be forged, withholds"""
    d = Daemons(place, more="    on-close: release\n")
    polite, rude = d.client(), d.client()
    expect_between(polite("LOCK", "a"), 1, TOKEN_MAX)
    expect_between(rude("LOCK", "b"), 1, TOKEN_MAX)
    polite.socket.unwrap().close()
    with d.daemon.client() as other:
        expect_between(other("LOCK", "a", "WAIT", 45000), 1, TOKEN_MAX)
    rude.socket.close()
    with d.daemon.client(form=3) as other:
        until("withheld", lambda: other("INSPECT", "b")["state"] == "withheld")
    quitter = d.client()
    expect_between(quitter("LOCK", "c"), 1, TOKEN_MAX)
    expect(quitter("QUIT"), "OK")
    quitter.socket.settimeout(harness.PATIENCE)
    expect(quitter.socket.recv(10), b"", "the good-bye of the daemon")


def test_hand_over(place):
    """a hand-over ends connections with TLS: a session with a grace comes back with its lock and token"""
    d = Daemons(place)
    client = d.client()
    secret = client("SESSION", "GRACE", 30000)
    token = client("LOCK", "a")
    plain = d.daemon.client()
    expect_between(plain("LOCK", "b"), 1, TOKEN_MAX)
    mark = d.daemon.output.mark()
    d.daemon.process.signal(signal.SIGUSR2)
    d.daemon.output.wait(r"handover\.done", mark)
    expect(client.closed(), True)
    back = d.client()
    answer = back("SESSION", "RESUME", secret)
    expect(isinstance(answer, resp.Error), False, str(answer))
    expect_between(back("CHECK", "a", "TOKEN", token), 1, TOKEN_MAX)
    expect_between(plain("CHECK", "b"), 1, TOKEN_MAX)


def url_of(d, more="", login=""):
    return "rediss://%s127.0.0.1:%d/0?ca=%s%s" % (login, d.port, d.authority.ca, more)


def holdfast(place, url, *words, **options):
    return place.run(harness.HOLDFAST, *words, environment={"HOLDFAST_URL": url}, **options)


def test_program(place):
    """holdfast speaks TLS: ping, run, a run inside of it, bench; with a wrong authority or name it says what is wrong"""
    d = Daemons(place)
    expect(holdfast(place, url_of(d), "ping").wait(), 0)
    inner = "%s run b -- true && %s check a" % (harness.HOLDFAST, harness.HOLDFAST)
    run = holdfast(place, url_of(d), "run", "a", "--", "sh", "-c", inner)
    expect(run.wait(), 0, run.output.tail())
    bench = holdfast(place, url_of(d), "bench", "--seconds", "1", "-c", "20")
    expect(bench.wait(), 0, bench.output.tail())
    other = Authority(place, "other")
    wrong = holdfast(place, "tls://127.0.0.1:%d?ca=%s" % (d.port, other.ca), "ping")
    expect(wrong.wait() != 0 and "its authority is not one of ca" in wrong.output.text(), True, wrong.output.tail())
    wrong = holdfast(place, url_of(d, "&name=other.example"), "ping")
    expect(wrong.wait() != 0 and "name says which one is right" in wrong.output.text(), True, wrong.output.tail())
    plain = holdfast(place, "tcp://127.0.0.1:%d" % d.port, "ping")
    expect(plain.wait() > 0, True, plain.output.tail())
    expect(holdfast(place, d.daemon.socket, "run", "a", "--", "true").wait(), 0, "without TLS")


def test_program_comes_back(place):
    """the command of `holdfast run` by TLS goes on over hand-overs and a kill -9 of the daemon, with its lock"""
    d = Daemons(place)
    run = holdfast(place, url_of(d), "run", "a", "--", "sh", "-c", "echo began; read line; echo ended", stdin=subprocess.PIPE)
    run.output.wait("began")
    with d.daemon.client(form=3) as client:
        token = client("INSPECT", "a")["holder"]["token"]
    for _ in range(2):
        mark = d.daemon.output.mark()
        d.daemon.process.signal(signal.SIGUSR2)
        d.daemon.output.wait(r"handover\.done", mark)
        d.daemon.output.wait(r"session\.resumed", mark)
    d.daemon.kill()
    d.daemon.start()
    d.daemon.output.wait(r"session\.resumed")
    with d.daemon.client(form=3) as client:
        expect(client("INSPECT", "a")["holder"]["token"], token)
    run.process.stdin.write(b"\n")
    run.process.stdin.close()
    run.output.wait("ended")
    expect(run.wait(), 0, run.output.tail())


PYTHON = """
import sys
import holdfast
with holdfast.lock("a", wait=45) as lock:
    print("began", flush=True)
    sys.stdin.readline()
    print("holds", lock.valid_for() > 0, lock.token, flush=True)
"""
GO = """package main

import (
	"bufio"
	"context"
	"fmt"
	"os"

	"holdfast.example/holdfast"
)

func main() {
	hf, err := holdfast.Open("")
	if err != nil {
		panic(err)
	}
	lock, err := hf.Lock(context.Background(), "a")
	if err != nil {
		panic(err)
	}
	fmt.Println("began")
	bufio.NewReader(os.Stdin).ReadString('\\n')
	fmt.Println("holds", lock.Context().Err() == nil, lock.Token())
	lock.Unlock()
	hf.Close()
}
"""
NODE = """
const { Client } = require('%s/client/node');
const hf = new Client();
hf.withLock('a', { wait: 45000 }, async (lock) => {
  console.log('began');
  await new Promise((resolve) => process.stdin.once('data', resolve));
  console.log('holds', !lock.signal.aborted, lock.token);
}).then(() => process.exit(0));
""" % harness.ROOT


JAVA = """
import holdfast.*;
import java.time.Duration;

public class Example {
    public static void main(String[] words) throws Exception {
        for (int tries = 0; !locked() && tries < 10; tries++) {
        }
    }

    /** On a busy host Java takes longer for its first handshake than a daemon may be away. */
    static boolean locked() throws Exception {
        try (Holdfast hf = Holdfast.open(); var lock = hf.lock("a", Duration.ofSeconds(45))) {
            System.out.println("began");
            System.in.read();
            System.out.println("holds " + lock.isHeld() + " " + lock.token());
            return true;
        } catch (DaemonUnreachableException slow) {
            return false;
        }
    }
}
"""


class Tap:
    """A proxy before a port of TLS that keeps what passes, to see that nothing passes in clear."""

    def __init__(self, place, port):
        self.proxy = proxy.Proxy(("127.0.0.1", port), records=True)
        place.ends.append(self.proxy.close)
        self.port = self.proxy.address[1]

    def connections(self):
        with self.proxy.changed:
            return len({pair for pair, _ in self.proxy.taken})

    def check(self):
        """All that has passed are whole records of TLS, and the last one of a connection that was cut may be a part."""
        with self.proxy.changed:
            taken = list(self.proxy.taken.values())
        expect_between(len(taken), 2, 10 ** 6, "directions of connections")
        for data in taken:
            at = 0
            while at < len(data):
                head = data[at:at + 5]
                expect(head[0] in (20, 21, 22, 23) and head[1:2] in (b"\x03", b""), True, repr(data[at:at + 60]))
                if len(head) < 5:
                    break
                expect_between(int.from_bytes(head[3:], "big"), 1, 16384 + 256, repr(data[at:at + 60]))
                at += 5 + int.from_bytes(head[3:], "big")
            for word in CLEAR:
                expect(word in data, False, "%s in clear" % word)


# What no peer may see. Each is too long to come about by chance.
CLEAR = (b"HELLO", b"OWNER", b"ASYNC", b"SESSION", b"holdfast", b"very-secret-name", b"QUEUED", b"CLIENT")


class Stunnel:
    """Stands before a plain address of the daemon, and speaks TLS to clients: another end than holdfast's own."""

    def __init__(self, d, plain, *options):
        need("stunnel")
        self.port = harness.free_port()
        path = os.path.join(d.place.path, "stunnel-%d.conf" % self.port)
        with open(path, "w", encoding="ascii") as stream:
            stream.write("foreground = yes\npid =\nsyslog = no\n[holdfast]\naccept = 127.0.0.1:%d\nconnect = 127.0.0.1:%d\n"
                         "cert = %s\nkey = %s\nCAfile = %s\nverifyChain = yes\nrequireCert = yes\n%s" % (
                             (self.port, plain) + d.files + (d.authority.ca, "".join(line + "\n" for line in options))))
        self.process = d.place.run("stunnel", path)
        self.process.output.wait("Configuration successful")
        until("stunnel listens", self.listens)

    def listens(self):
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", self.port)) == 0


def behind_stunnel(place, *options):
    """A daemon with a plain address, an end of TLS before it, and a tap before that one; and the URL of the tap."""
    plain = harness.free_port()
    d = Daemons(place, plain=plain)
    tap = Tap(place, Stunnel(d, plain, *options).port)
    return d, tap, with_certificate(d, tap.port)


def with_certificate(d, port):
    certificate, key = d.authority.issue("helper")
    return "rediss://127.0.0.1:%d/0?ca=%s&certificate=%s&key=%s" % (port, d.authority.ca, certificate, key)


def away_and_back(d):
    """The daemon is killed, and back before the hold is over."""
    d.daemon.kill()
    d.daemon.start()  # whose output is a new one
    d.daemon.output.wait(r"session\.resumed")


def helper(place, *command, **environment):
    """A program holds a lock by TLS over a hand-over of the daemon, with its token; a wrong authority is refused. None of its
    bytes passes in clear."""
    d = Daemons(place, tls=", client-ca: {a.ca}")
    tap = Tap(place, d.port)
    url = with_certificate(d, tap.port)
    program = place.run(*command, environment=dict(environment, HOLDFAST_URL=url), stdin=subprocess.PIPE)
    program.output.wait("began")
    with d.daemon.client(form=3) as client:
        token = client("INSPECT", "a")["holder"]["token"]
    mark = d.daemon.output.mark()
    d.daemon.process.signal(signal.SIGUSR2)
    d.daemon.output.wait(r"handover\.done", mark)
    d.daemon.output.wait(r"session\.resumed", mark)
    program.process.stdin.write(b"\n")
    program.process.stdin.flush()
    answer = program.output.wait(r"holds (\w+) (\d+)")[1]
    expect((answer.group(1).lower(), int(answer.group(2))), ("true", token))
    expect(program.wait(), 0, program.output.tail())
    wrong = url.replace(d.authority.ca, Authority(place, "other").ca)
    failures = int(d.daemon.info()["tls_failures"])
    program = place.run(*command, environment=dict(environment, HOLDFAST_URL=wrong), stdin=subprocess.PIPE)
    until("it is refused", lambda: int(d.daemon.info()["tls_failures"]) > failures)
    expect("began" in program.output.text(), False)
    program.kill()
    tap.check()


def subfolder(place, name):
    """The same place, whose files are in a folder of their own."""
    class Named:
        path = os.path.join(place.path, name)

        def __getattr__(self, what):
            return getattr(place, what)

        def idle_daemon(self, daemon, **options):
            return place.idle_daemon("%s-%s" % (name, daemon), **options)

        def redis(self):
            return place.redis("%s-r" % name)

    os.mkdir(Named.path)
    return Named()


def helper_behind(place, *command, **environment):
    """A program behind stunnel holds a lock over a kill -9 of the daemon, with its token, and none of its bytes passes in
    clear."""
    d, tap, url = behind_stunnel(place)
    program = place.run(*command, environment=dict(environment, HOLDFAST_URL=url), stdin=subprocess.PIPE)
    program.output.wait("began")
    with d.daemon.client(form=3) as client:
        token = client("INSPECT", "a")["holder"]["token"]
    away_and_back(d)
    program.process.stdin.write(b"\n")
    program.process.stdin.flush()
    answer = program.output.wait(r"holds (\w+) (\d+)")[1]
    expect((answer.group(1).lower(), int(answer.group(2))), ("true", token))
    expect(program.wait(), 0, program.output.tail())
    tap.check()


def play(d, tap, url):
    """libholdfast: a lock, a wait that is served, a loss that is told, a hold over a kill -9 of the daemon."""
    c = Puppet(d.place, url)
    name = "very-secret-name"
    token = c.lock("1", name)[0]
    expect_between(token, 1, TOKEN_MAX)
    expect_between(c.valid("1"), 1, 10 ** 6)
    mark = c.say("lock", "2", name, "wait=60000")
    with d.daemon.client(form=3) as client:
        until("the other waits", lambda: client("INSPECT", name)["waiter_count"] == 1)
        expect(c.ask("unlock", "1")[0], 0)
        second = c.outcome("2", mark)[0]
        expect(second > token, True)
        away_and_back(d)
        expect(c.ask("check", "2")[0], 0)
    with d.daemon.client(form=3) as client:
        expect(client("INSPECT", name)["holder"]["token"], second)
        mark = c.output.mark()
        expect_between(client("BREAK", name, "TOKEN", second), 1, TOKEN_MAX)
        expect(c.lost("2", mark)[1], "broken")
    for n in range(50):
        expect_between(c.lock("n%d" % n, "b")[0], 1, TOKEN_MAX)
        expect(c.ask("unlock", "n%d" % n)[0], 0)
    c.end()
    expect_between(tap.connections(), 2, 1000)
    tap.check()


def test_library(place):
    """libholdfast by TLS locks, waits, is told of losses and comes back, at the daemon itself, and nothing passes in clear"""
    d = Daemons(place, tls=", client-ca: {a.ca}")
    tap = Tap(place, d.port)
    play(d, tap, with_certificate(d, tap.port))
    wrong = with_certificate(d, tap.port).replace(d.authority.ca, Authority(place, "other").ca)
    status, _, text = Puppet(place, wrong).lock("1", "a", "wait=-1")
    expect((status, "its authority is not one of ca" in text), (UNREACHABLE, True), text)


def test_library_behind_stunnel(place):
    """libholdfast behind stunnel, with tickets and without, by TLS 1.3 and 1.2"""
    for n, options in enumerate(((), ("options = NO_TICKET",), ("sslVersionMax = TLSv1.2",))):
        play(*behind_stunnel(subfolder(place, "s%d" % n), *options))


def test_program_behind_stunnel(place):
    """holdfast behind stunnel: its command goes on over a kill -9 of the daemon, with its lock, and nothing passes in clear"""
    d, tap, url = behind_stunnel(place)
    run = holdfast(place, url, "run", "very-secret-name", "--", "sh", "-c", "echo began; read line; echo ended",
                   stdin=subprocess.PIPE)
    run.output.wait("began")
    waits = holdfast(place, url, "run", "-w", "60", "very-secret-name", "--", "echo", "served")
    d.daemon.queued("very-secret-name")
    away_and_back(d)
    run.process.stdin.write(b"\n")
    run.process.stdin.close()
    run.output.wait("ended")
    expect(run.wait(), 0, run.output.tail())
    expect(waits.wait(), 0, waits.output.tail())
    bench = holdfast(place, url, "bench", "--seconds", "1", "-c", "5")
    expect(bench.wait(), 0, bench.output.tail())
    tap.check()


def need(*programs):
    for one in programs:
        if shutil.which(one) is None:
            raise harness.Skip("%s is not here" % one)


def play_python(place, helped):
    helped(place, sys.executable, "-c", PYTHON, PYTHONPATH=os.path.join(harness.ROOT, "client", "python"))


def play_go(place, helped):
    need("go")
    folder = os.path.join(place.path, "go")
    os.mkdir(folder)
    for name, text in (("main.go", GO), ("go.mod", "module example\n\ngo 1.21\n\nrequire holdfast.example/holdfast v0.0.0\n\n"
                                         "replace holdfast.example/holdfast => %s/client/go\n" % harness.ROOT)):
        with open(os.path.join(folder, name), "w", encoding="ascii") as stream:
            stream.write(text)
    conformance.go()  # it has compiled Go's own library when this one is built
    built = subprocess.run(("go", "build", "-o", "example", "."), cwd=folder, capture_output=True, text=True, check=False,
                           env={**os.environ, **conformance.GO})
    expect(built.returncode, 0, built.stderr)
    helped(place, os.path.join(folder, "example"))


def play_node(place, helped):
    need("node")
    helped(place, "node", "-e", NODE)


def play_java(place, helped):
    need("java", "javac")
    folder = os.path.join(place.path, "java")
    os.mkdir(folder)
    with open(os.path.join(folder, "Example.java"), "w", encoding="ascii") as stream:
        stream.write(JAVA)
    classes = conformance.java_classes()
    built = subprocess.run(["javac", "-d", folder, "-cp", classes, os.path.join(folder, "Example.java")],
                           capture_output=True, text=True, check=False)
    expect(built.returncode, 0, built.stderr)
    helped(place, "java", "-XX:TieredStopAtLevel=1", "-cp", folder + ":" + classes, "Example")


def play_rust(place, helped):
    # Only with TLS the package depends on others, which are fetched, and compile for minutes: too long beside other scenes.
    hold = os.path.join(harness.BUILD, "rust", "debug", "examples", "hold")
    if not os.path.exists(hold):
        raise harness.Skip("client/rust is not built with TLS: make check-rust builds it, and runs this")
    helped(place, hold)


def test_python(place):
    """client/python by TLS keeps its lock over a hand-over, and trusts no other authority"""
    play_python(place, helper)


def test_go(place):
    """client/go by TLS keeps its lock over a hand-over, and trusts no other authority"""
    play_go(place, helper)


def test_node(place):
    """client/node by TLS keeps its lock over a hand-over, and trusts no other authority"""
    play_node(place, helper)


def test_java(place):
    """client/java by TLS keeps its lock over a hand-over, and trusts no other authority"""
    play_java(place, helper)


def test_rust(place):
    """client/rust by TLS keeps its lock over a hand-over, and trusts no other authority"""
    play_rust(place, helper)


def test_python_behind_stunnel(place):
    """client/python behind stunnel keeps its lock over a kill -9 of the daemon"""
    play_python(place, helper_behind)


def test_go_behind_stunnel(place):
    """client/go behind stunnel keeps its lock over a kill -9 of the daemon"""
    play_go(place, helper_behind)


def test_node_behind_stunnel(place):
    """client/node behind stunnel keeps its lock over a kill -9 of the daemon"""
    play_node(place, helper_behind)


def test_java_behind_stunnel(place):
    """client/java behind stunnel keeps its lock over a kill -9 of the daemon"""
    play_java(place, helper_behind)


def test_rust_behind_stunnel(place):
    """client/rust behind stunnel keeps its lock over a kill -9 of the daemon"""
    play_rust(place, helper_behind)


if __name__ == "__main__":
    harness.main(globals())
