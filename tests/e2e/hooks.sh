# hooks.sh - Lua scripts from outside: what they may do, and what their mistakes do to a run.
. "${0%/*}/lib.sh"
make_data
broken() { cat >"$scratch/$1.lua"; }
# hook NAME CODE PATTERN... -- OUT [key=value ...]
hook() {
  hook_name=$1 hook_code=$2
  shift 2
  : >patterns
  while [ "$1" != -- ]; do
    printf '%s\n' "$1" >>patterns
    shift
  done
  shift
  tones "$@"
  verdict "$hook_name" "$hook_code"
}
two="distributed.ranks=2"
has_mpi || two="distributed.ranks=2 distributed.backend=loopback"

broken syntax <<'L'
return {
  lr = function(ctx) retrun 1 end,
}
L
hook "a syntax error" 70 'syntax.lua:2' "'='|syntax error" -- syntax "hooks=[$scratch/syntax.lua]"
broken fails <<'L'
return {
  on_step_end = function(ctx)
    if ctx.step == 14 then local x = ctx.metrics.nothing.at_all end
  end,
}
L
# shellcheck disable=SC2086
hook "an error while running, on two ranks" 70 'fails.lua:3' 'on_step_end' 'nothing' -- \
  fails $two training.max_steps=30 "hooks=[$scratch/fails.lua]"
check "... a checkpoint was written" "$graphrun" ckpt verify fails/checkpoints
check "... of the step that it failed in" test -d fails/checkpoints/step-00000015
# shellcheck disable=SC2086
tones fails $two training.max_steps=30 checkpoint.resume=auto
check "... and the run goes on without the hook" test "$code" = 0

broken endless <<'L'
return {
  lr = function(ctx)
    while ctx.step == 5 do end
    return ctx.lr
  end,
}
L
hook "an endless loop" 70 'endless.lua:3' 'longer than' -- endless training.max_steps=30 \
  "hooks=[$scratch/endless.lua]"
check "... a checkpoint was written" "$graphrun" ckpt verify endless/checkpoints
broken endless_main <<'L'
while true do end
L
hook "an endless loop outside any function" 70 'endless_main.lua:1' -- endless_main \
  "hooks=[$scratch/endless_main.lua]"
broken greedy <<'L'
return { lr = function(ctx) local t = {} while true do t[#t + 1] = ("x"):rep(1000000) .. #t end end }
L
hook "too much memory" 70 'greedy.lua:1' 'memory' -- greedy "hooks=[$scratch/greedy.lua]"
broken opens <<'L'
return { on_start = function(ctx) io.open("/etc/passwd") end }
L
hook "a file from a script" 70 'opens.lua:1' "'?io'?" -- opens "hooks=[$scratch/opens.lua]"
broken text <<'L'
return { lr = function(ctx) return "fast" end }
L
hook "a rate that is no number" 70 'text.lua' 'number' -- text "hooks=[$scratch/text.lua]"
broken nan <<'L'
return { lr = function(ctx) return 0 / 0 end }
L
hook "a rate that is not finite" 70 'nan.lua' 'finite|nan' -- nan "hooks=[$scratch/nan.lua]"
broken misspelt <<'L'
return { on_step_ended = function(ctx) end }
L
hook "an event that does not exist" 70 'misspelt.lua' "on_step_end'" -- misspelt \
  "hooks=[$scratch/misspelt.lua]"
hook "a script that is not there" 65 'none.lua' 'argument [0-9]+:1:' 'hint: ' -- none \
  "hooks=[$scratch/none.lua]"

# shellcheck disable=SC2086
hook "early_stop" 0 'has not improved' -- early $two training.max_steps=200 training.eval_every=1 \
  "hooks=[$source/hooks/early_stop.lua]" "hooks_params={metric: loss, patience: 2, min_delta: 100}"
stopped_at=$(steps_of early)
check "... stops early" test "$stopped_at" -lt 40
check "... with a checkpoint" "$graphrun" ckpt verify early/checkpoints
check "... and says how it ended" grep -q '"ended": "stopped: ' early/training_results.json
# shellcheck disable=SC2086
hook "log_csv" 0 -- csv $two training.max_steps=12 "hooks=[$source/hooks/log_csv.lua]" \
  "hooks_params={every: 3}"
check "... writes its head and a line each third step" test "$(wc -l <csv/log.csv)" = 5
hook "step_decay" 0 -- decay training.max_steps=12 training.lr=1 training.warmup_steps=0 \
  "hooks=[$source/hooks/step_decay.lua]" "hooks_params={warmup_steps: 4, decay: 0.5, decay_steps: 3}"
rates=$(sed 's/.*"lr": \([^,]*\),.*/\1/' decay/metrics.jsonl | awk '{printf "%g ", $1}')
check "... its rates are the documented ones" \
  test "$rates" = "0.25 0.5 0.75 1 1 1 1 0.5 0.5 0.5 0.25 0.25 "
# shellcheck disable=SC2086
hook "scale_lr" 0 -- scale $two training.max_steps=2 training.lr=1 training.warmup_steps=0 \
  "hooks=[$source/hooks/scale_lr.lua]"
check "... twice the rate on two ranks" near "$(sed -n '1s/.*"lr": \([^,]*\),.*/\1/p' scale/metrics.jsonl)" 2 1e-9
broken knobs <<'L'
return {
  on_step_end = function(ctx)
    graphrun.log("at " .. ctx.step)
    return { save = ctx.step == 3, log = { twice = 2 * ctx.step, odd = ctx.step % 2 == 1 and ctx.step or nil } }
  end,
}
L
# shellcheck disable=SC2086
hook "a hook that logs and saves" 0 'at 3' -- knobs $two training.max_steps=6 \
  "hooks=[$scratch/knobs.lua]"
check "... the checkpoint is there" test -d knobs/checkpoints/step-00000004
check "... the value is in the metrics" grep -q '"twice": 6' knobs/metrics.jsonl
check "... and one that is not logged again in a single row" test "$(grep -c '"odd": ' knobs/metrics.jsonl)" = 2
check "... which is that after its step" test "$(sed -n '3s/.*"odd": \([0-9.]*\).*/\1/p;5s/.*"odd": \([0-9.]*\).*/\1/p' \
  knobs/metrics.jsonl | tr '\n' ' ')" = "1.0 3.0 "
broken notes <<'L'
local function note(ctx, event)
  graphrun.append("notes.txt", event .. ctx.step .. " " .. ctx.lr .. " ")
end
return {
  on_start = function(ctx) note(ctx, "start ") end,
  on_checkpoint = function(ctx) note(ctx, "checkpoint ") end,
}
L
# A checkpoint of tensors so large that it is not written within a step.
# shellcheck disable=SC2086
hook "on_checkpoint" 0 -- notes $two training.max_steps=10 training.warmup_steps=0 training.lr=0.25 \
  training.lr_scale=linear checkpoint.every_steps=4 model.params.hidden=700 "hooks=[$scratch/notes.lua]"
check "... is called at the checkpoint's step, and on_start with the first step's rate" \
  test "$(cat notes/notes.txt)" = "start 0 0.5 checkpoint 4 0.5 checkpoint 8 0.5 checkpoint 10 0.5 "
broken twice <<'L'
return {
  on_checkpoint = function(ctx) return { log = { a = ctx.step, ["\xff"] = 1 } } end,
}
L
hook "a name that is not UTF-8" 70 'twice.lua:2' 'UTF-8' -- utf8 training.max_steps=6 checkpoint.every_steps=4 \
  "hooks=[$scratch/twice.lua]"
check "... its checkpoint is there all the same" "$graphrun" ckpt verify utf8/checkpoints/step-00000004
# A run that a hook has stopped is over.
# shellcheck disable=SC2086
tones early $two training.max_steps=200 training.eval_every=1 checkpoint.resume=auto \
  "hooks=[$source/hooks/early_stop.lua]" "hooks_params={metric: loss, patience: 2, min_delta: 100}"
check "resuming a run that early_stop has stopped: it stops at once" grep -q 'has not improved' "$log"
check "... with no step more" test "$(steps_of early)/$code" = "$stopped_at/0"
tones early training.max_steps=$((stopped_at + 2)) "$(from early)"
check "... and goes on without the hook" test "$(steps_of early)/$code" = "$((stopped_at + 2))/0"

# ---- The process of the hooks

broken sorts <<'L'
return {
  lr = function(ctx)
    local a = ("a"):rep(1 << 23)
    local x, y, t = a .. "x", a .. "y", {}
    for i = 1, 1e5 do t[i] = i % 2 == 0 and x or y end
    if ctx.step == 2 then
      graphrun.log("now")
      table.sort(t)
    end
    return ctx.lr
  end,
}
L
# shellcheck disable=SC2086
hook "a function of C that does not end, on two ranks" 70 'sorts.lua:8' 'longer than 1 s' \
  'hint: .*hooks_seconds' -- sorts $two training.max_steps=30 "hooks=[$scratch/sorts.lua]"
check "... a checkpoint was written" "$graphrun" ckpt verify sorts/checkpoints

# The descendants of a process, which says so of itself first.
family() {
  echo "$1"
  for of in $(children "$1"); do family "$of"; done
}
ended_all() {
  for at in $1; do
    case $(cat "/proc/$at/stat" 2>/dev/null) in *') Z '*) ;; ?*) return 1 ;; esac
  done
}
broken spins <<'L'
return {
  lr = function(ctx)
    ctx.state.n = (ctx.state.n or 0) + 1
    graphrun.append("asked.txt", ctx.step .. " " .. ctx.state.n .. "\n")
    if ctx.step == 3 and ctx.params.spin then
      graphrun.log("spinning")
      while true do end
    end
    return ctx.lr * ctx.state.n
  end,
}
L
# SIGTERM is served while a hook runs that may run for ever; what it was asked it is asked again.
# shellcheck disable=SC2086
begin spins $two training.max_steps=6 hooks_seconds=100000 "hooks=[$scratch/spins.lua]" \
  hooks_params={spin:true}
await grep -q spinning "$log"
all=$(family "$pid")
kill -TERM "$pid"
ended
printf '%s\n' "spins.lua:[67]: hook 'lr' was cut off" 'stopped by a signal at step 3' >patterns
verdict "SIGTERM while a hook does not end" 75
check "... nothing is left running" ended_all "$all"
# shellcheck disable=SC2086
tones spins $two training.max_steps=6 checkpoint.resume=auto "hooks=[$scratch/spins.lua]" \
  hooks_params={spin:false}
check "... the run goes on" test "$code" = 0
# shellcheck disable=SC2086
tones straight $two training.max_steps=6 "hooks=[$scratch/spins.lua]" hooks_params={spin:false}
check "... as if it had not been stopped" same_metrics straight spins
check "... in the hook's files too" cmp straight/asked.txt spins/asked.txt
# A run that is killed takes the process along, in whatever it is.
# shellcheck disable=SC2086
begin orphan training.max_steps=6 distributed.ranks=1 hooks_seconds=100000 \
  "hooks=[$scratch/spins.lua]" hooks_params={spin:true}
await grep -q spinning "$log"
all=$(family "$pid")
check "a run and its hooks are two processes" test "$(echo "$all" | wc -l)" -ge 2
kill -9 "$pid"
ended
check "kill -9 of the run: no process is left" within ended_all "$all"

# ---- ctx and hooks_params

broken fields <<'L'
return {
  on_step_end = function(ctx)
    assert(ctx.loss and ctx.loss == ctx.metrics.loss, "no loss at step " .. ctx.step)
    return { log = { norm = ctx.metrics.grad_norm, same = ctx.loss }, save = ctx.step == 1 }
  end,
  lr = function(ctx) return ctx.lr end,
  on_eval_end = function() return { save = false } end,
}
L
hook "ctx.loss and ctx.metrics.grad_norm, from the first step on" 0 -- fields training.max_steps=3 \
  "hooks=[$scratch/fields.lua]"
# What a hook logs is in the row after.
same_norms() {
  sed 's/[{},]//g' fields/metrics.jsonl | awk '{
    for (i = 1; i < NF; i++) v[$i] = $(i + 1)
    if (NR > 1) n += v["\"norm\":"] == norm && v["\"same\":"] == loss && norm > 0
    norm = v["\"grad_norm\":"]; loss = v["\"loss\":"]
  } END { exit n != 2 }'
}
check "... are those of metrics.jsonl" same_norms
check "... 'save' of one event is not lost with the next" test -d fields/checkpoints/step-00000002
broken misread <<'L'
return {
  lr = function(ctx)
    return ctx.lr / (1 + ctx.los)
  end,
}
L
hook "a field that ctx has not" 70 'misread.lua:3' "did you mean 'loss'" -- misread \
  "hooks=[$scratch/misread.lua]"
hook "a parameter that no script reads" 65 'argument [0-9]+:1:' "no hook reads hooks_params.patienc" \
  "did you mean 'patience'" -- unread "hooks=[$source/hooks/early_stop.lua]" hooks_params={patienc:2}
expect "... in plan too" 65 "no hook reads hooks_params.patienc" -- "$graphrun" plan \
  "$source/tests/e2e/tones.yaml" "data.manifest=$scratch/data/tones.jsonl" \
  "model.graph=$source/graphs/lmu_asr.yaml" "hooks=[$source/hooks/early_stop.lua]" \
  hooks_params={patienc:2}
broken hoards <<'L'
return {
  on_step_end = function(ctx)
    ctx.state.s = ("\0"):rep(1 << 24)
  end,
}
L
hook "a state that no checkpoint could hold" 70 'hoards.lua:3' 'ctx.state.s is too large' -- hoards \
  "hooks=[$scratch/hoards.lua]" training.max_steps=4
check "... the checkpoint without it is whole" "$graphrun" ckpt verify hoards/checkpoints
counts
