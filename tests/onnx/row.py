"""One row of the table of docs/onnx.md.

    row.py NAME DIR WHY     DIR/model.onnx, and DIR/2 and DIR/3 with operands and results of two and of three samples;
                            WHY: what has failed before, told in the last line of DIR/trained, exported or computed"""
import pathlib, sys
import in_netron, in_onnxruntime

def measured(folder):
    path = folder / "model.onnx"
    model = in_onnxruntime.checked(path)
    closed = [i.name for i in model.graph.input if not i.type.tensor_type.shape.dim[0].dim_param]
    if closed:
        return f"the first axis of {closed[0]} is closed"
    far = [in_onnxruntime.compare(path, folder / rows) for rows in ("2", "3")]
    text = [f if isinstance(f, str) else f"{f:.1e}" if f <= 1e-5 else f"{f:.1e} (too far)" for f in far]
    nodes = len(model.graph.node)
    return f"{nodes} | passes | {text[0]} | {text[1]} | {in_netron.told(path, folder / 'picture.png')}"

name, folder, why = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
if why:
    last = [l for f in ("trained", "exported", "computed") if (folder / f).exists()
            for l in (folder / f).read_text().splitlines() if "error" in l] or [""]
    cells = f"{why}: {last[-1]} | | | | "
else:
    try:
        cells = measured(folder)
    except Exception as error:  # of the checker, of onnxruntime
        cells = f"{type(error).__name__}: {str(error).splitlines()[0]} | | | | "
print(f"| {name} | {cells} |", flush=True)
