#!/usr/bin/env bash
# Runs the scripts of tests/defects with the programs in a folder: one line for each, `passes` or the symptom it shows.
#
#   tools/defects.sh [FOLDER_WITH_TROIKA [NAME...]]     (default: build/release, all)
#
# Fails when one shows its symptom. A script that cannot run here (namespaces and FUSE need root) says so and counts as failed.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
bin=$(cd "${1:-$root/build/release}" && pwd) || exit 2
[ $# -gt 0 ] && shift
names=("$@")
if [ ${#names[@]} = 0 ]; then
  for script in "$root"/tests/defects/*.sh; do
    [ "$(basename "$script")" = support.sh ] || names+=("$(basename "$script" .sh)")
  done
fi
failures=0
for name in "${names[@]}"; do
  line=$(bash "$root/tests/defects/$name.sh" "$bin" 2> /dev/null)
  printf '%-30s %s\n' "$name" "$line"
  [ "$line" = passes ] || failures=$((failures + 1))
done
echo "defects: $failures of ${#names[@]} show themselves"
[ $failures = 0 ]
