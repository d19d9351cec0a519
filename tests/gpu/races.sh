# races.sh - runs in which the stand-in driver looks for pieces of work that touch the same memory and are not ordered:
# transfers, programs and collectives, launched one by one and captured.   races.sh GRAPHRUN SOURCE MAKE_TONES STANDIN
. "${0%/gpu/*}/e2e/lib.sh"
standin=$4 limit=400
. "${0%/gpu/*}/gpu/lib.sh"
make_data
STANDIN_MEMORY=races
export STANDIN_MEMORY
gpus() { # GPUS OUT [key=value ...]
  use_gpus "$1" 1
  shift
  tones "$@" device=cuda training.max_steps=4 training.eval_every=2 checkpoint.every_steps=2 logging.show_samples=0 \
    training.final_train_eval=false
}
# quiet WHAT: the run has ended well, and the stand-ins have said nothing.
quiet() {
  ended_well "$1"
  check "... without a message of the stand-ins" sh -c "! grep 'stand-in GPU' '$log'"
}
gpus 1 one
quiet "one GPU"
gpus 1 many training.accumulate=2 training.grad_clip=1.0
quiet "... with accumulation"
if [ -e "$standin/libnccl.so.2" ]; then
  gpus 2 fsdp distributed.strategy=fsdp distributed.ranks=2 distributed.backend=loopback
  quiet "2 GPUs, with gathers and sums beside each other"
  gpus 2 dp distributed.strategy=dp distributed.ranks=auto
  quiet "... with sums"
else
  skip "collectives" "there is no stand-in for NCCL"
fi
counts
