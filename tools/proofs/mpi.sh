#!/usr/bin/env bash
# Debian's Open MPI and MPICH start three ranks, on one host and on three hosts (three-hosts-parts.sh): the bits are those of `troika
# launch`, Ctrl-C saves, a killed rank ends all and is named. One line per proof; fails when one does. About 4 minutes.
#
#   tools/proofs/mpi.sh [FOLDER_WITH_TROIKA] [KIND]     (default: build/release, all five)
#
# The other hosts are entered by a stand-in for ssh. By hand: needs root, iproute2 with tc, util-linux 2.38, jq;
# tools/install-packages.sh clusters installs the rest.
# shellcheck disable=SC2154,SC2034  # variables of three-hosts-parts.sh
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
bin=$(cd "${1:-$root/build/release}" && pwd) || exit 2
only=${2:-}
rate=50mbit
skew=(0 0 0)
spaces=(--net --uts --mount)
lifetime=1800
"$root/tools/install-packages.sh" clusters
. "$root/tools/three-hosts-parts.sh"

model="--model.layers 4 --model.hidden 64 --model.heads 4 --model.kv-heads 2 --model.head-dim 16 --model.ffn 192
  --model.vocab 259 --seq-len 64 --micro-batch-size 1 --global-batch-size 6 --seed 7 --train.threads 1 --data.train corpus.txt --data.tokenizer bytes"
export PATH=$bin:$PATH
unset MASTER_ADDR MASTER_PORT RANK WORLD_SIZE

declare -A mpi=( # one host, and three
  [openmpi]="mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none --mca odls_base_sigkill_timeout 5 -np 3"
  [openmpi-hosts]="mpirun.openmpi --allow-run-as-root --bind-to none --mca odls_base_sigkill_timeout 5 -np 3 --host pi0,pi1,pi2 -x MASTER_ADDR=pi0 -x PATH"
  [mpich]="mpiexec.hydra -n 3"
  [mpich-proxies]="mpiexec.hydra -disable-auto-cleanup -n 3 -ppn 1 -hosts 127.0.0.1,127.0.0.2,127.0.0.3 -launcher fork -genv MASTER_ADDR 127.0.0.1"
  [mpich-hosts]="mpiexec.hydra -disable-auto-cleanup -n 3 -ppn 1 -hosts pi0,pi1,pi2 -launcher ssh -genv MASTER_ADDR pi0"
)

prepare() {
  local node
  make_hosts
  name_hosts
  mkdir "$work/jobs" "$work/bin"
  head -c 8000 "$root/LICENSE" > "$work/jobs/corpus.txt"
  for node in 0 1 2; do echo "${holder[$node]}" > "$work/pid.pi$node"; done
  # ssh [FLAGS] HOST COMMAND...
  cat > "$work/bin/ssh" << SH
#!/bin/sh
while [ "\${1#-}" != "\$1" ]; do shift; done
host=\$1
shift
exec nsenter --target "\$(cat "$work/pid.\$host")" --net --uts --mount --wdns=/ -- sh -c "\$*"
SH
  chmod +x "$work/bin/ssh"
  PATH=$work/bin:$PATH
}

# A shell's background jobs ignore SIGINT; who types Ctrl-C has not started one.
on_pi0() { cd "$work/jobs" && exec nsenter --target "${holder[0]}" "${spaces[@]}" --wdns="$PWD" -- env --default-signal=INT "$@"; }
losses() { jq -r '"\(.step) \(.loss_bits)"' "$work/jobs/$1/metrics.jsonl"; }
same_bits() { # same_bits NAME STEPS
  local last file
  last=checkpoints/step-$(printf %08d "$2")
  [ "$(losses "$1" | wc -l)" = "$2" ] && cmp <(losses "$1") <(losses reference) || return 1
  for file in "$work/jobs/reference/$last"/{model,state}/*.safetensors; do
    cmp "$file" "$work/jobs/$1/${file#"$work/jobs/reference/"}" || return 1
  done
}
ranks() { # pids on all three hosts
  local node pid
  for node in 0 1 2; do
    for pid in $(inside "$node"); do ! is_rank "$pid" || echo "$pid"; done
  done
}
rank_pid() { # rank_pid NUMBER
  local pid
  for pid in $(ranks); do
    tr '\0' '\n' < "/proc/$pid/environ" 2> /dev/null | grep -qE "^(OMPI_COMM_WORLD_RANK|PMI_RANK)=$1\$" && echo "$pid"
  done
}
await_steps() { # await_steps NAME COUNT SECONDS
  local end=$((SECONDS + $3))
  while [ $SECONDS -lt $end ]; do
    [ "$(cat "$work/jobs/$1/metrics.jsonl" 2> /dev/null | wc -l)" -ge "$2" ] && return 0
    sleep 0.2
  done
  return 1
}
all_gone() {
  for _ in $(seq 100); do
    [ -n "$(ranks)" ] || return 0
    sleep 0.1
  done
  return 1
}
saved_early() { # saved_early NAME: one whole checkpoint, of a step before the last
  [ "$(ls "$work/jobs/$1"/checkpoints/*/manifest.json 2> /dev/null | wc -l)" = 1 ] && [ ! -e "$work/jobs/$1/checkpoints/step-00000600" ]
}
start_mpi() { # start_mpi WHICH NAME STEPS: in the background; sets starter, the process of mpirun itself
  # shellcheck disable=SC2086
  on_pi0 ${mpi[$1]} troika train $model --pp 3 --steps "$3" --out "$2" > "$work/jobs/$2.log" 2>&1 &
  starter=$!
}
ends() { # ends SECONDS: of the starter; sets code
  code=late
  for _ in $(seq $(($1 * 10))); do
    kill -0 "$starter" 2> /dev/null || { wait "$starter"; code=$?; return; }
    sleep 0.1
  done
  kill -9 "$starter"
}

prove() { # prove WHICH
  local which=$1 signal
  start_mpi "$which" "$which" 60
  ends 120
  check "$which: three ranks end well ($code) with the bits of troika launch" same_bits "$which" 60
  [ "$code" = 0 ] || tail -n 12 "$work/jobs/$which.log" | say

  for signal in INT USR2; do
    [[ $which.$signal != mpich*.USR2 ]] || continue # Hydra does not pass it on
    start_mpi "$which" "$which-$signal" 600
    await_steps "$which-$signal" 20 60
    kill -$signal "$starter"
    ends 60
    check "$which: SIG$signal to it saves (exit code $code, $(ls "$work/jobs/$which-$signal/checkpoints" 2> /dev/null))" saved_early "$which-$signal"
    check "$which: and no rank is left" all_gone
    grep -E '^troika|rank|exit' "$work/jobs/$which-$signal.log" | grep -v 'largest rank' | tail -n 4 | say
  done

  start_mpi "$which" "$which-killed" 600
  await_steps "$which-killed" 20 60
  kill -9 "$(rank_pid 1)"
  ends 60
  check "$which: a killed rank ends all (exit code $code)" all_gone
  # Hydra's proxy kills the ranks of its host at once, before they can say a word, and names any of them.
  if [ "$which" = mpich ]; then
    check "$which: a process was killed, says Hydra" holds 'Killed \(signal 9\)' "$work/jobs/$which-killed.log"
  else
    check "$which: and is named" holds 'rank 1 \(host' "$work/jobs/$which-killed.log"
  fi
  grep -vE 'ETA|^  ' "$work/jobs/$which-killed.log" | grep -E 'rank 1|PID|signal|EXIT' | grep -v largest | head -n 6 | say
}

prepare
# shellcheck disable=SC2086
(on_pi0 troika launch --nproc-per-node 3 --bind none -- train $model --pp 3 --steps 60 --out reference) > "$work/jobs/reference.log" 2>&1 ||
  die "the reference fails: $(tail -n 3 "$work/jobs/reference.log")"
for which in openmpi mpich mpich-proxies openmpi-hosts mpich-hosts; do if [ -z "$only" ] || [ "$only" = "$which" ]; then prove $which; fi; done
echo "$failures failed"
[ $failures = 0 ]
