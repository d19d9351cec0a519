-- cosine_restarts.lua - cosine decay with warm restarts (SGDR: Loshchilov and Hutter, 2017), for each
-- step or each epoch, after an optional linear warm-up.
--
-- The parameters have the names of PyTorch's CosineAnnealingWarmRestarts, and the rates are equal. After
-- the warm-up the rate falls from lr to eta_min in T_0 steps or epochs and starts again at lr; each fall
-- is T_mult times as long as the one before.
--
-- params.per            "step" (default) or "epoch": the rate is constant within an epoch
-- params.T_0            length of the first fall, in that unit
-- params.T_mult         default 1
-- params.eta_min        default 0
-- params.warmup_steps   linear warm-up before the first fall with per=step; default 0
-- params.warmup_epochs  the same with per=epoch

local units = {
  step = function(ctx, p) return ctx.step, p.warmup_steps end,
  epoch = function(ctx, p) return ctx.epoch, p.warmup_epochs end,
}

-- Position s after the warm-up -> its position in its fall, and the length of that fall.
local function place(s, length, mult)
  if mult == 1 then return s % length, length end
  while s >= length do
    s, length = s - length, length * mult
  end
  return s, length
end

return {
  lr = function(ctx)
    local p = ctx.params
    local unit = units[p.per or "step"]
    if not unit then error("per must be step or epoch, not " .. tostring(p.per)) end
    if not p.T_0 then error("T_0 is not set: the length of the first fall, in " .. (p.per or "step") .. "s") end
    if p.T_0 < 1 or (p.T_mult or 1) < 1 then error("T_0 and T_mult must be at least 1") end
    local s, warmup = unit(ctx, p)
    warmup = warmup or 0
    if s < warmup then return ctx.lr * (s + 1) / warmup end
    local low = p.eta_min or 0
    local at, length = place(s - warmup, p.T_0, p.T_mult or 1)
    return low + (ctx.lr - low) * 0.5 * (1 + math.cos(math.pi * at / length))
  end,
}
