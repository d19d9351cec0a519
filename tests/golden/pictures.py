#!/usr/bin/env python3
"""Writes pictures.txt for tests/runtime/data/test_image.c: small files of images, and the bytes that Pillow makes of
them, decoded whole and scaled by its bilinear filter: of every kind and depth of pixels. Needs numpy and pillow before 13,
which scales columns first where that takes less, and so rounds other values.

A case is `RESIZE COLOR HEIGHT WIDTH`, the file and the result in hexadecimal digits."""
import io, pathlib, struct, zlib
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


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(height, width, depth, kind, seed, extra=b""):
    """Values at random, of pixels that Pillow writes none of, too."""
    bits = width * depth * {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[kind]
    rows = np.random.default_rng(seed).integers(0, 256, (height, (bits + 7) // 8), dtype="u1")
    rows = zlib.compress(b"".join(b"\0" + r.tobytes() for r in rows))
    head = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + extra + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def ink(seed):
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (4, 5, 4), dtype="u1"), "CMYK").resize((20, 16))


def without_adobe(data):
    start = data.index(b"\xff\xee")
    return data[:start] + data[start + 2 + struct.unpack(">H", data[start + 2 : start + 4])[0] :]


turned = Image.Exif()
turned[0x112] = 6  # of orientation, which convert() does not follow
palette = lambda n: chunk(b"PLTE", np.random.default_rng(n).bytes(3 * n))
alpha = lambda n: chunk(b"tRNS", np.random.default_rng(n + 1).bytes(n))
PIXELS = [
    png(9, 8, 8, 6, 10),
    png(9, 8, 8, 4, 11),
    png(9, 8, 16, 6, 12),
    png(9, 8, 16, 4, 13),
    png(9, 8, 8, 3, 14, palette(256) + alpha(200)),
    png(9, 8, 4, 3, 15, palette(16) + alpha(5)),
    png(9, 8, 2, 3, 16, palette(3)),  # beyond the palette is black
    png(9, 8, 8, 0, 17, chunk(b"tRNS", struct.pack(">H", 77))),
    png(9, 8, 1, 0, 18, chunk(b"tRNS", struct.pack(">H", 1))),
    png(9, 8, 4, 0, 19),
    png(9, 8, 16, 2, 20),
    png(1, 2, 8, 2, 21, chunk(b"tRNS", struct.pack(">3H", *np.random.default_rng(21).integers(0, 256, 6, dtype="u1")[:3]))),
    file_of(ink(22), format="JPEG", quality=90),
    without_adobe(file_of(ink(23), format="JPEG", quality=90)),
]
JPEG = {"format": "JPEG", "quality": 70}
CASES = [
    ("stretch", "rgb", 7, 9, file_of(scene(61, 83, 1), subsampling=2, **JPEG)),  # 8 times as many a side
    ("stretch", "rgb", 9, 20, file_of(scene(37, 83, 2), subsampling=1, progressive=True, **JPEG)),  # 4 times
    ("cover", "rgb", 8, 8, file_of(scene(33, 70, 3), subsampling=0, **JPEG)),
    ("stretch", "gray", 6, 8, file_of(scene(51, 49, 4), subsampling=2, **JPEG)),
    ("stretch", "gray", 5, 5, file_of(scene(40, 40, 5).convert("L"), **JPEG)),
    ("stretch", "rgb", 21, 13, file_of(scene(9, 7, 6), subsampling=2, **JPEG)),  # larger
    ("stretch", "rgb", 5, 11, file_of(scene(30, 30, 7).quantize(16), format="PNG")),
    ("stretch", "rgb", 6, 4, file_of(scene(16, 24, 8), exif=turned, **JPEG)),
]
CASES += [("stretch", color, 6, 5, data) for data in PIXELS for color in ("rgb", "gray", "rgba")]
CASES += [("stretch", "rgba", 9, 8, PIXELS[0]), ("cover", "rgba", 12, 3, PIXELS[0])]
SQUARE = png(16, 16, 8, 6, 24)  # of which a part is taken whose borders are no numbers of 24 bits
CASES += [("cover", color, *size, SQUARE) for color in ("rgb", "rgba") for size in ((20, 13), (13, 20), (7, 11))]
out = [f"# Made by pictures.py with Pillow {__version__}"]
for how, color, height, width, data in CASES:
    image = Image.open(io.BytesIO(data)).convert({"rgb": "RGB", "gray": "L", "rgba": "RGBA"}[color])
    fit = ImageOps.fit if how == "cover" else Image.Image.resize
    result = fit(image, (width, height), Image.BILINEAR)
    out.append(f"{how} {color} {height} {width} {data.hex()} {result.tobytes().hex()}")
# Masks: the values themselves, by the nearest.
MASKS = [png(16, 16, 1, 3, 25, palette(2)), png(37, 29, 4, 3, 26, palette(16)), png(61, 83, 2, 3, 27, palette(4) + alpha(3))]
for how, height, width in (("stretch", 7, 9), ("cover", 8, 5), ("cover", 20, 13), ("stretch", 41, 90), ("cover", 7, 11)):
    for data in MASKS:
        fit = ImageOps.fit if how == "cover" else Image.Image.resize
        result = np.asarray(fit(Image.open(io.BytesIO(data)), (width, height), Image.NEAREST))
        out.append(f"{how} mask {height} {width} {data.hex()} {result.tobytes().hex()}")
(pathlib.Path(__file__).parent / "pictures.txt").write_text("\n".join(out) + "\n")
