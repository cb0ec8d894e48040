"""The libraries: how each one's puppet is made, and what the library does by itself with its default settings.

Packages come through the ordinary clients (pip, npm, go, mvn) from the pinned lists beside each puppet, into
the build directory. What is missing here is a reason to skip a library, never to fail.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
from functools import partial

import harness

HERE = os.path.dirname(os.path.abspath(__file__))
STORE = os.path.join(harness.BUILD, "interop")

# What a library does when a read took longer than its timeout: nothing, since it has none | it gives up and closes
# the connection | it gives up, and closes the connection when the program does | it closes the connection and sends
# the request again over a new one | it gives up and keeps using the connection | the same, and takes the late answer for
# that to the next request.
NEVER, GIVES_UP, LINGERS, SENDS_AGAIN, KEEPS, BEHIND = "never", "gives up", "lingers", "sends again", "keeps", "behind"


class Library:
    def __init__(self, name, make, resp=2, lib_name="", timeout=None, late=NEVER, late_pool=None, tries=0,
                 shares=True, notice="error", pool_says=None, patient=False, pool=False):
        self.name = name
        self.make = make  # (program="puppet") -> the command that starts it, without the port
        self.pool = pool  # it has the program "pool" (tests/e2e/pools.py)
        self.resp = resp  # the protocol it chooses
        self.lib_name = lib_name  # what it says of itself with CLIENT SETINFO
        # What threads share may introduce itself otherwise.
        self.resp_pool, self.lib_name_pool = pool_says or (resp, lib_name)
        self.timeout = timeout  # of a read, seconds
        self.late = late  # of a connection of its own
        self.late_pool = late_pool  # of what threads share, if that is a pool; else they share one connection
        self.tries = tries  # how often it sends a request in all, if more than once
        self.shares = shares  # several threads may use one client of it
        # How a program with a connection of its own learns that it was lost: "error": the next call fails; "event":
        # the library tells; "silent": it does not, the next call goes over a new connection; "chance": the next call
        # fails if it comes before the new connection.
        self.notice = notice
        # Its puppet can open a client "patient": set up as LIBRARIES.md has it, so that a LOCK waits as long as it has to.
        self.patient = patient
        # A busy machine alone is later than that: then only what is proven of its timeout is proven with it.
        self.hasty = timeout is not None and timeout < 1


def need(*programs):
    for program in programs:
        if shutil.which(program) is None:
            raise harness.Skip("%s is not installed" % program)


def install(what, pins, *command, folder=None, environment=None):
    """A package manager at work, once for each pinned list. Not being able to fetch is no fault of ours."""
    with open(pins, "rb") as stream:
        state = hashlib.sha256(stream.read()).hexdigest()
    # Open until it returns, and locked: two libraries may come from one list.
    with open(os.path.join(room(what), "installed"), "a+", encoding="ascii") as stamp:
        fcntl.flock(stamp, fcntl.LOCK_EX)
        stamp.seek(0)
        if stamp.read() == state:
            return
        done = subprocess.run(command, cwd=folder, env=dict(os.environ, **(environment or {})),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            harness.comment(done.stdout.decode("utf-8", "replace"))
            raise harness.Skip("%s cannot be installed here" % what)
        stamp.truncate(0)
        stamp.write(state)


def build(*command, folder=None, environment=None):
    done = subprocess.run(command, cwd=folder, env=dict(os.environ, **(environment or {})), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        raise AssertionError("%s:\n%s" % (" ".join(command), done.stdout.decode("utf-8", "replace")))


def room(name):
    path = os.path.join(STORE, name)
    os.makedirs(path, exist_ok=True)
    return path


def source(*parts):
    return os.path.join(HERE, *parts)


def make_redis_cli():
    need("redis-cli", "python3")
    return ["python3", source("redis-cli", "puppet.py")]


def make_hiredis():
    need("cc")
    program = os.path.join(room("hiredis"), "puppet")
    probe = subprocess.run(["cc", "-E", "-include", "hiredis/hiredis.h", "-x", "c", "/dev/null"], check=False,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if probe.returncode != 0:
        raise harness.Skip("hiredis' headers are not installed")
    build("cc", "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror", "-O2", "-o",
          program, source("hiredis", "puppet.c"), "-lhiredis", "-lpthread")
    return [program]


def lay(name, *shared):
    """Copies a library's programs, and what it shares with others, to where its packages are; returns the folder."""
    for file in shared:
        shutil.copy(source(file), room(name))
    return shutil.copytree(source(name), room(name), dirs_exist_ok=True)


def make_python(name, *words, program="puppet"):
    need("python3")
    folder = lay(name, "lines.py")
    packages = os.path.join(folder, "packages")
    pins = source(name, "requirements.txt")
    install(name, pins, "python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
            "--require-hashes", "--upgrade", "--target", packages, "-r", pins)
    return ["env", "PYTHONPATH=" + packages, "python3", os.path.join(folder, program + ".py"), *words]


def make_node(name, program="puppet"):
    need("node", "npm")
    folder = lay(name, "lines.mjs", "pool-tasks.mjs")
    install(name, source(name, "package-lock.json"), "npm", "ci", "--silent", "--ignore-scripts", folder=folder)
    return ["node", os.path.join(folder, program + ".mjs")]


def make_go(name, program="puppet"):
    need("go")
    folder = lay(name, "lines.go")
    binary = os.path.join(folder, "bin", program)
    settings = {"GOMODCACHE": room("go"), "GOCACHE": room("go-build"), "GOTOOLCHAIN": "local",
                "GOFLAGS": "-mod=readonly -modcacherw -buildvcs=false"}
    install(name, source(name, "go.sum"), "go", "mod", "download", folder=folder, environment=settings)
    build("go", "build", "-o", binary, "." if program == "puppet" else "./" + program, folder=folder, environment=settings)
    return [binary]


def make_rust(name, program="puppet"):
    """One package for all, with a program for each: they have nearly everything in common that is to be built."""
    need("cargo")
    settings = {"CARGO_HOME": room("cargo"), "CARGO_TARGET_DIR": room("rust"), "CARGO_TERM_COLOR": "never"}
    install("rust", source("rust", "Cargo.lock"), "cargo", "fetch", "--quiet", "--locked", folder=source("rust"),
            environment=settings)
    name += "" if program == "puppet" else "-" + program
    build("cargo", "build", "--quiet", "--locked", "--offline", "--bin", name, folder=source("rust"),
          environment=settings)
    return [os.path.join(room("rust"), "debug", name)]


def make_java(name, program="puppet"):
    need("java", "javac", "mvn")
    folder = room(name)
    jars = os.path.join(folder, "jars")
    pins = source(name, "pom.xml")
    install(name, pins, "mvn", "--batch-mode", "--quiet", "-f", pins, "-Dmaven.repo.local=" + room(name + "/maven"),
            "dependency:copy-dependencies", "-DoutputDirectory=" + jars)
    path = os.path.join(jars, "*")
    shared = source("Lines.java") if program == "puppet" else source("PoolTasks.java")
    build("javac", "-cp", path, "-d", os.path.join(folder, "classes"), shared, source(name, program.capitalize() + ".java"))
    return ["java", "-cp", path + ":" + os.path.join(folder, "classes"), program.capitalize()]


def make_php(name, probe, program="puppet"):
    """From the distribution, as hiredis is."""
    need("php")
    if subprocess.run(["php", "-r", probe], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                      check=False).returncode != 0:
        raise harness.Skip("PHP has no %s here" % name)
    return ["php", os.path.join(lay(name, "lines.php"), program + ".php")]


def make_ruby():
    """From the distribution, as hiredis is."""
    need("ruby")
    if subprocess.run(["ruby", "-e", "require 'redis'"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        raise harness.Skip("Ruby has no redis here")
    return ["ruby", source("ruby-redis", "puppet.rb")]


LIBRARIES = {library.name: library for library in (
    Library("redis-cli", make_redis_cli, shares=False),
    Library("hiredis", make_hiredis),
    Library("redis-py", partial(make_python, "redis-py"), resp=3, lib_name="redis-py", timeout=5, late=SENDS_AGAIN,
            late_pool=SENDS_AGAIN, tries=11, notice="silent", pool=True),
    Library("node-redis", partial(make_node, "node-redis"), resp=3, lib_name="node-redis", notice="event", pool=True),
    Library("ioredis", partial(make_node, "ioredis"), resp=3, lib_name="ioredis", notice="event", pool=True),
    Library("go-redis", partial(make_go, "go-redis"), resp=3, lib_name="go-redis", timeout=5, late=LINGERS,
            late_pool=SENDS_AGAIN, tries=4, pool=True),
    Library("rueidis", partial(make_go, "rueidis"), resp=3, lib_name="rueidis", timeout=10, late=GIVES_UP,
            late_pool=GIVES_UP, patient=True),
    Library("valkey-go", partial(make_go, "valkey-go"), resp=3, lib_name="valkey", timeout=10, late=GIVES_UP,
            late_pool=GIVES_UP, patient=True),
    Library("redigo", partial(make_go, "redigo")),
    Library("iovalkey", partial(make_node, "iovalkey"), notice="event"),
    Library("valkey-py", partial(make_python, "valkey-py"), lib_name="valkey-py"),
    Library("valkey-py-asyncio", partial(make_python, "valkey-py", "asyncio"), lib_name="valkey-py", timeout=5,
            late=GIVES_UP, late_pool=GIVES_UP, patient=True),
    Library("redis-rs", partial(make_rust, "redis-rs"), lib_name="redis-rs", shares=False, pool=True),
    Library("redis-rs-async", partial(make_rust, "redis-rs-async"), lib_name="redis-rs", timeout=0.5, late=KEEPS,
            patient=True),
    Library("fred", partial(make_rust, "fred"), notice="event"),
    Library("valkey-glide", partial(make_node, "valkey-glide"), resp=3, lib_name="GlideJS", timeout=0.25, late=KEEPS,
            notice="chance", patient=True, pool=True),
    Library("ruby-redis", make_ruby, timeout=5, late=SENDS_AGAIN, tries=2, notice="silent"),
    Library("phpredis", partial(make_php, "phpredis", "exit(extension_loaded('redis') ? 0 : 1);"), timeout=60,
            late=BEHIND, shares=False, notice="silent", pool=True),
    Library("predis", partial(make_php, "predis", "require 'Predis/Autoloader.php';"), timeout=60, late=GIVES_UP,
            shares=False),
    Library("vertx", partial(make_java, "vertx"), resp=3, lib_name="vertx-redis-client"),
    Library("jedis", partial(make_java, "jedis"), timeout=2, late=LINGERS, late_pool=GIVES_UP,
            pool_says=(3, "jedis"), pool=True),
    Library("lettuce", partial(make_java, "lettuce"), resp=3, lib_name="Lettuce", timeout=60, late=KEEPS,
            notice="event", pool=True),
)}
