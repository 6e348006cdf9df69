"""The peak memory of a command: its processes and their peaks, by Linux's VmHWM."""
import pathlib
import subprocess
import threading


def children(pid):
    try:
        return [int(one) for path in pathlib.Path(f"/proc/{pid}/task").glob("*/children") for one in path.read_text().split()]
    except OSError:
        return []


def peak_mb(pid):
    """Of one process; 0 if it has ended."""
    try:
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return 0


class Peaks:
    """While open, reads five times a second the peaks of the processes `pids` and all below them."""

    def __init__(self, pids):
        self.pids, self.found, self.end = pids, {}, threading.Event()
        self.thread = threading.Thread(target=self.watch)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.end.set()
        self.thread.join()

    def watch(self):
        while not self.end.wait(0.2):
            waiting = list(self.pids)
            while waiting:
                pid = waiting.pop()
                self.found[pid] = max(self.found.get(pid, 0), peak_mb(pid))
                waiting += children(pid)

    @property
    def sum_mb(self):
        return sum(self.found.values())

    @property
    def largest_mb(self):
        return max(self.found.values(), default=0)
