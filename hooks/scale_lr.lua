-- scale_lr.lua - scales the learning rate by the number of ranks.
--
-- For batch sizes per rank: linear scaling keeps the update per sample constant (Goyal et al., 2017),
-- sqrt the variance of the gradient (Krizhevsky, 2014). List it before schedules that warm up.
--
-- params.scale   "linear" (default), "sqrt" or "none"
-- params.base    number of ranks for which the configured learning rate is meant; default 1

local factor = {
  linear = function(ranks) return ranks end,
  sqrt = math.sqrt,
  none = function() return 1 end,
}

return {
  lr = function(ctx)
    local scale = factor[ctx.params.scale or "linear"]
    if not scale then error("scale must be linear, sqrt or none, not " .. ctx.params.scale) end
    return ctx.lr * scale(ctx.world_size / (ctx.params.base or 1))
  end,
}
