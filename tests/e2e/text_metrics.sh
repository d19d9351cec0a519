# text_metrics.sh - metrics of the texts that an evaluation has generated: wherever metrics are, the same on any number of
# ranks, and what decides which checkpoint is best and when a run stops.
. "${0%/*}/lib.sh"
make_data
# Each letter is a word, so that there are four in a row.
awk '{ match($0, /"text": "[A-F]*"/)
  text = substr($0, RSTART + 9, RLENGTH - 10); gsub(/[A-F]/, "& ", text); sub(/ $/, "", text)
  print substr($0, 1, RSTART + 8) text substr($0, RSTART + RLENGTH - 1) }' data/tones.jsonl >data/spaced.jsonl
metrics='{words: {metric: wer}, cer: {normalise: basic}, spoken: {metric: wer, normalise: english}, bleu: bleu, chrf: chrf}'
shorter="data.manifest=$scratch/data/spaced.jsonl model.params.subsample=2 training.max_steps=80 training.eval_every=5"
# shellcheck disable=SC2086
spaced() { # spaced NAME OUT [key=value ...]: a run that must end well
  spaced_name=$1 spaced_out=$2
  shift 2
  ran "$spaced_name" "$spaced_out" $shorter "training.text_metrics=$metrics" "$@"
}
# value NAME: of `eval --json` in the file $evaluated.
value() { sed -n "s/.*\"$1\": \([-0-9.e]*\).*/\1/p" "$evaluated"; }
evaluate() { # evaluate OUT [key=value ...]
  evaluate_out=$1
  shift
  evaluated=$scratch/evaluated
  "$graphrun" eval "$scratch/$evaluate_out" --which=last --json "$@" >"$evaluated" 2>"$(new_log)"
}
between() { compare "$1" "$2" "$3" 'b < a && a < c'; }

# ---- Wherever metrics are
spaced "a run" run
evaluate run
check "words that differ, and no other number than that of the model's tokens" \
  test "$(value words)" = "$(value wer)"
check "... some do" between "$(value words)" 0 1
check "... BLEU" between "$(value bleu)" 1 99
check "... chrF" between "$(value chrf)" 1 99
check "one has the place of the model's of that name" test "$(grep -o '"cer"' "$evaluated" | wc -l)" = 1
evaluate run training.text_metrics=null
own=$(value cer)
check "... without it the model's is there" test -n "$own" -a -z "$(value bleu)"
evaluate run
check "... and is another number, because spaces at the ends are none" test "$own" != "$(value cer)"
bleu=$(value bleu)
check "a line on the console" grep -Eq '^epoch 19  step 80  validation .* words 0\.[0-9]+  spoken [0-9.]+  bleu [0-9.]+  chrf' run/run.log
check "a row of evaluations" grep -q "\"validation.bleu\": $bleu" run/evals.jsonl
check "the results" grep -q "\"validation.bleu\": $bleu" run/training_results.json
check "of the training set, too" grep -q '"train.chrf": [0-9]' run/training_results.json
"$graphrun" eval run --which=last --split=all >all 2>&1
check "of both sets together" grep -Eq '^all samples:.* bleu [0-9.]+' all

# ---- On any number of ranks
for how in 'distributed.ranks=2' 'distributed.ranks=3' 'distributed.ranks=2 distributed.strategy=tp' \
  'distributed.ranks=3 distributed.strategy=fsdp'; do
  cp evaluated one
  # shellcheck disable=SC2086
  evaluate run distributed.backend=loopback $how
  check "$how: the same numbers" \
    test "$(sed 's/.*"cer"/"cer"/' evaluated)" = "$(sed 's/.*"cer"/"cer"/' one)"
done
# The smoothing of BLEU knows counts from their multiples.
spaced "a run of few steps, which hardly finds four letters in a row" few training.max_steps=54 training.eval_every=0
evaluate few
few=$(value bleu)
evaluate few distributed.backend=loopback distributed.ranks=2 distributed.strategy=tp
check "... on ranks that read the same rows" test "$(value bleu)" = "$few"
evaluate run
if has_mpi; then
  evaluate run distributed.ranks=2 distributed.backend=mpi
  check "... of processes" test "$(sed 's/.*"cer"/"cer"/' evaluated)" = "$(sed 's/.*"cer"/"cer"/' one)"
fi

# ---- Deciding
spaced "the best by BLEU, on two ranks" best checkpoint.metric=bleu checkpoint.mode=max distributed.ranks=2 \
  distributed.backend=loopback
check "... is said" grep -Eq 'saved best model: step-[0-9]+ \(bleu: [0-9.]+\)$' best/run.log
check "... and kept" grep -q '"best_metric": "bleu"' best/training_results.json
spaced "an early stop by the words of texts" stops "hooks=[$source/hooks/early_stop.lua]" hooks_params.metric=words \
  hooks_params.patience=2 training.lr=1e-9 distributed.ranks=2 distributed.backend=loopback
check "... ends it" grep -q '"ended": "stopped: words has not improved on' stops/training_results.json
spaced "a value that one has to reach" rung 'training.stop_unless={5: 0.001}' checkpoint.metric=spoken
check "... ends it" grep -q '"ended": "stopped: after 5 epochs spoken has not reached 0.001' rung/training_results.json

# ---- Spellings
echo '{"a": "a a a", "b": "b b"}' >spelling.json
spoken=$(value spoken)
evaluate run training.spelling=spelling.json
check "a list of spellings changes what is compared" test -n "$(value spoken)" -a "$(value spoken)" != "$spoken"

# ---- What cannot be
refused() { # NAME PATTERN key=value ...
  refused_name=$1 pattern=$2
  shift 2
  # shellcheck disable=SC2086
  tones refused $shorter "$@"
  printf '%s\n' "$pattern" >patterns
  verdict "$refused_name" 65
}
t=training.text_metrics
refused "no such metric" "argument [0-9]+:1:[0-9]+: .*there is no metric of texts 'blue'" "$t={b: blue}"
check "... which there are" grep -q 'there are wer, cer, bleu, chrf' "$log"
refused "a name that is none" "there is no metric of texts 'rate'" "$t={rate: {normalise: basic}}"
refused "no such normaliser" "argument [0-9]+:1:[0-9]+: .*there is no normaliser 'germann'" "$t={wer: {normalise: germann}}"
refused "no such key" "nothing reads 'training.text_metrics.wer.normalize'" "$t={wer: {normalize: basic}}"
refused "options of another normaliser" 'are of normalise: basic, found english' \
  "$t={wer: {normalise: english, split_letters: true}}"
refused "a number" "'wer' must be a map or a name, found an? int" "$t={wer: 3}"
refused "a list" "$t must be a map of at most 16 metrics" "$t=[wer]"
refused "the place of the loss" "'loss' is no name of a metric" "$t={loss: wer}"
refused "no list of spellings" "cannot open the list of spellings 'none.json'" "training.spelling=none.json"
echo '{"a": 1}' >number.json
refused "... with a number" "'$scratch/number.json' is no list of spellings: what takes the place of 'a' is no text" \
  "training.spelling=$scratch/number.json"
echo '["a"' >open.json
refused "... that is no JSON" 'open.json:2:1: .*expected .,. or' "training.spelling=$scratch/open.json"
echo '["a"]' >list.json
refused "... that is no object" 'is no list of spellings: it is no object' "training.spelling=$scratch/list.json"
refused "no such metric to choose by" "did you mean 'chrf'" "$t={chrf: chrf}" checkpoint.metric=chf
expect "a model that generates nothing" 65 "nano.yaml:[0-9]+:[0-9]+: .*the model predicts no tokens with lengths" -- \
  "$graphrun" plan "$source/configs/whisper/nano.yaml" data.manifest=data/tones.jsonl generation.max_tokens=0 \
  checkpoint.metric=loss
seq 300 >text.txt
cat >corpus.yaml <<YAML
model: {graph: $source/graphs/gpt.yaml, params: {dim: 8, layers: 1, heads: 1}}
data: {source: corpus, corpus: {path: text.txt, context: 8}}
generation: {max_tokens: 2}
YAML
expect "data without texts as labels" 65 "argument [0-9]+:1:[0-9]+: .*the samples of this data have no texts as labels" -- \
  "$graphrun" plan corpus.yaml "$t={wer: wer}"
counts
