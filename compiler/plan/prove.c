// prove.c - proves properties of a plan before anything runs, from the plan alone.
//
// Proved of each program: every value on each rank matches its layout, so that the decision whether
// to apply a step is the same on all ranks (prove_layout.c); collectives are over axes of the mesh,
// for all ranks of the axis, with counts that match every rank's slice; no collective is in a loop
// (verify.c); states are the same in all programs; and no value is overwritten before its last
// read, including in loops (prove_memory.c, prove_carry.c), nor by a node that is launched together
// with the reader (prove_groups.c).
//
// Not checked here but argued: a rank runs the nodes of a graph in order, and no rank skips a node.
// So ranks with the same plan, whose hash they compare before step 0, issue the same collectives in
// the same order and cannot deadlock, provided that they run the same programs in the same order,
// which the training loop agrees on. prove_ranks.c simulates ranks that run different graphs. The
// tests of ops check that kernels follow their ops' sharding rules.
#include "compiler/plan/prove.h"
#include <string.h>
#include "compiler/pass.h"
#include "ops/comm/collective.h"

static gr_status prove_states(const gr_plan *p, const gr_program *program) {
  const gr_graph *g = program->frame.g;
  for (uint32_t i = 1; i < g->n_values; i++) {
    const gr_value *v = &g->values[i];
    uint32_t k = program->frame.state_of[i];
    if (v->role != GR_STATE) continue;
    if (!k || k > p->n_states)
      return gr_fail(GR_ERR_BUG, v->loc, "state %s is not in the plan", v->name);
    const gr_plan_state *s = &p->states[k - 1];
    if (strcmp(s->name, v->name) || !gr_type_same(&s->type, &v->type) || s->kind != v->kind ||
        !gr_layout_same(&s->layout, &v->layout) || program->frame.offset[i] != s->offset)
      return gr_fail(GR_ERR_BUG, v->loc, "state %s differs in program %s", v->name, program->name);
  }
  return GR_OK;
}

static gr_status prove_program(gr_arena *arena, const gr_plan *p, const gr_program *program) {
  GR_TRY(gr_graph_verify(program->frame.g, GR_FACT_LOCAL));
  GR_TRY(prove_states(p, program));
  GR_TRY(gr_prove_layouts(program->frame.g));
  GR_TRY(gr_prove_ranks(arena, &p->mesh, &program->frame.g, 1));
  GR_TRY(gr_prove_memory(arena, p, program));
  return gr_prove_groups(arena, p, program);
}

static gr_status prove_one(void *arg, int i) {
  const gr_plan *p = arg;
  gr_arena *arena = gr_arena_create();
  gr_status s = prove_program(arena, p, &p->programs[i]);
  gr_arena_destroy(arena);
  return gr_note(s, GR_NOWHERE, "while proving program %s", p->programs[i].name);
}

gr_status gr_prove_plan(const gr_plan *p, int threads) {
  GR_TRY(gr_prove_states_disjoint(p));
  return gr_tasks_run(threads, (int)p->n_programs, prove_one, (void *)p);
}

gr_status gr_plan_prove(const gr_plan *p) { return gr_prove_plan(p, 1); }
