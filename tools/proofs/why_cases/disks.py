"""Disks and files under a run: full, gone, silent, slow, damaged; data that are prepared for long."""
import errno
import os
import re
import signal
import subprocess
import time

from .bench import write_group
from .runs import ENDLESS, CannotMake, await_true, read_text
from .case import case, made, restart
from .hosts import Hosts

# Its checkpoint takes about 14 MB.
WIDE = ("--model.layers 4 --model.hidden 128 --model.heads 4 --model.kv-heads 4 --model.head-dim 32 --model.ffn 512 "
        "--checkpoint.every-minutes 0")


def shards(bench, name, times):
    text = bench.corpus("long.txt", times=times)
    folder = bench.path(name)
    done = subprocess.run([bench.binaries + "/troika", "data", "prepare", text, "--tokenizer", "bytes", "--out", folder],
                          capture_output=True, text=True)
    if done.returncode:
        raise CannotMake(f"data prepare: {done.stderr}")
    return folder


def largest(folder):
    return max((os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".bin")), key=os.path.getsize)


@case("the disk of the checkpoints holds two of them and not three", 18, "disk_full")
def disk_full(bench):
    command = bench.train(WIDE, "--train.steps 12", "--checkpoint.every 4", ranks=1)
    measured = bench.start(command.but(["--train.steps", "6"], out="measured", screen="measured.screen"))
    if measured.wait(30) != 0:
        raise CannotMake("the size of a checkpoint is not found")
    size = sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(measured.out + "/checkpoints/step-00000006") for name in names)
    disks = iter(range(10))

    def on_a_small_disk(one):
        disk = bench.small_disk(f"disk{next(disks)}", int(size * 2.5))
        return one.but(folder=disk)

    small = on_a_small_disk(command)
    run = bench.start(small)
    if run.wait(120) in (0, None):
        raise CannotMake("the run does not fail on the small disk")
    on_it = ("--", lambda commands, advice: [on_a_small_disk(command).but(advice.split(), out="run")])
    return made(bench, [run], restart(bench, [command], steps=0, seconds=60, acts=[on_it]))


@case("another program fills the disk", 18, "disk_full")
def disk_filled(bench):
    disk = bench.small_disk("disk", 200 << 20)
    command = bench.train(WIDE, "--train.steps 60", "--checkpoint.every 20", "--checkpoint.keep 1", ranks=1, folder=disk)
    run = bench.start(command)
    run.await_steps(24)
    with open(disk + "/filler", "wb", 0) as filler:
        try:
            while True:
                filler.write(b"\1" * (1 << 20))
        except OSError:
            pass
    if run.wait(120) in (0, None):
        raise CannotMake("the run does not fail on the full disk")
    elsewhere = ("--out", lambda commands, advice: [command.but(folder=bench.folder, out="elsewhere", screen="elsewhere.screen")])
    return made(bench, [run], restart(bench, [command], steps=0, acts=[elsewhere]))


def failing_folder(bench, number):
    """RUN/checkpoints is a shared folder whose server answers every request with that error from step 30 on."""
    command = bench.train("--train.steps 1000", "--checkpoint.every 20", ranks=2)
    run = bench.start(command)
    run.await_steps(30)
    bench.strange_disk(run.out + "/checkpoints", "error", str(number))
    if run.wait(120) in (0, None):
        raise CannotMake("the run survives its folder")
    local = ("--out", lambda commands, advice: [command.but(["--train.steps", "40"], out="local", screen="local.screen")])
    return made(bench, [run], restart(bench, [command], steps=0, acts=[local]))


@case("the shared folder of the checkpoints fails (EIO)", 19, "file_system_failed")
def input_output_error(bench):
    return failing_folder(bench, errno.EIO)


@case("the shared folder of the checkpoints is stale (ESTALE)", 19, "file_system_failed")
def stale_folder(bench):
    return failing_folder(bench, errno.ESTALE)


@case("the disk becomes read-only", 19, "file_system_failed")
def read_only(bench):
    command = bench.train("--train.steps 1000", "--checkpoint.every 20", ranks=2)
    run = bench.start(command)
    run.await_steps(30)
    bench.mount("--bind", run.out + "/checkpoints", run.out + "/checkpoints")  # what lies beside it is open for writing, and stays so
    bench.mount("-o", "remount,bind,ro", run.out + "/checkpoints")
    if run.wait(120) in (0, None):
        raise CannotMake("the run survives the disk")
    local = ("--out", lambda commands, advice: [command.but(["--train.steps", "40"], out="local", screen="local.screen")])
    return made(bench, [run], restart(bench, [command], steps=0, acts=[local]))


@case("the disk of the checkpoints does not answer", 14, "slow_disk")
def silent_disk(bench):
    command = bench.train(*ENDLESS, "--checkpoint.every 40", "--comm.timeout-seconds 12", ranks=2)
    run = bench.start(command)
    run.await_steps(50)
    bench.strange_disk(run.out + "/checkpoints", "silent")
    await_true(30, lambda: not run.runs() or "is behind" in run.screen or "has written nothing" in run.screen)
    time.sleep(3)
    return made(bench, [run])


@case("a data file is cut while it is read", 5, "bus_error")
def cut_file(bench):
    folder = shards(bench, "shards", 12)
    command = bench.train(*ENDLESS, ranks=2, data=folder)
    run = bench.start(command)
    run.await_steps(5)
    whole = open(largest(folder), "rb").read()
    os.truncate(largest(folder), 4096)
    if run.wait(60) in (0, None):
        raise CannotMake("the run survives the cut file")

    def copy_again(commands, _):
        with open(largest(folder), "wb") as file:
            file.write(whole)
        return commands
    return made(bench, [run], restart(bench, [command], acts=[("copy", copy_again), ("", copy_again)]))


@case("a data file is damaged", "data", "data_refused")
def damaged_file(bench):
    folder = shards(bench, "shards", 4)
    path = largest(folder)
    with open(path, "r+b") as file:
        file.seek(os.path.getsize(path) // 2)
        file.write(b"\xff" * 64)
    command = bench.train("--train.steps 3000", ranks=2, data=folder)
    run = bench.start(command)
    if run.wait(60) in (0, None):
        raise CannotMake("the damage is not noticed")
    return made(bench, [run])


@case("one host prepares its data for long, the other waits", 15, "data_preparation")
def long_preparation(bench):
    source, slow = bench.path("source"), bench.path("slow")
    os.makedirs(source)
    os.makedirs(slow)
    text = bench.corpus("source/corpus.txt", times=24)
    bench.strange_disk(slow, "slow", source, "3")
    hosts = Hosts(bench)
    commands = [hosts.command(0, *ENDLESS, data=text), hosts.command(1, *ENDLESS, data=slow + "/corpus.txt")]
    runs = [bench.start(command) for command in commands]
    time.sleep(100)
    if runs[0].steps() > 0 or not runs[0].runs():
        raise CannotMake("the preparation is over already")
    return made(bench, runs)


@case("the data lie on a slow disk", 29, "data_bound", alone=True)
def slow_data(bench):
    folder = shards(bench, "shards", 60)
    slow = bench.path("slow")
    os.makedirs(slow)
    bench.strange_disk(slow, "slow", folder, "0.02")
    group = bench.group("memory", limit_in_bytes=2048 << 20)
    command = bench.train(*ENDLESS, "--checkpoint.every-minutes 0", ranks=1, data=slow, groups=[group])
    run = bench.start(command)
    run.await_steps(3, 60)
    taken = int(re.search(r"^total_rss (\d+)", read_text(group + "/memory.stat"), re.M).group(1))
    write_group(group, "memory.limit_in_bytes", taken + (24 << 20))  # the data are larger than the memory that is left for files
    time.sleep(16)
    run.signal(signal.SIGINT)
    if run.wait(60) is None or run.steps() < 25:
        raise CannotMake(f"only {run.steps()} steps were made")

    def local_copy(commands, advice):
        return [bench.train("--checkpoint.every-minutes 0", "--train.steps 45", ranks=1, data=folder, out="local", screen="local.screen")]
    return made(bench, [run], restart(bench, [command], steps=0, acts=[("copy", local_copy)]))
