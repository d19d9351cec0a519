#!/usr/bin/env python3
"""Writes features_*.txt: log-mel frames by PyTorch's stft, for tests/runtime/data/test_features.c.

Each file: "rate window hop fft mels normalise samples frames", the samples as 16-bit numbers,
then the frames row by row. The mel filters are those of torchaudio.functional.melscale_fbanks
with norm=None, mel_scale="htk"; AmplitudeToDB("power") without top_db."""
import math, pathlib
import torch

CASES = {"8k": (8000, 200, 80, 256, 40, 1, 1777), "16k": (16000, 400, 160, 400, 80, 0, 2560),
         "odd": (8000, 90, 37, 105, 13, 1, 700), "prime": (8000, 101, 50, 101, 10, 0, 401)}

def filters(rate, fft, mels):
    mel = lambda hz: 2595.0 * math.log10(1.0 + hz / 700.0)
    points = torch.linspace(mel(0.0), mel(rate / 2), mels + 2, dtype=torch.float64)
    points = 700.0 * (10.0 ** (points / 2595.0) - 1.0)
    hz = torch.arange(fft // 2 + 1, dtype=torch.float64) * rate / fft
    slopes = points[None, :] - hz[:, None]
    down = -slopes[:, :-2] / (points[1:-1] - points[:-2])
    up = slopes[:, 2:] / (points[2:] - points[1:-1])
    return torch.clamp(torch.minimum(down, up), min=0.0)

def frames(samples, rate, window, hop, fft, mels, normalise):
    x = torch.tensor(samples, dtype=torch.float64) / 32768
    spectrum = torch.stft(x, fft, hop, window, torch.hann_window(window, dtype=torch.float64),
                          center=True, pad_mode="reflect", return_complex=True)
    power = spectrum.abs() ** 2
    db = 10.0 * torch.log10(torch.clamp(power.T @ filters(rate, fft, mels), min=1e-10))
    if normalise:
        db = (db - db.mean(0)) / (db.std(0, unbiased=True) + 1e-5)
    return db

for name, (rate, window, hop, fft, mels, normalise, n) in CASES.items():
    state, samples = 1, []
    for i in range(n):  # a rising tone, noise, and silence in the middle
        state = (state * 1103515245 + 12345) % 2**31
        tone = 9000 * math.sin(2 * math.pi * (200 * i / rate + 900 * (i / rate) ** 2))
        samples.append(0 if n // 3 < i < n // 2 else int(tone) + (state >> 18) % 2001 - 1000)
    out = frames(samples, rate, window, hop, fft, mels, normalise)
    lines = [f"{rate} {window} {hop} {fft} {mels} {normalise} {n} {len(out)}",
             " ".join(map(str, samples))]
    lines += [" ".join(f"{v:.6g}" for v in row.tolist()) for row in out]
    path = pathlib.Path(__file__).parent / f"features_{name}.txt"
    path.write_text("\n".join(lines) + "\n")
