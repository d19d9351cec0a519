#!/usr/bin/env python3
"""Writes ops.txt: every op that PyTorch has a counterpart of, for tests/ops/test_golden.c.

A case is   case OP key=value ...
            x TYPE numbers        an operand
            y TYPE numbers        a result
            w TYPE numbers        what the result is weighted with: loss = sum of y * w
            dx TYPE numbers       the gradient of the loss by an operand; "dx none": zero;
                                  "dx -": it is not asked for
            end
with TYPE as the IR writes it, f32[4,6]. Operands are exact in f32, all else is worked out in f64."""
import math, pathlib
import numpy as np
import torch
import torch.nn.functional as F

torch.manual_seed(1)
rng = np.random.default_rng(1)
lines = []


def normal(*shape):
    return torch.tensor(rng.standard_normal(shape).astype(np.float32).astype(np.float64))


def positive(*shape):
    return torch.tensor((0.2 + rng.random(shape)).astype(np.float32).astype(np.float64))


def ints(values):
    return torch.tensor(values, dtype=torch.int32)


def below(n, *shape):
    return ints(rng.integers(0, n, shape))


def const(value):  # an operand without a gradient
    t = torch.as_tensor(value, dtype=torch.float64)
    t.constant = True
    return t


def text(letter, t):
    t = t.detach()
    kind = "i32" if t.dtype in (torch.int32, torch.int64) else "f32"
    numbers = " ".join("%d" % v if kind == "i32" else "%.9g" % v for v in t.reshape(-1).tolist())
    lines.append("%s %s[%s] %s" % (letter, kind, ",".join(map(str, t.shape)), numbers))


def case(op, attrs, operands, f, grads=True):
    lines.append(" ".join(["case", op] + attrs.split()))
    fixed = [t.dtype == torch.int32 or hasattr(t, "constant") for t in operands]
    operands = [t if t.dtype == torch.int32 else t.float().double() for t in operands]
    x = [t if held else t.clone().requires_grad_() for t, held in zip(operands, fixed)]
    y = f(*x)
    y = list(y) if isinstance(y, (tuple, list)) else [y]
    for t in operands:
        text("x", t)
    loss = 0
    for t in y:
        text("y", t)
        if t.dtype == torch.float64 and grads:
            w = normal(*t.shape)
            text("w", w)
            loss = loss + (t * w).sum()
    wanted = [t for t in x if t.requires_grad]
    if grads and wanted:
        if torch.is_tensor(loss) and loss.requires_grad:
            d = list(torch.autograd.grad(loss, wanted, allow_unused=True))
        else:
            d = [None] * len(wanted)
        for t in x:
            g = d.pop(0) if t.requires_grad else None
            if g is None:
                lines.append("dx none" if t.requires_grad else "dx -")
            else:
                text("dx", g)
    lines.append("end")


# ---- Pointwise -------------------------------------------------------------------------------

a, b = normal(3, 7), normal(3, 7)
for op, f in {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "max": torch.maximum,
              "min": torch.minimum}.items():
    case(op, "", [a, b], f)
case("div", "", [a, positive(3, 7)], torch.div)
case("less", "", [a, b], lambda x, y: (x < y).double())
case("where", "", [const(below(2, 3, 7)), a, b], lambda c, x, y: torch.where(c > 0, x, y))
for op, f in {"neg": torch.neg, "exp": torch.exp, "square": torch.square, "abs": torch.abs,
              "tanh": torch.tanh, "sigmoid": torch.sigmoid, "relu": F.relu, "gelu": F.gelu,
              "silu": F.silu}.items():
    case(op, "", [3 * normal(2, 3, 19)], f)
for op, f in {"sin": torch.sin, "cos": torch.cos, "softplus": F.softplus,
              "stop_gradient": lambda x: x.detach()}.items():
    case(op, "", [3 * normal(2, 3, 19)], f)
case("pow", "exponent=3", [a], lambda x: x**3)
case("pow", "exponent=-1.5", [positive(2, 19)], lambda x: x**-1.5)
case("log", "", [positive(2, 19)], torch.log)
case("sqrt", "", [positive(2, 19)], torch.sqrt)
case("clamp", "low=-0.5 high=0.75", [a], lambda x: x.clamp(-0.5, 0.75))
case("scale", "by=-1.5", [a], lambda x: x * -1.5)
case("add_scalar", "by=0.25", [a], lambda x: x + 0.25)
case("ceil_div", "by=2", [ints([[0, 1, 2], [3, 4, 1001]])],
     lambda x: torch.div(x + 1, 2, rounding_mode="floor").int())
case("cast", "to=i32", [const(torch.tensor([1.0, -2.0, 3.0]))], lambda x: x.int())
case("cast", "to=f32", [ints([1, -2, 3])], lambda x: x.double())

# ---- Shapes, sums, look-ups ------------------------------------------------------------------

m = normal(4, 3, 6)
case("bias_add", "", [m, normal(6)], torch.add)
for op, f in {"sum": torch.sum, "mean": torch.mean, "reduce_max": torch.amax}.items():
    case(op, "axes=[1]", [m], lambda x: f(x, dim=1))
    case(op, "axes=[0,2]", [m], lambda x: f(x, dim=(0, 2)))
case("sum_squares", "", [m], lambda x: (x * x).sum(), grads=False)
for axis in (0, 1, 2):
    case("cumsum", "axis=%d" % axis, [m], lambda x: x.cumsum(axis))
case("cumsum", "axis=1 reverse=true", [m], lambda x: x.flip(1).cumsum(1).flip(1))
case("argmax", "", [const(m.clone())], lambda x: x.argmax(-1).int())
case("top_k", "k=4", [m], lambda x: [x.topk(4).values, x.topk(4).indices.int()])
case("gather", "", [m, below(6, 4, 3, 2)], lambda x, i: x.gather(-1, i.long()))
case("gather", "", [m, ints([[[1, 1, 5]] * 3] * 4)], lambda x, i: x.gather(-1, i.long()))
case("one_hot", "classes=7", [below(7, 4, 3)], lambda i: F.one_hot(i.long(), 7).double())
case("arange", "size=5 start=2 step=-0.5", [], lambda: torch.arange(5).double() * -0.5 + 2)
case("broadcast", "axis=1 size=3", [a], lambda x: x.unsqueeze(1).expand(3, 3, 7))
case("reshape", "shape=[2,2,18]", [m], lambda x: x.reshape(2, 2, 18))
case("transpose", "perm=[2,0,1]", [m], lambda x: x.permute(2, 0, 1))
case("concat", "axis=1", [m, normal(4, 2, 6)], lambda x, y: torch.cat([x, y], 1))
case("slice", "axis=1 from=1 size=2", [m], lambda x: x[:, 1:3])
case("pad", "axis=1 from=1 size=6", [m], lambda x: F.pad(x, (0, 0, 1, 2)))
case("delay", "", [m], lambda x: F.pad(x, (0, 0, 0, 0, 1, 0))[:-1], grads=False)
case("delay", "reverse=true", [m, normal(3, 6)], lambda x, y: torch.cat([x[1:], y[None]]),
     grads=False)
case("select", "index=2", [m], lambda x: x[2])
case("embedding", "", [normal(9, 5), below(9, 4, 3)], lambda t, i: F.embedding(i.long(), t))
lengths = ints([3, 1, 0, 2])
reach = torch.arange(3)[None, :] < lengths[:, None]
case("mask", "", [m, lengths], lambda x, n: x * reach[:, :, None])
case("length_mask", "size=3", [lengths], lambda n: reach.double())
case("fill", "shape=[2,3] value=0.125 dtype=f32", [], lambda: torch.full((2, 3), 0.125).double())

# ---- Products --------------------------------------------------------------------------------

for ta in (0, 1):
    for tb in (0, 1):
        attrs = "ta=%s tb=%s" % (str(ta > 0).lower(), str(tb > 0).lower())
        t = lambda x, yes: x.transpose(-1, -2) if yes else x
        for lead, lead_w in (((), ()), ((2,), ()), ((2, 3), (2, 3)), ((), (2,))):
            x, w = normal(*lead, 5, 4), normal(*lead_w, 4, 7)
            case("matmul", attrs, [t(x, ta).contiguous(), t(w, tb).contiguous()],
                 lambda x, w: t(x, ta) @ t(w, tb))
        case("matmul", attrs + " sum=true",
             [t(normal(3, 5, 4), ta).contiguous(), t(normal(3, 4, 7), tb).contiguous()],
             lambda x, w: (t(x, ta) @ t(w, tb)).sum(0))
case("matmul", "", [normal(9, 70), normal(70, 65)], torch.matmul)
case("matmul", "tb=true", [normal(17, 35), normal(21, 35)], lambda x, w: x @ w.T)
for stride, pad, dilation in ((1, 0, 1), (2, 1, 1), (2, 3, 2)):
    attrs = "stride=%d pad=%d dilation=%d" % (stride, pad, dilation)
    conv = lambda x, w, v=None: F.conv1d(x.transpose(1, 2), w, v, stride, pad, dilation).transpose(1, 2)
    case("conv1d", attrs, [normal(2, 9, 4), normal(5, 4, 3)], conv)
    case("conv1d", attrs, [normal(2, 9, 4), normal(5, 4, 3), normal(5)], conv)

# ---- Rows ------------------------------------------------------------------------------------

case("softmax", "", [5 * a], lambda x: x.softmax(-1))
case("log_softmax", "", [5 * a], lambda x: x.log_softmax(-1))


def masked(causal):
    def f(x, n=None):  # as systems with padding do it: -1e9, so a row of nothing is uniform
        hide = torch.zeros_like(x, dtype=torch.bool)
        if causal:
            hide |= torch.ones(x.shape[-2:], dtype=torch.bool).triu(1)
        if n is not None:
            hide |= torch.arange(x.shape[-1]) >= n.reshape(-1, *[1] * (x.dim() - 1))
            hide |= (n == 0).reshape(-1, *[1] * (x.dim() - 1))
        return x.masked_fill(hide, -1e9).softmax(-1)
    return f


case("softmax", "", [normal(4, 2, 3, 5), ints([5, 1, 0, 3])], masked(False))
case("softmax", "causal=true", [normal(4, 5, 5)], masked(True))
case("softmax", "causal=true", [normal(4, 2, 5, 5), ints([5, 1, 0, 3])], masked(True))
case("layer_norm", "", [normal(3, 4, 37), normal(37), normal(37)],
     lambda x, g, c: F.layer_norm(x, (37,), g, c))
case("layer_norm", "eps=0.01", [normal(5, 8) + 3, normal(8), normal(8)],
     lambda x, g, c: F.layer_norm(x, (8,), g, c, 0.01))

# ---- Losses and metrics: per sample, a sum and a weight ----------------------------------------


def cross_entropy(smoothing, ignore):
    def f(x, y, w=None):
        flat, label = x.reshape(-1, x.shape[-1]), y.reshape(-1).long()
        loss = F.cross_entropy(flat, label, w, reduction="none", ignore_index=ignore,
                               label_smoothing=smoothing).reshape(x.shape[0], -1).sum(1)
        of = torch.ones(x.shape[-1]).double() if w is None else w
        weight = of[label.clamp(min=0)] * (label != ignore)
        return loss, weight.reshape(x.shape[0], -1).sum(1)
    return f


labels = ints([[0, 4, 2], [3, -100, 1], [-100, -100, -100], [4, 4, 0]])
case("cross_entropy", "", [normal(4, 5), below(5, 4)], cross_entropy(0.0, -100))
case("cross_entropy", "", [normal(4, 3, 5), labels], cross_entropy(0.0, -100))
case("cross_entropy", "smoothing=0.1", [normal(4, 3, 5), labels], cross_entropy(0.1, -100))
case("cross_entropy", "smoothing=0.1 ignore_index=4", [normal(4, 3, 5), below(5, 4, 3)],
     cross_entropy(0.1, 4))
weights = const(positive(5))
case("cross_entropy", "", [normal(4, 3, 5), labels, weights], cross_entropy(0.0, -100))
case("cross_entropy", "smoothing=0.2", [normal(4, 3, 5), labels, weights],
     cross_entropy(0.2, -100))
case("mse", "", [normal(4, 3), normal(4, 3)],
     lambda p, t: (((p - t) ** 2).sum(1), const(torch.full((4,), 3.0))))
case("sample_sum", "", [m], lambda x: [x.sum((1, 2)), torch.full((4,), 18.0).double()])
case("accuracy", "", [const(normal(4, 3, 5)), labels],
     lambda x, y: (((x.argmax(-1) == y) & (y >= 0)).sum(1).double(), (y >= 0).sum(1).double()),
     grads=False)


def ctc(blank, normalize, zero_infinity=True):
    def f(x, y, n, u):
        loss = F.ctc_loss(x.log_softmax(-1).transpose(0, 1), y.long(), n.long(), u.long(),
                          blank if blank >= 0 else x.shape[-1] + blank, "none", zero_infinity)
        loss = loss / u.clamp(min=1) if normalize == "target_length" else loss
        return loss, const(torch.ones(len(n)))
    return f


# Fits well; repeats that need a blank; just fits; too long for its frames; empty; short input.
targets = ints([[0, 1, 2, 0], [1, 1, 1, 2], [2, 0, 2, 1], [3, 3, 3, 3], [0, 0, 0, 0], [1, 0, 0, 0]])
frames, symbols = ints([9, 9, 4, 6, 7, 1]), ints([4, 3, 4, 4, 0, 1])
for blank, normalize in ((-1, "target_length"), (4, "none")):
    case("ctc_loss", "blank=%d normalize=%s" % (blank, normalize),
         [2 * normal(6, 9, 5), targets, frames, symbols], ctc(blank, normalize))
case("ctc_loss", "blank=0 normalize=none", [normal(6, 9, 5), ints((targets + 1).tolist()), frames,
                                            symbols], ctc(0, "none"))
case("ctc_loss", "blank=2 normalize=none zero_infinity=false",
     [normal(1, 4, 3), ints([[0, 0, 0]]), ints([4]), ints([3])], ctc(2, "none", False), grads=False)
long_targets = ints([[(7 * i * i + i) % 11 for i in range(40)], [i % 3 for i in range(40)]])
case("ctc_loss", "", [4 * normal(2, 90, 12), long_targets, ints([90, 83]),
                      ints([40, 31])], ctc(-1, "target_length"))


def greedy(blank):
    def f(x, n):
        out, count = torch.zeros(x.shape[:2], dtype=torch.int32), []
        for i, length in enumerate(n.tolist()):
            best = x[i].argmax(-1).tolist()[:length]
            kept = [k for k, before in zip(best, [None] + best) if k != before and k != blank]
            out[i, :len(kept)] = ints(kept)
            count.append(len(kept))
        return out, ints(count)
    return f


case("ctc_greedy", "blank=-1", [const(normal(5, 12, 4)), ints([12, 0, 1, 7, 12])], greedy(3),
     grads=False)
case("ctc_greedy", "blank=0", [const(normal(5, 12, 3)), ints([12, 0, 1, 7, 12])], greedy(0),
     grads=False)


def edits(x, y):
    row = list(range(len(y) + 1))
    for i, p in enumerate(x):
        new = [i + 1]
        for j, q in enumerate(y):
            new.append(min(row[j] + (p != q), row[j + 1] + 1, new[j] + 1))
        row = new
    return row[-1]


def units(symbols, word, space):
    if not word:
        return symbols
    words, now = [], []
    for k in symbols + [space]:
        if k != space:
            now.append(k)
        elif now:
            words.append(tuple(now))
            now = []
    return words


def distance(word, space):
    def f(x, n, y, u):
        pairs = [(units(p[:i], word, space), units(q[:j], word, space)) for p, i, q, j in
                 zip(x.tolist(), n.tolist(), y.tolist(), u.tolist())]
        return [torch.tensor([float(v) for v in z]).double() for z in
                ([edits(p, q) for p, q in pairs], [len(q) for _, q in pairs])]
    return f


hyp, ref = below(3, 6, 14), below(3, 6, 11)
hyp[0, :11] = ref[0]
operands = [hyp, ints([11, 14, 0, 9, 5, 14]), ref, ints([11, 11, 7, 0, 3, 10])]
case("edit_distance", "unit=symbol", operands, distance(False, 0), grads=False)
case("edit_distance", "unit=word space=2", operands, distance(True, 2), grads=False)

# ---- Optimizers: one step from states that PyTorch's own steps left ------------------------------


def optimizer(op, make, names, attrs, steps, ok=1.0, **knobs):
    w = normal(3, 7).requires_grad_()
    z = make([w], **knobs)
    lr, scale = np.float32(knobs["lr"]), 0.5
    for group in z.param_groups:
        group["lr"] = float(lr)
    for step in range(steps + 1):
        g = normal(3, 7)
        w.grad = g * scale
        before = [w.detach().clone()]
        before += [torch.as_tensor(z.state[w].get(k, torch.zeros_like(w))).clone().detach()
                   for k in names]
        for k, t in enumerate(before):  # what the op is given is exact in f32
            t.copy_(t.float().double())
        with torch.no_grad():
            w.copy_(before[0])
            for k, name in enumerate(names):
                if name in z.state[w]:
                    z.state[w][name].copy_(before[1 + k])
        if ok or step < steps:
            z.step()
    after = [w.detach().clone()] + [z.state[w][k].clone().detach() for k in names]
    scalar = lambda v: const(float(v))
    before, g = [const(t) for t in before], const(g)
    if op == "sgd":
        order = [before[0], g, scalar(lr), scalar(scale), scalar(ok)] + before[1:]
    else:
        count = [] if op in ("rmsprop", "adadelta") else [ints(steps)]
        order = [before[0], g] + before[1:] + [scalar(lr)] + count + [scalar(scale), scalar(ok)]
    case(op, attrs, order, lambda *_: after, grads=False)


for steps in (0, 3):
    optimizer("sgd", torch.optim.SGD, [], "weight_decay=0.01", steps, lr=0.1, weight_decay=0.01)
    optimizer("sgd", torch.optim.SGD, ["momentum_buffer"], "momentum=0.9 weight_decay=0.01", steps,
              lr=0.1, momentum=0.9, weight_decay=0.01)
    for op, make in {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}.items():
        optimizer(op, make, ["exp_avg", "exp_avg_sq"], "weight_decay=0.01", steps, lr=1e-3,
                  weight_decay=0.01)
        optimizer(op, make, ["exp_avg", "exp_avg_sq"], "beta1=0.8 beta2=0.95 eps=1e-3", steps,
                  lr=1e-2, betas=(0.8, 0.95), eps=1e-3, weight_decay=0.0)
optimizer("adam", torch.optim.Adam, ["exp_avg", "exp_avg_sq"], "weight_decay=0.01", 2, ok=0.0,
          lr=1e-3, weight_decay=0.01)

# ---- Legendre memory units ---------------------------------------------------------------------

for order, theta in ((1, 5.0), (7, 40.0), (48, 1000.0)):
    n = torch.arange(order).double()
    r = (2 * n + 1) / theta
    i, j = n[:, None], n[None, :]
    full = torch.zeros(order + 1, order + 1).double()
    full[:order, :order] = r[:, None] * torch.where(i < j, -torch.ones(1).double(),
                                                    (-1.0) ** (i - j + 1))
    full[:order, order] = r * (-1.0) ** n
    held = torch.matrix_exp(full)
    attrs = "order=%d theta=%g" % (order, theta)
    case("lmu_memory", attrs, [], lambda: (held[:order, :order], held[:order, order]), grads=False)

# ---- Convolutions over several axes, with groups; pooling --------------------------------------------------


def listed(numbers):
    return "[%s]" % ",".join(map(str, numbers))


first = lambda x: x.movedim(-1, 1)  # channels
last = lambda x: x.movedim(1, -1)
CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}


def conv_cases():
    for shape, w, stride, pad, dilation, groups in (
            ((2, 9, 4), (6, 2, 3), (2,), (1,), (1,), 2),
            ((2, 6, 7, 3), (4, 3, 3, 2), (1, 1), (0, 0), (1, 1), 1),
            ((2, 6, 7, 4), (6, 2, 3, 2), (2, 1), (1, 2), (1, 2), 2),
            ((2, 5, 4, 4), (8, 1, 3, 3), (1, 2), (1, 1), (1, 1), 4),
            ((2, 5, 4, 4), (3, 4, 1, 1), (1, 1), (0, 0), (1, 1), 1),
            ((2, 4, 5, 6, 2), (3, 2, 3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1), 1),
            ((1, 5, 6, 4, 4), (4, 2, 2, 3, 1), (2, 1, 3), (1, 2, 0), (2, 1, 1), 2)):
        attrs = "stride=%s pad=%s dilation=%s groups=%d" % (
            listed(stride), listed(pad), listed(dilation), groups)
        conv = lambda x, w, v=None: last(
            CONV[len(stride)](first(x), w, v, stride, pad, dilation, groups))
        operands = [normal(*shape), normal(*w)]
        case("conv%dd" % len(stride), attrs, operands, conv)
        case("conv%dd" % len(stride), attrs, operands + [normal(w[0])], conv)


def pool_cases():
    maxima = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
    means = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}
    adaptive = {1: F.adaptive_avg_pool1d, 2: F.adaptive_avg_pool2d, 3: F.adaptive_avg_pool3d}
    for shape, kernel, stride, pad in (
            ((2, 9, 3), (2,), (2,), (0,)), ((2, 9, 3), (3,), (1,), (1,)),
            ((2, 6, 7, 3), (3, 2), (2, 2), (1, 0)), ((2, 5, 5, 2), (3, 3), (1, 2), (1, 1)),
            ((2, 4, 5, 6, 2), (1, 2, 3), (1, 2, 2), (0, 1, 1))):
        attrs = "kernel=%s stride=%s pad=%s" % (listed(kernel), listed(stride), listed(pad))
        d = len(kernel)
        case("max_pool", attrs, [normal(*shape)],
             lambda x: last(maxima[d](first(x), kernel, stride, pad)))
        case("max_pool", attrs, [below(3, *shape).float().double()],  # equal elements
             lambda x: last(maxima[d](first(x), kernel, stride, pad)))
        for count in (True, False):
            case("avg_pool", attrs + " count_include_pad=%s" % str(count).lower(),
                 [normal(*shape)],
                 lambda x: last(means[d](first(x), kernel, stride, pad, False, count)))
    for shape, size in (((2, 9, 3), (4,)), ((2, 5, 7, 3), (1, 1)), ((2, 5, 7, 3), (3, 9)),
                        ((2, 3, 4, 5, 2), (1, 1, 1)), ((2, 3, 4, 5, 2), (2, 3, 2))):
        case("adaptive_avg_pool", "size=" + listed(size), [normal(*shape)],
             lambda x: last(adaptive[len(size)](first(x), size)))


conv_cases()
pool_cases()

# ---- Batch norm: statistics of the rows of each group whose weight is 1 ----------------------------


def batch_norm(x, scale, bias, w, groups, eps):
    """y, and the means and variances, which depend on x."""
    y, means, vars = [], [], []
    for part, weight in zip(x.chunk(groups), w.chunk(groups)):
        kept = part[weight > 0].reshape(-1, x.shape[-1])
        mean, var = kept.mean(0), kept.var(0, unbiased=False)
        y.append((part - mean) / torch.sqrt(var + eps) * scale + bias)
        means.append(mean), vars.append(var)
    return torch.cat(y), torch.stack(means), torch.stack(vars)


def batch_norm_cases():
    for shape, groups, eps, left_out in (((6, 5), 1, 1e-5, 0), ((8, 3, 2, 4), 1, 1e-3, 2),
                                         ((8, 4), 2, 1e-5, 0), ((6, 5, 3), 3, 1e-5, 1)):
        c, n = shape[-1], shape[0]
        x, scale, bias = normal(*shape) * 2 + 3, positive(c), normal(c)
        x = x.float().double()
        w = torch.ones(n, dtype=torch.float64)
        w[n - left_out:] = 0
        _, mean, var = batch_norm(x, scale, bias, w, groups, eps)
        rows = math.prod(shape[1:-1])
        count = w.reshape(groups, -1).sum(1, keepdim=True) * rows
        if groups == 1 and not left_out:
            want = F.batch_norm(first(x), None, None, scale, bias, True, 0.1, eps)
            assert torch.allclose(batch_norm(x, scale, bias, w, 1, eps)[0], last(want))
        wide = w.reshape([n] + [1] * (len(shape) - 1))
        sums = (x * wide).reshape(groups, -1, c).sum(1)
        case("channel_sums", "groups=%d" % groups, [const(x.clone()), const(w)],
             lambda x, w: (sums, count), grads=False)
        around = ((x.reshape(groups, -1, *shape[1:]) -
                   mean.float().double().reshape([groups] + [1] * (len(shape) - 1) + [c]))**2 *
                  wide.reshape(groups, -1, *wide.shape[1:])).reshape(groups, -1, c).sum(1)
        case("channel_squares", "groups=%d" % groups, [const(x.clone()), const(w), const(mean)],
             lambda x, w, m: around, grads=False)
        attrs = "eps=%g groups=%d" % (eps, groups)
        case("batch_norm", attrs,
             [x, const(mean), const(var), scale, bias, const(w), const(count)],
             lambda x, m, v, g, b, w, k: batch_norm(x, g, b, w, groups, eps)[0])
        fixed = [const(normal(groups, c)), const(positive(groups, c))]
        spread = lambda t: t.repeat_interleave(n // groups, 0).reshape([n] + [1] *
                                                                       (len(shape) - 2) + [c])
        case("batch_norm", attrs, [x, *fixed, scale, bias],
             lambda x, m, v, g, b: (x - spread(m)) / torch.sqrt(spread(v) + eps) * g + b)


batch_norm_cases()

# ---- Attention: [n, t, h, d], which PyTorch wants as [n, h, t, d] --------------------------------


def attention(causal, scale=None, end=False):
    def f(q, k, v, n=None):
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        seen = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool)
        if causal:
            seen = seen.tril()
        if end:  # the last row sees all keys of the sample, and the first at least one
            keys = torch.full((len(q), 1, 1, 1), k.shape[-2]) if n is None else n.reshape(-1, 1, 1, 1)
            last = keys - q.shape[-2] + torch.arange(q.shape[-2]).reshape(-1, 1)
            seen = torch.arange(k.shape[-2]) <= last.clamp(min=0)
        if n is not None:  # a sample without keys weighs all of them alike, whatever the products
            seen = seen & (torch.arange(k.shape[-2]) < n.reshape(-1, 1, 1, 1))
            seen = seen | (n == 0).reshape(-1, 1, 1, 1)
            q = q * (n > 0).reshape(-1, 1, 1, 1)
        y = F.scaled_dot_product_attention(q, k, v, seen, scale=scale)
        return y.transpose(1, 2)
    return f


case("attention", "", [normal(2, 5, 3, 4), normal(2, 5, 3, 4), normal(2, 5, 3, 4)], attention(False))
case("attention", "causal=true", [normal(2, 5, 3, 4), normal(2, 5, 3, 4), normal(2, 5, 3, 4)],
     lambda q, k, v: F.scaled_dot_product_attention(
         q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True).transpose(1, 2))
case("attention", "scale=0.9", [normal(2, 3, 2, 20), normal(2, 7, 2, 20), normal(2, 7, 2, 18)],
     attention(False, 0.9))
case("attention", "", [normal(4, 3, 2, 4), normal(4, 6, 2, 4), normal(4, 6, 2, 3), ints([6, 0, 1, 4])],
     attention(False))
case("attention", "causal=true",
     [normal(4, 6, 2, 4), normal(4, 5, 2, 4), normal(4, 5, 2, 3), ints([5, 0, 1, 9])], attention(True))
case("attention", "", [normal(2, 3, 2, 4), normal(2, 5, 2, 4), normal(2, 5, 2, 4), ints([5, 2])],
     attention(False), grads=False)

case("matmul_bias", "tb=true relu=true", [normal(3, 5, 4), normal(7, 4), normal(7)],
     lambda x, w, v: F.relu(x @ w.T + v), grads=False)
case("matmul_bias", "ta=true", [normal(4, 5), normal(4, 7), normal(7)], lambda x, w, v: x.T @ w + v,
     grads=False)
case("matmul_bias_grad", "left=true", [normal(2, 5, 3), normal(2, 5, 7)],
     lambda x, y: (x.reshape(-1, 3).T @ y.reshape(-1, 7), x.sum((0, 1))), grads=False)
case("matmul_bias_grad", "", [normal(6, 3), normal(6, 7)], lambda x, y: (x.T @ y, y.sum(0)), grads=False)

# ---- The averages of torch.optim.swa_utils.AveragedModel, in f32 ---------------------------------


def ema_cases():
    from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
    for decay in 0.9, 0.999, 0.3, 0.0:
        torch.manual_seed(7)
        model = torch.nn.Linear(5, 3)
        data, labels = torch.randn(8, 5), torch.randn(8, 3)
        sgd = torch.optim.SGD(model.parameters(), lr=0.5)
        averaged = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(decay))
        averaged.update_parameters(model)  # its first update copies
        for _ in range(3):
            before = averaged.module.weight.detach().clone()
            sgd.zero_grad()
            F.mse_loss(model(data), labels).backward()
            sgd.step()
            averaged.update_parameters(model)
            lines.append("case ema")
            text("x", before)
            text("x", model.weight)
            lines.append("x f64[] %.17g" % decay)
            text("x", torch.ones(()))
            text("y", averaged.module.weight)
            lines.append("end")


ema_cases()

case("attention", "causal=true align=end",
     [normal(4, 3, 2, 4), normal(4, 6, 2, 4), normal(4, 6, 2, 3), ints([6, 0, 2, 4])],
     attention(False, end=True))
case("attention", "causal=true align=end", [normal(2, 2, 2, 4), normal(2, 7, 2, 4), normal(2, 7, 2, 4)],
     attention(False, end=True))

def sinusoids(rows, width):
    half = width // 2
    angle = torch.arange(rows).double()[:, None] * 10000.0 ** (-torch.arange(half).double() / (half - 1))
    return torch.cat([angle.sin(), angle.cos()], 1)

case("init_sinusoids", "shape=[9,8]", [], lambda: sinusoids(9, 8))


def write_slice(x, part, index):
    i = max(0, min(int(index), x.shape[1] - part.shape[1]))
    return torch.cat([x[:, :i], part, x[:, i + part.shape[1]:]], 1)


for index in (0, 3, 9):  # the last as far as it fits
    case("write_slice", "axis=1", [normal(2, 6, 3), normal(2, 2, 3), ints(index)], write_slice,
         grads=False)
case("values", "list=[4,-1,70000]", [], lambda: ints([4, -1, 70000]), grads=False)
case("erf", "", [3 * normal(2, 3, 19)], torch.erf)
case("conv_grad_x", "stride=2 pad=1 size=[6]", [normal(4, 3, 3), normal(2, 3, 4)],
     lambda w, y: F.conv_transpose1d(y.transpose(1, 2), w, stride=2, padding=1, output_padding=1).transpose(1, 2))

rows = lambda i, c: i.long()[..., None].expand(*i.shape, c)
case("gather_rows", "", [normal(2, 3, 5, 4), below(5, 2, 3, 7)], lambda x, i: x.gather(-2, rows(i, 4)))
case("add_rows", "size=6", [normal(4, 7, 3), below(6, 4, 7)],
     lambda x, i: torch.zeros(4, 6, 3).double().scatter_add(-2, rows(i, 3), x))
case("clamp", "low=-0.5 high=0.75", [torch.tensor([-1, -0.5, 0, 0.75, 2]).double()], lambda x: x.clamp(-0.5, 0.75))

case("clip_values", "limit=0.75", [normal(4, 6), const(0.5)], lambda g, scale: (g * scale).clamp(-0.75, 0.75), grads=False)
for steps in (0, 3):
    optimizer("sgd", torch.optim.SGD, ["momentum_buffer"], "momentum=0.9 weight_decay=0.01 nesterov=true", steps, lr=0.1,
              momentum=0.9, weight_decay=0.01, nesterov=True)
    optimizer("rmsprop", torch.optim.RMSprop, ["square_avg"], "alpha=0.9 eps=1e-2 weight_decay=0.01", steps, lr=0.01,
              alpha=0.9, eps=1e-2, weight_decay=0.01)
    optimizer("rmsprop", torch.optim.RMSprop, ["square_avg", "momentum_buffer"], "eps=1e-3 momentum=0.9", steps, lr=0.01,
              eps=1e-3, momentum=0.9)
case("scale_columns", "", [normal(4, 3, 6), normal(6)], torch.mul)
for steps in (0, 3, 9):  # of radam the first five are those of momentum
    optimizer("adagrad", torch.optim.Adagrad, ["sum"], "lr_decay=0.1 weight_decay=0.01 initial_accumulator_value=0.2 eps=1e-3",
              steps, lr=0.1, lr_decay=0.1, weight_decay=0.01, initial_accumulator_value=0.2, eps=1e-3)
    optimizer("adadelta", torch.optim.Adadelta, ["square_avg", "acc_delta"], "rho=0.8 eps=1e-3 weight_decay=0.01", steps, lr=0.5,
              rho=0.8, eps=1e-3, weight_decay=0.01)
    optimizer("adamax", torch.optim.Adamax, ["exp_avg", "exp_inf"], "beta2=0.95 eps=1e-3 weight_decay=0.01", steps, lr=0.01,
              betas=(0.9, 0.95), eps=1e-3, weight_decay=0.01)
    optimizer("radam", torch.optim.RAdam, ["exp_avg", "exp_avg_sq"], "beta2=0.95 eps=1e-3 weight_decay=0.01", steps, lr=0.01,
              betas=(0.9, 0.95), eps=1e-3, weight_decay=0.01)

pathlib.Path(__file__).with_name("ops.txt").write_text("\n".join(lines) + "\n")
