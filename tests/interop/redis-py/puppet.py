"""A puppet (tests/interop/puppet.py) of redis-py."""

import sys
import threading

import redis

PORT = int(sys.argv[1])
clients = {}
voice = threading.Lock()


def say(number, *words):
    with voice:
        print(number, *(" ".join(str(word).split()) for word in words), flush=True)


def text(value):
    return value.decode() if isinstance(value, bytes) else value


def call(number, client, words):
    try:
        value = text(client.execute_command(*words))
    except redis.ResponseError as error:
        # redis-py takes the code ERR off, and no other.
        code = str(error).split(" ", 1)[0]
        say(number, "refused", error if code.isupper() else "ERR %s" % error)
    except (redis.RedisError, OSError, ValueError) as error:
        say(number, "broken", type(error).__name__, error)
    else:
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


def main():
    say(0, "ready", "redis-py", redis.__version__)
    for line in sys.stdin:
        number, verb, name, *words = line.split()
        if verb == "open":
            clients[name] = redis.Redis(port=PORT, single_connection_client=words[0] == "one")
            say(number, "ok")
        elif verb == "close":
            clients[name].connection_pool.disconnect()
            say(number, "ok")
        else:
            threading.Thread(target=call, args=(number, clients[name], words), daemon=True).start()


main()
