// mesh.h - on which ranks what is split: distributed.mesh, distributed.strategy and
// distributed.layout, as the compiler's mesh, rules and options.
#pragma once
#include "cli/job/settings.h"
#include "compiler/pass.h"

typedef struct gr_mesh_config {
  gr_mesh mesh;
  const char *batch_axis[GR_MAX_MESH];  // those over which the batch is split; NULL: no more
  int ranks;                            // the product of the mesh; 0: not known yet
  int data_ranks;  // how many share the batch: the others of a group read the same rows; or 0
  const char *split_axis;  // over which the optimizer's states are split, or NULL
  bool scatter;            // gradients too, between micro-steps
  gr_layout_rule *rules;   // those of distributed.layout, then that of the strategy
  int n_rules, n_given;    // n_given of them are distributed.layout's
} gr_mesh_config;

// ranks: how many there are, or 0 where that is not known yet. Fails with a place where the
// mesh, the strategy and the number of ranks do not go together.
GR_MUST_USE gr_status gr_mesh_config_read(gr_arena *, gr_conf *, const gr_settings *, int ranks,
                                          gr_mesh_config *out);
// An error for a rule of distributed.layout that is of no weight.
GR_MUST_USE gr_status gr_mesh_config_check(gr_arena *, const gr_mesh_config *, const gr_plan *);
