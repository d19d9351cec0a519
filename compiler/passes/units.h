// units.h - groups weights into FSDP units. A unit is a block of the model: one all_gather before
// its forward pass and one before its backward pass gather its weights, and one reduce_scatter
// its gradients. Weights outside of all units are coalesced with those used next to them, up to a
// byte limit.
#pragma once
#include "compiler/pass.h"

// Why a unit's values are communicated; each reason is a group (ops/comm/collective.h).
typedef enum gr_move { GR_MOVE_GATHER, GR_MOVE_SCATTER, GR_MOVE_UPDATED, GR_MOVES } gr_move;

// The units of a graph, for the shard pass, which asks in the order of its nodes.
typedef struct gr_units gr_units;
// Allocates them in the arena; no weight is in a unit yet. Borrows the graph and the options.
gr_units *gr_units_open(gr_arena *, const gr_graph *, const gr_options *);
// The state that a value is, or is cast from: a narrow weight is gathered as what it was cast to.
// GR_NONE: it is another value.
gr_val gr_units_state(const gr_graph *, gr_val);
// The node of the loss, after which the backward pass comes; UINT32_MAX: there is none.
uint32_t gr_units_loss(const gr_graph *);
// Whether a node up to that of the loss computes something else than a cast, of states alone.
bool gr_units_only_states(const gr_graph *, const gr_node *, uint32_t loss_at);
// The group of a collective that communicates state `id`, its gradient or its next value. A unit
// gathered for the forward pass is gathered again for the backward pass (`backward`) if weights of
// another unit were used in between.
int64_t gr_units_group(gr_units *, uint32_t id, gr_move, bool backward);
