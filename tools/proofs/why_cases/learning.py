"""Runs that end or go on, and learn nothing, or worse and worse."""
import json
import random

from .runs import CannotMake
from .case import case, made, restart

UNSAVED = "--checkpoint.every-minutes 0"


def finishes(bench, command, seconds=60, codes=(0,)):
    run = bench.start(command)
    code = run.wait(seconds)
    if codes and code not in codes:
        raise CannotMake(f"exit code {code}: {run.screen[-300:]}")
    return run


def losses(run):
    return [row["loss"] for row in run.rows()]


def falls(share=0.97):
    """For a run that was started again: its loss is a number and lower at the end than at its beginning."""
    def better(run):
        found = losses(run)
        if any(loss is None for loss in found):
            return "the loss is not a number"
        first, last = found[0], sum(found[-5:]) / 5
        return None if last < share * first else f"loss {first:.3f} to {last:.3f}"
    return better


@case("fp16 overflows at every loss scale", 20, "fp16_overflow")
def fp16(bench):
    # Weights as large as some published models have them: the feed-forward layers pass 65504.
    command = bench.train("--precision.compute fp16", "--model.init-std 6", "--train.steps 80", UNSAVED, ranks=1)
    run = finishes(bench, command, codes=())
    if run.rows() and run.rows()[-1].get("grad_norm") is not None:
        raise CannotMake("the last step was not skipped")

    def finite(again):
        return None if again.rows() and again.rows()[-1]["grad_norm"] is not None else "steps are skipped"
    return made(bench, [run], restart(bench, [command], steps=30, better=finite))


@case("the learning rate is far too high: it diverges to NaN", 21, "diverged")
def divergence(bench):
    command = bench.train("--optimizer.lr 0.03 --optimizer.weight-decay 100 --optimizer.lr-schedule constant", "--train.steps 300", UNSAVED, ranks=1)
    run = finishes(bench, command, codes=())
    if run.process.returncode == 0:
        raise CannotMake("the loss stays finite")
    return made(bench, [run], restart(bench, [command], steps=0, better=falls()))


@case("the learning rate is too high: the loss climbs", 21, "diverged")
def climbing(bench):
    command = bench.train("--model.architecture gpt2 --model.kv-heads 2 --optimizer.lr 2 --optimizer.clip-norm 0 --optimizer.warmup-steps 200",
                          "--optimizer.lr-schedule constant --train.steps 200", UNSAVED, ranks=1)
    run = finishes(bench, command, codes=())
    found = losses(run)
    if min(found) > 0.9 * found[0] or sum(found[-10:]) / 10 < 1.2 * min(found):
        raise CannotMake(f"the loss goes from {found[0]:.2f} by {min(found):.2f} to {found[-1]:.2f}")
    return made(bench, [run], restart(bench, [command], steps=0, better=falls()))


def conversations(bench, question_words):
    chance = random.Random(7)
    words = "the model learns a layout that never changes its loss while ranks wait for each other".split()
    records = [{"instruction": " ".join(chance.choice(words) for _ in range(question_words)), "output": f"answer {i}"} for i in range(200)]
    return bench.write("conversations.json", json.dumps(records))


@case("all answers lie behind the end of the sequence", 22, "no_training_tokens")
def cut_off(bench):
    command = bench.train("--data.chat-template chatml", "--batch.seq-len 64", "--train.steps 40", UNSAVED, ranks=1,
                          data=conversations(bench, 30))
    run = finishes(bench, command, codes=())
    return made(bench, [run], restart(bench, [command], steps=8))


@case("no token has a label", 22, "no_training_tokens")
def no_labels(bench):
    chance = random.Random(7)
    lines = []
    for _ in range(200):
        ids = [chance.randrange(256) for _ in range(30)]
        lines.append(json.dumps({"input_ids": ids, "labels": [-100] * 30}))
    command = bench.train("--train.steps 40", UNSAVED, ranks=1, data=bench.write("ids.jsonl", "\n".join(lines) + "\n"))
    return made(bench, [finishes(bench, command, codes=())])


@case("the learning rate is tiny", 23, "no_learning_signal")
def tiny_rate(bench):
    command = bench.train("--optimizer.lr 1e-9 --optimizer.min-lr 0", "--train.steps 260", UNSAVED, ranks=1)
    return made(bench, [finishes(bench, command)], restart(bench, [command], steps=0, better=falls()))


@case("the learning rate is 0", 23, "no_learning_signal")
def no_rate(bench):
    command = bench.train("--optimizer.lr 0 --optimizer.min-lr 0", "--train.steps 260", UNSAVED, ranks=1)
    return made(bench, [finishes(bench, command)], restart(bench, [command], steps=0, better=falls()))


@case("resumed with other data: the loss jumps", 24, "jump_after_resume")
def other_data_after_resume(bench):
    first = bench.train("--train.steps 250 --optimizer.lr-schedule constant", ranks=1)
    finishes(bench, first)
    chance = random.Random(9)
    noise = bench.write("noise.txt", "".join(chr(33 + chance.randrange(90)) for _ in range(200000)))
    second = bench.train("--train.steps 290 --optimizer.lr-schedule constant", ranks=1, data=noise, screen="screen2")
    run = finishes(bench, second, codes=())
    if run.process.returncode != 0:
        raise CannotMake(f"the resume is refused: {run.screen[-300:]}")
    found = losses(run)
    if len(found) < 270 or found[252] < 1.2 * found[248]:
        raise CannotMake(f"the loss goes from {found[248]:.2f} to {found[252]:.2f}")
    return made(bench, [run])


@case("few samples, many epochs: the validation loss rises", 25, "overfitting")
def overfitting(bench):
    valid = bench.corpus("valid.txt")
    train = bench.write("few.txt", open(valid).read()[20000:22500])
    command = bench.train("--train.steps 400 --train.eval-every 40 --optimizer.lr 0.006 --optimizer.weight-decay 0",
                          "--data.valid " + bench.write("other.txt", open(valid).read()[60000:68000]), UNSAVED, ranks=1, data=train)
    run = finishes(bench, command, 90)
    evaluations = [row["valid_loss"] for row in run.rows() if "valid_loss" in row]
    if evaluations[-1] < 1.05 * min(evaluations):
        raise CannotMake(f"the validation loss does not rise: {evaluations}")

    def not_much_above(again):
        found = [row["valid_loss"] for row in again.rows() if "valid_loss" in row]
        return None if found and found[-1] < 1.05 * min(found) else f"{found}"
    return made(bench, [run], restart(bench, [command], steps=0, seconds=90, better=not_much_above))
