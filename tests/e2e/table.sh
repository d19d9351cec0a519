# table.sh - rows of numbers: a classifier from CSV and one from arrays, normalized, stopped and
# resumed, on any number of ranks; and what is wrong with a table, at its place.
. "${0%/*}/lib.sh"

# table OUT [key=value ...]: a run of a small network.
table() {
  table_out=$1
  shift
  limited "$graphrun" "$scratch/table.yaml" "output.dir=$scratch/$table_out" "$@"
}
# accurate NAME LEAST: the last run's accuracy on validation samples.
accurate() {
  got=$(sed -n 's/^validation set: .*accuracy //p' "$log")
  if [ "$code" = 0 ] && compare "$got" "$2" 0 'a >= b'; then
    ok "$1"
  else
    fail "$1" "exit code $code, accuracy '$got'"
  fi
}

# Three kinds around three points, the second coordinate on another scale.
awk 'BEGIN { srand(3); print "id,width,weight,kind"
  for (i = 0; i < 240; i++) { k = int(3 * rand())
    printf "r%d,%.4f,%.2f,%s\n", i, k + 0.6 * rand(), 1000 * (k == 1) + 400 * rand(), substr("redbluegrey", k * 3 + 1, 3) }
}' >kinds.csv
cat >table.yaml <<YAML
model: {graph: $source/graphs/mlp.yaml, params: {dim: 16, layers: 1}}
data: {source: table, validation_fraction: 0.25, table: {path: kinds.csv, label: kind}}
training: {batch_size: 16, lr: 1e-2, max_epochs: 8, eval_every: 4, seed: 2}
distributed: {ranks: 1}
checkpoint: {every_steps: 10, metric: accuracy, mode: max}
YAML

table one
accurate "a classifier from CSV" 0.95
check "its classes are named in the run" grep -q '"class_names": \["blu", "egr", "red"\]' one/data.json
check "and predictions are, too" grep -Eq '^ +predicted +(red|blu|egr)$' "$log"
table two distributed.ranks=2
accurate "on two ranks" 0.95
for step in 0 5 40; do
  check "step $step is the same on two ranks" near "$(loss one $step)" "$(loss two $step)" 1e-4
done

# A stop in the middle of an epoch, and a file that is another when the run goes on: what
# normalizes is the checkpoint's.
table halves training.max_steps=25
cp kinds.csv whole.csv
table halves
check "a resumed run is the run" same_metrics one halves
check "its last checkpoint has the same bytes" same_files one/checkpoints halves/checkpoints
table moved training.max_steps=25
awk -F, -v OFS=, 'NR > 1 { $2 += 0.001 } { print }' whole.csv >kinds.csv
table moved
kept() { grep -o '"run.data": "[^"]*"' "$1" | sort -u; }
newest() { ls -d "$1"/checkpoints/step-* | tail -1; }
kept "$(newest one)/manifest.json" >kept.one
kept "$(newest moved)/manifest.json" >kept.moved
check "statistics are kept in checkpoints" test -s kept.one
check "and those of the checkpoint stay" cmp kept.one kept.moved
mv whole.csv kinds.csv

expect "data inspect shows columns and classes" 0 'width +f64 +feature' 'id +text +not used' \
  'kind +text +label: classes' 'classes \(3\)' -- "$graphrun" data inspect table.yaml
sed '1s/weight/"wei\nght"/' kinds.csv >lines.csv
expect "... a name with a line end as a part of its line" 0 '^  wei.x0aght +f64 +feature' -- "$graphrun" data inspect table.yaml \
  data.table.path="$scratch/lines.csv"
expect "a small plan's memory" 0 '[0-9.]+ kB of memory a rank' -- "$graphrun" table.yaml output.dir=small training.max_epochs=1
expect "the other name of the source" 0 'classes \(3\)' -- \
  "$graphrun" data inspect table.yaml '~data.source' +data.kind=table
expect "an unknown source" 65 "'data.source' must be 'speech', 'table'" "did you mean 'table'" -- \
  "$graphrun" data inspect table.yaml data.source=tables
for key in data.max_seconds data.speech.max_seconds; do
  expect "a key of speech: $key" 65 "argument 1:1:[0-9]+: .*'data.speech.max_seconds' is a key of the source 'speech', and data.source is 'table'" \
    "hint: remove it, or set data.source=speech" -- "$graphrun" plan table.yaml $key=3
done
expect "an unknown column" 65 "no column 'kinds'" "did you mean 'kind'" -- \
  "$graphrun" plan table.yaml data.table.label=kinds
expect "no table of a configuration whose command makes it" 66 "hint: .tools/table-data. makes it" -- \
  sh -c 'mkdir -p none && cp "$2/configs/table.yaml" none && cd none && "$1" table.yaml model.graph="$2/graphs/mlp.yaml"' sh "$graphrun" "$source"
check "... and not when another is asked for" sh -c '! "$1" plan "$2/configs/table.yaml" data.table.path=none.csv 2>&1 | grep table-data' sh "$graphrun" "$source"
expect "no table" 66 "cannot open the file 'none.csv'" -- "$graphrun" plan table.yaml data.table.path=none.csv
expect "no path" 65 "data.table.path is not given" -- "$graphrun" plan table.yaml data.table.path=null

# A hole in line 7, one field too many in line 9.
sed '7s/,[0-9.]*,/,,/' kinds.csv >hole.csv
expect "a missing value" 66 "hole.csv:7:1: .*'width' has no value" "hint: .*skip_unreadable" -- \
  "$graphrun" plan table.yaml data.table.path=hole.csv
table hole data.table.path=hole.csv data.skip_unreadable=true
accurate "without the sample that misses it" 0.95
check "which is counted" grep -q 'skipped 1 of 240 samples: 1 unreadable' "$log"
sed '9s/$/,x/' kinds.csv >wide.csv
expect "a line with another field" 66 "wide.csv:9:1: .*this line has 5 fields, the first has 4" -- \
  "$graphrun" plan table.yaml data.table.path=wide.csv

# Every tenth is of a kind that is rare; a loss that weighs classes finds it.
awk 'BEGIN { srand(4); print "x,y,kind"
  for (i = 0; i < 400; i++) { rare = i % 20 == 0
    printf "%.4f,%.4f,%s\n", rare + 2 * rand(), rand(), rare ? "rare" : "often" } }' >rare.csv
sed -e "s/^  y: .*/&\n  class_weight: {shape: [n], dtype: f32}/" -e 's/^  - loss: {\(.*\), smoothing.*/  - l, k: {\1}\n  - l: {mul: [l, class_weight]}\n  - k: {mul: [k, class_weight]}/' \
  -e 's/^train: .*/train: [l, k]/' "$source/graphs/mlp.yaml" >weighted.yaml
table plain data.table.path=rare.csv training.max_epochs=4
table weighted data.table.path=rare.csv training.max_epochs=4 model.graph=weighted.yaml
check "the weights of classes are recorded" grep -q '"class_weights": \[0.52[0-9]*, 9' weighted/data.json
check "and change the loss" other_metrics plain weighted
accurate "a model with weighted classes runs" 0.5

# Arrays: x of bytes [200, 2], y of bytes [200]; windows of two rows of a series.
npy() {
  head="{'descr': '|u1', 'fortran_order': False, 'shape': ($1), }"
  printf '\223NUMPY\001\000'
  # shellcheck disable=SC2059
  printf "\\$(printf %03o $((${#head} + 1)))\\000%s\n" "$head"
}
awk 'BEGIN { srand(5); for (i = 0; i < 200; i++) { k = int(2 * rand())
  print int(50 * rand() + 100 * k), int(250 * rand()), k } }' >rows
{ npy '200, 2' && awk '{ printf "\\%03o\\%03o", $1, $2 }' rows | xargs -0 printf; } >x.npy
{ npy '200,' && awk '{ printf "\\%03o", $3 }' rows | xargs -0 printf; } >y.npy
arrays="data.table.path=[x.npy,y.npy] data.table.label=y"
# shellcheck disable=SC2086
table arrays $arrays
accurate "a classifier from arrays" 0.95
# Bytes reach the model as bytes.
sed -e 's/\(x: {shape: .*dtype: \)f32/\1u8/' -e 's/^nodes:/&\n  - x: {cast: x, to: f32}\n  - x: {mul: [x, 0.01]}/' \
  "$source/graphs/mlp.yaml" >bytes.yaml
# shellcheck disable=SC2086
table bytes $arrays data.table.dtype=u8 model.graph=bytes.yaml distributed.ranks=2
accurate "a classifier that casts bytes" 0.95
expect "an input of another dtype" 65 "'x'" "u8" -- \
  "$graphrun" plan table.yaml 'data.table.path=[x.npy,y.npy]' data.table.label=y data.table.dtype=u8
expect "numbers that bytes do not hold" 66 "does not hold" "hint: .*dtype=f32" -- \
  "$graphrun" plan table.yaml data.table.dtype=u8
# What NumPy writes in other orders of bytes and dimensions is the same table.
if python3 -c 'import numpy' 2>/dev/null; then
  python3 - <<'PY'
import numpy
x = numpy.random.default_rng(0).standard_normal((90, 5))
y = numpy.array(["no", "yes"])[(x[:, 0] > 0).astype(int)]
numpy.savez("plain.npz", x=x, y=y)
numpy.savez("other.npz", x=numpy.asfortranarray(x.astype(">f8")), y=y.astype(">U3"))
PY
  for kind in plain other; do table numpy.$kind data.table.path=$kind.npz data.table.label=y; done
  check "arrays of NumPy, big-endian and in Fortran order" same_metrics numpy.plain numpy.other
else
  skip "arrays of NumPy" "there is no python3-numpy"
fi

# A file that is cut short during the run: the pages that are gone would end a process that reads them.
{ npy '60000, 1' && head -c 60000 /dev/zero | tr '\0' '\1'; } >long.npy
{ npy '60000,' && head -c 30000 /dev/zero && head -c 30000 /dev/zero | tr '\0' '\1'; } >labels.npy
for ranks in 1 2; do
  cp long.npy cut.npy
  new_log >/dev/null
  timeout -k 5 "$limit" "$graphrun" table.yaml 'data.table.path=[cut.npy,labels.npy]' data.table.label=labels output.dir=cut$ranks \
    distributed.ranks=$ranks training.max_epochs=1000 training.batch_size=8 >>"$log" 2>&1 </dev/null &
  watcher=$!
  wait_steps cut$ranks 20
  head -c 4096 long.npy | dd of=cut.npy conv=notrunc 2>/dev/null
  truncate -s 4096 cut.npy
  ended
  printf '%s\n' "'cut.npy' was cut short while it was read" 'hint: replace a file that is in use by renaming' >patterns
  verdict "a file that is cut short during the run, $ranks ranks" 66
done

head -c 300 x.npy >short.npy
expect "an array that is cut short" 66 "'short' in 'short.npy' is cut short" -- \
  "$graphrun" plan table.yaml 'data.table.path=[short.npy,y.npy]' data.table.label=y

# ---- Which columns are features, and cells that are no numbers
awk 'BEGIN { srand(4); print "number,width,weight,note,kind"
  for (i = 0; i < 60; i++) { k = int(2 * rand())
    printf "%d,%.4f,%.2f,%s,%s\n", 100 + i, k + 0.6 * rand(), 400 * rand(), i % 2 ? "fine" : "torn", k ? "red" : "blue" }
}' >cells.csv
cells="data.table.path=cells.csv training.max_epochs=1"
# shellcheck disable=SC2086
table cells $cells
check "a run says which columns are features" grep -q '2 features: width, weight; 2 left out: number (counts the rows), note (text, 2 values)' "$log"
# shellcheck disable=SC2086
table named $cells 'data.table.features=[number,width]'
check "... a column that counts the rows is one if it is named" grep -q '2 features: number, width; 2 left out: weight, note$' "$log"
sed '7s/^\([^,]*,[^,]*\),[^,]*,/\1,abc,/' cells.csv >abc.csv
at=$(sed -n 7p abc.csv | awk -F, '{ print length($1) + length($2) + 3 }')
printf '%s\n' "abc.csv:7:$at: data error: 'abc' in the column 'weight' is no number, as 59 other cells of it are" \
  'hint: correct the cell; data.table.on_bad_cell=missing' >patterns
table bad data.table.path=abc.csv
verdict "one cell that is no number is an error at its place" 66
table bad data.table.path=abc.csv data.table.on_bad_cell=missing data.skip_unreadable=true training.max_epochs=1
check "... or missing, as an empty one" grep -q 'skipped 1 of 60 samples: 1 unreadable' "$log"
check "... and its column stays a feature" grep -q '2 features: width, weight' "$log"
table bad data.table.path=abc.csv data.table.on_bad_cell=missing
printf '%s\n' "abc.csv:7:1: data error: the column 'weight' has no value in this line" >patterns
verdict "... whose row is an error" 66
expect "predicting a file with such a cell names it" 66 "abc.csv:7:$at: data error: 'abc' in the column 'weight' is no number" -- \
  "$graphrun" predict cells abc.csv
expect "evaluating one does, too" 66 "abc.csv:7:$at: data error: 'abc' in the column 'weight'" -- \
  "$graphrun" eval cells data.table.path=abc.csv --split=all
cut -d, -f1,3- cells.csv >narrow.csv
expect "a file without a column names the column" 66 "narrow.csv:1:1: data error: 'narrow.csv' has no column 'width', a feature of the run" -- "$graphrun" predict cells narrow.csv
sed '2,$s/[^,]*$/red/' cells.csv >one.csv
printf '%s\n' "one.csv:2:1: data error: all rows of 'one.csv' are of one class, 'red'" 'hint: another column for data.table.label' >patterns
table single data.table.path=one.csv
verdict "a table of one class is an error" 66
cp cells.csv seen.csv && head -n 4 cells.csv | sed '2s/[^,]*$/green/' >unseen.csv
# shellcheck disable=SC2086
table unseen data.table.path=seen.csv data.table.eval_path=unseen.csv training.max_epochs=1
check "a class that only validation has is named" grep -q "the class 'green' has 1 validation sample and none for training: .*; the first is in unseen.csv:2" "$log"
# A column that is an input by its own name: the number of a shelf, which the model looks up.
awk -F, 'NR == 1 {print $0 ",shelf"} NR > 1 {print $0 "," NR % 5}' kinds.csv >shelves.csv
cat >shelf.yaml <<'YAML'
params: {classes: 2}
inputs: {x: {shape: [n, c]}, shelf: {shape: [n], dtype: i32}, y: {shape: [n], dtype: i32}}
nodes:
  - h: {linear: x, out: 8, name: body}
  - s: {embedding: shelf, vocab: 5, dim: 8, name: shelf}
  - h: {add: [h, s]}
  - logits: {linear: h, out: classes, name: head}
  - loss: {cross_entropy: [logits, y]}
train: loss
predict: {logits: logits}
YAML
for ranks in 1 3; do
  table shelf$ranks model.graph=shelf.yaml '~model.params' data.table.path=shelves.csv data.table.inputs=shelf distributed.ranks=$ranks \
    training.max_epochs=1 checkpoint.metric=loss checkpoint.mode=min
  printf '%s\n' '^2 features: width, weight' >patterns
  verdict "an input of its own, on $ranks ranks" 0
done
check "... gives the same loss" near "$(loss shelf3 8)" "$(loss shelf1 8)" 1e-5
expect "... and predictions" 0 -- "$graphrun" predict shelf1 shelves.csv --out=shelves.jsonl
expect "a file without it names it" 66 "'kinds.csv' has no column 'shelf', an input of the run" -- "$graphrun" predict shelf1 kinds.csv
expect "an input that no key names says how" 65 "data.table.inputs: \[NAME\] makes that column an input" -- \
  "$graphrun" plan table.yaml model.graph=shelf.yaml '~model.params' data.table.path=shelves.csv
counts
