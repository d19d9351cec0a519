# hook_events.sh - which events a run has, in which order and with what, and that a resumed run has
# those of one that was never stopped; and what scripts ask for in them.
. "${0%/*}/lib.sh"
make_data
two="distributed.ranks=2"
has_mpi || two="distributed.ranks=2 distributed.backend=loopback"

# Each event in a line: its name, step and epoch, and what its ctx has.
cat >notes.lua <<'L'
local function note(event)
  return function(ctx)
    local has = {}
    for _, field in ipairs({ "loss", "best", "last_checkpoint", "reason" }) do
      if ctx[field] then has[#has + 1] = field end
    end
    assert(ctx.elapsed >= 0 and ctx.global_batch == 8 and ctx.skipped_steps == 0)
    assert((ctx.samples_per_s or 1) > 0)
    assert((ctx.metrics.grad_norm ~= nil) == (event ~= "on_eval_end" and event ~= "on_epoch_end"
      and event ~= "on_stop" and ctx.loss ~= nil), event)
    graphrun.append("events.txt", string.format("%s %d %d %s\n", event, ctx.step, ctx.epoch,
                                                table.concat(has, ",")))
    if event == "lr" then return ctx.lr end
  end
end
return {
  on_start = note("on_start"),
  on_resume = note("on_resume"),
  on_epoch_start = note("on_epoch_start"),
  lr = note("lr"),
  on_before_optimizer = note("on_before_optimizer"),
  on_step_end = note("on_step_end"),
  on_eval_start = note("on_eval_start"),
  on_eval_end = note("on_eval_end"),
  on_epoch_end = note("on_epoch_end"),
  on_checkpoint = note("on_checkpoint"),
  on_stop = note("on_stop"),
  on_exception = note("on_exception"),
}
L
# shellcheck disable=SC2086
ran "a run that notes its events, on two ranks" notes $two training.max_steps=6 training.eval_every=1 \
  checkpoint.every_steps=4 "hooks=[$scratch/notes.lua]"
sed 's/ $//' notes/events.txt >events
cat >want <<'E'
on_start 0 0
on_epoch_start 0 0
lr 0 0
on_before_optimizer 0 0
on_step_end 0 0 loss
lr 1 0 loss
on_before_optimizer 1 0 loss
on_step_end 1 0 loss
lr 2 0 loss
on_before_optimizer 2 0 loss
on_step_end 2 0 loss
lr 3 0 loss
on_before_optimizer 3 0 loss
on_step_end 3 0 loss
on_eval_start 4 0 loss
on_eval_end 4 0 loss,best
on_epoch_end 4 0 loss,best
on_checkpoint 4 1 loss,best
on_epoch_start 4 1 loss,best,last_checkpoint
lr 4 1 loss,best,last_checkpoint
on_before_optimizer 4 1 loss,best,last_checkpoint
on_step_end 4 1 loss,best,last_checkpoint
lr 5 1 loss,best,last_checkpoint
on_before_optimizer 5 1 loss,best,last_checkpoint
on_step_end 5 1 loss,best,last_checkpoint
on_checkpoint 6 1 loss,best,last_checkpoint
on_eval_start 6 1 loss,best,last_checkpoint
on_eval_end 6 1 loss,best,last_checkpoint
on_stop 6 1 loss,best,last_checkpoint,reason
E
check "... its events, in order" diff want events

# ---- Resuming ----------------------------------------------------------------------------------

# shellcheck disable=SC2086
ran "a run until the end of an epoch" parts $two training.max_steps=4 training.eval_every=1 \
  checkpoint.every_steps=4 "hooks=[$scratch/notes.lua]"
# shellcheck disable=SC2086
ran "... which goes on" parts $two training.max_steps=6 training.eval_every=1 \
  checkpoint.every_steps=4 checkpoint.resume=auto "hooks=[$scratch/notes.lua]"
check "... on_resume has the checkpoint" \
  grep -q 'on_resume 4 1 loss,best,last_checkpoint' parts/events.txt
grep -v 'on_resume\|on_start' parts/events.txt >parts.txt
grep -v 'on_start' notes/events.txt >whole.txt
check "... and each event is once, as in a run that was not stopped" diff whole.txt parts.txt

# A run that is stopped while it evaluates because a hook asked for that.
cat >waits.lua <<'L'
local function note(event)
  return function(ctx)
    if event == "on_eval_start" and ctx.step == 6 and ctx.params.wait then
      graphrun.log("evaluating")
      while true do end
    end
    graphrun.append("counts.txt", event .. " " .. ctx.step .. "\n")
    return { evaluate = event == "on_step_end" and ctx.step == 5 }
  end
end
return {
  on_epoch_start = note("on_epoch_start"),
  on_step_end = note("on_step_end"),
  on_eval_start = note("on_eval_start"),
  on_eval_end = note("on_eval_end"),
}
L
# shellcheck disable=SC2086
ran "an evaluation that a hook asks for" asked $two training.max_steps=7 \
  "hooks=[$scratch/waits.lua]" hooks_params={wait:false}
check "... is recorded" grep -q '"steps": 6' asked/evals.jsonl
check "... its best is a checkpoint" test -d asked/checkpoints/step-00000006
check "... and the console says so" grep -q 'step 6  validation.*saved best model: step-00000006' "$log"
# shellcheck disable=SC2086
begin cut $two training.max_steps=7 hooks_seconds=100000 "hooks=[$scratch/waits.lua]" \
  hooks_params={wait:true}
await grep -q evaluating "$log"
kill -TERM "$pid"
ended
check "a signal while on_eval_start does not end: the run stops" test "$code" = 75
# shellcheck disable=SC2086
ran "... and goes on with that evaluation" cut $two training.max_steps=7 checkpoint.resume=auto \
  "hooks=[$scratch/waits.lua]" hooks_params={wait:false}
check "... its events are those of a run that was not stopped" diff asked/counts.txt cut/counts.txt
for run in asked cut; do sed 's/"wall": [^,}]*//' $run/evals.jsonl >$run.evals; done
check "... and so are its evaluations" diff asked.evals cut.evals

# A run that is stopped between an epoch's beginning and its first step.
cat >first.lua <<'L'
return {
  on_epoch_start = function(ctx) graphrun.append("epochs.txt", "epoch " .. ctx.epoch .. "\n") end,
  lr = function(ctx)
    if ctx.step == 4 and ctx.params.wait then
      graphrun.log("the first step")
      while true do end
    end
    return ctx.lr
  end,
}
L
# shellcheck disable=SC2086
begin first $two training.max_steps=5 hooks_seconds=100000 "hooks=[$scratch/first.lua]" hooks_params={wait:true}
await grep -q "the first step" "$log"
kill -TERM "$pid"
ended
check "a signal before the first step of an epoch: the run stops" test "$code" = 75
# shellcheck disable=SC2086
ran "... and goes on" first $two training.max_steps=5 checkpoint.resume=auto "hooks=[$scratch/first.lua]" hooks_params={wait:false}
printf 'epoch 0\nepoch 1\n' >want
check "... with an epoch that has begun already" diff want first/epochs.txt

# ---- Failing -----------------------------------------------------------------------------------

cat >fails.lua <<'L'
return {
  on_step_end = function(ctx) if ctx.step == 2 then error("enough of this") end end,
  on_exception = function(ctx)
    ctx.state.why = ctx.reason
    graphrun.append("why.txt", ctx.step .. " " .. ctx.reason .. "\n")
    return "anything"
  end,
}
L
# shellcheck disable=SC2086
tones fails $two training.max_steps=6 "hooks=[$scratch/fails.lua]"
check "a run that fails" test "$code" = 70
check "... calls on_exception once, with the reason" \
  test "$(grep -c '^3 .*enough of this' fails/why.txt)/$(wc -l <fails/why.txt)" = 1/1
cat >fails.lua <<'L'
return { on_start = function(ctx) graphrun.log("it was: " .. tostring(ctx.state.why)) end }
L
# shellcheck disable=SC2086
tones fails $two training.max_steps=6 checkpoint.resume=auto "hooks=[$scratch/fails.lua]"
check "... its effects are in the checkpoint" grep -q 'it was: .*enough of this' "$log"
check "... from which the run goes on" test "$code" = 0
counts
