# launchers.sh - ranks that no MPI connects: started by torchrun, by srun, or by hand, which all set
# variables that say where rank 0 is. Here the variables are set by hand.
. "${0%/*}/lib.sh"
. "${0%/*}/machines.sh"
make_data
steps="training.max_steps=12 checkpoint.every_steps=6 checkpoint.keep_last=0 distributed.ranks=auto"

# rank R OUT VARIABLES -- [key=value ...]: in the background; its output is in OUT.R.log, and its exit
# code in OUT.R.code.
rank() {
  r=$1 rank_out=$2 variables=$3
  shift 4
  # shellcheck disable=SC2086
  (
    env $variables timeout -k 5 "$limit" "$graphrun" "$source/tests/e2e/tones.yaml" \
      "data.manifest=$scratch/data/tones.jsonl" "model.graph=$source/graphs/lmu_asr.yaml" \
      "output.dir=$scratch/$rank_out" $steps "$@" >"$rank_out.$r.log" 2>&1 </dev/null
    echo $? >"$rank_out.$r.code"
  ) &
}
# by_hand RANKS OUT [key=value ...]: all ranks, by RANK and WORLD_SIZE.
by_hand() {
  n=$1 out=$2
  shift 2
  new_port
  for r in $(seq 0 $((n - 1))); do
    rank "$r" "$out" "RANK=$r WORLD_SIZE=$n MASTER_ADDR=127.0.0.1 MASTER_PORT=$port" -- "$@"
  done
  wait
}
for n in 2 3; do
  # shellcheck disable=SC2086
  ran "$n ranks as threads" threads$n $steps distributed.ranks=$n distributed.backend=loopback
  by_hand $n hand$n
  spoke hand$n 0
  check "$n ranks started by hand" test "$(codes hand$n | tr -d ' 0')" = ""
  check "... have the losses of threads" same_metrics threads$n hand$n
  check "... and their checkpoints, byte for byte" same_files threads$n/checkpoints hand$n/checkpoints
  check "... rank 1 prints nothing" test ! -s hand$n.1.log
  if has_mpi; then
    # shellcheck disable=SC2086
    ran "$n ranks of mpirun" mpi$n $steps distributed.ranks=$n
    check "... leave the same bytes" same_files mpi$n/checkpoints hand$n/checkpoints
  fi
done
new_port
for r in 0 1; do
  rank $r slurm "SLURM_JOB_ID=$port SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 SLURM_NTASKS=2 SLURM_PROCID=$r
    SLURM_LOCALID=$r SLURM_NNODES=1" -- distributed.backend=tcp
done
wait
spoke slurm 0
check "2 tasks of srun" test "$(codes slurm)" = "0 0 "
check "... leave the same bytes" same_files threads2/checkpoints slurm/checkpoints

# As torchrun does it: its agent has the port, and one rank is a launch, too.
torch="TORCHELASTIC_RUN_ID=none TORCHELASTIC_USE_AGENT_STORE=True LOCAL_WORLD_SIZE=2"
new_port
for r in 0 1; do
  rank $r torch "$torch RANK=$r WORLD_SIZE=2 MASTER_ADDR=localhost MASTER_PORT=$port" --
done
wait
spoke torch 0
check "2 ranks of torchrun" test "$(codes torch)" = "0 0 "
check "... leave the same bytes" same_files threads2/checkpoints torch/checkpoints
new_port
rank 0 single "$torch RANK=0 WORLD_SIZE=1 MASTER_ADDR=localhost MASTER_PORT=$port" --
wait
spoke single 0
check "1 rank of torchrun starts no others" grep -q "global batch 8 = 1 rank x 8" "$log"

# ---- What can go wrong
new_port
rank 0 missing "RANK=0 WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port" -- distributed.timeout=20
rank 2 missing "RANK=2 WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port" -- distributed.timeout=20
wait
spoke missing 0
printf '%s\n' 'hang error: rank 1 did not join within 20 s' 'hint: .*distributed.timeout' >patterns
verdict "a rank that is missing" 72
check "... on all ranks" test "$(codes missing)" = "72 72 "

new_port
rank 0 taken "RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port" -- distributed.timeout=1e6
listens() { grep -qi "0100007F:$(printf %04X $port) .* 0A " /proc/net/tcp; }
within listens
rank 0 second "RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port" --
within test -s second.0.code
spoke second 0
printf '%s\n' "launch error: rank 0 cannot listen on port $port: process [0-9]* .graphrun. is listening there" \
  'hint: .*set MASTER_PORT to a free port' >patterns
verdict "a port that is in use" 69
rank 1 taken "RANK=1 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port GRAPHRUN_TOKEN=other" --
within test -s taken.1.code
spoke taken 1
printf '%s\n' "launch error: on port $port of '127.0.0.1' is rank 0 of another job" >patterns
verdict "a rank of another job" 69
rank 1 mixed "RANK=1 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port" -- training.lr=1
within test -s mixed.1.code
spoke mixed 1
printf '%s\n' "launch error: on port $port of '127.0.0.1' is rank 0 of another job: '.*tones.yaml', configuration [0-9a-f]{8}; this is '.*tones.yaml', configuration [0-9a-f]{8}$" \
  'hint: set MASTER_PORT to a port of this job.s own; .*GRAPHRUN_TOKEN' >patterns
verdict "a rank of a job with another configuration" 69
rm taken.1.*
rank 1 taken "RANK=1 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port" -- distributed.timeout=1e6
wait
spoke taken 0
check "... and the ranks of this one find each other" test "$(codes taken)" = "0 0 "
for r in 0 1; do
  rank $r named "RANK=$r WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port GRAPHRUN_TOKEN=one" -- training.lr=0.00$((r + 1))
done
wait
spoke named 1
printf '%s\n' 'this rank was started with another configuration than rank 0: training.lr is 0.002 here and 0.001 there' >patterns
verdict "ranks of a job with a token may differ, and say so" 0

expect "ranks counted from 1" 69 "RANK=2 is set, and with WORLD_SIZE=2 ranks are 0 to 1" "hint: count ranks from 0, .*unset WORLD_SIZE and RANK" -- \
  env WORLD_SIZE=2 RANK=2 MASTER_ADDR=localhost "$graphrun" "$source/tests/e2e/tones.yaml" "data.manifest=$scratch/data/tones.jsonl" \
  "model.graph=$source/graphs/lmu_asr.yaml" "output.dir=$scratch/from_one"
unfit() {
  wanted=$1 hint=$2
  shift 2
  expect "variables that do not fit: $*" 69 "launch error: $wanted" "hint: count ranks from 0, or unset $hint: graphrun starts its own ranks" -- \
    env "$@" "$graphrun" "$source/tests/e2e/tones.yaml" "data.manifest=$scratch/data/tones.jsonl" "output.dir=$scratch/unfit"
}
unfit "WORLD_SIZE=two is set, which is no number of ranks" "WORLD_SIZE and RANK" WORLD_SIZE=two RANK=0
unfit "WORLD_SIZE=0 is set, which is no number" "WORLD_SIZE and RANK" WORLD_SIZE=0 RANK=0
unfit "RANK=1 is set, and with WORLD_SIZE=1 ranks are 0 to 0" "WORLD_SIZE and RANK" TORCHELASTIC_RUN_ID=none WORLD_SIZE=1 RANK=1
unfit "SLURM_PROCID=3 is set, and with SLURM_STEP_NUM_TASKS=2 ranks are 0 to 1" "SLURM_STEP_NUM_TASKS and SLURM_PROCID" SLURM_PROCID=3 SLURM_STEP_NUM_TASKS=2
unfit "PMI_RANK=-1 is set, and with PMI_SIZE=2 ranks are 0 to 1" "PMI_SIZE and PMI_RANK" PMI_SIZE=2 PMI_RANK=-1
expect "variables without MASTER_ADDR" 69 "WORLD_SIZE=2 and RANK=0 are set, but MASTER_ADDR is not" \
  "hint: .*unset WORLD_SIZE and RANK" -- env WORLD_SIZE=2 RANK=0 "$graphrun" "$source/tests/e2e/tones.yaml" \
  data.manifest=data/tones.jsonl "model.graph=$source/graphs/lmu_asr.yaml" distributed.ranks=auto
by_hand 2 wanted distributed.ranks=3
spoke wanted 0
printf '%s\n' 'asks for 3 ranks, but RANK and WORLD_SIZE started 2' >patterns
verdict "another number of ranks than configured" 69

# ---- Ranks that die, and stops
long="training.max_steps=1000000 training.eval_every=0 checkpoint.every_steps=20 hooks=[$source/tests/e2e/slow.lua]
  hooks_params={spin:100000}"
# long_run OUT [key=value ...]: three ranks that have done 30 steps.
long_run() {
  out=$1
  shift
  new_port
  for r in 0 1 2; do
    # shellcheck disable=SC2086
    rank $r "$out" "RANK=$r WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port" -- $long "$@"
  done
  watcher=$!
  wait_steps "$out" 30
}
for dead in 0 2; do
  long_run dead$dead
  kill -9 "$(rank_of dead$dead $dead)"
  wait
  spoke dead$dead 1
  check "kill -9 of rank $dead: the others end with 71" test "$(codes dead$dead | tr -d ' ' | sed s/137//)" = 7171
  said=$((dead ? 0 : 1))
  spoke dead$dead $said
  printf '%s\n' "rank died error: rank $dead died: its process" >patterns
  verdict "... and rank $said says which" 71
  check "... the last checkpoint is intact" "$graphrun" ckpt verify dead$dead/checkpoints
done
long_run term
kill -TERM "$(rank_of term 1)"
wait
spoke term 0
check "SIGTERM to one rank: all stop with 75" test "$(codes term)" = "75 75 75 "
check "... and save" "$graphrun" ckpt verify term/checkpoints
long_run still distributed.timeout=20 distributed.heartbeat=0
stopped=$(rank_of still 1)
kill -STOP "$stopped"
within test -s still.0.code -a -s still.2.code
kill -9 "$stopped"
wait
spoke still 0
printf '%s\n' 'hang error: rank 1 did not reach' 'within 20 s' >patterns
verdict "a rank that stands still" 72

# ---- A launcher that is killed (-9), and a death that no collective shows
cat >script.sh <<'END'
"$@"
exit $?
END
cat >agent.sh <<'END'
# agent.sh KIND OUT PORT COMMAND...: starts two ranks as that launcher does, and waits for them.
kind=$1 out=$2 port=$3
shift 3
for r in 0 1; do
  case $kind in
    torch) set_here="TORCHELASTIC_RUN_ID=none TORCHELASTIC_USE_AGENT_STORE=True LOCAL_WORLD_SIZE=2 RANK=$r WORLD_SIZE=2" ;;
    srun) set_here="SLURM_JOB_ID=$port SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=$r SLURM_NNODES=1" ;;
    hand) set_here="RANK=$r WORLD_SIZE=2" ;;
  esac
  env $set_here MASTER_ADDR=localhost MASTER_PORT="$port" "$@" >"$out.$r.log" 2>&1 </dev/null &
done
wait
END
# agent KIND OUT [COMMAND...]: in the background; the command runs graphrun.
agent() {
  kind=$1 out=$2
  shift 2
  new_port
  # shellcheck disable=SC2086
  sh agent.sh "$kind" "$out" $port "$@" "$graphrun" "$source/tests/e2e/tones.yaml" "data.manifest=$scratch/data/tones.jsonl" \
    "model.graph=$source/graphs/lmu_asr.yaml" "output.dir=$scratch/$out" $steps $long training.max_steps=20000 \
    distributed.backend=tcp &
  watcher=$!
  wait_steps "$out" 10
}
for kind in torch srun; do
  agent $kind $kind-gone
  kill -9 $watcher
  check "kill -9 of the launcher ($kind): nothing is left running" gone $kind-gone
  check "... the ranks saved" "$graphrun" ckpt verify $kind-gone/checkpoints
  printf '%s\n' 'stopped error: stopped by a signal at step [0-9]*; the state is saved' >patterns
  cp $kind-gone.0.log "$log" && code=75
  verdict "... and say so" 75
done
agent torch scripts sh script.sh
kill -9 $watcher
check "... also where it has started a script for each rank" gone scripts
agent torch script sh script.sh
kill -9 $(for at in $(processes script); do grep -qzx script.sh "/proc/$at/cmdline" && echo "$at"; done | head -1)
check "... and where such a script is killed" gone script
agent hand alone
kill -9 $watcher
reached=$(($(steps_of alone) + 20))
goes_on() { [ "$(steps_of alone)" -ge $reached ]; }
check "ranks started by hand outlive their shell" within goes_on
kill -TERM $(rank_of alone 1)
check "... until they are told to stop" gone alone

cat >endless.lua <<'END'
return { lr = function(ctx) while ctx.step == 20 do end return ctx.lr end }
END
new_port
for r in 0 1; do
  rank $r busy "RANK=$r WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port" -- training.max_steps=400 training.eval_every=0 \
    "hooks=[$scratch/endless.lua]" hooks_seconds=1000
done
watcher=$!
wait_steps busy 20
kill -9 "$(rank_of busy 1)"
wait
spoke busy 0
printf '%s\n' 'rank died error: rank 1 died: its process' >patterns
verdict "kill -9 of rank 1 while rank 0 is in a long computation" 71
check "... nothing is left running" gone busy

# ---- Two machines
if two_machines 2>/dev/null; then
  trap 'no_machines; rm -rf "$scratch"' EXIT
  on $a 0 apart
  on $b 1 apart
  wait
  spoke apart 0
  check "2 ranks on two machines" test "$(codes apart)" = "0 0 "
  check "... leave the bytes of one machine" same_files threads2/checkpoints apart/checkpoints
  # As torchrun --nnodes=2 --nproc-per-node=2 starts them: an agent on each machine, one job.
  # shellcheck disable=SC2086
  ran "4 ranks as threads" threads4 $steps distributed.ranks=4 distributed.backend=loopback
  for r in 0 1 2 3; do
    more="WORLD_SIZE=4 LOCAL_WORLD_SIZE=2 LOCAL_RANK=$((r % 2)) GROUP_RANK=$((r / 2)) GROUP_WORLD_SIZE=2
      TORCHELASTIC_RUN_ID=none TORCHELASTIC_RESTART_COUNT=0 TORCHELASTIC_USE_AGENT_STORE=True"
    on $([ $r -lt 2 ] && echo $a || echo $b) $r nodes
  done
  wait
  spoke nodes 0
  check "2 nodes of 2 ranks of torchrun" test "$(codes nodes)" = "0 0 0 0 "
  check "... are one job of 4" grep -q "global batch 8 = 4 ranks x 2" "$log"
  for step in 0 11; do
    check "... have the loss of 4 threads at step $step" near "$(loss nodes $step)" "$(loss threads4 $step)" 1e-4
  done
  more=WORLD_SIZE=2
  for r in 0 1; do
    # shellcheck disable=SC2086
    on $([ $r = 0 ] && echo $a || echo $b) $r lost $long
  done
  watcher=$!
  wait_steps lost 10
  kill -9 "$(rank_of lost 1)"
  wait
  spoke lost 0
  printf '%s\n' 'rank died error: rank 1 died: its connection to rank 0 was closed' >patterns
  verdict "kill -9 of a rank on another machine" 71
else
  no_machines
  skip "ranks on two machines" "needs root, ip and unshare"
fi
counts
