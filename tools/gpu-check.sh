#!/usr/bin/env bash
# Runs the gpu tests and benchmarks on a machine with an NVIDIA GPU.
#
#   tools/gpu-check.sh [TORCH_FOLDER]     builds here first (build/cuda)
#   OUT/gpu-check.sh [TORCH_FOLDER]       in a bundle of tools/gpu-bundle.sh: builds nothing
#   tools/gpu-check.sh OUT                the bundle in OUT
#
# TORCH_FOLDER is the torch package's folder (.../site-packages/torch); without it TROIKA_TORCH_DIR, or the one that python3
# imports. Needs NVIDIA's driver; to build, also cmake, ninja, g++, nvcc and the -dev packages of a normal build.
set -euo pipefail

die() {
  echo "gpu-check: $1" >&2
  exit 1
}
[ $# -le 1 ] || die "usage: gpu-check.sh [TORCH_FOLDER | BUNDLE]"
here=$(cd "$(dirname "$0")" && pwd)
if [ -n "${1:-}" ] && [ -f "$1/MANIFEST" ] && [ -x "$1/run.sh" ]; then
  exec "$1/gpu-check.sh"
fi
# shellcheck source=tools/torch-folder.sh
. "$here/torch-folder.sh"
find_torch "${1:-}"
check_cuda_torch
check_driver
echo "gpu-check: torch $(torch_version) in $torch"

build_here() {
  local root
  root=$(dirname "$here")
  cd "$root"
  for tool in cmake ninja ctest c++; do
    command -v "$tool" > /dev/null || die "$tool is missing; install cmake, ninja-build and g++"
  done
  export TROIKA_TORCH_DIR=$torch
  cmake --preset cuda || die "configuring failed; the lines above name what is missing"
  cmake --build --preset cuda ${JOBS:+-j$JOBS} || die "the build against '$torch' failed; the first error above says where"
  programs=$root/build/cuda
  run() { "$programs/$@"; }
}

if [ -f "$here/MANIFEST" ]; then
  (cd "$here" && sha256sum --quiet -c MANIFEST) || die "the bundle is not as it was packed"
  programs=$here/bin
  run() { "$here/run.sh" --torch "$torch" "$@"; }
else
  build_here
fi

failures=0
count=0
for test in "$programs"/*_gpu_test; do
  [ -x "$test" ] || continue
  count=$((count + 1))
  echo "== $(basename "$test")"
  run "$(basename "$test")" --gtest_brief=1 || failures=$((failures + 1))
done
[ "$count" -gt 0 ] || die "there are no gpu tests in '$programs'"

step=(--device cuda --bf16 --steps 6 --model.preset qwen3-0.6b --seq-len 2048 --micro-batch-size 2 --global-batch-size 4)
echo "== bench step"
run troika bench step "${step[@]}" || failures=$((failures + 1))
echo "== bench roofline: what that step cannot take less than"
run troika bench roofline --model.preset qwen3-0.6b --seq-len 2048 --micro-batch-size 2 --global-batch-size 4 || failures=$((failures + 1))
[ "$failures" = 0 ] || die "$failures of $((count + 2)) failed"
echo "gpu-check: $count test programs and 2 benchmarks passed"
