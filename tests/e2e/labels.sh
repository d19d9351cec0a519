# labels.sh - tables with several labels a row: lists of labels, several columns, arrays of several
# values; their loss and metrics against tests/golden/labels.txt, on any number of ranks.
. "${0%/*}/lib.sh"

golden=$source/tests/golden
cp "$golden/labels.csv" .
cat >model.yaml <<'YAML'
params: {targets: 1}
inputs: {x: {shape: [n, targets]}, y: {shape: [n, targets]}}
nodes:
  - b: {param: [targets], name: bias}
  - logits: {add: [x, b]}
  - loss: {binary_cross_entropy: [logits, y]}
  - match: {exact_match: [logits, y]}
  - counts: {label_counts: [logits, y]}
  - scores: {sigmoid: logits}
train: loss
metrics: {match: match}
predict: {scores: scores}
sums: {counts: counts}
report:
  nodes:
    - macro: {label_f1: counts}
    - micro: {label_f1: counts, average: micro}
    - precision, recall, f1: {label_scores: counts}
  metrics: {macro: macro, micro: micro}
  results: {f1: f1}
YAML
cat >run.yaml <<YAML
model: {graph: model.yaml}
data:
  source: table
  validation_fraction: 0.5
  table: {path: labels.csv, label: tags, label_is: labels, normalize: false}
training: {batch_size: 16, max_epochs: 0, seed: 1}
distributed: {ranks: 1, backend: loopback}
logging: {show_samples: 0}
YAML

# is_golden NAME FILE: the numbers of a key of JSON are those of the definition.
is_golden() {
  got=$(sed -n "s/.*\"$1\": \[*\([^]a-z\"}]*\).*/\1/p" "$2" | sed 's/,//g')
  awk -v got="$got" -v want="$(sed -n "s/^$1 //p" "$golden/labels.txt")" "$distance"'BEGIN {
    n = split(got, a, " "); if (!n || n != split(want, b, " ")) exit 1
    for (i = 1; i <= n; i++) if (!number(a[i]) || size(a[i] - b[i]) > 2e-6) exit 1 }'
}
expect "a run" 0 '^150 |training and' -- "$graphrun" run.yaml output.dir=one
for ranks in 1 3; do
  limited "$graphrun" eval one --split=all --json "distributed.ranks=$ranks"
  cp "$log" "all.$ranks"
  while read -r name _; do
    check "$name is the definition's, on $ranks ranks" is_golden "$name" "all.$ranks"
  done <"$golden/labels.txt"
done
check "the labels are recorded" grep -q '"targets": \["a", "b", "c", "d"\]' one/data.json
expect "a prediction has a number for each" 0 '"scores": \{"a": [0-9.e-]*, "b": [0-9.e-]*, "c": [0-9.e-]*, "d": ' -- "$graphrun" predict one labels.csv
expect "data inspect says what they are" 0 'tags +text +label: labels' -- "$graphrun" data inspect run.yaml
sed '2s/[^,]*$/x/' labels.csv >other.csv
expect "a label that the run does not know" 66 "other.csv:2:1: data error: the label 'x' is none of the 4" -- \
  "$graphrun" eval one data.table.path=other.csv --split=all

# The same as columns of 0 and 1, in files of their own with another separator, and as an array.
awk -F, 'NR == 1 { print "s0,s1,s2,s3,a,b,c,d"; next }
  { printf "%s,%s,%s,%s", $1, $2, $3, $4; for (i = 1; i <= 4; i++) printf ",%d", (index($5, substr("abcd", i, 1)) > 0); print "" }' labels.csv >columns.csv
# same NAME [key=value ...]: the metrics of such a run on all samples.
same() {
  same_name=$1
  shift
  limited "$graphrun" run.yaml "output.dir=$scratch/$same_name" "$@"
  limited "$graphrun" eval "$same_name" --split=all --json
  for name in loss match micro f1; do check "... $name as from lists" is_golden "$name" "$log"; done
}
same columns data.table.path=columns.csv 'data.table.label=[a,b,c,d]'
check "columns are called by their names" grep -q '"targets": \["a", "b", "c", "d"\]' columns/data.json
same marks data.table.path=columns.csv 'data.table.label=[a,b,c,d]' data.table.label_is=labels
sed 's/|/ + /g' labels.csv >plus.csv
same plus data.table.path=plus.csv 'data.table.label_separator="+"'
sed '3s/,[01]$/,2/' columns.csv >two.csv
expect "a mark that is neither 0 nor 1" 66 "two.csv:3:1: data error: the label 'd' in this line is 2" "hint: with data.table.label_is=labels it is 0 or 1" -- \
  "$graphrun" run.yaml output.dir=no data.table.path=two.csv 'data.table.label=[a,b,c,d]' data.table.label_is=labels
sed '3s/,[01]$/,/' columns.csv >hole.csv
expect "a value that is missing" 66 "hole.csv:3:1: data error: the column 'd' has no value in this line" -- \
  "$graphrun" run.yaml output.dir=no data.table.path=hole.csv 'data.table.label=[a,b,c,d]'
expect "a column that is not there" 65 "'columns.csv' has no column 'e'" -- \
  "$graphrun" run.yaml output.dir=no data.table.path=columns.csv 'data.table.label=[a,e]'
expect "a text among several labels" 66 "the label 's0' of 'labels.csv' is text|'tags' of 'labels.csv' is text, and one of several labels" -- \
  "$graphrun" run.yaml output.dir=no 'data.table.label=[s0,tags]'
expect "several labels as classes" 66 "has several labels for each row" "hint: several columns are values" -- \
  "$graphrun" run.yaml output.dir=no data.table.path=columns.csv 'data.table.label=[a,b]' data.table.label_is=class
sed 's/[^,]*$//; 1s/$/tags/' labels.csv >none.csv
expect "no label at all" 66 "none.csv:1:1: data error: no row has a label in 'tags'" -- "$graphrun" run.yaml output.dir=no data.table.path=none.csv

# Several values to predict.
cat >values.yaml <<'YAML'
params: {targets: 1}
inputs: {x: {shape: [n, c]}, y: {shape: [n, targets]}}
nodes:
  - value: {linear: x, out: targets, name: head}
  - l, k: {mse: [value, y]}
train: [l, k]
predict: {value: value}
YAML
awk -F, -v OFS=, 'NR == 1 { print $1, $2, "sum,difference"; next } { print $1, $2, $1 + $2, $1 - $2 }' labels.csv >values.csv
expect "a regression with two targets" 0 -- "$graphrun" run.yaml model.graph=values.yaml data.table.path=values.csv 'data.table.label=[sum,difference]' \
  data.table.label_is=auto training.max_epochs=60 training.optimizer=adam training.lr=0.1 output.dir=values
check "... learns both" below "$(sed -n 's/.*"validation.loss": \([0-9.e-]*\).*/\1/p' values/evals.jsonl | tail -n 1)" 1e-3
expect "... and says both" 0 '"value": \{"sum": [0-9.e-]*, "difference": ' -- "$graphrun" predict values values.csv
# ---- Lists of images ----------------------------------------------------------------------------

limited "$graphrun" new shapes --data=image
(cd shapes && echo path,round,few,tags && for f in images/*/*; do
  case $f in */circle/*) echo "$f,1,0.5,round|plain" ;; */square/*) echo "$f,0,1.5,few|plain" ;; *) echo "$f,0,1,few" ;; esac
done) >shapes/list.csv
cat >pixels.yaml <<'YAML'
params: {targets: 1}
inputs: {x: {shape: [n, h, w, c], dtype: u8}, y: {shape: [n, targets]}}
nodes:
  - x: {cast: x, to: f32}
  - x: {reshape: x, shape: [n, h * w * c]}
  - logits: {linear: x, out: targets, name: head}
  - loss: {binary_cross_entropy: [logits, y]}
  - scores: {sigmoid: logits}
train: loss
predict: {scores: scores}
YAML
cat >images.yaml <<'YAML'
model: {graph: pixels.yaml}
data: {source: image, image: {path: shapes/list.csv, size: 8}}
training: {batch_size: 32, max_steps: 2, max_epochs: 0}
distributed: {ranks: 2, backend: loopback}
YAML
for label in 'label=[round,few]' label=tags; do
  is=labels names='few.*plain.*round'
  if [ $label != label=tags ]; then is=value names='round.*few'; fi
  expect "images with data.image.$label" 0 -- "$graphrun" images.yaml "output.dir=im.$is" "data.image.$label" "data.image.label_is=$is"
  expect "... a prediction has a number for each" 0 "\"scores\": \{\"$names" -- "$graphrun" predict "im.$is" shapes/images/circle
  expect "... which evaluation compares" 0 '^all samples: loss ' -- "$graphrun" eval "im.$is" --split=all
done
expect "a mark in a list of images that is neither" 66 "hint: with data.image.label_is=labels it is 0 or 1" -- "$graphrun" images.yaml 'data.image.label=[round,few]' data.image.label_is=labels
expect "one value is no vector" 65 "the input 'y' has 2 axes, the data gives f32\[32\]" -- "$graphrun" images.yaml data.image.label=few
counts
