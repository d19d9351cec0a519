// pages.h - memory that processes of one user and one machine share. It has no name: there
// is nothing in /dev/shm (which is small in containers), and nothing is left behind, however the
// processes end.
#pragma once
#include "base/status.h"

// How others find it, as numbers that can be sent; of no use once the maker has closed it.
enum { GR_PAGES_OFFER = 4 };

// Zero. Where the system has no such memory the offer says so, and it is ordinary memory.
GR_MUST_USE gr_status gr_pages_make(size_t bytes, void **out, int32_t offer[GR_PAGES_OFFER]);
// Another process's; NULL where the system does not let this one see it.
void *gr_pages_map(const int32_t offer[GR_PAGES_OFFER], size_t bytes);
void gr_pages_close_offer(const int32_t offer[GR_PAGES_OFFER]);  // all have seen who can
void gr_pages_free(void *, size_t bytes);                        // of make or see; NULL is fine
