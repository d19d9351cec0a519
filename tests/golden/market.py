#!/usr/bin/env python3
"""Writes market.txt: prices of three tickers, and their indicators and turbulence in plain NumPy, for
tests/runtime/data/test_market.c. A line is KIND NAME DIMS... : VALUES."""
import pathlib
import numpy as np

DAYS, TICKERS, PERIOD, WINDOW, TRAIN = 60, 3, 5, 20, 45
rng = np.random.default_rng(7)
lines = []


def put(kind, name, x):
    x = np.asarray(x)
    lines.append("%s %s %s : %s" % (kind, name, " ".join(map(str, x.shape)), " ".join("%.9g" % v for v in x.reshape(-1))))


def rolled(x, f):
    return np.array([f(x[max(0, d + 1 - PERIOD):d + 1]) for d in range(DAYS)])


def smoothed(x, factor):
    y = [x[0]]
    for v in x[1:]:
        y.append((1 - factor) * y[-1] + factor * v)
    return np.array(y)


def indicators(o, h, l, c, v):
    step = np.diff(c, prepend=c[0])
    gain, loss = (smoothed(np.maximum(s * step, 0), 1 / PERIOD) for s in (1, -1))
    typical = (h + l + c) / 3
    spread = rolled(typical, lambda x: np.abs(x - x.mean()).mean())
    up, down = np.diff(h, prepend=h[0]), -np.diff(l, prepend=l[0])
    plus, minus = np.where((up > down) & (up > 0), up, 0), np.where((down > up) & (down > 0), down, 0)
    before = np.concatenate([[np.nan], c[:-1]])
    true_range = np.fmax(h, before) - np.fmin(l, before)
    di = [smoothed(x, 1 / PERIOD) / smoothed(true_range, 1 / PERIOD) for x in (plus, minus)]
    total = di[0] + di[1]
    dx = np.divide(100 * np.abs(di[0] - di[1]), total, out=np.zeros(DAYS), where=total > 0)
    change = np.diff(np.log(c), prepend=np.log(c[0]))
    with np.errstate(invalid="ignore", divide="ignore"):
        return {"price": np.log(c / rolled(c, np.mean)),
                "macd": (smoothed(c, 2 / 13) - smoothed(c, 2 / 27)) / c,
                "rsi": np.where(gain + loss > 0, 100 * gain / (gain + loss), 50),
                "cci": np.where(spread > 0, (typical - rolled(typical, np.mean)) / (0.015 * spread), 0),
                "adx": smoothed(dx, 1 / PERIOD),
                "change": change,
                "volume": np.log(v / rolled(v, np.mean)),
                "volatility": rolled(change, np.std)}


def turbulence(changes):
    out = np.zeros(DAYS)
    for d in range(WINDOW + 1, DAYS):
        past = changes[d - WINDOW:d]
        s = np.cov(past.T)
        s += (1e-6 * np.trace(s) / TICKERS + 1e-18) * np.eye(TICKERS)
        y = changes[d] - past.mean(0)
        out[d] = y @ np.linalg.inv(s) @ y
    return out


columns, changes = [], []
for k in range(TICKERS):
    c = np.round(30 * np.exp(np.cumsum(0.03 * rng.standard_normal(DAYS))), 4)
    o = np.round(c * np.exp(0.01 * rng.standard_normal(DAYS)), 4)
    h = np.round(np.maximum(o, c) * np.exp(0.01 * rng.random(DAYS)), 4)
    l = np.round(np.minimum(o, c) * np.exp(-0.01 * rng.random(DAYS)), 4)
    v = np.floor(1e6 * np.exp(0.4 * rng.standard_normal(DAYS)))
    put("prices", "T%d" % k, np.stack([o, h, l, c, v]))
    changes.append(np.diff(np.log(c), prepend=np.log(c[0])))
    columns.append(np.stack(list(indicators(o, h, l, c, v).values()), 1))
raw = np.concatenate(columns, 1)
mean, deviation = raw[:TRAIN].mean(0), raw[:TRAIN].std(0)
put("table", "features", np.clip((raw - mean) / deviation, -5, 5))
t = turbulence(np.stack(changes, 1))
training = np.sort(t[WINDOW + 1:TRAIN])
put("table", "turbulence", (t / training[int(np.ceil(0.9 * len(training))) - 1])[:, None])
pathlib.Path(__file__).with_name("market.txt").write_text("\n".join(lines) + "\n")
