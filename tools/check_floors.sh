#!/bin/sh
# Checks the house's rules about includes (ARCHITECTURE.md, "rooms on floors"):
#   - a room includes only rooms on lower floors, and itself;
#   - rooms that never load libtorch include neither its headers nor a room that needs it;
#   - project headers include at most ATen/core/Tensor.h of libtorch (and c10);
#   - CLI11 and yaml-cpp appear in .cc files only.
# Prints each violation as file:line and exits 1 if there is one.
#
#   tools/check_floors.sh [SOURCE_FOLDER]   default: src beside this script's folder
#   tools/check_floors.sh --self-test       proves on small trees that every rule can fail
set -eu

check() {
  root=$1
  if [ ! -d "$root" ]; then
    echo "check_floors: no folder '$root'" >&2
    return 2
  fi
  list=$(find "$root" -type f \( -name '*.h' -o -name '*.cc' \) | LC_ALL=C sort)
  if [ -z "$list" ]; then
    echo "check_floors: no .h or .cc file under '$root'" >&2
    return 2
  fi
  printf '%s\n' "$list" | awk -v root="$root" "$rules"
}

# Reads file names on standard input.
rules='
function set_floor(number, names,    i, n, list) {
  n = split(names, list, " ")
  for (i = 1; i <= n; ++i) floor[list[i]] = number
}
function mark(names, into,    i, n, list) {
  n = split(names, list, " ")
  for (i = 1; i <= n; ++i) into[list[i]] = 1
}
BEGIN {
  set_floor(0, "base")
  set_floor(1, "config cpu jinja tensor")
  set_floor(2, "mesh metrics rendezvous")
  set_floor(3, "comm schedule data kernels")
  set_floor(4, "sharding cost datasets")
  set_floor(5, "model optimizer")
  set_floor(6, "executor checkpoint")
  set_floor(7, "train")
  set_floor(8, "commands")
  mark("tensor comm kernels sharding model optimizer executor checkpoint train", needs_torch)
  mark("base config cpu jinja datasets mesh metrics rendezvous schedule data cost", torch_free)
  mark("launch data timeline cli.h cli.cc main.cc", torch_free_command)
  violations = files = 0
}
function report(message) {
  printf "%s:%d: %s\n", path, line, message
  ++violations
}
function check_include(target,    other, slash, is_torch) {
  is_torch = target ~ /^(ATen|c10|torch|caffe2)\//
  if (is_free && is_torch) report(where " never loads libtorch, but includes " target)
  if (is_header && is_torch && target != "ATen/core/Tensor.h" && target !~ /^c10\//) {
    report("a header may include ATen/core/Tensor.h and c10 of libtorch, not " target)
  }
  if (is_header && target ~ /^(CLI|yaml-cpp)\//) report(target " belongs in a .cc file")
  slash = index(target, "/")
  other = slash > 0 ? substr(target, 1, slash - 1) : ""
  if (!(other in floor)) {
    if (quoted) report("\"" target "\" names no room; write \"room/file.h\"")
    return
  }
  if (other != room && floor[other] >= floor[room]) {
    report(room " (floor " floor[room] ") includes " target " (floor " floor[other] ")")
  }
  if (is_free && (other in needs_torch)) report(where " never loads libtorch, but includes " target ", whose room does")
}
{
  path = $0
  line = 0
  ++files
  inside = substr(path, length(root) + 2)
  count = split(inside, part, "/")
  room = count > 1 ? part[1] : ""
  if (!(room in floor)) {
    report("\"" room "\" is no room on a floor; add it to this script and to ARCHITECTURE.md")
    next
  }
  is_header = path ~ /\.h$/
  is_free = (room in torch_free) || (room == "commands" && (part[2] in torch_free_command))
  where = room == "commands" ? room "/" part[2] : room
  while ((got = (getline text < path)) > 0) {
    ++line
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
  if (violations > 0) {
    printf "check_floors: %d violation%s in %d files\n", violations, violations == 1 ? "" : "s", files
    exit 1
  }
  printf "check_floors: %d files, no violation\n", files
}
'

self_test() {
  tree=$(mktemp -d)
  trap 'rm -rf "$tree"' EXIT
  failures=0

  # expect STATUS WORDS FILE LINE...: a tree of one file with these lines; WORDS must appear in the output.
  expect() {
    status=$1 words=$2 file=$3
    shift 3
    rm -rf "$tree/src"
    mkdir -p "$tree/src/$(dirname "$file")"
    printf '%s\n' "$@" > "$tree/src/$file"
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

  expect 0 'no violation' kernels/a.cc '#include "kernels/a.h"' '#include <ATen/ATen.h>' '#include "tensor/device.h"'
  expect 0 'no violation' base/a.h '#include <string>' '// #include "train/train.h"'
  expect 0 'no violation' model/a.h '#include <ATen/core/Tensor.h>' '#include <c10/core/Device.h>'
  expect 0 'no violation' config/a.cc '#include <yaml-cpp/yaml.h>' '#include <CLI/CLI.hpp>'
  expect 0 'no violation' commands/train/train.cc '#include <ATen/ATen.h>' '#include "train/train.h"'
  expect 1 'src/mesh/a.cc:2: mesh (floor 2) includes model/stage.h (floor 5)' mesh/a.cc '' '#include "model/stage.h"'
  expect 1 'src/model/a.cc:1: model (floor 5) includes optimizer' model/a.cc '#include "optimizer/adam.h"'
  expect 1 'src/base/a_test.cc:1: base (floor 0)' base/a_test.cc '  #  include <config/config.h>'
  expect 1 'src/schedule/a.cc:1: schedule never loads libtorch' schedule/a.cc '#include <ATen/ATen.h>'
  expect 1 'src/data/a.cc:1: data never loads libtorch' data/a.cc '#include <c10/util/Exception.h>'
  expect 1 'src/cost/a.cc:1: cost never loads libtorch' cost/a.cc '#include "kernels/linear.h"'
  expect 1 'commands/launch never loads libtorch' commands/launch/a.cc '#include "train/train.h"'
  expect 1 'commands/main.cc never loads libtorch' commands/main.cc '#include <torch/version.h>'
  expect 1 'src/kernels/a.h:1: a header may include' kernels/a.h '#include <ATen/ATen.h>'
  expect 1 'src/comm/a.h:1: a header may include' comm/a.h '#include <torch/csrc/distributed/c10d/Store.hpp>'
  expect 1 'src/config/a.h:1: CLI/CLI.hpp belongs' config/a.h '#include <CLI/CLI.hpp>'
  expect 1 'src/config/a.h:1: yaml-cpp/yaml.h belongs' config/a.h '#include "yaml-cpp/yaml.h"'
  expect 1 'names no room' model/a.cc '#include "../train/train.h"'
  expect 1 'names no room' model/a.cc '#include "stage.h"'
  expect 1 'is no room on a floor' cellar/a.cc '#include <string>'
  expect 1 '2 violations in 1 files' base/a.cc '#include "config/config.h"' '#include "mesh/mesh.h"'
  expect 2 'no .h or .cc file' base/notes.txt 'a tree without sources proves nothing'

  if [ "$failures" -gt 0 ]; then
    echo "check_floors: self-test failed $failures times"
    exit 1
  fi
  echo "check_floors: self-test passed"
}

case ${1:-} in
  --self-test) self_test ;;
  -*)
    echo "usage: check_floors.sh [SOURCE_FOLDER | --self-test]" >&2
    exit 2
    ;;
  *) check "${1:-$(cd "$(dirname "$0")/.." && pwd)/src}" ;;
esac
