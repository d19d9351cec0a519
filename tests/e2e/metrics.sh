# metrics.sh - metrics of all samples together: sums that evaluation adds up and report: finishes, against
# tests/golden/metrics.txt, on any number of ranks; the best by one of them; tables and pictures.
. "${0%/*}/lib.sh"

golden=$source/tests/golden
{
  head -1 "$golden/metrics.csv" | sed 's/$/,split/'
  awk 'NR > 1 { print $0 (NR % 7 ? ",validation" : ",train") }' "$golden/metrics.csv"
} >samples.csv
cat >model.yaml <<'YAML'
inputs: {x: {shape: [n, c]}, y: {shape: [n], dtype: i32}}
nodes:
  - scores: {slice: x, axis: 1, from: 0, size: 5}
  - b: {param: [5], name: bias}
  - logits: {add: [scores, b]}
  - loss: {cross_entropy: [logits, y]}
  - acc: {accuracy: [logits, y]}
  - counts: {confusion_matrix: [logits, y]}
  - score: {slice: x, axis: 1, from: 5, size: 1}
  - score: {reshape: score, shape: [n]}
  - above: {cast: y, to: f32}
  - above: {less: [1.5, above]}
  - above: {cast: above, to: i32}
  - histogram: {score_histogram: [score, above], bins: 100}
  - total: {batch_sum: scores}
train: loss
metrics: {accuracy: acc}
sums: {counts?: counts, histogram: histogram, total: total, absent?: nothing}
report:
  nodes:
    - number: {sum: counts, axes: [0, 1]}
    - mean: {div: [total, number]}
    - perplexity: {exp: loss}
    - p0: {precision: counts}
    - p1: {precision: counts, average: weighted}
    - p2: {precision: counts, average: micro}
    - r0: {recall: counts}
    - r1: {recall: counts, average: weighted}
    - r2: {recall: counts, average: micro}
    - f0: {f1: counts}
    - f1: {f1: counts, average: weighted}
    - f2: {f1: counts, average: micro}
    - precision, recall, f, samples: {class_scores: counts}
    - balanced: {balanced_accuracy: counts}
    - iou: {iou: counts}
    - mean_iou: {mean_iou: counts}
    - auc: {auc: histogram}
  metrics: {precision_macro: p0, precision_weighted: p1, precision_micro: p2, recall_macro: r0, recall_weighted: r1,
            recall_micro: r2, f1_macro: f0, f1_weighted: f1, f1_micro?: f2, absent?: nothing,
            balanced_accuracy: balanced, mean_iou: mean_iou, auc: auc, perplexity: perplexity}
  results: {confusion: counts, precision: precision, recall: recall, f1: f, iou: iou, mean: mean}
YAML
cat >run.yaml <<YAML
model: {graph: model.yaml}
data:
  source: table
  table: {path: samples.csv, label: label, normalize: false, split: split}
training: {batch_size: 9, max_epochs: 0, seed: 1}
distributed: {ranks: 1, backend: loopback}
checkpoint: {metric: f1_macro, mode: max}
YAML

# numbers NAME FILE: those of a JSON object's key, a number or nested arrays of them.
numbers() {
  sed -n "s/.*\"$1\": \(\[*[^]a-z]*\(\], \[[^]]*\)*\]*\).*/\1/p" "$2" | tr -d '[]' | sed 's/,* *"*$//; s/,//g; s/}*$//'
}
golden_is() { # NAME JSON
  got=$(numbers "$1" "$2")
  want=$(sed -n "s/^$1 //p" "$golden/metrics.txt")
  awk -v got="$got" -v want="$want" "$distance"'BEGIN {
    n = split(got, a, " "); if (!n || n != split(want, b, " ")) exit 1
    for (i = 1; i <= n; i++) if (!number(a[i]) || size(a[i] - b[i]) > 2e-6 * (1 + size(b[i]))) exit 1
  }'
}

expect "a run" 0 -- "$graphrun" run.yaml output.dir=one
limited "$graphrun" eval one --split=all --json
cp "$log" one.json
while read -r name _; do
  check "$name is the definition's" golden_is "$name" one.json
done <"$golden/metrics.txt"
check "counts are whole numbers" grep -q '"confusion": \[\[331, 42, 43, 0, 9\], \[15, 118, 22, 0, 1\]' one.json

tables() { sed -n 's/.*\("confusion".*\), "mean.*/\1/p' "$1"; }
# Batches of 9 on 2 and 3 ranks are padded unevenly. Products in bf16 count up to 256 alone.
for ranks in 2 3; do
  limited "$graphrun" eval one --split=all --json "distributed.ranks=$ranks"
  check "the same tables on $ranks ranks" test "$(tables "$log")" = "$(tables one.json)"
  check "... and mean" golden_is mean "$log"
done
limited "$graphrun" eval one --split=all --json training.batch_size=700
check "the same counts in one batch" test "$(numbers confusion "$log")" = "$(numbers confusion one.json)"
expect "a run in bf16" 0 -- "$graphrun" run.yaml output.dir=bf16 training.precision=bf16 training.batch_size=700
limited "$graphrun" eval bf16 --split=all --json
check "... counts as exactly" awk -v s="$(numbers confusion "$log")" 'BEGIN {
  n = split(s, a, " "); for (i = 1; i <= n; i++) t += a[i]; exit !(n == 25 && t == 700) }'

expect "evaluation prints the tables" 0 '^all samples: loss .* f1_macro 0.3920 .*balanced_accuracy 0.5366 ' '^confusion:$' '^  0 +331 +42 +43' \
  '^precision:$' '^  1 +0.6277' -- "$graphrun" eval one --split=all

# The best evaluation is that of the metric; each line has all values once.
check "the best is by the reported metric" grep -q '"best_metric": "f1_macro"' one/training_results.json
check "... with its value" near "$(numbers best_value one/training_results.json)" \
  "$(numbers validation.f1_macro one/evals.jsonl)" 1e-9
check "the console line names the saved best" \
  grep -Eq '^epoch 0  step 0  validation  loss .*  f1_macro 0.3865 .*  saved best model: step-00000000 \(f1_macro: 0.3865\)$' one/run.log
check "evals.jsonl has the tables" grep -q '"validation.confusion": \[\[' one/evals.jsonl
check "and the results" grep -q '"train.confusion": \[\[' one/training_results.json
sum_of() { numbers "$1" "$2" | awk '{ for (i = 1; i <= NF; i++) n += $i; print n }'; }
check "... of the training set alone" test "$(sum_of train.confusion one/training_results.json)" = 100
check "... and of the validation set" test "$(sum_of validation.confusion one/training_results.json)" = 600
expect "what the page shows, as JSON" 0 '"kind": "run"' -- "$graphrun" report one --json
check "... has a row of the matrix for each class" sh -c \
  'tr -d " \n" <"$1" | grep -o "\"validation.confusion\":\[\[[][0-9,]*\]\]" | tr "[" "\n" | grep -c , | grep -qx 5' sh "$log"
check "... and so has the page" grep -q '"validation.confusion": \[\[' one/report.html
cp one/validation.confusion.svg one/validation.earlier.svg
expect "... and the pictures of this run alone" 0 -- "$graphrun" report one
check "... of which there is one" test "$(grep -o 'data:image/svg' one/report.html | wc -l)" = 1
check "the matrix is drawn" grep -q '>validation.confusion</text>' one/validation.confusion.svg
check "... and in TensorBoard" grep -aq 'eval/validation.confusion' one/events.*

expect "plan has the program" 0 '^program report$' -- "$graphrun" plan run.yaml
expect "a metric that is not reported" 65 "the model has no metric 'f1_macr'" "did you mean 'f1_macro'" -- \
  "$graphrun" plan run.yaml checkpoint.metric=f1_macr

# Sums over buckets of several lengths, each of which has a program of its own: the frames of all
# recordings, added up as real and as whole numbers. The input, whose size a bucket decides, is needed when
# they are known, so that their places in memory differ between the programs.
make_data
cat >frames.yaml <<'YAML'
params: {mels: 80, vocab: 32}
inputs:
  x: {shape: [n, t, mels]}
  lengths: {shape: [n], dtype: i32}
  targets: {shape: [n, u], dtype: i32}
  target_lengths: {shape: [n], dtype: i32}
nodes:
  - each: {cast: lengths, to: f32}
  - each: {reshape: each, shape: [n, 1]}
  - frames: {batch_sum: each}
  - frames: {sum: frames, axes: [0]}
  - real: {cast: sample_weight, to: i32}
  - whole: {mul: [lengths, real]}
  - whole: {sum: whole, axes: [0]}
  - below: {neg: whole}
  - first: {linear: x, out: mels, name: first}
  - both: {add: [first, x]}
  - logits: {linear: both, out: vocab, name: head}
  - loss: {ctc_loss: [logits, targets, lengths, target_lengths]}
train: loss
sums: {frames: frames, whole: whole, below: below}
report: {metrics: {all_frames: frames, whole_frames: whole, below_0: below}}
YAML
frames() { # OUT KEY=VALUE...: the frames of the validation set, counted in three ways
  ran "frames of recordings: $2" "$@" model.graph="$scratch/frames.yaml" '~model.params' checkpoint.metric=loss \
    training.max_steps=1 logging.show_samples=0
  sed -n 's/^validation set: .*all_frames \([0-9.]*\) whole_frames \([0-9.]*\) below_0 -\([0-9.]*\)$/\1 \2 \3/p' "$log" >"$1.frames"
}
frames one_bucket data.buckets=1
check "... the same as whole numbers" awk '{ exit !($1 > 100 && $1 == $2 && $1 == $3) }' one_bucket.frames
for buckets in 2 3; do
  frames "in$buckets" data.buckets=$buckets
  check "... and in $buckets buckets" cmp one_bucket.frames "in$buckets.frames"
done
frames on_ranks data.buckets=2 distributed.ranks=2 distributed.backend=loopback
check "... and on two ranks" cmp one_bucket.frames on_ranks.frames

counts
