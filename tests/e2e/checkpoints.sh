# checkpoints.sh - which checkpoints a run makes and keeps: when training blows up, when an evaluation
# is the best, when another run writes to the same folder; and what runs start from.
. "${0%/*}/lib.sh"
make_data
steps() { # OUT: of the checkpoints that are there, on one line
  for step in "$1"/checkpoints/step-*; do
    name=${step##*step-}
    [ -d "$step" ] && printf '%s ' "${name##*000000}"
  done
}
scalar() { # OUT STEP NAME: of that checkpoint
  "$graphrun" ckpt show "$1/checkpoints/step-$(printf %08d "$2")" | sed -n "s/^  $3 *//p"
}
result() { # OUT NAME: a number of training_results.json
  sed -n "s/^ \"$2\": \([^,]*\),.*/\1/p" "$1/training_results.json"
}

# ---- A step that ruins the weights: its own gradient is finite, and no later one's.
cat >blowup.lua <<'L'
return { lr = function(ctx) if ctx.step == 40 then return 1e9 end return ctx.lr end }
L
blow="hooks=[$scratch/blowup.lua] training.eval_every=0 checkpoint.every_steps=10 checkpoint.keep_last=3"
# shellcheck disable=SC2086
tones blown $blow training.max_steps=400
printf '%s\n' "no finite gradient in the 51 steps up to step 92: the weights after step 41 are good for nothing" \
  "hint: .*a smaller training.lr.*checkpoint.resume=auto output.dir=" >patterns
verdict "a step at lr 1e9" 76
check "... ends the run after exactly 51 skipped steps" test "$(steps_of blown)" = 92
check "... the checkpoints from before are there, and no others" test "$(steps blown)" = "20 30 40 "
check "... whole" "$graphrun" ckpt verify blown
cp -r blown again
# shellcheck disable=SC2086
tones again training.max_steps=44 training.eval_every=0 checkpoint.resume=auto
check "... from which a run without it continues" test "$code" = 0
check "... at the newest" grep -q "resumed from .*step-00000040" "$log"

# A run that is killed between a checkpoint and its name: the next one goes on from it, so that its rows are kept.
tones unnamed training.max_steps=6 checkpoint.every_steps=3 training.eval_every=1
mv unnamed/checkpoints/step-00000006 unnamed/checkpoints/.tmp-step-00000006
rm unnamed/training_results.json
cp unnamed/metrics.jsonl rows
tones unnamed training.max_steps=7 checkpoint.every_steps=3 training.eval_every=1 checkpoint.resume=auto
check "a complete checkpoint without its name is gone on from" grep -q "resumed from .*step-00000006" "$log"
check "... with the rows before it" sh -c 'head -n 6 unnamed/metrics.jsonl | cmp - rows'

# Written while the run goes on, or while it waits.
for each in 1 2; do
  tones apart$each training.max_steps=6 checkpoint.every_steps=3 distributed.ranks=$each distributed.strategy=zero1
  tones within$each training.max_steps=6 checkpoint.every_steps=3 distributed.ranks=$each distributed.strategy=zero1 checkpoint.async=false
  check "checkpoint.async=false, $each ranks" test "$code" = 0
  check "... the same checkpoints" same_files apart$each/checkpoints within$each/checkpoints
done

# The checkpoint of the ruined weights themselves was due: it is not kept, and older ones are not
# pruned for it.
# shellcheck disable=SC2086
tones ruined $blow training.max_steps=400 checkpoint.every_steps=41 checkpoint.keep_last=1
check "a checkpoint of what a ruinous step left" test "$code" = 76
check "... is not kept" test -z "$(steps ruined)"
check "... as it says" grep -q "the checkpoint of step 41 is not kept" "$log"
check "... and names no other" grep -q "hint: .*no checkpoint from before" "$log"
# shellcheck disable=SC2086
tones best $blow training.max_steps=400 training.eval_every=1 checkpoint.every_steps=1 \
  checkpoint.keep_last=1 checkpoint.keep_best=1 checkpoint.metric=loss
check "keep_last=1, keep_best=1, a checkpoint after every step" test "$code" = 76
check "... the last good one stays" test "$(steps best)" = "40 "
check "... and is the best" test "$(result best best_step)" = 40

# The run ends while steps are skipped: its state is kept beside the good one, and counts no more.
# shellcheck disable=SC2086
tones early $blow training.max_steps=60
printf '%s\n' "the last 19 steps had no finite gradient" "hint: .*checkpoint.resume=auto" >patterns
verdict "the end comes while steps are skipped" 76
check "... the good ones and the last are there" test "$(steps early)" = "20 30 40 60 "
check "... the last says what it is" test "$(scalar early 60 run.finite)/$(scalar early 40 run.finite)" = 0/1
check "... and the list" sh -c "'$graphrun' ckpt list early | grep -q 'step-00000060  (the gradient of its last step was not finite'"
cp -r early on && cp -r early over
# shellcheck disable=SC2086
tones on training.max_steps=48 training.eval_every=0 checkpoint.keep_last=1 checkpoint.resume=auto
printf '%s\n' "step-00000060' is newer, but its last step had no finite gradient: continuing from step 40" \
  "resumed from .*step-00000040" >patterns
verdict "auto continues from the newest finite one" 0
check "... which then takes the place of what was not" test "$(steps on)" = "48 "
# shellcheck disable=SC2086
tones over training.max_steps=400 training.eval_every=0 checkpoint.resume="$scratch/over/checkpoints/step-00000060"
check "by its path the other one is continued" grep -q "resumed from .*step-00000060" "$log"
check "... which counts on: the limit is at the same step" test "$code/$(steps_of over)" = 76/92
check "... and names the good one" grep -q "hint: .*checkpoint.resume=auto" "$log"

# The last step is the ruinous one: nothing shows it but the closing evaluation.
# shellcheck disable=SC2086
tones last $blow training.max_steps=41 checkpoint.keep_last=1
check "a run that ends with a ruinous step" test "$code" = 0
check "... keeps the one before, too" test "$(steps last)" = "40 41 "
tones last training.max_steps=400 training.eval_every=0 "$(from last)"
printf '%s\n' "the weights after step 41 are good for nothing" \
  "hint: .*checkpoint.resume=.*/step-00000040 output.dir=" >patterns
verdict "... and the next run names that" 76

# Stopped in the midst of it and resumed: the same run, to the byte. Ten of its steps are long enough
# for a signal to come between.
cat >long.lua <<'L'
return { lr = function(ctx)
  local sum = 0
  while ctx.params.hold and ctx.step >= ctx.params.hold do sum = sum + 1 end
  return ctx.step == 40 and 1e9 or ctx.lr
end }
L
long="hooks=[$scratch/long.lua] training.eval_every=0 checkpoint.every_steps=10 training.max_steps=400"
# shellcheck disable=SC2086
begin stopped $long hooks_params={hold:55} hooks_seconds=100000
wait_steps stopped 50
kill -TERM "$pid"
ended
check "stopped while steps are skipped" test "$code" = 75
# shellcheck disable=SC2086
tones stopped $long checkpoint.resume=auto
check "... resumed, it ends as it would have" test "$code/$(steps_of stopped)" = 76/92
# shellcheck disable=SC2086
tones unstopped $long
check "... with the same metrics" same_metrics stopped unstopped

# One batch of an epoch has no finite gradient: a transcript that does not fit its recording, whose loss is infinite, or
# NaN where a row that pads the batch repeats it, of weight 0; in JSON a text. What is due then comes one step later.
sed 's/zero_infinity: true/zero_infinity: false/' "$source/graphs/lmu_asr.yaml" >inf.yaml
sed '1s/"text": "[^"]*"/"text": "ABABABABABAB"/' data/tones.jsonl >data/inf.jsonl
odd="data.manifest=$scratch/data/inf.jsonl model.graph=$scratch/inf.yaml training.eval_every=0
  checkpoint.keep_last=0 checkpoint.keep_best=0"
# shellcheck disable=SC2086
tones odd $odd checkpoint.every_steps=3 training.max_steps=43
check "a batch an epoch without a finite gradient" test "$code" = 0
want=$(awk 'index($0, "\"loss\": \"") { skipped = 1 } !index($0, "\"loss\": \"") { skipped = 0 }
  NR % 3 == 0 { owed = 1 } (owed && !skipped) || NR == 43 { printf "%d ", NR; owed = 0 }' odd/metrics.jsonl)
check "... was left out where a checkpoint was due" test "$want" != "3 6 9 12 15 18 21 24 27 30 33 36 39 42 43 "
check "... which then comes after the next step ($want)" test "$(steps odd | sed 's/\<0//g')" = "$want"
# shellcheck disable=SC2086
tones often $odd checkpoint.every_steps=0 training.max_steps=230
check "... 51 of them that are not in a row do not end a run" test "$(steps_of often)" = 230
check "... and there were so many" test "$(grep -c '"loss": "' often/metrics.jsonl)" -gt 51
cp -r odd twice && rm -r twice/checkpoints/step-0000003* twice/checkpoints/step-0000004*
# shellcheck disable=SC2086
tones twice $odd checkpoint.every_steps=3 training.max_steps=43 checkpoint.resume=auto
check "... resumed in the midst, the same, byte for byte" same_files odd/checkpoints twice/checkpoints
# Two steps in a row, the first of which was to be saved, and the end.
at=$(awk 'BEGIN { last = -1 } index($0, "\"loss\": \"") { if (last == NR - 1) { print NR; exit } last = NR }' odd/metrics.jsonl)
# shellcheck disable=SC2086
tones owed $odd checkpoint.every_steps=$((at - 1)) training.max_steps="$at"
check "the end comes while one is owed" test "$code/$(scalar owed "$at" run.owed)" = 76/1
# shellcheck disable=SC2086
tones owed $odd checkpoint.every_steps=$((at - 1)) training.max_steps=$((at + 4)) \
  checkpoint.resume="$scratch/owed/checkpoints/step-000000$at"
check "... the run that continues makes it" test "$code/$(steps owed)" = "0/$((at + 1)) $((at + 4)) "

# ---- The best evaluation is saved when it is measured.
every="training.max_steps=64 training.eval_every=3 checkpoint.keep_last=1 checkpoint.every_steps=10"
# best_of OUT METRIC min|max: the step of the best in evals.jsonl, the earliest of equal ones
best_of() {
  sed -E "s/.*\"steps\": ([0-9]+).*\"validation.$2\": ([^,]+).*/\1 \2/" "$1/evals.jsonl" | awk -v mode="$3" '
    NR == 1 || (mode == "max" ? $2 > best : $2 < best) { best = $2; at = $1 } END { print at }'
}
# shellcheck disable=SC2086
for case in "min checkpoint.metric=loss" "max checkpoint.metric=loss" "min ~checkpoint.metric"; do
  out=best-$(echo "$case" | tr -c 'a-z\n' -)
  tones "$out" $every checkpoint.mode=${case%% *} ${case#* }
  want=$(best_of "$out" loss "${case%% *}")
  check "keep_best with $case" test "$code" = 0
  check "... keeps the best evaluation ($want) and the last" test "$(steps "$out")" = "$want 64 "
  check "... as the results say" test "$(result "$out" best_step)" = "$want"
done
tones each training.max_steps=62 training.eval_every=1 checkpoint.keep_last=0 checkpoint.keep_best=1
want=$(sed -E 's/.*"steps": ([0-9]+).*"validation.cer": ([^,]+).*/\1 \2/' each/evals.jsonl | awk '
  $1 < 62 && (NR == 1 || $2 < best) { best = $2; printf "%d ", $1 }')
check "each evaluation that is better than all before is saved, no equal one ($want)" \
  test "$(steps each | sed 's/\<0//g')" = "${want}62 "
# shellcheck disable=SC2086
tones nan $blow training.max_steps=60 training.eval_every=11 checkpoint.metric=cer
check "an evaluation with a loss of NaN is no best, whatever its metric" \
  grep -q '"best_metric": null' nan/training_results.json
check "... which it has" grep -q '"steps": 44.*"validation.loss": "NaN", "validation.cer": [0-9]' nan/evals.jsonl
# shellcheck disable=SC2086
begin resumed $every checkpoint.metric=loss checkpoint.keep_best=3 "hooks=[$source/tests/e2e/slow.lua]" \
  hooks_params={hold:33} hooks_seconds=100000
wait_steps resumed 31
kill -9 $(processes resumed) 2>/dev/null
ended
# shellcheck disable=SC2086
tones resumed $every checkpoint.metric=loss checkpoint.keep_best=3 checkpoint.resume=auto
# shellcheck disable=SC2086
tones whole $every checkpoint.metric=loss checkpoint.keep_best=3
check "killed and resumed, the same checkpoints stay, byte for byte" same_files whole/checkpoints resumed/checkpoints

# ---- A folder of checkpoints that another run writes to.
begin one checkpoint.dir="$scratch/shared" training.max_steps=1000000 "hooks=[$source/tests/e2e/slow.lua]"
wait_steps one 2
owner=$pid
tones two checkpoint.dir="$scratch/shared" distributed.timeout=8
printf '%s\n' "another run writes to '.*shared': process [0-9]+ on .*output.dir=.*one" \
  "hint: .*another checkpoint.dir" >patterns
verdict "two runs with one checkpoint.dir" 74
kill -9 "$owner"
ended
tones two checkpoint.dir="$scratch/shared"
check "... a run that was killed is no obstacle" test "$code" = 0

# ---- Only damaged ones
cp -r again broken
for file in broken/checkpoints/step-*/manifest.json; do echo >>"$file"; done
cp broken/metrics.jsonl rows
tones broken checkpoint.resume=auto
printf '%s\n' "none of the [0-9]+ checkpoints in '.*' can be read" "hint: .*ckpt verify.*checkpoint.resume=none" >patterns
verdict "resume=auto with nothing but damaged ones" 78
check "... changes nothing" cmp rows broken/metrics.jsonl

# ---- Weights from a run's folder
for from in again again/checkpoints again/checkpoints/step-00000044; do
  tones from model.init_from="$scratch/$from" training.max_steps=1
  check "model.init_from=$from" test "$code" = 0
  check "... is its newest" grep -q "tensors are those of .*again/checkpoints/step-00000044" "$log"
done
counts
