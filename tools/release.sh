#!/usr/bin/env bash
# Makes the files of a release from the portable programs (tools/portable.sh), for each architecture:
#
#   troika-VERSION-linux-ARCHITECTURE.tar.xz    bin and share: unpack it anywhere, or into /usr/local with --strip-components 1
#   troika_train-VERSION-py3-none-manylinux_2_28_ARCHITECTURE.whl    the same for pip, uv and conda environments
#   troika_VERSION_DEBIAN'S-NAME.deb            the same for apt, with the systemd unit
#   troika-VERSION-image-ARCHITECTURE.tar.gz    the root of a container, for the Containerfile beside it
#
# and SHA256SUMS of them. The same programs and commit make the same bytes.
#
#   tools/release.sh [FOLDER [ARCHITECTURE...]]     (default: build/release-files, x86_64 aarch64)
#
# Needs what tools/install-packages.sh release installs. SOURCES: see tools/portable.sh.
set -euo pipefail
export LC_ALL=C TZ=UTC
umask 022
cd "$(dirname "$0")/.."
target=${1:-build/release-files}
[ $# -le 1 ] && set -- "$target" x86_64 aarch64

die() {
  echo "release: $1" >&2
  exit 2
}
for tool in dpkg-deb python3 xz gzip cmake help2man; do
  command -v $tool > /dev/null || die "$tool is missing; tools/install-packages.sh release installs it"
done
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) || die "this is no git checkout; set SOURCE_DATE_EPOCH"
fi
export SOURCE_DATE_EPOCH
version=$(sed -n 's/^project(troika VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
tools/portable.sh "${@:2}"
mkdir -p "$target"
target=$(cd "$target" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

packed() { # packed FOLDER NAME ARGUMENTS...: as tar, under this name, to standard output
  tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --format=gnu \
    -C "$1" --transform="s#^\.#$2#S" "${@:3}" -cf - .
}

# The prefix with the unit, a changelog and the copyright where Debian's policy has them.
debian_package() { # debian_package PREFIX ARCHITECTURE
  local root=$work/deb file
  rm -rf "$root" && mkdir -p "$root/DEBIAN" "$root/usr" "$root/lib/systemd/system" "$root/etc/troika" # settings of runs as services
  cp -r "$1/." "$root/usr/"
  mv "$root/usr/share/zsh/site-functions" "$root/usr/share/zsh/vendor-completions"
  gzip -9n "$root"/usr/share/man/man1/*.1
  install -m 644 packaging/debian/troika@.service "$root/lib/systemd/system/"
  install -m 644 packaging/debian/copyright "$root/usr/share/doc/troika/"
  gzip -9n < packaging/debian/changelog > "$root/usr/share/doc/troika/changelog.gz"
  sed -e "s/@VERSION@/$version/" -e "s/@ARCHITECTURE@/$2/" -e "s/@SIZE@/$(du -sk "$root" | cut -f 1)/" packaging/debian/control > "$root/DEBIAN/control"
  (cd "$root" && find . -path ./DEBIAN -prune -o -type f -printf '%P\n' | sort | xargs -d '\n' md5sum) > "$work/sums"
  mv "$work/sums" "$root/DEBIAN/md5sums"
  find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
  dpkg-deb --root-owner-group -Zxz --build "$root" "$target" > /dev/null
}

# The program, the libraries of glibc that it loads, and the names that a system has; runs in /runs, by a user without rights.
image_root() { # image_root PREFIX ARCHITECTURE
  local root=$work/image glibc= loader name
  rm -rf "$root" && mkdir -p "$root"/{etc,proc,sys,dev,tmp,runs,root,lib64,lib,usr/bin,usr/share}
  cp "$1/bin/troika" "$root/usr/bin/"
  cp -r "$1/share/doc" "$root/usr/share/"
  [ "$2" = x86_64 ] || glibc=build/arm64-libc
  loader=$(readelf --wide --program-headers "$1/bin/troika" | sed -n 's/.*interpreter: \(.*\)\]/\1/p')
  cp -L "$glibc$loader" "$root$loader"
  for name in libc.so.6 libm.so.6 libpthread.so.0 libdl.so.2 librt.so.1 libresolv.so.2; do
    mkdir -p "$root/lib/$2-linux-gnu"
    cp -L "$glibc/lib/$2-linux-gnu/$name" "$root/lib/$2-linux-gnu/"
  done
  cp "$glibc/usr/share/doc/libc6/copyright" "$root/usr/share/doc/troika/licenses/glibc.txt"
  printf 'root:x:0:0:root:/root:/usr/bin/troika\ntroika:x:1000:1000:troika:/runs:/usr/bin/troika\n' > "$root/etc/passwd"
  printf 'root:x:0:\ntroika:x:1000:\n' > "$root/etc/group"
  echo 'hosts: files dns' > "$root/etc/nsswitch.conf"
  packed "$root" . --exclude ./tmp --exclude ./runs > "$work/image.tar"
  tar --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=1777 --format=gnu -C "$root" -rf "$work/image.tar" ./tmp
  tar --mtime="@$SOURCE_DATE_EPOCH" --owner=1000 --group=1000 --numeric-owner --format=gnu -C "$root" -rf "$work/image.tar" ./runs
  gzip -9nc "$work/image.tar" > "$target/troika-$version-image-$2.tar.gz"
}

for architecture in "${@:2}"; do
  name=troika-$version-linux-$architecture prefix=$work/$architecture
  [ "$architecture" = x86_64 ] || tools/arm64-sysroot.sh build/arm64-libc libc6
  cmake --install "build/portable/$architecture" --prefix "$prefix" > "$work/install.log" || { cat "$work/install.log" >&2 && die "cmake --install failed"; }
  packed "$prefix" "$name" | xz -9e > "$target/$name.tar.xz"
  tools/wheel.py "$prefix" "$version" "manylinux_2_28_$architecture" "$target"
  debian_package "$prefix" "$([ "$architecture" = x86_64 ] && echo amd64 || echo arm64)"
  image_root "$prefix" "$architecture"
done
cp Containerfile "$target/"
(cd "$target" && sha256sum troika* > SHA256SUMS && ls -l)
