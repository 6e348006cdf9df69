#!/usr/bin/env bash
# Runs a bundle (tools/bundle.sh) where nothing is installed: a root that holds Debian's shell tools and glibc alone, without
# a network but the loopback. One line per check; fails when one does.
#
#   tools/bundle-check.sh [BUNDLE [ROOT]]     (default: build/bundle; ROOT: a root that is there, as debootstrap makes it)
#
# STEPS (default 70) are quickstart's. Needs root, unshare and ip. The bundle is linked, not changed; the root that this makes
# vanishes with it.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")/.." && pwd)
bundle=$(cd "${1:-$here/build/bundle}" && pwd) || exit 2
given=${2:-}

die() {
  echo "bundle-check: $1" >&2
  exit 2
}
[ "$(id -u)" = 0 ] || die "chroot needs root; run it with sudo"
[ -f "$bundle/MANIFEST" ] || die "'$bundle' is no bundle; tools/bundle.sh makes one"
for tool in unshare chroot ip; do
  command -v $tool > /dev/null || die "$tool is missing; install util-linux, coreutils and iproute2"
done

work=$(mktemp -d "$(dirname "$bundle")/troika-bare-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

files_of() { # what the packages have in bin and lib, and the libraries that their programs load
  local files
  files=$({ dpkg-query -L "$@" 2> /dev/null || [ $? = 1 ]; } | grep -E '^/(usr/)?(bin|sbin|lib|lib64)/' | while read -r file; do
    if [ -f "$file" ] || [ -L "$file" ]; then echo "$file"; fi
  done)
  echo "$files"
  while read -r file; do
    { ldd "$file" 2> /dev/null || [ $? = 1 ]; } | awk '$2 == "=>" { print $3 }' # 1: no program, or a static one
  done < <(grep -E '/s?bin/' <<< "$files") | sort -u | while read -r file; do echo "$file" && readlink -f "$file"; done
}

bare_root() { # bare_root FOLDER
  mkdir -p "$1"/usr/{bin,sbin,lib,lib64} "$1"/{dev,proc,tmp,opt,root}
  for folder in bin sbin lib lib64; do ln -s usr/$folder "$1/$folder"; done
  files_of bash coreutils dash findutils gawk grep gzip libc-bin libc6 mawk sed | sort -u |
    tar -C / -cf - --no-recursion -T - 2> /dev/null | tar -C "$1" -xf -
  [ -e "$1/usr/bin/awk" ] || ln -s mawk "$1/usr/bin/awk"
  [ -e "$1/usr/bin/sh" ] || ln -s dash "$1/usr/bin/sh"
}

if [ -n "$given" ]; then
  root=$(cd "$given" && pwd)
else
  root=$work/root
  bare_root "$root"
  strangers=$(find "$root" -name 'libstdc++*' -o -name 'libgcc_s*' -o -name 'libgomp*' -o -name 'libtorch*' -o -name 'libfmt*')
  [ -z "$strangers" ] || die "the bare root is not bare: $(xargs <<< "$strangers")"
fi
place=$root/opt/troika-bundle
rm -rf "$place"
mkdir -p "$root/opt"
cp -al "$bundle" "$place" 2> /dev/null || { rm -rf "$place" && cp -a "$bundle" "$place"; }
rm -rf "$place/runs"

cat > "$place/check.sh" << 'END'
cd "$(dirname "$0")"
failures=0
check() { # check TEXT COMMAND...
  if "${@:2}" > out.text 2>&1; then
    echo "ok    $1"
  else
    echo "FAIL  $1" && sed 's/^/      | /' out.text && failures=$((failures + 1))
  fi
}
falls() { awk '/^first step/ { exit !($3 - 0.5 > $6) }' quickstart.text; }
talks() { printf 'Who may copy this?\nAnd sell it?\n' | bin/troika chat runs/quickstart/run --chat-template chatml --max-new-tokens 20 > chat.text && [ "$(wc -l < chat.text)" -ge 2 ]; }
run=runs/quickstart
check "every file is as it was packed" sha256sum --quiet -c MANIFEST
check "troika answers" bin/troika help
begin=$SECONDS
check "quickstart.sh: three processes as a pipeline, two data-parallel, timelines, a text" bash -o pipefail -c './quickstart.sh 2>&1 | tee quickstart.text'
echo "      $((SECONDS - begin)) s; $(grep '^first step' quickstart.text)"
check "the loss has fallen by more than 0.5" falls
check "troika eval" bin/troika eval $run/run --data.valid LICENSE --seq-len 128
check "troika chat answers lines of a pipe" talks
check "troika export" bin/troika export $run/run $run/exported
check "troika generate reads what export wrote" bin/troika generate $run/exported --prompt "Permission is " --max-new-tokens 20
exit $failures
END

status=0
# shellcheck disable=SC2016
unshare --mount --pid --net --uts --fork bash -c '
  ip link set lo up
  mount -t proc proc "$1/proc"
  for device in null zero random urandom; do
    [ -e "$1/dev/$device" ] || : > "$1/dev/$device"
    mount --bind "/dev/$device" "$1/dev/$device"
  done
  exec chroot "$1" /usr/bin/env -i PATH=/usr/bin:/bin HOME=/root STEPS="$2" OMP_NUM_THREADS="$3" \
    /bin/bash /opt/troika-bundle/check.sh' bash "$root" "${STEPS:-70}" "${OMP_NUM_THREADS:-1}" || status=$?
rm -rf "$place"
[ "$status" = 0 ] && echo "bundle-check: all of it works in a bare root" || echo "bundle-check: $status checks failed"
exit "$status"
