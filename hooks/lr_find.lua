-- lr_find.lua - a learning rate finder (Smith, "Cyclical learning rates for training neural networks",
-- 2017): the rate rises by the same factor in each step, the run ends when the loss has grown, and its
-- last line suggests the rate at which the smoothed loss fell the fastest.
--
-- metrics.jsonl has the rates, the losses and smoothed_loss. Use a run of its own, without other schedules.
--
-- params.start_lr    default 1e-7
-- params.end_lr      default 1
-- params.find_steps  default 100; a run with fewer is searched but for its last step
-- params.stop_at     the run ends where the smoothed loss is so many times its least; default 4

local SMOOTHING, SKIPPED = 0.98, 10 -- the first steps suggest nothing

-- A run is said to be stopped, with the rate, where a step is left.
local function steps(ctx)
  return math.min(ctx.params.find_steps or 100, (ctx.total_steps or math.huge) - 1)
end

return {
  on_start = function(ctx)
    if steps(ctx) <= SKIPPED + 2 then error("no rate is found in " .. steps(ctx) .. " steps: a run of 100 and more finds one") end
  end,

  lr = function(ctx)
    local p = ctx.params
    local first, last, n = p.start_lr or 1e-7, p.end_lr or 1, steps(ctx)
    return first * (last / first) ^ (math.min(ctx.step, n - 1) / math.max(1, n - 1))
  end,

  on_step_end = function(ctx)
    local p = ctx.params
    local state = ctx.state
    local n = ctx.step + 1
    state.mean = SMOOTHING * (state.mean or 0) + (1 - SMOOTHING) * ctx.loss
    local loss = state.mean / (1 - SMOOTHING ^ n)
    if n > SKIPPED + 2 and loss - state.older < (state.slope or 0) then
      state.slope, state.found = loss - state.older, state.lr
    end
    state.older, state.newer, state.lr = state.newer or loss, loss, ctx.lr
    state.least = math.min(state.least or loss, loss)
    local grown = loss ~= loss or loss > (p.stop_at or 4) * state.least
    if n < steps(ctx) and not grown then return { log = { smoothed_loss = loss } } end
    local found = state.found
      and string.format("the loss fell the fastest at a learning rate of %.3g", state.found)
    return { log = { smoothed_loss = loss }, stop = found or "the loss has not fallen" }
  end,
}
