# teacher.sh - a frozen second model whose logits are learnt (model.teacher): on ranks and by strategies, resumed, exported.
. "${0%/*}/lib.sh"

i=0
while [ $i -lt 60 ]; do
  printf 'abcdefghijklmnop. '
  i=$((i + 1))
done >text.txt
cat >small.yaml <<YAML
model: {graph: $source/graphs/gpt.yaml, params: {dim: 16, layers: 1, heads: 2, dropout: 0.0}}
data: {source: corpus, corpus: {path: text.txt, context: 24}, validation_fraction: 0.2}
training: {batch_size: 8, optimizer: adamw, lr: 1e-2, max_epochs: 2, eval_every: 1, seed: 1}
checkpoint: {every_steps: 1, keep_last: 20}
distributed: {ranks: 1, backend: loopback}
YAML
loss() { sed -n 's/.*"validation.loss": \([^,}]*\).*/\1/p' "$1/training_results.json" | head -1; }
near() { [ -n "$1" ] && awk -v a="$1" -v b="$2" -v most="${3:-1e-5}" 'BEGIN { d = a - b; if (d < 0) d = -d; exit !(d < most) }'; }
same() { test -n "$(weight "$1" last "$3")" && test "$(weight "$1" last "$3")" = "$(weight "$2" last "$3")"; }

teacher="model.teacher.graph=$source/graphs/gpt.yaml model.teacher.params={dim:32,layers:2,heads:2,dropout:0.1} \
  model.teacher.init_from=big model.teacher.match={logits:logits} model.teacher.temperature=2 model.teacher.weight=0.7"
expect "a teacher" 0 -- "$graphrun" small.yaml output.dir=big model.params.dim=32 model.params.layers=2
expect "the model alone" 0 -- "$graphrun" small.yaml output.dir=alone
# shellcheck disable=SC2086
expect "with a teacher" 0 "tensors are those of big" -- "$graphrun" small.yaml $teacher output.dir=one
check "... it learns something else" sh -c "test '$(loss one)' != '$(loss alone)'"
check "... checkpoints hold the teacher" grep -qar teacher.tokens.weight one/checkpoints/step-00000010
# shellcheck disable=SC2086
expect "a weight of 0 is the model's own loss" 0 -- "$graphrun" small.yaml $teacher model.teacher.weight=0 output.dir=zero
check "... the loss of the model alone" near "$(loss alone)" "$(loss zero)"
for how in "2 ddp" "2 zero1" "2 fsdp" "3 fsdp" "2 tp"; do
  n=${how% *} strategy=${how#* }
  # shellcheck disable=SC2086
  expect "on $n ranks with $strategy" 0 -- "$graphrun" small.yaml $teacher output.dir="$strategy$n" \
    distributed.ranks="$n" distributed.strategy="$strategy"
  check "... the loss of one" near "$(loss one)" "$(loss "$strategy$n")"
done
# shellcheck disable=SC2086
expect "in bf16" 0 -- "$graphrun" small.yaml $teacher output.dir=bf16 training.precision=bf16
check "... nearly the same" near "$(loss one)" "$(loss bf16)" 0.1
# shellcheck disable=SC2086
expect "half of a run" 0 -- "$graphrun" small.yaml $teacher output.dir=half training.max_steps=3
# shellcheck disable=SC2086
expect "... resumed" 0 "resumed from" -- "$graphrun" small.yaml $teacher output.dir=half checkpoint.resume=auto
check "... bit for bit" same one half tokens.weight
expect "eval" 0 "loss" -- "$graphrun" eval one --which=last
expect "export writes the model alone" 0 "student.safetensors: 20 tensors" -- \
  "$graphrun" export one student.safetensors --which=last
expect "no weights" 65 "the teacher has no weights: model.teacher.init_from is not given" -- \
  "$graphrun" plan small.yaml model.teacher.graph="$source/graphs/gpt.yaml" "model.teacher.match={logits:logits}"
expect "no teacher" 65 "model.teacher.weight is given, but model.teacher.graph is not" -- \
  "$graphrun" plan small.yaml model.teacher.weight=0.3
# shellcheck disable=SC2086
expect "no file" 65 "cannot open the teacher 'none.yaml'" -- "$graphrun" plan small.yaml $teacher model.teacher.graph=none.yaml
# shellcheck disable=SC2086
expect "an unknown value" 65 "'logit'" "did you mean 'logits'" -- \
  "$graphrun" plan small.yaml $teacher "model.teacher.match={logits:logit}"
# shellcheck disable=SC2086
expect "other shapes" 65 "'logits' of the model is f32" "'x' of the teacher" -- \
  "$graphrun" plan small.yaml $teacher "model.teacher.match={logits:x}"
# shellcheck disable=SC2086
expect "weights of another size" 78 "of the teacher's" -- \
  "$graphrun" small.yaml $teacher output.dir=misfit "model.teacher.params={dim:16,layers:2,heads:2,dropout:0.1}"
