"""Adapters in PEFT's form, against an implementation that shares no code with Troika.

    check_adapters.py TROIKA

A small random model and a PEFT folder beside it are written; the program `TROIKA` must give the logits of the model with
its adapter in several layouts, and must write the adapter and the merged model as they are."""
import json
import pathlib
import subprocess
import sys
import tempfile

import torch

import families
import safetensors

TROIKA = pathlib.Path(sys.argv[1]).resolve()
LIMIT = 1e-5  # max |a - b| / max |b|, per tensor
SEQ_LEN = 12
RANK, ALPHA = 6, 9
TARGETS = ["q_proj", "k_proj", "o_proj", "gate_proj", "down_proj"]
LAYOUTS = {"one process": (1, []), "tp 2": (2, ["--tp", "2"]), "ZeRO 3 over dp 2": (2, ["--dp", "2", "--zero", "3"])}


def close(what, ours, theirs):
    error = float((ours.double() - theirs.double()).abs().max() / theirs.abs().max())
    assert error <= LIMIT, f"{what}: relative error {error:.2e}"
    return error


def troika(arguments, ranks=1):
    launch = [] if ranks == 1 else ["launch", "--nproc-per-node", str(ranks), "--"]
    done = subprocess.run([str(TROIKA), *launch, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(map(str, arguments))} ended with {done.returncode}:\n{done.stderr}"


def write_adapter(folder, base, weights, dtype):
    """As PEFT saves one; returns it by the names of the weights beside it."""
    folder.mkdir()
    (folder / "adapter_config.json").write_text(json.dumps({
        "alpha_pattern": {}, "auto_mapping": None, "base_model_name_or_path": str(base), "bias": "none",
        "fan_in_fan_out": False, "inference_mode": True, "init_lora_weights": True, "layers_pattern": None,
        "layers_to_transform": None, "loftq_config": {}, "lora_alpha": ALPHA, "lora_dropout": 0.1,
        "megatron_config": None, "modules_to_save": None, "peft_type": "LORA", "r": RANK, "rank_pattern": {},
        "revision": None, "target_modules": TARGETS, "task_type": "CAUSAL_LM", "use_dora": False, "use_rslora": False}))
    generator = torch.Generator().manual_seed(7)
    adapter, stored = {}, {}
    for name, weight in weights.items():
        module = name[:-len(".weight")]
        if module.split(".")[-1] not in TARGETS:
            continue
        a, b = (torch.randn(shape, generator=generator).mul(0.1).to(dtype)
                for shape in ((RANK, weight.shape[1]), (weight.shape[0], RANK)))
        adapter[name] = (a, b)
        stored.update({f"base_model.model.{module}.lora_A.weight": a, f"base_model.model.{module}.lora_B.weight": b})
    safetensors.write(folder / "adapter_model.safetensors", stored)
    return adapter


def main():
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        model = families.Rotary("qwen3", kv_heads=2, tied=False)
        weights = families.random_weights(model.shapes(), torch.bfloat16, seed=3)
        (scratch / "model").mkdir()
        (scratch / "model/config.json").write_text(json.dumps(model.config("bfloat16")))
        safetensors.write(scratch / "model/model.safetensors", weights)
        adapter = write_adapter(scratch / "adapter", scratch / "model", weights, torch.bfloat16)
        merged = {key: tensor.double() for key, tensor in weights.items()}
        for key, (a, b) in adapter.items():
            merged[key] = merged[key] + ALPHA / RANK * (b.double() @ a.double())
        ids = torch.randint(model.vocab, (2, SEQ_LEN), generator=torch.Generator().manual_seed(1))
        (scratch / "ids.jsonl").write_text("".join(json.dumps({"input_ids": row.tolist()}) + "\n" for row in ids))
        expected = model.logits(merged, ids)
        plain = model.logits({key: tensor.double() for key, tensor in weights.items()}, ids)
        assert float((plain - expected).abs().max()) > 0.05, "the adapter changes nothing"
        worst = 0.0
        for layout, (ranks, flags) in LAYOUTS.items():
            out = scratch / f"{len(flags)}-{flags[-1] if flags else ''}.safetensors"
            troika(["eval", scratch / "adapter", "--data.valid", scratch / "ids.jsonl", "--seq-len", SEQ_LEN,
                    "--micro-batch-size", 1, "--json", "--data.tokenizer", "bytes", "--logits", out, *flags], ranks)
            worst = max(worst, close(f"logits, {layout}", safetensors.read(out)[0]["logits"], expected))
        troika(["export", scratch / "adapter", scratch / "merged", "--merge", "--dtype", "fp32"])
        ours = safetensors.read_folder(scratch / "merged")[0]
        assert set(ours) == set(merged)
        for key, tensor in merged.items():
            close(key, ours[key], tensor)
        troika(["export", scratch / "adapter", scratch / "again", "--dtype", "bf16"])
        again, theirs = (safetensors.read(scratch / folder / "adapter_model.safetensors")[0]
                         for folder in ("again", "adapter"))
        assert set(again) == set(theirs)
        assert all(safetensors.raw(again[key]) == safetensors.raw(theirs[key]) for key in theirs)
        print(f"{len(theirs)} tensors of adapters; worst error of logits {worst:.1e}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
