#!/usr/bin/env bash
# Kills ranks and launchers of small runs at random, in every phase of a run and on every layout, starts the launchers that died
# again, and checks: the losses and the last checkpoint have the bits of a run that was left alone, no checkpoint that was complete is
# lost, nor more steps than lie between two (where training waits for its saves; else between three), no process is left, deaths and
# silences are named in time. A JSON line for each kill, then distributions.
#
#   tools/soak.sh N [SECONDS [SEED [FIRST [LAYOUTS]]]]
#   tools/soak.sh --summary FILE...     the distributions of what several soaks printed
#
# N kills, or as many as fit into SECONDS (0: all), from number FIRST on, on these layouts (dp2,pp2; without: all).
#
# Needs a build with tests (build/release, or the folder in TROIKA_BUILD). What a kill left behind stays in the folder that is named at
# the end when something was not as promised.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
build=${TROIKA_BUILD:-$root/build/release}
if [ "${1:-}" = --summary ]; then exec "$build/troika_soak" "$@"; fi
kills=${1:?how many kills}
shift
work=$(mktemp -d "${TMPDIR:-/tmp}/troika-soak-XXXXXX")
"$build/troika_soak" "$build" "$work" "$kills" "$@"
code=$?
if [ $code = 0 ]; then rm -rf "$work"; else echo "soak: what is left is in $work"; fi
exit $code
