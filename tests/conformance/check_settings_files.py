"""LLaMA-Factory's and DeepSpeed's own parsers beside Troika's reading of their files.

    check_settings_files.py WORK_FOLDER LLAMA_FACTORY_PACKAGES DEEPSPEED_PACKAGES

Every key that their parsers know is known to Troika: read, without effect and named, or refused by name. What they refuse
as unknown, Troika refuses. Numbers mean the same in both, and so do defaults."""
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys

import yaml

import small_models
import support

BASE = {"stage": "sft", "do_train": True, "finetuning_type": "full", "dataset": "a", "template": "chatml", "output_dir": "out",
        "model_name_or_path": ""}  # main puts a model there
# Ours by theirs, for values that are one number or word in both.
SAME = {"cutoff_len": "batch.seq_len", "per_device_train_batch_size": "batch.micro_batch_size", "learning_rate": "optimizer.lr",
        "num_train_epochs": "train.epochs", "adam_beta1": "optimizer.beta1",
        "adam_beta2": "optimizer.beta2", "adam_epsilon": "optimizer.eps", "weight_decay": "optimizer.weight_decay",
        "max_grad_norm": "optimizer.clip_norm", "lr_scheduler_type": "optimizer.lr_schedule", "seed": "train.seed",
        "save_steps": "checkpoint.every", "warmup_steps": "optimizer.warmup_steps", "val_size": "data.valid_share",
        "dataset_dir": "data.folder"}
FILES = {
    "full training": {"deepspeed": None, "cutoff_len": 1024, "learning_rate": 1e-5, "num_train_epochs": 2.5, "warmup_ratio": 0.1,
                      "lr_scheduler_type": "cosine", "per_device_train_batch_size": 3, "gradient_accumulation_steps": 5,
                      "weight_decay": 0.02, "adam_beta2": 0.98, "max_grad_norm": 0.7, "seed": 7, "save_steps": 33, "val_size": 0.1},
    "LoRA": {"finetuning_type": "lora", "lora_rank": 12, "lora_alpha": 20, "lora_dropout": 0.05, "lora_target": "q_proj,v_proj",
             "learning_rate": 2e-4, "lr_scheduler_type": "linear", "warmup_steps": 9, "bf16": False, "cutoff_len": 777},
    "pre-training": {"stage": "pt", "cutoff_len": 4096, "max_steps": 50, "lr_scheduler_type": "constant", "adam_epsilon": 1e-7},
}
LORA = {"lora_rank": "lora.rank", "lora_alpha": "lora.alpha", "lora_dropout": "lora.dropout", "lora_target": "lora.targets"}
WRONG = [{"stage": "sftt"}, {"lr_scheduler_type": "cosines"}, {"learning_rate": "fast"}, {"num_train_epochs": "many"},
         {"save_strategy": "sometimes"}, {"max_steps": "a"}, {"mix_strategy": "both"}, {"cutoff_len": "long"},
         {"per_device_train_batch_size": "x"}, {"warmup_steps": "few"}, {"eval_strategy": "never"}]
HEADS = {"zero_optimization": {"stage": 2}, "bf16": {"enabled": True}, "fp16": {"enabled": True}, "tensor_parallel": {}}


class Theirs:
    """A parser in a process of its own: what it knows, and its answers to `settings`."""

    def __init__(self, name, packages, settings):
        environment = dict(os.environ, PYTHONPATH=str(packages), DISABLE_VERSION_CHECK="1", HF_HUB_OFFLINE="1")
        script = pathlib.Path(__file__).with_name("their_settings.py")
        lines = "".join(json.dumps(one) + "\n" for one in settings)
        done = subprocess.run([sys.executable, script, name], input=lines, capture_output=True, text=True, env=environment)
        answers = [json.loads(line[7:]) for line in done.stdout.split("\n") if line.startswith("ANSWER ")]
        assert len(answers) == len(settings) + 1, f"{name} ended early:\n{done.stderr[-2000:]}"
        self.known, self.answers = answers[0], answers[1:]


def ours(work, settings, *more):
    """Troika's settings for a file, or the sentence of its refusal."""
    path = work / "file.yaml"
    path.write_text(yaml.safe_dump(settings))
    try:
        return yaml.safe_load(support.troika("train", path, "--print-config", *more)), ""
    except support.TroikaRefused as refused:
        return None, refused.text


def get(settings, key):
    section, name = key.split(".")
    return settings[section][name]


def other_than(default, kind):
    """A value of the key's type that is not its default."""
    choices = re.findall(r"'([^']*)'", kind) if "Literal" in kind else []
    if choices:
        return next(choice for choice in choices if choice != default)
    if "bool" in kind:
        return not default
    if "int" in kind and "float" not in kind:
        return 3
    return 0.25 if "float" in kind else "words"


def check_llama_factory_keys(known, work):
    """One file with every default, one with another value for every key; Troika names all that is wrong at once."""
    fixed = ("stage", "finetuning_type", "deepspeed", "fsdp", "model_name_or_path")
    changed = {key: other_than(about["default"], about["type"]) for key, about in known.items() if key not in fixed}
    defaults = {key: about["default"] for key, about in known.items() if key not in fixed}
    texts = [ours(work, {**BASE, **file})[1] for file in (defaults, changed)]
    unknown = sorted({key for text in texts for key in re.findall(r"unknown key '([^']*)'", text)})
    refused = set(re.findall(r"(\w+) is not supported", texts[1]))
    support.report("settings files", "keys of LLaMA-Factory's parser", f"{len(known)}, {len(refused)} of them refused by name when "
                   f"they ask for something; unknown here: {unknown or 'none'}", not unknown)


def check_misspelled(packages, work):
    """Misspelled names of keys that are read, and wrong values. (Keys without effect are known by how they begin.)"""
    files = [{**BASE, key + "zq": 1} for key in [*SAME, *LORA]] + [{**BASE, **wrong} for wrong in WRONG]
    answers = Theirs("llama-factory", packages, files).answers
    there = [number for number, answer in enumerate(answers) if "error" not in answer]
    here = [number for number, file in enumerate(files) if not ours(work, file)[1]]
    taken = [files[number] for number in here if number not in there]
    support.report("settings files", "wrong keys and values of LLaMA-Factory's files", f"{len(files)}: {len(files) - len(there)} refused "
                   f"there, {len(files) - len(here)} here; refused there and taken here: "
                   f"{[dict(file.items() - BASE.items()) for file in taken] or 'none'}", not taken)


def agree(theirs, mine):
    words = {"cosine_with_min_lr": "cosine", "constant_with_warmup": "constant"}
    if isinstance(theirs, list):
        theirs = ",".join(theirs)
    if isinstance(mine, (int, float)) and not isinstance(mine, bool):
        return theirs is not None and float(theirs) == float(mine)
    return words.get(str(theirs), str(theirs)) == str(mine)


def check_values(packages, work):
    files = [{**BASE, **{key: value for key, value in file.items() if value is not None}} for file in FILES.values()] + [BASE]
    answers = Theirs("llama-factory", packages, files).answers
    for name, file, answer in zip([*FILES, "defaults"], files, answers):
        mine, text = ours(work, file)
        assert mine is not None and "values" in answer, f"{text} {answer.get('error')}"
        keys = {**SAME, **(LORA if file["finetuning_type"] == "lora" else {})}
        values = answer["values"]
        values["samples of a step"] = values["per_device_train_batch_size"] * values["gradient_accumulation_steps"]
        keys["samples of a step"] = "batch.global_batch_size"
        if 0 < values["warmup_steps"] < 1:  # a share of all steps
            keys["warmup_steps"] = "optimizer.warmup_ratio"
        wrong = {key: (values[key], get(mine, ours_key)) for key, ours_key in keys.items() if not agree(values[key], get(mine, ours_key))}
        support.report("settings files", f"values of LLaMA-Factory's files: {name}", f"{len(keys)} compared, differ: {wrong or 'none'}", not wrong)


def deepspeed_files(known):
    """(kind, name, file): a misspelled name in every section, right and wrong values."""
    for section in known:
        yield ("misspelled", section, with_key(section, "stagee", 1))
    for stage in (-1, 0, 1, 2, 3, 4, "two"):
        yield ("value", f"stage {stage}", {"zero_optimization": {"stage": stage}})
    for device in ("none", "cpu", "nvme", "disk"):
        offload = {"device": device, **({"nvme_path": "/tmp"} if device == "nvme" else {})}
        yield ("value", f"offload_optimizer {device}", {"zero_optimization": {"stage": 2, "offload_optimizer": offload}})
    for bf16, fp16 in itertools.product((False, True), repeat=2):
        yield ("value", f"bf16 {bf16}, fp16 {fp16}", {"bf16": {"enabled": bf16}, "fp16": {"enabled": fp16}})
    # Totals that are a multiple of the rest fit some number of ranks, and Troika decides about them when it knows the ranks.
    for total, micro, rounds in [(1, 1, 1), (4, 2, 2), (6, 3, 2), (0, 1, 1), (5, 3, 1), (7, 3, 2), (7, 2, 2)]:
        yield ("value", f"batch {total} {micro} {rounds}", {"train_batch_size": total, "train_micro_batch_size_per_gpu": micro,
                                                            "gradient_accumulation_steps": rounds})


def with_key(section, name, value):
    file = json.loads(json.dumps(HEADS if section.split(".")[0] not in ("bf16", "fp16") else {}))
    file = {section.split(".")[0]: file.get(section.split(".")[0], dict(HEADS[section.split(".")[0]]))}
    place = file
    for part in section.split("."):
        place = place.setdefault(part, {})
    place[name] = value
    return file


def ours_of_deepspeed(work, file):
    """Its file beside a file of Troika's that says nothing that could contradict it."""
    path = work / "ds.json"
    path.write_text(json.dumps(file))
    settings = work / "own.yaml"
    settings.write_text("train:\n  out: out\n")
    try:
        support.troika("train", settings, "--deepspeed", path, "--print-config")
        return ""
    except support.TroikaRefused as refused:
        return refused.text


def check_deepspeed(packages, work):
    known = Theirs("deepspeed", packages, []).known
    files = list(deepspeed_files(known))
    for _, _, file in files:
        if "train_batch_size" not in file:
            file["train_batch_size"] = 1
    answers = Theirs("deepspeed", packages, [file for _, _, file in files]).answers
    texts = [ours_of_deepspeed(work, file) for _, _, file in files]
    everything = {}
    for section, names in known.items():
        place = everything
        for part in section.split("."):
            place = place.setdefault(part, {})
        place.update({name: "auto" for name in names if f"{section}.{name}" not in known})
    unknown = sorted(re.findall(r"unknown key '([^']*)' in ([a-z_0-9.]*)", ours_of_deepspeed(work, everything)))
    support.report("settings files", "keys of DeepSpeed's parser", f"{sum(map(len, known.values()))} in {len(known)} sections, unknown "
                   f"here: {unknown or 'none'}", not unknown)
    differ = [(name, "refused here" if text else "taken here") for (_, name, _), answer, text in zip(files, answers, texts)
              if ("error" in answer) != bool(text)]
    support.report("settings files", "wrong and right values of DeepSpeed's files", f"{len(files)} files, judged otherwise than there: "
                   f"{differ or 'none'}", not differ)


def check_duplicates(work):
    """DeepSpeed refuses a key that is given twice."""
    (work / "twice.json").write_text('{"zero_optimization": {"stage": 2, "stage": 3}}')
    (work / "own.yaml").write_text("train:\n  out: out\n")
    try:
        support.troika("train", work / "own.yaml", "--deepspeed", work / "twice.json", "--print-config")
        support.report("settings files", "a key given twice in DeepSpeed's file", "taken", False)
    except support.TroikaRefused as refused:
        support.report("settings files", "a key given twice in DeepSpeed's file", "refused", "twice" in refused.text)


def main():
    work, factory, speed = map(pathlib.Path, sys.argv[1:4])
    work.mkdir(exist_ok=True)
    config = small_models.configs()["qwen3"]
    config.max_position_embeddings = 32768
    small_models.model_of(config, 1).save_pretrained(work / "base")
    BASE["model_name_or_path"] = str(work / "base")
    known = Theirs("llama-factory", factory, []).known
    check_llama_factory_keys(known, work)
    check_misspelled(factory, work)
    check_values(factory, work)
    check_deepspeed(speed, work)
    check_duplicates(work)
    support.finish()


if __name__ == "__main__":
    main()
