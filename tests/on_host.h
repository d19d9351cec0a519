// on_host.h - inputs, results and states of an executor as pointers, which they are on the CPU.
#pragma once
#include "ops/kernels/cpu.h"
#include "runtime/exec/exec.h"

// The memory of an input, by its name; its type in *t, unless that is NULL. NULL: there is none.
static inline void *input_on_host(gr_exec *e, const gr_program *p, const char *name, gr_type *t) {
  gr_exec_tensor of = gr_exec_input(e, p, name);
  if (t) *t = of.type;
  return of.address;
}

// That of a result, likewise.
static inline const void *result_on_host(gr_exec *e, const gr_program *p, const char *name,
                                         gr_type *t) {
  gr_exec_tensor of = gr_exec_result(e, p, name);
  if (t) *t = of.type;
  return of.address;
}

// That of a state.
static inline void *state_on_host(gr_exec *e, const gr_plan_state *s) {
  return gr_exec_state(e, s).address;
}
