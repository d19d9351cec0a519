#!/usr/bin/env python3
"""Writes vit_*.txt for tests/compiler/test_torch_models.c: small vision transformers' weights and input, the
loss with label smoothing and every gradient, and the losses and weights of ten steps of AdamW with clipping.
In double.

Lines: `params NAME=VALUE ...`, then `KIND NAME DIMS... : VALUES...`."""
import pathlib
import torch
import torch.nn.functional as F
from vit_torch import ViT

CASES = {
    "patch8": (16, dict(patch=8, dim=12, layers=2, heads=3, mlp=20, head=10, classes=4)),
    "patch16": (32, dict(patch=16, dim=8, layers=1, heads=2, mlp=16, head=6, classes=6)),
}
N, LR, DECAY, CLIP, SMOOTHING = 4, 1e-2, 0.1, 0.5, 0.1


def line(kind, name, tensor):
    dims = " ".join(map(str, tensor.shape))
    values = " ".join(f"{v:.9g}" for v in tensor.reshape(-1).tolist())
    return f"{kind} {name} {dims} : {values}"


def make(case, size, sizes):
    torch.manual_seed(5)
    torch.set_default_dtype(torch.float64)
    model = ViT(size=size, dropout=0.0, encoder_dropout=0.0, **sizes)
    with torch.no_grad():
        for p in model.parameters():
            p += 0.2 * torch.randn_like(p)  # so that nothing is zero or one
            p.copy_(p.float())              # what a file of float32 can hold
    x = torch.randint(0, 256, (N, size, size, 3))
    y = torch.arange(N) % sizes["classes"]
    weight = torch.tensor([1.0, 1.0, 1.0, 0.0])
    params = sizes | dict(dropout=0.0, encoder_dropout=0.0, attention_dropout=0.0, smoothing=SMOOTHING)
    out = ["params " + " ".join(f"{k}={v}" for k, v in params.items())]
    out += [line("weight", k, p.data) for k, p in model.named_parameters()]
    out += [line("input", name, value) for name, value in (("x", x), ("y", y), ("weight", weight))]
    adamw = torch.optim.AdamW(model.parameters(), LR, weight_decay=DECAY)
    losses = []
    for step in range(10):
        adamw.zero_grad()
        each = F.cross_entropy(model(x), y, label_smoothing=SMOOTHING, reduction="none")
        loss = (each * weight).sum() / weight.sum()
        loss.backward()
        if step == 0:
            out += [line("grad", k, p.grad) for k, p in model.named_parameters()]
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        adamw.step()
        losses.append(loss.item())
    out.append(line("losses", f"adamw,weight_decay={DECAY}", torch.tensor(losses)))
    out += [line("after", k, p.data) for k, p in model.named_parameters()]
    (pathlib.Path(__file__).parent / f"vit_{case}.txt").write_text("\n".join(out) + "\n")


if __name__ == "__main__":
    for case, (size, sizes) in CASES.items():
        make(case, size, sizes)
