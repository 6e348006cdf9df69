#!/usr/bin/env bash
# Measures Troika beside the newest PyTorch of the Python registry, eager and compiled, in fp32 and in bf16, and writes
# benchmarks/results/NAME-torch-VERSION{,-bf16}.{md,csv}.
#
#   benchmarks/peers.sh NAME [OPTION OF compare.py...]
#
# NAME says which machine: epyc-2-cores. The PyTorch stands in a virtual environment, build/peers unless PEERS names another;
# it takes some GB and 10 minutes to fetch. Needs build/release/troika, g++ for torch.compile, and a machine at rest.
set -eu
[ $# -gt 0 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
name=$1
shift
root=$(cd "$(dirname "$0")/.." && pwd)
peers=${PEERS:-$root/build/peers}
if ! "$peers/bin/python" -c 'import torch' 2> /dev/null; then
  python3 -m venv "$peers"
  "$peers/bin/pip" install --quiet torch numpy
fi
version=$("$peers/bin/python" -c 'import torch; print(torch.__version__.split("+")[0])')
for precision in "" --bf16; do
  page=$root/benchmarks/results/$name-torch-$version${precision:+-bf16}
  "$root/benchmarks/compare.py" --python "$peers/bin/python" --compile $precision "$@" --csv "$page.csv" --markdown "$page.md"
done
