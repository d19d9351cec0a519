# joined.sh - several sources in one configuration: images with texts to write, and images with numbers, trained on any
# number of ranks, evaluated and predicted; and what cannot be joined.
. "${0%/*}/lib.sh"

"$graphrun" new made --data=captions >"$(new_log)" 2>&1 || fail "the project" "exit code $?"
short="made/config.yaml hooks=[made/hook.lua] model.graph=made/graph.yaml data.image.path=made/data.csv training.max_epochs=2 training.eval_every=2"
# shellcheck disable=SC2086
{
  expect "images with a text to write for each" 0 "validation set: .* cer .* wrong .* chrf " -- \
    "$graphrun" $short output.dir=one distributed.ranks=1
  expect "... on two ranks" 0 -- "$graphrun" $short output.dir=two distributed.ranks=2
  expect "... on three, with fsdp" 0 -- "$graphrun" $short output.dir=three distributed.ranks=3 distributed.strategy=fsdp
  for out in two three; do
    for step in 0 10 30; do check "... step $step is that of one ($out)" near "$(loss one $step)" "$(loss $out $step)" 1e-4; done
  done
  expect "... with a batch that memory decides" 0 -- "$graphrun" $short output.dir=room distributed.ranks=1 training.batch_size="{total_length: 1600}"
  expect "... of which some lack a text" 0 "^skipped 2 of 600 rows: 2 that one of the joined sources has no sample of \(the first: gaps.csv:4\)$" \
    "^texts without a text to write: 2 \(the first: gaps.csv:4\)$" -- sh -c \
    'sed "4s/,.*/,/; 9s/,.*/,/; s|^images|made/images|" made/data.csv >gaps.csv; exec "$@"' sh "$graphrun" data inspect made/config.yaml data.image.path=gaps.csv
}
expect "... of which none has a text" 66 "no row is a sample of 'texts': 600 without a text to write" "hint: another column for data.texts.target" -- sh -c \
  'sed "2,\$s/,.*/,/; s|^images|made/images|" made/data.csv >none.csv; exec "$@"' sh "$graphrun" data inspect made/config.yaml data.image.path=none.csv
check "data.json has what the model's params are set from" grep -q '"source": "image+texts", .*"height": 24, .*"vocab": 256, .*"prefix": 1' one/data.json
sed -n '2,3p' made/test.csv | sed 's/,.*//; s|^|made/|' >few
# shellcheck disable=SC2046
expect "predicts images" 0 '"input": "made/images/600.ppm", "text": "' '"input": "made/images/601.ppm", "text": "' -- "$graphrun" predict one $(cat few)
expect "... and a list" 0 '"input": "images/600.ppm", "text": "' -- "$graphrun" predict one made/test.csv
expect "... in lines of JSON" 0 '"input": "made/images/600.ppm"' '"input": "made/images/601.ppm"' -- sh -c \
  'sed "s/.*/{\"path\": \"&\"}/" few >few.jsonl; exec "$@"' sh "$graphrun" predict one few.jsonl
expect "... which are no texts, of which it reads none" 66 "'words.txt' is no image that is read" -- sh -c 'echo circle >words.txt; exec "$@"' sh "$graphrun" predict one words.txt
expect "... nor of a folder" 0 "^[0-9]+ others in the folder 'made' are not predicted" -- "$graphrun" predict one made
check "... which has a README.md" sh -c '! grep -q README "$1"' sh "$log"
expect "... a folder of them" 0 '"input": "made/images/699.ppm"' -- "$graphrun" predict one made/images
expect "evaluates another list" 0 "^all samples: loss .* chrf" -- "$graphrun" eval one data.image.path=made/test.csv --split=all
expect "exports what it computes of an image" 0 "inputs   x u8\[n,24,24,3\], decoder_inputs i32" "x: bytes 0 to 255 of an image; with PIL" -- "$graphrun" export one one.onnx

# A class and a number of each image, of which the table gives one feature beside it.
awk 'BEGIN { print "path,kind,size,price,note"; for (i = 0; i < 120; i++) { w = i % 3; print "pixels/" i % 6 ".pgm," (i % 2 ? "odd" : "even") "," w "," w + i % 2 + i % 7 / 100 ",text " i } }' >goods.csv
mkdir pixels
for i in 0 1 2 3 4 5; do { printf 'P5 4 4 255\n'; printf "%b" "$(printf '\\%03o' $((i % 2 * 150 + i)))%.0s" | head -c 1; head -c 15 /dev/zero; } >pixels/$i.pgm; done
cat >goods.yaml <<YAML
inputs:
  x: {shape: [n, h, w, c], dtype: u8}
  y: {shape: [n], dtype: i32}
  table_x: {shape: [n, features], dtype: f32}
  table_y: {shape: [n], dtype: f32}
params: {features: 1, classes: 2}
nodes:
  - p: {cast: x, to: f32}
  - p: {scale: p, by: 1 / 255}
  - p: {reshape: p, shape: [n, 16]}
  - z: {concat: [p, table_x], axis: 1}
  - z: {linear: z, out: 16, name: hidden}
  - z: {tanh: z}
  - logits: {linear: z, out: classes, name: head}
  - v: {linear: z, out: 1, name: value}
  - v: {reshape: v, shape: [n]}
  - of_class, one: {cross_entropy: [logits, y]}
  - of_value, count: {mse: [v, table_y]}
  - loss: {add: [of_class, of_value]}
  - acc: {accuracy: [logits, y]}
train: loss
metrics: {acc: acc, mse: [of_value, count]}
predict: {logits: logits, price: v}
YAML
cat >both.yaml <<YAML
model: {graph: goods.yaml}
data:
  source: [image, table]
  image: {path: goods.csv, size: 4, color: gray, label: kind}
  table: {path: goods.csv, features: size, label: price, label_is: value}
  validation_fraction: 0.25
training: {batch_size: 10, optimizer: adam, lr: 2e-2, max_epochs: 20, eval_every: 20, seed: 1}
distributed: {ranks: 1}
YAML
expect "images with numbers" 0 "validation set: loss .* acc 1.0000 mse 0.0" -- "$graphrun" both.yaml output.dir=goods
expect "... on two ranks" 0 -- "$graphrun" both.yaml output.dir=goods2 distributed.ranks=2
for step in 0 20 80; do check "... step $step is the same" near "$(loss goods $step)" "$(loss goods2 $step)" 1e-4; done
expect "... predicted from a list" 0 '"input": "pixels/1.pgm", "class": "odd", .*"price": [12]' -- "$graphrun" predict goods goods.csv
expect "... of one with tabs" 0 '"input": "pixels/1.pgm", "class": "odd", .*"price": [12]' -- sh -c \
  'tr , "\t" <goods.csv >goods.tsv; exec "$@"' sh "$graphrun" predict goods goods.tsv
expect "... whose numbers an image does not have" 66 "no file to predict has columns of a table" "hint: a list that has them" -- "$graphrun" predict goods pixels/1.pgm
expect "... go on from a checkpoint" 0 "^validation set: " -- "$graphrun" both.yaml output.dir=goods training.max_epochs=21
expect "... evaluated" 0 "^validation set: .* acc 1.0000" -- "$graphrun" eval goods
for given in "table.path" "image.path"; do
  expect "another file for data.$given" 66 "no row has a sample of each of the joined sources" "data.image.path and data.table.path" -- sh -c \
    'sed "s/,note/,more/" goods.csv >other.csv; exec "$@"' sh "$graphrun" both.yaml output.dir=x data.$given=other.csv
done
wrong() { # NAME CODE MESSAGE HINT key=value ...: such a configuration is an error
  name=$1 code=$2 message=$3 hint=$4
  shift 4
  expect "$name" "$code" "$message" "$hint" -- "$graphrun" both.yaml "$@" output.dir=x
}
rows="hint: data.source=.image,texts. joins the rows of one list: each source once"
head -20 goods.csv >some.csv
wrong "a list for validation of images alone" 66 "some.csv:1:1: data error: 'some.csv' has rows for the source 'image', and none for 'table'" \
  "hint: data.table.path, or data.table.eval_path for validation, names it, too" data.image.eval_path=some.csv
wrong "a list for validation of the table alone" 66 "'some.csv' has rows for the source 'table', and none for 'image'" "data.image.eval_path" data.table.eval_path=some.csv
expect "a list for validation of both" 0 "^validation +19 rows" -- "$graphrun" data inspect both.yaml data.image.eval_path=some.csv data.table.eval_path=some.csv
wrong "one source as a list" 65 "argument 1:1:13: config error: a list of sources has at least two" "$rows" 'data.source=[image]'
wrong "a source twice" 65 "argument 1:1:20: config error: a source cannot be joined with itself" "$rows" 'data.source=[image,image]'
wrong "no samples" 65 "argument 1:1:20: config error: this source cannot be joined" "$rows" 'data.source=[image,none]'
wrong "another source's keys" 65 "'data.table.features' is a key of the source 'table', and data.source is 'image'" "remove it" data.source=image
wrong "texts whose classes are not said" 66 "goods.csv:1:1: data error: 'goods.csv' has no column 'label'" "hint: data.texts.label names .*; null: texts have no classes" \
  'data.source=[image,table,texts]' data.texts.path=goods.csv data.texts.text=note
wrong "a split of the second" 65 "argument 1:1:18: config error: 'data.table.split' has no effect: the split is that of 'image'" "hint: remove it, or name 'table' first" data.table.split=note
wrong "a folder" 66 "the samples of 'image' are not listed by rows" "hint: a list" data.image.path=pixels data.image.label=null
wrong "two classes" 65 "the sources 'image' and 'table' both have classes" "data.table.label=null" data.table.label=size data.table.label_is=class data.table.features=price
wrong "a column that is not there" 66 "goods.csv:1:1: .*no column 'sort'" "null: images have none" data.image.label=sort
check "... make no folder" test ! -e x

# Recordings with classes of a list, and numbers of its rows; then predicted from a list.
"$graphrun" new heard --data=audio >"$(new_log)" 2>&1 || fail "the project of recordings" "exit code $?"
(echo path,kind,size && for wave in heard/sounds/*/*.wav; do
  kind=${wave%/*} && echo "$wave,${kind##*/},${#kind}"
done) >heard.csv
sed 's/^hooks.*//; s/source: speech .*/source: [speech, table]\n  table: {path: ..\/heard.csv, features: size, label: null}/; s/label: label /label: kind /' heard/config.yaml >heard/both.yaml
expect "recordings with numbers" 0 "^validation set: " -- "$graphrun" heard/both.yaml data.manifest=heard.csv output.dir=hear training.max_epochs=1 distributed.ranks=1
expect "... predicted from a list" 0 '"input": "heard/sounds/hum/00.wav", "class": ' -- "$graphrun" predict hear heard.csv
expect "... from one with tabs, of recordings alone" 0 '"input": "heard/sounds/hum/00.wav", "class": ' -- sh -c \
  'tr , "\t" <heard.csv >heard.tsv && "$1" heard/config.yaml hooks=[] "~hooks_params" data.manifest=heard/sounds output.dir=alone training.max_epochs=1 distributed.ranks=1 && exec "$1" predict alone heard.tsv' sh "$graphrun"
expect "... of which one is not there" 66 "heard.tsv:3:1: data error: cannot open 'heard/sounds/none.wav'" -- sh -c \
  'sed -i "3s|sounds/[a-z]*/[0-9]*|sounds/none|" heard.tsv; exec "$1" predict alone heard.tsv' sh "$graphrun"

# Videos with texts: the classes are the videos'.
"$graphrun" new clips --data=video >"$(new_log)" 2>&1 || fail "the project of videos" "exit code $?"
expect "images and videos that both have classes" 65 "the sources 'image' and 'video' both have classes" "hint: data.image.label=null leaves them out" -- "$graphrun" clips/config.yaml \
  'data.source=[image,video]' data.image.path=clips/clips/list.csv data.image.size=8 output.dir=x
expect "videos with texts" 0 "^ +predicted +(up|down|left|right)$" "^validation set: " -- "$graphrun" clips/config.yaml 'data.source=[video,texts]' data.texts.path=clips/clips/list.csv \
  data.texts.text=label data.texts.label=null hooks=[] '~hooks_params' training.max_epochs=1 distributed.ranks=1 output.dir=seen
expect "... predicted, by the names of classes" 0 '"input": "clips/clips/down00.npy.[0-9]+.", "class": "(up|down|left|right)", "probabilities": ."down": ' -- "$graphrun" predict seen clips/clips/down00.npy
counts
