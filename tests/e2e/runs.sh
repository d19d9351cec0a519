# runs.sh - the table of runs, and plots of several: which folders are runs, their order, what is
# shown of them. The folders are made by hand.
. "${0%/*}/lib.sh"

# made FOLDER LR ACCURACY...: a run whose evaluations had these accuracies, one a step, and keeps its
# best checkpoints by $metric and $mode.
metric=accuracy mode=max
made() {
  folder=$1 lr=$2
  shift 2
  mkdir -p "$folder/.hydra"
  printf 'training: {lr: %s, seed: '"${seed:-3}"'}\ncheckpoint: {metric: %s, mode: %s, resume: none}\noutput: {dir: %s}\n' \
    "$lr" "$metric" "$mode" "$folder" >"$folder/.hydra/config.yaml"
  step=0
  for accuracy in "$@"; do
    step=$((step + 1))
    echo "{\"steps\": $step, \"epoch\": 0, \"validation.accuracy\": $accuracy, \"validation.loss\": 0.$step}" >>"$folder/evals.jsonl"
    echo "{\"step\": $((step - 1)), \"epoch\": 0, \"loss\": 1.$step, \"lr\": $lr}" >>"$folder/metrics.jsonl"
  done
}
made all/a 0.1 0.25 0.75 0.5
made all/b 0.2 0.25 0.5 0.625
made all/c 0.3 0.75 0.25 0.125
made all/d/e/f 0.4 0.875
made all/a/checkpoints/inner 0.5 1
made all/checkpoints/inner 0.6 1
made all/.hidden 0.7 1
made elsewhere/linked 0.8 1
ln -s "$scratch/elsewhere" all/link
# order NAME RUNS -- ARGUMENTS...: the folders of the table, from the first to the last row.
order() {
  order_name=$1 wanted=$2
  shift 3
  limited "$graphrun" runs "$@"
  check "$order_name" test "$code/$(sed -n 's/^\(all[^ ]*\) .*/\1/p' "$log" | tr '\n' ' ')" = "0/$wanted "
}
order "runs are in the order of their best values, equal ones of their names" "all/d/e/f all/a all/c all/b" -- all
check "... with the best, its step and the last value" grep -Eq '^all/a +unfinished +[0-9]+ +0.75[0]* +2 +0.5[0]* ' "$log"
check "... and the keys that differ alone" sh -c 'head -1 "$1" | grep -q "lr" && ! head -1 "$1" | grep -Eq "seed|dir|metric"' sh "$log"
order "the least first" "all/c all/a all/b all/d/e/f" -- all --by=accuracy:min
check "... with the least values" grep -Eq '^all/c +unfinished +[0-9]+ +0.125[0]* +3 +0.125[0]* ' "$log"
order "by another metric, of which little is good" "all/a all/b all/c all/d/e/f" -- all --by=loss
order "... or much" "all/a all/b all/c all/d/e/f" -- all --by=validation.loss:min
order "... as is said" "all/a all/b all/c all/d/e/f" -- all --by=loss:max
# What a run says of its own metric goes before what the name of a metric says, and is of no other.
for pair in "accuracy min x/b x/a" "accuracy max x/a x/b" "loss max x/b x/a" "loss min x/a x/b"; do
  # shellcheck disable=SC2086
  set -- $pair
  rm -rf x && metric=$1 mode=$2
  made x/a 0.1 0.75 && made x/b 0.2 0.25
  sed -i 's/"validation.loss": 0.1/"validation.loss": 0.5/' x/b/evals.jsonl
  ordered() { # NAME FIRST SECOND ARGUMENTS...
    pair_name=$1 pair_wanted="$2 $3 "
    shift 3
    limited "$graphrun" runs x "$@"
    check "$pair_name" test "$code/$(sed -n 's/^\(x[^ ]*\) .*/\1/p' "$log" | tr '\n' ' ')" = "0/$pair_wanted"
  }
  ordered "own metric $metric, mode $mode" "$3" "$4"
  ordered "... asked for by name" "$3" "$4" --by="$metric"
  ordered "... and the other way, as is asked" "$4" "$3" --by="$metric:$([ "$mode" = min ] && echo max || echo min)"
  case $metric in
  accuracy) ordered "... is not that of loss" x/a x/b --by=loss ;;
  loss) ordered "... is not that of accuracy" x/a x/b --by=accuracy ;;
  esac
done
# Runs that differ in their seed or fold alone repeat each other.
metric=accuracy mode=max
for seed in 1 2 3; do
  made "twice/a$seed" 0.1 "0.$seed" && made "twice/b$seed" 0.2 "0.$((seed * 2))"
done
unset seed
limited "$graphrun" runs twice
check "means over repeated runs, the best first" sh -c 'grep "^mean" "$1" >means && test "$(cat means)" = "$2"' sh "$log" \
  "mean best accuracy 0.4, deviation 0.2, of 3 runs: lr=0.2
mean best accuracy 0.2, deviation 0.1, of 3 runs: lr=0.1"
limited "$graphrun" runs all
check "... and none of others" sh -c '! grep -q "^mean" "$1"' sh "$log"
expect "a metric that none has" 2 "no run has measured 'wer'" "hint: --by is one of: accuracy loss" -- "$graphrun" runs all --by=wer
expect "an order that is none" 2 "METRIC:min or METRIC:max, but is 'loss:best'" -- "$graphrun" runs all --by=loss:best

# Runs of one name are told apart by the folders above them.
made one/same 0.1 0.25 0.5
made two/same 0.2 0.5 0.25
expect "a plot of two runs of one name" 0 "one/same" "two/same" -- "$graphrun" plot one/same two/same --key=loss
expect "a plot of two runs" 0 "(^|[^/])a( |$)" "(^|[^/])b( |$)" -- "$graphrun" plot all/a all/b --key=loss
check "... has short names" sh -c "! grep -q all/ '$log'"
counts
