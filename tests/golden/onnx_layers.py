#!/usr/bin/env python3
"""Makes more of tests/golden/onnx/, as onnx_models.py does: models that torch.onnx.export has written, each with a
batch, and the loss and the gradients of its weights that PyTorch computes for it.

    python3 tests/golden/onnx_layers.py [NAME...]     # needs torch, onnx, onnxscript and numpy
"""
import pathlib
import sys
import numpy as np
import onnx
import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
from onnx_models import OUT, SAMPLES, nudged



class Einsums(nn.Module):
    """Attention whose weights are [c, heads, size], linear attention, graph convolution, and other products."""

    def __init__(self):
        super().__init__()
        def weight(*shape):
            return nn.Parameter(torch.randn(shape) * 0.3)
        self.q, self.k, self.v, self.o = weight(5, 2, 4), weight(5, 2, 4), weight(5, 2, 4), weight(2, 4, 6)
        self.edges, self.pair, self.one, self.fc = weight(7, 7), weight(6, 5, 6), weight(6), nn.Linear(6, 3)

    def forward(self, x):
        q, k = torch.einsum("btc,chd->bthd", x, self.q), torch.einsum("btc,chd->bhtd", x, self.k)
        v = torch.einsum("...tc,chd->...htd", x, self.v)
        a = torch.einsum("bthd,bhsd->bhts", q, k).softmax(-1)
        y = torch.einsum("bthd,hdc->btc", torch.einsum("bhts,bhsd->bthd", a, v), self.o)
        y = y + torch.einsum("vw,nwc->nvc", self.edges, y) + torch.einsum("nwc,vw->nvc", y, self.edges)
        sums, scores = torch.einsum("btc->bc", y), torch.einsum("btc,c->bt", y, self.one)
        z = torch.einsum("bc,cde,bd->be", sums, self.pair, torch.einsum("bt,btc->bc", scores, x))
        z = z + torch.einsum("nlc,nce,nl->nle", y, torch.einsum("nsc,nse->nce", y, y), scores).sum(1)
        z = 0.01 * z + torch.einsum("bi,bj->bij", sums, z).sum(2) * torch.einsum("bc,bc->b", z, sums)[:, None] * 1e-5
        return self.fc(z)


class Experts(nn.Module):
    """A mixture of experts: of the weights of all of them, those of the best two by scatter, by one_hot and by where."""

    def __init__(self):
        super().__init__()
        self.gate, self.up = nn.Linear(5, 4), nn.Parameter(torch.randn(4, 5, 6) * 0.3)
        self.down, self.fc = nn.Parameter(torch.randn(4, 6, 5) * 0.3), nn.Linear(5, 3)

    def forward(self, x):
        logits = self.gate(x)
        p, i = logits.topk(2, dim=-1)
        weights = torch.zeros_like(logits).scatter(-1, i, p.softmax(-1))
        weights = weights + (F.one_hot(i, 4) * p.unsqueeze(-1)).sum(-2)
        weights = weights + torch.where(i[..., 1:] == torch.arange(4), 0.5, 0.0)
        y = torch.einsum("btef,efc->btec", F.silu(torch.einsum("btc,ecf->btef", x, self.up)), self.down)
        y = (y * weights.unsqueeze(-1)).sum(2)
        low, order = y.sort(dim=1)
        rest = x.topk(2, dim=1, largest=False)[0].sum(1) + low[:, 2] + 0.1 * order[:, 0]
        counts = torch.zeros(x.shape[0], 5).scatter_add(1, order[..., 0].clamp(max=4), torch.ones_like(y[..., 0]))
        return self.fc(y.mean(1) + rest + 0.1 * counts)


class States(nn.Module):
    """Recurrent layers without biases, which start where others end, at computed states, and at learned ones."""

    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.LSTM(5, 4, 2, batch_first=True), nn.LSTM(3, 4, 2, batch_first=True, bias=False)
        self.both = nn.LSTM(4, 3, 1, batch_first=True, bidirectional=True)
        self.first, self.cell = nn.Parameter(torch.randn(2, 1, 3)), nn.Parameter(torch.randn(2, 1, 3))
        self.gru, self.plain = nn.GRU(6, 4, 1, batch_first=True, bias=False), nn.GRU(4, 4, 2, batch_first=True, bias=False)
        self.rnn, self.bare = nn.RNN(4, 5, 1, bidirectional=True), nn.RNN(10, 4, 1, batch_first=True, bias=False)
        self.state, self.fc = nn.Linear(5, 4), nn.Linear(4, 3)

    def forward(self, x):
        n = x.shape[0]
        _, state = self.encoder(x)
        y, (_, cells) = self.decoder(x[:, :, :3], state)
        z, (_, end) = self.both(y, (self.first.expand(-1, n, -1).contiguous(), self.cell.expand(-1, n, -1).contiguous()))
        g, last = self.gru(z, torch.tanh(self.state(x[:, 0]))[None])
        r, _ = self.rnn(self.plain(g)[0].transpose(0, 1), torch.cat([x[None, :, 1], x[None, :, 2]]))
        b, h = self.bare(r.transpose(0, 1))
        return self.fc(b.mean(1) + h[0] + last[0] + cells[1] + F.pad(end.sum(0), (0, 1)))


class Indices(nn.Module):
    """Elements by indices that are constants in no grid, or one for each sample, slices that are assigned, and tables of
    which a part is read, or which are repeated."""

    def __init__(self):
        super().__init__()
        self.emb, self.fc = nn.Linear(5, 6), nn.Linear(6, 3)
        self.table, self.rows = nn.Embedding(9, 6), nn.Parameter(torch.randn(1, 7, 6))
        self.register_buffer("near", torch.tensor([[0, 1, 2], [4, 2, 3]]))

    def forward(self, x):
        y, n = self.emb(x) + self.table(torch.arange(7)) + self.rows.expand(x.shape[0], -1, -1), torch.arange(x.shape[0])
        i, j = torch.triu_indices(4, 4, 1)
        pairs = torch.bmm(y[:, :4], y[:, :4].transpose(1, 2))[:, i, j]
        last = (x[:, :, 0] > 0).sum(1).clamp(min=1) - 1
        best = y.sum(-1).topk(3)[1]
        z = y.clone()
        z[:, 1:3, 2:5] = x[:, 4:6, :3]
        z[:, 0] = 0.5
        z = z.mean(1) + pairs + y[n, last] + y[n[:, None], best].mean(1) + y[:, :, self.near].sum((1, 2)).repeat(1, 2)
        return self.fc(z + y.sum(-1)[n, best[:, 1]][:, None])


class Vectors(nn.Module):
    """Products with vectors and with factors, weights of no layer, and positions by powers of a number."""

    def __init__(self):
        super().__init__()
        self.right, self.left = nn.Parameter(torch.randn(6) * 0.3), nn.Parameter(torch.randn(7) * 0.3)
        self.w, self.b = nn.Parameter(torch.randn(5, 6) * 0.3), nn.Parameter(torch.randn(6) * 0.3)
        self.turned, self.fc = nn.Parameter(torch.randn(6, 6) * 0.3), nn.Linear(6, 3)

    def forward(self, x):
        y = torch.matmul(x, self.w)
        t, d = torch.arange(7.0), torch.arange(3.0)
        angles = torch.outer(t, 1.0 / 100 ** (d / 3))
        y = y * torch.cat([angles.cos(), angles.sin()], 1) + 1.5 ** y
        a = F.linear(torch.matmul(self.left, y), self.turned)
        a = a + ((y @ self.right).unsqueeze(1) @ y).squeeze(1)
        z = torch.addmm(self.b, x[:, 0], self.w, beta=0.5, alpha=2.0)
        return self.fc(torch.addmm(z, a, self.turned, beta=0.25, alpha=-0.5))


class Buffers(nn.Module):
    """What the newer exporter says to be no parameter: it stays as it is."""

    def __init__(self):
        super().__init__()
        self.body, self.norm, self.fc = nn.Linear(5, 8), nn.BatchNorm1d(8), nn.Linear(8, 3)
        self.register_buffer("features", torch.randn(8, 8) * 0.3)
        self.register_buffer("mask", (torch.arange(8) % 3 > 0).float(), persistent=False)

    def forward(self, x):
        return self.fc(self.norm(torch.relu(self.body(x) @ self.features) * self.mask))


def series(c=5):
    return lambda: torch.randn(SAMPLES, 7, c)


MODELS = {"einsums": (Einsums, series()), "experts": (Experts, series()), "states": (States, series()),
          "indices": (Indices, series()), "vectors": (Vectors, series()), "buffers": (Buffers, lambda: torch.randn(SAMPLES, 5))}
NEWER = ("buffers",)  # by the newer exporter alone


def export(model, x, path, dynamo):
    if dynamo:
        torch.onnx.export(model, (x,), path, dynamo=True, dynamic_shapes=({0: torch.export.Dim("batch")},),
                          input_names=["x"], output_names=["logits"], external_data=False, verbose=False, optimize=False)
    else:
        torch.onnx.export(model, (x,), path, dynamo=False, dynamic_axes={"x": {0: "batch"}, "logits": {0: "batch"}},
                          input_names=["x"], output_names=["logits"], opset_version=20,
                          training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False)


def strip(path, keeps):
    """Takes out the traces of the program that made it; keeps: but what it says of the initializers."""
    model = onnx.load(path)
    kept = [v for v in model.graph.value_info if keeps and v.name in {i.name for i in model.graph.initializer}]
    del model.graph.value_info[:], model.graph.metadata_props[:], model.metadata_props[:]
    model.graph.value_info.extend(kept)
    for node in model.graph.node:
        del node.metadata_props[:]
        node.doc_string = ""
    onnx.save(model, path)


def main():
    for name, (make, sample) in MODELS.items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        model = nudged(make)
        x, y = sample(), torch.arange(SAMPLES) % 3
        for dynamo in (True,) if name in NEWER else (False, True):
            path = str(OUT / f"{name}{'_dynamo' if dynamo else ''}.onnx")
            export(model, x, path, dynamo)
            strip(path, name == "buffers")
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        np.savez(OUT / f"{name}_data.npz", x=x.numpy(), y=y.int().numpy())
        np.savez(OUT / f"{name}_grads.npz", loss=np.float32(loss.item()),
                 **{k: p.grad.numpy() for k, p in model.named_parameters()})


if __name__ == "__main__":
    main()
