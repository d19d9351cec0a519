#!/usr/bin/env python3
"""Moves randomly initialised weights of graphs/whisper.yaml between graphrun and transformers, as folders under
configs/whisper/names.yaml, and compares: logits in both directions, the bytes there and back, and a low-rank adapter's
loss, gradients and five steps of AdamW with those of PEFT. Nothing is downloaded.

    whisper_folders.py GRAPHRUN MANIFEST.jsonl [SIZE]        SIZE: nano, or tiny of configs/whisper

Needs PyTorch, transformers, peft, safetensors and PyYAML; e2e.folders runs it where $GR_TORCH_PYTHON has them. Both
sides get the frames that graphrun computes (whisper_features.py compares those)."""
import json, os, pathlib, subprocess, sys, tempfile
import numpy as np
import torch, yaml
from peft import LoraConfig, PeftModel, get_peft_model, get_peft_model_state_dict
from safetensors.torch import load_file
from transformers import WhisperConfig, WhisperForConditionalGeneration

root = pathlib.Path(__file__).resolve().parents[2]
graphrun, manifest = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
names = root / "configs/whisper/names.yaml"
rules = yaml.safe_load(names.read_text())["names"]
size = sys.argv[3] if len(sys.argv) > 3 else "nano"
DIM, LAYERS, HEADS, VOCAB, SECONDS = {"nano": (64, 2, 2, 60, 3.04), "tiny": (384, 4, 6, 51865, 30)}[size]
ROWS, STEPS, LR, FAR, RANK, ALPHA = 3, 5, 1e-3, 1e4, 8, 16
TEXT, CONTEXT = 64, round(SECONDS * 50)
failed = []

def report(what, value, most):
    print(f"  {what}: {value:.2g}" if isinstance(value, float) else f"  {what}: {value}", flush=True)
    if value > most:
        failed.append(what)

def run(*args):
    done = subprocess.run([str(graphrun), *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(" ".join(map(str, args)) + "\n" + done.stdout + done.stderr)
    return done.stdout

def largest(a, b):
    return (a - b).abs().max().item() / max(1e-30, b.abs().max().item())

def random_model():
    torch.manual_seed(1)
    config = WhisperConfig(vocab_size=VOCAB, num_mel_bins=80, d_model=DIM, encoder_layers=LAYERS, decoder_layers=LAYERS,
                           encoder_attention_heads=HEADS, decoder_attention_heads=HEADS, encoder_ffn_dim=4 * DIM,
                           decoder_ffn_dim=4 * DIM, dropout=0.0, decoder_start_token_id=0, pad_token_id=1, bos_token_id=1,
                           eos_token_id=1, begin_suppress_tokens=None, suppress_tokens=None, max_source_positions=CONTEXT,
                           max_target_positions=TEXT)
    model = WhisperForConditionalGeneration(config).eval()
    with torch.no_grad():  # norms and biases, which start as ones and zeros, say nothing then
        for p in model.parameters():
            if p.dim() == 1:
                p.add_(0.1 * torch.randn_like(p))
    return model

def loaded(folder):
    model, info = WhisperForConditionalGeneration.from_pretrained(folder, output_loading_info=True)
    report("keys missing, unexpected or of another shape",
           sum(len(info[k]) for k in ("missing_keys", "unexpected_keys", "mismatched_keys")), 0)
    return model.eval()

def predicted(folder):
    lines = [json.loads(line) for line in run("predict", folder, "all.jsonl").splitlines()]
    return {k: torch.tensor(np.array([line[k] for line in lines])) for k in ("x", "decoder_inputs", "logits")}

def logits(model, p):
    with torch.no_grad():
        return model(input_features=p["x"].float().transpose(1, 2), decoder_input_ids=p["decoder_inputs"].long()).logits

def written(symbols):  # what the decoder is given in training, and what follows: as data.speech.text makes them
    index = {" " if s == "<space>" else s: i for i, s in enumerate(symbols)}
    texts = [json.loads(line)["text"].lower() for line in open("all.jsonl")]
    texts = [" ".join("".join(c for c in text if c not in '.,!?:;"()¿¡').split()) for text in texts]
    rows = [[0, 2] + [index[c] for c in text] + [1] for text in texts]
    width = max(map(len, rows)) - 1
    return (torch.tensor([r[:-1] + [0] * (width + 1 - len(r)) for r in rows]),
            torch.tensor([r[1:] + [-100] * (width + 1 - len(r)) for r in rows]))

def losses(folder):
    return [json.loads(line)["loss"] for line in open(folder + "/metrics.jsonl")]

def equal_bytes(a, b):
    return sum(a[k].numpy().tobytes() != b[k].numpy().tobytes() for k in a) + len(a.keys() ^ b.keys())

def ours(name):  # of a tensor of an adapter, by the same rules
    import re
    for rule in rules:
        (a, b), = rule.items()
        m = re.fullmatch(re.escape(a).replace(r"\*", "(.*?)"), name.removeprefix("base_model.model."))
        if m:
            groups = iter(m.groups())
            return re.sub(r"\*", lambda _: next(groups), b)
    raise KeyError(name)

def settings(symbols):
    graph = (root / "graphs/whisper.yaml").read_text()
    outputs = "predict: {x: x, decoder_inputs: decoder_inputs, logits: logits}\n"
    pathlib.Path("model.yaml").write_text(graph + outputs)
    pathlib.Path("vocab.txt").write_text("\n".join(symbols) + "\n")
    lines = [line for line in map(json.loads, open(manifest)) if line["duration"] < SECONDS and len(line["text"]) < 40][:ROWS]
    for line in lines:
        line["audio_path"] = str((manifest.parent / line["audio_path"]).resolve())
    pathlib.Path("all.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    config = {"model": {"graph": "model.yaml", "freeze": ["encoder.positions"],
                        "params": {"dim": DIM, "layers": LAYERS, "heads": HEADS, "audio_context": CONTEXT, "text_context": TEXT}},
              "data": {"validation_fraction": 0.0, "buckets": 1,
                       "speech": {"manifest": "all.jsonl", "vocab": "vocab.txt", "sample_rate": 16000,
                                  "text": {"case": "lower", "drops": ".,!?:;\"()¿¡", "prefix": ["<s>", "<es>"], "suffix": ["</s>"]},
                                  "features": {"n_fft": 400, "window": 400, "hop": 160, "mels": 80, "mel_scale": "slaney",
                                               "mel_norm": "slaney", "level": "log10", "range": 8.0, "offset": 4.0, "scale": 0.25,
                                               "seconds": SECONDS, "last_frame": False, "normalize": False}}},
              "training": {"batch_size": ROWS, "optimizer": "adamw", "lr": LR, "weight_decay": 0.01, "max_steps": STEPS,
                           "max_epochs": 0, "final_train_eval": False},
              "distributed": {"ranks": 1}, "checkpoint": {"level": 0}}
    pathlib.Path("config.yaml").write_text(json.dumps(config))

def folders(model):
    print("from transformers")
    model.save_pretrained("theirs")
    start = f"model.init_from=[{{from:theirs,rename:{names}}}]"
    run("config.yaml", start, "output.dir=same", "training.lr=0", "training.max_steps=1")
    p = predicted("same")
    report("logits", largest(p["logits"], logits(model, p)), 1e-5)
    run("export", "same", "back", f"--names={names}")
    report("tensors whose bytes differ there and back", equal_bytes(load_file("theirs/model.safetensors"), load_file("back/model.safetensors")), 0)

    print("to transformers")
    run("config.yaml", "output.dir=fresh", "training.seed=3")
    for folder, *more in (("one",), ("shards", "--shard-mb=1" if size == "nano" else "--shard-mb=60")):
        run("export", "fresh", folder, f"--names={names}", *more)
        p, there = predicted("fresh"), loaded(folder)
        report(f"logits, {len(list(pathlib.Path(folder).glob('*.safetensors')))} file(s)", largest(logits(there, p), p["logits"]), 1e-5)
    there.save_pretrained("again")
    run("config.yaml", f"model.init_from=[{{from:again,rename:{names}}}]", "output.dir=third", "training.lr=0", "training.max_steps=1")
    run("export", "third", "last", f"--names={names}")
    report("tensors whose bytes differ there and back", equal_bytes(load_file("one/model.safetensors"), load_file("last/model.safetensors")), 0)

def adapters(model, p, symbols):
    print(f"LoRA, rank {RANK} on q and v, from the same adapter")
    config = LoraConfig(r=RANK, lora_alpha=ALPHA, lora_dropout=0.0, target_modules=["q_proj", "v_proj"])
    tuned = get_peft_model(model, config)
    with torch.no_grad():
        for name, w in tuned.named_parameters():
            if "lora_B" in name:  # zeros say nothing of A's gradient
                w.copy_(0.02 * torch.randn_like(w))
    tuned.save_pretrained("adapter")
    begin = {ours(k): v.clone() for k, v in get_peft_model_state_dict(tuned).items()}
    settings = json.load(open("config.yaml"))
    settings["model"] |= {"lora": {"match": "*.{q,v}", "rank": RANK, "alpha": ALPHA},
                          "init_from": [{"from": "theirs", "rename": str(names)},
                                        {"from": "adapter/adapter_model.safetensors", "rename": str(names)}]}
    pathlib.Path("lora.yaml").write_text(json.dumps(settings))
    run("lora.yaml", "output.dir=far", "training.optimizer=sgd", f"training.lr={FAR}", "training.weight_decay=0", "training.max_steps=1")
    run("lora.yaml", "output.dir=tuned")
    run("export", "far", "far.safetensors", "--which=last")
    run("export", "tuned", "tuned_adapter", "--lora", f"--names={names}", "--which=last")
    run("export", "tuned", "merged", "--merge-lora", f"--names={names}", "--which=last")

    x, (given, labels) = p["x"].float().transpose(1, 2), written(symbols)
    trained = [(n, w) for n, w in tuned.named_parameters() if w.requires_grad]
    optimizer = torch.optim.AdamW([w for _, w in trained], lr=LR, weight_decay=0.01)
    far, said = load_file("far.safetensors"), losses("tuned")
    for step in range(STEPS):
        loss = tuned(input_features=x, decoder_input_ids=given, labels=labels).loss
        report(f"loss of step {step + 1}", abs(said[step] - loss.item()) / loss.item(), 1e-5)
        optimizer.zero_grad()
        loss.backward()
        if not step:
            worst = {n: largest((begin[k] - far[k]) / FAR, w.grad) for n, w in trained for k in [ours(n.replace(".default", ""))]}
            report(f"{len(worst)} gradients, the largest difference", max(worst.values()), 1e-4)
        optimizer.step()
    after = get_peft_model_state_dict(tuned)
    here = load_file("tuned_adapter/adapter_model.safetensors")
    report("names of the adapter that differ", len(after.keys() ^ here.keys()), 0)
    moved = max((after[k] - begin[ours(k)]).abs().max().item() for k in after)
    differs = sorted(((after[k] - here[k]).abs().max().item(), k) for k in after)[-1]
    report(f"adapter after {STEPS} steps, largest difference ({differs[1]}) of the largest change {moved:.2g}", differs[0] / moved, 1e-2)
    report("... mean difference of the mean change",
           (sum((after[k] - here[k]).abs().sum() for k in after) / sum((after[k] - begin[ours(k)]).abs().sum() for k in after)).item(), 1e-3)
    q = predicted("tuned")
    report("logits after the steps", largest(q["logits"], logits(tuned.eval(), q)), 1e-4)
    report("logits of the exported adapter in PEFT",
           largest(logits(PeftModel.from_pretrained(WhisperForConditionalGeneration.from_pretrained("theirs"), "tuned_adapter").eval(), q), q["logits"]), 1e-5)
    report("logits of the merged folder", largest(logits(loaded("merged"), q), q["logits"]), 1e-5)

with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    symbols = ["<s>", "</s>", "<es>", "<space>"] + list("abcdefghijklmnopqrstuvwxyzáéíóúñü")
    settings(symbols + [f"w{i}" for i in range(VOCAB - 1 - len(symbols))])
    model = random_model()
    print(f"{size}: {model.num_parameters():,} parameters")
    folders(model)
    adapters(model, predicted("same"), symbols)
    os.chdir("/")
print("failed: " + ", ".join(failed) if failed else "all within their limits")
sys.exit(bool(failed))
