# canonical.sh - training.numerics=canonical: after 50 steps checkpoints are the same bytes on 1, 2, 4 and 8 ranks, with
# every strategy, in micro-steps, with recompute, as threads and as processes, and after a restart on fewer ranks. What
# cannot be canonical is refused.
. "${0%/*}/lib.sh"
make_data

usual="training.numerics=canonical training.batch_size=21 training.max_steps=50 training.max_epochs=0
  distributed.fsdp.state_dict_type=full model.params.layers=2 model.params.theta=8"
threads=distributed.backend=loopback
# Checkpoints of 50 steps of two runs: the same bytes, but for the number of ranks in the manifest, and its check.
scalars() { sed 's/"ranks": [0-9]*,//; /^"check": /d' "$1/checkpoints/step-00000050/manifest.json"; }
same_checkpoints() {
  same_tensors "$1/checkpoints/step-00000050" "$2/checkpoints/step-00000050" || return
  scalars "$1" >scalars.1 && scalars "$2" >scalars.2 && [ -s scalars.1 ] && cmp scalars.1 scalars.2
}
other_checkpoints() { ! same_tensors "$1/checkpoints/step-00000050" "$2/checkpoints/step-00000050"; }
# canonical NAME BASE OUT [key=value ...]: its checkpoint is that of BASE.
canonical() {
  canonical_name=$1 canonical_base=$2 canonical_out=$3
  shift 3
  # shellcheck disable=SC2086
  tones "$canonical_out" $usual "$@"
  if [ "$code" != 0 ]; then
    fail "$canonical_name" "exit code $code"
  else
    check "$canonical_name" same_checkpoints "$canonical_base" "$canonical_out"
  fi
}
metrics() { grep -oE '"(train|validation)[._](loss|cer|accuracy|f1_macro|noise)": [^,}]*' "$1/training_results.json"; }

# shellcheck disable=SC2086
ran "one rank" one $usual $threads distributed.ranks=1
metrics one >one.metrics
check "... has metrics of training and of evaluations" test "$(grep -c validation one.metrics)" -gt 3
for strategy in ddp zero1 zero2 fsdp; do
  for n in 1 2 4 8; do
    canonical "$strategy on $n ranks" one $strategy$n $threads distributed.ranks=$n distributed.strategy=$strategy
    metrics $strategy$n >more.metrics
    check "... and metrics" cmp one.metrics more.metrics
  done
done
recompute='training.recompute=[layers.*]'
canonical "recompute on one rank" one again1 $threads distributed.ranks=1 "$recompute"
canonical "recompute and micro-steps, zero1 on 2 ranks" one again2 $threads distributed.ranks=2 distributed.strategy=zero1 \
  "$recompute" training.accumulate=4
canonical "recompute and micro-steps, fsdp on 4 ranks" one again4 $threads distributed.ranks=4 distributed.strategy=fsdp \
  "$recompute" training.accumulate=2
canonical "collectives in line, zero2 on 4 ranks of 2 threads" one line4 $threads distributed.ranks=4 \
  distributed.strategy=zero2 distributed.overlap=false distributed.threads=2
# shellcheck disable=SC2086
ran "16 virtual shards on one rank" sixteen $usual $threads distributed.ranks=1 training.virtual_shards=16
canonical "... on 8 ranks in 2 micro-steps" sixteen sixteen8 $threads distributed.ranks=8 training.accumulate=2 \
  training.virtual_shards=16
check "... which are other sums than 8" other_checkpoints one sixteen
# shellcheck disable=SC2086
ran "native numerics" native $usual $threads distributed.ranks=2 training.numerics=native
check "... are other sums" other_checkpoints one native

# ---- Metrics of evaluations to the last digit, where a batch has losses in all of its virtual shards
check "a project of a table" "$graphrun" new table --data=table
for n in 1 2 4 8; do
  limited "$graphrun" table/config.yaml "output.dir=$scratch/table$n" $threads distributed.threads=1 distributed.ranks=$n \
    training.numerics=canonical training.batch_size=29 training.max_steps=6 training.max_epochs=0
  metrics table$n >table$n.metrics
  check "metrics of a table on $n ranks" cmp table1.metrics table$n.metrics
done
check "... which are six" test "$(grep -c . table1.metrics)" = 6

# ---- What an evaluation draws is drawn by the place in the batch, whichever rank has it
cat >drawn.yaml <<'YAML'
params: {width: 8, layers: 2, classes: 2}
inputs: {x: {shape: [n, features]}, y: {shape: [n], dtype: i32}}
nodes:
  - logits: {linear: x, out: classes, name: head}
  - loss: {cross_entropy: [logits, y]}
  - guess: {sample_categorical: logits}
  - guess: {one_hot: guess, classes: classes}
  - acc: {accuracy: [guess, y]}
  - noise: {sample_uniform: logits}
  - noise: {mse: [noise, logits]}
train: loss
metrics: {accuracy: acc, noise: noise}
YAML
for strategy in ddp zero1 zero2 fsdp; do
  for n in 1 2 4 8; do
    limited "$graphrun" table/config.yaml model.graph=drawn.yaml "output.dir=$scratch/drawn" $threads distributed.threads=1 \
      distributed.ranks=$n distributed.strategy=$strategy training.numerics=canonical training.batch_size=29 \
      training.max_steps=6 training.max_epochs=0
    metrics drawn >drawn.metrics
    [ -s drawn1.metrics ] || cp drawn.metrics drawn1.metrics
    check "metrics that an evaluation draws, $strategy on $n ranks" cmp drawn1.metrics drawn.metrics
    rm -rf drawn
  done
done
check "... which are six" test "$(grep -c . drawn1.metrics)" = 6

# ---- Other numbers of ranks on the way
# shellcheck disable=SC2086
ran "25 steps on 8 ranks" half $usual $threads distributed.ranks=8 distributed.strategy=fsdp training.max_steps=25
canonical "... and 25 on 2" one rest $threads distributed.ranks=2 distributed.strategy=zero1 \
  checkpoint.resume="$scratch/half/checkpoints/step-00000025"
if has_mpi; then
  canonical "processes of MPI" one mpi distributed.backend=mpi distributed.ranks=4 distributed.strategy=zero2
  mkdir bin
  cat >bin/mpirun <<S
#!/bin/sh
[ "\$2" = 4 ] && exit 69
exec "$(command -v mpirun)" "\$@"
S
  chmod +x bin/mpirun
  before=$PATH PATH=$scratch/bin:$PATH
  canonical "ranks that cannot be started are left out by halves" one fewer distributed.backend=mpi distributed.ranks=4 \
    checkpoint.resume=auto distributed.max_restarts=2 distributed.min_ranks=2
  printf '%s\n' 'on 2 ranks instead of 4' >patterns
  verdict "... from 4 to 2" 0
  PATH=$before
else
  skip "processes" "this build has no MPI, or there is no mpirun"
fi

# ---- What cannot be
# refused WHY KEYS
refused() {
  # shellcheck disable=SC2086
  tones refused $usual $threads $2
  printf '%s\n' "$1" >patterns
  verdict "refused: $2" 65
}
refused 'cannot share 8 virtual shards between 3 ranks' distributed.ranks=3
refused 'cannot share 8 virtual shards between 16 ranks' distributed.ranks=16
refused '6 virtual shards are no binary tree' training.virtual_shards=6
refused 'a batch of 21 samples cannot be cut into 32 virtual shards' training.virtual_shards=32
refused 'a rank has 4 virtual shards of a batch, fewer than 8 micro-steps' 'distributed.ranks=2 training.accumulate=8'
refused 'only ranks that share a batch' 'distributed.ranks=2 distributed.strategy=tp'
refused 'only ranks that share a batch' 'distributed.ranks=4 distributed.strategy=hsdp distributed.mesh={replicate:2,shard:2}'
refused 'let the step depend on the number of ranks' training.lr_scale=linear
refused 'let the step depend on the number of ranks' training.batch_is=per_rank
refused 'not training.batch_size by bucket' 'training.batch_size={total_length:800}'
refused 'one rank sends nothing' distributed.reduce_dtype=bf16
refused 'which virtual shards fix' training.memory=1GB
refused "all_reduce' adds up over the ranks" 'distributed.ranks=2 distributed.strategy=zero1 training.optimizer=adafactor'
expect "refused: more gradients than are added up without rounding" 65 "adds up 536870912 squares .* trains 15[0-9]* numbers" \
  "hint: training.numerics=native" -- "$graphrun" plan "$source/configs/whisper/large-v3.yaml" training.numerics=canonical \
  training.batch_is=global training.lr_scale=none training.batch_size=8 device=cpu
counts
