#!/usr/bin/env bash
# Trainings within 512 MiB (docs/memory.md, "In 512 MiB"): the deepest model that fits, the resident peak of its process beside its plan,
# what a model one layer deeper is told, three stages of a pipeline with 512 MiB each, adapters beside the weights of a checkpoint in
# one and two processes, and a process that the kernel kills.
#
#   tools/proofs/small.sh FOLDER_WITH_TROIKA TOKENS TOKENIZER [LIMIT_IN_MIB [FIRST_LAYERS [STEPS]]]   (default: 512, 1, 4)
#
# TOKENS and TOKENIZER: what `troika data` made. Each process runs in a memory control group of its own (version 1 or 2), without swap,
# so it needs root. Where none can be made it stops: nothing else limits resident memory. Fails where a peak is more than 5 % off
# its plan. Takes three to six minutes, and 1.5 GiB once, for the model that the adapters are beside.
set -euo pipefail
export LC_ALL=C OMP_NUM_THREADS=1
unset BATCH_SIZE MICROBATCH_NUM

die() {
  echo "small: $1" >&2
  exit 2
}
[ $# -ge 3 ] || die "usage: tools/proofs/small.sh FOLDER_WITH_TROIKA TOKENS TOKENIZER [LIMIT_IN_MIB [FIRST_LAYERS [STEPS]]]"
troika=$(cd "$1" && pwd)/troika tokens=$2 tokenizer=$3 limit=${4:-512} first=${5:-1} steps=${6:-4}
[ "$(id -u)" = 0 ] || die "control groups need root; run it with sudo"

work=$(mktemp -d "${TMPDIR:-/tmp}/troika-small-XXXXXX")
export XDG_CONFIG_HOME=$work/config
groups=()
running=
tidy() {
  local group
  [ -z "$running" ] || kill "$running" 2> /dev/null || :
  for group in "${groups[@]}"; do rmdir "$group" 2> /dev/null || :; done
  rm -rf "$work"
}
trap tidy EXIT

# make_group NAME: sets group, of at most $limit MiB.
make_group() {
  if [ -e /sys/fs/cgroup/memory/memory.limit_in_bytes ]; then
    group=/sys/fs/cgroup/memory/$(basename "$work")-$1
    mkdir "$group" || die "no control group can be made here"
    echo $((limit << 20)) > "$group/memory.limit_in_bytes"
    echo $((limit << 20)) > "$group/memory.memsw.limit_in_bytes" || [ "$(awk 'NR > 1' /proc/swaps)" = "" ]
  elif [ -e /sys/fs/cgroup/cgroup.subtree_control ]; then
    group=/sys/fs/cgroup/$(basename "$work")-$1
    echo +memory > /sys/fs/cgroup/cgroup.subtree_control
    mkdir "$group" || die "no control group can be made here"
    echo $((limit << 20)) > "$group/memory.max"
    echo 0 > "$group/memory.swap.max"
  else
    die "this machine has no memory control groups"
  fi
  groups+=("$group")
}
limited() { # limited GROUP COMMAND...
  # shellcheck disable=SC2016
  sh -c 'echo $$ > "$1/cgroup.procs"; shift; exec "$@"' sh "$@"
}

failures=0
check() { # check TEXT COMMAND...
  local text=$1
  shift
  if "$@"; then echo "ok    $text"; else
    echo "FAIL  $text"
    failures=$((failures + 1))
  fi
}
# Of a text with "WORD 12.3 MiB": in MiB.
mebibytes() {
  sed -n "s/.*$1 *\([0-9.]*\) \([KMG]iB\).*/\1 \2/p" "$2" | head -n 1 |
    awk '{ print $1 * ($2 == "GiB" ? 1024 : $2 == "KiB" ? 1 / 1024 : 1) }'
}
# What a run holds once it has saved, where it copies what it saves.
planned_in() {
  local saving
  saving=$(mebibytes "program [^)]*)," "$1")
  echo "${saving:-$(mebibytes "largest rank" "$1")}"
}
near() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a >= 0.95 * b && a <= 1.05 * b) }'; }

# Width 512 with the vocabulary of the tokenizer: 3.1 million parameters a layer.
model=(--model.preset qwen3-small --data.train "$tokens" --data.tokenizer "$tokenizer" --seq-len 256 --micro-batch-size 1
  --global-batch-size 8 --recompute full --precision.compute fp32 --log.progress none --checkpoint.every 0 --checkpoint.at-end false)

# planned LAYERS RANKS FLAGS...: MiB of the rank with most, program and all.
planned() {
  local layers=$1 ranks=$2
  shift 2
  "$troika" plan "${model[@]}" --model.layers "$layers" --dp 1 --zero 0 --schedule 1f1b "$@" --nproc "$ranks" --json |
    jq '.layouts[0].memory_bytes / 104857.6 | round / 10'
}
# beside TEXT PLANNED LOG
beside() {
  local peak off
  peak=$(mebibytes resident "$3")
  off=$(awk -v a="$2" -v b="$peak" 'BEGIN { printf "%+.1f %%", (a / b - 1) * 100 }')
  check "$1: resident peak $peak MiB, planned $2 MiB: $off" near "$2" "$peak"
}

make_group one
layers=$first
while limited "$group" "$troika" train "${model[@]}" --model.layers "$layers" --steps "$steps" --offload none --out "$work/one-$layers" > "$work/said" 2>&1; do
  layers=$((layers + 1))
done
grep "this rank needs" "$work/said" || die "$layers layers ended otherwise: $(tail -n 1 "$work/said")"
check "$layers layers are refused before a step" grep -q "this rank needs .*but its share" "$work/said"
check "and no process is killed for it" test ! -s "$work/one-$layers/metrics.jsonl"
fits=$((layers - 1))
[ "$fits" -ge "$first" ] || die "not even $first layers fit: $(tail -n 1 "$work/said")"
log=$work/one-$fits/logs/rank-00000.log
grep -hE "parameters|peak memory" "$log" | head -n 3
beside "$fits layers in one process" "$(planned "$fits" 1 --pp 1 --offload none)" "$log"

echo "--- three stages, a group for each"
hosts=()
for rank in 0 1 2; do
  make_group "host-$rank"
  hosts+=("$group")
done
port=$((20000 + $$ % 10000))
# on_hosts COUNT FLAGS...: launchers with one process each, as on so many hosts.
on_hosts() {
  local count=$1 rank pids=() bad=0
  shift
  for rank in $(seq 0 $((count - 1))); do
    limited "${hosts[$rank]}" "$troika" launch --nnodes "$count" --node-rank "$rank" --nproc-per-node 1 --master-addr 127.0.0.1 \
      --master-port "$port" -- train "$@" > "$work/said-$rank" 2>&1 &
    pids+=($!)
  done
  for rank in "${pids[@]}"; do wait "$rank" || bad=1; done
  port=$((port + 1))
  return $bad
}
stages() { # stages LAYERS
  on_hosts 3 "${model[@]}" --model.layers "$1" --pp 3 --offload none --steps "$steps" --out "$work/three-$1"
}
layers=$((3 * fits))
while stages "$layers"; do layers=$((layers + 3)); done
if [ "$layers" = $((3 * fits)) ]; then
  while [ "$layers" -gt 3 ]; do
    layers=$((layers - 3))
    if stages "$layers"; then break; fi
  done
else
  layers=$((layers - 3))
fi
# most_resident RUN: sets log, the log of the rank with the highest peak.
most_resident() {
  local most=0 file peak
  log=
  for file in "$1"/logs/rank-*.log; do
    peak=$(mebibytes resident "$file")
    if awk -v a="$peak" -v b="$most" 'BEGIN { exit !(a > b) }'; then most=$peak log=$file; fi
    echo "$(basename "$file" .log): resident peak $peak MiB"
  done
}
most_resident "$work/three-$layers"
beside "$layers layers in three stages" "$(planned "$layers" 3 --pp 3 --offload none)" "$log"

echo "--- adapters beside the weights of a checkpoint"
data=(--data.train "$tokens" --data.tokenizer "$tokenizer" --micro-batch-size 1 --recompute full --offload none --log.progress none)
"$troika" train --model.preset qwen3-medium "${data[@]}" --seq-len 32 --global-batch-size 1 --steps 1 --out "$work/base" > "$work/said" 2>&1 ||
  die "no model to adapt: $(tail -n 1 "$work/said")"
# Saved once while it trains, so that a copy of what is saved is part of the peak where there is room for one.
adapters=("${data[@]}" --model.path "$work/base" --lora.rank 8 --seq-len 256 --global-batch-size 2 --steps 2 --checkpoint.every 1)
# adapted NAME HOSTS FLAGS...: the run's own plan, which has the copy, beside the rank with the highest peak.
adapted() {
  local name=$1 count=$2 out=$work/adapted-$1
  shift 2
  on_hosts "$count" "${adapters[@]}" "$@" --out "$out" || die "adapters, $name, ended with: $(tail -n 1 "$work/said-0")"
  most_resident "$out" > /dev/null
  beside "adapters, $name" "$(planned_in "$out/run.log")" "$log"
}
adapted fp32 1 --precision.compute fp32
adapted bf16 1 --precision.compute bf16
adapted fp32-dp2 2 --precision.compute fp32 --dp 2
adapted fp32-pp2 2 --precision.compute fp32 --pp 2
adapted bf16-dp2-zero3 2 --precision.compute bf16 --dp 2 --zero 3

echo "--- another process takes memory while one trains"
make_group killed
limited "$group" "$troika" launch --nproc-per-node 1 --max-restarts 0 -- train "${model[@]}" --model.layers $((fits - 1)) --offload none --steps 100000 \
  --out "$work/killed" > "$work/said" 2>&1 &
running=$!
for _ in $(seq 300); do
  [ ! -s "$work/killed/metrics.jsonl" ] || break
  sleep 0.1
done
# Another process takes memory that was free when the run began.
# shellcheck disable=SC2016
limited "$group" sh -c 'head -c "$1"m /dev/zero | tail -c "$1"m' sh $((limit / 2)) > /dev/null || :
for _ in $(seq 300); do
  kill -0 "$running" 2> /dev/null || break
  sleep 0.1
done
kill "$running" 2> /dev/null || :
wait "$running" || :
running=
"$troika" why "$work/killed" --lang en > "$work/why" 2>&1 || :
head -n 4 "$work/why"
check "why names the kernel's out-of-memory killer" grep -qi "out.of.memory" "$work/why"

echo "small: $failures checks failed"
[ "$failures" = 0 ]
