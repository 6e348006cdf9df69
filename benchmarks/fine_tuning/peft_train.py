#!/usr/bin/env python3
"""Fine-tunes a model folder with transformers, PEFT and torch, for fine_tune.py, and prints one line of JSON.

A plain loop: batches padded to their longest sample, AdamW (torch's fused one), clipping, SDPA attention; --precision
bf16 is autocast over parameters in fp32. Started with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT it is one rank of
DistributedDataParallel over gloo. Threads by OMP_NUM_THREADS.
"""
import argparse
import json
import os
import pathlib
import time

import peft
import torch
import transformers
from transformers.trainer_pt_utils import get_length_grouped_indices

import task
import torch_train
import training

MEGABATCH = 50  # batches: what transformers' Trainer sorts at once with group_by_length


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="a model folder")
    parser.add_argument("--adapter", help="the LoRA adapter to start from; without one, all weights are trained")
    parser.add_argument("--samples", type=pathlib.Path, required=True, help="a line of input_ids and labels per sample")
    parser.add_argument("--batching", choices=("dynamic", "grouped"), default="dynamic",
                        help="the samples in their order, or those after the warm-up grouped by length, as Trainer does it")
    parser.add_argument("--micro-batch-size", type=int, required=True, help="samples per rank and step")
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--warmup", type=int, required=True, help="steps more, before those")
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    return parser.parse_args()


def ordered(rows, first, batch):
    """The rows from `first` on as group_by_length orders them; the same for every rank."""
    rest = rows[first:]
    lengths = list(map(task.tokens_of, rest))
    order = get_length_grouped_indices(lengths, batch, MEGABATCH, torch.Generator().manual_seed(1))
    return rows[:first] + [rest[i] for i in order]


def loaded(options):
    model = transformers.AutoModelForCausalLM.from_pretrained(options.model, dtype=torch.float32, attn_implementation="sdpa")
    model.config.use_cache = False
    # The padding id is a mark of turns in some models, and its row would get no gradient; padding has none anyway.
    model.get_input_embeddings().padding_idx = None
    return peft.PeftModel.from_pretrained(model, options.adapter, is_trainable=True) if options.adapter else model


def train(model, rows, options, rank, world):
    """Of every step its seconds and this rank's part of the mean loss."""
    trained = [p for p in model.parameters() if p.requires_grad]
    batch, steps = options.micro_batch_size, options.warmup + options.steps
    recipe = task.recipe("lora" if options.adapter else "full", steps, batch, world)
    optimizer = recipe.optimizer(model, fused=True)
    seconds, losses = [], []
    for step in range(steps):
        begin = time.perf_counter()
        first = step * batch * world
        targets = sum(map(task.targets_of, rows[first:first + batch * world]))
        ids, mask, labels = training.batch_of(rows, first + rank * batch, batch)
        with torch.autocast("cpu", torch.bfloat16, enabled=options.precision == "bf16"):
            loss = model(input_ids=ids, attention_mask=mask, labels=labels, num_items_in_batch=targets).loss
        (loss * world).backward()  # replicas average their gradients
        torch.nn.utils.clip_grad_norm_(trained, recipe.clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.detach())
        seconds.append(time.perf_counter() - begin)
    return seconds, torch.stack(losses)


def main():
    options = read_options()
    program = torch_train.resident_mb()
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    step = options.micro_batch_size * world
    rows = task.read_samples(options.samples)[:step * (options.warmup + options.steps)]
    if options.batching == "grouped":
        rows = ordered(rows, step * options.warmup, options.micro_batch_size)
    model = loaded(options).train()
    if world > 1:
        torch.distributed.init_process_group("gloo")
        model = torch.nn.parallel.DistributedDataParallel(model)
    seconds, losses = train(model, rows, options, rank, world)
    if world > 1:
        torch.distributed.all_reduce(losses)
    if rank == 0:
        print(json.dumps({"step_seconds": seconds, "losses": losses.tolist(), "program_rss_mb": program,
                          "torch": torch.__version__, "transformers": transformers.__version__, "peft": peft.__version__}))


if __name__ == "__main__":
    main()
