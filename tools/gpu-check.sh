#!/usr/bin/env bash
# Tries Troika on a GPU and says a verdict for each thing that is tried, as it goes: whether it is correct (A), how fast it is (B) and
# why (C). Every line has a time that it may take and every program a timeout, so that what hangs costs its own line alone.
#
#   tools/gpu-check.sh A | B | C            each in 9 minutes at most
#   tools/gpu-check.sh                      the lines that tell most, of all three, in 10 minutes at most
#   tools/gpu-check.sh --cards 2            what one GPU cannot show: layouts over NCCL, and the death of a rank in each
#   tools/gpu-check.sh --dry [PART]         without a GPU: prepares every line and checks its settings; what is small runs with
#                                           troika-stand-in over the stand-ins of the driver, cuBLASLt and cuDNN
#   tools/gpu-check.sh --pack FILE.tar.gz   all that a machine with a GPU needs, without sources: at most 40 MB
#
#   --program FILE      troika [beside this script, else build/release/troika; --dry: build/release/troika-stand-in]
#                       its lines about kernels need cuda_device_test beside it, which a build with tests has
#   --libraries DIR     where it finds its libraries, before all else [lib beside this script; --dry: the stand-ins]
#   --python FILE       a Python with torch and transformers, for the lines beside PyTorch [python3]
#   --results DIR       results.txt, results.jsonl (an object for each line) and the log of each line [gpu-check-results]
#   --lines REGEX       only lines with such a name
#   --small REGEX       --dry: of the small lines only those with such a name run
#
# Ends with 1 when a line failed or ran out of time.
set -uo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
parts='' dry='' cards=1 pack='' program='' libraries='' python=python3 results=gpu-check-results only=. small_only=.

die() {
  echo "gpu-check: $1" >&2
  exit 2
}
while [ $# -gt 0 ]; do
  case $1 in
    A | B | C) parts+=$1 ;;
    --dry) dry=yes ;;
    --cards | --pack | --program | --libraries | --python | --results | --lines | --small)
      [ $# -ge 2 ] || die "$1 needs a value"
      case $1 in
        --cards) cards=$2 ;;
        --pack) pack=$2 ;;
        --program) program=$2 ;;
        --libraries) libraries=$2 ;;
        --python) python=$2 ;;
        --results) results=$2 ;;
        --lines) only=$2 ;;
        --small) small_only=$2 ;;
      esac
      shift
      ;;
    *) die "$1 is unknown; the head of $0 says what there is" ;;
  esac
  shift
done
[ "$cards" = 1 ] || [ "$cards" = 2 ] || die "--cards is $cards; 1 and 2 are possible"

# --- what belongs to it -----------------------------------------------------------------------------------------------

if [ -z "$program" ]; then
  program=$root/build/release/troika
  [ -x "$here/troika" ] && program=$here/troika
  [ -n "$dry" ] && program=$root/build/release/troika-stand-in
fi
[ -x "$program" ] || die "$program is no program; build it, or name one with --program"
program=$(realpath "$program")
device_test=$(dirname "$program")/cuda_device_test
if [ -z "$libraries" ]; then
  [ -d "$here/lib" ] && libraries=$here/lib
  [ -n "$dry" ] && libraries=$(dirname "$program")/tests/gpu/libraries
fi

# The libraries of the program that a bare machine may lack: all but those of glibc.
libraries_of() {
  ldd "$1" | awk '$2 == "=>" && $3 ~ /^\// && $1 !~ /^(libc|libm|libdl|librt|libpthread|ld-linux.*)\.so/ { print $3 }'
}
make_folder() { # make_folder DIR: what --pack packs
  mkdir -p "$1/lib" "$1/gpu-check"
  cp "${original:-$program}" "$1/troika"
  if [ -x "${original_test:-$device_test}" ]; then cp "${original_test:-$device_test}" "$1/cuda_device_test"; fi
  strip "$1"/troika "$1"/cuda_device_test 2> /dev/null
  for one in "$1"/troika "$1"/cuda_device_test; do
    libraries_of "$one" 2> /dev/null
  done | sort -u | while read -r library; do cp -L "$library" "$1/lib/"; done
  strip --strip-unneeded "$1"/lib/* 2> /dev/null
  cp "$here/gpu-check.sh" "$1/"
  cp "$here/gpu-check/torch_step.py" "$1/gpu-check/"
  corpus_to "$1/gpu-check/corpus.txt"
}
corpus_to() { # corpus_to FILE: some hundred thousand bytes of text
  if [ -f "$here/gpu-check/corpus.txt" ]; then cp "$here/gpu-check/corpus.txt" "$1"; else cat "$root"/docs/*.md "$root"/docs/guides/*.md > "$1"; fi
}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/gpu-check.XXXXXX")
# shellcheck disable=SC2064
trap "rm -rf '$scratch'" EXIT
most_bytes=40000000
pack_to() { # pack_to FILE: says its size
  make_folder "$scratch/pack/gpu-check-folder" || return 1
  tar -C "$scratch/pack" -cf - gpu-check-folder | gzip -6 > "$1"
  local bytes
  bytes=$(stat -c %s "$1")
  rm -rf "$scratch/pack"
  echo "=> $bytes bytes in $(basename "$1"); $most_bytes at most"
  [ "$bytes" -le $most_bytes ]
}
if [ -n "$pack" ]; then
  refusal=$("$program" train --device cuda --data.train "$0" --train.out "$scratch/none" --train.steps 1 2>&1)
  [[ $refusal != *'no CUDA back end'* ]] || die "$program has no device code; build it with -DTROIKA_CUDA=ON"
  pack_to "$pack" || exit 1
  exit 0
fi

mkdir -p "$results/logs" || die "cannot make $results"
results=$(realpath "$results")
: > "$results/results.txt"
: > "$results/results.jsonl"
original=$program original_test=$device_test
if [ -n "$libraries" ]; then  # for these two alone: other programs have libraries of their own
  for one in "$program" "$device_test"; do
    # shellcheck disable=SC2016
    printf '#!/bin/sh\nLD_LIBRARY_PATH=%s${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} exec %s "$@"\n' \
      "'$(realpath "$libraries")'" "'$one'" > "$scratch/$(basename "$one")"
    chmod +x "$scratch/$(basename "$one")"
  done
  program=$scratch/$(basename "$program") device_test=$scratch/$(basename "$device_test")
fi
corpus=$scratch/corpus.txt
corpus_to "$corpus"
[ -n "$dry" ] && head -c 20000 "$corpus" > "$corpus.part" && mv "$corpus.part" "$corpus"

# The model of whole runs: on a host's imitation of a GPU each kernel goes thread by thread.
steps=20 half=10
small=(--model.hidden 256 --model.layers 4 --model.heads 4 --seq-len 128 --micro-batch-size 2 --global-batch-size 8 --reproducible run)
if [ -n "$dry" ]; then
  steps=4 half=2
  small=(--model.hidden 32 --model.layers 2 --model.heads 2 --seq-len 32 --micro-batch-size 2 --global-batch-size 4 --reproducible run)
fi
small+=(--data.train "$corpus")
backend=nccl
[ -n "$dry" ] && backend=gloo  # no stand-in carries NCCL's messages between processes

# --- lines ------------------------------------------------------------------------------------------------------------

failed=0 budget_sum=0 prepare='' this=''
began=$(date +%s)
all_at_once=''
[ -z "$parts" ] && [ "$cards" = 1 ] && all_at_once=yes
limit=$((${#parts} > 1 ? 540 * ${#parts} : 540))
[ -n "$all_at_once" ] && limit=600

escaped() { sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/[[:cntrl:]]/ /g' | tr -d '\n'; }

# say PART NAME VERDICT SECONDS BUDGET DETAIL
say() {
  printf '%s  %-22s %-8s %6.1f s of %3d  %s\n' "$@" | tee -a "$results/results.txt"
  local data=null
  [ -s "$results/logs/$2.json" ] && data=$(tail -n 1 "$results/logs/$2.json")
  printf '{"part": "%s", "line": "%s", "verdict": "%s", "seconds": %.1f, "budget": %d, "detail": "%s", "data": %s}\n' \
    "$1" "$2" "$3" "$4" "$5" "$(printf %s "$6" | escaped)" "$data" >> "$results/results.jsonl"
}

# line PART SECONDS SHORT SIZE NAME FUNCTION [ARGUMENT...]: SHORT seconds where all parts share 10 minutes, 0: left out there.
# small: --dry runs it. The function ends with 0 (right), 77 (cannot be tried here) or another status; its last line that begins with
# => is shown.
line() {
  local part=$1 seconds=$2 size=$4 name=$5 short=$3
  shift 5
  [ -n "$all_at_once" ] && seconds=$short
  [ "$seconds" -gt 0 ] || return 0
  [ -n "$all_at_once" ] || [[ $parts == *$part* ]] || return 0
  [[ $name =~ $only ]] || return 0
  budget_sum=$((budget_sum + seconds))
  local left=$((limit - $(date +%s) + began)) log=$results/logs/$name.log
  [ -n "$dry" ] && left=600
  if [ "$left" -lt 5 ]; then
    say "$part" "$name" skipped 0 "$seconds" "no time is left"
    return 0
  fi
  [ "$seconds" -le "$left" ] || seconds=$left
  prepare=''
  [ -n "$dry" ] && { [ "$size" != small ] || ! [[ $name =~ $small_only ]]; } && prepare=yes
  [ -n "$dry" ] && [ -z "$prepare" ] && seconds=$((seconds * 4))  # a host is no GPU
  local begin=$EPOCHREALTIME status verdict detail
  line_end=$(($(date +%s) + seconds))
  rm -f "$results/logs/$name.json"
  this=$name
  (
    set -e
    "$@"
  ) > "$log" 2>&1 3>&1
  status=$?
  case $status in
    0) verdict=pass && [ -n "$prepare" ] && verdict=prepared ;;
    77) verdict=skipped ;;
    124 | 137) verdict=TIMEOUT ;;
    *) verdict=FAIL ;;
  esac
  detail=$(grep '^=> ' "$log" | tail -n 1 | cut -c 4-)
  [ -n "$detail" ] || detail=$(grep -v '^+ ' "$log" | grep . | tail -n 1 | cut -c 1-160)
  [ "$verdict" != prepared ] || detail=$(grep -c '^+ ' "$log")" programs, each bounded"
  case $verdict in FAIL | TIMEOUT) failed=$((failed + 1)) ;; esac
  say "$part" "$name" "$verdict" "$(awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')" "$seconds" "$detail"
}

prepared() { [ -n "$prepare" ]; }
told() { echo "=> $*"; }
fails() {
  told "$*"
  return 1
}
cannot() {
  told "$*"
  exit 77
}
needs() { # needs PROGRAM: a tool of the machine; a line that is only prepared does without
  prepared || command -v "$1" > /dev/null || cannot "$1 is not installed"
}

# bounded COMMAND...: in what is left of the line's time. Where the line is only prepared: the settings of troika are checked.
bounded() {
  local left=$((line_end - $(date +%s)))
  [ "$left" -ge 1 ] || left=1
  echo "+ timeout -k 2 $left $*" >&3
  if prepared; then
    check_settings "$@"
  else
    timeout -k 2 "$left" "$@"
  fi
}
check_settings() {
  while [ $# -gt 0 ] && [ "$1" != "$program" ]; do shift; done
  [ $# -gt 1 ] || return 0
  shift
  local world=1
  if [ "$1" = launch ]; then
    while [ $# -gt 0 ] && [ "$1" != -- ]; do shift; done
    shift
    world=2
  fi
  local verb=$1 words=()
  case $verb in
    train) shift ;;
    bench) shift 2 ;;
    *) return 0 ;;
  esac
  while [ $# -gt 0 ]; do
    case $verb$1 in
      bench--json) ;;
      bench--seconds | bench--csv | bench--device-rates | bench--lora.rank) shift ;;
      *) words+=("$1") ;;
    esac
    shift
  done
  RANK=0 LOCAL_RANK=0 WORLD_SIZE=$world LOCAL_WORLD_SIZE=$world MASTER_ADDR=127.0.0.1 MASTER_PORT=1 \
    timeout -k 2 20 "$program" train "${words[@]}" --print-config > /dev/null
}

# --- runs -------------------------------------------------------------------------------------------------------------

train() { # train DEVICE NAME [SETTING...]
  local device=$1 out=$scratch/$2
  shift 2
  rm -rf "$out"
  again "$device" "$out" "$@"
}
again() { # again DEVICE FOLDER [SETTING...]: goes on in a folder that is there
  bounded "$program" train --device "$1" --train.out "$2" --train.steps "$steps" "${small[@]}" "${@:3}"
}
ranks() { # ranks NAME SETTING...: two of them
  local out=$scratch/$1 port
  shift
  rm -rf "$out"
  local words=(train --device cuda --train.out "$out" --train.steps "$steps" "${small[@]}" "$@")
  if [ -z "$dry" ] || prepared; then
    bounded "$program" launch --nproc-per-node 2 -- "${words[@]}"
    return
  fi
  port=$((20000 + RANDOM % 10000))  # the launcher asks the kernel for a driver, and there is none: as torchrun starts them
  local one=(env WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 "MASTER_PORT=$port")
  bounded "${one[@]}" RANK=1 LOCAL_RANK=1 "$program" "${words[@]}" &
  bounded "${one[@]}" RANK=0 LOCAL_RANK=0 "$program" "${words[@]}"
  wait $!
}
reference() { # reference NAME SETTING...: the run of one rank on the GPU, made once
  [ -f "$scratch/$1/done" ] && return 0
  train cuda "$@"
  prepared || touch "$scratch/$1/done"
}
bits_of() { sed -n 's/.*"loss_bits": *"\([^"]*\)".*/\1/p' "$scratch/$1/metrics.jsonl"; }
losses_of() { sed -n 's/.*"loss": *\([^,]*\),.*/\1/p' "$scratch/$1/metrics.jsonl"; }
same_bits() { # same_bits A B
  prepared && return 0
  bits_of "$1" > "$scratch/bits-a"
  bits_of "$2" > "$scratch/bits-b"
  [ "$(wc -l < "$scratch/bits-a")" -eq "$steps" ] || { fails "$1 has $(wc -l < "$scratch/bits-a") steps of $steps" || return 1; }
  local differ
  differ=$(paste "$scratch/bits-a" "$scratch/bits-b" | awk '$1 != $2 { print NR; exit }')
  [ -z "$differ" ] || { fails "the loss bits differ from step $differ on; $(difference "$1" "$2")" || return 1; }
  told "$steps losses with equal bits"
}
difference() { # difference A B
  { paste <(losses_of "$1") <(losses_of "$2"); } | awk '
    { d = $1 - $2; d = (d < 0 ? -d : d) / ($2 < 0 ? -$2 : $2); if (!(d <= most)) most = d }
    END { printf "largest relative difference %.2g in %d steps", most, NR }'
}
near() { # near A B TOLERANCE: of losses, relative
  prepared && return 0
  [ "$(losses_of "$1" | wc -l)" -eq "$steps" ] || { fails "$1 has $(losses_of "$1" | wc -l) steps of $steps" || return 1; }
  local text
  text=$(difference "$1" "$2")
  echo "$text" | awk -v most="$3" '{ exit !($4 <= most) }' || { fails "$text, $3 at most" || return 1; }
  told "$text, $3 at most"
}
ends() { # ends CODE WORDS COMMAND...: with that exit code and a sentence that has the words (an extended regular expression)
  local code=$1 pattern=$2 status=0
  shift 2
  bounded "$@" > "$scratch/ends" 2>&1 || status=$?
  cat "$scratch/ends"
  prepared && return "$status"
  [ "$status" -eq "$code" ] || { fails "ends with $status instead of $code: $(tail -n 1 "$scratch/ends")" || return "$status"; }
  grep -qE "$pattern" "$scratch/ends" || { fails "says nothing of '$pattern': $(tail -n 1 "$scratch/ends")" || return 1; }
  told "$(grep -E "$pattern" "$scratch/ends" | head -n 1 | cut -c 1-150)"
}

# --- A: correct -------------------------------------------------------------------------------------------------------

card() {
  needs nvidia-smi
  bounded nvidia-smi --query-gpu=name,driver_version,memory.total,power.limit,clocks.max.sm --format=csv,noheader | sed 's/^/=> /'
}
what_there_is() {
  bounded "$program" version
  bounded "$python" -c 'import torch; print("torch", torch.__version__, "CUDA", torch.version.cuda)' || true
  bounded "$python" -c 'import transformers; print("transformers", transformers.__version__)' || true
  told "$(grep -v '^+' "$results/logs/$this.log" | grep -E '^(troika|torch|transformers) ' | paste -sd ';')"
}
beside_cpu() { # beside_cpu PRECISION TOLERANCE SETTING...
  local precision=$1 tolerance=$2
  shift 2
  train cpu "cpu-$precision" "--$precision" "$@"
  train cuda "gpu-$precision" "--$precision" "$@"
  near "gpu-$precision" "cpu-$precision" "$tolerance"
}
gpt2() {
  train cpu cpu-gpt2 --fp32 --model.architecture gpt2 --data.packing true
  train cuda gpu-gpt2 --fp32 --model.architecture gpt2 --data.packing true
  near gpu-gpt2 cpu-gpt2 1e-4
}
by_products() { # by_products COMMAND...: in an environment whose cuDNN is none, with all else of the active one
  local packages=$scratch/no-cudnn/lib/python3/site-packages/nvidia package
  mkdir -p "$packages/cudnn/lib"
  : > "$packages/cudnn/lib/libcudnn.so.9"
  for package in ${VIRTUAL_ENV:+"$VIRTUAL_ENV"/lib/python*/site-packages/nvidia/*}; do
    [ ! -d "$package" ] || [ "$(basename "$package")" = cudnn ] || ln -sfn "$package" "$packages/"
  done
  VIRTUAL_ENV=$scratch/no-cudnn "$@"
}
both_attentions() { # cuDNN's beside products in chunks
  reference reference --bf16
  by_products train cuda by-products --bf16
  prepared && return 0
  ! grep -rqs 'chunked matrix products' "$scratch/reference" || cannot "there is no cuDNN that takes it"
  grep -rqs 'chunked matrix products' "$scratch/by-products" || { fails "attention is not by products without cuDNN" || return 1; }
  near by-products reference 0.02
}
equal_to_reference() { # equal_to_reference NAME SETTING...: on one rank
  reference reference --bf16
  train cuda "$1" --bf16 "${@:2}"
  same_bits "$1" reference
}
other_micro_batch() { # the products have other shapes, so bits may differ
  reference reference --bf16
  train cuda other-micro-batch --bf16 --micro-batch-size 1
  near other-micro-batch reference 0.02
}
resumed() {
  local folder=$scratch/resumed
  reference reference --bf16
  train cuda resumed --bf16 --checkpoint.every "$half"
  prepared || rm -rf "$folder/checkpoints/step-$(printf %08d "$steps")" "$folder"/checkpoints/*best*
  again cuda "$folder" --bf16 --checkpoint.every "$half"
  prepared || grep -qi 'resum' "$results/logs/$this.log" || { fails "says nothing of a checkpoint that it resumed from" || return 1; }
  same_bits resumed reference
}
same_layout() { # the default: gradients add up inside the products
  train cuda layout --bf16 --micro-batch-size 1 --reproducible layout
  train cuda layout-again --bf16 --micro-batch-size 1 --reproducible layout --recompute full
  same_bits layout-again layout
}
zero_on_one_card() { # zero_on_one_card STAGE
  reference reference --bf16
  ranks "zero$1" --bf16 --dp 2 --zero "$1" --comm.backend gloo
  same_bits "zero$1" reference
}
evaluated() {
  reference reference --bf16
  local valid=$scratch/valid.txt
  head -c "$([ -n "$dry" ] && echo 200 || echo 40000)" "$corpus" > "$valid"
  bounded "$program" eval "$scratch/reference" --data.valid "$valid" --device cpu --fp32 --json > "$scratch/eval-cpu"
  bounded "$program" eval "$scratch/reference" --data.valid "$valid" --device cuda --bf16 --json > "$scratch/eval-gpu"
  prepared && return 0
  local cpu gpu
  cpu=$(grep -o '"loss": *[0-9.]*' "$scratch/eval-cpu" | head -n 1 | grep -o '[0-9.]*$')
  gpu=$(grep -o '"loss": *[0-9.]*' "$scratch/eval-gpu" | head -n 1 | grep -o '[0-9.]*$')
  awk -v a="$cpu" -v b="$gpu" 'BEGIN { d = a > b ? a - b : b - a; exit !(a > 0 && d <= 0.02 * a) }' ||
    { fails "loss $gpu on the GPU, $cpu on the CPU" || return 1; }
  told "loss $gpu on the GPU in bf16, $cpu on the CPU in fp32"
}
generated() {
  reference reference --bf16
  bounded "$program" generate "$scratch/reference" --prompt 'the run' --max-new-tokens 16 --temperature 0
  prepared || told "16 tokens from what the GPU trained"
}
lora() {
  reference reference --bf16
  prepared && return 0
  local device
  rm -rf "$scratch/base" "$scratch/adapter"
  bounded "$program" export "$scratch/reference" "$scratch/base"
  for device in cpu cuda; do
    rm -rf "$scratch/lora-$device"
    bounded "$program" train --device "$device" --fp32 --model.path "$scratch/base" --lora.rank 4 --lora.dropout 0.1 --train.out "$scratch/lora-$device" \
      --train.steps "$steps" "${small[@]:6}"
  done
  bounded "$program" export "$scratch/lora-cuda" "$scratch/adapter"
  [ -f "$scratch/adapter/adapter_model.safetensors" ] || { fails "no adapter in $(ls "$scratch/adapter")" || return 1; }
  near lora-cuda lora-cpu 1e-4
}
too_large() {
  local large=(--micro-batch-size 4096 --global-batch-size 4096 --seq-len 4096 --model.preset qwen3-0.6b)
  [ -n "$dry" ] && large=()
  ends 2 '[KMGT]iB' env TROIKA_STAND_IN_BYTES=20971520 "$program" train --device cuda --train.out "$scratch/large" --train.steps 2 \
    "${small[@]}" "${large[@]}"
}
text_code() {
  reference reference --bf16
  rm -rf "$scratch/jit"
  bounded env CUDA_FORCE_PTX_JIT=1 CUDA_CACHE_DISABLE=1 "$program" train --device cuda --train.out "$scratch/jit" \
    --train.steps "$steps" "${small[@]}" --bf16 > "$scratch/jit.text" 2>&1 || {
    tail -n 5 "$scratch/jit.text"  # the driver may refuse code that is no text, ours or cuBLASLt's
    cannot "does not run: $(tail -n 1 "$scratch/jit.text" | cut -c 1-140)"
  }
  same_bits jit reference
}
no_device() {
  ends 2 '0 devices|no device|CUDA_VISIBLE_DEVICES|NO_DEVICE' env CUDA_VISIBLE_DEVICES= TROIKA_STAND_IN_DEVICES=0 "$program" train --device cuda \
    --train.out "$scratch/none" --train.steps 2 "${small[@]}"
}
wrong_number() {
  ends 2 'the last (device )?is cuda:' "$program" train --device cuda:99 --train.out "$scratch/wrong" --train.steps 2 "${small[@]}"
}
needs_device_test() {
  [ -x "$original_test" ] || cannot "there is no $original_test"
}
tested() { # tested FILTER: kernels on the device
  needs_device_test
  bounded "$device_test" --device "$([ -n "$dry" ] && echo stand-in || echo cuda)" "--gtest_filter=$1" --gtest_brief=1 || return 1
  prepared || told "$(grep -E '^\[  (PASSED|SKIPPED) ' "$results/logs/$this.log" | tail -n 2 | tr -d '[]' | xargs)"
}
small_shapes='Cuda*Parity.*-CudaVast*'
sanitized_kernels() { # sanitized_kernels TOOL
  needs_device_test
  needs compute-sanitizer
  bounded compute-sanitizer --tool "$1" --error-exitcode 9 --target-processes all "$device_test" --device cuda \
    "--gtest_filter=$small_shapes" --gtest_brief=1 > "$scratch/$this.text" 2>&1 || {
    grep -E '=========|Failure' "$scratch/$this.text" | head -n 40
    fails "$(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY|FAILED' "$scratch/$this.text" | tail -n 1 || echo "no summary")" || return 1
  }
  prepared || told "$(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$scratch/$this.text" | tail -n 1 | sed 's/=* *//')"
}
wide() { # wide PRECISION HEAD_WIDTH: blocks as wide as those of real models, beside fp32 on the CPU
  local model=(--model.hidden 1024 --model.ffn 2048 --model.layers 2 --model.heads $((1024 / $2)) --model.head-dim "$2" --model.kv-heads 2
    --global-batch-size 2 --data.packing true --recompute full)
  [ -n "$dry" ] && model=(--model.kv-heads 1 --data.packing true --recompute full)
  train cpu "wide-$2-cpu" --fp32 "${model[@]}"
  train cuda "wide-$2" "--$1" "${model[@]}"
  near "wide-$2" "wide-$2-cpu" 0.02
}
sanitized() { # sanitized TOOL
  needs compute-sanitizer
  rm -rf "${scratch:?}/$1"
  bounded compute-sanitizer --tool "$1" --error-exitcode 9 --target-processes all "$program" train --device cuda \
    --train.out "$scratch/$1" --train.steps 1 --model.hidden 64 --model.layers 1 --model.heads 2 --seq-len 96 --micro-batch-size 1 \
    --global-batch-size 1 --data.train "$corpus" --bf16 > "$scratch/$1.text" 2>&1 || {
    grep -E '=========' "$scratch/$1.text" | head -n 40
    fails "$(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$scratch/$1.text" | tail -n 1 || echo "no summary")" || return 1
  }
  told "$(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$scratch/$1.text" | tail -n 1 | sed 's/=* *//')"
}

# --- B: fast ----------------------------------------------------------------------------------------------------------

sized() { # sized PRESET B: the settings of a model at B x 2048
  echo --model.preset "$1" --seq-len 2048 --micro-batch-size "$2" --bf16
}
step_of() { # step_of PRESET B [SETTING...]
  # shellcheck disable=SC2046
  bounded "$program" bench step --device cuda --json --steps 6 --seconds 0.3 $(sized "$1" "$2") "${@:3}" > "$results/logs/$this.out"
  prepared && return 0
  grep '^{"model"' "$results/logs/$this.out" > "$results/logs/$this.json"
  told "$(tail -n 1 "$results/logs/$this.json" | summary)"
}
number() { grep -o "\"$1\":[^,}]*" | head -n 1 | cut -d: -f2; } # number KEY: of the JSON on the input
summary() {
  local json
  json=$(cat)
  of() { echo "$json" | number "$1"; }
  awk -v s="$(of step_seconds)" -v q="$(of queued_seconds)" -v w="$(of awaited_seconds)" -v t="$(of tokens_per_second)" \
    -v share="$(of share_of_ideal)" -v used="$(of device_used_peak_bytes)" -v kept="$(of device_reserved_peak_bytes)" \
    -v plan="$(of planned_bytes)" 'BEGIN {
      printf "%.1f ms (queued in %.1f, awaited %.1f), %.0f tokens/s, %.0f %% of ideal, %.2f GB used, %.2f reserved, %.2f planned",
        1e3 * s, 1e3 * q, 1e3 * w, t, 100 * share, used / 1e9, kept / 1e9, plan / 1e9 }'
}
kernels_of() { # kernels_of PRESET B
  # shellcheck disable=SC2046
  bounded "$program" bench kernels --device cuda --seconds 0.1 --csv "$results/logs/$this.csv" $(sized "$1" "$2")
  prepared || told "$(grep '^all of a step' "$results/logs/$this.log" | tail -n 1)"
}
small_kernels() {
  bounded "$program" bench kernels --device cuda --seconds 0 "${small[@]:0:10}" --model.vocab 300 --csv "$results/logs/$this.csv"
  prepared || told "$(grep '^all of a step' "$results/logs/$this.log" | tail -n 1)"
}
small_step() {
  bounded "$program" bench step --device cuda --json --steps 3 --seconds 0 "${small[@]:0:10}" --model.vocab 300 > "$results/logs/$this.out"
  prepared && return 0
  grep '^{"model"' "$results/logs/$this.out" > "$results/logs/$this.json"
  told "$(summary < "$results/logs/$this.json")"
}
torch_of() { # torch_of PRESET B MODE [--lora-rank R]
  prepared || "$python" -c 'import torch, transformers' 2> /dev/null || cannot "$python has no torch with transformers"
  local status=0
  bounded "$python" "$here/gpu-check/torch_step.py" --model "$1" --batch "$2" --seq-len 2048 --mode "$3" "${@:4}" \
    > "$results/logs/$this.out" || status=$?
  prepared && return "$status"
  [ "$status" -eq 0 ] || cannot "PyTorch ends with $status: $(tail -n 1 "$results/logs/$this.log" | cut -c 1-120)"
  grep '^{"model"' "$results/logs/$this.out" > "$results/logs/$this.json"
  local beside=step-$1-$2 mine theirs
  [ $# -gt 3 ] && beside=step-$1-lora
  theirs=$(number step_seconds < "$results/logs/$this.json")
  mine=$([ -s "$results/logs/$beside.json" ] && number step_seconds < "$results/logs/$beside.json")
  told "$(awk -v t="$theirs" -v m="${mine:-0}" -v r="$(number device_reserved_peak_bytes < "$results/logs/$this.json")" 'BEGIN {
    printf "%.1f ms, %.2f GB reserved", 1e3 * t, r / 1e9
    if (m > 0) printf "; Troika takes %.2f of it", m / t }')"
}

# --- C: why -----------------------------------------------------------------------------------------------------------

delta() { # delta SETTING...: 0.6B at 8 x 2048 with one thing changed, beside the run without
  step_of qwen3-0.6b 8 "$@"
  prepared && return 0
  local base=$results/logs/base.json
  [ -s "$base" ] || return 0
  told "$(awk -v a="$(number tokens_per_second < "$results/logs/$this.json")" -v b="$(number tokens_per_second < "$base")" \
    'BEGIN { printf "%+.1f %% tokens/s; ", 100 * (a / b - 1) }')$(summary < "$results/logs/$this.json")"
}
counters() {
  needs ncu
  bounded ncu --target-processes all --launch-skip 200 --launch-count 60 --section SpeedOfLight --section Occupancy --section LaunchStats --csv \
    "$program" train --device cuda --train.out "$scratch/ncu" --train.steps 2 --data.train "$corpus" --model.preset qwen3-0.6b \
    --micro-batch-size 2 --global-batch-size 2 --seq-len 1024 --bf16 > "$results/logs/$this.csv"
  prepared || told "$(grep -c . "$results/logs/$this.csv") rows in logs/$this.csv"
}
below() { # below PID: it and what descends from it
  echo "$1"
  local child
  for child in $(pgrep -P "$1"); do below "$child"; done
}
megabytes() { # megabytes PID: of the GPU's memory where nvidia-smi tells, and resident, of all below
  local pids resident gpu=0
  pids=$(below "$1")
  resident=$(for pid in $pids; do sed -n 's/^VmRSS:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$pid/status" 2> /dev/null || true; done |
    awk '{ sum += $1 } END { printf "%d", sum / 1024 }')
  if command -v nvidia-smi > /dev/null; then
    gpu=$(timeout 5 nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits | awk '{ sum += $1 } END { print sum + 0 }')
  fi
  echo "$gpu $resident"
}
drift() {
  local count=200
  [ -n "$dry" ] && count=40
  train cuda drift --bf16 --train.steps $count --checkpoint.every 20 --checkpoint.keep 2 &
  local run=$!
  if ! prepared; then
    while kill -0 $run 2> /dev/null; do
      megabytes $run || true
      sleep 0.3
    done > "$scratch/samples"
  fi
  wait $run
  prepared && return 0
  local text
  text=$(awk '{ gpu[NR] = $1; host[NR] = $2 }
    function most(x, from, to,  i, m) { m = 0; for (i = from; i <= to; ++i) if (x[i] > m) m = x[i]; return m }
    END {
      h = int(NR / 2)
      printf "GPU %d, then %d MB; host %d, then %d MB; %d samples", most(gpu, 1, h), most(gpu, h + 1, NR), most(host, 1, h),
        most(host, h + 1, NR), NR }' "$scratch/samples")
  echo "$text" | awk '{ exit !($4 <= $2 + 64 && $9 <= $7 + 64) }' || { fails "$text" || return 1; }
  told "$count steps with saves: $text"
}

# --- two GPUs ---------------------------------------------------------------------------------------------------------

layout() { # layout NAME bits|near SETTING...
  local name=$1 how=$2
  shift 2
  reference reference --bf16
  ranks "$name" --bf16 --comm.backend "$backend" "$@"
  if [ "$how" = bits ]; then same_bits "$name" reference; else near "$name" reference 0.02; fi
}
death() { # death SETTING...: rank 1 is killed once the run has done two steps
  local out=$scratch/$this run rank='' pid begin status=0
  ranks "$this" --bf16 --comm.backend "$backend" --train.steps 1000000 "$@" &
  run=$!
  if prepared; then
    wait $run
    return 0
  fi
  until [ -f "$out/metrics.jsonl" ] && [ "$(wc -l < "$out/metrics.jsonl")" -ge 2 ]; do
    kill -0 $run 2> /dev/null || { fails "ended before it had done two steps" || return 1; }
    sleep 0.1
  done
  for pid in $(below $run); do
    tr '\0' '\n' < "/proc/$pid/environ" 2> /dev/null | grep -qx RANK=1 && rank=$pid && break
  done
  [ -n "$rank" ] || { fails "no process has RANK=1" || return 1; }
  begin=$EPOCHREALTIME
  kill -9 "$rank"
  wait $run || status=$?
  case $status in 0 | 124 | 137) fails "ended with $status" || return 1 ;; esac
  told "ended with $status, $(awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }') s after the death"
}

# --- what there is to try ---------------------------------------------------------------------------------------------

#     PART SECONDS SHORT SIZE NAME
two_cards() {
  parts=2
  line 2 10 0 large card card
  line 2 25 0 small pp2 layout pp2 bits --pp 2
  for stage in 0 1 2 3; do line 2 25 0 small "dp2-zero$stage" layout "dp2-zero$stage" bits --dp 2 --zero "$stage"; done
  line 2 25 0 small tp2 layout tp2 near --tp 2
  line 2 25 0 small cp2 layout cp2 near --cp 2
  line 2 60 0 small death-pp2 death --pp 2
  line 2 60 0 small death-dp2-zero3 death --dp 2 --zero 3
  line 2 60 0 small death-tp2 death --tp 2
  line 2 60 0 small death-cp2 death --cp 2
}
one_card() {
  line A 5 5 large card card
  line A 15 10 small what-there-is what_there_is
  line A 25 20 small kernels tested "*-CudaVast*:VastProducts*"
  line A 30 20 small large-sizes tested "CudaVast*:VastProducts*"
  line A 25 20 small cpu-fp32 beside_cpu fp32 1e-4
  line A 20 20 small cpu-bf16 beside_cpu bf16 0.02
  line A 20 15 small cpu-gpt2 gpt2
  line A 15 10 small attention both_attentions
  line A 25 0 small wide-bf16 wide bf16 128
  line A 25 0 small wide-fp16 wide fp16 64
  line A 15 10 small twice equal_to_reference twice
  line A 10 0 small micro-batch other_micro_batch
  line A 10 10 small recompute equal_to_reference recompute --recompute full
  line A 10 10 small offload-host equal_to_reference offload --parallel.offload host
  line A 15 10 small resume resumed
  line A 15 10 small same-layout same_layout
  for stage in 0 1 2 3; do line A 15 $((stage == 3 ? 15 : 0)) small "gloo-zero$stage" zero_on_one_card "$stage"; done
  line A 15 10 small eval evaluated
  line A 10 0 small generate generated
  line A 20 0 small lora-export lora
  line A 10 5 small too-large too_large
  line A 25 0 small text-code text_code
  line A 5 5 small no-device no_device
  line A 5 5 small wrong-number wrong_number
  for tool in memcheck racecheck synccheck; do line A 20 0 large "kernels-$tool" sanitized_kernels "$tool"; done
  line A 30 0 large memcheck sanitized memcheck
  line A 20 0 large initcheck sanitized initcheck

  line B 10 10 small small-kernels small_kernels
  line B 10 10 small small-step small_step
  for preset in qwen3-0.6b qwen3-1.7b; do
    for rows in 2 8; do
      line B 25 $((rows == 8 ? 25 : 0)) large "kernels-$preset-$rows" kernels_of "$preset" "$rows"
      line B 30 $((rows == 8 ? 30 : 0)) large "step-$preset-$rows" step_of "$preset" "$rows"
    done
  done
  line B 30 0 large kernels-qwen3-8b-2 kernels_of qwen3-8b 2
  line B 60 60 large step-qwen3-8b-lora step_of qwen3-8b 4 --lora.rank 16
  line B 25 25 large eager-qwen3-0.6b-8 torch_of qwen3-0.6b 8 eager
  line B 60 50 large compiled-qwen3-0.6b-8 torch_of qwen3-0.6b 8 compiled
  line B 25 0 large eager-qwen3-0.6b-2 torch_of qwen3-0.6b 2 eager
  line B 30 0 large eager-qwen3-1.7b-8 torch_of qwen3-1.7b 8 eager
  line B 60 0 large compiled-qwen3-1.7b-8 torch_of qwen3-1.7b 8 compiled

  line C 30 25 large base step_of qwen3-0.6b 8
  line C 30 25 large reproducible-run delta --reproducible run
  line C 30 0 large reproducible-off delta --reproducible off
  line C 30 25 large attention-by-products by_products delta
  line C 30 0 large recompute-full delta --recompute full
  line C 30 0 large recompute-selective delta --recompute selective
  line C 35 0 large offload delta --parallel.offload host
  line C 45 0 large microbatches-8 delta --global-batch-size 64
  line C 35 0 large products-measured delta --train.products measured
  line C 50 0 large torch-8b-lora torch_of qwen3-8b 4 eager --lora-rank 16
  line C 105 0 large counters counters
  line C 90 50 small drift drift
}
if [ "$cards" = 2 ]; then two_cards; else one_card; fi
if [ -n "$dry" ]; then
  if [ "$only" = . ] && [ "$cards" = 1 ]; then
    size=$(pack_to "$scratch/gpu-check.tar.gz") || failed=$((failed + 1))
    echo "the folder: ${size#=> }"
  fi
  [ "$budget_sum" -le "$limit" ] || { echo "the lines may take $budget_sum s, and $limit is the limit" && failed=$((failed + 1)); }
fi
echo "$(grep -c . "$results/results.jsonl") lines, $budget_sum s at most, $failed of them failed; $results" | tee -a "$results/results.txt"
[ "$failed" -eq 0 ]
