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
if real || [ -e "$standin/libnccl.so.2" ]; then
  use_gpus 2
  run two device=cuda distributed.ranks=2
  ended_well "on two GPUs"
  check "... as well" follows two cpu 24
else
  skip "two GPUs" "there is no stand-in for NCCL: its headers were not found"
fi
counts
