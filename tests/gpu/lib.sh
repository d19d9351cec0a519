# lib.sh - what the tests of the device cuda share beyond e2e/lib.sh: they run on the stand-ins of folder $standin, or,
# where that is '-', on this machine's GPUs with NVIDIA's own libraries.
real() { [ "$standin" = - ]; }
GRAPHRUN_CACHE=${GRAPHRUN_CACHE-$scratch/cache}
if ! real; then
  LD_LIBRARY_PATH=$standin STANDIN_TIMEOUT=300
  export STANDIN_TIMEOUT
  tones_keys="training.batch_size=4 training.final_train_eval=false data.limit=16" # stand-ins take their time for samples
fi
export LD_LIBRARY_PATH GRAPHRUN_CACHE

# use_gpus N [SEED]: what runs from now on sees N of them. A seed is an order of work, which stand-ins draw from it.
use_gpus() {
  STANDIN_GPUS=$1 STANDIN_SEED=${2-1}
  export STANDIN_GPUS STANDIN_SEED
  if real; then
    CUDA_VISIBLE_DEVICES=$(seq -s , 0 $(($1 - 1)))
    export CUDA_VISIBLE_DEVICES
  fi
}

ended_well() { if [ "$code" = 0 ]; then ok "$1"; else fail "$1" "exit code $code"; fi; }

# follows A B STEPS: the losses of the first steps.
follows() {
  i=0
  while [ $i -lt "$3" ]; do
    near "$(loss "$1" $i)" "$(loss "$2" $i)" 5e-3 || return 1
    i=$((i + 1))
  done
}
