# cut.sh - a small run that is stopped after one of its steps, for many of them, and goes on: it leaves what it leaves
# without a stop. Some of its steps have no finite gradient, also where a checkpoint is due; hooks note what
# they see, ask for an evaluation, and set and log values once.
. "${0%/*}/lib.sh"
awk 'BEGIN { srand(4); print "a,b,kind"
  for (i = 0; i < 64; i++) { k = int(2 * rand()); printf "%.3f,%.3f,%s\n", k + rand(), rand() - k, substr("noyes", 1 + 2 * k, 2 + k) }
}' >rows.csv
cat >model.yaml <<'YAML'
doc: two classes; the gradients of steps 5, 8 and 11 are not finite
inputs: {x: {shape: [n, 2]}, y: {shape: [n], dtype: i32}}
buffers: {passes: {shape: []}}
nodes:
  - logits: {linear: x, out: 2, name: fit}
  - lp: {log_prob: [logits, y]}
  - loss: {neg: lp}
  - acc: {accuracy: [logits, y]}
programs:
  train:
    nodes:
      - now: {add: [passes, 1]}
      - a: {sub: [now, 6]}
      - b: {sub: [now, 9]}
      - c: {sub: [now, 12]}
      - d: {mul: [a, b]}
      - d: {mul: [d, c]}
      - d: {div: [0, d]}
      - loss: {add: [loss, d]}
    loss: loss
    next: {passes: now}
  eval:
    loss: loss
    metrics: {accuracy: acc}
YAML
cat >notes.lua <<'L'
local function note(event)
  return function(ctx)
    local sum = 0
    while event == "lr" and ctx.params.hold and ctx.step >= ctx.params.hold do sum = sum + 1 end
    if event == "lr" and ctx.step == ctx.params.fail then error("fails") end
    local m = ctx.metrics
    graphrun.append("events.txt", string.format("%s %d %d %s %s %s %s %s\n", event, ctx.step, ctx.epoch,
      tostring(ctx.loss), tostring(m.loss), tostring(m.accuracy), tostring(m.grad_norm), tostring(ctx.best)))
    if event == "lr" then return ctx.lr end
    if event == "on_step_end" and ctx.step == 4 then return { set = { momentum = 0.5 }, log = { four = 4 } } end
    if event == "on_step_end" and ctx.step == 9 then return { evaluate = true, log = { nine = 9 } } end
  end
end
return {
  on_epoch_start = note("on_epoch_start"), lr = note("lr"), on_before_optimizer = note("on_before_optimizer"),
  on_step_end = note("on_step_end"), on_eval_start = note("on_eval_start"), on_eval_end = note("on_eval_end"),
  on_epoch_end = note("on_epoch_end"), on_checkpoint = note("on_checkpoint"),
}
L
cat >run.yaml <<'YAML'
model: {graph: model.yaml}
data: {source: table, validation_fraction: 0.25, table: {path: rows.csv, label: kind}}
training: {batch_size: 16, optimizer: sgd, momentum: 0.9, lr: 0.2, max_steps: 16, max_epochs: 0, eval_every: 1, seed: 3,
  adjustable: true}
distributed: {ranks: 1}
checkpoint: {metric: accuracy, mode: max, every_steps: 3, keep_last: 2, keep_best: 2, resume: auto}
hooks: [notes.lua]
hooks_seconds: 100000
logging: {show_samples: 0, tensorboard: false}
YAML
run() { # OUT KEY=VALUE...
  run_out=$1
  shift
  limited "$graphrun" run.yaml "output.dir=$scratch/$run_out" "$@"
}
lines() { sed -E 's/, "(samples_per_s|wall|seconds|data_seconds)": [^,}]*//g' "$1"; }
same_lines() { lines "$1/$3" >left.lines && lines "$2/$3" >right.lines && [ -s left.lines ] && cmp left.lines right.lines; }
bests() { grep -E '^ "(best_[a-z]*|ended|config_hash|final_loss|steps|epochs)"' "$1/training_results.json"; }
same_bests() { bests "$1" >left.bests && bests "$2" >right.bests && [ "$(wc -l <left.bests)" = 10 ] && cmp left.bests right.bests; }
# Of the manifests all but whose run it was, which holds at its step by a parameter of its hook.
manifests() { cat "$1"/checkpoints/*/manifest.json | grep -vE '^ *"(run.identity|check)": '; }
same_checkpoints() {
  manifests "$1" >left.manifests && manifests "$2" >right.manifests && [ -s left.manifests ] &&
    cmp left.manifests right.manifests && same_tensors "$1/checkpoints" "$2/checkpoints"
}

run whole
check "a run" test "$code" = 0
check "... some of whose steps have no finite gradient" test "$(grep -c '"loss": "NaN"' whole/metrics.jsonl)" = 3
check "... and which owes a checkpoint then" grep -q "no checkpoint at step 6" whole/run.log
check "a value that a hook has set stays, and one that it has logged does not" \
  test "$(grep -c '"set.momentum": 0.5' whole/metrics.jsonl)/$(grep -c '"four"' whole/metrics.jsonl)" = 11/1
check "an evaluation that a hook has asked for" grep -q '"steps": 10,' whole/evals.jsonl
check "an evaluation after a step without a finite gradient is not the best" grep -q '^ "best_step": 10,' whole/training_results.json
# EPOCH: its loss is a mean of those of its steps.
is_mean() {
  { sed -n "$(($1 + 1))s/.*\"train.loss\": \([^,}]*\).*/\1/p" whole/epochs.jsonl
    sed -n "$((3 * $1 + 1)),$((3 * $1 + 3))s/.*\"loss\": \([^,]*\),.*/\1/p" whole/metrics.jsonl; } |
    awk 'NR == 1 { mean = $1 } NR == 2 { low = high = $1 } NR > 2 { if ($1 < low) low = $1; if ($1 > high) high = $1 }
      END { exit !(NR == 4 && mean ~ /^[0-9]/ && mean >= low && mean <= high) }'
}
check "the loss of the first epoch is that of its steps" is_mean 0
check "... and that of a later one" is_mean 4
run anew checkpoint.resume=none
check "how a run begins is no part of its configuration's hash" same_bests whole anew

# DIR: the run that was stopped goes on, and leaves what `whole` leaves.
goes_on() {
  run "$1"
  check "... it goes on to its end" test "$code" = 0
  check "... with the same rows" same_metrics whole "$1"
  check "... the same evaluations" same_lines whole "$1" evals.jsonl
  check "... the same epochs" same_lines whole "$1" epochs.jsonl
  check "... the same events of hooks" cmp whole/events.txt "$1/events.txt"
  check "... the same checkpoints" same_checkpoints whole "$1"
  check "... and the same best" same_bests whole "$1"
}

for at in 2 3 4 5 6 7 9 10 12 13; do
  mkdir -p "cut$at"
  new_log >/dev/null
  timeout -k 5 "$limit" "$graphrun" run.yaml "output.dir=$scratch/cut$at" "hooks_params={hold: $at}" >>"$log" 2>&1 </dev/null &
  watcher=$! pid=
  while [ -z "$pid" ] && kill -0 "$watcher" 2>/dev/null; do pid=$(children "$watcher"); done
  wait_steps "cut$at" "$at"
  kill -TERM "$pid"
  ended
  check "stopped after step $at" test "$code/$(steps_of "cut$at")" = "75/$at"
  goes_on "cut$at"
done

# The hook that has asked for an evaluation fails before that: a checkpoint is due, with what it gives.
run failed "hooks_params={fail: 10}"
check "a hook that fails before an evaluation" test "$code/$(steps_of failed)" = "70/10"
goes_on failed
counts
