#!/bin/sh
# bench_overlap.sh - what of the time of all_reduces CPU ranks wait for: a perceptron of 20 M parameters on two ranks of
# one thread, with distributed.overlap true and false by turns, from the traces of both ranks. By round: milliseconds a
# step and rank of steps, of all_reduces, and of what kernels wait for them; and what part of all_reduces is not hidden.
# The last column counts by steps: what a step takes beyond the kernels of one without overlap, of its all_reduces.
#   bench_overlap.sh GRAPHRUN [ROUNDS [key=value ...]]
set -eu
graphrun=$1 rounds=${2:-5}
shift $(($# < 2 ? $# : 2))
source=$(cd "$(dirname "$0")/../.." && pwd) work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
awk 'BEGIN { for (i = 0; i < 16; i++) printf "x%d,", i
  print "y"
  for (r = 0; r < 512; r++) { for (i = 0; i < 16; i++) printf "%d,", (r * (i + 3)) % 17
    print "abc" r % 2 } }' >"$work/data.csv"
echo 'data: {source: table, validation_fraction: 0.0}' >"$work/run.yaml"

# sums RUN: of both ranks, steps, milliseconds of them, of all_reduces and of waits.
sums() {
  awk -F'"' '{ lasts = $0; sub(/.*"dur":/, "", lasts); lasts = lasts / 1000 }
    $4 == "step" { steps++; step += lasts }
    $4 == "all_reduce" { sum += lasts }
    $4 == "wait for collectives" { waits += lasts }
    END { print step / steps, sum / steps, waits / steps }' "$work/$1"/trace.[01].json
}
i=0
while [ $i -lt "$rounds" ]; do
  for overlap in false true; do
    rm -rf "$work/$overlap"
    "$graphrun" "$work/run.yaml" "model.graph=$source/graphs/mlp.yaml" \
      'model.params={dim: 1024, layers: 20, dropout: 0.0, smoothing: 0.0}' "data.table.path=$work/data.csv" data.table.label=y \
      "output.dir=$work/$overlap" training.batch_size=128 training.max_epochs=0 training.max_steps=10 training.eval_every=0 training.final_train_eval=false \
      profile.steps=2:10 distributed.ranks=2 distributed.threads=1 distributed.overlap=$overlap checkpoint.every_epochs=0 \
      logging.progress=false "$@" >"$work/log" 2>&1 || { cat "$work/log" && exit 1; }
  done
  echo "$(sums false) $(sums true)"
  i=$((i + 1))
done | awk '
  function median(v, n) { for (a = 1; a <= n; a++) for (b = a + 1; b <= n; b++) if (v[b] < v[a]) { t = v[a]; v[a] = v[b]; v[b] = t }
    return v[int((n + 1) / 2)] }
  BEGIN { print "        in line          beside                        not hidden"
    print "   step   all_reduce   step   all_reduce   waits   by waits  by steps" }
  { waits[NR] = $6 / $5; steps[NR] = ($4 - ($1 - $2)) / $2
    printf "%7.1f %12.1f %6.1f %12.1f %7.1f %9.1f%% %8.1f%%\n", $1, $2, $4, $5, $6, 100 * waits[NR], 100 * steps[NR] }
  END { printf "medians of %d rounds: %.1f %% by waits, %.1f %% by steps\n", NR, 100 * median(waits, NR), 100 * median(steps, NR) }'
