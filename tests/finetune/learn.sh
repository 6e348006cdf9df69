#!/usr/bin/env bash
# A small model learns a made dataset by full fine-tuning, with frozen layers and with LoRA; each must then answer at least
# 95 % of the prompts exactly. Two layouts of each way have the same bits.
#   tests/finetune/learn.sh PROGRAM FOLDER      FOLDER is recreated
set -euo pipefail
troika=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"

fail() { echo "learn: $*" >&2; exit 1; }

# Names without meaning and their towns: nothing but the dataset says which belongs to which.
awk 'BEGIN {
  split("ba de fi go lu ma ne po ri su ta ve wi xo yu za", a, " ")
  for (i = 0; i < 20; ++i) {
    name = a[i % 16 + 1] a[(i * 7 + 3) % 16 + 1] a[(i * 5 + 1) % 13 + 2]
    town = a[(i * 11 + 5) % 16 + 1] a[(i * 3 + 2) % 16 + 1]
    printf "{\"instruction\": \"Where does %s live?\", \"input\": \"\", \"output\": \"In %s.\"}\n", name, town
    printf "%s lives. In %s. Where does %s live? In %s.\n", town, name, name, a[i % 9 + 3] a[i % 7 + 5] > "words.txt"
  }
}' > towns.jsonl

$troika data tokenizer words.txt towns.jsonl --text-key instruction --vocab 320 --out tokenizer >/dev/null
cat > tokenizer/tokenizer_config.json <<'JSON'
{"eos_token": "<|endoftext|>", "bos_token": null,
 "chat_template": "{% for message in messages %}{{ message.role }}: {{ message.content }}{% if message.role == 'assistant' %}{{ eos_token }}{% endif %}\n{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"}
JSON

common=(--data.tokenizer tokenizer --seq-len 48 --micro-batch-size 5 --global-batch-size 20 --seed 3 --log.progress none
  --checkpoint.keep-best false)
$troika train --model.layers 4 --model.hidden 64 --model.heads 4 --model.kv-heads 2 --model.head-dim 16 --model.ffn 192 \
  --model.init-std 0.08 --data.train words.txt "${common[@]}" --steps 60 --lr 3e-3 --out base >base.log 2>&1 || { cat base.log; exit 1; }
$troika export base model >/dev/null
cp tokenizer/tokenizer_config.json model/

jq -c '{prompt: ("user: " + .instruction + "\nassistant: "), output}' towns.jsonl > prompts.jsonl

# learn NAME FLAGS...: trains, alone and in two processes, and counts exact answers.
learn() {
  local name=$1
  shift
  local flags=(--model.path model --data.train towns.jsonl "${common[@]}" --optimizer.weight-decay 0 "$@")
  $troika train "${flags[@]}" --out "$name" > "$name.log" 2>&1 || { cat "$name.log"; fail "$name does not train"; }
  $troika launch --nproc-per-node 2 -- train "${flags[@]}" --steps 12 --pp 2 --train.threads 1 --out "$name-2" > "$name-2.log" 2>&1 ||
    { cat "$name-2.log"; fail "$name does not train in two processes"; }
  for run in "$name" "$name-2"; do grep -o '"loss_bits": "[0-9a-f]*"' "$run/metrics.jsonl" | head -10 > "$run.bits"; done
  cmp "$name.bits" "$name-2.bits" || fail "$name: two layouts differ"
  $troika generate "$name" --input prompts.jsonl --output "$name.answers" --temperature 0 --max-new-tokens 24 >/dev/null 2>"$name.generate" ||
    { cat "$name.generate"; fail "$name does not generate"; }
  jq -s --slurpfile made "$name.answers" '[range(length) as $i | select(.[$i].output == $made[$i].completion)] | length' \
    prompts.jsonl > "$name.exact"
  echo "$name: $(cat "$name.exact") of 20 answers exact, $(grep -m1 '^trains' "$name.log" || echo 'all parameters trained')"
  [ "$(cat "$name.exact")" -ge 19 ] || fail "$name: fewer than 95 %"
}

learn full --steps 80 --lr 3e-3 --optimizer.lr-schedule constant
learn frozen --steps 160 --lr 3e-3 --optimizer.lr-schedule constant --trainable-layers 2
learn lora --steps 160 --lr 1e-2 --optimizer.lr-schedule constant --lora.rank 16 --lora.alpha 32
learn packed --steps 80 --lr 3e-3 --optimizer.lr-schedule constant --data.packing --global-batch-size 5 --micro-batch-size 1 --seq-len 96

# Run, adapter beside its base, and merged folder evaluate alike.
$troika export lora adapter >/dev/null
$troika export lora merged --merge >/dev/null
: > lora.losses
for made in lora adapter merged; do
  $troika eval --model.path $made --data.valid towns.jsonl --data.tokenizer tokenizer --seq-len 48 --json > $made.json 2>$made.eval ||
    { cat $made.eval; fail "$made does not evaluate"; }
  jq -r --arg made $made '"\($made): loss \(.loss | numbers)"' $made.json | tee -a lora.losses
done
awk '{ if (NR == 1) first = $3; if (($3 - first) ^ 2 <= (1e-5 * first) ^ 2 && $3 > 0) ++alike } END { exit alike != 3 }' lora.losses ||
  fail "run, adapter and merged model differ"
