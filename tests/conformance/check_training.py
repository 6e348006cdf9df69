"""`troika train` beside a loop of transformers and torch.optim.AdamW over the same data in the same order.

    check_training.py WORK_FOLDER

300 steps in fp32 of full training and of fine-tuning on conversations, whose ids and masks transformers computes by
itself from the same file and template; the loss of every step is compared."""
import json
import pathlib
import sys

import torch

import conversations
import small_models
import support
import training

LIMIT = 1e-4
SEQ_LEN = 64


def text_rows():
    """The repository's licence as bytes, SEQ_LEN at a time."""
    text = (support.REPOSITORY / "LICENSE").read_bytes()
    rows = [list(text[at:at + SEQ_LEN]) for at in range(0, len(text), SEQ_LEN)]
    return [{"input_ids": ids, "labels": ids} for ids in rows if len(ids) > 1]


def check_text(name, config, recipe, work):
    folder, run = work / "model", work / "run"
    small_models.model_of(config, 11, spread=0.05).save_pretrained(folder)
    rows = text_rows()
    data = support.write_jsonl(work / "rows.jsonl", [{"input_ids": row["input_ids"]} for row in rows])
    support.troika("train", "--model.path", folder, "--data.train", data, "--data.tokenizer", "bytes", "--seq-len",
                   SEQ_LEN, "--out", run, "--log.progress", "none", *recipe.flags())
    losses, norms = training.train(small_models.loaded(folder), rows, recipe)
    training.compare("training", f"{name}: full training, {recipe.schedule}", run, losses, norms, LIMIT)


def check_conversations(work):
    folder, run = work / "model", work / "run"
    tokenizer = conversations.tokenizer_with_template()
    config = small_models.configs(vocab=len(tokenizer), hidden=64)["qwen3, untied"]
    small_models.model_of(config, 12, spread=0.05).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    talks = conversations.talks(40)
    data = support.write_jsonl(work / "talks.jsonl", [{"messages": talk} for talk in talks])
    rows = [conversations.ids_and_labels(tokenizer, talk) for talk in talks]
    longest = max(len(row["input_ids"]) for row in rows)
    recipe = training.Recipe(steps=300, lr=1e-3, warmup=10, schedule="linear", decay=0.01, betas=(0.9, 0.999))
    support.troika("train", "--model.path", folder, "--data.train", data, "--seq-len", longest, "--out", run,
                   "--log.progress", "none", *recipe.flags())
    losses, norms = training.train(small_models.loaded(folder), rows, recipe)
    training.compare("training", "qwen3: conversations, loss on answers, linear", run, losses, norms, LIMIT)


def main():
    work = pathlib.Path(sys.argv[1])
    models = small_models.configs(hidden=64)
    cosine = training.Recipe(steps=300, schedule="cosine", min_lr=1e-4)
    linear = training.Recipe(steps=300, schedule="linear", clip=0.5, decay=0.05)
    for number, (name, recipe) in enumerate([("qwen3", cosine), ("llama, llama3 scaling", linear), ("qwen2", cosine),
                                             ("mistral", linear), ("gpt2", cosine), ("mistral, window", linear),
                                             ("smollm3", cosine), ("granite", linear), ("gemma3, scaled", cosine)]):
        place = work / str(number)
        place.mkdir(parents=True)
        check_text(name, models[name], recipe, place)
    (work / "talks").mkdir()
    check_conversations(work / "talks")
    support.finish()


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
