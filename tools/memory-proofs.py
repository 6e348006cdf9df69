#!/usr/bin/env python3
"""The memory that `troika plan` says of layouts beside what their processes grow by (docs/memory.md, "Measured").

  tools/memory-proofs.py FOLDER_WITH_TROIKA TEXT [--preset bench-4m] [--global 12] [--steps 4] [LAYOUT ...]

LAYOUT: flags of train, such as "--dp 2 --zero 1"; without any, twelve on 2 to 4 processes. A line for each, of the rank with most:
its tensors by the plan beside those that it counted, the growth of its peak resident memory over that of the same layout with a
model of next to nothing, and the peak itself beside the plan's total. Fails where the growth is more than 5 % off the plan.
Other work on the machine does not matter.
"""
import argparse
import pathlib
import re
import shlex
import sys
import tempfile

from proof_layouts import LAYOUTS, plan, train

UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
MOST_OFF = 0.05


def bytes_behind(word, text):
    number, unit = re.search(rf"{word}\s+([0-9.]+) ([KMG]?i?B)", text).groups()
    return float(number) * UNITS[unit]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("text")
    parser.add_argument("--preset", default="bench-4m")
    parser.add_argument("--global", dest="batch", default="12")
    parser.add_argument("--steps", default="4")
    a, layouts = parser.parse_known_args()
    # A layout is one word that begins with dashes and has blanks in it.
    troika = str(pathlib.Path(a.folder) / "troika")
    same = shlex.split(f"--global-batch-size {a.batch} --micro-batch-size 1 --recompute none --offload none --precision.compute fp32")
    model = shlex.split(f"--model.preset {a.preset} --model.vocab 4096 --seq-len 256") + same
    tiny = shlex.split("--model.layers 4 --model.hidden 16 --model.heads 2 --model.kv-heads 2 --model.head-dim 8 --model.ffn 16 "
                       "--model.vocab 260 --seq-len 8") + same

    def of_ranks(settings, layout):
        """Of every rank: tensors that it counted, peak of resident memory."""
        with tempfile.TemporaryDirectory() as folder:
            train(troika, settings, layout, a.text, a.steps, f"{folder}/run")
            logs = sorted(pathlib.Path(f"{folder}/run/logs").glob("rank-*.log"))
            lines = [re.search(r"peak memory.*", log.read_text()).group() for log in logs]
            return [(bytes_behind("peak memory", line), bytes_behind("resident", line)) for line in lines]

    def measured(layout):
        """Of every rank: tensors counted, growth, peak."""
        return [(counted, peak - small_peak + small, peak)
                for (counted, peak), (small, small_peak) in zip(of_ranks(model, layout), of_ranks(tiny, layout))]

    def planned(layout):
        row = plan(troika, model, layout)
        return row["memory_bytes"] - row["memory"]["program"], row["memory"]["program"]

    failures = 0
    for layout in layouts or LAYOUTS:
        tensors, program = planned(layout)
        counted, growth, peak = max(measured(layout), key=lambda rank: rank[1])
        off = tensors / growth - 1
        failures += abs(off) > MOST_OFF
        mib = [f"{value / UNITS['MiB']:.1f}" for value in (tensors, counted, growth, tensors + program, peak)]
        print(f"{'FAIL' if abs(off) > MOST_OFF else 'ok':4}  {layout:18} planned {mib[0]:>6} MiB, counted {mib[1]:>6}, grown {mib[2]:>6}: "
              f"{off:+.1%}; with program {mib[3]:>6}, resident {mib[4]:>6}: {(tensors + program) / peak - 1:+.1%}", flush=True)
    print(f"memory-proofs: {failures} checks failed")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
