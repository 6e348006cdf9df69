#!/usr/bin/env bash
# One id of a token shard of more than 256 MiB is another than it was when the shard was made: a run must not learn from it.
. "$(dirname "$0")/support.sh"
for ((i = 0; i < 20000; ++i)); do echo "line $i of a corpus that is long enough: $((i * 7919 % 10007)) $((i * 104729 % 99991))"; done > "$work/part.txt"
for ((i = 0; $(stat -c %s "$work/part.txt") * i < 150000000; ++i)); do sed "s/^/$i /" "$work/part.txt"; done > "$work/long.txt"
"$bin/troika" data prepare "$work/long.txt" --tokenizer bytes --out "$work/shards" > "$work/prepare.txt" 2>&1 ||
  cannot "the shards are not made: $(last_line "$work/prepare.txt")"
shard=$(ls -S "$work"/shards/*.bin | head -n 1)
[ "$(stat -c %s "$shard")" -gt $((256 << 20)) ] || cannot "the shard has $(stat -c %s "$shard") bytes"
printf '\003' | dd of="$shard" bs=1 seek=3000 conv=notrunc status=none
"$bin/troika" train "${small[@]}" --data.train "$work/shards" --data.shuffle false --seq-len 1024 --steps 1 --out "$work/run" > "$work/run.txt" 2>&1
code=$?
[ $code != 0 ] || symptom "a step is trained on the changed id, with exit code 0"
[ $code = 3 ] && holds "$(basename "$shard")' is damaged" "$work/run.txt" ||
  symptom "exit code $code, and the file is not named: $(last_line "$work/run.txt")"
passes
