"""Holds TensorBoard's own reading of event files against metrics.jsonl: read_events.py RUN FOLDER FILES [overlap]

FOLDER must hold FILES event files. With `overlap`, an earlier file must have steps that a later one has too, as after a crash behind a
checkpoint; then no curve may go back."""

import glob
import json
import math
import struct
import subprocess
import sys
import time
import urllib.request

from tensorboard.backend.event_processing import event_accumulator, event_file_loader


def as_single(value):
    return math.nan if value is None else struct.unpack("<f", struct.pack("<f", value))[0]


def equal(a, b):
    return a == b or (math.isnan(a) and math.isnan(b))


def expected_of(rows):
    """By tag: the steps and values that the rows have."""
    series = {}
    for row in rows:
        for key, value in row.items():
            if key not in ("step", "loss_bits"):
                series.setdefault(key, []).append((row["step"], as_single(value)))
        series["loss"][-1] = (row["step"], struct.unpack(">f", bytes.fromhex(row["loss_bits"]))[0])
    return series


def check(what, expected, found):
    steps = [step for step, _ in found]
    assert steps == sorted(set(steps)), f"{what}: steps go back or come twice: {steps}"
    assert steps == [step for step, _ in expected], f"{what}: other steps than metrics.jsonl"
    wrong = [(a, b) for a, b in zip(expected, found) if not equal(a[1], b[1])]
    assert not wrong, f"{what}: {len(wrong)} values differ, the first {wrong[0]}"
    return len(found)


def with_python_reader(folder, expected):
    reader = event_accumulator.EventAccumulator(folder, size_guidance={event_accumulator.SCALARS: 0})
    reader.Reload()
    assert set(reader.Tags()["scalars"]) == set(expected), (reader.Tags()["scalars"], sorted(expected))
    points = sum(check(tag, series, [(e.step, e.value) for e in reader.Scalars(tag)]) for tag, series in expected.items())
    assert "config" in reader.Tags()["tensors"], reader.Tags()["tensors"]
    print(f"      | python reader: {len(expected)} tags, {points} points equal as floats")


def fetch(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/data/{path}", timeout=20) as answer:
        return json.loads(answer.read())


def with_tensorboard(folder, expected):
    """As the page shows it: the program with its fast reader."""
    server = subprocess.Popen(
        [sys.executable, "-m", "tensorboard.main", "--logdir", folder, "--port", "0", "--samples_per_plugin", "scalars=1000000"],
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    try:
        port = None
        for line in server.stderr:
            if "http://" in line:
                port = line.split("http://")[1].split("/")[0].split(":")[1].split(" ")[0]
                break
        assert port, "tensorboard did not start"
        until = time.time() + 30
        while set(fetch(port, "plugin/scalars/tags").get(".", {})) != set(expected) and time.time() < until:
            time.sleep(0.5)
        time.sleep(2)  # for all files
        points = 0
        for tag, series in expected.items():
            found = fetch(port, f"plugin/scalars/scalars?run=.&tag={tag}")
            points += check(tag, series, [(step, math.nan if value in (None, "NaN") else as_single(value))
                                          for _, step, value in found])
        text = json.dumps(fetch(port, "plugin/text/text?run=.&tag=config"))
        assert "micro_batch_size" in text, text[:300]
        print(f"      | tensorboard's page: {len(expected)} tags, {points} points equal as floats; the settings as text")
        request = urllib.request.Request(f"http://127.0.0.1:{port}/data/plugin/hparams/experiment",
                                         data=b'{"experimentName": ""}', headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=20) as answer:
            names = [info["name"] for info in json.loads(answer.read())["hparamInfos"]]
        assert "optimizer.lr" in names, names
        print(f"      | hyperparameters: {len(names)}")
    finally:
        server.terminate()
        server.wait()


def steps_in(path):
    return {event.step for event in event_file_loader.EventFileLoader(path).Load() if event.HasField("summary") and event.step}


def main():
    run, folder, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    rows = [json.loads(line) for line in open(f"{run}/metrics.jsonl")]
    files = sorted(glob.glob(f"{folder}/events.out.tfevents.*"))
    assert len(files) == count, files
    if "overlap" in sys.argv:
        first, second = steps_in(files[0]), steps_in(files[1])
        assert first & second, "the files do not overlap, so nothing is proved about a resume"
        print(f"      | steps to {max(first)} in the first file, from {min(second)} in the second")
    expected = expected_of(rows)
    with_python_reader(folder, expected)
    with_tensorboard(folder, expected)


main()
