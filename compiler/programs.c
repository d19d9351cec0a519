// programs.c - see programs.h.
#include "compiler/programs.h"
#include <string.h>
#include "base/grow.h"
#include "base/tasks.h"
#include "compiler/link.h"

gr_status gr_program_model(gr_arena *arena, const gr_plan_request *r, const gr_program_request *a,
                           gr_graph **out) {
  const gr_bucket *bucket = a->bucket;
  gr_model_request m = r->model;
  gr_dim *dims = GR_NEW(arena, gr_dim, m.n_dims + bucket->n_dims + 1);
  if (m.n_dims) memcpy(dims, m.dims, sizeof *dims * (size_t)m.n_dims);
  if (bucket->n_dims) memcpy(dims + m.n_dims, bucket->dims, sizeof *dims * (size_t)bucket->n_dims);
  m.dims = dims;
  m.n_dims += bucket->n_dims;
  if (bucket->batch) m.batch = bucket->batch, m.n_batch = bucket->n_batch;
  bool begins = a->purpose == GR_BEGIN_EMA;  // reads the weights that init sets
  m.purpose = begins ? GR_INIT : a->purpose, m.program = a->program;
  m.micro_batches = a->phase == GR_PHASE_WHOLE_STEP ? 1 : r->options.batch.micro_batches;
  m.programs = r->programs, m.n_programs = r->n_programs;
  GR_TRY(gr_model_build(arena, &m, out));
  for (uint32_t i = 1; begins && i < (*out)->n_values; i++) (*out)->values[i].next = GR_NONE;
  return GR_OK;
}

// Without a list, what `train` and `eval` say.
gr_status gr_programs_read(gr_arena *arena, gr_plan_request *r) {
  gr_model_program *programs = GR_NEW(arena, gr_model_program, 2);
  if (r->programs) return GR_OK;
  GR_TRY(gr_model_program_read(arena, r->model.graph, gr_model_train, &programs[0]));
  GR_TRY(gr_model_program_read(arena, r->model.graph, gr_model_eval, &programs[1]));
  r->programs = programs, r->n_programs = 2;
  return GR_OK;
}

// What a program's graph says of it, before it is compiled.
typedef struct gr_program_facts {
  gr_status error;        // the graph could not be built, or does not suit the request
  const gr_graph *model;  // of the first bucket, in a whole step
  const gr_build_context *built;
  gr_scopes scopes;  // of a program that trains
  bool reads_batch;
  gr_minibatches minibatches;
  unsigned freezable;  // bit i: the i-th pattern matches a weight that it trains
  bool trains_others;  // it trains weights that no pattern matches
} gr_program_facts;

static gr_status no_weight(const gr_graph *g, const gr_model_program *program, int i) {
  gr_arena *scratch = g->arena;
  const char **names = GR_NEW(scratch, const char *, g->n_values);
  int n = 0;
  for (uint32_t k = 1; k < g->n_values; k++)
    if (gr_is_weight(&g->values[k])) names[n++] = g->values[k].name;
  gr_status s =
      gr_fail(GR_ERR_CONFIG, program->trained_loc[i], "'%s' matches no weight of the program %s",
              program->trained[i], program->name);
  s = gr_hint_near(s, program->trained[i], names, n);
  return gr_hint(s, "a weight's name is, for example, '%s'; * matches anything",
                 n ? names[0] : "layer.weight");
}

// A pattern of `trains` that matches no weight is an error.
static gr_status check_trained(const gr_graph *g, const gr_model_program *program) {
  gr_status all = GR_OK;
  for (int i = 0; i < program->n_trained; i++) {
    bool any = false;
    for (uint32_t k = 1; k < g->leaves_end && !any; k++) {
      const gr_value *v = &g->values[k];
      any = gr_is_weight(v) && gr_name_matches(v->name, &program->trained[i], 1);
    }
    if (!any) all = gr_also(all, no_weight(g, program, i));
  }
  return all;
}

// Of the weights that the loss depends on.
static void read_freezable(const gr_plan_request *r, const gr_model_program *program,
                           const gr_graph *g, gr_program_facts *out) {
  bool *need = GR_NEW(g->arena, bool, g->n_values);
  gr_options o = r->options;
  o.program.trained = program->trained, o.program.n_trained = program->n_trained;
  need[g->loss.id] = true;
  gr_mark_live(g, need, NULL);
  for (uint32_t i = 1; i < g->n_values; i++) {
    if (!need[i] || !gr_is_trained(&o, &g->values[i])) continue;
    int k = gr_freezable_of(&o.optimizer, g->values[i].name);
    out->trains_others |= k < 0;
    if (k >= 0) out->freezable |= 1u << k;
  }
}

static gr_purpose purpose_of(const gr_model_program *program) {
  return program->trains ? GR_TRAIN : GR_EVAL;
}

static gr_status read_facts(gr_arena *arena, const gr_plan_request *r,
                            const gr_model_program *program, gr_program_facts *out) {
  const gr_program_request a = {
      .purpose = purpose_of(program), .program = program, .bucket = &r->buckets[0]};
  gr_graph *g;
  gr_plan_request changed = *r;
  changed.model.minibatches = &out->minibatches, changed.model.built = &out->built;
  if (program->trains) changed.model.scopes = &out->scopes;
  GR_TRY(gr_program_model(arena, &changed, &a, &g));
  GR_TRY(check_trained(g, program));
  out->model = g;
  out->reads_batch = gr_reads_batch(g);
  if (program->trains && r->options.optimizer.freezable.n) read_freezable(r, program, g, out);
  return GR_OK;
}

static bool is_left_out(const gr_plan_request *r, const char *name) {
  return (!r->train && !strcmp(name, gr_model_train)) || (!r->eval && !strcmp(name, gr_model_eval));
}

// Whether all programs are built that initial values are of, and need not be built again for them.
static bool builds_all(const gr_plan_request *r) {
  bool all = !r->model.n_adapters;
  for (int i = 0; i < r->n_programs; i++) all &= !is_left_out(r, r->programs[i].name);
  return all;
}

static gr_status build_init(gr_arena *arena, const gr_plan_request *r, gr_program_models *out) {
  const gr_program_request init = {.purpose = GR_INIT, .bucket = &r->buckets[0]};
  gr_plan_request changed = *r;
  changed.model.scopes = &out->scopes;
  return gr_program_model(arena, &changed, &init, &out->init);
}

typedef struct looking {
  const gr_plan_request *r;
  gr_program_models *models;
  gr_arena **arena;  // of init, and by program
} looking;

// Errors of programs wait for those of the others.
static gr_status look_at(void *arg, int i) {
  const looking *w = arg;
  if (!i) return builds_all(w->r) ? GR_OK : build_init(w->arena[0], w->r, w->models);
  const gr_model_program *program = &w->r->programs[i - 1];
  gr_program_facts *f = &w->models->facts[i - 1];
  if (!is_left_out(w->r, program->name)) f->error = read_facts(w->arena[i], w->r, program, f);
  return GR_OK;
}

static void add_scopes(gr_arena *arena, const gr_scopes *more, gr_scopes *all) {
  for (uint32_t i = 0; i < more->n; i++) {
    GR_GROW(arena, all->items, all->n, all->cap);
    all->items[all->n++] = more->items[i];
  }
}

// Initial values from the programs that have been built. Of errors those count that are found by
// building for initial values alone, which come first.
static gr_status read_init(gr_arena *arena, const gr_plan_request *r, gr_program_models *out) {
  const gr_build_context **built = GR_NEW(arena, const gr_build_context *, r->n_programs);
  for (int i = 0; i < r->n_programs; i++)
    if (!(built[i] = out->facts[i].built)) return build_init(arena, r, out);
  for (int i = 0; i < r->n_programs; i++) add_scopes(arena, &out->facts[i].scopes, &out->scopes);
  return gr_model_initial(arena, &r->model, built, r->n_programs, &out->init);
}

gr_status gr_programs_look(gr_arena *arena, const gr_plan_request *r, gr_program_models *out) {
  int n = r->n_programs + 1;
  *out = (gr_program_models){.facts = GR_NEW(arena, gr_program_facts, n)};
  looking w = {r, out, gr_arenas_within(arena, (uint32_t)n)};
  gr_status s = gr_tasks_run(r->threads, n, look_at, &w);
  if (!s && builds_all(r)) s = read_init(w.arena[0], r, out);
  for (int i = 0; s && i < n; i++) gr_status_drop(out->facts[i].error);
  return s;
}

static gr_status no_micro_batches(const gr_plan_request *r, const gr_model_program *program) {
  return gr_hint(
      gr_fail(
          GR_ERR_UNSUPPORTED, gr_model_program_loc(r->model.graph, program->name),
          "training.accumulate divides batches of data and minibatches, and the program %s takes "
          "neither",
          program->name),
      "training.accumulate=1");
}

// Adds a program, for each bucket if it takes batches. The update after micro-batches is one
// program for all buckets: their gradient accumulators have the same layout.
static void add_program(const gr_plan_request *r, gr_program_request a, bool reads_batch,
                        gr_program_request *out, uint32_t *n) {
  bool micro = a.phase == GR_PHASE_MICRO_BATCH;
  for (int i = 0; i < (reads_batch ? r->n_buckets : 1); i++) {
    a.bucket = &r->buckets[i], a.bucket_name = reads_batch ? r->buckets[i].name : "";
    if (i) a.model = NULL;
    out[(*n)++] = a;
  }
  a.bucket = &r->buckets[0], a.bucket_name = "", a.phase = GR_PHASE_UPDATE;
  if (micro) out[(*n)++] = a;
}

// Adds a program, and again for every set of patterns that may be frozen in it and leave it
// something to train.
static gr_status list_program(const gr_plan_request *r, const gr_model_program *program,
                              const gr_program_facts *f, gr_program_request *out, uint32_t *n) {
  bool micro =
      program->trains && (r->options.batch.micro_batches > 1 || r->options.sharding.shards_each);
  if (f->error) return f->error;
  if (micro && !f->reads_batch && !f->minibatches.n) return no_micro_batches(r, program);
  gr_program_request a = {.purpose = purpose_of(program),
                          .program = program,
                          .phase = micro ? GR_PHASE_MICRO_BATCH : GR_PHASE_WHOLE_STEP,
                          .minibatches = f->minibatches,
                          .model = micro ? NULL : f->model};
  a.freezable = f->freezable;
  for (a.frozen = 0; a.frozen <= f->freezable; a.frozen++) {
    bool some = !a.frozen || f->trains_others || (f->freezable & ~a.frozen);
    if (!(a.frozen & ~f->freezable) && some) add_program(r, a, f->reads_batch, out, n);
    a.model = NULL;  // a graph is compiled once: passes allocate in its arena
  }
  return GR_OK;
}

int gr_programs_most(const gr_plan_request *r) {
  return (r->n_programs * (r->n_buckets + 1) << r->options.optimizer.freezable.n) + 2;
}

// ---- Averages of weights --------------------------------------------------------------------

// The patterns of the weights that programs train; no pattern: all weights. false: none trains.
static bool list_trained(gr_arena *arena, const gr_plan_request *r, gr_options *o) {
  int most = 0;
  bool all = false, any = false;
  for (int i = 0; i < r->n_programs; i++) most += r->programs[i].n_trained;
  const char **list = GR_NEW(arena, const char *, most + 1);
  o->program.trained = list, o->program.n_trained = 0;
  for (int i = 0; i < r->n_programs; i++) {
    const gr_model_program *p = &r->programs[i];
    any |= p->trains, all |= p->trains && !p->n_trained;
    for (int k = 0; p->trains && k < p->n_trained; k++)
      list[o->program.n_trained++] = p->trained[k];
  }
  if (all) o->program.n_trained = 0;
  return any;
}

gr_ema_use gr_programs_ema(gr_arena *arena, const gr_plan_request *r, const gr_program_request *a,
                           gr_options *o) {
  bool begins = a->purpose == GR_BEGIN_EMA,
       reads = a->program && !strcmp(a->program->name, gr_model_eval);
  if (!o->optimizer.ema_decay.given) return GR_EMA_NONE;
  if (a->program && a->program->trains) return GR_EMA_UPDATE;
  if (!(begins || reads) || !list_trained(arena, r, o)) return GR_EMA_NONE;
  return begins ? GR_EMA_BEGIN : GR_EMA_READ;
}

// ---- The list -------------------------------------------------------------------------------

static bool has_report(const gr_plan_request *r) {
  return r->model.graph->kind == GR_CONF_MAP && gr_conf_member(r->model.graph, "report");
}

// In the order in which `graphrun plan` lists them.
gr_status gr_programs_list(const gr_plan_request *r, const gr_program_models *models,
                           gr_program_request *out, uint32_t *n) {
  gr_status all = GR_OK;
  bool report = false;
  for (int i = 0; i < r->n_programs; i++) {
    const char *name = r->programs[i].name;
    bool eval = !strcmp(name, gr_model_eval);
    bool left_out = is_left_out(r, name);
    if (!left_out) all = gr_also(all, list_program(r, &r->programs[i], &models->facts[i], out, n));
    report |= eval && !left_out && has_report(r);
  }
  if (report)
    out[(*n)++] =
        (gr_program_request){.purpose = GR_REPORT, .bucket = &r->buckets[0], .bucket_name = ""};
  if (r->train && r->options.optimizer.ema_decay.given)
    out[(*n)++] =
        (gr_program_request){.purpose = GR_BEGIN_EMA, .bucket = &r->buckets[0], .bucket_name = ""};
  return all;
}
