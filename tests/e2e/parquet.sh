# parquet.sh - tables in Parquet files (golden/parquet_samples.py): a run on them is the run on CSV with the
# same values; what is not read is named where it is wanted.
. "${0%/*}/lib.sh"
samples=$source/tests/golden/parquet_samples
cp "$samples"/kinds* "$samples"/tags.parquet .

cat >table.yaml <<YAML
model: {graph: $source/graphs/mlp.yaml, params: {dim: 16, layers: 1}}
data: {source: table, validation_fraction: 0.25, skip_unreadable: true, table: {path: kinds.csv, label: kind}}
training: {batch_size: 16, lr: 1e-2, max_epochs: 4, eval_every: 2, seed: 2}
distributed: {ranks: 1}
checkpoint: {metric: accuracy, mode: max}
YAML
# table OUT [key=value ...]: a run.
table() {
  table_out=$1
  shift
  limited "$graphrun" table.yaml "output.dir=$scratch/$table_out" "$@"
}
table csv
check "a run on CSV ends" [ "$code" = 0 ]
table parquet 'data.table.path=kinds-*.parquet'
check "a run on Parquet files ends" [ "$code" = 0 ]
check "with the same metrics" same_metrics csv parquet
check "the same tensors" same_tensors csv/checkpoints parquet/checkpoints
check "the same classes, features and statistics" cmp csv/data.json parquet/data.json
# Rows are named by their files: what is predicted is the same.
said() { grep -E 'predict|^\{' "$log" | sed -E 's/kinds-1\.(parquet|csv):[0-9]+//'; }
sed -n '1p;102,$p' kinds.csv >kinds-1.csv
limited "$graphrun" predict parquet kinds-1.parquet
said >said.parquet
limited "$graphrun" predict parquet kinds-1.csv
said >said.csv
check "predictions of a Parquet file are those of CSV" cmp said.parquet said.csv
check "and there are some" test -s said.parquet

expect "data inspect shows columns, types and what is missing" 0 'width +f64 +feature' 'count +i64 +feature' \
  '6 missing, first in row 8' 'kind +text +label: classes' -- \
  "$graphrun" data inspect table.yaml 'data.table.path=kinds-*.parquet'
expect "a missing value is an error with its row" 66 "kinds-0.parquet:8:1: .*'weight' has no value in this row" -- \
  "$graphrun" plan table.yaml 'data.table.path=kinds-*.parquet' data.skip_unreadable=false
check "which is not quoted: it is no line of text" sh -c '! grep -q " 8 |" "$1"' sh "$log"
table tags data.table.path=tags.parquet training.max_epochs=1
check "a column of lists is left out, and named" grep -q '1 feature: width; 2 left out: tags (is a list), price (has decimal numbers)' "$log"
expect "and refused as a label" 66 "the column 'tags' of 'tags.parquet' is a list, which is not read" -- \
  "$graphrun" plan table.yaml data.table.path=tags.parquet data.table.label=tags
expect "and decimal numbers as a feature" 66 "the column 'price' of 'tags.parquet' has decimal numbers, which is not read" -- \
  "$graphrun" plan table.yaml data.table.path=tags.parquet 'data.table.features=[price]'
mkdir mixed && cp kinds-0.parquet tags.parquet mixed
expect "files with other columns" 66 "'mixed/tags.parquet' has [0-9] columns, and 'mixed/kinds-0.parquet' 5" -- \
  "$graphrun" plan table.yaml 'data.table.path=mixed/*.parquet'
head -c 3000 kinds-0.parquet >cut.parquet
expect "a file that is cut short" 66 "'cut.parquet' is no Parquet file: it does not end with PAR1" -- \
  "$graphrun" plan table.yaml data.table.path=cut.parquet
cp kinds-0.parquet damaged.parquet
printf 'XXXXXXXXXXXXXXXX' | dd of=damaged.parquet bs=1 seek=60 conv=notrunc 2>/dev/null
expect "a file that is damaged" 66 "'damaged.parquet' is damaged: at byte [0-9]+, a page" "column 'name'" -- \
  "$graphrun" plan table.yaml data.table.path=damaged.parquet

# Recordings: a run on Parquet files, and what it predicts for one.
mkdir speech && cp "$samples"/speech-[01].parquet speech && cp "$samples/speech-missing.parquet" .
# speech OUT [key=value ...]: a run on recordings.
speech() {
  speech_out=$1
  shift
  limited "$graphrun" "$source/tests/e2e/tones.yaml" "model.graph=$source/graphs/lmu_asr.yaml" 'data.vocab="abc "' \
    data.text.case=keep 'data.manifest=speech/*.parquet' "output.dir=$scratch/$speech_out" "$@"
}
speech heard training.max_steps=4
check "a run on recordings in Parquet files ends" [ "$code" = 0 ]
check "which has all of them" grep -q '"train": 1[0-9], "validation": [2-6],' heard/data.json
speech both training.max_steps=4 distributed.ranks=2
check "two ranks read them, too" [ "$code" = 0 ]
expect "recordings to predict" 0 'u000.wav' 'u007.wav' -- "$graphrun" predict heard speech/speech-0.parquet
expect "a row without a recording" 66 "speech-missing.parquet:2:1: data error: .*its bytes are missing" -- \
  "$graphrun" predict heard speech-missing.parquet
speech column data.text.column=speaker
verdict_of() { grep -q "$1" "$log"; }
check "a column that is no text" verdict_of "the column 'speaker' of 'speech/speech-0.parquet' is no text"
counts
