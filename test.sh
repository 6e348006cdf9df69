#!/bin/sh
# Builds what the tests need and runs them.
#   ./test.sh quick    unit, contract and golden tests: C++ programs and shell scripts alone
#   ./test.sh          the default tier: one proof of everything
#   ./test.sh full     the default tier, what proves a thing a second time, and fuzzing
set -eu
cd "$(dirname "$0")"
packages=test target=all
case ${1:-default} in
  default) set -- -LE full ;;
  quick) packages=quick target=quick_tests; set -- -L quick ;;
  full) set -- ;;
  *) echo "usage: ./test.sh [quick|full]" >&2; exit 2 ;;
esac
tools/install-packages.sh $packages
tools/configure.sh release -DTROIKA_WERROR=ON
cmake --build --preset release --target $target
# Tests save hundreds of checkpoints: their files are kept in memory where 8 GiB of it are free.
free=$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 { print $4 }')
available=$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)
if [ "${free:-0}" -gt 8388608 ] && [ "${available:-0}" -gt 8388608 ]; then
  scratch=$(mktemp -d /dev/shm/tr-XXXXXX)  # short: a browser's socket lies below it
  chmod 755 "$scratch"  # a test reads as another user
  trap 'rm -rf "$scratch"' EXIT
  trap 'exit 130' INT TERM
  export TMPDIR="$scratch" TEST_TMPDIR="$scratch"
fi
# Many tests wait for processes and links: two more than there are cores fill the time.
ctest --test-dir build/release --no-tests=error --output-on-failure -j "$(($(nproc) + 2))" "$@"
