# surroundings.sh - where and how a run is started: launchers, closed files, readers that go, folders
# that cannot be written, clocks, and other runs.
. "${0%/*}/lib.sh"
jump=$4
make_data
steps="training.max_steps=6 checkpoint.every_steps=3"

# ---- Launchers
expect "under torchrun" 69 "torchrun started 2 processes" "hint: start graphrun alone, without torchrun" -- \
  env WORLD_SIZE=2 RANK=0 "$graphrun" "$source/tests/e2e/tones.yaml" data.manifest=data/tones.jsonl \
  "model.graph=$source/graphs/lmu_asr.yaml"
if has_mpi; then
  direct() { # RANKS [key=value ...]: without graphrun's own launcher
    ranks=$1
    shift
    limited env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
      OMPI_MCA_rmaps_base_oversubscribe=1 mpirun -n "$ranks" "$graphrun" "$source/tests/e2e/tones.yaml" \
      data.manifest=data/tones.jsonl "model.graph=$source/graphs/lmu_asr.yaml" "$@"
  }
  # shellcheck disable=SC2086
  ran "its own launcher" own $steps distributed.ranks=2
  # shellcheck disable=SC2086
  direct 2 output.dir=direct distributed.ranks=auto $steps
  check "mpirun itself" test "$code" = 0
  check "... leaves the same" same_files own/checkpoints direct/checkpoints
  direct 2
  printf '%s\n' "asks for 1 rank, but mpirun started 2" "hint: distributed.ranks=2 or auto" >patterns
  verdict "... of more ranks than asked for" 69
  check "... says so once" test "$(grep -c 'launch error' "$log")" = 1
  expect "in a step of srun that MPI knows nothing of" 69 "srun started 4 ranks, but MPI sees 1" "hint: " -- \
    env SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=4 SLURM_NTASKS=4 SLURM_PROCID=1 \
    "$graphrun" "$source/tests/e2e/tones.yaml" data.manifest=data/tones.jsonl distributed.ranks=auto \
    "model.graph=$source/graphs/lmu_asr.yaml"
else
  skip "mpirun itself" "no MPI"
fi
export SLURM_JOB_ID=7 SLURM_NTASKS=4 SLURM_PROCID=0 SLURM_NNODES=1 SLURM_TASKS_PER_NODE=4
SLURM_NODELIST=$(uname -n) && SLURM_JOB_NODELIST=$SLURM_NODELIST && export SLURM_NODELIST SLURM_JOB_NODELIST
# shellcheck disable=SC2086
ran "in a batch script of Slurm, without srun" slurm $steps distributed.ranks=2
unset SLURM_JOB_ID SLURM_NTASKS SLURM_PROCID SLURM_NNODES SLURM_TASKS_PER_NODE SLURM_NODELIST SLURM_JOB_NODELIST

# ---- What is printed, and where to
run() { # OUT [key=value ...]
  run_out=$1
  shift
  # shellcheck disable=SC2086
  timeout -k 5 "$limit" "$graphrun" "$source/tests/e2e/tones.yaml" data.manifest=data/tones.jsonl \
    "model.graph=$source/graphs/lmu_asr.yaml" output.dir="$run_out" $steps "$@"
}
# whole OUT: what was to be printed is in none of its files.
whole() {
  "$graphrun" ckpt verify "$1" && ! grep -v '^{' "$1"/*.jsonl && [ -s "$1/training_results.json" ] &&
    same_metrics plain "$1"
}
: >"$log"
run plain >"$log" 2>&1
for closed in "0<&-" "1>&-" "2>&-" "0<&- 1>&- 2>&-"; do
  name=closed$(printf %s "$closed" | tr -cd 012)
  eval "run $name $closed" >"$log" 2>"$log"
  code=$?
  check "started with closed files ($closed)" test $code = 0
  check "... and nothing printed into others" whole "$name"
done
if has_mpi; then
  run closed2ranks distributed.ranks=2 <&- >&- 2>&-
  check "the same on two ranks" test $? = 0
fi
(
  run reader "hooks=[$source/tests/e2e/slow.lua]" 2>&1
  echo $? >code
) | head -n 1 >/dev/null
check "a reader that goes ends no run" test "$(cat code)" = 0
check "... and takes nothing along" whole reader
run disk >/dev/full 2>"$log"
check "standard output that is full is told" test $? = 74
check "... and takes nothing along" whole disk
limited env -u HOME -i "$graphrun" "$source/tests/e2e/tones.yaml" data.manifest=data/tones.jsonl \
  "model.graph=$source/graphs/lmu_asr.yaml" output.dir=empty training.max_steps=6 checkpoint.every_steps=3
check "without any environment" test "$code" = 0

# ---- Folders
mkdir bare
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
  chmod 755 "$scratch" && cp "$make_tones" "$graphrun" .
  cp "${graphrun%/*}"/graphrun_*.so . 2>/dev/null # what was built of them
  cp "$source/tests/e2e/tones.yaml" "$source/graphs/lmu_asr.yaml" . # the source may be root's alone
  chmod 755 graphrun* && chmod 644 ./*.yaml
  cd bare || exit 1
  expect "a folder that cannot be written, as another user" 74 "cannot make directory 'outputs': Permission" \
    "hint: output.dir=FOLDER" -- setpriv --reuid=65534 --regid=65534 --clear-groups ../graphrun \
    ../tones.yaml data.manifest=../data/tones.jsonl model.graph=../lmu_asr.yaml
  cd ..
else
  skip "a folder that cannot be written" "needs root and setpriv"
fi
for i in 1 2 3 4 5 6; do
  (cd bare && timeout "$limit" "$graphrun" "$source/tests/e2e/tones.yaml" data.manifest=../data/tones.jsonl \
    "model.graph=$source/graphs/lmu_asr.yaml" training.max_steps=2 >../said$i 2>&1) &
done
wait
check "six runs at once have six folders" test "$(sed -n 's/^output: //p' said? | sort -u | wc -l)" = 6
begin shared training.max_steps=4000 "hooks=[$source/tests/e2e/slow.lua]"
wait_steps shared 2
cp "$log" first
tones shared distributed.timeout=2
printf '%s\n' "another run writes to '.*shared'" "hint: .*another output.dir" >patterns
verdict "two runs in one folder" 74
kill -9 "$pid"
ended

# ---- Clocks
if sanitised; then
  skip "a wall clock that jumps" "a sanitiser has to come first"
else
  LD_PRELOAD=$jump run jumps >"$log" 2>&1
  check "a wall clock that goes back by days" test $? = 0
  check "... changes nothing" whole jumps
  check "... and no time is negative" \
    test "$(grep -cE '"(total_seconds|total_minutes|seconds)": -' jumps/training_results.json)" = 0
fi

# ---- Another configuration
tones plain training.max_steps=8 training.seed=4 checkpoint.resume=auto
printf '%s\n' "not that of the run before" "training.max_steps: 8, was 6" "training.seed: 4, was 3" >patterns
verdict "going on with another configuration says what is other" 0
check "... and nothing else" test "$(grep -c ', was ' "$log")" = 4
head -n 30 data/tones.jsonl >data/fewer.jsonl
tones plain training.max_steps=9 training.seed=4 checkpoint.resume=auto data.manifest="$scratch/data/fewer.jsonl"
printf '%s\n' "warning: there are 20 training samples, and were 27" >patterns
verdict "... and other data" 0
counts
