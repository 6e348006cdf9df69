#!/usr/bin/env bash
# Whether every fault that is planted to prove the tests still fits the sources. Needs patch.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
left=0 count=0
for patch in "$root"/tools/proofs/*/*.patch; do
  count=$((count + 1))
  patch -s --dry-run -d "$root" -p1 < "$patch" && continue
  echo "$patch does not fit the sources any more; make it again"
  left=$((left + 1))
done
echo "$((count - left)) of $count planted faults fit"
[ $left = 0 ] && [ $count -gt 0 ]
