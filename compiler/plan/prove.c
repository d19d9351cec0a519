// prove.c - proves properties of a plan before anything runs, from the plan alone.
//
// claims.def lists what is proved of each program, by which function, and on what that rests:
// layouts and the counts of collectives in prove_layout.c, loops without collectives in verify.c,
// memory in prove_memory.c and prove_carry.c, nodes that are launched together in prove_groups.c.
//
// Not checked here but argued: a rank runs the nodes of a graph in order, and no rank skips a node.
// So ranks with the same plan, whose hash they compare before step 0, issue the same collectives in
// the same order and cannot deadlock, provided that they run the same programs in the same order,
// which the training loop agrees on. prove_ranks.c simulates ranks that run different graphs. The
// tests of ops check that kernels follow their ops' sharding rules.
#include "compiler/plan/prove.h"
#include <string.h>
#include "compiler/pass.h"
#include "ops/ops.h"

static gr_status prove_nodes(gr_arena *arena, const gr_plan *p, const gr_program *program) {
  (void)arena, (void)p;
  return gr_graph_verify(program->frame.g, GR_FACT_LOCAL);
}

// A state in host memory is read over the link: by what copies it, and besides by one node that
// reads each element once. If it becomes another value, that node makes it, where the state is.
static gr_status prove_host(const gr_plan_frame *f, uint32_t state) {
  const gr_value *v = &f->g->values[state], *next = gr_at(f->g, v->next);
  const gr_node *reader = NULL;
  for (const gr_node *n = f->g->nodes; n < f->g->nodes + f->g->n_nodes; n++)
    for (int k = 0; k < n->n_in; k++) {
      if (n->in[k].id != state || n->op == &gr_op_fetch) continue;
      if (reader || !n->op->formulas)
        return gr_fail(GR_ERR_BUG, n->loc, "'%s' reads state %s in host memory, not a copy",
                       n->op->name, v->name);
      reader = n;
    }
  if (!reader || !gr_is(v->next) || v->next.id == state) return GR_OK;
  bool made = next->role == GR_TEMP && &f->g->nodes[next->node] == reader;
  if (made && f->in_states[v->next.id] && f->offset[v->next.id] == f->offset[state]) return GR_OK;
  return gr_fail(GR_ERR_BUG, reader->loc, "'%s' does not write state %s, which is in host memory",
                 reader->op->name, v->name);
}

// That all are disjoint is proved once for the plan.
static gr_status prove_states(gr_arena *arena, const gr_plan *p, const gr_program *program) {
  (void)arena;
  const gr_graph *g = program->frame.g;
  for (uint32_t i = 1; i < g->leaves_end; i++) {
    const gr_value *v = &g->values[i];
    uint32_t k = program->frame.state_of[i];
    if (v->role != GR_STATE) continue;
    if (!k || k > p->n_states)
      return gr_fail(GR_ERR_BUG, v->loc, "state %s is not in the plan", v->name);
    const gr_plan_state *s = &p->states[k - 1];
    if (strcmp(s->name, v->name) || !gr_type_same(&s->type, &v->type) || s->kind != v->kind ||
        !gr_layout_same(&s->layout, &v->layout) || program->frame.offset[i] != s->offset)
      return gr_fail(GR_ERR_BUG, v->loc, "state %s differs in program %s", v->name, program->name);
    if (s->host) GR_TRY(prove_host(&program->frame, i));
  }
  return GR_OK;
}

static gr_status prove_layouts(gr_arena *arena, const gr_plan *p, const gr_program *program) {
  (void)arena, (void)p;
  return gr_prove_layouts(program->frame.g);
}

static gr_status prove_collectives(gr_arena *arena, const gr_plan *p, const gr_program *program) {
  return gr_prove_ranks(arena, &p->mesh, &program->frame.g, 1);
}

typedef gr_status proof(gr_arena *, const gr_plan *, const gr_program *);
static const struct row {
  gr_claim claim;
  proof *prove;
} rows[] = {
#define GR_PROOF(name, function, says) {{GR_PROVED, #name, says}, function},
#define GR_ASSUMED(name, says) {{GR_ASSUMED, #name, says}, NULL},
#define GR_UNPROVED(name, says) {{GR_UNPROVED, #name, says}, NULL},
#include "compiler/plan/claims.def"
};
enum { N_ROWS = sizeof rows / sizeof *rows };

const gr_claim *gr_plan_claim(int i) { return i < N_ROWS ? &rows[i].claim : NULL; }

static gr_status prove_program(gr_arena *arena, const gr_plan *p, const gr_program *program) {
  for (int i = 0; i < N_ROWS; i++)
    if (rows[i].prove) GR_TRY(rows[i].prove(arena, p, program));
  return GR_OK;
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
