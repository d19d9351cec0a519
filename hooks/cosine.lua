-- cosine.lua - linear warm-up, then the learning rate falls along half a cosine (Loshchilov and
-- Hutter 2017), or along ever longer ones that each begin at the top (warm restarts).
--
-- params.warmup_steps   default 0; counted from the first step
-- params.total_steps    the cosine's end; default the run's last step
-- params.min_lr         default 0; also what it stays at after the end
-- params.restart_steps  length of the first cosine; default: no restarts
-- params.restart_mult   each next one is so many times as long; default 1

-- Where step s is in its cosine: 0 at the top, 1 at the end.
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
