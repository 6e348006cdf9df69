#!/bin/sh
# Writes the man pages of Troika with help2man: a page of the program, of each verb and of each part of a verb, from their --help and
# from packaging/man. The date is SOURCE_DATE_EPOCH's if that is set.
#   tools/man-pages.sh FOLDER TROIKA...     FOLDER/man1/troika.1, ...; TROIKA may have an emulator before it
set -eu
export LC_ALL=C
folder=$1/man1
shift
notes=$(cd "$(dirname "$0")/.." && pwd)/packaging/man
command -v help2man > /dev/null || { echo "man-pages: help2man is missing; tools/install-packages.sh release installs it" >&2; exit 1; }
calls=$(mktemp -d)
trap 'rm -rf "$calls"' EXIT
mkdir -p "$folder"
quoted=
for word in "$@"; do quoted="$quoted '$word'"; done
version=$("$@" version | sed 's/^troika //')

# The help in the form that help2man knows: its headings, a description 20 columns to the right, blank lines between paragraphs.
form='1s/^troika\( [a-z]*\)*\(:\| -\) \(.\)/\u\3/
s/^  \([a-z][a-z]*\)\(:\| \) *\([^ ]\)/\n  \1   \3/
s/^usage: /Usage: /
s/^       troika/  or: troika/
s/^.-. and ._. are equivalent/\n\nOptions:\n\n&/
s/^\([a-z]*\): \([A-Z].*\)/\2 (\1):/
s/^\(--[a-z0-9-]*\|[A-Z_*]*\): /\n  \1   /
s/^Run presets:/\n&/
s/^      \([^ ]\)/                        \1/'

page() { # page VERB...: the page of these words
  name=troika
  for word in "$@"; do name=$name-$word; done
  printf '#!/bin/sh\n%s %s --help --lang en | sed '"'%s'"'\n' "$quoted" "$*" "$form" > "$calls/$name"
  chmod +x "$calls/$name"
  line=$("$calls/$name" | sed '1s/^./\l&/;1s/: troika .*//;1q')
  help2man --no-info --name="$line" --version-string="$version" --manual=Troika --source="troika $version" \
    --opt-include="$notes/$name.txt" --include="$notes/every-page.txt" --output="$folder/$name.1" "$calls/$name"
}

listed() { "$@" --help --lang en | sed -n 's/^  \([a-z]*\)  *[a-z].*/\1/p'; }

page
for verb in $(listed "$@"); do
  page "$verb"
  case $("$@" "$verb" --help --lang en) in
    *"usage: troika $verb WHAT"*) for part in $(listed "$@" "$verb"); do page "$verb" "$part"; done ;;
  esac
done
