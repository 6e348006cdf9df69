#!/bin/bash
# Proves the detection of failures: 100,000 made-up schedules of delays, pauses, cut links, deaths and stalls, and planted faults in
# the code that judges them, which the first 2,000 schedules must find.
#   tools/detection-proofs.sh
# Builds in build/detection-proofs.
set -euo pipefail
export LC_ALL=C
root=$(cd "$(dirname "$0")/.." && pwd)
work=$root/build/detection-proofs
copy=$work/tree
jobs=${JOBS:-$(nproc)}

die() {
  echo "detection-proofs: $1" >&2
  exit 2
}

build() { # build NAME: the tests of the copy
  cmake --build "$copy/build" -j"$jobs" --target rendezvous_fault_test > "$work/build.log" 2>&1 || { tail -n 30 "$work/build.log" && die "with $1 the tests do not compile"; }
}
schedules() { # schedules FILTER LOG
  timeout 900 "$copy/build/rendezvous_fault_test" --gtest_brief=1 --gtest_filter="$1" > "$2" 2>&1
}

rm -rf "$copy/src" && mkdir -p "$copy"
tar -C "$root" --exclude=./build --exclude=./runs --exclude=./.git -cf - . | tar -C "$copy" -xmf -  # as new: what was built last had a fault
cmake -S "$copy" -B "$copy/build" -G Ninja -DCMAKE_BUILD_TYPE=Release > "$work/build.log" 2>&1 || { cat "$work/build.log" && die "configuring a copy failed"; }
build "nothing planted"
schedules 'Schedules.*' "$work/none.log" || { cat "$work/none.log" && die "schedules fail without a planted fault"; }

caught=0 count=0
for patch in "$root"/tools/detection-proofs/*.patch; do
  name=$(basename "$patch" .patch)
  patch -s -d "$copy" -p1 < "$patch" || die "$patch does not fit the sources any more; make it again"
  build "$name"
  count=$((count + 1))
  if schedules 'Schedules.*' "$work/$name.log"; then
    echo "planted $name: missed"
  else
    seed=$(grep -m1 '^seed' "$work/$name.log") || die "with $name the tests ended without naming a schedule; see $work/$name.log"
    echo "planted $name: found: $seed"
    caught=$((caught + 1))
  fi
  patch -s -R -d "$copy" -p1 < "$patch"
done
echo "$caught of $count planted faults are found"
[ "$caught" = "$count" ] && [ "$count" -gt 0 ] || die "$caught of $count planted faults are found"

build "nothing planted"
schedules 'FullSchedules.*' "$work/full.log" || { cat "$work/full.log" && die "of 100,000 schedules some fail"; }
tail -n 2 "$work/full.log"
echo "100,000 schedules: one report each, of the true culprit, in time; none where nothing is wrong"
