"""What every case stands on: a folder of its own, starts of troika in it, and what must be gone afterwards."""
import contextlib
import fcntl
import os
import pty
import shlex
import shutil
import signal
import subprocess
import threading

from .runs import (CLEARED, MARK, ROOT, TINY, CannotMake, Command, Run, await_true, children_of_proc, environment_of, is_gone,
                   read_text)


class Bench:
    """A case's folder and all it starts; `close` ends and removes everything."""

    def __init__(self, binaries, scratch, name, sampling, keep, niceness=0):
        self.binaries, self.name, self.sampling, self.keep, self.niceness = binaries, name, sampling, keep, niceness
        self.folder = os.path.join(scratch, name)
        os.makedirs(self.folder)
        self.mark = f"{MARK}={self.folder}"
        self.stack = contextlib.ExitStack()
        self.runs = []

    # --- folder ---

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)

    def corpus(self, name="corpus.txt", most=None, times=1):
        """English: the pages of this repository."""
        text = ""
        for folder in ("docs", "docs/guides", "docs/formats", "docs/decisions"):
            for page in sorted(os.listdir(os.path.join(ROOT, folder))):
                if page.endswith(".md"):
                    text += read_text(os.path.join(ROOT, folder, page))
        return self.write(name, "".join(f"{i}\n{text[:most]}" for i in range(times)) if times > 1 else text[:most])

    # --- starting ---

    def train(self, *flags, out="run", ranks=None, launch=(), folder=None, model=TINY, data=None, **more):
        """A command; `ranks`: by the launcher."""
        data = data or self.corpus()
        settings = [*model, "--data.train", data, *self.sampling]
        for flag in flags:
            settings += shlex.split(flag)
        launch = ["--nproc-per-node", str(ranks), *launch] if ranks else None
        return Command(settings, out, folder or self.folder, launch, **more)

    def politeness(self):
        """Words that start a program with this bench's niceness, also where sessions share the processors alike."""
        if self.niceness == 0:
            return []
        return ["nice", "-n", str(self.niceness), "sh", "-c",
                f'[ ! -w /proc/self/autogroup ] || echo {self.niceness} > /proc/self/autogroup; exec "$@"', "sh"]

    def start(self, command):
        environment = {k: v for k, v in os.environ.items() if k not in CLEARED}
        environment.update({MARK: self.folder, "XDG_CONFIG_HOME": command.folder + "/config", "LC_ALL": "C",
                            "OMP_NUM_THREADS": "1", **command.environment})
        words = command.words(self.binaries)
        if command.groups:
            joins = "; ".join(f'echo $$ > "{group}/cgroup.procs"' for group in command.groups)
            words = ["sh", "-c", f'{joins}; exec "$@"', "sh", *words]
        words = [*self.politeness(), *command.wrap, *words]
        screen = open(os.path.join(command.folder, command.screen), "w")
        if command.terminal:
            return self._start_on_terminal(command, words, environment, screen)
        process = subprocess.Popen(words, cwd=command.folder, env=environment, stdout=screen, stderr=screen,
                                   stdin=subprocess.DEVNULL, start_new_session=True)
        screen.close()
        return self._known(Run(command, process))

    def _start_on_terminal(self, command, words, environment, screen):
        master, slave = pty.openpty()

        def own_terminal():
            os.setsid()
            fcntl.ioctl(0, 0x540E, 0)  # TIOCSCTTY

        process = subprocess.Popen(words, cwd=command.folder, env=environment, stdin=slave, stdout=slave, stderr=slave,
                                   preexec_fn=own_terminal)
        os.close(slave)

        def copy():
            with contextlib.suppress(OSError, ValueError):
                while data := os.read(master, 4096):
                    screen.write(data.decode(errors="replace"))
                    screen.flush()

        threading.Thread(target=copy, daemon=True).start()
        return self._known(Run(command, process, master))

    def _known(self, run):
        run.mark = self.mark
        self.runs.append(run)
        return run

    def helper(self, *words, **more):
        """A further program of the case, which ends with it."""
        return subprocess.Popen([*self.politeness(), *[str(word) for word in words]], env={**os.environ, MARK: self.folder}, start_new_session=True, **more)

    def marked(self):
        mark = self.mark.encode()
        return [pid for pid in children_of_proc() if pid != os.getpid() and mark in environment_of(pid)]

    # --- control groups ---

    def group(self, controller, **values):
        """A new control group of version 1 with these values, such as memory_limit_in_bytes; its folder."""
        base = f"/sys/fs/cgroup/{controller}"
        if not os.path.isdir(base):
            raise CannotMake(f"there is no control group hierarchy {base}")
        folder = f"{base}/troika-why-{os.getpid()}-{self.name}"
        try:
            os.makedirs(folder, exist_ok=True)
            for name, value in values.items():
                write_group(folder, f"{controller}.{name}", value)
        except OSError as error:
            raise CannotMake(f"control group {folder}: {error}") from error
        self.stack.callback(lambda: await_true(5, lambda: remove_group(folder)))
        return folder

    def hog(self, mebibytes, group, seconds=600):
        """Another program that takes memory in that control group, and uses it; the kernel does not choose it to be killed."""
        code = ("import os,sys,time\n"
                "open('/proc/self/oom_score_adj','w').write('-1000')\n"
                "open(sys.argv[2]+'/cgroup.procs','w').write(str(os.getpid()))\n"
                "taken=[]\n"
                "for _ in range(int(sys.argv[1])):\n"
                "  taken.append(bytearray(os.urandom(4096)*256)); time.sleep(0.002)\n"
                "print('taken',flush=True)\n"
                "end=time.time()+float(sys.argv[3])\n"
                "while time.time()<end:\n"
                "  for block in taken: block[0]=(block[0]+1)%256; sum(block[i] for i in range(0,len(block),4096))\n"
                "  time.sleep(0.05)\n")
        return self.helper("python3", "-c", code, mebibytes, group, seconds, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    # --- disks ---

    def small_disk(self, name, size):
        folder = self.path(name)
        os.makedirs(folder, exist_ok=True)
        self.mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder)
        return folder

    def mount(self, *words):
        done = subprocess.run(["mount", *words], capture_output=True, text=True)
        if done.returncode:
            raise CannotMake(f"mount {' '.join(words)}: {done.stderr.strip()}")
        self.stack.callback(lambda: subprocess.run(["umount", "-l", words[-1]], stderr=subprocess.DEVNULL))

    def strange_disk(self, mount_point, *words):
        """strange_disk.py there; see its arguments."""
        program = os.path.join(os.path.dirname(__file__), "strange_disk.py")
        server = self.helper("python3", program, mount_point, *words, stdout=subprocess.PIPE, text=True)
        self.stack.callback(lambda: subprocess.run(["umount", "-l", mount_point], stderr=subprocess.DEVNULL))
        self.stack.callback(server.kill)
        if server.stdout.readline().strip() != "ready":
            raise CannotMake("no FUSE file system can be mounted here")
        return server

    # --- the end ---

    def close(self):
        for run in self.runs:
            if run.master is not None:
                with contextlib.suppress(OSError):
                    os.close(run.master)
        for _ in range(2):
            for pid in self.marked():
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
        self.stack.close()
        await_true(5, lambda: all(is_gone(pid) for pid in self.marked()))
        for run in self.runs:
            with contextlib.suppress(subprocess.TimeoutExpired):
                run.process.wait(2)
        if not self.keep:
            shutil.rmtree(self.folder, ignore_errors=True)


def write_group(folder, name, value):
    with open(f"{folder}/{name}", "w") as file:
        file.write(str(value))


def remove_group(folder):
    try:
        os.rmdir(folder)
        return True
    except FileNotFoundError:
        return True
    except OSError:
        return False
