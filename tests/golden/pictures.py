#!/usr/bin/env python3
"""Writes pictures.txt for tests/runtime/data/test_image.c: small files of images, and the bytes that Pillow makes of
them, decoded whole and scaled by its bilinear filter. Needs numpy and pillow.

A case is `RESIZE COLOR HEIGHT WIDTH`, the file and the result in hexadecimal digits."""
import io, pathlib
import numpy as np
from PIL import Image, ImageOps, __version__


def scene(height, width, seed):
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    wave = lambda: 128 + 90 * np.sin(x * rng.uniform(0.05, 0.4) + y * rng.uniform(-0.3, 0.3) + rng.uniform(0, 6))
    image = np.stack([wave() for _ in range(3)], -1)
    image[height // 3 : height // 2, width // 4 : width // 2] = rng.uniform(0, 255, 3)
    return Image.fromarray(image.clip(0, 255).astype("u1"))


def file_of(image, **options):
    out = io.BytesIO()
    image.save(out, **options)
    return out.getvalue()


JPEG = {"format": "JPEG", "quality": 70}
CASES = [
    ("stretch", "rgb", 7, 9, file_of(scene(61, 83, 1), subsampling=2, **JPEG)),  # 8 times as many a side
    ("stretch", "rgb", 9, 20, file_of(scene(37, 83, 2), subsampling=1, progressive=True, **JPEG)),  # 4 times
    ("cover", "rgb", 8, 8, file_of(scene(33, 70, 3), subsampling=0, **JPEG)),
    ("stretch", "gray", 6, 8, file_of(scene(51, 49, 4), subsampling=2, **JPEG)),
    ("stretch", "gray", 5, 5, file_of(scene(40, 40, 5).convert("L"), **JPEG)),
    ("stretch", "rgb", 21, 13, file_of(scene(9, 7, 6), subsampling=2, **JPEG)),  # larger
    ("stretch", "rgb", 5, 11, file_of(scene(30, 30, 7).quantize(16), format="PNG")),
]
out = [f"# Made by pictures.py with Pillow {__version__}"]
for how, color, height, width, data in CASES:
    image = Image.open(io.BytesIO(data)).convert({"rgb": "RGB", "gray": "L"}[color])
    fit = ImageOps.fit if how == "cover" else Image.Image.resize
    result = fit(image, (width, height), Image.BILINEAR)
    out.append(f"{how} {color} {height} {width} {data.hex()} {result.tobytes().hex()}")
(pathlib.Path(__file__).parent / "pictures.txt").write_text("\n".join(out) + "\n")
