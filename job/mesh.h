// mesh.h - translates distributed.mesh, distributed.strategy and distributed.layout to the
// compiler's mesh, layout rules and options. A strategy is nothing but a choice of these.
#pragma once
#include "compiler/pass.h"
#include "job/settings.h"

typedef struct gr_mesh_config {
  gr_mesh mesh;
  const char *batch_axis[GR_MAX_MESH];  // axes over which the batch is sharded, up to NULL
  int ranks;                            // product of the axis sizes; 0: not known yet
  int data_ranks;          // product over the batch axes: the number of parts of a batch; or 0
  const char *split_axis;  // axis over which optimizer states are sharded, or NULL
  bool scatter;            // gradients are sharded over it too, in every micro-step (ZeRO-2)
  gr_layout_rule *rules;   // of distributed.layout, then of the strategy
  int n_rules, n_given;    // the first n_given are from distributed.layout
} gr_mesh_config;

// ranks: their number; 0: not known yet. GR_ERR_CONFIG, with a location, if mesh, strategy and
// number of ranks contradict each other.
GR_MUST_USE gr_status gr_mesh_config_read(gr_arena *, gr_conf *, const gr_settings *, int ranks,
                                          gr_mesh_config *out);
// An error for each rule of distributed.layout that matches no weight of the plan.
GR_MUST_USE gr_status gr_mesh_config_check(gr_arena *, const gr_mesh_config *, const gr_plan *);
