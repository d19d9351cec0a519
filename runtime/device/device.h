// device.h - what a rank computes on: one table of functions for each kind of device.
//
// A device is one file with one constant table (gr_device_ops) and one line of devices.def;
// docs/add-a-device.md builds one. The executor and everything that writes inputs or reads results
// access a device's memory through its table only: the host must not dereference an address in it
// unless limits.host_memory is set.
//
// Work is enqueued on queues, and each queue runs in order: kernels, copies and fills on
// GR_QUEUE_COMPUTE, uploads and downloads on GR_QUEUE_TRANSFER, uploads beside a program on
// GR_QUEUE_AHEAD, and on devices with limits.beside collectives and copies of states in host memory
// on three more. A call may return before its work is done. Work on one queue that depends on
// another waits for an event that was recorded there; the host waits with synchronise. The CPU does
// all work but collectives within the call.
//
// The executor (runtime/exec) is the only caller, from the thread of the device's rank. It
// allocates the plan's blocks when it opens, and none later. Errors: GR_ERR_LAUNCH if a device or
// its memory is not available, GR_ERR_UNSUPPORTED for an op that the device cannot run.
#pragma once
#include "ir/op.h"
#include "ops/comm/comm.h"

typedef struct gr_device_ops gr_device_ops;

enum { GR_DEVICE_ID = 16 };  // bytes

typedef struct gr_device_limits {
  bool host_memory;  // the host may read and write the memory directly, after synchronise
  bool marks;        // `mark` is called
  bool timings;      // it measures what `run` replays (gr_device_ops.timings)
  bool beside;       // collectives run beside kernels, on queues of their own (gr_device_queue)
  bool one_queue;    // for all of them: those of two queues might wait for each other
  size_t bytes;      // left for blocks and what is reserved; 0: not known before allocate is called
} gr_device_limits;

// An open device. Each kind has a structure of its own, of which this is the first member.
typedef struct gr_device {
  const gr_device_ops *ops;
  gr_device_limits limits;
  // Tells a device that serves one rank from those of all machines; zeros on others.
  unsigned char id[GR_DEVICE_ID];
} gr_device;

typedef struct gr_device_options {
  int threads;   // of this rank, for devices that compute on the host; at least 1
  bool in_line;  // collectives wait for the kernels before them: limits.beside is false
  bool plain;    // reference kernels only, for tests
  bool tf32;     // products of f32 may be computed in TF32
  bool timings;  // `time` will be called, if the device can: limits.timings says whether
  int rank, ranks;
  bool one_machine;  // all ranks are on it
  int local_rank;  // among the ranks of this machine: that of several devices which this rank takes
  const int *ids;  // n_ids numbers of devices, by local rank; none: device i is local rank i's
  int n_ids;
  size_t ahead;  // the most bytes that are uploaded ahead of one program (gr_plan.upload_bytes)
} gr_device_options;

typedef struct gr_device_block {
  void *address;  // 64-byte aligned
  size_t bytes;
  bool shared;  // with other ranks: their communicator owns it, and frees it when it closes
  bool host;    // of allocate_host
} gr_device_block;

// A kernel that was chosen for one call of an op. It is launched with gr_launch.context = context.
// The device owns both.
typedef struct gr_device_kernel {
  gr_kernel run;
  void *context;
} gr_device_kernel;

typedef enum gr_queue {
  GR_QUEUE_COMPUTE,
  GR_QUEUE_TRANSFER,
  GR_QUEUE_GATHER,  // collectives that gather
  GR_QUEUE_REDUCE,  // collectives that sum
  GR_QUEUE_FETCH,   // copies of states in host memory (the op fetch)
  GR_QUEUE_AHEAD,   // inputs of the next program; the host does not wait for it
  GR_QUEUE_COUNT
} gr_queue;

enum { GR_BESIDE = 16 };  // steps of one queue beside kernels that the others can tell apart
// A device has these events; each may be recorded any number of times.
typedef enum gr_device_event {
  GR_EVENT_TRANSFERRED,  // earlier uploads and downloads are done: a program may run
  GR_EVENT_COMPUTED,     // the program is done: results may be read and inputs written
  GR_EVENT_FORKED,       // the kernels ahead of a collective are done
  GR_EVENT_AHEAD,        // the inputs of the next program are there
  GR_EVENT_TAKEN,        // and that program has copied them
  GR_EVENT_GATHERED,     // GR_BESIDE events of collectives of GR_QUEUE_GATHER that are done
  GR_EVENT_REDUCED = GR_EVENT_GATHERED + GR_BESIDE,  // the same of GR_QUEUE_REDUCE
  GR_EVENT_FETCHED = GR_EVENT_REDUCED + GR_BESIDE,   // and of copies on GR_QUEUE_FETCH
  GR_EVENT_COUNT = GR_EVENT_FETCHED + GR_BESIDE,
} gr_device_event;

// A copy in each step of a loop: the addresses are those of the first step, and the strides the
// bytes from step to step.
typedef struct gr_device_slice {
  void *to;
  const void *source;
  size_t bytes;
  ptrdiff_t to_stride, from_stride;
} gr_device_slice;

// A loop whose body is the same in every step: what changes is copied to fixed addresses before it,
// and from them after it.
enum { GR_LOOP_BEFORE, GR_LOOP_AFTER, GR_LOOP_CARRIES, GR_LOOP_COPIES };
typedef struct gr_device_loop {
  int64_t steps;
  void *counter;  // 8 bytes of the device's memory, for the number of the step
  // Where none of these elements is 0 after a step, the device may leave out the others. NULL:
  // none.
  const void *flags;
  int64_t n_flags, flag_bytes;  // elements, and bytes of one
  gr_device_slice *slice[GR_LOOP_COPIES];
  int n[GR_LOOP_COPIES];
  gr_status (*body)(void *arg);  // enqueues it
  void *arg;
} gr_device_loop;

typedef enum gr_device_timed {
  GR_TIMED_BY_HOST,  // the program is not recorded
  GR_TIMED_LATER,    // this run warms up, and is slower than the others
  GR_TIMED,
} gr_device_timed;
// What the device measured of one kernel or copy, in nanoseconds, since gr_wall_seconds was 0.
typedef struct gr_device_timing {
  void *of;          // of gr_device_ops.time_as when it was enqueued; NULL: of no node
  const char *what;  // "kernel", "copy", "fill", "upload" or "download"; a constant
  bool first;        // of those of one time_as: there is one for each run of a node
  int64_t start, lasts;
} gr_device_timing;

// What callers have to know of a kind of device is a field here: none of them asks for its name.
struct gr_device_ops {
  const char *name, *doc;  // the value of the key `device`; one line
  const char *alias;       // another value of the key that means this device; NULL: none
  bool gpu;                // plans for it are made for GPUs (gr_plan.gpu)
  bool dry;  // checks runs only: kernels do nothing, downloads give zeros, memory is not taken
  // The library whose communicators reach its memory (runtime/comm/collectives.h). NULL: those of
  // the host do.
  const char *collectives;
  // Whether the machine seems to have one, found without starting its driver. NULL: `count` says
  // so.
  bool (*seems_there)(void);
  // Bytes of a device's memory that `open` takes for itself, such as the working memory of
  // libraries: they are counted in the plan (gr_plan.reserved_bytes).
  size_t reserved;
  // The number of devices in this machine; each serves one rank (gr_device_is_per_rank). NULL:
  // ranks share the machine.
  int (*count)(void);
  // Whether its driver is there but fails, so that `count`, which came before, is 0. NULL: it
  // cannot.
  bool (*fails)(void);
  gr_status (*open)(const gr_device_options *, gr_device **out);
  void (*close)(gr_device *);  // after its blocks are freed

  // Sets limits.bytes again, once communicators have taken theirs. NULL: they take none of it.
  gr_status (*measure)(gr_device *);
  // Allocates zeroed memory for values. All pages are committed, so that out-of-memory shows here
  // and not during a step. shared: the communicator of the ranks whose collectives access the
  // block, so that it may be placed in memory that they share (the call is then collective); or
  // NULL.
  gr_status (*allocate)(gr_device *, size_t bytes, gr_comm *shared, gr_device_block *out);
  // The same in the host's memory, at an address that kernels use, too: they read and write it over
  // the link. The host may access it after synchronise. NULL: plans for it have no such states.
  gr_status (*allocate_host)(gr_device *, size_t bytes, gr_device_block *out);
  void (*free)(gr_device *, gr_device_block *);

  // Copies between host and device, on the transfer queue. The host's memory must neither be freed
  // nor changed before synchronise.
  gr_status (*upload)(gr_device *, void *to, const void *from_host, size_t bytes);
  gr_status (*download)(gr_device *, void *to_host, const void *source, size_t bytes);
  // The same on GR_QUEUE_AHEAD; the host's memory may change when it returns. Up to GR_EVENT_AHEAD
  // it is called for at most gr_device_options.ahead bytes. NULL: plans for it have no second
  // places of inputs.
  gr_status (*upload_ahead)(gr_device *, void *to, const void *from_host, size_t bytes);
  // Within the device, on the compute queue. The two ranges do not overlap.
  gr_status (*copy)(gr_device *, void *to, const void *source, size_t bytes);
  gr_status (*fill)(gr_device *, void *to, int byte, size_t bytes);

  gr_status (*record)(gr_device *, gr_queue, gr_device_event);
  gr_status (*wait)(gr_device *, gr_queue, gr_device_event);  // blocks what is enqueued later
  gr_status (*synchronise)(gr_device *, gr_queue);            // blocks the host; reports errors

  // Chooses the kernel of a call. Called when a program is opened, never while it runs. `where` has
  // the layouts of the results and this rank's coordinates, and NULL for addresses that are not
  // known yet; what is at the others may be overwritten.
  gr_status (*kernel)(gr_device *, const gr_op_call *, const gr_launch *where,
                      gr_device_kernel *out);
  // Chooses one kernel for n calls that may run at once (gr_plan_frame.group_size); it is launched
  // with the first one's gr_launch. The addresses of `launches` are set, and stay. NULL: each call
  // has its own kernel.
  gr_status (*kernels)(gr_device *, int n, const gr_op_call *, const gr_launch *const *launches,
                       gr_device_kernel *out);
  // Called once all calls of a plan have their kernels, of several ranks: an error, the same on all
  // of them, where ranks would run a call in different ways, so that what each of them has would no
  // longer be equal. Collective over `world`. NULL: a kernel follows from the call.
  gr_status (*agree)(gr_device *, gr_comm *world);
  // Then: compiles and loads the kernels. NULL: nothing.
  gr_status (*ready)(gr_device *);
  // Then, if it is asked for: measures what may run a call, and chooses by that. Rank 0's choice is
  // every rank's, so that they compute the same bits. Collective over `world`; NULL: there is one
  // rank. NULL: there is nothing to choose.
  gr_status (*tune)(gr_device *, gr_comm *world);

  // Runs a program: `issue` enqueues its kernels, copies and fills, in the same order and with the
  // same addresses each time, so that the device may record them and replay the record instead of
  // another call. NULL: it is called for each run.
  gr_status (*run)(gr_device *, const gr_graph *, gr_status (*issue)(void *arg), void *arg);

  // Drops what `run` has recorded; work that was enqueued still completes. Comes before the
  // communicators close: NCCL closes none while a record has a collective of it. NULL: no records.
  void (*forget)(gr_device *);

  // With limits.timings, the device itself measures programs that `run` replays, without a wait
  // between nodes. `time` begins or ends that; programs are recorded once more for it. `timed`:
  // whether the next run of this program is measured; if not, the executor may wait for each node.
  // What is enqueued after time_as is of `of`. `timings` waits for all that was enqueued and gives
  // what was measured since it was called last, in no particular order. A device without `time`
  // measures collectives alone, of which `timings` gives the last run of each.
  gr_status (*time)(gr_device *, bool on);
  gr_device_timed (*timed)(gr_device *, const gr_graph *);
  void (*time_as)(gr_device *, void *of);
  gr_status (*timings)(gr_device *, void (*take)(void *arg, const gr_device_timing *), void *arg);

  // After an error: `of` of the work that it is of, if that was enqueued before the call which
  // returned it. NULL: it is not known.
  void *(*failed)(const gr_device *);

  // Runs a loop, of which `issue` above enqueues the body once. The first is called for each such
  // loop before `ready`. NULL: the executor enqueues each step.
  gr_status (*loop_open)(gr_device *, const gr_op_call *);
  gr_status (*loop)(gr_device *, const gr_device_loop *);

  // For devices that check, trace or capture what runs; NULL: not called. `begin` and `end` are
  // around each run of a graph: a program, or one step of a loop's body. `node` comes before each
  // node, with the addresses it is run with; a loop's node is followed by runs of its body.
  gr_status (*begin)(gr_device *, const gr_graph *);
  gr_status (*node)(gr_device *, const gr_graph *, uint32_t node, const gr_launch *);
  gr_status (*end)(gr_device *, const gr_graph *);
  // For profilers of the device, if limits.marks is set: what is enqueued from now on is of this
  // program or node, until it is called with NULL; these nest. The name outlives the device.
  void (*mark)(gr_device *, const char *name);
  // How many of the `others` other devices it reaches without the host. NULL: it is not known.
  gr_status (*links)(const gr_device *, int *linked, int *others);
  // Appends a sentence for the run's log about what the device has done so far, which begins with
  // what it is and a colon. NULL: no report.
  void (*report)(const gr_device *, gr_text *);
};

extern const gr_device_ops *const gr_devices[];  // in the order of devices.def; NULL ends it
extern const gr_device_ops gr_device_cpu;

// The device of a configuration: that of the name or alias, or for "auto" the first of the list
// whose count is above 0, else the CPU. An unknown name is GR_ERR_CONFIG at `loc`.
GR_MUST_USE gr_status gr_device_find(const char *name, gr_loc loc, const gr_device_ops **out);
// The same for commands that run nothing, which start no driver: "auto" is the first device that
// seems to be there.
GR_MUST_USE gr_status gr_device_guess(const char *name, gr_loc loc, const gr_device_ops **out);
// For the name "auto": the kind of which there would be devices if its driver did not fail; NULL:
// none, or another name. Called after gr_device_find.
const gr_device_ops *gr_device_failing(const char *name);
// The number of devices of the kind in this machine; 0: there is none, or ranks share the machine.
int gr_device_count(const gr_device_ops *);
// Whether each rank has a device of the kind to itself.
static inline bool gr_device_is_per_rank(const gr_device_ops *d) { return d->count != NULL; }
gr_queue gr_device_queue(const gr_device *, const gr_op *);  // of an op's calls
// The error GR_ERR_UNSUPPORTED for a call without a kernel, worded alike for all devices.
GR_MUST_USE gr_status gr_device_refuse(const gr_device_ops *, const gr_op_call *);
