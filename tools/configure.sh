#!/bin/sh
# Configures build/release: for the programs alone, or with the tests. The presets state which, so one may follow the other.
#   tools/configure.sh programs|release
set -eu
cd "$(dirname "$0")/.."
log=$(mktemp)
trap 'rm -f "$log"' EXIT
cmake --preset "$1" >"$log" 2>&1 || { cat "$log"; exit 1; }
