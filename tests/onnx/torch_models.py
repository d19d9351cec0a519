#!/usr/bin/env python3
"""Models of torchvision and of torch.nn, exported by both exporters of PyTorch, as models of graphrun: their loss and
gradients in one step against PyTorch's. Prints a table (docs/onnx.md): differences |a - b| / (1 + |b|), the largest
of all weights, from what PyTorch computes in double precision, of graphrun, of PyTorch in single precision, and of
PyTorch in double precision with the inputs of activations that rounding may put on the other side of a kink there.

    torch_models.py GRAPHRUN [NAME...]     # needs torch, torchvision, onnx, onnxscript, safetensors and numpy
"""
import copy
import json
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnx
import torch
import torchvision.models as tv
from safetensors.numpy import load_file
from torch import nn
from torch.nn import functional as F

warnings.filterwarnings("ignore")
SAMPLES, CLASSES = 8, 3


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.rnn, self.fc = kind(20, 32, 2, batch_first=True, bidirectional=True), nn.Linear(64, CLASSES)

    def forward(self, x):
        return self.fc(self.rnn(x)[0].mean(1))


class Encoder(nn.Module):
    def __init__(self, causal):
        super().__init__()
        layer = nn.TransformerEncoderLayer(64, 4, 128, 0.0, "gelu", batch_first=True, norm_first=True)
        self.emb, self.enc = nn.Embedding(50, 64), nn.TransformerEncoder(layer, 12, enable_nested_tensor=False)
        self.fc, self.causal = nn.Linear(64, CLASSES), causal

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(16, dtype=self.fc.weight.dtype) if self.causal else None
        return self.fc(self.enc(self.emb(x), mask=mask, is_causal=self.causal).mean(1))


class Unet(nn.Module):
    def __init__(self):
        super().__init__()
        def block(c, out):
            return nn.Sequential(nn.Conv2d(c, out, 3, padding=1), nn.GroupNorm(4, out), nn.SiLU())
        self.down1, self.down2, self.mid = block(3, 16), block(16, 32), block(32, 32)
        self.up1, self.up2 = nn.ConvTranspose2d(32, 32, 2, 2), nn.Upsample(scale_factor=2, mode="bilinear")
        self.dec1, self.dec2, self.fc = block(64, 16), block(32, 16), nn.Linear(16, CLASSES)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        y = self.dec1(torch.cat([b, self.up1(self.mid(F.max_pool2d(b, 2)))], 1))
        return self.fc(self.dec2(torch.cat([a, self.up2(y)], 1)).mean((2, 3)))


def image():
    return torch.randn(SAMPLES, 3, 96, 96)


def small(make, **more):
    return lambda: make(num_classes=CLASSES, **more)


MODELS = {
    "ResNet-18": (small(tv.resnet18), image),
    "ResNet-50": (small(tv.resnet50), image),
    "ViT, 12 layers": (lambda: tv.VisionTransformer(96, 16, 12, 4, 64, 128, num_classes=CLASSES), image),
    "ConvNeXt-T": (small(tv.convnext_tiny, stochastic_depth_prob=0.0), image),
    "MobileNetV2": (small(tv.mobilenet_v2, dropout=0.0), image),
    "MobileNetV3-S": (small(tv.mobilenet_v3_small, dropout=0.0), image),
    "EfficientNet-B0": (small(tv.efficientnet_b0, dropout=0.0, stochastic_depth_prob=0.0), image),
    "RegNetY-400MF": (small(tv.regnet_y_400mf), image),
    "DenseNet-121": (small(tv.densenet121), image),
    "ShuffleNetV2": (small(tv.shufflenet_v2_x1_0), image),
    "Swin-T": (lambda: tv.SwinTransformer([4, 4], 96, [2, 2, 6, 2], [3, 6, 12, 24], [7, 7], stochastic_depth_prob=0.0,
                                          num_classes=CLASSES), image),
    "SqueezeNet": (small(tv.squeezenet1_1, dropout=0.0), image),
    "GoogLeNet": (small(tv.googlenet, aux_logits=False, init_weights=False, dropout=0.0), image),
    "U-Net": (Unet, image),
    "LSTM": (lambda: Recurrent(nn.LSTM), lambda: torch.randn(SAMPLES, 30, 20)),
    "GRU": (lambda: Recurrent(nn.GRU), lambda: torch.randn(SAMPLES, 30, 20)),
    "transformer, 12 layers": (lambda: Encoder(False), lambda: torch.randint(0, 50, (SAMPLES, 16))),
    "causal transformer": (lambda: Encoder(True), lambda: torch.randint(0, 50, (SAMPLES, 16))),
}
KINKS = {nn.ReLU: (0,), nn.ReLU6: (0, 6), nn.Hardswish: (-3, 3), nn.Hardsigmoid: (-3, 3)}
CONFIG = """model: {loss: {cross_entropy: [logits, y]}}
data: {source: table, validation_fraction: 0, table: {label: y, normalize: false}}
training: {batch_size: %d, max_steps: 1, optimizer: sgd, lr: 1, optimizer_params: {momentum: 0}}
distributed: {ranks: 1}
""" % SAMPLES


def export(model, x, path, dynamo):
    if dynamo:
        torch.onnx.export(model, (x,), path, dynamo=True, dynamic_shapes=({0: torch.export.Dim("batch")},),
                          input_names=["x"], output_names=["logits"], external_data=False, verbose=False,
                          optimize=False)
    else:
        torch.onnx.export(model, (x,), path, dynamo=False, dynamic_axes={"x": {0: "batch"}, "logits": {0: "batch"}},
                          input_names=["x"], output_names=["logits"], opset_version=20,
                          training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False)


def gradients(model, x, y, dtype):
    model = copy.deepcopy(model).to(dtype).train()
    loss = F.cross_entropy(model(x.to(dtype) if x.is_floating_point() else x), y)
    loss.backward()
    return loss.item(), {k: p.grad.double().numpy() for k, p in model.named_parameters()}


def hooked(model, hook):
    return [m.register_forward_pre_hook(hook) for m in model.modules() if type(m) in KINKS]


def beyond_kinks(model, x, y):
    """The gradients in double precision if inputs of activations that are as near to a kink as their typical error in
    single precision (root of the mean square) are as far on its other side."""
    seen = {torch.float32: [], torch.float64: []}
    hooks = hooked(model, lambda m, v: seen[v[0].dtype].append(v[0].detach().double().clone()))
    for dtype in seen:
        gradients(model, x, y, dtype)
    for hook in hooks:
        hook.remove()
    pairs = zip(*seen.values())

    def mirror(module, inputs):
        single, double = next(pairs)
        error, v = (single - double).square().mean().sqrt(), inputs[0]
        for kink in KINKS[type(module)]:
            v = torch.where((double - kink).abs() < error, 2 * kink - v, v)
        return v

    hooks = hooked(model, mirror)
    found = gradients(model, x, y, torch.float64)[1]
    for hook in hooks:
        hook.remove()
    return found


def far(a, b):
    return float(np.max(np.abs(a - b) / (1 + np.abs(b))))


def trained(graphrun, folder, path, x):
    """The loss and the gradients of a step, the lines of the text and of the one that is not folded."""
    call = lambda *words: subprocess.run([graphrun, *map(str, words)], check=True, capture_output=True, text=True)
    call("import", path, "-o", folder / "m.yaml")
    flat = call("import", "--flat", path).stdout.count("\n")
    call(folder / "c.yaml", f"model.graph={path}", f"data.table.path={folder}/d.npz", f"output.dir={folder}/run",
         f"data.table.dtype={'f32' if x.is_floating_point() else 'i32'}")
    before = load_file(folder / "m.safetensors")
    call("export", folder / "run", folder / "after.safetensors")
    after = load_file(folder / "after.safetensors")
    loss = json.loads((folder / "run/metrics.jsonl").read_text().splitlines()[0])["loss"]
    grads = {k: before[k].astype("f8") - after[k].astype("f8") for k in before if k in after}
    return loss, grads, (folder / "m.yaml").read_text().count("\n"), flat


def row(graphrun, name, dynamo):
    make, sample = MODELS[name]
    torch.manual_seed(1)
    model = make().train()
    x, y = sample(), torch.arange(SAMPLES) % CLASSES
    want_loss, want = gradients(model, x, y, torch.float64)
    loss, grads = gradients(model, x, y, torch.float32)
    moved = beyond_kinks(model, x, y)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "c.yaml").write_text(CONFIG)
        last = x.movedim(1, -1).contiguous() if x.dim() > 3 else x if x.is_floating_point() else x.int()
        np.savez(folder / "d.npz", x=last.numpy(), y=y.int().numpy())
        export(copy.deepcopy(model), x, str(folder / "m.onnx"), dynamo)
        onnx.checker.check_model(str(folder / "m.onnx"))
        got_loss, got, lines, flat = trained(graphrun, folder, folder / "m.onnx", x)
    names = {k: k.replace("in_proj_", "in_proj.") for k in want}
    missing = [k for k in want if names[k] not in got]
    if missing:
        raise ValueError(f"no {missing[0]}")
    worst = max(far(got[names[k]].reshape(want[k].shape), want[k]) for k in want)
    torch_worst, moved_worst = (max(far(g[k], want[k]) for k in want) for g in (grads, moved))
    print(f"| {name} | {'new' if dynamo else 'old'} | {flat} → {lines} | {abs(got_loss - want_loss):.1e} | {worst:.1e} "
          f"| {abs(loss - want_loss):.1e} | {torch_worst:.1e} | {moved_worst:.1e} |", flush=True)


def main():
    torch.set_num_threads(2)
    print("| model | exporter | lines, folded | loss | gradients | PyTorch: loss | gradients | beyond kinks |")
    print("|---" * 8 + "|")
    for name in sys.argv[2:] or MODELS:
        for dynamo in (False, True):
            try:
                row(sys.argv[1], name, dynamo)
            except Exception as error:  # what an exporter cannot write, or graphrun cannot read
                told = getattr(error, "stderr", None) or str(error) or repr(error)
                print(f"| {name} | {'new' if dynamo else 'old'} | {told.splitlines()[0][:160]} |", flush=True)


if __name__ == "__main__":
    main()
