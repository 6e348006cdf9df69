#!/usr/bin/env bash
# Puts Troika into one folder that runs on machines without any of its packages: programs, all shared libraries but glibc's,
# documents, licenses. Copy the folder, or a tar of it, and run its quickstart.sh.
#
#   tools/bundle.sh [FOLDER [FOLDER_WITH_TROIKA]]     (default: build/bundle, build/release)
#
# The machine it runs on needs the same architecture and a glibc that is not older than this one's.
set -euo pipefail
export LC_ALL=C
root=$(cd "$(dirname "$0")/.." && pwd)
target=${1:-$root/build/bundle}
bundle=$target.partial
programs=$(cd "${2:-$root/build/release}" && pwd)

die() {
  echo "bundle: $1" >&2
  exit 2
}
for program in troika troika-engine; do
  [ -x "$programs/$program" ] || die "'$programs' holds no $program; build it first: cmake --build --preset release"
done
[ ! -e "$target" ] || [ -f "$target/MANIFEST" ] || die "'$target' is there and is no bundle; name another folder"

rm -rf "$bundle"
mkdir -p "$bundle/bin" "$bundle/lib" "$bundle/licenses/common-licenses"

for program in troika troika-engine; do
  [[ $(objdump -p "$programs/$program") == *" RPATH "*'$ORIGIN/../lib'* ]] ||
    die "$program has no RPATH of \$ORIGIN/../lib and would not find the bundle's libraries; build it with this tree's CMake"
  strip --strip-debug -o "$bundle/bin/$program" "$programs/$program"
done

# --- libraries --------------------------------------------------------------------------------------------------------

libraries=$(ldd "$programs/troika" "$programs/troika-engine" | awk '$2 == "=>" && !seen[$1]++ { print $1, $3 " " $4 }')
missing=$(awk '/not found/ { print $1 }' <<< "$libraries")
[ -z "$missing" ] || die "not found on this machine: $(xargs <<< "$missing"); install their packages (tools/install-packages.sh)"

# Each file's name as dpkg may know it, with or without /usr, and what owns it: "FILE PACKAGE".
owners=$(awk '{ print $2 }' <<< "$libraries" | xargs readlink -f | sed 'p; s#^/usr##' | sort -u |
  { xargs dpkg-query -S 2> /dev/null || [ $? = 123 ]; } | sed -n 's#^\([^:,]*\).*: \(.*\)$#\2 \1#p') # 123: some names unknown
[ -n "$owners" ] || die "dpkg-query knows none of the libraries; a bundle is made on Debian"
declare -A owner packages
while read -r file package; do owner[${file#/usr}]=$package; done <<< "$owners"

without_package=
while read -r name path _; do
  file=$(readlink -f "$path")
  package=${owner[${file#/usr}]:-}
  [ "$package" != libc6 ] || continue # of the machine that runs it: it belongs to the loader there
  cp -L "$path" "$bundle/lib/$name"
  if [ -n "$package" ]; then packages[$package]=1; else without_package="$without_package $name"; fi
done <<< "$libraries"
chmod 644 "$bundle"/lib/*

# --- documents and licenses -------------------------------------------------------------------------------------------

cp -r "$root"/README*.md "$root/ARCHITECTURE.md" "$root/CONTRIBUTING.md" "$root/LICENSE" "$root/docs" "$root/benchmarks" "$root/quickstart.sh" "$bundle/"
cp -L /usr/share/common-licenses/* "$bundle/licenses/common-licenses/"
while read -r package; do
  text=$(ls "/usr/share/doc/$package"/copyright* 2> /dev/null | head -n 1)
  [ -n "$text" ] || die "package $package has no /usr/share/doc/$package/copyright; reinstall it with its documents"
  case $text in
    *.gz) gzip -dc "$text" > "$bundle/licenses/$package.txt" ;;
    *) cat "$text" > "$bundle/licenses/$package.txt" ;;
  esac
done < <(printf '%s\n' "${!packages[@]}" | sort)
printf '%s\n' "${!packages[@]}" | sort | xargs dpkg-query -W -f '${Package} ${Version} ${source:Package} ${source:Version}\n' |
  awk 'BEGIN { print "package version source version-of-source" } { print }' > "$bundle/licenses/PACKAGES"
[ -z "$without_package" ] || echo "bundle: of no Debian package, so without a license text:$without_package" >&2

# --- what it is -------------------------------------------------------------------------------------------------------

{
  "$bundle/bin/troika" version
  echo "machine $(uname -m), glibc $(getconf GNU_LIBC_VERSION | awk '{ print $2 }') or later"
  ! git -C "$root" rev-parse HEAD > /dev/null 2>&1 || echo "commit $(git -C "$root" rev-parse HEAD)"
} > "$bundle/VERSION"

inside=$(ldd "$bundle/bin/troika-engine")
outside=$(awk -v lib="$(cd "$bundle/lib" && pwd)/" -v bin="$(cd "$bundle/bin" && pwd)/../lib/" \
  '$2 == "=>" && index($3, lib) != 1 && index($3, bin) != 1 { print $1 }' <<< "$inside" | while read -r name; do
  [ ! -e "$bundle/lib/$name" ] || echo "$name"
done)
[ -z "$outside" ] || die "the programs do not take these from the bundle: $(xargs <<< "$outside")"

manifest=$(cd "$bundle" && find . -type f | sort | xargs sha256sum)
echo "$manifest" > "$bundle/MANIFEST" # sha256sum -c MANIFEST checks a copy
rm -rf "$target"
mv "$bundle" "$target"
echo "bundle: $target, $(find "$target/lib" -type f | wc -l) libraries of ${#packages[@]} packages, $(du -sm "$target" | cut -f 1) MB"
