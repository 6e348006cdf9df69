#!/usr/bin/env python3
"""What `troika plan` predicts for layouts beside what they take (docs/planning.md and docs/memory.md have results).

  tools/proofs/layouts.py memory FOLDER_WITH_TROIKA TEXT [--preset bench-4m] [--global 12] [LAYOUT ...]
  tools/proofs/layouts.py time   FOLDER_WITH_TROIKA TEXT --machine FILE [--rounds 2] [--preset bench-4m] [--global 12] [LAYOUT ...]

LAYOUT: flags of train, such as "--dp 2 --zero 1"; without any, twelve on 2 to 4 processes. A line for each.

memory: of the rank with most, its tensors by the plan beside those that it counted, the growth of its peak resident memory over that
of the same layout with a model of next to nothing, and the peak itself beside the plan's total. Fails where the growth is more than
5 % off the plan. Other work on the machine does not matter.

time: the step as a ratio to that of one process trained just before it. FILE describes this host (`troika probe --out`). Fails where
a ratio is more than 15 % off. Needs the machine for itself.
"""
import argparse
import json
import pathlib
import re
import shlex
import statistics
import subprocess
import sys
import tempfile

LAYOUTS = ["--dp 2", "--pp 2", "--dp 2 --zero 1", "--dp 2 --zero 2", "--dp 2 --zero 3", "--tp 2", "--cp 2", "--dp 3", "--pp 3",
           "--pp 4", "--dp 2 --pp 2", "--dp 4"]
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
MOST_OFF = {"memory": 0.05, "time": 0.15}
MEMORY_STEPS, TIME_STEPS, UNCOUNTED = 4, 7, 2


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


class Trainings:
    """Runs and plans of one model's layouts."""

    def __init__(self, arguments):
        self.troika = str(pathlib.Path(arguments.folder) / "troika")
        self.text = arguments.text
        self.same = shlex.split(f"--global-batch-size {arguments.batch} --micro-batch-size 1 --recompute none --offload none "
                                "--precision.compute fp32")
        self.model = shlex.split(f"--model.preset {arguments.preset} --model.vocab 4096 --seq-len 256") + self.same
        self.tiny = shlex.split("--model.layers 4 --model.hidden 16 --model.heads 2 --model.kv-heads 2 --model.head-dim 8 "
                                "--model.ffn 16 --model.vocab 260 --seq-len 8") + self.same

    def train(self, settings, layout, steps, out):
        """Nothing is saved: OUT gets the metrics and the logs of ranks."""
        output_of([self.troika, "launch", "--nproc-per-node", str(processes(layout)), "--", "train", *settings, *layout.split(),
                   "--data.train", self.text, "--data.tokenizer", "bytes", "--steps", str(steps), "--out", out, "--log.progress", "none",
                   "--checkpoint.every", "0", "--checkpoint.at-end", "false"])

    def plan(self, layout, *machine):
        """What `troika plan --json` predicts for this layout alone."""
        fixed = layout.split()
        for flag, value in (("--dp", "1"), ("--pp", "1"), ("--tp", "1"), ("--cp", "1"), ("--zero", "0"), ("--schedule", "1f1b")):
            if flag not in fixed:
                fixed += [flag, value]
        text = output_of([self.troika, "plan", *self.model, *fixed, *machine, "--nproc", str(processes(layout)), "--json"])
        return json.loads(text)["layouts"][0]


def bytes_behind(word, text):
    number, unit = re.search(rf"{word}\s+([0-9.]+) ([KMG]?i?B)", text).groups()
    return float(number) * UNITS[unit]


def memory(trainings, layout, _):
    """How far off the plan is, and a text of figures."""
    def of_ranks(settings):
        """For every rank: bytes of tensors that it counted, peak of resident memory."""
        with tempfile.TemporaryDirectory() as folder:
            trainings.train(settings, layout, MEMORY_STEPS, f"{folder}/run")
            logs = sorted(pathlib.Path(f"{folder}/run/logs").glob("rank-*.log"))
            lines = [re.search(r"peak memory.*", log.read_text()).group() for log in logs]
            return [(bytes_behind("peak memory", line), bytes_behind("resident", line)) for line in lines]

    row = trainings.plan(layout)
    program = row["memory"]["program"]
    tensors = row["memory_bytes"] - program
    ranks = [(counted, peak - small_peak + small, peak)
             for (counted, peak), (small, small_peak) in zip(of_ranks(trainings.model), of_ranks(trainings.tiny))]
    counted, growth, peak = max(ranks, key=lambda rank: rank[1])
    off = tensors / growth - 1
    mib = [f"{value / UNITS['MiB']:.1f}" for value in (tensors, counted, growth, tensors + program, peak)]
    return off, (f"planned {mib[0]:>6} MiB, counted {mib[1]:>6}, grown {mib[2]:>6}: {off:+.1%}; with program {mib[3]:>6}, resident "
                 f"{mib[4]:>6}: {(tensors + program) / peak - 1:+.1%}")


def time(trainings, layout, arguments):
    """How far off the plan is, and a text of figures."""
    def measured(flags):
        with tempfile.TemporaryDirectory() as folder:
            trainings.train(trainings.model, flags, TIME_STEPS, f"{folder}/run")
            rows = pathlib.Path(f"{folder}/run/metrics.jsonl").read_text().splitlines()
        return statistics.median(json.loads(row)["step_seconds"] for row in rows[UNCOUNTED:])

    predicted = [trainings.plan(flags, "--cluster", arguments.machine)["step_seconds"] for flags in (layout, "")]
    seconds, ones = [], []
    for _ in range(arguments.rounds):
        ones.append(measured(""))
        seconds.append(measured(layout))
    ratio = statistics.median(s / one for s, one in zip(seconds, ones))
    off = predicted[0] / predicted[1] / ratio - 1
    return off, (f"one {statistics.median(ones):.4f} s, this {statistics.median(seconds):.4f} s, ratio {ratio:.3f}; predicted "
                 f"{predicted[0] / predicted[1]:.3f}: {off:+.1%}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("memory", "time"))
    parser.add_argument("folder")
    parser.add_argument("text")
    parser.add_argument("--machine")
    parser.add_argument("--preset", default="bench-4m")
    parser.add_argument("--global", dest="batch", default="12")
    parser.add_argument("--rounds", type=int, default=2)
    arguments, layouts = parser.parse_known_args()  # a layout is one word that begins with dashes and has blanks in it
    if arguments.what == "time" and not arguments.machine:
        parser.error("time needs --machine FILE, as `troika probe --out FILE` writes it")
    compare, most = {"memory": memory, "time": time}[arguments.what], MOST_OFF[arguments.what]
    trainings, failures = Trainings(arguments), 0
    for layout in layouts or LAYOUTS:
        off, figures = compare(trainings, layout, arguments)
        failures += abs(off) > most
        print(f"{'FAIL' if abs(off) > most else 'ok':4}  {layout:18} {figures}", flush=True)
    print(f"layouts: {failures} checks failed")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
