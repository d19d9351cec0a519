"""The network of `graphrun new` in PyTorch with the adapter that graphrun has exported, loaded by PEFT, and the same
merged by graphrun: compares the predictions of both with those that `graphrun predict` wrote.

    in_peft.py BASE.safetensors ADAPTER_FOLDER MERGED.safetensors RUN ROWS.csv PREDICTIONS.jsonl"""
import csv, json, pathlib, sys
import torch
from peft import PeftModel
from safetensors.torch import load_file
from torch import nn

base, adapter, merged, run, rows, predictions = map(pathlib.Path, sys.argv[1:])


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
x = torch.tensor([[float(row[name]) for name in data["features"]] for row in csv.DictReader(open(rows))])
x = (x - torch.tensor(data["mean"])) * torch.tensor(data["scale"])
said = torch.tensor([list(json.loads(line)["probabilities"].values()) for line in open(predictions)])


def net(weights):
    model = Net(len(data["features"]), 32, 2, len(data["class_names"]))
    model.load_state_dict(load_file(weights))
    return model


with torch.no_grad():
    plain = net(base)(x).softmax(1)
    adapted = PeftModel.from_pretrained(net(base), adapter).eval()(x).softmax(1)
    folded = net(merged)(x).softmax(1)
assert (plain - said).abs().max() > 1e-3, "the adapter changes nothing"
assert (adapted - said).abs().max() < 1e-6, (adapted - said).abs().max()
assert (folded - said).abs().max() < 1e-6, (folded - said).abs().max()
