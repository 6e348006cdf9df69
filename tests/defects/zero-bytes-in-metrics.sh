#!/usr/bin/env bash
# A machine lost power while metrics.jsonl was written, and a block of zero bytes is left in it: the run must resume.
. "$(dirname "$0")/support.sh"
train() { "$bin/troika" train "${small[@]}" --steps "$1" --checkpoint.every 5 --out "$work/run"; }
train 10 > "$work/first.txt" 2>&1 || cannot "the run does not end well: $(last_line "$work/first.txt")"
{ head -n 5 "$work/run/metrics.jsonl" && head -c 4096 /dev/zero && tail -n +6 "$work/run/metrics.jsonl"; } > "$work/damaged"
mv "$work/damaged" "$work/run/metrics.jsonl"
train 20 > "$work/second.txt" 2>&1
code=$?
[ $code = 0 ] || symptom "zero bytes in metrics.jsonl end the next start with exit code $code: $(last_line "$work/second.txt")"
passes
