#!/usr/bin/env bash
# Three hosts that share nothing, on 10 Mbit/s links, with clocks that disagree by seconds: trains on them as a person
# with three small computers would, and checks what they are promised. One line per check; fails when one does.
#
#   tools/three-hosts.sh [FOLDER_WITH_TROIKA]     (default: build/release)
#
# Needs root (for namespaces), iproute2 with tc, util-linux 2.38 and jq. A host is a network, host name and time
# namespace with a folder of its own; a fourth namespace is the router, a bridge. They have no names in the system, so
# several of these may run at once, and they vanish with their last process, whatever becomes of this script.
set -u
export LC_ALL=C OMP_NUM_THREADS=1
unset BATCH_SIZE MICROBATCH_NUM

root=$(cd "$(dirname "$0")/.." && pwd)
bin=$(cd "${1:-$root/build/release}" && pwd) || exit 2
rate=10mbit
port=29500
address=(10.77.0.1 10.77.0.2 10.77.0.3)
skew=(0 23 -11) # seconds that CLOCK_MONOTONIC of a host is ahead of this machine's

die() {
  echo "three-hosts: $1" >&2
  exit 2
}
[ "$(id -u)" = 0 ] || die "namespaces need root; run it with sudo"
for tool in ip tc jq unshare nsenter; do
  command -v "$tool" > /dev/null || die "$tool is missing; install iproute2, util-linux and jq"
done
[ -x "$bin/troika-engine" ] || die "'$bin' holds no troika and troika-engine; build them first"

work=$(mktemp -d "${TMPDIR:-/tmp}/troika-three-hosts-XXXXXX")
holder=() # per host, the process that keeps its namespaces; 3 is the router
keeper=() # and its parent
launcher=()
failures=0

# --- checks ---------------------------------------------------------------------------------------------------------

check() { # check TEXT COMMAND...
  local text=$1
  shift
  if "$@"; then
    echo "ok    $text"
  else
    echo "FAIL  $text"
    failures=$((failures + 1))
  fi
}
say() { sed 's/^/      | /'; }
now() { date +%s.%N; }
since() { awk -v a="$1" -v b="$(now)" 'BEGIN { printf "%.1f", b - a }'; }
within() { awk -v low="$1" -v x="$2" -v high="$3" 'BEGIN { exit !(x != "" && x >= low && x <= high) }'; }
holds() { grep -qE -e "$1" "$2"; } # holds PATTERN FILE

# --- hosts ----------------------------------------------------------------------------------------------------------

inside() { # the processes of a host, without those that keep it
  local net entry pid
  net=$(readlink "/proc/${holder[$1]}/ns/net") || return 0
  for entry in /proc/[0-9]*/ns/net; do
    [ "$(readlink "$entry" 2> /dev/null)" = "$net" ] || continue
    pid=${entry#/proc/}
    pid=${pid%%/*}
    [ "$pid" = "${holder[$1]}" ] || [ "$pid" = "${keeper[$1]}" ] || echo "$pid"
  done
}

clean_up() {
  local node
  trap - EXIT
  exec 2> /dev/null # the shell's own notes about killed jobs
  for node in "${!holder[@]}"; do
    inside "$node" | xargs -r kill -9
    kill -9 "${holder[$node]}"
  done
  rm -rf "$work"
}
trap 'clean_up' EXIT
trap 'exit 130' INT TERM HUP

hold() { # hold NODE FLAGS...: namespaces that live as long as a sleeping process
  local node=$1
  shift
  unshare --net --uts "$@" --fork sh -c 'echo $$ $PPID > "$1.new" && mv "$1.new" "$1" && exec sleep 900' hold "$work/holder$node" 2> "$work/holder$node.error" &
  disown
  for _ in $(seq 100); do
    [ -s "$work/holder$node" ] && break
    sleep 0.05
  done
  [ -s "$work/holder$node" ] || die "cannot make namespaces: $(cat "$work/holder$node.error")"
  read -r "holder[node]" "keeper[node]" < "$work/holder$node"
}
net() { # net NODE COMMAND...
  local node=$1
  shift
  nsenter --target "${holder[$node]}" --net --uts -- "$@"
}
shape() { net "$1" tc qdisc add dev "$2" root tbf rate $rate burst 16kb latency 200ms; }

make_hosts() {
  set -e
  hold 3
  net 3 ip link add switch type bridge
  net 3 ip link set switch up
  for node in 0 1 2; do
    hold $node --time --monotonic "${skew[$node]}" --boottime "${skew[$node]}"
    net $node hostname "pi$node"
    net $node ip link add lan type veth peer name "port$node" netns "${holder[3]}"
    net 3 ip link set "port$node" master switch up
    net $node ip address add "${address[$node]}/24" dev lan
    net $node ip link set lan up
    net $node ip link set lo up
    shape $node lan
    shape 3 "port$node"
    mkdir "$work/host$node"
    head -c 8000 "$root/LICENSE" > "$work/host$node/corpus.txt"
  done
  set +e
}

model="--model.layers 4 --model.hidden 64 --model.heads 4 --model.kv-heads 2 --model.head-dim 16 --model.ffn 192
  --model.vocab 259 --seq-len 64 --seed 7 --train.threads 1 --data.train corpus.txt --data.tokenizer bytes"

launch_on() { # launch_on NODE LOG ARGUMENTS...: what a person types on that host
  local node=$1 log=$2
  shift 2
  (
    cd "$work/host$node" || exit 2
    exec nsenter --target "${holder[$node]}" --net --uts --time -- "$bin/troika" launch --nnodes 3 --node-rank "$node" \
      --master-addr "${address[0]}" --master-port $port --nproc-per-node 1 -- "$@"
  ) > "$work/host$node/$log.text" 2>&1 &
  launcher[node]=$!
}
start() { # start NODE OUT FLAGS...
  local node=$1 out=$2
  shift 2
  # shellcheck disable=SC2086
  launch_on "$node" "$out" train $model --out "$out" "$@"
}
alone() { # alone NODE FOLDER ARGUMENTS...: one process on that host, in that working folder
  local node=$1 folder=$2
  shift 2
  (cd "$folder" && exec nsenter --target "${holder[$node]}" --net --uts --time -- "$bin/troika" "$@")
}
start_all() { # in an order as good as any
  start 2 "$@"
  sleep 0.4
  start 0 "$@"
  sleep 0.4
  start 1 "$@"
}
all_run() {
  local node
  for node in 0 1 2; do kill -0 "${launcher[$node]}" 2> /dev/null || return 1; done
}
finish_all() { # finish_all SECONDS: waits at most that long; sets `codes` ("0 0 0", or "late") and `took` per host
  local node begin end=$((SECONDS + $1)) left="0 1 2" still
  local code=(late late late) seconds=(- - -)
  begin=$(now)
  while [ -n "$left" ] && [ $SECONDS -lt $end ]; do
    still=""
    for node in $left; do
      if kill -0 "${launcher[$node]}" 2> /dev/null; then
        still="$still $node"
        continue
      fi
      wait "${launcher[$node]}" 2> /dev/null
      code[node]=$?
      seconds[node]=$(since "$begin")
    done
    left=$still
    sleep 0.1
  done
  for node in $left; do
    kill -9 "${launcher[$node]}"
    wait "${launcher[$node]}" 2> /dev/null
  done
  codes="${code[*]}" took="${seconds[*]}"
}
rows() { cat "$work/host0/$1/metrics.jsonl" 2> /dev/null | wc -l; }
await_rows() { # await_rows OUT COUNT
  for _ in $(seq 600); do
    [ "$(rows "$1")" -ge "$2" ] && return 0
    all_run || return 1
    sleep 0.1
  done
  return 1
}
nobody_left() {
  local node
  for node in 0 1 2; do [ -z "$(inside $node)" ] || return 1; done
}
show() { # show OUT: what the hosts said
  local node
  for node in 0 1 2; do
    echo "      host $node said:"
    tail -n 15 "$work/host$node/$1.text" | say
  done
}
done_well() { # done_well TEXT OUT
  check "$1 (exit codes $codes)" [ "$codes" = "0 0 0" ]
  [ "$codes" = "0 0 0" ] || show "$2"
}
all_within() { # all_within SECONDS
  awk -v took="$took" -v high="$1" 'BEGIN { split(took, t, " "); for (i in t) if (t[i] == "-" || t[i] + 0 > high + 0) exit 1 }'
}
all_failed() { ! grep -qwE '0|late' <<< "$codes"; }

# --- the runs -------------------------------------------------------------------------------------------------------

told() { # told OUT LAYOUT: the price of the link and the layouts, before and after
  local text=$work/host0/$1.text layout=$2 speed
  speed=$(sed -nE 's/^link .* ([0-9.]+) Mbit\/s between neighbours.*/\1/p' "$text")
  check "the link is measured before the first step: ${speed:-nothing} Mbit/s of $rate" within 8 "$speed" 10.5
  check "and each layout's traffic is told" holds "^link .*in a step: .*$layout " "$text"
  check "layouts are compared before and after the run" [ "$(grep -c "^layouts .*$layout.*tokens/s" "$text")" = 2 ]
  grep -E -A1 '^(link|layouts)' "$text" | grep -v '^--' | grep -v '^step ' | say
}

pipeline() {
  local parts node
  start_all pipe --pp 3 --train_steps 5 --batch_size 8 --microbatch_num 4 --profile_batch 3
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
  check "the timeline has 32 pairs of cause and effect between hosts ($count)" [ "$count" = 32 ]
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
  check "the data began again: $(grep -oE '20 steps are [0-9.]+ epochs' "$work/host0/data.text")" \
    holds '20 steps are 1\.[0-9]+ epochs' "$work/host0/data.text"
  told data 'dp 3'
}

batch="--micro-batch-size 1 --global-batch-size 12 --train_steps 12 --checkpoint.every 2"

kill_a_worker() {
  local pid node
  # shellcheck disable=SC2086
  start_all moved --pp 3 $batch
  check "a pipeline with checkpoints is under way" await_rows moved 5
  pid=$(inside 1 | while read -r p; do [ "$(cat "/proc/$p/comm")" = troika-engine ] && echo "$p"; done)
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
