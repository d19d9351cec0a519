// open.c - opening a plan on a rank, and running its programs. See exec.h.
#include <stdlib.h>
#include "ops/kernels/gemm.h"
#include "runtime/device/threads.h"
#include "runtime/exec/exec.h"
#include "runtime/exec/parts.h"

enum { LINE = 64, PIECE = 2 << 20 };  // bytes

static void clear(void *arg, int64_t from, int64_t to) {
  memset((char *)arg + from * LINE, 0, (size_t)(to - from) * LINE);
}

// Whether collectives read or write in the states' block, or in the other.
static bool meets_in(const gr_plan *p, bool states) {
  for (uint32_t i = 0; i < p->n_programs; i++) {
    const gr_plan_frame *f = &p->programs[i].frame;
    for (uint32_t k = 0; k < f->g->n_nodes; k++) {
      const gr_node *n = &f->g->nodes[k];
      for (int j = 0; n->op->collective && j < n->n_in; j++)
        if (f->in_states[n->in[j].id] == states) return true;
      for (int j = 0; n->op->collective && j < n->n_out; j++)
        if (f->in_states[gr_out(n, j).id] == states) return true;
    }
  }
  return false;
}

// Memory that other ranks reach is in small pages, and takes longer to make: only where it is of
// use.
static gr_status find(gr_exec *e, size_t bytes, bool states, char **out) {
  void *at;
  if (e->comm[0] && meets_in(e->plan, states)) {
    GR_TRY(e->comm[0]->ops->alloc_shared(e->comm[0], bytes, &at));
  } else {
    at = e->own[states] = gr_large_alloc(bytes);
    if (!at) return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no %.1f MB of memory", (double)bytes / 1e6);
  }
  *out = at;
  return GR_OK;
}

// Zero, and touched, on all threads: whether the memory is there shows here, not in the middle of
// a run.
static gr_status take(gr_exec *e, size_t bytes, bool states, char **out) {
  size_t lines = bytes / LINE + 1;
  gr_status s =
      gr_note(find(e, lines * LINE, states, out), GR_NOWHERE, "while taking memory for %s",
              states ? "weights and other states" : "the values of a step");
  if (gr_status_code(s) == GR_ERR_LAUNCH)
    return gr_hint(s, "`graphrun plan` says what needs it; use a smaller batch, or more ranks");
  if (!s) gr_parallel(&(gr_launch){.device = e->cpu}, (int64_t)lines, PIECE / LINE, clear, *out);
  return s;
}

// States whose next value is not made in their own memory. It never is another state: the proof
// sees to that.
static void open_next(gr_exec *e, const gr_plan_frame *p, gr_exec_program *out) {
  const gr_graph *g = p->g;
  out->next = GR_NEW(e->arena, gr_exec_copy, g->n_values);
  for (uint32_t v = 1; v < g->n_values; v++) {
    gr_val next = g->values[v].next;
    if (!gr_is(next) || next.id == v) continue;
    gr_exec_copy c = {.to = gr_exec_address(e, p, e->work, v),
                      .from = gr_exec_address(e, p, e->work, next.id),
                      .bytes = gr_type_bytes(&g->values[v].type)};
    if (c.to != c.from) out->next[out->n_next++] = c;
  }
}

// ---- Opening -------------------------------------------------------------------------------

static gr_status open_all(gr_exec *e) {
  const gr_plan *p = e->plan;
  for (int a = 0; a < p->mesh.n_axes; a++) {
    e->coord[a] = gr_mesh_coord(&p->mesh, e->opt.rank, a);
    e->comm[a] = e->opt.comm ? e->opt.comm[a] : NULL;
    int there = e->comm[a] ? e->comm[a]->ranks : 1;
    if (there != p->mesh.axis[a].size)
      return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "mesh axis '%s' is for %d ranks, but there are %d",
                     p->mesh.axis[a].name, p->mesh.axis[a].size, there);
  }
  if (!e->opt.plain) GR_TRY(gr_gemm_open());
  int threads = e->opt.threads > 0 ? e->opt.threads : 1;
  GR_TRY(gr_cpu_create(threads, threads * gr_mesh_ranks(&p->mesh) > gr_processors(), &e->cpu));
  GR_TRY(take(e, p->state_bytes, true, &e->states));
  GR_TRY(take(e, p->arena_bytes, false, &e->work));
  e->programs = GR_NEW(e->arena, gr_exec_program, p->n_programs);
  for (uint32_t i = 0; i < p->n_programs; i++) {
    const gr_plan_frame *f = &p->programs[i].frame;
    GR_TRY(gr_note(gr_exec_frame_open(e, f, e->work, false, &e->programs[i].frame), GR_NOWHERE,
                   "while opening program '%s'", p->programs[i].name));
    open_next(e, f, &e->programs[i]);
  }
  return GR_OK;
}

gr_status gr_exec_open(const gr_plan *plan, const gr_exec_options *opt, gr_exec **out) {
  *out = NULL;
  gr_exec *e = calloc(1, sizeof *e);
  if (!e) return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory to run a plan");
  *e = (gr_exec){.plan = plan, .opt = *opt, .arena = gr_arena_create()};
  gr_status s = open_all(e);
  if (s)
    gr_exec_close(e);
  else
    *out = e;
  return s;
}

void gr_exec_close(gr_exec *e) {
  if (!e) return;
  gr_cpu_destroy(e->cpu);
  free(e->own[0]), free(e->own[1]);
  gr_arena_destroy(e->arena);
  free(e);
}

// ---- Running -------------------------------------------------------------------------------

gr_status gr_exec_run(gr_exec *e, const gr_program *p) {
  gr_exec_program *own = &e->programs[p - e->plan->programs];
  gr_status s = gr_exec_frame_run(e, &own->frame);
  if (s) {  // the others would wait for this rank
    for (int a = 0; a < e->plan->mesh.n_axes; a++)
      if (e->comm[a]) e->comm[a]->ops->abort(e->comm[a], gr_status_text(s));
    return gr_note(s, GR_NOWHERE, "in program '%s'", p->name);
  }
  for (uint32_t i = 0; i < own->n_next; i++)
    memcpy(own->next[i].to, own->next[i].from, own->next[i].bytes);
  return GR_OK;
}

// ---- Looking -------------------------------------------------------------------------------

static void *show(const gr_exec *e, const gr_program *p, gr_val v, gr_type *out_type) {
  if (!gr_is(v)) return NULL;
  if (out_type) *out_type = gr_at(p->frame.g, v)->type;
  return gr_exec_address(e, &p->frame, e->work, v.id);
}

void *gr_exec_input(gr_exec *e, const gr_program *p, const char *name, gr_type *out_type) {
  return show(e, p, gr_graph_leaf(p->frame.g, GR_INPUT, name), out_type);
}

const void *gr_exec_result(gr_exec *e, const gr_program *p, const char *name, gr_type *out_type) {
  return show(e, p, gr_graph_result(p->frame.g, name), out_type);
}

void *gr_exec_state(gr_exec *e, const gr_plan_state *s) { return e->states + s->offset; }

size_t gr_exec_bytes(const gr_exec *e) { return e->plan->state_bytes + e->plan->arena_bytes; }

size_t gr_exec_shared_bytes(const gr_exec *e) {
  return (e->own[1] ? 0 : e->plan->state_bytes) + (e->own[0] ? 0 : e->plan->arena_bytes);
}
