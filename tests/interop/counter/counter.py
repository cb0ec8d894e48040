"""The counter (tests/interop/check-counter) by client/python: a thread for each client."""

import os
import sys
import threading
import time

import holdfast

FOLDER, CLIENTS, SECONDS = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
COUNTER, TOKENS = os.path.join(FOLDER, "counter"), os.path.join(FOLDER, "tokens")
END = time.monotonic() + SECONDS
counted = [0] * CLIENTS
hf = holdfast.Client(connect_timeout=600)  # a busy machine is slow


def work(client):
    while counted[client] == 0 or time.monotonic() < END:
        with hf.lock("counter") as lock:
            with open(COUNTER, encoding="ascii") as stream:
                number = int(stream.read())
            with open(COUNTER, "w", encoding="ascii") as stream:
                stream.write(str(number + 1))
            with open(TOKENS, "a", encoding="ascii") as stream:
                stream.write("%d\n" % lock.token)
        counted[client] += 1


clients = [threading.Thread(target=work, args=(client,)) for client in range(CLIENTS)]
for one in clients:
    one.start()
for one in clients:
    one.join()
print("counted", sum(counted))
