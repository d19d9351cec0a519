-- early_stop.lua - stops when a metric has not improved for some evaluations.
--
-- params.metric      its name; default "loss"
-- params.mode        "min" (default) or "max"
-- params.patience    evaluations without an improvement before stopping; default 5
-- params.min_delta   smallest change that counts as an improvement; default 0

local signs = { min = 1, max = -1 }

return {
  on_eval_end = function(ctx)
    local p = ctx.params
    local state = ctx.state
    local name = p.metric or "loss"
    local value = ctx.metrics[name]
    if not value then
      local known = {}
      for k in pairs(ctx.metrics) do known[#known + 1] = k end
      error("there is no metric '" .. name .. "'; there are: " .. table.concat(known, ", "))
    end
    local sign = signs[p.mode or "min"]
    if not sign then error("mode must be min or max, not " .. tostring(p.mode)) end
    local first = not state.best or state.best ~= state.best
    if first or sign * value < sign * state.best - (p.min_delta or 0) then
      state.best, state.waited = value, 0
      return
    end
    state.waited = state.waited + 1
    if state.waited >= (p.patience or 5) then
      return { stop = string.format("%s has not improved on %g for %d evaluations", name,
                                    state.best, state.waited) }
    end
  end,
}
