"""A vision transformer in PyTorch as its users write it: the reference for graphs/vit.yaml, whose paths its parameters have."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.heads = heads

    def forward(self, x):
        n, t, c = x.shape
        split = lambda y: y.view(n, t, self.heads, c // self.heads).transpose(1, 2)
        y = F.scaled_dot_product_attention(split(self.q(x)), split(self.k(x)), split(self.v(x)))
        return self.o(y.transpose(1, 2).reshape(n, t, c))


class MLP(nn.Module):
    def __init__(self, width, hidden, dropout):
        super().__init__()
        self.up, self.down, self.drop = nn.Linear(width, hidden), nn.Linear(hidden, width), nn.Dropout(dropout)

    def forward(self, x):
        return self.down(self.drop(F.gelu(self.up(x))))


class Layer(nn.Module):
    """The norm of the attention is before it, that of the MLP after its sum."""

    def __init__(self, width, heads, hidden, dropout):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention, self.mlp, self.drop = Attention(width, heads), MLP(width, hidden, dropout), nn.Dropout(dropout)

    def forward(self, x):
        x = x + self.drop(self.attention(self.norm1(x)))
        return self.norm2(x + self.drop(self.mlp(x)))


class Encoder(nn.Module):
    def __init__(self, size, patch, dim, layers, heads, mlp, dropout):
        super().__init__()
        self.stem, self.stem_norm = nn.Conv2d(3, dim, patch, stride=patch), nn.LayerNorm(dim)
        self.positions = nn.Parameter(torch.empty((size // patch) ** 2, dim))
        self.layers = nn.ModuleList(Layer(dim, heads, mlp, dropout) for _ in range(layers))
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        x = self.stem(x).flatten(2).transpose(1, 2)
        x = self.stem_norm(x) + self.positions
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


class Head(nn.Module):
    def __init__(self, width, hidden, classes, dropout):
        super().__init__()
        self.hidden = nn.ModuleList([nn.Linear(width, hidden)])
        self.hidden[0].norm = nn.LayerNorm(hidden)
        self.out, self.drop = nn.Linear(hidden, classes), nn.Dropout(dropout)

    def forward(self, x):
        return self.out(self.drop(F.gelu(self.hidden[0].norm(self.hidden[0](x)))))


class ViT(nn.Module):
    def __init__(self, size=224, patch=8, dim=768, layers=12, heads=12, mlp=3072, head=512, classes=6,
                 dropout=0.1, encoder_dropout=0.1):
        super().__init__()
        self.encoder = Encoder(size, patch, dim, layers, heads, mlp, encoder_dropout)
        self.head = Head(dim, head, classes, dropout)
        for name, p in self.named_parameters():
            if p.dim() > 1:
                nn.init.trunc_normal_(p, std=0.02, a=-0.04, b=0.04)
            elif name.endswith("bias"):
                nn.init.zeros_(p)

    def forward(self, x):
        """x: bytes [n, height, width, 3]."""
        mean, std = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
        x = (x / 255 - mean.to(x.device)) / std.to(x.device)
        return self.head(self.encoder(x.permute(0, 3, 1, 2)).mean(1))


if __name__ == "__main__":
    model = ViT()
    print(sum(p.numel() for p in model.parameters()), sum(p.numel() for p in model.head.parameters()))
