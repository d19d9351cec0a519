# verbs.sh - what is done with a run after it has trained, or while it does: eval,
# predict, export, plot, runs, hooks; and what commands print as JSON.
. "${0%/*}/lib.sh"

# Three kinds around three points, the second coordinate on another scale.
mkdir -p project/graphs project/configs project/data empty
cp "$source"/graphs/mlp.yaml project/graphs/net.yaml
awk 'BEGIN { srand(3); print "id,width,weight,kind"
  for (i = 0; i < 240; i++) { k = int(3 * rand())
    printf "r%d,%.4f,%.2f,%s\n", i, k + 0.6 * rand(), 1000 * (k == 1) + 400 * rand(), substr("redbluegrey", k * 3 + 1, 3) }
}' >project/data/kinds.csv
cat >project/configs/table.yaml <<YAML
model: {graph: graphs/net.yaml, params: {dim: 16, layers: 1}}
data: {source: table, validation_fraction: 0.25, table: {path: data/kinds.csv, label: kind}}
training: {batch_size: 16, lr: 1e-2, max_epochs: 8, eval_every: 2, seed: 2}
distributed: {ranks: 1}
checkpoint: {metric: accuracy, mode: max, keep_last: 0, keep_best: 2}
hooks: [hooks/gone.lua]
YAML
mkdir project/hooks
echo 'return { lr = function(ctx) return ctx.base_lr end }' >project/hooks/gone.lua
run=$scratch/project/run
(cd project && limited "$graphrun" configs/table.yaml output.dir=run && [ "$code" = 0 ]) ||
  { fail "a run to use" "it failed" && counts; exit 1; }

# value KEY: of the JSON in $log.
value() { sed -n "s/.*\"$1\": \([^,}]*\).*/\1/p" "$log" | tail -1; }
result() { sed -n "s/.*\"$1\": \([^,}]*\).*/\1/p" "$run/training_results.json" | head -1; }

# ---- eval: from another folder, with the hook gone and the model changed since
rm project/hooks/gone.lua
sed 's/relu/tanh/' "$source/graphs/mlp.yaml" >project/graphs/net.yaml
cd empty || exit 1
for split in train validation; do
  expect "eval of the $split split" 0 '^\{"checkpoint": ".*/step-0+[0-9]+", "step": [0-9]+, "split": "'$split'", "samples": [0-9]+' -- \
    "$graphrun" eval "$run" --which=last --split=$split --json
  for metric in loss accuracy; do
    check "... its $metric is that of the run's end, to the last digit" \
      test -n "$(value $metric)" -a "$(value $metric)" = "$(result $split.$metric)"
  done
done
one=$(value loss)
expect "eval prints what a run prints" 0 "^validation set: loss [0-9.]+ accuracy [0-9.]+$" "predicted +(red|blu|egr)" \
  "^weights of .*/step-" -- "$graphrun" eval "$run"
for how in "distributed.ranks=2" "distributed.ranks=3 distributed.strategy=fsdp" \
  "distributed.ranks=2 distributed.backend=loopback distributed.strategy=zero1"; do
  # shellcheck disable=SC2086
  expect "eval with $how" 0 -- "$graphrun" eval "$run" --which=last --json $how
  check "... gives the same loss" near "$one" "$(value loss)" 1e-5
done
expect "the best is the default" 0 -- "$graphrun" eval "$run" --json
check "... and is the run's" test "$(value step)" = "$(result best_step)" -a "$(value accuracy)" = "$(result best_value)"
first=$(ls "$run/checkpoints" | sed -n 's/^step-0*//p' | head -1)
expect "a step" 0 '"step": '"$first", -- "$graphrun" eval "$run" --which="$first" --json
expect "all samples" 0 '"split": "all", "samples": 240,' -- "$graphrun" eval "$run" --split all --json
head -61 ../project/data/kinds.csv >other.csv
expect "other data, on the run's scale" 0 '"samples": 60,' -- \
  "$graphrun" eval "$run" data.table.path=other.csv --split=all --json
check "... is classified as well" near "$(value accuracy)" 1 0.06
check "eval writes nothing" test "$(ls)" = other.csv

# A run that has not ended: its newest checkpoint says which is the best.
cp -r "$run" running && rm running/training_results.json
expect "the best of a run that has not ended" 0 '"step": '"$(result best_step)", -- "$graphrun" eval running --json
rm -r "running/checkpoints/step-$(printf %08d "$(result best_step)")"
expect "a best checkpoint that is gone" 78 "the best checkpoint, of step [0-9]+, is not in" "hint: .*--which=last" -- \
  "$graphrun" eval running

# ---- Bad input
expect "eval of no run" 2 "no run is given" "hint: " -- "$graphrun" eval
expect "eval of a folder that is none" 65 "there is no folder 'nowhere'" -- "$graphrun" eval nowhere
expect "eval of another folder" 65 "not the folder of a run" "hint: " -- "$graphrun" eval ..
expect "a step that is not there" 78 "that checkpoint, of step 7, is not in" "there are the steps $first" -- "$graphrun" eval "$run" --which=7
expect "which, misspelt" 2 "best, last or the number of a step, but is 'lst'" -- "$graphrun" eval "$run" --which=lst
expect "a split misspelt" 2 "validation, train or all, but is 'val'" -- "$graphrun" eval "$run" --split=val
expect "a split without samples" 66 "there are no samples: validation set" "hint: --split" -- \
  "$graphrun" eval "$run" data.validation_fraction=0.0
expect "another model than the weights'" 78 "head.weight|body.0.weight" -- "$graphrun" eval "$run" model.params.dim=8
expect "a key that is none" 65 "traning" -- "$graphrun" eval "$run" traning.lr=1
expect "a flag of another command" 2 "--ranks is not a flag of this command" -- "$graphrun" eval "$run" --ranks=2
mkdir hollow && cp -r "$run/.hydra" hollow
expect "a run without checkpoints" 78 "there is no checkpoint in 'hollow/checkpoints'" -- \
  "$graphrun" eval hollow model.graph="$source/graphs/mlp.yaml"
expect "eval on a device that computes nothing" 65 "the device 'null' computes nothing" -- "$graphrun" eval "$run" device=null

# ---- predict: rows of CSV, without a label and in another order of columns; arrays; recordings
head -5 ../project/data/kinds.csv | awk -F, -v OFS=, '{ print $3, $1, $2 }' >new.csv
head -5 ../project/data/kinds.csv | tail -4 | sed 's/.*,//' >kinds
expect "predict of standard input" 2 "'-': standard input is not read" "hint: write it to a file" -- "$graphrun" predict "$run" -
expect "predict rows of CSV" 0 \
  '^\{"input": "new.csv:2", "class": "(red|blu|egr)", "probabilities": \{"blu": [0-9.e-]+, "egr": [0-9.e-]+, "red": [0-9.e-]+\}\}$' -- \
  "$graphrun" predict "$run" new.csv
grep '^{' "$log" >from.stdout
sed 's/.*"class": "\([a-z]*\)".*/\1/' from.stdout >classes
check "... one line for each, of its class" cmp classes kinds
check "... whose probabilities are 1 together" awk -F'[:,}]' '{ s = $8 + $10 + $12; exit !(s > 0.99999 && s < 1.00001) }' from.stdout
expect "predict into a file" 0 -- "$graphrun" predict "$run" new.csv --out=out.jsonl
check "... the same" cmp out.jsonl from.stdout
check "... and nothing besides" sh -c '! ls -A | grep tmp'
expect "predict on 3 ranks" 0 -- "$graphrun" predict "$run" new.csv new.csv --out=ranks.jsonl distributed.ranks=3 distributed.strategy=fsdp
cat from.stdout from.stdout >twice
sed 's/"probabilities.*//' ranks.jsonl >ranks.classes && sed 's/"probabilities.*//' twice >twice.classes
check "... of two files, in their order" cmp ranks.classes twice.classes
mv ../project/data ../project/away
expect "predict without the data of the training" 0 -- "$graphrun" predict "$run" new.csv --out=alone.jsonl
check "... is the same" cmp alone.jsonl from.stdout
mv ../project/away ../project/data
head -61 ../project/data/kinds.csv | sed 's/,red$/,blu/; 2,$s/,egr$/,blu/' >one.csv
expect "eval on data with one of the classes" 0 '"samples": 60,' -- "$graphrun" eval "$run" data.table.path=one.csv --split=all --json
sed '3s/,blu$/,mauve/' one.csv >five.csv
expect "... with a class that the run does not know" 66 "five.csv:3:1: .*the label 'mauve' is none of the 3 classes" -- \
  "$graphrun" eval "$run" data.table.path=five.csv --split=all

# [2, 2] f32 in NumPy's format: 0.1, 50, 2.3, 200
head="{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }"
{
  printf '\223NUMPY\001\000\166\000%-117s\n' "$head"
  printf '\315\314\314\075\000\000\110\102\063\063\023\100\000\000\110\103'
} >two.npy
expect "predict arrays in place of columns" 66 "'two.npy' has no column 'width'" "hint: it has: two" -- "$graphrun" predict "$run" two.npy
cat >values.csv <<CSV
a,y
0.0,0.5
1.0,1.5
2.0,2.5
3.0,3.5
CSV
cat >line.yaml <<YAML
inputs:
  x: {shape: [n, c], dtype: f32}
  y: {shape: [n], dtype: f32}
nodes:
  - h: {linear: x, out: 1, name: fit}
  - value: {reshape: h, shape: [n]}
  - d: {sub: [value, y]}
  - loss: {mul: [d, d]}
train: loss
predict: {value: value, hidden: h}
YAML
cat >fit.yaml <<YAML
model: {graph: line.yaml}
data: {source: table, validation_fraction: 0.1, table: {path: values.csv, label: y}}
training: {batch_size: 4, max_epochs: 1}
distributed: {ranks: 1}
YAML
if "$graphrun" plan fit.yaml >plan.log 2>&1; then
  limited "$graphrun" fit.yaml output.dir=fit
  expect "predict values, and lists of them" 0 '^\{"input": "values.csv:2", "value": -?[0-9.e-]+, "hidden": \[-?[0-9.e-]+\]\}$' -- \
    "$graphrun" predict fit values.csv
else
  cp plan.log "$log"
  fail "a model of values" "it does not compile"
fi

make_data
tones heard training.max_steps=100 distributed.ranks=1
expect "predict recordings" 0 '^\{"input": ".*/001.wav", "text": "[A-F ]*"\}$' -- \
  "$graphrun" predict "$scratch/heard" "$scratch/data/wavs/001.wav" "$scratch/data/wavs/000.wav"
grep '^{' "$log" | sed 's/.*wavs/wavs/' >two.said
check "... in the order of the arguments" sh -c 'head -1 two.said | grep -q 001'
expect "predict the recordings of a manifest, on 2 ranks" 0 -- \
  "$graphrun" predict "$scratch/heard" "$scratch/data/tones.jsonl" --out=all.said distributed.ranks=2
check "... each once" test "$(wc -l <all.said)" = "$(wc -l <"$scratch/data/tones.jsonl")"
check "... with the same text" sh -c 'sed "s/.*wavs/wavs/" all.said | grep -qxF "$(head -1 two.said)"'
printf 'RIFFnonsense' >broken.wav
expect "predict a recording that is none" 66 "broken.wav" -- "$graphrun" predict "$scratch/heard" broken.wav
expect "... skipped" 0 -- "$graphrun" predict "$scratch/heard" broken.wav "$scratch/data/wavs/001.wav" \
  data.skip_unreadable=true --out=left.said
check "... leaves the other" test "$(wc -l <left.said)" = 1
expect "a recording that is not there" 66 "there is no recording 'gone.wav'" -- "$graphrun" predict "$scratch/heard" gone.wav

# Two recordings of other lengths in one batch: sequences are cut to the sample's own length.
cat >frames.yaml <<'YAML'
params: {vocab: "???", blank: "???"}
inputs:
  x: {shape: [n, t, c]}
  lengths: {shape: [n], dtype: i32}
  targets: {shape: [n, u], dtype: i32}
  target_lengths: {shape: [n], dtype: i32}
nodes:
  - frames: {linear: x, out: vocab, name: head}
  - loss: {ctc_loss: [frames, targets, lengths, target_lengths], blank: blank, zero_infinity: true, normalize: target_length}
  - halves: {conv1d: x, out: 1, kernel: 3, stride: 2, pad: 1, name: halve}
  - halves_lengths: {ceil_div: lengths, by: 2}
  - first: {slice: x, axis: 2, from: 0, size: 1}
train: loss
predict: {first: first, halves: halves, halves_lengths: halves_lengths, own: lengths}
YAML
ran "a model of sequences" frames model.graph="$(pwd)/frames.yaml" '~model.params' checkpoint.metric=loss data.buckets=1 training.max_steps=1 distributed.ranks=1
expect "predict sequences" 0 -- "$graphrun" predict "$scratch/frames" "$scratch/data/tones.jsonl" --out=frames.said
check "... each as long as its sample" awk '{
  match($0, /"own": [0-9]+/); n = substr($0, RSTART + 7, RLENGTH - 7)
  match($0, /"first": \[.*\], "halves"/); first = gsub(/[0-9]+\]/, "&", $0)
  seen[n]; bad += first != n + int((n + 1) / 2) }
  END { for (n in seen) kinds++; exit bad || kinds < 2 }' frames.said
check "... and the lengths that cut them are not written" sh -c "test -s frames.said && ! grep -q halves_lengths frames.said"

cp -r "$run" torn && printf '{"features": [' >torn/data.json
expect "predict with a damaged data.json" 66 "data.json of the run is damaged in line 1" -- "$graphrun" predict torn new.csv
printf '{"version": 2, "features": []}' >torn/data.json
expect "predict with a newer data.json" 66 "data.json of the run has format version 2; this graphrun reads version 1" \
  "hint: use the graphrun that wrote it, or a newer one" -- "$graphrun" predict torn new.csv
rm torn/data.json
expect "predict without a data.json" 66 "data.json, which names its classes, is not there" "hint: " -- "$graphrun" predict torn new.csv data.table.features='[width,weight]'
expect "predict nothing" 2 "no files are given to predict" "hint: .*CSV, Parquet, .npz and .npy" -- "$graphrun" predict "$run"
expect "predict a file that is not there" 66 "there is no file 'gone.csv'" "hint: correct the path" -- "$graphrun" predict "$run" gone.csv
expect "predict without a column" 66 "'less.csv' has no column 'weight'" "hint: it has: width" -- \
  sh -c 'printf "width\n1\n" >less.csv; "$1" predict "$2" less.csv' sh "$graphrun" "$run"
expect "predict text as numbers" 66 "column 'weight' of 'text.csv' is text" -- \
  sh -c 'printf "width,weight\n1,heavy\n" >text.csv; "$1" predict "$2" text.csv' sh "$graphrun" "$run"
expect "predict rows with a hole" 66 "hole.csv:3:1: .*no value" -- \
  sh -c 'printf "width,weight\n1,2\n1,\n" >hole.csv; "$1" predict "$2" hole.csv' sh "$graphrun" "$run"
expect "predict a file without rows" 66 "there are no samples in 'none.csv'|none.csv" -- \
  sh -c 'echo width,weight >none.csv; "$1" predict "$2" none.csv' sh "$graphrun" "$run"
expect "predict into a folder that is not there" 74 "cannot write 'gone/out" -- "$graphrun" predict "$run" new.csv --out=gone/out
sed '/^predict/d' "$source/graphs/mlp.yaml" >silent.yaml
expect "predict with a model that says nothing" 65 "has no .predict:." "hint: " -- \
  "$graphrun" predict "$run" new.csv model.graph=silent.yaml
cat >blind.yaml <<'END'
inputs: {x: {shape: [n, features]}}
nodes:
  - z: {fill: [], shape: [n, 2]}
  - z: {linear: z, out: 1, name: net}
  - z: {reshape: z, shape: [n]}
train: z
predict: {z: z}
END
limited "$graphrun" "$scratch/project/configs/table.yaml" 'hooks=[]' model.graph=blind.yaml model.params=null \
  output.dir=blind training.max_epochs=1 checkpoint.metric=loss checkpoint.mode=min >blind.log 2>&1
expect "predict with a model that reads nothing" 65 "reads nothing of the data" "hint: compute its loss" -- \
  "$graphrun" predict blind new.csv

# ---- export
expect "export" 0 "^model.safetensors: 4 tensors, [0-9]+ bytes, of .*/step-" -- "$graphrun" export "$run" model.safetensors
limited "$graphrun" "$scratch/project/configs/table.yaml" 'hooks=[]' model.graph="$source/graphs/mlp.yaml" \
  model.init_from=model.safetensors output.dir=from training.max_steps=1
check "... which a run can begin with" grep -q "4 tensors are those of .*model.safetensors" "$log"
expect "export with the optimizer" 0 "^all.safetensors: 13 tensors" -- "$graphrun" export "$run" all.safetensors --optimizer --which=last
limited "$graphrun" "$scratch/project/configs/table.yaml" 'hooks=[]' model.graph="$source/graphs/mlp.yaml" \
  output.dir=sharded distributed.ranks=3 distributed.strategy=fsdp training.max_steps=5
expect "export of shards" 0 "4 tensors" -- "$graphrun" export sharded/checkpoints shards.safetensors
check "... joined: as many bytes" test "$(wc -c <shards.safetensors)" -ge "$(wc -c <model.safetensors)"
expect "export of one checkpoint" 0 -- "$graphrun" export "$run/checkpoints/step-$(printf %08d "$first")" one.safetensors
expect "export of a step" 0 -- "$graphrun" export "$run" same.safetensors --which="$first"
check "... is the same" cmp one.safetensors same.safetensors
expect "export without a file" 2 "graphrun export RUN FILE" "hint: " -- "$graphrun" export "$run"
expect "export for NumPy" 0 "^model.npz: 4 tensors" -- "$graphrun" export "$run" model.npz
for name in model.pt model.tflite model; do
  expect "export as $name" 2 "cannot export to '$name': .*\.safetensors, \.npz or \.onnx" "hint: " -- "$graphrun" export "$run" "$name"
  check "... writes nothing" test ! -e "$name"
done
expect "export of no run" 65 "no folder 'nowhere'" -- "$graphrun" export nowhere x.safetensors
expect "export into a folder that is not there" 74 "cannot write 'gone/x" -- "$graphrun" export "$run" gone/x.safetensors
check "... leaves nothing" sh -c '! ls -A | grep tmp'
if python3 -c 'import numpy' 2>/dev/null; then
  cat >apply.py <<'PY'
import json, sys, numpy as np
raw = open("model.safetensors", "rb").read()
n = int.from_bytes(raw[:8], "little")
head = json.loads(raw[8:8 + n])
w = {k: np.frombuffer(raw[8 + n:], np.float32, offset=v["data_offsets"][0],
                      count=int(np.prod(v["shape"]))).reshape(v["shape"])
     for k, v in head.items() if k != "__metadata__"}
with np.load("model.npz") as z:
    assert set(z) == set(w) and all(z[k].dtype == w[k].dtype and np.array_equal(z[k], w[k]) for k in w), dict(z)
data = json.load(open(sys.argv[1] + "/data.json"))
rows = [line.split(",") for line in open("new.csv").read().split()]
at = [rows[0].index(name) for name in data["features"]]
x = np.array([[float(row[i]) for i in at] for row in rows[1:]])
x = ((x - data["mean"]) * data["scale"]).astype(np.float32)
h = np.maximum(x @ w["body.0.weight"].T + w["body.0.bias"], 0)
logits = h @ w["head.weight"].T + w["head.bias"]
p = np.exp(logits - logits.max(1, keepdims=True))
p /= p.sum(1, keepdims=True)
for line, row in zip(open("out.jsonl"), p):
    said = json.loads(line)
    assert said["class"] == data["class_names"][row.argmax()], said
    assert np.allclose(row, list(said["probabilities"].values()), atol=1e-5), (row, said)
PY
  check "the weights give the same predictions in NumPy" python3 apply.py "$run"
else
  skip "the weights give the same predictions in NumPy" "no numpy"
fi
if python3 -c 'import safetensors.numpy' 2>/dev/null; then
  check "safetensors loads it" python3 -c 'from safetensors.numpy import load_file
assert set(load_file("all.safetensors")) > set(load_file("model.safetensors"))'
else
  skip "safetensors loads it" "no safetensors"
fi

# ---- plot
expect "plot" 0 "^ +loss$" "^ +accuracy$" "validation.loss" "^ +[0-9.]+ [+]" -- env LC_ALL=C "$graphrun" plot "$run"
expect "plot of two runs, a value each" 0 "^ +a run$" "^ +b from$" -- "$graphrun" plot "$run" from/ --key=loss
expect "plot of patterns" 0 "^ +lr$" "^ +accuracy$" -- "$graphrun" plot "$run" '--key=lr,*accuracy'
expect "plot in a terminal of UTF-8" 0 "┤" "──" -- env LC_ALL=C.UTF-8 "$graphrun" plot "$run" --key=loss
expect "plot as SVG" 0 -- "$graphrun" plot "$run" from --log --out=curves.svg
expect "... again" 0 -- "$graphrun" plot "$run" from --log --out=again.svg
check "... is the same" cmp curves.svg again.svg
check "... and a document" sh -c 'head -1 curves.svg | grep -q "^<svg " && tail -1 curves.svg | grep -qx "</svg>"'
if python3 -c 'import xml.dom.minidom' 2>/dev/null; then
  check "... of well-formed XML" python3 -c 'import xml.dom.minidom; xml.dom.minidom.parse("curves.svg")'
else
  skip "... of well-formed XML" "no python3"
fi
mkdir begun && head -5 "$run/metrics.jsonl" >begun/metrics.jsonl && printf '{"step": 5, "lo' >>begun/metrics.jsonl
expect "plot of a run that is writing a line" 0 "loss" -- "$graphrun" plot begun
mkdir damaged && sed '3s/.*/{"step": 2, nonsense/' "$run/metrics.jsonl" >damaged/metrics.jsonl
expect "plot of a damaged file" 66 "damaged/metrics.jsonl:3:13: .*no row of values" -- "$graphrun" plot damaged
expect "plot of no run" 2 "no run is given" -- "$graphrun" plot
expect "plot of a folder that is none" 66 "there is no folder 'nowhere'" -- "$graphrun" plot nowhere
expect "plot of a folder without values" 66 "has no metrics.jsonl" -- "$graphrun" plot "$scratch/project/data"
expect "data without a verb" 2 "graphrun data cannot do 'config.yaml'" "hint: graphrun data inspect config.yaml" -- "$graphrun" data config.yaml
expect "data with another verb" 2 "did you mean 'inspect'" -- "$graphrun" data inspct config.yaml
expect "data of nothing" 2 "hint: graphrun data import asterisk" -- "$graphrun" data
expect "data inspect of nothing" 2 "no configuration is given" -- "$graphrun" data inspect
expect "plot of a value that is not logged" 2 "no run has logged 'los'" "did you mean 'loss'" -- "$graphrun" plot "$run" --key=los
expect "plot into a folder that is not there" 74 "cannot write 'gone/x.svg'" -- "$graphrun" plot "$run" --out=gone/x.svg

# ---- runs
mkdir many
for lr in 1e-2 1e-5; do
  limited "$graphrun" "$scratch/project/configs/table.yaml" 'hooks=[]' model.graph="$source/graphs/mlp.yaml" \
    output.dir=many/a/lr$lr training.lr=$lr training.max_epochs=3
done
expect "runs, ranked" 0 "^run +status +steps +best accuracy +at step +last +lr$" "^many/a/lr1e-2 +done +[0-9]+ " \
  "^many/a/lr1e-5 +done .* 1e-05$" -- "$graphrun" runs many
check "... the best first" sh -c 'sed -n 2p "$1" | grep -q lr1e-2' sh "$log"
expect "runs by the lowest" 0 -- "$graphrun" runs many --by=accuracy:min
check "... which is the other" sh -c 'sed -n 2p "$1" | grep -q lr1e-5' sh "$log"
expect "runs by another metric, as JSON" 0 '^ \{"run": "many/a/lr1e-2", "status": "done", "steps": [0-9]+, "metric": "loss", "best": [0-9.]+, ' \
  '"differs": \{"training.lr": "0.01"\}\}' -- "$graphrun" runs many/ --by=validation.loss --json
if command -v python3 >/dev/null 2>&1; then
  check "... which is JSON" python3 -c 'import json, sys; assert len(json.load(open(sys.argv[1]))) == 2' "$log"
else
  skip "... which is JSON" "no python3"
fi
rm many/a/lr1e-5/training_results.json
expect "runs that have not ended" 0 "^many/a/lr1e-5 +unfinished" -- "$graphrun" runs many
expect "runs of no folder" 2 "there is no folder 'nowhere'" -- "$graphrun" runs nowhere
expect "runs where there are none" 2 "there is no run in" -- "$graphrun" runs "$scratch/project/data"
expect "runs by what none measures" 2 "no run has measured 'cer'" "hint: --by is one of: loss accuracy" -- "$graphrun" runs many --by=cer
expect "runs by a metric in neither direction" 2 "METRIC:min or METRIC:max" -- "$graphrun" runs many --by=loss:low
# How speed grows with ranks: the median of steps without the first tenth, against the run of the fewest.
mkdir -p by/a by/b
for ranks in 1 3; do
  to=by/$(echo a b c | cut -c$ranks)
  cp -r many/a/lr1e-2/.hydra "$to"
  echo "{\"ended\": \"done\", \"ranks\": $ranks}" >"$to/training_results.json"
  for step in $(seq 0 20); do echo "{\"step\": $step, \"samples_per_s\": $(((step < 3 ? 9 : step == 7 ? 900 : 100) * ranks * (7 - ranks) / 6))}"; done >"$to/metrics.jsonl"
done
expect "runs by their ranks" 0 "^by/a +1 +100 +1.00 +1.00 +100% +2.78 +11.11$" "^by/b +3 +200 +2.00 +3.00 +67% +1.39 +16.67$" -- \
  "$graphrun" runs by --scaling --price=4
expect "... as JSON" 0 '"ranks": 3, "samples_per_s": 200.0, "speed_up": 2.0, "efficiency": 0.666[67]*, "hours_per_million": 1.38[89]*, "cost_per_million": null\}$' -- \
  "$graphrun" runs by --scaling --json
expect "... at no price" 2 "--price is what a rank costs an hour, a number above 0, but is '4x'" -- "$graphrun" runs by --scaling --price=4x
expect "a price for nothing" 2 "for --scaling" -- "$graphrun" runs by --price=4
expect "the scaling of a run that has not ended" 2 "the speed of 'many/a/lr1e-5' is not known: the run has not ended" -- "$graphrun" runs many --scaling
printf 'a: [\n' >many/a/lr1e-5/.hydra/config.yaml
expect "runs with a damaged configuration" 65 "lr1e-5/.hydra/config.yaml:" -- "$graphrun" runs many

# ---- hooks
mkdir "$scratch/tmp" && export TMPDIR="$scratch/tmp" # other runs leave theirs elsewhere
schedule="$scratch/project/configs/table.yaml model.graph=$source/graphs/mlp.yaml"
# shellcheck disable=SC2086
expect "hooks of no script: warm-up" 0 '^\{"step": 0, "lr": 0.0025\}$' '^\{"step": 3, "lr": 0.01\}$' -- \
  "$graphrun" hooks $schedule 'hooks=[]' training.warmup_steps=4 --steps=5 --json
check "... so many steps" test "$(grep -c '^{' "$log")" = 5
# shellcheck disable=SC2086
expect "hooks without the data" 0 "ctx.steps_per_epoch is not known: cannot open .nowhere.csv" '^\{"step": 4, "lr": ' -- \
  "$graphrun" hooks $schedule 'hooks=[]' data.table.path=nowhere.csv --steps=5 --json
# shellcheck disable=SC2086
expect "... or a number of steps" 66 "cannot open the file 'nowhere.csv'" -- "$graphrun" hooks $schedule 'hooks=[]' data.table.path=nowhere.csv
# shellcheck disable=SC2086
limited "$graphrun" $schedule "hooks=[$source/hooks/cosine.lua,$source/hooks/log_csv.lua]" +hooks_params.warmup_steps=10 output.dir=cosine
# shellcheck disable=SC2086
expect "hooks of a schedule" 0 -- \
  "$graphrun" hooks $schedule "hooks=[$source/hooks/cosine.lua,$source/hooks/log_csv.lua]" +hooks_params.warmup_steps=10 --json
sed -n 's/.*"lr": \([^,}]*\).*/\1/p' "$log" >shown.lr
sed -n 's/.*"lr": \([^,}]*\).*/\1/p' cosine/metrics.jsonl >trained.lr
check "... shows each learning rate of the run" sh -c 'test -s trained.lr && cmp shown.lr trained.lr'
# shellcheck disable=SC2086
expect "hooks draws it" 0 "^ +lr$" "^96 steps: lr 0.001 at step 0, 0.01 at step 9 \(highest\)" -- \
  "$graphrun" hooks $schedule "hooks=[$source/hooks/cosine.lua]" +hooks_params.warmup_steps=10
# shellcheck disable=SC2086
expect "... as SVG" 0 -- "$graphrun" hooks $schedule 'hooks=[]' --out=lr.svg
check "... in a file" grep -q '</svg>' lr.svg
check "hooks leaves nothing" test -z "$(ls -A "$scratch/tmp")"
echo 'return { lr = function(ctx) return ctx.step < 2 and 1 or nil + 1 end }' >breaks.lua
# shellcheck disable=SC2086
expect "a schedule that breaks" 70 "breaks.lua:1:1: hook error: .*arithmetic on a nil" "at step 2" -- "$graphrun" hooks $schedule 'hooks=[breaks.lua]'
# shellcheck disable=SC2086
expect "hooks of a run without an end" 2 "the run has no steps: --steps=N" -- "$graphrun" hooks $schedule 'hooks=[]' training.max_epochs=0
expect "hooks of no configuration" 2 "no configuration is given" -- "$graphrun" hooks

# ---- JSON
# json NAME CODE PATTERN COMMAND...: prints one JSON value, and the pattern.
json() {
  json_name=$1 json_code=$2 json_pattern=$3
  shift 3
  timeout -k 5 "$limit" "$graphrun" "$@" >printed.json 2>"$(new_log)" </dev/null
  code=$?
  if [ "$code" != "$json_code" ]; then
    fail "$json_name --json" "exit code $code"
  elif ! grep -q -e "$json_pattern" printed.json; then
    fail "$json_name --json" "it does not say /$json_pattern/"
  elif command -v python3 >/dev/null 2>&1 && ! python3 -c 'import json; json.load(open("printed.json"))' 2>"$(new_log)"; then
    fail "$json_name --json" "it is no JSON"
  else
    ok "$json_name --json"
  fi
}
# shellcheck disable=SC2086
json plan 0 '"trained_parameters": 99,' plan $schedule 'hooks=[]' --json
# shellcheck disable=SC2086
json "plan for ranks" 0 '"layout": {"dp": "S0"}, "bytes"' plan $schedule 'hooks=[]' distributed.strategy=fsdp --ranks=2 --json
json ops 0 '^ *{"name": "relu", "kind": "op", ' ops --json
check "... without what passes make" sh -c '! grep -q "internal op" printed.json'
json "ops --all" 0 '"name": "relu_grad", "kind": "internal op"' ops --all --json
json "ops of a block and an op" 0 '"name": "linear", "kind": "block"' ops linear relu --json
check "... two" test "$(grep -c '"kind"' printed.json)" = 2
expect "ops of none --json" 2 "no op or block .nonsense" -- "$graphrun" ops nonsense --json
json "ckpt list" 0 '"step": 96, "state": "complete", "finite": true' ckpt list "$run" --json
json "ckpt show" 0 '"name": "head.weight", "dtype": "f32", "shape": \[3, 16\]' ckpt show "$run" --json
json "ckpt verify" 0 '"step": 96, "ok": true' ckpt verify "$run" --json
cp -r "$run/checkpoints" hurt && printf x | dd of="hurt/step-00000096/rank-00000.safetensors.zst" bs=1 seek=300 conv=notrunc 2>/dev/null
json "ckpt verify of a damaged one" 78 '"step": 96, "ok": false, .*"why": ' ckpt verify hurt --json
# shellcheck disable=SC2086
json "data inspect" 0 '"class_names": \["blu", "egr", "red"\]' data inspect $schedule 'hooks=[]' --json

# ---- Completion
offers() { "$graphrun" config --complete "$1" | grep -qxF -e "$2"; }
check "completion of a run" offers "graphrun eval $run" "$run/"
check "... of which checkpoint" offers "graphrun eval $run --which=l" "--which=last"
check "... of the split" offers "graphrun eval $run --split " "train"
check "... of inputs" offers "graphrun predict $run new" "new.csv"
check "... of a second run" offers "graphrun plot $run beg" "begun/"
check "... of logged values" offers "graphrun plot $run --key=gr" "--key=grad_norm"
check "... of keys" offers "graphrun eval $run data.valid" "data.validation_fraction="
mkdir -p elsewhere/model && printf 'graph: a.yaml\n' >elsewhere/model/only_there.yaml && printf '{}\n' >elsewhere/plain.yaml
for flag in --config-dir -cd; do
  check "... of groups in a folder of $flag" offers "graphrun $flag elsewhere plain.yaml +model=only" "+model=only_there"
  check "... of the folder of $flag" offers "graphrun $flag else" elsewhere/
done
# ---- data.image.decode: of a JPEG of 61 x 83 pixels, the first of the golden ones
printf 'P6\n2 1\n255\nabcdef' >first.ppm && printf 'P6\n2 1\n255\nfedcba' >second.ppm
printf 'path,label\nfirst.ppm,a\nsecond.ppm,b\n' >list.csv
cat >means.yaml <<'YAML'
inputs: {x: {shape: [n, h, w, c], dtype: u8}, y: {shape: [n], dtype: i32}}
nodes:
  - x: {cast: x, to: f32}
  - means: {mean: x, axes: [1, 2]}
  - logits: {linear: means, out: classes, name: head}
  - loss: {cross_entropy: [logits, y]}
params: {classes: 2}
train: loss
predict: {means: means}
YAML
cat >means_run.yaml <<'YAML'
model: {graph: means.yaml}
data: {source: image, image: {path: list.csv, size: [7, 9]}, validation_fraction: 0}
training: {batch_size: 2, max_epochs: 1}
distributed: {ranks: 1}
YAML
expect "a run of images" 0 -- "$graphrun" means_run.yaml output.dir=means
if has_module jpeg; then
  bytes=$(awk 'NR == 2 { for (i = 1; i < length($5); i += 2)
    printf "\\%03o", (index("0123456789abcdef", substr($5, i, 1)) - 1) * 16 + index("0123456789abcdef", substr($5, i + 1, 1)) - 1 }' \
    "$source/tests/golden/pictures.txt")
  # shellcheck disable=SC2059
  printf "$bytes" >large.jpg
  for decode in '' data.image.decode=whole data.image.decode=reduced; do
    # shellcheck disable=SC2086
    expect "predict of a large JPEG with ${decode:-no key}" 0 '^weights of ' -- "$graphrun" predict means large.jpg $decode --out="m$decode.jsonl"
  done
  check "a JPEG is decoded whole" cmp m.jsonl mdata.image.decode=whole.jsonl
  check "... unless it may be reduced" sh -c 'cmp -s m.jsonl mdata.image.decode=reduced.jsonl; test $? = 1'
else
  skip "a large JPEG" "no libjpeg-turbo"
fi
counts
