#!/usr/bin/env python3
"""Makes tests/golden/onnx/: small models that torch.onnx.export has written, each with a batch, and the loss and
the gradients of its weights that PyTorch computes for it.

    python3 tests/golden/onnx_models.py [NAME...]     # needs torch, torchvision, transformers, onnx, onnxscript and numpy
"""
import pathlib
import sys
import numpy as np
import onnx
import torch
import transformers
from torch import nn
from torch._higher_order_ops import scan
from torch._higher_order_ops.while_loop import while_loop
from torchvision.models import efficientnet, shufflenetv2, swin_transformer
from torchvision.ops import StochasticDepth
from torch.nn import functional as F

OUT = pathlib.Path(__file__).parent / "onnx"
SAMPLES = 6


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.norm, self.head = nn.Linear(5, 16), nn.LayerNorm(16), nn.Linear(16, 3)

    def forward(self, x):
        return self.head(F.gelu(self.norm(self.body(x))))


class Block(nn.Module):
    def __init__(self, c, out, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(c, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out)
        self.conv2, self.bn2 = nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out)
        self.down = nn.Sequential(nn.Conv2d(c, out, 1, stride, bias=False), nn.BatchNorm2d(out)) if stride > 1 else None

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + (self.down(x) if self.down else x))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1, self.pool = nn.Conv2d(3, 6, 3, 1, 1, bias=False), nn.BatchNorm2d(6), nn.MaxPool2d(3, 2, 1)
        self.layer1, self.layer2 = Block(6, 6, 1), Block(6, 8, 2)
        self.avg, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(8, 3)

    def forward(self, x):
        x = self.pool(torch.relu(self.bn1(self.conv1(x))))
        return self.fc(torch.flatten(self.avg(self.layer2(self.layer1(x))), 1))


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.fc = nn.LSTM(5, 6, 2, batch_first=True, bidirectional=True), nn.Linear(12, 3)

    def forward(self, x):
        return self.fc(self.lstm(x)[0][:, -1])


def encoder(layers, activation):
    layer = nn.TransformerEncoderLayer(16, 4, 24, 0.0, activation, batch_first=True, norm_first=True)
    return nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.pos = nn.Embedding(20, 16), nn.Parameter(torch.randn(1, 7, 16) * 0.02)
        self.enc, self.fc = encoder(3, "relu"), nn.Linear(16, 3)

    def forward(self, x):
        return self.fc(self.enc(self.emb(x) + self.pos).mean(1))


class Vit(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch, self.cls = nn.Conv2d(3, 16, 4, 4), nn.Parameter(torch.randn(1, 1, 16) * 0.02)
        self.pos = nn.Parameter(torch.randn(1, 5, 16) * 0.02)
        self.enc, self.norm, self.head = encoder(2, "gelu"), nn.LayerNorm(16), nn.Linear(16, 3)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], 1) + self.pos
        return self.head(self.norm(self.enc(x))[:, 0])


class Gru(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru, self.fc = nn.GRU(5, 6, 2, batch_first=True, bidirectional=True), nn.Linear(12, 3)

    def forward(self, x):
        return self.fc(self.gru(x)[0].mean(1))


class GruBefore(nn.Module):
    """A reset gate that multiplies the state: PyTorch has no such layer, and its exporter no such node, so that the
    node's attribute is changed (strip), and the gradients are those of the formula here."""

    def __init__(self):
        super().__init__()
        self.gru, self.fc, self.exporting = nn.GRU(5, 6, 1, batch_first=True), nn.Linear(6, 3), False

    def forward(self, x):
        if self.exporting:
            return self.fc(self.gru(x)[0][:, -1])
        g, h = self.gru, torch.zeros(x.shape[0], 6)
        for t in range(x.shape[1]):
            r, z, n = F.linear(x[:, t], g.weight_ih_l0, g.bias_ih_l0).chunk(3, 1)
            wr, wz, wn = g.weight_hh_l0.chunk(3)
            br, bz, bn = g.bias_hh_l0.chunk(3)
            r, z = torch.sigmoid(r + F.linear(h, wr, br)), torch.sigmoid(z + F.linear(h, wz, bz))
            h = (1 - z) * torch.tanh(n + F.linear(r * h, wn, bn)) + z * h
        return self.fc(h)


class Rnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.fc = nn.RNN(5, 6, nonlinearity="relu", batch_first=True, bidirectional=True), nn.Linear(12, 3)

    def forward(self, x):
        return self.fc(self.rnn(x)[1].transpose(0, 1).flatten(1))


class Unet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(3, 6, 3, 1, 1), nn.GroupNorm(2, 6)
        self.conv2, self.norm2 = nn.Conv2d(6, 8, 3, 2, 1), nn.InstanceNorm2d(8, affine=True)
        self.conv3, self.norm3 = nn.Conv2d(8, 8, 3, 2, 1, groups=2), nn.InstanceNorm2d(8)
        self.up1, self.up2 = nn.ConvTranspose2d(8, 6, 3, 2, 1, 1, groups=2), nn.ConvTranspose2d(14, 6, (2, 4), 2, (0, 1))
        self.conv4, self.fc = nn.Conv2d(12, 4, 1), nn.Linear(4, 3)

    def forward(self, x):
        a = F.silu(self.norm1(self.conv1(x)))
        b = F.leaky_relu(self.norm2(self.conv2(a)), 0.1)
        c = self.norm3(self.conv3(b))
        y = self.up2(torch.cat([b, self.up1(c)], 1)) + F.interpolate(c, scale_factor=4.0, mode="nearest")[:, :6]
        y = self.conv4(torch.cat([a, y], 1)) + F.interpolate(c, scale_factor=4.0, mode="bilinear")[:, 2:6]
        return self.fc(y.mean((2, 3)))


class Mobile(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn1 = nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8)
        self.depth, self.bn2 = nn.Conv2d(8, 8, 3, 1, 1, groups=8, bias=False), nn.BatchNorm2d(8)
        self.down, self.up, self.fc = nn.Conv2d(8, 4, 1), nn.Conv2d(4, 8, 1), nn.Linear(8, 3)

    def forward(self, x):
        y = F.hardswish(self.bn1(self.conv(x)))
        z = F.relu6(self.bn2(self.depth(y)))
        s = F.silu(self.down(F.adaptive_avg_pool2d(z, 1)))
        y = y + z * F.hardsigmoid(self.up(s))
        return self.fc(F.max_pool2d(y, 3, 2, ceil_mode=True).flatten(2).mean(2))


class NextBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.depth, self.norm = nn.Conv2d(8, 8, 5, 1, 2, groups=8), nn.LayerNorm(8)
        self.up, self.down, self.scale = nn.Linear(8, 16), nn.Linear(16, 8), nn.Parameter(torch.ones(8, 1, 1) * 0.1)

    def forward(self, x):
        y = self.norm(self.depth(x).permute(0, 2, 3, 1))
        return x + self.scale * self.down(F.gelu(self.up(y))).permute(0, 3, 1, 2)


class ConvNext(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.blocks = nn.Conv2d(3, 8, 4, 4), nn.Sequential(NextBlock(), NextBlock(), NextBlock())
        self.norm, self.fc = nn.LayerNorm(8), nn.Linear(8, 3)

    def forward(self, x):
        return self.fc(self.norm(self.blocks(self.stem(x)).mean((2, 3))))


class Series(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.up = nn.Conv1d(5, 8, 3, padding=1), nn.ConvTranspose1d(8, 6, 4, 2, 1)
        self.again = nn.Conv1d(6, 6, 3, padding=1, padding_mode="reflect")
        self.norm1, self.norm2 = nn.GroupNorm(4, 8), nn.InstanceNorm1d(6, affine=True)
        self.fc = nn.Linear(6, 3)

    def forward(self, x):
        return self.fc(self.again(self.norm2(self.up(F.mish(self.norm1(self.conv(x)))))).amax(2))


class Volume(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv3d(3, 8, 3, padding=1), nn.GroupNorm(2, 8)
        self.up, self.fc = nn.ConvTranspose3d(8, 4, 2, 2), nn.Linear(4, 3)

    def forward(self, x):
        return self.fc(self.up(F.elu(self.norm(self.conv(x)))).mean((2, 3, 4)))


class Acts(nn.Module):
    ALL = [F.elu, F.selu, F.celu, F.mish, F.hardtanh, F.relu6, F.softsign, F.logsigmoid, F.hardswish, F.hardsigmoid,
           F.leaky_relu, F.softplus, F.silu, F.gelu, lambda v: F.gelu(v, approximate="tanh"), torch.erf,
           lambda v: v / v.norm(dim=1, keepdim=True)]

    def __init__(self):
        super().__init__()
        self.layers, self.act = nn.ModuleList(nn.Linear(5, 5) for _ in self.ALL), nn.PReLU()
        self.fc = nn.Linear(5, 3)

    def forward(self, x):
        for layer, f in zip(self.layers, self.ALL):
            x = x + f(layer(x))
        return self.fc(self.act(x))


class Kinks(nn.Module):
    """Activations where their slope jumps: what enters them are whole numbers."""
    ALL = [F.relu, F.leaky_relu, F.relu6, F.hardtanh, F.hardsigmoid, F.hardswish, F.elu, F.selu, F.celu]

    def __init__(self):
        super().__init__()
        self.shifts = nn.ParameterList(nn.Parameter(torch.arange(5) - k % 5.0) for k in range(len(self.ALL)))
        self.fc = nn.Linear(5, 3)

    def exact(self):
        for p in self.shifts:
            p.round_()

    def forward(self, x):
        return self.fc(sum(f(x + shift) for shift, f in zip(self.shifts, self.ALL)) / 8)


class Pixels(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.shuffle, self.fc = nn.Conv2d(3, 8, 3, padding=1), nn.PixelShuffle(2), nn.Linear(2, 3)
        self.table = nn.Parameter(torch.randn(8, 2) * 0.1)

    def forward(self, x):
        y = F.pad(self.shuffle(self.conv(x)), (1, 2, 0, 1))
        y = F.interpolate(y, size=(10, 13), mode="bicubic")
        return self.fc(y.mean((2, 3)) + self.table[[3, 1, 7, 0, 3, 2, 5, 6, 4, 1]].mean(0))


class Windows(nn.Module):
    """Windows that reach beyond their axis, by auto_pad of the older exporter and by ceil_mode; a norm over several
    axes, padding with a number, and reductions that are made of others."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.fc = nn.Conv2d(3, 6, (4, 3), padding="same"), nn.LayerNorm((6, 9, 8)), nn.Linear(6, 3)

    def forward(self, x):
        y = self.norm(self.conv(x))
        y = F.avg_pool2d(y, 3, 2, 1, ceil_mode=True) * F.avg_pool2d(y, 3, 2, 1, ceil_mode=True, count_include_pad=False)
        y = F.pad(y, (-1, 1, 0, 2), value=0.5)
        z = y.logsumexp((2, 3)) + y.var(2).norm(p=1, dim=2) + y.std((2, 3)).prod(1, keepdim=True)
        return self.fc(z + 0.1 * y.argmax(1, keepdim=True).sum((2, 3)))


class Causal(Transformer):
    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        return self.fc(self.enc(self.emb(x) + self.pos, mask=mask, is_causal=True).mean(1))


class Shuffle(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8)
        self.down, self.block = shufflenetv2.InvertedResidual(8, 12, 2), shufflenetv2.InvertedResidual(12, 12, 1)
        self.fc = nn.Linear(12, 3)

    def forward(self, x):
        return self.fc(self.block(self.down(torch.relu(self.bn(self.conv(x))))).mean([2, 3]))


class Swin(swin_transformer.SwinTransformer):
    """Its second block shifts windows, which masks keep apart, and its images are padded to whole windows."""

    def __init__(self):
        super().__init__([2, 2], 8, [2, 1], [2, 4], [3, 3], 2.0, stochastic_depth_prob=0.0, num_classes=3)


class Logic(nn.Module):
    """Masks by logical ops, running sums, repeats, whole numbers, and elements by indices."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.fc = nn.Linear(5, 6), nn.Linear(5, 6), nn.Linear(6, 3)
        self.register_buffer("ids", torch.tensor([[3, 0, 5, 5, 1, 2]]))
        self.register_buffer("table", torch.arange(24.0).reshape(4, 6) / 24)

    def forward(self, x):
        a, b = self.a(x), self.b(x)
        either, odd = (a > 0) | (b > 0.2), (a > 0) ^ (b > 0)
        a = torch.where(torch.isnan(a / odd.float() - a / odd.float()), a, 0.5 * a)
        y = torch.where(either & ~odd, a, b * b) + a.cumsum(1) * odd + b.amin(1, keepdim=True)
        y = y + b.tile(1, 3)[:, 4:10] + a.gather(1, self.ids.clamp(1, 4).expand(x.shape[0], -1))
        y = y + torch.sign(a) * b + 0.1 * torch.floor(2 * a) * b + 0.1 * torch.ceil(b) * a
        rows = self.table[torch.arange(3)[:, None], torch.tensor([1, 4])[None]].sum(0)
        return self.fc(y * rows.tile(3)[None] + torch.flip(torch.flip(a, [1]).cumsum(1), [1]))


SMALL = dict(vocab_size=20, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=24,
             max_position_embeddings=140, attention_probs_dropout_prob=0.0, hidden_dropout_prob=0.0)


class Bert(nn.Module):
    """Of the library transformers; tokens 0 to 4 are padding, which its mask leaves out."""

    def __init__(self):
        super().__init__()
        self.bert, self.fc = transformers.BertModel(transformers.BertConfig(**SMALL)), nn.Linear(16, 3)

    def forward(self, x):
        return self.fc(self.bert(x, attention_mask=(x > 4).long()).pooler_output)


class Roberta(nn.Module):
    """Positions count what is no padding: a running sum of the data."""

    def __init__(self):
        super().__init__()
        config = transformers.RobertaConfig(**SMALL, pad_token_id=1)
        self.roberta, self.fc = transformers.RobertaModel(config, add_pooling_layer=False), nn.Linear(16, 3)

    def forward(self, x):
        return self.fc(self.roberta(x, attention_mask=(x != 1).long()).last_hidden_state[:, 0])


class Gpt2(nn.Module):
    """Without a mask of padding, it looks for samples that are packed, by positions that start again."""

    def __init__(self):
        super().__init__()
        self.gpt2 = transformers.GPT2LMHeadModel(transformers.GPT2Config(
            vocab_size=20, n_embd=16, n_layer=2, n_head=4, n_positions=140, attn_pdrop=0.0, embd_pdrop=0.0,
            resid_pdrop=0.0))

    def forward(self, x):
        return self.gpt2(x, use_cache=False).logits[:, -1, :3]


class Llama(nn.Module):
    """Rotary positions, RMS norms, and keys and values of fewer heads."""

    def __init__(self):
        super().__init__()
        self.llama = transformers.LlamaForCausalLM(transformers.LlamaConfig(
            vocab_size=20, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, max_position_embeddings=140))

    def forward(self, x):
        return self.llama(x, use_cache=False).logits[:, -1, :3]


class Qwen2(nn.Module):
    """Biases of queries, keys and values; the length is open, so that the mask of the future is computed."""

    def __init__(self):
        super().__init__()
        self.qwen = transformers.Qwen2ForCausalLM(transformers.Qwen2Config(
            vocab_size=20, hidden_size=16, intermediate_size=24, num_hidden_layers=1, num_attention_heads=4,
            num_key_value_heads=2, max_position_embeddings=40))

    def forward(self, x):
        return self.qwen(x, use_cache=False).logits[:, -1, :3]


class Gemma2(nn.Module):
    """Scores of attention and logits that tanh limits, and every other layer looks back four tokens alone."""

    def __init__(self):
        super().__init__()
        self.gemma = transformers.Gemma2ForCausalLM(transformers.Gemma2Config(
            vocab_size=20, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4, head_dim=4,
            num_key_value_heads=2, max_position_embeddings=40, sliding_window=4, attn_implementation="eager"))

    def forward(self, x):
        return self.gemma(x, use_cache=False).logits[:, -1, :3]


class DistilBert(nn.Module):
    """The length is open, and at most 40."""

    def __init__(self):
        super().__init__()
        self.distil = transformers.DistilBertForSequenceClassification(transformers.DistilBertConfig(
            vocab_size=20, dim=16, n_layers=1, n_heads=4, hidden_dim=24, max_position_embeddings=40, num_labels=3,
            dropout=0.0, attention_dropout=0.0, seq_classif_dropout=0.0))

    def forward(self, x):
        return self.distil(x, attention_mask=(x > 4).long()).logits


class HfConvNext(nn.Module):
    def __init__(self):
        super().__init__()
        self.next = transformers.ConvNextForImageClassification(transformers.ConvNextConfig(
            num_stages=3, hidden_sizes=[8, 12, 16], depths=[1, 2, 1], num_labels=3))

    def forward(self, x):
        return self.next(x).logits


class Wav2Vec2(nn.Module):
    """Positions are a convolution whose weight is a direction and a length."""

    def __init__(self):
        super().__init__()
        self.wav = transformers.Wav2Vec2ForCTC(transformers.Wav2Vec2Config(
            vocab_size=12, hidden_size=16, num_hidden_layers=1, num_attention_heads=4, intermediate_size=24,
            conv_dim=(8, 8, 8), conv_stride=(5, 2, 2), conv_kernel=(10, 3, 3), num_feat_extract_layers=3,
            num_conv_pos_embeddings=6, num_conv_pos_embedding_groups=2, hidden_dropout=0.0, attention_dropout=0.0,
            activation_dropout=0.0, feat_proj_dropout=0.0, final_dropout=0.0, layerdrop=0.0, apply_spec_augment=False))

    def forward(self, x):
        return self.wav(x).logits.mean(1)[:, :3]


class T5(nn.Module):
    """An encoder and a decoder, whose positions are a bias of scores by distance; the length is open."""

    def __init__(self):
        super().__init__()
        self.t5 = transformers.T5ForConditionalGeneration(transformers.T5Config(
            vocab_size=20, d_model=16, d_kv=4, d_ff=24, num_layers=1, num_heads=4, dropout_rate=0.0,
            relative_attention_num_buckets=8, relative_attention_max_distance=16, decoder_start_token_id=0))

    def forward(self, x):
        return self.t5(input_ids=x, decoder_input_ids=x, use_cache=False).logits[:, -1, :3]


class Whisper(nn.Module):
    """Its text is the same for all samples."""

    def __init__(self):
        super().__init__()
        self.whisper = transformers.WhisperForConditionalGeneration(transformers.WhisperConfig(
            vocab_size=20, num_mel_bins=8, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4,
            decoder_attention_heads=4, encoder_ffn_dim=24, decoder_ffn_dim=24, max_source_positions=20,
            max_target_positions=30, dropout=0.0, pad_token_id=0, bos_token_id=1, eos_token_id=2,
            decoder_start_token_id=1))
        self.register_buffer("text", torch.tensor([[1, 7, 9, 6, 12]]))

    def forward(self, x):
        text = self.text.expand(x.shape[0], -1)
        return self.whisper(input_features=x, decoder_input_ids=text, use_cache=False).logits[:, -1, :3]


class HfVit(nn.Module):
    def __init__(self):
        super().__init__()
        self.vit = transformers.ViTForImageClassification(transformers.ViTConfig(
            hidden_size=16, num_hidden_layers=1, num_attention_heads=4, intermediate_size=24, image_size=8, patch_size=4,
            num_labels=3, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))

    def forward(self, x):
        return self.vit(x).logits


class Efficient(efficientnet.EfficientNet):
    """Squeeze and excitation of silu."""

    def __init__(self):
        config = [efficientnet.MBConvConfig(*k, 1, 1) for k in ((2, 3, 1, 8, 8, 2), (2, 5, 2, 8, 8, 1))]
        super().__init__(config, 0.0, stochastic_depth_prob=0.0, num_classes=3, last_channel=16)


class Branches(nn.Module):
    """The exporter writes an If for each: squeeze of sizes that it does not know, and a condition on one."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.fc, self.one = nn.Linear(5, 6), nn.Linear(5, 6), nn.Linear(6, 3), nn.Linear(6, 1)

    def forward(self, x):
        y = longer(x, self.a(x), self.b(x)).squeeze(1).mean(1)
        return self.fc(y) * self.one(y)


@torch.jit.script
def longer(x, a, b):
    if x.size(1) > 3:
        a = a * 2.0
    else:
        a = b
    return a + b


class DataBranch(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(5, 3)

    def forward(self, x):
        return larger(self.fc(x))


@torch.jit.script
def larger(x):
    if bool(x.max() > 0.0):
        x = x * 2.0
    return x


class Depth(nn.Module):
    """Paths that are left out at random, as torchvision and as transformers have it: no loss can be compared."""

    def __init__(self):
        super().__init__()
        self.conv, self.fc, self.depth = nn.Conv2d(3, 4, 3), nn.Linear(4, 3), StochasticDepth(0.25, "row")

    def forward(self, x):
        y = self.conv(x)
        y = y + self.depth(torch.tanh(y))
        keep = (0.5 + torch.rand(x.shape[0], 1, 1, 1)).floor()
        return self.fc((y + y.exp() / 0.5 * keep).mean((2, 3))) + 0.1 * torch.randn_like(x[:, :, 0, 0])


@torch.jit.script
def looped(x, w, u, v):
    """Loops whose steps are appended to a list, that read their counter, and that end by it; the length is open."""
    h = torch.zeros(x.shape[0], 6)
    g = torch.zeros(x.shape[0], 6)
    seen = []
    for t in range(x.shape[1]):
        h = torch.tanh(torch.matmul(x[:, t], w) + torch.matmul(h, u))
        seen.append(h)
    for t in range(x.shape[1]):
        g = torch.sigmoid(torch.matmul(x[:, t], v) * float(t) - g)
    k = 1
    while k < 20:
        g = g + torch.matmul(h, u) / float(k)
        k = k * 2
    k = 0
    while k < x.shape[1]:
        g = g - torch.matmul(g, u) / float(k + 1)
        k = k + 1
    return torch.stack(seen, 1), g


class Looped(nn.Module):
    def __init__(self):
        super().__init__()
        self.w, self.u, self.v = (nn.Parameter(torch.randn(n, 6) * 0.3) for n in (5, 6, 5))
        self.fc = nn.Linear(12, 3)

    def forward(self, x):
        steps, last = looped(x, self.w, self.u, self.v)
        return self.fc(torch.cat([steps.mean(1), last], 1))


class Scanned(nn.Module):
    """Scans of PyTorch, both ways, one over the steps of the other, and a while_loop of a counter."""

    def __init__(self):
        super().__init__()
        self.enter, self.rec, self.back = nn.Linear(5, 6), nn.Linear(6, 6, bias=False), nn.Linear(6, 6)
        self.fc = nn.Linear(12, 3)

    def forward(self, x):
        def step(h, e):
            h = torch.tanh(self.enter(e) + self.rec(h))
            return h, h.clone()

        def backwards(h, e):
            h = torch.sigmoid(self.back(h) + e)
            return h, h * e

        start = self.enter(x[:, 0]) * 0.1
        last, steps = scan(step, start, x.transpose(0, 1), dim=0)
        _, steps = scan(backwards, start, steps, dim=0, reverse=True)
        if getattr(self, "exporting", False):
            _, last = while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, torch.tanh(self.rec(h))), (torch.tensor(0), last))
        else:
            for _ in range(3):
                last = torch.tanh(self.rec(last))
        return self.fc(torch.cat([steps.mean(0), last], 1))


MODELS = {
    "mlp": (Mlp, lambda: torch.randn(SAMPLES, 5)),
    "resnet": (ResNet, lambda: torch.randn(SAMPLES, 3, 16, 16)),
    "lstm": (Lstm, lambda: torch.randn(SAMPLES, 7, 5)),
    "transformer": (Transformer, lambda: torch.randint(0, 20, (SAMPLES, 7))),
    "vit": (Vit, lambda: torch.randn(SAMPLES, 3, 8, 8)),
    "gru": (Gru, lambda: torch.randn(SAMPLES, 7, 5)),
    "gru_before": (GruBefore, lambda: torch.randn(SAMPLES, 7, 5)),
    "rnn": (Rnn, lambda: torch.randn(SAMPLES, 7, 5)),
    "unet": (Unet, lambda: torch.randn(SAMPLES, 3, 12, 12)),
    "mobile": (Mobile, lambda: torch.randn(SAMPLES, 3, 12, 12)),
    "convnext": (ConvNext, lambda: torch.randn(SAMPLES, 3, 12, 12)),
    "series": (Series, lambda: torch.randn(SAMPLES, 5, 9)),
    "volume": (Volume, lambda: torch.randn(SAMPLES, 3, 4, 5, 6)),
    "acts": (Acts, lambda: torch.randn(SAMPLES, 5)),
    "kinks": (Kinks, lambda: torch.randint(-3, 7, (SAMPLES, 5)).float()),
    "pixels": (Pixels, lambda: torch.randn(SAMPLES, 3, 6, 7)),
    "windows": (Windows, lambda: torch.randn(SAMPLES, 3, 9, 8)),
    "shuffle": (Shuffle, lambda: torch.randn(SAMPLES, 3, 12, 12)),
    "swin": (Swin, lambda: torch.randn(SAMPLES, 3, 16, 16)),
    "causal": (Causal, lambda: torch.randint(0, 20, (SAMPLES, 7))),
    "logic": (Logic, lambda: torch.randn(SAMPLES, 5)),
    "bert": (Bert, lambda: torch.randint(0, 20, (SAMPLES, 7))),
    "roberta": (Roberta, lambda: torch.randint(0, 20, (SAMPLES, 7))),
    "gpt2": (Gpt2, lambda: torch.randint(0, 20, (SAMPLES, 140))),
    "llama": (Llama, lambda: torch.randint(0, 20, (SAMPLES, 7))),
    "qwen2": (Qwen2, lambda: torch.randint(0, 20, (SAMPLES, 7))),
    "gemma2": (Gemma2, lambda: torch.randint(0, 20, (SAMPLES, 7))),
    "distilbert": (DistilBert, lambda: torch.randint(0, 20, (SAMPLES, 7))),
    "hf_convnext": (HfConvNext, lambda: torch.randn(SAMPLES, 3, 16, 16)),
    "wav2vec2": (Wav2Vec2, lambda: torch.randn(SAMPLES, 200)),
    "t5": (T5, lambda: torch.randint(0, 20, (SAMPLES, 7))),
    "whisper": (Whisper, lambda: torch.randn(SAMPLES, 8, 40)),
    "hf_vit": (HfVit, lambda: torch.randn(SAMPLES, 3, 8, 8)),
    "efficient": (Efficient, lambda: torch.randn(SAMPLES, 3, 16, 16)),
    "looped": (Looped, lambda: torch.randn(SAMPLES, 7, 5)),
    "scanned": (Scanned, lambda: torch.randn(SAMPLES, 7, 5)),
    "branches": (Branches, lambda: torch.randn(SAMPLES, 7, 5)),
}
# Exports by the newer exporter: what it normalises, while it trains, needs its graph as it is.
DYNAMO = {"mlp": True, "transformer": True, "lstm": True, "vit": True, "gru": False, "unet": False, "mobile": False,
          "series": False, "volume": False, "acts": False, "kinks": False, "pixels": False, "windows": False, "shuffle": False,
          "causal": False, "logic": True, "bert": False, "gpt2": False, "llama": False, "qwen2": False,
          "gemma2": False, "distilbert": False, "hf_convnext": False, "wav2vec2": False, "whisper": False,
          "hf_vit": False, "efficient": False, "scanned": False}
# By the newer exporter alone: the older one does not write most of these.
NEWER = ("gpt2", "llama", "logic", "qwen2", "gemma2", "whisper", "hf_vit", "scanned")
OPEN = {"qwen2": {1: "time"}, "distilbert": {1: "time"}, "t5": {1: "time"}, "branches": {1: "time"},
        "looped": {1: "time"}}  # beside the batch
OPSETS = {"acts": 17, "series": 13}  # of the older exporter: before Gelu, and the oldest that is read


def export(name, model, x, path, dynamo):
    """By both exporters of PyTorch: what one folds and renames, the other writes as it is."""
    model.exporting = True
    axes = {0: "batch"} | OPEN.get(name, {})
    if dynamo:
        torch.onnx.export(model, (x,), path, dynamo=True,
                          dynamic_shapes=({k: torch.export.Dim(v) for k, v in axes.items()},),
                          input_names=["x"], output_names=["logits"], external_data=False, verbose=False,
                          optimize=DYNAMO[name])
    else:
        torch.onnx.export(model, (x,), path, dynamo=False, dynamic_axes={"x": axes, "logits": {0: "batch"}},
                          input_names=["x"], output_names=["logits"], opset_version=OPSETS.get(name, 20),
                          training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False)
    model.exporting = False


def strip(path, before):
    """What is no part of the model: the traces of the program that made it. before: see GruBefore."""
    model = onnx.load(path)
    del model.graph.value_info[:], model.graph.metadata_props[:], model.metadata_props[:]
    for node in model.graph.node:
        del node.metadata_props[:]
        for a in node.attribute if before else []:
            if a.name == "linear_before_reset":
                a.i = 0
        node.doc_string = ""
    onnx.save(model, path)


def merged():
    """A model that has not trained: the exporter writes the zeros of its biases once, and the ones of its norms."""
    model = nn.Sequential(nn.LayerNorm(5), nn.Linear(5, 5), nn.LayerNorm(5), nn.Linear(5, 3))
    path = OUT / "merged" / "fresh.onnx"
    path.parent.mkdir(exist_ok=True)
    export("mlp", model, torch.randn(SAMPLES, 5), str(path), dynamo=True)
    strip(str(path), False)


def random():
    for dynamo, path in (False, OUT / "random" / "depth.onnx"), (True, OUT / "random" / "depth_dynamo.onnx"):
        export("hf_vit", Depth().train(), torch.randn(SAMPLES, 3, 8, 8), str(path), dynamo)
        strip(str(path), False)
    model = DataBranch().train()
    export("logic", model, torch.randn(SAMPLES, 5), str(OUT / "random" / "data_branch.onnx"), False)
    strip(str(OUT / "random" / "data_branch.onnx"), False)


def nudged(make):
    """A model that trains, of which no two weights are equal: the exporter merges such."""
    torch.manual_seed(1)
    model = make().train()
    with torch.no_grad():
        for p in model.parameters():
            p.add_(torch.randn_like(p) * 0.05)
    return model


def main():
    (OUT / "random").mkdir(parents=True, exist_ok=True)
    for extra in merged, random:
        if not sys.argv[1:] or extra.__name__ in sys.argv[1:]:
            extra()
    for name, (make, sample) in MODELS.items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        model = nudged(make)
        if name == "kinks":
            with torch.no_grad():
                model.exact()
        x, y = sample(), torch.arange(SAMPLES) % 3
        if name not in NEWER:
            export(name, model, x, str(OUT / f"{name}.onnx"), dynamo=False)
        if name in DYNAMO:
            export(name, model, x, str(OUT / f"{name}_dynamo.onnx"), dynamo=True)
        for path in OUT.glob(f"{name}*.onnx"):
            strip(str(path), name == "gru_before")
        if name == "mlp":
            outside = OUT / "external"
            outside.mkdir(exist_ok=True)
            (outside / "mlp.data").unlink(missing_ok=True)
            onnx.save(onnx.load(OUT / "mlp_dynamo.onnx"), outside / "mlp.onnx", save_as_external_data=True,
                      location="mlp.data", size_threshold=0)
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        last = x.movedim(1, -1).contiguous() if x.dim() > 3 or name in ("series", "whisper") else x
        last = last.int() if last.dtype == torch.int64 else last
        np.savez(OUT / f"{name}_data.npz", x=last.numpy(), y=y.int().numpy())
        if name == "branches":
            np.savez(OUT / "random" / "short.npz", x=last[:, :3].numpy(), y=y.int().numpy())
        files = [onnx.load(path) for path in OUT.glob(f"{name}*.onnx")]
        there = {i.name for file in files for i in file.graph.initializer}
        named = {}  # of a weight with two names, that which a file has
        for k, p in model.named_parameters(remove_duplicate=False):
            if p.grad is not None and (id(p) not in named or k in there):
                named[id(p)] = k, p.grad.numpy()
        grads = dict(named.values())
        np.savez(OUT / f"{name}_grads.npz", loss=np.float32(loss.item()), **grads)


if __name__ == "__main__":
    main()
