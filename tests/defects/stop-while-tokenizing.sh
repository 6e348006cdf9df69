#!/usr/bin/env bash
# A run that tokenizes a long text is asked to stop: it must end within two seconds, with 130.
. "$(dirname "$0")/support.sh"
for ((i = 0; i < 20000; ++i)); do echo "line $i of a corpus that is long enough: $((i * 7919 % 10007)) $((i * 104729 % 99991))"; done > "$work/part.txt"
for ((i = 0; $(stat -c %s "$work/part.txt") * i < 400000000; ++i)); do cat "$work/part.txt"; done > "$work/long.txt"
"$bin/troika" train "${small[@]}" --data.train "$work/long.txt" --steps 5 --out "$work/run" > "$work/run.txt" 2>&1 &
pid=$!
tokenizes() { [ -n "$(find "$work/run/data" -type f -size +1M 2> /dev/null)" ] || ended $pid; }
await 60 tokenizes && runs $pid || cannot "the run does not tokenize: $(last_line "$work/run.txt")"
kill -TERM $pid
begin=$(now)
await 3 ended $pid || symptom "$(since "$begin") s after it was asked to stop it still tokenizes"
code_of code $pid
[ "$code" = 130 ] || symptom "exit code $code: $(last_line "$work/run.txt")"
passes
