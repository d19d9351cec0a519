// launch_groups.h - which nodes a GPU launches together: gr_plan_frame.group_size.
#pragma once
#include "compiler/plan/plan.h"

// By node: the first and the last of the nodes that it may be launched together with. Those between
// them may too.
typedef struct gr_launch_groups {
  uint32_t *first, *last;  // n_nodes + 1 of them
} gr_launch_groups;

// Finds candidates; on a CPU every node is alone.
void gr_launch_groups_find(gr_arena *, const gr_graph *, bool gpu, gr_launch_groups *out);
// Sets f->group_size, once all of the frame's offsets are known. scratch_bytes: by node.
void gr_launch_groups_choose(gr_arena *, const gr_launch_groups *candidates,
                             const size_t *scratch_bytes, gr_plan_frame *f);
