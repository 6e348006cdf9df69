#!/bin/sh
# Builds what is missing and runs the tests.
#   ./test.sh          the default tier: one proof of everything
#   ./test.sh quick    unit, contract and golden tests
#   ./test.sh full     the default tier, what proves a thing a second time, and fuzzing
set -eu
cd "$(dirname "$0")"
case ${1:-default} in
  default) set -- -LE full ;;
  quick) set -- -L 'unit|contract|golden' -LE full ;;
  full) set -- ;;
  *) echo "usage: ./test.sh [quick|full]" >&2; exit 2 ;;
esac
tools/install-packages.sh test
tools/configure.sh release -DTROIKA_WERROR=ON
cmake --build --preset release
# Many tests wait for processes and links: one more than there are cores fills the time.
exec ctest --test-dir build/release --no-tests=error --output-on-failure -j "$(($(nproc) + 1))" "$@"
