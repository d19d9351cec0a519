#!/usr/bin/env python3
"""Times composition as a user sees it: whole processes, the fastest of several.

    tests/compose/bench.py build/graphrun [python with hydra-core]

Trees of 20 groups with 1,000 and 10,000 values, the project's own configs, one completion;
with a second argument also Hydra's time for the same trees, and the ratio.
"""
import os
import subprocess
import sys
import tempfile
import time

HYDRA = """
import hydra
@hydra.main(version_base=None, config_path=%r, config_name="config")
def main(cfg): pass
main()
"""


def write_tree(root, groups, values):
    defaults = "defaults:\n"
    for g in range(groups):
        os.makedirs(f"{root}/g{g}")
        with open(f"{root}/g{g}/o.yaml", "w") as f:
            for k in range(values // groups):
                f.write(f"key_{k}: {[k, k * 0.5, 'text', 'true'][k % 4]}\n")
        defaults += f"- g{g}: o\n"
    with open(f"{root}/config.yaml", "w") as f:
        f.write(defaults + "- _self_\n")


def fastest(command, times):
    best = 1e9
    for _ in range(times):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        best = min(best, time.perf_counter() - start)
    return best * 1000


def main():
    program = os.path.abspath(sys.argv[1])
    python = sys.argv[2] if len(sys.argv) > 2 else None
    for values in (1000, 10000):
        with tempfile.TemporaryDirectory() as root:
            write_tree(root, 20, values)
            ours = fastest([program, "config", f"{root}/config.yaml", "--raw"], 20)
            line = f"{values} values in 20 files, composed and printed: {ours:.1f} ms"
            if python:
                script = f"{root}/app.py"
                with open(script, "w") as f:
                    f.write(HYDRA % root)
                theirs = fastest([python, script, "--cfg", "job"], 3)
                line += f"; Hydra {theirs:.0f} ms, {theirs / ours:.0f} times as long"
            print(line)
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    for config in sorted(os.listdir("configs")):
        if config != "distributed.yaml":
            ours = fastest([program, "config", f"configs/{config}"], 20)
            print(f"configs/{config}, checked and printed: {ours:.1f} ms")
    line = "graphrun configs/multi_gpu.yaml training.o"
    print(f"completion: {fastest([program, 'config', '--complete', line], 20):.1f} ms")


main()
