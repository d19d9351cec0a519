#!/usr/bin/env python3
"""Writes schedules.txt: what PyTorch's schedulers do, for tests/runtime/hooks/test_schedules.c, which runs the
scripts in hooks/ of the same parameters.

A case is   case SCRIPT
            param KEY VALUE       of hooks_params
            run KEY VALUE         base_lr, max_epochs, steps_per_epoch, per (steps of one of PyTorch's steps)
            lr NUMBERS            one for each of PyTorch's steps
            end
"""
import pathlib
import torch
from torch.optim import lr_scheduler as S

lines = []


def optimizer(lr):
    return torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=lr)


def rates(o, scheduler, n):
    out = []
    for _ in range(n):
        out.append(o.param_groups[0]["lr"])
        o.step()
        scheduler.step()
    return out


def case(script, params, run, lr):
    lines.append("case " + script)
    lines.extend("param %s %s" % p for p in params.items())
    lines.extend("run %s %s" % p for p in run.items())
    lines.append("lr " + " ".join("%.17g" % v for v in lr))
    lines.append("end")


def units(per, names):
    """The parameters of a unit: warmup -> warmup_steps or warmup_epochs."""
    return {"per": per, **{"%s_%ss" % (k, per): v for k, v in names.items()}}


# ---- Cosine ------------------------------------------------------------------------------------


def warm(o, warmup, after):
    """A warm-up that begins with lr / warmup, as all schedules of graphrun do."""
    first = S.LinearLR(o, start_factor=1 / warmup, total_iters=warmup - 1)
    return S.SequentialLR(o, [first, after], milestones=[warmup])


def cosine(per, warmup, total, low, n):
    o = optimizer(2e-3)
    after = S.CosineAnnealingLR(o, total - warmup, eta_min=low)
    lr = rates(o, warm(o, warmup, after) if warmup > 1 else after, n)
    params = units(per, {"warmup": warmup})
    case("cosine", {**params, "min_lr": low}, {"base_lr": 2e-3, "max_" + per + "s": total, "steps_per_epoch": 3}, lr)


def restarts(per, warmup, t0, mult, low, n):
    o = optimizer(1e-3)
    after = S.CosineAnnealingWarmRestarts(o, t0, T_mult=mult, eta_min=low)
    lr = rates(o, warm(o, warmup, after) if warmup else after, n)
    params = {"per": per, "T_0": t0, "T_mult": mult, "eta_min": low}
    case("cosine_restarts", {**params, **units(per, {"warmup": warmup})}, {"base_lr": 1e-3, "steps_per_epoch": 4}, lr)


cosine("step", 0, 50, 0.0, 50)
cosine("step", 10, 60, 1e-5, 60)
cosine("epoch", 2, 30, 1e-6, 30)
cosine("epoch", 0, 12, 0.0, 12)
restarts("epoch", 0, 10, 2, 1e-6, 100)
restarts("step", 0, 7, 1, 0.0, 40)
restarts("step", 5, 10, 3, 1e-4, 150)
restarts("epoch", 3, 4, 1, 1e-6, 30)

here = pathlib.Path(__file__).parent
(here / "schedules.txt").write_text("\n".join(lines) + "\n")
