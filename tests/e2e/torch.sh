# To PyTorch and back: a new project's weights predict the same in PyTorch, and are taken from there.
. "$(dirname "$0")/lib.sh"
python=${GR_TORCH_PYTHON:-python3}

expect "a new project" 0 -- "$graphrun" new fruit
cd fruit || exit 1
expect "trains" 0 "results: run/training_results.json" -- "$graphrun" config.yaml output.dir=run training.max_epochs=4
expect "is exported" 0 "model.safetensors: 6 tensors" -- "$graphrun" export run model.safetensors
head -21 data.csv >rows.csv
expect "predicts" 0 -- "$graphrun" predict run rows.csv --out=said.jsonl
if "$python" -c 'import torch, safetensors.torch' 2>/dev/null; then
  check "PyTorch predicts the same" "$python" "$source/tests/e2e/in_torch.py" model.safetensors run rows.csv said.jsonl back.safetensors
  expect "a run takes PyTorch's weights" 0 "6 tensors are those of back.safetensors" -- \
    "$graphrun" config.yaml output.dir=again model.init_from=back.safetensors training.max_epochs=1 training.lr=1e-12
  "$graphrun" eval run --json >first.json 2>/dev/null
  "$graphrun" eval again --which=last --json >second.json 2>/dev/null
  check "... and its loss is the same" "$python" -c '
import json
a, b = (json.load(open(f))["metrics"] for f in ("first.json", "second.json"))
assert abs(a["loss"] - b["loss"]) < 1e-6 and a["accuracy"] == b["accuracy"], (a, b)'
else
  skip "to PyTorch and back" "no torch and safetensors in $python (GR_TORCH_PYTHON names another)"
fi
counts
