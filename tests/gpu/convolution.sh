# convolution.sh - convolutions on the device cuda are cuDNN's, and graphrun's own where it is missing or has none; the
# run says which.   convolution.sh GRAPHRUN SOURCE MAKE_TONES STANDIN TEST_GPU_OPS
. "${0%/gpu/*}/e2e/lib.sh"
standin=$4 test_ops=$5 limit=400
. "${0%/gpu/*}/gpu/lib.sh"
make_data
use_gpus 1

steps="training.max_steps=4 training.eval_every=0"
train() { # train OUT [key=value ...]
  train_out=$1
  shift
  # shellcheck disable=SC2086
  tones "$train_out" device=cuda $steps "$@"
}
passed_over="cuDNN's proposal 4 for op 'conv1d' fails when it is tried, and is passed over (.*): cuDNN fails"
own="run as kernels of graphrun's own, which are slower"
says_once() { [ "$(grep -c "$own" "$log")" = 1 ] && grep -q "$1" "$log"; }

# shellcheck disable=SC2086
tones cpu device=cpu $steps
mkdir broken && echo nothing >broken/libcudnn.so.9
LD_LIBRARY_PATH=$PWD/broken:$LD_LIBRARY_PATH train missing
ended_well "a run without cuDNN"
check "... follows the CPU's" follows missing cpu 4
if [ -e "$standin/libcudnn.so.9" ]; then
  check "... and says once what it does without, and the cure" says_once 'cuDNN is not there: .*install cuDNN 9'
  train library
  ended_well "a run with cuDNN"
  check "... follows the CPU's" follows library cpu 4
  check "... and reports its convolutions" grep -q '[1-9][0-9]* convolutions by cuDNN' "$log"
  check "... and what libraries keep of the GPU's memory beside the plan" \
    grep -Eq '; [0-9.]+ MB of its memory are not in the plan: cuDNN 2[.]0, kernels 0[.][0-9], captured programs 0[.][0-9]$' "$log"
  check "... of which none is graphrun's own" sh -c "! grep -q \"$own\" '$log'"
  STANDIN_CUDNN=none train none
  ended_well "a run whose convolutions cuDNN does not have"
  check "... says so once" says_once 'some convolutions'
  check "... and computes what a run without cuDNN does" same_metrics none missing
  check "... which differs from cuDNN's in the last digits" other_metrics none library
  STANDIN_CUDNN=fail-first train second
  ended_well "a run whose convolutions fail by the first algorithms"
  check "... takes the next" sh -c "! grep -q \"$own\" '$log' && grep -q '[1-9][0-9]* convolutions by cuDNN' '$log'"
  check "... and says so, once and at the end" sh -c \
    "[ \$(grep -c \"$passed_over\" '$log') = 1 ] && grep -q '; [1-9][0-9]* of its proposals failed when' '$log'"
  check "... follows the CPU's" follows second cpu 4
  STANDIN_CUDNN=fail train own
  ended_well "a run whose convolutions fail by every algorithm"
  check "... says so once" says_once 'some convolutions.*cuDNN fails: cudnnConvolutionForward returns'
  check "... and computes what a run without cuDNN does" same_metrics own missing
  STANDIN_CUDNN=fail-later train fails
  printf '%s\n' 'cuDNN fails: cudnnConvolutionForward returns' "in op 'conv1d'" >patterns
  verdict "a convolution that fails later ends the run" 69
  # Ranks take the same proposal, or the run ends before its first step.
  use_gpus 2
  two="distributed.ranks=2 distributed.strategy=dp"
  # shellcheck disable=SC2086
  STANDIN_CUDNN=fail-first train both $two
  ended_well "a run of two ranks whose convolutions fail by the first algorithms"
  # shellcheck disable=SC2086
  STANDIN_CUDNN=fail-first@1 train second.only $two
  printf '%s\n' "launch error: op 'conv1d' is run by proposal 4 of cuDNN .* on rank 0, and by proposal 5 of cuDNN .* on rank 1" \
    "warning: on rank 1 $passed_over" 'hint: give all ranks the same cuDNN' >patterns
  verdict "... of rank 1 alone end it" 69
  # shellcheck disable=SC2086
  STANDIN_CUDNN=fail@0 train first.none $two
  printf '%s\n' "by kernels of graphrun's own on rank 0, and by proposal 4 of cuDNN .* on rank 1" >patterns
  verdict "a rank whose convolutions are graphrun's own ends it, too" 69
else
  skip "convolutions by cuDNN" "there is no stand-in: cuDNN's headers were not found, or GPUs are real"
fi

# Every case of the ops by cuDNN is in gpu.ops; here without a message of the stand-ins, and by the other kernels.
for kind in library none; do
  check "every case: kernels of $kind" env STANDIN_ABORT=1 STANDIN_CUDNN=$kind "$test_ops" "" \
    conv1d,conv2d,conv3d,conv_grad_x,conv_grad_w
done
counts
