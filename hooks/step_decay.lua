-- step_decay.lua - linear warm-up, then the learning rate decays in steps.
--
-- At step s (from 0): lr * (s + 1) / warmup_steps while s < warmup_steps, then
-- lr * decay ^ floor((s - warmup_steps) / decay_steps).
--
-- params.warmup_steps   default 1000; 0: none
-- params.decay          default 0.96
-- params.decay_steps    default 10000
-- params.max_lr         learning rate after warm-up; default ctx.lr, the result of the previous hooks

return {
  lr = function(ctx)
    local p = ctx.params
    local warmup, lr = p.warmup_steps or 1000, p.max_lr or ctx.lr
    local every = p.decay_steps or 10000
    if every <= 0 then error("decay_steps must be above 0, not " .. every) end
    if ctx.step < warmup then return lr * (ctx.step + 1) / warmup end
    return lr * (p.decay or 0.96) ^ ((ctx.step - warmup) // every)
  end,
}
