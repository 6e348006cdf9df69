"""Runs that are slower than they need to be."""
import time

from .runs import ENDLESS, CannotMake
from .case import case, faster_than, made, restart, speed
from .hosts import Hosts

UNSAVED = "--checkpoint.every-minutes 0 --checkpoint.at-end false"
# Some 40 ms a step on one core.
COMPUTING = ("--model.layers 4 --model.hidden 128 --model.heads 4 --model.kv-heads 2 --model.head-dim 32 --model.ffn 384 "
             "--batch.seq-len 128 --batch.micro-batch-size 1 --batch.global-batch-size 8")
LONG_ENOUGH = 16  # seconds of training


def for_a_while(bench, commands, seconds=LONG_ENOUGH, least=25):
    """Starts them, lets them train so long and at least so many steps, then asks the first to stop, as Ctrl-C does."""
    runs = [bench.start(command) for command in commands]
    runs[0].await_steps(2, 60)
    time.sleep(seconds)
    runs[0].await_steps(least, 60)
    runs[0].signal(2)
    for run in runs:
        if run.wait(40) is None:
            raise CannotMake("it does not stop")
    return runs


def faster_again(bench, commands, run, steps=30, seconds=60, acts=()):
    return restart(bench, commands, steps=steps, seconds=seconds, acts=acts, better=faster_than(speed(run)))


@case("two hosts on a link of 5 Mbit/s", 26, "communication_bound", alone=True)
def slow_link(bench):
    hosts = Hosts(bench, rate="5mbit")
    flags = [*ENDLESS, UNSAVED, "--parallel.dp 2", "--batch.global-batch-size 4"]
    commands = [hosts.command(node, *flags) for node in (0, 1)]
    runs = for_a_while(bench, commands)
    return made(bench, runs, faster_again(bench, commands, runs[0], steps=6))


@case("eight threads for each of two ranks on two cores", 27, "wrong_thread_count", alone=True)
def too_many_threads(bench):
    command = bench.train(COMPUTING, *ENDLESS, UNSAVED, "--train.threads 8", ranks=2)
    runs = for_a_while(bench, [command])
    return made(bench, runs, faster_again(bench, [command], runs[0]))


@case("both ranks on one core of two (srun without -c)", 27, "wrong_thread_count", alone=True)
def one_core(bench):
    command = bench.train(COMPUTING, *ENDLESS, UNSAVED, "--train.threads 2", ranks=2, wrap=["taskset", "-c", "0"])
    runs = for_a_while(bench, [command])
    all_cores = ("SRUN_CPUS_PER_TASK", lambda commands, _: [c.but(wrap=[]) for c in commands])
    return made(bench, runs, faster_again(bench, [command], runs[0], acts=[all_cores]))


@case("a CPU quota of half a core throttles two threads", 27, "wrong_thread_count", alone=True)
def quota(bench):
    group = bench.group("cpu", cfs_quota_us=50000)
    command = bench.train(COMPUTING, *ENDLESS, UNSAVED, "--train.threads 2", ranks=1, groups=[group])
    runs = for_a_while(bench, [command])
    return made(bench, runs, faster_again(bench, [command], runs[0]))


@case("one of two ranks shares its core with other work", 30, "straggler", alone=True)
def straggler(bench):
    command = bench.train(COMPUTING, *ENDLESS, UNSAVED, ranks=2)
    run = bench.start(command)
    run.await_steps(30)
    with open(f"/proc/{run.rank_pid(1)}/status") as file:
        cores = next(line.split()[1] for line in file if line.startswith("Cpus_allowed_list"))
    for _ in range(2):
        bench.helper("taskset", "-c", cores, "sh", "-c", "while :; do :; done")
    time.sleep(45)
    run.signal(2)
    run.wait(40)
    return made(bench, [run], faster_again(bench, [command], run))


@case("pipeline of two with two microbatches", 31, "pipeline_bubble", alone=True)
def bubble(bench):
    command = bench.train(COMPUTING, *ENDLESS, UNSAVED, "--parallel.pp 2", "--batch.micro-batch-size 4 --batch.global-batch-size 8", ranks=2)
    runs = for_a_while(bench, [command])
    return made(bench, runs, faster_again(bench, [command], runs[0]))
