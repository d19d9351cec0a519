#!/usr/bin/env python3
"""A training step of PyTorch on a GPU, timed as bench_gpu times graphrun's; tools/bench-gpu drives it.

  bench_gpu_torch.py MODEL PRECISION HOW SIZES [DEVICE]

MODEL: lmu_asr, mlp or encoder; PRECISION: fp32, tf32 or bf16 (autocast); SIZES: JSON. HOW: `eager`, as users write it;
`compiled`: torch.compile (max-autotune; of the recurrent model, whose loop is Python, the step of the loop), and the whole
training step as one CUDA graph where it can be captured. One line of JSON after the first steps; then for each number
that is read, so many steps and another line."""
import json, pathlib, sys, time
began = time.perf_counter()
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "golden"))
sys.dont_write_bytecode = True
import torch
import torch.nn as nn
import torch.nn.functional as F
import lmu_asr_torch

name, precision, how, sizes = sys.argv[1], sys.argv[2], sys.argv[3], json.loads(sys.argv[4])
device = sys.argv[5] if len(sys.argv) > 5 else "cuda"
on_gpu = device == "cuda"
torch.manual_seed(1)
torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"

class Encoder(nn.Module):
    """graphs/encoder.yaml, with PyTorch's own layers (fused attention)."""
    def __init__(self, s):
        super().__init__()
        layer = nn.TransformerEncoderLayer(s["dim"], s["heads"], 4 * s["dim"], s["dropout"], "gelu", batch_first=True, norm_first=True)
        self.symbols = nn.Embedding(s["vocab"], s["dim"])
        self.positions = nn.Parameter(torch.randn(s["t"], s["dim"]) * 0.02)
        self.layers = nn.TransformerEncoder(layer, s["layers"], nn.LayerNorm(s["dim"]), enable_nested_tensor=False)
        self.dropout, self.head = nn.Dropout(s["dropout"]), nn.Linear(s["dim"], s["classes"])

    def forward(self, x):
        return self.head(self.layers(self.dropout(self.symbols(x) + self.positions)).mean(1))

def mlp(s):
    widths = [s["features"]] + [s["dim"]] * s["layers"]
    parts = []
    for a, b in zip(widths, widths[1:]):
        parts += [nn.Linear(a, b), nn.ReLU(), nn.Dropout(s["dropout"])]
    return nn.Sequential(*parts, nn.Linear(widths[-1], s["classes"]))

def cell(x, h, m, e_x, e_h, e_m, w_x, w_h, w_m, a, b):
    u = F.linear(x, e_x) + F.linear(h, e_h) + F.linear(m, e_m)
    m = F.linear(m, a) + u @ b
    return torch.tanh(F.linear(x, w_x) + F.linear(h, w_h) + F.linear(m, w_m)), m

def compile_loops(model):
    one = torch.compile(cell, mode="max-autotune-no-cudagraphs", dynamic=False)
    def forward(self, x):
        h, m, out = x.new_zeros(x.shape[0], self.W_h.shape[0]), x.new_zeros(x.shape[0], self.A.shape[0]), []
        for t in range(x.shape[1]):
            h, m = one(x[:, t], h, m, self.e_x, self.e_h, self.e_m, self.W_x, self.W_h, self.W_m, self.A, self.B)
            out.append(h)
        return torch.stack(out, 1)
    lmu_asr_torch.LMU.forward = forward
    return model

def build():
    """(parameters' owner, a function that gives the loss)"""
    s, n = sizes, sizes["n"]
    if name == "lmu_asr":
        model = lmu_asr_torch.LMUASR(**s["model"]).to(device)
        x, lengths = torch.randn(n, s["t"], model.input_projection.in_features, device=device), torch.full((n,), s["t"])
        targets, target_lengths = torch.randint(0, 20, (n, s["u"]), device=device), torch.full((n,), s["u"])
        on_device, weight = lengths.to(device), torch.full((n,), 1.0 / s["u"], device=device)
        run = compile_loops(model) if how == "compiled" else model
        def loss():
            logits, _ = run(x, on_device)
            each = F.ctc_loss(logits.float().log_softmax(-1).transpose(0, 1), targets, lengths, target_lengths,
                              blank=logits.shape[-1] - 1, reduction="none", zero_infinity=True)
            return (each * weight).mean()
        return model, loss
    y = torch.randint(0, s["classes"], (n,), device=device)
    if name == "mlp":
        model, x = mlp(s).to(device), torch.randn(n, s["features"], device=device)
    else:
        model, x = Encoder(s).to(device), torch.randint(0, s["vocab"], (n, s["t"]), device=device)
    run = torch.compile(model, mode="max-autotune-no-cudagraphs", dynamic=False) if how == "compiled" else model
    return model, lambda: F.cross_entropy(run(x).float(), y)

def wait():
    if on_gpu:
        torch.cuda.synchronize()

model, loss_of = build()
optimizer = torch.optim.AdamW(model.parameters(), 1e-4, **({"fused": True, "capturable": True} if on_gpu and how == "compiled" else {}))
last = torch.zeros((), device=device)

def step():
    optimizer.zero_grad(set_to_none=how == "eager")
    with torch.autocast(device, torch.bfloat16, enabled=precision == "bf16", cache_enabled=how == "eager"):
        loss = loss_of()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    last.copy_(loss.detach())

def capture():
    """The step as one CUDA graph; what happened, in words."""
    global step
    side, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    try:
        with torch.cuda.graph(graph):
            step()
    except Exception as e:
        torch.cuda.synchronize()
        return "not captured: " + str(e).splitlines()[0][:200]
    step = graph.replay
    return "the whole step is one CUDA graph"

def say(**what):
    print(json.dumps(what), flush=True)

for _ in range(2):
    step()
wait()
note = "eager"
if how == "compiled":
    note = capture() if on_gpu else "compiled"
    step()
    wait()
say(torch=torch.__version__, note=note, ready_s=time.perf_counter() - began, loss=float(last),
    parameters=sum(p.numel() for p in model.parameters()))
for line in sys.stdin:
    steps = int(line)
    wait()
    began, host = time.perf_counter(), 0.0
    for _ in range(steps):
        step()
    host = time.perf_counter() - began
    wait()
    say(steps=steps, step_s=(time.perf_counter() - began) / steps, host_s=host / steps, loss=float(last),
        allocated_mb=torch.cuda.max_memory_allocated() / 1e6 if on_gpu else 0)
