-- Fails at the fifth step.
return {
  on_step_end = function(ctx)
    if ctx.step == 4 then error("on purpose") end
  end,
}
