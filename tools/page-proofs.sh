#!/bin/sh
# What the page of `troika serve` costs, and fuzzing of what it reads. By hand.
#
#   tools/page-proofs.sh step WATCHERS     a run of two ranks that so many pages watch (0: without a server): prints "seconds X", the mean
#                                          time of a step. In alternation with 0 and 100 it says what 100 open pages cost (20 s each)
#   tools/page-proofs.sh runs FOLDER       200 folders that look like runs and one of 10^6 steps, to look at by hand
#   tools/page-proofs.sh fuzz [SECONDS]    every fuzz target of the page and of HTTP, two at a time (600 s each)
#
# TROIKA_BUILD: the folder with troika (build/release).
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
troika=${TROIKA_BUILD:-$root/build/release}/troika

case ${1:-} in
  step | runs)
    [ $# = 2 ] || { sed -n '4,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }
    exec node "$root/tests/page/proofs.mjs" "$troika" "$1" "$2"
    ;;
  fuzz)
    "$root/fuzz/build.sh"
    # Those that read what a client or a page sends, or files of runs for the page.
    targets=$(cd "$root/fuzz" && grep -lE '"(commands/serve|http)/' ./*.cc | sed 's|^\./||; s|\.cc$||')
    echo "$targets" | xargs -P 2 -I {} sh -c '
      "$1/fuzz/run.sh" "$2" "$3" > "$1/build/fuzz/$2.text" 2>&1 && how=ok || how="FAIL ($?)"
      echo "$how: $2, $(grep -o "stat::number_of_executed_units: *[0-9]*" "$1/build/fuzz/$2.text" | grep -o "[0-9]*$") inputs in $3 s"
      [ "$how" = ok ] || { tail -n 20 "$1/build/fuzz/$2.text"; exit 1; }' sh "$root" {} "${2:-600}"
    ;;
  *)
    sed -n '2,10s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
