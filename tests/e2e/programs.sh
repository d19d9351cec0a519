# programs.sh - several programs over the same weights and buffers, and the run's loop: a bandit learns by
# policy gradient, the same on any number of ranks, and after kill -9 inside a phase.
. "${0%/*}/lib.sh"

cat >bandit.yaml <<'YAML'
doc: a bandit with contexts, learnt by policy gradient
params: {envs: 12, arms: 4, c: 3, hidden: 16}
buffers:
  context: {shape: [envs, c], init: normal, layout: batch}
  seen: {shape: [envs, c], layout: batch}
  action: {shape: [envs], dtype: i32, layout: batch}
  reward: {shape: [envs], layout: batch}
blocks:
  actor:
    in: x
    params: {hidden: 16, arms: 4}
    nodes:
      - x: {linear: x, out: hidden, name: hidden}
      - x: {tanh: x}
      - x: {linear: x, out: arms, name: out}
  payment:
    in: [context, act]
    params: {arms: 4, c: 3}
    nodes:
      - w: {param: [arms, c], init: normal, train: false, name: world}
      - pay: {matmul: [context, w], tb: true}
      - one: {one_hot: act, classes: arms}
      - got: {mul: [pay, one]}
      - got: {sum: got, axes: [1]}
programs:
  rollout:
    nodes:
      - logits: {actor: context, hidden: hidden, arms: arms, name: actor}
      - act: {sample_categorical: logits}
      - got: {payment: [context, act], arms: arms, c: c}
      - new: {sample_normal: context}
    next: {seen: context, action: act, reward: got, context: new}
    metrics: {reward: got}
  update:
    nodes:
      - logits: {actor: seen, hidden: hidden, arms: arms, name: actor}
      - lp: {log_prob: [logits, action]}
      - loss: {mul: [lp, reward]}
      - loss: {neg: loss}
      - v: {linear: seen, out: 1, name: critic}
      - v: {reshape: v, shape: [envs]}
      - gap: {sub: [v, reward]}
      - gap: {square: gap}
      - loss: {add: [loss, gap]}
    loss: loss
    metrics: {gap: gap}
  eval:
    nodes:
      - logits: {actor: context, hidden: hidden, arms: arms, name: actor}
      - act: {argmax: logits}
      - got: {payment: [context, act], arms: arms, c: c}
    metrics: {reward: got}
YAML
cat >run.yaml <<YAML
model: {graph: $scratch/bandit.yaml}
data: {source: none}
loop: [rollout, {repeat: 2, do: [rollout, update]}]
training: {max_epochs: 30, lr: 0.02, seed: 3, eval_every: 10}
distributed: {ranks: 1}
checkpoint: {every_steps: 7, keep_last: 30, metric: reward, mode: max}
YAML
run() {
  run_out=$1
  shift
  limited "$graphrun" run.yaml "output.dir=$scratch/$run_out" "$@"
}
newest() { ls -d "$1"/checkpoints/step-* | tail -1; }
value() { sed -n "s/.*\"$2\": \([^,}]*\).*/\1/p" "$1" | tail -1; } # of the last row

# ---- The plan
expect "every program is planned" 0 '^program rollout' '^program update' '^program eval' \
  'gradients +6 values' 'counters +2 states' 'all_reduce .*result metric.reward.sum' -- "$graphrun" plan run.yaml --ranks=2

head_of() { "$graphrun" plan "$@" 2>>"$log" | head -1; }
check "... without a batch, where no program takes one" test "$(head_of run.yaml --ranks=2)" = "plan of run.yaml for 2 ranks"

# ---- A run
run one
check "a run" test "$code" = 0
cp "$log" one.log
check "it says what a pass is" grep -q '5 runs of programs, 2 of them steps' "$log"
check "a step is a run of the program that trains" test "$(wc -l <one/metrics.jsonl)" = 60
check "an epoch is a pass" test "$(wc -l <one/epochs.jsonl)" = 30
reward() { sed -n 's/.*"rollout.reward": \([^,]*\),.*/\1/p' "$1" | $2 -n 10 | awk '{ s += $1 } END { print s / NR }'; }
check "it learns" below "$(reward one/epochs.jsonl head)" "$(reward one/epochs.jsonl tail)"
check "metrics of a pass have the program's name" grep -q '"rollout.reward": .*"update.loss": .*"update.gap": ' one/epochs.jsonl
check "... and those of its steps" grep -q '"update.loss": .*"update.gap": ' one/metrics.jsonl
check "evaluations without samples" test "$(wc -l <one/evals.jsonl)" = 3
for ranks in 2 3; do
  run "on$ranks" distributed.ranks=$ranks
  for step in 0 20 59; do
    check "step $step is the same on $ranks ranks" near "$(loss one $step)" "$(loss "on$ranks" $step)" 1e-3
  done
  check "evaluation is the same on $ranks ranks" near "$(value one/evals.jsonl validation.reward)" \
    "$(value "on$ranks/evals.jsonl" validation.reward)" 1e-4
done
expect "nothing is computed on the device null" 0 '60 steps, 3 evaluations' -- "$graphrun" run.yaml device=null training.eval_every=10

run best checkpoint.metric=rollout.reward checkpoint.every_steps=0 checkpoint.keep_last=1 checkpoint.keep_best=1 training.eval_every=0
largest() { sed -n 's/.*"rollout.reward": \([^,]*\),.*/\1/p' "$1" | sort -g | tail -1; }
check "the best pass is known by a metric of a program" near "$(value best/training_results.json best_value)" \
  "$(largest best/epochs.jsonl)" 1e-6
check "... and its checkpoint is kept" test -f "best/$(sed -n 's/.*"best_checkpoint": "\([^"]*\)".*/\1/p' best/training_results.json)/manifest.json"
run within checkpoint.metric=rollout.reward checkpoint.every_steps=3 checkpoint.keep_last=0 training.eval_every=0 training.max_epochs=6
has_metric() { (cd within/checkpoints && grep -l '^ *"rollout.reward": ' */manifest.json | tr -dc '0-9\n' | sed 's/^0*//' | tr '\n' ' '); }
odd() { has_metric | tr ' ' '\n' | awk '$1 % 2'; }
check "a checkpoint within a pass has no metric of one" sh -c 'test -d within/checkpoints/step-00000003 && test -z "$1"' sh "$(odd)"
check "... and one behind a pass has it" sh -c 'echo " $1" | grep -q " 6 " && echo " $1" | grep -q " 12 "' sh "$(has_metric)"
check "the console has a line with a pass's metrics" grep -q 'epoch 29  step 60  rollout.reward ' one.log
expect "a metric that no program has" 65 "did you mean 'rollout.reward'" -- \
  "$graphrun" plan run.yaml checkpoint.metric=rollout.rewad

# ---- Schedules
cat >passes.lua <<'LUA'
local begun, starts = 0, 0
return {
  on_start = function() starts = starts + 1 end,
  on_epoch_start = function(ctx) begun = begun + 1; ctx.state.begun = ctx.epoch end,
  lr = function(ctx) return 1e6 * starts + 1e4 * begun + 100 * ctx.epoch + ctx.steps_per_epoch end,
}
LUA
expect "hooks: steps are those of programs that train, and epochs passes" 0 '^\{"step": 0, "program": "update", "lr": 1010002' \
  '^\{"step": 1, "program": "update", "lr": 1010002' '^\{"step": 2, "program": "update", "lr": 1020102' \
  '^\{"step": 59, "program": "update", "lr": 1302902' -- "$graphrun" hooks run.yaml 'hooks=[passes.lua]' --json
check "... all of the run's" test "$(wc -l <"$log")" = 60
expect "... and says what a pass is" 0 \
  '^an epoch is a pass through the loop: 5 runs of programs, 2 of them steps: 2 of update' '^7 steps: lr' -- \
  "$graphrun" hooks run.yaml 'hooks=[passes.lua]' --steps=7
run scheduled 'hooks=[passes.lua]' training.max_epochs=3 training.lr=1
"$graphrun" hooks run.yaml 'hooks=[passes.lua]' training.max_epochs=3 training.lr=1 --json 2>&1 | sed 's/.*"lr": \([^,}]*\).*/\1/' >asked
sed 's/.*"lr": \([^,}]*\).*/\1/' scheduled/metrics.jsonl >was
check "... the rates are those of the run" cmp asked was
expect "a loop that is wrong" 65 "the model has no program 'updat'" -- "$graphrun" hooks run.yaml 'loop=[updat]'

# ---- Stops
run half training.max_steps=31
run half
check "a run that was stopped inside a phase is the run" same_metrics one half
check "... its last checkpoint has the same bytes" same_files "$(newest one)" "$(newest half)"
# In the evaluation after a pass: all of its runs are done, and its end is not.
echo 'return { on_eval_start = function(ctx) while ctx.params.wait do end end }' >waits.lua
mkdir -p ending
new_log >/dev/null
timeout -k 5 "$limit" "$graphrun" run.yaml output.dir="$scratch/ending" 'hooks=[waits.lua]' 'hooks_params={wait: true}' \
  hooks_seconds=100000 >>"$log" 2>&1 </dev/null &
watcher=$! pid=
while [ -z "$pid" ] && kill -0 "$watcher" 2>/dev/null; do pid=$(children "$watcher"); done
wait_steps ending 20
kill -TERM "$pid"
ended
check "stopped before the evaluation of a pass" test "$code/$(steps_of ending)" = 75/20
run ending 'hooks=[waits.lua]'
check "... it goes on with that" test "$code/$(wc -l <ending/evals.jsonl)/$(wc -l <ending/epochs.jsonl)" = 0/3/30
check "... and is the run" same_metrics one ending
long="hooks=[$source/tests/e2e/slow.lua] training.eval_every=0"
for ranks in 1 2; do
  # shellcheck disable=SC2086
  run "whole$ranks" $long "hooks_params={spin: 1}" distributed.ranks=$ranks
  mkdir -p "killed$ranks"
  new_log >/dev/null
  # shellcheck disable=SC2086
  timeout -k 5 "$limit" "$graphrun" run.yaml output.dir="$scratch/killed$ranks" $long distributed.ranks=$ranks \
    distributed.backend=loopback 'hooks_params={hold: 25}' hooks_seconds=100000 >>"$log" 2>&1 </dev/null &
  watcher=$!
  wait_steps "killed$ranks" 20
  for at in $(processes "killed$ranks"); do kill -9 "$at" 2>/dev/null; done
  wait "$watcher" 2>/dev/null
  check "killed before the end on $ranks ranks" test "$(steps_of "killed$ranks")" -lt 60
  # shellcheck disable=SC2086
  run "killed$ranks" $long "hooks_params={spin: 1}" distributed.ranks=$ranks distributed.backend=loopback
  check "a killed run goes on, on $ranks ranks" same_metrics "whole$ranks" "killed$ranks"
  check "... to the same bytes" same_files "$(newest "whole$ranks")" "$(newest "killed$ranks")"
done

# ---- Minibatches of rows of buffers
mini="model.graph=$source/tests/e2e/minibatches.yaml training.max_epochs=8 checkpoint.metric=update.loss"
minibatches="loop=[rollout,{repeat: 2, over: minibatches, do: update}]"
# shellcheck disable=SC2086
{
  run mini $mini "$minibatches"
  check "a pass has as many steps as there are minibatches" test "$(wc -l <mini/metrics.jsonl)" = 64
  check "... which have every row as often" awk -F'"update.row": |"update.squares": ' \
    '{ split($2, m, ","); split($3, q, ","); if (m[1] != 23.5 || q[1] < 744.1 || q[1] > 744.2) exit 1 } END { exit NR != 8 }' \
    mini/epochs.jsonl
  check "... a row of which has the mean of its own" awk -F'"update.row": ' \
    '{ split($2, m, ","); if (m[1] < 0 || m[1] > 47) exit 1; sum += m[1]
       if (NR % 4 == 0) { if (sum < 93.999 || sum > 94.001) exit 1; sum = 0 } } END { exit NR != 64 }' mini/metrics.jsonl
  check "... in another order in each pass" test "$(sed 's/.*"update.squares": \([^,]*\),.*/\1/' mini/metrics.jsonl | sort -u | wc -l)" -gt 40
  for ranks in 2 3; do
    run "mini$ranks" $mini "$minibatches" distributed.ranks=$ranks
    for step in 0 20 63; do
      check "minibatches: step $step is the same on $ranks ranks" near "$(loss mini $step)" "$(loss "mini$ranks" $step)" 1e-3
    done
    run "cut$ranks" $mini "$minibatches" distributed.ranks=$ranks training.max_steps=29
    run "cut$ranks" $mini "$minibatches" distributed.ranks=$ranks
    check "... and after a stop among them" same_files "$(newest "mini$ranks")" "$(newest "cut$ranks")"
  done
  # In two micro-steps: the same rows, and so the same gradients.
  for ranks in 1 2 3; do
    run "micro$ranks" $mini "$minibatches" distributed.ranks=$ranks training.accumulate=2
    check "in micro-steps on $ranks: as many steps" test "$(steps_of "micro$ranks")" = 64
    for step in 0 1 20 63; do
      check "... step $step is that of whole minibatches" near "$(loss mini $step)" "$(loss "micro$ranks" $step)" 1e-3
    done
    check "... of the same rows" test "$(sed -n '41s/.*"update.squares": \([^,]*\),.*/\1/p' mini/metrics.jsonl)" = \
      "$(sed -n '41s/.*"update.squares": \([^,]*\),.*/\1/p' "micro$ranks/metrics.jsonl")"
  done
  run cutm $mini "$minibatches" training.accumulate=2 training.max_steps=29
  run cutm $mini "$minibatches" training.accumulate=2
  check "... and after a stop among them" same_files "$(newest micro1)" "$(newest cutm)"
  run changed $mini "$minibatches" training.accumulate=2 training.max_steps=29
  run changed $mini "$minibatches" training.accumulate=3
  check "... which others go on with" near "$(loss mini 63)" "$(loss changed 63)" 1e-3
  expect "micro-steps take a part of the memory" 0 'update.micro +[0-9]+ nodes' 'update.update ' -- \
    "$graphrun" plan run.yaml $mini "$minibatches" training.accumulate=2
  expect "minibatches that micro-steps do not divide" 65 "a rank's 4 rows of a minibatch are no whole number of rows for each of 3 micro-steps" \
    'hint: of: a multiple of 9' -- "$graphrun" plan run.yaml $mini "$minibatches" training.accumulate=3 --ranks=3
  expect "rows are selected where they are: only gradients and results are reduced" 0 \
    'collectives: 1 of [0-9]+ values' -- "$graphrun" plan run.yaml $mini 'loop=[update]' --ranks=3
  expect "whole environments" 0 '^program update' -- \
    "$graphrun" plan run.yaml $mini "$minibatches" model.params.axes=2 model.params.of=48
  expect "rows that minibatches do not divide" 65 '48 rows of .seen. are no whole number of minibatches of 10' \
    'hint: of: 8 or 12' -- "$graphrun" plan run.yaml $mini "$minibatches" model.params.of=10
  expect "minibatches that ranks do not divide" 65 'minibatches of 8 rows cannot be split over 3 ranks' 'hint: ' -- \
    "$graphrun" plan run.yaml $mini "$minibatches" model.params.of=8 --ranks=3
}

# ---- Programs that take data, beside some that do not
awk 'BEGIN { srand(5); print "a,b,kind"
  for (i = 0; i < 96; i++) { k = int(2 * rand()); printf "%.4f,%.4f,%s\n", k + rand(), rand() - k, substr("noyes", 1 + 2 * k, 2 + k) }
}' >rows.csv
cat >mean.yaml <<'YAML'
doc: a slow copy of a weight
params: {classes: 2}
inputs: {x: {shape: [n, 2]}, y: {shape: [n], dtype: i32}}
buffers: {slow: {shape: [classes, 2]}}
nodes:
  - w: {param: [classes, 2], init: xavier_uniform, name: w}
  - logits: {matmul: [x, w], tb: true}
  - loss: {cross_entropy: [logits, y]}
programs:
  follow:
    nodes:
      - d: {sub: [w, slow]}
      - d: {scale: d, by: 0.5}
      - slow2: {add: [slow, d]}
      - d: {square: d}
      - far: {sum: d, axes: [0, 1]}
    next: {slow: slow2}
    metrics: {far: far}
train: loss
YAML
data="model.graph=$scratch/mean.yaml data.source=table data.validation_fraction=0.25 data.table.path=rows.csv data.table.label=kind
  training.batch_size=12 checkpoint.metric=loss checkpoint.mode=min training.max_epochs=4"
# shellcheck disable=SC2086
{
  run plain $data 'loop=[{over: data, do: train}]'
  sed '/^programs/,/^    metrics/d' mean.yaml >without.yaml
  run without $data model.graph="$scratch/without.yaml" loop=null
  check "a loop of epochs of train is what a run is without one" same_metrics plain without
  run follow $data 'loop=[{repeat: 3, do: [{repeat: 2, do: train}, follow]}]'
  check "batches go on over passes" test "$(wc -l <follow/metrics.jsonl)" = 24
  run follow2 $data 'loop=[{repeat: 3, do: [{repeat: 2, do: train}, follow]}]' training.max_steps=9
  run follow2 $data 'loop=[{repeat: 3, do: [{repeat: 2, do: train}, follow]}]'
  check "... and over a stop" same_metrics follow follow2
  check "... to the same bytes" same_files "$(newest follow)" "$(newest follow2)"
  run follow3 $data 'loop=[{repeat: 3, do: [{repeat: 2, do: train}, follow]}]' distributed.ranks=3
  check "... and on three ranks" near "$(loss follow 23)" "$(loss follow3 23)" 1e-4
}

# ---- Errors
bad() {
  bad_name=$1 pattern=$2
  shift 2
  expect "$bad_name" 65 "$pattern" 'hint: ' -- "$graphrun" plan run.yaml "$@"
}
bad "a loop that names no program" "the model has no program 'rolout'" 'loop=[rolout, update]'
bad "eval in the loop" "'eval' is no phase of the loop" 'loop=[rollout, update, eval]'
bad "a loop that trains nothing" 'no program of the loop trains anything' 'loop=[rollout]'
bad "an empty loop" 'a loop of nothing' 'loop=[]'
bad "a loop that is none" 'loop: is a list of phases' 'loop=3'
bad "a phase that is none" 'a phase is the name of a program' 'loop=[3]'
bad "a phase without do" "a phase needs 'do'" 'loop=[{repeat: 3}]'
bad "a key that a phase has not" "a phase has no key 'tims'" 'loop=[{tims: 3, do: update}]'
bad "what a phase cannot go over" 'a phase cannot go over this' 'loop=[{over: all, do: update}]'
bad "data that are not there" 'there is no training data' 'loop=[{over: data, do: update}]'
bad "minibatches of a program that selects none" "the program 'update' selects none" 'loop=[{over: minibatches, do: update}]'
bad "no loop" "which says when the program 'rollout' runs" loop=null
bad "micro-batches of no batch" 'the program update takes neither' training.accumulate=2
expect "a program that is never run" 0 "the program 'rollout' of the model is never run" -- "$graphrun" plan run.yaml 'loop=[update]'
sed 's/^    loss: loss/    loss: loss\n    trains: ["actr.*"]/' bandit.yaml >trains.yaml
bad "trains matches nothing" "'actr.\*' matches no weight of the program update" model.graph=trains.yaml
counts
