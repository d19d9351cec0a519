#!/usr/bin/env python3
"""Writes ppo.txt: the blocks of graphs/clstm_ppo.yaml in PyTorch (networks, losses, steps of the optimizer) and NumPy (the
market), for tests/compiler/model/test_blocks.c. The format is that of blocks.py, whose inputs are used, and
            blocks FILE               a model whose params: and blocks: the case has
            text YAML                 a line of the model, instead of node
            adam STEPS                that many steps of Adam: two groups of weights, each with its own limit
            after NAME TYPE numbers   a state after these steps, or after one step
"""
import pathlib
import numpy as np
import torch
import torch.nn.functional as F

N, T, C = 3, 5, 4
rng = np.random.default_rng(5)
lines = []
file = "graphs/clstm_ppo.yaml"


def inputs():
    i = np.arange(N * T * C, dtype=np.float64)
    f = lambda v: torch.tensor(v.astype(np.float32).astype(np.float64))
    x, s = f(np.sin(1 + i[: N * C])).reshape(N, C), f(np.cos(2 + 0.7 * i)).reshape(N, T, C)
    y = f(0.5 + 0.5 * np.sin(3 + 2 * i[: N * C])).reshape(N, C)
    return x, s, y, torch.tensor([(2 * k + 1) % C for k in range(N)])


def text(kind, name, t):
    t = t.detach().numpy() if isinstance(t, torch.Tensor) else np.asarray(t)
    numbers = " ".join("%.9g" % v for v in t.reshape(-1).tolist())
    lines.append("%s %s f32[%s] %s" % (kind, name, ",".join(map(str, t.shape)), numbers))


# ---- Networks and losses ------------------------------------------------------------------------


def parameter(*shape, spread=0.4):
    t = torch.tensor((spread * rng.standard_normal(shape)).astype(np.float32).astype(np.float64))
    return t.requires_grad_()


def linear(w, name, out, inner, bias=True):
    w[name + ".weight"] = parameter(out, inner)
    w[name + ".bias"] = parameter(out)


def lstm(w, name, inner, hidden):
    for kind, width in (("ih", inner), ("hh", hidden)):
        w["%s.weight_%s_l0" % (name, kind)] = parameter(4 * hidden, width)
    for kind in ("ih", "hh"):
        w["%s.bias_%s_l0" % (name, kind)] = parameter(4 * hidden)


def lin(w, name, x):
    return F.linear(x, w[name + ".weight"], w[name + ".bias"])


def run_lstm(w, name, x):
    p = [w["%s.%s_l0" % (name, k)] for k in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    h = torch.zeros(1, x.shape[0], p[1].shape[1], dtype=x.dtype)
    return torch._VF.lstm(x, (h, h), p, True, 1, 0.0, False, False, True)[0]


def clstm_weights(inner, d, layers, actions):
    w = {}
    linear(w, "net.encoder.input_projection", d, inner)
    for k in range(layers):
        at = "net.encoder.layers.%d." % k
        lstm(w, at + "lstm", d, d)
        for part in "qkvo":
            linear(w, at + "attention." + part, d, d)
        w[at + "norm.weight"], w[at + "norm.bias"] = parameter(d), parameter(d)
    for part in ("output_projection.0", "output_projection.1"):
        linear(w, "net.encoder." + part, d, d)
    for part in ("price", "volatility", "volume"):
        linear(w, "net.encoder." + part, 1, d)
    for name, hidden, out in (("encoder.iv", d // 2, 1), ("actor", d, actions), ("critic", d, 1)):
        linear(w, "net.%s.in" % name, hidden, d)
        linear(w, "net.%s.mid" % name, hidden // 2, hidden)
        linear(w, "net.%s.out" % name, out, hidden // 2)
    return w


def head(w, name, x):
    x = F.relu(lin(w, name + ".in", x))
    return lin(w, name + ".out", F.relu(lin(w, name + ".mid", x)))


def clstm(w, x, d, layers, heads):
    h = lin(w, "net.encoder.input_projection", x)
    for k in range(layers):
        at = "net.encoder.layers.%d." % k
        h = run_lstm(w, at + "lstm", h)
        q, key, v = (lin(w, at + "attention." + p, h).unflatten(-1, (heads, -1)).transpose(1, 2) for p in "qkv")
        a = F.scaled_dot_product_attention(q, key, v).transpose(1, 2).flatten(2)
        h = F.layer_norm(h + lin(w, at + "attention.o", a), (d,), w[at + "norm.weight"], w[at + "norm.bias"])
    h = lin(w, "net.encoder.output_projection.1", F.relu(lin(w, "net.encoder.output_projection.0", h[:, -1])))
    forecasts = [lin(w, "net.encoder." + p, h) for p in ("price", "volatility", "volume")]
    forecasts.append(2 * torch.sigmoid(head(w, "net.encoder.iv", h)))
    return head(w, "net.actor", h), head(w, "net.critic", h)[:, 0], torch.cat(forecasts, 1)


def objective(log_prob, old, advantage, value, returns, entropy, clip=0.2, bonus=0.01):
    r = torch.exp(log_prob - old)
    surrogate = -torch.minimum(r * advantage, torch.clamp(r, 1 - clip, 1 + clip) * advantage)
    return (surrogate + 0.5 * (value - returns) ** 2 - bonus * entropy).mean()


def clstm_loss(w, d, layers, heads):
    x, s, y, labels = inputs()
    logits, value, forecasts = clstm(w, s, d, layers, heads)
    p = torch.distributions.Categorical(logits=logits)
    l = objective(p.log_prob(labels), y[:, 0] - 1.8, x[:, 1], value, x[:, 2], p.entropy())
    return l + 0.1 * ((forecasts - y) ** 2).mean()


def paper_weights(inner, d, policy, actions):
    w = {}
    lstm(w, "net.encoder.lstm", inner, d)
    for part in ("in", "mid", "out"):
        linear(w, "net.encoder." + part, d, d)
    for name, out in (("actor", actions), ("critic", 1)):
        lstm(w, "net.%s.lstm" % name, d, policy)
        linear(w, "net.%s.in" % name, policy, policy)
        linear(w, "net.%s.out" % name, out, policy)
    w["net.actor.log_std"] = parameter(actions)
    return w


def paper(w, x):
    h = run_lstm(w, "net.encoder.lstm", x)
    h = torch.tanh(lin(w, "net.encoder.mid", torch.tanh(lin(w, "net.encoder.in", h))))
    h = lin(w, "net.encoder.out", h)
    top = lambda name: lin(w, name + ".out", torch.tanh(lin(w, name + ".in", run_lstm(w, name + ".lstm", h)[:, -1])))
    return torch.tanh(top("net.actor")), w["net.actor.log_std"], top("net.critic")[:, 0]


def paper_loss(w):
    x, s, y, labels = inputs()
    mean, log_std, value = paper(w, s)
    p = torch.distributions.Normal(mean, log_std.exp())
    return objective(p.log_prob(x).sum(-1), y[:, 0] - 5.5, x[:, 1], value, x[:, 2], p.entropy().sum(-1))


HEAD = ["inputs: {x: {shape: [n, c]}, s: {shape: [n, t, c]}, y: {shape: [n, c]}, labels: {shape: [n], dtype: i32}}",
        "nodes:"]


def columns(old):
    return ["- old: {slice: y, axis: 1, from: 0, size: 1}", "- old: {reshape: old, shape: [n]}",
            "- old: {add: [old, %g]}" % old, "- advantage: {slice: x, axis: 1, from: 1, size: 1}",
            "- advantage: {reshape: advantage, shape: [n]}", "- returns: {slice: x, axis: 1, from: 2, size: 1}",
            "- returns: {reshape: returns, shape: [n]}",
            "- loss: {objective: [lp, old, advantage, value, returns, h]}"]


def network(name, model, weights, f, steps=10):
    lines.extend(["case " + name, "blocks " + file] + ["text " + l for l in HEAD])
    lines.extend("text   " + l for l in model)
    lines.append("text train: loss")
    loss = f(weights)
    for k, v in weights.items():
        text("state", k, v)
    lines.append("loss %.9g" % loss.item())
    for k, g in zip(weights, torch.autograd.grad(loss, list(weights.values()))):
        text("grad", k, g)
    lines.append("adam %d" % steps)
    names = {True: [k for k in weights if "encoder" in k], False: [k for k in weights if "encoder" not in k]}
    groups = [[weights[k] for k in names[of]] for of in (True, False)]
    optimizers = [torch.optim.Adam(g, lr=0.01, eps=1e-5) for g in groups]
    clipped = 0
    for _ in range(steps):
        for o in optimizers:
            o.zero_grad()
        f(weights).backward()
        clipped += sum(torch.nn.utils.clip_grad_norm_(g, 0.5).item() > 0.5 for g in groups)
        for o in optimizers:
            o.step()
    assert clipped, clipped
    for k, v in weights.items():
        text("after", k, v)
    lines.append("end")


network("clstm", ["- logits, value, forecasts: {clstm: s, actions: 4, hidden: 8, layers: 3, heads: 2, dropout: 0.0, name: net}",
                  "- lp: {log_prob: [logits, labels]}", "- h: {entropy: logits}"] + columns(-1.8) +
        ["- e: {sub: [forecasts, y]}", "- e: {square: e}", "- e: {mean: e, axes: [1]}", "- e: {scale: e, by: 0.1}",
         "- loss: {add: [loss, e]}"],
        clstm_weights(C, 8, 3, 4), lambda w: clstm_loss(w, 8, 3, 2))
network("paper", ["- mean, log_std, value: {paper: s, actions: 4, hidden: 6, policy: 7, name: net}",
                  "- lp: {normal_log_prob: [x, mean, log_std]}", "- h: {normal_entropy: log_std}"] + columns(-5.5),
        paper_weights(C, 6, 7, 4), paper_loss)

# ---- Advantages ---------------------------------------------------------------------------------

n, t = 3, 7
reward, value, last = (rng.standard_normal(k).astype(np.float32) for k in ((n, t), (n, t), n))
done = (rng.random((n, t)) < 0.3).astype(np.float32)
advantage = np.zeros((n, t))
total, follow = np.zeros(n), last.astype(np.float64)
for k in reversed(range(t)):
    total = reward[:, k] + 0.99 * (1 - done[:, k]) * follow - value[:, k] + 0.99 * 0.95 * (1 - done[:, k]) * total
    advantage[:, k], follow = total, value[:, k].astype(np.float64)
plain = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
lines.extend(["case gae and standardize", "text inputs: {x: {shape: [n, c]}}", "text buffers:"])
for k, shape in (("reward", [n, t]), ("value", [n, t]), ("done", [n, t]), ("last", [n]), ("advantage", [n, t]),
                 ("plain", [n, t])):
    lines.append("text   %s: {shape: %s}" % (k, shape))
lines.extend("text " + l for l in (
    "nodes:", "  - g: {gae: [reward, value, done, last]}", "  - p: {standardize: g}", "  - l: {linear: x, name: l}",
    "  - loss: {sample_sum: l}", "next: {advantage: g, plain: p}", "train: loss"))
for k, v in (("reward", reward), ("value", value), ("done", done), ("last", last)):
    text("state", k, v)
text("after", "advantage", advantage)
text("after", "plain", plain)
lines.append("end")

# ---- The market ---------------------------------------------------------------------------------

f32 = np.float32
ENVS, DAYS, TICKERS, WINDOW, FEATURES, HISTORY, STEPS = 3, 340, 5, 4, 3, 2, 330
COST, MOST, CAPITAL = f32(0.001), f32(100), f32(1)   # the capital is the unit of money


def prices():
    drift = 0.002 * np.sin(np.arange(DAYS) / 30)[:, None]
    moves = drift + 0.02 * rng.standard_normal((DAYS, TICKERS))
    return (0.001 * np.exp(np.cumsum(moves, 0)) * np.linspace(1, 3, TICKERS)).astype(f32)


class Market:
    """The environment in plain NumPy, one account after the other."""

    def __init__(self, close, turbulence):
        self.close, self.turbulence, self.near = close, turbulence, 1.0
        self.cash, self.shares, self.day = CAPITAL, np.zeros(TICKERS, f32), WINDOW + HISTORY - 1
        self.past = [np.array([1] + [0] * TICKERS, f32)] * WINDOW

    def whole(self, x):
        """Towards zero; remembers how near the numbers came to a jump."""
        for v in np.abs(x[x != np.trunc(x)]):
            self.near = min(self.near, abs(v - round(float(v))))
        return np.trunc(x)

    def step(self, action):
        price = self.close[self.day]
        want = self.whole(np.clip(action, f32(-1), f32(1)) * MOST)
        before = self.cash + sum(self.shares * price)
        halt = self.turbulence[self.day] > 1
        for k in range(TICKERS):
            sold = self.shares[k] if halt else min(max(-want[k], f32(0)), self.shares[k])
            self.shares[k] -= sold
            self.cash += sold * price[k] * (1 - COST)
        buy = np.zeros(TICKERS, f32) if halt else np.maximum(want, f32(0))
        need = sum(buy * price) * (1 + COST)
        if need > self.cash:
            buy = buy * (self.cash / need)
        buy = self.whole(buy)
        for k in range(TICKERS):
            self.shares[k] += buy[k]
            self.cash -= buy[k] * price[k] * (1 + COST)
        self.cash = max(self.cash, f32(0))
        self.day += 1
        after = self.cash + sum(self.shares * self.close[self.day])
        self.past = self.past[1:] + [np.concatenate([[self.cash], self.shares * self.close[self.day]]).astype(f32)]
        return f32((after - before) / 2), halt, need > self.cash

    def observation(self, features, history):
        rows = []
        for k in range(WINDOW):
            d = self.day - WINDOW + 1 + k
            row = [self.past[k], features[d]]
            if history:
                row.append((self.close[d - history:d] / self.close[d] - 1).reshape(-1))
            rows.append(np.concatenate(row))
        return np.array(rows)


close = prices()
features = rng.standard_normal((DAYS, FEATURES)).astype(f32)
turbulence = (1.2 * rng.random(DAYS)).astype(f32)
turbulence[::29] = 1.5
actions = np.clip(0.9 * rng.standard_normal((ENVS, STEPS, TICKERS)) + 0.15, -1.5, 1.5).astype(f32)
worlds = [Market(close, turbulence) for _ in range(ENVS)]
rewards, cash, shares = (np.zeros((ENVS, STEPS) + k) for k in ((), (), (TICKERS,)))
halts = limits = 0
for k in range(STEPS):
    for e, m in enumerate(worlds):
        rewards[e, k], halt, limited = m.step(actions[e, k])
        cash[e, k], shares[e, k] = m.cash, m.shares
        halts, limits = halts + halt, limits + limited
assert halts > 100 and limits > 300, (halts, limits)
assert min(m.near for m in worlds) > 1e-6, min(m.near for m in worlds)
seen = np.array([m.observation(features, HISTORY) for m in worlds])
seen = np.concatenate([seen, np.zeros((ENVS, WINDOW, 2))], 2)

lines.extend(["case the market, %d days" % STEPS, "blocks " + file, "text inputs: {x: {shape: [n, c]}}", "text buffers:"])
for k, shape in (("close", [DAYS, TICKERS]), ("features", [DAYS, FEATURES]), ("turbulence", [DAYS, 1]),
                 ("actions", [ENVS, STEPS, TICKERS]), ("cash", [ENVS]), ("shares", [ENVS, TICKERS]),
                 ("past", [ENVS, WINDOW, 1 + TICKERS]), ("day", [ENVS]), ("rewards", [ENVS, STEPS]),
                 ("all_cash", [ENVS, STEPS]), ("all_shares", [ENVS, STEPS, TICKERS]), ("seen", list(seen.shape))):
    lines.append("text   %s: {shape: %s}" % (k, shape))
lines.extend("text " + l for l in """\
nodes:
  - rewards2, cash2, shares2:
      scan:
        over: {actions: 1}
        carry: {cash: cash, shares: shares, past: past, day: day}
        nodes:
          - cash, shares, past, day, reward, value:
              market_step: [cash, shares, past, day, actions, close, turbulence]
              cost: 0.001
              most: 100
              reward_scale: 0.5
        yields: [reward, cash, shares]
        last: {end_cash: cash, end_shares: shares, end_past: past, end_day: day}
  - seen2: {observe: [end_day, end_past, features, close], history: %d, width: %d}
  - l: {linear: x, name: l}
  - loss: {sample_sum: l}
next: {rewards: rewards2, all_cash: cash2, all_shares: shares2, cash: end_cash, shares: end_shares, past: end_past, day: end_day, seen: seen2}
train: loss""".replace("%d", str(HISTORY), 1).replace("%d", str(seen.shape[2]), 1).split("\n"))
past = np.zeros((ENVS, WINDOW, 1 + TICKERS))
past[:, :, 0] = 1
for k, v in (("close", close), ("features", features), ("turbulence", turbulence[:, None]), ("actions", actions),
             ("cash", np.full(ENVS, CAPITAL)), ("shares", np.zeros((ENVS, TICKERS))), ("past", past),
             ("day", np.full(ENVS, WINDOW + HISTORY - 1))):
    text("state", k, v)
for k, v in (("rewards", rewards), ("all_cash", cash), ("all_shares", shares), ("seen", seen)):
    text("after", k, v)
lines.append("end")

pathlib.Path(__file__).with_name("ppo.txt").write_text("\n".join(lines) + "\n")
