#!/bin/sh
# bench_canonical.sh - what training.numerics=canonical costs: seconds of the steps of a small Whisper, a perceptron of
# 5 M parameters and a recogniser with LMUs by turns with native and canonical numerics, on 1 and 2 ranks of one thread.
# By model and ranks: the medians of milliseconds a step, and the median of the ratios of the rounds, with the least and
# the largest.
#   bench_canonical.sh GRAPHRUN MAKE_TONES [ROUNDS [key=value ...]]
set -eu
graphrun=$(realpath "$1") make_tones=$(realpath "$2") rounds=${3:-5}
shift $(($# < 3 ? $# : 3))
source=$(cd "$(dirname "$0")/../.." && pwd) work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$make_tones" "$work/data"
awk 'BEGIN { for (i = 0; i < 16; i++) printf "x%d,", i
  print "y"
  for (r = 0; r < 1024; r++) { for (i = 0; i < 16; i++) printf "%d,", (r * (i + 3)) % 17
    print "abc" r % 2 } }' >data.csv
echo 'data: {source: table, validation_fraction: 0.0}' >mlp.yaml

lmu() {
  "$graphrun" "$source/tests/e2e/tones.yaml" "data.manifest=$work/data/tones.jsonl" "model.graph=$source/graphs/lmu_asr.yaml" \
    model.params.hidden=192 model.params.layers=3 training.batch_size=24 data.validation_fraction=0 "$@"
}
mlp() {
  "$graphrun" mlp.yaml "model.graph=$source/graphs/mlp.yaml" 'model.params={dim: 512, layers: 20, dropout: 0.1, smoothing: 0.0}' \
    data.table.path=data.csv data.table.label=y training.batch_size=256 "$@"
}
whisper() {
  "$graphrun" "$source/configs/whisper/nano.yaml" "data.manifest=$work/data/tones.jsonl" data.validation_fraction=0 \
    data.speech.features.seconds=0.8 data.speech.features.hop=80 model.params.audio_context=40 model.params.text_context=16 \
    model.params.dim=128 model.params.layers=2 training.batch_size=24 generation.max_tokens=0 training.text_metrics=null \
    hooks_params.warmup_steps=5 "$@"
}
# ms MODEL NUMERICS RANKS [key=value ...]: the median of its steps after the first.
ms() {
  ms_model=$1 ms_numerics=$2 ms_ranks=$3
  shift 3
  rm -rf run
  "$ms_model" output.dir="$work/run" training.numerics="$ms_numerics" distributed.ranks="$ms_ranks" distributed.backend=loopback \
    distributed.threads=1 training.max_epochs=0 training.max_steps=12 training.eval_every=0 training.final_train_eval=false \
    checkpoint.every_epochs=0 checkpoint.every_steps=0 checkpoint.metric=loss logging.progress=false "$@" >log 2>&1 ||
    { cat log >&2 && exit 1; }
  grep -o "\"samples_per_s\": [0-9.e+-]*" run/metrics.jsonl | sed 1,2d | sort -gk 2 |
    awk -v batch="$(grep -o "global batch [0-9]*" log | grep -o "[0-9]*")" '{ v[NR] = $2 } END { printf "%.3f", 1000 * batch / v[int((NR + 1) / 2)] }'
}
i=0
while [ $i -lt "$rounds" ]; do
  for model in lmu mlp whisper; do
    for ranks in 1 2; do
      echo "$model $ranks $(ms $model native $ranks "$@") $(ms $model canonical $ranks "$@")"
    done
  done
  i=$((i + 1))
done | awk '
  function median(v, of, n) { for (a = 1; a <= n; a++) for (b = a + 1; b <= n; b++)
      if (v[of, b] < v[of, a]) { t = v[of, a]; v[of, a] = v[of, b]; v[of, b] = t }
    return v[of, int((n + 1) / 2)] }
  { of = $1 " " $2; if (!(of in n)) order[++kinds] = of
    n[of]++; native[of, n[of]] = $3; canonical[of, n[of]] = $4; ratio[of, n[of]] = $4 / $3 }
  END { print "model   ranks   native ms   canonical ms   ratio (least to largest)"
    for (k = 1; k <= kinds; k++) { of = order[k]; split(of, is, " "); middle = median(ratio, of, n[of])
      printf "%-8s %4d %11.2f %14.2f %7.2f (%.2f to %.2f)\n", is[1], is[2], median(native, of, n[of]), \
        median(canonical, of, n[of]), middle, ratio[of, 1], ratio[of, n[of]] } }'
