#!/bin/sh
# Configures and builds preset fuzz, the targets and their seeds, in build/fuzz.
set -eu
cd "$(dirname "$0")/.."
cmake --preset fuzz
cmake --build --preset fuzz
