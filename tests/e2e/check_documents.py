#!/usr/bin/env python3
"""What the documents for newcomers show is what happens: each console block of doc/*.md is typed into shells, and what they
print is compared.

A block is of the form that a terminal shows:

    one$ holdfast run deploy -- sleep 60      a command in the terminal `one`; plain `$ ` is a terminal, too
    > ...                                     its next line
    deploy is taken                           what it prints

All blocks of a section (`## `) share their terminals and their directory, and those of a document a daemon with a
private Redis. Numbers are only compared as numbers, but the one of a line `status 76` is exact. A line `...` stands
for any lines. What a command prints first is awaited before the next command; its end only before the next one of the
same terminal. A `sleep` ends with the section, or when a terminal that waits for a lock is to type something else: so
the speed of the machine does not matter."""

import contextlib
import glob
import hashlib
import http.server
import os
import re
import shutil
import signal
import subprocess
import sys
import threading

import harness
import oncall
from harness import expect

FOLDER = os.path.join(harness.ROOT, "doc")
RESULTS = os.path.join(harness.ROOT, "doc", "bench")
PYTHON = os.path.join(harness.ROOT, "client", "python")
PROMPT = re.compile(r"^(?:(\w+))?\$ (.*)$")
END = "-- end of the command"
SLEEP = """#!/bin/sh
until [ -e "$GATE" ]; do /bin/sleep 0.02; done
"""


def sections(path, language):
    """(title, blocks) of the sections that have blocks of this language."""
    with open(path, encoding="utf-8") as stream:
        parts = re.split(r"^## ", stream.read(), flags=re.M)
    for part in parts:
        blocks = re.findall(r"^```%s\n(.*?)^```" % language, part, re.S | re.M)
        if blocks:
            yield part.split("\n", 1)[0], blocks


def commands(block):
    """(terminal, command, lines that it prints)"""
    found = []
    for line in block.splitlines():
        prompt = PROMPT.match(line)
        if prompt:
            found.append((prompt.group(1) or "", prompt.group(2), []))
        elif line.startswith("> ") and found and not found[-1][2]:
            terminal, command, printed = found[-1]
            found[-1] = (terminal, command + "\n" + line[2:], printed)
        else:
            found[-1][2].append(line)
    return found


def pattern(line):
    """What the line matches: numbers match numbers, and blanks any blanks."""
    if line.startswith("status "):
        return "^%s$" % re.escape(line)
    words = re.sub(r"[0-9]+(\.[0-9]+)?", "0", line).split()
    return r"^\s*%s\s*$" % r"\s+".join(re.escape(word).replace("0", r"[0-9]+(?:\.[0-9]+)?") for word in words)


def same(shown, printed):
    """Whether these lines were printed; `...` stands for any lines."""
    if not shown:
        return not printed
    if shown[0] == "...":
        return any(same(shown[1:], printed[n:]) for n in range(len(printed) + 1))
    return bool(printed) and bool(re.search(pattern(shown[0]), printed[0])) and same(shown[1:], printed[1:])


class Terminal:
    """A shell that is typed into, one command after the end of the one before."""

    def __init__(self, place, daemon, folder, name, environment):
        self.gate = os.path.join(place.path, "gate-" + name)
        paths = [place.path, os.path.dirname(harness.HOLDFASTD), os.environ["PATH"]]
        self.process = place.run(
            "sh", "-c", "cd \"$1\"; exec sh 2>&1", "sh", folder, stdin=subprocess.PIPE, start_new_session=True,
            environment={"HOLDFAST_URL": daemon.socket, "PATH": ":".join(paths), "GATE": self.gate,
                         "PYTHONPATH": PYTHON, "HOME": folder, "LC_ALL": "C.UTF-8", **environment})
        self.number = 0
        self.running = None  # (command, lines that it prints, where these begin)

    def type(self, command, shown):
        self.finish()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.gate)
        self.number += 1
        self.running = (command, shown, self.process.output.mark())
        self.process.process.stdin.write(("%s\necho '%s' %d\n" % (command, END, self.number)).encode())
        self.process.process.stdin.flush()

    def waits(self):
        """Whether its command waits for a lock of another terminal."""
        shown = self.running[1] if self.running else []
        return bool(shown) and shown[0].startswith("holdfast: waiting for")

    def wake(self):
        with open(self.gate, "w", encoding="utf-8"):
            pass

    def end(self):
        return "^%s %d$" % (END, self.number)

    def await_shown(self):
        """Waits for the first line that the command prints, or for its end."""
        lines = [line for line in self.running[1] if line != "..."]
        self.process.output.wait("%s|%s" % (pattern(lines[0]), self.end()) if lines else self.end(), self.running[2])

    def finish(self):
        """Waits for the end of the command, and compares."""
        if self.running is None:
            return
        command, shown, start = self.running
        end = self.process.output.wait(self.end(), start)[2]
        printed = [line for _, line in self.process.output.since(start)[:end - start]]
        if not same(shown, printed):
            raise AssertionError("%s\nprints\n%s\nand not\n%s" % (command, "\n".join(printed), "\n".join(shown)))
        self.running = None

    def done(self):
        if self.process.alive():
            os.killpg(self.process.pid, signal.SIGKILL)


def play(place, daemon, number, blocks, stands_for, environment, files):
    """stands_for: what the document shows, and what is typed and awaited in its place. files: what is in the directory."""
    folder = os.path.join(place.path, "home%d" % number)
    os.mkdir(folder)
    for path in files:
        shutil.copy(path, folder)
    terminals = {}
    typed = 0
    for words, real in stands_for:
        blocks = [block.replace(words, real) for block in blocks]
    try:
        for terminal, command, shown in (one for block in blocks for one in commands(block)):
            if terminal not in terminals:
                terminals[terminal] = Terminal(place, daemon, folder, terminal, environment)
            if terminals[terminal].waits():
                for other in terminals.values():
                    other.wake()
            terminals[terminal].type(command, shown)
            terminals[terminal].await_shown()
            typed += 1
        for terminal in terminals.values():
            terminal.wake()
        for terminal in terminals.values():
            terminal.finish()
    finally:
        for terminal in terminals.values():
            terminal.done()
    return typed


def program(place, name, text):
    """A script that the terminals find before any other program of that name."""
    path = os.path.join(place.path, name)
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(text)
    os.chmod(path, 0o755)


def document(place, name, daemon=None, stands_for=(), environment=None, files=()):
    program(place, "sleep", SLEEP)
    daemon = daemon or place.daemon(config="lease: 20s\nrestart-guard: auto\n").admitted()
    typed = sum(play(place, daemon, number, blocks, stands_for, environment or {}, files)
                for number, (_, blocks) in enumerate(sections(os.path.join(FOLDER, name), "console")))
    expect(typed > 0, True)
    harness.comment("%d commands" % typed)


def test_tutorial(place):
    """what TUTORIAL.md shows is what happens"""
    document(place, "TUTORIAL.md")


def test_recipes(place):
    """what RECIPES.md shows is what happens"""
    document(place, "RECIPES.md")


# What the views of RECIPES.md use of Django, in its order: ATOMIC_REQUESTS puts a transaction around each view, and the middleware
# around that. A commit and a rollback print whether another process could have the lock then.
DJANGO = {
    "django/__init__.py": "",
    "django/http.py": "class HttpResponse:\n    def __init__(self, text):\n        self.text = text\n",
    "django/db/__init__.py": "",
    "django/db/transaction.py": """
import contextlib, os, subprocess

depth = 0

def tell(what):
    status = subprocess.call([os.environ["HOLDFAST"], "run", "-q", "-n", "account/1", "true"], stderr=subprocess.DEVNULL)
    print("%s while %s" % (what, {0: "free", 75: "held"}[status]), flush=True)

@contextlib.contextmanager
def atomic():
    global depth
    depth += 1
    try:
        yield
    except BaseException:
        depth -= 1
        if depth == 0:
            tell("rolled back")
        raise
    depth -= 1
    if depth == 0:
        tell("committed")

def non_atomic_requests(view):
    view.non_atomic = True
    return view
"""}
# The program is appended to views of the document.
REQUEST = """

import types

from django.db import transaction


def handle(view, request):
    if getattr(view, "non_atomic", False):
        return view(request)
    with transaction.atomic():
        return view(request)


def fails(request):
    %s(request)
    raise ValueError("after the view")


def answer(view):
    request = types.SimpleNamespace()
    get_response = lambda request: handle(view, request)
    try:
        print(%s(get_response)(request).text)
    except ValueError as error:
        print(error)
    transaction.tell("answered")


answer(pay)
%s
"""
VIEW = """
from django.http import HttpResponse

def pay(request):
    lock = request.lock("account/1", wait=5)
    lock.raise_if_lost()
    return HttpResponse("paid")
"""
INSIDE = """
import holdfast
from django.http import HttpResponse

def pay(request):
    with holdfast.lock("account/1", wait=5):
        return HttpResponse("paid")
"""


def django(place):
    """Where a Python program of a document finds what it uses of Django."""
    folder = os.path.join(place.path, "modules")
    for name, text in DJANGO.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(text)
    return folder


def test_release_after_the_commit(place):
    """with the view of RECIPES.md and the middleware for Django the lock is held when Django commits or rolls back, and free afterwards; within a view it is free before"""
    daemon = place.daemon(master=place.redis()).admitted()
    modules = django(place)
    recipes = dict(sections(os.path.join(FOLDER, "RECIPES.md"), "python"))
    (outside,) = recipes["Release after the commit"]
    with open(os.path.join(PYTHON, "frameworks", "django_locks.py"), encoding="utf-8") as stream:
        middleware = stream.read() + VIEW

    def run(views, around, more=""):
        process = place.run(sys.executable, "-c", views + REQUEST % ("pay", around, more), environment={
            "HOLDFAST_URL": daemon.socket, "HOLDFAST": harness.HOLDFAST, "PYTHONPATH": "%s:%s" % (PYTHON, modules),
            "PYTHONDONTWRITEBYTECODE": "1"})
        expect(process.wait(), 0, process.output.text())
        return process.output.text().splitlines()

    alone = "(lambda get_response: get_response)"
    expect(run(outside, alone), ["committed while held", "paid", "answered while free"])
    expect(run(middleware, "Locks", "answer(fails)"),
           ["committed while held", "paid", "answered while free", "rolled back while held", "after the view", "answered while free"])
    # What the document warns of.
    expect(run(INSIDE, alone), ["committed while free", "paid", "answered while free"])


def test_migrating(place):
    """what MIGRATING.md shows is what happens"""
    document(place, "MIGRATING.md")


class Bucket(http.server.BaseHTTPRequestHandler):
    """A bucket as S3 has it, as far as STORES.md needs one: PUT on a condition, HEAD and GET. A PUT without a condition is
    refused, and so is a change without a signature; whether the signature is right is not looked at. Before the first PUT on a
    condition another client writes."""

    def answer(self, status, text=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    def do_GET(self):  # pylint: disable=invalid-name
        text, token = self.server.objects.get(self.path, (None, None))
        if text is None:
            self.answer(404)
        else:
            self.answer(200, text, ETag='"%s"' % hashlib.md5(text).hexdigest(), x_amz_meta_token=token)

    do_HEAD = do_GET

    def do_PUT(self):  # pylint: disable=invalid-name
        text = self.rfile.read(int(self.headers["Content-Length"]))
        match, none = self.headers["If-Match"], self.headers["If-None-Match"]
        if (match is None) == (none is None) or not (self.headers["Authorization"] or "").startswith("AWS4-HMAC-SHA256 "):
            self.answer(400, b"a condition and a signature are needed\n")
            return
        if self.path not in self.server.objects:
            self.server.objects[self.path] = (b"of another client\n", "1")
        there = '"%s"' % hashlib.md5(self.server.objects[self.path][0]).hexdigest()
        self.server.answers.append(200 if match == there else 412)
        if match == there:
            self.server.objects[self.path] = (text, self.headers["x-amz-meta-token"])
        self.answer(self.server.answers[-1])

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        pass


def test_stores(place):
    """what STORES.md shows is what happens: in an SQL database, in a bucket and in a file a late holder is refused"""
    for needed in ("curl", "flock"):
        if not shutil.which(needed):
            raise harness.Skip("%s is not installed" % needed)
    with http.server.HTTPServer(("127.0.0.1", 0), Bucket) as server:
        server.objects, server.answers = {}, []
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            url = "http://127.0.0.1:%d/bucket" % server.server_port
            document(place, "STORES.md", environment={"S3_URL": url, "S3_REGION": "r", "S3_KEY": "k", "S3_SECRET": "s"},
                     files=glob.glob(os.path.join(FOLDER, "stores", "*")))
        finally:
            server.shutdown()
            thread.join()
        expect(server.answers, [412, 200, 200])


# What the unit does, with the daemon's own answer in place of the acknowledgement of a service manager.
SYSTEMCTL = """#!/bin/sh
case $* in
"reload holdfastd") holdfastd -t >/dev/null 2>&1 && redis-cli -e -s %(socket)s RELOAD >/dev/null ;;
*) echo "systemctl $*: the test has nothing for that" >&2; exit 1 ;;
esac
"""
# Where a master has a user of its own for holdfast.
OPERATED = """masters: [ { url: "unix://%(redis)s?user=holdfast", password-file: %(folder)s/redis.password } ]
log: { level: info, to: %(folder)s/holdfast.log }
"""


def test_operating(place):
    """what OPERATING.md shows is what happens"""
    if not shutil.which("redis-cli"):
        raise harness.Skip("redis-cli is not installed (Debian: redis-tools)")
    redis = place.redis()
    expect(redis("ACL", "SETUSER", "holdfast", "on", ">secret", "~*", "&*", "+@all"), "OK")
    daemon = place.idle_daemon()
    where = {"redis": redis.socket, "folder": daemon.folder, "socket": daemon.socket, "file": daemon.file,
             "daemon": harness.HOLDFASTD}
    os.mkdir(os.path.join(daemon.folder, "holdfast.d"))
    with open(os.path.join(daemon.folder, "redis.password"), "w", encoding="utf-8") as stream:
        stream.write("secret\n")
    daemon.configure(OPERATED % where)
    daemon.start().admitted()
    program(place, "systemctl", SYSTEMCTL % where)
    program(place, "holdfastd", '#!/bin/sh\nexec %(daemon)s -c %(file)s "$@"\n' % where)
    program(place, "journalctl", "#!/bin/sh\nexec cat %(folder)s/holdfast.log\n" % where)
    document(place, "OPERATING.md", daemon, (("/etc/holdfast", daemon.folder), ("-h redis.example", "-s " + redis.socket)))


def operating():
    with open(os.path.join(FOLDER, "OPERATING.md"), encoding="utf-8") as stream:
        return stream.read()


def test_leak(place):
    """the command of OPERATING.md that finds a leaking application names the one with most locks, not the one with most connections"""
    daemon = place.daemon()
    clients = []
    for name, count, locks in (("web", 3, 1), ("batch", 1, 9)):
        for number in range(count):
            client = daemon.client()
            expect(client("CLIENT", "SETNAME", name), "OK")
            for lock in range(locks):
                expect(isinstance(client("LOCK", "%s-%d-%d" % (name, number, lock), "WAIT", 20000), int), True)
            clients.append(client)
    command = re.search(r"^\$ (holdfast sessions --json .*)$", operating(), re.M).group(1)
    environment = dict(os.environ, HOLDFAST_URL=daemon.socket, PATH="%s:%s" % (
        os.path.dirname(harness.HOLDFAST), os.environ["PATH"]))
    told = subprocess.run(["sh", "-c", command], env=environment, stdout=subprocess.PIPE, check=True, encoding="utf-8").stdout
    expect([re.findall(r"^(\d+) locks, (\d+) sessions: \"client\":\"(\w+)\"", line)[0] for line in told.splitlines()][:2],
           [("9", "1", "batch"), ("3", "3", "web")])


def test_alerts(_place):
    """each alert that is shipped says what it means and has a first command; its page is a section of OPERATING.md"""
    with open(os.path.join(harness.ROOT, "packaging", "monitoring", "alerts.yml"), encoding="utf-8") as stream:
        blocks = re.split(r"^      - alert: ", stream.read(), flags=re.M)[1:]
    headings = set(re.findall(r"^## (.*)$", operating(), re.M))
    pages = 0
    for block in blocks:
        name = re.match(r"\w+", block).group(0)
        for needed in ("summary", "description"):
            expect(len(re.findall(r"^ +%s: " % needed, block, re.M)), 1, "%s: %s" % (name, needed))
        expect(bool(oncall.rule_of(name)[1]), True, name)
        for page in re.findall(r"^ +page: (.*)$", block, re.M):
            expect(page in headings, True, "%s: %s" % (name, page))
            pages += 1
    expect(pages >= len(blocks) - 1, True, "of %d alerts" % len(blocks))


def test_alerts_are_tested(_place):
    """each alert that is shipped has a test in which it fires and does not"""
    with open(os.path.join(harness.ROOT, "packaging", "monitoring", "alerts.yml"), encoding="utf-8") as stream:
        shipped = re.findall(r"- alert: (\w+)", stream.read())
    with open(os.path.join(harness.ROOT, "tests", "alerts.test.yml"), encoding="utf-8") as stream:
        tests = re.split(r"^  - name: ", stream.read(), flags=re.M)[1:]
    expect([re.match(r"\w+", test).group(0) for test in tests], shipped)
    for test in tests:
        name = re.match(r"\w+", test).group(0)
        expect('alertname="%s"' % name in test, True, name)
        expect("exp_samples: []" in test, True, name)


def test_fail2ban(place):
    """the filter of OPERATING.md finds the address in what the log says of a wrong password, and in nothing else"""
    shown, = re.findall(r"^failregex = (.*)$", operating(), re.M)
    # As fail2ban-regex(1) has it: an address of IPv4 or IPv6 alone.
    regex = re.compile(shown.replace("<HOST>", r"(?P<host>[0-9a-fA-F:.]+)"))
    daemon = place.daemon(master=place.redis(), tcp=True, environment={"ONE": "secret"},
                          config="users: [ { name: op, password-env: ONE } ]\n").admitted()
    guesser, other = daemon.client(tcp=True), daemon.client()
    for client in (guesser, other):
        harness.expect_code(client("AUTH", "op] address=192.0.2.1:1 user=", "guess"), "WRONGPASS")
    daemon.output.wait("client.wrongpass.*address=127")
    found = [match.group("host") for match in map(regex.search, daemon.output.text().splitlines()) if match]
    expect(found, ["127.0.0.1"])


def test_programs(place):
    """each Python program of the documents runs"""
    daemon = place.daemon().admitted()
    modules = django(place)
    ran = 0
    for path in sorted(glob.glob(os.path.join(FOLDER, "**", "*.md"), recursive=True)):
        for title, programs in sections(path, "python"):
            for text in programs:
                foreign = "import redis" in text
                python = harness.python_with("redis", "python3-redis") if foreign else sys.executable
                process = place.run(python, "-c", text.replace("/run/holdfast/holdfast.sock", daemon.socket),
                                    environment={"HOLDFAST_URL": daemon.socket, "PYTHONPATH": "%s:%s" % (PYTHON, modules),
                                                 "PYTHONDONTWRITEBYTECODE": "1"})
                expect(process.wait(), 0, "%s, %s\n%s" % (path, title, process.output.text()))
                ran += 1
    expect(ran > 0, True)
    harness.comment("%d programs" % ran)


def test_configurations(place):
    """each piece of configuration in the documents is one that the daemon takes"""
    checked = 0
    for path in sorted(glob.glob(os.path.join(FOLDER, "**", "*.md"), recursive=True)):
        for title, pieces in sections(path, "yaml"):
            for text in pieces:
                file = os.path.join(place.path, "piece.yml")
                with open(file, "w", encoding="utf-8") as stream:
                    stream.write(text)
                done = subprocess.run([harness.HOLDFASTD, "-t", "-c", file], stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, check=False)
                expect(done.returncode, 0, "%s, %s\n%s" % (path, title, done.stdout.decode()))
                checked += 1
    expect(checked > 0, True)


def anchors(path):
    """What the headings of a document are linked by."""
    with open(path, encoding="utf-8") as stream:
        headings = re.findall(r"^#+ (.*)$", stream.read(), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_figures(place):
    """each table and each paragraph of figures in SCALE.md is what the run in figures.json measured"""
    with open(os.path.join(RESULTS, "SCALE.md"), encoding="utf-8") as stream:
        text = stream.read()
    path = os.path.join(place.path, "SCALE.md")
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(re.sub(r"(<!-- (?!end).+ -->\n)(?:(?!<!--).*\n)*", r"\1something else\n", text))
    subprocess.run([os.path.join(harness.ROOT, "tests", "bench", "tables.py"), os.path.join(RESULTS, "figures.json"), path], check=True)
    with open(path, encoding="utf-8") as stream:
        expect(stream.read(), text)


def test_links(_place):
    """each link from one document to another leads to a file, and to a section of it"""
    for path in sorted(glob.glob(os.path.join(FOLDER, "**", "*.md"), recursive=True)) + [
            os.path.join(harness.ROOT, name) for name in ("README.md", "packaging/kubernetes/README.md")]:
        with open(path, encoding="utf-8") as stream:
            text = stream.read()
        for target, section in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", text):
            file = os.path.join(os.path.dirname(path), target) if target else path
            expect(os.path.exists(file), True, "%s links to %s" % (path, target))
            if section:
                expect(section in anchors(file), True, "%s links to %s#%s" % (path, target, section))


if __name__ == "__main__":
    harness.main(globals())
