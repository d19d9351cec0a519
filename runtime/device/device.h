// device.h - what a rank computes on: one table of functions for each kind of device.
//
// A device is one file with one constant table (gr_device_ops) and one line of devices.def;
// docs/add-a-device.md builds one. The executor and everything that writes inputs or reads results
// use a device's memory through its table alone: an address in it is a number to the host unless
// limits.host_memory says otherwise.
//
// Work is put onto two queues, each of which does its own in order: kernels, copies and fills onto
// GR_QUEUE_COMPUTE, uploads and downloads onto GR_QUEUE_TRANSFER. A call may return before its work
// is done. Work on one queue that needs work on the other waits for an event which was recorded
// there; the host waits with synchronise. The CPU does all work within the call, so that its
// events are no-ops.
//
// A device is used by one thread at a time, that of its rank. Errors: GR_ERR_LAUNCH where a device
// or its memory cannot be had, GR_ERR_UNSUPPORTED for an op that it cannot run.
#pragma once
#include "ir/op.h"
#include "ops/comm/comm.h"

typedef struct gr_device_ops gr_device_ops;

typedef struct gr_device_limits {
  bool computes;     // false: kernels do nothing, and what is downloaded is zeros
  bool host_memory;  // the host may read and write the memory itself, after synchronise
  size_t bytes;      // of all blocks together; 0: only allocate can say
} gr_device_limits;

typedef struct gr_device {  // the first member of each kind's own structure
  const gr_device_ops *ops;
  gr_device_limits limits;
} gr_device;

typedef struct gr_device_options {
  int threads;  // of this rank, where the host computes; at least 1
  bool plain;   // reference kernels only, for tests
  int rank, ranks;
} gr_device_options;

typedef struct gr_device_block {
  void *at;  // 64-byte aligned
  size_t bytes;
  bool shared;  // with other ranks: it belongs to their communicator, and lives as long as that
} gr_device_block;

// What runs a call: it is given a gr_launch whose `context` is this one. The device owns both.
typedef struct gr_device_kernel {
  gr_kernel run;
  void *context;
} gr_device_kernel;

typedef enum gr_queue { GR_QUEUE_COMPUTE, GR_QUEUE_TRANSFER, GR_QUEUE_COUNT } gr_queue;

// The events of a device are numbered, and each may be recorded again and again.
typedef enum gr_device_event {
  GR_EVENT_TRANSFERRED,  // uploads and downloads so far are done: a program may run
  GR_EVENT_COMPUTED,     // the program is done: its results may be read, its inputs written
  GR_EVENT_COUNT,
} gr_device_event;

struct gr_device_ops {
  const char *name, *doc;  // as the key `device` has it; one line
  // How many this machine has, for a rank each. NULL: ranks share what there is, as processors.
  int (*count)(void);
  gr_status (*open)(const gr_device_options *, gr_device **out);
  void (*close)(gr_device *);  // after its blocks are freed

  // Memory for values that kernels use. It holds zeros, and all of it is there: running out of
  // memory shows here. shared: the ranks whose collectives read and write in the block, so that
  // it may be put where they reach it; all of them allocate together. NULL: none do.
  gr_status (*allocate)(gr_device *, size_t bytes, gr_comm *shared, gr_device_block *out);
  void (*free)(gr_device *, gr_device_block *);

  // `bytes` bytes between host and device, on the transfer queue. The host's memory must stay as
  // it is until synchronise.
  gr_status (*upload)(gr_device *, void *to, const void *from_host, size_t bytes);
  gr_status (*download)(gr_device *, void *to_host, const void *from, size_t bytes);
  // Within the device, on the compute queue; the ranges are apart.
  gr_status (*copy)(gr_device *, void *to, const void *from, size_t bytes);
  gr_status (*fill)(gr_device *, void *to, int byte, size_t bytes);

  gr_status (*record)(gr_device *, gr_queue, gr_device_event);
  gr_status (*wait)(gr_device *, gr_queue, gr_device_event);  // what is put there from now on
  gr_status (*synchronise)(gr_device *, gr_queue);            // the host waits; errors show here

  // Chooses what runs a call, when a program is opened: never while it runs.
  gr_status (*kernel)(gr_device *, const gr_op_call *, gr_device_kernel *out);

  // For devices that check, trace or capture what runs; NULL: not called. `begin` and `end` are
  // around each run of a graph: a program, or one step of a loop's body. `node` comes before each
  // node, with the addresses it is run with; a loop's node is followed by runs of its body.
  gr_status (*begin)(gr_device *, const gr_graph *);
  gr_status (*node)(gr_device *, const gr_graph *, uint32_t node, const gr_launch *);
  gr_status (*end)(gr_device *, const gr_graph *);
  // What it has done so far, as a sentence for the run's log. NULL: nothing worth a line.
  void (*report)(const gr_device *, gr_text *);
};

extern const gr_device_ops *const gr_devices[];  // in the order of devices.def; NULL ends it
extern const gr_device_ops gr_device_cpu;

// The device that a configuration asks for: by name, or for "auto" the first of the list that
// counts its devices and finds some, else the CPU. An unknown name is GR_ERR_CONFIG at `loc`.
GR_MUST_USE gr_status gr_device_find(const char *name, gr_loc loc, const gr_device_ops **out);
int gr_device_count(const gr_device_ops *);  // 0: ranks share what there is
// That there is no kernel for a call, as every device says it.
GR_MUST_USE gr_status gr_device_refuse(const gr_device_ops *, const gr_op_call *);
