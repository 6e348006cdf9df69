#!/usr/bin/env bash
# `troika demo` from a folder of its own: result lines, Ctrl-C and going on, its errors.
#   tests/packaging/demo.sh TROIKA FOLDER      FOLDER is recreated
set -euo pipefail
troika=$(readlink -f "$1") folder=$2
fail() { echo "demo: $*" >&2; [ ! -s "$folder/out" ] || tail -n 30 "$folder/out" >&2; exit 1; }
rm -rf "$folder"
mkdir -p "$folder/here" && folder=$(cd "$folder" && pwd)
cd "$folder/here"
export OMP_NUM_THREADS=1
text=/usr/share/common-licenses
refused() { # refused WANTED_SENTENCE ARGUMENTS...
  local code=0
  "$troika" demo "${@:2}" > "$folder/out" 2>&1 || code=$?
  [ "$code" = 2 ] && grep -q "$1" "$folder/out" || fail "code $code, and not '$1'"
}

# Stopped as Ctrl-C on a terminal does it (setsid: the group of its own), once it trains; then it goes on.
setsid "$troika" demo --steps 20000 --text $text > "$folder/out" 2>&1 &
demo=$!
for ((i = 0; ; i++)); do
  ! grep -q '"loss"' troika-demo/run/metrics.jsonl 2> /dev/null || break
  kill -0 $demo 2> /dev/null && [ $i -lt 1200 ] || fail "no step was trained"
  sleep 0.1
done
kill -INT $demo
code=0
wait $demo || code=$?
[ "$code" = 130 ] || fail "stopped, it ends with $code and not 130"
grep -q "troika demo: stopped; rerun the same command to resume" "$folder/out" || fail "it does not say that it goes on"
[ -n "$(ls troika-demo/run/checkpoints)" ] || fail "it stopped without a checkpoint"
steps=$(wc -l < troika-demo/run/metrics.jsonl)

"$troika" demo --steps $((steps + 28)) --text $text > "$folder/out" 2>&1 || fail "it does not go on"
grep -q "resumed from step $steps" "$folder/out" || fail "it did not go on from step $steps"
for line in "== Train: three processes" "== Continue the same checkpoint" "== What every rank did" "== A sample"; do
  grep -q "^$line" "$folder/out" || fail "no '$line'"
done
awk '/^first step/ { found = 1; exit !($3 > $6 + 0.3) } END { exit !found }' "$folder/out" || fail "the loss did not fall"

loss=$(grep '^first step' "$folder/out")
grep -q "^== Next steps" "$folder/out" || fail "it does not say what next"

mkdir strange && touch strange/letter.txt
refused "'strange' contains something other than a demo" strange
refused "'strange/letter.txt' exists and is not a folder" strange/letter.txt
refused "there is no file or folder 'nowhere'" new --text nowhere
refused "steps" new --steps 3
refused "/proc/demo.*choose a writable folder" /proc/demo
[ ! -e new ] || fail "a refused demo left its folder"
echo "demo: stopped at step $steps, went on, $loss"
