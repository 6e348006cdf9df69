#!/usr/bin/env bash
# Proofs of the arm64 build on another machine, each process imitated by qemu (10 to 30 times slower than a processor): tests of
# kernels and modules, a pipeline of three processes and two data-parallel ones with their losses beside this machine's, and the
# instructions of the kernels' inner loops. One line per proof, then "N failed".
#
#   tools/arm64-check.sh [FOLDER_WITH_TROIKA]     (default: build/release, this machine's programs)
#
# Needs root, because programs start each other by binfmt_misc. TESTS: test programs to run (default: those below).
# STEPS (default 5): of each run.
set -euo pipefail
export LC_ALL=C OMP_NUM_THREADS=1
cd "$(dirname "$0")/.."
native=$(cd "${1:-build/release}" 2> /dev/null && pwd) || { echo "arm64-check: there is no folder '${1:-build/release}'; build the programs first: cmake --build --preset release" >&2 && exit 2; }
[ "$(id -u)" = 0 ] || { echo "arm64-check: binfmt_misc needs root; run it with sudo" >&2 && exit 2; }
tests=${TESTS:-cpu_unit_test cpu_parity_test kernels_parity_test comm_contract_test base_unit_test host_unit_test config_unit_test
  jinja_unit_test tokenizer_unit_test data_unit_test weights_unit_test}
steps=${STEPS:-5}

tools/arm64-sysroot.sh
[ -f build/arm64/build.ninja ] || cmake --preset arm64 > /dev/null
# shellcheck disable=SC2086
cmake --build --preset arm64 --target troika $tests > build/arm64/check.log 2>&1 || { tail -n 40 build/arm64/check.log && exit 2; }
arm=$PWD/build/arm64

# shellcheck source=tools/arm64-parts.sh
. tools/arm64-parts.sh
imitate_arm64
work=$(mktemp -d)
trap 'rm -rf "$work"; stop_imitating' EXIT
trap 'exit 130' INT TERM HUP

failed=0
report() { # report STATUS TEXT
  if [ "$1" = 0 ]; then echo "ok    $2"; else echo "FAIL  $2" && failed=$((failed + 1)); fi
}

# Left out: the memory channel, because qemu has no process_vm_readv (the runs below take TCP instead), what takes less than two
# milliseconds on a processor, and the signals that a program begins with: those are qemu's here.
left_out='Full*:*memory*:ParseSettings.TakesUnderTwoMilliseconds:Subprocess.BeginsWithNoSignalOfThisProcess'
echo "      left out: $left_out"

# As a Raspberry Pi 4; what else of arm64 has fused multiply-add gives the same bits.
export QEMU_CPU=cortex-a72
for test in $tests; do
  begin=$SECONDS status=0
  "$arm/$test" --gtest_brief=1 --gtest_filter="-$left_out" > "$work/out" 2>&1 || status=$?
  report $status "$test: $(sed -n 's/^\[  PASSED  \] //p' "$work/out") ($((SECONDS - begin)) s)"
  [ $status = 0 ] || grep -E -A 4 'Failure|FAILED' "$work/out" | head -n 30 | sed 's/^/      | /'
done

cd "$work"
common="--data.train tokens --data.tokenizer tokenizer --seed 1 --seq-len 64 --micro-batch-size 1 --global-batch-size 6 --steps $steps
  --model.layers 3 --model.hidden 64 --model.heads 2 --model.kv-heads 1 --model.head-dim 32 --model.ffn 128 --train.threads 1"
status=0
for troika in "$native/troika" "$arm/troika"; do
  rm -rf tokenizer tokens
  { "$troika" data tokenizer /usr/share/common-licenses --vocab 512 --out tokenizer &&
    "$troika" data prepare /usr/share/common-licenses --tokenizer tokenizer --out tokens; } > out 2>&1 || status=$?
  (cd tokens && find . -type f -name '*.bin' | sort | xargs sha256sum) > "tokens-of-$([ "$troika" = "$arm/troika" ] && echo arm64 || echo native).sum" || status=$?
done
cmp -s tokens-of-arm64.sum tokens-of-native.sum || status=1
report $status "tokenizer and tokens have the same bytes on both"

run() { # run NAME TROIKA PROCESSES FLAGS...
  local begin=$SECONDS status=0
  # shellcheck disable=SC2086
  "$2" launch --nproc-per-node "$3" -- train "${@:4}" $common --out "$1" > "$1.log" 2>&1 || status=$?
  report $status "$1: $3 processes, ${*:4}, $steps steps ($((SECONDS - begin)) s)"
  [ $status = 0 ] || tail -n 12 "$1.log" | sed 's/^/      | /'
}
column() { sed -n "s/.*\"$2\": *\"\{0,1\}\([^,\"}]*\).*/\1/p" "$1/metrics.jsonl" | paste -s -d ' ' -; }

run pipeline-here "$native/troika" 3 --pp 3
run pipeline-arm64 "$arm/troika" 3 --pp 3
QEMU_CPU=cortex-a76 run data-parallel-arm64 "$arm/troika" 2 --dp 2
echo "      losses here:  $(column pipeline-here loss)"
echo "      losses arm64: $(column pipeline-arm64 loss)"
status=0
[ -n "$(column pipeline-arm64 loss_bits)" ] && [ "$(column pipeline-arm64 loss_bits)" = "$(column data-parallel-arm64 loss_bits)" ] || status=1
report $status "the pipeline on a Cortex-A72 and the data-parallel run on a Cortex-A76 have the same bits: $(column pipeline-arm64 loss_bits)"
status=0
paste -d ' ' <(column pipeline-here loss | tr ' ' '\n') <(column pipeline-arm64 loss | tr ' ' '\n') |
  awk -v steps="$steps" '{ d = ($1 - $2) / $1; if (d < 0) d = -d; if (d > most) most = d } END { printf "%.1e\n", most; exit !(NR == steps && most < 1e-4) }' > most || status=1
report $status "losses here and on arm64 agree within 1e-4: the largest difference is $(cat most) of the loss"
if [ "$(column pipeline-here loss_bits)" = "$(column pipeline-arm64 loss_bits)" ]; then
  echo "      these have the same bits (docs/reproducibility.md says when)"
else
  echo "      bits here: $(column pipeline-here loss_bits)"
fi

cd - > /dev/null
instructions=$(tools/arm64-instructions.py "$arm/troika") || failed=$((failed + $(grep -c '^FAIL' <<< "$instructions")))
echo "$instructions"
status=0
crypto=$(aarch64-linux-gnu-objdump -d --no-show-raw-insn "$arm/troika" | awk '$2 ~ /^(aes|sha[0-9]|pmull)/ { n++ } END { print n + 0 }')
[ "$crypto" = 0 ] || status=1
report $status "the programs have $crypto instructions for AES, SHA and polynomials, which a Raspberry Pi 4 lacks and qemu's Cortex-A72 has"
echo "$failed failed"
exit "$((failed > 0))"
