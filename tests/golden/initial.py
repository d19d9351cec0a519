#!/usr/bin/env python3
"""Writes initial.txt for tests/compiler/model/test_initial.c: how each weight of the shipped systems starts in the programs
that docs/systems.md compares them with.

  model GRAPH SIZE=VALUE ... : PARAMS      the dimensions of the data, and the model's parameters
  NAME uniform LIMIT | normal STD | constant VALUE

By the formulas of torch.nn: layers without an init of their own are uniform within 1 / sqrt(fan_in), weights and biases
(kaiming_uniform_ with a = sqrt(5)); Xavier's limit is sqrt(6 / (fan_in + fan_out)), its deviation sqrt(2 / ...)."""
import math
import pathlib

lines = []


def model(graph, params, **dims):
    lines.append("model %s %s : %s" % (graph, " ".join("%s=%d" % d for d in dims.items()), params))


def uniform(name, limit):
    lines.append("%s uniform %.9g" % (name, limit))


def normal(name, std):
    lines.append("%s normal %.9g" % (name, std))


def constant(name, value):
    lines.append("%s constant %g" % (name, value))


def layer(name, fan_in, bias=True):
    """torch.nn.Linear and ConvNd as they are made."""
    uniform(name + ".weight", 1 / math.sqrt(fan_in))
    if bias:
        uniform(name + ".bias", 1 / math.sqrt(fan_in))


def xavier(name, fan_in, fan_out, gain=1.0):
    """xavier_uniform_ and a bias of 0."""
    uniform(name + ".weight", gain * math.sqrt(6 / (fan_in + fan_out)))
    constant(name + ".bias", 0)


def norm(name):
    constant(name + ".weight", 1)
    constant(name + ".bias", 0)


# ---- The speech recogniser: Xavier for every linear layer; the memory unit as Voelker, Kajic and Eliasmith ------------

H, M, V, MELS = 64, 48, 32, 80
model("lmu_asr.yaml", "{hidden: %d, memory: %d, layers: 2, vocab: %d, heads: 4}" % (H, M, V), n=2, t=12, u=3)
xavier("input_projection", MELS, H)
for i in range(2):
    for p in "qkvo":
        xavier("layers.%d.attention.%s" % (i, p), H, H)
    norm("layers.%d.attention_norm" % i)
    uniform("layers.%d.lmu.e_x" % i, math.sqrt(3 / H))
    uniform("layers.%d.lmu.e_h" % i, math.sqrt(3 / H))
    constant("layers.%d.lmu.e_m" % i, 0)
    normal("layers.%d.lmu.W_x" % i, math.sqrt(2 / (H + H)))
    normal("layers.%d.lmu.W_h" % i, math.sqrt(2 / (H + H)))
    normal("layers.%d.lmu.W_m" % i, math.sqrt(2 / (H + M)))
    norm("layers.%d.norm" % i)
xavier("output_projection", H, H)
xavier("ctc_projection", H, V, 0.1)

# ---- The vision transformer: trunc_normal_(std=0.02) in the encoder, which cuts at -2 and 2; defaults elsewhere --------

D, P, F, HEAD = 64, 8, 128, 48
model("vit.yaml", "{patch: %d, dim: %d, layers: 2, heads: 4, mlp: %d, head: %d, classes: 6}" % (P, D, F, HEAD), n=2, h=32, w=32, c=3)
layer("encoder.stem", 3 * P * P)
norm("encoder.stem_norm")
normal("encoder.positions", 0.02)
for i in range(2):
    at = "encoder.layers.%d." % i
    norm(at + "norm1"), norm(at + "norm2")
    for p in ["attention.q", "attention.k", "attention.v", "attention.o", "mlp.up", "mlp.down"]:
        normal(at + p + ".weight", 0.02)
        constant(at + p + ".bias", 0)
norm("encoder.norm")
layer("head.hidden.0", D)
norm("head.hidden.0.norm")
layer("head.out", HEAD)

# ---- The 3-D network: as made --------------------------------------------------------------------------------------

C = 32
model("cnn3d.yaml", "{filters: %d, hidden: 128, classes: 7}" % C, n=2, d=9, h=32, w=32, c=1)
wide = 1
for i in range(4):
    layer("stage%d.conv" % (i + 1), 27 * wide, bias=False)
    norm("stage%d.norm" % (i + 1))
    wide = C << i
layer("hidden1", 8 * C)
layer("hidden2", 128)
layer("head", 64)

# ---- Cascaded LSTMs: Xavier in the encoder, also for the matrices of LSTMs and of q, k and v as one; heads as made ------

K = 64
model("clstm_ppo.yaml", "{network: clstm, hidden: %d, layers: 2, heads: 4, tickers: 10, traded: 10, features: 4, days: 400, "
      "train_days: 300, window: 10, episode: 100, envs: 4, steps: 8, minibatch: 8}" % K)
xavier("net.encoder.input_projection", 1 + 10 + 4 * 10, K)
for i in range(2):
    at = "net.encoder.layers.%d." % i
    uniform(at + "lstm.weight_ih_l0", math.sqrt(6 / (K + 4 * K)))
    uniform(at + "lstm.weight_hh_l0", math.sqrt(6 / (K + 4 * K)))
    constant(at + "lstm.bias_ih_l0", 0)
    constant(at + "lstm.bias_hh_l0", 0)
    for p in "qkv":
        uniform(at + "attention.%s.weight" % p, math.sqrt(6 / (K + 3 * K)))
        constant(at + "attention.%s.bias" % p, 0)
    xavier(at + "attention.o", K, K)
    norm(at + "norm")
xavier("net.encoder.output_projection.0", K, K)
xavier("net.encoder.output_projection.1", K, K)
for p in ["price", "volatility", "volume"]:
    layer("net.encoder." + p, K)
layer("net.encoder.iv.in", K), layer("net.encoder.iv.mid", K // 2), layer("net.encoder.iv.out", K // 4)
for p in ["actor", "critic"]:
    layer("net.%s.in" % p, K), layer("net.%s.mid" % p, K), layer("net.%s.out" % p, K // 2)

pathlib.Path(__file__).with_name("initial.txt").write_text("\n".join(lines) + "\n")
