"""Runs that nothing is wrong with: `why` has to say so."""
import json
import os
import signal
import time

from .runs import ENDLESS, CannotMake
from .case import case, made

COMPUTING = ("--model.layers 4 --model.hidden 64 --model.heads 4 --model.kv-heads 2 --model.head-dim 16 --model.ffn 192 "
             "--batch.seq-len 64 --checkpoint.every 100")


def ends_well(bench, command, seconds=90, code=0):
    run = bench.start(command)
    if run.wait(seconds) != code:
        raise CannotMake(f"exit code {run.process.returncode}, not {code}: {run.screen[-300:]}")
    return run


def healthy(name):
    return case(name, "healthy", "none", alone=True)


@healthy("one process")
def one_process(bench):
    return made(bench, [ends_well(bench, bench.train(COMPUTING, "--train.steps 400 --train.threads 2"))])


@healthy("dp 2")
def data_parallel(bench):
    return made(bench, [ends_well(bench, bench.train(COMPUTING, "--train.steps 400", ranks=2))])


@healthy("pp 2")
def pipeline(bench):
    return made(bench, [ends_well(bench, bench.train(COMPUTING, "--parallel.pp 2 --train.steps 400", ranks=2))])


@healthy("ZeRO 3, with accumulation")
def fully_sharded(bench):
    return made(bench, [ends_well(bench, bench.train(COMPUTING, "--parallel.zero 3 --train.steps 300", ranks=2))])


@healthy("stopped and resumed, in another layout")
def resumed(bench):
    first = bench.train(COMPUTING, "--train.steps 400", ranks=2, screen="screen1")
    run = bench.start(first)
    run.await_steps(150)
    run.signal(signal.SIGINT)
    if run.wait(30) != 130:
        raise CannotMake(f"exit code {run.process.returncode} at Ctrl-C")
    return made(bench, [ends_well(bench, bench.train(COMPUTING, "--train.steps 400 --parallel.pp 2", ranks=2))])


@healthy("stopped by Ctrl-C")
def interrupted(bench):
    run = bench.start(bench.train(COMPUTING, *ENDLESS, ranks=2, terminal=True))
    run.await_steps(200)
    os.write(run.master, b"\3")
    if run.wait(30) != 130:
        raise CannotMake(f"exit code {run.process.returncode} at Ctrl-C")
    return made(bench, [run])


@healthy("fp16, whose loss scale finds its level")
def half_precision(bench):
    return made(bench, [ends_well(bench, bench.train(COMPUTING, "--precision.compute fp16 --train.steps 300 --precision.loss-scale 16777216", ranks=2))])


@healthy("with evaluations and the best checkpoint")
def evaluated(bench):
    return made(bench, [ends_well(bench, bench.train(COMPUTING, "--train.steps 400 --train.eval-every 50 --data.valid-share 0.05", ranks=2))])


@healthy("still under way")
def under_way(bench):
    run = bench.start(bench.train(COMPUTING, *ENDLESS, ranks=2))
    run.await_steps(300)
    time.sleep(5)
    return made(bench, [run])


@healthy("LoRA on conversations, from a run's weights")
def adapters(bench):
    animals = "cat Meow dog Woof cow Moo duck Quack sheep Baa horse Neigh pig Oink goat Meh bee Buzz owl Hoo".split()
    records = [{"instruction": f"What does the {who} say to {whom}?", "output": f"{says}."}
               for who, says in zip(animals[::2], animals[1::2]) for whom in "me you him her us them".split()]
    data = bench.write("animals.json", json.dumps(records))
    ends_well(bench, bench.train(COMPUTING, "--train.steps 200", ranks=2, out="base", screen="base.screen"))
    tuned = bench.train("--batch.seq-len 128 --batch.micro-batch-size 1 --batch.global-batch-size 12 --train.seed 7 --train.threads 1 "
                        f"--model.path {bench.path('base')} --data.chat-template chatml --lora.rank 8 --optimizer.lr 0.01 --train.steps 200",
                        ranks=2, model=[], data=data)
    return made(bench, [ends_well(bench, tuned)])
