// regions.c - see regions.h.
#include "runtime/comm/regions.h"
#include <stdlib.h>
#include "runtime/comm/pages.h"

// This rank's memory and the mappings of its peers'.
struct gr_allocation {
  gr_allocation *older;
  gr_region region;
  char *of_rank[];  // by world rank
};

// Maps the copies of the other ranks of this machine. *blind: on every rank, how many ranks could
// not map a copy; unless it is 0 no rank may use the allocation for in-place collectives.
static gr_status map_peers(gr_allocation *t, gr_comm *world, const gr_shared *node,
                           const int32_t *offers, int32_t *blind) {
  int32_t failed_here = 0;
  for (int k = 0; k < node->base.ranks; k++) {
    int r = node->block->slot[k].rank;
    if (r != world->rank)
      t->of_rank[r] = gr_pages_map(offers + r * GR_PAGES_OFFER, t->region.bytes);
    failed_here |= !t->of_rank[r];
  }
  return gr_comm_run(world, GR_ALL_REDUCE, GR_I32, 1, &failed_here, blind);
}

gr_status gr_allocations_add(gr_allocation **list, gr_comm *world, gr_shared *node, size_t bytes,
                             void **out) {
  int32_t offer[GR_PAGES_OFFER], offers[GR_PAGES_OFFER * world->ranks], blind = 0;
  gr_allocation *t = calloc(1, sizeof *t + sizeof *t->of_rank * (size_t)world->ranks);
  if (!t) return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory for an allocation record");
  t->older = *list, *list = t;
  GR_TRY(gr_pages_make(bytes, out, offer));
  t->of_rank[world->rank] = *out;
  t->region = (gr_region){.memory = *out, .bytes = bytes, .of_rank = t->of_rank};
  gr_status s = gr_comm_run(world, GR_ALL_GATHER, GR_I32, GR_PAGES_OFFER, offer, offers);
  s = s ? s : map_peers(t, world, node, offers, &blind);
  gr_pages_close_offer(offer);
  if (!s && !blind) gr_shared_add_region(node, &t->region);
  return s;
}

void gr_allocations_free(gr_allocation *t, int ranks) {
  for (gr_allocation *older; t; t = older) {
    older = t->older;
    for (int r = 0; r < ranks; r++) gr_pages_free(t->of_rank[r], t->region.bytes);
    free(t);
  }
}
