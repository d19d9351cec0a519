#!/usr/bin/env python3
"""The recipes of docs/recipes.md against the same recipes in PyTorch, from the same weights, on the same data.

    recipes.py GRAPHRUN

Each trains on one batch that has all samples, so that no order of samples counts, and compares the losses of its steps,
or those of its evaluations. Models named *.yaml are the page's. GR_TORCH_PYTHON names a Python that has PyTorch;
without one the test is skipped."""
import csv, json, os, pathlib, re, subprocess, sys, tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = os.environ.get("GR_TORCH_PYTHON", "python3")
if "recipes.again" not in os.environ:
    known = subprocess.run([PYTHON, "-c", "import numpy, torch"], capture_output=True)
    if known.returncode:
        print(f"SKIPPED: no numpy and torch in {PYTHON} (GR_TORCH_PYTHON names another)")
        sys.exit(77)
    sys.exit(subprocess.run([PYTHON, *sys.argv], env=os.environ | {"recipes.again": "1"}).returncode)

import numpy as np
import torch
from torch import nn, optim
from torch.nn import functional as F
from torch.optim import lr_scheduler, swa_utils

GRAPHRUN = pathlib.Path(sys.argv[1]).resolve()
N, D, C, STEPS, NEAR = 64, 6, 3, 8, 2e-6
passed = failed = 0
os.chdir(tempfile.mkdtemp(prefix="graphrun-recipes-"))
for name, text in re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", (ROOT / "docs/recipes.md").read_text(), re.S):
    pathlib.Path(name).write_text(text)


def samples(n, seed):
    r = np.random.RandomState(seed)
    y = r.randint(0, C, n)
    return torch.tensor(r.randn(n, D) + 1.2 * np.eye(D)[y], dtype=torch.float32), torch.tensor(y)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(D, 32), nn.Linear(32, C)

    def forward(self, x):
        return self.head(self.body(x).relu())


X, Y = samples(N, 0)
XV, YV = samples(40, 1)
for name, x, y in (("train", X, Y), ("valid", XV, YV)):
    np.savez(name + ".npz", x=x.numpy(), y=y.numpy().astype(np.int32))
HOOKS = ROOT / "hooks"
CLASSES = "data.table.path=train.npz data.table.eval_path=valid.npz data.table.label=y"


def saved(module, prefixes=("",)):
    states = {p + k: v.detach().numpy() for p in prefixes for k, v in module.state_dict().items()}
    np.savez("initial.npz", **states)


def graphrun(model, keys, data=CLASSES, steps=STEPS):
    """The rows of metrics.jsonl and of evals.jsonl of a run from initial.npz."""
    if not model.endswith(".yaml"):
        pathlib.Path("model.yaml").write_text(model)
        model = "model.yaml"
    out = tempfile.mkdtemp(dir=".")
    every = ["data.source=table", "data.table.normalize=false", "data.validation_fraction=0", "training.batch_size=64",
             "training.optimizer=sgd", "training.lr=0.1", f"training.max_epochs={steps}", "distributed.ranks=1",
             "training.final_train_eval=false", "logging.report=false", "model.init_from=initial.npz"]
    pathlib.Path("run.yaml").write_text(f"model: {{graph: {model}}}\n")
    done = subprocess.run([GRAPHRUN, "run.yaml", f"output.dir={out}", *every, *data.split(), *keys], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr[-1500:])
    read = lambda f: [json.loads(line) for line in (pathlib.Path(out) / f).open()] if (pathlib.Path(out) / f).exists() else []
    return read("metrics.jsonl"), read("evals.jsonl"), read("epochs.jsonl")


def compare(what, got, want):
    global passed, failed
    worst = max((abs(a - b) / max(1, abs(b)) for a, b in zip(got, want)), default=9)
    good = len(got) == len(want) and worst < NEAR
    passed, failed = passed + good, failed + (not good)
    print(f"{'ok  ' if good else 'FAIL'} {what}: {len(got)} of {len(want)} numbers, off by {worst:.1e} at most")
    if not good:
        print("  graphrun", got, "\n  PyTorch ", want)


def torch_losses(module, loss, make, steps=STEPS, before=None, after=None, schedule=None):
    o = make(module)
    scheduler = schedule(o) if schedule else None
    out = []
    for step in range(steps):
        o.zero_grad()
        value = loss(module, step)
        value.backward()
        out.append(value.item())
        if before:
            before(module, step)
        o.step()
        if scheduler and step < steps - 1:
            scheduler.step()
        if after:
            after(module, step)
    return out


SGD = lambda m: optim.SGD(m.parameters(), 0.1)
usual = lambda m, step: F.cross_entropy(m(X), Y)
held_out = lambda m: F.cross_entropy(m(XV), YV).item()


def net():
    torch.manual_seed(3)
    m = Net()
    saved(m)
    return m


def run(what, keys, loss=usual, make=SGD, model="net.yaml", **more):
    """A recipe of the small classifier, by its losses."""
    m = net()
    want = torch_losses(m, loss, make, **more)
    got, _, _ = graphrun(model, keys, steps=more.get("steps", STEPS))
    compare(what, [row["loss"] for row in got], want)


def hook(name, **params):
    return [f"hooks=[{HOOKS / name}.lua]", *(f"hooks_params.{k}={v}" for k, v in params.items())]


# ---- Losses ------------------------------------------------------------------------------

NET = pathlib.Path("net.yaml").read_text()
PLAIN = "  - loss: {cross_entropy: [logits, y]}\n"


def with_loss(nodes, train="loss"):
    return NET.replace(PLAIN, "".join(f"  - {node}\n" for node in nodes)).replace("train: loss", f"train: {train}")


WEIGHTS = "cw: {param: [3], init: [0.5, 1, 3], train: false}"
weights = torch.tensor([0.5, 1, 3])
run("cross-entropy", [])
run("label smoothing", [], lambda m, _: F.cross_entropy(m(X), Y, label_smoothing=0.1),
    model=with_loss(["loss: {cross_entropy: [logits, y], smoothing: 0.1}"]))
run("class weights, smoothed, a class ignored", [],
    lambda m, _: F.cross_entropy(m(X), Y, weights, ignore_index=1, label_smoothing=0.2),
    model=with_loss([WEIGHTS, "loss: {cross_entropy: [logits, y, cw], smoothing: 0.2, ignore_index: 1}"]))
run("class weights, in 5 uneven parts of a batch", ["training.accumulate=5"],
    lambda m, _: F.cross_entropy(m(X), Y, weights), model=with_loss([WEIGHTS, "loss: {cross_entropy: [logits, y, cw]}"]))
run("z-loss", [], lambda m, _: F.cross_entropy(m(X), Y) + 0.01 * m(X).logsumexp(1).square().mean(), model=with_loss(
    ["c, k: {cross_entropy: [logits, y]}", "z: {logsumexp: logits}", "z: {square: z}", "z: {scale: z, by: 0.01}",
     "l: {add: [c, z]}"], "[l, k]"))
tau = torch.tensor([0.1, 0.5, 0.9])
run("quantiles", [], lambda m, _: torch.maximum(tau * (X[:, :1] - m(X)), (tau - 1) * (X[:, :1] - m(X))).mean(), model=with_loss(
    ["t: {slice: x, axis: 1, size: 1}", "tau: {param: [3], init: [0.1, 0.5, 0.9], train: false}", "e: {sub: [t, logits]}",
     "a: {mul: [e, tau]}", "under: {sub: [tau, 1]}", "b: {mul: [e, under]}", "l: {max: [a, b]}", "total, n: {sample_sum: l}"],
    "[total, n]"))
run("ordinal labels", [], lambda m, _: F.binary_cross_entropy_with_logits(m(X)[:, :2], (Y[:, None] > torch.arange(2)).float()),
    model=with_loss(["t: {slice: logits, axis: 1, size: 2}", "f: {cast: y, to: f32}", "f: {reshape: f, shape: [n, 1]}",
                     "k: {param: [2], init: [0, 1], train: false}", "above: {greater: [f, k]}",
                     "loss: {binary_cross_entropy: [t, above]}"]))

# ---- Optimizers, clipping, parts of a model ----------------------------------------------

PARTS = lambda m: [m.body.parameters(), m.head.parameters()]
MATRICES = lambda m: [[p for p in m.parameters() if (p.ndim > 1) == k] for k in (True, False)]
run("Nesterov's momentum", ["training.momentum=0.9", "training.weight_decay=0.1", "training.optimizer_params={nesterov: true}"],
    make=lambda m: optim.SGD(m.parameters(), 0.1, momentum=0.9, nesterov=True, weight_decay=0.1))
run("RMSprop", ["training.optimizer=rmsprop", "training.lr=0.01", "training.momentum=0.9"],
    make=lambda m: optim.RMSprop(m.parameters(), 0.01, momentum=0.9))
for name, lr, kind, params in [
        ("adagrad", 0.1, optim.Adagrad, {"lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.1}),
        ("adadelta", 1.0, optim.Adadelta, {"rho": 0.8, "weight_decay": 0.1}),
        ("adamax", 0.02, optim.Adamax, {"weight_decay": 0.1}),
        ("nadam", 0.02, optim.NAdam, {"weight_decay": 0.1, "momentum_decay": 0.1, "decoupled_weight_decay": True}),
        ("radam", 0.02, optim.RAdam, {"weight_decay": 0.1, "decoupled_weight_decay": True})]:
    text = ", ".join(f"{k}: {str(v).lower()}" for k, v in params.items())
    run(kind.__name__, [f"training.optimizer={name}", f"training.lr={lr}", "training.optimizer_params={%s}" % text],
        make=lambda m: kind(m.parameters(), lr, **params))
run("AdamW without decay of biases", ["training.optimizer=adamw", "training.weight_decay=0.1", "training.decay_biases_and_norms=false"],
    make=lambda m: optim.AdamW([{"params": p, "weight_decay": d} for p, d in zip(MATRICES(m), (0.1, 0))], 0.1))
run("rates by layer", ["training.optimizer=adamw", "training.weight_decay=0.01", "training.groups=[{match: 'body.*', lr_factor: 0.5}]"],
    make=lambda m: optim.AdamW([{"params": p, "lr": lr, "weight_decay": 0.01} for p, lr in zip(PARTS(m), (0.05, 0.1))]))
clip = lambda m, step: nn.utils.clip_grad_norm_(m.parameters(), 0.1)
limit = lambda m, step: nn.utils.clip_grad_value_(m.parameters(), 0.02)
run("clipping by norm", ["training.grad_clip=0.1"], before=clip)
run("clipping by value", ["training.grad_clip_value=0.02"], before=limit)
run("clipping by both", ["training.grad_clip=0.1", "training.grad_clip_value=0.02"],
    before=lambda m, step: (clip(m, step), limit(m, step)))


def frozen(m, step):
    for p in m.body.parameters():
        p.grad = None if step < 3 else p.grad


run("a body that is unfrozen later", ["training.optimizer=adam", "training.lr=0.05", "training.freezable=['body.*']"] +
    hook("unfreeze", unfreeze_epoch=3), make=lambda m: optim.Adam(m.parameters(), 0.05), before=frozen)

# ---- Schedules, averages, stopping -------------------------------------------------------

run("one cycle, with momentum", ["training.momentum=0.9", "training.adjustable=true"] + hook("one_cycle", max_lr=0.3), steps=12,
    make=lambda m: optim.SGD(m.parameters(), 0.3, momentum=0.9), schedule=lambda o: lr_scheduler.OneCycleLR(o, 0.3, total_steps=12))
run("milestones", hook("multi_step", milestones="'2,5'", gamma=0.3), schedule=lambda o: lr_scheduler.MultiStepLR(o, [2, 5], 0.3))
run("polynomial decay", hook("polynomial", power=2), schedule=lambda o: lr_scheduler.PolynomialLR(o, STEPS, 2))


def averages(what, keys, average, since=0):
    m, out = net(), []
    mean = average(m)

    def follow(module, step):
        if step >= since:
            mean.update_parameters(module)
        out.append(held_out(mean.module if step >= since else module))

    torch_losses(m, usual, SGD, after=follow)
    _, got, _ = graphrun("net.yaml", keys)
    compare(what, [row["validation.loss"] for row in got[:STEPS]], out)


def ema(m):
    mean = swa_utils.AveragedModel(m, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.8))
    mean.update_parameters(m)
    return mean


averages("evaluations of EMA weights", ["training.ema_decay=0.8"], ema)
averages("evaluations of SWA weights", ["training.ema_decay=0.8", "training.adjustable=true"] +
         hook("ema", ema_equal="true", ema_start=3), swa_utils.AveragedModel, 3)


def early_stopping(patience=3):
    m, out = net(), []
    o = optim.SGD(m.parameters(), 2.0)
    while not out or len(out) - out.index(min(out)) <= patience:
        o.zero_grad()
        usual(m, 0).backward()
        o.step()
        out.append(held_out(m))
    _, got, _ = graphrun("net.yaml", ["training.lr=2.0"] + hook("early_stop", patience=patience), steps=60)
    compare("early stopping", [row["validation.loss"] for row in got[:len(out)]], out)
    compare("... after as many evaluations", [float(max(row["steps"] for row in got))], [float(len(out))])


early_stopping()

# ---- Models of the page ------------------------------------------------------------------


def mixup():
    """Of two samples, which the batch has in either order; lambda is what the run has drawn."""
    np.savez("two.npz", x=X[:2].numpy(), y=np.array([0, 2], np.int32))
    text = pathlib.Path("mixup.yaml").read_text().replace("    loss: loss\n  eval:", "    loss: loss\n    metrics: {drawn: drawn}\n  eval:")
    text = text.replace("      - p: {one_hot", "      - drawn: {mul: [sample_weight, lambda]}\n      - p: {one_hot")
    m = net()
    got, _, epochs = graphrun(text, [], "data.table.path=two.npz data.table.eval_path=valid.npz data.table.label=y")
    p = F.one_hot(torch.tensor([0, 2]), C).float()
    mixed = lambda x, k: k * x + (1 - k) * x.flip(0)
    drawn = [row["train.drawn"] for row in epochs]
    want = torch_losses(m, lambda m, step: F.cross_entropy(m(mixed(X[:2], drawn[step])), mixed(p, drawn[step])), SGD)
    compare("mixup", [row["loss"] for row in got], want)


def views():
    """The loss of the page's model, on rows of two views, which a layer projects."""
    block = re.search(r"  told:\n(?:    .*\n)+", pathlib.Path("simclr.yaml").read_text())[0]
    model = "inputs: {x: {shape: [n, 2, c]}}\nblocks:\n" + block + "nodes:\n" + "".join(
        f"  - {v}: {{slice: x, axis: 1, from: {k}, size: 1}}\n  - {v}: {{reshape: {v}, shape: [n, c]}}\n"
        f"  - {v}: {{torch_linear: {v}, out: 4, {'name' if k == 0 else 'share'}: head}}\n  - {v}: {{normalize: {v}}}\n"
        for k, v in enumerate("ab")) + ("  - la: {told: [a, b]}\n  - lb: {told: [b, a]}\n  - l: {add: [la, lb]}\n"
                                        "  - l: {scale: l, by: 0.5}\ntrain: l\n")
    pairs = torch.stack([X, X + 0.3 * torch.randn(X.shape, generator=torch.Generator().manual_seed(7))], 1)
    np.savez("pairs.npz", x=pairs.numpy())

    def projection():
        torch.manual_seed(4)
        m = nn.ModuleDict({"head": nn.Linear(D, 4)})
        saved(m)
        return m

    def loss(m, _):
        z = F.normalize(m["head"](torch.cat([pairs[:, 0], pairs[:, 1]])), dim=1)
        s = (z @ z.T / 0.5).fill_diagonal_(float("-inf"))
        return F.cross_entropy(s, (torch.arange(2 * N) + N) % (2 * N))

    m = projection()
    got, _, _ = graphrun(model, [], "data.table.path=pairs.npz")
    compare("two views", [row["loss"] for row in got], torch_losses(m, loss, SGD))
    got, _, _ = graphrun(model, ["training.batch_size=65", "distributed.ranks=3", "distributed.backend=loopback"],
                         "data.table.path=pairs.npz")
    compare("... on 3 ranks, with padding", [row["loss"] for row in got], torch_losses(projection(), loss, SGD))


def state_of(module, name):
    return {name + "." + k: v.detach().numpy() for k, v in module.state_dict().items()}


def follows(m, mean, decay):
    with torch.no_grad():
        for a, w in zip(mean.parameters(), m.parameters()):
            a.lerp_(w, 1 - decay)


TARGET = '''
inputs: {x: {shape: [n, 6]}}
nodes:
  - a: {torch_linear: x, out: 32, name: net.body}
  - a: {relu: a}
  - a: {torch_linear: a, out: 3, name: net.head}
  - x: {neg: x}
  - b: {torch_linear: x, out: 32, share: net.body, weights: WORD}
  - b: {relu: b}
  - b: {torch_linear: b, out: 3, share: net.head, weights: WORD}
  - loss: {mse: [a, b]}
train: loss
'''


def targets(word, decay, keys=(), ranks=""):
    """What follows the weights, or what they are, as a constant."""
    torch.manual_seed(6)
    m, mean = Net(), Net()
    mean.load_state_dict(m.state_dict())
    np.savez("initial.npz", **state_of(m, "net"))
    got, _, _ = graphrun(TARGET.replace("WORD", word), [f"training.ema_decay={decay}", *keys], "data.table.path=train.npz")
    want = torch_losses(m, lambda m, _: F.mse_loss(m(X), mean(-X).detach()), SGD, after=lambda m, _: follows(m, mean, decay))
    compare(f"{word} weights{ranks}", [row["loss"] for row in got], want)


def adversaries():
    """The page's two programs in turn, on noise that the data have, with a gradient penalty of the critic."""
    model = re.sub(r"  - z: {fill.*\n  - z: {sample_normal: z}\n",
                   "  - all: {add: [x, 0]}\n  - z: {slice: all, axis: 1, from: 2, size: 4}\n"
                   "  - x: {slice: all, axis: 1, size: 2}\n", pathlib.Path("gan.yaml").read_text())
    model = model.replace("out: features", "out: 2, layers: 1").replace("predict: {fake: fake}\n", "")
    torch.manual_seed(8)
    critic = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1), nn.Flatten(0))
    generator = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
    names = [(critic[0], "critic.l1"), (critic[2], "critic.l2"), (generator[0], "generator.layers.0"), (generator[2], "generator.out")]
    np.savez("initial.npz", **{k: v for m, name in names for k, v in state_of(m, name).items()})
    x, z = X[:, :2], X[:, 2:]
    zero, one = torch.zeros(N), torch.ones(N)
    bce, want = F.binary_cross_entropy_with_logits, []
    steps = [SGD(critic), SGD(generator)]
    for _ in range(STEPS):
        fake = generator(z).detach().requires_grad_()
        made = critic(fake)
        slope, = torch.autograd.grad(made.sum(), fake, create_graph=True)
        loss = bce(critic(x), one) + bce(made, zero) + (slope.norm(dim=1) - 1).square().mean()
        steps[0].zero_grad(), loss.backward(), steps[0].step()
        want.append(loss.item())
        loss = bce(critic(generator(z)), one)
        steps[1].zero_grad(), loss.backward(), steps[1].step()
        want.append(loss.item())
    got, _, _ = graphrun(model, ["loop=[{over: data, do: [disc, gen]}]"], "data.table.path=train.npz")
    compare("two adversaries, with a gradient penalty", [row.get("disc.loss", row.get("gen.loss")) for row in got], want)


def slopes(what, act, module, nodes="", of=lambda u: u.sum(), ranks=()):
    """A loss of second derivatives of a small network; `nodes` and `of` are what is differentiated of its result u."""
    model = f"""
inputs: {{x: {{shape: [n, 2]}}}}
nodes:
  - h: {{torch_linear: x, out: 32, name: '0'}}
  - h: {{{act}: h}}
  - u: {{torch_linear: h, out: 3, name: '2'}}
{nodes}
  - du: {{gradient: [u, x]}}
  - du: {{square: du}}
  - ddu: {{gradient: [du, x]}}
  - r: {{sub: [ddu, 1]}}
  - r: {{square: r}}
  - r: {{mean: r, axes: [1]}}
train: r
"""
    torch.manual_seed(9)
    m = nn.Sequential(nn.Linear(2, 32), module, nn.Linear(32, 3))
    saved(m)
    x = X[:, :2].clone().requires_grad_()
    np.savez("points.npz", x=x.detach().numpy())

    def loss(m, _):
        du, = torch.autograd.grad(of(m(x)), x, create_graph=True)
        ddu, = torch.autograd.grad(du.square().sum(), x, create_graph=True)
        return (ddu - 1).square().mean()

    got, _, _ = graphrun(model, ["training.lr=0.01", *ranks], "data.table.path=points.npz")
    want = torch_losses(m, loss, lambda m: optim.SGD(m.parameters(), 0.01))
    compare(f"second derivatives, {what}", [row["loss"] for row in got], want)


def recurrent(word, make):
    """How the result of a layer over steps changes with its inputs is the loss."""
    model = f"""
inputs: {{x: {{shape: [n, 6]}}}}
nodes:
  - s: {{reshape: x, shape: [n, 6, 1]}}
  - h: {{{word}: s, hidden: 4, name: rnn}}
  - u: {{sum: h, axes: [1, 2]}}
  - du: {{gradient: [u, x]}}
  - du: {{square: du}}
  - loss: {{mean: du, axes: [1]}}
train: loss
"""
    torch.manual_seed(10)
    m = nn.ModuleDict({"rnn": make(1, 4, batch_first=True)})
    saved(m)
    x = X.clone().requires_grad_()

    def loss(m, _):
        du, = torch.autograd.grad(m["rnn"](x[:, :, None])[0].sum(), x, create_graph=True)
        return du.square().mean()

    got, _, _ = graphrun(model, [], "data.table.path=train.npz")
    compare(f"second derivatives, through {word}", [row["loss"] for row in got], torch_losses(m, loss, SGD))


class Last(nn.Module):
    """A layer of channels first, for values of channels last."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x.movedim(-1, 1)).movedim(1, -1)


class Attention(nn.Module):
    """Of [n, t, c], which is queries, keys and values of one or several heads."""

    def __init__(self, heads, causal=False):
        super().__init__()
        self.heads, self.causal = heads, causal

    def forward(self, x):
        n, t, c = x.shape
        h = x.reshape(n, t, self.heads, -1).transpose(1, 2)
        a = h @ h.transpose(2, 3) / h.shape[-1] ** 0.5
        if self.causal:
            a = a.masked_fill(torch.ones(t, t).triu(1).bool(), -torch.inf)
        return (a.softmax(-1) @ h).transpose(1, 2).reshape(n, t, c)


def penalty(what, nodes, layers, shape=(), keys=()):
    """The cross-entropy of a small network, and how far its slope by the input is from 1, as of a critic. `layers` are
    named as the nodes' weights are."""
    model = f"""
inputs: {{x: {{shape: [n, 6]}}, y: {{shape: [n], dtype: i32}}}}
nodes:
  - h: {{torch_linear: x, out: 16, name: first}}
  - h: {{tanh: h}}
  - h: {{reshape: h, shape: [n, {", ".join(map(str, shape or (16,)))}]}}
{nodes}
  - h: {{reshape: h, shape: [n, -1]}}
  - u: {{torch_linear: h, out: 3, name: last}}
  - loss, count: {{cross_entropy: [u, y], smoothing: 0.1}}
  - du: {{gradient: [loss, x]}}
  - du: {{square: du}}
  - du: {{sum: du, axes: [1]}}
  - du: {{add: [du, 0.01]}}
  - du: {{sqrt: du}}
  - du: {{sub: [du, 1]}}
  - du: {{square: du}}
  - loss: {{add: [loss, du]}}
train: loss
"""
    torch.manual_seed(11)
    inner = nn.Sequential(*layers.values())
    wide = inner(torch.zeros(2, *(shape or (16,)))).flatten(1).shape[1]
    m = nn.ModuleDict({"first": nn.Linear(6, 16), **{name: layer for name, layer in layers.items() if "." not in name}})
    m["last"] = nn.Linear(wide, 3)
    for layer in inner:
        for t in [*layer.parameters()]:
            t.data += 0.1 * torch.randn_like(t)
    np.savez("initial.npz", **{k.replace(".layer.", "."): v.detach().numpy() for k, v in m.state_dict().items()
                               if "num_batches" not in k})

    def loss(m, _):
        x = X.clone().requires_grad_()
        h = inner(m["first"](x).tanh().reshape(N, *(shape or (16,))))
        each = F.cross_entropy(m["last"](h.flatten(1)), Y, reduction="none", label_smoothing=0.1)
        du, = torch.autograd.grad(each.sum(), x, create_graph=True)
        return (each + ((du.square().sum(1) + 0.01).sqrt() - 1).square()).mean()

    want = torch_losses(m, loss, SGD)
    for ranks in (), ("distributed.ranks=2", "distributed.backend=loopback"):
        if not ranks:
            start = {name: np.load("initial.npz")[name] for name in np.load("initial.npz")}
        np.savez("initial.npz", **start)
        got, _, _ = graphrun(model, [*ranks, *keys])
        compare(f"a gradient penalty, through {what}{', on 2 ranks' if ranks else ''}", [row["loss"] for row in got], want)


def penalties():
    relu = "  - h: {relu: h}"
    norm = lambda make, *a, **k: {"norm": Last(make(*a, **k))}
    image = lambda block, make, **more: (f"  - h: {{{block}}}", make, (4, 4, 1), more)
    penalty("cross_entropy", "", {})
    penalty("layer_norm", "  - h: {layer_norm: h, name: norm}\n" + relu, {"norm": nn.LayerNorm(16), "relu": nn.ReLU()})
    penalty("rms_norm", "  - h: {rms_norm: h, name: norm}", {"norm": nn.RMSNorm(16, eps=1e-6)})
    penalty("group_norm", "  - h: {group_norm: h, groups: 2, name: norm}", norm(nn.GroupNorm, 2, 4), (4, 4))
    penalty("instance_norm", "  - h: {instance_norm: h, affine: true, name: norm}", norm(nn.InstanceNorm1d, 4, affine=True), (4, 4))
    penalty("batch_norm", "  - h: {batch_norm: h, name: norm}\n" + relu, {"norm": nn.BatchNorm1d(16), "relu": nn.ReLU()})
    penalty("batch_norm of images", "  - h: {batch_norm: h, name: norm}", norm(nn.BatchNorm2d, 4), (2, 2, 4))
    penalty("running statistics", "  - h: {batch_norm: h, frozen: true, name: norm}", {"norm": nn.BatchNorm1d(16).eval()})
    for word, max_pool, avg_pool, shape in (("1-D", nn.MaxPool1d, nn.AvgPool1d, (8, 2)), ("2-D", nn.MaxPool2d, nn.AvgPool2d, (4, 4, 1)),
                                            ("3-D", nn.MaxPool3d, nn.AvgPool3d, (4, 2, 2, 1))):
        penalty(f"max_pool, {word}", "  - h: {max_pool: h, kernel: 2, stride: 1}", {"pool": Last(max_pool(2, 1))}, shape)
        penalty(f"avg_pool, {word}", "  - h: {avg_pool: h, kernel: 2, stride: 1}", {"pool": Last(avg_pool(2, 1))}, shape)
    for word, attributes, make in (("conv1d", "out: 4, pad: 1", nn.Conv1d(2, 4, 3, padding=1)),
                                   ("conv1d", "out: 4, pad: 2, dilation: 2, groups: 2", nn.Conv1d(2, 4, 3, padding=2, dilation=2, groups=2)),
                                   ("conv_transpose1d", "out: 4, stride: 2, kernel: 3", nn.ConvTranspose1d(2, 4, 3, stride=2))):
        penalty(f"{word} {attributes}", f"  - h: {{{word}: h, {attributes}, name: conv}}", {"conv": Last(make)}, (8, 2))
    penalty("conv2d, by stride 2", "  - h: {conv2d: h, out: 3, stride: 2, pad: 1, name: conv}",
            {"conv": Last(nn.Conv2d(4, 3, 3, stride=2, padding=1))}, (2, 2, 4))
    penalty("conv3d", "  - h: {conv3d: h, out: 3, pad: 1, name: conv}", {"conv": Last(nn.Conv3d(2, 3, 3, padding=1))}, (2, 2, 2, 2))
    heads = "  - q: {{reshape: h, shape: [n, 4, {0}, {1}]}}\n  - h: {{attention: [q, q, q]{2}}}"
    penalty("attention", heads.format(2, 2, ""), {"attention": Attention(2)}, (4, 4))
    penalty("causal attention", heads.format(1, 4, ", causal: true"), {"attention": Attention(1, True)}, (4, 4))


EQUATIONS = (("bij,jk->bik", "n,3,4", "4,5"), ("bqhd,bkhd->bhqk", "n,3,2,4", "n,5,2,4"),
             ("bhqk,bkhd->bqhd", "n,2,3,5", "n,5,2,4"), ("bi,bj->bij", "n,3", "n,4"), ("bi,bi->b", "n,3", "n,3"),
             ("bij->bji", "n,3,4"), ("bij->b", "n,3,4"), ("bij,bjk,bkl->bil", "n,3,4", "n,4,2", "n,2,5"),
             ("bi,ij,bj->b", "n,3", "3,4", "n,4"), ("bii->bi", "n,4,4"), ("bii->b", "n,4,4"), ("bii,ik->bk", "n,4,4", "4,3"),
             ("...ij,...jk->...ik", "n,2,3,4", "n,2,4,5"), ("oi,bti->bto", "5,4", "n,3,4"), ("bchw,oc->bohw", "n,2,3,4", "5,2"),
             ("bij,jk", "n,3,4", "4,5"), ("bti,bi->bt", "n,3,4", "n,1"), ("bij,kj->ikb", "n,3,4", "5,4"), ("bi,b->i", "n,3", "n"))


def equations(ranks=()):
    """Weights are trained through what an equation makes of them, or of values of each sample that they make."""
    got, want = [], []
    np.savez("points.npz", x=X.numpy())
    for equation, *shapes in EQUATIONS:
        r = np.random.RandomState(1)
        sizes = [[N if s == "n" else int(s) for s in shape.split(",")] for shape in shapes]
        each = [shape[0] == "n" for shape in shapes]
        start = {f"w{k}": 0.3 * r.randn(*([D, int(np.prod(size[1:]))] if of_sample else size)).astype(np.float32)
                 for k, (size, of_sample) in enumerate(zip(sizes, each))}
        nodes = []
        for k, (shape, of_sample) in enumerate(zip(shapes, each)):
            nodes += [f"- a: {{param: [{', '.join(map(str, start[f'w{k}'].shape))}], name: w{k}}}"]
            nodes += ["- a: {matmul: [x, a]}", f"- a: {{reshape: a, shape: [{shape}]}}"] if of_sample else []
            nodes += [f"- a{k}: a"]
        weights = [torch.tensor(w, requires_grad=True) for w in start.values()]
        made = lambda: torch.einsum(equation, *((X @ w).reshape(size) if of_sample else w
                                                for w, size, of_sample in zip(weights, sizes, each)))
        loss = lambda _, __: 0.1 * made().square().mean()
        nodes += [f"- y: {{einsum: [{', '.join(f'a{k}' for k in range(len(shapes)))}], equation: '{equation}'}}",
                  "- y: {square: y}", f"- y: {{mean: y, axes: {list(range(made().dim()))}}}", "- y: {scale: y, by: 0.1}"]
        np.savez("initial.npz", **start)
        rows, _, _ = graphrun("inputs: {x: {shape: [n, 6]}}\nnodes:\n" + "".join(f"  {line}\n" for line in nodes) + "train: y\n",
                              ["training.lr=1e-3", *ranks], "data.table.path=points.npz", steps=3)
        got += [row["loss"] for row in rows]
        want += torch_losses(None, loss, lambda _: optim.SGD(weights, 1e-3), steps=3)
    compare(f"{len(EQUATIONS)} equations{' on 2 ranks' if ranks else ''}", got, want)


def missing_labels():
    rows = list(csv.DictReader(open("tasks.csv")))
    table = lambda *names: torch.tensor([[float(row[name] or "nan") for name in names] for row in rows])
    x, y = table("size", "age"), table("price", "years")
    m = nn.ModuleDict({"head": nn.Linear(2, 2)})
    saved(m)
    got, _, _ = graphrun("tasks.yaml", ["training.lr=0.01", "data.table.label=[price,years]", "data.table.label_missing=-1"],
                         "data.table.path=tasks.csv")
    there = ~y.isnan()
    want = torch_losses(m, lambda m, _: (m["head"](x) - y)[there].square().mean(), lambda m: optim.SGD(m.parameters(), 0.01))
    compare("labels that are missing", [row["loss"] for row in got], want)


class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.rnn, self.head = nn.Embedding(256, 16), nn.GRU(16, 16, batch_first=True), nn.Linear(16, 256)

    def forward(self, texts):
        return torch.stack([self.logarithm(torch.tensor(list(text.encode()))[None]) for text in texts])

    def logarithm(self, x):
        logits = self.head(self.rnn(self.embedding(x))[0])[:, :-1]
        return logits.log_softmax(-1).gather(2, x[:, 1:, None]).sum()


def preferences():
    rows = list(csv.DictReader(open("answers.csv")))
    good, bad = ([row[name] for row in rows] for name in ("chosen", "rejected"))
    torch.manual_seed(5)
    m = Language()
    saved(m, ("policy.", "reference."))
    got, _, _ = graphrun("dpo.yaml", ["model.freeze=['reference.*']", "~data.table"],
                         "data.source=texts data.texts.path=answers.csv data.texts.text=chosen data.texts.target=rejected")
    with torch.no_grad():
        before = m(good) - m(bad)
    want = torch_losses(m, lambda m, _: -F.logsigmoid(0.1 * (m(good) - m(bad) - before)).mean(), SGD)
    compare("preferences", [row["loss"] for row in got], want)


mixup()
views()
RANKS = ["training.batch_size=65", "distributed.ranks=3", "distributed.backend=loopback"]
targets("averaged", 0.8)
targets("averaged", 0.8, [*RANKS, "distributed.strategy=zero1"], ", on 3 ranks, zero1")
targets("averaged", 0.8, [*RANKS, "distributed.strategy=fsdp"], ", on 3 ranks, fsdp")
targets("averaged", 0.8, ["training.accumulate=4"], ", in 4 parts")
targets("frozen", 0)
adversaries()
for act, module in (("tanh", nn.Tanh()), ("sigmoid", nn.Sigmoid()), ("silu", nn.SiLU()), ("gelu", nn.GELU()),
                    ("softplus", nn.Softplus())):
    slopes(act, act, module)
slopes("softmax", "tanh", nn.Tanh(), "  - u: {softmax: u}\n  - u: {square: u}", lambda u: u.softmax(1).square().sum())
slopes("log_softmax", "tanh", nn.Tanh(), "  - u: {log_softmax: u}", lambda u: u.log_softmax(1).sum())
recurrent("lstm", nn.LSTM)
recurrent("gru", nn.GRU)
slopes("silu on 3 ranks", "silu", nn.SiLU(), ranks=RANKS)
penalties()
equations()
equations(["distributed.ranks=2", "distributed.backend=loopback"])
missing_labels()
preferences()
print(f"{passed} passed, {failed} failed, 0 skipped")
sys.exit(failed > 0)
