#!/usr/bin/env python3
"""What people are shown: INFO's sections, who a session was, and a master that says nothing."""

import harness
import tool
from harness import expect


def test_info_sections(place):
    """holdfast info shows the section that was asked for, and fails for one that there is not"""
    daemon = place.daemon(master=place.redis())
    status, output = tool.call(place, daemon, "info", "LOCKS")
    expect(status, 0, output)
    expect(output.startswith("# Locks\n") and "# Server" not in output, True, output)
    status, output = tool.call(place, daemon, "info", "nosuch")
    expect(status, 64, output)
    expect("there is no section 'nosuch': Server, Clients," in output, True, output)
    status, output = tool.call(place, daemon, "info", "keyspace")
    expect(status, 1, output)
    expect("keyspace" in output, True, output)


if __name__ == "__main__":
    harness.main(globals())
