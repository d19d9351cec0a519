// shadow.h - shadow memory: for each byte of a device's memory, when it was written, by which node,
// and on which queue it was used last. The null device has one instead of memory.
//
// Time is a count of writes ("stamps"), so that a reader can state which writes it expects. Order
// between queues is tracked with vector clocks (Mattern, "Virtual time and global states of
// distributed systems", 1988): an access that no event orders after a conflicting earlier one is
// reported as a race, even if the timing of this run would have hidden it.
#pragma once
#include "runtime/device/device.h"

typedef struct gr_shadow gr_shadow;

typedef struct gr_shadow_access {
  gr_queue queue;
  const void *address;
  size_t bytes;
  uint64_t earliest;   // reads: the first stamp that its bytes may have; 0: never written
  uint64_t latest;     // reads: the last one
  const void *writer;  // reads: the node that must have written it, NULL: any; writes: the node
  const char *by;      // writes: the writer's name in errors, "matmul"; outlives the shadow memory
} gr_shadow_access;

// Creates an empty shadow memory, which the caller destroys. GR_ERR_IO if the host is out of
// memory.
GR_MUST_USE gr_status gr_shadow_create(gr_shadow **out);
void gr_shadow_destroy(gr_shadow *);  // NULL is fine
// Reserves a range of addresses that nothing else uses and that fault when they are dereferenced.
// Its bytes count as never written.
GR_MUST_USE gr_status gr_shadow_reserve(gr_shadow *, size_t bytes, void **out);
// Gives a reserved range back; NULL and other addresses are ignored.
void gr_shadow_release(gr_shadow *, void *memory);

// Records a read, and checks it. Errors of accesses are all GR_ERR_BUG: outside the blocks, never
// written, overwritten (stamps), or not ordered with what another queue does there.
GR_MUST_USE gr_status gr_shadow_read(gr_shadow *, const gr_shadow_access *);
GR_MUST_USE gr_status gr_shadow_write(gr_shadow *, const gr_shadow_access *);  // with a new stamp
// The node that wrote all of a range; NULL: several did.
const void *gr_shadow_writer(const gr_shadow *, const void *address, size_t bytes);
uint64_t gr_shadow_stamp(const gr_shadow *);  // of the last write

// Records an event: it covers all work of the queue so far.
void gr_shadow_record(gr_shadow *, gr_queue, gr_device_event);
// Orders what the queue does from now on after an event. GR_ERR_BUG if it was never recorded.
GR_MUST_USE gr_status gr_shadow_wait(gr_shadow *, gr_queue, gr_device_event);
// The host has waited for the queue: what it enqueues from now on, on any queue, comes after the
// queue's work.
void gr_shadow_synchronise(gr_shadow *, gr_queue);
