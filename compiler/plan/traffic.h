// traffic.h - what a plan's collectives move, by axis of the mesh.
#pragma once
#include "compiler/plan/plan.h"

typedef struct gr_traffic {
  int collectives, values;  // values: several may go in one collective
  double operands;          // bytes of their operands on one rank
  double sent;              // bytes each rank sends, by the algorithms that send the fewest:
                            // of B bytes over N ranks an all_reduce sends 2 (N - 1) / N B, a
                            // reduce_scatter, and an all_gather to B bytes, (N - 1) / N B
} gr_traffic;

// Of one run of a program.
void gr_traffic_count(const gr_program *, gr_traffic by_axis[GR_MAX_MESH]);
