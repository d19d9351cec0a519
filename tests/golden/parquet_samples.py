#!/usr/bin/env python3
"""Writes golden/parquet_samples: a table as Parquet files and as CSV with the same values (kinds), and recordings
with transcripts in the columns in which Hugging Face's datasets writes them (speech). pyarrow 26.0.1.

    golden/parquet_samples.py FOLDER"""
import io, json, math, pathlib, random, struct, sys, wave
import pyarrow as pa, pyarrow.parquet as pq

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
r = random.Random(3)

def kinds(n):
    rows = []
    for i in range(n):
        k = r.randrange(3)
        weight = None if i % 40 == 7 else round(1000 * (k == 1) + 400 * r.random(), 2)
        rows.append({"name": f"r{i}", "width": round(k + 0.6 * r.random(), 4), "count": r.randrange(9) + k,
                     "weight": weight, "kind": ["red", "blue", "grey"][k]})
    return rows

SCHEMA = pa.schema([("name", pa.string()), ("width", pa.float64()), ("count", pa.int16()), ("weight", pa.float64()),
                    ("kind", pa.string())])
rows = kinds(240)
def cell(v):
    return "" if v is None else str(v)
(folder / "kinds.csv").write_text(
    "\n".join([",".join(SCHEMA.names)] + [",".join(cell(x[c]) for c in SCHEMA.names) for x in rows]) + "\n")
for part, share in enumerate([rows[:100], rows[100:]]):
    pq.write_table(pa.Table.from_pylist(share, SCHEMA), folder / f"kinds-{part}.parquet", compression="ZSTD",
                   row_group_size=64, data_page_size=256)
tags = pa.table({"width": [1.5, 2.5], "kind": ["a", "b"], "tags": [["x"], []],
                 "price": pa.array([1, 2], pa.decimal128(9, 2))})
pq.write_table(tags, folder / "tags.parquet", compression="NONE")

def recording(seed, rate=8000):
    s = random.Random(seed)
    n = s.randrange(400, 1600)
    tone = s.uniform(200, 1500)
    out = io.BytesIO()
    with wave.open(out, "wb") as w:
        w.setnchannels(1), w.setsampwidth(2), w.setframerate(rate)
        w.writeframes(b"".join(struct.pack("<h", int(9000 * math.sin(tone * i / rate) + s.randrange(-99, 99)))
                               for i in range(n)))
    return out.getvalue()

AUDIO = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
RECORDINGS = pa.schema([("audio", AUDIO), ("sentence", pa.string()), ("speaker", pa.int64())])
def speech(first, n):
    return [{"audio": {"bytes": recording(i), "path": f"u{i:03}.wav"}, "sentence": "ab c"[: 1 + i % 4] + "a",
             "speaker": i % 2} for i in range(first, first + n)]
for part in range(2):
    pq.write_table(pa.Table.from_pylist(speech(8 * part, 8), RECORDINGS), folder / f"speech-{part}.parquet", compression="ZSTD",
                   row_group_size=5, data_page_size=4096, write_batch_size=2)
# One recording; a path alone; no recording, but bytes.
missing = [speech(0, 1)[0], {"audio": {"bytes": None, "path": "u000.wav"}, "sentence": "a", "speaker": 0},
           {"audio": {"bytes": b"RIFF", "path": None}, "sentence": "b", "speaker": 0}]
pq.write_table(pa.Table.from_pylist(missing, RECORDINGS),
               folder / "speech-missing.parquet", compression="ZSTD")

# Gray images of 3 x 2 pixels, PGM: all of 10 times their number, counted over both files. A path that is there
# twice; then an image without bytes, and bytes that are none.
IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
IMAGES = pa.schema([("image", IMAGE), ("label", pa.int64()), ("caption", pa.string()), ("price", pa.float64())])
def pixels(i):
    return b"P5 3 2 255\n" + bytes([10 * i] * 6)
def images(first, n):
    return [{"image": {"bytes": pixels(i), "path": f"{min(i, 7)}.pgm"}, "label": i % 2, "caption": "abc"[: 1 + i % 3],
             "price": i + 0.5} for i in range(first, first + n)]
for part in range(2):
    pq.write_table(pa.Table.from_pylist(images(5 * part, 5), IMAGES), folder / f"images-{part}.parquet", compression="ZSTD",
                   row_group_size=3)
missing = [images(1, 1)[0], {"image": {"bytes": None, "path": "a.png"}, "label": 0, "caption": "b", "price": 1.0},
           {"image": {"bytes": b"P5 3", "path": None}, "label": 1, "caption": "c", "price": 2.0}]
pq.write_table(pa.Table.from_pylist(missing, IMAGES), folder / "images-missing.parquet", compression="NONE")

# Images beside their masks, whose values are 0, 1 or 5 and of one pixel 255, and beside a third column; beside masks,
# and not called image; and beside others, of which none is called image.
MASKS = pa.schema([("mask", IMAGE), ("image", IMAGE), ("depth", IMAGE)])
def mask(i):
    return b"P5 3 2 255\n" + bytes([[0, 1, 5][i % 3]] * 5 + [255])
rows = [{"image": {"bytes": pixels(i), "path": f"{i}.pgm"}, "mask": {"bytes": mask(i), "path": None},
         "depth": {"bytes": b"", "path": None}} for i in range(6)]
pq.write_table(pa.Table.from_pylist(rows, MASKS), folder / "masks.parquet", compression="ZSTD", row_group_size=4)
PHOTOS = pa.schema([("mask", IMAGE), ("photo", IMAGE)])
pq.write_table(pa.Table.from_pylist([{"photo": x["image"], "mask": x["mask"]} for x in rows], PHOTOS),
               folder / "masks-photo.parquet", compression="ZSTD")
TWO = pa.schema([("left", IMAGE), ("right", IMAGE)])
pq.write_table(pa.Table.from_pylist([{"left": x["image"], "right": x["mask"]} for x in rows], TWO),
               folder / "images-two.parquet", compression="ZSTD")

# Numbers that stand for names, as datasets keeps them of a ClassLabel: of images beside texts and a number, of
# recordings, and one that stands for none.
NAMES = ["zebra", "ant", "unused"]
def named(schema):
    features = {"label": {"_type": "ClassLabel", "names": NAMES}, "size": {"dtype": "float64", "_type": "Value"}}
    return schema.with_metadata({"huggingface": json.dumps({"info": {"features": features}})})
SIZES = pa.schema([("image", IMAGE), ("label", pa.int64()), ("text", pa.string()), ("size", pa.float64())])
rows = [{"image": {"bytes": pixels(i), "path": None}, "label": i % 2, "text": "abc"[: 1 + i % 3], "size": float(i)}
        for i in range(6)]
pq.write_table(pa.Table.from_pylist(rows, named(SIZES)), folder / "names.parquet", compression="NONE")
SOUNDS = pa.schema([("audio", AUDIO), ("label", pa.int64())])
sounds = [{"audio": {"bytes": recording(i), "path": None}, "label": i} for i in range(2)]
pq.write_table(pa.Table.from_pylist(sounds, named(SOUNDS)), folder / "names-speech.parquet", compression="ZSTD")
NUMBERS = pa.schema([("size", pa.float64()), ("label", pa.int64())])
pq.write_table(pa.Table.from_pylist([{"size": 1.0, "label": 1}, {"size": 2.0, "label": -1}], named(NUMBERS)),
               folder / "names-none.parquet", compression="NONE")
