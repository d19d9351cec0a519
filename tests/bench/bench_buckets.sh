#!/bin/sh
# bench_buckets.sh - an epoch of a recogniser with one batch size, and with that of each bucket, in the same memory: the
# one is the largest that the longest bucket has room for. Prints steps, the processor time of the run (medians of
# interleaved rounds, one rank of one thread, so that other work of the machine counts little), and what is predicted for
# a GPU in bf16.
#   bench_buckets.sh GRAPHRUN MANIFEST [MEMORY [ROUNDS [CONFIG [key=value ...]]]]
set -eu
graphrun=$1 manifest=$2 memory=${3:-400MB} rounds=${4:-3} config=${5:-configs/lmu_asr_full.yaml}
[ $# -gt 5 ] && shift 5 || shift $#
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
plan() { "$graphrun" plan "$config" "data.manifest=$manifest" --ranks=1 --json "$@"; }
member() { grep -o "\"$2\": [0-9.e+]*" "$1" | head -1 | sed 's/.*: //'; } # FILE NAME
by="training.batch_size={memory: $memory}"

# predict NAME BATCH: its epoch on a GPU.
predict() {
  way=$1 batch=$2
  shift 2
  plan "$batch" training.precision=bf16 --device=h100 "$@" >"$work/$way.gpu"
}
plan "$by" "$@" >"$work/bucket.plan"
fixed=$(sed -n 's/^ *{"bucket": "[^"]*", "samples": \([0-9]*\),.*/\1/p' "$work/bucket.plan" | tail -1)
plan "training.batch_size=$fixed" "$@" >"$work/fixed.plan"
timed() {
  way=$1 batch=$2
  shift 2
  rm -rf "$work/run"
  times >"$work/before"
  "$graphrun" "$config" "data.manifest=$manifest" "$batch" output.dir="$work/run" training.max_epochs=1 training.eval_every=0 \
    training.final_train_eval=false distributed.ranks=1 distributed.threads=1 logging.progress=false hooks=[] "~hooks_params" \
    checkpoint.every_epochs=0 "$@" >"$work/$way.log" 2>&1 || { cat "$work/$way.log" && exit 1; }
  wc -l <"$work/run/metrics.jsonl" >"$work/$way.steps"
  times >"$work/after"
  awk 'FNR == 2 { gsub(/[ms]/, " "); s[++k] = $1 * 60 + $2 + $3 * 60 + $4 } END { print s[2] - s[1] }' "$work/before" "$work/after" \
    >>"$work/$way.seconds"
}
i=0
while [ $i -lt "$rounds" ]; do
  timed fixed "training.batch_size=$fixed" "$@"
  timed bucket "$by" "$@"
  i=$((i + 1))
done
median() { sort -n "$work/$1.seconds" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
for way in fixed bucket; do
  batch=$by && [ $way = bucket ] || batch="training.batch_size=$fixed"
  predict $way "$batch" "$@"
  printf '%-7s %4d steps an epoch, %s bytes planned, %.1f s of a processor; predicted %s s an epoch on an H100\n' $way \
    "$(cat "$work/$way.steps")" "$(member "$work/$way.plan" all)" "$(median $way)" "$(member "$work/$way.gpu" epoch_s)"
done
sizes=$(sed -n 's/^ *{"bucket": "\([^"]*\)", "samples": \([0-9]*\),.*/\1 \2/p' "$work/bucket.plan" | tr '\n' ',')
awk -v a="$(median fixed)" -v b="$(median bucket)" -v p="$(member "$work/fixed.gpu" epoch_s)" \
  -v q="$(member "$work/bucket.gpu" epoch_s)" -v n="$fixed" -v s="$sizes" \
  'BEGIN { printf "batches of %d, and by bucket of %s: %.2f times as fast, predicted %.2f on a GPU\n", n, s, a / b, p / q }'
