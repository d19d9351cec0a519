// cluster.h - a description of machines, of the links between them, and of their processors, as
// YAML:
//
//   gpus_per_node: 8
//   nodes: 4
//   memory: 80e9                                    # bytes of a GPU
//   collective: 15e-6                               # seconds that each takes besides
//   within: {bandwidth: 450e9, latency: 1e-6}       # one direction, bytes a second; seconds
//   between: {bandwidth: 50e9, latency: 5e-6}       # of each GPU
//   cpu: {matmul_f32: 110e9, row: 1.1e9, ...}     # of one thread: gr_cpu_rates
#pragma once
#include "base/text.h"
#include "compiler/report/chips.h"
#include "compose/tree/conf.h"

// Replaces what the file says of n targets. GR_ERR_CONFIG at the place of what is wrong.
GR_MUST_USE gr_status gr_cluster_read(gr_arena *, const char *path, gr_target *, int n);

typedef struct gr_constant {
  const char *path, *unit;  // "within.latency", "s"
  double value;             // 0: not known
} gr_constant;
// What such a file may say of a target, from i = 0. False: there is no more.
bool gr_cluster_constant(const gr_target *, int i, gr_constant *out);
// Appends it, as gr_cluster_read reads it.
void gr_cluster_put(gr_text *, const gr_target *);
