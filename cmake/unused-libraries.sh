#!/bin/sh
# Makes libraries without contents for those that a program's library names and uses nothing of. Debian's libtorch_cpu is linked
# with OpenCV, FFmpeg and others and calls none of their functions; they bring 240 more libraries into every process.
#
#   cmake/unused-libraries.sh PROGRAM LIBRARY FOLDER COMPILER READELF [ROOT]
#
# FOLDER gets one empty library and links to it, one for each needed name (DT_NEEDED) of LIBRARY of which no symbol is used and
# which neither PROGRAM nor a library that stays needs. PROGRAM loads these where its DT_RPATH has FOLDER first. Libraries are
# looked for below ROOT (default: /), so PROGRAM may be for another processor. Where the file of one that stays is not found
# there is no way to tell, and FOLDER stays empty.
set -eu
export LC_ALL=C
program=$1 library=$2 folder=$3 compiler=$4 readelf=$5 root=${6:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

needed() { "$readelf" -dW "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }
# symbols FILE undefined|defined: names, without versions.
symbols() {
  "$readelf" -W --dyn-syms "$1" | awk -v want="$2" '$5 != "LOCAL" && $8 != "" && ($7 == "UND") == (want == "undefined") { sub(/@.*/, "", $8); print $8 }' |
    sort -u
}
# file_of NAME: links to /etc/alternatives lead into ROOT.
file_of() {
  for place in "$(dirname "$library")" "$root/lib/$(basename "$(dirname "$library")")" "$root/usr/lib" "$root/lib" "$root/lib64" "$root/usr/lib64"; do
    file=$place/$1
    while [ -h "$file" ]; do
      target=$(readlink "$file")
      case $target in /*) file=$root$target ;; *) file=$(dirname "$file")/$target ;; esac
    done
    [ ! -f "$file" ] || { echo "$file" && return; }
  done
  return 1
}

symbols "$library" undefined > "$work/wanted"
needed "$program" > "$work/stays"
: > "$work/unused"
for name in $(needed "$library"); do
  if file=$(file_of "$name") && symbols "$file" defined | comm -12 - "$work/wanted" | grep -q .; then
    echo "$name" >> "$work/stays"
  elif [ -n "$file" ]; then
    echo "$name" >> "$work/unused"
  else
    echo "$name" >> "$work/stays"
  fi
done

# What stays brings what it needs. LIBRARY is among it, but what it needs has been judged.
name_of_library=$("$readelf" -dW "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
cp "$work/stays" "$work/new"
while [ -s "$work/new" ]; do
  : > "$work/next"
  while read -r name; do
    [ "$name" != "$name_of_library" ] || continue
    if ! file=$(file_of "$name"); then
      echo "unused-libraries: $name is not found, so nothing is left out" >&2
      : > "$work/unused"
      break
    fi
    needed "$file" >> "$work/next"
  done < "$work/new"
  sort -u "$work/next" | grep -vxFf "$work/stays" > "$work/new" || :
  cat "$work/new" >> "$work/stays"
done

rm -rf "$folder"
mkdir -p "$folder"
unused=$(grep -vxFf "$work/stays" "$work/unused") || exit 0
"$compiler" -shared -nostdlib -x c /dev/null -o "$folder/libunused.so" -Wl,-soname,libunused.so -Wl,--build-id=none
for name in $unused; do ln -s libunused.so "$folder/$name"; done
