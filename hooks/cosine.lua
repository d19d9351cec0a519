-- cosine.lua - linear warm-up, then cosine decay of the learning rate, for each step or each epoch.
--
-- Position s counts steps or epochs from 0. While s < warmup the rate is lr * (s + 1) / warmup, so
-- the first step already learns; then min_lr + (lr - min_lr) * (1 + cos(pi * t)) / 2, where t goes
-- from 0 at the end of the warm-up to 1 at `total`, and stays 1. That is PyTorch's LinearLR followed
-- by CosineAnnealingLR.
--
-- params.per            "step" (default) or "epoch": the rate is constant within an epoch
-- params.warmup_steps   warm-up with per=step; default 0
-- params.total_steps    step at which the decay ends with per=step; default: the run's last step
-- params.warmup_epochs  the same two with per=epoch
-- params.total_epochs
-- params.min_lr         learning rate at the end of the decay and after it; default 0

-- Position, warm-up and total of the unit that params.per names.
local units = {
  step = function(ctx, p)
    return ctx.step, p.warmup_steps, p.total_steps or ctx.total_steps
  end,
  epoch = function(ctx, p)
    local total = ctx.total_steps and ctx.steps_per_epoch
      and math.ceil(ctx.total_steps / ctx.steps_per_epoch)
    return ctx.epoch, p.warmup_epochs, p.total_epochs or total or ctx.max_epochs
  end,
}

return {
  lr = function(ctx)
    local p = ctx.params
    local unit = units[p.per or "step"]
    if not unit then error("per must be step or epoch, not " .. tostring(p.per)) end
    local s, warmup, total = unit(ctx, p)
    local low = p.min_lr or 0
    warmup = warmup or 0
    if s < warmup then return ctx.lr * (s + 1) / warmup end
    if not total then error("the run has no end: set params.total_" .. (p.per or "step") .. "s") end
    local t = math.min(1, (s - warmup) / math.max(1, total - warmup))
    return low + (ctx.lr - low) * 0.5 * (1 + math.cos(math.pi * t))
  end,
}
