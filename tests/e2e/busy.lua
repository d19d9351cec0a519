-- busy.lua - counts, logs and writes wherever it may, so that what a stop loses or repeats shows.
local function note(event)
  return function(ctx)
    ctx.state[event] = (ctx.state[event] or 0) + 1
    graphrun.append("busy.csv", string.format("%s,%d,%s,%.9g\n", event, ctx.step, tostring(ctx.loss), ctx.lr))
    return { log = { ["n_" .. event] = ctx.state[event], last = ctx.lr } }
  end
end
local note_lr = note("lr")

return {
  lr = function(ctx)
    note_lr(ctx)
    return ctx.lr / (1 + (ctx.loss or 0)) / (1 + 0.01 * ctx.state.lr)
  end,
  on_step_end = note("step"),
  on_epoch_end = note("epoch"),
  on_eval_end = note("eval"),
  on_checkpoint = note("checkpoint"),
  on_stop = note("stop"),
}
