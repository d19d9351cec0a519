# faults.sh - what is missing or fails on the device cuda ends the run with one sentence, its cure and the right exit
# code.   faults.sh GRAPHRUN SOURCE MAKE_TONES STANDIN
. "${0%/gpu/*}/e2e/lib.sh"
standin=$4 limit=400
. "${0%/gpu/*}/gpu/lib.sh"
make_data
use_gpus 1

# refused NAME PATTERN... -- [VARIABLE=value ...] -- [key=value ...]: a run that ends with 69. What STANDIN_... asks for
# only a stand-in does.
refused() {
  refused_name=$1
  shift
  : >patterns
  while [ "$1" != -- ]; do
    printf '%s\n' "$1" >>patterns
    shift
  done
  shift
  given=
  while [ "$1" != -- ]; do
    given="$given $1"
    shift
  done
  shift
  case $given in
    *STANDIN*) if real; then skip "$refused_name" "a fault of the stand-ins" && return; fi ;;
  esac
  # shellcheck disable=SC2086
  limited env $given "$graphrun" "$source/tests/e2e/tones.yaml" "data.manifest=$scratch/data/tones.jsonl" \
    "model.graph=$source/graphs/lmu_asr.yaml" "output.dir=$scratch/out" training.max_steps=4 device=cuda "$@"
  verdict "$refused_name" 69
  check "$refused_name: one error" sh -c "[ $(grep -c ' error: ' "$log") = 1 ]"
}
refused "no GPU" 'there is no GPU that this process may use' 'CUDA_VISIBLE_DEVICES.*device=cpu' -- CUDA_VISIBLE_DEVICES= --
refused "an old driver" 'the NVIDIA driver is for CUDA 12.8' 'install driver 580 or newer' -- STANDIN_DRIVER=12080 --
refused "a driver whose parts are of two versions" 'GPU fails: cuInit returns' 'are of two drivers: .* restart' -- STANDIN_INIT=803 --
refused "a machine that is not ready" 'GPU fails: cuInit returns' 'nvidia-fabricmanager' -- STANDIN_INIT=802 --
if ! real; then
  STANDIN_INIT=803 tones auto device=auto training.max_steps=1
  ended_well "device=auto with a driver that fails"
  check "... says that it takes the CPU" grep -q 'device=auto takes the CPU: the driver of device=cuda fails' "$log"
  STANDIN_INIT=100 tones none device=auto training.max_steps=1
  check "... and nothing where there is no GPU" sh -c "! grep -q 'takes the CPU' '$log'"
fi
# What a CPU refuses before it reads by it, a kernel gives NaN for: the step is run again, and the error is that of the
# CPU. The values are larger than those of nodes that become one kernel (join_small), which is not looked into.
awk 'BEGIN { print "a,b,y"; for (i = 0; i < 6144; i++) printf "%d,%d,%d\n", i % 4, i % 3, i % 2 }' >i.csv
printf 'model: {graph: i.yaml}\ndata: {source: table, table: {path: i.csv, label: y, normalize: false}, validation_fraction: 0.0}\n' >i.config.yaml
while IFS='|' read -r name what nodes; do
  name=$(echo $name) what=$(echo $what)
  {
    printf 'params: {features: 2, classes: 2}\ninputs: {x: {shape: [n, features]}, y: {shape: [n], dtype: i32}}\nnodes:\n'
    printf '  - w: {param: [3, 2], init: uniform}\n  - i: {cast: x, to: i32}\n'
    printf '%s\n' "$nodes" | sed 's/; /\n/g; s/^ */  - /; s/\n/\n  - /g'
    printf '  - loss: {cross_entropy: [h, y]}\ntrain: loss\n'
  } >i.yaml
  for device in cpu cuda; do
    rm -rf i
    limited "$graphrun" i.config.yaml training.batch_size=6144 training.max_steps=1 distributed.ranks=1 output.dir=i device=$device
    printf '%s\n' "^data error: $what$" "^  i.yaml:[0-9]+:[0-9]+: in op '" 'hint: ' >patterns
    verdict "$name, on the device $device" 66
  done
done <<'CASES'
an id beyond the table | id 3 .number [0-9]+. is not one of 3 rows of the table | i: {max: [i, i]}; e: {embedding: i, vocab: 3, dim: 2, name: e}; h: {sum: e, axes: [1]}; h: {add: [h, x]}
an index beyond the axis | index 3 .number [0-9]+. is not one of 3 elements of the axis | v: {linear: x, out: 3, name: head}; h: {gather: [v, i]}
an index to add to | index 3 .number [0-9]+. is not one of 3 elements of the axis | v: {linear: x, out: 2, name: head}; h: {scatter_add: [v, i], size: 3}; h: {slice: h, axis: 1, from: 0, size: 2}
a row beyond the matrix | index 3 .number [0-9]+. is not one of 3 rows of the matrix | v: {linear: x, out: 6, name: head}; v: {reshape: v, shape: [n, 3, 2]}; h: {gather_rows: [v, i]}; h: {sum: h, axes: [1]}
a row to add to | index 3 .number [0-9]+. is not one of 3 rows of the matrix | v: {linear: x, out: 4, name: head}; v: {reshape: v, shape: [n, 2, 2]}; h: {add_rows: [v, i], size: 3}; h: {sum: h, axes: [1]}
a label that is no class | label 2 .number [0-9]+. is not one of 2 classes of the model | h: {linear: x, out: 2, name: head}; y: {scale: y, by: 2}
CASES
refused "an old GPU" 'compute capability 6.1; 7.0 or newer' 'gpu_ids' -- STANDIN_SM=61 --
refused "a GPU that is not there" 'rank 0 is for GPU 3 of this machine, which has 1' 'from 0 to 0' \
  -- -- 'distributed.gpu_ids=[3]'
refused "fewer GPUs than ranks" "names 1 GPU, which this machine's ranks before rank 1 have" 'name one for each rank' \
  -- STANDIN_GPUS=2 -- distributed.ranks=2 distributed.strategy=dp 'distributed.gpu_ids=[0]'
for library in libnvrtc.so.13 libcublasLt.so.13; do
  mkdir "$library" && echo nothing >"$library/$library"
  refused "a broken $library" "device=cuda needs .*$library" 'LD_LIBRARY_PATH' -- "LD_LIBRARY_PATH=$library:$LD_LIBRARY_PATH" --
done
refused "no memory for the weights" 'CUDA_ERROR_OUT_OF_MEMORY' 'smaller batch, or more ranks' -- STANDIN_FAULT=cuMemAlloc:3 --
refused "a plan that is larger than the GPU" 'the plan needs .* and the device .cuda. has' 'smaller batch, or more ranks' \
  -- STANDIN_MEM_MB=33 -- model.params.hidden=1024
# 202 MB, and the 33.6 MB of libraries: in 220 MB all but these would fit.
refused "a plan that is larger with the memory of libraries" 'the plan needs .* and the device .cuda. has' 'smaller batch' \
  -- STANDIN_MEM_MB=210 -- model.params.hidden=1024
# 234 MB with that of libraries, and two communicators of 25 MB.
refused "a plan that is larger with the memory of NCCL" 'the plan needs .* and the device .cuda. has .* left' 'smaller batch' \
  -- STANDIN_MEM_MB=250 STANDIN_GPUS=2 -- model.params.hidden=1024 distributed.strategy=dp distributed.ranks=2
refused "a launch fails" 'cuLaunchKernel returns CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES' "in op '" -- STANDIN_FAULT=cuLaunchKernel:30 --
refused "a kernel fails" 'CUDA_ERROR_ILLEGAL_ADDRESS' 'resume from the newest checkpoint' -- STANDIN_FAULT=kernel:200 --

# The cache of compiled kernels: written once, used, and not believed.
run() {
  GRAPHRUN_CACHE=$scratch/kernels tones "$1" device=cuda training.max_steps=2
}
compiled() { sed -n 's/.* \([0-9]*\) sources of kernels, \([0-9]*\) of them compiled before.*/\1 \2/p' "$log"; }
run first
check "a first run compiles" test "$(compiled | cut -d' ' -f2)" = 0
n=$(compiled | cut -d' ' -f1)
run second
check "a second run compiles nothing" test "$(compiled)" = "$n $n"
set -- kernels/*.kernel
printf 'x' | dd of="$1" bs=1 seek=2000 conv=notrunc 2>/dev/null
truncate -s 100 "$2"
: >"$3"
printf 'x' >>"$4"
run third
check "damaged files are compiled again" test "$(compiled)" = "$n $((n - 4))"
run fourth
check "and are whole again" test "$(compiled)" = "$n $n"
check "what was damaged changed nothing" same_metrics first third
check "no unfinished file is left" sh -c "! ls kernels/*.kernel.* 2>/dev/null"
GRAPHRUN_CACHE=/proc/none tones nowhere device=cuda training.max_steps=2
check "a folder that cannot be written is done without" same_metrics first nowhere

if real; then
  counts
  exit
fi

# A program that the driver does not capture is launched node by node, which is said.
short="device=cuda training.max_steps=5"
# shellcheck disable=SC2086
tones captured $short
for call in cuStreamEndCapture cuGraphInstantiate; do
  # shellcheck disable=SC2086
  STANDIN_FAULT=$call:1 tones "$call" $short
  printf '%s\n' "warning: a program is launched node by node, which is slower: .*$call" >patterns
  verdict "$call fails" 0
  check "... once" test "$(grep -c 'node by node' "$log")" = 1
  check "... and changes nothing" same_metrics captured "$call"
done

# On a machine without a GPU a plan for one is made all the same.
limited env LD_LIBRARY_PATH= "$graphrun" plan "$source/tests/e2e/tones.yaml" "data.manifest=$scratch/data/tones.jsonl" \
  "model.graph=$source/graphs/lmu_asr.yaml" device=cuda
printf '%s\n' '^plan of ' "^memory .*working memory of the device's libraries 33.6 MB" >patterns
verdict "a plan for GPUs needs none" 0

# The driver is started by commands that run, and by no other.
loads_driver() {
  LD_DEBUG=files limited "$graphrun" "$@" "data.manifest=$scratch/data/tones.jsonl" "model.graph=$source/graphs/lmu_asr.yaml"
  grep -q 'file=libcuda.so.1 .*dynamically loaded' "$log"
}
never() { ! "$@"; }
check "plan does not start the driver" never loads_driver plan "$source/tests/e2e/tones.yaml" device=auto
check "nor does data inspect" never loads_driver data inspect "$source/tests/e2e/tones.yaml" device=auto
check "nor does config" never loads_driver config "$source/tests/e2e/tones.yaml" device=auto
check "a run does" loads_driver "$source/tests/e2e/tones.yaml" device=auto training.max_steps=1 "output.dir=$scratch/auto"
counts
