#!/usr/bin/env python3
"""Writes lmu_asr_*.txt for tests/compiler/test_torch_models.c: a small LMU-ASR's weights and input, its loss
and every gradient, and the losses and weights of ten steps of Adam with clipping. In double.

Lines: `params NAME=VALUE ...`, then `KIND NAME DIMS... : VALUES...`."""
import pathlib
import torch
from lmu_asr_torch import LMUASR

CASES = {
    "plain": dict(mels=12, vocab=9, hidden=16, memory=6, theta=20.0, layers=2, heads=2, subsample=1),
    "small": dict(mels=10, vocab=8, hidden=12, memory=5, theta=8.0, layers=1, heads=3, subsample=4,
                  lmu_residual=True),
}
N, T, U, LR, CLIP = 4, 24, 4, 1e-2, 0.5

def line(kind, name, tensor):
    dims = " ".join(map(str, tensor.shape))
    values = " ".join(f"{v:.9g}" for v in tensor.reshape(-1).tolist())
    return f"{kind} {name} {dims} : {values}"

def make(case, sizes):
    torch.manual_seed(3)
    torch.set_default_dtype(torch.float64)
    model = LMUASR(dropout=0.0, **sizes)
    with torch.no_grad():
        for p in model.parameters():
            p += 0.05 * torch.randn_like(p)  # so that nothing is zero or one
            p.copy_(p.float())               # what a file of float32 can hold
        for b in model.buffers():
            b.copy_(b.float())
    x = torch.randn(N, T, sizes["mels"]).float().double()
    lengths = torch.tensor([T, 17, 20, 9])
    target_lengths = torch.tensor([3, 2, 4, 1])
    targets = torch.randint(0, sizes["vocab"] - 1, (N, U))
    targets[torch.arange(U)[None, :] >= target_lengths[:, None]] = 0
    weight = torch.tensor([1.0, 1.0, 1.0, 0.0])
    out = ["params " + " ".join(f"{k}={v}" for k, v in sizes.items()) + " dropout=0.0"]
    out += [line("weight", k, p.data) for k, p in model.named_parameters()]
    for name, value in (("x", x), ("lengths", lengths), ("targets", targets),
                        ("target_lengths", target_lengths), ("weight", weight)):
        out.append(line("input", name, value))
    adam = torch.optim.Adam(model.parameters(), LR)
    losses = []
    for step in range(10):
        adam.zero_grad()
        loss = model.loss(x, lengths, targets, target_lengths, weight)
        loss.backward()
        if step == 0:
            out += [line("grad", k, p.grad) for k, p in model.named_parameters()]
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        adam.step()
        losses.append(loss.item())
    out.append(line("losses", "adam", torch.tensor(losses)))
    out += [line("after", k, p.data) for k, p in model.named_parameters()]
    (pathlib.Path(__file__).parent / f"lmu_asr_{case}.txt").write_text("\n".join(out) + "\n")

for case, sizes in CASES.items():
    make(case, sizes)
