// collectives.h - what any communicator must do, whatever its ranks are made of.
#pragma once
#include "ops/comm/comm.h"

// All ranks of a communicator call these together. A failure says what was wrong.
// All kinds, dtypes, and sizes, in one piece and several, in memory that others reach and in
// memory that they do not. per_machine: ranks whose sum is rounded before it is added to other
// machines'; 0: all ranks are on one.
GR_MUST_USE gr_status check_collectives(gr_comm *, int per_machine, int rounds);
GR_MUST_USE gr_status check_mesh(gr_comm *world, int rows,
                                 int columns);  // by axis, on a mesh of two
