"""What the checks share: running Troika, measuring a difference, and the table of results."""
import json
import os
import pathlib
import subprocess
import sys

import torch

TROIKA = pathlib.Path(os.environ["TROIKA"]).resolve()
REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
failures = 0


class TroikaRefused(Exception):
    """Troika ended with another code than 0; `code` and the text it wrote."""

    def __init__(self, arguments, done):
        super().__init__(f"troika {' '.join(arguments)} ended with {done.returncode}:\n{done.stderr}")
        self.code, self.text = done.returncode, done.stderr


def troika(*arguments, ranks=1):
    """Runs `troika ARGUMENTS`, over several processes if asked; returns what it printed."""
    words = [str(word) for word in arguments]
    launch = [] if ranks == 1 else ["launch", "--nproc-per-node", str(ranks), "--"]
    done = subprocess.run([str(TROIKA), *launch, *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise TroikaRefused(launch + words, done)
    return done.stdout


def difference(ours, theirs):
    """max |ours - theirs| / max |theirs|."""
    assert ours.shape == theirs.shape, f"shape {list(ours.shape)} beside {list(theirs.shape)}"
    return float((ours.double() - theirs.double()).abs().max() / theirs.double().abs().max())


def report(subject, what, figure, good):
    """A row of the table: of which subject, what was compared, what was found."""
    global failures
    failures += not good
    print(json.dumps({"subject": subject, "what": what, "figure": figure, "good": bool(good)}, ensure_ascii=False),
          flush=True)


def report_limit(subject, what, value, limit):
    report(subject, what, f"{value:.1e} (at most {limit:.0e})", value <= limit)


def finish():
    sys.exit(1 if failures else 0)


def write_jsonl(path, records):
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
    return path


def metrics(run):
    """The rows of a run, one for each step."""
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
