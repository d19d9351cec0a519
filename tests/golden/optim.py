#!/usr/bin/env python3
"""Writes optim.txt: steps of optimizers that PyTorch 1.13 has not, for tests/ops/test_optim.c.

lion is algorithm 2 of Chen et al., "Symbolic discovery of optimization algorithms", 2023; adafactor is
what torch.optim.Adafactor of PyTorch 2.5 does (Shazeer and Stern, 2018, with means for sums). They are
written down here in NumPy, in f64.

A case is   case OPTIMIZER key=value ...
            step N, lr X, scale X
            w TYPE numbers        a weight
            g TYPE numbers        the gradient, which is multiplied by scale
            s NAME TYPE numbers   a state
            W TYPE numbers        what the weight becomes
            S NAME TYPE numbers   what the state becomes
            end
Each case goes on where the one before has stopped, so that states are those of a run.

    python tests/golden/optim.py --torch      compares each Adafactor step with torch.optim.Adafactor instead, in f64
                                              (3.4e-16 at most with PyTorch 2.15; PyTorch has no Lion)
"""
import math, pathlib, sys
import numpy as np

rng = np.random.default_rng(7)
lines = []


def f32(x):  # exact in f32
    return np.asarray(x, dtype=np.float32).astype(np.float64)


def text(head, x):
    x = np.asarray(x)
    numbers = " ".join("%.9g" % v for v in x.reshape(-1))
    lines.append("%s f32[%s] %s" % (head, ",".join(map(str, x.shape)), numbers))


def lion(w, g, s, t, lr, beta1=0.9, beta2=0.99, weight_decay=0.0):
    m = s["m"]
    w = w - lr * (np.sign(beta1 * m + (1 - beta1) * g) + weight_decay * w)
    return w, {"m": beta2 * m + (1 - beta2) * g}


def adafactor(w, g, s, t, lr, beta2_decay=-0.8, eps1=float(np.finfo(np.float32).eps), eps2=1e-3, d=1.0,
              weight_decay=0.0):
    fresh = t ** beta2_decay
    rho = min(lr, 1 / math.sqrt(t))
    alpha = max(eps2, np.sqrt((w * w).mean())) * rho
    w = w * (1 - lr * weight_decay)
    if w.ndim > 1:
        row = s["row"] + fresh * ((g * g).mean(-1) - s["row"])
        col = s["col"] + fresh * ((g * g).mean(-2) - s["col"])
        v = row[..., :, None] * col[..., None, :]
        v = v / np.maximum(row.mean(-1)[..., None, None], eps1)
        after = {"row": row, "col": col}
    else:
        v = s["v"] + fresh * (g * g - s["v"])
        after = {"v": v}
    u = g / np.sqrt(np.maximum(v, eps1 * eps1))
    return w - alpha * u / max(1.0, np.sqrt((u * u).mean()) / d), after


def zeros(name, w):
    if name != "adafactor":
        return {"m": np.zeros_like(w)}
    if w.ndim < 2:
        return {"v": np.zeros_like(w)}
    return {"row": np.zeros(w.shape[:-1]), "col": np.zeros(w.shape[:-2] + w.shape[-1:])}


worst = 0.0


def compare_with_torch(w, g, s, t, lr, after_w, after, beta2_decay=-0.8, eps1=float(np.finfo(np.float32).eps), eps2=1e-3,
                       d=1.0, weight_decay=0.0):
    """The largest difference of the same step by torch.optim.Adafactor, relative to the largest number of a tensor."""
    import torch
    global worst
    p = torch.nn.Parameter(torch.tensor(w, dtype=torch.float64))
    p.grad = torch.tensor(g, dtype=torch.float64)
    o = torch.optim.Adafactor([p], lr=lr, beta2_decay=beta2_decay, eps=(eps1, eps2), d=d, weight_decay=weight_decay)
    o.state[p] = {"step": torch.tensor(float(t - 1))}
    names = {"row": ("row_var", -1), "col": ("col_var", -2), "v": ("variance", None)}
    for k, v in s.items():
        v = v if names[k][1] is None else np.expand_dims(v, names[k][1])
        o.state[p][names[k][0]] = torch.tensor(v, dtype=torch.float64)
    o.step()
    pairs = [(p.detach().numpy(), after_w)] + [(o.state[p][names[k][0]].numpy().reshape(v.shape), v) for k, v in after.items()]
    worst = max([worst] + [np.abs(x - y).max() / max(np.abs(y).max(), 1e-30) for x, y in pairs])


def run(name, rule, shape, steps, lr, **params):
    w = f32(rng.standard_normal(shape))
    s, lr, scale = zeros(name, w), float(f32(lr)), 0.5
    for step in range(steps):
        g = f32(rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 2))
        w, s = f32(w), {k: f32(v) for k, v in s.items()}
        lines.append(" ".join(["case", name] + ["%s=%r" % p for p in params.items()]))
        lines.append("step %d" % step)
        lines.append("lr %.9g" % lr)
        lines.append("scale %.9g" % scale)
        text("w", w)
        text("g", g)
        for k, v in s.items():
            text("s " + k, v)
        before = w, g * scale, s, step + 1, lr
        w, s = rule(*before, **params)
        if name == "adafactor" and "--torch" in sys.argv:
            compare_with_torch(*before, w, s, **params)
        text("W", w)
        for k, v in s.items():
            text("S " + k, v)
        lines.append("end")


run("lion", lion, (3, 7), 2, 1e-3)
run("lion", lion, (5,), 3, 1e-2, beta1=0.8, beta2=0.95, weight_decay=0.1)
for shape in (), (9,), (4, 6), (2, 3, 5):
    run("adafactor", adafactor, shape, 3, 1e-2)
run("adafactor", adafactor, (6, 4), 3, 0.5, beta2_decay=-0.5, eps1=1e-3, eps2=0.1, d=2.0, weight_decay=0.1)
run("adafactor", adafactor, (7,), 3, 0.5, beta2_decay=-0.5, eps1=1e-2, eps2=0.1, d=1.5, weight_decay=0.1)

if "--torch" in sys.argv:
    print("largest relative difference from torch.optim.Adafactor: %.3g" % worst)
    sys.exit(1 if worst > 1e-12 else 0)
pathlib.Path(__file__).with_name("optim.txt").write_text("\n".join(lines) + "\n")
