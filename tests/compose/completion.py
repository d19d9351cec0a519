#!/usr/bin/env python3
"""Completion as a user has it: bash, zsh and fish on a terminal, TAB pressed.

    tests/compose/completion.py build/graphrun

Each shell that is there reads the script of `graphrun config --completion`, gets each line typed with
a TAB after it, and then writes out what the line has become.
"""
import os
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import time

FILES = {
    "run.yaml": "defaults:\n- db: mysql\n- db@spare: sqlite\n- _self_\nmodel: {graph: m.yaml}\n"
                "training: {lr: 1e-3}\nvars: {text: 'a b', list: [1, 2]}\n",
    "db/mysql.yaml": "host: here\n",
    "db/sqlite.yaml": "host: there\n",
    "db/deep/one.yaml": "x: 1\n",
    "other/extra.yaml": "y: 1\n",
    "a folder/odd name.yaml": "training: {lr: 1e-3}\n",
    "graphs/net.yaml": "nodes: []\n",
}

# What is typed, and what it has become after TAB.
LINES = [
    ("command", "graphrun conf", "graphrun config "),
    ("file", "graphrun run.", "graphrun run.yaml "),
    ("folder", "graphrun oth", "graphrun other/"),
    ("file in a folder", "graphrun other/", "graphrun other/extra.yaml "),
    ("command", "graphrun pred", "graphrun predict "),
    ("kind of a project", "graphrun new x --data=sp", "graphrun new x --data=speech "),
    ("which checkpoint", "graphrun eval some --which=l", "graphrun eval some --which=last "),
    ("file of a command", "graphrun plan ru", "graphrun plan run.yaml "),
    ("flag", "graphrun config run.yaml --expl", "graphrun config run.yaml --explain "),
    ("flag of another command", "graphrun plan run.yaml --ra", "graphrun plan run.yaml --ranks "),
    ("flag of a sweep", "graphrun run.yaml -m --dr", "graphrun run.yaml -m --dry-run "),
    ("key after a flag", "graphrun config run.yaml --explain training.max_ep",
     "graphrun config run.yaml --explain training.max_epochs "),
    ("pass after a flag", "graphrun plan run.yaml --dump=auto",
     "graphrun plan run.yaml --dump=autodiff "),
    ("group", "graphrun run.yaml db@", "graphrun run.yaml db@spare="),
    ("group within a group", "graphrun run.yaml +db/", "graphrun run.yaml +db/deep="),
    ("option", "graphrun run.yaml db=my", "graphrun run.yaml db=mysql "),
    ("option at a package", "graphrun run.yaml db@spare=my", "graphrun run.yaml db@spare=mysql "),
    ("second option of a sweep", "graphrun run.yaml -m db=mysql,sq",
     "graphrun run.yaml -m db=mysql,sqlite "),
    ("section", "graphrun run.yaml chec", "graphrun run.yaml checkpoint."),
    ("key of the file", "graphrun run.yaml db.ho", "graphrun run.yaml db.host="),
    ("key of the schema", "graphrun run.yaml training.max_ep", "graphrun run.yaml training.max_epochs="),
    ("key of one's own", "graphrun run.yaml vars.te", "graphrun run.yaml vars.text="),
    ("key to delete", "graphrun run.yaml '~db.ho", "graphrun run.yaml '~db.host' "),
    ("key to add", "graphrun run.yaml ++db.ho", "graphrun run.yaml ++db.host="),
    ("value", "graphrun run.yaml training.optimizer=sg", "graphrun run.yaml training.optimizer=sgd "),
    ("device", "graphrun run.yaml device=cp", "graphrun run.yaml device=cpu "),
    ("device that checks", "graphrun run.yaml device=n", "graphrun run.yaml device=null "),
    ("source of data", "graphrun run.yaml data.source=ta", "graphrun run.yaml data.source=table "),
    ("key of a source", "graphrun run.yaml data.speech.eval_", "graphrun run.yaml data.speech.eval_manifest="),
    ("value that is now", "graphrun run.yaml db.host=h", "graphrun run.yaml db.host=here "),
    ("value that it has by itself", "graphrun run.yaml training.max_epochs=", "graphrun run.yaml training.max_epochs=10 "),
    ("a file below ~", "graphrun ~/ru", "graphrun ~/run.yaml "),
    ("truth", "graphrun run.yaml logging.jsonl=f", "graphrun run.yaml logging.jsonl=false "),
    ("path", "graphrun run.yaml model.graph=graphs/n", "graphrun run.yaml model.graph=graphs/net.yaml "),
    ("path in a list", "graphrun run.yaml 'hooks=[graphs/n", "graphrun run.yaml 'hooks=[graphs/net.yaml' "),
    ("several, their common part", "graphrun run.yaml training.warm", "graphrun run.yaml training.warmup_steps="),
    ("after a wrong argument", "graphrun run.yaml nonsense=1 db=my", "graphrun run.yaml nonsense=1 db=mysql "),
    ("after a key that no file has", "graphrun run.yaml training.seed=3 db.ho",
     "graphrun run.yaml training.seed=3 db.host="),
    ("within quotes", "graphrun run.yaml 'db=my", "graphrun run.yaml 'db=mysql' "),
    ("a folder with a blank", "graphrun a", "graphrun a\\ folder/"),
    ("a file in it", "graphrun a\\ folder/o", "graphrun a\\ folder/odd\\ name.yaml "),
    ("after another command", "true; graphrun run.", "true; graphrun run.yaml "),
    ("op", "graphrun ops ctc_loss_g", "graphrun ops ctc_loss_grad "),
    ("checkpoints", "graphrun ckpt ver", "graphrun ckpt verify "),
    ("shell", "graphrun config --completion zs", "graphrun config --completion zsh "),
]
LISTED = ("graphrun run.yaml training.optimizer=", ["sgd", "adam", "adamw", "lion", "adafactor"])

START = {
    "bash": (["bash", "--norc", "--noprofile", "-i"],
             'PS1="> "; bind "set bell-style none"; eval "$(graphrun config --completion bash)"; '
             'dump() { printf %s "$READLINE_LINE" > "$OUT.new"; mv "$OUT.new" "$OUT"; READLINE_LINE=; READLINE_POINT=0; }; '
             "bind -x '\"\\C-g\": dump'; : > \"$OUT\"\n"),
    "zsh": (["zsh", "-f", "-i"],
            'PS1="> "; setopt no_beep no_auto_menu; autoload -Uz compinit; compinit -D -u; '
            'eval "$(graphrun config --completion zsh)"; '
            'dump() { print -rn -- "$BUFFER" > "$OUT.new"; mv "$OUT.new" "$OUT"; BUFFER=; }; zle -N dump; '
            "bindkey '^G' dump; : > \"$OUT\"\n"),
    "fish": (["fish", "--no-config", "-i"],
             "graphrun config --completion fish | source; "
             'function dump; commandline -b | string collect > $OUT.new; mv $OUT.new $OUT; commandline ""; end; '
             "bind \\cg dump; touch $OUT\n"),
}


class Terminal:
    """A shell on a pseudo-terminal, in the folder of FILES."""

    def __init__(self, shell, folder, path):
        command, setup = START[shell]
        self.out = os.path.join(folder, "..", "line")
        env = {"PATH": path, "TERM": "xterm", "HOME": folder, "OUT": self.out, "LC_ALL": "C.UTF-8",
               "XDG_DATA_HOME": folder + "/../data", "XDG_CONFIG_HOME": folder + "/../config"}
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.chdir(folder)
            os.execvpe(command[0], command, env)
        self.send(setup)
        self.wait()

    def send(self, text):
        self.said = ""
        if os.path.exists(self.out):
            os.unlink(self.out)
        os.write(self.fd, text.encode())

    def wait(self):
        """Reads what the shell says until it has written the file, and what it said before that."""
        end, there = time.monotonic() + 20, False
        while time.monotonic() < end:
            there = there or os.path.exists(self.out)
            if select.select([self.fd], [], [], 0 if there else 0.01)[0]:
                try:
                    self.said += os.read(self.fd, 65536).decode(errors="replace")
                except OSError:  # it has ended
                    return
            elif there:
                return

    def line_after(self, keys):
        self.send(keys + "\x07")
        self.wait()
        if not os.path.exists(self.out):
            return "nothing came: " + self.said[-300:]
        with open(self.out) as f:
            return f.read().rstrip("\n")

    def close(self):
        os.close(self.fd)
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)


def try_shell(shell, folder, path, judge):
    terminal = Terminal(shell, folder, path)
    for name, typed, wanted in LINES:
        found = terminal.line_after(typed + "\t")
        judge(f"{shell}: {name}", found == wanted, f"{typed!r} became {found!r}, not {wanted!r}")
    typed, words = LISTED
    terminal.line_after(typed + "\t\t")
    judge(f"{shell}: a list", all(w in terminal.said for w in words), terminal.said[-300:])
    terminal.close()


def has_terminals():
    try:
        for end in pty.openpty():
            os.close(end)
    except OSError:
        return False
    return True


def main():
    graphrun = os.path.abspath(sys.argv[1])
    path = os.path.dirname(graphrun) + ":" + os.environ["PATH"]
    counts = {True: 0, False: 0}
    skipped = 0

    def judge(name, good, why):
        counts[good] += 1
        print(f"ok {name}" if good else f"FAIL {name}: {why}", flush=True)

    with tempfile.TemporaryDirectory() as root:
        folder = os.path.join(root, "home")
        for name, text in FILES.items():
            os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
            with open(os.path.join(folder, name), "w") as f:
                f.write(text)
        for shell in START:
            lacks = None if shutil.which(shell) else "it is not installed"
            if not lacks and not has_terminals():
                lacks = "this machine has no terminals"
            if lacks:
                skipped += 1
                print(f"SKIPPED: completion in {shell}: {lacks}")
            else:
                try_shell(shell, folder, path, judge)
    wrong = subprocess.run([graphrun, "config", "--completion", "csh"], capture_output=True, text=True)
    judge("no such shell", wrong.returncode == 2 and "bash, zsh and fish" in wrong.stderr, wrong.stderr)
    print(f"{counts[True]} passed, {counts[False]} failed, {skipped} skipped")
    return counts[False] > 0


sys.exit(main())
