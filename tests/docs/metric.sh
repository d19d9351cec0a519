# metric.sh - the metrics of add-a-metric.md are reported wherever metrics are.   metric.sh GRAPHRUN SOURCE MAKE_TONES
. "${0%/docs/*}/e2e/lib.sh"
awk 'BEGIN { srand(4); print "width,weight,kind"
  for (i = 0; i < 120; i++) { k = i % 4; printf "%.4f,%.2f,%s\n", k + 0.9 * rand(), 9 * (k == 1) + rand(), substr("redblugrewhi", k * 3 + 1, 3) }
}' >kinds.csv
cat >run.yaml <<YAML
model: {graph: $source/tests/docs/metric.yaml}
data: {source: table, table: {path: kinds.csv, label: kind}}
training: {batch_size: 16, max_epochs: 3, seed: 1, lr: 1e-2}
checkpoint: {metric: top2, mode: max}
logging: {progress: false}
YAML
for ranks in 1 3; do
  expect "a run with the metrics, ranks: $ranks" 0 "^validation set: loss [0-9.]+ top2 [01]\.[0-9]+ sure 0\.[0-9]+ balanced [01]" -- \
    "$graphrun" run.yaml output.dir=run$ranks distributed.ranks=$ranks distributed.backend=loopback
done
for name in top2 sure balanced; do
  check "$name is in the results" grep -qE "\"validation.$name\": [01]" run1/training_results.json
done
check "the best checkpoint is chosen by one" grep -q '"best_metric": "top2"' run1/training_results.json
first() { sed -n '1s/.*"validation.top2": \([0-9.]*\).*/\1/p' "$1/epochs.jsonl"; }
check "it is the same on three ranks" near "$(first run1)" "$(first run3)" 1e-6
counts
