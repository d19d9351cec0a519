// shadow.h - what is known of each byte of a device's memory: when it was written, by what, and
// on which queue it was used last. The null device keeps one instead of memory.
//
// Time is a count of writes ("stamps"), so that a reader can say which writes it expects to
// find. Order between queues is kept as vector clocks (Mattern, "Virtual time and global states
// of distributed systems", 1988): an access that no event orders after an earlier one is a race,
// whether or not it would have gone well.
#pragma once
#include "runtime/device/device.h"

typedef struct gr_shadow gr_shadow;

typedef struct gr_shadow_access {
  gr_queue queue;
  const void *at;
  size_t bytes;
  uint64_t from, to;   // reads: the stamps that its bytes may have; 0: none, it was never written
  const void *writer;  // reads: who must have written; NULL: anybody. Writes: who does
  const char *by;      // writes: what is said of it in errors, as "matmul"; lives as long as this
} gr_shadow_access;

// A device without memory so far; the caller destroys it. Fails with GR_ERR_IO without memory.
GR_MUST_USE gr_status gr_shadow_create(gr_shadow **out);
void gr_shadow_destroy(gr_shadow *);  // NULL is fine
// Addresses that belong to nothing else, which fault when they are used; never written so far.
GR_MUST_USE gr_status gr_shadow_reserve(gr_shadow *, size_t bytes, void **out);
void gr_shadow_release(gr_shadow *, void *at);

// Errors, all GR_ERR_BUG: outside the blocks, never written, overwritten (stamps), or not ordered
// with what another queue does there.
GR_MUST_USE gr_status gr_shadow_read(gr_shadow *, const gr_shadow_access *);
GR_MUST_USE gr_status gr_shadow_write(gr_shadow *, const gr_shadow_access *);  // with a new stamp
// Who wrote a range that was read without an error; NULL: there is not one alone.
const void *gr_shadow_writer(const gr_shadow *, const void *at, size_t bytes);
uint64_t gr_shadow_stamp(const gr_shadow *);  // the last

// Records an event: it stands for all that was done in the queue so far.
void gr_shadow_record(gr_shadow *, gr_queue, gr_device_event);
// Waiting for an event that was never recorded is an error.
GR_MUST_USE gr_status gr_shadow_wait(gr_shadow *, gr_queue, gr_device_event);
void gr_shadow_synchronise(gr_shadow *, gr_queue);
