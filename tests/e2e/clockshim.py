"""Clocks of its own for a process, to be stepped while it runs: tests/shim/clock.c, preloaded.

The time of day moves by step(); CLOCK_BOOTTIME by stun() alone, as in a guest that was. CLOCK_MONOTONIC stays true.
"""

import mmap
import os
import struct

import harness

LIBRARY = os.path.join(harness.BUILD, "tests", "shim", "clock.so")


class Clock:
    """environment is for the process that shall live by this clock."""

    def __init__(self, place, name):
        if not os.path.exists(LIBRARY):
            raise AssertionError("%s is not built" % LIBRARY)
        path = os.path.join(place.path, "%s.clock" % name)
        with open(path, "wb") as stream:
            stream.write(bytes(16))
        with open(path, "r+b") as stream:
            self.page = mmap.mmap(stream.fileno(), 16)
        place.ends.append(self.page.close)
        self.environment = {"LD_PRELOAD": LIBRARY, "HOLDFAST_CLOCK": path}
        # A daemon built with the address sanitizer would object to a library before its own.
        self.environment["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"

    @property
    def offset(self):
        """Seconds ahead of the machine's clock."""
        return struct.unpack("=q", self.page[:8])[0] / 1e6

    def step(self, seconds):
        # One store of eight aligned bytes: a reader sees the old time or the new.
        self.page[:8] = struct.pack("=q", round((self.offset + seconds) * 1e6))

    def stun(self, seconds):
        """The clock that leases are counted by shows less by so much."""
        offset = struct.unpack("=q", self.page[8:])[0]
        self.page[8:] = struct.pack("=q", offset - round(seconds * 1e6))
