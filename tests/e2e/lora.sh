# lora.sh - adapters of linear layers (model.lora): on ranks and by strategies, exported, merged, taken up again.
. "${0%/*}/lib.sh"
python=${GR_TORCH_PYTHON:-python3}

i=0
while [ $i -lt 60 ]; do
  printf 'abcdefghijklmnop. '
  i=$((i + 1))
done >text.txt
cat >small.yaml <<YAML
model: {graph: $source/graphs/gpt.yaml, params: {dim: 32, layers: 1, heads: 2, dropout: 0.0}}
data: {source: corpus, corpus: {path: text.txt, context: 24}, validation_fraction: 0.2}
training: {batch_size: 8, optimizer: adamw, lr: 1e-2, max_epochs: 2, eval_every: 1, seed: 1}
checkpoint: {every_steps: 1, keep_last: 20}
distributed: {ranks: 1, backend: loopback}
YAML
lora="model.lora={match:'*.{q,k,v,o}',rank:4,alpha:8,dropout:0.1}"
close() { close_to "$1" "$2" "${3:-1e-5}"; }
same() { test -n "$(weight "$1" last "$3")" && test "$(weight "$1" last "$3")" = "$(weight "$2" last "$3")"; }

stays() { test -n "$(weight "$1" 1 "$2")" && test "$(weight "$1" 1 "$2")" = "$(weight "$1" last "$2")"; }
changed() { test -n "$(weight "$1" 1 "$2")" && test "$(weight "$1" 1 "$2")" != "$(weight "$1" last "$2")"; }

expect "a base model" 0 -- "$graphrun" small.yaml output.dir=base
expect "the plan says what is trained" 0 "^parameters  1,024 trained numbers of 22,752" "8 values, 1,024 numbers" \
  "optimizer +16 states, 2,048 numbers" -- "$graphrun" plan small.yaml "$lora"

# ---- Ranks and strategies ---------------------------------------------------------------------------

q=body.layers.0.attention.q
expect "adapters on one rank" 0 "tensors are those of base" "8 are missing and keep their initial values: .*lora_A" -- \
  "$graphrun" small.yaml "$lora" output.dir=one model.init_from=base
check "... learn" below "$(valid_loss one)" "$(valid_loss base)" 0.01
check "... and change no other weight" same one base $q.weight
check "... nor the embedding" same one base tokens.weight
check "... the adapters change" changed one $q.lora_A.weight
for how in "2 ddp" "3 ddp" "2 zero1" "3 zero2" "2 fsdp" "3 fsdp" "2 tp"; do
  n=${how% *} strategy=${how#* }
  expect "on $n ranks with $strategy" 0 -- "$graphrun" small.yaml "$lora" output.dir="$strategy$n" model.init_from=base \
    distributed.ranks="$n" distributed.strategy="$strategy"
  check "... the loss of one" close "$(valid_loss one)" "$(valid_loss "$strategy$n")"
done
check "tp splits the adapters as their layers" sh -c \
  "'$graphrun' plan small.yaml \"$lora\" --ranks=2 distributed.strategy=tp --dump=lint |
   grep -q 'weight $q.lora_B.weight : f32\[32,4\] tp:S0'"
expect "in bf16" 0 -- "$graphrun" small.yaml "$lora" output.dir=bf16 model.init_from=base training.precision=bf16
check "... nearly the same" close "$(valid_loss one)" "$(valid_loss bf16)" 0.05

# ---- Merged, and taken up again ---------------------------------------------------------------------

expect "export --merge-lora" 0 "merged.safetensors: 20 tensors" -- "$graphrun" export one merged.safetensors --which=last --merge-lora
still="training.max_steps=1 training.lr=0"
# shellcheck disable=SC2086
expect "a model without adapters takes them" 0 "20 tensors are those of merged.safetensors" -- \
  "$graphrun" small.yaml output.dir=merged model.init_from=merged.safetensors $still
check "... with the loss of the adapters" close "$(valid_loss one)" "$(valid_loss merged)"
expect "export --lora" 0 "^out: 8 tensors, 4096 bytes" -- "$graphrun" export one out --which=last --lora
check "... PEFT's settings" grep -q '"r": 4,' out/adapter_config.json
cat >again.yaml <<YAML
defaults: [small, _self_]
model:
  lora: {match: "*.{q,k,v,o}", rank: 4, alpha: 8}
  init_from:
    - from: base
    - {from: out/adapter_model.safetensors, rename: [{"base_model.model.*": "*"}]}
YAML
# shellcheck disable=SC2086
expect "base and adapter of two files" 0 "8 tensors are those of out/adapter_model.safetensors, 8 of them renamed" -- \
  "$graphrun" again.yaml output.dir=again $still
check "... with the loss of the adapters" close "$(valid_loss one)" "$(valid_loss again)"

# ---- Several ----------------------------------------------------------------------------------------

two="model.lora=[{name:first,match:'*.q',rank:2,train:false},{name:second,match:'*.{q,v}',rank:3}]"
expect "two adapters, one of them frozen" 0 -- "$graphrun" small.yaml "$two" output.dir=two model.init_from=base
check "... which stays as it begins" stays two $q.first.lora_A.weight
check "... and the other does not" changed two $q.second.lora_A.weight
expect "each is a folder of its own" 0 "^both/first: 2 tensors" "^both/second: 4 tensors" -- "$graphrun" export two both --lora
expect "a part of the model may be trained, too" 0 "^parameters  1,088 trained numbers" -- \
  "$graphrun" plan small.yaml "model.lora={match:'*.{q,k,v,o}',rank:4,also:[body.norm.*]}"

# ---- Layers of which the model takes a gradient -----------------------------------------------------

awk 'BEGIN { srand(1); print "a,b,y"; for (i = 0; i < 64; i++) { a = rand(); b = rand(); print a "," b "," a * b } }' >slopes.csv
cat >slope.yaml <<'YAML'
inputs:
  x: {shape: [n, c]}
  y: {shape: [n]}
nodes:
  - h: {linear: x, out: 8, name: first}
  - h: {tanh: h}
  - e: {linear: h, out: 1, name: second}
  - g: {gradient: [e, x]}
  - g: {mean: g, axes: [1]}
  - loss: {mse: [g, y]}
train: loss
YAML
cat >slopes.yaml <<'YAML'
model: {graph: slope.yaml}
data: {source: table, table: {path: slopes.csv, label: y}, validation_fraction: 0.2}
training: {batch_size: 8, lr: 1e-2, max_epochs: 2, eval_every: 1, seed: 1}
checkpoint: {every_steps: 1, keep_last: 20}
distributed: {ranks: 1}
YAML
expect "adapters of layers of which the model takes a gradient" 0 -- \
  "$graphrun" slopes.yaml "model.lora={match:'*',rank:2}" output.dir=slopes
expect "... which are merged" 0 "slopes.safetensors: 4 tensors" -- \
  "$graphrun" export slopes slopes.safetensors --which=last --merge-lora
# shellcheck disable=SC2086
expect "... for the model without adapters" 0 -- "$graphrun" slopes.yaml output.dir=steep model.init_from=slopes.safetensors $still
check "... with the loss of the adapters" close "$(valid_loss slopes)" "$(valid_loss steep)"
check "... and the adapters change" changed slopes first.lora_A.weight

# ---- Mistakes ---------------------------------------------------------------------------------------

refused() {
  refused_name=$1 setting=$2
  shift 2
  expect "$refused_name" 65 "$@" -- "$graphrun" plan small.yaml "$setting"
}
refused "a pattern of nothing" "model.lora={match:'*.qq'}" "'\*.qq' of model.lora matches no linear layer" "did you mean '\*.q'"
refused "a layer whose weight is an embedding's" "model.lora={match:tokens}" "matches 'tokens.weight', which op 'embedding' reads, too"
refused "no pattern" "model.lora={rank:4}" "model.lora needs 'match'"
refused "an unknown key" "model.lora={match:'*.q',rnk:4}" "model.lora has no 'rnk'" "did you mean 'rank'"
refused "a rank of 0" "model.lora={match:'*.q',rank:0}" "'rank' of model.lora must be an integer from 1"
refused "several without names" "model.lora=[{match:'*.q'},{match:'*.v'}]" "each of several adapters needs a 'name'"
refused "two of a name" "model.lora=[{name:a,match:'*.q'},{name:a,match:'*.v'}]" "two adapters of model.lora are called 'a'"
expect "nothing to export" 78 "'base/.*' has no adapters" -- "$graphrun" export base none --lora

# ---- PEFT -------------------------------------------------------------------------------------------

if "$python" -c 'import torch, peft, safetensors.torch' 2>/dev/null; then
  expect "a new project" 0 -- "$graphrun" new fruit
  cd fruit || exit 1
  expect "... trains" 0 -- "$graphrun" config.yaml output.dir=run training.max_epochs=2
  expect "... and an adapter of it" 0 -- "$graphrun" config.yaml output.dir=tuned training.max_epochs=4 model.init_from=run \
    "model.lora={match:'*',rank:3,alpha:5}" training.lr=0.02
  "$graphrun" export run base.safetensors --which=best >"$(new_log)" 2>&1
  "$graphrun" export tuned adapter --lora >>"$log" 2>&1
  "$graphrun" export tuned merged.safetensors --merge-lora >>"$log" 2>&1
  head -21 data.csv >rows.csv
  expect "... predicts" 0 -- "$graphrun" predict tuned rows.csv --out=said.jsonl
  check "PEFT predicts the same with the exported adapter" "$python" "$source/tests/e2e/in_peft.py" base.safetensors adapter \
    merged.safetensors tuned rows.csv said.jsonl
else
  skip "adapters in PEFT" "no torch, peft and safetensors in $python (GR_TORCH_PYTHON names another)"
fi
counts
