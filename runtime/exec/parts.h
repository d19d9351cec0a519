// parts.h - what open.c, frame.c, loop.c and profile.c share.
#pragma once
#include "ops/loop/scan.h"
#include "runtime/exec/exec.h"

typedef struct gr_exec_loop gr_exec_loop;

// One node, ready to run: every pointer is in place.
typedef struct gr_exec_step {
  gr_kernel kernel;  // NULL: a scan
  gr_launch l;       // l.in and l.out are the two below
  void **in, **out;
  gr_exec_loop *loop;  // of a scan
  const gr_node *node;
  double seconds;  // when profiling: in this node, its loop's nodes included
  uint64_t runs;
} gr_exec_step;

typedef struct gr_exec_frame {
  const gr_graph *g;
  gr_exec_step *steps;
  uint32_t n_steps;
} gr_exec_frame;

typedef struct gr_exec_copy {
  void *to;
  const void *from;
  size_t bytes;
} gr_exec_copy;

typedef struct gr_exec_program {
  gr_exec_frame frame;
  gr_exec_copy *next;  // at the end of a run: states whose next value was made elsewhere
  uint32_t n_next;
} gr_exec_program;

struct gr_exec {
  const gr_plan *plan;
  gr_exec_options opt;
  gr_arena *arena;
  gr_device *device;
  gr_device_block block[2];
  char *states, *work;  // where they begin
  bool watched;         // frames run with the profile's clock, or the device looking on
  bool computed;        // a program has run that no transfer has waited for
  bool transferred;     // there were transfers that no program has waited for
  int coord[GR_MAX_MESH];
  gr_comm *comm[GR_MAX_MESH];
  gr_exec_program *programs;
};

// Makes the steps of a frame whose block (of temporaries) begins at `base`. body: it is a
// scan's; then only temporaries have an address yet, and gr_exec_loop_open gives the rest.
GR_MUST_USE gr_status gr_exec_frame_open(gr_exec *, const gr_plan_frame *, char *base, bool body,
                                         gr_exec_frame *out);
void *gr_exec_address(const gr_exec *, const gr_plan_frame *, char *base, uint32_t value);
GR_MUST_USE gr_status gr_exec_frame_run(gr_exec *, gr_exec_frame *);

// A scan as a step: opened with its body, run for all its iterations; its body's frame.
GR_MUST_USE gr_status gr_exec_loop_open(gr_exec *, const gr_plan_frame *, char *base,
                                        gr_exec_step *);
GR_MUST_USE gr_status gr_exec_loop_run(gr_exec *, gr_exec_step *);
gr_exec_frame *gr_exec_loop_frame(gr_exec_loop *);
