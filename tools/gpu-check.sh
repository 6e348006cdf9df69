#!/bin/sh
# Builds Troika against the libtorch inside a pip torch 2.x with CUDA and runs the tests labelled gpu.
#
#   tools/gpu-check.sh [TORCH_FOLDER]
#
# TORCH_FOLDER is the package's folder (.../site-packages/torch); without it python3 is asked. Builds into build/gpu.
# Needs an NVIDIA GPU with its driver, cmake, ninja, a C++17 compiler and the same -dev packages as the normal build,
# libtorch excepted.
set -eu

fail() {
  echo "gpu-check: $1" >&2
  exit 1
}

[ $# -le 1 ] || fail "usage: gpu-check.sh [TORCH_FOLDER]"
root=$(cd "$(dirname "$0")/.." && pwd)

for tool in cmake ninja ctest c++; do
  command -v "$tool" > /dev/null || fail "$tool is missing; install cmake, ninja-build and g++"
done

if [ $# -eq 1 ]; then
  [ -d "$1" ] || fail "no folder '$1'; give the folder of the torch package (.../site-packages/torch)"
  torch=$(cd "$1" && pwd)
else
  command -v python3 > /dev/null || fail "python3 is missing; give the folder of the torch package as the argument"
  torch=$(python3 -c 'import os, torch; print(os.path.dirname(torch.__file__))' 2> /dev/null) ||
    fail "python3 cannot import torch; install a CUDA build of torch 2.x (pip install torch) or give its folder"
fi

[ -f "$torch/include/ATen/core/Tensor.h" ] ||
  fail "'$torch' holds no include/ATen/core/Tensor.h; it is not the folder of a torch package"
version_file=$torch/include/torch/headeronly/version.h
[ -f "$version_file" ] || version_file=$torch/include/torch/csrc/api/include/torch/version.h
major=$(sed -n 's/^#define TORCH_VERSION_MAJOR \([0-9]*\).*/\1/p' "$version_file" 2> /dev/null)
[ "${major:-0}" -ge 2 ] || fail "'$torch' holds libtorch version ${major:-unknown}; version 2 or newer is needed"
[ -f "$torch/lib/libtorch_cuda.so" ] ||
  fail "'$torch' is a build without CUDA (lib/libtorch_cuda.so is missing); install a CUDA build of torch"

if command -v nvidia-smi > /dev/null; then
  nvidia-smi -L | grep -q '^GPU' || fail "nvidia-smi lists no GPU; the driver or the device is missing"
elif [ ! -e /dev/nvidiactl ]; then
  fail "this machine has no NVIDIA driver (neither nvidia-smi nor /dev/nvidiactl); the gpu tests need a CUDA device"
fi

echo "gpu-check: libtorch in $torch"
cmake -S "$root" -B "$root/build/gpu" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTROIKA_TORCH_DIR="$torch" ||
  fail "configuring failed; the lines above name what is missing"
cmake --build "$root/build/gpu" || fail "the build against '$torch' failed; the first error above says where"
cd "$root/build/gpu"
ctest -L '^gpu$' --no-tests=error --output-on-failure
