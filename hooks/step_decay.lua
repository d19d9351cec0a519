-- step_decay.lua - linear warm-up, then the learning rate falls in steps.
--
-- With s counted from 0: lr * (s + 1) / warmup_steps while s < warmup_steps, and from there on
-- lr * decay ^ floor((s - warmup_steps) / decay_steps). Warm-up begins with the first step.
--
-- params.warmup_steps   default 1000; 0: none
-- params.decay          default 0.96
-- params.decay_steps    default 10000
-- params.max_lr         default ctx.lr: the configuration's, after the hooks before this one

return {
  lr = function(ctx)
    local p = ctx.params
    local warmup, lr = p.warmup_steps or 1000, p.max_lr or ctx.lr
    if ctx.step < warmup then return lr * (ctx.step + 1) / warmup end
    return lr * (p.decay or 0.96) ^ ((ctx.step - warmup) // (p.decay_steps or 10000))
  end,
}
