"""An allocator that runs out, for a process while it runs: tests/shim/memory.c, preloaded."""

import mmap
import os
import struct

import harness

LIBRARY = os.path.join(harness.BUILD, "tests", "shim", "memory.so")


def own_allocator():
    """Skips a test that counts on the allocator of the C library."""
    with open(harness.HOLDFASTD, "rb") as stream:
        if b"__asan_init" in stream.read():
            raise harness.Skip("the address sanitizer has an allocator of its own")


class Memory:
    """environment is for the process that shall run out of it."""

    def __init__(self, place, name):
        if not os.path.exists(LIBRARY):
            raise AssertionError("%s is not built" % LIBRARY)
        own_allocator()
        path = os.path.join(place.path, "%s.memory" % name)
        with open(path, "wb") as stream:
            stream.write(bytes(40))
        with open(path, "r+b") as stream:
            self.page = mmap.mmap(stream.fileno(), 40)
        place.ends.append(self.page.close)
        self.environment = {"LD_PRELOAD": LIBRARY, "HOLDFAST_MEMORY": path}

    def word(self, at):
        return struct.unpack("=q", self.page[8 * at:8 * at + 8])[0]

    @property
    def used(self):
        """Bytes."""
        return self.word(1)

    @property
    def failed(self):
        """Requests that got nothing."""
        return self.word(2)

    @property
    def asked(self):
        """Requests."""
        return self.word(3)

    def again(self, last):
        """For the next process: request `last` is the last one that succeeds."""
        self.page[:] = struct.pack("=5q", 0, 0, 0, 0, last)

    def leave(self, more):
        """From now on the process gets so many bytes more; None: as many as it asks for."""
        # One store of eight aligned bytes.
        self.page[:8] = struct.pack("=q", 0 if more is None else self.used + more)
