"""Ranks that are killed: by the kernel for memory, by signals, by limits of time, with their terminal."""
import os
import resource
import signal
import time

from .bench import write_group
from .runs import ENDLESS, CannotMake, is_gone, read_text
from .case import case, made, restart

# Activations are most of what it holds: half a micro batch takes half the memory.
HUNGRY = ("--model.layers 4 --model.hidden 128 --model.heads 4 --model.kv-heads 4 --model.head-dim 32 --model.ffn 512 "
          "--batch.seq-len 256 --batch.micro-batch-size 48 --batch.global-batch-size 48 --checkpoint.every-minutes 0")
MIB = 1 << 20


def killed(bench, number, rank=1):
    """Two ranks, of which one gets that signal in the middle of a run."""
    command = bench.train(*ENDLESS, "--checkpoint.every 50", ranks=2)
    run = bench.start(command)
    run.await_steps(60)
    os.kill(run.rank_pid(rank), number)
    if run.wait(20) is None:
        raise CannotMake(f"the run survives signal {number}")
    return made(bench, [run], restart(bench, [command]))


def settled(bench, command, group):
    """Starts it in that control group; the run in its third step, and the bytes that the group holds then."""
    run = bench.start(command)
    run.await_steps(3, 60)
    return run, int(read_text(f"{group}/memory.usage_in_bytes"))


@case("host memory: the kernel kills a rank of a full control group", 1, "host_out_of_memory", alone=True)
def memory(bench):
    group = bench.group("memory", limit_in_bytes=2048 * MIB)
    command = bench.train(HUNGRY, *ENDLESS, groups=[group], ranks=1)
    run, held = settled(bench, command, group)
    write_group(group, "memory.limit_in_bytes", held + 400 * MIB)
    bench.hog(400 + held // MIB * 17 // 100, group)  # which leaves 83 % of what the run holds
    if run.wait(40) is None:
        raise CannotMake("the run survives the other program's memory")
    return made(bench, [run], restart(bench, [command], steps=6, seconds=60))


@case("host memory: it swaps, and steps take many times as long", 1, "host_swapping", alone=True)
def swap(bench):
    swap_file = bench.path("swap")
    os.system(f"dd if=/dev/zero of={swap_file} bs=1M count=1500 status=none && chmod 600 {swap_file} && mkswap -q {swap_file} > /dev/null")
    if os.system(f"swapon {swap_file}") != 0:
        raise CannotMake("no swap file here")
    bench.stack.callback(lambda: os.system(f"swapoff {swap_file}"))
    group = bench.group("memory", limit_in_bytes=2048 * MIB)
    command = bench.train(HUNGRY, *ENDLESS, groups=[group], ranks=1)
    run, held = settled(bench, command, group)
    time.sleep(4)
    write_group(group, "memory.limit_in_bytes", held + 50 * MIB)
    bench.hog(50 + held // MIB * 28 // 100, group)  # which leaves 72 % of what the run holds
    before = run.steps()
    time.sleep(12)
    run.signal(signal.SIGINT)
    run.wait(40)
    if run.steps() <= before:
        raise CannotMake("no step was made while it swapped")
    return made(bench, [run], restart(bench, [command], steps=6, seconds=60))


@case("host memory: killed while it saves", 2, "out_of_memory_while_saving", alone=True)
def memory_at_save(bench):
    group = bench.group("memory", limit_in_bytes=3000 * MIB)
    wide = ("--model.layers 8 --model.hidden 512 --model.heads 8 --model.kv-heads 8 --model.head-dim 64 --model.ffn 2048 "
            "--batch.seq-len 16 --batch.global-batch-size 2 --checkpoint.every 8 --checkpoint.async on")
    command = bench.train(wide, *ENDLESS, groups=[group], ranks=1)
    run, held = settled(bench, command, group)
    write_group(group, "memory.limit_in_bytes", held + 290 * MIB)  # the copy that is saved needs more
    if run.wait(40) is None:
        raise CannotMake("the run saves all the same")
    return made(bench, [run], restart(bench, [command], steps=10))


@case("a rank is killed by a person while another program of the host runs out of memory", 4, "killed_from_outside")
def killed_beside_memory(bench):
    command = bench.train(*ENDLESS, "--checkpoint.every 50", ranks=2)
    run = bench.start(command)
    run.await_steps(60)
    others = bench.group("memory", limit_in_bytes=32 * MIB)
    hungry = bench.helper("sh", "-c", f'echo $$ > "{others}/cgroup.procs"; exec python3 -c "bytearray(200 << 20)"')
    if hungry.wait(20) != -signal.SIGKILL:
        raise CannotMake("the other program has the memory")
    os.kill(run.rank_pid(1), signal.SIGKILL)
    if run.wait(20) is None:
        raise CannotMake("the run survives its rank")
    return made(bench, [run], restart(bench, [command]))


@case("time limit: SIGTERM to all, and SIGKILL before a step is over", 4, "killed_from_outside")
def time_limit(bench):
    slow = ("--model.layers 4 --model.hidden 256 --model.heads 4 --model.kv-heads 4 --model.head-dim 64 --model.ffn 1024 "
            "--batch.seq-len 256 --batch.micro-batch-size 4 --batch.global-batch-size 64")
    command = bench.train(slow, *ENDLESS, ranks=2)
    run = bench.start(command)
    run.await_steps(1)
    everyone = [pid for pid in bench.marked()]
    for number, pause in ((signal.SIGTERM, 0.7), (signal.SIGKILL, 0)):
        for pid in everyone:
            if not is_gone(pid):
                os.kill(pid, number)
        time.sleep(pause)
    run.wait(5)
    time.sleep(30)  # nobody asks at once
    return made(bench, [run], restart(bench, [command.but(["--batch.global-batch-size", "8"])], steps=6))


@case("all ranks killed at once (preempted), their launcher sees it", 4, "killed_from_outside")
def preempted(bench):
    command = bench.train(*ENDLESS, "--checkpoint.every 50", ranks=2)
    run = bench.start(command)
    run.await_steps(60)
    for pid in [run.rank_pid(0), run.rank_pid(1)]:
        os.kill(pid, signal.SIGKILL)
    if run.wait(20) is None:
        raise CannotMake("the launcher does not end")
    return made(bench, [run], restart(bench, [command]))


@case("SIGBUS", 5, "bus_error")
def bus_error(bench):
    return killed(bench, signal.SIGBUS)


@case("SIGHUP: the terminal is closed", 6, "terminal_closed")
def hangup(bench):
    command = bench.train(*ENDLESS, "--checkpoint.every 50", ranks=2, terminal=True)
    run = bench.start(command)
    run.await_steps(60)
    os.close(run.master)
    run.master = None
    if run.wait(20) is None:
        raise CannotMake("the run survives its terminal")
    return made(bench, [run], restart(bench, [command.but(terminal=False)]))


@case("SIGILL", 7, "wrong_processor")
def illegal_instruction(bench):
    return killed(bench, signal.SIGILL)


@case("SIGSEGV", 8, "crashed")
def segmentation_fault(bench):
    return killed(bench, signal.SIGSEGV)


@case("SIGABRT without a message", 8, "crashed")
def abort(bench):
    return killed(bench, signal.SIGABRT, rank=0)


@case("one rank is stopped (SIGSTOP), the others wait", 14, "rank_hangs")
def stopped(bench):
    command = bench.train(*ENDLESS, "--comm.heartbeat-seconds 4", ranks=2)
    run = bench.start(command)
    run.await_steps(60)
    os.kill(run.rank_pid(1), signal.SIGSTOP)
    if run.wait(30) is None:
        raise CannotMake("the run goes on without the stopped rank")
    return made(bench, [run], restart(bench, [command]))


@case("limit of open files", 17, "too_many_open_files")
def open_files(bench):
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    low = lambda limit: ["prlimit", f"--nofile={limit}", "--"]
    command = bench.train("--train.steps 8 --comm.join-seconds 4", ranks=2)
    for limit in (17, 18, 19, 20, 21, 22, 16):
        run = bench.start(command.but(wrap=low(limit), out=f"run{limit}", screen=f"screen{limit}"))
        code = run.wait(30)
        if code not in (0, None) and "Too many open files" in run.screen + run.log(1) and os.path.isdir(run.out):
            raised = ("ulimit -n", lambda commands, advice: [c.but(wrap=low(min(65536, most))) for c in commands])
            return made(bench, [run], restart(bench, [command.but(wrap=low(limit))], acts=[raised]))
    raise CannotMake("no limit of open files ends a run with that word")
