#!/usr/bin/env bash
# Of two hosts one dies, launcher and ranks; its launcher is started again with the same command: the run must continue from the
# last checkpoint.
. "$(dirname "$0")/support.sh"
port=$(free_port)
host() { # host NODE
  exec "$bin/troika" launch --nnodes 2 --node-rank "$1" --master-addr 127.0.0.1 --master-port "$port" --max-restarts 3 \
    --join-timeout 20 --bind none -- train "${small[@]}" --pp 2 --steps 200 --checkpoint.every 5 --out "$work/host$1"
}
host 0 > "$work/zero.txt" 2>&1 &
zero=$!
host 1 > "$work/one.txt" 2>&1 &
one=$!
await 30 has_rows "$work/host0" 12 || cannot "the run does not begin: $(last_line "$work/zero.txt")"
# shellcheck disable=SC2046
kill -9 $one $(pgrep -P $one)
host 1 > "$work/again.txt" 2>&1 &
again=$!
await 60 all_ended $zero $again || symptom "the run does not end any more: $(last_line "$work/zero.txt")"
code_of zero $zero
code_of again $again
[ "$zero $again" = "0 0" ] ||
  symptom "the launcher that is started again cannot join (exit codes $zero, $again): $(last_line "$work/again.txt")"
holds 'resumed from step' "$work/zero.txt" || symptom "the run began anew"
passes
