// host.h - shared by devices whose memory is the host's: a table with GR_DEVICE_HOST_FIELDS does
// all work within the call, so that queues and events are no-ops.
#pragma once
#include "ops/kernels/cpu.h"
#include "runtime/device/device.h"

// A device of that kind; other devices begin with it.
typedef struct gr_host_device {
  gr_device base;
  bool plain;
  gr_cpu *cpu;  // the rank's threads: the context of its kernels
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
gr_status gr_host_event(gr_device *, gr_queue, gr_device_event);  // record, wait: no-ops
// Does nothing: no work is pending.
gr_status gr_host_synchronise(gr_device *, gr_queue);
// The op's fast kernel for the call if there is one, else its reference kernel.
gr_status gr_host_kernel(gr_device *, const gr_op_call *, const gr_launch *where,
                         gr_device_kernel *out);

#define GR_DEVICE_HOST_FIELDS(choose)                                                           \
  .close = gr_host_close, .allocate = gr_host_allocate, .free = gr_host_free,                   \
  .upload = gr_host_copy, .download = gr_host_copy, .copy = gr_host_copy, .fill = gr_host_fill, \
  .record = gr_host_event, .wait = gr_host_event, .synchronise = gr_host_synchronise,           \
  .kernel = choose
