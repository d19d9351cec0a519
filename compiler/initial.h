// initial.h - the init program's part that the model does not say: states that only training has.
#pragma once
#include "compiler/pass.h"

// The names of the states in the graph of initial values, each with its place among them.
gr_map gr_initial_states(const gr_graph *init);

// Adds the states of a compiled program that only training has, the optimizer's and counters, to
// the graph of initial values, and to `known`, which has those that are there already
// (gr_initial_states). Gradient accumulators are reset at the first micro-batch of every step, so
// they need none. A weight or buffer without an initial value is an error, which names the program
// by its kind.
GR_MUST_USE gr_status gr_add_training_states(gr_graph *init, gr_map *known, const gr_options *,
                                             const gr_graph *program, const char *kind);
