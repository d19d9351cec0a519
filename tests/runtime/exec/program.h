// program.h - a graph written by hand, its plan, and what runs it.
#pragma once
#include <math.h>
#include <stdlib.h>
#include "compiler/compile.h"
#include "ops/kernels/cpu.h"
#include "ops/ops.h"
#include "runtime/exec/exec.h"
#include "tests/check.h"
#include "tests/on_host.h"

enum { E = 3, T = 5 };
static const gr_type row = {GR_F32, 1, {E}}, rows = {GR_F32, 2, {T, E}};

typedef struct bench {
  gr_arena *arena;
  gr_builder b;
  gr_plan *plan;
  gr_exec *exec;
  gr_exec_options opt;
} bench;

// A bench with an empty graph, for one rank of one thread; `end` frees it.
static inline bench begin(void) {
  static const gr_mesh alone;
  gr_arena *a = gr_arena_create();
  return (bench){.arena = a,
                 .b = {.g = gr_graph_create(a, &alone), .created_by = "test"},
                 .opt = {.threads = 1}};
}

// Plans and opens the graph; the test fails where it has an error.
static inline void open_bench(bench *t) {
  MUST(t->b.err);
  gr_compiled c = {.kind = "train", .bucket = "", .g = t->b.g};
  MUST(gr_plan_link(t->arena, &c, 1, &t->plan));
  MUST(gr_exec_open(t->plan, &t->opt, &t->exec));
}

// Closes the executor and frees all.
static inline void end(bench *t) {
  gr_exec_close(t->exec);
  gr_arena_destroy(t->arena);
}

// Emits an input.
static inline gr_val input(bench *t, const char *name, gr_type type) {
  return gr_leaf(&t->b, GR_INPUT, GR_KIND_WEIGHT, name, type, gr_layout_replicated);
}
// Emits a state.
static inline gr_val state(bench *t, const char *name, gr_type type) {
  return gr_leaf(&t->b, GR_STATE, GR_KIND_WEIGHT, name, type, gr_layout_replicated);
}
// Makes v the value that state s has after the step.
static inline void next(gr_builder *b, gr_val s, gr_val v) { gr_at(b->g, s)->next = v; }

// The memory of an input.
static inline float *in(bench *t, const char *name) {
  return input_on_host(t->exec, t->plan->programs, name, NULL);
}
// That of a result.
static inline const float *result(bench *t, const char *name) {
  return result_on_host(t->exec, t->plan->programs, name, NULL);
}
// That of a state; NULL: there is none of that name.
static inline float *held(bench *t, const char *name) {
  for (uint32_t i = 0; i < t->plan->n_states; i++)
    if (!strcmp(t->plan->states[i].name, name)) return state_on_host(t->exec, &t->plan->states[i]);
  return NULL;
}
// Runs the program once.
static inline void step(bench *t) { MUST(gr_exec_run(t->exec, t->plan->programs)); }

// Checks n numbers, which may be 1e-5 apart.
static inline void expect(const char *what, const float *got, int64_t n, const float *want) {
  for (int64_t i = 0; i < n; i++)
    CHECK(fabsf(got[i] - want[i]) < 1e-5f, "%s[%lld] is %g, not %g", what, (long long)i,
          (double)got[i], (double)want[i]);
}

// A number from -1 to 1 that depends on i alone.
static inline float value(int i) { return (float)((i * 37 + 11) % 17) / 8 - 1; }
// Fills n numbers with those of value, from `seed` on.
static inline void fill(float *to, int64_t n, int seed) {
  for (int64_t i = 0; i < n; i++) to[i] = value((int)i + seed);
}
