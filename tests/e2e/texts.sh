# texts.sh - texts with a class, or with a text to write: trained, evaluated and predicted from CSV, JSON lines and
# Parquet, on one rank and several, with bytes and with a tokenizer, and what is wrong with such files.
. "${0%/*}/lib.sh"

tok=$source/tests/golden/tokenizer
awk 'BEGIN {
  split("warm,sunny,bright,dry", good, ","); split("cold,rainy,dark,wet", bad, ",")
  print "id,words,mood"
  for (i = 0; i < 160; i++) {
    k = i % 4 + 1; m = int(i / 4) % 4 + 1; fine = int(i / 16) % 2
    print i ",\"The day, number " i ", is " (fine ? good[k] " and " good[m] : bad[k] " and " bad[m]) "\"," (fine ? "fine" : "poor")
  }
}' >days.csv
sed -n 's/^\([0-9]*\),"\(.*\)",\(.*\)$/{"mood": "\3", "n": \1, "words": "\2"}/p' days.csv >days.jsonl
cat >days.yaml <<YAML
model: {graph: $source/graphs/texts.yaml, params: {dim: 32, layers: 1, heads: 2}}
data: {source: texts, texts: {path: days.csv, text: words, label: mood}, buckets: 2, validation_fraction: 0.25}
training: {batch_size: 16, optimizer: adamw, lr: 5e-3, max_epochs: 6, eval_every: 6, seed: 1}
distributed: {ranks: 1}
YAML
expect "trains on bytes" 0 "validation set: loss .* accuracy (0.9|1)" -- "$graphrun" days.yaml output.dir=one
for key in confusion f1; do check "... its results have $key" grep -q "\"validation.$key\": " one/training_results.json; done
expect "... on two ranks" 0 -- "$graphrun" days.yaml output.dir=two distributed.ranks=2
for step in 0 5 20; do check "... step $step is the same" near "$(loss one $step)" "$(loss two $step)" 1e-4; done
expect "... from JSON lines" 0 -- "$graphrun" days.yaml output.dir=lines data.texts.path=days.jsonl
check "... the same" same_metrics one lines
expect "... from both" 66 "the column 1 is 'mood', and 'id'" -- "$graphrun" days.yaml output.dir=both 'data.texts.path=days.?s*'
expect "... with a tokenizer" 0 "of 120 texts|validation set: " -- \
  "$graphrun" days.yaml output.dir=words data.tokenizer="$tok/words.json" data.texts.max_tokens=12
expect "cuts long texts" 0 "160 of 160 texts have more than 8 tokens, and are cut" -- \
  "$graphrun" days.yaml output.dir=short data.texts.max_tokens=8 training.max_epochs=1

printf 'What a cold and wet day' >one.txt
expect "predicts a text" 0 '"input": "one.txt:1", "class": "poor", "probabilities": {"fine": 0' -- "$graphrun" predict one one.txt
expect "... and lines" 0 '"input": "few.jsonl:1", "class": "fine"' '"input": "few.jsonl:2", "class": "poor"' -- sh -c \
  'printf "{\"words\": \"sunny and warm\"}\n{\"words\": \"rainy, dark\"}\n" >few.jsonl; exec "$@"' sh "$graphrun" predict one few.jsonl

expect "... and says which it leaves out" 0 '"input": "gap.jsonl:1"' "skipped 1 of 2 texts: 1 " -- sh -c \
  'printf "{\"words\": \"sunny\"}\n{\"words\": \"\"}\n" >gap.jsonl; exec "$@"' sh "$graphrun" predict one gap.jsonl

wrong() { # NAME LINE MESSAGE TEXT: evaluating such lines is an error
  printf '%b' "$4" >wrong.jsonl
  expect "$1" 66 "wrong.jsonl:$2:.*$3" -- "$graphrun" eval one data.texts.path=wrong.jsonl --split=all
}
wrong "a label that the run has not" 2 "'sad' is none of the 2 classes" '{"words": "a", "mood": "fine"}\n{"words": "b", "mood": "sad"}\n'
wrong "a column that is missing" 1 "no column 'words'" '{"word": "a", "mood": "fine"}\n'
wrong "a number for a text" 2 "no text" '{"words": "a", "mood": "fine"}\n{"words": 7, "mood": "fine"}\n'
wrong "a text that is not UTF-8" 1 "0xff is not UTF-8" '{"words": "a\377", "mood": "fine"}\n'
wrong "no JSON" 2 "expected" '{"words": "a", "mood": "fine"}\n{"words": \n'
expect "a column of numbers" 66 "days.csv:2:.*no text" -- "$graphrun" days.yaml output.dir=x data.texts.text=id
check "... makes no folder" test ! -e x

# Texts to write: the same on any ranks, from any file, and what may not be said of them.
"$graphrun" new dates --data=pairs >"$(new_log)" 2>&1
sed -n 's/^\(.*\),\(.*\)$/{"date": "\2", "words": "\1"}/p' dates/data.csv | sed '1d; 200q' >dates.jsonl
pairs="dates/config.yaml data.texts.path=dates/data.csv hooks=[dates/hook.lua] model.graph=dates/graph.yaml
  training.max_steps=20 distributed.ranks=1 checkpoint.keep_best=0"
# shellcheck disable=SC2086
{
  expect "texts to write" 0 "validation set: .* cer .* wrong .* chrf " -- "$graphrun" $pairs output.dir=write
  for ranks in 2 3; do
    expect "... on $ranks ranks" 0 -- \
      "$graphrun" $pairs output.dir=write$ranks distributed.ranks=$ranks distributed.strategy=fsdp
    for step in 0 9 19; do
      check "... step $step is the same" near "$(loss write $step)" "$(loss write$ranks $step)" 1e-4
    done
  done
  # A loop with the position of its step turns the rows of each rank by it, and gathers none.
  "$graphrun" plan $pairs --ranks=2 >split.plan 2>&1
  check "... each rank writes its own" sh -c '! grep "all_gather" split.plan && grep -q "^program eval" split.plan'
  for ranks in 1 2; do
    "$graphrun" eval write data.limit=300 distributed.ranks=$ranks 2>/dev/null | grep "^validation set: " >scored$ranks
  done
  check "... as one writes them" cmp scored1 scored2
  check "... and scores them" grep -q " cer .* chrf " scored1
  expect "... with a tokenizer" 0 "validation set: " -- \
    "$graphrun" $pairs output.dir=merged data.tokenizer="$tok/words.json" data.texts.path=dates.jsonl \
    'data.texts.prefix=["a"]' 'data.texts.suffix=["b"]' training.max_steps=2
  expect "... predicted from lines" 0 '^\{"input": "dates.jsonl:1", "text": "' -- "$graphrun" predict write dates.jsonl
  wrong_key() { # NAME MESSAGE KEY: no run begins
    expect "$1" 65 "$2" -- "$graphrun" $pairs output.dir=none "$3"
  }
  wrong_key "a class beside a text to write" \
    "'data.texts.label' has no effect: data.texts.target makes another text" data.texts.label=date
  wrong_key "tokens around no text to write" \
    "'data.texts.prefix' has no effect: there is no data.texts.target" data.texts.target=null
  wrong_key "an end without a beginning" "data.texts.suffix needs data.texts.prefix" 'data.texts.prefix=[]'
  wrong_key "two tokens for one" "the symbol 'ab' is not one token" 'data.texts.suffix=["ab"]'
  check "... make no folder" test ! -e none
  expect "no tokens around no text to write" 0 -- "$graphrun" data inspect days.yaml 'data.texts.prefix=[]'
}
counts
