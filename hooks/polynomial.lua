-- polynomial.lua - linear warm-up, then the learning rate stays for a time, and then falls as a power of
-- what is left of the run, for each step or each epoch: with power 1 linear decay, with hold_steps the
-- schedule warmup-stable-decay.
--
-- Position s counts steps or epochs from 0. While s < warmup the rate is lr * (s + 1) / warmup, then lr
-- while s < warmup + hold, and then min_lr + (lr - min_lr) * (1 - t) ^ power, where t goes from 0 to 1 at
-- `total`, and stays 1. That is PyTorch's PolynomialLR.
--
-- params.per            "step" (default) or "epoch": the rate is constant within an epoch
-- params.power          default 1
-- params.min_lr         learning rate at the end; default 0
-- params.warmup_steps   with per=step; default 0
-- params.hold_steps     default 0
-- params.total_steps    step at which the decay ends; default: the run's last step
-- params.warmup_epochs  the same three with per=epoch
-- params.hold_epochs
-- params.total_epochs

-- Position, warm-up, hold and total of the unit that params.per names.
local units = {
  step = function(ctx, p)
    return ctx.step, p.warmup_steps, p.hold_steps, p.total_steps or ctx.total_steps
  end,
  epoch = function(ctx, p)
    return ctx.epoch, p.warmup_epochs, p.hold_epochs, p.total_epochs or ctx.max_epochs
  end,
}

return {
  lr = function(ctx)
    local p = ctx.params
    local unit = units[p.per or "step"]
    if not unit then error("per must be step or epoch, not " .. tostring(p.per)) end
    local s, warmup, hold, total = unit(ctx, p)
    local low = p.min_lr or 0
    warmup = warmup or 0
    if s < warmup then return ctx.lr * (s + 1) / warmup end
    if not total then error("the run has no end: set params.total_" .. (p.per or "step") .. "s") end
    local first = warmup + (hold or 0)
    local t = math.min(1, math.max(0, s - first) / math.max(1, total - first))
    return low + (ctx.lr - low) * (1 - t) ^ (p.power or 1)
  end,
}
