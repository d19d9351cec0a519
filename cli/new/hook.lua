-- A hook is a table of functions that training calls; docs/hooks.md and `graphrun config --help hooks`
-- say which. See the learning rate without training: graphrun hooks config.yaml
return {
  -- Before each step: its learning rate. ctx.lr is that of the configuration.
  lr = function(ctx)
    return ctx.lr * ctx.params.decay ^ ctx.epoch
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
