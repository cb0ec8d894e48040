#!/bin/sh
# store.sh FILE TOKEN: puts its input into FILE, unless a later holder has written.
set -eu
exec 9>>"$1.lock"
flock 9
last=$(cat "$1.token" 2>/dev/null || echo 0)
[ "$2" -ge "$last" ] || { echo "refused: $2 is older than $last" >&2; exit 1; }
echo "$2" >"$1.token.new"
cat >"$1.new"
sync "$1.token.new" "$1.new"
mv "$1.token.new" "$1.token"
mv "$1.new" "$1"
