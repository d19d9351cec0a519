# programs.sh - several programs and the run's loop on the device cuda: one captured graph for each program, minibatches
# of buffers are selected there, and a run follows the CPU's.   programs.sh GRAPHRUN SOURCE MAKE_TONES STANDIN
. "${0%/gpu/*}/e2e/lib.sh"
standin=$4 limit=400
. "${0%/gpu/*}/gpu/lib.sh"

cat >run.yaml <<YAML
model: {graph: $source/tests/e2e/minibatches.yaml}
data: {source: none}
loop: [rollout, {repeat: 2, over: minibatches, do: update}]
training: {max_epochs: 3, lr: 0.02, seed: 3}
distributed: {ranks: 1}
checkpoint: {every_steps: 7, keep_last: 30, metric: rollout.reward, mode: max}
YAML
run() {
  run_out=$1
  shift
  limited "$graphrun" run.yaml "output.dir=$scratch/$run_out" "$@"
}
# Agents that trade: the steps of an environment, and its evaluation, are each one kernel (ops/loop/scan_block.c).
"$source/tools/market-data" --days=700 prices >/dev/null
value() { sed -n "s/.*\"$2\": \([^,}]*\).*/\1/p" "$1" | tail -1; } # of the last row
market() { # OUT [key=value ...]
  run_out=$1
  shift
  limited "$graphrun" "$source/configs/ppo/market.yaml" data.market.path=prices "output.dir=$scratch/$run_out" distributed.ranks=1 \
    model.params.envs=8 model.params.steps=8 model.params.episode=30 model.params.minibatch=32 training.max_epochs=2 training.eval_every=1 \
    checkpoint.every_steps=9 'loop=[rollout,advantage,{repeat: 2, over: minibatches, do: update}]' "$@"
}
newest() { ls -d "$1"/checkpoints/step-* | tail -1; }

run cpu device=cpu
use_gpus 1
run cuda device=cuda
ended_well "24 steps of 3 passes on a GPU"
check "... follow the CPU's" follows cuda cpu 24
check "... by one captured graph for each of two programs" grep -q ' 2 programs captured' "$log"
run half device=cuda training.max_steps=11
run half device=cuda
check "a run that was stopped inside a phase is the run" same_metrics cuda half
check "... to the same bytes" same_files "$(newest cuda)" "$(newest half)"
market trade_cpu device=cpu
market trade_cuda device=cuda
ended_well "8 steps of an agent that trades"
check "... follow the CPU's" follows trade_cuda trade_cpu 8
check "... and so does what it is worth" near "$(value trade_cuda/evals.jsonl validation.return)" \
  "$(value trade_cpu/evals.jsonl validation.return)" 1e-3
nodes=$(sed -n 's/.* 4 programs captured, of \([0-9]*\) nodes.*/\1/p' "$log")
check "... by four programs of few nodes, not of one for each node of 700 days" test "${nodes:-9999}" -lt 400
# LSTMs and attention, in the loop of the environment: each LSTM is a kernel of all blocks (split_columns).
lstms() { # OUT [key=value ...]
  run_out=$1
  shift
  limited "$graphrun" "$source/configs/ppo/clstm.yaml" data.market.path=prices18 "output.dir=$scratch/$run_out" distributed.ranks=1 \
    model.params.envs=3 model.params.steps=4 model.params.window=6 model.params.episode=30 model.params.hidden=64 \
    model.params.layers=2 model.params.heads=2 model.params.minibatch=6 training.max_epochs=1 training.eval_every=1 \
    'loop=[rollout,advantage,{repeat: 2, over: minibatches, do: update}]' "$@"
}
"$source/tools/market-data" --tickers=18 --days=160 prices18 >/dev/null
lstms lstms_cpu device=cpu
lstms lstms_cuda device=cuda
ended_well "4 steps of an agent of LSTMs"
check "... follow the CPU's" follows lstms_cuda lstms_cpu 4
# The loop has nearly as many operands as one may have, and no room for all gates' matrices.
limited "$graphrun" plan "$source/configs/ppo/clstm.yaml" device=cuda --ranks=1 model.params.layers=7
check "an agent of seven layers is planned" test "$code" = 0
if real || [ -e "$standin/libnccl.so.2" ]; then
  use_gpus 2
  run two device=cuda distributed.ranks=2
  ended_well "on two GPUs"
  check "... as well" follows two cpu 24
  market trade_two device=cuda distributed.ranks=2
  ended_well "an agent that trades on two GPUs"
  check "... as well" follows trade_two trade_cpu 8
else
  skip "two GPUs" "there is no stand-in for NCCL: its headers were not found"
fi
counts
