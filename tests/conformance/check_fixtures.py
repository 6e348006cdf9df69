"""Troika beside what transformers, PEFT and torch.optim gave for the folders in fixtures, without any of them.

    check_fixtures.py TROIKA

Per family: the logits of the last position of every sample, and the loss of each of 20 AdamW steps with warm-up, cosine,
clipping and weight decay; of one family the logits with an adapter. make_fixtures.py has made them."""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

TROIKA = pathlib.Path(sys.argv[1]).resolve()
FIXTURES = pathlib.Path(__file__).with_name("fixtures")
LIMIT = 1e-5  # relative; sums in fp32 are added in another order


def troika(*arguments):
    done = subprocess.run([str(TROIKA), *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(map(str, arguments))} ended with {done.returncode}:\n{done.stderr}"


def logits_of(path):
    """[sample][position][token] of the one tensor of a safetensors file in fp32."""
    content = path.read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    entry = json.loads(content[8:8 + length])["logits"]
    assert entry["dtype"] == "F32", entry
    samples, positions, tokens = entry["shape"]
    begin, end = (8 + length + offset for offset in entry["data_offsets"])
    values = struct.unpack(f"<{(end - begin) // 4}f", content[begin:end])
    at = lambda sample, position: values[(sample * positions + position) * tokens:(sample * positions + position + 1) * tokens]
    return [[at(sample, position) for position in range(positions)] for sample in range(samples)]


def check_logits(model, rows_file, seq_len, expected, work, *more):
    out = work / "logits.safetensors"
    troika("eval", "--model.path", model, "--data.valid", rows_file, "--data.tokenizer", "bytes", "--seq-len", seq_len,
           "--micro-batch-size", 1, "--logits", out, *more)
    ours, rows = logits_of(out), [json.loads(line) for line in rows_file.read_text().splitlines()]
    largest = max(abs(value) for sample in expected for value in sample[-1])
    error = max(abs(a - b) for number, (row, sample) in enumerate(zip(rows, expected))
                for a, b in zip(ours[number][len(row["input_ids"]) - 1], sample[-1])) / largest
    assert error <= LIMIT, f"{model.name}: logits differ by {error:.1e}"
    return error


def check_losses(model, expected, work):
    run = work / "run"
    troika("train", "--model.path", model, "--data.train", model / "rows.jsonl", "--data.tokenizer", "bytes", "--seq-len",
           expected["seq_len"], "--out", run, "--log.progress", "none", "--train.threads", 1, *expected["flags"])
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert len(rows) == len(expected["losses"]), f"{len(rows)} steps"
    worst = 0.0
    for row, loss, norm in zip(rows, expected["losses"], expected["gradient_norms"]):
        worst = max(worst, abs(row["loss"] - loss) / loss)
        assert worst <= LIMIT, f"{model.name}: loss {row['loss']} in step {row['step']}, {loss} there"
        assert abs(row["grad_norm"] - norm) <= 1e-4 * norm, f"{model.name}: gradient norm {row['grad_norm']}, {norm} there"
    return worst


def main():
    folders = sorted(path for path in FIXTURES.iterdir() if (path / "config.json").exists())
    assert len(folders) == 5, f"{len(folders)} families in {FIXTURES}"
    for model in folders:
        expected = json.loads((model / "expected.json").read_text())
        with tempfile.TemporaryDirectory() as scratch:
            work = pathlib.Path(scratch)
            logits = check_logits(model, model / "rows.jsonl", expected["seq_len"], expected["logits"], work)
            print(f"{model.name}: logits {logits:.1e}, losses of {len(expected['losses'])} steps "
                  f"{check_losses(model, expected, work):.1e}", flush=True)
    base = FIXTURES / "qwen3"
    seq_len = json.loads((base / "expected.json").read_text())["seq_len"]
    for adapter in (FIXTURES / "qwen3-adapter", FIXTURES / "qwen3-adapter-of-patterns"):
        expected = json.loads((adapter / "expected.json").read_text())["logits"]
        with tempfile.TemporaryDirectory() as scratch:
            error = check_logits(adapter, base / "rows.jsonl", seq_len, expected, pathlib.Path(scratch), "--base", base)
        print(f"{adapter.name}: logits {error:.1e}", flush=True)


if __name__ == "__main__":
    main()
