#!/usr/bin/env python3
"""Step time of the 3-D convolutional network in PyTorch, as its users write it.

  bench_video_torch.py FRAMES SIZE FILTERS HIDDEN BATCH [threads [steps]]    prints one line: seconds a step, the median"""
import pathlib, sys, time
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "golden"))
sys.dont_write_bytecode = True
import torch
import torch.nn.functional as F
from cnn3d_torch import CNN3D

frames, size, filters, hidden, batch = map(int, sys.argv[1:6])
threads = int(sys.argv[6]) if len(sys.argv) > 6 else 1
steps = int(sys.argv[7]) if len(sys.argv) > 7 else 5
torch.set_num_threads(threads)
torch.manual_seed(1)
model = CNN3D(filters, hidden)
adam = torch.optim.Adam(model.parameters(), 1e-3)
x, y = torch.randint(0, 256, (batch, frames, size, size, 1), dtype=torch.uint8), torch.arange(batch) % 7
weight = torch.ones(7)

def step():
    adam.zero_grad(set_to_none=True)
    F.cross_entropy(model(x), y, weight=weight).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    adam.step()

wall, cpu = [], []
for i in range(steps + 1):
    began, used = time.perf_counter(), time.process_time()
    step()
    wall.append(time.perf_counter() - began)
    cpu.append(time.process_time() - used)
middle = lambda v: sorted(v[1:])[steps // 2]
print(f"{middle(cpu):.4f} s of processors a step, {middle(wall):.4f} s of time (medians of {steps}, {threads} threads); "
      f"torch {torch.__version__}")
