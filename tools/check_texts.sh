#!/bin/sh
# Checks that every sentence has its Chinese: what the code says (base::say, base::Phrase, rows of flags) is in src/texts/zh.po with a
# translation, and nothing else is. That errors and notes are made of such sentences is a matter of types: they take a base::Text. Needs
# xgettext, msgmerge and msgattrib of Debian's gettext.
#
#   tools/check_texts.sh [SOURCE_FOLDER]   default: src beside this script's folder
#   tools/check_texts.sh --self-test       proves on a small tree that it can fail
set -eu

# The sentences of a source tree, as a template of gettext's.
sentences() {  # ROOT TEMPLATE [MORE FLAGS OF xgettext]
  root=$1 template=$2
  shift 2
  find "$root" -type f \( -name '*.cc' -o -name '*.h' \) ! -name '*_test*' | LC_ALL=C sort |
    xgettext --files-from=- --language=C++ --from-code=UTF-8 --no-wrap --omit-header --force-po -o "$template" "$@" 2>/dev/null
}

check() {
  root=$1
  [ -f "$root/texts/zh.po" ] || { echo "check_texts: no $root/texts/zh.po" >&2; return 2; }
  folder=$(mktemp -d)
  # The last eight are rows of flags and settings.
  sentences "$root" "$folder/code.pot" -k -kPhrase:1 -kPhrase:1,2c -ksay:1 -ksaid:2 \
    -kadd:3,3t -kword:3,3t -krest:3,3t -kignore:2,2t -kunset:1,1t -kusage:1,1t -kparagraph:1,1t -khint:1,1t
  # The reasons in tables, which the code reads as text.
  find "$root" -path '*/tables/*.txt' -exec sed -n 's/"/\\"/g; s/^refused: [^:]*: //p' {} + | LC_ALL=C sort -u |
    sed 's/.*/\nmsgid "&"\nmsgstr ""/' >"$folder/tables.pot"
  msgcat --no-wrap --use-first "$folder/code.pot" "$folder/tables.pot" -o "$folder/said.pot"
  msgmerge -q --no-fuzzy-matching --no-wrap "$root/texts/zh.po" "$folder/said.pot" -o "$folder/merged.po"
  bad=0
  msgattrib --untranslated --no-obsolete --no-wrap "$folder/merged.po" >"$folder/untranslated"
  msgattrib --only-obsolete --no-wrap "$folder/merged.po" >"$folder/obsolete"
  [ "$(sed -n '/^msgid/p' "$folder/untranslated" | wc -l)" -le 1 ] || {  # the first is the head of the file
    bad=1
    echo "without Chinese:"
    cat "$folder/untranslated"
  }
  [ -z "$(sed -n '/^#~ msgid/p' "$folder/obsolete")" ] || {
    bad=1
    echo "said nowhere:"
    cat "$folder/obsolete"
  }
  # The catalogue's reader leaves out what is marked as doubtful.
  grep -n '^#, .*fuzzy' "$root/texts/zh.po" && bad=1
  # A constant is made by a call, which xgettext knows.
  grep -rnE --include='*.cc' --include='*.h' '\bPhrase [a-z_]+[({]"' "$root" && bad=1
  count=$(sed -n '/^msgid/p' "$folder/said.pot" | wc -l)
  rm -r "$folder"
  echo "check_texts: $count sentences, $([ $bad = 0 ] && echo all || echo not all) with their Chinese, and no other"
  return $bad
}

self_test() {
  tree=$(mktemp -d)
  trap 'rm -rf "$tree"' EXIT
  mkdir -p "$tree/texts" "$tree/ground/base"
  printf 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n\nmsgid "one {}"\nmsgstr "一 {}"\n\nmsgctxt "event"\nmsgid "save"\nmsgstr "已保存"\n' \
    >"$tree/texts/zh.po"
  printf 'base::say("one {}", 1);\nbase::Phrase("save", "event");\n' >"$tree/ground/base/b.cc"
  failures=0
  expect() {  # WHETHER TEXT
    printf '%s\n' "$2" >"$tree/ground/base/a.cc"
    found=passes
    check "$tree" >/dev/null 2>&1 || found=fails
    [ "$found" = "$1" ] || { echo "check_texts: '$2' $found"; failures=$((failures + 1)); }
  }
  expect passes 'throw base::ConfigError(base::say("one {}", 1));'
  expect passes 'throw base::ConfigError(base::say("one "
                                          "{}", 1));'
  expect passes 'constexpr base::Phrase kept = base::Phrase("save", "event");'
  expect fails 'throw base::ConfigError(base::say("two {}", 1));'
  expect fails 'line(base::Phrase("three"));'
  expect fails 'constexpr base::Phrase kept = base::Phrase("save");'
  expect fails 'constexpr base::Phrase kept("one {}");'
  printf 'base::say("one {}", 1);\n' >"$tree/ground/base/b.cc"
  expect fails 'nothing that says "save" of an event;'
  [ "$failures" -eq 0 ] || exit 1
  echo "check_texts: self-test passed"
}

case ${1:-} in
  --self-test) self_test ;;
  -*)
    echo "usage: check_texts.sh [SOURCE_FOLDER | --self-test]" >&2
    exit 2
    ;;
  *) check "${1:-$(dirname "$0")/../src}" ;;
esac
