"""What the benches of PyTorch on processors share: its best Adam, how a model is run, and the times of a step."""
import time
import torch


def fused(kind, parameters, *args, **others):
    """An optimizer that updates all weights in one call, where PyTorch has that on processors (from 2.4 on)."""
    parameters = list(parameters)
    try:
        return kind(parameters, *args, fused=True, **others)
    except (RuntimeError, TypeError):
        return kind(parameters, *args, **others)


def measure(step, steps, threads, how):
    """Prints the medians of `steps` steps: seconds of processors, and of time. The first one is not counted."""
    wall, cpu = [], []
    for _ in range(steps + 1):
        began, used = time.perf_counter(), time.process_time()
        step()
        wall.append(time.perf_counter() - began)
        cpu.append(time.process_time() - used)
    middle = lambda v: sorted(v[1:])[steps // 2]
    print(f"{middle(cpu):.4f} s of processors a step, {middle(wall):.4f} s of time (medians of {steps}, {threads} threads); "
          f"{how}, torch {torch.__version__}")
