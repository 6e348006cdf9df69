#!/usr/bin/env bash
# Plays back what pods of Kubernetes are given: the environments of PyTorchJob v1, of Trainer v2 and of an Indexed Job, with the commands of
# examples/kubernetes, on two hosts of its own (three-hosts-parts.sh) with two ranks each. Pods come late, are killed, restarted and
# evicted; what is left must be the bits of a run that nothing happened to. One line per proof; fails when one does. About 5 minutes.
#
#   tools/proofs/kubernetes.sh [FOLDER_WITH_TROIKA] [KIND]     (default: build/release; pytorchjob, trainjob and indexed-job)
#
# There is no cluster in it: a pod is a network, host name and mount namespace. Needs root, iproute2 with tc, util-linux 2.38, jq and
# python3-yaml.
# shellcheck disable=SC2154,SC2034  # variables of three-hosts-parts.sh
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
bin=$(cd "${1:-$root/build/release}" && pwd) || exit 2
only=${2:-}
rate=30mbit
skew=(0 0 0)
spaces=(--net --uts --mount)
lifetime=1800
. "$root/tools/three-hosts-parts.sh"
python3 -c 'import yaml' 2> /dev/null || die "python3-yaml is missing"
unset RANK WORLD_SIZE LOCAL_RANK MASTER_ADDR MASTER_PORT

# --- manifests --------------------------------------------------------------------------------------------------------

# What each kind must have where, as its documentation and its types have it; prints complaints.
cat > "$work/manifests.py" << 'PYTHON'
import sys, yaml

def at(tree, path):
    for key in path.split("."):
        tree = tree[int(key) if isinstance(tree, list) else key]
    return tree

def complain(text):
    print(text)

def check_pod(kind, template, container_name, policies):
    pod = template["spec"]
    allowed = {"subdomain", "restartPolicy", "terminationGracePeriodSeconds", "securityContext", "containers", "volumes"}
    if set(pod) - allowed: complain(f"{kind}: fields of the pod {set(pod) - allowed}")
    container = pod["containers"][0]
    if container_name and container["name"] != container_name: complain(f"{kind}: the container must be {container_name}")
    if pod.get("restartPolicy", "OnFailure") not in policies: complain(f"{kind}: restartPolicy")
    if pod["terminationGracePeriodSeconds"] <= 30: complain(f"{kind}: 30 s are short for a save")
    if template["metadata"]["annotations"]["sidecar.istio.io/inject"] != "false": complain(f"{kind}: sidecar")
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    if mounted != {volume["name"] for volume in pod["volumes"]}: complain(f"{kind}: volumes {mounted}")
    for variable in container.get("env", []):
        if ("value" in variable) == ("valueFrom" in variable): complain(f"{kind}: {variable['name']}")
        if "value" in variable and not isinstance(variable["value"], str): complain(f"{kind}: {variable['name']} is no text")
    for word in container["command"] + container["args"]:
        if not isinstance(word, str): complain(f"{kind}: {word} is no text")

def fields(kind, tree, allowed):
    if set(tree) - set(allowed): complain(f"{kind}: fields {set(tree) - set(allowed)}")

folder = sys.argv[1]
load = lambda name: list(yaml.safe_load_all(open(f"{folder}/{name}.yaml")))

service, job = load("indexed-job")
if (service["apiVersion"], service["kind"], job["apiVersion"], job["kind"]) != ("v1", "Service", "batch/v1", "Job"): complain("indexed-job: kinds")
if service["spec"]["clusterIP"] != "None": complain("Service: must be headless")
if service["spec"]["selector"]["job-name"] != job["metadata"]["name"]: complain("Service: selects no pod of the job")
fields("Job", job["spec"], ["completions", "parallelism", "completionMode", "backoffLimit", "template"])
if at(job, "spec.completions") != at(job, "spec.parallelism") or at(job, "spec.completionMode") != "Indexed": complain("Job: all pods at once")
if at(job, "spec.template.spec.subdomain") != service["metadata"]["name"]: complain("Job: subdomain is not the service")
check_pod("Job", job["spec"]["template"], "", ["OnFailure", "Never"])

(torch,) = load("pytorchjob")
if (torch["apiVersion"], torch["kind"]) != ("kubeflow.org/v1", "PyTorchJob"): complain("pytorchjob: kind")
fields("PyTorchJob", torch["spec"], ["nprocPerNode", "runPolicy", "pytorchReplicaSpecs"])
fields("runPolicy", at(torch, "spec.runPolicy"), ["cleanPodPolicy", "ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit", "suspend"])
if not isinstance(at(torch, "spec.nprocPerNode"), str): complain("PyTorchJob: nprocPerNode is a text")
for role, replicas in at(torch, "spec.pytorchReplicaSpecs").items():
    if role not in ("Master", "Worker"): complain(f"PyTorchJob: {role}")
    fields(role, replicas, ["replicas", "restartPolicy", "template"])
    if replicas["restartPolicy"] not in ("Always", "OnFailure", "Never", "ExitCode"): complain(f"{role}: restartPolicy")
    check_pod(role, replicas["template"], "pytorch", ["OnFailure"])

runtime, train = load("trainjob")
if {runtime["apiVersion"], train["apiVersion"]} != {"trainer.kubeflow.org/v1alpha1"}: complain("trainjob: apiVersion")
if (runtime["kind"], train["kind"]) != ("TrainingRuntime", "TrainJob"): complain("trainjob: kinds")
if at(train, "spec.runtimeRef") != {"kind": "TrainingRuntime", "name": runtime["metadata"]["name"]}: complain("TrainJob: runtimeRef")
fields("TrainJob", train["spec"], ["runtimeRef", "trainer"])
fields("trainer", at(train, "spec.trainer"), ["image", "command", "args", "env", "numNodes", "numProcPerNode", "resourcesPerNode"])
if not all(isinstance(at(train, f"spec.trainer.{name}"), int) for name in ("numNodes", "numProcPerNode")): complain("trainer: numbers")
fields("TrainingRuntime", runtime["spec"], ["mlPolicy", "template"])
(node,) = at(runtime, "spec.template.spec.replicatedJobs")
if node["name"] != "node": complain("TrainingRuntime: the replicated job must be node")
if at(node, "template.metadata.labels") != {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}: complain("TrainingRuntime: label")
check_pod("TrainingRuntime", at(node, "template.spec.template"), "node", ["OnFailure", "Never"])
PYTHON

# The words of a kind's command, a line each.
cat > "$work/command.py" << 'PYTHON'
import sys, yaml
documents = list(yaml.safe_load_all(open(sys.argv[1])))
last = documents[-1]["spec"]
where = last.get("trainer") or (last.get("pytorchReplicaSpecs", {}).get("Worker") or last)["template"]["spec"]["containers"][0]
for word in where["command"] + where["args"]: print(word)
for variable in where.get("env", []):
    if "value" in variable: print(f"{variable['name']}={variable['value']}", file=sys.stderr)
PYTHON

# --- pods -------------------------------------------------------------------------------------------------------------

steps=120
declare -a variables # of the pod that starts next
pod_environment() { # pod_environment KIND INDEX: as the controllers set them
  case $1 in
    pytorchjob) variables=(MASTER_ADDR=pretrain-master-0 MASTER_PORT=23456 WORLD_SIZE=4 "RANK=$2" PET_MASTER_ADDR=pretrain-master-0
      PET_MASTER_PORT=23456 PET_NPROC_PER_NODE=2 "PET_NODE_RANK=$2" PET_NNODES=2 PYTHONUNBUFFERED=1) ;;
    trainjob) variables=(PET_NNODES=2 PET_NPROC_PER_NODE=2 "PET_NODE_RANK=$2" PET_MASTER_ADDR=pretrain-node-0-0.pretrain PET_MASTER_PORT=29500) ;;
    indexed-job)
      readarray -t variables < <(python3 "$work/command.py" "$root/examples/kubernetes/$1.yaml" 2>&1 > /dev/null)
      variables+=("NODE_RANK=$2" "JOB_COMPLETION_INDEX=$2") ;;
  esac
  variables+=(KUBERNETES_SERVICE_HOST=10.96.0.1 KUBERNETES_SERVICE_PORT=443)
}
master_name() { case $1 in pytorchjob) echo pretrain-master-0 ;; trainjob) echo pretrain-node-0-0.pretrain ;; *) echo pretrain-0.pretrain ;; esac; }
host_name() { case $1.$2 in pytorchjob.0) echo pretrain-master-0 ;; pytorchjob.1) echo pretrain-worker-0 ;; trainjob.*) echo "pretrain-node-0-$2" ;; *) echo "pretrain-$2" ;; esac; }

# A pod has a /dev of its own with the file for its last words.
furnish() { # furnish NODE
  local device=$work/dev$1
  mkdir -p "$device"
  net "$1" sh -c 'mount -t tmpfs dev "$1" && mkdir "$1/shm" && for name in null zero full random urandom tty; do touch "$1/$name" && mount --bind "/dev/$name" "$1/$name"; done
    ln -s /proc/self/fd "$1/fd" && touch "$1/termination-log" && mount --move "$1" /dev' furnish "$device" || die "cannot make a /dev for a pod"
}
last_words() { net "$1" cat /dev/termination-log; }
names() { # names KIND [without-the-master]
  { echo '127.0.0.1 localhost' && [ -n "${2:-}" ] || echo "${address[0]} $(master_name "$1")"; } > "$work/hosts"
}
pod() { # pod KIND INDEX NAME [WORDS...]: starts a container of it; its words instead of the manifest's
  local kind=$1 index=$2 name=$3 words
  shift 3
  pod_environment "$kind" "$index"
  if [ $# -gt 0 ]; then words=("$@"); else readarray -t words < <(python3 "$work/command.py" "$root/examples/kubernetes/$kind.yaml" 2> /dev/null); fi
  words=("${words[@]//\/runs\/pretrain/$work/volume/$name}")
  words=("${words[@]//\/runs/$work/volume}")
  net "$index" sh -c ': > /dev/termination-log'
  net "$index" hostname "$(host_name "$kind" "$index")"
  (cd / && exec nsenter --target "${holder[$index]}" "${spaces[@]}" --wdns=/ -- env "${variables[@]}" PATH="$bin:$PATH" "${words[@]}") >> "$work/$name.pod$index" 2>&1 &
  launcher[index]=$!
}
await_pods() { # await_pods SECONDS: sets codes
  local index end=$((SECONDS + $1)) code=(late late)
  for index in 0 1; do
    while kill -0 "${launcher[$index]}" 2> /dev/null && [ $SECONDS -lt $end ]; do sleep 0.1; done
    kill -0 "${launcher[$index]}" 2> /dev/null && { kill -9 "${launcher[$index]}"; continue; }
    wait "${launcher[$index]}" 2> /dev/null
    code[index]=$?
  done
  codes="${code[*]}"
}
await_steps() { # await_steps NAME COUNT SECONDS
  local end=$((SECONDS + $3))
  while [ $SECONDS -lt $end ]; do
    [ "$(cat "$work/volume/$1/metrics.jsonl" 2> /dev/null | wc -l)" -ge "$2" ] && return 0
    sleep 0.1
  done
  return 1
}
losses() { jq -r '"\(.step) \(.loss_bits)"' "$work/volume/$1/metrics.jsonl"; }
same_bits() { # same_bits NAME
  local last file
  last=checkpoints/step-$(printf %08d $steps)
  [ "$(losses "$1" | wc -l)" = $steps ] && cmp <(losses "$1") <(losses reference) || return 1
  for file in "$work/volume/reference/$last"/{model,state}/*.safetensors; do
    cmp "$file" "$work/volume/$1/${file#"$work/volume/reference/"}" || return 1
  done
}
ended() { # ended TEXT NAME: both pods with 0, with those bits
  check "$1 (exit codes $codes)" [ "$codes" = "0 0" ]
  [ "$codes" = "0 0" ] || for index in 0 1; do tail -n 8 "$work/$2.pod$index" | say; done
  check "$2: losses and the last checkpoint have the bits of the run that nothing happened to" same_bits "$2"
}
engines() { # engines NODE
  local pid
  for pid in $(inside "$1"); do ! is_rank "$pid" || echo "$pid"; done
}

prepare() {
  make_hosts
  name_hosts
  mkdir "$work/volume"
  head -c 8000 "$root/LICENSE" > "$work/volume/corpus.txt"
  cat > "$work/volume/run.yaml" << YAML
model: {layers: 4, hidden: 64, heads: 4, kv_heads: 2, head_dim: 16, ffn: 192, vocab: 259}
data: {train: $work/volume/corpus.txt, tokenizer: bytes}
batch: {seq_len: 64, micro_batch_size: 1, global_batch_size: 8}
parallel: {pp: 2}
train: {steps: $steps, seed: 7, threads: 1}
checkpoint: {every: 20}
YAML
  furnish 0
  furnish 1
  net 0 "$bin/troika" launch --nproc-per-node 4 --bind none -- train "$work/volume/run.yaml" --out "$work/volume/reference" > "$work/reference" 2>&1 ||
    die "the reference fails: $(tail -n 3 "$work/reference")"
}

# --- proofs -----------------------------------------------------------------------------------------------------------

prove() { # prove KIND
  local kind=$1 index
  # The worker comes first, and the name of the master is not known for 4 s.
  names "$kind" without-the-master
  pod "$kind" 1 "$kind"
  sleep 4
  pod "$kind" 0 "$kind"
  names "$kind"
  await_pods 90
  ended "$kind: two pods train, the worker started 4 s before the master's name was known" "$kind"

  for index in 1 0; do
    pod "$kind" 0 "$kind-killed-$index"
    pod "$kind" 1 "$kind-killed-$index"
    await_steps "$kind-killed-$index" 45 60
    inside $index | xargs -r kill -9
    wait "${launcher[$index]}" 2> /dev/null
    pod "$kind" $index "$kind-killed-$index" # the kubelet restarts the container
    await_pods 120
    ended "$kind: pod $index is killed and started again: it joins again, and the run resumes" "$kind-killed-$index"
    grep -hE 'resumed from|restart 1 of' "$work/$kind-killed-$index.pod0" | head -n 3 | say
  done

  for index in 1 0; do
    pod "$kind" 0 "$kind-evicted-$index"
    pod "$kind" 1 "$kind-evicted-$index"
    await_steps "$kind-evicted-$index" 30 60
    kill -TERM "${launcher[$index]}"
    await_pods 60
    check "$kind: SIGTERM of pod $index saves, and all end (exit codes $codes, $(ls "$work/volume/$kind-evicted-$index/checkpoints" | tr '\n' ' '))" \
      [ "$codes $(tail -n 1 "$work/volume/$kind-evicted-$index/metrics.jsonl" | jq .step)" = "130 130 $(find "$work/volume/$kind-evicted-$index/checkpoints" -name manifest.json | sed -nE 's/.*step-0*([0-9]+).*/\1/p' | sort -n | tail -n 1)" ]
    pod "$kind" 0 "$kind-evicted-$index"
    pod "$kind" 1 "$kind-evicted-$index"
    await_pods 90
    ended "$kind: and the pods that come after resume" "$kind-evicted-$index"
  done

  pod "$kind" 0 "$kind-words" troika launch -- train /runs/run.yaml --out /runs/pretrain
  pod "$kind" 1 "$kind-words" troika launch -- train /runs/run.yaml --out /runs/pretrain
  await_steps "$kind-words" 20 60
  kill -9 "$(engines 1 | head -n 1)"
  await_pods 60
  for index in 0 1; do
    last_words $index > "$work/words$index"
    check "$kind: the termination message of pod $index names the rank that was killed (exit codes $codes)" holds "rank [23] \(host $(host_name "$kind" 1), pid [0-9]+\) was killed by signal 9" "$work/words$index"
  done
  say < "$work/words0"
  pod "$kind" 0 "$kind-words" troika launch -- train /runs/run.yaml --out /runs/pretrain
  pod "$kind" 1 "$kind-words" troika launch -- train /runs/run.yaml --out /runs/pretrain
  await_pods 90
  ended "$kind: and the containers that are started again resume" "$kind-words"
  pod "$kind" 0 "$kind-alone" troika train /runs/run.yaml --out /runs/pretrain
  pod "$kind" 1 "$kind-alone" troika train /runs/run.yaml --out /runs/pretrain
  await_pods 30
  last_words 1 > "$work/words1"
  [ "$kind" = indexed-job ] || check "$kind: troika train without a launcher is refused, in the termination message too (exit codes $codes)" holds 'start `troika launch -- train' "$work/words1"
}

python3 "$work/manifests.py" "$root/examples/kubernetes" > "$work/complaints" 2>&1
check "the manifests are YAML with the fields of their kinds" [ ! -s "$work/complaints" ]
say < "$work/complaints"
prepare
for kind in pytorchjob trainjob indexed-job; do if [ -z "$only" ] || [ "$only" = "$kind" ]; then prove $kind; fi; done
echo "$failures failed"
[ $failures = 0 ]
