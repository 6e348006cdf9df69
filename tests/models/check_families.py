"""Model folders in and out, against an implementation that shares no code with Troika.

    check_families.py TROIKA [--all-layouts]

For every family a small random folder is written, then the program `TROIKA` must give its logits, its loss and the
gradients of one step, in one process and split over two (in one way, which changes from family to family, or in all), and must
write the folder back as it was."""
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile

import torch

import families
import safetensors

TROIKA = pathlib.Path(sys.argv[1]).resolve()
LIMIT = 1e-5  # max |a - b| / max |b|, per tensor
SEQ_LEN = 24
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 16}
CASES = [  # model, stored dtype, files
    (families.Rotary("qwen3"), torch.bfloat16, 2),
    (families.Rotary("qwen2", hidden=64, tied=False, theta=1e6), torch.float16, 1),
    (families.Rotary("llama", hidden=64, tied=True, eps=1e-5, theta=500000.0, scaling=LLAMA3), torch.bfloat16, 3),
    (families.Rotary("llama", heads=3, kv_heads=3, tied=False, scaling={"rope_type": "linear", "factor": 4.0}),
     torch.float32, 1),
    (families.Rotary("mistral", hidden=64, kv_heads=1, tied=False, eps=1e-5), torch.float32, 1),
    (families.Gpt2(), torch.float32, 1),
]
SPLITS = [("pp 2", ["--pp", "2"]), ("tp 2", ["--tp", "2"]), ("ZeRO 3 over dp 2", ["--dp", "2", "--zero", "3"])]
worst = {}


def close(what, ours, theirs, layout=""):
    ours, theirs = ours.double(), theirs.double()
    assert ours.shape == theirs.shape, f"{what}: shape {list(ours.shape)} instead of {list(theirs.shape)}"
    error = float((ours - theirs).abs().max() / theirs.abs().max())
    key = what.split(" ")[0]
    worst[key] = max(worst.get(key, 0.0), error)
    assert error <= LIMIT, f"{what}, {layout}: relative error {error:.2e}"


def troika(arguments, ranks=1):
    launch = [] if ranks == 1 else ["launch", "--nproc-per-node", str(ranks), "--"]
    done = subprocess.run([str(TROIKA), *launch, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(map(str, arguments))} ended with {done.returncode}:\n{done.stderr}"
    return done.stdout


def write_folder(folder, model, weights, files):
    folder.mkdir()
    names = {torch.float32: "float32", torch.bfloat16: "bfloat16", torch.float16: "float16"}
    dtype = next(iter(weights.values())).dtype
    (folder / "config.json").write_text(json.dumps(model.config(names[dtype]), indent=2))
    stored = model.stored(weights)
    if files == 1:
        return safetensors.write(folder / "model.safetensors", stored)
    index = {}
    for number in range(files):
        name = f"model-{number + 1:05}-of-{files:05}.safetensors"
        part = {key: stored[key] for key in list(stored)[number::files]}
        safetensors.write(folder / name, part)
        index.update({key: name for key in part})
    total = sum(t.numel() * t.element_size() for t in stored.values())
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {"total_size": total}, "weight_map": index}))


def write_samples(path, vocab, seed):
    """Eight samples of unlike lengths, some with labels."""
    draw = random.Random(seed)
    samples = []
    for number in range(8):
        ids = [draw.randrange(vocab) for _ in range(SEQ_LEN if number % 3 == 0 else draw.randrange(5, SEQ_LEN))]
        sample = {"input_ids": ids}
        if number % 2:
            sample["labels"] = [-100] * (len(ids) // 2) + ids[len(ids) // 2:]
        samples.append(sample)
    path.write_text("".join(json.dumps(sample) + "\n" for sample in samples))
    return samples


def reference(model, weights, samples):
    """Logits by sample, mean loss, token count, gradients of the mean loss."""
    w = {name: tensor.double().requires_grad_() for name, tensor in weights.items()}
    total, tokens, logits = 0.0, 0, []
    for sample in samples:
        ids = torch.tensor([sample["input_ids"]])
        logits.append(model.logits(w, ids))
        loss, count = families.loss_sum(logits[-1], torch.tensor([sample.get("labels", sample["input_ids"])]))
        total, tokens = total + loss, tokens + count
    mean = total / tokens
    mean.backward()
    return [one[0].detach() for one in logits], float(mean), tokens, {name: t.grad for name, t in w.items()}


def check_evaluation(layouts, folder, data, expected, scratch):
    logits, loss, tokens, _ = expected
    for layout, ranks, flags in layouts:
        out = scratch / f"{layout.replace(' ', '-')}.safetensors"
        result = json.loads(troika(["eval", "--model.path", folder, "--data.valid", data, "--seq-len", SEQ_LEN,
                                    "--micro-batch-size", 1, "--global-batch-size", 4, "--json", "--logits", out, *flags], ranks))
        assert result["tokens"] == tokens, f"{layout}: {result['tokens']} tokens instead of {tokens}"
        close("loss", torch.tensor(result["loss"], dtype=torch.float64), torch.tensor(loss, dtype=torch.float64), layout)
        assert math.isclose(result["perplexity"], math.exp(result["loss"]), rel_tol=1e-9)
        ours = safetensors.read(out)[0]["logits"]
        for number, theirs in enumerate(logits):
            close(f"logits of sample {number}", ours[number, :len(theirs)], theirs, layout)


def checkpoint_state(folder):
    """adam_m by name: parts are whole tensors or flat pieces with their place in the metadata."""
    pieces = {}
    for path in sorted((folder / "state").glob("*.safetensors")):
        tensors, metadata = safetensors.read(path)
        for entry, tensor in tensors.items():
            if entry.startswith("adam_m."):
                place = metadata.get("region." + entry)  # "offset,run,stride,count;shape=2,3"
                pieces.setdefault(entry[len("adam_m."):].split("#")[0], []).append((place, tensor))
    return pieces


def check_gradients(layouts, folder, data, expected, scratch):
    gradients = expected[3]
    for layout, ranks, flags in layouts:
        out = scratch / f"step-{layout.replace(' ', '-')}"
        troika(["train", "--model.path", folder, "--data.train", data, "--seq-len", SEQ_LEN, "--micro-batch-size", 1,
                "--global-batch-size", 8, "--steps", 1, "--lr", 0, "--max-grad-norm", 0, "--out", out,
                "--log.progress", "none", *flags], ranks)
        pieces = checkpoint_state(out / "checkpoints/step-00000001")
        assert set(pieces) == set(gradients), f"{layout}: tensors {set(pieces) ^ set(gradients)}"
        for name, theirs in gradients.items():
            close(f"gradients of {name}", assembled(pieces[name], theirs.shape) * 10, theirs, layout)  # beta1 is 0.9


def assembled(pieces, shape):
    whole = torch.full((math.prod(shape),), float("nan"))
    for place, tensor in pieces:
        if place is None:
            whole.copy_(tensor.flatten())
            continue
        offset, run, stride, count = map(int, place.split(";")[0].split(","))
        for i in range(count):
            begin = offset + i * stride
            whole[begin:begin + run] = tensor.flatten()[i * run:(i + 1) * run]
    return whole.view(shape)


def check_export(source, out, weights):
    troika(["export", source, out])
    theirs, places = safetensors.read_folder(out)
    assert set(theirs) == set(weights), f"tensors {set(theirs) ^ set(weights)}"
    for name, tensor in weights.items():
        assert theirs[name].dtype == tensor.dtype and theirs[name].shape == tensor.shape, name
        assert safetensors.raw(theirs[name]) == safetensors.raw(tensor), f"{name} differs in {out}"
    index = out / "model.safetensors.index.json"
    assert not index.exists() or json.loads(index.read_text())["weight_map"] == places


def check_config(model, folder, dtype):
    """What decides the arithmetic is written back as it was read."""
    written, wanted = json.loads((folder / "config.json").read_text()), model.config(dtype)
    for key, value in wanted.items():
        if key in ("transformers_version", "use_cache", "max_window_layers", "sliding_window", "n_inner",
                   "attn_pdrop", "embd_pdrop", "resid_pdrop", "attention_dropout"):
            continue
        assert written.get(key) == value, f"config.json: {key} is {written.get(key)}, was {value}"


def main():
    for number, (model, dtype, files) in enumerate(CASES):
        with tempfile.TemporaryDirectory() as scratch_name:
            scratch = pathlib.Path(scratch_name)
            weights = families.random_weights(model.shapes(), dtype, seed=number)
            write_folder(scratch / "model", model, weights, files)
            samples = write_samples(scratch / "samples.jsonl", model.vocab, seed=number)
            expected = reference(model, weights, samples)
            splits = SPLITS if "--all-layouts" in sys.argv[2:] else [SPLITS[number % len(SPLITS)]]
            layouts = [("one process", 1, [])] + [(layout, 2, flags) for layout, flags in splits]
            check_evaluation(layouts, scratch / "model", scratch / "samples.jsonl", expected, scratch)
            check_gradients(layouts, scratch / "model", scratch / "samples.jsonl", expected, scratch)
            check_export(scratch / "model", scratch / "export", weights)
            for layout, _, _ in layouts:
                name = layout.replace(" ", "-")
                check_export(scratch / f"step-{name}", scratch / f"export-{name}", weights)
            names = {torch.float32: "float32", torch.bfloat16: "bfloat16", torch.float16: "float16"}
            check_config(model, scratch / "export", names[dtype])
            print(f"{model.family}: loss {expected[1]:.6f}, {len(weights)} tensors of {names[dtype]}; worst so far "
                  + ", ".join(f"{what} {error:.1e}" for what, error in worst.items()), flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
