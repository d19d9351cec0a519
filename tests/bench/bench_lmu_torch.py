#!/usr/bin/env python3
"""Step time of the full-size LMU-ASR in PyTorch: batch 8, 300 frames.

  bench_lmu_torch.py [threads [steps [HOW]]]    prints one line: seconds a step, the median

HOW is `eager`, as its users write it; `tuned`, the same with a loop that computes no more than it must; or `compiled`,
that with each layer by torch.compile, which takes a C++ compiler minutes."""
import pathlib, sys
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "golden"))
sys.dont_write_bytecode = True
import torch
import torch.nn.functional as F
from lmu_asr_torch import LMU, LMUASR
from torch_step import fused, measure


class TunedLMU(LMU):
    """Products with x are outside the loop, sums are parts of the products, and matrices are transposed once."""

    def forward(self, x):
        written, seen = F.linear(x, self.e_x).unbind(1), F.linear(x, self.W_x).unbind(1)
        e_h, e_m, a, w_h, w_m = (w.t().contiguous() for w in (self.e_h, self.e_m, self.A, self.W_h, self.W_m))
        h = x.new_zeros(x.shape[0], w_h.shape[0])
        m = x.new_zeros(x.shape[0], a.shape[0])
        out = []
        for t in range(x.shape[1]):
            u = torch.addmm(torch.addmm(written[t], h, e_h), m, e_m)
            m = torch.addmm(u * self.B, m, a)
            h = torch.tanh(torch.addmm(torch.addmm(seen[t], h, w_h), m, w_m))
            out.append(h)
        return torch.stack(out, 1)


threads = int(sys.argv[1]) if len(sys.argv) > 1 else 1
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 3
how = sys.argv[3] if len(sys.argv) > 3 else "eager"
torch.set_num_threads(threads)
torch.manual_seed(1)
model = LMUASR()
for layer in model.layers:
    if how != "eager":
        layer.lmu.__class__ = TunedLMU
    if how == "compiled":
        layer.compile()
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
