#!/usr/bin/env bash
# tools/gpu-check.sh on a machine without a GPU: every line is prepared, its results can be read, and it ends with 1 when a line fails.
#
#   tests/gpu/check.sh REPOSITORY BUILD_FOLDER WORK_FOLDER [full]     full: runs all small lines with the stand-ins, two ranks too
set -euo pipefail
repository=$1 build=$2 work=$3
rm -rf "$work"
mkdir -p "$work"
check() { "$repository/tools/gpu-check.sh" --dry --program "$build/troika-stand-in" --libraries "$build/tests/gpu/libraries" "$@"; }
die() {
  echo "$1" >&2
  exit 1
}

if [ "${4:-}" = full ]; then
  check A B C --results "$work/full"
  check --cards 2 --results "$work/two"
  exit 0
fi
check A B C --small '^(wrong-number|no-device|too-large)$' --results "$work/prepared"
check --cards 2 --small '^$' --results "$work/two"
for results in "$work/prepared" "$work/two"; do
  awk '!/^\{"part": "[ABC2]", "line": "[^"]+", "verdict": "(pass|prepared|skipped)", .*\}$/ { print "not as it must be: " $0; bad = 1 } END { exit bad }' \
    "$results/results.jsonl"
done
[ "$(grep -c '"verdict": "pass"' "$work/prepared/results.jsonl")" -eq 3 ] || die "the three lines that run did not pass"
status=0
TROIKA_STAND_IN_DRIVER=11040 check A --lines '^wrong-number$' --results "$work/failed" || status=$?
[ "$status" -eq 1 ] || die "a line that fails ends the check with $status"
grep -q '"verdict": "FAIL"' "$work/failed/results.jsonl"
