-- transformers.lua - schedules of the learning rate as Hugging Face's Transformers has them, and evaluations by steps.
-- compat.huggingface puts it among the hooks and sets its parameters.
--
-- Step s counts from 0. While s < warmup the rate is lr * s / warmup, so that the first step has the rate 0; then, with
-- t from 0 at the end of the warm-up to 1 at the end of the run:
--
-- params.schedule      "linear": lr * (1 - t); "cosine": lr * (1 + cos(pi * t)) / 2; "constant_with_warmup": lr;
--                      "constant": lr from the first step on; default: the rate stays as it is
-- params.warmup_steps  default 0
-- params.warmup_ratio  warm-up as a share of the run's steps, where warmup_steps is 0
-- params.eval_steps    evaluates each time so many steps are done; default: not by steps

local after = {
  linear = function(t) return 1 - t end,
  cosine = function(t) return 0.5 * (1 + math.cos(math.pi * t)) end,
  constant = function() return 1 end,
  constant_with_warmup = function() return 1 end,
}

return {
  lr = function(ctx)
    local p = ctx.params
    if not p.schedule then return ctx.lr end
    local rate = after[p.schedule]
    if not rate then error("there is no schedule '" .. tostring(p.schedule) .. "'") end
    if p.schedule == "constant" then return ctx.lr end
    local total = ctx.total_steps
    if not total then error("the run has no end: set training.max_steps or training.max_epochs") end
    local warmup = p.warmup_steps or 0
    if warmup == 0 then warmup = math.ceil(total * (p.warmup_ratio or 0)) end
    if ctx.step < warmup then return ctx.lr * ctx.step / warmup end
    return ctx.lr * math.max(0, rate((ctx.step - warmup) / math.max(1, total - warmup)))
  end,
  on_step_end = function(ctx)
    local every = ctx.params.eval_steps
    if every and (ctx.step + 1) % every == 0 then return { evaluate = true } end
  end,
}
