"""PEFT's adapters in Troika, Troika's in PEFT, and 100 steps of LoRA beside a loop of PEFT and torch.optim.AdamW.

    check_adapters.py WORK_FOLDER"""
import json
import pathlib
import sys

import peft
import safetensors.torch
import torch

import check_models
import check_training
import small_models
import support
import training

LIMIT = 1e-5
ALL = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
ATTENTION = ["q_proj", "k_proj", "v_proj", "o_proj"]
PATTERNS = {"rank_pattern": {"q_proj": 5, r"layers\.1\.mlp\.down_proj": 1},
            "alpha_pattern": {"v_proj": 3, "model.layers.0.mlp.up_proj": 16}}
# By name: family, what of LoraConfig is not the default.
READ = {
    "every projection": ("qwen3", {"target_modules": ALL}),
    "two projections, rank 3": ("llama", {"target_modules": ["q_proj", "v_proj"], "r": 3, "lora_alpha": 7}),
    "all-linear": ("qwen2", {"target_modules": "all-linear"}),
    "regular expression": ("mistral", {"target_modules": r".*\.layers\.[01]\.self_attn\.(q|o)_proj"}),
    "rank-stabilised": ("llama, llama3 scaling", {"target_modules": ["gate_proj", "down_proj"], "use_rslora": True}),
    "several ranks and alphas": ("qwen3", {"target_modules": ALL, "use_rslora": True, **PATTERNS}),
    "projections left out": ("qwen2", {"target_modules": "all-linear", "exclude_modules": ["q_proj", "mlp.up_proj"]}),
}
REFUSED = {
    "DoRA": {"use_dora": True},
    "bias": {"bias": "lora_only"},
    "some layers left out": {"exclude_modules": r".*\.layers\.1\..*"},
    "a module saved whole": {"modules_to_save": ["lm_head"]},
    "projections of GPT-2": None,
}


def adapted(base, seed, **changed):
    """`base` with an adapter of PEFT's whose A and B are both drawn."""
    torch.manual_seed(seed)
    settings = {"r": 4, "lora_alpha": 8, "lora_dropout": 0.0, "task_type": "CAUSAL_LM", "init_lora_weights": False}
    return peft.get_peft_model(base, peft.LoraConfig(**{**settings, **changed})).eval()


def save_base(name, folder, seed):
    config = small_models.configs()[name]
    small_models.model_of(config, seed).save_pretrained(folder)
    return config


def of_troika(adapter, rows, work):
    """Logits that Troika gives with an adapter, base and adapter added."""
    data, out = support.write_jsonl(work / "rows.jsonl", rows), work / "logits.safetensors"
    support.troika("eval", adapter, "--data.valid", data, "--seq-len", check_models.SEQ_LEN, "--data.tokenizer", "bytes",
                   "--micro-batch-size", 1, "--json", "--logits", out)
    return safetensors.torch.load_file(out)["logits"]


def check_reading(name, family, changed, work):
    work.mkdir()
    config = save_base(family, work / "base", 21)
    model = adapted(small_models.loaded(work / "base"), 4, **changed)
    model.save_pretrained(work / "adapter")
    rows = check_models.samples(config.vocab_size)
    theirs = check_models.of_transformers(model, rows)[0]
    support.report_limit("adapters", f"{name} ({family}): logits of PEFT's adapter",
                         check_models.worst(of_troika(work / "adapter", rows, work), theirs), LIMIT)
    support.troika("export", work / "adapter", work / "again")
    back = peft.PeftModel.from_pretrained(small_models.loaded(work / "base"), work / "again").eval()
    again = check_models.of_transformers(back, rows)[0]
    report_worst(f"{name} ({family}): PEFT's logits from the export", again, theirs)
    support.troika("export", work / "adapter", work / "merged", "--merge")
    merged = check_models.of_transformers(small_models.loaded(work / "merged"), rows)[0]
    there = check_models.of_transformers(model.merge_and_unload().eval(), rows)[0]
    report_worst(f"{name} ({family}): merged, logits in transformers", merged, there)


def report_worst(what, ours, theirs):
    support.report_limit("adapters", what, max(map(support.difference, ours, theirs)), LIMIT)


def check_refusals(work):
    """What changes the arithmetic in a way that Troika has not is an error, never ignored."""
    for number, (name, changed) in enumerate(REFUSED.items()):
        place = work / f"refused-{number}"
        place.mkdir()
        save_base("gpt2" if changed is None else "qwen3, untied", place / "base", 3)
        settings = {"target_modules": ["c_attn"], "fan_in_fan_out": True} if changed is None else {
            "target_modules": ALL, **changed}
        adapted(small_models.loaded(place / "base"), 1, **settings).save_pretrained(place / "adapter")
        try:
            of_troika(place / "adapter", check_models.samples(320), place)
            support.report("adapters", f"refused: {name}", "taken", False)
        except support.TroikaRefused as refused:
            support.report("adapters", f"refused: {name}", f"exit code {refused.code}", refused.code in (2, 3))


def check_training_steps(family, targets, work):
    """100 steps from one adapter that PEFT began; A is drawn, B is zero."""
    work.mkdir()
    base, begun, run = work / "base", work / "begun", work / "run"
    config = small_models.configs(hidden=64)[family]
    small_models.model_of(config, 31, spread=0.05).save_pretrained(base)
    model = adapted(small_models.loaded(base), 6, target_modules=targets, init_lora_weights=True)
    model.save_pretrained(begun)
    rows = check_training.text_rows()
    data = support.write_jsonl(work / "rows.jsonl", [{"input_ids": row["input_ids"]} for row in rows])
    recipe = training.Recipe(steps=100, lr=5e-3, warmup=5, schedule="cosine", decay=0.05)
    support.troika("train", "--model.path", base, "--lora.path", begun, "--data.train", data, "--data.tokenizer", "bytes", "--seq-len",
                   check_training.SEQ_LEN, "--out", run, "--log.progress", "none", *recipe.flags())
    losses, norms = training.train(model, rows, recipe)
    training.compare("adapters", f"LoRA beside PEFT ({family})", run, losses, norms, check_training.LIMIT)
    support.troika("export", run, work / "ours")
    back = peft.PeftModel.from_pretrained(small_models.loaded(base), work / "ours").eval()
    probe = check_models.samples(config.vocab_size)
    ours, theirs = (check_models.of_transformers(one.eval(), probe)[0] for one in (back, model))
    support.report_limit("adapters", f"LoRA beside PEFT ({family}): logits of both results in PEFT",
                         max(map(support.difference, ours, theirs)), 1e-3)


def check_names(work):
    """The keys that PEFT writes are those that Troika writes."""
    names = [set(safetensors.torch.load_file(work / folder / "adapter_model.safetensors")) for folder in ("adapter", "again")]
    support.report("adapters", "names of tensors in the export", f"{len(names[0])} of PEFT, {len(names[0] ^ names[1])} differ",
                   names[0] == names[1])
    keys = [set(json.loads((work / folder / "adapter_config.json").read_text())) for folder in ("adapter", "again")]
    support.report("adapters", "keys of adapter_config.json in the export",
                   f"{len(keys[1])}, unknown to PEFT: {sorted(keys[1] - keys[0])}", not keys[1] - keys[0])


def main():
    work = pathlib.Path(sys.argv[1])
    work.mkdir(exist_ok=True)
    for number, (name, (family, changed)) in enumerate(READ.items()):
        check_reading(name, family, changed, work / str(number))
    check_names(work / "0")
    check_refusals(work)
    check_training_steps("qwen3", ALL, work / "steps-0")
    check_training_steps("llama", ATTENTION, work / "steps-1")
    support.finish()


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
