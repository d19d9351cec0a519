// parts.h - the executor's structures, private to this folder: open.c opens a plan, tensors.c moves
// what the host writes and reads, frame.c runs a graph, loop.c a scan, times.c measures what runs,
// and profile.c prints times.
#pragma once
#include "ops/loop/scan.h"
#include "runtime/exec/exec.h"

typedef struct gr_exec_loop gr_exec_loop;
typedef struct gr_exec_search gr_exec_search;

// One node, ready to launch: its kernel is chosen and every pointer is an address.
typedef struct gr_exec_step {
  gr_kernel kernel;  // NULL: a scan
  gr_launch l;       // l.in and l.out are the two below
  void **in, **out;
  gr_exec_loop *loop;  // of a scan
  const gr_node *node;
  const char *mark;   // its place and op, for profilers of the device; NULL: none
  const char *title;  // for base/events.h: the same, and its place in the model's file
  gr_queue queue;     // of its work
  gr_device_event
      event;  // recorded when the work of a step that is not on the compute queue is done
  const gr_device_event *wait;  // n_wait of them: events of earlier steps that it needs
  int n_wait;
  uint32_t nodes;   // that it runs: this one, and those after it that are launched together with it
  double seconds;   // when profiling: the host's in this node, including the body of a scan
  double measured;  // and by the device itself, without it
  uint64_t runs;
} gr_exec_step;

typedef struct gr_exec_frame {
  const gr_graph *g;
  gr_exec_step *steps;
  uint32_t n_steps;
  gr_device_event last[GR_QUEUE_COUNT];  // of the last step on a queue; 0: it has none
  bool beside;                           // it has steps that run beside the compute queue
} gr_exec_frame;

typedef struct gr_exec_copy {
  void *to;
  const void *source;
  size_t bytes;
} gr_exec_copy;

typedef struct gr_exec_program {
  gr_exec_frame frame;
  gr_exec_copy *next;  // after a run: copies of states whose next value is not written in place
  uint32_t n_next;
} gr_exec_program;

struct gr_exec {
  const gr_plan *plan;
  // The point where frames recur: gr_exec_frame_open and gr_exec_frame_run, for the bodies of
  // scans.
  gr_status (*open_body)(gr_exec *, const gr_plan_frame *, char *base, bool body, gr_exec_frame *);
  gr_status (*run_body)(gr_exec *, gr_exec_frame *);
  gr_exec_options opt;
  gr_arena *arena;
  gr_device *device;
  gr_device_block block[4];  // the arena, the states, the uploads, and states in host memory
  char *states, *work, *uploads, *host;  // their addresses
  gr_trace *trace;                       // where what runs is recorded, or NULL
  bool timed;                            // the device measures what runs (gr_device_ops.time)
  bool waits;              // each node of this run is waited for, and timed by the host
  bool counts;             // and that is added up
  gr_exec_search *search;  // for the first value that is not finite (nonfinite.c), or NULL
  int64_t iteration;       // 1 + the step of the innermost loop that runs; 0: none does
  bool watched;            // ..., or nodes are reported to the device (gr_device_ops.node)
  gr_exec_step *running;   // what the device measures is of this step, or of no step
  int untaken;             // runs whose times it still has
  double waited;           // seconds that kernels have waited for collectives beside them
  bool computed;           // a program ran after the last transfer, which must wait for it
  bool transferred;        // a transfer came after the last program, which must wait for it
  uint32_t ahead_of;       // 1 + the program whose inputs are uploaded ahead; 0: none's
  gr_exec_copy *ahead;     // n_ahead of them: what it copies when it starts
  uint32_t n_ahead;
  bool taken;  // and such copies came after the last upload, which must wait for them
  int coord[GR_MAX_MESH];
  gr_comm *comm[GR_QUEUE_COUNT][GR_MAX_MESH];  // those that collectives on a queue take
  bool opened[GR_QUEUE_COUNT][GR_MAX_MESH];    // by opt.open_comm
  gr_exec_program *programs;
};

// Creates the steps of a frame whose block of temporaries begins at `base`. body: the frame is that
// of a scan's body; then only temporaries get addresses, and gr_exec_loop_open sets the others.
GR_MUST_USE gr_status gr_exec_frame_open(gr_exec *, const gr_plan_frame *, char *base, bool body,
                                         gr_exec_frame *out);
// Where a value is: in the states, or in the block of temporaries that begins at `base`. NULL for
// value 0, which is none.
void *gr_exec_address(const gr_exec *, const gr_plan_frame *, char *base, uint32_t value);
// Whether an address is that of a state in host memory.
static inline bool gr_exec_in_host(const gr_exec *e, const void *address) {
  uintptr_t offset = (uintptr_t)address - (uintptr_t)e->host;
  return e->host && offset < e->plan->host_bytes;
}
// Launches all steps of a frame in order; an error gets the place in the model of the node at which
// it showed. Ends early with an error when the rank is asked to stop before training.
GR_MUST_USE gr_status gr_exec_frame_run(gr_exec *, gr_exec_frame *);

// Steps beside the compute queue (beside.c): what each step of a program waits for follows from the
// memory that it and earlier ones use.
void gr_exec_beside_open(gr_exec *, const gr_plan_frame *, char *base, gr_exec_frame *);
GR_MUST_USE gr_status gr_exec_beside_begin(gr_exec *, const gr_exec_step *);  // before it runs
GR_MUST_USE gr_status gr_exec_beside_end(gr_exec *, const gr_exec_step *);    // after that
GR_MUST_USE gr_status gr_exec_beside_join(gr_exec *, const gr_exec_frame *);  // at the end of all

// ---- Times of nodes (times.c)
// Lets a device that can measure its work by itself do so from now on; what it measured so far is
// taken.
GR_MUST_USE gr_status gr_exec_times_begin(gr_exec *);
// Chooses, for a program that is about to run, who measures its nodes: the device, or the host,
// which for a trace or a profile waits for each.
void gr_exec_times_choose(gr_exec *, const gr_graph *);
// Called after each run of a program: every few runs, takes the times that the device has measured.
GR_MUST_USE gr_status gr_exec_times_taken(gr_exec *);
// Takes the last times, and ends what gr_exec_times_begin began, if it did.
GR_MUST_USE gr_status gr_exec_times_end(gr_exec *);
// What is enqueued from now on is of this step; returns whose it was.
gr_exec_step *gr_exec_times_of(gr_exec *, gr_exec_step *);
// Whether the device computes within the call and itself measures the collectives beside that.
bool gr_exec_times_moves(const gr_exec *);
// Counts what a step has waited for such collectives, since a time (gr_seconds); NULL: at the end
// of a program.
void gr_exec_times_waited(gr_exec *, const gr_exec_step *, double began);
// After a step: if the host times it, waits until it is done.
GR_MUST_USE gr_status gr_exec_times_wait(gr_exec *, gr_exec_step *, double began);

// ---- The first value that is not finite (nonfinite.c), while e->search is set
// Looks at the operands of a step before it runs; *before, in the arena, is what
// gr_exec_search_after takes.
GR_MUST_USE gr_status gr_exec_search_before(gr_exec *, const gr_graph *, const gr_exec_step *,
                                            gr_arena *, void **before);
// Waits for the step, and looks at its results.
GR_MUST_USE gr_status gr_exec_search_after(gr_exec *, const gr_graph *, const gr_exec_step *,
                                           const void *before);

// Of one run of a step on this rank; those of a loop are its body's, and collectives have none.
double gr_exec_step_flops(const gr_exec_step *);
double gr_exec_step_bytes(const gr_exec_step *);  // of operands and results

// Opens the body of a scan, which is a step: its frame, and what the iterations move. `base` is as
// for gr_exec_frame_open.
GR_MUST_USE gr_status gr_exec_loop_open(gr_exec *, const gr_plan_frame *, char *base,
                                        gr_exec_step *);
// Runs all iterations of a scan. An error says in which one it was.
GR_MUST_USE gr_status gr_exec_loop_run(gr_exec *, gr_exec_step *);
// The frame of a loop's body, owned by the loop.
gr_exec_frame *gr_exec_loop_frame(gr_exec_loop *);
