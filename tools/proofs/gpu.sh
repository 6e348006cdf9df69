#!/usr/bin/env bash
# What can be shown of the GPU code on a machine without a GPU, with figures:
#
#   1  code        every kernel of module cuda compiles for every kind of GPU without spilled registers, and has the entry that the
#                  program looks for; the program with this code builds
#   2  kernels     their tests pass on the host, and each planted fault makes them fail (planted.sh gpu)
#   3  signatures  each function that is loaded from the driver, cuBLASLt, cuDNN and NCCL has its signature in the headers of CUDA 12 and 13
#   4  devices     the tests over stand-ins of the driver, cuBLASLt, cuDNN and NCCL pass
#   5  plans       cuDNN, asked without a device, has kernels for what the program asks it for, and takes the memory that is counted;
#                  it needs an active environment (VIRTUAL_ENV) with nvidia-cudnn-cu12, nvidia-cublas-cu12 and nvidia-cuda-nvrtc-cu12: 1.5 GB
#
#   tools/proofs/gpu.sh [1 2 3 4 5]    (default: 1 to 4)
#
# Fetches nvcc and headers from the Python registry into build/proofs/gpu: 180 MB. JOBS: compilations at a time, all cores by default.
set -euo pipefail
export LC_ALL=C
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$root/build/proofs/gpu
jobs=${JOBS:-$(nproc)}
gpus="80 86 89 90 100 120"
toolkits=(  # what belongs together
  "nvidia-cuda-runtime-cu12==12.4.127 nvidia-cuda-nvcc-cu12==12.4.131 nvidia-cuda-cccl-cu12==12.9.27 nvidia-cublas-cu12==12.4.5.8 nvidia-cudnn-cu12==9.10.2.21 nvidia-nccl-cu12==2.28.9"
  "nvidia-cuda-runtime-cu12==12.9.79 nvidia-cuda-nvcc-cu12==12.9.86 nvidia-cuda-cccl-cu12==12.9.27 nvidia-cublas-cu12==12.9.1.4 nvidia-cudnn-cu12==9.28.0.42 nvidia-nccl-cu12==2.28.9"
  "nvidia-cuda-runtime==13.0.96 nvidia-cuda-crt==13.0.88 nvidia-cuda-cccl==13.0.85 nvidia-cublas==13.0.2.14 nvidia-cudnn-cu13==9.28.0.42 nvidia-nccl-cu13==2.28.9"
)

die() {
  echo "gpu: $1" >&2
  exit 2
}
title() { printf '\n== %s\n' "$*"; }
mkdir -p "$work"

build() { # build TARGET...: in build/release
  [ -f "$root/build/release/build.ninja" ] || "$root/tools/configure.sh" release
  cmake --build "$root/build/release" -j"$jobs" --target "$@" > "$work/build.log" 2>&1 ||
    { tail -n 30 "$work/build.log" && die "building $* failed"; }
}
run_tests() { # run_tests FOLDER PROGRAM [FILTER]
  (cd "$1" && OMP_NUM_THREADS=1 timeout 900 "./$2" --gtest_brief=1 ${3:+--gtest_filter="$3"} | tail -n 1 | sed "s/^/$2  /")
}

# --- 1: code ----------------------------------------------------------------------------------------------------------

# Lines of `ptxas -v` become: ENTRY REGISTERS STACK SPILLED, bytes.
kernels_of_log() {
  awk '
    /Compiling entry function/ { split($0, words, "\047"); entry = words[2] }
    /bytes stack frame/ { for (i = 1; i <= NF; ++i) if ($(i + 1) == "bytes" && $(i + 2) == "stack") stack = $i; else if ($(i + 1) == "bytes" && $(i + 2) == "spill") spilled += $i }
    /Used [0-9]+ registers/ { for (i = 1; i <= NF; ++i) if ($i == "Used") print entry, $(i + 1), stack, spilled; stack = spilled = 0 }'
}

compile_kernels() {
  VIRTUAL_ENV=$("$root/tools/cuda-tools.sh")
  export VIRTUAL_ENV
  cmake --preset release -DTROIKA_TESTS=OFF -DTROIKA_CUDA=ON -B "$work/build" -S "$root" > "$work/configure.log" 2>&1 || { cat "$work/configure.log" && die "configuring failed"; }
  cmake --build "$work/build" -j"$jobs" --target troika > "$work/build.log" 2>&1 || { tail -n 30 "$work/build.log" && die "the program with device code does not build"; }
  local ptxas gpu log status=0
  ptxas=$(ls "$VIRTUAL_ENV"/lib/python3*/site-packages/nvidia/cuda_nvcc/bin/ptxas)
  for gpu in $gpus; do
    log=$work/ptxas-$gpu.log
    "$ptxas" -v -arch=sm_"$gpu" -O3 "$work/build/src/engine/gpu/kernels.ptx" -o "$work/kernels.cubin" > "$log" 2>&1 || { tail "$log" && die "ptxas refuses the kernels for $gpu"; }
    kernels_of_log < "$log" > "$work/kernels-$gpu.txt"
    awk -v gpu="$gpu" '
      { ++n; if ($2 > most) most = $2; stacks += $3 > 0; if ($4 > 0) { ++spilled; print "spills registers: " $1 } }
      END { printf "sm_%s: %d kernels, at most %d registers, %d with a stack, %d with spilled registers\n", gpu, n, most, stacks, spilled; exit n == 0 || spilled > 0 }' \
      "$work/kernels-$gpu.txt" || status=1
  done
  [ $status = 0 ] || die "kernels spill registers, or none was compiled"
  g++ -std=c++17 -O1 -I"$root/src/engine" -I"$root/src/numbers" -I"$root/src/ground" "$root/tools/proofs/gpu/entries.cc" "$root/src/engine/cuda/entry.cc" "$work/build/src/ground/base/libtroika_base.a" -lfmt -lxxhash -lsodium -o "$work/entries" || die "the list of entries does not compile"
  "$work/entries" | sort > "$work/entries-here.txt"
  cut -d' ' -f1 "$work/kernels-80.txt" | sort > "$work/entries-of-code.txt"
  diff "$work/entries-here.txt" "$work/entries-of-code.txt" > "$work/entries.diff" || { head "$work/entries.diff" && die "entries of the program (<) and of device code (>) differ"; }
  echo "$(wc -l < "$work/entries-here.txt") entries are those of the device code; it takes $(du -cb "$work"/build/src/engine/gpu/code/*.zst | tail -n 1 | cut -f1) bytes of the program"
}

# --- 3: signatures ----------------------------------------------------------------------------------------------------

check_signatures() {
  local toolkit package folder includes
  for toolkit in "${toolkits[@]}"; do
    # shellcheck disable=SC2086
    python3 "$root/tools/proofs/gpu/headers.py" "$work/headers" $toolkit || die "cannot fetch headers"
    includes=()
    for package in $toolkit; do
      while read -r folder; do includes+=(-isystem "$folder"); done < <(find "$work/headers/${package/==/-}" -type d \( -name include -o -name cccl \))
    done
    g++ -std=c++17 "${includes[@]}" -I"$root/src/engine" -I"$root/src/numbers" -I"$root/src/ground" "$root/tools/proofs/gpu/signatures.cc" -o "$work/signatures" || die "with $toolkit the comparison does not compile"
    "$work/signatures" || die "signatures differ"
  done
}

# --- 5: plans ---------------------------------------------------------------------------------------------------------

ask_for_plans() {
  local packages libraries=$work/no-driver
  packages=$(ls -d "${VIRTUAL_ENV:-/none}"/lib/python3*/site-packages/nvidia 2> /dev/null) && [ -f "$packages/cudnn/lib/libcudnn.so.9" ] ||
    die "the active environment has no cuDNN: pip install nvidia-cudnn-cu12 nvidia-cublas-cu12 nvidia-cuda-nvrtc-cu12 nvidia-cuda-runtime-cu12"
  build troika_base
  mkdir -p "$libraries"
  gcc -shared -fPIC "$root/tools/proofs/gpu/no_driver.c" -o "$libraries/libcuda.so.1" || die "the stand-in for the driver does not compile"
  g++ -std=c++17 -O1 -I"$root/src/engine" -I"$root/src/numbers" -I"$root/src/ground" "$root/tools/proofs/gpu/plans.cc" "$root"/src/engine/gpu/{cudnn_api,flash_graph,library}.cc "$root/build/release/src/ground/base/libtroika_base.a" -lfmt -lxxhash -ldl -lpthread -o "$work/plans" || die "the questions do not compile"
  LD_LIBRARY_PATH=$libraries:$packages/cudnn/lib:$packages/cublas/lib:$packages/cuda_nvrtc/lib:$packages/cuda_runtime/lib \
    "$work/plans" "$packages/cudnn/lib/libcudnn.so.9" || die "the table and cuDNN differ"
}

[ $# -gt 0 ] || set -- 1 2 3 4
for part in "$@"; do
  case $part in
    1) title "1 code" && compile_kernels ;;
    2) title "2 kernels" && "$root/tools/proofs/planted.sh" gpu ;;
    3) title "3 signatures" && check_signatures ;;
    4) title "4 devices"
       build gpu_unit_test comm_unit_test comm_fault_test kernels_parity_test
       run_tests "$root/build/release" gpu_unit_test
       run_tests "$root/build/release" kernels_parity_test 'FlashAttention*'
       run_tests "$root/build/release" comm_unit_test 'Nccl*'
       run_tests "$root/build/release" comm_fault_test 'Nccl*' ;;
    5) title "5 plans" && ask_for_plans ;;
    *) die "there is no part $part" ;;
  esac
done
