// compile.h - the compiler's entry point: from a model's YAML to a plan with all programs.
//
//   gr_model_build    YAML -> graph of the global batch      once per program   (model/)
//   gr_compile        passes -> graph of one rank            once per program   (pipeline.c)
//   gr_kernels_check  graph -> the device has all kernels    once per program   (kernels.c)
//   gr_memory_plan    graph -> offsets                       once per program   (plan/)
//   gr_prove_plan     plan -> accepted, or GR_ERR_BUG        once               (plan/)
//
// A run has one program per kind and bucket ("train.t300"), one of those that take no batch
// ("rollout"), and "init", which sets all states. The same request gives the same plan, byte for
// byte, on every rank and machine.
#pragma once
#include "compiler/link.h"
#include "compiler/request.h"

enum { GR_PLAN_KEPT_BYTES = 256 << 20 };  // of graphs that are compiled, for the next ones

// Builds, compiles and verifies every program, plans memory, and proves the plan. All programs
// share one layout of states. Programs are compiled on several threads; the plan and the errors do
// not depend on their number. The plan is in the arena.
GR_MUST_USE gr_status gr_plan_build(gr_arena *, const gr_plan_request *, gr_plan **out);
