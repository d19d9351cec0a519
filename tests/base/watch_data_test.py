#!/usr/bin/env python3
"""What tools/watch-data reads of pickles of NumPy's arrays, and that no bytes of them can do harm: damaged files are
refused with a reason or read, and nothing that a pickle names is called. Without NumPy: tests/golden/watch2.npy and
watch4.npy are what tests/golden/make_watch.py has pickled."""
import importlib.machinery, importlib.util, pathlib, random, subprocess, sys, tempfile, zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("watch_data", str(ROOT / "tools/watch-data"))
watch = importlib.util.module_from_spec(importlib.util.spec_from_loader("watch_data", loader))
loader.exec_module(watch)
GOLDEN = {n: (ROOT / f"tests/golden/watch{n}.npy").read_bytes() for n in (2, 4)}
bad, passed = [], 0


def check(ok, what):
    global passed
    passed += bool(ok)
    if not ok:
        bad.append(what)


def refused(read, *args):
    """Why it is refused; "" where it is read."""
    try:
        read(*args)
        return ""
    except watch.Refused as error:
        return str(error)


def reads_values():
    raw = (b"\x80\x04\x95\x3d\0\0\0\0\0\0\0}\x94(\x8c\x01a\x94]\x94(K\x01J\xfe\xff\xff\xffM,\x01N\x88G?\xe0\0\0\0\0\0\0e"
           b"\x8c\x01b\x94\x8c\x02xy\x94C\x01z\x94\x86\x94u.")
    check(watch.unpickle("a", raw) == {"a": [1, -2, 300, None, True, 0.5], "b": ("xy", b"z")}, "values of any kind")


def array_of(kind, order, columns, fortran, values):
    """An array of two rows, as protocol 2 has it."""
    return (b"cnumpy.core.multiarray\n_reconstruct\n)R(K\x01K\x02K" + bytes([columns]) + b"\x86cnumpy\ndtype\nX\x02\0\0\0" +
            kind + b"\x85R(K\x03X\x01\0\0\0" + order + b"tb" + (b"\x88" if fortran else b"\x89") + b"C" +
            bytes([len(values)]) + values + b"tb.")


def reads_arrays():
    for kind, order, values in ((b"f4", b"<", b"\0\0\x80\x3f\0\0\0\xc0"), (b"f4", b">", b"\x3f\x80\0\0\xc0\0\0\0"),
                                (b"i2", b">", b"\0\1\xff\xfe"), (b"i4", b"<", b"\1\0\0\0\xfe\xff\xff\xff"),
                                (b"i4", b">", b"\0\0\0\1\xff\xff\xff\xfe"), (b"i1", b"|", b"\1\xfe")):
        a = watch.unpickle("a", array_of(kind, order, 1, False, values))
        check(a.shape == (2, 1) and list(a.values) == [1, -2], f"{kind} {order}: {list(a.values)}")
    for fortran in (False, True):
        a = watch.unpickle("a", array_of(b"u1", b"|", 3, fortran, b"\1\4\2\5\3\6" if fortran else b"\1\2\3\4\5\6"))
        check(list(a.values) == [1, 2, 3, 4, 5, 6], f"rows, fortran {fortran}: {list(a.values)}")
    for n in (7, 9, 11, 12):
        raw = array_of(b"f4", b"<", 1, False, b"\0\0\x80\x3f\0\0\0\xc0\0\0\0\0"[:n])
        check("not as many values as its shape says" in refused(watch.unpickle, "a", raw), f"{n} bytes of values")


def calls_nothing():
    for raw, why in ((b"cos\nsystem\n(X\x04\0\0\0truetR.", "Python's 'os.system' is called"),
                     (b"\x8c\x08builtins\x8c\x04eval\x93)R.", "Python's 'builtins.eval' is called"),
                     (b"(ios\nsystem\n.", "the instruction INST is not one"), (b"cos\nsystem\nN\x81.", "NEWOBJ is not one"),
                     (b"cnumpy\ndtype\n)R.", "a dtype has no name"), (b"K", "not enough data"),
                     (b"X\xff\xff\xff\xff", "expected 4294967295 bytes"), (b"N", "pickle exhausted before"),
                     (b".", "the stack is empty"), (b"NN.", "more than one value"), (b"t.", "the stack is empty"),
                     (b"h\x05.", "a value that is not kept"), (b"Na.", "no list or dictionary"),
                     (b"}]Ns.", "no list or dictionary"), (b"(a.", "the stack is empty"), (b"\xff.", "at position 0"),
                     (b"NNb.", "a state should be here"), (b"NNR.", "a call should be here")):
        found = refused(watch.unpickle, "a.pkl", raw)
        check(why in found and "'a.pkl' is no pickle of arrays: at byte " in found, f"{raw}: {found}")
    # A number of the memo costs nothing, however large.
    check(watch.unpickle("a", b"Nr\xff\xff\xff\x7f.") is None, "a memo of many")


def imports(work):
    expected = [k / 4 - n for n in (4, 2, 3, 5) for k in range(3 * n)]  # as tests/golden/make_watch.py makes them
    for protocol in GOLDEN:
        run = subprocess.run([ROOT / "tools/watch-data", "--from", ROOT / f"tests/golden/watch{protocol}.npy", work / "out"],
                             capture_output=True, text=True)
        check("14 moments of 4 recordings of 2 exercises by 3 people" in run.stdout, run.stdout + run.stderr)
        values, lines = (work / "out/watch.npy").read_bytes(), (work / "out/watch.csv").read_text()
        found = watch.array.array("f", values[128:])
        check(b"(14, 3)" in values[:128] and list(found) == expected, f"protocol {protocol}: values")
        check(lines.startswith("exercise,side,subject,recording,split\nLIFT,right,1,0,train\n"), "the first lines")
        check("\nROW,right,5,2,validation\n" in lines and lines.count("\n") == 15, "a fifth subject")
    with zipfile.ZipFile(work / "seglearn-2.whl", "w") as z:
        z.writestr(watch.MEMBER, GOLDEN[4])
    run = subprocess.run([ROOT / "tools/watch-data", work], capture_output=True, text=True)
    check((work / "watch.csv").read_text() == lines, f"of a wheel: {run.stderr}")


def says_what_is_missing(work):
    raw = GOLDEN[2]
    for data, why in ((raw[:700], "is no pickle of arrays"), (b"\x93NUMPY\x01\0\0\0].", "X is no list of arrays"),
                      (b"x" + raw[1:], "is no file of NumPy"), (b"", "is no file of NumPy")):
        check(why in refused(watch.table, "a.npy", data), why)
    for args, why in (([work / "none"], "there is no wheel of seglearn"), (["--from", work / "none.npy"], "cannot read"),
                      (["--from", work / "empty.whl"], "there is no seglearn/data/watch_dataset.npy in it"),
                      (["--from", ROOT / "README.md", work], "cannot read")):
        zipfile.ZipFile(work / "empty.whl", "w").close()
        run = subprocess.run([ROOT / "tools/watch-data", *args], capture_output=True, text=True)
        check(run.returncode == 1 and run.stderr.startswith("watch-data: ") and why in run.stderr, run.stderr)
    check(not (work / "none").exists(), "nothing is made of what is refused")


def survives_damage():
    for raw in GOLDEN.values():
        draw = random.Random(3)
        for cut in range(len(raw)):
            check(refused(watch.table, "a.npy", raw[:cut]), f"{cut} bytes are read")
        for number in range(4000):
            damaged = bytearray(raw)
            for _ in range(1 + number % 4):
                damaged[draw.randrange(128, len(raw))] = draw.randrange(256)
            refused(watch.table, "a.npy", bytes(damaged))  # any other exception ends the test


with tempfile.TemporaryDirectory() as folder:
    reads_values()
    reads_arrays()
    calls_nothing()
    imports(pathlib.Path(folder))
    says_what_is_missing(pathlib.Path(folder))
    survives_damage()
print("\n".join(bad[:20]), end="\n" if bad else "")
print(f"{passed} passed, {len(bad)} failed, 0 skipped")
sys.exit(bool(bad))
