#!/usr/bin/env python3
"""Memory for time: PyTorch's activation_memory_budget against training.memory, on the transformer of configs/gpt.yaml,
without dropout and with learned positions.

budget_torch.py [GRAPHRUN] [--steps=N] [--backend=aot_eager_decomp_partition]    one thread, with PyTorch

PyTorch's partitioner (min-cut rematerialization, with a budget below 1 a knapsack over what costs more) decides what
the backward pass reads; that is counted: bytes of the storages that are saved for it, without parameters and inputs.
Times are those of the processor for forward and backward pass, medians of ratios to the eager step that ran just
before. For graphrun the same budget is a limit of what is left for the arena beside what states take; its figures are
those of the plan, on as many rows.
"""
import json
import os
import re
import statistics
import subprocess
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

BUDGETS = (1.0, 0.7, 0.5, 0.3)
ROWS, CONTEXT, DIM, LAYERS, HEADS, VOCAB = 8, 256, 128, 4, 4, 256
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.qkv, self.out = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)
        self.up, self.down = nn.Linear(DIM, 4 * DIM), nn.Linear(4 * DIM, DIM)

    def forward(self, x):
        n, t, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).reshape(n, t, 3, HEADS, DIM // HEADS).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(n, t, DIM)
        x = x + self.out(a)
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCAB, DIM), nn.Parameter(torch.randn(CONTEXT, DIM) * 0.02)
        self.layers, self.norm = nn.ModuleList(Layer() for _ in range(LAYERS)), nn.LayerNorm(DIM)

    def forward(self, x, y):
        h = self.tokens(x) + self.positions
        for layer in self.layers:
            h = layer(h)
        logits = self.norm(h) @ self.tokens.weight.t()
        return F.cross_entropy(logits.flatten(0, 1), y.flatten())


def saved_bytes(step, model, given):
    """Bytes of what is saved for the backward pass, each storage once."""
    known = {t.untyped_storage().data_ptr() for t in [*model.parameters(), *given]}
    found = {}

    def pack(t):
        storage = t.untyped_storage()
        if storage.data_ptr() not in known:
            found[storage.data_ptr()] = storage.nbytes()
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        loss = step(*given)
    bytes_ = sum(found.values())
    loss.backward()
    return bytes_


def seconds(step, model, given):
    begin = time.process_time()
    step(*given).backward()
    model.zero_grad(set_to_none=True)
    return time.process_time() - begin


def of_torch(steps, backend):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    given = (torch.randint(VOCAB, (ROWS, CONTEXT)), torch.randint(VOCAB, (ROWS, CONTEXT)))
    model = Model()
    rows = [("eager", saved_bytes(model, model, given), 1.0)]
    for budget in BUDGETS:
        torch._dynamo.reset()  # of what was compiled with another budget nothing is left
        torch._functorch.config.activation_memory_budget = budget
        step = torch.compile(model, backend=backend)
        step(*given).backward()
        kept = saved_bytes(step, model, given)
        ratios = []
        for _ in range(steps):
            eager = seconds(model, model, given)
            ratios.append(seconds(step, model, given) / eager)
        rows.append((f"budget {budget}", kept, statistics.median(ratios)))
    whole, base = rows[1][1], rows[1][2]
    for name, kept, time_ in rows:
        print(f"| PyTorch, {name} | {kept / 1e6:.1f} MB | {kept / whole:.2f} | {time_ / base:.2f} |", flush=True)


def of_graphrun(program):
    given = ["plan", "configs/gpt.yaml", "distributed.ranks=1", f"training.batch_size={ROWS}", "training.accumulate=1",
             "model.params.rotary=0", "model.params.dropout=0"]

    def plan(*more):
        done = subprocess.run([program, *given, *more], cwd=ROOT, capture_output=True, text=True, check=False)
        return done.stdout, done.stderr

    free = json.loads(plan("--json")[0])
    states, arena = free["state_bytes"], free["arena_bytes"]
    print(f"| graphrun, no limit | {arena / 1e6:.1f} MB | 1.00 | 1.00 |")
    for budget in BUDGETS[1:]:
        text, error = plan(f"training.memory={(states + budget * arena) / 1e3:.3f}kB")
        note = re.search(r"training.memory [^:]*: (.*): ([0-9.]+) MB of the .*, for ([0-9.]+) of the", text)
        if not note:
            print(f"| graphrun, {budget} | {error.strip().splitlines()[0][:90]} | | |")
            continue
        left = float(note[2]) * 1e6 - states
        keys = re.sub(r"training.recompute=", "", note[1])
        print(f"| graphrun, {budget}: `{keys}` | {left / 1e6:.1f} MB | {left / arena:.2f} | {note[3]} predicted |")


def main():
    named = dict(a[2:].split("=", 1) for a in sys.argv[1:] if a.startswith("--"))
    programs = [a for a in sys.argv[1:] if not a.startswith("--")]
    print("| | kept for the backward pass, or arena | of all | time |\n|---|---|---|---|")
    of_torch(int(named.get("steps", 5)), named.get("backend", "aot_eager_decomp_partition"))
    of_graphrun(os.path.abspath(programs[0]) if programs else os.path.join(ROOT, "build/graphrun"))


main()
