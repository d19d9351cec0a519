// prove.c - what is shown of a plan before anything runs, from the plan alone.
//
// Ranks: each rank's walk through every program is played, for all ranks at once; a collective
// happens when all ranks of its group are at the same one. If all come to the end, no two ranks
// can disagree and none can wait for ever. Memory: see prove_memory.c.
#include "compiler/plan/prove.h"
#include <string.h>
#include "compiler/pass.h"
#include "ops/comm/collective.h"

typedef struct event {
  const gr_node *node;
  int64_t count;
  gr_dtype dtype;
  int axis;
} event;

typedef struct play {
  const gr_mesh *mesh;
  const event *events;  // every rank's: one graph is what all ranks run
  uint32_t n;
  uint32_t *at;  // by rank
} play;

static uint32_t list_events(const gr_graph *g, event *events) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const gr_node *node = &g->nodes[i];
    if (!node->op->collective) continue;
    event e = {.node = node, .axis = (int)((const struct gr_coll *)node->attr)->mesh_axis};
    for (int k = 0; k < node->n_in; k++) {
      gr_val v = node->op == &gr_op_reduce_scatter ? gr_out(node, k) : node->in[k];
      e.count += gr_type_count(&gr_at(g, v)->type), e.dtype = gr_at(g, v)->type.dtype;
    }
    events[n++] = e;
  }
  return n;
}

static bool same_group(const gr_mesh *m, int a, int b, int axis) {
  for (int i = 0; i < m->n_axes; i++)
    if (i != axis && gr_mesh_coord(m, a, i) != gr_mesh_coord(m, b, i)) return false;
  return true;
}

// Is everyone that rank meets at its next collective there? Fails where they are at another.
static gr_status meets(const play *p, int rank, bool *all) {
  const event *mine = &p->events[p->at[rank]];
  *all = true;
  for (int r = 0; r < gr_mesh_ranks(p->mesh); r++) {
    if (r == rank || !same_group(p->mesh, r, rank, mine->axis)) continue;
    if (p->at[r] == p->n)
      return gr_fail(GR_ERR_BUG, mine->node->loc,
                     "rank %d waits in '%s' for rank %d, which is done", rank, mine->node->op->name,
                     r);
    const event *its = &p->events[p->at[r]];
    if (its->axis != mine->axis) {
      *all = false;
    } else if (its->node->op != mine->node->op || its->count != mine->count ||
               its->dtype != mine->dtype) {
      return gr_fail(GR_ERR_BUG, mine->node->loc,
                     "rank %d is in '%s' of %lld numbers, rank %d in "
                     "'%s' of %lld",
                     rank, mine->node->op->name, (long long)mine->count, r, its->node->op->name,
                     (long long)its->count);
    }
  }
  return GR_OK;
}

static gr_status play_round(play *p, bool *moved) {
  *moved = false;
  for (int r = 0; r < gr_mesh_ranks(p->mesh); r++) {
    bool all;
    if (p->at[r] == p->n) continue;
    GR_TRY(meets(p, r, &all));
    if (!all) continue;
    int axis = p->events[p->at[r]].axis;
    for (int q = 0; q < gr_mesh_ranks(p->mesh); q++)
      if (same_group(p->mesh, q, r, axis)) p->at[q]++;
    *moved = true;
  }
  return GR_OK;
}

static gr_status prove_ranks(gr_arena *arena, const gr_plan *plan, const gr_graph *g) {
  event *events = GR_NEW(arena, event, g->n_nodes + 1);
  play p = {.mesh = &plan->mesh, .events = events, .n = list_events(g, events)};
  int ranks = gr_mesh_ranks(&plan->mesh);
  p.at = GR_NEW(arena, uint32_t, ranks);
  for (uint32_t i = 0; i < p.n; i++)
    if (events[i].axis < 0 || events[i].axis >= plan->mesh.n_axes)
      return gr_fail(GR_ERR_BUG, events[i].node->loc, "a collective over no axis of the mesh");
  for (bool moved = true; moved;) GR_TRY(play_round(&p, &moved));
  for (int r = 0; r < ranks; r++)
    if (p.at[r] < p.n)
      return gr_fail(GR_ERR_BUG, events[p.at[r]].node->loc,
                     "the ranks wait for each other: rank %d "
                     "in '%s'",
                     r, events[p.at[r]].node->op->name);
  return GR_OK;
}

static bool whole(const gr_graph *g, gr_val v) {
  for (int a = 0; a < g->mesh.n_axes; a++)
    if (gr_at(g, v)->layout.at[a] != GR_REPLICATE) return false;
  return true;
}

// All ranks must decide alike whether a step counts, and about what a loop runs.
static gr_status prove_decisions(const gr_graph *g) {
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const gr_node *n = &g->nodes[i];
    for (int k = 0; n->op == &gr_op_finite_check && k < n->n_in; k++)
      if (!whole(g, n->in[k]))
        return gr_fail(GR_ERR_BUG, n->loc, "the guard reads what ranks may see differently");
  }
  for (uint32_t i = 1; i < g->n_values; i++)
    for (int a = 0; a < g->mesh.n_axes; a++)
      if (g->values[i].role == GR_STATE && g->values[i].kind != GR_KIND_GRAD_ACCUMULATOR &&
          g->values[i].layout.at[a] == GR_PARTIAL)
        return gr_fail(GR_ERR_BUG, g->values[i].loc, "state %s is a sum not yet summed",
                       g->values[i].name);
  return GR_OK;
}

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
      return gr_fail(GR_ERR_BUG, v->loc, "state %s is another in program %s", v->name,
                     program->name);
  }
  return GR_OK;
}

static gr_status prove_program(gr_arena *arena, const gr_plan *p, const gr_program *program) {
  GR_TRY(gr_graph_verify(program->frame.g, GR_FACT_LOCAL));
  GR_TRY(prove_states(p, program));
  GR_TRY(prove_ranks(arena, p, program->frame.g));
  GR_TRY(prove_decisions(program->frame.g));
  return gr_prove_memory(arena, p, program);
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
