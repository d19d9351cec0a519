#!/usr/bin/env python3
"""Compares graphs/whisper.yaml with transformers' WhisperForConditionalGeneration, randomly initialised, on real
recordings: logits, loss and the gradient of every weight. Nothing is downloaded.

    whisper_model.py GRAPHRUN MANIFEST.jsonl [SIZE]        SIZE: nano, or a file of configs/whisper

Needs PyTorch, transformers, safetensors and PyYAML; both sides get graphrun's frames (whisper_features.py). The gradient
is what one step of sgd with a rate of 10,000 takes from the weights; weights of graphrun start from transformers' by
model.init_from and configs/whisper/names.yaml."""
import json, pathlib, subprocess, sys, tempfile
import numpy as np
import torch, yaml
from safetensors.torch import load_file, save_file
from transformers import WhisperConfig, WhisperForConditionalGeneration

root = pathlib.Path(__file__).resolve().parents[2]
graphrun, manifest = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
SIZES = {"nano": (64, 2, 2), "tiny": (384, 4, 6), "base": (512, 6, 8)}
size = sys.argv[3] if len(sys.argv) > 3 else "nano"
dim, layers, heads = SIZES[size]
VOCAB, ROWS, LR = {"nano": 60}.get(size, 51865), 3, 1e4

NAMES = root / "configs/whisper/names.yaml"
RULES = yaml.safe_load(NAMES.read_text())["names"]

def ours(name):
    import re
    for rule in RULES:
        (a, b), = rule.items()
        m = re.fullmatch(re.escape(a).replace(r"\*", "(.*?)"), name)
        if m:
            groups = iter(m.groups())
            return re.sub(r"\*", lambda _: next(groups), b)
    raise KeyError(name)

def clean(text):  # as data.speech.text does
    text = "".join(" " if c in "-/_" else c for c in text.lower() if c not in '.,!?:;"()')
    return " ".join(text.split())

def run(folder, *args):
    done = subprocess.run([str(graphrun), *args], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return done.stdout

torch.manual_seed(1)
config = WhisperConfig(vocab_size=VOCAB, num_mel_bins=80, d_model=dim, encoder_layers=layers, decoder_layers=layers,
                       encoder_attention_heads=heads, decoder_attention_heads=heads, encoder_ffn_dim=4 * dim,
                       decoder_ffn_dim=4 * dim, dropout=0.0, decoder_start_token_id=0, pad_token_id=1, bos_token_id=1,
                       eos_token_id=1, begin_suppress_tokens=None, suppress_tokens=None)
model = WhisperForConditionalGeneration(config).eval()
with torch.no_grad():  # norms and biases, which start as ones and zeros, say nothing then
    for p in model.parameters():
        if p.dim() == 1:
            p.add_(0.1 * torch.randn_like(p))
with tempfile.TemporaryDirectory() as folder:
    d = pathlib.Path(folder)
    state = {k: v.contiguous().clone() for k, v in model.state_dict().items() if k != "proj_out.weight"}
    save_file(state, d / "theirs.safetensors")
    symbols = ["<s>", "</s>", "<es>", "<space>"] + list("abcdefghijklmnopqrstuvwxyzáéíóúñü")
    symbols += [f"w{i}" for i in range(VOCAB - 1 - len(symbols))]
    (d / "vocab.txt").write_text("\n".join(symbols) + "\n")
    graph = (root / "graphs/whisper.yaml").read_text()
    (d / "model.yaml").write_text(graph + "predict: {x: x, labels: labels, decoder_inputs: decoder_inputs, logits: logits}\n")
    lines = [json.loads(line) for line in open(manifest)][:ROWS]
    for line in lines:
        line["audio_path"] = str((manifest.parent / line["audio_path"]).resolve())
    (d / "all.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    settings = {"model": {"graph": "model.yaml", "freeze": ["encoder.positions"],
                          "params": {"dim": dim, "layers": layers, "heads": heads},
                          "init_from": [{"from": "theirs.safetensors", "rename": str(NAMES)}]},
                "data": {"validation_fraction": 0.0, "buckets": 1,
                         "speech": {"manifest": "all.jsonl", "vocab": "vocab.txt", "sample_rate": 16000,
                                    "text": {"case": "lower", "prefix": ["<s>", "<es>"], "suffix": ["</s>"]},
                                    "features": {"n_fft": 400, "window": 400, "hop": 160, "mels": 80, "mel_scale": "slaney",
                                                 "mel_norm": "slaney", "level": "log10", "range": 8.0, "offset": 4.0,
                                                 "scale": 0.25, "seconds": 30.0, "last_frame": False, "normalize": False}}},
                "training": {"batch_size": ROWS, "optimizer": "sgd", "lr": LR, "max_steps": 1, "final_train_eval": False},
                "distributed": {"ranks": 1}, "output": {"dir": "run"}, "checkpoint": {"level": 0}}
    (d / "config.yaml").write_text(json.dumps(settings))
    # Logits: of a decoder that is given a long prefix, before any step.
    long = ["<s>", "<es>"] + list("buenos") + ["<space>"] + list("dias")
    settings["data"]["speech"]["text"]["prefix"] = [" " if x == "<space>" else x for x in long]
    (d / "prefix.yaml").write_text(json.dumps(settings))
    run(d, "config.yaml")
    run(d, "prefix.yaml", "output.dir=before", "training.lr=0")
    audio = [line["audio_path"] for line in lines]
    said = [json.loads(line) for line in run(d, "predict", "before", *audio).splitlines()]
    step = json.loads(open(d / "run/metrics.jsonl").readline())
    run(d, "export", "run", "after.safetensors")
    after = load_file(d / "after.safetensors")

# The same in PyTorch, from the frames that graphrun computed (whisper_features.py compares those).
x = torch.tensor(np.array([line["x"] for line in said]), dtype=torch.float32).transpose(1, 2)
index = {" " if s == "<space>" else s: i for i, s in enumerate(symbols)}
sequences = [[index["<s>"], index["<es>"]] + [index[c] for c in clean(line["text"])] + [index["</s>"]] for line in lines]
width = max(map(len, sequences)) - 1
inputs = torch.tensor([s[:-1] + [0] * (width + 1 - len(s)) for s in sequences])
labels = torch.tensor([s[1:] + [-100] * (width + 1 - len(s)) for s in sequences])

def largest(a, b):
    return (a - b).abs().max().item() / max(1e-30, b.abs().max().item())

with torch.no_grad():
    ids = torch.tensor([[index[c] for c in settings["data"]["speech"]["text"]["prefix"]]] * ROWS)
    theirs = model(input_features=x, decoder_input_ids=ids).logits
got = torch.tensor(np.array([line["logits"] for line in said]), dtype=torch.float32)
out = model(input_features=x, decoder_input_ids=inputs, labels=labels)
out.loss.backward()
worst = {"logits": largest(got, theirs), "loss": abs(step["loss"] - out.loss.item()) / out.loss.item()}
for name, p in model.named_parameters():
    if name == "proj_out.weight" or not p.requires_grad:
        continue
    gradient = (p.detach() - after[ours(name)]) / LR
    worst["gradient of " + name] = largest(gradient, p.grad)
trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
print(f"{size}: {model.num_parameters():,} parameters, {trained:,} trained; {width} positions of {ROWS} recordings")
for name, value in sorted(worst.items(), key=lambda item: -item[1])[:4] + [(k, worst[k]) for k in ("logits", "loss")]:
    print(f"  {value:.2g}  {name}")
gradients = [v for k, v in worst.items() if k.startswith("gradient")]
print(f"  {len(gradients)} gradients, the largest difference {max(gradients):.2g} of a gradient's largest value")
sys.exit(worst["logits"] > 1e-5 or worst["loss"] > 1e-5 or max(gradients) > 1e-4)
