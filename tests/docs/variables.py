#!/usr/bin/env python3
"""The table of docs/debugging.md has every variable of the environment that the program and its tools have, and no other."""
import pathlib, re, sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ["base", "cli", "compiler", "compose", "graphs", "configs", "hooks", "ir", "job", "ops", "runtime", "search", "tools"]
HARNESS = ["tests/e2e/lib.sh", "tests/gpu/run.sh"]  # what tests are started with
NAME = re.compile(r"\bGRAPHRUN_[A-Z][A-Z_]*\b")


def names_in(paths):
    found = {}
    for path in paths:
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        for name in NAME.findall(text):
            found.setdefault(name, path.relative_to(ROOT))
    return found


files = [p for f in FOLDERS if (ROOT / f).is_dir() for p in sorted((ROOT / f).rglob("*")) if p.is_file()]
used = names_in(files + [ROOT / f for f in HARNESS])
table = set(re.findall(r"^\| `(GRAPHRUN_[A-Z_]+)` \|", (ROOT / "docs/debugging.md").read_text(), re.M))
wrong = [f"{name} of {used[name]} is not in the table of docs/debugging.md" for name in sorted(used.keys() - table)]
wrong += [f"{name} of the table of docs/debugging.md is nowhere in the code" for name in sorted(table - used.keys())]
print("\n".join(wrong) or f"{len(table)} variables")
print(f"{0 if wrong else 1} passed, {1 if wrong else 0} failed, 0 skipped")
sys.exit(bool(wrong))
