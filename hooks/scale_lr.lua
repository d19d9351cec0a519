-- scale_lr.lua - scales the learning rate by the number of ranks.
--
-- For a batch size that is per rank: linear keeps the step per sample, sqrt the noise (Goyal and
-- others 2017; Krizhevsky 2014). Put it before schedules that warm up.
--
-- params.scale   "linear" (default), "sqrt" or "none"
-- params.base    the number of ranks that the configuration's lr is for; default 1

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
