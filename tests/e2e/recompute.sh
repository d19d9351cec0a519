# recompute.sh - training.recompute: the bits of a run that keeps all values, in less memory, by all strategies.
. "${0%/*}/lib.sh"

i=0
while [ $i -lt 60 ]; do
  printf 'abcdefghijklmnop. '
  i=$((i + 1))
done >text.txt
cat >small.yaml <<YAML
model: {graph: $source/graphs/gpt.yaml, params: {dim: 24, layers: 3, heads: 2, dropout: 0.2}}
data: {source: corpus, corpus: {path: text.txt, context: 24}, validation_fraction: 0.2}
training: {batch_size: 12, optimizer: adamw, lr: 1e-2, max_epochs: 2, seed: 1}
distributed: {ranks: 1, backend: loopback}
YAML
# The weights and the states of the last checkpoint, of all ranks.
bits() { cat "$1"/checkpoints/step-*/rank-*; }
same() {
  bits "$1" >one && bits "$2" >other && test -s one && cmp one other
}
arena() { sed -n 's/^  train[^ ]* .*arena *\([0-9.]* [kMG]*B\),.*/\1/p' "$log" | head -1; }
bytes() { echo "$1" | awk '{ u["B"] = 1; u["kB"] = 1e3; u["MB"] = 1e6; u["GB"] = 1e9; printf "%d\n", $1 * u[$2] }'; }
less() { compare "$(bytes "$1")" "$(bytes "$2")" "$3" 'b > 0 && a < c * b'; }

# pair NAME PARTS ARGUMENTS...: trains with and without, and compares.
pair() {
  name=$1 parts=$2
  shift 2
  rm -rf kept again
  expect "$name" 0 -- "$graphrun" "${of:-small}.yaml" output.dir=kept "$@"
  expect "... computing $parts again" 0 -- "$graphrun" "${of:-small}.yaml" output.dir=again "training.recompute=$parts" "$@"
  check "... the same bits" same kept again
}
pair "on one rank" repeat
check "... also of the loss of every step" sh -c 'grep -o "\"loss\": [^,]*" kept/metrics.jsonl >a && grep -o "\"loss\": [^,]*" again/metrics.jsonl | cmp a - && test -s a'
pair "all of the model" "'*'"
pair "by paths" "[body.layers.0,'body.layers.2.*']"
pair "by the name of a block" "[self_attention]"
pair "what is elementwise" elementwise
pair "what is elementwise, beside a part" "[body.layers.1,elementwise]"
pair "what is elementwise in bf16, on 2 ranks with fsdp" elementwise training.precision=bf16 distributed.ranks=2 \
  distributed.strategy=fsdp
pair "in bf16" repeat training.precision=bf16
pair "in fp16" repeat training.precision=fp16
pair "in micro-steps" repeat training.accumulate=3
for how in "2 ddp" "3 zero1" "2 zero2" "2 fsdp" "3 fsdp" "2 tp" "4 fsdp_tp" "4 hsdp"; do
  n=${how% *} strategy=${how#* }
  mesh=
  [ "$strategy" = fsdp_tp ] && mesh=distributed.mesh={dp:2,tp:2}
  [ "$strategy" = hsdp ] && mesh=distributed.mesh={replicate:2,shard:2}
  # shellcheck disable=SC2086
  pair "on $n ranks with $strategy" repeat distributed.ranks="$n" distributed.strategy="$strategy" $mesh
done
pair "fsdp in bf16 and micro-steps" repeat distributed.ranks=2 distributed.strategy=fsdp training.precision=bf16 \
  training.accumulate=2
expect "a run goes on without it" 0 "resumed from again/checkpoints/step-00000006" -- "$graphrun" small.yaml output.dir=again training.max_epochs=3 \
  distributed.ranks=2 distributed.strategy=fsdp training.precision=bf16 training.accumulate=2

# ---- Loops, in chunks of about the square root of their steps: forwards, backwards, with dropout, in and between them.
# 40 steps are 6 chunks of 6 or 7.
cat >recurrent.yaml <<'YAML'
params: {vocab: 256, context: 40, hidden: 16, dropout: 0.2}
inputs:
  x: {shape: [n, context], dtype: i32}
  y: {shape: [n, context], dtype: i32}
  lengths: {shape: [n], dtype: i32}
nodes:
  - h: {embedding: x, vocab: vocab, dim: 12, name: tokens}
  - h: {lstm: h, hidden: hidden, layers: 2, bidirectional: true, dropout: dropout, name: lstm}
  - h: {gru: h, hidden: hidden, name: gru}
  - w: {param: [hidden, hidden], init: xavier_uniform}
  - start: {fill: [], shape: [n, hidden], value: 0.5}
  - s:
      scan:
        over: {h: t}
        carry: {s: start}
        nodes:
          - a: {dropout: s, p: dropout}
          - a: {matmul: [a, w]}
          - a: {add: [a, h]}
          - b: {sigmoid: a}
          - a: {tanh: a}
          - a: {mul: [a, b]}
          - s: {add: [s, a]}
          - s: {tanh: s}
        yields: s
        last: {end: s}
  - end: {linear: end, out: hidden, name: end}
  - end: {broadcast: end, axis: 1, size: context}
  - s: {add: [s, end]}
  - logits: {linear: s, out: vocab, name: head}
  - loss: {cross_entropy: [logits, y]}
train: loss
YAML
sed "s|model: .*|model: {graph: recurrent.yaml}|; s|context: 24}|context: 40}|" small.yaml >loops.yaml
of=loops
pair "loops in chunks" scan
pair "loops in chunks, in parts that are computed again" "[scan,'*']"
pair "loops in chunks, and what is elementwise" "[scan,elementwise]"
pair "loops in chunks in bf16" scan training.precision=bf16
pair "loops in chunks, in micro-steps" scan training.accumulate=3
pair "loops in chunks, on 3 ranks with zero1" scan distributed.ranks=3 distributed.strategy=zero1
pair "loops in chunks, on 2 ranks with fsdp" scan distributed.ranks=2 distributed.strategy=fsdp
pair "loops in chunks, on 2 ranks with canonical numerics" scan distributed.ranks=2 training.numerics=canonical \
  training.virtual_shards=4
of=small
sizes="data.corpus.context=200 model.params.context=200 model.params.hidden=64"
# shellcheck disable=SC2086
expect "a plan that keeps all steps" 0 -- "$graphrun" plan loops.yaml $sizes
all=$(arena)
# shellcheck disable=SC2086
expect "... and one with chunks" 0 -- "$graphrun" plan loops.yaml $sizes training.recompute=scan
check "... needs at most 0.6 of its memory" less "$(arena)" "$all" 0.6
expect "no loop to run in chunks" 65 "argument 1:1:20: config error: 'scan' finds nothing to compute again" \
  "at least 16 steps" -- "$graphrun" plan small.yaml training.recompute=scan
expect "... where it is named beside others" 65 "argument 1:1:28: config error: 'scan' finds nothing" -- \
  "$graphrun" plan small.yaml 'training.recompute=[repeat,scan]'

expect "a plan that keeps all" 0 -- "$graphrun" plan small.yaml
all=$(arena)
expect "... and one that does not" 0 'recompute ' -- "$graphrun" plan small.yaml training.recompute=repeat
check "... needs at most 0.6 of its memory" less "$(arena)" "$all" 0.6
expect "... and one that does not keep what is elementwise" 0 'recompute ' -- "$graphrun" plan small.yaml training.recompute=elementwise
check "... needs at most 0.9 of its memory" less "$(arena)" "$all" 0.9
expect "Hugging Face's name for it" 0 'gradient_checkpointing true -> training.recompute repeat' -- env -C "$source" "$graphrun" plan "$scratch/small.yaml" \
  compat.huggingface.gradient_checkpointing=true
check "... plans the same" less "$(arena)" "$all" 0.6
expect "a pattern without a match" 65 "argument 1:1:20: config error: 'body.layer' matches no block or part of the model" \
  "a part is a path such as" -- "$graphrun" plan small.yaml training.recompute=body.layer
expect "a weight is no part" 65 "'head.weight' matches no block or part" -- "$graphrun" plan small.yaml training.recompute=head.weight
expect "a model without repeat:" 65 "the model has no repeat: to compute again" -- "$graphrun" plan \
  "$source/configs/video/motions.yaml" training.recompute=repeat

# ---- training.memory: the limit is kept, by keys that a user could have given
memory() { sed -n 's/^memory *\([0-9.]* [kMG]*B\) on each rank.*/\1/p' "$log"; }
expect "a plan without a limit" 0 -- "$graphrun" plan small.yaml training.batch_size=96
free=$(bytes "$(memory)")
for percent in 70 50 30; do
  limit_kb=$((free * percent / 100000))
  expect "$percent % of it" 0 "training.memory [0-9.]* [kM]B: training..*of the predicted time" -- \
    "$graphrun" plan small.yaml training.batch_size=96 training.memory=${limit_kb}kB
  check "... is planned" less "$(memory)" "$limit_kb kB" 1.0001
done
chosen=$(sed -n 's/^note  *training.memory [^:]*: \(.*\): .* without, for.*/\1/p' "$log" | sed 's/ ([0-9]* of [0-9]* parts)//; s/, / /')
check "... by keys of the configuration" test -n "$chosen"
expect "a run with the limit" 0 "for [0-9.]* of the predicted time" -- "$graphrun" small.yaml output.dir=limited \
  training.batch_size=96 training.memory=${limit_kb}kB distributed.ranks=2
sed -n 's/.*training.memory [^:]*: \(.*\): .* without, for.*/\1/p' "$log" | sed 's/ ([0-9]* of [0-9]* parts)//; s/, / /' >keys
# shellcheck disable=SC2046
expect "... and one with what was chosen" 0 -- "$graphrun" small.yaml output.dir=given training.batch_size=96 \
  distributed.ranks=2 $(cat keys)
check "... the same bits" same limited given
expect "... goes on" 0 "resumed from" -- "$graphrun" small.yaml output.dir=limited \
  training.batch_size=96 training.memory=${limit_kb}kB distributed.ranks=2 training.max_epochs=3
expect "no micro-steps where the loss is of the means of theirs" 65 "training.memory is .*, but a rank needs" -- "$graphrun" plan small.yaml \
  training.batch_size=96 training.memory=${limit_kb}kB training.recompute=[] training.loss_norm=local
# Here all parts need more than one of them.
"$graphrun" new waves --data=series >/dev/null
waves="distributed.ranks=4 distributed.strategy=fsdp_tp distributed.mesh={dp:2,tp:2} training.batch_size=24"
# shellcheck disable=SC2086
needs() { "$graphrun" plan waves/config.yaml $waves --json "$@" 2>/dev/null | sed -n 's/^ "memory": .*"all": \([0-9]*\).*/\1/p'; }
all=$(needs)
some=$(needs training.memory=$((all * 95 / 100000))kB)
check "a limit is kept by some parts" test "$some" -lt "$all"
# shellcheck disable=SC2086
expect "... and one of just what they need, too" 0 'training.memory [0-9.]* kB: training.recompute=' -- \
  "$graphrun" plan waves/config.yaml $waves training.memory="$(awk "BEGIN { printf \"%.1f\", $some / 1000 + 0.05 }")kB"
expect "a limit that nothing keeps" 65 "training.memory is 50.0 kB, but a rank needs .*, and at least" \
  "training.precision=bf16 alone needs .* less" -- "$graphrun" plan small.yaml training.memory=50kB
expect "keys that are given stay" 65 "training.memory is .*, but a rank needs" -- "$graphrun" plan small.yaml \
  training.batch_size=96 training.memory=${limit_kb}kB training.recompute=[] training.accumulate=1
expect "no micro-steps under batch norm" 65 "but a rank needs" -- "$graphrun" plan "$source/configs/video/motions.yaml" \
  training.memory=20MB
# On GPUs, of which no plan needs one: less than what is needed by 1 kB, where only the last keys are left to choose.
one="device=cuda training.recompute=[] training.accumulate=1"
two="$one distributed.ranks=2 distributed.strategy=fsdp"
at_most() { # at_most NAME CHOSEN [key=value ...]
  name=$1 chosen=$2
  shift 2
  "$graphrun" plan small.yaml --json "$@" >needed.json 2>needed.log
  limit_kb=$(($(sed -n 's/.*"all": \([0-9]*\)}.*/\1/p' needed.json | head -1) / 1000 - 1))
  expect "$name" 0 "training.memory [0-9.]* MB: $chosen: .* of the predicted time; alone would save .* by $chosen" -- \
    "$graphrun" plan small.yaml "$@" training.memory=${limit_kb}kB
}
# shellcheck disable=SC2086
at_most "moments in host memory" training.offload=optimizer $one
# shellcheck disable=SC2086
at_most "... and weights" distributed.fsdp.offload_params=true $two training.offload=none distributed.fsdp.forward_prefetch=true \
  distributed.fsdp.backward_prefetch=backward_pre
# shellcheck disable=SC2086
at_most "gathers where weights are used" distributed.fsdp.forward_prefetch=false $two training.offload=none \
  distributed.fsdp.offload_params=false distributed.fsdp.backward_prefetch=none
expect "no size" 65 "argument 1:1:17: .*'training.memory' must be a size, but is '12X'" "24GiB" -- "$graphrun" plan small.yaml \
  training.memory=12X
counts
