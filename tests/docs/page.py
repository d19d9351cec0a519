#!/usr/bin/env python3
"""Runs every example of a page, as a reader would who copies them one after the other.

    page.py GRAPHRUN BUILD PAGE

A block of shell is run line by line, each as it is on the page; a block of another language is a file, named by
`<!-- file: NAME -->` before it, or what tools/docs has inserted. A page has no other blocks. README.md is run in a
fresh clone: the tracked files of this tree, as they are now. Other pages begin in an empty folder with graphrun on the
PATH. GR_TORCH_PYTHON names a Python that has PyTorch; examples that need it, or mpirun, are skipped without."""
import ast, os, pathlib, re, shutil, subprocess, sys, tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
GRAPHRUN, BUILD, PAGE = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
TORCH = os.environ.get("GR_TORCH_PYTHON", "python3")
LIMIT = 1800  # seconds of one command: it ends those that hang
counts = {"ok": 0, "FAIL": 0, "SKIPPED": 0}


def report(kind, what, why=""):
    counts[kind] += 1
    print(f"{kind} {what}" if kind != "SKIPPED" else f"  SKIPPED: {what}", f": {why}" if why else "", sep="")


def check(what, good, why=""):
    report("ok" if good else "FAIL", what, "" if good else why)
    return good


def succeeds(*command):
    try:
        return subprocess.run(command, capture_output=True, timeout=LIMIT).returncode == 0
    except OSError:
        return False


has_torch = succeeds(TORCH, "-c", "import torch, safetensors.torch")
has_mpi = shutil.which("mpirun") is not None and (BUILD / "graphrun_mpi.so").exists()


# ---- The page ----------------------------------------------------------------------------


def blocks(text):
    """(language, name of the file or None, text, line) of every block of code that tools/docs does not write."""
    name = language = None
    quoted, indented, lines = False, False, []
    for number, line in enumerate(text.splitlines(), 1):
        mark = re.fullmatch(r"<!-- (file|begin|insert|end)(?:: (.*?))? -->", line)
        if language is not None:
            if line == "```":
                if not quoted:
                    yield language, name, "".join(lines), number
                name = language = None
            else:
                lines.append(line + "\n")
        elif mark:
            name = mark[2] if mark[1] == "file" else None
            quoted = mark[1] in ("begin", "insert") or (quoted and mark[1] != "end")
        elif line.startswith("```"):
            language, lines = line[3:], []
        elif line.startswith("    ") and not quoted:
            yield "indented", None, line, number


def inline(text):
    """The commands in a page's sentences and tables."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M)
    return [code.replace(r"\|", "|") for code in re.findall(r"`([^`\n]+)`", prose)]


# ---- Running -----------------------------------------------------------------------------


class Reader:
    """A folder, and the environment of a shell in it."""

    def __init__(self, work):
        self.work, self.at = work, work
        tools = work.parent / "path"
        tools.mkdir()
        for name, command in (("python3", ""), ("torchrun", "-m torch.distributed.run")):
            (tools / name).write_text(f'#!/bin/sh\nexec "{shutil.which(TORCH)}" {command} "$@"\n')
            (tools / name).chmod(0o755)
        # Tests may run as root, which Open MPI refuses unless it is told twice.
        self.env = os.environ | {"PATH": f"{tools}:{GRAPHRUN.parent}:{os.environ['PATH']}",
                                 "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    def run(self, line, what):
        """One line, in the folder where the one before it ended."""
        end = self.work.parent / "pwd"
        try:
            done = subprocess.run(["sh", "-ec", f"{line}\npwd >'{end}'"], cwd=self.at, env=self.env, timeout=LIMIT,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
            code, said = done.returncode, done.stdout + done.stderr
        except subprocess.TimeoutExpired:
            code, said = None, f"it ran for {LIMIT} seconds"
        if code == 0:
            self.at = pathlib.Path(end.read_text().strip())
        return check(what, code == 0, f"exit code {code}: {said[-3000:]}")

    def needs(self, text):
        """What a block needs that is not here; None: nothing."""
        if re.search(r"^(python3|torchrun) ", text, re.M) and not has_torch:
            return f"no torch and safetensors in {TORCH} (GR_TORCH_PYTHON names another)"
        return "no MPI" if re.search(r"^mpirun ", text, re.M) and not has_mpi else None


def is_python(text):
    try:
        return bool(ast.parse(text))
    except SyntaxError:
        return False


# Commands of README.md that are not repeated here. The build is the one that runs this test, whose files are put
# where tools/build would put them; the two that set up, build and run everything are only looked at.
def stand_in(reader, line):
    if line == "tools/setup && tools/build":
        check("what sets up is in the clone", succeeds("sh", "-n", reader.work / "tools/setup"))
        check("what builds is in the clone", succeeds("sh", "-n", reader.work / "tools/build"))
        (reader.work / "build").mkdir()
        for file in [GRAPHRUN, *BUILD.glob("graphrun_*.so")]:
            shutil.copy(file, reader.work / "build" / file.name)
        return True
    if line in ("tools/main-job", "tools/test"):
        shell = "bash" if "bash" in (reader.work / line).read_text().splitlines()[0] else "sh"
        check(f"{line} is a program", os.access(reader.work / line, os.X_OK) and succeeds(shell, "-n", reader.work / line))
        return True
    return False


def example(reader, language, name, text, line):
    where = f"{PAGE}:{line}"
    if language == "sh":
        why = reader.needs(text)
        for command in text.splitlines():
            if why:
                report("SKIPPED", f"{where}: {command}", why)
            elif not stand_in(reader, command) and not reader.run(command, f"{where}: {command}"):
                return
    elif name:
        (reader.at / name).parent.mkdir(parents=True, exist_ok=True)
        (reader.at / name).write_text(text)
        check(f"{where}: {name}", language != "python" or is_python(text))
    else:
        check(f"{where}: a block that is run", False, f"{language or 'no language'}, and no name of a file before it")


# ---- What the sentences of a page name ---------------------------------------------------


def clone(to):
    """The tracked files as they are now; without git, all that is not built or made by a run."""
    listed = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "-z"], cwd=ROOT, capture_output=True)
    if listed.returncode == 0 and listed.stdout:
        names = [name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()]
        for name in names:
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, to / name)
    else:
        made = shutil.ignore_patterns("build*", "outputs", "multirun", "data", "__pycache__", ".git")
        shutil.copytree(ROOT, to, dirs_exist_ok=True, ignore=lambda at, names: made(at, names) if at == str(ROOT) else [])


def alternatives(pattern):
    """What e2e.(a|b)|c stands for: e2e.a, e2e.b and c."""
    for part in re.findall(r"(?:[^|()]|\([^()]*\))+", pattern):
        group = re.fullmatch(r"(.*)\((.*)\)", part)
        yield from (group[1] + one for one in group[2].split("|")) if group else [part]


def named(reader, text):
    """README.md: the commands in its sentences. Those of ctest select tests, tools are there."""
    found = [code for code in inline(text) if re.match(r"(ctest|cmake|graphrun|build/graphrun|tools/|PYTHON=)", code)]
    check("the claims have commands", len(found) >= 5, str(found))
    for code in found:
        if code.startswith("ctest --test-dir build "):
            for pattern in alternatives(code.split(" -R ")[1].strip("'")):
                listed = subprocess.run(["ctest", "-N", "--test-dir", BUILD, "-R", pattern], capture_output=True, text=True)
                check(f"{code}: {pattern}", re.search(r"Total Tests: [1-9]", listed.stdout), "it selects no test")
        else:
            check(code, os.access(reader.work / code.split()[0], os.X_OK), "there is no such program")


def side_by_side(reader):
    """README.md: its model trains, and its Python is the same model, with the same names of weights."""
    reader.at = reader.work
    if not all(check(f"README.md has {name}", (reader.work / name).is_file()) for name in ("mlp.yaml", "mlp.py")):
        return
    run = ("build/graphrun new fruit && build/graphrun fruit/config.yaml model.graph=mlp.yaml '~model.params.layers' "
           "training.max_epochs=2 output.dir=fruit/run && build/graphrun export fruit/run mlp.safetensors")
    check("the YAML has twelve lines", len((reader.work / "mlp.yaml").read_text().splitlines()) == 12)
    if not reader.run(run, "the model in YAML trains"):
        return
    if not has_torch:
        return report("SKIPPED", "the model in Python", f"no torch and safetensors in {TORCH} (GR_TORCH_PYTHON names another)")
    (reader.work / "same.py").write_text(
        "import os, torch, torch.distributed as dist\nfrom torch import nn\nfrom torch.nn import functional as F\n"
        "from torch.nn.parallel import DistributedDataParallel as DDP\nfrom safetensors.torch import load_file\n"
        + (reader.work / "mlp.py").read_text() +
        "net = Net(3, 3)\nnet.load_state_dict(load_file('mlp.safetensors'))\n"
        "dist.init_process_group('gloo', init_method='file://' + os.path.abspath('store'), rank=0, world_size=1)\n"
        "model = DDP(net)\n"
        "x = torch.randn(8, 3)\n"
        "first = step(model, torch.optim.SGD(model.parameters(), 0.1), x, net(x).argmax(1))\n"
        "assert first[1] == 1 and first[0] > 0, first\n")
    reader.run("python3 same.py", "the model in Python has its weights, and its step runs")


def operations(text):
    """What tables name in the graph language's column is there."""
    rows = re.search(r"^\| PyTorch \| graph language \|\n\|---\|---\|\n((?:\|.*\n)+)", text, re.M)[1]
    names = sorted({name for row in rows.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[2])})
    check("the table has ops", len(names) > 30, str(names))
    for name in names:
        if not succeeds(GRAPHRUN, "ops", name):
            check(f"op {name}", False, "`graphrun ops` does not know it")


def main():
    text = (ROOT / PAGE).read_text()
    with tempfile.TemporaryDirectory(prefix="graphrun-docs-") as folder:
        work = pathlib.Path(folder).resolve() / "clone"
        work.mkdir()
        reader = Reader(work)
        if PAGE == "README.md":
            clone(work)
        else:
            (work / "hooks").symlink_to(ROOT / "hooks")  # as an installed program finds them
        for block in blocks(text):
            example(reader, *block)
        if PAGE == "README.md":
            named(reader, text)
            side_by_side(reader)
            words = len(text.split())
            check("README.md is short", words <= 700, f"{words} words")
        elif "| PyTorch | graph language |" in text:
            operations(text)
    print(f"{counts['ok']} passed, {counts['FAIL']} failed, {counts['SKIPPED']} skipped")
    return counts["FAIL"] > 0


if __name__ == "__main__":
    sys.exit(main())
