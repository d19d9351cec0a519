#!/usr/bin/env python3
"""Writes schedules.txt: what the schedulers of PyTorch and Transformers do, for tests/runtime/hooks/test_schedules.c,
which runs the scripts in hooks/ of the same parameters. Made with PyTorch 2.15 and Transformers 5.24.

A case is   case SCRIPT
            param KEY VALUE       of hooks_params
            run KEY VALUE         base_lr, max_epochs, steps_per_epoch, per (steps of one of PyTorch's steps)
            lr NUMBERS            one for each of PyTorch's steps
            momentum NUMBERS      the same
            metric NUMBERS        of the evaluation after each step
            end
"""
import pathlib
import torch
from torch.optim import lr_scheduler as S
from transformers import TrainingArguments, get_scheduler

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


def case(script, params, run, lr, **more):
    lines.append("case " + script)
    lines.extend("param %s %s" % (k, str(v).lower() if v is True else v) for k, v in params.items())
    lines.extend("run %s %s" % p for p in run.items())
    for name, values in {"lr": lr, **more}.items():
        lines.append(name + " " + " ".join("%.17g" % v for v in values))
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

# ---- Powers and milestones ----------------------------------------------------------------------


def polynomial(per, warmup, hold, total, power, n):
    o = optimizer(2e-3)
    parts, ends = [S.PolynomialLR(o, total - warmup - hold, power)], []
    if hold:
        parts, ends = [S.ConstantLR(o, 1, 1)] + parts, [hold]
    after = S.SequentialLR(o, parts, milestones=ends) if hold else parts[0]
    lr = rates(o, after, n - warmup)
    lr = [2e-3 * (s + 1) / warmup for s in range(warmup)] + lr
    params = {"per": per, "power": power, **units(per, {"warmup": warmup, "hold": hold})}
    case("polynomial", params, {"base_lr": 2e-3, "max_" + per + "s": total, "steps_per_epoch": 3}, lr)


def multi_step(per, milestones, gamma, n):
    o = optimizer(0.1)
    lr = rates(o, S.MultiStepLR(o, milestones, gamma), n)
    case("multi_step", {"per": per, "milestones": ",".join(map(str, milestones)), "gamma": gamma},
         {"base_lr": 0.1, "steps_per_epoch": 4}, lr)


polynomial("step", 0, 0, 30, 1, 35)
polynomial("epoch", 0, 0, 12, 2.0, 14)
polynomial("step", 5, 0, 40, 0.5, 40)
polynomial("step", 4, 20, 40, 1, 42)
multi_step("epoch", [3, 6, 8], 0.1, 12)
multi_step("step", [5], 0.5, 10)

# ---- One cycle and plateaus ---------------------------------------------------------------------


def one_cycle(n, **params):
    o = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1, momentum=0.9)
    scheduler = S.OneCycleLR(o, max_lr=0.1, total_steps=n, **params)
    lr, momentum = [], []
    for i in range(n):
        lr.append(o.param_groups[0]["lr"])
        momentum.append(o.param_groups[0]["momentum"])
        o.step()
        if i < n - 1:
            scheduler.step()
    case("one_cycle", params, {"base_lr": 0.1, "max_steps": n}, lr, momentum=momentum)


def plateau(seed, n, **params):
    o = optimizer(0.5)
    scheduler = S.ReduceLROnPlateau(o, **params)
    g = torch.Generator().manual_seed(seed)
    sign = -1 if params.get("mode") == "max" else 1
    values = [sign * (2 / (1 + 0.3 * i) + 0.3 * torch.rand(1, generator=g).item()) + 3 for i in range(n)]
    lr = []
    for v in values:
        lr.append(o.param_groups[0]["lr"])
        o.step()
        scheduler.step(v)
    case("reduce_on_plateau", params, {"base_lr": 0.5}, lr, metric=values)


one_cycle(40)
one_cycle(50, pct_start=0.2, anneal_strategy="linear", div_factor=10.0, final_div_factor=100.0)
one_cycle(60, three_phase=True, pct_start=0.25, base_momentum=0.8, max_momentum=0.9)
plateau(1, 60)
plateau(2, 60, patience=2, factor=0.5, cooldown=3, threshold=0.01)
plateau(3, 60, mode="max", patience=1, threshold_mode="abs", threshold=0.05, min_lr=0.01)
plateau(4, 40, patience=0, factor=0.3, eps=0.01)

# ---- Transformers -------------------------------------------------------------------------------


def transformers(schedule, steps, warmup, lr=3e-4):
    """warmup: steps, or below 1 a share of all."""
    o = optimizer(lr)
    first = TrainingArguments("none", warmup_steps=warmup).get_warmup_steps(steps)
    out = rates(o, get_scheduler(schedule, o, num_warmup_steps=first, num_training_steps=steps), steps)
    name = "warmup_ratio" if 0 < warmup < 1 else "warmup_steps"
    case("transformers", {"schedule": schedule, name: warmup}, {"base_lr": lr, "max_steps": steps}, out)


for name in "linear", "cosine", "constant_with_warmup":
    transformers(name, 20, 0)
    transformers(name, 37, 9)
    transformers(name, 25, 0.13)
    transformers(name, 10, 30)
transformers("constant", 12, 0)

here = pathlib.Path(__file__).parent
(here / "schedules.txt").write_text("\n".join(lines) + "\n")
