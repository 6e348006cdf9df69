#!/bin/sh
# Installs the Debian packages that building, running and testing need; does nothing when all are there.
#   tools/install-packages.sh [build|quick|test|cuda|release|arm64|clusters]
#       quick adds what ./test.sh quick uses, test what all tests use; cuda: what cuda-tools.sh needs; release: what portable.sh, release.sh and release-check.sh need; arm64: what compiling for and
#       imitating arm64 needs; clusters: what proofs/slurm.sh and proofs/mpi.sh start
#   tools/install-packages.sh list MACHINE         prints what a build needs on a MACHINE as uname -m calls it, and GoogleTest
set -eu
kind=${1:-build}
machine=$(uname -m)
[ "$kind" != list ] || machine=$2

packages="g++ cmake ninja-build ccache pkg-config libfmt-dev nlohmann-json3-dev
  libyaml-cpp-dev libspdlog-dev libpcre2-dev libutf8proc-dev libxxhash-dev libsodium-dev libhwy-dev zlib1g-dev libzstd-dev"
[ "$machine" != x86_64 ] || packages="$packages libdnnl-dev"
if [ "$kind" = list ]; then
  echo $packages libtorch-dev libopenblas0-pthread libgtest-dev libgmock-dev
  exit 0
fi
[ "$kind" != quick ] || packages="$packages libtorch-dev libopenblas0-pthread libgtest-dev libgmock-dev patch"
[ "$kind" != arm64 ] || packages="g++-aarch64-linux-gnu qemu-user-static ninja-build cmake ccache pkg-config"
[ "$kind" != clusters ] || packages="slurmctld slurmd slurm-client munge openmpi-bin mpich iproute2 util-linux jq procps"
if [ "$kind" = test ]; then
  packages="$packages libtorch-dev libopenblas0-pthread libgtest-dev libgmock-dev gettext iproute2 util-linux jq openmpi-bin procps patch clang-14 libclang-rt-14-dev python3-torch
    chromium chromium-driver fonts-wqy-microhei help2man man-db mandoc zsh fish python3"
  command -v node >/dev/null && command -v npm >/dev/null || packages="$packages nodejs npm"
fi
[ "$kind" != cuda ] || packages="python3 python3-venv g++ zstd"
[ "$kind" != release ] || packages="curl help2man unzip python3 python3-pip cmake ninja-build xz-utils zstd binutils g++ libc6-dev qemu-user-static debootstrap iproute2 util-linux"

missing=
for package in $packages; do
  case $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true) in
    *"ok installed") ;;
    *) missing="$missing $package" ;;
  esac
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || { echo "these Debian packages are missing, and neither root nor sudo is there to install them:$missing" >&2; exit 1; }
  as_root=sudo
fi
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -qq
# shellcheck disable=SC2086
$as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
