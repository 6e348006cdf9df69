#!/usr/bin/env bash
# Three hosts that share nothing, on 10 Mbit/s links, with clocks that disagree by seconds: trains on them as a person
# with three small computers would, and checks what they are promised. One line per check; fails when one does.
#
#   tools/three-hosts.sh [FOLDER_WITH_TROIKA]     (default: build/release)
#
# Needs root (for namespaces), iproute2 with tc, util-linux 2.38 and jq; three-hosts-parts.sh has the hosts.
set -u

root=$(cd "$(dirname "$0")/.." && pwd)
bin=$(cd "${1:-$root/build/release}" && pwd) || exit 2
rate=10mbit
skew=(0 23 -11) # seconds that CLOCK_MONOTONIC of a host is ahead of this machine's
. "$root/tools/three-hosts-parts.sh"

model="--model.layers 4 --model.hidden 64 --model.heads 4 --model.kv-heads 2 --model.head-dim 16 --model.ffn 192
  --model.vocab 259 --seq-len 64 --seed 7 --train.threads 1 --data.train corpus.txt --data.tokenizer bytes"

# --- the runs -------------------------------------------------------------------------------------------------------

told() { # told OUT LAYOUT: the price of the link and the layouts, before and after
  local text=$work/host0/$1.text layout=$2 speed
  speed=$(sed -nE 's/^link .* ([0-9.]+) Mbit\/s between neighbors.*/\1/p' "$text")
  check "the link is measured before the first step: ${speed:-nothing} Mbit/s of $rate" within 8 "$speed" 10.5
  check "and each layout's traffic is told" holds "^link .*in a step: .*$layout, " "$text"
  check "layouts are compared before and after the run" [ "$(grep -cE "^([0-9:]{8} )?layouts .*$layout.*positions/s" "$text")" = 2 ]
  grep -E -A1 '^([0-9:]{8} )?(link|layouts)' "$text" | grep -v '^--' | grep -vE '^([0-9:]{8} )?step ' | say
}

pipeline() {
  local parts node
  start_all pipe --pp 3 --train_steps 5 --batch_size 6 --microbatch_num 3 --profile_batch 3
  finish_all 60
  done_well "pipeline of three hosts started in the order 2, 0, 1 ends well" pipe
  check "it made 5 steps" [ "$(rows pipe)" = 5 ]
  for node in 0 1 2; do
    parts=$(find "$work/host$node/pipe" -name '*.safetensors' | wc -l)
    check "host $node wrote its own part of the checkpoint ($parts files)" [ "$parts" -gt 0 ]
  done
  told pipe 'pp 3.*dp 3'
}

# Prints how many pairs of cause and effect the merged trace has, and the least milliseconds between them. Causes go down
# the pipeline (activations) and up (gradients), so a clock that is off shows, whichever way.
slack='
  def times($cat): [.traceEvents[] | select(.ph == "X" and .cat == $cat)
    | {key: .args.instruction, begin: .ts, end: (.ts + .dur)}] | group_by(.key)
    | map({key: .[0].key, value: {begin: .[0].begin, last: (map(.begin) | max), end: (map(.end) | max)}}) | from_entries;
  def pairs($effect; $at; $cause; $stage; $after): . as $times | to_entries[] | .key as $key
    | select($key | startswith($effect + " "))
    | ($key[($effect | length) + 1:] | split(".") | map(tonumber)) as [$m, $s]
    | $times["\($cause) \($m).\($s + $stage)"] as $c | select($c != null) | (.value[$at] - $c[$after]) / 1000;
  [times("compute") | pairs("fwd"; "last"; "fwd"; -1; "end"), pairs("bwd"; "last"; "bwd"; 1; "end")]
  + [times("transfer") | pairs("recv_act"; "end"; "send_act"; -1; "begin"), pairs("recv_grad"; "end"; "send_grad"; 1; "begin")]
  | "\(length) \(min)"'

timeline() {
  local merged=$work/host0/pipe/timeline/timeline_batch3_all.json node offset count least
  check "rank 0's host has the merged timeline" [ -s "$merged" ]
  check "with all ranks and hosts" [ "$(jq -c '[.otherData.lanes[] | .world_rank, .host]' "$merged")" = \
    '[0,"pi0",1,"pi1",2,"pi2"]' ]
  for node in 1 2; do
    offset=$(jq .clock_offset_seconds "$work/host$node/pipe/timeline/timeline_batch3_rank$node.json")
    check "host $node's clock, ${skew[$node]} s ahead, was corrected by $offset s" \
      within -0.01 "$(jq -n "$offset + ${skew[$node]}")" 0.01
  done
  read -r count least <<< "$(jq -r "$slack" "$merged")"
  check "the timeline has 24 pairs of cause and effect between hosts ($count)" [ "$count" = 24 ]
  check "no effect comes before its cause, 3 ms allowed (least distance $least ms)" within -3 "$least" 1000
  for offset in -100 100; do
    read -r count least <<< "$(jq "(.traceEvents[] | select(.pid == 1 and .ph == \"X\") | .ts) += $offset * 1000" "$merged" | jq -r "$slack")"
    check "which a clock $offset ms off would break ($least ms)" within -1000 "$least" -3
  done
  (cd "$work/host0" && "$bin/troika" timeline pipe --step 3 --summary) | say
}

data_parallel() {
  export BATCH_SIZE=15 MICROBATCH_NUM=3
  check "BATCH_SIZE and MICROBATCH_NUM are defaults" \
    [ "$("$bin/troika" train --print-config --data.train x | grep -E '^ +(micro_batch_size|microbatches):' | tr -d '\n')" = \
    "  micro_batch_size: 5  microbatches: 3" ]
  start_all data --train_steps 20 --batch_size 3 --middle_layers 2
  finish_all 90
  unset BATCH_SIZE MICROBATCH_NUM
  done_well "data-parallel run ends well" data
  check "it made 20 steps" [ "$(rows data)" = 20 ]
  check "two of four layers were kept" holds '^model .* 2 layers' "$work/host0/data.text"
  check "the command line beat BATCH_SIZE: $(grep -E '^batch' "$work/host0/data.text")" \
    holds '^batch +global 9 = micro 1 x 3 microbatches x dp 3' "$work/host0/data.text"
  check "the data began again: $(grep -oE '20 steps = [0-9.]+ epochs' "$work/host0/data.text")" \
    holds '20 steps = 1\.[0-9]+ epochs' "$work/host0/data.text"
  told data 'dp 3'
}

batch="--micro-batch-size 1 --global-batch-size 12 --train_steps 12 --checkpoint.every 2"

kill_a_worker() {
  local pid node
  # shellcheck disable=SC2086
  start_all moved --pp 3 $batch
  check "a pipeline with checkpoints is under way" await_rows moved 5
  pid=$(inside 1 | while read -r p; do is_rank "$p" && echo "$p"; done)
  kill -9 "$pid"
  finish_all 30
  check "after SIGKILL to the worker of host 1 all launchers end within 10 s (after $took s)" all_within 10
  check "with a code that is not 0 ($codes)" all_failed
  for node in 0 1 2; do
    check "host $node names it: $(grep -m1 -oE 'rank 1 \(.*' "$work/host$node/moved.text" | cut -c 1-90)" \
      holds 'rank 1 \(host pi1, pid [0-9]+\) was killed by signal 9' "$work/host$node/moved.text"
  done
  grep -q 'was killed by signal 9' "$work"/host[012]/moved.text || show moved
  check "no process is left on any host" nobody_left
}

resume_elsewhere() {
  local first
  first=$(rows moved)
  # shellcheck disable=SC2086
  start_all moved --dp 3 $batch
  finish_all 90
  done_well "the same three hosts resume data-parallel" moved
  check "from the newest checkpoint: $(grep -oE 'resumed from step [0-9]+' "$work/host0/moved.text") of $first" \
    holds 'resumed from step (4|6|8|10) ' "$work/host0/moved.text"
  # shellcheck disable=SC2086
  (cd "$work/host0" && "$bin/troika" train $model $batch --out alone) > "$work/host0/alone.text" 2>&1
  for out in alone moved; do
    jq -r '[.step, .loss_bits, .grad_norm] | @tsv' "$work/host0/$out/metrics.jsonl" > "$work/$out.bits"
  done
  check "all 12 losses and gradient norms have the bits of one process that was never interrupted (last: $(tail -n 1 "$work/moved.bits" | cut -f 2))" \
    cmp -s "$work/alone.bits" "$work/moved.bits"
  check "and there are 12" [ "$(wc -l < "$work/alone.bits")" = 12 ]
}

whole="--pp 3 --data.tokenizer vocabulary --data.chat-template chatml --model.vocab 320 --batch_size 4 --microbatch_num 2"

moved_run() {
  local node verb code log=$work/host1/moved_run.text there=$work/host1/elsewhere
  for node in 0 1 2; do alone $node "$work/host$node" data tokenizer corpus.txt --out vocabulary --vocab 300 > /dev/null; done
  # shellcheck disable=SC2086
  start_all whole $whole --train_steps 4
  finish_all 60
  done_well "a pipeline with a tokenizer of its own ends well" whole
  for node in 0 1 2; do
    mv "$work/host$node/whole" "$work/host$node/elsewhere"
    rm -r "$work/host$node/vocabulary"
    check "host $node's checkpoint has manifest, tokenizer and chat template" eval \
      "(cd '$work/host$node/elsewhere/checkpoints/step-00000004' && [ -s manifest.json ] && cd model && [ -s config.json ] &&
        [ -s tokenizer.json ] && [ -s tokenizer_config.json ] && [ -s chat_template.jinja ])"
  done
  for node in 2 0 1; do
    launch_on $node evaluated eval elsewhere --data.valid corpus.txt --seq-len 64 --pp 3 --train.threads 1
  done
  finish_all 60
  done_well "the moved run is evaluated on three hosts without the tokenizer it began with" evaluated
  alone 1 / generate "$there" --prompt the --tokens 5 > "$log" 2>&1
  check "host 1 alone names what it lacks: $(grep -m1 -oE 'part .*' "$log" | cut -c 1-90)" \
    holds 'safetensors is missing; it was written on pi[02]' "$log"
  for node in 0 2; do cp -rn "$work/host$node/elsewhere/checkpoints/." "$there/checkpoints/"; done
  echo hello > "$work/question"
  for verb in "generate $there --prompt the --tokens 5" "chat $there --max-new-tokens 5" \
    "eval $there --data.valid $work/host1/corpus.txt --seq-len 64" "export $there $work/host1/exported"; do
    # shellcheck disable=SC2086
    alone 1 / $verb < "$work/question" > "$log" 2>&1
    code=$?
    check "with the parts of the others host 1 can ${verb%% *} (exit code $code)" [ $code = 0 ]
    [ $code = 0 ] || say < "$log"
  done
  check "and what it exports has the tokenizer" cmp -s "$work/host1/exported/tokenizer.json" \
    "$work/host0/elsewhere/tokenizer/tokenizer.json"
  # shellcheck disable=SC2086
  start_all elsewhere $whole --train_steps 6
  finish_all 60
  done_well "the three hosts resume the moved run" elsewhere
  check "from its checkpoint" holds 'resumed from step 4 ' "$work/host0/elsewhere.text"
}

cut_a_link() {
  local node
  # shellcheck disable=SC2086
  start_all cut --pp 3 --micro-batch-size 1 --global-batch-size 12 --train_steps 1000 --comm.heartbeat-seconds 5
  check "another pipeline is under way" await_rows cut 3
  net 3 ip link set port1 down
  finish_all 40
  check "after host 1's link is cut all launchers end within the heartbeat limit of 5 s and 10 s more (after $took s)" \
    all_within 15
  all_within 15 || show cut
  check "with a code that is not 0 ($codes)" all_failed
  for node in 0 2; do
    check "host $node names the silent rank: $(grep -m1 -oE 'rank 1 \(.*' "$work/host$node/cut.text" | cut -c 1-110)" \
      holds 'rank 1 .*(silent|heartbeat)' "$work/host$node/cut.text"
  done
  check "host 1 says whom it cannot reach: $(grep -m1 -E '(host 0|10\.77\.0\.1)' "$work/host1/cut.text" | cut -c 1-110)" \
    holds '(host 0|10\.77\.0\.1)' "$work/host1/cut.text"
  check "no process is left on any host" nobody_left
  net 3 ip link set port1 up
}

begin=$(now)
make_hosts
pipeline
timeline
data_parallel
kill_a_worker
resume_elsewhere
moved_run
cut_a_link
echo "three-hosts: $failures checks failed, $(since "$begin") s"
[ "$failures" = 0 ]
