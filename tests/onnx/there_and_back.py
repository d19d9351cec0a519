"""What onnxruntime makes of a file of ONNX, beside an export of the model that was read from it, for in_onnxruntime.py.

    there_and_back.py MODEL.onnx DATA.npz DIR     writes DIR/in.x.npy and DIR/out.logits.npy"""
import pathlib, sys
import numpy, onnxruntime

model, data, folder = sys.argv[1], numpy.load(sys.argv[2]), pathlib.Path(sys.argv[3])
session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
numpy.save(folder / "in.x.npy", data["x"][:3])  # another batch than the step's
numpy.save(folder / "out.logits.npy", session.run(None, {"x": data["x"][:3]})[0])
