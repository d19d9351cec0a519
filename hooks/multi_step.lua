-- multi_step.lua - multiplies the learning rate by a factor at each of some steps or epochs.
--
-- The parameters have the names and the defaults of PyTorch's MultiStepLR, and the rates are equal.
--
-- params.per         "step" (default) or "epoch"
-- params.milestones  the steps or epochs, from 0, as a text: "30,60,80"
-- params.gamma       default 0.1

return {
  lr = function(ctx)
    local p = ctx.params
    local per = p.per or "step"
    if per ~= "step" and per ~= "epoch" then error("per must be step or epoch, not " .. tostring(per)) end
    if not p.milestones then error('milestones is not set: the ' .. per .. 's, such as "30,60,80"') end
    local lr = ctx.lr
    for at in tostring(p.milestones):gmatch("%d+") do
      if ctx[per] >= tonumber(at) then lr = lr * (p.gamma or 0.1) end
    end
    return lr
  end,
}
