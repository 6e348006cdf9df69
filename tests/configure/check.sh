#!/usr/bin/env bash
# ./test.sh after ./quickstart.sh has the tests of a clean configure, and a test command without tests fails.
#   tests/configure/check.sh SOURCE FOLDER      FOLDER is recreated
set -euo pipefail
source=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder/checkout"

fail() { echo "configure: $*" >&2; exit 1; }
tests_of() { ctest --test-dir "$1/build/release" -N | sed -n 's/^Total Tests: //p'; }

# The checkout without what was built in it.
(cd "$source" && tar -cf - --exclude=./build --exclude=./runs --exclude=./.git .) | tar -xf - -C "$folder/checkout"
cd "$folder/checkout"

grep -q 'tools/configure.sh programs' quickstart.sh || fail "quickstart.sh no longer configures by tools/configure.sh programs"
grep -q 'tools/configure.sh release' test.sh || fail "test.sh no longer configures by tools/configure.sh release"
grep -q -- '--no-tests=error' test.sh || fail "test.sh passes without a test"

tools/configure.sh programs
[ "$(tests_of .)" = 0 ] || fail "preset programs registers tests"
if ctest --test-dir build/release --no-tests=error >/dev/null 2>&1; then fail "ctest passes without a test"; fi

tools/configure.sh release
after=$(tests_of .)
rm -rf build
tools/configure.sh release
clean=$(tests_of .)
[ "$clean" -gt 0 ] || fail "a clean configure registers no test"
[ "$after" = "$clean" ] || fail "$after tests after quickstart.sh's configure, $clean in a clean one"
echo "configure: $clean tests, with and without quickstart.sh before"
rm -rf "$folder/checkout"
