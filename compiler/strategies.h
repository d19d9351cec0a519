// strategies.h - the strategies of distributed.strategy, one row each. A strategy is a choice of
// layouts, without code of its own: adding one is adding its row.
//
//   row(name, stage, axis, split_axis, tp, as_fsdp)
//     stage       what is sharded over split_axis, or over the batch's axis where that is NULL:
//                 0: nothing; 1: optimizer states; 2: gradient accumulators, too; 3: weights, too
//     axis        the mesh axis that the batch is sharded over
//     split_axis  a second one, inside the first; NULL: there is none
//     tp          it requires a tp axis. With any strategy a tp axis shards layers
//     as_fsdp     the word of distributed.fsdp.sharding_strategy that means it, or nothing
//
// The order is that of the words in docs/config.md.
#pragma once
// clang-format off
#define GR_STRATEGIES(first, row)                         \
  first(ddp, 0, "dp", NULL, false, no_shard)              \
  row(dp, 0, "dp", NULL, false, )                         \
  row(fsdp, 3, "dp", NULL, false, full_shard)             \
  row(zero1, 1, "dp", NULL, false, )                      \
  row(zero2, 2, "dp", NULL, false, shard_grad_op)         \
  row(hsdp, 3, "replicate", "shard", false, hybrid_shard) \
  row(tp, 0, "dp", NULL, true, )                          \
  row(fsdp_tp, 3, "dp", NULL, true, )                     \
  row(none, 0, "dp", NULL, false, )
// clang-format on

// Their names: ddp, dp, fsdp, ...
#define GR_STRATEGY_NAMES GR_STRATEGIES(GR_FIRST_NAME, GR_NEXT_NAME)
#define GR_FIRST_NAME(name, ...) name
#define GR_NEXT_NAME(name, ...) , name
