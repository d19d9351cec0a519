-- one_cycle.lua - the 1cycle policy (Smith and Topin, 2018): the learning rate rises from a low
-- value to the highest and falls far below the first, while the momentum does the opposite.
--
-- The parameters have the names and the defaults of PyTorch's OneCycleLR, and the rates are equal.
-- Momentum (beta1 of optimizers that have it) is set if training.adjustable is true.
--
-- params.max_lr            the highest rate; default ctx.lr, the result of the previous hooks
-- params.total_steps       default: the run's steps
-- params.pct_start         part of the steps in which the rate rises; default 0.3
-- params.anneal_strategy   "cos" (default) or "linear"
-- params.div_factor        the first rate is max_lr / div_factor; default 25
-- params.final_div_factor  the last rate is the first / final_div_factor; default 10000
-- params.three_phase       true: falls to the first rate as fast as it rose, and then to the last
-- params.cycle_momentum    default: whether it can be set
-- params.base_momentum     the momentum at the highest rate; default 0.85
-- params.max_momentum      the momentum at the first and the last rate; default 0.95

local curves = {
  cos = function(from, to, t) return to + (from - to) / 2 * (1 + math.cos(math.pi * t)) end,
  linear = function(from, to, t) return from + (to - from) * t end,
}

-- The value at the step of a path through low, high and, with three phases, low again, to the end.
local function value(ctx, low, high, last)
  local p = ctx.params
  local curve = curves[p.anneal_strategy or "cos"]
  if not curve then
    error("anneal_strategy must be cos or linear, not " .. tostring(p.anneal_strategy))
  end
  local total = p.total_steps or ctx.total_steps
  if not total then error("the run has no end: set params.total_steps") end
  local part = p.pct_start or 0.3
  if part < 0 or part > 1 then error("pct_start must be from 0 to 1, not " .. part) end
  local rise, path = part * total - 1, nil
  if p.three_phase then
    path = { { rise, low, high }, { 2 * rise, high, low }, { total - 1, low, last } }
  else
    path = { { rise, low, high }, { total - 1, high, last } }
  end
  local s, from = math.min(ctx.step, total - 1), 0
  for i, phase in ipairs(path) do
    if s <= phase[1] or i == #path then
      return curve(phase[2], phase[3], (s - from) / (phase[1] - from))
    end
    from = phase[1]
  end
end

return {
  lr = function(ctx)
    local p = ctx.params
    local high = p.max_lr or ctx.lr
    local first = high / (p.div_factor or 25)
    return value(ctx, first, high, first / (p.final_div_factor or 10000))
  end,

  on_before_optimizer = function(ctx)
    local p = ctx.params
    local key = ctx.set.beta1 and "beta1" or "momentum"
    if p.cycle_momentum == false or (not p.cycle_momentum and not ctx.set[key]) then return end
    local high = p.max_momentum or 0.95
    local set = { groups = {}, [key] = value(ctx, high, p.base_momentum or 0.85, high) }
    for pattern, group in pairs(ctx.set.groups) do
      if group[key] then set.groups[pattern] = { [key] = set[key] } end
    end
    return { set = set }
  end,
}
