#!/usr/bin/env python3
"""Fails if files call each other in a circle: read one after the other, each file of the product can be
understood from those that it calls. Calls are found in the compiled objects: a function that one defines and
another needs. A table of functions is no call: lists of ops, devices or passes are how files stay apart.

    tools/calls.py BUILD           the folder of a build of the program
    tools/calls.py BUILD --why     prints the calls of each circle, too"""
import os, pathlib, re, subprocess, sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROOMS = ("base", "ir", "compose", "ops", "compiler", "runtime", "search", "job", "cli")
# Files that may call each other, with the reason.
EXCEPTIONS = {
    ("ops/math/cos.c", "ops/math/sin.c"): "an op's file emits its gradient, and each of these is the other's",
    ("ops/kernels/reduce.c", "ops/math/sum.c", "ops/shape/broadcast.c"): "the same: sums are broadcast back",
    ("ops/math/cast.c", "ops/nn/matmul.c"): "the same: a product casts its result, and a cast's gradient joins it",
    ("compose/interp/interp.c", "compose/interp/resolvers.c"):
        "the language recurs: resolvers take interpolations, and an interpolation calls a resolver",
}

def objects(build):
    """{source: object} of the libraries and programs of the product."""
    found = {}
    compiled = [pathlib.Path(folder, name) for room in ROOMS for folder, _, names in os.walk(build / room)
                for name in names if name.endswith(".c.o")]
    for path in sorted(compiled):
        folder, _, rest = f"./{path.relative_to(build)}".partition("/CMakeFiles/")
        source = os.path.normpath(f"{folder}/{rest.split('/', 1)[1]}"[:-2].replace("__/", "../"))
        if source.startswith(tuple(f"{room}/" for room in ROOMS)) and (ROOT / source).exists():
            found.setdefault(source, path)
    return found

def symbols(objects):
    """({function: the source that defines it}, {source: what it needs}, {source: its object})."""
    named = {str(path): source for source, path in objects.items()}
    run = subprocess.run(["nm", "-A", "-P", *named], capture_output=True, text=True, check=True)
    defined, needed = {}, {}
    for where, name, kind in re.findall(r"^(.+?): (gr_\w+) (\S)", run.stdout, re.M):
        if kind == "T":
            defined.setdefault(name, named[where])
        elif kind == "U":
            needed.setdefault(named[where], set()).add(name)
    return defined, needed

def calls(defined, needed):
    """{source: {other source: the functions of it that are called}}"""
    edges = {source: {} for source in {*defined.values(), *needed}}
    for source, names in needed.items():
        for name in names:
            other = defined.get(name, source)
            if other != source:
                edges[source].setdefault(other, set()).add(name)
    return edges

def circles(edges):
    """Sets of sources that call each other: Tarjan, 'Depth-first search and linear graph algorithms', 1972."""
    index, low, stack, found = {}, {}, [], []

    def visit(source):
        index[source] = low[source] = len(index)
        stack.append(source)
        for other in sorted(edges.get(source, ())):
            if other not in index:
                visit(other)
                low[source] = min(low[source], low[other])
            elif other in stack:
                low[source] = min(low[source], index[other])
        if low[source] == index[source]:
            first = stack.index(source)
            if len(stack) - first > 1:
                found.append(sorted(stack[first:]))
            del stack[first:]

    sys.setrecursionlimit(10000)
    for source in sorted(edges):
        if source not in index:
            visit(source)
    return found

def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build").resolve()
    compiled = objects(build)
    if not compiled:
        print(f"tools/calls.py: {build} has no objects: build the program first")
        return True
    edges = calls(*symbols(compiled))
    found = circles(edges)
    bad = [c for c in found if tuple(c) not in EXCEPTIONS]
    gone = [c for c in EXCEPTIONS if list(c) not in found]
    for circle in gone:
        print(f"{' '.join(circle)} do not call each other any more: remove the exception")
    for circle in bad:
        print(f"{' '.join(circle)} call each other")
        for source in circle if "--why" in sys.argv else ():
            for other in circle:
                if other in edges[source]:
                    print(f"  {source} -> {other}: {' '.join(sorted(edges[source][other]))}")
    print(f"{len(compiled)} files, {len(bad)} circles, {len(EXCEPTIONS)} exceptions")
    failed = bool(bad or gone)
    print(f"{int(not failed)} passed, {int(failed)} failed, 0 skipped")
    return failed

if __name__ == "__main__":
    sys.exit(main())
