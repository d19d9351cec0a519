#!/usr/bin/env python3
"""Writes labels.csv, logits and labels of samples, and labels.txt, what is true of them, for tests/e2e/labels.sh.

labels.csv   s0 .. s3,tags        logits of the labels a, b, c and d, and those that a sample has: "a|c", or none
labels.txt   NAME numbers         the mean binary cross-entropy (BCEWithLogitsLoss of PyTorch), exact matches
                                  (accuracy_score), F1 macro, micro and of each label, as scikit-learn defines them
All numbers are worked out in f64 by definition, and compared with scikit-learn 1.5 to 1.7 and PyTorch 2 where they are
installed. Label d is never given to a sample."""
import pathlib
import numpy as np

N, K = 150, 4
rng = np.random.default_rng(11)
y = (rng.random((N, K)) < [0.5, 0.3, 0.1, 0.2]).astype(float)
x = rng.normal(size=(N, K)).round(3) + 1.5 * y - 0.7
x[:, 3] -= 8
x = np.array([[float("%.3f" % v) for v in row] for row in x])

here = pathlib.Path(__file__)
with open(here.with_name("labels.csv"), "w") as f:
    print("s0,s1,s2,s3,tags", file=f)
    for row, marks in zip(x, y):
        print(",".join("%.3f" % v for v in row) + "," + "|".join("abcd"[k] for k in range(K) if marks[k]), file=f)

given = x > 0
right = (given * y).sum(0)
each = 2 * right / np.maximum(given.sum(0) + y.sum(0), 1)
numbers = {
    "loss": [np.mean(np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0) - x * y)],
    "match": [(given == y).all(1).mean()],
    "macro": [each.mean()],
    "micro": [2 * right.sum() / (given.sum() + y.sum())],
    "f1": each,
}
try:
    import sklearn.metrics as reference
    assert np.isclose(numbers["match"], reference.accuracy_score(y, given))
    assert np.allclose(each, reference.f1_score(y, given, average=None, zero_division=0))
    for average in ("macro", "micro"):
        assert np.isclose(numbers[average], reference.f1_score(y, given, average=average, zero_division=0))
    print("as scikit-learn")
except ImportError:
    print("scikit-learn is not installed")
try:
    import torch
    loss = torch.nn.functional.binary_cross_entropy_with_logits(torch.tensor(x), torch.tensor(y))
    assert np.isclose(numbers["loss"], loss.item())
    print("as PyTorch")
except ImportError:
    print("PyTorch is not installed")
with open(here.with_name("labels.txt"), "w") as f:
    for name, values in numbers.items():
        print(name, *("%.9g" % v for v in values), file=f)
