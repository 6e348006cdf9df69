#!/usr/bin/env bash
# Whether programs run on any Linux with glibc 2.28: what they want of glibc is not newer, and they want no library but glibc's.
# One line per program; fails where one is above the floor.
#
#   tools/floor.sh PROGRAM...
#   tools/floor.sh --self-test       that the check finds a program which wants more
set -euo pipefail
export LC_ALL=C
floor=2.28
libraries='lib(c|m|pthread|dl|rt|util)\.so\.[0-9]+|ld-linux-(x86-64|aarch64)\.so\.[0-9]+'

check() { # check PROGRAM
  local newest strangers
  readelf -h "$1" > /dev/null 2>&1 || { echo "floor: '$1' is no program" >&2 && return 1; }
  newest=$(readelf --wide --version-info "$1" | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -uV | tail -n 1)
  strangers=$(readelf --wide --dynamic "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -v -x -E "$libraries" || true)
  if [ -n "$strangers" ]; then
    echo "floor: $1 wants $(xargs <<< "$strangers"), which is not glibc's" >&2 && return 1
  elif [ "$(printf '%s\n' "$newest" $floor | sort -V | tail -n 1)" != $floor ]; then
    echo "floor: $1 wants glibc $newest, and $floor is the floor" >&2 && return 1
  fi
  echo "floor: $1 wants glibc ${newest:-of any version}, $(stat -c %s "$1") bytes"
}

if [ "${1:-}" = --self-test ]; then
  # Debian's g++ links against the glibc and the C++ library of its machine.
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  echo 'int main() { return 0; }' | g++ -x c++ - -o "$work/new"
  echo '#include <stdexcept>
int main(int n, char**) { if (n > 9) throw std::runtime_error(""); }' | g++ -x c++ - -o "$work/linked"
  for program in new linked; do
    ! check "$work/$program" 2> "$work/said" || { echo "floor: '$program' passed" >&2 && exit 1; }
  done
  grep -q 'wants libstdc++' "$work/said" || { cat "$work/said" >&2 && exit 1; }
  echo "floor: finds a newer glibc and another library"
  exit 0
fi
[ $# != 0 ] || { echo "usage: tools/floor.sh PROGRAM..." >&2 && exit 2; }
failed=0
for program; do check "$program" || failed=1; done
exit $failed
