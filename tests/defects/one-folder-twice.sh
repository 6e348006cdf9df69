#!/usr/bin/env bash
# One command is started twice: the second must end with 2 and name host and process of the first, which must end well.
. "$(dirname "$0")/support.sh"
train() { exec "$bin/troika" train "${small[@]}" --steps 300 --checkpoint.every 50 --out "$work/run"; }
train > "$work/first.txt" 2>&1 &
first=$!
await 30 has_rows "$work/run" 3 || cannot "the run does not begin: $(last_line "$work/first.txt")"
(train) > "$work/second.txt" 2>&1 &
second=$!
if ! await 10 ended $second; then symptom "the second run works in the folder of the first, which still runs"; fi
code_of code $second
[ "$code" = 2 ] || symptom "the second run ends with exit code $code: $(last_line "$work/second.txt")"
holds "$(hostname)" "$work/second.txt" && holds "$first" "$work/second.txt" ||
  symptom "the second run does not name host and process of the first: $(last_line "$work/second.txt")"
await 120 ended $first || symptom "the first run does not end any more"
code_of code $first
[ "$code" = 0 ] || symptom "the first run ends with exit code $code: $(last_line "$work/first.txt")"
passes
