"""What a case is: how a failure is made, what it should be called, and how the run is started again as advised."""
import dataclasses
import shlex
from typing import Callable, Optional

from .runs import last_line

CASES = []


@dataclasses.dataclass
class Made:
    """A failure that was made: the run that `why` is asked about, and how to start it again."""
    run: str                             # its folder
    again: Optional[Callable] = None     # again(advice): None where the advice is nothing to start with, else (bool, text)
    screens: list = dataclasses.field(default_factory=list)  # files that a person had before the eyes


@dataclasses.dataclass
class Case:
    name: str
    row: str           # of the table of signatures; "healthy": none of them
    cause: str         # the word that docs/formats/causes.md has for it
    make: Callable     # make(bench) -> Made
    alone: bool        # needs the machine for itself, because speeds or counters of the host are judged


def case(name, row, cause, alone=False):
    def add(make):
        CASES.append(Case(name, str(row), cause, make, alone))
        return make
    return add


def with_flags(commands, words):
    return [command.but(words) for command in commands]


def restart(bench, commands, steps=8, seconds=30, acts=(), better=None):
    """Starts the commands again with an advised flag, in fresh folders; it succeeds when all end with 0 and `better` has no objection.

    acts: pairs of a word that advice without a flag may have, and act(commands, advice) -> commands, which does what it says.
    better(run of the first command) -> None, or what is still wrong.
    """
    count = 0

    def again(advice):
        nonlocal count
        words = shlex.split(advice)
        act = next((act for word, act in acts if word in advice), None)
        if act is None and not (words and words[0].startswith("--")):
            return None
        count += 1
        short = ["--train.steps", str(steps)] if steps else []
        named = [c.but(short, out=f"{c.out}-again{count}", screen=f"{c.screen}-again{count}") for c in commands]
        runs = [bench.start(c) for c in (act(named, advice) if act else with_flags(named, words))]
        codes = [run.wait(seconds) for run in runs]
        if any(code is None for code in codes):
            for run in runs:
                run.end()
            return False, "it does not end"
        if any(codes):
            said = next(run for run, code in zip(runs, codes) if code)
            return False, f"exit codes {codes}: {last_line(said.screen)}"
        wrong = better(runs[0]) if better else None
        return wrong is None, wrong or "it ended well"
    return again


def made(bench, runs, again=None, asked=0):
    return Made(runs[asked].out, again, [run.screen_path for run in runs])


def median(values):
    values = sorted(values)
    return values[len(values) // 2] if values else 0


def speed(run, skip=2):
    """Tokens per second of the median step."""
    return median([row["tokens_per_second"] for row in run.rows()[skip:]])


def faster_than(before, times=1.1):
    def better(run):
        after = speed(run)
        return None if after > before * times else f"{after:.0f} tokens/s, before {before:.0f}"
    return better
