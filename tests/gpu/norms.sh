# norms.sh - batch norms on the device cuda are parts of fused nodes where something is fused with them (the pass
# spread_norm); a run follows the CPU's, whose norms are nodes.   norms.sh GRAPHRUN SOURCE MAKE_TONES STANDIN
. "${0%/gpu/*}/e2e/lib.sh"
standin=$4 limit=400
. "${0%/gpu/*}/gpu/lib.sh"

"$graphrun" new shapes --data=image >"$(new_log)" 2>&1 || fail "a project with images" "exit code $?"
# Behind a norm: relu, gelu, a sum of two norms and of one with something else, a convolution; and a norm of rows
# without pixels.
cat >norms.yaml <<YAML
params: {filters: 8, classes: 2}
inputs:
  x: {shape: [n, h, w, c], dtype: u8}
  y: {shape: [n], dtype: i32}
nodes:
  - x: {cast: x, to: f32}
  - x: {scale: x, by: 1 / 255}
  - h: {conv2d: x, out: filters, kernel: 3, stride: 4, pad: 1, name: stem}
  - h: {batch_norm: h, name: stem_norm}
  - h: {relu: h}
  - g: {conv2d: h, out: 8, kernel: 1, pad: 0, name: a}
  - g: {batch_norm: g, name: a_norm}
  - g: {gelu: g}
  - g: {conv2d: g, out: 16, kernel: 3, pad: 1, name: b}
  - g: {batch_norm: g, name: b_norm}
  - h: {conv2d: h, out: 16, kernel: 1, pad: 0, name: skip}
  - h: {batch_norm: h, name: skip_norm}
  - h: {add: [g, h]}
  - h: {relu: h}
  - g: {batch_norm: h, name: before}
  - g: {conv2d: g, out: 16, kernel: 3, pad: 1, name: c}
  - g: {batch_norm: g, name: c_norm}
  - h: {add: [g, h]}
  - h: {adaptive_avg_pool: h}
  - h: {reshape: h, shape: [n, 16]}
  - h: {linear: h, out: 16, name: fc}
  - h: {batch_norm: h, name: fc_norm}
  - h: {relu: h}
  - logits: {linear: h, out: classes, name: head}
  - loss: {cross_entropy: [logits, y]}
train: loss
YAML
# The sixth batch is not full: samples that pad it count in no mean.
keys="model.graph=norms.yaml hooks=[] ~hooks_params data.image.path=shapes/images data.transforms=[]
  data.sampler=shuffle checkpoint.metric=loss checkpoint.mode=min training.optimizer=sgd training.lr=1e-2
  training.batch_size=10 training.max_steps=6 training.eval_every=0"
train() { # OUT [key=value ...]
  train_out=$1
  shift
  # shellcheck disable=SC2086
  limited "$graphrun" shapes/config.yaml $keys "output.dir=$scratch/$train_out" "$@"
}
norms() { # [key=value ...]: how many nodes of the plan are norms, or their sums or gradients
  # shellcheck disable=SC2086
  "$graphrun" plan shapes/config.yaml $keys distributed.ranks=1 --dump=fuse "$@" 2>>"$log" |
    sed -n '/^program train/q; p' | grep -c ' = batch_norm[a-z_]* '
}
train cpu device=cpu distributed.ranks=1
ended_well "six steps of a network with norms"
train cpu_bf16 device=cpu distributed.ranks=1 training.precision=bf16
ended_well "... and in bf16"
use_gpus 1 4
train gpu device=cuda distributed.ranks=1
ended_well "six steps on a GPU"
check "... follow the CPU's" follows gpu cpu 6
train gpu_bf16 device=cuda distributed.ranks=1 training.precision=bf16
ended_well "six steps on a GPU in bf16"
check "... begin as the CPU's" follows gpu_bf16 cpu_bf16 1
check "... in which fewer nodes are norms" test "$(norms device=cuda)" -lt "$(norms device=cuda --without=spread_norm)"
if real || [ -e "$standin/libnccl.so.2" ]; then
  use_gpus 2 4
  train two device=cuda distributed.ranks=2
  ended_well "on two GPUs"
  check "... as well" follows two cpu 6
else
  skip "two GPUs" "there is no stand-in for NCCL: its headers were not found"
fi
counts
