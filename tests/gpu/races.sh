# races.sh - runs in which the stand-in driver looks for pieces of work that touch the same memory and are not ordered:
# transfers, programs and collectives, launched one by one and captured.   races.sh GRAPHRUN SOURCE MAKE_TONES STANDIN
. "${0%/gpu/*}/e2e/lib.sh"
standin=$4 limit=400
. "${0%/gpu/*}/gpu/lib.sh"
make_data
STANDIN_MEMORY=races
STANDIN_BESIDE=$scratch/beside
export STANDIN_MEMORY STANDIN_BESIDE
gpus() { # GPUS OUT [key=value ...]
  use_gpus "$1" 1
  shift
  rm -f "$scratch/beside"
  tones "$@" device=cuda training.max_steps=4 training.eval_every=2 checkpoint.every_steps=2 logging.show_samples=0 \
    training.final_train_eval=false
}
# quiet WHAT: the run has ended well, and the stand-ins have said nothing.
quiet() {
  ended_well "$1"
  check "... without a message of the stand-ins" sh -c "! grep 'stand-in GPU' '$log'"
}
# beside N: so many uploads of features, the largest input, come before the end of a program that was launched earlier.
beside() { [ -e "$scratch/beside" ] && [ "$(awk '$1 > 4000' "$scratch/beside" | wc -l)" -ge "$1" ]; }
gpus 1 one
quiet "one GPU"
check "... the inputs of a step are uploaded beside the step before" beside 3
gpus 1 alone data.workers=0
quiet "... with batches that are made when their step is due"
check "... and whose inputs come after it, but for those after the initial values" test "$(cat "$scratch/beside" 2>/dev/null | awk '$1 > 4000' | wc -l)" -le 1
check "... has the same metrics" same_metrics one alone
check "... and the same checkpoints" same_files one/checkpoints alone/checkpoints
gpus 1 many training.accumulate=2 training.grad_clip=1.0
quiet "... with accumulation"
check "... the inputs of each part of a step are uploaded beside the part before" beside 7
if [ -e "$standin/libnccl.so.2" ]; then
  gpus 2 fsdp distributed.strategy=fsdp distributed.ranks=2 distributed.backend=loopback
  quiet "2 GPUs, with gathers and sums beside each other"
  check "... and inputs beside steps" beside 6
  gpus 2 dp distributed.strategy=dp distributed.ranks=auto
  quiet "... with sums"
else
  skip "collectives" "there is no stand-in for NCCL"
fi
counts
