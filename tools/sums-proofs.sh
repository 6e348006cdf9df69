#!/usr/bin/env bash
# Plants faults in the code that adds up gradients (tools/sums-proofs/NAME.patch), one at a time, in a copy of the tree. The first
# line of a patch names the test program, and which of its tests, that must fail then; without a fault they must pass.
#   tools/sums-proofs.sh
# Builds in build/sums-proofs (about 10 minutes the first time).
set -euo pipefail
export LC_ALL=C OMP_NUM_THREADS=1
root=$(cd "$(dirname "$0")/.." && pwd)
work=$root/build/sums-proofs
copy=$work/tree
jobs=${JOBS:-$(nproc)}

die() {
  echo "sums-proofs: $1" >&2
  exit 2
}
run() { # run FILTER PROGRAM LOG
  cmake --build "$copy/build" -j"$jobs" --target "$2" > "$work/build.log" 2>&1 || { tail -n 30 "$work/build.log" && die "$2 does not compile"; }
  timeout 120 "$copy/build/$2" --gtest_brief=1 --gtest_filter="$1" > "$3" 2>&1
}

rm -rf "$copy/src" && mkdir -p "$copy"
tar -C "$root" --exclude=./build --exclude=./runs --exclude=./.git -cf - . | tar -C "$copy" -xmf -  # as new: what was built last had a fault
cmake -S "$copy" -B "$copy/build" -G Ninja -DCMAKE_BUILD_TYPE=Release > "$work/build.log" 2>&1 || { cat "$work/build.log" && die "configuring a copy failed"; }

caught=0 count=0
for patch in "$root"/tools/sums-proofs/*.patch; do
  name=$(basename "$patch" .patch)
  read -r _ _ program tests < "$patch"
  run "$tests" "$program" "$work/none.log" || { cat "$work/none.log" && die "$program $tests fails without a planted fault"; }
  grep -q 'PASSED  \] [1-9]' "$work/none.log" || die "$program has no test $tests"
  patch -s -d "$copy" -p1 < "$patch" || die "$patch does not fit the sources any more; make it again"
  count=$((count + 1))
  if run "$tests" "$program" "$work/$name.log"; then
    echo "planted $name: missed"
  else
    echo "planted $name: found: $(grep -m1 'FAILED' "$work/$name.log" || echo 'the tests did not end')"
    caught=$((caught + 1))
  fi
  patch -s -R -d "$copy" -p1 < "$patch"
done
echo "$caught of $count planted faults are found"
[ "$caught" = "$count" ] && [ "$count" -gt 0 ]
