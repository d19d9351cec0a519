#!/usr/bin/env python3
"""Checks what can be counted: function length (none over 60 lines, 90 % within 25), file length
(400), no goto, every header self-contained and guarded, a head line in every file."""
import os, pathlib, re, subprocess, sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ["base", "compose", "ir", "ops", "compiler", "runtime", "cli", "tests"]
MOST_FUNCTION, USUAL_FUNCTION, MOST_FILE = 60, 25, 400
os.chdir(ROOT)

def functions(path):
    """(name, first line, lines) of every function: a line at column 0 that opens a body."""
    start = name = None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        opened = re.match(r"^[A-Za-z_].*\)\s*\{$|^    .*\)\s*\{$", line)
        if start is None and opened and "=" not in line.split("(")[0]:
            head = re.findall(r"(\w+)\(", line)
            start, name = number, head[0] if head else "?"
        elif line.startswith("}") and start:
            yield name, start, number - start + 1
            start = None

def header_alone(path, cc="gcc"):
    run = subprocess.run([cc, "-std=gnu11", "-fsyntax-only", "-I.", "-Ibuild/generated", "-include",
                          str(path), "-x", "c", "/dev/null"], capture_output=True, text=True)
    return run.returncode == 0

def main():
    bad, lengths = [], []
    sources = [f.relative_to(ROOT) for d in FOLDERS for f in sorted((ROOT / d).rglob("*.[ch]"))]
    for path in sources:
        text = path.read_text()
        lines = text.splitlines()
        if not lines or not lines[0].startswith("// " + path.name + " - "):
            bad.append(f"{path}:1: begins with '// {path.name} - what it is.'")
        if len(lines) > MOST_FILE:
            bad.append(f"{path}: {len(lines)} lines, more than {MOST_FILE}")
        for number, line in enumerate(lines, 1):
            code = re.sub(r'"(\\.|[^"])*"|//.*', "", line)
            if re.search(r"\bgoto\b", code):
                bad.append(f"{path}:{number}: goto")
            if re.search(r"\b(TODO|FIXME|XXX)\b", line):
                bad.append(f"{path}:{number}: unfinished: {line.strip()[:60]}")
        if path.suffix == ".c":
            for name, first, count in functions(path):
                lengths.append(count)
                if count > MOST_FUNCTION:
                    bad.append(f"{path}:{first}: {name} is {count} lines, more than {MOST_FUNCTION}")
        elif not re.search(r"^#pragma once$", text, re.M) and path.parts[0] != "tests":
            bad.append(f"{path}: no #pragma once")
        if path.suffix == ".h" and not header_alone(path):
            bad.append(f"{path}: does not compile on its own")
    within = sum(l <= USUAL_FUNCTION for l in lengths) / max(1, len(lengths))
    if within < 0.9:
        bad.append(f"only {100 * within:.1f} % of functions are within {USUAL_FUNCTION} lines")
    print("\n".join(bad), end="\n" if bad else "")
    print(f"{len(sources)} files, {len(lengths)} functions, {100 * within:.1f} % within "
          f"{USUAL_FUNCTION} lines, longest {max(lengths, default=0)}")
    print(f"{int(not bad)} passed, {int(bool(bad))} failed, 0 skipped")
    return bool(bad)

if __name__ == "__main__":
    sys.exit(main())
