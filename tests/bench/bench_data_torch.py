"""What tests/bench/bench_data.c does, as users of PyTorch write it.

  bench_data_torch.py make FOLDER                                makes the files of all kinds
  bench_data_torch.py speech|image|text PATH [ROUNDS [WORKERS]]  prints microseconds a sample: of processors, all
                                                                 processes together, and from the first to the last batch
"""
import json
import os
import statistics
import sys
import time

import numpy as np
import torch

torch.set_num_threads(1)
BATCH = 8


def make(folder):
    import soundfile
    from PIL import Image
    random = np.random.default_rng(1)
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/speech.jsonl", "w") as f:
        for i in range(48):
            n = 16000 * 4 + 160 * i
            tone = np.sin(np.arange(n) * (0.02 + 0.001 * i)) * 0.3 + random.normal(0, 0.05, n)
            soundfile.write(f"{folder}/u{i}.wav", tone, 16000, subtype="PCM_16")
            f.write(json.dumps({"audio_path": f"u{i}.wav", "text": "a b", "duration": n / 16000}) + "\n")
    for kind, width, height in (("png", 500, 375), ("jpg", 500, 375), ("large", 2000, 1500)):
        for k in range(2):
            os.makedirs(f"{folder}/{kind}/{k}", exist_ok=True)
        y, x = np.mgrid[0:height, 0:width]
        for i in range(24 if kind == "large" else 64):
            waves = [128 + 90 * np.sin((x * (1 + c) + y * (i % 5 + 1)) / 40 + i) for c in range(3)]
            image = np.stack(waves, -1) + random.normal(0, 6, (height, width, 3))
            image = Image.fromarray(np.clip(image, 0, 255).astype("u1"))
            image.save(f"{folder}/{kind}/{i % 2}/{i}.{'png' if kind == 'png' else 'jpg'}", quality=90)
    words = [bytes(random.integers(97, 123, random.integers(2, 9)).astype("u1")) for _ in range(4000)]
    with open(f"{folder}/text.txt", "wb") as f:
        f.write(b" ".join(words[i] for i in random.integers(0, 4000, 700000)))


class Speech(torch.utils.data.Dataset):
    def __init__(self, manifest):
        self.folder = os.path.dirname(manifest)
        self.items = [json.loads(line) for line in open(manifest)]
        self.window = torch.hann_window(400)
        points = 700 * (10 ** (np.linspace(0, 2595 * np.log10(1 + 8000 / 700), 82) / 2595) - 1)
        hz = np.arange(257) * 16000 / 512
        up = (hz[None] - points[:-2, None]) / (points[1:-1] - points[:-2])[:, None]
        down = (points[2:, None] - hz[None]) / (points[2:] - points[1:-1])[:, None]
        self.filters = torch.tensor(np.maximum(0, np.minimum(up, down)), dtype=torch.float32)

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        import soundfile
        samples, _ = soundfile.read(f"{self.folder}/{self.items[i]['audio_path']}", dtype="float32")
        spectrum = torch.stft(torch.from_numpy(samples), 512, 160, 400, self.window, return_complex=True)
        x = 10 * torch.log10((self.filters @ spectrum.abs().square()).clamp(min=1e-10)).T
        return ((x - x.mean(0)) / (x.std(0) + 1e-5))


class Text(torch.utils.data.Dataset):
    def __init__(self, path):
        self.bytes = np.memmap(path, dtype="u1", mode="r")

    def __len__(self):
        return (len(self.bytes) - 1) // 512

    def __getitem__(self, i):
        x = torch.from_numpy(self.bytes[512 * i:512 * i + 513].astype("i8"))
        return x[:-1], x[1:]


def images(path):
    from torchvision import datasets, transforms
    how = transforms.Compose([transforms.Resize((224, 224)), transforms.PILToTensor()])
    return datasets.ImageFolder(path, how)


def pad(rows):
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)


def processor_seconds(loader):
    """Of this process and of the workers, which are kept from epoch to epoch."""
    workers = getattr(getattr(loader, "_iterator", None), "_workers", [])
    return time.process_time() + sum(time.clock_gettime(~w.pid << 3 | 2) for w in workers)


def main():
    kind, path = sys.argv[1:3]
    if kind == "make":
        return make(path)
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    data = {"speech": Speech, "image": images, "text": Text}[kind](path)
    workers = int(sys.argv[4]) if len(sys.argv) > 4 else 0
    more = {"num_workers": workers, "persistent_workers": True, "prefetch_factor": 3} if workers else {}
    loader = torch.utils.data.DataLoader(data, BATCH, shuffle=True, collate_fn=pad if kind == "speech" else None, **more)
    processor, elapsed = [], []
    for _ in range(rounds + 1):  # in the first workers start and libraries are loaded
        before, began = processor_seconds(loader), time.monotonic()
        for _ in loader:
            pass
        elapsed.append((time.monotonic() - began) * 1e6 / len(data))
        processor.append((processor_seconds(loader) - before) * 1e6 / len(data))
    print(f"{statistics.median(processor[1:]):.1f} {statistics.median(elapsed[1:]):.1f}")


if __name__ == "__main__":
    main()
