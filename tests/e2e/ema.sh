# ema.sh - averages of weights (training.ema_decay): evaluation, predictions and exports read them; hooks
# switch them; checkpoints, resumed runs and other numbers of ranks keep them.
. "${0%/*}/lib.sh"
make_data
two="distributed.ranks=2"
has_mpi || two="distributed.ranks=2 distributed.backend=loopback"
exported() { "$graphrun" export "$scratch/$1" "$scratch/$2" --which=last $3 >>"$log" 2>&1; }
same_export() { exported "$1" a.safetensors "$2" && exported "$3" b.safetensors "$4" && cmp -s a.safetensors b.safetensors; }
# The same of another step, which the file names in front of the numbers.
same_numbers() {
  exported "$1" a.safetensors "$2" && exported "$3" b.safetensors "$4" &&
    tail -c 56160 a.safetensors >a.numbers && tail -c 56160 b.safetensors | cmp -s a.numbers -
}
other_export() { exported "$1" a.safetensors "$2" && exported "$3" b.safetensors "$4" && ! cmp -s a.safetensors b.safetensors; }
validation() { grep "^validation set:" "$1"; }

ran "without averages" plain
validation "$log" >plain.validation
ran "with averages" averaged training.ema_decay=0.9
validation "$log" >averaged.validation
check "... which evaluation reads, as the run says" \
  grep -q "evaluations read averages of the weights (training.ema_decay=0.9)" "$log"
check "... with other numbers" test "$(cat plain.validation)" != "$(cat averaged.validation)"
check "... training is the same" test "$(sed 's/, "samples_per_s.*//' plain/metrics.jsonl)" = \
  "$(sed 's/, "samples_per_s.*//' averaged/metrics.jsonl)"
expect "graphrun eval reads them" 0 "averages of the weights of" "$(cat averaged.validation)" -- \
  "$graphrun" eval averaged --which=last
expect "... and with --no-ema the weights" 0 "$(cat plain.validation)" -- \
  "$graphrun" eval averaged --which=last --no-ema
expect "graphrun predict says which it reads" 0 "averages of the weights of" -- \
  "$graphrun" predict averaged "$scratch/data/tones.jsonl" --out=said.jsonl
expect "... and which with --no-ema" 0 "weights of" -- \
  "$graphrun" predict averaged "$scratch/data/tones.jsonl" --no-ema --out=said.jsonl
expect "graphrun export writes them by the names of the weights" 0 "averages of weights" -- \
  "$graphrun" export averaged model.safetensors --which=last
check "... and with --no-ema the weights" same_export averaged --no-ema plain ""
check "... which are others" other_export averaged "" plain ""
check "... with --optimizer both" sh -c "'$graphrun' export averaged all.safetensors --optimizer &&
  grep -aq '\"ctc_projection.bias.ema\"' all.safetensors && grep -aq '\"ctc_projection.bias\"' all.safetensors"
expect "averages that a run has not" 78 "has no averages of weights" "hint: --no-ema reads" -- \
  "$graphrun" eval plain training.ema_decay=0.9
expect "graphrun plan names the program that begins them" 0 "^program .*ema" "ema +[0-9]+ states" -- \
  "$graphrun" plan "$source/tests/e2e/tones.yaml" "data.manifest=$scratch/data/tones.jsonl" \
  "model.graph=$source/graphs/lmu_asr.yaml" training.ema_decay=0.9
tones none training.ema_decay=1.5
check "a decay above 1" grep -q "training.ema_decay" "$log"

# ---- Ranks, precisions ----------------------------------------------------------------------------

for how in "distributed.strategy=zero1" "distributed.strategy=zero2 training.accumulate=2" \
  "distributed.strategy=fsdp" "training.precision=bf16" "training.precision=fp16" \
  "model.freeze=[subsample.*]"; do
  # shellcheck disable=SC2086
  ran "on two ranks: $how" many $two $how training.ema_decay=0.9
  validation "$log" >many.validation
  expect "... eval reads what the run has evaluated" 0 "$(cat many.validation)" -- \
    "$graphrun" eval many --which=last
  rm -rf many
done

# ---- Hooks ----------------------------------------------------------------------------------------

echo 'return { on_start = function(ctx) return { set = { ema_decay = 0 } } end }' >off.lua
ran "a hook switches them off" off training.ema_decay=0.9 training.adjustable=true "hooks=[$scratch/off.lua]"
check "... averages are the weights" same_export off "" off --no-ema
check "... and evaluation is that of the weights" test "$(validation "$log")" = "$(cat plain.validation)"
tones none training.adjustable=true "hooks=[$scratch/off.lua]"
check "without averages there is nothing to set" grep -q "off.lua:1.*'ema_decay' cannot be set$" "$log"
check "... and a hint says what can be" grep -q "hint: what can is" "$log"
hooks() {
  "$graphrun" hooks "$source/tests/e2e/tones.yaml" "data.manifest=$scratch/data/tones.jsonl" \
    "model.graph=$source/graphs/lmu_asr.yaml" --json training.adjustable=true \
    training.ema_decay=0.75 "hooks=[$source/hooks/ema.lua]" training.warmup_steps=0 --steps=8 "$@" |
    sed 's/.*"set.ema_decay": \([^,}]*\).*/\1/' | tr '\n' ' '
}
decays() { test "$(hooks $1)" = "$2 "; }
check "ema.lua" decays "" "0.75 0.75 0.75 0.75 0.75 0.75 0.75 0.75"
check "... from a step on" decays "hooks_params.ema_start=3" "0.0 0.0 0.0 0.75 0.75 0.75 0.75 0.75"
check "... with a warm-up: 1/10, 2/11, 3/12, 4/13, ..." decays "hooks_params.ema_warmup=true" \
  "0.1 0.18181818181818182 0.25 0.3076923076923077 0.35714285714285715 0.4 0.4375 0.47058823529411764"
check "... now and then" decays "hooks_params.ema_every=4" "1.0 1.0 1.0 0.75 1.0 1.0 1.0 0.75"
check "... as equal means" decays "hooks_params.ema_equal=true hooks_params.ema_start=4" \
  "0.0 0.0 0.0 0.0 0.0 0.5 0.6666666666666666 0.75"
tones none training.ema_decay=0.9 "hooks=[$source/hooks/ema.lua]"
check "... without training.adjustable" grep -q "needs training.ema_decay and training.adjustable=true" "$log"

# ---- Checkpoints ----------------------------------------------------------------------------------

warm="training.ema_decay=0.9 training.adjustable=true hooks=[$source/hooks/ema.lua] hooks_params.ema_warmup=true"
# shellcheck disable=SC2086
ran "ten steps" whole $two distributed.strategy=zero1 $warm
# shellcheck disable=SC2086
ran "five of them" parts $two distributed.strategy=zero1 $warm training.max_steps=5
# shellcheck disable=SC2086
ran "... and the others" parts $two distributed.strategy=zero1 $warm checkpoint.resume=auto
check "... have the averages of ten" same_export whole "" parts ""
# shellcheck disable=SC2086
ran "... and go on, split in another way" parts $warm training.max_steps=12 checkpoint.resume=auto
# shellcheck disable=SC2086
begin killed $warm checkpoint.every_steps=1 training.max_steps=1000000
wait_steps killed 3
kill -9 "$pid" 2>/dev/null
ended
gone killed
# shellcheck disable=SC2086
ran "killed and resumed" killed $warm checkpoint.resume=auto training.max_steps=40
# shellcheck disable=SC2086
ran "... and never killed" never $warm training.max_steps=40
check "... the averages are equal to the bit" same_export never "" killed ""
check "... and the weights" same_export never --no-ema killed --no-ema
check "... which are others" other_export never "" never --no-ema

ran "a checkpoint without averages" late training.max_steps=5
ran "... goes on with them" late training.ema_decay=0.9 "$(from late)"
check "... from its weights on, as the run says" \
  grep -Eq "has no average of [0-9]+ weights: they begin as the weights \(training.ema_decay\)" "$log"
check "... the weights are those without" same_export late --no-ema plain ""
check "... the averages are none of the first weights" other_export late "" averaged ""
ran "a checkpoint with averages" drops training.max_steps=5 training.ema_decay=0.9
ran "... goes on without" drops "$(from drops)"
check "... as the run says" grep -Eq "averages of [0-9]+ weights, which this run drops" "$log"
check "... the weights are those without" same_export drops "" plain ""
# Gradient descent has no other states, so that a run may train more weights than the one it goes on from.
some="training.optimizer=sgd checkpoint.keep_last=5"
# shellcheck disable=SC2086
ran "averages of some weights" some $some "model.freeze=[subsample.*]" training.max_steps=5 training.ema_decay=0.9
# shellcheck disable=SC2086
ran "... go on with those of all, which stay" some $some training.max_steps=6 training.ema_decay=1 "$(from some)"
check "... as the run says" grep -Eq "has no average of 4 weights: they begin as the weights" "$log"
check "... the others are as they were" test "$(weight some 6 ctc_projection.bias)" = "$(weight some 5 ctc_projection.bias)"
check "... and not as the weights" test "$(weight some 6 ctc_projection.bias)" != "$(weight some 6 ctc_projection.bias --no-ema)"
check "... new ones are the weights of then" \
  test "$(weight some 6 subsample.0.bias)" = "$(weight some 5 subsample.0.bias --no-ema)"
check "... which go on" test "$(weight some 6 subsample.0.bias)" != "$(weight some 6 subsample.0.bias --no-ema)"
ran "weights to start from" next "model.init_from=$scratch/averaged" training.max_steps=1 training.lr=0 \
  training.ema_decay=0.9
check "... are averages" grep -Eq "tensors are those of .*averages of weights" "$log"
check "... those of the run's last step" same_numbers next --no-ema averaged ""
check "... and their averages begin as they are" same_numbers next "" averaged ""
counts
