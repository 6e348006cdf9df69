#!/usr/bin/env python3
"""A beginner's week: commands in random order, with random mistakes, over a few run folders.

    week.py FOLDER_WITH_TROIKA SEED [COMMANDS]

Judged after every command: it ends in time, with a code that is neither a crash nor a fault of Troika itself; no checkpoint that
was complete is lost or changed; data, tokenizer and model keep their bytes; every step that was written has the loss bits of a run
that nothing disturbed. After each mistake the next right command in that folder must succeed.
As root the folder is a small disk of its own (tmpfs in a private mount namespace), which some commands find full."""
import errno, glob, hashlib, json, os, random, shutil, signal, subprocess, sys, tempfile, time

STEPS, LIMIT = 60, 120  # of a run; seconds for one command
FAULTS = {70, 134, 136, 139}  # a BugError, and the signals of crashes as a shell names them


class Failed(Exception):
    pass


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def tree(folder):
    return {path: digest(path) for path in sorted(glob.glob(folder + "/**", recursive=True)) if os.path.isfile(path)}


class Run:
    """A run folder: the checkpoint that is known to be complete, as (step, digests of its files by name)."""

    def __init__(self, path):
        self.path, self.step, self.files = path, 0, {}

    def newest(self):
        manifests = sorted(glob.glob(self.path + "/checkpoints/step-*/manifest.json"))
        if not manifests:
            return 0, {}
        folder = os.path.dirname(manifests[-1])
        return int(folder.rsplit("-", 1)[1]), {os.path.relpath(f, folder): d for f, d in tree(folder).items()}


class Week:
    def __init__(self, programs, seed):
        self.troika, self.random, self.log = programs + "/troika", random.Random(seed), []
        self.root = tempfile.mkdtemp(prefix="troika-week-")
        self.small_disk = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m", "week", self.root], stderr=subprocess.DEVNULL).returncode == 0
        os.chdir(self.root)
        self.runs, self.made = [], 0
        os.makedirs("text")
        words = [bytes(self.random.choices(b"etaoinshr", k=self.random.randint(2, 7))).decode() for _ in range(300)]
        for i in range(4):
            with open(f"text/{i}.txt", "w") as file:
                for _ in range(300):
                    print(" ".join(self.random.choices(words, k=9)), file=file)
        with open("run.yaml", "w") as file:
            file.write("model: {layers: 2, hidden: 32, heads: 2, kv_heads: 1, head_dim: 16, ffn: 64}\n"
                       "data: {train: text, tokenizer: tokenizer, valid: text/0.txt}\n"
                       "batch: {seq_len: 32, micro_batch_size: 1, global_batch_size: 4}\n"
                       "optimizer: {lr: 0.003, lr_schedule: constant}\n"
                       "train: {steps: 4, seed: 7, threads: 1}\ncheckpoint: {every: 3, async: off}\n")
        self.right("data", "tokenizer", "text", "--vocab", "300", "--out", "tokenizer")
        self.right("train", "run.yaml", "--steps", str(STEPS), "--out", "undisturbed")
        self.right("export", "undisturbed", "model")
        self.bits = self.bits_of("undisturbed")
        self.kept = {**tree("text"), **tree("tokenizer"), **tree("model")}

    # Commands

    def start(self, *words, before="", stdin=""):
        self.log.append(" ".join(words))
        shell = f"{before} exec \"$@\"" if before else 'exec "$@"'
        program = subprocess.Popen(["bash", "-c", shell, "week", self.troika, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, start_new_session=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
        if stdin is not None:
            program.stdin.write(stdin.encode())
            program.stdin.close()
            program.stdin = None
        return program

    def end(self, program):
        try:
            output, _ = program.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(program.pid, signal.SIGKILL)
            output, _ = program.communicate()
            raise Failed(f"did not end within {LIMIT} s:\n{output.decode(errors='replace')[-2000:]}")
        code, text = program.returncode, output.decode(errors="replace")
        if code in FAULTS or (code < 0 and -code in (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)):
            raise Failed(f"ended with {code}:\n{text[-2000:]}")
        return code, text

    def right(self, *words, **more):
        code, text = self.end(self.start(*words, **more))
        if code != 0:
            raise Failed(f"a right command ended with {code}:\n{text[-2000:]}")
        return text

    def wrong(self, *words, **more):
        code, text = self.end(self.start(*words, **more))
        if code not in (2, 3):
            raise Failed(f"a mistake ended with {code}, not with 2 or 3:\n{text[-2000:]}")

    # What must hold

    def bits_of(self, path):
        rows = {}
        with open(path + "/metrics.jsonl") as file:
            for line in file:
                row = json.loads(line)
                if "loss_bits" in row:
                    rows[row["step"]] = row["loss_bits"]
        return rows

    def check(self):
        if {**tree("text"), **tree("tokenizer"), **tree("model")} != self.kept:
            raise Failed("data, tokenizer or model have changed")
        for run in self.runs:
            step, files = run.newest()
            if step < run.step or (step == run.step and files != run.files):
                raise Failed(f"{run.path}: its checkpoint was that of step {run.step} and is that of step {step}")
            run.step, run.files = step, files

    def continues(self, run, steps=0):
        layout = self.random.choice(["", "", "--dp 2", "--pp 2", "--zero 3"]).split()
        run_to = str(min(STEPS, max(steps, run.step + self.random.randint(1, 4))))
        launch = ["launch", "--nproc-per-node", "2", "--"] if layout else []
        return [*launch, "train", "run.yaml", *layout, "--steps", run_to, "--out", run.path], int(run_to)

    def recovers(self, run):
        if run.step >= STEPS:
            self.runs.remove(run)
            shutil.rmtree(run.path)
            return
        words, steps = self.continues(run)
        self.right(*words)
        self.check()
        if run.step != steps:
            raise Failed(f"{run.path}: step {steps} was asked for, step {run.step} is saved")
        for step, bits in self.bits_of(run.path).items():
            if bits != self.bits.get(step):
                raise Failed(f"{run.path}: the loss of step {step} has the bits {bits}, undisturbed {self.bits.get(step)}")

    def a_run(self):
        if len(self.runs) < 3 or self.random.random() < 0.05:
            if len(self.runs) > 3:
                shutil.rmtree(self.runs.pop(0).path)
            self.made += 1
            self.runs.append(Run(f"run{self.made}"))
        return self.random.choice(self.runs)

    def new_name(self):
        self.made += 1
        return f"new{self.made}"

    # The days

    def trains(self, run):
        self.recovers(run)

    def reads(self, run):
        if run.step == 0:
            self.recovers(run)
            return
        words = self.random.choice([["why", run.path], ["monitor", run.path, "--once"], ["metrics", run.path, "--csv"], ["timeline", run.path],
                                    ["eval", run.path, "--data.valid", "text/1.txt"], ["generate", run.path, "--prompt", "ta", "--max-new-tokens", "4"],
                                    ["generate", "model", "--prompt", "ta", "--max-new-tokens", "4"], ["plan", "run.yaml"]])
        code, text = self.end(self.start(*words))
        if code != 0 and not (words[0] == "timeline" and code == 2):  # nothing was recorded
            raise Failed(f"ended with {code}:\n{text[-2000:]}")

    def exports(self, run):
        if run.step == 0:
            self.recovers(run)
        name = self.new_name()
        self.right("export", run.path, name)
        self.wrong("export", run.path, name)  # twice
        self.right("generate", name, "--prompt", "et", "--max-new-tokens", "3")
        shutil.rmtree(name)

    def stops_an_export(self, run):
        if run.step == 0:
            self.recovers(run)
        name = self.new_name()
        program = self.start("export", run.path, name)
        self.interrupted(program, 0.4)
        shutil.rmtree(name, ignore_errors=True) if os.path.exists(name + "/config.json") else None
        self.right("export", run.path, name)
        shutil.rmtree(name)

    def mistypes(self, run):
        words, _ = self.continues(run)
        mistake = self.random.choice(["flag", "value", "data", "yaml", "verb", "layout", "empty", "shape"])
        if mistake == "flag":
            words.append("--seqlen-" + self.random.choice("abc"))
        elif mistake == "value":
            words += ["--lr", self.random.choice(["fast", "1e", "--", "0,1"])]
        elif mistake == "data":
            words += ["--data.train", self.random.choice(["txet", "text/9.txt", "/dev/null"])]
        elif mistake == "yaml":
            with open("broken.yaml", "w") as file:
                file.write(self.random.choice(["model: [", "\tmodel: 3\n", "modle: {layers: 2}\n", "- a\n- b\n"]))
            words[words.index("run.yaml")] = "broken.yaml"
        elif mistake == "verb":
            words[words.index("train")] = self.random.choice(["trian", "fit", "run"])
        elif mistake == "layout":
            words += ["--tp", "7"]
        elif mistake == "empty":
            open("empty.txt", "w").close()
            words += ["--data.train", "empty.txt"]
        else:
            if run.step == 0:
                self.recovers(run)
            words += ["--model.hidden", "48"]
        self.wrong(*words)
        self.recovers(run)

    def takes_the_wrong_folder(self, run):
        target = self.random.choice(["model", "text", "tokenizer"])
        verb = self.random.choice(["train", "export", "tokenizer", "prepare", "generate"])
        if verb == "train":
            self.wrong("train", "run.yaml", "--out", target)
        elif verb == "export":
            if run.step == 0:
                self.recovers(run)
            self.wrong("export", run.path, target)
        elif verb == "tokenizer":
            self.wrong("data", "tokenizer", "text", "--vocab", "290", "--out", self.random.choice(["model", "tokenizer", "text"]))
        elif verb == "prepare":
            self.wrong("data", "prepare", "text", "--tokenizer", "tokenizer", "--out", self.random.choice(["model", "text"]))
        else:
            self.wrong("generate", self.random.choice(["text", "nothere", "tokenizer", "run.yaml"]), "--prompt", "a")
        self.check()
        self.recovers(run)

    def interrupted(self, program, longest=1.5):
        time.sleep(self.random.random() * longest)
        how = self.random.choice([signal.SIGINT, signal.SIGTERM, signal.SIGKILL, signal.SIGHUP])
        self.log.append(f"  ({how.name})")
        try:
            os.kill(program.pid, how)
            if self.random.random() < 0.3:
                time.sleep(0.05)
                os.kill(program.pid, how)
        except ProcessLookupError:
            pass
        self.end(program)

    def is_interrupted(self, run):
        words, _ = self.continues(run, STEPS)
        self.interrupted(self.start(*words))
        self.check()
        self.recovers(run)

    def loses_a_rank(self, run):
        words = ["launch", "--nproc-per-node", "2", "--", "train", "run.yaml", "--dp", "2", "--steps", str(STEPS), "--out", run.path]
        program = self.start(*words)
        time.sleep(0.3 + self.random.random())
        ranks = subprocess.run(["pgrep", "-P", str(program.pid)], capture_output=True, text=True).stdout.split()
        if ranks:
            try:
                os.kill(int(self.random.choice(ranks)), signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.end(program)
        self.check()
        self.recovers(run)

    def starts_twice(self, run):
        first, _ = self.continues(run, STEPS)
        second, _ = self.continues(run, STEPS)
        programs = [self.start(*first), self.start(*second)]
        codes = [self.end(program)[0] for program in programs]
        if 0 not in codes:
            raise Failed(f"two starts at once ended with {codes}: none trained")
        self.check()
        self.recovers(run)

    def fills_the_disk(self, run):
        if not self.small_disk:
            self.is_interrupted(run)
            return
        words, _ = self.continues(run, min(STEPS, run.step + 6))
        try:
            with open("filler", "wb", buffering=0) as filler:
                while filler.write(b"\0" * 65536) == 65536:
                    pass
        except OSError as error:
            if error.errno != errno.ENOSPC or not os.path.exists("filler"):
                raise Failed(f"the disk was full before it was filled: {error}\n{subprocess.run(['du', '-a', '.'], capture_output=True, text=True).stdout}")
        os.truncate("filler", max(0, os.path.getsize("filler") - self.random.randrange(0, 400_000)))
        code, text = self.end(self.start(*words))
        os.remove("filler")
        if code not in (0, 2, 3, 75):
            raise Failed(f"with a full disk it ended with {code}:\n{text[-2000:]}")
        self.check()
        self.recovers(run)

    def renames(self, run):
        name = self.new_name()
        if os.path.exists(run.path):
            os.rename(run.path, name)
            run.path = name
        self.recovers(run)

    def renames_while_it_trains(self, run):
        if run.step == 0:
            self.recovers(run)
        words, _ = self.continues(run, STEPS)
        program = self.start(*words)
        time.sleep(0.5 + self.random.random() * 0.5)
        old, name = run.path, self.new_name()
        os.rename(old, name)
        run.path = name
        self.end(program)
        shutil.rmtree(old, ignore_errors=True)
        self.check()
        self.recovers(run)

    def tidies_up(self, run):
        for name in self.random.sample(["metrics.jsonl", "run.log", "config.yaml", "records", "logs", "run.lock", "state.json", "data"], 2):
            path = os.path.join(run.path, name)
            shutil.rmtree(path) if os.path.isdir(path) else os.path.exists(path) and os.remove(path)
        self.recovers(run)

    def plays(self, commands):
        days = [self.trains] * 2 + [self.reads] * 3 + [self.exports, self.stops_an_export, self.mistypes, self.mistypes, self.takes_the_wrong_folder,
                self.is_interrupted, self.is_interrupted, self.loses_a_rank, self.starts_twice, self.fills_the_disk, self.renames,
                self.renames_while_it_trains, self.tidies_up]
        while len(self.log) < commands:
            self.random.choice(days)(self.a_run())
            self.check()


def main():
    programs, seed = os.path.abspath(sys.argv[1]), int(sys.argv[2])
    commands = int(sys.argv[3]) if len(sys.argv) > 3 else 200
    if os.geteuid() == 0 and "TROIKA_WEEK" not in os.environ:
        os.environ["TROIKA_WEEK"] = "1"
        if subprocess.run(["unshare", "--mount", "true"], stderr=subprocess.DEVNULL).returncode == 0:
            os.execvp("unshare", ["unshare", "--mount", sys.executable, *sys.argv])
    week = Week(programs, seed)
    try:
        week.plays(commands)
    except Failed as failure:
        print("\n".join(week.log[-12:]))
        print(f"week {seed}, command {len(week.log)}: {failure}")
        kept = tempfile.mkdtemp(prefix="troika-week-failed-")
        shutil.copytree(week.root, kept, dirs_exist_ok=True, symlinks=True)
        print(f"what was left is in {kept}")
        return 1
    finally:
        os.chdir("/")
        if week.small_disk:
            subprocess.run(["umount", "--lazy", week.root])
        shutil.rmtree(week.root, ignore_errors=True)
    print(f"week {seed}: {len(week.log)} commands, {week.made} folders, {'a disk of 48 MiB' if week.small_disk else 'no disk of its own'}: all as it must be")
    return 0


sys.exit(main())
