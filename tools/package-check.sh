#!/usr/bin/env bash
# Installs packages (tools/package.sh) into a fresh Debian 12 of its own, trains there in two layouts, upgrades, and removes them.
# One line per check; fails when one does.
#
#   tools/package-check.sh [FOLDER_OF_PACKAGES [ROOT]]     (default: build/packages; ROOT: a root that debootstrap made)
#
# STEPS (default 20) are those of the training, QUICKSTART_STEPS (default 70) those of quickstart.sh. Needs root, debootstrap, and a
# Debian mirror; nothing of this machine is mounted into the root but /proc. The root is copied, not changed; the copy vanishes.
# Packages for arm64 are checked on another machine by qemu (tools/arm64-parts.sh), 10 to 30 times slower, with 5 and 21 steps.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")/.." && pwd)
given=${2:-}

die() {
  echo "package-check: $1" >&2
  exit 2
}
packages=$(cd "${1:-$here/build/packages}" 2> /dev/null && pwd) || die "there is no folder '${1:-build/packages}'; tools/package.sh makes it"
[ "$(id -u)" = 0 ] || die "chroot needs root; run it with sudo"
files=$(ls "$packages"/troika_*.deb 2> /dev/null) || die "'$packages' has no packages; tools/package.sh makes them"

architecture=$(dpkg-deb -f "$(head -n 1 <<< "$files")" Architecture)
# shellcheck source=tools/arm64-parts.sh
. "$here/tools/arm64-parts.sh"
if [ "$architecture" != "$(dpkg --print-architecture)" ]; then
  [ "$architecture" = arm64 ] || die "the packages are for $architecture, which is not imitated here"
  STEPS=${STEPS:-5} QUICKSTART_STEPS=${QUICKSTART_STEPS:-21}
  imitate_arm64
fi

work=$(mktemp -d "$packages/../troika-root-XXXXXX")
root=$work/root
leave() {
  ! mountpoint -q "$root/proc" || umount "$root/proc"
  rm -rf "$work"
  stop_imitating
}
trap leave EXIT
trap 'exit 130' INT TERM HUP

if [ -n "$given" ]; then
  cp -a "$given" "$root"
else
  debootstrap --arch="$architecture" --variant=minbase bookworm "$root" > "$work/debootstrap.log" 2>&1 || { tail "$work/debootstrap.log" && die "debootstrap failed"; }
fi
# shellcheck disable=SC2086
cp $files "$root/root/"
cp "$here/quickstart.sh" "$root/root/"
cp /etc/resolv.conf "$root/etc/"
mount -t proc proc "$root/proc"

cat > "$root/root/check.sh" << 'END_OF_CHECK'
cd /root
failures=0
check() { # check TEXT COMMAND...
  local begin=$SECONDS
  if "${@:2}" > out.text 2>&1; then
    echo "ok    $1 ($((SECONDS - begin)) s)"
  else
    echo "FAIL  $1" && tail -n 20 out.text | sed 's/^/      | /' && failures=$((failures + 1))
  fi
}
files() { find / -xdev \( -path /proc -o -path /root -o -path /var/lib/apt -o -path /var/lib/dpkg -o -path /var/cache -o -path /var/log -o -path /tmp \) -prune -o -print | sort; }
common="--data.train tokens --data.tokenizer tokenizer --out run --seed 1 --seq-len 64 --micro-batch-size 1 --global-batch-size 6
  --model.layers 3 --model.hidden 64 --model.heads 2 --model.kv-heads 1 --model.head-dim 32 --model.ffn 128 --train.threads 1"
install_packages() { apt-get update -qq && apt-get install -y -qq --no-install-recommends man-db ./troika_*.deb; }
pages() {
  local page
  for page in troika troika-train; do
    MANPAGER=cat man --warnings "$page" > page.text 2> page.warnings && grep -q "^NAME" page.text && ! grep . page.warnings || return 1
  done
}
tokens() { troika data tokenizer /usr/share/common-licenses --vocab 512 --out tokenizer && troika data prepare /usr/share/common-licenses --tokenizer tokenizer --out tokens; }
pipeline() { troika launch --nproc-per-node 3 -- train --pp 3 --steps "$STEPS" $common; }
data_parallel() { troika launch --nproc-per-node 2 -- train --dp 2 --steps $((STEPS + 5)) $common && grep -q "resumed from step $STEPS" out.text; }
higher_version() { # the same programs, packaged as 9.0
  local file
  for file in troika_*.deb; do
    rm -rf unpacked && dpkg-deb -R "$file" unpacked &&
      sed -i -E -e 's/^Version: .*/Version: 9.0/' -e 's/(troika(-engine)?) \(= [^)]*\)/\1 (= 9.0)/' unpacked/DEBIAN/control &&
      dpkg-deb --root-owner-group -Znone -b unpacked "upgrade-${file%%_*}.deb" || return 1
  done
  rm -rf unpacked
  apt-get install -y -qq ./upgrade-troika.deb && dpkg-query -W troika | grep -q 9.0
}
after_upgrade() {
  troika launch --nproc-per-node 2 -- train --dp 2 --steps $((STEPS + 10)) $common && grep -q "resumed from step $((STEPS + 5))" out.text
}
purge() { apt-get purge -y -qq troika; }
# The libraries that apt fetched stay for both lists: what is compared is what the two packages leave.
list_without() { purge && files > before.list && apt-get install -y -qq ./troika_*.deb; }
purged() { purge && files > after.list && diff before.list after.list && ! grep -i troika after.list; }
check "apt installs the packages and what they need" install_packages
check "purged and installed again" list_without
check "troika answers" troika help
check "completions are there" test -s /usr/share/bash-completion/completions/troika
check "man troika, man troika-train, without a warning" pages
check "tokenizer and tokens of the licences" tokens
check "three processes as a pipeline" pipeline
check "two data-parallel continue its checkpoint" data_parallel
check "a sample" troika generate run --prompt "Permission is " --max-new-tokens 20
check "troika demo" troika demo runs/quickstart --steps "$QUICKSTART_STEPS"
grep "^first step" out.text
check "quickstart.sh takes the packages and finds its run trained" env STEPS="$QUICKSTART_STEPS" ./quickstart.sh
check "a higher version is installed over it" higher_version
check "the run goes on" after_upgrade
check "purged, it leaves no file" purged
exit $failures
END_OF_CHECK

status=0
dpkg-deb -x "$(ls "$packages"/troika_*.deb)" "$work/unpacked"
links=$("$here/tools/check_links.sh" "$work/unpacked/usr/share/doc/troika") && echo "ok    links of the documents: $links" || { echo "FAIL  links of the documents" && echo "$links" && exit 1; }
chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive \
  STEPS="${STEPS:-20}" QUICKSTART_STEPS="${QUICKSTART_STEPS:-70}" OMP_NUM_THREADS=1 /bin/bash /root/check.sh || status=$?
[ "$status" = 0 ] && echo "package-check: all of it works in a fresh root" || echo "package-check: $status checks failed"
exit "$status"
