-- A hook is a table of functions that training calls; docs/hooks.md and `graphrun config --help hooks`
-- say which. See the learning rate without training: graphrun hooks config.yaml
return {
  -- Before each step: its learning rate. ctx.lr is that of the configuration.
  lr = function(ctx)
    return ctx.lr * ctx.params.decay ^ ctx.epoch
  end,

  -- After each evaluation.
  on_eval_end = function(ctx)
    if ctx.metrics.balanced >= ctx.params.enough then return { stop = "the pole stays up" } end
  end,
}
