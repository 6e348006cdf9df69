#!/bin/sh
# Trains 14 short runs (families, layouts, LoRA, packing, bf16, fp16, recomputation) and prints a line each: its name and the bits of its losses.
# Two builds whose lines are equal compute the same. Losses in fp32 depend on the processor's instructions, so compare on one machine.
#
#   tools/loss-bits.sh PROGRAM > LINES
set -eu
[ $# -eq 1 ] || { echo "usage: loss-bits.sh PROGRAM" >&2; exit 2; }
program=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
i=0
while [ $i -lt 400 ]; do
  echo "line $i of a text whose words come in no order: $((i * 7919 % 401)) then $((i * 104729 % 977)) and again $((i * 31 % 17))"
  i=$((i + 1))
done > text.txt
sed 's/.*/{"messages": [{"role": "user", "content": "&"}, {"role": "assistant", "content": "yes"}]}/' text.txt > talks.jsonl

train() {  # NAME RANKS FLAGS...
  name=$1 ranks=$2
  shift 2
  "$program" launch --nproc-per-node "$ranks" -- train --data.train text.txt --data.tokenizer bytes --seq-len 64 \
    --global-batch-size 8 --micro-batch-size 2 --steps 6 --train.threads 1 --out "$name" "$@" > "$name.log" 2>&1 || { cat "$name.log" >&2; exit 1; }
  bits=$(sed -n 's/.*"loss_bits": "\([0-9a-f]*\)".*/\1/p' "$name/metrics.jsonl" | tr '\n' ' ')
  [ -n "$bits" ] || { echo "loss-bits: $name has no losses" >&2; exit 1; }
  echo "$name $bits"
}

train qwen3 1 --model.preset qwen3-tiny
train llama 1 --model.architecture llama --model.layers 2 --model.hidden 64 --model.heads 4 --model.kv-heads 2 --model.ffn 128
train qwen2 1 --model.architecture qwen2 --model.layers 2 --model.hidden 64 --model.heads 4 --model.kv-heads 2 --model.ffn 128
train gpt2 1 --model.preset gpt2-tiny
train bf16 1 --bf16
train fp16 1 --fp16
train recompute 1 --recompute full
train packing 1 --data.train talks.jsonl --chat-template chatml --packing true --seq-len 256
train lora 1 --model.path qwen3 --lora.rank 4
train dp 2
train pp 3 --pp 3
train tp 2 --tp 2
train cp 2 --cp 2
train zero3 2 --zero 3
