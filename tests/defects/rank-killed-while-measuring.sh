#!/usr/bin/env bash
# Three ranks that were started by hand look for a micro batch that fits. While rank 0 measures the segments for all, rank 1 is
# killed: the others must end when that is done, within the heartbeat limit and 10 s.
. "$(dirname "$0")/support.sh"
heartbeat=3
port=$(free_port)
train() {
  rank "$1" 3 "$port" train "${small[@]}" --model.layers 6 --model.hidden 1024 --model.heads 16 --model.head-dim 64 --model.ffn 4096 \
    --seq-len 4096 --pp 3 --parallel.stage-balance measured --batch.find-micro-batch-size true --steps 3 --out "$work/run" \
    --comm.heartbeat-seconds $heartbeat
}
pids=()
for number in 0 1 2; do
  train $number > "$work/$number.txt" 2>&1 &
  pids+=($!)
done
hundredths_of() { awk '{ print $14 + $15 }' "/proc/$1/stat" 2> /dev/null || echo 0; }
measures() { [ $(($(hundredths_of "${pids[0]}") - $(hundredths_of "${pids[1]}"))) -ge 60 ]; }
await 60 measures || cannot "rank 0 does not measure: $(last_line "$work/0.txt")"
kill -9 "${pids[1]}"
begin=$(now)
waits() { # rank 0 has computed nothing for a second
  local before
  before=$(hundredths_of "${pids[0]}")
  sleep 1
  [ "$(hundredths_of "${pids[0]}")" = "$before" ] || ended "${pids[0]}"
}
await 60 waits || cannot "rank 0 measures for longer than a minute"
await $((heartbeat + 10)) all_ended "${pids[0]}" "${pids[2]}" ||
  symptom "$(since "$begin") s after rank 1 was killed the others still wait for its word"
holds 'rank 1' "$work/0.txt" || symptom "rank 0 does not name rank 1 but says: $(last_line "$work/0.txt")"
passes
