#!/usr/bin/env bash
# CMakeLists.txt, packaging/debian/changelog and the program agree about version and date.
#   tests/packaging/version.sh SOURCE TROIKA
set -euo pipefail
export LC_ALL=C
cd "$1"
same() { # same WHAT ONE OTHER
  [ "$2" = "$3" ] || { echo "version: $1: '$2' and '$3' differ" >&2; exit 1; }
}
program=$("$2" version)
changelog=$(sed -n '1s/^troika (\([^)]*\)).*/\1/p' packaging/debian/changelog)
date=$(sed -n 's/^ -- .*>  //p' packaging/debian/changelog | head -n 1)
same "project() in CMakeLists.txt and troika version" "$(sed -n 's/^project(troika VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)" "${program#troika }"
same "packaging/debian/changelog and troika version" "$changelog" "${program#troika }"
same "dates of packaging/debian/changelog and of src/ground/base/version.h" "$(date -u -d "$date" +%F)" \
  "$("$2" manual | sed -n 's/^\.TH [^ ]* 1 \([^ ]*\) .*/\1/p')"
echo "version: $changelog of $date"
