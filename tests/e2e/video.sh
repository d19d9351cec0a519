# video.sh - clips of videos: a 3-D convolutional network whose loss weighs the classes, on any number
# of ranks; and what is wrong with a list or a video, at its place.
. "${0%/*}/lib.sh"

# npy FILE SHAPE: an array of the bytes from the input. Its header takes 118 bytes, which is 'v'.
npy() {
  printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': $2, }" >"$1"
  cat >>"$1"
}
# bar FILE SEED DX DY: 9 frames of 16 x 16 with a bright square that moves.
bar() {
  awk -v seed="$2" -v dx="$3" -v dy="$4" 'BEGIN { srand(seed)
    x = 3 + int(4 * rand()); y = 3 + int(4 * rand())
    for (t = 0; t < 9; t++) for (i = 0; i < 16; i++) for (k = 0; k < 16; k++) {
      u = k - x - dx * t; v = i - y - dy * t
      printf "%c", (u >= 0 && u < 3 && v >= 0 && v < 3 ? 96 : 32) + int(30 * rand())
    } }' | npy "$1" "(9, 16, 16)"
}

mkdir clips
echo path,label,split >clips/list.csv
add() { # MOTION NUMBER DX DY
  i=0
  while [ $i -lt "$2" ]; do
    bar "clips/$1$i.npy" "$i" "$3" "$4"
    part=train
    [ $((i % 4)) = 1 ] && part=validation
    echo "$1$i.npy,$1,$part" >>clips/list.csv
    i=$((i + 1))
  done
}
add rest 24 0 0
add right 12 1 0
add down 6 0 1
cat >video.yaml <<YAML
model: {graph: $source/graphs/cnn3d.yaml, params: {filters: 2, hidden: 8}}
data: {source: video, video: {path: clips/list.csv, frames: 9}}
training: {batch_size: 7, optimizer: adam, lr: 3e-3, max_epochs: 2, eval_every: 2, seed: 3}
distributed: {ranks: 1}
YAML

expect "the report of the data" 0 "^train +31 clips" "^validation +11 clips" \
  "42 videos of 378 frames in all, each frame \[16, 16, 1\]" "^ +1 rest +18 +6  58\.06%   0\.5741 #+" -- \
  "$graphrun" data inspect video.yaml

# The network of 7 classes
{
  echo path,label
  for label in a b c d e f g; do cp clips/rest0.npy "clips/as_$label.npy" && echo "as_$label.npy,$label"; done
} >clips/seven.csv
for count in 32:1,427,751 48:2,945,719; do
  expect "parameters of $count" 0 "^parameters +${count#*:} trained" -- \
    "$graphrun" plan video.yaml data.video.path=clips/seven.csv "model.params.filters=${count%:*}" model.params.hidden=512
done

# Batches of 7, which 2 and 3 ranks share unevenly; with the last one of an epoch some ranks have none.
for ranks in 1 2 3; do
  expect "trains on $ranks" 0 "validation set: loss" -- \
    "$graphrun" video.yaml output.dir=on$ranks distributed.ranks=$ranks
  for step in 0 4 9; do
    check "... step $step as on one" near "$(loss on1 $step)" "$(loss on$ranks $step)" 2e-3
  done
done
check "the weights of classes are recorded" \
  grep -q '"class_names": \["down", "rest", "right"\], "class_weights": \[2\.58333, 0\.574074, 1\.14815\]' on1/data.json

# The loss is the weighted mean over all ranks: that of the probabilities that are predicted.
value() { sed -n 's/.*"validation.loss": \([^,}]*\).*/\1/p' "$1/training_results.json" | head -1; }
validation=$(sed -n 's/\([^,]*\),.*,validation/clips\/\1/p' clips/list.csv)
# shellcheck disable=SC2086
"$graphrun" predict on3 $validation >predicted 2>"$(new_log)"
check "a line for each clip" grep -q '^{"input": "clips/right1.npy\[4\]", "class": ' predicted
weighted=$(awk -F'"' 'BEGIN { w["down"] = 1 / 4; w["rest"] = 1 / 18; w["right"] = 1 / 9 }
  { label = $4; sub(/^clips\//, "", label); sub(/[0-9].*/, "", label)
    match($0, "\"" label "\": [-+.0-9e]+"); p = substr($0, RSTART + length(label) + 4, RLENGTH - length(label) - 4)
    sum -= w[label] * log(p); all += w[label] }
  END { if (NR) printf "%.7f", sum / all }' predicted)
check "the loss is the weighted mean" near "$weighted" "$(value on3)" 1e-4

expect "learns to tell the motions" 0 "validation set: loss .* accuracy (1.0000|0.9)" -- \
  "$graphrun" video.yaml output.dir=learnt training.max_epochs=30 training.eval_every=30 model.params.filters=4 model.params.hidden=32

# As configs/video/cnn3d.yaml trains, killed in an epoch and behind the best evaluation so far, and resumed: running
# statistics, the cosines by epochs, the best F1 and the evaluations waited for are as without the kill.
restarts="$source/configs/video/cnn3d.yaml data.video.path=clips/list.csv data.video.frames=9 model.params.filters=2 model.params.hidden=8
  training.batch_is=global training.batch_size=7 training.max_epochs=5 training.precision=fp32 distributed.backend=loopback
  checkpoint.every_steps=3 checkpoint.keep_last=50 hooks_params.T_0=2 +hooks_params.spin=300000"
hooks="hooks=[$source/tests/e2e/slow.lua,$source/hooks/cosine_restarts.lua,$source/hooks/early_stop.lua]"
# shellcheck disable=SC2086
expect "the classes' weights and the best by F1" 0 "^classes \(3\) +train validation +share +weight" \
  "^ +0 down +4 +2 +12.90% +2.5833 #" "^epoch [0-9]  step [0-9]*  validation  .*  saved best model: step-[0-9]+ \(f1_macro: 0\.[0-9]+\)$" -- \
  "$graphrun" $restarts "$hooks" output.dir=straight
check "the rate restarts after two epochs" awk -F'"lr": ' '{ split($2, a, ","); lr[NR - 1] = a[1] }
  END { exit !(lr[0] == 0.001 && lr[5] > 0.0005 && lr[5] < 0.000501 && lr[10] == 0.001 && lr[15] < lr[10]) }' straight/metrics.jsonl
for at in 8 16; do
  new_log >/dev/null
  # shellcheck disable=SC2086
  "$graphrun" $restarts "$hooks" output.dir=killed checkpoint.resume=auto >>"$log" 2>&1 </dev/null &
  watcher=$!
  wait_steps killed $at
  kill -9 $watcher 2>/dev/null
  wait $watcher 2>/dev/null
  check "killed after step $at" test ! -e killed/training_results.json
done
# shellcheck disable=SC2086
expect "resumed" 0 -- "$graphrun" $restarts "$hooks" output.dir=killed checkpoint.resume=auto
check "... it leaves the same checkpoints, byte for byte" same_files straight/checkpoints killed/checkpoints
check "... and metrics" same_metrics straight killed

# What cannot be used
head -c 500 clips/rest0.npy >clips/cut.npy
printf 'path,label\nrest0.npy,a\ncut.npy,b\n' >clips/bad.csv
expect "a video that is cut short" 66 "clips/bad.csv:3:1: .*cut.npy' is cut short" -- \
  "$graphrun" video.yaml data.video.path=clips/bad.csv
expect "... is left out if it may" 0 "^train +1 clips?" "cut.npy" -- \
  "$graphrun" data inspect video.yaml data.video.path=clips/bad.csv data.skip_unreadable=true data.validation_fraction=0.0
printf 'path,label\nrest0.npy,a\ngone.npy,b\n' >clips/bad.csv
expect "a video that is not there" 66 "clips/bad.csv:3:1: .*clips/gone.npy" -- \
  "$graphrun" video.yaml data.video.path=clips/bad.csv
printf 'path,label\nrest0.npy,a\nrest1.npy\n' >clips/bad.csv
expect "a line that lacks a field" 66 "clips/bad.csv:3:1: .*this line has 1 field, the first has 2" -- \
  "$graphrun" video.yaml data.video.path=clips/bad.csv
expect "clips longer than videos" 66 "clips/list.csv:2:1: .*has 9 frames, a clip has 10" -- \
  "$graphrun" video.yaml data.video.frames=10
expect "no list" 65 "data.video.path is not given" -- "$graphrun" video.yaml data.video.path=null
expect "a file to predict of another size" 66 "" -- "$graphrun" predict on1 "$graphrun"
counts
