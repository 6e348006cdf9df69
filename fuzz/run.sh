#!/bin/sh
# Runs one fuzz target.
#   fuzz/run.sh TARGET SECONDS [libFuzzer option ...]
# Begins with fuzz/corpus/TARGET, the seeds that the build has made, and what earlier runs have found of interest (in
# build/fuzz/found/TARGET). An input that crashes, leaks, takes more than 10 s or 2 GiB ends the run with an error and is
# kept in build/fuzz/findings: after the fix it belongs in fuzz/corpus/TARGET.
set -eu
if [ $# -lt 2 ]; then
  sed -n '2,6s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
target=$1 seconds=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
build=$here/../build/fuzz

[ -x "$build/fuzz_$target" ] || { echo "no fuzz target '$target' is built; run fuzz/build.sh" >&2; exit 1; }
mkdir -p "$build/found/$target" "$build/findings" "$build/seeds/$target"
set -- -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=16384 -print_final_stats=1 -verbosity=1 \
  -artifact_prefix="$build/findings/$target-" "$@"
seeds="$here/corpus/$target $build/seeds/$target"
[ "$target" != sentencepiece ] || seeds="$seeds $here/../src/engine/tokenizer/golden"
[ "$target" != programs ] || seeds="$seeds $here/../src/numbers/schedule/golden"
[ ! -f "$here/$target.dict" ] || set -- -dict="$here/$target.dict" "$@"
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=0
export UBSAN_OPTIONS=print_stacktrace=1
# shellcheck disable=SC2086
exec "$build/fuzz_$target" "$@" "$build/found/$target" $seeds
