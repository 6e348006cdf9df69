#!/usr/bin/env bash
# From a fresh Debian 12 to a trained model: packages, build, then `troika demo`: tokenizer, three processes as a pipeline, two
# data-parallel, a sample. Everything it makes is under build/ and runs/quickstart; a second run builds nothing again and continues
# what is there.
#   --cuda [TORCH_FOLDER]   for an NVIDIA GPU: builds against a pip torch with CUDA into build/cuda, prepares the tokens, and
#                           says what to type then. TORCH_FOLDER: .../site-packages/torch; else the one that python3 imports
#   --build                 builds also where the packages (tools/package.sh) are installed
# In a bundle (tools/bundle.sh) it takes the programs beside it, else those of installed packages; then it installs and builds nothing.
#   STEPS   of the pipeline, 700 by default; the data-parallel run continues for a seventh of them
set -euo pipefail
cd "$(dirname "$0")"

title() { printf '\n== %s\n' "$*"; }
run=runs/quickstart

die() {
  echo "quickstart: $1" >&2
  exit 2
}
cuda= build=
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
  cmake --build --preset cuda --target troika
}

if [ -x bin/troika ]; then
  troika=bin/troika
elif [ -z "$build" ] && [ -x /usr/bin/troika ]; then
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
    cmake --build --preset release --target troika
  fi
fi

if [ -n "$cuda" ]; then
  $troika demo $run --only-data
  title "Now train on the GPU"
  echo "$troika train --device cuda --bf16 --model.preset qwen3-small --data.train $run/tokens --data.tokenizer $run/tokenizer --seq-len 512 --steps 20 --out runs/gpu"
  exit
fi
exec $troika demo $run --steps "${STEPS:-700}"
