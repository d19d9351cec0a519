-- unfreeze.lua - trains a part of the model later: its weights are frozen at the start of the run, and
-- each pattern of training.freezable is unfrozen at an epoch of its own (gradual unfreezing), the last
-- by name first.
--
-- params.unfreeze_epoch   the epoch, from 0, at which the last pattern is unfrozen; default 1
-- params.unfreeze_every   epochs from one pattern to the one before it by name; default 1

-- The patterns by name, which is how pairs goes through a table.
local function patterns(ctx)
  local all = {}
  for pattern, group in pairs(ctx.set.groups or {}) do
    if group.frozen then all[#all + 1] = pattern end
  end
  return all
end

return {
  on_epoch_start = function(ctx)
    local p = ctx.params
    local all = patterns(ctx)
    if #all == 0 then error("this hook needs training.freezable, a list of patterns of weights") end
    local freeze, unfreeze = {}, {}
    for i, pattern in ipairs(all) do
      local at = (p.unfreeze_epoch or 1) + (#all - i) * (p.unfreeze_every or 1)
      local list = ctx.epoch < at and freeze or unfreeze
      list[#list + 1] = pattern
    end
    return { freeze = freeze, unfreeze = unfreeze }
  end,
}
