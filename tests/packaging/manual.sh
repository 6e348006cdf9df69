#!/usr/bin/env bash
# man reads every page of tools/man-pages.sh without a warning and mandoc without an error, and man finds them by name.
#   tests/packaging/manual.sh SOURCE TROIKA FOLDER      FOLDER is recreated
set -euo pipefail
source=$1 troika=$2 folder=$3
export LC_ALL=C.UTF-8 MANWIDTH=80 MANROFFSEQ=
fail() { echo "manual: $*" >&2; exit 1; }
for tool in help2man man mandoc; do
  command -v $tool > /dev/null || fail "$tool is missing; tools/install-packages.sh test installs help2man, man-db and mandoc"
done

rm -rf "$folder"
"$source/tools/man-pages.sh" "$folder" "$troika"
pages=("$folder"/man1/*.1)
verbs=$("$troika" help | sed -n 's/^  \([a-z]*\) .*/\1/p')
for note in "$source"/packaging/man/troika*.txt; do
  [ -e "$folder/man1/$(basename "$note" .txt).1" ] || fail "no page has the notes of $note"
done
for page in "${pages[@]}"; do
  warnings=$(man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 > /dev/null) || fail "man cannot read $page: $warnings"
  [ -z "$warnings" ] || fail "man says of $page: $warnings"
  warnings=$(mandoc -T lint -W error "$page") || fail "mandoc says of $page: $warnings"
done
for verb in $verbs; do
  page=$(man -M "$folder" "troika-$verb")
  for section in NAME SYNOPSIS DESCRIPTION "EXIT STATUS" "SEE ALSO"; do
    grep -q "^$section" <<< "$page" || fail "the page of troika-$verb has no section $section"
  done
done
grep -q 'troika demo' <<< "$(man -M "$folder" troika)" || fail "man does not show troika"
grep -q 'Transformer layers. .4.' <<< "$(man -M "$folder" troika-train)" || fail "the page of troika-train has no setting with its default"
echo "manual: ${#pages[@]} pages without a warning"
