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
check "... and says how it ended" grep -q 'stopped by a hook' early/training_results.json
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
    return { save = ctx.step == 3, log = { twice = 2 * ctx.step } }
  end,
}
L
# shellcheck disable=SC2086
hook "a hook that logs and saves" 0 'at 3' -- knobs $two training.max_steps=6 \
  "hooks=[$scratch/knobs.lua]"
check "... the checkpoint is there" test -d knobs/checkpoints/step-00000004
check "... the value is in the metrics" grep -q '"twice": 6' knobs/metrics.jsonl
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
tones early training.max_steps=$((stopped_at + 2)) checkpoint.resume=auto
check "... and goes on without the hook" test "$(steps_of early)/$code" = "$((stopped_at + 2))/0"
counts
