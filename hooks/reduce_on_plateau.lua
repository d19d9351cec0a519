-- reduce_on_plateau.lua - multiplies the learning rate by a factor when a metric of the evaluations
-- has stopped improving.
--
-- The parameters have the names and the defaults of PyTorch's ReduceLROnPlateau, and the rates are
-- equal. early_stop.lua reads some of the same names: where both are listed, give those of this
-- script with plateau_ before them.
--
-- params.metric            name of the metric, or plateau_metric; default "loss"
-- params.plateau_metric
-- params.mode              "min" (default) or "max", or plateau_mode
-- params.plateau_mode
-- params.patience          evaluations without an improvement that change nothing; default 10
-- params.plateau_patience
-- params.factor            default 0.1
-- params.threshold         smallest change that counts as an improvement; default 1e-4
-- params.threshold_mode    "rel" (default): threshold is a part of the best value, or "abs"
-- params.cooldown          evaluations after a reduction that do not count; default 0
-- params.min_lr            lowest learning rate; default 0
-- params.eps               smallest reduction; a smaller one is not made; default 1e-8

local better = {
  minrel = function(value, best, threshold) return value < best * (1 - threshold) end,
  minabs = function(value, best, threshold) return value < best - threshold end,
  maxrel = function(value, best, threshold) return value > best * (1 + threshold) end,
  maxabs = function(value, best, threshold) return value > best + threshold end,
}

-- The rate after a reduction from `old`.
local function reduced(p, old)
  local new = math.max(old * (p.factor or 0.1), p.min_lr or 0)
  return old - new > (p.eps or 1e-8) and new or old
end

return {
  lr = function(ctx) return ctx.lr * (ctx.state.scale or 1) end,

  on_eval_end = function(ctx)
    local p = ctx.params
    local state = ctx.state
    local name = p.plateau_metric or p.metric or "loss"
    local mode = (p.plateau_mode or p.mode or "min") .. (p.threshold_mode or "rel")
    local value = ctx.metrics[name]
    if not value then error("there is no metric '" .. name .. "'") end
    if not better[mode] then error("mode must be min or max, and threshold_mode rel or abs") end
    if (p.factor or 0.1) >= 1 then error("factor must be below 1, not " .. p.factor) end
    if not state.best or better[mode](value, state.best, p.threshold or 1e-4) then
      state.best, state.bad = value, 0
    else
      state.bad = (state.bad or 0) + 1
    end
    if (state.cooling or 0) > 0 then state.cooling, state.bad = state.cooling - 1, 0 end
    if state.bad <= (p.plateau_patience or p.patience or 10) then return end
    state.cooling, state.bad = p.cooldown or 0, 0
    local scale = state.scale or 1
    state.scale = reduced(p, ctx.base_lr * scale) / ctx.base_lr
  end,
}
