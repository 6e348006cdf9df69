#!/bin/sh
# Checks that every sentence has its Chinese: what the code says (base::say, base::Phrase) is in src/texts/zh.po with a translation.
# That an error or a note is made of such sentences at all is a matter of types: errors take a base::Text. Needs xgettext and msgcmp of Debian's gettext.
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
  sentences "$root" "$folder/said.pot" -k -kPhrase:1 -kPhrase:1,2c -ksay:1 -ksaid:2
  bad=0
  msgcmp "$root/texts/zh.po" "$folder/said.pot" 2>"$folder/faults" || bad=1
  grep -v 'warning: this message is not used' "$folder/faults" || true
  # A constant is made by a call, which xgettext knows.
  grep -rnE --include='*.cc' --include='*.h' '\bPhrase [a-z_]+[({]"' "$root" && bad=1
  count=$(grep -c '^msgid' "$folder/said.pot" || true)
  rm -r "$folder"
  echo "check_texts: $count sentences, $([ $bad = 0 ] && echo all || echo not all) with their Chinese"
  return $bad
}

self_test() {
  tree=$(mktemp -d)
  trap 'rm -rf "$tree"' EXIT
  mkdir -p "$tree/texts" "$tree/ground/base"
  printf 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n\nmsgid "one {}"\nmsgstr "一 {}"\n\nmsgctxt "event"\nmsgid "save"\nmsgstr "已保存"\n' \
    >"$tree/texts/zh.po"
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
