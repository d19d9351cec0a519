// cluster.h - a description of machines and the links between them, as YAML:
//
//   gpus_per_node: 8
//   nodes: 4
//   memory: 80e9                                    # bytes of a GPU
//   within: {bandwidth: 450e9, latency: 1e-6}       # one direction, bytes a second; seconds
//   between: {bandwidth: 50e9, latency: 5e-6}       # of each GPU
#pragma once
#include "compiler/report/chips.h"
#include "compose/tree/conf.h"

// Replaces what the file says of the clusters of n targets. GR_ERR_CONFIG at the place of what is
// wrong.
GR_MUST_USE gr_status gr_cluster_read(gr_arena *, const char *path, gr_target *, int n);
