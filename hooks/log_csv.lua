-- log_csv.lua - writes a CSV table of the run, with one line every few steps.
--
-- params.file    name in the run's output directory; default "log.csv"
-- params.every   steps between lines; default 1

local function file(ctx) return ctx.params.file or "log.csv" end

return {
  on_start = function(ctx)
    if ctx.state.begun then return end
    ctx.state.begun = true
    graphrun.append(file(ctx), "step,epoch,loss,lr\n")
  end,

  on_step_end = function(ctx)
    if (ctx.step + 1) % (ctx.params.every or 1) ~= 0 then return end
    local loss = ctx.loss and string.format("%.9g", ctx.loss) or ""
    graphrun.append(file(ctx), string.format("%d,%d,%s,%.9g\n", ctx.step, ctx.epoch, loss, ctx.lr))
  end,
}
