#!/usr/bin/env bash
# man and mandoc read every page of `troika manual` without a warning, and man finds them by name.
#   tests/packaging/manual.sh TROIKA FOLDER      FOLDER is recreated
set -euo pipefail
troika=$1 folder=$2
export LC_ALL=C.UTF-8 MANWIDTH=80 MANROFFSEQ=
fail() { echo "manual: $*" >&2; exit 1; }
for tool in man mandoc; do
  command -v $tool > /dev/null || fail "$tool is missing; tools/install-packages.sh test installs man-db and mandoc"
done

rm -rf "$folder"
"$troika" manual --out "$folder"
pages=("$folder"/man1/*.1)
verbs=$("$troika" help | sed -n 's/^  \([a-z]*\) .*/\1/p')
[ "${#pages[@]}" = $(($(wc -w <<< "$verbs") + 1)) ] || fail "${#pages[@]} pages for the verbs $(xargs <<< "$verbs")"
for page in "${pages[@]}"; do
  warnings=$(man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 > /dev/null) || fail "man cannot read $page: $warnings"
  [ -z "$warnings" ] || fail "man says of $page: $warnings"
  warnings=$(mandoc -T lint -W style "$page") || fail "mandoc says of $page: $warnings"
done
for verb in $verbs; do
  man -M "$folder" "troika-$verb" | grep -q "^NAME" || fail "man does not show troika-$verb"
done
man -M "$folder" troika | grep -q 'troika train' || fail "man does not show troika"
echo "manual: ${#pages[@]} pages without a warning"
