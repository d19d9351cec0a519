# train.sh - a run on the device cuda follows the run on the CPU, and each goes on from the other's checkpoint.
#   train.sh GRAPHRUN SOURCE MAKE_TONES STANDIN
# shellcheck disable=SC2086
. "${0%/gpu/*}/e2e/lib.sh"
standin=$4 limit=400
. "${0%/gpu/*}/gpu/lib.sh"
make_data
sed -i '13,$d' data/tones.jsonl # an epoch ends within each run: the inputs after it are not those that were uploaded ahead

gpu() { # gpu SEED OUT [key=value ...]
  use_gpus 1 "$1"
  shift
  tones "$@" device=cuda
}
every="checkpoint.every_steps=2 training.max_steps=4 training.eval_every=0 checkpoint.keep_last=5"
tones cpu device=cpu $every
ended_well "4 steps on the CPU"
for seed in 0 1 4; do
  gpu $seed cuda.$seed $every
  ended_well "4 steps on a GPU, seed $seed"
  check "seed $seed: the losses follow the CPU's" follows cuda.$seed cpu 4
  check "seed $seed: programs are captured and launched" \
    grep -Eq 'device cuda, on rank 0: .*, compute capability [0-9.]+: [0-9]+ sources of kernels.* [1-9][0-9]* programs? captured' "$log"
done
same_run() { same_metrics "$1" "$2" && same_files "$1/checkpoints" "$2/checkpoints"; }
check "the order of a GPU's work changes no bit" same_run cuda.0 cuda.4
check "nor does another" same_run cuda.0 cuda.1
gpu 4 again $every training.recompute=repeat
ended_well "4 steps on a GPU whose backward pass computes values again"
check "... the same bits" same_run cuda.4 again

# Half a run on each, both ways. A resumed run's metrics begin at its first step.
half() { ls -d "$1"/checkpoints/step-*02; }
goes_on() { # goes_on OUT FULL: the losses of steps 2 and 3
  i=0
  while [ $i -lt 2 ]; do
    near "$(loss "$1" $i)" "$(loss "$2" $((i + 2)))" 5e-3 || return 1
    i=$((i + 1))
  done
}
gpu 4 from_cpu $every "checkpoint.resume=$(half cpu)"
ended_well "a GPU goes on from the CPU's checkpoint"
check "its losses follow" goes_on from_cpu cpu
tones from_cuda device=cpu $every "checkpoint.resume=$(half cuda.4)"
ended_well "the CPU goes on from a GPU's checkpoint"
check "its losses follow the CPU's" goes_on from_cuda cpu
gpu 1 from_gpu $every "checkpoint.resume=$(half cuda.4)"
check "a GPU goes on from a GPU's checkpoint to the same bytes" \
  same_files cuda.4/checkpoints/step-00000004 from_gpu/checkpoints/step-00000004

# Values that hooks change are in the device's memory: the programs that were captured read them there.
cat >changes.lua <<'L'
return {
  on_before_optimizer = function(ctx)
    return { set = { weight_decay = ctx.step / 25, beta1 = 0.9 - ctx.step / 20, clip = 1 / (1 + ctx.step) } }
  end,
}
L
tones set_cpu device=cpu $every training.adjustable=true "hooks=[$scratch/changes.lua]"
ended_well "4 steps on the CPU whose values a hook changes"
gpu 4 set_cuda $every training.adjustable=true "hooks=[$scratch/changes.lua]"
ended_well "... on a GPU"
check "... its losses follow the CPU's" follows set_cuda set_cpu 4
check "... and are not those without the hook" sh -c "! cmp -s set_cpu/metrics.jsonl cpu/metrics.jsonl"
check "... the programs are captured all the same" grep -Eq ' [1-9][0-9]* programs? captured' "$log"

# In TF32 products differ from the sixth digit on, and the run says nothing: it is what was asked for.
gpu 0 tf32 training.precision=tf32 $every
ended_well "4 steps in TF32"
check "TF32: the losses follow the CPU's" follows tf32 cpu 4
check "... and are not those of fp32" other_metrics tf32 cuda.0
check "... which nothing says is fp32" sh -c "! grep -q 'fp32 on CPUs' '$log'"
"$graphrun" plan "$source/tests/e2e/tones.yaml" "model.graph=$source/graphs/lmu_asr.yaml" \
  "data.manifest=$scratch/data/tones.jsonl" device=cuda training.precision=tf32 >"$(new_log)" 2>&1
check "... and the plan says it" sh -c "grep -q 'are in TF32' '$log' && ! grep -q 'fp32 on CPUs' '$log'"

# A profiler is told the names of the model.
if [ -f "$standin/libnvtx_profiler.so" ]; then
  NVTX_INJECTION64_PATH=$standin/libnvtx_profiler.so STANDIN_NVTX=$scratch/ranges
  export NVTX_INJECTION64_PATH STANDIN_NVTX
  gpu 0 marked training.max_steps=3 training.eval_every=0
  ended_well "a run with a profiler of NVTX"
  check "each run of a program is a range" test "$(grep -c '^push 0 train[.]t' ranges)" = 3
  check "and so are nodes, by the names of the model, as often as they are launched" \
    grep -q '^push [1-9] layers[.]0[.]lmu ' ranges
  check "each range ends" awk '/^push/ { n++ } /^pop/ { n-- } END { exit n != 0 || !NR }' ranges
  unset NVTX_INJECTION64_PATH
else
  skip "a profiler of NVTX" "its headers are not on this machine"
fi

# Without captured programs the same is computed.
GRAPHRUN_CUDA_GRAPH=0
export GRAPHRUN_CUDA_GRAPH
gpu 1 direct $every
check "GRAPHRUN_CUDA_GRAPH=0: the same bytes" same_run direct cuda.1
counts
