#!/usr/bin/env python3
"""Writes blocks.txt: built-in blocks (graphs/blocks.yaml) that PyTorch has a counterpart of, for
tests/compiler/model/test_blocks.c.

A case is   case NAME
            node YAML                 a line of the model's nodes, which read x, s, y, labels
            state NAME TYPE numbers   a parameter
            loss number               the training loss
            grad NAME TYPE numbers    the gradient of the loss by a parameter
            end
The inputs are those of inputs(), which the test computes too. All numbers are worked out in f64."""
import pathlib
import numpy as np
import torch
import torch.nn.functional as F

N, T, C = 3, 5, 4
rng = np.random.default_rng(2)
lines = []


def inputs():
    """x [n, c], s [n, t, c], y [n, c] from 0 to 1, labels [n]; rounded to f32."""
    i = np.arange(N * T * C, dtype=np.float64)
    f = lambda v: torch.tensor(v.astype(np.float32).astype(np.float64))
    x, s = f(np.sin(1 + i[: N * C])).reshape(N, C), f(np.cos(2 + 0.7 * i)).reshape(N, T, C)
    y = f(0.5 + 0.5 * np.sin(3 + 2 * i[: N * C])).reshape(N, C)
    return x, s, y, torch.tensor([(2 * k + 1) % C for k in range(N)])


def text(kind, name, t):
    numbers = " ".join("%.9g" % v for v in t.detach().reshape(-1).tolist())
    lines.append("%s %s f32[%s] %s" % (kind, name, ",".join(map(str, t.shape)), numbers))


def parameter(*shape):
    t = torch.tensor((0.6 * rng.standard_normal(shape)).astype(np.float32).astype(np.float64))
    return t.requires_grad_()


def case(name, nodes, states, f):
    """f computes the loss of the inputs and the parameters, by name."""
    lines.append("case " + name)
    lines.extend("node   " + line for line in nodes)
    loss = f(*inputs(), **{k.replace(".", "_"): v for k, v in states.items()})
    for k, v in states.items():
        text("state", k, v)
    lines.append("loss %.9g" % loss.item())
    for k, g in zip(states, torch.autograd.grad(loss, list(states.values()))):
        text("grad", k, g)
    lines.append("end")


SQUARES = ["- a: {square: y}", "- loss: {sample_sum: a}"]
squares = lambda y: y.square().mean()

# ---- Recurrent layers --------------------------------------------------------------------------


def recurrent(name, module, gates, layers, both):
    torch_module = module(C, 3, layers, batch_first=True, bidirectional=both).double()
    states = {}
    for l in range(layers):
        for way in ("", "_reverse")[: 1 + both]:
            width = C if l == 0 else 3 * (1 + both)
            states["rnn.weight_ih_l%d%s" % (l, way)] = parameter(gates * 3, width)
            states["rnn.weight_hh_l%d%s" % (l, way)] = parameter(gates * 3, 3)
            states["rnn.bias_ih_l%d%s" % (l, way)] = parameter(gates * 3)
            states["rnn.bias_hh_l%d%s" % (l, way)] = parameter(gates * 3)
    use = "- y: {%s: s, hidden: 3, layers: %d, bidirectional: %s, name: rnn}" % (
        name, layers, str(both).lower())

    def f(x, s, y, labels, **w):
        own = {k[4:]: v for k, v in w.items()}
        return squares(torch.func.functional_call(torch_module, own, (s,))[0])

    case("%s, layers: %d%s" % (name, layers, ", both directions" if both else ""), [use] + SQUARES,
         states, f)


for both in (False, True):
    recurrent("lstm", torch.nn.LSTM, 4, 1 + both, both)
    recurrent("gru", torch.nn.GRU, 3, 1 + both, both)

# ---- Layers of one sample ----------------------------------------------------------------------


def mlp(x, s, y, labels, net_layers_0_weight, net_layers_0_bias, net_layers_1_weight,
        net_layers_1_bias, net_out_weight, net_out_bias):
    h = F.softplus(F.linear(x, net_layers_0_weight, net_layers_0_bias))
    h = F.softplus(F.linear(h, net_layers_1_weight, net_layers_1_bias))
    return squares(F.linear(h, net_out_weight, net_out_bias))


case("mlp", ["- y: {mlp: x, layers: 2, hidden: 5, out: 3, activation: softplus, name: net}"] + SQUARES,
     {"net.layers.0.weight": parameter(5, C), "net.layers.0.bias": parameter(5),
      "net.layers.1.weight": parameter(5, 5), "net.layers.1.bias": parameter(5),
      "net.out.weight": parameter(3, 5), "net.out.bias": parameter(3)}, mlp)

LINEAR = ["- z: {linear: s, out: 6, name: in}"]
linear = lambda: {"in.weight": parameter(6, C), "in.bias": parameter(6)}
case("rms_norm", LINEAR + ["- y: {rms_norm: z, name: norm}"] + SQUARES,
     linear() | {"norm.weight": parameter(6)},
     lambda x, s, y, labels, in_weight, in_bias, norm_weight: squares(
         F.rms_norm(F.linear(s, in_weight, in_bias), (6,), norm_weight, 1e-6)))
case("group_norm", LINEAR + ["- y: {group_norm: z, groups: 3, name: norm}"] + SQUARES,
     linear() | {"norm.weight": parameter(6), "norm.bias": parameter(6)},
     lambda x, s, y, labels, in_weight, in_bias, norm_weight, norm_bias: squares(F.group_norm(
         F.linear(s, in_weight, in_bias).transpose(1, 2), 3, norm_weight, norm_bias)))

# ---- Losses and distributions ------------------------------------------------------------------


def loss(name, nodes, f):
    states = {"in.weight": parameter(C, C), "in.bias": parameter(C)}
    case(name, ["- z: {linear: x, name: in}"] + nodes, states,
         lambda x, s, y, labels, in_weight, in_bias: f(F.linear(x, in_weight, in_bias), x, y, labels))


loss("bce_with_logits", ["- loss: {bce_with_logits: [z, y]}"],
     lambda z, x, y, labels: F.binary_cross_entropy_with_logits(z, y))
loss("bce_with_logits, pos_weight", ["- loss: {bce_with_logits: [z, y], pos_weight: 2.5}"],
     lambda z, x, y, labels: F.binary_cross_entropy_with_logits(z, y, pos_weight=torch.tensor(2.5)))
loss("huber", ["- loss: {huber: [z, y], delta: 0.4}"],
     lambda z, x, y, labels: F.huber_loss(z, y, delta=0.4))
loss("kl_div", ["- l: {log_softmax: z}", "- loss: {kl_div: [l, y]}"],
     lambda z, x, y, labels: F.kl_div(z.log_softmax(-1), y, reduction="batchmean"))
picked = lambda z, labels: z.log_softmax(-1).gather(-1, labels[:, None])[:, 0]
loss("focal_loss", ["- loss: {focal_loss: [z, labels], gamma: 1.5}"],
     lambda z, x, y, labels: (-(1 - picked(z, labels).exp()) ** 1.5 * picked(z, labels)).mean())
loss("log_prob", ["- loss: {log_prob: [z, labels]}"],
     lambda z, x, y, labels: torch.distributions.Categorical(logits=z).log_prob(labels).mean())
loss("entropy", ["- loss: {entropy: z}"],
     lambda z, x, y, labels: torch.distributions.Categorical(logits=z).entropy().mean())
loss("normal_log_prob", ["- d: {mul: [y, 0.5]}", "- loss: {normal_log_prob: [x, z, d]}"],
     lambda z, x, y, labels: torch.distributions.Normal(z, (y / 2).exp()).log_prob(x).sum(-1).mean())
loss("normal_entropy", ["- loss: {normal_entropy: z}"],
     lambda z, x, y, labels: torch.distributions.Normal(0 * z, z.exp()).entropy().sum(-1).mean())

# ---- Attention on another sequence --------------------------------------------------------------
# The labels serve as lengths of what is attended to.

ATTENTION = ("q", "k", "v", "o")


def attention(prefix, width, memory):
    """The states of a block of attention of that name."""
    states = {}
    for p in ATTENTION:
        states["%s.%s.weight" % (prefix, p)] = parameter(width, memory if p in "kv" else width)
        states["%s.%s.bias" % (prefix, p)] = parameter(width)
    return states


def beyond(labels):
    return torch.arange(T)[None, :] >= labels[:, None]


def cross_attention(x, s, y, labels, **w):
    module = torch.nn.MultiheadAttention(C, 2, kdim=6, vdim=6, batch_first=True).double()
    own = {"%s_proj_weight" % p: w["body_%s_weight" % p] for p in "qkv"}
    own["in_proj_bias"] = torch.cat([w["body_%s_bias" % p] for p in "qkv"])
    own |= {"out_proj." + p: w["body_o_" + p] for p in ("weight", "bias")}
    memory = F.linear(s, w["in_weight"], w["in_bias"])
    return squares(torch.func.functional_call(
        module, own, (s[:, :3], memory, memory), {"key_padding_mask": beyond(labels)})[0])


QUERIES = ["- q: {slice: s, axis: 1, from: 0, size: 3}"]
for fused in ("true", "false"):
    use = "- y: {cross_attention: [q, z, labels], heads: 2, fused_attention: %s, name: body}" % fused
    case("cross_attention, fused_attention: " + fused, LINEAR + QUERIES + [use] + SQUARES,
         linear() | attention("body", C, 6), cross_attention)


def decoder_layer(prefix, hidden):
    states = attention(prefix + "attention", C, C) | attention(prefix + "cross_attention", C, C)
    for norm in ("norm1", "norm2", "norm3"):
        states |= {prefix + norm + ".weight": parameter(C), prefix + norm + ".bias": parameter(C)}
    return states | {prefix + "feed_forward.up.weight": parameter(hidden, C),
                     prefix + "feed_forward.up.bias": parameter(hidden),
                     prefix + "feed_forward.down.weight": parameter(C, hidden),
                     prefix + "feed_forward.down.bias": parameter(C)}


def in_torch(states, layers):
    """The states of transformer_decoder by the names of torch.nn.TransformerDecoder."""
    own = {}
    for l in range(layers):
        at = "layers.%d." % l
        for here, there in (("attention", "self_attn"), ("cross_attention", "multihead_attn")):
            for kind in ("weight", "bias"):
                own[at + there + ".in_proj_" + kind] = torch.cat(
                    [states["%s%s.%s.%s" % (at, here, p, kind)] for p in "qkv"])
                own[at + there + ".out_proj." + kind] = states["%s%s.o.%s" % (at, here, kind)]
        for kind in ("weight", "bias"):
            for norm in ("norm1", "norm2", "norm3"):
                own[at + norm + "." + kind] = states[at + norm + "." + kind]
            own[at + "linear1." + kind] = states[at + "feed_forward.up." + kind]
            own[at + "linear2." + kind] = states[at + "feed_forward.down." + kind]
    return own | {k: v for k, v in states.items() if k.startswith("norm.")}


def decoder(layers, norm_first, activation, lengths):
    layer = torch.nn.TransformerDecoderLayer(C, 2, 5, 0.0, activation, batch_first=True,
                                             norm_first=norm_first)
    module = torch.nn.TransformerDecoder(layer, layers,
                                         torch.nn.LayerNorm(C) if norm_first else None).double()
    states = {"in.weight": parameter(C, C), "in.bias": parameter(C)}
    for l in range(layers):
        states |= decoder_layer("body.layers.%d." % l, 5)
    if norm_first:
        states |= {"body.norm.weight": parameter(C), "body.norm.bias": parameter(C)}
    use = ("- y: {transformer_decoder: [q, z%s], layers: %d, heads: 2, hidden: 5, activation: %s, "
           "norm_first: %s, name: body}") % (", labels" if lengths else "", layers, activation,
                                             str(norm_first).lower())

    def f(x, s, y, labels, **w):
        own = in_torch({k[5:]: w[k.replace(".", "_")] for k in states if k.startswith("body.")},
                       layers)
        given = {"tgt_mask": torch.ones(3, 3).triu(1).bool(),
                 "memory_key_padding_mask": beyond(labels) if lengths else None}
        memory = F.linear(s, w["in_weight"], w["in_bias"])
        got = torch.func.functional_call(module, own, (s[:, :3], memory), given)
        return squares(got - s[:, 1:4])

    case("transformer_decoder, norm_first: %s" % str(norm_first).lower(),
         ["- z: {linear: s, name: in}"] + QUERIES +
         [use, "- next: {slice: s, axis: 1, from: 1, size: 3}", "- y: {sub: [y, next]}"] + SQUARES,
         states, f)


decoder(2, True, "gelu", True)
decoder(1, False, "relu", False)

# ---- Fewer heads of keys, no bias of keys, and positions ----------------------------------------

EIGHT = ["- z: {linear: s, out: 8, name: in}"]
eight = lambda: {"in.weight": parameter(8, C), "in.bias": parameter(8)}


def grouped(prefix, width, memory, kv):
    states = {}
    for p, out, fan in (("q", width, width), ("k", kv, memory), ("v", kv, memory), ("o", width, width)):
        states["%s.%s.weight" % (prefix, p)] = parameter(out, fan)
        if p != "k":
            states["%s.%s.bias" % (prefix, p)] = parameter(out)
    return states


def turned(x, base):
    """Components i and i + d / 2 as the parts of complex numbers, times exp(i position)."""
    a, b = x.chunk(2, -1)
    half = a.shape[-1]
    angle = torch.outer(torch.arange(x.shape[-2]).double(),
                        base ** (-torch.arange(half).double() / half))
    z = torch.complex(a, b) * torch.polar(torch.ones_like(angle), angle)
    return torch.cat([z.real, z.imag], -1)


def heads_of(x, w, p, heads):
    y = F.linear(x, w["body_%s_weight" % p], w.get("body_%s_bias" % p))
    return y.unflatten(-1, (heads, -1)).transpose(1, 2)


def grouped_attention(q, memory, w, heads, kv_heads, base=None, mask=None, causal=False):
    q, k, v = heads_of(q, w, "q", heads), *(heads_of(memory, w, p, kv_heads) for p in "kv")
    if base:
        q, k = turned(q, base), turned(k, base)
    y = F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal, enable_gqa=True)
    return squares(F.linear(y.transpose(1, 2).flatten(2), w["body_o_weight"], w["body_o_bias"]))


for fused in ("true", "false"):
    use = ("- y: {self_attention: z, heads: 4, kv_heads: 2, k_bias: false, rotary: 50.0, causal: true, "
           "fused_attention: %s, name: body}" % fused)
    case("self_attention, grouped heads, rotary, fused_attention: " + fused, EIGHT + [use] + SQUARES,
         eight() | grouped("body", 8, 8, 4), lambda x, s, y, labels, **w: grouped_attention(
             F.linear(s, w["in_weight"], w["in_bias"]), F.linear(s, w["in_weight"], w["in_bias"]), w,
             4, 2, base=50.0, causal=True))
use = "- y: {cross_attention: [z, s, labels], heads: 4, kv_heads: 1, k_bias: false, name: body}"
case("cross_attention, one head of keys", EIGHT + [use] + SQUARES,
     eight() | grouped("body", 8, C, 2), lambda x, s, y, labels, **w: grouped_attention(
         F.linear(s, w["in_weight"], w["in_bias"]), s, w, 4, 1,
         mask=~beyond(labels)[:, None, None, :]))


def sinusoids(span, pairs):
    angle = torch.outer(torch.arange(T).double(), 10000.0 ** (-torch.arange(3).double() / span))
    parts = [angle.sin(), angle.cos()]
    return torch.stack(parts, -1).flatten(1) if pairs else torch.cat(parts, -1)


for span, pairs in ((3, "true"), (2, "false")):
    use = "- y: {sinusoidal_positions: z, span: %d, pairs: %s}" % (span, pairs)
    case("sinusoidal_positions, pairs: " + pairs, LINEAR + [use] + SQUARES, linear(),
         lambda x, s, y, labels, in_weight, in_bias: squares(
             F.linear(s, in_weight, in_bias) + sinusoids(span, pairs == "true")))

# ---- Images z [n, 5, 4, 2], and sequences -------------------------------------------------------
# The loss is a sum of all numbers with weights that tell their places apart.

PICTURE = ["- z: {linear: s, out: 8, name: in}", "- z: {reshape: z, shape: [n, 5, 4, 2]}"]
WEIGHTED = ["- y: {reshape: y, shape: [n, -1]}", "- place: {arange: , size: %d, start: -1, step: 0.1}",
            "- y: {mul: [y, place]}", "- loss: {mean: y, axes: [1]}"]


def weighted(y):
    y = y.flatten(1)
    return (y * (-1 + 0.1 * torch.arange(y.shape[1]).double())).mean()


def picture(name, nodes, states, size, f):
    """f maps channels-first images and the states to images; size: of a sample of these."""

    def of(x, s, y, labels, in_weight, in_bias, **w):
        z = F.linear(s, in_weight, in_bias).reshape(N, 5, 4, 2).permute(0, 3, 1, 2)
        return weighted(f(z, **w).permute(0, 2, 3, 1))

    case(name, PICTURE + nodes + [line.replace("%d", str(size)) for line in WEIGHTED],
         eight() | states, of)


picture("group_norm of images", ["- z: {linear: z, out: 6, name: more}", "- y: {group_norm: z, groups: 3, name: norm}"],
        {"more.weight": parameter(6, 2), "more.bias": parameter(6), "norm.weight": parameter(6),
         "norm.bias": parameter(6)}, 5 * 4 * 6,
        lambda z, more_weight, more_bias, norm_weight, norm_bias: F.group_norm(
            F.conv2d(z, more_weight[:, :, None, None], more_bias), 3, norm_weight, norm_bias))
case("group_norm of rows", ["- z: {linear: x, out: 6, name: in}", "- y: {group_norm: z, groups: 2, name: norm}"] + SQUARES,
     linear() | {"norm.weight": parameter(6), "norm.bias": parameter(6)},
     lambda x, s, y, labels, in_weight, in_bias, norm_weight, norm_bias: squares(
         F.group_norm(F.linear(x, in_weight, in_bias), 2, norm_weight, norm_bias)))
picture("instance_norm", ["- y: {instance_norm: z, affine: true, name: norm}"],
        {"norm.weight": parameter(2), "norm.bias": parameter(2)}, 5 * 4 * 2,
        lambda z, norm_weight, norm_bias: F.instance_norm(z, weight=norm_weight, bias=norm_bias))
picture("conv_transpose2d", ["- y: {conv_transpose2d: z, out: 3, stride: 2, pad: 1, output_pad: 1, name: up}"],
        {"up.weight": parameter(2, 3, 3, 3), "up.bias": parameter(3)}, 10 * 8 * 3,
        lambda z, up_weight, up_bias: F.conv_transpose2d(z, up_weight, up_bias, 2, 1, 1))
picture("conv_transpose2d, groups", ["- y: {conv_transpose2d: z, out: 4, kernel: 2, dilation: 2, groups: 2, bias: false, name: up}"],
        {"up.weight": parameter(2, 2, 2, 2)}, 7 * 6 * 4,
        lambda z, up_weight: F.conv_transpose2d(z, up_weight, groups=2, dilation=2))
for mode, more in (("nearest", {}), ("bilinear", {"align_corners": False})):
    picture("upsample2d, mode: " + mode, ["- y: {upsample2d: z, by: 3, mode: %s}" % mode], {}, 15 * 12 * 2,
            lambda z: F.interpolate(z, scale_factor=3, mode=mode, **more))
picture("pixel_shuffle", ["- z: {linear: z, out: 12, name: more}", "- y: {pixel_shuffle: z}"],
        {"more.weight": parameter(12, 2), "more.bias": parameter(12)}, 10 * 8 * 3,
        lambda z, more_weight, more_bias: F.pixel_shuffle(
            F.conv2d(z, more_weight[:, :, None, None], more_bias), 2))


def frames(name, nodes, states, size, f):
    """The same of sequences [n, t, 6]."""
    case(name, LINEAR + nodes + [line.replace("%d", str(size)) for line in WEIGHTED],
         linear() | states, lambda x, s, y, labels, in_weight, in_bias, **w: weighted(
             f(F.linear(s, in_weight, in_bias).transpose(1, 2), **w).transpose(1, 2)))


frames("conv_transpose1d", ["- y: {conv_transpose1d: z, out: 3, kernel: 4, stride: 3, pad: 1, output_pad: 2, name: up}"],
       {"up.weight": parameter(6, 3, 4), "up.bias": parameter(3)}, 16 * 3,
       lambda z, up_weight, up_bias: F.conv_transpose1d(z, up_weight, up_bias, 3, 1, 2))
frames("upsample1d", ["- y: {upsample1d: z}"], {}, 10 * 6, lambda z: F.interpolate(z, scale_factor=2))
frames("conv_transpose3d", ["- z: {reshape: z, shape: [n, 5, 1, 3, 2]}",
                            "- y: {conv_transpose3d: z, out: 1, kernel: 2, stride: 2, name: up}"],
       {"up.weight": parameter(2, 1, 2, 2, 2), "up.bias": parameter(1)}, 10 * 2 * 6,
       lambda z, up_weight, up_bias: F.conv_transpose3d(
           z.transpose(1, 2).reshape(N, 5, 1, 3, 2).permute(0, 4, 1, 2, 3), up_weight, up_bias, 2)[:, 0].transpose(1, 2))

# ---- Activations, vectors and distances ---------------------------------------------------------

for name, f in (("leaky_relu, slope: 0.2", lambda z: F.leaky_relu(z, 0.2)),
                ("elu, alpha: 1.5", lambda z: F.elu(z, 1.5)), ("mish", F.mish), ("hardsigmoid", F.hardsigmoid),
                ("hardswish", F.hardswish), ("glu", F.glu)):
    op, _, more = name.partition(", ")
    loss(name, ["- y: {%s: z%s}" % (op, more and ", " + more), "- l: {mul: [y, y]}", "- l: {add: [l, y]}",
                "- loss: {mean: l, axes: [1]}"], lambda z, x, y, labels: (f(z) ** 2 + f(z)).mean())
for channels in ("false", "true"):
    case("prelu, channels: " + channels, ["- z: {linear: x, name: in}", "- y: {prelu: z, channels: %s, name: act}" % channels]
         + SQUARES, {"in.weight": parameter(C, C), "in.bias": parameter(C),
                     "act.weight": parameter(C if channels == "true" else 1)},
         lambda x, s, y, labels, in_weight, in_bias, act_weight: squares(
             F.prelu(F.linear(x, in_weight, in_bias), act_weight)))
# At -4.5, -3, ..., 4.5, kinks among them; w is 0.
for op, f in (("leaky_relu", F.leaky_relu), ("elu", F.elu), ("mish", F.mish), ("hardsigmoid", F.hardsigmoid),
              ("hardswish", F.hardswish)):
    case(op + " at its kinks", ["- w: {param: [7]}", "- k: {arange: , size: 7, start: -4.5, step: 1.5}",
                                "- z: {add: [k, w]}", "- y: {%s: z}" % op, "- loss: {sum: y, axes: [0]}"],
         {"w": torch.zeros(7, dtype=torch.float64).requires_grad_()},
         lambda x, s, y, labels, w: f(w + 1.5 * torch.arange(-3, 4).double()).sum())
loss("normalize", ["- a: {normalize: z}", "- a: {sub: [a, y]}", "- loss: {mse: [a, x]}"],
     lambda z, x, y, labels: F.mse_loss(F.normalize(z) - y, x))
loss("cosine_similarity", ["- loss: {cosine_similarity: [z, y]}"],
     lambda z, x, y, labels: F.cosine_similarity(z, y).mean())
loss("logsumexp", ["- l: {scale: z, by: 9}", "- loss: {logsumexp: l}"],
     lambda z, x, y, labels: (9 * z).logsumexp(-1).mean())
loss("mae", ["- loss: {mae: [z, y]}"], lambda z, x, y, labels: F.l1_loss(z, y))
loss("smooth_l1", ["- loss: {smooth_l1: [z, y], beta: 0.4}"],
     lambda z, x, y, labels: F.smooth_l1_loss(z, y, beta=0.4))

# ---- Comparisons, moments, and more losses --------------------------------------------------------

# Values of k from -3 to 3 times 1.5, which 0 and the operand y, a number, meet; each is multiplied by w.
for op, f in (("greater", torch.gt), ("less_equal", torch.le), ("greater_equal", torch.ge), ("equal", torch.eq),
              ("not_equal", torch.ne)):
    case(op, ["- w: {param: [7]}", "- k: {arange: , size: 7, start: -4.5, step: 1.5}", "- y: {%s: [k, 1.5]}" % op,
              "- y: {mul: [y, w]}", "- loss: {sum: y, axes: [0]}"], {"w": parameter(7)},
         lambda x, s, y, labels, w: (w * f(1.5 * torch.arange(-3, 4).double(), torch.tensor(1.5)).double()).sum())
for op, f in (("sign", torch.sign), ("floor", torch.floor), ("selu", F.selu), ("relu6", F.relu6),
              ("softsign", F.softsign), ("log_sigmoid", F.logsigmoid)):
    case(op, ["- w: {param: [7]}", "- k: {arange: , size: 7, start: -7.5, step: 2.5}", "- z: {add: [k, w]}",
              "- y: {%s: z}" % op, "- y: {mul: [y, z]}", "- loss: {sum: y, axes: [0]}"], {"w": parameter(7)},
         lambda x, s, y, labels, w: ((w + 2.5 * torch.arange(-3, 4)) * f(w + 2.5 * torch.arange(-3, 4))).sum())
loss("reduce_min", ["- l: {reduce_min: z}", "- a: {reduce_min: z, axis: 0, keepdim: true}", "- a: {mul: [a, y]}",
                    "- a: {sum: a, axes: [1]}", "- loss: {add: [l, a]}"],
     lambda z, x, y, labels: (z.amin(-1) + (z.amin(0, keepdim=True) * y).sum(1)).mean())
loss("argmin", ["- i: {argmin: z}", "- i: {one_hot: i, classes: 4}", "- l: {mul: [i, z]}", "- loss: {sum: l, axes: [1]}"],
     lambda z, x, y, labels: (F.one_hot(z.argmin(-1), 4) * z).sum(1).mean())
loss("var and std", ["- a: {var: z}", "- b: {std: z, correction: 0}", "- loss: {add: [a, b]}"],
     lambda z, x, y, labels: (z.var(-1) + z.std(-1, correction=0)).mean())
loss("poisson_nll", ["- loss: {poisson_nll: [z, y]}"], lambda z, x, y, labels: F.poisson_nll_loss(z, y))
loss("gaussian_nll", ["- v: {exp: x}", "- loss: {gaussian_nll: [z, y, v]}"],
     lambda z, x, y, labels: F.gaussian_nll_loss(z, y, x.exp()))
loss("triplet_margin", ["- loss: {triplet_margin: [z, x, y], margin: 0.5}"],
     lambda z, x, y, labels: F.triplet_margin_loss(z, x, y, margin=0.5))
loss("bce_with_logits of a number", ["- loss: {bce_with_logits: [z, 0.9]}"],
     lambda z, x, y, labels: F.binary_cross_entropy_with_logits(z, torch.full_like(z, 0.9)))
picture("pixel_unshuffle", ["- z: {slice: z, axis: 1, size: 4}", "- y: {pixel_unshuffle: z}"], {}, 32,
        lambda z: F.pixel_unshuffle(z[:, :, :4], 2))

# ---- Packed sequences, whose lengths are the labels ----------------------------------------------


def packed(name, module, gates, nodes, layers=1, both=False, start=lambda x, y: None, loss=None):
    """start: the state at first; loss: of y and what the module gives beside it."""
    torch_module = module(C, 3, layers, batch_first=True, bidirectional=both).double()
    states = {"rnn." + k: parameter(*v.shape) for k, v in torch_module.named_parameters()}

    def f(x, s, y, labels, **w):
        sequence = torch.nn.utils.rnn.pack_padded_sequence(s, labels, batch_first=True, enforce_sorted=False)
        out, last = torch.func.functional_call(torch_module, {k[4:]: v for k, v in w.items()},
                                               (sequence, start(x, y)))
        return loss(torch.nn.utils.rnn.pad_packed_sequence(out, batch_first=True, total_length=T)[0], last)

    case(name, nodes, states, f)


TWO = "hidden: 3, layers: 2, bidirectional: true, name: rnn}"
packed("lstm of lengths, both directions", torch.nn.LSTM, 4, ["- y: {lstm: [s, labels], " + TWO] + SQUARES, 2, True,
       loss=lambda y, last: squares(y))
packed("gru of lengths, both directions", torch.nn.GRU, 3, ["- y: {gru: [s, labels], " + TWO] + SQUARES, 2, True,
       loss=lambda y, last: squares(y))
MEAN = ["- %s: {square: %s}", "- %s: {mean: %s, axes: [-1]}"]
mean_square = lambda name: [line % (name, name) for line in MEAN]
START = ["- h: {slice: x, axis: 1, size: 3}", "- c: {slice: y, axis: 1, size: 3}"]
packed("gru of lengths from a state, and its last one", torch.nn.GRU, 3,
       START[:1] + ["- z: {gru: [s, labels, h], hidden: 3, name: rnn}", "- b: {last_frame: [z, labels]}"] +
       mean_square("b") + mean_square("z") + ["- z: {mean: z, axes: [1]}", "- loss: {add: [z, b]}"],
       start=lambda x, y: x[None, :, :3].contiguous(), loss=lambda y, last: squares(y) + squares(last))
packed("lstm of lengths from a state, and its last ones", torch.nn.LSTM, 4,
       START + ["- z, e: {lstm_states: [s, h, c, labels], hidden: 3, name: rnn}", "- b: {last_frame: [z, labels]}"] +
       mean_square("b") + mean_square("e") + mean_square("z") +
       ["- z: {mean: z, axes: [1]}", "- loss: {add: [z, b]}", "- loss: {add: [loss, e]}"],
       start=lambda x, y: (x[None, :, :3].contiguous(), y[None, :, :3].contiguous()),
       loss=lambda y, last: squares(y) + squares(last[0]) + squares(last[1]))

loss("cross_entropy of probabilities", ["- p: {softmax: x}", "- loss: {soft_cross_entropy: [z, p]}"],
     lambda z, x, y, labels: F.cross_entropy(z, x.softmax(-1)))
case("reduce_min of axes", ["- w: {param: [3, 5, 4], name: w}", "- z: {add: [w, s]}", "- a: {reduce_min: z, axes: [1, 2]}",
                            "- b: {reduce_min: z, axes: [-2], keepdim: true}", "- b: {square: b}", "- b: {sum: b, axes: [1, 2]}",
                            "- loss: {add: [a, b]}"], {"w": parameter(N, T, C)},
     lambda x, s, y, labels, w: ((w + s).amin((1, 2)) + (w + s).amin(1).square().sum(1)).mean())
for op, f in (("relu6", F.relu6), ("hardsigmoid", F.hardsigmoid)):
    case(op + " at its bounds", ["- w: {param: [6]}", "- y: {%s: w}" % op, "- loss: {sum: y, axes: [0]}"],
         {"w": torch.tensor([-3.0, 0, 3, 6, -4, 1]).double().requires_grad_()}, lambda x, s, y, labels, w, f=f: f(w).sum())
loss("cross_entropy of probabilities, smoothed",
     ["- p: {softmax: x}", "- loss: {soft_cross_entropy: [z, p], smoothing: 0.3}"],
     lambda z, x, y, labels: F.cross_entropy(z, x.softmax(-1), label_smoothing=0.3))
# The labels are 1, 3, 1: those of class 3 become -100.
loss("focal_loss of labels of which one is ignored",
     ["- few: {cast: labels, to: f32}", "- many: {greater: [few, 2]}", "- few: {where: [many, -100, few]}",
      "- few: {cast: few, to: i32}", "- loss: {focal_loss: [z, few]}"],
     lambda z, x, y, labels: (-(1 - picked(z, labels).exp()) ** 2 * picked(z, labels))[labels < 3].mean())

pathlib.Path(__file__).with_name("blocks.txt").write_text("\n".join(lines) + "\n")
