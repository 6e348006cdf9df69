#!/usr/bin/env python3
"""Compares decoding by Troika with llama.cpp: one text, greedy, the same bf16 weights and the same threads.

By hand, in the environment and with the models that `tools/proofs/real-models.sh TROIKA FOLDER` has made, and with
llama-cpp-python in that environment (FOLDER/venv/bin/pip install 'llama-cpp-python>=0.3,<0.4', which compiles it):

  FOLDER/venv/bin/python benchmarks/decode.py FOLDER --model smollm2,qwen2.5 --json out.json

A prompt of words of one token each, then tokens one by one. Both sides run in turn, --runs times. A GGUF file in bf16
is made beside the one in FOLDER, once. Troika writes the time of a prompt of a second and more with one decimal.
"""
import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "fine_tuning"))
import compare  # noqa: E402
import real_lengths  # noqa: E402

KEYS = ("tokens_per_second", "prompt_tokens_per_second")


def finished(command, env):
    done = subprocess.run(list(map(str, command)), env=env, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return done


def run_troika(options, model, prompt):
    command = [options.troika, "generate", options.folder / model, "--prompt-file", prompt, "--max-new-tokens", options.tokens,
               "--temperature", 0, "--generation-config", "none", "--precision", "bf16", "--threads", options.threads, "--stats",
               "--device", "cpu", "--json"]
    told = compare.last_json(finished(command, compare.environment(options.threads)).stdout)
    return {"prompt_tokens": told["prompt_tokens"], "prompt_tokens_per_second": told["prompt_tokens"] / told["prompt_seconds"],
            "tokens_per_second": told["tokens_per_second"]}


def run_llama(options, model, prompt):
    command = [sys.executable, HERE / "decoding/llama_decode.py", options.folder / f"{model}-bf16.gguf", prompt, options.tokens,
               options.threads]
    return compare.last_json(finished(command, compare.environment(options.threads)).stdout)


def measure(options, model, work):
    bf16 = options.folder / f"{model}-bf16.gguf"
    if not bf16.exists():
        finished([sys.executable, HERE / "decoding/bf16_gguf.py", options.folder / f"{model}.gguf", bf16], os.environ)
    draw, prompt = random.Random(1), work / "prompt.txt"
    prompt.write_text(" ".join(draw.choice(real_lengths.WORDS) for _ in range(options.prompt_tokens)))
    found = {"troika": [], "llama.cpp": []}
    for number in range(options.runs):
        for side, run in (("troika", run_troika), ("llama.cpp", run_llama)):
            figures = run(options, model, prompt)
            if figures["prompt_tokens"] != options.prompt_tokens:
                sys.exit(f"{side} reads {figures['prompt_tokens']} tokens instead of {options.prompt_tokens}")
            found[side].append(figures)
            print(f"{model}  run {number + 1} of {options.runs}  {side}: {figures}", file=sys.stderr, flush=True)
    return found


def line_of(model, found, key):
    ratios = [a[key] / b[key] for a, b in zip(found["troika"], found["llama.cpp"])]
    what = {"tokens_per_second": "tokens one by one", "prompt_tokens_per_second": "prompt"}[key]
    ours, theirs = (compare.middle(found, side, key) for side in found)
    return f"| {model} | {what} | {ours:.1f} | {theirs:.1f} | {statistics.median(ratios):.2f} | {min(ratios):.2f} to {max(ratios):.2f} |"


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="with a model folder and MODEL.gguf for each --model")
    parser.add_argument("--troika", type=pathlib.Path, default=HERE.parent / "build/release/troika",
                        help="the program (default: build/release/troika)")
    parser.add_argument("--model", type=lambda text: text.split(","), default=["smollm2", "qwen2.5"], help="default: smollm2,qwen2.5")
    parser.add_argument("--prompt-tokens", type=int, default=420, help="default 420")
    parser.add_argument("--tokens", type=int, default=64, help="drawn after the prompt (default 64)")
    parser.add_argument("--threads", type=int, default=2, help="default 2")
    parser.add_argument("--runs", type=int, default=5, help="of each side (default 5)")
    parser.add_argument("--json", type=pathlib.Path, help="write every run here")
    parser.add_argument("--markdown", type=pathlib.Path, help="write the table with machine, commit and version here")
    return parser.parse_args()


def main():
    options = read_options()
    with tempfile.TemporaryDirectory() as work:
        results = {model: measure(options, model, pathlib.Path(work)) for model in options.model}
    version = next(iter(results.values()))["llama.cpp"][0]["version"]
    page = [f"- {compare.machine()}", f"- commit: {compare.commit()}, program {options.troika}",
            f"- against: llama-cpp-python {version}; {options.threads} threads, bf16, {options.prompt_tokens} tokens of prompt, "
            f"{options.tokens} drawn", "",
            "| model | | Troika, tokens/s | llama.cpp | ratio | range |", "|---|---|---|---|---|---|",
            *(line_of(model, found, key) for model, found in results.items() for key in KEYS)]
    print("\n".join(page))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    if options.markdown:
        options.markdown.write_text("\n".join(page) + "\n")


if __name__ == "__main__":
    main()
