// exec.h - runs a plan's programs on one rank.
//
// Opening resolves everything: kernels, pointers, strides. Running a program is then a loop over an
// array of launches: it allocates nothing, looks nothing up and does not distinguish ops, except
// that a scan runs its body. The order of launches is that of the graph, the same on every rank, so
// that collectives match. The plan has been proved (compiler/plan/prove.h) and is not checked
// again.
//
// An executor is used by one thread, that of its rank. The plan must outlive it.
#pragma once
#include "compiler/plan/plan.h"
#include "ops/comm/comm.h"
#include "runtime/device/device.h"
#include "runtime/exec/trace.h"

typedef struct gr_exec gr_exec;
typedef struct gr_exec_options {
  const gr_device_ops *device;  // NULL: the CPU
  int threads;                  // of this rank
  bool plain;                   // reference kernels only, for tests
  gr_comm *world;               // of all ranks; NULL: there is one
  gr_comm *const *comm;         // by mesh axis; may be NULL on a mesh of one rank
  // Makes a communicator of the device's memory from one of `comm`, for devices whose memory the
  // host cannot access; collective over it. NULL: collectives take those of `comm`.
  // The queue is that of the communicator's collectives (gr_device_queue).
  gr_status (*open_comm)(gr_device *, gr_queue, gr_comm *host, double timeout_s, gr_comm **out);
  double timeout_s;    // for open_comm
  bool one_queue;      // gr_device_limits.one_queue
  bool in_line;        // collectives do not run beside kernels (gr_device_options.in_line)
  int rank;            // in the mesh
  int local_rank;      // among the ranks of this machine
  const int *gpu_ids;  // n_gpu_ids devices, by local rank (gr_device_options.ids)
  int n_gpu_ids;
  bool autotune;  // gr_device_ops.tune
  bool profile;   // measure the time of every node
  bool trace;     // gr_exec_trace will be called
} gr_exec_options;

// Opens the device, allocates the plan's blocks on it, and chooses a kernel for every node. All
// states and values are zero. GR_ERR_LAUNCH if the memory does not suffice, GR_ERR_UNSUPPORTED,
// with the line of the model, if the device has no kernel for a node. Collective if ranks share
// memory.
GR_MUST_USE gr_status gr_exec_open(const gr_plan *, const gr_exec_options *, gr_exec **out);
void gr_exec_close(gr_exec *);  // NULL is fine

// Runs one program of the plan. Returns once its work is enqueued; an error of a kernel may
// therefore come from a later call. After an error the communicators are aborted, and states are
// undefined.
GR_MUST_USE gr_status gr_exec_run(gr_exec *, const gr_program *);
// Sets which of the rank's virtual shards the next programs compute, below the size of that axis of
// the mesh; nothing on a mesh without it. interleaved: the ranks' first shards come first in the
// batch, then their second, ..., whatever the order of the axes: random numbers, which are drawn by
// an element's place in the batch, are then those of these places.
void gr_exec_set_shard(gr_exec *, int shard, bool interleaved);

// ---- Inputs, results and states ---------------------------------------------------------------
// A tensor in the device's memory that the host writes or reads between runs of programs. Callers
// look it up once, when a training run is opened, and keep it as long as the executor.
typedef struct gr_exec_tensor {
  void *address;  // an address of the device; NULL: there is no tensor of that name
  gr_type type;   // of this rank's part
  size_t bytes;
  void *upload;      // of an input: its second place; NULL: it has none
  uint32_t program;  // and 1 + the index of its program in the plan
} gr_exec_tensor;
// An input of a program, by its name.
gr_exec_tensor gr_exec_input(const gr_exec *, const gr_program *, const char *name);
// A result of a program, by its name.
gr_exec_tensor gr_exec_result(const gr_exec *, const gr_program *, const char *name);
// A state, whose memory all programs share.
gr_exec_tensor gr_exec_state(const gr_exec *, const gr_plan_state *);

// Enqueues a copy of the host's `source` to a tensor, after the programs that ran before and ahead
// of those that run later. `source` must not change until gr_exec_wait returns. An input that has a
// second place gets it when its program is run next, unless one of another program is written
// first; the copy to that place runs beside programs, and no wait includes it.
GR_MUST_USE gr_status gr_exec_write(gr_exec *, const gr_exec_tensor *, const void *source);
bool gr_exec_uploads_ahead(const gr_exec *);  // whether inputs have a second place
// Whether such inputs of a program were written, and it has not run since.
bool gr_exec_is_ahead(const gr_exec *, const gr_program *);
// Enqueues a copy of a tensor to the host's memory `to`, which is undefined until gr_exec_wait
// returns.
GR_MUST_USE gr_status gr_exec_read(gr_exec *, const gr_exec_tensor *, void *to);
// Waits until all transfers are done; fails with the first error of what was enqueued.
GR_MUST_USE gr_status gr_exec_wait(gr_exec *);

// For large tensors: without a copy if the host can access the device's memory. `staging` is host
// memory of gr_exec_staging bytes, which is 0 in that case.
size_t gr_exec_staging(const gr_exec *, const gr_exec_tensor *);
// *out is the tensor itself, or a copy of it in `staging`; valid until a program runs.
GR_MUST_USE gr_status gr_exec_view(gr_exec *, const gr_exec_tensor *, void *staging,
                                   const void **out);
// To write a tensor, fill the memory that gr_exec_target returns, then call gr_exec_store with it.
void *gr_exec_target(const gr_exec *, const gr_exec_tensor *, void *staging);
// Writes the tensor from `source`, which gr_exec_target returned for it, and waits until it is
// written.
GR_MUST_USE gr_status gr_exec_store(gr_exec *, const gr_exec_tensor *, const void *source);

// Records every program and node that runs from now on, until it is called with NULL. Spans are
// those of the device: one that works beside the host measures them itself, or each node is waited
// for.
GR_MUST_USE gr_status gr_exec_trace(gr_exec *, gr_trace *);

// ---- Values that are not finite ---------------------------------------------------------------
// A node whose result is not finite although its operands are, or an input or a state that is not.
typedef struct gr_exec_origin {
  bool found;
  uint32_t order;   // nodes that ran before it, by which ranks compare
  char text[1024];  // "'exp' of layers.0, model.yaml:3:5: its result is f32[4] ..., infinite: 2;
                    // ..."
} gr_exec_origin;
// The first NaN, and the first infinity, which may be one on purpose.
typedef struct gr_exec_origins {
  gr_exec_origin nan, inf;
} gr_exec_origins;
// Is shown each result of each node of a program or a loop's body, g, in host memory that is valid
// during the call.
typedef gr_status gr_exec_see(void *self, const gr_graph *g, const gr_node *, int result,
                              const void *data);
// Looks at all values of the programs that run from now on, until gr_exec_search_end: each node is
// waited for. *out must live until then. see: NULL: nothing.
GR_MUST_USE gr_status gr_exec_search_begin(gr_exec *, gr_exec_see *see, void *self,
                                           gr_exec_origins *out);
void gr_exec_search_end(gr_exec *);  // also after an error

const gr_device *gr_exec_device(const gr_exec *);  // owned by the executor
// Seconds that kernels have waited for collectives that run beside them, in all; below 0: it is not
// known, or there are none, so that what communicators count is waited for.
double gr_exec_waited(const gr_exec *);
size_t gr_exec_bytes(const gr_exec *);         // of all blocks, as planned
size_t gr_exec_shared_bytes(const gr_exec *);  // of blocks that other ranks can access
// Prints the time by op, longest first; what runs later is not measured.
GR_MUST_USE gr_status gr_exec_profile(FILE *, gr_exec *);
