#!/usr/bin/env python3
"""Writes Parquet files over types, encodings, compressions, versions of pages, missing values, structs and
sizes of row groups, and beside each NAME.parquet what it has: NAME.txt, a line for each column and a line for
each row, values as test_parquet.c prints them. The files are those of pyarrow 26.0.1.

    golden/parquet.py FOLDER N      N files that FOLDER is filled with: 0 to N - 1
    golden/parquet.py FOLDER        the committed ones, golden/parquet"""
import pathlib, random, struct, sys
import pyarrow as pa, pyarrow.parquet as pq

CODECS = ["NONE", "SNAPPY", "GZIP", "ZSTD"]
COMMITTED = list(range(10))

def texts(r, n, most):
    words = ["", "a", "le chat", "Straße", "\u6f22\u5b57", "x" * 40, "path/to/file_", "na\u00efve \U0001f600"]
    common = r.choice(["", "common/prefix/"])
    return [common + r.choice(words) + str(r.randrange(most)) for _ in range(n)]

def numbers(r, n, bits, signed):
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    way = r.randrange(4)
    if way == 0:
        return [r.randint(low, high) for _ in range(n)]
    if way == 1:
        return [r.choice([low, high, 0, 1]) for _ in range(n)]
    if way == 2:
        return [7] * n
    return [i * 3 % 100 for i in range(n)]

def values(r, kind, n):
    """The values of a column, and its type."""
    if kind in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
        return numbers(r, n, int(kind.lstrip("uint")), kind[0] == "i"), getattr(pa, kind)()
    if kind == "float16":
        return [struct.unpack("e", struct.pack("e", r.uniform(-99, 99)))[0] for _ in range(n)], pa.float16()
    if kind == "float32":
        return [struct.unpack("f", struct.pack("f", r.uniform(-1e9, 1e9)))[0] for _ in range(n)], pa.float32()
    if kind == "float64":
        return [r.choice([r.uniform(-1e300, 1e300), 0.1, -0.0, 1e-310]) for _ in range(n)], pa.float64()
    if kind == "bool":
        return [r.random() < r.choice([0.5, 0.02]) for _ in range(n)], pa.bool_()
    if kind == "string":
        return texts(r, n, r.choice([3, 1000])), pa.string()
    if kind == "binary":
        return [r.randbytes(r.randrange(r.choice([2, 60]))) for _ in range(n)], pa.binary()
    if kind == "fixed":
        return [r.randbytes(5) for _ in range(n)], pa.binary(5)
    if kind == "timestamp":
        return [r.randrange(1 << 40) for _ in range(n)], pa.timestamp("ms")
    assert kind == "date"
    return [r.randrange(20000) for _ in range(n)], pa.date32()

ENCODINGS = {
    "int": ["PLAIN", "DELTA_BINARY_PACKED", "DICTIONARY", "BYTE_STREAM_SPLIT"],
    "float": ["PLAIN", "DICTIONARY", "BYTE_STREAM_SPLIT"],
    "bool": ["PLAIN", "RLE"],
    "string": ["PLAIN", "DICTIONARY", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"],
    "fixed": ["PLAIN", "DICTIONARY", "DELTA_BYTE_ARRAY"],
}
def class_of(kind):
    if kind.startswith(("int", "uint")) or kind in ("timestamp", "date"):
        return "int"
    return "float" if kind.startswith("float") else "string" if kind == "binary" else kind

KINDS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
         "bool", "string", "binary", "fixed", "timestamp", "date"]

def with_missing(r, v):
    share = r.choice([0, 0, 0.1, 0.9, 1])
    return [None if r.random() < share else x for x in v]

def shown(v):
    """As test_parquet.c prints a value: numbers by their bits, others as hexadecimal bytes."""
    if v is None:
        return "-"
    if isinstance(v, bool):
        return str(int(v))
    if isinstance(v, float):
        return struct.pack(">d", v).hex()
    if isinstance(v, int):
        return str(v)
    return "x" + (v.encode() if isinstance(v, str) else v).hex()

def column(r, n, index):
    kind = r.choice(KINDS)
    plain, kind_type = values(r, kind, n)
    required = r.random() < 0.2
    v = plain if required else with_missing(r, plain)
    name = f"c{index}_{kind}"
    return kind, name, v, kind_type, required

def nested(r, v, kind_type, name, n):
    """The column within a struct, whole rows of which may be missing."""
    rows = [None if r.random() < 0.2 else {"inner": x} for x in v]
    array = pa.array(rows, pa.struct([pa.field("inner", kind_type)]))
    return name + ".inner", [None if x is None else x["inner"] for x in rows], array

def make(folder, seed):
    r = random.Random(seed)
    n = r.choice([0, 1, 7, 100, 1000]) if seed not in COMMITTED else r.choice([1, 7, 60, 200])
    fields, arrays, names, all_values, encodings, dictionary = [], [], [], [], {}, []
    for index in range(r.choice([1, 2, 5])):
        kind, name, v, kind_type, required = column(r, n, index)
        leaf, array = name, None
        if not required and r.random() < 0.3:
            leaf, v, array = nested(r, v, kind_type, name, n)
        fields.append(pa.field(name, kind_type if array is None else array.type, nullable=not required))
        arrays.append(pa.array(v, kind_type) if array is None else array)
        names.append(leaf)
        all_values.append(v)
        way = r.choice(ENCODINGS[class_of(kind)])
        if way == "DICTIONARY":
            dictionary.append(leaf)
        else:
            encodings[leaf] = way
    table = pa.Table.from_arrays(arrays, schema=pa.schema(fields))
    path = pathlib.Path(folder) / f"{seed}.parquet"
    pq.write_table(table, path, compression=r.choice(CODECS), use_dictionary=dictionary,
                   column_encoding=encodings, data_page_version=r.choice(["1.0", "2.0"]),
                   row_group_size=r.choice([3, 50, 10000]), data_page_size=r.choice([64, 1024, 1 << 20]),
                   write_batch_size=r.choice([5, 1024]), write_page_checksum=r.random() < 0.3,
                   version=r.choice(["1.0", "2.6"]), dictionary_pagesize_limit=r.choice([64, 1 << 20]))
    back = pq.ParquetFile(path).schema_arrow
    assert back.names == table.schema.names
    lines = [f"{n} {len(names)}"] + [" ".join([name] + [shown(x) for x in v]) for name, v in zip(names, all_values)]
    path.with_suffix(".txt").write_text("\n".join(lines) + "\n")

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for seed in range(int(sys.argv[2])) if len(sys.argv) > 2 else COMMITTED:
    make(folder, seed)
