"""Writes tests/conformance/fixtures: of every family a model that transformers saved, with the logits and the losses of 20
AdamW steps that transformers and torch.optim gave, and adapters of PEFT's with the logits that PEFT gave.

    make_fixtures.py FOLDER"""
import json
import pathlib
import shutil
import sys

import torch

import check_adapters
import check_models
import small_models
import support
import training

FAMILIES = ["qwen3", "qwen2", "llama, llama3 scaling", "mistral", "gpt2"]
SIZES = {"vocab": 96, "hidden": 24, "layers": 2, "ffn": 40}
RECIPE = dict(steps=20, lr=3e-3, warmup=4, schedule="cosine", min_lr=3e-4, batch=2)


def rows_with_labels():
    rows = check_models.samples(SIZES["vocab"])
    return [{"input_ids": row["input_ids"], "labels": row.get("labels", row["input_ids"])} for row in rows]


def rounded(logits):
    return [[round(value, 7) for value in position] for position in logits.tolist()]


def write(name, config, number, folder):
    small_models.model_of(config, number, torch.bfloat16, spread=0.1).save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    rows, recipe = rows_with_labels(), training.Recipe(**RECIPE)
    logits = check_models.of_transformers(small_models.loaded(folder), rows)[0]
    losses, norms = training.train(small_models.loaded(folder), rows, recipe)
    support.write_jsonl(folder / "rows.jsonl", rows)
    (folder / "expected.json").write_text(json.dumps({
        "seq_len": check_models.SEQ_LEN, "flags": [str(flag) for flag in recipe.flags()], "losses": losses,
        "gradient_norms": norms, "logits": [rounded(one[-1:]) for one in logits]}) + "\n")


def write_adapter(base, folder, **changed):
    model = check_adapters.adapted(small_models.loaded(base), 4, target_modules=check_adapters.ALL, r=2, **changed)
    model.save_pretrained(folder)
    (folder / "README.md").unlink(missing_ok=True)
    config = json.loads((folder / "adapter_config.json").read_text())
    config["base_model_name_or_path"] = base.name  # given by --base
    (folder / "adapter_config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
    logits = check_models.of_transformers(model, rows_with_labels())[0]
    (folder / "expected.json").write_text(json.dumps({"logits": [rounded(one[-1:]) for one in logits]}) + "\n")


def main():
    out = pathlib.Path(sys.argv[1])
    shutil.rmtree(out, ignore_errors=True)
    configs = small_models.configs(**SIZES)
    for number, name in enumerate(FAMILIES):
        folder = out / name.split(",")[0]
        folder.mkdir(parents=True)
        write(name, configs[name], number, folder)
    write_adapter(out / "qwen3", out / "qwen3-adapter")
    write_adapter(out / "qwen3", out / "qwen3-adapter-of-patterns", use_rslora=True, exclude_modules=["k_proj"],
                  **check_adapters.PATTERNS)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
