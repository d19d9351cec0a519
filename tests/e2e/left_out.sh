# left_out.sh - what is left out of data, or changed in them: each reason is said once, with how many there are and the
# first of them. A line of the table is
#
#   NAME | how often a line matches | what it matches | COMMAND
. "${0%/*}/lib.sh"
gr() { timeout -k 5 "$limit" "$graphrun" "$@"; }
for kind in speech series segmentation text video texts; do
  gr new $kind --data=$kind >"$(new_log)" 2>&1 || fail "the project $kind" "exit code $?"
  sed -i 's/^hooks.*//' $kind/config.yaml
done
quick="distributed.ranks=1 training.max_epochs=1 logging.show_samples=0 output.dir=out"
# train KIND [key=value ...]: a run of that project.
# shellcheck disable=SC2086
train() {
  kind=$1
  shift
  gr "$kind/config.yaml" $quick "$@"
}
inspect() { gr data inspect "$@"; }
# model SED: a speech recogniser with another model.
model() {
  sed "$1" speech/graph.yaml >speech/g.yaml
  shift
  train speech model.graph=speech/g.yaml "$@"
}
judge() {
  rm -rf out
  (eval "$4") >"$(new_log)" 2>&1 </dev/null
  code=$?
  n=$(grep -Ec -e "$3" "$log")
  if [ "$code" != 0 ]; then
    fail "$1" "exit code $code"
  elif [ "$n" = "$2" ]; then
    ok "$1"
  else
    fail "$1" "$n lines, not $2, say /$3/"
  fi
}
awk '{ print } NR % 20 == 0 { print "" }' "$source/docs/tour.md" >long.txt
while IFS='|' read -r name times pattern command; do
  times=$(echo $times) pattern=$(echo "$pattern" | sed 's/^ *//; s/ *$//')
  case $name in '' | '#'*) continue ;; esac
  judge "$(echo "$name" | sed 's/ *$//')" "$times" "$pattern" "$command"
done <<'CASES'
texts that the model leaves too few frames for | 1 | ^warning: 96 of 120 utterances have more text than the model leaves frames of them, and no part in the loss .ctc_loss, speech/g.yaml:18:12.: data.speech.subsampling=16 skips them, fewer strides keep them .the first: speech/data/manifest.jsonl:1.$ | model 's/stride: 2/stride: 16/; s/by: 2/by: 16/'
... with micro-steps | 1 | ^warning: 96 of 120 utterances have more text than | model 's/stride: 2/stride: 16/; s/by: 2/by: 16/' training.accumulate=2
... that make the loss infinite | 1 | ^warning: 96 of 120 utterances have more text than .*, and an infinite loss | model 's/stride: 2/stride: 16/; s/by: 2/by: 16/; s/zero_infinity: true/zero_infinity: false/' training.max_steps=1 || true
... that data.speech.subsampling skips | 0 | have more text than the model | model 's/stride: 2/stride: 16/; s/by: 2/by: 16/' data.speech.subsampling=16
... which is said | 1 | ^skipped 96 of 120 utterances: 96 with more text than their frames hold .the first: speech/data/manifest.jsonl:1.$ | model 's/stride: 2/stride: 16/; s/by: 2/by: 16/' data.speech.subsampling=16
texts that fit | 0 | have more text than|have more frames | train speech
lengths that are not those of the logits | 1 | ^warning: 120 of 120 utterances have more frames by their lengths than the logits have, .*ctc_loss, speech/g.yaml:17:12.: .*ceil_div.* .the first: speech/data/manifest.jsonl:1.$ | model '/ceil_div/d'
samples beyond data.limit | 1 | ^utterances that data.limit=50 leaves out: 70 .the first: speech/data/manifest.jsonl:51.$ | inspect speech/config.yaml data.limit=50
symbols that are dropped | 1 | ^59 of 117 utterances lose symbols that are not in the vocabulary .*.the first: speech/data/manifest.jsonl:1.$ | inspect speech/config.yaml data.speech.vocab=ABCDE data.speech.text.unknown=drop
... and which they are | 1 | ^transcripts lose 'F' .62.: add what is spoken to data.speech.vocab | train speech data.speech.vocab=ABCDE data.speech.text.unknown=drop
the ends of recordings | 1 | ^[0-9]+ of 120 utterances are cut to data.speech.features.seconds .the first: speech/data/manifest.jsonl:[0-9]+.$ | inspect speech/config.yaml data.speech.features.seconds=0.5 data.buckets=1
long recordings | 1 | ^skipped 46 of 120 utterances: 46 longer than 41 frames .the first: speech/data/manifest.jsonl:[0-9]+.$ | inspect speech/config.yaml data.speech.max_seconds=0.4
rows behind the last window | 1 | ^rows of no window, at the end of their series: [0-9]+ .the first: series/[a-z.]+:[0-9]+.$ | inspect series/config.yaml data.table.window=7
windows beyond data.limit | 1 | ^samples that data.limit=3 leaves out: [0-9]+ .the first: series/[a-z.]+:[0-9]+.$ | inspect series/config.yaml data.limit=3
masks of no image | 1 | ^masks that are of no image: 2 .the first: segmentation/masks/lost1.png.$ | for i in 1 2; do cp segmentation/masks/000.* segmentation/masks/lost$i.png; done; inspect segmentation/config.yaml
images beyond data.limit | 1 | ^images that data.limit=5 leaves out: [0-9]+ .the first: segmentation/images/005.ppm.$ | inspect segmentation/config.yaml data.limit=5
tokens behind the last sample | 1 | ^tokens at an end of the text that are in no sample: [0-9]+ .the first: long.txt.$ | inspect text/config.yaml 'data.corpus.path=[long.txt]' data.corpus.context=1000
frames behind the last clip | 1 | ^frames behind the last clip of their video: [0-9]+ .the first: [a-z0-9./]+.npy.$ | inspect video/config.yaml data.video.frames=5 data.video.stride=5
texts that are cut | 1 | ^[0-9]+ of [0-9]+ texts have more than 9 tokens, and are cut .data.texts.max_tokens. .the first: texts/[a-z.]+:2.$ | inspect texts/config.yaml data.texts.max_tokens=9
CASES
"$source/tools/market-data" prices >"$(new_log)" 2>&1 || fail "prices" "exit code $?"
first=$(ls prices | head -n 1)
sed -i 7d "prices/$first" && touch prices/notes.txt
market="data.source=market data.market.path=prices"
# shellcheck disable=SC2086
expect "days that a ticker lacks, features that are cut off, and other files" 0 \
  "^rows of days that some tickers lack: 4 .the first: prices/T01.csv:7.$" \
  "^features beyond 5 deviations, which are cut off there: [0-9]+ .the first: rsi of T00 on .*.$" \
  "^files that do not end in .csv: 1 .notes.txt.$" -- "$graphrun" data inspect "$source/configs/ppo/market.yaml" $market
counts
