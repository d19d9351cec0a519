#!/usr/bin/env python3
"""Reads an event file with TensorBoard's own reader and prints step, tag and value of each scalar.

usage: read_events.py FILE...   Exit code 77 (skipped) where TensorBoard is not installed."""
import sys

try:
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
    from tensorboard.util import tensor_util
except ImportError:
    print("TensorBoard is not installed")
    sys.exit(77)

for path in sys.argv[1:]:
    for event in EventFileLoader(path).Load():
        if event.HasField("file_version"):
            print("version", event.file_version)
        for value in event.summary.value:
            scalar = value.simple_value
            if value.HasField("tensor"):  # newer readers turn simple values into tensors
                scalar = tensor_util.make_ndarray(value.tensor).item()
            print(event.step, value.tag, repr(float(scalar)))
