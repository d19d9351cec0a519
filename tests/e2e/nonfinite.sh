# nonfinite.sh - a step whose gradient is not finite: which node, line and rank made the first such value.
. "${0%/*}/lib.sh"

awk 'BEGIN { print "a,b,c,y"; for (i = 0; i < 48; i++) printf "%g,%g,%g,%d\n", 0.5 + i % 7 / 10, 0.4 + i % 5 / 10, 1 + i % 3, i % 3 }' >t.csv
cat >c.yaml <<YAML
model: {graph: m.yaml}
data: {source: table, table: {path: t.csv, label: y, normalize: false}, validation_fraction: 0.0}
training: {batch_size: 8, max_epochs: 1, max_steps: 3, lr: 1e-2, seed: 1}
distributed: {ranks: 1, backend: loopback}
YAML
# model NODE...: a classifier whose nodes from line 6 on are these.
model() {
  {
    printf 'params: {features: 3, classes: 3, hidden: 8}\ninputs:\n  x: {shape: [n, features]}\n  y: {shape: [n], dtype: i32}\nnodes:\n'
    for node; do printf '  - %s\n' "$node"; done
    printf '  - logits: {linear: h, out: classes, name: head}\n  - loss: {cross_entropy: [logits, y]}\ntrain: loss\n'
  } >m.yaml
}
# found NAME PATTERN [key=value ...]: the step is skipped, and why is said twice.
found() {
  name=$1 pattern=$2
  shift 2
  rm -rf out
  expect "$name" 76 "step [0-9]* is skipped, because its gradient is not finite: .*$pattern" \
    "hint: .*$pattern" -- "$graphrun" c.yaml output.dir=out "$@"
}
body='h: {linear: x, out: hidden, name: body}'

model 'x: {add_scalar: x, by: -5}' 'x: {log: x}' "$body"
found "a logarithm" "the first NaN is of 'log', m.yaml:7:9: its result is f32\[8,3\], NaN: 24; operand 1 is f32\[8,3\] from -4.6 to -2"
found "on two ranks" "on rank 0, the first NaN is of 'log', m.yaml:7:9" distributed.ranks=2
found "on three, sharded" "on rank 0, the first NaN is of 'log', m.yaml:7:9" distributed.ranks=3 distributed.strategy=fsdp
found "in micro-steps" "the first NaN is of 'log'" training.accumulate=4
found "in bf16" "the first NaN is of 'log'" training.precision=bf16
found "in fp16, at the least loss scale" "the first NaN is of 'log'" training.precision=fp16 training.loss_scale.init=1
found "by plain kernels" "the first NaN is of 'log'" --plain
found "with parts computed again" "the first NaN is of 'log'" 'training.recompute=body'
# A loss of exactly 0 looks like success.
nothing='warning: the loss of the first step is exactly 0, as if no sample took part in it: ctc_loss leaves out'
printf 'inputs:\n  x: {shape: [n, features]}\nnodes:\n  - h: {linear: x, out: 1, name: head}\n  - h: {sum: h, axes: [1]}\n  - loss: {scale: h, by: 0}\ntrain: loss\n' >zero.yaml
rm -rf out
expect "a loss of nothing is said" 0 "$nothing" -- "$graphrun" c.yaml output.dir=out model.graph=zero.yaml distributed.ranks=2
check "... once" test "$(grep -c "$nothing" "$log")" = 1
model "$body"
rm -rf out
expect "... and not of a loss" 0 'step 3/3' -- "$graphrun" c.yaml output.dir=out
check "... in its log" sh -c "! grep -q 'exactly 0' '$log'"
model 'x: {add_scalar: x, by: -5}' 'x: {sqrt: x}' "$body"
found "a square root" "the first NaN is of 'sqrt', m.yaml:7:9"
model 'z: {sub: [x, x]}' 'x: {div: [x, z]}' "$body"
found "a division by zero" "Before it, the first infinity is of 'div', m.yaml:7:9: .*; operand 1 x is .* from 0.4 to 3; operand 2 is .* from 0 to 0"
found "under tensor parallelism" "on rank 0, .*the first infinity is of 'div', m.yaml:7:9" distributed.ranks=2 \
  distributed.strategy=tp
model 'x: {scale: x, by: 100}' 'x: {exp: x}' "$body"
found "an exponential" "the first infinity is of 'exp', m.yaml:7:9: .*operand 1 is .* from 40 to 300"
model "$body" 'h: {scale: h, by: 1e30}' 'h: {square: h}'
found "a square" "the first infinity is of '[a-z]*', m.yaml:[78]:9"
model "$body" 'h: {sub: [h, h]}' 'h: {sqrt: h}'
found "a gradient alone" "the first NaN is of 'add', m.yaml:7:9: .*NaN: 64; operand 1 .* infinite: 64; operand 2 .*Before it, .* of '[a-z]*', m.yaml:8:9"
model "$body" 'h: {relu: h}' 'h: {add_scalar: h, by: -9}' 'h: {pow: h, exponent: 0.5}'
found "a power" "the first NaN is of '[a-z]*', m.yaml:9:9"
model "$body" 'h: {relu: h}' 'w: {sub: [h, h]}' 'w: {log: w}' 'h: {mul: [h, w]}'
found "zero times infinity" "the first NaN is of 'mul', m.yaml:10:9: .*operand 1 .* from 0 to .*Before it, the first infinity is of 'log', m.yaml:9:9"
model "$body" '{repeat: 3, name: "layers.$i", nodes: [{h: {linear: h, out: hidden, name: inner}}, {h: {tanh: h}}, {h: {log: h}}]}'
found "in an iteration of repeat:" "the first NaN is of 'log' of layers.0, m.yaml:7:[0-9]*: its result is f32\[8,8\]"
model 'x: {reshape: x, shape: [n, 3, 1]}' \
  'h: {scan: {over: {x: 1}, carry: {s: [n, 1]}, nodes: [{s: {add: [s, x]}}, {z: {add_scalar: s, by: -1.5}}, {z: {log: z}}], yields: z}}' \
  'h: {reshape: h, shape: [n, 3]}'
found "in a step of a loop" "the first NaN is of 'log', m.yaml:7:[0-9]*, in step 0 of its loop: its result is f32\[8,1\]"
model "$body"
found "a weight that has become too large" "the first [a-zN]* is of '[a-z]*' of head" training.lr=1e30 training.optimizer=sgd
awk 'NR == 30 { print "-1,0.5,1,2"; next } { print }' t.csv >odd.csv
model 'x: {log: x}' "$body"
found "one sample of one rank" "on rank 1, the first NaN is of 'log', m.yaml:6:9: .*NaN: 1; operand 1 x is .* from -1 to" \
  data.table.path=odd.csv distributed.ranks=2 training.max_steps=0 training.batch_size=24
# Of five steps that are skipped the first three are looked at, in a run that goes on from a checkpoint others.
common="data.table.path=odd.csv training.max_steps=0 training.seed=4 training.optimizer=adam checkpoint.keep_last=9"
# shellcheck disable=SC2086
expect "steps that are skipped, and good ones" 0 -- "$graphrun" c.yaml output.dir=whole $common training.max_epochs=5
check "... three are explained" sh -c "test \$(grep -c 'is skipped, because' '$log') = 3"
# shellcheck disable=SC2086
expect "a part of them" 0 -- "$graphrun" c.yaml output.dir=parts $common training.max_epochs=3
# shellcheck disable=SC2086
expect "... and the others" 0 "step [0-9]* is skipped, because" -- "$graphrun" c.yaml output.dir=parts $common training.max_epochs=5
check "looking leaves the states as they are" sh -c "'$graphrun' export whole a.npz --which=last --optimizer && \
  '$graphrun' export parts b.npz --which=last --optimizer && cmp a.npz b.npz"
counts
