#!/usr/bin/env bash
# What can be shown of the GPU code on a machine without a GPU, with figures:
#
#   1  kernels   every kernel of src/cuda compiles for sm_80 and sm_90 without spilled registers; their tests pass on the
#                host; each planted fault in tools/gpu-proofs/ makes these tests fail
#   2  torch     everything builds against a pip torch with CUDA and passes the default tests on the CPU
#   3  nccl      the tests of the NCCL channel pass over a library that stands in for NCCL
#   4  streams   the tests of streams pass on a made-up device
#
#   tools/gpu-proofs.sh [--torch FOLDER] [--nvcc PATH] [--install DIR] [1 2 3 4]      (default: all four)
#
# --torch: the torch package's folder (.../site-packages/torch); --nvcc: the compiler; without them those of --install, of
# TROIKA_TORCH_DIR, python3 and PATH. --install makes a virtual environment in DIR with the packages; else nothing is
# installed. JOBS: compilations and tests at a time, all cores by default. Works in build/gpu-proofs, build/cuda and
# build/release.
set -euo pipefail
export LC_ALL=C
root=$(cd "$(dirname "$0")/.." && pwd)
work=$root/build/gpu-proofs
jobs=${JOBS:-$(nproc)}
torch_packages="torch==2.11.0"
nvcc_packages="nvidia-cuda-nvcc==13.0.* nvidia-cuda-crt==13.0.* nvidia-cuda-cccl==13.0.* nvidia-nvvm==13.0.*"

die() {
  echo "gpu-proofs: $1" >&2
  exit 2
}
# shellcheck source=tools/torch-folder.sh
. "$root/tools/torch-folder.sh"

# --- prerequisites ----------------------------------------------------------------------------------------------------

install() { # install DIR
  command -v python3 > /dev/null || die "python3 is missing; install python3-venv"
  [ -x "$1/bin/pip" ] || python3 -m venv "$1" || die "no virtual environment in '$1'; install python3-venv"
  # shellcheck disable=SC2086
  "$1/bin/pip" install --quiet $torch_packages $nvcc_packages || die "pip could not install $torch_packages $nvcc_packages"
  given_torch=$(ls -d "$1"/lib/python3*/site-packages/torch)
  given_nvcc=$(ls "$1"/lib/python3*/site-packages/nvidia/cu*/bin/nvcc)
}

need_nvcc() {
  [ -z "${nvcc:-}" ] || return 0
  nvcc=${given_nvcc:-$(command -v nvcc || true)}
  [ -x "$nvcc" ] || die "there is no nvcc; pip install $nvcc_packages, then --nvcc .../nvidia/cu13/bin/nvcc, or --install DIR"
  nvcc=$(cd "$(dirname "$nvcc")" && pwd)/nvcc
  PATH=$(dirname "$nvcc"):$PATH
}

need_torch() {
  [ -z "${torch:-}" ] || return 0
  (die() { exit 1; } && find_torch "${given_torch:-}" && check_cuda_torch) 2> /dev/null ||
    die "there is no pip torch with CUDA; pip install $torch_packages, then --torch .../site-packages/torch, or --install DIR"
  find_torch "${given_torch:-}"
}

title() { printf '\n== %s\n' "$*"; }

# run_tests FOLDER PROGRAM FILTER: fails where no test has such a name.
run_tests() {
  "$1/$2" --gtest_list_tests --gtest_filter="$3" | grep -q '^  ' || die "$2 has no test named $3"
  OMP_NUM_THREADS=1 GLOG_minloglevel=2 timeout 900 "$1/$2" --gtest_brief=1 --gtest_filter="$3" | tail -n 2 | sed "s/^/$2  /"
}

build() { # build TARGET...: in build/release
  [ -f "$root/build/release/build.ninja" ] || "$root/tools/configure.sh" release
  cmake --build "$root/build/release" -j"$jobs" --target "$@" > "$work/build.log" 2>&1 ||
    { tail -n 30 "$work/build.log" && die "building $* failed"; }
}

# --- 1: kernels -------------------------------------------------------------------------------------------------------

# Lines of `ptxas -v` become: KERNEL ARCHITECTURE REGISTERS STACK SPILLED SHARED, bytes.
kernels_of_log() {
  c++filt | awk '
    /Compiling entry function/ {
      name = $0
      sub(/^.*entry function .(void )?/, "", name)
      sub(/. for .sm_.*$/, "", name)
      sub(/^troika::cuda::run<troika::cuda::/, "", name)
      sub(/ ?>\(troika::cuda::.*\)$/, "", name)
      gsub(/troika::cuda::/, "", name)
      gsub(/, /, ",", name)
      gsub(/ /, "_", name)
      architecture = $0
      sub(/^.* for ./, "", architecture)
      sub(/[^a-z0-9_].*$/, "", architecture)
    }
    /bytes stack frame/ { stack = $1; spilled = $5 + $9 }
    /Used [0-9]+ registers/ {
      registers = shared = 0
      for (i = 1; i <= NF; ++i) {
        if ($i == "Used") registers = $(i + 1)
        if ($i == "bytes" && $(i + 1) ~ /^smem/) shared = $(i - 1)
      }
      print name, architecture, registers, stack, spilled, shared
    }'
}

compile_kernels() {
  mkdir -p "$work/nvcc"
  local file name
  : > "$work/kernels.txt"
  for file in "$root"/src/cuda/*.cu; do
    name=$(basename "$file" .cu)
    "$nvcc" -std=c++17 -O3 -fmad=false --expt-relaxed-constexpr -I"$root/src" -gencode arch=compute_80,code=sm_80 \
      -gencode arch=compute_90,code=sm_90 -gencode arch=compute_90,code=compute_90 -Xptxas -v -c "$file" \
      -o "$work/nvcc/$name.o" > "$work/nvcc/$name.log" 2>&1 || { cat "$work/nvcc/$name.log" && die "nvcc refuses $file"; }
    kernels_of_log < "$work/nvcc/$name.log" >> "$work/kernels.txt"
  done
}

check_registers() {
  sort -k1,1 -k2,2 "$work/kernels.txt" | awk '
    BEGIN { printf "%-92s %-6s %9s %6s %8s %7s\n", "kernel", "for", "registers", "stack", "spilled", "shared" }
    { printf "%-92s %-6s %9d %6d %8d %7d\n", $1, $2, $3, $4, $5, $6 }'
  awk '
    { ++kernels[$2]; if ($3 > most[$2]) most[$2] = $3; stack[$2] += $4 > 0; spilled[$2] += $5 > 0; all += $5 > 0; ++n }
    END {
      for (a in kernels)
        printf "%s: %d kernels, at most %d registers, %d with a stack, %d with spilled registers\n", a, kernels[a], most[a], stack[a], spilled[a]
      exit n == 0 || all > 0
    }' "$work/kernels.txt" || die "kernels spill registers, or none was compiled; the table above names them"
}

# plant_faults: in a copy of the tree, so that nothing here changes.
plant_faults() {
  local copy=$work/tree build=$work/tree/build patch name verdict caught=0 count=0
  rm -rf "$copy/src" && mkdir -p "$copy"
  tar -C "$root" --exclude=./build --exclude=./runs --exclude=./.git -cf - . | tar -C "$copy" -xmf -  # as new: what was built last had a fault
  cmake -S "$copy" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTROIKA_UNITY=1 > "$work/tree.log" 2>&1 || { cat "$work/tree.log" && die "configuring a copy failed"; }
  for patch in none "$root"/tools/gpu-proofs/*.patch; do
    name=$(basename "$patch" .patch)
    [ "$patch" = none ] || patch -s -d "$copy" -p1 < "$patch" || die "$patch does not fit the sources any more; make it again"
    cmake --build "$build" -j"$jobs" --target cuda_unit_test cuda_parity_test > "$work/tree.log" 2>&1 || { tail -n 30 "$work/tree.log" && die "with $name the tests do not compile"; }
    verdict=pass
    for test in cuda_unit_test cuda_parity_test; do
      timeout 300 "$build/$test" --gtest_brief=1 --gtest_fail_fast > "$work/$name.log" 2>&1 || { verdict="fail ($test: $(sed -n 's/^\[  FAILED  \] \([A-Za-z.]*\).*/\1/p' "$work/$name.log" | head -n 1))" && break; }
    done
    echo "planted $name: tests $verdict"
    if [ "$patch" = none ]; then
      [ "$verdict" = pass ] || die "the tests fail without a planted fault; see $work/none.log"
      continue
    fi
    count=$((count + 1))
    [ "$verdict" = pass ] || caught=$((caught + 1))
    patch -s -R -d "$copy" -p1 < "$patch"
  done
  [ "$caught" = "$count" ] && [ "$count" -gt 0 ] || die "$caught of $count planted faults are found"
  echo "$caught of $count planted faults are found"
}

proof_1() {
  title "1: kernels for sm_80 and sm_90 by nvcc, on the host by their tests, with planted faults"
  need_nvcc
  compile_kernels
  check_registers
  build cuda_unit_test cuda_parity_test kernels_parity_test
  run_tests "$root/build/release" cuda_unit_test '*'
  run_tests "$root/build/release" cuda_parity_test '*'
  run_tests "$root/build/release" kernels_parity_test '*Cuda*'
  plant_faults
}

# --- 2: torch ---------------------------------------------------------------------------------------------------------

proof_2() {
  title "2: the default tests against a pip torch with CUDA, on the CPU"
  need_nvcc
  need_torch
  echo "torch $(torch_version) in $torch"
  cd "$root"
  export TROIKA_TORCH_DIR=$torch
  cmake --preset cuda > "$work/cuda.log" 2>&1 || { cat "$work/cuda.log" && die "configuring the preset cuda failed"; }
  cmake --build --preset cuda -j"$jobs" > "$work/cuda.log" 2>&1 || { tail -n 30 "$work/cuda.log" && die "building the preset cuda failed"; }
  ctest --test-dir build/cuda --no-tests=error --output-on-failure -j "$jobs" -LE 'full|gpu'
}

# --- 3 and 4: tests by name -------------------------------------------------------------------------------------------

# programs_with PATTERN: test programs whose sources name tests so.
programs_with() {
  local pattern=$1 file path module kind
  (cd "$root/src" && grep -rlE "^(TEST|TEST_F|TEST_P|INSTANTIATE_TEST_SUITE_P)\(.*($pattern)" --include='*_test.cc' . || true) |
    sed 's#^\./##' |
    while read -r file; do
      path=${file%_test.cc} module=${file%%/*}
      kind=${path##*_}
      case $kind in
        contract | parity | golden | fault | process | timed) echo "${module}_${kind}_test" ;;
        *) echo "${module}_unit_test" ;;
      esac
    done | sort -u
}

# run_named WHAT FILTER PROGRAM...
run_named() {
  [ $# -gt 2 ] || die "the sources have no tests of $1 ($2)"
  build "${@:3}"
  local program
  for program in "${@:3}"; do run_tests "$root/build/release" "$program" "$2"; done
}

proof_3() {
  title "3: the channel over NCCL's stand-in"
  # shellcheck disable=SC2046
  run_named "the NCCL channel" '*Nccl*:*nccl*' comm_contract_test $(programs_with 'Nccl')
}

proof_4() {
  title "4: streams on a made-up device"
  # shellcheck disable=SC2046
  run_named "streams" '*LateDevices*:*MissingWait*:*Streams*' $(programs_with 'LateDevices|MissingWait|Streams')
}

# ----------------------------------------------------------------------------------------------------------------------

proofs=
while [ $# -gt 0 ]; do
  case $1 in
    --torch) given_torch=${2:-} && shift 2 ;;
    --nvcc) given_nvcc=${2:-} && shift 2 ;;
    --install) install "${2:?a folder}" && shift 2 ;;
    [1-4]) proofs="$proofs $1" && shift ;;
    *) die "usage: gpu-proofs.sh [--torch FOLDER] [--nvcc PATH] [--install DIR] [1 2 3 4]" ;;
  esac
done
mkdir -p "$work"
proofs=${proofs:- 1 2 3 4}
if [ "$(wc -w <<< "$proofs")" = 1 ]; then
  "proof_${proofs# }"
  exit
fi
failed=
for proof in $proofs; do # a process each, so that one that fails does not keep the others from running
  "$root/tools/gpu-proofs.sh" ${given_torch:+--torch "$given_torch"} ${given_nvcc:+--nvcc "$given_nvcc"} "$proof" || failed="$failed $proof"
done
[ -z "$failed" ] || die "these proofs failed:$failed"
echo
echo "gpu-proofs: all of$proofs hold"
