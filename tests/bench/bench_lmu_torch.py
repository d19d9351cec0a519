#!/usr/bin/env python3
"""Step time of the full-size LMU-ASR in PyTorch: batch 8, 300 frames.

  bench_lmu_torch.py [threads [steps [HOW]]]    prints one line: seconds a step, the median

HOW is `eager`, as its users write it, or `compiled`: a layer's step in time by torch.compile, which needs a C++ compiler;
whole layers, loops of 300 steps, take it more than five minutes."""
import pathlib, sys
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "golden"))
sys.dont_write_bytecode = True
import torch
from lmu_asr_torch import LMUASR
from torch_step import fused, measure

threads = int(sys.argv[1]) if len(sys.argv) > 1 else 1
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 3
how = sys.argv[3] if len(sys.argv) > 3 else "eager"
torch.set_num_threads(threads)
torch.manual_seed(1)
model = LMUASR()
if how == "compiled":
    for layer in model.layers:
        layer.lmu.step = torch.compile(layer.lmu.step)
optimizer = fused(torch.optim.Adam, model.parameters(), 1e-4)
x = torch.randn(8, 300, 80)
lengths, target_lengths = torch.full((8,), 300), torch.full((8,), 40)
targets, weight = torch.randint(0, 31, (8, 40)), torch.ones(8)

def step():
    optimizer.zero_grad(set_to_none=True)
    model.loss(x, lengths, targets, target_lengths, weight).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()

measure(step, steps, threads, how)
