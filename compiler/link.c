// link.c - see link.h.
#include "compiler/link.h"
#include <string.h>
#include "compiler/plan/memory.h"
#include "compiler/plan/names.h"
#include "compiler/plan/prove.h"
#include "ir/text.h"
#include "ops/ops.h"

// ---- States -----------------------------------------------------------------------------

static bool is_updated(const gr_value *v) { return v->kind == GR_KIND_WEIGHT && gr_is(v->next); }

static void add_state(gr_plan *p, gr_map *by_name, const gr_value *v, bool in_training,
                      uint32_t *next) {
  uint32_t i;
  if (gr_find_next(by_name, v->name, next, &i)) {
    p->states[i].trained |= in_training && is_updated(v);
    if (v->copies) p->states[i].copies = v->copies;
    return;  // the proof checks that both are alike
  }
  gr_map_put(by_name, v->name, p->n_states);
  p->states[p->n_states++] =
      (gr_plan_state){.name = v->name,
                      .kind = v->kind,
                      .type = v->type,
                      .global = gr_type_global(&v->type, &v->layout, &p->mesh),
                      .layout = v->layout,
                      .bytes = gr_type_bytes(&v->type),
                      .trained = in_training && is_updated(v)};
}

static void add_states(gr_plan *p, gr_map *by_name, const gr_compiled *c) {
  uint32_t next = 0;
  for (uint32_t i = 1; i < c->g->leaves_end; i++)
    if (c->g->values[i].role == GR_STATE)
      add_state(p, by_name, &c->g->values[i], strcmp(c->kind, "init") != 0, &next);
}

// Whether a graph reads a state in one node alone, which reads and writes each element once and in
// place (optimizers), but for nodes that copy it (*fetched): others would go over the link more
// often, and copies between states need it in the device's memory.
static bool streams(const gr_graph *g, uint32_t v, bool *fetched) {
  const gr_node *reader = NULL;
  int reads = 0;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    for (int k = 0; k < g->nodes[i].n_in; k++) {
      if (g->nodes[i].in[k].id != v) continue;
      if (g->nodes[i].op == &gr_op_fetch)
        *fetched = true;
      else
        reader = &g->nodes[i], reads++;
    }
  gr_val next = g->values[v].next;
  bool written = gr_is(next) && next.id != v;
  if (written && gr_at(g, next)->role != GR_TEMP) return false;
  if (!reads) return true;
  return reads == 1 && reader->op->formulas &&
         (!written || &g->nodes[gr_at(g, next)->node] == reader);
}

static bool is_offloaded(const gr_plan_state *s, const gr_compiled *c, uint32_t n) {
  bool moment = c->offload && s->kind == GR_KIND_MOMENT && s->type.rank, fetched = moment;
  bool ok = moment || (c->fetches && s->kind == GR_KIND_WEIGHT);
  for (uint32_t i = 0; i < n && ok; i++) {
    gr_val v = gr_graph_leaf(c[i].g, GR_STATE, s->name);
    ok = !gr_is(v) || streams(c[i].g, v.id, &fetched);
  }
  return ok && fetched;
}

// States of the device's memory, and behind them those of the host's.
static void place_states(gr_plan *p, const gr_compiled *c, uint32_t n) {
  size_t *end = &p->state_bytes;
  for (uint32_t i = 0; i < p->n_states; i++) p->states[i].host = is_offloaded(&p->states[i], c, n);
  for (int host = 0; host < 2; host++, end = &p->host_bytes)
    for (gr_plan_state *s = p->states; s < p->states + p->n_states; s++) {
      if (s->host != host) continue;
      s->offset = gr_plan_states_end(p);
      *end += (s->bytes + GR_PLAN_ALIGN - 1) / GR_PLAN_ALIGN * GR_PLAN_ALIGN;
    }
}

static gr_status check_offload(const gr_plan *p, const gr_compiled *c, uint32_t n) {
  bool trains = false, moments = false;
  for (uint32_t i = 0; i < n; i++) trains |= c[i].trains;
  for (uint32_t i = 0; i < p->n_states; i++)
    moments |= p->states[i].host && p->states[i].kind == GR_KIND_MOMENT;
  if (!c->offload || !trains || moments) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                         "training.offload is optimizer, but this optimizer has no states of the "
                         "weights' sizes that it reads once in a step"),
                 "training.offload=none; adam, adamw, lion, muon and sgd with momentum have such");
}

uint32_t gr_count_states(const gr_compiled *c, uint32_t n) {
  uint32_t states = 0;
  for (uint32_t k = 0; k < n; k++)
    for (uint32_t i = 1; i < c[k].g->leaves_end; i++) states += c[k].g->values[i].role == GR_STATE;
  return states;
}

// ---- The hash ---------------------------------------------------------------------------

static uint64_t hash_number(uint64_t h, uint64_t n) { return gr_hash_mixed(h ^ n); }

static uint64_t hash_name(uint64_t h, const char *name) {
  return hash_number(h, gr_hash_data(name, strlen(name)));
}

static uint64_t hash_frame(uint64_t h, const gr_plan_frame *f) {
  h = hash_number(h, f->graph_hash);
  h = hash_number(h, f->bytes);
  for (uint32_t i = 1; i < f->g->n_values; i++)
    h = hash_number(hash_number(h, f->offset[i]), f->in_states[i]);
  for (uint32_t i = 1; f->upload && i < f->g->n_values; i++)
    if (gr_plan_uploads(f, i)) h = hash_number(h, f->upload[i]);
  for (uint32_t i = 1; f->stacked && i < f->g->n_values; i++)
    h = hash_number(h, (uint64_t)f->stacked[i]);
  for (int k = 0; k < f->n_carry; k++) h = hash_number(h, f->carry[k]);
  for (uint32_t i = 0; i < f->g->n_nodes; i++) {
    h = hash_number(hash_number(h, f->scratch[i]), f->body_at[i]);
    if (f->group_size && f->group_size[i] > 1) h = hash_number(h, f->group_size[i]);
    if (f->body[i]) h = hash_frame(h, f->body[i]);
  }
  return h;
}

// hashes: of the programs' frames.
static uint64_t hash_plan(const gr_plan *p, const uint64_t *hashes) {
  uint64_t h = hash_number(GR_HASH_START, p->arena_bytes);
  if (p->gpu) h = hash_number(h, p->gpu);
  if (p->tf32) h = hash_number(h, 0x7f32);
  for (int a = 0; a < p->mesh.n_axes; a++) {
    h = hash_name(h, p->mesh.axis[a].name);
    h = hash_number(h, (uint64_t)p->mesh.axis[a].size);
  }
  for (uint32_t i = 0; i < p->n_states; i++) {
    const gr_plan_state *s = &p->states[i];
    char text[96];
    gr_type_text(&s->type, text);
    h = hash_name(hash_name(h, s->name), text);
    for (int a = 0; a < p->mesh.n_axes; a++)
      h = hash_number(hash_number(h, (uint64_t)s->layout.placement[a]), (uint64_t)s->layout.pad[a]);
    h = hash_number(h, s->offset);
  }
  for (uint32_t i = 0; i < p->n_programs; i++) {
    h = hash_name(h, p->programs[i].name);
    h = hash_number(h, hashes[i]);
  }
  return h;
}

// ---- Linking ----------------------------------------------------------------------------

gr_arena **gr_arenas_within(gr_arena *arena, uint32_t n) {
  gr_arena **list = GR_NEW(arena, gr_arena *, n + 1);
  for (uint32_t i = 0; i < n; i++) list[i] = gr_arena_within(arena);
  return list;
}

typedef struct linking {
  gr_plan *plan;
  bool draft;
  const gr_map *by_name;  // index into the plan's states
  const gr_compiled *compiled;
  gr_arena **arena;  // by program
  uint64_t *hashes;  // of the programs' frames
} linking;

static gr_status plan_memory(void *arg, int i) {
  const linking *l = arg;
  const gr_compiled *c = &l->compiled[i];
  gr_program *program = &l->plan->programs[i];
  *program = (gr_program){.kind = c->kind,
                          .bucket = c->bucket,
                          .trains = c->trains,
                          .frozen = c->frozen,
                          .freezable = c->freezable,
                          .minibatches = c->minibatches,
                          .minibatch_rows = c->minibatch_rows,
                          .notes = c->notes};
  program->name = *c->bucket ? gr_arena_printf(l->arena[i], "%s.%s", c->kind, c->bucket) : c->kind;
  gr_memory_plan(l->arena[i], l->plan->states, l->by_name, c->g, c->gpu, &program->frame);
  if (l->draft) return GR_OK;
  program->frame.graph_hash = gr_graph_hash(c->g);
  l->hashes[i] = hash_frame(GR_HASH_START, &program->frame);
  return GR_OK;
}

gr_status gr_plan_link_on(gr_arena *arena, int threads, bool draft, const gr_compiled *c,
                          uint32_t n, gr_plan **out) {
  gr_plan *p = *out = GR_NEW(arena, gr_plan, 1);
  p->mesh = c->g->mesh;
  p->gpu = c->gpu, p->tf32 = c->tf32, p->reserved_bytes = c->reserved;
  p->states = GR_TAKE(arena, gr_plan_state, gr_count_states(c, n) + 1);  // most are in several
  p->programs = GR_NEW(arena, gr_program, n);
  p->n_programs = n;
  gr_map by_name = gr_map_make(arena);  // index into states
  for (uint32_t i = 0; i < n; i++) add_states(p, &by_name, &c[i]);
  place_states(p, c, n);
  GR_TRY(check_offload(p, c, n));
  linking l = {p, draft, &by_name, c, gr_arenas_within(arena, n), GR_NEW(arena, uint64_t, n)};
  GR_TRY(gr_tasks_run(threads, (int)n, plan_memory, &l));
  for (uint32_t i = 0; i < n; i++) {
    const gr_plan_frame *f = &p->programs[i].frame;
    if (f->bytes > p->arena_bytes) p->arena_bytes = f->bytes;
    if (f->upload_bytes > p->upload_bytes) p->upload_bytes = f->upload_bytes;
  }
  if (!draft) p->hash = hash_plan(p, l.hashes);
  return GR_OK;
}

gr_status gr_plan_link(gr_arena *arena, const gr_compiled *c, uint32_t n, gr_plan **out) {
  GR_TRY(gr_plan_link_on(arena, 1, false, c, n, out));
  return gr_prove_plan(*out, 1);
}
