#!/usr/bin/env bash
# Makes the Debian package of a built program, for its architecture (build/arm64: that of preset arm64).
#
#   tools/package.sh [FOLDER [FOLDER_WITH_TROIKA]]     (default: build/packages, build/release)
#
# The same sources make the same bytes in any folder: debug information is left out, programs have no build id, and dates are those of
# the last commit (or SOURCE_DATE_EPOCH). The version is that of packaging/debian/changelog.
# Needs dpkg-dev, binutils and chrpath: tools/install-packages.sh package.
set -euo pipefail
export LC_ALL=C TZ=UTC
umask 022
root=$(cd "$(dirname "$0")/.." && pwd)
target=${1:-$root/build/packages}

die() {
  echo "package: $1" >&2
  exit 2
}
# shellcheck source=tools/bundle-parts.sh
. "$root/tools/bundle-parts.sh"
for tool in dpkg-deb dpkg-shlibdeps dpkg-gencontrol strip chrpath; do
  command -v $tool > /dev/null || die "$tool is missing; tools/install-packages.sh package installs them"
done
programs=$(cd "${2:-$root/build/release}" 2> /dev/null && pwd) || die "there is no folder '${2:-build/release}'; build the programs first: cmake --build --preset release"
check_programs "$programs" "cmake --build --preset release" troika
machine_of "$programs/troika" "$root"
export DEB_HOST_ARCH=$architecture
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
  SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct) || die "this is no git checkout; set SOURCE_DATE_EPOCH"
fi
export SOURCE_DATE_EPOCH
mkdir -p "$target"
target=$(cd "$target" && pwd)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$root/packaging/debian" "$work/debian"
cd "$work"

mkdir -p troika/usr/bin troika/lib/systemd/system
"${prefix}strip" --strip-unneeded --remove-section=.comment -o troika/usr/bin/troika "$programs/troika"
chrpath --delete troika/usr/bin/troika > /dev/null
install -m 644 debian/troika@.service troika/lib/systemd/system/

troika=$programs/troika
completions() { # completions SHELL FILE
  mkdir -p "troika/usr/share/$(dirname "$2")"
  run_program "$troika" completion "$1" > "troika/usr/share/$2"
}
completions bash bash-completion/completions/troika
completions zsh zsh/vendor-completions/_troika
completions fish fish/vendor_completions.d/troika.fish

run_program "$troika" manual --out troika/usr/share/man
gzip -9n troika/usr/share/man/man1/*.1

documents=troika/usr/share/doc/troika
mkdir -p "$documents"
cp debian/copyright "$documents/"
gzip -9n < debian/changelog > "$documents/changelog.gz"
documents_into "$documents" "$root" troika
ln -s copyright troika/usr/share/doc/troika/LICENSE
mkdir -p troika/etc/troika # settings of runs as services

# dpkg-shlibdeps asks dpkg's database for the packages of files as it finds them, so for another machine that has its root in their
# names.
from=()
if [ -n "$libraries_root" ]; then
  cp -r "$libraries_root/var/lib/dpkg" "$work/database"
  sed -i "s#^/#$libraries_root/#" "$work"/database/info/*.list
  from=("--admindir=$work/database" "-l$libraries_root/lib/aarch64-linux-gnu" "-l$libraries_root/usr/lib/aarch64-linux-gnu")
fi
dpkg-shlibdeps "${from[@]}" -Tdebian/substvars -etroika/usr/bin/troika
mkdir -p troika/DEBIAN
(cd troika && find . -path ./DEBIAN -prune -o -type f -printf '%P\n' | sort | xargs -d '\n' md5sum) > "$work/sums"
mv "$work/sums" troika/DEBIAN/md5sums
dpkg-gencontrol -ptroika -Ptroika -Tdebian/substvars -fdebian/files
find troika -type d -exec chmod 755 {} +
find troika -type f ! -path '*/usr/bin/*' -exec chmod 644 {} +
find troika -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group -Zxz --build troika "$target"
