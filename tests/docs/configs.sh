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
tables=$(mktemp -d "${TMPDIR:-/tmp}/graphrun-configs-XXXXXX") || exit 1
trap 'rm -rf "$tables"' EXIT
printf 'x,y\n1,0\n2,1\n' >"$tables/digits.csv"
printf 'alcohol,cultivar\n1,a\n2,b\n' >"$tables/table.csv"
for config in digits table; do
  if said=$("$1" plan configs/$config.yaml data.table.path="$tables/$config.csv" data.validation_fraction=0.0 2>&1); then
    passed=$((passed + 1))
  else
    echo "FAIL: configs/$config.yaml: $said" >&2
    failed=$((failed + 1))
  fi
done
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
