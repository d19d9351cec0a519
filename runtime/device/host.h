// host.h - shared by devices whose memory is the host's: a table with GR_DEVICE_HOST_FIELDS does
// all work within the call, but for collectives, which a thread of their own runs beside kernels
// unless there is one rank or gr_device_options.in_line. All collectives are on one queue.
#pragma once
#include "ops/kernels/cpu.h"
#include "runtime/device/comm_thread.h"

// A device of that kind; other devices begin with it.
typedef struct gr_host_device {
  gr_device base;
  bool plain;
  gr_cpu *cpu;                     // the rank's threads: the context of its kernels
  gr_comm_thread *beside;          // NULL: collectives are run within the call
  uint64_t event[GR_EVENT_COUNT];  // the collectives that each covers
} gr_host_device;

// Opens a device that has the CPU's threads and memory, and the given table. Its structure has
// `bytes` bytes: a gr_host_device, and zeros for the members of the device's own.
GR_MUST_USE gr_status gr_host_open(const gr_device_ops *, const gr_device_options *, size_t bytes,
                                   gr_device **out);
// Ends the threads and frees the device; its blocks are freed before.
void gr_host_close(gr_device *);
// Allocates zeroed memory, shared with the ranks of `shared` unless that is NULL. GR_ERR_LAUNCH
// without memory; the error of a request to stop, after which the caller frees the block as well.
gr_status gr_host_allocate(gr_device *, size_t bytes, gr_comm *shared, gr_device_block *out);
// Frees a block; shared memory stays until its communicator closes.
void gr_host_free(gr_device *, gr_device_block *);
// Copies at once.
gr_status gr_host_copy(gr_device *, void *to, const void *source, size_t bytes);
// Fills at once with a byte.
gr_status gr_host_fill(gr_device *, void *to, int byte, size_t bytes);
// Lets the event cover the collectives that were put so far.
gr_status gr_host_record(gr_device *, gr_queue, gr_device_event);
// Waits at once for the collectives that the event covers; a queue of collectives does not wait.
gr_status gr_host_wait(gr_device *, gr_queue, gr_device_event);
gr_status gr_host_synchronise(gr_device *, gr_queue);  // waits for all collectives
void gr_host_time_as(gr_device *, void *of);           // collectives put next are of that
// The times of the collectives that have run since the last call.
gr_status gr_host_timings(gr_device *, void (*take)(void *, const gr_device_timing *), void *arg);
// Of what the collective was that has failed; NULL: none has.
void *gr_host_failed(const gr_device *);
// The op's fast kernel for the call if there is one, else its reference kernel; of a collective,
// one that leaves it to the communication thread.
gr_status gr_host_kernel(gr_device *, const gr_op_call *, const gr_launch *where,
                         gr_device_kernel *out);

#define GR_DEVICE_HOST_FIELDS(choose)                                                           \
  .close = gr_host_close, .allocate = gr_host_allocate, .free = gr_host_free,                   \
  .upload = gr_host_copy, .download = gr_host_copy, .copy = gr_host_copy, .fill = gr_host_fill, \
  .record = gr_host_record, .wait = gr_host_wait, .synchronise = gr_host_synchronise,           \
  .time_as = gr_host_time_as, .timings = gr_host_timings, .failed = gr_host_failed,             \
  .kernel = choose
