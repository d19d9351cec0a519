#!/usr/bin/env python3
"""Step time of the 3-D convolutional network in PyTorch.

  bench_video_torch.py FRAMES SIZE FILTERS HIDDEN BATCH [threads [steps [HOW]]]    prints one line: seconds a step, the median

HOW is `eager`, as its users write it, or `compiled`: by torch.compile, which takes a C++ compiler half a minute."""
import pathlib, sys
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "golden"))
sys.dont_write_bytecode = True
import torch
import torch.nn.functional as F
from cnn3d_torch import CNN3D
from torch_step import fused, measure

frames, size, filters, hidden, batch = map(int, sys.argv[1:6])
threads = int(sys.argv[6]) if len(sys.argv) > 6 else 1
steps = int(sys.argv[7]) if len(sys.argv) > 7 else 5
how = sys.argv[8] if len(sys.argv) > 8 else "eager"
torch.set_num_threads(threads)
torch.manual_seed(1)
model = CNN3D(filters, hidden)
run = torch.compile(model) if how == "compiled" else model
optimizer = fused(torch.optim.Adam, model.parameters(), 1e-3)
x, y = torch.randint(0, 256, (batch, frames, size, size, 1), dtype=torch.uint8), torch.arange(batch) % 7
weight = torch.ones(7)

def step():
    optimizer.zero_grad(set_to_none=True)
    F.cross_entropy(run(x), y, weight=weight).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()

measure(step, steps, threads, how)
