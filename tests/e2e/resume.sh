# resume.sh - N steps are k steps, kill -9, resume, and the rest: the same weights, byte for byte.
. "${0%/*}/lib.sh"
make_data
long="training.max_steps=120 training.eval_every=4 checkpoint.every_steps=10 checkpoint.keep_last=2
  hooks=[$source/tests/e2e/slow.lua,$source/hooks/step_decay.lua,$source/hooks/log_csv.lua,$source/tests/e2e/busy.lua]
  hooks_params={warmup_steps:10,decay_steps:7}"
end=checkpoints/step-00000120

# Kills every process of the run at once: `begin`s, and under mpirun the ranks'.
kill_all() { kill -9 $(processes "$1") 2>/dev/null; }

same_csv() { cmp -s "$1/log.csv" "$2/log.csv" && cmp -s "$1/busy.csv" "$2/busy.csv"; }
quick="+hooks_params.spin=1"
# killed OUT RANKS-KEYS: is killed once after each number of steps in $moments, where it holds, resumed each
# time, and in the end let through.
moments="3 17 38 61 80"
killed() {
  killed_out=$1
  shift
  kills=0
  for at in $moments; do
    # shellcheck disable=SC2086
    begin "$killed_out" $long $quick "+hooks_params.hold=$((at == 38 ? 58 : at + 2))" hooks_seconds=100000 \
      checkpoint.resume=auto "$@"
    wait_steps "$killed_out" "$at"
    [ "$at" = 38 ] && wait_unfinished "$killed_out"
    kill_all "$killed_out"
    ended
    [ "$code" != 0 ] && kills=$((kills + 1))
  done
  # shellcheck disable=SC2086
  tones "$killed_out" $long $quick checkpoint.resume=auto "$@"
}
# A checkpoint is being written now, or none was seen being written for 15 steps.
wait_unfinished() {
  while kill -0 "$watcher" 2>/dev/null && [ "$(wc -l <"$1/metrics.jsonl")" -lt 53 ] 2>/dev/null; do
    for tmp in "$1"/checkpoints/.tmp-*; do [ -e "$tmp" ] && return; done
  done
}

# shellcheck disable=SC2086
ran "120 steps on one rank" straight $long $quick
killed kill1
check "killed five times, resumed five times: ends well" test "$code/$kills" = 0/5
check "... the last run began where a checkpoint was" grep -q "resumed from .*step-00000" "$log"
check "... the same weights, byte for byte" same_files straight/$end kill1/$end
check "... the same metrics, times aside" same_metrics straight kill1
check "... hooks' files without gap or repeat" same_csv straight kill1
check "... and the same checkpoints are kept" same_files straight/checkpoints kill1/checkpoints

# asked OUT RANKS-KEYS: the same with signals that ask it to stop.
asked() {
  asked_out=$1
  shift
  stops=0
  for at in 3 61 97; do
    # shellcheck disable=SC2086
    begin "$asked_out" $long $quick +hooks_params.hold=$at checkpoint.resume=auto "$@"
    wait_steps "$asked_out" "$at"
    kill -TERM "$pid"
    ended
    [ "$code" = 75 ] && stops=$((stops + 1))
  done
  # shellcheck disable=SC2086
  tones "$asked_out" $long $quick checkpoint.resume=auto "$@"
}
asked asked1
check "stopped three times, resumed three times: ends well" test "$code/$stops" = 0/3
check "... the same metrics, times aside" same_metrics straight asked1
check "... hooks' files without gap or repeat" same_csv straight asked1
check "... and the same checkpoints are kept" same_files straight/checkpoints asked1/checkpoints

if has_mpi; then
  # shellcheck disable=SC2086
  ran "120 steps on two ranks" straight2 $long $quick distributed.ranks=2
  moments="12 57"
  killed kill2 distributed.ranks=2
  check "two ranks killed twice, resumed twice: ends well" test "$code/$kills" = 0/2
  check "... the same weights, byte for byte" same_files straight2/$end kill2/$end
  check "... the same metrics, times aside" same_metrics straight2 kill2
else
  skip "two ranks killed and resumed" "no MPI"
fi

# On another number of ranks: the same run but for rounding.
short="training.max_steps=60 training.warmup_steps=0 checkpoint.keep_best=0"
# shellcheck disable=SC2086
ran "60 steps on one rank" whole $short
# shellcheck disable=SC2086
ran "20 steps on two ranks" parts training.warmup_steps=0 training.max_steps=20 \
  distributed.ranks=2 distributed.backend=loopback distributed.strategy=fsdp
# shellcheck disable=SC2086
tones parts training.warmup_steps=0 training.max_steps=40 distributed.ranks=3 \
  distributed.backend=loopback checkpoint.resume=auto
check "20 more on three" test "$code" = 0
# shellcheck disable=SC2086
tones parts $short checkpoint.resume=auto
check "the last 20 on one" test "$code" = 0
check "... the 60th loss is that of one rank to 1e-3" near "$(loss whole 59)" "$(loss parts 59)" 1e-3
check "... every step has one row" test "$(steps_of parts)" = 60

# A resumed run that has nothing left to do.
cp -r whole finished
# shellcheck disable=SC2086
tones finished $short checkpoint.resume=auto
check "resuming what is done: ends well" test "$code" = 0
check "... and changes nothing" same_files whole/checkpoints finished/checkpoints
# As if it had been killed after the last checkpoint was there, before older ones went.
# shellcheck disable=SC2086
tones finished $short training.max_steps=66 checkpoint.every_steps=2 checkpoint.keep_last=0 checkpoint.resume=auto
check "four checkpoints" test "$code/$(ls finished/checkpoints | wc -l)" = 0/4
# shellcheck disable=SC2086
rm finished/training_results.json
tones finished $short training.max_steps=66 checkpoint.keep_last=2 checkpoint.keep_best=0 checkpoint.resume=auto
check "... of which the last two stay, once a run has ended" \
  test "$code/$(ls finished/checkpoints | tr '\n' ' ')" = "0/step-00000064 step-00000066 "

# By its path, in another folder.
tones other $short checkpoint.resume="$scratch/whole/checkpoints/step-00000060" training.max_steps=65
check "resume by a path into a new folder" test "$code" = 0
check "... begins at step 60" grep -q '"step": 60' other/metrics.jsonl
expect "resume by a path that is not there" 78 'is not a checkpoint' -- \
  "$graphrun" "$source/tests/e2e/tones.yaml" data.manifest="$scratch/data/tones.jsonl" \
  model.graph="$source/graphs/lmu_asr.yaml" output.dir="$scratch/none" checkpoint.resume=/nowhere/step-1
counts
