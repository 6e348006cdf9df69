"""A model of Qwen3-0.6B's size with random weights: does one step take the memory that was predicted, and do two ranks of
ZeRO 3 read their own part each? Takes about 2 GB of disk in FOLDER, 11 GiB of memory and a few minutes.

    large_model.py TROIKA FOLDER"""
import json
import pathlib
import struct
import subprocess
import sys

import torch

import families

TROIKA, FOLDER = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
MODEL = families.Rotary("qwen3", layers=28, hidden=1024, heads=16, kv_heads=8, head_dim=128, ffn=3072, vocab=151936,
                        theta=1e6)


def write_model():
    """One tensor at a time; each is cut from one block of random numbers at a place of its own."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "config.json").write_text(json.dumps(MODEL.config("bfloat16"), indent=2))
    block = (torch.randn(1 << 24, generator=torch.Generator().manual_seed(1)) * 0.02).bfloat16()
    header, at = {}, 0
    shapes = MODEL.shapes()
    for name, shape in shapes.items():
        count = torch.Size(shape).numel()
        header[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [at, at + 2 * count]}
        at += 2 * count
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(FOLDER / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for number, (name, shape) in enumerate(shapes.items()):
            left = torch.Size(shape).numel()
            values = torch.ones(left, dtype=torch.bfloat16) if len(shape) == 1 else block
            offset = 0 if len(shape) == 1 else 997 * number
            while left > 0:
                piece = values[offset:offset + left]
                file.write(bytes(piece.view(torch.uint8).numpy()))
                left, offset = left - len(piece), 0
    return at


def train(name, ranks, flags):
    launch = ["launch", "--nproc-per-node", str(ranks), "--"] if ranks > 1 else []
    command = [str(TROIKA), *launch, "train", "--model.path", str(FOLDER), "--data.train", str(FOLDER / "samples.jsonl"),
               "--seq-len", "128", "--micro-batch-size", "1", "--global-batch-size", "2", "--steps", "1",
               "--out", str(FOLDER / name), "--log.progress", "none", *flags]
    done = subprocess.run(command, capture_output=True, text=True)
    print(f"--- {name}\n{done.stderr}{done.stdout}")
    assert done.returncode == 0
    for log in sorted((FOLDER / name / "logs").glob("*")):
        print("\n".join(line for line in log.read_text().splitlines() if "read" in line))
    return done.stderr + done.stdout


def main():
    total = write_model()
    print(f"{total / 2**20:.1f} MiB of weights")
    (FOLDER / "samples.jsonl").write_text(
        "".join(json.dumps({"input_ids": [(7 * i + 13 * n) % 151936 for i in range(129)]}) + "\n" for n in range(4)))
    train("one", 1, [])
    train("zero3", 2, ["--dp", "2", "--zero", "3"])


if __name__ == "__main__":
    main()
