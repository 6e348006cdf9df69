#!/usr/bin/env python3
"""Compares Troika with a PyTorch script on this machine: tokens per second, peak memory, time to the first step.

Both run in turn, Troika first, for a number of pairs; what is reported is the median of the ratios of the pairs, so
that a machine that is faster at one time than at another does not decide. Before each run the same command runs for two
steps: what it frees the next one gets, where a virtual machine would else fetch memory from its host first, up to a second
per GiB, and whoever runs second would not pay. A step is random tokens, AdamW, gradient
clipping, in fp32 or with --bf16. --compile adds torch.compile as a side of its own; its first run of a row finds an empty
cache, and that run's first step is the one in the table.

  benchmarks/compare.py --python /usr/bin/python3 --csv measurements.csv --markdown page.md

Needs Python 3.9 with its own library only; the PyTorch script needs torch (Debian: python3-torch).
"""
import argparse
import csv
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass

HERE = pathlib.Path(__file__).resolve().parent
KEYS = ("tokens_per_second", "step_seconds", "peak_rss_mb", "program_rss_mb", "first_step_seconds")
COMPILED = "torch compiled"


@dataclass(frozen=True)
class Row:
    """A model, sequences per microbatch x tokens, ranks, microbatches; `peer` are the script's --arch and --preset."""
    model: str
    peer: tuple
    batch: int
    seq: int
    ranks: int = 1
    accumulate: int = 1

    @property
    def name(self):
        return (f"{self.model} {self.batch}x{self.seq}" + (f" dp {self.ranks}" if self.ranks > 1 else "")
                + (f" accumulate {self.accumulate}" if self.accumulate > 1 else ""))


ROWS = (
    Row("bench-4m", ("qwen3", "tiny"), 8, 256),
    Row("bench-35m", ("qwen3", "small"), 4, 256),
    Row("bench-35m", ("qwen3", "small"), 1, 2048),
    Row("gpt2-124m", ("gpt2", "124m"), 4, 64),
    Row("bench-4m", ("qwen3", "tiny"), 4, 256, ranks=2),
    Row("bench-35m", ("qwen3", "small"), 1, 256, accumulate=16),
)


def environment(threads, **more):
    return {**os.environ, "OMP_NUM_THREADS": str(threads), **{name: str(value) for name, value in more.items()}}


def last_json(output):
    for line in reversed(output.splitlines()):
        if line.startswith("{"):
            return json.loads(line)
    raise ValueError("no line of JSON")


def finish(commands, processes):
    """The JSON of the first process; all must end well."""
    outputs = [process.communicate(timeout=3600) for process in processes]
    for command, process, (_, errors) in zip(commands, processes, outputs):
        if process.returncode != 0:
            sys.exit(f"{' '.join(command)} ended with {process.returncode}:\n{errors[-2000:]}")
    return last_json(outputs[0][0])


def start(command, env):
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run_troika(options, row, ranks, batch, threads, steps):
    bench = ["bench", "step", "--json", "--model.preset", row.model, "--micro-batch-size", str(batch),
             "--seq-len", str(row.seq), "--gradient-accumulation-steps", str(row.accumulate), "--train.threads", str(threads), "--steps", str(steps),
             "--device", "cpu", *(["--bf16"] if options.bf16 else [])]
    launch = ["launch", "--nproc-per-node", str(ranks), "--"] if ranks > 1 else []
    command = [options.troika, *launch, *bench]
    return finish([command], [start(command, environment(threads))])


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run_peer(options, row, threads, steps, flags=(), **variables):
    arch, preset = row.peer
    command = [options.python, str(options.peer), "--arch", arch, "--preset", preset, "--batch", str(row.batch),
               "--seq", str(row.seq), "--steps", str(steps), *flags]
    if row.accumulate > 1:
        command += ["--accumulate", str(row.accumulate)]
    if options.bf16:
        command.append("--bf16")
    if row.ranks == 1:
        return finish([command], [start(command, environment(threads, **variables))])
    port = free_port()
    ranks = [environment(threads, **variables, RANK=rank, LOCAL_RANK=rank, WORLD_SIZE=row.ranks, MASTER_ADDR="127.0.0.1",
                         MASTER_PORT=port) for rank in range(row.ranks)]
    return finish([command] * row.ranks, [start(command, env) for env in ranks])


def sides_of(options, row, cache):
    """What runs in turn for a row: name, and a function of the number of steps that gives the measured numbers."""
    threads = max(1, options.threads // row.ranks)
    sides = [("troika", lambda steps: run_troika(options, row, row.ranks, row.batch, threads, steps)),
             ("torch", lambda steps: run_peer(options, row, threads, steps))]
    if options.compile:
        sides.append((COMPILED, lambda steps: run_peer(options, row, threads, steps, ["--compile"],
                                                       TORCHINDUCTOR_CACHE_DIR=cache)))
    if row.ranks > 1:  # the same step without messages
        together = row.batch * row.ranks
        sides.append(("troika, one process",
                      lambda steps: run_troika(options, row, 1, together, options.threads, steps)))
    return sides


def measure(options, row):
    """side -> one dict of numbers per pair."""
    found = {}
    with tempfile.TemporaryDirectory() as cache:
        for pair in range(options.pairs):
            for side, run in sides_of(options, row, cache):
                if pair > 0 or side != COMPILED:  # whose first run must find an empty cache
                    run(2)
                numbers = run(options.steps)
                found.setdefault(side, []).append(numbers)
                shown = ", ".join(f"{key} {numbers.get(key)}" for key in KEYS)
                print(f"{row.name}  pair {pair + 1} of {options.pairs}  {side}: {shown}", file=sys.stderr, flush=True)
    return found


def ratio(found, side, other, key):
    return statistics.median(a[key] / b[key] for a, b in zip(found[side], found[other]))


def middle(found, side, key):
    return statistics.median(numbers[key] for numbers in found[side])


def middle_ratio(found, side, other, figure):
    return statistics.median(figure(a) / figure(b) for a, b in zip(found[side], found[other]))


def beyond_mb(numbers):
    """Peak memory beyond the program and 16 bytes per parameter: fp32 weight, gradient and two moments."""
    return numbers["peak_rss_mb"] - numbers["program_rss_mb"] - 16 * numbers["parameters"] / 2**20


def first_step_ratio(found, other):
    if other == COMPILED:
        return middle(found, "troika", "first_step_seconds") / found[other][0]["first_step_seconds"]
    return ratio(found, "troika", other, "first_step_seconds")


def table_lines(results):
    head = ["row", "against", "tokens/s", "against's", "ratio", "range", "of ideal", "against's", "peak MiB", "ratio",
            "beyond MiB", "ratio", "first step s", "ratio"]
    lines = [head, ["---"] * len(head)]
    for row, found in results:
        for other in list(found)[1:]:
            pairs = [a["tokens_per_second"] / b["tokens_per_second"] for a, b in zip(found["troika"], found[other])]
            speed, against = (middle(found, side, "tokens_per_second") for side in ("troika", other))
            share = 100 * middle(found, "troika", "share_of_ideal")
            has_program = all("program_rss_mb" in numbers for side in ("troika", other) for numbers in found[side])
            beyond = statistics.median(map(beyond_mb, found["troika"])) if has_program else 0
            lines.append([
                row.name, other, f"{speed:.0f}", f"{against:.0f}", f"{statistics.median(pairs):.2f}",
                f"{min(pairs):.2f} to {max(pairs):.2f}", f"{share:.0f} %", f"{share * against / speed:.0f} %",
                f"{middle(found, 'troika', 'peak_rss_mb'):.0f}", f"{ratio(found, 'troika', other, 'peak_rss_mb'):.2f}",
                f"{beyond:.0f}" if has_program else "",
                f"{middle_ratio(found, 'troika', other, beyond_mb):.2f}" if has_program else "",
                f"{middle(found, 'troika', 'first_step_seconds'):.2f}", f"{first_step_ratio(found, other):.2f}"])
    return ["| " + " | ".join(line) + " |" for line in lines]


def first_match(path, key):
    for line in pathlib.Path(path).read_text().splitlines():
        if line.startswith(key):
            return line.split(":", 1)[1].strip()
    return "unknown"


def commit():
    def git(*words):
        return subprocess.run(["git", "-C", str(HERE), *words], capture_output=True, text=True).stdout.strip()
    changed = " with changes" if git("status", "--porcelain") else ""
    return (git("rev-parse", "--short", "HEAD") or "unknown") + changed


def machine():
    memory = int(first_match("/proc/meminfo", "MemTotal").split()[0]) / 2**20
    processor, cores = first_match("/proc/cpuinfo", "model name"), len(os.sched_getaffinity(0))
    return f"processor: {processor}, {cores} cores, {memory:.0f} GiB"


def surroundings(options):
    words = ["--pairs", str(options.pairs), "--steps", str(options.steps), "--threads", str(options.threads),
             *(["--bf16"] if options.bf16 else []), *(["--compile"] if options.compile else [])]
    return [f"- {machine()}",
            f"- commit: {commit()}", f"- against: {options.peer.name}, torch {options.torch}",
            f"- command: `benchmarks/compare.py {' '.join(words)}`"]


def write_csv(path, results):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["row", "pair", "side", *KEYS])
        for row, found in results:
            for side, measured in found.items():
                for pair, numbers in enumerate(measured):
                    writer.writerow([row.name, pair + 1, side, *(numbers.get(key) for key in KEYS)])


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--troika", default=str(HERE.parent / "build/release/troika"),
                        help="the program (default: build/release/troika)")
    parser.add_argument("--peer", type=pathlib.Path, default=HERE / "torch_train.py",
                        help="the PyTorch script; another one must take the same flags and print the same JSON keys")
    parser.add_argument("--python", default=sys.executable, help="the Python that has torch (default: this one)")
    parser.add_argument("--pairs", type=int, default=5, help="runs of each side and row (default 5)")
    parser.add_argument("--steps", type=int, default=6, help="of each run; the first warms up (default 6)")
    parser.add_argument("--threads", type=int, default=2, help="of all ranks of a run together (default 2)")
    parser.add_argument("--bf16", action="store_true", help="both sides in bf16")
    parser.add_argument("--compile", action="store_true", help="also against torch.compile (torch 2.x)")
    parser.add_argument("--rows", default="", help="only rows whose name contains this")
    parser.add_argument("--csv", help="write every measurement here")
    parser.add_argument("--markdown", help="write the table with machine, commit and command here")
    return parser.parse_args()


def main():
    options = read_options()
    rows = [row for row in ROWS if options.rows in row.name]
    if not rows or options.pairs < 1 or options.steps < 2:
        names = ", ".join(row.name for row in ROWS)
        sys.exit(f"--rows '{options.rows}' must match one of {names}; --pairs is at least 1, --steps at least 2")
    results = [(row, measure(options, row)) for row in rows]
    options.torch = results[0][1]["torch"][0].get("torch", "of unknown version")
    page = surroundings(options) + [""] + table_lines(results)
    print("\n".join(page))
    if options.csv:
        write_csv(options.csv, results)
    if options.markdown:
        pathlib.Path(options.markdown).write_text("\n".join(page) + "\n")


if __name__ == "__main__":
    main()
