#!/usr/bin/env bash
# Plants faults in the sources (tools/proofs/KIND/*.patch), one at a time, in a copy of the tree, and shows that the tests find each one.
# Without a fault the same tests must pass.
#
#   tools/proofs/planted.sh KIND...     detection: the code that decides which rank failed; sums: sums of gradients; gpu: kernels for GPUs
#
# A patch whose first line is "found by: PROGRAM FILTER" names its tests; the others of a kind share those below. Builds in
# build/proofs/planted-KIND. JOBS: compilations at a time, all cores by default.
set -euo pipefail
export LC_ALL=C OMP_NUM_THREADS=1
root=$(cd "$(dirname "$0")/../.." && pwd)
jobs=${JOBS:-$(nproc)}

die() {
  echo "planted: $1" >&2
  exit 2
}

tests_of() { # tests_of PATCH: lines of PROGRAM FILTER
  local first
  read -r first < "$1"
  case $first in
    "found by: "*) echo "${first#found by: }" ;;
    *) case $kind in
      detection) echo "rendezvous_fault_test Schedules.*" ;;
      gpu) printf '%s\n' "cuda_unit_test *" "cuda_parity_test *" ;;
      *) die "$1 does not say which tests find it" ;;
    esac ;;
  esac
}
find_fault() { # find_fault NAME < tests: runs them; fails, and prints what failed, when one does
  local program filter log=$work/$1.log
  while read -r program filter; do
    cmake --build "$copy/build" -j"$jobs" --target "$program" > "$work/build.log" 2>&1 || { tail -n 30 "$work/build.log" >&2 && die "$program does not compile with: $1"; }
    if ! (cd "$copy/build" && timeout 300 "./$program" --gtest_brief=1 --gtest_fail_fast --gtest_filter="$filter") > "$log" 2>&1; then
      echo "$program: $(grep -m1 -E '^seed|FAILED' "$log" || echo 'the tests did not end')"
      return 1
    fi
    grep -q 'PASSED  \] [1-9]' "$log" || die "$program has no test $filter"
  done
}

[ $# -gt 0 ] || die "usage: tools/proofs/planted.sh detection|sums|gpu..."
missed=0
for kind in "$@"; do
  work=$root/build/proofs/planted-$kind copy=$work/tree
  patches=("$root/tools/proofs/$kind"/*.patch)
  [ -e "${patches[0]}" ] || die "there is no kind '$kind' of faults"
  rm -rf "$copy/src" && mkdir -p "$copy"
  tar -C "$root" --exclude=./build --exclude=./runs --exclude=./.git -cf - . | tar -C "$copy" -xmf -  # as new: what was built last had a fault
  unity=16
  [ "$kind" != gpu ] || unity=1  # a fault in one header of many: few files are compiled again
  cmake -S "$copy" -B "$copy/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTROIKA_UNITY=$unity > "$work/build.log" 2>&1 || { cat "$work/build.log" && die "configuring a copy failed"; }
  for patch in "${patches[@]}"; do tests_of "$patch"; done | sort -u | find_fault none || die "tests fail without a planted fault; see $work/none.log"
  found=0
  for patch in "${patches[@]}"; do
    name=$(basename "$patch" .patch)
    patch -s -d "$copy" -p1 < "$patch" || die "$patch does not fit the sources any more; make it again"
    if what=$(tests_of "$patch" | find_fault "$name"); then
      echo "$kind: $name: missed"
    elif [ -n "$what" ]; then
      echo "$kind: $name: found by $what"
      found=$((found + 1))
    else
      exit 2
    fi
    patch -s -R -d "$copy" -p1 < "$patch"
  done
  echo "$kind: $found of ${#patches[@]} planted faults are found"
  missed=$((missed + ${#patches[@]} - found))
done
[ $missed = 0 ]
