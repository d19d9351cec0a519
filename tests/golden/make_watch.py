#!/usr/bin/env python3
"""Writes watch.npy for tests/base/watch_data_test.py: a data set with the layout of seglearn's watch_dataset.npy,
four recordings of made-up values, pickled as NumPy does. Needs numpy."""
import pathlib
import pickle
import numpy as np

arrays = [np.asfortranarray(np.arange(n * 3, dtype=np.float64).reshape(n, 3) / 4 - n) for n in (4, 2, 3, 5)]
data = {"X": arrays, "X_labels": ["ax", "ay", "az"], "y_labels": ["LIFT", "ROW"], "y": np.array([0, 1, 1, 0]),
        "subject": np.array([1, 2, 5, 1]), "side": np.array([1.0, 0.0, 1.0, 1.0])}
whole = np.empty((), object)
whole[()] = data
head = repr({"descr": "|O", "fortran_order": False, "shape": ()})
head += " " * (-(10 + len(head) + 1) % 64) + "\n"
out = pathlib.Path(__file__).parent
for protocol in (2, 4):
    raw = b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + pickle.dumps(whole, protocol)
    (out / f"watch{protocol}.npy").write_bytes(raw)
