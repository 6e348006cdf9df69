#!/usr/bin/env bash
# With the defaults: a run whose step is not finite must have saved what stood before it; a disk that is full for a moment must not
# end a run.
. "$(dirname "$0")/support.sh"
"$bin/troika" train "${small[@]}" --steps 20 --lr 1000 --optimizer.weight-decay 1000 --out "$work/run" > "$work/nan.txt" 2>&1
code=$?
[ $code != 0 ] || cannot "the run with a learning rate of 1000 stays finite"
[ -n "$(ls "$work/run/checkpoints" 2> /dev/null)" ] ||
  symptom "a step that is not finite ends the run with exit code $code and nothing is saved: $(last_line "$work/nan.txt")"

is_root || cannot "a small disk needs root"
mkdir "$work/disk"
mount -t tmpfs -o size=8m tmpfs "$work/disk" || cannot "no disk of 8 MiB"
at_exit() { umount -l "$work/disk"; }
"$bin/troika" train "${small[@]}" --steps 1000 --checkpoint.every 20 --checkpoint.keep 1 --out "$work/disk/run" > "$work/full.txt" 2>&1 &
pid=$!
await 30 has_rows "$work/disk/run" 30 || cannot "the run on the small disk does not begin: $(last_line "$work/full.txt")"
head -c 8M /dev/zero > "$work/disk/filler" 2> /dev/null
noticed() { holds 'No space left' "$work/full.txt" || ended $pid; }
await 30 noticed || cannot "the full disk is not noticed"
rm "$work/disk/filler"
await 120 ended $pid || symptom "the run does not end any more"
code_of code $pid
[ "$code" = 0 ] || symptom "a disk that was full for a moment ends the run with exit code $code: $(last_line "$work/full.txt")"
[ "$(jq -s 'map(.step) == [range(1; 1001)]' "$work/disk/run/metrics.jsonl")" = true ] || symptom "metrics.jsonl has not every step once"
passes
