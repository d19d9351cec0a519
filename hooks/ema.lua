-- ema.lua - when and how averages of the weights follow them (training.ema_decay): from a step on,
-- faster in the beginning, now and then, or as the mean of all weights since.
--
-- Needs training.ema_decay, which is the decay after warm-up, and training.adjustable=true.
--
-- params.ema_start    updates before the averages lag behind the weights: until then they are the
--                     weights; default 0. PyTorch's AveragedModel copies at its first update: 1
-- params.ema_warmup   true: the decay is at most (1 + n) / (10 + n), with n updates since the start
-- params.ema_every    the averages follow at every so many updates only; default 1
-- params.ema_equal    true: they are the mean of the weights of all updates since the start, as in
--                     stochastic weight averaging (SWA)

local function decay_of(ctx)
  local p = ctx.params
  local n, every = ctx.step - (p.ema_start or 0), p.ema_every or 1
  if n < 0 then return 0 end
  if (n + 1) % every ~= 0 then return 1 end
  local follows = n // every
  if p.ema_equal then return follows / (follows + 1) end
  local decay = ctx.state.decay
  if p.ema_warmup then return math.min(decay, (1 + follows) / (10 + follows)) end
  return decay
end

return {
  on_start = function(ctx)
    if not ctx.set.ema_decay then
      error("this hook needs training.ema_decay and training.adjustable=true")
    end
    ctx.state.decay = ctx.state.decay or ctx.set.ema_decay
  end,

  on_before_optimizer = function(ctx)
    return { set = { ema_decay = decay_of(ctx) } }
  end,
}
