"""LMU-ASR in PyTorch as its users write it, a loop over time steps: the reference for graphs/lmu_asr.yaml.

The cell is that of Voelker, Kajic, Eliasmith (2019). Parameters have the paths graphrun gives them."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F


def legendre(order, theta):
    """A and B of the memory, discretised by zero-order hold with a step of 1, in double."""
    i = torch.arange(order, dtype=torch.float64)
    rate = (2 * i + 1) / theta
    sign = torch.where(i[:, None] < i[None, :], -1.0, (-1.0) ** (i[:, None] - i[None, :] + 1))
    both = torch.zeros(order + 1, order + 1, dtype=torch.float64)
    both[:order, :order] = rate[:, None] * sign
    both[:order, order] = rate * (-1.0) ** i
    both = torch.matrix_exp(both)
    return both[:order, :order], both[:order, order]


class LMU(nn.Module):
    def __init__(self, width, hidden, memory, theta):
        super().__init__()
        self.e_x, self.e_h = nn.Parameter(torch.empty(1, width)), nn.Parameter(torch.empty(1, hidden))
        self.e_m = nn.Parameter(torch.zeros(1, memory))
        self.W_x = nn.Parameter(torch.empty(hidden, width))
        self.W_h = nn.Parameter(torch.empty(hidden, hidden))
        self.W_m = nn.Parameter(torch.empty(hidden, memory))
        for e in (self.e_x, self.e_h):
            limit = math.sqrt(3 / e.shape[1])
            nn.init.uniform_(e, -limit, limit)
        for w in (self.W_x, self.W_h, self.W_m):
            nn.init.xavier_normal_(w)
        a, b = legendre(memory, theta)
        self.register_buffer("A", a.to(self.e_x.dtype), persistent=False)
        self.register_buffer("B", b.to(self.e_x.dtype)[None], persistent=False)

    def forward(self, x):
        h = x.new_zeros(x.shape[0], self.W_h.shape[0])
        m = x.new_zeros(x.shape[0], self.A.shape[0])
        out = []
        for t in range(x.shape[1]):
            u = F.linear(x[:, t], self.e_x) + F.linear(h, self.e_h) + F.linear(m, self.e_m)
            m = F.linear(m, self.A) + u @ self.B
            h = torch.tanh(F.linear(x[:, t], self.W_x) + F.linear(h, self.W_h) + F.linear(m, self.W_m))
            out.append(h)
        return torch.stack(out, 1)


class SelfAttention(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.heads, self.dropout = heads, dropout

    def forward(self, x, lengths):
        n, t, c = x.shape
        split = lambda y: y.view(n, t, self.heads, c // self.heads).transpose(1, 2)
        scores = split(self.q(x)) @ split(self.k(x)).transpose(2, 3) / math.sqrt(c // self.heads)
        beyond = torch.arange(t, device=lengths.device)[None, :] >= lengths[:, None]
        scores = scores.masked_fill(beyond[:, None, None, :], float("-inf"))
        p = F.dropout(scores.softmax(-1), self.dropout, self.training)
        return self.o((p @ split(self.v(x))).transpose(1, 2).reshape(n, t, c))


class Halve(nn.Conv1d):
    def __init__(self, width, out):
        super().__init__(width, out, 3, stride=2, padding=1)

    def forward(self, x, lengths):
        x = F.relu(super().forward(x.transpose(1, 2))).transpose(1, 2)
        lengths = (lengths + 1) // 2
        keep = torch.arange(x.shape[1], device=lengths.device)[None, :] < lengths[:, None]
        return x * keep[:, :, None], lengths


class Layer(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.attention = SelfAttention(p["hidden"], p["heads"], p["dropout"])
        self.attention_norm = nn.LayerNorm(p["hidden"])
        self.lmu = LMU(p["hidden"], p["hidden"], p["memory"], p["theta"])
        self.norm = nn.LayerNorm(p["hidden"])
        self.residual, self.dropout = p["lmu_residual"], p["dropout"]

    def forward(self, x, lengths):
        x = self.attention_norm(self.attention(x, lengths) + x)
        y = self.lmu(x)
        return F.dropout(self.norm(y + x if self.residual else y), self.dropout, self.training)


class LMUASR(nn.Module):
    def __init__(self, mels=80, vocab=32, hidden=512, memory=256, theta=1000.0, layers=4, heads=8,
                 dropout=0.1, subsample=1, lmu_residual=False):
        super().__init__()
        p = dict(hidden=hidden, memory=memory, theta=theta, heads=heads, dropout=dropout,
                 lmu_residual=lmu_residual)
        self.subsample = nn.ModuleList(
            Halve(hidden if i else mels, hidden) for i in range(subsample // 2))
        self.input_projection = nn.Linear(hidden if subsample > 1 else mels, hidden)
        self.layers = nn.ModuleList(Layer(p) for _ in range(layers))
        self.output_projection = nn.Linear(hidden, hidden)
        self.ctc_projection = nn.Linear(hidden, vocab)

    def forward(self, x, lengths):
        for halve in self.subsample:
            x, lengths = halve(x, lengths)
        x = self.input_projection(x)
        for layer in self.layers:
            x = layer(x, lengths)
        return self.ctc_projection(self.output_projection(x)), lengths

    def loss(self, x, lengths, targets, target_lengths, weight):
        """Mean over the samples of weight 1 of the CTC loss divided by the target's length."""
        logits, lengths = self(x, lengths)
        each = F.ctc_loss(logits.log_softmax(-1).transpose(0, 1), targets, lengths, target_lengths,
                          blank=logits.shape[-1] - 1, reduction="none", zero_infinity=True)
        each = each / target_lengths.clamp(min=1)
        return (each * weight).sum() / weight.sum()
