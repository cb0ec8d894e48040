#!/usr/bin/env python3
"""A daemon that is the first process of a container: signals, its redis-server, and processes that nobody waits for; and the
root of the image in packaging/image, which has what it needs and no more."""

import os
import re
import shutil
import signal
import subprocess

import harness
import resp
import tool
from harness import expect, expect_between

# The daemon is process 1 of a namespace of its own, which ends with it.
CONTAINER = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
# The same with the root of an image, as a runtime mounts it: read-only, but for the directories of Containerfile's volumes.
IMAGE = ("unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "sh", "-euc", """
    mount --bind "$1" "$1"; mount -o remount,bind,ro "$1"; mount --bind "$2" "$1/run/holdfast"
    mount -t tmpfs -o mode=700,uid=5625,gid=5625 tmpfs "$1/var/lib/holdfast"; mount -t tmpfs -o mode=1777 tmpfs "$1/tmp"
    mount -t proc proc "$1/proc"; mount --rbind /dev "$1/dev"
    chroot=$(command -v chroot)
    exec env -i STATE_DIRECTORY=/var/lib/holdfast "$chroot" --userspec=5625:5625 --groups= "$1" /usr/sbin/holdfastd""", "sh")
IMAGE_BYTES_MAX = 25 << 20


def contained(place, **options):
    """The daemon, and its process as it is seen here."""
    tried = subprocess.run(CONTAINER + ("true",), capture_output=True, check=False)
    if tried.returncode != 0:
        raise harness.Skip("no process namespace: %s" % tried.stderr.decode().strip())
    daemon = place.idle_daemon(**options)
    daemon.wrap = list(CONTAINER)
    daemon.start().admitted()
    child, = tool.children(daemon.process.pid)
    return daemon, child


def ends(daemon, child, number):
    """A signal to process 1 counts only if it is handled."""
    os.kill(child, number)
    expect(daemon.process.wait(), 0)


def test_signals(place):
    """as process 1 it reads its file again at HUP, and ends at TERM and at INT"""
    for count, number in enumerate((signal.SIGTERM, signal.SIGINT)):
        daemon, child = contained(place, name="d%d" % count, master=place.redis("r%d" % count))
        mark = daemon.output.mark()
        os.kill(child, signal.SIGHUP)
        daemon.output.wait("daemon.reloaded", mark)
        ends(daemon, child, number)


def test_orphans(place):
    """as process 1 it takes leave of processes whose parents have ended, and of nobody else"""
    daemon, child = contained(place)
    server, = tool.children(child)
    for status in ("exit 3", "kill -9 $$"):
        # The shell ends, and what it has started is left to process 1.
        reader, writer = os.pipe()
        made = subprocess.run(("nsenter", "--target", str(child), "--pid", "--", "sh", "-c",
                               "sh -c 'read line; %s' <&%d & exit" % (status, reader)), pass_fds=(reader,), check=False)
        os.close(reader)
        expect(made.returncode, 0)
        harness.until("an orphan is there", lambda: len(tool.children(child)) == 2)
        os.close(writer)
        harness.until("it is gone", lambda: tool.children(child) == [server])
    client = daemon.client()
    expect_between(client("LOCK", "a", "WAIT", 45000), 1, 2 ** 53)
    ends(daemon, child, signal.SIGTERM)


def test_its_own_server(place):
    """as process 1 it says how its redis-server ended, and starts it again"""
    daemon, child = contained(place)
    server, = tool.children(child)
    mark = daemon.output.mark()
    os.kill(server, signal.SIGKILL)
    daemon.output.wait('embedded.died why="killed by signal 9"', mark)
    daemon.output.wait("embedded.restarted", mark)
    harness.until("the other one alone is there", lambda: len(tool.children(child)) == 1 and tool.children(child) != [server])
    ends(daemon, child, signal.SIGTERM)


def test_restart(place):
    """as process 1 it is restarted by SIGUSR2 and by a client, with its redis-server; orphans are taken leave of as before"""
    daemon, child = contained(place)
    server, = tool.children(child)
    holder = daemon.client()
    token = holder("LOCK", "a", "WAIT", 45000)
    # Its parent ends before, and it ends after.
    reader, writer = os.pipe()
    made = subprocess.run(("nsenter", "--target", str(child), "--pid", "--", "sh", "-c",
                           "sh -c 'read line' <&%d & exit" % reader), pass_fds=(reader,), check=False)
    os.close(reader)
    expect(made.returncode, 0)
    harness.until("an orphan is there", lambda: len(tool.children(child)) == 2)
    os.kill(child, signal.SIGUSR2)
    harness.until("a new process serves", lambda: daemon.info()["handovers"] == "1")
    expect(tool.call(place, daemon, "restart", "-q"), (0, ""))
    os.close(writer)
    harness.until("the orphan is gone", lambda: tool.children(child) == [server])
    expect(daemon.info()["process_id"], "1")
    expect_between(holder("CHECK", "a", "TOKEN", token), 1, harness.LEASE_MS)
    ends(daemon, child, signal.SIGTERM)
    harness.until("its redis-server has ended, too", lambda: not os.path.exists("/proc/%d" % server))


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
    root = os.path.join(place.path, "image")
    program = os.path.join(harness.ROOT, "packaging", "image", "image-root")
    expect(said(program, root, harness.HOLDFASTD, harness.HOLDFAST, server_program()), (0, ""))
    return root


def test_image(place):
    """with the root of the image, read-only, as a user without rights, the daemon and its redis-server serve locks; its client
    works there; TERM ends it; and packed the root has less than 25 MB"""
    if os.getuid() != 0 or subprocess.run(("unshare", "--mount", "--pid", "--net", "true"), check=False).returncode != 0:
        raise harness.Skip("no namespaces of its own")
    root, run = image(place), os.path.join(place.path, "run")
    os.mkdir(run)
    os.chown(run, 5625, 5625)
    packed = subprocess.run(("sh", "-c", 'tar -C "$1" -cf - . | gzip | wc -c', "sh", root), stdout=subprocess.PIPE, check=True)
    harness.comment("%.1f MB packed" % (int(packed.stdout) / 1e6))
    expect(int(packed.stdout) < IMAGE_BYTES_MAX, True)
    process = place.run(*IMAGE, root, run)
    process.output.wait("daemon.started")
    child, = tool.children(process.pid)
    with open("/proc/%d/status" % child, encoding="utf-8") as stream:
        status = stream.read()
    expect(re.findall(r"^(?:Uid|Gid|CapEff|CapPrm):\s+(\w+)", status, re.M), ["5625", "5625", "0" * 16, "0" * 16])
    url = os.path.join(run, "holdfast.sock")
    with resp.Client(url) as client:
        expect_between(client("LOCK", "a", "WAIT", 45000), 1, 2 ** 53)
    inside = ("nsenter", "--target", str(child), "--mount", "--pid", "--net", "--root", "--")
    for command in (("ping", "-q"), ("health", "-w", "45"), ("restart", "-q")):
        status, text = said(*inside, "/usr/bin/holdfast", *command)
        expect(status, 0, text)
    text = said(*inside, "/bin/chown", "0:0", "/etc/passwd")[1]
    expect("Read-only file system" in text, True, text)
    os.kill(child, signal.SIGTERM)
    expect(process.wait(), 0, process.output.tail())


MANIFESTS = [os.path.join(harness.ROOT, "packaging", "kubernetes", name) for name in ("node.yml", "sidecar.yml")]


def test_manifests(place):
    """each configuration in the manifests for Kubernetes is one that the daemon takes, and their group is that of the image"""
    file = os.path.join(place.path, "piece.yml")
    for path in MANIFESTS:
        with open(path, encoding="utf-8") as stream:
            text = stream.read()
        piece, = re.findall(r"^  holdfast\.yml: \|\n((?:    .*\n)+)", text, re.M)
        with open(file, "w", encoding="utf-8") as stream:
            # The file of a secret is there only in a cluster.
            stream.write(re.sub(r"^ *password-file:.*\n", "", piece, flags=re.M))
        status, errors = said(harness.HOLDFASTD, "-t", "-c", file)
        expect(status, 0, "%s\n%s" % (path, errors))
        expect(set(re.findall(r"(?:runAsGroup|fsGroup): (\d+)|supplementalGroups: \[(\d+)\]", text)) <=
               {("5625", ""), ("", "5625")}, True, path)


def test_schema(_place):
    """the manifests are as the schema of Kubernetes wants them"""
    if shutil.which("kubernetes-validate"):
        command = ("kubernetes-validate", "--strict")
    elif shutil.which("kubeconform"):
        command = ("kubeconform", "-strict")
    else:
        raise harness.Skip("neither kubernetes-validate (pip) nor kubeconform is installed")
    status, text = said(*command, *MANIFESTS)
    expect(status, 0, text)


if __name__ == "__main__":
    harness.main(globals())
