"""A puppet (tests/interop/puppet.py) of redis-cli: each client is one at a terminal, typed to by hand.

The terminal is dumb, so that redis-cli edits no lines, and does not echo.
"""

import os
import pty
import re
import subprocess
import sys
import termios
import threading

PORT = sys.argv[1]
PROMPT = re.compile(r"(?:^|\n)(?:not connected|127\.0\.0\.1:\d+)> $")
# What redis-cli adds when an answer took half a second or more.
SECONDS = re.compile(r"\n?\(\d+\.\d+s\)$")
SHAPES = (
    ("int", re.compile(r"^\(integer\) (-?\d+)$")),
    ("null", re.compile(r"^\(nil\)()$")),
    ("refused", re.compile(r"^\(error\) (.*)$")),
    ("broken", re.compile(r"^(Error: .*|Could not connect.*)$", re.S)),
    ("text", re.compile(r"^\"(.*)\"$")),
)
clients = {}
voice = threading.Lock()


def say(number, *words):
    with voice:
        print(number, *(" ".join(str(word).split()) for word in words), flush=True)


class Typist:
    def __init__(self):
        self.terminal, other = pty.openpty()
        mode = termios.tcgetattr(other)
        mode[1] &= ~termios.OPOST
        mode[3] &= ~termios.ECHO
        termios.tcsetattr(other, termios.TCSANOW, mode)
        self.process = subprocess.Popen(["redis-cli", "-p", PORT], stdin=other, stdout=other, stderr=other,
                                        env=dict(os.environ, TERM="dumb", HOME="/nonexistent"))
        os.close(other)
        self.turn = threading.Lock()
        self.read()

    def read(self):
        """What redis-cli says until it prompts again."""
        text = ""
        while not PROMPT.search(text):
            try:
                text += os.read(self.terminal, 1 << 16).decode()
            except OSError:
                return "Error: redis-cli has ended"
        return SECONDS.sub("", PROMPT.sub("", text).strip())

    def call(self, number, words):
        with self.turn:
            os.write(self.terminal, " ".join(words).encode() + b"\n")
            text = self.read()
        items = re.findall(r"^\d+\) (?:\(integer\) )?(.*)$", text, re.M)
        if items:
            say(number, "list", *items)
            return
        for kind, shape in SHAPES:
            match = shape.match(text)
            if match:
                say(number, kind, match.group(1))
                return
        say(number, "text", text)

    def close(self):
        self.process.kill()
        self.process.wait()


def main():
    version = subprocess.run(["redis-cli", "--version"], stdout=subprocess.PIPE, check=True).stdout.decode()
    say(0, "ready", version)
    for line in sys.stdin:
        number, verb, name, *words = line.split()
        if verb == "open":
            clients[name] = Typist()
            say(number, "ok")
        elif verb == "close":
            clients[name].close()
            say(number, "ok")
        else:
            threading.Thread(target=clients[name].call, args=(number, words), daemon=True).start()
    for client in clients.values():
        client.close()


main()
