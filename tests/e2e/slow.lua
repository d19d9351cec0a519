-- slow.lua - makes steps so long that a test can come between them.
return {
  lr = function(ctx)
    local sum = 0
    for i = 1, ctx.params.spin or 1500000 do sum = sum + i end
    return ctx.lr
  end,
}
