# failing.sh - a rank that is stopped is found, one that is slow is not; a run whose rank has died goes on, one that
# would fail again does not; a rank that keeps the others waiting is named.
. "${0%/*}/lib.sh"
if ! has_mpi; then
  skip "ranks that fail, under the launcher" "no MPI"
  counts
  exit
fi
make_data
two="distributed.ranks=2 checkpoint.resume=auto checkpoint.keep_last=0 checkpoint.keep_best=0 training.eval_every=0"
long="$two training.max_steps=1000000"
slow="hooks=[$source/tests/e2e/slow.lua]"
said() { grep -Eq "$1" "$log"; }
newest() { (cd "$1/checkpoints" 2>/dev/null && find . -path './step-*/manifest.json' | sort | tail -1 | sed 's|^./step-0*||; s|/.*||'); }
has_newer() { [ "$(newest "$1")" -gt "${2:-0}" ]; }

# ---- Stopped ranks: by the heartbeat, whatever distributed.timeout is
# stopped NAME OUT KEYS: rank 1 of a run is stopped.
stopped() {
  # shellcheck disable=SC2086
  begin $2 $long $3
  wait_steps $2 20
  silent=$(rank_of $2 1)
  kill -STOP "$silent"
  ended
  printf '%s\n' "rank 0 \(process [0-9]*\), step [0-9]*: .*, for [0-9.]* s; before that: " \
    "rank 1 \(process $silent\), step [0-9]*: .*, for [0-9.]* s" "$4" >patterns
  verdict "$1" 72
  check "... nothing is left running" gone $2
}
stopped "a rank that is stopped is found, and named" still "distributed.heartbeat=5 distributed.timeout=100000" \
  "rank 1 has shown no sign of life for 5 s: its process [0-9]* is stopped by a signal"
check "... the run's log has that" grep -q 'rank 1 has shown no sign of life for 5 s' still/run.log
check "... and what ranks did last" grep -q '^rank 1 (process [0-9]*), step' still/run.log
stopped "without a heartbeat distributed.timeout finds it" late "distributed.heartbeat=0 distributed.timeout=30" \
  "rank 1 did not reach collective [0-9]*, .*, within 30 s; process [0-9]* is stopped by a signal"

# Rank 0 waits for a hook for longer than that, since the hook's process is stopped, and goes on.
# shellcheck disable=SC2086
begin waits $long $slow hooks_seconds=100000 distributed.heartbeat=5
wait_steps waits 5
hook=$(children "$(rank_of waits 0)")
kill -STOP "$hook"
sleep 12 # at least: twice what a stopped rank would be given
kill -CONT "$hook"
before=$(steps_of waits)
wait_steps waits $((before + 5))
check "a rank that waits for longer is left alone" kill -0 "$watcher"
kill "$pid"
ended
check "... and stops as usual" test "$code" = 75

# by_hand OUT RANK: a rank without a launcher.
by_hand() {
  RANK=$2 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port timeout -k 5 "$limit" "$graphrun" \
    "$source/tests/e2e/tones.yaml" "data.manifest=$scratch/data/tones.jsonl" "model.graph=$source/graphs/lmu_asr.yaml" \
    "output.dir=$scratch/$1" distributed.heartbeat=5 distributed.timeout=100000 distributed.ranks=auto \
    training.max_steps=1000000 training.eval_every=0 >"hand$2.log" 2>&1 </dev/null &
}
new_port
by_hand hand 0
watcher=$!
by_hand hand 1
other=$!
wait_steps hand 20
silent=$(rank_of hand 1)
kill -STOP "$silent"
ended
check "without MPI: rank 0 ends with code 72" test "$code" = 72
check "... and names the rank" grep -q "rank 1 has shown no sign of life for 5 s: its process $silent is stopped" hand0.log
kill -CONT "$silent"
wait "$other"
check "... which ends too when it continues" grep -q "rank 1 has shown no sign of life" hand1.log

# ---- Restarts
# shellcheck disable=SC2086
begin killed $long $slow checkpoint.every_steps=10 distributed.max_restarts=2
await has_newer killed 0
kill -9 "$(rank_of killed 1)"
await said 'restart 1 of 2, on 2 ranks: from the checkpoint of step [0-9]+ in '
check "kill -9 of a rank: the launcher starts the ranks again" said 'restart 1 of 2, on 2 ranks: from the checkpoint of step'
check "... and says what happened" said 'rank 1 was killed by SIGKILL'
last=$(newest killed)
await has_newer killed "$last"
kill "$pid"
ended
check "... the run goes on" test "$code" = 75
at=$(newest killed)
at=$((at / 10 * 10))
# shellcheck disable=SC2086
begin whole $long $slow checkpoint.every_steps=10
await has_newer whole $((at - 1))
kill "$pid"
ended
step=checkpoints/step-$(printf %08d $at)
check "... its checkpoint after the restart has the bytes of a run that nobody killed" same_files "killed/$step" "whole/$step"
timeless killed | head -$at >rows1
timeless whole | head -$at >rows2
check "... and one row for each step, the same ones" cmp rows1 rows2
check "... in one folder, with one log" test "$(grep -c 'restart 1 of 2' killed/run.log)$(ls -d killed* | wc -l)" = 01

# shellcheck disable=SC2086
begin early $long $slow distributed.max_restarts=1
wait_steps early 3
kill -9 "$(rank_of early 0)"
await said 'restart 1 of 1'
check "without a checkpoint it starts from the beginning" said 'restart 1 of 1, on 2 ranks: from the beginning, because there is no checkpoint yet'
began_again() { [ "$(grep -c '^output: ' "$log")" = 2 ]; }
await began_again # until then the rows are those of the first start
wait_steps early 3
kill -9 "$(rank_of early 1)"
ended
check "... and the last failure ends the run" test "$code" = 71
check "... without another one" test "$(grep -c 'restart [0-9] of' "$log")" = 1

# With two ranks the second one always dies, as soon as the launcher knows of it.
mkdir bin
cat >bin/dies <<S
#!/bin/sh
GRAPHRUN_WAIT_FOR_DEBUGGER=1 "\$@" 2>"$scratch/said.\$\$" &
while ! grep -q 'waits for a debugger' "$scratch/said.\$\$"; do sleep 0.1; done
kill -9 \$!
S
cat >bin/mpirun <<S
#!/bin/sh
n=\$2
shift 2
[ "\$n" = 2 ] && exec "$(command -v mpirun)" -n 1 "\$@" : -n 1 "$scratch/bin/dies" "\$@"
exec "$(command -v mpirun)" -n "\$n" "\$@"
S
chmod +x bin/mpirun bin/dies
usual=$PATH PATH=$scratch/bin:$PATH
# shellcheck disable=SC2086
tones fewer $two training.max_steps=6 distributed.max_restarts=3 distributed.min_ranks=1
printf '%s\n' 'restart 1 of 3, on 2 ranks: from the beginning' 'restart 2 of 3, on 1 rank instead of 2: from the beginning' >patterns
verdict "a rank that cannot be started is left out, down to distributed.min_ranks" 0
# shellcheck disable=SC2086
tones all $two training.max_steps=6 distributed.max_restarts=1
printf '%s\n' 'restart 1 of 1, on 2 ranks' >patterns
verdict "... and without that key never" 71
PATH=$usual

# ---- What would fail again is not started again
# once NAME CODE PATTERN KEYS
once() {
  # shellcheck disable=SC2086
  tones "once$2" $two training.max_steps=300 distributed.max_restarts=3 distributed.min_ranks=1 $4
  printf '%s\n' "$3" >patterns
  verdict "$1: ends the run" "$2"
  check "... and is not tried again" test "$(grep -c 'restart [0-9] of' "$log")" = 0
}
once "an error of a hook" 70 'on purpose' "hooks=[$source/tests/e2e/fails.lua]"
once "a loss that is not finite" 76 'finite' "training.lr=1e30 training.warmup_steps=0"
once "data that are not there" 66 'nowhere' "data.manifest=nowhere.jsonl"
once "a configuration that does not hold" 65 'checkpoint.resume is not auto' "checkpoint.resume=none"

# ---- A rank that keeps the others waiting: stopped most of the time, it needs several times as long
# shellcheck disable=SC2086
begin straggles $long distributed.heartbeat=0
wait_steps straggles 1
straggler=$(rank_of straggles 1)
while kill -0 "$watcher" 2>/dev/null && ! said 'rank 1 keeps the others waiting'; do
  kill -STOP "$straggler"
  sleep 0.2
  kill -CONT "$straggler"
  sleep 0.02
done
check "a rank that is slow is named, with what it does" \
  said 'rank 1 keeps the others waiting: its steps take [0-9.]+ times the median, because it (computes for longer|waits for data) '
kill "$pid"
ended
check "... and ends no run" test "$code" = 75
counts
