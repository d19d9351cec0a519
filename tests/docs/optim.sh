# optim.sh - the optimizer of add-an-optimizer.md trains on GPUs as on the CPU, by its formula alone; and one without
# a kernel for a device is refused where the plan is made.   optim.sh GRAPHRUN SOURCE MAKE_TONES STANDIN
# shellcheck disable=SC2086
. "${0%/docs/*}/e2e/lib.sh"
standin=$4
make_data

config="$source/tests/e2e/tones.yaml data.manifest=$scratch/data/tones.jsonl model.graph=$source/graphs/lmu_asr.yaml"
expect "plan names the place, the op, the device and what to do" 65 \
  "lmu_asr.yaml:[0-9]+:[0-9]+: unsupported error: op 'cpu_only' has no kernel for the device 'cuda' on f32" \
  "while compiling the train program" "hint: device=cpu runs every op" \
  -- "$graphrun" plan $config device=cuda training.optimizer=cpu_only
expect "the CPU has one" 0 "plan" -- "$graphrun" plan $config device=cpu training.optimizer=cpu_only
expect "plans of the formula are for any device" 0 "plan" -- "$graphrun" plan $config device=cuda training.optimizer=yogi

if [ ! -e "$standin/libcuda.so.1" ]; then
  skip "training on a GPU" "there is no stand-in for one"
  counts
  exit
fi
. "${0%/docs/*}/gpu/lib.sh"
use_gpus 1
tones refused device=cuda training.optimizer=cpu_only
printf '%s\n' "op 'cpu_only' has no kernel for the device 'cuda'" "while compiling the train program" >patterns
verdict "a run is refused as its plan is" 65
check "... before it has a folder" test ! -e refused

every="training.optimizer=yogi training.max_steps=5 training.eval_every=0 training.lr=1e-2"
ran "yogi on the CPU" cpu device=cpu $every
ran "yogi on a GPU" cuda device=cuda $every
check "... its losses follow the CPU's" follows cuda cpu 5
ran "yogi with a hyper-parameter as an operand" set device=cuda training.adjustable=true $every
check "... makes the same bytes" same_tensors cuda/checkpoints set/checkpoints
counts
