"""Containers of the image's root, as a runtime starts them: mounts, namespaces, user, capabilities and the rest of the spec, by hand."""

import json
import os
import shutil
import subprocess
import sys

import harness

# The user of the image, by number.
USER = 5625
CAPABILITIES = {"CHOWN": 0}
# Runs in the mount and PID namespace of the container, and becomes its program.
ENTRY = r"""
import ctypes, json, os, subprocess, sys
spec = json.loads(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
root = spec["root"]
def mount(*words):
    subprocess.run(("mount",) + words, check=True)
mount("--bind", root, root)
mount("-t", "proc", "proc", root + "/proc")
mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", root + "/dev")
for name in ("null", "zero", "random", "urandom"):
    open(root + "/dev/" + name, "w").close()
    mount("--bind", "/dev/" + name, root + "/dev/" + name)
os.mkdir(root + "/dev/shm")
mount("-t", "tmpfs", "-o", "mode=1777", "tmpfs", root + "/dev/shm")
for source, target, readonly in spec["mounts"]:
    mount("--bind", source, root + target)
    if readonly:
        mount("-o", "remount,bind,ro", root + target)
if spec["readonly"]:
    mount("-o", "remount,bind,ro", root)
os.chroot(root)
os.chdir("/")
for number in range(64):
    if number not in spec["capabilities"] and libc.prctl(24, number, 0, 0, 0) != 0:  # PR_CAPBSET_DROP
        break
if spec["no_new_privileges"]:
    libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
os.setgroups(spec["groups"])
os.setresgid(spec["gid"], spec["gid"], spec["gid"])
os.setresuid(spec["uid"], spec["uid"], spec["uid"])
os.execve(spec["command"][0], spec["command"], spec["environment"])
"""
# The network of a container, and its processes unless those are the host's: it lasts as long as this one.
PAUSE = r"""
import fcntl, signal, socket, struct
with socket.socket() as s:
    fcntl.ioctl(s, 0x8914, struct.pack("16sH22x", b"lo", 1))  # SIOCSIFFLAGS, IFF_UP
print("up", flush=True)
signal.sigwait({signal.SIGTERM})
"""


def needs_namespaces():
    if os.getuid() != 0:
        raise harness.Skip("only root can be a container runtime")
    tried = subprocess.run(("unshare", "--mount", "--pid", "--net", "--fork", "true"), capture_output=True, check=False)
    if tried.returncode != 0:
        raise harness.Skip("no namespaces: %s" % tried.stderr.decode().strip())


def said(*command):
    """(exit status, everything it printed)"""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def server_program():
    for name in ("redis-server", "valkey-server", "redis-check-rdb", "valkey-check-rdb"):
        if shutil.which(name):
            return shutil.which(name)
    raise harness.Skip("no redis-server is here")


def image(place):
    """The root that Containerfile's first stage makes, with the programs under test."""
    if not os.path.exists("/etc/ssl/certs/ca-certificates.crt"):
        raise harness.Skip("ca-certificates is not installed")
    root = os.path.join(place.path, "image")
    program = os.path.join(harness.ROOT, "packaging", "image", "image-root")
    harness.expect(said(program, root, harness.HOLDFASTD, harness.HOLDFAST, harness.HOLDFAST + "-tls", server_program()), (0, ""))
    return root


class Sandbox:
    """What the containers of a pod share: a network, and processes unless they see the host's or each its own."""

    def __init__(self, place, processes):
        self.processes = processes  # "host", "pod" or "container"
        apart = ("--pid", "--fork", "--kill-child") if processes == "pod" else ()
        self.pause = place.run("unshare", "--net", *apart, sys.executable, "-c", PAUSE)
        self.pause.output.wait("^up$")
        self.pid = self.pause.pid
        if apart:
            with open("/proc/%d/task/%d/children" % (self.pid, self.pid), encoding="ascii") as stream:
                self.pid = int(stream.read())

    def network(self):
        """What becomes a command in its network, with files and processes as they are here."""
        return "nsenter", "--target", str(self.pid), "--net"

    def enter(self):
        """What runs a command among its processes, too."""
        return self.network() + (("--pid",) if self.processes == "pod" else ())


class Container:
    """What to run, and how; `entry` is the command that does."""

    def __init__(self, sandbox, root, mounts, **spec):
        self.sandbox = sandbox
        self.spec = {"root": root, "mounts": mounts, "readonly": False, "capabilities": [], "no_new_privileges": False, "uid": USER,
                     "gid": USER, "groups": [], "environment": {}}
        self.spec.update(spec)
        # The runtime makes what is mounted upon, before the root is read-only.
        for source, target, _ in mounts:
            if os.path.isdir(source):
                os.makedirs(root + target, exist_ok=True)
            elif not os.path.exists(root + target):
                with open(root + target, "w", encoding="ascii"):
                    pass

    def entry(self, *command):
        own = ("--pid", "--fork", "--kill-child") if self.sandbox.processes == "container" else ()
        return self.sandbox.enter() + ("unshare", "--mount", *own, sys.executable, "-c", ENTRY,
                                       json.dumps(dict(self.spec, command=command)))
