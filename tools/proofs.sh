#!/usr/bin/env bash
# Runs the proofs that are not part of the tests. Their table is in tools/README.md; this script reads it there.
#
#   tools/proofs.sh                 lists them: minutes, and what this machine lacks
#   tools/proofs.sh run NAME...     runs these
#   tools/proofs.sh run             runs every proof for which this machine has what the table says, in its order
#   tools/proofs.sh check           whether table and scripts agree (a test runs it)
#
# TROIKA_BUILD: the folder with troika (build/release). The output of a proof goes to build/proofs/NAME.log. Exit code 1 when one failed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
bin=$(realpath -m "${TROIKA_BUILD:-build/release}")
work=$PWD/build/proofs
export bin work

# Rows of the table as NAME, NEEDS, MINUTES and COMMAND with tabs between.
rows() {
  awk -F ' *[|] *' 'NF == 7 && /^[|] `/ { gsub(/`/, ""); printf "%s\t%s\t%s\t%s\n", $2, $3, $4, $5 }' tools/README.md
}

has() { # has NEED: whether this machine has it
  case $1 in
    root) [ "$(id -u)" = 0 ] ;;
    hosts) unshare --net --time true 2> /dev/null && has ip && has tc && has jq ;;
    cgroups) [ -w /sys/fs/cgroup ] && [ "$(id -u)" = 0 ] ;;
    registries) python3 -m pip index versions six > /dev/null 2>&1 ;;
    gpu) nvidia-smi -L > /dev/null 2>&1 ;;
    troika | troika_soak) [ -x "$bin/$1" ] ;;
    release-files) ls build/release-files/*.deb > /dev/null 2>&1 ;;
    tc | ip) command -v "$1" > /dev/null || [ -x "/sbin/$1" ] ;;
    *) type -P "$1" > /dev/null ;;
  esac
}
lacking() { # lacking NEEDS
  local need
  for need in $1; do has "$need" || echo "$need"; done
}

list() {
  local name needs minutes lack
  while IFS=$'\t' read -r name needs minutes _; do
    lack=$(lacking "$needs" | paste -s -d ' ')
    printf '%-20s %4s min  %s\n' "$name" "$minutes" "${lack:+lacks: $lack}"
  done < <(rows)
}

run() {
  local name needs command lack failed=0 start found
  mkdir -p "$work"
  for name in "$@"; do rows | cut -f 1 | grep -qx -- "$name" || { echo "proofs: no proof is named '$name'" >&2 && exit 2; }; done
  while IFS=$'\t' read -r name needs _ command <&3; do
    if [ $# -gt 0 ]; then
      found=
      for wanted in "$@"; do [ "$wanted" != "$name" ] || found=1; done
      [ -n "$found" ] || continue
    fi
    lack=$(lacking "$needs" | paste -s -d ' ')
    if [ -n "$lack" ]; then
      [ $# = 0 ] || { echo "lacks  $name: $lack" && failed=$((failed + 1)); }
      continue
    fi
    start=$SECONDS
    if bash -c "$command" > "$work/$name.log" 2>&1; then
      echo "ok     $name, $((SECONDS - start)) s"
    else
      echo "FAIL   $name, $((SECONDS - start)) s: build/proofs/$name.log" && failed=$((failed + 1))
    fi
  done 3< <(rows)
  [ $failed = 0 ]
}

check() {
  local file wrong=0
  [ "$(rows | wc -l)" -gt 0 ] || { echo "tools/README.md has no row of a proof" && wrong=1; }
  for file in tools/proofs/*.sh tools/proofs/*.py; do
    rows | cut -f 4 | grep -qF "$file" || { echo "$file is in no row of tools/README.md" && wrong=1; }
  done
  for file in $(rows | cut -f 4 | grep -oE '(tools|tests|fuzz)/[a-z_/-]+[.](sh|py|mjs)'); do
    [ -x "$file" ] || { [ -f "$file" ] && [ "${file##*.}" != sh ]; } || { echo "tools/README.md has a row for $file, which cannot be run" && wrong=1; }
  done
  return $wrong
}

case ${1:-list} in
  list) list ;;
  run) shift && run "$@" ;;
  check) check ;;
  *) sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
