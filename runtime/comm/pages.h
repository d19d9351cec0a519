// pages.h - anonymous memory shared between processes of one user on one machine (memfd). It has no
// name in a file system, so it does not depend on the size of /dev/shm, and nothing is left behind
// however the processes end.
#pragma once
#include "base/status.h"

// An offer is what a peer needs to map the memory, as integers that a collective can send. It is
// valid until its maker calls gr_pages_close_offer.
enum { GR_PAGES_OFFER = 4 };

// Allocates zeroed memory and the offer for it. Where the system has no such memory, *out is
// private memory and gr_pages_map refuses the offer. Fails with GR_ERR_LAUNCH when there is no
// memory.
GR_MUST_USE gr_status gr_pages_make(size_t bytes, void **out, int32_t offer[GR_PAGES_OFFER]);
// Maps the memory of another process's offer; NULL where the system does not allow it.
void *gr_pages_map(const int32_t offer[GR_PAGES_OFFER], size_t bytes);
// Called by the maker once every peer has mapped the offer or failed to.
void gr_pages_close_offer(const int32_t offer[GR_PAGES_OFFER]);
void gr_pages_free(void *, size_t bytes);  // unmaps either kind; NULL is fine
// The error of ranks that cannot map each other's memory, with what to do.
GR_MUST_USE gr_status gr_pages_refused(void);
