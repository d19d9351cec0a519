# one_hot.sh - columns of texts and of whole numbers whose values are features, in training, in
# evaluation, in predictions of other files, and in projects for the user's own table.
. "${0%/*}/lib.sh"

awk 'BEGIN {
  print "age,city,job,month,buys"
  split("Rome,Paris,Oslo", city, ","); split("nurse,cook", job, ",")
  for (i = 0; i < 60; i++)
    printf "%d,%s,%s,%d,%s\n", 20 + i % 7, city[i % 3 + 1], job[i % 2 + 1], 10 - i % 2, (i % 3 == 1) == (i % 2) ? "no" : "yes"
}' >people.csv
cat >model.yaml <<'YAML'
params: {classes: 2}
inputs: {x: {shape: [n, c]}, y: {shape: [n], dtype: i32}}
nodes:
  - h: {mlp: x, layers: 2, hidden: 16, out: 16, name: net}
  - h: {relu: h}
  - logits: {linear: h, out: classes, name: head}
  - loss: {cross_entropy: [logits, y]}
  - acc: {accuracy: [logits, y]}
  - seen: {scale: x, by: 1}
train: loss
metrics: {accuracy: acc}
predict: {seen: seen}
YAML
cat >run.yaml <<'YAML'
model: {graph: model.yaml}
data:
  source: table
  validation_fraction: 0.2
  table: {path: people.csv, label: buys, one_hot: [city, job], normalize: false}
training: {batch_size: 16, max_epochs: 1, seed: 1}
distributed: {ranks: 2, backend: loopback}
logging: {show_samples: 0}
YAML

# Texts are features where the configuration says so, else a line says how.
expect "each value is a feature" 0 '^7 features: age, month, city=Oslo, city=Paris, city=Rome, job=cook, job=nurse$' -- \
  "$graphrun" run.yaml output.dir=one
check "they are recorded" grep -q '"features": \["age", "month", "city=Oslo", "city=Paris", "city=Rome", "job=cook", "job=nurse"\]' one/data.json
expect "without it a line says how to take them" 0 'left out: city \(text, 3 values\), job \(text, 2 values\); data.table.one_hot=\[city, job\] takes texts, too' -- \
  "$graphrun" run.yaml output.dir=without data.table.one_hot=null
expect "data inspect says what they are" 0 'city +text +one-hot' 'city=Oslo +u8 +feature +\[60\] +0 to 1' -- \
  "$graphrun" data inspect run.yaml
expect "what they tell is learnt" 0 'validation set: loss [0-9.]* accuracy 1.0000' -- \
  "$graphrun" run.yaml output.dir=learnt training.max_epochs=40 training.lr=0.03 data.table.normalize=true
expect "evaluation reads them, with fewer values in the file" 0 'loss' -- \
  sh -c "head -3 people.csv >few.csv && '$graphrun' eval one data.table.path=few.csv --split=all"

# A file to predict has its columns in another order, and a value of its own.
printf 'job,month,city,age\ncook,3,Paris,30\nnurse,4,Madrid,31\nnurse,4,Rome,32\n' >new.csv
limited "$graphrun" predict one new.csv --out=seen.jsonl
check "a line says which values training has not" grep -q "^1 value of 'new.csv' is none that training has, first in line 3, of 'city': all" "$log"
check "predictions read what the run has read" sh -c \
  "sed 's/.*seen\": \[*//; s/[]}]//g; s/ //g; s/\.0//g' seen.jsonl | diff - seen.want" "$(printf '30,3,0,1,0,1,0\n31,4,0,0,0,0,1\n32,4,0,0,1,0,1\n' >seen.want)"

# Whole numbers; and columns among others that the configuration names.
expect "a list of features has the column" 0 '^3 features: age, month=9, month=10; 2 left out' -- \
  "$graphrun" run.yaml output.dir=months 'data.table.features=[age,month]' data.table.one_hot=month
expect "all columns of numbers but that one, and its values" 0 '^3 features: age, month=9, month=10; 2 left out' -- \
  "$graphrun" run.yaml output.dir=default data.table.one_hot=month
expect "it is predicted from as well" 0 '"seen": \[30.0, 0.0, 0.0\]' -- "$graphrun" predict months new.csv

# Arrays, whose texts are of one length: evaluation has the values of the run, whatever the files have.
array() { # array NAME DTYPE ROWS: the bytes follow on standard input
  printf '\223NUMPY\001\000\166\000' >"$1.npy"
  printf '%-117s\n' "{'descr': '$2', 'fortran_order': False, 'shape': ($3,), }" >>"$1.npy"
  cat >>"$1.npy"
}
mkdir all some
for i in 1 2 3 4 5 6 7 8; do printf 'OsloRomeBern'; done | array all/city '|S4' 24
for i in 1 2 3 4 5 6 7 8; do printf '\000\001\000'; done | array all/y '|u1' 24
printf 'RomeWienBern' | array some/city '|S4' 3
printf '\001\000\000' | array some/y '|u1' 3
expect "arrays of texts" 0 'training set: loss [0-9.]* accuracy 1.0000' -- "$graphrun" run.yaml output.dir=arrays \
  'data.table.path=[all/city.npy,all/y.npy]' data.table.label=y data.table.features=city data.table.one_hot=city training.max_epochs=80 training.lr=0.03
expect "other arrays have the values of the run" 0 "^1 value of 'some/city.npy' is none that training has, first in row 1 of 'some/city.npy', of 'city': all" -- \
  "$graphrun" eval arrays 'data.table.path=[some/city.npy,some/y.npy]' --split=all
check "... by their names" grep -qE 'accuracy (1.0000|0.6667)' "$log"

# What cannot be.
expect "not among the features" 66 "the column 'city' of data.table.one_hot is not among data.table.features" 'hint: add it' -- \
  "$graphrun" run.yaml output.dir=no 'data.table.features=[age]' data.table.one_hot=city
expect "the label" 66 "the column 'buys' of data.table.one_hot is the label or the split" -- \
  "$graphrun" run.yaml output.dir=no data.table.one_hot=buys
expect "no such column" 65 "'people.csv' has no column 'town'" 'hint: it has: age, city' -- \
  "$graphrun" run.yaml output.dir=no data.table.one_hot=town
awk -F, -v OFS=, 'NR > 1 { $1 += 0.5 } { print }' people.csv >halves.csv
expect "fractions" 66 "the column 'age' of data.table.one_hot has neither texts nor whole numbers" -- \
  "$graphrun" run.yaml output.dir=no data.table.path=halves.csv data.table.one_hot=age
awk 'BEGIN { print "id,a,y"; for (i = 0; i < 1100; i++) printf "n%d,%d,%d\n", i, i, i % 2 }' >ids.csv
expect "too many values" 66 "the column 'id' of data.table.one_hot has more than 1024 values" -- \
  "$graphrun" run.yaml output.dir=no data.table.path=ids.csv data.table.label=y data.table.one_hot=id
sed '1s/age/city=Oslo/' people.csv >twice.csv
expect "a value for which there is a column" 66 "has a value for which there is a column" -- \
  "$graphrun" run.yaml output.dir=no data.table.path=twice.csv
sed '5s/,[A-Z][a-z]*,/,,/' people.csv >gap.csv
expect "an empty cell has its line" 66 "gap.csv:5:1: data error: the column 'city" -- \
  "$graphrun" run.yaml output.dir=no data.table.path=gap.csv
expect "text as a feature has the cure" 66 'hint: it has 3 values: data.table.one_hot=\[city\] makes a feature of 0 and 1 of each' -- \
  "$graphrun" run.yaml output.dir=no data.table.one_hot=null 'data.table.features=[age,city]'

# A project for such a table, made where other files have the names of its own.
printf 'params: {}\n' >graph.yaml
printf 'params = {}\n' >hook.lua
expect "a project takes columns of few texts" 0 'age, month, city=Oslo, city=Paris' -- "$graphrun" new own --from=people.csv
check "its configuration says so" grep -q '^    one_hot: \["city", "job"\]' own/config.yaml
expect "it trains" 0 'results: ' -- sh -c "cd own && '$graphrun' config.yaml training.max_epochs=1 distributed.backend=loopback output.dir=run"
counts
