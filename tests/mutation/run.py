#!/usr/bin/env python3
"""Puts one bug at a time into the sources and asks the tests to find it.

    tests/mutation/run.py [-j N] [--work DIR] [--no-check] [--short] [--sample N] [--only TEXT] [FILE ...]
    tests/mutation/run.py --applies [FILE ...]
    tests/mutation/run.py --lost [FILE ...]

Each FILE (by default tests/mutation/*.txt) lists mutants, separated by blank lines:

    what is wrong, in a sentence
    path/to/file.c
    - a text that stands in one place of the file
    + what it becomes
    ctest regular expression of the tests that may find it

Works on a copy of the sources in DIR (a new temporary folder by default), which keeps its build for
the next call. Builds what those tests run, and nothing else. Prints a line for each mutant, the survivors and the score; exits with 1 where a
mutant survives, does not apply or does not compile. Not a part of CI: it takes an hour.

With --short only those tests are asked that `tools/test` runs without --full; a mutant none of whose tests
is among them survives. With --sample N, N of the mutants are tried, always the same ones.

With --lost nothing is built or changed: it prints the mutants that name no test of the short run, and for each test of
that run how many mutants name it, and how many name it alone: what it costs to move it to the slow ones.

With --applies nothing is built: every mutant must change one place of the tree as it is, and nothing
else is asked (the test tools.mutation)."""
import argparse, hashlib, json, pathlib, re, shutil, subprocess, sys, tempfile, threading

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Mutant:
    def __init__(self, lines, origin):
        self.what, self.path = lines[0], lines[1]
        self.old = "\n".join(l[2:] for l in lines[2:-1] if l.startswith("- "))
        self.new = "\n".join(l[2:] for l in lines[2:-1] if l.startswith("+ "))
        self.tests, self.origin = lines[-1], origin
        odd = [l for l in lines[2:-1] if not l.startswith(("- ", "+ ")) and l not in ("-", "+")]
        if odd or not self.old or self.tests.startswith(("- ", "+ ")):
            sys.exit(f"{origin}: not a mutant: {odd or lines[0]}")


def read(path):
    block, out = [], []
    for number, line in enumerate(path.read_text().splitlines() + [""], 1):
        if line.startswith("#"):
            continue
        if line.strip():
            block.append(line)
        elif block:
            out.append(Mutant(block, f"{path.name}:{number - len(block)}"))
            block = []
    return out


def copy_tree(to):
    to.mkdir(parents=True, exist_ok=True)
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in files.decode().split("\0"):
        if name and (ROOT / name).is_file():
            target, source = to / name, (ROOT / name).read_bytes()
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.exists() or target.read_bytes() != source:
                shutil.copy(ROOT / name, target)  # as new: what was built of a mutant is built again


def call(work, *command, limit=900):
    try:
        run = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=limit,
                             errors="replace")
        return run.returncode, run.stdout + run.stderr
    except subprocess.TimeoutExpired:
        return 124, "took too long"


def build(work, targets):
    return call(work, "cmake", "--build", "build", "-j", "2", "--target", *sorted(targets), limit=3600)


def configure(work):
    copy_tree(work)
    if not (work / "build/CMakeCache.txt").exists():
        launcher = ["-DCMAKE_C_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        fast = [name for name, program in (("mold", "mold"), ("lld", "ld.lld")) if shutil.which(program)]
        linker = [f"-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld={fast[0]}"] if fast else []
        code, text = call(work, "cmake", "-S", ".", "-B", "build", *generator, *launcher, *linker)
        if code:
            sys.exit(text)


def ctest(work, tests, jobs=1, short=False):
    """No test at all finds nothing: with --short all that a mutant names may be left out."""
    return call(work, "ctest", "--test-dir", "build", "-R", tests, "--timeout", "300", "-j",
                str(jobs), "--stop-on-failure", *(["-LE", "^slow$"] if short else ["--no-tests=error"]), limit=3600)


def all_tests(work):
    """What must be built for each test: the programs and modules of the build that its command
    names; those on GPUs also load the modules of the program and the stand-ins. Read from what
    CMake wrote, as ctest does not say it of programs that are not built yet."""
    built, out = str((work / "build").resolve()) + "/", {}
    known = {pathlib.Path(t).stem for t in (work / "build/CMakeFiles/TargetDirectories.txt").read_text().split()}
    loaded = {t for t in known if t.startswith("standin_") or t in ("graphrun", "no_driver")}
    text = "".join(f.read_text() for f in sorted((work / "build").rglob("CTestTestfile.cmake")))
    for name, command in re.findall(r"^add_test\((?:\[=*\[)?(.*?)(?:\]=*\])? (.*)\)$", text, re.M):
        words = re.findall(r'"((?:[^"\\]|\\.)*)"', command)
        names = {re.sub(r"^lib(.*)\.so$", r"\1", pathlib.Path(w).name) for w in words if w.startswith(built)}
        on_gpu = name.startswith("gpu.") or name == "docs.optim_devices"
        out[name] = {"all"} if name == "gpu.test_run" else names & known | (loaded if on_gpu else set())
    return out


def tests_of(work, mutants):
    """The tests that each expression asks for: {expression: {test: targets}}. One that matches none
    fails as a test does, so that its mutants would count as found."""
    known, tests = all_tests(work), {}
    for m in {m.tests: m for m in mutants}.values():
        tests[m.tests] = {name: known[name] for name in known if re.search(m.tests, name)}
        if not tests[m.tests]:
            sys.exit(f"{m.origin}: no test is called {m.tests}")
    return tests


def targets_for(tests):
    return set().union(*tests.values())


def build_unchanged(work, tests):
    code, text = build(work, set().union(*map(targets_for, tests.values())))
    if code:
        sys.exit("the sources do not build as they are:\n" + text[-2000:])


def check_unchanged(work, tests):
    """What fails without a mutant finds nothing."""
    names = set().union(*tests.values())
    code, out = ctest(work, "^(" + "|".join(re.escape(n) for n in sorted(names)) + ")$", jobs=2)
    if code:
        sys.exit(f"tests fail without a mutant:\n{out[-2000:]}")


def change(root, m):
    """The file's text with the mutant, and why there is none."""
    file = root / m.path
    if not file.is_file():
        return None, f"there is no file {m.path}"
    text = file.read_text()
    if text.count(m.old) != 1:
        return None, f"what it replaces stands in {text.count(m.old)} places of {m.path}"
    if m.new == m.old:
        return None, "it changes nothing"
    return text.replace(m.old, m.new), None


def check_applies(queue):
    failed = 0
    for m in queue:
        _, why = change(ROOT, m)
        if why:
            failed += 1
            print(f"FAIL tests/mutation/{m.origin}: {why}: {m.what}")
            print("  hint: follow the changed source in that list, or drop the mutant if its bug is impossible now")
    print(f"{len(queue) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed or not queue else 0


def print_lost(queue):
    """What the short run loses, and what each of its tests is alone for, by the tests that mutants name."""
    shown = subprocess.run(["ctest", "--test-dir", "build", "--show-only=json-v1"], cwd=ROOT, capture_output=True,
                           text=True, check=True).stdout
    slow = {t["name"]: any(p["name"] == "LABELS" and "slow" in p["value"] for p in t.get("properties", []))
            for t in json.loads(shown)["tests"]}
    named, alone, lost = dict.fromkeys(slow, 0), dict.fromkeys(slow, 0), []
    for m in queue:
        tests = [name for name in slow if not slow[name] and re.search(m.tests, name)]
        for name in tests:
            named[name] += 1
            alone[name] += len(tests) == 1
        if not tests:
            lost.append(m)
    for name in sorted((n for n in slow if not slow[n]), key=lambda n: (alone[n], named[n], n)):
        print(f"named by {named[name]:4}, alone by {alone[name]:4}  {name}")
    for m in lost:
        print(f"lost: {m.path}: {m.what} ({m.origin})")
    print(f"{len(lost)} of {len(queue)} mutants name slow tests only, {100 * len(lost) / max(1, len(queue)):.1f} %")
    return 0


def failed_test(out):
    failed = re.search(r"^\s*\d+ - (\S+) \(", out, re.M)
    return failed.group(1) if failed else "ctest"


def try_one(work, m, targets, short):
    file = work / m.path
    changed, why = change(work, m)
    if why:
        return why
    text = file.read_text()
    try:
        file.write_text(changed)
        code, out = build(work, targets)
        if code:
            return "does not compile: " + " ".join(out.split())[-300:]
        code, out = ctest(work, m.tests, short=short)
        return "found by " + failed_test(out) if code else "SURVIVES"
    finally:
        file.write_text(text)


def work_through(work, queue, tests, short, lock, results):
    while True:
        with lock:
            if not queue:
                return
            m = queue.pop(0)
        result = try_one(work, m, targets_for(tests[m.tests]), short)
        with lock:
            results.append((m, result))
            print(f"{result:24} {m.path}: {m.what} ({m.origin})", flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("files", nargs="*", type=pathlib.Path)
    p.add_argument("-j", type=int, default=1, help="mutants at once, each in a copy of its own")
    p.add_argument("--work", type=pathlib.Path)
    p.add_argument("--no-check", action="store_true", help="the tests are known to pass unchanged")
    p.add_argument("--applies", action="store_true", help="only check that every mutant applies")
    p.add_argument("--lost", action="store_true", help="only print what the short run loses")
    p.add_argument("--short", action="store_true", help="without the tests that are slow")
    p.add_argument("--sample", type=int, help="so many of the mutants, always the same ones")
    p.add_argument("--only", default="", help="only mutants whose name, path or tests contain it")
    a = p.parse_args()
    files = a.files or sorted((ROOT / "tests/mutation").glob("*.txt"))
    queue = [m for f in files for m in read(f) if a.only in m.what + m.path + m.tests]
    if not queue:
        sys.exit(f"no mutant's name, path or tests contain {a.only!r}")
    if a.sample:
        queue = sorted(queue, key=lambda m: hashlib.sha256((m.path + m.what).encode()).digest())[:a.sample]
    if a.applies:
        return check_applies(queue)
    if a.lost:
        return print_lost(queue)
    base = a.work or pathlib.Path(tempfile.mkdtemp(prefix="graphrun-mutation-"))
    lock, results, threads = threading.Lock(), [], []
    for i in range(a.j):
        work = base / str(i)
        configure(work)
        tests = tests_of(work, queue)
        build_unchanged(work, tests)
        if not i and not a.no_check:
            check_unchanged(work, tests)
        threads.append(threading.Thread(target=work_through, args=(work, queue, tests, a.short, lock, results)))
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    found = sum(r.startswith("found") for _, r in results)
    for m, r in results:
        if not r.startswith("found"):
            print(f"{r}: {m.origin} {m.what}")
    print(f"{found} of {len(results)} mutants found, {100 * found / max(1, len(results)):.1f} %")
    if not a.work:
        shutil.rmtree(base)
    return found != len(results)


if __name__ == "__main__":
    sys.exit(main())
