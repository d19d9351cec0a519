# folders.sh - weights as folders of Hugging Face: written under the names that a file of names leads back to, read again
# by the same file, byte for byte; tensors that are joined, shards, config.json, adapters; and what cannot be.
. "${0%/*}/lib.sh"
make_data
names=$source/configs/whisper/names.yaml
python=${GR_TORCH_PYTHON:-python3}

# tall OUT [key=value ...]: one step of the small encoder and decoder, as wide as configs/whisper/nano.yaml, with three layers
# and one.
tall() {
  tall_out=$1
  shift
  pairs limited "$tall_out" distributed.ranks=1 model.params.dim=128 model.params.layers=3 model.params.decoder_layers=1 \
    training.max_steps=1 "$@"
}
# again NAME OUT FROM NAMES [key=value ...]: what it takes up from there and writes is what `one.safetensors` has.
again() {
  again_name=$1 again_out=$2 again_from=$3
  shift 3
  tall "$again_out" "model.init_from=[{from:$again_from,rename:$names}]" training.lr=0 training.weight_decay=0 "$@"
  check "$again_name" test "$code" = 0
  check "... all of it" grep -q '80 tensors are those of .*, 80 of them renamed' "$log"
  limited "$graphrun" export "$again_out" "$again_out.safetensors"
  check "... the same bytes" cmp one.safetensors "$again_out.safetensors"
}
# refused NAME CODE PATTERN ARGUMENTS...: an export to the folder `none` that cannot be.
refused() {
  refused_name=$1 refused_code=$2 refused_pattern=$3
  shift 3
  expect "$refused_name" "$refused_code" "$refused_pattern" -- "$graphrun" export "$@"
  check "... and leaves nothing" test ! -e none
}
# names LINE...: the file other.yaml
names() {
  echo names: >other.yaml
  for line; do echo "  - {$line}" >>other.yaml; done
}

# ---- There and back -----------------------------------------------------------------------------

tall one
check "an encoder of three layers and a decoder of one" test "$code" = 0
limited "$graphrun" export one one.safetensors
expect "export under other names" 0 '^folder: 80 tensors, 3744256 bytes, of one/' -- "$graphrun" export one folder "--names=$names"
check "... one file and config.json" test "$(cd folder && echo *)" = "config.json model.safetensors"
again "init_from reads the folder by the same names" back folder
again "... and on two ranks" ranks folder distributed.ranks=2 distributed.strategy=fsdp distributed.backend=loopback
limited "$graphrun" export back second "--names=$names"
check "... which is written the same again" same_files folder second
check "names of the other program" grep -aq '"model.decoder.layers.0.encoder_attn.q_proj.weight":{"dtype":"F32","shape":\[128,128\]' \
  folder/model.safetensors
check "... and none of its own" sh -c '! grep -aq "attention.q" folder/model.safetensors'
for line in '"d_model": 128' '"encoder_layers": 3' '"decoder_layers": 1' '"encoder_ffn_dim": 512' '"vocab_size": 38' \
  '"max_source_positions": 40' '"model_type": "whisper"' '"eos_token_id": 1' '"dropout": 0.1' '"suppress_tokens": null'; do
  check "config.json has $line" grep -q "^  $line,\$" folder/config.json
done

# ---- Shards -------------------------------------------------------------------------------------

expect "files of a megabyte" 0 '^shards: 80 tensors, 3744256 bytes' -- "$graphrun" export one shards "--names=$names" --shard-mb=1
check "... are five, and an index" test "$(cd shards && echo *)" = "config.json model-00001-of-00005.safetensors \
model-00002-of-00005.safetensors model-00003-of-00005.safetensors model-00004-of-00005.safetensors model-00005-of-00005.safetensors \
model.safetensors.index.json"
for file in shards/*.safetensors; do
  check "... $file is no larger" test "$(wc -c <"$file")" -lt 1020000
done
check "... the index says how much" grep -q '"total_size": 3744256' shards/model.safetensors.index.json
check "... and where 80 tensors are" test "$(grep -c '": "model-0000[1-5]-of-00005.safetensors"' shards/model.safetensors.index.json)" = 80
again "init_from reads the shards" sharded shards
rm shards/model-00003-of-00005.safetensors
tall gone "model.init_from=[{from:shards,rename:$names}]"
echo "model.safetensors.index.json' names the file 'model-00003-of-00005.safetensors', which is not in its folder" >patterns
verdict "a missing shard" 78

# ---- Joined tensors -----------------------------------------------------------------------------

awk 'BEGIN { srand(3); print "a,b,c,kind"
  for (i = 0; i < 60; i++) { k = i % 3; printf "%.3f,%.3f,%.3f,%s\n", rand() + k, rand(), rand() - k, substr("redbluegrey", k * 3 + 1, 3) }
}' >kinds.csv
cat >parts.yaml <<YAML
params: {classes: "???", wide: 4}
inputs: {x: {shape: [n, c]}, y: {shape: [n], dtype: i32}}
nodes:
  - q: {linear: x, out: 4, name: attend.q}
  - k: {linear: x, out: 4, name: attend.k}
  - v: {linear: x, out: 4, name: attend.v}
  - h: {mul: [q, k]}
  - h: {add: [h, v]}
  - logits: {linear: h, out: classes, name: head}
  - loss: {cross_entropy: [logits, y]}
train: loss
YAML
cat >table.yaml <<YAML
model: {graph: parts.yaml}
data: {source: table, table: {path: kinds.csv, label: kind}}
training: {batch_size: 12, lr: 1e-2, max_steps: 3, eval_every: 0, final_train_eval: false, seed: 2}
distributed: {ranks: 1}
YAML
limited "$graphrun" table.yaml output.dir=parts
packed='"in_proj_*": ["attend.q.*", "attend.k.*", "attend.v.*"]' head='"out.*": "head.*"'
names "$packed" "$head"
expect "parts are joined" 0 '^joined: 4 tensors, 252 bytes' -- "$graphrun" export parts joined --names=other.yaml
check "... along the first axis" grep -aq '"in_proj_weight":{"dtype":"F32","shape":\[12,3\]' joined/model.safetensors
check "... without a config.json, of which the names say nothing" test ! -e joined/config.json
limited "$graphrun" table.yaml output.dir=split "model.init_from=[{from:joined,rename:other.yaml}]" training.lr=0 \
  training.weight_decay=0
limited "$graphrun" export parts parts.safetensors
limited "$graphrun" export split split.safetensors
check "... and split again into the same bytes" cmp parts.safetensors split.safetensors

# ---- Adapters -----------------------------------------------------------------------------------

tall tuned "model.lora={match:'decoder.*.{q,v}',rank:2}"
check "adapters" test "$code" = 0
refused "adapters beside the weights" 2 "'tuned/.*' has adapters, for which" tuned none "--names=$names"
expect "an adapter under other names" 0 '^adapter: 8 tensors' -- "$graphrun" export tuned adapter --lora "--names=$names"
check "... of the tensors" grep -aq '"base_model.model.model.decoder.layers.0.encoder_attn.v_proj.lora_B.weight"' \
  adapter/adapter_model.safetensors
check "... and of the layers" grep -q '"model.decoder.layers.0.self_attn.q_proj", ' adapter/adapter_config.json
tall taken "model.lora={match:'decoder.*.{q,v}',rank:2}" training.lr=0 training.weight_decay=0 \
  "model.init_from=[{from:one,allow_missing:['*.lora_?.weight']},{from:adapter/adapter_model.safetensors,rename:$names}]"
check "... are taken up by the same names" grep -q '8 tensors are those of adapter/.*, 8 of them renamed' "$log"
limited "$graphrun" export taken same --lora "--names=$names"
check "... the same bytes" same_files adapter same
expect "adapters that are added" 0 '^merged: 80 tensors, 3744256 bytes' -- "$graphrun" export tuned merged --merge-lora "--names=$names"

# ---- Failures in the middle ---------------------------------------------------------------------

shard() { timeout "$limit" "$graphrun" export one whole "--names=$names" --shard-mb=1 "$@"; }
(ulimit -f 1000 && shard >"$(new_log)" 2>&1)
code=$?
echo "i/o error: cannot write '.tmp-whole/model-0000[0-9]-of-00005.safetensors': File too large" >patterns
verdict "a file that cannot be written" 74
check "... leaves nothing" sh -c '[ ! -e whole ] && [ ! -e .tmp-whole ]'
(ulimit -f 8 && "$graphrun" export tuned whole --lora >"$(new_log)" 2>&1)
check "... nor of an adapter" sh -c '[ ! -e whole ] && [ ! -e .tmp-whole ]'
cut=0
for file in '' /model-00001-of-00005.safetensors /model-00003-of-00005.safetensors; do
  "$graphrun" export one whole "--names=$names" --shard-mb=1 >/dev/null 2>&1 &
  watcher=$!
  await test -e ".tmp-whole$file"
  kill -9 $watcher 2>/dev/null
  wait $watcher 2>/dev/null || cut=$((cut + 1))
  check "kill -9 once .tmp-whole$file is there leaves nothing or all" sh -c '[ ! -e whole ] || [ -e whole/config.json ]'
  rm -rf whole
done
mkdir -p .tmp-whole/below && echo rest >.tmp-whole/below/rest && ln -s "$scratch/data" .tmp-whole/link
shard >"$(new_log)" 2>&1
code=$?
check "what a killed export has left is removed" test "$code/$(ls -d whole .tmp-whole* 2>/dev/null)" = 0/whole
check "... and is in no folder" test "$(ls whole | wc -l)" = 7
check "... nor is a link in it followed" test -s data/tones.jsonl
mkdir .tmp-other
if command -v flock >/dev/null 2>&1; then
  expect "one that is still written" 74 "another process writes 'other'" -- \
    flock .tmp-other "$graphrun" export one other "--names=$names"
  check "... is left alone" test -d .tmp-other -a ! -e other
else
  skip "one that is still written" "no flock"
fi
expect "in a folder that is made" 0 '^deep/er/: 80 tensors' -- "$graphrun" export one deep/er/ "--names=$names"
check "... whole" same_files folder deep/er

# ---- What cannot be -----------------------------------------------------------------------------

expect "a folder that is there" 2 "'folder' is there already" -- "$graphrun" export one folder "--names=$names"
expect "... for an adapter" 2 "'folder' is there already" -- "$graphrun" export tuned folder --lora
expect "a file of that name" 2 "'kinds.csv' is there already" -- "$graphrun" export one kinds.csv "--names=$names"
names "$head"
refused "names that lack a tensor" 65 "no name in 'other.yaml' leads to the tensor 'attend.v.bias'" parts none --names=other.yaml
names "$packed" '"*.weight": null' "$head"
refused "a name that is left out on the way in" 65 "'head.weight' cannot be called 'out.weight', which by '\*.weight' is left out" \
  parts none --names=other.yaml
check "... has its line" grep -q 'other.yaml:4:6' "$log"
names "$packed" "$head" '"out.*": "tail.*"' '"outer.*": "attend.q.*"'
expect "of two names for a tensor the first is written" 0 '^first: 4 tensors' -- "$graphrun" export parts first --names=other.yaml
names '"layer.*": "attend.q.*"' '"layer.*": "attend.k.*"' '"layer.*": "attend.v.*"' "$head"
refused "two tensors of one name" 65 "'attend.k.bias' cannot be called 'layer.bias', which by 'layer.\*' is 'attend.q.bias'" \
  parts none --names=other.yaml
names '"in_proj_*": ["attend.q.*", "attend.k.*", "attend.v.*", "attend.o.*"]' "$head"
refused "a part that is not there" 65 "'in_proj_weight' has 4 parts, and there is no tensor 'attend.o.weight'" parts none \
  --names=other.yaml
names '"in_proj_*": ["attend.q.*", "head.*"]' '"k.*": "attend.k.*"' '"v.*": "attend.v.*"'
refused "parts of two shapes" 65 "'attend.q.weight' and 'head.weight' .* cannot be parts of 'in_proj_weight'" parts none \
  --names=other.yaml
refused "no file of names" 65 "cannot open 'gone.yaml'" one none --names=gone.yaml
printf 'names: [{"*": "*"}]\nconfig: [1]\n' >other.yaml
refused "a config: that is a list" 65 '`config:` must be a mapping, found a list' one none --names=other.yaml
printf 'names: [{"*": "*"}]\nconfig: {width: "${model.params.wdie}"}\n' >other.yaml
refused "a parameter that the model has not" 65 'model.params.wdie' one none --names=other.yaml
printf 'names: [{"*": "*"}]\nconfigs: {}\n' >other.yaml
refused "another key" 65 "a file of names has no 'configs'" one none --names=other.yaml
printf 'names: [{"*": "*"}]\nconfig: {classes: "${data.classes}", wide: "${model.params.wide}", rows: "${weights.head.weight[0]}"}\n' >other.yaml
expect "values of the data, the model and the weights" 0 -- "$graphrun" export parts values --names=other.yaml
check "... in config.json" test "$(tr -d '\n ' <values/config.json)" = '{"classes":3,"wide":4,"rows":3}'
refused "config.json without a run" 65 "is not the folder of a run" parts/checkpoints/step-00000003 none --names=other.yaml
check "... says what needs it" grep -q 'config.json is made of' "$log"
refused "a model of ONNX" 2 "--names writes a folder of safetensors" one none.onnx "--names=$names"
refused "an optimizer's states" 2 'without the states of an optimizer' one none "--names=$names" --optimizer
refused "shards of a file" 2 'only a folder by --names has shards' one none.safetensors --shard-mb=1

# ---- Transformers and PEFT ----------------------------------------------------------------------

if "$python" -c 'import torch, transformers, peft, yaml' 2>/dev/null; then
  expect "transformers and PEFT compute the same" 0 "^all within their limits" -- "$python" "$source/tests/golden/whisper_folders.py" \
    "$graphrun" data/tones.jsonl
else
  skip "folders in transformers" "no torch, transformers, peft and yaml in $python (GR_TORCH_PYTHON names another)"
fi
counts
