# mixed_rows.sh - nodes that mix the rows of a batch with those that only pad it are named, unless they are masked; masked,
# they give the same on any number of ranks.
. "${0%/*}/lib.sh"
awk 'BEGIN { OFS = ","; print "a,b,c,kind"; for (i = 0; i < 40; i++) print (i * 7) % 5, (i * 3) % 11, i % 4, "k" i % 2 }' >rows.csv
cat >run.yaml <<'YAML'
model: {graph: pairs.yaml}
data: {source: table, validation_fraction: 0.25, table: {path: rows.csv, label: kind}}
training: {batch_size: 16, lr: 1e-2, max_epochs: 2, seed: 2}
logging: {progress: false, show_samples: 0}
YAML
# model NAME NODE...: after a layer, and before the loss, which is named so by the last of them.
model() {
  to=$1
  shift
  {
    printf '%s\n' 'params: {classes: 2}' 'inputs:' '  x: {shape: [n, c]}' '  y: {shape: [n], dtype: i32}' 'nodes:' \
      '  - h: {linear: x, out: 8, name: body}'
    printf '  - %s\n' "$@"
    printf '%s\n' 'train: loss'
  } >"$to.yaml"
}
layer='logits: {linear: h, out: classes, name: head}' loss='loss: {cross_entropy: [logits, y]}'
model pairs 's: {matmul: [h, h], tb: true}' 'p: {log_softmax: s}' 'p: {mean: p, axes: [1]}' 'loss: {neg: p}'
model masked 's: {matmul: [h, h], tb: true}' 'w: {reshape: sample_weight, shape: [1, n]}' 'far: {sub: [w, 1]}' \
  'far: {scale: far, by: 1e6}' 's: {add: [s, far]}' 'p: {log_softmax: s}' 'p: {mul: [p, w]}' 'p: {sum: p, axes: [1]}' \
  'loss: {neg: p}'
model mean 'm: {mean: h, axes: [0], keepdim: true}' 'h: {sub: [h, m]}' "$layer" "$loss"
model weighted 'w: {reshape: sample_weight, shape: [n, 1]}' 'm: {mul: [h, w]}' 'm: {sum: m, axes: [0]}' \
  'k: {sum: sample_weight, axes: [0]}' 'm: {div: [m, k]}' 'h: {sub: [h, m]}' "$layer" "$loss"
model twice 'm: {sum: h, axes: [0], keepdim: true}' 's: {matmul: [h, h], tb: true}' 'h: {matmul: [s, h]}' \
  'h: {sub: [h, m]}' "$layer" "$loss"
model across 's: {matmul: [h, h], tb: true}' 'w: {reshape: sample_weight, shape: [1, n]}' 's: {mul: [s, w]}' \
  'm: {sum: s, axes: [0]}' 'm: {reshape: m, shape: [n, 1]}' 'h: {mul: [h, m]}' "$layer" "$loss"
model before 'm: {mean: h, axes: [0], keepdim: true}' 'h: {sub: [h, m]}' 'w: {reshape: sample_weight, shape: [n, 1]}' \
  'z: {mul: [h, w]}' 's: {matmul: [z, z], tb: true}' 'h: {matmul: [s, z]}' "$layer" "$loss"
model normed 'h: {batch_norm: h, name: norm}' 's: {matmul: [h, h], tb: true}' 'h: {matmul: [s, h]}' "$layer" "$loss"
model repeated '{repeat: 2, nodes: [{m: {mean: h, axes: [0], keepdim: true}}, {h: {sub: [h, m]}}]}' "$layer" "$loss"
model unit 's: {square: x}' 's: {sum: s, axes: [1], keepdim: true}' 's: {sqrt: s}' 'h: {div: [h, s]}' "$layer" "$loss"
model unread 'm: {mean: h, axes: [0], keepdim: true}' "$layer" "$loss"

# named MODEL PLACE...: the plan and a run name these nodes, once each, and no others.
named() {
  of=$1
  shift
  expect "plan $of" 0 -- "$graphrun" plan run.yaml "model.graph=$of.yaml"
  check "... has $# of them in training" test "$(sed -n '/^program train/,/^program eval/p' "$log" | grep -c "^    .*$of.yaml:.*" | tr -d ' ')" -ge $#
  limited "$graphrun" run.yaml "model.graph=$of.yaml" "output.dir=$scratch/$of" distributed.ranks=1
  check "a run of $of" test "$code" = 0
  check "... names $#" test "$(grep -c "mixes the rows of a batch" "$log")" = $#
  for place; do
    check "... $place" grep -q "warning: .*$of.yaml:$place: '.*' mixes the rows of a batch, .* sample_weight" "$log"
  done
}
named pairs 7:9
named mean 7:9
named twice 7:9 8:9 9:9
for of in masked weighted unread unit; do named $of; done
named repeated 7:30
# A mean of all rows stays one of padding, too, in rows that are masked after it.
named before 7:9
# Columns that are masked are no masked rows.
named across 10:9
# Rows that batch norm gives are no masked ones.
named normed 8:9 9:9
# Padding holds samples: what is no number for zeros, such as x over its length, is none of padding's either.
for of in masked weighted unit; do
  for ranks in 2 3; do
    limited "$graphrun" run.yaml "model.graph=$of.yaml" "output.dir=$scratch/$of$ranks" distributed.ranks=$ranks
    for step in 0 1 3; do
      check "$of: step $step on $ranks ranks is that on one" near "$(loss $of $step)" "$(loss "$of$ranks" $step)" 1e-4
    done
  done
done
expect "as JSON" 0 '"mixed_rows": \[\{"op": "matmul", "place": "pairs.yaml:7:9"\}\]' -- "$graphrun" plan run.yaml --json
counts
