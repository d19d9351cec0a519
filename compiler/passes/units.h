// units.h - which weights move together. A unit of FSDP is a block of the model: its weights are
// gathered by one collective before the forward pass of the block and by one before its backward
// pass, and its gradients are scattered by one. Weights outside of all units are gathered with
// those used next to them, up to some bytes.
#pragma once
#include "compiler/pass.h"

// What values of a unit are moved for: each is a group of collectives (ops/comm/collective.h).
typedef enum gr_move { GR_MOVE_GATHER, GR_MOVE_SCATTER, GR_MOVE_UPDATED, GR_MOVES } gr_move;

// The units of a graph, as the shard pass meets their weights in the order of its nodes.
typedef struct gr_units gr_units;
gr_units *gr_units_open(gr_arena *, const gr_graph *, const gr_options *);
// A collective that moves state `id` of the graph, its gradient, or its next value: the group it
// belongs to. A unit that was gathered for the forward pass is gathered again for the backward
// pass if weights of another unit were used since; `backward` says which pass asks.
int64_t gr_units_group(gr_units *, uint32_t id, gr_move, bool backward);
