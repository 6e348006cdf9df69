#!/bin/sh
# Checks that what a page shows exists in both languages: the rooms below throw no error that is an English sentence alone. Such
# an error begins with a string or fmt::format; one in both languages begins with base::say or another base::Text.
# (Pairs that lack a language or an argument are found by the unit tests of the tables of texts.)
# Prints each violation as file:line and exits 1 if there is one.
#
#   tools/check_texts.sh [SOURCE_FOLDER]   default: src beside this script's folder
#   tools/check_texts.sh --self-test       proves on a small tree that it can fail
set -eu

# Whose errors a page can meet.
rooms='commands/serve config planner/reasons.cc planner/search.cc planner/open_layout.cc'
# What only a command line meets: starting the server, and flags. Files of other programs are read by
# rooms that speak English alone. The catalog keeps what a run has said, which is English, and beside it why one cannot be read.
exempt='commands/serve/arguments.cc commands/serve/serve.cc commands/serve/token_file.cc commands/serve/gate.cc config/flag_table.cc
config/import/ config/huggingface/hugging_face_config.cc config/huggingface/checkpoint_folder.cc'

check() {
  root=$1
  files=
  for room in $rooms; do
    [ ! -e "$root/$room" ] || files="$files $(find "$root/$room" -type f \( -name '*.cc' -o -name '*.h' \) | LC_ALL=C sort)"
  done
  if [ -z "$files" ]; then
    echo "check_texts: none of the rooms is below '$root'" >&2
    return 2
  fi
  # shellcheck disable=SC2086
  awk -v root="$root/" -v exempt="$exempt" '
    BEGIN { count = split(exempt, free, /[ \n]+/) }
    FNR == 1 {
      name = substr(FILENAME, length(root) + 1)
      skip = name ~ /_test/
      for (i = 1; i <= count; ++i) if (index(name, free[i]) == 1) skip = 1
      open = 0
      ++files
    }
    skip { next }
    open {
      if ($0 ~ /^[ ]*("|fmt::format|std::string\()/) { print FILENAME ":" FNR ": an error in English alone"; ++bad }
      open = 0
    }
    /(Config|Data|Peer)Error\(("|fmt::format|std::string\()/ || /Refused\{[0-9]+, *("|fmt::format)/ {
      print FILENAME ":" FNR ": an error in English alone"
      ++bad
    }
    / = error\.what\(\)/ && name != "commands/serve/catalog.cc" { print FILENAME ":" FNR ": base::text_of(error) keeps both languages"; ++bad }
    /(Config|Data|Peer)Error\($/ || /Refused\{[0-9]+,$/ { open = 1 }
    END {
      printf "check_texts: %d files, %d violation%s\n", files, bad, bad == 1 ? "" : "s"
      exit bad > 0
    }' $files
}

self_test() {
  tree=$(mktemp -d)
  trap 'rm -rf "$tree"' EXIT
  mkdir -p "$tree/config/import" "$tree/commands/serve"
  failures=0
  expect() {  # WHETHER FILE TEXT
    printf '%s\n' "$3" > "$tree/$2"
    found=passes
    check "$tree" > /dev/null || found=fails
    [ "$found" = "$1" ] || { echo "check_texts: '$3' in $2 $found"; failures=$((failures + 1)); }
    rm "$tree/$2"
  }
  expect passes config/a.cc 'throw base::ConfigError(base::say(texts.x, 1));'
  expect fails config/a.cc 'throw base::ConfigError("English");'
  expect fails config/a.cc 'throw base::DataError(fmt::format("{}", 1));'
  expect fails commands/serve/a.h 'throw base::PeerError(
      fmt::format("{}", 1));'
  expect fails commands/serve/a.cc 'throw Refused{400, "English"};'
  expect fails config/a.cc 'refusal = error.what();'
  expect passes config/import/a.cc 'throw base::ConfigError("English");'
  expect passes config/a_test.cc 'throw base::ConfigError("English");'
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
