#!/usr/bin/env python3
"""The completions in the shells they are for: what is offered where, and what is not."""

import os
import shutil
import subprocess

import harness
from harness import expect
from terminal import Terminal

COMPLETIONS = os.path.join(harness.BUILD, "completions")

# line up to the cursor, what is offered, what is not
LINES = (
    ("holdfast ", ("run", "sessions"), ("deploy/web",)),
    ("holdfast ru", ("run",), ("sessions",)),
    ("holdfast -q ru", ("run",), ("sessions",)),
    ("holdfast -w 5 ", ("run", "sessions"), ("deploy/web", "decoy")),
    ("holdfast --tim", ("--timeout",), ("run", "--token")),
    ("holdfast -w 5 -q show deploy/d", ("deploy/db",), ("deploy/web",)),
    ("holdfast -n run deploy/web -- zebra-", ("zebra-command",), ("decoy",)),
    ("holdfast run -", ("--timeout", "--on-lost"), ("--json",)),
    ("holdfast lock --pi", ("--pid",), ("--token",)),
    ("holdfast run --on-lost ", ("kill", "signal:", "term", "warn"), ("deploy/web",)),
    ("holdfast run -w 5 ", ("deploy/web", "deploy/db"), ("decoy", "sessions")),
    ("holdfast show deploy/d", ("deploy/db",), ("deploy/web",)),
    ("holdfast unlock ru", ("run",), ("deploy/web",)),
    ("holdfast unlock run --", ("--pid",), ("--on-lost",)),
    ("holdfast lock --token-file dec", ("decoy",), ("deploy/web",)),
    ("holdfast completion ", ("bash", "zsh", "fish"), ("decoy",)),
    ("holdfast run deploy/web zebra-", ("zebra-command",), ("decoy",)),
    ("holdfast run deploy/web -- zebra-", ("zebra-command",), ("decoy",)),
    ("holdfast run -n deploy/web -- zebra-command dec", ("decoy",), ("deploy/db",)),
)
# The command's own completion; bash needs bash-completion for that.
NESTED = (
    ("holdfast run deploy/web -- holdfast show deploy/d", ("deploy/db",), ("deploy/web",)),
    ("holdfast run deploy/web holdfast check --pi", ("--pid",), ("--token",)),
)


def need(shell):
    if shutil.which(shell) is None:
        raise harness.Skip("%s is not here" % shell)


def world(place):
    """Three locks are held, a file is in the way, and a command waits to be completed."""
    daemon = place.daemon(master=place.redis()).admitted()
    client = daemon.client()
    for name in ("deploy/web", "deploy/db", "run"):
        expect(isinstance(client("LOCK", name), int), True)
    path = os.path.join(place.path, "zebra-command")
    for name in (path, os.path.join(place.path, "decoy")):
        with open(name, "w", encoding="ascii") as stream:
            stream.write("#!/bin/sh\n")
    os.chmod(path, 0o755)
    environment = dict(os.environ, HOLDFAST_URL=daemon.socket, HOME=place.path, XDG_CONFIG_HOME=place.path,
                       PATH="%s:%s:%s" % (harness.BUILD, place.path, os.environ["PATH"]))
    return daemon, environment


def compare(lines, offered):
    """offered(line): the words the shell offers there."""
    for line, wanted, unwanted in lines:
        got = offered(line)
        expect([word for word in wanted if word not in got], [], "%r: not offered, of %r" % (line, got))
        expect([word for word in unwanted if word in got], [], "%r: offered, of %r" % (line, got))


def test_bash(place):
    """bash"""
    need("bash")
    _, environment = world(place)
    # The wait is for a process substitution, which may outlive the shell by a moment.
    text = ('source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _holdfast holdfast "${COMP_WORDS[COMP_CWORD]}"; '
            'printf "%s\\n" "${COMPREPLY[@]}"; wait')

    def offered(line):
        return subprocess.run(["bash", "-c", text, os.path.join(COMPLETIONS, "holdfast.bash")] + line.split(" "),
                              cwd=place.path, env=environment, stdout=subprocess.PIPE, timeout=harness.PATIENCE,
                              encoding="utf-8", check=True).stdout.split("\n")

    compare(LINES, offered)


def test_fish(place):
    """fish"""
    need("fish")
    _, environment = world(place)
    os.makedirs(os.path.join(place.path, "fish", "completions"))
    shutil.copy(os.path.join(COMPLETIONS, "holdfast.fish"), os.path.join(place.path, "fish", "completions"))

    def offered(line):
        out = subprocess.run(["fish", "-c", "complete -C '%s'" % line], cwd=place.path, env=environment,
                             stdout=subprocess.PIPE, timeout=harness.PATIENCE, encoding="utf-8", check=True).stdout
        return [row.split("\t")[0] for row in out.split("\n")]

    compare(LINES + NESTED, offered)


ZSHRC = """
PS1='> '
fpath=(%s $fpath)
autoload -Uz compinit
compinit -D -u
zstyle ':completion:*' list-prompt ''
LISTMAX=1000
unset zle_bracketed_paste
stty -icanon -echo
unsetopt beep autolist prompt_cr prompt_sp
bindkey -e
bindkey "^T" list-choices
"""


def test_zsh(place):
    """zsh"""
    need("zsh")
    daemon, environment = world(place)
    with open(os.path.join(place.path, ".zshrc"), "w", encoding="utf-8") as stream:
        stream.write(ZSHRC % COMPLETIONS)
    more = {"ZDOTDIR": place.path, "COLUMNS": "200", "LINES": "100", "LANG": "C.UTF-8"}
    with Terminal(place, daemon, "zsh", "-d", "-i", environment=more) as terminal:
        # The terminal has its own idea of PATH.
        terminal.type("export PATH='%s' READY=yes; echo is ready=$READY\n" % environment["PATH"])
        terminal.wait("^is ready=yes")
        terminal.wait("^> ")

        def offered(line):
            start = terminal.seen
            # One after the other: list what there is, empty the line, say that this was it.
            terminal.type(line + "\x14\x15echo 'done'=$READY\n")
            terminal.wait("^done=yes")
            listed = terminal.text[start:terminal.seen].replace(line, "")
            terminal.wait("^> ")
            return listed.replace("*", " ").split()

        compare(LINES + NESTED, offered)


if __name__ == "__main__":
    harness.main(globals())
