"""Checks models of ONNX (full_check, strict inference of shapes), runs each in onnxruntime on the
operands beside it, and compares the results: |a - b| <= MOST (1 + |b|).

    in_onnxruntime.py MOST DIR...     each with model.onnx, in.NAME.npy and out.NAME.npy"""
import pathlib, sys
import numpy, onnx, onnxruntime

def arrays(folder, prefix):
    return {p.name[len(prefix):-4]: numpy.load(p) for p in sorted(folder.glob(prefix + "*.npy"))}

def worst(a, b):
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{a.dtype}{a.shape}, not {b.dtype}{b.shape}"
    a, b = a.astype("f8"), b.astype("f8")
    with numpy.errstate(invalid="ignore"):
        far = numpy.where((a == b) | (numpy.isnan(a) & numpy.isnan(b)), 0, abs(a - b) / (1 + abs(b)))
    return float(numpy.nan_to_num(far, nan=numpy.inf).max(initial=0))

def ended(y, given):
    """What is computed of recordings, up to their ends: norms of the padding behind them amplify rounding."""
    if "lengths" not in given or y.ndim != 3:
        return y
    ends = numpy.ceil(given["lengths"] * (y.shape[1] / given["x"].shape[1]))
    return numpy.where(numpy.arange(y.shape[1])[:, None] < ends[:, None, None], y, 0).astype(y.dtype)

def compare(path, folder):
    """The largest difference of the model's results on the operands in a folder, or a text that says what is wrong."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    given, want = arrays(folder, "in."), arrays(folder, "out.")
    made = session.run(None, {i.name: given[i.name] for i in session.get_inputs()})
    # What is predicted by the name of an input is called NAME_out.
    got = {o.name if o.name in want else o.name.removesuffix("_out"): y for o, y in zip(session.get_outputs(), made)}
    if set(got) != set(want):
        return f"outputs {sorted(got)}, not {sorted(want)}"
    far = [worst(ended(got[name], given), ended(want[name], given)) for name in want]
    wrong = [f for f in far if isinstance(f, str)]
    return wrong[0] if wrong else max(far)

def checked(path):
    """The model, without weights that are beside it, which are looked for; of any size."""
    onnx.checker.check_model(str(path), full_check=True)
    model = onnx.load(path, load_external_data=False)
    onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
    return model

def check(folder):
    checked(folder / "model.onnx")
    return compare(folder / "model.onnx", folder)

def main():
    most, bad, largest, absent = float(sys.argv[1]), 0, 0, []
    for folder in map(pathlib.Path, sys.argv[2:]):
        try:
            far = check(folder)
        except Exception as error:
            # Kernels of onnxruntime's CPU provider that are for fewer dtypes than the operator.
            if "NOT_IMPLEMENTED" in str(error):
                absent.append(folder.name)
                continue
            far = f"{type(error).__name__}: {error}"
        if isinstance(far, str) or far > most:
            bad += 1
            print(f"{folder.name}: {far}")
        else:
            largest = max(largest, far)
    print(f"{len(sys.argv) - 2 - len(absent)} models compared, the largest difference is {largest:.2g}")
    if absent:
        print(f"onnxruntime has no kernel for the dtypes of {' '.join(absent)}")
    sys.exit(bad > 0)

if __name__ == "__main__":
    main()
