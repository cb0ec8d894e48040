"""A puppet (tests/interop/puppet.py) of valkey-py; with the word asyncio before the port, of its asyncio half."""

import sys

import lines
import valkey
import valkey.asyncio

if sys.argv[1:-1] == ["asyncio"]:
    lines.perform_asyncio("valkey-py asyncio", valkey, valkey.asyncio.Valkey, valkey.ValkeyError)
else:
    lines.perform("valkey-py", valkey, valkey.Valkey, valkey.ValkeyError, locked=True)
