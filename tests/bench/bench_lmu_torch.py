#!/usr/bin/env python3
"""Step time of the full-size LMU-ASR in PyTorch, as its users write it: batch 8, 300 frames.

  bench_lmu_torch.py [threads [steps]]    prints one line: seconds a step, the median"""
import pathlib, sys, time
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "golden"))
sys.dont_write_bytecode = True
import torch
from lmu_asr_torch import LMUASR

threads = int(sys.argv[1]) if len(sys.argv) > 1 else 1
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 3
torch.set_num_threads(threads)
torch.manual_seed(1)
model = LMUASR()
adam = torch.optim.Adam(model.parameters(), 1e-4)
x = torch.randn(8, 300, 80)
lengths, target_lengths = torch.full((8,), 300), torch.full((8,), 40)
targets, weight = torch.randint(0, 31, (8, 40)), torch.ones(8)

def step():
    adam.zero_grad(set_to_none=True)
    model.loss(x, lengths, targets, target_lengths, weight).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    adam.step()

took = []
for i in range(steps + 1):
    began = time.perf_counter()
    step()
    took.append(time.perf_counter() - began)
took = sorted(took[1:])
print(f"{took[len(took) // 2]:.4f} s a step (median of {steps}, {threads} threads); torch {torch.__version__}")
