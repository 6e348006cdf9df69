"""One start of troika, before it happens and afterwards, and what scripts ask of processes and files."""
import contextlib
import dataclasses
import json
import os
import pathlib
import socket
import subprocess
import time

ROOT = str(pathlib.Path(__file__).resolve().parents[3])
MARK = "TROIKA_WHY_PROOF"  # in the environment of all that a case starts
LAUNCHER_FLAGS = ("nproc-per-node", "nnodes", "node-rank", "master-addr", "master-port", "max-restarts", "join-timeout",
                  "bind", "log-dir", "secret-file", "rdzv-endpoint")
CLEARED = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "BATCH_SIZE", "MICROBATCH_NUM", "TROIKA_SECRET",
           "LANG", "LANGUAGE")

# A model whose step takes a few milliseconds. Every case adds to it; what is stated last counts.
TINY = ("--model.layers 4 --model.hidden 32 --model.heads 2 --model.kv-heads 1 --model.head-dim 16 --model.ffn 64 "
        "--model.vocab 259 --batch.seq-len 32 --batch.micro-batch-size 1 --batch.global-batch-size 12 --train.seed 7 "
        "--train.threads 1 --data.tokenizer bytes --optimizer.lr 0.003 --optimizer.warmup-steps 5").split()
ENDLESS = ["--train.steps", "1000000"]


class CannotMake(Exception):
    """The failure could not be made here; the text says why."""


def now():
    return time.monotonic()


def await_true(seconds, condition, pause=0.03):
    end = now() + seconds
    while not condition():
        if now() > end:
            return False
        time.sleep(pause)
    return True


def read_text(path):
    try:
        with open(path, errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def environment_of(pid):
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []


def children_of_proc():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def is_gone(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def free_port():
    for _ in range(100):
        with socket.socket() as one, socket.socket() as next_one:
            one.bind(("", 0))
            port = one.getsockname()[1]
            with contextlib.suppress(OSError, OverflowError):
                next_one.bind(("", port + 1))
                return port
    raise CannotMake("no two neighbouring free ports")


@dataclasses.dataclass
class Command:
    """One start of `troika train`, by `troika launch` or alone, before it happens."""
    train: list
    out: str                      # relative to `folder`
    folder: str
    launch: list = None           # flags of the launcher; None: without one
    wrap: list = dataclasses.field(default_factory=list)  # words in front, such as nsenter's
    environment: dict = dataclasses.field(default_factory=dict)
    groups: list = dataclasses.field(default_factory=list)  # control groups to join
    binaries: str = ""            # other programs than the proof's
    screen: str = "screen"
    terminal: bool = False        # on a terminal of its own

    def words(self, binaries):
        troika = os.path.join(self.binaries or binaries, "troika")
        train = ["train", *self.train, "--train.out", self.out]
        return [troika, *train] if self.launch is None else [troika, "launch", *self.launch, "--", *train]

    def but(self, flags=(), **changes):
        """The same with further flags, each put where it belongs."""
        copy = dataclasses.replace(self, **changes)
        copy.train, copy.launch = list(copy.train), None if copy.launch is None else list(copy.launch)
        taken = None
        for word in flags:
            if word.startswith("--"):
                name = word[2:].split("=")[0].replace("_", "-")
                taken = copy.launch if name in LAUNCHER_FLAGS and copy.launch is not None else copy.train
            (copy.train if taken is None else taken).append(word)
        return copy


class Run:
    """A command that was started."""

    def __init__(self, command, process, master=None):
        self.command, self.process, self.master = command, process, master
        self.out = os.path.join(command.folder, command.out)
        self.screen_path = os.path.join(command.folder, command.screen)

    @property
    def screen(self):
        return read_text(self.screen_path)

    def log(self, rank):
        return read_text(f"{self.out}/logs/rank-{rank:05}.log")

    def rows(self):
        rows = []
        for line in read_text(self.out + "/metrics.jsonl").splitlines():
            with contextlib.suppress(ValueError):
                rows.append(json.loads(line))
        return rows

    def steps(self):
        return read_text(self.out + "/metrics.jsonl").count("\n")

    def runs(self):
        return self.process.poll() is None

    def await_steps(self, count, seconds=40):
        await_true(seconds, lambda: self.steps() >= count or not self.runs())
        if self.steps() < count:
            raise CannotMake(f"step {count} does not come: {last_line(self.screen)}")

    def await_screen(self, text, seconds=20):
        return await_true(seconds, lambda: text in self.screen or not self.runs()) and text in self.screen

    def wait(self, seconds=40):
        """Its exit code, negative for a signal; None when it does not end in time."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def signal(self, number):
        self.process.send_signal(number)

    def end(self):
        """At once, with its ranks."""
        if self.runs():
            self.process.kill()
            self.wait(5)

    def rank_pid(self, rank):
        """Of a rank on this host."""
        mark = f"{MARK}={self.command.folder}".encode()
        mark = self.mark.encode() if hasattr(self, "mark") else mark
        for pid in children_of_proc():
            variables = environment_of(pid)
            if mark in variables and b"RANK=%d" % rank in variables and pid != self.process.pid and not is_gone(pid):
                return pid
        raise CannotMake(f"rank {rank} is gone: {last_line(self.screen)}")


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "nothing was said"
