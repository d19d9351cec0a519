# har.sh - activities of sensors by a vision transformer: sizes, and what a frozen encoder costs.
. "${0%/*}/lib.sh"

# ---- The transformer over bytes of 224 x 224: its plan needs no more than the shapes
printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': (6, 224, 224, 3), }" >plots.npy
truncate -s $((128 + 6 * 224 * 224 * 3)) plots.npy
printf '%s\n' label a b c d e f >labels.csv
cat >vit.yaml <<YAML
model: {graph: $source/graphs/vit.yaml, freeze: ["encoder.*"]}
data: {source: table, validation_fraction: 0.0, table: {path: [plots.npy, labels.csv], features: plots, label: label, dtype: u8}}
training: {batch_size: 32, batch_is: per_rank, optimizer: adamw}
distributed: {ranks: 4}
YAML
expect "86 million parameters, of which the head's are trained" 0 \
  "^parameters +397,830 trained numbers of 86,205,702" "^  gradients +6 values, 397,830 numbers, 1.6 MB on" \
  "^    all_reduce +dp +1.6 MB  f32\[512,768\]" -- "$graphrun" plan vit.yaml
arena() { sed -n "s/^  $1\.all .* arena  *\([0-9.]* [kMG]B\),.*/\1/p" "$log"; }
check "a step keeps nothing of the encoder for gradients: it needs the memory of an evaluation" \
  test "$(arena train)" = "$(arena eval)" -a -n "$(arena train)"
check "... and two all_reduces: the first one, and what is left" \
  test 2 = "$(sed -n '/^program train/,/^program eval/s/.*all_reduce  *dp.*/&/p' "$log" | wc -l)"
expect "all of it is trained where nothing is frozen" 0 "^parameters +86,205,702 trained numbers" \
  "^  gradients +205 values, 86,205,702 numbers, 344.8 MB" -- "$graphrun" plan vit.yaml 'model.freeze=[]'
expect "patches of 16" 0 "^parameters +397,830 trained numbers of 86,196,486" -- \
  "$graphrun" plan vit.yaml model.params.patch=16
expect "a patch that does not divide the image" 65 "patch must divide the height and the width" -- \
  "$graphrun" plan vit.yaml model.params.patch=15
dropouts() { "$graphrun" plan vit.yaml model.params.layers=2 --dump=lint "$@" | grep -c '= dropout .*encoder'; }
check "a frozen encoder drops as it trains" test "$(dropouts)" = 6
check "... unless its dropout is 0" test "$(dropouts model.params.encoder_dropout=0.0)" = 0

# ---- Windows, plots, a pretrained encoder: the path of the README, smaller
"$source/tools/har-data" --windows 30 data/har >"$(new_log)" 2>&1 || fail "windows are made" "tools/har-data"
# The configurations declare what the tool makes by default.
small="data.expect=null model.params.dim=16 model.params.layers=1 model.params.heads=2 model.params.mlp=32 model.params.head=16
  training.batch_is=global training.batch_size=20 training.max_epochs=2 training.eval_every=1 distributed.backend=loopback
  logging.show_samples=1 checkpoint.every_steps=4 checkpoint.keep_last=0"
# har CONFIG OUT [key=value ...] in $code and $log.
har() {
  har_config=$1 har_out=$2
  shift 2
  # shellcheck disable=SC2086
  limited "$graphrun" "$source/configs/har/$har_config.yaml" "output.dir=$scratch/$har_out" $small "$@"
}
ran_har() {
  ran_name=$1
  shift
  har "$@"
  if [ "$code" = 0 ]; then ok "$ran_name"; else fail "$ran_name" "exit code $code"; fi
}

expect "nine samples of each window" 0 "^train +216 samples" "^validation +54 samples" "^ +0 Downstairs +36 +9 " -- \
  "$graphrun" data inspect "$source/configs/har/pretrain.yaml"
check "the same command makes the same windows" sh -c \
  "'$source/tools/har-data' --windows 30 again >/dev/null && cmp again/windows.csv data/har/windows.csv"

for ranks in 1 2 3; do
  ran_har "pretrains on $ranks" pretrain pretrain$ranks distributed.ranks=$ranks
  for step in 0 9 21; do
    check "... step $step as on one" near "$(loss pretrain1 $step)" "$(loss pretrain$ranks $step)" 2e-3
  done
done
ran_har "strategy dp" pretrain dp distributed.ranks=2 distributed.strategy=dp
check "... is ddp to the byte" same_files pretrain2/checkpoints dp/checkpoints

ran_har "trains a new head for the frozen encoder" small head "model.init_from=[{from:pretrain1,rename:[{head.*:null}],allow_missing:['head.*']}]"
check "... which is that of the other run" grep -q "tensors are those of .*pretrain1" "$log"
"$graphrun" export pretrain1 before.safetensors --which=last >/dev/null 2>&1 && "$graphrun" export head after.safetensors --which=last >/dev/null 2>&1
stem() { # the bytes of encoder.stem.weight in a file of safetensors
  head -c 100000 "$1" | grep -ao '"encoder.stem.weight":{[^}]*}' | sed 's/.*"data_offsets":\[\([0-9]*\),\([0-9]*\)\].*/\1 \2/'
}
same_stem() {
  set -- $(stem before.safetensors) $(stem after.safetensors)
  [ $# = 4 ] && [ "$2" -gt "$1" ] || return 1
  size() { od -An -tu8 -N8 "$1" | tr -d ' '; }
  cut() { tail -c +$((9 + $(size "$1") + $2)) "$1" | head -c $(($3 - $2)) | cksum; }
  [ "$(cut before.safetensors "$1" "$2")" = "$(cut after.safetensors "$3" "$4")" ]
}
check "... and is not changed by training" same_stem
for name in best_val_acc test_acc total_time_minutes; do
  check "training_results.json has $name" grep -q "^ \"$name\": [0-9]" head/training_results.json
done
for name in train_loss val_acc learning_rates epoch_times; do
  check "... and a list $name of both epochs" grep -Eq "^ \"$name\": \[[0-9.e-]+, [0-9.e-]+\]" head/training_results.json
done
# The byte 025 between a tag and its number tells them from the configuration's text, which names the tags, too.
for tag in Loss/train Loss/val Accuracy/train Accuracy/val Learning_rate; do
  check "TensorBoard has $tag of both epochs" test 2 = "$(grep -ao "$tag$(printf '\025')" head/events.out.tfevents.* | wc -l)"
done
check "the accuracy of each activity is recorded" grep -q '"validation.class_accuracy": \[[0-9.]*, ' head/training_results.json
expect "a tag of no value" 65 "logging.tags: 'loss' is no tag" "hint: .*epoch/train.loss" -- \
  "$graphrun" plan "$source/configs/har/pretrain.yaml" +logging.tags.Loss=loss
expect "a value that results do not have" 65 "'best_valeu' is no value of training_results.json" -- \
  "$graphrun" plan "$source/configs/har/pretrain.yaml" +logging.results.best=best_valeu
expect "a name that results have" 65 "training_results.json has a 'steps' already" -- \
  "$graphrun" plan "$source/configs/har/pretrain.yaml" +logging.results.steps=best_value
har small null-name logging.results.best_val_acc=metrics.validation.acuracy training.max_epochs=1 model.init_from=null
check "a value that was not there is said" grep -q "has no value 'metrics.validation.acuracy'" "$log"
expect "predicts each channel of new windows" 0 '"input": "data/har/windows.csv:2 acc_x", "class": "' -- \
  "$graphrun" predict head data/har/windows.csv
check "... a line for each" test 270 = "$(grep -c '"class"' "$log")"
for mode in average first; do
  ran_har "mode $mode" pretrain mode-$mode data.table.channels=$mode training.max_epochs=1
  check "... has a sample for each window" grep -q "^24 training and 6 validation samples" "$log"
done

# Windows as an array [windows, channels, moments], and their labels beside it
printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (6, 9, 128), }" >windows.npy
truncate -s $((128 + 6 * 9 * 128 * 4)) windows.npy
array="data.table.path=[windows.npy,labels.csv] data.table.features=windows data.table.label=label data.table.window=0
  data.table.series=null data.table.split=null data.validation_fraction=0.0"
# shellcheck disable=SC2086
expect "an array of windows" 0 "^train +54 samples" -- "$graphrun" data inspect "$source/configs/har/pretrain.yaml" $array
# shellcheck disable=SC2086
ran_har "... is trained on" pretrain array $array training.max_epochs=1 training.final_train_eval=false
truncate -s 1000 windows.npy
# shellcheck disable=SC2086
expect "an array that is cut short" 66 "windows.npy" -- "$graphrun" data inspect "$source/configs/har/pretrain.yaml" $array

# All channels of a window at once, as configs/har/watch.yaml has them: a network of convolutions, and plots one below another.
watch="data.table.path=data/har/windows.csv data.table.label=activity data.table.series=window data.table.window=128 data.table.stride=0
  data.table.features=[acc_x,acc_y,acc_z,gyro_x,gyro_y,gyro_z,total_x,total_y,total_z] distributed.backend=loopback logging.show_samples=0"
series="training.batch_size=12 training.max_epochs=30 training.lr=1e-2 model.params.filters=8 model.params.blocks=2"
for ranks in 1 3; do
  # shellcheck disable=SC2086
  limited "$graphrun" "$source/configs/har/watch.yaml" "output.dir=$scratch/series$ranks" distributed.ranks=$ranks $watch $series
  check "convolutions over series on $ranks" test "$code" = 0
done
for step in 0 20 59; do
  check "... step $step on 3 as on one" near "$(loss series1 $step)" "$(loss series3 $step)" 5e-3
done
right() { sed -n 's/^validation set:.* accuracy \([0-9.]*\) .*/\1/p' series1/run.log | tail -1; }
check "... tell activities apart" below 0.6 "$(right)"
# shellcheck disable=SC2086
expect "... and with LSTMs" 0 "weight lstm.weight_hh_l0 : f32\[32,8\]" -- \
  "$graphrun" plan "$source/configs/har/watch.yaml" $watch $series model.params.lstm=8 --dump=lint
# shellcheck disable=SC2086
expect "plots of nine channels, one below another" 0 "input x : u8\[[0-9]+,288,128,3\]" -- \
  "$graphrun" plan "$source/configs/har/watch_plots.yaml" $watch --dump=lint
# shellcheck disable=SC2086
limited "$graphrun" "$source/configs/har/watch_plots.yaml" "output.dir=$scratch/plots" distributed.ranks=2 $watch training.max_epochs=1
check "... are trained on" test "$code" = 0

# Killed at any moment and resumed: the bytes of a run without a stop.
slow="hooks=[$source/tests/e2e/slow.lua,$source/hooks/cosine.lua,$source/hooks/early_stop.lua]"
augmented="data.transforms=[{jitter:0.02},{scaling:0.1},{time_warp:0.2},{lineplot:64}]"
ran_har "a run without a stop" pretrain straight distributed.ranks=2 "$slow" "$augmented"
for at in 3 9; do
  new_log >/dev/null
  # shellcheck disable=SC2086
  "$graphrun" "$source/configs/har/pretrain.yaml" "output.dir=$scratch/killed" $small distributed.ranks=2 "$slow" "$augmented" \
    checkpoint.resume=auto >>"$log" 2>&1 </dev/null &
  watcher=$!
  wait_steps killed $at
  kill -9 $watcher 2>/dev/null
  wait $watcher 2>/dev/null
  check "killed after step $at" test ! -e killed/training_results.json
done
ran_har "resumed" pretrain killed distributed.ranks=2 "$slow" "$augmented" checkpoint.resume=auto
check "... leaves the same checkpoints, byte for byte" same_files straight/checkpoints killed/checkpoints
check "... and metrics" same_metrics straight killed

# What cannot be used
expect "a window that is no number of rows" 65 "there are no windows|stride" -- \
  "$graphrun" plan "$source/configs/har/pretrain.yaml" data.table.window=0 data.table.stride=4
expect "a number of windows that is none" 2 "a number of windows, not 'x'" -- "$source/tools/har-data" --windows x
counts
