#!/usr/bin/env bash
# From a fresh Debian 12 to a trained model: packages, build, tokenizer, three processes as a pipeline, two data-parallel, a sample.
# Everything it makes is under build/ and runs/quickstart; a second run builds nothing again and continues what is there.
#   --cuda [TORCH_FOLDER]   for an NVIDIA GPU: builds against a pip torch with CUDA into build/cuda, prepares the tokens, and
#                           says what to type then. TORCH_FOLDER: .../site-packages/torch; else the one that python3 imports
#   --build                 builds also where the packages (tools/package.sh) are installed
# In a bundle (tools/bundle.sh) it takes the programs beside it, else those of installed packages; then it installs and builds nothing.
#   STEPS   of the pipeline, 700 by default; the data-parallel run continues for a seventh of them
set -euo pipefail
cd "$(dirname "$0")"

title() { printf '\n== %s\n' "$*"; }
run=runs/quickstart
steps=${STEPS:-700}
more=$((steps + steps / 7))

die() {
  echo "quickstart: $1" >&2
  exit 2
}
cuda= build= corpus=()
case ${1:-} in
  "") ;;
  --cuda) cuda=yes build=yes ;;
  --build) build=yes ;;
  *) die "usage: ./quickstart.sh [--build | --cuda [TORCH_FOLDER]]" ;;
esac
[ -z "$cuda" ] || [ ! -x bin/troika ] || die "this bundle computes on CPUs; build in a clone with ./quickstart.sh --cuda"

build_for_cuda() { # build_for_cuda [TORCH_FOLDER]
  . tools/torch-folder.sh
  find_torch "${1:-}"
  check_cuda_torch
  find_nvcc build/nvcc
  echo "torch $(torch_version) in $torch, $(command -v nvcc)"
  export TROIKA_TORCH_DIR=$torch
  mkdir -p build
  cmake --preset cuda -DTROIKA_TESTS=OFF > build/cuda.log 2>&1 || { cat build/cuda.log && die "configuring failed; the lines above name what is missing"; }
  cmake --build --preset cuda --target troika troika-engine
}

if [ -x bin/troika ]; then
  troika=bin/troika
  corpus=(licenses)
  of_what="the licenses in this bundle"
elif [ -z "$build" ] && [ -x /usr/lib/troika/troika-engine ]; then
  troika=/usr/bin/troika
else
  troika=build/release/troika
  title "Packages"
  tools/install-packages.sh build
  echo "all packages are installed"

  title "Build"
  if [ -n "$cuda" ]; then
    troika=build/cuda/troika
    build_for_cuda "${2:-}"
  else
    [ -f build/release/build.ninja ] || tools/configure.sh programs
    cmake --build --preset release --target troika troika-engine
  fi
fi

prompt="Permission is "
if [ -z "${corpus:-}" ]; then
  for folder in /usr/include/c++ /usr/include/linux /usr/include/asm-generic; do
    if [ -d "$folder" ]; then corpus+=("$folder"); fi
  done
  of_what="the C and C++ headers of this machine"
  if [ -n "${corpus:-}" ]; then
    prompt="#ifndef _"
  else
    corpus=(/usr/share/common-licenses)
    of_what="the licences of this machine"
  fi
fi

title "Corpus and tokenizer: $of_what"
[ -f $run/tokenizer/tokenizer.json ] || $troika data tokenizer "${corpus[@]}" --vocab 512 --out $run/tokenizer
$troika data prepare "${corpus[@]}" --tokenizer $run/tokenizer --out $run/tokens

if [ -n "$cuda" ]; then
  title "Now train on the GPU"
  echo "$troika train --device cuda --bf16 --model.preset qwen3-small --data.train $run/tokens --data.tokenizer $run/tokenizer --seq-len 512 --steps 20 --out runs/gpu"
  exit
fi

common=(--data.train $run/tokens --data.tokenizer $run/tokenizer --out $run/run --seed 1 --seq-len 128
  --micro-batch-size 1 --global-batch-size 6 --lr 3e-3 --optimizer.min-lr 3e-4 --warmup-steps 20
  --model.layers 3 --model.hidden 192 --model.init-std 0.06 --model.heads 4 --model.kv-heads 2 --model.head-dim 48 --model.ffn 512)
in_pipeline=$((steps / 7)) in_data_parallel=$((steps + steps / 14)) # steps that are recorded

title "Train: three processes, one pipeline of three stages"
$troika launch --nproc-per-node 3 -- train --pp 3 --steps $steps --profile $in_pipeline "${common[@]}"

title "Continue the same checkpoint: two processes, data-parallel"
$troika launch --nproc-per-node 2 -- train --dp 2 --steps $more --profile $in_data_parallel "${common[@]}"

title "What every rank did in step $in_pipeline (pipeline)"
$troika timeline $run/run --step $in_pipeline
title "What every rank did in step $in_data_parallel (data-parallel)"
$troika timeline $run/run --step $in_data_parallel

title "A sample"
$troika generate $run/run --prompt "$prompt" --max-new-tokens 400 --temperature 0.7 --seed 3

title "Loss"
awk -F'"loss": ' '{split($2, v, ","); if (NR == 1) first = v[1]; last = v[1]} END {printf "first step %s, last step %s\n", first, last}' $run/run/metrics.jsonl
