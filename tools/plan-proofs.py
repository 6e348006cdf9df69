#!/usr/bin/env python3
"""What `troika plan` says of layouts beside what they take: each as a ratio to one process trained just before it.

  tools/plan-proofs.py FOLDER_WITH_TROIKA MACHINE_FILE TEXT [--preset bench-4m] [--global 12] [--rounds 2] [LAYOUT ...]

MACHINE_FILE: of this host, by `troika probe --out`. LAYOUT: flags of train, such as "--dp 2 --zero 1"; without any, twelve on
2 to 4 processes. A line for each; fails where a ratio is more than 15 % off. Needs the machine for itself.
"""
import argparse
import json
import pathlib
import shlex
import statistics
import sys
import tempfile

from proof_layouts import LAYOUTS, plan, train

STEPS, UNCOUNTED = 7, 2


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("machine")
    parser.add_argument("text")
    parser.add_argument("--preset", default="bench-4m")
    parser.add_argument("--global", dest="batch", default="12")
    parser.add_argument("--rounds", type=int, default=2)
    a, layouts = parser.parse_known_args()
    # A layout is one word that begins with dashes and has blanks in it.
    troika = str(pathlib.Path(a.folder) / "troika")
    base = shlex.split(f"--model.preset {a.preset} --model.vocab 4096 --seq-len 256 --global-batch-size {a.batch} "
                       "--micro-batch-size 1 --recompute none --offload none --precision.compute fp32")

    def measured(layout):
        with tempfile.TemporaryDirectory() as folder:
            train(troika, base, layout, a.text, STEPS, f"{folder}/run")
            rows = pathlib.Path(f"{folder}/run/metrics.jsonl").read_text().splitlines()
        return statistics.median(json.loads(row)["step_seconds"] for row in rows[UNCOUNTED:])

    def predicted(layout):
        return plan(troika, base, layout, "--cluster", a.machine)["step_seconds"]

    alone, failures = predicted(""), 0
    for layout in layouts or LAYOUTS:
        ones, seconds = [], []
        for _ in range(a.rounds):
            ones.append(measured(""))
            seconds.append(measured(layout))
        ratio = statistics.median(s / one for s, one in zip(seconds, ones))
        off = predicted(layout) / alone / ratio - 1
        failures += abs(off) > 0.15
        print(f"{'FAIL' if abs(off) > 0.15 else 'ok':4}  {layout:18} one {statistics.median(ones):.4f} s, this "
              f"{statistics.median(seconds):.4f} s, ratio {ratio:.3f}; predicted {predicted(layout) / alone:.3f}: {off:+.1%}", flush=True)
    print(f"plan-proofs: {failures} checks failed")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
