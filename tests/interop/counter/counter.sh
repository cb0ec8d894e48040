#!/bin/sh
# The counter (tests/interop/check-counter) by the program holdfast: this process is one client.
set -eu
cd "$1"
end=$(($(date +%s) + ${3%.*}))
counted=0
while [ "$counted" -eq 0 ] || [ "$(date +%s)" -lt "$end" ]; do
    # shellcheck disable=SC2016  # for the inner shell
    "$HOLDFAST" run -q counter -- sh -ec 'printf %d $(($(cat counter) + 1)) >counter; echo "$HOLDFAST_TOKEN" >>tokens'
    counted=$((counted + 1))
done
echo "counted $counted"
