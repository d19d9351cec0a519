#!/bin/sh
# Every configuration that can be a run by itself compiles, without its recordings.   configs.sh GRAPHRUN
cd "$(dirname "$0")/../.." || exit 1
passed=0 failed=0
for config in single_gpu multi_gpu lmu_asr_full; do
  if said=$("$1" plan configs/$config.yaml data.manifest=docs/tour/speech.jsonl data.buckets=1 \
    data.validation_fraction=0.0 2>&1); then
    passed=$((passed + 1))
  else
    echo "FAIL: configs/$config.yaml: $said" >&2
    failed=$((failed + 1))
  fi
done
for size in nano tiny base small medium large-v3 guide; do
  if said=$("$1" plan configs/whisper/$size.yaml data.manifest=docs/tour/speech.jsonl data.validation_fraction=0.0 \
    data.vocab=configs/whisper/letters.txt 'data.speech.text.prefix=["<s>"]' 'data.speech.text.suffix=["</s>"]' 2>&1); then
    passed=$((passed + 1))
  else
    echo "FAIL: configs/whisper/$size.yaml: $said" >&2
    failed=$((failed + 1))
  fi
done
tables=$(mktemp -d "${TMPDIR:-/tmp}/graphrun-configs-XXXXXX") || exit 1
trap 'rm -rf "$tables"' EXIT
# The tables are made of lines as the package has them, by the script that makes the real ones.
row=0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0
printf '%s\n' "$row,$row,0" "$row,$row,1" | gzip >"$tables/digits.csv.gz"
printf '%s\n' 2,13,a,b 1,2,3,4,5,6,7,8,9,10,11,12,13,1 2,2,3,4,5,6,7,8,9,10,11,12,13,0 >"$tables/wine_data.csv"
tools/table-data --from "$tables" "$tables" >/dev/null || exit 1
for config in digits:digits.npz table:wine.csv; do
  table=${config#*:} config=${config%:*}
  if said=$("$1" plan configs/$config.yaml data.table.path="$tables/$table" data.validation_fraction=0.0 2>&1); then
    passed=$((passed + 1))
  else
    echo "FAIL: configs/$config.yaml: $said" >&2
    failed=$((failed + 1))
  fi
done
tools/video-data --videos 6 "$tables/motions" >/dev/null || exit 1
# The networks in full are planned for clips of this size.
for config in motions cnn3d cnn3d_3m; do
  if said=$("$1" plan "configs/video/$config.yaml" data.video.path="$tables/motions/list.csv" data.video.frames=9 \
    training.batch_size=4 2>&1); then
    passed=$((passed + 1))
  else
    echo "FAIL: configs/video/$config.yaml: $said" >&2
    failed=$((failed + 1))
  fi
done
tools/har-data --windows 12 "$tables/har" >/dev/null || exit 1
for config in vit dp pretrain small; do
  if said=$("$1" plan configs/har/$config.yaml data.table.path="$tables/har/windows.csv" model.init_from=null 2>&1); then
    passed=$((passed + 1))
  else
    echo "FAIL: configs/har/$config.yaml: $said" >&2
    failed=$((failed + 1))
  fi
done
tools/watch-data --from tests/golden/watch4.npy "$tables/watch" >/dev/null || exit 1
for config in watch:model.params.blocks=1 watch_plots:training.seed=1; do
  if said=$("$1" plan "configs/har/${config%%:*}.yaml" "${config#*:}" "data.table.path=[$tables/watch/watch.npy,$tables/watch/watch.csv]" \
    data.table.window=2 data.table.stride=1 2>&1); then
    passed=$((passed + 1))
  else
    echo "FAIL: configs/har/${config%%:*}.yaml: $said" >&2
    failed=$((failed + 1))
  fi
done
for config in market:5 clstm:18 paper:30; do
  tools/market-data --tickers="${config#*:}" --days=700 "$tables/market" >/dev/null || exit 1
  if said=$("$1" plan "configs/ppo/${config%:*}.yaml" data.market.path="$tables/market" 2>&1); then
    passed=$((passed + 1))
  else
    echo "FAIL: configs/ppo/${config%:*}.yaml: $said" >&2
    failed=$((failed + 1))
  fi
done
if said=$("$1" plan configs/gpt.yaml data.corpus.path=docs/decisions.md 2>&1); then
  passed=$((passed + 1))
else
  echo "FAIL: configs/gpt.yaml: $said" >&2
  failed=$((failed + 1))
fi
printf '%s\n' a,b,c,label 3,1,4,0 1,5,9,1 >"$tables/sequences.csv"
if said=$("$1" plan configs/encoder.yaml data.table.path="$tables/sequences.csv" 'data.table.features=[a,b,c]' data.table.label=label \
  model.params.layers=1 data.validation_fraction=0.0 2>&1); then
  passed=$((passed + 1))
else
  echo "FAIL: configs/encoder.yaml: $said" >&2
  failed=$((failed + 1))
fi
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
