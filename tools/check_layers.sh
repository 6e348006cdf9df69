#!/bin/sh
# Checks the rules about includes (ARCHITECTURE.md, "Modules"):
#   - a module includes only modules on lower layers, and itself;
#   - a building includes only itself and those below it: numbers the ground, the engine and the companions both of these, so that
#     no companion includes the engine, nor the engine a companion; commands include all;
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
function set_layer(number, names,    i, n, list, at, room) {
  n = split(names, list, " ")
  for (i = 1; i <= n; ++i) {
    split(list[i], at, "/")
    room = at[2] == "" ? at[1] : at[2]
    layer[room] = number
    building_of[room] = at[1]
  }
}
function mark(names, into,    i, n, list) {
  n = split(names, list, " ")
  for (i = 1; i <= n; ++i) into[list[i]] = 1
}
BEGIN {
  set_layer(0, "ground/base")
  set_layer(1, "ground/gguf")
  set_layer(2, "ground/host ground/config engine/cpu ground/jinja")
  set_layer(3, "numbers/mesh numbers/shape engine/cuda engine/tensor ground/metrics ground/http numbers/machine")
  set_layer(4, "ground/records engine/gpu engine/tokenizer")
  set_layer(5, "ground/exporters engine/rendezvous numbers/schedule engine/kernels")
  set_layer(6, "engine/comm engine/launch numbers/plan companions/diagnosis companions/doctor companions/monitor")
  set_layer(7, "engine/sharding engine/data numbers/planner")
  set_layer(8, "engine/model engine/optimizer companions/sweep")
  set_layer(9, "engine/executor engine/checkpoint companions/serve")
  set_layer(10, "engine/weights")
  set_layer(11, "engine/inference")
  set_layer(12, "engine/train")
  set_layer(13, "engine/bench")
  set_layer(14, "engine/probe")
  set_layer(15, "commands")
  below["numbers"] = "ground"
  below["engine"] = below["companions"] = "ground numbers"
  below["commands"] = "ground numbers engine companions"
  # Where a word is one of a file format, or of a text that config cannot parse for a module beside it.
  mark("gpu/device.cc data/source.cc data/record_format.cc data/conversations.cc tokenizer/tokenizer_document.cc checkpoint/manifest.cc rendezvous/identity.cc schedule/trace/trace_folder.cc", own_words)
  mark("base gguf config jinja launch monitor sweep serve bench probe commands", above_words)
  # What was written before there were values, and what others write: keys of /proc, verbs of two words.
  mark("records/old_sentences.cc train/reproducibility.cc commands/launch/options.cc", reads_words)
  mark("rendezvous records diagnosis exporters comm launch train planner monitor sweep serve commands", hears_sentences)
  phrase = "\"[^\"]*[A-Za-z],? [A-Za-z]"  # two words
  within = "\" [A-Za-z]"  # a word behind others
  labelled = "\"[^\"]*[A-Za-z][A-Za-z]: ?\""  # a word and a colon at the end
  choices = root "/ground/config/choices.h"
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
  if (text ~ ("\\.r?find\\((0, )?(" phrase "|" within ")") || text ~ ("\\.compare\\([^\"]*" phrase) || text ~ ("[^a-z_](holds|has|contains|first_with)\\(([a-z_.*>-]+, )?\\{?" phrase) || text ~ ("[=!]= " phrase) || text ~ ("\\.r?find\\((0, )?" labelled) || text ~ "[^a-z_](mark|head|words) = \"[^\"]*[A-Za-z][A-Za-z][ :]" || text ~ ("sscanf\\([^\"]*\"[^\"]*[A-Za-z][A-Za-z]"))
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
    path = place[file]
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
    place[inside] = path
  }
  slash = index(target, "/")
  other = slash > 0 ? substr(target, 1, slash - 1) : ""
  if (!(other in layer)) {
    if (quoted) report("\"" target "\" names no module; write \"module/file.h\"")
    return
  }
  if (building_of[other] != building && (" " below[building] " ") !~ (" " building_of[other] " ")) {
    report(module " (" building ") includes " target " (" building_of[other] ")")
  } else if (other != module && layer[other] >= layer[module]) {
    report(module " (layer " layer[module] ") includes " target " (layer " layer[other] ")")
  }
}
{
  path = $0
  line = 0
  ++files
  inside = substr(path, length(root) + 2)
  count = split(inside, part, "/")
  building = part[1]
  module = building == "commands" ? building : part[2]
  if (count < 2 || building_of[module] != building) {
    report("\"" building "/" module "\" is no module on a layer; add it to this script and to ARCHITECTURE.md")
    next
  }
  if (module != building) inside = substr(inside, length(building) + 2)  # as includes name it
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

  expect 0 'no violation' engine/kernels/a_parity_test.cc '#include "kernels/a.h"' '#include <ATen/ATen.h>' '#include "tensor/device.h"'
  expect 0 'no violation' engine/tensor/a_test_support.h '#include <ATen/ATen.h>'
  expect 0 'no violation' ground/base/a.h '#include <string>' '// #include "train/train.h"'
  expect 0 'no violation' ground/config/a.cc '#include <yaml-cpp/yaml.h>'
  expect 0 'no violation' commands/train/train.cc '#include "train/train.h"'
  expect 1 'src/numbers/mesh/a.cc:2: mesh (numbers) includes model/stage.h (engine)' numbers/mesh/a.cc '' '#include "model/stage.h"'
  expect 1 'src/engine/model/a.cc:1: model (layer 8) includes optimizer' engine/model/a.cc '#include "optimizer/adam.h"'
  expect 1 'src/ground/base/a_test.cc:1: base (layer 0)' ground/base/a_test.cc '  #  include <config/config.h>'
  expect 1 'src/engine/kernels/a.cc:1: only tests include libtorch' engine/kernels/a.cc '#include <ATen/ATen.h>'
  expect 1 'src/engine/cuda/a.cuh:1: cuda (layer 3) includes kernels/a.h (layer 5)' engine/cuda/a.cuh '#include "kernels/a.h"'
  expect 1 'src/engine/cuda/a.cuh:1: is part of a circle of includes' engine/cuda/a.cuh '#include "cuda/a.cuh"'
  expect 1 'src/engine/cuda/a_test.cc:1: cuda (layer 3) includes tensor/a.h (layer 3)' engine/cuda/a_test.cc '#include "tensor/a.h"'
  expect 1 'src/ground/config/a.h:1: nlohmann/json.hpp belongs' ground/config/a.h '#include <nlohmann/json.hpp>'
  expect 1 'src/numbers/mesh/a.h:1: is part of a circle of includes' numbers/mesh/a.h '#include "mesh/a.h"'
  also ground/config/choices.h 'constexpr Words<2> words_of(Mix) { return {"under", "over"}; }'
  expect 1 'src/numbers/plan/a.cc:1: compares with "over"' numbers/plan/a.cc 'if (mix == "over") return;'
  expect 0 'no violation' numbers/plan/a.cc 'if (key == "__metadata__") return;'
  also
  expect 1 'src/engine/comm/a.h:1: only tests include libtorch' engine/comm/a.h '#include <torch/csrc/distributed/c10d/Store.hpp>'
  expect 1 'src/ground/config/a.h:1: yaml-cpp/yaml.h belongs' ground/config/a.h '#include "yaml-cpp/yaml.h"'
  expect 1 'names no module' engine/model/a.cc '#include "../train/train.h"'
  expect 1 'names no module' engine/model/a.cc '#include "stage.h"'
  expect 1 'diagnosis (companions) includes train/train.h (engine)' companions/diagnosis/a.cc '#include "train/train.h"'
  expect 1 'train (engine) includes doctor/check.h (companions)' engine/train/a.cc '#include "doctor/check.h"'
  expect 1 'is no module on a layer' engine/records/a.cc '#include "records/a.h"'
  expect 1 'src/companions/diagnosis/a.cc:1: looks for words' companions/diagnosis/a.cc 'if (holds(report.text, {"is behind:"})) return;'
  expect 1 'src/engine/rendezvous/a.cc:1: looks for words' engine/rendezvous/a.cc 'if (text.rfind(" failed: ", 0) == 0) return;'
  expect 1 'src/commands/monitor/a.cc:1: looks for words' commands/monitor/a.cc 'if (f.text.find(" times slower ") != npos) return;'
  expect 1 'src/ground/exporters/a.cc:1: looks for words' ground/exporters/a.cc 'if (place == "saving a checkpoint") return;'
  expect 1 'src/companions/sweep/a.cc:1: looks for words' companions/sweep/a.cc 'const std::string mark = ", resident ";'
  expect 1 'src/companions/diagnosis/a.cc:1: looks for words' companions/diagnosis/a.cc 'const auto at = line.find("threads: ");'
  expect 1 'src/companions/diagnosis/a.cc:1: looks for words' companions/diagnosis/a.cc 'std::sscanf(line.c_str(), "threads: %d", &n);'
  expect 0 'no violation' ground/records/old_sentences.cc 'return text.find("is behind") != npos;'
  expect 0 'no violation' companions/diagnosis/a.cc 'const auto end = text.find(", "); say("rank {} is behind", rank);'
  expect 1 'is no module on a layer' cellar/a.cc '#include <string>'
  expect 1 '2 violations in 1 files' ground/base/a.cc '#include "config/config.h"' '#include "mesh/mesh.h"'
  expect 2 'no .h or .cc file' ground/base/notes.txt 'a tree without sources proves nothing'

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
