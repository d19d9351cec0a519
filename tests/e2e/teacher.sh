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
last_loss() { sed -n '$s/.*"loss": \([^,]*\),.*/\1/p' "$1/metrics.jsonl"; }
close() { close_to "$1" "$2" "${3:-1e-5}"; }
same() { test -n "$(weight "$1" last "$3")" && test "$(weight "$1" last "$3")" = "$(weight "$2" last "$3")"; }

teacher="model.teacher.graph=$source/graphs/gpt.yaml model.teacher.params={dim:32,layers:2,heads:2,dropout:0.1} \
  model.teacher.init_from=big model.teacher.match={logits:logits} model.teacher.temperature=2 model.teacher.weight=0.7"
expect "a teacher" 0 -- "$graphrun" small.yaml output.dir=big model.params.dim=32 model.params.layers=2
expect "the model alone" 0 -- "$graphrun" small.yaml output.dir=alone
# shellcheck disable=SC2086
expect "with a teacher" 0 "tensors are those of big" -- "$graphrun" small.yaml $teacher output.dir=one
check "... it learns something else" sh -c "test '$(valid_loss one)' != '$(valid_loss alone)'"
check "... checkpoints hold the teacher" grep -qar teacher.tokens.weight one/checkpoints/step-00000010
# shellcheck disable=SC2086
expect "a weight of 0 is the model's own loss" 0 -- "$graphrun" small.yaml $teacher model.teacher.weight=0 output.dir=zero
check "... the loss of the model alone" close "$(valid_loss alone)" "$(valid_loss zero)"
for how in "2 ddp" "2 zero1" "2 fsdp" "3 fsdp" "2 tp"; do
  n=${how% *} strategy=${how#* }
  # shellcheck disable=SC2086
  expect "on $n ranks with $strategy" 0 -- "$graphrun" small.yaml $teacher output.dir="$strategy$n" \
    distributed.ranks="$n" distributed.strategy="$strategy"
  check "... the loss of one" close "$(valid_loss one)" "$(valid_loss "$strategy$n")"
done
# shellcheck disable=SC2086
expect "in four micro-steps" 0 -- "$graphrun" small.yaml $teacher output.dir=micro training.accumulate=4
check "... the loss of one" close "$(valid_loss one)" "$(valid_loss micro)"
check "every row says what its loss is mixed of" awk -F'[:,] *' "$distance"'{
    for (i = 1; i < NF; i++) { if ($i ~ /"loss"/) a = $(i + 1); if ($i ~ /hard_loss"/) h = $(i + 1); if ($i ~ /kl"/) k = $(i + 1) }
    bad = bad || !number(a) || !number(h) || !number(k) || size(a - 0.3 * h - 0.7 * 4 * k) > 1e-5 || k <= 0 || NF < 12 }
  END { exit bad || NR != 10 }' one/metrics.jsonl
# shellcheck disable=SC2086
expect "the plan says what the teacher takes" 0 "the teacher's: 34,432 numbers, frozen, 137.7 kB on each rank, 59.5 % of all" -- \
  "$graphrun" plan small.yaml $teacher
expect "... and has none of a model alone" 0 '' -- "$graphrun" plan small.yaml
check "... indeed" sh -c "! grep -q teacher '$log'"
for way in "fp32 bf16" "fp32 fp16" "bf16 fp32"; do
  # shellcheck disable=SC2086
  expect "${way% *}, and the teacher in ${way#* }" 0 -- "$graphrun" small.yaml $teacher output.dir="${way% *}${way#* }" \
    training.precision="${way% *}" model.teacher.precision="${way#* }"
  check "... nearly the same" close "$(valid_loss one)" "$(valid_loss "${way% *}${way#* }")" 0.1
  check "... and not quite" sh -c "test '$(valid_loss one)' != '$(valid_loss "${way% *}${way#* }")'"
done
# shellcheck disable=SC2086
expect "in bf16" 0 -- "$graphrun" small.yaml $teacher output.dir=bf16 training.precision=bf16
check "... nearly the same" close "$(valid_loss one)" "$(valid_loss bf16)" 0.1
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
expect "an unknown precision" 65 "model.teacher.precision" "fp32" -- "$graphrun" plan small.yaml $teacher model.teacher.precision=fp31
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

# ---- By hand: two linear layers of two classes, four rows
cat >rows.csv <<CSV
a,b,label
1.0,0.5,0
-0.3,2.0,1
0.7,-1.2,1
2.0,0.1,0
CSV
linear() { # FILE WEIGHTS
  cat >"$1" <<YAML
inputs: {x: {shape: [n, c]}, y: {shape: [n], dtype: i32}}
nodes:
  - w: {param: [2, c], init: [$2], name: w}
  - logits: {matmul: [x, w], tb: true}
  - loss: {cross_entropy: [logits, y]}
train: loss
YAML
}
linear two.yaml "0.2, -0.4, 0.5, 0.3"
linear knows.yaml "1.0, 0.3, -0.6, 0.8"
cat >rows.yaml <<YAML
model: {graph: two.yaml}
data: {source: table, validation_fraction: 0, table: {path: rows.csv, label: label, normalize: false}}
training: {batch_size: 4, optimizer: sgd, lr: 0, max_steps: 1, final_train_eval: false}
distributed: {ranks: 1}
YAML
# by_hand [mask]: the loss and the norm of its gradient, with T = 2 and a weight of 0.7; mask: only rows of label 1 are compared.
by_hand() {
  awk -F, -v mask="$1" 'function soft(z0, z1, t) { return 1 / (1 + exp((z1 - z0) / t)) }   # of the first class
    NR > 1 {
      s = 0.2 * $1 - 0.4 * $2; u = 0.5 * $1 + 0.3 * $2; on = mask == "" || $3
      p = soft(1.0 * $1 + 0.3 * $2, -0.6 * $1 + 0.8 * $2, 2); q = soft(s, u, 2); r = soft(s, u, 1)
      loss += 0.3 * -log($3 ? 1 - r : r) + on * 0.7 * 4 * (p * log(p / q) + (1 - p) * log((1 - p) / (1 - q)))
      d = 0.3 * (r - !$3) + on * 0.7 * 2 * (q - p)      # by the first logit; by the second it is -d
      a += d * $1; b += d * $2; n++ }
    END { printf "%.9f %.9f\n", loss / n, sqrt(2 * (a * a + b * b)) / n }' rows.csv
}
step() { sed -n '1s/.*"loss": \([^,]*\),.*"grad_norm": \([^,]*\),.*/\1 \2/p' "$1/metrics.jsonl"; }
# With statistics: batch norm, trained, and then as a teacher.
sed 's/{matmul: .x, w., tb: true}/{matmul: [h, w], tb: true}/; s/^nodes:/&\n  - h: {batch_norm: x, name: norm}/' knows.yaml >norms.yaml
expect "a model with running statistics" 0 -- "$graphrun" rows.yaml output.dir=normed model.graph=norms.yaml \
  training.max_steps=5 training.lr=0.1
normed="model.teacher.graph=norms.yaml model.teacher.init_from=normed model.teacher.match={logits:logits}"
for how in training.accumulate=1 training.accumulate=2 \
  'distributed.ranks=2 distributed.backend=loopback distributed.strategy=fsdp'; do
  # shellcheck disable=SC2086
  expect "... as a teacher, $how" 0 -- "$graphrun" rows.yaml $normed output.dir="under_${how##*[=]}" training.lr=0.5 training.max_steps=4 $how
  for name in norm.running_mean norm.running_var norm.weight w; do
    check "... there is $name" test -n "$(weight normed last "$name")"
    check "... its $name stays" test "$(weight normed last "$name")" = "$(weight "under_${how##*[=]}" last "teacher.$name" --optimizer)"
  done
  check "... the loss of one" close "$(last_loss under_1)" "$(last_loss "under_${how##*[=]}")" 1e-6
done
check "... which are not as they began" test "$(weight normed last norm.running_mean)" != "$(head -c 8 /dev/zero | cksum)"

linear_teacher="model.teacher.graph=knows.yaml model.teacher.init_from=known model.teacher.match={logits:logits} \
  model.teacher.temperature=2 model.teacher.weight=0.7"
expect "a linear teacher" 0 -- "$graphrun" rows.yaml output.dir=known model.graph=knows.yaml
for mask in '' y; do
  # shellcheck disable=SC2086
  expect "a linear model${mask:+ and a mask}" 0 -- "$graphrun" rows.yaml $linear_teacher output.dir="by_hand$mask" \
    training.lr=0.5 training.max_steps=3 ${mask:+model.teacher.mask=$mask}
  wanted=$(by_hand $mask) found=$(step "by_hand$mask")
  check "... its loss is that by hand" close "${found% *}" "${wanted% *}" 1e-6
  check "... and so is its gradient" close "${found#* }" "${wanted#* }" 1e-6
done
"$graphrun" export known known.safetensors >/dev/null && "$graphrun" export by_hand all.safetensors --optimizer >/dev/null
check "three steps leave the teacher as it is" sh -c \
  'od -An -v -tx1 all.safetensors | tr -d " \n" | grep -q "$(tail -c 16 known.safetensors | od -An -v -tx1 | tr -d " \n")"'
counts
