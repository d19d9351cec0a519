# order.sh - what a step is given: in training another order and other masks in every epoch, in
# evaluation the recordings as they are. With a rate of 0 the weights are the same all the time, so
# that losses tell what they were computed from.
. "${0%/*}/lib.sh"
make_data
still="training.lr=0 training.max_steps=0 training.max_epochs=3 training.eval_every=1 model.params.dropout=0
  checkpoint.every_epochs=0 checkpoint.metric=loss"
masks="data.augment.freq_masks=4 data.augment.freq_width=16 data.augment.time_masks=4 data.augment.time_width=40
  data.augment.time_share=0.5 data.augment.time_warp=8"
# losses OUT EPOCH: of its steps, in order
losses() {
  sed -n "s/.*\"epoch\": $2,.*\"loss\": \([^,]*\),.*/\1/p" "$1/metrics.jsonl"
}
evaluations() { sed 's/, "wall": [^,}]*//g' "$1/evals.jsonl"; }
# differ FILE FILE...: no two are the same, and none is empty
differ() {
  for one in "$@"; do
    [ -s "$one" ] || return 1
    for other in "$@"; do
      if [ "$one" != "$other" ] && cmp -s "$one" "$other"; then return 1; fi
    done
  done
}

for ranks in 1 2; do
  on="distributed.ranks=$ranks distributed.backend=loopback"
  # shellcheck disable=SC2086
  ran "without masks, $ranks ranks" plain$ranks $still $on data.augment.freq_masks=0
  grep '^training set: ' "$log" >plain$ranks.results
  # shellcheck disable=SC2086
  ran "with masks" masked$ranks $still $on $masks
  grep '^training set: ' "$log" >masked$ranks.results
  for run in plain$ranks masked$ranks; do
    for epoch in 0 1 2; do losses $run $epoch >$run.$epoch; done
    evaluations $run >$run.evals
  done
  check "every epoch has its order" differ plain$ranks.0 plain$ranks.1 plain$ranks.2
  for epoch in 0 1 2; do
    check "the masks of epoch $epoch change what a step is given" differ plain$ranks.$epoch masked$ranks.$epoch
  done
  check "evaluations see no masks" sh -c "test -s plain$ranks.evals && cmp plain$ranks.evals masked$ranks.evals"
  check "... nor does the last one of the training set" \
    sh -c "test -s plain$ranks.results && cmp plain$ranks.results masked$ranks.results"
  check "... of every epoch" test "$(wc -l <plain$ranks.evals)" -ge 3
done
check "evaluations are the same in each epoch" \
  test "$(sed -n 's/.*"validation.loss": \([^,}]*\).*/\1/p' plain1.evals | sort -u | wc -l)" = 1
same_order() { paste "plain1.$1" "plain2.$1" | pairs_within 1e-5 1; }
for epoch in 0 1 2; do check "one order on any number of ranks, epoch $epoch" same_order $epoch; done
# Resumed in the second epoch, a run gives its steps what they would have been given.
# shellcheck disable=SC2086
ran "stopped in the second epoch" cut $still data.augment.freq_masks=0 training.max_epochs=0 training.max_steps=6
# shellcheck disable=SC2086
ran "... and resumed" cut $still data.augment.freq_masks=0 checkpoint.resume=auto
for epoch in 0 1 2; do
  losses cut $epoch >cut.$epoch
  check "... in the order of epoch $epoch" cmp plain1.$epoch cut.$epoch
done
# shellcheck disable=SC2086
ran "another seed" seed $still data.augment.freq_masks=0 training.seed=4
losses seed 0 >seed.0
check "... is another order" differ plain1.0 seed.0
counts
