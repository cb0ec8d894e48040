#!/usr/bin/env python3
"""A log in a file: it can be rotated, and no disk that is full stops the daemon."""

import os
import re
import shutil
import signal
import subprocess

import harness
import resp
import tool
from harness import expect, expect_between

ROTATION = os.path.join(harness.ROOT, "packaging", "debian", "holdfast.logrotate")


def logging(place, path, config="", **options):
    options.setdefault("master", place.redis())
    return place.idle_daemon(config=config + "log: { level: debug, to: %s }\n" % path, **options)


def has(path, pattern):
    with open(path, encoding="utf-8") as stream:
        return re.search(pattern, stream.read(), re.M) is not None


def serves(daemon):
    client = daemon.client()
    expect_between(client("LOCK", "a", "WAIT", 45000), 1, 2 ** 53)
    expect(client("UNLOCK", "a"), 0)


def test_rotation(place):
    """at HUP the file is opened anew, though the configuration be wrong"""
    path = os.path.join(place.path, "log")
    daemon = logging(place, path).start()
    harness.until("it has begun", lambda: has(path, " daemon.started "))
    os.rename(path, path + ".1")
    daemon.process.signal(signal.SIGHUP)
    harness.until("another file", lambda: os.path.exists(path) and has(path, " daemon.reloaded "))
    daemon.configure("nonsense: 1\n")
    os.rename(path, path + ".2")
    daemon.process.signal(signal.SIGHUP)
    harness.until("a third", lambda: os.path.exists(path) and has(path, " daemon.reload_failed "))
    expect(has(path + ".2", "nonsense"), False)
    serves(daemon)
    expect(daemon.terminate(), 0)


def test_level(place):
    """an administrator sees and changes the level, which is the configuration's again after a reload"""
    daemon = place.daemon(master=place.redis(), config="log: { level: warning }\n")
    client = daemon.client()
    expect(client("LOG", "LEVEL"), "warning")
    expect(tool.call(place, daemon, "loglevel"), (0, "warning"))
    expect(tool.call(place, daemon, "loglevel", "debug"), (0, ""))
    daemon.output.wait(r"warning log\.level by=\d+ address=unix uid=\d+ pid=\d+ level=debug result=ok$")
    serves(daemon)
    daemon.output.wait(r" debug lock\.granted name=a ")
    harness.expect_code(client("LOG", "LEVEL", "loud"), "ERR")
    expect(client("LOG", "LEVEL"), "debug")
    client("RELOAD")
    expect(client("LOG", "LEVEL"), "warning")


def test_logrotate(place):
    """logrotate with the package's file moves the log away, and the daemon writes a new one"""
    if shutil.which("logrotate") is None:
        raise harness.Skip("logrotate is not installed")
    path = os.path.join(place.path, "log")
    os.mkdir(path, 0o750)
    log = os.path.join(path, "holdfast.log")
    daemon = logging(place, log).start()
    with open(ROTATION, encoding="utf-8") as stream:
        text = stream.read()
    user = "%d %d" % (os.getuid(), os.getgid()) if os.getuid() != 0 else "root root"
    rules = re.sub(r"/var/log/holdfast", path, text)
    rules = re.sub(r"^\s*su .*$", "su %s" % user, rules, flags=re.M)
    rules, asked = re.subn(r"^.*systemctl kill\b.*$", "kill -HUP %d" % daemon.process.pid, rules, flags=re.M)
    expect(asked, 1)
    config = os.path.join(place.path, "rotation")
    with open(config, "w", encoding="utf-8") as stream:
        stream.write(rules)
    os.chmod(config, 0o644)
    for number in range(2):
        serves(daemon)
        done = subprocess.run(("logrotate", "-f", "-s", os.path.join(place.path, "state"), config), capture_output=True,
                              text=True, check=False)
        expect((done.returncode, done.stdout + done.stderr), (0, ""))
        harness.until("a new log", lambda: os.path.exists(log) and has(log, " daemon.reloaded "))
        expect(has(log + ".1", " lock.granted .*name=a "), True, "round %d" % number)
    expect(os.path.exists(log + ".2.gz"), True)
    expect(daemon.terminate(), 0)


def test_full_disk(place):
    """lines that find no room are dropped, and locks are granted"""
    daemon = logging(place, "/dev/full").start()
    for _ in range(3):
        serves(daemon)
    daemon.process.signal(signal.SIGHUP)
    daemon.await_state("RELOADING=1")
    daemon.await_state("READY=1")
    serves(daemon)
    expect(daemon.terminate(), 0)


def test_limited_file(place):
    """a limit of the size of files costs lines, and does not end the daemon"""
    path = os.path.join(place.path, "log")
    daemon = logging(place, path)
    daemon.wrap = ["sh", "-c", "ulimit -f 8; exec \"$@\"", "sh"]
    daemon.start()
    most = 8 * 1024
    for _ in range(1000):
        if os.path.getsize(path) >= most // 2:
            break
        serves(daemon)
    size = os.path.getsize(path)
    expect(size >= most // 2, True, "%d bytes" % size)
    for _ in range(20):
        serves(daemon)
    expect(os.path.getsize(path) <= most, True)
    expect(daemon.terminate(), 0)


def test_no_room_for_the_file(place):
    """where the file cannot even be made for want of room, the daemon starts, and logs to standard error"""
    path = os.path.join(place.path, "disk")
    os.mkdir(path)
    full = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs -o nr_inodes=1 full %s && exec \"$@\"" % path, "sh"]
    if subprocess.run(full + ["true"], capture_output=True, check=False).returncode != 0:
        raise harness.Skip("no mounts of its own")
    daemon = logging(place, os.path.join(path, "log"))
    daemon.wrap = full
    daemon.start()
    daemon.output.wait("log.no_room file=%s/log why=\"No space left on device\"" % path)
    serves(daemon)
    expect(daemon.terminate(), 0)


def test_no_such_directory(place):
    """a log that cannot be opened is named with what it needs: at the start, and by a reload, which changes nothing"""
    daemon = place.idle_daemon(config="log: { to: %s/none/log }\n" % place.path)
    daemon.spawn()
    expect(daemon.process.wait(), 78)
    expect("cannot open the log %s/none/log: No such file or directory: its directory has to exist" % place.path
           in daemon.output.text(), True, daemon.output.text())
    daemon.configure("")
    daemon.start()
    daemon.configure("audit: %s/none/audit\n" % place.path)
    answer = daemon.client()("RELOAD")
    expect(isinstance(answer, resp.Error) and "cannot open the audit log" in answer and "its directory" in answer, True, answer)


def test_many_losses(place):
    """of thousands of locks that are lost at once the log has some lines and how many more there were, though no other
    lock is lost afterwards"""
    count, most = 4000, 1000
    redis = place.redis()
    daemon = place.daemon(master=redis, config=harness.BRISK + "log: { level: info }\n").admitted()
    clients = [daemon.client(3) for _ in range(count // most)]
    for number, client in enumerate(clients):
        expect(client("SESSION", "ONLOSS", "NEXT"), "OK")
        client.send_raw(b"".join(b"LOCK %d/%d\r\n" % (number, name) for name in range(most)))
        expect(all(isinstance(client.reply(), int) for _ in range(most)), True)
    redis.kill()

    def told():
        text = daemon.output.text()
        lines = len(re.findall(r" lock\.lost name=", text))
        return lines, lines + sum(int(n) for n in re.findall(r"log\.thinned event=lock\.lost lines=(\d+)", text))
    harness.until("all are told of", lambda: told()[1] >= count)
    expect(told()[1], count)
    harness.comment("%d lines for %d lost locks" % (told()[0], count))
    # The losses spread over the seconds in which the leases end, 50 lines in each.
    expect(told()[0] < count // 2, True, told())


if __name__ == "__main__":
    harness.main(globals())
