#!/usr/bin/env python3
"""Makes tests/golden/onnx/forms/: what nodes of ONNX may say that PyTorch's exporters do not write. Each file has many
nodes, whose results are the columns of its one output; beside it is a batch, and what onnxruntime makes of it.

    python3 tests/golden/onnx_forms.py     # needs onnx, onnxruntime and numpy
"""
import pathlib
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

OUT = pathlib.Path(__file__).parent / "onnx" / "forms"
SAMPLES = 6
RNG = np.random.default_rng(1)


class File:
    """A model of x [n, 3, 4]: `add` appends a node, `put` makes its result columns of the output."""

    def __init__(self, name):
        self.name, self.nodes, self.tensors, self.columns, self.count = name, [], [], [], 0

    def word(self, kind):
        self.count += 1
        return f"{kind}_{self.count}"

    def weight(self, *shape):
        return self.tensor((RNG.standard_normal(shape) * 0.5).astype("f4"))

    def tensor(self, array):  # a weight if it is of floats
        name = self.word("w")
        self.tensors.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def constant(self, *numbers, shape=None, dtype="i8"):
        array = np.array(numbers, dtype).reshape(len(numbers) if shape is None else shape)
        return self.add("Constant", [], value=numpy_helper.from_array(array))

    def add(self, kind, inputs, outputs=1, **attributes):
        names = [self.word(kind) for _ in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, name=names[0], **attributes))
        return names[0] if outputs == 1 else names

    def put(self, value, perm=None):
        """perm: brings the samples to the front."""
        if perm:
            value = self.add("Transpose", [value], perm=perm)
        value = self.add("Cast", [value], to=TensorProto.FLOAT)
        self.columns.append(self.add("Reshape", [value, self.constant(0, -1)]))

    def body(self, inputs, results, nodes):
        """The graph of a loop: its nodes are (kind, inputs, result[, attributes]), its inputs and results names of floats
        of any shape, or (name, dtype) of one number. Its names are its own; others, and those that end in _0, are of around it."""
        here = self.word("body")
        of = lambda v: v if isinstance(v, tuple) else (v, TensorProto.FLOAT)
        local = {of(v)[0] for v in inputs} | {n[2] for n in nodes}
        mark = lambda name: f"{name}.{here}" if name in local and not name.endswith("_0") else name
        value = lambda v: helper.make_tensor_value_info(mark(of(v)[0]), of(v)[1], [] if isinstance(v, tuple) else None)
        made = [helper.make_node(n[0], [mark(i) for i in n[1]], [mark(n[2])], name=mark(n[2]), **(n[3:] or ({},))[0]) for n in nodes]
        return helper.make_graph(made, here, [value(v) for v in inputs], [value(v) for v in results])

    def write(self, x):
        self.put(self.add("Mul", ["x", self.weight(4)]))  # something to train
        self.nodes.append(helper.make_node("Concat", self.columns, ["logits"], name="logits", axis=1))
        of = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        graph = helper.make_graph(self.nodes, self.name, [of("x", ["n", 3, 4])], [of("logits", ["n", "columns"])],
                                  self.tensors)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
        onnx.checker.check_model(model, full_check=True)
        onnx.save(model, OUT / f"{self.name}.onnx")
        y = onnxruntime.InferenceSession(OUT / f"{self.name}.onnx").run(None, {"x": x})[0]
        np.savez(OUT / f"{self.name}.npz", x=x, y=y)
        print(f"{self.name}: {len(self.columns)} results, {y.shape[1]} columns")


def products():
    f = File("products")
    e = lambda equation, *inputs: f.add("Einsum", ["x", *inputs], equation=equation)
    w = f.weight
    for equation, shape in {
            "bij,jk": (4, 5), " b i j , j k -> b i k ": (4, 5), "bij,kj->bik": (5, 4), "bij,ik->bjk": (3, 5),
            "bij,ki->bkj": (5, 3), "bij,i->bj": (3,), "bij,j->bij": (4,), "...ij,...jk->...ik": (1, 4, 2),
            "b...j,jk->b...k": (4, 2), "...,...->...": (1, 3, 4), "bij,bij->bi": (1, 3, 4), "bij,aij->bj": (1, 3, 4),
            "BiJ,Jq->BqiJ": (4, 2), "...j,jk": (4, 2), "bij,jkl->bilk": (4, 2, 3), "bij,ijk->bk": (3, 4, 2),
            "bij,jik->bk": (4, 3, 2), "bij,->bij": (), "bij,k->bijk": (2,)}.items():
        f.put(e(equation, w(*shape)))
    f.put(e("i...,k", w(2)), [2, 0, 1, 3]), f.put(e("i...j,j...->...i", w(4, 1)), [1, 0])
    for equation in "bij->bji", "bij->b", "bij->bj", "b...->b...", "bij":
        f.put(e(equation))
    f.put(e("bij,bik->bjk", "x")), f.put(e("bij,bkj->bik", "x")), f.put(e("bij,bij->b", "x"))
    f.put(e("bij,jk,bik->bi", w(4, 5), e("bij,jk->bik", w(4, 5))))
    f.put(e("bij,jk,k,i->bk", w(4, 5), w(5), w(3)))
    f.put(f.add("Einsum", [w(5, 3), "x"], equation="oi,bij->boj"))
    f.put(f.add("Einsum", [w(5, 3), "x"], equation="oi,bij->ojb"), [2, 0, 1])
    rows = f.add("Reshape", ["x", f.constant(-1, 12)])
    for alpha, beta, shape in (2.0, 0.5, (5,)), (0.3, -1.5, (1, 5)), (1.0, 2.0, (5,)), (-0.5, 1.0, (5,)), (0.7, 0.0, (5,)):
        f.put(f.add("Gemm", [rows, w(12, 5), w(*shape)], alpha=alpha, beta=beta))
        f.put(f.add("Gemm", [rows, w(5, 12), w(*shape)], alpha=alpha, beta=beta, transB=1))
    f.put(f.add("Gemm", [rows, w(12, 5)], alpha=3.0))
    f.put(f.add("Gemm", [f.add("Transpose", [rows], perm=[1, 0]), w(12, 5), w(5)], alpha=1.5, transA=1))
    f.put(f.add("MatMul", ["x", w(4)])), f.put(f.add("MatMul", [w(3), "x"])), f.put(f.add("MatMul", [rows, w(12)]))
    f.put(f.add("MatMul", ["x", f.constant(1, 2, 3, 4, dtype="f4")]))
    f.put(f.add("Pow", [f.constant(2, shape=(), dtype="f4"), "x"]))
    f.put(f.add("Pow", [f.constant(0.3, dtype="f4"), "x"]))
    return f


def choices():
    f = File("choices")
    ids = f.add("Cast", [f.add("Floor", [f.add("Mul", ["x", f.constant(2, shape=(), dtype="f4")])])], to=TensorProto.INT64)
    ties = f.add("Cast", [ids], to=TensorProto.FLOAT)
    for axis, k in (-1, 2), (1, 3), (2, 4), (1, 1), (-2, 2):
        for largest in 0, 1:
            for value in "x", ties:
                for result in f.add("TopK", [value, f.constant(k)], 2, axis=axis, largest=largest):
                    f.put(result)
    unsorted = f.add("TopK", ["x", f.constant(2)], 2, sorted=0)
    f.put(f.add("ReduceSum", [unsorted[0], f.constant(-1)]))
    for axis in -1, 1, 2, 3, -3:
        f.put(f.add("OneHot", [ids, f.constant(3, shape=()), f.constant(0, 1)], axis=axis))
        f.put(f.add("OneHot", [ids, f.constant(4), f.constant(-1.5, 2, dtype="f4")], axis=axis))
    f.put(f.add("OneHot", [ids, f.constant(3), f.constant(2, 5)], axis=0), [1, 0, 2, 3])
    f.put(f.add("Mul", ["x", f.add("OneHot", [f.constant(1, -1, 7), f.constant(4), f.constant(0.5, 2, dtype="f4")])]))
    f.put(f.add("Add", ["x", f.add("OneHot", [f.constant(2, 0, -1, 9), f.constant(3), f.constant(1, 0, dtype="f4")], axis=0)]))
    return f


def writes():
    f = File("writes")
    value, where = f.add("TopK", ["x", f.constant(2)], 2, axis=-1)
    rows, row_ids = f.add("TopK", ["x", f.constant(2)], 2, axis=1)
    first = f.add("Slice", [where, f.constant(0), f.constant(1), f.constant(2)])
    minus = f.add("Neg", [value])
    near = f.add("Clip", [f.add("Cast", [f.add("Abs", ["x"])], to=TensorProto.INT64), f.constant(0, shape=()), f.constant(2, shape=())])
    for axis, ids, new in (-1, where, minus), (2, where, minus), (1, row_ids, rows), (1, near, f.add("Neg", ["x"])):
        f.put(f.add("ScatterElements", ["x", ids, new], axis=axis, reduction="add"))
        if ids != near:
            f.put(f.add("ScatterElements", ["x", ids, new], axis=axis))
    zeros = f.add("Expand", [f.constant(0, shape=(), dtype="f4"), f.add("Shape", ["x"])])
    three = f.add("Expand", [f.constant(3, shape=(), dtype="f4"), f.add("Shape", ["x"])])
    for base in zeros, "x":  # one number, at indices that come twice
        f.put(f.add("ScatterElements", [base, near, three], axis=1))
        f.put(f.add("ScatterElements", [base, near, three], axis=1, reduction="add"))
    f.put(f.add("ScatterElements", [zeros, where, minus], axis=-1))
    f.put(f.add("ScatterElements", ["x", first, f.add("ReduceSum", ["x", f.constant(-1)])], axis=2))
    line = lambda *numbers: f.add("Expand", [f.constant(*numbers, shape=(1, len(numbers), 1)),
                                             f.add("Concat", [f.add("Shape", ["x"], end=1), f.constant(len(numbers), 4)], axis=0)])
    pair = f.add("Slice", ["x", f.constant(0), f.constant(2), f.constant(1)])
    f.put(f.add("ScatterElements", ["x", line(1, 2), f.add("Neg", [pair])], axis=1))
    back = f.add("Transpose", ["x"], perm=[1, 2, 0])  # [3, 4, n]
    grid = lambda *numbers, shape: f.constant(*numbers, shape=shape)
    part = lambda start, end, axis: f.add("Slice", [f.add("Neg", [back]), f.constant(start), f.constant(end), f.constant(axis)])
    f.put(f.add("ScatterND", [back, grid(1, shape=(1, 1)), part(0, 1, 0)]), [2, 0, 1])
    f.put(f.add("ScatterND", [back, grid(1, 2, shape=(2, 1)), part(0, 2, 0)]), [2, 0, 1])
    f.put(f.add("ScatterND", [back, grid(-1, shape=(1, 1)), part(0, 1, 0)]), [2, 0, 1])
    box = f.add("Slice", [part(0, 2, 0), f.constant(1), f.constant(3), f.constant(1)])  # [2, 2, n]
    f.put(f.add("ScatterND", [back, grid(0, 2, 0, 3, 1, 2, 1, 3, shape=(2, 2, 2)), box]), [2, 0, 1])
    f.put(f.add("ScatterND", [back, grid(2, -2, shape=(1, 2)), f.add("Slice", [f.add("Squeeze", [part(0, 1, 0), f.constant(0)]),
                                                                             f.constant(0), f.constant(1), f.constant(0)])]), [2, 0, 1])
    f.put(f.add("GatherND", [back, grid(0, 1, 2, 3, 1, 1, 0, -1, shape=(4, 2))]), [1, 0])
    f.put(f.add("GatherND", [back, grid(2, 0, 1, 1, 0, 2, shape=(2, 3, 1))]), [3, 0, 1, 2])
    f.put(f.add("Gather", ["x", grid(3, 0, -1, 1, 2, 2, shape=(2, 3))], axis=2))
    f.put(f.add("Gather", ["x", grid(1, 2, 0, 1, shape=(2, 2))], axis=1))
    return f


def states():
    f = File("states")
    x = f.add("Transpose", ["x"], perm=[1, 0, 2])
    zero, size = f.constant(0, shape=(), dtype="f4"), f.add("Shape", ["x"], end=1)

    def start(directions, zeros=False):
        h = f.add("Expand", [zero, f.add("Concat", [f.constant(directions), size, f.constant(2)], axis=0)])
        return h if zeros else f.add("Add", [h, f.add("Reshape", [f.add("ReduceMean", ["x", f.constant(1, 2)]), f.constant(1, -1, 1)])])

    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}
    for kind, more in (("LSTM", {}), ("LSTM", {"input_forget": 0}), ("GRU", {"linear_before_reset": 1}), ("GRU", {}),
                       ("RNN", {}), ("RNN", {"activations": ["Relu"]})):
        for direction in "forward", "reverse", "bidirectional":
            d, g = 1 + (direction == "bidirectional"), gates[kind]
            for bias, begins, zeros in (0, 0, 0), (0, 1, 0), (1, 1, 0), (1, 1, 1), (0, 2, 0):
                if begins == 2 and kind != "LSTM":
                    continue
                inputs = [x, f.weight(d, g * 2, 4), f.weight(d, g * 2, 2), f.weight(d, g * 4) if bias else ""]
                inputs += ["", start(d, zeros or begins == 2)] if begins else []
                inputs += [start(d, zeros)] if begins and kind == "LSTM" else []
                if "activations" in more:
                    more = {"activations": ["Relu"] * d}
                out = f.add(kind, inputs, 3 if kind == "LSTM" else 2, hidden_size=2, direction=direction, **more)
                for result, perm in zip(out, ([2, 0, 1, 3], [1, 0, 2], [1, 0, 2])):
                    f.put(result, perm)
    return f


def scans():
    f = File("scans")
    size = f.add("Shape", ["x"], end=1)
    zeros = lambda *shape: f.add("Expand", [f.constant(0, shape=(), dtype="f4"), f.add("Concat", [size, f.constant(*shape)], axis=0)])
    mean, turned = f.add("ReduceMean", ["x", f.constant(1)], keepdims=0), f.add("Transpose", ["x"], perm=[1, 0, 2])
    w, u = f.weight(4, 4), f.weight(4, 4)
    cell = [("MatMul", ["e", w], "a"), ("MatMul", ["h", u], "b"), ("Add", ["a", "b"], "c"), ("Tanh", ["c"], "d")]
    same = ("Identity", ["d"], "y")

    def scan(inputs, body, n, outputs=2, **more):
        return f.add("Scan", inputs, outputs, body=body, num_scan_inputs=n, **more)

    # Along each axis, both ways, from zeros and from what is computed.
    for x, axis, out, perm in (turned, 0, 0, [1, 0, 2]), ("x", 1, 1, None), ("x", -2, -1, None), ("x", 1, 0, [1, 0, 2]):
        for start, way in (zeros(4), 0), (mean, 1):
            last, steps = scan([start, x], f.body(["h", "e"], ["d", "y"], cell + [same]), 1, scan_input_axes=[axis],
                               scan_output_axes=[out], scan_input_directions=[way], scan_output_directions=[way])
            f.put(last)
            f.put(steps, perm)
    # Several sequences, one of them twice and one learned; carries that take each other's place, that never change, and
    # that are counted; a step of a sequence and a carry as they were, and a constant, are results.
    body = f.body(["h", "g", "k", ("i", TensorProto.INT64), "e", "p", "e2"], ["s", "h2", "k2", ("i2", TensorProto.INT64), "e3", "g2", "q", "o"],
                  [("Mul", ["g", "k"], "m"), ("Add", ["m", "e"], "r"), ("Add", ["r", "p"], "v"), ("Cast", ["i"], "t", {"to": 1}),
                   ("Add", ["v", "t"], "s"), ("Identity", ["h"], "h2"), ("Identity", ["k"], "k2"), ("Add", ["i", f.constant(1, shape=())], "i2"),
                   ("Identity", ["e2"], "e3"), ("Identity", ["g"], "g2"), ("Neg", ["m"], "q"), ("Identity", [w], "o")])
    all_of = scan([mean, zeros(4), f.weight(4), f.constant(0, shape=()), turned, f.weight(3, 4), turned], body, 3, 8)
    f.put(all_of[0])
    f.put(all_of[1])
    f.put(f.add("Mul", [mean, f.add("Cast", [all_of[3]], to=1)]))
    for steps in all_of[4:7]:
        f.put(steps, [1, 0, 2])
    f.put(f.add("MatMul", ["x", f.add("Reshape", [all_of[7], f.constant(4, -1)])]))
    # All of a sequence is read in each step, too; what is the same in each is computed before.
    last, steps = scan([mean, "x"], f.body(["h", "e"], ["d", "y"], [
        ("Exp", [turned], "z"), ("Mul", ["z", "h"], "z2"), ("ReduceSum", ["z2", f.constant(0)], "z3", {"keepdims": 0}),
        ("Mul", ["z3", "e"], "z4"), ("Unsqueeze", ["h", f.constant(1)], "h2"), ("Mul", ["x", "h2"], "z5"),
        ("ReduceSum", ["z5", f.constant(1)], "z6", {"keepdims": 0}), ("Add", ["z4", "z6"], "c"), ("Tanh", ["c"], "d"), same]), 1,
        scan_input_axes=[1])
    f.put(last)
    f.put(steps, [1, 0, 2])
    # A scan in a scan, over the step of the outer one.
    inner = f.body(["hh", "ee"], ["hn", "hy"], [("Mul", ["hh", "g_0"], "hm"), ("Add", ["hm", "ee"], "hn"), ("Sin", ["hn"], "hy")])
    outer = f.body(["h_0", "e_0"], ["n_0", "o_0"], [
        ("ReduceMean", ["e_0"], "g_0", {"keepdims": 0}),
        ("Transpose", ["e_0"], "f_0", {"perm": [1, 0]}), ("ReduceMean", ["f_0", f.constant(0)], "z_0", {"keepdims": 0})])
    outer.node.append(helper.make_node("Scan", ["z_0", "f_0"], ["l_0", "k_0"], name="inner", body=inner, num_scan_inputs=1))
    outer.node.append(helper.make_node("Add", ["h_0", "l_0"], ["n_0"], name="n_0"))
    outer.node.append(helper.make_node("Identity", ["k_0"], ["o_0"], name="o_0"))
    last, steps = scan([f.add("ReduceMean", ["x", f.constant(1, 2)], keepdims=0), turned], outer, 1)
    f.put(last)
    f.put(steps, [2, 0, 1])
    return f


def loops():
    f = File("loops")
    true, three = f.add("Constant", [], value=numpy_helper.from_array(np.array(True))), f.constant(3, shape=())
    I64, BOOL = TensorProto.INT64, TensorProto.BOOL
    mean, w, one, two = f.add("ReduceMean", ["x", f.constant(1)], keepdims=0), f.weight(4, 4), f.constant(1, shape=()), f.constant(2, shape=())
    go = ("Identity", ["c"], "c2")

    def loop(count, inputs, body, outputs, on=true):
        return f.add("Loop", [count, on, *inputs], outputs, body=body)

    # Elements of sequences by the step, from both ends, by several axes and in order of the batch; the step is a number, too.
    body = f.body([("i", I64), ("c", BOOL), "h"], [("c2", BOOL), "s", "y", "p"], [
        go, ("Gather", ["x", "i"], "e", {"axis": 1}), ("Sub", [two, "i"], "j"), ("Gather", ["x", "j"], "b", {"axis": 1}),
        ("Mul", ["i", one], "k"), ("Reshape", ["k", f.constant(-1)], "k1"), ("Gather", ["x", "k1"], "g", {"axis": 2}),
        ("ReduceSum", ["g", f.constant(1, 2)], "g1", {"keepdims": 0}), ("Unsqueeze", ["g1", f.constant(1)], "g2"),
        ("MatMul", ["h", w], "m"), ("Add", ["m", "e"], "m2"), ("Sub", ["m2", "b"], "m3"), ("Mul", ["m3", "g2"], "m4"),
        ("Cast", ["i"], "n", {"to": 1}), ("Add", ["m4", "n"], "m5"), ("Tanh", ["m5"], "s"), ("Identity", ["g"], "y"), ("Identity", ["b"], "p")])
    last, steps, parts = loop(three, [mean], body, 3)
    f.put(last)
    f.put(steps, [1, 0, 2, 3])
    f.put(parts, [1, 0, 2])
    # No sequence and no condition; a step alone; a number of steps of one axis.
    body = f.body([("i", I64), ("c", BOOL), "h"], [("c2", BOOL), "s"], [go, ("MatMul", ["h", w], "m"), ("Sin", ["m"], "s")])
    f.put(loop(f.constant(5), [mean], body, 1, on=""))
    body = f.body([("i", I64), ("c", BOOL), "h"], [("c2", BOOL), "s"], [go, ("MatMul", ["h", w], "m"), ("Sin", ["m"], "s")])
    f.put(loop(one, [mean], body, 1))
    # Counters end it: by twos, with one that is counted beside it, is an index, and is a result; far more steps are allowed.
    body = f.body([("i", I64), ("c", BOOL), ("k", I64), ("q", I64), "h"], [("c2", BOOL), ("k2", I64), ("q2", I64), "s", "y"], [
        ("Add", ["k", two], "k2"), ("Add", ["q", "i"], "q2"), ("Less", ["k2", f.constant(5, shape=())], "l"), ("Less", ["q2", f.constant(9, shape=())], "l2"),
        ("And", ["l", "l2"], "c2"), ("Gather", ["x", "i"], "e", {"axis": 1}), ("Gather", ["x", "k"], "e2", {"axis": 2}),
        ("ReduceSum", ["e2", f.constant(1)], "e3", {"keepdims": 1}), ("MatMul", ["h", w], "m"), ("Add", ["m", "e"], "m2"), ("Mul", ["m2", "e3"], "m3"),
        ("Tanh", ["m3"], "s"), ("Cast", ["q"], "y", {"to": 1})])
    counted = loop(f.constant(2**62, shape=()), [f.constant(-1, shape=()), f.constant(0, shape=()), mean], body, 4)
    f.put(counted[2])
    f.put(f.add("Mul", [mean, f.add("Cast", [f.add("Mul", counted[:2])], to=1)]))
    f.put(f.add("Mul", ["x", f.add("Reshape", [counted[3], f.constant(1, 3, 1)])]))
    # A loop in a loop, whose step of the outer one is a constant to it.
    inner = f.body([("i_0", I64), ("c_0", BOOL), "hi_0"], [("d_0", BOOL), "ho_0"], [
        ("Identity", ["c_0"], "d_0"), ("Gather", ["x", "i_0"], "ei_0", {"axis": 1}), ("Mul", ["ei_0", "eo_0"], "pi_0"), ("Add", ["pi_0", "hi_0"], "ho_0")])
    outer = f.body([("io_0", I64), ("co_0", BOOL), "h_0"], [("cn_0", BOOL), "n_0"], [
        ("Identity", ["co_0"], "cn_0"), ("Gather", ["x", "io_0"], "eo_0", {"axis": 1})])
    outer.node.append(helper.make_node("Loop", [two, true, "h_0"], ["l_0"], name="inner", body=inner))
    outer.node.append(helper.make_node("Tanh", ["l_0"], ["n_0"], name="n_0"))
    f.put(loop(three, [mean], outer, 1))
    return f


REFUSED = OUT.parent / "refused"


def refused():
    """Loops that are not read, each with what its error says: tests/onnx/import.sh."""
    of = lambda name, shape=None, dtype=TensorProto.FLOAT: helper.make_tensor_value_info(name, dtype, shape)
    node = helper.make_node

    def write(name, inputs, nodes, results, n=1, **more):
        body = helper.make_graph(nodes, "body", [of("h"), of("e")], [of(r) for r in results])
        scan = node("Scan", inputs, ["last", "steps"], name=name, body=body, num_scan_inputs=n, **more)
        graph = helper.make_graph([node("ReduceMean", ["x"], ["m"], name="m", axes=[1], keepdims=0), scan,
                                   node("Add", ["last", "steps"], ["logits"], name="logits")],
                                  name, [of("x", ["n", 3, 4])], [of("logits", ["n", 3, 4])])
        save(name, graph)

    def save(name, graph):
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        onnx.save(model, REFUSED / f"{name}.onnx")

    add = node("Add", ["h", "e"], ["d"], name="d")
    axes = {"scan_input_axes": [1], "scan_output_axes": [1]}
    write("both_ways", ["m", "x"], [add, node("Neg", ["d"], ["y"])], ["d", "y"], scan_input_directions=[1], **axes)
    write("grows", ["m", "x"], [node("Concat", ["h", "e"], ["d"], axis=1), node("Neg", ["e"], ["y"])], ["d", "y"], **axes)
    noise = [node("RandomNormalLike", ["h"], ["r"], name="noise"), node("Add", ["r", "e"], ["d"]), node("Neg", ["d"], ["y"])]
    write("noise", ["m", "x"], noise, ["d", "y"], **axes)
    write("no_sequence", ["m", "x"], [add, node("Neg", ["d"], ["y"])], ["d", "y"], n=0)
    write("other_inputs", ["m", "x", "m"], [add, node("Neg", ["d"], ["y"])], ["d", "y"], **axes)
    write("not_given", ["m", "x"], [add], ["d", "z"], **axes)
    body = helper.make_graph([node("Add", ["e", "f"], ["d"], name="d"), node("Add", ["h", "d"], ["i"]), node("Neg", ["d"], ["y"])], "body",
                             [of("h"), of("e"), of("f")], [of("i"), of("y")])
    scan = node("Scan", ["m", "x", "w"], ["last", "steps"], name="other_steps", body=body, num_scan_inputs=2, scan_input_axes=[1, 0])
    save("other_steps", helper.make_graph(
        [node("ReduceMean", ["x"], ["m"], name="m", axes=[1], keepdims=0), scan, node("Add", ["last", "steps"], ["logits"])], "other_steps",
        [of("x", ["n", 3, 4])], [of("logits", ["n", 3, 4])], [numpy_helper.from_array(np.ones((2, 4), "f4"), "w")]))
    I64, BOOL, LIST = TensorProto.INT64, TensorProto.BOOL, TensorProto.UNDEFINED
    number = lambda name, value: numpy_helper.from_array(np.array(value), name)
    one = node("Constant", [], ["one"], value=number("", 1))

    def loop(name, nodes, count="three", on="true", first="m", before=(), result="last", dtype=TensorProto.FLOAT, after=()):
        as_is = lambda v: of(v, None, dtype) if dtype else helper.make_tensor_sequence_value_info(v, TensorProto.FLOAT, None)
        body = helper.make_graph([one, *nodes], "body", [of("i", [], I64), of("c", [], BOOL), as_is("h")], [of("c2", [], BOOL), as_is("d")])
        graph = helper.make_graph(
            [node("ReduceMean", ["x"], ["m"], name="m", axes=[1], keepdims=0), node("ReduceSum", ["x"], ["sum"], name="sum", keepdims=0),
             node("Greater", ["sum", "zero"], ["data"], name="data"), node("Cast", ["sum"], ["data_steps"], name="data_steps", to=I64), *before,
             node("Loop", [count, on, first], ["last"], name=name, body=body), *after, node("Mul", ["x", result], ["logits"], name="logits")],
            name, [of("x", ["n", 3, 4])], [of("logits", ["n", 3, 4])],
            [number("three", 3), number("none", 0), number("true", True), number("zero", np.float32(0)), number("many", 2**62)])
        save(name, graph)

    same, double = node("Identity", ["c"], ["c2"]), node("Add", ["h", "h"], ["d"])
    till = [double, node("ReduceSum", ["d"], ["s"], keepdims=0), node("Greater", ["s", "zero"], ["c2"])]
    loop("until_data", till)
    loop("until_data_alone", till, count="many")
    loop("steps_of_data", [same, double], count="data_steps")
    loop("first_of_data", [same, double], on="data")
    loop("no_step", [same, double], count="none")
    at = [node("Gather", ["h", "i"], ["g"], name="at_step_of_carry", axis=1), node("Unsqueeze", ["g", "axis"], ["g2"])]
    loop("of_carry", [same, node("Constant", [], ["axis"], value=number("", [1])), *at, node("Add", ["h", "g2"], ["d"])])
    loop("endless", [node("GreaterOrEqual", ["i", "none"], ["c2"]), double], count="many")
    empty, insert = node("SequenceEmpty", [], ["empty"], name="empty"), node("SequenceInsert", ["h", "m"], ["t"], name="insert_twice")
    listed = dict(first="empty", before=[empty], dtype=None, result="joined",
                  after=[node("ConcatFromSequence", ["last"], ["joined"], name="joined", axis=0, new_axis=1)])
    loop("twice", [same, insert, node("SequenceInsert", ["t", "m"], ["d"])], **listed)
    write("no_axis", ["m", "x"], [add, node("Neg", ["d"], ["y"])], ["d", "y"], scan_input_axes=[3])


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    x = RNG.standard_normal((SAMPLES, 3, 4)).astype("f4")
    REFUSED.mkdir(exist_ok=True)
    refused()
    for make in products, choices, writes, states, scans, loops:
        make().write(x)


if __name__ == "__main__":
    main()
