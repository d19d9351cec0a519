"""A convolutional network over clips in PyTorch as its users write it: the reference for graphs/cnn3d.yaml, whose paths its
parameters and buffers have."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Stage(nn.Module):
    def __init__(self, channels, out, pool):
        super().__init__()
        self.conv, self.norm = nn.Conv3d(channels, out, 3, padding=1, bias=False), nn.BatchNorm3d(out)
        self.pool = pool

    def forward(self, x):
        return F.max_pool3d(F.relu(self.norm(self.conv(x))), self.pool)


class CNN3D(nn.Module):
    def __init__(self, filters=32, hidden=512, classes=7, dropout=0.5):
        super().__init__()
        self.stage1, self.stage2 = Stage(1, filters, (1, 2, 2)), Stage(filters, 2 * filters, 2)
        self.stage3, self.stage4 = Stage(2 * filters, 4 * filters, 2), Stage(4 * filters, 8 * filters, 2)
        self.hidden1, self.hidden2 = nn.Linear(8 * filters, hidden), nn.Linear(hidden, hidden // 2)
        self.head, self.drop = nn.Linear(hidden // 2, classes), nn.Dropout(dropout)

    def forward(self, x):
        """x: bytes [n, frames, height, width, 1]."""
        x = x.permute(0, 4, 1, 2, 3).to(self.head.weight.dtype) / 255
        x = self.stage4(self.stage3(self.stage2(self.stage1(x)))).mean((2, 3, 4))
        x = self.drop(F.relu(self.hidden1(x)))
        return self.head(self.drop(F.relu(self.hidden2(x))))


if __name__ == "__main__":
    for filters in (32, 48):
        print(filters, sum(p.numel() for p in CNN3D(filters).parameters()))
