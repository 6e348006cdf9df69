#!/usr/bin/env bash
# Of three ranks that were started by hand one is killed when it has joined and before all are there: the others must end within
# the heartbeat limit and 10 s.
. "$(dirname "$0")/support.sh"
heartbeat=3
port=$(free_port)
train() { rank "$1" 3 "$port" train "${small[@]}" --steps 3 --out "$work/run" --comm.heartbeat-seconds $heartbeat; }
train 0 > "$work/0.txt" 2>&1 &
zero=$!
await 20 listens $((port + 1)) || cannot "rank 0 does not listen: $(last_line "$work/0.txt")"
train 2 > "$work/2.txt" 2>&1 &
two=$!
joined() { [ "$(ss -Htnp state established "( dport = :$((port + 1)) )" | grep -c "pid=$two,")" -ge 1 ]; }
await 20 joined || cannot "rank 2 does not join: $(last_line "$work/2.txt")"
sleep 0.7 # it writes its name, and waits for rank 1
kill -9 $two
begin=$(now)
train 1 > "$work/1.txt" 2>&1 &
one=$!
await $((heartbeat + 10)) all_ended $zero $one ||
  symptom "$(since "$begin") s after rank 2 was killed the other ranks still wait for it"
code_of code $zero
[ "$code" != 0 ] || symptom "rank 0 ends with exit code 0"
holds 'rank 2' "$work/0.txt" || symptom "rank 0 does not name rank 2 but says: $(last_line "$work/0.txt")"
passes
