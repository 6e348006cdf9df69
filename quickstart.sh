#!/usr/bin/env bash
# From a fresh Debian 12 to a trained model: packages, build, then `troika demo`: tokenizer, three processes as a pipeline, two
# data-parallel, a sample. Everything it makes is under build/ and runs/quickstart; a second run builds nothing again and continues
# what is there.
#   --build                 builds also where the packages (tools/package.sh) are installed
# In a bundle (tools/bundle.sh) it takes the programs beside it, else those of installed packages; then it installs and builds nothing.
#   STEPS   of the pipeline, 700 by default; the data-parallel run continues for a seventh of them
set -euo pipefail
cd "$(dirname "$0")"

title() { printf '\n== %s\n' "$*"; }
run=runs/quickstart

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

if [ -x bin/troika ]; then
  troika=bin/troika
elif [ -z "$build" ] && [ -x /usr/bin/troika ]; then
  troika=/usr/bin/troika
else
  troika=build/release/troika
  title "Packages"
  tools/install-packages.sh build
  echo "all packages are installed"

  title "Build"
  [ -f build/release/build.ninja ] || tools/configure.sh programs
  cmake --build --preset release --target troika
fi

exec $troika demo $run --steps "${STEPS:-700}"
