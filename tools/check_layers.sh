#!/bin/sh
# Checks the rules about includes (ARCHITECTURE.md, "Modules on layers"):
#   - a module includes only modules on lower layers, and itself;
#   - libtorch is the judge in tests: nothing else includes its headers;
#   - no two files include each other, directly or through others;
#   - yaml-cpp appears in .cc files only, and nlohmann/json.hpp below commands (json_fwd.hpp may stand in headers);
#   - below config, nothing is compared with a word of a setting: resolved settings are enums;
#   - nobody looks for words in a sentence: notices, places and causes are values (records/incident.h, base/cause.h).
# Prints each violation as file:line and exits 1 if there is one.
#
#   tools/check_layers.sh [SOURCE_FOLDER]   default: src beside this script's folder
#   tools/check_layers.sh --self-test       proves on small trees that every rule can fail
set -eu

check() {
  root=$1
  if [ ! -d "$root" ]; then
    echo "check_layers: no folder '$root'" >&2
    return 2
  fi
  list=$(find "$root" -type f \( -name '*.h' -o -name '*.cc' -o -name '*.cu' -o -name '*.cuh' \) | LC_ALL=C sort)
  if [ -z "$list" ]; then
    echo "check_layers: no .h or .cc file under '$root'" >&2
    return 2
  fi
  printf '%s\n' "$list" | awk -v root="$root" "$rules"
}

# Reads file names on standard input.
rules='
function set_layer(number, names,    i, n, list) {
  n = split(names, list, " ")
  for (i = 1; i <= n; ++i) layer[list[i]] = number
}
function mark(names, into,    i, n, list) {
  n = split(names, list, " ")
  for (i = 1; i <= n; ++i) into[list[i]] = 1
}
BEGIN {
  set_layer(0, "base")
  set_layer(1, "host config cpu cuda jinja")
  set_layer(2, "tensor mesh metrics http tokenizer machine")
  set_layer(3, "gpu records")
  set_layer(4, "shape schedule data kernels rendezvous diagnosis exporters")
  set_layer(5, "comm plan")
  set_layer(6, "sharding doctor planner")
  set_layer(7, "model optimizer")
  set_layer(8, "executor checkpoint")
  set_layer(9, "weights")
  set_layer(10, "inference")
  set_layer(11, "train")
  set_layer(12, "commands")
  # Where a word is one of a file format, or of a text that config cannot parse for a module beside it.
  mark("gpu/device.cc data/source.cc data/record_format.cc data/conversations.cc tokenizer/tokenizer_document.cc checkpoint/manifest.cc rendezvous/identity.cc schedule/trace/trace_folder.cc planner/changes.cc", own_words)
  mark("base config jinja commands", above_words)
  # What was written before there were values, and what others write: logs of launched runs, keys of /proc, verbs of two words.
  mark("records/old_sentences.cc commands/sweep/one_run.cc train/reproducibility.cc commands/launch/options.cc", reads_words)
  mark("rendezvous records diagnosis exporters comm train planner commands", hears_sentences)
  phrase = "\"[^\"]*[A-Za-z],? [A-Za-z]"  # two words
  within = "\" [A-Za-z]"  # a word behind others
  choices = root "/config/choices.h"
  while ((getline text < choices) > 0) {
    if (text !~ /words_of|return \{"|row\(/) continue
    while (match(text, /"[a-z0-9_-]+"/)) {
      setting_words[substr(text, RSTART, RLENGTH)] = 1
      text = substr(text, RSTART + RLENGTH)
    }
  }
  close(choices)
  violations = files = 0
}
function report(message) {
  printf "%s:%d: %s\n", path, line, message
  ++violations
}
function check_comparisons(text,    word) {
  if (module in above_words || inside in own_words || inside ~ /_test(_support)?\./) return
  while (match(text, /[=!]= "[a-z0-9_-]+"/)) {
    word = substr(text, RSTART + 3, RLENGTH - 3)
    if (word in setting_words) report("compares with " word ", a word of a setting: take the enum of config/choices.h")
    text = substr(text, RSTART + RLENGTH)
  }
}
function check_sentences(text) {
  if (!(module in hears_sentences) || inside in reads_words || inside ~ /_test(_support)?\./) return
  if (text ~ ("\\.r?find\\((0, )?(" phrase "|" within ")") || text ~ ("\\.compare\\([^\"]*" phrase) || text ~ ("[^a-z_](holds|has|contains|first_with)\\(([a-z_.*>-]+, )?\\{?" phrase) || text ~ ("[=!]= " phrase))
    report("looks for words in a sentence: take the value (records/incident.h, records/place.h, base/cause.h)")
}
# Headers that are left when those that include none of the rest are taken away, again and again, include each other.
function check_cycles(    file, again, n, i, list, open, rest) {
  do {
    again = 0
    for (file in includes) {
      n = split(includes[file], list, " ")
      open = 0
      for (i = 1; i <= n; ++i) if (list[i] in includes) open = 1
      if (!open) {
        delete includes[file]
        again = 1
      }
    }
  } while (again)
  rest = ""
  for (file in includes) {
    path = root "/" file
    line = first_line[file]
    report("is part of a circle of includes:" includes[file])
  }
}
function check_include(target,    other, slash, is_torch) {
  is_torch = target ~ /^(ATen|c10|torch|caffe2)\//
  if (is_torch && inside !~ /_test(_support)?\.(h|cc)$/) report("only tests include libtorch, such as " target)
  if (is_header && target ~ /^yaml-cpp\//) report(target " belongs in a .cc file")
  if (is_header && target == "nlohmann/json.hpp" && module != "commands" && path !~ /_test_support\.h$/) {
    report(target " belongs in a .cc file; json_fwd.hpp may stand in headers")
  }
  if (is_header && quoted) {
    includes[inside] = includes[inside] " " target
    if (!(inside in first_line)) first_line[inside] = line
  }
  slash = index(target, "/")
  other = slash > 0 ? substr(target, 1, slash - 1) : ""
  if (!(other in layer)) {
    if (quoted) report("\"" target "\" names no module; write \"module/file.h\"")
    return
  }
  if (other != module && layer[other] >= layer[module]) {
    report(module " (layer " layer[module] ") includes " target " (layer " layer[other] ")")
  }
}
{
  path = $0
  line = 0
  ++files
  inside = substr(path, length(root) + 2)
  count = split(inside, part, "/")
  module = count > 1 ? part[1] : ""
  if (!(module in layer)) {
    report("\"" module "\" is no module on a layer; add it to this script and to ARCHITECTURE.md")
    next
  }
  is_header = path ~ /\.(h|cuh)$/
  while ((got = (getline text < path)) > 0) {
    ++line
    if (text ~ /[=!]= "/) check_comparisons(text)
    if (text ~ /"/) check_sentences(text)
    if (text !~ /^[ \t]*#[ \t]*include[ \t]*[<"]/) continue
    quoted = text ~ /^[^<"]*"/
    sub(/^[^<"]*[<"]/, "", text)
    sub(/[>"].*$/, "", text)
    check_include(text)
  }
  close(path)
  if (got < 0) report("cannot be read")
}
END {
  check_cycles()
  if (violations > 0) {
    printf "check_layers: %d violation%s in %d files\n", violations, violations == 1 ? "" : "s", files
    exit 1
  }
  printf "check_layers: %d files, no violation\n", files
}
'

self_test() {
  tree=$(mktemp -d)
  trap 'rm -rf "$tree"' EXIT
  failures=0

  # also FILE LINE: stands in the trees that follow; without arguments no longer.
  also() {
    other_file=${1:-} other_line=${2:-}
  }
  also

  # expect STATUS WORDS FILE LINE...: a tree of one file with these lines; WORDS must appear in the output.
  expect() {
    status=$1 words=$2 file=$3
    shift 3
    rm -rf "$tree/src"
    mkdir -p "$tree/src/$(dirname "$file")"
    printf '%s\n' "$@" > "$tree/src/$file"
    if [ -n "$other_file" ]; then
      mkdir -p "$tree/src/$(dirname "$other_file")"
      printf '%s\n' "$other_line" > "$tree/src/$other_file"
    fi
    got=0
    output=$(check "$tree/src" 2>&1) || got=$?
    case $output in
      *"$words"*) ;;
      *) got="$got, without the words '$words'" ;;
    esac
    if [ "$got" != "$status" ]; then
      failures=$((failures + 1))
      printf 'self-test: %s with %s: expected exit %s, got %s\n%s\n' "$file" "$*" "$status" "$got" "$output"
    fi
  }

  expect 0 'no violation' kernels/a_parity_test.cc '#include "kernels/a.h"' '#include <ATen/ATen.h>' '#include "tensor/device.h"'
  expect 0 'no violation' tensor/a_test_support.h '#include <ATen/ATen.h>'
  expect 0 'no violation' base/a.h '#include <string>' '// #include "train/train.h"'
  expect 0 'no violation' config/a.cc '#include <yaml-cpp/yaml.h>'
  expect 0 'no violation' commands/train/train.cc '#include "train/train.h"'
  expect 1 'src/mesh/a.cc:2: mesh (layer 2) includes model/stage.h (layer 7)' mesh/a.cc '' '#include "model/stage.h"'
  expect 1 'src/model/a.cc:1: model (layer 7) includes optimizer' model/a.cc '#include "optimizer/adam.h"'
  expect 1 'src/base/a_test.cc:1: base (layer 0)' base/a_test.cc '  #  include <config/config.h>'
  expect 1 'src/kernels/a.cc:1: only tests include libtorch' kernels/a.cc '#include <ATen/ATen.h>'
  expect 1 'src/cuda/a.cuh:1: cuda (layer 1) includes kernels/a.h (layer 4)' cuda/a.cuh '#include "kernels/a.h"'
  expect 1 'src/cuda/a.cuh:1: is part of a circle of includes' cuda/a.cuh '#include "cuda/a.cuh"'
  expect 1 'src/cuda/a_test.cc:1: cuda (layer 1) includes cpu/a.h (layer 1)' cuda/a_test.cc '#include "cpu/a.h"'
  expect 1 'src/config/a.h:1: nlohmann/json.hpp belongs' config/a.h '#include <nlohmann/json.hpp>'
  expect 1 'src/mesh/a.h:1: is part of a circle of includes' mesh/a.h '#include "mesh/a.h"'
  also config/choices.h 'constexpr Words<2> words_of(Mix) { return {"under", "over"}; }'
  expect 1 'src/plan/a.cc:1: compares with "over"' plan/a.cc 'if (mix == "over") return;'
  expect 0 'no violation' plan/a.cc 'if (key == "__metadata__") return;'
  also
  expect 1 'src/diagnosis/a.cc:1: looks for words' diagnosis/a.cc 'if (holds(report.text, {"is behind:"})) return;'
  expect 1 'src/rendezvous/a.cc:1: looks for words' rendezvous/a.cc 'if (text.rfind(" failed: ", 0) == 0) return;'
  expect 1 'src/commands/monitor/a.cc:1: looks for words' commands/monitor/a.cc 'if (f.text.find(" times slower ") != npos) return;'
  expect 1 'src/exporters/a.cc:1: looks for words' exporters/a.cc 'if (place == "saving a checkpoint") return;'
  expect 0 'no violation' records/old_sentences.cc 'return text.find("is behind") != npos;'
  expect 0 'no violation' diagnosis/a.cc 'const auto end = text.find(", "); say("rank {} is behind", rank);'
  expect 1 'src/comm/a.h:1: only tests include libtorch' comm/a.h '#include <torch/csrc/distributed/c10d/Store.hpp>'
  expect 1 'src/config/a.h:1: yaml-cpp/yaml.h belongs' config/a.h '#include "yaml-cpp/yaml.h"'
  expect 1 'names no module' model/a.cc '#include "../train/train.h"'
  expect 1 'names no module' model/a.cc '#include "stage.h"'
  expect 1 'is no module on a layer' cellar/a.cc '#include <string>'
  expect 1 '2 violations in 1 files' base/a.cc '#include "config/config.h"' '#include "mesh/mesh.h"'
  expect 2 'no .h or .cc file' base/notes.txt 'a tree without sources proves nothing'

  if [ "$failures" -gt 0 ]; then
    echo "check_layers: self-test failed $failures times"
    exit 1
  fi
  echo "check_layers: self-test passed"
}

case ${1:-} in
  --self-test) self_test ;;
  -*)
    echo "usage: check_layers.sh [SOURCE_FOLDER | --self-test]" >&2
    exit 2
    ;;
  *) check "${1:-$(cd "$(dirname "$0")/.." && pwd)/src}" ;;
esac
