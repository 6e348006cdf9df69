#!/usr/bin/env bash
# Debian's SLURM on three hosts of its own (three-hosts-parts.sh): the scripts of examples/slurm are submitted, cut off by their time
# limit, lose a daemon, a rank and a host, are cancelled; what is left must be the bits of a run that nothing happened to. One line
# per proof; fails when one does. About 12 minutes.
#
#   tools/proofs/slurm.sh [FOLDER_WITH_TROIKA] [PART_OF_A_NAME]     (default: build/release, all proofs)
#
# slurmctld, three slurmd and munged run from a scratch folder with a key of their own; a SLURM of this machine is not touched. By hand: needs
# root, iproute2 with tc, util-linux 2.38, jq; tools/install-packages.sh clusters installs the rest.
# shellcheck disable=SC2154,SC2034  # variables of three-hosts-parts.sh
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
bin=$(cd "${1:-$root/build/release}" && pwd) || exit 2
only=${2:-}
rate=20mbit
skew=(0 0 0)
spaces=(--net --uts --mount)
lifetime=3600
"$root/tools/install-packages.sh" clusters
. "$root/tools/three-hosts-parts.sh"

model="--model.layers 4 --model.hidden 64 --model.heads 4 --model.kv-heads 2 --model.head-dim 16 --model.ffn 192
  --model.vocab 259 --seq-len 64 --micro-batch-size 1 --global-batch-size 6 --seed 7 --train.threads 1 --data.train corpus.txt --data.tokenizer bytes"
export SLURM_CONF=$work/slurm.conf PATH=$bin:$PATH

# --- the cluster ------------------------------------------------------------------------------------------------------

write_settings() {
  cat > "$SLURM_CONF" << CONF
ClusterName=proof
SlurmctldHost=head(10.77.0.4)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge.socket,cred_expire=5
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool.%n
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.%n.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.%n.log
SlurmctldPort=16817
SlurmdPort=16818
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
TaskPluginParam=Cores
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_interval=5,bf_interval=5
SlurmdTimeout=20
KillWait=20
ReturnToService=2
MpiDefault=none
GresTypes=gpu
MailProg=/bin/true
LaunchParameters=use_interactive_step
NodeName=pi0 NodeAddr=10.77.0.1 CPUs=2 Gres=gpu:2 State=UNKNOWN
NodeName=pi1 NodeAddr=10.77.0.2 CPUs=2 Gres=gpu:2 State=UNKNOWN
NodeName=pi2 NodeAddr=10.77.0.3 CPUs=2 Gres=gpu:2 State=UNKNOWN
PartitionName=proof Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
  touch "$work/gpu0" "$work/gpu1" # what SLURM takes for devices
  echo "Name=gpu File=$work/gpu[0-1]" > "$work/gres.conf"
}

slurmd_on() { # slurmd_on NODE
  mkdir -p "$work/spool.pi$1"
  net "$1" slurmd -N "pi$1" -f "$SLURM_CONF" || die "slurmd does not start: $(tail -n 3 "$work/slurmd.pi$1.log")"
}

start_cluster() {
  make_hosts
  name_hosts
  write_settings
  mkdir -m 700 "$work/state"
  mkdir "$work/jobs"
  head -c 8000 "$root/LICENSE" > "$work/jobs/corpus.txt"
  head -c 1024 /dev/urandom > "$work/munge.key"
  chmod 400 "$work/munge.key"
  chmod 755 "$work"
  net 3 munged --force --key-file="$work/munge.key" --socket="$work/munge.socket" --pid-file="$work/munge.pid" \
    --log-file="$work/munge.log" --seed-file="$work/munge.seed" || die "munged does not start: $(tail -n 3 "$work/munge.log")"
  net 3 slurmctld -f "$SLURM_CONF" || die "slurmctld does not start: $(tail -n 3 "$work/slurmctld.log")"
  local node
  for node in 0 1 2; do slurmd_on $node; done
  for _ in $(seq 100); do
    [ "$(head_runs sinfo -h -t idle -o %D)" = 3 ] && return
    sleep 0.2
  done
  die "the nodes do not become idle: $(head_runs sinfo -h -o '%n %T %E')"
}

head_runs() { (cd "$work/jobs" && net 3 "$@"); } # as a user on the login node does

# --- jobs -------------------------------------------------------------------------------------------------------------

submit() { # submit NAME SCRIPT FLAGS_OF_SBATCH... -- ARGUMENTS...: sets job and log
  local name=$1 script=$root/examples/slurm/$2.sbatch flags=()
  shift 2
  while [ "$1" != -- ]; do flags+=("$1") && shift; done
  shift
  job=$(head_runs sbatch --parsable --job-name="$name" "${flags[@]}" "$script" "$@" --out "$name") || die "sbatch refuses $name"
  log=$work/jobs/$name-$job.log
}
said_of_job() { head_runs scontrol show job -o "$job" | sed -nE "s/.* $1=([^ ]*).*/\1/p"; }
await_state() { # await_state SECONDS STATE...: of the job
  local state end=$((SECONDS + $1))
  shift
  while [ $SECONDS -lt $end ]; do
    state=$(said_of_job JobState)
    for wanted in "$@"; do [ "$state" != "$wanted" ] || return 0; done
    sleep 0.5
  done
  return 1
}
await_steps() { # await_steps NAME COUNT SECONDS
  local end=$((SECONDS + $3))
  while [ $SECONDS -lt $end ]; do
    [ "$(cat "$work/jobs/$1/metrics.jsonl" 2> /dev/null | wc -l)" -ge "$2" ] && return 0
    sleep 0.2
  done
  return 1
}
named_on() { # named_on NODE NAME: processes of that name there
  local pid
  for pid in $(inside "$1"); do [ "$(cat "/proc/$pid/comm" 2> /dev/null)" != "$2" ] || echo "$pid"; done
}
ranks_on() { # ranks_on NODE
  local pid
  for pid in $(inside "$1"); do ! is_rank "$pid" || echo "$pid"; done
}
await_ranks() { # until all three hosts have one
  for _ in $(seq 300); do
    [ -n "$(ranks_on 0)" ] && [ -n "$(ranks_on 1)" ] && [ -n "$(ranks_on 2)" ] && return
    sleep 0.05
  done
  return 1
}
losses() { jq -r '"\(.step) \(.loss_bits)"' "$work/jobs/$1/metrics.jsonl"; }
same_bits() { # same_bits NAME REFERENCE STEPS: losses of every step, and every tensor of the last checkpoint
  local last file
  last=checkpoints/step-$(printf %08d "$3")
  [ "$(losses "$1" | wc -l)" = "$3" ] && cmp <(losses "$1") <(losses "$2") || return 1
  for file in "$work/jobs/$2/$last"/{model,state}/*.safetensors; do
    cmp "$file" "$work/jobs/$1/${file#"$work/jobs/$2/"}" || return 1
  done
}
resumed() { grep -cE '^([0-9:]{8} )?resumed from step' "$log"; }
ends_well() { # ends_well NAME REFERENCE STEPS SECONDS: the job is completed, with those bits
  if ! await_state "$4" COMPLETED; then
    echo "      $1 is $(said_of_job JobState), $(said_of_job Reason); its log:" && tail -n 20 "$log" | say
  fi
  check "$1: the job is completed after $(said_of_job Restarts) requeues, resumed $(resumed) times" [ "$(said_of_job JobState)" = COMPLETED ]
  check "$1: losses of all $3 steps and the last checkpoint have the bits of the run that nothing happened to" same_bits "$1" "$2" "$3"
}
need() { # need STEPS: the run refSTEPS that nothing happens to
  # shellcheck disable=SC2086
  [ -d "$work/jobs/ref$1" ] || reference "ref$1" 3 $model --pp 3 --steps "$1"
}
reference() { # reference NAME RANKS ARGUMENTS...: on one host, by Troika's own launcher
  local name=$1 ranks=$2
  shift 2
  (cd "$work/jobs" && net 0 troika launch --nproc-per-node "$ranks" --bind none -- train "$@" --out "$name") > "$work/jobs/$name.log" 2>&1 ||
    die "the reference $name fails: $(tail -n 5 "$work/jobs/$name.log")"
}

# --- proofs -----------------------------------------------------------------------------------------------------------

run() { # run NAME: one proof, where it is wanted
  [[ $1 == *$only* ]] || return 0
  "proof_${1//-/_}"
}

# shellcheck disable=SC2086
proof_srun() {
  need 40
  head_runs srun -N3 -n3 troika train $model --pp 3 --steps 40 --out srun > "$work/jobs/srun.log" 2>&1
  check "srun: three tasks are three ranks" same_bits srun ref40 40
  head_runs srun -N3 -n3 --mpi=pmi2 troika train $model --pp 3 --steps 40 --out pmi2 > "$work/jobs/pmi2.log" 2>&1
  check "srun: and with --mpi=pmi2, which sets PMI_RANK too" same_bits pmi2 ref40 40
  head_runs srun -N3 troika launch -- train $model --pp 3 --steps 40 --out launchers > "$work/jobs/launchers.log" 2>&1
  check "srun: a launcher on each node is told by SLURM how many there are, which it is and where they meet" same_bits launchers ref40 40
  head_runs srun -N2 -n4 troika launch -- train $model --out refused > "$work/jobs/refused.log" 2>&1
  check "srun: two launchers on a node are refused by a sentence" holds 'srun starts 4 launchers on 2 nodes: start one per host' "$work/jobs/refused.log"
  head_runs script -qec "salloc -N1 troika train $(echo $model) --steps 2 --out allocated" /dev/null < /dev/null > "$work/jobs/allocated.log" 2>&1
  check "srun: in a command of salloc a process is alone" holds 'rank +0 of 1' "$work/jobs/allocated.log"
  head_runs script -qec "salloc -N1" /dev/null <<< "echo step \$SLURM_STEP_ID; troika train $(echo $model) --steps 2 --out interactive; exit" > "$work/jobs/interactive.log" 2>&1
  check "srun: and in its interactive step, $(sed -nE 's/.*(step 4[0-9]+).*/\1/p' "$work/jobs/interactive.log" | head -n1)" holds 'rank +0 of 1' "$work/jobs/interactive.log"
}

# shellcheck disable=SC2086
proof_threads() {
  local free=${model/--train.threads 1/}
  submit threads pretrain --nodes=1 --cpus-per-task=2 --export=PATH -- $free --steps 2
  await_state 60 COMPLETED FAILED
  check "threads: with SRUN_CPUS_PER_TASK a task has the cores of the job" holds 'threads: 2, on 2 of [0-9]+ cores' "$work/jobs/threads/logs/rank-00000.log"
  printf '#!/bin/bash\nunset SRUN_CPUS_PER_TASK\nsrun troika train "$@"\n' > "$work/jobs/plain.sh"
  head_runs sbatch -W --cpus-per-task=2 --export=PATH -o plain.log plain.sh $free --steps 2 --out plain > /dev/null
  grep -h threads: "$work"/jobs/{threads,plain}/logs/rank-00000.log | say
  check "threads: without it, one" holds 'threads: 1, on 1 of [0-9]+ cores' "$work/jobs/plain/logs/rank-00000.log"
}

pretrain=(pretrain --nodes=3 --cpus-per-task=1 --time=30)

# SLURM looks at its limits every 30 s, and sends the signal up to that much early.
# shellcheck disable=SC2086
proof_time_limit() {
  need 600
  submit time-limit pretrain --nodes=3 --cpus-per-task=1 --time=1 --signal=TERM@10 -- $model --pp 3 --steps 600
  await_state 60 RUNNING
  ends_well time-limit ref600 600 300
  check "time-limit: SLURM cut it off and it was queued again at least once" [ "$(resumed)" -ge 1 ]
  check "time-limit: each time all ranks ended with 130" holds 'task.* Exited with exit code 130' "$log"
  grep -E 'stopping after|resumed from|REQUEUE|error: pi' "$log" | say
}

# The last rank is held as soon as it is there, so that the others cannot begin a step before the signal.
# shellcheck disable=SC2086
proof_before_the_first_step() {
  local held=
  need 40
  submit early "${pretrain[@]}" -- $model --pp 3 --steps 40
  for _ in $(seq 3000); do
    held=$(ranks_on 2)
    [ -z "$held" ] || break
    sleep 0.01
  done
  kill -STOP $held
  await_ranks
  head_runs scancel --signal=TERM "$job"
  for _ in $(seq 100); do
    ! grep -q 'stopped before' "$log" || break
    sleep 0.1
  done
  kill -CONT $held
  ends_well early ref40 40 120
  check "early: it was stopped before the first step" holds 'stopped before the first step' "$log"
  grep -E 'stopped|stopping|REQUEUE|error: pi' "$log" | say
}

# A usual --signal=USR1@60.
# shellcheck disable=SC2086
proof_signals() {
  local signal
  need 150
  for signal in USR1 USR2; do
    submit "signal-$signal" "${pretrain[@]}" -- $model --pp 3 --steps 150
    await_steps "signal-$signal" 20 90
    head_runs scancel --signal=$signal "$job"
    ends_well "signal-$signal" ref150 150 150
    check "signal-$signal: ranks saved and ended with 130" holds 'Exited with exit code 130' "$log"
  done
}

# Of a site that has KillOnBadExit: the first rank that ends with 130 gets the others killed.
# shellcheck disable=SC2086
proof_kill_on_bad_exit() {
  local try code=0 codes=
  for try in 1 2 3; do
    head_runs srun --kill-on-bad-exit=1 -N3 -n3 troika train $model --pp 3 --steps 600 --out "bad$try" > "$work/jobs/bad$try.log" 2>&1 &
    await_steps "bad$try" 10 60
    head_runs scancel --signal=TERM "$(head_runs squeue -h -o %i | head -n1)"
    wait $!
    code=$?
    codes="$codes $code $(ls "$work/jobs/bad$try"/checkpoints/*/manifest.json 2> /dev/null | wc -l)"
  done
  check "kill-on-bad-exit: the checkpoint is whole before the first rank ends (exit code and manifests of three tries:$codes)" [ "$codes" = " 130 1 130 1 130 1" ]
}

# shellcheck disable=SC2086
proof_killed_rank() {
  need 150
  submit killed "${pretrain[@]}" -- $model --pp 3 --steps 150 --checkpoint.every 20
  await_steps killed 45 90
  kill -9 $(ranks_on 1)
  ends_well killed ref150 150 150
  check "killed: the others name the rank" holds 'rank 1 \(host pi1, pid [0-9]+\)' "$log"
  check "killed: it resumed from the checkpoint of step 40 or later" holds 'resumed from step (4|[5-9]|1[0-4])[0-9]+' "$log"
  grep -E 'rank 1 \(|resumed from|REQUEUE|error: pi' "$log" | say
}

# shellcheck disable=SC2086
proof_lost_host() {
  need 150
  submit lost "${pretrain[@]}" -- $model --pp 3 --steps 150 --checkpoint.every 20
  await_steps lost 45 90
  inside 2 | xargs -r kill -9
  check "lost: SLURM or the script queues the job again" await_state 90 PENDING
  sleep 1
  slurmd_on 2
  ends_well lost ref150 150 200
  check "lost: the others name the rank of the host that is gone" holds 'rank 2 \(host pi2, pid [0-9]+\)' "$log"
  grep -E 'rank 2 \(|resumed from|REQUEUE|NODE FAIL|error: (pi|Node)' "$log" | say
}

# shellcheck disable=SC2086
proof_slurmd() {
  need 150
  need 600
  submit daemon "${pretrain[@]}" -- $model --pp 3 --steps 150 --checkpoint.every 20
  await_steps daemon 20 90
  kill -9 $(named_on 1 slurmd)
  await_steps daemon 60 60
  slurmd_on 1
  ends_well daemon ref150 150 120
  check "daemon: a slurmd that is killed and started again disturbs no rank" [ "$(resumed)" = 0 ]
  submit daemon-gone "${pretrain[@]}" -- $model --pp 3 --steps 600 --checkpoint.every 20
  await_steps daemon-gone 20 90
  kill -9 $(named_on 1 slurmd)
  check "daemon-gone: SLURM gives the node up after SlurmdTimeout and queues the job again" await_state 120 PENDING
  slurmd_on 1
  ends_well daemon-gone ref600 600 240
  grep -E 'stopping after|resumed from|REQUEUE|NODE FAIL|error: (pi|Node)' "$log" | say
}

# shellcheck disable=SC2086
proof_cancel() {
  submit cancelled "${pretrain[@]}" -- $model --pp 3 --steps 600
  await_steps cancelled 20 90
  head_runs scancel "$job"
  await_state 60 CANCELLED
  for _ in $(seq 100); do [ -n "$(ranks_on 0)$(ranks_on 1)$(ranks_on 2)" ] || break && sleep 0.2; done
  check "cancelled: scancel lets the ranks save ($(ls "$work/jobs/cancelled/checkpoints" 2> /dev/null))" [ "$(ls "$work/jobs/cancelled/checkpoints"/*/manifest.json 2> /dev/null | wc -l)" = 1 ]
  sleep 8
  check "cancelled: and the job is not queued again" [ "$(said_of_job JobState) $(said_of_job Restarts)" = "CANCELLED 0" ]
}

# shellcheck disable=SC2086
proof_finetune() {
  local from="--model.path base/checkpoints/step-00000040/model --seq-len 64 --micro-batch-size 1 --global-batch-size 8 --seed 7 --train.threads 1
    --data.train corpus.txt --data.tokenizer bytes --lora.rank 4 --zero 3 --steps 60"
  (cd "$work/jobs" && net 0 troika train $model --steps 40 --out base) > "$work/jobs/base.log" 2>&1
  reference tuned 4 $from
  submit tuning finetune --nodes=2 --cpus-per-task=2 -- $from
  await_steps tuning 10 90
  head_runs scancel --signal=TERM "$job"
  ends_well tuning tuned 60 150
}

# shellcheck disable=SC2086
proof_one_node() {
  need 40
  submit one one-node --gpus-per-node=2 --cpus-per-task=2 --export=ALL,RANKS=2 -- $model --pp 2 --steps 40
  await_state 90 COMPLETED FAILED
  check "one-node: two ranks by one launcher in a step" [ "$(losses one 2> /dev/null)" = "$(losses ref40)" ]
}

proof_scripts() {
  local script
  for script in "$root"/examples/slurm/*.sbatch; do
    check "scripts: $(basename "$script") is good shell" bash -n "$script"
    check "scripts: and SLURM takes its flags" head_runs sh -c "sbatch --test-only --nodes=1 --cpus-per-task=1 --gpus-per-node=1 '$script' 2>&1"
  done
}

start_cluster
for proof in scripts srun threads time-limit before-the-first-step signals kill-on-bad-exit killed-rank lost-host slurmd cancel finetune one-node; do run $proof; done
echo "$failures failed"
[ $failures = 0 ]
