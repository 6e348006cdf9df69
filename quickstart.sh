#!/usr/bin/env bash
# To a trained model: takes the Troika that is there, else builds it, then runs `troika demo`: tokenizer, three processes as a pipeline,
# two data-parallel, a sample. Everything it makes is under runs/quickstart (and build/); a second run continues what is there.
#   --build                 builds also where a Troika is there
#   --cuda                  the same, with kernels for NVIDIA GPUs (fetches nvcc: tools/cuda-tools.sh)
# Builds take the libraries of Debian or Ubuntu; elsewhere all third parties are fetched and linked statically (tools/portable.sh),
# which always has the kernels.
# There is: a program `troika` in PATH (a package, a wheel), or an archive troika-VERSION-linux-MACHINE.tar.xz, or what was unpacked
# from it, in this folder.
#   STEPS   of the pipeline, 700 by default; the data-parallel run continues for a seventh of them
set -euo pipefail
cd "$(dirname "$0")"

title() { printf '\n== %s\n' "$*"; }
die() {
  echo "quickstart: $1" >&2
  exit 2
}
build= cuda=
case ${1:-} in
  "") ;;
  --build) build=yes ;;
  --cuda) build=yes cuda=yes ;;
  *) die "usage: ./quickstart.sh [--build|--cuda]" ;;
esac

there() { # prints the program that is there
  local archive
  command -v troika && return 0
  for archive in troika-*-linux-"$(uname -m)".tar.xz; do
    [ ! -f "$archive" ] || [ -d "${archive%.tar.xz}" ] || tar -xf "$archive"
  done
  find . -maxdepth 3 -path "./troika-*-linux-$(uname -m)/bin/troika" | sort -V | tail -n 1 | grep .
}
if [ -n "$build" ] || ! troika=$(there); then
  if command -v apt-get > /dev/null; then
    troika=build/release/troika
    title "Packages"
    tools/install-packages.sh build
    if [ -n "$cuda" ]; then
      tools/install-packages.sh cuda
      VIRTUAL_ENV=$(tools/cuda-tools.sh)
      export VIRTUAL_ENV
    fi
    echo "all packages are installed"

    title "Build"
    [ -z "$cuda" ] || tools/configure.sh programs -DTROIKA_CUDA=ON
    [ -f build/release/build.ninja ] || tools/configure.sh programs
    cmake --build --preset release --target troika
  else
    title "Build"
    troika=build/portable/$(uname -m)/troika
    tools/portable.sh "$(uname -m)"
  fi
else
  title "Program"
  echo "$troika is there: $("$troika" version)"
fi

exec "$troika" demo runs/quickstart --steps "${STEPS:-700}"
