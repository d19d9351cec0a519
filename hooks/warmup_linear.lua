-- warmup_linear.lua - raises the learning rate linearly over the first steps.
--
-- Step 0 has lr / warmup_steps; step warmup_steps - 1 and all later ones have the full lr. It scales
-- the result of the previous hooks, so it may follow any other schedule.
--
-- params.warmup_steps   default 1000

return {
  lr = function(ctx)
    local warmup = ctx.params.warmup_steps or 1000
    if warmup <= 0 then return ctx.lr end
    return ctx.lr * math.min(1, (ctx.step + 1) / warmup)
  end,
}
