#!/bin/sh
# What release-check.sh does with a program in a root of its own: the demo of three processes and what its checkpoint is good for.
#   tools/release-trial.sh TROIKA [FOLDER]      FOLDER: with texts in FOLDER/text, default /trial
set -eu
cd "${2:-/trial}"
rm -rf run exported
"$1" version
"$1" demo run --text text --steps "$STEPS" > demo.text || { cat demo.text && exit 1; }
awk '/^first step/ { found = 1; exit !($3 - 0.3 > $6) } END { exit !found }' demo.text || { cat demo.text && exit 1; }
"$1" eval run/run --data.valid text/doctor.md --seq-len 128
printf 'Who may copy this?\nAnd sell it?\n' | "$1" chat run/run --chat-template chatml --max-new-tokens 20 > chat.text
[ "$(wc -l < chat.text)" -ge 2 ]
"$1" export run/run exported
"$1" generate exported --prompt "Permission is " --max-new-tokens 20
echo "figure: $(grep '^first step' demo.text)"
