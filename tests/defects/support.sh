# For the scripts of this folder: each is given a folder with `troika` and prints one line, `passes` or
# `symptom: ...`. Sourced by them as
#
#   . "$(dirname "$0")/support.sh"
#
# It makes a folder of their own, $work, with a corpus.txt, and on exit ends what they started and removes it.
set -u
export LC_ALL=C OMP_NUM_THREADS=1
unset RANK WORLD_SIZE LOCAL_RANK MASTER_ADDR MASTER_PORT TROIKA_SECRET TROIKA_SECRET_FILE

here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "${1:?folder with the programs}" && pwd) || exit 2
[ -x "$bin/troika" ] || {
  echo "'$bin' holds no troika" >&2
  exit 2
}
work=$(mktemp -d "${TMPDIR:-/tmp}/troika-defect-XXXXXX")
export TROIKA_DEFECT_MARK=$work # in the environment of all that is started here

marked() { # the processes that were started here, without this shell
  local entry pid
  for entry in /proc/[0-9]*/environ; do
    pid=${entry#/proc/} pid=${pid%/environ}
    [ "$pid" != $$ ] && [ "$pid" != "$BASHPID" ] && grep -qzxF "TROIKA_DEFECT_MARK=$work" "$entry" 2> /dev/null && echo "$pid"
  done
}
at_exit() { :; } # scripts may have more to clean up
clean_up() {
  local pid
  at_exit
  for pid in $(marked); do kill -9 "$pid" 2> /dev/null; done
  rm -rf "$work"
}
trap clean_up EXIT

passes() {
  echo passes
  exit 0
}
symptom() {
  echo "symptom: $1"
  exit 1
}
cannot() {
  echo "cannot run here: $1"
  exit 2
}

now() { date +%s.%N; }
since() { awk -v a="$1" -v b="$(now)" 'BEGIN { printf "%.1f", b - a }'; }
await() { # await SECONDS COMMAND...: until the command is true; false when it never was
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.05
  done
}
runs() { [ -e "/proc/$1" ] && [ "$(awk '{ print $3 }' "/proc/$1/stat" 2> /dev/null)" != Z ]; }
ended() { ! runs "$1"; }
all_ended() {
  local pid
  for pid in "$@"; do ended "$pid" || return 1; done
}
code_of() { # code_of VARIABLE PID: sets it to the exit code of a child that has ended
  wait "$2" # here, for a subshell may come before this shell has learned of the end
  printf -v "$1" %d $?
}
holds() { grep -qE -e "$1" "$2" 2> /dev/null; } # holds PATTERN FILE
rows() { cat "$1/metrics.jsonl" 2> /dev/null | wc -l; }
has_rows() { [ "$(rows "$1")" -ge "$2" ]; } # has_rows RUN COUNT
connected_to() { ss -Htn state established "( dport = :$1 )" 2> /dev/null | grep -q .; }
listens() { [ -n "$(ss -Htln "( sport = :$1 )")" ]; }
free_port() { # this one and the next are free
  local port
  while :; do
    port=$((20000 + RANDOM % 10000))
    listens $port || listens $((port + 1)) || break
  done
  echo $port
}
is_root() { [ "$(id -u)" = 0 ]; }
last_line() { grep -vE '^\s*$' "$1" | tail -n 1 | cut -c 1-160; }

for ((i = 0; i < 400; ++i)); do echo "the model learns a layout that never changes line $i of the loss"; done > "$work/corpus.txt"
small=(--data.train "$work/corpus.txt" --data.tokenizer bytes --seq-len 16 --micro-batch-size 1 --global-batch-size 12 --seed 7
  --model.layers 4 --model.hidden 32 --model.heads 2 --model.kv-heads 1 --model.head-dim 16 --model.ffn 64 --model.vocab 259
  --train.threads 1 --log.progress none)

rank() { # rank RANK WORLD_SIZE PORT ARGUMENTS...: started by hand, as torchrun would; in the foreground
  local number=$1 size=$2 port=$3
  shift 3
  RANK=$number WORLD_SIZE=$size LOCAL_RANK=$number LOCAL_WORLD_SIZE=$size MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
    exec "$bin/troika" "$@"
}
