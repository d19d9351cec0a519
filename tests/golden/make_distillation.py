#!/usr/bin/env python3
"""Writes distillation_*.txt for tests/compiler/test_torch_models.c: distillation.yaml, a small model of sequences that
learns from labels and from a frozen teacher with running statistics, as make_vit.py writes models: weights and input,
the loss, every gradient, and the losses and weights of ten steps of AdamW with clipping. In double; with PyTorch 2.15.

Lines: `params NAME=VALUE ...`, then `KIND NAME DIMS... : VALUES...`; `teacher NAME=VALUE,... 2 : T WEIGHT` has the
teacher's parameters, the temperature and the weight of the divergence. A weight of a teacher is called teacher.PATH."""
import pathlib
import torch
import torch.nn.functional as F
from make_vit import CLIP, DECAY, LR, line
from torch import nn

CASES = {"warm": (2.0, 0.7, False), "masked": (3.0, 0.4, True)}
N, STEPS, FEATURES, CLASSES = 4, 3, 3, 5


class Net(nn.Module):
    def __init__(self, dim, norm):
        super().__init__()
        self.body = nn.Linear(FEATURES, dim)
        if norm:
            self.norm = nn.BatchNorm1d(dim)
        self.head = nn.Linear(dim, CLASSES)

    def forward(self, x):
        h = self.body(x)
        if hasattr(self, "norm"):
            h = self.norm(h.reshape(-1, h.shape[-1])).reshape(h.shape)
        return self.head(F.gelu(h))


def tensors(net):
    return {k: v for k, v in net.state_dict().items() if not k.endswith("num_batches_tracked")}


def make(case, temperature, share, masked):
    torch.manual_seed(7)
    torch.set_default_dtype(torch.float64)
    student, teacher = Net(4, False), Net(7, True)
    with torch.no_grad():
        for value in [*tensors(student).values(), *tensors(teacher).values()]:
            value += 0.5 * torch.rand_like(value)  # running variances are positive
            value.copy_(value.float())             # what a file of float32 can hold
    teacher.eval().requires_grad_(False)
    x = torch.randn(N, STEPS, FEATURES).float().double()
    labels = torch.randint(0, CLASSES, (N, STEPS))
    labels[0, 2] = labels[2, 1] = labels[2, 2] = -100
    mask = (labels != -100).double() if masked else torch.ones(N, STEPS)
    weight = torch.tensor([1.0, 1.0, 1.0, 0.0])
    out = [f"params dim=4 classes={CLASSES} norm=False", f"teacher dim=7,norm=true 2 : {temperature} {share}"]
    out += [line("weight", k, v) for k, v in tensors(student).items()]
    out += [line("weight", f"teacher.{k}", v) for k, v in tensors(teacher).items()]
    inputs = {"x": x, "labels": labels, "mask": mask, "weight": weight}
    out += [line("input", name, value) for name, value in inputs.items()]
    adamw = torch.optim.AdamW(student.parameters(), LR, weight_decay=DECAY)
    losses = []
    for step in range(10):
        adamw.zero_grad()
        logits = student(x)
        hard = F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=-100, reduction="none").sum(1)
        q, p = F.log_softmax(logits / temperature, -1), F.log_softmax(teacher(x) / temperature, -1)
        soft = (F.kl_div(q, p, reduction="none", log_target=True).sum(-1) * mask).sum(1) / mask.sum(1)
        positions = (labels != -100).sum(1)
        each = (1 - share) * hard + share * temperature**2 * positions * soft
        loss = (each * weight).sum() / (positions * weight).sum()
        loss.backward()
        if step == 0:
            out += [line("grad", k, p.grad) for k, p in student.named_parameters()]
        torch.nn.utils.clip_grad_norm_(student.parameters(), CLIP)
        adamw.step()
        losses.append(loss.item())
    out.append(line("losses", f"adamw,weight_decay={DECAY}", torch.tensor(losses)))
    out += [line("after", k, v) for k, v in tensors(student).items()]
    out += [line("after", f"teacher.{k}", v) for k, v in tensors(teacher).items() if "running" in k]
    (pathlib.Path(__file__).parent / f"distillation_{case}.txt").write_text("\n".join(out) + "\n")


if __name__ == "__main__":
    for case, of in CASES.items():
        make(case, *of)
