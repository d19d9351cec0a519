#!/usr/bin/env python3
"""Writes cnn3d_*.txt for tests/compiler/test_torch_models.c: small networks of 3-D convolutions, their weights and
clips, the loss weighted by classes and every gradient, and the losses, weights and running statistics of ten steps of
Adam with clipping. In double. The samples whose weight is 0 are padding: PyTorch's batch is without them.

Lines: `params NAME=VALUE ...`, then `KIND NAME DIMS... : VALUES...`."""
import pathlib
import torch
import torch.nn.functional as F
from cnn3d_torch import CNN3D
from make_vit import line

CASES = {"even": (8, 16, 6, [1.0] * 6), "odd": (9, 20, 7, [1.0] * 5 + [0.0])}  # frames, size, classes, weights
LR, DECAY, CLIP = 1e-2, 1e-3, 0.5


def make(case, frames, size, classes, weight):
    torch.manual_seed(9)
    torch.set_default_dtype(torch.float64)
    sizes = dict(filters=2, hidden=8, classes=classes, dropout=0.0)
    model = CNN3D(**sizes)
    with torch.no_grad():
        for p in model.parameters():
            p += 0.1 * torch.randn_like(p)  # so that nothing is zero or one
            p.copy_(p.float())              # what a file of float32 can hold
    n, weight = len(weight), torch.tensor(weight)
    x, y = torch.randint(0, 256, (n, frames, size, size, 1)), torch.arange(n) % 4
    of_class = (0.3 + 0.7 * torch.arange(classes)).float().double()
    out = ["params " + " ".join(f"{k}={v}" for k, v in sizes.items())]
    out += [line("weight", k, p.data) for k, p in model.named_parameters()]
    inputs = (("x", x), ("y", y), ("class_weight", of_class[y]), ("weight", weight))
    out += [line("input", name, value) for name, value in inputs]
    adam = torch.optim.Adam(model.parameters(), LR, weight_decay=DECAY)
    losses, there = [], weight > 0
    for step in range(10):
        adam.zero_grad()
        loss = F.cross_entropy(model(x[there]), y[there], weight=of_class)
        loss.backward()
        if step == 0:
            out += [line("grad", k, p.grad) for k, p in model.named_parameters()]
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        adam.step()
        losses.append(loss.item())
    out.append(line("losses", f"adam,weight_decay={DECAY}", torch.tensor(losses)))
    after = list(model.named_parameters()) + [b for b in model.named_buffers() if "running" in b[0]]
    out += [line("after", k, p.data) for k, p in after]
    (pathlib.Path(__file__).parent / f"cnn3d_{case}.txt").write_text("\n".join(out) + "\n")


if __name__ == "__main__":
    for case, sizes in CASES.items():
        make(case, *sizes)
