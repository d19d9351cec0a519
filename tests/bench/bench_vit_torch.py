"""Times a training step of a vision transformer as in configs/har, in PyTorch: AdamW, clipping, label smoothing.

    bench_vit_torch.py THREADS STEPS BATCH SIZE FROZEN HOW NAME=VALUE...   prints the median of the steps' seconds

HOW is `eager`, or `compiled`: by torch.compile, which takes a C++ compiler a minute."""
import pathlib
import statistics
import sys
import time
import torch
import torch.nn.functional as F

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "golden"))
from torch_step import fused  # noqa: E402
from vit_torch import ViT  # noqa: E402

threads, steps, batch, size, frozen = map(int, sys.argv[1:6])
how = sys.argv[6]
torch.set_num_threads(threads)
torch.manual_seed(1)
model = ViT(size=size, **{k: int(v) for k, v in (a.split("=") for a in sys.argv[7:])})
for p in model.encoder.parameters():
    p.requires_grad_(not frozen)
run = torch.compile(model) if how == "compiled" else model
optimizer = fused(torch.optim.AdamW, (p for p in model.parameters() if p.requires_grad), 1e-3, weight_decay=1e-4)
x, y = torch.randint(0, 256, (batch, size, size, 3), dtype=torch.uint8), torch.arange(batch) % 6
seconds = []
for _ in range(steps + 2):
    start = time.perf_counter()
    optimizer.zero_grad()
    loss = F.cross_entropy(run(x), y, label_smoothing=0.1)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    loss.item()
    seconds.append(time.perf_counter() - start)
print(f"{statistics.median(seconds[2:]):.5f} s, loss {loss.item():.4f}")
