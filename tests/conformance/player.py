"""A program that uses the package for Python as README.md says: it does what it is told line by line."""

import asyncio
import math
import sys
import threading
import time
import urllib.parse

import holdfast

say_mutex = threading.Lock()
locks = {}
errors = {}  # of lock, by name


def say(*words):
    with say_mutex:
        print(*words, flush=True)


def seconds(text):
    return {"forever": math.inf, "nan": math.nan, "long": 366 * 86400}.get(text) or float(text)


def options_of(words):
    options = {}
    for word in words:
        key, _, value = word.partition("=")
        if key in ("limit", "permits"):
            options[key] = int(value)
        elif key in ("wait", "lease", "max_hold"):
            options[key] = seconds(value)
        elif key == "shared":
            options[key] = True
        elif key == "watch":
            options["on_wait"] = lambda info: say(value, "waits", info.holder.pid if info.holder else "-", info.position or "-",
                                                  int(info.waited * 1000))
        else:
            options[key] = urllib.parse.unquote(value)
    return options


def outcome(call):
    """The words for what a call returns or raises."""
    try:
        result = call()
    except (TypeError, ValueError) as error:
        return "invalid", 0, error
    except holdfast.HoldfastError as error:
        word = ("timeout" if isinstance(error, holdfast.LockTimeout) else "busy" if isinstance(error, holdfast.LockBusy)
                else "lost:" + error.reason if isinstance(error, holdfast.LockLost)
                else "refused:" + error.code if isinstance(error, holdfast.LockRefused) else "unreachable")
        if word == "timeout" and not isinstance(error, holdfast.LockBusy):
            word = "timeout, and not busy"
        return word, int(error.transient), error
    return result


def lock(name, words):
    def take():
        options = options_of(words[1:])
        locks[name] = holdfast.lock(urllib.parse.unquote(words[0]), on_lost=lambda loss: say(name, "told", loss.reason), **options)
        return "held", locks[name].acquire()

    said = outcome(take)
    errors[name] = said[2] if said[2:] else None
    say(name, "lock", *said)


def ok(call):
    call()
    return ("ok",)


async def crowd(count, name, wait):
    inside, most, errors = 0, 0, []

    async def one():
        nonlocal inside, most
        try:
            names = name.split(",")
            async with holdfast.aio.lock_all(names, wait=seconds(wait)) if names[1:] else holdfast.aio.lock(name, wait=seconds(wait)):
                inside += 1
                most = max(most, inside)
                await asyncio.sleep(0)
                inside -= 1
        except holdfast.HoldfastError as error:
            errors.append(error)

    await asyncio.gather(*(one() for _ in range(int(count))))
    return int(count) - len(errors), most, errors[0] if errors else "-"


def spin(ms, names):
    """One lock after the other, for so long, each of a new name or all of one; tests/bench asks."""
    begun, done = time.monotonic(), 0
    while time.monotonic() < begun + int(ms) / 1000:
        with holdfast.lock("spin-%f-%d" % (begun, done) if names == "new" else "spin"):
            done += 1
    return done


def do(line):
    name, verb, *words = line.split()
    if verb == "lock":
        threading.Thread(target=lock, args=(name, words), daemon=True).start()
    elif verb == "crowd":
        say(name, verb, *asyncio.run(crowd(*words)))
    elif verb == "spin":
        say(name, verb, spin(*words))
    elif verb == "holder":
        holder = errors[name].holder
        say(name, verb, *(("pid", holder.pid, holder.token, holder.why) if holder else ("nobody",)))
    elif verb == "valid":
        say(name, verb, int(locks[name].valid_for() * 1000))
    elif verb == "check":
        say(name, verb, *outcome(lambda: ok(locks[name].raise_if_lost)))
    elif verb == "extend":
        say(name, verb, *outcome(lambda: ok(lambda: locks[name].extend(seconds(words[0])))))
    elif verb == "unlock":
        say(name, verb, *outcome(lambda: ok(locks[name].release)))


say("-", "ready")
for command in sys.stdin:
    do(command)
