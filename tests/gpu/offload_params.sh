# offload_params.sh - sharded weights in host memory, on several GPUs: the same bits, less of a GPU's memory, an order of
# the work that the stand-ins find no race in.   offload_params.sh GRAPHRUN SOURCE MAKE_TONES STANDIN
. "${0%/gpu/*}/e2e/lib.sh"
standin=$4 limit=400
. "${0%/gpu/*}/gpu/lib.sh"
make_data
few="checkpoint.every_steps=1 training.max_steps=2 training.eval_every=0 training.final_train_eval=false
  logging.show_samples=0 distributed.backend=loopback"
more=
away=distributed.fsdp.offload_params=true
ranks() { # ranks N SEED OUT [key=value ...]
  n=$1
  use_gpus "$1" "$2"
  shift 2
  # shellcheck disable=SC2086
  STANDIN_MEMORY=races tones "$@" device=cuda distributed.ranks="$n" $few $more
}
bytes() { sed -n "s/.*\"$2\": \([0-9]*\).*/\1/p" "$1/plan.json" | head -1; }
same_run() { same_metrics "$1" "$2" && same_files "$1/checkpoints" "$2/checkpoints"; }
# moved A B: weights of B are in host memory, which are states of the GPU's in A.
moved() {
  host=$(bytes "$2" host)
  [ "$host" -gt 8000 ] && [ "$(bytes "$1" state_bytes)" = $(($(bytes "$2" state_bytes) + host)) ]
}
# both NAME N [key=value ...]: with and without.
both() {
  name=$1 gpus=$2
  shift 2
  rm -rf "$scratch/without" "$scratch/with"
  ranks "$gpus" 1 without "$@"
  ended_well "$name"
  ranks "$gpus" 4 with "$@" $away
  ended_well "... with weights in host memory"
  check "... the same bits, in checkpoints as well" same_run without with
  check "... without a message of the stand-ins" sh -c "! grep 'stand-in GPU' '$log'"
  check "... less of the GPU's memory, by as many bytes as there are in host memory" moved without with
}
both "fsdp on 2 GPUs" 2 distributed.strategy=fsdp
mv "$scratch/with" "$scratch/kept"
ranks 2 7 other distributed.strategy=fsdp $away
check "another order of the GPUs' work changes no bit" same_run kept other
ranks 2 1 line distributed.strategy=fsdp $away distributed.overlap=false
check "nor do copies in line with kernels" same_run kept line
ranks 2 1 all distributed.strategy=fsdp $away training.offload=optimizer
check "nor do moments in host memory beside them" same_run kept all
ranks 2 1 late distributed.strategy=fsdp $away distributed.fsdp.backward_prefetch=none distributed.fsdp.forward_prefetch=false
check "nor do gathers where weights are used" same_run kept late
more=training.max_steps=3
ranks 2 1 back distributed.strategy=fsdp "checkpoint.resume=$(ls -d kept/checkpoints/step-*02)"
ended_well "a run without goes on from a checkpoint with"
ranks 2 1 on distributed.strategy=fsdp $away "checkpoint.resume=$(ls -d kept/checkpoints/step-*02)"
ended_well "and one with as well"
check "... to the same bytes" same_files back/checkpoints/step-00000003 on/checkpoints/step-00000003
more=
both "hsdp on 2 groups of 2, bf16, 2 micro-steps, and values computed again" 4 distributed.strategy=hsdp \
  'distributed.mesh={replicate:2,shard:2}' training.precision=bf16 training.accumulate=2 'training.recompute=layers.*' \
  training.ema_decay=0.9 training.optimizer=muon training.batch_size=8
limited "$graphrun" plan "$source/configs/gpt.yaml" device=cuda --ranks=2 distributed.strategy=fsdp $away
check "the plan says what is read there, and how long that takes" sh -c \
  "grep -E 'train.*, .* read in host memory' '$log' && grep 'of which copies of weights from host memory' '$log'"
ranks 2 1 whole distributed.strategy=zero2 $away
check "a strategy that gathers no weights has no effect on them" sh -c \
  "[ $code = 0 ] && grep 'offload_params=true: no effect, because the strategy gathers no weights' '$log'"
counts
