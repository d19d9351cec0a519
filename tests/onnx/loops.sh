# loops.sh - scans in files of ONNX: a model that is exported and read again trains as before, whole and
# sharded, and predicts the same; what is no scan of the graph language is said.
#
#   sh loops.sh GRAPHRUN SOURCE
. "$2/tests/e2e/lib.sh" "$1" "$2" none
golden=$source/tests/golden/onnx
if "$graphrun" import "$golden/mlp.onnx" 2>&1 | grep -q 'without protobuf-c'; then
  skip loops "this graphrun was built without protobuf-c"
  counts
fi
cat >run.yaml <<'END'
model: {graph: scans.yaml}
data: {source: table, validation_fraction: 0, table: {label: y, normalize: false}}
training: {batch_size: 6, max_steps: 4, optimizer: sgd, lr: 0.2, optimizer_params: {momentum: 0}}
END
sed 's/{graph: .*/{loss: {cross_entropy: [logits, y]}}/' run.yaml >imported.yaml
cat >scans.yaml <<'END'
inputs:
  x: {shape: [n, t, features]}
  y: {shape: [n], dtype: i32}
nodes:
  - w: {param: [features, 8], name: cell.w}
  - middle: {mean: x, axes: [1]}
  - start: {linear: middle, out: 8, name: cell.start}
  - z: {linear: x, out: 8, name: cell.in}
  - hs, ms:
      scan:
        over: {x: t, z: t}
        carry: {h: start, m: [n, 8]}
        nodes:
          - a: {matmul: [x, w]}
          - b: {linear: h, out: 8, name: cell.rec}
          - h: {add: [a, b]}
          - h: {add: [h, z]}
          - h: {tanh: h}
          - m: {add: [m, h]}
        yields: [h, m]
        last: {end: m}
  - both: {concat: [hs, ms], axis: 2}
  - back:
      scan:
        over: {both: t}
        carry: {g: [n, 16]}
        nodes:
          - c: {linear: g, out: 12, name: back.rec}
          - c: {relu: c}
          - c: {linear: c, out: 16, name: back.out}
          - g: {add: [both, c]}
          - g: {sigmoid: g}
        yields: g
        reverse: true
  - back: {lstm_layer: back, hidden: 8, name: lstm}
  - back: {gru_layer: back, hidden: 8, name: gru}
  - back: {lmu: back, hidden: 8, memory: 4, theta: 5.0, name: lmu}
  - repeat: 4
    name: layers.$i
    nodes:
      - back: {linear: back, out: 8, name: enter}
      - back:
          scan:
            over: {back: t}
            carry: {h: [n, 8]}
            nodes:
              - r: {linear: h, out: 8, name: rec}
              - h: {add: [back, r]}
              - h: {tanh: h}
            yields: h
      - back: {layer_norm: back, name: norm}
  - mean: {mean: back, axes: [1]}
  - sum: {add: [mean, end]}
  - logits: {linear: sum, out: 3, name: head}
  - loss: {cross_entropy: [logits, y]}
train: loss
predict: {logits: logits}
END
# train OUT CONFIG RANKS [key=value ...]: four steps, whose losses then differ with any gradient.
train() {
  out=$1 config=$2 ranks=$3
  shift 3
  limited "$graphrun" "$config" "data.table.path=$golden/lstm_data.npz" "output.dir=$out" "distributed.ranks=$ranks" "$@"
}
losses() { sed 's/.*"loss": \([^,]*\),.*/\1/' "$1/metrics.jsonl"; }
same() {
  if [ "$(losses "$2")" = "$(losses "$3")" ] && [ "$(losses "$2" | wc -l)" = 4 ]; then
    ok "$1"
  else
    fail "$1" "$(losses "$2")" "$(losses "$3")"
  fi
}
# Within 1e-4, by four large steps: constants that the import has computed, or one split of the batch fewer, make other sums.
alike() {
  losses "$2" >left.losses
  losses "$3" >right.losses
  check "$1" awk 'NR == FNR { a[NR] = $1; next } ($1 - a[FNR])^2 > 1e-8 { exit 1 } END { if (FNR != 4) exit 1 }' \
    left.losses right.losses
}
train first run.yaml 1 training.lr=0
expect 'scans are exported' 0 'outputs  logits' -- "$graphrun" export first scans.onnx
expect '... and imported' 0 'weights, for model.init_from' -- "$graphrun" import scans.onnx -o back.yaml
for part in 'over: {in: t, .*: t}' 'carry: {h: start, m: .n, 8]}' 'yields: .tanh, ' 'last: {[a-z_0-9]*: m}' 'reverse: true' \
  'rec: {linear: h, out: 8, name: "rec"}'; do
  check "... as text: $part" grep -q "$part" back.yaml
done
check '... layers are folded, with their scans' grep -q '^    name: "layers.\$i"$' back.yaml
check '... in a repeat' grep -q 'repeat: 4' back.yaml
check '... what no layer learns stays so' grep -q 'name: "lmu.A_transpose", train: false' back.yaml
check '... no layer of a body is split' sh -c '! grep -q "^ *- rec: .*tp:" back.yaml'
limited "$graphrun" import --flat scans.onnx -o flat.yaml
check '... but flat' sh -c '! grep -q repeat: flat.yaml'
limited "$graphrun" export first first.safetensors
for ranks in 1 2; do
  train own$ranks run.yaml $ranks model.init_from=first.safetensors
  for strategy in ddp fsdp tp; do
    [ $ranks$strategy != 1fsdp ] && [ $ranks$strategy != 1tp ] || continue
    train back$ranks$strategy imported.yaml $ranks model.graph=back.yaml model.init_from=back.safetensors \
      distributed.strategy=$strategy
    [ $strategy != ddp ] && continue
    alike "it trains the same, on $ranks" own$ranks back$ranks$strategy
  done
done
train own2fsdp run.yaml 2 model.init_from=first.safetensors distributed.strategy=fsdp
alike 'and sharded (fsdp)' own2fsdp back2fsdp
train flat imported.yaml 1 model.graph=flat.yaml model.init_from=flat.safetensors
same 'and not folded, bit for bit' back1ddp flat
train file imported.yaml 1 model.graph=scans.onnx
same 'and from the file itself' back1ddp file
alike 'and with tp' back2tp back1ddp
python=${GR_ONNX_PYTHON:-python3}
if "$python" -c 'import numpy, onnx, onnxruntime' 2>/dev/null; then
  train again imported.yaml 1 model.graph=scans.onnx training.lr=0
  mkdir compared
  limited "$graphrun" export again compared/model.onnx
  check 'what is exported again' "$python" "$source/tests/onnx/there_and_back.py" scans.onnx "$golden/lstm_data.npz" compared
  check '... predicts the same' "$python" "$source/tests/onnx/in_onnxruntime.py" 1e-6 compared
else
  skip 'what is exported again' "no onnx, onnxruntime and numpy in $python (GR_ONNX_PYTHON names another)"
fi

# A scan whose first result has no gradient, a counter, has gradients of the others.
sed '/^nodes:/,$d' scans.yaml >counter.yaml
cat >>counter.yaml <<'END'
nodes:
  - zero: {fill: [], shape: [], value: 0, dtype: i32}
  - steps: {arange: [], size: t, dtype: i32}
  - turned: {transpose: x, perm: [1, 0, 2]}
  - counts:
      scan:
        over: {turned: 0, steps: 0}
        carry: {count: zero, h: [n, 5]}
        nodes:
          - r: {linear: h, out: 5, name: rec}
          - r: {add: [r, turned]}
          - h: {tanh: r}
          - count: {add: [count, steps]}
          - c: {cast: count, to: f32}
        yields: c
        last: {end: h}
  - logits: {linear: end, out: 3, name: head}
  - loss: {cross_entropy: [logits, y]}
train: loss
predict: {logits: logits, counts: counts}
END
expect 'a scan of a counter and a state trains' 0 'loss' -- "$graphrun" run.yaml model.graph=counter.yaml \
  "data.table.path=$golden/lstm_data.npz" output.dir=counted distributed.ranks=1

# refused FILE WHY [NODE]: the node has the name of the file.
refused() {
  expect "refused: $1" 65 "the node '${3:-$1}' .[A-Za-z]*. $2" -- "$graphrun" import "$golden/refused/$1.onnx"
}
refused both_ways 'goes both ways; a scan goes forwards or backwards'
refused grows "carries 'h' from step to step, which starts as f32.64,4. and is f32.64,8. after the first one"
refused noise "draws random numbers in each step .'noise'., which is not read"
refused no_sequence 'has no sequences'
refused other_inputs 'has a body of another number of inputs or outputs'
refused not_given 'has a body that does not give its result .z.'
refused other_steps 'has sequences of different numbers of steps'
refused until_data 'ends by a condition that its steps compute; a Loop of a number of steps that is known'
refused until_data_alone 'has a number of steps that is not known: only one that sizes and constants decide, or a counter'
refused steps_of_data 'has a number of steps that is not known'
refused first_of_data 'may have no step: its first condition is not known to be true'
refused no_step 'has no step'
refused of_carry 'takes elements by indices that are computed' at_step_of_carry
refused endless 'has a number of steps that is not known: .* a counter within 4096 steps'
refused twice 'does not append' insert_twice
refused no_axis 'names the axis 3 of a value of 3 axes'
counts
