"""Holds the names of its arguments (tests/interop/outages) by client/python: a thread for each."""

import sys
import threading
import time

import holdfast


locks = []


def hold(name):
    lock = holdfast.lock(name, on_lost=lambda loss: print("lost", name, flush=True))
    lock.acquire()
    locks.append(lock)
    print("held", name, flush=True)


for name in sys.argv[1:]:
    threading.Thread(target=hold, args=(name,), daemon=True).start()
    time.sleep(0.8)  # so that their leases are renewed at other times
sys.stdin.read()
