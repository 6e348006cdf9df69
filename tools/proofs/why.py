#!/usr/bin/env python3
"""Makes failures, slow runs and runs that do not learn for real, asks `troika why` what it was, and compares.

  tools/proofs/why.py [FOLDER_WITH_TROIKA] [--only WORD,...] [--keep FOLDER] [--no-restart]     (default: build/release)

Each case of tools/proofs/why_cases/ makes one failure with small trainings, by control groups, namespaces, mounts, signals and settings;
its expected word stands in docs/formats/causes.md, and the cases know nothing of the rules. Where a flag was advised the run is
started again with it. Prints a line for each case, the confusion and counts. Exit code 0 when at least 88 % of the failures have
their word and every healthy run is called `none`.

  --only      cases whose function's name or file is among these words
  --keep      leaves the folders of all cases there
  --no-restart  does not start runs again

Needs root, iproute2 with tc, util-linux, /dev/fuse and control groups of version 1 (others: those cases are left out and said).
Takes about 10 minutes. The machine should have nothing else to do: rules about speed look at it.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from why_cases import deaths, disks, healthy, learning, meeting, speed  # noqa: E402,F401 (they register cases)
from why_cases.bench import Bench  # noqa: E402
from why_cases.case import CASES  # noqa: E402
from why_cases.runs import CannotMake, ROOT, read_text  # noqa: E402

WANTED = 0.88
AT_ONCE = 3  # of the cases that mostly wait
MOST_RESTARTS = 3
WHY_SECONDS = 20
NICENESS = -15  # of runs whose speed is judged: what else runs here is no part of the case


def ask(binaries, run, scratch):
    """What `why` says, and in how many seconds."""
    began = time.monotonic()
    with tempfile.TemporaryFile("w+", dir=scratch) as output, tempfile.TemporaryFile("w+", dir=scratch) as error:
        process = subprocess.Popen([binaries + "/troika", "why", run, "--json", "--lang", "en"], stdout=output, stderr=error)
        try:
            process.wait(WHY_SECONDS)
        except subprocess.TimeoutExpired:  # it may wait for a disk and not be killed: it is left, and what it said counts
            process.kill()
        output.seek(0)
        error.seek(0)
        try:
            answer = json.loads(output.read())
        except ValueError:
            answer = {"cause": "?", "evidence": [f"no answer: {error.read().strip()}"], "advice": []}
        return answer, time.monotonic() - began


def start_again(answer, again):
    """Started again with each advice in turn until one succeeds: "", or what came of it."""
    tried = []
    for advice in answer["advice"]:
        if len(tried) == MOST_RESTARTS:
            break
        outcome = again(advice["flag"])
        if outcome is None:
            continue
        well, text = outcome
        if well:
            return "ok", f"ends well with `{advice['flag']}`", tried
        tried.append(f"`{advice['flag']}`: {text}")
    return ("fails" if tried else "-"), "; ".join(tried), tried


def judge(case, binaries, scratch, sampling, arguments):
    result = {"case": case.name, "function": case.make.__name__, "row": case.row, "expected": case.cause, "again": "-"}
    bench = Bench(binaries, scratch, case.make.__name__, sampling, bool(arguments.keep), NICENESS if case.alone else 0)
    began = time.monotonic()
    try:
        made = case.make(bench)
        result["seconds"] = time.monotonic() - began
        answer, result["why_seconds"] = ask(binaries, made.run, scratch)
        result.update(said=answer.get("cause", "?"), evidence=answer.get("evidence"), advice=answer.get("advice"))
        result["screens"] = [read_text(path)[-3000:] for path in made.screens]
        if made.again and answer.get("advice") and not arguments.no_restart:
            result["again"], result["again_text"], _ = start_again(answer, made.again)
    except CannotMake as error:
        result.update(said="not made", evidence=[str(error)])
    except Exception:  # a mistake of the case ends no other
        result.update(said="not made", evidence=[traceback.format_exc()])
    finally:
        bench.close()
    result["total_seconds"] = time.monotonic() - began
    result["right"] = result["said"] == case.cause
    return result


def show(result):
    mark = "right" if result["right"] else "WRONG" if result["said"] != "not made" else "NOT MADE"
    print(f"{result['case'][:72]:72} {result['row']:>7}  {result['expected']:27} {result['said']:27} {mark:8} again {result['again']:5} {result['total_seconds']:5.1f} s", flush=True)
    if not result["right"]:
        for line in (result.get("evidence") or [])[:3]:
            print("      | " + str(line)[-400:].replace("\n", "\n      | "), flush=True)
    if result["again"] == "fails":
        print("      | again: " + result["again_text"][:300], flush=True)


def summarize(results):
    failures = [r for r in results if r["expected"] != "none" and r["said"] != "not made"]
    sound = [r for r in results if r["expected"] == "none"]
    confusion = collections.Counter((r["expected"], r["said"]) for r in results if r["said"] != "not made")
    print("\nexpected                     said                         cases")
    for (expected, said), count in sorted(confusion.items()):
        print(f"{expected:28} {said:28} {count:5} {'' if expected == said else '<- wrong'}")
    right = sum(r["right"] for r in failures)
    signatures = {r["row"] for r in failures if r["row"].isdigit()}
    right_signatures = {row for row in signatures if all(r["right"] for r in failures if r["row"] == row)}
    again = collections.Counter(r["again"] for r in failures)
    print(f"\nsignatures made      {len(signatures)} of 33, {len(right_signatures)} right in all their cases")
    print(f"failures right       {right} of {len(failures)}")
    print(f"healthy called none  {sum(r['right'] for r in sound)} of {len(sound)}")
    print(f"started again        {again['ok']} succeed, {again['fails']} fail, {again['-']} without a flag to start with")
    print(f"not made             {sum(r['said'] == 'not made' for r in results)}")
    print(f"`why` took           at most {max((r.get('why_seconds', 0) for r in results), default=0):.2f} s")
    return bool(failures or sound) and right >= WANTED * len(failures) and all(r["right"] for r in sound)


def parse():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("binaries", nargs="?", default=ROOT + "/build/release")
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", default="")
    parser.add_argument("--no-restart", action="store_true")
    return parser.parse_args()


def main():
    arguments = parse()
    binaries = os.path.abspath(arguments.binaries)
    if os.geteuid() != 0:
        sys.exit("why: namespaces and control groups need root; run it with sudo")
    if not os.access(binaries + "/troika", os.X_OK):
        sys.exit(f"why: '{binaries}' holds no troika; build it first")
    words = [word for word in arguments.only.split(",") if word]
    cases = [c for c in CASES if not words or {c.make.__name__, c.make.__module__.rsplit(".")[-1]} & set(words)]
    known = subprocess.run([binaries + "/troika", "train", "--print-config", "--data.train", "x"], capture_output=True, text=True).stdout
    sampling = ["--log.sample-seconds", "0.5"] if "sample_seconds" in known else []
    scratch = arguments.keep or tempfile.mkdtemp(prefix="troika-why-")
    os.makedirs(scratch, exist_ok=True)
    results, began = [], time.monotonic()
    try:
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            waiting = [pool.submit(judge, c, binaries, scratch, sampling, arguments) for c in cases if not c.alone]
            for future in concurrent.futures.as_completed(waiting):
                results.append(future.result())
                show(results[-1])
        for one in (c for c in cases if c.alone):
            results.append(judge(one, binaries, scratch, sampling, arguments))
            show(results[-1])
    finally:
        if arguments.keep:
            with open(scratch + "/results.json", "w") as file:
                json.dump(results, file, indent=1)
        else:
            shutil.rmtree(scratch, ignore_errors=True)
    well = summarize(results)
    print(f"all of it took       {time.monotonic() - began:.0f} s")
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
