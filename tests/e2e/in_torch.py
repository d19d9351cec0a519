"""The network of `graphrun new` in PyTorch, from exported weights: compares its predictions with those
that `graphrun predict` wrote, and saves its weights for model.init_from.

    in_torch.py WEIGHTS.safetensors RUN ROWS.csv PREDICTIONS.jsonl OUT.safetensors"""
import csv, json, pathlib, sys
import torch
from safetensors.torch import load_file, save_file
from torch import nn

weights, run, rows, predictions, out = map(pathlib.Path, sys.argv[1:])


class Net(nn.Module):
    def __init__(self, features, width, layers, classes):
        super().__init__()
        sizes = [features] + [width] * layers
        self.body = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        for layer in self.body:
            x = torch.relu(layer(x))
        return self.head(x)


data = json.load(open(run / "data.json"))
model = Net(len(data["features"]), 32, 2, len(data["class_names"]))
model.load_state_dict(load_file(weights))
model.eval()
x = torch.tensor([[float(row[name]) for name in data["features"]] for row in csv.DictReader(open(rows))])
x = (x - torch.tensor(data["mean"])) * torch.tensor(data["scale"])
with torch.no_grad():
    p = model(x).softmax(1)
said = [json.loads(line) for line in open(predictions)]
assert len(said) == len(p)
for line, row in zip(said, p):
    assert line["class"] == data["class_names"][row.argmax()], line
    difference = row - torch.tensor(list(line["probabilities"].values()))
    assert difference.abs().max() < 1e-6, (line, row)
save_file({k: v.contiguous().clone() for k, v in model.state_dict().items()}, out)
