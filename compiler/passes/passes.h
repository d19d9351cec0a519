// passes.h - the functions of the passes, for the table in pipeline.c, which documents them and the
// facts that they need and establish. Each pass is in a file of its name.
#pragma once
#include "compiler/pass.h"

// Each emits the new graph through the rewrite's builder, from which the pipeline also takes an
// error of an op's rules; errors name the user's YAML.

// Copies the graph. GR_ERR_CONFIG without a loss, GR_ERR_TYPE for one that is not one float;
// weights that the loss does not need, and unused nodes, become notes.
gr_status gr_pass_lint(gr_rewrite *);
// Gives every weight the layout that the model, the user's rules or the strategy ask for, in this
// order. GR_ERR_CONFIG for a layout that the user asks for and the mesh cannot divide.
gr_status gr_pass_annotate_sharding(gr_rewrite *);
// Casts operands to options.precision by the class of each op and by the user's rules. States, the
// loss, results and next values keep their dtypes.
gr_status gr_pass_precision(gr_rewrite *);
// Takes slices before the elementwise nodes that make what they are of.
gr_status gr_pass_early_slices(gr_rewrite *);
// Appends the backward part of the loss, and sets `grad` of every weight that the program trains
// and the loss depends on.
gr_status gr_pass_autodiff(gr_rewrite *);
// Appends the norms of all gradients, and the nodes whose factors clip them, or are 0 where the
// step is to be skipped. Adds the results `ok` and `grad_norm`.
gr_status gr_pass_finite_check(gr_rewrite *);
// Moves what every step of a scan can do at once before or behind the scan, as one node for all
// steps; a sum over the steps too.
gr_status gr_pass_loop_hoist(gr_rewrite *);
// Replaces products in scans by products of parts of their columns, or of their terms, where the
// body takes the columns apart by slices, or has put them together by pads.
gr_status gr_pass_split_columns(gr_rewrite *);
// Replaces sums of values that zeros surround by one value that has them side by side, also in
// bodies of scans.
gr_status gr_pass_join_parts(gr_rewrite *);
// Adds the optimizer's states and the update of every weight that has a gradient, and counts steps
// that were taken. GR_ERR_CONFIG if there is no such optimizer.
gr_status gr_pass_optimize(gr_rewrite *);
// Adds the averages of trained weights: updates them, reads them in the place of the weights, or
// sets them to the weights, as options.program.ema says.
gr_status gr_pass_ema(gr_rewrite *);
// Drops nodes that neither the loss, nor a result, nor a next value needs, unused results of scans,
// and the batch's inputs where nothing reads any of them.
gr_status gr_pass_dce(gr_rewrite *);
// Emits what the backward pass reads of the parts of options.memory.recomputed again, before its
// first reader there; the forward pass does not keep it. options.memory.given: also what
// few operations make of kept values; and loops run in chunks, each again before its gradient.
gr_status gr_pass_recompute(gr_rewrite *);
// Chooses a layout for every value, makes its type that of one rank's slice, and emits the
// collectives between layouts.
gr_status gr_pass_shard(gr_rewrite *);
// Keeps the half of a step that options.program.phase names: what a micro-batch adds to the
// accumulators, or the update that starts from them.
gr_status gr_pass_accumulate(gr_rewrite *);
// Drops sums over the mesh axis of virtual shards. GR_ERR_UNSUPPORTED at a node that needs more
// than one of them, or whose result would depend on the number of ranks.
gr_status gr_pass_virtual_shards(gr_rewrite *);
// Packs matrices that matmuls in a scan multiply by in each of its steps, once before the scan.
gr_status gr_pass_prepack_weights(gr_rewrite *);
// Defers collectives, and joins those of one kind, group and mesh axis, up to limits in bytes.
gr_status gr_pass_coalesce_collectives(gr_rewrite *);
// Emits copies of the sharded weights that are in host memory, ahead of the gathers that read them.
gr_status gr_pass_offload(gr_rewrite *);
// Joins a product with the vector that is added to its rows and with relu, and a weight's gradient
// with its vector's, as one node each.
gr_status gr_pass_epilogue(gr_rewrite *);
// Emits sums and squares of the channels of a value as one node that reads it once.
gr_status gr_pass_moments(gr_rewrite *);
// Emits batch norms, and their gradients, as elementwise nodes where these can be joined with a
// neighbour.
gr_status gr_pass_spread_norm(gr_rewrite *);
// Joins elementwise nodes and nodes over rows that follow each other into fused nodes, also within
// scans.
gr_status gr_pass_fuse(gr_rewrite *);
// Orders the nodes: collectives as early, and nodes without inputs as late as their edges allow.
// The order is the same on all ranks.
gr_status gr_pass_schedule(gr_rewrite *);
// Joins runs of small nodes as loops of one step, which a GPU runs as a kernel of one block, also
// within scans that are no kernel. The results are the same bits.
gr_status gr_pass_join_small(gr_rewrite *);
