-- cosine.lua - linear warm-up, then cosine decay of the learning rate, optionally with warm restarts
-- (SGDR: Loshchilov and Hutter, 2017).
--
-- params.warmup_steps   steps of warm-up; default 0
-- params.total_steps    step at which the decay ends; default: the run's last step
-- params.min_lr         learning rate at the end of the decay and after it; default 0
-- params.restart_steps  length of the first cosine; default: no restarts
-- params.restart_mult   each cosine is longer than the previous one by this factor; default 1

-- Position of step s in its cosine, from 0 (the maximum) to 1 (the minimum).
local function place(ctx, s)
  local p = ctx.params
  local length = p.restart_steps
  if not length then
    local total = p.total_steps or ctx.total_steps
    if not total then error("the run has no end: set params.total_steps") end
    return math.min(1, s / math.max(1, total - (p.warmup_steps or 0)))
  end
  local mult = p.restart_mult or 1
  if length < 1 or mult < 1 then error("restart_steps and restart_mult must be at least 1") end
  if mult == 1 then return s % length / length end
  while s >= length do
    s, length = s - length, length * mult
  end
  return s / length
end

return {
  lr = function(ctx)
    local warmup, low = ctx.params.warmup_steps or 0, ctx.params.min_lr or 0
    if ctx.step < warmup then return ctx.lr * (ctx.step + 1) / warmup end
    return low + (ctx.lr - low) * 0.5 * (1 + math.cos(math.pi * place(ctx, ctx.step - warmup)))
  end,
}
