#!/usr/bin/env bash
# Puts Troika into one folder that runs on machines without any of its packages: the program, all shared libraries but glibc's,
# documents, licenses. Copy the folder, or FOLDER.tar, and run its quickstart.sh. The same programs and commit make the same tar.
#
#   tools/bundle.sh [FOLDER [FOLDER_WITH_TROIKA]]     (default: build/bundle, build/release)
#
# The machine it runs on needs the architecture of the programs (build/arm64: those of preset arm64) and a glibc that is not older than
# the one they were built with.
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
# shellcheck source=tools/bundle-parts.sh
. "$root/tools/bundle-parts.sh"
check_programs "$programs" "cmake --build --preset release" troika
check_target "$target"
machine_of "$programs/troika" "$root"

rm -rf "$bundle"
mkdir -p "$bundle/bin" "$bundle/lib" "$bundle/licenses"

[[ $("${prefix}objdump" -p "$programs/troika") == *" RPATH "*'$ORIGIN/../lib'* ]] ||
  die "troika has no RPATH of \$ORIGIN/../lib and would not find the bundle's libraries; build it with this tree's CMake"
strip_into "$bundle/bin" "$programs/troika"

libraries=$(libraries_of "$programs/troika")
check_found "$libraries"
copy_libraries "$libraries" "$bundle/lib"
documents_into "$bundle" "$root" bin/troika
cp "$root/LICENSE" "$root/quickstart.sh" "$bundle/"
write_licenses "$bundle/licenses"
run_program "$bundle/bin/troika" manual --out "$bundle/share/man"
{ run_program "$bundle/bin/troika" version && describe_machine "$root"; } > "$bundle/VERSION"

inside=$(loaded_by "$bundle/bin/troika")
outside=$(awk -v lib="$(cd "$bundle/lib" && pwd)/" -v bin="$(cd "$bundle/bin" && pwd)/../lib/" \
  '$2 == "=>" && index($3, lib) != 1 && index($3, bin) != 1 { print $1 }' <<< "$inside" | while read -r name; do
  [ ! -e "$bundle/lib/$name" ] || echo "$name"
done)
[ -z "$outside" ] || die "the programs do not take these from the bundle: $(xargs <<< "$outside")"

seal "$bundle" "$target"
epoch=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2> /dev/null || echo 0)}
tar --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --format=gnu --exclude=./runs \
  -C "$target" --transform="s#^\.#troika#S" -cf "$target.tar" .
echo "bundle: $target, $(find "$target/lib" -type f | wc -l) libraries of ${#packages[@]} packages, $(du -sm "$target" | cut -f 1) MB"
