#!/bin/sh
# Configures build/release: for the program alone, or with the tests. The presets state which, so one may follow the other.
#   tools/configure.sh programs|release [ARGUMENTS OF CMAKE...]
set -eu
cd "$(dirname "$0")/.."
log=$(mktemp)
trap 'rm -f "$log"' EXIT
cmake --preset "$@" >"$log" 2>&1 || { cat "$log"; exit 1; }
