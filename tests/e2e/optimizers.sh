# optimizers.sh - every optimizer of the table trains, on ranks that share its states as on one, and
# goes on from a checkpoint of other ranks; hyper-parameters are checked by name and range.
. "${0%/*}/lib.sh"
make_data

threads="distributed.backend=loopback training.max_steps=12"
for optimizer in lion rmsprop nadam lamb adafactor muon; do
  rate=training.lr=1e-2
  case $optimizer in lion | rmsprop | nadam) rate=training.lr=1e-3 ;; esac
  base="$threads training.optimizer=$optimizer $rate"
  # shellcheck disable=SC2086
  ran "$optimizer on one rank" $optimizer $base distributed.ranks=1
  check "... the loss falls" below "$(loss $optimizer 11)" "$(loss $optimizer 0)"
  for strategy in ddp zero1 zero2 fsdp; do
    # shellcheck disable=SC2086
    ran "$optimizer, $strategy on 3 ranks" $optimizer-$strategy $base distributed.ranks=3 distributed.strategy=$strategy
    check "... the 12th loss is one rank's to 1e-3" near "$(loss $optimizer 11)" "$(loss $optimizer-$strategy 11)" 1e-3
  done
  # Six steps on 3 ranks and six on 2 are the twelve of one rank.
  # shellcheck disable=SC2086
  ran "$optimizer, six steps of fsdp on 3 ranks" $optimizer-half $base training.max_steps=6 distributed.ranks=3 \
    distributed.strategy=fsdp
  # shellcheck disable=SC2086
  ran "... go on with zero1 on 2" $optimizer-rest $base distributed.ranks=2 distributed.strategy=zero1 \
    checkpoint.resume="$scratch/$optimizer-half/checkpoints/step-00000006"
  check "... to the 12th loss of one rank, to 1e-3" near "$(loss $optimizer 11)" "$(loss $optimizer-rest 5)" 1e-3
done
# Six steps of muon and six from their checkpoint are the twelve, to the bit; its products follow training.precision.
muon="$threads training.optimizer=muon training.lr=1e-2 distributed.ranks=1"
# shellcheck disable=SC2086
ran "muon, six steps" muon-half1 $muon training.max_steps=6
# shellcheck disable=SC2086
ran "... and six more" muon-rest1 $muon checkpoint.resume="$scratch/muon-half1/checkpoints/step-00000006"
losses() { grep -o '"loss": [^,]*' "$1/metrics.jsonl"; }
losses muon | tail -n 6 >all.losses
losses muon-rest1 >rest.losses
check "... have the same losses" cmp all.losses rest.losses
for strategy in ddp zero2 fsdp; do
  # shellcheck disable=SC2086
  ran "muon in bf16, two micro-steps, $strategy on 2 ranks" muon-bf16-$strategy $muon training.precision=bf16 training.accumulate=2 \
    distributed.ranks=2 distributed.strategy=$strategy
  check "... the 12th loss is one rank's in fp32 to 5e-2" near "$(loss muon 11)" "$(loss muon-bf16-$strategy 11)" 5e-2
done
"$graphrun" ckpt show muon/checkpoints >shown
check "muon keeps one number for each of a matrix, and two for each of a vector" \
  test "$(grep -cE 'ctc_projection.(weight.m|weight.v|bias.m|bias.v) ' shown)" = 3
"$graphrun" ckpt show adafactor/checkpoints >shown
check "adafactor keeps a number for each row and column of a matrix" \
  test "$(grep -cE 'ctc_projection.weight.(row +f32  \[8\]|col +f32  \[32\])' shown)" = 2

# ---- Hyper-parameters
plan() {
  "$graphrun" plan "$source/tests/e2e/tones.yaml" "data.manifest=$scratch/data/tones.jsonl" \
    "model.graph=$source/graphs/lmu_asr.yaml" --dump=optimize "$@"
}
# set NAME TEXT KEY=VALUE...: the optimizer's nodes have that attribute.
set_to() {
  set_name=$1 set_text=$2
  shift 2
  plan "$@" >"$(new_log)" 2>&1
  check "$set_name" grep -qE "= $set_text" "$log"
}
set_to "a parameter by name" "adamw .*weight_decay=0.03" training.optimizer=adamw training.optimizer_params.weight_decay=0.03
set_to "two by a list" "lion .*beta1=0.5, beta2=0.75" training.optimizer=lion 'training.optimizer_params={betas: [0.5, 0.75]}'
set_to "before the key that optimizers share" "adam .*beta1=0.5, beta2=0.75" 'training.betas=[0.1, 0.2]' \
  'training.optimizer_params={betas: [0.5, 0.75]}'
set_to "the shared keys alone" "adam .*beta1=0.1, beta2=0.2, eps=0.001, weight_decay=0.5" 'training.betas=[0.1, 0.2]' \
  training.eps=1e-3 training.weight_decay=0.5
set_to "which leave others at the optimizer's own" "lion .*beta2=0.99, weight_decay=0.5" training.optimizer=lion training.weight_decay=0.5
set_to "momentum" "sgd .*momentum=0.9" training.optimizer=sgd training.momentum=0.9
set_to "muon's, of which one is true or false" "muon_momentum .*momentum=0.8, nesterov=false" training.optimizer=muon \
  'training.optimizer_params={momentum: 0.8, nesterov: false}'
set_to "... and AdamW's, for biases" "adamw .*beta1=0.5, beta2=0.75, .*weight_decay=0.03" training.optimizer=muon \
  'training.betas=[0.5, 0.75]' training.weight_decay=0.03
set_to "eps1 and eps2 of adafactor" "adafactor .*eps1=0.01, eps2=0.02" training.optimizer=adafactor \
  'training.optimizer_params={eps: [0.01, 0.02]}'

expect "a misspelt one has its place and the nearest" 65 "argument [0-9]+:1:[0-9]+: " "adafactor has no parameter 'beta2_decy'" \
  "did you mean 'beta2_decay'" -- "$graphrun" plan "$source/tests/e2e/tones.yaml" "data.manifest=$scratch/data/tones.jsonl" \
  "model.graph=$source/graphs/lmu_asr.yaml" training.optimizer=adafactor 'training.optimizer_params={beta2_decy: -0.5}'
expect "one out of range has its place and the range" 65 "argument [0-9]+:1:[0-9]+: " "must be a number of at least 0 and below 1, but is 1.5" \
  "must be a number of at least 0, but is -1" -- "$graphrun" plan "$source/tests/e2e/tones.yaml" "data.manifest=$scratch/data/tones.jsonl" \
  "model.graph=$source/graphs/lmu_asr.yaml" 'training.optimizer_params={beta1: 1.5, weight_decay: -1}'
expect "the rate is no parameter" 65 "the learning rate is training.lr" -- "$graphrun" plan "$source/tests/e2e/tones.yaml" \
  "data.manifest=$scratch/data/tones.jsonl" "model.graph=$source/graphs/lmu_asr.yaml" training.optimizer_params.lr=0.1
expect "nor does eps of one have two" 65 "must be a list of 2 numbers, but is a float" -- "$graphrun" plan "$source/tests/e2e/tones.yaml" \
  "data.manifest=$scratch/data/tones.jsonl" "model.graph=$source/graphs/lmu_asr.yaml" training.optimizer=lion \
  'training.optimizer_params={betas: 0.5}'
# A shared key that the optimizer does not read: an error where it is meant for this run, else a line.
expect "a key of another optimizer, as an argument" 65 "argument [0-9]+:1:1: .*lion does not read training.momentum" \
  "hint: .*set training.optimizer to one that does: sgd, rmsprop, lars, muon; lion has: beta1, beta2" -- "$graphrun" plan "$source/tests/e2e/tones.yaml" \
  "data.manifest=$scratch/data/tones.jsonl" "model.graph=$source/graphs/lmu_asr.yaml" training.optimizer=lion training.momentum=0.9
mkdir given
sed 's/^training: {/&betas: [0.9, 0.95], eps: 1e-6, /' "$source/tests/e2e/tones.yaml" >given/file.yaml
sed 's/^training: {/&momentum: 0.9, /' "$source/tests/e2e/tones.yaml" >given/default.yaml
printf '%s\n' 'defaults: [file, _self_]' 'training: {optimizer: sgd}' >given/other.yaml
printf '%s\n' 'defaults: [file, _self_]' 'training: {optimizer: sgd, betas: [0.8, 0.9]}' >given/both.yaml
given() { # FILE [key=value]: a plan
  given_file=$1
  shift
  limited "$graphrun" plan "given/$given_file.yaml" "data.manifest=$scratch/data/tones.jsonl" "model.graph=$source/graphs/lmu_asr.yaml" "$@"
}
# is NAME CODE PATTERN: judges $code and $log.
is() {
  printf '%s\n' "$3" >patterns
  verdict "$1" "$2"
}
given other
is "keys of a file, and another file's optimizer" 0 "^note +sgd does not read training.betas, training.eps$"
given file training.optimizer=sgd
is "... or one on the command line" 0 "^note +sgd does not read training.betas, training.eps$"
given file
check "what the optimizer reads is not mentioned" sh -c "! grep -q 'does not read' '$log'"
given both
is "a key beside the optimizer" 65 "given/both.yaml:2:[0-9]+: .*sgd does not read training.betas"
given default
is "a key where no optimizer is chosen" 65 "given/default.yaml:[0-9]+:[0-9]+: .*adam does not read training.momentum"
expect "what an optimizer takes is shown" 0 "eps2 \(number >= 0, default 1e-3\)" "states +row, one number per row" -- "$graphrun" ops adafactor
expect "... and by the key" 0 "optimizer_params.beta2_decay +float <= 0" -- "$graphrun" config --help training.optimizer_params

# Columns that ranks do not divide: adafactor splits rows, and the plan names the weights.
wide='{shape: [n, t, 30]}'
printf '%s\n' "inputs: {x: $wide, lengths: {shape: [n], dtype: i32}, targets: {shape: [n, u], dtype: i32}," \
  "  target_lengths: {shape: [n], dtype: i32}}" \
  "nodes: [{h: {linear: x, out: 4, name: body}}, {y: {linear: h, out: 8, name: head}}," \
  "  {loss: {ctc_loss: [y, targets, lengths, target_lengths]}}]" "train: loss" >wide.yaml
confined() {
  "$graphrun" plan "$source/tests/e2e/tones.yaml" "data.manifest=$scratch/data/tones.jsonl" model.graph=wide.yaml \
    '~model.params' checkpoint.metric=loss data.features.mels=30 distributed.ranks=7 distributed.strategy=fsdp distributed.fsdp.wrap='["*"]' "$@" >"$(new_log)" 2>&1
}
confined training.optimizer=adafactor
check "a weight that adafactor confines is named" grep -qA1 "cannot update uneven slices of columns" "$log"
confined training.optimizer=lion
check "... which lion does not" sh -c "grep -q '^plan ' '$log' && ! grep -q 'uneven slices of columns' '$log'"

# ---- Groups of weights
groups='training.groups=[{match: "head.*", lr: 5e-4, clip: 0.5, weight_decay: 0}, {match: "layers.*.attention.*", optimizer: sgd, lr_factor: 0.1, momentum: 0.9}]'
groups=$(echo "$groups" | sed 's/head\.\*/ctc_projection.*/')
expect "the plan lists groups" 0 'ctc_projection\.\* +2 trained weights, .*: adamw, lr x 0.1, clip 0.5, .*weight_decay=0.0$' \
  'layers\..*: sgd, lr x 0.1, clip 0|layers\..*: sgd, lr x 0.1, momentum=0.9, weight_decay=0.0, nesterov=false$' 'others .*: adamw, clip 1, .*weight_decay=0.1; no decay on [0-9]+ biases and norms' -- \
  "$graphrun" plan "$source/tests/e2e/tones.yaml" "data.manifest=$scratch/data/tones.jsonl" "model.graph=$source/graphs/lmu_asr.yaml" \
  training.optimizer=adamw training.weight_decay=0.1 training.decay_biases_and_norms=false "$groups"
# shellcheck disable=SC2086
ran "groups on one rank" groups1 $threads distributed.ranks=1 training.optimizer=adamw training.weight_decay=0.1 \
  training.decay_biases_and_norms=false "$groups"
check "their norms are logged" grep -q '"grad_norm.others": .*"grad_norm.ctc_projection.\*": ' groups1/metrics.jsonl
# shellcheck disable=SC2086
ran "groups of fsdp on 3 ranks, stopped" groups3 $threads training.max_steps=6 distributed.ranks=3 distributed.strategy=fsdp \
  training.optimizer=adamw training.weight_decay=0.1 training.decay_biases_and_norms=false "$groups"
# shellcheck disable=SC2086
ran "... go on with zero1 on 2" groups2 $threads distributed.ranks=2 distributed.strategy=zero1 checkpoint.resume="$scratch/groups3/checkpoints/step-00000006" \
  training.optimizer=adamw training.weight_decay=0.1 training.decay_biases_and_norms=false "$groups"
check "... to the 12th loss of one rank, to 1e-3" near "$(loss groups1 11)" "$(loss groups2 5)" 1e-3
group() { # NAME GROUPS PATTERN...: refused, at its place
  group_name=$1 group_text=$2
  shift 2
  expect "$group_name" 65 "argument [0-9]+:1:[0-9]+: config error" "$@" -- "$graphrun" plan "$source/tests/e2e/tones.yaml" \
    "data.manifest=$scratch/data/tones.jsonl" "model.graph=$source/graphs/lmu_asr.yaml" "training.groups=$group_text"
}
group "a group without weights" '[{match: "ctc_projektion.*"}]' "'ctc_projektion.\*' matches no weight" "did you mean 'ctc_projection.\*'"
group "... because of an earlier one" '[{match: "ctc*"}, {match: "ctc_projection.*"}]' "every weight that 'ctc_projection.\*' matches is in an earlier group"
group "a group without a pattern" '[{lr: 1}]' "needs 'match'"
group "a misspelt key" '[{match: "*", clp: 1, wieght_decay: 2}]' "has no 'clp'" "did you mean 'clip'" "did you mean 'weight_decay'"
group "values out of range" '[{match: "*", lr: -1, clip: yes, beta1: 2}]' "'lr' of a group must be a number of at least 0, but is -1" \
  "'clip' of a group must be" "'beta1' must be a number of at least 0 and below 1"
group "two rates" '[{match: "*", lr: 1, lr_factor: 1}]' "both 'lr' and 'lr_factor'"
group "an optimizer that does not exist" '[{match: "*", optimizer: adm}]' "no optimizer 'adm'" "did you mean 'adam'"
group "no list" '{match: "*"}' "must be a list of at most 64 groups"
counts
