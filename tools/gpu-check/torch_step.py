#!/usr/bin/env python3
"""Trains a Qwen3 of transformers with PyTorch on random tokens for some steps, and prints one line of JSON that has the keys of
`troika bench step --json`.

Weights and activations are bf16, AdamW works on fp32 copies with fp32 moments, gradients are clipped, attention is PyTorch's
scaled_dot_product_attention. eager: AdamW with foreach; compiled: torch.compile of the model, AdamW fused.
"""
import argparse
import json
import statistics
import time

import torch
from torch import nn
from transformers import Qwen3Config, Qwen3ForCausalLM

# hidden, layers, heads, key/value heads, width of a head, feed-forward, tied embeddings; vocabulary 151936
SIZES = {
    "qwen3-0.6b": (1024, 28, 16, 8, 128, 3072, True),
    "qwen3-1.7b": (2048, 28, 16, 8, 128, 6144, True),
    "qwen3-8b": (4096, 36, 32, 8, 128, 12288, False),
}
VOCABULARY = 151936


class LowRank(nn.Module):
    def __init__(self, inner, rank):
        super().__init__()
        self.inner = inner
        options = {"device": inner.weight.device, "dtype": inner.weight.dtype}
        self.a = nn.Parameter(torch.randn(rank, inner.in_features, **options) * inner.in_features ** -0.5)
        self.b = nn.Parameter(torch.zeros(inner.out_features, rank, **options))

    def forward(self, x):
        return self.inner(x) + 2 * nn.functional.linear(nn.functional.linear(x, self.a), self.b)


def model_of(arguments):
    hidden, layers, heads, kv_heads, head_dim, ffn, tied = SIZES[arguments.model]
    config = Qwen3Config(vocab_size=VOCABULARY, hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads,
                         num_key_value_heads=kv_heads, head_dim=head_dim, intermediate_size=ffn, tie_word_embeddings=tied,
                         max_position_embeddings=arguments.seq_len, use_cache=False, attn_implementation="sdpa")
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        model = Qwen3ForCausalLM(config)
    torch.set_default_dtype(torch.float32)
    if arguments.lora_rank:
        model.requires_grad_(False)
        for module in list(model.modules()):
            for name, child in list(module.named_children()):
                if isinstance(child, nn.Linear) and name.endswith("_proj"):
                    setattr(module, name, LowRank(child, arguments.lora_rank))
    return model


class Updates:
    """AdamW on fp32 copies of the trained weights."""

    def __init__(self, model, fused):
        self.weights = [p for p in model.parameters() if p.requires_grad]
        self.copies = [nn.Parameter(p.detach().float()) for p in self.weights]
        self.adamw = torch.optim.AdamW(self.copies, lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1,
                                       **({"fused": True} if fused else {"foreach": True}))

    def step(self):
        for copy, weight in zip(self.copies, self.weights):
            copy.grad = weight.grad.float()
            weight.grad = None
        torch.nn.utils.clip_grad_norm_(self.copies, 1.0, foreach=True)
        self.adamw.step()
        self.adamw.zero_grad(set_to_none=True)
        with torch.no_grad():
            torch._foreach_copy_(self.weights, self.copies)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=SIZES, required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--seq-len", type=int, default=2048)
    parser.add_argument("--mode", choices=("eager", "compiled"), default="eager")
    parser.add_argument("--lora-rank", type=int, default=0)
    parser.add_argument("--steps", type=int, default=6)
    arguments = parser.parse_args()

    torch.manual_seed(1)
    model = model_of(arguments)
    parameters = sum(p.numel() for p in model.parameters())
    updates = Updates(model, arguments.mode == "compiled")
    forward = torch.compile(model) if arguments.mode == "compiled" else model
    tokens = torch.randint(VOCABULARY, (arguments.batch, arguments.seq_len), device="cuda")
    seconds, queued, loss = [], [], 0.0
    for _ in range(arguments.steps):
        begin = time.perf_counter()
        result = forward(input_ids=tokens, labels=tokens)
        result.loss.backward()
        updates.step()
        queued.append(time.perf_counter() - begin)
        loss = result.loss.item()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - begin)
    step = statistics.median(seconds[1:])
    print(json.dumps({
        "model": arguments.model, "mode": arguments.mode, "torch": torch.__version__, "parameters": parameters,
        "device": torch.cuda.get_device_name(), "batch": arguments.batch, "seq_len": arguments.seq_len,
        "steps": arguments.steps, "step_seconds": step, "queued_seconds": statistics.median(queued[1:]),
        "tokens_per_second": arguments.batch * arguments.seq_len / step, "first_step_seconds": seconds[0], "loss": loss,
        "device_used_peak_bytes": torch.cuda.max_memory_allocated(),
        "device_reserved_peak_bytes": torch.cuda.max_memory_reserved()}, separators=(",", ":")))


if __name__ == "__main__":
    main()
