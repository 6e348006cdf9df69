#!/usr/bin/env bash
# Tries the files of a release (tools/release.sh) as their users do: below what floor they are, then in roots that hold nothing of Troika,
# without a network but the loopback. In each: installed, `troika demo` with three processes, eval, chat, export; removed without a trace.
# One line per check, then "N failed".
#
#   tools/release-check.sh [FOLDER [WHAT...]]     (default: build/release-files, all)
#
#   files      floor, sizes, bytes as in SHA256SUMS, links of the documents, what pip and dpkg say of them
#   bare       the archive in a root that holds a shell and glibc alone
#   bullseye bookworm trixie    archive, wheel (in a venv) and package in Debian 11, 12 and 13, made by debootstrap
#   kernel     archive on a kernel that answers as 4.18 does: no pidfd_open, no close_range and no newer call
#   arm64      package in a Debian 12 for arm64, each process imitated by qemu
#   image      the image's root, and podman's build of it where podman is installed
#
# Losses of all roots have the same bits, and those of build/release/troika where that is built. Needs root, debootstrap and a mirror.
# STEPS (default 70) are the demo's; on arm64 21. ROOTS: a folder where fresh roots are kept (default: build/roots).
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")/.." && pwd)
release=$(cd "${1:-$here/build/release-files}" 2> /dev/null && pwd) || { echo "release-check: there is no folder '${1:-build/release-files}'; tools/release.sh makes it" >&2 && exit 2; }
[ $# -gt 1 ] && what=("${@:2}") || what=(files bare bullseye bookworm trixie kernel arm64 image)
roots=${ROOTS:-$here/build/roots}
steps=${STEPS:-70}

die() {
  echo "release-check: $1" >&2
  exit 2
}
[ "$(id -u)" = 0 ] || die "chroot needs root; run it with sudo"
for tool in unshare chroot ip debootstrap readelf; do
  command -v $tool > /dev/null || die "$tool is missing; tools/install-packages.sh release installs it"
done
version=$(sed -n 's/^project(troika VERSION \([0-9.]*\).*/\1/p' "$here/CMakeLists.txt")
[ -f "$release/troika-$version-linux-x86_64.tar.xz" ] || die "'$release' has no troika-$version-linux-x86_64.tar.xz; tools/release.sh makes it"
mkdir -p "$roots"
work=$(mktemp -d "$roots/check-XXXXXX")
# shellcheck source=tools/arm64-parts.sh
. "$here/tools/arm64-parts.sh"
trap 'rm -rf "$work"; stop_imitating' EXIT
trap 'exit 130' INT TERM HUP

failed=0
check() { # check TEXT COMMAND...
  local begin=$SECONDS
  if "${@:2}" > "$work/out" 2>&1; then
    echo "ok    $1 ($((SECONDS - begin)) s)$(sed -n 's/^figure: /; /p' "$work/out" | tr -d '\n')"
  else
    echo "FAIL  $1" && tail -n 25 "$work/out" | sed 's/^/      | /' && failed=$((failed + 1))
  fi
}

files() { # everything in a root but what keeps changing
  (cd "$1" && find . -xdev \( -path ./proc -o -path ./root -o -path ./tmp -o -path ./var/lib/dpkg -o -path ./var/cache -o -path ./var/log -o -path ./trial \) -prune -o -print | sort)
}

# within ROOT SCRIPT: as /bin/sh -e runs it in a copy of nothing but ROOT: own processes, mounts and network, the loopback alone.
within() {
  cp "$here/tools/release-trial.sh" "$1/trial/"
  printf '%s\n' "$2" > "$1/trial/run.sh"
  # shellcheck disable=SC2016
  unshare --mount --pid --net --uts --fork bash -c '
    ip link set lo up
    mount -t proc proc "$1/proc"
    mkdir -p "$1/dev/shm"
    for device in null zero random urandom; do
      [ -e "$1/dev/$device" ] || : > "$1/dev/$device"
      mount --bind "/dev/$device" "$1/dev/$device"
    done
    exec ${3:+"$3"} chroot "$1" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive STEPS="$2" OMP_NUM_THREADS=1 \
      ${QEMU_CPU:+QEMU_CPU=$QEMU_CPU} /bin/sh -e /trial/run.sh' bash "$1" "$steps" "${kernel:-}"
}

bits() { # bits ROOT NAME: keeps the losses of the demo, which every other root must have
  sed -n 's/.*"loss_bits": *"\([^"]*\)".*/\1/p' "$1/trial/run/run/metrics.jsonl" > "$work/bits.$2"
  [ "$(wc -l < "$work/bits.$2")" -gt 20 ] || { echo "no losses" && return 1; }
  if [ -f "$work/bits" ]; then cmp "$work/bits" "$work/bits.$2"; else cp "$work/bits.$2" "$work/bits"; fi
}

fresh() { # fresh SUITE ARCHITECTURE: a root of this Debian, made once and copied
  local kept=$roots/$1-$2
  rm -rf "$work/root"
  if [ ! -f "$kept/etc/debian_version" ]; then
    rm -rf "$kept"
    debootstrap --arch="$2" --variant=minbase --include=python3-venv,python3-pip,xz-utils "$1" "$kept" > "$kept.log" 2>&1 || { tail "$kept.log" && return 1; }
    rm -rf "$kept"/var/cache/apt/archives/*.deb
  fi
  cp -a "$kept" "$work/root"
}
put() { # put FILE...: into the root
  mkdir -p "$work/root/trial"
  cp "${@/#/$release/}" "$here/tools/release-trial.sh" "$work/root/trial/"
  rm -rf "$work/root/trial/text" && cp -rL "$here/docs/guides" "$work/root/trial/text"
}

archive=troika-$version-linux-x86_64.tar.xz wheel=troika_train-$version-py3-none-manylinux_2_28_x86_64.whl
trial_of_archive="mkdir -p /opt/troika && tar -C /opt/troika --strip-components 1 -xf /trial/$archive && /trial/release-trial.sh /opt/troika/bin/troika"

floors() {
  local file files
  files=$(ls "$release"/troika* | grep -v troika_train_cuda)  # which names libraries and holds no program
  rm -rf "$work/unpacked"
  for file in $files; do
    mkdir -p "$work/unpacked/$(basename "$file")"
    case $file in
      *.tar.?z) tar -C "$work/unpacked/$(basename "$file")" -xf "$file" ;;
      *.whl) (cd "$work/unpacked/$(basename "$file")" && python3 -m zipfile -e "$file" . && chmod +x ./*/scripts/troika) ;;
      *.deb) dpkg-deb -x "$file" "$work/unpacked/$(basename "$file")" ;;
    esac
  done
  find "$work/unpacked" -name troika -type f -path '*/bin/*' -o -name troika -type f -path '*/scripts/*' > "$work/programs"
  [ "$(wc -l < "$work/programs")" = "$(wc -w <<< "$files")" ] || { cat "$work/programs" && return 1; }
  xargs "$here/tools/floor.sh" < "$work/programs"
  echo "figure: $(wc -l < "$work/programs") files, one program in each"
}
sizes() {
  local small large
  large=$(stat -c %s "$release/$archive") small=$(stat -c %s "$release/troika-$version-linux-aarch64.tar.xz" 2> /dev/null || echo 0)
  echo "figure: archive $((large / 1024)) KiB on x86-64, $((small / 1024)) on arm64"
  [ "$large" -le 14000000 ] && [ "$small" -le 6000000 ]
}
needs() {
  local file
  for file in "$release"/troika_*.deb; do
    [ "$(dpkg-deb -f "$file" Depends)" = "libc6 (>= 2.28)" ] || { dpkg-deb -f "$file" && return 1; }
  done
}
try_files() {
  check "every file is as it was made" sh -c "cd '$release' && sha256sum --quiet -c SHA256SUMS"
  check "every program in them is below the floor" floors
  check "archives are small enough" sizes
  check "packages need libc6 alone" needs
  ! command -v auditwheel > /dev/null || check "auditwheel" sh -c "for file in '$release'/*x86_64.whl; do auditwheel show \"\$file\" | tee /dev/stderr | tr '\n' ' ' | grep -q 'consistent with the following platform tag: *.manylinux_2_2[0-8]_x86_64'; done"
  check "links of the documents" sh -c "'$here/tools/check_links.sh' '$work/unpacked/$archive/troika-$version-linux-x86_64/share/doc/troika'"
}

bare_root() { # Debian's shell tools and glibc alone
  local root=$work/root folder files
  rm -rf "$root"
  mkdir -p "$root"/usr/{bin,sbin,lib,lib64,local} "$root"/{dev,proc,tmp,root,work}
  for folder in bin sbin lib lib64; do ln -s usr/$folder "$root/$folder"; done
  files=$({ dpkg-query -L bash coreutils dash findutils gawk grep libc-bin libc6 mawk sed tar xz-utils 2> /dev/null || [ $? = 1 ]; } |
    grep -E '^/(usr/)?(bin|sbin|lib|lib64)/' | while read -r file; do [ ! -f "$file" ] && [ ! -L "$file" ] || echo "$file"; done)
  { echo "$files" && while read -r file; do { ldd "$file" 2> /dev/null || [ $? = 1 ]; } | awk '$2 == "=>" { print $3 }'; done < <(grep -E '/s?bin/' <<< "$files") |
    sort -u | while read -r file; do echo "$file" && readlink -f "$file"; done; } | sort -u | tar -C / -cf - --no-recursion -T - 2> /dev/null | tar -C "$root" -xf -
  [ -e "$root/usr/bin/awk" ] || ln -s mawk "$root/usr/bin/awk"
  ln -sf dash "$root/usr/bin/sh"
  ! find "$root" -name 'libstdc++*' -o -name 'libgcc_s*' -o -name 'libgomp*' | grep .
}
try_bare() {
  check "a root with a shell and glibc alone" bare_root
  put "$archive"
  check "bare: the archive" within "$work/root" "$trial_of_archive"
  check "bare: its losses" bits "$work/root" bare
  check "bare: without /dev/shm, /usr/local and a text of the machine" within "$work/root" "mkdir /away && tar -C /away -xf /trial/$archive && rmdir /dev/shm && cd /tmp &&
    /away/troika-*/bin/troika demo here --steps 21 | tee out && grep -q 'licenses of Troika' out"
}

try_debian() { # try_debian SUITE
  check "$1: debootstrap" fresh "$1" amd64
  [ -d "$work/root" ] || return 0
  files "$work/root" > "$work/before"
  put "$archive" "$wheel" "troika_${version}_amd64.deb"
  check "$1: the archive" within "$work/root" "$trial_of_archive"
  check "$1: its losses" bits "$work/root" "$1.archive"
  rm -rf "$work/root/opt/troika"
  check "$1: the wheel, offline into a venv" within "$work/root" "cd /trial && python3 -m venv venv && venv/bin/pip install --no-index $wheel && ./release-trial.sh /trial/venv/bin/troika && venv/bin/pip uninstall -y troika-train && ! find venv | grep -i troika"
  check "$1: its losses" bits "$work/root" "$1.wheel"
  check "$1: the package" within "$work/root" "dpkg -i /trial/troika_*.deb && /trial/release-trial.sh /usr/bin/troika && test -s /usr/share/bash-completion/completions/troika && test -s /usr/share/man/man1/troika-train.1.gz"
  check "$1: its losses" bits "$work/root" "$1.package"
  check "$1: a higher version over it, purged" within "$work/root" "cd /trial && dpkg-deb -R troika_*.deb higher && sed -i 's/^Version: .*/Version: 9.0/' higher/DEBIAN/control && dpkg-deb -Znone -b higher higher.deb &&
    dpkg -i higher.deb && troika version && dpkg --purge troika"
  files "$work/root" > "$work/after"
  check "$1: nothing of it is left" diff "$work/before" "$work/after"
}

try_kernel() {
  check "bookworm: debootstrap" fresh bookworm amd64
  put "$archive"
  check "kernel: a filter of calls newer than Linux 4.18" gcc -O1 -o "$work/old-kernel" "$here/tools/old-kernel.c"
  kernel=$work/old-kernel check "kernel 4.18: the archive" within "$work/root" "$trial_of_archive"
  check "kernel 4.18: its losses" bits "$work/root" kernel
}

try_arm64() {
  local steps=21 native=$work/native
  check "arm64: qemu" imitate_arm64
  check "arm64: debootstrap" fresh bookworm arm64
  put "troika_${version}_arm64.deb" "troika_train-$version-py3-none-manylinux_2_28_aarch64.whl"
  # As a Raspberry Pi 4. Qemu has no process_vm_readv, so ranks speak over loopback.
  QEMU_CPU=cortex-a72 check "arm64: the package" within "$work/root" "dpkg -i /trial/troika_*.deb && /trial/release-trial.sh /usr/bin/troika"
  check "arm64: the wheel" within "$work/root" "cd /trial && python3 -m venv venv && venv/bin/pip install --no-index ./*.whl && venv/bin/troika version"
  mkdir -p "$native" && tar -C "$native" --strip-components 1 -xf "$release/$archive" && cp -r "$work/root/trial/text" "$native/"
  check "x86-64: the same demo" env OMP_NUM_THREADS=1 "$native/bin/troika" demo "$native/run" --text "$native/text" --steps "$steps"
  check "arm64: its losses, and on x86-64" near "$work/root/trial/run/run/metrics.jsonl" "$native/run/run/metrics.jsonl"
}
# Products are oneDNN's on x86-64 and our own on arm64: equal bits where no sum is cut (docs/reproducibility.md), else within 1e-4.
near() {
  python3 - "$@" << 'END'
import json, sys
one, other = ([json.loads(line) for line in open(path)] for path in sys.argv[1:])
one, other = ([row for row in rows if "loss" in row] for rows in (one, other))
equal = sum(a["loss_bits"] == b["loss_bits"] for a, b in zip(one, other))
most = max(abs(a["loss"] / b["loss"] - 1) for a, b in zip(one, other))
print(f"figure: {equal} of {len(one)} with equal bits, largest difference {most:.1e}")
sys.exit(len(one) != len(other) or len(one) < 20 or most > 1e-4)
END
}

try_image() {
  rm -rf "$work/root" && mkdir -p "$work/root"
  check "image: its root" tar -C "$work/root" -xf "$release/troika-$version-image-x86_64.tar.gz"
  # shellcheck disable=SC2016
  check "image: trains as a user without rights" unshare --mount --pid --net --uts --fork bash -c '
    ip link set lo up; mount -t proc proc "$1/proc"
    : > "$1/dev/null"; mount --bind /dev/null "$1/dev/null"; : > "$1/dev/urandom"; mount --bind /dev/urandom "$1/dev/urandom"
    exec chroot --userspec 1000:1000 "$1" /usr/bin/troika demo /runs/demo --steps 21' bash "$work/root"
  ! command -v podman > /dev/null || check "image: podman builds and runs it" sh -c "cd '$release' && podman build -q --build-arg IMAGE=troika-$version-image-x86_64.tar.gz -t troika-check . && podman run --rm --network none troika-check version && podman rmi troika-check"
}

if [ -x "$here/build/release/troika" ]; then
  mkdir -p "$work/built/trial" && cp -rL "$here/docs/guides" "$work/built/trial/text"
  check "the program of build/release" env STEPS="$steps" OMP_NUM_THREADS=1 "$here/tools/release-trial.sh" "$here/build/release/troika" "$work/built/trial"
  check "its losses" bits "$work/built" built
fi
for one in "${what[@]}"; do
  case $one in
    files | bare | kernel | arm64 | image) "try_$one" ;;
    bullseye | bookworm | trixie) try_debian "$one" ;;
    *) die "'$one' is nothing that this script tries" ;;
  esac
done
echo "$failed failed"
exit "$((failed > 0))"
