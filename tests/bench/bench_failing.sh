# bench_failing.sh - how soon a stopped rank is found, and a killed one replaced: trials of both, with their times.
#
#   sh $PWD/tests/bench/bench_failing.sh $PWD/build/graphrun $PWD $PWD/build/tests/make_tones [TRIALS [HEARTBEAT]]
#
# TRIALS: 20; HEARTBEAT: seconds, distributed.heartbeat of the first part: 20. Two ranks on this machine.
. "${0%/*}/../e2e/lib.sh"
trials=${4:-20} heartbeat=${5:-20}
has_mpi || exit 77
make_data
now() { date +%s.%N; }
keys="distributed.ranks=2 distributed.timeout=100000 checkpoint.resume=auto checkpoint.keep_last=0 checkpoint.keep_best=0
  training.eval_every=0 hooks=[$source/tests/e2e/slow.lua]"
said() { grep -q "$1" "$log"; }
# spread FILE WHAT: the least, the median and the most of a file's numbers.
spread() { sort -n "$1" | awk -v what="$2" '{ x[NR] = $1 } END { printf "%s: %d trials, least %.1f s, median %.1f s, most %.1f s\n", what, NR, x[1], x[int((NR + 1) / 2)], x[NR] }'; }

found=0
for trial in $(seq "$trials"); do
  # shellcheck disable=SC2086
  begin "still$trial" $keys training.max_steps=1000000 "distributed.heartbeat=$heartbeat"
  wait_steps "still$trial" $((5 + trial))
  rank=$((trial % 2)) began=$(now)
  kill -STOP "$(rank_of "still$trial" $rank)"
  ended
  echo "$began $(now)" | awk '{ print $2 - $1 }' >>found_after
  [ "$code" = 72 ] && said "rank $rank has shown no sign of life" && none_left "still$trial" && found=$((found + 1))
done
echo "a stopped rank was found, named and the run ended in $found of $trials trials"
spread found_after "from SIGSTOP to the end of the run, heartbeat $heartbeat s"

# shellcheck disable=SC2086
begin whole $keys training.max_steps=80 checkpoint.every_steps=10
ended
same=0
for trial in $(seq "$trials"); do
  run=killed$trial
  # shellcheck disable=SC2086
  begin $run $keys training.max_steps=80 checkpoint.every_steps=10 distributed.max_restarts=1
  wait_steps $run $((10 + 2 * trial))
  began=$(now)
  kill -9 "$(rank_of $run $((trial % 2)))"
  await said 'restart 1 of 1'
  echo "$began $(now)" | awk '{ print $2 - $1 }' >>again_after
  before=$(steps_of $run)
  while [ "$(steps_of $run)" -le "$before" ] && kill -0 "$watcher" 2>/dev/null; do sleep 0.02; done
  echo "$began $(now)" | awk '{ print $2 - $1 }' >>caught_up_after
  ended
  [ "$code" = 0 ] && said 'restart 1 of 1' && same_files whole/checkpoints/step-00000080 $run/checkpoints/step-00000080 &&
    same_metrics whole $run && same=$((same + 1))
done
echo "a killed run went on and left the last checkpoint and the rows of a run that was not in $same of $trials trials"
spread again_after "from kill -9 to the restart"
spread caught_up_after "from kill -9 to the first step that had not been done before"
counted=1
