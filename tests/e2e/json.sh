# json.sh - every file and every --json is JSON (RFC 8259), also where numbers are not finite: by
# Python's parser, whose extensions are errors here.
. "${0%/*}/lib.sh"

for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
  x=$i
  [ "$i" -gt 1 ] || x=1e25
  echo "$x,$((i % 2)),$( [ "$i" -gt 8 ] && echo validation || echo train)"
done | sed '1i x,label,split' >samples.csv
# The gradient of the large sample is finite, and the sum of its squares is not; log 0 and 0 log 0.
cat >model.yaml <<'YAML'
inputs: {x: {shape: [n, c]}, y: {shape: [n], dtype: i32}}
nodes:
  - w: {param: [2, c], name: w}
  - logits: {matmul: [x, w], tb: true}
  - loss: {cross_entropy: [logits, y]}
  - zero: {scale: logits, by: 0.0}
  - below: {log: zero}
  - none: {mul: [below, zero]}
  - least: {sample_sum: below}
  - nan: {sample_sum: none}
train: loss
metrics: {least: least, not_a_number: nan}
predict: {below: below, none: none}
YAML
cat >run.yaml <<'YAML'
model: {graph: model.yaml}
data:
  source: table
  table: {path: samples.csv, label: label, normalize: false, split: split}
training: {batch_size: 2, max_epochs: 2, seed: 3, log_every: 1}
distributed: {ranks: 1, backend: loopback}
YAML

cat >strict.py <<'PY'
import json, sys

def refuse(word):
    raise ValueError(word + " is no JSON")

found = 0
for path in sys.argv[1:]:
    text = open(path).read()
    rows = text.splitlines() if path.endswith("l") else [text]
    for row in rows:
        json.loads(row, parse_constant=refuse)
        found += sum(row.count('"%s"' % word) for word in ("NaN", "Infinity", "-Infinity"))
print(found)
PY
python=$(command -v python3)
strict() { "$python" strict.py "$@"; }

expect "a run whose gradient overflows" 0 -- "$graphrun" run.yaml output.dir=run
check "it overflows" grep -q '"grad_norm": "Infinity"' run/metrics.jsonl
check "metrics may be infinite" grep -q '"validation.least": "-Infinity"' run/evals.jsonl
check "... and not numbers" grep -q '"validation.not_a_number": "NaN"' run/evals.jsonl
check "no file has a number that JSON lacks" sh -c \
  '! grep -rIlE "[:[ ](-?Infinity|NaN|nan|-?inf)[],} ]" --include=*.json --include=*.jsonl run'
check "the log shows it without a sign, which machines differ in" sh -c "grep -q 'not_a_number nan' $log && ! grep -q -- -nan $log"
expect "plot reads them" 0 'loss' -- "$graphrun" plot run --key=loss,grad_norm
expect "report too" 0 -- "$graphrun" report run
expect "a run goes on from its checkpoint" 0 -- "$graphrun" run.yaml output.dir=run training.max_epochs=3

json() { # NAME ARGUMENT...: what --json prints
  json_name=$1
  shift
  "$graphrun" "$@" >"$json_name" 2>error.txt </dev/null
}
json eval.json eval run --json
check "eval prints them as texts" grep -q '"least": "-Infinity"' eval.json
json predict.jsonl predict run samples.csv
check "and predict" grep -q '"below": \["-Infinity", "-Infinity"\]' predict.jsonl
json runs.json runs run --json
json shown.json ckpt show run/checkpoints --json
json data.json data inspect run.yaml --json
json plan.json plan run.yaml --json
json version.json --version --json
if [ -n "$python" ]; then
  for file in eval.json predict.jsonl runs.json shown.json data.json plan.json version.json \
    $(find run -name '*.json' -o -name '*.jsonl'); do
    if [ -s "$file" ]; then check "$file is JSON" strict "$file"; fi
  done
  check "they have many such numbers" test "$(strict run/metrics.jsonl run/evals.jsonl predict.jsonl)" -ge 20
else
  skip "strict JSON" "there is no python3"
fi

counts
