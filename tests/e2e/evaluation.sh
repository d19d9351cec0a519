# evaluation.sh - a stop while the model is evaluated: all ranks stop between two batches, and the
# run that goes on ends with the files of one that was never stopped.
. "${0%/*}/lib.sh"
make_data
for i in $(seq 100); do
  awk -v i="$i" '{ sub(/}$/, ", \"name\": \"" i "." NR "\"}"); print }' data/tones.jsonl
done >data/many.jsonl
# 5 steps an epoch; evaluations after steps 5 and 10 and at the end, each of 500 batches.
many="data.eval_manifest=$scratch/data/many.jsonl training.max_steps=10 training.eval_every=1
  training.final_train_eval=false checkpoint.every_steps=4 checkpoint.keep_last=2 checkpoint.metric=loss
  checkpoint.resume=auto hooks=[$source/tests/e2e/busy.lua] logging.show_samples=100000"

# What a run leaves, without times and its folder's name.
left_by() {
  for file in metrics.jsonl evals.jsonl epochs.jsonl training_results.json; do
    echo "$file"
    sed -E "s/, \"(samples_per_s|seconds|wall)\": [^,}]*//g; s#$scratch/$1#OUT#
      /^ \"(total_seconds|total_minutes|started|finished)\"/d" "$1/$file"
  done
  cat "$1/busy.csv"
}
same_run() {
  left_by "$1" >left && left_by "$2" >right && diff left right && diff -r "$1/checkpoints" "$2/checkpoints"
}
rows_of() { if [ -f "$1" ]; then wc -l <"$1"; else echo 0; fi; }
# await COMMAND...: until it succeeds, or the run has ended
await() {
  while ! "$@" 2>/dev/null; do
    kill -0 "$watcher" 2>/dev/null || return
    sleep 0.02
  done
}
has_steps() { [ "$(steps_of "$1")" -ge "$2" ]; }
# stopped NAME OUT ROWS: TERM in the evaluation after ROWS others; the run stops in it.
stopped() {
  sleep 0.05
  kill -TERM "$pid"
  ended
  printf '%s\n' 'stopped by a signal at step' 'checkpoint.resume=auto output.dir=' >patterns
  verdict "$1" 75
  check "... in it" test "$(rows_of "$2/evals.jsonl")" = "$3"
  check "... its checkpoint verifies" "$graphrun" ckpt verify "$2/checkpoints"
}
# through OUT [key=value ...]: a run stopped in each of its three evaluations, then let through.
through() {
  out=$1
  shift
  # shellcheck disable=SC2086
  begin "$out" $many "$@"
  await has_steps "$out" 5
  stopped "TERM in the first evaluation" "$out" 0
  # shellcheck disable=SC2086
  begin "$out" $many "$@"
  await has_steps "$out" 10
  stopped "TERM in the one after the last step" "$out" 1
  # shellcheck disable=SC2086
  begin "$out" $many "$@"
  await grep -q decoded "$log"
  stopped "TERM in the final evaluation" "$out" 2
  check "... there are no results yet" test ! -e "$out/training_results.json"
  # shellcheck disable=SC2086
  tones "$out" $many "$@"
  check "the run goes on to its end" test "$code" = 0
}

# shellcheck disable=SC2086
ran "one rank, never stopped" straight $many
check "... two evaluations" test "$(rows_of straight/evals.jsonl)" = 2
through one
check "... and leaves what one leaves that was never stopped" same_run straight one

two="distributed.ranks=2"
has_mpi || two="distributed.ranks=2 distributed.backend=loopback"
# shellcheck disable=SC2086
ran "two ranks, never stopped" straight2 $many $two
# shellcheck disable=SC2086
through two $two
check "... and leaves what one leaves that was never stopped" same_run straight2 two

# Killed after the evaluation that a stop had put off: its rows are there and must not come twice.
# shellcheck disable=SC2086
begin late $many
await has_steps late 5
stopped "TERM in the first evaluation, again" late 0
# shellcheck disable=SC2086
begin late $many
await test -s late/epochs.jsonl
kill -9 "$pid"
ended
check "kill -9 after it, before a checkpoint" test "$code" = 137
# shellcheck disable=SC2086
tones late $many
check "... the run goes on to its end" test "$code" = 0
check "... and leaves what one leaves that was never stopped" same_run straight late
counts
