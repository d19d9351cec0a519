#!/usr/bin/env python3
"""Writes metrics.csv, scores and labels of samples, and metrics.txt, what is true of them, for
tests/e2e/metrics.sh.

metrics.csv   s0 .. s4,score,label   scores of five classes, a score from 0 to 1, and the class
metrics.txt   NAME numbers           as scikit-learn defines them (zero_division=0): labels are those that
                                     occur among y or the outputs. AUC: the probability that a sample of a
                                     class above 1 has a larger score than one of the others, ties half
Class 4 never occurs but is the output of some samples, class 3 is never the output. All numbers are worked out in f64 by definition, and compared with
scikit-learn where it is installed."""
import pathlib
import numpy as np

N, K = 700, 5
rng = np.random.default_rng(7)
y = rng.choice(K, size=N, p=[0.62, 0.2, 0.1, 0.08, 0])
x = rng.normal(size=(N, K)).round(3)
x[np.arange(N), y] += 1.5
x[:, 3] -= 9
x[:, 4] -= 1
score = (np.floor(np.clip(rng.normal(0.4 + 0.1 * (y > 1), 0.15), 0, 0.999) * 100) + 0.5) / 100

here = pathlib.Path(__file__)
with open(here.with_name("metrics.csv"), "w") as f:
    print(",".join("s%d" % k for k in range(K)) + ",score,label", file=f)
    for row, s, c in zip(x, score, y):
        print(",".join("%.3f" % v for v in row) + ",%.3f,%d" % (s, c), file=f)

x = np.array([[float("%.3f" % v) for v in row] for row in x])
out = x.argmax(1)
tables, numbers = {}, {}
tables["confusion"] = [[int(((y == i) & (out == k)).sum()) for k in range(K)] for i in range(K)]
precision, recall, f1 = [], [], []
for k in range(K):
    right, given, is_k = ((y == k) & (out == k)).sum(), (out == k).sum(), (y == k).sum()
    precision.append(right / given if given else 0.0)
    recall.append(right / is_k if is_k else 0.0)
    f1.append(2 * right / (given + is_k) if given + is_k else 0.0)
iou = lambda k: ((y == k) & (out == k)).sum() / max(1, ((y == k) | (out == k)).sum())
tables |= {"iou": [iou(k) for k in range(K)], "precision": precision, "recall": recall, "f1": f1}
occur = sorted(set(y) | set(out))
for name, v in (("precision", precision), ("recall", recall), ("f1", f1)):
    numbers[name + "_macro"] = np.mean([v[k] for k in occur])
    numbers[name + "_weighted"] = sum(v[k] * (y == k).sum() for k in occur) / N
    numbers[name + "_micro"] = (y == out).mean()
numbers["mean_iou"] = np.mean([iou(k) for k in occur])
numbers["balanced_accuracy"] = np.mean([recall[k] for k in sorted(set(y))])
try:
    import sklearn.metrics as reference
    assert np.isclose(numbers["balanced_accuracy"], reference.balanced_accuracy_score(y, out))
    assert np.isclose(numbers["mean_iou"], reference.jaccard_score(y, out, average="macro"))
    for name in ("precision", "recall", "f1"):
        for average in ("macro", "weighted", "micro"):
            score_of = getattr(reference, name + "_score")
            assert np.isclose(numbers[name + "_" + average],
                              score_of(y, out, average=average, zero_division=0)), (name, average)
except ImportError:
    print("metrics.py: scikit-learn is not installed, nothing is compared with it")
pairs = score[y > 1][:, None] - score[y <= 1][None, :]
numbers["auc"] = ((pairs > 0) + 0.5 * (pairs == 0)).mean()
numbers["perplexity"] = np.exp(np.mean(
    np.log(np.exp(x - x.max(1, keepdims=True)).sum(1)) - (x - x.max(1, keepdims=True))[np.arange(N), y]))
tables["mean"] = x.mean(0)

with open(here.with_name("metrics.txt"), "w") as f:
    for name, v in numbers.items():
        print(name, "%.9g" % v, file=f)
    for name, v in tables.items():
        print(name, " ".join("%.9g" % n for n in np.ravel(v)), file=f)
