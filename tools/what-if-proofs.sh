#!/usr/bin/env bash
# Whether `troika plan --what-if` says beforehand what three hosts then measure: a step recorded on 100 Mbit/s links is
# replayed for 10 Mbit/s, and one with equal hosts for a host at half speed; then the hosts are made so, and the same
# training runs again. One line per comparison: predicted, its range, measured; FAIL when they are further apart than 15 %.
#
#   tools/what-if-proofs.sh [FOLDER_WITH_TROIKA]     (default: build/release)
#
# Needs root, iproute2 with tc, util-linux 2.38, jq and control groups for the half speed; three-hosts-parts.sh has the
# hosts. Three hosts on fewer than three processors compute in each other's way, on real ones they do not. So the runs that
# compare links compute little, and the one that compares processors has two microbatches, of which one rank at a time, or
# two, have something to compute. Takes about 4 minutes.
set -u

root=$(cd "$(dirname "$0")/.." && pwd)
bin=$(cd "${1:-$root/build/release}" && pwd) || exit 2
rate=100mbit
skew=(0 0 0)
. "$root/tools/three-hosts-parts.sh"
niceness=-10 # what else runs here would change what is compared

tolerance=15 # percent
shown=""

# 2 blocks a stage of a pipeline; what crosses a stage is 64 KiB a microbatch, what replicas exchange about 2 MB a step.
model="--model.layers 6 --model.hidden 64 --model.heads 4 --model.kv-heads 2 --model.head-dim 16 --model.ffn 192
  --model.vocab 259 --seq-len 64 --seed 7 --train.threads 1 --data.train corpus.txt --data.tokenizer bytes
  --checkpoint.every 0"
wide="--model.hidden 256 --model.heads 8 --model.kv-heads 4 --model.head-dim 32 --model.ffn 768"

trained() { # trained OUT STEPS FLAGS...: on all hosts; all steps but the first two are recorded
  local out=$1 steps=$2
  shift 2
  start_all "$out" --train_steps "$steps" --profile "3-$steps" "$@"
  finish_all 150
  [ "$codes" = "0 0 0" ] && return 0
  done_well "$out ends well" "$out"
  return 1
}
measured() { # measured OUT: seconds, the median step of those that were recorded
  jq -rs '[.[] | select(.step > 2) | .step_seconds] | sort | .[length / 2 | floor]' "$work/host0/$1/metrics.jsonl"
}
compare() { # compare TEXT BEFORE AFTER CHANGE...: what --what-if says of BEFORE, beside what AFTER took
  local text=$1 before=$2 after=$3 answer=$work/answer.json line off
  shift 3
  if ! "$bin/troika" plan --what-if "$work/host0/$before" "$@" --json > "$answer" 2> "$work/answer.error"; then
    check "$text: $(cat "$work/answer.error")" false
    return
  fi
  [ -n "$shown" ] || "$bin/troika" plan --what-if "$work/host0/$before" "$@" | say
  shown=yes
  line=$(jq -r --argjson measured "$(measured "$after")" --argjson was "$(measured "$before")" '
    def ms: . * 10000 | round / 10;
    .with_change | "\(100 * (.step_seconds / $measured - 1) * 10 | round / 10) " +
    "\($was | ms) ms become \(.step_seconds | ms) ms (\(.lowest_step_seconds | ms) to \(.highest_step_seconds | ms)) by prediction, \($measured | ms) ms by measurement"' "$answer")
  off=${line%% *}
  check "$text: ${line#* }: $off %" within -$tolerance "$off" $tolerance
}

slow_down() { # slow_down NODE PERCENT: its processes get so much of a processor, in slices of 2 ms
  local quota=$(($2 * 20)) v1=/sys/fs/cgroup/cpu v2=/sys/fs/cgroup
  if [ -w $v1/cgroup.procs ]; then
    group[$1]=$v1/troika-what-if-$$-$1
    mkdir "${group[$1]}" && echo 2000 > "${group[$1]}/cpu.cfs_period_us" && echo $quota > "${group[$1]}/cpu.cfs_quota_us"
  else
    group[$1]=$v2/troika-what-if-$$-$1
    echo +cpu > $v2/cgroup.subtree_control
    mkdir "${group[$1]}" && echo "$quota 2000" > "${group[$1]}/cpu.max"
  fi || die "control groups cannot limit processors here"
}

links() { # links OUT TEXT FLAGS...
  local out=$1 text=$2
  shift 2
  rate=100mbit
  shape_all
  trained "$out-fast" 8 "$@" || return
  rate=10mbit
  shape_all
  trained "$out-slow" 8 "$@" || return
  compare "$text, 100 Mbit/s to 10" "$out-fast" "$out-slow" link x0.1
  compare "$text, 10 Mbit/s to 100" "$out-slow" "$out-fast" link x10
}

half_speed() {
  rate=100mbit
  shape_all
  # shellcheck disable=SC2086
  trained equal 10 $wide --pp 3 --micro-batch-size 8 --global-batch-size 16 || return
  slow_down 1 50
  # shellcheck disable=SC2086
  trained half 10 $wide --pp 3 --micro-batch-size 8 --global-batch-size 16 || return
  compare "pp 3, host 1 at half its speed" equal half host 1 x0.5
}

begin=$(now)
make_hosts
links pipeline "pp 3" --pp 3 --micro-batch-size 4 --global-batch-size 24
links replicas "dp 3" --dp 3 --micro-batch-size 1 --global-batch-size 6
links sharded "dp 3, ZeRO 1" --dp 3 --zero 1 --micro-batch-size 1 --global-batch-size 6
half_speed
echo "what-if-proofs: $failures checks failed, $(since "$begin") s"
[ "$failures" = 0 ]
