"""A stand-in for a service manager that keeps descriptors over a restart (sd_notify(3), FDSTORE=1; sd_listen_fds(3)).

It does what systemd does with `FileDescriptorStoreMax=`: takes descriptors that come with FDSTORE=1, drops those of a
name with FDSTOREREMOVE=1, closes what comes with BARRIER=1, and passes what it keeps to the process that it starts next.
"""

import array
import fcntl
import os
import signal
import socket
import threading

import harness
from harness import expect

# Kept descriptors have numbers from here on, beyond those that the next process gets them by.
HIGH = 600


class Manager:
    """Starts this daemon again and again. most: how many descriptors it keeps."""

    def __init__(self, daemon, most=1024):
        self.daemon = daemon
        self.kept = []  # (name, descriptor)
        self.lock = threading.Condition()
        self.told = []  # lines
        self.path = os.path.join(daemon.folder, "manager")
        self.endpoint = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.endpoint.bind(self.path)
        self.most = most
        daemon.place.ends.append(self.done)
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()

    def listen(self):
        while True:
            data, control, _flags, _from = self.endpoint.recvmsg(65536, socket.CMSG_SPACE(4 * 253), socket.MSG_CMSG_CLOEXEC)
            fds = array.array("i")
            for level, kind, part in control:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    fds.frombytes(part[:len(part) - len(part) % fds.itemsize])
            words = data.decode().splitlines()
            if words == ["END"]:
                return
            self.take(words, list(fds))

    def take(self, words, fds):
        name = "".join(word[7:] for word in words if word.startswith("FDNAME=")) or "stored"
        with self.lock:
            if "FDSTORE=1" in words:
                room = max(0, self.most - len(self.kept))
                self.kept += [(name, fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, HIGH)) for fd in fds[:room]]
            if "FDSTOREREMOVE=1" in words:
                fds += [fd for one, fd in self.kept if one == name]
                self.kept = [(one, fd) for one, fd in self.kept if one != name]
            for fd in fds:
                os.close(fd)
            self.told += words
            self.lock.notify_all()

    def await_told(self, word, mark=0):
        with self.lock:
            if not self.lock.wait_for(lambda: word in self.told[mark:], harness.PATIENCE):
                raise AssertionError("the daemon did not say %s:\n%s" % (word, self.daemon.output.tail()))

    def settle(self):
        """Takes what the process before has sent: it may have been killed right after that."""
        mark = len(self.told)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
            end.sendto(b"SETTLED=1", self.path)
        self.await_told("SETTLED=1", mark)

    def start(self):
        """The daemon's next process, with all that is kept; returns when it is ready."""
        self.settle()
        mark = len(self.told)
        self.spawn()
        self.await_told("READY=1", mark)
        return self

    def spawn(self):
        daemon = self.daemon
        with self.lock:
            kept = list(self.kept)
        environment = dict(daemon.environment, NOTIFY_SOCKET=self.path, FDSTORE=str(self.most))
        script, run = "exec \"$@\"", []
        if kept:
            # As sd_listen_fds(3) has them: from 3 on, and for the process that the daemon is, by its own number.
            script = "exec %s; %s" % (" ".join("%d<&%d-" % (3 + n, fd) for n, (_, fd) in enumerate(kept)), script)
            run = ["sh", "-c", "LISTEN_PID=$$ exec \"$@\"", "sh"]
            environment.update(LISTEN_FDS=str(len(kept)), LISTEN_FDNAMES=":".join(name for name, _ in kept))
        # Not sh, which knows descriptors of one digit only.
        command = ["bash", "-c", script, "bash"] + daemon.wrap + run + [harness.HOLDFASTD, "-c", daemon.file]
        daemon.process = harness.Process(daemon.place, command + daemon.arguments, pass_fds=[fd for _, fd in kept],
                                         environment=environment)

    def restart(self):
        """As `systemctl restart`."""
        expect(self.daemon.terminate(), 0, self.daemon.output.tail())
        self.start()

    def stop(self):
        """As `systemctl stop`: what is kept is closed."""
        expect(self.daemon.terminate(), 0, self.daemon.output.tail())
        self.drop()

    def kill(self):
        self.daemon.process.signal(signal.SIGKILL)
        self.daemon.process.wait()

    def apart(self):
        """What it keeps, but for connections that it has for the case of a crash."""
        with self.lock:
            return [name for name, _ in self.kept if name == "hf" or not name.startswith("hf")]

    def drop(self):
        with self.lock:
            for _, fd in self.kept:
                os.close(fd)
            self.kept = []

    def done(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
            end.connect(self.path)
            end.send(b"END")
        self.thread.join(harness.PATIENCE)
        self.endpoint.close()
        self.drop()
