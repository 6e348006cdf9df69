"""The layouts that plan-proofs.py and memory-proofs.py hold plans against, and how they run and plan them."""
import json
import shlex
import subprocess
import sys

LAYOUTS = ["--dp 2", "--pp 2", "--dp 2 --zero 1", "--dp 2 --zero 2", "--dp 2 --zero 3", "--tp 2", "--cp 2", "--dp 3", "--pp 3",
           "--pp 4", "--dp 2 --pp 2", "--dp 4"]


def output_of(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{shlex.join(command)}\n{done.stderr[-2000:]}")
    return done.stdout


def processes(layout):
    words, count = layout.split(), 1
    for axis in ("--dp", "--pp", "--tp", "--cp"):
        if axis in words:
            count *= int(words[words.index(axis) + 1])
    return count


def train(troika, settings, layout, text, steps, out):
    """Nothing is saved: OUT gets the metrics and the logs of ranks."""
    output_of([troika, "launch", "--nproc-per-node", str(processes(layout)), "--", "train", *settings, *layout.split(),
               "--data.train", text, "--data.tokenizer", "bytes", "--steps", str(steps), "--out", out, "--log.progress", "none",
               "--checkpoint.every", "0", "--checkpoint.at-end", "false"])


def plan(troika, settings, layout, *machine):
    """What `troika plan --json` says of this layout and no other."""
    fixed = layout.split()
    for flag, value in (("--dp", "1"), ("--pp", "1"), ("--tp", "1"), ("--cp", "1"), ("--zero", "0"), ("--schedule", "1f1b")):
        if flag not in fixed:
            fixed += [flag, value]
    text = output_of([troika, "plan", *settings, *fixed, *machine, "--nproc", str(processes(layout)), "--json"])
    return json.loads(text)["layouts"][0]
