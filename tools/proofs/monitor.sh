#!/usr/bin/env bash
# Watches real runs with `troika monitor` and compares what stands on the screen with what must stand there. By hand, 2 to 4 minutes.
#
#   tools/proofs/monitor.sh [FOLDER_WITH_TROIKA]     (default: build/release)
#
# In a tmux of its own: a run of three processes, the terminal resized, a rank slowed, a rank stopped, the end of the run. Without a
# terminal. Two hosts in network namespaces. Needs root, two cores and what three-hosts-parts.sh needs; installs tmux where it is missing.
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
bin=$(cd "${1:-$root/build/release}" && pwd) || exit 2
command -v tmux > /dev/null || apt-get install -y tmux > /dev/null || exit 2
rate=100mbit
skew=(0 23 -11)
. "$root/tools/three-hosts-parts.sh"

model="--model.layers 4 --model.hidden 64 --model.heads 4 --model.kv-heads 2 --model.head-dim 16 --model.ffn 192
  --model.vocab 259 --seq-len 64 --seed 7 --train.threads 1 --data.train corpus.txt --data.tokenizer bytes --log.sample-seconds 1
  --log.progress none --comm.heartbeat-seconds 60"
session=(tmux -u -L "troika-monitor-$$" -f /dev/null)
burners=()

end_all() {
  "${session[@]}" kill-server 2> /dev/null
  [ ${#burners[@]} = 0 ] || kill "${burners[@]}" 2> /dev/null
  [ -z "${run_pid:-}" ] || kill -9 -- "-$run_pid" 2> /dev/null
  clean_up
}
trap 'end_all' EXIT

# --- screens --------------------------------------------------------------------------------------------------------

screen() { LC_ALL=C.UTF-8 "${session[@]}" capture-pane -p -t watch; }
keys() { "${session[@]}" send-keys -t watch "$@"; }
begin_session() { # begin_session WIDTH HEIGHT
  "${session[@]}" new-session -d -s watch -x "$1" -y "$2" "env PS1='ready> ' LC_ALL=C.UTF-8 sh"
}
await_screen() { # await_screen SECONDS PATTERN: until a line matches
  for _ in $(seq $(($1 * 5))); do
    screen | grep -qE -e "$2" && return 0
    sleep 0.2
  done
  return 1
}
# Lines that are not empty, one after the other, must match the patterns on standard input, one a line and no more.
matches() { # matches FILE
  awk -v screen="$1" '
    { sub(/\r$/, ""); wanted[++count] = $0 }
    END {
      while ((getline line < screen) > 0) if (line !~ /^ *$/) {
        ++at
        if (at > count || line !~ ("^" wanted[at] "$")) { print "line " at ": \"" line "\" is not \"" wanted[at] "\""; exit 1 }
      }
      if (at < count) { print "missing: \"" wanted[at + 1] "\""; exit 1 }
    }'
}
compare() { # compare TEXT FILE: the patterns on standard input
  local said
  if said=$(matches "$2"); then
    echo "ok    $1"
  else
    echo "FAIL  $1: $said"
    say < "$2"
    failures=$((failures + 1))
  fi
}

n='[0-9.]+'
time="$n (ms|s)"
bytes="$n (B|KiB|MiB|GiB)"
place='([a-z_]+( [0-9.]+)?|reporting the step|saving a checkpoint|measuring the link|[a-z ]+) for '"$time"
share='[0-9]+ %'
waits='( (others|[0-2])( → [0-2])*)?'
clock='[0-9][0-9]:[0-9][0-9]:[0-9][0-9]'
host_name=$(hostname)

begin_run() { # begin_run FOLDER FLAGS...: three processes on this machine, in a process group of their own
  local out=$1
  shift
  # shellcheck disable=SC2086
  (cd "$work/host0" && exec setsid env XDG_CONFIG_HOME="$work/config" "$bin/troika" launch --nproc-per-node 3 -- train $model --out "$out" "$@") \
    > "$work/$out.text" 2>&1 &
  run_pid=$!
}
await_state() { # await_state FOLDER: until the run says of itself that it trains
  for _ in $(seq 300); do
    grep -q training "$work/host0/$1/state.json" 2> /dev/null && return 0
    sleep 0.1
  done
  die "the run does not begin: $(cat "$work/$1.text")"
}
pid_of() { # pid_of FOLDER RANK
  jq ".ranks[$2].pid" "$work/host0/$1/state.json"
}
end_run() {
  [ -z "${run_pid:-}" ] || kill -9 -- "-$run_pid" 2> /dev/null
  wait "$run_pid" 2> /dev/null
  run_pid=
}

# --- a run under a terminal -----------------------------------------------------------------------------------------

under_tmux() {
  local slow stopped
  begin_session 110 30
  begin_run live --dp 3 --batch_size 6 --microbatch_num 2 --train_steps 100000
  await_state live
  keys "cd $work/host0 && $bin/troika monitor --log live/metrics.jsonl --interval 1; echo left \$?" Enter
  check "the run shows under tmux" await_screen 40 'step [0-9]+ of 100000'
  check "with ranks that are heard" await_screen 20 "rank  host"
  sleep 8
  screen > "$work/screen.wide"
  compare "the screen of 110 x 30 is as expected" "$work/screen.wide" << PATTERNS
live  .*training
(░)+  step $n of 100000  $n %  $n [KM]? ?tokens  ETA .*
loss +$n +[^ ]+.*
grad norm +$n +[^ ]+ +lr .*
tokens/s +$n K? +[^ ]+ +$time a step.*
 *rank +host +at +.*where +waits for +fwd +bwd +wait.*
 *0 +.*
 *1 +.*
 *2 +.*
 *host +ranks +.*
 *$host_name +3 .*
links .*[0-2] → [0-2] $bytes/s.*
 *events
( *$clock +(launch|start|notice|save) +.*)
( *$clock +(launch|start|notice|save) +.*)
q quits
PATTERNS
  "${session[@]}" resize-window -t watch -x 70 -y 16
  sleep 1.5
  screen > "$work/screen.small"
  check "after a resize to 70 x 16 the last line stands at the bottom" [ "$(sed -n 16p "$work/screen.small")" = "q quits" ]
  check "no line is longer" eval "! LC_ALL=C.UTF-8 grep -qE '^.{71,}' '$work/screen.small'"
  check "and it has the run's ranks still" grep -qE '^ *rank +.*where' "$work/screen.small"
  "${session[@]}" resize-window -t watch -x 110 -y 34

  # Rank 1 shares a core with busy loops, the others share the other core.
  slow=$(pid_of live 1)
  for rank in 0 2; do taskset -a -p 2 "$(pid_of live $rank)" > /dev/null; done
  taskset -a -p 1 "$slow" > /dev/null
  for _ in 1 2 3 4 5 6; do
    taskset 1 sh -c 'while :; do :; done' &
    burners+=($!)
  done
  check "rank 1, which gets a seventh of a core, is named" await_screen 90 '^! (rank 1 .* is slow|host .* slower .*rank 1)'
  screen | grep '^!' | say
  kill "${burners[@]}"
  burners=()

  stopped=$(pid_of live 2)
  kill -STOP "$stopped"
  check "rank 2, which is stopped, is named as silent" await_screen 20 '^! rank 2 \(host .*\) has been silent for'
  check "in the table too" await_screen 5 '^ *2 .* silent for '
  check "and the others wait for it" await_screen 20 '^ *[01] .* 2 '
  screen | grep -E '^(!| *[0-2] )' | say
  kill -CONT "$stopped"
  check "and no longer once it continues" eval 'for _ in $(seq 100); do screen | grep -q "silent for" || break; sleep 0.2; done; ! screen | grep -q "silent for"'

  kill -9 "$(pid_of live 1)"
  check "a killed rank ends the run, and the screen says who" await_screen 30 'rank 1 .*killed by signal 9'
  check "the state is failed" await_screen 10 'failed$'
  keys q
  check "q gives the terminal back" await_screen 5 '^left 0'
  check "with what stood there before" eval 'screen | grep -q "ready>"'
  end_run
}

# --- without a terminal ---------------------------------------------------------------------------------------------

without_a_terminal() {
  local code
  begin_run lines --pp 3 --batch_size 6 --microbatch_num 3 --train_steps 300
  await_state lines
  (cd "$work/host0" && timeout 120 env LC_ALL=C.UTF-8 "$bin/troika" monitor lines --interval 1 > "$work/lines.text" 2>&1 < /dev/null)
  code=$?
  check "without a terminal it ends with the run (exit code $code)" [ $code = 0 ]
  check "its lines have time, state, step and loss" eval "grep -cE '^[0-9-]{10} $clock  training  step $n of 300  $n %  loss $n  grad norm .* tokens/s' '$work/lines.text' > /dev/null"
  check "the last says that it has finished" eval "grep -qE '^[0-9-]{10} $clock  finished  step 300 of 300  100.0 %' '$work/lines.text'"
  check "no escape sequences stand in them" eval "! grep -q \$'\\x1b' '$work/lines.text'"
  tail -n 4 "$work/lines.text" | say
  check "--once --json is one object with the three ranks" [ "$("$bin/troika" monitor "$work/host0/lines" --once --json | jq -r '.state, (.ranks | length), .progress.step' | tr '\n' ' ')" = "finished 3 300 " ]
  end_run
}

# --- two hosts ------------------------------------------------------------------------------------------------------

two_hosts() {
  local node
  make_hosts
  for node in 1 0; do
    # shellcheck disable=SC2086
    on_host $node pair launch --nnodes 2 --node-rank $node --master-addr "${address[0]}" --master-port $port --nproc-per-node 1 \
      -- train $model --out pair --pp 2 --batch_size 6 --microbatch_num 3 --train_steps 100000
  done
  for _ in $(seq 300); do
    [ -e "$work/host0/pair/records/rank-00001.jsonl" ] && [ "$(wc -l < "$work/host0/pair/records/rank-00001.jsonl")" -ge 4 ] && break
    sleep 0.1
  done
  (cd "$work/host0" && LC_ALL=C.UTF-8 "$bin/troika" monitor pair --once) > "$work/pair.text"
  compare "host 0's folder shows the ranks and the state of both hosts" "$work/pair.text" << PATTERNS
pair  .*training
(░)+  step $n of 100000 .*
loss .*
.*
.*
grad norm .*
tokens/s .*
rank +host +at +.*
 *0 +pi0 +pp0 .*
 *1 +pi1 +pp1 .*
host +ranks .*
pi0 +1 .*
pi1 +1 .*
links .*[01] → [01] $bytes/s.*
events
$clock +.*
$clock +.*
PATTERNS
  (cd "$work/host0" && LC_ALL=C.UTF-8 "$bin/troika" monitor pair --once --lang zh) | say
  net 3 ip link set port1 down
  for _ in $(seq 60); do
    (cd "$work/host0" && "$bin/troika" monitor pair --once) > "$work/cut.text"
    grep -q 'rank 1 (host pi1) has been silent for' "$work/cut.text" && break
    sleep 0.5
  done
  check "rank 1 is named when host 1's link is cut" grep -q 'rank 1 (host pi1) has been silent for' "$work/cut.text"
  grep '^!' "$work/cut.text" | say
}

begin=$(now)
mkdir -p "$work/host0"
head -c 8000 "$root/LICENSE" > "$work/host0/corpus.txt"
under_tmux
without_a_terminal
rm -r "$work/host0"
two_hosts
echo "monitor: $failures checks failed, $(since "$begin") s"
[ "$failures" = 0 ]
