#!/usr/bin/env python3
"""Trains the models of compare.py with PyTorch, for comparison, and prints one line of JSON.

Random tokens, AdamW, gradient clipping. Started with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT it is one rank
of DistributedDataParallel over gloo. Threads by OMP_NUM_THREADS. Any torch from 1.13 on.
"""
import argparse
import contextlib
import json
import os
import resource
import statistics
import time
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional


@dataclass
class Shape:
    vocab: int
    width: int
    layers: int
    heads: int
    kv_heads: int
    ffn: int
    positions: int = 0  # learned ones; 0: rotary

    @property
    def head_dim(self):
        return 64


SHAPES = {
    ("qwen3", "tiny"): Shape(4096, 256, 4, 4, 2, 768),
    ("qwen3", "small"): Shape(32000, 512, 6, 8, 4, 1536),
    ("gpt2", "tiny"): Shape(4096, 256, 4, 4, 4, 1024, positions=1024),
    ("gpt2", "124m"): Shape(50257, 768, 12, 12, 12, 3072, positions=1024),
}


def causal_attention(q, k, v):
    """[batch, heads, time, head_dim] each."""
    if hasattr(functional, "scaled_dot_product_attention"):
        return functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    length = q.size(-2)
    future = torch.ones(length, length, dtype=torch.bool).triu(1)
    scores = (q @ k.mT) * q.size(-1) ** -0.5
    return scores.masked_fill(future, float("-inf")).softmax(-1) @ v


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.scale * (x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6))


class Rotary(nn.Module):
    """Half-split rotary positions, theta one million."""

    def __init__(self, head_dim):
        super().__init__()
        self.register_buffer("rates", 1e6 ** (-torch.arange(0, head_dim, 2) / head_dim), persistent=False)

    def forward(self, length):
        angles = torch.outer(torch.arange(length), self.rates).repeat(1, 2)
        return angles.cos(), angles.sin()


def rotated(x, rope):
    cos, sin = rope
    low, high = x.chunk(2, -1)
    return x * cos + torch.cat((-high, low), -1) * sin


class Attention(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.shape, gpt = shape, shape.positions > 0
        self.split = [shape.heads, shape.kv_heads, shape.kv_heads]
        self.qkv = nn.Linear(shape.width, sum(self.split) * shape.head_dim, bias=gpt)
        self.out = nn.Linear(shape.heads * shape.head_dim, shape.width, bias=gpt)
        self.norms = None if gpt else nn.ModuleList([RmsNorm(shape.head_dim), RmsNorm(shape.head_dim)])

    def forward(self, x, rope):
        rows, length, _ = x.shape
        q, k, v = self.qkv(x).view(rows, length, -1, self.shape.head_dim).split(self.split, 2)
        if self.norms is not None:
            q, k = self.norms[0](q), self.norms[1](k)
        q, k, v = (part.transpose(1, 2) for part in (q, k, v))
        if rope is not None:
            q, k = rotated(q, rope), rotated(k, rope)
        share = self.shape.heads // self.shape.kv_heads
        if share > 1:
            k, v = k.repeat_interleave(share, 1), v.repeat_interleave(share, 1)
        return self.out(causal_attention(q, k, v).transpose(1, 2).flatten(2))


class SwiGlu(nn.Module):
    def __init__(self, width, ffn):
        super().__init__()
        self.gate_up, self.down = nn.Linear(width, 2 * ffn, bias=False), nn.Linear(ffn, width, bias=False)

    def forward(self, x):
        gate, up = self.gate_up(x).chunk(2, -1)
        return self.down(functional.silu(gate) * up)


class Layer(nn.Module):
    def __init__(self, shape):
        super().__init__()
        gpt = shape.positions > 0
        norm = nn.LayerNorm if gpt else RmsNorm
        self.norm_a, self.attention, self.norm_f = norm(shape.width), Attention(shape), norm(shape.width)
        self.feed = SwiGlu(shape.width, shape.ffn) if not gpt else nn.Sequential(
            nn.Linear(shape.width, shape.ffn), nn.GELU("tanh"), nn.Linear(shape.ffn, shape.width))

    def forward(self, x, rope):
        x = x + self.attention(self.norm_a(x), rope)
        return x + self.feed(self.norm_f(x))


class Decoder(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.tokens = nn.Embedding(shape.vocab, shape.width)
        self.positions = nn.Embedding(shape.positions, shape.width) if shape.positions else None
        self.rotary = None if shape.positions else Rotary(shape.head_dim)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.norm = (nn.LayerNorm if shape.positions else RmsNorm)(shape.width)
        for weight in self.parameters():
            if weight.ndim == 2:
                nn.init.normal_(weight, std=0.02)

    def forward(self, inputs, targets):
        length = inputs.size(1)
        rope = self.rotary(length) if self.rotary is not None else None
        x = self.tokens(inputs)
        if self.positions is not None:
            x = x + self.positions.weight[:length]
        for layer in self.layers:
            x = layer(x, rope)
        logits = functional.linear(self.norm(x), self.tokens.weight)  # tied
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def resident_mb():
    with open("/proc/self/statm") as pages:
        return int(pages.read().split()[1]) * resource.getpagesize() >> 20


def since_process_start():
    with open("/proc/self/stat") as stat:
        started = int(stat.read().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started


def backward(model, vocab, options):
    """One step's backward passes; replicas exchange gradients in the last alone. The seconds, without making the text."""
    texts = [torch.randint(vocab, (options.batch, options.seq + 1)) for _ in range(options.accumulate)]
    begin = time.perf_counter()
    for index, text in enumerate(texts):
        exchanges = index + 1 == len(texts) or not hasattr(model, "no_sync")
        with contextlib.nullcontext() if exchanges else model.no_sync():
            with torch.autocast("cpu", torch.bfloat16, enabled=options.bf16):
                loss = model(text[:, :-1], text[:, 1:])
            (loss / len(texts)).backward()
    return time.perf_counter() - begin


def train(model, parameters, vocab, options):
    """Seconds of every step, and those from the start of the process to the end of the first."""
    optimizer = torch.optim.AdamW(parameters, lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1, foreach=True)
    seconds, first = [], 0
    for step in range(options.steps):
        passes = backward(model, vocab, options)
        begin = time.perf_counter()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        seconds.append(passes + time.perf_counter() - begin)
        first = first or since_process_start()
    return seconds, first


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", choices=("qwen3", "gpt2"), default="qwen3")
    parser.add_argument("--preset", choices=("tiny", "small", "124m"), default="tiny")
    parser.add_argument("--batch", type=int, default=8, help="sequences per rank and step")
    parser.add_argument("--seq", type=int, default=256, help="tokens of a sequence")
    parser.add_argument("--steps", type=int, default=6, help="the first warms up")
    parser.add_argument("--accumulate", type=int, default=1, help="backward passes of --batch sequences in a step")
    parser.add_argument("--bf16", action="store_true", help="autocast to bfloat16; parameters and optimizer stay fp32")
    parser.add_argument("--compile", action="store_true", help="torch.compile (torch 2.x)")
    options = parser.parse_args()
    program = resident_mb()
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    torch.manual_seed(1 + rank)
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", os.cpu_count())))
    shape = SHAPES[options.arch, options.preset]
    model = Decoder(shape)
    parameters = list(model.parameters())
    if world > 1:
        torch.distributed.init_process_group("gloo")
        model = nn.parallel.DistributedDataParallel(model)
    if options.compile:
        model = torch.compile(model)
    seconds, first = train(model, parameters, shape.vocab, options)
    step = statistics.median(seconds[1:])
    if rank == 0:
        print(json.dumps({
            "parameters": sum(p.numel() for p in parameters), "world": world, "batch": options.batch,
            "seq": options.seq, "accumulate": options.accumulate, "step_seconds": round(step, 4),
            "tokens_per_second": round(world * options.batch * options.seq * options.accumulate / step, 1),
            "program_rss_mb": program,
            "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            "first_step_seconds": round(first, 2), "torch": torch.__version__}))


if __name__ == "__main__":
    main()
