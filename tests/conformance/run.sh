#!/bin/bash
# Compares Troika with transformers, PEFT, tokenizers, LLaMA-Factory and DeepSpeed themselves, by hand: some gigabytes from a
# package registry, and about half an hour on two cores.
#   tests/conformance/run.sh TROIKA [FOLDER] [SUBJECT...]
# TROIKA: build/release/troika of a build with tests. FOLDER keeps the packages for the next time; without one, or with -, a
# temporary one is made and removed. SUBJECT: models training adapters tokenizers chat_templates settings_files; without any, all.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
troika=$(realpath "$1")
folder=${2:--}
shift $(( $# < 2 ? $# : 2 ))
subjects=${*:-models training adapters tokenizers chat_templates settings_files}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ "$folder" != - ] || folder=$work/packages
mkdir -p "$folder"
folder=$(realpath "$folder")
python=$folder/venv/bin/python

install() {
  python3 -m venv "$folder/venv"
  "$python" -m pip install -q -r "$here/requirements.txt"
  "$python" -m pip install -q --no-deps --target "$folder/llama-factory" -r "$here/requirements-llama-factory.txt"
  # Of DeepSpeed the sources are enough: its parser is Python, and building is another matter.
  "$python" -m pip download -q --no-deps --no-build-isolation --no-binary :all: -d "$folder" deepspeed==0.19.8
  mkdir -p "$folder/deepspeed"
  tar xzf "$folder"/deepspeed-0.19.8.tar.gz -C "$folder/deepspeed" --strip-components=1
  cat "$here"/requirements*.txt > "$folder/installed"
}
cat "$here"/requirements*.txt | cmp -s - "$folder/installed" || install

export TROIKA=$troika OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1 PYTHONDONTWRITEBYTECODE=1
failed=0
for subject in $subjects; do
  more=()
  [ "$subject" != settings_files ] || more=("$folder/llama-factory" "$folder/deepspeed")
  mkdir -p "$work/$subject"
  "$python" "$here/check_$subject.py" "$work/$subject" ${more[@]+"${more[@]}"} || failed=1
done
exit $failed
