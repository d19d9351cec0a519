// on_host.h - inputs, results and states of an executor as pointers, which they are on the CPU.
#pragma once
#include "ops/kernels/cpu.h"
#include "runtime/exec/exec.h"

static inline void *input_on_host(gr_exec *e, const gr_program *p, const char *name, gr_type *t) {
  gr_exec_tensor of = gr_exec_input(e, p, name);
  if (t) *t = of.type;
  return of.address;
}

static inline const void *result_on_host(gr_exec *e, const gr_program *p, const char *name,
                                         gr_type *t) {
  gr_exec_tensor of = gr_exec_result(e, p, name);
  if (t) *t = of.type;
  return of.address;
}

static inline void *state_on_host(gr_exec *e, const gr_plan_state *s) {
  return gr_exec_state(e, s).address;
}
