# watchdog.sh - the process beside mpirun, which ends it when the launcher can no longer do so.
. "${0%/*}/lib.sh"
if ! has_mpi; then
  skip "a watchdog of mpirun" "no MPI"
  counts
  exit
fi
make_data
long="training.max_steps=1000000 training.eval_every=0 checkpoint.every_steps=20 distributed.ranks=2
  hooks=[$source/tests/e2e/slow.lua]"
watchdog_of() {
  for at in $(processes "$1"); do
    [ "$(cat "/proc/$at/comm" 2>/dev/null)" = graphrun-watch ] && echo "$at"
  done
}

# An mpirun that starts no rank and ends for no signal, nor does the process that it has started.
mkdir bin
cat >bin/mpirun <<S
#!/bin/sh
trap '' HUP INT TERM USR1 USR2
echo \$\$ >"$scratch/deaf"
sleep 1000
S
chmod +x bin/mpirun
begin_deaf() {
  rm -f deaf
  usual=$PATH PATH=$scratch/bin:$PATH
  # shellcheck disable=SC2086
  begin "$1" $long
  PATH=$usual
  await test -s deaf
  group=$(cat deaf)
}
trap 'kill -9 "-$group" 2>/dev/null; rm -rf "$scratch"' EXIT
group_ended() {
  has_ended() { ! kill -0 "-$group" 2>/dev/null; }
  within has_ended
}

# Four runs whose launchers are killed: one whose ranks a signal has stopped,
# shellcheck disable=SC2086
begin still $long
wait_steps still 30
kill -STOP $(rank_of still 0) $(rank_of still 1)
kill -9 "$pid"
ended
# ... one whose mpirun ignores signals,
begin_deaf deaf1
check "mpirun has a watchdog" test "$(watchdog_of deaf1 | wc -l)" = 1
kill -9 "$pid"
ended
# ... one whose mpirun does not get the signal of that death: its ranks see that the launcher's lock is free,
mkdir quiet
cat >quiet/mpirun <<S
#!/bin/sh
trap '' USR1
"$(command -v mpirun)" "\$@"
S
chmod +x quiet/mpirun
usual=$PATH PATH=$scratch/quiet:$PATH
# shellcheck disable=SC2086
begin mute $long
PATH=$usual
wait_steps mute 30
kill -9 "$pid"
ended
# ... and one whose rank 0 waits for rank 1: ranks that run are left to end themselves.
# shellcheck disable=SC2086
begin waits $long distributed.timeout=300 distributed.heartbeat=0
wait_steps waits 30
stopped=$(rank_of waits 1)
kill -STOP $stopped
steps=-1
while [ "$steps" != "$(steps_of waits)" ]; do steps=$(steps_of waits) && sleep 2; done
kill -9 "$pid"
ended
running=$(processes waits | wc -l)
sleep 16 # longer than the watchdog waits, shorter than ranks do
check "kill -9 of the launcher while rank 0 waits: mpirun is not ended" \
  test "$(processes waits | wc -l)" = "$running"
kill -CONT $stopped
check "... its ranks end, and all with them" gone waits
check "... the last checkpoint is intact" "$graphrun" ckpt verify waits/checkpoints
check "... and is that of the last step" test -d "waits/checkpoints/step-$(printf %08d "$(steps_of waits)")"
check "... while all ranks stand still: nothing is left running" gone still
check "... the last checkpoint is intact" "$graphrun" ckpt verify still/checkpoints
check "... while mpirun hears nothing: nothing is left running" gone mute
check "... and its ranks did not go on to the last step" test "$(steps_of mute)" -lt 1000000
check "... while mpirun ignores signals: nothing is left running" gone deaf1
check "... nor what that mpirun has started" group_ended

# Without its watchdog, or without mpirun.
# shellcheck disable=SC2086
begin alone $long training.max_steps=60
wait_steps alone 20
kill -9 "$(watchdog_of alone)"
ended
check "kill -9 of the watchdog: the run goes on" test "$code" = 0
check "... and leaves nothing running" none_left alone
begin_deaf deaf2
kill -9 "$group"
ended
check "kill -9 of mpirun: the launcher says so" grep -q 'mpirun was killed by SIGKILL' "$log"
check "... and leaves no watchdog" none_left deaf2
kill -9 "-$group" 2>/dev/null
counts
