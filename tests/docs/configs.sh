#!/bin/sh
# Every configuration that can be a run by itself compiles, without its recordings.   configs.sh GRAPHRUN
cd "$(dirname "$0")/../.." || exit 1
graphrun=$1 passed=0 failed=0
# plans NAME [key=value ...]: configs/NAME.yaml has a plan, of which no node mixes the rows of a batch with padding.
plans() {
  config=configs/$1.yaml
  shift
  if said=$("$graphrun" plan "$config" "$@" 2>&1) && case $said in *"mixed rows"*) false ;; esac; then
    passed=$((passed + 1))
  else
    echo "FAIL: $config: $said" >&2
    failed=$((failed + 1))
  fi
}
for of in single_gpu multi_gpu lmu_asr_full; do
  plans $of data.manifest=docs/tour/speech.jsonl data.buckets=1 data.validation_fraction=0.0
done
for of in nano tiny base small medium large-v3 guide; do
  plans whisper/$of data.manifest=docs/tour/speech.jsonl data.validation_fraction=0.0 \
    data.vocab=configs/whisper/letters.txt 'data.speech.text.prefix=["<s>"]' 'data.speech.text.suffix=["</s>"]'
done
tables=$(mktemp -d "${TMPDIR:-/tmp}/graphrun-configs-XXXXXX") || exit 1
trap 'rm -rf "$tables"' EXIT
# The tables are made of lines as the package has them, by the script that makes the real ones.
row=0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0
printf '%s\n' "$row,$row,0" "$row,$row,1" | gzip >"$tables/digits.csv.gz"
printf '%s\n' 2,13,a,b 1,2,3,4,5,6,7,8,9,10,11,12,13,1 2,2,3,4,5,6,7,8,9,10,11,12,13,0 >"$tables/wine_data.csv"
tools/table-data --from "$tables" "$tables" >/dev/null || exit 1
plans digits data.table.path="$tables/digits.npz" data.validation_fraction=0.0
plans table data.table.path="$tables/wine.csv" data.validation_fraction=0.0
tools/video-data --videos 6 "$tables/motions" >/dev/null || exit 1
# The networks in full are planned for clips of this size.
for of in motions cnn3d cnn3d_3m; do
  plans video/$of data.video.path="$tables/motions/list.csv" data.video.frames=9 training.batch_size=4
done
tools/har-data --windows 12 "$tables/har" >/dev/null || exit 1
for of in vit dp pretrain small; do
  plans har/$of data.table.path="$tables/har/windows.csv" model.init_from=null
done
tools/watch-data --from tests/golden/watch4.npy "$tables/watch" >/dev/null || exit 1
watch="data.table.path=[$tables/watch/watch.npy,$tables/watch/watch.csv]"
for of in watch:model.params.blocks=1 watch_plots:training.seed=1; do
  plans "har/${of%%:*}" "${of#*:}" "$watch" data.table.window=2 data.table.stride=1
done
for of in market:5 clstm:18 paper:30; do
  tools/market-data --tickers="${of#*:}" --days=700 "$tables/market" >/dev/null || exit 1
  plans "ppo/${of%:*}" data.market.path="$tables/market"
done
plans gpt data.corpus.path=docs/decisions.md
printf '%s\n' a,b,c,label 3,1,4,0 1,5,9,1 >"$tables/sequences.csv"
plans encoder data.table.path="$tables/sequences.csv" 'data.table.features=[a,b,c]' data.table.label=label \
  model.params.layers=1 data.validation_fraction=0.0
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
