"""A terminal for end-to-end tests: a program in its foreground, typed at and read from."""

import os
import re
import select
import subprocess
import time

import harness


class Terminal:
    """A program in the foreground of a terminal of its own."""

    def __init__(self, place, daemon, *command, environment=None):
        if not os.access(harness.HOLDFAST, os.X_OK):
            raise harness.Skip("%s is not built" % harness.HOLDFAST)
        self.text = ""
        self.seen = 0
        environment = dict(os.environ, HOLDFAST_URL=daemon.socket, PS1="$ ", TERM="dumb", HOME=place.path,
                           PATH="%s:%s" % (harness.BUILD, os.environ["PATH"]), **environment or {})
        try:
            self.master, slave = os.openpty()
        except OSError as error:
            raise harness.Skip("no pseudo-terminal: %s (is /dev/pts mounted?)" % error) from error
        # Forking by hand is no good beside threads; setsid makes the session and its terminal, and becomes the command.
        self.process = subprocess.Popen(("setsid", "-c") + command, stdin=slave, stdout=slave, stderr=slave,
                                        cwd=place.path, env=environment)
        self.pid = self.process.pid
        os.close(slave)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # A hang-up ends what is in the foreground; the rest is killed by its number.
        self.process.kill()
        self.process.wait()
        os.close(self.master)

    def type(self, text):
        os.write(self.master, text.encode())

    def read(self, until):
        """More output; False at its end."""
        if not select.select([self.master], [], [], max(0, until - time.monotonic()))[0]:
            raise AssertionError("the terminal is silent; so far:\n%s" % self.text)
        try:
            data = os.read(self.master, 1 << 16)
        except OSError:  # the last process has closed the terminal
            data = b""
        self.text += data.decode("utf-8", "replace").replace("\r", "")
        return data != b""

    def wait(self, pattern):
        """The first match behind everything waited for before."""
        until = time.monotonic() + harness.PATIENCE
        while True:
            match = re.compile(pattern, re.M).search(self.text, self.seen)
            if match:
                self.seen = match.end()
                return match
            if not self.read(until):
                raise AssertionError("no %r on the terminal:\n%s" % (pattern, self.text))

    def end(self):
        """Reads up to the end; the status as subprocess gives it."""
        until = time.monotonic() + harness.PATIENCE
        while self.read(until):
            pass
        return self.process.wait(harness.PATIENCE)
