#!/usr/bin/env python3
"""Compares fine-tuning by Troika with transformers and PEFT, on a real model and conversations as long as real ones are.

By hand, in the environment and with the models that `tools/proofs/real-models.sh TROIKA FOLDER` has made:

  FOLDER/venv/bin/python benchmarks/fine_tune.py FOLDER --model smollm2 --mode lora --precision fp32,bf16 --json out.json

2,000 conversations, the same for a --seed, in ChatML with the loss on answers. The other side tokenizes them itself; the
ids and targets of both sides are compared before anything is timed. It pads a batch to its longest sample: `dynamic` in the
order of the file, `grouped` as transformers' Trainer orders batches with group_by_length. All sides train on the same
samples in turn, --runs times; of each run the first --warmup steps are not timed. Every flag with a comma is a list, and
every combination a cell.
"""
import argparse
import itertools
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "fine_tuning"), str(HERE.parent / "tests/conformance")]
import compare  # noqa: E402
import memory  # noqa: E402

SIDES = ("troika", "dynamic", "grouped")


@dataclass(frozen=True)
class Cell:
    model: str
    mode: str
    precision: str
    processes: int

    @property
    def name(self):
        return f"{self.model} {self.mode} {self.precision}" + (f" dp {self.processes}" if self.processes > 1 else "")


@dataclass(frozen=True)
class Data:
    """The files of a model's fine-tuning."""
    model: pathlib.Path
    folder: pathlib.Path

    @property
    def adapter(self):
        return self.folder / "adapter"

    def made(self, seed):
        import task
        self.folder.mkdir()
        task.make_data(self.model, self.folder, seed)
        task.make_adapter(self.model, self.adapter)
        return self


def cpu_seconds():
    """Of all processes that have ended, start and loading included: it says more than wall time where others compute too."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def started(options, cell, commands, variables):
    """Runs the commands together: the output of the first, and their peak memory."""
    threads = max(1, options.threads // cell.processes)
    environments = [compare.environment(threads, **one) for one in variables]
    before = cpu_seconds()
    with tempfile.TemporaryFile("w+") as errors:
        processes = [subprocess.Popen(list(map(str, command)), env=env, stdout=subprocess.PIPE, stderr=errors, text=True)
                     for command, env in zip(commands, environments)]
        with memory.Peaks([process.pid for process in processes]) as peaks:
            outputs = [process.communicate()[0] for process in processes]
        errors.seek(0)
        if any(process.returncode for process in processes):
            sys.exit(f"{' '.join(map(str, commands[0]))} failed:\n{errors.read()[-3000:]}")
    return outputs[0], {"peak_mb": round(peaks.sum_mb, 1), "largest_peak_mb": round(peaks.largest_mb, 1),
                        "cpu_seconds": round(cpu_seconds() - before, 1)}


def run_troika(options, cell, data, out):
    import task
    recipe = task.recipe(cell.mode, options.warmup + options.steps, options.micro_batch_size, cell.processes)
    launch = ["launch", "--nproc-per-node", cell.processes, "--"] if cell.processes > 1 else []
    adapter = ["--lora.path", data.adapter] if cell.mode == "lora" else []
    command = [options.troika, *launch, "train", "--model.path", data.model, *adapter, "--data.train", data.folder / "conversations.jsonl",
               "--data.chat-template", data.folder / "template.jinja", "--data.cache", data.folder / "cache", "--seq-len",
               options.seq_len, "--precision", cell.precision, "--train.threads", max(1, options.threads // cell.processes),
               "--device", "cpu", "--log.progress", "none", "--checkpoint.every-minutes", 0, "--checkpoint.at-end", "false",
               "--out", out, *recipe.flags()]
    _, peaks = started(options, cell, [command], [{}])
    rows = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return {"step_seconds": [row["step_seconds"] for row in rows], "losses": [row["loss"] for row in rows],
            "targets": [row["tokens"] for row in rows], **peaks}


def run_peer(options, cell, data, batching):
    command = [sys.executable, HERE / "fine_tuning/peft_train.py", "--model", data.model, "--samples", data.folder / "samples.jsonl",
               "--batching", batching, "--micro-batch-size", options.micro_batch_size, "--steps", options.steps, "--warmup",
               options.warmup, "--precision", cell.precision, *(["--adapter", data.adapter] if cell.mode == "lora" else [])]
    place = {"PYTHONPATH": f"{HERE / 'fine_tuning'}:{HERE}:{HERE.parent / 'tests/conformance'}", "HF_HUB_OFFLINE": 1}
    port = compare.free_port()
    ranks = [{**place, "RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": cell.processes, "MASTER_ADDR": "127.0.0.1",
              "MASTER_PORT": port} for rank in range(cell.processes)]
    output, peaks = started(options, cell, [command] * cell.processes, ranks)
    return {**compare.last_json(output), **peaks}


def up_to_last_target(ids, targets):
    end = max(at for at, trained in enumerate(targets) if trained) + 1
    return list(ids[:end]), list(targets[:end])


def check_same_samples(data, samples):
    """Troika's ids and targets, of all conversations, are those of transformers."""
    import sequence_file
    ours = [up_to_last_target(*one) for one in sequence_file.read(next((data.folder / "cache").glob("*.sequences")))]
    theirs = [up_to_last_target(row["input_ids"], [label != -100 for label in row["labels"]]) for row in samples]
    different = [i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b]
    if different or len(ours) != len(theirs):
        sys.exit(f"{len(ours)} samples of Troika, {len(theirs)} of transformers, of which {len(different)} differ, such as "
                 f"{different[:5]}")


def with_rate(options, run, tokens):
    """Tokens of conversations, without padding, per second of the steps after the warm-up."""
    return {**run, "tokens_per_second": round(tokens / sum(run["step_seconds"][options.warmup:]), 2)}


def measure(options, cell, data, work):
    """side -> a list of runs."""
    import task
    samples = task.read_samples(data.folder / "samples.jsonl")
    step = options.micro_batch_size * cell.processes
    targets = [sum(map(task.targets_of, samples[at:at + step])) for at in range(0, step * (options.warmup + options.steps), step)]
    timed = samples[step * options.warmup:step * (options.warmup + options.steps)]
    if len(timed) < step * options.steps:
        sys.exit(f"--steps {options.steps} with {step} samples each and the warm-up are more than the {len(samples)} conversations")
    tokens = sum(map(task.tokens_of, timed))
    found = {}
    for number in range(options.runs):
        for side in options.side:
            run = (run_troika(options, cell, data, work / f"{cell.name} {number}".replace(" ", "-")) if side == "troika"
                   else run_peer(options, cell, data, side))
            if side == "troika" and number == 0:
                check_same_samples(data, samples)
                if run["targets"] != targets:
                    sys.exit(f"targets of Troika's steps {run['targets']}, of the file's {targets}")
            run = with_rate(options, run, tokens)
            found.setdefault(side, []).append(run)
            print(f"{cell.name}  run {number + 1} of {options.runs}  {side}: {run['tokens_per_second']} tokens/s, "
                  f"peak {run['peak_mb']:.0f} MiB, loss {run['losses'][0]:.4f} to {run['losses'][-1]:.4f}", file=sys.stderr, flush=True)
    return found


def loss_difference(found):
    """The largest relative difference between the losses of a step on the same batch."""
    return max(abs(a - b) / b for a, b in zip(found["troika"][0]["losses"], found["dynamic"][0]["losses"]))


def line_of(cell, found, side):
    figures = [f"{compare.middle(found, side, 'tokens_per_second'):.1f}", "", "", f"{compare.middle(found, side, 'peak_mb'):.0f}",
               "", ""]
    if side != "troika" and "troika" in found:
        speeds = [a["tokens_per_second"] / b["tokens_per_second"] for a, b in zip(found["troika"], found[side])]
        figures[1] = f"{compare.ratio(found, 'troika', side, 'tokens_per_second'):.2f}"
        figures[2] = f"{min(speeds):.2f} to {max(speeds):.2f}"
        figures[4] = f"{compare.ratio(found, 'troika', side, 'peak_mb'):.2f}"
        figures[5] = f"{loss_difference(found):.1e}" if side == "dynamic" else ""
    return "| " + " | ".join([cell.name, side, *figures]) + " |"


def table_lines(results):
    return ["| cell | side | tokens/s | Troika's / this | range | peak MiB | Troika's / this | losses differ by |",
            "|---|---|---|---|---|---|---|---|",
            *(line_of(cell, found, side) for cell, found in results for side in found)]


def surroundings(options, results):
    versions = next((f"torch {run['torch']}, transformers {run['transformers']}, peft {run['peft']}, {run['program_rss_mb']} MiB after "
                     "import" for _, found in results for side in found if side != "troika" for run in found[side]), "nothing")
    return [f"- {compare.machine()}", f"- commit: {compare.commit()}, program {options.troika}", f"- against: {versions}",
            f"- {options.micro_batch_size} samples per process and step, {options.steps} steps after {options.warmup}, "
            f"--seq-len {options.seq_len}, {options.threads} threads, seed {options.seed}"]


def words(text):
    return text.split(",")


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="with a model folder for each --model")
    parser.add_argument("--troika", type=pathlib.Path, default=HERE.parent / "build/release/troika",
                        help="the program (default: build/release/troika)")
    parser.add_argument("--model", type=words, default=["smollm2", "qwen2.5"], help="default: smollm2,qwen2.5")
    parser.add_argument("--mode", type=words, default=["lora", "full"], help="default: lora,full")
    parser.add_argument("--precision", type=words, default=["fp32", "bf16"], help="default: fp32,bf16")
    parser.add_argument("--processes", type=words, default=["1", "2"], help="default: 1,2")
    parser.add_argument("--side", type=words, default=list(SIDES), help="who runs, in turn (default: troika,dynamic,grouped)")
    parser.add_argument("--micro-batch-size", type=int, default=4, help="conversations per process and step (default 4)")
    parser.add_argument("--seq-len", type=int, default=2048, help="of Troika; no less than the longest conversation (default 2048)")
    parser.add_argument("--steps", type=int, default=50, help="timed ones of a run (default 50)")
    parser.add_argument("--warmup", type=int, default=3, help="steps before those (default 3)")
    parser.add_argument("--runs", type=int, default=3, help="of each side (default 3)")
    parser.add_argument("--threads", type=int, default=2, help="of all processes of a run together (default 2)")
    parser.add_argument("--seed", type=int, default=1, help="of the conversations (default 1)")
    parser.add_argument("--json", type=pathlib.Path, help="write every run here")
    parser.add_argument("--markdown", type=pathlib.Path, help="write the table with machine, commit and versions here")
    options = parser.parse_args()
    if unknown := set(options.side) - set(SIDES):
        parser.error(f"--side {min(unknown)}: it is one of {', '.join(SIDES)}")
    if options.runs < 1 or options.steps < 1 or options.warmup < 1:
        parser.error("--runs, --steps and --warmup are at least 1")
    return options


def main():
    options = read_options()
    os.environ.setdefault("TROIKA", str(options.troika))
    results = []
    with tempfile.TemporaryDirectory() as folder:
        work, data = pathlib.Path(folder), {}
        for model in options.model:
            data[model] = Data((options.folder / model).resolve(), work / model).made(options.seed)
        for chosen in itertools.product(options.model, options.mode, options.precision, map(int, options.processes)):
            cell = Cell(*chosen)
            results.append((cell, measure(options, cell, data[cell.model], work)))
            if options.json:  # what is measured is kept if a later cell fails
                options.json.write_text(json.dumps([{**asdict(one), "runs": found} for one, found in results], indent=1) + "\n")
    page = surroundings(options, results) + [""] + table_lines(results)
    print("\n".join(page))
    if options.markdown:
        options.markdown.write_text("\n".join(page) + "\n")


if __name__ == "__main__":
    main()
