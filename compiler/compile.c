// compile.c - builds a plan: compiles every program, shares one layout of states, proves the plan.
#include "compiler/compile.h"
#include <string.h>
#include "compiler/initial.h"
#include "compiler/plan/memory.h"
#include "compiler/plan/prove.h"
#include "compiler/wrap.h"
#include "ir/text.h"

static const char *const kinds[] = {
    [GR_TRAIN] = "train", [GR_EVAL] = "eval", [GR_INIT] = "init", [GR_REPORT] = "report"};
static const char *const phase_names[] = {[GR_PHASE_WHOLE_STEP] = "train",
                                          [GR_PHASE_MICRO_BATCH] = "micro",
                                          [GR_PHASE_UPDATE] = "update"};

// ---- States -----------------------------------------------------------------------------

static bool is_updated(const gr_value *v) { return v->kind == GR_KIND_WEIGHT && gr_is(v->next); }

static void add_state(gr_plan *p, gr_map *by_name, const gr_value *v, bool in_training) {
  uint32_t i;
  if (gr_map_find(by_name, v->name, &i)) {
    p->states[i].trained |= in_training && is_updated(v);
    return;  // the proof checks that both are alike
  }
  gr_map_put(by_name, v->name, p->n_states);
  p->states[p->n_states++] =
      (gr_plan_state){.name = v->name,
                      .kind = v->kind,
                      .type = v->type,
                      .global = gr_type_global(&v->type, &v->layout, &p->mesh),
                      .layout = v->layout,
                      .offset = p->state_bytes,
                      .bytes = gr_type_bytes(&v->type),
                      .trained = in_training && is_updated(v)};
  p->state_bytes += (gr_type_bytes(&v->type) + GR_PLAN_ALIGN - 1) / GR_PLAN_ALIGN * GR_PLAN_ALIGN;
}

static void add_states(gr_plan *p, gr_map *by_name, const gr_compiled *c) {
  for (uint32_t i = 1; i < c->g->n_values; i++)
    if (c->g->values[i].role == GR_STATE)
      add_state(p, by_name, &c->g->values[i], strcmp(c->kind, kinds[GR_INIT]) != 0);
}

static uint32_t count_states(const gr_compiled *c, uint32_t n) {
  uint32_t states = 0;
  for (uint32_t k = 0; k < n; k++)
    for (uint32_t i = 1; i < c[k].g->n_values; i++) states += c[k].g->values[i].role == GR_STATE;
  return states;
}

// ---- The hash ---------------------------------------------------------------------------

static uint64_t hash_number(uint64_t h, uint64_t n) { return gr_hash_bytes(h, &n, sizeof n); }

static uint64_t hash_frame(uint64_t h, const gr_plan_frame *f) {
  h = hash_number(h, f->graph_hash);
  h = hash_number(h, f->bytes);
  for (uint32_t i = 1; i < f->g->n_values; i++)
    h = hash_number(hash_number(h, f->offset[i]), f->in_states[i]);
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

static uint64_t hash_plan(const gr_plan *p) {
  uint64_t h = hash_number(GR_HASH_START, p->arena_bytes);
  if (p->gpu) h = hash_number(h, p->gpu);
  if (p->tf32) h = hash_number(h, 0x7f32);
  for (int a = 0; a < p->mesh.n_axes; a++) {
    h = gr_hash_bytes(h, p->mesh.axis[a].name, strlen(p->mesh.axis[a].name));
    h = hash_number(h, (uint64_t)p->mesh.axis[a].size);
  }
  for (uint32_t i = 0; i < p->n_states; i++) {
    const gr_plan_state *s = &p->states[i];
    char text[96];
    gr_type_text(&s->type, text);
    h = gr_hash_bytes(h, s->name, strlen(s->name));
    h = gr_hash_bytes(h, text, strlen(text));
    for (int a = 0; a < p->mesh.n_axes; a++)
      h = hash_number(hash_number(h, (uint64_t)s->layout.at[a]), (uint64_t)s->layout.pad[a]);
    h = hash_number(h, s->offset);
  }
  for (uint32_t i = 0; i < p->n_programs; i++) {
    h = gr_hash_bytes(h, p->programs[i].name, strlen(p->programs[i].name));
    h = hash_frame(h, &p->programs[i].frame);
  }
  return h;
}

// ---- Linking ----------------------------------------------------------------------------

// One per program: threads share no arena.
static gr_arena **make_arenas(gr_arena *arena, uint32_t n) {
  gr_arena **list = GR_NEW(arena, gr_arena *, n + 1);
  for (uint32_t i = 0; i < n; i++) list[i] = gr_arena_within(arena);
  return list;
}

static void hash_graphs(gr_plan_frame *f) {
  f->graph_hash = gr_graph_hash(f->g);
  for (uint32_t i = 0; i < f->g->n_nodes; i++)
    if (f->body[i]) hash_graphs(f->body[i]);
}

typedef struct linking {
  gr_plan *plan;
  const gr_map *by_name;  // index into the plan's states
  const gr_compiled *compiled;
  gr_arena **arena;  // by program
} linking;

static gr_status plan_memory(void *arg, int i) {
  const linking *l = arg;
  const gr_compiled *c = &l->compiled[i];
  gr_program *program = &l->plan->programs[i];
  *program = (gr_program){.kind = c->kind, .bucket = c->bucket, .notes = c->notes};
  program->name = *c->bucket ? gr_arena_printf(l->arena[i], "%s.%s", c->kind, c->bucket) : c->kind;
  gr_memory_plan(l->arena[i], l->plan->states, l->by_name, c->g, c->gpu, &program->frame);
  hash_graphs(&program->frame);
  return GR_OK;
}

static gr_status link_all(gr_arena *arena, int threads, const gr_compiled *c, uint32_t n,
                          gr_plan **out) {
  gr_plan *p = *out = GR_NEW(arena, gr_plan, 1);
  p->mesh = c->g->mesh;
  p->gpu = c->gpu, p->tf32 = c->tf32, p->reserved_bytes = c->reserved;
  p->states = GR_NEW(arena, gr_plan_state, count_states(c, n) + 1);
  p->programs = GR_NEW(arena, gr_program, n);
  p->n_programs = n;
  gr_map by_name = gr_map_make(arena);  // index into states
  for (uint32_t i = 0; i < n; i++) add_states(p, &by_name, &c[i]);
  linking l = {p, &by_name, c, make_arenas(arena, n)};
  GR_TRY(gr_tasks_run(threads, (int)n, plan_memory, &l));
  for (uint32_t i = 0; i < n; i++)
    if (p->programs[i].frame.bytes > p->arena_bytes) p->arena_bytes = p->programs[i].frame.bytes;
  p->hash = hash_plan(p);
  return gr_prove_plan(p, threads);
}

gr_status gr_plan_link(gr_arena *arena, const gr_compiled *c, uint32_t n, gr_plan **out) {
  return link_all(arena, 1, c, n, out);
}

// ---- Building ---------------------------------------------------------------------------

static gr_status model_of(gr_arena *arena, const gr_plan_request *r, gr_purpose purpose,
                          const gr_bucket *bucket, gr_graph **out) {
  gr_model_request m = r->model;
  gr_dim *dims = GR_NEW(arena, gr_dim, m.n_dims + bucket->n_dims + 1);
  if (m.n_dims) memcpy(dims, m.dims, sizeof *dims * (size_t)m.n_dims);
  if (bucket->n_dims) memcpy(dims + m.n_dims, bucket->dims, sizeof *dims * (size_t)bucket->n_dims);
  m.dims = dims;
  m.n_dims += bucket->n_dims;
  if (bucket->batch) m.batch = bucket->batch, m.n_batch = bucket->n_batch;
  m.purpose = purpose;
  return gr_model_build(arena, &m, out);
}

static gr_status compile(gr_arena *arena, const gr_plan_request *r, gr_purpose purpose,
                         gr_step_phase phase, const char *bucket, const gr_graph *model,
                         gr_compiled *c) {
  *c = (gr_compiled){.kind = purpose == GR_TRAIN ? phase_names[phase] : kinds[purpose],
                     .bucket = bucket,
                     .gpu = r->options.gpu,
                     .tf32 = r->options.tf32,
                     .reserved = r->options.reserved};
  gr_options o = r->options;
  c->notes.arena = arena;
  o.notes = &c->notes, o.step_phase = phase;
  if (purpose == GR_INIT || purpose == GR_REPORT) o.precision = GR_F32, o.n_precision_rules = 0;
  gr_graph *g = NULL;
  if (o.stop_after && !o.dump) o.dump = o.stop_after;
  gr_status s = gr_compile(arena, model, purpose, &o, &g);
  c->g = g;
  return gr_note(s, GR_NOWHERE, "while compiling the %s program%s%s", c->kind,
                 *c->bucket ? " of bucket " : "", c->bucket);
}

// The model's graph is freed here, so notes must not refer to it.
static void copy_notes(gr_arena *arena, gr_notes *n) {
  const char **unused = GR_NEW(arena, const char *, n->n_unused + 1);
  const gr_node **dead = GR_NEW(arena, const gr_node *, n->n_dead + 1);
  gr_node *nodes = GR_NEW(arena, gr_node, n->n_dead + 1);
  for (uint32_t i = 0; i < n->n_unused; i++) unused[i] = gr_arena_strdup(arena, n->unused[i]);
  for (uint32_t i = 0; i < n->n_dead; i++) {
    dead[i] = &nodes[i];
    nodes[i] = (gr_node){
        .op = n->dead[i]->op, .loc = n->dead[i]->loc, .created_by = n->dead[i]->created_by};
    if (n->dead[i]->scope) nodes[i].scope = gr_arena_strdup(arena, n->dead[i]->scope);
  }
  n->unused = unused, n->dead = dead;
}

static gr_status compile_bucket(gr_arena *arena, const gr_plan_request *r, gr_purpose purpose,
                                gr_step_phase phase, const gr_bucket *bucket, gr_compiled *c) {
  gr_graph *model;
  gr_arena *work = gr_arena_create();
  const char *name = phase == GR_PHASE_UPDATE || purpose == GR_REPORT ? "" : bucket->name;
  gr_status s = model_of(work, r, purpose, bucket, &model);
  s = s ? s : compile(arena, r, purpose, phase, name, model, c);
  if (!s) copy_notes(arena, &c->notes);
  gr_arena_destroy(work);
  if (s || !r->options.stop_after) return s;
  return gr_fail(GR_ERR_STOPPED, GR_NOWHERE, "stopped after pass '%s', as asked",
                 r->options.stop_after);
}

// The "init" program: sets all states that the n programs compiled before have.
static gr_status compile_init(gr_arena *arena, const gr_plan_request *r, gr_compiled *c,
                              uint32_t n) {
  gr_graph *init;
  gr_arena *work = gr_arena_create();
  gr_status s = model_of(work, r, GR_INIT, &r->buckets[0], &init);
  for (uint32_t k = 0; k < n && !s; k++)
    s = gr_add_training_states(init, &r->options, c[k].g, c[k].kind);
  s = s ? s : compile(arena, r, GR_INIT, GR_PHASE_WHOLE_STEP, "", init, &c[n]);
  if (!s) copy_notes(arena, &c[n].notes);
  gr_arena_destroy(work);
  return s;
}

// What depends on all weights of the model: the same for all programs.
static gr_status read_units(gr_arena *arena, gr_plan_request *r) {
  gr_graph *init;
  gr_scopes scopes = {0};
  gr_arena *work = gr_arena_create();
  r->model.scopes = &scopes;
  gr_status s = model_of(work, r, GR_INIT, &r->buckets[0], &init);
  s = s ? s : gr_units_read(arena, &scopes, init, &r->options);
  r->model.scopes = NULL;
  gr_arena_destroy(work);
  return s;
}

// A program to compile.
typedef struct program_request {
  gr_purpose purpose;
  gr_step_phase phase;
  const gr_bucket *bucket;
} program_request;

static bool has_report(const gr_plan_request *r) {
  return r->model.graph->kind == GR_CONF_MAP && gr_conf_member(r->model.graph, "report");
}

// In the order in which `graphrun plan` lists them. The update after micro-batches is one program
// for all buckets: their gradient accumulators have the same layout.
static uint32_t list_programs(const gr_plan_request *r, program_request *out) {
  gr_step_phase phase = r->options.micro_batches > 1 ? GR_PHASE_MICRO_BATCH : GR_PHASE_WHOLE_STEP;
  uint32_t n = 0;
  for (int i = 0; r->train && i < r->n_buckets; i++)
    out[n++] = (program_request){GR_TRAIN, phase, &r->buckets[i]};
  if (r->train && phase == GR_PHASE_MICRO_BATCH)
    out[n++] = (program_request){GR_TRAIN, GR_PHASE_UPDATE, &r->buckets[0]};
  for (int i = 0; r->eval && i < r->n_buckets; i++)
    out[n++] = (program_request){GR_EVAL, GR_PHASE_WHOLE_STEP, &r->buckets[i]};
  if (r->eval && has_report(r))
    out[n++] = (program_request){GR_REPORT, GR_PHASE_WHOLE_STEP, &r->buckets[0]};
  return n;
}

typedef struct compiling {
  const gr_plan_request *r;
  const program_request *requests;
  gr_compiled *compiled;
  gr_arena **arena;  // by program
} compiling;

static gr_status compile_one(void *arg, int i) {
  const compiling *w = arg;
  const program_request *a = &w->requests[i];
  return compile_bucket(w->arena[i], w->r, a->purpose, a->phase, a->bucket, &w->compiled[i]);
}

// Output of passes is buffered and printed in the order of the programs.
static gr_status compile_all(gr_arena *arena, const gr_plan_request *r, gr_compiled *c,
                             uint32_t *n) {
  program_request *list = GR_NEW(arena, program_request, 2 * r->n_buckets + 2);
  *n = list_programs(r, list);
  compiling w = {r, list, c, make_arenas(arena, *n)};
  bool prints = r->options.dump || r->options.stop_after;
  return gr_tasks_run(prints ? 1 : r->threads, (int)*n, compile_one, &w);
}

// The files that all programs are made of are only read while they are compiled.
static gr_status share_files(gr_arena *arena, gr_model_request *m) {
  if (!m->blocks) GR_TRY(gr_model_blocks(arena, &m->blocks));
  gr_conf_mark(m->blocks);
  gr_conf_mark(m->graph);
  if (m->params) gr_conf_mark(m->params);
  return GR_OK;
}

// The first program's that has it, by name.
typedef struct states {
  gr_map index;
  const gr_value **v;
  const gr_compiled **in;
} states;

// States are shared by all programs, so their shapes must not depend on the bucket.
static gr_status check_state(states *known, const gr_compiled *in, const gr_value *v) {
  char here[96], there[96];
  uint32_t i = known->index.n;
  if (!gr_map_find(&known->index, v->name, &i)) {
    gr_map_put(&known->index, v->name, i);
    known->v[i] = v, known->in[i] = in;
    return GR_OK;
  }
  const gr_value *first = known->v[i];
  gr_type is = gr_type_global(&v->type, &v->layout, &in->g->mesh);
  gr_type was = gr_type_global(&first->type, &first->layout, &in->g->mesh);
  if (gr_type_same(&is, &was)) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_TYPE, v->loc, "'%s' is %s in bucket %s and %s in bucket %s", v->name,
              gr_type_text(&was, there), known->in[i]->bucket, gr_type_text(&is, here), in->bucket),
      "the same weights serve batches of all lengths: none of their axes can be one "
      "that differs between buckets; sizes of your own go under params:");
}

static gr_status check_states(gr_arena *arena, const gr_compiled *c, uint32_t n) {
  uint32_t most = count_states(c, n) + 1;
  states known = {gr_map_make(arena), GR_NEW(arena, const gr_value *, most),
                  GR_NEW(arena, const gr_compiled *, most)};
  for (uint32_t k = 0; k < n; k++)
    for (uint32_t i = 1; i < c[k].g->n_values; i++)
      if (c[k].g->values[i].role == GR_STATE)
        GR_TRY(check_state(&known, &c[k], &c[k].g->values[i]));
  return GR_OK;
}

// Mesh axes of size 1 are dropped: nothing is sharded over them, and they need no collectives.
static gr_mesh real_axes(const gr_mesh *m) {
  gr_mesh out = {0};
  for (int a = 0; a < m->n_axes; a++)
    if (m->axis[a].size > 1) out.axis[out.n_axes++] = m->axis[a];
  return out;
}

gr_status gr_plan_build(gr_arena *arena, const gr_plan_request *request, gr_plan **out) {
  gr_plan_request own = *request, *r = &own;
  own.model.mesh = real_axes(&request->model.mesh);
  gr_compiled *c = GR_NEW(arena, gr_compiled, 2 * r->n_buckets + 3);
  uint32_t n = 0;
  if (r->n_buckets < 1) return gr_fail(GR_ERR_BUG, GR_NOWHERE, "a plan of no buckets");
  GR_TRY(share_files(arena, &r->model));
  GR_TRY(read_units(arena, r));
  GR_TRY(compile_all(arena, r, c, &n));
  GR_TRY(check_states(arena, c, n));
  GR_TRY(compile_init(arena, r, c, n));
  n++;
  return link_all(arena, r->threads, c, n, out);
}
