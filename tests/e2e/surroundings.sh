# surroundings.sh - where and how a run is started: launchers, closed files, readers that go, folders
# that cannot be written, clocks, and other runs.
. "${0%/*}/lib.sh"
jump=$4
make_data
steps="training.max_steps=6 checkpoint.every_steps=3"

# ---- Launchers
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
  printf '%s\n' "asks for 1 rank, but mpirun started 2" "hint: set distributed.ranks=2 or auto" >patterns
  verdict "... of more ranks than asked for" 69
  check "... says so once" test "$(grep -c 'launch error' "$log")" = 1
  if [ -n "$(mpirun --version 2>/dev/null | grep 'Open MPI')" ]; then
    expect "in a step of srun with a server that is not there" 69 "error: MPI could not start in this process" "hint: " -- \
      env SLURM_JOB_ID=7 SLURM_JOBID=7 SLURM_STEP_ID=0 SLURM_STEPID=0 SLURM_STEP_NUM_TASKS=4 SLURM_NTASKS=4 \
      SLURM_PROCID=1 SLURM_LOCALID=1 SLURM_NODEID=0 SLURM_NNODES=1 SLURM_NODELIST=host SLURM_STEP_NODELIST=host \
      SLURM_TASKS_PER_NODE=4 SLURM_STEP_TASKS_PER_NODE=4 PMIX_SERVER_URI=none PMIX_RANK=1 \
      "$graphrun" "$source/tests/e2e/tones.yaml" data.manifest=data/tones.jsonl distributed.ranks=auto \
      "model.graph=$source/graphs/lmu_asr.yaml"
    check "... says nothing else" test "$(wc -l <"$log")" = 2
  fi
  for left in "PMI_SIZE=4 PMI_RANK=1" "PMI_SIZE=4 PMI_RANK=1 PMI_FD=99" "OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=1"; do
    # shellcheck disable=SC2086
    expect "with what another job has left: $left" 69 "mpirun started 4 ranks, but MPI sees 1" "hint: .*unset" -- \
      env $left "$graphrun" "$source/tests/e2e/tones.yaml" data.manifest=data/tones.jsonl distributed.ranks=auto \
      "model.graph=$source/graphs/lmu_asr.yaml"
  done
else
  skip "mpirun itself" "no MPI"
fi
export SLURM_JOB_ID=7 SLURM_NTASKS=4 SLURM_PROCID=0 SLURM_NNODES=1 SLURM_TASKS_PER_NODE=4
SLURM_NODELIST=$(uname -n) && SLURM_JOB_NODELIST=$SLURM_NODELIST && export SLURM_NODELIST SLURM_JOB_NODELIST
# shellcheck disable=SC2086
ran "in a batch script of Slurm, without srun" slurm $steps distributed.ranks=2
unset SLURM_JOB_ID SLURM_NTASKS SLURM_PROCID SLURM_NNODES SLURM_TASKS_PER_NODE SLURM_NODELIST SLURM_JOB_NODELIST

run() { # OUT [key=value ...]
  run_out=$1
  shift
  # shellcheck disable=SC2086
  timeout -k 5 "$limit" "$graphrun" "$source/tests/e2e/tones.yaml" data.manifest=data/tones.jsonl \
    "model.graph=$source/graphs/lmu_asr.yaml" output.dir="$run_out" $steps "$@"
}

# ---- Sockets
# The addresses at which processes of a run listen, by the inodes of their sockets.
listening() {
  for at in $(processes "$1"); do
    for file in /proc/"$at"/fd/*; do readlink "$file"; done 2>/dev/null
  done | sed -n 's/^socket:.\([0-9]*\).$/\1/p' | sort -u >"$scratch/inodes"
  awk 'NR == FNR { own[$1]; next } $4 == "0A" && $10 in own { sub(/:.*/, "", $2); print $2 }' \
    "$scratch/inodes" /proc/net/tcp /proc/net/tcp6 2>/dev/null
}
loopback='^(0100007F|00000000000000000000000001000000)$'
if ! has_mpi || sanitised || [ ! -f "${graphrun%/*}/graphrun_local.so" ]; then
  skip "who listens" "needs MPI, and no sanitiser"
else
  begin sockets training.max_steps=1000000 distributed.ranks=2 "hooks=[$source/tests/e2e/slow.lua]"
  wait_steps sockets 2
  listening sockets >addresses
  kill -9 "$pid"
  ended
  check "processes of a run listen" test -s addresses
  check "... at the loopback interface alone" test "$(grep -vEc "$loopback" addresses)" = 0
fi

# ---- Limits
limit_files() { # BLOCKS of 512 bytes, [key=value ...]
  blocks=$1
  shift
  # shellcheck disable=SC2086
  # What is printed goes through a pipe: the limit is not for the log of this test.
  (ulimit -f "$blocks" && run "$@" 2>&1; echo $? >&3) 3>code | cat >"$(new_log)"
  code=$(cat code)
}
limit_files 8 small
printf '%s\n' 'i/o error: ' 'hint: ' >patterns
verdict "a limit of the size of files" 74
if has_mpi && [ -n "$(mpirun --version 2>/dev/null | grep 'Open MPI')" ]; then
  limit_files 800 small2 distributed.ranks=2
  printf '%s\n' 'launch error: the size of files is limited to 0.41 MB' 'hint: .*backend=loopback' >patterns
  verdict "... that ranks cannot share memory by" 69
fi
if sanitised; then
  skip "a limit of memory" "a sanitiser reserves more"
else
  # limit_memory RANKS [key=value ...]: a model that needs far more than one that just fits. What fits
  # differs between machines, by processors and libraries, and is found by trying.
  limit_memory() {
    ranks=$1
    shift
    until (ulimit -v "$most" && run "fits$most" "distributed.ranks=$ranks" "$@") >"$(new_log)" 2>&1 || [ "$most" -gt 30000000 ]; do
      most=$((most + most / 5))
    done
    check "one layer fits into $most kB" test "$most" -le 30000000
    # shellcheck disable=SC2086
    (ulimit -v "$most" && run memory model.params.layers=400 "distributed.ranks=$ranks" "$@" >"$(new_log)" 2>&1)
    code=$?
    printf '%s\n' 'launch error: no memory for .* MB more: .*ulimit -v' 'hint: a smaller model' >patterns
  }
  # Of several ranks it may be a thread, MPI or the states that there is none for, by the machine's load.
  of_any() {
    printf '%s\n' "launch error: (no (memory for .* MB more: .*ulimit -v|[0-9.]+ MB of memory)|cannot (allocate [0-9.]+ MB|load a part)|.*thread.* cannot be started: $1)" \
      "hint: $2" >patterns
  }
  most=20000 # more ranks take no less than one: the next begin where this one fits
  limit_memory 1
  verdict "memory that runs out while compiling" 69
  limit_memory 2 distributed.backend=loopback
  of_any '' '(a smaller model|.*ulimit -v|.*use a smaller batch)'
  verdict "... for ranks that are threads" 69
  if has_mpi; then
    limit_memory 2
    of_any '|the ranks of this machine cannot map more shared memory' ''
    verdict "... for ranks that are processes" 69
    check "... says so once" test "$(grep -c ' error: ' "$log")" = 1
  fi
fi

# ---- What is printed, and where to
# whole OUT: what was to be printed is in none of its files.
whole() {
  "$graphrun" ckpt verify "$1" && ! grep -v '^{' "$1"/*.jsonl && [ -s "$1/training_results.json" ] &&
    same_metrics plain "$1"
}
: >"$(new_log)"
run plain >"$(new_log)" 2>&1
for closed in "0<&-" "1>&-" "2>&-" "0<&- 1>&- 2>&-"; do
  name=closed$(printf %s "$closed" | tr -cd 012)
  eval "run $name $closed" >"$(new_log)" 2>&1
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
run disk >/dev/full 2>"$(new_log)"
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
    "hint: .*output.dir=FOLDER" -- setpriv --reuid=65534 --regid=65534 --clear-groups ../graphrun \
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
# A launcher that reads the output of several ranks mixes what they write: each write is whole lines.
if command -v python3 >/dev/null 2>&1; then
  cat >writes.py <<'END'
import socket, subprocess, sys
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
run = subprocess.Popen(sys.argv[1:], stdout=theirs, stderr=theirs)
theirs.close()
writes = list(iter(lambda: ours.recv(1 << 20), b""))
parts = [w for w in writes if not w.endswith(b"\n")]
print(f"{len(writes)} writes, of which {len(parts)} are parts of lines {parts[:3]}")
sys.exit(run.wait() or len(writes) < 5 or len(parts) > 0)
END
  check "lines are written whole" python3 writes.py "$graphrun" "$source/tests/e2e/tones.yaml" data.manifest=data/tones.jsonl \
    "model.graph=$source/graphs/lmu_asr.yaml" training.max_steps=2 distributed.ranks=1 output.dir=whole
else
  skip "lines are written whole" "no python3"
fi
begin shared training.max_steps=1000000 "hooks=[$source/tests/e2e/slow.lua]"
wait_steps shared 2
cp "$log" first
tones shared distributed.timeout=8
printf '%s\n' "another run writes to '.*shared'" "hint: .*another output.dir" >patterns
verdict "two runs in one folder" 74
kill -9 "$pid"
ended

# ---- Clocks
if sanitised; then
  skip "a wall clock that jumps" "a sanitiser has to come first"
else
  LD_PRELOAD=$jump run jumps >"$(new_log)" 2>&1
  check "a wall clock that goes back by days" test $? = 0
  check "... changes nothing" whole jumps
  check "... and no time is negative" \
    test "$(grep -cE '"(total_seconds|total_minutes|seconds)": -' jumps/training_results.json)" = 0
fi

# ---- Another configuration
tones plain training.max_steps=8 training.seed=4 "$(from plain)"
printf '%s\n' "not that of the run before" "training.max_steps: 8, was 6" "training.seed: 4, was 3" >patterns
verdict "going on with another configuration says what is other" 0
check "... and nothing else" test "$(grep -c ', was ' "$log")" = 4
head -n 30 data/tones.jsonl >data/fewer.jsonl
tones plain training.max_steps=9 training.seed=4 "$(from plain)" data.manifest="$scratch/data/fewer.jsonl"
printf '%s\n' "warning: there are 20 training samples, and were 27" >patterns
verdict "... and other data" 0
counts
