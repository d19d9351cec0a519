// compile.c - builds a plan: compiles every program, shares one layout of states, proves the plan.
#include "compiler/compile.h"
#include <string.h>
#include "compiler/alignment.h"
#include "compiler/initial.h"
#include "compiler/kernels.h"
#include "compiler/lookups.h"
#include "compiler/mixed_rows.h"
#include "compiler/plan/names.h"
#include "compiler/plan/prove.h"
#include "compiler/programs.h"
#include "compiler/wrap.h"

// ---- Building ---------------------------------------------------------------------------

// "train", or with micro-batches "train.micro" and "train.update".
static const char *kind_of(gr_arena *arena, const gr_options *o, const gr_program_request *a) {
  static const char *const phases[] = {
      [GR_PHASE_MICRO_BATCH] = "micro", [GR_PHASE_UPDATE] = "update"};
  static const char *const kinds[] = {
      [GR_INIT] = "init", [GR_REPORT] = "report", [GR_BEGIN_EMA] = "ema"};
  if (!a->program) return kinds[a->purpose];
  const char *name = gr_frozen_kind(arena, a->program->name, o->optimizer.freezable.text,
                                    o->optimizer.freezable.n, a->frozen);
  if (a->phase == GR_PHASE_WHOLE_STEP) return name;
  return gr_arena_printf(arena, "%s.%s", name, phases[a->phase]);
}

// The options of a program.
static gr_options options_of(gr_arena *arena, const gr_plan_request *r, const gr_program_request *a,
                             gr_notes *notes) {
  gr_options o = r->options;
  notes->arena = arena;
  o.notes = notes, o.program.phase = a->phase, o.debug.draft = r->draft;
  if (o.debug.stop_after && !o.debug.dump) o.debug.dump = o.debug.stop_after;
  if (!a->program) o.precision.dtype = o.precision.teacher_dtype = GR_F32, o.precision.n_rules = 0;
  o.program.ema = gr_programs_ema(arena, r, a, &o);
  if (!a->program || !a->program->trains) return o;
  o.program.trained = a->program->trained, o.program.n_trained = a->program->n_trained,
  o.program.frozen = a->frozen;
  if (strcmp(a->program->name, gr_model_train) != 0)
    o.program.step = gr_arena_printf(arena, "steps.%s", a->program->name);
  return o;
}

// Notes what a model does with data that only the data can say to be right.
static gr_status note_data(const gr_plan_request *r, const gr_program_request *a,
                           const gr_graph *model, gr_compiled *c) {
  if (!a->program || r->draft || a->phase == GR_PHASE_UPDATE) return GR_OK;
  gr_note_mixed_rows(model, &c->notes);
  if (c->trains) GR_TRY(gr_note_alignments(model, &c->notes));
  return gr_note_lookups(model, &c->notes);
}

static gr_status compile(gr_arena *arena, const gr_plan_request *r, const gr_program_request *a,
                         const gr_graph *model, gr_compiled *c) {
  *c = (gr_compiled){.kind = kind_of(arena, &r->options, a),
                     .bucket = a->bucket_name,
                     .trains = a->program && a->program->trains && a->phase != GR_PHASE_UPDATE,
                     .frozen = a->frozen,
                     .freezable = a->freezable,
                     .minibatches = a->minibatches.n,
                     .minibatch_rows = a->minibatches.rows,
                     .gpu = r->options.gpu,
                     .tf32 = r->options.precision.tf32,
                     .offload = r->options.gpu && r->options.memory.offload == gr_offload_optimizer,
                     .fetches = r->options.gpu && r->options.sharding.offload_params,
                     .reserved = r->options.reserved};
  gr_options o = options_of(arena, r, a, &c->notes);
  gr_graph *g = NULL;
  gr_status s = note_data(r, a, model, c);
  s = s ? s : gr_compile(arena, model, a->purpose, &o, &g);
  c->g = g;
  if (!s && !o.debug.stop_after) s = gr_kernels_check(g, o.gpu);
  return gr_note(s, GR_NOWHERE, "while compiling the %s program%s%s", c->kind,
                 *c->bucket ? " of bucket " : "", c->bucket);
}

static const gr_node **copy_nodes(gr_arena *arena, const gr_node *const *of, uint32_t n) {
  const gr_node **out = GR_NEW(arena, const gr_node *, n + 1);
  gr_node *nodes = GR_NEW(arena, gr_node, n + 1);
  for (uint32_t i = 0; i < n; i++) {
    out[i] = &nodes[i];
    nodes[i] = (gr_node){.op = of[i]->op, .loc = of[i]->loc, .created_by = of[i]->created_by};
    if (of[i]->scope) nodes[i].scope = gr_arena_strdup(arena, of[i]->scope);
  }
  return out;
}

// The model's graph is freed here, so notes must not refer to it.
static void copy_notes(gr_arena *arena, gr_notes *n) {
  const char **unused = GR_NEW(arena, const char *, n->n_unused + 1);
  for (uint32_t i = 0; i < n->n_unused; i++) unused[i] = gr_arena_strdup(arena, n->unused[i]);
  n->unused = unused;
  n->dead = copy_nodes(arena, n->dead, n->n_dead);
  n->mixed = copy_nodes(arena, n->mixed, n->n_mixed);
}

static gr_status compile_bucket(gr_arena *arena, const gr_plan_request *r,
                                const gr_program_request *a, gr_compiled *c) {
  gr_graph *model = NULL;
  gr_arena *work = gr_arena_create();
  gr_status s = a->model ? GR_OK : gr_program_model(work, r, a, &model);
  s = s ? s : compile(arena, r, a, a->model ? a->model : model, c);
  if (!s) copy_notes(arena, &c->notes);
  gr_arena_destroy(work);
  if (s || !r->options.debug.stop_after) return s;
  return gr_fail(GR_ERR_STOPPED, GR_NOWHERE, "stopped after pass '%s', as asked",
                 r->options.debug.stop_after);
}

// The "init" program: sets all states that the n programs compiled before have.
static gr_status compile_init(gr_arena *arena, const gr_plan_request *r, gr_graph *init,
                              gr_compiled *c, uint32_t n) {
  const gr_program_request a = {.purpose = GR_INIT, .bucket_name = ""};
  gr_map known = gr_initial_states(init);
  for (uint32_t k = 0; k < n; k++)
    GR_TRY(gr_add_training_states(init, &known, &r->options, c[k].g, c[k].kind));
  GR_TRY(compile(arena, r, &a, init, &c[n]));
  copy_notes(arena, &c[n].notes);
  return GR_OK;
}

// What depends on all weights of the model: the same for all programs.
static gr_status read_units(gr_arena *arena, const gr_program_models *models, gr_plan_request *r) {
  gr_conf *parts = gr_conf_member(r->model.graph, "parts");
  GR_TRY(gr_units_read(arena, &models->scopes, parts, models->init, &r->options));
  return gr_recomputed_read(arena, &models->scopes, parts, &r->options);
}

// That a word of training.recompute finds something in the programs that train.
static gr_status check_word(const char *word, gr_loc loc, const gr_compiled *c, uint32_t n) {
  bool any = false;
  double bytes = 0;
  for (uint32_t k = 0; k < n; k++)
    for (uint32_t i = 0; i < c[k].notes.n_recomputed; i++) {
      const gr_recomputed *of = &c[k].notes.recomputed[i];
      if (strcmp(of->path, word) != 0) continue;
      any = true, bytes += of->bytes;
    }
  if (!any || bytes > 0) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CONFIG, loc, "'%s' finds nothing to compute again", word),
                 "scan: loops of at least 16 steps that keep values which their gradient alone "
                 "reads; elementwise: values that few operations make of others that are kept");
}

// What is elementwise may be in other parts already.
static gr_status check_words(const gr_plan_request *r, const gr_compiled *c, uint32_t n) {
  const gr_memory_settings *s = &r->options.memory;
  if (s->given[GR_RECOMPUTE_ELEMENTWISE] && s->recompute.n == 1)
    GR_TRY(check_word(s->recompute.text[0], s->recompute.loc[0], c, n));
  for (int i = 0; i < s->recompute.n; i++)
    if (!strcmp(s->recompute.text[i], gr_recompute_words[GR_RECOMPUTE_SCAN]))
      GR_TRY(check_word(s->recompute.text[i], s->recompute.loc[i], c, n));
  return GR_OK;
}

typedef struct compiling {
  const gr_plan_request *r;
  const gr_program_request *requests;
  gr_compiled *compiled;
  gr_arena **arena;  // by program
} compiling;

static gr_status compile_one(void *arg, int i) {
  const compiling *w = arg;
  return compile_bucket(w->arena[i], w->r, &w->requests[i], &w->compiled[i]);
}

// Output of passes is buffered and printed in the order of the programs.
static gr_status compile_all(gr_arena *arena, const gr_plan_request *r,
                             const gr_program_request *list, gr_compiled *c, uint32_t n) {
  compiling w = {r, list, c, gr_arenas_within(arena, n)};
  bool prints = r->options.debug.dump || r->options.debug.stop_after;
  return gr_tasks_run(prints ? 1 : r->threads, (int)n, compile_one, &w);
}

// All trees that programs are made of: threads look up values in them, and a lookup writes a mark
// where there is none.
static gr_status share_files(gr_arena *arena, gr_model_request *m) {
  const gr_model_teacher none = {NULL}, *t = m->teacher ? m->teacher : &none;
  if (!m->blocks) GR_TRY(gr_model_blocks(arena, m->graph, m->teacher, &m->blocks));
  gr_conf *const trees[] = {m->blocks, m->graph, m->params, t->graph, t->params, t->match};
  for (size_t i = 0; i < sizeof trees / sizeof *trees; i++)
    if (trees[i]) gr_conf_mark(trees[i]);
  return GR_OK;
}

// The first program's that has it, by name.
typedef struct states {
  gr_map index;
  uint32_t next;  // gr_find_next
  const gr_value **v;
  const gr_compiled **in;
} states;

// States are shared by all programs, so their shapes must not depend on the bucket.
static gr_status check_state(states *known, const gr_compiled *in, const gr_value *v) {
  char here[96], there[96];
  uint32_t i;
  if (!gr_find_next(&known->index, v->name, &known->next, &i)) {
    gr_map_put(&known->index, v->name, i = known->index.n);
    known->v[i] = v, known->in[i] = in;
    return GR_OK;
  }
  const gr_value *first = known->v[i];
  gr_type found = gr_type_global(&v->type, &v->layout, &in->g->mesh);
  gr_type expected = gr_type_global(&first->type, &first->layout, &in->g->mesh);
  if (gr_type_same(&found, &expected)) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_TYPE, v->loc, "'%s' is %s in bucket %s and %s in bucket %s",
                         v->name, gr_type_text(&expected, there), known->in[i]->bucket,
                         gr_type_text(&found, here), in->bucket),
                 "the same weights serve batches of all lengths: none of their axes can be one "
                 "that differs between buckets; sizes of your own go under params:");
}

static gr_status check_states(gr_arena *arena, const gr_compiled *c, uint32_t n) {
  uint32_t most = gr_count_states(c, n) + 1;
  states known = {.index = gr_map_make(arena),
                  .v = GR_NEW(arena, const gr_value *, most),
                  .in = GR_NEW(arena, const gr_compiled *, most)};
  for (uint32_t k = 0; k < n; k++, known.next = 0)
    for (uint32_t i = 1; i < c[k].g->leaves_end; i++)
      if (c[k].g->values[i].role == GR_STATE)
        GR_TRY(check_state(&known, &c[k], &c[k].g->values[i]));
  return GR_OK;
}

// Mesh axes of size 1 are dropped: nothing is sharded over them, and they need no collectives. That
// of virtual shards stays, so that what each of them computes is the same.
static gr_mesh real_axes(const gr_mesh *m) {
  gr_mesh out = {0};
  for (int a = 0; a < m->n_axes; a++)
    if (m->axis[a].size > 1 || a == gr_mesh_virtual(m)) out.axis[out.n_axes++] = m->axis[a];
  return out;
}

// Compiles all programs, init as the last; `work` has the graphs that they are made from.
static gr_status compile_programs(gr_arena *arena, gr_arena *work, gr_plan_request *r,
                                  gr_compiled *c, uint32_t *n) {
  gr_program_models models;
  gr_program_request *list = GR_NEW(arena, gr_program_request, gr_programs_most(r));
  GR_TRY(gr_programs_look(work, r, &models));
  gr_status s = read_units(arena, &models, r);
  GR_TRY(gr_also(s, gr_programs_list(r, &models, list, n)));
  GR_TRY(compile_all(arena, r, list, c, *n));
  GR_TRY(check_words(r, c, *n));
  GR_TRY(check_states(arena, c, *n));
  return compile_init(arena, r, models.init, c, (*n)++);
}

gr_status gr_plan_build(gr_arena *arena, const gr_plan_request *request, gr_plan **out) {
  gr_plan_request reduced = *request, *r = &reduced;
  reduced.model.mesh = real_axes(&request->model.mesh);
  uint32_t n = 0;
  if (r->n_buckets < 1) return gr_fail(GR_ERR_BUG, GR_NOWHERE, "a plan of no buckets");
  GR_TRY(share_files(arena, &r->model));
  GR_TRY(gr_programs_read(arena, r));
  gr_compiled *c = GR_NEW(arena, gr_compiled, gr_programs_most(r) + 1);
  gr_arena_keep_blocks(GR_PLAN_KEPT_BYTES);
  gr_arena *work = gr_arena_create();
  gr_status s = compile_programs(arena, work, r, c, &n);
  gr_arena_destroy(work);
  s = s ? s : gr_plan_link_on(arena, r->threads, r->draft, c, n, out);
  s = s || r->draft ? s : gr_prove_plan(*out, r->threads);
  gr_arena_keep_blocks(0);
  return s;
}
