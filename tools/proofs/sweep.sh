#!/usr/bin/env bash
# Whether `troika plan` names the right layout: on three hosts with 10 Mbit/s links, and again with 100 Mbit/s, the hosts are
# measured (`probe`), layouts of three ranks are planned and run (`sweep` over the hosts), and the one that the plan put first is
# compared with the fastest measured one, both trained three times more, in turn, by the median step. The same on this machine with
# 2 to 4 processes. One line per check; FAIL where the first choice takes over 5 % longer than the best, and where pp 3, dp 3 or
# dp 3 with ZeRO 1 on 10 Mbit/s was predicted more than 15 % off.
#
#   tools/proofs/sweep.sh [FOLDER_WITH_TROIKA]     (default: build/release)
#
# Needs root, iproute2 with tc, util-linux 2.38 and jq; three-hosts-parts.sh has the hosts. Three hosts on fewer than three
# processors compute in each other's way, on real ones they do not: so the model computes little beside what it sends. Takes about
# 10 minutes.
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
bin=$(cd "${1:-$root/build/release}" && pwd) || exit 2
rate=100mbit
skew=(0 0 0)
. "$root/tools/three-hosts-parts.sh"
niceness=-10 # what else runs here would change what is compared

tolerance=5 # percent

model="--model.layers 6 --model.hidden 64 --model.heads 3 --model.kv-heads 3 --model.head-dim 16 --model.ffn 192
  --model.vocab 259 --seq-len 96 --train.seed 7 --train.threads 1 --data.train corpus.txt --data.tokenizer bytes"
# On one machine there is no link to wait for: a model that computes.
larger="--model.preset bench-4m --model.vocab 4096 --seq-len 256 --train.seed 7 --data.train corpus.txt --data.tokenizer bytes"
layouts="--precision.compute fp32 --recompute none --offload none"

on_all() { # on_all LOG SECONDS WORDS...: the same command on every host; @ is its number
  local log=$1 seconds=$2 node
  shift 2
  for node in 2 0 1; do
    on_host $node "$log" "${@//@/$node}"
    sleep 0.2
  done
  finish_all "$seconds"
}
hosts=(--nnodes 3 --node-rank @ --master-addr "${address[0]}" --master-port $port)

# column NAMES...: these columns of every row that was measured, behind the row's name. Names hold no commas, and reasons stand
# last.
columns() {
  awk -F, -v wanted="$*" '
    NR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i; n = split(wanted, names, " "); next }
    $at["status"] == "ok" {
      line = "dp" $at["dp"] ".pp" $at["pp"] ".tp" $at["tp"] ".cp" $at["cp"] ".zero" $at["zero"] "." $at["schedule"] ".v" $at["virtual_stages"] ".mb" $at["micro_batch_size"]
      for (i = 1; i <= n; ++i) line = line " " $at[names[i]]
      print line
    }' "$summary"
}
flags_of() { # flags_of ROW: as train takes them
  sed -E 's/^dp(.+)\.pp(.+)\.tp(.+)\.cp(.+)\.zero(.+)\.(.+)\.v(.+)\.mb(.+)$/--dp \1 --pp \2 --tp \3 --cp \4 --zero \5 --schedule \6 --virtual-stages \7 --micro-batch-size \8/' <<< "$1"
}
measure() { # measure FLAGS...: seconds, the median step but for the first, trained by `train_so`
  train_so --out again --train.resume never --steps 8 --global-batch-size 12 --checkpoint.at-end false --log.progress none "$@"
  jq -rs '[.[] | select(.step > 1) | .step_seconds] | sort | .[length / 2 | floor]' "$work/host0/again/metrics.jsonl"
  rm -rf "$work"/host?/again
}
median() { sort -g | awk '{ x[NR] = $1 } END { print x[int((NR + 1) / 2)] }'; }

judge() { # judge TEXT SUMMARY: the plan's first choice beside the best, both three times more, in turn
  local text=$1 first best off took seconds round
  summary=$2
  [ -s "$summary" ] || { check "$text: there are rows" false; return; }
  columns predicted_step_seconds step_seconds | sort -g -k 3 | awk '
    { printf "%-48s %9.1f ms by plan %9.1f ms measured %+6.0f %%\n", $1, 1000 * $2, 1000 * $3, 100 * ($2 / $3 - 1) }' | say
  read -r first _ < <(columns predicted_step_seconds | sort -g -k 2 | head -1)
  read -r best _ < <(columns step_seconds | sort -g -k 2 | head -1)
  : > "$work/first" && : > "$work/best"
  if [ "$first" = "$best" ]; then
    echo 1 | tee "$work/first" > "$work/best"
  else
    for round in 1 2 3; do
      # shellcheck disable=SC2046
      measure $(flags_of "$first") >> "$work/first" && measure $(flags_of "$best") >> "$work/best"
    done
  fi
  took=$(median < "$work/first") seconds=$(median < "$work/best")
  off=$(awk -v a="$took" -v b="$seconds" 'BEGIN { printf "%.1f", 100 * (a / b - 1) }')
  check "$text: $(columns dp | wc -l) layouts measured; the plan's first, $first, takes $off % longer than the best, $best" \
    within -100 "$off" $tolerance
}

close() { # close TEXT SUMMARY ROW...: these were predicted within 15 %
  local text=$1 row planned took
  summary=$2
  shift 2
  for row in "$@"; do
    read -r _ planned took < <(columns predicted_step_seconds step_seconds | grep "^$row ")
    check "$text: $row is predicted within 15 %" within 0.85 "$(awk -v a="${planned:-0}" -v b="${took:-1}" 'BEGIN { print a / b }')" 1.15
  done
}

three_hosts() { # three_hosts RATE FLAGS...: links of this rate
  # shellcheck disable=SC2086,SC2317
  train_so() { on_all again 200 launch "${hosts[@]}" --nproc-per-node 1 -- train $model $layouts "$@"; }
  rate=$1
  shift
  shape_all
  on_all "probe-$rate" 150 launch "${hosts[@]}" --nproc-per-node 1 -- probe --seconds 4 --out cluster.yaml
  done_well "$rate: the hosts are measured" "probe-$rate"
  # shellcheck disable=SC2086
  on_all "sweep-$rate" 280 sweep $model $layouts --nproc 1 "${hosts[@]}" --cluster cluster.yaml --out "sweep-$rate" "$@"
  done_well "$rate: the sweep ends well on all hosts" "sweep-$rate"
  judge "$rate" "$work/host0/sweep-$rate/summary.csv"
}

one_machine() { # one_machine RANKS FLAGS...
  local ranks=$1 here=$work/host0
  shift
  # shellcheck disable=SC2086,SC2317
  train_so() { (export XDG_CONFIG_HOME=$here/config && cd "$here" && nice -n "$niceness" "$bin/troika" launch --nproc-per-node "$ranks" -- train $larger $layouts "$@") > "$here/again.text" 2>&1; }
  # shellcheck disable=SC2086
  (export XDG_CONFIG_HOME=$here/config && cd "$here" && nice -n "$niceness" "$bin/troika" sweep $larger $layouts --nproc "$ranks" --out "sweep-$ranks" "$@") \
    > "$here/sweep-$ranks.text" 2>&1
  judge "$ranks processes on this machine" "$here/sweep-$ranks/summary.csv"
}

begin=$(now)
make_hosts
three_hosts 10mbit --micro-batch-size 2 --global-batch-size 12 --steps 5 --best 8 # the rest takes up to 15 s a step
close 10mbit "$work/host0/sweep-10mbit/summary.csv" dp1.pp3.tp1.cp1.zero0.1f1b.v1.mb2 dp3.pp1.tp1.cp1.zero0.1f1b.v1.mb2 \
  dp3.pp1.tp1.cp1.zero1.1f1b.v1.mb2
three_hosts 100mbit --micro-batch-size 2 --global-batch-size 12 --steps 15 --best 9
alone 0 "$work/host0" probe --seconds 4 --out here.yaml > "$work/host0/probe.text" 2>&1
for ranks in 2 3 4; do one_machine $ranks --cluster here.yaml --global-batch-size 12 --steps 7 --best 12; done
echo "sweep: $failures checks failed, $(since "$begin") s"
[ "$failures" = 0 ]
