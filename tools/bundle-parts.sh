# Parts of tools/bundle.sh and tools/package.sh, which source it. The sourcing script defines die().
# shellcheck shell=bash

# For which machine the programs are: as uname -m and Debian name it, the beginning of its binutils' names, and the folder with its
# libraries and dpkg's database (tools/arm64-sysroot.sh); both are empty for this machine.
machine=$(uname -m) architecture=$(dpkg --print-architecture 2> /dev/null || true) prefix='' libraries_root=''

# machine_of PROGRAM ROOT: sets these. ROOT: of the source tree.
machine_of() {
  [[ $(readelf -h "$1") == *AArch64* ]] && [ "$machine" != aarch64 ] || return 0
  machine=aarch64 architecture=arm64 prefix=aarch64-linux-gnu- libraries_root=$2/build/arm64-sysroot
  [ -f "$libraries_root/complete" ] || die "there is no $libraries_root with the libraries of these programs; tools/arm64-sysroot.sh makes it"
}

# run_program PROGRAM ARGUMENTS...: here, whatever machine it is for.
run_program() {
  if [ -z "$libraries_root" ]; then "$@"; else qemu-aarch64-static -L "$libraries_root" "$@"; fi
}

# documents_into FOLDER ROOT PROGRAM: what one reads, with its examples, naming the program as it is called beside it.
documents_into() {
  cp -r "$2"/README*.md "$2/ARCHITECTURE.md" "$2/CONTRIBUTING.md" "$2/Containerfile" "$2/docs" "$2/examples" "$2/benchmarks" "$1/"
  mkdir -p "$1/tools"
  cp -r "$2/tools/grafana" "$1/tools/"
  find "$1" -name '*.md' -exec sed -i "s#build/release/troika\\b#$3#g" {} +
}

query_packages() {
  dpkg-query ${libraries_root:+--admindir="$libraries_root/var/lib/dpkg"} "$@"
}

# loaded_by PROGRAM: what ldd prints. The loader of another machine names files below its root as its own.
loaded_by() {
  if [ -z "$libraries_root" ]; then
    ldd "$1"
  else
    qemu-aarch64-static -L "$libraries_root" -E LD_TRACE_LOADED_OBJECTS=1 "$1" |
      sed -E "s#=> /(usr/)?lib/#=> $libraries_root/\1lib/#"
  fi
}

# check_target FOLDER: may be written: it is not there, or is a bundle.
check_target() {
  [ ! -e "$1" ] || [ -f "$1/MANIFEST" ] || die "'$1' is there and is no bundle; name another folder"
}

# check_programs FOLDER REMEDY PROGRAM...
check_programs() {
  local folder=$1 remedy=$2 program
  for program in "${@:3}"; do
    [ -x "$folder/$program" ] || die "'$folder' holds no $program; build it first: $remedy"
  done
}

# strip_into FOLDER PROGRAM...
strip_into() {
  local program
  for program in "${@:2}"; do "${prefix}strip" "${STRIP:---strip-debug}" -o "$1/$(basename "$program")" "$program"; done
}

# libraries_of PROGRAM...: "NAME PATH" of each shared library that they load; "NAME not found" where it is missing.
libraries_of() {
  local program
  for program in "$@"; do loaded_by "$program"; done | awk '$2 == "=>" && !seen[$1]++ { print $1, $3 " " $4 }'
}

# check_found LIBRARIES
check_found() {
  local missing
  missing=$(awk '/not found/ { print $1 }' <<< "$1")
  [ -z "$missing" ] || die "not found on this machine: $(xargs <<< "$missing"); install their packages (tools/install-packages.sh)"
}

# copy_libraries LIBRARIES FOLDER: all but glibc's, which belong to the loader of the machine that runs them. Sets packages
# and without_package.
copy_libraries() {
  # Each file's name as dpkg may know it, with or without /usr, and what owns it: "FILE PACKAGE".
  local owners file package name path
  owners=$(awk '{ print $2 }' <<< "$1" | xargs readlink -f | sed "s#^$libraries_root/#/#" | sed 'p; s#^/usr##' | sort -u |
    { xargs dpkg-query ${libraries_root:+--admindir="$libraries_root/var/lib/dpkg"} -S 2> /dev/null || [ $? = 123 ]; } | sed -n 's#^\([^:,]*\).*: \(.*\)$#\2 \1#p') # 123: some names unknown
  [ -n "$owners" ] || die "dpkg-query knows none of the libraries; a bundle is made on Debian"
  declare -A owner
  declare -gA packages
  without_package=
  while read -r file package; do owner[${file#/usr}]=$package; done <<< "$owners"
  while read -r name path _; do
    file=$(readlink -f "$path")
    file=${file#"$libraries_root"}
    package=${owner[${file#/usr}]:-}
    [ "$package" != libc6 ] || continue
    cp -L "$path" "$2/$name"
    if [ -n "$package" ]; then packages[$package]=1; else without_package="$without_package $name"; fi
  done <<< "$1"
  chmod 644 "$2"/*
}

# write_licenses FOLDER: of the packages that copy_libraries found.
write_licenses() {
  local package text
  mkdir -p "$1/common-licenses"
  cp -L /usr/share/common-licenses/* "$1/common-licenses/" # the same for every machine
  while read -r package; do
    text=$(ls "$libraries_root/usr/share/doc/$package"/copyright* 2> /dev/null | head -n 1)
    [ -n "$text" ] || die "package $package has no $libraries_root/usr/share/doc/$package/copyright; reinstall it with its documents"
    case $text in
      *.gz) gzip -dc "$text" > "$1/$package.txt" ;;
      *) cat "$text" > "$1/$package.txt" ;;
    esac
  done < <(printf '%s\n' "${!packages[@]}" | sort)
  printf '%s\n' "${!packages[@]}" | sort | xargs dpkg-query ${libraries_root:+--admindir="$libraries_root/var/lib/dpkg"} -W -f '${Package} ${Version} ${source:Package} ${source:Version}\n' |
    awk 'BEGIN { print "package version source version-of-source" } { print }' > "$1/PACKAGES"
  [ -z "$without_package" ] || echo "bundle: of no Debian package, so without a license text:$without_package" >&2
}

# describe_machine ROOT: lines of VERSION behind the program's own.
describe_machine() {
  echo "machine $machine, glibc $(query_packages -W -f '${Version}' libc6 | sed 's/-.*//') or later"
  ! git -C "$1" rev-parse HEAD > /dev/null 2>&1 || echo "commit $(git -C "$1" rev-parse HEAD)"
}

# seal PARTIAL TARGET: sha256sum -c MANIFEST checks a copy.
seal() {
  local manifest
  manifest=$(cd "$1" && find . -type f | sort | xargs sha256sum)
  echo "$manifest" > "$1/MANIFEST"
  rm -rf "$2"
  mv "$1" "$2"
}
