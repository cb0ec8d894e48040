"""The lines of a puppet (puppet.py), for redis-py and its fork valkey-py, which differ in their names only."""

import asyncio
import contextlib
import sys
import threading

PORT = int(sys.argv[-1])
voice = threading.Lock()


def say(number, *words):
    with voice:
        print(number, *(" ".join(str(word).split()) for word in words), flush=True)


def text(value):
    return value.decode() if isinstance(value, bytes) else value


def tell(number, words, value):
    if value is None:
        say(number, "null")
    elif isinstance(value, bool):
        # What redis-py makes of PONG and OK.
        say(number, "text", ("PONG" if words[0] == "PING" else "OK") if value else "no")
    elif isinstance(value, (str, dict)):
        say(number, "text", value)
    elif isinstance(value, list):
        say(number, "list", *map(text, value))
    else:
        say(number, "int", value)


def tell_error(number, module, error):
    if isinstance(error, module.ResponseError):
        # redis-py takes the code ERR off, and no other.
        code = str(error).split(" ", 1)[0]
        say(number, "refused", error if code.isupper() else "ERR %s" % error)
    else:
        say(number, "broken", type(error).__name__, error)


def perform(name, module, make, base, locked=False):
    """make: the class of a client; base: that of its errors; locked: a client with a connection of its own is for one
    thread at a time, and does not see to that by itself"""
    clients = {}
    turns = {}

    def call(number, client, words):
        try:
            with turns.get(client, contextlib.nullcontext()):
                value = text(client.execute_command(*words))
        except (base, OSError, ValueError) as error:
            tell_error(number, module, error)
        else:
            tell(number, words, value)

    say(0, "ready", name, module.__version__)
    for line in sys.stdin:
        number, verb, client, *words = line.split()
        if verb == "open":
            clients[client] = make(port=PORT, single_connection_client=words[0] == "one",
                                       **{"socket_timeout": None} if words[1:] else {})
            if locked and words[0] == "one":
                turns[clients[client]] = threading.Lock()
            say(number, "ok")
        elif verb == "close":
            clients[client].connection_pool.disconnect()
            say(number, "ok")
        else:
            threading.Thread(target=call, args=(number, clients[client], words), daemon=True).start()


def perform_asyncio(name, module, make, base):
    """The same with tasks in the place of threads."""
    clients = {}
    tasks = set()

    async def call(number, client, words):
        try:
            value = text(await client.execute_command(*words))
        except (base, OSError, ValueError) as error:
            tell_error(number, module, error)
        else:
            tell(number, words, value)

    async def main():
        lines = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
        say(0, "ready", name, module.__version__)
        while line := (await lines.readline()).decode():
            number, verb, client, *words = line.split()
            if verb == "open":
                clients[client] = make(port=PORT, single_connection_client=words[0] == "one",
                                       **{"socket_timeout": None} if words[1:] else {})
                say(number, "ok")
            elif verb == "close":
                await clients[client].connection_pool.disconnect()
                say(number, "ok")
            else:
                task = asyncio.create_task(call(number, clients[client], words))
                tasks.add(task)
                task.add_done_callback(tasks.discard)

    asyncio.run(main())
