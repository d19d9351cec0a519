#!/usr/bin/env python3
"""Writes optim.txt: steps of optimizers that PyTorch 1.13 has not, or that are several ops, for tests/ops/test_optim.c.

nadam is what torch.optim.NAdam of PyTorch 2.0 and later does (Dozat, 2016); lamb is algorithm 2 of You et al., 2020;
lars algorithm 1 of You, Gitman and Ginsburg, 2017, and momentum on vectors; lion is algorithm 2 of Chen et al., "Symbolic discovery of optimization algorithms", 2023; adafactor is
what torch.optim.Adafactor of PyTorch 2.5 does (Shazeer and Stern, 2018, with means for sums); muon is what
torch.optim.Muon of PyTorch 2.9 does, without its rounding to bfloat16, on matrices, and AdamW on vectors.
They are written down here in NumPy, in f64.

A case is   case OPTIMIZER key=value ...
            step N, lr X, scale X
            w TYPE numbers        a weight
            g TYPE numbers        the gradient, which is multiplied by scale
            s NAME TYPE numbers   a state
            W TYPE numbers        what the weight becomes
            S NAME TYPE numbers   what the state becomes
            end
Each case goes on where the one before has stopped, so that states are those of a run.

    python tests/golden/optim.py --torch      compares each step of Adafactor and Muon with that of torch.optim instead, in
                                              f64 (7.7e-16 at most with PyTorch 2.15; PyTorch has no Lion)
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


def muon(w, g, s, t, lr, momentum=0.95, nesterov="true", match_rms=0.0, adamw_lr_factor=1.0, beta1=0.9, beta2=0.999,
         eps=1e-8, weight_decay=0.1):
    if w.ndim < 2:
        lr *= adamw_lr_factor
        m, v = beta1 * s["m"] + (1 - beta1) * g, beta2 * s["v"] + (1 - beta2) * g * g
        step = m / (1 - beta1 ** t) / (np.sqrt(v / (1 - beta2 ** t)) + eps)
        return w * (1 - lr * weight_decay) - lr * step, {"m": m, "v": v}
    m = s["m"] + (1 - momentum) * (g - s["m"])
    x = (g + momentum * (m - g) if nesterov == "true" else m).reshape(len(w), -1)
    rows, columns = x.shape
    x = (x if rows <= columns else x.T) / max(np.sqrt((x * x).sum()), 1e-7)
    for _ in range(5):
        gram = x @ x.T
        x = 3.4445 * x + (-4.775 * gram + 2.0315 * gram @ gram) @ x
    x = (x if rows <= columns else x.T).reshape(w.shape)
    factor = match_rms * math.sqrt(max(rows, columns)) if match_rms else math.sqrt(max(1, rows / columns))
    return w * (1 - lr * weight_decay) - lr * factor * x, {"m": m}


def nadam(w, g, s, t, lr, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.0, momentum_decay=4e-3,
          decoupled_weight_decay="false"):
    mu, ahead = (beta1 * (1 - 0.5 * 0.96 ** (k * momentum_decay)) for k in (t, t + 1))
    if decoupled_weight_decay == "true":
        w = w * (1 - lr * weight_decay)
    else:
        g = g + weight_decay * w
    product = (1 - s["gone"]) * mu
    m, v = beta1 * s["m"] + (1 - beta1) * g, beta2 * s["v"] + (1 - beta2) * g * g
    root = np.sqrt(v / (1 - beta2 ** t)) + eps
    w = w - lr * (1 - mu) / (1 - product) * g / root - lr * ahead / (1 - product * ahead) * m / root
    return w, {"m": m, "v": v, "gone": 1 - product}


def lamb(w, g, s, t, lr, beta1=0.9, beta2=0.999, eps=1e-6, weight_decay=0.0):
    m, v = beta1 * s["m"] + (1 - beta1) * g, beta2 * s["v"] + (1 - beta2) * g * g
    r = m / (1 - beta1 ** t) / (np.sqrt(v / (1 - beta2 ** t)) + eps) + weight_decay * w
    of_w, of_r = np.sqrt((w * w).sum()), np.sqrt((r * r).sum())
    return w - lr * (of_w / of_r if of_w > 0 and of_r > 0 else 1) * r, {"m": m, "v": v}


def lars(w, g, s, t, lr, momentum=0.9, weight_decay=0.0, trust_coefficient=1e-3):
    of_w, of_g = np.sqrt((w * w).sum()), np.sqrt((g * g).sum())
    adapted = w.ndim > 1 and of_w > 0 and of_g > 0
    local = trust_coefficient * of_w / (of_g + weight_decay * of_w) if adapted else 1
    m = momentum * s["m"] + lr * local * (g + weight_decay * w)
    return w - m, {"m": m}


def zeros(name, w):
    if name in ("nadam", "lamb"):
        return {"m": np.zeros_like(w), "v": np.zeros_like(w)} | ({"gone": np.zeros(())} if name == "nadam" else {})
    if name == "muon" and w.ndim < 2:
        return {"m": np.zeros_like(w), "v": np.zeros_like(w)}
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


def compare_muon_with_torch(w, g, s, t, lr, after_w, after, momentum=0.95, nesterov="true", match_rms=0.0, weight_decay=0.1,
                            **adamw):
    """The largest relative difference of the same step by torch.optim.Muon, which does not round to bfloat16 here."""
    import torch
    global worst
    if w.ndim != 2:
        return
    torch.bfloat16 = torch.float64  # what its Newton-Schulz steps are computed in
    p = torch.nn.Parameter(torch.tensor(w))
    p.grad = torch.tensor(g)
    o = torch.optim.Muon([p], lr=lr, momentum=momentum, nesterov=nesterov == "true", weight_decay=weight_decay,
                         adjust_lr_fn="match_rms_adamw" if match_rms else "original")
    o.state[p] = {"momentum_buffer": torch.tensor(s["m"])}
    o.step()
    pairs = [(p.detach().numpy(), after_w), (o.state[p]["momentum_buffer"].numpy(), after["m"])]
    worst = max([worst] + [np.abs(x - y).max() / max(np.abs(y).max(), 1e-30) for x, y in pairs])


def compare_nadam_with_torch(w, g, s, t, lr, after_w, after, beta1=0.9, beta2=0.999, decoupled_weight_decay="false", **params):
    """The largest relative difference of the same step by torch.optim.NAdam."""
    import torch
    global worst
    p = torch.nn.Parameter(torch.tensor(w))
    p.grad = torch.tensor(g)
    o = torch.optim.NAdam([p], lr=lr, betas=(beta1, beta2), decoupled_weight_decay=decoupled_weight_decay == "true", **params)
    o.state[p] = {"step": torch.tensor(float(t - 1)), "exp_avg": torch.tensor(s["m"]), "exp_avg_sq": torch.tensor(s["v"]),
                  "mu_product": torch.tensor(1 - s["gone"])}
    o.step()
    pairs = [(p.detach().numpy(), after_w), (o.state[p]["exp_avg"].numpy(), after["m"]),
             (o.state[p]["exp_avg_sq"].numpy(), after["v"]), (1 - o.state[p]["mu_product"].numpy(), after["gone"])]
    worst = max([worst] + [np.abs(x - y).max() / max(np.abs(y).max(), 1e-30) for x, y in pairs])


def run(name, rule, shape, steps, lr, **params):
    w = f32(rng.standard_normal(shape) * params.pop("size", 1))
    s, lr, scale = zeros(name, w), float(f32(lr)), 0.5
    for step in range(steps):
        g = f32(rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 2))
        w, s = f32(w), {k: f32(v) for k, v in s.items()}
        lines.append(" ".join(["case", name] + ["%s=%s" % p for p in params.items()]))
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
        if name == "muon" and "--torch" in sys.argv:
            compare_muon_with_torch(*before, w, s, **params)
        if name == "nadam" and "--torch" in sys.argv:
            compare_nadam_with_torch(*before, w, s, **params)
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
for shape in (4, 6), (7, 3), (5, 5), (6, 2, 3):
    run("muon", muon, shape, 5, 0.02)
run("muon", muon, (9, 4), 5, 0.5, momentum=0.8, nesterov="false", match_rms=0.2, weight_decay=0.3)
run("muon", muon, (7,), 5, 0.02, adamw_lr_factor=0.5, beta2=0.95, weight_decay=0.3)
run("nadam", nadam, (4, 6), 4, 0.02)
run("nadam", nadam, (7,), 4, 0.02, beta1=0.8, beta2=0.95, eps=1e-3, weight_decay=0.1, momentum_decay=0.5)
run("nadam", nadam, (3, 5), 4, 0.02, weight_decay=0.1, decoupled_weight_decay="true")
for shape in (9,), (4, 6), (2, 3, 5):
    run("lamb", lamb, shape, 3, 0.02, weight_decay=0.1)
    run("lars", lars, shape, 3, 0.1, weight_decay=0.1, trust_coefficient=0.5)
run("lamb", lamb, (4, 6), 2, 0.02, beta1=0.8, beta2=0.95, eps=1e-3, size=0)
run("lars", lars, (4, 6), 2, 0.1, momentum=0.5, size=0)

if "--torch" in sys.argv:
    print("largest relative difference from torch.optim: %.3g" % worst)
    sys.exit(1 if worst > 1e-12 else 0)
pathlib.Path(__file__).with_name("optim.txt").write_text("\n".join(lines) + "\n")
