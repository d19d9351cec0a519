# stops.sh - signals, ranks that die, a launcher that dies: how a run ends when it does not end itself.
. "${0%/*}/lib.sh"
make_data
# What runs leave outside their folders goes here.
mkdir tmp && export TMPDIR="$scratch/tmp"
nothing_left() { [ -z "$(ls -A tmp)" ]; }
long="training.max_steps=1000000 training.eval_every=0 checkpoint.every_steps=20
  hooks=[$source/tests/e2e/slow.lua] hooks_params={spin:50000}"

# All of a run but the watcher, which would end, too.
all_of() { processes "$1" | grep -vx "$watcher"; }
# stopped NAME OUT SIGNAL PROCESS [key=value ...]: a signal to a process (launcher, a rank's number,
# all) ends all with 75 and a checkpoint from which the run goes on.
stopped() {
  name=$1 out=$2 signal=$3 whom=$4
  shift 4
  # shellcheck disable=SC2086
  begin "$out" $long "$@"
  wait_steps "$out" 30
  case $whom in
    launcher) kill "-$signal" "$pid" ;;
    all) kill "-$signal" $(all_of "$out") 2>/dev/null ;; # some end with the others
    *) kill "-$signal" $(rank_of "$out" "$whom") ;;
  esac
  ended
  printf '%s\n' 'stopped by a signal at step' 'checkpoint.resume=auto output.dir=' >patterns
  verdict "$name" 75
  check "... nothing is left running" none_left "$out"
  check "... its checkpoint verifies" "$graphrun" ckpt verify "$out/checkpoints"
  steps=$(steps_of "$out")
  # shellcheck disable=SC2086
  tones "$out" $long "$@" training.max_steps=$((steps + 3)) checkpoint.resume=auto
  check "... the run goes on" test "$code" = 0
  check "... with the very next step" grep -q "resumed from .* step $steps\$" "$log"
}

# Who insists does not wait for the run to stop: here it waits for a hook that never ends. 0.2 s of processor time are many
# times what all else of the hooks' process takes: then it is in that hook. With 0.5 s it would be cut off at once.
# shellcheck disable=SC2086
begin twice $long "hooks_params={spin:1,hold:1}" hooks_seconds=100000
wait_steps twice 1
hooks=$(children "$pid")
in_hook() { [ "$(cut -d ' ' -f 14 "/proc/$hooks/stat")" -ge 20 ]; }
await in_hook
kill -STOP $hooks
while kill -INT "$pid" 2>/dev/null; do sleep 0.1; done
ended
kill -KILL $hooks 2>/dev/null
check "SIGINT twice to one process ends it at once" test "$code" = 130
check "... nothing is left running" gone twice

stopped "SIGTERM to one process" term TERM launcher
stopped "SIGINT to one process" int INT launcher
stopped "SIGHUP to one process" hup HUP launcher
stopped "SIGUSR1 to one process" usr1 USR1 launcher
stopped "SIGTERM to ranks as threads" threads TERM launcher distributed.ranks=2 \
  distributed.backend=loopback
# A sweep: the run under way saves, and no other begins.
mkdir sweep && cd sweep || exit 1
new_log >/dev/null
timeout -k 5 "$limit" "$graphrun" -m "$source/tests/e2e/tones.yaml" "data.manifest=$scratch/data/tones.jsonl" \
  "model.graph=$source/graphs/lmu_asr.yaml" training.lr=1e-3,2e-3,3e-3 training.max_steps=1000000 hydra.sweep.dir=swept \
  "hooks=[$source/tests/e2e/slow.lua]" >>"$log" 2>&1 </dev/null &
watcher=$!
pid=
while [ -z "$pid" ] && kill -0 "$watcher"; do pid=$(children "$watcher"); done
wait_steps swept/0 5
kill -TERM "$pid"
ended
printf '%s\n' "stopped by a signal at step" "stopped by a signal; 2 of 3 runs were not started" >patterns
cp patterns "$scratch/patterns"
verdict "SIGTERM to a sweep" 75
check "... the run under way has saved" "$graphrun" ckpt verify swept/0
check "... the next has not begun" test ! -e swept/1

# Runs that do not end by themselves: once as many as may run at a time have begun, no other does.
cat >endless.lua <<'END'
return { lr = function(ctx) while ctx.step == 3 do end return ctx.lr end }
END
for jobs in 1 2 3; do
  [ $jobs = 2 ] && given=--jobs=2 || given="--jobs $jobs"
  new_log >/dev/null
  # shellcheck disable=SC2086
  timeout -k 5 "$limit" "$graphrun" -m "$source/tests/e2e/tones.yaml" "data.manifest=$scratch/data/tones.jsonl" \
    "model.graph=$source/graphs/lmu_asr.yaml" training.lr=1e-3,2e-3,3e-3,4e-3 hydra.sweep.dir=at_once$jobs $given \
    "hooks=[endless.lua]" hooks_seconds=1000 >>"$log" 2>&1 </dev/null &
  watcher=$!
  pid=
  while [ -z "$pid" ] && kill -0 "$watcher"; do pid=$(children "$watcher"); done
  for j in $(seq 0 $((jobs - 1))); do wait_steps at_once$jobs/$j 3; done
  check "--jobs $jobs: $jobs runs at once" test "$(grep -c '^#[0-9]*: ' "$log")" = $jobs
  kill -TERM "$pid"
  ended
  printf '%s\n' "stopped by a signal; $((4 - jobs)) of 4 runs were not started" >"$scratch/patterns"
  verdict "... and no other is started after a signal" 75
done
cd "$scratch" || exit 1

# From the moment on at which a run catches signals, while it reads, plans, takes memory and draws
# weights: all of it ends with 75.
catches_term() { grep -q '^SigCgt:.*[4567cdef]...$' "/proc/$1/status"; }
for delay in 0 0.05 0.1 0.2; do
  # shellcheck disable=SC2086
  begin soon$delay $long training.max_steps=4000 model.params.hidden=1024 model.params.layers=6
  await catches_term "$pid"
  sleep $delay
  kill -TERM "$pid"
  ended
  printf '%s\n' '^stopped error: stopped by a signal (while|at step) ' 'hint: ' >patterns
  verdict "SIGTERM $delay s after a run catches it" 75
  check "... nothing is left running" none_left soon$delay
done

if ! has_mpi; then
  skip "ranks as processes" "no MPI"
  counts
  exit
fi
stopped "SIGTERM to the launcher of 2 ranks" term2 TERM launcher distributed.ranks=2
stopped "SIGINT to the launcher of 2 ranks" int2 INT launcher distributed.ranks=2
stopped "SIGHUP to the launcher of 2 ranks" hup2 HUP launcher distributed.ranks=2
stopped "SIGTERM to rank 1 alone" rank1 TERM 1 distributed.ranks=2
stopped "SIGINT to rank 0 alone" rank0 INT 0 distributed.ranks=2

# A batch system's own, and a machine that is shut down: mpirun, too, is told then.
stopped "SIGUSR1 to the launcher of 2 ranks" usr2 USR1 launcher distributed.ranks=2
stopped "SIGTERM to all processes" all TERM all distributed.ranks=2
stopped "SIGINT to all processes" allint INT all distributed.ranks=2

# nohup: the terminal may go. (`timeout` takes the signal back, so it is ignored inside of it.)
printf '#!/bin/sh\ntrap "" HUP\nexec "%s" "$@"\n' "$graphrun" >nohup.sh
chmod +x nohup.sh
itself=$graphrun graphrun=$scratch/nohup.sh
# shellcheck disable=SC2086
begin nohup $long hooks_params={spin:1500000} distributed.ranks=2 training.max_steps=60
graphrun=$itself
wait_steps nohup 20
kill -HUP "$pid"
ended
check "SIGHUP under nohup: the run goes on" test "$code" = 0

check "a run that has not begun has no process" test -z "$(processes unborn)"
# Before there are ranks, while they begin, and before they train.
of_run() { [ "$(processes "$1" | wc -l)" -ge "$2" ]; }
for processes in 3 4 5 6; do # the watcher, the launcher, mpirun, its watchdog, the ranks
  # shellcheck disable=SC2086
  begin early$processes $long distributed.ranks=2
  await of_run early$processes $processes
  kill -TERM "$pid"
  ended
  printf '%s\n' 'stopped by a signal (at step|before all ranks had started|while )' 'hint: ' >patterns
  verdict "SIGTERM when a run has $processes processes" 75
  check "... nothing is left running" none_left early$processes
done

# A rank that dies before it can say anything: MPI makes the others wait for it for ever.
if [ -n "$(mpirun --version 2>/dev/null | grep 'Open MPI')" ]; then
  mkdir bin
  cat >bin/mpirun <<S
#!/bin/sh
shift 2
exec "$(command -v mpirun)" -n 2 sh -c '[ \$OMPI_COMM_WORLD_RANK = 0 ] || kill -9 \$\$; exec "\$@"' sh "\$@"
S
  chmod +x bin/mpirun
  usual=$PATH PATH=$scratch/bin:$PATH
  # shellcheck disable=SC2086
  tones unborn $long distributed.ranks=2 distributed.timeout=4
  printf '%s\n' 'MPI did not start all ranks within 4 s' >patterns
  verdict "kill -9 of rank 1 before it has begun" 72
  check "... nothing is left running" none_left unborn
  # shellcheck disable=SC2086
  begin unborn2 $long distributed.ranks=2
  has_first() { [ -n "$(rank_of unborn2 0)" ]; }
  await has_first
  kill -TERM "$pid"
  ended
  printf '%s\n' 'stopped by a signal before all ranks had started' >patterns
  verdict "SIGTERM while others wait for it" 75
  check "... nothing is left running" none_left unborn2
  PATH=$usual
fi

# A rank that neither dies nor goes on.
# shellcheck disable=SC2086
begin hang $long distributed.ranks=2 distributed.timeout=30 distributed.heartbeat=0
wait_steps hang 30
kill -STOP $(rank_of hang 1)
ended
printf '%s\n' 'rank 1 did not reach' 'within 30 s' >patterns
verdict "a rank that stands still" 72
check "... nothing is left running" none_left hang
check "... nor in temporary folders" nothing_left
check "... the last checkpoint is intact" "$graphrun" ckpt verify hang

# killed NAME OUT RANK SIGNAL
killed() {
  # shellcheck disable=SC2086
  begin "$2" $long distributed.ranks=3 distributed.timeout=1e6
  wait_steps "$2" 41 # the checkpoint of step 20 is complete when that of step 40 is begun
  kill -"$4" $(rank_of "$2" "$3")
  ended
  printf '%s\n' "^rank died error: rank $3 was killed by SIG$4 " "hint: .*resume=auto output.dir=" >patterns
  verdict "$1" 71
  check "... nothing is left running" none_left "$2"
  check "... nor in temporary folders" nothing_left
  check "... the last checkpoint is intact" "$graphrun" ckpt verify "$2/checkpoints"
  # shellcheck disable=SC2086
  tones "$2" $long distributed.ranks=2 training.max_steps=60 checkpoint.resume=auto
  check "... the run goes on, on two ranks" test "$code" = 0
}
# shellcheck disable=SC2086
begin early $long checkpoint.every_steps=0 distributed.ranks=2 distributed.timeout=1e6
wait_steps early 1
kill -9 $(rank_of early 1)
ended
printf '%s\n' "^rank died error: rank 1 was killed by SIGKILL " "this run had not written a checkpoint yet: start it again" >patterns
verdict "kill -9 before the first checkpoint" 71
killed "kill -9 of rank 2" dead2 2 KILL
killed "kill -9 of rank 0" dead0 0 KILL
killed "a fault of rank 1" dead1 1 SEGV

# mpirun itself
# shellcheck disable=SC2086
begin lost $long distributed.ranks=2
wait_steps lost 41
for at in $(all_of lost); do
  case $(readlink "/proc/$at/exe") in */orterun | *mpirun* | *mpiexec* | */prte*) kill -9 "$at" ;; esac
done
ended
printf '%s\n' 'mpirun was killed by SIGKILL' "hint: .*resume=auto output.dir=" >patterns
verdict "kill -9 of mpirun" 71
check "... nothing is left running" gone lost
check "... the last checkpoint is intact" "$graphrun" ckpt verify lost/checkpoints

# The launcher itself: ranks are told, and save.
# shellcheck disable=SC2086
begin orphans $long distributed.ranks=2
wait_steps orphans 30
kill -9 "$pid"
ended
check "kill -9 of the launcher: nothing is left running" gone orphans
check "... the ranks saved and stopped" test "$(steps_of orphans)" -lt 1000000
check "... the last checkpoint is intact" "$graphrun" ckpt verify orphans/checkpoints
check "... its folder is left" test "$(ls tmp | wc -l)" = 1
mkdir tmp/graphrun-living tmp/graphrun-AAAAAA && ln -s "$scratch/data" tmp/graphrun-BBBBBB
# shellcheck disable=SC2086
tones orphans $long distributed.ranks=2 training.max_steps=60 checkpoint.resume=auto
check "... the run goes on" test "$code" = 0
check "... and removes the folder, but nothing that is not known to be left over" \
  test "$(ls tmp | tr '\n' ' ')" = "graphrun-AAAAAA graphrun-BBBBBB graphrun-living "
check "... nor follows links" test -s data/tones.jsonl
rm -r tmp/*

# A launcher that lives keeps its folder.
# shellcheck disable=SC2086
begin living $long distributed.ranks=2
wait_steps living 5
own=$(ls tmp)
"$graphrun" "$source/tests/e2e/tones.yaml" data.manifest=data/tones.jsonl "model.graph=$source/graphs/lmu_asr.yaml" \
  output.dir=beside distributed.ranks=2 training.max_steps=2 >beside.log 2>&1
check "a run beside another leaves that one's folder" test "$?/$(ls tmp)" = "0/$own"
kill -TERM "$pid"
ended
check "... and that one its checkpoint" test "$code" = 75

# ... before there are ranks; while one stands still; and with mpirun. None saves what it cannot.
# shellcheck disable=SC2086
begin unborn3 $long distributed.ranks=2
kill -9 "$pid"
ended
check "kill -9 of the launcher at once: nothing is left running" gone unborn3
# shellcheck disable=SC2086
begin still $long distributed.ranks=2 distributed.timeout=30
wait_steps still 30
kill -STOP $(rank_of still 1)
kill -9 "$pid"
ended
check "kill -9 of the launcher while a rank stands still: nothing is left running" gone still
check "... the last checkpoint is intact" "$graphrun" ckpt verify still/checkpoints
# shellcheck disable=SC2086
begin both $long distributed.ranks=2
wait_steps both 30
kill -9 $(all_of both) 2>/dev/null
ended
check "kill -9 of everything: nothing is left running" gone both
# A folder that a launcher had no time to finish is left for a minute, since another one may be about to.
find tmp -mindepth 1 -maxdepth 1 -exec touch -d '2 minutes ago' {} +
# shellcheck disable=SC2086
tones both $long distributed.ranks=2 training.max_steps=60 checkpoint.resume=auto
check "... the run goes on" test "$code" = 0
check "... and nothing is left in temporary folders" nothing_left
counts
