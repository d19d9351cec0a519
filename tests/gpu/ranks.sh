# ranks.sh - several ranks with a GPU each, on the stand-ins: NCCL beside any communicator of the host gives what one
# GPU and the CPUs give, whatever starts the ranks; ranks that die or hang.   ranks.sh GRAPHRUN SOURCE MAKE_TONES STANDIN
. "${0%/gpu/*}/e2e/lib.sh"
standin=$4 limit=400
. "${0%/gpu/*}/gpu/lib.sh"
make_data
few="training.max_steps=3 training.eval_every=0 checkpoint.every_steps=2 checkpoint.keep_last=0
  training.final_train_eval=false logging.show_samples=0"
gpus() { # GPUS OUT [key=value ...]
  use_gpus "$1" "${seed-1}"
  shift
  # shellcheck disable=SC2086
  tones "$@" device=cuda $few
}
if real && [ "${GPUS:-1}" -lt 2 ]; then
  skip "ranks with a GPU each" "this machine has one GPU"
  counts
  exit
fi
# shellcheck disable=SC2086
tones cpu device=cpu $few
ended_well "the CPU"

# ---- One process, a thread for each GPU; no launcher
gpus 2 dp distributed.strategy=dp distributed.ranks=auto
ended_well "dp: a thread for each of 2 GPUs"
check "... in one process" grep -q "2 ranks as threads of this process" "$log"
check "... follows the CPU" follows dp cpu 3
check "... and NCCL closes" sh -c "! grep -q 'did not close' '$log'"
check "... and says what it has set for NCCL" grep -q "environment for NCCL, where it was not set: CUDA_DEVICE_MAX_CONNECTIONS=1" "$log"
most=3
if real && [ "$GPUS" = 2 ]; then most=2; fi
NCCL_DEBUG=INFO gpus $most three distributed.strategy=dp distributed.ranks=auto training.deterministic=true
ended_well "$most GPUs"
check "... follow the CPU" follows three cpu 3
check "... variables of the user are left" sh -c "! grep -q 'NCCL_DEBUG=WARN' '$log' && grep -q 'NCCL_ALGO=Ring' '$log'"
gpus 2 fsdp distributed.strategy=fsdp distributed.ranks=2 distributed.backend=loopback
ended_well "fsdp on 2 GPUs"
if ! real; then check "... says what NCCL keeps of a GPU's memory" grep -Eq 'are not in the plan: .*NCCL (25[.]2|50[.]3)' "$log"; fi
check "... and each communicator closes" sh -c "! grep -q 'did not close' '$log'"
check "... follows the CPU" follows fsdp cpu 3
# States in slices of which the last ones are shorter, along either dimension: rows that are one copy each time.
seed=4
for strategy in zero1 fsdp; do
  STANDIN_MEMORY=races gpus $most uneven.$strategy distributed.strategy=$strategy distributed.ranks=$most distributed.backend=loopback
  ended_well "$strategy on $most GPUs"
  check "... follows the CPU" follows uneven.$strategy cpu 3
  check "... without a message of the stand-ins" sh -c "! grep 'stand-in GPU' '$log'"
  nodes=$(sed -n 's/.* captured, of \([0-9]*\) nodes in all.*/\1/p' "$log")
  check "... in few pieces of work, $nodes" test "$nodes" -lt 2000
done
check "... the same losses" same_metrics uneven.zero1 uneven.fsdp
gpus 2 order distributed.strategy=dp distributed.ranks=2
check "another order of work changes no bit" same_files dp/checkpoints order/checkpoints
gpus 2 fsdp.order distributed.strategy=fsdp distributed.ranks=2 distributed.backend=loopback
check "nor does it with gathers and sums beside each other" same_files fsdp/checkpoints fsdp.order/checkpoints
seed=1
STANDIN_NCCL_VERSION=22304 gpus 2 old distributed.strategy=fsdp distributed.ranks=2 distributed.backend=loopback
ended_well "an NCCL that may start two communicators in any order"
if ! real; then check "... is said to run them one after the other" grep -q 'NCCL 2.23: collectives that gather and that sum run one after' "$log"; fi
check "... the same bytes" same_files fsdp/checkpoints old/checkpoints
gpus 2 line distributed.strategy=fsdp distributed.ranks=2 distributed.backend=loopback distributed.overlap=false
check "distributed.overlap=false: the same bytes" same_files fsdp/checkpoints line/checkpoints

# ---- Algorithms by their time: rank 0's choice, which a later run finds
tuned="distributed.strategy=dp distributed.ranks=2 training.autotune=true"
# shellcheck disable=SC2086
STANDIN_ALGORITHM=fast:2 gpus 2 tuned $tuned
ended_well "training.autotune=true"
check "... follows the CPU" follows tuned cpu 3
check "... says how many products were timed" grep -q 'products by algorithms that were timed, [1-9][0-9]* now and 0 before' "$log"
if ! real; then check "... and computes other bits" sh -c '! cmp -s dp/metrics.jsonl tuned/metrics.jsonl'; fi
# shellcheck disable=SC2086
STANDIN_ALGORITHM=fast:1 gpus 2 retuned $tuned
check "a later run times nothing" grep -q 'products by algorithms that were timed, 0 now and [1-9]' "$log"
check "... and computes the same bits" same_files tuned/checkpoints retuned/checkpoints
gpus 2 fixed distributed.strategy=dp distributed.ranks=2 training.autotune=true training.deterministic=true
printf '%s\n' 'config error: training.autotune is true, but training.deterministic is true' 'hint: training.autotune=false' >patterns
verdict "training.autotune with training.deterministic" 65

# ---- Processes
if has_mpi; then
  gpus 2 mpi distributed.ranks=2 distributed.backend=nccl
  ended_well "2 ranks of mpirun"
  check "... leave what threads do" same_files dp/checkpoints mpi/checkpoints
  check "... and distributed.backend=nccl is meant" sh -c "! grep -q 'there is no GPU' '$log'"
fi
# rank R OUT [VARIABLE=value ...] -- [key=value ...]: one of two, in the background
rank() {
  r=$1 rank_out=$2
  shift 2
  given=
  while [ "$1" != -- ]; do
    given="$given $1"
    shift
  done
  shift
  # shellcheck disable=SC2086
  (
    use_gpus 2
    env $given RANK=$r WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port timeout -k 5 "$limit" "$graphrun" \
      "$source/tests/e2e/tones.yaml" "data.manifest=$scratch/data/tones.jsonl" "model.graph=$source/graphs/lmu_asr.yaml" \
      "output.dir=$scratch/$rank_out" distributed.ranks=auto device=cuda $few ${tones_keys-} "$@" >"$rank_out.$r.log" 2>&1 </dev/null
    echo $? >"$rank_out.$r.code"
  ) &
}
codes() { cat "$1".*.code | tr '\n' ' '; }
# pair OUT VARIABLES-OF-0 VARIABLES-OF-1 [key=value ...]: both, until they end; what rank 0 says and its code.
pair() {
  pair_out=$1 of_0=$2 of_1=$3
  shift 3
  new_port
  # shellcheck disable=SC2086
  rank 0 "$pair_out" $of_0 -- "$@"
  # shellcheck disable=SC2086
  rank 1 "$pair_out" $of_1 -- "$@"
  wait
  cp "$pair_out.0.log" "$log" && code=$(cat "$pair_out.0.code")
}
# Ranks of a machine need the same kernels at the same time.
for backend in loopback mpi; do
  if real || { [ $backend = mpi ] && ! has_mpi; }; then continue; fi
  export GRAPHRUN_CACHE="$scratch/once.$backend" STANDIN_COMPILED="$scratch/compiled.$backend"
  gpus 2 once distributed.ranks=2 distributed.backend=$backend
  ended_well "2 ranks, $backend, that find no kernel"
  check "... compile each once" test "$(wc -c <"$STANDIN_COMPILED")" = "$(ls "$GRAPHRUN_CACHE"/*.kernel | wc -l)"
  rm -rf once
done
export GRAPHRUN_CACHE="$scratch/cache"
unset STANDIN_COMPILED
pair tcp "" ""
check "2 ranks started by hand" test "$(codes tcp)" = "0 0 "
check "... leave what threads do" same_files dp/checkpoints tcp/checkpoints

# ---- Launchers that show each task its own GPU, as number 0
pair own CUDA_VISIBLE_DEVICES=0 CUDA_VISIBLE_DEVICES=1
check "2 ranks, of which each sees one GPU" test "$(codes own)" = "0 0 "
check "... leave the same" same_files dp/checkpoints own/checkpoints
pair same CUDA_VISIBLE_DEVICES=0 CUDA_VISIBLE_DEVICES=0
printf '%s\n' 'launch error: ranks 0 and 1 are on the same GPU' 'hint: .*gpus-per-task' >patterns
verdict "2 ranks that see the same GPU" 69

# ---- GPUs of two kinds; ranks that die and hang, in a collective of the GPUs
if real; then
  skip "ranks that die or hang in a collective" "faults are the stand-ins'"
  counts
  exit
fi
pair kinds "" STANDIN_GPU=a100
check "2 ranks with GPUs of two kinds" test "$(codes kinds)" = "0 0 "
check "... are said to be" grep -q 'warning: ranks have GPUs of different kinds' "$log"
check "... and others are not" sh -c "! grep -q 'GPUs of different kinds' own.0.log"
pair exits STANDIN_NCCL_FAULT=1:9:exit STANDIN_NCCL_FAULT=1:9:exit
printf '%s\n' 'rank died error: rank 1 died: its process' >patterns
verdict "a rank that dies in a collective" 71
pair hangs STANDIN_NCCL_FAULT=1:9:hang STANDIN_NCCL_FAULT=1:9:hang distributed.timeout=30
cat hangs.0.log hangs.1.log >"$(new_log)"
code=$(cat hangs.0.code hangs.1.code | sort | tail -n 1)
printf '%s\n' 'hang error: .* did not complete within 30 s' 'hint: .*NCCL_DEBUG=INFO' >patterns
verdict "a rank that hangs in a collective" 72
new_port
LD_LIBRARY_PATH= # the stand-ins without NCCL
mkdir without && cp "$standin"/libcuda.so.1 "$standin"/libnvrtc.so.13 "$standin"/libcublasLt.so.13 without/
printf 'no library' >without/libnccl.so.2
limited env LD_LIBRARY_PATH=without STANDIN_GPUS=2 "$graphrun" \
  "$source/tests/e2e/tones.yaml" "data.manifest=$scratch/data/tones.jsonl" "model.graph=$source/graphs/lmu_asr.yaml" \
  output.dir=none device=cuda distributed.strategy=dp distributed.ranks=2
printf '%s\n' 'launch error: NCCL cannot be loaded: .*libnccl.so.2' 'hint: install libnccl2' >patterns
verdict "no NCCL" 69
check "... says so once" test "$(grep -c ' error: ' "$log")" = 1
counts
