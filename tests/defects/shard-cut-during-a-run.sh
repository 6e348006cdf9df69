#!/usr/bin/env bash
# A token shard becomes shorter while a run reads it: the run must end with the file's name.
. "$(dirname "$0")/support.sh"
for ((i = 0; i < 60; ++i)); do sed "s/^/$i /" "$work/corpus.txt"; done > "$work/long.txt"
"$bin/troika" data prepare "$work/long.txt" --tokenizer bytes --out "$work/shards" > "$work/prepare.txt" 2>&1 ||
  cannot "the shards are not made: $(last_line "$work/prepare.txt")"
shard=$(ls -S "$work"/shards/*.bin | head -n 1)
"$bin/troika" train "${small[@]}" --data.train "$work/shards" --steps 100000 --out "$work/run" > "$work/run.txt" 2>&1 &
pid=$!
await 60 has_rows "$work/run" 5 || cannot "the run does not begin: $(last_line "$work/run.txt")"
truncate -s 4096 "$shard"
await 60 ended $pid || symptom "the run does not end"
code_of code $pid
[ "$code" = 3 ] && holds "$(basename "$shard")" "$work/run.txt" ||
  symptom "exit code $code, and the file is not named: $(last_line "$work/run.txt")"
passes
