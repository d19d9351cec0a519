-- slow.lua - makes steps long enough that a test can follow them; with `hold`, steps from that one on do
-- not end, so that a test finds the run there however late it comes.
return {
  lr = function(ctx)
    local sum = 0
    while ctx.params.hold and ctx.step >= ctx.params.hold do sum = sum + 1 end
    for i = 1, ctx.params.spin or 1500000 do sum = sum + i end
    return ctx.lr
  end,
}
