#!/usr/bin/env bash
# CMakeLists.txt, packaging/debian/changelog and the program agree about the version.
#   tests/packaging/version.sh SOURCE TROIKA
set -euo pipefail
export LC_ALL=C
cd "$1"
same() { # same WHAT ONE OTHER
  [ "$2" = "$3" ] || { echo "version: $1: '$2' and '$3' differ" >&2; exit 1; }
}
program=$("$2" version)
changelog=$(sed -n '1s/^troika (\([^)]*\)).*/\1/p' packaging/debian/changelog)
same "project() in CMakeLists.txt and troika version" "$(sed -n 's/^project(troika VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)" "${program#troika }"
same "packaging/debian/changelog and troika version" "$changelog" "${program#troika }"
echo "version: $changelog"
