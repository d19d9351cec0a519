#!/usr/bin/env python3
"""Frames of openai-whisper (PyPI, MIT; the version is in the files) for tests/runtime/data/test_features.c.

    whisper_features.py                          writes features_whisper80.txt and features_whisper128.txt
    whisper_features.py GRAPHRUN WAV ...         compares frames of real recordings: 16-bit, mono, read as if
                                                 they had 16000 samples a second

Its filters (whisper/assets/mel_filters.npz) and its function log_mel_spectrogram are used as they are, but in double:
in f32, as it runs, quiet bands of a loud frame are off by more than what is compared (the second figure printed).
The files have the format of make_features.py, with the number of samples that the recording is padded to."""
import json, math, pathlib, subprocess, sys, tempfile, types, wave
import numpy as np
import torch

for name in ("tiktoken", "numba", "more_itertools"):  # what whisper.audio does not need
    sys.modules.setdefault(name, types.ModuleType(name))
import importlib.util, importlib.metadata
root = pathlib.Path(importlib.util.find_spec("whisper").submodule_search_locations[0])
package = types.ModuleType("whisper")
package.__path__ = [str(root)]
sys.modules["whisper"] = package
from whisper import audio

def frames(samples, mels, length, dtype):
    real = audio.mel_filters
    audio.mel_filters = lambda device, n: real(device, n).to(dtype)
    torch.set_default_dtype(dtype)
    x = torch.tensor(samples, dtype=dtype) / 32768
    out = audio.log_mel_spectrogram(audio.pad_or_trim(x, length), mels).T
    torch.set_default_dtype(torch.float32)
    audio.mel_filters = real
    return out

def made(n):
    state, samples = 1, []
    for i in range(n):  # a rising tone with noise, that ends before the padding does
        state = (state * 1103515245 + 12345) % 2**31
        tone = 9000 * math.sin(2 * math.pi * (200 * i / 16000 + 900 * (i / 16000) ** 2))
        samples.append(int(tone) + (state >> 18) % 201 - 100)
    return samples

def write():
    for mels, n, length in ((80, 5000, 6400), (128, 5000, 4000)):
        samples = made(n)
        out = frames(samples, mels, length, torch.float64)
        lines = [f"16000 400 160 400 {mels} 0 {n} {len(out)}", " ".join(map(str, samples)), str(length)]
        lines += [" ".join(f"{v:.6g}" for v in row.tolist()) for row in out]
        lines.append("openai-whisper " + importlib.metadata.version("openai-whisper"))
        (pathlib.Path(__file__).parent / f"features_whisper{mels}.txt").write_text("\n".join(lines) + "\n")

MODEL = """params: {mels: 80}
inputs: {x: {shape: [n, t, mels]}}
nodes:
  - w: {param: [mels]}
  - y: {mul: [x, w]}
  - y: {mean: y, axes: [1, 2]}
train: y
predict: {frames: x}
"""
CONFIG = """model: {{graph: model.yaml}}
data:
  validation_fraction: 0
  buckets: 1
  frame_multiple: 1
  speech:
    manifest: all.jsonl
    features: {{n_fft: 400, window: 400, hop: 160, mels: {mels}, mel_scale: slaney, mel_norm: slaney, level: log10,
               range: 8, offset: 4, scale: 0.25, seconds: {seconds}, last_frame: false, normalize: false}}
training: {{max_steps: 1, batch_size: 1, final_train_eval: false}}
distributed: {{ranks: 1}}
output: {{dir: run}}
"""

def samples_of(path):
    with wave.open(path) as f:
        assert f.getnchannels() == 1 and f.getsampwidth() == 2, path
        return np.frombuffer(f.readframes(f.getnframes()), "<i2")

def write_wav(path, samples):
    with wave.open(str(path), "wb") as f:
        f.setnchannels(1), f.setsampwidth(2), f.setframerate(16000)
        f.writeframes(samples.tobytes())
    return str(path)

def compare(graphrun, given, mels, seconds=30):
    with tempfile.TemporaryDirectory() as folder:
        d = pathlib.Path(folder)
        (d / "model.yaml").write_text(MODEL)
        (d / "config.yaml").write_text(CONFIG.format(mels=mels, seconds=seconds))
        paths = [write_wav(d / f"{i}.wav", samples_of(p)) for i, p in enumerate(given)]
        (d / "all.jsonl").write_text("".join(json.dumps({"audio_path": p, "text": "A"}) + "\n" for p in paths))
        subprocess.run([graphrun, "config.yaml"], cwd=d, check=True, stdout=subprocess.DEVNULL)
        lines = subprocess.run([graphrun, "predict", "run", *paths], cwd=d, check=True, stdout=subprocess.PIPE).stdout
    worst = single = 0
    for path, line in zip(given, lines.decode().splitlines()):
        samples, ours = samples_of(path), np.array(json.loads(line)["frames"])
        theirs = frames(samples.tolist(), mels, seconds * 16000, torch.float64).numpy()
        f32 = frames(samples.tolist(), mels, seconds * 16000, torch.float32).numpy()
        worst, single = max(worst, abs(ours - theirs).max()), max(single, abs(f32 - theirs).max())
    print(f"{len(paths)} recordings, {mels} mels: largest difference {worst:.2g}, of its f32 from its f64 {single:.2g}")
    return worst

if len(sys.argv) == 1:
    write()
else:
    sys.exit(max(compare(sys.argv[1], sys.argv[2:], mels) for mels in (80, 128)) > 1e-5)
