"""A real model's folder in Troika, beside transformers, PEFT and tokenizers.

    check.py NAME FOLDER WORK_FOLDER

A line of JSON for each check: ids of 2 MB of text, an answer, perplexity, and then LoRA, merging, full fine-tuning and export."""
import json
import pathlib
import random
import shutil
import sys

import peft
import tokenizers
import torch
import transformers

import corpus
import support

LIMIT = 1e-6  # of losses
SEQ_LEN = 128
MEGABYTES = 2
QUESTION = "What is the capital of France?"
CONTROLS = [chr(code) for code in [*range(1, 32), *range(127, 160)]]


def texts():
    """Mixed text, and once more with control characters strewn in."""
    draw = random.Random(7)
    for number, text in enumerate(corpus.documents(MEGABYTES * 1_000_000)):
        if number % 3 == 0:
            text = "".join(one + (draw.choice(CONTROLS) if draw.random() < 0.05 else "") for one in text)
        if text:
            yield text
    yield "".join(a + b for a in CONTROLS for b in ("", "a", "!", a, "!\n", " 7"))


def lacking(path):
    """The bytes that no token of the vocabulary spells."""
    vocab = json.loads(path.read_text())["model"]["vocab"]
    printed = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printed]
    spelled = {byte: chr(byte) for byte in printed} | {byte: chr(256 + k) for k, byte in enumerate(others)}
    return [byte for byte in range(256) if spelled[byte] not in vocab]


def check_ids(what, folder, work):
    theirs = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    documents = list(texts())
    path = support.write_jsonl(work / "texts.jsonl", ({"text": text} for text in documents))
    ours = [json.loads(line) for line in support.troika("data", "encode", path, "--tokenizer", folder).splitlines()]
    different = sum(a != theirs.encode(text, add_special_tokens=False).ids for a, text in zip(ours, documents))
    size = sum(len(text.encode()) for text in documents)
    support.report(what, "ids", f"{len(documents)} documents, {size / 1e6:.2f} MB, {sum(map(len, ours))} ids, "
                   f"{len(lacking(folder / 'tokenizer.json'))} of the 256 bytes without a token: {different} documents differ",
                   different == 0 and len(ours) == len(documents))


def check_own_pre_tokenizer(name, folder, work):
    """A GGUF does not say how text is cut; SmolLM2's own tokenizer.json cuts digits one by one and then as GPT-2 does."""
    copy = work / "own"
    copy.mkdir()
    document = json.loads((folder / "tokenizer.json").read_text())
    document["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [
        {"type": "Digits", "individual_digits": True},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}]}
    (copy / "tokenizer.json").write_text(json.dumps(document))
    check_ids(f"{name}, its own pre-tokenizer", copy, work)


def check_fewer_bytes(name, folder, work):
    """The same vocabulary without tokens that hold one of 30 further bytes."""
    copy = work / "fewer"
    copy.mkdir()
    document = json.loads((folder / "tokenizer.json").read_text())
    model, spelled = document["model"], "!#~Ã©àÄÅĀāĊċĠ0zQ\u00b5\u00e6\u00e5"
    model["vocab"] = {token: number for token, number in model["vocab"].items()
                      if not set(token) & set(spelled) or any(token == added["content"] for added in document["added_tokens"])}
    pairs = [merge if isinstance(merge, list) else merge.split(" ") for merge in model["merges"]]
    model["merges"] = [pair for pair in pairs if all(token in model["vocab"] for token in (*pair, "".join(pair)))]
    (copy / "tokenizer.json").write_text(json.dumps(document))
    check_ids(f"{name}, fewer bytes", copy, work)


def check_answer(what, folder, work):
    path = support.write_jsonl(work / "questions.jsonl", [{"messages": [{"role": "user", "content": QUESTION}]}])
    support.troika("chat", folder, "--input", path, "--output", work / "answers.jsonl", "--temperature", 0, "--max-new-tokens", 24)
    answer = json.loads((work / "answers.jsonl").read_text())["messages"][-1]["content"]
    support.report(what, "chat", f"{QUESTION} - {answer}", "Paris" in answer)


@torch.no_grad()
def loss_of_transformers(model, rows):
    """Of its logits in fp64: its own loss is summed in fp32, which is off in the sixth digit with so large a vocabulary."""
    losses = []
    for row in rows:
        ids = torch.tensor([row["input_ids"]])
        logits = model(ids).logits[0, :-1].double()
        losses.append(torch.nn.functional.cross_entropy(logits, ids[0, 1:], reduction="none"))
    return float(torch.cat(losses).mean())


def loss_of_troika(path, data, *more):
    return json.loads(support.troika("eval", "--model.path", path, "--data.valid", data, "--seq-len", SEQ_LEN,
                                     "--micro-batch-size", 4, "--json", *more))["loss"]


def rows_of(folder):
    """Some thousand ids of text, in rows."""
    text = next(text for text in corpus.from_files(["/usr/share/common-licenses"], corpus.text_of, 1 << 20) if len(text) > 20000)
    ids = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json")).encode(text, add_special_tokens=False).ids
    return [{"input_ids": ids[at:at + SEQ_LEN]} for at in range(0, 16 * SEQ_LEN, SEQ_LEN)]


def loaded(folder):
    return transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


def compare(what, which, ours, theirs):
    """Six digits of the perplexity."""
    ours, theirs = torch.tensor([ours, theirs], dtype=torch.float64).exp().tolist()
    support.report(what, which, f"perplexity {ours:.7g} here, {theirs:.7g} there", f"{ours:.5e}" == f"{theirs:.5e}"
                   or abs(ours - theirs) / theirs < LIMIT)


def train(folder, data, out, *more):
    support.troika("train", "--model.path", folder, "--data.train", data, "--seq-len", SEQ_LEN, "--micro-batch-size", 2,
                   "--global-batch-size", 4, "--steps", 6, "--log.progress", "none", "--out", out, *more)
    losses = [row["loss"] for row in support.metrics(out)]
    return f"loss {losses[0]:.4f} to {losses[-1]:.4f} in {len(losses)} steps", losses[-1] < losses[0]


def conversations(work):
    return support.write_jsonl(work / "train.jsonl", ({"messages": [
        {"role": "user", "content": f"What is the colour of box {number}?"},
        {"role": "assistant", "content": "It is ultramarine."}]} for number in range(24)))


def check_adapter(what, folder, data, rows, work):
    run, adapter, merged = work / "lora", work / "adapter", work / "merged"
    support.report(what, "LoRA", *train(folder, conversations(work), run, "--lora.rank", 8, "--lr", "1e-3"))
    support.troika("export", run, adapter)
    support.troika("export", run, merged, "--merge")
    loss = loss_of_troika(run, data)
    compare(what, "adapter in PEFT", loss, loss_of_transformers(
        peft.PeftModel.from_pretrained(loaded(folder), adapter).eval(), rows))
    compare(what, "merged, in transformers", loss, loss_of_transformers(loaded(merged), rows))
    shutil.rmtree(run)
    shutil.rmtree(merged)


def check_full(what, folder, data, rows, work):
    run, model = work / "full", work / "exported"
    support.report(what, "full fine-tuning", *train(folder, conversations(work), run, "--lr", "2e-5"))
    support.troika("export", run, model)
    shutil.rmtree(run)
    compare(what, "exported, in transformers", loss_of_troika(model, data), loss_of_transformers(loaded(model), rows))


def main():
    name, folder, work = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    check_ids(name, folder, work)
    if name == "smollm2":
        check_own_pre_tokenizer(name, folder, work)
    check_fewer_bytes(name, folder, work)
    check_answer(name, folder, work)
    rows = rows_of(folder)
    data = support.write_jsonl(work / "rows.jsonl", rows)
    compare(name, "eval", loss_of_troika(folder, data), loss_of_transformers(loaded(folder), rows))
    check_adapter(name, folder, data, rows, work)
    if name == "smollm2":  # the larger one takes more memory than a small machine has
        check_full(name, folder, data, rows, work)
    support.finish()


if __name__ == "__main__":
    main()
