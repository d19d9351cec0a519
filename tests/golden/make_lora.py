#!/usr/bin/env python3
"""Writes lora_*.txt for tests/compiler/test_torch_models.c: the vision transformers of make_vit.py with adapters of the
library PEFT on their linear layers, as make_vit.py writes them: weights and input, the loss, the gradients of the
adapters, and the losses and adapters of ten steps of AdamW with clipping. In double; with PEFT 0.21 and PyTorch 2.15.

Lines: `params NAME=VALUE ...`, then `KIND NAME DIMS... : VALUES...`; `adapter PATTERN : RANK ALPHA` has the pattern of
the layers and the numbers of the adapters."""
import fnmatch, pathlib, re
import torch
import torch.nn.functional as F
from peft import LoraConfig, get_peft_model
from make_vit import CLIP, DECAY, LR, N, SMOOTHING, line
from vit_torch import ViT

CASES = {
    "attention": ("*.attention.?", 3, 6.0),
    "parts": ("*.{q,up,down,out}", 2, 3.0),
}
SIZE, SIZES = 16, dict(patch=8, dim=8, layers=1, heads=2, mlp=10, head=6, classes=4)


def name_of(parameter):
    """graphrun's name of a parameter of the model with adapters."""
    return parameter.removeprefix("base_model.model.").replace(".base_layer.", ".").replace(".default.", ".")


def make(case, pattern, rank, alpha):
    torch.manual_seed(6)
    torch.set_default_dtype(torch.float64)
    model = ViT(size=SIZE, dropout=0.0, encoder_dropout=0.0, **SIZES)
    start, words, end = re.fullmatch(r"([^{]*)(?:\{(.*)\})?(.*)", pattern).groups()
    patterns = [start + word + end for word in (words or "").split(",")]
    layers = [k for k, m in model.named_modules()
              if isinstance(m, torch.nn.Linear) and any(fnmatch.fnmatch(k, p) for p in patterns)]
    config = LoraConfig(r=rank, lora_alpha=alpha, target_modules=layers)
    model = get_peft_model(model, config, autocast_adapter_dtype=False)
    named = {name_of(k): p for k, p in model.named_parameters()}
    trained = {k: p for k, p in named.items() if p.requires_grad}
    assert len(trained) == 2 * len(layers) and all("lora_" in k for k in trained)
    with torch.no_grad():
        for p in named.values():
            p += 0.2 * torch.randn_like(p)  # so that nothing is zero or one
            p.copy_(p.float())              # what a file of float32 can hold
    x = torch.randint(0, 256, (N, SIZE, SIZE, 3))
    y = torch.arange(N) % SIZES["classes"]
    weight = torch.tensor([1.0, 1.0, 1.0, 0.0])
    params = SIZES | dict(dropout=0.0, encoder_dropout=0.0, attention_dropout=0.0, smoothing=SMOOTHING)
    out = ["params " + " ".join(f"{k}={v}" for k, v in params.items())]
    out += [f"adapter {pattern} 2 : {rank} {alpha}"]
    out += [line("weight", k, p.data) for k, p in named.items()]
    out += [line("input", name, value) for name, value in (("x", x), ("y", y), ("weight", weight))]
    adamw = torch.optim.AdamW(trained.values(), LR, weight_decay=DECAY)
    losses = []
    for step in range(10):
        adamw.zero_grad()
        each = F.cross_entropy(model(x), y, label_smoothing=SMOOTHING, reduction="none")
        loss = (each * weight).sum() / weight.sum()
        loss.backward()
        if step == 0:
            out += [line("grad", k, p.grad) for k, p in trained.items()]
        torch.nn.utils.clip_grad_norm_(trained.values(), CLIP)
        adamw.step()
        losses.append(loss.item())
    out.append(line("losses", f"adamw,weight_decay={DECAY}", torch.tensor(losses)))
    out += [line("after", k, p.data) for k, p in trained.items()]
    (pathlib.Path(__file__).parent / f"lora_{case}.txt").write_text("\n".join(out) + "\n")


if __name__ == "__main__":
    for case, (pattern, rank, alpha) in CASES.items():
        make(case, pattern, rank, alpha)
