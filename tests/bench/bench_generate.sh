#!/bin/sh
# bench_generate.sh - how many times as long N tokens take by the whole window for each as with a cache: processor time
# beyond that of one token, of one rank, medians of interleaved rounds; the tokens must be the same.
#   bench_generate.sh GRAPHRUN RUN [TOKENS [ROUNDS]]    RUN: of graphs/gpt.yaml
set -eu
graphrun=$1 run=$2 tokens=${3:-200} rounds=${4:-5}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf 'This License' >"$work/prompt.txt"
# The same model without `programs:`, which makes each token by the whole window.
sed '/^programs:/,$d' "$run/model.yaml" >"$work/window.yaml"

# timed WAY N [key=value ...]: continues the prompt by N tokens, and notes the processor time of what has ended.
timed() {
  way=$1 n=$2
  shift 2
  times >"$work/before"
  "$graphrun" predict "$run" "$work/prompt.txt" "--tokens=$n" distributed.ranks=1 distributed.threads=1 "$@" >"$work/$way.text" 2>"$work/log"
  times >"$work/after"
  awk 'FNR == 2 { gsub(/[ms]/, " "); s[++k] = $1 * 60 + $2 + $3 * 60 + $4 } END { print s[2] - s[1] }' "$work/before" "$work/after" \
    >>"$work/$way.$n"
}
i=0
while [ $i -lt "$rounds" ]; do
  for n in 1 "$tokens"; do
    timed cache "$n"
    timed window "$n" "model.graph=$work/window.yaml"
  done
  i=$((i + 1))
done
strip() { sed 's/"next": [0-9]*, //' "$work/$1.text"; }
[ "$(strip cache)" = "$(strip window)" ] || { echo "the tokens differ"; exit 1; }
median() { sort -n "$work/$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
awk -v c1="$(median cache.1)" -v c="$(median "cache.$tokens")" -v w1="$(median window.1)" -v w="$(median "window.$tokens")" \
  -v n="$tokens" 'BEGIN { printf "%d tokens: %.3f s with a cache (%.3f s one), %.3f s by the window (%.3f s one): %.1f times\n",
    n, c, c1, w, w1, (w - w1) / (c - c1 > 0.001 ? c - c1 : 0.001) }'
