#!/usr/bin/env bash
# Runs a program of a GPU bundle (tools/gpu-bundle.sh) beside the pip torch of this machine.
#
#   ./run.sh [--torch FOLDER] PROGRAM [arguments]       PROGRAM: a file in bin, such as troika
#
# FOLDER is the torch package's (.../site-packages/torch); without it TROIKA_TORCH_DIR, or the one that python3 imports.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

die() {
  echo "run.sh: $1" >&2
  exit 2
}
# shellcheck source=tools/torch-folder.sh
. "$here/torch-folder.sh"

given=
if [ "${1:-}" = --torch ]; then
  given=${2:-}
  shift 2
fi
[ $# -gt 0 ] || die "usage: run.sh [--torch FOLDER] PROGRAM [arguments]; programs: $(cd "$here/bin" && echo *)"
[ -x "$here/bin/$1" ] || die "there is no program '$1' in this bundle; there are $(cd "$here/bin" && echo *)"
find_torch "$given"
check_cuda_torch
built=$(cat "$here/TORCH")
[ "$(torch_version)" = "$built" ] ||
  die "this bundle was built for torch $built, and '$torch' is $(torch_version); pip install torch==$built.0"
LD_LIBRARY_PATH=$here/lib:$(torch_libraries)${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
exec "$here/bin/$1" "${@:2}"
