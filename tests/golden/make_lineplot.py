#!/usr/bin/env python3
"""Writes lineplot.txt for tests/runtime/data/test_series_transforms.c: series, and the plots that NumPy and Pillow
make of them, a blue line of one pixel on white between margins of 5 % of the height. Needs numpy and pillow.

A case is `plot HEIGHT WIDTH VALUES...`, then the rows of the image, '#' where it is blue."""
import pathlib
import numpy as np
from PIL import Image, ImageDraw


def render(series, height, width):
    image = Image.new("RGB", (width, height), "white")
    least, most = series.min(), series.max()
    if most - least < 1e-8:
        part = np.full_like(series, 0.5)
    else:
        part = (series - least) / (most - least)
    margin = int(height * 0.05)
    ys = height - margin - (part * (height - 2 * margin)).astype(int)
    xs = np.linspace(0, width - 1, len(series)).astype(int)
    ImageDraw.Draw(image).line(list(zip(xs.tolist(), ys.tolist())), fill="blue", width=1)
    return np.array(image)


rng = np.random.default_rng(3)
t = np.arange(128)
CASES = [
    (224, 224, np.sin(2 * np.pi * 1.9 * t / 50) + 0.2 * rng.standard_normal(128)),
    (64, 64, np.sin(2 * np.pi * 2.3 * t / 50) + 0.1 * rng.standard_normal(128)),
    (40, 64, np.cumsum(rng.standard_normal(300))),       # several moments in a column
    (48, 90, rng.standard_normal(7)),                    # several columns between moments
    (64, 64, np.full(20, 2.5)),
    (20, 30, np.array([1.0, -1.0])),
    (64, 64, np.exp(rng.standard_normal(100) * 3)),
]
out = []
for height, width, series in CASES:
    series = series.astype(np.float32)
    image = render(series, height, width)
    assert {tuple(p) for p in image.reshape(-1, 3)} <= {(255, 255, 255), (0, 0, 255)}
    out.append(f"plot {height} {width} " + " ".join(f"{v:.9g}" for v in series))
    out += ["".join("#" if p[0] == 0 else "." for p in row) for row in image]
(pathlib.Path(__file__).parent / "lineplot.txt").write_text("\n".join(out) + "\n")
