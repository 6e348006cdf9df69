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
# Many tests wait for processes and links: one more than there are cores fills the time.
exec ctest --test-dir build/release --no-tests=error --output-on-failure -j "$(($(nproc) + 1))" "$@"
