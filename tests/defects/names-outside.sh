#!/usr/bin/env bash
# A list of data sets that names a file outside its folder must be refused, and hosts must meet at an address of IPv6.
. "$(dirname "$0")/support.sh"
mkdir "$work/sets"
echo '[{"instruction": "say a", "input": "", "output": "a"}]' > "$work/elsewhere.json"
echo '{"one": {"file_name": "../elsewhere.json"}}' > "$work/sets/dataset_info.json"
cat > "$work/job.yaml" <<END
stage: sft
finetuning_type: full
dataset: one
dataset_dir: $work/sets
template: qwen
cutoff_len: 64
END
"$bin/troika" train "$work/job.yaml" "${small[@]:2}" --data.tokenizer bytes --data.chat-template chatml --steps 1 --out "$work/run" > "$work/outside.txt" 2>&1
code=$?
[ $code != 0 ] && holds 'is outside the folder' "$work/outside.txt" ||
  symptom "a data set outside the folder of dataset_info.json is read (exit code $code): $(last_line "$work/outside.txt")"
[ -e /proc/net/if_inet6 ] && grep -q lo /proc/net/if_inet6 || passes
port=$(free_port)
host() { exec "$bin/troika" launch --nnodes 2 --node-rank "$1" --master-addr ::1 --master-port "$port" --join-timeout 8 --program /bin/sh -- -c 'exit 0'; }
host 0 > "$work/zero.txt" 2>&1 &
zero=$!
host 1 > "$work/one.txt" 2>&1 &
one=$!
await 30 all_ended $zero $one || symptom "hosts that meet at ::1 do not end"
code_of zero $zero
code_of one $one
[ "$zero $one" = "0 0" ] || symptom "hosts do not meet at ::1 (exit codes $zero, $one): $(last_line "$work/one.txt")"
passes
