"""Writes the folder of a run that is made up, and lets it go on until it is ended: made_run.py FOLDER healthy|sick

A healthy one has every record that a run can have. Of a sick one everything is wrong that tools/grafana/alerts.yml looks for: it has made
no step for long, its loss is no number, a rank is silent, after 20 s it is started again, after 60 s it has failed."""

import json
import os
import struct
import sys
import time

folder, sick = sys.argv[1], sys.argv[2] == "sick"
os.makedirs(folder + "/records", exist_ok=True)
begin = time.time()
began = begin - 1000


def add(name, **line):
    with open(f"{folder}/{name}", "a") as file:
        file.write(json.dumps(line) + "\n")


def write_state(state, attempt):
    whole = {"state": state, "since": began, "began": began, "launch": "made-up", "attempt": attempt, "folder": folder,
             "model": "qwen3-tiny: 4 layers", "parameters": 1000, "layout": "dp 2", "dp": 2, "pp": 1, "tp": 1, "cp": 1, "zero": 0,
             "schedule": "1f1b", "precision": "fp16", "device": "cpu", "steps": 100000, "first_step": 0, "tokens_per_step": 100,
             "flops_per_step": 1e9, "sample_seconds": 1, "text": "", "exit_code": 0,
             "ranks": [{"rank": rank, "host": "made-up", "pid": 1, "dp": rank, "pp": 0, "tp": 0, "cp": 0} for rank in (0, 1)]}
    with open(folder + "/new", "w") as file:
        json.dump(whole, file)
    os.rename(folder + "/new", folder + "/state.json")


def add_row(step):
    loss = None if sick else 4 - step / 100000
    add("metrics.jsonl", step=step, loss=loss, loss_bits=struct.pack(">f", loss or float("nan")).hex(), grad_norm=1.5, lr=1e-3,
        tokens=100, tokens_total=100 * step, step_seconds=0.5, tokens_per_second=200.0, memory_bytes=10**6,
        loss_scale=1024, skipped_steps=step if sick else 0, steps_repeated=step // 10, valid_loss=4.5, valid_tokens=50)
    if sick:
        os.utime(folder + "/metrics.jsonl", (began, began))


def add_sample(rank, now, number, attempt):
    seconds = now - began
    vitals = {"cores": 4, "load": 2, "runnable": 2, "clock_hertz": 1.5e9, "clock_limit_hertz": 2e9, "temperature_celsius": 60,
              "throttles": number if sick else 0, "quota_throttled_seconds": number if sick else 0,
              "memory_bytes": 1e9, "available_bytes": 1e7 if sick else 5e8, "swap_bytes": 1e9, "swap_free_bytes": 5e8,
              "swap_in_pages": 500 * number if sick else 0, "swap_out_pages": 0, "memory_kills": 0, "pressure_cpu": 10,
              "pressure_memory": 5, "pressure_io": 5, "disk_free_bytes": 1e9 if sick else 1e11, "under_voltage": int(sick),
              "link_errors": {"eth0": number if sick else 0}}
    sample = {"time": now, "rank": rank, "host": "made-up", "attempt": attempt, "number": number,
              "place": {"step": number, "at": "fwd 0.0", "seconds": 0.1}, "pace_seconds": 0.25, "elapsed_seconds": seconds,
              "phases": {"forward": seconds / 4, "backward": seconds / 2}, "waits": {"gather_grads": seconds / 4},
              "traffic": [{"peer": 1 - rank, "sent_bytes": int(seconds * 1000), "received_bytes": int(seconds * 1000),
                           "waited_seconds": seconds / 4}],
              "memory": {"parameters": 1000, "gradients": 1000, "state": 2000, "activations": 500, "resident": 10**7}}
    if rank == 0:
        sample["vitals"] = vitals
    add(f"records/rank-{rank:05}.jsonl", **sample)


add("events.jsonl", time=began, event="start", host="made-up", attempt=0, step=0, text="step 1 is next")
add("events.jsonl", time=began + 1, event="save", host="made-up", attempt=0, step=1, text="step 1 is saved", saved_step=1, seconds=0.5)
for second in range(1, 100000):
    now = time.time()
    attempt = int(sick and second > 20)
    write_state("failed" if sick and second > 60 else "training", attempt)
    add_row(second)
    for rank in (0, 1):
        silent = sick and rank == 1
        if not silent or second in (1, 21):
            add_sample(rank, now - 300 if silent else now, second, attempt)
    if sick and second == 10:
        add("events.jsonl", time=now, event="save_failed", host="made-up", attempt=0, step=second, text="it could not be saved")
    time.sleep(max(0, begin + second - time.time()))
