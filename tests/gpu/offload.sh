# offload.sh - moments of the optimizer in host memory, on the device cuda: the same bits, less of the GPU's memory, and
# checkpoints that go from the one to the other.   offload.sh GRAPHRUN SOURCE MAKE_TONES STANDIN
. "${0%/gpu/*}/e2e/lib.sh"
standin=$4 limit=400
. "${0%/gpu/*}/gpu/lib.sh"
make_data
every="checkpoint.every_steps=2 training.max_steps=4 training.eval_every=0 training.final_train_eval=false"
gpu() { # gpu SEED OUT [key=value ...]
  use_gpus "${gpus:-1}" "$1"
  shift
  # shellcheck disable=SC2086
  tones "$@" device=cuda $every
}
same_run() { same_metrics "$1" "$2" && same_files "$1/checkpoints" "$2/checkpoints"; }
bytes() { sed -n "s/.*\"$2\": \([0-9]*\).*/\1/p" "$1/plan.json" | head -1; }
# moved A B: B's plan has two values of each weight that is trained in host memory, which are states of the GPU's in A's.
moved() {
  host=$(bytes "$2" host)
  [ "$host" -gt $((4 * 2 * 14040)) ] && [ "$(bytes "$1" state_bytes)" = $(($(bytes "$2" state_bytes) + host)) ]
}
gpu 4 plain
ended_well "a run on a GPU"
gpu 4 host training.offload=optimizer
ended_well "... with moments in host memory"
check "... the same bits, in checkpoints as well" same_run plain host
check "... less of the GPU's memory, by as many bytes as there are in host memory" moved plain host
gpu 1 other training.offload=optimizer
check "another order of the GPU's work changes no bit" same_run host other
gpu 4 on training.offload=optimizer checkpoint.async=false "checkpoint.resume=$(ls -d plain/checkpoints/step-*02)"
ended_well "a run goes on from a checkpoint without, and writes its own tensor by tensor"
check "... to the same bytes" same_files plain/checkpoints/step-00000004 on/checkpoints/step-00000004
gpu 4 back "checkpoint.resume=$(ls -d host/checkpoints/step-*02)"
check "and one without from a checkpoint with" same_files plain/checkpoints/step-00000004 back/checkpoints/step-00000004
STANDIN_MEMORY=races gpu 1 races training.offload=optimizer training.accumulate=2
ended_well "with micro-steps"
check "... without a message of the stand-ins" sh -c "! grep 'stand-in GPU' '$log'"
gpu 4 sgd training.offload=optimizer training.optimizer=sgd
check "an optimizer without states is refused" sh -c "[ $code = 65 ] && grep 'this optimizer has no states' '$log'"
gpu 4 lost training.offload=optimizer training.lr=1e30
check "a gradient that is not finite is not the inputs' fault" \
  sh -c "[ $code = 76 ] && grep 'its gradient is not finite: the first' '$log' && ! grep 'first NaN is of the input' '$log'"
if [ -e "$standin/libnccl.so.2" ]; then
  gpus=2
  gpu 1 zero distributed.strategy=zero1 distributed.ranks=2 distributed.backend=loopback
  ended_well "zero1 on 2 GPUs"
  gpu 1 zero_host distributed.strategy=zero1 distributed.ranks=2 distributed.backend=loopback training.offload=optimizer
  ended_well "... with its parts of the moments in host memory"
  check "... the same bits" same_run zero zero_host
else
  skip "several GPUs" "there is no stand-in for NCCL"
fi
counts
