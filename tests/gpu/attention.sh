# attention.sh - attention in 16 bits on the device cuda is cuDNN's, and graphrun's own where it is missing, older or has
# none; the run says which.   attention.sh GRAPHRUN SOURCE MAKE_TONES STANDIN TEST_GPU_OPS
. "${0%/gpu/*}/e2e/lib.sh"
standin=$4 limit=400
. "${0%/gpu/*}/gpu/lib.sh"
make_data
use_gpus 1

steps="training.max_steps=3 training.eval_every=0 training.precision=bf16 model.params.dropout=0.0"
train() { # train OUT [key=value ...]
  train_out=$1
  shift
  # shellcheck disable=SC2086
  tones "$train_out" device=cuda $steps "$@"
}
own="run as kernels of graphrun's own, which are slower"
says_once() { [ "$(grep -c "$own" "$log")" = 1 ] && grep -q "$1" "$log"; }
by_library() { grep -q "; $1 calls of attention by cuDNN" "$log"; }
not_by_library() { ! grep -q 'attention by cuDNN' "$log"; }

# shellcheck disable=SC2086
tones cpu device=cpu $steps
if [ -e "$standin/libcudnn.so.9" ]; then
  for seed in 0 1 4; do
    use_gpus 1 $seed
    train library.$seed
    ended_well "a run with cuDNN, seed $seed"
    check "... follows the CPU's" follows library.$seed cpu 3
    check "... and reports its calls of attention" by_library 6
  done
  check "... of which none is graphrun's own" sh -c "! grep -q \"$own\" '$log'"
  check "the order of a GPU's work changes nothing" same_metrics library.0 library.4
  STANDIN_CUDNN=large train large
  ended_well "a run whose attention is computed in parts"
  check "... is the same" same_metrics large library.4
  check "... by cuDNN" by_library 6
  for kind in none old; do
    STANDIN_CUDNN=$kind train $kind
    ended_well "a run whose attention cuDNN does not have ($kind)"
    check "... says so once" says_once 'some c[a-z ]*'
    check "... and follows the CPU's" follows $kind cpu 3
  done
  check "... which differs from cuDNN's in the last digits" other_metrics none library.4
  STANDIN_CUDNN=fail-graph-first train second
  ended_well "a run whose attention fails by the first configuration"
  check "... is the same by the next" same_metrics second library.4
  check "... by cuDNN" by_library 6
  check "... and says so" grep -q "cuDNN's proposal [0-9]* for op 'attention.*' fails when it is tried, and is passed over" "$log"
  use_gpus 2 4
  STANDIN_CUDNN=fail-graph-first@1 train one.rank distributed.ranks=2 distributed.strategy=dp
  printf '%s\n' "op 'attention.*' is run by proposal [0-9]* of cuDNN .* for [0-9]* samples and [0-9]* heads on rank 0, and by" >patterns
  verdict "of one rank alone it ends the run" 69
  use_gpus 1 4
  STANDIN_CUDNN=fail-graph train own
  ended_well "a run whose attention fails by every configuration"
  check "... says so once" says_once 'some c[a-z ]*.*cuDNN fails: cudnnBackendExecute returns'
  check "... and computes it by graphrun's kernels" not_by_library
  check "... which follow the CPU's" follows own cpu 3
  STANDIN_CUDNN=fail-graph-later train fails
  printf '%s\n' 'cuDNN fails: cudnnBackendExecute returns' "in op 'attention" >patterns
  verdict "attention that fails later ends the run" 69
  # Dropout: cuDNN multiplies by a mask of graphrun's own random numbers.
  # shellcheck disable=SC2086
  tones cpu.dropout device=cpu $steps model.params.dropout=0.3
  for seed in 0 1 4; do
    use_gpus 1 $seed
    train dropout.$seed model.params.dropout=0.3
    ended_well "a run with dropout, seed $seed"
    check "... follows the CPU's" follows dropout.$seed cpu.dropout 3
    check "... by cuDNN" by_library 6
  done
  check "... which drops" other_metrics dropout.4 library.4
  check "the order of a GPU's work changes nothing" same_metrics dropout.0 dropout.4
  STANDIN_CUDNN=tight train dropout.tight model.params.dropout=0.3
  check "a mask for each part of the heads" by_library 6
  check "... is the same" same_metrics dropout.tight dropout.4
  train dropout.again model.params.dropout=0.3 training.recompute="'*'"
  check "attention that is computed again drops the same" same_metrics dropout.again dropout.4
  STANDIN_CUDNN=large train dropout.own model.params.dropout=0.3
  check "what cuDNN needs more memory for than planned" says_once 'some c[a-z ]*'
  check "... is graphrun's own, and drops the same" follows dropout.own cpu.dropout 3
  # What cuDNN is not asked for.
  train narrow model.params.heads=8 training.max_steps=2
  check "heads of 4 columns are graphrun's own" not_by_library
  train single training.precision=fp32 training.max_steps=2
  check "f32 is graphrun's own" not_by_library
else
  skip "attention by cuDNN" "there is no stand-in: cuDNN's headers were not found, or GPUs are real"
fi
counts
