-- A hook is a table of functions that training calls; docs/hooks.md and `graphrun config --help hooks`
-- say which. See the learning rate without training: graphrun hooks config.yaml
return {
  -- Before each step: its learning rate. Linear warm-up, then a cosine to 0 at the last step.
  lr = function(ctx)
    local warmup = ctx.params.warmup_steps
    if ctx.step < warmup then return ctx.lr * (ctx.step + 1) / warmup end
    local done = (ctx.step - warmup) / math.max(1, ctx.total_steps - warmup)
    return ctx.lr * 0.5 * (1 + math.cos(math.pi * math.min(1, done)))
  end,

  -- After each evaluation. What is in ctx.state is kept in checkpoints.
  on_eval_end = function(ctx)
    local s = ctx.state
    if not s.best or ctx.metrics.loss < s.best then
      s.best, s.waited = ctx.metrics.loss, 0
      return
    end
    s.waited = s.waited + 1
    if s.waited >= ctx.params.patience then return { stop = "the loss has stopped improving" } end
  end,
}
