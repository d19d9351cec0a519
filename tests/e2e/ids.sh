# ids.sh - columns of a table that a model looks up by embedding: data.table.ids leaves them as they are, and what is
# standardised, or beyond the table of the model, is an error before the run begins. Wrong lengths are clamped.
. "${0%/*}/lib.sh"
awk 'BEGIN {
  print "user,item,age,rating"
  for (i = 0; i < 200; i++) print i * 7 % 50 "," i * 11 % 30 "," 20 + i * 13 % 40 ".5," i * 7 % 50 % 5 + i % 3 "." i % 10
}' >ratings.csv
cat >model.yaml <<'EOF'
params: {users: 50, items: 30, features: 3}
inputs: {x: {shape: [n, features]}, y: {shape: [n]}}
nodes:
  - u: {slice: x, axis: 1, from: 0, size: 1}
  - i: {slice: x, axis: 1, from: 1, size: 1}
  - a: {slice: x, axis: 1, from: 2, size: 1}
  - u: {reshape: u, shape: [n]}
  - u: {cast: u, to: i32}
  - u: {embedding: u, vocab: users, dim: 4, name: users}
  - i: {cast: i, to: i32}
  - i: {reshape: i, shape: [n]}
  - i: {embedding: i, vocab: items, dim: 4, name: items}
  - h: {concat: [u, i, a], axis: 1}
  - h: {linear: h, out: 1, name: head}
  - p: {reshape: h, shape: [n]}
  - loss: {mse: [p, y]}
train: loss
predict: {rating: p}
EOF
cat >config.yaml <<'EOF'
model: {graph: model.yaml}
data: {source: table, table: {path: ratings.csv, label: rating, label_is: value}}
training: {batch_size: 32, max_epochs: 1}
distributed: {ranks: 1}
EOF
run() { # NAME CODE PATTERN [key=value ...]
  rm -rf out
  run_name=$1 run_code=$2 run_pattern=$3
  shift 3
  expect "$run_name" "$run_code" "$run_pattern" -- "$graphrun" config.yaml output.dir=out "$@"
}
run "ids that are standardised" 65 "^model.yaml:9:9: config error: embedding looks up the column 'user' in a table of 50 rows, and data.table.normalize standardises it"
check "... with all that it looks up in the hint" grep -q 'hint: data.table.ids=.user,item. leaves what is looked up as it is; data.table.normalize=false leaves all' "$log"
run "... one of two" 65 "^model.yaml:12:9: config error: embedding looks up the column 'item'" 'data.table.ids=[user]'
check "... of which the other stays" grep -q 'hint: data.table.ids=.user,item. leaves' "$log"
run "nothing standardised" 0 "^results: " data.table.normalize=false
run "ids beyond the table" 66 "^ratings.csv:[0-9]+:1: data error: 'item' is [0-9]+ in this line, and embedding in model.yaml:12 looks it up in a table of 20 rows" 'data.table.ids=[user,item]' model.params.items=20
check "... and how many rows there should be" grep -q 'hint: the largest is 29: a table of 30 rows has them all' "$log"
run "... by a few rows" 66 "looks it up in a table of 29 rows" 'data.table.ids=[user,item]' model.params.items=29
run "ids with fractions" 66 "argument [0-9]+:1:16: data error: the column 'age' of data.table.ids has numbers with fractions" 'data.table.ids=[age]'
run "ids misspelt" 65 "config error: 'ratings.csv' has no column 'usr'" 'data.table.ids=[usr]'
run "a label among the ids" 66 "the column 'rating' of data.table.ids is not among the features" 'data.table.ids=[rating]'
sed '5s/^[0-9]*/-2/' ratings.csv >below.csv
run "ids below 0" 66 "^below.csv:5:1: data error: the column 'user' of data.table.ids is -2 in this row" data.table.path=below.csv 'data.table.ids=[user,item]'
sed '2,$s/^/u/' ratings.csv >named.csv
run "ids of texts" 66 "the column 'user' of data.table.ids is of texts" data.table.path=named.csv 'data.table.ids=[user]'
run "ids as they are" 0 "^results: " 'data.table.ids=[user,item]'
check "... and the other feature standardised" grep -Eq '"mean": .0, 0, [34][0-9.]+., "scale": .1, 1, 0.0[0-9]+.' out/data.json
printf 'user,item,age\n3,4,20\n99,2,20\n' >new.csv
expect "an id to predict that the run has not" 66 "^new.csv:3:1: data error: 'user' is 99 in this line" -- "$graphrun" predict out new.csv
sed -i 3d new.csv
expect "ids to predict" 0 '"rating": ' -- "$graphrun" predict out new.csv

# Of 300 columns the last one through u8, in which 299 is 43: another column.
awk 'BEGIN {
  for (r = 0; r < 40; r++) for (c = 0; c <= 300; c++) printf "%s%s", r ? (r * 7 + c) % 40 : "c" c, c < 300 ? "," : "\n"
}' >wide.csv
cat >narrow.yaml <<'EOF'
params: {features: 300}
inputs: {x: {shape: [n, features]}, y: {shape: [n]}}
nodes:
  - u: {slice: x, axis: 1, from: 299, size: 1}
  - u: {cast: u, to: u8}
  - u: {cast: u, to: i32}
  - u: {embedding: u, vocab: 256, dim: 1, name: users}
  - p: {reshape: u, shape: [n]}
  - loss: {mse: [p, y]}
train: loss
EOF
wide="model.graph=narrow.yaml data.table.path=wide.csv data.table.label=c300"
# shellcheck disable=SC2086
run_plan() { expect "$1" "$2" "$3" -- "$graphrun" plan config.yaml $wide; }
run_plan "ids that a narrow dtype has changed are not looked for" 0 "^plan of config.yaml for 1 rank"
sed -i '/u8/d' narrow.yaml
run_plan "... and others are, in many columns" 65 "embedding looks up the column 'c299'"

# ---- Lengths of a column that are wrong are clamped, in blocks and where results are read
awk 'BEGIN { print "a,b,c,t,y"; for (i = 0; i < 60; i++) print i % 7 "," i % 5 "," i % 3 "," (i % 6 - 2) "," i % 2 }' >lengths.csv
cat >lengths.yaml <<'EOF'
params: {features: 4, classes: 2}
inputs: {x: {shape: [n, features]}, y: {shape: [n], dtype: i32}}
nodes:
  - t: {slice: x, axis: 1, from: 3, size: 1}
  - t: {reshape: t, shape: [n]}
  - t: {cast: t, to: i32}
  - wide: {scale: t, by: 100000}
  - v: {slice: x, axis: 1, from: 0, size: 3}
  - tokens: {cast: v, to: i32}
  - v: {reshape: v, shape: [n, 3, 1]}
  - last: {last_frame: [v, t]}
  - last_wide: {last_frame: [v, wide]}
  - clamped: {min: [wide, 3]}
  - clamped: {max: [clamped, 0]}
  - h: {lstm: [v, clamped], hidden: 4, bidirectional: true, name: rnn}
  - h_wrong: {lstm: [v, wide], hidden: 4, bidirectional: true, share: rnn}
  - g: {last_frame: [h, t]}
  - logits: {linear: g, out: classes, name: head}
  - loss: {cross_entropy: [logits, y]}
train: loss
predict: {tokens: tokens, lengths: wide, last: last, last_wide: last_wide, h: h, h_wrong: h_wrong}
EOF

cat >lengths_config.yaml <<'EOF'
model: {graph: lengths.yaml}
data: {source: table, table: {path: lengths.csv, label: y, normalize: false}}
training: {batch_size: 16, max_epochs: 1}
distributed: {ranks: 1}
EOF
rm -rf out
expect "lengths beyond what there is, and below 0" 0 '^results: ' -- "$graphrun" lengths_config.yaml output.dir=out logging.show_samples=3
check "... of predicted tokens, too" grep -q '       predicted  [0-9] [0-9] [0-9]$' "$log"
head -7 lengths.csv | cut -d, -f1-4 >new.csv
"$graphrun" predict out new.csv >predicted 2>&1
part() { sed -n "s/.*\"$1\": \(\[[^a-z]*\]\).*/\1/p" predicted; }
part h >h && part h_wrong >h_wrong
check "... a layer of lstm takes them as those that are nearest" sh -c '[ "$(wc -l <h)" = 6 ] && cmp h h_wrong'
check "... and last_frame" test "$(part last_wide | tr '\n' ' ')" = "[0.0] [0.0] [0.0] [0.0] [1.0] [2.0] "
counts
