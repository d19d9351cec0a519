// regions.h - memory that the ranks of a machine can read and write in each other's processes
// (gr_comm_vtable.alloc_shared), for communicators whose ranks are processes.
#pragma once
#include "runtime/comm/shared.h"

typedef struct gr_allocation gr_allocation;
// Allocates `bytes` bytes on every rank, lets the ranks of each machine map them, and adds the
// allocation to the list and to the regions of `node`. Collective over `world`.
GR_MUST_USE gr_status gr_allocations_add(gr_allocation **list, gr_comm *world, gr_shared *node,
                                         size_t bytes, void **out);
// Unmaps the memory of every rank in the list, and frees the list.
void gr_allocations_free(gr_allocation *list, int ranks);
