#!/usr/bin/env bash
# To a trained model: takes the Troika that is there, else builds it, then runs `troika demo`: tokenizer, three processes as a pipeline,
# two data-parallel, a sample. Everything it makes is under runs/quickstart (and build/); a second run continues what is there.
#   --build                 builds also where a Troika is there
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
build=
case ${1:-} in
  "") ;;
  --build) build=yes ;;
  *) die "usage: ./quickstart.sh [--build]" ;;
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
  troika=build/release/troika
  title "Packages"
  command -v apt-get > /dev/null || die "building needs Debian's or Ubuntu's packages; here, take the archive or the wheel (docs/guides/installing.md)"
  tools/install-packages.sh build
  echo "all packages are installed"

  title "Build"
  [ -f build/release/build.ninja ] || tools/configure.sh programs
  cmake --build --preset release --target troika
else
  title "Program"
  echo "$troika is there: $("$troika" version)"
fi

exec "$troika" demo runs/quickstart --steps "${STEPS:-700}"
