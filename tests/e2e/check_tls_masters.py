#!/usr/bin/env python3
"""TLS to masters and sentinels: which servers are trusted, what is said of those that are not, and that locks go on."""

import os
import re

import harness
from certificates import Authority
from check_sentinel import Sentinel
from harness import BRISK, Skip, expect, expect_between, until
from oncall import OnCall

TOKEN_MAX = 2 ** 53


class SecureRedis(harness.Redis):
    """A redis-server whose TCP port speaks TLS only."""

    def __init__(self, place, name, files, ca, clients="no", more=()):
        self.port = harness.free_port()
        super().__init__(place, name, options=[
            "--tls-port", str(self.port), "--bind", "127.0.0.1", "--tls-cert-file", files[0], "--tls-key-file", files[1],
            "--tls-ca-cert-file", ca, "--tls-auth-clients", clients, *more])
        self.url = "rediss://127.0.0.1:%d" % self.port

    def start(self):
        try:
            return super().start()
        except AssertionError as error:
            if "without" in str(error) or "Bad directive" in str(error):
                raise Skip("this redis-server has no TLS") from error
            raise


def masters(*items):
    return "masters:\n" + "".join("  - url: %s\n    tls: { %s }\n" % item for item in items)


def config_of(redis, ca, more=""):
    return masters((redis.url, "ca: %s%s" % (ca, more))) + BRISK


def granted(daemon, name="a"):
    with daemon.client() as client:
        expect_between(client("LOCK", name, "WAIT", 45000), 1, TOKEN_MAX)
        expect(client("UNLOCK", name), 0)


def refused(place, redis, config, why):
    """A daemon that does not trust the server says why, and locks nothing; it."""
    daemon = place.idle_daemon("d1", config=config)
    daemon.spawn()
    daemon.output.wait(r"link\.down .*%s" % why)
    expect("cmdstat_evalsha" in redis("INFO", "commandstats"), False, "a script ran at %s" % redis.url)
    return daemon


def test_master(place):
    """a master is reached by rediss:// with the authority of the configuration: locks pass between daemons"""
    authority = Authority(place)
    redis = SecureRedis(place, "redis", authority.issue("master"), authority.ca)
    daemon = place.daemon(config=config_of(redis, authority.ca))
    granted(daemon)
    with daemon.client() as client:
        expect_between(client("LOCK", "kept"), 1, TOKEN_MAX)
        other = place.daemon("d2", config=config_of(redis, authority.ca))
        with other.client() as waiter:
            waiter.send("LOCK", "kept", "WAIT", 45000)
            other.queued("kept")
            expect(client("UNLOCK", "kept"), 0)
            expect_between(waiter.reply(), 1, TOKEN_MAX)
    text = redis("CLIENT", "LIST")
    expect(len(re.findall(r"laddr=127\.0\.0\.1:%d .*name=holdfast-" % redis.port, text) or
               re.findall(r"laddr=127\.0\.0\.1:%d" % redis.port, text)) >= 4, True, text)


def test_three_masters(place):
    """three masters by TLS: one is killed and comes back with another certificate of the same authority"""
    authority = Authority(place)
    servers = [SecureRedis(place, "m%d" % i, authority.issue("master%d" % i), authority.ca) for i in range(3)]
    daemon = place.daemon(config=masters(*((one.url, "ca: " + authority.ca) for one in servers)) + BRISK)
    granted(daemon)
    mark = daemon.output.mark()
    servers[0].kill()
    daemon.output.wait(r"link\.down", mark)
    granted(daemon)
    mark = daemon.output.mark()
    fresh = authority.issue("fresh")
    at = servers[0].options.index("--tls-cert-file")
    servers[0].options[at + 1], servers[0].options[at + 3] = fresh
    servers[0].restart()
    daemon.output.wait(r"link\.up", mark)
    granted(daemon)


def test_other_authority(place):
    """a master with a certificate of another authority is not trusted, and the log says so"""
    authority, other = Authority(place), Authority(place, "other")
    redis = SecureRedis(place, "redis", other.issue("master"), other.ca)
    refused(place, redis, config_of(redis, authority.ca), "is refused: .*its authority is not one of ca")


def test_expired(place):
    """a master whose certificate has expired is not trusted"""
    authority = Authority(place)
    redis = SecureRedis(place, "redis", authority.issue("master", expired=True), authority.ca)
    refused(place, redis, config_of(redis, authority.ca), "is refused: certificate has expired")


def test_wrong_name(place):
    """a master whose certificate is for another host is not trusted, unless `name` says which it has"""
    authority = Authority(place)
    redis = SecureRedis(place, "redis", authority.issue("master", names="DNS:redis.example"), authority.ca)
    daemon = refused(place, redis, config_of(redis, authority.ca), "is refused: IP address mismatch")
    daemon.kill()
    granted(place.daemon("d2", config=config_of(redis, authority.ca, ", name: redis.example")))


def test_client_certificate(place):
    """a master that asks for a certificate gets it; one that is missing is named as the reason"""
    authority = Authority(place)
    redis = SecureRedis(place, "redis", authority.issue("master"), authority.ca, clients="yes")
    daemon = refused(place, redis, config_of(redis, authority.ca), "certificate required: a certificate of the client")
    daemon.kill()
    files = authority.issue("app07")
    granted(place.daemon("d2", config=config_of(redis, authority.ca, ", certificate: %s, key: %s" % files)))


def test_full(place):
    """a master by TLS that is full: what doctor prints reaches it with the authority, the certificate and the key of the daemon"""
    authority = Authority(place)
    redis = SecureRedis(place, "redis", authority.issue("master"), authority.ca, clients="yes")
    files = authority.issue("app07")
    daemon = place.daemon(config=config_of(redis, authority.ca, ", certificate: %s, key: %s" % files))
    granted(daemon)
    on_call = OnCall(place, daemon, watched=False)
    expect(redis("CONFIG", "SET", "maxmemory", "100000"), "OK")
    finding = on_call.finds("holdfast doctor", "OOM")
    expect(finding["run"], "redis-cli -h 127.0.0.1 -p %d --tls --cacert %s --cert %s --key %s CONFIG SET maxmemory 0"
           % (redis.port, authority.ca, *files))
    expect(on_call.runs(finding), "OK\n")
    until("it is mended", on_call.quiet)


def test_files_change(place):
    """an authority's file that is replaced while the daemon runs counts from the next connection on"""
    authority, other = Authority(place), Authority(place, "other")
    redis = SecureRedis(place, "redis", other.issue("master"), other.ca)
    daemon = refused(place, redis, config_of(redis, authority.ca), "is refused")
    os.replace(other.ca, authority.ca)
    daemon.await_state("READY=1")
    daemon.admitted()


def test_no_tls(place):
    """rediss:// to a port without TLS, and redis:// to one with it, fail and say so"""
    authority = Authority(place)
    port = harness.free_port()
    plain = place.redis("plain", options=["--port", str(port), "--bind", "127.0.0.1"])
    plain.url = "rediss://127.0.0.1:%d" % port
    daemon = refused(place, plain, config_of(plain, authority.ca), "does not answer in TLS within")
    daemon.kill()
    secure = SecureRedis(place, "secure", authority.issue("master"), authority.ca)
    secure.url = secure.url.replace("rediss", "redis")
    daemon = place.idle_daemon("d2", master=secure, config=BRISK)
    daemon.spawn()
    daemon.output.wait(r"link\.down .*(closed|reset)")


def test_silent(place):
    """a server that accepts and never answers the handshake is given up in time, and tried again"""
    authority = Authority(place)
    with harness.socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(64)
        url = "rediss://127.0.0.1:%d" % silent.getsockname()[1]
        daemon = place.idle_daemon(config=masters((url, "ca: " + authority.ca)) + BRISK)
        daemon.spawn()
        mark = daemon.output.wait(r"link\.down .*does not answer in TLS within")[2]
        accepted = [silent.accept()[0] for _ in range(4)]  # two links, twice
        for one in accepted:
            one.close()
        expect(mark >= 0, True)


def test_sentinel(place):
    """sentinels and master by TLS: the master is found, and followed to another one"""
    authority = Authority(place)
    files = authority.issue("all")
    secure = ["--tls-replication", "yes"]
    servers = [SecureRedis(place, "r%d" % i, files, authority.ca, more=secure) for i in range(2)]
    expect(servers[1]("REPLICAOF", "127.0.0.1", servers[0].port), "OK")
    until("the replica is there", lambda: "state=online" in servers[0]("INFO", "replication"))
    sentinel = SecureSentinel(place, "s0", servers[0].port, files, authority.ca)
    tls = "{ ca: %s }" % authority.ca
    config = ("masters:\n  - sentinel: { name: mymaster, sentinels: [127.0.0.1:%d], replicas-ack: no, tls: %s }\n    tls: %s\n"
              % (sentinel.port, tls, tls))
    daemon = place.daemon(config=config + BRISK)
    granted(daemon)
    until("the sentinel knows the replica", lambda: sentinel.knows_replica())
    mark = daemon.output.mark()
    servers[0].kill()
    daemon.output.wait(r"link\.up .*:%d" % servers[1].port, mark)
    granted(daemon)


class SecureSentinel(Sentinel):
    """A sentinel that speaks TLS only, also with the servers that it watches."""

    def __init__(self, place, name, port, files, ca):
        self.ca = ca
        self.secure = harness.free_port()
        super().__init__(place, name, port, quorum=1, down_ms=1500, more=(
            "tls-port %d\ntls-cert-file %s\ntls-key-file %s\ntls-ca-cert-file %s\ntls-auth-clients no\n"
            "tls-replication yes\n" % (self.secure, files[0], files[1], ca)))
        self.plain, self.port = self.port, self.secure

    def knows_replica(self):
        with harness.resp.Client(("127.0.0.1", self.plain)) as client:
            answer = client("SENTINEL", "MASTER", "mymaster")
        return int(dict(zip(answer[::2], answer[1::2]))["num-slaves"]) >= 1


if __name__ == "__main__":
    harness.main(globals())
