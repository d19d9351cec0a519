# keys.sh - keys of the configuration do what docs/running.md says of them.
. "${0%/*}/lib.sh"
make_data
quick="training.max_steps=3 model.params.dropout=0"

# field OUT STEP NAME: a number of metrics.jsonl.
field() {
  sed -n "$(($2 + 1))s/.*\"$3\": \([^,]*\),.*/\1/p" "$1/metrics.jsonl"
}

# ---- training.accumulate: the batch of 8 in micro-steps, of CTC's sums and weights
# shellcheck disable=SC2086
ran "one step a batch" whole $quick
for of in 1/2/ddp 1/3/ddp 2/2/ddp 2/3/zero1 2/4/zero2 2/2/fsdp 3/2/ddp 3/3/fsdp; do
  ranks=${of%%/*} parts=${of#*/} strategy=${of##*/}
  parts=${parts%/*} run=micro$ranks-$parts-$strategy
  # shellcheck disable=SC2086
  ran "$strategy, $ranks ranks, $parts micro-steps" $run $quick distributed.ranks=$ranks \
    distributed.backend=loopback distributed.strategy=$strategy training.accumulate=$parts
  check "... the loss of the batch" near "$(field whole 0 loss)" "$(field $run 0 loss)" 1e-6
  check "... its gradient" near "$(field whole 0 grad_norm)" "$(field $run 0 grad_norm)" 1e-6
  check "... and the step that follows" near "$(field whole 2 loss)" "$(field $run 2 loss)" 1e-4
  check "... evaluations are the same" near "$(sed -n 's/^validation set: loss \([^ ]*\).*/\1/p' "$log")" \
    "$(sed -n 's/.*"validation.loss": \([0-9.]*\).*/\1/p' whole/training_results.json)" 1e-3
done
memory() { # of a rank, as planned, in bytes
  "$graphrun" plan "$source/tests/e2e/tones.yaml" "data.manifest=$scratch/data/tones.jsonl" \
    "model.graph=$source/graphs/lmu_asr.yaml" training.batch_size=32 "$@" |
    awk '$1 == "memory" {print $2 * ($3 == "MB" ? 1e6 : $3 == "kB" ? 1e3 : 1)}'
}
for strategy in ddp fsdp; do
  all=$(memory distributed.ranks=2 distributed.strategy=$strategy)
  half=$(memory distributed.ranks=2 distributed.strategy=$strategy training.accumulate=2)
  eighth=$(memory distributed.ranks=2 distributed.strategy=$strategy training.accumulate=8)
  check "$strategy: memory falls, from $all to $half to $eighth" \
    compare "$all" "$half" "$eighth" 'b < 0.7 * a && c < 0.4 * a'
done
# shellcheck disable=SC2086
tones micro1-2-ddp $quick checkpoint.resume=auto training.max_steps=6
check "a run in micro-steps is resumed without" test "$code/$(steps_of micro1-2-ddp)" = 0/6
# shellcheck disable=SC2086
tones whole $quick checkpoint.resume=auto training.max_steps=6 training.accumulate=4
check "... and the other way round" test "$code/$(steps_of whole)" = 0/6
check "... to the same losses" near "$(field whole 5 loss)" "$(field micro1-2-ddp 5 loss)" 1e-4
# With dropout and augmentation: each micro-step draws its own, the same in every run.
for run in again1 again2; do
  ran "$run" $run training.max_steps=5 training.accumulate=3 distributed.ranks=2 \
    distributed.backend=loopback data.workers=2
done
check "two runs in micro-steps leave the same bytes" same_files again1/checkpoints again2/checkpoints
tones none training.accumulate=5 distributed.ranks=2
verdict_of() { # NAME CODE PATTERN
  printf '%s\n' "$3" >"$scratch/patterns"
  verdict "$1" "$2"
}
verdict_of "more micro-steps than samples" 65 'argument [0-9]+:1:21: .*4 samples.*fewer than 5 micro-steps'

# ---- training.loss_norm: 8 samples on 3 ranks are 3, 3 and 2
for norm in global local; do
  # shellcheck disable=SC2086
  ran "loss_norm $norm on one rank" norm1-$norm $quick training.loss_norm=$norm
  # shellcheck disable=SC2086
  ran "loss_norm $norm on three" norm3-$norm $quick training.loss_norm=$norm distributed.ranks=3 \
    distributed.backend=loopback
  # shellcheck disable=SC2086
  ran "loss_norm $norm in micro-steps" norm4-$norm $quick training.loss_norm=$norm training.accumulate=3
  check "... has an effect, and no line" sh -c '! grep -q "loss_norm.*no effect" "$1"' sh "$log"
done
check "... the mean of those of 3, 3 and 2" test "$(field norm4-global 0 loss)" != "$(field norm4-local 0 loss)"
check "local is global on one rank" near "$(field norm1-global 0 grad_norm)" \
  "$(field norm1-local 0 grad_norm)" 1e-6
check "... but not on three" test "$(field norm3-global 0 loss)" != "$(field norm3-local 0 loss)"

# ---- data.limit, data.root, training.num_workers
inspect() {
  limited "$graphrun" data inspect "$source/tests/e2e/tones.yaml" \
    "model.graph=$source/graphs/lmu_asr.yaml" "$@"
}
inspect "data.manifest=$scratch/data/tones.jsonl" data.limit=12 data.validation_fraction=0.0
check "data.limit takes the first so many" grep -q "train  *12 utterances" "$log"
mkdir lists && cp data/tones.jsonl lists
inspect data.manifest=lists/tones.jsonl data.root=data
check "data.root is where recordings are" test "$code" = 0
for root in data/tones.jsonl nowhere; do
  inspect data.manifest=lists/tones.jsonl data.root=$root
  verdict_of "data.root=$root" 66 "argument [0-9]+:1:11: .*folder '$root'.*(it is a file|no such folder)"
done
ran "data.root in a run" rooted training.max_steps=2 data.root=data data.manifest=lists/tones.jsonl
ran "training.num_workers" workers training.max_steps=2 training.num_workers=2
check "... neither changes the numbers" near "$(field rooted 1 loss)" "$(field workers 1 loss)" 0
tones workers training.num_workers=300 checkpoint.resume=none
verdict_of "... is another name of data.workers" 65 'argument [0-9]+:1:22: .*workers must be from 0 to 256, but is 300'

# ---- Two names of one key: what is merged last counts
mkdir names
printf '%s\n' 'data: {features: {mels: 20}}' >names/short.yaml
printf '%s\n' 'data: {speech: {features: {mels: 30}}}' >names/long.yaml
for order in short,long,30 long,short,20; do
  rest=${order#*,}
  printf '%s\n' "defaults: [${order%%,*}, ${rest%,*}, _self_]" 'model: {graph: m.yaml}' >names/run.yaml
  for key in data.features.mels data.speech.features.mels; do
    limited "$graphrun" config names/run.yaml --explain $key
    verdict_of "$key of $order" 0 "^  ${rest#*,} "
  done
done
printf '%s\n' 'model: {graph: m.yaml}' 'vars: {m: 50}' 'data: {features: {mels: 20, hop: 7, window: "${.hop}"}}' >names/run.yaml
for argument in data.speech.features.mels=40 data.features.mels=40 'data={speech:{features:{mels:40}}}'; do
  limited "$graphrun" config names/run.yaml --explain data.speech.features.mels "$argument"
  verdict_of "an argument: $argument" 0 "^  40 "
done
limited "$graphrun" config names/run.yaml --resolve data.speech.features.window=8 '++data.features.mels=${vars.m}' data.speech.features.mels=60
verdict_of "... and an interpolation" 0 'mels: 60'
printf '%s\n' 'data: {features: {mels: 20}, speech: {features: {mels: 30}}}' >names/both.yaml
limited "$graphrun" config names/both.yaml
verdict_of "both in one file" 65 "names/both.yaml:1:[0-9]+: .*'data.features.mels' and 'data.speech.features.mels' are two names of one key"
ran "a later key overrides another name of it" late training.max_steps=2 training.num_workers=300 data.workers=1

# ---- model.init_from: the next step of a run, but with the optimizer and the data begun anew
ran "weights to begin with" first training.max_steps=30 checkpoint.every_steps=20
from="model.init_from=$scratch/first/checkpoints/step-00000020"
# shellcheck disable=SC2086
ran "init_from a checkpoint" begun $quick $from
check "... its weights, not new ones" test "$(field begun 0 loss)" != "$(field whole 0 loss)"
for of in 2/ddp 3/zero1 2/fsdp 3/fsdp; do
  # shellcheck disable=SC2086
  ran "... on ${of%/*} ranks, ${of#*/}" begun-${of%/*}-${of#*/} $quick $from \
    distributed.ranks=${of%/*} distributed.backend=loopback distributed.strategy=${of#*/}
  check "... the same" near "$(field begun 0 loss)" "$(field begun-${of%/*}-${of#*/} 0 loss)" 1e-6
done
# shellcheck disable=SC2086
ran "init_from a folder of checkpoints" newest $quick "model.init_from=$scratch/first/checkpoints"
check "... takes the newest" grep -q "30 tensors are those of .*/step-00000030" "$log"
if command -v zstd >/dev/null 2>&1; then
  zstd -dqf -o weights.safetensors first/checkpoints/step-00000020/rank-00000.safetensors.zst
  # shellcheck disable=SC2086
  ran "init_from a file of safetensors" file $quick model.init_from=weights.safetensors \
    distributed.ranks=2 distributed.backend=loopback distributed.strategy=fsdp
  check "... the same" near "$(field begun 0 loss)" "$(field file 0 loss)" 1e-6
  head -c 5000 weights.safetensors >cut.safetensors
  tones none model.init_from=cut.safetensors
  verdict_of "... that is cut off" 78 "cut.safetensors' is damaged or not a safetensors file"
else
  skip "init_from a file of safetensors" "no zstd program"
fi
# shellcheck disable=SC2086
tones begun $quick $from training.max_steps=5 checkpoint.resume=auto
check "a run that is resumed goes on with its own" grep -q "resumed from .*begun/checkpoints/step-00000003" "$log"
tones none "$from" model.params.layers=2 model.params.memory=8
verdict_of "weights that do not fit" 78 "argument [0-9]+:1:17: .*[0-9]+ of the model's [0-9]+ weights do not fit"
for line in 'layers.1.lmu.e_h f32\[1,32\] is not there; there is .layers.0.lmu.e_h' \
  'layers.0.lmu.e_m is f32\[1,16\] there, and f32\[1,8\] in the model'; do
  check "... each is named: $line" grep -Eq "$line" "$log"
done
tones none "model.init_from=$scratch/data"
verdict_of "a folder without checkpoints" 78 "argument [0-9]+:1:17: .*no checkpoint in the folder"
tones none model.init_from=nowhere
verdict_of "weights that are nowhere" 78 "argument [0-9]+:1:17: .*cannot open the weights 'nowhere'"

# ---- distributed.fsdp: other names of strategies, and who writes what is split
plan_of() {
  "$graphrun" plan "$source/tests/e2e/tones.yaml" "data.manifest=$scratch/data/tones.jsonl" \
    "model.graph=$source/graphs/lmu_asr.yaml" distributed.ranks=2 "$@" | sed -n 's/^plan  *//p'
}
for same in full_shard/fsdp shard_grad_op/zero2 no_shard/ddp; do
  check "fsdp.sharding_strategy=${same%/*} is ${same#*/}" test \
    "$(plan_of distributed.strategy=fsdp distributed.fsdp.sharding_strategy=${same%/*})" = \
    "$(plan_of distributed.strategy=${same#*/})"
done
check "... and they differ" test "$(plan_of distributed.strategy=fsdp)" != "$(plan_of distributed.strategy=zero2)"
hybrid='distributed.ranks=4 distributed.mesh={replicate:2,shard:2}'
check "fsdp.sharding_strategy=hybrid_shard is hsdp" test \
  "$(plan_of $hybrid distributed.strategy=fsdp distributed.fsdp.sharding_strategy=hybrid_shard)" = \
  "$(plan_of $hybrid distributed.strategy=hsdp)"
tones none distributed.ranks=2 distributed.strategy=fsdp distributed.fsdp.sharding_strategy=hybrid_shard
verdict_of "... and needs a mesh" 65 "argument [0-9]+:1:36: .*hybrid_shard"
ran "fsdp with its presets" asis training.max_steps=1 distributed.strategy=fsdp distributed.fsdp.offload_params=true \
  distributed.fsdp.backward_prefetch=auto distributed.fsdp.wrap=null
fsdp="distributed.ranks=2 distributed.backend=loopback distributed.strategy=fsdp training.max_steps=3"
for type in sharded local full; do
  # shellcheck disable=SC2086
  ran "fsdp.state_dict_type=$type" state-$type $fsdp distributed.fsdp.state_dict_type=$type
  check "... verifies" "$graphrun" ckpt verify state-$type/checkpoints
done
files() { find "$1" -name '*.zst' | wc -l; }
check "sharded: each rank writes its part" test "$(files state-sharded)$(files state-local)" = 22
check "full: rank 0 writes all of each" test "$(files state-full)" = 1
for type in sharded full; do
  # shellcheck disable=SC2086
  tones state-$type $fsdp distributed.ranks=3 training.max_steps=5 checkpoint.resume=auto
  check "$type: goes on with three ranks" test "$code/$(steps_of state-$type)" = 0/5
done
check "... to the same numbers" near "$(field state-sharded 4 loss)" "$(field state-full 4 loss)" 0

# ---- training.precision (see precision.sh), training.deterministic: what is so is said
ran "fp32" fp32 training.max_steps=2
check "... is not worth a word" sh -c "! grep -Eq 'fp32 on CPUs|on CPUs that is fp32|emulated' '$log'"
for asked in precision=tf32 mixed_precision=true; do
  ran "training.$asked" other training.max_steps=2 training.$asked
  check "... is said to be fp32" grep -Eq "training.${asked%=true}.*(fp32 on CPUs|on CPUs that is fp32)" "$log"
  check "... and is" same_tensors fp32/checkpoints other/checkpoints
  expect "... which plan says too" 0 "^note .*(fp32 on CPUs|on CPUs that is fp32)" -- "$graphrun" plan \
    "$source/tests/e2e/tones.yaml" "model.graph=$source/graphs/lmu_asr.yaml" \
    "data.manifest=$scratch/data/tones.jsonl" training.$asked
done
ran "training.deterministic" other training.max_steps=2 training.deterministic=true
check "... is so without" same_files fp32/checkpoints other/checkpoints
check "... which is said" grep -q "^training.deterministic=true: no effect, because runs on CPUs always produce" "$log"

# ---- Values without effect: a line for each reason, on every launcher; defaults have none
for of in distributed.backend=loopback distributed.backend=auto; do
  ran "values without effect, $of" other training.max_steps=1 $of distributed.ranks=2 distributed.sampler=batch \
    distributed.find_unused_parameters=true distributed.fsdp.offload_params=true training.loss_scale.min=2 \
    training.loss_scale.init=4 training.offload=optimizer training.mixed_precision=false distributed.fsdp.backward_prefetch=auto checkpoint.resume=none
  check "... a line each" test "$(grep -c ': no effect, because ' "$log")" = 5
  check "... keys with one reason together" grep -q \
    "^training.loss_scale.init=4, training.loss_scale.min=2: no effect, because nothing is computed in fp16" "$log"
done
expect "... which plan says too" 0 "^note +distributed.sampler=batch: no effect" -- "$graphrun" plan \
  "$source/tests/e2e/tones.yaml" "model.graph=$source/graphs/lmu_asr.yaml" \
  "data.manifest=$scratch/data/tones.jsonl" distributed.sampler=batch
expect "offload_params of one rank" 0 "offload_params=true: no effect, because there is one rank, which gathers no weights" -- \
  "$graphrun" plan "$source/tests/e2e/tones.yaml" \
  "model.graph=$source/graphs/lmu_asr.yaml" "data.manifest=$scratch/data/tones.jsonl" device=cuda \
  training.fsdp_config.fsdp_offload_params=true

# ---- checkpoint.level, logging
size() {
  wc -c <"$1"/checkpoints/step-00000002/rank-00000.safetensors.zst
}
ran "checkpoint.level=19" small training.max_steps=2 checkpoint.level=19
ran "checkpoint.level=-7" large training.max_steps=2 checkpoint.level=-7
check "a higher level leaves smaller checkpoints" test "$(size small)" -lt "$(size large)"
check "... of the same weights" near "$(field small 1 loss)" "$(field large 1 loss)" 0
tones large training.max_steps=4 checkpoint.resume=auto checkpoint.level=3
check "... and a run is resumed with another" test "$code/$(steps_of large)" = 0/4
ran "without files for machines" quiet training.max_steps=4 logging.tensorboard=false \
  logging.jsonl=false logging.level=warn distributed.backend=loopback distributed.ranks=2
check "... logging.jsonl=false: no metrics" test ! -e quiet/metrics.jsonl
check "... logging.tensorboard=false: no events" sh -c '! ls quiet/events.*'
check "... logging.level=warn: no word on the way" sh -c "! grep -E 'output:|ranks as threads' '$log'"
check "... nor in run.log" test ! -s quiet/run.log
check "... but results" grep -q '"ended": "done"' quiet/training_results.json

# Values of environment variables may be secrets: errors name what refers to them.
# secret NAME PATTERN ARGUMENT...: an error of the configuration that says PATTERN and not the value.
secret() {
  secret_name=$1 pattern=$2
  shift 2
  # shellcheck disable=SC2016
  expect "$secret_name" 65 "$pattern" -- env TOKEN='hunter2: [x' "$graphrun" config "$source/tests/e2e/tones.yaml" --resolve \
    data.manifest=data/tones.jsonl '+vars.token="${oc.env:TOKEN}"' "$@"
  check "... and keeps the value to itself" sh -c "! grep -q hunter2 '$log'"
}
# shellcheck disable=SC2016
{
  secret "a secret where a number belongs" "'training.lr' must be a number .* is the value of '.{oc.env:TOKEN}', a string" \
    'training.lr="${oc.env:TOKEN}"'
  secret "... by way of another key" "'training.seed' must be .*the value of '.{vars.token}', a string" 'training.seed="${vars.token}"'
  secret "... inside a string" "'training.optimizer' must be .*the value of 'a.{vars.token}'" 'training.optimizer="a${vars.token}"'
  secret "... in a list" "'training.betas\[1\]' must be .*the value of '.{vars.token}'" 'training.betas=[0.9,"${vars.token}"]'
  secret "... as a path" "'vars.x' has no value: what the environment gives does not fit" '+vars.x="${${vars.token}}"'
  secret "... that is decoded" "'vars.x' has no value: .* into '.{oc.decode:.{oc.env:TOKEN}}'" '+vars.x="${oc.decode:${oc.env:TOKEN}}"'
  secret "... as the name of a variable" "'vars.x' has no value" '+vars.x="${oc.env:${oc.env:TOKEN}}"'
}
# shellcheck disable=SC2016
expect "a variable that is not set is named" 65 "the environment variable 'NO_SUCH' is not set" -- "$graphrun" config \
  "$source/tests/e2e/tones.yaml" --resolve data.manifest=data/tones.jsonl '+vars.x="${oc.env:NO_SUCH}"'
counts
