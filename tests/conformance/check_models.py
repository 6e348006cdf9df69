"""Model folders of transformers in Troika, and Troika's in transformers.

    check_models.py WORK_FOLDER

For every family: a model that transformers saved gives the same logits and the same loss in Troika; the folder that
`troika export` writes has the same tensors, bit for bit, and gives the same logits in transformers."""
import json
import pathlib
import sys

import safetensors.torch
import torch

import small_models
import support

LIMIT = 1e-5
SEQ_LEN = 24
DTYPES = [torch.float32, torch.bfloat16, torch.float16]
WORDS = {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float16: "fp16"}


def samples(vocab):
    """Six of unlike lengths; every second with labels."""
    draw = torch.Generator().manual_seed(5)
    rows = []
    for number, length in enumerate([24, 7, 24, 12, 3, 24]):
        ids = torch.randint(vocab, (length,), generator=draw).tolist()
        rows.append({"input_ids": ids})
        if number % 2:
            rows[-1]["labels"] = [-100] * (length // 2) + ids[length // 2:]
    return rows


@torch.no_grad()
def of_transformers(model, rows):
    """Logits by sample; the mean loss over all targets."""
    logits, total, targets = [], 0.0, 0
    for row in rows:
        labels = torch.tensor([row.get("labels", row["input_ids"])])
        count = int((labels[:, 1:] != -100).sum())
        result = model(torch.tensor([row["input_ids"]]), labels=labels)
        logits.append(result.logits[0])
        total, targets = total + float(result.loss) * count, targets + count
    return logits, total / targets


def of_troika(folder, rows, work):
    data, out = support.write_jsonl(work / "samples.jsonl", rows), work / "logits.safetensors"
    result = json.loads(support.troika("eval", "--model.path", folder, "--data.valid", data, "--seq-len", SEQ_LEN,
                                       "--data.tokenizer", "bytes", "--micro-batch-size", 1, "--json", "--logits", out))
    return safetensors.torch.load_file(out)["logits"], result["loss"]


def tensors_of(folder):
    return {name: tensor for path in sorted(folder.glob("*.safetensors"))
            for name, tensor in safetensors.torch.load_file(path).items()}


def same_bits(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and torch.equal(a.view(torch.uint8), b.view(torch.uint8))


def worst(ours, theirs):
    return max(support.difference(ours[number, :len(one)], one) for number, one in enumerate(theirs))


def check(name, config, number, work):
    dtype = DTYPES[number % len(DTYPES)]
    folder, written = work / "theirs", work / "ours"
    small_models.model_of(config, number, dtype).save_pretrained(folder, max_shard_size="60KB" if number % 2 else "5GB")
    rows, subject = samples(config.vocab_size), f"{name}, {WORDS[dtype]}"
    logits, loss = of_transformers(small_models.loaded(folder), rows)
    ours, our_loss = of_troika(folder, rows, work)
    support.report_limit("models", f"{subject}: logits", worst(ours, logits), LIMIT)
    support.report_limit("models", f"{subject}: loss", abs(our_loss - loss) / loss, LIMIT)
    support.troika("export", folder, written)
    before, after = tensors_of(folder), tensors_of(written)
    different = [key for key in before.keys() | after.keys()
                 if key not in before or key not in after or not same_bits(before[key], after[key])]
    support.report("models", f"{subject}: tensors after export", f"{len(before)} tensors, {len(different)} differ"
                   + "".join(f" {key}" for key in different[:3]), not different)
    back = small_models.loaded(written)
    again = of_transformers(back, rows)[0]
    support.report("models", f"{subject}: transformers' logits from the export",
                   "equal bits" if all(map(torch.equal, again, logits)) else "differ", all(map(torch.equal, again, logits)))
    lost = forgotten(config, back.config)
    support.report("models", f"{subject}: configuration after export", "equal" if not lost else f"differs: {lost}", not lost)


def forgotten(before, after):
    """Members of the configuration that transformers reads otherwise from the export."""
    one, other = stated(before), stated(after)
    return {key: (one.get(key), other.get(key)) for key in sorted(one.keys() | other.keys())
            if one.get(key) != other.get(key)}


def stated(config):
    """What decides the arithmetic, with what transformers derives where a member is none."""
    ignored = {"dtype", "architectures", "transformers_version", "_name_or_path", "use_cache", "attention_dropout",
               "resid_pdrop", "embd_pdrop", "attn_pdrop", "max_window_layers", "n_ctx"}
    members = {key: value for key, value in config.to_dict().items() if key not in ignored}
    if members.get("n_inner", 0) is None:
        members["n_inner"] = 4 * config.n_embd
    if members.get("head_dim") is None and config.model_type != "gpt2":
        members["head_dim"] = config.hidden_size // config.num_attention_heads
    return members


def main():
    work = pathlib.Path(sys.argv[1])
    for number, (name, config) in enumerate(small_models.configs().items()):
        place = work / name.replace(", ", "-").replace(" ", "-")
        place.mkdir(parents=True)
        check(name, config, number, place)
    support.finish()


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
