#!/usr/bin/env python3
"""HTTP: metrics, health, lists, and what a client that means no good can do there."""

import glob
import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time

import certificates
import clockshim
import harness
import tool
from harness import expect, expect_between
from manager import Manager

OPENMETRICS = "application/openmetrics-text"
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Connection(http.client.HTTPConnection):
    """One request over a Unix socket."""

    def __init__(self, path):
        super().__init__("localhost", timeout=harness.PATIENCE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(harness.PATIENCE)
        self.sock.connect(self.path)


def path_of(place):
    return os.path.join(place.path, "http")


def socket_of(place):
    """What tells the socket from another one that is made at its path later."""
    found = os.stat(path_of(place))
    return found.st_ino, found.st_mtime_ns


def served(place, more="", **options):
    """A daemon that serves HTTP on a Unix socket, and perhaps elsewhere."""
    config = options.pop("config", "")
    return place.daemon(config="http:\n  - unix: %s\n%s%s" % (path_of(place), more, config), **options)


def ask(connection, target, method="GET", headers=None):
    """Status, headers and body of one answer."""
    try:
        connection.request(method, target, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, answer, answer.read().decode()
    finally:
        connection.close()


def get(place, target, method="GET", headers=None):
    return ask(Connection(path_of(place)), target, method, headers)


def body(place, target, headers=None):
    status, answer, text = get(place, target, headers=headers)
    expect(status, 200, text)
    return answer, text


def raw(place, request, shut=False):
    """All that comes back for these bytes."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(harness.PATIENCE)
        client.connect(path_of(place))
        client.sendall(request)
        if shut:
            client.shutdown(socket.SHUT_WR)
        answer = b""
        while True:
            piece = client.recv(65536)
            if not piece:
                return answer.decode()
            answer += piece


def samples(text):
    """{"name{labels}": value} of a page of metrics."""
    return dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))


def openmetrics(text):
    """Checks the grammar that OpenMetrics and Prometheus both demand, and returns {family: type}."""
    expect(text.endswith("\n# EOF\n"), True, text[-80:])
    families, family, seen = {}, None, set()
    suffixes = {"counter": ("_total",), "gauge": ("",), "info": ("_info",), "histogram": ("_bucket", "_sum", "_count")}
    for line in text.splitlines()[:-1]:
        meta = re.match(r"# (HELP|TYPE|UNIT) ([a-z_]+) (.+)$", line)
        if meta:
            word, name, rest = meta.groups()
            if word == "HELP":
                expect(name in families, False, "twice: " + line)
                family = name
            expect(name, family, line)
            if word == "TYPE":
                families[name] = rest
            if word == "UNIT":
                expect(name.endswith("_" + rest), True, line)
            continue
        sample = re.match(r'([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\[\\"n])*",?)*)\})? -?\d+(?:\.\d+)?$', line)
        expect(bool(sample), True, line)
        expect(sample.group(1) in [family + suffix for suffix in suffixes[families[family]]], True, line)
        expect(line.rsplit(" ", 1)[0] in seen, False, "twice: " + line)
        seen.add(line.rsplit(" ", 1)[0])
    return families


def test_off_by_default(place):
    """without http: nothing is served: the daemon has no other socket than the one for locks"""
    daemon = place.daemon(master=place.redis())
    sockets = [entry for entry in glob.glob(os.path.join(daemon.folder, "*")) if not os.path.isfile(entry)]
    expect(sorted(os.path.basename(entry) for entry in sockets), ["notify", "redis", "s"] if os.path.exists(
        os.path.join(daemon.folder, "redis")) else ["notify", "s"])


def test_metrics(place):
    """what clients do is counted: grants by kind, losses by reason, refusals by code, and how long they took"""
    daemon = served(place, master=place.redis()).admitted()
    before = samples(body(place, "/metrics")[1])
    one, two = daemon.client(), daemon.client()
    expect(one("LOCK", "a") > 0, True)
    expect(two("LOCK", "a", "WAIT", 30), None)
    harness.expect_code(one("LOCK", "a"), "HELD")
    expect(one("LOCK", "s", "SHARED") > 0, True)
    expect(one("LOCK", "p", "LIMIT", 2) > 0, True)
    expect(one("UNLOCK", "s"), 0)
    one("SESSION", "ONLOSS", "NEXT")
    token = one("LOCK", "b")
    expect(two("BREAK", "b", "TOKEN", token) >= 0, True)
    expect(two("SESSION", "HEARTBEAT", 0), "OK")
    after = samples(body(place, "/metrics")[1])

    def grown(key):
        return float(after[key]) - float(before.get(key, 0))

    expect(grown('holdfast_grants_total{kind="exclusive"}'), 2.0)
    expect(grown('holdfast_grants_total{kind="shared"}'), 1.0)
    expect(grown('holdfast_grants_total{kind="permits"}'), 1.0)
    expect(grown("holdfast_locks_granted_total"), 4.0)
    expect(grown('holdfast_losses_total{reason="broken"}'), 1.0)
    expect(grown('holdfast_refusals_total{code="HELD"}'), 1.0)
    expect(grown("holdfast_locks_timed_out_total"), 1.0)
    expect(grown('holdfast_requests_total{verb="break"}'), 1.0)
    expect(grown('holdfast_wait_seconds_count{outcome="granted"}'), 4.0)
    expect(grown('holdfast_wait_seconds_count{outcome="timeout"}'), 1.0)
    expect(grown('holdfast_wait_seconds_bucket{outcome="timeout",le="0.02"}'), 0.0)
    expect(grown('holdfast_wait_seconds_bucket{outcome="timeout",le="+Inf"}'), 1.0)
    expect(grown('holdfast_wait_seconds_sum{outcome="timeout"}') >= 0.03, True)
    # The broken hold is withheld, as long as its holder was told; how long it was held counts once.
    expect(grown("holdfast_hold_seconds_count"), 2.0)
    expect(grown("holdfast_locks_held"), 2.0)
    trips = [key for key in after if key.startswith("holdfast_master_round_trip_seconds_count")]
    expect(len(trips) == 1 and grown(trips[0]) > 0, True, repr(trips))


def test_longest(place):
    """a lock that is held too long shows while it lasts: how long the oldest hold and the oldest wait have lasted, also in the next process"""
    daemon = served(place, master=place.redis()).admitted()

    def longest():
        found = samples(body(place, "/metrics")[1])
        return [float(found["holdfast_longest_%s_seconds" % what]) for what in ("wait", "hold")]

    def lasted(seconds, low, high):
        # The daemon takes both times in whole milliseconds.
        expect_between(seconds, low - 0.002, high + 0.002)

    expect(longest(), [0.0, 0.0])
    begun = time.monotonic()
    holder, both, waiter = (daemon.client() for _ in range(3))
    expect(holder("LOCK", "a") > 0, True)
    held = time.monotonic()
    both.send("MLOCK", 2, "b", "a")
    daemon.queued("a")
    waiting = time.monotonic()
    waiter.send("LOCK", "a")
    daemon.queued("a", 2)
    last = time.monotonic()
    harness.until("they have lasted", lambda: longest()[0] > 0.5)
    daemon.client()("RESTART")
    now = time.monotonic()
    wait, hold = longest()
    lasted(hold, now - held, time.monotonic() - begun)
    lasted(wait, now - waiting, time.monotonic() - held)
    info = daemon.info()
    lasted(int(info["longest_hold_ms"]) / 1000, hold, time.monotonic() - begun)
    lasted(int(info["longest_wait_ms"]) / 1000, wait, time.monotonic() - held)
    # No wait has ended: the histogram shows nothing.
    expect(samples(body(place, "/metrics")[1])['holdfast_wait_seconds_bucket{outcome="granted",le="+Inf"}'], "0")
    expect(holder("UNLOCK", "a"), 0)
    expect(len(both.reply()), 2)
    # The other waiter is the oldest now.
    lasted(longest()[0], now - last, time.monotonic() - waiting)
    expect(both("MUNLOCK", 2, "b", "a"), 2)
    expect(waiter.reply() > 0, True)
    expect(longest()[0], 0.0)


def test_process(place):
    """what an operator would find out too late: descriptors, a configuration that was refused, a standstill, the clock of a master"""
    clock = clockshim.Clock(place, "redis")
    clock.step(-5)
    # It sends its master HELLO every 0.7 s, and a turn that comes 0.2 s late is a stall.
    daemon = served(place, master=place.redis(environment=clock.environment), config="lease: 2s\n").admitted()

    def number(name, labels=""):
        return float(samples(body(place, "/metrics")[1])[name + labels])

    before = number("process_open_fds")
    clients = [daemon.client() for _ in range(20)]
    for client in clients:  # it has been accepted
        expect(client("PING"), "PONG")
    expect(number("process_open_fds"), before + 20)
    # A client of its own asks for INFO.
    info = daemon.info()
    expect_between(int(info["descriptors_used"]), before + 20, before + 23)
    expect(number("process_max_fds"), float(info["descriptors"]))
    expect(number("holdfast_config_pending"), 0.0)

    success = "holdfast_config_last_reload_success_timestamp_seconds"
    begun = number(success)
    expect_between(begun, time.time() - 600, time.time())
    expect(number("holdfast_config_last_reload_successful"), 1.0)
    good = open(daemon.file, encoding="utf-8").read()
    with open(daemon.file, "a", encoding="utf-8") as stream:
        stream.write("nonsense: 1\n")
    harness.expect_code(clients[0]("RELOAD"), "ERR")
    expect((number("holdfast_config_last_reload_successful"), number(success)), (0.0, begun))
    expect(daemon.info()["config_refused"], "1")
    # Nor does the next process begin with it.
    clients[0]("RESTART")
    expect(number("holdfast_config_last_reload_successful"), 0.0)
    with open(daemon.file, "w", encoding="utf-8") as stream:
        stream.write(good + "ledger: off\n" if "ledger" not in good else good.replace("ledger", "#ledger"))
    harness.until("a second later", lambda: int(time.time()) > begun)
    expect(clients[0]("RELOAD").startswith("reloaded"), True)
    expect(number("holdfast_config_last_reload_successful"), 1.0)
    expect_between(number(success), begun + 1, time.time())
    expect((number("holdfast_config_pending"), daemon.info()["config_refused"]), (1.0, "0"))

    offset, = [float(value) for key, value in samples(body(place, "/metrics")[1]).items()
               if key.startswith("holdfast_master_clock_offset_seconds")]
    expect_between(offset, -5.5, -4.5)

    stalls = number("holdfast_stalls_total")
    daemon.process.signal(signal.SIGSTOP)
    time.sleep(1.2)  # the standstill itself
    daemon.process.signal(signal.SIGCONT)
    harness.until("it counts that", lambda: number("holdfast_stalls_total") > stalls)


def test_metrics_and_info(place):
    """each counter and gauge of INFO is a metric with the same value"""
    daemon = served(place, master=place.redis()).admitted()
    client = daemon.client()
    text = client("INFO", "stats")
    found = samples(body(place, "/metrics")[1])
    reports = open(os.path.join(harness.BUILD, "doc", "REPORTS.md"), encoding="utf-8").read()
    rows = re.findall(r"^\| `(\w+)` \| (counter|gauge) \| (.*) \|$", reports, re.M)
    names = [line.split(":")[0] for line in text.splitlines() if ":" in line]
    expect(sorted(name for name, _, _ in rows), sorted(names))
    labelled = {"granted": 'grants_total{kind="%s"}', "lost": 'losses_total{reason="%s"}',
                "refused": 'refusals_total{code="%s"}'}
    for name, kind, _ in rows:
        word, _, value = name.partition("_")
        metric = (labelled[word] % value if word in labelled else
                  re.sub("_ms$", "_seconds", name) if kind == "gauge" else name + "_total")
        expect("holdfast_" + metric in found, True, metric)
    expect(found["holdfast_master_links"], "1")


def test_counted_names(place):
    """a rule with metrics: yes lets names be counted one by one, at most 200 of them; no other name is in the metrics"""
    rules = "rules: [ { match: 'job/secret*' }, { match: 'job/*', metrics: yes } ]\n"
    daemon = served(place, master=place.redis(), config=rules).admitted()
    one, two = daemon.client(), daemon.client()
    for name in ("job/1", "job/secret", "other"):
        expect(one("LOCK", name) > 0, True)
    expect(two("LOCK", "job/1", "WAIT", 30), None)
    expect(one("UNLOCK", "job/1"), 0)
    one.send("LOCK", "job/1")
    expect(isinstance(one.reply(), int), True)
    two.send("LOCK", "job/1")
    daemon.queued("job/1")
    found = samples(body(place, "/metrics")[1])
    named = {key: value for key, value in found.items() if "name=" in key}
    expect({re.search('name="([^"]*)"', key).group(1) for key in named}, {"job/1"})
    expect({re.sub(r"holdfast_name_|\{.*", "", key): value for key, value in named.items() if "seconds" not in key},
           {"grants_total": "2", "losses_total": "0", "timeouts_total": "1", "holders": "1", "waiters": "1"})
    expect(float(named['holdfast_name_wait_seconds_total{name="job/1"}']) >= 0.03, True)
    expect("secret" in body(place, "/metrics")[1], False)
    for at in range(210):
        expect(one("LOCK", "job/n%d" % at) > 0, True)
    found = samples(body(place, "/metrics")[1])
    expect(len([key for key in found if key.startswith("holdfast_name_grants_total")]), 200)
    expect(found["holdfast_names_uncounted_total"], "11")
    # A reload forgets names that are not to be counted any more, and there is room for others.
    daemon.configure("http: [ { unix: %s } ]\nrules: [ { match: 'job/1', metrics: yes }, { match: x, metrics: yes } ]\n"
                     % path_of(place))
    daemon.client()("RELOAD")
    expect(one("LOCK", "x") > 0, True)
    found = samples(body(place, "/metrics")[1])
    expect({key: value for key, value in found.items() if key.startswith("holdfast_name_grants")},
           {'holdfast_name_grants_total{name="job/1"}': "2", 'holdfast_name_grants_total{name="x"}': "1"})


def test_formats(place):
    """Prometheus gets OpenMetrics, and what does not ask for it gets the older text format with the same samples"""
    daemon = served(place, master=place.redis(), config="rules: [ { match: '*', metrics: yes } ]\n").admitted()
    daemon.client()("LOCK", 'a"b\\')
    harness.until("the masters have said who shares them", lambda: "holdfast_fleet_daemons{" in body(place, "/metrics")[1])
    answer, old = body(place, "/metrics")
    expect(answer.getheader("Content-Type"), "text/plain; version=0.0.4; charset=utf-8")
    answer, new = body(place, "/metrics", {"Accept": OPENMETRICS + ";version=1.0.0,text/plain;q=0.5"})
    expect(answer.getheader("Content-Type"), OPENMETRICS + "; version=1.0.0; charset=utf-8")
    expect(sorted(samples(old)), sorted(samples(new)))
    families = openmetrics(new)
    expect(families["holdfast_build"], "info")
    expect(families["holdfast_hold_seconds"], "histogram")
    expect("# UNIT holdfast_ledger_bytes bytes\n" in new, True)
    reports = open(os.path.join(harness.BUILD, "doc", "REPORTS.md"), encoding="utf-8").read().split("## Metrics")[1]
    table = set(re.findall(r"`((?:holdfast|process)_[a-z_]+)`", reports))
    rows = {name for name, kind in families.items()}
    listed = {"holdfast_" + re.sub("_ms$", "_seconds", line.split(":")[0])
              for line in place.daemons[0].client()("INFO", "stats").splitlines() if ":" in line}
    expect(sorted(rows - listed - table), [], "not in REPORTS.md")
    expect(sorted(table - rows), [], "in REPORTS.md only")


def test_fleet(place):
    """the metrics know how many daemons share the masters, by version, though nobody asks for the fleet"""
    redis = place.redis()
    daemon = served(place, master=redis, config="lease: 1s\n").admitted()
    others = [place.daemon(name, master=redis, config="lease: 1s\n").admitted() for name in ("d2", "d3")]
    version, = re.findall(r'holdfast_build_info{(version="[^"]*")}', body(place, "/metrics")[1])

    def fleet():
        return {key: value for key, value in samples(body(place, "/metrics")[1]).items() if key.startswith("holdfast_fleet_daemons")}

    harness.until("a master has answered", fleet)
    expect(fleet(), {"holdfast_fleet_daemons{%s}" % version: "3"})
    # Nobody is asked again within a minute, and registrations that end meanwhile are renewed. A request of a client tells of
    # the fleet as well.
    expect(others[0].terminate(), 0)
    ended = time.monotonic() + 5
    while time.monotonic() < ended:
        expect(fleet(), {"holdfast_fleet_daemons{%s}" % version: "3"})
        time.sleep(0.3)
    harness.until("it has left", lambda: len(daemon.client()("FLEET")) == 2)
    expect(fleet(), {"holdfast_fleet_daemons{%s}" % version: "2"})


def test_promtool(place):
    """promtool of Prometheus finds nothing wrong with the metrics and the alert rules, and each alert fires when it has to and not before"""
    promtool = shutil.which("promtool")
    if not promtool:
        raise harness.Skip("promtool is not installed (Debian: prometheus)")
    served(place, master=place.redis()).admitted()
    run = subprocess.run([promtool, "check", "metrics"], input=body(place, "/metrics")[1], text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    expect((run.returncode, run.stdout), (0, ""))
    rules = os.path.join(ROOT, "packaging", "monitoring", "alerts.yml")
    run = subprocess.run([promtool, "check", "rules", rules], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True, check=False)
    expect(run.returncode, 0, run.stdout)
    run = subprocess.run([promtool, "test", "rules", os.path.join(ROOT, "tests", "alerts.test.yml")], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, check=False)
    expect(run.returncode, 0, run.stdout)


def test_rules_and_dashboard(place):
    """the alert rules and the dashboard ask only for metrics that there are"""
    served(place, master=place.redis()).admitted()
    found = {re.sub(r"\{.*", "", key) for key in samples(body(place, "/metrics")[1])} | {
        "holdfast_master_replicated", "holdfast_certificate_end_timestamp_seconds", "holdfast_fleet_daemons"}
    for name in ("alerts.yml", "dashboard.json"):
        text = open(os.path.join(ROOT, "packaging", "monitoring", name), encoding="utf-8").read()
        asked = set(re.findall(r"\b(?:holdfast|process)_[a-z_]+", text))
        expect(len(asked) > 5, True, name)
        expect(sorted(asked - found), [], name)
        if name.endswith(".json"):
            json.loads(text)


def test_refused_daemon(place):
    """the page and the metrics of a daemon that serves tell of another one that the master refuses, and with what"""
    redis = place.redis()
    served(place, master=redis).admitted()
    expect([value for key, value in samples(body(place, "/metrics")[1]).items() if key.startswith("holdfast_master_refused_daemons{")], ["0"])
    other = place.daemon("d2", master=redis, config="clock-margin: 2s\n")
    other.output.wait("master.refused")
    why = "refuses 1 other daemon: %s on " % other.info()["run_id"][:8]
    text = harness.until("a HELLO tells", lambda: [found for found in [body(place, "/")[1]] if why in found])[0]
    for words in (": clock-margin 2000 ms, the others 1000 ms: make these settings agree", "holdfast fleet"):
        expect(words in text, True, text)
    expect([value for key, value in samples(body(place, "/metrics")[1]).items() if key.startswith("holdfast_master_refused_daemons{")], ["1"])
    expect(body(place, "/readyz")[1], "ready\n")


def test_health(place):
    """healthz says that the daemon lives, and readyz whether a lock can be had, or why not"""
    redis = place.redis()
    served(place, master=redis).admitted()
    expect(body(place, "/healthz")[1], "alive\n")
    expect(body(place, "/readyz")[1], "ready\n")
    expect(samples(body(place, "/metrics")[1])["holdfast_available"], "1")
    redis.process.kill()
    harness.until("it is seen", lambda: get(place, "/readyz")[0] == 503)
    text = harness.until("it is named", lambda: [found for found in [get(place, "/readyz")[2]] if "has been away" in found])[0]
    why = r"the master %s has been away for \d+ s: .+\n$" % re.escape(redis.socket)
    expect(re.match("no new locks: " + why, text) is not None, True, text)
    status, _, text = get(place, "/healthz")
    expect((status, re.match("alive: " + why, text) is not None), (200, True), text)
    text = body(place, "/metrics")[1]
    expect(samples(text)["holdfast_available"], "0")
    expect(samples(text)['holdfast_master_state{master="%s",state="away"}' % redis.socket], "1")


def test_guard(place):
    """while a master is guarded, readyz says for how long, and the metric says the same"""
    redis = place.redis()
    served(place, master=redis, config="lease: 30s\nrestart-guard: auto\n")
    text = harness.until("the master was sent HELLO", lambda: [
        found for found in [get(place, "/readyz")[2]] if "grants nothing new" in found])[0]
    expect(re.match(r"no new locks: the master %s has been guarded for \d+ s, and grants nothing new for \d+ s more: it "
                    r"restarted or is new, and may have forgotten leases\n$" % re.escape(redis.socket), text) is not None, True,
           text)
    found = samples(body(place, "/metrics")[1])
    left = [float(value) for key, value in found.items() if key.startswith("holdfast_master_guard_seconds")]
    harness.expect_between(left[0], 1, 32)


def test_drain(place):
    """while a drain waits for holders, readyz refuses, and the daemon still lives"""
    daemon = served(place, master=place.redis()).admitted()
    holder, admin = daemon.client(), daemon.client()
    holder("LOCK", "a")
    admin.send("DRAIN", "WAIT", 60000)
    harness.until("it drains", lambda: get(place, "/readyz")[0] == 503)
    expect("draining" in get(place, "/readyz")[2], True)
    expect(samples(body(place, "/metrics")[1])["holdfast_draining"], "1")
    expect(holder("UNLOCK", "a"), 0)
    expect(daemon.process.wait(), 0)
    expect(os.path.exists(path_of(place)), False, "the socket is left behind")


def test_lists(place):
    """locks and sessions as JSON have what holdfast ls --here --json and holdfast sessions --here --json show"""
    daemon = served(place, master=place.redis()).admitted()
    holder, waiter = daemon.client(), daemon.client()
    for name in ("a", "job/1", 'quote"\\', "üñí"):
        token = holder("LOCK", name, "WHY", "because \"so\"")
        expect(isinstance(token, int), True, repr(token))
    waiter.send("LOCK", "a", "WHY", "me too")
    daemon.queued("a")
    holder("LATCH", "l", "SET", 3)
    timeless = re.compile("_ms$|since")

    def still(items):
        return sorted(json.dumps({key: value for key, value in item.items() if not timeless.search(key)}, sort_keys=True)
                      for item in items)

    shown = json.loads(tool.call(place, daemon, "ls", "--here", "--json")[1])
    page = json.loads(body(place, "/locks.json")[1])
    expect(still(page), still(shown))
    expect([sorted(item) for item in page] != [], True)
    expect(sorted({key for item in page for key in item}), sorted({key for item in shown for key in item}))
    since = [item["since"] for item in page if item["name"] == "a"][0]
    expect(bool(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$", since)), True, since)
    sessions = json.loads(body(place, "/sessions.json")[1])
    expect(len(sessions), 2)
    expect(sorted(sessions[0]), sorted(json.loads(tool.call(place, daemon, "sessions", "--here", "--json")[1])[0]))
    expect([item["name"] for item in json.loads(body(place, "/locks.json?match=job/*")[1])], ["job/1"])
    expect([item["name"] for item in json.loads(body(place, "/locks.json?match=job%2F%3F")[1])], ["job/1"])
    expect(len(json.loads(body(place, "/locks.json?count=2")[1])), 2)
    expect(json.loads(body(place, "/locks.json?match=nothing")[1]), [])
    expect([item["name"] for item in json.loads(body(place, "/locks.json?waiting=yes")[1])], ["a"])
    lock = json.loads(body(place, "/lock.json?name=a")[1])
    expect((lock["name"], lock["holder_count"], lock["waiters"][0]["why"]), ("a", 1, "me too"))
    expect(sorted(lock), sorted(set(json.loads(tool.call(place, daemon, "show", "--here", "a", "--json")[1])) | {"cursor", "history"}))
    expect(json.loads(body(place, "/lock.json?name=job%2f1")[1])["holders"][0]["why"], 'because "so"')
    expect(json.loads(body(place, "/lock.json?name=l")[1])["kind"], "latch")
    expect(json.loads(body(place, "/lock.json?name=no")[1])["state"], "free")
    expect(get(place, "/lock.json")[0], 400)
    expect(get(place, "/lock.json?name=%0")[0], 400)
    expect(get(place, "/locks.json?count=none")[0], 400)
    for query, why in (("match=%4", "hexadecimal"), ("match=%00", "NUL"), ("match=" + "x" * 513, "512"), ("match=[a", "without its ]"),
                       ("match=a%5C", "backslash"), ("count=0", "count=")):
        status, _, text = get(place, "/locks.json?" + query)
        expect((status, why in text), (400, True), text)
    expect(body(place, "/locks.json?match=" + "%78" * 512)[1], "[\n]\n")


def test_long_list(place):
    """a list of thousands comes in pieces, whole and each lock once, while other clients are served in between"""
    daemon = served(place, master=place.redis(), config="log: { level: info }\n").admitted()
    holder = daemon.client()
    for first in range(0, 4000, 500):
        for at in range(first, first + 500):
            holder.send("LOCK", "lock-%d" % at, "WHY", "x" * 200)
        for _ in range(500):
            expect(isinstance(holder.reply(), int), True)
    answer, text = body(place, "/locks.json")
    expect(answer.getheader("Transfer-Encoding"), "chunked")
    expect(sorted(item["name"] for item in json.loads(text)), sorted("lock-%d" % at for at in range(4000)))
    # A reader that takes nothing holds no one up.
    with socket.socket(socket.AF_UNIX) as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect(path_of(place))
        slow.sendall(b"GET /locks.json HTTP/1.1\r\nHost: x\r\n\r\n")
        expect(slow.recv(100)[:15], b"HTTP/1.1 200 OK")
        expect(len(json.loads(body(place, "/locks.json")[1])), 4000)
        expect(holder("CHECK", "lock-1") > 0, True)
    # HTTP/1.0 knows no chunks: the end of the connection ends the list.
    text = raw(place, b"GET /locks.json HTTP/1.0\r\n\r\n")
    head, _, rest = text.partition("\r\n\r\n")
    expect("Transfer-Encoding" in head, False, head)
    expect(len(json.loads(rest)), 4000)


@harness.alone
def test_turns(place):
    """however many locks there are, and whatever pages are read meanwhile, no turn is long"""
    count, most = 100000 if harness.MEASURE else 20000, 10000
    daemon = served(place, master=place.redis(), config="lease: 10m\nlog: { level: info }\n").admitted()
    for first in range(0, count, most):
        holder = daemon.client()
        for at in range(first, first + most, 500):
            holder.send_raw(b"".join(b"LOCK lock-%d WAIT 50000\r\n" % name for name in range(at, at + 500)))
            for _ in range(500):
                expect(isinstance(holder.reply(), int), True)
    stop, read = threading.Event(), []

    def reader(page):
        while not stop.is_set():
            read.append(len(body(place, page)[1]))

    readers = [threading.Thread(target=reader, args=(page,)) for page in ("/locks.json", "/", "/metrics", "/sessions.json")]
    client, longest = daemon.client(), 0.0
    for one in readers:
        one.start()
    try:
        while len(read) < 12 or max(read) < count * 20:
            expect(all(one.is_alive() for one in readers), True, "a reader has failed")
            before = harness.spent(daemon.process)
            expect(client("PING"), "PONG")
            longest = max(longest, harness.spent(daemon.process) - before)
    finally:
        stop.set()
        for one in readers:
            one.join()
    # The turn that the request came in, and the one before it.
    harness.took(longest, 2 * 0.005, "work of the daemon from a request to its answer, with %d locks" % count)
    expect_between(longest, 0, 2 * 0.050)


def test_names(place):
    """on TCP names are shown only where the configuration says so, and only to who asked for the address"""
    ports = [harness.free_port() for _ in range(2)]
    served(place, "  - tcp: 127.0.0.1:%d\n  - { tcp: '127.0.0.1:%d', names: yes }\n" % tuple(ports),
           master=place.redis()).admitted()

    def tcp(port, target, headers=None):
        return ask(http.client.HTTPConnection("127.0.0.1", port, timeout=harness.PATIENCE), target, headers=headers)

    for page in ("/metrics", "/healthz", "/readyz"):
        expect(tcp(ports[0], page)[0], 200, page)
    for page in ("/locks.json", "/sessions.json", "/lock.json?name=a", "/"):
        status, _, text = tcp(ports[0], page)
        expect(status, 403, text)
        expect("names: yes" in text, True, text)
        expect(tcp(ports[1], page)[0], 200, page)
        expect(tcp(ports[1], page, {"Host": "localhost:%d" % ports[1]})[0], 200, page)
        expect(tcp(ports[1], page, {"Host": "[::1]"})[0], 200, page)
        # A page of a stranger's site may have its name point here; then the browser names that site.
        expect(tcp(ports[1], page, {"Host": "evil.example"})[0], 403, page)


def test_tls(place):
    """https: a scrape with a good certificate, none without one, what the user of the certificate sees, a renewed certificate"""
    authority, other = certificates.Authority(place), certificates.Authority(place, "other")
    certificate, key = authority.issue("daemon")
    plain, named, logged = [harness.free_port() for _ in range(3)]
    users = "users:\n  - { name: ops, password-env: SECRET, may: [see] }\n  - { name: app, password-env: SECRET, may: [lock] }\n"
    items = ("  - { tcp: '127.0.0.1:%d', tls: { certificate: %s, key: %s } }\n"
             "  - { tcp: '127.0.0.1:%d', names: yes, tls: { certificate: %s, key: %s } }\n"
             "  - { tcp: '127.0.0.1:%d', names: yes, tls: { certificate: %s, key: %s, client-ca: %s, client-login: yes } }\n" % (
                 plain, certificate, key, named, certificate, key, logged, certificate, key, authority.ca))
    daemon = served(place, items, master=place.redis(), config=users, environment={"SECRET": "x"}).admitted()
    holder = daemon.client()
    for at in range(3000):
        holder.send("LOCK", "lock-%d" % at, "WHY", "x" * 200)
    for _ in range(3000):
        expect(isinstance(holder.reply(), int), True)

    def https(port, target, mine=None, trusted=authority, headers=None):
        context = ssl.create_default_context(cafile=trusted.ca)
        if mine:
            context.load_cert_chain(*mine)
        return ask(http.client.HTTPSConnection("127.0.0.1", port, timeout=harness.PATIENCE, context=context), target,
                   headers=headers)

    status, answer, text = https(plain, "/metrics", headers={"Accept": OPENMETRICS})
    expect((status, answer.getheader("Content-Type").split(";")[0]), (200, OPENMETRICS))
    openmetrics(text)
    for file in (certificate, authority.ca):
        expect_between(float(samples(text)['holdfast_certificate_end_timestamp_seconds{file="%s"}' % file]),
                       time.time() + 3649 * 86400, time.time() + 3651 * 86400)
    expect(https(plain, "/readyz")[2], "ready\n")
    expect(https(plain, "/locks.json")[0], 403)
    # The browser has checked the name, so any name of the host will do.
    expect(len(json.loads(https(named, "/locks.json", headers={"Host": "holdfast.example"})[2])), 3000)
    expect(https(named, "/")[2].rstrip().endswith("</html>"), True)
    try:
        https(plain, "/metrics", trusted=other)
        raise AssertionError("a certificate of another authority was taken")
    except ssl.SSLCertVerificationError:
        pass
    # The certificate of a client says who it is.
    ops, app, nobody = [authority.issue(name) for name in ("ops", "app", "nobody")]
    expect(len(json.loads(https(logged, "/locks.json", ops)[2])), 3000)
    # It may see, and all names: so all hosts, as with FLEET. Without a login that takes fleet: yes.
    expect([json.loads(https(*to)[2])["more"] for to in ((logged, "/top.json", ops), (named, "/top.json"))], [True, False])
    for mine, text in ((app, "add see to its may:"), (nobody, "your certificate names no user")):
        status, _, said = https(logged, "/locks.json", mine)
        expect((status, text in said), (403, True), said)
        expect(https(logged, "/metrics", mine)[0], 200)
    audited = [(event, dict(re.findall(r"(\w+)=(\S+)", rest))) for event, rest in re.findall(
        r" (client\.login) (.*over=http.*)$", daemon.output.text(), re.M)]
    expect([(event, who["user"], who["with"], who["result"]) for event, who in audited],
           [("client.login", name, "certificate", "ok") for name in ("ops", "ops", "app", "app")], repr(audited))
    expect([who for _, who in audited if not re.match(r"127\.0\.0\.1:\d+$", who["address"])], [])
    for mine in (None, other.issue("ops")):
        try:
            https(logged, "/metrics", mine)
            raise AssertionError("a client without a good certificate was served")
        except (ssl.SSLError, ConnectionError, http.client.HTTPException):
            pass
    # Who speaks no TLS gets nothing; nor does TLS at a plain port.
    with socket.create_connection(("127.0.0.1", plain)) as client:
        client.settimeout(harness.PATIENCE)
        client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        try:
            expect(b"HTTP/" in client.recv(4096), False)
        except ConnectionResetError:
            pass
    found = samples(body(place, "/metrics")[1])
    expect(float(found["holdfast_tls_handshakes_total"]) >= 8 and float(found["holdfast_tls_failures_total"]) >= 2, True, repr(
        {key: value for key, value in found.items() if "_tls_" in key}))
    # A reload takes the files as they are then.
    fresh = other.issue("daemon")
    for new, old in zip(fresh, (certificate, key)):
        os.replace(new, old)
    expect(isinstance(daemon.client()("RELOAD"), str), True)
    expect(https(plain, "/healthz", trusted=other)[2], "alive\n")


class Events:
    """A stream of /events, as a browser reads it."""

    def __init__(self, place):
        self.connection = Connection(path_of(place))
        self.connection.request("GET", "/events")
        self.answer = self.connection.getresponse()
        place.ends.append(self.end)

    def end(self):
        self.answer.close()
        self.connection.close()

    def any(self):
        """Kind and data of the next event; None, None: the stream has ended."""
        kind = None
        while True:
            line = self.answer.readline()
            if not line:
                return None, None
            if line.startswith(b"event: "):
                kind = line[7:].strip().decode()
            if line.startswith(b"data: "):
                return kind, json.loads(line[6:].decode())

    def next(self, kind):
        """The data of the next event of this kind; None: the stream has ended."""
        while True:
            found, data = self.any()
            if found in (kind, None):
                return data

    def note(self, event):
        while True:
            note = self.next("note")
            if note is None or note["event"] == event:
                return note


def test_events(place):
    """a browser sees a loss and a break at once, the state each second, and what happened before it came"""
    daemon = served(place, master=place.redis()).admitted()
    events = Events(place)
    expect(events.answer.status, 200)
    expect(events.answer.getheader("Content-Type"), "text/event-stream")
    state = events.next("state")
    expect((state["available"], state["service"], len(state["masters"])), (1, "serving", 1))
    expect(state["masters"][0]["state"], "admitted")
    holder, admin = daemon.client(), daemon.client()
    holder("SESSION", "ONLOSS", "NEXT")
    token = holder("LOCK", "a-b", "OWNER", 'o"1"')
    expect(admin("BREAK", "a-b", "TOKEN", token) >= 0, True)
    note = events.note("lock.lost")
    expect((note["name"], note["owner"], note["token"], note["text"]), ("a-b", 'o"1"', token, "broken"))
    expect(events.next("state")["lost"], 1)
    expect(holder("LOCK", "c", "LEASE", 20) > 0, True)
    expect(events.note("lock.lost")["text"], "lease")
    late = Events(place)
    expect([late.note("lock.lost")["text"] for _ in range(2)], ["broken", "lease"])
    expect(body(place, "/")[1].count("lock.lost"), 2)
    # A stream goes on through a reload, ends with the process, and there are so many of them.
    many = [Events(place) for _ in range(7)]
    expect([one.answer.status for one in many], [200] * 6 + [503])
    many[0].end()
    harness.until("there is room", lambda: Events(place).answer.status == 200)
    admin("RELOAD")
    expect(events.next("state")["lost"], 2)
    expect(isinstance(admin("RESTART"), list), True)
    expect(events.note("nothing"), None)


def test_page(place):
    """the status page can be read without scripts, and shows no name as HTML"""
    daemon = served(place, master=place.redis()).admitted()
    client = daemon.client()
    client("CLIENT", "SETNAME", "<i>")
    name = "<b>&\"'"
    expect(client("LOCK", name, "WHY", "</table><script>alert(1)</script>") > 0, True)
    expect(client("LOCK", "other") > 0, True)
    answer, text = body(place, "/")
    expect(answer.getheader("Content-Type"), "text/html; charset=utf-8")
    expect("default-src 'none'" in answer.getheader("Content-Security-Policy"), True)
    expect("&lt;b&gt;&amp;&quot;&#39;" in text, True)
    # Without its script it says which daemon this is, and when something happened.
    about = re.search(r'<span id="about">([^<]*)</span>', text).group(1)
    expect(about.startswith(socket.gethostname() + ", ") and about.endswith(", namespace holdfast"), True, about)
    for event in ("master.admitted", "masters.agreed"):
        expect(re.search(r"<li>\d\d:\d\d:\d\dZ %s [^<]*</li>" % event, text) is not None, True, event + text)
    expect("at_ms=" in text.split("<script")[0], False)
    expect(text.count("<script"), 1)
    expect("<i>" in text or "<b>&" in text, False)
    expect(re.search(r'<b id="held">(\d+)</b>', text).group(1), "2")
    expect("serving" in text and ">admitted<" in text, True)
    expect(text.rstrip().endswith("</html>"), True)
    text = body(place, "/?match=oth*")[1]
    expect((">other<" in text, "&lt;b&gt;" in text), (True, False))
    expect("http" in re.sub(r"<title>.*", "", text).replace("http-equiv", ""), False, "loads nothing from elsewhere")


def test_many_losses(place):
    """when thousands of locks are lost at once, a browser is told some of them, and of the rest their number"""
    redis = place.redis()
    daemon = served(place, master=redis, config=harness.BRISK).admitted()
    events = Events(place)
    holder = daemon.client()
    holder("SESSION", "ONLOSS", "NEXT")
    for at in range(3000):
        holder.send("LOCK", "lock-%d" % at)
    for _ in range(3000):
        expect(isinstance(holder.reply(), int), True)
    redis.process.kill()
    reasons = []
    kind, data = events.any()
    while kind != "state" or data["lost"] != 3000:
        if kind == "note" and data["event"] == "lock.lost":
            reasons.append(data["text"])
        kind, data = events.any()
    # Fifty in a second, and the loss of all takes far less than ten.
    expect(set(reasons), {"expired"})
    harness.expect_between(len(reasons), 20, 500)
    expect(20 <= body(place, "/")[1].count("lock.lost") <= 100, True)
    expect(samples(body(place, "/metrics")[1])['holdfast_losses_total{reason="expired"}'], "3000")


def test_refused(place):
    """what is no request of a page is refused in words, and nothing can be changed"""
    daemon = served(place, master=place.redis()).admitted()
    expect(get(place, "/nothing")[0], 404)
    status, answer, _ = get(place, "/metrics", method="POST")
    expect((status, answer.getheader("Allow")), (405, "GET, HEAD"))
    status, answer, text = get(place, "/metrics", method="HEAD")
    expect((status, text), (200, ""))
    expect(int(answer.getheader("Content-Length")) > 1000, True)
    for request, status in ((b"LOCK a\r\n", 400), (b"*1\r\n$4\r\nPING\r\n", 400), (b"GET /\r\n", 400),
                            (b"GET http://x/ HTTP/1.1\r\n\r\n", 400), (b"GET / HTTP/2.0\r\n\r\n", 400),
                            (b"GET /\x00 HTTP/1.1\r\n\r\n", 400), (b"GET /healthz HTTP/1.1\r\nno header\r\n\r\n", 400),
                            (b"GET /healthz HTTP/1.1\n\n", 200), (b"GET /healthz HTTP/1.1\r\n" + b"a: b\r\n" * 1300 + b"\r\n", 200),
                            (b"GET /" + b"x" * 9000, 431)):
        text = raw(place, request)
        expect(text.startswith("HTTP/1.1 %d " % (431 if len(request) > 8192 else status)), True, repr((request[:40], text)))
    expect(raw(place, b"GET /healthz HT", shut=True), "")
    expect(daemon.info()["locks_granted"], "1")


def test_crowd(place):
    """connections that say nothing, or do not read, keep no one out, and are closed in time"""
    served(place, master=place.redis()).admitted()
    silent = []
    for _ in range(200):
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(harness.PATIENCE)
        client.connect(path_of(place))
        client.sendall(b"GET /heal")
        silent.append(client)
        if len(silent) % 50 == 0:
            expect(get(place, "/healthz")[0], 200)
    # The latest of them stay until their time for a request is over.
    for client in silent:
        try:
            expect(client.recv(100), b"")
        except ConnectionResetError:
            pass
        client.close()
    expect(get(place, "/healthz")[0], 200)


def test_users_of_lock(place):
    """/lock.json names the user of each holder and waiter, and INSPECT stays as it was"""
    path = os.path.join(place.path, "password")
    with open(path, "w", encoding="ascii") as stream:
        stream.write("secret\n")
    daemon = served(place, master=place.redis(), tcp=True, config="users: [ { name: ops, password-file: %s, may: [ lock, see ] } ]\n"
                    % path).admitted()
    ops, local = daemon.client(tcp=True), daemon.client(form=3)
    expect(ops("AUTH", "ops", "secret"), "OK")
    expect(isinstance(ops("LOCK", "a"), int), True)
    waiter = daemon.client()
    waiter.send("LOCK", "a")
    daemon.queued("a")
    lock = json.loads(body(place, "/lock.json?name=a")[1])
    expect([[one["user"] for one in lock[part]] for part in ("holders", "waiters")] + [lock["holder"]["user"]], [["ops"], [""], "ops"])
    expect(["user" in one for one in local("INSPECT", "a")["holders"]], [False])


def test_all_hosts(place):
    """/top.json and /lock.json are about all hosts for administrators, and where the configuration says so; elsewhere about this one"""
    redis, ports = place.redis(), [harness.free_port() for _ in range(2)]
    first = served(place, "  - { tcp: '127.0.0.1:%d', names: yes, fleet: yes }\n  - { tcp: '127.0.0.1:%d', names: yes }\n" % tuple(ports),
                   master=redis).admitted()
    second = place.daemon("d2", master=redis).admitted()
    holders = [daemon.client() for daemon in (first, second)]
    for holder, name in zip(holders, ("here", "there")):
        expect((isinstance(holder("LOCK", name), int), holder("UNLOCK", name), isinstance(holder("LOCK", name), int)), (True, 0, True))
    with first.client(3) as client:
        harness.until("both are known", lambda: [one["answers"] for one in client("FLEET")] == [1, 1])

    def page(to, path):
        connection = Connection(path_of(place)) if to is place else http.client.HTTPConnection("127.0.0.1", to, timeout=harness.PATIENCE)
        status, _, text = ask(connection, path)
        return status, json.loads(text)

    def whole(to, path, key):
        return harness.until("the hosts have answered", lambda: [
            answer for _, answer in [page(to, path)] if answer["age_ms"] is not None and answer[key] is not None])[0]
    for to in (place, ports[0]):
        top = whole(to, "/top.json", "hosts")
        expect((top["fleet"], sorted(lock["name"] for lock in top["locks"]), len(top["hosts"]), top["silent"]), (True, ["here", "there"], 2, []))
        expect([lock["name"] for lock in whole(to, "/top.json?match=th*", "hosts")["locks"]], ["there"])
        expect(page(to, "/top.json?hosts=one")[1]["fleet"], False)
        lock = whole(to, "/lock.json?name=there&hosts=all", "history")
        expect((lock["lock"]["state"], [len(host["holders"]) for host in lock["lock"]["hosts"]], [hold["end"] for hold in lock["history"]]),
               ("held", [1], ["released"]))
        expect("user" in lock["lock"]["hosts"][0]["holders"][0], True)
    status, top = page(ports[1], "/top.json")
    expect((status, top["fleet"], top["more"], [lock["name"] for lock in top["locks"]]), (200, False, False, ["here"]))
    expect(page(ports[1], "/lock.json?name=there&hosts=all")[0], 403)
    expect([hold["end"] for hold in page(ports[1], "/lock.json?name=here")[1]["history"]], ["released"])
    expect(page(ports[1], "/top.json?waiting=yes")[1]["locks"], [])
    expect(get(place, "/top.json?hosts=some")[0], 400)
    second.process.stop()
    harness.until("it is named", lambda: page(ports[0], "/top.json")[1]["silent"])
    second.process.cont()


def test_order(place):
    """order=age: of many locks those that are waited for longest, and then those that are held longest"""
    daemon = served(place, master=place.redis()).admitted()
    holders = [daemon.client() for _ in range(2)]
    for at in range(0, 1500, 50):
        names = ["n%04d" % number for number in range(at, at + 50)]
        expect(isinstance(holders[at % 100 // 50]("MLOCK", 50, *names), list), True)
        # Ages are in milliseconds.
        harness.until("the others are younger", lambda began=harness.boottime(): harness.boottime() > began + 0.002)
    for name in ("n1400", "n0100", "n1499"):
        daemon.client().send("LOCK", name)
        daemon.queued(name)
        harness.until("the next one waits less long", lambda began=harness.boottime(): harness.boottime() > began + 0.05)

    def listed(query):
        return json.loads(body(place, "/locks.json?order=age" + query)[1])

    first = [item["name"] for item in listed("&count=53")]
    expect((first[:3], sorted(first[3:])), (["n1400", "n0100", "n1499"], ["n%04d" % number for number in range(50)]))
    every = listed("")
    expect(len(every), 1000)
    taken = [int(item["name"][1:]) // 50 for item in every[3:]]
    expect(taken, sorted(taken), "the oldest first")
    expect([item["name"] for item in listed("&waiting=yes")], first[:3])
    expect([item["name"] for item in listed("&match=n14*&count=1")], ["n1400"])
    expect(listed("&match=nothing"), [])
    expect(get(place, "/locks.json?order=name")[0], 400)
    rows = re.findall(r"<tr><td data-label=\"name\">(n\d+)<", body(place, "/")[1])
    expect((len(rows), rows[:3]), (200, first[:3]))


def test_slow_readers(place):
    """clients that take a long answer byte by byte leave places for health, and are closed for it"""
    daemon = served(place, master=place.redis()).admitted()
    holder = daemon.client()
    for at in range(0, 2000, 50):
        holder("MLOCK", 50, *("n%d%s" % (at + i, "y" * 480) for i in range(50)))
    expect(int(daemon.info()["locks_granted"]) >= 2000, True)
    slow = []
    for _ in range(60):
        client = socket.socket(socket.AF_UNIX)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        client.settimeout(harness.PATIENCE)
        client.connect(path_of(place))
        client.sendall(b"GET /locks.json HTTP/1.0\r\n\r\n")
        # It takes its answer: one whose request has not been read yet gives its place up.
        expect(client.recv(1), b"H")
        slow.append(client)
        if len(slow) % 5 == 0:
            for page in ("/healthz", "/readyz"):
                expect(get(place, page)[0], 200, page)
    expect(get(place, "/locks.json")[0], 503)
    # None stops reading, but each takes 3 kB/s, which is less than it has to, and loses its place.
    begun, taken = time.monotonic(), 0

    def room():
        nonlocal taken
        more = int((time.monotonic() - begun) * 3000) - taken
        taken += more
        for client in slow:
            try:
                client.recv(more or 1)
            except OSError:
                pass
        expect(get(place, "/healthz")[0], 200)
        return get(place, "/locks.json")[0] == 200

    harness.until("the slow ones have lost their places", room)
    for client in slow:
        client.close()


def test_reload(place):
    """a reload opens and closes the sockets of HTTP, and one that cannot be opened changes nothing"""
    daemon = served(place, master=place.redis()).admitted()
    other = os.path.join(place.path, "other")
    client = daemon.client()
    daemon.configure("http: [ { unix: %s, mode: '0600' } ]\n" % other)
    expect("http[0].unix" in client("RELOAD"), True)
    expect(os.path.exists(path_of(place)), False)
    expect(ask(Connection(other), "/healthz")[0], 200)
    expect(os.stat(other).st_mode & 0o777, 0o600)
    daemon.configure("http: [ { unix: /nowhere/at/all } ]\n")
    answer = client("RELOAD")
    expect("/nowhere/at" in answer, True, answer)
    expect(ask(Connection(other), "/healthz")[0], 200)
    daemon.configure("")
    client("RELOAD")
    expect(os.path.exists(other), False)


def test_no_place_for_the_socket(place):
    """a daemon that cannot open its HTTP socket says so and serves locks all the same; a reload tries again"""
    folder = os.path.join(place.path, "late")
    path = os.path.join(folder, "deeper", "http")
    daemon = place.daemon(master=place.redis(), config="http: [ { unix: %s } ]\n" % path).admitted()
    daemon.output.wait(r"error http\.failed why=.*%s" % re.escape(folder))
    client = daemon.client()
    expect(client("LOCK", "a") > 0, True)
    harness.expect_code(client("RELOAD"), "ERR")
    os.makedirs(os.path.dirname(path))
    expect(client("RELOAD").startswith("reloaded"), True)
    expect(ask(Connection(path), "/readyz")[0], 200)
    expect(client("CHECK", "a") > 0, True)


def test_hand_over(place):
    """a hand-over takes the sockets along, so a scraper that connects meanwhile waits for the next process"""
    daemon = served(place, master=place.redis()).admitted()
    client = daemon.client()
    before = samples(body(place, "/metrics")[1])
    made = socket_of(place)
    expect(isinstance(client("RESTART"), list), True)
    expect(socket_of(place), made, "another socket")
    after = samples(body(place, "/metrics")[1])
    expect(after["holdfast_handovers_total"], "1")
    expect(float(after["holdfast_locks_granted_total"]) >= float(before["holdfast_locks_granted_total"]), True)
    expect(after["process_start_time_seconds"][:10] == before["process_start_time_seconds"][:10] or
           abs(float(after["process_start_time_seconds"]) - float(before["process_start_time_seconds"])) < 1, True)


def test_hand_over_by_service_manager(place):
    """the service manager keeps the sockets of HTTP over a restart, with those of lock clients"""
    daemon = place.idle_daemon(master=place.redis(), config="http: [ { unix: %s } ]\n" % path_of(place))
    manager = Manager(daemon)
    manager.start()
    daemon.admitted()
    client = daemon.client()
    token = client("LOCK", "a")
    made = socket_of(place)
    manager.restart()
    expect(client("CHECK", "a") > 0, True)
    expect(isinstance(token, int), True, repr(token))
    expect(socket_of(place), made, "another socket")
    found = samples(body(place, "/metrics")[1])
    expect((found["holdfast_handovers_total"], found["holdfast_locks_held"]), ("1", "1"))
    manager.kill()


if __name__ == "__main__":
    harness.main(globals())
