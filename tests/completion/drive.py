#!/usr/bin/env python3
"""Types command lines of troika into a real bash, zsh or fish, presses Tab, and reads what stands on the line then and what the
shell has listed.

  tests/completion/drive.py TROIKA SHELL FOLDER      FOLDER is recreated

Each shell runs on a terminal of its own with no settings of the user. A key that nobody types is bound to a function that writes
the line under edit into a file and empties it: the test waits for that file, never for a time.
"""
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import termios
import time
import fcntl

DEADLINE = 30  # seconds for one key press to be answered; a machine may have other work
TOLD = "\x1d"  # Ctrl-], the key that tells

# typed, what then stands on the line: the same in every shell
COMPLETED = [
    ("troika tra", "troika train "),
    ("troika data pre", "troika data prepare "),
    ("troika help gen", "troika help generate "),
    ("troika bench ker", "troika bench kernels "),
    ("troika train --learn", "troika train --learning-rate "),
    ("troika train --num_lay", "troika train --num_layers "),
    ("troika train --warmup-st", "troika train --warmup-steps "),
    ("troika train --schedule gp", "troika train --schedule gpipe "),
    ("troika train --schedule=gp", "troika train --schedule=gpipe "),
    ("troika train --pipeline-schedule zb", "troika train --pipeline-schedule zb-h1 "),
    ("troika train --overlap f", "troika train --overlap false "),
    ("troika train --overlap=f", "troika train --overlap=false "),
    ("troika train --model.preset qwen3-ti", "troika train --model.preset qwen3-tiny "),
    ("troika train se", "troika train settings.yaml "),
    ("troika train --data.train no", "troika train --data.train notes.txt "),
    ("troika train --data.train=no", "troika train --data.train=notes.txt "),
    ("troika train --out ru", "troika train --out runs/"),
    ("troika train --out=ru", "troika train --out=runs/"),
    ("troika train --out runs/fi", "troika train --out runs/first/"),
    ("troika generate runs/fi", "troika generate runs/first/"),
    ("troika train --data.train my", "troika train --data.train my\\ text.txt "),
    ("troika train --data.train my\\ te", "troika train --data.train my\\ text.txt "),
    ("troika generate 'runs/first' --prompt 'two words' --top-k 5 --tem", "troika generate 'runs/first' --prompt 'two words' --top-k 5 --temperature "),
    ("troika launch --nproc-per-node 2 -- tra", "troika launch --nproc-per-node 2 -- train "),
    ("troika launch --nproc-per-node 2 -- train --schedule zb", "troika launch --nproc-per-node 2 -- train --schedule zb-h1 "),
    ("troika launch --nproc-per-node 2 -- train se", "troika launch --nproc-per-node 2 -- train settings.yaml "),
    ("troika launch --standalone ev", "troika launch --standalone eval "),
    ("troika launch --bind no", "troika launch --bind none "),
    ("troika train --steps ", "troika train --steps "),
    ("troika train --lr ", "troika train --lr "),
    ("troika train --steps=", "troika train --steps="),
    ("troika completion z", "troika completion zsh "),
    ("./troika tra", "./troika train "),
]

# typed, what the shell lists, what it does not
LISTED = [
    ("troika ", ["train", "launch", "demo"], ["notes.txt"]),
    ("troika data ", ["prepare", "tokenizer", "inspect"], ["timeline", "notes.txt"]),
    ("troika train --schedule ", ["gpipe", "1f1b", "interleaved", "zb-h1"], ["notes.txt"]),
    ("troika train --overlap ", ["true", "false"], []),
    ("troika train --lora.", ["--lora.rank", "--lora.alpha", "--lora.path"], ["--model.layers"]),
    ("troika generate runs/first --top", ["--top-k", "--top-p"], ["--temperature"]),
    ("troika launch -- ", ["train", "eval", "bench", "probe"], ["monitor", "notes.txt"]),
    ("troika train ", ["settings.yaml", "runs"], ["notes.txt"]),
    ("troika train --out ", ["runs", "tokens"], ["notes.txt", "settings.yaml"]),
]


class Shell:
    def __init__(self, name, folder, troika):
        self.told = os.path.join(folder, "told")
        self.screen = ""
        home = os.path.join(folder, "home")
        words = self.prepare(name, folder, home, troika)
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            try:
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 60, 160, 0, 0))  # before the shell asks for it
                os.chdir(os.path.join(folder, "work"))
                os.execvpe(words[0], words, {"HOME": home, "TERM": "xterm", "LC_ALL": "C.UTF-8", "TOLD": self.told,
                                             "PATH": os.path.dirname(troika) + ":" + os.environ["PATH"]})
            finally:
                os._exit(127)
        self.line()  # the shell reads keys

    def prepare(self, name, folder, home, troika):
        script = subprocess.run([troika, "completion", name], check=True, capture_output=True, text=True).stdout
        os.makedirs(home)
        if name == "bash":
            with open(os.path.join(home, "rc"), "w") as rc:
                rc.write(script + "bind 'set show-all-if-ambiguous on' 'set page-completions off' 'set completion-query-items 0'\n"
                         "bind 'set bell-style none'\nbind 'set enable-bracketed-paste off'\nPS1='$ '\n"
                         "tell() { printf %s \"$READLINE_LINE\" > \"$TOLD.part\"; mv \"$TOLD.part\" \"$TOLD\"; READLINE_LINE=; READLINE_POINT=0; }\n"
                         "bind -x '\"\\C-]\": tell'\n")
            return ["bash", "--noprofile", "--rcfile", os.path.join(home, "rc"), "-i"]
        if name == "zsh":
            os.makedirs(os.path.join(home, "functions"))
            with open(os.path.join(home, "functions", "_troika"), "w") as function:
                function.write(script)
            with open(os.path.join(home, ".zshrc"), "w") as rc:
                rc.write("fpath=(~/functions $fpath)\nautoload -Uz compinit\ncompinit -u -d ~/dump\nPS1='$ '\nLISTMAX=0\nunsetopt beep list_ambiguous\n"
                         "tell() { print -rn -- \"$BUFFER\" > \"$TOLD.part\"; mv \"$TOLD.part\" \"$TOLD\"; BUFFER= }\n"
                         "zle -N tell\nbindkey -e\nbindkey '^]' tell\n")
            return ["zsh", "-d", "-i"]
        os.makedirs(os.path.join(home, ".config/fish/completions"))
        with open(os.path.join(home, ".config/fish/completions/troika.fish"), "w") as file:
            file.write(script)
        with open(os.path.join(home, ".config/fish/config.fish"), "w") as rc:
            rc.write("function fish_prompt; echo '$ '; end\nset -g fish_greeting\nset -g fish_autosuggestion_enabled 0\n"
                     "function tell; printf %s (commandline | string collect) > $TOLD.part; mv $TOLD.part $TOLD; commandline ''; end\n"
                     "bind \\c] tell\n")
        return ["fish", "-i"]

    def type(self, keys):
        os.write(self.terminal, keys.encode())

    def line(self):
        """What stands on the line; it is empty then. screen: all that came since the last time."""
        self.screen = ""
        self.type(TOLD)
        end = time.monotonic() + DEADLINE
        pressed = time.monotonic()
        while not os.path.exists(self.told):
            if time.monotonic() > end:
                raise SystemExit(f"the shell did not answer within {DEADLINE} s; its screen:\n{self.screen}")
            self.read(0.05)
            if self.told_nothing_yet() and time.monotonic() - pressed > 1:
                self.type(TOLD)  # a shell that is still starting drops what was typed before it reads keys
                pressed = time.monotonic()
        with open(self.told) as file:
            text = file.read()
        os.remove(self.told)
        return text

    def told_nothing_yet(self):
        return not getattr(self, "started", False)

    def read(self, seconds):
        while select.select([self.terminal], [], [], seconds)[0]:
            try:
                data = os.read(self.terminal, 65536)
            except OSError:
                raise SystemExit(f"the shell ended; its screen:\n{self.screen}")
            self.screen += data.decode(errors="replace")
            if b"\x1b[c" in data:  # fish asks what terminal this is
                self.type("\x1b[?62;c")
            seconds = 0

    def complete(self, text, tabs=1):
        self.started = True
        self.type(text + "\t" * tabs)
        line = self.line()
        self.read(0.05)
        colourless = re.sub(r"\x1b\[[0-9;]*m|\x1b\([A-Z0-9]", "", self.screen)
        return line, re.sub(r"\x1b(\[[0-9;?<>=]*[a-zA-Z]|[=>])", " ", colourless)

    def end(self):
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


def make_work(folder, troika):
    work = os.path.join(folder, "work")
    for path in ("runs/first", "tokens"):
        os.makedirs(os.path.join(work, path))
    for path in ("settings.yaml", "notes.txt", "my text.txt"):
        open(os.path.join(work, path), "w").close()
    os.symlink(troika, os.path.join(work, "troika"))


def main(troika, name, folder):
    shutil.rmtree(folder, ignore_errors=True)
    make_work(folder, troika)
    if shutil.which(name) is None:
        raise SystemExit(f"{name} is missing; tools/install-packages.sh test installs it")
    shell = Shell(name, folder, troika)
    failures = 0
    for typed, wanted in COMPLETED:
        line, _ = shell.complete(typed)
        if line != wanted:
            failures += 1
            print(f"{name}: '{typed}' became '{line}', not '{wanted}'")
    for typed, wanted, unwanted in LISTED:
        _, screen = shell.complete(typed, tabs=1)
        words = set(re.split(r"[\s]+", screen.replace("/", " ")))
        missing = [word for word in wanted if word not in words]
        strange = [word for word in unwanted if word in words]
        if missing or strange:
            failures += 1
            print(f"{name}: '{typed}' lists {sorted(words)[:60]}: without {missing}, with {strange}")
    shell.end()
    print(f"completion: {name}: {len(COMPLETED) + len(LISTED) - failures} of {len(COMPLETED) + len(LISTED)} as they should be")
    sys.exit(failures != 0)


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]), sys.argv[2], os.path.abspath(sys.argv[3]))
