# commands.sh - the commands as a newcomer calls them, from the repository and from elsewhere.
. "${0%/*}/lib.sh"
make_data
data="data.manifest=$scratch/data/tones.jsonl"
tones="$source/tests/e2e/tones.yaml model.graph=$source/graphs/lmu_asr.yaml $data"

# ---- Help and slips of the hand
expect "--help" 0 "graphrun CONFIG.yaml" "plan .*CONFIG" "Exit codes" -- "$graphrun" --help
expect "no arguments" 2 "graphrun CONFIG.yaml" -- "$graphrun"
for command in train plan ops ckpt data; do
  expect "$command --help is its own" 0 "^graphrun $command " "^For example:" -- "$graphrun" $command --help
  check "... without the other commands" sh -c '! grep -q "Exit codes" "$1"' sh "$log"
done
expect "help has flags, and what they do" 0 "--ranks N,... +plans for so many" "--svg FILE +draws" -- "$graphrun" plan --help
expect "... and the keys that matter" 0 "training.lr  default 1e-3" "model.graph  must be given" "--jobs N +of a sweep" -- \
  "$graphrun" train --help
expect "a configuration's help is that of training" 0 "^graphrun train " -- "$graphrun" "$source/configs/multi_gpu.yaml" --help
check "every key that help shows is one" sh -c 'sed -n "s/.*\"\([a-z. _]*\)\")$/\1/p" "$2/cli/commands.def" | tr " " "\n" | grep . |
  while read -r key; do "$1" config --help "$key" >/dev/null || exit 1; done' sh "$graphrun" "$source"
expect "config --help" 0 "training.lr" -- "$graphrun" config --help
expect "config --help KEY" 0 "training.batch_size" "samples" -- "$graphrun" config --help training.batch
expect "a command misspelt" 2 "'trian'" "did you mean 'graphrun train'" -- "$graphrun" trian
expect "a flag misspelt" 2 "no flag --rnks" "did you mean --ranks" -- "$graphrun" plan x.yaml --rnks=2
expect "a flag without its value" 2 "--ranks needs a value" -- "$graphrun" plan x.yaml --ranks
expect "a flag with a bad value" 2 "from 1 to 1000000, but is 'x'" -- "$graphrun" plan x.yaml --ranks=x
expect "a flag with a number that is cut" 2 "from 1 to 1000000, but is '4294967297'" -- \
  "$graphrun" plan x.yaml --ranks=4294967297
expect "an op misspelt" 2 "did you mean 'ctc_loss'" -- "$graphrun" ops ctc_los
expect "a command without what it needs" 2 "no configuration" "hint: graphrun" -- "$graphrun" plan
expect "a folder for a configuration" 2 "hint: give the path of one of its .yaml files" -- "$graphrun" "$source/configs"

# ---- ops, config
expect "ops" 0 "^ctc_loss " "^relu " "^scan " "^linear " "^ +out: in, bias: true" "^ +low: -inf, high: inf" -- \
  "$graphrun" ops
check "... without what passes make" sh -c '! grep -qE "^(relu_grad|all_reduce|adam|init_normal|pack) " "$1"' sh "$log"
expect "ops --all" 0 "^linear " "^relu " "^relu_grad " "^all_reduce " -- "$graphrun" ops --all
expect "ops NAME" 0 "ctc_loss" "blank" -- "$graphrun" ops ctc_loss
expect "ops of a block" 0 "^linear: y = x" "operands +x \[\.\.\., in\]" "params +out \(default in\)" -- "$graphrun" ops linear
expect "ops of a block and its op" 0 "^  params +eps \(default" "^and the op:" "notation +\.\.\.C" -- "$graphrun" ops layer_norm
expect "ops of what passes make" 0 "made by +compiler passes" -- "$graphrun" ops relu_grad
expect "a block misspelt" 2 "no op or block 'liner'" "did you mean 'linear'" -- "$graphrun" ops liner
expect "a block's beginning" 2 "did you mean 'linear'" -- "$graphrun" ops lin
for name in $("$graphrun" ops | grep -o '^[a-z][a-z0-9_]*' | sort -u); do
  "$graphrun" ops "$name" >"$(new_log)" 2>&1 || fail "ops $name" "it is listed and not known"
done
for config in "$source"/configs/*.yaml; do
  name=configs/${config##*/}
  [ "$name" = configs/distributed.yaml ] && continue  # a part of others
  expect "config $name" 0 "^model:" "^training:" -- "$graphrun" config "$config"
  grep '^ *source: ' "$config" | grep -qv speech && continue # docs.configs plans them
  # The sizes do not depend on which recordings there are.
  expect "plan $name proves" 0 "trained numbers" "find_unused_parameters" "collectives" -- \
    "$graphrun" plan "$config" "$data" data.text.unknown=skip
done
expect "config --json" 0 '"lr": 0.125' -- "$graphrun" config "$source/configs/multi_gpu.yaml" \
  training.lr=0.125 --json
expect "config --explain" 0 "base_config.yaml:[0-9]+" "multi_gpu.yaml:[0-9]+" -- \
  "$graphrun" config "$source/configs/multi_gpu.yaml" --explain training.batch_size

# ---- plan
on_gpus="model.graph=$source/docs/tour/mlp.yaml data.manifest=$source/docs/tour/speech.jsonl distributed.ranks=auto device=cuda"
# shellcheck disable=SC2086
{
expect "plan for GPUs: for one, unless ranks or GPUs are given" 0 "^plan of .* for 1 rank, global" "^note .* here planned for one; --ranks=N" -- "$graphrun" plan "$source/docs/tour/run.yaml" $on_gpus
expect "... for those that are listed" 0 "^plan of .* for 2 ranks, global" -- "$graphrun" plan "$source/docs/tour/run.yaml" $on_gpus 'distributed.gpu_ids=[0,2]'
expect "... for as many as asked for" 0 "^plan of .* for 4 ranks, global" -- "$graphrun" plan "$source/docs/tour/run.yaml" $on_gpus --ranks=4
}
expect "plan for a GPU" 0 "^  train.* [0-9]+ launches, .* read and written" "^    without fused nodes [0-9]+ launches, .* read and written" -- \
  "$graphrun" plan "$source/docs/tour/run.yaml" device=cuda model.graph="$source/docs/tour/mlp.yaml" \
  data.manifest="$source/docs/tour/speech.jsonl"
expect "the full model" 0 "7,157,792 trained numbers" -- \
  "$graphrun" plan "$source/configs/lmu_asr_full.yaml" "$data"
# shellcheck disable=SC2086
expect "weights that are not trained count too" 0 "^parameters  [0-9,]+ trained numbers of 1[0-9,]+$" -- \
  "$graphrun" plan $tones 'model.freeze=[ctc_projection.*]'
# shellcheck disable=SC2086
expect "plan for 3 ranks" 0 "for 3 ranks" "all_reduce|reduce_scatter" "program train" "program eval" -- \
  "$graphrun" plan $tones --ranks=3
# shellcheck disable=SC2086
expect "plan --dump=shard" 0 "^ *%?[0-9a-z_.]+ *= *[a-z_]+" -- "$graphrun" plan $tones --ranks=2 --dump=shard
# shellcheck disable=SC2086
expect "plan --dump of no pass" 2 "'shrd'" "did you mean 'shard'" -- "$graphrun" plan $tones --dump=shrd
# shellcheck disable=SC2086
expect "plan --dot" 0 "trained numbers" -- "$graphrun" plan $tones --dot=plan.dot
check "... writes a graph" grep -q '^digraph' plan.dot
# shellcheck disable=SC2086
"$graphrun" plan $tones --ranks=2 >plan1 && "$graphrun" plan $tones --ranks=2 >plan2
check "two plans are the same text" cmp plan1 plan2

# ---- data
# shellcheck disable=SC2086
expect "data inspect" 0 "40" -- "$graphrun" data inspect $tones
expect "data import of what is not known" 2 "graphrun data import asterisk" -- "$graphrun" data import x y.jsonl
if [ -f /usr/share/asterisk/sounds/en_US_f_Allison/hello.wav ] ||
  ls /usr/share/asterisk/sounds/*/*.wav >/dev/null 2>&1; then
  expect "data import asterisk" 0 "made/speech.jsonl: [0-9]+ recordings" -- \
    "$graphrun" data import asterisk made/speech.jsonl
  expect "... what it made can be trained on" 0 "trained numbers" -- \
    "$graphrun" plan "$source/configs/multi_gpu.yaml" data.manifest=made/speech.jsonl
else
  skip "data import asterisk" "the recordings are not installed"
fi

# ---- A run and what it leaves, started in an empty folder, without absolute paths in the files
mkdir -p project/configs project/graphs project/hooks project/data empty
cp "$source"/graphs/*.yaml project/graphs && cp "$source"/hooks/*.lua project/hooks
cp -r data/. project/data
sed 's|???.*|data/tones.jsonl|' "$source/tests/e2e/tones.yaml" >project/configs/tones.yaml
echo 'hooks: [hooks/warmup_linear.lua]' >>project/configs/tones.yaml
cd empty || exit 1
expect "a run from an empty folder" 0 "output: outputs/" "predicted" "validation set: .*cer" -- \
  "$graphrun" "$scratch/project/configs/tones.yaml" distributed.ranks=2 distributed.backend=loopback
expect "... by a relative path" 0 -- "$graphrun" ../project/configs/tones.yaml
cd ../project/configs || exit 1
expect "... from the configuration's folder" 0 -- "$graphrun" tones.yaml output.dir="$scratch/inside"
expect "a file that is nowhere" 65 "tones.yaml:[0-9]+:[0-9]+: .*hooks/none.lua" "hint: searched: " -- \
  sh -c "sed 's/warmup_linear/none/' tones.yaml >../none_tones.yaml && mv ../none_tones.yaml . &&
    '$graphrun' none_tones.yaml"
cd "$scratch/empty" || exit 1
set -- outputs/*/*
check "two runs have two folders" test $# = 2
for file in metrics.jsonl training_results.json run.log .hydra/config.yaml .hydra/overrides.yaml; do
  check "a run leaves $file" test -s "$1/$file"
done
check "... and an event file" ls "$1"/events.out.tfevents.*
check "every line of metrics.jsonl has its fields" test 10 = "$(grep -cE \
  '^\{"step": [0-9]+, "epoch": [0-9]+, "loss": [^,]+, "lr": [^,]+, "grad_norm": [^,]+, "samples_per_s": [^,]+, "wall": ' \
  "$1/metrics.jsonl")"
check "the overrides are kept" grep -q 'distributed.ranks=2' "$1/.hydra/overrides.yaml"
expect "the kept configuration runs again" 0 -- "$graphrun" "$1/.hydra/config.yaml" \
  output.dir="$scratch/again" model.graph="$source/graphs/lmu_asr.yaml" "$data" \
  "hooks=[$source/hooks/warmup_linear.lua]"
check "... to the same weights" same_files "$1/checkpoints" "$scratch/again/checkpoints"

# ---- ckpt
expect "ckpt list of a run" 0 "^ +10 +complete" -- "$graphrun" ckpt list "$1"
expect "ckpt show" 0 "step 10, written by 2 ranks" "ctc_projection.weight" -- "$graphrun" ckpt show "$1/checkpoints"
expect "ckpt verify of one" 0 "ok .*step-00000010" -- "$graphrun" ckpt verify "$1/checkpoints/step-00000010"
expect "ckpt of nothing" 74 "there is no directory 'nowhere'" -- "$graphrun" ckpt list nowhere
expect "ckpt misspelt" 2 "list.show.verify" "hint: " -- "$graphrun" ckpt lst "$1"
if command -v zstd >/dev/null 2>&1; then
  expect "zstd -d opens a checkpoint's file" 0 -- zstd -dqf -o "$scratch/plain" \
    "$1/checkpoints/step-00000010/rank-00000.safetensors.zst"
  check "... in which safetensors begin" grep -aq '"ctc_projection.weight"' "$scratch/plain"
else
  skip "zstd -d" "no zstd program"
fi

# ---- What comes from Hydra, other trainers and habit
"$graphrun" new habits --data=table >/dev/null 2>&1
mkdir habits/conf && cp habits/* habits/conf/ 2>/dev/null
for how in "--config-path habits --config-name config" "--config-path=habits --config-name=config.yaml" "-cp habits -cn config"; do
  # shellcheck disable=SC2086
  expect "$how" 0 "^output: by_name" -- "$graphrun" $how training.max_epochs=1 output.dir=by_name
  # shellcheck disable=SC2086
  expect "... of config" 0 "^ *max_epochs: 7" -- "$graphrun" config $how training.max_epochs=7
  rm -rf by_name
done
expect "... of plan" 0 "trained numbers|parameters" -- "$graphrun" plan --config-path habits --config-name config
expect "... of a sweep, in a folder of any name" 0 -- "$graphrun" -m -cp habits -cn config training.lr=1e-3,2e-3 training.max_epochs=1 \
  'hydra.sweep.dir="swept, \"x\" {\${y}\\"'
check "... both runs" test -f 'swept, "x" {${y}\/1/training_results.json'
expect "... with a folder that none of its runs has" 0 "'output.dir' has no effect in a sweep" -- \
  "$graphrun" -m -cp habits -cn config training.lr=1e-3,2e-3 output.dir=here --dry-run
(cd habits && mkdir configs && mv config.yaml configs/usual.yaml && cp graph.yaml data.csv hook.lua configs)
cd habits || exit 1
expect "--config-name alone, in configs" 0 "^output: here" -- "$graphrun" --config-name usual training.max_epochs=1 output.dir=here
cd ..
expect "--config-path alone" 2 "config-path without --config-name" "hint: .*DIR/NAME.yaml" -- "$graphrun" --config-path habits
expect "a file and a name" 2 "two configurations: 'a.yaml', and --config-name b" -- "$graphrun" a.yaml --config-name b
usual=habits/configs/usual.yaml
expect "--cfg job" 0 "^training:" -- "$graphrun" $usual --cfg job training.lr=3e-3
check "... is what config prints" sh -c '"$1" config "$2" training.lr=3e-3 | cmp - "$3"' sh "$graphrun" $usual "$log"
expect "--cfg hydra" 0 "^run:" -- "$graphrun" $usual --cfg=hydra
expect "--cfg all" 0 "^hydra:" "^training:" -- "$graphrun" $usual -c all
expect "--cfg job --package" 0 "^lr: 0.003" -- "$graphrun" $usual --cfg job --package training training.lr=3e-3
expect "--cfg of nothing" 2 "--cfg must be job, hydra or all, but is 'jobs'" -- "$graphrun" $usual --cfg jobs
expect "--info" 2 "there is no flag --info" "hint: .*graphrun config CONFIG.yaml.*--explain" -- "$graphrun" $usual --info
expect "graphrun help" 0 "graphrun CONFIG.yaml" "Exit codes" -- "$graphrun" help
expect "graphrun help plan" 0 "^graphrun plan CONFIG.yaml" "--dot FILE" -- "$graphrun" help plan
expect "config FILE --help" 0 "graphrun config FILE" "--explain" -- "$graphrun" config $usual --help
expect "device=gpu" 69 "" -- env CUDA_VISIBLE_DEVICES= "$graphrun" $usual device=gpu
"$graphrun" plan $usual device=gpu >as_gpu 2>&1
"$graphrun" plan $usual device=cuda >as_cuda 2>&1
check "... is cuda" cmp as_gpu as_cuda
expect "training.amp" 65 "argument 1:1:1: .*no key 'training.amp'" "hint: training.mixed_precision=true" -- "$graphrun" $usual training.amp=true
expect "training.scheduler" 65 "no key 'training.scheduler.name'" "hint: .*hooks=\[hooks/cosine.lua\]" -- "$graphrun" $usual training.scheduler.name=cosine
expect "training.early_stopping" 65 "no key 'training.early_stopping'" "hint: .*hooks=\[hooks/early_stop.lua\]" -- \
  "$graphrun" $usual training.early_stopping=true
printf '%s\n' 'defaults: [usual, _self_]' 'training: {lr_scheduler: cosine, early_stopping: {patience: 3}, amp: true}' >habits/configs/other.yaml
expect "... in a file, all at once" 65 "other.yaml:2:12: .*lr_scheduler" "hooks/cosine.lua" "other.yaml:2:[0-9]+: .*early_stopping" \
  "hooks/early_stop.lua" "other.yaml:2:[0-9]+: .*amp" "training.mixed_precision" -- "$graphrun" habits/configs/other.yaml
expect "distributed.mesh={replica: 2}" 65 "argument 1:1:19: .*no axis 'replica'" "hint: did you mean 'replicate'" -- \
  "$graphrun" $usual 'distributed.mesh={replica: 2}'
echo 'return { lr = function(ctx) return ctx.lr * ctx.params.gain end }' >gain.lua
expect "a value of hooks_params that is not given" 70 "gain.lua:1:1: .*gain" "hint: hooks_params.gain, which this hook reads, is not given: hooks_params.gain=VALUE" -- \
  "$graphrun" $usual '~hooks_params' "hooks=[gain.lua]" output.dir=gain
echo 'return { on_epoch_stop = function() end }' >event.lua
expect "names that the model has not, with all else that is wrong" 65 "1:1:1: .*the model has no 'depth'" "2:1:1: .*the model has no 'widht'" \
  "did you mean 'width'" "3:1:13: .*'training.lr' must be" -- "$graphrun" $usual model.params.depth=3 model.params.widht=2 training.lr=x
expect "... and with a file that is not there" 65 "no 'depth'" "2:1:17: .*cannot open the file 'none.csv'" -- \
  "$graphrun" $usual model.params.depth=3 data.table.path=none.csv
expect "an event that there is not" 70 "event.lua:1:1: .*no event 'on_epoch_stop'$" "hint: did you mean 'on_epoch_" -- \
  "$graphrun" $usual '~hooks_params' "hooks=[event.lua]" output.dir=event
expect "the last checkpoint where there is none" 78 "there is no checkpoint in 'gain/checkpoints'" "hint: " -- "$graphrun" eval gain --which=last

# ---- A built-in block hides the op of its name for as many operands as it takes
for how in block op; do
  {
    printf '%s\n' 'inputs:' '  x: {shape: [n, c]}' '  y: {shape: [n], dtype: i32}' 'params: {classes: 2}' 'nodes:' '  - x: {reshape: x, shape: [n, c, 1]}'
    if [ $how = block ]; then
      printf '%s\n' '  - x: {conv1d: x, out: 4, kernel: 2, bias: false, name: conv}' '  - x: {layer_norm: x, name: norm}'
    else
      printf '%s\n' '  - w: {param: [4, 1, 2], init: kaiming_uniform, gain: sqrt(2), name: conv.weight}' '  - x: {conv1d: [x, w]}' \
        '  - g: {param: [4], init: ones, name: norm.weight}' '  - b: {param: [4], init: zeros, name: norm.bias}' '  - x: {layer_norm: [x, g, b], eps: 1e-5}'
    fi
    printf '%s\n' '  - x: {mean: x, axes: [1]}' '  - x: {linear: x, out: classes, name: head}' '  - loss: {cross_entropy: [x, y]}' 'train: loss'
  } >$how.yaml
  expect "a convolution and a norm as the $how" 0 -- "$graphrun" $usual model.graph=$how.yaml '~model.params.width' '~model.params.layers' checkpoint.metric=loss checkpoint.mode=min training.max_epochs=2 \
    distributed.ranks=1 output.dir=as_$how
done
check "... are the same" same_metrics as_block as_op
counts
