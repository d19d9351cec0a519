# ppo.sh - agents that trade: the sizes of both networks; the same run on any number of ranks; killed inside a
# pass and resumed to the byte, environments and all; and what is learnt shows on days that were not seen.
. "${0%/*}/lib.sh"

"$source/tools/market-data" --days=700 prices >/dev/null
"$source/tools/market-data" --tickers=18 --days=700 prices18 >/dev/null
"$source/tools/market-data" --tickers=30 --days=700 prices30 >/dev/null
configs=$source/configs/ppo

expect "parameters of the network with attention" 0 "^parameters +2,885,920 trained numbers of 2,927,908" "^  rollout " "^  advantage " "^  update " -- \
  "$graphrun" plan "$configs/clstm.yaml" data.market.path=prices18 --ranks=2
expect "parameters of the paper's network" 0 "^parameters +3,379,645 trained" "net.encoder" -- \
  "$graphrun" plan "$configs/paper.yaml" data.market.path=prices30 --ranks=2

run() { # OUT [key=value ...]
  run_out=$1
  shift
  limited "$graphrun" "$configs/market.yaml" data.market.path=prices "output.dir=$scratch/$run_out" model.params.envs=12 model.params.steps=8 \
    model.params.episode=30 model.params.minibatch=24 'loop=[rollout,advantage,{repeat: 3, over: minibatches, do: update}]' training.max_epochs=5 \
    training.eval_every=2 checkpoint.every_steps=9 checkpoint.keep_last=30 distributed.backend=loopback "$@"
}
# A pass has 12 steps, in three times four minibatches; of the checkpoints every 9 steps the first that is between two of those times is at 36.
newest() { ls -d "$1"/checkpoints/step-* | tail -1; }
value() { sed -n "s/.*\"$2\": \([^,}]*\).*/\1/p" "$1" | tail -1; } # of the last row

run one distributed.ranks=1
check "a run" test "$code" = 0
check "what has no weight is in no line" sh -c '! grep -i nan one/epochs.jsonl one/metrics.jsonl one/run.log && grep -q rollout.return one/epochs.jsonl'
check "a step is a minibatch" test "$(wc -l <one/metrics.jsonl)" = 60
for ranks in 2 3; do
  run "on$ranks" distributed.ranks=$ranks
  for step in 0 11 12 35 59; do
    check "step $step is the same on $ranks ranks" near "$(loss one $step)" "$(loss "on$ranks" $step)" 1e-3
  done
  check "evaluation is the same on $ranks ranks" near "$(value one/evals.jsonl validation.return)" \
    "$(value "on$ranks/evals.jsonl" validation.return)" 1e-3
done

long="hooks=[$source/tests/e2e/slow.lua] training.eval_every=0"
for ranks in 1 2; do
  # shellcheck disable=SC2086
  run "whole$ranks" $long distributed.ranks=$ranks
  mkdir -p "killed$ranks"
  # shellcheck disable=SC2086
  run "killed$ranks" $long distributed.ranks=$ranks +hooks_params.hold=22 hooks_seconds=100000 &
  watcher=$!
  wait_steps "killed$ranks" 20
  for at in $(processes "killed$ranks"); do kill -9 "$at" 2>/dev/null; done
  wait "$watcher" 2>/dev/null
  check "killed inside a pass on $ranks ranks" test "$(steps_of "killed$ranks")" -lt 60
  # shellcheck disable=SC2086
  run "killed$ranks" $long distributed.ranks=$ranks
  from=$(sed -n 's/.*resumed from .*step-0*\([0-9]*\).*/\1/p' "$log" | head -1)
  check "... resumed between two minibatches" test $((${from:-0} % 4)) != 0
  check "a killed run goes on, on $ranks ranks" same_metrics "whole$ranks" "killed$ranks"
  check "... to the same bytes" same_files "$(newest "whole$ranks")" "$(newest "killed$ranks")"
done

expect "evaluated on other days" 0 "validation set: return" -- "$graphrun" eval one data.market.path=prices
counts
