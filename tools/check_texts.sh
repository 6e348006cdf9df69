#!/bin/sh
# Checks that what a page shows exists in both languages: the rooms below throw no error that is an English sentence alone. Such
# an error begins with a string or fmt::format; one in both languages begins with base::say or another base::Text. Neither do they
# hide a sentence of their own in base::verbatim, which is for paths, flags, commands and what others have said.
# (Pairs that lack a language or an argument are found by the unit tests of the tables of texts.)
# Prints each violation as file:line and exits 1 if there is one.
#
#   tools/check_texts.sh [SOURCE_FOLDER]   default: src beside this script's folder
#   tools/check_texts.sh --self-test       proves on a small tree that it can fail
set -eu

# Whose errors a page can meet, and the verbs that speak both languages.
rooms='ground/base/file.cc ground/base/run_files.cc ground/base/json.cc ground/base/language.cc ground/base/mapping_guard.cc ground/base/scratch_mapping.cc
commands/data/inspect.cc commands/plan companions/serve ground/config engine/data
ground/host/subprocess.cc ground/jinja numbers/machine numbers/plan numbers/planner engine/checkpoint/manifest.cc numbers/schedule/build
numbers/schedule/instruction numbers/schedule/trace numbers/shape/adapter.cc numbers/shape/layout.cc engine/tokenizer'
# What only a command line meets: starting the server.
exempt='companions/serve/arguments.cc commands/serve/serve.cc commands/serve/token_file.cc'

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
    BEGIN {
      count = split(exempt, free, /[ \n]+/)
      english = "(\"|fmt::format|std::string\\()"
      sentence = "\"[^\"]*[a-z]+[,;:]? [a-z]+[^\"]*\""  # two words of small letters, but for what begins as a command does
    }
    function found(what) { print FILENAME ":" FNR ": " what; ++bad }
    function hides(text) { return text ~ ("^[^\"]*" sentence) && text !~ /^[^"]*"troika / }
    FNR == 1 {
      name = substr(FILENAME, length(root) + 1)
      skip = name ~ /_test/
      for (i = 1; i <= count; ++i) if (index(name, free[i]) == 1) skip = 1
      open = open_verbatim = 0
      ++files
    }
    skip { next }
    open {
      if ($0 ~ ("^[ ]*" english)) found("an error in English alone")
      open = 0
    }
    open_verbatim {
      if (hides($0)) found("a sentence in base::verbatim")
      open_verbatim = 0
    }
    $0 ~ ("(Config|Data|Peer|Disk)Error\\(" english) || /Refused\{[0-9]+, *("|fmt::format)/ { found("an error in English alone") }
    /refuse\(fmt::format/ || $0 ~ ("refuse\\(" sentence) { found("an error in English alone") }
    / = error\.what\(\)/ { found("base::text_of(error) keeps both languages") }
    match($0, /base::verbatim\(/) {
      rest = substr($0, RSTART + RLENGTH)
      if (hides(rest)) found("a sentence in base::verbatim")
      if (rest ~ /^(fmt::format\()?$/) open_verbatim = 1
    }
    /(Config|Data|Peer|Disk)Error\($/ || /Refused\{[0-9]+,$/ || /refuse\($/ { open = 1 }
    END {
      printf "check_texts: %d files, %d violation%s\n", files, bad, bad == 1 ? "" : "s"
      exit bad > 0
    }' $files
}

self_test() {
  tree=$(mktemp -d)
  trap 'rm -rf "$tree"' EXIT
  mkdir -p "$tree/ground/config/import" "$tree/commands/serve" "$tree/companions/serve" "$tree/engine/data" "$tree/numbers/plan" "$tree/numbers/schedule/build"
  failures=0
  expect() {  # WHETHER FILE TEXT
    printf '%s\n' "$3" > "$tree/$2"
    found=passes
    check "$tree" > /dev/null || found=fails
    [ "$found" = "$1" ] || { echo "check_texts: '$3' in $2 $found"; failures=$((failures + 1)); }
    rm "$tree/$2"
  }
  expect passes ground/config/a.cc 'throw base::ConfigError(base::say(texts.x, 1));'
  expect fails ground/config/a.cc 'throw base::ConfigError("English");'
  expect fails ground/config/a.cc 'throw base::DataError(fmt::format("{}", 1));'
  expect fails companions/serve/a.h 'throw base::PeerError(
      fmt::format("{}", 1));'
  expect fails companions/serve/a.cc 'throw Refused{400, "English"};'
  expect fails ground/config/a.cc 'refusal = error.what();'
  expect fails ground/config/import/a.cc 'throw base::ConfigError("English");'
  expect fails engine/data/a.cc 'throw DiskError(fmt::format("{}", 1));'
  expect fails numbers/schedule/build/a.cc 'throw ConfigError(
        fmt::format("{}", 1));'
  expect fails ground/config/a.cc 'return flags->refuse(fmt::format("{}", path));'
  expect passes ground/config/a.cc 'return flags->refuse(base::say(texts.x, path));'
  expect fails numbers/plan/a.cc 'notes.push_back(base::verbatim("the first of a run"));'
  expect fails numbers/plan/a.cc 'notes.push_back(base::verbatim(
      fmt::format("{} of the run", 1)));'
  expect fails numbers/plan/a.cc 'fail(base::verbatim(fmt::format("{}: nothing is left", name)));'
  expect passes numbers/plan/a.cc 'fail(base::verbatim(path + " " + name));'
  expect passes numbers/plan/a.cc 'line(base::verbatim("troika train " + flags));'
  expect passes commands/serve/serve.cc 'throw base::ConfigError("English");'
  expect passes ground/config/a_test.cc 'throw base::ConfigError("English");'
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
