#!/usr/bin/env python3
"""The status page in a browser, as people see it: a headless Chromium. HOLDFAST_SCREENSHOTS=DIRECTORY keeps what it shows."""

import base64
import json
import os
import shutil
import signal

import check_fleet
import check_longest
import harness
from harness import Skip, expect, expect_between

WIDE, NARROW = (1280, 900), (380, 800)


class Browser:
    """Speaks the DevTools protocol with a Chromium over a pair of pipes: messages of JSON, each with a NUL behind it."""

    def __init__(self, place):
        program = shutil.which("chromium") or shutil.which("chromium-browser")
        if program is None:
            raise Skip("chromium is not installed (Debian: chromium)")
        theirs, self.to = os.pipe()
        self.from_, ours = os.pipe()
        self.place, self.rest, self.number, self.session = place, b"", 0, None
        folder = os.path.join(place.path, "chromium")
        self.process = place.run(
            "bash", "-c", 'exec "$@" 3<&%d 4>&%d' % (theirs, ours), "bash", program, "--headless", "--no-sandbox", "--disable-gpu",
            "--disable-dev-shm-usage", "--no-first-run", "--remote-debugging-pipe", "--user-data-dir=" + folder, "about:blank",
            pass_fds=(theirs, ours), environment={"HOME": place.path, "TMPDIR": place.path}, start_new_session=True)
        for fd in (theirs, ours):
            os.close(fd)
        place.ends.append(self.end)
        target = self("Target.createTarget", url="about:blank")["targetId"]
        self.session = self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self("Page.enable")

    def end(self):
        for fd in (self.to, self.from_):
            os.close(fd)
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()

    def message(self):
        while b"\0" not in self.rest:
            piece = os.read(self.from_, 1 << 16)
            if not piece:
                raise AssertionError("the browser has ended:\n" + self.process.output.tail())
            self.rest += piece
        text, _, self.rest = self.rest.partition(b"\0")
        return json.loads(text)

    def __call__(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise AssertionError("%s: %r" % (method, answer["error"]))
                return answer["result"]

    def open(self, url, size=WIDE, script=True):
        self("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=size[0] < 500)
        self("Emulation.setScriptExecutionDisabled", value=not script)
        self("Page.navigate", url=url)

    def value(self, expression):
        """Of JavaScript, which sees the page also if the page may run none of its own."""
        return self("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def until(self, what, expression):
        return harness.until(what, lambda: self.value(expression))

    def keep(self, name):
        folder = os.environ.get("HOLDFAST_SCREENSHOTS")
        if folder:
            with open(os.path.join(folder, name + ".png"), "wb") as stream:
                stream.write(base64.b64decode(self("Page.captureScreenshot", format="png")["data"]))


ROWS = "document.querySelectorAll('#locks tr').length"
OVER = "document.documentElement.scrollWidth - window.innerWidth"


def served(place):
    port, redis = harness.free_port(), place.redis()
    daemon = place.daemon(master=redis, config="http: [ { tcp: '127.0.0.1:%d', names: yes } ]\nlog: { level: info }\n" % port)
    return daemon.admitted(), redis, "http://127.0.0.1:%d/" % port


def hold(daemon, first, end):
    client = daemon.client()
    for start in range(first, end, 500):
        part = range(start, min(start + 500, end))
        client.send_raw(b"".join(b"LOCK job/%d WHY release WAIT 50000\r\n" % at for at in part))
        for _ in part:
            expect(isinstance(client.reply(), int), True)
    return client


def test_page(place):
    """three locks, 300 and many: the page lists them, also on a narrow screen and without its script, and nothing sticks out"""
    browser = Browser(place)
    daemon, _, url = served(place)
    waiter = daemon.client()
    held, holders = 0, []
    for count in (3, 300, 50000 if harness.MEASURE or os.environ.get("HOLDFAST_SCREENSHOTS") else 3000):
        while held < count:
            end = min(count, held + 10000)
            holders.append(hold(daemon, held, end))
            held = end
        if count == 3:
            waiter.send("LOCK", "job/1", "WHY", "the next release")
            daemon.queued("job/1")
        for size, word in ((WIDE, "wide"), (NARROW, "narrow")):
            browser.open(url, size)
            browser.until("all is there", "document.getElementById('held').textContent.replace(/\\D/g, '') === '%d' && %s >= %d" % (
                count, ROWS, min(count, 500)))
            expect_between(browser.value(ROWS), min(count, 500), 501)
            browser.until("the lock with a waiter is first", "document.querySelector('#locks tr td').textContent === 'job/1'")
            if count > 500:
                browser.until("it says of how many", "document.getElementById('shown').textContent.replace(/[,.]/g, '').includes("
                              "' shown %d locks are held: ')" % count)
            expect(browser.value(OVER) <= 0, True, "%d locks, %s: it sticks out" % (count, word))
            browser.keep("page-%d-%s" % (count, word))
        browser.open(url, NARROW, script=False)
        browser.until("the table is there", "%s === %d" % (ROWS, min(count, 200)))
        expect(browser.value(OVER) <= 0, True, "%d locks, without script: it sticks out" % count)
        browser.keep("page-%d-without-script" % count)


def test_all_hosts(place):
    """a page of which the configuration says so shows the locks of all hosts, the longest wait first; a dialog has what is held and waited
    for on another host, and what was before; a host that stands still is named; one host can be looked at alone"""
    browser, redis = Browser(place), place.redis()
    port, other_port = harness.free_port(), harness.free_port()
    daemons = [check_fleet.named(place, 1, redis, "http: [ { tcp: '127.0.0.1:%d', names: yes, fleet: yes }, { tcp: '127.0.0.1:%d', names: yes } ]\n"
                                 % (port, other_port)), check_fleet.named(place, 2, redis), check_fleet.named(place, 3, redis)]
    for daemon in daemons:
        check_fleet.everybody(daemon.admitted(), 3)
    holders = [daemon.client() for daemon in daemons]
    for at, holder in enumerate(holders):
        holder("CLIENT", "SETNAME", "deploy-%d" % at)
        expect(isinstance(holder("LOCK", "job/%d" % at, "WHY", "release 41"), int), True)
        expect((holder("UNLOCK", "job/%d" % at), isinstance(holder("LOCK", "job/%d" % at, "WHY", "release 42"), int)), (0, True))
    waiters = [check_longest.wait_for(daemons[at], "job/%d" % at) for at in (2, 1)] + [check_longest.wait_for(daemons[0], "job/2")]
    expect(len(waiters), 3)
    names = "[...document.querySelectorAll('#locks tr')].map(tr => tr.children[0].textContent + ' ' + tr.children[1].textContent).join()"
    url, hosts = "http://127.0.0.1:%d/" % port, [daemon.host for daemon in daemons]
    for size, word in ((WIDE, "wide"), (NARROW, "narrow")):
        for dark in (False, True):
            browser("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
            browser.open(url, size)
            browser.until("the locks of all hosts are shown", "%s === 'job/2 %s,job/1 %s,job/2 %s,job/0 %s'" % (
                names, hosts[2], hosts[1], hosts[0], hosts[0]))
            expect(browser.value("document.querySelectorAll('#hosts tr').length"), 3)
            expect(browser.value(OVER) <= 0, True, "%s: it sticks out" % word)
            browser.keep("fleet-%s%s" % (word, "-dark" if dark else ""))
            browser.value("document.querySelector('#locks tr').click()")
            browser.until("the dialog is open", "document.getElementById('one').open")
            text = browser.value("document.querySelector('#one div').textContent")
            expect([what for what in ("Holders: 1", "Waiting, in order: 2", "deploy-2", "release 42", "Held before", "release 41", "surely for s", "token",
                                      "since", "until") if what not in text], [], text)
            browser.keep("fleet-lock-%s%s" % (word, "-dark" if dark else ""))
            browser.value("document.getElementById('one').close()")
    browser.open(url)
    browser.until("all are there", "document.querySelectorAll('#locks tr').length === 4")
    daemons[1].process.stop()
    browser.until("the one that stands still is named", "/%s.*no answer/.test(document.querySelector('#hosts tr.bad').textContent)" % hosts[1])
    browser.until("the others are shown", "%s === 'job/2 %s,job/2 %s,job/0 %s'" % (names, hosts[2], hosts[0], hosts[0]))
    browser.keep("fleet-silent")
    daemons[1].process.cont()
    browser.until("it is there again", "document.querySelectorAll('#locks tr').length === 4")
    browser.value("document.querySelector('[name=every]').click()")
    browser.until("this host alone is shown", "%s === 2 && !document.body.classList.contains('fleet')" % ROWS)
    browser.open("http://127.0.0.1:%d/" % other_port)
    browser.until("where nothing says so, it is this host", "%s === 2 && document.getElementById('link').textContent === 'live'" % ROWS)
    expect(browser.value("getComputedStyle(document.getElementById('every')).display"), "none")


def test_live(place):
    """who looks at the page sees a break, a loss, and a master that goes away, without asking for it anew"""
    browser = Browser(place)
    daemon, redis, url = served(place)
    holder, admin = daemon.client(), daemon.client()
    holder("SESSION", "ONLOSS", "NEXT")
    browser.open(url)
    browser.until("it is live", "document.getElementById('link').textContent === 'live'")
    token = holder("LOCK", "deploy", "WHY", "release 42")
    browser.until("the lock is shown", "document.querySelector('#locks tr[data-name=deploy]') !== null")
    admin("BREAK", "deploy", "TOKEN", token)
    events = "document.getElementById('events').textContent"
    browser.until("the break is shown", "/lock.lost .*name=deploy.* text=broken/.test(%s)" % events)
    holder("LOCK", "short", "LEASE", 50)
    browser.until("the loss is shown", "/lock.lost .*name=short.* text=lease/.test(%s)" % events)
    browser.until("both are counted", "document.getElementById('lost').textContent === '2'")
    browser.keep("live-lost")
    holder("LOCK", "other")
    # One click: the dialog shows the lock that was asked for last.
    browser.until("a lock is clicked", "(() => { const tr = document.querySelector('#locks tr[data-name=other]'); "
                  "if (tr) tr.click(); return tr !== null; })()")
    browser.until("it is open", "document.getElementById('one').open")
    dialog = "document.querySelector('#one div').textContent"
    expect([word for word in ("token", "since", "surely for s", "session", "pid") if word not in browser.value(dialog)], [])
    other = daemon.client()
    other.send("LOCK", "other", "WHY", "the one that waits")
    browser.until("the dialog shows a wait that began since", "/Waiting, in order: 1.*the one that waits/.test(%s)" % dialog)
    browser.keep("live-one")
    browser.value("document.getElementById('one').close()")
    redis.kill()
    browser.until("the master is named", "/no new locks: the master .* has been away for \\d+ s/.test("
                  "document.getElementById('service').textContent)")
    expect(browser.value("document.getElementById('service').className"), "bad")
    browser.keep("live-away")


def test_hung(place):
    """a daemon that hangs is no longer live and serving, and a name of 200 bytes leaves the other columns where they are"""
    browser = Browser(place)
    daemon, _, url = served(place)
    holder = daemon.client()
    expect(isinstance(holder("LOCK", "job/" + 196 * "x"), int), True)
    browser.open(url)
    browser.until("the lock is shown", ROWS + " === 1")
    width = browser.value("document.querySelector('#locks td').offsetWidth / document.getElementById('list').offsetWidth")
    expect_between(width, 0.1, 0.3, "the share of the name")
    browser.keep("long-name")
    daemon.process.stop()
    browser.until("it says that it is not answered", "/no answer for \\d+ s/.test(document.getElementById('link').textContent)")
    expect(browser.value("document.getElementById('service').className"), "bad")
    browser.keep("hung")
    daemon.process.cont()
    browser.until("it is live again", "document.getElementById('link').textContent === 'live'")
    expect(browser.value("document.getElementById('service').className"), "good")


if __name__ == "__main__":
    harness.main(globals())
