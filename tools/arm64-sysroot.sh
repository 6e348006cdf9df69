#!/bin/sh
# Unpacks Debian's arm64 packages that Troika is compiled against and tested with, for the preset `arm64` and for
# qemu-aarch64-static -L, or others. Nothing is installed on this machine but the cross compiler and qemu (tools/install-packages.sh
# arm64); apt keeps its lists and the packages in FOLDER.apt. Does nothing when FOLDER is complete.
#   tools/arm64-sysroot.sh [FOLDER [PACKAGE...]]      FOLDER: build/arm64-sysroot
set -eu
cd "$(dirname "$0")/.."
folder=${1:-build/arm64-sysroot}
suite=bookworm
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
[ $# = 0 ] || shift

# What tools/install-packages.sh installs on a machine with arm64, and the compiler's own libraries. libtorch-dev, for the tests, is
# not Multi-Arch, so dpkg could not have it beside the host's.
packages=$*
if [ -z "$packages" ]; then
  tools/install-packages.sh arm64
  packages="libc6-dev libstdc++-12-dev libgcc-12-dev linux-libc-dev $(tools/install-packages.sh list aarch64 | tr ' ' '\n' | grep -v -x -E 'g\+\+|cmake|ninja-build|ccache|pkg-config')"
fi
wanted="3 $suite $packages"
[ "$(cat "$folder/complete" 2>/dev/null || true)" != "$wanted" ] || exit 0

mkdir -p "$folder" "$folder.apt"
folder=$(cd "$folder" && pwd)
apt=$(cd "$folder.apt" && pwd)
mkdir -p "$apt/etc" "$apt/lists/partial" "$apt/archives/partial" "$apt/state"
: > "$apt/state/status"
for of in "$suite" "$suite-updates"; do
  echo "deb [arch=arm64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $of main"
done > "$apt/etc/sources.list"
cat > "$apt/apt.conf" <<END
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Acquire::Languages "none";
Dir::Etc "$apt/etc";
Dir::State "$apt/state";
Dir::State::status "$apt/state/status";
Dir::State::lists "$apt/lists";
Dir::Cache "$apt";
Dir::Cache::archives "$apt/archives";
END
export APT_CONFIG="$apt/apt.conf"
apt-get -qq update
# Of what the packages depend on only libraries and headers serve a program; interpreters, scripts and fonts do not.
# shellcheck disable=SC2086
apt-get -qq --simulate install $packages | sed -n 's/^Inst \([^ :]*\).*/\1/p' |
  grep -v -x -E 'adduser|bash|dash|debconf|dpkg|perl.*|python3.*|cmake.*|passwd|tar|ucf|libpam.*|debianutils|init-system-helpers' > "$apt/names"
(cd "$apt/archives" && xargs apt-get -qq download < "$apt/names")
rm -rf "$folder/usr" "$folder/etc" "$folder/var" "$folder/lib"
mkdir -p "$folder/usr/lib"
ln -s usr/lib "$folder/lib"
while read -r name; do dpkg-deb -x "$(ls "$apt/archives/$name"_*.deb)" "$folder"; done < "$apt/names"
# What OpenBLAS's maintainer scripts would choose.
[ ! -d "$folder/usr/lib/aarch64-linux-gnu/openblas-pthread" ] || for library in libblas.so.3 liblapack.so.3 libopenblas.so.0; do
  ln -sfn "openblas-pthread/$library" "$folder/usr/lib/aarch64-linux-gnu/$library"
done

# Links from the root (/lib/..., /etc/alternatives/...) would leave the folder.
find "$folder" -type l -lname '/*' | while read -r link; do
  ln -sfn "$(realpath -m --relative-to "$(dirname "$link")" "$folder$(readlink "$link")")" "$link"
done
echo "$wanted" > "$folder/complete"
echo "$(wc -l < "$apt/names") packages in $folder"
