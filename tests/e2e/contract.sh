# contract.sh - data.expect: every shipped configuration plans without its data, a plan is the same with the data and with
# what they are expected to be, and a run says what differs.
. "${0%/*}/lib.sh"

# ---- Without data
mkdir clone && for folder in configs graphs hooks; do ln -s "$source/$folder" "clone/$folder"; done
for config in $(shipped); do
  limited sh -c 'cd clone && "$1" plan "$2"' sh "$graphrun" "$config"
  : >patterns && verdict "$config plans without data" 0
done

# ---- With data
# same NAME CONFIG [key=value ...]: the plan of a configuration's data is that of their contract, by the program's own record.
same() {
  same_name=$1
  shift
  "$graphrun" data inspect "$@" data.expect=null --json >record.json 2>>"$log" &&
    "$graphrun" plan "$@" data.expect=null --ranks=2 >with.txt 2>>"$log" &&
    "$graphrun" plan "$@" data.expect=record.json --ranks=2 >without.txt 2>>"$log" && [ -s with.txt ]
  check "$same_name" cmp with.txt without.txt
}
: >"$(new_log)"
make_data
cp "$source/tests/e2e/tones.yaml" tones.yaml
same "recordings, in buckets" tones.yaml "model.graph=$source/graphs/lmu_asr.yaml" "data.manifest=$scratch/data/tones.jsonl" data.buckets=3
same "a text" "$source/configs/gpt.yaml" "data.corpus.path=$source/docs/decisions.md"
"$source/tools/market-data" --tickers=5 prices >/dev/null
same "prices, with tables" "$source/configs/ppo/market.yaml" data.market.path=prices
"$source/tools/video-data" motions >/dev/null
same "videos" "$source/configs/video/motions.yaml" data.video.path=motions/list.csv

# What is shipped is what the tools make.
# kept NAME CONFIG KEY=PATH: the data are as the file expects them: the plan is that of the data.
kept() {
  "$graphrun" plan "$source/configs/$2" >without.txt 2>>"$log"
  "$graphrun" plan "$source/configs/$2" "$3" >all.txt 2>>"$log"
  check "$1: arguments choose the data" grep -q '^note  *data.expect is not used' all.txt
  grep -v '^note  *data.expect is not used' all.txt >with.txt
  check "... of which the plan is the same" cmp with.txt without.txt
}
kept "the prices of tools/market-data" ppo/market.yaml data.market.path=prices
kept "the videos of tools/video-data" video/motions.yaml data.video.path=motions/list.csv
"$source/tools/har-data" har >/dev/null
kept "the windows of tools/har-data" har/pretrain.yaml data.table.path=har/pretrain.csv

# ---- Compared
awk 'BEGIN { srand(3); print "a,b,kind"; for (i = 0; i < 60; i++) print rand() "," rand() "," i % 3 }' >kinds.csv
cat >table.yaml <<YAML
model: {graph: $source/graphs/mlp.yaml, params: {dim: 8, layers: 1}}
data:
  source: table
  validation_fraction: 0.0
  table: {path: kinds.csv, label: kind}
  expect:
    train: 60
    metadata: {features: 2, classes: 3}
    fields: {x: [f32, 2], y: [i32], class_weight: [f32]}
    class_names: ["0", "1", "2"]
training: {batch_size: 16, max_epochs: 1}
distributed: {ranks: 2}
YAML
expect "a run whose data are as expected" 0 -- "$graphrun" table.yaml output.dir=run
expect "... is evaluated" 0 "^training set: " -- "$graphrun" eval run --split=train
expect "... on other data, which are not as expected" 0 "^all samples: " -- "$graphrun" eval run --split=all data.limit=30
case $("$graphrun" --version) in
*'built with '*protobuf-c*) expect "... and exported" 0 "inputs   x" -- "$graphrun" export run model.onnx ;;
esac
broken() {
  broken_name=$1
  sed "$2" table.yaml >broken.yaml
  expect "$broken_name" "$3" "$4" -- "$graphrun" broken.yaml output.dir=broken
}
broken "another number of samples" 's/train: 60/train: 61/' 66 'broken.yaml:7:12: data error: data.expect.train is 61, but the data have 60$'
broken "another class" 's/"1", "2"/"1", "3"/' 66 'broken.yaml:10:29: .*data.expect.class_names\[2\] is "3", but the data have "2"$'
broken "more classes" 's/"1", "2"/"1"/' 66 'broken.yaml:10:18: .*data.expect.class_names has 2 entries, but the data have 3$'
broken "what the data have not" 's/train: 60/trains: 60/' 66 'broken.yaml:7:13: .*data.expect.trains is 60, but the data do not have it$'
broken "another type" 's/f32, 2/f32, 4/' 66 'broken.yaml:9:23: .*data.expect.fields.x\[1\] is 4, but the data have 2$'
expect "arguments that name other data" 0 -- "$graphrun" table.yaml data.limit=30 output.dir=other
check "... it is said" grep -q "^data.expect is not used" "$log"
check "... of which the run keeps no expectation" grep -q '^  expect: null$' other/.hydra/config.yaml
expect "the run as a configuration" 0 -- "$graphrun" other/.hydra/config.yaml output.dir=again
expect "the plan of a run's folder" 0 'plan        ' -- "$graphrun" plan run --ranks=2
check "... is the run's" grep -q "$(sed -n 's/^plan  *//p' "$log")" run/plan.json
check "... certified" grep -q '"proved": {"nodes": "a node reads only' run/plan.json
expect "... in words" 0 '^proved  .* on 2 ranks; communicators: 1 of 2 ranks over dp; collectives: train' '^assumed$' '^not proved$' -- \
  "$graphrun" plan run --ranks=2
mv kinds.csv gone.csv
expect "... without the data" 0 -- "$graphrun" plan run
expect "the data of a run, to plan another" 0 -- "$graphrun" plan table.yaml data.expect=run/data.json
expect "other data that are not there" 66 "there is no such file" -- "$graphrun" plan table.yaml data.limit=3

# ---- Mistakes
wrong() {
  wrong_name=$1
  sed "$2" table.yaml >wrong.yaml
  shift 2
  expect "$wrong_name" 65 "$@" -- "$graphrun" plan wrong.yaml
}
wrong "no fields" '/fields:/d' "data.expect is not complete" "no 'fields'" 'hint: .*data inspect'
wrong "no dtype" 's/\[f32, 2\]/[2]/' 'wrong.yaml:9:17: .*not the type of a field' 'hint: \[f32, length, 40\]'
wrong "no list" 's/\[f32, 2\]/f32/' 'wrong.yaml:9:17: .*not the type of a field'
wrong "too many sizes" 's/\[f32, 2\]/[f32, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]/' 'wrong.yaml:9:17: .*not the type of a field'
wrong "a size of 0" 's/f32, 2/f32, 0/' 'wrong.yaml:9:17: .*not the type of a field'
wrong "a sample that is too large" 's/f32, 2/f32, 16777216, 16777216/' "a sample's 'x' is too large"
wrong "a count below 0" 's/train: 60/train: -1/' "wrong.yaml:7:12: .*'train' is a number from 0"
wrong "metadata that are no numbers" 's/features: 2/features: two/' "wrong.yaml:8:26: .*'features' is a number from"
wrong "no mapping" '/expect:/,/class_names/d; s/table: {path/expect: 3\n  &/' 'data.expect is a mapping, found an integer'
wrong "a table without sizes" 's/train: 60/tables: {close: [2]}/' 'wrong.yaml:7:21: .*not the type of a table'
for buckets in '' 'buckets: 3' 'buckets: []' 'buckets: [3]' 'buckets: [{length: 5}, {length: 5}]' 'buckets: [{train: 1}]' 'buckets: [{length: 5}]'; do
  cat >speech.yaml <<YAML
model: {graph: $source/docs/tour/mlp.yaml}
data:
  expect:
    metadata: {vocab: 29, mels: 8}
    fields: {x: [f32, length, 8], lengths: [i32], targets: [i32, extent], target_lengths: [i32]}
    $buckets
YAML
  expect "speech with '$buckets'" 65 'speech.yaml:[0-9]+:[0-9]+: config error: data.expect' -- "$graphrun" plan speech.yaml
done
counts
