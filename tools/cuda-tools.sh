#!/bin/sh
# Makes a virtual environment with what compiles device code for NVIDIA GPUs, in FOLDER (build/cuda-tools where none is given), and
# prints it: CUDA 13's nvcc, and CUDA 12's ptxas, whose code drivers from 525 on take. 145 MB from the Python registry, once.
#   VIRTUAL_ENV=$(tools/cuda-tools.sh) cmake --preset release -DTROIKA_CUDA=ON
set -eu
cd "$(dirname "$0")/.."
folder=${1:-$PWD/build/cuda-tools}
for tool in python3 g++ zstd; do
  command -v $tool >/dev/null || { echo "cuda-tools: $tool is missing; install it (Debian: python3-venv, g++, zstd)" >&2; exit 2; }
done
if [ ! -f "$folder/whole" ]; then
  python3 -m venv "$folder" >&2
  "$folder/bin/pip" install -q nvidia-cuda-nvcc==13.0.88 nvidia-cuda-crt==13.0.88 nvidia-cuda-cccl==13.0.85 nvidia-nvvm==13.0.88 \
    nvidia-cuda-runtime==13.0.96 nvidia-cuda-nvcc-cu12==12.9.86 >&2
  touch "$folder/whole"
fi
echo "$folder"
