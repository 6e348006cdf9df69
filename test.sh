#!/bin/sh
# Builds what is missing and runs the tests.
#   ./test.sh          all
#   ./test.sh quick    unit, contract and golden tests
set -eu
cd "$(dirname "$0")"
tools/install-packages.sh test

cmake --preset release >build-configure.log 2>&1 || { cat build-configure.log; exit 1; }
rm -f build-configure.log
cmake --build --preset release

cores=$(nproc)
case ${1:-all} in
  quick) exec ctest --test-dir build/release --output-on-failure -j "$cores" -L 'unit|contract|golden' ;;
  all) exec ctest --test-dir build/release --output-on-failure -j "$cores" ;;
  *) echo "usage: ./test.sh [quick]" >&2; exit 2 ;;
esac
