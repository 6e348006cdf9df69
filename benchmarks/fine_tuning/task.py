"""The fine-tuning that both sides do: its data, adapters and settings."""
import json

import peft
import torch
import transformers

import conversations
import real_lengths
import support
import training

RANK, ALPHA = 16, 32
PROJECTIONS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
LEARNING_RATES = {"lora": 2e-4, "full": 2e-5}


def recipe(mode, steps, batch, ranks):
    return training.Recipe(steps=steps, lr=LEARNING_RATES[mode], warmup=0, schedule="constant", decay=0.0, batch=batch,
                           ranks=ranks)


def make_data(model, folder, seed):
    """The conversations, the chat template, and what transformers makes of both: a line of ids and labels per sample."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    tokenizer.chat_template = conversations.TEMPLATE
    made = real_lengths.conversations(seed)
    (folder / "template.jinja").write_text(conversations.TEMPLATE)
    support.write_jsonl(folder / "conversations.jsonl", made)
    rows = [conversations.ids_and_labels(tokenizer, one["messages"]) for one in made]
    support.write_jsonl(folder / "samples.jsonl", rows)


def make_adapter(model, folder):
    torch.manual_seed(1)
    base = transformers.AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
    settings = peft.LoraConfig(r=RANK, lora_alpha=ALPHA, lora_dropout=0.0, target_modules=PROJECTIONS, task_type="CAUSAL_LM")
    peft.get_peft_model(base, settings).save_pretrained(folder)


def read_samples(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def tokens_of(row):
    return len(row["input_ids"])


def targets_of(row):
    """The first token has no prediction."""
    return sum(label != -100 for label in row["labels"][1:])
