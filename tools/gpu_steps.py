#!/usr/bin/env python3
"""A table in Markdown of what a training step of each shipped configuration is on GPUs, from `plan --json`: launches,
bytes that they move, arithmetic, and the predicted time on three GPUs with its share of the roofline: the time that the
arithmetic would take at the GPU's peak or the bytes at its full bandwidth, whichever is longer (Williams et al. 2009).

    tools/gpu_steps.py [GRAPHRUN]          the table of docs/gpu.md
    tools/gpu_steps.py --peers [GRAPHRUN]   predictions beside figures that others have published"""
import json, pathlib, re, subprocess, sys, tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHIPS = ["A100", "H100", "B200"]
ASIDE = {"eval", "init", "begin", "report"}  # kinds of programs that are no part of a training step
# GPT-2 small as llm.c trains it: 524,288 tokens a step on 8 GPUs, bf16, ZeRO-1.
GPT2 = """
model:
  graph: {root}/graphs/gpt.yaml
  params: {{dim: 768, layers: 12, heads: 12, dropout: 0.0}}
data:
  source: corpus
  corpus: {{path: absent.txt, context: 1024}}
  expect:
    train: 65536
    validation: 512
    metadata: {{vocab: 50304, context: 1024}}
    fields: {{x: [i32, 1024], y: [i32, 1024], lengths: [i32]}}
training: {{batch_size: 512, precision: bf16, optimizer: adamw, lr: 6e-4, weight_decay: 0.1, grad_clip: 1.0}}
distributed: {{ranks: 8, strategy: zero1}}
device: cuda
"""


def chips():
    """name: (bandwidth, {precision: peak}) of compiler/report/chips.def."""
    found = {}
    for line in (ROOT / "compiler/report/chips.def").read_text().splitlines():
        row = re.match(r'GR_CHIP\("([^"]*)", "[^"]*", (.*), "[^"]*"\)$', line)
        if row:
            number = [float(word) for word in row[2].split(",")]
            found[row[1]] = number[2], {"fp32": number[4], "bf16": number[6]}
    return found


def configurations():
    """Those of the table of plans, which a test compares."""
    rows = (ROOT / "tests/job/plans.tsv").read_text().splitlines()[1:]
    return list(dict.fromkeys(row.split("\t")[0] for row in rows))


def collected(graphrun, name):
    """Environment steps per second of a rollout on an A100."""
    config = subprocess.run([graphrun, "config", name], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    envs, length = (int(re.search(rf"^ *{key}: (\d+)$", config, re.M)[1]) for key in ["envs", "steps"])
    planned = plan(graphrun, name, "device=cuda", "--ranks=1")
    return 1e3 * envs * length / steps(planned)["rollout"]["predicted_ms"]["A100"]["all"]


def plan(graphrun, *arguments):
    """The plan as a dictionary, or the sentence why there is none."""
    run = subprocess.run([graphrun, "plan", *arguments, "--json"], cwd=ROOT, capture_output=True, text=True)
    if run.returncode:
        return re.sub(r"^.*?error: ", "", run.stderr.strip().splitlines()[0])
    return json.loads(run.stdout)


def steps(planned):
    """The programs that train: of the buckets of a kind the one that takes longest, without those that take hardly any
    time beside another."""
    longest = {}
    for program in planned["programs"]:
        kind = program["kind"]
        if kind not in ASIDE and (kind not in longest or
                                  program["predicted_ms"]["A100"]["all"] > longest[kind]["predicted_ms"]["A100"]["all"]):
            longest[kind] = program
    most = max(program["predicted_ms"]["A100"]["all"] for program in longest.values())
    return {kind: p for kind, p in longest.items() if p["predicted_ms"]["A100"]["all"] >= most / 100}


def scaled(number, units):
    for factor, unit in units:
        if number >= factor:
            break
    digits = f"{number / factor:.3g}"
    return f"{float(digits):g} {unit}"


def size(number): return scaled(number, [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")])
def work(number): return scaled(number, [(1e15, "PFLOP"), (1e12, "TFLOP"), (1e9, "GFLOP"), (1e6, "MFLOP"), (1e3, "kFLOP")])
def time(milliseconds): return f"{float(f'{milliseconds:.3g}'):g}"


def share(program, chip, precision):
    bandwidth, peaks = chips()[chip]
    roof = max(program["flops"] / peaks[precision], program["moved_bytes"] / bandwidth)
    return 1e5 * roof / program["predicted_ms"][chip]["kernels"]


def row(name, precision, program):
    cells = [name, precision, f"{program['launches']:,.0f}", size(program["moved_bytes"]), work(program["flops"])]
    for chip in CHIPS:
        cells.append(f"{time(program['predicted_ms'][chip]['all'])} ms, {share(program, chip, precision):.0f} %")
    return "| " + " | ".join(cells) + " |"


def table(graphrun):
    print("| configuration | precision | launches | bytes moved | arithmetic | " + " | ".join(CHIPS) + " |")
    print("|---|---|---|---|---|---|---|---|")
    for name in configurations():
        for precision in ["fp32", "bf16"]:
            planned = plan(graphrun, name, "device=cuda", f"training.precision={precision}", "--ranks=1")
            if isinstance(planned, str):
                continue  # a configuration whose guide asks for fp16
            programs = steps(planned)
            for kind, program in programs.items():
                print(row(f"`{name}`" + (f" {kind}" if len(programs) > 1 else ""), precision, program))


def peers(graphrun):
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder, "gpt2.yaml")
        config.write_text(GPT2.format(root=ROOT))
        planned = plan(graphrun, str(config))
    if isinstance(planned, str):
        sys.exit(planned)
    step = planned["step"]["predicted_ms"]
    flops = steps(planned)["train"]["flops"]
    print("| step | predicted here | published |")
    print("|---|---|---|")
    print(f"| GPT-2 small, 524,288 tokens, 8 A100, bf16 | {time(step['A100']['all'])} ms, "
          f"{flops / step['A100']['all'] / 1e9:.0f} TFLOP/s a GPU | llm.c: about 300 ms (its discussion 481) |")
    print(f"| the same on H100 | {time(step['H100']['all'])} ms, {flops / step['H100']['all'] / 1e9:.0f} TFLOP/s a GPU | |")
    print("| GPT of 1.3 and 2.7 billion weights, 8 A100 | | PyTorch and FlashAttention-2: up to 225 TFLOP/s a GPU "
          "(Dao 2023) |")
    for name in ["configs/ppo/market.yaml", "configs/ppo/clstm.yaml"]:
        print(f"| rollout of `{name}`, fp32, A100 | {collected(graphrun, name):,.0f} environment steps a second | "
              "PufferLib 3.0, training included: up to 4 million on an RTX 5090, of other environments and smaller networks "
              "(puffer.ai, blog) |")


if __name__ == "__main__":
    arguments = [word for word in sys.argv[1:] if word != "--peers"]
    (peers if "--peers" in sys.argv else table)(arguments[0] if arguments else str(ROOT / "build/graphrun"))
