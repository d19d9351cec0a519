# buffers.sh - values that persist and are no weights: the same on any number of ranks, saved, read in
# evaluation, resumed bit-exactly, and loaded into another layout.
. "${0%/*}/lib.sh"

awk 'BEGIN { srand(5); print "a,b,kind"
  for (i = 0; i < 96; i++) { k = int(2 * rand()); printf "%.4f,%.4f,%s\n", k + rand(), rand() - k, substr("noyes", 1 + 2 * k, 2 + k) }
}' >rows.csv
cat >model.yaml <<YAML
params: {classes: 2}
inputs: {x: {shape: [n, 2]}, y: {shape: [n], dtype: i32}}
buffers:
  passes: {shape: [], dtype: i32}
  cells: {shape: [12, 3], init: normal, layout: batch}
blocks:
  center:
    in: {x: [n, c], w: [n]}
    buffers: {mean: {shape: [c]}}
    nodes:
      - y: {sub: [x, mean]}
      - w: {reshape: w, shape: [n, 1]}
      - s: {mul: [x, w]}
      - s: {sum: s, axes: [0]}
      - k: {sum: w, axes: [0, 1]}
      - s: {div: [s, k]}
      - s: {add: [s, mean]}
      - s: {scale: s, by: 0.5}
    next: {mean: s}
    out: y
nodes:
  - repeat: 2
    name: layers.\$i
    nodes:
      - x: {center: [x, sample_weight], name: center}
      - x: {linear: x, out: 8, name: dense}
      - x: {tanh: x}
  - logits: {linear: x, out: classes, name: head}
  - p: {add: [passes, 1]}
  - c: {tanh: cells}
  - c: {add: [c, 0.5]}
  - loss: {cross_entropy: [logits, y]}
  - acc: {accuracy: [logits, y]}
  - w: {broadcast: passes, axis: 0, size: n}
  - w: {cast: w, to: f32}
next: {passes: p, cells: c}
train: loss
metrics: {accuracy: acc, passes: w}
YAML
cat >run.yaml <<YAML
model: {graph: $scratch/model.yaml}
data: {source: table, validation_fraction: 0.25, table: {path: rows.csv, label: kind}}
training: {batch_size: 12, lr: 1e-2, max_epochs: 4, eval_every: 1, seed: 2}
distributed: {ranks: 1}
checkpoint: {every_steps: 5, keep_last: 20}
logging: {progress: false}
YAML
run() {
  run_out=$1
  shift
  limited "$graphrun" run.yaml "output.dir=$scratch/$run_out" "$@"
}
newest() { ls -d "$1"/checkpoints/step-* | tail -1; }
steps=$(($(wc -l <rows.csv) - 1))

expect "the plan counts them" 0 'buffers +4 states, 47 numbers' -- "$graphrun" plan run.yaml
expect "and shards what is split like the batch" 0 'ranks +2 .*1 of [0-9]+ states split' -- \
  "$graphrun" plan run.yaml distributed.ranks=2
run one
check "a run" test "$code" = 0
check "evaluation reads what training has set" \
  awk -F'"validation.passes": ' 'NF > 1 { split($2, v, /[,}]/); if (v[1] <= last) exit 1; last = v[1]; n++ } END { exit n != 4 }' \
  one/evals.jsonl
for ranks in 2 3; do
  run "on$ranks" distributed.ranks=$ranks
  for step in 0 9 20; do
    check "step $step is the same on $ranks ranks" near "$(loss one $step)" "$(loss "on$ranks" $step)" 1e-4
  done
done
run half training.max_steps=7
run half
check "a run that was stopped is the run" same_metrics one half
check "... its last checkpoint has the same bytes" same_files "$(newest one)" "$(newest half)"
run split distributed.ranks=2 training.max_steps=7
run split distributed.ranks=2
check "and on two ranks" same_files "$(newest on2)" "$(newest split)"
run more training.max_steps=7
run more distributed.ranks=3
check "from one rank to three, and into slices" test "$code" = 0
check "... goes on as before" near "$(loss one 20)" "$(loss more 20)" 1e-4
run micro training.accumulate=2 training.max_epochs=1
check "a micro-batch is a pass" grep -q "\"validation.passes\": $((2 * $(wc -l <micro/metrics.jsonl)))\.0" micro/evals.jsonl
run accelerated model.init_from="$scratch/one"
check "initial weights take them along" test "$code" = 0

# ---- A target that starts as a weight and follows it
cat >target.yaml <<'YAML'
params: {classes: 2}
inputs: {x: {shape: [n, 2]}, y: {shape: [n], dtype: i32}}
buffers: {target: {shape: [8, 2], init: {weight: body.w}}}
nodes:
  - w: {param: [8, 2], init: kaiming_uniform, name: body.w}
  - h: {matmul: [x, w], tb: true}
  - t: {matmul: [x, target], tb: true}
  - gap: {sub: [h, t]}
  - gap: {square: gap}
  - gap: {sum: gap, axes: [1]}
  - h: {tanh: h}
  - logits: {linear: h, out: classes, name: head}
  - loss: {cross_entropy: [logits, y]}
  - old: {scale: target, by: 0.9}
  - new: {scale: w, by: 0.1}
  - new: {add: [old, new]}
next: {target: new}
train: loss
metrics: {gap: gap}
YAML
target="model.graph=$scratch/target.yaml training.max_steps=6 training.max_epochs=1"
zero() { awk "BEGIN { exit !(${1:-1} < 1e-9) }"; }
gap() { sed -n 's/.*"validation.gap": \([^,}]*\).*/\1/p' "$1/evals.jsonl" | tail -1; }
# shellcheck disable=SC2086
{
  run target1 $target
  run target3 $target distributed.ranks=3 distributed.strategy=fsdp
  run still $target training.lr=0
  run halved $target training.max_steps=3
  run halved $target
}
check "a target starts as the weight" zero "$(gap still)"
check "... and follows it" awk "BEGIN { exit !($(gap target1) > 1e-6) }"
check "... the same on 3 ranks" near "$(gap target1)" "$(gap target3)" 1e-3
check "... and in a run that was stopped" same_files "$(newest target1)" "$(newest halved)"
# shellcheck disable=SC2086
{
  run loaded $target training.lr=0 training.max_steps=1 "model.init_from=[{from: $scratch/target1, rename: [{target: null}]}]"
  check "of loaded weights, too" zero "$(gap loaded)"
  run kept $target training.lr=0 training.max_steps=1 model.init_from="$scratch/target1"
  check "... unless it is loaded itself" awk "BEGIN { exit !($(gap kept) > 1e-6) }"
}

# ---- Batch norm: running statistics, over all ranks or each
cat >norm.yaml <<YAML
params: {classes: 2}
inputs: {x: {shape: [n, 2]}, y: {shape: [n], dtype: i32}}
nodes:
  - repeat: 2
    name: layers.\$i
    nodes:
      - x: {linear: x, out: 8, bias: false, name: dense}  # a bias has no gradient there but noise
      - x: {batch_norm: x, name: norm}
      - x: {relu: x}
  - logits: {linear: x, out: classes, name: head}
  - loss: {cross_entropy: [logits, y]}
  - acc: {accuracy: [logits, y]}
train: loss
metrics: {accuracy: acc}
YAML
norm="model.graph=$scratch/norm.yaml training.batch_size=10"
# shellcheck disable=SC2086
{
  run norm1 $norm
  run norm3 $norm distributed.ranks=3
  run norm2 $norm distributed.ranks=2 distributed.sync_batchnorm=false
  run own1 $norm distributed.sync_batchnorm=false
  run part $norm distributed.ranks=3 training.max_steps=7
  run part $norm distributed.ranks=3
}
for step in 0 9 20; do
  check "batch norm, step $step: the same on 3 ranks" near "$(loss norm1 $step)" "$(loss norm3 $step)" 1e-4
done
evaluated() { sed -n 's/.*"validation.loss": \([^,]*\),.*/\1/p' "$1/evals.jsonl" | tail -1; }
check "evaluation uses running statistics, the same on 3 ranks" near "$(evaluated norm1)" "$(evaluated norm3)" 1e-4
check "... which a resumed run has, to the byte" same_files "$(newest norm3)" "$(newest part)"
differ() { ! near "$@"; }
check "statistics of each rank are others" differ "$(loss norm1 9)" "$(loss norm2 9)" 1e-4
check "... but not on one rank" same_metrics norm1 own1

# ---- Programs: nodes that only training or only evaluation has
cat >programs.yaml <<YAML
params: {classes: 2}
inputs: {x: {shape: [n, 2]}, y: {shape: [n], dtype: i32}}
nodes:
  - h: {linear: x, out: 8, name: body}
  - h: {tanh: h}
programs:
  train:
    nodes:
      - h: {dropout: h, p: 0.2}
      - logits: {linear: h, out: classes, name: head}
      - loss: {cross_entropy: [logits, y], smoothing: 0.2}
    loss: loss
  eval:
    nodes:
      - logits: {linear: h, out: classes, name: head}
      - loss: {cross_entropy: [logits, y]}
      - acc: {accuracy: [logits, y]}
    loss: loss
    metrics: {accuracy: acc}
    results: {logits: logits}
YAML
run programs model.graph="$scratch/programs.yaml" checkpoint.metric=accuracy checkpoint.mode=max distributed.ranks=2
check "training and evaluation of their own" test "$code" = 0
check "... the metric is that of evaluation alone" grep -q '"validation.accuracy": ' programs/evals.jsonl
check "... and training does not compute it" test "$(grep -c '"train.accuracy"' programs/epochs.jsonl)" = 0
counts
