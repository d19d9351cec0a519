// traffic.h - what a plan's collectives move, by axis of the mesh.
#pragma once
#include "compiler/plan/plan.h"

typedef struct gr_traffic {
  int collectives, values;  // a coalesced collective moves several values
  double operands;          // bytes of all operands on one rank
  double sent;              // bytes that each rank sends, by ring algorithms, which send the least
                            // (Patarasuk, Yuan 2009): of B bytes over N ranks an all_reduce sends
                            // 2 (N - 1) / N B; a reduce_scatter of B bytes, and an all_gather to B
                            // bytes, (N - 1) / N B, where B has the padding of uneven slices
} gr_traffic;

// Adds a collective.
void gr_traffic_add(gr_traffic *, const gr_graph *, const gr_node *);
// Counts the collectives of one run of a program, by mesh axis.
void gr_traffic_count(const gr_program *, gr_traffic by_axis[GR_MAX_MESH]);
