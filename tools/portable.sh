#!/usr/bin/env bash
# Builds troika for any Linux with glibc 2.28 or later: one program per architecture, third parties linked statically, compiled by zig's
# clang, with kernels for NVIDIA GPUs: build/portable/ARCHITECTURE/troika. The compiler and the sources are fetched once, each checked by its hash.
#
#   tools/portable.sh [x86_64|aarch64...]     (default: both)
#
# SOURCES: the folder with what is fetched (default: build/portable/sources); a copy that is kept beside a release builds it again
# without a network. Needs x86-64, and curl, unzip, python3 with pip, cmake, ninja, g++ and zstd: tools/install-packages.sh release.
set -euo pipefail
cd "$(dirname "$0")/.."

die() {
  echo "portable: $1" >&2
  exit 2
}
[ $# != 0 ] || set -- x86_64 aarch64
for architecture; do
  case $architecture in x86_64 | aarch64) ;; *) die "'$architecture' is neither x86_64 nor aarch64" ;; esac
done
[ "$(uname -m)" = x86_64 ] || die "the compiler that is fetched runs on x86-64"
for tool in curl unzip python3 cmake ninja g++ zstd; do command -v $tool > /dev/null || die "$tool is missing; tools/install-packages.sh release installs it"; done
folder=$PWD/build/portable
fetched=${SOURCES:-$folder/sources}
mkdir -p "$fetched" "$folder/unpacked" "$folder/zig"

debian=${DEBIAN_MIRROR:-http://deb.debian.org/debian}/pool/main
# NAME HASH ADDRESS
sources="
fmtlib 84ce1c2d0be3a9863935137969dcec6970125caac032f82474640bfc81463583 $debian/f/fmtlib/fmtlib_9.1.0+ds1.orig.tar.gz
spdlog 620ca6842b5c21014470bd42eb4716024674214fb973b5ffa3aaea33310ad327 $debian/s/spdlog/spdlog_1.10.0+ds.orig.tar.xz
yaml-cpp dc63708605404e0b963e0ca3a9619d1c8270eda2839603e6fa0384e5e51e5312 $debian/y/yaml-cpp/yaml-cpp_0.7.0+dfsg.orig.tar.xz
pcre2 c33b418e3b936ee3153de2c61cc638e7e4fe3156022a5c77d0711bcbb9d64f1f $debian/p/pcre2/pcre2_10.42.orig.tar.gz
utf8proc a0a60a79fe6f6d54e7d411facbfcc867a6e198608f2cd992490e46f04b1bcecc $debian/u/utf8proc/utf8proc_2.8.0.orig.tar.gz
xxhash 3bb6b7d6f30c591dd65aaaff1c8b7a5b94d81687998ca9400082c739a690436c $debian/x/xxhash/xxhash_0.8.1.orig.tar.gz
libsodium d59323c6b712a1519a5daf710b68f5e7fde57040845ffec53850911f10a5d4f4 $debian/libs/libsodium/libsodium_1.0.18.orig.tar.gz
zlib 71feb7947e3c00ef125f83b79a4e529bde31171e5babe48b391f06758d1ab0a1 $debian/z/zlib/zlib_1.2.13.dfsg.orig.tar.bz2
libzstd 8cf4bbb65e77ec348d052c8d6230eba66d435bddf64c8b5be2fcb16880c19953 $debian/libz/libzstd/libzstd_1.5.4+dfsg2.orig.tar.xz
highway 566fc77315878473d9a6bd815f7de78c73734acdcb745c3dde8579560ac5440e $debian/h/highway/highway_1.0.3.orig.tar.gz
nlohmann-json3 d69f9deb6a75e2580465c6c4c5111b89c4dc2fa94e3a85fcd2ffcd9a143d9273 $debian/n/nlohmann-json3/nlohmann-json3_3.11.2.orig.tar.gz
onednn 0cc51ca26c1af6a2bb1e71e378e7046f3ceb3e71791ee9d4e246d50f904a6ea6 $debian/o/onednn/onednn_3.7.2+ds.orig.tar.xz
"
# HASH PACKAGE==VERSION: packages of the Python registry, for the machine that builds. The compiler; then what makes device code for
# NVIDIA GPUs: CUDA 13's nvcc, and CUDA 12's ptxas, whose code drivers from 525 on take.
packages="
806316453d1ede7174ed3fefb8e5348154629089c3bb5fe812dfd0e172fac130 ziglang==0.15.2
56fe502eb77625a12f25172caa3cdddb4e4c8ba2c8c17dba44b164761b380f03 nvidia-cuda-nvcc==13.0.88
2c8043c7c9e02492716426e9919fc78d2c5b3b2a7a768a88e952676b08aa55a4 nvidia-cuda-crt==13.0.88
e0da7ad981f3a8aff08241b5bfc1af868742a63e2762f53a5171c492ef242649 nvidia-cuda-cccl==13.0.85
c5f41ffeb6466944a026dfa5317d7d85355c119bbec279205d22f1869d1054e0 nvidia-nvvm==13.0.88
7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548 nvidia-cuda-runtime==13.0.96
5d6a0d32fdc7ea39917c20065614ae93add6f577d840233237ff08e9a38f58f0 nvidia-cuda-nvcc-cu12==12.9.86
"

check() { # check HASH FILE
  echo "$1  $2" | sha256sum --check --quiet - || die "'$2' is not what was pinned; remove it and start again"
}
fetch() { # fetch HASH ADDRESS
  local file=$fetched/${2##*/}
  if [ ! -s "$file" ]; then
    curl -sfL --retry 3 -o "$file.part" "$2" || die "cannot fetch $2"
    mv "$file.part" "$file"
  fi
  check "$1" "$file"
}

while read -r name hash address; do
  [ -n "$name" ] || continue
  fetch "$hash" "$address"
  [ "$(cat "$folder/unpacked/$name.hash" 2> /dev/null || true)" != "$hash" ] || continue
  rm -rf "${folder:?}/unpacked/$name" && mkdir "$folder/unpacked/$name"
  tar -xf "$fetched/${address##*/}" -C "$folder/unpacked/$name" --strip-components=1
  echo "$hash" > "$folder/unpacked/$name.hash"
done <<< "$sources"

export VIRTUAL_ENV=$folder/environment  # where cmake/cuda.cmake looks
site_packages=$VIRTUAL_ENV/lib/python3/site-packages
mkdir -p "$site_packages"
while read -r hash package; do
  [ -n "$hash" ] || continue
  name=${package%%==*} version=${package##*==}
  wheel() { find "$fetched" -name "${name//-/_}-$version-*.whl" -print -quit; }
  [ -n "$(wheel)" ] || python3 -m pip download -q --no-deps --only-binary :all: "$package" -d "$fetched" || die "cannot fetch $package"
  check "$hash" "$(wheel)"
  [ ! -e "$site_packages/$name.hash" ] || [ "$(cat "$site_packages/$name.hash")" != "$hash" ] || continue
  unzip -qo "$(wheel)" -d "$site_packages"
  echo "$hash" > "$site_packages/$name.hash"
done <<< "$packages"
chmod +x "$site_packages/ziglang/zig" "$site_packages"/nvidia/*/bin/* "$site_packages"/nvidia/*/nvvm/bin/*
export ZIG_GLOBAL_CACHE_DIR=$folder/zig/cache
tool() { # tool NAME ARGUMENTS: a program of the compiler under a name of its own
  printf '#!/bin/sh\nexec "%s/ziglang/zig" %s "$@"\n' "$site_packages" "$2" > "$folder/zig/$1"
  chmod +x "$folder/zig/$1"
}
tool ar ar
tool ranlib ranlib
for architecture; do
  tool "$architecture-C" "cc -target $architecture-linux-gnu.2.28"
  tool "$architecture-CXX" "c++ -target $architecture-linux-gnu.2.28"
  preset=portable
  [ "$architecture" = x86_64 ] || preset=portable-$architecture
  cmake --preset $preset > "$folder/$architecture.log" 2>&1 || { tail -n 30 "$folder/$architecture.log" >&2 && die "configuring failed"; }
  cmake --build --preset $preset --target troika
  tools/floor.sh "$folder/$architecture/troika"
done
