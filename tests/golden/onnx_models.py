#!/usr/bin/env python3
"""Makes tests/golden/onnx/: small models that torch.onnx.export has written, each with a batch, and the loss and
the gradients of its weights that PyTorch computes for it.

    python3 tests/golden/onnx_models.py     # needs torch, onnx, onnxscript and numpy
"""
import pathlib
import numpy as np
import onnx
import torch
from torch import nn
from torch.nn import functional as F

OUT = pathlib.Path(__file__).parent / "onnx"
SAMPLES = 6


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.norm, self.head = nn.Linear(5, 16), nn.LayerNorm(16), nn.Linear(16, 3)

    def forward(self, x):
        return self.head(F.gelu(self.norm(self.body(x))))


class Block(nn.Module):
    def __init__(self, c, out, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(c, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out)
        self.conv2, self.bn2 = nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out)
        self.down = nn.Sequential(nn.Conv2d(c, out, 1, stride, bias=False), nn.BatchNorm2d(out)) if stride > 1 else None

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + (self.down(x) if self.down else x))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1, self.pool = nn.Conv2d(3, 6, 3, 1, 1, bias=False), nn.BatchNorm2d(6), nn.MaxPool2d(3, 2, 1)
        self.layer1, self.layer2 = Block(6, 6, 1), Block(6, 8, 2)
        self.avg, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(8, 3)

    def forward(self, x):
        x = self.pool(torch.relu(self.bn1(self.conv1(x))))
        return self.fc(torch.flatten(self.avg(self.layer2(self.layer1(x))), 1))


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.fc = nn.LSTM(5, 6, 2, batch_first=True, bidirectional=True), nn.Linear(12, 3)

    def forward(self, x):
        return self.fc(self.lstm(x)[0][:, -1])


def encoder(layers, activation):
    layer = nn.TransformerEncoderLayer(16, 4, 24, 0.0, activation, batch_first=True, norm_first=True)
    return nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.pos = nn.Embedding(20, 16), nn.Parameter(torch.randn(1, 7, 16) * 0.02)
        self.enc, self.fc = encoder(3, "relu"), nn.Linear(16, 3)

    def forward(self, x):
        return self.fc(self.enc(self.emb(x) + self.pos).mean(1))


class Vit(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch, self.cls = nn.Conv2d(3, 16, 4, 4), nn.Parameter(torch.randn(1, 1, 16) * 0.02)
        self.pos = nn.Parameter(torch.randn(1, 5, 16) * 0.02)
        self.enc, self.norm, self.head = encoder(2, "gelu"), nn.LayerNorm(16), nn.Linear(16, 3)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], 1) + self.pos
        return self.head(self.norm(self.enc(x))[:, 0])


MODELS = {
    "mlp": (Mlp, lambda: torch.randn(SAMPLES, 5)),
    "resnet": (ResNet, lambda: torch.randn(SAMPLES, 3, 16, 16)),
    "lstm": (Lstm, lambda: torch.randn(SAMPLES, 7, 5)),
    "transformer": (Transformer, lambda: torch.randint(0, 20, (SAMPLES, 7))),
    "vit": (Vit, lambda: torch.randn(SAMPLES, 3, 8, 8)),
}


def export(model, x, path, dynamo):
    """By both exporters of PyTorch: what one folds and renames, the other writes as it is."""
    if dynamo:
        torch.onnx.export(model, (x,), path, dynamo=True, dynamic_shapes=({0: torch.export.Dim("batch")},),
                          input_names=["x"], output_names=["logits"], external_data=False, verbose=False)
    else:
        torch.onnx.export(model, (x,), path, dynamo=False, dynamic_axes={"x": {0: "batch"}, "logits": {0: "batch"}},
                          input_names=["x"], output_names=["logits"], opset_version=20,
                          training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False)


def strip(path):
    """What is no part of the model: the traces of the program that made it."""
    model = onnx.load(path)
    del model.graph.value_info[:], model.graph.metadata_props[:], model.metadata_props[:]
    for node in model.graph.node:
        del node.metadata_props[:]
        node.doc_string = ""
    onnx.save(model, path)


def main():
    OUT.mkdir(exist_ok=True)
    for name, (make, sample) in MODELS.items():
        torch.manual_seed(1)
        model = make().train()
        with torch.no_grad():  # no two weights are equal, or the exporter merges them
            for p in model.parameters():
                p.add_(torch.randn_like(p) * 0.05)
        x, y = sample(), torch.arange(SAMPLES) % 3
        export(model, x, str(OUT / f"{name}.onnx"), dynamo=False)
        if name != "resnet":  # this exporter writes no normalisation that trains
            export(model, x, str(OUT / f"{name}_dynamo.onnx"), dynamo=True)
        for path in OUT.glob(f"{name}*.onnx"):
            strip(str(path))
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        last = x.permute(0, 2, 3, 1) if x.dim() == 4 else x
        last = last.int() if last.dtype == torch.int64 else last
        np.savez(OUT / f"{name}_data.npz", x=last.numpy(), y=y.int().numpy())
        grads = {f"{k}": p.grad.numpy() for k, p in model.named_parameters()}
        np.savez(OUT / f"{name}_grads.npz", loss=np.float32(loss.item()), **grads)


if __name__ == "__main__":
    main()
