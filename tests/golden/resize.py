"""Writes resize.txt: images scaled by PyTorch, for tests/runtime/data/test_picture.c.

    python3 tests/golden/resize.py >tests/golden/resize.txt"""
import torch

CASES = [(5, 7, 1, 3, 3), (9, 4, 3, 4, 2), (3, 3, 1, 7, 5), (4, 6, 3, 4, 3), (16, 16, 1, 5, 16), (23, 31, 3, 4, 5),
         (1, 1, 3, 2, 2), (2, 9, 1, 1, 1), (8, 5, 1, 13, 2)]
print("# height width channels, those of the result, then its values; made by resize.py with torch", torch.__version__)
for h, w, c, height, width in CASES:
    i, k, ch = torch.meshgrid(torch.arange(h), torch.arange(w), torch.arange(c), indexing="ij")
    x = ((i * 37 + k * 11 + ch * 101 + i * k * 7) % 256).double().permute(2, 0, 1)[None]
    y = torch.nn.functional.interpolate(x, (height, width), mode="bilinear", antialias=True, align_corners=False)
    values = " ".join(f"{v:.3f}" for v in y[0].permute(1, 2, 0).flatten().tolist())
    print(h, w, c, height, width, values)
