# evaluation.sh - a stop while the model is evaluated: all ranks stop between two batches, and the
# run that goes on ends with the files of one that was never stopped.
. "${0%/*}/lib.sh"
make_data
for i in $(seq 60); do
  awk -v i="$i" '{ sub(/}$/, ", \"name\": \"" i "." NR "\"}"); print }' data/tones.jsonl
done >data/many.jsonl
echo 'return { on_eval_start = function(ctx) graphrun.append("begun.txt", ctx.step .. " ") end }' >begun.lua
# 5 steps an epoch; evaluations after steps 5 and 10, each of 300 batches.
many="data.eval_manifest=$scratch/data/many.jsonl training.max_steps=10 training.eval_every=1
  training.final_train_eval=false checkpoint.every_steps=4 checkpoint.keep_last=2 checkpoint.metric=loss
  checkpoint.resume=auto hooks=[$source/tests/e2e/busy.lua,$scratch/begun.lua] logging.show_samples=100000"

# What a run leaves, without times and its folder's name.
left_by() {
  for file in metrics.jsonl evals.jsonl epochs.jsonl training_results.json; do
    echo "$file"
    sed -E "s/, \"(samples_per_s|seconds|data_seconds|wall)\": [^,}]*//g; s#$scratch/$1#OUT#
      /^ \"(total_seconds|total_step_seconds|total_data_seconds|total_minutes|started|finished)\"/d" "$1/$file"
  done
  cat "$1/busy.csv" "$1/begun.txt"
}
same_run() {
  left_by "$1" >left && left_by "$2" >right && diff left right && diff -r "$1/checkpoints" "$2/checkpoints"
}
rows_of() { if [ -f "$1" ]; then wc -l <"$1"; else echo 0; fi; }
ended_as() { grep -q "^ \"ended\": \"$2" "$1/training_results.json"; }
# stopped NAME OUT ROWS AWAIT [key=value ...]: TERM when the command AWAIT has ended, which waits for the last step before
# an evaluation. When that was over before the signal came, on a machine with much else to do, the same is done again
# from the same files; so it is, and later, when it had not begun.
stopped() {
  stopped_name=$1 out=$2 rows=$3 awaited=$4 later=0
  shift 4
  rm -rf "$out.before"
  [ ! -d "$out" ] || cp -R "$out" "$out.before"
  for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    begin "$out" "$@"
    # shellcheck disable=SC2086
    $awaited
    sleep $later
    kill -TERM "$pid" 2>/dev/null
    ended
    if grep -q 'while the run was being prepared' "$log"; then
      later=$((later + 1))
    elif [ "$code/$(rows_of "$out/evals.jsonl")" = "75/$rows" ]; then
      break
    fi
    [ "$try" = 20 ] && break
    rm -rf "$out"
    [ ! -d "$out.before" ] || cp -R "$out.before" "$out"
  done
  printf '%s\n' 'stopped by a signal at step' 'checkpoint.resume=auto output.dir=' >patterns
  verdict "$stopped_name" 75
  check "... in it" test "$(rows_of "$out/evals.jsonl")" = "$rows"
  check "... its checkpoint verifies" "$graphrun" ckpt verify "$out/checkpoints"
  check "... its results say so" ended_as "$out" "stopped by a signal at step"
}
# Its signals are handled.
has_begun() { grep -q '^output: ' "$log"; }
# through OUT [key=value ...]: a run stopped in each of its two evaluations, then let through; and stopped when it is resumed
# at its end, where it evaluates for the samples that it prints.
through() {
  through=$1
  shift
  # shellcheck disable=SC2086
  stopped "TERM in the first evaluation" "$through" 0 "wait_steps $through 5" $many "$@"
  # shellcheck disable=SC2086
  stopped "TERM in the one after the last step" "$through" 1 "wait_steps $through 10" $many "$@"
  # shellcheck disable=SC2086
  tones "$through" $many "$@"
  check "the run goes on to its end" test "$code" = 0
  rm "$through/training_results.json"
  # shellcheck disable=SC2086
  stopped "TERM in the evaluation of a run at its end" "$through" 2 "await has_begun" $many "$@"
  # shellcheck disable=SC2086
  tones "$through" $many "$@"
  check "... which ends again" test "$code" = 0
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
stopped "TERM in the first evaluation, again" late 0 "wait_steps late 5" $many
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

# ---- The closing evaluation, in a run that makes no other: in the middle of an epoch, behind one, of
# what was not trained at all.
cat >seen.lua <<'EOF'
return { on_eval_end = function(ctx) graphrun.append("seen.csv", ctx.step .. "," .. ctx.epoch .. "\n") end }
EOF
closing() { # NAME OUT STEPS EPOCH [key=value ...]
  closing_name=$1 out=$2 steps=$3 epoch=$4
  shift 4
  # shellcheck disable=SC2086
  ran "$closing_name" "$out" training.eval_every=0 "hooks=[$source/tests/e2e/busy.lua,$scratch/seen.lua]" "$@"
  check "... one row" test "$(rows_of "$out/evals.jsonl")" = 1
  check "... of the last step" grep -q "^{\"steps\": $steps, \"epoch\": $epoch, \"validation.loss\"" \
    "$out/evals.jsonl"
  check "... on_eval_end is called, with the row's numbers" test "$(cat "$out/seen.csv")" = "$steps,$epoch"
  check "... TensorBoard has it once" test "$(grep -ac 'eval/validation.loss' "$out"/events.*)" = 1
  check "... and the best" grep -q "\"best_epoch\": $epoch," "$out/training_results.json"
  check "... and its checkpoint" grep -q "\"best_checkpoint\": \"checkpoints/step-0*$steps\"" \
    "$out/training_results.json"
  check "... a line on the console" grep -q "^epoch $epoch  step $steps  validation  .*  saved best model: step-[0-9]* (cer: [0-9.]*)$" "$log"
}
closing "an evaluation in the middle of an epoch" middle 6 1 training.max_steps=6
closing "one without samples shown" unshown 6 1 training.max_steps=6 logging.show_samples=0
closing "one behind an epoch" behind 8 1 training.max_steps=0 training.max_epochs=2
closing "one of what was not trained" none 0 0 training.max_steps=0 training.max_epochs=0
# Further training: what the evaluation that closed the run left is not in that of a longer one.
tones middle training.eval_every=0 "hooks=[$source/tests/e2e/busy.lua,$scratch/seen.lua]" training.max_steps=10 \
  checkpoint.resume=auto
check "a run that goes on has one closing evaluation" test "$(rows_of middle/evals.jsonl)" = 1
check "... that of its last step" grep -q '^{"steps": 10, ' middle/evals.jsonl
check "... for hooks too" test "$(cat middle/seen.csv)" = 10,2
counts
