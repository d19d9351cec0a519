#!/usr/bin/env python3
"""Compares what graphs/whisper.yaml writes with transformers' generate(), greedily and with beams, token for token, from
random weights and real recordings. Nothing is downloaded.

    whisper_beams.py GRAPHRUN MANIFEST.jsonl

Needs PyTorch, transformers and safetensors. The generate() is that of all models, not Whisper's own, which writes time
stamps. Weights go over by configs/whisper/names.yaml."""
import json, pathlib, subprocess, sys, tempfile
import numpy as np
import torch
from safetensors.torch import save_file
from transformers import GenerationMixin, WhisperConfig, WhisperForConditionalGeneration

root = pathlib.Path(__file__).resolve().parents[2]
graphrun, manifest = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
ROWS, TOKENS, START, END = 12, 24, 0, 1

def run(folder, *args):
    done = subprocess.run([str(graphrun), *args], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return done.stdout

def random_model(seed, frames):
    torch.manual_seed(seed)
    config = WhisperConfig(vocab_size=40, num_mel_bins=40, d_model=32, encoder_layers=1, decoder_layers=2,
                           encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=128, decoder_ffn_dim=128,
                           dropout=0.0, decoder_start_token_id=START, pad_token_id=END, bos_token_id=START, eos_token_id=END,
                           max_source_positions=frames // 2, max_target_positions=48, begin_suppress_tokens=None,
                           suppress_tokens=None)
    model = WhisperForConditionalGeneration(config).eval()
    with torch.no_grad():  # larger than they start, so that texts differ; and what ends a text is likely
        for name, p in model.named_parameters():
            p.mul_(12 if "embed_tokens" in name else 8 if "encoder_attn" in name or "embed_positions" in name else 3 if p.dim() > 1 else 1)
        last = model.model.decoder.layer_norm
        last.bias.copy_(0.3 * torch.randn_like(last.bias))
        model.model.decoder.embed_tokens.weight[END] += 0.9 * last.bias
    return model

def written(d, x_of, *keys):
    lines = [json.loads(line) for line in run(d, "predict", "run", "all.jsonl", *keys).splitlines()]
    x_of[:] = [line["x"] for line in lines]
    return [line["ids"][:line["n"]] for line in lines]

def theirs(model, x, beams, penalty, tokens):
    with torch.no_grad():
        out = GenerationMixin.generate(model, input_features=x, decoder_input_ids=torch.full((len(x), 1), START),
                                       max_new_tokens=tokens, num_beams=beams, length_penalty=penalty, early_stopping=False,
                                       do_sample=False)
    texts = []
    for row in out[:, 1:].tolist():
        texts.append(row[:row.index(END)] if END in row else row)
    return texts

def compare(d, model, beams_and_penalties, name, tokens):
    """How many settings write other texts than transformers, of the run d/run and of model, which has its weights."""
    wrong, x_of = 0, []
    for beams, penalty in beams_and_penalties:
        keys = [f"generation.max_tokens={tokens}"]
        if beams > 1:
            keys += [f"generation.beams={beams}", f"generation.length_penalty={penalty}"]
        ours = written(d, x_of, *keys)
        x = torch.tensor(np.array(x_of), dtype=torch.float32).transpose(1, 2)
        peer = theirs(model, x, beams, penalty, tokens)
        equal = sum(a == b for a, b in zip(ours, peer))
        wrong += equal != len(ours)
        print(f"{name}, {beams} beams, penalty {penalty}: {equal} of {len(ours)} texts equal, {len({tuple(t) for t in ours})} different ones, "
              f"{sum(map(len, ours)) / len(ours):.1f} tokens", flush=True)
        if equal != len(ours):
            a, b = next((a, b) for a, b in zip(ours, peer) if a != b)
            print("  here:", a, "\n  there:", b)
    return wrong

def graph_with_results(d):
    """d/model.yaml: the model, whose predictions also have the tokens as numbers and the frames they came from."""
    graph = (root / "graphs/whisper.yaml").read_text()
    result = "results: {tokens?: tokens, lengths?: count}"
    assert graph.count(result) == 1
    (d / "model.yaml").write_text(graph.replace(result, "results: {tokens?: tokens, lengths?: count, ids?: tokens, n?: count, x: x}"))

def random_weights(d, seed):
    model = random_model(seed, 304)
    save_file({k: v.contiguous().clone() for k, v in model.state_dict().items() if k != "proj_out.weight"}, d / "model.safetensors")
    symbols = ["<s>", "</s>", "<space>"] + list("abcdefghijklmnopqrstuvwxyzáéíóúñü'") + ["w0", "w1"]
    (d / "vocab.txt").write_text("\n".join(symbols) + "\n")
    settings = {"model": {"graph": "model.yaml",
                          "params": {"dim": 32, "layers": 1, "decoder_layers": 2, "heads": 2, "audio_context": 152, "text_context": 48},
                          "init_from": [{"from": "model.safetensors", "rename": str(root / "configs/whisper/names.yaml")}]},
                "data": {"validation_fraction": 0.0, "buckets": 1,
                         "speech": {"manifest": "all.jsonl", "vocab": "vocab.txt", "sample_rate": 8000,
                                    "text": {"case": "lower", "drops": ".,!?:;\"()¿¡", "prefix": ["<s>"], "suffix": ["</s>"]},
                                    "features": {"n_fft": 256, "window": 256, "hop": 160, "mels": 40, "seconds": 6.08, "last_frame": False}}},
                "training": {"batch_size": 4, "lr": 0, "max_steps": 1, "final_train_eval": False},
                "distributed": {"ranks": 1}, "output": {"dir": "run"}, "checkpoint": {"level": 0}}
    (d / "config.yaml").write_text(json.dumps(settings))
    run(d, "config.yaml", "training.weight_decay=0")
    return model

def trained_weights(d, trained):
    names = root / "configs/whisper/names.yaml"
    run(d, "export", trained, "there", f"--names={names}")
    for entry in ("configs", "hooks", "graphs"):
        (d / entry).symlink_to(root / entry)
    run(d, "configs/whisper/nano.yaml", "model.graph=model.yaml", f"model.init_from=[{{from: there, rename: {names}}}]",
        "data.speech.manifest=all.jsonl", "data.validation_fraction=0", "~data.expect", "training.lr=0", "training.weight_decay=0",
        "training.max_steps=1", "training.max_epochs=1", "training.final_train_eval=false", "hooks=[]", "~hooks_params",
        "distributed.ranks=1", "output.dir=run")
    return WhisperForConditionalGeneration.from_pretrained(d / "there").eval()

def clips(d, most_seconds, most_letters, rows):
    lines = [line for line in map(json.loads, open(manifest)) if line["duration"] < most_seconds and len(line["text"]) < most_letters][:rows]
    for line in lines:
        line["audio_path"] = str((manifest.parent / line["audio_path"]).resolve())
    (d / "all.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

failed = 0
for seed in ([None] if len(sys.argv) > 3 else range(8)):
    with tempfile.TemporaryDirectory() as folder:
        d = pathlib.Path(folder)
        graph_with_results(d)
        if seed is None:
            clips(d, 6, 90, 60)
            model = trained_weights(d, str(pathlib.Path(sys.argv[3]).resolve()))
            failed += compare(d, model, ((1, 1.0), (5, 1.0)), "trained", 90)
        else:
            clips(d, 4, 40, ROWS)
            model = random_weights(d, seed)
            failed += compare(d, model, ((1, 1.0), (2, 1.0), (5, 0.0), (5, 1.0), (5, 2.0)), f"seed {seed}", TOKENS)
sys.exit(failed != 0)
