#!/usr/bin/env python3
"""What is reachable on the recordings of configs/har/watch.yaml without a network: a logistic regression of statistics
of the windows of watch.npy and watch.csv, of all channels as they are; of all, each from its own least to its own most
value, as in a line plot; and of plots of one channel alone. Needs numpy.

    watch_features.py [FOLDER]     default data/watch"""
import csv
import pathlib
import sys
import numpy as np

WINDOW, STRIDE, STEPS = 256, 128, 3000


def windows(folder):
    values = np.load(folder / "watch.npy").astype(np.float64)
    with open(folder / "watch.csv", newline="", encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    recording = np.array([int(r["recording"]) for r in rows])
    starts = [s for n in np.unique(recording) for first in [np.argmax(recording == n)]
              for s in range(first, first + np.sum(recording == n) - WINDOW + 1, STRIDE)]
    names = sorted({r["exercise"] for r in rows})
    label = np.array([names.index(rows[s]["exercise"]) for s in starts])
    held = np.array([rows[s]["split"] == "validation" for s in starts])
    return np.stack([values[s:s + WINDOW] for s in starts]), label, held


def statistics(x):
    parts = [x.mean(1), x.std(1), x.min(1), x.max(1), np.abs(np.diff(x, axis=1)).mean(1)]
    return np.concatenate(parts + list(np.percentile(x, [25, 50, 75], axis=1)), axis=1)


def spectrum(x):
    return np.abs(np.fft.rfft(x - x.mean(1, keepdims=True), axis=1))[:, 1:17].reshape(len(x), -1)


def regress(name, x, label, held):
    x = (x - x[~held].mean(0)) / (x[~held].std(0) + 1e-9)
    a, y = x[~held], np.eye(label.max() + 1)[label[~held]]
    w, b, mw, mb = np.zeros((x.shape[1], y.shape[1])), np.zeros(y.shape[1]), 0, 0
    for _ in range(STEPS):
        p = np.exp(a @ w + b - (a @ w + b).max(1, keepdims=True))
        d = (p / p.sum(1, keepdims=True) - y) / len(y)
        mw, mb = 0.9 * mw + a.T @ d + 2e-3 * w, 0.9 * mb + d.sum(0)
        w, b = w - 0.05 * mw, b - 0.05 * mb
    guess, true = (x[held] @ w + b).argmax(1), label[held]
    f1 = [2 * np.sum((guess == c) & (true == c)) / (np.sum(guess == c) + np.sum(true == c)) for c in set(true)]
    print(f"{name}: accuracy {np.mean(guess == true):.3f}, macro F1 {np.mean(f1):.3f} on {len(true)} windows")


x, label, held = windows(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "data/watch"))
drawn = (x - x.min(1, keepdims=True)) / (np.ptp(x, axis=1)[:, None] + 1e-9)
one = drawn.transpose(0, 2, 1).reshape(-1, WINDOW, 1)
regress("all channels", statistics(x), label, held)
regress("all channels, each in its own range", np.hstack([statistics(drawn), spectrum(drawn)]), label, held)
regress("one channel in its own range", np.hstack([statistics(one), spectrum(one)]), np.repeat(label, 6), np.repeat(held, 6))
