#!/usr/bin/env bash
# Builds Troika for NVIDIA GPUs on a machine that has none, into one folder of at most 60 MB: programs, the gpu tests, and the
# libraries that are not torch's, NVIDIA's or glibc's. It runs beside the pip torch of another machine:
#
#   tools/gpu-bundle.sh [TORCH_FOLDER] OUT
#   scp -r OUT there: && ssh there OUT/run.sh troika train --device cuda ...
#   ssh there OUT/gpu-check.sh
#
# TORCH_FOLDER is the torch package's (.../site-packages/torch); without it TROIKA_TORCH_DIR, or the one that python3 imports.
# Builds into build/cuda (preset cuda). JOBS: compilations at a time, all cores by default. The other machine needs the same
# architecture, a glibc that is not older, the same torch version, and NVIDIA's driver.
set -euo pipefail
export LC_ALL=C
root=$(cd "$(dirname "$0")/.." && pwd)
most_megabytes=60

die() {
  echo "gpu-bundle: $1" >&2
  exit 2
}
# shellcheck source=tools/bundle-parts.sh
. "$root/tools/bundle-parts.sh"
# shellcheck source=tools/torch-folder.sh
. "$root/tools/torch-folder.sh"

case $# in
  1) given= target=$1 ;;
  2) given=$1 target=$2 ;;
  *) die "usage: gpu-bundle.sh [TORCH_FOLDER] OUT" ;;
esac
find_torch "$given"
check_cuda_torch
check_target "$target"
bundle=$target.partial

echo "gpu-bundle: building against torch $(torch_version) in $torch"
export TROIKA_TORCH_DIR=$torch
cd "$root"
mkdir -p build
cmake --preset cuda > build/cuda.log 2>&1 || { cat build/cuda.log && die "configuring failed; the lines above name what is missing"; }
programs=$root/build/cuda
tests=$(ninja -C "$programs" -t targets all | sed -n 's/^\([a-z_]*_gpu_test\): CXX_EXECUTABLE_LINKER.*/\1/p' | sort -u)
[ -n "$tests" ] || die "build/cuda has no gpu tests"
# shellcheck disable=SC2086
cmake --build --preset cuda ${JOBS:+-j$JOBS} --target troika $tests

rm -rf "$bundle"
mkdir -p "$bundle/bin" "$bundle/lib" "$bundle/licenses"
files=$(for program in troika $tests; do echo "$programs/$program"; done)
# shellcheck disable=SC2086
STRIP=--strip-all strip_into "$bundle/bin" $files
# What the other machine has: torch's, NVIDIA's beside it, the driver's.
# shellcheck disable=SC2086
libraries=$(LD_LIBRARY_PATH=$(torch_libraries) libraries_of $files | grep -v -e '^libcuda\.so' -e '^libnvidia-')
packages_of_torch=$(readlink -f "$(dirname "$torch")")
libraries=$(while read -r name path rest; do
  case $(readlink -f "$path" 2> /dev/null) in
    "$packages_of_torch"/* | */nvidia/*/lib/*) ;;
    *) echo "$name $path $rest" ;;
  esac
done <<< "$libraries")
check_found "$libraries"
copy_libraries "$libraries" "$bundle/lib"
write_licenses "$bundle/licenses"
cp "$root/LICENSE" "$bundle/"
cp "$root/tools/gpu-run.sh" "$bundle/run.sh"
cp "$root/tools/gpu-check.sh" "$root/tools/torch-folder.sh" "$bundle/"
torch_version > "$bundle/TORCH"
{ echo "$(basename "$target") for torch $(torch_version)" && describe_machine "$root"; } > "$bundle/VERSION"

megabytes=$(du -sm "$bundle" | cut -f 1)
[ "$megabytes" -le $most_megabytes ] ||
  die "the folder would take $megabytes MB and may take $most_megabytes; the largest files: $(du -am "$bundle" | sort -rn | sed -n '2,8p' | awk '{ print $2 " " $1 " MB" }' | xargs)"
seal "$bundle" "$target"
"$target/run.sh" --torch "$torch" troika version > /dev/null || die "the folder's troika does not start beside '$torch'"
echo "gpu-bundle: $target, $(wc -w <<< "troika $tests") programs, $(find "$target/lib" -type f | wc -l) libraries, $megabytes MB"
