# Finding a pip torch; sourced by the scripts that build against one or run beside one. The sourcing script defines die().
# shellcheck shell=bash

# find_torch [FOLDER]: sets torch to the package's folder (.../site-packages/torch): the argument, else TROIKA_TORCH_DIR,
# else the one that python3 imports.
find_torch() {
  local given=${1:-${TROIKA_TORCH_DIR:-}}
  if [ -n "$given" ]; then
    [ -d "$given" ] || die "no folder '$given'; give the folder of the torch package (.../site-packages/torch)"
    torch=$(cd "$given" && pwd)
  else
    command -v python3 > /dev/null || die "python3 is missing; give the folder of the torch package (.../site-packages/torch)"
    torch=$(python3 -c 'import os, torch; print(os.path.dirname(torch.__file__))' 2> /dev/null) ||
      die "python3 cannot import torch; pip install torch==2.11.0, or give the folder of a torch package"
  fi
  [ -f "$torch/lib/libtorch_cpu.so" ] || die "'$torch' holds no lib/libtorch_cpu.so; it is not the folder of a torch package"
}

# torch_version: "2.11" of $torch.
torch_version() {
  local file=$torch/include/torch/headeronly/version.h
  [ -f "$file" ] || file=$torch/include/torch/csrc/api/include/torch/version.h
  sed -n 's/^#define TORCH_VERSION_M[A-Z]* \([0-9]*\).*/\1/p' "$file" 2> /dev/null | head -n 2 | paste -sd .
}

# check_cuda_torch: that $torch has CUDA and headers of version 2.
check_cuda_torch() {
  local version
  version=$(torch_version)
  case $version in
    [2-9].*) ;;
    *) die "'$torch' holds libtorch version ${version:-unknown}; version 2 or newer is needed" ;;
  esac
  [ -f "$torch/lib/libtorch_cuda.so" ] ||
    die "'$torch' is a build without CUDA (lib/libtorch_cuda.so is missing); pip install torch==2.11.0"
}

# torch_cuda: "13.0", the CUDA version that $torch was built with.
torch_cuda() {
  sed -n "s/^cuda[^=]*= '\([0-9.]*\)'.*/\1/p" "$torch/version.py" 2> /dev/null
}

# find_nvcc FOLDER: puts an nvcc into PATH: one beside $torch, in PATH or in /usr/local/cuda, else one that pip installs
# into FOLDER.
find_nvcc() {
  local version found
  version=$(torch_cuda)
  for found in "$torch"/../nvidia/cu*/bin/nvcc "$1"/nvidia/cu*/bin/nvcc "$(command -v nvcc || true)" /usr/local/cuda/bin/nvcc; do
    [ -x "$found" ] || continue
    PATH=$(cd "$(dirname "$found")" && pwd):$PATH
    return
  done
  [ "${version%%.*}" = 13 ] ||
    die "there is no nvcc, and for CUDA ${version:-unknown} of '$torch' none is installed here; put one of that version into PATH, or pip install torch==2.11.0"
  echo "installing nvcc $version into $1"
  python3 -m pip install --quiet --disable-pip-version-check --target "$1" "nvidia-cuda-nvcc==$version.*" \
    "nvidia-cuda-crt==$version.*" "nvidia-cuda-cccl==$version.*" "nvidia-nvvm==$version.*" ||
    die "python3 -m pip could not install nvcc; install nvidia-cuda-nvcc==$version.* nvidia-cuda-crt==$version.* nvidia-cuda-cccl==$version.* nvidia-nvvm==$version.* beside torch"
  found=$(ls "$1"/nvidia/cu*/bin/nvcc)
  chmod +x "$(dirname "$found")"/* "$(dirname "$(dirname "$found")")"/nvvm/bin/* 2> /dev/null || true
  PATH=$(cd "$(dirname "$found")" && pwd):$PATH
}

# torch_libraries: the folders of $torch's own and NVIDIA's libraries beside it, joined by colons.
torch_libraries() {
  local folders=$torch/lib folder
  for folder in "$torch"/../nvidia/*/lib; do
    [ ! -d "$folder" ] || folders=$folders:$(cd "$folder" && pwd)
  done
  echo "$folders"
}

# check_driver: that a GPU can be used here.
check_driver() {
  if command -v nvidia-smi > /dev/null; then
    nvidia-smi -L | grep -q '^GPU' || die "nvidia-smi lists no GPU; the driver or the device is missing"
  elif [ ! -e /dev/nvidiactl ]; then
    die "this machine has no NVIDIA driver (neither nvidia-smi nor /dev/nvidiactl); the gpu tests need a CUDA device"
  fi
}
